//! What happens to a statement that runs: cancels, timeouts, broken lines, the server's end.

use std::time::Duration;

use farbird_types::{Error, Value, isc};
use farbird_wire::packet::{Reply, Request};
use farbird_wire::protocol::{Handle, cancel};

use crate::common::client::check;
use crate::common::{Client, Login, TestServer};

const ENDLESS: &str =
    "EXECUTE BLOCK AS DECLARE I BIGINT = 0; BEGIN WHILE (TRUE) DO I = MOD(I + 1, 1000); END";

/// The error that a reply carries.
fn error_of(reply: Reply) -> Error {
    let Reply::Response(response) = reply else { panic!("a response was expected, not {reply:?}") };
    check(response).unwrap_err()
}

/// Two connections to a database with a row, which the first has locked.
fn locked_row(server: &TestServer) -> (Client, Client) {
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)");
    owner.run("INSERT INTO T VALUES (1, 0)");
    let other = server.attach("t.fbd");
    let transaction = owner.start();
    owner.run_in(transaction, "UPDATE T SET N = 1").unwrap();
    (owner, other)
}

/// Waits until a statement runs in another connection.
fn wait_until_running(observer: &mut Client, text: &str) {
    let sql = format!(
        "SELECT COUNT(*) FROM MON$STATEMENTS WHERE MON$STATE = 1 AND MON$SQL_TEXT STARTING WITH '{text}'"
    );
    while observer.value(&sql) == Value::integer(0) {}
}

#[test]
fn a_statement_is_cancelled() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let transaction = client.start();
    let text = client.text(transaction, Handle::NONE, ENDLESS);
    client.send(&[Request::ExecuteImmediate(text)]);
    let error = error_of(client.cancel_until_answered());
    assert_eq!(error.gds_code(), isc::CANCELLED);
    client.rollback(transaction);
    assert_eq!(client.value("SELECT 1 FROM RDB$DATABASE"), Value::integer(1));
}

/// Both in one write: the cancel is read before the statement has begun.
#[test]
fn a_cancel_right_behind_its_statement_is_not_lost() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    for _ in 0..10 {
        let transaction = client.start();
        let text = client.text(transaction, Handle::NONE, ENDLESS);
        client.send(&[Request::ExecuteImmediate(text), Request::Cancel { kind: cancel::RAISE }]);
        assert_eq!(error_of(client.reply()).gds_code(), isc::CANCELLED);
        client.rollback(transaction);
    }
}

#[test]
fn a_wait_for_a_lock_is_cancelled() {
    let server = TestServer::start();
    let (_owner, mut other) = locked_row(&server);
    let transaction = other.start();
    let text = other.text(transaction, Handle::NONE, "UPDATE T SET N = 2");
    other.send(&[Request::ExecuteImmediate(text)]);
    let error = error_of(other.cancel_until_answered());
    assert_eq!(error.gds_code(), isc::CANCELLED);
    other.rollback(transaction);
    assert_eq!(other.value("SELECT N FROM T"), Value::integer(0));
}

#[test]
fn a_cancel_with_nothing_to_cancel_is_forgotten() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.send(&[Request::Cancel { kind: cancel::RAISE }]);
    client.ask(Request::Ping).unwrap();
    client.send(&[Request::Cancel { kind: cancel::RAISE }]);
    assert_eq!(client.value("SELECT 1 FROM RDB$DATABASE"), Value::integer(1));
}

#[test]
fn a_statement_ends_at_its_timeout_also_while_it_waits_for_a_lock() {
    let server = TestServer::start();
    let (_owner, mut other) = locked_row(&server);
    for sql in ["UPDATE T SET N = 2", ENDLESS] {
        let transaction = other.start();
        let statement = other.prepare(transaction, sql).unwrap();
        let mut execute = other.execution(transaction, &statement, &[]);
        execute.timeout_ms = 50;
        let error = other.ask(Request::Execute(execute)).unwrap_err();
        assert!(error.has(isc::CANCELLED) && error.has(isc::REQ_STMT_TIMEOUT), "{sql}: {error}");
        other.rollback(transaction);
    }
    assert_eq!(other.value("SELECT N FROM T"), Value::integer(0));
}

#[test]
fn the_administrators_timeout_ends_a_statement() {
    let server = TestServer::with(|config| config.statement_timeout = Some(Duration::from_millis(50)));
    let mut client = server.create("t.fbd");
    let error = client.try_run(ENDLESS).unwrap_err();
    assert_eq!(error.gds_code(), isc::CANCELLED);
}

#[test]
fn a_session_ends_if_nobody_asks_anything_of_it_for_too_long() {
    let server = TestServer::start();
    let (mut owner, mut other) = locked_row(&server);
    owner.run("SET SESSION IDLE TIMEOUT 1 SECOND");
    // Waits for the lock, which goes with the session.
    other.run("UPDATE T SET N = 5");
    assert_eq!(other.value("SELECT N FROM T"), Value::integer(5));
    let error = owner.ask(Request::Ping).unwrap_err();
    assert!(error.has(isc::ATT_SHUTDOWN) && error.has(isc::ATT_SHUT_IDLE), "{error}");
}

#[test]
fn a_wait_for_a_lock_ends_at_the_transactions_timeout() {
    let server = TestServer::start();
    let (_owner, mut other) = locked_row(&server);
    // Version 3, concurrency, lock timeout of one second; then no wait.
    for tpb in [&[3, 2, 6, 9, 21, 4, 1, 0, 0, 0][..], &[3, 2, 7, 9]] {
        let transaction = other.start_with(tpb);
        let error = other.run_in(transaction, "UPDATE T SET N = 2").unwrap_err();
        let conflicts = [isc::DEADLOCK, isc::LOCK_TIMEOUT, isc::LOCK_CONFLICT];
        assert!(conflicts.contains(&error.gds_code()), "{tpb:?}: {error}");
        other.rollback(transaction);
    }
}

#[test]
fn a_broken_connection_lets_its_locks_go() {
    let server = TestServer::start();
    let (owner, mut other) = locked_row(&server);
    let transaction = other.start();
    let text = other.text(transaction, Handle::NONE, "UPDATE T SET N = N + 10");
    other.send(&[Request::ExecuteImmediate(text)]);
    drop(owner);
    other.response().unwrap();
    other.commit(transaction);
    assert_eq!(other.value("SELECT N FROM T"), Value::integer(10));
}

#[test]
fn a_statement_whose_connection_broke_is_stopped() {
    let server = TestServer::start();
    let (mut owner, mut other) = locked_row(&server);
    let busy = owner.start();
    let text = owner.text(busy, Handle::NONE, ENDLESS);
    owner.send(&[Request::ExecuteImmediate(text)]);
    wait_until_running(&mut other, "EXECUTE BLOCK");
    drop(owner);
    let transaction = other.start();
    other.run_in(transaction, "UPDATE T SET N = N + 10").unwrap();
    other.commit(transaction);
    assert_eq!(other.value("SELECT N FROM T"), Value::integer(10));
}

#[test]
fn the_server_stops_while_a_statement_runs_and_rolls_it_back() {
    let mut server = TestServer::with(|config| config.shutdown_grace = Duration::ZERO);
    let (mut owner, mut other) = locked_row(&server);
    let busy = owner.start();
    let text = owner.text(busy, Handle::NONE, ENDLESS);
    owner.send(&[Request::ExecuteImmediate(text)]);
    wait_until_running(&mut other, "EXECUTE BLOCK");
    server.shut_down();
    if let Some(reply) = owner.next_reply() {
        assert!(error_of(reply).has(isc::ATT_SHUTDOWN));
        assert!(owner.is_closed_by_server());
    }
    assert!(other.is_closed_by_server());
    server.start_again();
    let mut client = server.attach("t.fbd");
    assert_eq!(client.value("SELECT N FROM T"), Value::integer(0));
}

#[test]
fn a_statement_may_finish_before_the_server_stops() {
    let mut server = TestServer::start();
    let (mut owner, mut other) = locked_row(&server);
    let transaction = other.start();
    let text = other.text(transaction, Handle::NONE, "UPDATE T SET N = N + 10");
    other.send(&[Request::ExecuteImmediate(text)]);
    wait_until_running(&mut owner, "UPDATE T SET N = N + 10");
    // The owner is at rest: it is closed at once, which lets the other's statement go on.
    server.shut_down();
    other.response().unwrap();
    assert!(other.is_closed_by_server());
    assert!(Client::try_open(server.address).is_none(), "nobody listens any more");
}

#[test]
fn a_client_that_does_not_read_does_not_hold_up_the_servers_end() {
    let mut server = TestServer::with(|config| config.shutdown_grace = Duration::ZERO);
    let mut sleepy = server.create("t.fbd");
    let transaction = sleepy.start();
    let sql = "SELECT RPAD('x', 8000, 'abc') FROM RDB$TYPES A, RDB$TYPES B";
    let statement = sleepy.prepare(transaction, sql).unwrap();
    sleepy.execute(transaction, &statement, &[]).unwrap();
    let fetch = sleepy.fetch_request(&statement, 1000);
    sleepy.send(&vec![Request::Fetch(fetch); 100]);
    // The first row is here: the rest is on its way until nothing more fits.
    assert!(matches!(sleepy.reply(), Reply::FetchResponse(_)));
    server.shut_down();
}

#[test]
fn cancels_can_be_turned_off_and_on() {
    let server = TestServer::start();
    let (mut owner, mut other) = locked_row(&server);
    other.send(&[Request::Cancel { kind: cancel::DISABLE }]);
    let transaction = other.start();
    let text = other.text(transaction, Handle::NONE, "UPDATE T SET N = N + 10");
    other.send(&[Request::ExecuteImmediate(text.clone())]);
    wait_until_running(&mut owner, "UPDATE T SET N = N + 10");
    other.send(&[Request::Cancel { kind: cancel::RAISE }]);
    // The first detach is refused while the row is locked; the second one frees it.
    assert_eq!(owner.ask(Request::Detach(Handle::NONE)).unwrap_err().gds_code(), isc::OPEN_TRANS);
    owner.ask(Request::Detach(Handle::NONE)).unwrap();
    other.response().unwrap();
    other.send(&[Request::Cancel { kind: cancel::ENABLE }]);
    other.rollback(transaction);
    let transaction = other.start();
    let endless = other.text(transaction, Handle::NONE, ENDLESS);
    other.send(&[Request::ExecuteImmediate(endless)]);
    assert_eq!(error_of(other.cancel_until_answered()).gds_code(), isc::CANCELLED);
}

#[test]
fn a_ping_is_answered() {
    let server = TestServer::start();
    let mut client = Client::log_in(server.address, &Login::default()).unwrap();
    client.ask(Request::Ping).unwrap();
    client.create("t.fbd", &[]).unwrap();
    client.ask(Request::Ping).unwrap();
    client.send(&[Request::Dummy]);
    assert_eq!(client.reply(), Reply::Dummy);
}
