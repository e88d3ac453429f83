//! Databases that stay open while nobody is attached: what a program that embeds the engine keeps.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use farbird_store::{Store, StoreOptions};
use farbird_types::Result;

use super::Engine;
use crate::api::{AttachOptions, CreateDatabaseOptions};
use crate::attachment::{Attachment, MappedLogin};
use crate::catalog::Catalog;
use crate::database::Database;
use crate::open_databases::{OpenDatabase, create_file, exists, open_file, store_error};
use crate::users::UserDirectory;

/// Keeps a database open. It counts as an attachment but is none: MON$ATTACHMENTS does not show it.
///
/// Dropping the last hold or attachment closes the file.
pub struct Hold {
    engine: Arc<Engine>,
    /// `None` once it has let go.
    database: Option<Arc<Database>>,
}

impl Engine {
    /// Opens a database file, or takes a share of it if it is open. `options` say how it is opened: they mean nothing
    /// if it is.
    ///
    /// # Errors
    /// As [`Engine::attach`].
    pub fn hold(
        self: &Arc<Self>,
        path: &Path,
        options: &StoreOptions,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Hold> {
        let slot = self.databases.slot(path);
        let mut open = slot.open.lock();
        let database = match &*open {
            Some(open) => Arc::clone(&open.database),
            None => Arc::new(open_file(path, options, users, self.budget())?),
        };
        Ok(self.hold_open(&mut open, database))
    }

    /// Creates a database file that belongs to `owner`, and keeps it open.
    ///
    /// # Errors
    /// As [`Engine::create_database`].
    pub fn hold_new(
        self: &Arc<Self>,
        path: &Path,
        create: &CreateDatabaseOptions,
        options: &StoreOptions,
        owner: &str,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Hold> {
        let slot = self.databases.slot(path);
        let mut open = slot.open.lock();
        if open.is_some() {
            return Err(exists(path));
        }
        let database = create_file(path, create, options, owner, users, self.budget())?;
        Ok(self.hold_open(&mut open, database))
    }

    /// Makes a database that lives in memory and ends with its last hold or attachment.
    ///
    /// # Errors
    /// `isc_db_corrupt` if the store cannot be made.
    pub fn hold_in_memory(
        self: &Arc<Self>,
        create: &CreateDatabaseOptions,
        options: &StoreOptions,
        owner: &str,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Hold> {
        let number = self.memory_databases.fetch_add(1, Ordering::Relaxed);
        // No file has such a name: paths are absolute by the time they come here.
        let path = PathBuf::from(format!(":memory:{number}"));
        let store = Store::in_memory(options.clone()).map_err(|error| store_error(&path, error))?;
        self.hold_store(&path, store, create, owner, users)
    }

    /// Makes a database on an empty store that the caller has opened, wherever that may be: tests put it on a disk that
    /// fails. `path` is what it is known as.
    ///
    /// # Errors
    /// `isc_db_or_file_exists` if something of this name is open; those of writing.
    pub fn hold_store(
        self: &Arc<Self>,
        path: &Path,
        store: Store,
        create: &CreateDatabaseOptions,
        owner: &str,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Hold> {
        let slot = self.databases.slot(path);
        let mut open = slot.open.lock();
        if open.is_some() {
            return Err(exists(path));
        }
        let catalog = Catalog::create(&store, create, owner)?;
        let database = Arc::new(Database::new(path, Arc::new(store), catalog, users, self.budget()));
        Ok(self.hold_open(&mut open, database))
    }

    fn hold_open(self: &Arc<Self>, open: &mut Option<OpenDatabase>, database: Arc<Database>) -> Hold {
        self.tell_what_is_outside(&database);
        let shared = Arc::clone(&database);
        OpenDatabase::count(open, database);
        Hold { engine: Arc::clone(self), database: Some(shared) }
    }
}

impl Hold {
    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        self.database.as_ref().expect("a hold has its database until it is dropped")
    }

    /// Attaches to the database.
    ///
    /// # Errors
    /// What an ON CONNECT trigger raises; those of mappings.
    pub fn attach(&self, mut options: AttachOptions) -> Result<Attachment> {
        let zone = super::session_zone(&options)?;
        let database = Arc::clone(self.database());
        let slot = self.engine.databases.slot(&database.path);
        let mut open = slot.open.lock();
        let mapped = MappedLogin::map(&*database.users, Some(&database.catalog()), &mut options)?;
        let mut attachment = self.engine.attach_open(&slot, &mut open, database, options, zone, mapped)?;
        drop(open);
        attachment.begin_session()?;
        Ok(attachment)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(database) = self.database.take() else { return };
        let path = database.path.clone();
        if let Err((_, error)) = self.engine.databases.release(database, false) {
            tracing::warn!(path = %path.display(), %error, "closing the database failed");
        }
    }
}
