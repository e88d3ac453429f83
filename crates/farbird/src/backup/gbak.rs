//! `farbird backup --format gbak`: a backup that Firebird's own gbak restores.
//!
//! Firebird runs BLR, which Farbird does not make: what would need it is left out of the backup, named, and written as SQL
//! into a script beside it, for isql to run in the restored database.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use farbird_engine::backup::{BackupSummary, CancelFlag, pending_gbak, pending_text};
use farbird_engine::gbak::write::{Database, Definitions, WriteFailure, Written, write_backup};
use farbird_engine::gbak::{FileDatabase, Remainder, SCRIPT_HEAD};
use indicatif::ProgressBar;

use super::chosen::ChosenRows;
use super::interrupt::Interrupt;
use super::outcome::{Format, Outcome};
use super::target::{BUFFER_BYTES, NOT_MADE, PIPE, explain_existing};
use crate::access::{Credentials, DatabaseAddress};
use crate::progress;
use crate::server_database::ServerDatabase;

/// What is to be backed up.
pub(super) struct Request<'a> {
    pub(super) source: &'a str,
    pub(super) target: &'a Path,
    /// A backup of that name may be replaced.
    pub(super) replace: bool,
    pub(super) credentials: &'a Credentials,
    /// The tables whose rows it has.
    pub(super) rows: &'a ChosenRows,
    /// How the outcome is told.
    pub(super) report: Format,
}

/// What was written, and the statements of what was not.
struct Made {
    written: Written,
    script: String,
    /// What the script gives another owner, with the owner that it had.
    changed_owners: Vec<(String, String)>,
    /// The script of an earlier backup, which could not be removed, and why.
    stale: Option<(String, String)>,
}

impl Made {
    /// What is not in the backup or not as it was, and why.
    fn differences(&self) -> Vec<(String, String)> {
        let left_out = self.written.left_out.iter().map(|it| (it.to_string(), it.reason().to_owned()));
        let owners = self.changed_owners.iter().map(|(object, owner)| {
            (format!("owner of {object}"), format!("it was {owner}: it will be whoever runs the script"))
        });
        left_out.chain(owners).chain(self.stale.clone()).collect()
    }
}

pub(super) fn run(request: &Request<'_>) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let to_stdout = request.target.as_os_str() == PIPE;
    let made = match to_stdout {
        true => back_up(request, &interrupt, std::io::stdout().lock())?,
        false => to_file(request, &interrupt)?,
    };
    let differences = made.differences();
    match (made.script.is_empty(), to_stdout) {
        (true, _) => {}
        (false, true) => eprintln!("farbird: statements of what is not in it are written only beside a file"),
        (false, false) => eprintln!(
            "farbird: run {} by isql in the restored database: it makes what is not in the backup",
            script_of(request.target).display()
        ),
    }
    let written = made.written;
    let outcome = Outcome {
        summary: Some(BackupSummary {
            relations: written.tables,
            rows: written.rows,
            blobs: written.blobs,
            blob_bytes: written.blob_bytes,
            ..BackupSummary::default()
        }),
        bytes: written.bytes,
        seconds: started.elapsed().as_secs_f64(),
        left_out: None,
    };
    let done = format!("backed up {} to {}", request.source, request.target.display());
    let listed: Vec<(&str, &str)> =
        differences.iter().map(|(what, why)| (what.as_str(), why.as_str())).collect();
    outcome.tell_with(&done, request.report, &listed, to_stdout)?;
    Ok(ExitCode::from(u8::from(!listed.is_empty())))
}

/// The script beside a backup.
fn script_of(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".sql");
    PathBuf::from(name)
}

fn to_file(request: &Request<'_>, interrupt: &Interrupt) -> anyhow::Result<Made> {
    let reserved = pending_gbak(request.target, request.replace);
    let mut pending = reserved.map_err(|error| explain_existing(error.into()))?;
    let script_path = script_of(request.target);
    let reserved = pending_text(&script_path, request.replace, SCRIPT_HEAD);
    let mut script = reserved.map_err(|error| explain_existing(error.into()))?;
    let file: File = pending.create()?;
    let mut made = back_up(request, interrupt, &file)?;
    file.sync_all().with_context(|| format!("cannot write {}", request.target.display()))?;
    if made.script.is_empty() {
        pending.publish()?;
        let removed = if request.replace { remove_stale(&script_path) } else { Ok(()) };
        made.stale = removed.err().map(|error| {
            (script_path.display().to_string(), format!("it is of an earlier backup, and stays: {error}"))
        });
        return Ok(made);
    }
    let mut out = script.create()?;
    out.write_all(made.script.as_bytes())
        .with_context(|| format!("cannot write {}", script_path.display()))?;
    // Whoever finds the backup finds its script.
    script.publish()?;
    if let Err(error) = pending.publish() {
        script.withdraw();
        return Err(explain_existing(error.into()));
    }
    Ok(made)
}

/// Removes the script of a backup that has been replaced.
fn remove_stale(script: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(script) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn back_up(request: &Request<'_>, interrupt: &Interrupt, out: impl Write) -> anyhow::Result<Made> {
    let out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let bar = progress::bar("backup", 0);
    let made = match DatabaseAddress::parse(request.source)? {
        DatabaseAddress::File(path) => {
            let database = FileDatabase::open(&path, interrupt.cancel())?;
            write(&database, request, out, (&bar, interrupt.cancel()))
        }
        _ => {
            let options = request.credentials.options()?;
            let database = ServerDatabase::open(request.source, options, interrupt.cancel())?;
            let made = write(&database, request, out, (&bar, interrupt.cancel()));
            if made.is_ok() {
                database.close()?;
            }
            made
        }
    };
    bar.finish_and_clear();
    made.map_err(|error| match interrupt.cancel().is_raised() {
        true => anyhow::anyhow!("interrupted; {NOT_MADE}"),
        false => error,
    })
}

fn write<D: Database>(
    database: &D,
    request: &Request<'_>,
    out: impl Write,
    (bar, cancel): (&ProgressBar, &Arc<CancelFlag>),
) -> anyhow::Result<Made>
where
    D::Error: Into<anyhow::Error>,
{
    let mut definitions = Definitions::read(database).map_err(Into::into)?;
    let tables = request.rows.tables()?;
    definitions.take_rows(|table| tables.has(table, cancel))?;
    if tables.is_none() {
        definitions.reset_sequences();
    }
    let remainder = Remainder::of(&definitions);
    let written =
        write_backup(database, definitions, (request.source, ""), true, out, &mut |table, rows, _| {
            bar.set_message(table.to_owned());
            bar.set_position(rows);
        });
    let written = written.map_err(|failure| match failure {
        WriteFailure::Database(error) => error.into(),
        WriteFailure::Words(words) => anyhow::anyhow!(words),
    })?;
    let script = remainder.script(&written.left_out);
    let changed_owners = match script.is_empty() {
        true => Vec::new(),
        false => remainder.changed_owners(&written.left_out),
    };
    Ok(Made { script, changed_owners, written, stale: None })
}
