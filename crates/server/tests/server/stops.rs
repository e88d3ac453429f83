//! Every statement can be stopped over the wire: each of the endless statements of `lab/data/endless-statements.sql`, all at
//! the same time, in each way that a client, an administrator or the operating system has.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use farbird_types::{Error, Value, isc};
use farbird_wire::packet::{Reply, Request};
use farbird_wire::protocol::{Handle, cancel};

use crate::common::client::check;
use crate::common::{Client, TestServer};

/// The statements, after those that prepare for them.
const STATEMENTS: &str = include_str!("../../../lab/data/endless-statements.sql");
/// Guards against hanging only: how quickly statements stop is a figure of `farbird bench stop`.
const PATIENCE: Duration = Duration::from_secs(180);
/// What a client sets for its statement in the tests of timeouts.
const TIMEOUT_MS: u32 = 200;
const DATABASE: &str = "t.fbd";

/// Names and texts, in order.
fn statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    STATEMENTS
        .split("\n== ")
        .skip(1)
        .map(|entry| entry.split_once('\n').map(|(name, sql)| (name, sql.trim())).expect("a name and a text"))
}

/// Those that run without end and change nothing: at the same time they stand in nobody's way.
fn readers() -> Vec<(&'static str, &'static str)> {
    let writers =
        ["setup", "insert", "insert by a loop", "update", "delete with cascades and triggers", "merge"];
    statements().filter(|(name, _)| !writers.contains(name) && *name != "create index").collect()
}

fn database(server: &TestServer) -> Client {
    let mut owner = server.create(DATABASE);
    for (_, sql) in statements().filter(|(name, _)| *name == "setup") {
        owner.run(sql);
    }
    owner
}

/// A connection that runs a statement.
struct Victim {
    name: &'static str,
    client: Client,
    transaction: Handle,
    /// Whether a fetch went out behind the execute, and has an answer of its own.
    has_cursor: bool,
}

impl Victim {
    fn start(server: &TestServer, name: &'static str, sql: &str, timeout_ms: u32) -> Victim {
        let mut client = server.attach(DATABASE);
        let transaction = client.start();
        let statement = client.prepare(transaction, sql).unwrap();
        let mut execute = client.execution(transaction, &statement, &[]);
        execute.timeout_ms = timeout_ms;
        let has_cursor = statement.has_cursor();
        let mut requests = vec![Request::Execute(execute)];
        if has_cursor {
            requests.push(Request::Fetch(client.fetch_request(&statement, 1000)));
        }
        client.send(&requests);
        Victim { name, client, transaction, has_cursor }
    }

    /// How the statement ended; `None` if the connection was closed before that was said.
    fn end(&mut self) -> Option<Error> {
        loop {
            match self.client.next_reply()? {
                Reply::Response(response) => match check(response) {
                    Err(error) => {
                        // Without a cursor the fetch fails too.
                        if self.has_cursor {
                            self.client.next_reply();
                        }
                        return Some(error);
                    }
                    Ok(_) => assert!(std::mem::take(&mut self.has_cursor), "{} came to its end", self.name),
                },
                Reply::FetchResponse(row) => assert!(row.message.is_some(), "{} came to its end", self.name),
                Reply::InlineBlob(_) => {}
                other => panic!("{}: {other:?}", self.name),
            }
        }
    }

    /// Its session can do something else.
    fn goes_on(mut self) {
        self.client.rollback(self.transaction);
        assert_eq!(self.client.value("SELECT 1 FROM RDB$DATABASE"), Value::integer(1), "{}", self.name);
    }
}

/// How many others run something.
fn running(observer: &mut Client) -> Value {
    observer.value(
        "SELECT COUNT(*) FROM MON$STATEMENTS WHERE MON$STATE = 1 AND MON$ATTACHMENT_ID <> CURRENT_CONNECTION",
    )
}

/// Runs all statements at the same time, each in a connection of its own.
fn start_all(server: &TestServer, observer: &mut Client, timeout_ms: u32) -> Vec<Victim> {
    let victims: Vec<Victim> =
        readers().into_iter().map(|(name, sql)| Victim::start(server, name, sql, timeout_ms)).collect();
    let all = Value::integer(i64::try_from(victims.len()).unwrap());
    // Some may have reached their timeout already.
    while timeout_ms == 0 && running(observer) != all {
        thread::sleep(Duration::from_millis(20));
    }
    victims
}

/// Waits until each has ended, on a thread of its own, and says how; `stop` stops those that still run. Those that run past
/// the patience are named.
fn ends(victims: Vec<Victim>, mut stop: impl FnMut()) -> Vec<(Victim, Option<Error>)> {
    let started = Instant::now();
    let mut names: Vec<&str> = victims.iter().map(|victim| victim.name).collect();
    let (send, ended) = mpsc::channel();
    for mut victim in victims {
        let send = send.clone();
        thread::spawn(move || {
            let end = victim.end();
            // Nobody waits any more if the test has failed.
            let _ = send.send((victim, end));
        });
    }
    let mut ends = Vec::new();
    while !names.is_empty() {
        let Ok((victim, end)) = ended.recv_timeout(Duration::from_millis(100)) else {
            assert!(started.elapsed() < PATIENCE, "still run: {names:?}");
            stop();
            continue;
        };
        names.retain(|name| *name != victim.name);
        ends.push((victim, end));
    }
    ends
}

#[test]
fn a_cancel_stops_every_statement() {
    let server = TestServer::start();
    let mut observer = database(&server);
    let mut victims = start_all(&server, &mut observer, 0);
    for victim in &mut victims {
        victim.client.send(&[Request::Cancel { kind: cancel::RAISE }]);
    }
    for (victim, end) in ends(victims, || {}) {
        assert_eq!(end.map(|error| error.gds_code()), Some(isc::CANCELLED), "{}", victim.name);
        victim.goes_on();
    }
}

#[test]
fn a_timeout_stops_every_statement() {
    let server = TestServer::start();
    let mut observer = database(&server);
    let victims = start_all(&server, &mut observer, TIMEOUT_MS);
    for (victim, end) in ends(victims, || {}) {
        let is_timeout = |error: &Error| error.has(isc::CANCELLED) && error.has(isc::REQ_STMT_TIMEOUT);
        assert!(end.as_ref().is_some_and(is_timeout), "{}: {end:?}", victim.name);
        victim.goes_on();
    }
}

#[test]
fn deleting_rows_of_mon_statements_stops_every_statement() {
    let server = TestServer::start();
    let mut observer = database(&server);
    let victims = start_all(&server, &mut observer, 0);
    // Again and again: between two requests nothing runs that could be stopped.
    let stop = || observer.run("DELETE FROM MON$STATEMENTS");
    for (victim, end) in ends(victims, stop) {
        assert_eq!(end.map(|error| error.gds_code()), Some(isc::CANCELLED), "{}", victim.name);
        victim.goes_on();
    }
}

#[test]
fn deleting_rows_of_mon_attachments_stops_every_statement_and_ends_its_connection() {
    let server = TestServer::start();
    let mut observer = database(&server);
    let victims = start_all(&server, &mut observer, 0);
    observer.run("DELETE FROM MON$ATTACHMENTS");
    for (mut victim, end) in ends(victims, || {}) {
        let is_killed = |error: &Error| error.has(isc::ATT_SHUTDOWN) && error.has(isc::ATT_SHUT_KILLED);
        assert!(end.as_ref().is_some_and(is_killed), "{}: {end:?}", victim.name);
        assert!(victim.client.is_closed_by_server(), "{}", victim.name);
    }
    while observer.value("SELECT COUNT(*) FROM MON$ATTACHMENTS") != Value::integer(1) {}
}

#[test]
fn a_broken_connection_stops_every_statement() {
    let server = TestServer::start();
    let mut observer = database(&server);
    drop(start_all(&server, &mut observer, 0));
    // The test would hang here.
    while observer.value("SELECT COUNT(*) FROM MON$ATTACHMENTS") != Value::integer(1) {
        thread::sleep(Duration::from_millis(20));
    }
}

/// What SIGTERM does, past its time of grace.
#[test]
fn the_servers_end_stops_every_statement() {
    let mut server = TestServer::with(|config| config.shutdown_grace = Duration::ZERO);
    let mut observer = database(&server);
    let victims = start_all(&server, &mut observer, 0);
    server.shut_down();
    for (victim, end) in ends(victims, || {}) {
        let is_told = |error: &Error| error.has(isc::ATT_SHUTDOWN) && error.has(isc::ATT_SHUT_ENGINE);
        assert!(end.as_ref().is_none_or(is_told), "{}: {end:?}", victim.name);
    }
}

/// A connection at rest, in the middle of its transaction: its locks go at once, and it is told when it asks again.
#[test]
fn a_connection_at_rest_is_ended() {
    let server = TestServer::start();
    let mut owner = database(&server);
    let Value::Integer { unscaled: id, .. } = owner.value("SELECT CURRENT_CONNECTION FROM RDB$DATABASE")
    else {
        panic!("a number was expected");
    };
    let transaction = owner.start();
    owner.run_in(transaction, "UPDATE BIG SET X = -1 WHERE ID = 1").unwrap();
    let mut observer = server.attach(DATABASE);
    let mut waiter = server.attach(DATABASE);
    let waiting = waiter.start();
    let text = waiter.text(waiting, Handle::NONE, "UPDATE BIG SET X = 10 WHERE ID = 1");
    waiter.send(&[Request::ExecuteImmediate(text)]);
    observer.run(&format!("DELETE FROM MON$ATTACHMENTS WHERE MON$ATTACHMENT_ID = {id}"));
    waiter.response().unwrap();
    waiter.commit(waiting);
    assert_eq!(waiter.value("SELECT X FROM BIG WHERE ID = 1"), Value::integer(10));
    let error = owner.run_in(transaction, "SELECT 1 FROM RDB$DATABASE").unwrap_err();
    assert!(error.has(isc::ATT_SHUTDOWN) && error.has(isc::ATT_SHUT_KILLED), "{error}");
    assert!(owner.is_closed_by_server());
}
