//! Rows that others have locked: skipped by who asks for that, even if it would wait otherwise.

mod ddl_support;

use std::thread;

use ddl_support::TestDatabase;
use farbird_engine::api::{Isolation, TransactionParameters};
use farbird_types::Value;

#[test]
fn nobody_waits_for_a_row_that_is_to_be_skipped() {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t (id int primary key, v int)");
    session.commit();
    for id in 1..=4 {
        session.execute(&format!("insert into t values ({id}, 0)"));
    }
    session.commit();
    session.execute("update t set v = 1 where id = 2");
    let mut other = database.attach("SYSDBA", None);
    other.start_waiting();
    assert_eq!(other.rows("select id from t order by id with lock skip locked"), ["1", "3", "4"]);
    assert_eq!(other.rows("update t set v = 2 skip locked returning id"), ["1", "3", "4"]);
    assert_eq!(other.rows("delete from t where id < 4 skip locked returning id"), ["1", "3"]);
}

#[test]
fn a_parent_that_may_never_be_there_is_a_violation_not_a_lock() {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table parent (id int not null primary key)");
    session.execute("create table child (id int, constraint fk foreign key (id) references parent (id))");
    session.commit();
    session.execute("insert into parent values (1)");
    let mut other = database.attach("SYSDBA", None);
    assert!(other.error("insert into child values (1)").starts_with("foreign_key(FK, CHILD)"));
    session.commit();
    other.rollback();
    other.execute("insert into child values (1)");
    assert!(session.error("delete from parent where id = 1").starts_with("foreign_key(FK, CHILD)"));
}

/// What a transaction has undone, by itself or since a statement failed, stands in nobody's way (as in Firebird 5).
#[test]
fn what_was_undone_is_free_for_others() {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table p (id int not null primary key, u int unique, v int)");
    session.execute(
        "create table ch (id int, p int references p (id), u int references p (u) on update cascade)",
    );
    session.commit();
    for row in ["p values (1, 1, 0)", "p values (2, 2, 0)", "ch values (5, 2, 2)"] {
        session.execute(&format!("insert into {row}"));
    }
    session.commit();
    let mut other = database.attach("SYSDBA", None);
    let child = "insert into ch values (1, 1, 1)";
    let update = "update p set v = 1 where id = 1";
    let undone = [
        ("delete from p where id = 1", &[child, update, "delete from p where id = 1"][..]),
        ("update p set id = 9, u = 9 where id = 1", &[child, update, "insert into p values (9, 9, 9)"]),
        ("update p set v = 9 where id = 1", &[update, child]),
        ("insert into p values (7, 7, 7)", &["insert into p values (7, 7, 7)"]),
        ("update p set u = 20 where id = 2", &["update ch set id = 6", "insert into ch values (3, 2, 2)"]),
        ("select id from p where id = 1 with lock", &[update]),
    ];
    for (statement, allowed) in undone {
        session.execute("savepoint s");
        session.run(statement).expect(statement);
        session.execute("rollback to savepoint s");
        for sql in allowed {
            other.execute(sql);
            other.rollback();
        }
        session.rollback();
    }
    // A statement that fails undoes what it has done.
    assert!(session.error("update p set id = 2 where id = 1").starts_with("unique_key_violation"));
    other.execute(update);
    other.execute(child);
    other.rollback();
    session.rollback();
    // What came before the savepoint stays.
    session.execute("update p set v = 5 where id = 1");
    session.execute("savepoint s");
    session.execute("delete from p where id = 1");
    session.execute("rollback to savepoint s");
    other.execute(child);
    assert!(other.error(update).contains("update_conflict"), "the row was changed before the savepoint");
    other.rollback();
    session.execute("delete from p where id = 1");
    assert!(other.error(child).starts_with("foreign_key"), "the row goes, if the other one commits");
}

/// READ COMMITTED waits for a row and goes on with what it finds then, however many want the row.
#[test]
fn a_crowd_changes_one_row_and_nobody_is_turned_away() {
    const CLIENTS: usize = 16;
    const UPDATES: usize = 40;
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t (id int primary key, hits int)");
    session.commit();
    session.execute("insert into t values (1, 0)");
    session.commit();
    for update in ["update t set hits = hits + 1 where id = 1", "update t set hits = hits + 1"] {
        session.execute("update t set hits = 0");
        session.commit();
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                let mut client = database.attach("SYSDBA", None);
                scope.spawn(move || {
                    for _ in 0..UPDATES {
                        client.start(read_committed());
                        client.execute(update);
                        client.commit();
                    }
                });
            }
        });
        let hits = session.run("select hits from t").unwrap();
        assert_eq!(hits, [[Value::integer((CLIENTS * UPDATES) as i64)]], "{update}");
        session.commit();
    }
}

/// What others change while somebody waits for their rows, what he asked for, and what he gets: all as in Firebird 5. What he asked
/// for runs again as a whole, as long as he has not been given a row.
#[test]
fn who_waits_for_rows_finds_them_as_they_are_then() {
    const CONFLICT: &[&str] = &[];
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t (id int primary key, v int)");
    session.execute("create table log (n int)");
    session.execute("create procedure suspends returns (w int) as begin for select v from t order by id with lock into w do suspend; end");
    session.execute("create procedure sums returns (w int) as declare v int; begin w = 0; for select v from t order by id with lock into v do w = w + v; suspend; end");
    session.commit();
    let first = "update t set v = 5 where id = 1";
    let second = "update t set v = 5 where id = 2";
    let block = |declared: &str, body: &str| {
        format!("execute block returns (r int) as declare v int; {declared} begin {body} end")
    };
    let cases: &[(&str, &str, &[&str])] = &[
        (first, "select v from t with lock", &["5", "0", "0"]),
        (first, "select id from t where v = 0 with lock", &["2", "3"]),
        (first, "select v from t where v = 5 or id = 1 with lock", &["5"]),
        (first, "select v from t order by v with lock", &["0", "0", "5"]),
        (first, "select first 1 v from t with lock", &["5"]),
        ("delete from t where id = 1", "select id from t with lock", &["2", "3"]),
        // A row was given already.
        (second, "select v from t with lock", CONFLICT),
        (first, "select w from suspends", &["5", "0", "0"]),
        (second, "select w from suspends", CONFLICT),
        (second, "select w from sums", &["5"]),
        (second, &block("", "select v from t where id = 2 with lock into r; suspend;"), &["5"]),
        // What was read before is read again.
        (
            second,
            &block(
                "",
                "select sum(v) from t into r; select v from t where id = 2 with lock into v; suspend;",
            ),
            &["5"],
        ),
        (
            second,
            &block(
                "",
                "select v from t where id = 2 into v; update t set v = :v + 1 where id = 2 returning v into r; suspend;",
            ),
            &["6"],
        ),
        // No handler sees the conflict, unless there is no other way.
        (
            second,
            &block(
                "",
                "r = 0; begin for select v from t with lock into v do r = r + v; when any do r = -1; end suspend;",
            ),
            &["5"],
        ),
        (
            second,
            &block(
                "",
                "r = 0; suspend; begin update t set v = v + 1 where id = 2; when any do r = -1; end suspend;",
            ),
            &["0", "-1"],
        ),
        (
            second,
            &block("", "in autonomous transaction do update t set v = v + 1 where id = 2; suspend;"),
            CONFLICT,
        ),
        // What was done is undone.
        (
            second,
            &block(
                "",
                "insert into log values (1); for select v from t with lock into v do insert into log values (2); select count(*) from log into r; suspend;",
            ),
            &["4"],
        ),
    ];
    for (change, sql, expected) in cases {
        session.execute("delete from t");
        for id in 1..=3 {
            session.execute(&format!("insert into t values ({id}, 0)"));
        }
        session.commit();
        session.execute(change);
        let mut other = database.attach("SYSDBA", None);
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                other.start(read_committed());
                let found = if expected.is_empty() { vec![other.error(sql)] } else { other.rows(sql) };
                other.rollback();
                found
            });
            let mut observer = database.attach("SYSDBA", None);
            let waiting = "select count(*) from mon$statements where mon$state = 1 and mon$attachment_id <> current_connection";
            while observer.rows(waiting) == ["0"] && !waiter.is_finished() {
                observer.rollback();
                thread::yield_now();
            }
            session.commit();
            let found = waiter.join().unwrap();
            match expected.is_empty() {
                true => assert!(found[0].contains("update_conflict"), "{sql}: {found:?}"),
                false => assert_eq!(found, *expected, "{sql}"),
            }
        });
    }
}

/// A cursor that was opened before others changed its rows begins anew with its first row, and skips none of those.
#[test]
fn a_cursor_with_lock_that_has_given_no_row_begins_anew() {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t (id int primary key, v int)");
    session.commit();
    for (skips, change) in
        [("", "update t set v = 7 where id = 1"), ("skip locked", "update t set v = 7 where id = 2")]
    {
        session.execute("delete from t");
        session.execute("insert into t values (1, 0)");
        session.execute("insert into t values (2, 0)");
        session.commit();
        let mut other = database.attach("SYSDBA", None);
        other.start(read_committed());
        let cursor = other.open(&format!("select v from t order by v desc with lock {skips}"));
        session.execute(change);
        session.commit();
        let found: Vec<String> = (0..2).map(|_| other.fetch_one(cursor)).collect();
        assert_eq!(found, ["7", "0"], "{skips}");
        other.forget(cursor);
        other.rollback();
    }
}

fn read_committed() -> TransactionParameters {
    TransactionParameters { isolation: Isolation::ReadCommitted, ..TransactionParameters::default() }
}
