//! `farbird backup --format gbak`: a backup that Firebird's own gbak restores.
//!
//! Firebird runs BLR, which Farbird does not make: what would need it is left out of the backup, named, and written as SQL
//! into a script beside it, for isql to run in the restored database.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use farbird_engine::backup::{BackupSummary, pending_gbak};
use farbird_engine::gbak::write::{Database, Definitions, WriteFailure, Written, write_backup};
use farbird_engine::gbak::{FileDatabase, Remainder};
use indicatif::ProgressBar;

use super::interrupt::Interrupt;
use super::outcome::{Format, Outcome};
use super::target::{BUFFER_BYTES, NOT_MADE, PIPE, explain_existing};
use crate::access::{Credentials, DatabaseAddress};
use crate::progress;
use crate::server_database::ServerDatabase;

/// Why something is not in the backup.
const REASON: &str = "gbak keeps it as BLR, which there is none of";

/// What is to be backed up.
pub(super) struct Request<'a> {
    pub(super) source: &'a str,
    pub(super) target: &'a Path,
    /// A backup of that name may be replaced.
    pub(super) replace: bool,
    pub(super) credentials: &'a Credentials,
    /// How the outcome is told.
    pub(super) report: Format,
}

/// What was written, and the statements of what was not.
struct Made {
    written: Written,
    script: String,
}

pub(super) fn run(request: &Request<'_>) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let to_stdout = request.target.as_os_str() == PIPE;
    let made = match to_stdout {
        true => back_up(request, &interrupt, std::io::stdout().lock())?,
        false => to_file(request, &interrupt)?,
    };
    let Made { written, script } = made;
    let mut differences: Vec<(String, String)> =
        written.left_out.iter().map(|it| (it.to_string(), REASON.to_owned())).collect();
    let arrays = written.arrays.iter();
    differences.extend(
        arrays.map(|it| (format!("column {it}"), "arrays are not copied: they are NULL there".to_owned())),
    );
    if !written.left_out.is_empty() && !to_stdout {
        let path = script_of(request.target);
        std::fs::write(&path, script).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!(
            "farbird: run {} by isql in the restored database: it makes what is not in the backup",
            path.display()
        );
    }
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
    };
    let done = format!("backed up {} to {}", request.source, request.target.display());
    let listed: Vec<(&str, &str)> =
        differences.iter().map(|(what, why)| (what.as_str(), why.as_str())).collect();
    match to_stdout {
        true => outcome.tell(&done, request.report, true)?,
        false => outcome.tell_with(&done, request.report, &listed)?,
    }
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
    let file: File = pending.create()?;
    let made = back_up(request, interrupt, &file)?;
    file.sync_all().with_context(|| format!("cannot write {}", request.target.display()))?;
    pending.publish()?;
    Ok(made)
}

fn back_up(request: &Request<'_>, interrupt: &Interrupt, out: impl Write) -> anyhow::Result<Made> {
    let out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let bar = progress::bar("backup", 0);
    let made = match DatabaseAddress::parse(request.source)? {
        DatabaseAddress::File(path) => {
            let database = FileDatabase::open(&path, interrupt.cancel())?;
            write(&database, request, out, &bar)
        }
        _ => {
            let options = request.credentials.options()?;
            let database = ServerDatabase::open(request.source, options, interrupt.cancel())?;
            let made = write(&database, request, out, &bar);
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
    bar: &ProgressBar,
) -> anyhow::Result<Made>
where
    D::Error: Into<anyhow::Error>,
{
    let definitions = Definitions::read(database).map_err(Into::into)?;
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
    Ok(Made { script: remainder.script(&written.left_out), written })
}
