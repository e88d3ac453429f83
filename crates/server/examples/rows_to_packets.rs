//! How many rows a second a server makes packets of, without a line: rows of one INTEGER from a table's blocks, by columns, into
//! a buffer that is emptied each time it would be sent.
//!
//! `cargo run --release -p farbird-server --example rows_to_packets 5000000`

use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_engine::api::{
    AttachOptions, ClientDescription, ColumnValues, CreateDatabaseOptions, ExecuteOptions, FetchEnd,
    FetchedRows, TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::users::{NoUsers, UserDirectory};
use farbird_types::{CharacterSet, Result};
use farbird_wire::message::{ColumnData, ColumnSlice, MessageFormat, MessageType};

/// Rows if the command line does not say.
const ROWS_DEFAULT: u64 = 5_000_000;
/// Bytes that a server sends at a time.
const BUFFER_BYTES: usize = 32 * 1024;
/// Rows that are fetched at a time.
const FETCH_ROWS: usize = 32_000;
const RUNS: usize = 3;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(ROWS_DEFAULT), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let create = CreateDatabaseOptions {
        default_character_set: CharacterSet::UTF8,
        page_size: 8192,
        overwrite: false,
        dialect: 3,
    };
    let options = AttachOptions {
        user: "SYSDBA".to_owned(),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: None,
        no_database_triggers: false,
        client: ClientDescription::default(),
    };
    let users: Arc<dyn UserDirectory> = Arc::new(NoUsers);
    let engine = Engine::new(Default::default());
    let mut attachment = engine.create_database(&folder.path().join("rows.fbd"), &create, options, users)?;
    run(&mut attachment, "create table t (n integer not null)")?;
    run(
        &mut attachment,
        &format!(
            "execute block as declare i integer = 0; begin while (i < {rows}) do begin \
             insert into t values (:i); i = i + 1; end end"
        ),
    )?;
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        let (found, bytes) = read(&mut attachment)?;
        best = best.min(start.elapsed());
        assert_eq!((found, bytes), (rows, rows * 20), "rows by columns, and bytes of packets");
    }
    let seconds = best.as_secs_f64();
    println!("{:.0} rows/s, {:.1} ns a row", rows as f64 / seconds, seconds * 1e9 / rows as f64);
    Ok(())
}

fn run(attachment: &mut Attachment, sql: &str) -> Result<()> {
    let transaction = attachment.start_transaction(TransactionParameters::default())?;
    let statement = attachment.allocate_statement()?;
    attachment.prepare(statement, Some(transaction), sql, 3)?;
    attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default())?;
    attachment.drop_statement(statement)?;
    attachment.commit(transaction)
}

/// How many rows came by columns, and how many bytes their packets have.
fn read(attachment: &mut Attachment) -> Result<(u64, u64)> {
    let format = MessageFormat::from_columns([MessageType::Long { scale: 0 }]);
    let transaction = attachment.start_transaction(TransactionParameters::default())?;
    let statement = attachment.allocate_statement()?;
    attachment.prepare(statement, Some(transaction), "select n from t", 3)?;
    attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default())?;
    let (mut fetched, mut out, mut rows, mut bytes) = (FetchedRows::default(), Vec::new(), 0, 0);
    loop {
        let end = attachment.fetch_by_columns(statement, FETCH_ROWS, &mut fetched)?;
        if let Some((_, column)) = fetched.columns.column(0)
            && let ColumnValues::Numbers(numbers) = column.values()
        {
            let column = ColumnSlice { values: ColumnData::Numbers(numbers), nulls: column.nulls().words() };
            let mut places = fetched.columns.places();
            while !places.is_empty() {
                out.clear();
                let written = format.encode_fetch_columns(&[column], places, BUFFER_BYTES, &mut out);
                rows += written.rows as u64;
                bytes += out.len() as u64;
                places = places.get(written.rows..).unwrap_or_default();
            }
        }
        if end == FetchEnd::EndOfCursor {
            break;
        }
    }
    attachment.drop_statement(statement)?;
    attachment.commit(transaction)?;
    Ok((rows, bytes))
}
