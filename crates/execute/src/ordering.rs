//! Sorting that can be stopped.
//!
//! The library's sort of a million rows takes a second in which nothing else is looked at, and its comparison cannot fail.
//! So short runs are sorted by it, and merged here, with a look at the interrupt every so many elements.

use std::cmp::Ordering;
use std::thread;

use farbird_session::Interrupt;
use farbird_types::{Error, Result};
use parking_lot::Mutex;

/// Elements that are sorted in one go: a few milliseconds.
const RUN_LENGTH: usize = 1 << 13;
/// Elements that are merged between two looks at the interrupt.
const MERGED_BETWEEN_LOOKS: usize = 1 << 10;

/// Sorts; equal elements stay in their order.
///
/// # Errors
/// The interrupt's; the elements are in no particular order then, and some may be missing.
pub(crate) fn sort_by<T: Copy>(
    items: &mut [T],
    mut compare: impl FnMut(&T, &T) -> Ordering,
    interrupt: &Interrupt,
) -> Result<()> {
    for run in items.chunks_mut(RUN_LENGTH) {
        interrupt.check()?;
        run.sort_by(&mut compare);
    }
    if items.len() <= RUN_LENGTH {
        return Ok(());
    }
    // Runs are merged from one of the two into the other and back.
    let mut spare = items.to_vec();
    let mut is_in_spare = false;
    let mut length = RUN_LENGTH;
    while length < items.len() {
        let (from, to) = if is_in_spare { (&*spare, &mut *items) } else { (&*items, &mut *spare) };
        for (pair, target) in from.chunks(length * 2).zip(to.chunks_mut(length * 2)) {
            let (left, right) = pair.split_at(length.min(pair.len()));
            merge(left, right, target, &mut compare, interrupt)?;
        }
        is_in_spare = !is_in_spare;
        length *= 2;
    }
    if is_in_spare {
        items.copy_from_slice(&spare);
    }
    Ok(())
}

/// As [`sort_by`], with so many threads to help.
///
/// # Errors
/// As [`sort_by`].
pub(crate) fn sort_by_threads<T: Copy + Send + Sync>(
    items: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering + Sync,
    helping: usize,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut length = items.len().div_ceil(helping + 1).max(1);
    if helping == 0 || length < RUN_LENGTH {
        return sort_by(items, compare, interrupt);
    }
    let compare = &compare;
    let jobs = items.chunks_mut(length).map(|run| move || sort_by(run, compare, interrupt));
    at_once(jobs.collect(), helping)?;
    let mut spare = items.to_vec();
    while length < items.len() {
        let mut jobs = Vec::new();
        for (pair, target) in items.chunks(length * 2).zip(spare.chunks_mut(length * 2)) {
            let (left, right) = pair.split_at(length.min(pair.len()));
            // Each half of the left run has its part of the right one: what comes before the second half's first element.
            let (first_left, second_left) = left.split_at(left.len() / 2);
            let before = |item: &T| second_left.first().is_some_and(|bound| compare(item, bound).is_lt());
            let (first_right, second_right) = right.split_at(right.partition_point(before));
            let (first, second) = target.split_at_mut(first_left.len() + first_right.len());
            for (left, right, target) in
                [(first_left, first_right, first), (second_left, second_right, second)]
            {
                jobs.push(move || {
                    merge(left, right, target, &mut |left, right| compare(left, right), interrupt)
                });
            }
        }
        at_once(jobs, helping)?;
        items.copy_from_slice(&spare);
        length *= 2;
    }
    Ok(())
}

/// Does jobs at the same time, by so many threads beside this one at most, by fewer if no more can be had.
fn at_once(jobs: Vec<impl FnOnce() -> Result<()> + Send>, helping: usize) -> Result<()> {
    let helping = helping.min(jobs.len().saturating_sub(1));
    let jobs = Mutex::new(jobs.into_iter());
    let do_jobs = || {
        let next = || jobs.lock().next();
        while let Some(job) = next() {
            job()?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let spawn =
            |_| thread::Builder::new().name("statement-helper".to_owned()).spawn_scoped(scope, do_jobs);
        let others: Vec<_> = (0..helping).map_while(|number| spawn(number).ok()).collect();
        let mut result = do_jobs();
        for other in others {
            let ended = || Err(Error::internal("a thread that sorts has ended before its work"));
            result = result.and(other.join().unwrap_or_else(|_| ended()));
        }
        result
    })
}

/// Makes one sorted run of two, which fill the target.
fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    target: &mut [T],
    compare: &mut impl FnMut(&T, &T) -> Ordering,
    interrupt: &Interrupt,
) -> Result<()> {
    // Rows often come in order already, or nearly.
    let are_in_order = match (left.last(), right.first()) {
        (Some(last), Some(first)) => compare(last, first).is_le(),
        _ => true,
    };
    let mut merged = 0;
    while !are_in_order && !left.is_empty() && !right.is_empty() {
        interrupt.check()?;
        for place in target.iter_mut().skip(merged).take(MERGED_BETWEEN_LOOKS) {
            let (Some(first), Some(second)) = (left.first(), right.first()) else { break };
            if compare(first, second).is_le() {
                *place = *first;
                left = left.get(1..).unwrap_or_default();
            } else {
                *place = *second;
                right = right.get(1..).unwrap_or_default();
            }
            merged += 1;
        }
    }
    interrupt.check()?;
    let (_, rest) = target.split_at_mut(merged);
    let (of_left, of_right) = rest.split_at_mut(left.len());
    of_left.copy_from_slice(left);
    of_right.copy_from_slice(right);
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
            for helping in 1..6 {
                let mut items = numbers(count);
                let by_number = |left: &(u32, u32), right: &(u32, u32)| left.0.cmp(&right.0);
                sort_by_threads(&mut items, by_number, helping, &Interrupt::new()).unwrap();
                assert!(items == expected, "{count} {helping}");
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
