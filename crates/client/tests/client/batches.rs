//! The batch API.

use farbird_client::Value;
use farbird_client::blocking::Connection;
use farbird_types::isc;

use crate::servers::{all, begin, run, value};

/// Whether the server's protocol has batches; if not, that is said.
fn has_batches(connection: &mut Connection) -> bool {
    if connection.version().has_statement_timeout() {
        return true;
    }
    let transaction = begin(connection);
    let statement = connection.prepare(&transaction, "delete from rdb$types where 1 = ?").unwrap();
    let error = connection.batch(&transaction, &statement).unwrap_err();
    assert_eq!(error.gds_code(), isc::WISH_LIST);
    false
}

#[test]
fn many_rows_travel_in_few_packets() {
    for place in all() {
        let mut connection = place.create();
        run(&mut connection, &["create table t (id integer not null primary key, name varchar(500))"]);
        if has_batches(&mut connection) {
            let transaction = begin(&mut connection);
            let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
            let before = connection.counters().round_trips;
            let mut batch = connection.batch(&transaction, &insert).unwrap();
            for id in 0..20_000 {
                batch.add(&[Value::integer(id), Value::text("a name")]).unwrap();
            }
            assert_eq!(batch.finish().unwrap().into_result().unwrap(), 20_000);
            // Rows count as 2,006 bytes each: 40 MB are executed in ten pieces.
            let trips = connection.counters().round_trips - before;
            assert!(trips <= 20, "{trips}");
            connection.commit(transaction).unwrap();
            assert_eq!(value(&mut connection, "select count(*) from t"), Value::integer(20_000));
            drop(insert);
        }
        connection.drop_database().unwrap();
    }
}

#[test]
fn rows_that_fail_are_told_and_others_stay() {
    for place in all() {
        let mut connection = place.create();
        run(&mut connection, &["create table t (id integer not null primary key)"]);
        if has_batches(&mut connection) {
            let transaction = begin(&mut connection);
            let insert = connection.prepare(&transaction, "insert into t values (?)").unwrap();
            let mut batch = connection.batch(&transaction, &insert).unwrap();
            for id in [1, 2, 2, 3] {
                batch.add(&[Value::integer(id)]).unwrap();
            }
            let error = batch.add(&[Value::text("x")]).unwrap_err();
            assert_eq!(error.gds_code(), isc::DSQL_SQLDA_ERR);
            let outcome = batch.finish().unwrap();
            assert_eq!((outcome.executed, outcome.failed), (4, 1));
            assert_eq!(outcome.failures[0].0, 2);
            assert!(outcome.failures[0].1.has(isc::UNIQUE_KEY_VIOLATION));
            // The statement has its batch no more: the next one is a new one.
            let mut batch = connection.batch(&transaction, &insert).unwrap();
            batch.add(&[Value::integer(4)]).unwrap();
            assert_eq!(batch.finish().unwrap().into_result().unwrap(), 1);
            connection.commit(transaction).unwrap();
            assert_eq!(value(&mut connection, "select count(*) from t"), Value::integer(4));
            drop(insert);
        }
        connection.drop_database().unwrap();
    }
}

#[test]
fn blobs_travel_in_the_batch() {
    let long: Vec<u8> = (0..700_001_u32).map(|i| (i % 251) as u8).collect();
    for place in all() {
        let mut connection = place.create();
        run(&mut connection, &["create table t (id integer not null primary key, b blob)"]);
        if has_batches(&mut connection) {
            let contents: [&[u8]; 4] = [b"", b"abc", &long, b"after"];
            let transaction = begin(&mut connection);
            let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
            let mut batch = connection.batch(&transaction, &insert).unwrap();
            for (id, contents) in (1..).zip(contents) {
                let blob = batch.add_blob(contents).unwrap();
                batch.add(&[Value::integer(id), blob]).unwrap();
            }
            assert_eq!(batch.finish().unwrap().into_result().unwrap(), 4);
            let rows = connection.query_all(&transaction, "select b from t order by id").unwrap();
            for (row, wanted) in rows.iter().zip(contents) {
                let Value::Blob(id) = row[0] else { panic!("{row:?}") };
                assert!(connection.read_blob(&transaction, id).unwrap() == wanted);
            }
            drop(insert);
            connection.commit(transaction).unwrap();
        }
        connection.drop_database().unwrap();
    }
}
