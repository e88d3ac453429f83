//! Which keys of one index no row of another relation has: what a new foreign key asks, of all rows at once.
//!
//! The entries of the referring index are there in order; the keys of the referenced rows are sorted as for building their index, and
//! one pass goes over both. Asking for each key by itself takes a search and a look at a row for each of them.

use std::sync::Arc;

use super::Transaction;
use crate::keyspace::parse_entry;
use crate::sorted_runs::Merge;
use crate::substrate::{ALL_KEYS, Direction, Entries, Slice, Space};
use crate::{BuildRoom, IndexDefinition, IndexId, RelationLayout, Result, RowId, StoreError};

/// After so many entries it is looked whether it is to stop.
const ENTRIES_PER_LOOK: usize = 4096;

/// Two indexes, each with its relation: of rows that refer, and of rows that are referred to.
#[derive(Debug, Clone, Copy)]
pub struct KeyPair<'a> {
    /// Of the rows that refer. This transaction has filled the index, and still keeps others from writing.
    pub referring: (&'a RelationLayout, IndexId),
    /// Of the rows that are referred to.
    pub referenced: (&'a Arc<RelationLayout>, IndexId),
}

impl Transaction {
    /// Calls `missing` with a row for each key of the referring index that no row has in the other one, in the order of keys, until it
    /// says that it has enough (false). NULL in a key is a value like others here.
    ///
    /// False, and nothing was called, if only [`Transaction::key_exists`] can tell: the indexes do not write keys alike, a relation is
    /// temporary, or somebody else is writing to the referenced one.
    ///
    /// # Errors
    /// Those of reading, of temporary files and of `missing`; `Cancelled`.
    pub fn find_missing_keys(
        &self,
        pair: &KeyPair<'_>,
        room: &dyn BuildRoom,
        missing: &mut dyn FnMut(RowId) -> Result<bool>,
    ) -> Result<bool> {
        let (referring, referenced) = (pair.referring.0, pair.referenced.0);
        let (Some(from), Some(to)) = (referring.index(pair.referring.1), referenced.index(pair.referenced.1))
        else {
            return Ok(false);
        };
        let inner = &self.store.inner;
        let are_kept = referring.temporary.is_none() && referenced.temporary.is_none();
        let own_id = self.core()?.id;
        if !are_kept || !write_keys_alike(from, to) || inner.locks.is_written_by_others(referenced.id, own_id)
        {
            return Ok(false);
        }
        self.lock_to_read(referenced.id)?;
        // Rows newer than the snapshot count too: their keys can be referred to.
        let view = self.latest_view(&mut *self.core()?);
        let (made, helped) = self.sorted_entries(referenced, to, view, room)?;
        drop(helped);
        let snapshot = inner.snapshot();
        let entries = snapshot.scan(Space::Index(from.id), ALL_KEYS, Direction::Forward)?;
        let mut keys = ReferringKeys { transaction: self, entries, entry: None, looks: 0 };
        keys.step()?;
        let mut goes_on = true;
        Merge::of(made)?.for_each(|entry| {
            keys.look_for_cancel()?;
            let (key, _) = parse_entry(entry).ok_or_else(damaged)?;
            while goes_on && keys.stand_before(key)? {
                goes_on = keys.pass(missing)?;
            }
            keys.pass_key(key)
        })?;
        while goes_on && keys.entry.is_some() {
            goes_on = keys.pass(missing)?;
        }
        Ok(true)
    }
}

/// Whether two indexes have the same key for the same values.
fn write_keys_alike(one: &IndexDefinition, other: &IndexDefinition) -> bool {
    let parts = |index: &IndexDefinition| {
        (0..index.parts.len()).map(|place| index.key_part(place)).collect::<Option<Vec<_>>>()
    };
    parts(one).is_some_and(|of_one| parts(other) == Some(of_one))
}

fn damaged() -> StoreError {
    StoreError::corrupt("an index entry")
}

/// The entries of the referring index, one after the other.
struct ReferringKeys<'t> {
    transaction: &'t Transaction,
    entries: Entries,
    /// The first one that was not passed.
    entry: Option<Slice>,
    looks: usize,
}

impl ReferringKeys<'_> {
    fn look_for_cancel(&mut self) -> Result<()> {
        self.looks += 1;
        if self.looks.is_multiple_of(ENTRIES_PER_LOOK) {
            self.transaction.cancel.check()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        self.look_for_cancel()?;
        self.entry = self.entries.next().transpose()?.map(|(entry, _)| entry);
        Ok(())
    }

    fn current(&self) -> Result<Option<(&[u8], RowId)>> {
        self.entry.as_deref().map(|entry| parse_entry(entry).ok_or_else(damaged)).transpose()
    }

    /// Whether the next key is less than this one.
    fn stand_before(&self, key: &[u8]) -> Result<bool> {
        Ok(self.current()?.is_some_and(|(own, _)| own < key))
    }

    /// Passes all entries of this key.
    fn pass_key(&mut self, key: &[u8]) -> Result<()> {
        while self.current()?.is_some_and(|(own, _)| own == key) {
            self.step()?;
        }
        Ok(())
    }

    /// Tells of the next key, and passes all its entries.
    fn pass(&mut self, missing: &mut dyn FnMut(RowId) -> Result<bool>) -> Result<bool> {
        let Some((key, row)) = self.current()? else { return Ok(false) };
        let key = key.to_vec();
        let goes_on = missing(row)?;
        self.pass_key(&key)?;
        Ok(goes_on)
    }
}
