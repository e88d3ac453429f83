//! `farbird backup --level`: a file of a chain of incremental backups.

use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use farbird_engine::backup::{BackupSince, ClosedFile, back_up_increment, pending_backup};

use super::outcome::{Format, Outcome, prepared_transactions};
use super::target::{BUFFER_BYTES, NOT_MADE, PIPE};
use super::{Interrupt, show};
use crate::access::DatabaseAddress;
use crate::progress;

pub(super) fn run(source: &str, target: &Path, level: u8) -> anyhow::Result<ExitCode> {
    let DatabaseAddress::File(path) = DatabaseAddress::parse(source)? else {
        bail!(
            "of a server's databases its service makes levels: fbsvcmgr HOST:service_mgr action_nbak dbname APP nbk_file FILE nbk_level {level}"
        );
    };
    if target.as_os_str() == PIPE {
        bail!("the file of a level is noted in the history of the database by its name: name one");
    }
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let name = target.display().to_string();
    let mut pending = pending_backup(target, false)?;
    let out = BufWriter::with_capacity(BUFFER_BYTES, pending.create()?);
    let opened = ClosedFile::open(&path)?;
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
    let left_out = opened.left_out();
    if !left_out.is_empty() {
        eprintln!("farbird: the backup leaves out {}", prepared_transactions(&left_out));
    }
    let outcome = Outcome {
        seconds: started.elapsed().as_secs_f64(),
        left_out: Some(left_out),
        ..Outcome::of(summary)
    };
    outcome.tell(&format!("backed up level {level} of {source} to {name} as {guid}"), Format::Text, false)?;
    Ok(ExitCode::SUCCESS)
}
