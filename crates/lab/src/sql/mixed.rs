//! Many connections at once: most read rows by key and change some, one makes reports over all rows.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::bench::{Bench, Loaded, in_words};
use super::figure::{Figure, Outcome, Percentiles, Unit};
use super::guard::Patience;
use super::side::{Client, Dialect, Field, Side, TableDefinition};
use crate::random::{Random, mixed};
use crate::{Failure, Result};

/// The name of the section.
pub const SECTION: &str = "mixed";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Connections, one of them for reports.
    pub connections: u64,
    /// How long they work.
    pub time: Duration,
    /// Rows of the table.
    pub rows: u64,
}

const TABLE: TableDefinition = TableDefinition {
    name: "accounts",
    columns: &[("id", "bigint"), ("balance", "bigint"), ("branch", "bigint"), ("holder", "varchar(40)")],
    primary_key: "id",
    indexes: &["branch"],
};

const JOURNAL: TableDefinition = TableDefinition {
    name: "journal",
    columns: &[("client", "bigint"), ("n", "bigint"), ("account", "bigint")],
    primary_key: "client, n",
    indexes: &[],
};

const READ: &str = "select balance from accounts where id = ?";
const UPDATE: &str = "update accounts set balance = balance + 1 where id = ?";
const INSERT: &str = "insert into journal (client, n, account) values (?, ?, ?)";
const REPORT: &str = "select cast(count(*) as bigint) from (select branch, sum(balance) as s from accounts where id >= ? \
                      group by branch) as b where s >= 0";
const SUM: &str = "select cast(sum(balance) as bigint) from accounts where id >= ?";
const JOURNAL_COUNT: &str = "select count(*) from journal where client >= ?";

/// Of a hundred operations of a client that is not the reporter.
const READS: u64 = 75;
const UPDATES: u64 = 15;

/// Kinds of operations, in the order of their figures.
const KINDS: [(&str, &str); 4] = [
    ("read", "rows read by key"),
    ("update", "rows updated by key, each committed"),
    ("insert", "rows inserted, each committed"),
    ("report", "reports over all rows"),
];

/// Has all connections of each side work for a time, one side after another.
///
/// # Errors
/// A side cannot load the tables; the user wants no more.
pub fn run(bench: &mut Bench<'_>, plan: Plan) -> Result<()> {
    let rows = plan.rows;
    let accounts = Loaded {
        definition: &TABLE,
        row_count: rows,
        rows: Box::new(move |visit| {
            (0..rows).try_for_each(|id| {
                let number = |number: u64| Field::Integer(i64::try_from(number).unwrap_or(i64::MAX));
                visit(&[
                    number(id),
                    number(mixed(id) % 10_000),
                    number(id % 97),
                    Field::Text(&format!("holder of account {id}")),
                ])
            })
        }),
    };
    let journal = Loaded { definition: &JOURNAL, row_count: 0, rows: Box::new(|_| Ok(())) };
    bench.load(SECTION, &[accounts, journal], true, &Dialect::SERVERS)?;
    let mut figures = Vec::new();
    let count = bench.sides.len();
    bench.observer.begin(SECTION, count as u64);
    for side in bench.sides.iter_mut().filter(|side| Dialect::SERVERS.contains(&side.dialect())) {
        let patience = Patience { limit: None, stop: bench.stop };
        match work(side.as_mut(), plan, &patience) {
            Ok(done) => figures.extend(done),
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                let mut figure = Figure::new(SECTION, KINDS[0].0, KINDS[0].1, side.name());
                figure.end(Outcome::Failed, failure.to_string());
                figures.push(figure);
            }
        }
        bench.observer.advance(1);
    }
    bench.figures.extend(figures);
    Ok(())
}

/// What a client has done: times of its operations in milliseconds, by kind.
type Times = [Vec<f64>; KINDS.len()];

/// The work of one side's connections. A side without connections has no figures.
fn work(side: &mut dyn Side, plan: Plan, patience: &Patience<'_>) -> Result<Vec<Figure>> {
    let mut clients = Vec::new();
    for _ in 0..plan.connections {
        let Some(client) = side.connect()? else { return Ok(Vec::new()) };
        clients.push(client);
    }
    let Some(mut judge) = side.connect()? else { return Ok(Vec::new()) };
    let before = (judge.read(SUM, 0)?, judge.read(JOURNAL_COUNT, 0)?);
    let (times, took) = together(clients, plan, patience)?;
    let after = (judge.read(SUM, 0)?, judge.read(JOURNAL_COUNT, 0)?);
    let done = (times[1].len() as i64, times[2].len() as i64);
    let changed = (after.0 - before.0, after.1 - before.1);
    let figures = KINDS.iter().zip(times).map(|((name, title), mut times)| {
        let title = format!("{title}, {} connections", plan.connections);
        let mut figure = Figure::new(SECTION, name, &title, side.name());
        figure.unit = Unit::PerSecond;
        figure.add(times.len() as f64 / took.as_secs_f64());
        figure.percentiles = Percentiles::of(&mut times);
        if changed != done {
            figure.end(Outcome::Differs, format!("{done:?} updates and inserts left {changed:?}"));
        }
        figure
    });
    Ok(figures.collect())
}

/// Lets all clients work at once; gives the times of all operations, and how long the slowest worked.
fn together(clients: Vec<Box<dyn Client>>, plan: Plan, patience: &Patience<'_>) -> Result<(Times, Duration)> {
    let ready = Barrier::new(clients.len());
    let (ready, stop) = (&ready, patience.stop);
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(clients)
            .map(|(number, mut client)| {
                scope.spawn(move || {
                    // Whoever fails here must not keep the others waiting.
                    let prepared = prepare(client.as_mut());
                    ready.wait();
                    prepared?;
                    one(client.as_mut(), number, plan, &|| stop())
                })
            })
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let panicked = |_| Err(Failure::Other("a client's thread panicked".to_owned()));
            thread.join().unwrap_or_else(panicked)
        });
        ended.collect::<Result<Vec<(Times, Duration)>>>()
    });
    if stop() {
        return Err(Failure::Interrupted);
    }
    let (mut all, mut longest) = (Times::default(), Duration::ZERO);
    for (times, took) in results.map_err(|failure| in_words(failure, "a connection failed"))? {
        longest = longest.max(took);
        for (all, times) in all.iter_mut().zip(times) {
            all.extend(times);
        }
    }
    Ok((all, longest))
}

/// Has the client prepare what it will execute.
fn prepare(client: &mut dyn Client) -> Result<()> {
    client.read(READ, 0)?;
    client.change(UPDATE, &[-1])?;
    client.read(REPORT, 0)?;
    Ok(())
}

/// The work of one client, and how long it went on. The first one makes reports; each other changes rows that no other changes, so that nobody waits
/// for anybody and no update conflicts.
fn one(
    client: &mut dyn Client,
    number: u64,
    plan: Plan,
    stop: &dyn Fn() -> bool,
) -> Result<(Times, Duration)> {
    let mut times = Times::default();
    let mut random = Random(mixed(number));
    let (start, mut inserted) = (Instant::now(), 0);
    let as_number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    while start.elapsed() < plan.time && !stop() {
        let key = random.below(plan.rows);
        let own_key = key - key % plan.connections + number;
        let own_key = if own_key < plan.rows { own_key } else { number };
        let (kind, begun) = (random.below(100), Instant::now());
        let done = match kind {
            _ if number == 0 => {
                client.read(REPORT, 0)?;
                3
            }
            kind if kind < READS => {
                client.read(READ, as_number(key))?;
                0
            }
            kind if kind < READS + UPDATES => {
                client.change(UPDATE, &[as_number(own_key)])?;
                1
            }
            _ => {
                inserted += 1;
                client.change(INSERT, &[as_number(number), inserted, as_number(key)])?;
                2
            }
        };
        if let Some(times) = times.get_mut(done) {
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok((times, start.elapsed()))
}
