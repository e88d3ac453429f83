//! `farbird restore`: a database of a backup.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use farbird_engine::StoreOptions;
use farbird_engine::backup::{BackupProgress, BackupStage, RestoreOptions, verify};
use farbird_engine::engine::Engine;
use indicatif::ProgressBar;

use crate::access::{Credentials, DatabaseAddress};
use crate::backup::{BUFFER_BYTES, Format, Interrupt, Outcome, PIPE, ServerRestore, explain_existing};
use crate::progress;

/// Make a database of a backup.
///
/// The database has its name only when it is whole and all its indexes are built: until then it is called
/// TARGET.incomplete, which an interrupted restore takes away, and the next one after a crash.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The backup; `-` reads it from standard input.
    backup: PathBuf,
    /// The database to make: a file, or a database of a running server as host:name or host/port:name.
    #[arg(required_unless_present = "verify")]
    target: Option<String>,
    /// Replace a database of that name, once the new one is whole. Nobody may have it open.
    #[arg(long)]
    replace: bool,
    /// Only read the backup and check that it is whole and undamaged.
    #[arg(long, conflicts_with_all = ["target", "replace"])]
    verify: bool,
    #[command(flatten)]
    credentials: Credentials,
    /// How the outcome is told.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  farbird restore app.fbb app.fbd                       a new database file
  farbird restore app.fbb app.fbd --replace             takes the place of the old one, which stays until then
  farbird restore app.fbb localhost:app.fbd             on a running server, asking for SYSDBA's password
  farbird restore --verify app.fbb                      is the backup whole?
  ssh archive 'cat app.fbb' | farbird restore - app.fbd

Exit codes: 0 done, 1 the backup is damaged or incomplete (--verify), 2 nothing was restored, and nothing was changed.";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let input = Input::open(&arguments.backup)?;
    let outcome =
        match &arguments.target {
            None => match check(input, &interrupt)? {
                Ok(outcome) => outcome,
                Err(fault) => {
                    eprintln!("farbird: {fault}");
                    return Ok(ExitCode::from(1));
                }
            },
            Some(target) => match DatabaseAddress::parse(target)? {
                DatabaseAddress::File(path) => to_file(input, &path, arguments.replace, &interrupt)?,
                DatabaseAddress::Farlink => {
                    anyhow::bail!("services do not pass a farlink: name the server itself")
                }
                DatabaseAddress::Server(location) => {
                    let options = arguments.credentials.options()?;
                    let bar = input.bar("restore");
                    let restored = ServerRestore::new(&location, &options, arguments.replace, &interrupt)
                        .read(input.reader, &input.name, &bar);
                    bar.finish_and_clear();
                    Outcome::of_size(restored?)
                }
            },
        };
    let outcome = Outcome { seconds: started.elapsed().as_secs_f64(), ..outcome };
    let backup = arguments.backup.display();
    let says = match &arguments.target {
        Some(target) => format!("restored {backup} to {target}"),
        None => format!("{backup} is whole"),
    };
    outcome.tell(&says, arguments.format, false)?;
    Ok(ExitCode::SUCCESS)
}

/// A backup to read.
struct Input {
    reader: Box<dyn Read>,
    name: String,
    /// Its size, if that is known.
    bytes: Option<u64>,
}

impl Input {
    fn open(path: &Path) -> anyhow::Result<Input> {
        if path.as_os_str() == PIPE {
            let reader = BufReader::with_capacity(BUFFER_BYTES, std::io::stdin());
            return Ok(Input { reader: Box::new(reader), name: "standard input".to_owned(), bytes: None });
        }
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let about = file.metadata().with_context(|| format!("cannot read {}", path.display()))?;
        if about.is_dir() {
            bail!("{} is a folder, not a backup", path.display());
        }
        let reader = BufReader::with_capacity(BUFFER_BYTES, file);
        let bytes = about.is_file().then_some(about.len());
        Ok(Input { reader: Box::new(reader), name: path.display().to_string(), bytes })
    }

    fn bar(&self, label: &'static str) -> ProgressBar {
        progress::bytes_bar(label, self.bytes.unwrap_or(0))
    }
}

/// Checks a backup. What is wrong with it is an answer; that it could not be read is an error.
fn check(input: Input, interrupt: &Interrupt) -> anyhow::Result<Result<Outcome, farbird_types::Error>> {
    let bar = input.bar("verify");
    let checked = verify(input.reader, &input.name, interrupt.cancel(), &mut |progress| {
        bar.set_position(progress.bytes)
    });
    bar.finish_and_clear();
    match checked {
        Ok(summary) => Ok(Ok(Outcome::of(summary))),
        Err(error) if error.has(farbird_types::isc::CANCELLED) => {
            Err(interrupt.explain(error, "the backup was not read to its end"))
        }
        Err(error) if error.has(farbird_types::isc::IO_ERROR) => Err(error.into()),
        Err(error) => Ok(Err(error)),
    }
}

fn to_file(input: Input, target: &Path, replace: bool, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
    let options = RestoreOptions { replace, ..RestoreOptions::default() };
    let engine = Engine::new(StoreOptions::default());
    let bars = Bars { rows: input.bar("restore"), indexes: progress::bar("indexes", 0) };
    let restored =
        engine.restore(input.reader, &input.name, target, &options, interrupt.cancel(), &mut |progress| {
            bars.show(progress)
        });
    bars.rows.finish_and_clear();
    bars.indexes.finish_and_clear();
    match restored {
        Ok(summary) => Ok(Outcome::of(summary)),
        Err(error) => Err(explain_existing(interrupt.explain(error, "no database was made"))),
    }
}

/// First a bar of the backup's bytes, then one of indexes.
struct Bars {
    rows: ProgressBar,
    indexes: ProgressBar,
}

impl Bars {
    fn show(&self, progress: &BackupProgress<'_>) {
        match progress.stage {
            BackupStage::Rows => {
                self.rows.set_position(progress.bytes);
                self.rows.set_message(progress.object.to_owned());
            }
            BackupStage::Indexes => {
                self.rows.finish_and_clear();
                self.indexes.set_length(progress.indexes_total);
                self.indexes.set_position(progress.indexes);
                self.indexes.set_message(progress.object.to_owned());
            }
            BackupStage::Finishing => self.indexes.set_message("finishing"),
        }
    }
}
