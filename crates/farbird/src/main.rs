//! The `farbird` command: serve databases, or work with one from a shell.
//!
//! Data goes to stdout, words to stderr. Exit codes: 0 done, 1 a statement failed or the answer is no, 2 could not run.

mod access;
mod backup;
mod bench;
mod check;
mod exchange;
mod export;
mod farlink;
mod import;
mod lab;
mod progress;
mod restore;
mod serve;
mod session;
mod shell;
mod shrink;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Farbird: a Firebird-compatible SQL database.
///
/// Every Firebird driver connects to `farbird serve`. `farbird sql` works with any of them, or on a file directly.
#[derive(Parser)]
#[command(name = "farbird", version, propagate_version = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve databases to Firebird drivers.
    Serve(serve::Arguments),
    Edge(farlink::edge::Arguments),
    Origin(farlink::origin::Arguments),
    Pair(farlink::pair::Arguments),
    /// Run SQL on a database file or on a server: a shell, a script or one command.
    Sql(shell::Arguments),
    /// Put the rows of a CSV, JSON lines or Parquet file into a table.
    Import(import::Arguments),
    /// Write a table, or the rows of a query, to a file.
    Export(export::Arguments),
    /// Copy a database as of one moment, while others work in it.
    Backup(backup::Arguments),
    /// Make a database of a backup.
    Restore(restore::Arguments),
    /// Check a database: is everything in it sound?
    Check(check::Arguments),
    /// Give a database file's free space back to the operating system.
    Shrink(shrink::Arguments),
    /// Measure Farbird, alone or beside other databases.
    Bench(bench::Arguments),
    /// Try programs over a long link without leaving this machine.
    Lab(lab::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Edge(arguments) => farlink::edge::run(&arguments),
        Command::Origin(arguments) => farlink::origin::run(&arguments),
        Command::Pair(arguments) => farlink::pair::run(&arguments),
        Command::Sql(arguments) => shell::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Restore(arguments) => restore::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Shrink(arguments) => shrink::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("farbird: {error:#}");
            ExitCode::from(2)
        }
    }
}
