//! What the current thread has asked of the file and of what is kept of it in memory.
//!
//! The substrate does not know for whom it works. So each thread counts for itself, at the price of an addition, and whoever counts rows
//! takes what has come together for its tally ([`crate::Tally`]). What threads of the background do belongs to nobody.

use std::cell::Cell;

/// What was done with pages, in Firebird's words; docs/monitoring.md says what stands for them here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageCounters {
    /// Reads of the file.
    pub reads: u64,
    /// Writes to the file, and to its log.
    pub writes: u64,
    /// Looks for keys, for runs of keys and for row blocks, whether they were in memory or not.
    pub fetches: u64,
    /// Keys that were put or deleted by commits.
    pub marks: u64,
}

impl PageCounters {
    pub(crate) const NONE: PageCounters = PageCounters { reads: 0, writes: 0, fetches: 0, marks: 0 };

    pub(crate) fn add(&mut self, other: &PageCounters) {
        self.reads = self.reads.wrapping_add(other.reads);
        self.writes = self.writes.wrapping_add(other.writes);
        self.fetches = self.fetches.wrapping_add(other.fetches);
        self.marks = self.marks.wrapping_add(other.marks);
    }

    /// What has come since others were read of the same.
    pub(crate) fn since(&self, before: &PageCounters) -> PageCounters {
        PageCounters {
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
            fetches: self.fetches.saturating_sub(before.fetches),
            marks: self.marks.saturating_sub(before.marks),
        }
    }
}

struct Work {
    reads: Cell<u64>,
    writes: Cell<u64>,
    fetches: Cell<u64>,
    marks: Cell<u64>,
}

thread_local! {
    static WORK: Work = const {
        Work { reads: Cell::new(0), writes: Cell::new(0), fetches: Cell::new(0), marks: Cell::new(0) }
    };
}

fn count(cell: impl Fn(&Work) -> &Cell<u64>, count: u64) {
    WORK.with(|work| cell(work).set(cell(work).get().wrapping_add(count)));
}

/// The file was read.
pub(crate) fn has_read() {
    count(|work| &work.reads, 1);
}

/// The file was written to.
pub(crate) fn has_written() {
    count(|work| &work.writes, 1);
}

/// Something was looked for.
#[inline]
pub(crate) fn has_fetched() {
    count(|work| &work.fetches, 1);
}

/// So many keys were changed.
pub(crate) fn has_marked(keys: usize) {
    count(|work| &work.marks, keys as u64);
}

/// What has come together in this thread, which begins anew.
pub(crate) fn take() -> PageCounters {
    WORK.with(|work| PageCounters {
        reads: work.reads.take(),
        writes: work.writes.take(),
        fetches: work.fetches.take(),
        marks: work.marks.take(),
    })
}
