//! Numbers of equal width in bits, packed and, above all, unpacked fast: one loop per width, so that all shifts are
//! constants.
//!
//! This is what a scan of packed columns spends its time in. The layout is that of [`crate::packed`]: the first number in
//! the lowest bits of the first byte, nothing between two numbers.

use std::ops::Range;

/// Numbers in a group: eight numbers of w bits are w bytes, so every group begins at a byte.
const GROUP: usize = 8;
/// Numbers up to here can be read as eight bytes and shifted, wherever in a byte they begin.
const WORD_WIDTH_MAX: usize = 57;

/// Appends numbers, each of at most `width` bits (1 to 64).
pub(crate) fn pack(width: u32, numbers: impl Iterator<Item = u64>, out: &mut Vec<u8>) {
    let mut word = 0u64;
    let mut filled = 0;
    for number in numbers {
        word |= number << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // What did not fit; nothing if all of the number did.
            word = number.checked_shr(width - filled).unwrap_or(0);
        }
    }
    let rest = word.to_le_bytes();
    out.extend_from_slice(rest.get(..filled.div_ceil(8) as usize).unwrap_or_default());
}

/// Appends the numbers of a range, each `width` bits (at most 64) wide; arbitrary ones past the end of `bytes`.
pub(crate) fn unpack(width: usize, bytes: &[u8], range: Range<usize>, out: &mut Vec<i64>) {
    let count = range.len();
    if width == 0 {
        out.resize(out.len() + count, 0);
        return;
    }
    // Begin with the group in which the range begins; what is too much of it is taken away again.
    let first_group = range.start / GROUP;
    let surplus = range.start % GROUP;
    let rest = bytes.get(first_group.saturating_mul(width)..).unwrap_or_default();
    let before = out.len();
    out.resize(before + (count + surplus).next_multiple_of(GROUP), 0);
    let numbers = out.get_mut(before..).unwrap_or_default();
    if width > WORD_WIDTH_MAX {
        unpack_wide(width, rest, numbers);
    } else {
        UNPACK[width](rest, numbers);
    }
    if surplus > 0 {
        out.drain(before..before + surplus);
    }
    out.truncate(before + count);
}

type Unpack = fn(&[u8], &mut [i64]);

macro_rules! unpack_of_widths {
    ($($width:literal)*) => {
        [$(unpack_groups::<$width> as Unpack),*]
    };
}

/// By width.
static UNPACK: [Unpack; WORD_WIDTH_MAX + 1] = unpack_of_widths!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29
    30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57
);

/// Fills whole groups.
fn unpack_groups<const WIDTH: usize>(bytes: &[u8], numbers: &mut [i64]) {
    let mut at = 0;
    for group in numbers.chunks_exact_mut(GROUP) {
        // The last number of a group may be read as eight bytes that reach past it.
        match bytes.get(at..at + WIDTH + 8) {
            Some(window) => unpack_group::<WIDTH>(window, group),
            None => {
                let mut window = [0u8; WORD_WIDTH_MAX + 8];
                let rest = bytes.get(at..).unwrap_or_default();
                let count = rest.len().min(WIDTH);
                window[..count].copy_from_slice(&rest[..count]);
                unpack_group::<WIDTH>(&window[..WIDTH + 8], group);
            }
        }
        at += WIDTH;
    }
}

#[inline(always)]
fn unpack_group<const WIDTH: usize>(window: &[u8], group: &mut [i64]) {
    let mask = (1u64 << WIDTH) - 1;
    // Both lengths are known to the compiler, so that nothing is checked and everything is unrolled.
    let (window, group) = (&window[..WIDTH + 8], &mut group[..GROUP]);
    for (index, number) in group.iter_mut().enumerate() {
        let bit = index * WIDTH;
        let mut word = [0u8; 8];
        word.copy_from_slice(&window[bit / 8..bit / 8 + 8]);
        *number = ((u64::from_le_bytes(word) >> (bit % 8)) & mask) as i64;
    }
}

/// As [`unpack_groups`], for numbers that can reach over nine bytes.
fn unpack_wide(width: usize, bytes: &[u8], numbers: &mut [i64]) {
    let mask = u64::MAX >> (64 - width);
    for (index, number) in numbers.iter_mut().enumerate() {
        let bit = index * width;
        let rest = bytes.get(bit / 8..).unwrap_or_default();
        let mut window = [0u8; 16];
        let count = rest.len().min(9);
        window[..count].copy_from_slice(&rest[..count]);
        *number = ((u128::from_le_bytes(window) >> (bit % 8)) as u64 & mask) as i64;
    }
}
