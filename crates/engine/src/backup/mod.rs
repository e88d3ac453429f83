//! Backup and restore of whole databases: what the store needs of the catalog, files that appear when they are whole,
//! and Firebird's status for what goes wrong. The bytes of a backup: docs/backup.md.
//!
//! # Promises
//! - A backup is the database as of one commit, made while others work; it holds no lock that they wait for.
//! - A file, be it a backup or a restored database, has its name only when it is whole and on the disk. Until then it is
//!   called `.incomplete` behind its name, and goes if the work is given up; what a crash leaves behind, the next
//!   attempt removes. A file that is to be replaced stays until then, too.
//! - Neither touches the database that is backed up, or the backup that is restored.

mod catalog;
mod failure;
mod increment;
mod loosening;
mod options;
mod pending_file;

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use farbird_store::backup::{BackupContents, BackupError, BackupReader, verify_backup, write_backup};
use farbird_store::{
    FileKind, Isolation, Store, StoreError, StoreOptions, Transaction, TransactionOptions, Wait,
};
use farbird_types::{Error, Result, isc};

use crate::attachment::Attachment;
use crate::budget::{Account, Limits};
use crate::build_room::StatementRoom;
use crate::catalog::layout::codec;
use crate::catalog::privileges::{self, Actor};
use crate::catalog::{Access, AccessPrivilege, ObjectKind};
use crate::clock;
use crate::database::Database;
use crate::database::shown;
use crate::engine::Engine;
use crate::open_databases::{open_file, store_error};
use crate::users::NoUsers;
pub(crate) use failure::io_error;
pub(crate) use pending_file::{check_absent, check_replaceable};

pub use farbird_store::CancelFlag;
pub use farbird_store::backup::{BackupProgress, BackupStage, BackupSummary, ProgressObserver};
pub use increment::{
    BackupSince, ChainFile, HistoryKept, Increment, back_up_increment, clean_history, is_chain_file,
    open_chain,
};
pub(crate) use loosening::without_validity;
pub use options::{ChosenTables, Difference, RestoreOptions};
pub use pending_file::{PendingFile, pending_backup, pending_gbak, pending_text};

/// What stands in a backup as its maker.
const PRODUCER: &str = concat!("farbird ", env!("CARGO_PKG_VERSION"));

/// A backup's other end in messages: a file's name, `standard output`.
pub type BackupName<'a> = &'a str;

impl Attachment {
    /// Checks that the user may read all that a backup of these tables holds, as gbak would, which reads them by queries.
    ///
    /// # Errors
    /// `isc_no_priv` with the first table that the user may not read.
    pub fn check_may_read(&self, tables: &ChosenTables) -> Result<()> {
        let (catalog, actor) = (self.database().catalog(), Actor::of(self.session()));
        for relation in catalog::relations(&catalog) {
            if tables.has(&relation.name, &self.session().interrupt.cancel)? {
                let access = Access::of(ObjectKind::Relation, &relation.name, AccessPrivilege::Select);
                privileges::check(&catalog, &actor, None, &access)?;
            }
        }
        Ok(())
    }
}

/// Writes a backup of the database as it is now, with the rows of `tables`. See [`farbird_store::backup::write_backup`].
///
/// # Errors
/// `isc_io_error` from `out`, called `name`; `isc_cancelled`; and what damage in the database gives.
pub fn back_up_database(
    database: &Database,
    tables: &ChosenTables,
    out: impl Write,
    name: BackupName<'_>,
    cancel: &Arc<CancelFlag>,
    observer: &mut ProgressObserver<'_>,
) -> Result<BackupSummary> {
    let (transaction, contents) = begin(database, tables, cancel)?;
    write_backup(&transaction, &contents, out, observer).map_err(|error| status(error, &database.path, name))
}

/// Begins what a backup reads with, and says what belongs to it besides the rows.
fn begin(
    database: &Database,
    tables: &ChosenTables,
    cancel: &Arc<CancelFlag>,
) -> Result<(Transaction, BackupContents)> {
    let options = TransactionOptions {
        isolation: Isolation::Snapshot,
        // What is in limbo is not part of a backup: nobody knows yet whether it has happened.
        ignore_limbo: true,
        // It locks nothing that it could wait for, and writes nothing.
        access: farbird_store::Access::ReadOnly,
        wait: Wait::No,
        snapshot_at: None,
    };
    let (transaction, (catalog, time_us)) = database
        .store
        .begin_with(options, Arc::clone(cancel), |_| (database.catalog(), clock::now_us()))
        .map_err(|error| store_error(&database.path, error))?;
    let mut relations = Vec::new();
    for relation in catalog::relations(&catalog) {
        if tables.has(&relation.name, cancel)? {
            relations.push(relation);
        }
    }
    let contents = BackupContents {
        producer: PRODUCER.to_owned(),
        time_us,
        catalog: catalog::entries(&catalog)?,
        relations,
        reset_sequences: if tables.is_none() { catalog::sequences(&catalog) } else { Vec::new() },
    };
    Ok((transaction, contents))
}

impl Engine {
    /// Makes a database of a backup.
    ///
    /// # Durability
    /// The database is whole and on the disk when this returns; before, it is not there (or the old one is).
    ///
    /// # Errors
    /// `isc_db_or_file_exists`; `isc_obj_in_use` if the database to be replaced is open here, `isc_io_error` if it is
    /// open elsewhere, or for trouble with the backup, called `name`; `isc_no_dup` naming the index for which two rows
    /// have the same key; `isc_cancelled`; a text for a backup that is damaged, cut off or none of ours.
    pub fn restore(
        &self,
        input: impl Read,
        name: BackupName<'_>,
        target: &Path,
        options: &RestoreOptions,
        cancel: &Arc<CancelFlag>,
        observer: &mut ProgressObserver<'_>,
    ) -> Result<Restored> {
        let check_target = || match options.replace {
            true => pending_file::check_replaceable(target, FileKind::Farbird),
            false => pending_file::check_absent(target),
        };
        self.while_closed(target, check_target)?;
        let reader = BackupReader::open(input).map_err(|error| status(error, target, name))?;
        let mut pending = PendingFile::reserve(target, options.replace)?;
        // Nobody works in it yet: there is nothing to sweep.
        let store_options = StoreOptions { background_sweep: false, ..self.store_options().clone() };
        let store = Store::create(pending.path(), store_options)
            .map_err(|error| store_error(pending.path(), error))?;
        let room = StatementRoom::new(&self.budget().statement(), self.budget().parallel_workers());
        let filled = fill(reader, &store, options, &room, cancel, observer).map_err(|error| match error {
            FillError::Backup(error) => status(error, target, name),
            FillError::Status(error) => error,
        });
        // The file's lock goes with the store, whether it was filled or not.
        let closed = store.close().map_err(|error| store_error(target, error));
        drop(store);
        let restored = filled?;
        closed?;
        self.shrink_new(pending.path(), cancel)?;
        self.while_closed(target, || {
            check_target()?;
            pending.publish()
        })?;
        Ok(restored)
    }

    /// Makes a database file that was filled in one go, and that nobody has open, as small as its contents: some of its pages lie far behind
    /// what it is full of.
    pub(crate) fn shrink_new(&self, path: &Path, cancel: &CancelFlag) -> Result<()> {
        cancel.check()?;
        farbird_store::shrink(path, self.store_options().cache_bytes)
            .map_err(|error| store_error(path, error))?;
        Ok(())
    }
}

enum FillError {
    Backup(BackupError),
    Status(Error),
}

impl From<BackupError> for FillError {
    fn from(error: BackupError) -> FillError {
        FillError::Backup(error)
    }
}

impl From<StoreError> for FillError {
    fn from(error: StoreError) -> FillError {
        FillError::Backup(error.into())
    }
}

impl From<Error> for FillError {
    fn from(error: Error) -> FillError {
        FillError::Status(error)
    }
}

/// What a restore has made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// What is in it.
    pub summary: BackupSummary,
    /// What is not there, since rows that it needs were left out.
    pub differences: Vec<Difference>,
}

fn fill(
    reader: BackupReader<impl Read>,
    store: &Store,
    options: &RestoreOptions,
    room: &StatementRoom,
    cancel: &Arc<CancelFlag>,
    observer: &mut ProgressObserver<'_>,
) -> std::result::Result<Restored, FillError> {
    let mut restored = catalog::restored(reader.catalog(), options)?;
    let entries = catalog::entries(&restored)?;
    let mut relations = catalog::relations(&restored);
    for relation in &mut relations {
        relation.is_passed_over = !options.tables.has(&relation.name, cancel)?;
    }
    store.set_codec(restored.database.codec.as_deref().and_then(codec));
    let rows = reader.restore_rows(store, &entries, &relations, cancel, observer)?;
    if options.tables.is_none() {
        for sequence in catalog::sequences(&restored) {
            store.sequence_set(sequence, 0)?;
        }
    }
    let transaction = store.begin(TransactionOptions::default(), Arc::clone(cancel))?;
    let mut differences = Vec::new();
    for (table, difference) in loosening::without_dangling_keys(&restored, &transaction)? {
        let (kind, name) = table.identity();
        transaction.catalog_put(&kind.key(&name), &table.encode()?)?;
        restored.insert(table);
        differences.push(difference);
    }
    transaction.commit()?;
    let relations = catalog::relations(&restored);
    Ok(Restored { summary: rows.build_indexes(store, &relations, room, cancel, observer)?, differences })
}

/// Reads a whole backup and checks all that can be checked without restoring it.
///
/// # Errors
/// As [`Engine::restore`], as far as they concern the backup.
pub fn verify(
    input: impl Read,
    name: BackupName<'_>,
    cancel: &CancelFlag,
    observer: &mut ProgressObserver<'_>,
) -> Result<BackupSummary> {
    verify_backup(input, cancel, observer).map_err(|error| status(error, Path::new(""), name))
}

fn about(name: BackupName<'_>, text: impl std::fmt::Display) -> Error {
    Error::new(isc::RANDOM).with(format!("{name}: {text}"))
}

/// Firebird's status for what went wrong. `database` is the one that is read or made.
fn status(error: BackupError, database: &Path, name: BackupName<'_>) -> Error {
    match error {
        BackupError::Database(StoreError::Cancelled) => Error::new(isc::CANCELLED),
        BackupError::Database(StoreError::Full) => full(&shown(database)),
        BackupError::Database(StoreError::Io(error)) => {
            io_error("write", &shown(database), isc::IO_WRITE_ERR, &error)
        }
        BackupError::Database(error @ StoreError::Corrupt { .. }) => store_error(database, error),
        BackupError::Database(error) => error.into(),
        BackupError::Write(error) if error.kind() == std::io::ErrorKind::StorageFull => full(name),
        BackupError::Write(error) => io_error("write", name, isc::IO_WRITE_ERR, &error),
        BackupError::Read(error) => io_error("read", name, isc::IO_READ_ERR, &error),
        BackupError::NotABackup(FileKind::FirebirdBackup) => about(
            name,
            "this is a backup made by Firebird's gbak: farbird restore makes a database file of it, which then takes its \
             place among the server's",
        ),
        BackupError::Increment => about(
            name,
            "this is one of a chain of incremental backups: give all of its files, the one of level 0 first, to farbird restore \
             or to the service action_nrest",
        ),
        BackupError::NotABackup(FileKind::Farbird) => {
            about(name, "this is a Farbird database, not a backup of one; open it as it is")
        }
        BackupError::Index { index, relation, error: StoreError::UniqueViolation { .. } } => {
            Error::new(isc::NO_DUP)
                .with(index)
                .and(isc::RANDOM)
                .with(format!("two rows of table {relation} have the same key; nothing was restored"))
        }
        other => about(name, other),
    }
}

fn full(file: &str) -> Error {
    io_error("write", file, isc::IO_WRITE_ERR, &std::io::Error::other("no space left on the device"))
}

/// A backup of a file that nobody has open.
#[derive(Debug)]
pub struct FileBackup {
    /// What is in it.
    pub summary: BackupSummary,
    /// The numbers of the transactions whose work is not: they are prepared, and neither committed nor rolled back.
    pub left_out: Vec<u64>,
}

/// Makes a backup of a database file that nobody has open, as its owner would, with the rows of `tables`.
///
/// # Errors
/// As [`back_up_database`]; a refusal if another process has the file open.
pub fn back_up_file(
    database: &Path,
    tables: &ChosenTables,
    out: impl Write,
    name: BackupName<'_>,
    cancel: &Arc<CancelFlag>,
    observer: &mut ProgressObserver<'_>,
) -> Result<FileBackup> {
    let opened = ClosedFile::open(database)?;
    let summary = back_up_database(&opened.database, tables, out, name, cancel, observer)?;
    Ok(FileBackup { summary, left_out: opened.left_out() })
}

/// A database file that nobody else has open, for as long as it is backed up.
pub struct ClosedFile {
    database: Database,
}

impl ClosedFile {
    /// Opens it.
    ///
    /// # Errors
    /// A refusal if another process has it open.
    pub fn open(path: &Path) -> Result<ClosedFile> {
        let options = StoreOptions { background_sweep: false, ..StoreOptions::default() };
        let database = open_file(path, &options, Arc::new(NoUsers), &Account::server(Limits::default()))?;
        Ok(ClosedFile { database })
    }

    /// The database in it.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The numbers of the transactions whose work is in no backup: they are prepared, and neither committed nor rolled back.
    pub fn left_out(&self) -> Vec<u64> {
        self.database.store.prepared().iter().map(|prepared| prepared.id.0).collect()
    }
}

impl Drop for ClosedFile {
    fn drop(&mut self) {
        // A disk that is full is a reason to back up: the backup is whole, and the file is no worse than it was.
        if let Err(error) = self.database.store.close() {
            tracing::warn!(%error, database = %self.database.path.display(), "closing the file that was backed up failed");
        }
    }
}
