//! Lists of integers in as few bits each as the largest difference from what is expected needs: expected is a straight line
//! through all of them, or a step from each to the next. Any of them can be read alone.
//!
//! # Layout
//! | bytes | item |
//! |---|---|
//! | varint | base, signed |
//! | varint | step, signed |
//! | 1 | w: bits per difference, 0 to 64; with bit 7: differences from one integer to the next |
//! | ... | with bit 7: marks, a list of this layout with ceil(count / 64) integers, without bit 7 |
//! | ceil(w x count / 8) | differences, the first in the lowest bits |
//!
//! The integer at index i is base + step x i + difference i. With bit 7 it is base + mark i / 64 + step x (i mod 64) + the
//! sum of the differences after that of the mark's index up to i. All modulo 2^64. Equal integers and counting ones take no
//! bits; ascending ones with uneven steps need bits for the steps' unevenness only.

use std::ops::Range;

use crate::DecodeError;
use crate::bit_packing;
use crate::bytes::{Reader, put_signed};

const FLAG_STEPS: u8 = 0x80;
/// Integers per mark.
const GROUP: usize = 64;

/// Appends a list.
pub(crate) fn encode(numbers: &[i64], out: &mut Vec<u8>) {
    Plan::of(numbers).encode(numbers, out);
}

/// Size of the list that [`encode`] would append, in bytes, but for a few.
pub(crate) fn encoded_size(numbers: &[i64]) -> usize {
    Plan::of(numbers).size(numbers.len())
}

/// How a list is written.
enum Plan {
    LinearFit(LinearFit),
    /// Each differs from the one before it by the step and a difference.
    Steps {
        step: i64,
        width: u32,
        marks: Vec<i64>,
        marks_line: LinearFit,
    },
}

impl Plan {
    /// The smaller one.
    fn of(numbers: &[i64]) -> Plan {
        let line = LinearFit::best(numbers);
        if line.width < 2 || numbers.len() < GROUP {
            return Plan::LinearFit(line);
        }
        let Some((step, width)) = steps(numbers) else { return Plan::LinearFit(line) };
        if width >= line.width {
            return Plan::LinearFit(line);
        }
        let first = numbers.first().copied().unwrap_or(0);
        let marks: Vec<i64> = numbers.iter().step_by(GROUP).map(|mark| mark.wrapping_sub(first)).collect();
        let steps = Plan::Steps { step, width, marks_line: LinearFit::best(&marks), marks };
        // A line is read faster: steps must save an eighth.
        let line = Plan::LinearFit(line);
        let line_size = line.size(numbers.len());
        if steps.size(numbers.len()) < line_size - line_size / 8 { steps } else { line }
    }

    fn size(&self, count: usize) -> usize {
        match self {
            Plan::LinearFit(line) => line.size(count),
            Plan::Steps { width, marks, marks_line, .. } => {
                packed_bytes(*width, count) + marks_line.size(marks.len()) + 4
            }
        }
    }

    fn encode(&self, numbers: &[i64], out: &mut Vec<u8>) {
        match self {
            Plan::LinearFit(line) => line.encode(numbers, out),
            Plan::Steps { step, width, marks, marks_line } => {
                let first = numbers.first().copied().unwrap_or(0);
                put_signed(first, out);
                put_signed(*step, out);
                out.push(*width as u8 | FLAG_STEPS);
                marks_line.encode(marks, out);
                if *width > 0 {
                    let before = std::iter::once(first.wrapping_sub(*step)).chain(numbers.iter().copied());
                    let differences = before
                        .zip(numbers)
                        .map(|(before, number)| number.wrapping_sub(before).wrapping_sub(*step) as u64);
                    bit_packing::pack(*width, differences, out);
                }
            }
        }
    }
}

fn packed_bytes(width: u32, count: usize) -> usize {
    (width as usize * count).div_ceil(8)
}

/// The smallest step from one integer to the next, and how many bits more the largest needs; `None` if steps are too wide
/// to be worth it.
fn steps(numbers: &[i64]) -> Option<(i64, u32)> {
    let (mut least, mut greatest) = (i64::MAX, i64::MIN);
    for pair in numbers.windows(2) {
        let step = pair[1].checked_sub(pair[0])?;
        least = least.min(step);
        greatest = greatest.max(step);
    }
    let span = greatest.checked_sub(least)?;
    Some((least, u64::BITS - span.leading_zeros()))
}

/// A straight line, and the bits that the largest difference from it needs.
struct LinearFit {
    base: i64,
    step: i64,
    width: u32,
}

impl LinearFit {
    /// The line with the smallest differences, of the level one and the one from the first to the last number.
    fn best(numbers: &[i64]) -> LinearFit {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            return LinearFit { base: 0, step: 0, width: 0 };
        };
        let (mut least, mut greatest) = (*first, *first);
        for number in numbers {
            least = least.min(*number);
            greatest = greatest.max(*number);
        }
        let span = greatest.wrapping_sub(least) as u64;
        let level = LinearFit { base: least, step: 0, width: u64::BITS - span.leading_zeros() };
        let steps = numbers.len() as i64 - 1;
        // Twice the span must not wrap around: so far can numbers be from a line between two of them.
        if steps < 1 || span > u64::MAX >> 3 {
            return level;
        }
        let step = (*last - *first) / steps;
        if step == 0 {
            return level;
        }
        let (mut least, mut greatest) = (0, 0);
        let mut on_line = *first;
        for number in numbers {
            let difference = number.wrapping_sub(on_line);
            least = least.min(difference);
            greatest = greatest.max(difference);
            on_line = on_line.wrapping_add(step);
        }
        let width = u64::BITS - (greatest.wrapping_sub(least) as u64).leading_zeros();
        if width < level.width { LinearFit { base: first.wrapping_add(least), step, width } } else { level }
    }

    fn size(&self, count: usize) -> usize {
        packed_bytes(self.width, count) + 4
    }

    fn encode(&self, numbers: &[i64], out: &mut Vec<u8>) {
        put_signed(self.base, out);
        put_signed(self.step, out);
        out.push(self.width as u8);
        if self.width == 0 {
            return;
        }
        let mut on_line = self.base;
        let differences = numbers.iter().map(|number| {
            let difference = number.wrapping_sub(on_line) as u64;
            on_line = on_line.wrapping_add(self.step);
            difference
        });
        bit_packing::pack(self.width, differences, out);
    }
}

/// A list to read from.
pub(crate) type PackedNumbers<'a> = Packed<&'a [u8]>;

/// A list whose differences are bytes, or stand at places of bytes that somebody else has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<B> {
    base: i64,
    step: i64,
    width: usize,
    differences: B,
    marks: Option<Marks<B>>,
}

/// The integers at every [`GROUP`]th index, less the base.
#[derive(Debug, Clone, Copy)]
struct Marks<B> {
    base: i64,
    step: i64,
    width: usize,
    differences: B,
}

impl<B> Packed<B> {
    /// The integer at `index` of a list of which each stands alone, given the bytes of its differences; `None` for other lists.
    #[inline]
    pub(crate) fn number_alone<'a>(
        &self,
        index: usize,
        differences: impl FnOnce(&B) -> &'a [u8],
    ) -> Option<i64> {
        self.marks.is_none().then(|| self.on_line(index, differences(&self.differences)))
    }

    #[inline]
    fn on_line(&self, index: usize, differences: &[u8]) -> i64 {
        let on_line = self.base.wrapping_add(self.step.wrapping_mul(index as i64));
        on_line.wrapping_add(difference(differences, self.width, index) as i64)
    }

    /// The same list with something else in the place of its bytes.
    #[inline]
    pub(crate) fn map<C>(&self, change: &impl Fn(&B) -> C) -> Packed<C> {
        let marks = self.marks.as_ref().map(|marks| Marks {
            base: marks.base,
            step: marks.step,
            width: marks.width,
            differences: change(&marks.differences),
        });
        let Packed { base, step, width, differences, .. } = self;
        Packed { base: *base, step: *step, width: *width, differences: change(differences), marks }
    }
}

impl Marks<&[u8]> {
    fn number(&self, index: usize) -> i64 {
        let on_line = self.base.wrapping_add(self.step.wrapping_mul(index as i64));
        on_line.wrapping_add(difference(self.differences, self.width, index) as i64)
    }
}

impl<'a> PackedNumbers<'a> {
    /// Takes a list of `count` integers.
    pub(crate) fn take(count: usize, reader: &mut Reader<'a>) -> Result<PackedNumbers<'a>, DecodeError> {
        let base = reader.signed()?;
        let step = reader.signed()?;
        let offset = reader.offset();
        let kind = reader.u8()?;
        let marks = match kind & FLAG_STEPS {
            0 => None,
            _ => {
                let (base, step) = (reader.signed()?, reader.signed()?);
                let width = reader.u8()?;
                let differences = take_differences(width, count.div_ceil(GROUP), reader)?;
                Some(Marks { base, step, width: usize::from(width), differences })
            }
        };
        let width = kind & !FLAG_STEPS;
        let differences = take_differences(width, count, reader)
            .map_err(|_| DecodeError::Invalid { what: "packed numbers", offset })?;
        Ok(PackedNumbers { base, step, width: usize::from(width), differences, marks })
    }

    /// The integer at `index`; an arbitrary one past the end.
    #[inline]
    pub(crate) fn number(&self, index: usize) -> i64 {
        match &self.marks {
            None => self.on_line(index, self.differences),
            Some(marks) => {
                let steps = index % GROUP;
                let mut sum = 0u64;
                for place in index - steps + 1..=index {
                    sum = sum.wrapping_add(difference(self.differences, self.width, place));
                }
                self.base
                    .wrapping_add(marks.number(index / GROUP))
                    .wrapping_add(self.step.wrapping_mul(steps as i64))
                    .wrapping_add(sum as i64)
            }
        }
    }

    /// The smallest and the largest number that may stand in a list of `count`; `None` if they are not known without
    /// looking.
    pub(crate) fn bounds(&self, count: usize) -> Option<(i64, i64)> {
        if self.marks.is_some() {
            return None;
        }
        let span = i64::try_from(mask(self.width)).ok()?;
        let steps = i64::try_from(count.checked_sub(1)?).ok()?;
        let last = self.base.checked_add(self.step.checked_mul(steps)?)?;
        Some((self.base.min(last), self.base.max(last).checked_add(span)?))
    }

    /// As [`PackedNumbers::bounds`], also of lists that only ascend, if their bytes are not damaged.
    pub(crate) fn bounds_if_sound(&self, count: usize) -> Option<(i64, i64)> {
        if self.marks.is_none() {
            return self.bounds(count);
        }
        let (first, last) = (self.number(0), self.number(count.checked_sub(1)?));
        (self.step >= 0 && first <= last).then_some((first, last))
    }

    /// Appends the integers of a range; arbitrary ones past the end.
    pub(crate) fn unpack(&self, range: Range<usize>, out: &mut Vec<i64>) {
        let before = out.len();
        match &self.marks {
            None => {
                bit_packing::unpack(self.width, self.differences, range.clone(), out);
                self.add_line(range.start, out.get_mut(before..).unwrap_or_default());
            }
            Some(marks) => {
                // From the mark before the range on; what is too much is taken away again.
                let surplus = range.start % GROUP;
                let start = range.start - surplus;
                bit_packing::unpack(self.width, self.differences, start..range.end, out);
                let numbers = out.get_mut(before..).unwrap_or_default();
                for (group, numbers) in numbers.chunks_mut(GROUP).enumerate() {
                    let mut number = self.base.wrapping_add(marks.number(start / GROUP + group));
                    if let Some((first, rest)) = numbers.split_first_mut() {
                        *first = number;
                        for place in rest {
                            number = number.wrapping_add(self.step).wrapping_add(*place);
                            *place = number;
                        }
                    }
                }
                if surplus > 0 {
                    out.drain(before..before + surplus.min(out.len() - before));
                }
            }
        }
    }

    /// Makes integers of differences that begin at index `start`.
    fn add_line(&self, start: usize, numbers: &mut [i64]) {
        match (self.base, self.step) {
            (0, 0) => {}
            (base, 0) => numbers.iter_mut().for_each(|number| *number = number.wrapping_add(base)),
            (base, step) => {
                let mut on_line = base.wrapping_add(step.wrapping_mul(start as i64));
                for number in numbers {
                    *number = number.wrapping_add(on_line);
                    on_line = on_line.wrapping_add(step);
                }
            }
        }
    }
}

fn take_differences<'a>(width: u8, count: usize, reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let offset = reader.offset();
    if width > 64 {
        return Err(DecodeError::Invalid { what: "bits per number", offset });
    }
    let bits = count.checked_mul(usize::from(width)).ok_or(DecodeError::Truncated { offset })?;
    reader.take(bits.div_ceil(8))
}

/// The difference at `index` of a list with `width` bits each; an arbitrary one past the end.
#[inline]
fn difference(differences: &[u8], width: usize, index: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let bit = index.wrapping_mul(width);
    let rest = differences.get(bit / 8..).unwrap_or_default();
    let mut window = [0u8; 16];
    // Nine bytes hold 64 bits wherever they begin.
    let count = rest.len().min(9);
    window[..count].copy_from_slice(&rest[..count]);
    (u128::from_le_bytes(window) >> (bit % 8)) as u64 & mask(width)
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
        for start in (0..=numbers.len()).step_by(7) {
            let mut unpacked = vec![1];
            packed.unpack(start..numbers.len(), &mut unpacked);
            assert_eq!(unpacked[1..], numbers[start..], "from {start}");
        }
        let bounds = [packed.bounds(numbers.len()), packed.bounds_if_sound(numbers.len())];
        for (least, greatest) in bounds.into_iter().flatten() {
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
        // Steps of 5 to 8 need two bits each, and some for the marks.
        let mut number = 1_000_000;
        let uneven = Vec::from_iter((0..1_000u64).map(|i| {
            number += 5 + (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62) as i64;
            number
        }));
        assert!(round_trip(&uneven) < 290);
        let extremes: Vec<i64> = (0..200).map(|i| if i % 2 == 0 { i64::MIN } else { i64::MAX }).collect();
        round_trip(&extremes);
    }

    proptest! {
        #[test]
        fn any_numbers_come_back(
            numbers in prop::collection::vec((any::<i64>(), 0u32..64).prop_map(|(n, s)| n >> s), 0..100)
        ) {
            round_trip(&numbers);
        }

        #[test]
        fn any_ascending_numbers_come_back(
            steps in prop::collection::vec(any::<i64>(), 0..300), width in 0u32..64, start in any::<i64>()
        ) {
            let mut number = start;
            let numbers = Vec::from_iter(steps.iter().map(|step| {
                number = number.wrapping_add(((*step as u64) >> width) as i64);
                number
            }));
            round_trip(&numbers);
        }
    }
}
