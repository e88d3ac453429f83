//! The experiments: the same tables, rows and statements on every side.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::figure::{Figure, Unit};
use super::side::{Dialect, Failure, LoadWay, Result, Role, Session, Side};

/// Rows that the goals are stated for.
const ROWS_OF_THE_GOALS: f64 = 5_000_000.0;
/// Clients that commit at a time.
const CLIENTS: usize = 16;
/// Most times that a table is loaded, since it takes long.
const LOAD_RUNS_MAX: usize = 2;
/// Point reads between two looks at the clock.
const READS_AT_A_TIME: u32 = 256;

/// How much of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Rows of the large tables; a fifth of them is loaded through a prepared statement.
    pub rows: i32,
    /// How often what is short is repeated.
    pub runs: usize,
    /// How long each run of what is counted per second takes.
    pub time: Duration,
}

/// A piece of work to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Experiment {
    /// A loop in PSQL that inserts rows of NULL, and counting them.
    Nulls,
    /// A filter and a sum over narrow rows.
    Scan,
    /// Rows by primary key.
    Reads,
    /// Single rows, each committed durably.
    Commits,
    /// Many rows through one prepared statement over loopback.
    Load,
}

impl Experiment {
    /// All, in the order in which they are done.
    pub const ALL: [Experiment; 5] =
        [Experiment::Nulls, Experiment::Scan, Experiment::Reads, Experiment::Commits, Experiment::Load];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Experiment::Nulls => "nulls",
            Experiment::Scan => "scan",
            Experiment::Reads => "reads",
            Experiment::Commits => "commits",
            Experiment::Load => "load",
        }
    }

    /// Who takes part, if they are there. What does not depend on a connection is not measured through the server.
    pub const fn roles(self) -> &'static [Role] {
        match self {
            Experiment::Nulls | Experiment::Scan => &[Role::Embedded, Role::Firebird, Role::Postgres],
            Experiment::Reads | Experiment::Commits => &Role::ALL,
            Experiment::Load => &[Role::Served, Role::Firebird, Role::Postgres],
        }
    }
}

/// Does an experiment on each of the sides that take part in it.
///
/// `announce` is told of each side before it begins.
///
/// # Errors
/// What the first side that fails says.
pub fn run(
    experiment: Experiment,
    sides: &mut BTreeMap<Role, Box<dyn Side>>,
    scale: &Scale,
    announce: &mut dyn FnMut(Role),
) -> Result<Vec<Figure>> {
    let mut figures = figures(experiment, scale);
    for role in experiment.roles() {
        let Some(side) = sides.get_mut(role) else { continue };
        announce(*role);
        let results = match experiment {
            Experiment::Nulls => nulls(side.as_mut(), scale),
            Experiment::Scan => scan(side.as_mut(), scale),
            Experiment::Reads => reads(side.as_mut(), scale),
            Experiment::Commits => commits(side.as_mut(), scale),
            Experiment::Load => load(side.as_mut(), scale),
        };
        let results = results.map_err(|failure| Failure::Other(format!("{}: {failure}", role.name())))?;
        for (figure, results) in figures.iter_mut().zip(results) {
            figure.add(*role, results);
        }
    }
    set_goals(experiment, &mut figures, scale);
    Ok(figures)
}

/// What an experiment measures, in the order of its results.
fn figures(experiment: Experiment, scale: &Scale) -> Vec<Figure> {
    let rows = grouped(scale.rows);
    match experiment {
        Experiment::Nulls => vec![
            Figure::new(
                "nulls_insert",
                format!("insert {rows} rows of NULL, VARCHAR(8000) UTF8, in a PSQL loop"),
                Unit::Seconds,
            ),
            Figure::new("nulls_bytes", "... and what they take on disk", Unit::BytesPerRow),
            Figure::new("nulls_count", "... and COUNT(*) of them, warm", Unit::Seconds),
        ],
        Experiment::Scan => vec![Figure::new(
            "scan",
            format!("sum(a) where mod(a, 3) = 0 over {rows} narrow rows"),
            Unit::Seconds,
        )],
        Experiment::Reads => {
            vec![Figure::new("reads", "read a row by primary key, one client", Unit::PerSecond)]
        }
        Experiment::Commits => vec![
            Figure::new("commits_1", "insert a row and commit it durably, 1 client", Unit::PerSecond),
            Figure::new("commits_16", format!("... {CLIENTS} clients"), Unit::PerSecond),
        ],
        Experiment::Load => {
            let rows = grouped(load_rows(scale));
            let title = format!("insert {rows} rows by a prepared statement over loopback, one transaction");
            vec![
                Figure::new("load_execute", title, Unit::Seconds),
                Figure::new("load_batch", "... by the batch API", Unit::Seconds),
            ]
        }
    }
}

fn set_goals(experiment: Experiment, figures: &mut [Figure], scale: &Scale) {
    let share = f64::from(scale.rows) / ROWS_OF_THE_GOALS;
    match (experiment, figures) {
        (Experiment::Nulls, [insert, bytes, count]) => {
            insert.demand(Role::Embedded, format!("at most {:.3} s", 4.0 * share), 4.0 * share);
            bytes.demand(Role::Embedded, "at most 3 bytes/row", 3.0);
            count.demand(Role::Embedded, format!("at most {:.4} s", 0.02 * share), 0.02 * share);
        }
        (Experiment::Scan, [scan]) => {
            scan.demand_ratio(Role::Embedded, Role::Firebird, "at least 5x Firebird", 5.0);
            scan.demand_ratio(Role::Embedded, Role::Postgres, "not behind PostgreSQL", 1.0);
        }
        (Experiment::Reads, [reads]) => {
            reads.demand(Role::Embedded, "at least 300,000/s embedded", 300_000.0);
        }
        (Experiment::Commits, [one, many]) => {
            one.demand_ratio(Role::Embedded, Role::Postgres, "embedded: at least PostgreSQL's rate", 1.0);
            one.demand_ratio(Role::Served, Role::Postgres, "server: at least PostgreSQL's rate", 1.0);
            for (role, name) in [(Role::Embedded, "embedded"), (Role::Served, "server")] {
                let wanted = 3.0;
                let single = one.best(role).filter(|single| *single > 0.0);
                let reached = many.best(role).zip(single).map(|(many, single)| many / single);
                many.goals.push(super::Goal {
                    text: format!("{name}: at least 3x its rate with 1 client"),
                    wanted,
                    reached,
                    better: super::Better::Higher,
                });
            }
        }
        (Experiment::Load, [execute, _]) => {
            execute.demand_ratio(Role::Served, Role::Firebird, "at least 3x Firebird", 3.0);
        }
        _ => {}
    }
}

/// What the rows of a filled table hold.
#[derive(Clone, Copy)]
enum Filling {
    Null,
    /// 1, 2, 3 ...
    Counter,
}

/// Fills the column A of a table on the server: by a loop in PSQL, or by PostgreSQL's fastest way to the same rows.
fn fill(side: &mut dyn Side, table: &str, filling: Filling, rows: i32) -> Result<()> {
    let sql = match side.dialect() {
        Dialect::Firebird => {
            let value = match filling {
                Filling::Null => "null",
                Filling::Counter => ":n",
            };
            format!(
                "execute block as declare n integer = 0; begin while (n < {rows}) do begin n = n + 1; \
                 insert into {table} (a) values ({value}); end end"
            )
        }
        Dialect::Postgres => {
            let value = match filling {
                Filling::Null => "null",
                Filling::Counter => "n",
            };
            format!("insert into {table} (a) select {value} from generate_series(1, {rows}) as s (n)")
        }
    };
    side.run(&sql)
}

fn nulls(side: &mut dyn Side, scale: &Scale) -> Result<Vec<Vec<f64>>> {
    side.run(match side.dialect() {
        Dialect::Firebird => "create table nulls (a varchar(8000) character set utf8)",
        Dialect::Postgres => "create table nulls (a varchar(8000))",
    })?;
    let before = side.bytes_on_disk()?;
    let start = Instant::now();
    fill(side, "nulls", Filling::Null, scale.rows)?;
    let insert = start.elapsed().as_secs_f64();
    side.settle()?;
    let bytes = side.bytes_on_disk()?.saturating_sub(before);
    let per_row = bytes as f64 / f64::from(scale.rows.max(1));
    let count = repeat_query(side, "select count(*) from nulls", i64::from(scale.rows), scale.runs)?;
    Ok(vec![vec![insert], vec![per_row], count])
}

fn scan(side: &mut dyn Side, scale: &Scale) -> Result<Vec<Vec<f64>>> {
    side.run("create table ints (a integer)")?;
    fill(side, "ints", Filling::Counter, scale.rows)?;
    side.settle()?;
    let thirds = i64::from(scale.rows / 3);
    let expected = 3 * thirds * (thirds + 1) / 2;
    let times = repeat_query(side, "select sum(a) from ints where mod(a, 3) = 0", expected, scale.runs)?;
    Ok(vec![times])
}

/// Runs a query once to warm up, and then as often as asked.
fn repeat_query(side: &mut dyn Side, sql: &str, expected: i64, runs: usize) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..=runs {
        let start = Instant::now();
        let given = side.integer(sql)?;
        times.push(start.elapsed().as_secs_f64());
        if given != expected {
            return Err(Failure::Other(format!("{sql} gave {given} instead of {expected}")));
        }
    }
    times.remove(0);
    Ok(times)
}

fn reads(side: &mut dyn Side, scale: &Scale) -> Result<Vec<Vec<f64>>> {
    let rows = (scale.rows / 10).max(1);
    side.run("create table points (id integer not null primary key, name varchar(40), amount bigint)")?;
    let mut session = side.connect()?;
    session.load("insert into points (id, name, amount) values (?, ?, ?)", rows, LoadWay::Execute)?;
    side.settle()?;
    let mut read = session.point_reader("select amount from points where id = ?")?;
    let mut rates = Vec::new();
    let mut key = 0_u64;
    for _ in 0..scale.runs.max(1) {
        let (start, mut done) = (Instant::now(), 0_u32);
        while start.elapsed() < scale.time {
            for _ in 0..READS_AT_A_TIME {
                // Steps through the keys in an order that no cache foresees.
                key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let id = i32::try_from((key >> 33) % u64::from(rows.unsigned_abs())).unwrap_or_default();
                let (given, expected) = (read(id)?, super::LoadedRow::new(id).amount);
                if given != expected {
                    return Err(Failure::Other(format!("row {id} has {given} instead of {expected}")));
                }
            }
            done += READS_AT_A_TIME;
        }
        rates.push(f64::from(done) / start.elapsed().as_secs_f64());
    }
    Ok(vec![rates])
}

fn commits(side: &mut dyn Side, scale: &Scale) -> Result<Vec<Vec<f64>>> {
    side.run(
        "create table commits (client integer not null, n integer not null, note varchar(40), \
         primary key (client, n))",
    )?;
    let mut first_client = 0;
    let mut rates_of = |side: &mut dyn Side, clients: usize| -> Result<Vec<f64>> {
        let mut rates = Vec::new();
        for _ in 0..scale.runs.max(1) {
            rates.push(commit_rate(side, clients, first_client, scale.time)?);
            first_client += i32::try_from(clients).unwrap_or_default();
        }
        Ok(rates)
    };
    let (one, many) = (rates_of(side, 1)?, rates_of(side, CLIENTS)?);
    Ok(vec![one, many])
}

/// Commits per second of so many clients together.
fn commit_rate(side: &mut dyn Side, clients: usize, first_client: i32, time: Duration) -> Result<f64> {
    const INSERT: &str = "insert into commits (client, n, note) values (?, ?, 'a note of some length')";
    let before = side.integer("select count(*) from commits")?;
    let sessions: Vec<Box<dyn Session>> = (0..clients).map(|_| side.connect()).collect::<Result<_>>()?;
    let ready = Barrier::new(clients);
    let work = |mut session: Box<dyn Session>, client: i32| -> Result<(i32, Duration)> {
        let committer = session.committer(INSERT);
        ready.wait();
        let mut commit = committer?;
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < time {
            commit(client, done)?;
            done += 1;
        }
        Ok((done, start.elapsed()))
    };
    let work = &work;
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (first_client..)
            .zip(sessions)
            .map(|(client, session)| scope.spawn(move || work(session, client)))
            .collect();
        let ended = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Failure::Other("a client's thread panicked".to_owned())))
        });
        ended.collect::<Result<Vec<_>>>()
    })?;
    let done: i32 = results.iter().map(|(done, _)| done).sum();
    let longest = results.iter().map(|(_, time)| *time).max().unwrap_or(time);
    let after = side.integer("select count(*) from commits")?;
    if after - before != i64::from(done) {
        return Err(Failure::Other(format!("{done} commits left {} rows", after - before)));
    }
    Ok(f64::from(done) / longest.as_secs_f64())
}

fn load(side: &mut dyn Side, scale: &Scale) -> Result<Vec<Vec<f64>>> {
    let execute = load_times(side, scale, LoadWay::Execute, "loaded")?;
    let batch = load_times(side, scale, LoadWay::Batch, "loaded_in_batches")?;
    Ok(vec![execute, batch])
}

/// Times of loading a table; each run has its own, so that none waits for another's to be dropped.
fn load_times(side: &mut dyn Side, scale: &Scale, way: LoadWay, table: &str) -> Result<Vec<f64>> {
    let rows = load_rows(scale);
    let mut times = Vec::new();
    for run in 1..=scale.runs.min(LOAD_RUNS_MAX) {
        let table = format!("{table}_{run}");
        side.run(&format!("create table {table} (id integer not null, name varchar(40), amount bigint)"))?;
        let sql = format!("insert into {table} (id, name, amount) values (?, ?, ?)");
        let Some(took) = side.connect()?.load(&sql, rows, way)? else { break };
        times.push(took.as_secs_f64());
        let count = side.integer(&format!("select count(*) from {table}"))?;
        if count != i64::from(rows) {
            return Err(Failure::Other(format!("{rows} rows were loaded and {count} are there")));
        }
    }
    Ok(times)
}

fn load_rows(scale: &Scale) -> i32 {
    (scale.rows / 5).max(1)
}

/// 5000000 as 5,000,000.
fn grouped(number: i32) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
