//! Statements one after another, as a script or a conversation has them: COMMIT, ROLLBACK and SET TRANSACTION are
//! statements among others.

use std::fmt;
use std::sync::Arc;

use farbird_engine::api::{ExecuteOptions, Execution, StatementKind, TransactionHandle};

use super::connection::{Connection, controls_transactions};
use super::error::Result;
use super::execute::{self, Executor, Scope};
use super::parameters::Parameters;
use super::prepared::Prepared;
use super::rows::Rows;

/// Runs statements one after another, in one transaction after another: what a shell does.
///
/// A transaction begins with the first statement that needs one and lasts until COMMIT or ROLLBACK. Dropped, the last one
/// is rolled back.
///
/// ```
/// # fn main() -> farbird::Result<()> {
/// use farbird::Script;
///
/// # let connection = farbird::Database::in_memory()?.connect()?;
/// let mut script = Script::new(&connection);
/// script.execute("create table t (a int)")?;
/// script.execute("commit")?;
/// script.execute("insert into t values (1)")?;
/// assert_eq!(script.query("select a from t", ())?.count(), 1);
/// script.execute("rollback")?;
/// assert_eq!(script.query("select a from t", ())?.count(), 0);
/// # Ok(())
/// # }
/// ```
pub struct Script<'c> {
    connection: &'c Connection,
    transaction: Option<TransactionHandle>,
    commit_definitions: bool,
}

impl<'c> Script<'c> {
    /// Nothing has run yet.
    pub fn new(connection: &'c Connection) -> Script<'c> {
        Script { connection, transaction: None, commit_definitions: false }
    }

    /// Whether CREATE, ALTER, DROP and the like commit at once, with what was done before them: isql's AUTODDL. They do
    /// not unless this says so.
    pub fn commit_definitions(&mut self, at_once: bool) {
        self.commit_definitions = at_once;
    }

    /// Runs a statement; the rows of a query are read and forgotten.
    ///
    /// # Errors
    /// Those of the statement, which is then undone whole. The transaction goes on.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        self.query(sql, ())?.try_for_each(|row| row.map(drop))
    }

    /// Runs a statement. What is no query gives no rows, and no columns.
    ///
    /// # Errors
    /// As [`Script::execute`]; those of computing rows come with the rows.
    pub fn query(&mut self, sql: &str, parameters: impl Parameters) -> Result<Rows<'_>> {
        let transaction = self.transaction()?;
        let shared = self.connection.shared();
        let prepared = Prepared::any(Arc::clone(shared), sql, Some(transaction), false)?;
        let kind = prepared.description.kind;
        if controls_transactions(kind) {
            self.control(&prepared, transaction)?;
            return Ok(Rows::none(shared, prepared, transaction));
        }
        if kind == StatementKind::Ddl && self.commit_definitions {
            let mut prepared = prepared;
            execute::execute_prepared(self, &mut prepared, &parameters)?;
            self.commit()?;
            return Ok(Rows::none(shared, prepared, transaction));
        }
        execute::query_owned(self, prepared, &parameters)
    }

    /// Makes permanent what was done since the last COMMIT.
    ///
    /// # Errors
    /// Of writing.
    pub fn commit(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction else { return Ok(()) };
        self.connection.shared().with(|attachment| Ok(attachment.commit(transaction)?))?;
        self.transaction = None;
        Ok(())
    }

    /// Undoes what was done since the last COMMIT.
    ///
    /// # Errors
    /// Of reading and writing.
    pub fn rollback(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        self.connection.shared().with(|attachment| Ok(attachment.rollback(transaction)?))
    }

    /// The transaction that goes on, or a new one.
    fn transaction(&mut self) -> Result<TransactionHandle> {
        let shared = self.connection.shared();
        match self.transaction {
            Some(transaction) => Ok(transaction),
            None => {
                let begun =
                    shared.with(|attachment| Ok(attachment.start_transaction(Default::default())?))?;
                Ok(*self.transaction.insert(begun))
            }
        }
    }

    /// COMMIT, ROLLBACK, SET TRANSACTION.
    fn control(&mut self, prepared: &Prepared, transaction: TransactionHandle) -> Result<()> {
        let execution = self.connection.shared().with(|attachment| {
            let options = ExecuteOptions::default();
            Ok(attachment.execute(prepared.handle, Some(transaction), Vec::new(), options)?)
        })?;
        match execution {
            Execution::TransactionEnded => self.transaction = None,
            Execution::TransactionStarted(started) => {
                self.rollback()?;
                self.transaction = Some(started);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Executor for Script<'_> {}

impl execute::sealed::InScope for Script<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope { shared: self.connection.shared(), transaction: self.transaction }
    }
}

impl Drop for Script<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.rollback() {
            tracing::warn!(%error, "rollback at the end of a script failed");
        }
    }
}

impl fmt::Debug for Script<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}
