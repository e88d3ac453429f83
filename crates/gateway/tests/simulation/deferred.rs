//! Statements that are described from their texts alone: what they cost, where their mistakes are told, and that their answers are the same.

use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, TransactionOptions, Tuning, Value};
use farbird_farlink::edge::Limits;
use farbird_types::{Error, isc};

use crate::server::{TestServer, all, run};
use crate::world::{Link, World};

const LINK: Link = Link { one_way: Duration::from_millis(100), rate: None };
const TABLES: [&str; 2] = [
    "create table stock (id integer not null primary key, name varchar(20), price numeric(9, 2))",
    "insert into stock select 1, 'one', 1.25 from rdb$database union all select 2, 'two', 2.5 from rdb$database",
];

fn deferred() -> Limits {
    Limits { deferred_prepare: true, ..Limits::default() }
}

fn attached(server: &TestServer, limits: Limits) -> (World, Connection) {
    let world = World::with(server.address, server.farlink(), LINK, limits);
    let options = ConnectOptions { tuning: Tuning::preset("2.5").unwrap(), ..server.options.clone() };
    let connection = world.attach("stock.fdb", &options).unwrap();
    (world, connection)
}

/// How many round trips something takes, and what it gives.
fn trips<T>(world: &World, work: impl FnOnce() -> T) -> (T, u64) {
    let (given, trips) = world.trips(work);
    assert!((trips - trips.round()).abs() < 0.01, "{trips}");
    (given, trips.round() as u64)
}

#[test]
fn a_text_like_one_that_was_prepared_costs_no_trip_before_it_is_executed() {
    let server = TestServer::start();
    let near = server.create("stock.fdb", &TABLES);
    for (limits, expected) in [(Limits::default(), 1), (deferred(), 0)] {
        let (world, far) = attached(&server, limits);
        let transaction = far.begin(&TransactionOptions::default()).unwrap();
        let prepare = |text: &str| trips(&world, || far.prepare(&transaction, text).unwrap());
        for (first, alike) in [
            ("select name from stock where id = 1", "select name from stock where id = 2"),
            (
                "insert into stock values (10, 'ten', 10)",
                "insert into stock (id) select 11 from rdb$database",
            ),
            ("update stock set name = 'TEN' where id = 10", "update stock set price = price * 2"),
            ("delete from stock where id = 11", "delete from stock where id > 2"),
            ("create table one (a integer)", "create view seen as select id from stock"),
        ] {
            assert_eq!(prepare(first).1, 1, "{first}");
            let (statement, trips) = prepare(alike);
            assert_eq!(trips, expected, "{alike}");
            far.execute(&transaction, &statement, &[]).unwrap();
        }
        // Whose parameters and columns only the server knows.
        for text in ["insert into stock (id) values (?)", "insert into stock (id) values (9) returning id"] {
            assert_eq!(prepare(text).1, 1, "{text}");
        }
        far.rollback(transaction).unwrap();
        let counted = world.site().counters().statements_deferred;
        assert_eq!(counted, if expected == 0 { 5 } else { 0 });
    }
    assert_eq!(all(&near, "select count(*) from stock"), [[Value::integer(2)]]);
}

/// A query that was described by its text only reads, as far as the server has said so of one like it: it is run as that is, and its
/// transaction ends at the edge.
#[test]
fn a_query_that_was_described_so_is_known_to_only_read() {
    let server = TestServer::start();
    drop(server.create("stock.fdb", &TABLES));
    let (world, far) = attached(&server, deferred());
    drop(
        far.query_all(
            &far.begin(&TransactionOptions::default()).unwrap(),
            "select id from stock where id = 1",
        ),
    );
    let ((), trips) = trips(&world, || {
        for id in 0..20 {
            let transaction = far.begin(&TransactionOptions::default()).unwrap();
            let rows = far.query_all(&transaction, &format!("select id from stock where id = {id}")).unwrap();
            assert_eq!(rows.len(), usize::from(id == 1 || id == 2));
            far.commit(transaction).unwrap();
        }
    });
    assert_eq!(trips, 20, "the executions");
}

#[test]
fn mistakes_are_told_at_execution() {
    let server = TestServer::start();
    drop(server.create("stock.fdb", &TABLES));
    let (_, far) = attached(&server, deferred());
    let transaction = far.begin(&TransactionOptions::default()).unwrap();
    drop(far.prepare(&transaction, "insert into stock (id) values (3)").unwrap());
    for (text, code) in [
        ("insert into nowhere values (1)", isc::DSQL_RELATION_ERR),
        ("insert into stock (colour) values (1)", isc::DSQL_FIELD_ERR),
        ("insert into stock (id) values (3", isc::COMMAND_END_ERR2),
    ] {
        let statement = far.prepare(&transaction, text).unwrap();
        for _ in 0..2 {
            let error = far.execute(&transaction, &statement, &[]).unwrap_err();
            assert!(error.has(code), "{text}: {error}");
        }
    }
    far.commit(transaction).unwrap();
}

/// Statements that may be wrong, in any order: each gives the same rows, or the same error, if later.
#[test]
fn random_texts_give_the_same() {
    let server = TestServer::start();
    let near = server.create("near.fdb", &TABLES);
    drop(server.create("stock.fdb", &TABLES));
    let fill = |connection: &Connection| {
        run(connection, "delete from stock");
        run(connection, TABLES[1]);
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match (number("FARBIRD_SEED"), number("FARBIRD_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, seeds) => 0..seeds.unwrap_or(u64::MAX),
    };
    let began = Instant::now();
    let mut deferrals = 0;
    for seed in seeds {
        if number("FARBIRD_SEEDS").is_none() && began.elapsed() > Duration::from_secs(6) {
            break;
        }
        let mut random = crate::equality::Random(seed);
        let (world, far) = attached(&server, deferred());
        fill(&near);
        fill(&server.attach_with("stock.fdb", &server.options));
        let mut one_of =
            |texts: &[&str]| texts[usize::try_from(random.below(texts.len() as u64)).unwrap()].to_owned();
        let mut transactions: [Option<_>; 2] = [None, None];
        for step in 0..24 {
            let (number, name) = (
                one_of(&["1", "2", "7", "70000", "3000000000"]),
                one_of(&["'one'", "'two'", "''", "'it''s'"]),
            );
            let (column, table) =
                (one_of(&["id", "name", "price", "colour"]), one_of(&["stock", "stock", "stock", "nowhere"]));
            let text = match one_of(&["a", "b", "c", "d", "e", "f", "g", "h"]).as_str() {
                "a" => format!("select {column}, {number} from {table} where id = {number}"),
                "b" => format!("select {column} from {table} where {column} >= {name} and id<>{number}"),
                "c" => format!(
                    "select case when name = {name} then {number} else price end from {table} order by {column}"
                ),
                "d" => format!("insert into {table} values ({number}, {name}, {number})"),
                "e" => format!("update {table} set {column} = {name} where id = {number}"),
                "f" => format!("delete from {table} where {column} = {number}"),
                "g" => {
                    format!("execute block as begin insert into {table} values ({number}, {name}, 1); end")
                }
                _ => format!("update or insert into {table} (id, name) values ({number}, {name})"),
            };
            let ends = one_of(&["", "", "", "", "commit", "rollback"]);
            let [expected, seen] = [(&near, 0), (&far, 1)].map(|(connection, side)| {
                let transaction = transactions[side]
                    .get_or_insert_with(|| connection.begin(&TransactionOptions::default()).unwrap());
                let answer = connection.prepare(transaction, &text).and_then(|statement| {
                    if !text.starts_with("select") {
                        let row = connection.execute(transaction, &statement, &[])?;
                        return Ok(row.into_iter().map(|row| row.to_values()).collect());
                    }
                    let rows = connection.query(transaction, &statement, &[])?;
                    rows.map(|row| row.map(|row| row.to_values())).collect::<Result<Vec<_>, Error>>()
                });
                answer.map_err(|error| error.to_string())
            });
            assert_eq!(seen, expected, "FARBIRD_SEED={seed}, step {step}: {text}");
            for (connection, transaction) in [&near, &far].into_iter().zip(&mut transactions) {
                match (ends.as_str(), transaction.take()) {
                    ("commit", Some(ended)) => connection.commit(ended).unwrap(),
                    ("rollback", Some(ended)) => connection.rollback(ended).unwrap(),
                    (_, goes_on) => *transaction = goes_on,
                }
            }
        }
        deferrals += world.site().counters().statements_deferred;
    }
    println!("{deferrals} statements were described from their texts, in {:?}", began.elapsed());
    assert!(deferrals > 0);
}
