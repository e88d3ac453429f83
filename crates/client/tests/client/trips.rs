//! What takes round trips away: handles known before their replies, the attach with work behind it, statements kept
//! prepared, and the same under the tuning of every generation.

use farbird_client::blocking::Connection;
use farbird_client::{
    BlobId, ConnectOptions, CreateOptions, MessageType, PRESETS, Transaction, Tuning, Value,
};
use farbird_types::isc;

use crate::servers::{TestServer, all, begin, run, value};

fn trips<T>(connection: &Connection, work: impl FnOnce() -> T) -> (u64, T) {
    let before = connection.counters().round_trips;
    let result = work();
    (connection.counters().round_trips - before, result)
}

fn tuned(place: &TestServer, tuning: Tuning) -> ConnectOptions {
    ConnectOptions { tuning, ..place.options.clone() }
}

const ONE: &str = "select 1 from rdb$database";

#[test]
fn a_transaction_with_its_first_statements_is_one_flight() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer)"]);
        let (cost, (transaction, statements)) = trips(&connection, || {
            let transaction = connection.begin(&Default::default()).unwrap();
            let texts = [ONE, "insert into t values (?)", "select id from t"];
            let statements = connection.prepare_all(&transaction, &texts).unwrap();
            (transaction, statements)
        });
        assert_eq!(cost, 1);
        // A text that is not understood leaves the others and the connection as they were.
        let error = connection.prepare_all(&transaction, &[ONE, "select", ONE]).unwrap_err();
        assert_eq!(error.sql_code(), -104, "{error}");
        // The first time as well: start, execute and commit leave together.
        let insert = || connection.execute_and_commit(&statements[1], &[Value::integer(1)]).unwrap();
        assert_eq!(trips(&connection, insert).0, 1);
        // Two queries, one after the other: the first row of either brings the first rows of both.
        let (cost, rows) = trips(&connection, || {
            let mut left = connection.query(&transaction, &statements[0], &[]).unwrap();
            let mut right = connection.query(&transaction, &statements[0].clone(), &[]);
            let mut other = connection.query(&transaction, &statements[2], &[]).unwrap();
            // One statement has one cursor.
            let refusal = right.as_mut().unwrap().opened().unwrap_err();
            assert!(refusal.has(isc::DSQL_CURSOR_OPEN_ERR), "{refusal}");
            (left.next().unwrap().unwrap(), other.next().transpose().unwrap())
        });
        assert_eq!((cost, rows.0.to_values()), (1, vec![Value::integer(1)]));
        drop((transaction, statements));
        connection.drop_database().unwrap();
    }
}

#[test]
fn work_behind_the_attach_costs_nothing_of_its_own() {
    for place in all() {
        let location = place.location();
        let create = CreateOptions::default();
        Connection::create(&location, &create, &place.options).unwrap().close().unwrap();
        let alone = Connection::attach(&location, &place.options).unwrap();
        let connector = Connection::connect(&location, &place.options).unwrap();
        let transaction = connector.begin(&Default::default()).unwrap();
        let statement = connector.prepare(&transaction, ONE).unwrap();
        let connection = connector.attached().unwrap();
        assert_eq!(connection.counters().round_trips, alone.counters().round_trips);
        let row = connection.execute(&transaction, &statement, &[]).unwrap();
        assert_eq!(row.unwrap(), [Value::integer(1)]);
        drop((transaction, statement));
        alone.close().unwrap();
        connection.drop_database().unwrap();
        // A refused attach is told to all that was asked behind it, and to who waits for it.
        let connector = Connection::connect(&location, &place.options).unwrap();
        let transaction = connector.begin(&Default::default()).unwrap();
        let error = connector.prepare(&transaction, ONE).unwrap_err();
        assert_eq!(error.gds_code(), isc::IO_ERROR, "{error}");
        assert_eq!(connector.attached().unwrap_err().gds_code(), isc::IO_ERROR);
    }
}

#[test]
fn a_query_of_known_columns_has_its_first_row_with_the_attach() {
    let columns = [MessageType::Int64 { scale: 0 }, MessageType::Varying { length: 40, charset: Some(4) }];
    let text = "select n, 'text' from (select 7 as n from rdb$database) where n = ? or n = ?";
    for place in all() {
        let location = place.location();
        Connection::create(&location, &CreateOptions::default(), &place.options).unwrap().close().unwrap();
        let alone = Connection::attach(&location, &place.options).unwrap();
        let connector = Connection::connect(&location, &place.options).unwrap();
        let transaction = connector.begin(&Default::default()).unwrap();
        let parameters = [Value::integer(7), Value::Null];
        let mut cursor = connector.query_typed(&transaction, text, &parameters, &columns).unwrap();
        assert_eq!(cursor.next().unwrap().unwrap(), [Value::integer(7), Value::text("text")]);
        assert_eq!(connector.counters().round_trips, alone.counters().round_trips);
        drop(cursor);
        let connection = connector.attached().unwrap();
        for (text, columns) in [("select", &columns[..]), (ONE, &columns[..])] {
            let mut cursor = connection.query_typed(&transaction, text, &[], columns).unwrap();
            let error = cursor.next().unwrap().unwrap_err();
            assert!(error.gds_code() != isc::NETWORK_ERROR && error.sql_code() < 0, "{error}");
            assert!(cursor.next().is_none());
        }
        assert_eq!(connection.query_all(&transaction, ONE).unwrap(), [[Value::integer(1)]]);
        drop(transaction);
        alone.close().unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn statements_are_kept_prepared() {
    for place in all() {
        let connection = place.create_with(&tuned(&place, Tuning::default().statement_cache(2)));
        let transaction = connection.begin(&Default::default()).unwrap();
        let cached = |text| trips(&connection, || connection.prepare_cached(&transaction, text).unwrap());
        let (cost, first) = cached(ONE);
        assert_eq!(cost, 1);
        // It is in use, so another one is made.
        assert_eq!(cached(ONE).0, 1);
        drop(first);
        assert_eq!(cached(ONE).0, 0);
        // A cursor uses its statement too.
        let cursor = connection.query(&transaction, &cached(ONE).1, &[]).unwrap();
        let mut other = connection.query(&transaction, &cached(ONE).1, &[]).unwrap();
        assert_eq!(other.next().unwrap().unwrap(), [Value::integer(1)]);
        drop((cursor, other));
        // Two others put them out.
        for text in ["select 2 from rdb$database", "select 3 from rdb$database"] {
            assert_eq!(cached(text).0, 1);
        }
        assert_eq!(cached(ONE).0, 1);
        drop(transaction);
        connection.drop_database().unwrap();
    }
}

/// Work of all kinds; gives what it cost in round trips.
fn day_of_work(connection: &mut Connection) -> u64 {
    run(connection, &["create table t (id integer not null primary key, b blob)"]);
    let before = connection.counters().round_trips;
    let transaction = begin(connection);
    let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
    for id in 0..5 {
        let blob = connection.write_blob(&transaction, format!("contents {id}").as_bytes()).unwrap();
        connection.execute(&transaction, &insert, &[Value::integer(id), Value::Blob(blob)]).unwrap();
    }
    drop(insert);
    connection.commit(transaction).unwrap();
    let transaction = begin(connection);
    let query = connection.prepare(&transaction, "select id, b from t order by id").unwrap();
    let inner = connection.prepare(&transaction, "select id from t where id = ?").unwrap();
    for (row, id) in connection.query(&transaction, &query, &[]).unwrap().zip(0..) {
        let row = row.unwrap();
        let blob = row.get(1).unwrap();
        let contents = connection.read_blob(&transaction, blob).unwrap();
        assert_eq!(contents, format!("contents {id}").as_bytes());
        let mut cursor = connection.query(&transaction, &inner, &[Value::integer(id)]).unwrap();
        assert_eq!(cursor.next().unwrap().unwrap(), [Value::integer(id)]);
        assert!(cursor.next().is_none());
    }
    drop((query, inner));
    connection.commit(transaction).unwrap();
    connection.counters().round_trips - before
}

#[test]
fn every_generation_does_the_same_work_in_fewer_round_trips_than_the_one_before() {
    for place in all() {
        let costs = PRESETS.map(|preset| {
            let mut connection = place.create_with(&tuned(&place, Tuning::preset(preset).unwrap()));
            let cost = day_of_work(&mut connection);
            connection.drop_database().unwrap();
            cost
        });
        assert!(costs.is_sorted_by(|older, newer| older >= newer), "{costs:?}");
        assert!(costs[0] > costs[1] && costs[4] > costs[5], "{costs:?}");
    }
}

#[test]
fn two_queries_share_a_flight_only_where_rows_are_asked_for_before_they_are_wanted() {
    for place in all() {
        for (preset, wanted) in PRESETS.into_iter().zip([4, 2, 2, 2, 2, 1]) {
            let connection = place.create_with(&tuned(&place, Tuning::preset(preset).unwrap()));
            let transaction = begin(&connection);
            let query = connection.prepare(&transaction, ONE).unwrap();
            let other = connection.prepare(&transaction, ONE).unwrap();
            let (cost, (cursors, rows)) = trips(&connection, || {
                let mut first = connection.query(&transaction, &query, &[]).unwrap();
                let mut second = connection.query(&transaction, &other, &[]).unwrap();
                let rows = [first.next(), second.next()].map(|row| row.unwrap().unwrap().to_values());
                // Closing them is not what is counted.
                ((first, second), rows)
            });
            assert_eq!(
                (cost, rows),
                (wanted, [vec![Value::integer(1)], vec![Value::integer(1)]]),
                "{preset}"
            );
            drop((cursors, query, other, transaction));
            connection.drop_database().unwrap();
        }
    }
}

/// Steps in an order that no program would think of: every number that the client expects must be the one that comes.
#[test]
fn handles_are_what_they_are_expected_to_be() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer not null primary key, b blob)"]);
        let mut random = 88172645463325252_u64;
        let mut next = |limit: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            usize::try_from(random % limit as u64).unwrap()
        };
        let mut transactions: Vec<Transaction> = vec![begin(&connection)];
        let (mut statements, mut readers, mut writers) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..600 {
            let transaction = &transactions[next(transactions.len())];
            match next(12) {
                0 | 1 => transactions.push(begin(&connection)),
                2 | 3 => statements.push(connection.prepare(transaction, ONE).unwrap()),
                4 => assert!(connection.prepare(transaction, "select").is_err()),
                5 => {
                    let id = connection.write_blob(transaction, b"contents").unwrap();
                    readers.push(connection.open_blob(transaction, id).unwrap());
                }
                6 => writers.push(connection.create_blob(transaction, Default::default()).unwrap()),
                7 => assert!(connection.open_blob(transaction, BlobId(0x7700_0000_0077)).is_err()),
                8 if !statements.is_empty() => drop(statements.swap_remove(next(statements.len()))),
                9 if !readers.is_empty() => drop(readers.swap_remove(next(readers.len()))),
                10 if !writers.is_empty() => drop(writers.swap_remove(next(writers.len()))),
                11 if transactions.len() > 1 => {
                    let transaction = transactions.swap_remove(next(transactions.len()));
                    match step % 4 {
                        0 => connection.commit(transaction).unwrap(),
                        1 => connection.rollback(transaction).unwrap(),
                        2 => connection.run(&transaction, "commit").unwrap(),
                        _ => drop(transaction),
                    }
                }
                _ => {
                    let row = connection.query_all(transaction, ONE).unwrap();
                    assert_eq!(row, [[Value::integer(1)]]);
                }
            }
        }
        // Nothing has turned the prediction off: a transaction still costs nothing.
        let (cost, row) = trips(&connection, || {
            let transaction = connection.begin(&Default::default()).unwrap();
            let statement = connection.prepare(&transaction, ONE).unwrap();
            statement.columns().len()
        });
        assert_eq!((cost, row), (1, 1));
        drop((transactions, statements, readers, writers));
        assert_eq!(value(&connection, ONE), Value::integer(1));
        connection.drop_database().unwrap();
    }
}
