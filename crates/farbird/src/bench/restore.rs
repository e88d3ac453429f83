//! `farbird bench restore`: a backup of gbak's restored by `farbird restore` and by gbak itself, in turns, and backed up again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde_json::json;

use crate::{output, progress};

/// Measure restoring a backup of gbak's, beside gbak.
///
/// Both make a database of the same file, one after the other and in turns, and each backs up what it has made: processes of their own,
/// whose time and processor time is taken. gbak works without a server, as the user who runs this. Figures are the medians of the runs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A backup that gbak has made, in one file.
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,

    /// The gbak to measure beside; without it only Farbird is measured.
    #[arg(long, value_name = "PROGRAM")]
    gbak: Option<PathBuf>,

    /// How often each is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,

    /// Where the databases and backups lie meanwhile.
    #[arg(long, value_name = "FOLDER", default_value_os_t = std::env::temp_dir())]
    scratch: PathBuf,

    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "Examples:
  farbird bench restore old.fbk --gbak /usr/bin/gbak
  farbird bench restore old.fbk --gbak /opt/firebird/bin/gbak --runs 5 --scratch /var/tmp --format json";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each program and step.
    Table,
    /// One object with all figures.
    Json,
}

/// What one run took.
#[derive(Debug, Clone, Copy)]
struct Figure {
    time: Duration,
    /// Of all its threads; unknown where the system does not tell.
    processor: Option<Duration>,
    /// Bytes of the file that it has made.
    bytes: u64,
}

/// A command that is measured.
struct Step {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<PathBuf>,
    /// What it makes.
    target: PathBuf,
    /// Exit codes of success: 1 is that of `farbird` when something of the database could not be taken.
    codes: &'static [i32],
    figures: Vec<Figure>,
}

impl Step {
    fn of_farbird(name: &'static str, words: &[&str], (from, to): (&Path, &Path)) -> anyhow::Result<Step> {
        let (command, options) = words.split_first().context("a command without a name")?;
        let mut arguments = vec![PathBuf::from(command), from.to_owned(), to.to_owned()];
        arguments.extend(options.iter().map(PathBuf::from));
        let program = std::env::current_exe().context("cannot find this program")?;
        Ok(Step { name, program, arguments, target: to.to_owned(), codes: &[0, 1], figures: Vec::new() })
    }

    fn of_gbak(name: &'static str, gbak: &Path, switch: &str, (from, to): (&Path, &Path)) -> Step {
        let words = [switch, "-user", "SYSDBA"].map(PathBuf::from);
        let arguments = words.into_iter().chain([from.to_owned(), to.to_owned()]).collect();
        Step {
            name,
            program: gbak.to_owned(),
            arguments,
            target: to.to_owned(),
            codes: &[0],
            figures: Vec::new(),
        }
    }

    fn run(&mut self) -> anyhow::Result<()> {
        remove(&self.target)?;
        let before = processor_time_of_children();
        let started = Instant::now();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null());
        let done = command.output().with_context(|| format!("cannot run {}", self.program.display()))?;
        let time = started.elapsed();
        if !done.status.code().is_some_and(|code| self.codes.contains(&code)) {
            bail!("{} has failed: {}", self.name, String::from_utf8_lossy(&done.stderr).trim());
        }
        let processor = processor_time_of_children().zip(before).map(|(after, before)| after - before);
        let bytes =
            std::fs::metadata(&self.target).with_context(|| format!("{} has made nothing", self.name))?.len();
        self.figures.push(Figure { time, processor, bytes });
        Ok(())
    }

    /// The run in the middle.
    fn median(&self) -> Option<Figure> {
        let mut figures = self.figures.clone();
        figures.sort_unstable_by_key(|figure| figure.time);
        figures.get(figures.len().saturating_sub(1) / 2).copied()
    }
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// What the processes that have ended have taken of the processors: Linux tells it in ticks of a hundredth of a second.
fn processor_time_of_children() -> Option<Duration> {
    const TICK: Duration = Duration::from_millis(10);
    /// Places behind the program's name, which may hold spaces itself.
    const USER: usize = 13;
    const SYSTEM: usize = 14;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let numbers: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |place: usize| numbers.get(place)?.parse::<u32>().ok();
    Some(TICK * ticks(USER)?.checked_add(ticks(SYSTEM)?)?)
}

/// A folder of this run, which goes with it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("farbird: {} stays: {error}", self.0.display());
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    // Ctrl-C ends the programs that are measured; what they leave is taken away here.
    let interrupt = crate::backup::Interrupt::watch()?;
    let folder = Folder(arguments.scratch.join(format!("farbird-bench-restore-{}", std::process::id())));
    std::fs::create_dir(&folder.0).with_context(|| format!("cannot make {}", folder.0.display()))?;
    let mut steps = steps(arguments, &folder.0)?;
    let bar = progress::bar("restoring and backing up", u64::from(arguments.runs) * steps.len() as u64);
    for _ in 0..arguments.runs {
        for step in &mut steps {
            bar.set_message(step.name);
            let done = step.run();
            if interrupt.cancel().is_raised() {
                bail!("interrupted");
            }
            done?;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    match arguments.format {
        Format::Table => output::answer(&table(&steps))?,
        Format::Json => output::answer_line(&serde_json::to_string_pretty(&json_of(&steps))?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn steps(arguments: &Arguments, folder: &Path) -> anyhow::Result<Vec<Step>> {
    let backup = arguments.backup.as_path();
    let [own, own_fbb, own_fbk] = ["own.fbd", "own.fbb", "own.fbk"].map(|name| folder.join(name));
    let [other, other_fbk] = ["other.fdb", "other.fbk"].map(|name| folder.join(name));
    let mut steps = vec![Step::of_farbird("farbird restore", &["restore"], (backup, &own))?];
    if let Some(gbak) = &arguments.gbak {
        steps.push(Step::of_gbak("gbak -c", gbak, "-c", (backup, &other)));
    }
    steps.push(Step::of_farbird("farbird backup", &["backup"], (&own, &own_fbb))?);
    let as_gbak = &["backup", "--format", "gbak", "--replace"];
    steps.push(Step::of_farbird("farbird backup --format gbak", as_gbak, (&own, &own_fbk))?);
    if let Some(gbak) = &arguments.gbak {
        steps.push(Step::of_gbak("gbak -b", gbak, "-b", (&other, &other_fbk)));
    }
    Ok(steps)
}

fn table(steps: &[Step]) -> String {
    let mut out = format!("{:<30} {:>10} {:>12} {:>12}\n", "", "seconds", "processor", "MB made");
    for step in steps {
        let Some(figure) = step.median() else { continue };
        let processor =
            figure.processor.map_or_else(|| "-".to_owned(), |time| format!("{:.2}", time.as_secs_f64()));
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{:<30} {:>10.2} {processor:>12} {:>12.1}",
            step.name,
            figure.time.as_secs_f64(),
            figure.bytes as f64 / 1e6
        );
    }
    out
}

fn json_of(steps: &[Step]) -> serde_json::Value {
    let figure = |figure: &Figure| {
        json!({
            "seconds": figure.time.as_secs_f64(),
            "processor_seconds": figure.processor.map(|time| time.as_secs_f64()),
            "bytes": figure.bytes,
        })
    };
    let step = |step: &Step| json!({ "step": step.name, "runs": step.figures.iter().map(figure).collect::<Vec<_>>() });
    json!({ "steps": steps.iter().map(step).collect::<Vec<_>>() })
}
