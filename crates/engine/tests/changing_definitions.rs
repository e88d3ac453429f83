//! Statements whose tables others change while they begin: they run in the definitions that hold when they have locked
//! their tables.

mod ddl_support;

use std::thread;

use ddl_support::{Session, TestDatabase};

fn with_table() -> (TestDatabase, Session) {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t (id int, v int)");
    session.commit();
    session.execute("insert into t values (1, 10)");
    session.commit();
    (database, session)
}

/// Lets `session` run a statement, in a transaction that waits, and gives the session back with what became of it.
fn run_waiting(mut session: Session, sql: &'static str) -> thread::JoinHandle<(Session, Option<String>)> {
    thread::spawn(move || {
        session.start_waiting();
        let error = session.run(sql).err().map(|error| ddl_support::described(&error));
        (session, error)
    })
}

fn wait_until_running(observer: &mut Session, sql: &str) {
    let active =
        format!("select count(*) from mon$statements where mon$state = 1 and mon$sql_text = '{sql}'");
    while observer.rows(&active) == ["0"] {
        observer.rollback();
        thread::yield_now();
    }
    observer.rollback();
}

#[test]
fn a_writer_that_waited_for_an_index_fills_it() {
    let (database, mut session) = with_table();
    let mut observer = database.attach("SYSDBA", None);
    session.execute("create unique index i on t (v)");
    let insert = "insert into t values (2, 20)";
    let writer = run_waiting(database.attach("SYSDBA", None), insert);
    wait_until_running(&mut observer, insert);
    session.commit();
    let (mut writer, error) = writer.join().expect("a thread");
    assert_eq!(error, None);
    assert_eq!(writer.rows("select id from t where v = 20"), ["2"]);
    writer.commit();
    assert_eq!(session.rows("select id from t where v = 20"), ["2"]);
    assert!(session.error("insert into t values (3, 20)").starts_with("no_dup(I)"));
}

#[test]
fn a_block_that_began_before_an_index_was_made_fills_it() {
    let (database, mut session) = with_table();
    session.execute("create table u (id int)");
    session.commit();
    session.execute("insert into u values (1)");
    session.commit();
    let mut locker = database.attach("SYSDBA", None);
    locker.execute("update u set id = 2");
    let block =
        "execute block as begin update u set id = 3; insert into t values (2, 20); when any do exit; end";
    let mut observer = database.attach("SYSDBA", None);
    let writer = run_waiting(database.attach("SYSDBA", None), block);
    wait_until_running(&mut observer, block);
    session.execute("create unique index i on t (v)");
    session.commit();
    locker.rollback();
    let (mut writer, error) = writer.join().expect("a thread");
    assert_eq!(error, None);
    writer.commit();
    assert_eq!(session.rows("select id from u"), ["3"]);
    assert_eq!(session.rows("select id from t where v = 20"), ["2"]);
    assert!(session.error("insert into t values (3, 20)").starts_with("no_dup(I)"));
}

/// Runs a block that begins with a change of U, for which it waits until others' definition is committed.
fn change_while_a_block_waits(
    session: &mut Session,
    database: &TestDatabase,
    block: &'static str,
    definition: &str,
) {
    session.execute("create table u (id int)");
    session.commit();
    session.execute("insert into u values (1)");
    session.commit();
    let mut locker = database.attach("SYSDBA", None);
    locker.execute("update u set id = 2");
    let mut observer = database.attach("SYSDBA", None);
    let writer = run_waiting(database.attach("SYSDBA", None), block);
    wait_until_running(&mut observer, block);
    session.execute(definition);
    session.commit();
    locker.rollback();
    let (mut writer, error) = writer.join().expect("a thread");
    assert_eq!(error, None);
    writer.commit();
    assert_eq!(session.rows("select id from u"), ["3"]);
}

#[test]
fn a_block_that_began_before_a_foreign_key_was_made_leaves_no_orphan() {
    let (database, mut session) = with_table();
    session.execute("alter table t add w int default 1 not null");
    session.execute("alter table t add constraint p primary key (w)");
    session.execute("create table c (w int)");
    session.commit();
    session.execute("insert into c values (1)");
    session.commit();
    let block =
        "execute block as begin update u set id = 3; begin delete from t; when any do begin end end end";
    let add = "alter table c add foreign key (w) references t (w)";
    change_while_a_block_waits(&mut session, &database, block, add);
    assert_eq!(session.rows("select w from t"), ["1"]);
}

#[test]
fn a_block_that_began_before_a_trigger_was_made_fires_it() {
    let (database, mut session) = with_table();
    let block = "execute block as begin update u set id = 3; insert into t values (2, 20); end";
    let trigger = "create trigger doubles for t before insert as begin new.v = new.v * 2; end";
    change_while_a_block_waits(&mut session, &database, block, trigger);
    assert_eq!(session.rows("select v from t where id = 2"), ["40"]);
}

#[test]
fn a_block_that_began_before_a_check_was_made_keeps_to_it() {
    let (database, mut session) = with_table();
    let block = "execute block as begin update u set id = 3; \
                 begin insert into t values (2, 20); when any do begin end end end";
    change_while_a_block_waits(&mut session, &database, block, "alter table t add check (v < 15)");
    assert_eq!(session.rows("select id from t"), ["1"]);
}

#[test]
fn two_who_change_a_table_at_once_both_change_it() {
    let (database, mut session) = with_table();
    let mut observer = database.attach("SYSDBA", None);
    session.execute("create index i on t (v)");
    let create = "create index j on t (id)";
    let other = run_waiting(database.attach("SYSDBA", None), create);
    wait_until_running(&mut observer, create);
    session.commit();
    let (mut other, error) = other.join().expect("a thread");
    assert_eq!(error, None);
    other.commit();
    let indexes = "select rdb$index_name from rdb$indices where rdb$relation_name = 'T' order by 1";
    assert_eq!(session.rows(indexes), ["I", "J"]);
}

#[test]
fn who_waited_for_a_table_that_is_dropped_is_told_so() {
    let (database, mut session) = with_table();
    let mut observer = database.attach("SYSDBA", None);
    session.execute("drop table t");
    let insert = "insert into t values (2, 20)";
    let writer = run_waiting(database.attach("SYSDBA", None), insert);
    wait_until_running(&mut observer, insert);
    session.commit();
    let (_, error) = writer.join().expect("a thread");
    assert!(error.as_deref().is_some_and(|error| error.contains("dsql_relation_err")), "{error:?}");
}

#[test]
fn rows_go_into_tables_that_their_own_transaction_changes() {
    let (_database, mut session) = with_table();
    session.execute("alter table t add w int default 5 not null");
    session.execute("insert into t (id, v) values (2, 20)");
    session.execute("create index i on t (w)");
    session.execute("insert into t (id, v) values (3, 30)");
    assert_eq!(session.rows("select count(*) from t where w = 5"), ["3"]);
    session.execute("drop index i");
    session.execute("update t set v = 0");
    session.commit();
    assert_eq!(session.rows("select id, v, w from t order by id"), ["1|0|5", "2|0|5", "3|0|5"]);
}
