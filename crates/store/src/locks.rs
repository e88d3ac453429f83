//! Locks on rows, relations and catalog entries, and waiting for other transactions with deadlock detection.
//!
//! Locks are held until their transaction ends (but for those of an operation that failed), so whoever is refused waits for
//! transactions: the wait-for graph has them as its nodes, and each wait is tested for a cycle before it begins.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::row_locks::{ChangedKeys, RowLocks, Stretch};
use crate::{CancelFlag, IndexId, LockLevel, RelationId, Result, RowId, StoreError, TransactionId, Wait};

/// What can be locked by one transaction at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    Row(RelationId, RowId),
    CatalogEntry(Box<[u8]>),
}

/// All locks of a store.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    rows: RowLocks,
    catalog_entries: HashMap<Box<[u8]>, TransactionId>,
    relations: HashMap<RelationId, HashMap<TransactionId, Levels>>,
    holders: HashMap<TransactionId, Held>,
    waits: HashMap<TransactionId, Vec<TransactionId>>,
}

/// What a running transaction holds.
#[derive(Debug, Default)]
struct Held {
    owner: Owner,
    /// Where it has locked rows.
    stretches: Vec<Stretch>,
    catalog_entries: Vec<Box<[u8]>>,
    relations: HashSet<RelationId>,
}

/// Whose transaction it is: those who share a cancel flag share a thread, one thing at a time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Owner(usize);

impl Owner {
    /// The address stands for the flag; it is never followed.
    fn of(cancel: &CancelFlag) -> Owner {
        Owner(std::ptr::from_ref(cancel).addr())
    }
}

/// A set of lock levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Levels(u8);

impl Levels {
    fn of(level: LockLevel) -> Levels {
        Levels(1 << level as u8)
    }

    pub(crate) fn with(self, level: LockLevel) -> Levels {
        Levels(self.0 | Levels::of(level).0)
    }

    fn without(self, level: LockLevel) -> Levels {
        Levels(self.0 & !Levels::of(level).0)
    }

    /// Whether holding these includes the rights of `level`.
    pub(crate) fn include(self, level: LockLevel) -> bool {
        use LockLevel::{Exclusive, ProtectedRead, ProtectedWrite, SharedRead, SharedWrite};
        let enough: &[LockLevel] = match level {
            SharedRead => &[SharedRead, ProtectedRead, SharedWrite, ProtectedWrite, Exclusive],
            ProtectedRead => &[ProtectedRead, ProtectedWrite, Exclusive],
            SharedWrite => &[SharedWrite, ProtectedWrite, Exclusive],
            ProtectedWrite => &[ProtectedWrite, Exclusive],
            Exclusive => &[Exclusive],
        };
        enough.iter().any(|&held| self.0 & Levels::of(held).0 != 0)
    }

    /// Whether another transaction's `level` cannot be beside these.
    fn conflict_with(self, level: LockLevel) -> bool {
        use LockLevel::{Exclusive, ProtectedRead, ProtectedWrite, SharedRead, SharedWrite};
        let refused: &[LockLevel] = match level {
            SharedRead => &[Exclusive],
            ProtectedRead => &[SharedWrite, ProtectedWrite, Exclusive],
            SharedWrite => &[ProtectedRead, ProtectedWrite, Exclusive],
            ProtectedWrite => &[ProtectedRead, SharedWrite, ProtectedWrite, Exclusive],
            Exclusive => &[SharedRead, ProtectedRead, SharedWrite, ProtectedWrite, Exclusive],
        };
        refused.iter().any(|&held| self.0 & Levels::of(held).0 != 0)
    }
}

/// Who waits, and how patiently. One per operation: a timeout counts from the operation's first wait.
#[derive(Debug)]
pub(crate) struct Waiter<'a> {
    pub(crate) transaction: TransactionId,
    pub(crate) wait: Wait,
    pub(crate) cancel: &'a CancelFlag,
    deadline: Option<Instant>,
}

impl<'a> Waiter<'a> {
    pub(crate) fn new(transaction: TransactionId, wait: Wait, cancel: &'a CancelFlag) -> Waiter<'a> {
        Waiter { transaction, wait, cancel, deadline: None }
    }
}

impl LockTable {
    /// Announces a transaction: until [`LockTable::end`] others can wait for it.
    pub(crate) fn begin(&self, transaction: TransactionId, cancel: &CancelFlag) {
        let held = Held { owner: Owner::of(cancel), ..Held::default() };
        self.state.lock().holders.insert(transaction, held);
    }

    /// Frees all that the transaction held and wakes those who waited for it.
    pub(crate) fn end(&self, transaction: TransactionId) {
        let mut state = self.state.lock();
        let Some(held) = state.holders.remove(&transaction) else { return };
        for stretch in held.stretches {
            state.rows.end(stretch, transaction);
        }
        for entry in held.catalog_entries {
            state.catalog_entries.remove(&entry);
        }
        for relation in held.relations {
            if let Some(holders) = state.relations.get_mut(&relation) {
                holders.remove(&transaction);
                if holders.is_empty() {
                    state.relations.remove(&relation);
                }
            }
        }
        if !state.waits.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Locks a resource, waiting until it is free. False if the transaction held it before.
    pub(crate) fn lock(self: &Arc<Self>, resource: &Resource, waiter: &mut Waiter<'_>) -> Result<bool> {
        loop {
            let holder = {
                let mut state = self.state.lock();
                match state.holder(resource) {
                    None => {
                        state.take(resource, waiter.transaction);
                        return Ok(true);
                    }
                    Some(holder) if holder == waiter.transaction => return Ok(false),
                    Some(holder) => holder,
                }
            };
            let is_free = |state: &State| state.holder(resource) != Some(holder);
            self.wait_until(is_free, &[holder], waiter)?;
        }
    }

    /// Gives a lock back before the end: the operation for which it was taken did not happen.
    pub(crate) fn unlock(&self, resource: &Resource, holder: TransactionId) {
        let mut state = self.state.lock();
        match resource {
            Resource::Row(relation, row) => state.rows.unlock(*relation, *row, holder),
            Resource::CatalogEntry(entry) => {
                state.catalog_entries.remove(entry);
                if let Some(held) = state.holders.get_mut(&holder) {
                    held.catalog_entries.retain(|other| other != entry);
                }
            }
        }
        if !state.waits.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Who has locked a row, and whether it takes the row's key in this index away.
    pub(crate) fn key_holder(
        &self,
        relation: RelationId,
        row: RowId,
        index: IndexId,
    ) -> Option<(TransactionId, bool)> {
        self.state.lock().rows.key_holder(relation, row, index)
    }

    /// Notes which keys of a row its holder takes away; gives those that it had not taken before, `None` for all at once.
    pub(crate) fn note_changed_keys(
        &self,
        relation: RelationId,
        row: RowId,
        changed: &ChangedKeys,
    ) -> Vec<Option<IndexId>> {
        self.state.lock().rows.note_changed_keys(relation, row, changed)
    }

    /// Takes back what was done to rows that are as they were before: locks, unless they are to be kept, and taken keys.
    pub(crate) fn take_back(&self, undone: &[UndoneLock], holder: TransactionId, keep_locks: bool) {
        if undone.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        for undone in undone {
            match *undone {
                UndoneLock::Row { relation, row } if keep_locks => {
                    state.rows.keep_all_keys(relation, row, holder);
                }
                UndoneLock::Row { relation, row } => state.rows.unlock(relation, row, holder),
                UndoneLock::Key { relation, row, index } => state.rows.keep_key(relation, row, holder, index),
            }
        }
        if !keep_locks && !state.waits.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Locks a relation; gives all levels that the transaction holds on it now.
    pub(crate) fn lock_relation(
        self: &Arc<Self>,
        relation: RelationId,
        level: LockLevel,
        waiter: &mut Waiter<'_>,
    ) -> Result<Levels> {
        loop {
            let refusing: Vec<TransactionId> = {
                let mut state = self.state.lock();
                let holders = state.relations.entry(relation).or_default();
                let refusing: Vec<TransactionId> = holders
                    .iter()
                    .filter(|(holder, levels)| **holder != waiter.transaction && levels.conflict_with(level))
                    .map(|(holder, _)| *holder)
                    .collect();
                if refusing.is_empty() {
                    let levels = holders.entry(waiter.transaction).or_default();
                    *levels = levels.with(level);
                    let levels = *levels;
                    if let Some(held) = state.holders.get_mut(&waiter.transaction) {
                        held.relations.insert(relation);
                    }
                    return Ok(levels);
                }
                refusing
            };
            self.wait_for(&refusing, waiter).map_err(|error| match error {
                StoreError::LockConflict { holder, .. } => {
                    StoreError::LockConflict { holder, relation: Some(relation) }
                }
                StoreError::LockTimeout { holder, .. } => {
                    StoreError::LockTimeout { holder, relation: Some(relation) }
                }
                other => other,
            })?;
        }
    }

    /// Gives one level of a relation's lock back; gives those that are left.
    pub(crate) fn give_back(&self, relation: RelationId, level: LockLevel, holder: TransactionId) -> Levels {
        let mut state = self.state.lock();
        let Some(levels) = state.relations.get_mut(&relation).and_then(|holders| holders.get_mut(&holder))
        else {
            return Levels::default();
        };
        *levels = levels.without(level);
        let levels = *levels;
        if !state.waits.is_empty() {
            self.changed.notify_all();
        }
        levels
    }

    /// Waits until one of the transactions has ended.
    ///
    /// # Errors
    /// `LockConflict`, `LockTimeout`, `Deadlock`, `Cancelled`.
    pub(crate) fn wait_for(
        self: &Arc<Self>,
        holders: &[TransactionId],
        waiter: &mut Waiter<'_>,
    ) -> Result<()> {
        let has_ended = |state: &State| holders.iter().any(|holder| !state.holders.contains_key(holder));
        self.wait_until(has_ended, holders, waiter)
    }

    /// Waits for others until `is_over`.
    fn wait_until(
        self: &Arc<Self>,
        is_over: impl Fn(&State) -> bool,
        holders: &[TransactionId],
        waiter: &mut Waiter<'_>,
    ) -> Result<()> {
        let Some(&holder) = holders.first() else { return Ok(()) };
        let mut state = self.state.lock();
        if is_over(&state) {
            return Ok(());
        }
        let deadline = match waiter.wait {
            Wait::No => return Err(StoreError::LockConflict { holder, relation: None }),
            Wait::Forever => None,
            Wait::Timeout(timeout) => Some(*waiter.deadline.get_or_insert_with(|| Instant::now() + timeout)),
        };
        let own = Owner::of(waiter.cancel);
        if holders.iter().all(|holder| state.holders.get(holder).is_some_and(|held| held.owner == own)) {
            // Only the waiter's own attachment could end these transactions, and it would be waiting here.
            return Err(StoreError::LockConflict { holder, relation: None });
        }
        if state.reaches(holders, waiter.transaction) {
            return Err(StoreError::Deadlock { holder });
        }
        state.waits.insert(waiter.transaction, holders.to_vec());
        let table = Arc::clone(self);
        waiter.cancel.set_waker(Some(Arc::new(move || {
            let _state = table.state.lock();
            table.changed.notify_all();
        })));
        let result = loop {
            if waiter.cancel.is_raised() {
                break Err(StoreError::Cancelled);
            }
            if is_over(&state) {
                break Ok(());
            }
            match deadline {
                None => self.changed.wait(&mut state),
                Some(deadline) if deadline <= Instant::now() => {
                    break Err(StoreError::LockTimeout { holder, relation: None });
                }
                Some(deadline) => {
                    self.changed.wait_until(&mut state, deadline);
                }
            }
        };
        state.waits.remove(&waiter.transaction);
        drop(state);
        waiter.cancel.set_waker(None);
        result
    }
}

/// What a transaction has done to a row's lock since a savepoint that it goes back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoneLock {
    /// It has locked the row.
    Row { relation: RelationId, row: RowId },
    /// It has taken a key of the row away; `None`: deleted it.
    Key { relation: RelationId, row: RowId, index: Option<IndexId> },
}

impl State {
    fn holder(&self, resource: &Resource) -> Option<TransactionId> {
        match resource {
            Resource::Row(relation, row) => self.rows.holder(*relation, *row),
            Resource::CatalogEntry(entry) => self.catalog_entries.get(entry).copied(),
        }
    }

    /// Locks a free resource.
    fn take(&mut self, resource: &Resource, holder: TransactionId) {
        let stretch = match resource {
            Resource::Row(relation, row) => self.rows.lock(*relation, *row, holder),
            Resource::CatalogEntry(entry) => {
                self.catalog_entries.insert(entry.clone(), holder);
                None
            }
        };
        let Some(held) = self.holders.get_mut(&holder) else { return };
        held.stretches.extend(stretch);
        if let Resource::CatalogEntry(entry) = resource {
            held.catalog_entries.push(entry.clone());
        }
    }

    /// Whether one of `from` waits, over any number of others, for `target`.
    fn reaches(&self, from: &[TransactionId], target: TransactionId) -> bool {
        let mut seen = HashSet::new();
        let mut open = from.to_vec();
        while let Some(transaction) = open.pop() {
            if transaction == target {
                return true;
            }
            if seen.insert(transaction) {
                open.extend(self.waits.get(&transaction).into_iter().flatten());
            }
        }
        false
    }
}
