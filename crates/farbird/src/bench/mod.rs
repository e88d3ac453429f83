//! `farbird bench`: measurements that anyone can run again.

mod records;
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
    /// Measure the record codecs: bytes per row, and how fast rows are packed and read.
    Records(records::Arguments),
    /// Measure how long statements go on after they are told to stop.
    Stop(stop::Arguments),
    /// Measure the store, beside a Firebird and a PostgreSQL server.
    Store(store::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.what {
        What::Records(arguments) => records::run(arguments),
        What::Stop(arguments) => stop::run(arguments),
        What::Store(arguments) => store::run(arguments),
    }
}
