//! `farbird shrink`: a database file as small as its contents.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use farbird::Database;
use indicatif::HumanBytes;
use serde_json::json;

use crate::backup::Format;
use crate::{output, progress};

/// Give a database file's free space back to the operating system.
///
/// A database uses the space of deleted rows again by itself, but its file never gets smaller while it is open. This
/// sweeps it, moves what stands at the end of the file to the front, and cuts the end off. Nobody may have it open.
/// It needs no room beside the file, and may be interrupted at any time: the database then is as it was, or in part moved.
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
  farbird shrink app.fbd                   after many rows were deleted
  farbird shrink app.fbd --format json     {\"before\":274726912,\"after\":4739072,\"seconds\":1.6}

Exit codes: 0 done, 2 it could not be done: someone has the database open, or it is none.";

/// Memory for pages of the file, in bytes.
const CACHE_BYTES: usize = 256 << 20;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let path = &arguments.database;
    let cannot = || format!("cannot shrink {}", path.display());
    let bar = progress::bar("sweep", 0);
    let before = std::fs::metadata(path).with_context(cannot)?.len();
    // Swept through the library's face, which tells the store the tables and their indexes.
    let database = Database::open(path).with_context(cannot)?;
    database.sweep().with_context(cannot)?;
    drop(database);
    bar.set_message("move and cut");
    let shrunk = farbird_store::shrink(path, CACHE_BYTES).with_context(cannot)?;
    bar.finish_and_clear();
    let seconds = started.elapsed().as_secs_f64();
    match arguments.format {
        Format::Text => output::answer_line(&format!(
            "shrunk {} from {} to {} in {seconds:.1} s",
            path.display(),
            HumanBytes(before),
            HumanBytes(shrunk.after)
        ))?,
        Format::Json => {
            let object = json!({ "before": before, "after": shrunk.after, "seconds": seconds });
            output::answer_line(&object.to_string())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
