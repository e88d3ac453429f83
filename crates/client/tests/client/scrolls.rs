//! Cursors that move both ways, and WHERE CURRENT OF.

use farbird_client::{Row, Scroll, Value};
use farbird_types::isc;

use crate::servers::{all, begin, run, value};

#[test]
fn rows_are_read_in_any_order() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer not null primary key)"]);
        run(&connection, &["insert into t select row_number() over () from rdb$types rows 100"]);
        let transaction = begin(&connection);
        let statement =
            connection.prepare(&transaction, "select id from t where id > ? order by id").unwrap();
        if !connection.version().has_scrollable_cursors() {
            let error = connection.scroll(&transaction, &statement, &[Value::integer(0)]).unwrap_err();
            assert_eq!(error.gds_code(), isc::WISH_LIST);
        } else {
            let before = connection.counters().round_trips;
            let mut cursor = connection.scroll(&transaction, &statement, &[Value::integer(10)]).unwrap();
            assert_eq!(connection.counters().round_trips, before);
            let moves = [
                (Scroll::Last, Some(100)),
                (Scroll::Next, None),
                (Scroll::Prior, Some(100)),
                (Scroll::Prior, Some(99)),
                (Scroll::First, Some(11)),
                (Scroll::Prior, None),
                (Scroll::Next, Some(11)),
                (Scroll::Relative(5), Some(16)),
                (Scroll::Relative(-2), Some(14)),
                (Scroll::Absolute(3), Some(13)),
                (Scroll::Absolute(-1), Some(100)),
                (Scroll::Absolute(91), None),
            ];
            for (scroll, expected) in moves {
                let row = cursor.fetch(scroll).unwrap();
                let id = row.map(|row| row.get::<i64>(0).unwrap());
                assert_eq!(id, expected, "{scroll:?}");
            }
            assert_eq!(connection.counters().round_trips - before, 12);
            cursor.fetch(Scroll::First).unwrap();
            let ids = |rows: Vec<Row>| rows.iter().map(|row| row.get::<i64>(0).unwrap()).collect::<Vec<_>>();
            let before = connection.counters().round_trips;
            let rows = ids(cursor.fetch_many(Scroll::Next, 50).unwrap());
            assert_eq!(rows, (12..62).collect::<Vec<_>>());
            let rows = ids(cursor.fetch_many(Scroll::Prior, 20).unwrap());
            assert_eq!(rows, (41..61).rev().collect::<Vec<_>>());
            let rows = ids(cursor.fetch_many(Scroll::Next, 1000).unwrap());
            assert_eq!(rows, (42..101).collect::<Vec<_>>());
            assert_eq!(cursor.count().unwrap(), 90);
            assert_eq!(connection.counters().round_trips - before, 4);
            drop(cursor);
            let zero = connection.prepare(&transaction, "select 1 / (id - 1) from t").unwrap();
            let mut failing = connection.scroll(&transaction, &zero, &[]).unwrap();
            let error = failing.fetch(Scroll::Next).unwrap_err();
            assert_eq!(error.gds_code(), isc::ARITH_EXCEPT, "{error}");
        }
        drop(statement);
        connection.rollback(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn the_row_of_a_named_cursor_is_changed() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer, n integer)"]);
        for id in 1..=5 {
            run(&connection, &[&format!("insert into t values ({id}, 0)")]);
        }
        let transaction = begin(&connection);
        let text = "select id from t order by id for update";
        let statement = connection.prepare(&transaction, text).unwrap();
        connection.name_cursor(&statement, "C").unwrap();
        let mut cursor = connection.query(&transaction, &statement, &[]).unwrap();
        let mut update = None;
        for row in cursor.by_ref() {
            let row = row.unwrap();
            // The cursor has to be there when this is prepared.
            let update = match &update {
                Some(update) => update,
                None => update.insert(
                    connection.prepare(&transaction, "update t set n = ? where current of c").unwrap(),
                ),
            };
            connection.execute(&transaction, update, &[row.value(0).unwrap()]).unwrap();
        }
        drop((cursor, update, statement));
        connection.commit(transaction).unwrap();
        assert_eq!(value(&connection, "select count(*) from t where n = id"), Value::integer(5));
        connection.drop_database().unwrap();
    }
}
