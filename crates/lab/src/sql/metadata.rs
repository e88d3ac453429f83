//! A database with very many tables: what CREATE TABLE, DROP TABLE, an attachment and the opening of its file take.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::bench::{Bench, in_words, milliseconds};
use super::figure::{Figure, Outcome};
use super::guard::Patience;
use super::side::Dialect;
use crate::{Failure, Result};

/// The name of the section.
pub const SECTION: &str = "metadata";

/// Columns of each table.
pub const COLUMNS: u64 = 10;

/// Definitions at the beginning, and at the end, that a figure is made of.
const SAMPLE: u64 = 100;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Tables that are made, each in a transaction of its own.
    pub tables: u64,
}

/// A database file inside this process.
pub trait DatabaseFile {
    /// Its name in figures.
    fn name(&self) -> &str;

    /// Runs a statement and commits it.
    ///
    /// # Errors
    /// [`Failure`], as in what follows.
    fn run(&mut self, sql: &str) -> Result<()>;

    /// Closes the file, opens it again and asks one table for its rows; gives what opening and asking took.
    ///
    /// # Errors
    /// [`Failure`].
    fn open_again(&mut self, query: &str) -> Result<Duration>;
}

fn create(table: u64) -> String {
    let columns: Vec<String> =
        (1..COLUMNS).map(|column| format!("c{column} varchar({})", 10 * column)).collect();
    format!("create table many_{table} (id integer not null primary key, {})", columns.join(", "))
}

fn drop_table(table: u64) -> String {
    format!("drop table many_{table}")
}

/// Makes the tables on every side, then attaches, then drops the last ones; opens `file`, with as many tables, again.
///
/// # Errors
/// The user wants no more. What a side cannot do ends its figures.
pub fn run(bench: &mut Bench<'_>, plan: Plan, file: Option<Box<dyn DatabaseFile>>) -> Result<()> {
    for side in 0..bench.sides.len() {
        if Dialect::SERVERS.contains(&bench.sides[side].dialect()) {
            of_side(bench, side, plan)?;
        }
    }
    match file {
        Some(mut file) => of_file(bench, file.as_mut(), plan),
        None => Ok(()),
    }
}

/// Definitions that follow each other, and the figure that they make; without a name none.
struct Work {
    name: &'static str,
    title: &'static str,
    tables: Range<u64>,
    definition: fn(u64) -> String,
}

fn of_side(bench: &mut Bench<'_>, side: usize, plan: Plan) -> Result<()> {
    let name = bench.sides[side].name().to_owned();
    let tables = plan.tables;
    let (first, last) = (SAMPLE.min(tables), tables.saturating_sub(SAMPLE).max(SAMPLE.min(tables)));
    let made = |name, title, tables| Work { name, title, tables, definition: create };
    let works = [
        made("create first", "CREATE TABLE of ten columns, the first hundred", 0..first),
        made("", "", first..last),
        made("create last", "CREATE TABLE of ten columns, the last hundred", last..tables),
        Work {
            name: "drop",
            title: "DROP TABLE, the last hundred",
            tables: tables.saturating_sub(SAMPLE)..tables,
            definition: drop_table,
        },
    ];
    bench.observer.begin(&format!("{name}: {SECTION}"), tables);
    for work in works {
        if work.name == "drop" {
            attach(bench, side, &name)?;
        }
        let mut figure = Figure::new(SECTION, work.name, work.title, &name);
        for table in work.tables {
            let patience = Patience { limit: Some(bench.limits.timeout), stop: bench.stop };
            match bench.sides[side].run(&(work.definition)(table), &patience) {
                Ok(took) => figure.add(milliseconds(took)),
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => {
                    figure.end(Outcome::Failed, failure.to_string());
                    bench.figures.push(figure);
                    return Ok(());
                }
            }
            bench.observer.advance(1);
            if bench.observer.is_interrupted() {
                return Err(Failure::Interrupted);
            }
        }
        if !work.name.is_empty() && !figure.runs.is_empty() {
            // A single one may be lucky: of a hundred the median says more.
            figure.best = figure.median;
            bench.figures.push(figure);
        }
    }
    Ok(())
}

/// A new attachment, and the first question of it.
fn attach(bench: &mut Bench<'_>, side: usize, name: &str) -> Result<()> {
    let mut figure = Figure::new(SECTION, "attach", "a new attachment and its first query", name);
    for _ in 0..bench.limits.runs {
        let start = Instant::now();
        let Some(mut client) = bench.sides[side].connect()? else { return Ok(()) };
        match client.read("select count(*) from many_0 where id >= ?", 0) {
            Ok(_) => figure.add(milliseconds(start.elapsed())),
            Err(failure) => {
                figure.end(Outcome::Failed, failure.to_string());
                break;
            }
        }
    }
    bench.figures.push(figure);
    Ok(())
}

fn of_file(bench: &mut Bench<'_>, file: &mut dyn DatabaseFile, plan: Plan) -> Result<()> {
    let name = file.name().to_owned();
    bench.observer.begin(&format!("{name}: {SECTION}"), plan.tables);
    for table in 0..plan.tables {
        file.run(&create(table))
            .map_err(|failure| in_words(failure, &format!("{name} cannot make tables")))?;
        bench.observer.advance(1);
        if bench.observer.is_interrupted() {
            return Err(Failure::Interrupted);
        }
    }
    let title = "opening a database file, and its first query";
    let mut figure = Figure::new(SECTION, "open", title, &name);
    for _ in 0..bench.limits.runs {
        figure.add(milliseconds(file.open_again("select count(*) from many_0")?));
    }
    bench.figures.push(figure);
    Ok(())
}
