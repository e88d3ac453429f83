//! Rows asked for ahead: how few flights they take, and that nobody notices otherwise.

use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::virtual_clock::{VirtualClock, VirtualLink};
use farbird_client::{ConnectOptions, Error, Tuning, Value};
use farbird_types::isc;

use crate::servers::{TestServer, all, begin, run};

pub(crate) fn trips<T>(connection: &Connection, work: impl FnOnce() -> T) -> (u64, T) {
    let before = connection.counters().round_trips;
    let result = work();
    (connection.counters().round_trips - before, result)
}

pub(crate) fn compressed(place: &TestServer) -> ConnectOptions {
    ConnectOptions { compress: true, ..place.options.clone() }
}

/// Rows 1 to `count`; `value` says what goes with `n`.
fn numbers(count: u32, declaration: &str, value: &str) -> String {
    format!(
        "execute block returns (n integer, v {declaration}) as begin n = 0; while (n < {count}) do begin \
         n = n + 1; v = {value}; suspend; end end"
    )
}

fn read(connection: &Connection, text: &str) -> (u64, usize) {
    let transaction = connection.begin(&Default::default()).unwrap();
    let statement = connection.prepare(&transaction, text).unwrap();
    let (cost, rows) = trips(connection, || {
        let cursor = connection.query(&transaction, &statement, &[]).unwrap();
        let numbers = cursor.map(|row| row.unwrap().value(0).unwrap());
        numbers.zip(1..).filter(|(number, wanted)| *number == Value::integer(*wanted)).count()
    });
    drop(statement);
    connection.commit(transaction).unwrap();
    (cost, rows)
}

#[test]
fn a_thousand_wide_texts_take_five_round_trips() {
    for place in all() {
        let connection = place.create_with(&compressed(&place));
        // 3,400 characters each: 3.4 MB.
        let wide =
            numbers(1000, "varchar(8191) character set utf8", "rpad(cast(n as varchar(10)), 3400, 'text ')");
        let (cost, rows) = read(&connection, &wide);
        assert_eq!(rows, 1000);
        assert!(cost <= 5, "{cost}");
        connection.drop_database().unwrap();
    }
}

/// The same over a long line, where nothing is here before its time.
#[test]
fn a_thousand_wide_texts_take_five_flights_over_a_long_line() {
    for place in all() {
        let location = place.location();
        let near = place.create_at(&location);
        let link = VirtualLink::of_round_trip(Duration::from_millis(200));
        let (mut clock, connection) = VirtualClock::attach(&location, &compressed(&place), link).unwrap();
        let transaction = clock.run(connection.begin(&Default::default())).unwrap();
        let wide =
            numbers(1000, "varchar(8191) character set utf8", "rpad(cast(n as varchar(10)), 3400, 'text ')");
        let statement = clock.run(connection.prepare(&transaction, &wide)).unwrap();
        let (rows, cost) = clock.cost(async {
            let mut cursor = connection.query(&transaction, &statement, ()).await?;
            let mut rows = 0;
            while cursor.next().await?.is_some() {
                rows += 1;
            }
            Ok::<_, Error>(rows)
        });
        assert_eq!(rows.unwrap(), 1000);
        assert!(cost.flights <= 5 && cost.round_trips <= 5, "{cost:?}");
        drop((statement, transaction));
        clock.run(connection.close()).unwrap();
        near.drop_database().unwrap();
    }
}

/// Of a query that is executed for one row no others travel.
#[test]
fn one_row_is_asked_for_where_one_is_wanted() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let statement = connection.prepare(&transaction, &numbers(100_000, "integer", "n")).unwrap();
        let before = connection.counters().in_bytes;
        let row = connection.execute(&transaction, &statement, ()).unwrap().unwrap();
        assert_eq!(row, [Value::integer(1), Value::integer(1)]);
        let bytes = connection.counters().in_bytes - before;
        assert!(bytes < 200, "{bytes}");
        drop(statement);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn flights_double() {
    for place in all() {
        let connection = place.create();
        let rows = |count| numbers(count, "integer", "n");
        let costs = [10, 1_000, 100_000].map(|count| {
            let (cost, rows) = read(&connection, &rows(count));
            assert_eq!(rows, usize::try_from(count).unwrap());
            cost
        });
        // 100,000 rows are 3 MB.
        assert!(costs[0] == 1 && costs[1] == 1 && costs[2] <= 6, "{costs:?}");
        connection.drop_database().unwrap();
    }
}

#[test]
fn memory_for_what_is_asked_ahead_is_bounded() {
    for place in all() {
        let least = Tuning::default().read_ahead_bytes(256 * 1024);
        let connection = place.create_with(&ConnectOptions { tuning: least, ..place.options.clone() });
        let (cost, rows) = read(&connection, &numbers(100_000, "integer", "n"));
        assert_eq!(rows, 100_000);
        // 3 MB in windows of 256 KiB, topped up at half.
        assert!((5..=40).contains(&cost), "{cost}");
        connection.drop_database().unwrap();
    }
}

#[test]
fn rows_before_an_error_come_before_it() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        for before in [0, 1, 700, 30_000] {
            let failing = numbers(before + 10, "integer", &format!("1 / ({} - n)", before + 1));
            let statement = connection.prepare(&transaction, &failing).unwrap();
            let mut cursor = connection.query(&transaction, &statement, &[]).unwrap();
            for n in 1..=before {
                assert_eq!(cursor.next().unwrap().unwrap().value(0).unwrap(), Value::integer(n.into()));
            }
            let error = cursor.next().unwrap().unwrap_err();
            assert!(error.has(isc::ARITH_EXCEPT), "{error}");
            // What was under way for the rows behind it is of no interest.
            assert!(cursor.next().is_none());
            connection.ping().unwrap();
            // And the statement can be used again.
            drop(cursor);
            assert_eq!(connection.query(&transaction, &statement, &[]).unwrap().count(), before as usize + 1);
        }
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_cursor_is_closed_in_the_middle() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let statement = connection.prepare(&transaction, &numbers(50_000, "integer", "n")).unwrap();
        for rows in [1, 20_000, 1, 3] {
            let mut cursor = connection.query(&transaction, &statement, &[]).unwrap();
            for n in 1..=rows {
                assert_eq!(cursor.next().unwrap().unwrap().value(0).unwrap(), Value::integer(n));
            }
        }
        drop(statement);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn several_cursors_are_read_side_by_side() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let texts: Vec<_> = (1..5).map(|n| numbers(20_000, "integer", &format!("n * {n}"))).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let statements = connection.prepare_all(&transaction, &texts).unwrap();
        let (cost, ()) = trips(&connection, || {
            let open = |statement| connection.query(&transaction, statement, &[]).unwrap();
            let mut cursors: Vec<_> = statements.iter().map(open).collect();
            for n in 1..=20_000 {
                for (cursor, factor) in cursors.iter_mut().zip(1..) {
                    let row = cursor.next().unwrap().unwrap();
                    assert_eq!(
                        (row.value(0).unwrap(), row.value(1).unwrap()),
                        (Value::integer(n), Value::integer(n * factor))
                    );
                }
            }
            assert!(cursors.iter_mut().all(|cursor| cursor.next().is_none()));
        });
        // Each has 600 KB: the first flight brings most of all of them, and the next are shared.
        assert!(cost <= 4, "{cost}");
        drop(statements);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_commit_in_the_middle_ends_the_rows() {
    for place in all() {
        let connection = place.create();
        let (transaction, other) = (begin(&connection), begin(&connection));
        let statement = connection.prepare(&other, &numbers(200_000, "integer", "n")).unwrap();
        let mut cursor = connection.query(&transaction, &statement, &[]).unwrap();
        assert_eq!(cursor.next().unwrap().unwrap().value(0).unwrap(), Value::integer(1));
        connection.commit(transaction).unwrap();
        // Those that were under way come, then the server says that there is no cursor.
        let (rows, rest) = {
            let mut rows = 1;
            loop {
                match cursor.next() {
                    Some(Ok(row)) => {
                        rows += 1;
                        assert_eq!(row.value(0).unwrap(), Value::integer(rows));
                    }
                    end => break (rows, end),
                }
            }
        };
        assert!(rows < 200_000 && rest.is_some_and(|rest| rest.is_err()), "{rows}");
        drop((cursor, statement));
        connection.commit(other).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_cursor_for_update_stands_on_the_row_that_was_given() {
    for place in all() {
        let connection = place.create();
        run(
            &connection,
            &[
                "create table t (id integer not null primary key, n integer)",
                "execute block as declare i integer = 0; begin while (i < 50) do begin i = i + 1; \
                 insert into t values (:i, 0); end end",
            ],
        );
        let transaction = begin(&connection);
        let statement = connection.prepare(&transaction, "select id, n from t for update").unwrap();
        let (cost, rows) =
            trips(&connection, || connection.query(&transaction, &statement, &[]).unwrap().count());
        // One row at a time, and the end.
        assert_eq!((cost, rows), (51, 50));
        drop(statement);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}
