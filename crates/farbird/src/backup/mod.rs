//! `farbird backup`: a copy of a database as of one moment, while others work in it.

mod chosen;
mod gbak;
mod increment;
mod interrupt;
mod outcome;
mod remote;
mod target;

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::{Args, ValueEnum};
use farbird_client::ConnectOptions;
use farbird_client::blocking::Connection;
use farbird_engine::backup::{
    BackupProgress, BackupStage, ChosenTables, back_up_file, pending_backup, verify,
};
use farbird_types::Error;
use indicatif::ProgressBar;

pub(crate) use chosen::ChosenRows;
pub(crate) use interrupt::Interrupt;
use outcome::prepared_transactions;
pub(crate) use outcome::{Format, Outcome};
use remote::Wire;
pub(crate) use remote::{ServerBackup, ServerRestore};
use target::NOT_MADE;
pub(crate) use target::{BUFFER_BYTES, PIPE, explain_existing};

use crate::access::{Credentials, DatabaseAddress};
use crate::progress;

/// Copy a database as of one moment, while others work in it.
///
/// The copy holds what had been committed at the moment when the backup began, and nothing of what came later. Nobody
/// waits for it. It has its name only when it is whole: until then it is called TARGET.incomplete, which an interrupted
/// backup takes away, and the next one after a crash.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a file that nobody has open, or a database of a running server as host:name or host/port:name.
    source: String,
    /// The backup to make; `-` writes it to standard output.
    target: PathBuf,
    /// Replace a backup of that name, once the new one is whole.
    #[arg(long)]
    replace: bool,
    /// Make an incremental backup: 0 is whole, N has what has changed since the latest one of level N - 1. To restore it takes the files
    /// of all levels below it.
    #[arg(long, value_name = "N", conflicts_with_all = ["replace", "format"])]
    level: Option<u8>,
    #[command(flatten)]
    rows: ChosenRows,
    #[command(flatten)]
    credentials: Credentials,
    /// How the outcome is told, and with `gbak` (which may be said beside another one): the backup is one that Firebird's own
    /// gbak restores.
    #[arg(long, value_enum)]
    format: Vec<Wanted>,
}

/// What `--format` may say.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wanted {
    /// The outcome is a sentence.
    Text,
    /// The outcome is a JSON object.
    Json,
    /// The backup is a file of Firebird's gbak.
    Gbak,
}

const EXAMPLES: &str = "\
Examples:
  farbird backup app.fbd app.fbb                        a database file that nobody has open
  farbird backup localhost:app.fbd app.fbb              a server's database, asking for SYSDBA's password
  farbird backup db.example.com/3051:app.fbd app.fbb --user BOSS --password-file secret.txt
  farbird backup app.fbd - | ssh archive 'cat > app.fbb'
  farbird restore app.fbb copy.fbd                      makes a database of it again
  farbird backup app.fbd sunday.fbn --level 0           the first of a chain of incremental backups
  farbird backup app.fbd monday.fbn --level 1           what has changed since then
  farbird backup localhost:app.fbd sunday.fbn --level 0 of a server's database
  farbird backup app.fbd app.fbk --format gbak          for Firebird: gbak -c app.fbk app.fdb, then isql -ch UTF8 -i app.fbk.sql app.fdb

Exit codes: 0 the backup is made, 1 it is made, but something is not in it, as listed (--format gbak), 2 it is not, and nothing
was changed.";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let report = if arguments.format.contains(&Wanted::Json) { Format::Json } else { Format::Text };
    if arguments.format.contains(&Wanted::Gbak) {
        let request = gbak::Request {
            source: &arguments.source,
            target: &arguments.target,
            replace: arguments.replace,
            credentials: &arguments.credentials,
            rows: &arguments.rows,
            report,
        };
        return gbak::run(&request);
    }
    if let Some(level) = arguments.level {
        if arguments.rows.is_chosen() {
            anyhow::bail!("an incremental backup has all rows: leave them out when it is restored");
        }
        return increment::run(arguments, level);
    }
    let source = DatabaseAddress::parse(&arguments.source)?;
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let to_stdout = arguments.target.as_os_str() == PIPE;
    let outcome = match to_stdout {
        true => {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, std::io::stdout().lock());
            write(arguments, &source, &mut out, "standard output", &interrupt)?
        }
        false => to_file(arguments, &source, &interrupt)?,
    };
    let outcome = Outcome { seconds: started.elapsed().as_secs_f64(), ..outcome };
    if let Some(list @ [_, ..]) = outcome.left_out.as_deref() {
        eprintln!(
            "farbird: the backup leaves out {}: commit or roll back (gfix -commit, gfix -rollback), then back up again",
            prepared_transactions(list)
        );
    }
    let says = format!("backed up {} to {}", arguments.source, arguments.target.display());
    outcome.tell(&says, report, to_stdout)?;
    Ok(ExitCode::SUCCESS)
}

fn to_file(
    arguments: &Arguments,
    source: &DatabaseAddress,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome> {
    let name = arguments.target.display().to_string();
    let reserved = pending_backup(&arguments.target, arguments.replace);
    let mut pending = reserved.map_err(|error| explain_existing(error.into()))?;
    // Open, and with it locked, until the file has its name.
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, pending.create()?);
    let mut outcome = write(arguments, source, &mut out, &name, interrupt)?;
    if outcome.summary.is_none() {
        // It came over the wire: look whether all of it has arrived.
        let made = File::open(pending.path()).with_context(|| format!("cannot read {name}"))?;
        let bar = progress::bytes_bar("verify", outcome.bytes);
        let made = BufReader::with_capacity(BUFFER_BYTES, made);
        let verified =
            verify(made, &name, interrupt.cancel(), &mut |progress| bar.set_position(progress.bytes));
        bar.finish_and_clear();
        let summary = verified.map_err(|error| interrupt.explain(error, NOT_MADE))?;
        outcome = Outcome { left_out: outcome.left_out, ..Outcome::of(summary) };
    }
    pending.publish()?;
    Ok(outcome)
}

/// Writes the backup, whole and flushed.
fn write(
    arguments: &Arguments,
    source: &DatabaseAddress,
    out: &mut impl Write,
    name: &str,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome> {
    match source {
        DatabaseAddress::File(path) => from_file(path, &arguments.rows.tables()?, out, name, interrupt),
        DatabaseAddress::Server(location) => {
            let options = arguments.credentials.options()?;
            let what = Wire::Whole(arguments.rows.of_server());
            let bytes = ServerBackup::new(location, &options, interrupt).write(out, name, &what)?;
            let left_out = match prepared_of_server(&arguments.source, &options) {
                Ok(list) => Some(list),
                Err(error) => {
                    eprintln!(
                        "farbird: cannot tell which prepared transactions the backup leaves out: {error:#}"
                    );
                    None
                }
            };
            Ok(Outcome { left_out, ..Outcome::of_size(bytes) })
        }
        DatabaseAddress::Farlink => anyhow::bail!("services do not pass a farlink: name the server itself"),
    }
}

fn from_file(
    path: &Path,
    tables: &ChosenTables,
    out: &mut impl Write,
    name: &str,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome> {
    let bar = progress::bar("backup", 0);
    let made =
        back_up_file(path, tables, out, name, interrupt.cancel(), &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let made = made.map_err(|error| interrupt.explain(error, NOT_MADE))?;
    Ok(Outcome { left_out: Some(made.left_out), ..Outcome::of(made.summary) })
}

/// The transactions that are prepared in a server's database. Asked for behind the backup: what has been decided by then was so
/// before it began, or is a later commit.
fn prepared_of_server(source: &str, options: &ConnectOptions) -> Result<Vec<u64>, Error> {
    let connection = Connection::attach(source, options)?;
    let list = connection.limbo()?;
    connection.close()?;
    Ok(list)
}

/// Brings a bar of rows up to date.
fn show(bar: &ProgressBar, progress: &BackupProgress<'_>) {
    if progress.stage == BackupStage::Rows {
        bar.set_length(progress.rows_total);
        bar.set_position(progress.rows);
        bar.set_message(progress.object.to_owned());
    }
}
