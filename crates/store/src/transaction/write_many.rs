//! Updating and deleting many rows at once, as far as that is simple: what the first row costs the others share.
//!
//! # Promises
//! - A row is simple if nobody has it locked, this transaction included, its latest version is the one that the view sees, and the change
//!   gives it no key of a unique index. Such rows are changed as if one after the other.
//! - The first row that is not ends the call before it, and is as it was: [`Transaction::update`] and [`Transaction::delete`]
//!   know how to wait for it, and their errors are its errors.

use farbird_record::value_codec::encode_row;
use farbird_types::Value;

use super::write::{NewKey, Scratch, current_format, note_entries, note_format};
use super::{Core, Transaction};
use crate::committed::RowFinder;
use crate::locks::UndoneLock;
use crate::row_locks::ChangedKeys;
use crate::tally::RecordCounter;
use crate::{ReadView, RelationId, RelationLayout, Result, RowId};

/// A row to be replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct RowUpdate {
    /// Its number.
    pub row: RowId,
    /// All of it, by slot, as the statement's view sees it.
    pub old: Vec<Value>,
    /// What takes its place; without BLOBs.
    pub new: Vec<Value>,
}

impl Transaction {
    /// Deletes simple rows from the first one on; gives how many.
    ///
    /// # Errors
    /// `LayoutChanged`, `ReadOnly`, `Cancelled`, and those of reading.
    pub fn delete_rows(&self, layout: &RelationLayout, view: &ReadView, rows: &[RowId]) -> Result<usize> {
        self.check_writable_rows(layout)?;
        let relation = layout.id;
        let instance = self.instance(layout)?;
        let layout = instance.as_deref().unwrap_or(layout);
        self.lock_to_write(layout)?;
        self.with_simple_rows(layout.id, view, rows, true, |core, simple| {
            for row in simple {
                core.writes.change(layout.id, *row, None, true, &self.live);
            }
            core.pending.add(relation, RecordCounter::Deletes, simple.len() as u64);
            Ok(simple.len())
        })
    }

    /// Replaces simple rows from the first one on; gives how many. Of a relation without BLOBs.
    ///
    /// # Errors
    /// As [`Transaction::delete_rows`].
    pub fn update_rows(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        updates: &[RowUpdate],
    ) -> Result<usize> {
        self.check_writable_rows(layout)?;
        let relation = layout.id;
        let instance = self.instance(layout)?;
        let layout = instance.as_deref().unwrap_or(layout);
        self.lock_to_write(layout)?;
        let rows: Vec<RowId> = updates.iter().map(|update| update.row).collect();
        self.with_simple_rows(layout.id, view, &rows, false, |core, simple| {
            note_format(core, layout)?;
            let mut scratch = std::mem::take(&mut core.scratch);
            let mut replaced = 0;
            for update in updates.iter().take(simple.len()) {
                // An error is met again, and told, by who changes the row alone.
                if !self.replace(core, layout, update, &mut scratch).unwrap_or(false) {
                    break;
                }
                replaced += 1;
            }
            if scratch.is_worth_keeping() {
                core.scratch = scratch;
            }
            core.pending.add(relation, RecordCounter::Updates, replaced as u64);
            Ok(replaced)
        })
    }

    /// Locks simple rows from the first one on and lets `change` do something with them; it tells how many of them it has
    /// changed. The others are as before, all of them if it fails.
    fn with_simple_rows(
        &self,
        relation: RelationId,
        view: &ReadView,
        rows: &[RowId],
        deletes: bool,
        change: impl FnOnce(&mut Core, &[RowId]) -> Result<usize>,
    ) -> Result<usize> {
        let id = self.core()?.id;
        let locks = &self.store.inner.locks;
        let locked = locks.take_free(relation, rows, id, &self.touched, deletes);
        let locked = rows.get(..locked).unwrap_or_default();
        let changed = self.core().and_then(|mut core| {
            let simple = self.count_seen(&core, relation, view, locked)?;
            change(&mut core, locked.get(..simple).unwrap_or_default())
        });
        let left = locked.get(changed.as_ref().copied().unwrap_or(0)..).unwrap_or_default();
        let left: Vec<UndoneLock> = left.iter().map(|row| UndoneLock::Row { relation, row: *row }).collect();
        locks.take_back(&left, id, false);
        let changed = changed?;
        self.spill_if_large(&mut *self.core()?)?;
        Ok(changed)
    }

    /// How many of these rows, which it has just locked, are as the view sees them, and others' work, from the first one on.
    fn count_seen(
        &self,
        core: &Core,
        relation: RelationId,
        view: &ReadView,
        rows: &[RowId],
    ) -> Result<usize> {
        let inner = &self.store.inner;
        // Taken behind the locks: nobody commits anything newer of these rows from now on.
        let snapshot = inner.snapshot();
        let mut finder = RowFinder::new(inner, &*snapshot, relation)?;
        let (every, seen) = (core.full_visibility(relation), core.visibility(relation, view));
        let own = core.writes.relation(relation);
        for (place, row) in rows.iter().enumerate() {
            if own.is_some_and(|own| own.has(*row)) {
                return Ok(place);
            }
            let found = finder.find(*row, every)?.filter(|found| !found.is_deleted());
            if !found.is_some_and(|found| seen.sees(found.commit) && !found.is_of(core.id)) {
                return Ok(place);
            }
        }
        Ok(rows.len())
    }

    /// Replaces a simple row that is locked; false, and nothing has happened, if that gives it a unique key.
    fn replace(
        &self,
        core: &mut Core,
        layout: &RelationLayout,
        update: &RowUpdate,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let RowUpdate { row, old, new } = update;
        let Scratch { row: bytes, keys } = scratch;
        keys.collect(layout, *row, new, Some(old))?;
        if keys.iter(layout).any(|key| key.is_unique()) {
            return Ok(false);
        }
        bytes.clear();
        encode_row(current_format(layout)?, new, bytes)?;
        if !keys.is_empty() {
            let changed = ChangedKeys::Of(keys.iter(layout).map(|key| key.index.id).collect());
            self.store.inner.locks.note_changed_keys(layout.id, *row, &changed);
            for NewKey { index, entry, .. } in keys.iter(layout) {
                self.store.inner.pending_keys.add(index.id, entry, core.id);
            }
        }
        let content = Some((layout.current, bytes.as_slice().into()));
        core.writes.change(layout.id, *row, content, true, &self.live);
        note_entries(core, layout, keys);
        Ok(true)
    }
}
