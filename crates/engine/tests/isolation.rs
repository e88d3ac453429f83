//! What transactions see of each other in SQL, as scripted interleavings, and the statuses that applications retry on
//! (those of Firebird 4.0.5, asked with the same scripts).

mod ddl_support;

use std::thread;
use std::time::Duration;

use ddl_support::{Session, TestDatabase, described};
use farbird_engine::api::{Isolation, TableReservation, TransactionParameters};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const SOON: Option<Duration> = Some(Duration::from_millis(20));

/// T (1, 10) and (2, 20), and two people.
fn two_sessions() -> (TestDatabase, Session, Session) {
    let (database, mut first) = TestDatabase::create();
    first.execute("create table t (id int not null primary key, v int)");
    first.commit();
    first.execute("insert into t values (1, 10)");
    first.execute("insert into t values (2, 20)");
    first.commit();
    let second = database.attach("SYSDBA", None);
    (database, first, second)
}

fn begin(session: &mut Session, isolation: Isolation, lock_timeout: Option<Duration>) {
    session.rollback();
    session.start(TransactionParameters { isolation, lock_timeout, ..TransactionParameters::default() });
}

const ALL: &str = "select v from t order by id";

#[test]
fn no_dirty_read() {
    let (_database, mut writer, mut reader) = two_sessions();
    writer.execute("update t set v = 11 where id = 1");
    for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
        begin(&mut reader, isolation, AT_ONCE);
        assert_eq!(reader.rows(ALL), ["10", "20"]);
    }
    writer.rollback();
    assert_eq!(reader.rows(ALL), ["10", "20"]);
}

#[test]
fn no_lost_update() {
    for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
        let (_database, mut first, mut second) = two_sessions();
        begin(&mut first, isolation, AT_ONCE);
        begin(&mut second, isolation, AT_ONCE);
        assert_eq!((first.rows(ALL), second.rows(ALL)), (second.rows(ALL), first.rows(ALL)));
        first.execute("update t set v = v + 1 where id = 1");
        first.commit();
        let update = "update t set v = v + 5 where id = 1";
        if isolation == Isolation::Snapshot {
            assert!(second.error(update).starts_with("deadlock update_conflict concurrent_transaction("));
            second.rollback();
        }
        second.execute(update);
        second.commit();
        assert_eq!(second.rows(ALL), ["16", "20"], "{isolation:?}");
    }
}

#[test]
fn repeatable_reads_and_no_phantoms_in_a_snapshot() {
    let (_database, mut writer, mut reader) = two_sessions();
    begin(&mut reader, Isolation::Snapshot, AT_ONCE);
    assert_eq!(reader.rows(ALL), ["10", "20"]);
    writer.execute("update t set v = 11 where id = 1");
    writer.execute("insert into t values (3, 30)");
    writer.execute("delete from t where id = 2");
    writer.commit();
    assert_eq!(reader.rows(ALL), ["10", "20"]);
    assert_eq!(reader.rows("select count(*) from t where v > 15"), ["1"]);
    begin(&mut reader, Isolation::ReadCommitted, AT_ONCE);
    assert_eq!(reader.rows(ALL), ["11", "30"]);
    writer.execute("update t set v = 12 where id = 1");
    writer.commit();
    assert_eq!(reader.rows(ALL), ["12", "30"], "each statement of READ COMMITTED sees the latest commits");
}

#[test]
fn each_statement_of_read_committed_sees_one_moment() {
    let (_database, mut writer, mut reader) = two_sessions();
    begin(&mut reader, Isolation::ReadCommitted, AT_ONCE);
    let open = reader.open("select v from t union all select v from t order by 1");
    assert_eq!(reader.fetch_one(open), "10");
    writer.execute("update t set v = v + 100");
    writer.commit();
    assert_eq!((0..3).map(|_| reader.fetch_one(open)).collect::<Vec<_>>(), ["10", "20", "20"]);
}

#[test]
fn write_skew_happens_under_snapshot_and_not_under_table_stability() {
    let (_database, mut first, mut second) = two_sessions();
    let total = "select sum(v) from t";
    begin(&mut first, Isolation::Snapshot, AT_ONCE);
    begin(&mut second, Isolation::Snapshot, AT_ONCE);
    assert_eq!((first.rows(total), second.rows(total)), (vec!["30".to_owned()], vec!["30".to_owned()]));
    first.execute("update t set v = v - 30 where id = 1");
    second.execute("update t set v = v - 30 where id = 2");
    first.commit();
    second.commit();
    assert_eq!(first.rows(total), ["-30"], "each alone would have left 0");
    first.rollback();

    begin(&mut first, Isolation::TableStability, AT_ONCE);
    begin(&mut second, Isolation::TableStability, AT_ONCE);
    assert_eq!((first.rows(total), second.rows(total)), (vec!["-30".to_owned()], vec!["-30".to_owned()]));
    let refused = first.error("update t set v = v + 30 where id = 1");
    assert_eq!(refused, "lock_conflict random(Acquire lock for relation (T) failed)");
}

#[test]
fn a_locked_row_is_refused_with_the_status_of_a_deadlock_however_one_waits() {
    let (_database, mut holder, mut other) = two_sessions();
    holder.execute("update t set v = 11 where id = 1");
    for wait in [AT_ONCE, SOON] {
        for statement in ["update t set v = 12 where id = 1", "delete from t where id = 1"] {
            begin(&mut other, Isolation::Snapshot, wait);
            let refused = other.error(statement);
            assert!(refused.starts_with("deadlock update_conflict concurrent_transaction("), "{refused}");
        }
    }
}

#[test]
fn a_key_about_to_be_committed_is_refused_as_a_duplicate() {
    let (_database, mut holder, mut other) = two_sessions();
    holder.execute("insert into t values (3, 30)");
    for wait in [AT_ONCE, SOON] {
        begin(&mut other, Isolation::Snapshot, wait);
        let refused = other.error("insert into t values (3, 31)");
        assert!(refused.starts_with("unique_key_violation("), "{refused}");
        assert!(refused.contains("idx_key_value((\"ID\" = 3))"), "{refused}");
    }
}

#[test]
fn of_two_who_wait_for_each_other_one_is_told_of_the_deadlock() {
    let (_database, mut first, mut second) = two_sessions();
    first.start_waiting();
    second.start_waiting();
    first.execute("update t set v = 1 where id = 1");
    second.execute("update t set v = 2 where id = 2");
    let crossing = |mut session: Session, sql: &'static str| {
        thread::spawn(move || {
            let error = session.run(sql).err().map(|error| described(&error));
            // The lock goes with its transaction, which lets the other one go on.
            session.rollback();
            error
        })
    };
    let first = crossing(first, "update t set v = 1 where id = 2");
    let second = crossing(second, "update t set v = 2 where id = 1");
    let errors = [first.join().expect("a thread"), second.join().expect("a thread")];
    let told: Vec<_> = errors.iter().flatten().collect();
    assert_eq!(told.len(), 1, "{errors:?}");
    assert!(told[0].starts_with("deadlock update_conflict concurrent_transaction("), "{errors:?}");
}

#[test]
fn a_table_that_somebody_keeps_stable_is_refused_to_writers() {
    let (_database, mut stable, mut writer) = two_sessions();
    begin(&mut stable, Isolation::TableStability, AT_ONCE);
    assert_eq!(stable.rows(ALL), ["10", "20"]);
    let statement = "update t set v = 12 where id = 1";
    for (wait, status) in [(AT_ONCE, "lock_conflict"), (SOON, "lock_timeout")] {
        begin(&mut writer, Isolation::Snapshot, wait);
        let expected = format!("{status} random(Acquire lock for relation (T) failed)");
        for statement in
            [statement, "delete from t", "insert into t values (3, 30)", "select * from t with lock"]
        {
            assert_eq!(writer.error(statement), expected, "{statement}");
        }
    }
    stable.commit();
    begin(&mut writer, Isolation::Snapshot, AT_ONCE);
    writer.execute(statement);
}

#[test]
fn reserved_tables_are_refused_to_whom_they_are_reserved_against() {
    let (_database, mut holder, mut other) = two_sessions();
    let reserving = |write, protected, lock_timeout| TransactionParameters {
        lock_timeout,
        reservations: vec![TableReservation { relation: "T".to_owned(), write, protected }],
        ..TransactionParameters::default()
    };
    holder.start(reserving(true, true, AT_ONCE));
    for (wait, status) in [(AT_ONCE, "lock_conflict"), (SOON, "lock_timeout")] {
        for protected in [false, true] {
            let refused = other.try_start(reserving(true, protected, wait)).expect_err("reserved");
            assert_eq!(described(&refused), status);
        }
        begin(&mut other, Isolation::Snapshot, wait);
        assert_eq!(other.rows(ALL), ["10", "20"], "others may read");
        let refused = other.error("insert into t values (3, 30)");
        assert_eq!(refused, format!("{status} random(Acquire lock for relation (T) failed)"));
        begin(&mut other, Isolation::TableStability, wait);
        for query in [ALL, "select count(*) from t", "select sum(v) from t", "select v from t where id = 1"] {
            let expected = format!("{status} random(Acquire lock for relation (T) failed)");
            assert_eq!(other.error(query), expected, "{query}");
        }
        other.rollback();
    }
    other
        .try_start(reserving(false, false, AT_ONCE))
        .expect("SHARED READ goes with everything but EXCLUSIVE");
    holder.execute("insert into t values (3, 30)");
    holder.commit();
}

/// Two transactions of every isolation, with every reservation, reading and writing: refused is what Firebird 5.0.4
/// refuses (all 972 cases were asked there). A transaction has one lock on a table, at one of these levels in their order.
#[test]
fn the_matrix_of_isolations_and_reservations() {
    #[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
    enum Level {
        None,
        ProtectedRead,
        SharedWrite,
        ProtectedWrite,
    }
    let goes_with = |one: Level, other: Level| {
        one == Level::None || other == Level::None || (one == other && one != Level::ProtectedWrite)
    };
    let needed = |isolation, writes| match (isolation, writes) {
        (Isolation::TableStability, false) => Level::ProtectedRead,
        (Isolation::TableStability, true) => Level::ProtectedWrite,
        (_, false) => Level::None,
        (_, true) => Level::SharedWrite,
    };
    let reservations = [
        (None, Level::None),
        (Some((false, false)), Level::None),
        (Some((false, true)), Level::ProtectedRead),
        (Some((true, false)), Level::SharedWrite),
        (Some((true, true)), Level::ProtectedWrite),
    ];
    let isolations = [Isolation::Snapshot, Isolation::TableStability, Isolation::ReadCommitted];
    let parameters = |isolation, reserved: Option<(bool, bool)>| TransactionParameters {
        isolation,
        lock_timeout: AT_ONCE,
        reservations: reserved
            .map(|(write, protected)| TableReservation { relation: "T".to_owned(), write, protected })
            .into_iter()
            .collect(),
        ..TransactionParameters::default()
    };
    let read = (false, "select count(*) from t");
    let write = (true, "insert into t values (7, 70)");
    let (_database, mut first, mut second) = two_sessions();
    let starts =
        || isolations.into_iter().flat_map(|isolation| reservations.map(|(r, level)| (isolation, r, level)));
    for (isolation, reserved, level) in starts() {
        for act in [None, Some(read), Some(write)] {
            for (other_isolation, other_reserved, mut other_level) in starts() {
                let case =
                    format!("{isolation:?} {reserved:?} {act:?}, {other_isolation:?} {other_reserved:?}");
                first.rollback();
                second.rollback();
                first.start(parameters(isolation, reserved));
                let mut level = level;
                if let Some((writes, sql)) = act {
                    first.run(sql).unwrap_or_else(|error| panic!("{case}: {error}"));
                    let needed = needed(isolation, writes);
                    level = if needed > level { needed } else { level };
                }
                let started = second.try_start(parameters(other_isolation, other_reserved));
                assert_eq!(started.is_ok(), goes_with(level, other_level), "{case}");
                if started.is_err() {
                    continue;
                }
                for (writes, sql) in [read, (true, "insert into t values (8, 80)")] {
                    let needed = needed(other_isolation, writes);
                    let expected = needed <= other_level || goes_with(level, needed);
                    assert_eq!(second.run(sql).is_ok(), expected, "{case}, {sql}");
                    other_level = if expected && needed > other_level { needed } else { other_level };
                }
            }
        }
    }
}

/// A referring row that the deleting transaction does not see, because it is not committed yet or was committed since, is
/// not reached by a cascade: the parent must stay.
#[test]
fn cascades_leave_no_orphans_among_rows_of_others() {
    for action in ["cascade", "set null", "set default"] {
        let (_database, mut inserter, mut other) = two_sessions();
        inserter.execute(&format!(
            "create table c (id int, t_id int references t on delete {action} on update {action})"
        ));
        inserter.commit();
        let refused = "foreign_key(INTEG_3, C) foreign_key_references_present idx_key_value((\"ID\" = 2))";
        for committed in [false, true] {
            begin(&mut other, Isolation::Snapshot, AT_ONCE);
            assert_eq!(other.rows(ALL), ["10", "20"]);
            inserter.execute("insert into c values (1, 2)");
            if committed {
                inserter.commit();
            }
            for change in ["delete from t where id = 2", "update t set id = 3 where id = 2"] {
                assert_eq!(other.error(change), refused, "{action}, committed: {committed}, {change}");
            }
            other.rollback();
            inserter.rollback();
        }
        other.execute("delete from t where id = 2");
        other.commit();
        let left = if action == "cascade" { "0" } else { "1" };
        assert_eq!(inserter.rows("select count(*) from c where t_id is null or t_id <> 2"), [left]);
    }
}

/// To reserve a view is to reserve the tables under it.
#[test]
fn a_views_tables_are_reserved_with_it() {
    let (_database, mut holder, mut other) = two_sessions();
    holder.execute("create view w as select id from t");
    holder.execute("create view ww as select id from w");
    holder.commit();
    holder.start(TransactionParameters {
        reservations: vec![TableReservation { relation: "WW".to_owned(), write: true, protected: true }],
        ..TransactionParameters::default()
    });
    begin(&mut other, Isolation::Snapshot, AT_ONCE);
    let refused = other.error("insert into t values (3, 30)");
    assert_eq!(refused, "lock_conflict random(Acquire lock for relation (T) failed)");
}

#[test]
fn a_session_with_several_transactions_is_not_reset() {
    let (_database, mut session, _other) = two_sessions();
    let parameters = TransactionParameters::default;
    let first = session.attachment().start_transaction(parameters()).expect("a transaction");
    session.start(parameters());
    assert_eq!(session.error("alter session reset"), "ses_reset_err ses_reset_open_trans(2)");
    session.attachment().rollback(first).expect("rolled back");
    session.execute("alter session reset");
}
