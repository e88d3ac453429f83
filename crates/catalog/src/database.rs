//! One open database: its store, its newest committed catalog, and who is attached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use farbird_store::{Store, Tally};
use farbird_types::{Error, isc};
use parking_lot::{Mutex, RwLock};

use crate::Catalog;
use crate::layout::codec;
use crate::shutdown_gate::ShutdownGate;
use crate::statistics::Statistics;
use farbird_budget::Account;
use farbird_session::backups::BackupBook;
use farbird_session::events::Events;
use farbird_session::external::ExternalSources;
use farbird_session::external_files::ExternalFolders;
use farbird_session::users::UserDirectory;
use farbird_session::{Interrupt, Session};

/// The number of the next database that is opened.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

/// One open database, shared by its attachments.
pub struct Database {
    /// Names it among the databases that this process opens.
    pub number: u32,
    /// The file, canonical; empty for a database in memory.
    pub path: PathBuf,
    /// Where the rows are.
    pub store: Arc<Store>,
    /// Newest committed catalog. Swapped under the store's publication lock, so that a transaction's snapshot and its
    /// catalog belong together.
    catalog: RwLock<Arc<Catalog>>,
    /// The version of that catalog: statements look at it before each run.
    catalog_version: AtomicU64,
    /// The server's users.
    pub users: Arc<dyn UserDirectory>,
    /// What the statements of its attachments have taken.
    pub budget: Arc<Account>,
    /// What attachments that have ended did with rows.
    pub tally: Arc<Tally>,
    /// Attachments by id, for MON$ATTACHMENTS and shutdown.
    pub attachments: Mutex<BTreeMap<u64, Arc<Session>>>,
    /// What its transactions tell others of.
    pub events: Arc<Events>,
    /// Who connects to databases elsewhere, if anybody does.
    pub external: OnceLock<Arc<dyn ExternalSources>>,
    /// The files that external tables may use; none if nobody has said.
    external_folders: OnceLock<Arc<ExternalFolders>>,
    /// What its server has noted of the backups that it makes by itself, if it does.
    pub backups: OnceLock<Arc<BackupBook>>,
    /// Held while indexes are made anew whose collation data have changed.
    pub collation_data: Mutex<()>,
    /// Whether it is closed with its last attachment, whatever its linger says.
    pub no_linger: AtomicBool,
    /// Held while somebody shuts the database down, or needs to be alone with it.
    pub maintenance: Mutex<()>,
    /// What stops whoever holds `maintenance`, while that is something to be stopped by others who may shut the database down.
    pub maintainer: Mutex<Option<Arc<Interrupt>>>,
    /// What a shutdown that waits keeps from beginning.
    pub shutdown_gate: ShutdownGate,
    next_attachment: AtomicU64,
    next_statement: AtomicU64,
}

impl Database {
    /// Wraps an open store and the catalog read from it. Its statements are charged to `budget`, the server's.
    pub fn new(
        path: &Path,
        store: Arc<Store>,
        mut catalog: Catalog,
        users: Arc<dyn UserDirectory>,
        budget: &Arc<Account>,
    ) -> Database {
        catalog.statistics = Statistics::of_store(&store);
        store.set_codec(catalog.database.codec.as_deref().and_then(codec));
        store.set_automatic_sweep(catalog.database.sweep_interval > 0);
        Database {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            path: path.to_owned(),
            store,
            users,
            budget: budget.open(),
            catalog_version: AtomicU64::new(catalog.version),
            catalog: RwLock::new(Arc::new(catalog)),
            tally: Arc::default(),
            attachments: Mutex::new(BTreeMap::new()),
            events: Arc::default(),
            external: OnceLock::new(),
            external_folders: OnceLock::new(),
            backups: OnceLock::new(),
            collation_data: Mutex::new(()),
            no_linger: AtomicBool::new(false),
            maintenance: Mutex::new(()),
            maintainer: Mutex::new(None),
            shutdown_gate: ShutdownGate::default(),
            next_attachment: AtomicU64::new(1),
            next_statement: AtomicU64::new(1),
        }
    }

    /// Says which files external tables may use. Only the first time counts.
    pub fn set_external_folders(&self, folders: &Arc<ExternalFolders>) {
        if self.external_folders.set(Arc::clone(folders)).is_ok() {
            self.catalog().statistics.set_external_folders(folders);
        }
    }

    /// The files that external tables may use.
    pub fn external_folders(&self) -> Arc<ExternalFolders> {
        self.external_folders.get().map(Arc::clone).unwrap_or_default()
    }

    /// The newest committed catalog.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().clone()
    }

    /// The version of the newest committed catalog.
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version.load(Ordering::Acquire)
    }

    /// Replaces the committed catalog by what `change` makes of it. Called while a commit is being published.
    pub fn publish_catalog(&self, change: impl FnOnce(&Catalog) -> Catalog) {
        let mut catalog = self.catalog.write();
        let next = change(&catalog);
        if next.database.codec != catalog.database.codec {
            self.store.set_codec(next.database.codec.as_deref().and_then(codec));
        }
        self.store.set_automatic_sweep(next.database.sweep_interval > 0);
        self.catalog_version.store(next.version, Ordering::Release);
        *catalog = Arc::new(next);
    }

    /// Firebird's status for an error, with this database's name where only the file's name is missing. That nothing can
    /// be written is said of the database if it is read only, not of the transaction.
    pub fn status(&self, error: impl Into<Error>) -> Error {
        let error = error.into().about_file(&shown(&self.path));
        match error.has(isc::READ_ONLY_TRANS) && self.catalog().database.read_only {
            true => error.with_code(isc::READ_ONLY_DATABASE, isc::READ_ONLY_TRANS),
            false => error,
        }
    }

    /// The file: with its folder for administrators, its name alone for others, who need not know where it lies.
    pub fn shown_path(&self, is_administrator: bool) -> String {
        match self.path.file_name().filter(|_| !is_administrator) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => shown(&self.path),
        }
    }

    /// How many pages of this size its cache has room for, as Firebird counts what it is.
    pub fn page_buffers(&self, page_bytes: u64) -> u64 {
        let cache_bytes = u64::try_from(self.store.options().cache_bytes).unwrap_or(u64::MAX);
        (cache_bytes / page_bytes.max(1)).max(1)
    }

    /// A number for a new attachment (MON$ATTACHMENT_ID).
    pub fn next_attachment_id(&self) -> u64 {
        self.next_attachment.fetch_add(1, Ordering::Relaxed)
    }

    /// A number for a new statement (MON$STATEMENT_ID).
    pub fn next_statement_id(&self) -> u64 {
        self.next_statement.fetch_add(1, Ordering::Relaxed)
    }
}

/// A path as messages show it.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
