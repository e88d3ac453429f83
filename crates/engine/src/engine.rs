//! The way in: attachments of databases, which `open_databases` opens once however many attach.
//!
//! Whoever wants a database to stay open while nobody is attached keeps a [`Hold`] on it.

mod commit_news;
mod hold;
mod maintenance;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use farbird_store::StoreOptions;
use farbird_types::{Error, Result, ZoneId, isc};

use crate::api::{AttachOptions, CreateDatabaseOptions};
use crate::attachment::{Attachment, MappedLogin};
use crate::budget::{Account, Limits};
use crate::clock;
use crate::database::Database;
use crate::index_expression;
use crate::open_databases::{OpenDatabase, OpenDatabases, Slot, create_file, exists};
use crate::session::backups::BackupBook;
use crate::session::external::ExternalSources;
use crate::session::external_files::ExternalFolders;
use crate::session::trace::Traces;
use crate::users::UserDirectory;

pub use farbird_store::{CommitName, CommitNumber, CommitOutcome};

pub use commit_news::{CommitNews, CommitSubscription, CommittedChanges};
pub use hold::Hold;

/// Opens databases and keeps count of them. One per process; shared by `Arc`.
pub struct Engine {
    databases: Arc<OpenDatabases>,
    /// How many databases in memory there have been: their names.
    memory_databases: AtomicU64,
    commit_news: Arc<CommitNews>,
    external: OnceLock<Arc<dyn ExternalSources>>,
    external_folders: OnceLock<Arc<ExternalFolders>>,
    backups: Arc<BackupBook>,
    traces: Arc<Traces>,
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
            databases: OpenDatabases::new(options, Account::server(limits)),
            memory_databases: AtomicU64::new(0),
            commit_news: Arc::default(),
            external: OnceLock::new(),
            external_folders: OnceLock::new(),
            backups: Arc::default(),
            traces: Arc::default(),
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
        self.databases.budget()
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
        let slot = self.databases.slot(path);
        let mut open = slot.open.lock();
        self.databases.close_idle(path, &mut open)?;
        match *open {
            Some(_) if create.overwrite => {
                return Err(Error::new(isc::NO_META_UPDATE).and(isc::OBJ_IN_USE).with("DATABASE"));
            }
            Some(_) => return Err(exists(path)),
            None => {}
        }
        let mapped = MappedLogin::map(&*users, None, &mut options)?;
        let database = create_file(path, create, self.store_options(), &options.user, users, self.budget())?;
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
        let slot = self.databases.slot(path);
        let mut open = slot.open.lock();
        let database = self.databases.open(path, &open, users)?;
        let mapped = match MappedLogin::map(&*database.users, Some(&database.catalog()), &mut options) {
            Ok(mapped) => mapped,
            Err(error) => {
                // A file that was opened for this alone is closed again.
                self.databases.close_uncounted(path, &mut open, database)?;
                return Err(error);
            }
        };
        self.attach_open(&slot, &mut open, database, options, zone, mapped)
    }

    /// The databases that are open, with their numbers of attachments.
    pub fn open_databases(&self) -> Vec<(PathBuf, usize)> {
        self.databases.list()
    }

    /// As [`Engine::open_databases`], with the databases themselves. Who keeps one keeps its file open: ask and let go.
    pub fn with_open_databases(&self, see: impl FnMut(&Path, &Database)) {
        self.databases.with_each(see);
    }

    /// Whether databases linger as they say. Once they do not, those that linger are closed.
    pub fn set_lingers(&self, lingers: bool) {
        self.databases.set_lingers(lingers);
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
        debug_assert!(
            Arc::ptr_eq(slot, &self.databases.slot(&database.path)),
            "the slot is the database's own"
        );
        let attachment = Attachment::new(
            Arc::clone(&self.databases),
            &self.traces,
            Arc::clone(&database),
            options,
            zone,
            mapped,
        );
        OpenDatabase::count(open, database);
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
        self.databases.options()
    }

    /// Runs while nobody has a file open through this engine, and nobody can open it.
    ///
    /// # Errors
    /// `isc_obj_in_use` if somebody has; those of `run`.
    pub(crate) fn while_closed<T>(&self, path: &Path, run: impl FnOnce() -> Result<T>) -> Result<T> {
        self.databases.while_closed(path, run)
    }
}

/// The time zone that a session begins with.
///
/// # Errors
/// `isc_invalid_timezone_region` and its like for one that there is not.
fn session_zone(options: &AttachOptions) -> Result<ZoneId> {
    options.time_zone.as_deref().map_or(Ok(clock::DEFAULT_ZONE), ZoneId::parse)
}
