//! Inserting many rows at once, as far as that is simple: what the first row costs the others share.
//!
//! # Promises
//! - A row is simple if nothing has to be known of others to insert it: no row, committed or not, has or had one of its unique keys, but
//!   for those that are gone for good. Such rows are inserted as if one after the other.
//! - The first row that is not ends the call before it: [`Transaction::insert`] knows whether its key is free, how to wait
//!   for that, and its errors are its errors.
//! - Where there are no indexes at all every row is simple: [`Transaction::insert_encoded`] takes rows as they are kept.

use std::ops::{Bound, Range};
use std::sync::Arc;

use farbird_record::EncodedRows;
use farbird_record::value_codec::encode_row;
use farbird_types::{BlobId, Value};

use super::write::{NewKey, NewKeys, Scratch, current_format, give_numbers_back, next_row, note_format};
use super::{Core, Transaction};
use crate::committed::RowFinder;
use crate::keyspace;
use crate::pending_keys::Announcement;
use crate::substrate::{KeyBounds, KeyRoom, Space};
use crate::tally::RecordCounter;
use crate::write_set::RowPacking;
use crate::{RelationId, RelationLayout, Result, RowId, StoreError};

/// The keys of rows that are to be inserted: those of a row stand side by side.
struct RowKeys<'a> {
    layout: &'a RelationLayout,
    keys: &'a mut NewKeys,
    /// How many keys the rows up to each have.
    ends: Vec<usize>,
}

impl RowKeys<'_> {
    fn first_of(&self, row: usize) -> usize {
        row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }

    fn of_rows(&self, rows: Range<usize>) -> impl Iterator<Item = NewKey<'_>> {
        self.keys.range(self.layout, self.first_of(rows.start)..self.first_of(rows.end))
    }

    /// Adds those of the next row; false, and it has none, if they cannot be made.
    fn push(&mut self, number: RowId, row: &[Value]) -> bool {
        let known = self.keys.len();
        let made = self.keys.append(self.layout, number, row, None).is_ok();
        match made {
            true => self.ends.push(self.keys.len()),
            false => self.keys.truncate(known),
        }
        made
    }
}

impl Transaction {
    /// Inserts simple rows, each by slot, from the first one on; gives the numbers of those that it has inserted. Of a relation
    /// without BLOBs.
    ///
    /// # Errors
    /// `LayoutChanged`, `ReadOnly`, `Cancelled`, and those of reading.
    pub fn insert_rows(&self, layout: &RelationLayout, rows: &[Vec<Value>]) -> Result<Vec<RowId>> {
        self.check_writable_rows(layout)?;
        let relation = layout.id;
        let instance = self.instance_to_write(layout)?;
        let layout = instance.as_deref().unwrap_or(layout);
        self.lock_to_write(layout)?;
        let mut core = self.core()?;
        note_format(&mut core, layout)?;
        let mut scratch = std::mem::take(&mut core.scratch);
        let inserted = self.insert_simple(&mut core, layout, rows, &mut scratch);
        if scratch.is_worth_keeping() {
            core.scratch = scratch;
        }
        let inserted = inserted?;
        core.pending.add(relation, RecordCounter::Inserts, inserted.len() as u64);
        self.spill_if_large(&mut core)?;
        Ok(inserted)
    }

    /// Inserts rows in value encoding, of the layout's current format, into a relation without indexes. `blobs` are theirs: BLOBs that
    /// this transaction has made, as their columns say, and that no row has.
    ///
    /// # Errors
    /// `BadLayout` if there are indexes; `NoSuchBlob`; `LayoutChanged`, `ReadOnly`, `Cancelled`, and those of writing.
    pub fn insert_encoded(
        &self,
        layout: &RelationLayout,
        rows: &EncodedRows,
        blobs: &[BlobId],
    ) -> Result<()> {
        self.check_writable_rows(layout)?;
        let relation = layout.id;
        let instance = self.instance_to_write(layout)?;
        let layout = instance.as_deref().unwrap_or(layout);
        if !layout.indexes.is_empty() {
            return Err(StoreError::BadLayout { relation, what: "keys for encoded rows" });
        }
        self.lock_to_write(layout)?;
        let mut core = self.core()?;
        note_format(&mut core, layout)?;
        let (change, of_instance) = (core.writes.now(), instance.as_ref().map(|instance| instance.id));
        for blob in blobs {
            core.blobs.adopt_own(*blob, change, of_instance)?;
        }
        let record_format = current_format(layout)?;
        let codec = layout.codec.unwrap_or_else(|| self.store.inner.codec());
        let packing = RowPacking { format: layout.current, record_format, codec };
        for row in rows.iter() {
            let number = next_row(&self.store.inner, &mut core, layout.id)?;
            core.writes.insert(layout.id, number, &packing, row, &self.live);
        }
        core.pending.add(relation, RecordCounter::Inserts, rows.len() as u64);
        self.spill_if_large(&mut core)
    }

    fn insert_simple(
        &self,
        core: &mut Core,
        layout: &RelationLayout,
        rows: &[Vec<Value>],
        scratch: &mut Scratch,
    ) -> Result<Vec<RowId>> {
        let Scratch { row: bytes, keys } = scratch;
        keys.truncate(0);
        let mut numbers = Vec::with_capacity(rows.len());
        let mut keys = RowKeys { layout, keys, ends: Vec::with_capacity(rows.len()) };
        for row in rows {
            let number = next_row(&self.store.inner, core, layout.id)?;
            numbers.push(number);
            if !keys.push(number, row) {
                break;
            }
        }
        let announced = self.announce(core, &keys);
        let inserted = self.count_free(core, &keys, announced).and_then(|free| {
            let rows = numbers.iter().copied().zip(rows).take(free);
            self.write_rows(core, &keys, rows, bytes)
        });
        // An error happens before anything is written.
        let kept = *inserted.as_ref().unwrap_or(&0);
        self.withdraw(keys.of_rows(kept..announced));
        give_numbers_back(core, layout.id, (numbers.len() - kept) as u64);
        inserted?;
        numbers.truncate(kept);
        Ok(numbers)
    }

    /// Announces the keys of rows to other transactions, from the first row on as long as nobody has announced them; gives of
    /// how many rows.
    fn announce(&self, core: &Core, keys: &RowKeys<'_>) -> usize {
        let pending = &self.store.inner.pending_keys;
        for row in 0..keys.ends.len() {
            for (place, new) in keys.of_rows(row..row + 1).enumerate() {
                let is_first = match new.is_unique() {
                    false => pending.add(new.index.id, new.entry, core.id),
                    true => match pending.add_unique(new.index.id, new.entry, core.id) {
                        Announcement::Made { own } if own.is_empty() => true,
                        Announcement::Made { .. } => {
                            pending.remove(new.index.id, new.entry);
                            false
                        }
                        Announcement::Refused(_) | Announcement::Known => false,
                    },
                };
                if !is_first {
                    self.withdraw(keys.of_rows(row..row + 1).take(place));
                    return row;
                }
            }
        }
        keys.ends.len()
    }

    /// Takes keys back that it has announced.
    fn withdraw<'k>(&self, keys: impl Iterator<Item = NewKey<'k>>) {
        for new in keys {
            self.store.inner.pending_keys.remove(new.index.id, new.entry);
        }
    }

    /// Of how many rows, whose keys are announced, no other row has a unique key, from the first one on.
    fn count_free(&self, core: &Core, keys: &RowKeys<'_>, rows: usize) -> Result<usize> {
        // Taken behind the announcement: whoever commits such a key later has waited for this transaction.
        let snapshot = self.store.inner.snapshot();
        let mut ends: Vec<Option<Arc<KeyBounds>>> = Vec::with_capacity(keys.layout.indexes.len());
        for index in &keys.layout.indexes {
            ends.push(match index.unique {
                true => snapshot.bounds(Space::Index(index.id))?,
                false => None,
            });
        }
        let place_of =
            |new: &NewKey<'_>| keys.layout.indexes.iter().position(|known| known.id == new.index.id);
        let mut rooms: Vec<KeyRoom> = Vec::new();
        rooms.resize_with(ends.len(), KeyRoom::default);
        let mut finder = RowFinder::new(&self.store.inner, &*snapshot, keys.layout.id)?;
        let mut after = Vec::new();
        for row in 0..rows {
            for new in keys.of_rows(row..row + 1).filter(NewKey::is_unique) {
                let key = new.key();
                // Keys that grow, those of identity columns for instance, are beyond all that there are.
                let place = place_of(&new);
                let end = place.and_then(|place| ends.get(place)).and_then(Option::as_ref);
                if end.is_none_or(|bounds| bounds.last.as_slice() < key) {
                    continue;
                }
                let Some(room) = place.and_then(|place| rooms.get_mut(place)) else { return Ok(row) };
                let has_upper = keyspace::after_prefix_into(key, &mut after);
                let upper = if has_upper { Bound::Excluded(after.as_slice()) } else { Bound::Unbounded };
                let mut is_free = true;
                let mut look = |entry: &[u8]| -> Result<bool> {
                    // There may be any number of entries of rows that are gone.
                    self.cancel.check()?;
                    is_free = self.is_gone(core, &mut finder, keys.layout.id, entry)?;
                    Ok(is_free)
                };
                let space = Space::Index(new.index.id);
                snapshot.visit_keys(space, (Bound::Included(key), upper), room, &mut look)?;
                if !is_free {
                    return Ok(row);
                }
            }
        }
        Ok(rows)
    }

    /// Whether the row of an entry is gone for good: it was deleted, or whoever inserted it was rolled back. If that does not show at
    /// once, it is not: who inserts single rows finds out.
    fn is_gone(
        &self,
        core: &Core,
        finder: &mut RowFinder<'_>,
        relation: RelationId,
        entry: &[u8],
    ) -> Result<bool> {
        let (_, row) = keyspace::parse_entry(entry).ok_or_else(|| StoreError::corrupt("an index entry"))?;
        let spilled = &self.store.inner.spilled;
        if finder.has_changes() || core.writes.relation(relation).is_some_and(|own| own.has(row)) {
            return Ok(false);
        }
        // A spilled row is looked for among what is committed and among what still runs: its transaction must not end in between.
        let ended = spilled.times_left();
        let is_gone = match finder.find(row, core.full_visibility(relation))? {
            Some(found) => found.is_deleted(),
            None => !finder.is_of_running(row)?,
        };
        Ok(is_gone && spilled.times_left() == ended)
    }

    /// Puts rows whose keys are announced into the write set, up to the first one that has no encoding; gives how many.
    fn write_rows<'r>(
        &self,
        core: &mut Core,
        keys: &RowKeys<'_>,
        rows: impl Iterator<Item = (RowId, &'r Vec<Value>)>,
        bytes: &mut Vec<u8>,
    ) -> Result<usize> {
        let layout = keys.layout;
        let record_format = current_format(layout)?;
        let codec = layout.codec.unwrap_or_else(|| self.store.inner.codec());
        let packing = RowPacking { format: layout.current, record_format, codec };
        let mut written = 0;
        for (number, row) in rows {
            bytes.clear();
            if encode_row(record_format, row, bytes).is_err() {
                break;
            }
            core.writes.insert(layout.id, number, &packing, bytes, &self.live);
            for NewKey { index, entry, .. } in keys.of_rows(written..written + 1) {
                core.writes.add_entry(layout.id, index.id, entry);
            }
            written += 1;
        }
        Ok(written)
    }
}
