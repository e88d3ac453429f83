//! Sorting that can be stopped.
//!
//! The library's sort of a million rows takes a second in which nothing else is looked at, and its comparison cannot fail.
//! So short runs are sorted by it, and merged here, with a look at the interrupt every so many elements.

use std::cmp::Ordering;

use farbird_session::Interrupt;
use farbird_types::Result;

/// Elements that are sorted in one go: a few milliseconds.
const RUN_LENGTH: usize = 1 << 13;
/// Elements that are merged between two looks at the interrupt.
const MERGED_BETWEEN_LOOKS: usize = 1 << 10;

/// Sorts; equal elements stay in their order.
///
/// # Errors
/// The interrupt's; the elements are in no particular order then, and some may be missing.
pub(crate) fn sort_by<T: Copy>(
    items: &mut Vec<T>,
    mut compare: impl FnMut(&T, &T) -> Ordering,
    interrupt: &Interrupt,
) -> Result<()> {
    for run in items.chunks_mut(RUN_LENGTH) {
        interrupt.check()?;
        run.sort_by(&mut compare);
    }
    let mut merged = Vec::new();
    let mut length = RUN_LENGTH;
    while length < items.len() {
        merged.reserve(items.len());
        for pair in items.chunks(length * 2) {
            let (left, right) = pair.split_at(length.min(pair.len()));
            merge(left, right, &mut merged, &mut compare, interrupt)?;
        }
        std::mem::swap(items, &mut merged);
        merged.clear();
        length *= 2;
    }
    Ok(())
}

/// Appends two sorted runs as one.
fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    merged: &mut Vec<T>,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
    interrupt: &Interrupt,
) -> Result<()> {
    // Rows often come in order already, or nearly.
    let are_in_order = match (left.last(), right.first()) {
        (Some(last), Some(first)) => compare(last, first).is_le(),
        _ => true,
    };
    while !are_in_order && !left.is_empty() && !right.is_empty() {
        interrupt.check()?;
        for _ in 0..MERGED_BETWEEN_LOOKS {
            let (Some(first), Some(second)) = (left.first(), right.first()) else { break };
            if compare(first, second).is_le() {
                merged.push(*first);
                left = left.get(1..).unwrap_or_default();
            } else {
                merged.push(*second);
                right = right.get(1..).unwrap_or_default();
            }
        }
    }
    interrupt.check()?;
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_session::StopReason;

    /// Numbers that repeat and come in no order, with their places.
    fn numbers(count: u32) -> Vec<(u32, u32)> {
        (0..count).map(|place| (place.wrapping_mul(2_654_435_761) >> 20, place)).collect()
    }

    #[test]
    fn elements_come_in_order_and_equal_ones_in_theirs() {
        for count in [0, 1, 5, RUN_LENGTH as u32, RUN_LENGTH as u32 * 5 + 3] {
            let mut items = numbers(count);
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            for _ in 0..2 {
                sort_by(&mut items, |left, right| left.0.cmp(&right.0), &Interrupt::new()).unwrap();
                assert!(items == expected, "{count}");
            }
        }
    }

    #[test]
    fn it_stops_between_two_comparisons() {
        let interrupt = Interrupt::new();
        let mut items = numbers(RUN_LENGTH as u32 * 8);
        let mut compared = 0_usize;
        let whole = items.len() * 8;
        let stopped = sort_by(
            &mut items,
            |left, right| {
                compared += 1;
                if compared == whole {
                    interrupt.raise(StopReason::Cancelled);
                }
                left.0.cmp(&right.0)
            },
            &interrupt,
        );
        assert!(stopped.is_err());
        assert!(compared <= whole + RUN_LENGTH * 16, "{compared}");
    }
}
