//! `fetch`: how fast rows come: wide ones, full and half NULL, at several distances, and narrow ones over loopback.
//!
//! Figures are from preparing the query to its last row. Of narrow rows the number is read, wide ones are taken as rows.
//! Firebird and Farbird servers are read by this project's client, PostgreSQL by the `postgres` crate, which has no
//! compression, MariaDB by its own client program, which makes a line of text of each row.

use std::time::{Duration, Instant};

use farbird_client::{TransactionOptions, Value};
use serde::Serialize;

use super::customers::{self, Dialect};
use super::postgres_side::read_rows;
use super::server::Road;
use super::session::Session;
use super::{
    FlightRecord, MariaDbServer, Observer, PostgresServer, Preset, Server, Settings, WireFigure, go_on,
    milliseconds,
};
use crate::link::LinkOptions;
use crate::{Failure, Result};

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FetchTable {
    /// Customers of 61 columns, all filled.
    Full,
    /// The same, every second column NULL.
    HalfNull,
    /// The first 5 of every 7 of the full ones: the program closes the cursor in the middle, as an older test did.
    Part,
    /// One INTEGER a row.
    Narrow,
}

impl FetchTable {
    /// All.
    pub const ALL: [FetchTable; 4] =
        [FetchTable::Full, FetchTable::HalfNull, FetchTable::Part, FetchTable::Narrow];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            FetchTable::Full => "full",
            FetchTable::HalfNull => "half-null",
            FetchTable::Part => "part",
            FetchTable::Narrow => "narrow",
        }
    }

    /// The table it is read from.
    fn table(self) -> &'static str {
        match self {
            FetchTable::Full | FetchTable::Part => "BENCH_CUSTOMERS_FULL",
            FetchTable::HalfNull => "BENCH_CUSTOMERS_HALF",
            FetchTable::Narrow => "BENCH_NUMBERS",
        }
    }
}

/// What is measured.
#[derive(Debug, Clone)]
pub struct FetchPlan {
    /// Rows of the wide tables.
    pub rows: u64,
    /// Rows of the narrow table.
    pub narrow_rows: u64,
    /// What is read.
    pub tables: Vec<FetchTable>,
    /// The links. Narrow rows are read without any.
    pub links: Vec<LinkOptions>,
    /// Without compression, with it, or both.
    pub compress: Vec<bool>,
    /// Whether links are encrypted where the server can.
    pub encrypt: bool,
    /// Client generations.
    pub presets: Vec<Preset>,
}

impl FetchPlan {
    fn wanted(&self, table: FetchTable) -> bool {
        self.tables.contains(&table)
    }

    /// The query.
    pub(super) fn sql(&self, table: FetchTable) -> String {
        self.query(table).0
    }

    /// The query, how many of its rows are read, and rows that there are.
    fn query(&self, table: FetchTable) -> (String, u64) {
        let name = table.table();
        match table {
            FetchTable::Full | FetchTable::HalfNull => (format!("select * from {name}"), self.rows),
            FetchTable::Part => {
                let of = self.rows * 7 / 10;
                (format!("select * from {name} fetch first {of} rows only"), self.rows / 2)
            }
            FetchTable::Narrow => (format!("select a from {name}"), self.narrow_rows),
        }
    }

    /// The runs for a Firebird or Farbird server.
    pub fn runs(&self) -> Vec<FetchRun> {
        let mut runs = Vec::new();
        for table in &self.tables {
            for link in self.links_of(*table) {
                for preset in &self.presets {
                    for compress in &self.compress {
                        let settings =
                            Settings { compress: *compress, encrypt: self.encrypt, ..Settings::new(*preset) };
                        runs.push(FetchRun { table: *table, link: link.clone(), settings });
                    }
                }
            }
        }
        runs
    }

    /// The runs for PostgreSQL and MariaDB.
    pub fn other_runs(&self) -> Vec<(FetchTable, LinkOptions)> {
        let tables = self.tables.iter();
        tables.flat_map(|table| self.links_of(*table).into_iter().map(|link| (*table, link))).collect()
    }

    fn links_of(&self, table: FetchTable) -> Vec<LinkOptions> {
        match table {
            FetchTable::Narrow => vec![LinkOptions::default()],
            _ => self.links.clone(),
        }
    }
}

/// A run on a Firebird or Farbird server.
#[derive(Debug, Clone)]
pub struct FetchRun {
    /// What is read.
    pub table: FetchTable,
    /// Over which link.
    pub link: LinkOptions,
    /// How the client behaves.
    pub settings: Settings,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FetchFigure {
    /// The server.
    pub server: String,
    /// What was read.
    pub table: FetchTable,
    /// What reads: `farbird-client`, `postgres`, `mariadb`.
    pub driver: &'static str,
    /// The client generation; `None` for another driver.
    pub preset: Option<Preset>,
    /// Whether the link was compressed.
    pub is_compressed: bool,
    /// Whether it was encrypted.
    pub is_encrypted: bool,
    /// Time of a round trip of the emulated link, in milliseconds.
    pub round_trip_ms: f64,
    /// From preparing to the last row, in milliseconds.
    pub elapsed_ms: f64,
    /// Rows read.
    pub record_count: u64,
    /// Rows a second.
    pub rows_per_second: f64,
    /// What went over the wire; `None` where the driver does not count.
    pub wire: Option<WireFigure>,
    /// The first flights, from connecting on.
    #[serde(skip)]
    pub flights: Vec<FlightRecord>,
}

/// Makes the tables.
///
/// # Errors
/// What the server says; [`crate::Failure::Interrupted`].
pub fn load(server: &Server, plan: &FetchPlan, observer: &mut dyn Observer) -> Result<()> {
    for (table, half_null) in wide_tables(plan) {
        observer.begin("loading customers", plan.rows);
        load_customers(server, table, plan.rows, half_null, observer)?;
    }
    if plan.wanted(FetchTable::Narrow) {
        observer.begin("loading numbers", plan.narrow_rows);
        load_numbers(server, plan.narrow_rows, observer)?;
    }
    Ok(())
}

/// The wide tables that are wanted, and whether their rows are half NULL.
fn wide_tables(plan: &FetchPlan) -> Vec<(&'static str, bool)> {
    let full = plan.wanted(FetchTable::Full) || plan.wanted(FetchTable::Part);
    let mut tables = Vec::new();
    if full {
        tables.push((FetchTable::Full.table(), false));
    }
    if plan.wanted(FetchTable::HalfNull) {
        tables.push((FetchTable::HalfNull.table(), true));
    }
    tables
}

fn load_customers(
    server: &Server,
    table: &str,
    rows: u64,
    half_null: bool,
    observer: &mut dyn Observer,
) -> Result<()> {
    let connection = server.attach()?;
    let transaction = connection.begin(&TransactionOptions::default())?;
    connection.run(&transaction, &customers::create_table(table, Dialect::Firebird))?;
    connection.commit(transaction)?;
    let transaction = connection.begin(&TransactionOptions::default())?;
    let statement = connection.prepare(&transaction, &customers::insert(table))?;
    let mut pipeline = connection.pipeline(&transaction, &statement);
    for index in 0..rows {
        let row: Vec<Value> = customers::row(index, half_null).iter().map(customers::Field::value).collect();
        pipeline.execute(&row)?;
        observer.advance(1);
        go_on(observer)?;
    }
    pipeline.finish()?.into_result()?;
    connection.commit(transaction)?;
    drop(statement);
    Ok(connection.close()?)
}

/// Rows inserted by one statement.
const NUMBERS_AT_ONCE: u64 = 500_000;

fn load_numbers(server: &Server, rows: u64, observer: &mut dyn Observer) -> Result<()> {
    let connection = server.attach()?;
    let transaction = connection.begin(&TransactionOptions::default())?;
    connection.run(&transaction, &format!("create table {} (a integer)", FetchTable::Narrow.table()))?;
    connection.commit(transaction)?;
    let mut from = 0;
    while from < rows {
        go_on(observer)?;
        let to = rows.min(from + NUMBERS_AT_ONCE);
        let sql = format!(
            "execute block as declare i integer = {from}; begin while (i < {to}) do begin i = i + 1; \
             insert into {} values (:i); end end",
            FetchTable::Narrow.table()
        );
        let transaction = connection.begin(&TransactionOptions::default())?;
        connection.run(&transaction, &sql)?;
        connection.commit(transaction)?;
        observer.advance(to - from);
        from = to;
    }
    Ok(connection.close()?)
}

/// Makes the tables in PostgreSQL.
///
/// # Errors
/// What the server says; [`crate::Failure::Interrupted`].
pub fn load_postgres(
    server: &mut PostgresServer,
    plan: &FetchPlan,
    observer: &mut dyn Observer,
) -> Result<()> {
    for (table, half_null) in wide_tables(plan) {
        observer.begin("loading customers", plan.rows);
        server.load_customers(table, plan.rows, half_null, observer)?;
    }
    if plan.wanted(FetchTable::Narrow) {
        observer.begin("loading numbers", plan.narrow_rows);
        server.load_numbers(FetchTable::Narrow.table(), plan.narrow_rows)?;
        observer.advance(plan.narrow_rows);
    }
    Ok(())
}

/// Makes the tables in MariaDB.
///
/// # Errors
/// What the server says; [`crate::Failure::Interrupted`].
pub fn load_mariadb(server: &mut MariaDbServer, plan: &FetchPlan, observer: &mut dyn Observer) -> Result<()> {
    for (table, half_null) in wide_tables(plan) {
        observer.begin("loading customers", plan.rows);
        server.load_customers(table, plan.rows, half_null, observer)?;
    }
    if plan.wanted(FetchTable::Narrow) {
        observer.begin("loading numbers", plan.narrow_rows);
        server.load_numbers(FetchTable::Narrow.table(), plan.narrow_rows)?;
        observer.advance(plan.narrow_rows);
    }
    Ok(())
}

/// Drops what [`load`] has made.
///
/// # Errors
/// What the server says.
pub fn unload(server: &Server) -> Result<()> {
    let connection = server.attach()?;
    for table in [FetchTable::Full, FetchTable::HalfNull, FetchTable::Narrow] {
        if super::blobs::table_exists(&connection, table.table())? {
            let transaction = connection.begin(&TransactionOptions::default())?;
            connection.run(&transaction, &format!("drop table {}", table.table()))?;
            connection.commit(transaction)?;
        }
    }
    Ok(connection.close()?)
}

/// Reads every table once, so that no run finds a cold cache.
///
/// # Errors
/// What the server says.
pub fn warm_up(server: &Server, plan: &FetchPlan) -> Result<()> {
    let connection = server.attach()?;
    for table in &plan.tables {
        let transaction = connection.begin(&TransactionOptions::default())?;
        connection.query_all(&transaction, &format!("select count(*) from {}", table.table()))?;
        connection.commit(transaction)?;
    }
    Ok(connection.close()?)
}

/// Does a run.
///
/// # Errors
/// What the server says; [`crate::Failure::Interrupted`].
pub fn measure(
    server: &Server,
    plan: &FetchPlan,
    run: &FetchRun,
    observer: &mut dyn Observer,
) -> Result<FetchFigure> {
    let (sql, most) = plan.query(run.table);
    let mut session = Session::attach(server, &run.link, &run.settings)?;
    session.attached()?;
    session.begin()?;
    let before = session.counters();
    let start = Instant::now();
    let statement = session.prepare(&sql)?;
    let mut cursor = session.open(&statement, &[])?;
    let (mut count, mut sum) = (0, 0);
    while count < most
        && let Some(row) = cursor.next().transpose()?
    {
        if run.table == FetchTable::Narrow {
            sum += i64::from(row.get::<i32>(0)?);
        }
        count += 1;
        if count % 1_024 == 0 {
            observer.advance(1_024);
            go_on(observer)?;
        }
    }
    check_sum(run.table, count, sum)?;
    observer.advance(count % 1_024);
    let elapsed = start.elapsed();
    let wire = WireFigure::between(&before, &session.counters());
    let flights = session.flights();
    drop(cursor);
    drop(statement);
    session.close()?;
    Ok(FetchFigure {
        flights,
        preset: Some(run.settings.preset),
        is_compressed: run.settings.compress,
        is_encrypted: run.settings.encrypt,
        wire: Some(wire),
        ..figure(server.name.clone(), run.table, &run.link, count, elapsed)
    })
}

/// Does a run on PostgreSQL.
///
/// # Errors
/// What the server says; [`crate::Failure::Interrupted`].
pub fn measure_postgres(
    server: &PostgresServer,
    plan: &FetchPlan,
    table: FetchTable,
    link: &LinkOptions,
    observer: &mut dyn Observer,
) -> Result<FetchFigure> {
    let (sql, most) = plan.query(table);
    let road = Road::open(&server.address(), link)?;
    let mut client = server.connect(Some(road.address.clone()))?;
    let start = Instant::now();
    let (count, sum) = read_rows(&mut client, &sql, most, table == FetchTable::Narrow, observer)?;
    let elapsed = start.elapsed();
    check_sum(table, count, sum)?;
    Ok(FetchFigure { driver: "postgres", ..figure(server.name.clone(), table, link, count, elapsed) })
}

/// Does a run on MariaDB.
///
/// # Errors
/// What the server says; [`crate::Failure::Interrupted`].
pub fn measure_mariadb(
    server: &MariaDbServer,
    plan: &FetchPlan,
    table: FetchTable,
    link: &LinkOptions,
    observer: &mut dyn Observer,
) -> Result<FetchFigure> {
    // `fetch first` is `limit` there from 10.6 on, too.
    let (sql, most) = plan.query(table);
    let road = Road::open(server.address(), link)?;
    let is_narrow = table == FetchTable::Narrow;
    let (count, sum, elapsed) = server.read_rows(&road.address, &sql, most, is_narrow, observer)?;
    check_sum(table, count, sum)?;
    Ok(FetchFigure { driver: "mariadb", ..figure(server.name.clone(), table, link, count, elapsed) })
}

/// The numbers of the narrow table count from 1: a fast wrong answer is a failure.
fn check_sum(table: FetchTable, count: u64, sum: i64) -> Result<()> {
    let wanted = count as i64 * (count as i64 + 1) / 2;
    match table {
        FetchTable::Narrow if sum != wanted => {
            Err(Failure::Other(format!("{count} numbers have the sum {sum} instead of {wanted}")))
        }
        _ => Ok(()),
    }
}

fn figure(
    server: String,
    table: FetchTable,
    link: &LinkOptions,
    count: u64,
    elapsed: Duration,
) -> FetchFigure {
    FetchFigure {
        server,
        table,
        driver: "farbird-client",
        preset: None,
        is_compressed: false,
        is_encrypted: false,
        round_trip_ms: milliseconds(link.round_trip()),
        elapsed_ms: milliseconds(elapsed),
        record_count: count,
        rows_per_second: count as f64 / elapsed.as_secs_f64().max(1e-9),
        wire: None,
        flights: Vec::new(),
    }
}
