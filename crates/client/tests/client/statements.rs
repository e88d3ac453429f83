//! Statements, parameters, cursors, transactions, and what they cost in round trips.

use farbird_client::blocking::Connection;
use farbird_client::{TransactionOptions, Value};
use farbird_types::isc;

use crate::servers::{all, begin, run, value};

/// Round trips of a piece of work.
fn trips<T>(connection: &mut Connection, work: impl FnOnce(&mut Connection) -> T) -> (u64, T) {
    let before = connection.counters().round_trips;
    let result = work(connection);
    (connection.counters().round_trips - before, result)
}

/// Drivers tell by that whether there are rows to fetch, and which of the changed rows to count.
#[test]
fn statements_are_of_the_kinds_that_firebird_says() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer not null primary key, name varchar(20))"]);
        let transaction = begin(&connection);
        for (text, kind) in [
            ("select id from t", 1),
            ("insert into t (id) values (1)", 2),
            ("update or insert into t (id) values (1)", 2),
            ("merge into t using t s on s.id = t.id when matched then update set name = 'a'", 2),
            ("merge into t using t s on s.id = t.id when matched then delete", 2),
            ("update t set name = 'a'", 3),
            ("delete from t", 4),
        ] {
            assert_eq!(connection.prepare(&transaction, text).unwrap().kind(), kind, "{text}");
        }
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn rows_come_back_as_they_were_written() {
    for place in all() {
        let connection = place.create();
        run(
            &connection,
            &[
                "create table t (id integer not null primary key, name varchar(20), price numeric(9, 2), born date, \
               weight double precision, big bigint)",
            ],
        );
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?, ?, ?, ?, ?, ?)").unwrap();
        let row = [
            Value::integer(1),
            Value::text("Zoë"),
            Value::Integer { unscaled: 1999, scale: -2 },
            Value::Null,
            Value::Double(0.5),
            Value::integer(1 << 40),
        ];
        connection.execute(&transaction, &insert, &row).unwrap();
        assert_eq!(connection.counts(&insert).unwrap().inserted, 1);
        // Values of other types than the parameters' own: the server converts.
        let other = [
            Value::text("2"),
            Value::integer(7),
            Value::integer(3),
            Value::text("2001-02-03"),
            Value::Integer { unscaled: 25, scale: -2 },
            Value::text("12"),
        ];
        connection.execute(&transaction, &insert, &other).unwrap();
        connection.execute(&transaction, &insert, [&[Value::integer(3)], &row[1..]].concat()).unwrap();
        let rows = connection.query_all(&transaction, "select * from t order by id").unwrap();
        assert_eq!(rows[0], row);
        assert_eq!(rows[1][1], Value::text("7"));
        assert_eq!(rows[1][2], Value::Integer { unscaled: 300, scale: -2 });
        assert!(matches!(rows[1][3], Value::Date(_)));
        assert_eq!(rows[1][4..], [Value::Double(0.25), Value::integer(12)]);
        assert_eq!(rows.len(), 3);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn columns_and_parameters_are_described() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer not null, name varchar(20))"]);
        let transaction = begin(&connection);
        let query = "select id, name as label from t where id = ?";
        let statement = connection.prepare(&transaction, query).unwrap();
        let labels: Vec<_> = statement.columns().iter().map(|column| column.label.as_str()).collect();
        assert_eq!(labels, ["ID", "LABEL"]);
        assert_eq!((&*statement.columns()[1].name, &*statement.columns()[1].relation), ("NAME", "T"));
        assert_eq!(
            statement.columns().iter().map(|column| column.nullable).collect::<Vec<_>>(),
            [false, true]
        );
        assert_eq!(statement.parameters().len(), 1);
        assert!(connection.plan(&statement).unwrap().contains("NATURAL"));
        drop((statement, transaction));
        connection.drop_database().unwrap();
    }
}

/// More columns than fit into the room for one description.
#[test]
fn a_very_wide_result_is_described_piece_by_piece() {
    for place in all() {
        let connection = place.create();
        let columns: Vec<_> = (0..900).map(|n| format!("{n} as a_rather_long_label_{n}")).collect();
        let transaction = begin(&connection);
        let query = format!("select {} from rdb$database where 1 = cast(? as integer)", columns.join(", "));
        let statement = connection.prepare(&transaction, &query).unwrap();
        assert_eq!((statement.columns().len(), statement.parameters().len()), (900, 1));
        let row = connection.execute(&transaction, &statement, &[Value::integer(1)]).unwrap().unwrap();
        assert_eq!(row.get::<i32>(899).unwrap(), 899);
        drop((statement, transaction));
        connection.drop_database().unwrap();
    }
}

const MANY: &str =
    "execute block returns (n integer) as begin n = 0; while (n < 5000) do begin n = n + 1; suspend; end end";

#[test]
fn cursors_read_ahead_and_interleave() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let first = connection.prepare(&transaction, MANY).unwrap();
        let second = connection.prepare(&transaction, MANY).unwrap();
        let mut left = connection.query(&transaction, &first, &[]).unwrap();
        let mut right = connection.query(&transaction, &second, &[]).unwrap();
        for n in 1..=5000 {
            let row = [Value::integer(n)];
            assert_eq!(left.next().unwrap().unwrap(), row);
            assert_eq!(right.next().unwrap().unwrap(), row);
            if n % 1000 == 77 {
                assert_eq!(value(&connection, "select 5 from rdb$database"), Value::integer(5));
            }
        }
        assert_eq!(left.next().transpose().unwrap(), None);
        assert_eq!(right.next().transpose().unwrap(), None);
        // Closed in the middle, and opened again.
        drop((left, right));
        for _ in 0..3 {
            let rows = connection.query(&transaction, &first, &[]).unwrap().take(700).count();
            assert_eq!(rows, 700);
        }
        drop((first, second));
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn each_call_costs_the_round_trips_that_it_says() {
    for place in all() {
        let mut connection = place.create();
        run(&connection, &["create table t (id integer not null primary key)"]);
        let (cost, transaction) = trips(&mut connection, |connection| begin(connection));
        assert_eq!(cost, 0);
        let (cost, insert) =
            trips(&mut connection, |c| c.prepare(&transaction, "insert into t values (?)").unwrap());
        assert_eq!(cost, 1);
        let one = [Value::integer(1)];
        assert_eq!(trips(&mut connection, |c| c.execute(&transaction, &insert, &one).unwrap()).0, 1);
        let query = connection.prepare(&transaction, "select id from t").unwrap();
        let (cost, rows) = trips(&mut connection, |c| c.query(&transaction, &query, &[]).unwrap().count());
        assert_eq!((cost, rows), (1, 1));
        // What is dropped costs nothing.
        drop(query);
        let (cost, ()) = trips(&mut connection, |c| c.commit(transaction).unwrap());
        assert_eq!(cost, 1);
        // A statement with its commit.
        connection.execute_and_commit(&insert, &[Value::integer(2)]).unwrap();
        for id in 3..6 {
            let work = |c: &mut Connection| c.execute_and_commit(&insert, &[Value::integer(id)]).unwrap();
            assert_eq!(trips(&mut connection, work).0, 1);
        }
        let again = connection.execute_and_commit(&insert, &[Value::integer(2)]).unwrap_err();
        assert!(again.has(isc::UNIQUE_KEY_VIOLATION), "{again}");
        assert_eq!(value(&connection, "select count(*) from t"), Value::integer(5));
        // A query with its commit: one row or none, but not two.
        let transaction = begin(&connection);
        let by_id =
            connection.prepare(&transaction, "select id, id * 2 from t where id >= ? and id < ?").unwrap();
        connection.commit(transaction).unwrap();
        let between = |c: &Connection, from: i64, to: i64| {
            let row = c.execute_and_commit(&by_id, (from, to));
            row.map(|row| row.map(|row| row.to_values()))
        };
        for _ in 0..2 {
            let (cost, row) = trips(&mut connection, |c| between(c, 4, 5).unwrap());
            assert_eq!((cost, row), (1, Some(vec![Value::integer(4), Value::integer(8)])));
            assert_eq!(between(&connection, 7, 8).unwrap(), None);
            let two = between(&connection, 3, 5).unwrap_err();
            assert!(two.has(isc::SING_SELECT_ERR), "{two}");
        }
        // It has left no cursor open.
        let transaction = begin(&connection);
        let rows = connection.query(&transaction, &by_id, (1_i64, 9_i64)).unwrap().count();
        assert_eq!(rows, 5);
        connection.commit(transaction).unwrap();
        drop((insert, by_id));
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_row_of_a_single_statement_and_its_errors_arrive() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer not null primary key, b varchar(5))"]);
        let transaction = begin(&connection);
        let sql = "insert into t values (?, 'abc') returning id + 1, b";
        let insert = connection.prepare(&transaction, sql).unwrap();
        let row = connection.execute(&transaction, &insert, &[Value::integer(1)]).unwrap();
        assert_eq!(row.unwrap(), [Value::integer(2), Value::text("abc")]);
        let error = connection.execute(&transaction, &insert, &[Value::integer(1)]).unwrap_err();
        assert!(error.has(isc::UNIQUE_KEY_VIOLATION), "{error}");
        let error = connection.execute(&transaction, &insert, &[]).unwrap_err();
        assert_eq!(error.gds_code(), isc::DSQL_SQLDA_ERR);
        let error = connection.prepare(&transaction, "select nothing from nowhere").unwrap_err();
        assert_eq!(error.sql_code(), -204, "{error}");
        let error = connection.query_all(&transaction, "select 1 / 0 from rdb$database").unwrap_err();
        assert!(error.has(isc::ARITH_EXCEPT), "{error}");
        // All of that left the connection as it was.
        let row = connection.execute(&transaction, &insert, &[Value::integer(5)]).unwrap();
        assert_eq!(row.unwrap().get::<i64>(0).unwrap(), 6);
        drop(insert);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_dropped_transaction_is_rolled_back() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer)"]);
        let transaction = begin(&connection);
        connection.run(&transaction, "insert into t values (1)").unwrap();
        drop(transaction);
        assert_eq!(value(&connection, "select count(*) from t"), Value::integer(0));
        let options = TransactionOptions { read_only: true, ..TransactionOptions::default() };
        let reader = connection.begin(&options).unwrap();
        let error = connection.run(&reader, "insert into t values (1)").unwrap_err();
        assert!(error.has(isc::READ_ONLY_TRANS), "{error}");
        drop(reader);
        connection.drop_database().unwrap();
    }
}
