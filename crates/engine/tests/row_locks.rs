//! Rows that others have locked: skipped by who asks for that, even if it would wait otherwise.

mod ddl_support;

use ddl_support::TestDatabase;

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
