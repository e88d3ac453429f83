//! What each preset puts on the wire is what the client libraries of its time did.

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, Counters, Statement, Transaction, Tuning, Value};

use crate::servers::{TestServer, all, begin, run};

fn tuned(place: &TestServer, preset: &str) -> ConnectOptions {
    ConnectOptions { tuning: Tuning::preset(preset).unwrap(), ..place.options.clone() }
}

/// Packets out, packets in, round trips.
fn wire(before: &Counters, after: &Counters) -> [u64; 3] {
    [
        after.out_packets - before.out_packets,
        after.in_packets - before.in_packets,
        after.round_trips - before.round_trips,
    ]
}

/// Twelve BLOBs: nine short ones, and three in pieces of 16,384 bytes: 2, 2 and 5.
fn blobs(connection: &Connection) {
    run(connection, &["create table t (id integer not null primary key, b blob)"]);
    let transaction = begin(connection);
    let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
    for id in 0..12 {
        let size =
            [2_500, 2_500, 2_500, 2_500, 17_000, 2_500, 2_500, 30_000, 2_500, 2_500, 80_000, 2_500][id];
        let blob = connection.write_blob(&transaction, &vec![b'x'; size]).unwrap();
        let id = Value::integer(i64::try_from(id).unwrap());
        connection.execute(&transaction, &insert, &[id, Value::Blob(blob)]).unwrap();
    }
    drop(insert);
    connection.commit(transaction).unwrap();
}

fn read(connection: &Connection, transaction: &Transaction, statement: &Statement) -> [u64; 3] {
    let before = connection.counters();
    for row in connection.query(transaction, statement, &[]).unwrap() {
        let Value::Blob(id) = row.unwrap().value(1).unwrap() else { panic!() };
        connection.read_blob(transaction, id).unwrap();
    }
    wire(&before, &connection.counters())
}

/// The counts are those of real clients for the same: a query of 12 rows is 2 packets out, 14 in, and one trip; a short
/// BLOB of 5.0.2 is 3 packets each way and one trip, and its close, which travels with the next.
#[test]
fn blobs_are_read_as_each_generation_read_them() {
    for place in all() {
        for preset in ["2.0", "2.5", "5.0.1", "5.0.2", "5.0.3"] {
            let connection = place.create_with(&tuned(&place, preset));
            blobs(&connection);
            let transaction = begin(&connection);
            let text = |condition| format!("select id, b from t where {condition} order by id");
            let short = text("octet_length(b) = 2500");
            let short = connection.prepare(&transaction, &short).unwrap();
            let all = connection.prepare(&transaction, &text("1 = 1")).unwrap();
            let costs = [&short, &all].map(|statement| {
                let cost = read(&connection, &transaction, statement);
                connection.ping().unwrap();
                cost
            });
            let has_inline = connection.version().has_inline_blobs();
            let wanted = match preset {
                // Open, read, close. The last close and that of the cursor wait for what comes next.
                "2.0" => [[2 + 27 + 1, 11 + 26, 2 + 26], [2 + 36 + 6 + 1, 14 + 35 + 6, 2 + 35 + 6]],
                "2.5" | "5.0.1" => [[2 + 27 + 1, 11 + 26, 1 + 18], [2 + 36 + 6 + 1, 14 + 35 + 6, 1 + 24 + 6]],
                "5.0.3" if has_inline => [[2 + 1, 11 + 9, 1], [2 + 4 + 4 + 1, 14 + 11 + 3 + 4, 1 + 1 + 4]],
                _ => [[2 + 36 + 1, 11 + 35, 1 + 9], [2 + 48 + 6 + 1, 14 + 47 + 6, 1 + 12 + 6]],
            };
            assert_eq!(costs, wanted, "{preset}");
            drop((short, all));
            connection.commit(transaction).unwrap();
            connection.drop_database().unwrap();
        }
    }
}

const OUTER: &str = "select first 42 rdb$relation_name from rdb$relations where rdb$system_flag = 1 order by rdb$relation_name";
const FIELDS: &str = "select rdb$field_name from rdb$relation_fields where rdb$relation_name = ?";
const TRIGGERS: &str = "select rdb$trigger_name from rdb$triggers where rdb$relation_name = ?";

/// An outer query with two inner ones for each of its rows, from connecting to the last row; gives the round trips.
fn nested(connection: &Connection) -> u64 {
    let transaction = connection.begin(&Default::default()).unwrap();
    let prepare = |text| connection.prepare(&transaction, text).unwrap();
    let (outer, fields, triggers) = (prepare(OUTER), prepare(FIELDS), prepare(TRIGGERS));
    let mut rows = 0;
    for row in connection.query(&transaction, &outer, &[]).unwrap() {
        let name = [row.unwrap().value(0).unwrap()];
        rows += 1;
        let open = |statement| connection.query(&transaction, statement, &name).unwrap();
        let cursors = [open(&fields), open(&triggers)];
        for cursor in cursors {
            assert!(cursor.into_iter().all(|row| row.is_ok()));
        }
    }
    assert_eq!(rows, 42);
    connection.counters().round_trips
}

/// Creates the database; gives what attaching it costs: 4 round trips, on servers of other habits 5.
fn attaching(place: &TestServer, location: &str) -> u64 {
    Connection::create(location, &Default::default(), &place.options).unwrap().close().unwrap();
    let connection = Connection::attach(location, &place.options).unwrap();
    let trips = connection.counters().round_trips;
    connection.close().unwrap();
    trips
}

/// The same with the statements prepared behind the attach, for 56 tables: 4 round trips to connect and prepare, one for the
/// outer query, one for each of its rows.
#[test]
fn nested_loops_take_one_round_trip_for_each_row() {
    for place in all() {
        let location = place.location();
        let attaching = attaching(&place, &location);
        let connector = Connection::connect(&location, &place.options).unwrap();
        let transaction = connector.begin(&Default::default()).unwrap();
        let outer = OUTER.replace("42", "56");
        let statements = connector.prepare_all(&transaction, &[&outer, FIELDS, TRIGGERS]).unwrap();
        let connection = connector.attached().unwrap();
        let mut rows = 0;
        for row in connection.query(&transaction, &statements[0], &[]).unwrap() {
            let name = [row.unwrap().value(0).unwrap()];
            rows += 1;
            let open = |statement| connection.query(&transaction, statement, &name).unwrap();
            let [fields, triggers] = [open(&statements[1]), open(&statements[2])];
            assert!(fields.into_iter().chain(triggers).all(|row| row.is_ok()));
        }
        assert!(rows > 45, "{rows}");
        assert_eq!(connection.counters().round_trips, attaching + 1 + rows);
        drop((statements, transaction));
        connection.drop_database().unwrap();
    }
}

/// The article has 55.5 s for the client of 2.0, 18.5 s for that of 2.5 and 10.1 s for it without the trips of the second
/// inner query, at 200 ms: 277, 92 and 50 round trips, of which 6, 2 and 1 were for each of 42 rows.
#[test]
fn nested_loops_take_the_round_trips_that_were_published() {
    for place in all() {
        let location = place.location();
        let attaching = attaching(&place, &location);
        let cost = |preset| {
            let connection = Connection::attach(&location, &tuned(&place, preset)).unwrap();
            let trips = nested(&connection) - attaching;
            connection.close().unwrap();
            trips
        };
        let costs = ["2.0", "2.5", "5.0.1", "5.0.3", "farbird"].map(cost);
        // Besides attaching.
        assert_eq!(costs, [260, 89, 89, 89, 46]);
        Connection::attach(&location, &place.options).unwrap().drop_database().unwrap();
    }
}
