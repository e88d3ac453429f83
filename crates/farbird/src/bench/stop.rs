//! `farbird bench stop`: how long statements go on after somebody has told them to stop.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use farbird_engine::api::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, ExecuteOptions, Execution, FetchEnd, Rows,
    TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::session::StopReason;
use farbird_engine::users::{NoUsers, UserDirectory};
use farbird_lab::endless::{Statement, setup, statements};
use farbird_types::{CharacterSet, Error, isc};
use serde_json::json;

use crate::{output, progress};

/// Measure how long statements go on after a cancel.
///
/// Statements that would run without end, one for each operator and each kind of loop, run inside this process and are
/// cancelled after a while: at different moments, so that they are met in different phases of their work. The figure is
/// the time from the cancel to the moment at which the statement has ended and is undone.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Only statements whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// Stop each statement so often.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    runs: u64,

    /// Longest that a statement runs before it is stopped, in milliseconds; the others are spread evenly below.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    longest: u64,

    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "Examples:
  farbird bench stop                          every statement, ten times (some minutes)
  farbird bench stop --only sort --runs 50    one of them, often
  farbird bench stop --longest 60000          met deep in their work: files of sorts, large sets
  farbird bench stop --format json            for other programs";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each statement.
    Table,
    /// One object with all figures.
    Json,
}

/// How long a statement went on, each time that it was stopped, shortest first.
struct Figures {
    name: &'static str,
    times: Vec<Duration>,
}

impl Figures {
    /// The time that so many percent of all stay below.
    fn percentile(&self, percent: usize) -> Duration {
        let place = (self.times.len() * percent).div_ceil(100).max(1) - 1;
        self.times.get(place).copied().unwrap_or_default()
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let folder = std::env::temp_dir().join(format!("farbird-bench-stop-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let figures = measure(arguments, &folder.join("stop.fbd"));
    std::fs::remove_dir_all(&folder)?;
    let figures = figures?;
    match arguments.format {
        Format::Table => output::answer(&table(&figures))?,
        Format::Json => output::answer_line(&serde_json::to_string_pretty(&json_of(&figures))?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(arguments: &Arguments, path: &std::path::Path) -> anyhow::Result<Vec<Figures>> {
    let engine = Engine::new(Default::default());
    let users: Arc<dyn UserDirectory> = Arc::new(NoUsers);
    let options = AttachOptions {
        user: "SYSDBA".to_owned(),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: None,
        no_database_triggers: false,
        client: ClientDescription::default(),
    };
    let create = CreateDatabaseOptions {
        default_character_set: CharacterSet::UTF8,
        page_size: 8192,
        overwrite: false,
        dialect: 3,
    };
    let mut attachment = engine.create_database(path, &create, options, users)?;
    for statement in setup() {
        run_statement(&mut attachment, statement.sql, true)?;
    }
    let chosen: Vec<Statement> = statements()
        .filter(|statement| arguments.only.as_ref().is_none_or(|text| statement.name.contains(text.as_str())))
        .collect();
    let bar = progress::bar("stopping statements", chosen.len() as u64 * arguments.runs);
    let mut figures = Vec::with_capacity(chosen.len());
    for statement in chosen {
        let mut times = Vec::new();
        for run in 1..=arguments.runs {
            let after = Duration::from_millis(arguments.longest * run / arguments.runs);
            let (stopped, time) = stop(attachment, statement, after)?;
            attachment = stopped;
            times.push(time);
            bar.inc(1);
        }
        times.sort_unstable();
        figures.push(Figures { name: statement.name, times });
    }
    bar.finish_and_clear();
    Ok(figures)
}

/// Runs a statement for a while and cancels it; gives the attachment back, and how long the statement went on.
fn stop(
    mut attachment: Attachment,
    statement: Statement,
    after: Duration,
) -> anyhow::Result<(Attachment, Duration)> {
    let interrupt = attachment.interrupt();
    let (send, ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        let result = run_statement(&mut attachment, statement.sql, false);
        // Whoever asks is waiting.
        let _ = send.send(Instant::now());
        (attachment, result)
    });
    if ended.recv_timeout(after).is_ok() {
        anyhow::bail!(
            "{} ended by itself: {:?}",
            statement.name,
            thread.join().ok().map(|(_, result)| result)
        );
    }
    let told = Instant::now();
    interrupt.raise(StopReason::Cancelled);
    let end = ended.recv()?;
    let (attachment, result) = thread.join().map_err(|_| anyhow::anyhow!("the engine has failed"))?;
    match result {
        Err(error) if error.has(isc::CANCELLED) => Ok((attachment, end.saturating_duration_since(told))),
        other => anyhow::bail!("{} was cancelled and gave {other:?}", statement.name),
    }
}

/// Runs a statement to its end, in a transaction of its own.
fn run_statement(attachment: &mut Attachment, sql: &str, commits: bool) -> Result<(), Error> {
    let transaction = attachment.start_transaction(TransactionParameters::default())?;
    let handle = attachment.allocate_statement()?;
    let result = (|| {
        let description = attachment.prepare(handle, Some(transaction), sql, 3)?;
        let execution =
            attachment.execute(handle, Some(transaction), Vec::new(), ExecuteOptions::default())?;
        if matches!(execution, Execution::CursorOpened) {
            let mut rows = Rows::default();
            loop {
                rows.reset(description.columns.len());
                if attachment.fetch(handle, 1000, &mut rows)? == FetchEnd::EndOfCursor {
                    break;
                }
            }
        }
        Ok(())
    })();
    attachment.drop_statement(handle)?;
    if commits && result.is_ok() {
        attachment.commit(transaction)?;
    } else {
        attachment.rollback(transaction)?;
    }
    result
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn all(figures: &[Figures]) -> Figures {
    let mut times: Vec<Duration> = figures.iter().flat_map(|figures| figures.times.iter().copied()).collect();
    times.sort_unstable();
    Figures { name: "all", times }
}

fn table(figures: &[Figures]) -> String {
    let mut out = format!(
        "{:<44} {:>10} {:>10} {:>10}\n",
        "milliseconds from the cancel to the end", "median", "95 %", "longest"
    );
    for figures in figures.iter().chain(&[all(figures)]) {
        let [median, most, longest] = [50, 95, 100].map(|percent| milliseconds(figures.percentile(percent)));
        // Writing to a string does not fail.
        let _ = writeln!(out, "{:<44} {median:>10.2} {most:>10.2} {longest:>10.2}", figures.name);
    }
    out
}

fn json_of(figures: &[Figures]) -> serde_json::Value {
    let of = |figures: &Figures| {
        json!({
            "statement": figures.name,
            "milliseconds": {
                "median": milliseconds(figures.percentile(50)),
                "95": milliseconds(figures.percentile(95)),
                "longest": milliseconds(figures.percentile(100)),
            },
        })
    };
    json!({ "statements": figures.iter().map(of).collect::<Vec<_>>(), "all": of(&all(figures)) })
}
