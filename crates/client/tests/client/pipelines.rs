//! Executions under way together.

use farbird_client::Value;
use farbird_types::isc;

use crate::servers::{all, begin, run, value};

#[test]
fn thousands_of_executions_take_few_round_trips() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer not null, name varchar(40))"]);
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
        let before = connection.counters().round_trips;
        let mut pipeline = connection.pipeline(&transaction, &insert);
        for id in 0..5000 {
            pipeline.execute(&[Value::integer(id), Value::text("some name")]).unwrap();
        }
        assert_eq!(pipeline.finish().unwrap().into_result().unwrap(), 5000);
        let trips = connection.counters().round_trips - before;
        assert!(trips <= 40, "{trips}");
        connection.commit(transaction).unwrap();
        let sum = value(&connection, "select cast(sum(id) as bigint) from t");
        assert_eq!(sum, Value::integer(5000 * 4999 / 2));
        drop(insert);
        connection.drop_database().unwrap();
    }
}

#[test]
fn failures_are_told_with_their_positions() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer not null primary key)"]);
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?)").unwrap();
        let mut pipeline = connection.pipeline(&transaction, &insert);
        for id in [1, 2, 2, 3, 1] {
            pipeline.execute(&[Value::integer(id)]).unwrap();
        }
        // Parameters of another type travel in between.
        pipeline.execute(&[Value::text("4")]).unwrap();
        pipeline.execute(&[Value::integer(5)]).unwrap();
        let outcome = pipeline.finish().unwrap();
        assert_eq!((outcome.executed, outcome.failed), (7, 2));
        let positions: Vec<_> = outcome.failures.iter().map(|(position, _)| *position).collect();
        assert_eq!(positions, [2, 4]);
        assert!(outcome.failures.iter().all(|(_, error)| error.has(isc::UNIQUE_KEY_VIOLATION)));
        connection.commit(transaction).unwrap();
        assert_eq!(value(&connection, "select count(*) from t"), Value::integer(5));
        drop(insert);
        connection.drop_database().unwrap();
    }
}

/// A cursor's rows are on their way while more is written than sockets hold: neither side may block the other.
#[test]
fn writing_much_while_rows_are_under_way_does_not_block() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (name varchar(8000) character set octets)"]);
        let transaction = begin(&connection);
        let wide = "execute block returns (a varchar(8000) character set octets) as declare n integer = 0; begin \
                    while (n < 3000) do begin n = n + 1; a = lpad('', 8000, 'x'); suspend; end end";
        let (query, insert) = (
            connection.prepare(&transaction, wide).unwrap(),
            connection.prepare(&transaction, "insert into t values (?)").unwrap(),
        );
        let mut cursor = connection.query(&transaction, &query, &[]).unwrap();
        for _ in 0..70 {
            assert!(cursor.next().transpose().unwrap().is_some());
        }
        let mut pipeline = connection.pipeline(&transaction, &insert);
        for _ in 0..1000 {
            pipeline.execute(&[Value::text(&"y".repeat(8000))]).unwrap();
        }
        assert_eq!(pipeline.finish().unwrap().into_result().unwrap(), 1000);
        let mut rows = 70;
        while cursor.next().transpose().unwrap().is_some() {
            rows += 1;
        }
        assert_eq!(rows, 3000);
        drop((cursor, query, insert));
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}
