//! Times the engine's hot paths in-process, without a server: single-row reads and writes, commits, bulk inserts.
//!
//! `cargo run --release -p farbird-engine --example engine_speed -- FOLDER [NAME...]` runs the named measurements (all if none
//! is named) on a fresh database in FOLDER, which should be on the disk that is meant. Each line is the best of its
//! runs. `farbird bench store` compares the same things with other servers; this one is for profilers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_engine::api::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, ExecuteOptions, Execution, Isolation, Rows,
    StatementHandle, TransactionHandle, TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::users::{NoUsers, UserDirectory};
use farbird_types::{CharacterSet, Result, Value};

/// A measurement: its name on the command line, and what it does.
type Measurement = (&'static str, fn(&Bench) -> Result<()>);

const MEASUREMENTS: [Measurement; 11] = [
    ("reads", point_reads),
    ("commits", commits),
    ("inserts", prepared_inserts),
    ("loop", insert_loop),
    ("nulls", null_loop),
    ("updates", updates),
    ("lookups", looked_up_loop),
    ("changes", changed_loop),
    ("ranges", deleted_ranges),
    ("join", join),
    ("latency", insert_latency),
];

/// Rows of the table that is read and updated by key.
const KEYED_ROWS: i64 = 100_000;
/// How long a rate is measured.
const RATE_TIME: Duration = Duration::from_secs(3);

struct Bench {
    engine: Arc<Engine>,
    path: PathBuf,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| ".".to_owned());
    let wanted: Vec<String> = arguments.collect();
    for (name, measure) in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            let path = Path::new(&folder).join(format!("speed-{name}.fbd"));
            let bench = Bench { engine: Engine::new(Default::default()), path };
            let keep = bench.create()?;
            measure(&bench)?;
            keep.drop_database().map_err(|(_, error)| error)?;
        }
    }
    Ok(())
}

fn options() -> AttachOptions {
    AttachOptions {
        user: "SYSDBA".to_owned(),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: Some("Etc/UTC".to_owned()),
        no_database_triggers: false,
        client: ClientDescription::default(),
    }
}

fn users() -> Arc<dyn UserDirectory> {
    Arc::new(NoUsers)
}

fn read_committed() -> TransactionParameters {
    TransactionParameters { isolation: Isolation::ReadCommitted, ..TransactionParameters::default() }
}

impl Bench {
    fn create(&self) -> Result<Attachment> {
        let create = CreateDatabaseOptions {
            default_character_set: CharacterSet::UTF8,
            page_size: 8192,
            overwrite: true,
            dialect: 3,
        };
        self.engine.create_database(&self.path, &create, options(), users())
    }

    fn attach(&self) -> Result<Attachment> {
        self.engine.attach(&self.path, options(), users())
    }

    fn file_megabytes(&self) -> f64 {
        std::fs::metadata(&self.path).map_or(0.0, |metadata| metadata.len() as f64 / 1e6)
    }
}

/// Runs a statement in a transaction of its own.
fn run(attachment: &mut Attachment, sql: &str) -> Result<()> {
    let transaction = attachment.start_transaction(TransactionParameters::default())?;
    let statement = attachment.allocate_statement()?;
    attachment.prepare(statement, Some(transaction), sql, 3)?;
    attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default())?;
    attachment.drop_statement(statement)?;
    attachment.commit(transaction)
}

fn prepare(attachment: &mut Attachment, sql: &str) -> Result<(StatementHandle, TransactionHandle)> {
    let transaction = attachment.start_transaction(read_committed())?;
    let statement = attachment.allocate_statement()?;
    attachment.prepare(statement, Some(transaction), sql, 3)?;
    Ok((statement, transaction))
}

fn query(attachment: &mut Attachment, sql: &str) -> Result<Vec<Value>> {
    let (statement, transaction) = prepare(attachment, sql)?;
    attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default())?;
    let mut rows = Rows::default();
    rows.reset(1);
    attachment.fetch(statement, 1, &mut rows)?;
    let row = rows.row(0).to_vec();
    attachment.drop_statement(statement)?;
    attachment.rollback(transaction)?;
    Ok(row)
}

fn report(name: &str, count: usize, unit: &str, time: Duration) {
    let seconds = time.as_secs_f64();
    let each = seconds * 1e6 / count as f64;
    println!("{name:34} {:>12.0} {unit}/s  {each:>9.3} us each  {seconds:.3} s", count as f64 / seconds);
}

fn keyed_table(attachment: &mut Attachment) -> Result<()> {
    run(
        attachment,
        "create table people (id integer not null primary key, name varchar(40), born date, n bigint)",
    )?;
    run(
        attachment,
        &format!(
            "execute block as declare i integer = 0; begin while (i < {KEYED_ROWS}) do begin \
             insert into people values (:i, 'person ' || :i, date '2000-01-01' + mod(:i, 9000), :i * 7); i = i + 1; \
             end end"
        ),
    )
}

/// Pseudo-random keys, the same ones each time.
fn keys() -> impl Iterator<Item = i64> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % KEYED_ROWS as u64) as i64
    })
}

fn point_reads(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    keyed_table(&mut attachment)?;
    let statements = [
        ("point read, one column", "select name from people where id = ?", 1),
        ("point read, all columns", "select * from people where id = ?", 4),
        ("point read, fetched into PSQL", "", 0),
    ];
    for (name, sql, width) in statements {
        if sql.is_empty() {
            let start = Instant::now();
            run(
                &mut attachment,
                "execute block as declare i integer = 0; declare s varchar(40); begin while (i < 100000) do begin \
                 select name from people where id = :i into s; i = i + 1; end end",
            )?;
            report(name, 100_000, "reads", start.elapsed());
            continue;
        }
        for isolation in [Isolation::ReadCommitted, Isolation::Snapshot] {
            let transaction = attachment
                .start_transaction(TransactionParameters { isolation, ..TransactionParameters::default() })?;
            let statement = attachment.allocate_statement()?;
            attachment.prepare(statement, Some(transaction), sql, 3)?;
            let mut best = Duration::MAX;
            let count = 200_000;
            let mut rows = Rows::default();
            for _ in 0..5 {
                let start = Instant::now();
                for key in keys().take(count) {
                    let parameters = vec![Value::integer(key)];
                    attachment.execute(
                        statement,
                        Some(transaction),
                        parameters,
                        ExecuteOptions::default(),
                    )?;
                    rows.reset(width);
                    attachment.fetch(statement, 1, &mut rows)?;
                    assert_eq!(rows.len(), 1, "the row is there");
                    attachment.close_cursor(statement)?;
                }
                best = best.min(start.elapsed());
            }
            report(&format!("{name}, {isolation:?}"), count, "reads", best);
            attachment.rollback(transaction)?;
        }
    }
    Ok(())
}

/// Commits of one inserted row each, by so many clients for a while.
fn commit_rate(bench: &Bench, clients: usize) -> Result<(usize, Duration)> {
    let start = Instant::now();
    let counts: Vec<Result<usize>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..clients).map(|client| scope.spawn(move || commit_rows(bench, client))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a client ends")).collect()
    });
    let mut total = 0;
    for count in counts {
        total += count?;
    }
    Ok((total, start.elapsed()))
}

fn commit_rows(bench: &Bench, client: usize) -> Result<usize> {
    let mut attachment = bench.attach()?;
    let (statement, transaction) = prepare(
        &mut attachment,
        "insert into events (id, client, note) values (?, ?, 'something happened')",
    )?;
    attachment.commit(transaction)?;
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < RATE_TIME {
        let transaction = attachment.start_transaction(read_committed())?;
        let id = (client as i64) * 10_000_000 + count as i64;
        let parameters = vec![Value::integer(id), Value::integer(client as i64)];
        attachment.execute(statement, Some(transaction), parameters, ExecuteOptions::default())?;
        attachment.commit(transaction)?;
        count += 1;
    }
    Ok(count)
}

fn commits(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    for clients in [1, 4, 16] {
        run(
            &mut attachment,
            "recreate table events (id bigint not null primary key, client integer, note varchar(40))",
        )?;
        let (count, time) = commit_rate(bench, clients)?;
        report(&format!("durable commits, {clients} clients"), count, "commits", time);
    }
    Ok(())
}

fn prepared_inserts(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    run(&mut attachment, "create table t (id integer not null primary key, a integer, b bigint, d date)")?;
    let count = 1_000_000;
    let (statement, transaction) =
        prepare(&mut attachment, "insert into t (id, a, b, d) values (?, ?, ?, ?)")?;
    let start = Instant::now();
    for id in 0..count {
        let parameters = vec![
            Value::integer(id as i64),
            Value::integer((id % 1000) as i64),
            Value::integer((id * 31) as i64),
            Value::Date(farbird_types::Date(50_000 + (id % 5000) as i32)),
        ];
        let done = attachment.execute(statement, Some(transaction), parameters, ExecuteOptions::default())?;
        assert_eq!(done, Execution::Done);
    }
    let executed = start.elapsed();
    attachment.commit(transaction)?;
    report("prepared inserts, executed", count, "rows", executed);
    report("prepared inserts, with commit", count, "rows", start.elapsed());
    println!("{:34} {:>12.1} MB", "file", bench.file_megabytes());
    Ok(())
}

fn insert_loop(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    for (name, declaration) in
        [("with a primary key", "id integer not null primary key"), ("no index", "id integer")]
    {
        run(&mut attachment, &format!("recreate table t ({declaration}, a integer, b bigint, d date)"))?;
        let start = Instant::now();
        run(
            &mut attachment,
            "execute block as declare i integer = 0; begin while (i < 1000000) do begin \
             insert into t (id, a, b, d) values (:i, mod(:i, 1000), :i * 31, date '2000-01-01' + mod(:i, 5000)); \
             i = i + 1; end end",
        )?;
        report(&format!("PSQL loop of inserts, {name}"), 1_000_000, "rows", start.elapsed());
        println!("{:34} {:>12.1} MB", "file", bench.file_megabytes());
    }
    Ok(())
}

fn null_loop(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    run(&mut attachment, "create table t (a varchar(8000))")?;
    let start = Instant::now();
    run(
        &mut attachment,
        "execute block as declare i integer = 0; begin while (i < 5000000) do begin \
         insert into t values (null); i = i + 1; end end",
    )?;
    report("PSQL loop of NULL rows", 5_000_000, "rows", start.elapsed());
    let start = Instant::now();
    query(&mut attachment, "select count(*) from t")?;
    report("COUNT(*)", 5_000_000, "rows", start.elapsed());
    println!("{:34} {:>12.1} MB", "file", bench.file_megabytes());
    Ok(())
}

fn updates(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    keyed_table(&mut attachment)?;
    let count = 50_000;
    let (statement, transaction) = prepare(&mut attachment, "update people set n = n + 1 where id = ?")?;
    let start = Instant::now();
    for key in keys().take(count) {
        attachment.execute(
            statement,
            Some(transaction),
            vec![Value::integer(key)],
            ExecuteOptions::default(),
        )?;
    }
    report("updates by key, executed", count, "rows", start.elapsed());
    attachment.commit(transaction)?;
    report("updates by key, with commit", count, "rows", start.elapsed());
    let start = Instant::now();
    run(&mut attachment, "update people set n = n + 1 where id < 50000")?;
    report("updates in one statement", count, "rows", start.elapsed());
    let start = Instant::now();
    run(&mut attachment, "delete from people where id < 50000")?;
    report("deletes in one statement", count, "rows", start.elapsed());
    Ok(())
}

/// The look-ups by key of `farbird bench sql psql`, ten times as many.
fn looked_up_loop(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    keyed_table(&mut attachment)?;
    let count = 1_000_000;
    let start = Instant::now();
    run(
        &mut attachment,
        &format!(
            "execute block as declare c integer = 0; declare i bigint = 0; declare v bigint; declare s bigint = 0; \
             begin while (c < {count}) do begin i = mod(c, {KEYED_ROWS}); select n from people where id = :i into v; \
             s = s + v; c = c + 1; end end"
        ),
    )?;
    report("SELECT by key in a PSQL loop", count, "rows", start.elapsed());
    Ok(())
}

/// The updates by key of `farbird bench sql psql`, ten times.
fn changed_loop(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    keyed_table(&mut attachment)?;
    let part = KEYED_ROWS / 5;
    let (mut executed, mut total) = (Vec::new(), Vec::new());
    for round in 0..10 {
        let from = round % 5 * part;
        let sql = format!(
            "execute block as declare i integer; begin for select id from people where id >= {from} and id < {} into i do \
             update people set n = n + 1 where id = :i; end",
            from + part
        );
        let (statement, transaction) = prepare(&mut attachment, &sql)?;
        let start = Instant::now();
        attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default())?;
        executed.push(start.elapsed());
        attachment.commit(transaction)?;
        total.push(start.elapsed());
    }
    report_median("UPDATE by key in a PSQL loop", part as usize, executed, total);
    Ok(())
}

fn report_median(name: &str, count: usize, mut executed: Vec<Duration>, mut total: Vec<Duration>) {
    for (what, times) in [("executed", &mut executed), ("with commit", &mut total)] {
        times.sort();
        report(&format!("{name}, {what}"), count, "rows", times[times.len() / 2]);
    }
}

/// DELETE of a fiftieth of a table of 100,000 rows with two indexes, as in `farbird bench sql points`.
fn deleted_ranges(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    run(&mut attachment, "create table ranges (id bigint, amount bigint, bucket bigint, note varchar(40))")?;
    run(
        &mut attachment,
        &format!(
            "execute block as declare i integer = 0; begin while (i < {KEYED_ROWS}) do begin \
             insert into ranges values (:i, mod(:i * 7919, 1000000), mod(:i, 100), 'point number ' || :i); i = i + 1; \
             end end"
        ),
    )?;
    run(&mut attachment, "alter table ranges alter id set not null")?;
    run(&mut attachment, "alter table ranges add primary key (id)")?;
    run(&mut attachment, "create index ranges_bucket on ranges (bucket)")?;
    let part = KEYED_ROWS / 50;
    let (mut executed, mut total) = (Vec::new(), Vec::new());
    for round in 0..20 {
        let from = KEYED_ROWS / 2 + round * part;
        let sql = format!("delete from ranges where id >= {from} and id < {}", from + part);
        let (statement, transaction) = prepare(&mut attachment, &sql)?;
        let start = Instant::now();
        attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default())?;
        executed.push(start.elapsed());
        attachment.commit(transaction)?;
        total.push(start.elapsed());
    }
    report_median("DELETE of a fiftieth", part as usize, executed, total);
    Ok(())
}

fn join(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    keyed_table(&mut attachment)?;
    run(&mut attachment, "create table visits (person integer, n integer)")?;
    run(
        &mut attachment,
        "execute block as declare i integer = 0; begin while (i < 100000) do begin \
         insert into visits values (mod(:i * 7919, 100000), :i); i = i + 1; end end",
    )?;
    let start = Instant::now();
    query(&mut attachment, "select sum(p.n) from visits v left join people p on p.id = v.person + 0")?;
    report("nested-loop join over an index", 100_000, "rows", start.elapsed());
    Ok(())
}

/// How long single commits take, at the quantiles.
fn insert_latency(bench: &Bench) -> Result<()> {
    let mut attachment = bench.attach()?;
    run(
        &mut attachment,
        "create table events (id bigint not null primary key, client integer, note varchar(40))",
    )?;
    let (statement, transaction) = prepare(
        &mut attachment,
        "insert into events (id, client, note) values (?, 0, 'something happened')",
    )?;
    attachment.commit(transaction)?;
    let mut times = Vec::new();
    for id in 0..3000 {
        let start = Instant::now();
        let transaction = attachment.start_transaction(read_committed())?;
        attachment.execute(
            statement,
            Some(transaction),
            vec![Value::integer(id)],
            ExecuteOptions::default(),
        )?;
        attachment.commit(transaction)?;
        times.push(start.elapsed());
    }
    times.sort();
    for percent in [50, 90, 99] {
        println!("commit latency, {percent} % within {:?}", times[times.len() * percent / 100]);
    }
    Ok(())
}
