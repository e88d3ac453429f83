//! Every statement can be stopped, in every way, wherever it is: each of the endless statements of
//! `lab/data/endless-statements.sql` by each way to stop one.

mod ddl_support;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ddl_support::{Session, TestDatabase, described};
use farbird_engine::session::StopReason;
use farbird_types::Value;

/// The statements, after those that prepare for them.
const STATEMENTS: &str = include_str!("../../lab/data/endless-statements.sql");

/// How long a statement runs before it is stopped: a while, so that it is in the midst of its work.
const HEAD_START: Duration = Duration::from_millis(20);
/// Guards against hanging only: how quickly statements stop is a figure of `farbird bench stop`.
const PATIENCE: Duration = Duration::from_secs(120);

/// Names and texts, in order.
fn statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    STATEMENTS
        .split("\n== ")
        .skip(1)
        .map(|entry| entry.split_once('\n').map(|(name, sql)| (name, sql.trim())).expect("a name and a text"))
}

/// A database in which the statements run without end.
fn database() -> (TestDatabase, Session) {
    let (database, mut session) = TestDatabase::create();
    for (_, sql) in statements().filter(|(name, _)| *name == "setup") {
        session.execute(sql);
        session.commit();
    }
    (database, session)
}

/// A way to stop a statement from outside.
#[derive(Clone, Copy)]
enum Way {
    Cancel,
    Timeout,
    DeleteStatement,
    DeleteAttachment,
}

impl Way {
    /// What the statement's client is told.
    fn status(self) -> &'static str {
        match self {
            Way::Cancel | Way::DeleteStatement => "cancelled",
            Way::Timeout => "cancelled req_stmt_timeout",
            Way::DeleteAttachment => "att_shutdown att_shut_killed",
        }
    }

    /// Whether the session is over with the statement.
    fn ends_session(self) -> bool {
        matches!(self, Way::DeleteAttachment)
    }
}

/// Runs a statement in a thread of its own and stops it; gives the session back.
fn stop(name: &str, sql: String, way: Way, mut victim: Session, observer: &mut Session) -> Session {
    let (interrupt, session) =
        (victim.attachment().interrupt(), std::sync::Arc::clone(victim.attachment().session()));
    victim.timeout = matches!(way, Way::Timeout).then_some(HEAD_START);
    let (send, ended) = mpsc::channel();
    thread::spawn(move || {
        let result = victim.run(&sql);
        // Nobody waits any more if the test has failed.
        let _ = send.send((result, victim));
    });
    // Who has a timeout may reach it before anybody looks.
    while !matches!(way, Way::Timeout) && !session.is_running() {
        if let Ok((result, _)) = ended.try_recv() {
            panic!("{name} ended by itself: {result:?}");
        }
        thread::yield_now();
    }
    thread::sleep(HEAD_START);
    let delete = |observer: &mut Session, table: &str| {
        observer.execute(&format!("delete from {table} where mon$attachment_id = {}", session.id));
        observer.commit();
    };
    let started = Instant::now();
    // Again and again: between two calls nothing runs that could be stopped.
    let (result, mut victim) = loop {
        match way {
            Way::Cancel => interrupt.raise(StopReason::Cancelled),
            Way::Timeout => {}
            Way::DeleteStatement => delete(observer, "mon$statements"),
            Way::DeleteAttachment => delete(observer, "mon$attachments"),
        }
        if let Ok(end) = ended.recv_timeout(HEAD_START) {
            break end;
        }
        assert!(started.elapsed() < PATIENCE, "{name} does not stop");
    };
    // What came too late is forgotten, as the server does when it has answered.
    interrupt.end();
    match result {
        Ok(rows) => panic!("{name} came to its end with {} rows", rows.len()),
        Err(error) => assert_eq!(described(&error), way.status(), "{name}"),
    }
    victim.timeout = None;
    victim
}

/// Stops each statement; the session goes on with the next one, if the way leaves it, and holds no lock.
fn stop_all(way: Way) {
    stop_all_behind(way, "");
}

/// As [`stop_all`], with words in front of the statements; definitions take none.
fn stop_all_behind(way: Way, words: &str) {
    let (database, mut observer) = database();
    let mut victim = database.attach("SYSDBA", None);
    for (name, sql) in statements().filter(|(name, _)| *name != "setup") {
        // Changes of definitions have all the time they need, as in Firebird.
        if matches!(way, Way::Timeout) && name == "create index" {
            continue;
        }
        if !words.is_empty() && name == "create index" {
            continue;
        }
        victim = stop(name, format!("{words}{sql}"), way, victim, &mut observer);
        if way.ends_session() {
            let after = victim.run("select 1 from rdb$database").expect_err("a session that is over");
            assert_eq!(described(&after), way.status(), "{name}");
            drop(victim);
            victim = database.attach("SYSDBA", None);
        } else {
            let one = victim.run("select 1 from rdb$database").expect("a session that goes on");
            assert_eq!(one, [[Value::integer(1)]], "{name}");
            victim.rollback();
        }
        // Nobody waits for it, and nothing is left of what it did.
        observer.execute("update big set x = x");
        observer.execute("delete from sink");
        assert_eq!(
            observer.rows("select count(*), (select count(*) from sink) from parent"),
            ["4000|0"],
            "{name}"
        );
        observer.rollback();
        let others = "select count(*) from mon$statements where mon$state = 1 and mon$attachment_id <> current_connection";
        assert_eq!(observer.rows(others), ["0"], "{name}");
        observer.rollback();
    }
}

#[test]
fn a_cancel_stops_every_statement() {
    stop_all(Way::Cancel);
}

#[test]
fn a_cancel_stops_every_statement_that_is_measured() {
    stop_all_behind(Way::Cancel, "explain analyze ");
}

#[test]
fn a_timeout_stops_every_statement() {
    stop_all(Way::Timeout);
}

#[test]
fn deleting_its_row_of_mon_statements_stops_every_statement() {
    stop_all(Way::DeleteStatement);
}

#[test]
fn deleting_its_row_of_mon_attachments_stops_every_statement() {
    stop_all(Way::DeleteAttachment);
}

#[test]
fn a_wait_for_a_lock_ends_in_every_way() {
    let (database, mut observer) = database();
    observer.execute("update big set x = 0 where id = 1");
    let mut killer = database.attach("SYSDBA", None);
    for way in [Way::Cancel, Way::Timeout, Way::DeleteStatement, Way::DeleteAttachment] {
        let mut victim = database.attach("SYSDBA", None);
        victim.start_waiting();
        stop("a wait", "update big set x = 1 where id = 1".to_owned(), way, victim, &mut killer);
    }
}

#[test]
fn who_may_delete_from_the_monitoring_tables() {
    let (database, mut session) = TestDatabase::create();
    let mut other = database.attach("SOMEBODY", None);
    let id = other.rows("select current_connection from rdb$database").remove(0);
    // A session at rest is told at its next request; its own user may not end it.
    for table in ["mon$attachments", "mon$statements", "mon$transactions"] {
        let error = other.error(&format!("delete from {table}"));
        assert!(error.starts_with(&format!("no_priv(DELETE, TABLE, {})", table.to_uppercase())), "{error}");
    }
    // As Firebird 5 answers: at the first row.
    for sql in [
        "delete from mon$transactions",
        "delete from mon$database",
        "update mon$attachments set mon$user = 'X'",
        "insert into mon$statements (mon$sql_text) values ('X')",
    ] {
        assert_eq!(session.error(sql), "read_only", "{sql}");
    }
    session.execute("delete from mon$database where 1 = 0");
    // Statements that do not run are not stopped, nor is who deletes.
    session.execute("delete from mon$statements");
    assert_eq!(other.rows("select 1 from rdb$database"), ["1"]);
    session.execute("delete from mon$attachments where mon$attachment_id = current_connection");
    assert_eq!(session.rows("select 1 from rdb$database"), ["1"]);
    let deleted = format!("delete from mon$attachments where mon$attachment_id = {id} returning mon$user");
    assert_eq!(session.rows(&deleted), ["SOMEBODY"]);
    assert_eq!(other.error("select 1 from rdb$database"), "att_shutdown att_shut_killed");
    drop(other);
    assert_eq!(session.rows("select count(*) from mon$attachments"), ["1"]);
}

/// A statement's time runs from execute to the last fetch, and whose timeout it is shows in the status.
#[test]
fn time_runs_between_two_fetches_too() {
    let (_database, mut session) = TestDatabase::create();
    let levels = [(Some(Duration::from_millis(30)), "req_stmt_timeout"), (None, "att_stmt_timeout")];
    session.execute("set statement timeout 50 millisecond");
    for (timeout, status) in levels {
        session.timeout = timeout;
        let cursor = session.open("select rdb$type from rdb$types");
        session.fetch_one(cursor);
        thread::sleep(Duration::from_millis(100));
        let mut rows = farbird_engine::api::Rows::default();
        rows.reset(1);
        let error = session.attachment().fetch(cursor, 1, &mut rows).expect_err("a timeout");
        assert_eq!(described(&error), format!("cancelled {status}"));
        session.rollback();
        // The next statement has its own time.
        assert_eq!(session.rows("select 1 from rdb$database"), ["1"]);
    }
    session.timeout = None;
    // Without rows left the time does not run any more.
    let cursor = session.open("select 1 from rdb$database");
    session.fetch_one(cursor);
    let mut rows = farbird_engine::api::Rows::default();
    rows.reset(1);
    session.attachment().fetch(cursor, 1, &mut rows).expect("the end");
    let timer = "select count(mon$statement_timer) from mon$statements where mon$sql_text = 'select 1 from rdb$database'";
    assert_eq!(session.rows(timer), ["0"]);
    session.rollback();
    // The server's timeout limits the others.
    session.execute("set statement timeout 1 hour");
    session.attachment().set_default_statement_timeout(Some(Duration::from_millis(30)));
    assert_eq!(
        session.error("execute block as declare i int = 0; begin while (true) do i = 1; end"),
        "cancelled cfg_stmt_timeout"
    );
}

#[test]
fn the_monitoring_tables_show_what_runs_and_until_when() {
    let (database, mut observer) = TestDatabase::create();
    let mut session = database.attach("SYSDBA", None);
    session.timeout = Some(Duration::from_secs(3600));
    session.execute("set statement timeout 2 hour");
    let cursor = session.open("select rdb$type from rdb$types");
    let shown = "select s.mon$state, s.mon$statement_timeout, a.mon$statement_timeout, \
                 datediff(minute from s.mon$timestamp to s.mon$statement_timer), \
                 abs(datediff(minute from s.mon$timestamp to current_timestamp)) \
                 from mon$statements s join mon$attachments a using (mon$attachment_id) \
                 where mon$attachment_id <> current_connection";
    // Its cursor is open, and nobody fetches.
    assert_eq!(observer.rows(shown), ["2|3600000|7200000|60|0"]);
    observer.rollback();
    session.attachment().close_cursor(cursor).expect("a close");
    let shown = "select mon$state, mon$timestamp is null, mon$statement_timer is null from mon$statements \
                 where mon$attachment_id <> current_connection";
    assert_eq!(observer.rows(shown), ["0|TRUE|TRUE"]);
}
