//! What a database must be able to do to take part.

use std::time::Duration;

use super::answer::Answer;
use super::guard::Patience;
use crate::Result;

/// How SQL is written where the languages differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Firebird's, and Farbird's.
    Firebird,
    /// PostgreSQL's.
    Postgres,
    /// DuckDB's.
    DuckDb,
}

impl Dialect {
    /// All of them.
    pub(super) const ALL: [Dialect; 3] = [Dialect::Firebird, Dialect::Postgres, Dialect::DuckDb];
    /// Those of servers.
    pub(super) const SERVERS: [Dialect; 2] = [Dialect::Firebird, Dialect::Postgres];

    /// By which parts of statements are for it alone.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Dialect::Firebird => "firebird",
            Dialect::Postgres => "postgresql",
            Dialect::DuckDb => "duckdb",
        }
    }
}

/// A table that is loaded, in words that every dialect takes.
#[derive(Debug, Clone, Copy)]
pub struct TableDefinition {
    /// Its name.
    pub name: &'static str,
    /// Names and types of its columns; none takes NULL.
    pub columns: &'static [(&'static str, &'static str)],
    /// Columns of its primary key, separated by commas.
    pub primary_key: &'static str,
    /// The columns that get an ordinary index each.
    pub indexes: &'static [&'static str],
}

impl TableDefinition {
    pub(super) fn create(&self) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|(name, kind)| format!("{name} {kind} not null")).collect();
        format!("create table {} ({})", self.name, columns.join(", "))
    }

    /// What is done behind loading: the primary key, and the ordinary indexes.
    pub(super) fn create_indexes(&self) -> Vec<String> {
        let TableDefinition { name, primary_key, .. } = self;
        let mut all = vec![format!("alter table {name} add primary key ({primary_key})")];
        all.extend(
            self.indexes.iter().map(|column| format!("create index i_{name}_{column} on {name} ({column})")),
        );
        all
    }

    pub(super) fn column_names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

/// What stands in a column of a row that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// Of any integer type.
    Integer(i64),
    /// Of NUMERIC(15,2), in hundredths.
    Money(i64),
    /// Of CHAR or VARCHAR; has no tabs, line ends and backslashes.
    Text(&'a str),
    /// Days since 1858-11-17.
    Date(i32),
}

/// Takes a row of a table.
pub type Visitor<'v> = dyn FnMut(&[Field<'_>]) -> Result<()> + 'v;
/// Gives the rows of a table, one after another, until that fails.
pub type Rows<'a> = dyn Fn(&mut Visitor<'_>) -> Result<()> + 'a;

/// A database that takes part.
pub trait Side {
    /// Its name in figures.
    fn name(&self) -> &str;

    /// How it wants its SQL.
    fn dialect(&self) -> Dialect;

    /// What it says of itself: version, and what its commits wait for.
    ///
    /// # Errors
    /// [`crate::Failure`], as in all that follows.
    fn about(&mut self) -> Result<String>;

    /// Runs a statement and commits it; gives what that took.
    ///
    /// # Errors
    /// [`crate::Failure`]; `TimedOut` if it took too long. It is undone then.
    fn run(&mut self, sql: &str, patience: &Patience<'_>) -> Result<Duration>;

    /// Reads all rows of a query and commits; gives what that took.
    ///
    /// # Errors
    /// As [`Side::run`].
    fn answer(&mut self, sql: &str, patience: &Patience<'_>) -> Result<(Answer, Duration)>;

    /// Fills a table that there is, by the fastest way that this database has for a program's rows.
    ///
    /// # Errors
    /// [`crate::Failure`], also of `rows`.
    fn load(&mut self, table: &TableDefinition, rows: &Rows<'_>) -> Result<()>;

    /// Lets the database do what it does in the background after much was written.
    ///
    /// # Errors
    /// [`crate::Failure`].
    fn settle(&mut self) -> Result<()>;

    /// One more connection. `None` if it makes no sense: a library whose calls go through another process.
    ///
    /// # Errors
    /// [`crate::Failure`].
    fn connect(&self) -> Result<Option<Box<dyn Client>>>;

    /// Drops the database.
    ///
    /// # Errors
    /// [`crate::Failure`].
    fn remove(self: Box<Self>) -> Result<()>;
}

/// A connection that executes prepared statements whose parameters are BIGINTs, written `?`.
pub trait Client: Send {
    /// Executes a query of one number for each key, each when the one before is answered, in one transaction; gives the sum.
    ///
    /// # Errors
    /// [`crate::Failure`], as in all that follows; also that there is no row.
    fn read_all(&mut self, sql: &str, keys: &mut dyn Iterator<Item = i64>) -> Result<i64>;

    /// Executes a statement for each pair of parameters, each when the one before is answered, in one transaction.
    ///
    /// # Errors
    /// [`crate::Failure`].
    fn change_all(&mut self, sql: &str, parameters: &mut dyn Iterator<Item = Vec<i64>>) -> Result<()>;

    /// Executes a query of one row in a transaction of its own, prepared if this client has prepared it before; gives its
    /// first column.
    ///
    /// # Errors
    /// [`crate::Failure`].
    fn read(&mut self, sql: &str, key: i64) -> Result<i64>;

    /// Executes a statement and commits it durably, prepared if this client has prepared it before.
    ///
    /// # Errors
    /// [`crate::Failure`].
    fn change(&mut self, sql: &str, parameters: &[i64]) -> Result<()>;
}
