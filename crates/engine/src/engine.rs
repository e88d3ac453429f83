//! The way in: databases by file, opened once however many attach, closed when the last one leaves.
//!
//! Whoever wants a database to stay open while nobody is attached keeps a [`Hold`] on it.

mod commit_news;
mod failure;
mod hold;
mod linger;
mod numbers;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use farbird_store::{FileKind, Store, StoreError, StoreOptions};
use farbird_types::{Error, Result, ZoneId, isc};
use parking_lot::Mutex;

use crate::api::{AttachOptions, CreateDatabaseOptions};
use crate::attachment::{Attachment, MappedLogin};
use crate::budget::{Account, Limits};
use crate::catalog::Catalog;
use crate::clock;
use crate::database::{Database, shown};
use crate::index_expression;
use crate::session::backups::BackupBook;
use crate::session::external::ExternalSources;
use crate::session::external_files::ExternalFolders;
use crate::session::trace::Traces;
use crate::users::UserDirectory;

pub use farbird_store::{CommitName, CommitNumber, CommitOutcome};

pub use commit_news::{CommitNews, CommitSubscription, CommittedChanges};
use failure::io_error;
pub(crate) use failure::store_error;
pub use hold::Hold;
use numbers::{FileMark, Numbers};

/// Opens databases and keeps count of them. One per process; shared by `Arc`.
pub struct Engine {
    options: StoreOptions,
    /// What all its statements have taken together.
    budget: Arc<Account>,
    /// A slot per file that is or was open. Its lock is held while the file is opened or closed, so that whoever comes
    /// at that moment waits instead of finding the file locked by ourselves.
    slots: Mutex<HashMap<PathBuf, Arc<Slot>>>,
    /// How many databases in memory there have been: their names.
    memory_databases: AtomicU64,
    commit_news: Arc<CommitNews>,
    numbers: Numbers,
    external: OnceLock<Arc<dyn ExternalSources>>,
    external_folders: OnceLock<Arc<ExternalFolders>>,
    backups: Arc<BackupBook>,
    traces: Arc<Traces>,
    /// Whether databases linger.
    lingers: AtomicBool,
}

/// One file's place: empty while nobody is attached.
#[derive(Default)]
struct Slot {
    open: Mutex<Option<OpenDatabase>>,
}

struct OpenDatabase {
    database: Arc<Database>,
    /// Attachments and holds; 0 while it lingers.
    attachments: usize,
    /// When it is closed if nobody attaches.
    lingers_until: Option<Instant>,
    /// Whether somebody looks when that is.
    is_watched: bool,
}

impl OpenDatabase {
    fn new(database: Arc<Database>) -> OpenDatabase {
        OpenDatabase { database, attachments: 0, lingers_until: None, is_watched: false }
    }
}

impl Engine {
    /// An engine that opens stores with these options.
    pub fn new(options: StoreOptions) -> Arc<Engine> {
        Engine::with_limits(options, Limits::default())
    }

    /// An engine whose statements may take so much memory and temporary space.
    pub fn with_limits(options: StoreOptions, limits: Limits) -> Arc<Engine> {
        index_expression::install();
        Arc::new(Engine {
            options,
            budget: Account::server(limits),
            slots: Mutex::new(HashMap::new()),
            memory_databases: AtomicU64::new(0),
            commit_news: Arc::default(),
            numbers: Numbers::default(),
            external: OnceLock::new(),
            external_folders: OnceLock::new(),
            backups: Arc::default(),
            traces: Arc::default(),
            lingers: AtomicBool::new(false),
        })
    }

    /// Says who connects to databases elsewhere, for EXECUTE STATEMENT ON EXTERNAL in databases that are opened from now on.
    /// Only the first one counts.
    pub fn set_external_sources(&self, sources: Arc<dyn ExternalSources>) {
        // Another one is there already.
        let _ = self.external.set(sources);
    }

    /// Says which files the external tables of databases may use that are opened from now on: those in these folders. Only the first call counts; none
    /// may be used before.
    pub fn set_external_folders(&self, folders: ExternalFolders) {
        // Others are there already.
        let _ = self.external_folders.set(Arc::new(folders));
    }

    /// What is known of the backups that are made of its databases by themselves: who makes them notes it there.
    pub fn backups(&self) -> &Arc<BackupBook> {
        &self.backups
    }

    /// The trace sessions that watch its attachments.
    pub fn traces(&self) -> &Arc<Traces> {
        &self.traces
    }

    /// What its statements have taken of memory and temporary space, and may take.
    pub fn budget(&self) -> &Arc<Account> {
        &self.budget
    }

    /// Who is told of commits, in all its databases.
    pub fn commit_news(&self) -> &Arc<CommitNews> {
        &self.commit_news
    }

    /// Creates a database file and attaches to it.
    ///
    /// # Errors
    /// `isc_db_or_file_exists` if there is a file and `overwrite` was not asked for, or the file is not ours;
    /// `isc_io_error` if it cannot be made; `isc_obj_in_use` if it should be overwritten and somebody is attached.
    pub fn create_database(
        self: &Arc<Self>,
        path: &Path,
        create: &CreateDatabaseOptions,
        mut options: AttachOptions,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Attachment> {
        let zone = session_zone(&options)?;
        let slot = self.slot(path);
        let mut open = slot.open.lock();
        self.close_idle(path, &mut open)?;
        match *open {
            Some(_) if create.overwrite => {
                return Err(Error::new(isc::NO_META_UPDATE).and(isc::OBJ_IN_USE).with("DATABASE"));
            }
            Some(_) => return Err(exists(path)),
            None => {}
        }
        let mapped = MappedLogin::map(&*users, None, &mut options)?;
        let database = create_file(path, create, &self.options, &options.user, users, &self.budget)?;
        let mut attachment = self.attach_open(&slot, &mut open, database, options, zone, mapped)?;
        attachment.note_created();
        drop(open);
        attachment.begin_session()?;
        Ok(attachment)
    }

    /// Attaches to a database file.
    ///
    /// # Errors
    /// `isc_io_error` if there is no such file, `isc_bad_db_format` (saying what it is) if it is something else,
    /// and a refusal if another process has it open.
    pub fn attach(
        self: &Arc<Self>,
        path: &Path,
        options: AttachOptions,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Attachment> {
        let mut attachment = self.attach_silently(path, options, users)?;
        attachment.begin_session()?;
        Ok(attachment)
    }

    /// As [`Engine::attach`], for a program that has not asked for it yet but is expected to. `None` if the database's triggers would
    /// notice. The program takes the attachment by [`Attachment::begin_taken`]; dropped before that it ends as quietly as it came.
    ///
    /// # Errors
    /// As [`Engine::attach`].
    pub fn attach_ahead(
        self: &Arc<Self>,
        path: &Path,
        options: AttachOptions,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Option<Attachment>> {
        let mut attachment = self.attach_silently(path, options, users)?;
        Ok(attachment.begin_session_ahead()?.then_some(attachment))
    }

    /// What became of a commit that was named ([`Attachment::name_commit`]), which the asker knows to be a later one than `since`, in the
    /// database whose GUID is `guid`. One that has not happened will not.
    ///
    /// # Errors
    /// As [`Engine::attach`], and from reading: nobody knows then.
    pub fn commit_outcome(
        self: &Arc<Self>,
        path: &Path,
        guid: &str,
        name: CommitName,
        since: CommitNumber,
        options: AttachOptions,
        users: Arc<dyn UserDirectory>,
    ) -> Result<CommitOutcome> {
        let attachment = self.attach_silently(path, options, users)?;
        let database = attachment.database();
        if database.catalog().database.guid != guid {
            return Ok(CommitOutcome::Unknown);
        }
        database.store.commit_outcome(name, since).map_err(|error| database.status(error))
    }

    /// Attaches, opening the file if it is not open, without the session's beginning.
    pub(crate) fn attach_silently(
        self: &Arc<Self>,
        path: &Path,
        mut options: AttachOptions,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Attachment> {
        let zone = session_zone(&options)?;
        let slot = self.slot(path);
        let mut open = slot.open.lock();
        let database = match &*open {
            Some(open) => Arc::clone(&open.database),
            None => {
                let before = FileMark::of(path);
                let mut database = open_file(path, &self.options, users, &self.budget)?;
                self.numbers.restore(path, before, &mut database);
                Arc::new(database)
            }
        };
        let mapped = match MappedLogin::map(&*database.users, Some(&database.catalog()), &mut options) {
            Ok(mapped) => mapped,
            Err(error) => {
                // A file that was opened for this alone is closed again.
                if open.is_none() {
                    self.close_open(path, &mut open, database, false)?;
                }
                return Err(error);
            }
        };
        self.attach_open(&slot, &mut open, database, options, zone, mapped)
    }

    /// The databases that are open, with their numbers of attachments.
    pub fn open_databases(&self) -> Vec<(PathBuf, usize)> {
        let slots: Vec<_> =
            self.slots.lock().iter().map(|(path, slot)| (path.clone(), Arc::clone(slot))).collect();
        let mut open: Vec<_> = slots
            .into_iter()
            .filter_map(|(path, slot)| slot.open.lock().as_ref().map(|open| (path, open.attachments)))
            .filter(|(_, attachments)| *attachments > 0)
            .collect();
        open.sort();
        open
    }

    /// As [`Engine::open_databases`], with the databases themselves. Who keeps one keeps its file open: ask and let go.
    pub fn with_open_databases(&self, mut see: impl FnMut(&Path, &Database)) {
        let slots: Vec<_> =
            self.slots.lock().iter().map(|(path, slot)| (path.clone(), Arc::clone(slot))).collect();
        for (path, slot) in slots {
            // One that is being opened or closed is passed over: nobody shall wait for that.
            let Some(open) = slot.open.try_lock() else { continue };
            if let Some(open) = &*open {
                see(&path, &open.database);
            }
        }
    }

    /// Whether nobody else is attached to a database that somebody is attached to.
    ///
    /// # Errors
    /// As for a lock that is not to be had.
    pub(crate) fn check_alone(&self, database: &Database) -> Result<()> {
        let slot = self.slot(&database.path);
        let open = slot.open.lock();
        match open.as_ref().is_some_and(|open| open.attachments > 1) {
            true => Err(shared(&database.path)),
            false => Ok(()),
        }
    }

    /// One attachment less; the last one closes the file. If `delete`, the file goes too.
    ///
    /// The attachment hands over its share of the database: the file is free again when this returns.
    ///
    /// # Errors
    /// `isc_obj_in_use` if the file is to be deleted while others are attached: the share is handed back; `isc_io_error`.
    pub(crate) fn release(
        self: &Arc<Self>,
        database: Arc<Database>,
        delete: bool,
    ) -> std::result::Result<(), (Option<Arc<Database>>, Error)> {
        let path = database.path.clone();
        let slot = self.slot(&path);
        let mut open = slot.open.lock();
        let Some(state) = open.as_mut() else { return Ok(()) };
        if delete && state.attachments > 1 {
            return Err((Some(database), shared(&path)));
        }
        state.attachments -= 1;
        if state.attachments > 0 || (!delete && self.begin_to_linger(&slot, state)) {
            return Ok(());
        }
        let closed = self.close_open(&path, &mut open, database, delete);
        drop(open);
        self.forget_if_idle(&path, &slot);
        closed.map_err(|error| (None, error))
    }

    /// Closes a database that nobody is attached to; `database` is the caller's share. If `delete`, the file goes too.
    fn close_open(
        &self,
        path: &Path,
        open: &mut Option<OpenDatabase>,
        database: Arc<Database>,
        delete: bool,
    ) -> Result<()> {
        *open = None;
        let (number, commit) = (database.number, database.store.last_commit());
        let closed = database.store.close().map_err(|error| store_error(path, error));
        // The last reference: with it the file's lock goes, before anybody else can open the file.
        drop(database);
        let deleted = match delete {
            true => std::fs::remove_file(path).map_err(|error| io_error("delete", path, &error)),
            false => {
                self.numbers.keep(path, number, commit);
                Ok(())
            }
        };
        closed.and(deleted)
    }

    /// Counts a new attachment. Its session is to begin when the slot is free again: that may run triggers.
    fn attach_open(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        open: &mut Option<OpenDatabase>,
        database: Arc<Database>,
        options: AttachOptions,
        zone: ZoneId,
        mapped: MappedLogin,
    ) -> Result<Attachment> {
        let news = Arc::clone(&self.commit_news);
        database.store.listen(Arc::new(commit_news::Listener { news, database: database.number }));
        self.tell_what_is_outside(&database);
        // One that is open already has it.
        let _ = database.backups.set(Arc::clone(&self.backups));
        let attachment = Attachment::new(Arc::clone(self), Arc::clone(&database), options, zone, mapped);
        debug_assert!(Arc::ptr_eq(slot, &self.slot(&database.path)), "the slot is the database's own");
        open.get_or_insert_with(|| OpenDatabase::new(database)).attachments += 1;
        Ok(attachment)
    }

    /// Lets a database know who connects to others, and which files it may use.
    fn tell_what_is_outside(&self, database: &Database) {
        if let Some(sources) = self.external.get() {
            // One that is open already knows.
            let _ = database.external.set(Arc::clone(sources));
        }
        if let Some(folders) = self.external_folders.get() {
            database.set_external_folders(folders);
        }
    }

    /// How it opens stores.
    pub(crate) fn store_options(&self) -> &StoreOptions {
        &self.options
    }

    /// Runs while nobody has a file open through this engine, and nobody can open it.
    ///
    /// # Errors
    /// `isc_obj_in_use` if somebody has; those of `run`.
    pub(crate) fn while_closed<T>(&self, path: &Path, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let slot = self.slot(path);
        let mut open = slot.open.lock();
        self.close_idle(path, &mut open)?;
        let result = match &*open {
            Some(_) => Err(Error::new(isc::OBJ_IN_USE).with("DATABASE").with(shown(path))),
            None => run(),
        };
        drop(open);
        self.forget_if_idle(path, &slot);
        result
    }

    fn slot(&self, path: &Path) -> Arc<Slot> {
        Arc::clone(self.slots.lock().entry(path.to_owned()).or_default())
    }

    /// Drops a file's slot unless somebody is about to use it.
    fn forget_if_idle(&self, path: &Path, slot: &Arc<Slot>) {
        let mut slots = self.slots.lock();
        // Two references are the map's and the caller's own.
        if Arc::strong_count(slot) == 2 && slot.open.lock().is_none() {
            slots.remove(path);
        }
    }
}

/// Makes a database file of `owner`'s.
fn create_file(
    path: &Path,
    create: &CreateDatabaseOptions,
    options: &StoreOptions,
    owner: &str,
    users: Arc<dyn UserDirectory>,
    budget: &Arc<Account>,
) -> Result<Arc<Database>> {
    match identify(path)? {
        None => {}
        Some(FileKind::Farbird) if create.overwrite => {
            std::fs::remove_file(path).map_err(|error| io_error("delete", path, &error))?;
        }
        Some(_) => return Err(exists(path)),
    }
    let store = Store::create(path, options.clone()).map_err(|error| match error {
        StoreError::Io(error) => io_error("open O_CREAT", path, &error),
        other => store_error(path, other),
    })?;
    let catalog = Catalog::create(&store, create, owner).inspect_err(|_| {
        // Nothing was acknowledged: a half-made file would only be in the way of the next attempt.
        if let Err(error) = store.close().map_err(|e| e.to_string()).and_then(|()| {
            std::fs::remove_file(path).map_err(|e| e.to_string())
        }) {
            tracing::warn!(path = %path.display(), error, "a database that could not be created was left behind");
        }
    });
    let catalog = catalog.map_err(|error| error.about_file(&shown(path)))?;
    Ok(Arc::new(Database::new(path, Arc::new(store), catalog, users, budget)))
}

pub(crate) fn open_file(
    path: &Path,
    options: &StoreOptions,
    users: Arc<dyn UserDirectory>,
    budget: &Arc<Account>,
) -> Result<Database> {
    match identify(path)? {
        Some(FileKind::Farbird) => {}
        None => {
            return Err(Error::new(isc::IO_ERROR)
                .with("open")
                .with(shown(path))
                .and(isc::IO_OPEN_ERR)
                .and(isc::RANDOM)
                .with("No such file or directory"));
        }
        Some(other) => {
            return Err(Error::new(isc::BAD_DB_FORMAT)
                .with(shown(path))
                .and(isc::RANDOM)
                .with(format!("the file is {other}; Farbird opens only databases that it created")));
        }
    }
    let store = Store::open(path, options.clone()).map_err(|error| store_error(path, error))?;
    let catalog = Catalog::load(&store).map_err(|error| error.about_file(&shown(path)))?;
    Ok(Database::new(path, Arc::new(store), catalog, users, budget))
}

/// What the file is; `None` if there is none.
fn identify(path: &Path) -> Result<Option<FileKind>> {
    match farbird_store::identify(path) {
        Ok(kind) => Ok(Some(kind)),
        Err(StoreError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(store_error(path, error)),
    }
}

pub(crate) fn exists(path: &Path) -> Error {
    Error::new(isc::IO_ERROR)
        .with("open O_CREAT")
        .with(shown(path))
        .and(isc::IO_CREATE_ERR)
        .and(isc::DB_OR_FILE_EXISTS)
}

/// A database that is to be deleted is in use by others.
fn shared(path: &Path) -> Error {
    Error::new(isc::LOCK_TIMEOUT).and(isc::OBJ_IN_USE).with(shown(path))
}

/// The time zone that a session begins with.
///
/// # Errors
/// `isc_invalid_timezone_region` and its like for one that there is not.
fn session_zone(options: &AttachOptions) -> Result<ZoneId> {
    options.time_zone.as_deref().map_or(Ok(clock::DEFAULT_ZONE), ZoneId::parse)
}
