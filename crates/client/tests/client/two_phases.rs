//! Two-phase commit.

use farbird_client::Value;
use farbird_client::blocking::{Connection, commit_together};

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
            other.prepare_transaction(&transaction, b"a note").unwrap();
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
        connection.close().unwrap();
        place.drop_when_alone(&location);
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
        commit_together(parts).unwrap();
        for connection in connections {
            assert_eq!(value(&connection, "select count(*) from t"), Value::integer(1));
            connection.drop_database().unwrap();
        }
    }
}
