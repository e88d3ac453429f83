//! Databases elsewhere that EXECUTE STATEMENT runs its texts in, as PSQL asks for them.
//!
//! Who connects (the binary, with the client) implements [`ExternalSources`]; an engine that nobody has given one refuses. A
//! transaction elsewhere belongs to one of ours: it ends as that ends, or with its statement (WITH AUTONOMOUS TRANSACTION).
//!
//! Errors are those of the other server; what PSQL makes of them (`isc_eds_connection`, `isc_eds_statement`) is its own affair.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use farbird_types::{BlobId, Result, SqlType, Value};

use crate::interrupt::Interrupt;
use crate::parameters::TransactionParameters;

pub use crate::parameters::ExternalCaller;

/// How deep sessions may be that EXECUTE STATEMENT makes out of each other (Firebird's MAX_CALLBACKS).
pub const CALLS_MAX: u32 = 50;

/// Where a text runs, and as whom. Equal ones share a transaction.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalTarget {
    /// ON EXTERNAL: `host:database` and its like, without Firebird's name of a provider; none: the database of the caller,
    /// attached once more.
    pub data_source: Option<String>,
    /// The file of the caller's database.
    pub own_database: PathBuf,
    /// AS USER, or the caller's own name.
    pub user: String,
    /// PASSWORD; empty if none was given.
    pub password: String,
    /// ROLE.
    pub role: Option<String>,
    /// Whether it is whoever is attached already, in another role: nobody asks for a password then.
    pub is_own_login: bool,
}

impl std::fmt::Debug for ExternalTarget {
    /// Leaves the password out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExternalTarget")
            .field("data_source", &self.data_source)
            .field("user", &self.user)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// Whoever connects to databases elsewhere.
pub trait ExternalSources: Send + Sync {
    /// Takes a connection that waits in the pool, or makes one for the caller, and begins a transaction. What the interrupt stops ends with
    /// the other server's `isc_cancelled`.
    ///
    /// # Errors
    /// `isc_no_priv` if the administrator does not allow the place; those of connecting and of the login.
    fn begin(
        &self,
        target: &ExternalTarget,
        caller: &ExternalCaller,
        parameters: &TransactionParameters,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Box<dyn ExternalTransaction>>;

    /// What the pool of idle connections has.
    fn pool(&self) -> ExternalPool;

    /// ALTER EXTERNAL CONNECTIONS POOL.
    fn change_pool(&self, change: PoolChange);
}

/// The pool of connections, as the context variables EXT_CONN_POOL_... show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternalPool {
    /// How many idle connections it keeps at most; 0: none, each is closed when its transaction ends.
    pub size: u32,
    /// How many wait.
    pub idle: usize,
    /// How many are in use.
    pub active: usize,
    /// How long one waits until it is closed.
    pub lifetime: Duration,
}

impl Default for ExternalPool {
    /// As Firebird's is configured: none is kept.
    fn default() -> ExternalPool {
        ExternalPool { size: 0, idle: 0, active: 0, lifetime: Duration::from_secs(7_200) }
    }
}

/// ALTER EXTERNAL CONNECTIONS POOL, as far as it concerns whoever has the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolChange {
    /// SET SIZE.
    Size(u32),
    /// SET LIFETIME.
    Lifetime(Duration),
    /// CLEAR ALL.
    ClearAll,
    /// CLEAR OLDEST: those whose time is up.
    ClearOldest,
}

/// A transaction elsewhere. Dropped, it is rolled back and its connection is given up.
pub trait ExternalTransaction: Send {
    /// Prepares a text, with `?` for its parameters.
    ///
    /// # Errors
    /// What the server says of it.
    fn prepare(&mut self, sql: &str) -> Result<Box<dyn ExternalStatement>>;

    /// Commits; the connection may serve others then.
    ///
    /// # Errors
    /// What the server says: it is not committed then, or nobody knows.
    fn commit(self: Box<Self>) -> Result<()>;

    /// Rolls back; the connection may serve others then.
    ///
    /// # Errors
    /// The connection is lost, and the transaction with it.
    fn rollback(self: Box<Self>) -> Result<()>;
}

/// A text that a server elsewhere has prepared. It must be dropped before its transaction ends.
pub trait ExternalStatement: Send {
    /// Types of its parameters.
    fn parameters(&self) -> Vec<SqlType>;

    /// Types of its columns.
    fn columns(&self) -> Vec<SqlType>;

    /// Whether it gives its rows by [`ExternalStatement::next`].
    fn has_cursor(&self) -> bool;

    /// Executes it, or opens its cursor. Gives the row of what has columns but no cursor.
    ///
    /// # Errors
    /// What the server says.
    fn execute(&mut self, parameters: Vec<Value>) -> Result<Option<Vec<Value>>>;

    /// The next row of its cursor. BLOBs are ids of the other database.
    ///
    /// # Errors
    /// What the server says.
    fn next(&mut self) -> Result<Option<Vec<Value>>>;

    /// Makes a BLOB there, for a parameter.
    ///
    /// # Errors
    /// What the server says.
    fn write_blob(&mut self, contents: &[u8]) -> Result<BlobId>;

    /// The bytes of a BLOB of a row.
    ///
    /// # Errors
    /// What the server says.
    fn open_blob(&mut self, id: BlobId) -> Result<Box<dyn Read + Send>>;
}
