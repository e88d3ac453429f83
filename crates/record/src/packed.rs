//! Lists of integers as a straight line and what each differs from it, in as few bits as the largest difference needs.
//! Any of them can be read alone.
//!
//! # Layout
//! | bytes | item |
//! |---|---|
//! | varint | base, signed |
//! | varint | step, signed |
//! | 1 | w: bits per difference, 0 to 64 |
//! | ceil(w x count / 8) | differences, the first in the lowest bits |
//!
//! The integer at index i is base + step x i + difference, modulo 2^64. Equal integers and counting ones take no bits.

use std::ops::Range;

use crate::DecodeError;
use crate::bit_unpacking::unpack_differences;
use crate::bytes::{Reader, put_signed};

/// Appends a list.
pub(crate) fn encode(numbers: &[i64], out: &mut Vec<u8>) {
    let line = best_line(numbers);
    put_signed(line.base as i64, out);
    put_signed(line.step as i64, out);
    out.push(line.width as u8);
    let mut window = 0u128;
    let mut filled = 0;
    for (index, number) in numbers.iter().enumerate() {
        let difference = i128::from(*number) - line.step * index as i128 - line.base;
        window |= (difference as u128) << filled;
        filled += line.width;
        while filled >= 8 {
            out.push(window as u8);
            window >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(window as u8);
    }
}

/// Size of the list that [`encode`] would append, in bytes, but for a few.
pub(crate) fn encoded_size(numbers: &[i64]) -> usize {
    (best_line(numbers).width as usize * numbers.len()).div_ceil(8) + 4
}

struct Line {
    base: i128,
    step: i128,
    width: u32,
}

/// The line with the smallest differences, of the level one and the one from the first to the last number.
fn best_line(numbers: &[i64]) -> Line {
    let level = line_of_step(numbers, 0);
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return level };
    let steps = numbers.len().saturating_sub(1).max(1) as i128;
    let step = (i128::from(*last) - i128::from(*first)) / steps;
    let rising = line_of_step(numbers, step);
    let fits = i64::try_from(step).is_ok() && rising.width < level.width;
    if fits { rising } else { level }
}

fn line_of_step(numbers: &[i64], step: i128) -> Line {
    let differences =
        || numbers.iter().enumerate().map(|(index, number)| i128::from(*number) - step * index as i128);
    let base = differences().min().unwrap_or(0);
    let largest = differences().max().unwrap_or(0) - base;
    Line { base, step, width: 128 - largest.leading_zeros() }
}

/// A list to read from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedNumbers<'a> {
    base: i64,
    step: i64,
    width: usize,
    differences: &'a [u8],
}

impl<'a> PackedNumbers<'a> {
    /// Takes a list of `count` integers.
    pub(crate) fn take(count: usize, reader: &mut Reader<'a>) -> Result<PackedNumbers<'a>, DecodeError> {
        let base = reader.signed()?;
        let step = reader.signed()?;
        let offset = reader.offset();
        let width = usize::from(reader.u8()?);
        if width > 64 {
            return Err(DecodeError::Invalid { what: "bits per number", offset });
        }
        let bits = count.checked_mul(width).ok_or(DecodeError::Truncated { offset })?;
        Ok(PackedNumbers { base, step, width, differences: reader.take(bits.div_ceil(8))? })
    }

    /// The integer at `index`; an arbitrary one past the end.
    #[inline]
    pub(crate) fn number(&self, index: usize) -> i64 {
        let on_line = self.base.wrapping_add(self.step.wrapping_mul(index as i64));
        on_line.wrapping_add(self.difference(index) as i64)
    }

    /// The smallest and the largest number that may stand in a list of `count`; `None` if they could wrap around.
    pub(crate) fn bounds(&self, count: usize) -> Option<(i64, i64)> {
        let span = i64::try_from(mask(self.width)).ok()?;
        let steps = i64::try_from(count.checked_sub(1)?).ok()?;
        let last = self.base.checked_add(self.step.checked_mul(steps)?)?;
        Some((self.base.min(last), self.base.max(last).checked_add(span)?))
    }

    /// Appends the integers of a range; arbitrary ones past the end.
    pub(crate) fn unpack(&self, range: Range<usize>, out: &mut Vec<i64>) {
        let before = out.len();
        unpack_differences(self.width, self.differences, range.clone(), out);
        let numbers = out.get_mut(before..).unwrap_or_default();
        match (self.base, self.step) {
            (0, 0) => {}
            (base, 0) => numbers.iter_mut().for_each(|number| *number = number.wrapping_add(base)),
            (base, step) => {
                let mut on_line = base.wrapping_add(step.wrapping_mul(range.start as i64));
                for number in numbers {
                    *number = number.wrapping_add(on_line);
                    on_line = on_line.wrapping_add(step);
                }
            }
        }
    }

    #[inline]
    fn difference(&self, index: usize) -> u64 {
        if self.width == 0 {
            return 0;
        }
        let bit = index * self.width;
        let rest = self.differences.get(bit / 8..).unwrap_or_default();
        let mut window = [0u8; 16];
        // Nine bytes hold 64 bits wherever they begin.
        let count = rest.len().min(9);
        window[..count].copy_from_slice(&rest[..count]);
        (u128::from_le_bytes(window) >> (bit % 8)) as u64 & mask(self.width)
    }
}

/// The largest number of so many bits.
#[inline]
fn mask(width: usize) -> u64 {
    u64::MAX.checked_shr(64 - width as u32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(numbers: &[i64]) -> usize {
        let mut out = Vec::new();
        encode(numbers, &mut out);
        let mut reader = Reader::new(&out);
        let packed = PackedNumbers::take(numbers.len(), &mut reader).expect("takes");
        assert!(reader.is_at_end());
        for (index, number) in numbers.iter().enumerate() {
            assert_eq!(packed.number(index), *number, "{index} of {numbers:?}");
        }
        for start in 0..=numbers.len().min(17) {
            let mut unpacked = vec![1];
            packed.unpack(start..numbers.len(), &mut unpacked);
            assert_eq!(unpacked[1..], numbers[start..], "from {start}");
        }
        if let Some((least, greatest)) = packed.bounds(numbers.len()) {
            assert!(numbers.iter().all(|number| (least..=greatest).contains(number)));
        }
        out.len()
    }

    #[test]
    fn extremes_come_back_and_regular_lists_take_no_bits() {
        round_trip(&[]);
        round_trip(&[0]);
        round_trip(&[i64::MIN, i64::MAX, 0]);
        round_trip(&[i64::MAX, i64::MIN]);
        assert_eq!(round_trip(&[7; 1_000]), 3);
        assert_eq!(round_trip(&Vec::from_iter((0..1_000).map(|i| 5 + i * 3))), 3);
    }

    proptest! {
        #[test]
        fn any_numbers_come_back(
            numbers in prop::collection::vec((any::<i64>(), 0u32..64).prop_map(|(n, s)| n >> s), 0..100)
        ) {
            round_trip(&numbers);
        }
    }
}
