//! Unique keys and key existence: what has to look at other transactions' uncommitted work too.

use std::ops::Bound;

use farbird_types::Value;

use super::Transaction;
use super::write::{NewKey, NewKeys};
use crate::changes;
use crate::committed::{find_row, spiller_of};
use crate::decoder::RowDecoder;
use crate::locks::Waiter;
use crate::pending_keys::Announcement;
use crate::substrate::{Direction, Space, SubstrateState};
use crate::tally::RecordCounter;
use crate::version::{StoredVersion, VersionContent};
use crate::write_set::OwnRow;
use crate::{
    IndexDefinition, IndexId, Projection, RelationLayout, Result, RowId, StoreError, TransactionId, keyspace,
};

/// What a row says about a key.
enum KeyState {
    /// The row has it, for good or in this transaction.
    Present,
    /// The row does not have it.
    Absent,
    /// It depends on how this transaction ends.
    Undecided(TransactionId),
}

impl Transaction {
    /// Makes sure that the keys may be added, and announces them to other transactions. Nothing is announced if it fails.
    pub(super) fn reserve_keys(
        &self,
        id: TransactionId,
        layout: &RelationLayout,
        row_id: RowId,
        row: &[Value],
        keys: &NewKeys,
    ) -> Result<()> {
        let pending = &self.store.inner.pending_keys;
        // Which of the first keys were there before: the others are taken back if one fails.
        let mut known = Vec::new();
        for (number, new) in keys.iter(layout).enumerate() {
            let reserved = if new.is_unique() {
                self.reserve_unique(id, layout, row_id, row, &new)
            } else {
                Ok(pending.add(new.index.id, new.entry, id))
            };
            match reserved {
                Ok(true) => {}
                Ok(false) => known.push(number),
                Err(error) => {
                    for (announced, new) in keys.iter(layout).enumerate().take(number) {
                        if !known.contains(&announced) {
                            pending.remove(new.index.id, new.entry);
                        }
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Makes sure that nobody else has the key; whether it was announced by that, and not before.
    fn reserve_unique(
        &self,
        id: TransactionId,
        layout: &RelationLayout,
        row_id: RowId,
        row: &[Value],
        new: &NewKey<'_>,
    ) -> Result<bool> {
        let inner = &self.store.inner;
        let mut waiter = self.waiter(id);
        let key = new.key();
        loop {
            let (made, own) = match inner.pending_keys.add_unique(new.index.id, new.entry, id) {
                Announcement::Refused(holder) => {
                    self.wait_for_key(holder, row, new, &mut waiter)?;
                    continue;
                }
                Announcement::Known => {
                    let pending = inner.pending_keys.with_prefix(new.index.id, key);
                    (false, pending.into_iter().map(|(row, _)| row).filter(|row| *row != row_id).collect())
                }
                Announcement::Made { own } => (true, own),
            };
            // The key is announced: whoever comes later waits for us. Now for those who were there before.
            let found = self.own_key(layout, new.index, key, &own).and_then(|own| match own {
                KeyState::Present => Ok(KeyState::Present),
                _ => self.committed_key(id, layout, new.index, key, Some(row_id), None),
            });
            if made && !matches!(found, Ok(KeyState::Absent)) {
                inner.pending_keys.remove(new.index.id, new.entry);
            }
            match found? {
                KeyState::Absent => return Ok(made),
                KeyState::Present => return Err(unique_violation(new, row)),
                KeyState::Undecided(holder) => self.wait_for_key(holder, row, new, &mut waiter)?,
            }
        }
    }

    /// Waits for the end of a transaction that has a key.
    fn wait_for_key(
        &self,
        holder: TransactionId,
        row: &[Value],
        new: &NewKey<'_>,
        waiter: &mut Waiter<'_>,
    ) -> Result<()> {
        self.store.inner.locks.wait_for(&[holder], waiter).map_err(|error| match error {
            // Who does not wait is told of the duplicate, as if the other had committed already (Firebird 3 and 4).
            StoreError::LockConflict { .. } | StoreError::LockTimeout { .. } => unique_violation(new, row),
            other => other,
        })
    }

    /// Whether any row has this key, or one that begins with these values if there are fewer than the index has parts:
    /// committed by anybody (also after this transaction's snapshot) or written by this transaction. Waits, as the
    /// transaction's parameters say, for others that have written or deleted such a key.
    ///
    /// For foreign keys: after an insert into the child ask the parent's index, after a delete from the parent the
    /// child's (after, not before: the other side finds either the write or its check). A row to be ignored can be
    /// given.
    ///
    /// # Errors
    /// `LockConflict` and `LockTimeout` if it cannot be known yet and the transaction does not wait (any longer):
    /// Firebird reports both as a violation of the foreign key. `Deadlock`, `Cancelled`.
    pub fn key_exists(
        &self,
        layout: &RelationLayout,
        index: IndexId,
        values: &[Value],
        except: Option<RowId>,
    ) -> Result<bool> {
        let relation = layout.id;
        let place = layout.indexes.iter().position(|known| known.id == index);
        let instance = self.instance(layout)?;
        let layout = instance.as_deref().unwrap_or(layout);
        let index = place
            .and_then(|place| layout.indexes.get(place))
            .ok_or(StoreError::BadLayout { relation: layout.id, what: "index of this number" })?;
        let id = self.core()?.id;
        let prefix = index.encode(values)?.bytes;
        let mut waiter = self.waiter(id);
        loop {
            match self.find_key(id, layout, index, &prefix, except)? {
                KeyState::Present => {
                    self.core()?.pending.add(relation, RecordCounter::IdxReads, 1);
                    return Ok(true);
                }
                KeyState::Absent => return Ok(false),
                KeyState::Undecided(holder) => self.store.inner.locks.wait_for(&[holder], &mut waiter)?,
            }
        }
    }

    /// Looks for a row with a key that begins with `prefix`, among committed and uncommitted ones.
    fn find_key(
        &self,
        id: TransactionId,
        layout: &RelationLayout,
        index: &IndexDefinition,
        prefix: &[u8],
        except: Option<RowId>,
    ) -> Result<KeyState> {
        let mut undecided = None;
        let mut own = Vec::new();
        // Uncommitted keys first: one that is committed meanwhile is found among the committed ones then.
        for (row, owner) in self.store.inner.pending_keys.with_prefix(index.id, prefix) {
            self.cancel.check()?;
            if Some(row) == except {
                continue;
            }
            if owner == id {
                own.push(row);
            } else {
                undecided = Some(owner);
            }
        }
        match self.own_key(layout, index, prefix, &own)? {
            KeyState::Present => Ok(KeyState::Present),
            _ => self.committed_key(id, layout, index, prefix, except, undecided),
        }
    }

    /// Whether one of these own rows has the key.
    fn own_key(
        &self,
        layout: &RelationLayout,
        index: &IndexDefinition,
        prefix: &[u8],
        rows: &[RowId],
    ) -> Result<KeyState> {
        for row in rows {
            self.cancel.check()?;
            if self.own_row_has_key(layout, index, prefix, *row)? == Some(true) {
                return Ok(KeyState::Present);
            }
        }
        Ok(KeyState::Absent)
    }

    /// Looks for the key among committed rows; `undecided`: who has it in an uncommitted one.
    fn committed_key(
        &self,
        id: TransactionId,
        layout: &RelationLayout,
        index: &IndexDefinition,
        prefix: &[u8],
        except: Option<RowId>,
        mut undecided: Option<TransactionId>,
    ) -> Result<KeyState> {
        let inner = &self.store.inner;
        let snapshot = inner.snapshot();
        // Keys that grow, those of identity columns for instance, are beyond all that there are.
        let last = snapshot.bounds(Space::Index(index.id))?;
        if last.is_none_or(|bounds| bounds.last.as_slice() < prefix) {
            return Ok(undecided.map_or(KeyState::Absent, KeyState::Undecided));
        }
        let after = keyspace::after_prefix(prefix);
        let upper = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut last_row = None;
        for entry in
            snapshot.scan(Space::Index(index.id), (Bound::Included(prefix), upper), Direction::Forward)?
        {
            self.cancel.check()?;
            let (entry, _) = entry?;
            let (_, row) =
                keyspace::parse_entry(&entry).ok_or_else(|| StoreError::corrupt("an index entry"))?;
            if Some(row) == except || last_row.replace(row) == Some(row) {
                continue;
            }
            match self.committed_row_state(id, &*snapshot, layout, index, prefix, row)? {
                KeyState::Present => return Ok(KeyState::Present),
                KeyState::Absent => {}
                KeyState::Undecided(holder) => undecided = Some(holder),
            }
        }
        Ok(undecided.map_or(KeyState::Absent, KeyState::Undecided))
    }

    /// Whether the row as this transaction left it has the key; `None` if it did not touch the row.
    fn own_row_has_key(
        &self,
        layout: &RelationLayout,
        index: &IndexDefinition,
        prefix: &[u8],
        row: RowId,
    ) -> Result<Option<bool>> {
        let core = self.core()?;
        let own = core.writes.relation(layout.id).and_then(|writes| writes.row(row, u64::MAX));
        match own {
            None => Ok(None),
            Some(OwnRow::Deleted) => Ok(Some(false)),
            Some(OwnRow::Row { format, bytes }) => {
                let projection = Projection::all();
                let mut values = Vec::new();
                RowDecoder::new(&self.store.inner, layout, &projection).decode(
                    row,
                    format,
                    bytes,
                    &mut values,
                )?;
                has_key(index, &values, prefix).map(Some)
            }
        }
    }

    fn committed_row_state(
        &self,
        id: TransactionId,
        snapshot: &dyn SubstrateState,
        layout: &RelationLayout,
        index: &IndexDefinition,
        prefix: &[u8],
        row: RowId,
    ) -> Result<KeyState> {
        loop {
            // Spilled rows are looked for twice, among what is committed and among what still runs: both times before
            // their transaction ends, or both times after it.
            let ended = self.store.inner.spilled.times_left();
            let state = self.row_state(id, snapshot, layout, index, prefix, row)?;
            if self.store.inner.spilled.times_left() == ended {
                return Ok(state);
            }
        }
    }

    fn row_state(
        &self,
        id: TransactionId,
        snapshot: &dyn SubstrateState,
        layout: &RelationLayout,
        index: &IndexDefinition,
        prefix: &[u8],
        row: RowId,
    ) -> Result<KeyState> {
        if let Some(has) = self.own_row_has_key(layout, index, prefix, row)? {
            return Ok(if has { KeyState::Present } else { KeyState::Absent });
        }
        // The lock first: a holder that ends between the two looks has committed before the second one.
        let lock = self.store.inner.locks.key_holder(layout.id, row, index.id);
        let latest = match lock {
            None => &*self.store.inner.snapshot(),
            Some(_) => snapshot,
        };
        let core = self.core()?;
        let found = find_row(&self.store.inner, latest, layout.id, row, core.full_visibility(layout.id))?;
        drop(core);
        if lock.is_none_or(|(holder, _)| holder != id)
            && let Some(writer) = self.spilled_writer_of_key(latest, layout, index, prefix, row)?
        {
            return Ok(KeyState::Undecided(writer));
        }
        let Some(found) = found else {
            let spiller =
                spiller_of(&self.store.inner, latest, layout.id, row)?.filter(|spiller| *spiller != id);
            return Ok(spiller.map_or(KeyState::Absent, KeyState::Undecided));
        };
        if found.is_deleted() {
            return Ok(KeyState::Absent);
        }
        let projection = Projection::all();
        let mut values = Vec::new();
        found.decode(row, &RowDecoder::new(&self.store.inner, layout, &projection), &mut values)?;
        if !has_key(index, &values, prefix)? {
            return Ok(KeyState::Absent);
        }
        match lock {
            Some((holder, true)) if holder != id => Ok(KeyState::Undecided(holder)),
            _ => Ok(KeyState::Present),
        }
    }
}

impl Transaction {
    /// Another running transaction that has given the row this key, and has spilled that, even if it has taken the key away since.
    fn spilled_writer_of_key(
        &self,
        snapshot: &dyn SubstrateState,
        layout: &RelationLayout,
        index: &IndexDefinition,
        prefix: &[u8],
        row: RowId,
    ) -> Result<Option<TransactionId>> {
        let inner = &self.store.inner;
        if snapshot.bounds(Space::Changes(layout.id))?.is_none() {
            return Ok(None);
        }
        let projection = Projection::all();
        let decoder = RowDecoder::new(inner, layout, &projection);
        for entry in changes::scan(snapshot, layout.id, row, row)? {
            let (key, value) = entry?;
            let (_, writer, change) = changes::parse(&key)?;
            let spilled = inner.spilled.find(writer);
            if !spilled.is_some_and(|spilled| spilled.commit.is_none() && !spilled.is_undone(change)) {
                continue;
            }
            // Not the newest change alone: a rollback to a savepoint may bring an older one back, long after others were told that
            // the key is free.
            let VersionContent::Row { format, bytes } = StoredVersion::decode(&value, row)?.content else {
                continue;
            };
            let mut values = Vec::new();
            decoder.decode(row, format, bytes, &mut values)?;
            if has_key(index, &values, prefix)? {
                return Ok(Some(writer));
            }
        }
        Ok(None)
    }
}

/// That a row's key is there already.
fn unique_violation(new: &NewKey<'_>, row: &[Value]) -> StoreError {
    match new.index.key_values(row) {
        Ok(values) => StoreError::UniqueViolation { index: new.index.id, values: values.unwrap_or_default() },
        Err(error) => error,
    }
}

fn has_key(index: &IndexDefinition, row: &[Value], prefix: &[u8]) -> Result<bool> {
    Ok(index.key(row)?.is_some_and(|key| key.bytes.starts_with(prefix)))
}
