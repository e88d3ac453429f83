//! One database: opening, beginning transactions, and what all transactions share.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use farbird_record::CodecId;
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockWriteGuard};

use crate::blob::references::PendingReferences;
use crate::block_cache::{CachedState, TouchedBlocks};
use crate::commit::CommitQueue;
use crate::figures::{HeldLock, LockWait, StoreFigures};
use crate::keyspace::{FORMAT_OF_SINGLE_BLOBS, STORE_FORMAT, meta};
use crate::locks::LockTable;
use crate::log::LoggedSubstrate;
use crate::named_commits::{CommitName, CommitOutcome, NamedCommits};
use crate::numbers::{Counter, read_number};
use crate::pending_keys::PendingKeys;
use crate::registry::Registry;
use crate::relation_statistics::{StatisticsBook, figures_as_of};
use crate::row_numbers::RowNumbers;
use crate::sequence::Sequences;
use crate::spilled::SpilledTransactions;
use crate::substrate::{
    ALL_KEYS, Direction, Durability, RedbSubstrate, Reopened, Space, Substrate, SubstrateState, Unreadable,
    WriteBatch,
};
use crate::sweep::Sweeper;
use crate::temporary::Instances;
use crate::transaction::prepared::PreparedTransactions;
use crate::{
    CancelFlag, CommitNumber, FileKind, IndexId, Isolation, RelationId, RelationLayout, Result, StoreError,
    StoreOptions, StoreStatistics, Transaction, TransactionId, TransactionOptions, identify, recovery,
};

/// One database. `Send + Sync`; cheap to clone; the file is free when the last clone, transaction and view are gone.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

/// Transaction numbers that one write reserves.
const TRANSACTIONS_RESERVED: u64 = 1_024;
/// BLOB numbers that one write reserves.
const BLOBS_RESERVED: u64 = 4_096;

/// What all transactions of a database share.
#[derive(Debug)]
pub(crate) struct Inner {
    substrate: Arc<dyn Substrate>,
    pub(crate) options: StoreOptions,
    /// How new blocks of relations that say nothing themselves are packed: a [`CodecId`].
    codec: AtomicU8,
    /// The substrate's latest state. Kept, since opening one for each read costs more than the read.
    latest: RwLock<LatestState>,
    old_states: Mutex<OldStates>,
    write_lock: Mutex<()>,
    /// Whether the storage can only be read for now.
    poisoned: AtomicBool,
    /// How many writes have failed: whatever a transaction had written ahead of its commit may be gone then.
    failures: AtomicU64,
    /// Whether a failed write may have taken back reservations of numbers.
    must_reserve: AtomicBool,
    reopening: Mutex<Reopening>,
    published: RwLock<CommitNumber>,
    pub(crate) commits: CommitQueue,
    /// Is told of commits.
    pub(crate) listener: OnceLock<Arc<dyn crate::CommitListener>>,
    pub(crate) sweeper: Sweeper,
    pub(crate) registry: Registry,
    pub(crate) locks: Arc<LockTable>,
    pub(crate) pending_keys: PendingKeys,
    pub(crate) prepared: PreparedTransactions,
    pub(crate) row_numbers: RowNumbers,
    pub(crate) sequences: Sequences,
    pub(crate) blob_numbers: Counter,
    pub(crate) blob_references: PendingReferences,
    transaction_numbers: Counter,
    pub(crate) named_commits: NamedCommits,
    /// Held by who changes the history of backups.
    pub(crate) backup_history: Mutex<()>,
    layouts: RwLock<Layouts>,
    pub(crate) instances: Instances,
    /// Transactions whose rows in the file carry their number.
    pub(crate) spilled: SpilledTransactions,
    /// What is known of relations for who plans statements.
    pub(crate) statistics: StatisticsBook,
    /// The commit as of which the file's own figures are.
    pub(crate) statistics_as_of: Option<CommitNumber>,
    /// The latest commit when the database was opened.
    pub(crate) opened_at: CommitNumber,
    /// As [`StoreStatistics::blocks_read`].
    pub(crate) blocks_read: AtomicU64,
    pub(crate) blocks_skipped: AtomicU64,
    /// Commits, and the durable writes that took them.
    pub(crate) commits_made: AtomicU64,
    pub(crate) commit_batches: AtomicU64,
    /// Changes refused because others had committed some of the same rows.
    pub(crate) update_conflicts: AtomicU64,
}

/// The latest committed layout of a relation.
#[derive(Debug, Clone)]
pub(crate) struct RegisteredLayout {
    pub(crate) layout: Arc<RelationLayout>,
    /// Transactions up to this one may know an older layout only.
    pub(crate) unknown_to: TransactionId,
}

/// The committed relations.
#[derive(Debug, Default)]
struct Layouts {
    registered: HashMap<RelationId, RegisteredLayout>,
    /// Relations that were registered and then dropped.
    dropped: HashSet<RelationId>,
}

/// What the store knows of a layout.
pub(crate) enum LayoutCheck {
    /// It is the latest committed one.
    Latest,
    /// The relation is not committed yet, or the store was never told of it.
    Unregistered,
}

/// The latest attempt to open the substrate again.
#[derive(Debug, Default)]
struct Reopening {
    ended: Option<Instant>,
    took: Duration,
}

/// Between two attempts to open the substrate again there is at least so many times the time of the first.
const REOPENING_SHARE: u32 = 10;

struct LatestState(Arc<CachedState>);

/// States of the file that were the latest once, and that somebody was still reading then.
#[derive(Clone, Default)]
pub(crate) struct OldStates(Vec<Weak<CachedState>>);

impl OldStates {
    /// Adds the latest one before it is replaced.
    fn add(&mut self, snapshot: &Arc<CachedState>) {
        if Arc::strong_count(snapshot) > 1 {
            self.0.retain(|old| old.strong_count() > 0);
            self.0.push(Arc::downgrade(snapshot));
        }
    }

    /// Whether anybody still reads one of them.
    pub(crate) fn are_read(&self) -> bool {
        self.0.iter().any(|old| old.strong_count() > 0)
    }
}

impl std::fmt::Debug for OldStates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OldStates({})", self.0.len())
    }
}

impl std::fmt::Debug for LatestState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LatestState")
    }
}

/// The right to write to the substrate: one writer at a time.
pub(crate) struct WriteGuard<'a>(#[expect(dead_code, reason = "held, not read")] MutexGuard<'a, ()>);

fn write_format(substrate: &dyn Substrate) -> Result<()> {
    let mut batch = WriteBatch::new();
    batch.put(Space::Meta, meta::FORMAT.to_vec(), STORE_FORMAT.to_le_bytes().to_vec());
    substrate.write(batch, Durability::Durable)
}

impl Store {
    /// Creates the file and opens it.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if there is one.
    pub fn create(path: &Path, options: StoreOptions) -> Result<Store> {
        Store::on_substrate(Arc::new(LoggedSubstrate::create(path, options.cache_bytes)?), options)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// [`StoreError::InUse`], [`StoreError::WrongKind`], and `Io` if there is none.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Store> {
        match identify(path)? {
            FileKind::Farbird => {}
            kind => return Err(StoreError::WrongKind(kind)),
        }
        Store::on_substrate(Arc::new(LoggedSubstrate::open(path, options.cache_bytes)?), options)
    }

    /// A database that lives in memory and ends with its last clone.
    pub fn in_memory(options: StoreOptions) -> Result<Store> {
        Store::on_substrate(Arc::new(RedbSubstrate::in_memory(options.cache_bytes)?), options)
    }

    /// A database on any substrate; an empty one becomes an empty database.
    pub fn on_substrate(substrate: Arc<dyn Substrate>, options: StoreOptions) -> Result<Store> {
        let snapshot = substrate.snapshot()?;
        match read_number(&*snapshot, meta::FORMAT)? {
            Some(STORE_FORMAT) => {}
            // What it has stays as it is; a program that knows no packs must not write what this one goes on with.
            Some(FORMAT_OF_SINGLE_BLOBS) => write_format(&*substrate)?,
            Some(format) => {
                return Err(StoreError::corrupt(format!(
                    "the store's format {format}: another version of Farbird wrote it, open it with that one (this one knows {STORE_FORMAT})"
                )));
            }
            None if snapshot.scan(Space::Meta, ALL_KEYS, Direction::Forward)?.next().is_some() => {
                return Err(StoreError::WrongKind(FileKind::Other));
            }
            None => write_format(&*substrate)?,
        }
        recovery::remove_unfinished(&*substrate)?;
        let mut dropped = WriteBatch::new();
        let instances = recovery::begin_instances(&*substrate.snapshot()?, &mut dropped)?;
        if !dropped.is_empty() {
            substrate.write(dropped, Durability::Durable)?;
        }
        let snapshot = substrate.snapshot()?;
        let published = CommitNumber(read_number(&*snapshot, meta::LAST_COMMIT)?.unwrap_or(0));
        let cache_bytes = options.cache_bytes;
        let named_commits = NamedCommits::load(&*snapshot, options.commit_names_max)?;
        let inner = Inner {
            codec: AtomicU8::new(options.codec.0),
            options,
            write_lock: Mutex::new(()),
            poisoned: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            must_reserve: AtomicBool::new(false),
            reopening: Mutex::default(),
            published: RwLock::new(published),
            commits: CommitQueue::default(),
            listener: OnceLock::new(),
            sweeper: Sweeper::default(),
            registry: Registry::default(),
            locks: Arc::default(),
            pending_keys: PendingKeys::default(),
            prepared: PreparedTransactions::default(),
            row_numbers: RowNumbers::default(),
            sequences: Sequences::load(&*snapshot)?,
            blob_numbers: Counter::load(&*snapshot, meta::BLOBS_RESERVED, BLOBS_RESERVED)?,
            blob_references: PendingReferences::default(),
            transaction_numbers: Counter::load(
                &*snapshot,
                meta::TRANSACTIONS_RESERVED,
                TRANSACTIONS_RESERVED,
            )?,
            named_commits,
            backup_history: Mutex::default(),
            layouts: RwLock::default(),
            instances,
            spilled: SpilledTransactions::load(&*snapshot)?,
            old_states: Mutex::default(),
            statistics: StatisticsBook::default(),
            statistics_as_of: figures_as_of(&*snapshot),
            opened_at: published,
            blocks_read: AtomicU64::new(0),
            blocks_skipped: AtomicU64::new(0),
            commits_made: AtomicU64::new(0),
            commit_batches: AtomicU64::new(0),
            update_conflicts: AtomicU64::new(0),
            latest: RwLock::new(LatestState(Arc::new(CachedState::new(snapshot, cache_bytes)))),
            substrate,
        };
        let inner = Arc::new(inner);
        inner.load_prepared()?;
        if inner.options.background_sweep {
            inner.sweeper.start(&inner);
        }
        Ok(Store { inner })
    }

    /// How it was opened.
    pub fn options(&self) -> &StoreOptions {
        &self.inner.options
    }

    /// Sets how new blocks are packed of relations whose layouts do not say; `None`: as [`StoreOptions::codec`] says.
    /// Blocks that exist stay as they are.
    pub fn set_codec(&self, codec: Option<CodecId>) {
        self.inner.codec.store(codec.unwrap_or(self.inner.options.codec).0, Ordering::Relaxed);
    }

    /// How new blocks are packed of relations whose layouts do not say.
    pub fn codec(&self) -> CodecId {
        self.inner.codec()
    }

    /// Stops the background sweep and writes what is still in memory only (exact sequence values). Running transactions
    /// are rolled back when they are dropped. The file is free once all clones, transactions and views are dropped.
    pub fn close(&self) -> Result<()> {
        self.inner.sweeper.stop();
        let mut batch = WriteBatch::new();
        self.inner.sequences.settle(&mut batch);
        self.inner.transaction_numbers.settle(&mut batch);
        self.inner.blob_numbers.settle(&mut batch);
        self.inner.store_statistics(&mut batch);
        self.inner.write(batch, Durability::Durable)
    }

    /// Tells the store the latest committed layout of a relation: at open for all of them, and in the commit of each
    /// DDL (from its [`Transaction::commit_with`]). The sweep leaves relations alone that it was never told of.
    pub fn register_layout(&self, layout: Arc<RelationLayout>) {
        self.inner.register_layout(layout);
    }

    /// Forgets a dropped relation's layout.
    pub fn unregister_layout(&self, relation: RelationId) {
        self.inner.unregister_layout(relation);
    }

    /// Begins a transaction. `cancel` interrupts its waits for locks and its long operations.
    pub fn begin(&self, options: TransactionOptions, cancel: Arc<CancelFlag>) -> Result<Transaction> {
        self.begin_with(options, cancel, |_| ()).map(|(transaction, ())| transaction)
    }

    /// As [`Store::begin`]; `at_snapshot` runs with the transaction's snapshot number while no commit can be published,
    /// so that the engine can take the catalog that belongs to the snapshot.
    pub fn begin_with<T>(
        &self,
        options: TransactionOptions,
        cancel: Arc<CancelFlag>,
        at_snapshot: impl FnOnce(CommitNumber) -> T,
    ) -> Result<(Transaction, T)> {
        let id = self.inner.next_transaction()?;
        let published = self.inner.published.read();
        let snapshot = match options.snapshot_at {
            None => *published,
            Some(number) if number <= *published && self.inner.registry.share(number) => number,
            Some(number) => return Err(StoreError::NoSuchSnapshot { number }),
        };
        let transaction = Transaction::begin(self.clone(), id, options, snapshot, cancel);
        if options.snapshot_at.is_some() {
            self.inner.registry.release(snapshot);
        }
        let taken = at_snapshot(snapshot);
        drop(published);
        Ok((transaction, taken))
    }

    /// Has `listener` told of each commit from now on. The first one stays.
    pub fn listen(&self, listener: Arc<dyn crate::CommitListener>) {
        // Another one listens already: it is the same database's.
        let _ = self.inner.listener.set(listener);
    }

    /// Whether the background sweeps by itself, as it does at first; otherwise only [`Store::sweep`] does.
    pub fn set_automatic_sweep(&self, sweeps: bool) {
        self.inner.sweeper.set_automatic(sweeps);
    }

    /// The number of the latest published commit.
    pub fn last_commit(&self) -> CommitNumber {
        self.inner.last_commit()
    }

    /// What became of a commit that was named, which the asker knows to be a later one than `since`. If it has not happened it will
    /// not: whoever still runs the transaction cannot commit it under that name.
    ///
    /// # Errors
    /// From reading; and [`StoreError::Poisoned`] while nobody knows what is on the disk. Then it may still happen.
    pub fn commit_outcome(&self, name: CommitName, since: CommitNumber) -> Result<CommitOutcome> {
        let inner = &self.inner;
        // Nobody is committing meanwhile: what was being written is on the disk or is not.
        let _guard = inner.begin_write();
        inner.check_written()?;
        inner.named_commits.outcome(&*inner.snapshot(), inner.last_commit(), name, since)
    }

    /// What an index takes in the file, in bytes. All its pages are looked at.
    pub fn index_bytes(&self, index: IndexId) -> Result<u64> {
        self.inner.snapshot().bytes(Space::Index(index))
    }

    /// All committed catalog entries, in key order.
    pub fn catalog_entries(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let entries = self.inner.snapshot().scan(Space::Catalog, ALL_KEYS, Direction::Forward)?;
        entries.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
    }

    /// Figures for monitoring.
    pub fn statistics(&self) -> StoreStatistics {
        let next_transaction = TransactionId(self.inner.transaction_numbers.peek());
        let active = self.inner.registry.active();
        let oldest_active = active.first().map_or(next_transaction, |oldest| oldest.id);
        let oldest_snapshot = active
            .iter()
            .filter(|transaction| transaction.options.isolation != Isolation::ReadCommitted)
            .map(|transaction| transaction.oldest_active)
            .min()
            .unwrap_or(oldest_active);
        let oldest_of_interest =
            self.inner.oldest_prepared().map_or(oldest_active, |it| it.min(oldest_active));
        StoreStatistics {
            // No trace of a rolled back transaction is left, so of the older ones only those in limbo are of interest.
            oldest_transaction: TransactionId(oldest_of_interest.0.saturating_sub(1)),
            oldest_active,
            oldest_snapshot,
            next_transaction,
            last_commit: self.last_commit(),
            blocks_read: self.inner.blocks_read.load(Ordering::Relaxed),
            blocks_skipped: self.inner.blocks_skipped.load(Ordering::Relaxed),
            active,
        }
    }

    /// What it has done since it was opened.
    pub fn figures(&self) -> StoreFigures {
        let inner = &self.inner;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let latest = Arc::clone(&inner.latest.read().0);
        StoreFigures {
            commits: count(&inner.commits_made),
            commit_batches: count(&inner.commit_batches),
            failed_writes: inner.failures(),
            update_conflicts: count(&inner.update_conflicts),
            locks: inner.locks.figures(),
            file: inner.substrate.figures(),
            block_cache: latest.cache_figures(),
            blocks_read: count(&inner.blocks_read),
            blocks_skipped: count(&inner.blocks_skipped),
            sweep: inner.sweeper.figures(inner.registry.horizon(inner.last_commit())),
        }
    }

    /// Who waits for whom, those first who have waited longest.
    pub fn lock_waits(&self) -> Vec<LockWait> {
        self.inner.locks.waits()
    }

    /// What running transactions have locked, by transaction and relation. All locks of rows are gone through.
    pub fn held_locks(&self) -> Vec<HeldLock> {
        self.inner.locks.held()
    }
}

impl Inner {
    /// As [`Store::codec`].
    pub(crate) fn codec(&self) -> CodecId {
        CodecId(self.codec.load(Ordering::Relaxed))
    }

    /// The substrate's latest state.
    pub(crate) fn snapshot(&self) -> Arc<dyn SubstrateState> {
        Arc::<CachedState>::clone(&self.latest.read().0)
    }

    /// Puts another state in the place of the latest one. The only way to do that: whoever still reads the one before may come
    /// across transactions that nothing in the next ones names any more, so all that are read are remembered.
    fn replace_latest(&self, next: impl FnOnce(&CachedState) -> CachedState) {
        // Only who has the right to write replaces it: readers need not wait while the next one is made.
        let next = Arc::new(next(&Arc::clone(&self.latest.read().0)));
        let mut latest = self.latest.write();
        self.old_states.lock().add(&latest.0);
        latest.0 = next;
    }

    /// As [`Substrate::unknown_spaces`].
    pub(crate) fn unknown_spaces(&self, known: &HashSet<Space>) -> Result<Vec<(String, u64)>> {
        self.substrate.unknown_spaces(known)
    }

    /// The states before the latest one that are still read.
    pub(crate) fn old_states(&self) -> OldStates {
        self.old_states.lock().clone()
    }

    pub(crate) fn last_commit(&self) -> CommitNumber {
        *self.published.read()
    }

    /// Holds back all that looks at the latest commit number.
    pub(crate) fn publication(&self) -> RwLockWriteGuard<'_, CommitNumber> {
        self.published.write()
    }

    /// Runs with the latest commit number while no commit can be published.
    pub(crate) fn with_published<T>(&self, run: impl FnOnce(CommitNumber) -> T) -> T {
        let published = self.published.read();
        run(*published)
    }

    pub(crate) fn next_transaction(&self) -> Result<TransactionId> {
        self.transaction_numbers.next_anyway(self).map(TransactionId)
    }

    /// As [`Store::register_layout`].
    pub(crate) fn register_layout(&self, layout: Arc<RelationLayout>) {
        let unknown_to = self.registry.newest_active();
        let mut layouts = self.layouts.write();
        layouts.dropped.remove(&layout.id);
        layouts.registered.insert(layout.id, RegisteredLayout { layout, unknown_to });
    }

    /// As [`Store::unregister_layout`].
    pub(crate) fn unregister_layout(&self, relation: RelationId) {
        let mut layouts = self.layouts.write();
        layouts.registered.remove(&relation);
        if relation.is_instance() {
            self.row_numbers.forget(relation);
        } else {
            layouts.dropped.insert(relation);
        }
        self.statistics.forget(relation);
    }

    pub(crate) fn registered_layout(&self, relation: RelationId) -> Option<Arc<RelationLayout>> {
        self.layouts.read().registered.get(&relation).map(|registered| Arc::clone(&registered.layout))
    }

    /// Compares a layout with the registered one.
    ///
    /// # Errors
    /// `LayoutChanged` if there is another one by now, or the relation was dropped.
    pub(crate) fn check_layout(&self, layout: &RelationLayout) -> Result<LayoutCheck> {
        let layouts = self.layouts.read();
        match layouts.registered.get(&layout.id) {
            Some(registered) if std::ptr::eq(&*registered.layout, layout) => Ok(LayoutCheck::Latest),
            None if !layouts.dropped.contains(&layout.id) => Ok(LayoutCheck::Unregistered),
            _ => Err(StoreError::LayoutChanged { relation: layout.id }),
        }
    }

    pub(crate) fn layouts(&self) -> Vec<RegisteredLayout> {
        let mut layouts: Vec<_> = self.layouts.read().registered.values().cloned().collect();
        layouts.sort_by_key(|registered| registered.layout.id);
        layouts
    }

    /// Waits for the right to write.
    pub(crate) fn begin_write(&self) -> WriteGuard<'_> {
        WriteGuard(self.write_lock.lock())
    }

    /// Fails while it is not known what is on the disk.
    pub(crate) fn check_written(&self) -> Result<()> {
        match self.poisoned.load(Ordering::SeqCst) {
            true => Err(StoreError::Poisoned),
            false => Ok(()),
        }
    }

    /// Writes a batch; it is seen by [`Inner::snapshot`] afterwards.
    pub(crate) fn write(&self, batch: WriteBatch, durability: Durability) -> Result<()> {
        let guard = self.begin_write();
        self.write_under(&guard, batch, durability)
    }

    /// As [`Inner::write`], by who has the right already.
    ///
    /// # Errors
    /// After a failed write the substrate is opened again, as of the last durable write: [`Inner::failures`] counts. While
    /// it can only be read, each write tries that again, and is `Poisoned` if it fails.
    pub(crate) fn write_under(
        &self,
        guard: &WriteGuard<'_>,
        batch: WriteBatch,
        durability: Durability,
    ) -> Result<()> {
        if self.poisoned.load(Ordering::SeqCst) {
            self.reopen_in_time(guard);
            return Err(StoreError::Poisoned);
        }
        self.sweeper.watch.note(&batch);
        let touched = TouchedBlocks::by(&batch);
        let batch = if self.must_reserve.load(Ordering::SeqCst) { self.reserved_again(batch) } else { batch };
        let error = match self.substrate.write(batch, durability) {
            Err(error) => error,
            Ok(()) => match self.readable_snapshot() {
                Ok(snapshot) => {
                    self.must_reserve.store(false, Ordering::SeqCst);
                    self.replace_latest(|latest| latest.followed_by(snapshot, &touched));
                    return Ok(());
                }
                Err(error) => {
                    // The batch is there, and cannot be read: nobody shall read what was before it.
                    self.replace_latest(|_| CachedState::new(Arc::new(Unreadable), self.options.cache_bytes));
                    self.recover(guard, &error, true);
                    return if durability == Durability::Relaxed { Err(error) } else { Ok(()) };
                }
            },
        };
        self.recover(guard, &error, self.substrate.is_broken());
        Err(error)
    }

    /// Lets the substrate do what its writes have put off. For when nobody commits.
    ///
    /// # Errors
    /// Nothing is lost by them, unless the substrate has to be opened again.
    pub(crate) fn rest(&self) -> Result<()> {
        let guard = self.begin_write();
        if self.poisoned.load(Ordering::SeqCst) {
            return Ok(());
        }
        match self
            .substrate
            .rest()
            .and_then(|is_newer| is_newer.then(|| self.readable_snapshot()).transpose())
        {
            Ok(None) => Ok(()),
            Ok(Some(snapshot)) => {
                self.replace_latest(|latest| latest.followed_by(snapshot, &TouchedBlocks::default()));
                Ok(())
            }
            Err(error) => {
                if self.substrate.is_broken() {
                    self.recover(&guard, &error, true);
                }
                Err(error)
            }
        }
    }

    /// The substrate's state, unless it has to be opened again.
    fn readable_snapshot(&self) -> Result<Arc<dyn SubstrateState>> {
        if self.substrate.is_broken() { Err(StoreError::Poisoned) } else { self.substrate.snapshot() }
    }

    /// After a failed write: what running transactions have written ahead of their commits, or believe to have, may not be
    /// there.
    fn recover(&self, guard: &WriteGuard<'_>, error: &StoreError, must_reopen: bool) {
        tracing::error!(%error, "a write failed: what running transactions have written is undone");
        self.failures.fetch_add(1, Ordering::SeqCst);
        self.must_reserve.store(true, Ordering::SeqCst);
        if must_reopen {
            self.reopen(guard);
        }
    }

    /// A batch that begins with the reservations of all numbers that may have been given.
    fn reserved_again(&self, batch: WriteBatch) -> WriteBatch {
        let mut reserved = WriteBatch::new();
        self.transaction_numbers.reserve_again(&mut reserved);
        self.blob_numbers.reserve_again(&mut reserved);
        reserved.append(batch);
        reserved
    }

    /// How many writes have failed. A transaction with changes that has seen another number is lost.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::SeqCst)
    }

    /// Whether the file has a commit that was to be written, now that its write has failed.
    pub(crate) fn is_committed(&self, number: CommitNumber) -> bool {
        let last = read_number(&*self.snapshot(), meta::LAST_COMMIT);
        matches!(last, Ok(Some(last)) if last == number.0)
    }

    /// As [`Inner::reopen`], unless it would cost more time than all else.
    fn reopen_in_time(&self, guard: &WriteGuard<'_>) {
        let is_time = {
            let reopening = self.reopening.lock();
            reopening.ended.is_none_or(|ended| ended.elapsed() >= reopening.took * REOPENING_SHARE)
        };
        if is_time {
            self.reopen(guard);
        }
    }

    /// Goes back to what is durable, and finds out whether the storage can be written to.
    fn reopen(&self, _guard: &WriteGuard<'_>) {
        let begun = Instant::now();
        let reopened = self.substrate.reopen().and_then(|reopened| {
            let snapshot = self.substrate.snapshot()?;
            self.spilled.reload(&*snapshot)?;
            self.replace_latest(|_| CachedState::new(snapshot, self.options.cache_bytes));
            Ok(reopened)
        });
        *self.reopening.lock() = Reopening { ended: Some(Instant::now()), took: begun.elapsed() };
        self.failures.fetch_add(1, Ordering::SeqCst);
        self.poisoned.store(!matches!(reopened, Ok(Reopened::Writable)), Ordering::SeqCst);
        match reopened {
            Ok(Reopened::Writable) => tracing::info!("the database was opened again; it can be written to"),
            Ok(Reopened::ReadOnly) => tracing::warn!("the database was opened again, for reading only"),
            Err(error) => tracing::error!(%error, "the database could not be opened again"),
        }
    }
}
