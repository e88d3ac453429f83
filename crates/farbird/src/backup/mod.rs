//! `farbird backup`: a copy of a database as of one moment, while others work in it.

mod interrupt;
mod outcome;
mod remote;

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use farbird_engine::backup::{
    BackupProgress, BackupStage, BackupSummary, back_up_file, pending_backup, verify,
};
use farbird_types::{Error, isc};
use indicatif::ProgressBar;

pub(crate) use interrupt::Interrupt;
pub(crate) use outcome::{Format, Outcome};
pub(crate) use remote::{ServerBackup, ServerRestore};

use crate::access::{Credentials, DatabaseAddress};
use crate::progress;

/// Bytes gathered before they are written to the backup.
pub(crate) const BUFFER_BYTES: usize = 1 << 20;
/// Stands for standard input or output.
pub(crate) const PIPE: &str = "-";

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
    #[command(flatten)]
    credentials: Credentials,
    /// How the outcome is told.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  farbird backup app.fbd app.fbb                        a database file that nobody has open
  farbird backup localhost:app.fbd app.fbb              a server's database, asking for SYSDBA's password
  farbird backup db.example.com/3051:app.fbd app.fbb --user BOSS --password-file secret.txt
  farbird backup app.fbd - | ssh archive 'cat > app.fbb'
  farbird restore app.fbb copy.fbd                      makes a database of it again

Exit codes: 0 the backup is made, 2 it is not, and nothing was changed.";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
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
    let says = format!("backed up {} to {}", arguments.source, arguments.target.display());
    outcome.tell(&says, arguments.format, to_stdout)?;
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
        outcome = Outcome::of(verified.map_err(|error| interrupt.explain(error, NOT_MADE))?);
    }
    pending.publish()?;
    Ok(outcome)
}

/// Tells whoever meets a file of the target's name how to replace it.
pub(crate) fn explain_existing(error: anyhow::Error) -> anyhow::Error {
    let exists = error.downcast_ref::<Error>().is_some_and(|error| {
        // Behind it stands why the file is not replaced, if it was to be.
        error.has(isc::DB_OR_FILE_EXISTS) && !error.has(isc::RANDOM)
    });
    if exists { error.context("--replace takes the place of what is there") } else { error }
}

/// What became of it when it was interrupted.
const NOT_MADE: &str = "no backup was made";

/// Writes the backup, whole and flushed.
fn write(
    arguments: &Arguments,
    source: &DatabaseAddress,
    out: &mut impl Write,
    name: &str,
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome> {
    match source {
        DatabaseAddress::File(path) => from_file(path, out, name, interrupt).map(Outcome::of),
        DatabaseAddress::Server(location) => {
            let options = arguments.credentials.options()?;
            ServerBackup::new(location, &options, interrupt).write(out, name).map(Outcome::of_size)
        }
        DatabaseAddress::Farlink => anyhow::bail!("services do not pass a farlink: name the server itself"),
    }
}

fn from_file(
    path: &Path,
    out: &mut impl Write,
    name: &str,
    interrupt: &Interrupt,
) -> anyhow::Result<BackupSummary> {
    let bar = progress::bar("backup", 0);
    let made = back_up_file(path, out, name, interrupt.cancel(), &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    made.map_err(|error| interrupt.explain(error, NOT_MADE))
}

/// Brings a bar of rows up to date.
fn show(bar: &ProgressBar, progress: &BackupProgress<'_>) {
    if progress.stage == BackupStage::Rows {
        bar.set_length(progress.rows_total);
        bar.set_position(progress.rows);
        bar.set_message(progress.object.to_owned());
    }
}
