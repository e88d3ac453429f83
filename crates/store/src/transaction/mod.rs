//! Transactions: beginning, views, savepoints, locks, commit and rollback. Reading, writing, index upkeep and DDL are in the
//! submodules.

mod build_index;
mod catalog;
mod check;
mod column_keys;
mod commit;
mod ddl;
mod insert_many;
mod later_change;
mod missing_keys;
mod prepare;
pub(crate) mod prepared;
mod read;
mod spill;
mod temporary;
mod write;
mod write_many;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use crate::blob::BlobSet;
use crate::block::BLOCK_ROWS_MAX;
use crate::committed::{EVERY_COMMIT, OwnVisibility, Visibility};
use crate::identifiers::{IdMap, IdSet};
use crate::locks::{Levels, TouchedShards, Waiter};
use crate::named_commits::NamedCommit;
use crate::page_work;
use crate::posted_events::PostedEvents;
use crate::relation_statistics::Changed;
use crate::store::{Inner, LayoutCheck};
use crate::substrate::WriteBatch;
use crate::tally::{Counted, Pending, RecordCounter, Tally};
use crate::view::{PinnedSnapshot, ReadView};
use crate::write_set::{LiveChanges, OwnEntries, Run, Undone, WriteSet};
use crate::{
    Access, CancelFlag, CommitName, CommitNumber, IndexId, Isolation, LockLevel, RelationId, RelationLayout,
    Result, Store, StoreError, TransactionId, TransactionOptions, Wait,
};
use commit::{CommitContent, PreparedCommit};
use ddl::DdlChange;
use farbird_record::{CodecId, RecordFormat};
pub use later_change::LaterChange;
pub use missing_keys::KeyPair;
pub use prepared::PreparedTransaction;
pub(crate) use read::read_visible;
use spill::SpilledRelation;
use temporary::InstanceMap;
pub use temporary::SessionRelations;
use write::Scratch;
pub(crate) use write::first_free_row;
pub use write_many::RowUpdate;

/// A running transaction. Dropping it rolls it back.
///
/// All methods take `&self`: several cursors and statements of one transaction interleave as the client likes.
pub struct Transaction {
    store: Store,
    options: TransactionOptions,
    cancel: Arc<CancelFlag>,
    /// Where it has locked rows, under all of its numbers.
    touched: TouchedShards,
    live: Arc<LiveChanges>,
    /// What its session keeps in temporary relations, and what it keeps itself.
    session: Option<Arc<SessionRelations>>,
    instances: InstanceMap,
    /// What it does with rows.
    tally: Arc<Tally>,
    /// `None` once it has ended.
    core: Mutex<Option<Core>>,
}

/// A format in which a transaction has written rows.
#[derive(Debug)]
struct WrittenFormat {
    record: RecordFormat,
    /// The relation's own codec, if it names one.
    codec: Option<CodecId>,
}

/// What changes while a transaction runs.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) id: TransactionId,
    /// The commit number that it reads as of; for READ COMMITTED the latest view's.
    pub(crate) snapshot: CommitNumber,
    /// What keeps the snapshot's versions; `None` for READ COMMITTED: its views do.
    held: Option<Arc<PinnedSnapshot>>,
    /// Commits made by COMMIT RETAIN, which it sees whatever its snapshot.
    own_commits: Vec<CommitNumber>,
    pub(crate) writes: WriteSet,
    pub(crate) blobs: BlobSet,
    /// Row numbers taken, by relation; the latest range is in use.
    row_numbers: IdMap<RelationId, Vec<Reservation>>,
    levels: IdMap<RelationId, Levels>,
    /// Relations that are locked to read by their reservation alone: see `reserve_relation`.
    reserved_to_read: IdSet<RelationId>,
    /// Relations whose layout cannot change any more for this transaction: it has locked them and knows the latest
    /// layout, or has made one of its own.
    known_layouts: IdSet<RelationId>,
    ddl: Vec<(u64, DdlChange)>,
    events: PostedEvents,
    /// Formats of the rows written, for the commit.
    formats: IdMap<(RelationId, u16), WrittenFormat>,
    /// Relations of which it has spilled rows.
    spilled: BTreeMap<RelationId, SpilledRelation>,
    /// The latest change that may be spilled.
    spilled_until: u64,
    /// When its work is larger than this, it is spilled.
    spill_at_bytes: usize,
    /// Index entries handed to the commit; others must not overlook them before it is done.
    committed_entries: Arc<IdMap<IndexId, OwnEntries>>,
    /// How many writes of the store had failed before its first change.
    failures: u64,
    scratch: Scratch,
    /// IGNORE LIMBO.
    ignores_limbo: bool,
    /// The name of its commit.
    name: Option<NamedCommit>,
    /// Whether its commit has failed: its changes are gone, and only rolling it back is left.
    has_failed: bool,
    /// What was done with rows, until its tally is told.
    pub(crate) pending: Pending,
}

/// Row numbers taken by a transaction.
#[derive(Debug)]
struct Reservation {
    start: u64,
    unused: Range<u64>,
}

/// A point to which a transaction can be rolled back. Savepoints nest: rolling back to one ends those taken after it.
///
/// Must be given to [`Transaction::release`] or [`Transaction::rollback_to`] in the end; that of a whole transaction's
/// end is implied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint(u64);

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Row numbers are taken in ranges of these sizes, one after the other: a single insert leaves no gap, many are cheap.
const ROW_NUMBER_STEPS: [u64; 6] = [1, 4, 16, 64, 512, BLOCK_ROWS_MAX as u64];

impl Core {
    fn new(id: TransactionId, snapshot: CommitNumber, ignores_limbo: bool, tally: &Arc<Tally>) -> Core {
        Core {
            id,
            snapshot,
            held: None,
            own_commits: Vec::new(),
            writes: WriteSet::default(),
            blobs: BlobSet::default(),
            row_numbers: IdMap::default(),
            levels: IdMap::default(),
            reserved_to_read: IdSet::default(),
            known_layouts: IdSet::default(),
            ddl: Vec::new(),
            events: PostedEvents::default(),
            formats: IdMap::default(),
            spilled: BTreeMap::new(),
            spilled_until: 0,
            spill_at_bytes: 0,
            committed_entries: Arc::default(),
            failures: 0,
            scratch: Scratch::default(),
            ignores_limbo,
            name: None,
            has_failed: false,
            pending: Pending::new(Arc::clone(tally)),
        }
    }

    /// What it has spilled of a relation, but for runs of inserted rows, which it knows by themselves.
    pub(crate) fn spilled_changes(&self, relation: RelationId) -> Changed {
        self.spilled.get(&relation).map(|spilled| spilled.changed).unwrap_or_default()
    }

    /// Relations of which it has changed rows.
    pub(crate) fn changed_relations(&self) -> impl Iterator<Item = RelationId> {
        let spilled = self.spilled.keys().filter(|relation| !self.writes.relations.contains_key(*relation));
        self.writes.relations.keys().chain(spilled).copied()
    }

    /// Whether a failed write may have undone some of its work.
    fn is_lost(&self, inner: &Inner) -> bool {
        self.has_failed || self.failures != inner.failures() && (self.has_changes() || !self.blobs.is_empty())
    }

    /// Counts what is left of its changes as taken back: a commit leaves none.
    fn count_backouts(&mut self) {
        let spilled = self.spilled.iter().map(|(relation, spilled)| (*relation, spilled.changed.changes));
        let kept = self.writes.relations.iter().map(|(relation, writes)| {
            let inserted: usize = writes.runs().iter().map(Run::len).sum();
            (*relation, (inserted + writes.changed_count()) as u64)
        });
        for (relation, rows) in spilled.chain(kept).collect::<Vec<_>>() {
            self.count(relation, RecordCounter::Backouts, rows);
        }
    }

    /// Counts rows. Those of a temporary relation are counted as the relation's where they are read and written.
    pub(crate) fn count(&mut self, relation: RelationId, counter: RecordCounter, rows: u64) {
        if !relation.is_instance() {
            self.pending.add(relation, counter, rows);
        }
    }

    fn has_changes(&self) -> bool {
        !self.writes.is_empty()
            || !self.spilled.is_empty()
            || !self.ddl.is_empty()
            || self.blobs.has_adopted()
    }

    /// What a view sees of a relation's rows in the substrate.
    pub(crate) fn visibility(&self, relation: RelationId, view: &ReadView) -> Visibility<'_> {
        let seen = self.visibility_at(relation, view.commit_number(), view.change());
        Visibility { meets_limbo: !self.ignores_limbo, ..seen }
    }

    /// The same without the transaction, if it has nothing of its own there: whoever reads needs not keep others from it then.
    pub(crate) fn committed_visibility(
        &self,
        relation: RelationId,
        view: &ReadView,
    ) -> Option<Visibility<'static>> {
        if !self.own_commits.is_empty() || self.writes.relation(relation).is_some() {
            return None;
        }
        let (until, meets_limbo) = (view.commit_number(), !self.ignores_limbo);
        Some(Visibility { until, own_commits: &[], meets_limbo, own: None })
    }

    /// All committed rows of a relation, and own ones.
    fn full_visibility(&self, relation: RelationId) -> Visibility<'_> {
        self.visibility_at(relation, EVERY_COMMIT, u64::MAX)
    }

    fn visibility_at(&self, relation: RelationId, until: CommitNumber, change: u64) -> Visibility<'_> {
        let writes = self.writes.relation(relation);
        let own = writes.map(|writes| OwnVisibility { id: self.id, writes, change });
        Visibility { until, own_commits: &self.own_commits, meets_limbo: false, own }
    }
}

impl Transaction {
    pub(crate) fn begin(
        store: Store,
        id: TransactionId,
        options: TransactionOptions,
        snapshot: CommitNumber,
        cancel: Arc<CancelFlag>,
    ) -> Transaction {
        store.inner.registry.begin(id, options, snapshot);
        store.inner.locks.begin(id, &cancel);
        let tally = Arc::default();
        let mut core = Core::new(id, snapshot, options.ignore_limbo, &tally);
        if options.isolation != Isolation::ReadCommitted {
            core.held = Some(PinnedSnapshot::new(&store.inner, snapshot));
        }
        Transaction {
            store,
            options,
            cancel,
            touched: TouchedShards::default(),
            live: Arc::default(),
            session: None,
            instances: InstanceMap::default(),
            tally,
            core: Mutex::new(Some(core)),
        }
    }

    pub(crate) fn core(&self) -> Result<MappedMutexGuard<'_, Core>> {
        let core = MutexGuard::try_map(self.core.lock(), Option::as_mut);
        let mut core = core.map_err(|_| StoreError::TransactionEnded)?;
        if core.is_lost(&self.store.inner) {
            return Err(StoreError::Reopened);
        }
        core.failures = self.store.inner.failures();
        Ok(core)
    }

    /// Its number; 0 once it has ended.
    pub fn id(&self) -> TransactionId {
        self.core.lock().as_ref().map_or(TransactionId(0), |core| core.id)
    }

    /// Whether nothing can be done in it any more but to roll it back: a write has failed, its own or another's, that may
    /// have undone some of its work.
    pub fn is_lost(&self) -> bool {
        self.core.lock().as_ref().is_none_or(|core| core.is_lost(&self.store.inner))
    }

    /// Whether there is something to be committed.
    pub fn has_changes(&self) -> bool {
        self.core.lock().as_ref().is_some_and(Core::has_changes)
    }

    /// Has it count into the tally of the one that it is made for: of an autonomous transaction.
    #[must_use]
    pub fn counted_by(mut self, tally: &Arc<Tally>) -> Transaction {
        self.tally = Arc::clone(tally);
        if let Some(core) = self.core.get_mut() {
            core.pending = Pending::new(Arc::clone(tally));
        }
        self
    }

    /// What it does with rows.
    pub fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// A run begins: what was counted before does not belong to it.
    pub fn begin_run(&self) {
        // What this thread has done with pages since the last run was for others.
        page_work::take();
        self.hand_over_counts();
        self.tally.begin_run();
    }

    /// Tells the tally all that was counted by now.
    pub fn hand_over_counts(&self) {
        if let Some(core) = self.core.lock().as_mut() {
            core.pending.hand_over();
        }
    }

    /// A run that began with [`Transaction::begin_run`] has ended: `taken` is shown what was counted in it, if there is something.
    pub fn end_run(&self, taken: impl FnOnce(&Counted)) {
        if let Some(core) = self.core.lock().as_mut() {
            core.pending.end_run(taken);
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How it was begun.
    pub fn options(&self) -> TransactionOptions {
        self.options
    }

    /// The flag that interrupts it.
    pub fn cancel_flag(&self) -> &Arc<CancelFlag> {
        &self.cancel
    }

    /// The commit number that it reads as of; for READ COMMITTED the latest view's.
    pub fn snapshot(&self) -> CommitNumber {
        self.core.lock().as_ref().map_or(CommitNumber(0), |core| core.snapshot)
    }

    /// Takes the view of a statement.
    pub fn view(&self) -> Result<ReadView> {
        let mut core = self.core()?;
        let change = core.writes.mark();
        self.live.hold(change, 1);
        Ok(self.view_at(&mut core, change))
    }

    /// Takes the view of a statement, and a savepoint at the same moment, to go back to if the statement fails.
    pub fn begin_statement(&self) -> Result<(ReadView, Savepoint)> {
        let mut core = self.core()?;
        let change = core.writes.begin_statement(&self.live);
        Ok((self.view_at(&mut core, change), Savepoint(change)))
    }

    /// A view as of now and of own changes up to a number, which is held already.
    fn view_at(&self, core: &mut Core, change: u64) -> ReadView {
        if let Some(held) = &core.held {
            return ReadView::new(Arc::clone(held), &self.live, core.id, change);
        }
        let inner = &self.store.inner;
        let held = inner.with_published(|published| PinnedSnapshot::new(inner, published));
        let view = ReadView::new(held, &self.live, core.id, change);
        self.note_snapshot(core, view.commit_number());
        view
    }

    /// A view of all that is committed by now, whatever the transaction's snapshot.
    fn latest_view(&self, core: &mut Core) -> ReadView {
        let change = core.writes.mark();
        self.live.hold(change, 1);
        let inner = &self.store.inner;
        let held = inner.with_published(|published| PinnedSnapshot::new(inner, published));
        ReadView::new(held, &self.live, core.id, change)
    }

    /// Notes what a READ COMMITTED transaction reads as of from now on.
    fn note_snapshot(&self, core: &mut Core, snapshot: CommitNumber) {
        if core.snapshot != snapshot {
            core.snapshot = snapshot;
            self.store.inner.registry.set_snapshot(core.id, snapshot);
        }
    }

    /// As [`Transaction::view`]; `at_snapshot` runs with its number while no commit can be published, so that the
    /// engine can take the catalog that belongs to it.
    pub fn view_with<T>(&self, at_snapshot: impl FnOnce(CommitNumber) -> T) -> Result<(ReadView, T)> {
        let inner = &self.store.inner;
        let mut core = self.core()?;
        let change = core.writes.mark();
        self.live.hold(change, 1);
        let (held, taken) = inner.with_published(|published| match &core.held {
            Some(held) => (Arc::clone(held), at_snapshot(core.snapshot)),
            None => (PinnedSnapshot::new(inner, published), at_snapshot(published)),
        });
        let view = ReadView::new(held, &self.live, core.id, change);
        self.note_snapshot(&mut core, view.commit_number());
        Ok((view, taken))
    }

    /// A view of the same commits as another one, which sees this transaction's own changes up to now: for the next
    /// statement inside a statement (PSQL), whatever the isolation level.
    pub fn view_again(&self, view: &ReadView) -> Result<ReadView> {
        let mut core = self.core()?;
        let change = core.writes.mark();
        self.live.hold(change, 1);
        Ok(ReadView::new(Arc::clone(view.held_snapshot()), &self.live, core.id, change))
    }

    /// Marks this moment, to be able to undo what follows. Cheap.
    pub fn savepoint(&self) -> Savepoint {
        let mut core = self.core.lock();
        Savepoint(core.as_mut().map_or(0, |core| core.writes.begin_savepoint(&self.live)))
    }

    /// Undoes all changes since the savepoint and ends it and those taken after it. Rows that were locked since are free
    /// again; locks of relations are kept, and those of a transaction that was so large that it was spilled.
    ///
    /// Where a failed write has taken the transaction away there is nothing left to undo, and nothing fails: the error
    /// that led here tells more than another one would. All that is still tried in the transaction fails.
    pub fn rollback_to(&self, savepoint: Savepoint) -> Result<()> {
        self.undo(savepoint, false)
    }

    /// As [`Transaction::rollback_to`], but rows stay locked: what was done is going to be done again.
    pub fn rollback_to_locked(&self, savepoint: Savepoint) -> Result<()> {
        self.undo(savepoint, true)
    }

    fn undo(&self, savepoint: Savepoint, keep_locks: bool) -> Result<()> {
        if self.is_lost() {
            return Ok(());
        }
        let mut core = self.core()?;
        let pending = &self.store.inner.pending_keys;
        let undone = core.writes.undo(savepoint.0, |index, entry| pending.remove(index, entry));
        let Undone { spilled, locks, rows } = undone;
        for (relation, rows) in rows {
            core.count(relation, RecordCounter::Backouts, rows);
        }
        self.take_back(&mut core, spilled, savepoint.0)?;
        self.hide_undone(&mut core, savepoint.0);
        core.blobs.undo(savepoint.0);
        core.events.undo(savepoint.0);
        let kept = core.ddl.partition_point(|(change, _)| *change <= savepoint.0);
        for (_, change) in core.ddl.split_off(kept) {
            change.abandon(&self.store.inner)?;
        }
        core.writes.end_savepoint(savepoint.0, &self.live);
        self.store.inner.locks.take_back(&locks, core.id, keep_locks);
        Ok(())
    }

    /// Ends the savepoint and those taken after it; the changes stay.
    pub fn release(&self, savepoint: Savepoint) {
        if let Some(core) = self.core.lock().as_mut() {
            core.writes.end_savepoint(savepoint.0, &self.live);
        }
    }

    /// Locks a relation until the end of the transaction, waiting as the transaction's parameters say.
    /// Asking again for more strengthens the lock.
    pub fn lock_relation(&self, relation: RelationId, level: LockLevel) -> Result<()> {
        self.core()?.reserved_to_read.remove(&relation);
        self.strengthen_lock(relation, level)
    }

    fn strengthen_lock(&self, relation: RelationId, level: LockLevel) -> Result<()> {
        let id = {
            let core = self.core()?;
            if core.levels.get(&relation).is_some_and(|levels| levels.include(level)) {
                return Ok(());
            }
            core.id
        };
        let levels = self.store.inner.locks.lock_relation(relation, level, &mut self.waiter(id))?;
        self.core()?.levels.insert(relation, levels);
        Ok(())
    }

    /// Locks a relation as RESERVING asks for it.
    ///
    /// As in Firebird a transaction has one lock on a table, whose levels are ordered: none, PROTECTED READ, SHARED WRITE,
    /// PROTECTED WRITE. A reserved PROTECTED READ is therefore gone with the first write, which needs SHARED WRITE.
    pub fn reserve_relation(&self, relation: RelationId, level: LockLevel) -> Result<()> {
        let is_first = !self.core()?.levels.contains_key(&relation);
        self.lock_relation(relation, level)?;
        if is_first && level == LockLevel::ProtectedRead {
            self.core()?.reserved_to_read.insert(relation);
        }
        Ok(())
    }

    /// Locks a relation for a write in this layout.
    ///
    /// # Errors
    /// `LayoutChanged` if others have committed another layout since this one was taken: its rows would lack the keys of
    /// new indexes.
    fn lock_to_write(&self, layout: &RelationLayout) -> Result<()> {
        self.lock_latest(layout, self.write_level())
    }

    /// As [`Transaction::lock_to_write`], at another level.
    fn lock_latest(&self, layout: &RelationLayout, level: LockLevel) -> Result<()> {
        let core = self.core()?;
        let knows_layout = core.known_layouts.contains(&layout.id);
        if knows_layout && core.levels.get(&layout.id).is_some_and(|levels| levels.include(level)) {
            return Ok(());
        }
        drop(core);
        self.lock_for_writes(layout.id, level)?;
        let mut core = self.core()?;
        if knows_layout {
            return Ok(());
        }
        // Whoever adds an index locks out writers, so from here on the layout stays as it is.
        match self.store.inner.check_layout(layout)? {
            LayoutCheck::Latest => drop(core.known_layouts.insert(layout.id)),
            LayoutCheck::Unregistered => {}
        }
        Ok(())
    }

    /// Locks a relation at the level of a write. A PROTECTED READ that was only reserved goes (see `reserve_relation`).
    fn lock_for_writes(&self, relation: RelationId, level: LockLevel) -> Result<()> {
        self.strengthen_lock(relation, level)?;
        let mut core = self.core()?;
        if core.reserved_to_read.remove(&relation) {
            let levels = self.store.inner.locks.give_back(relation, LockLevel::ProtectedRead, core.id);
            core.levels.insert(relation, levels);
        }
        Ok(())
    }

    /// The lock under which it writes to a relation.
    fn write_level(&self) -> LockLevel {
        match self.options.isolation {
            Isolation::TableStability => LockLevel::ProtectedWrite,
            Isolation::Snapshot | Isolation::ReadCommitted => LockLevel::SharedWrite,
        }
    }

    /// Locks a relation for a read: under TABLE STABILITY nobody else may write to it from then on.
    pub(crate) fn lock_to_read(&self, relation: RelationId) -> Result<()> {
        match self.options.isolation {
            Isolation::TableStability => {
                let level = LockLevel::SharedWrite;
                let is_reserved =
                    self.core()?.levels.get(&relation).is_some_and(|levels| levels.include(level));
                // Who has reserved it for writing with others reads what they write (see `reserve_relation`).
                if is_reserved { Ok(()) } else { self.lock_relation(relation, LockLevel::ProtectedRead) }
            }
            Isolation::Snapshot | Isolation::ReadCommitted => Ok(()),
        }
    }

    /// Notes that this transaction's own DDL has changed the relation, whose layouts from now on are not those that are
    /// registered. To be called with the relation's catalog entry written, which keeps others from changing it.
    pub fn note_own_layout(&self, relation: RelationId) -> Result<()> {
        self.core()?.known_layouts.insert(relation);
        Ok(())
    }

    /// Notes an event that others are to be told of when this transaction commits; going back to a savepoint takes it back.
    /// Gives false if the transaction has posted too many different ones (65,536).
    ///
    /// # Errors
    /// The transaction has ended or is lost.
    pub fn post_event(&self, name: &str) -> Result<bool> {
        let mut core = self.core()?;
        let core = &mut *core;
        Ok(core.events.post(name, core.writes.now(), core.writes.savepoints()))
    }

    /// The events that others are to be told of if this transaction commits, with how often each was posted.
    pub fn posted_events(&self) -> Vec<(Arc<str>, u32)> {
        self.core.lock().as_ref().map_or_else(Vec::new, |core| core.events.counts())
    }

    fn waiter(&self, id: TransactionId) -> Waiter<'_> {
        self.waiter_for(id, self.options.wait)
    }

    fn waiter_for(&self, id: TransactionId, wait: Wait) -> Waiter<'_> {
        Waiter::new(id, wait, &self.cancel, &self.touched).ignoring_limbo(self.options.ignore_limbo)
    }

    /// As [`Transaction::check_writable`], for rows of a relation: those of temporary ones may be written by whoever may only read.
    fn check_writable_rows(&self, layout: &RelationLayout) -> Result<()> {
        if layout.temporary.is_some() || layout.id.is_instance() {
            return self.cancel.check();
        }
        self.check_writable()
    }

    fn check_writable(&self) -> Result<()> {
        self.cancel.check()?;
        match self.options.access {
            Access::ReadOnly => Err(StoreError::ReadOnly),
            Access::ReadWrite => Ok(()),
        }
    }

    /// Names its next commit: [`Store::commit_outcome`] tells what became of it. A commit that changes nothing and posts no events
    /// leaves none.
    ///
    /// # Errors
    /// [`StoreError::TransactionEnded`].
    pub fn name_commit(&self, name: CommitName) -> Result<()> {
        let name = NamedCommit { name, tells_all: true };
        self.core.lock().as_mut().ok_or(StoreError::TransactionEnded)?.name = Some(name);
        Ok(())
    }

    /// Something that belongs to its next commit is decided behind it: if that has a name, nobody can tell what became of it once it
    /// is on the disk.
    ///
    /// # Errors
    /// [`StoreError::TransactionEnded`].
    pub fn goes_on_behind_commit(&self) -> Result<()> {
        if let Some(name) = &mut self.core.lock().as_mut().ok_or(StoreError::TransactionEnded)?.name {
            name.tells_all = false;
        }
        Ok(())
    }

    /// Commits.
    ///
    /// # Durability
    /// Everything is on the disk when this returns. An error means that the commit did not happen, and the transaction is
    /// rolled back.
    pub fn commit(self) -> Result<CommitNumber> {
        self.commit_with(|_| ())
    }

    /// As [`Transaction::commit`]; `publish` runs with the commit's number before any other transaction can see the
    /// commit or take a newer snapshot (it may run on another thread, and must not call the store's transactions).
    ///
    /// # Errors
    /// The commit did not happen: the transaction is [lost](Transaction::is_lost), and keeps its locks until it is rolled
    /// back or dropped.
    pub fn commit_with(&self, publish: impl FnOnce(CommitNumber) + Send + 'static) -> Result<CommitNumber> {
        let mut core = self.core.lock().take().ok_or(StoreError::TransactionEnded)?;
        self.note_instances_in_file(&core);
        self.forget_temporary_rows(&mut core);
        let outcome = self.write_commit(&mut core, Box::new(publish));
        match outcome {
            Ok(_) => self.finish_whole(core),
            Err(_) => *self.core.lock() = Some(core),
        }
        outcome
    }

    /// Commits and goes on under a new number with the same options and snapshot (COMMIT RETAIN).
    pub fn commit_retaining(&self) -> Result<CommitNumber> {
        self.commit_retaining_with(|_| ())
    }

    /// As [`Transaction::commit_retaining`], with `publish` as in [`Transaction::commit_with`].
    pub fn commit_retaining_with(
        &self,
        publish: impl FnOnce(CommitNumber) + Send + 'static,
    ) -> Result<CommitNumber> {
        let mut slot = self.core.lock();
        let mut core = slot.take().ok_or(StoreError::TransactionEnded)?;
        let mut next = match self.next_core(&core) {
            Ok(next) => next,
            Err(error) => {
                *slot = Some(core);
                return Err(error);
            }
        };
        self.note_instances_in_file(&core);
        // Temporary rows that last as long as the transaction go on with it: from here on they are in the file.
        self.instances.note_in_file(|_| true);
        let writes = core.has_changes();
        let inner = Arc::clone(&self.store.inner);
        let publish = move |number| {
            if writes {
                // What it wrote itself it goes on seeing, even if others change it again.
                inner.registry.hold(number);
            }
            publish(number);
        };
        match self.write_commit(&mut core, Box::new(publish)) {
            Ok(number) => {
                if writes {
                    next.own_commits.push(number);
                }
                self.finish(core);
                *slot = Some(next);
                Ok(number)
            }
            Err(error) => {
                self.finish(next);
                *slot = Some(core);
                Err(error)
            }
        }
    }

    /// Undoes everything.
    pub fn rollback(self) -> Result<()> {
        let core = self.core.lock().take().ok_or(StoreError::TransactionEnded)?;
        self.finish_whole(core);
        Ok(())
    }

    /// Undoes everything and goes on under a new number with the same options and snapshot (ROLLBACK RETAIN).
    pub fn rollback_retaining(&self) -> Result<()> {
        let mut slot = self.core.lock();
        let core = slot.take().ok_or(StoreError::TransactionEnded)?;
        let next = match self.next_core(&core) {
            Ok(next) => next,
            Err(error) => {
                *slot = Some(core);
                return Err(error);
            }
        };
        self.note_instances_in_file(&core);
        self.finish(core);
        *slot = Some(next);
        Ok(())
    }

    /// The beginning of a transaction that goes on where `core` stops.
    fn next_core(&self, core: &Core) -> Result<Core> {
        let inner = &self.store.inner;
        let id = inner.next_transaction()?;
        inner.registry.begin(id, self.options, core.snapshot);
        inner.locks.begin(id, &self.cancel);
        let mut next = Core::new(id, core.snapshot, core.ignores_limbo, &self.tally);
        next.held.clone_from(&core.held);
        next.own_commits.clone_from(&core.own_commits);
        for own in &next.own_commits {
            inner.registry.hold(*own);
        }
        next.writes = WriteSet::after(&core.writes);
        Ok(next)
    }

    /// Writes what a transaction has changed; if that fails nothing more can be done in it.
    fn write_commit(&self, core: &mut Core, publish: crate::commit::Publish) -> Result<CommitNumber> {
        let inner = &self.store.inner;
        if core.has_failed {
            return Err(StoreError::Reopened);
        }
        // What others are told of has happened as well as what is written.
        let is_told = self.options.access == Access::ReadWrite && !core.events.is_empty();
        let leaves_name = core.name.is_some_and(|name| is_told || !name.tells_all);
        let outcome = if core.has_changes() || leaves_name {
            let changed = Changed::of_all(core);
            let is_catalog_changed = core.writes.has_catalog_changes();
            let prepared = CommitContent::take(core, inner).prepare();
            page_work::has_marked(prepared.as_ref().map_or(0, PreparedCommit::key_count));
            let publish = spill::publish(inner, core, publish);
            let book = Arc::clone(inner);
            let publish = move |number| {
                book.statistics.note(&changed);
                if let Some(listener) = book.listener.get() {
                    let relations: Vec<RelationId> = changed.iter().map(|(relation, _)| *relation).collect();
                    listener.committed(number, &relations, is_catalog_changed);
                }
                publish(number);
            };
            let (failures, name, at) = (core.failures, core.name.take(), Arc::clone(inner));
            let build = move |number, batch: &mut WriteBatch| match failures == at.failures() {
                true => {
                    let content = prepared?.stamp(number);
                    if let Some(name) = name {
                        at.named_commits.write(number, name, batch)?;
                    }
                    batch.append(content);
                    Ok(())
                }
                false => Err(StoreError::Reopened),
            };
            inner.commit(Box::new(build), Box::new(publish))
        } else {
            let published = inner.publication();
            publish(*published);
            Ok(*published)
        };
        match outcome {
            Ok(_) => {
                core.blobs.forget_adopted();
                core.ddl.clear();
                core.spilled.clear();
            }
            Err(_) => core.has_failed = true,
        }
        outcome
    }

    /// Frees all that it held, and the temporary rows that last as long as it.
    fn finish_whole(&self, core: Core) {
        self.note_instances_in_file(&core);
        self.finish(core);
        self.instances.end(&self.store.inner);
    }

    /// Frees all that a transaction held, whether it was committed or not.
    fn finish(&self, mut core: Core) {
        let inner = &self.store.inner;
        core.count_backouts();
        core.writes.end_savepoint(0, &self.live);
        let uncommitted = std::mem::take(&mut core.writes.entries);
        for (index, entries) in uncommitted.iter().chain(core.committed_entries.iter()) {
            inner.pending_keys.remove_of_ended(*index, core.id, entries);
        }
        // What cannot be removed now stays under its mark until the next open.
        if let Err(error) = spill::roll_back(inner, &core) {
            tracing::warn!(%error, "cannot remove spilled rows");
        }
        if let Err(error) = core.blobs.discard(inner) {
            tracing::warn!(%error, "cannot remove temporary blobs");
        }
        for (_, change) in core.ddl.drain(..) {
            if let Err(error) = change.abandon(inner) {
                tracing::warn!(%error, "cannot remove an unfinished index");
            }
        }
        inner.locks.end(core.id, &self.touched);
        for (relation, reservations) in core.row_numbers.drain() {
            for Reservation { start, unused } in reservations.into_iter().rev() {
                inner.row_numbers.release(relation, start, unused);
            }
        }
        inner.registry.end(core.id);
        for own in core.own_commits {
            inner.registry.release(own);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(core) = self.core.lock().take() {
            self.finish_whole(core);
        }
    }
}
