//! `blobs`: rows with short and long texts, kept as BLOBs or as VARCHAR, read over a link.
//!
//! The tables, the script that fills them and the six queries are those of the article; so are the figures. Preparing is
//! not part of the time, executing, fetching and reading the BLOBs of each row is.

use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{TransactionOptions, Value};
use serde::Serialize;

use super::session::Session;
use super::{BlobFile, FlightRecord, Observer, Preset, Server, Settings, WireFigure, go_on, milliseconds};
use crate::link::LinkOptions;
use crate::{Failure, Result};

/// A query of the article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlobQuery {
    /// BLOBs of less than 8,191 characters.
    ShortBlobs,
    /// The same texts as VARCHAR(8191).
    Varchar,
    /// BLOBs of any size.
    AllBlobs,
    /// Short texts cast to VARCHAR, long ones as BLOBs.
    Mixed,
    /// Short texts of a VARCHAR column, long ones as BLOBs.
    MixedOptimised,
    /// As all BLOBs, but nobody reads them.
    BlobIds,
}

impl BlobQuery {
    /// All, in the article's order.
    pub const ALL: [BlobQuery; 6] = [
        BlobQuery::ShortBlobs,
        BlobQuery::Varchar,
        BlobQuery::AllBlobs,
        BlobQuery::Mixed,
        BlobQuery::MixedOptimised,
        BlobQuery::BlobIds,
    ];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            BlobQuery::ShortBlobs => "short-blobs",
            BlobQuery::Varchar => "varchar",
            BlobQuery::AllBlobs => "all-blobs",
            BlobQuery::Mixed => "mixed",
            BlobQuery::MixedOptimised => "mixed-optimised",
            BlobQuery::BlobIds => "blob-ids",
        }
    }

    /// What it reads, in a few words.
    pub const fn about(self) -> &'static str {
        match self {
            BlobQuery::ShortBlobs => "Short BLOBs",
            BlobQuery::Varchar => "VARCHAR(8191)",
            BlobQuery::AllBlobs => "All BLOBs",
            BlobQuery::Mixed => "Mixed by CASE",
            BlobQuery::MixedOptimised => "Mixed, optimised",
            BlobQuery::BlobIds => "BLOB ids only",
        }
    }

    /// Its text, for so many rows.
    pub fn sql(self, rows: u64) -> String {
        let query = match self {
            BlobQuery::ShortBlobs => "SELECT ID, CONTENT FROM BLOB_TEST WHERE SHORT_BLOB IS TRUE",
            BlobQuery::Varchar => "SELECT ID, SHORT_CONTENT FROM BLOB_TEST WHERE SHORT_BLOB IS TRUE",
            BlobQuery::AllBlobs | BlobQuery::BlobIds => "SELECT ID, CONTENT FROM BLOB_TEST",
            BlobQuery::Mixed => {
                "SELECT BLOB_TEST.ID, \
                 CASE WHEN CHAR_LENGTH(BLOB_TEST.CONTENT) <= 8191 THEN CAST(BLOB_TEST.CONTENT AS VARCHAR(8191)) END AS SHORT_CONTENT, \
                 CASE WHEN CHAR_LENGTH(BLOB_TEST.CONTENT) > 8191 THEN CONTENT END AS CONTENT FROM BLOB_TEST"
            }
            BlobQuery::MixedOptimised => {
                "SELECT BLOB_TEST.ID, \
                 CASE WHEN BLOB_TEST.SHORT_BLOB IS TRUE THEN BLOB_TEST.SHORT_CONTENT END AS SHORT_CONTENT, \
                 CASE WHEN BLOB_TEST.SHORT_BLOB IS FALSE THEN BLOB_TEST.CONTENT END AS CONTENT FROM BLOB_TEST"
            }
        };
        format!("{query} FETCH FIRST {rows} ROWS ONLY")
    }

    /// Whether its rows have BLOBs, which may come with them.
    pub const fn has_blobs(self) -> bool {
        !matches!(self, BlobQuery::Varchar)
    }

    const fn reads_blobs(self) -> bool {
        !matches!(self, BlobQuery::BlobIds)
    }
}

/// What is measured.
#[derive(Debug, Clone)]
pub struct BlobPlan {
    /// Rows of each query.
    pub rows: u64,
    /// Queries.
    pub queries: Vec<BlobQuery>,
    /// Client generations.
    pub presets: Vec<Preset>,
    /// Without compression, with it, or both.
    pub compress: Vec<bool>,
    /// Largest BLOBs that come with their rows, for the presets that know how.
    pub inline_blob_bytes: Vec<u32>,
    /// The link.
    pub link: LinkOptions,
    /// A run that takes longer is ended, and projected from the rows that it had read.
    pub patience: Duration,
}

impl BlobPlan {
    /// The runs for one server.
    pub fn runs(&self) -> Vec<BlobRun> {
        let mut runs = Vec::new();
        for query in &self.queries {
            for preset in &self.presets {
                for compress in &self.compress {
                    let inline = match preset.has_inline_blobs() && query.has_blobs() {
                        true => self.inline_blob_bytes.as_slice(),
                        false => &[0],
                    };
                    for bytes in inline {
                        let settings = Settings {
                            compress: *compress,
                            inline_blob_bytes: *bytes,
                            ..Settings::new(*preset)
                        };
                        runs.push(BlobRun { query: *query, settings });
                    }
                }
            }
        }
        runs
    }
}

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobRun {
    /// The query.
    pub query: BlobQuery,
    /// How the client behaves.
    pub settings: Settings,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlobFigure {
    /// The server.
    pub server: String,
    /// Number of the protocol in use.
    pub protocol: u16,
    /// The query.
    pub query: BlobQuery,
    /// The client generation.
    pub preset: Preset,
    /// Whether the link was compressed.
    pub is_compressed: bool,
    /// Largest BLOB that was asked to come with its row (MaxInlineBlobSize); 0 if none.
    pub inline_blob_bytes: u32,
    /// Time of a round trip of the emulated link, in milliseconds.
    pub round_trip_ms: f64,
    /// From executing to the last byte of the last row read, in milliseconds.
    pub elapsed_ms: f64,
    /// Whether all rows were read. If not, patience ended the run.
    pub is_complete: bool,
    /// `elapsed_ms` of a complete run; of others what all rows would have taken at that pace.
    pub projected_ms: f64,
    /// The largest id read.
    pub max_id: i64,
    /// Rows read.
    pub record_count: u64,
    /// Bytes of text read.
    pub content_bytes: u64,
    /// What went over the wire.
    pub wire: WireFigure,
    /// The first flights, from connecting on.
    #[serde(skip)]
    pub flights: Vec<FlightRecord>,
}

/// Whether there is a BLOB_TEST in the database already: it is then used as it is.
///
/// # Errors
/// What the server says.
pub fn has_table(server: &Server) -> Result<bool> {
    let connection = server.attach()?;
    let there = table_exists(&connection, "BLOB_TEST")?;
    connection.close()?;
    Ok(there)
}

pub(super) fn table_exists(connection: &Connection, name: &str) -> Result<bool> {
    let transaction = connection.begin(&TransactionOptions::default())?;
    let sql = format!("select count(*) from rdb$relations where rdb$relation_name = '{name}'");
    let rows = connection.query_all(&transaction, &sql)?;
    connection.commit(transaction)?;
    let count = rows.first().and_then(|row| row.first()).map(integer);
    Ok(count.is_some_and(|count| count > 0))
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Integer { unscaled, .. } => *unscaled,
        _ => 0,
    }
}

const TABLES: [&str; 2] = [
    "CREATE TABLE BLOB_SAMPLE (ID BIGINT GENERATED BY DEFAULT AS IDENTITY, \
     FILE_NAME VARCHAR(255) CHARACTER SET UTF8 NOT NULL, CONTENT BLOB SUB_TYPE TEXT CHARACTER SET UTF8, \
     PRIMARY KEY (ID), UNIQUE (FILE_NAME))",
    "CREATE TABLE BLOB_TEST (ID BIGINT GENERATED BY DEFAULT AS IDENTITY, \
     SHORT_CONTENT VARCHAR(8191) CHARACTER SET UTF8, CONTENT BLOB SUB_TYPE TEXT CHARACTER SET UTF8, \
     SHORT_BLOB BOOLEAN DEFAULT FALSE NOT NULL, CONSTRAINT PK_BLOB_TEST PRIMARY KEY (ID))",
];

/// The article's script: the samples over and over until there are so many rows. Rows are numbered over all of its calls.
fn fill_script(from: u64, to: u64) -> String {
    format!(
        "EXECUTE BLOCK AS
  DECLARE I INTEGER = 0; DECLARE IS_SHORT BOOLEAN;
  BEGIN
    WHILE (TRUE) DO
    BEGIN
      FOR SELECT ID, CONTENT, CHAR_LENGTH(CONTENT) AS CH_L FROM BLOB_SAMPLE ORDER BY FILE_NAME AS CURSOR C
      DO
      BEGIN
        I = I + 1;
        IF (I > {from}) THEN
        BEGIN
          IS_SHORT = (C.CH_L < 8191);
          INSERT INTO BLOB_TEST (SHORT_CONTENT, CONTENT, SHORT_BLOB)
            VALUES (IIF(:IS_SHORT, :C.CONTENT, NULL), :C.CONTENT, :IS_SHORT);
        END
        IF (I = {to}) THEN EXIT;
      END
    END
  END"
    )
}

/// Rows that BLOB_TEST needs so that a query for so many short ones finds them: about half of the files are short.
pub fn table_rows(rows: u64) -> u64 {
    rows.saturating_mul(3).max(30)
}

/// Rows filled by one statement.
const FILL_AT_ONCE: u64 = 1_000;

/// Makes the tables and fills them.
///
/// # Errors
/// What the server says; [`Failure::Interrupted`].
pub fn load(server: &Server, files: &[BlobFile], rows: u64, observer: &mut dyn Observer) -> Result<()> {
    if files.is_empty() {
        return Err(Failure::Other("there are no text files to load".to_owned()));
    }
    let connection = server.attach()?;
    for table in TABLES {
        let transaction = connection.begin(&TransactionOptions::default())?;
        connection.run(&transaction, table)?;
        connection.commit(transaction)?;
    }
    observer.begin("loading files", files.len() as u64);
    let transaction = connection.begin(&TransactionOptions::default())?;
    let insert =
        connection.prepare(&transaction, "INSERT INTO BLOB_SAMPLE (FILE_NAME, CONTENT) VALUES (?, ?)")?;
    for file in files {
        go_on(observer)?;
        let blob = connection.write_blob(&transaction, file.text.as_bytes())?;
        connection.execute(&transaction, &insert, &[Value::text(&file.name), Value::Blob(blob)])?;
        observer.advance(1);
    }
    connection.commit(transaction)?;
    let rows = table_rows(rows);
    observer.begin("filling BLOB_TEST", rows);
    let mut from = 0;
    while from < rows {
        go_on(observer)?;
        let to = rows.min(from + FILL_AT_ONCE);
        let transaction = connection.begin(&TransactionOptions::default())?;
        connection.run(&transaction, &fill_script(from, to))?;
        connection.commit(transaction)?;
        observer.advance(to - from);
        from = to;
    }
    drop(insert);
    Ok(connection.close()?)
}

/// Drops what [`load`] has made.
///
/// # Errors
/// What the server says.
pub fn unload(server: &Server) -> Result<()> {
    let connection = server.attach()?;
    for table in ["BLOB_TEST", "BLOB_SAMPLE"] {
        if table_exists(&connection, table)? {
            let transaction = connection.begin(&TransactionOptions::default())?;
            connection.run(&transaction, &format!("DROP TABLE {table}"))?;
            connection.commit(transaction)?;
        }
    }
    Ok(connection.close()?)
}

/// Brings the table into the server's cache, as the article does.
///
/// # Errors
/// What the server says.
pub fn warm_up(server: &Server) -> Result<()> {
    let connection = server.attach()?;
    let transaction = connection.begin(&TransactionOptions::default())?;
    connection
        .query_all(&transaction, "SELECT MAX(CHAR_LENGTH(CONTENT)) AS MAX_CHAR_LENGTH FROM BLOB_TEST")?;
    connection.commit(transaction)?;
    Ok(connection.close()?)
}

/// Does a run: connects, prepares, and measures from executing to the last byte.
///
/// # Errors
/// What the server says; [`Failure::Interrupted`].
pub fn measure(
    server: &Server,
    plan: &BlobPlan,
    run: &BlobRun,
    observer: &mut dyn Observer,
) -> Result<BlobFigure> {
    let mut session = Session::attach(server, &plan.link, &run.settings)?;
    session.attached()?;
    session.begin()?;
    let statement = session.prepare(&run.query.sql(plan.rows))?;
    let before = session.counters();
    let start = Instant::now();
    let mut read = Read::default();
    let is_complete = read_rows(&session, &statement, plan, run, start, observer, &mut read)?;
    let elapsed = start.elapsed();
    let wire = WireFigure::between(&before, &session.counters());
    let (protocol, flights) = (session.protocol(), session.flights());
    drop(statement);
    session.close()?;
    let share = if is_complete { 1.0 } else { plan.rows as f64 / read.records.max(1) as f64 };
    Ok(BlobFigure {
        server: server.name.clone(),
        protocol,
        query: run.query,
        preset: run.settings.preset,
        is_compressed: run.settings.compress,
        inline_blob_bytes: run.settings.inline_blob_bytes,
        round_trip_ms: milliseconds(plan.link.round_trip()),
        elapsed_ms: milliseconds(elapsed),
        is_complete,
        projected_ms: milliseconds(elapsed) * share,
        max_id: read.max_id,
        record_count: read.records,
        content_bytes: read.content_bytes,
        wire,
        flights,
    })
}

/// What was read.
#[derive(Debug, Default)]
struct Read {
    records: u64,
    max_id: i64,
    content_bytes: u64,
}

/// Gives whether all rows were read.
fn read_rows(
    session: &Session,
    statement: &farbird_client::Statement,
    plan: &BlobPlan,
    run: &BlobRun,
    start: Instant,
    observer: &mut dyn Observer,
    read: &mut Read,
) -> Result<bool> {
    for row in session.open(statement, &[])? {
        let row = row?.to_values();
        read.records += 1;
        for (column, value) in row.iter().enumerate() {
            match value {
                Value::Integer { unscaled, .. } if column == 0 => read.max_id = read.max_id.max(*unscaled),
                Value::Text(text) => read.content_bytes += text.bytes().len() as u64,
                Value::Blob(id) if run.query.reads_blobs() => read.content_bytes += session.read_blob(*id)?,
                _ => {}
            }
        }
        observer.advance(1);
        go_on(observer)?;
        if start.elapsed() > plan.patience && read.records < plan.rows {
            return Ok(false);
        }
    }
    Ok(true)
}
