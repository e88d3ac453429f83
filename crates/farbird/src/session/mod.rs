//! One attachment as the commands of the binary use it, whether it is to a file or to a database of a server.
//!
//! Statements run in one transaction after another, as in isql: one begins when a statement needs it and lasts until
//! COMMIT or ROLLBACK; definitions commit by themselves unless that is switched off. Rows are handed to a [`Sink`] one by
//! one, so that the memory that a result takes does not grow with it.

mod embedded;
mod load;
mod remote;
mod unconnected;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use anyhow::Context;
use farbird::{Dialect, TableCounts};
use farbird_client::{ConnectOptions, Counters};
use farbird_types::{BlobId, CharacterSet, Error, SqlType, Value, isc};

pub(crate) use embedded::EmbeddedSession;
pub(crate) use load::{Load, LoadRow};
pub(crate) use remote::RemoteSession;
pub(crate) use unconnected::Unconnected;

use crate::access::{Credentials, DatabaseAddress, Line};
use crate::exchange::text::hexadecimal;

/// A column of a result, or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Its label: the alias, or the name.
    pub(crate) name: String,
    /// The table it comes from, or nothing.
    pub(crate) table: String,
    /// Its type.
    pub(crate) sql_type: SqlType,
    /// Whether it may be NULL.
    pub(crate) nullable: bool,
}

/// What a statement is, as far as the commands care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// SELECT, and what else opens a cursor.
    Query,
    /// INSERT, UPDATE, DELETE and their relatives.
    Change,
    /// CREATE, ALTER, DROP and the like.
    Definition,
    /// COMMIT, ROLLBACK, SET TRANSACTION.
    Transaction,
    /// EXECUTE PROCEDURE, EXECUTE BLOCK, savepoints, settings of the session.
    Other,
}

/// What is known of a statement without running it.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub(crate) columns: Vec<Column>,
    pub(crate) parameters: Vec<Column>,
    /// The access plan; empty if there is none.
    pub(crate) plan: String,
}

/// What became of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) kind: Kind,
    /// Rows inserted, updated and deleted; only if that was asked for.
    pub(crate) changed: Option<u64>,
}

/// Why a statement did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database says so.
    Statement(Error),
    /// What takes the rows cannot.
    Output(io::Error),
    /// What takes the rows wants no more of them.
    Enough,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Statement(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> anyhow::Error {
        match failure {
            Failure::Statement(error) => error.into(),
            Failure::Output(error) => error.into(),
            Failure::Enough => anyhow::anyhow!("no more rows are wanted"),
        }
    }
}

/// Takes the rows of a statement.
pub(crate) trait Sink {
    /// The columns, before the first row; not called for statements without any.
    fn columns(&mut self, columns: &[Column]) -> Result<(), Failure>;

    /// A row. Its BLOBs can be read now.
    fn row(&mut self, values: &[Value], blobs: &mut dyn Blobs) -> Result<(), Failure>;
}

/// Contents of a BLOB, or as many of them as were wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) bytes: Vec<u8>,
    /// There is more.
    pub(crate) cut: bool,
}

/// Reads BLOBs of the row at hand.
pub(crate) trait Blobs {
    /// Reads at most `bytes_max` bytes of a BLOB.
    fn read(&mut self, id: BlobId, bytes_max: usize) -> Result<Contents, Error>;
}

/// Stops, from another thread, what a session runs. Only while it runs something: an early cancel would stop the next
/// statement.
pub(crate) type Canceller = Box<dyn Fn() + Send + Sync>;

/// What the wire carried, of a session with a server.
pub(crate) type WireCounters = Counters;

/// An attachment.
pub(crate) trait Session {
    /// Runs a statement and hands its rows to `sink`. `bound`: texts for its parameters, `None` for NULL. `count`: how many
    /// rows it changes is of interest.
    fn run(
        &mut self,
        sql: &str,
        bound: &[Option<String>],
        count: bool,
        sink: &mut dyn Sink,
    ) -> Result<Ran, Failure>;

    /// All rows of a short query about the catalog: in the transaction that is open, else in one of its own. BLOBs come as
    /// texts.
    fn look_up(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Vec<Value>>, Error>;

    /// What is known of a statement without running it.
    fn describe(&mut self, sql: &str) -> Result<Description, Error>;

    /// Runs a statement for each row of a source, in transactions of their own: one for every `rows_per_commit` rows, or
    /// one for all.
    fn load(&mut self, sql: &str, rows_per_commit: Option<u64>, source: &mut dyn Load)
    -> Result<(), Failure>;

    /// Makes permanent what was done since the last COMMIT.
    fn commit(&mut self) -> Result<(), Error>;

    /// Undoes what was done since the last COMMIT.
    fn rollback(&mut self) -> Result<(), Error>;

    /// Whether a transaction is open.
    fn is_in_transaction(&self) -> bool;

    /// Whether definitions commit at once.
    fn commit_definitions(&mut self, at_once: bool);

    /// Has the texts of statements be of this SQL dialect from now on.
    fn set_dialect(&mut self, dialect: Dialect);

    /// What stops a running statement.
    fn canceller(&self) -> Canceller;

    /// Has a cancel that came too late for its statement not stop the next one.
    fn forget_cancel(&mut self);

    /// What it has done so far with the rows of tables, by RDB$RELATION_ID.
    fn table_counts(&mut self) -> Result<BTreeMap<u32, TableCounts>, Error>;

    /// Packets and bytes so far, of a session with a server.
    fn counters(&self) -> Option<WireCounters>;

    /// Where it is, for people: file or server, its version, protocol and encryption.
    fn about(&mut self) -> Result<Vec<(&'static str, String)>, Error>;
}

/// What an attachment is opened with.
#[derive(Default)]
pub(crate) struct Opening {
    /// Make the database if there is none.
    pub(crate) create: bool,
    /// Make a new one, which must not be there.
    pub(crate) new: Option<NewDatabase>,
    /// The character set in which texts travel to a server and back; UTF8 if none is named.
    pub(crate) character_set: Option<String>,
    /// The SQL dialect of a database that is made.
    pub(crate) dialect: Dialect,
}

/// What a new database is like. Nothing stands for the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewDatabase {
    /// In bytes.
    pub(crate) page_size: Option<u32>,
    /// The character set of texts that name none.
    pub(crate) character_set: Option<String>,
}

/// The values of a statement's parameters from the texts that stand for them.
///
/// # Errors
/// That there are too few or too many, or that a text does not suit its parameter.
fn bind(parameters: &[Column], bound: &[Option<String>]) -> Result<Vec<Value>, Error> {
    let refused = |words: String| Error::new(isc::DSQL_SQLDA_ERR).and(isc::RANDOM).with(words);
    if parameters.len() != bound.len() {
        let (wanted, given) = (parameters.len(), bound.len());
        let plural = if wanted == 1 { "" } else { "s" };
        let words = format!("the statement has {wanted} parameter{plural}, \\bind gave {given}");
        return Err(refused(words));
    }
    let value = |(index, (parameter, text)): (usize, (&Column, &Option<String>))| match text {
        None => Ok(Value::Null),
        Some(text) if matches!(parameter.sql_type, SqlType::Blob { .. }) => Ok(Value::text(text)),
        Some(text) => crate::exchange::text::parse(text, parameter.sql_type)
            .map_err(|words| refused(format!("parameter {}: {words}", index + 1))),
    };
    parameters.iter().zip(bound).enumerate().map(value).collect()
}

/// An attachment that is open, from which a [`Session`] is got.
pub(crate) enum Attached {
    File(farbird::Connection),
    Server(Box<RemoteSession>),
}

impl Attached {
    /// Attaches a database.
    ///
    /// # Errors
    /// That there is none, or it cannot be reached or opened; that the user is not let in.
    pub(crate) fn open(
        address: &str,
        credentials: &Credentials,
        line: &Line,
        opening: &Opening,
    ) -> anyhow::Result<Attached> {
        match DatabaseAddress::parse(address)? {
            DatabaseAddress::File(path) => open_file(&path, opening).map(Attached::File),
            DatabaseAddress::Server(_) | DatabaseAddress::Farlink => {
                let mut options = line.apply(credentials.options()?);
                if let Some(name) = &opening.character_set {
                    options.character_set.clone_from(name);
                }
                options.attach.dialect = Some(opening.dialect.number());
                open_server(address, &options, opening).map(|session| Attached::Server(Box::new(session)))
            }
        }
    }

    /// Works in a session with it. A transaction that is left open at the end of a file's session is rolled back.
    pub(crate) fn with<T>(&mut self, work: impl FnOnce(&mut dyn Session) -> T) -> T {
        match self {
            Attached::File(connection) => work(&mut EmbeddedSession::new(connection)),
            Attached::Server(session) => work(&mut **session),
        }
    }

    /// Drops the database. If it refuses, it is handed back, and attached as before.
    pub(crate) fn drop_database(self) -> Result<(), (Option<Attached>, Error)> {
        match self {
            Attached::File(connection) => connection
                .drop_database()
                .map_err(|(connection, error)| (Some(Attached::File(connection)), embedded::status(&error))),
            Attached::Server(session) => session.drop_database().map_err(|error| (None, error)),
        }
    }

    /// Takes leave.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        match self {
            Attached::File(connection) => Ok(connection.close().map_err(|error| embedded::status(&error))?),
            Attached::Server(session) => Ok(session.close()?),
        }
    }
}

fn open_file(path: &Path, opening: &Opening) -> anyhow::Result<farbird::Connection> {
    let mut options = farbird::Database::options().dialect(opening.dialect);
    let opened = match (&opening.new, opening.create) {
        (Some(new), _) => {
            if new.page_size.is_some() {
                eprintln!("farbird: a file has no page size: PAGE_SIZE is passed over");
            }
            if let Some(name) = &new.character_set {
                let character_set = CharacterSet::by_name(name)
                    .with_context(|| format!("there is no character set {name}"))?;
                options = options.character_set(character_set);
            }
            options.create(path)
        }
        (None, true) => options.open_or_create(path),
        (None, false) => options.open(path),
    };
    opened
        .and_then(|database| database.connect())
        .map_err(|error| anyhow::anyhow!("{}", error.message()))
        .with_context(|| format!("cannot open {}", path.display()))
}

fn open_server(address: &str, options: &ConnectOptions, opening: &Opening) -> anyhow::Result<RemoteSession> {
    RemoteSession::open(address, options, opening)
        .map_err(|error| anyhow::anyhow!("{}", error.message()))
        .with_context(|| format!("cannot open {address}"))
}

/// The text of a BLOB's contents, or of a text value: in its own character set, hexadecimal if it has none and is no
/// UTF-8.
pub(crate) fn text_of_bytes(bytes: &[u8], character_set: CharacterSet) -> String {
    match character_set {
        CharacterSet::NONE | CharacterSet::OCTETS | CharacterSet::UTF8 => match std::str::from_utf8(bytes) {
            Ok(text) if character_set != CharacterSet::OCTETS => text.to_owned(),
            _ if character_set == CharacterSet::UTF8 => String::from_utf8_lossy(bytes).into_owned(),
            _ => hexadecimal(bytes),
        },
        other => other.decode_lossy(bytes).into_owned(),
    }
}
