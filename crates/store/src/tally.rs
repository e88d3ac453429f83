//! What is done with the rows of relations, counted for MON$RECORD_STATS and its likes.
//!
//! A transaction counts into its [`Tally`]. Whoever holds its core adds to plain numbers beside it ([`Pending`]), which reach the tally when
//! a run ends, now and then while it lasts, and with the transaction's end; readers of whole blocks, who may be several, add to the
//! tally itself, once a block. So nobody pays for a counter by the row, and figures of what runs may be behind by some thousand rows.
//!
//! Tallies form a tree: what one has counted goes to its parent (the session's, and from there the database's) when nobody has it
//! any more. What stands there by now is asked of the tallies that live, from above.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::RelationId;
use crate::page_work::{self, PageCounters};

/// What is counted of the rows of a relation, in the order of Firebird's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordCounter {
    /// Rows read in the order of the table.
    SeqReads,
    /// Rows read by an index, or by their number.
    IdxReads,
    /// Rows replaced.
    Updates,
    /// Rows inserted.
    Inserts,
    /// Rows deleted.
    Deletes,
    /// Changes of rows that were taken back.
    Backouts,
    /// Old versions of rows that were removed.
    Purges,
    /// Deleted rows that were removed.
    Expunges,
    /// Rows locked without being changed.
    Locks,
    /// Waits for others who had a row locked.
    Waits,
    /// Changes refused since others had changed the row.
    Conflicts,
}

/// How many counters there are.
const COUNTERS: usize = RecordCounter::Conflicts as usize + 1;

/// The counters of one relation, or of several together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordCounters([u64; COUNTERS]);

impl RecordCounters {
    /// One of them.
    pub fn get(&self, counter: RecordCounter) -> u64 {
        self.0.get(counter as usize).copied().unwrap_or(0)
    }

    fn add(&mut self, counter: RecordCounter, count: u64) {
        if let Some(place) = self.0.get_mut(counter as usize) {
            *place = place.wrapping_add(count);
        }
    }

    fn add_all(&mut self, others: &RecordCounters) {
        for (place, count) in self.0.iter_mut().zip(others.0) {
            *place = place.wrapping_add(count);
        }
    }

    /// What has come since others were read of the same.
    fn since(&self, before: &RecordCounters) -> RecordCounters {
        RecordCounters(std::array::from_fn(|place| {
            let count = |counters: &RecordCounters| counters.0.get(place).copied().unwrap_or(0);
            count(self).saturating_sub(count(before))
        }))
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }
}

/// Counters by relation, of those only of which something was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// What was done with pages for them, and besides.
    pages: PageCounters,
    /// Few, mostly: in no order, the one counted last is found first.
    relations: Vec<(RelationId, RecordCounters)>,
    latest: usize,
}

impl Counted {
    /// The relations with their counters, in order.
    pub fn relations(&self) -> Vec<(RelationId, RecordCounters)> {
        let mut relations = self.relations.clone();
        relations.sort_unstable_by_key(|(relation, _)| *relation);
        relations
    }

    /// All relations together.
    pub fn total(&self) -> RecordCounters {
        let mut total = RecordCounters::default();
        self.relations.iter().for_each(|(_, counters)| total.add_all(counters));
        total
    }

    /// What was done with pages.
    pub fn pages(&self) -> PageCounters {
        self.pages
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty() && self.pages == PageCounters::NONE
    }

    /// Adds what others have counted.
    pub fn add_all(&mut self, others: &Counted) {
        self.pages.add(&others.pages);
        for (relation, counters) in &others.relations {
            self.of(*relation).add_all(counters);
        }
    }

    /// What has been counted since `before` was read of the same tally.
    #[must_use]
    pub fn since(mut self, before: &Counted) -> Counted {
        for (relation, counters) in &before.relations {
            if let Some((_, later)) = self.relations.iter_mut().find(|(known, _)| known == relation) {
                *later = later.since(counters);
            }
        }
        self.pages = self.pages.since(&before.pages);
        self.relations.retain(|(_, counters)| !counters.is_zero());
        self.latest = 0;
        self
    }

    fn clear(&mut self) {
        self.pages = PageCounters::NONE;
        self.relations.clear();
        self.latest = 0;
    }

    /// The counters of a relation.
    fn of(&mut self, relation: RelationId) -> &mut RecordCounters {
        if self.relations.get(self.latest).is_none_or(|(known, _)| *known != relation) {
            let known = self.relations.iter().position(|(known, _)| *known == relation);
            self.latest = known.unwrap_or_else(|| {
                self.relations.push((relation, RecordCounters::default()));
                self.relations.len() - 1
            });
        }
        let latest = self.latest;
        &mut self.relations[latest].1
    }
}

/// What somebody has done so far.
#[derive(Debug, Default)]
pub struct Tally {
    parent: Option<Arc<Tally>>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Before the current run.
    before: Counted,
    /// In the current run.
    run: Counted,
}

impl Tally {
    /// One whose counts go to another one in the end.
    pub fn below(parent: &Arc<Tally>) -> Arc<Tally> {
        Arc::new(Tally { parent: Some(Arc::clone(parent)), counts: Mutex::default() })
    }

    /// Counts rows: for those who do many at a time.
    pub fn add(&self, relation: RelationId, counter: RecordCounter, count: u64) {
        let pages = page_work::take();
        if count > 0 || pages != PageCounters::NONE {
            let run = &mut self.counts.lock().run;
            run.pages.add(&pages);
            if count > 0 {
                run.of(relation).add(counter, count);
            }
        }
    }

    /// Takes what this thread has done with pages: for what is none of a statement's.
    pub fn take_pages(&self) -> PageCounters {
        let pages = page_work::take();
        if pages != PageCounters::NONE {
            self.counts.lock().run.pages.add(&pages);
        }
        pages
    }

    /// What it has counted itself so far, without those below it that live.
    pub fn counted(&self) -> Counted {
        let counts = self.counts.lock();
        let mut counted = counts.before.clone();
        counted.add_all(&counts.run);
        counted
    }

    /// What it has counted in the current run, as far as there is one.
    pub fn counted_in_run(&self) -> Counted {
        self.counts.lock().run.clone()
    }

    /// A run begins: what was counted before does not belong to it.
    pub(crate) fn begin_run(&self) {
        let Counts { before, run } = &mut *self.counts.lock();
        if !run.is_empty() {
            before.add_all(run);
            run.clear();
        }
    }

    /// The run has ended; `taken` is shown what was counted in it.
    fn end_run(&self, pending: &mut Pending, taken: impl FnOnce(&Counted)) {
        let Counts { before, run } = &mut *self.counts.lock();
        run.add_all(&pending.counted);
        run.pages.add(&page_work::take());
        pending.clear();
        if !run.is_empty() {
            taken(run);
            before.add_all(run);
            run.clear();
        }
    }

    fn take(&self, counted: &Counted) {
        if !counted.is_empty() {
            self.counts.lock().run.add_all(counted);
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if let Some(parent) = &self.parent {
            parent.take(&self.counted());
        }
    }
}

/// So many additions may wait for the tally.
const PENDING_MAX: u32 = 4_096;

/// What the holder of a transaction's core has counted and its tally does not know yet.
#[derive(Debug)]
pub(crate) struct Pending {
    tally: Arc<Tally>,
    counted: Counted,
    additions: u32,
}

impl Pending {
    pub(crate) fn new(tally: Arc<Tally>) -> Pending {
        Pending { tally, counted: Counted::default(), additions: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, relation: RelationId, counter: RecordCounter, count: u64) {
        if count == 0 {
            return;
        }
        self.counted.of(relation).add(counter, count);
        self.additions += 1;
        if self.additions >= PENDING_MAX {
            self.hand_over();
        }
    }

    /// Tells the tally.
    pub(crate) fn hand_over(&mut self) {
        self.counted.pages.add(&page_work::take());
        if self.counted.is_empty() {
            return;
        }
        self.tally.take(&self.counted);
        self.clear();
    }

    /// As [`Tally::end_run`], of its own tally.
    pub(crate) fn end_run(&mut self, taken: impl FnOnce(&Counted)) {
        let tally = Arc::clone(&self.tally);
        tally.end_run(self, taken);
    }

    fn clear(&mut self) {
        self.counted.clear();
        self.additions = 0;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.hand_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: RelationId = RelationId(1);
    const U: RelationId = RelationId(2);

    #[test]
    fn a_run_has_what_was_counted_in_it_and_all_of_it_goes_up_in_the_end() {
        let session = Arc::new(Tally::default());
        let tally = Tally::below(&session);
        let mut pending = Pending::new(Arc::clone(&tally));
        pending.add(T, RecordCounter::IdxReads, 2);
        pending.end_run(|run| assert_eq!(run.total().get(RecordCounter::IdxReads), 2));
        tally.add(U, RecordCounter::SeqReads, 7);
        pending.add(T, RecordCounter::IdxReads, 1);
        pending.hand_over();
        assert_eq!(tally.counted_in_run().relations().len(), 2);
        let so_far = tally.counted();
        assert_eq!(so_far.total().get(RecordCounter::IdxReads), 3);
        pending.add(T, RecordCounter::Updates, 5);
        pending.hand_over();
        let since = tally.counted().since(&so_far);
        assert_eq!(since.relations().len(), 1);
        assert_eq!(since.total().get(RecordCounter::Updates), 5);
        assert!(session.counted().is_empty());
        drop((tally, pending));
        let [(first, of_t), (second, of_u)] = session.counted().relations()[..] else { panic!() };
        assert_eq!((first, of_t.get(RecordCounter::IdxReads), of_t.get(RecordCounter::Updates)), (T, 3, 5));
        assert_eq!((second, of_u.get(RecordCounter::SeqReads)), (U, 7));
    }
}
