//! Locks on rows, relations and catalog entries, and waiting for other transactions with deadlock detection.
//!
//! Locks are held until their transaction ends (but for those of an operation that failed), so whoever is refused waits for
//! transactions: the wait-for graph has them as its nodes, and each wait is tested for a cycle before it begins.
//!
//! # Two levels
//! Row locks stand in shards by stretches of rows. Who finds a row free takes its shard only; all else (waiting, the ends
//! of transactions, locks on relations and catalog entries) goes through one state, whose mutex is taken before a shard's.
//!
//! # Who is woken
//! Each waiter sleeps by itself. A row that becomes free goes to the one who has waited longest for it, which alone is
//! woken; the others wait for that one from then on. Whoever waits for the end of transactions is woken by such an end.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::figures::{AwaitedLock, HeldLock, LockFigures, LockWait};
use crate::identifiers::IdMap;
use crate::row_locks::{ChangedKeys, LockedRows, RowLocks, SHARDS, shard_of, share_stretch};
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
    rows: [Mutex<RowLocks>; SHARDS],
    state: Mutex<State>,
    /// How many wait, or are about to: those who give a row back early look whether it is wanted.
    waiting: AtomicUsize,
    counts: Counts,
}

/// What has come of conflicts over locks.
#[derive(Debug, Default)]
struct Counts {
    waits: AtomicU64,
    conflicts: AtomicU64,
    timeouts: AtomicU64,
    deadlocks: AtomicU64,
}

/// The shards in which a transaction has locked rows; may have some more.
#[derive(Debug, Default)]
pub(crate) struct TouchedShards(AtomicU64);

const _: () = assert!(SHARDS <= u64::BITS as usize, "a bit for each shard");

impl TouchedShards {
    /// All of them: of a transaction whose own are not known.
    pub(crate) fn all() -> TouchedShards {
        TouchedShards(AtomicU64::new(u64::MAX))
    }

    fn note(&self, shard: usize) {
        self.0.fetch_or(1 << shard, Ordering::Relaxed);
    }

    fn contains(&self, shard: usize) -> bool {
        self.0.load(Ordering::Relaxed) & (1 << shard) != 0
    }
}

#[derive(Debug, Default)]
struct State {
    catalog_entries: HashMap<Box<[u8]>, TransactionId>,
    relations: HashMap<RelationId, HashMap<TransactionId, Levels>>,
    holders: IdMap<TransactionId, Held>,
    waits: IdMap<TransactionId, Waiting>,
    /// Waits that have begun.
    arrivals: u64,
}

/// What a running transaction holds, but for rows.
#[derive(Debug, Default)]
struct Held {
    owner: Owner,
    catalog_entries: Vec<Box<[u8]>>,
    relations: HashSet<RelationId>,
    /// Whether it waits for somebody to say how it ends: nobody waits for it.
    is_in_limbo: bool,
}

/// A transaction that waits.
#[derive(Debug)]
struct Waiting {
    /// For these.
    holders: Vec<TransactionId>,
    /// For what of theirs.
    awaited: Awaited,
    /// Since when.
    since: Instant,
    /// Earlier ones are served first.
    arrival: u64,
    /// How it has ended, if it has.
    end: Option<WaitEnd>,
    wake: Arc<Condvar>,
}

impl Waiting {
    /// The row whose lock is waited for, if it is one.
    fn row(&self) -> Option<(RelationId, RowId)> {
        match self.awaited {
            Awaited::Row(relation, row) => Some((relation, row)),
            Awaited::Relation(_) | Awaited::CatalogEntry | Awaited::End => None,
        }
    }
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The lock on a row.
    Row(RelationId, RowId),
    /// A lock on a whole relation.
    Relation(RelationId),
    /// The lock on a catalog entry.
    CatalogEntry,
    /// The end of a transaction, since what it has written decides.
    End,
}

/// How a wait ends, if neither cancelled nor given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitEnd {
    /// Nothing to wait for is left; a row that was waited for is locked for the waiter now.
    Served,
    /// The row has gone to this transaction, which waits for the waiter.
    Deadlock(TransactionId),
    /// Nobody knows how this transaction will end.
    Limbo(TransactionId),
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

    /// As they stand in a record.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// What [`Levels::bits`] has told.
    pub(crate) fn of_bits(bits: u8) -> Levels {
        Levels(bits)
    }

    fn without(self, level: LockLevel) -> Levels {
        Levels(self.0 & !Levels::of(level).0)
    }

    /// The strongest of them.
    fn strongest(self) -> Option<LockLevel> {
        use LockLevel::{Exclusive, ProtectedRead, ProtectedWrite, SharedRead, SharedWrite};
        [Exclusive, ProtectedWrite, SharedWrite, ProtectedRead, SharedRead]
            .into_iter()
            .find(|level| self.0 & Levels::of(*level).0 != 0)
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
    touched: &'a TouchedShards,
    deadline: Option<Instant>,
    /// Whether it takes those in limbo for running ones.
    ignores_limbo: bool,
    /// Whether it had to wait.
    pub(crate) has_waited: bool,
}

impl<'a> Waiter<'a> {
    pub(crate) fn new(
        transaction: TransactionId,
        wait: Wait,
        cancel: &'a CancelFlag,
        touched: &'a TouchedShards,
    ) -> Waiter<'a> {
        let (deadline, ignores_limbo, has_waited) = (None, false, false);
        Waiter { transaction, wait, cancel, touched, deadline, ignores_limbo, has_waited }
    }

    /// As one who takes transactions in limbo for running ones that do not end in time, or not.
    pub(crate) fn ignoring_limbo(self, ignores_limbo: bool) -> Waiter<'a> {
        Waiter { ignores_limbo, ..self }
    }
}

impl Waiter<'_> {
    fn meets_limbo(&self, holder: TransactionId) -> StoreError {
        match self.ignores_limbo {
            true => StoreError::LockConflict { holder, relation: None },
            false => StoreError::InLimbo { transaction: holder },
        }
    }
}

impl LockTable {
    /// Announces a transaction: until [`LockTable::end`] others can wait for it.
    pub(crate) fn begin(&self, transaction: TransactionId, cancel: &CancelFlag) {
        let held = Held { owner: Owner::of(cancel), ..Held::default() };
        self.state.lock().holders.insert(transaction, held);
    }

    /// Frees all that the transaction held and wakes those who waited for it.
    pub(crate) fn end(&self, transaction: TransactionId, touched: &TouchedShards) {
        let mut state = self.state.lock();
        let Some(held) = state.holders.remove(&transaction) else { return };
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
        for (number, shard) in self.rows.iter().enumerate() {
            if touched.contains(number) {
                shard.lock().end(transaction);
            }
        }
        self.serve(&mut state, |waiting| waiting.holders.contains(&transaction));
    }

    /// The rows that a transaction has locked.
    pub(crate) fn rows_of(&self, transaction: TransactionId, touched: &TouchedShards) -> Vec<LockedRows> {
        let shards = self.rows.iter().enumerate().filter(|(number, _)| touched.contains(*number));
        shards.flat_map(|(_, shard)| shard.lock().of(transaction)).collect()
    }

    /// Announces a transaction of before the open, with all that it has locked.
    pub(crate) fn restore(
        &self,
        transaction: TransactionId,
        relations: impl Iterator<Item = (RelationId, Levels)>,
        rows: &[LockedRows],
    ) {
        let mut state = self.state.lock();
        let mut held = Held::default();
        for (relation, levels) in relations {
            state.relations.entry(relation).or_default().insert(transaction, levels);
            held.relations.insert(relation);
        }
        state.holders.insert(transaction, held);
        for rows in rows {
            if let Some(shard) = self.rows.get(rows.shard()) {
                shard.lock().restore(transaction, rows);
            }
        }
    }

    /// Nobody waits for this transaction any more: whoever does is told so, and whoever would.
    pub(crate) fn leave_in_limbo(&self, transaction: TransactionId) {
        let mut state = self.state.lock();
        if let Some(held) = state.holders.get_mut(&transaction) {
            held.is_in_limbo = true;
        }
        for waiting in state.waits.values_mut() {
            if waiting.end.is_none() && waiting.holders.contains(&transaction) {
                waiting.end = Some(WaitEnd::Limbo(transaction));
                waiting.wake.notify_one();
            }
        }
    }

    /// Locks a resource, waiting until it is free. False if the transaction held it before.
    pub(crate) fn lock(self: &Arc<Self>, resource: &Resource, waiter: &mut Waiter<'_>) -> Result<bool> {
        match resource {
            Resource::Row(relation, row) => self.lock_row(*relation, *row, waiter),
            Resource::CatalogEntry(entry) => self.lock_catalog_entry(entry, waiter),
        }
    }

    fn lock_row(self: &Arc<Self>, relation: RelationId, row: RowId, waiter: &mut Waiter<'_>) -> Result<bool> {
        let shard = shard_of(relation, row);
        let taken = self.rows[shard].lock().take(relation, row, waiter.transaction);
        let locked = taken.or_else(|_| self.wait_for_row(relation, row, waiter));
        waiter.touched.note(shard);
        locked
    }

    /// Locks rows that nobody has locked, the caller included, from the first one on, and notes whether they are being
    /// deleted; gives how many. Nobody waits.
    pub(crate) fn take_free(
        &self,
        relation: RelationId,
        rows: &[RowId],
        holder: TransactionId,
        touched: &TouchedShards,
        deletes: bool,
    ) -> usize {
        let mut taken = 0;
        for rows in rows.chunk_by(|row, next| share_stretch(*row, *next)) {
            let Some(first) = rows.first() else { continue };
            let shard = shard_of(relation, *first);
            let now = self.rows[shard].lock().take_free(relation, rows, holder, deletes);
            touched.note(shard);
            taken += now;
            if now < rows.len() {
                break;
            }
        }
        taken
    }

    /// As [`LockTable::lock_row`], for a row that somebody has locked a moment ago.
    fn wait_for_row(
        self: &Arc<Self>,
        relation: RelationId,
        row: RowId,
        waiter: &mut Waiter<'_>,
    ) -> Result<bool> {
        let mut state = self.state.lock();
        // Announced before the look at the row: who gives it back after that look sees that it is wanted.
        let _announced = Announced::new(&self.waiting);
        let taken = self.rows[shard_of(relation, row)].lock().take(relation, row, waiter.transaction);
        match taken {
            Ok(is_new) => Ok(is_new),
            Err(holder) => {
                self.sleep(&mut state, vec![holder], Awaited::Row(relation, row), waiter).map(|()| true)
            }
        }
    }

    fn lock_catalog_entry(self: &Arc<Self>, entry: &[u8], waiter: &mut Waiter<'_>) -> Result<bool> {
        let mut state = self.state.lock();
        loop {
            match state.catalog_entries.get(entry) {
                Some(&holder) if holder == waiter.transaction => return Ok(false),
                Some(&holder) => self.sleep(&mut state, vec![holder], Awaited::CatalogEntry, waiter)?,
                None => {
                    state.catalog_entries.insert(entry.into(), waiter.transaction);
                    if let Some(held) = state.holders.get_mut(&waiter.transaction) {
                        held.catalog_entries.push(entry.into());
                    }
                    return Ok(true);
                }
            }
        }
    }

    /// Gives a lock back before the end: the operation for which it was taken did not happen.
    pub(crate) fn unlock(&self, resource: &Resource, holder: TransactionId) {
        match resource {
            Resource::Row(relation, row) => {
                self.unlock_row(*relation, *row, holder);
            }
            Resource::CatalogEntry(entry) => {
                let mut state = self.state.lock();
                state.catalog_entries.remove(entry);
                if let Some(held) = state.holders.get_mut(&holder) {
                    held.catalog_entries.retain(|other| other != entry);
                }
                self.serve(&mut state, |waiting| {
                    waiting.row().is_none() && waiting.holders.contains(&holder)
                });
            }
        }
    }

    fn unlock_row(&self, relation: RelationId, row: RowId, holder: TransactionId) {
        self.rows[shard_of(relation, row)].lock().unlock(relation, row, holder);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.serve(&mut self.state.lock(), |waiting| waiting.row() == Some((relation, row)));
        }
    }

    /// Who has locked a row, and whether it takes the row's key in this index away.
    pub(crate) fn key_holder(
        &self,
        relation: RelationId,
        row: RowId,
        index: IndexId,
    ) -> Option<(TransactionId, bool)> {
        self.rows[shard_of(relation, row)].lock().key_holder(relation, row, index)
    }

    /// Notes which keys of a row its holder takes away; gives those that it had not taken before, `None` for all at once.
    pub(crate) fn note_changed_keys(
        &self,
        relation: RelationId,
        row: RowId,
        changed: &ChangedKeys,
    ) -> Vec<Option<IndexId>> {
        self.rows[shard_of(relation, row)].lock().note_changed_keys(relation, row, changed)
    }

    /// Takes back what was done to rows that are as they were before: locks, unless they are to be kept, and taken keys.
    pub(crate) fn take_back(&self, undone: &[UndoneLock], holder: TransactionId, keep_locks: bool) {
        for undone in undone {
            match *undone {
                UndoneLock::Row { relation, row } if keep_locks => {
                    self.rows[shard_of(relation, row)].lock().keep_all_keys(relation, row, holder);
                }
                UndoneLock::Row { relation, row } => self.unlock_row(relation, row, holder),
                UndoneLock::Key { relation, row, index } => {
                    self.rows[shard_of(relation, row)].lock().keep_key(relation, row, holder, index);
                }
            }
        }
    }

    /// Locks a relation; gives all levels that the transaction holds on it now.
    pub(crate) fn lock_relation(
        self: &Arc<Self>,
        relation: RelationId,
        level: LockLevel,
        waiter: &mut Waiter<'_>,
    ) -> Result<Levels> {
        let mut state = self.state.lock();
        loop {
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
            self.sleep(&mut state, refusing, Awaited::Relation(relation), waiter).map_err(
                |error| match error {
                    StoreError::LockConflict { holder, .. } => {
                        StoreError::LockConflict { holder, relation: Some(relation) }
                    }
                    StoreError::LockTimeout { holder, .. } => {
                        StoreError::LockTimeout { holder, relation: Some(relation) }
                    }
                    other => other,
                },
            )?;
        }
    }

    /// Whether a transaction other than this one may write to a relation now.
    pub(crate) fn is_written_by_others(&self, relation: RelationId, transaction: TransactionId) -> bool {
        let state = self.state.lock();
        state.relations.get(&relation).is_some_and(|holders| {
            let writes = |levels: &Levels| levels.include(LockLevel::SharedWrite);
            holders.iter().any(|(holder, levels)| *holder != transaction && writes(levels))
        })
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
        self.serve(&mut state, |waiting| waiting.row().is_none() && waiting.holders.contains(&holder));
        levels
    }

    /// Waits until one of the transactions has ended. May end before that: whoever waits looks again.
    ///
    /// # Errors
    /// `LockConflict`, `LockTimeout`, `Deadlock`, `Cancelled`.
    pub(crate) fn wait_for(
        self: &Arc<Self>,
        holders: &[TransactionId],
        waiter: &mut Waiter<'_>,
    ) -> Result<()> {
        let mut state = self.state.lock();
        if holders.iter().any(|holder| !state.holders.contains_key(holder)) {
            return Ok(());
        }
        self.sleep(&mut state, holders.to_vec(), Awaited::End, waiter)
    }

    /// Sleeps until one of the holders has ended or given back what it can, or until the row is the waiter's.
    fn sleep(
        self: &Arc<Self>,
        state: &mut MutexGuard<'_, State>,
        holders: Vec<TransactionId>,
        awaited: Awaited,
        waiter: &mut Waiter<'_>,
    ) -> Result<()> {
        let result = self.sleep_uncounted(state, holders, awaited, waiter);
        let counter = match &result {
            Err(StoreError::LockConflict { .. }) => &self.counts.conflicts,
            Err(StoreError::LockTimeout { .. }) => &self.counts.timeouts,
            Err(StoreError::Deadlock { .. }) => &self.counts.deadlocks,
            _ => return result,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        result
    }

    fn sleep_uncounted(
        self: &Arc<Self>,
        state: &mut MutexGuard<'_, State>,
        holders: Vec<TransactionId>,
        awaited: Awaited,
        waiter: &mut Waiter<'_>,
    ) -> Result<()> {
        let Some(&holder) = holders.first() else { return Ok(()) };
        let limbo =
            holders.iter().find(|holder| state.holders.get(holder).is_some_and(|held| held.is_in_limbo));
        if let Some(&holder) = limbo {
            return Err(waiter.meets_limbo(holder));
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
        if state.reaches(&holders, waiter.transaction) {
            return Err(StoreError::Deadlock { holder });
        }
        let wake = Arc::new(Condvar::new());
        state.arrivals += 1;
        self.counts.waits.fetch_add(1, Ordering::Relaxed);
        waiter.has_waited = true;
        let arrival = state.arrivals;
        let since = Instant::now();
        let waiting = Waiting { holders, awaited, since, arrival, end: None, wake: Arc::clone(&wake) };
        state.waits.insert(waiter.transaction, waiting);
        let (table, waker) = (Arc::clone(self), Arc::clone(&wake));
        waiter.cancel.set_waker(Some(Arc::new(move || {
            // With the state locked: the waiter is either before its look at the flag or asleep.
            let _state = table.state.lock();
            waker.notify_one();
        })));
        let result = loop {
            match state.waits.get(&waiter.transaction).map(|waiting| waiting.end) {
                None | Some(Some(WaitEnd::Served)) => break Ok(()),
                Some(Some(WaitEnd::Deadlock(holder))) => break Err(StoreError::Deadlock { holder }),
                Some(Some(WaitEnd::Limbo(holder))) => break Err(waiter.meets_limbo(holder)),
                Some(None) => {}
            }
            if waiter.cancel.is_raised() {
                break Err(StoreError::Cancelled);
            }
            match deadline {
                None => wake.wait(state),
                Some(deadline) if deadline <= Instant::now() => {
                    break Err(StoreError::LockTimeout { holder, relation: None });
                }
                Some(deadline) => {
                    wake.wait_until(state, deadline);
                }
            }
        };
        state.waits.remove(&waiter.transaction);
        waiter.cancel.set_waker(None);
        result
    }

    /// Looks at those who wait and whom `concerns` is true of, in the order of their arrival: gives a free row to the first
    /// who wants it, lets the others wait for its new holder, and wakes those who waited for an end.
    ///
    /// A row that was given back early may have gone to somebody who did not wait for it, who may wait for something else by
    /// now: that wait was tested when this one still pointed at the old holder, so the circle is looked for here.
    fn serve(&self, state: &mut State, concerns: impl Fn(&Waiting) -> bool) {
        let mut concerned: Vec<_> = state
            .waits
            .iter()
            .filter(|(_, waiting)| waiting.end.is_none() && concerns(waiting))
            .map(|(transaction, waiting)| (waiting.arrival, *transaction))
            .collect();
        concerned.sort_unstable();
        for (_, transaction) in concerned {
            let row = state.waits.get(&transaction).and_then(Waiting::row);
            let new_holder = row.and_then(|(relation, row)| {
                self.rows[shard_of(relation, row)].lock().take(relation, row, transaction).err()
            });
            let end = match new_holder {
                None => Some(WaitEnd::Served),
                Some(holder) if state.reaches(&[holder], transaction) => Some(WaitEnd::Deadlock(holder)),
                Some(holder) if state.holders.get(&holder).is_some_and(|held| held.is_in_limbo) => {
                    Some(WaitEnd::Limbo(holder))
                }
                Some(_) => None,
            };
            let Some(waiting) = state.waits.get_mut(&transaction) else { continue };
            waiting.holders = new_holder.map_or(std::mem::take(&mut waiting.holders), |holder| vec![holder]);
            waiting.end = end;
            if end.is_some() {
                waiting.wake.notify_one();
            }
        }
    }
}

impl LockTable {
    /// Who waits for whom, those first who have waited longest.
    pub(crate) fn waits(&self) -> Vec<LockWait> {
        let state = self.state.lock();
        let mut waits: Vec<LockWait> = state
            .waits
            .iter()
            .filter(|(_, waiting)| waiting.end.is_none())
            .map(|(transaction, waiting)| LockWait {
                transaction: *transaction,
                holders: waiting.holders.clone(),
                awaited: match waiting.awaited {
                    Awaited::Row(relation, row) => AwaitedLock::Row(relation, row),
                    Awaited::Relation(relation) => AwaitedLock::Relation(relation),
                    Awaited::CatalogEntry => AwaitedLock::Definition,
                    Awaited::End => AwaitedLock::End,
                },
                waited: waiting.since.elapsed(),
            })
            .collect();
        waits.sort_by_key(|wait| (std::cmp::Reverse(wait.waited), wait.transaction));
        waits
    }

    /// What transactions have locked: a line for each of them and each relation.
    pub(crate) fn held(&self) -> Vec<HeldLock> {
        let mut held: BTreeMap<(TransactionId, RelationId), HeldLock> = BTreeMap::new();
        let none = |transaction, relation| HeldLock { transaction, relation, level: None, rows: 0 };
        for (relation, holders) in &self.state.lock().relations {
            for (transaction, levels) in holders {
                let line =
                    held.entry((*transaction, *relation)).or_insert_with(|| none(*transaction, *relation));
                line.level = levels.strongest();
            }
        }
        for shard in &self.rows {
            shard.lock().count(|transaction, relation, rows| {
                held.entry((transaction, relation)).or_insert_with(|| none(transaction, relation)).rows +=
                    rows;
            });
        }
        held.into_values().collect()
    }

    /// What has come of conflicts since the store was opened.
    pub(crate) fn figures(&self) -> LockFigures {
        let Counts { waits, conflicts, timeouts, deadlocks } = &self.counts;
        let [waits, conflicts, timeouts, deadlocks] =
            [waits, conflicts, timeouts, deadlocks].map(|counter| counter.load(Ordering::Relaxed));
        LockFigures { waits, conflicts, timeouts, deadlocks }
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

/// Counts itself among those who wait.
struct Announced<'a>(&'a AtomicUsize);

impl Announced<'_> {
    fn new(waiting: &AtomicUsize) -> Announced<'_> {
        waiting.fetch_add(1, Ordering::SeqCst);
        Announced(waiting)
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl State {
    /// Whether one of `from` waits, over any number of others, for `target`.
    fn reaches(&self, from: &[TransactionId], target: TransactionId) -> bool {
        let mut seen = HashSet::new();
        let mut open = from.to_vec();
        while let Some(transaction) = open.pop() {
            if transaction == target {
                return true;
            }
            if seen.insert(transaction) {
                let next = self.waits.get(&transaction).filter(|waiting| waiting.end.is_none());
                open.extend(next.iter().flat_map(|waiting| &waiting.holders));
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::thread;
    use std::time::Duration;

    use super::*;

    const T: RelationId = RelationId(1);

    /// A transaction's side of the table.
    struct Session {
        table: Arc<LockTable>,
        id: TransactionId,
        cancel: Arc<CancelFlag>,
        touched: TouchedShards,
    }

    impl Session {
        fn begin(table: &Arc<LockTable>, id: u64) -> Session {
            let session = Session {
                table: Arc::clone(table),
                id: TransactionId(id),
                cancel: CancelFlag::new(),
                touched: TouchedShards::default(),
            };
            table.begin(session.id, &session.cancel);
            session
        }

        fn lock(&self, row: u64, wait: Wait) -> Result<bool> {
            let resource = Resource::Row(T, RowId(row));
            let mut waiter = Waiter::new(self.id, wait, &self.cancel, &self.touched);
            self.table.lock(&resource, &mut waiter)
        }

        fn end(&self) {
            self.table.end(self.id, &self.touched);
        }
    }

    fn holder(table: &LockTable, row: u64) -> Option<u64> {
        table.key_holder(T, RowId(row), IndexId(1)).map(|(holder, _)| holder.0)
    }

    fn wait_until_asleep(table: &LockTable, count: usize) {
        while table.state.lock().waits.len() != count {
            thread::yield_now();
        }
    }

    #[test]
    fn a_row_goes_to_the_one_who_has_waited_longest() {
        let table = Arc::new(LockTable::default());
        let [first, second, third] = [1, 2, 3].map(|id| Session::begin(&table, id));
        assert!(first.lock(7, Wait::Forever).expect("free"));
        thread::scope(|scope| {
            let (second, third) = (&second, &third);
            let second_lock = scope.spawn(|| second.lock(7, Wait::Forever));
            wait_until_asleep(&table, 1);
            let third_lock = scope.spawn(|| third.lock(7, Wait::Forever));
            wait_until_asleep(&table, 2);

            first.end();
            assert!(second_lock.join().expect("no panic").expect("its turn"));
            assert_eq!(holder(&table, 7), Some(2));
            assert_eq!(table.state.lock().waits[&TransactionId(3)].holders, [TransactionId(2)]);

            // Given back before the end, it goes on to the next one as well.
            table.unlock(&Resource::Row(T, RowId(7)), second.id);
            assert!(third_lock.join().expect("no panic").expect("its turn"));
            assert_eq!(holder(&table, 7), Some(3));
            second.end();
            third.end();
        });
        assert_eq!(holder(&table, 7), None);
        assert!(table.state.lock().waits.is_empty());
    }

    #[test]
    fn who_waits_for_whom_and_what_is_locked_can_be_told() {
        let table = Arc::new(LockTable::default());
        let [first, second] = [1, 2].map(|id| Session::begin(&table, id));
        for row in [7, 8, 5_000] {
            first.lock(row, Wait::Forever).expect("free");
        }
        thread::scope(|scope| {
            let second_lock = scope.spawn(|| second.lock(7, Wait::Forever));
            wait_until_asleep(&table, 1);
            let waits = table.waits();
            assert_eq!(waits.len(), 1);
            assert_eq!((waits[0].transaction, waits[0].holders.as_slice()), (second.id, &[first.id][..]));
            assert_eq!(waits[0].awaited, AwaitedLock::Row(T, RowId(7)));
            first.end();
            second_lock.join().expect("no panic").expect("its turn");
        });
        assert!(table.waits().is_empty());
        let held = table.held();
        assert_eq!(held, [HeldLock { transaction: second.id, relation: T, level: None, rows: 1 }]);
        let third = Session::begin(&table, 3);
        assert!(third.lock(7, Wait::No).is_err());
        let figures = table.figures();
        assert_eq!((figures.waits, figures.conflicts, figures.deadlocks), (1, 1, 0));
    }

    #[test]
    fn a_circle_is_found_though_the_row_has_changed_hands_meanwhile() {
        let table = Arc::new(LockTable::default());
        let [first, second, third] = [1, 2, 3].map(|id| Session::begin(&table, id));
        first.lock(7, Wait::Forever).expect("free");
        third.lock(8, Wait::Forever).expect("free");
        thread::scope(|scope| {
            let (second, third) = (&second, &third);
            let second_lock = scope.spawn(|| second.lock(7, Wait::Forever));
            wait_until_asleep(&table, 1);
            let third_lock = scope.spawn(|| third.lock(7, Wait::Forever));
            wait_until_asleep(&table, 2);
            first.end();
            second_lock.join().expect("no panic").expect("its turn");
            // The third waits for the second now, not for the first.
            assert!(matches!(second.lock(8, Wait::Forever), Err(StoreError::Deadlock { .. })));
            second.end();
            third_lock.join().expect("no panic").expect("its turn");
            third.end();
        });
    }

    #[test]
    fn a_circle_is_found_though_the_row_has_gone_to_one_who_waits_by_now() {
        let table = Arc::new(LockTable::default());
        let [first, second, third] = [1, 2, 3].map(|id| Session::begin(&table, id));
        first.lock(7, Wait::Forever).expect("free");
        second.lock(8, Wait::Forever).expect("free");
        thread::scope(|scope| {
            let (second, third) = (&second, &third);
            let patient = Wait::Timeout(Duration::from_secs(60));
            let second_lock = scope.spawn(move || second.lock(7, patient));
            wait_until_asleep(&table, 1);
            // The first one gives the row back, in the two steps of `unlock_row`; between them the third one takes it,
            // and waits for the second one, which seems to wait for the first one still.
            table.rows[shard_of(T, RowId(7))].lock().unlock(T, RowId(7), first.id);
            third.lock(7, Wait::Forever).expect("free for a moment");
            let third_lock = scope.spawn(|| third.lock(8, Wait::Forever));
            wait_until_asleep(&table, 2);
            table.serve(&mut table.state.lock(), |waiting| waiting.row() == Some((T, RowId(7))));
            let refused = second_lock.join().expect("no panic").expect_err("nobody can go on");
            assert!(matches!(refused, StoreError::Deadlock { holder: TransactionId(3) }));
            second.end();
            third_lock.join().expect("no panic").expect("its turn");
            third.end();
            first.end();
        });
    }

    #[test]
    fn nobody_is_forgotten_in_a_crowd() {
        const CLIENTS: u64 = 8;
        const TURNS: u64 = 400;
        let table = Arc::new(LockTable::default());
        let rows: [AtomicU32; 3] = Default::default();
        let locked = AtomicU32::new(0);
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (table, rows, locked) = (&table, &rows, &locked);
                scope.spawn(move || {
                    for turn in 0..TURNS {
                        let session = Session::begin(table, 1 + client * TURNS + turn);
                        let row = (client + turn) % rows.len() as u64;
                        if turn % 16 == client {
                            session.cancel.cancel();
                        }
                        let wait = if turn % 7 == 0 {
                            Wait::Timeout(Duration::from_micros(200))
                        } else {
                            Wait::Forever
                        };
                        match session.lock(row, wait) {
                            Ok(_) => {
                                let count = &rows[row as usize];
                                assert_eq!(count.fetch_add(1, Ordering::SeqCst), 0, "two have locked a row");
                                thread::yield_now();
                                count.fetch_sub(1, Ordering::SeqCst);
                                locked.fetch_add(1, Ordering::SeqCst);
                                if turn % 5 == 0 {
                                    table.unlock(&Resource::Row(T, RowId(row)), session.id);
                                }
                            }
                            Err(StoreError::Cancelled | StoreError::LockTimeout { .. }) => {}
                            Err(other) => panic!("{other}"),
                        }
                        session.end();
                    }
                });
            }
        });
        assert!(locked.into_inner() > 0);
        let state = table.state.lock();
        assert!(state.waits.is_empty() && state.holders.is_empty());
        assert!((0..3).all(|row| holder(&table, row).is_none()));
    }
}
