//! Three-valued logic on columns: a byte per row, chosen so that AND and OR are those of its bits.

use crate::nulls::Nulls;

/// FALSE.
pub const FALSE: u8 = 0b00;
/// Neither: NULL.
pub const UNKNOWN: u8 = 0b01;
/// TRUE.
pub const TRUE: u8 = 0b11;

/// TRUE or FALSE.
#[inline]
pub fn of(truth: bool) -> u8 {
    u8::from(truth) * TRUE
}

/// `None` is UNKNOWN.
#[inline]
pub fn of_known(truth: Option<bool>) -> u8 {
    truth.map_or(UNKNOWN, of)
}

/// `None` is UNKNOWN.
#[inline]
pub fn known(truth: u8) -> Option<bool> {
    (truth != UNKNOWN).then_some(truth == TRUE)
}

/// NOT.
#[inline]
pub fn not(truth: u8) -> u8 {
    // Both bits turned, and swapped so that UNKNOWN stays.
    let turned = !truth & 0b11;
    turned >> 1 | (turned & 1) << 1
}

/// UNKNOWN for the rows that are NULL.
#[inline]
pub fn set_unknown(truths: &mut [u8], nulls: &Nulls<'_>) {
    match nulls {
        Nulls::None => {}
        Nulls::All => truths.fill(UNKNOWN),
        Nulls::Some(nulls) => {
            for (truth, null) in truths.iter_mut().zip(nulls.iter()) {
                if *null {
                    *truth = UNKNOWN;
                }
            }
        }
    }
}

/// The places of the rows that are TRUE.
pub fn rows_that_are_true(truths: &[u8]) -> Vec<u32> {
    places(truths, |truth| truth == TRUE)
}

/// The places of the rows that are not `decided`.
pub fn rows_that_are_open(truths: &[u8], decided: u8) -> Vec<u32> {
    places(truths, |truth| truth != decided)
}

fn places(truths: &[u8], test: impl Fn(u8) -> bool) -> Vec<u32> {
    // Each place is written, and the next one over it unless it is to stay: no branch that depends on the rows.
    let mut places = vec![0; truths.len()];
    let mut count = 0;
    for (place, truth) in truths.iter().enumerate() {
        if let Some(free) = places.get_mut(count) {
            *free = place as u32;
        }
        count += usize::from(test(*truth));
    }
    places.truncate(count);
    places
}
