//! The batch API.

use farbird_client::blocking::Connection;
use farbird_client::{BatchBlobs, BatchOptions, Value};
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
        run(&connection, &["create table t (id integer not null primary key, name varchar(500))"]);
        if has_batches(&mut connection) {
            let transaction = begin(&connection);
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
            assert_eq!(value(&connection, "select count(*) from t"), Value::integer(20_000));
            drop(insert);
        }
        connection.drop_database().unwrap();
    }
}

#[test]
fn rows_that_fail_are_told_and_others_stay() {
    for place in all() {
        let mut connection = place.create();
        run(&connection, &["create table t (id integer not null primary key)"]);
        if has_batches(&mut connection) {
            let transaction = begin(&connection);
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
            assert_eq!(value(&connection, "select count(*) from t"), Value::integer(4));
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
        run(&connection, &["create table t (id integer not null primary key, b blob)"]);
        if has_batches(&mut connection) {
            let contents: [&[u8]; 4] = [b"", b"abc", &long, b"after"];
            let transaction = begin(&connection);
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

#[test]
fn a_batch_stops_at_an_error_counts_records_and_tells_what_it_holds() {
    for place in all() {
        let mut connection = place.create();
        run(&connection, &["create table t (id integer not null primary key, n integer)"]);
        if has_batches(&mut connection) {
            let transaction = begin(&connection);
            let insert = connection.prepare(&transaction, "insert into t values (?, 0)").unwrap();
            let options = BatchOptions { stop_at_error: true, ..BatchOptions::default() };
            let mut batch = connection.batch_with(&transaction, &insert, &options).unwrap();
            for id in [1, 2, 2, 3] {
                batch.add(&[Value::integer(id)]).unwrap();
            }
            let outcome = batch.finish().unwrap();
            assert_eq!((outcome.failed, outcome.failures[0].0), (1, 2), "{outcome:?}");
            let rows = connection.query_all(&transaction, "select count(*) from t").unwrap();
            assert_eq!(rows, [[Value::integer(2)]]);

            let update = connection.prepare(&transaction, "update t set n = 1 where id <= ?").unwrap();
            let options = BatchOptions { record_counts: true, ..BatchOptions::default() };
            let mut batch = connection.batch_with(&transaction, &update, &options).unwrap();
            for id in [0, 1, 2] {
                batch.add(&[Value::integer(id)]).unwrap();
            }
            assert_eq!(batch.finish().unwrap().changed, [Some(0), Some(1), Some(2)]);

            let options = BatchOptions { buffer_bytes: Some(1_000_000), ..BatchOptions::default() };
            let mut batch = connection.batch_with(&transaction, &insert, &options).unwrap();
            batch.add(&[Value::integer(10)]).unwrap();
            batch.sync().unwrap();
            if connection.version().has_batch_sync() {
                let information = batch.information().unwrap();
                assert!(information.row_bytes > 0, "{information:?}");
                assert_eq!(information.blob_alignment, 4);
            }
            batch.cancel().unwrap();
            batch.add(&[Value::integer(11)]).unwrap();
            assert_eq!(batch.finish().unwrap().into_result().unwrap(), 1);
            let rows = connection.query_all(&transaction, "select max(id), count(*) from t").unwrap();
            assert_eq!(rows, [[Value::integer(11), Value::integer(3)]]);
            drop((insert, update));
            connection.rollback(transaction).unwrap();
        }
        connection.drop_database().unwrap();
    }
}

#[test]
fn existing_blobs_are_registered_with_a_batch() {
    for place in all() {
        let mut connection = place.create();
        run(&connection, &["create table t (id integer, b blob)"]);
        if has_batches(&mut connection) {
            for blobs in [BatchBlobs::Registered, BatchBlobs::Stream] {
                let transaction = begin(&connection);
                let existing = connection.write_blob(&transaction, b"a blob of its own").unwrap();
                let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
                let options = BatchOptions { blobs, ..BatchOptions::default() };
                let mut batch = connection.batch_with(&transaction, &insert, &options).unwrap();
                let registered = batch.register_blob(existing).unwrap();
                batch.add(&[Value::integer(1), registered]).unwrap();
                assert_eq!(batch.finish().unwrap().into_result().unwrap(), 1);
                let text = "select cast(b as varchar(50) character set octets) from t";
                let rows = connection.query_all(&transaction, text).unwrap();
                let Value::Text(text) = &rows[0][0] else { panic!("{rows:?}") };
                assert_eq!(text.bytes(), b"a blob of its own");
                drop(insert);
                connection.rollback(transaction).unwrap();
            }
        }
        connection.drop_database().unwrap();
    }
}

#[test]
fn bulk_loads_have_the_same_outcome_on_every_server() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer not null primary key)"]);
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?)").unwrap();
        let mut bulk = connection.bulk(&transaction, &insert).unwrap();
        for id in (0..1000).chain([7]).chain(1000..1100) {
            bulk.add(&[Value::integer(id)]).unwrap();
        }
        let outcome = bulk.finish().unwrap();
        assert_eq!((outcome.executed, outcome.failed, outcome.failures[0].0), (1101, 1, 1000));
        connection.commit(transaction).unwrap();
        assert_eq!(value(&connection, "select count(*) from t"), Value::integer(1100));
        drop(insert);
        connection.drop_database().unwrap();
    }
}

#[test]
fn blobs_of_a_batch_take_their_parameters_from_it() {
    // Streams of texts in WIN1252.
    const PARAMETERS: [u8; 13] = [1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 4, 1, 53];
    for place in all() {
        let connection = place.create();
        if !connection.version().has_statement_timeout() {
            connection.drop_database().unwrap();
            continue;
        }
        run(&connection, &["create table t (id integer, b blob sub_type text character set utf8)"]);
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
        let mut batch = connection.batch(&transaction, &insert).unwrap();
        assert!(batch.set_blob_parameters(&[1, 3, 1, 0]).unwrap_err().has(isc::WISH_LIST));
        assert!(batch.set_blob_parameters(&[9]).unwrap_err().has(isc::BPB_VERSION));
        batch.set_blob_parameters(&[&PARAMETERS[..], &[5, 1, 4]].concat()).unwrap();
        for id in 1..=2 {
            let blob = batch.add_blob(b"Gr\xFC\xDFe").unwrap();
            batch.add(&[Value::integer(id), blob]).unwrap();
        }
        assert_eq!(batch.finish().unwrap().into_result().unwrap(), 2);
        let rows = connection.query_all(&transaction, "select cast(b as varchar(20)) from t").unwrap();
        assert_eq!(rows, vec![vec![Value::text("Grüße")]; 2]);
        drop(insert);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}
