//! Work that is done again when another transaction was in the way.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use farbird_client::blocking::Connection;
use farbird_client::{Error, Isolation, Transaction, TransactionOptions, Value, Wait, isc};

use crate::servers::{all, begin, run, value};

const ADD: &str = "update t set n = n + 1";

fn attempts(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn snapshot(wait: Wait) -> TransactionOptions {
    TransactionOptions { isolation: Isolation::Snapshot, wait, ..Default::default() }
}

#[test]
fn conflicts_are_tried_again_in_new_transactions() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        run(&connection, &["create table t (n integer)", "insert into t values (0)"]);
        let other = Connection::attach(&location, &place.options).unwrap();
        let mut tries = 0;
        let changed = connection.in_transaction(&snapshot(Wait::No), attempts(5), |transaction| {
            tries += 1;
            assert_eq!(connection.query_all(transaction, "select count(*) from t")?.len(), 1);
            if tries < 3 {
                // Another one is quicker, behind this one's snapshot.
                run(&other, &[ADD]);
            }
            connection.run(transaction, ADD)?;
            Ok(tries)
        });
        assert_eq!(changed.unwrap(), 3);
        assert_eq!(value(&connection, "select n from t"), Value::integer(3));

        // No more often than was said; what fails otherwise is not tried again.
        let blocker = begin(&other);
        other.run(&blocker, ADD).unwrap();
        for (count, text, is_conflict) in [(4, ADD, true), (1, "update t set n = 1 / 0", false)] {
            let mut tries = 0;
            let error = connection
                .in_transaction(&snapshot(Wait::No), attempts(4), |transaction| {
                    tries += 1;
                    connection.run(transaction, text)
                })
                .unwrap_err();
            assert_eq!((tries, error.is_conflict()), (count, is_conflict), "{error}");
        }
        other.rollback(blocker).unwrap();
        other.close().unwrap();
        assert_eq!(value(&connection, "select n from t"), Value::integer(3), "nothing stayed of them");
        connection.drop_database().unwrap();
    }
}

#[test]
fn the_asynchronous_face_does_the_same_on_any_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for place in all() {
        let location = place.location();
        let near = place.create_at(&location);
        run(&near, &["create table t (n integer)", "insert into t values (0)"]);
        let tries = Arc::new(AtomicU32::new(0));
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let (location, options, tries) =
                    (location.clone(), place.options.clone(), Arc::clone(&tries));
                runtime.spawn(async move {
                    let connection = farbird_client::Connection::attach(&location, &options).await?;
                    for _ in 0..10 {
                        let (connection, tries) = (&connection, &tries);
                        let work = |transaction: Arc<Transaction>| async move {
                            tries.fetch_add(1, Ordering::Relaxed);
                            connection.run(&transaction, ADD).await
                        };
                        let options = snapshot(Wait::Forever);
                        connection.in_transaction(&options, attempts(1000), work).await?;
                    }
                    connection.close().await?;
                    Ok::<_, Error>(())
                })
            })
            .collect();
        for worker in workers {
            runtime.block_on(worker).unwrap().unwrap();
        }
        assert!(tries.load(Ordering::Relaxed) >= 30);
        assert_eq!(value(&near, "select n from t"), Value::integer(30));
        let transaction = begin(&near);
        let error = near.run(&transaction, "select x from t").unwrap_err();
        assert!(
            error.has(isc::DSQL_FIELD_ERR) && !error.is_conflict() && !error.is_disconnected(),
            "{error}"
        );
        near.rollback(transaction).unwrap();
        near.drop_database().unwrap();
    }
}
