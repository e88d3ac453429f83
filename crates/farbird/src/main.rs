//! The `farbird` command: serve databases, or work with one from a shell.
//!
//! Data goes to stdout, words to stderr. Exit codes: 0 done, 1 a statement failed or the answer is no, 2 could not run.

mod access;
mod admin;
mod backup;
mod bench;
mod check;
mod exchange;
mod export;
mod external;
mod farlink;
mod import;
mod lab;
mod migrate;
mod migrated_users;
mod output;
mod progress;
mod restore;
mod serve;
mod server_database;
mod session;
mod shell;
mod shrink;
mod status;

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
    // Without comments of their own: they would hide those of the arguments from `--help`.
    Serve(serve::Arguments),
    Edge(farlink::edge::Arguments),
    Origin(farlink::origin::Arguments),
    Pair(farlink::pair::Arguments),
    Sql(shell::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    Backup(backup::Arguments),
    Restore(restore::Arguments),
    Migrate(migrate::Arguments),
    Check(check::Arguments),
    Admin(admin::Arguments),
    Shrink(shrink::Arguments),
    Bench(bench::Arguments),
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
        Command::Migrate(arguments) => migrate::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Admin(arguments) => admin::run(&arguments),
        Command::Shrink(arguments) => shrink::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
    };
    // Origins that were asked learn that nobody comes any more.
    farbird_client::farlink::leave_all();
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("farbird: {error:#}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn help_says_more_than_the_list_of_commands() {
        let mut command = Arguments::command();
        for (name, more) in [
            ("serve", "The first start makes the data folder"),
            ("edge", "farbird edge --origin HOST"),
            ("backup", "Nobody waits for it"),
            ("admin", "farbird admin locks"),
            ("restore", "TARGET.incomplete"),
        ] {
            let help = command.find_subcommand_mut(name).unwrap().render_long_help().to_string();
            assert!(help.contains(more), "{name}: {help}");
        }
        for command in command.get_subcommands() {
            assert!(command.get_about().is_some(), "{} has no line in the list", command.get_name());
        }
    }
}
