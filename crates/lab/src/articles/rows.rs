//! `rows`: rows of NULL in a wide column, in several character sets: inserting them, counting them, bytes on disk.
//!
//! Firebird keeps a row as its record image, compressed by runs: an empty VARCHAR(8000) in UTF8 is 32,000 bytes of
//! nothing, and still hundreds on disk. Farbird's codecs differ in what they make of that.

use std::path::Path;
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{TransactionOptions, Value};
use serde::Serialize;

use super::{Observer, Server, go_on, milliseconds};
use crate::{Failure, Result};

/// A character set of the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RowCharacterSet {
    /// One byte a character, of unknown meaning.
    None,
    /// One byte a character.
    Win1250,
    /// Up to four bytes a character.
    Utf8,
}

impl RowCharacterSet {
    /// All.
    pub const ALL: [RowCharacterSet; 3] =
        [RowCharacterSet::None, RowCharacterSet::Win1250, RowCharacterSet::Utf8];

    /// Its name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            RowCharacterSet::None => "NONE",
            RowCharacterSet::Win1250 => "WIN1250",
            RowCharacterSet::Utf8 => "UTF8",
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowsFigure {
    /// The server.
    pub server: String,
    /// Character set of the column.
    pub character_set: RowCharacterSet,
    /// The record codec; `None` where the server has but one.
    pub codec: Option<String>,
    /// Rows of NULL.
    pub rows: u64,
    /// Inserting them in a loop of PSQL, in milliseconds.
    pub insert_ms: f64,
    /// COUNT(*) after the database was closed and opened again, in milliseconds.
    pub first_count_ms: f64,
    /// COUNT(*) once more, in milliseconds.
    pub second_count_ms: f64,
    /// Size of the database file, in bytes.
    pub bytes_on_disk: u64,
    /// What of that a row takes: without an empty database's size.
    pub bytes_per_row: f64,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsRun {
    /// Character set of the column.
    pub character_set: RowCharacterSet,
    /// The record codec to ask for, if the server knows any.
    pub codec: Option<String>,
}

/// Rows inserted by one statement.
const INSERT_AT_ONCE: u64 = 250_000;

/// Does a run in a database made for it at the server's location, which must not exist, and drops that.
///
/// `folder` is where the server keeps the database, if that is known: files are then measured themselves, as the
/// operating system has them, instead of asking the server for its pages.
///
/// # Errors
/// What the server says; [`Failure::Interrupted`].
pub fn measure(
    server: &Server,
    run: &RowsRun,
    rows: u64,
    folder: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<RowsFigure> {
    let result = insert(server, run, rows, folder, observer).and_then(|inserted| {
        // All connections are closed by now, so that the first count finds nothing in the server's caches.
        let connection = server.attach()?;
        let first_count = count(&connection, rows)?;
        let second_count = count(&connection, rows)?;
        let bytes = size(&connection, server, folder)?;
        connection.close()?;
        Ok(RowsFigure {
            server: server.name.clone(),
            character_set: run.character_set,
            codec: run.codec.clone(),
            rows,
            insert_ms: milliseconds(inserted.time),
            first_count_ms: milliseconds(first_count),
            second_count_ms: milliseconds(second_count),
            bytes_on_disk: bytes,
            bytes_per_row: bytes.saturating_sub(inserted.empty_bytes) as f64 / rows.max(1) as f64,
        })
    });
    let dropped = server.attach().and_then(|connection| Ok(connection.drop_database()?));
    // The first failure is the one to tell.
    let figure = result?;
    dropped?;
    Ok(figure)
}

struct Inserted {
    empty_bytes: u64,
    time: Duration,
}

fn insert(
    server: &Server,
    run: &RowsRun,
    rows: u64,
    folder: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<Inserted> {
    let connection = server.create()?;
    let storage = run.codec.as_ref().map(|codec| format!(" storage codec '{codec}'")).unwrap_or_default();
    let character_set = run.character_set.name();
    let table = format!("create table t (a varchar(8000) character set {character_set}){storage}");
    statement(&connection, &table)?;
    let empty_bytes = size(&connection, server, folder)?;
    let start = Instant::now();
    let mut done = 0;
    while done < rows {
        go_on(observer)?;
        let some = INSERT_AT_ONCE.min(rows - done);
        let sql = format!(
            "execute block as declare i bigint = 0; begin while (i < {some}) do begin \
             insert into t values (null); i = i + 1; end end"
        );
        statement(&connection, &sql)?;
        done += some;
        observer.advance(some);
    }
    let time = start.elapsed();
    connection.close()?;
    Ok(Inserted { empty_bytes, time })
}

/// Bytes of the database on disk.
fn size(connection: &Connection, server: &Server, folder: Option<&Path>) -> Result<u64> {
    match folder {
        Some(folder) => file_bytes(&folder.join(&server.location.database)),
        None => page_bytes(connection),
    }
}

fn statement(connection: &Connection, sql: &str) -> Result<()> {
    let transaction = connection.begin(&TransactionOptions::default())?;
    connection.run(&transaction, sql)?;
    Ok(connection.commit(transaction)?)
}

/// How long COUNT(*) takes, which must find so many rows.
fn count(connection: &Connection, wanted: u64) -> Result<Duration> {
    let transaction = connection.begin(&TransactionOptions::default())?;
    let start = Instant::now();
    let rows = connection.query_all(&transaction, "select count(*) from t")?;
    let time = start.elapsed();
    connection.commit(transaction)?;
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Integer { unscaled, .. }) if u64::try_from(*unscaled) == Ok(wanted) => Ok(time),
        other => Err(Failure::Other(format!("COUNT(*) gave {other:?} instead of {wanted}"))),
    }
}

/// The database file and whatever is kept beside it under its name.
fn file_bytes(path: &Path) -> Result<u64> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(0) };
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(name.as_encoded_bytes()) {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

fn page_bytes(connection: &Connection) -> Result<u64> {
    let transaction = connection.begin(&TransactionOptions::default())?;
    let rows = connection.query_all(&transaction, "select mon$pages * mon$page_size from mon$database")?;
    connection.commit(transaction)?;
    let bytes = match rows.first().and_then(|row| row.first()) {
        Some(Value::Integer { unscaled, .. }) => u64::try_from(*unscaled).ok(),
        Some(Value::Int128 { unscaled, .. }) => u64::try_from(*unscaled).ok(),
        _ => None,
    };
    Ok(bytes.unwrap_or_default())
}
