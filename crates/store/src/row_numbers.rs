//! Row numbers: each relation counts its rows; transactions take ranges, so that rows inserted together stand together.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use parking_lot::Mutex;

use crate::{RelationId, Result};

/// Row numbers of all relations.
#[derive(Debug, Default)]
pub(crate) struct RowNumbers {
    relations: Mutex<HashMap<RelationId, Numbers>>,
}

#[derive(Debug)]
struct Numbers {
    next: u64,
    /// Ranges taken by running transactions: end by start.
    reserved: BTreeMap<u64, u64>,
}

impl RowNumbers {
    /// Takes the next `count` numbers. `first_free` tells the first free number of a relation not met before.
    pub(crate) fn reserve(
        &self,
        relation: RelationId,
        count: u64,
        first_free: impl FnOnce() -> Result<u64>,
    ) -> Result<Range<u64>> {
        let mut relations = self.relations.lock();
        let numbers = match relations.entry(relation) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Numbers { next: first_free()?, reserved: BTreeMap::new() }),
        };
        let range = numbers.next..numbers.next.saturating_add(count);
        numbers.next = range.end;
        numbers.reserved.insert(range.start, range.end);
        Ok(range)
    }

    /// Takes the range again that a transaction of before the open has taken.
    pub(crate) fn restore(
        &self,
        relation: RelationId,
        range: Range<u64>,
        first_free: impl FnOnce() -> Result<u64>,
    ) -> Result<()> {
        let mut relations = self.relations.lock();
        let numbers = match relations.entry(relation) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Numbers { next: first_free()?, reserved: BTreeMap::new() }),
        };
        numbers.next = numbers.next.max(range.end);
        numbers.reserved.insert(range.start, range.end);
        Ok(())
    }

    /// Gives a range back at its transaction's end; `unused` is the part at its end that has no rows.
    pub(crate) fn release(&self, relation: RelationId, start: u64, unused: Range<u64>) {
        if let Some(numbers) = self.relations.lock().get_mut(&relation) {
            numbers.reserved.remove(&start);
            if !unused.is_empty() && unused.end == numbers.next {
                numbers.next = unused.start;
            }
        }
    }

    /// Forgets a relation that is gone.
    pub(crate) fn forget(&self, relation: RelationId) {
        self.relations.lock().remove(&relation);
    }

    /// The first number from `from` on that a running transaction has taken, if any.
    pub(crate) fn next_reserved(&self, relation: RelationId, from: u64) -> Option<u64> {
        let relations = self.relations.lock();
        let numbers = relations.get(&relation)?;
        if numbers.reserved.range(..=from).next_back().is_some_and(|(_, &end)| end > from) {
            return Some(from);
        }
        numbers.reserved.range(from..).next().map(|(&start, _)| start)
    }
}
