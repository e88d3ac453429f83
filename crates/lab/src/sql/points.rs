//! Prepared statements by key, one after another, embedded and over loopback; then UPDATE and DELETE of ranges.

use std::time::Instant;

use super::bench::{Bench, Loaded, in_words};
use super::figure::{Figure, Outcome, Unit};
use super::guard::Patience;
use super::side::{Client, Dialect, Field, TableDefinition};
use super::statements;
use crate::random::mixed;
use crate::{Failure, Result};

/// The name of the section.
pub const SECTION: &str = "points";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Rows of the table, and executions of the query by key; UPDATE and DELETE by key are executed a tenth as often.
    pub points: u64,
}

const STATEMENT_FILE: &str = include_str!("../../data/points.sql");

const TABLE: TableDefinition = TableDefinition {
    name: "points",
    columns: &[("id", "bigint"), ("amount", "bigint"), ("bucket", "bigint"), ("note", "varchar(40)")],
    primary_key: "id",
    indexes: &["bucket"],
};

const RANGES: TableDefinition = TableDefinition { name: "ranges", ..TABLE };

const READ: &str = "select amount from points where id = ?";
const UPDATE: &str = "update points set amount = amount + 1 where id = ?";
const DELETE: &str = "delete from points where id = ?";
const COUNT: &str = "select count(*) from points where id >= ?";
const SUM: &str = "select cast(sum(amount) as bigint) from points where id >= ?";

/// What a row of the table has.
fn fields(id: u64) -> (i64, i64, i64) {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    (number(id), number(mixed(id) % 1_000_000), number(id % 100))
}

/// Runs a statement.
pub type Run = dyn FnMut(&str) -> Result<()>;

/// Farbird inside this process, which takes part beside the sides.
pub struct Embedded {
    /// Its name in figures.
    pub name: String,
    /// A connection to an empty database.
    pub client: Box<dyn Client>,
    /// Runs a statement and commits it.
    pub run: Box<Run>,
}

/// Loads the table; reads, updates and deletes by key, and then by ranges.
///
/// # Errors
/// A side cannot load the table; the user wants no more.
pub fn run(bench: &mut Bench<'_>, plan: Plan, embedded: Option<Embedded>) -> Result<()> {
    let rows = plan.points;
    let table = |definition| Loaded {
        definition,
        row_count: rows,
        rows: Box::new(move |visit| {
            (0..rows).try_for_each(|id| {
                let (id, amount, bucket) = fields(id);
                let note = format!("point number {id}");
                visit(&[
                    Field::Integer(id),
                    Field::Integer(amount),
                    Field::Integer(bucket),
                    Field::Text(&note),
                ])
            })
        }),
    };
    bench.load(SECTION, &[table(&TABLE)], true, &Dialect::SERVERS)?;
    let mut clients: Vec<(String, Box<dyn Client>)> = Vec::new();
    if let Some(embedded) = embedded {
        clients.push((embedded.name.clone(), fill(embedded, rows)?));
    }
    for side in bench.sides.iter() {
        if let Some(client) = side.connect()? {
            clients.push((side.name().to_owned(), client));
        }
    }
    by_key(bench, plan, &mut clients)?;
    drop(clients);
    // Rows of their own: whoever takes no part above has the same.
    bench.fill(&[table(&RANGES)], true, &Dialect::ALL)?;
    let variables = [("half", (rows / 2).to_string()), ("tenth", (rows / 10).max(1).to_string())];
    for statement in statements::parse(STATEMENT_FILE) {
        bench.measure(SECTION, &statement, &variables, None)?;
    }
    Ok(())
}

/// Gives embedded Farbird the same rows.
fn fill(embedded: Embedded, rows: u64) -> Result<Box<dyn Client>> {
    let Embedded { name, mut client, mut run } = embedded;
    let told = |failure| in_words(failure, &format!("{name} cannot be loaded"));
    run(&TABLE.create()).map_err(told)?;
    let mut values = (0..rows).map(|id| {
        let (id, amount, bucket) = fields(id);
        vec![id, amount, bucket]
    });
    let insert = "insert into points (id, amount, bucket, note) values (?, ?, ?, 'point number')";
    client.change_all(insert, &mut values).map_err(told)?;
    for sql in TABLE.create_indexes() {
        run(&sql).map_err(told)?;
    }
    Ok(client)
}

/// What is done by key.
struct Work {
    name: &'static str,
    title: String,
    count: u64,
}

fn by_key(bench: &mut Bench<'_>, plan: Plan, clients: &mut [(String, Box<dyn Client>)]) -> Result<()> {
    let rows = plan.points;
    let changes = (rows / 10).max(1);
    let works = [
        Work { name: "read", title: "read rows by key, prepared, one client".to_owned(), count: rows },
        Work {
            name: "update",
            title: "UPDATE of one row by key, prepared, one transaction".to_owned(),
            count: changes,
        },
        Work {
            name: "delete",
            title: "DELETE of one row by key, prepared, one transaction".to_owned(),
            count: changes,
        },
    ];
    for work in &works {
        let runs = bench.limits.runs as u64;
        // Each run deletes rows of its own.
        let runs = if work.name == "delete" { runs.min(rows / changes / 4).max(1) } else { runs };
        let mut figures: Vec<Figure> = clients
            .iter()
            .map(|(name, _)| {
                let title = format!("{} ({} executions)", work.title, work.count);
                let mut figure = Figure::new(SECTION, work.name, &title, name);
                figure.unit = Unit::PerSecond;
                figure
            })
            .collect();
        bench.observer.begin(&format!("{SECTION} {}", work.name), runs * clients.len() as u64);
        for round in 0..runs {
            for ((_, client), figure) in clients.iter_mut().zip(&mut figures) {
                if bench.observer.is_interrupted() {
                    return Err(Failure::Interrupted);
                }
                if figure.outcome == Outcome::Done {
                    match once(client.as_mut(), work, round, rows, bench) {
                        Ok(rate) => figure.add(rate),
                        Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                        Err(failure @ Failure::TimedOut(_)) => {
                            figure.end(Outcome::TimedOut, failure.to_string());
                        }
                        Err(failure) => figure.end(Outcome::Failed, failure.to_string()),
                    }
                }
                bench.observer.advance(1);
            }
        }
        agree(clients, &mut figures);
        bench.figures.extend(figures);
    }
    Ok(())
}

/// Ends the keys early when the user wants no more, or the time is over.
struct Keys<'p> {
    left: std::vec::IntoIter<i64>,
    patience: Patience<'p>,
    start: Instant,
    given: u32,
}

/// Keys between two looks at the clock.
const LOOK_KEYS: u32 = 256;

impl Iterator for Keys<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.given += 1;
        if self.given.is_multiple_of(LOOK_KEYS) && self.is_over().is_some() {
            return None;
        }
        self.left.next()
    }
}

impl Keys<'_> {
    fn is_over(&self) -> Option<Failure> {
        let limit = self.patience.limit.filter(|limit| self.start.elapsed() > *limit);
        match limit {
            _ if (self.patience.stop)() => Some(Failure::Interrupted),
            Some(limit) => Some(Failure::TimedOut(limit)),
            None => None,
        }
    }
}

/// One run by one client: executions per second.
fn once(client: &mut dyn Client, work: &Work, round: u64, rows: u64, bench: &Bench<'_>) -> Result<f64> {
    let keys: Vec<i64> = match work.name {
        // Rows of its own for each round, below those that are read.
        "delete" => (0..work.count).map(|n| (round * work.count + n) as i64).collect(),
        _ => (0..work.count).map(|n| (mixed(n ^ (round << 40)) % rows) as i64).collect(),
    };
    let expected = || keys.iter().map(|key| fields(key.unsigned_abs()).1).sum::<i64>();
    let expected = if work.name == "read" { Some(expected()) } else { None };
    let patience = Patience { limit: Some(bench.limits.timeout), stop: bench.stop };
    // Preparing is not what is measured.
    client.read_all(READ, &mut std::iter::once(rows as i64 - 1))?;
    let mut keys = Keys { left: keys.into_iter(), patience, start: Instant::now(), given: 0 };
    let sum = match work.name {
        "read" => Some(client.read_all(READ, &mut keys)?),
        "update" => client.change_all(UPDATE, &mut (&mut keys).map(|key| vec![key])).map(|()| None)?,
        _ => client.change_all(DELETE, &mut (&mut keys).map(|key| vec![key])).map(|()| None)?,
    };
    let took = keys.start.elapsed().as_secs_f64();
    if keys.left.len() > 0 {
        return Err(keys.is_over().unwrap_or(Failure::Interrupted));
    }
    if sum != expected {
        return Err(Failure::Other(format!("the rows read add up to {sum:?} instead of {expected:?}")));
    }
    Ok(work.count as f64 / took.max(1e-9))
}

/// After the same work all have the same rows.
fn agree(clients: &mut [(String, Box<dyn Client>)], figures: &mut [Figure]) {
    let mut first: Option<(i64, i64)> = None;
    for ((_, client), figure) in clients.iter_mut().zip(figures) {
        if figure.outcome != Outcome::Done {
            continue;
        }
        match client.read(COUNT, 0).and_then(|count| Ok((count, client.read(SUM, 0)?))) {
            Err(failure) => figure.end(Outcome::Failed, failure.to_string()),
            Ok(state) => {
                figure.row_count = usize::try_from(state.0).ok();
                let wanted = *first.get_or_insert(state);
                if wanted != state {
                    let message = format!("rows and sum are {state:?} behind it instead of {wanted:?}");
                    figure.end(Outcome::Differs, message);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_behind_every_statement() {
        let all = statements::parse(STATEMENT_FILE);
        assert!(all.len() >= 3);
        for statement in all {
            assert!(statement.check(Dialect::Firebird, &[]).is_some(), "{}", statement.name);
        }
    }
}
