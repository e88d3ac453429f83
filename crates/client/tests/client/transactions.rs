//! Transactions: every option, SQL, savepoints, what servers say of them; options of attachments.

use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{
    AttachOptions, ConnectOptions, Isolation, TableAccess, TableReservation, TableSharing, Transaction,
    TransactionOptions, Value, Wait,
};
use farbird_types::isc;

use crate::servers::{TestServer, all, begin, run, value};

/// A database with a table of one row, and two connections to it.
fn pair(place: &TestServer) -> (Connection, Connection) {
    let location = place.location();
    let one = place.create_at(&location);
    run(
        &one,
        &["create table t (id integer not null primary key, n integer)", "insert into t values (1, 10)"],
    );
    let two = Connection::attach(&location, &place.options).unwrap();
    (one, two)
}

fn end(one: Connection, two: Connection) {
    two.close().unwrap();
    one.drop_database().unwrap();
}

fn number(connection: &Connection, transaction: &Transaction) -> Value {
    connection.query_all(transaction, "select sum(n) from t").unwrap()[0][0].clone()
}

#[test]
fn servers_know_transactions_as_they_were_asked_for() {
    for place in all() {
        let connection = place.create();
        let has_consistency = connection.version().has_statement_timeout();
        let committed = if has_consistency { Isolation::ReadConsistency } else { Isolation::ReadCommitted };
        let committed_without =
            if has_consistency { committed } else { Isolation::ReadCommittedNoRecordVersion };
        let mut asked = vec![
            (Isolation::Snapshot, Isolation::Snapshot),
            (Isolation::TableStability, Isolation::TableStability),
            (Isolation::ReadCommitted, committed),
            (Isolation::ReadCommittedNoRecordVersion, committed_without),
        ];
        if has_consistency {
            asked.push((Isolation::ReadConsistency, Isolation::ReadConsistency));
        }
        for (isolation, told) in asked {
            for (read_only, wait) in
                [(false, Wait::Forever), (true, Wait::No), (false, Wait::Timeout(Duration::from_secs(7)))]
            {
                let options = TransactionOptions { isolation, read_only, wait, ..Default::default() };
                let transaction = connection.begin(&options).unwrap();
                let before = connection.counters().round_trips;
                let information = connection.transaction_information(&transaction).unwrap();
                assert_eq!(connection.counters().round_trips - before, 1);
                assert_eq!(
                    (information.isolation, information.read_only, information.wait),
                    (told, read_only, wait)
                );
                assert!(information.id > 0 && information.database.is_some(), "{information:?}");
                connection.rollback(transaction).unwrap();
            }
        }
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_snapshot_is_shared_by_its_number() {
    for place in all() {
        let (one, two) = pair(&place);
        if one.version().has_statement_timeout() {
            let first = begin(&one);
            let snapshot = one.transaction_information(&first).unwrap().snapshot_number.unwrap();
            run(&two, &["update t set n = 99"]);
            let isolation = Isolation::SnapshotAt(snapshot);
            let second = two.begin(&TransactionOptions { isolation, ..Default::default() }).unwrap();
            assert_eq!(number(&two, &second), Value::integer(10));
            two.rollback(second).unwrap();
            assert_eq!(value(&two, "select n from t"), Value::integer(99));
            one.rollback(first).unwrap();
        }
        end(one, two);
    }
}

#[test]
fn a_reserved_table_is_locked_from_the_start() {
    for place in all() {
        let (one, two) = pair(&place);
        let reservation = |sharing| TransactionOptions {
            wait: Wait::No,
            reservations: vec![TableReservation {
                table: "T".to_owned(),
                access: TableAccess::Write,
                sharing,
            }],
            ..Default::default()
        };
        let first = one.begin(&reservation(TableSharing::Protected)).unwrap();
        assert_eq!(number(&one, &first), Value::integer(10));
        let second = two.begin(&reservation(TableSharing::Protected)).unwrap();
        let error = two.query_all(&second, "select n from t").unwrap_err();
        assert_eq!(error.gds_code(), isc::LOCK_CONFLICT, "{error}");
        drop(second);
        one.rollback(first).unwrap();
        let shared = two.begin(&reservation(TableSharing::Shared)).unwrap();
        two.run(&shared, "update t set n = 11").unwrap();
        two.commit(shared).unwrap();
        end(one, two);
    }
}

#[test]
fn waiting_and_not_waiting_for_a_changed_row() {
    for place in all() {
        let (one, two) = pair(&place);
        let first = begin(&one);
        one.run(&first, "update t set n = 11").unwrap();
        for wait in [Wait::No, Wait::Timeout(Duration::from_secs(1))] {
            let second = two.begin(&TransactionOptions { wait, ..Default::default() }).unwrap();
            let error = two.run(&second, "update t set n = 12").unwrap_err();
            let conflicts = [isc::DEADLOCK, isc::LOCK_CONFLICT, isc::LOCK_TIMEOUT];
            assert!(conflicts.contains(&error.gds_code()), "{wait:?}: {error}");
            two.rollback(second).unwrap();
        }
        one.rollback(first).unwrap();
        end(one, two);
    }
}

#[test]
fn further_options_have_their_effects() {
    for place in all() {
        let (one, two) = pair(&place);
        let committing = TransactionOptions { auto_commit: true, ..Default::default() };
        let transaction = one.begin(&committing).unwrap();
        one.run(&transaction, "update t set n = 20").unwrap();
        assert_eq!(value(&two, "select n from t"), Value::integer(20));
        one.rollback(transaction).unwrap();

        // Firebird 5 and Farbird have this option.
        let version = one.server_version().unwrap();
        let release_temporary_blob_ids = !(version.contains("Firebird 3") || version.contains("Firebird 4"));
        let others = TransactionOptions {
            ignore_limbo: true,
            no_auto_undo: true,
            restart_requests: true,
            release_temporary_blob_ids,
            ..Default::default()
        };
        let transaction = one.begin(&others).unwrap();
        one.run(&transaction, "update t set n = 30").unwrap();
        one.rollback(transaction).unwrap();
        assert_eq!(value(&two, "select n from t"), Value::integer(20));

        let reading = one.begin(&TransactionOptions { read_only: true, ..Default::default() }).unwrap();
        let error = one.run(&reading, "update t set n = 30").unwrap_err();
        assert_eq!(error.gds_code(), isc::READ_ONLY_TRANS, "{error}");
        one.rollback(reading).unwrap();
        end(one, two);
    }
}

#[test]
fn transactions_are_started_by_sql_without_a_trip() {
    for place in all() {
        let (one, two) = pair(&place);
        let before = one.counters().round_trips;
        let transaction =
            one.begin_by("SET  TRANSACTION read only isolation level snapshot no wait").unwrap();
        assert_eq!(one.counters().round_trips, before);
        let information = one.transaction_information(&transaction).unwrap();
        assert_eq!(one.counters().round_trips, before + 1);
        assert!(information.read_only);
        assert_eq!((information.isolation, information.wait), (Isolation::Snapshot, Wait::No));
        one.rollback(transaction).unwrap();
        assert_eq!(one.begin_by("select 1 from t").unwrap_err().gds_code(), isc::DSQL_COMMAND_ERR);
        let wrong = one.begin_by("set transaction sideways").unwrap();
        let error = one.query_all(&wrong, "select 1 from t").unwrap_err();
        assert_eq!(error.gds_code(), isc::DSQL_ERROR, "{error}");
        drop(wrong);
        assert_eq!(value(&one, "select n from t"), Value::integer(10));
        end(one, two);
    }
}

#[test]
fn savepoints_undo_a_part_of_a_transaction() {
    for place in all() {
        let (one, two) = pair(&place);
        let transaction = begin(&one);
        one.savepoint(&transaction, "A \"quoted\" name").unwrap();
        one.run(&transaction, "update t set n = 11").unwrap();
        one.savepoint(&transaction, "b").unwrap();
        one.run(&transaction, "update t set n = 12").unwrap();
        one.rollback_to_savepoint(&transaction, "b").unwrap();
        assert_eq!(number(&one, &transaction), Value::integer(11));
        one.release_savepoint(&transaction, "b").unwrap();
        let error = one.rollback_to_savepoint(&transaction, "b").unwrap_err();
        assert_eq!(error.gds_code(), isc::INVALID_SAVEPOINT, "{error}");
        one.rollback_to_savepoint(&transaction, "A \"quoted\" name").unwrap();
        one.commit(transaction).unwrap();
        assert_eq!(value(&two, "select n from t"), Value::integer(10));
        end(one, two);
    }
}

#[test]
fn options_of_an_attachment_have_their_effects() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        let is_new = connection.version().has_statement_timeout();
        run(
            &connection,
            &[
                "create role clerk",
                &format!("grant clerk to {}", place.options.user),
                "create table log (n integer)",
                "create trigger attached on connect as begin insert into log values (1); end",
            ],
        );
        let attach = AttachOptions {
            no_database_triggers: true,
            no_garbage_collection: true,
            page_buffers: Some(300),
            session_time_zone: Some("+02:00".to_owned()),
            bind: vec!["decfloat to double precision".to_owned(), "time zone to extended".to_owned()],
            decfloat_round: Some("DOWN".to_owned()),
            decfloat_traps: Some("Division_by_zero".to_owned()),
            parallel_workers: Some(1),
            raw: vec![(250, b"nobody knows this".to_vec())],
            ..Default::default()
        };
        let options = ConnectOptions { attach, role: Some("CLERK".to_owned()), ..place.options.clone() };
        let other = Connection::attach(&location, &options).unwrap();
        assert_eq!(value(&other, "select count(*) from log"), Value::integer(0));
        assert_eq!(value(&other, "select trim(current_role) from rdb$database"), Value::text("CLERK"));
        if is_new {
            let zone = "select cast(rdb$get_context('SYSTEM', 'SESSION_TIMEZONE') as varchar(9) character set utf8) from rdb$database";
            assert_eq!(value(&other, zone), Value::text("+02:00"));
            let transaction = begin(&other);
            let statement =
                other.prepare(&transaction, "select cast(1 as decfloat) from rdb$database").unwrap();
            assert_eq!(format!("{:?}", statement.columns()[0].message_type), "Double");
            other.rollback(transaction).unwrap();
        }
        other.close().unwrap();
        let plain = Connection::attach(&location, &place.options).unwrap();
        assert_eq!(value(&plain, "select count(*) from log"), Value::integer(1));
        plain.close().unwrap();
        connection.drop_database().unwrap();
    }
}
