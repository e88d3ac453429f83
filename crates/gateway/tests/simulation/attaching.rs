//! Attaching ahead of a program: nobody can tell, whatever it does.

use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, TransactionOptions, Value, WireCrypt};
use farbird_farlink::edge::Saved;

use crate::server::{TestServer, run};
use crate::world::{Link, World};

/// The server's own time.
const PATIENCE: Duration = Duration::from_secs(60);
const LINK: Link = Link { one_way: Duration::from_millis(100), rate: None };
const TABLES: [&str; 1] = ["create table seen (who varchar(63), process varchar(255), number integer)"];

fn one(connection: &Connection, sql: &str) -> Vec<Value> {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let row = connection.query_all(&transaction, sql).unwrap().remove(0);
    connection.commit(transaction).unwrap();
    row
}

fn number(connection: &Connection, sql: &str) -> i64 {
    match one(connection, sql).as_slice() {
        [Value::Integer { unscaled, .. }] => *unscaled,
        other => panic!("{other:?}"),
    }
}

fn text(connection: &Connection, sql: &str) -> String {
    match one(connection, sql).as_slice() {
        [Value::Text(text)] => String::from_utf8_lossy(text.bytes()).into_owned(),
        other => panic!("{other:?}"),
    }
}

/// Programs of the test server, which encrypt: the others prove who they are with their attach.
struct Edge {
    world: World,
    options: ConnectOptions,
}

impl Edge {
    fn before(server: &TestServer) -> Edge {
        let options = ConnectOptions { wire_crypt: WireCrypt::Required, ..server.options.clone() };
        Edge { world: World::of_farbird(server.address, server.farlink(), LINK), options }
    }

    fn attach(&self, options: &ConnectOptions) -> Connection {
        let connection = self.world.attach_as_said("ahead.fdb", options).unwrap();
        self.world.pass(Duration::from_secs(1));
        connection
    }

    /// A program ends, and the server has noticed: it does so by itself, on a clock of its own.
    fn leave(&self, connection: Connection, direct: &Connection) {
        drop(connection);
        self.world.pass(Duration::from_secs(1));
        let begun = Instant::now();
        while number(direct, ATTACHMENTS) > 1 {
            assert!(begun.elapsed() < PATIENCE, "something stays attached");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn taken(&self) -> u64 {
        self.world.site().counters().saved(Saved::Attach)
    }
}

/// Of the database: that of the test itself, and those of programs.
const ATTACHMENTS: &str = "select count(*) from mon$attachments where mon$system_flag = 0";
const PROCESS: &str =
    "select mon$remote_pid from mon$attachments where mon$attachment_id = current_connection";
const PROGRAM: &str =
    "select mon$remote_process from mon$attachments where mon$attachment_id = current_connection";

/// The server shows the program as it is, and nothing is left behind.
#[test]
fn what_was_attached_ahead_is_the_programs_own() {
    let server = TestServer::start();
    let direct = server.create("ahead.fdb", &TABLES);
    let edge = Edge::before(&server);
    for run in 0..3 {
        let (connection, trips) =
            edge.world.trips(|| edge.world.attach_as_said("ahead.fdb", &edge.options).unwrap());
        assert_eq!(trips.round(), [3.0, 1.0, 1.0][run], "{trips}");
        assert_eq!(edge.taken(), run as u64);
        assert_eq!(number(&connection, PROCESS), i64::from(std::process::id()));
        assert_eq!(number(&direct, ATTACHMENTS), 2);
        edge.leave(connection, &direct);
    }
}

/// What it attaches otherwise is attached so, and only so.
#[test]
fn a_program_that_attaches_otherwise_gets_what_it_asks_for() {
    let server = TestServer::start();
    let direct = server.create("ahead.fdb", &TABLES);
    let edge = Edge::before(&server);
    edge.leave(edge.attach(&edge.options), &direct);
    for name in ["one", "two", "two", "one"] {
        let options = ConnectOptions { program: name.to_owned(), ..edge.options.clone() };
        let connection = edge.attach(&options);
        assert_eq!(text(&connection, PROGRAM), name);
        assert_eq!(number(&direct, ATTACHMENTS), 2);
        edge.leave(connection, &direct);
    }
    assert_eq!(edge.taken(), 1);
}

/// Triggers on connecting and disconnecting fire for each program, and for nothing else.
#[test]
fn triggers_fire_once_for_each_program() {
    let server = TestServer::start();
    let direct = server.create("ahead.fdb", &TABLES);
    let edge = Edge::before(&server);
    for _ in 0..2 {
        edge.leave(edge.attach(&edge.options), &direct);
    }
    assert_eq!(edge.taken(), 1);
    for event in ["connect", "disconnect"] {
        let body = format!("begin insert into seen (who) values ('{event}'); end");
        run(&direct, &format!("create trigger on_{event} on {event} as {body}"));
    }
    edge.world.pass(Duration::from_secs(1));
    for _ in 0..3 {
        edge.leave(edge.attach(&edge.options), &direct);
    }
    // A login that fails attaches nothing.
    let wrong = ConnectOptions { password: "wrong".to_owned(), ..edge.options.clone() };
    assert!(edge.world.attach_as_said("ahead.fdb", &wrong).is_err());
    edge.world.pass(Duration::from_secs(1));
    assert_eq!(edge.taken(), 1);
    assert_eq!(number(&direct, "select count(*) from seen where who = 'connect'"), 3);
    assert_eq!(number(&direct, "select count(*) from seen where who = 'disconnect'"), 3);
}

/// The edge hears at once of users who have changed, whoever has changed them.
#[test]
fn the_first_login_behind_a_change_of_its_user_is_not_refused() {
    let server = TestServer::start();
    let direct = server.create("ahead.fdb", &TABLES);
    let edge = Edge::before(&server);
    run(&direct, "create user anna password 'first'");
    let anna = |password: &str, wire_crypt| ConnectOptions {
        user: "anna".to_owned(),
        password: password.to_owned(),
        wire_crypt,
        ..edge.options.clone()
    };
    for wire_crypt in [WireCrypt::Required, WireCrypt::Disabled] {
        run(&direct, "alter user anna password 'first'");
        for _ in 0..3 {
            drop(edge.attach(&anna("first", wire_crypt)));
        }
        let before = edge.world.site().counters().saved(Saved::Login);
        assert!(before > 0, "no login was prepared");
        run(&direct, "alter user anna password 'second'");
        edge.world.pass(Duration::from_secs(1));
        drop(edge.attach(&anna("second", wire_crypt)));
        assert_eq!(edge.world.site().counters().saved(Saved::Login), before);
        assert!(edge.world.attach_as_said("ahead.fdb", &anna("first", wire_crypt)).is_err());
        edge.world.pass(Duration::from_secs(1));
        drop(edge.attach(&anna("second", wire_crypt)));
    }
    run(&direct, "drop user anna");
    edge.world.pass(Duration::from_secs(1));
    assert!(edge.world.attach_as_said("ahead.fdb", &anna("second", WireCrypt::Required)).is_err());
    run(&direct, "create user anna password 'third'");
    edge.world.pass(Duration::from_secs(1));
    drop(edge.attach(&anna("third", WireCrypt::Required)));
}
