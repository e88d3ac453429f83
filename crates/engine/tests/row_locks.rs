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

fn read_committed() -> TransactionParameters {
    TransactionParameters { isolation: Isolation::ReadCommitted, ..TransactionParameters::default() }
}
