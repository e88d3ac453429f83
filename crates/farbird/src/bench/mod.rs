//! `farbird bench`: measurements that anyone can run again.

use std::process::ExitCode;

use clap::Subcommand;

/// Measure Farbird, alone or beside other databases.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match arguments.what {}
}
