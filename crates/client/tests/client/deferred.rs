//! Statements prepared without waiting: what they cost, and where their errors appear.

use farbird_client::{ConnectOptions, Tuning, Value};
use farbird_types::isc;

use crate::servers::{all, begin, run, value};

const TABLE: &str = "create table t (id integer, amount numeric(9, 2), born date, text varchar(20))";

fn row(id: i64) -> [Value; 4] {
    [Value::integer(id), Value::text("12.5"), Value::text("2024-02-29"), Value::integer(7)]
}

#[test]
fn a_change_leaves_with_its_prepare() {
    for place in all() {
        let connection = place.create();
        run(&connection, &[TABLE]);
        let before = connection.counters();
        let transaction = begin(&connection);
        let insert = connection.prepare_deferred(&transaction, "insert into t values (?, ?, ?, ?)").unwrap();
        assert!(!insert.is_described() && insert.parameters().is_empty());
        assert_eq!((connection.counters() - before).round_trips, 0);
        // Start, prepare and execute in one flight. The server converts what travels in another type.
        connection.execute(&transaction, &insert, &row(1)).unwrap();
        assert_eq!((connection.counters() - before).round_trips, 1);
        assert!(insert.is_described());
        assert_eq!(insert.parameters().len(), 4);
        connection.execute(&transaction, &insert, &row(2)).unwrap();
        assert_eq!((connection.counters() - before).round_trips, 2);
        connection.commit(transaction).unwrap();
        let sum = value(&connection, "select sum(id) || ' ' || sum(amount) || ' ' || max(born) from t");
        assert_eq!(sum, Value::text("3 25.00 2024-02-29"));
        // And with the commit.
        let transaction = begin(&connection);
        let before = connection.counters();
        let delete = connection.prepare_deferred(&transaction, "delete from t where id = ?").unwrap();
        connection.execute_and_commit(&delete, &[Value::integer(1)]).unwrap();
        assert_eq!((connection.counters() - before).round_trips, 1);
        drop((insert, delete, transaction));
        assert_eq!(value(&connection, "select count(*) from t"), Value::integer(1));
        connection.drop_database().unwrap();
    }
}

#[test]
fn queries_and_rows_of_changes_wait_for_their_description() {
    for place in all() {
        let connection = place.create();
        run(&connection, &[TABLE]);
        let transaction = begin(&connection);
        let before = connection.counters();
        let returning = "insert into t (id) values (?) returning id + 1";
        let insert = connection.prepare_deferred(&transaction, returning).unwrap();
        let select = connection.prepare_deferred(&transaction, "select id from t where id = ?").unwrap();
        let row = connection.execute(&transaction, &insert, &[Value::integer(5)]).unwrap().unwrap();
        assert_eq!(row, [Value::integer(6)]);
        assert_eq!((connection.counters() - before).round_trips, 2);
        // The description came with the other's.
        let rows: Vec<_> = connection.query(&transaction, &select, &[Value::integer(5)]).unwrap().collect();
        assert_eq!(rows.len(), 1);
        assert_eq!(*rows[0].as_ref().unwrap(), [Value::integer(5)]);
        assert_eq!((connection.counters() - before).round_trips, 3);
        // Alone: the query leaves with its prepare, and its rows are asked for behind the description.
        let before = connection.counters();
        let other = connection.prepare_deferred(&transaction, "select id from t where id < ?").unwrap();
        let mut rows = connection.query(&transaction, &other, &[Value::text("9")]).unwrap();
        assert_eq!(rows.next().unwrap().unwrap(), [Value::integer(5)]);
        assert_eq!((connection.counters() - before).round_trips, 2);
        assert_eq!(other.columns().len(), 1);
        drop((rows, other, select, insert, transaction));
        connection.drop_database().unwrap();
    }
}

#[test]
fn an_error_of_the_text_appears_at_execute() {
    for place in all() {
        let connection = place.create();
        run(&connection, &[TABLE]);
        let transaction = begin(&connection);
        let texts =
            [("insert into nowhere values (?)", 1), ("select nothing from t where id = ?", 1), ("commt", 0)];
        for (text, parameters) in texts {
            let expected = connection.prepare(&transaction, text).unwrap_err();
            let parameters = vec![Value::integer(1); parameters];
            let statement = connection.prepare_deferred(&transaction, text).unwrap();
            for _ in 0..2 {
                let error = connection.execute(&transaction, &statement, &parameters).unwrap_err();
                assert_eq!(error.to_string(), expected.to_string(), "{text}");
            }
            assert!(connection.query(&transaction, &statement, &parameters).is_err());
            assert_eq!(connection.describe(&statement).unwrap_err().to_string(), expected.to_string());
            assert_eq!(connection.plan(&statement).unwrap_err().to_string(), expected.to_string());
            let statement = connection.prepare_deferred(&transaction, text).unwrap();
            let error = connection.execute_and_commit(&statement, &parameters).unwrap_err();
            assert_eq!(error.to_string(), expected.to_string(), "{text}");
        }
        // The server's complaint about parameters is its own.
        let insert = connection.prepare_deferred(&transaction, "insert into t (id) values (?)").unwrap();
        assert!(connection.execute(&transaction, &insert, &[]).unwrap_err().sql_code() < 0);
        connection.execute(&transaction, &insert, &[Value::integer(1)]).unwrap();
        let error = connection.execute(&transaction, &insert, &[]).unwrap_err();
        assert!(error.has(isc::DSQL_SQLDA_ERR), "described by now: {error}");
        drop((insert, transaction));
        connection.drop_database().unwrap();
    }
}

#[test]
fn the_switch_defers_all_prepares_and_refused_texts_are_not_kept() {
    for place in all() {
        let tuning = Tuning::default().deferred_prepare(true);
        let connection = place.create_with(&ConnectOptions { tuning, ..place.options.clone() });
        let before = connection.counters();
        let transaction = connection.begin(&Default::default()).unwrap();
        let insert = "insert into t (id) values (1)";
        connection.prepare_all(&transaction, &["select 1 from rdb$database", insert]).unwrap();
        let cached = connection.prepare_cached(&transaction, insert).unwrap();
        assert_eq!((connection.counters() - before).round_trips, 0);
        assert!(connection.execute(&transaction, &cached, &[]).is_err());
        drop(cached);
        connection.run(&transaction, TABLE).unwrap();
        connection.commit(transaction).unwrap();
        let transaction = connection.begin(&Default::default()).unwrap();
        let again = connection.prepare_cached(&transaction, insert).unwrap();
        connection.execute(&transaction, &again, &[]).unwrap();
        let mut batch = connection.pipeline(&transaction, &again);
        batch.execute(&[]).unwrap();
        batch.finish().unwrap().into_result().unwrap();
        let rows = connection.query_all(&transaction, "select count(*) from t").unwrap();
        assert_eq!(rows[0][..], [Value::integer(2)]);
        drop((again, transaction));
        connection.drop_database().unwrap();
    }
}
