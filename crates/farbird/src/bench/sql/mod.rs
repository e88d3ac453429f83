//! `farbird bench sql`: reports, joins, PSQL, point queries and a mixed load, side by side with other databases.
//!
//! The work itself is `farbird_lab::sql`'s; here sides are put together from the command line, and figures into a report.

mod embedded;
mod estimates;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use farbird_lab::Failure;
use farbird_lab::sql::{
    Bench, DuckDbSide, Figure, FirebirdSide, Limits, OperatorEstimate, Outcome, PostgresSide, Side, groups,
    joins, metadata, mixed, plans, points, psql, tpch,
};

use super::articles::stage::{Databases, Stage, TargetArguments};
use super::articles::watch::Watch;
use super::articles::{Output, ended, parse_patience, show};

/// Measure reports, joins, PSQL, point queries and a mixed load, beside Firebird, PostgreSQL and DuckDB.
///
/// All sides do the same work in one run, and their answers are compared. Farbird is a server of this command's own, over
/// loopback like the others; `points` also asks it inside this process. Every database is made for this and dropped: a target
/// must be the name of one that there is not. The exit code is 1 if an answer differs from the others', or if a statement
/// fails.
#[derive(Args)]
#[command(after_help = "\
Examples:
  farbird bench sql                                     everything on our own server, in some minutes
  farbird bench sql tpch --scale 0.1 --queries 1,3,7 --html tpch.html
  farbird bench sql tpch joins --target own --target localhost:/tmp/sql.fdb --password-file password \\
                    --postgres postgres://postgres@127.0.0.1/postgres --duckdb python3
  farbird bench sql groups --rows 5000000 --timeout 5m --runs 1
  farbird bench sql tpch joins --estimates              how good the planner's estimates are")]
pub(crate) struct Arguments {
    /// What is measured. All by default.
    #[arg(value_name = "SECTION", value_enum)]
    sections: Vec<Section>,
    /// tpch: size of the data, from 0.01 to 10; 1 is a gigabyte [default: 0.1].
    #[arg(long, value_name = "FACTOR", value_parser = parse_scale, help_heading = "Work")]
    scale: Option<f64>,
    /// tpch: numbers of the queries, separated by commas [default: all 22].
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=22), help_heading = "Work")]
    queries: Vec<u16>,
    /// tpch, joins: primary keys and ordinary indexes, or none [default: on].
    #[arg(long, value_enum, help_heading = "Work")]
    indexes: Option<Indexes>,
    /// joins: films; all tables have 23 times as many rows [default: 20000].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(100..=10_000_000), help_heading = "Work")]
    films: Option<u64>,
    /// groups: rows of the table [default: 1000000].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1000..=100_000_000), help_heading = "Work")]
    rows: Option<u64>,
    /// psql: iterations of the loops; those that touch rows have a tenth of them [default: 1000000].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(100..=1_000_000_000), help_heading = "Work")]
    loops: Option<u64>,
    /// points: rows, and executions of the query by key [default: 100000].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1000..=100_000_000), help_heading = "Work")]
    points: Option<u64>,
    /// mixed: connections at once, one of them for reports [default: 16].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(2..=1000), help_heading = "Work")]
    connections: Option<u64>,
    /// mixed: rows of the table, at least as many as connections [default: 100000].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1000..=100_000_000), help_heading = "Work")]
    accounts: Option<u64>,
    /// mixed: how long each side works, such as 10s [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = parse_patience, help_heading = "Work")]
    time: Option<Duration>,
    /// metadata: tables that are made [default: 1000].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(200..=1_000_000), help_heading = "Work")]
    tables: Option<u64>,
    /// tpch, joins, groups: what Farbird's planner expects of each operator, beside what comes of it, in place of times.
    #[arg(long, help_heading = "Work")]
    estimates: bool,
    /// plans: random joins, each asked by up to 31 plans [default: 60].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = "Work")]
    joins: Option<u64>,
    /// How often each statement is executed by each side. The best and the median are told.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100), help_heading = "Work")]
    runs: u16,
    /// What takes longer is ended, and shown as such.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_patience, help_heading = "Work")]
    timeout: Duration,
    #[command(flatten)]
    targets: TargetArguments,
    /// A PostgreSQL server, with a database from which one for this is made.
    #[arg(long, value_name = "URL", help_heading = "Servers")]
    postgres: Option<String>,
    /// A Python that has the package duckdb.
    #[arg(long, value_name = "PYTHON", help_heading = "Servers")]
    duckdb: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// A section, as chosen on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    /// The 22 queries of TPC-H.
    Tpch,
    /// Joins of up to twelve tables over skewed data.
    Joins,
    /// Groups, distinct values, sorts, windows, a self-join.
    Groups,
    /// Loops in PSQL.
    Psql,
    /// Prepared statements by key; UPDATE and DELETE of ranges.
    Points,
    /// Many connections that read, write and report.
    Mixed,
    /// Very many tables.
    Metadata,
    /// Random joins: the chosen plan beside those that PLAN clauses force.
    Plans,
}

/// Whether tables have indexes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Indexes {
    /// Primary keys and ordinary indexes.
    On,
    /// None.
    Off,
}

/// 0.01 to 10: below that the standard's rule gives suppliers twice to a part, beyond it sums of decimals leave Firebird 3's
/// 18 digits.
fn parse_scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.01..=10.0).contains(&scale) { Ok(scale) } else { Err("not from 0.01 to 10".to_owned()) }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let sections = sections(arguments)?;
    let mut watch = Watch::new()?;
    let stage = Stage::set(&arguments.targets, Databases::Made)?;
    let mut sides: Vec<Box<dyn Side>> = Vec::new();
    let result = take_part(arguments, &stage, &mut sides)
        .and_then(|facts| Ok((facts, measure(arguments, &sections, &stage, &mut sides, &mut watch)?)));
    watch.finish();
    // Databases are dropped whether or not all went well; of several failures the first is the one to tell.
    let removed = remove(sides);
    let cleared = removed.and(stage.clear());
    let (facts, figures) = match result {
        Ok(done) => done,
        Err(error) => match error.downcast::<Failure>() {
            Ok(failure) => return ended(failure, cleared),
            Err(error) => return Err(error),
        },
    };
    cleared?;
    let figures = match figures {
        Measured::Figures(figures) => figures,
        Measured::Estimates(operators) => {
            show(&arguments.output, "estimates", &estimates::report(facts, &operators), &operators)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let is_good = figures.iter().all(|figure| matches!(figure.outcome, Outcome::Done | Outcome::TimedOut));
    show(&arguments.output, "sql", &report::report(arguments, facts, &figures), &figures)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What came of it.
enum Measured {
    Figures(Vec<Figure>),
    Estimates(Vec<OperatorEstimate>),
}

/// The sections that are chosen. An option that none of them obeys is refused.
fn sections(arguments: &Arguments) -> anyhow::Result<Vec<Section>> {
    let all = Section::value_variants();
    let with_estimates = [Section::Tpch, Section::Joins, Section::Groups];
    let chosen: Vec<Section> = match arguments.sections.as_slice() {
        [] if arguments.estimates => with_estimates.to_vec(),
        [] => all.to_vec(),
        some => all.iter().copied().filter(|section| some.contains(section)).collect(),
    };
    let options: [(&str, bool, &[Section]); 12] = [
        ("--scale", arguments.scale.is_some(), &[Section::Tpch]),
        ("--queries", !arguments.queries.is_empty(), &[Section::Tpch]),
        ("--indexes", arguments.indexes.is_some(), &[Section::Tpch, Section::Joins]),
        ("--films", arguments.films.is_some(), &[Section::Joins]),
        ("--rows", arguments.rows.is_some(), &[Section::Groups]),
        ("--loops", arguments.loops.is_some(), &[Section::Psql]),
        ("--points", arguments.points.is_some(), &[Section::Points]),
        ("--connections", arguments.connections.is_some(), &[Section::Mixed]),
        ("--accounts", arguments.accounts.is_some(), &[Section::Mixed]),
        ("--time", arguments.time.is_some(), &[Section::Mixed]),
        ("--tables", arguments.tables.is_some(), &[Section::Metadata]),
        ("--joins", arguments.joins.is_some(), &[Section::Plans]),
    ];
    for (option, is_given, obeyed_by) in options {
        if is_given && !obeyed_by.iter().any(|section| chosen.contains(section)) {
            bail!("{option} says nothing about the sections that are chosen");
        }
    }
    if arguments.estimates && !chosen.iter().all(|section| with_estimates.contains(section)) {
        bail!("--estimates is for tpch, joins and groups");
    }
    if arguments.estimates && (arguments.postgres.is_some() || arguments.duckdb.is_some()) {
        bail!("--estimates are Farbird's own: no other database takes part");
    }
    Ok(chosen)
}

/// Makes the databases of those who take part; gives what the figures depend on.
fn take_part(
    arguments: &Arguments,
    stage: &Stage,
    sides: &mut Vec<Box<dyn Side>>,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut facts = stage.facts();
    for actor in &stage.actors {
        let name = &actor.server.name;
        let side = FirebirdSide::create(actor.server.clone())
            .with_context(|| format!("cannot make a database on {name}"))?;
        sides.push(Box::new(side));
    }
    if let Some(url) = &arguments.postgres {
        let mut side =
            PostgresSide::create(url).context("cannot make a database on the PostgreSQL server")?;
        facts.push((side.name().to_owned(), side.about()?));
        sides.push(Box::new(side));
    }
    if let Some(python) = &arguments.duckdb {
        let mut side = DuckDbSide::create(python, stage.folder()).context("cannot start DuckDB")?;
        facts.push((side.name().to_owned(), side.about()?));
        sides.push(Box::new(side));
    }
    facts.push(("runs".to_owned(), format!("{} of each statement, the best is shown", arguments.runs)));
    Ok(facts)
}

fn measure(
    arguments: &Arguments,
    sections: &[Section],
    stage: &Stage,
    sides: &mut [Box<dyn Side>],
    watch: &mut Watch,
) -> anyhow::Result<Measured> {
    let stop = watch.stop();
    let limits = Limits { runs: usize::from(arguments.runs), timeout: arguments.timeout };
    let has_indexes = arguments.indexes != Some(Indexes::Off);
    let mut bench = Bench::new(sides, limits, watch, &stop);
    if arguments.estimates {
        bench = bench.for_estimates();
    }
    for section in sections {
        match section {
            Section::Tpch => tpch::run(&mut bench, &tpch_plan(arguments))?,
            Section::Joins => {
                let films = arguments.films.unwrap_or(20_000);
                joins::run(&mut bench, joins::Plan { films, has_indexes })?;
            }
            Section::Groups => {
                let rows = arguments.rows.unwrap_or(1_000_000);
                groups::run(&mut bench, groups::Plan { rows })?;
            }
            Section::Psql => {
                let loops = arguments.loops.unwrap_or(1_000_000);
                psql::run(&mut bench, psql::Plan { loops })?;
            }
            Section::Points => {
                let points = arguments.points.unwrap_or(100_000);
                let own = stage.actors.iter().any(|actor| actor.folder.is_some());
                let embedded = if own { Some(embedded::open(stage.folder())?) } else { None };
                points::run(&mut bench, points::Plan { points }, embedded)?;
            }
            Section::Mixed => {
                let plan = mixed::Plan {
                    connections: arguments.connections.unwrap_or(16),
                    time: arguments.time.unwrap_or(Duration::from_secs(10)),
                    rows: arguments.accounts.unwrap_or(100_000),
                };
                mixed::run(&mut bench, plan)?;
            }
            Section::Metadata => {
                let tables = arguments.tables.unwrap_or(1_000);
                let own = stage.actors.iter().any(|actor| actor.folder.is_some());
                let file = if own { Some(embedded::file(stage.folder())?) } else { None };
                metadata::run(&mut bench, metadata::Plan { tables }, file)?;
            }
            Section::Plans => {
                plans::run(&mut bench, plans::Plan { queries: arguments.joins.unwrap_or(60) })?;
            }
        }
    }
    Ok(match bench.estimates {
        Some(estimates) => Measured::Estimates(estimates),
        None => Measured::Figures(bench.figures),
    })
}

fn tpch_plan(arguments: &Arguments) -> tpch::Plan {
    let queries = match arguments.queries.as_slice() {
        [] => (1..=tpch::QUERIES).collect(),
        some => some.to_vec(),
    };
    let has_indexes = arguments.indexes != Some(Indexes::Off);
    tpch::Plan { scale: arguments.scale.unwrap_or(0.1), has_indexes, queries }
}

fn remove(sides: Vec<Box<dyn Side>>) -> anyhow::Result<()> {
    let mut result = Ok(());
    for side in sides {
        let name = side.name().to_owned();
        if let Err(failure) = side.remove()
            && result.is_ok()
        {
            result = Err(failure).with_context(|| format!("cannot drop the database of {name}"));
        }
    }
    result
}
