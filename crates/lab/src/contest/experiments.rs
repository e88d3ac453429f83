//! The experiments: the same tables, rows and statements on every side.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::figure::{Figure, Unit};
use super::side::{Dialect, Failure, LoadWay, LoadedRow, Result, Role, Session, Side};

/// Rows that the goals are stated for.
const ROWS_OF_THE_GOALS: f64 = 5_000_000.0;
/// Clients that commit at a time.
const CLIENTS: usize = 16;
/// Clients that crowd at a time, and the keys of what is measured with them.
const CROWDS: [(usize, [&str; 3]); 2] =
    [(16, ["sequence_16", "hot_rows_16", "indexed_16"]), (64, ["sequence_64", "hot_rows_64", "indexed_64"])];
/// Rows that a crowd updates.
const HOT_ROWS: usize = 4;
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
    /// Many clients at the same sequence, the same rows, the same indexes.
    Crowd,
}

impl Experiment {
    /// All, in the order in which they are done.
    pub const ALL: [Experiment; 6] = [
        Experiment::Nulls,
        Experiment::Scan,
        Experiment::Reads,
        Experiment::Commits,
        Experiment::Load,
        Experiment::Crowd,
    ];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Experiment::Nulls => "nulls",
            Experiment::Scan => "scan",
            Experiment::Reads => "reads",
            Experiment::Commits => "commits",
            Experiment::Load => "load",
            Experiment::Crowd => "crowd",
        }
    }

    /// How often it is repeated.
    fn rounds(self, scale: &Scale) -> usize {
        let most = if self == Experiment::Load { LOAD_RUNS_MAX } else { usize::MAX };
        scale.runs.clamp(1, most)
    }

    /// Preparations and runs for so many sides.
    pub fn steps(self, scale: &Scale, sides: usize) -> usize {
        sides * (1 + self.rounds(scale))
    }

    /// Who takes part, if they are there. What does not depend on a connection is not measured through the server.
    pub const fn roles(self) -> &'static [Role] {
        match self {
            Experiment::Nulls | Experiment::Scan => &[Role::Embedded, Role::Firebird, Role::Postgres],
            Experiment::Reads | Experiment::Commits | Experiment::Crowd => &Role::ALL,
            Experiment::Load => &[Role::Served, Role::Firebird, Role::Postgres],
        }
    }
}

/// A figure of an experiment, by its position, and a result for it.
type Results = Vec<(usize, f64)>;

/// Does an experiment on each of the sides that take part in it: prepares them one after another, and then lets each
/// have its run before any has its next, so that what else the machine does hits all alike.
///
/// `announce` is told of each preparation and each run before it begins; [`Experiment::steps`] says how many there are.
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
    let mut results: BTreeMap<(Role, usize), Vec<f64>> = BTreeMap::new();
    for round in 0..=experiment.rounds(scale) {
        for role in experiment.roles() {
            let Some(side) = sides.get_mut(role) else { continue };
            announce(*role);
            let given = match round {
                0 => prepare(experiment, side.as_mut(), scale),
                _ => measure(experiment, side.as_mut(), scale, round),
            };
            let given = given.map_err(|failure| Failure::Other(format!("{}: {failure}", role.name())))?;
            for (figure, result) in given {
                results.entry((*role, figure)).or_default().push(result);
            }
        }
    }
    for ((role, figure), results) in results {
        if let Some(figure) = figures.get_mut(figure) {
            figure.add(role, results);
        }
    }
    set_goals(experiment, &mut figures, scale);
    Ok(figures)
}

/// Makes and fills an experiment's tables. Where that is itself of interest, gives what it took.
fn prepare(experiment: Experiment, side: &mut dyn Side, scale: &Scale) -> Result<Results> {
    match experiment {
        Experiment::Nulls => prepare_nulls(side, scale),
        Experiment::Scan => prepare_scan(side, scale),
        Experiment::Reads => prepare_reads(side, scale),
        Experiment::Commits => {
            side.run(
                "create table commits (client integer not null, n integer not null, note varchar(40), \
                 primary key (client, n))",
            )?;
            Ok(Results::new())
        }
        Experiment::Load => Ok(Results::new()),
        Experiment::Crowd => prepare_crowd(side),
    }
}

/// One run of what is repeated.
fn measure(experiment: Experiment, side: &mut dyn Side, scale: &Scale, round: usize) -> Result<Results> {
    match experiment {
        Experiment::Nulls => Ok(vec![(2, timed_query(side, COUNT, i64::from(scale.rows))?)]),
        Experiment::Scan => Ok(vec![(0, timed_query(side, SUM, sum_of_thirds(scale))?)]),
        Experiment::Reads => Ok(vec![(0, read_rate(side, scale, round)?)]),
        Experiment::Commits => {
            let one = commit_rate(side, 1, round, scale.time)?;
            let many = commit_rate(side, CLIENTS, round, scale.time)?;
            Ok(vec![(0, one), (1, many)])
        }
        Experiment::Load => {
            let execute = load(side, scale, LoadWay::Execute, &format!("loaded_{round}"))?;
            let batch = load(side, scale, LoadWay::Batch, &format!("loaded_in_batches_{round}"))?;
            Ok([(0, execute), (1, batch)].into_iter().filter_map(|(n, time)| Some((n, time?))).collect())
        }
        Experiment::Crowd => {
            let mut results = Results::new();
            for (clients, _) in CROWDS {
                for rate in [
                    draw_rate(side, clients, scale.time)?,
                    hot_row_rate(side, clients, scale.time)?,
                    indexed_rate(side, clients, round, scale.time)?,
                ] {
                    results.push((results.len(), rate));
                }
            }
            Ok(results)
        }
    }
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
        Experiment::Crowd => CROWDS
            .iter()
            .flat_map(|(clients, [sequence, hot_rows, indexed])| {
                [
                    (sequence, format!("next value of one sequence, {clients} clients")),
                    (hot_rows, format!("update one of {HOT_ROWS} rows and commit, {clients} clients")),
                    (indexed, format!("insert into 5 indexes and commit, {clients} clients")),
                ]
            })
            .map(|(key, title)| Figure::new(key, title, Unit::PerSecond))
            .collect(),
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

const COUNT: &str = "select count(*) from nulls";
const SUM: &str = "select sum(a) from ints where mod(a, 3) = 0";

fn prepare_nulls(side: &mut dyn Side, scale: &Scale) -> Result<Results> {
    side.run(match side.dialect() {
        Dialect::Firebird => "create table nulls (a varchar(8000) character set utf8)",
        Dialect::Postgres => "create table nulls (a varchar(8000))",
    })?;
    let start = Instant::now();
    fill(side, "nulls", Filling::Null, scale.rows)?;
    let insert = start.elapsed().as_secs_f64();
    side.settle()?;
    // All of the file, though a part of it was there before: nobody can say that something was left out.
    let bytes = side.bytes_on_disk()? as f64 / f64::from(scale.rows.max(1));
    timed_query(side, COUNT, i64::from(scale.rows))?;
    Ok(vec![(0, insert), (1, bytes)])
}

fn prepare_scan(side: &mut dyn Side, scale: &Scale) -> Result<Results> {
    side.run("create table ints (a integer)")?;
    fill(side, "ints", Filling::Counter, scale.rows)?;
    side.settle()?;
    timed_query(side, SUM, sum_of_thirds(scale))?;
    Ok(Results::new())
}

/// 3 + 6 + 9 ... up to the number of rows.
fn sum_of_thirds(scale: &Scale) -> i64 {
    let thirds = i64::from(scale.rows / 3);
    3 * thirds * (thirds + 1) / 2
}

/// Seconds that a query takes. It must give what is expected.
fn timed_query(side: &mut dyn Side, sql: &str, expected: i64) -> Result<f64> {
    let start = Instant::now();
    let given = side.integer(sql)?;
    let took = start.elapsed().as_secs_f64();
    match given == expected {
        true => Ok(took),
        false => Err(Failure::Other(format!("{sql} gave {given} instead of {expected}"))),
    }
}

/// Rows of the table that is read by its key.
fn point_rows(scale: &Scale) -> i32 {
    (scale.rows / 10).max(1)
}

fn prepare_reads(side: &mut dyn Side, scale: &Scale) -> Result<Results> {
    side.run("create table points (id integer not null primary key, name varchar(40), amount bigint)")?;
    let insert = "insert into points (id, name, amount) values (?, ?, ?)";
    side.connect()?.load(insert, point_rows(scale), LoadWay::Execute)?;
    side.settle()?;
    Ok(Results::new())
}

/// Rows read per second by one client.
fn read_rate(side: &mut dyn Side, scale: &Scale, round: usize) -> Result<f64> {
    let rows = u64::from(point_rows(scale).unsigned_abs());
    let mut session = side.connect()?;
    let mut read = session.point_reader("select amount from points where id = ?")?;
    let (mut key, mut done) = (round as u64, 0_u32);
    let start = Instant::now();
    while start.elapsed() < scale.time {
        for _ in 0..READS_AT_A_TIME {
            // Steps through the keys in an order that no cache foresees.
            key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let id = i32::try_from((key >> 33) % rows).unwrap_or_default();
            let (given, expected) = (read(id)?, LoadedRow::amount_of(id));
            if given != expected {
                return Err(Failure::Other(format!("row {id} has {given} instead of {expected}")));
            }
        }
        done += READS_AT_A_TIME;
    }
    Ok(f64::from(done) / start.elapsed().as_secs_f64())
}

/// Commits per second of so many clients together. Each client's rows have a number of their own in each round.
fn commit_rate(side: &mut dyn Side, clients: usize, round: usize, time: Duration) -> Result<f64> {
    const INSERT: &str = "insert into commits (client, n, note) values (?, ?, 'a note of some length')";
    let first_client = i32::try_from(round * 2 * CLIENTS + clients).unwrap_or_default();
    inserts_rate(side, "commits", INSERT, first_client, clients, time)
}

/// Rows that clients insert and commit per second, numbered from a first client; all must be there afterwards.
fn inserts_rate(
    side: &mut dyn Side,
    table: &str,
    insert: &str,
    first_client: i32,
    clients: usize,
    time: Duration,
) -> Result<f64> {
    let committed = format!("select count(*) from {table}");
    let before = side.integer(&committed)?;
    let (done, rate) = together(side, clients, time, |session, client| {
        let mut commit = session.committer(insert)?;
        Ok(Box::new(move |n| commit(first_client + client, n)))
    })?;
    match side.integer(&committed)? - before {
        rows if rows == i64::from(done) => Ok(rate),
        rows => Err(Failure::Other(format!("{done} commits left {rows} rows"))),
    }
}

/// One piece of a client's work; told how many it has done before.
type Piece<'s> = Box<dyn FnMut(i32) -> Result<()> + 's>;

/// Lets so many clients work at once, for a time; gives the pieces that they did, and how many per second.
fn together(
    side: &mut dyn Side,
    clients: usize,
    time: Duration,
    prepare: impl for<'s> Fn(&'s mut dyn Session, i32) -> Result<Piece<'s>> + Sync,
) -> Result<(i32, f64)> {
    let sessions: Vec<Box<dyn Session>> = (0..clients).map(|_| side.connect()).collect::<Result<_>>()?;
    let ready = Barrier::new(clients);
    let work = |mut session: Box<dyn Session>, client: i32| -> Result<(i32, Duration)> {
        let piece = prepare(session.as_mut(), client);
        ready.wait();
        let mut piece = piece?;
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < time {
            piece(done)?;
            done += 1;
        }
        Ok((done, start.elapsed()))
    };
    let work = &work;
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..).zip(sessions).map(|(client, session)| scope.spawn(move || work(session, client))).collect();
        let ended = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Failure::Other("a client's thread panicked".to_owned())))
        });
        ended.collect::<Result<Vec<_>>>()
    })?;
    let done: i32 = results.iter().map(|(done, _)| done).sum();
    let longest = results.iter().map(|(_, time)| *time).max().unwrap_or(time);
    Ok((done, f64::from(done) / longest.as_secs_f64()))
}

/// A sequence, some rows that everybody wants, and a table of five indexes.
fn prepare_crowd(side: &mut dyn Side) -> Result<Results> {
    side.run("create sequence tickets")?;
    side.run(
        "create table hot (id integer not null primary key, hits bigint not null, last_client integer)",
    )?;
    for row in 0..HOT_ROWS {
        side.run(&format!("insert into hot (id, hits) values ({row}, 0)"))?;
    }
    side.run(
        "create table indexed (client integer not null, n integer not null, a integer, b integer, \
         c varchar(40), primary key (client, n))",
    )?;
    for column in ["a", "b", "c", "n"] {
        side.run(&format!("create index indexed_{column} on indexed ({column})"))?;
    }
    Ok(Results::new())
}

/// Values drawn from one sequence per second. None may come twice.
fn draw_rate(side: &mut dyn Side, clients: usize, time: Duration) -> Result<f64> {
    let (draw, current) = match side.dialect() {
        Dialect::Firebird => (
            "select next value for tickets from rdb$database where cast(? as integer) >= 0",
            "select gen_id(tickets, 0) from rdb$database",
        ),
        Dialect::Postgres => (
            "select nextval('tickets') where ?::integer >= 0",
            "select case when is_called then last_value else 0 end from tickets",
        ),
    };
    let before = side.integer(current)?;
    let (done, rate) = together(side, clients, time, |session, _| {
        let mut draw = session.point_reader(draw)?;
        Ok(Box::new(move |n| draw(n).map(|_| ())))
    })?;
    match side.integer(current)? - before {
        drawn if drawn == i64::from(done) => Ok(rate),
        drawn => Err(Failure::Other(format!("{done} draws moved the sequence by {drawn}"))),
    }
}

/// Updates of few rows by many clients per second, each in a transaction of its own. None may be lost.
fn hot_row_rate(side: &mut dyn Side, clients: usize, time: Duration) -> Result<f64> {
    const HITS: &str = "select cast(sum(hits) as bigint) from hot";
    let before = side.integer(HITS)?;
    let (done, rate) = together(side, clients, time, |session, client| {
        let row = client % HOT_ROWS as i32;
        let mut update = session.committer("update hot set hits = hits + 1, last_client = ? where id = ?")?;
        Ok(Box::new(move |_| update(client, row)))
    })?;
    match side.integer(HITS)? - before {
        hits if hits == i64::from(done) => Ok(rate),
        hits => Err(Failure::Other(format!("{done} updates left {hits} hits"))),
    }
}

/// Rows inserted into a table of five indexes per second, each in a transaction of its own.
fn indexed_rate(side: &mut dyn Side, clients: usize, round: usize, time: Duration) -> Result<f64> {
    const INSERT: &str =
        "insert into indexed (client, n, a, b, c) values (?, ?, 17, 4711, 'a text of some length')";
    let first_client = i32::try_from((round * CROWDS.len() + clients) * 1000).unwrap_or_default();
    inserts_rate(side, "indexed", INSERT, first_client, clients, time)
}

/// Seconds that loading a table of its own takes; `None` if the side does not know that way.
fn load(side: &mut dyn Side, scale: &Scale, way: LoadWay, table: &str) -> Result<Option<f64>> {
    let rows = load_rows(scale);
    side.run(&format!("create table {table} (id integer not null, name varchar(40), amount bigint)"))?;
    let insert = format!("insert into {table} (id, name, amount) values (?, ?, ?)");
    let Some(took) = side.connect()?.load(&insert, rows, way)? else { return Ok(None) };
    let count = side.integer(&format!("select count(*) from {table}"))?;
    if count != i64::from(rows) {
        return Err(Failure::Other(format!("{rows} rows were loaded and {count} are there")));
    }
    Ok(Some(took.as_secs_f64()))
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
