//! Stopping statements: by cancelling, by limits of time; connections that break.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, Value, WireCrypt};
use farbird_types::isc;

use crate::servers::{Cancelling, all, begin, farbird, value};

/// A query that no server finishes while a test waits.
const ENDLESS: &str =
    "select count(*) from rdb$fields a, rdb$fields b, rdb$fields c, rdb$fields d, rdb$fields e";

#[test]
fn a_statement_is_cancelled_from_another_thread() {
    for place in all() {
        let connection = place.create();
        let cancelling = Cancelling::after(Duration::from_millis(500), connection.canceller());
        let transaction = begin(&connection);
        let error = connection.query_all(&transaction, ENDLESS).unwrap_err();
        assert_eq!(error.gds_code(), isc::CANCELLED, "{error}");
        cancelling.end();
        // The transaction goes on.
        let rows = connection.query_all(&transaction, "select 1 from rdb$database").unwrap();
        assert_eq!(rows, [[Value::integer(1)]]);
        connection.rollback(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn cancels_are_refused_while_they_are_disabled() {
    for place in all() {
        let connection = place.create();
        let canceller = connection.canceller();
        canceller.disable().unwrap();
        canceller.cancel().unwrap();
        assert_eq!(value(&connection, "select 2 from rdb$database"), Value::integer(2));
        canceller.enable().unwrap();
        connection.ping().unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn an_aborted_connection_says_so_to_whoever_waits_and_to_all_others() {
    let place = farbird();
    let connection = place.create();
    let canceller = connection.canceller();
    let other = connection.clone();
    let transaction = begin(&connection);
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        canceller.abort();
        canceller.cancel().unwrap_err()
    });
    let error = connection.query_all(&transaction, ENDLESS).unwrap_err();
    assert_eq!(error.gds_code(), isc::ATT_SHUTDOWN, "{error}");
    assert_eq!(thread.join().unwrap(), error);
    assert_eq!(other.ping().unwrap_err(), error);
    assert_eq!(other.failure(), Some(error));
}

#[test]
fn statements_have_limits_of_time_since_protocol_16() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let statement = connection.prepare(&transaction, ENDLESS).unwrap();
        let limit = Some(Duration::from_millis(200));
        if connection.version().has_statement_timeout() {
            statement.set_timeout(limit).unwrap();
            let error = connection.execute(&transaction, &statement, &[]).unwrap_err();
            assert_eq!(error.gds_code(), isc::CANCELLED, "{error}");
            assert!(error.has(isc::REQ_STMT_TIMEOUT), "{error}");
            statement.set_timeout(None).unwrap();
            let before = connection.counters().round_trips;
            connection.set_statement_timeout(limit).unwrap();
            assert_eq!(connection.counters().round_trips - before, 1);
            let error = connection.execute(&transaction, &statement, &[]).unwrap_err();
            assert_eq!(error.gds_code(), isc::CANCELLED, "{error}");
            connection.set_statement_timeout(None).unwrap();
        } else {
            for refused in [statement.set_timeout(limit), connection.set_statement_timeout(limit)] {
                assert_eq!(refused.unwrap_err().gds_code(), isc::WISH_LIST);
            }
        }
        drop(statement);
        connection.rollback(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn an_idle_connection_is_closed_by_the_server_and_says_so() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        if connection.version().has_statement_timeout() {
            match connection.set_idle_timeout(Some(Duration::from_secs(1))) {
                // Farbird has none yet, and says so.
                Err(error) if error.gds_code() == isc::WISH_LIST => {
                    connection.drop_database().unwrap();
                    continue;
                }
                set => set.unwrap(),
            }
            thread::sleep(Duration::from_secs(4));
            let error = connection.ping().and_then(|()| connection.server_version()).unwrap_err();
            assert!(connection.failure().is_some() || error.gds_code() == isc::ATT_SHUTDOWN, "{error}");
            let next = Connection::attach(&location, &place.options).unwrap();
            next.drop_database().unwrap();
        } else {
            let refused = connection.set_idle_timeout(Some(Duration::from_secs(1)));
            assert_eq!(refused.unwrap_err().gds_code(), isc::WISH_LIST);
            connection.drop_database().unwrap();
        }
    }
}

/// Passes bytes on between a client and a server, until it is told to stop: then it falls silent.
fn forward(mut from: TcpStream, mut to: TcpStream, is_silent: std::sync::Arc<std::sync::atomic::AtomicBool>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !is_silent.load(std::sync::atomic::Ordering::Relaxed) && to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn a_silent_server_is_given_up_after_the_read_timeout() {
    let place = farbird();
    let location = place.location();
    let (server, file) = location.split_once(':').unwrap();
    let server = server.replace('/', ":");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let is_silent = std::sync::Arc::default();
    let silence = std::sync::Arc::clone(&is_silent);
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(server).unwrap();
        let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let silent = std::sync::Arc::clone(&silence);
        thread::spawn(move || forward(back.0, back.1, silent));
        forward(client, server, silence);
    });
    let options = ConnectOptions {
        read_timeout: Some(Duration::from_secs(5)),
        wire_crypt: WireCrypt::Disabled,
        ..place.options.clone()
    };
    let connection =
        Connection::create(&format!("127.0.0.1/{port}:{file}"), &Default::default(), &options).unwrap();
    connection.ping().unwrap();
    is_silent.store(true, std::sync::atomic::Ordering::Relaxed);
    let error = connection.ping().unwrap_err();
    assert_eq!(error.gds_code(), isc::NETWORK_ERROR, "{error}");
    assert_eq!(connection.ping().unwrap_err(), error);
}

#[test]
fn a_task_cancels_what_another_waits_for() {
    for place in all() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (create, options) = (Default::default(), place.options.clone());
            let connection =
                farbird_client::Connection::create(&place.location(), &create, &options).await.unwrap();
            let transaction = connection.begin(&Default::default()).await.unwrap();
            let canceller = connection.canceller();
            let cancelling = async {
                let mut pause = Duration::from_millis(500);
                // What comes between two calls of a slow machine stops nothing, so it is said again.
                loop {
                    tokio::time::sleep(pause).await;
                    canceller.cancel().unwrap();
                    pause = Duration::from_secs(5);
                }
            };
            let query = connection.query_all(&transaction, ENDLESS);
            let error =
                tokio::select! { stopped = query => stopped.unwrap_err(), () = cancelling => unreachable!() };
            assert_eq!(error.gds_code(), isc::CANCELLED, "{error}");
            connection.rollback(transaction).await.unwrap();
            connection.drop_database().await.unwrap();
        });
    }
}
