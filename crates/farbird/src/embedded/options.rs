//! How a database is opened, or made.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use farbird_engine::api::CreateDatabaseOptions;
use farbird_engine::budget::Limits;
use farbird_engine::engine::Engine;
use farbird_engine::session::external_files::ExternalFolders;
use farbird_engine::users::NoUsers;
use farbird_engine::{CodecId, StoreOptions};
use farbird_sql::Dialect;
use farbird_types::{CharacterSet, isc};

use super::database::{Database, Opened};
use super::error::Result;

/// Page size that a new database reports to those who ask; the store has no such pages.
const PAGE_SIZE_REPORTED: u32 = 8192;

/// The engine of this process: two databases opened by the same path are one.
static ENGINE: LazyLock<Arc<Engine>> = LazyLock::new(|| Engine::new(StoreOptions::default()));

/// The engine under all [`Database`] values of this process. A server started on it shares their files.
pub fn engine() -> Arc<Engine> {
    Arc::clone(&ENGINE)
}

/// Says how much memory and temporary space the statements of this process may take, one and all together. Holds from
/// now on; [`Limits::default`] until it is called.
///
/// ```
/// farbird::set_limits(farbird::Limits { statement_memory: 512 << 20, ..farbird::Limits::default() });
/// assert_eq!(farbird::engine().budget().limits().statement_memory, 512 << 20);
/// ```
pub fn set_limits(limits: Limits) {
    ENGINE.budget().set_limits(limits);
}

/// Says in which folders the files of external tables may be: in none, until it is called. Holds for databases that are opened from then on;
/// only the first call counts. Databases and backups are never read as tables, but whatever else is in these folders is open to whoever may
/// define tables.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// farbird::set_external_file_folders(&[folder.path()])?;
/// let db = farbird::Database::options().character_set(farbird::CharacterSet::NONE).in_memory()?;
/// let connection = db.connect()?;
/// connection.execute("create table words external file 'words.txt' (word char(5), line_end char(1))", ())?;
/// std::fs::write(folder.path().join("words.txt"), "hello\nworld\n")?;
/// let words: i64 = connection.query_one("select count(*) from words", ())?;
/// assert_eq!(words, 2);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If one of them is not there.
pub fn set_external_file_folders(folders: &[impl AsRef<Path>]) -> Result<()> {
    let folders: Vec<PathBuf> = folders.iter().map(|folder| folder.as_ref().to_owned()).collect();
    let folders = ExternalFolders::new(&folders).map_err(|(folder, error)| {
        farbird_types::Error::new(isc::IO_ERROR)
            .with("open")
            .with(folder.display().to_string())
            .and(isc::IO_OPEN_ERR)
            .and(isc::RANDOM)
            .with(error.to_string())
    })?;
    ENGINE.set_external_folders(folders);
    Ok(())
}

/// How a database is opened, or made; begun by [`Database::options`].
///
/// A file that this process has open already stays open as it is: its first options hold.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use farbird::{CharacterSet, Database};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.fbd");
/// let db = Database::options()
///     .cache_bytes(256 << 20)
///     .character_set(CharacterSet::WIN1252)
///     .user("APP")
///     .open_or_create(&path)?;
/// let user: String = db.connect()?.query_one("select current_user from rdb$database", ())?;
/// assert_eq!(user, "APP");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a database is opened with them"]
pub struct DatabaseOptions {
    store: StoreOptions,
    create: CreateDatabaseOptions,
    user: String,
    role: Option<String>,
    database_triggers: bool,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        DatabaseOptions {
            store: StoreOptions::default(),
            create: CreateDatabaseOptions {
                default_character_set: CharacterSet::UTF8,
                page_size: PAGE_SIZE_REPORTED,
                overwrite: false,
                dialect: 3,
            },
            user: "SYSDBA".to_owned(),
            role: None,
            database_triggers: true,
        }
    }
}

impl DatabaseOptions {
    /// Memory for pages of the file, in bytes. 64 MiB unless said. Row blocks that single rows were read
    /// from may take as much beside it, and half as much without their compression.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.store.cache_bytes = bytes;
        self
    }

    /// How much uncommitted work one transaction keeps in memory before it goes to the file, in bytes. 32 MiB unless
    /// said.
    pub fn write_set_bytes(mut self, bytes: usize) -> Self {
        self.store.write_set_bytes_max = bytes;
        self
    }

    /// Whether a thread in the background packs rows and removes versions that nobody sees any more. It does unless
    /// this says no; [`Database::sweep`] does it when called.
    pub fn background_sweep(mut self, on: bool) -> Self {
        self.store.background_sweep = on;
        self
    }

    /// How rows are packed in tables that do not say, in databases that do not: `column`, `elekt`, `value`, `long-run`,
    /// `classic`, each also with `+lz4` or `+zstd`. In SQL it is `STORAGE CODEC`. docs/store.md compares them.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let db = farbird::Database::options().codec("elekt+zstd".parse()?).in_memory()?;
    /// let codec: String = db.connect()?.query_one("select farbird$codec from farbird$storage", ())?;
    /// assert_eq!(codec, "elekt+zstd");
    /// # Ok(())
    /// # }
    /// ```
    pub fn codec(mut self, codec: CodecId) -> Self {
        self.store.codec = codec;
        self
    }

    /// The character set of columns that name none, for a database that is made. UTF8 unless said. Programs see texts
    /// as Rust's strings, whatever this is.
    pub fn character_set(mut self, character_set: CharacterSet) -> Self {
        self.create.default_character_set = character_set;
        self
    }

    /// The SQL dialect of a database that is made: that of dialect 1 keeps large and decimal numbers as doubles and DATE with a time. 3
    /// unless said; 2 makes a database of dialect 3, since there are none of dialect 2. Texts have a dialect of their own:
    /// [`Connection::set_dialect`](crate::Connection::set_dialect).
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.create.dialect = if dialect == Dialect::One { 1 } else { 3 };
        self
    }

    /// Who works with the database: owns what is made, and has the privileges that were granted. `SYSDBA`, who may do
    /// everything, unless said. Nobody asks for a password: whoever can open the file can read it.
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.user = name.into();
        self
    }

    /// The role that connections take.
    pub fn role(mut self, name: impl Into<String>) -> Self {
        self.role = Some(name.into());
        self
    }

    /// Whether ON CONNECT, ON DISCONNECT and ON TRANSACTION triggers fire. They do unless this says no.
    pub fn database_triggers(mut self, fire: bool) -> Self {
        self.database_triggers = fire;
        self
    }

    /// Opens a database file.
    ///
    /// # Errors
    /// If there is none, if it is no database of Farbird's, or if another process has it open.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Database> {
        let path = canonical(path.as_ref());
        let hold = ENGINE.hold(&path, &self.store, Arc::new(NoUsers))?;
        Ok(self.opened(hold))
    }

    /// Makes a database file.
    ///
    /// # Errors
    /// If there is a file of this name, or none can be made.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Database> {
        let path = canonical(path.as_ref());
        let hold = ENGINE.hold_new(&path, &self.create, &self.store, &self.user, Arc::new(NoUsers))?;
        Ok(self.opened(hold))
    }

    /// Opens a database file, or makes it if there is none.
    ///
    /// # Errors
    /// As [`DatabaseOptions::open`] and [`DatabaseOptions::create`].
    pub fn open_or_create(&self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        if !path.exists() {
            match self.create(path) {
                // Somebody else was quicker.
                Err(error) if error.status().is_some_and(|s| s.has(isc::DB_OR_FILE_EXISTS)) => {}
                result => return result,
            }
        }
        self.open(path)
    }

    /// Makes a database that lives in memory, and ends when the last of its [`Database`] values and connections goes.
    ///
    /// # Errors
    /// None that a program would meet.
    pub fn in_memory(&self) -> Result<Database> {
        let hold = ENGINE.hold_in_memory(&self.create, &self.store, &self.user, Arc::new(NoUsers))?;
        Ok(self.opened(hold))
    }

    fn opened(&self, hold: farbird_engine::engine::Hold) -> Database {
        Database::new(Opened {
            hold,
            user: self.user.clone(),
            role: self.role.clone(),
            database_triggers: self.database_triggers,
        })
    }
}

/// The path by which the engine knows a file, which may not be there yet.
pub(super) fn canonical(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (absolute.parent().map(Path::canonicalize), absolute.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => absolute,
    }
}
