//! Inserting, updating, deleting and locking rows.

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::atomic::Ordering;

use farbird_record::value_codec::encode_row;
use farbird_types::{BlobId, SqlType, Value};

use super::temporary::in_catalogs_terms;
use super::{Core, ROW_NUMBER_STEPS, Reservation, Transaction, WrittenFormat};
use crate::committed::find_row;
use crate::decoder::RowDecoder;
use crate::keyspace;
use crate::layout::column_slots;
use crate::locks::{Resource, UndoneLock};
use crate::row_locks::ChangedKeys;
use crate::store::Inner;
use crate::substrate::{ALL_KEYS, Direction, Space, SubstrateState};
use crate::tally::RecordCounter;
use crate::write_set::{OwnRow, RowPacking};
use crate::{
    IndexDefinition, IndexId, Isolation, Projection, ReadView, RelationId, RelationLayout, Result, RowId,
    StoreError, TransactionId, Wait,
};

/// A row locked for a change, as it is now.
struct LockedRow {
    id: TransactionId,
    values: Vec<Value>,
    /// Whether this transaction wrote it.
    is_uncommitted: bool,
    /// Whether it was not locked before.
    newly_locked: bool,
}

/// Room for writing one row, used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) row: Vec<u8>,
    pub(super) keys: NewKeys,
}

/// Larger rows and keys get room of their own.
const SCRATCH_BYTES_MAX: usize = 64 << 10;

impl Scratch {
    pub(super) fn is_worth_keeping(&self) -> bool {
        self.row.capacity() + self.keys.bytes.capacity() <= SCRATCH_BYTES_MAX
    }
}

/// The entries that a write adds to the indexes of a relation.
#[derive(Debug, Default)]
pub(super) struct NewKeys {
    /// One after the other.
    bytes: Vec<u8>,
    places: Vec<NewKeySpan>,
}

#[derive(Debug)]
struct NewKeySpan {
    /// Of the index among those of the layout.
    index: usize,
    entry: Range<usize>,
    all_null: bool,
}

/// A key that a write adds to an index.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewKey<'a> {
    pub(super) index: &'a IndexDefinition,
    pub(super) entry: &'a [u8],
    /// Keys whose values are all NULL never collide.
    pub(super) all_null: bool,
}

impl<'a> NewKey<'a> {
    /// Whether no other row may have the key.
    pub(super) fn is_unique(&self) -> bool {
        self.index.unique && !self.all_null
    }

    /// The key, without the row.
    pub(super) fn key(&self) -> &'a [u8] {
        self.entry.get(..self.entry.len() - keyspace::ROW_BYTES).unwrap_or_default()
    }
}

impl NewKeys {
    /// Collects the keys of a new row that its old version does not have.
    pub(super) fn collect(
        &mut self,
        layout: &RelationLayout,
        row_id: RowId,
        row: &[Value],
        old: Option<&[Value]>,
    ) -> Result<()> {
        self.truncate(0);
        self.append(layout, row_id, row, old)
    }

    /// Adds those of another row behind what it has; if it fails, some of them.
    pub(super) fn append(
        &mut self,
        layout: &RelationLayout,
        row_id: RowId,
        row: &[Value],
        old: Option<&[Value]>,
    ) -> Result<()> {
        for (index, definition) in layout.indexes.iter().enumerate().filter(|(_, index)| index.active) {
            if old.is_some_and(|old| has_same_columns(definition, old, row)) {
                continue;
            }
            let start = self.bytes.len();
            let Some(all_null) = definition.append_key(row, &mut self.bytes)? else { continue };
            if let Some(old) = old
                && definition.key(old)?.is_some_and(|old| self.bytes.get(start..) == Some(&old.bytes))
            {
                self.bytes.truncate(start);
                continue;
            }
            self.bytes.extend_from_slice(&row_id.0.to_be_bytes());
            self.places.push(NewKeySpan { index, entry: start..self.bytes.len(), all_null });
        }
        Ok(())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Leaves the first ones.
    pub(super) fn truncate(&mut self, len: usize) {
        self.places.truncate(len);
        self.bytes.truncate(self.places.last().map_or(0, |place| place.entry.end));
    }

    /// Some of them, as [`NewKeys::iter`].
    pub(super) fn range<'a>(
        &'a self,
        layout: &'a RelationLayout,
        range: Range<usize>,
    ) -> impl Iterator<Item = NewKey<'a>> {
        let places = self.places.get(range).unwrap_or_default();
        places.iter().filter_map(|place| self.key_at(layout, place))
    }

    fn key_at<'a>(&'a self, layout: &'a RelationLayout, place: &NewKeySpan) -> Option<NewKey<'a>> {
        let (index, entry) = (layout.indexes.get(place.index)?, self.bytes.get(place.entry.clone())?);
        Some(NewKey { index, entry, all_null: place.all_null })
    }

    /// The keys, for the indexes of the layout that they were collected for.
    pub(super) fn iter<'a>(&'a self, layout: &'a RelationLayout) -> impl Iterator<Item = NewKey<'a>> {
        self.range(layout, 0..self.len())
    }
}

/// Whether an index has the same key for two rows since it is made of columns that they share, as far as that shows.
fn has_same_columns(index: &IndexDefinition, old: &[Value], new: &[Value]) -> bool {
    let value = |row: &[Value], slot: u16| row.get(usize::from(slot)).is_some_and(|value| !is_inexact(value));
    column_slots(index).is_some_and(|mut slots| {
        slots.all(|slot| {
            value(old, slot) && value(new, slot) && old.get(usize::from(slot)) == new.get(usize::from(slot))
        })
    })
}

/// Of these 0 and -0 are equal and may have other keys.
fn is_inexact(value: &Value) -> bool {
    matches!(value, Value::Float(_) | Value::Double(_) | Value::DecFloat(_))
}

impl Transaction {
    /// Inserts a row, by slot, of the layout's current format (missing values at its end are NULL).
    ///
    /// BLOBs in it become the row's own: one just created by this transaction keeps its id; of one that belongs to
    /// another row another one with the same contents is made, whose id replaces it in `row`. If the insert fails they are
    /// nobody's again.
    ///
    /// # Errors
    /// `UniqueViolation`; `LockConflict`, `LockTimeout`, `Deadlock` if another transaction is about to commit the same
    /// key; `LayoutChanged`.
    pub fn insert(&self, layout: &RelationLayout, row: &mut [Value]) -> Result<RowId> {
        self.check_writable_rows(layout)?;
        let instance = self.instance_to_write(layout)?;
        let inserted = self.insert_into(instance.as_deref().unwrap_or(layout), row);
        self.count_insert(layout.id, &inserted);
        inserted.map_err(|error| in_catalogs_terms(error, layout, instance.as_deref()))
    }

    fn insert_into(&self, layout: &RelationLayout, row: &mut [Value]) -> Result<RowId> {
        self.lock_to_write(layout)?;
        let taken = self.adopt_blobs(&mut *self.core()?, layout, row, &[])?;
        let inserted = self.insert_adopted(layout, row);
        if inserted.is_err()
            && !taken.is_empty()
            && let Ok(mut core) = self.core()
        {
            core.blobs.give_up(&taken);
        }
        inserted
    }

    /// Inserts a row whose BLOBs are its own.
    fn insert_adopted(&self, layout: &RelationLayout, row: &[Value]) -> Result<RowId> {
        let (row_id, id, mut scratch) = {
            let mut core = self.core()?;
            (next_row(&self.store.inner, &mut core, layout.id)?, core.id, std::mem::take(&mut core.scratch))
        };
        let Scratch { row: bytes, keys } = &mut scratch;
        bytes.clear();
        let record_format = current_format(layout)?;
        encode_row(record_format, row, bytes)?;
        keys.collect(layout, row_id, row, None)?;
        self.reserve_keys(id, layout, row_id, row, keys)?;
        let mut core = self.core()?;
        note_format(&mut core, layout)?;
        let codec = layout.codec.unwrap_or_else(|| self.store.inner.codec());
        let packing = RowPacking { format: layout.current, record_format, codec };
        core.writes.insert(layout.id, row_id, &packing, bytes, &self.live);
        note_entries(&mut core, layout, keys);
        if scratch.is_worth_keeping() {
            core.scratch = scratch;
        }
        self.spill_if_large(&mut core)?;
        Ok(row_id)
    }

    /// Replaces a row. BLOBs as with [`Transaction::insert`]; those that the old version has too stay as they are.
    ///
    /// # Errors
    /// As [`Transaction::insert`], and `UpdateConflict`, `StatementRestart`, `NoSuchRow`.
    pub fn update(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row_id: RowId,
        row: &mut [Value],
    ) -> Result<()> {
        self.check_writable_rows(layout)?;
        let instance = self.instance(layout)?;
        let replaced = self.replace_row(instance.as_deref().unwrap_or(layout), view, row_id, row);
        self.count_change(layout.id, RecordCounter::Updates, &replaced);
        replaced.map_err(|error| in_catalogs_terms(error, layout, instance.as_deref()))
    }

    /// Counts an insert. One that meets its key has read the row that has it, and is taken back.
    fn count_insert(&self, relation: RelationId, inserted: &Result<RowId>) {
        let Ok(mut core) = self.core() else { return };
        match inserted {
            Ok(_) => core.pending.add(relation, RecordCounter::Inserts, 1),
            Err(StoreError::UniqueViolation { .. }) => {
                core.pending.add(relation, RecordCounter::IdxReads, 1);
                core.pending.add(relation, RecordCounter::Inserts, 1);
                core.pending.add(relation, RecordCounter::Backouts, 1);
            }
            Err(_) => {}
        }
    }

    /// Counts a change of a row that exists, or what has kept it from being made.
    fn count_change(&self, relation: RelationId, counter: RecordCounter, changed: &Result<()>) {
        let Ok(mut core) = self.core() else { return };
        match changed {
            Ok(()) => core.pending.add(relation, counter, 1),
            Err(StoreError::UniqueViolation { .. }) => {
                core.pending.add(relation, RecordCounter::IdxReads, 1);
                core.pending.add(relation, counter, 1);
                core.pending.add(relation, RecordCounter::Backouts, 1);
            }
            Err(
                StoreError::UpdateConflict { .. }
                | StoreError::StatementRestart { .. }
                | StoreError::LockConflict { .. }
                | StoreError::LockTimeout { .. }
                | StoreError::Deadlock { .. },
            ) => core.pending.add(relation, RecordCounter::Conflicts, 1),
            Err(_) => {}
        }
    }

    fn replace_row(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row_id: RowId,
        row: &mut [Value],
    ) -> Result<()> {
        self.lock_to_write(layout)?;
        self.with_locked_row(layout, view, row_id, |locked, taken| {
            let mut keys = NewKeys::default();
            keys.collect(layout, row_id, row, Some(&locked.values))?;
            if !keys.is_empty() {
                let changed = ChangedKeys::Of(keys.iter(layout).map(|new| new.index.id).collect());
                *taken = self.store.inner.locks.note_changed_keys(layout.id, row_id, &changed);
            }
            self.adopt_blobs(&mut *self.core()?, layout, row, &locked.values)?;
            let mut bytes = Vec::new();
            encode_row(current_format(layout)?, row, &mut bytes)?;
            self.reserve_keys(locked.id, layout, row_id, row, &keys)?;
            let mut core = self.core()?;
            note_format(&mut core, layout)?;
            if locked.is_uncommitted {
                drop_replaced(&mut core, layout, row_id, &locked.values, row)?;
            }
            let content = Some((layout.current, bytes.into_boxed_slice()));
            core.writes.change(layout.id, row_id, content, locked.newly_locked, &self.live);
            note_entries(&mut core, layout, &keys);
            Ok(())
        })
    }

    /// Deletes a row. Errors as [`Transaction::update`].
    pub fn delete(&self, layout: &RelationLayout, view: &ReadView, row_id: RowId) -> Result<()> {
        self.check_writable_rows(layout)?;
        let instance = self.instance(layout)?;
        let deleted = self.delete_row(instance.as_deref().unwrap_or(layout), view, row_id);
        self.count_change(layout.id, RecordCounter::Deletes, &deleted);
        deleted
    }

    fn delete_row(&self, layout: &RelationLayout, view: &ReadView, row_id: RowId) -> Result<()> {
        self.lock_to_write(layout)?;
        self.with_locked_row(layout, view, row_id, |locked, taken| {
            *taken = self.store.inner.locks.note_changed_keys(layout.id, row_id, &ChangedKeys::All);
            let mut core = self.core()?;
            if locked.is_uncommitted {
                drop_replaced(&mut core, layout, row_id, &locked.values, &[])?;
            }
            core.writes.change(layout.id, row_id, None, locked.newly_locked, &self.live);
            Ok(())
        })
    }

    /// Locks a row and changes it; `change` says which keys it takes away. If it fails the lock and the keys are as before.
    fn with_locked_row(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row_id: RowId,
        change: impl FnOnce(&LockedRow, &mut Vec<Option<IndexId>>) -> Result<()>,
    ) -> Result<()> {
        let locked = self.lock_and_read(layout, view, row_id, self.options.wait)?;
        let relation = layout.id;
        let mut taken = Vec::new();
        if let Err(error) = change(&locked, &mut taken) {
            let key = |index| UndoneLock::Key { relation, row: row_id, index };
            let mut undone: Vec<UndoneLock> = taken.into_iter().map(key).collect();
            if locked.newly_locked {
                undone.push(UndoneLock::Row { relation, row: row_id });
            }
            self.store.inner.locks.take_back(&undone, locked.id, false);
            return Err(error);
        }
        let mut core = self.core()?;
        if !locked.newly_locked {
            for index in taken {
                core.writes.note_taken_key(relation, row_id, index);
            }
        }
        self.spill_if_large(&mut core)
    }

    /// Locks a row, until the end of the transaction or a savepoint before is gone back to, without changing it (WITH LOCK). Errors as
    /// [`Transaction::update`].
    pub fn lock_row(&self, layout: &RelationLayout, view: &ReadView, row_id: RowId) -> Result<()> {
        self.lock_without_change(layout, view, row_id, self.options.wait)
    }

    /// As [`Transaction::lock_row`], but `LockConflict` at once if another transaction holds the row (SKIP LOCKED).
    pub fn try_lock_row(&self, layout: &RelationLayout, view: &ReadView, row_id: RowId) -> Result<()> {
        self.lock_without_change(layout, view, row_id, Wait::No)
    }

    fn lock_without_change(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row_id: RowId,
        wait: Wait,
    ) -> Result<()> {
        self.check_writable_rows(layout)?;
        let instance = self.instance(layout)?;
        let locked = self.lock_row_of(instance.as_deref().unwrap_or(layout), view, row_id, wait);
        self.count_change(layout.id, RecordCounter::Locks, &locked);
        locked
    }

    fn lock_row_of(&self, layout: &RelationLayout, view: &ReadView, row_id: RowId, wait: Wait) -> Result<()> {
        self.lock_for_writes(layout.id, self.write_level())?;
        let locked = self.lock_and_read(layout, view, row_id, wait)?;
        if locked.newly_locked {
            self.core()?.writes.note_lock(layout.id, row_id);
        }
        Ok(())
    }

    /// Locks a row of a locked relation and reads it as it is now, checking that the view sees that version.
    fn lock_and_read(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row_id: RowId,
        wait: Wait,
    ) -> Result<LockedRow> {
        let projection = Projection::all();
        let decoder = RowDecoder::new(&self.store.inner, layout, &projection);
        let mut values = Vec::new();
        let id = {
            let core = self.core()?;
            match core.writes.relation(layout.id).and_then(|writes| writes.row(row_id, u64::MAX)) {
                Some(OwnRow::Deleted) => return Err(StoreError::NoSuchRow { row: row_id }),
                Some(OwnRow::Row { format, bytes }) => {
                    decoder.decode(row_id, format, bytes, &mut values)?;
                    return Ok(LockedRow { id: core.id, values, is_uncommitted: true, newly_locked: false });
                }
                None => core.id,
            }
        };
        let resource = Resource::Row(layout.id, row_id);
        let mut waiter = self.waiter_for(id, wait);
        let newly_locked = self.store.inner.locks.lock(&resource, &mut waiter);
        if waiter.has_waited {
            self.tally.add(layout.id, RecordCounter::Waits, 1);
        }
        let newly_locked = newly_locked?;
        let read = self.read_latest(layout, view, row_id, &decoder, &mut values);
        match &read {
            // The statement runs again and finds the row its own: of many who want it each has it in its turn, however often
            // others were quicker.
            Err(StoreError::StatementRestart { .. }) if newly_locked => {
                self.core()?.writes.note_lock(layout.id, row_id);
            }
            Err(_) if newly_locked => self.store.inner.locks.unlock(&resource, id),
            _ => {}
        }
        read.map(|writer| LockedRow { id, values, is_uncommitted: writer == id, newly_locked })
    }

    /// Reads the latest version of a locked row, if the view sees it; gives its writer.
    fn read_latest(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row_id: RowId,
        decoder: &RowDecoder<'_>,
        values: &mut Vec<Value>,
    ) -> Result<TransactionId> {
        let core = self.core()?;
        let snapshot = self.store.inner.snapshot();
        let found =
            find_row(&self.store.inner, &*snapshot, layout.id, row_id, core.full_visibility(layout.id))?;
        let Some(found) = found else { return Err(StoreError::NoSuchRow { row: row_id }) };
        if !core.visibility(layout.id, view).sees(found.commit) {
            let newer = found.writer();
            return Err(match self.options.isolation {
                Isolation::ReadCommitted => StoreError::StatementRestart { row: row_id, newer },
                Isolation::Snapshot | Isolation::TableStability => {
                    self.store.inner.update_conflicts.fetch_add(1, Ordering::Relaxed);
                    StoreError::UpdateConflict { row: row_id, newer }
                }
            });
        }
        if found.is_deleted() {
            return Err(StoreError::NoSuchRow { row: row_id });
        }
        found.decode(row_id, decoder, values)?;
        Ok(found.writer())
    }

    /// Makes the BLOBs of a new row its own; gives those that were not before.
    fn adopt_blobs(
        &self,
        core: &mut Core,
        layout: &RelationLayout,
        row: &mut [Value],
        old: &[Value],
    ) -> Result<Vec<BlobId>> {
        let kept = blob_ids(old);
        let format = current_format(layout)?;
        let mut taken = Vec::new();
        for slot in format.blob_slots() {
            if let Some(Value::Blob(blob)) = row.get_mut(slot)
                && !kept.contains(blob)
            {
                let adopted = self.adopt_blob(core, layout.id, *blob, format.columns().get(slot), &mut taken);
                *blob = adopted.inspect_err(|_| core.blobs.give_up(&taken))?;
            }
        }
        Ok(taken)
    }

    fn adopt_blob(
        &self,
        core: &mut Core,
        relation: RelationId,
        blob: BlobId,
        column: Option<&SqlType>,
        taken: &mut Vec<BlobId>,
    ) -> Result<BlobId> {
        let now = core.writes.now();
        let instance = Some(relation).filter(|relation| relation.is_instance());
        let adopted = core.blobs.adopt(&self.store.inner, blob, now, instance)?;
        taken.push(adopted);
        if let Some(SqlType::Blob { subtype, character_set, .. }) = column {
            core.blobs.describe(&self.store.inner, adopted, *subtype, *character_set)?;
        }
        Ok(adopted)
    }
}

/// Adds reserved keys to the write set.
pub(super) fn note_entries(core: &mut Core, layout: &RelationLayout, keys: &NewKeys) {
    for NewKey { index, entry, .. } in keys.iter(layout) {
        core.writes.add_entry(layout.id, index.id, entry);
    }
}

/// What an uncommitted row had and its successor (empty if it is deleted) has no more need not be committed.
fn drop_replaced(
    core: &mut Core,
    layout: &RelationLayout,
    row_id: RowId,
    old: &[Value],
    new: &[Value],
) -> Result<()> {
    let kept = blob_ids(new);
    let now = core.writes.now();
    for blob in blob_ids(old) {
        if !kept.contains(&blob) {
            core.blobs.replace(blob, now);
        }
    }
    for index in layout.indexes.iter().filter(|index| index.active) {
        let Some(key) = index.key(old)? else { continue };
        let kept = if new.is_empty() { None } else { index.key(new)? };
        if kept.as_ref() != Some(&key) {
            core.writes.supersede_entry(index.id, &key.entry(row_id));
        }
    }
    Ok(())
}

fn blob_ids(row: &[Value]) -> Vec<BlobId> {
    row.iter().filter_map(|value| if let Value::Blob(blob) = value { Some(*blob) } else { None }).collect()
}

pub(super) fn current_format(layout: &RelationLayout) -> Result<&farbird_record::RecordFormat> {
    layout.current_format().ok_or(StoreError::BadLayout { relation: layout.id, what: "current format" })
}

/// Keeps the format for the commit.
pub(super) fn note_format(core: &mut Core, layout: &RelationLayout) -> Result<()> {
    if let Entry::Vacant(vacant) = core.formats.entry((layout.id, layout.current)) {
        vacant.insert(WrittenFormat { record: current_format(layout)?.clone(), codec: layout.codec });
    }
    Ok(())
}

/// The number of a new row.
pub(super) fn next_row(inner: &Inner, core: &mut Core, relation: RelationId) -> Result<RowId> {
    let reservations = core.row_numbers.entry(relation).or_default();
    if reservations.last().is_none_or(|latest| latest.unused.is_empty()) {
        let step = ROW_NUMBER_STEPS.get(reservations.len()).or(ROW_NUMBER_STEPS.last()).copied().unwrap_or(1);
        let unused =
            inner.row_numbers.reserve(relation, step, || first_free_row(&*inner.snapshot(), relation))?;
        reservations.push(Reservation { start: unused.start, unused });
    }
    let latest = reservations.last_mut().and_then(|latest| latest.unused.next());
    latest.map(RowId).ok_or(StoreError::BadLayout { relation, what: "row number left" })
}

/// Takes back that numbers were taken for the latest rows, as far as that is simple: the others are never used.
pub(super) fn give_numbers_back(core: &mut Core, relation: RelationId, count: u64) {
    let latest = core.row_numbers.get_mut(&relation).and_then(|reservations| reservations.last_mut());
    if let Some(Reservation { start, unused }) = latest {
        unused.start -= count.min(unused.start - *start);
    }
}

/// The number after the last row of a relation.
pub(crate) fn first_free_row(snapshot: &dyn SubstrateState, relation: RelationId) -> Result<u64> {
    let mut last = 0;
    if let Some(entry) = snapshot.scan(Space::Versions(relation), ALL_KEYS, Direction::Backward)?.next() {
        let (row, _) =
            keyspace::parse_version(&entry?.0).ok_or_else(|| StoreError::corrupt("key of a version"))?;
        last = row.0;
    }
    if let Some(entry) = snapshot.scan(Space::Blocks(relation), ALL_KEYS, Direction::Backward)?.next() {
        let (key, value) = entry?;
        last = last.max(crate::block::Block::open(&key, value)?.last);
    }
    Ok(last + 1)
}
