//! Prepared statements.

use std::fmt;

use super::error::{Fault, Result};
use super::execute::{self, Executor};
use super::parameters::Parameters;
use super::prepared::Prepared;
use super::rows::{Column, FromRow, Rows};

pub use farbird_engine::api::StatementKind;

/// A statement that is parsed, bound and planned once and run often.
///
/// It belongs to its connection, not to a transaction: it runs in the one that it is given, or, given the connection,
/// in one of its own. A transaction that has ended cannot be given: committing consumes it.
///
/// ```
/// # fn main() -> farbird::Result<()> {
/// # let connection = farbird::Database::in_memory()?.connect()?;
/// # connection.execute("create table t (a int primary key, b varchar(10))", ())?;
/// let mut insert = connection.prepare("insert into t values (?, ?)")?;
/// let transaction = connection.transaction()?;
/// for a in 0..100 {
///     insert.execute(&transaction, (a, "row"))?;
/// }
/// transaction.commit()?;
///
/// let mut find = connection.prepare("select b from t where a = ?")?;
/// let found: String = find.query_one(&connection, (42,))?;
/// assert_eq!(found, "row");
/// # Ok(())
/// # }
/// ```
pub struct Statement {
    prepared: Prepared,
}

impl Statement {
    pub(super) fn new(prepared: Prepared) -> Statement {
        Statement { prepared }
    }

    /// What kind of statement it is.
    pub fn kind(&self) -> StatementKind {
        self.prepared.description.kind
    }

    /// Its parameters, in order.
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = Column<'_>> {
        self.prepared.description.parameters.iter().map(Column)
    }

    /// The columns of its rows, in order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Column<'_>> {
        self.prepared.description.columns.iter().map(Column)
    }

    /// How it goes about its work: the plan, in Firebird's short form.
    pub fn plan(&self) -> &str {
        &self.prepared.description.plan
    }

    /// Runs it; gives how many rows it inserted, updated and deleted.
    ///
    /// # Errors
    /// Those of the statement, which is then undone whole; that its table was altered so that its parameters or
    /// columns are no longer what they were: prepare it again.
    pub fn execute(&mut self, executor: &impl Executor, parameters: impl Parameters) -> Result<u64> {
        execute::execute_prepared(executor, &mut self.prepared, &parameters)
    }

    /// Runs it as a query; its rows are computed as they are asked for.
    ///
    /// # Errors
    /// As [`Statement::execute`]; those of computing rows come with the rows.
    pub fn query<'r>(
        &'r mut self,
        executor: &'r impl Executor,
        parameters: impl Parameters,
    ) -> Result<Rows<'r>> {
        execute::query_prepared(executor, &mut self.prepared, &parameters)
    }

    /// The one row of a query: a value, or a tuple of values.
    ///
    /// # Errors
    /// [`crate::Error::is_no_row`]; that there are several, or that they are not of this type; those of the statement.
    pub fn query_one<T: FromRow>(
        &mut self,
        executor: &impl Executor,
        parameters: impl Parameters,
    ) -> Result<T> {
        self.query_optional(executor, parameters)?.ok_or_else(|| Fault::NoRow.into())
    }

    /// As [`Statement::query_one`]; `None` if there is no row.
    ///
    /// # Errors
    /// That there are several, or that they are not of this type; those of the statement.
    pub fn query_optional<T: FromRow>(
        &mut self,
        executor: &impl Executor,
        parameters: impl Parameters,
    ) -> Result<Option<T>> {
        execute::query_prepared_optional(executor, &mut self.prepared, &parameters)
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement").field("kind", &self.kind()).finish_non_exhaustive()
    }
}
