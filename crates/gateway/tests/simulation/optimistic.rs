//! Writes that are answered before they are done: what they cost, who hears of one that fails, and that nothing of its transaction stays.
//!
//! `FARBIRD_SEED` runs one seed of the random programs, `FARBIRD_SEEDS` another number of them.

use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, Statement, Transaction, TransactionOptions, Tuning, Value};
use farbird_farlink::edge::{Limits, Saved};
use farbird_types::{Error, isc};

use crate::server::{TestServer, all, run};
use crate::world::{Link, World};

const LINK: Link = Link { one_way: Duration::from_millis(100), rate: None };
const TABLES: [&str; 6] = [
    "create table written (id integer not null primary key, text varchar(20))",
    "create table part (id integer not null primary key, of_id integer references written, n integer check (n < 100))",
    "create sequence counted",
    "create procedure add_one (id integer) as begin insert into written values (:id, 'by a procedure'); end",
    "create exception refused 'not this one'",
    "create trigger refuse for written before insert as begin if (new.text = 'refused') then exception refused; end",
];
const INSERT: &str = "insert into written values (?, 'a')";

fn optimistic() -> Limits {
    Limits { optimistic_writes: true, ..Limits::default() }
}

/// A program far from a server, whose edge may answer writes.
struct Site {
    /// Without edge and origin.
    near: Connection,
    far: Connection,
    world: World,
    _server: TestServer,
}

impl Site {
    fn new(limits: Limits) -> Site {
        let server = TestServer::start();
        let near = server.create("optimistic.fdb", &TABLES);
        let world = World::with(server.address, server.farlink(), LINK, limits);
        let options = ConnectOptions { tuning: Tuning::preset("2.5").unwrap(), ..server.options.clone() };
        let far = world.attach("optimistic.fdb", &options).unwrap();
        Site { near, far, world, _server: server }
    }

    fn begin(&self) -> Transaction {
        self.far.begin(&TransactionOptions::default()).unwrap()
    }

    /// An INSERT that the edge knows.
    fn insert(&self) -> Statement {
        let transaction = self.begin();
        let statement = self.far.prepare(&transaction, INSERT).unwrap();
        self.far.commit(transaction).unwrap();
        statement
    }

    fn add(&self, transaction: &Transaction, statement: &Statement, id: i64) -> Result<(), Error> {
        self.far.execute(transaction, statement, &[Value::integer(id)]).map(drop)
    }

    /// How many round trips something takes, and what it gives.
    fn trips<T>(&self, work: impl FnOnce() -> T) -> (T, u64) {
        let (given, trips) = self.world.trips(work);
        assert!((trips - trips.round()).abs() < 0.01, "{trips}");
        (given, trips.round() as u64)
    }

    /// What is committed.
    fn written(&self) -> Vec<i64> {
        numbers(&self.near, "select id from written order by id")
    }
}

fn numbers(connection: &Connection, query: &str) -> Vec<i64> {
    let number = |row: &Vec<Value>| match row[0] {
        Value::Integer { unscaled, .. } => unscaled,
        _ => panic!("{row:?}"),
    };
    all(connection, query).iter().map(number).collect()
}

#[test]
fn writes_cost_nothing_and_a_commit_one_trip() {
    let site = Site::new(optimistic());
    let insert = site.insert();
    let (transaction, trips) = site.trips(|| {
        let transaction = site.begin();
        (0..100).for_each(|id| site.add(&transaction, &insert, id).unwrap());
        site.far.run(&transaction, "update written set text = 'b' where id < 50").unwrap();
        site.far.run(&transaction, "delete from written where id = 99").unwrap();
        transaction
    });
    assert_eq!(trips, 0);
    let (_, trips) = site.trips(|| site.far.commit(transaction).unwrap());
    assert_eq!(trips, 1);
    assert_eq!(site.written().len(), 99);

    let ((), trips) = site.trips(|| {
        for id in 1_000..1_100 {
            let transaction = site.begin();
            site.add(&transaction, &insert, id).unwrap();
            site.far.commit(transaction).unwrap();
        }
    });
    assert_eq!(trips, 100, "the commits");

    // Whose answers say more than that all is well, and what may do anything.
    for text in
        ["execute procedure add_one(-1)", "execute block as begin insert into written values (-2, 'b'); end"]
    {
        let transaction = site.begin();
        let ((), trips) = site.trips(|| site.far.run(&transaction, text).unwrap());
        assert_eq!(trips, 1, "{text}");
        site.far.rollback(transaction).unwrap();
    }
    let transaction = site.begin();
    let returning =
        site.far.prepare(&transaction, "insert into written values (?, 'r') returning text").unwrap();
    let (row, trips) =
        site.trips(|| site.far.execute(&transaction, &returning, &[Value::integer(-3)]).unwrap());
    assert_eq!((row.unwrap().to_values(), trips), (vec![Value::text("r")], 1));
    // How many rows a statement has changed is the server's to say.
    site.add(&transaction, &insert, -4).unwrap();
    let (counts, trips) = site.trips(|| site.far.counts(&insert).unwrap());
    assert_eq!((counts.inserted, trips), (1, 1));
    assert_eq!(site.far.counts(&insert).unwrap().inserted, 1);
    site.far.commit(transaction).unwrap();
    let counters = site.world.site().counters();
    assert_eq!((counters.saved(Saved::Write), counters.optimistic_failed), (203, 0));
    assert_eq!(site.world.site().memory().writes, 0);
}

#[test]
fn the_first_failure_fails_what_comes_behind_it() {
    let site = Site::new(optimistic());
    let insert = site.insert();
    let sequence = || numbers(&site.near, "select gen_id(counted, 0) from rdb$database");
    let transaction = site.begin();
    site.add(&transaction, &insert, 1).unwrap();
    site.add(&transaction, &insert, 1).unwrap();
    site.far.run(&transaction, "insert into written values (next value for counted, 'c')").unwrap();
    let query = site.far.query_all(&transaction, "select count(*) from written").unwrap_err();
    assert!(query.has(isc::UNIQUE_KEY_VIOLATION), "{query}");
    assert_eq!(sequence(), [0], "behind a write that has failed nothing is done");
    // From here on the edge knows.
    for failed in [
        site.add(&transaction, &insert, 2).unwrap_err(),
        site.far.counts(&insert).unwrap_err(),
        site.far.savepoint(&transaction, "s").unwrap_err(),
        site.far.prepare_transaction(&transaction, b"").unwrap_err(),
        site.far.commit_retaining(&transaction).unwrap_err(),
    ] {
        assert_eq!(failed.to_string(), query.to_string());
    }
    site.far.rollback(transaction).unwrap();
    assert!(site.written().is_empty());

    // A commit is refused too by one that has heard of nothing.
    let transaction = site.begin();
    site.add(&transaction, &insert, 1).unwrap();
    site.far.run(&transaction, "insert into nowhere values (1)").unwrap();
    site.add(&transaction, &insert, 2).unwrap();
    assert!(site.far.commit(transaction).unwrap_err().has(isc::DSQL_RELATION_ERR));
    assert!(site.written().is_empty());
    let counters = site.world.site().counters();
    assert_eq!(counters.optimistic_failed, 2 + 2);

    // And the next transaction knows nothing of it.
    let transaction = site.begin();
    site.add(&transaction, &insert, 1).unwrap();
    site.far.commit(transaction).unwrap();
    assert_eq!(site.written(), [1]);
}

#[test]
fn what_undoes_a_failed_write_lets_its_transaction_go_on() {
    let site = Site::new(optimistic());
    let insert = site.insert();
    let transaction = site.begin();
    site.add(&transaction, &insert, 1).unwrap();
    site.far.savepoint(&transaction, "s").unwrap();
    site.add(&transaction, &insert, 2).unwrap();
    site.add(&transaction, &insert, 1).unwrap();
    assert!(site.far.rollback_to_savepoint(&transaction, "unknown").is_err());
    assert!(site.far.counts(&insert).unwrap_err().has(isc::UNIQUE_KEY_VIOLATION), "nothing was undone");
    site.far.rollback_to_savepoint(&transaction, "s").unwrap();
    let ((), trips) = site.trips(|| site.add(&transaction, &insert, 3).unwrap());
    assert_eq!(trips, 0, "writes are answered again");
    site.far.commit_retaining(&transaction).unwrap();
    assert_eq!(site.written(), [1, 3]);

    site.add(&transaction, &insert, 4).unwrap();
    site.add(&transaction, &insert, 3).unwrap();
    site.far.rollback_retaining(&transaction).unwrap();
    site.add(&transaction, &insert, 5).unwrap();
    site.far.commit(transaction).unwrap();
    assert_eq!(site.written(), [1, 3, 5]);
}

/// What a program reads of its own writes is what the server has done, in this transaction and in no other one.
#[test]
fn a_query_behind_writes_sees_them_and_one_in_another_transaction_does_not() {
    let site = Site::new(optimistic());
    let insert = site.insert();
    let (one, other) = (site.begin(), site.begin());
    site.add(&one, &insert, 1).unwrap();
    site.add(&other, &insert, 2).unwrap();
    site.far.run(&one, "update written set text = 'changed' where id < 5").unwrap();
    let seen = |transaction: &Transaction| {
        let (rows, trips) = site
            .trips(|| site.far.query_all(transaction, "select id, text from written order by id").unwrap());
        assert!(trips <= 2, "preparing it, and its rows");
        rows
    };
    assert_eq!(seen(&one), [[Value::integer(1), Value::text("changed")]]);
    assert_eq!(seen(&other), [[Value::integer(2), Value::text("a")]]);
    // What fails in one is nothing to the other.
    site.far.run(&one, "insert into written values (3, 'refused')").unwrap();
    site.far.commit(other).unwrap();
    let error = site.far.commit_retaining(&one).unwrap_err();
    assert!(error.has(isc::EXCEPT) && error.message().contains("not this one"), "{error}");
    site.far.rollback(one).unwrap();
    assert_eq!(site.written(), [2]);
}

/// Who leaves without an end to its transaction has written nothing, whatever it was answered.
#[test]
fn writes_of_a_program_that_leaves_are_rolled_back() {
    for says_so in [true, false] {
        let site = Site::new(optimistic());
        let insert = site.insert();
        let transaction = site.begin();
        for id in 0..50 {
            site.add(&transaction, &insert, id).unwrap();
        }
        let Site { _server, world, near, far } = site;
        drop((insert, transaction));
        if says_so {
            far.close().unwrap();
        } else {
            drop(far);
        }
        world.pass(Duration::from_secs(1));
        // Nobody holds what it has written: all of these can be written at once.
        for id in 0..50 {
            run(&near, &format!("insert into written values ({id}, 'b')"));
        }
        assert_eq!(world.site().memory().writes, 0);
    }
}

#[test]
fn so_much_is_answered_and_not_done_at_most() {
    let site = Site::new(Limits { optimistic_bytes: 4 << 10, ..optimistic() });
    let insert = site.insert();
    let transaction = site.begin();
    let ((), trips) = site.trips(|| {
        for id in 0..100 {
            site.add(&transaction, &insert, id).unwrap();
            assert!(site.world.site().memory().writes <= 4 << 10);
        }
    });
    let waited = site.world.site().counters().optimistic_waited;
    assert!((5..50).contains(&waited), "{waited}");
    assert_eq!(trips, waited, "a trip each");
    site.far.commit(transaction).unwrap();
    assert_eq!(site.written().len(), 100);
}

/// What a random program does in a transaction.
#[derive(Debug, Clone)]
enum Step {
    /// Inserts by a prepared statement, and asks how many rows that were.
    Insert {
        id: i64,
        counts: bool,
    },
    /// A write by its text.
    Write(String),
    Query,
    Returning(i64),
    Savepoint,
    /// Back to the savepoint, if there is one.
    Undo,
    CommitRetaining,
    RollbackRetaining,
    Commit,
    Rollback,
}

impl Step {
    /// Whether a program that has not been told of a failure yet is told here.
    fn tells(&self) -> bool {
        matches!(
            self,
            Step::Insert { counts: true, .. }
                | Step::Query
                | Step::Returning(_)
                | Step::Savepoint
                | Step::CommitRetaining
                | Step::Commit
        )
    }
}

/// The steps of a transaction, its end included.
fn steps(mut below: impl FnMut(u64) -> u64) -> Vec<Step> {
    let mut has_savepoint = false;
    let mut steps = Vec::new();
    for _ in 0..1 + below(14) {
        let id = i64::try_from(below(12)).unwrap();
        let step = match below(20) {
            0..=6 => Step::Insert { id, counts: below(6) == 0 },
            7 | 8 => Step::Write(format!("insert into part values ({id}, {}, {})", below(9), below(110))),
            9 | 10 => Step::Write(format!("update written set id = id + {} where id = {id}", below(4))),
            11 => Step::Write(format!("update part set n = n / (n - {id})")),
            12 | 13 => Step::Write(format!("delete from written where id = {id}")),
            14 => Step::Query,
            15 => Step::Returning(id),
            16 => Step::Savepoint,
            17 | 18 if has_savepoint => Step::Undo,
            17 => Step::CommitRetaining,
            18 => Step::RollbackRetaining,
            _ => Step::Query,
        };
        match step {
            Step::Savepoint => has_savepoint = true,
            Step::CommitRetaining | Step::RollbackRetaining => has_savepoint = false,
            _ => {}
        }
        steps.push(step);
    }
    steps.push(if below(4) == 0 { Step::Rollback } else { Step::Commit });
    steps
}

/// Plays transactions, each up to the first error that it is told, and writes down what it is answered.
struct Player<'c> {
    connection: &'c Connection,
    insert: Statement,
    returning: Statement,
    /// Whether it hears of a failed write at once, and then acts as if it did not yet.
    is_told_at_once: bool,
    log: Vec<String>,
}

impl Player<'_> {
    fn new(connection: &Connection, is_told_at_once: bool) -> Player<'_> {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let insert = connection.prepare(&transaction, INSERT).unwrap();
        let returning =
            connection.prepare(&transaction, "insert into written values (?, 'r') returning id + 1").unwrap();
        connection.commit(transaction).unwrap();
        Player { connection, insert, returning, is_told_at_once, log: Vec::new() }
    }

    fn play(&mut self, steps: &[Step]) {
        let mut transaction = Some(self.connection.begin(&TransactionOptions::default()).unwrap());
        let mut failure: Option<Error> = None;
        for (at, step) in steps.iter().enumerate() {
            let undoes = matches!(step, Step::Undo | Step::RollbackRetaining | Step::Rollback);
            if undoes {
                failure = None;
            }
            let answer = match &failure {
                // Nothing behind it is done.
                Some(failed) if step.tells() => Err(failed.clone()),
                Some(_) => continue,
                None => self.step(step, &mut transaction),
            };
            match answer {
                Ok(answer) => self.log.extend(answer),
                Err(error) if self.is_told_at_once && !step.tells() => failure = Some(error),
                Err(error) => {
                    self.log.push(format!("step {at}: {error}"));
                    break;
                }
            }
        }
        if let Some(transaction) = transaction {
            self.connection.rollback(transaction).unwrap();
        }
    }

    fn step(&mut self, step: &Step, transaction: &mut Option<Transaction>) -> Result<Option<String>, Error> {
        let connection = self.connection;
        let Some(current) = transaction.as_ref() else { return Ok(None) };
        match step {
            Step::Insert { id, counts } => {
                connection.execute(current, &self.insert, &[Value::integer(*id)])?;
                if *counts {
                    return Ok(Some(format!("{:?}", connection.counts(&self.insert)?)));
                }
            }
            Step::Write(text) => connection.run(current, text)?,
            Step::Query => {
                let query =
                    "select id, text from written union all select id, cast(n as varchar(9)) from part";
                return Ok(Some(format!("{:?}", connection.query_all(current, query)?)));
            }
            Step::Returning(id) => {
                let row = connection.execute(current, &self.returning, &[Value::integer(*id)])?;
                return Ok(Some(format!("{:?}", row.map(|row| row.to_values()))));
            }
            Step::Savepoint => connection.savepoint(current, "s")?,
            Step::Undo => connection.rollback_to_savepoint(current, "s")?,
            Step::CommitRetaining => connection.commit_retaining(current)?,
            Step::RollbackRetaining => connection.rollback_retaining(current)?,
            Step::Commit => {
                if let Some(current) = transaction.take() {
                    connection.commit(current)?;
                }
            }
            Step::Rollback => {
                if let Some(current) = transaction.take() {
                    connection.rollback(current)?;
                }
            }
        }
        Ok(None)
    }
}

/// A program that rolls back when anything fails is answered, up to there, what it is answered without edge and origin; it hears of the same
/// failure, at the latest where the server must answer; and the tables are the same at the end of each transaction.
#[test]
fn random_programs_that_roll_back_leave_the_same() {
    let server = TestServer::start();
    let names = ["direct.fdb", "far.fdb"];
    let admins = names.map(|name| server.create(name, &TABLES));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match (number("FARBIRD_SEED"), number("FARBIRD_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, seeds) => 0..seeds.unwrap_or(u64::MAX),
    };
    let began = Instant::now();
    let (mut failed, mut saved) = (0, 0);
    for seed in seeds {
        if number("FARBIRD_SEEDS").is_none() && began.elapsed() > Duration::from_secs(10) {
            break;
        }
        let mut random = crate::equality::Random(seed);
        // Sometimes there is little room, so that one write waits and is told to have failed, and the next does not.
        let is_narrow = random.one_in(3);
        let optimistic_bytes = if is_narrow { 1_500 } else { 4 << 20 };
        let limits = Limits { optimistic_bytes, ..optimistic() };
        let world = World::with(server.address, server.farlink(), LINK, limits);
        let generation = ["2.0", "2.5", "5.0.1", "farbird"][usize::try_from(random.below(4)).unwrap()];
        let options =
            ConnectOptions { tuning: Tuning::preset(generation).unwrap(), ..server.options.clone() };
        let connections = [server.attach_with(names[0], &options), world.attach(names[1], &options).unwrap()];
        let is_told_at_once = [true, false];
        let mut players = [0, 1].map(|side| Player::new(&connections[side], is_told_at_once[side]));
        for admin in &admins {
            run(admin, "delete from part");
            run(admin, "delete from written");
        }
        for number in 0..6 {
            let mut steps = steps(|end| random.below(end));
            if is_narrow {
                // Who has been told undoes nothing, but rolls back.
                steps.retain(|step| !matches!(step, Step::Undo | Step::RollbackRetaining));
            }
            players.iter_mut().for_each(|player| player.play(&steps));
            let what = format!("FARBIRD_SEED={seed}, {generation}, transaction {number}: {steps:#?}");
            let [direct, far] = &players;
            assert!(
                is_narrow || far.log == direct.log,
                "{:#?} {:#?} {what}",
                far.log.last(),
                direct.log.last()
            );
            assert_eq!(tables(&admins[1]), tables(&admins[0]), "{what}");
        }
        failed += players[0].log.iter().filter(|line| line.starts_with("step")).count();
        saved += world.site().counters().saved(Saved::Write);
    }
    println!("{failed} transactions failed, {saved} writes were answered at once, in {:?}", began.elapsed());
    assert!(failed > 0 && saved > 0);
}

fn tables(admin: &Connection) -> String {
    let queries = ["select * from written order by id", "select * from part order by id"];
    format!("{:?}", queries.map(|query| all(admin, query)))
}
