//! Transactions, and how they begin.

use std::fmt;
use std::time::Duration;

use farbird_engine::api::{Isolation as EngineIsolation, TransactionHandle, TransactionParameters};

use super::blob::{Blob, BlobReader, BlobWriter};
use super::connection::{Connection, Shared};
use super::error::{Fault, Result};
use super::execute::{self, Executor, Scope};
use super::parameters::Parameters;
use super::prepared::Prepared;
use super::rows::{FromRow, Rows};
use super::statement::Statement;

/// How much a transaction sees of what others commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// The database as of the transaction's start, and its own changes.
    #[default]
    Snapshot,
    /// As [`Isolation::Snapshot`], and nobody else writes to the tables it uses.
    TableStability,
    /// Each statement sees what was committed when it began.
    ReadCommitted,
}

/// How a transaction begins. The default is Firebird's: SNAPSHOT, READ WRITE, WAIT.
///
/// ```
/// # fn main() -> farbird::Result<()> {
/// use std::time::Duration;
/// use farbird::{Isolation, TransactionOptions};
///
/// # let connection = farbird::Database::in_memory()?.connect()?;
/// let careful = TransactionOptions::new()
///     .isolation(Isolation::ReadCommitted)
///     .lock_timeout(Duration::from_secs(5));
/// let transaction = connection.transaction_with(&careful)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "options do nothing until a transaction begins with them"]
pub struct TransactionOptions {
    parameters: TransactionParameters,
}

impl TransactionOptions {
    /// SNAPSHOT, READ WRITE, WAIT.
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    /// What it sees.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.parameters.isolation = match isolation {
            Isolation::Snapshot => EngineIsolation::Snapshot,
            Isolation::TableStability => EngineIsolation::TableStability,
            Isolation::ReadCommitted => EngineIsolation::ReadCommitted,
        };
        self
    }

    /// It writes nothing: READ ONLY.
    pub fn read_only(mut self) -> Self {
        self.parameters.read_only = true;
        self
    }

    /// It fails at once where it would wait for another transaction: NO WAIT.
    pub fn no_wait(self) -> Self {
        self.lock_timeout(Duration::ZERO)
    }

    /// It waits for another transaction for at most this long: LOCK TIMEOUT.
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.parameters.lock_timeout = Some(timeout);
        self
    }
}

/// A transaction. Dropped without [`Transaction::commit`] it is rolled back.
///
/// A connection may have several at a time, each with its own view of the database.
///
/// Savepoints are SQL: `savepoint a`, `rollback to savepoint a`, `release savepoint a`.
///
/// What reads in a transaction borrows it, so it cannot end under a reader's feet:
///
/// ```compile_fail
/// # fn main() -> farbird::Result<()> {
/// # let connection = farbird::Database::in_memory()?.connect()?;
/// let transaction = connection.transaction()?;
/// let mut rows = transaction.query("select 1 from rdb$database", ())?;
/// transaction.commit()?;
/// rows.next();
/// # Ok(())
/// # }
/// ```
pub struct Transaction<'c> {
    connection: &'c Connection,
    handle: TransactionHandle,
    /// Whether it still has to be ended.
    active: bool,
}

impl<'c> Transaction<'c> {
    pub(super) fn start(connection: &'c Connection, options: &TransactionOptions) -> Result<Transaction<'c>> {
        let parameters = options.parameters.clone();
        let handle = connection.shared().with(|attachment| Ok(attachment.start_transaction(parameters)?))?;
        Ok(Transaction { connection, handle, active: true })
    }

    pub(super) fn shared(&self) -> &std::sync::Arc<Shared> {
        self.connection.shared()
    }

    pub(super) fn handle(&self) -> TransactionHandle {
        self.handle
    }

    /// Makes its changes permanent and visible to others. They are on the disk when this returns.
    ///
    /// # Errors
    /// Of writing; what an ON TRANSACTION COMMIT trigger raises. Nothing is committed then.
    pub fn commit(mut self) -> Result<()> {
        // After a failure the destructor rolls back what there still is.
        self.shared().with(|attachment| Ok(attachment.commit(self.handle)?))?;
        self.active = false;
        Ok(())
    }

    /// Commits what was done so far and goes on with the same view of the database: COMMIT RETAIN.
    ///
    /// # Errors
    /// As [`Transaction::commit`]; the transaction goes on with its changes uncommitted.
    pub fn commit_retaining(&self) -> Result<()> {
        self.shared().with(|attachment| Ok(attachment.commit_retaining(self.handle)?))
    }

    /// Undoes everything. Dropping the transaction does the same, but cannot tell of a failure.
    ///
    /// # Errors
    /// Of reading and writing.
    pub fn rollback(mut self) -> Result<()> {
        self.active = false;
        self.shared().with(|attachment| Ok(attachment.rollback(self.handle)?))
    }

    /// Prepares a statement, which may name what this transaction has created and not yet committed. It may be used in
    /// other transactions of the connection too.
    ///
    /// # Errors
    /// Syntax, unknown names, types that do not go together, privileges that are missing.
    pub fn prepare(&self, sql: &str) -> Result<Statement> {
        Ok(Statement::new(Prepared::new(
            std::sync::Arc::clone(self.shared()),
            sql,
            Some(self.handle),
            false,
        )?))
    }

    /// Runs a statement; gives how many rows it inserted, updated and deleted.
    ///
    /// # Errors
    /// Those of the statement, which is then undone whole. The transaction goes on.
    pub fn execute(&self, sql: &str, parameters: impl Parameters) -> Result<u64> {
        execute::execute_text(self, sql, &parameters)
    }

    /// Runs a query; its rows are computed as they are asked for.
    ///
    /// # Errors
    /// Those of the statement; those of computing rows come with the rows.
    pub fn query(&self, sql: &str, parameters: impl Parameters) -> Result<Rows<'_>> {
        execute::query_text(self, sql, &parameters)
    }

    /// The one row of a query: a value, or a tuple of values.
    ///
    /// # Errors
    /// [`crate::Error::is_no_row`]; that there are several, or that they are not of this type; those of the statement.
    pub fn query_one<T: FromRow>(&self, sql: &str, parameters: impl Parameters) -> Result<T> {
        execute::query_text_optional(self, sql, &parameters)?.ok_or_else(|| Fault::NoRow.into())
    }

    /// As [`Transaction::query_one`]; `None` if there is no row.
    ///
    /// # Errors
    /// That there are several, or that they are not of this type; those of the statement.
    pub fn query_optional<T: FromRow>(&self, sql: &str, parameters: impl Parameters) -> Result<Option<T>> {
        execute::query_text_optional(self, sql, &parameters)
    }

    /// Begins a BLOB. Its [`Blob`] is what a row takes, once it is finished.
    ///
    /// # Errors
    /// That the transaction is read only; of writing.
    pub fn create_blob(&self) -> Result<BlobWriter<'_>> {
        BlobWriter::new(self)
    }

    /// Opens a BLOB that a row names.
    ///
    /// # Errors
    /// That there is no such BLOB; of reading.
    pub fn open_blob(&self, blob: Blob) -> Result<BlobReader<'_>> {
        BlobReader::new(self.shared(), self.handle, blob)
    }
}

impl Executor for Transaction<'_> {}

impl execute::sealed::InScope for Transaction<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope { shared: self.shared(), transaction: Some(self.handle) }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.active {
            self.shared().with_if_open(|attachment| {
                if attachment.has_transaction(self.handle)
                    && let Err(error) = attachment.rollback(self.handle)
                {
                    tracing::warn!(%error, "rollback of a dropped transaction failed");
                }
            });
        }
    }
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("handle", &self.handle.0).finish_non_exhaustive()
    }
}
