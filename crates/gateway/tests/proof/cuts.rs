//! Links that are cut: at every step of what a program does, and at random under bad weather.
//!
//! Whatever is cut when: what was acknowledged is there, nothing is done twice, a commit is reported neither done nor failed wrongly, and
//! no transaction stays open for longer than the origin's grace.

use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, Isolation, TransactionOptions, Tuning, Value};
use farbird_farlink::edge::Limits;
use farbird_farlink::link::Settings;
use farbird_types::{Error, isc};

use crate::network::Conditions;
use crate::random::{Random, number};
use crate::server::{TestServer, all, run};
use crate::world::{Graces, World};

const TABLES: [&str; 3] = [
    "create table ledger (id integer not null primary key)",
    "create table stock (id integer primary key, note blob sub_type text)",
    "execute block as declare n integer = 0; begin while (n < 300) do begin \
       insert into stock values (:n, 'note ' || :n); n = n + 1; end end",
];

const ONE_WAY: Duration = Duration::from_millis(50);
/// The graces of both ends: the time that a transaction may stay open when the link is gone.
const GRACE: Duration = Duration::from_secs(30);
/// Shorter and longer than the graces, and longer than the session is kept.
const OUTAGES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(60), Duration::from_secs(1_000)];
/// The server may take so long, in real time, to see that a connection has gone.
const PATIENCE: Duration = Duration::from_secs(30);

fn options(server: &TestServer, generation: &str) -> ConnectOptions {
    ConnectOptions { tuning: Tuning::preset(generation).unwrap(), ..server.options.clone() }
}

fn world(server: &TestServer, conditions: Conditions, seed: u64) -> World {
    let world = World::with(server, conditions, seed, Limits::default(), Settings::default());
    world.set_graces(Graces { edge: GRACE, origin: GRACE });
    world
}

/// What a program may be told when its connection breaks.
fn is_broken(error: &Error) -> bool {
    [isc::NETWORK_ERROR, isc::NET_READ_ERR, isc::NET_WRITE_ERR, isc::LOST_DB_CONNECTION]
        .iter()
        .any(|code| error.has(*code))
}

/// What one commit was said to be.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Said {
    Done,
    /// The connection broke: either is right.
    Unknown,
}

/// Attaches, inserts a row, reads, commits; gives what the program was told of the commit, and `None` if it did not come so far.
fn insert(
    world: &World,
    server: &TestServer,
    database: &str,
    generation: &str,
    id: i64,
) -> Result<Option<Said>, Error> {
    let connection = world.attach(database, &options(server, generation))?;
    let transaction = connection.begin(&TransactionOptions::default())?;
    let statement = connection.prepare(&transaction, "insert into ledger values (?)")?;
    connection.execute(&transaction, &statement, &[Value::integer(id)])?;
    let rows = connection.query_all(&transaction, "select id, note from stock where id < 250 order by id")?;
    assert_eq!(rows.len(), 250, "rows are whole");
    for (at, row) in rows.iter().enumerate().step_by(40) {
        assert_eq!(row[0], Value::integer(i64::try_from(at).unwrap()));
        let Value::Blob(note) = row[1] else { panic!("{row:?}") };
        assert_eq!(connection.read_blob(&transaction, note)?, format!("note {at}").as_bytes());
    }
    match connection.commit(transaction) {
        Ok(()) => {
            let _ = connection.close();
            Ok(Some(Said::Done))
        }
        Err(error) if is_broken(&error) => Ok(Some(Said::Unknown)),
        Err(error) => panic!("a commit failed wrongly: {error}"),
    }
}

/// What is in the ledger.
fn ledger(admin: &Connection) -> Vec<i64> {
    let rows = all(admin, "select id from ledger order by id");
    let number = |row: &Vec<Value>| match row[0] {
        Value::Integer { unscaled, .. } => unscaled,
        _ => panic!("{row:?}"),
    };
    rows.iter().map(number).collect()
}

/// Waits, in real time, until the server has no transaction but that of this question.
fn no_transaction_is_left(admin: &Connection, what: &str) {
    let begun = Instant::now();
    loop {
        let left =
            all(admin, "select count(*) from mon$transactions where mon$attachment_id <> current_connection");
        if left[0][0] == Value::integer(0) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: transactions are open: {left:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Cut at every chunk that crosses, for outages of each kind.
#[test]
fn a_cut_at_every_step_loses_nothing() {
    let server = TestServer::start();
    let admin = server.create("ledger.fdb", &TABLES);
    let mut id = 0;
    for (generation, outage) in
        [("2.5", OUTAGES[0]), ("farbird", OUTAGES[0]), ("2.5", OUTAGES[1]), ("farbird", OUTAGES[2])]
    {
        // With descriptions and rules from a first run, and without.
        for is_first in [true, false] {
            let mut step = 0;
            loop {
                let world = world(&server, Conditions::delay(ONE_WAY), id + 1);
                if !is_first {
                    id += 1;
                    let said = insert(&world, &server, "ledger.fdb", generation, i64::try_from(id).unwrap());
                    assert_eq!(said.unwrap(), Some(Said::Done));
                }
                id += 1;
                let number = i64::try_from(id).unwrap();
                world.network(|network| network.cut_after(step, outage));
                let said = insert(&world, &server, "ledger.fdb", generation, number);
                let was_cut = !world.network(|network| network.has_cut());
                world.network(|network| network.spare_cut());
                let what = format!("{generation}, first {is_first}, {outage:?}, step {step}: {said:?}");
                match &said {
                    Err(error) => assert!(is_broken(error), "{what}"),
                    Ok(_) if outage > GRACE => {}
                    // What is over before the graces are is not noticed.
                    Ok(said) => assert_eq!(*said, Some(Said::Done), "{what}"),
                }
                if outage < GRACE {
                    assert!(said.is_ok(), "{what}");
                }
                // However long the outage lasts: at the end of the grace all is rolled back.
                world.pass(GRACE + Duration::from_secs(1));
                no_transaction_is_left(&admin, &what);
                let is_there = ledger(&admin).contains(&number);
                match said {
                    Ok(Some(Said::Done)) => assert!(is_there, "{what}: lost"),
                    Ok(Some(Said::Unknown)) => {}
                    _ => assert!(!is_there, "{what}: done without a commit"),
                }
                // The edge goes on when the link is back.
                world.pass(outage);
                if step % 8 == 0 {
                    let again = world.attach("ledger.fdb", &options(&server, generation)).unwrap();
                    assert_eq!(all(&again, "select count(*) from stock"), [[Value::integer(300)]], "{what}");
                    again.close().unwrap();
                }
                if !was_cut {
                    break;
                }
                step += if outage == OUTAGES[0] { 1 } else { 2 };
                assert!(step < 400, "{what}: it never ends");
            }
            assert!(step > 4, "hardly anything was cut");
        }
    }
}

/// Attaches, inserts rows that are answered before they are there, and commits; gives what the program was told of the commit.
fn insert_optimistically(
    world: &World,
    server: &TestServer,
    ids: std::ops::Range<i64>,
) -> Result<Said, Error> {
    let connection = world.attach("early.fdb", &options(server, "2.5"))?;
    let transaction = connection.begin(&TransactionOptions::default())?;
    let statement = connection.prepare(&transaction, "insert into ledger values (?)")?;
    for id in ids {
        connection.execute(&transaction, &statement, &[Value::integer(id)])?;
    }
    match connection.commit(transaction) {
        Ok(()) => Ok(Said::Done),
        Err(error) if is_broken(&error) => Ok(Said::Unknown),
        Err(error) => panic!("a commit failed wrongly: {error}"),
    }
}

/// Writes that were answered and are cut off on their way: they are there if the commit was acknowledged, all of them or none.
#[test]
fn writes_that_were_answered_early_are_done_or_missed() {
    const ROWS: i64 = 20;
    let server = TestServer::start();
    let admin = server.create("early.fdb", &TABLES);
    let limits = Limits { optimistic_writes: true, ..Limits::default() };
    let (mut first, mut missed) = (0, 0);
    for outage in OUTAGES {
        let mut step = 0;
        loop {
            first += ROWS;
            let world =
                World::with(&server, Conditions::delay(ONE_WAY), step + 1, limits, Settings::default());
            world.set_graces(Graces { edge: GRACE, origin: GRACE });
            world.network(|network| network.cut_after(step, outage));
            let said = insert_optimistically(&world, &server, first..first + ROWS);
            let was_cut = !world.network(|network| network.has_cut());
            world.network(|network| network.spare_cut());
            world.pass(outage + GRACE + Duration::from_secs(1));
            let what = format!("{outage:?}, step {step}: {said:?}");
            no_transaction_is_left(&admin, &what);
            let there = ledger(&admin).iter().filter(|id| (first..first + ROWS).contains(*id)).count();
            match said {
                Ok(Said::Done) => assert_eq!(there, 20, "{what}: lost"),
                Ok(Said::Unknown) => assert!(there == 0 || there == 20, "{what}: {there} rows"),
                Err(error) => {
                    assert!(is_broken(&error), "{what}");
                    assert_eq!(there, 0, "{what}: done without a commit");
                    missed += 1;
                }
            }
            if outage < GRACE {
                assert_eq!(there, 20, "{what}: what is over before the graces are is not noticed");
            }
            if !was_cut {
                break;
            }
            step += 1;
            assert!(step < 400, "{what}: it never ends");
        }
        assert!(step > 4, "hardly anything was cut");
    }
    assert!(missed > 0);
}

/// Attaches, inserts a row, prepares its transaction and commits it; gives what the program was told of preparing and of the commit.
fn insert_in_two_phases(world: &World, server: &TestServer, id: i64) -> Result<(Said, Option<Said>), Error> {
    let said = |result: Result<(), Error>| match result {
        Ok(()) => Said::Done,
        Err(error) if is_broken(&error) => Said::Unknown,
        Err(error) => panic!("an end failed wrongly: {error}"),
    };
    let connection = world.attach("two.fdb", &options(server, "2.5"))?;
    let transaction = connection.begin(&TransactionOptions::default())?;
    connection.run(&transaction, &format!("insert into ledger values ({id})"))?;
    let prepared = said(connection.prepare_transaction(&transaction, b"one of two"));
    let committed = (prepared == Said::Done).then(|| said(connection.commit(transaction)));
    Ok((prepared, committed))
}

/// Who has been told that a transaction is prepared finds it committed or in limbo, whatever is cut when; through the edge it can be
/// taken over and ended.
#[test]
fn a_prepared_transaction_outlives_every_cut() {
    let server = TestServer::start();
    let admin = server.create("two.fdb", &TABLES);
    let (mut id, mut in_limbo, mut committed) = (0, 0, 0);
    for outage in OUTAGES {
        let mut step = 0;
        loop {
            id += 1;
            let world = world(&server, Conditions::delay(ONE_WAY), step + 1);
            world.network(|network| network.cut_after(step, outage));
            let said = insert_in_two_phases(&world, &server, id);
            let was_cut = !world.network(|network| network.has_cut());
            world.network(|network| network.spare_cut());
            world.pass(outage + GRACE + Duration::from_secs(1));
            let what = format!("{outage:?}, step {step}: {said:?}");
            no_transaction_is_left(&admin, &what);
            let again = world.attach("two.fdb", &options(&server, "2.5")).unwrap();
            let limbo = again.limbo().unwrap();
            assert!(limbo.len() <= 1, "{what}: {limbo:?}");
            match &said {
                Ok((Said::Done, Some(Said::Done))) => assert!(limbo.is_empty(), "{what}: {limbo:?}"),
                Ok(_) => {}
                Err(error) => assert!(is_broken(error), "{what}"),
            }
            let was_taken_over = !limbo.is_empty();
            for number in limbo {
                let taken = again.take_over(number).unwrap();
                match id % 2 == 0 {
                    true => again.commit(taken).unwrap(),
                    false => again.rollback(taken).unwrap(),
                }
                assert!(again.take_over(number).is_err(), "{what}: it is ended");
            }
            assert!(again.limbo().unwrap().is_empty(), "{what}");
            again.close().unwrap();
            let is_there = ledger(&admin).contains(&id);
            match said {
                _ if was_taken_over => assert_eq!(is_there, id % 2 == 0, "{what}"),
                Ok((Said::Done, _)) => assert!(is_there, "{what}: neither in limbo nor committed"),
                Ok((Said::Unknown, _)) | Err(_) => assert!(!is_there, "{what}: done without a commit"),
            }
            (in_limbo, committed) = (in_limbo + i32::from(was_taken_over), committed + i32::from(is_there));
            if !was_cut {
                break;
            }
            step += 1;
            assert!(step < 400, "{what}: it never ends");
        }
    }
    assert!(in_limbo > 0 && committed > 0, "{in_limbo} in limbo, {committed} committed");
}

/// A loop whose queries are run ahead, cut at every step for less than the grace: the program notices nothing.
#[test]
fn a_loop_goes_on_over_a_cut() {
    let server = TestServer::start();
    let admin = server.create("loop.fdb", &TABLES);
    run(&admin, "create table part (stock integer, name varchar(20))");
    run(&admin, "insert into part select id, 'p' || id from stock where id < 40");
    let play = |world: &World| {
        let connection = world.attach("loop.fdb", &options(&server, "2.5")).unwrap();
        let mut seen = Vec::new();
        for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
            let transaction =
                connection.begin(&TransactionOptions { isolation, ..TransactionOptions::default() }).unwrap();
            let outer =
                connection.prepare(&transaction, "select id from stock where id < 30 order by id").unwrap();
            let inner = connection.prepare(&transaction, "select name from part where stock = ?").unwrap();
            for row in connection.query(&transaction, &outer, &[]).unwrap() {
                let id = row.unwrap().to_values();
                let rows = connection.query(&transaction, &inner, &id[..1]).unwrap();
                seen.extend(rows.map(|row| row.unwrap().to_values()));
            }
            connection.commit(transaction).unwrap();
        }
        connection.close().unwrap();
        seen
    };
    let mut step = 0;
    loop {
        let world = world(&server, Conditions::delay(ONE_WAY), step + 1);
        let expected = play(&world);
        assert_eq!(expected.len(), 60);
        world.network(|network| network.cut_after(step, OUTAGES[0]));
        assert_eq!(play(&world), expected, "cut at step {step}");
        let was_cut = !world.network(|network| network.has_cut());
        assert_eq!(play(&world), expected, "behind a cut at step {step}");
        if !was_cut {
            break;
        }
        step += 1;
    }
    assert!(step > 4, "hardly anything was cut");
}

/// Random programs, weather and cuts. `FARBIRD_SEEDS` plays another number of them.
#[test]
fn nothing_is_lost_in_any_weather() {
    let server = TestServer::start();
    let admin = server.create("weather.fdb", &TABLES);
    let mut acknowledged = Vec::new();
    let mut unknown = Vec::new();
    let (mut id, mut cuts) = (0_i64, 0);
    let seeds = match number("FARBIRD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FARBIRD_SEEDS").unwrap_or(60),
    };
    for seed in seeds {
        let mut random = Random(seed);
        let conditions = Conditions {
            one_way: Duration::from_millis(1 + random.below(150)),
            rate: [None, Some(2_000_000), Some(35_000_000)][random.index(3)],
            jitter: Duration::from_millis(random.below(3) * 20),
            loss: [0, 0, 30, 8][random.index(4)],
        };
        let world = world(&server, conditions, seed + 1);
        let generation = ["2.0", "2.5", "5.0.1", "farbird"][random.index(4)];
        for _ in 0..4 {
            if random.one_in(2) {
                let outage = match random.below(4) {
                    0 => OUTAGES[1],
                    1 => Duration::ZERO,
                    _ => Duration::from_millis(random.below(20_000)),
                };
                let chunks = random.below(30);
                world.network(|network| network.cut_after(chunks, outage));
            }
            id += 1;
            match insert(&world, &server, "weather.fdb", generation, id) {
                Ok(Some(Said::Done)) => acknowledged.push(id),
                Ok(_) => unknown.push(id),
                Err(error) => assert!(is_broken(&error), "FARBIRD_SEED={seed}: {error}"),
            }
        }
        world.network(|network| network.spare_cut());
        world.pass(GRACE + Duration::from_secs(61));
        no_transaction_is_left(&admin, &format!("FARBIRD_SEED={seed}"));
        assert_eq!(
            world.conversations(),
            0,
            "FARBIRD_SEED={seed}: a program is gone, its conversation is not"
        );
        cuts += world.network(|network| network.cuts);
        let there = ledger(&admin);
        assert!(acknowledged.iter().all(|id| there.binary_search(id).is_ok()), "FARBIRD_SEED={seed}: lost");
        let is_known = |id: &i64| acknowledged.contains(id) || unknown.contains(id);
        assert!(there.iter().all(is_known), "FARBIRD_SEED={seed}: done without a commit");
    }
    println!("{} commits acknowledged, {} unknown, {cuts} cuts", acknowledged.len(), unknown.len());
    assert!(acknowledged.len() > 2 * unknown.len());
}
