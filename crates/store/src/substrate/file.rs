//! The default substrate: redb, one file, one table per space. Why redb: docs/store.md, "Substrate".
//!
//! redb stands on [`CheckedPages`], so what it reads is sound; its errors and panics end here ([`fault::catch`]).
//!
//! # Failures
//! - A read that fails is an error of that read; nothing else is touched.
//! - After a failed write redb refuses everything. [`Substrate::reopen`] opens it again on the same storage: at the latest
//!   durable state, to be written to if the storage can be, else over an [`Overlay`] that takes no more than redb's own
//!   housekeeping.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, RwLock};
use redb::{
    BackendError, Builder, CompactionError, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase,
    ReadableTable, ReadableTableMetadata, StorageBackend, TableDefinition, TableError, TableHandle,
    WriteTransaction,
    backends::{FileBackend, InMemoryBackend},
};

use super::fault;
use super::leaf_tables::{RedbLeafTable, RedbLeaves, pack_single_entries};
use super::leaves::{self, LeafScan, Limits, RecentLeaf};
use super::overlay::Overlay;
use super::pages::{Candidates, CheckedPages, HeadState, SyncedHeader, damaged_page};
use super::{
    Direction, Durability, Entries, KeyBounds, KeyChange, KeyRoom, KeySpan, Reopened, Slice, SortedBatch,
    Space, Substrate, SubstrateState, VisitKey, WriteBatch, is_empty_span, sorted_changes, visit_entries,
};
use crate::identifiers::IdMap;
use crate::{Result, StoreError};

/// A redb database, in a file or on another storage backend.
#[derive(Debug)]
pub struct RedbSubstrate {
    file: Arc<dyn StorageBackend>,
    cache_bytes: usize,
    /// Empty only if opening it again has failed.
    open: RwLock<Option<Open>>,
    /// Where opening it again begins.
    synced: Mutex<Option<SyncedHeader>>,
    /// Whether redb must be opened again before it can be written to.
    broken: AtomicBool,
    limits: Limits,
}

#[derive(Debug)]
struct Open {
    database: Database,
    pages: CheckedPages,
    writable: bool,
}

impl RedbSubstrate {
    /// Creates the file.
    ///
    /// # Errors
    /// `Exists` if there is one already.
    pub fn create(path: &Path, cache_bytes: usize) -> Result<RedbSubstrate> {
        let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists,
            _ => error.into(),
        })?;
        RedbSubstrate::on_backend(FileBackend::new(file).map_err(failed)?, cache_bytes)
    }

    /// Opens a file, repairing it if it was not closed.
    pub fn open(path: &Path, cache_bytes: usize) -> Result<RedbSubstrate> {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() == 0 {
            return Err(StoreError::WrongKind(crate::FileKind::Empty));
        }
        RedbSubstrate::on_backend(FileBackend::new(file).map_err(failed)?, cache_bytes)
    }

    /// A substrate without a file.
    pub fn in_memory(cache_bytes: usize) -> Result<RedbSubstrate> {
        RedbSubstrate::on_backend(InMemoryBackend::new(), cache_bytes)
    }

    /// A substrate on another storage, created there if it is empty: tests own the disk that way.
    pub fn on_backend(backend: impl StorageBackend, cache_bytes: usize) -> Result<RedbSubstrate> {
        let file: Arc<dyn StorageBackend> = Arc::new(backend);
        lock(&*file)?;
        let open = open_database(&file, None, cache_bytes, true)?;
        pack_single_entries(&open.database)?;
        let open = RwLock::new(Some(open));
        let synced = Mutex::default();
        let limits = Limits::default();
        Ok(RedbSubstrate { file, cache_bytes, open, synced, broken: AtomicBool::new(false), limits })
    }

    /// Makes leaves of indexes so small from now on that they split and join all the time: for tests.
    pub fn keep_leaves_small(&mut self) {
        self.limits = Limits { leaf_bytes: 160, group_entries: 4 };
    }

    #[cfg(test)]
    pub(super) fn with_database(&self, run: impl FnOnce(&Database)) {
        run(&self.open.read().as_ref().expect("open").database);
    }

    /// Merges what was acknowledged elsewhere (in the commit log) also over a storage that is not written to: it stays
    /// in memory then.
    pub(crate) fn write_relaxed_anyway(&self, batch: WriteBatch) -> Result<()> {
        match self.open.read().as_ref() {
            Some(open) => self.write_to(open, batch, Durability::Relaxed),
            None => Err(StoreError::Poisoned),
        }
    }

    /// Whether it can be written to.
    pub(crate) fn is_writable(&self) -> bool {
        self.open.read().as_ref().is_some_and(|open| open.writable)
    }

    fn write_to(&self, open: &Open, batch: WriteBatch, durability: Durability) -> Result<()> {
        let before = open.pages.synced_header();
        let transaction = fault::catch(|| open.database.begin_write().map_err(failed))
            .inspect_err(|_| self.broken.store(true, Ordering::SeqCst))?;
        let applied = fault::catch(|| apply(&transaction, batch, self.limits));
        // A commit that fails half-way may or may not be in the file; what fails before it is not, and redb goes on
        // unless it was a write.
        let ended = fault::catch(|| match applied {
            Ok(()) => {
                let mut transaction = transaction;
                transaction.set_durability(redb_durability(durability)).map_err(failed)?;
                // The pages are synced before the header leads to them, with the list of free pages: an open after a
                // crash has nothing to look for. It costs a second flush, but only in the checkpoints of the log.
                transaction.set_quick_repair(durability != Durability::Relaxed);
                transaction.commit().map_err(failed)
            }
            Err(_) => transaction.abort().map_err(failed),
        });
        if ended.is_err() {
            self.broken.store(true, Ordering::SeqCst);
            // What fails behind the last sync of a commit does not undo it.
            if applied.is_ok() && before.is_followed_by_commit(&open.pages.synced_header()) {
                return Ok(());
            }
        }
        applied.and(ended)
    }

    /// Moves what stands at the end of the file into free room before it, and gives the end back; false if there was
    /// nothing to gain. Snapshots must be gone. A crash leaves the database as it was, or in part moved.
    pub(crate) fn compact(&self) -> Result<bool> {
        let mut open = self.open.write();
        let Some(Open { database, .. }) = open.as_mut() else { return Err(StoreError::Poisoned) };
        fault::catch(|| {
            database.compact().map_err(|error| match error {
                CompactionError::TransactionInProgress => StoreError::InUse,
                other => failed(other),
            })
        })
    }

    /// Compares the checksums of all pages that are in use, ours and redb's own, and redb's list of free pages; says what
    /// is wrong. Snapshots must be gone.
    pub(crate) fn check_pages(&self) -> Result<Vec<String>> {
        let mut open = self.open.write();
        let Some(Open { database, pages, .. }) = open.as_mut() else { return Err(StoreError::Poisoned) };
        let mut wrong = Vec::new();
        if pages.head_is_damaged() {
            wrong.push("one of the two copies of the head is damaged; the other one is used".to_owned());
        }
        pages.collect_suspects();
        let checked = fault::catch(|| database.check_integrity().map_err(failed));
        wrong.extend(pages.suspects().into_iter().map(damaged_page));
        // What is looked at from here on is compared again.
        pages.abandon_recovery();
        match checked {
            Ok(true) => {}
            Ok(false) => {
                wrong.push("the list of free pages or a count does not agree with the rest".to_owned())
            }
            Err(StoreError::Corrupt { what }) => wrong.push(what),
            Err(error) => return Err(error),
        }
        Ok(wrong)
    }
}

impl Drop for RedbSubstrate {
    fn drop(&mut self) {
        close(self.open.write().take());
        // Snapshots may keep the storage; nobody shall have to wait for them.
        let _ = self.file.close();
    }
}

/// Drops a database; what its last writes meet is told by the next open.
fn close(open: Option<Open>) {
    let closed = fault::catch(|| {
        drop(open);
        Ok(())
    });
    if let Err(error) = closed {
        tracing::warn!(%error, "the database file was not closed in order; its next open repairs it");
    }
}

/// Locks the storage, where it knows locks.
fn lock(file: &dyn StorageBackend) -> Result<()> {
    match file.try_lock_range(Bound::Unbounded, Bound::Unbounded) {
        Ok(true) | Err(BackendError::Unsupported) => Ok(()),
        Ok(false) => Err(StoreError::InUse),
        Err(BackendError::Io(error)) => Err(error.into()),
        Err(other) => Err(io::Error::other(other.to_string()).into()),
    }
}

/// Lets redb open what is there, or create it on an empty storage.
///
/// `synced`: the header to begin with, after a failed write; else that of the file.
fn open_database(
    file: &Arc<dyn StorageBackend>,
    synced: Option<&SyncedHeader>,
    cache_bytes: usize,
    writable: bool,
) -> Result<Open> {
    let pages = || match synced {
        None => CheckedPages::new(Arc::clone(file)),
        Some(synced) => CheckedPages::as_synced(Arc::clone(file), synced),
    };
    let strict = pages()?;
    if strict.head() == HeadState::Unfinished {
        return Err(StoreError::corrupt("the creation of this database was interrupted: delete the file"));
    }
    if strict.head_is_damaged() {
        tracing::warn!("one of the two copies of the file's head is damaged; the other one is used");
    }
    let database = match open_pages(&strict, Candidates::LatestOrBefore, cache_bytes) {
        // After a crash pages may be newer than their checksums: redb has to look at its own.
        Err(StoreError::Corrupt { .. }) => return recover_database(pages()?, cache_bytes, writable),
        opened => opened?,
    };
    Ok(Open { database, pages: strict, writable })
}

/// Opens a database after a crash that has left pages which do not fit their checksums.
fn recover_database(pages: CheckedPages, cache_bytes: usize, writable: bool) -> Result<Open> {
    let candidates = pages.begin_recovery();
    let opened = open_pages(&pages, candidates, cache_bytes);
    let database = opened.map_err(|error| match (error, pages.suspects().first()) {
        (StoreError::Corrupt { what }, Some(page)) => {
            StoreError::Corrupt { what: format!("{}; {what}", damaged_page(*page)) }
        }
        (error, _) => error,
    })?;
    pages.end_recovery()?;
    Ok(Open { database, pages, writable })
}

fn open_pages(pages: &CheckedPages, candidates: Candidates, cache_bytes: usize) -> Result<Database> {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    builder.set_repair_callback({
        let pages = pages.clone();
        move |session| {
            let percent = (100.0 * session.progress()).round();
            tracing::info!(percent, "the database was not closed: comparing the checksums of its pages");
            // Between the first and the second look redb goes back by a commit.
            if !(0.2..0.5).contains(&session.progress()) {
                return;
            }
            if candidates == Candidates::Latest {
                session.abort();
            } else {
                tracing::warn!("the last commit had not reached the disk whole; the one before it is taken");
                pages.forget_suspects();
            }
        }
    });
    fault::catch(|| builder.create_with_backend(pages.clone()).map_err(failed))
}

/// The one place where redb's errors become ours.
pub(super) fn failed(error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        redb::Error::Io(error) => error.into(),
        redb::Error::DatabaseAlreadyOpen => StoreError::InUse,
        redb::Error::RepairAborted => {
            StoreError::corrupt("what the last commit wrote was damaged after it had reached the disk")
        }
        redb::Error::Corrupted(what) => StoreError::Corrupt { what },
        redb::Error::PreviousIo => StoreError::Poisoned,
        redb::Error::DatabaseClosed => StoreError::Reopened,
        other => StoreError::Io(io::Error::other(other)),
    }
}

pub(super) type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// A table of a state.
pub(super) struct OpenTable {
    /// Dropped before the table, which keeps its page from being used again.
    pub(super) recent: RecentLeaf,
    pub(super) table: Table,
}
pub(super) type WriteTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

pub(super) fn table_name(space: Space) -> String {
    let mut name = String::new();
    let written = match space {
        Space::Meta => write!(name, "meta"),
        Space::Catalog => write!(name, "catalog"),
        Space::Sequences => write!(name, "sequences"),
        Space::Blobs => write!(name, "blobs"),
        Space::BlobPages => write!(name, "blob pages"),
        Space::BlobReferences => write!(name, "blob references"),
        Space::Versions(relation) => write!(name, "versions/{}", relation.0),
        Space::Changes(relation) => write!(name, "changes/{}", relation.0),
        Space::Blocks(relation) => write!(name, "blocks/{}", relation.0),
        Space::Index(index) => write!(name, "leaves/{}", index.0),
    };
    written.expect("writing to a string does not fail");
    name
}

impl Substrate for RedbSubstrate {
    fn snapshot(&self) -> Result<Arc<dyn SubstrateState>> {
        let open = self.open.read();
        let Some(open) = open.as_ref() else { return Err(StoreError::Poisoned) };
        let transaction = fault::catch(|| open.database.begin_read().map_err(failed))?;
        Ok(Arc::new(RedbState { transaction, tables: Mutex::default(), bounds: Mutex::default() }))
    }

    fn write(&self, batch: WriteBatch, durability: Durability) -> Result<()> {
        let open = self.open.read();
        match open.as_ref().filter(|open| open.writable) {
            Some(open) => self.write_to(open, batch, durability),
            None => Err(StoreError::Poisoned),
        }
    }

    fn unknown_spaces(&self, known: &HashSet<Space>) -> Result<Vec<(String, u64)>> {
        let known: HashSet<String> = known.iter().map(|space| table_name(*space)).collect();
        let open = self.open.read();
        let Some(open) = open.as_ref() else { return Err(StoreError::Poisoned) };
        fault::catch(|| {
            let transaction = open.database.begin_read().map_err(failed)?;
            let mut unknown = Vec::new();
            for table in transaction.list_tables().map_err(failed)? {
                if known.contains(table.name()) {
                    continue;
                }
                let name = table.name().to_owned();
                let stats = transaction.open_untyped_table(table).map_err(failed)?.stats().map_err(failed)?;
                unknown
                    .push((name, stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes()));
            }
            Ok(unknown)
        })
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    fn reopen(&self) -> Result<Reopened> {
        let mut open = self.open.write();
        let mut synced = self.synced.lock();
        if let Some(opened) = open.take() {
            let pages = opened.pages.clone();
            let was_writable = opened.writable;
            close(Some(opened));
            if was_writable {
                *synced = Some(pages.synced_header());
            }
        }
        let failure = match open_database(&self.file, synced.as_ref(), self.cache_bytes, true) {
            Ok(opened) => {
                *open = Some(opened);
                self.broken.store(false, Ordering::SeqCst);
                return Ok(Reopened::Writable);
            }
            Err(failure) => failure,
        };
        tracing::warn!(error = %failure, "the database can only be read for now");
        let overlay: Arc<dyn StorageBackend> = Arc::new(Overlay::new(Arc::clone(&self.file))?);
        *open = Some(open_database(&overlay, synced.as_ref(), self.cache_bytes, false)?);
        Ok(Reopened::ReadOnly)
    }
}

fn redb_durability(durability: Durability) -> redb::Durability {
    match durability {
        Durability::Durable | Durability::Checkpoint => redb::Durability::Immediate,
        Durability::Relaxed => redb::Durability::None,
    }
}

fn apply(transaction: &WriteTransaction, batch: WriteBatch, limits: Limits) -> Result<()> {
    let SortedBatch { cleared, spaces, appended } = batch.into_sorted();
    for space in cleared {
        let name = table_name(space);
        transaction.delete_table(TableDefinition::<&[u8], &[u8]>::new(&name)).map_err(failed)?;
    }
    for (space, changes) in spaces {
        let name = table_name(space);
        let mut table =
            transaction.open_table(TableDefinition::<&[u8], &[u8]>::new(&name)).map_err(failed)?;
        if is_packed(space) {
            leaves::apply(&mut RedbLeafTable(table), &latest_of_each(changes), limits)?;
            continue;
        }
        sorted_changes::apply(&mut table, &changes)?;
    }
    for (index, entries) in appended {
        let name = table_name(Space::Index(index));
        let table = transaction.open_table(TableDefinition::<&[u8], &[u8]>::new(&name)).map_err(failed)?;
        leaves::append(&mut RedbLeafTable(table), &entries, limits)?;
    }
    Ok(())
}

/// Of the changes of each key the latest; they are in order.
fn latest_of_each(mut changes: Vec<KeyChange>) -> Vec<KeyChange> {
    // What goes is the later one: so it gets the place of the earlier one first.
    changes.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            std::mem::swap(later, earlier);
        }
        is_same
    });
    changes
}

struct RedbState {
    transaction: ReadTransaction,
    /// Opened tables; `None`: there is no such table.
    tables: Mutex<IdMap<Space, Option<Arc<OpenTable>>>>,
    bounds: Mutex<IdMap<Space, Option<Arc<KeyBounds>>>>,
}

impl RedbState {
    fn table(&self, space: Space) -> Result<Option<Arc<OpenTable>>> {
        let mut tables = self.tables.lock();
        if let Some(table) = tables.get(&space) {
            return Ok(table.clone());
        }
        let name = table_name(space);
        let definition = TableDefinition::<&[u8], &[u8]>::new(&name);
        let table = fault::catch(|| match self.transaction.open_table(definition) {
            Ok(table) => Ok(Some(Arc::new(OpenTable { recent: RecentLeaf::default(), table }))),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(failed(error)),
        })?;
        tables.insert(space, table.clone());
        Ok(table)
    }
}

impl SubstrateState for RedbState {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        match self.table(space)? {
            Some(table) if is_packed(space) => {
                Ok(leaves::contains(&RedbLeaves(table), key)?.then(|| Slice::copy(&[])))
            }
            Some(table) => fault::catch(|| Ok(table.table.get(key).map_err(failed)?.map(Slice::page))),
            None => Ok(None),
        }
    }

    fn bytes(&self, space: Space) -> Result<u64> {
        let Some(table) = self.table(space)? else { return Ok(0) };
        fault::catch(|| {
            let stats = table.table.stats().map_err(failed)?;
            Ok(stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes())
        })
    }

    fn bounds(&self, space: Space) -> Result<Option<Arc<KeyBounds>>> {
        if let Some(known) = self.bounds.lock().get(&space) {
            return Ok(known.clone());
        }
        let bounds = match self.table(space)? {
            None => None,
            Some(table) if is_packed(space) => leaves::bounds(&RedbLeaves(table))?.map(Arc::new),
            Some(table) => bounds_of(&table.table)?,
        };
        self.bounds.lock().insert(space, bounds.clone());
        Ok(bounds)
    }

    fn visit_keys(
        &self,
        space: Space,
        span: KeySpan<'_>,
        room: &mut KeyRoom,
        visit: VisitKey<'_>,
    ) -> Result<()> {
        match (span, is_packed(space)) {
            ((Bound::Included(first), end), true) if !is_empty_span(span) => match self.table(space)? {
                Some(table) => leaves::visit(RedbLeaves(table), first, end, room, visit),
                None => Ok(()),
            },
            _ => visit_entries(self.scan(space, span, Direction::Forward)?, visit),
        }
    }

    fn scan(&self, space: Space, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        let Some(table) = self.table(space)? else { return Ok(Box::new(std::iter::empty())) };
        if is_empty_span(span) {
            return Ok(Box::new(std::iter::empty()));
        }
        if is_packed(space) {
            return Ok(Box::new(LeafScan::new(RedbLeaves(table), span, direction)?));
        }
        let range = fault::catch(|| table.table.range::<&[u8]>(span).map_err(failed))?;
        Ok(Box::new(RedbEntries { range: Some(range), direction }))
    }
}

/// Whether the entries of a space stand in leaves.
fn is_packed(space: Space) -> bool {
    matches!(space, Space::Index(_))
}

fn bounds_of(table: &Table) -> Result<Option<Arc<KeyBounds>>> {
    fault::catch(|| {
        let ends = table.first().map_err(failed)?.zip(table.last().map_err(failed)?);
        Ok(ends.map(|((first, _), (last, _))| {
            Arc::new(KeyBounds { first: first.value().to_vec(), last: last.value().to_vec() })
        }))
    })
}

/// A scan; ends with its first error.
pub(super) struct RedbEntries {
    pub(super) range: Option<redb::Range<'static, &'static [u8], &'static [u8]>>,
    pub(super) direction: Direction,
}

impl Iterator for RedbEntries {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        let range = self.range.as_mut()?;
        let entry = fault::catch(|| {
            let entry = match self.direction {
                Direction::Forward => range.next(),
                Direction::Backward => range.next_back(),
            };
            let (key, value) = match entry {
                None => return Ok(None),
                Some(entry) => entry.map_err(failed)?,
            };
            Ok(Some((Slice::page(key), Slice::page(value))))
        });
        if entry.is_err() {
            self.range = None;
        }
        entry.transpose()
    }
}
