//! `farbird check`: is a database sound?

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use farbird_engine::StoreOptions;
use farbird_engine::check::{CheckStep, DatabaseReport, check_database};
use indicatif::ProgressBar;

use crate::backup::{Format, Interrupt};
use crate::{output, progress};

/// Check a database: every page, row, index entry, BLOB and foreign key, and whether they agree.
///
/// The file is only read; what an interrupted server left behind is mended in memory, not in the file. Nobody may have
/// the database open meanwhile.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database file.
    database: PathBuf,
    /// How the outcome is told.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  farbird check app.fbd                   says what is damaged, and what to do about it
  farbird check app.fbd --format json     the same for programs: {\"sound\": true, ...}
  farbird check app.fbd && cp app.fbd /archive/

Exit codes: 0 the database is sound, 1 something is damaged, 2 it could not be checked (no such file, in use, ...).";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let bar = progress::bar("check", 0);
    let report = check_database(
        &arguments.database,
        &StoreOptions::default(),
        &mut |step| show(&bar, step),
        interrupt.cancel(),
    );
    bar.finish_and_clear();
    let report = report.with_context(|| format!("{} was not checked", arguments.database.display()))?;
    let seconds = started.elapsed().as_secs_f64();
    match arguments.format {
        Format::Text => output::answer(&told(&report, &arguments.database.display().to_string(), seconds)?)?,
        Format::Json => output::answer_line(&json(&report, seconds).to_string())?,
    }
    Ok(ExitCode::from(u8::from(!report.is_sound())))
}

fn show(bar: &ProgressBar, step: CheckStep) {
    match step {
        CheckStep::Pages => bar.set_message("pages"),
        CheckStep::Contents { table, done, total } => {
            bar.set_message(table.unwrap_or_else(|| "BLOBs".to_owned()));
            bar.set_length(total);
            bar.set_position(done);
        }
        CheckStep::References { table } => bar.set_message(format!("{table}, foreign keys")),
    }
}

fn told(report: &DatabaseReport, database: &str, seconds: f64) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for damage in &report.damages {
        writeln!(out, "{}: {}", damage.place, damage.what)?;
        writeln!(out, "    {}", damage.advice)?;
    }
    if report.counts.more_findings > 0 {
        writeln!(out, "and {} more", report.counts.more_findings)?;
    }
    let counts = &report.counts;
    writeln!(
        out,
        "{} tables, {} rows in {} blocks and {} versions, {} index entries ({} lead nowhere), {} BLOBs (and {} of no \
         row), {} bytes of nothing known, {seconds:.1} s",
        counts.relations,
        counts.rows,
        counts.blocks,
        counts.versions,
        counts.entries,
        counts.stale_entries,
        counts.blobs,
        counts.orphan_blobs,
        counts.unknown_bytes,
    )?;
    for id in &report.prepared {
        writeln!(
            out,
            "transaction {id} is prepared and waits for a commit or a rollback (gfix -commit, gfix -rollback)"
        )?;
    }
    match report.damages.len() {
        0 => writeln!(out, "{database} is sound")?,
        1 => writeln!(out, "{database} is damaged in one place")?,
        count => writeln!(out, "{database} is damaged in {count} places")?,
    }
    Ok(out)
}

fn json(report: &DatabaseReport, seconds: f64) -> serde_json::Value {
    let damages = report.damages.iter().map(
        |damage| serde_json::json!({ "place": damage.place, "what": damage.what, "advice": damage.advice }),
    );
    let damages: Vec<_> = damages.collect();
    let counts = &report.counts;
    serde_json::json!({
        "sound": report.is_sound(),
        "damages": damages,
        "more_damages": counts.more_findings,
        "tables": counts.relations,
        "rows": counts.rows,
        "blocks": counts.blocks,
        "versions": counts.versions,
        "index_entries": counts.entries,
        "stale_index_entries": counts.stale_entries,
        "blobs": counts.blobs,
        "orphan_blobs": counts.orphan_blobs,
        "unknown_bytes": counts.unknown_bytes,
        "prepared_transactions": report.prepared,
        "seconds": seconds,
    })
}
