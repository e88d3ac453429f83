//! `farbird migrate`: a database of a Firebird server as a database file, compared at the end.
//!
//! What a server says of its definitions and rows becomes a backup in gbak's format, which is restored as it comes: two
//! threads with a pipe in memory between them. So there is one way in, `restore`, for files and for live databases.

use std::collections::HashMap;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use farbird_engine::StoreOptions;
use farbird_engine::backup::{BackupProgress, BackupStage, BackupSummary, CancelFlag, RestoreOptions};
use farbird_engine::engine::Engine;
use farbird_engine::gbak::write::{Definitions, TableContents, WriteFailure, Written, write_backup};
use farbird_engine::gbak::{CopyError, FileDatabase, GbakSummary};
use indicatif::ProgressBar;

use crate::access::{Credentials, DatabaseAddress, Line};
use crate::backup::{Format, Interrupt, Outcome, explain_existing};
use crate::migrated_users;
use crate::progress;
use crate::server_database::ServerDatabase;

/// Bytes of what travels through the pipe at a time, and how many such pieces wait in it.
const PIECE_BYTES: usize = 1 << 18;
const PIECES_WAITING: usize = 16;
/// What became of it when it was interrupted.
const NOT_MADE: &str = "no database was made";

/// Copy a database of a Firebird server, as of one moment, into a new database file.
///
/// Definitions, rows, BLOBs, values of sequences and privileges come over while others work in the database. At the end each
/// table of the new file is read again and compared with what came: its number of rows, and a checksum of all of its values.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database of a server (Firebird 3 or later, or Farbird): host:name or host/port:name.
    source: String,
    /// The database file to make.
    target: PathBuf,
    /// Replace a database of that name, once the new one is whole. Nobody may have it open.
    #[arg(long)]
    replace: bool,
    /// Write the users of the server into this script, too: run in a database of the new one it makes them. Nobody can read passwords, so
    /// each gets one that is made up and stands in the script.
    #[arg(long, value_name = "SCRIPT")]
    users: Option<PathBuf>,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    line: Line,
    /// How the outcome is told.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  farbird migrate db.example.com:/data/app.fdb app.fbd          asking for SYSDBA's password
  farbird migrate localhost/3050:employee emp.fbd --user BOSS --password-file secret.txt
  farbird migrate localhost:app app.fbd --replace --format json

  farbird migrate localhost:app app.fbd --users users.sql

Users and passwords belong to servers and stay there, unless --users asks for a script of them.
Exit codes: 0 all of it is there, and the same; 1 the database is made, but something is not in it or not as it was, as listed;
2 no database was made.";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let options = match DatabaseAddress::parse(&arguments.source)? {
        DatabaseAddress::File(_) => {
            bail!("{} is a file: name the database of a server, as host:name", arguments.source)
        }
        _ => arguments.line.apply(arguments.credentials.options()?),
    };
    if let Some(script) = arguments.users.as_ref().filter(|script| script.exists()) {
        bail!("{} is there already; {NOT_MADE}", script.display());
    }
    let source = ServerDatabase::open(&arguments.source, options, interrupt.cancel())?;
    let bar = progress::bar("migrate", 0);
    let copied = copy(&source, arguments, &interrupt, &bar);
    bar.finish_and_clear();
    let (written, summary) = copied?;
    let users = arguments.users.as_deref().map(|script| migrated_users::write(&source, script));
    // The new database has its name, whatever the server says now.
    let _ = source.close();
    let mut differences: Vec<(String, String)> =
        summary.differences.into_iter().map(|it| (it.object, it.reason)).collect();
    differences.extend(written.left_out.iter().map(|it| (it.to_string(), it.reason().to_owned())));
    match users {
        Some(Err(error)) => differences.push(("users".to_owned(), format!("{error:#}"))),
        Some(Ok(count)) => eprintln!("farbird: wrote {count} users and passwords that were made up"),
        None => {}
    }
    let bar = progress::bar("compare", written.rows);
    let compared = compare(&written.contents, &arguments.target, interrupt.cancel(), &bar);
    bar.finish_and_clear();
    match compared {
        Ok(found) => differences.extend(found),
        Err(_) if interrupt.cancel().is_raised() => {
            differences.push(("comparison".to_owned(), "it was interrupted".to_owned()));
        }
        Err(error) => differences.push(("comparison".to_owned(), format!("it failed: {error:#}"))),
    }
    let outcome = Outcome {
        left_out: None,
        summary: Some(BackupSummary {
            relations: summary.tables,
            rows: summary.rows,
            blobs: summary.blobs,
            blob_bytes: summary.blob_bytes,
            indexes: summary.indexes,
            ..BackupSummary::default()
        }),
        bytes: written.bytes,
        seconds: started.elapsed().as_secs_f64(),
    };
    let listed: Vec<(&str, &str)> =
        differences.iter().map(|(what, why)| (what.as_str(), why.as_str())).collect();
    let done = format!("migrated {} to {}", arguments.source, arguments.target.display());
    outcome.tell_with(&done, arguments.format, &listed, false)?;
    Ok(ExitCode::from(u8::from(!listed.is_empty())))
}

/// Copies everything; the new database has its name then.
fn copy(
    source: &ServerDatabase,
    arguments: &Arguments,
    interrupt: &Interrupt,
    bar: &ProgressBar,
) -> anyhow::Result<(Written, GbakSummary)> {
    let (sender, receiver) = sync_channel(PIECES_WAITING);
    let name = arguments.source.as_str();
    let (read, restored) = std::thread::scope(|scope| {
        let restoring = scope.spawn(move || restore(receiver, name, arguments, interrupt, bar));
        let read = read(source, name, sender);
        (read, restoring.join())
    });
    let restored = restored.unwrap_or_else(|_| Err(farbird_types::Error::new(farbird_types::isc::BUG_CHECK)));
    match (read, restored) {
        (Ok(written), Ok(summary)) => Ok((written, summary)),
        // What is left of the other end then is only that the pipe was closed.
        (Err(error), Ok(_)) => Err(error),
        (Ok(_), Err(error)) => Err(explain_existing(interrupt.explain(error, NOT_MADE))),
        (Err(_), Err(error)) if !is_cut_off(&error) => {
            Err(explain_existing(interrupt.explain(error, NOT_MADE)))
        }
        (Err(_), Err(_)) if interrupt.cancel().is_raised() => bail!("interrupted; {NOT_MADE}"),
        (Err(error), Err(_)) => Err(error),
    }
}

/// Whether a restore failed since nothing more came.
fn is_cut_off(error: &farbird_types::Error) -> bool {
    /// gbak's code for a file that ends too early.
    const UNEXPECTED_EOF: u32 = 336_330_802;
    error.has(farbird_types::isc::CANCELLED) || error.gds_code() == UNEXPECTED_EOF
}

fn read(source: &ServerDatabase, name: &str, pipe: SyncSender<Vec<u8>>) -> anyhow::Result<Written> {
    let definitions = Definitions::read(source)?;
    let out = BufWriter::with_capacity(PIECE_BYTES, PipeWriter(pipe));
    let written = write_backup(source, definitions, (name, ""), false, out, &mut |_, _, _| {});
    written.map_err(in_words)
}

fn restore(
    pipe: Receiver<Vec<u8>>,
    name: &str,
    arguments: &Arguments,
    interrupt: &Interrupt,
    bar: &ProgressBar,
) -> Result<GbakSummary, farbird_types::Error> {
    let options = RestoreOptions { replace: arguments.replace, ..RestoreOptions::default() };
    let reader = PipeReader { pipe, piece: Vec::new(), at: 0 };
    let engine = Engine::new(StoreOptions::default());
    engine.restore_gbak(reader, name, &arguments.target, &options, interrupt.cancel(), &mut |progress| {
        show(bar, progress);
    })
}

fn show(bar: &ProgressBar, progress: &BackupProgress<'_>) {
    let what = match progress.stage {
        BackupStage::Rows => progress.object,
        BackupStage::Indexes => progress.object,
        BackupStage::Finishing => "finishing",
    };
    bar.set_message(what.to_owned());
    bar.set_position(progress.rows);
}

fn in_words<E: Into<anyhow::Error>>(failure: WriteFailure<E>) -> anyhow::Error {
    match failure {
        WriteFailure::Database(error) => error.into(),
        WriteFailure::Words(words) => anyhow::anyhow!(words),
    }
}

/// Reads the tables of the new database as those of the old one were read. Gives what differs.
fn compare(
    expected: &[TableContents],
    target: &Path,
    cancel: &Arc<CancelFlag>,
    bar: &ProgressBar,
) -> anyhow::Result<Vec<(String, String)>> {
    let database = FileDatabase::open(target, cancel)?;
    let found = contents(&database, bar)?;
    let found: HashMap<&str, &TableContents> = found.iter().map(|it| (it.name.as_str(), it)).collect();
    let mut differences = Vec::new();
    for table in expected {
        let object = format!("rows of table {}", table.name);
        match found.get(table.name.as_str()) {
            // That it is not there has been said.
            None => {}
            Some(found) if found.rows != table.rows => {
                differences.push((object, format!("{} of {} came over", found.rows, table.rows)));
            }
            Some(found) if found.checksum != table.checksum => {
                differences.push((object, "their checksum is another one: some values differ".to_owned()));
            }
            Some(_) => {}
        }
    }
    Ok(differences)
}

fn contents(database: &FileDatabase, bar: &ProgressBar) -> anyhow::Result<Vec<TableContents>> {
    let definitions = Definitions::read(database).map_err(|error: CopyError| anyhow::anyhow!("{error}"))?;
    let written =
        write_backup(database, definitions, ("", ""), false, std::io::sink(), &mut |table, rows, _| {
            bar.set_message(table.to_owned());
            bar.set_position(rows);
        });
    Ok(written.map_err(in_words)?.contents)
}

/// The end of the pipe into which the backup goes.
struct PipeWriter(SyncSender<Vec<u8>>);

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| std::io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The end of the pipe out of which it is restored.
struct PipeReader {
    pipe: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.piece.len() {
            let Ok(piece) = self.pipe.recv() else { return Ok(0) };
            (self.piece, self.at) = (piece, 0);
        }
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let count = rest.len().min(out.len());
        if let (Some(out), Some(rest)) = (out.get_mut(..count), rest.get(..count)) {
            out.copy_from_slice(rest);
        }
        self.at += count;
        Ok(count)
    }
}
