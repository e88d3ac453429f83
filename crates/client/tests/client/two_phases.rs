//! Two-phase commit, on servers that have it.

use farbird_client::Value;
use farbird_client::blocking::{Connection, commit_together};
use farbird_types::isc;

use crate::servers::{all, begin, run, value};

#[test]
fn a_prepared_transaction_outlives_its_connection() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        run(&connection, &["create table t (n integer)"]);
        for commits in [true, false] {
            let other = Connection::attach(&location, &place.options).unwrap();
            let transaction = begin(&other);
            other.run(&transaction, "insert into t values (1)").unwrap();
            if let Err(error) = other.prepare_transaction(&transaction, b"a note") {
                // Farbird has no two-phase commit yet, and says so.
                assert_eq!(error.gds_code(), isc::WISH_LIST, "{error}");
                drop(transaction);
                other.close().unwrap();
                continue;
            }
            other.canceller().abort();
            drop((transaction, other));
            let mut numbers = connection.limbo().unwrap();
            for _ in 0..100 {
                if !numbers.is_empty() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
                numbers = connection.limbo().unwrap();
            }
            let [number] = numbers[..] else { panic!("{numbers:?}") };
            let taken = connection.take_over(number).unwrap();
            if commits {
                connection.commit(taken).unwrap();
            } else {
                connection.rollback(taken).unwrap();
            }
            assert_eq!(value(&connection, "select count(*) from t"), Value::integer(1));
            assert!(connection.take_over(number).is_err());
        }
        connection.drop_database().unwrap();
    }
}

#[test]
fn transactions_on_two_databases_are_committed_together_or_not_at_all() {
    for place in all() {
        let connections = [place.create(), place.create()];
        for connection in &connections {
            run(connection, &["create table t (n integer not null primary key)"]);
        }
        let parts: Vec<_> = connections
            .iter()
            .map(|connection| {
                let transaction = begin(connection);
                connection.run(&transaction, "insert into t values (1)").unwrap();
                (connection.clone(), transaction)
            })
            .collect();
        let expected = match commit_together(parts) {
            Ok(()) => 1,
            Err(error) => {
                assert_eq!(error.gds_code(), isc::WISH_LIST, "{error}");
                0
            }
        };
        for connection in connections {
            assert_eq!(value(&connection, "select count(*) from t"), Value::integer(expected));
            connection.drop_database().unwrap();
        }
    }
}
