//! What can go wrong, as one type.

use std::fmt;

use farbird_types::isc;

/// Result with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed: a status of the database, or a mistake in how its library was called.
///
/// The predicates say what programs usually want to know; [`Error::gds_code`] and [`Error::sql_state`] tell the rest.
/// `Display` gives the whole message in one line.
///
/// ```
/// # fn main() -> farbird::Result<()> {
/// let db = farbird::Database::in_memory()?;
/// let connection = db.connect()?;
/// connection.execute("create table users (name varchar(20) primary key)", ())?;
/// connection.execute("insert into users values (?)", ("ada",))?;
///
/// let error = connection.execute("insert into users values (?)", ("ada",)).unwrap_err();
/// assert!(error.is_unique_violation());
/// assert_eq!(error.sql_state(), "23000");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq)]
pub struct Error(Box<Fault>);

/// What is behind an [`Error`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// The database says so.
    Status(farbird_types::Error),
    /// A column's value is not of the type that was asked for.
    Conversion { column: String, found: String, wanted: &'static str },
    /// The row has no such column.
    NoSuchColumn(String),
    /// A query that was to give one row gave none.
    NoRow,
    /// A query that was to give one row gave several.
    SeveralRows,
    /// Not as many parameters as the statement has.
    ParameterCount { expected: usize, given: usize },
    /// A statement and a transaction of different connections.
    OtherConnection,
    /// COMMIT, ROLLBACK or SET TRANSACTION where the transaction is somebody else's value.
    TransactionControl,
    /// The connection was closed.
    Closed,
    /// A script's statement failed.
    Script { line: u32, error: Error },
}

impl Error {
    /// Firebird's code of what went wrong, one of [`crate::isc`]; 0 if the database was not asked.
    pub fn gds_code(&self) -> u32 {
        self.status().map_or(0, farbird_types::Error::gds_code)
    }

    /// The SQLSTATE: five characters, as the SQL standard and Firebird have it.
    pub fn sql_state(&self) -> &'static str {
        match &*self.0 {
            Fault::Status(status) => status.sql_state(),
            Fault::Conversion { .. } => "22018",
            Fault::NoSuchColumn(_) => "42S22",
            Fault::NoRow => "02000",
            Fault::SeveralRows => "21000",
            Fault::ParameterCount { .. } => "07001",
            Fault::OtherConnection | Fault::Closed => "08003",
            Fault::TransactionControl => "25000",
            Fault::Script { error, .. } => error.sql_state(),
        }
    }

    /// The SQLCODE of old; -999 if there is none.
    pub fn sql_code(&self) -> i32 {
        self.status().map_or(-999, farbird_types::Error::sql_code)
    }

    /// The status with all its codes and arguments, if the database gave one.
    pub fn status(&self) -> Option<&farbird_types::Error> {
        match &*self.0 {
            Fault::Status(status) => Some(status),
            Fault::Script { error, .. } => error.status(),
            _ => None,
        }
    }

    /// The message as Firebird's shell prints it: a line for each code of the status.
    pub fn message(&self) -> String {
        match &*self.0 {
            Fault::Status(status) => status.message(),
            Fault::Script { error, .. } => error.message(),
            _ => self.to_string(),
        }
    }

    /// The line of the script on which the failed statement begins, counted from 1.
    pub fn script_line(&self) -> Option<u32> {
        match &*self.0 {
            Fault::Script { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// A row with this key exists: PRIMARY KEY, UNIQUE or a unique index.
    pub fn is_unique_violation(&self) -> bool {
        self.has(&[isc::UNIQUE_KEY_VIOLATION, isc::NO_DUP])
    }

    /// A FOREIGN KEY without its row, or a row that others refer to.
    pub fn is_foreign_key_violation(&self) -> bool {
        self.has(&[isc::FOREIGN_KEY])
    }

    /// A CHECK does not hold.
    pub fn is_check_violation(&self) -> bool {
        self.has(&[isc::CHECK_CONSTRAINT])
    }

    /// NULL where there must be a value.
    pub fn is_not_null_violation(&self) -> bool {
        self.has(&[isc::NOT_VALID, isc::NOT_VALID_FOR, isc::NOT_VALID_FOR_VAR])
    }

    /// Somebody else changed the row, or is about to: run the transaction again.
    pub fn is_update_conflict(&self) -> bool {
        self.has(&[isc::UPDATE_CONFLICT])
    }

    /// A lock was not to be had: at once, in time, or ever because two transactions waited for each other.
    pub fn is_lock_conflict(&self) -> bool {
        self.has(&[isc::DEADLOCK, isc::LOCK_CONFLICT, isc::LOCK_TIMEOUT])
    }

    /// Whether the same transaction may succeed when it is run again from its beginning.
    pub fn is_retryable(&self) -> bool {
        self.is_update_conflict() || self.is_lock_conflict()
    }

    /// A [`crate::Canceller`] stopped the statement, or its time was up.
    pub fn is_cancelled(&self) -> bool {
        self.has(&[isc::CANCELLED])
    }

    /// The query gave no row although one was asked for.
    pub fn is_no_row(&self) -> bool {
        matches!(&*self.0, Fault::NoRow)
    }

    fn has(&self, codes: &[u32]) -> bool {
        self.status().is_some_and(|status| codes.iter().any(|code| status.has(*code)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Fault::Status(status) => status.fmt(f),
            Fault::Conversion { column, found, wanted } => {
                write!(f, "column {column}: {found} is no {wanted}")
            }
            Fault::NoSuchColumn(column) => write!(f, "the row has no column {column}"),
            Fault::NoRow => f.write_str("the query gave no row"),
            Fault::SeveralRows => f.write_str("the query gave more than one row"),
            Fault::ParameterCount { expected, given } => {
                write!(f, "the statement has {expected} parameters, {given} were given")
            }
            Fault::OtherConnection => {
                f.write_str("the statement was prepared on another connection than the transaction's")
            }
            Fault::TransactionControl => f.write_str(
                "COMMIT, ROLLBACK and SET TRANSACTION are methods of Transaction, or statements of a script",
            ),
            Fault::Closed => f.write_str("the connection is closed"),
            Fault::Script { line, error } => write!(f, "line {line}: {error}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self}; SQLSTATE {}", self.sql_state())?;
        match self.gds_code() {
            0 => f.write_str(")"),
            code => write!(f, "; gds code {code})"),
        }
    }
}

impl std::error::Error for Error {}

impl From<farbird_types::Error> for Error {
    fn from(status: farbird_types::Error) -> Self {
        Error::from(Fault::Status(status))
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error(Box::new(fault))
    }
}

impl From<Error> for std::io::Error {
    /// For readers and writers of BLOBs.
    fn from(error: Error) -> Self {
        std::io::Error::other(error)
    }
}
