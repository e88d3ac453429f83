//! How many rows a second come through: decoded out of packets in memory, and over loopback from a Farbird server in this
//! process, from any other server, and from PostgreSQL (through tokio-postgres) beside it.
//!
//! ```text
//! cargo run --release -p farbird-client --example rows_per_second
//! cargo run --release -p farbird-client --example rows_per_second -- --rows 5000000 \
//!     --firebird "127.0.0.1/3050:/tmp/rows.fdb,SYSDBA,secret" --postgres "host=/run/postgresql user=postgres"
//! ```
//!
//! Encryption is off, for everybody. Each database gets a table ROWS_PER_SECOND (N INTEGER), unless it has it.
#![allow(clippy::print_stdout, reason = "a program")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, TransactionOptions, WireCrypt};
use farbird_server::Server;
use farbird_server::config::{Config, Overrides};
use farbird_wire::decoder::{Limits, ReplyDecoder};
use farbird_wire::message::{ColumnData, ColumnSlice, MessageFormat, MessageType, RunLimits};
use farbird_wire::packet::{Fetch, Output, Request};
use farbird_wire::protocol::Handle;
use postgres::fallible_iterator::FallibleIterator;

type Failure = Box<dyn std::error::Error>;

/// The measured reads of each; the best counts.
const RUNS: usize = 3;
const PASSWORD: &str = "masterkey";

fn main() -> Result<(), Failure> {
    let (mut rows, mut firebird, mut postgres) = (5_000_000_u64, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--rows" => rows = value()?.parse()?,
            "--firebird" => firebird = Some(value()?),
            "--postgres" => postgres = Some(value()?),
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    println!("{:44} {:>14} {:>10}", "rows of one INTEGER", "rows/s", "ns/row");
    show("packets written from a column", rows, best(|| encode(rows)));
    show("packets decoded into runs", rows, best(|| decode(rows, false)));
    show("packets decoded, and each number taken out", rows, best(|| decode(rows, true)));

    let own = OwnServer::start()?;
    let connection = Connection::create(&own.location("rows"), &CreateOptions::default(), &own.options)?;
    show("Farbird's server, Farbird's client", rows, read_all(&connection, rows)?);
    connection.close()?;
    if let Some(place) = firebird {
        let [location, user, password] = place.split(',').collect::<Vec<_>>()[..] else {
            return Err(format!("{place} is not LOCATION,USER,PASSWORD").into());
        };
        let options = unencrypted(ConnectOptions::new(user, password));
        let connection = Connection::attach(location, &options)
            .or_else(|_| Connection::create(location, &CreateOptions::default(), &options))?;
        show("that Firebird server, Farbird's client", rows, read_all(&connection, rows)?);
        connection.close()?;
    }
    if let Some(place) = postgres {
        show("PostgreSQL, tokio-postgres", rows, read_postgres(&place, rows)?);
    }
    Ok(())
}

fn show(name: &str, rows: u64, time: Duration) {
    let seconds = time.as_secs_f64();
    println!("{name:44} {:>14.0} {:>10.1}", rows as f64 / seconds, seconds * 1e9 / rows as f64);
}

fn best(mut run: impl FnMut() -> Duration) -> Duration {
    (0..RUNS).map(|_| run()).min().unwrap_or_default()
}

fn format() -> Arc<MessageFormat> {
    Arc::new(MessageFormat::from_columns([MessageType::Long { scale: 0 }]))
}

/// Rows as a server writes them, a block of a table at a time.
fn blocks(rows: u64, mut take: impl FnMut(&[u8])) {
    const BLOCK_ROWS: u64 = 8_192;
    const BUFFER_BYTES: usize = 32 * 1024;
    let (format, mut out) = (format(), Vec::new());
    let places: Vec<u32> = (0..BLOCK_ROWS as u32).collect();
    for start in (0..rows).step_by(BLOCK_ROWS as usize) {
        let numbers: Vec<i64> = (start..rows.min(start + BLOCK_ROWS)).map(|number| number as i64).collect();
        let column = ColumnSlice { values: ColumnData::Numbers(&numbers), nulls: &[] };
        let mut places = &places[..numbers.len()];
        while !places.is_empty() {
            out.clear();
            let written = format.encode_fetch_columns(&[column], places, BUFFER_BYTES, &mut out);
            take(&out);
            places = &places[written.rows..];
        }
    }
}

fn encode(rows: u64) -> Duration {
    let (start, mut bytes) = (Instant::now(), 0);
    blocks(rows, |packets| bytes += packets.len());
    assert_eq!(bytes as u64, rows * 20);
    start.elapsed()
}

/// Decoding alone: what is written for it is not counted.
fn decode(rows: u64, with_values: bool) -> Duration {
    let mut decoder = ReplyDecoder::new(Limits::default());
    let fetch = Fetch { statement: Handle(1), output: Output::new(Some(format())), count: u16::MAX };
    decoder.expect(&Request::Fetch(fetch)).expect("a request of ours");
    let (mut time, mut count, mut sum) = (Duration::ZERO, 0, 0);
    blocks(rows, |packets| {
        let start = Instant::now();
        decoder.feed(packets);
        while let Ok(Some(run)) = decoder.next_run(RunLimits::default()) {
            count += run.len() as u64;
            if with_values {
                let numbers = run.rows().filter_map(|row| row.value(0)?.content()?.first_chunk().copied());
                sum += numbers.map(|bytes| i64::from(i32::from_be_bytes(bytes))).sum::<i64>();
            }
        }
        time += start.elapsed();
    });
    assert_eq!(count, rows);
    assert!(!with_values || sum as u64 == rows * (rows - 1) / 2);
    time
}

/// Reads the whole table, making it first if need be.
fn read_all(connection: &Connection, rows: u64) -> Result<Duration, Failure> {
    let options = TransactionOptions::default();
    let transaction = connection.begin(&options)?;
    let known = connection
        .query_all(&transaction, "select 1 from rdb$relations where rdb$relation_name = 'ROWS_PER_SECOND'")?;
    if known.is_empty() {
        connection.run(&transaction, "create table rows_per_second (n integer not null)")?;
        connection.commit(transaction)?;
        let transaction = connection.begin(&options)?;
        let fill = format!(
            "execute block as declare i integer = 0; begin while (i < {rows}) do begin \
             insert into rows_per_second values (:i); i = i + 1; end end"
        );
        connection.run(&transaction, &fill)?;
        connection.commit(transaction)?;
    } else {
        connection.commit(transaction)?;
    }
    let transaction = connection.begin(&options)?;
    let statement = connection.prepare(&transaction, "select n from rows_per_second")?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let (mut count, mut sum) = (0, 0);
        for row in connection.query(&transaction, &statement, ())? {
            sum += i64::from(row?.get::<i32>(0)?);
            count += 1;
        }
        times.push(start.elapsed());
        if (count, sum as u64) != (rows, rows * (rows - 1) / 2) {
            return Err(format!("{count} rows with a sum of {sum} came instead of {rows}").into());
        }
    }
    Ok(times.into_iter().min().unwrap_or_default())
}

fn read_postgres(place: &str, rows: u64) -> Result<Duration, Failure> {
    let mut client = postgres::Client::connect(place, postgres::NoTls)?;
    client.batch_execute(&format!(
        "create table if not exists rows_per_second as select g::integer as n from generate_series(0, {rows} - 1) g"
    ))?;
    let statement = client.prepare("select n from rows_per_second")?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let (mut count, mut sum) = (0_u64, 0);
        let mut found = client.query_raw(&statement, std::iter::empty::<i32>())?;
        while let Some(row) = found.next()? {
            sum += i64::from(row.get::<_, i32>(0));
            count += 1;
        }
        times.push(start.elapsed());
        if count != rows {
            return Err(format!("{count} rows with a sum of {sum} came instead of {rows}").into());
        }
    }
    Ok(times.into_iter().min().unwrap_or_default())
}

fn unencrypted(options: ConnectOptions) -> ConnectOptions {
    ConnectOptions { wire_crypt: WireCrypt::Disabled, ..options }
}

/// A Farbird server in this process.
struct OwnServer {
    options: ConnectOptions,
    port: u16,
    runtime: tokio::runtime::Runtime,
    server: Option<Server>,
    _folder: tempfile::TempDir,
}

impl OwnServer {
    fn start() -> Result<OwnServer, Failure> {
        let folder = tempfile::tempdir()?;
        let overrides = Overrides {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            data: Some(folder.path().join("data")),
            ..Overrides::default()
        };
        let config = Config::load(None, overrides)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let (server, _) = runtime.block_on(Server::start(config, Some(PASSWORD.to_owned())))?;
        Ok(OwnServer {
            options: unencrypted(ConnectOptions::new("sysdba", PASSWORD)),
            port: server.local_address().port(),
            runtime,
            server: Some(server),
            _folder: folder,
        })
    }

    fn location(&self, database: &str) -> String {
        format!("127.0.0.1/{}:{database}.fbd", self.port)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }
}
