//! `farbird bench`: measurements that anyone can run again.

mod articles;
mod calibrate;
mod own;
mod records;
mod restore;
mod sql;
mod stop;
mod store;

use std::process::ExitCode;

use clap::Subcommand;

/// Measure Farbird, alone or beside other databases.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measure rows with short and long BLOBs over a slow line, as each generation of clients reads them.
    Blobs(articles::blobs::Arguments),
    /// Measure the constants of the planner's cost model on this machine.
    Calibrate(calibrate::Arguments),
    /// Measure how long it takes from nothing to the first row.
    Connect(articles::connect::Arguments),
    /// Measure programs that know nothing of the distance, without and with a farlink.
    Far(articles::far::Arguments),
    /// Measure how fast rows come: wide ones at several distances, narrow ones over loopback.
    Fetch(articles::fetch::Arguments),
    /// Measure a query with two inner queries for each of its rows over a slow line.
    Nested(articles::nested::Arguments),
    /// Measure the record codecs: bytes per row, and how fast rows are packed and read.
    Records(records::Arguments),
    /// Measure restoring a backup of gbak's, and backing up, beside gbak.
    Restore(restore::Arguments),
    /// Measure rows of NULL in a wide column: inserting, counting, bytes on disk.
    Rows(articles::rows::Arguments),
    /// Measure reports, joins, PSQL, point queries and a mixed load, beside Firebird, PostgreSQL and DuckDB.
    Sql(sql::Arguments),
    /// Measure how long statements go on after they are told to stop.
    Stop(stop::Arguments),
    /// Measure the store, beside a Firebird and a PostgreSQL server.
    Store(store::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.what {
        What::Blobs(arguments) => articles::blobs::run(arguments),
        What::Calibrate(arguments) => calibrate::run(arguments),
        What::Connect(arguments) => articles::connect::run(arguments),
        What::Far(arguments) => articles::far::run(arguments),
        What::Fetch(arguments) => articles::fetch::run(arguments),
        What::Nested(arguments) => articles::nested::run(arguments),
        What::Records(arguments) => records::run(arguments),
        What::Restore(arguments) => restore::run(arguments),
        What::Rows(arguments) => articles::rows::run(arguments),
        What::Sql(arguments) => sql::run(arguments),
        What::Stop(arguments) => stop::run(arguments),
        What::Store(arguments) => store::run(arguments),
    }
}
