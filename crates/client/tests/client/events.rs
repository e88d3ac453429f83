//! Events, on servers that have them.

use std::collections::BTreeMap;
use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{Posted, TransactionOptions};
use farbird_types::isc;

use crate::servers::{all, run};

const POST: &str =
    "execute block as begin post_event 'A'; post_event 'A'; post_event 'grün'; post_event 'C'; end";

fn add(counts: &mut BTreeMap<String, u32>, posted: Vec<Posted>) {
    for Posted { name, count } in posted {
        *counts.entry(name).or_default() += count;
    }
}

fn expected(times: u32) -> BTreeMap<String, u32> {
    BTreeMap::from([("A".to_owned(), 2 * times), ("grün".to_owned(), times)])
}

#[test]
fn events_are_counted_from_the_start_of_listening() {
    for place in all() {
        let location = place.location();
        let poster = place.create_at(&location);
        run(&poster, &[POST]);
        let listener = Connection::attach(&location, &place.options).unwrap();
        match listener.events(&["A", "grün"]) {
            // Farbird has none yet, and says so.
            Err(error) => assert_eq!(error.gds_code(), isc::WISH_LIST, "{error}"),
            Ok(mut events) => {
                for _ in 0..2 {
                    assert_eq!(events.next(Some(Duration::from_millis(200))).unwrap(), None);
                    run(&poster, &[POST]);
                    let mut counts = BTreeMap::new();
                    while counts != expected(1) {
                        let posted = events.next(Some(Duration::from_secs(20))).unwrap();
                        add(&mut counts, posted.expect("events within 20 seconds"));
                    }
                }
                listener.ping().unwrap();
            }
        }
        listener.close().unwrap();
        poster.drop_database().unwrap();
    }
}

#[test]
fn a_task_waits_for_events() {
    for place in all() {
        let location = place.location();
        let poster = place.create_at(&location);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = farbird_client::Connection::attach(&location, &place.options).await.unwrap();
            match listener.events(&["A", "grün"]).await {
                Err(error) => assert_eq!(error.gds_code(), isc::WISH_LIST, "{error}"),
                Ok(mut events) => {
                    let other = farbird_client::Connection::attach(&location, &place.options).await.unwrap();
                    let mut counts = BTreeMap::new();
                    for _ in 0..3 {
                        let transaction = other.begin(&TransactionOptions::default()).await.unwrap();
                        other.run(&transaction, POST).await.unwrap();
                        other.commit(transaction).await.unwrap();
                        add(&mut counts, events.next().await.unwrap());
                    }
                    while counts != expected(3) {
                        let more = tokio::time::timeout(Duration::from_secs(20), events.next());
                        add(&mut counts, more.await.expect("events within 20 seconds").unwrap());
                    }
                    other.close().await.unwrap();
                }
            }
            listener.close().await.unwrap();
        });
        poster.drop_database().unwrap();
    }
}
