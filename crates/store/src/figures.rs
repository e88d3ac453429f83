//! What a store has done since it was opened, and who waits for whom: plain numbers for those who watch it.
//!
//! Counters are relaxed atomics next to work that costs far more than they do; nobody waits for a reader. They begin with 0 when the
//! store is opened.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{CommitNumber, LockLevel, RelationId, RowId, TransactionId};

/// Upper bounds of the classes in which [`Times`] counts, in microseconds.
pub const TIME_BOUNDS: [u64; 14] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000];

/// What a store has done since it was opened.
#[derive(Debug, Clone, Default)]
pub struct StoreFigures {
    /// Commits that have changed something.
    pub commits: u64,
    /// Durable writes that took them: fewer, where several went together.
    pub commit_batches: u64,
    /// Writes that have failed.
    pub failed_writes: u64,
    /// Changes that were refused because others had committed changes of the same rows.
    pub update_conflicts: u64,
    /// Locks.
    pub locks: LockFigures,
    /// The file.
    pub file: FileFigures,
    /// Row blocks that single rows were looked up in.
    pub block_cache: CacheFigures,
    /// Row blocks that scans by columns have read.
    pub blocks_read: u64,
    /// Row blocks that they have passed over.
    pub blocks_skipped: u64,
    /// The sweep.
    pub sweep: SweepFigures,
}

/// What has come of conflicts over locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockFigures {
    /// Waits that have begun.
    pub waits: u64,
    /// Refusals of those who do not wait.
    pub conflicts: u64,
    /// Waits that have taken too long.
    pub timeouts: u64,
    /// Circles of waits that were found.
    pub deadlocks: u64,
}

/// What was read and written of a database's file.
#[derive(Debug, Clone, Default)]
pub struct FileFigures {
    /// Reads of pages that were not in memory.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Writes of pages.
    pub writes: u64,
    /// Bytes of them.
    pub written_bytes: u64,
    /// Bytes written to the commit log.
    pub log_bytes: u64,
    /// How long writes to the commit log took until they were on the disk.
    pub log_syncs: Times,
    /// How long it took to make pages durable (checkpoints).
    pub page_syncs: Times,
}

/// How often something that is kept was at hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheFigures {
    /// It was.
    pub hits: u64,
    /// It was not.
    pub misses: u64,
    /// Row blocks that are kept.
    pub blocks: u64,
    /// Bytes of those that are kept without their compression.
    pub unpacked_bytes: u64,
}

/// What the sweep has done and does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepFigures {
    /// What it does.
    pub state: SweepState,
    /// The oldest commit that somebody reads as of: versions that are newer stay.
    pub horizon: CommitNumber,
    /// Steps that were of use.
    pub steps: u64,
    /// Rounds over all relations.
    pub rounds: u64,
    /// Steps that have failed, after each of which it pauses.
    pub failures: u64,
}

/// What the sweep does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SweepState {
    /// Nothing: there is nothing to do.
    #[default]
    Idle,
    /// It works.
    Working,
    /// It pauses behind a failure.
    Failing,
}

/// Times, counted by classes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// How many were at most as long as each of [`TIME_BOUNDS`], and longer than the one before it; at last those beyond.
    pub counts: [u64; TIME_BOUNDS.len() + 1],
    /// All of them together.
    pub sum: Duration,
}

impl Times {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Somebody who waits for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockWait {
    /// Who waits.
    pub transaction: TransactionId,
    /// For whom.
    pub holders: Vec<TransactionId>,
    /// For what of theirs.
    pub awaited: AwaitedLock,
    /// How long by now.
    pub waited: Duration,
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedLock {
    /// The lock on a row.
    Row(RelationId, RowId),
    /// A lock on a whole relation.
    Relation(RelationId),
    /// The lock on a definition.
    Definition,
    /// A transaction's end, since it has written a key that must be unique, or something of that kind.
    End,
}

/// What a transaction has locked of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldLock {
    /// The transaction.
    pub transaction: TransactionId,
    /// The relation.
    pub relation: RelationId,
    /// The strongest lock on the relation itself.
    pub level: Option<LockLevel>,
    /// How many of its rows are locked.
    pub rows: u64,
}

/// Times while they are counted.
#[derive(Debug, Default)]
struct TimeCounts {
    counts: [AtomicU64; TIME_BOUNDS.len() + 1],
    sum_ns: AtomicU64,
}

impl TimeCounts {
    fn note(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let class = TIME_BOUNDS.partition_point(|bound| *bound < micros);
        if let Some(count) = self.counts.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_ns.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn read(&self) -> Times {
        Times {
            counts: std::array::from_fn(|class| {
                self.counts.get(class).map_or(0, |count| count.load(Ordering::Relaxed))
            }),
            sum: Duration::from_nanos(self.sum_ns.load(Ordering::Relaxed)),
        }
    }
}

/// [`FileFigures`] while they are counted.
#[derive(Debug, Default)]
pub(crate) struct FileCounts {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    log_bytes: AtomicU64,
    log_syncs: TimeCounts,
    page_syncs: TimeCounts,
}

impl FileCounts {
    /// Pages of so many bytes were read.
    pub(crate) fn has_read(&self, bytes: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Pages of so many bytes were written.
    pub(crate) fn has_written(&self, bytes: usize) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// So many bytes of the log are on the disk.
    pub(crate) fn logged(&self, bytes: usize, took: Duration) {
        self.log_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.log_syncs.note(took);
    }

    /// All pages are on the disk.
    pub(crate) fn synced(&self, took: Duration) {
        self.page_syncs.note(took);
    }

    /// What was counted so far.
    pub(crate) fn read(&self) -> FileFigures {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FileFigures {
            reads: count(&self.reads),
            read_bytes: count(&self.read_bytes),
            writes: count(&self.writes),
            written_bytes: count(&self.written_bytes),
            log_bytes: count(&self.log_bytes),
            log_syncs: self.log_syncs.read(),
            page_syncs: self.page_syncs.read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_in_the_class_whose_bound_they_do_not_pass() {
        let counts = TimeCounts::default();
        for micros in [1, 50, 51, 1_000, 99_000_000] {
            counts.note(Duration::from_micros(micros));
        }
        let times = counts.read();
        assert_eq!((times.counts[0], times.counts[1], times.counts[4]), (2, 1, 1));
        assert_eq!((times.counts[TIME_BOUNDS.len()], times.count()), (1, 5));
        assert_eq!(times.sum, Duration::from_micros(99_001_102));
    }
}
