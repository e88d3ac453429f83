//! Exact round trips.

use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, Isolation, TransactionOptions, Tuning, Value};

use crate::server::TestServer;
use crate::world::{Link, World};

const ROUND_TRIP: Duration = Duration::from_millis(200);

fn link() -> Link {
    Link { one_way: ROUND_TRIP / 2, rate: None }
}

/// 56 customers with two orders each and a region.
const TABLES: [&str; 6] = [
    "create table customer (id integer primary key, name varchar(40), region char(8))",
    "create table orders (id integer primary key, customer integer, total numeric(9, 2))",
    "create table region (code varchar(8) primary key, name varchar(40))",
    "execute block as declare n integer = 100; begin while (n < 156) do begin \
       insert into customer values (:n, 'name ' || :n, 'R' || mod(:n, 7)); \
       insert into orders values (:n * 10, :n, :n * 1.5); insert into orders values (:n * 10 + 1, :n, :n * 2.5); \
       n = n + 1; end end",
    "execute block as declare n integer = 0; begin while (n < 7) do begin \
       insert into region values ('R' || :n, 'region ' || :n); n = n + 1; end end",
    "create index orders_customer on orders (customer)",
];

/// A program as drivers of each generation write it: statements prepared once, rows read one by one.
fn nested_loop(connection: &Connection, isolation: Isolation) -> Vec<Vec<Value>> {
    let options = TransactionOptions { isolation, ..TransactionOptions::default() };
    let transaction = connection.begin(&options).unwrap();
    let customers =
        connection.prepare(&transaction, "select id, name, region from customer order by id").unwrap();
    let orders = connection
        .prepare(&transaction, "select id, total from orders where customer = ? order by id")
        .unwrap();
    let region = connection.prepare(&transaction, "select name from region where code = ?").unwrap();
    let mut seen = Vec::new();
    let outer = connection.query(&transaction, &customers, &[]).unwrap();
    for row in outer {
        let row = row.unwrap();
        let customer = row.to_values();
        let inner = connection.query(&transaction, &orders, &[customer[0].clone()]).unwrap();
        for row in inner {
            seen.push(row.unwrap().to_values());
        }
        let Value::Text(code) = &customer[2] else { panic!("{customer:?}") };
        let code = String::from_utf8_lossy(code.bytes()).trim_end().to_owned();
        let mut inner = connection.query(&transaction, &region, &[Value::text(&code)]).unwrap();
        seen.push(inner.next().unwrap().unwrap().to_values());
        drop(inner);
        seen.push(customer);
    }
    connection.commit(transaction).unwrap();
    seen
}

fn options_of(server: &TestServer, generation: &str) -> ConnectOptions {
    ConnectOptions { tuning: Tuning::preset(generation).unwrap(), ..server.options.clone() }
}

/// Before a server that tells of nothing: prepares and transactions cost their trips, the 112 inner queries none.
#[test]
fn a_nested_loop_costs_a_few_trips() {
    let server = TestServer::start();
    let direct = server.create("nested.fdb", &TABLES);
    let expected = nested_loop(&direct, Isolation::Snapshot);
    for (generation, first, later) in [("2.0", 15, 8), ("2.5", 12, 8), ("5.0.1", 12, 8)] {
        let world = World::new(server.address, link());
        for run in 1..4 {
            let (seen, trips) = world.trips(|| {
                let connection = world.attach("nested.fdb", &options_of(&server, generation)).unwrap();
                nested_loop(&connection, Isolation::Snapshot)
            });
            assert_eq!(seen, expected);
            let most = if run == 1 { first } else { later };
            assert!(trips <= f64::from(most) + 0.01, "{generation}: run {run}: {trips} trips");
        }
    }
}

/// A program that asks after each execution how many rows it has changed, as some drivers do after queries too.
fn counted_loop(connection: &Connection, is_behind_rows: bool) -> Vec<(u32, Vec<Value>)> {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let customers = connection.prepare(&transaction, "select id from customer order by id").unwrap();
    let orders = connection
        .prepare(&transaction, "select id, total from orders where customer = ? order by id")
        .unwrap();
    let mut seen = Vec::new();
    for row in connection.query(&transaction, &customers, &[]).unwrap() {
        let customer = row.unwrap().to_values();
        let mut inner = connection.query(&transaction, &orders, &[customer[0].clone()]).unwrap();
        if is_behind_rows {
            seen.push((0, inner.next().unwrap().unwrap().to_values()));
        }
        seen.push((connection.counts(&orders).unwrap().selected, customer));
        for row in inner.by_ref() {
            seen.push((0, row.unwrap().to_values()));
        }
        drop(inner);
    }
    connection.commit(transaction).unwrap();
    seen
}

/// The origin sends the answer to what is asked about an execution with the execution's result.
#[test]
fn questions_after_each_execution_cost_no_trips() {
    let server = TestServer::start();
    server.create("counted.fdb", &TABLES);
    for is_behind_rows in [false, true] {
        let direct = server.attach_with("counted.fdb", &options_of(&server, "2.5"));
        let expected = counted_loop(&direct, is_behind_rows);
        let world = World::new(server.address, link());
        for run in 1..4 {
            let (seen, trips) = world.trips(|| {
                let connection = world.attach("counted.fdb", &options_of(&server, "2.5")).unwrap();
                counted_loop(&connection, is_behind_rows)
            });
            assert!(seen == expected, "run {run}");
            let most = if run == 1 { 16.0 } else { 8.0 };
            assert!(trips <= most + 0.01, "behind rows: {is_behind_rows}, run {run}: {trips} trips");
        }
    }
}

/// A query for each customer.
fn loop_over_customers(connection: &Connection, inner: &str) -> Vec<Vec<Value>> {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let outer = connection.prepare(&transaction, "select id from customer order by id").unwrap();
    let inner = connection.prepare(&transaction, inner).unwrap();
    let mut seen = Vec::new();
    for row in connection.query(&transaction, &outer, &[]).unwrap() {
        let id = row.unwrap().to_values();
        let rows = connection.query(&transaction, &inner, &id).unwrap();
        seen.extend(rows.map(|row| row.unwrap().to_values()));
    }
    connection.commit(transaction).unwrap();
    seen
}

/// Before a Firebird server: what the catalogue shows to only read is run ahead as if the text were believed, and the look-ups cost no trip.
/// What calls more behind a name is run as often as the program asks.
#[test]
fn what_the_catalogue_shows_to_read_only_is_run_ahead() {
    let server = TestServer::start();
    let direct = server.create("shown.fdb", &TABLES);
    for text in [
        "create table journal (id integer)",
        "create function noting (n integer) returns integer as begin insert into journal values (:n); return n; end",
        "create view plain (customer, total) as select customer, total * 2 from orders",
        "create view noted (customer, total) as select id, noting(id) from customer",
        "create table lazy (id integer, done computed by (noting(id)))",
        "insert into lazy (id) select id from customer",
        "create procedure listed returns (customer integer) as begin insert into journal values (1); customer = 100; suspend; end",
    ] {
        crate::server::run(&direct, text);
    }
    let count = || {
        let transaction = direct.begin(&TransactionOptions::default()).unwrap();
        let rows = direct.query_all(&transaction, "select count(*) from journal").unwrap();
        direct.commit(transaction).unwrap();
        let Value::Integer { unscaled, .. } = rows[0][0] else { panic!("{rows:?}") };
        unscaled
    };
    for (inner, is_plain) in [
        ("select total from orders where customer = ? order by id", true),
        ("select total from plain where customer = ?", true),
        ("select total from noted where customer = ?", false),
        ("select done from lazy where id = ?", false),
        ("select customer from listed where customer = ?", false),
    ] {
        let before = count();
        let expected = loop_over_customers(&direct, inner);
        let each = count() - before;
        assert_eq!(each == 0, is_plain, "{inner}");
        let world = World::looking_up(server.address, link());
        for run in 1..4 {
            let before = count();
            let (seen, trips) = world.trips(|| {
                let connection = world.attach("shown.fdb", &options_of(&server, "2.5")).unwrap();
                loop_over_customers(&connection, inner)
            });
            assert_eq!(seen, expected, "{inner}");
            assert_eq!(count() - before, each, "{inner}: run as often as it is asked for");
            match (is_plain, run) {
                (true, 1) => assert!(trips <= 10.01, "{inner}: {trips} trips"),
                (true, _) => assert!(trips <= 7.01, "{inner}: run {run}: {trips} trips"),
                (false, _) => assert!(trips > 56.0, "{inner}: {trips} trips"),
            }
        }
        assert_eq!(world.site().rules().total().used > 0, is_plain, "{inner}");
    }
}

/// Nobody tells of commits: in READ COMMITTED each query is asked.
#[test]
fn without_notices_read_committed_costs_each_trip() {
    let server = TestServer::start();
    let direct = server.create("committed.fdb", &TABLES);
    let expected = nested_loop(&direct, Isolation::ReadCommitted);
    let world = World::new(server.address, link());
    for _ in 0..2 {
        let (seen, trips) = world.trips(|| {
            let connection = world.attach("committed.fdb", &options_of(&server, "2.5")).unwrap();
            nested_loop(&connection, Isolation::ReadCommitted)
        });
        assert_eq!(seen, expected);
        assert!(trips > 112.0, "{trips}");
    }
}

/// Servers hold the answers to what concerns batches back until they are asked something else, which the edge may answer by itself.
#[test]
fn batches_end_before_statements_that_the_edge_knows() {
    let server = TestServer::start();
    server.create("batches.fdb", &["create table t (id integer)"]);
    let world = World::new(server.address, link());
    let connection = world.attach("batches.fdb", &options_of(&server, "5.0.3")).unwrap();
    for count in 1..4 {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let insert = connection.prepare(&transaction, "insert into t values (?)").unwrap();
        let mut batch = connection.batch(&transaction, &insert).unwrap();
        batch.add(&[Value::integer(count)]).unwrap();
        assert_eq!(batch.finish().unwrap().into_result().unwrap(), 1);
        // Dropped by what the edge answers itself, right behind the end of the batch.
        drop(insert);
        let rows = connection.query_all(&transaction, "select id from t").unwrap();
        assert_eq!(rows, [[Value::integer(count)]]);
        connection.rollback(transaction).unwrap();
    }
}

/// A client that goes on without waiting names what is not made yet by the handle that a server would give it.
#[test]
fn handles_are_those_of_a_server_that_takes_one_request_after_the_other() {
    let server = TestServer::start();
    server.create("handles.fdb", &["create table t (id integer)"]);
    let world = World::new(server.address, link());
    let connection = world.attach("handles.fdb", &options_of(&server, "5.0.3")).unwrap();
    for _ in 0..3 {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        connection.run(&transaction, "insert into t values (1)").unwrap();
        // Rolled back, without waiting for it.
        drop(transaction);
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let rows = connection.query_all(&transaction, "select count(*) from t").unwrap();
        assert_eq!(rows, [[Value::integer(0)]]);
        drop(transaction);
        let transaction = connection.begin_by("set transaction read only").unwrap();
        assert!(connection.transaction_information(&transaction).unwrap().read_only);
        connection.commit(transaction).unwrap();
    }
}
