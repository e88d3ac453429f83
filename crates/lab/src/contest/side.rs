//! What a database must be able to do to take part.

use std::time::Duration;

pub use crate::failure::{Failure, Result};

/// Who takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Farbird inside this process.
    Embedded,
    /// A Farbird server over loopback.
    Served,
    /// A Firebird server.
    Firebird,
    /// A PostgreSQL server.
    Postgres,
}

impl Role {
    /// All, in the order in which they are shown.
    pub const ALL: [Role; 4] = [Role::Embedded, Role::Served, Role::Firebird, Role::Postgres];

    /// Short name of a column.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Embedded => "Farbird",
            Role::Served => "Farbird server",
            Role::Firebird => "Firebird",
            Role::Postgres => "PostgreSQL",
        }
    }

    /// Name in machine-readable output.
    pub const fn key(self) -> &'static str {
        match self {
            Role::Embedded => "farbird",
            Role::Served => "farbird_server",
            Role::Firebird => "firebird",
            Role::Postgres => "postgresql",
        }
    }
}

/// What a side says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Product and version.
    pub version: String,
    /// What a commit waits for.
    pub durability: String,
}

/// How SQL is written where the two languages differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Firebird's.
    Firebird,
    /// PostgreSQL's.
    Postgres,
}

/// How many rows are inserted by one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadWay {
    /// Executing it once for each row, without waiting for each answer where the protocol allows that.
    Execute,
    /// In batches of rows, where the protocol has them.
    Batch,
}

/// A row of the table that is loaded: (ID INTEGER, NAME VARCHAR(40), AMOUNT BIGINT).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedRow {
    /// Counts from 0.
    pub id: i32,
    /// A text of 18 to 24 characters.
    pub name: String,
    /// Of up to nine digits.
    pub amount: i64,
}

impl LoadedRow {
    /// The row of a number.
    pub fn new(id: i32) -> LoadedRow {
        LoadedRow { id, name: format!("customer number {id}"), amount: LoadedRow::amount_of(id) }
    }

    /// The amount in the row of a number.
    pub fn amount_of(id: i32) -> i64 {
        i64::from(id).wrapping_mul(2_654_435_761).rem_euclid(1_000_000_000)
    }
}

/// Reads one row by its key, giving one of its columns.
pub type PointReader<'s> = Box<dyn FnMut(i32) -> Result<i64> + 's>;
/// Executes a statement of two parameters, in READ COMMITTED, and commits it durably.
pub type Committer<'s> = Box<dyn FnMut(i32, i32) -> Result<()> + 's>;

/// A database that takes part.
pub trait Side {
    /// What it says of itself.
    ///
    /// # Errors
    /// [`Failure`], as in all that follows.
    fn about(&mut self) -> Result<About>;

    /// How it wants its SQL.
    fn dialect(&self) -> Dialect;

    /// Runs a statement and commits it.
    ///
    /// # Errors
    /// [`Failure`].
    fn run(&mut self, sql: &str) -> Result<()>;

    /// The one number that a query gives.
    ///
    /// # Errors
    /// [`Failure`].
    fn integer(&mut self, sql: &str) -> Result<i64>;

    /// Bytes that the contest's tables take on disk by now.
    ///
    /// # Errors
    /// [`Failure`].
    fn bytes_on_disk(&mut self) -> Result<u64>;

    /// Does what the database does in the background after much was written (sweep, vacuum), so that it is done.
    ///
    /// # Errors
    /// [`Failure`].
    fn settle(&mut self) -> Result<()>;

    /// One more client.
    ///
    /// # Errors
    /// [`Failure`].
    fn connect(&self) -> Result<Box<dyn Session>>;

    /// Drops the contest's database.
    ///
    /// # Errors
    /// [`Failure`].
    fn remove(self: Box<Self>) -> Result<()>;
}

/// A client of a side.
pub trait Session: Send {
    /// Prepares a query with one parameter.
    ///
    /// # Errors
    /// [`Failure`].
    fn point_reader<'s>(&'s mut self, sql: &str) -> Result<PointReader<'s>>;

    /// Prepares a statement with two parameters that changes one row.
    ///
    /// # Errors
    /// [`Failure`].
    fn committer<'s>(&'s mut self, sql: &str) -> Result<Committer<'s>>;

    /// Inserts so many rows through one prepared INSERT in one transaction, and commits it. Gives the time from the
    /// first row to the end of the commit; `None` if the side does not know that way.
    ///
    /// # Errors
    /// [`Failure`].
    fn load(&mut self, sql: &str, rows: i32, way: LoadWay) -> Result<Option<Duration>>;
}
