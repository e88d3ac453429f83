//! `farbird bench store`: how fast and how small the store is, beside a Firebird and a PostgreSQL server.
//!
//! The work itself is `farbird_lab::contest`'s; here sides are put together from the command line and results shown.

mod embedded;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use farbird_client::ConnectOptions;
use farbird_lab::contest::{self, Experiment, FirebirdSide, PostgresSide, Role, Scale, Side};

use super::own::{OwnServer, WorkFolder, machine, password_of_file};
use crate::{output, progress};
use embedded::EmbeddedSide;
use report::Report;

/// Measure the store: bulk inserts, scans, point reads, commits, loading over loopback.
///
/// Farbird is measured inside this process and, where a connection matters, as a server on loopback. A Firebird and a
/// PostgreSQL server do the same work when their addresses are given. Each database is made for this and dropped at the
/// end. The exit code is 1 if a goal is missed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  farbird bench store --rows 500000
  farbird bench store --only scan --only reads --runs 10
  farbird bench store --firebird 127.0.0.1/3050:/tmp/bench.fdb --firebird-password-file password \\
                      --postgres postgres://postgres@127.0.0.1/postgres

The database that --firebird names is created and dropped; it must not exist.
docs/benchmarks.md says what is measured, and how it came out.")]
pub(crate) struct Arguments {
    /// Rows of the large tables. Everything else is in proportion.
    #[arg(long, default_value_t = 5_000_000, value_parser = clap::value_parser!(i32).range(1000..=500_000_000))]
    rows: i32,
    /// How often what is short is repeated. The best and the median are shown.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,
    /// Do this one only. May be given several times.
    #[arg(long, value_name = "NAME", value_enum)]
    only: Vec<Chosen>,
    /// A Firebird server, with a database to create there.
    #[arg(long, value_name = "HOST/PORT:PATH")]
    firebird: Option<String>,
    /// Its user.
    #[arg(long, value_name = "NAME", default_value = "SYSDBA")]
    firebird_user: String,
    /// A file with that user's password, alone or as ISC_PASSWORD=... [default: FIREBIRD_PASSWORD, or masterkey].
    #[arg(long, value_name = "FILE")]
    firebird_password_file: Option<PathBuf>,
    /// A PostgreSQL server, with a database from which one for this is made.
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Where Farbird's databases are made [default: the system's temporary folder].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// How results look.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// An experiment, as chosen on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Chosen {
    /// Insert rows of NULL in a PSQL loop, count them.
    Nulls,
    /// Filter and sum over narrow rows.
    Scan,
    /// Rows by primary key.
    Reads,
    /// Single rows, committed durably by 1 and 16 clients.
    Commits,
    /// Many rows by a prepared statement over loopback.
    Load,
    /// Many clients at the same sequence, the same rows, the same indexes.
    Crowd,
}

impl Chosen {
    fn experiment(self) -> Experiment {
        match self {
            Chosen::Nulls => Experiment::Nulls,
            Chosen::Scan => Experiment::Scan,
            Chosen::Reads => Experiment::Reads,
            Chosen::Commits => Experiment::Commits,
            Chosen::Load => Experiment::Load,
            Chosen::Crowd => Experiment::Crowd,
        }
    }
}

/// How results look.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Figures with bars, for people.
    Table,
    /// One JSON object.
    Json,
}

/// How long each run of what is counted per second takes.
const RUN_TIME: Duration = Duration::from_secs(1);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let folder = WorkFolder::create(arguments.folder.as_deref())?;
    let experiments: Vec<_> = match arguments.only.as_slice() {
        [] => Experiment::ALL.to_vec(),
        only => only.iter().map(|chosen| chosen.experiment()).collect(),
    };
    let wanted = |role: Role| experiments.iter().any(|experiment| experiment.roles().contains(&role));

    let server = if wanted(Role::Served) { Some(OwnServer::start(folder.path())?) } else { None };
    let mut sides = BTreeMap::new();
    let result = take_part(arguments, folder.path(), server.as_ref(), wanted, &mut sides)
        .and_then(|()| measure(arguments, &experiments, &mut sides));
    // Databases are dropped whether or not all went well; of several failures the first is the one to tell.
    let removed = remove(sides);
    if let Some(server) = server {
        server.stop();
    }
    let report = result?;
    removed?;

    match arguments.format {
        Format::Table => output::answer(&report.to_text())?,
        Format::Json => output::answer_line(&serde_json::to_string_pretty(&report.to_json())?)?,
    }
    Ok(if report.missed() == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Makes the databases of those who take part.
fn take_part(
    arguments: &Arguments,
    folder: &Path,
    server: Option<&OwnServer>,
    wanted: impl Fn(Role) -> bool,
    sides: &mut BTreeMap<Role, Box<dyn Side>>,
) -> anyhow::Result<()> {
    if wanted(Role::Embedded) {
        let side = EmbeddedSide::create(&folder.join("embedded.fbd")).context("cannot make a database")?;
        sides.insert(Role::Embedded, Box::new(side));
    }
    if let Some(server) = server {
        let options = ConnectOptions::new("SYSDBA", server.password());
        let side = FirebirdSide::create(&format!("127.0.0.1/{}:bench.fbd", server.port()), &options)
            .context("cannot make a database on our own server")?;
        sides.insert(Role::Served, Box::new(side));
    }
    if let Some(location) = &arguments.firebird {
        let password = password_of_file(arguments.firebird_password_file.as_deref())?;
        let options = ConnectOptions::new(&arguments.firebird_user, password);
        let side = FirebirdSide::create(location, &options)
            .with_context(|| format!("cannot create {location} on the Firebird server"))?;
        sides.insert(Role::Firebird, Box::new(side));
    }
    if let Some(url) = &arguments.postgres {
        let side = PostgresSide::create(url).context("cannot make a database on the PostgreSQL server")?;
        sides.insert(Role::Postgres, Box::new(side));
    }
    Ok(())
}

fn measure(
    arguments: &Arguments,
    experiments: &[Experiment],
    sides: &mut BTreeMap<Role, Box<dyn Side>>,
) -> anyhow::Result<Report> {
    let mut report = Report { machine: machine(), sides: BTreeMap::new(), figures: Vec::new() };
    for (role, side) in sides.iter_mut() {
        let about = side.about().with_context(|| format!("cannot ask {}", role.name()))?;
        report.sides.insert(*role, about);
    }
    let scale = Scale { rows: arguments.rows, runs: usize::from(arguments.runs), time: RUN_TIME };
    let steps = experiments.iter().map(|experiment| {
        let taking_part = experiment.roles().iter().filter(|role| sides.contains_key(role)).count();
        experiment.steps(&scale, taking_part) as u64
    });
    let bar = progress::bar("measuring", steps.sum());
    bar.enable_steady_tick(Duration::from_millis(200));
    let mut begun = 0;
    for experiment in experiments {
        let figures = contest::run(*experiment, sides, &scale, &mut |role| {
            bar.set_position(begun);
            bar.set_message(format!("{} {}", experiment.name(), role.name()));
            begun += 1;
        });
        report.figures.extend(figures.with_context(|| format!("{} failed", experiment.name()))?);
    }
    bar.finish_and_clear();
    Ok(report)
}

fn remove(sides: BTreeMap<Role, Box<dyn Side>>) -> anyhow::Result<()> {
    let mut result = Ok(());
    for (role, side) in sides {
        if let Err(failure) = side.remove()
            && result.is_ok()
        {
            result = Err(failure).with_context(|| format!("cannot drop the database of {}", role.name()));
        }
    }
    result
}
