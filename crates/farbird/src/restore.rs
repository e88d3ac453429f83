//! `farbird restore`: a database of a backup.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use farbird_engine::StoreOptions;
use farbird_engine::backup::{
    BackupProgress, BackupStage, BackupSummary, CancelFlag, ChainFile, Difference, RestoreOptions, Restored,
    is_chain_file, open_chain, verify,
};
use farbird_engine::engine::Engine;
use farbird_engine::gbak::{Volumes, is_gbak, verify_gbak};
use indicatif::ProgressBar;

use crate::access::{Credentials, DatabaseAddress};
use crate::backup::{
    BUFFER_BYTES, ChosenRows, Format, Interrupt, Outcome, PIPE, ServerRestore, explain_existing,
};
use crate::progress;

/// Make a database of a backup.
///
/// The database has its name only when it is whole and all its indexes are built: until then it is called
/// TARGET.incomplete, which an interrupted restore takes away, and the next one after a crash.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The backup; `-` reads it from standard input. A backup of Firebird's gbak in several files: all of them. Incremental backups: the
    /// one of level 0, and those that build on it up to the one that is wanted.
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// The database to make, behind all files of the backup: a file, or a database of a running server as host:name or
    /// host/port:name.
    #[arg(value_name = "TARGET", required_unless_present = "verify")]
    rest: Vec<String>,
    /// Replace a database of that name, once the new one is whole. Nobody may have it open.
    #[arg(long)]
    replace: bool,
    /// Only read the backup and check that it is whole and undamaged.
    #[arg(long, conflicts_with_all = ["replace", "metadata_only", "skip_data", "include_data", "inactive_indexes", "no_validity", "read_only"])]
    verify: bool,
    #[command(flatten)]
    rows: ChosenRows,
    /// Leave indexes inactive, but for those of keys.
    #[arg(long)]
    inactive_indexes: bool,
    /// Leave NOT NULL out, but of primary keys, and the CHECKs of domains, to get at rows that do not satisfy them.
    #[arg(long)]
    no_validity: bool,
    /// The database takes no changes.
    #[arg(long)]
    read_only: bool,
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
  farbird restore old.fbk app.fbd                       a backup that Firebird's gbak made
  farbird restore old1.fbk old2.fbk old3.fbk app.fbd    the same in several files
  farbird restore sunday.fbn monday.fbn app.fbd         incremental backups
  farbird restore old.fbk app.fbd --skip-data 'LOG%'    without the rows of some tables

Exit codes: 0 done; 1 the database is made, but something of gbak's backup is not in it, as listed, or the backup is damaged
or incomplete (--verify); 2 nothing was restored, and nothing was changed.";

impl Arguments {
    /// How a file is to be made.
    fn options(&self) -> anyhow::Result<RestoreOptions> {
        Ok(RestoreOptions {
            replace: self.replace,
            read_only: self.read_only,
            page_size: None,
            tables: self.rows.tables()?,
            inactive_indexes: self.inactive_indexes,
            no_validity: self.no_validity,
        })
    }

    /// The same for a server's service.
    fn options_of_server(&self) -> farbird_client::RestoreOptions {
        farbird_client::RestoreOptions {
            replace: self.replace,
            read_only: self.read_only.then_some(true),
            metadata_only: self.rows.metadata_only,
            skip_data: self.rows.skip_data.clone(),
            include_data: self.rows.include_data.clone(),
            deactivate_indices: self.inactive_indexes,
            no_validity: self.no_validity,
            ..farbird_client::RestoreOptions::default()
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let started = Instant::now();
    let (parts, target) = match arguments.rest.split_last() {
        Some((target, parts)) if !arguments.verify => (parts, Some(target)),
        _ => (arguments.rest.as_slice(), None),
    };
    if let Some(chain) = Chain::open(&arguments.backup, parts)? {
        return chain.run(arguments, target, &interrupt, started);
    }
    let mut input = Input::open(&arguments.backup)?;
    if input.is_gbak()? || !parts.is_empty() {
        let mut inputs = vec![input];
        for part in parts {
            inputs.push(Input::open(Path::new(part))?);
        }
        return gbak(arguments, inputs, target, &interrupt, started);
    }
    let mut differences = Vec::new();
    let outcome = match target {
        None => match check(input, &interrupt)? {
            Ok(outcome) => outcome,
            Err(fault) => {
                eprintln!("farbird: {fault}");
                return Ok(ExitCode::from(1));
            }
        },
        Some(target) => match DatabaseAddress::parse(target)? {
            DatabaseAddress::File(path) => {
                let restored = to_file(input, &path, &arguments.options()?, &interrupt)?;
                differences = restored.differences;
                Outcome::of(restored.summary)
            }
            DatabaseAddress::Farlink => {
                anyhow::bail!("services do not pass a farlink: name the server itself")
            }
            DatabaseAddress::Server(location) => {
                let options = arguments.credentials.options()?;
                let bar = input.bar("restore");
                let how = arguments.options_of_server();
                let restored = ServerRestore::new(&location, &options, how, &interrupt).read(
                    input.reader,
                    &input.name,
                    &bar,
                );
                bar.finish_and_clear();
                let (bytes, told) = restored?;
                differences = told;
                Outcome::of_size(bytes)
            }
        },
    };
    let outcome = Outcome { seconds: started.elapsed().as_secs_f64(), ..outcome };
    let backup = arguments.backup.display();
    let says = match target {
        Some(target) => format!("restored {backup} to {target}"),
        None => format!("{backup} is whole"),
    };
    tell(&outcome, &says, arguments.format, &differences)
}

/// Tells what was done, and what is not as it was.
fn tell(
    outcome: &Outcome,
    says: &str,
    format: Format,
    differences: &[Difference],
) -> anyhow::Result<ExitCode> {
    let listed: Vec<_> = differences.iter().map(|it| (it.object.as_str(), it.reason.as_str())).collect();
    outcome.tell_with(says, format, &listed, false)?;
    Ok(ExitCode::from(u8::from(!listed.is_empty())))
}

/// Restores what gbak made, and tells what is not as it was.
fn gbak(
    arguments: &Arguments,
    inputs: Vec<Input>,
    target: Option<&String>,
    interrupt: &Interrupt,
    started: Instant,
) -> anyhow::Result<ExitCode> {
    let name = inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ");
    let bytes: Option<u64> = inputs.iter().map(|input| input.bytes).sum();
    let bars = Bars {
        rows: progress::bytes_bar("restore", bytes.unwrap_or(0)),
        indexes: progress::bar("indexes", 0),
    };
    let read = Arc::new(AtomicU64::new(0));
    let files = inputs.into_iter().map(|input| {
        let (read, cancel) = (Arc::clone(&read), Arc::clone(interrupt.cancel()));
        let counted = Counted { reader: input.reader, read, cancel };
        (input.name, Box::new(counted) as Box<dyn Read>)
    });
    let volumes = Volumes::open(files.collect())?;
    let Some(target) = target else {
        return verify_gbak_files(arguments, volumes, &name, &read, (interrupt, started));
    };
    let DatabaseAddress::File(path) = DatabaseAddress::parse(target)? else {
        bail!("backups of gbak are restored to a file; move it into the server's data folder then");
    };
    let options = arguments.options()?;
    let engine = Engine::new(StoreOptions::default());
    let restored =
        engine.restore_gbak(volumes, &name, &path, &options, interrupt.cancel(), &mut |progress| {
            // What was read of the files, which may be packed.
            bars.show(&BackupProgress { bytes: read.load(Ordering::Relaxed), ..*progress });
        });
    bars.rows.finish_and_clear();
    bars.indexes.finish_and_clear();
    let summary =
        restored.map_err(|error| explain_existing(interrupt.explain(error, "no database was made")))?;
    let seconds = started.elapsed().as_secs_f64();
    let outcome = Outcome {
        left_out: None,
        summary: Some(BackupSummary::from(&summary)),
        bytes: read.load(Ordering::Relaxed),
        seconds,
    };
    tell(&outcome, &format!("restored {name} to {target}"), arguments.format, &summary.differences)
}

/// Reads a backup of gbak's to its end.
fn verify_gbak_files(
    arguments: &Arguments,
    volumes: Volumes<'_>,
    name: &str,
    read: &AtomicU64,
    (interrupt, started): (&Interrupt, Instant),
) -> anyhow::Result<ExitCode> {
    let contents = match verify_gbak(volumes, name) {
        Ok(contents) => contents,
        Err(_) if interrupt.cancel().is_raised() => {
            let error = farbird_types::Error::new(farbird_types::isc::CANCELLED);
            return Err(interrupt.explain(error, "the backup was not read to its end"));
        }
        Err(error) if error.has(farbird_types::isc::IO_ERROR) => return Err(error.into()),
        Err(fault) => {
            eprintln!("farbird: {fault}");
            return Ok(ExitCode::from(1));
        }
    };
    let summary = BackupSummary {
        relations: contents.tables,
        rows: contents.rows,
        blobs: contents.blobs,
        blob_bytes: contents.blob_bytes,
        ..BackupSummary::default()
    };
    let (bytes, seconds) = (read.load(Ordering::Relaxed), started.elapsed().as_secs_f64());
    let outcome = Outcome { summary: Some(summary), bytes, seconds, left_out: None };
    outcome.tell(&format!("{name} can be read to its end"), arguments.format, false)?;
    Ok(ExitCode::SUCCESS)
}

/// Counts what is read, until it is interrupted.
struct Counted {
    reader: Box<dyn Read>,
    read: Arc<AtomicU64>,
    cancel: Arc<CancelFlag>,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_raised() {
            // Not `ErrorKind::Interrupted`, after which a reader tries again.
            return Err(std::io::Error::other("interrupted"));
        }
        let count = self.reader.read(out)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Files of incremental backups.
struct Chain {
    files: Vec<ChainFile<File>>,
    names: String,
}

impl Chain {
    /// Opens them, if the first one is such a file.
    fn open(first: &Path, rest: &[String]) -> anyhow::Result<Option<Chain>> {
        let Ok(mut file) = File::open(first) else { return Ok(None) };
        let name = first.display().to_string();
        let is_file = file.metadata().is_ok_and(|about| about.is_file());
        if !is_file || !is_chain_file(&mut file, &name)? {
            return Ok(None);
        }
        let mut files = vec![ChainFile { name, file }];
        for name in rest {
            let file = File::open(name).with_context(|| format!("cannot read {name}"))?;
            files.push(ChainFile { name: name.clone(), file });
        }
        let names = files.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        Ok(Some(Chain { files, names }))
    }

    fn run(
        self,
        arguments: &Arguments,
        target: Option<&String>,
        interrupt: &Interrupt,
        started: Instant,
    ) -> anyhow::Result<ExitCode> {
        let Chain { files, names } = self;
        let engine = Engine::new(StoreOptions::default());
        let opened = open_chain(files, interrupt.cancel(), &engine.budget().statement());
        let chain = match opened {
            Ok(chain) => chain,
            Err(error) if target.is_some() => return Err(interrupt.explain(error, "no database was made")),
            Err(fault) => {
                eprintln!("farbird: {fault}");
                return Ok(ExitCode::from(1));
            }
        };
        let input = Input { reader: Box::new(chain), name: names.clone(), bytes: None };
        let (outcome, says, differences) = match target {
            None => match check(input, interrupt)? {
                Ok(outcome) => (outcome, format!("{names} can be restored"), Vec::new()),
                Err(fault) => {
                    eprintln!("farbird: {fault}");
                    return Ok(ExitCode::from(1));
                }
            },
            Some(target) => {
                let DatabaseAddress::File(path) = DatabaseAddress::parse(target)? else {
                    bail!(
                        "incremental backups are restored to a file; on a server its service action_nrest restores them"
                    );
                };
                let Restored { summary, differences } =
                    to_file(input, &path, &arguments.options()?, interrupt)?;
                (Outcome::of(summary), format!("restored {names} to {target}"), differences)
            }
        };
        let outcome = Outcome { seconds: started.elapsed().as_secs_f64(), ..outcome };
        tell(&outcome, &says, arguments.format, &differences)
    }
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

    /// Whether gbak made it. What is looked at is read again.
    fn is_gbak(&mut self) -> anyhow::Result<bool> {
        let reader = std::mem::replace(&mut self.reader, Box::new(std::io::empty()));
        let (is_gbak, again) = is_gbak(reader);
        self.reader = Box::new(again);
        is_gbak.with_context(|| format!("cannot read {}", self.name))
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

fn to_file(
    input: Input,
    target: &Path,
    options: &RestoreOptions,
    interrupt: &Interrupt,
) -> anyhow::Result<Restored> {
    let engine = Engine::new(StoreOptions::default());
    let bars = Bars { rows: input.bar("restore"), indexes: progress::bar("indexes", 0) };
    let restored =
        engine.restore(input.reader, &input.name, target, options, interrupt.cancel(), &mut |progress| {
            bars.show(progress)
        });
    bars.rows.finish_and_clear();
    bars.indexes.finish_and_clear();
    restored.map_err(|error| explain_existing(interrupt.explain(error, "no database was made")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends_when_it_is_interrupted() {
        let cancel = CancelFlag::new();
        let reader: Box<dyn Read> = Box::new(std::io::repeat(1));
        let mut counted = Counted { reader, read: Arc::default(), cancel: Arc::clone(&cancel) };
        let mut bytes = [0; 8];
        counted.read_exact(&mut bytes).expect("bytes");
        cancel.cancel();
        assert!(counted.read_exact(&mut bytes).is_err());
        assert_eq!(counted.read.load(Ordering::Relaxed), 8);
    }
}
