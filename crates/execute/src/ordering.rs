//! Sorting that can be stopped.
//!
//! The library's sort of a million rows takes a second in which nothing else is looked at, and its comparison cannot fail.
//! So it sorts short runs, which are merged here, with a look at the interrupt every so many elements; or what is sorted is divided
//! in place, and it sorts what no longer takes long.

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

/// Elements that are sorted in one go where they are divided in place: some milliseconds.
const PIECE_LENGTH: usize = 1 << 15;
/// Of so many elements the one in the middle divides the others.
const SAMPLE_LENGTH: usize = 31;
/// For each thread there are so many pieces at least, since they are not of the same length.
const PIECES_FOR_THREAD: usize = 8;

/// Sorts in place, with so many threads to help. No two elements may be equal: those that are do not stay in their order.
///
/// # Errors
/// The interrupt's; the elements are in no particular order then.
pub(crate) fn sort_in_place<T: Copy + Send + Sync>(
    items: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering + Sync,
    helping: usize,
    interrupt: &Interrupt,
) -> Result<()> {
    // Rows often come in order already.
    let mut is_in_order = true;
    for start in (0..items.len()).step_by(PIECE_LENGTH) {
        interrupt.check()?;
        let end = items.len().min(start + PIECE_LENGTH + 1);
        let piece = items.get(start..end).unwrap_or_default();
        is_in_order = piece.is_sorted_by(|left, right| compare(left, right).is_le());
        if !is_in_order {
            break;
        }
    }
    if is_in_order {
        return Ok(());
    }
    let compare = &compare;
    let most = match helping {
        0 => PIECE_LENGTH,
        _ => items.len().div_ceil((helping + 1) * PIECES_FOR_THREAD).max(RUN_LENGTH),
    };
    let mut pieces = Vec::new();
    let mut rest = vec![items];
    // The first one is the last of the stack.
    while let Some(items) = rest.pop() {
        interrupt.check()?;
        match divide(items, most, compare) {
            Ok((before, behind)) => rest.extend([behind, before]),
            Err(piece) => pieces.push(piece),
        }
    }
    let sort = |mut piece: &mut [T]| -> Result<()> {
        let mut rest = Vec::new();
        loop {
            interrupt.check()?;
            match divide(piece, PIECE_LENGTH, compare) {
                Ok((before, behind)) => {
                    rest.push(behind);
                    piece = before;
                    continue;
                }
                Err(piece) => piece.sort_unstable_by(compare),
            }
            match rest.pop() {
                Some(next) => piece = next,
                None => return Ok(()),
            }
        }
    };
    at_once(pieces.into_iter().map(|piece| move || sort(piece)).collect(), helping)
}

/// Divides what has more than so many elements into those before one of them, and the others; gives back what has fewer, and what an
/// unlucky choice does not divide.
fn divide<'a, T: Copy>(
    items: &'a mut [T],
    most: usize,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> std::result::Result<(&'a mut [T], &'a mut [T]), &'a mut [T]> {
    if items.len() <= most.max(SAMPLE_LENGTH) {
        return Err(items);
    }
    let mut sample: Vec<T> = items.iter().copied().step_by(items.len() / SAMPLE_LENGTH).collect();
    sample.sort_unstable_by(compare);
    let Some(pivot) = sample.get(sample.len() / 2).copied() else { return Err(items) };
    let mut before = 0;
    for place in 0..items.len() {
        let is_before = items.get(place).is_some_and(|item| compare(item, &pivot).is_lt());
        // Without a branch, which nobody could foresee.
        items.swap(place, before);
        before += usize::from(is_before);
    }
    if before < items.len() / SAMPLE_LENGTH {
        return Err(items);
    }
    Ok(items.split_at_mut(before))
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
        }
    }

    #[test]
    fn what_is_divided_in_place_is_in_order() {
        let by_both = |left: &(u32, u32), right: &(u32, u32)| left.cmp(right);
        for count in [0, 1, 5, PIECE_LENGTH as u32, PIECE_LENGTH as u32 * 9 + 3] {
            let scattered = numbers(count);
            let mut ordered = scattered.clone();
            ordered.sort_unstable();
            let backwards: Vec<_> = ordered.iter().rev().copied().collect();
            let one_number: Vec<_> = (0..count).rev().map(|place| (7, place)).collect();
            let nearly: Vec<_> = ordered.iter().skip(1).chain(ordered.first()).copied().collect();
            for items in [&scattered, &ordered, &backwards, &one_number, &nearly] {
                let mut expected = items.clone();
                expected.sort_unstable();
                for helping in 0..4 {
                    let mut items = items.clone();
                    sort_in_place(&mut items, by_both, helping, &Interrupt::new()).unwrap();
                    assert!(items == expected, "{count} {helping}");
                }
            }
        }
    }

    #[test]
    fn what_divides_in_place_stops_too() {
        use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
        for helping in [0, 2] {
            let interrupt = Interrupt::new();
            let mut items = numbers(PIECE_LENGTH as u32 * 40);
            let compared = AtomicUsize::new(0);
            let whole = items.len() * 8;
            let compare = |left: &(u32, u32), right: &(u32, u32)| {
                if compared.fetch_add(1, Relaxed) == whole {
                    interrupt.raise(StopReason::Cancelled);
                }
                left.cmp(right)
            };
            assert!(sort_in_place(&mut items, compare, helping, &interrupt).is_err());
            let compared = compared.load(Relaxed);
            assert!(compared <= whole + (helping + 1) * PIECE_LENGTH * 32, "{compared}");
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
