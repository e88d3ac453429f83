//! Events: what transactions post, and who is told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use farbird_client::blocking::{Connection, Events};
use farbird_client::{ConnectOptions, Posted, TransactionOptions};

use crate::servers::{TestServer, all, farbird_with, run};

const POST: &str =
    "execute block as begin post_event 'A'; post_event 'A'; post_event 'grün'; post_event 'C'; end";
/// Long enough for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

fn add(counts: &mut BTreeMap<String, u32>, posted: Vec<Posted>) {
    for Posted { name, count } in posted {
        *counts.entry(name).or_default() += count;
    }
}

fn counts_of<const N: usize>(counts: [(&str, u32); N]) -> BTreeMap<String, u32> {
    counts.map(|(name, count)| (name.to_owned(), count)).into()
}

fn expected(times: u32) -> BTreeMap<String, u32> {
    counts_of([("A", 2 * times), ("grün", times)])
}

/// Takes what is told until it is this; what is never told would have been told before `END`, which is posted last.
fn told(events: &mut Events, poster: &Connection) -> BTreeMap<String, u32> {
    run(poster, &["execute block as begin post_event 'END'; end"]);
    let mut counts = BTreeMap::new();
    while !counts.contains_key("END") {
        add(&mut counts, events.next(Some(PATIENCE)).unwrap().expect("events in time"));
    }
    counts.remove("END");
    counts
}

/// Runs statements in one transaction, and ends it as the last one says.
fn in_one_transaction(connection: &Connection, statements: &[&str], commits: bool) {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    for statement in statements {
        // What fails is a part of what is tried.
        let _ = connection.run(&transaction, statement);
    }
    match commits {
        true => connection.commit(transaction).unwrap(),
        false => connection.rollback(transaction).unwrap(),
    }
}

fn with_listener(names: &[&str], work: impl Fn(&TestServer, &Connection, &mut Events)) {
    for place in all() {
        let location = place.location();
        let poster = place.create_at(&location);
        let listener = Connection::attach(&location, &place.options).unwrap();
        let mut events = listener.events(names).unwrap();
        work(&place, &poster, &mut events);
        drop(events);
        listener.close().unwrap();
        poster.drop_database().unwrap();
    }
}

#[test]
fn events_are_counted_from_the_start_of_listening() {
    for place in all() {
        let location = place.location();
        let poster = place.create_at(&location);
        run(&poster, &[POST]);
        let listener = Connection::attach(&location, &place.options).unwrap();
        let mut events = listener.events(&["A", "grün"]).unwrap();
        for _ in 0..2 {
            assert_eq!(events.next(Some(Duration::from_millis(200))).unwrap(), None);
            run(&poster, &[POST]);
            let mut counts = BTreeMap::new();
            while counts != expected(1) {
                let posted = events.next(Some(PATIENCE)).unwrap();
                add(&mut counts, posted.expect("events in time"));
            }
        }
        listener.ping().unwrap();
        listener.close().unwrap();
        poster.drop_database().unwrap();
    }
}

#[test]
fn what_is_undone_is_not_posted() {
    with_listener(&["A", "B", "C", "END"], |place, poster, events| {
        let block = "execute block as begin post_event 'A'; post_event 'B'; end";
        in_one_transaction(poster, &[block], false);
        assert_eq!(told(events, poster), BTreeMap::new());
        let post_b = "execute block as begin post_event 'B'; end";
        let to_savepoint = [block, "savepoint s", post_b, "rollback to savepoint s", block];
        in_one_transaction(poster, &to_savepoint, true);
        assert_eq!(told(events, poster), counts_of([("A", 2), ("B", 2)]));
        // Statements that fail; a block whose error is handled outside of it, and one that handles it itself, which keeps
        // what came before the failure (in Firebird from version 4 on).
        let fails = "execute block as begin post_event 'A'; exception unknown_one; end";
        let fails_late = "execute block as declare i int; begin post_event 'A'; i = 1 / 0; end";
        let outside = "execute block as declare i int; begin post_event 'C'; \
                       begin begin post_event 'A'; i = 1 / 0; end when any do begin post_event 'B'; end end end";
        in_one_transaction(poster, &[fails, fails_late, outside], true);
        assert_eq!(told(events, poster), counts_of([("B", 1), ("C", 1)]));
        let itself = outside.replace("begin begin", "begin").replace("0; end when", "0; when");
        in_one_transaction(poster, &[&itself], true);
        let kept = counts_of([("A", 1), ("B", 1), ("C", 1)]);
        assert!(told(events, poster) == kept || !place.is_own(), "as Firebird 5");
    });
}

#[test]
fn every_kind_of_commit_posts() {
    with_listener(&["A", "B", "END"], |_, poster, events| {
        let block = "execute block as begin post_event 'A'; end";
        in_one_transaction(poster, &[block, "commit retain", block, "rollback retain", block], true);
        assert_eq!(told(events, poster), counts_of([("A", 2)]));
        let autonomous = "execute block as begin post_event 'A'; \
                          in autonomous transaction do begin post_event 'B'; post_event 'B'; end end";
        in_one_transaction(poster, &[autonomous], false);
        assert_eq!(told(events, poster), counts_of([("B", 2)]));
        let reader = TransactionOptions { read_only: true, ..TransactionOptions::default() };
        let transaction = poster.begin(&reader).unwrap();
        poster.run(&transaction, block).unwrap();
        poster.commit(transaction).unwrap();
        assert_eq!(told(events, poster), counts_of([("A", 1)]));
    });
}

#[test]
fn triggers_post_for_each_row() {
    with_listener(&["ROW", "ROW 3", "END"], |_, poster, events| {
        run(
            poster,
            &[
                "create table t (n integer)",
                "create trigger t_posts for t after insert as \
             begin post_event 'ROW'; post_event 'ROW ' || new.n || '  '; end",
            ],
        );
        let insert = "insert into t select 1 from rdb$database union all select 2 from rdb$database \
                      union all select 3 from rdb$database";
        run(poster, &[insert]);
        assert_eq!(told(events, poster), counts_of([("ROW", 3), ("ROW 3", 1)]));
    });
}

#[test]
fn names_may_be_odd() {
    let long = "L".repeat(255);
    with_listener(&["12", "x  ", "END", &long], |_, poster, events| {
        let too_long = "L".repeat(256);
        run(poster, &["execute block as begin post_event null; post_event ''; post_event 12; end"]);
        run(poster, &["execute block as begin post_event 'x'; post_event 'x    '; post_event 'X'; end"]);
        for name in [&long, &too_long] {
            run(poster, &[&format!("execute block as begin post_event '{name}'; end")]);
        }
        let told = told(events, poster);
        let told: BTreeMap<_, _> = told.iter().map(|(name, count)| (name.trim_end(), *count)).collect();
        assert_eq!(told, BTreeMap::from([("12", 1), ("x", 2), (&long[..], 1)]));
        let blob = "execute block as declare b blob; begin b = 'x'; post_event b; end";
        let transaction = poster.begin(&TransactionOptions::default()).unwrap();
        let error = poster.run(&transaction, blob).unwrap_err();
        assert_eq!(error.sql_state(), "22018", "{error}");
        poster.rollback(transaction).unwrap();
    });
}

#[test]
fn many_listen() {
    for place in all() {
        let location = place.location();
        let poster = place.create_at(&location);
        let listeners: Vec<_> =
            (0..8).map(|_| Connection::attach(&location, &place.options).unwrap()).collect();
        let mut all: Vec<Events> =
            listeners.iter().map(|listener| listener.events(&["A", "grün"]).unwrap()).collect();
        let gone = all.pop().unwrap();
        drop(gone);
        run(&poster, &[POST]);
        for events in &mut all {
            let mut counts = BTreeMap::new();
            while counts != expected(1) {
                add(&mut counts, events.next(Some(PATIENCE)).unwrap().expect("events in time"));
            }
        }
        drop(all);
        listeners.into_iter().for_each(|listener| listener.close().unwrap());
        poster.drop_database().unwrap();
    }
}

/// Behind a firewall all second connections come to one port, one after the other.
#[test]
fn second_connections_may_share_a_port() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let place = farbird_with(|config| config.events_port = port);
    let location = place.location();
    let poster = place.create_at(&location);
    let threads = [(); 4].map(|()| {
        let (location, options) = (location.clone(), place.options.clone());
        std::thread::spawn(move || {
            let listener = Connection::attach(&location, &options).unwrap();
            let mut events = listener.events(&["A", "grün"]).unwrap();
            let mut counts = BTreeMap::new();
            let begun = Instant::now();
            while counts.is_empty() && begun.elapsed() < PATIENCE {
                add(&mut counts, events.next(Some(PATIENCE)).unwrap().expect("events in time"));
            }
            counts
        })
    });
    // Who listens later than others is told by a later one of these.
    while threads.iter().any(|thread| !thread.is_finished()) {
        run(&poster, &[POST]);
        std::thread::sleep(Duration::from_millis(20));
    }
    for thread in threads {
        let counts = thread.join().unwrap();
        assert_eq!(counts["A"], 2 * counts["grün"], "{counts:?}");
    }
    poster.close().unwrap();
    place.drop_when_alone(&location);
}

/// Names are said in the character set of the connection, and told as they were said.
#[test]
fn names_have_the_character_set_of_their_connection() {
    let place = farbird_with(|_| ());
    let location = place.location();
    let poster = place.create_at(&location);
    let options = ConnectOptions { character_set: "WIN1252".to_owned(), ..place.options.clone() };
    let listener = Connection::attach(&location, &options).unwrap();
    let mut events = listener.events(&["grün"]).unwrap();
    run(&poster, &[POST]);
    let posted = events.next(Some(PATIENCE)).unwrap();
    assert_eq!(posted, Some(vec![Posted { name: "grün".to_owned(), count: 1 }]));
    listener.close().unwrap();
    poster.drop_database().unwrap();
}

#[test]
fn a_task_waits_for_events() {
    for place in all() {
        let location = place.location();
        let poster = place.create_at(&location);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = farbird_client::Connection::attach(&location, &place.options).await.unwrap();
            let mut events = listener.events(&["A", "grün"]).await.unwrap();
            let other = farbird_client::Connection::attach(&location, &place.options).await.unwrap();
            let mut counts = BTreeMap::new();
            for _ in 0..3 {
                let transaction = other.begin(&TransactionOptions::default()).await.unwrap();
                other.run(&transaction, POST).await.unwrap();
                other.commit(transaction).await.unwrap();
                let one = tokio::time::timeout(PATIENCE, events.next());
                add(&mut counts, one.await.expect("an event in time").unwrap());
            }
            while counts != expected(3) {
                let more = tokio::time::timeout(PATIENCE, events.next());
                add(&mut counts, more.await.expect("events in time").unwrap());
            }
            other.close().await.unwrap();
            listener.close().await.unwrap();
        });
        poster.drop_database().unwrap();
    }
}
