//! What calls cost over a distance: the round trips that their documentation promises, exactly, on a virtual clock.
//!
//! To promise for a new call, add a line to a table: `price.of("call", connection.call())`, and its number to the
//! expected ones.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use farbird_client::virtual_clock::{Cost, VirtualClock, VirtualLink};
use farbird_client::{
    Array, BlobId, BlobOptions, ConnectOptions, Connection, Cursor, Error, Location, MessageType, Result,
    Services, Transaction, TransactionOptions, Tuning, Value, WireCrypt,
};
use farbird_types::isc;

use crate::servers::{TestServer, all, run};

const ROUND_TRIP: Duration = Duration::from_secs(1);
const ONE: &str = "select 1 from rdb$database";

/// Rows that are made up as they are fetched.
const SERIES: &str = "execute block (n integer = ?) returns (i integer) as begin i = 0; \
                      while (i < n) do begin i = i + 1; suspend; end end";

/// A table of calls and the round trips that they took.
struct Price {
    clock: VirtualClock,
    calls: Vec<(&'static str, u64)>,
}

impl Price {
    /// Runs a call.
    fn of<T>(&mut self, name: &'static str, call: impl Future<Output = Result<T>>) -> T {
        let (result, Cost { time, round_trips, .. }) = self.clock.cost(call);
        assert_eq!(time, ROUND_TRIP * u32::try_from(round_trips).unwrap(), "{name}: whole round trips");
        self.calls.push((name, round_trips));
        result.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn is(&self, expected: &[(&'static str, u64)], place: &TestServer) {
        assert_eq!(self.calls, expected, "{}", place.options.user);
    }
}

/// A new database with these tables, and a far connection to it.
fn far(place: &TestServer, options: &ConnectOptions, tables: &[&str]) -> (Price, Connection) {
    let location = place.location();
    let near = place.create_at(&location);
    run(&near, tables);
    near.close().unwrap();
    let link = VirtualLink::of_round_trip(ROUND_TRIP);
    let (clock, connection) = VirtualClock::attach(&location, options, link).unwrap();
    (Price { clock, calls: Vec::new() }, connection)
}

async fn all_rows(mut cursor: Cursor) -> Result<usize> {
    let mut count = 0;
    while cursor.next().await?.is_some() {
        count += 1;
    }
    Ok(count)
}

async fn start(connection: &Connection) -> Transaction {
    connection.begin(&TransactionOptions::default()).await.unwrap()
}

#[test]
fn attaching_takes_four_trips_two_unencrypted() {
    for place in all() {
        let (mut price, connection) = far(&place, &place.options, &[]);
        // Firebird 3 knows Srp, but not the Srp256 that is offered first.
        let another_plugin = u32::from(!connection.version().has_statement_timeout());
        assert_eq!(price.clock.now(), ROUND_TRIP * (4 + another_plugin));
        assert_eq!(connection.counters().round_trips, u64::from(4 + another_plugin), "the counters agree");
        price.clock.run(connection.drop_database()).unwrap();
        let location = place.location();
        place.create_at(&location).close().unwrap();
        let plain = ConnectOptions { wire_crypt: WireCrypt::Disabled, ..place.options.clone() };
        match VirtualClock::attach(&location, &plain, VirtualLink::of_round_trip(ROUND_TRIP)) {
            Ok((mut clock, connection)) => {
                assert_eq!(clock.now(), ROUND_TRIP * (2 + another_plugin));
                clock.run(connection.close()).unwrap();
            }
            // A server may insist on encryption.
            Err(error) => assert!(error.has(isc::WIRECRYPT_INCOMPATIBLE), "{error}"),
        }
        place.drop_at(&location);
    }
}

#[test]
fn calls_take_what_they_promise() {
    for place in all() {
        let (mut price, connection) = far(&place, &place.options, &["create table t (id integer, b blob)"]);
        price.of("ping", connection.ping());
        price.of("server_version", connection.server_version());
        let transaction = price.of("begin", connection.begin(&TransactionOptions::default()));
        let one = price.of("prepare, with the begin before it", connection.prepare(&transaction, ONE));
        let texts = [ONE, "insert into t (id) values (?)", "select id from t", ONE];
        let mut statements = price.of("prepare_all", connection.prepare_all(&transaction, &texts));
        let select = statements.remove(2);
        let insert = statements.remove(1);
        price.of("counts", connection.counts(&one));
        price.of("plan", connection.plan(&one));
        price.of("execute", connection.execute(&transaction, &insert, &[Value::integer(1)]));
        price.of("execute a query", connection.execute(&transaction, &one, &[]));
        let cursor = price.of("query", connection.query(&transaction, &select, &[]));
        assert_eq!(price.of("its rows", all_rows(cursor)), 1);
        price.of("query_all", connection.query_all(&transaction, "select id from t"));
        price.of("run", connection.run(&transaction, "insert into t (id) values (2)"));
        price.of("commit_retaining", connection.commit_retaining(&transaction));
        price.of("rollback_retaining", connection.rollback_retaining(&transaction));
        price.of("commit", connection.commit(transaction));
        price.of("execute_and_commit", connection.execute_and_commit(&insert, &[Value::integer(3)]));
        price.of("execute_and_commit a query", connection.execute_and_commit(&one, &[]));
        let transaction = price.of("begin once more", connection.begin(&TransactionOptions::default()));
        price.of("rollback", connection.rollback(transaction));
        let options = TransactionOptions::default();
        let work = |transaction: Arc<Transaction>| {
            let connection = &connection;
            async move { connection.run(&transaction, "insert into t (id) values (4)").await }
        };
        price.of("in_transaction", connection.in_transaction(&options, NonZeroU32::MIN, work));
        let mut tries = 0;
        let work = |_| {
            tries += 1;
            let fails = tries < 3;
            async move { if fails { Err(Error::new(isc::DEADLOCK)) } else { Ok(()) } }
        };
        let attempts = NonZeroU32::MIN.saturating_add(2);
        price.of("in_transaction, twice again", connection.in_transaction(&options, attempts, work));
        let blob = price.clock.run(async {
            let transaction = start(&connection).await;
            let blob = connection.write_text(&transaction, "text").await?;
            connection.read_text(&transaction, blob).await
        });
        assert_eq!(blob.unwrap(), "text");
        // What is dropped is told with the next flight.
        drop((one, select, insert, statements));
        price.of("ping with releases", connection.ping());
        price.of("drop_database", connection.drop_database());
        price.is(
            &[
                ("ping", 1),
                ("server_version", 1),
                ("begin", 0),
                ("prepare, with the begin before it", 1),
                ("prepare_all", 1),
                ("counts", 1),
                ("plan", 1),
                ("execute", 1),
                ("execute a query", 1),
                ("query", 0),
                ("its rows", 1),
                ("query_all", 2),
                ("run", 1),
                ("commit_retaining", 1),
                ("rollback_retaining", 1),
                ("commit", 1),
                ("execute_and_commit", 1),
                ("execute_and_commit a query", 1),
                ("begin once more", 0),
                ("rollback", 1),
                ("in_transaction", 2),
                ("in_transaction, twice again", 1),
                ("ping with releases", 1),
                ("drop_database", 1),
            ],
            &place,
        );
    }
}

#[test]
fn what_nothing_waits_for_leaves_together() {
    for place in all() {
        let (mut price, connection) = far(&place, &place.options, &["create table t (id integer)"]);
        let texts = ["select rdb$relation_id from rdb$relations", ONE, "insert into t values (?)"];
        let (transaction, statements) = price.of("begin and prepare_all", async {
            let transaction = start(&connection).await;
            let statements = connection.prepare_all(&transaction, &texts).await?;
            Ok((transaction, statements))
        });
        price.of("two cursors, both read", async {
            let left = connection.query(&transaction, &statements[0], &[]).await?;
            let mut right = connection.query(&transaction, &statements[1], &[]).await?;
            right.next().await?;
            drop(left);
            Ok(())
        });
        price.of("begin, execute and commit", async {
            let transaction = start(&connection).await;
            connection.execute(&transaction, &statements[2], &[Value::integer(1)]).await?;
            connection.commit(transaction).await
        });
        let mut pipeline = connection.pipeline(&transaction, &statements[2]);
        price.of("200 executions", async {
            for id in 0..200 {
                pipeline.execute(&[Value::integer(id)]).await?;
            }
            pipeline.finish().await?.into_result()
        });
        price.is(
            &[
                ("begin and prepare_all", 1),
                ("two cursors, both read", 1),
                ("begin, execute and commit", 2),
                ("200 executions", 1),
            ],
            &place,
        );
        // Batches are of protocol 16.
        if connection.version().has_statement_timeout() {
            let (outcome, cost) = price.clock.cost(async {
                let mut batch = connection.batch(&transaction, &statements[2]).await?;
                for id in 0..100_000 {
                    batch.add(&[Value::integer(id)]).await?;
                }
                batch.finish().await?.into_result()
            });
            assert_eq!((outcome.unwrap(), cost.round_trips), (100_000, 1));
        }
        drop((transaction, statements));
        price.clock.run(connection.drop_database()).unwrap();
    }
}

#[test]
fn rows_are_there_when_they_are_asked_for() {
    for place in all() {
        let (mut price, connection) = far(&place, &place.options, &[]);
        let transaction = price.clock.run(start(&connection));
        let series = price.of("prepare", connection.prepare(&transaction, SERIES));
        for (name, count) in [("100 rows", 100), ("10,000 rows", 10_000)] {
            let rows = price.of(name, async {
                all_rows(connection.query(&transaction, &series, &[Value::integer(count)]).await?).await
            });
            assert_eq!(rows, usize::try_from(count).unwrap());
        }
        price.is(&[("prepare", 1), ("100 rows", 1), ("10,000 rows", 1)], &place);
        // A program that does something else in the meantime finds the next rows there.
        let mut cursor =
            price.clock.run(connection.query(&transaction, &series, &[Value::integer(5000)])).unwrap();
        let mut waits = 0;
        for row in 1..=5000 {
            let (next, cost) = price.clock.cost(cursor.next());
            assert!(next.unwrap().is_some());
            waits += u32::from(!cost.time.is_zero());
            if row % 100 == 0 {
                price.clock.pass(ROUND_TRIP);
            }
        }
        assert_eq!(waits, 1, "for the first row only");
        drop((cursor, series, transaction));
        price.clock.run(connection.drop_database()).unwrap();
    }
}

#[test]
fn blobs_take_what_they_promise() {
    let long: Vec<u8> = (0..1_000_000_u32).map(|number| (number / 7) as u8).collect();
    for place in all() {
        let (mut price, connection) = far(&place, &place.options, &["create table t (id integer, b blob)"]);
        let transaction = price.clock.run(start(&connection));
        let insert = price.of("prepare", connection.prepare(&transaction, "insert into t values (?, ?)"));
        let mut writer =
            price.of("create_blob", connection.create_blob(&transaction, BlobOptions::default()));
        price.of("put 100 KB", writer.put(&long[..100_000]));
        let blob = price.of("finish", writer.finish());
        let put = |id, blob| [Value::integer(id), Value::Blob(blob)];
        price.of("execute", connection.execute(&transaction, &insert, &put(1, blob)));
        let blob = price.of("write_blob, 1 MB", connection.write_blob(&transaction, &long));
        price.of("execute", connection.execute(&transaction, &insert, &put(2, blob)));
        let blob = price.of("write_blob, 5 bytes", connection.write_blob(&transaction, b"short"));
        price.of("execute", connection.execute(&transaction, &insert, &put(3, blob)));
        let rows = price.of("query_all", connection.query_all(&transaction, "select b from t order by id"));
        let id = |row: usize| match rows[row][0] {
            Value::Blob(id) => id,
            ref other => panic!("{other:?}"),
        };
        let short = price.of("read_blob, 5 bytes", connection.read_blob(&transaction, id(2)));
        assert_eq!(short, b"short");
        let contents = price.of("read_blob, 100 KB", connection.read_blob(&transaction, id(0)));
        assert!(contents == long[..100_000]);
        let contents = price.of("read_blob, 1 MB", connection.read_blob(&transaction, id(1)));
        assert!(contents == long);
        let short = if connection.version().has_inline_blobs() { 0 } else { 1 };
        price.is(
            &[
                ("prepare", 1),
                ("create_blob", 0),
                ("put 100 KB", 0),
                ("finish", 1),
                ("execute", 1),
                ("write_blob, 1 MB", 1),
                ("execute", 1),
                ("write_blob, 5 bytes", 1),
                ("execute", 1),
                ("query_all", 2),
                ("read_blob, 5 bytes", short),
                ("read_blob, 100 KB", 1),
                ("read_blob, 1 MB", 4),
            ],
            &place,
        );
        drop((insert, transaction));
        price.clock.run(connection.drop_database()).unwrap();
    }
}

#[test]
fn arrays_take_what_they_promise() {
    for place in all() {
        let table = "create table t (id integer, a varchar(10)[1:3])";
        let (mut price, connection) = far(&place, &place.options, &[table]);
        let transaction = price.of("begin", connection.begin(&TransactionOptions::default()));
        let column = price.of("array_column", connection.array_column(&transaction, "T", "A"));
        let array = Array::from(vec!["one", "two", "three"]);
        let id = price.of("write_array", connection.write_array(&transaction, &column, &array));
        let insert = price.of("prepare", connection.prepare(&transaction, "insert into t values (1, ?)"));
        price.of("execute", connection.execute(&transaction, &insert, (id,)));
        let hundred = vec![array.clone(); 100];
        let ids = price.of("write_arrays, 100", connection.write_arrays(&transaction, &column, &hundred));
        let mut pipeline = connection.pipeline(&transaction, &insert);
        price.of("100 executions", async {
            for id in &ids {
                pipeline.execute((*id,)).await?;
            }
            pipeline.finish().await?.into_result()
        });
        let text = "select first 100 a from t order by rdb$db_key desc";
        let rows = price.of("query_all", connection.query_all(&transaction, text));
        let ids: Vec<BlobId> = rows
            .iter()
            .map(|row| match row[0] {
                Value::Blob(id) => id,
                ref other => panic!("{other:?}"),
            })
            .collect();
        let arrays = price.of("read_arrays, 100", connection.read_arrays(&transaction, &column, &ids));
        assert!(arrays == hundred);
        price.of("read_array", connection.read_array(&transaction, &column, ids[7]));
        let slice = connection.read_array_slice(&transaction, &column, ids[7], &[2..=3]);
        assert_eq!(price.of("read_array_slice", slice).elements().len(), 2);
        let change = connection.write_array_slice(&transaction, &column, ids[7], &array);
        price.of("write_array_slice", change);
        price.is(
            &[
                ("begin", 0),
                ("array_column", 1),
                ("write_array", 1),
                ("prepare", 1),
                ("execute", 1),
                ("write_arrays, 100", 1),
                ("100 executions", 1),
                ("query_all", 2),
                ("read_arrays, 100", 1),
                ("read_array", 1),
                ("read_array_slice", 1),
                ("write_array_slice", 1),
            ],
            &place,
        );
        drop((insert, transaction));
        price.clock.run(connection.drop_database()).unwrap();
    }
}

#[test]
fn bandwidth_adds_its_time_and_nothing_else_changes() {
    for place in all() {
        let location = place.location();
        place.create_at(&location).close().unwrap();
        let times = [None, Some(8_000_000)].map(|bits_per_second| {
            let link = VirtualLink { round_trip: ROUND_TRIP, bits_per_second };
            let (mut clock, connection) = VirtualClock::attach(&location, &place.options, link).unwrap();
            let transaction = clock.run(start(&connection));
            let (blob, cost) = clock.cost(connection.write_blob(&transaction, &vec![7; 1_000_000]));
            blob.unwrap();
            drop(transaction);
            clock.run(connection.close()).unwrap();
            cost.time
        });
        assert_eq!(times[0], ROUND_TRIP);
        // A million bytes and some headers at a million bytes a second.
        let line = times[1] - ROUND_TRIP;
        assert!(line > ROUND_TRIP && line < ROUND_TRIP * 11 / 10, "{line:?}");
        place.drop_at(&location);
    }
}

/// A connection on which nothing was said yet, to the server of this database; and the database's name there.
fn unattached(place: &TestServer, location: &str) -> (Price, String) {
    let Location { host, port, database } = Location::parse(location).unwrap();
    let link = VirtualLink::of_round_trip(ROUND_TRIP);
    let clock = VirtualClock::connect(&host, port, &place.options, link).unwrap();
    (Price { clock, calls: Vec::new() }, database)
}

#[test]
fn work_behind_the_attach_is_in_its_flight() {
    for place in all() {
        let location = place.location();
        place.create_at(&location).close().unwrap();
        let (mut price, database) = unattached(&place, &location);
        let shared = price.clock.shared().clone();
        let connector =
            price.of("connect_over", Connection::connect_over(&shared, &database, &place.options));
        let (transaction, cursor) = price.of("begin and query_typed", async {
            let transaction = connector.begin(&TransactionOptions::default()).await?;
            let integer = [MessageType::Long { scale: 0 }];
            let cursor = connector.query_typed(&transaction, ONE, (), &integer).await?;
            Ok((transaction, cursor))
        });
        assert_eq!(price.of("its rows", all_rows(cursor)), 1);
        let connection = price.of("attached", connector.attached());
        let another_plugin = u64::from(!connection.version().has_statement_timeout());
        price.is(
            &[
                ("connect_over", 3 + another_plugin),
                ("begin and query_typed", 0),
                ("its rows", 1),
                ("attached", 0),
            ],
            &place,
        );
        drop(transaction);
        price.clock.run(connection.drop_database()).unwrap();

        let (mut price, _) = unattached(&place, &location);
        let shared = price.clock.shared().clone();
        let services = price.of("services", Services::attach_over(&shared, &place.options));
        price.of("close", services.close());
        price.is(&[("services", 4 + another_plugin), ("close", 1)], &place);
    }
}

#[test]
fn switches_cost_what_they_say() {
    for place in all() {
        let one_at_a_time = Tuning::default().predict_handles(false).statement_cache(4);
        let options = ConnectOptions { tuning: one_at_a_time, ..place.options.clone() };
        let (mut price, connection) = far(&place, &options, &["create table t (id integer, b blob)"]);
        let transaction = price.of("begin", connection.begin(&TransactionOptions::default()));
        let insert = price.of("prepare", connection.prepare(&transaction, "insert into t (id) values (?)"));
        let writer = price.of("create_blob", connection.create_blob(&transaction, BlobOptions::default()));
        price.of("finish", writer.finish());
        price.of("execute_and_commit", connection.execute_and_commit(&insert, &[Value::integer(1)]));
        drop(price.of("prepare_cached", connection.prepare_cached(&transaction, ONE)));
        drop(price.of("prepare_cached again", connection.prepare_cached(&transaction, ONE)));
        price.is(
            &[
                ("begin", 1),
                ("prepare", 1),
                ("create_blob", 0),
                ("finish", 2),
                ("execute_and_commit", 2),
                ("prepare_cached", 1),
                ("prepare_cached again", 0),
            ],
            &place,
        );
        drop((transaction, insert));
        price.clock.run(connection.drop_database()).unwrap();
    }
}

#[test]
fn much_at_a_time_takes_few_trips() {
    let wide: Vec<String> =
        (0..900).map(|column| format!("1 as a_column_with_a_long_name_{column}")).collect();
    let wide = format!("select {} from rdb$database", wide.join(", "));
    for place in all() {
        let (mut price, connection) = far(&place, &place.options, &["create table t (id integer, b blob)"]);
        let transaction = price.clock.run(start(&connection));
        let insert = price.of("prepare", connection.prepare(&transaction, "insert into t (id) values (?)"));
        let mut pipeline = connection.pipeline(&transaction, &insert);
        price.of("5,000 executions", async {
            for id in 0..5000 {
                pipeline.execute(&[Value::integer(id)]).await?;
            }
            pipeline.finish().await?.into_result()
        });
        price.of("write_blob, 10 MB", connection.write_blob(&transaction, &vec![7; 10_000_000]));
        price.of("prepare 900 columns", connection.prepare(&transaction, &wide));
        let one = price.clock.run(connection.prepare(&transaction, ONE)).unwrap();
        let mut cursor = price.of("query", connection.query(&transaction, &one, &[]));
        price.of("opened", cursor.opened());
        price.is(
            &[
                ("prepare", 1),
                ("5,000 executions", 10),
                ("write_blob, 10 MB", 5),
                ("prepare 900 columns", 4),
                ("query", 0),
                ("opened", 1),
            ],
            &place,
        );
        drop((cursor, one, insert, transaction));
        price.clock.run(connection.drop_database()).unwrap();
    }
}
