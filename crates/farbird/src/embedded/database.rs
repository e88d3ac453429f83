//! An open database.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use farbird_engine::api::{AttachOptions, ClientDescription};
use farbird_engine::engine::Hold;
use farbird_types::CharacterSet;

use super::connection::Connection;
use super::error::Result;
use super::options::DatabaseOptions;

/// An open database. Cheap to clone and meant to be shared between threads; each takes a [`Connection`] of its own.
///
/// The file is closed when the last clone and the last connection are gone. Until then no other process can open it;
/// to share a database between processes let `farbird serve` have it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use farbird::Database;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.fbd");
/// let db = Database::create(&path)?;
/// db.connect()?.execute("create table t (a int)", ())?;
/// drop(db);
///
/// let db = Database::open(&path)?;
/// assert_eq!(db.connect()?.query_one::<i64>("select count(*) from t", ())?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Database {
    opened: Arc<Opened>,
}

/// What connections are made from.
pub(super) struct Opened {
    pub(super) hold: Hold,
    pub(super) user: String,
    pub(super) role: Option<String>,
    pub(super) database_triggers: bool,
}

impl Database {
    pub(super) fn new(opened: Opened) -> Database {
        Database { opened: Arc::new(opened) }
    }

    /// Opens a database file as [`DatabaseOptions::open`] does.
    ///
    /// # Errors
    /// If there is none, if it is no database of Farbird's, or if another process has it open.
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Database::options().open(path)
    }

    /// Makes a database file as [`DatabaseOptions::create`] does.
    ///
    /// # Errors
    /// If there is a file of this name, or none can be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Database> {
        Database::options().create(path)
    }

    /// Opens a database file, or makes it if there is none.
    ///
    /// # Errors
    /// As [`Database::open`] and [`Database::create`].
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Database> {
        Database::options().open_or_create(path)
    }

    /// Makes a database that lives in memory.
    ///
    /// # Errors
    /// None that a program would meet.
    pub fn in_memory() -> Result<Database> {
        Database::options().in_memory()
    }

    /// Begins to say how a database is opened.
    pub fn options() -> DatabaseOptions {
        DatabaseOptions::default()
    }

    /// The file, or a name like `:memory:0`.
    pub fn path(&self) -> &Path {
        &self.engine_database().path
    }

    /// Connects: a session of its own, as a client of a server would have.
    ///
    /// # Errors
    /// What an ON CONNECT trigger raises.
    pub fn connect(&self) -> Result<Connection> {
        let opened = &self.opened;
        let options = AttachOptions {
            user: opened.user.clone(),
            role: opened.role.clone(),
            // Texts come and go as Rust's strings.
            character_set: CharacterSet::UTF8,
            dialect: 3,
            time_zone: None,
            no_database_triggers: !opened.database_triggers,
            client: ClientDescription {
                process_id: i32::try_from(std::process::id()).ok(),
                process_name: std::env::current_exe()
                    .map(|path| path.display().to_string())
                    .unwrap_or_default(),
                ..ClientDescription::default()
            },
        };
        Ok(Connection::new(opened.hold.attach(options)?))
    }

    /// The engine's side of it.
    pub(super) fn engine_database(&self) -> &farbird_engine::database::Database {
        self.opened.hold.database()
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.path()).finish_non_exhaustive()
    }
}
