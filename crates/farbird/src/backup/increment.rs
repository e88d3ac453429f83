//! `farbird backup --level`: a file of a chain of incremental backups.

use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use farbird_client::Location;
use farbird_engine::backup::{BackupSince, ClosedFile, back_up_increment, pending_backup};

use super::outcome::{Format, Outcome, prepared_transactions};
use super::remote::{ServerBackup, Wire};
use super::target::{BUFFER_BYTES, NOT_MADE, PIPE};
use super::{Arguments, Interrupt, prepared_of_server, show};
use crate::access::DatabaseAddress;
use crate::progress;

pub(super) fn run(arguments: &Arguments, level: u8) -> anyhow::Result<ExitCode> {
    let (source, target) = (&arguments.source, arguments.target.as_path());
    if target.as_os_str() == PIPE {
        bail!("the file of a level is noted in the history of the database by its name: name one");
    }
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let (outcome, what) = match DatabaseAddress::parse(source)? {
        DatabaseAddress::File(path) => of_file(&path, target, level, &interrupt)?,
        DatabaseAddress::Server(location) => of_server(arguments, &location, level, &interrupt)?,
        DatabaseAddress::Farlink => bail!("services do not pass a farlink: name the server itself"),
    };
    if let Some(left_out @ [_, ..]) = outcome.left_out.as_deref() {
        eprintln!("farbird: the backup leaves out {}", prepared_transactions(left_out));
    }
    let outcome = Outcome { seconds: started.elapsed().as_secs_f64(), ..outcome };
    let says = format!("backed up level {level} of {source} to {}{what}", target.display());
    outcome.tell(&says, Format::Text, false)?;
    Ok(ExitCode::SUCCESS)
}

/// Of a file that nobody has open. What is told of it besides: its GUID.
fn of_file(
    path: &Path,
    target: &Path,
    level: u8,
    interrupt: &Interrupt,
) -> anyhow::Result<(Outcome, String)> {
    let name = target.display().to_string();
    let mut pending = pending_backup(target, false)?;
    let out = BufWriter::with_capacity(BUFFER_BYTES, pending.create()?);
    let opened = ClosedFile::open(path)?;
    let bar = progress::bar("backup", 0);
    let since = BackupSince::Level(level);
    let made =
        back_up_increment(opened.database(), &since, out, &name, interrupt.cancel(), &mut |progress| {
            show(&bar, progress);
        });
    bar.finish_and_clear();
    let made = made.map_err(|error| interrupt.explain(error, NOT_MADE))?;
    pending.publish()?;
    let (summary, guid) = (made.summary, made.guid());
    made.note(opened.database())?;
    let outcome = Outcome { left_out: Some(opened.left_out()), ..Outcome::of(summary) };
    Ok((outcome, format!(" as {guid}")))
}

/// Of a server's database, by its service. It is in the history there, as one that a client has, before it has its name here: a chain
/// whose client has lost a file begins anew with level 0.
fn of_server(
    arguments: &Arguments,
    location: &Location,
    level: u8,
    interrupt: &Interrupt,
) -> anyhow::Result<(Outcome, String)> {
    let name = arguments.target.display().to_string();
    let options = arguments.credentials.options()?;
    let mut pending = pending_backup(&arguments.target, false)?;
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, pending.create()?);
    let bytes =
        ServerBackup::new(location, &options, interrupt).write(&mut out, &name, &Wire::Level(level))?;
    drop(out);
    pending.publish()?;
    let left_out = prepared_of_server(&arguments.source, &options).ok();
    Ok((Outcome { left_out, ..Outcome::of_size(bytes) }, String::new()))
}
