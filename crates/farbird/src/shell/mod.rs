//! `farbird sql`: statements from a terminal, a script or the command line, on a database file.
//!
//! Works on the embedded engine: no server is involved, and the file must not be open in one. Statements run in one
//! transaction after another, as in isql: DDL commits by itself (`SET AUTODDL OFF` changes that), the rest waits for
//! COMMIT or ROLLBACK. A script stops at its first error; a person goes on.

mod output;
mod runner;

use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use farbird::{Connection, Database};

use runner::Runner;

/// Run SQL on a database file: a shell, a script or one command.
///
/// Examples:
///   farbird sql app.fbd                                a shell
///   farbird sql app.fbd -i schema.sql                  a script, SET TERM and all
///   farbird sql app.fbd -c "select * from t" --format json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Arguments {
    /// The database file. Made if it does not exist and --create is given.
    database: Option<PathBuf>,
    /// Make the database if there is none.
    #[arg(long)]
    create: bool,
    /// Run a script; `-` reads it from standard input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "command")]
    input: Option<PathBuf>,
    /// Run statements and end.
    #[arg(short, long, value_name = "SQL")]
    command: Option<String>,
    /// How results look.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How results look.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people.
    Table,
    /// One JSON object per row.
    Json,
    /// Comma-separated values with a header line per result.
    Csv,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Some(database) = &arguments.database else {
        bail!("which database? Name a file: farbird sql app.fbd --create");
    };
    if let Some((host, file)) = remote(&database.to_string_lossy()) {
        bail!(
            "{host}:{file} names a server; this shell works on files. Use a Firebird client for servers, for example: \
             isql-fb -u SYSDBA '{host}:{file}'"
        );
    }
    let connection = connect(database, arguments.create)?;
    let mut runner = Runner::new(&connection, arguments.format);
    match (&arguments.command, &arguments.input) {
        (Some(command), _) => finish(runner.run_script(command)?, runner),
        (None, Some(path)) => finish(runner.run_script(&read_script(path)?)?, runner),
        (None, None) if std::io::stdin().is_terminal() => {
            converse(&mut runner)?;
            finish(true, runner)
        }
        (None, None) => finish(runner.run_script(&read_script(&PathBuf::from("-"))?)?, runner),
    }
}

fn connect(database: &Path, create: bool) -> anyhow::Result<Connection> {
    let opened = if create { Database::open_or_create(database) } else { Database::open(database) };
    opened
        .and_then(|database| database.connect())
        .map_err(|error| anyhow::anyhow!("{}", error.message()))
        .with_context(|| format!("cannot open {}", database.display()))
}

/// Commits what is left if all went well, and says so by the exit code.
fn finish(all_well: bool, runner: Runner<'_>) -> anyhow::Result<ExitCode> {
    runner.finish(all_well).map_err(|error| anyhow::anyhow!("{}", error.message()))?;
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// `host:name` or `host/port:name`, if that is what it is.
fn remote(database: &str) -> Option<(&str, &str)> {
    let (host, file) = database.split_once(':')?;
    // A single letter is a drive of another operating system, not a host.
    (host.len() > 1 && !host.starts_with(['.', '/'])).then_some((host, file))
}

fn read_script(path: &std::path::Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))
}

/// Reads statements from a terminal and runs each when its terminator comes.
fn converse(runner: &mut Runner<'_>) -> anyhow::Result<()> {
    eprintln!(
        "farbird {}: end statements with ;  HELP shows more, QUIT or Ctrl-D ends",
        env!("CARGO_PKG_VERSION")
    );
    let mut pending = String::new();
    loop {
        eprint!("{}", if pending.is_empty() { "SQL> " } else { "CON> " });
        std::io::stderr().flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            eprintln!();
            return Ok(());
        }
        if pending.is_empty() {
            match line.trim().trim_end_matches(';').to_uppercase().as_str() {
                "QUIT" | "EXIT" => return Ok(()),
                "HELP" => {
                    eprintln!("{HELP}");
                    continue;
                }
                _ => {}
            }
        }
        pending.push_str(&line);
        if runner.is_complete(&pending) {
            runner.run_script(&std::mem::take(&mut pending))?;
        }
    }
}

const HELP: &str = "\
SELECT ...;  INSERT ...;  CREATE TABLE ...;   any statement of Firebird's SQL
COMMIT;  ROLLBACK;                            end the transaction; DDL commits by itself
SET TERM ^;                                   change the terminator, for PSQL bodies
SET AUTODDL OFF;                              leave DDL uncommitted too
SHOW TABLES;  SHOW TABLE name;                what there is
QUIT                                          commit and leave";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_from_files() {
        assert_eq!(remote("db.example.com:app"), Some(("db.example.com", "app")));
        assert_eq!(remote("localhost/3051:/data/app.fdb"), Some(("localhost/3051", "/data/app.fdb")));
        assert_eq!(remote("app.fbd"), None);
        assert_eq!(remote("./a:b.fbd"), None);
        assert_eq!(remote("C:/data/app.fbd"), None);
    }
}
