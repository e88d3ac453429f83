//! A prepared statement executed for many rows of parameters: what becomes of a table whose rows are inserted together is what becomes of
//! one with the same rows inserted by an execution each, errors included.
//!
//! `FARBIRD_SEED` says what is done.

mod ddl_support;

use std::time::Duration;

use ddl_support::{Session, TestDatabase};
use farbird_engine::api::{ExecuteOptions, Isolation, RowsWanted, TransactionParameters};
use farbird_types::{Result, Value};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

fn create(session: &mut Session) {
    session.execute("create table parent (g int not null primary key)");
    session.commit();
    session.execute("insert into parent values (1)");
    session.commit();
    for table in ["together", "apart"] {
        session.execute(&format!(
            "create table {table} (id int not null primary key, u int, v smallint check (v < 30000), t varchar(20) default 'none', \
             n int not null)"
        ));
        session.execute(&format!("create unique index {table}_u on {table} (u)"));
        session.execute(&format!("create descending index {table}_t on {table} (t, v)"));
    }
    session.commit();
}

/// Statements of three parameters, with `{}` for the table.
const INSERTS: [&str; 7] = [
    "insert into {} (id, u, v, n) values (?, ?, ?, 1)",
    "insert into {} (id, u, v, n, t) values (?, ?, 100 / cast(? as int), 1, 'text')",
    "insert into {} (id, u, n) values (?, ?, ?)",
    // Rows that see those before them.
    "insert into {} (id, u, v, n) values (?, ?, ?, (select count(*) from {}))",
    "insert into {} (id, u, v, n) values (?, ?, ?, 1) returning id",
    "update or insert into {} (id, u, v, n) values (?, ?, ?, 2)",
    "update {} set u = ?, v = ? where id = ?",
];

fn given(random: &mut Random, first: &mut i64) -> Vec<Vec<Value>> {
    let count = random.below(300);
    let number = |number: u64| Value::integer(number as i64);
    (0..count)
        .map(|_| {
            *first += 1;
            let id = match random.below(60) {
                0 => number(random.below(1000)),
                1 => Value::Null,
                _ => Value::integer(*first),
            };
            let u = match random.below(40) {
                0 => number(random.below(1000)),
                1 | 2 => Value::Null,
                _ => Value::integer(2 * *first),
            };
            let v = match random.below(40) {
                0 => number(30_000),
                1 => number(40_000),
                2 => number(0),
                3 => Value::Null,
                _ => number(1 + random.below(100)),
            };
            vec![id, u, v]
        })
        .collect()
}

/// What an execution gave: how many rows it changed, or the codes of its error.
fn told(outcome: Result<u64>) -> String {
    match outcome {
        Ok(changed) => changed.to_string(),
        Err(error) => error.items().iter().map(|item| format!("{} ", item.gds_code)).collect(),
    }
}

fn together(session: &mut Session, sql: &str, rows: &[Vec<Value>], ends: bool) -> Vec<String> {
    let (transaction, statement) = (session.transaction(), session.keep_prepared(sql).expect("a statement"));
    let mut outcomes = Vec::new();
    session.attachment().execute_for_each(statement, transaction, rows.to_vec(), |outcome| {
        let goes_on = outcome.is_ok() || !ends;
        let changed = outcome.map(|counts| counts.inserted + counts.updated);
        outcomes.push(told(changed));
        goes_on
    });
    session.forget(statement);
    outcomes
}

fn apart(session: &mut Session, sql: &str, rows: &[Vec<Value>], ends: bool) -> Vec<String> {
    let (transaction, statement) = (session.transaction(), session.keep_prepared(sql).expect("a statement"));
    let mut outcomes = Vec::new();
    for row in rows {
        let options = ExecuteOptions { rows: RowsWanted::AtMostOne, ..ExecuteOptions::default() };
        let attachment = session.attachment();
        let outcome = attachment.execute(statement, Some(transaction), row.clone(), options);
        let counts = attachment.record_counts(statement).expect("counts");
        let ended = outcome.is_err() && ends;
        outcomes.push(told(outcome.map(|_| counts.inserted + counts.updated)));
        if ended {
            break;
        }
    }
    session.forget(statement);
    outcomes
}

/// All of a table, by each of its indexes.
fn contents(session: &mut Session, table: &str) -> Vec<Vec<String>> {
    let all = format!("select id, u, v, t, n from {table}");
    [
        format!("{all} order by id"),
        format!("{all} where u > 0 order by u"),
        format!("select t, v, id from {table} where t > '' order by t desc, v desc, id"),
    ]
    .iter()
    .map(|sql| session.rows(sql))
    .collect()
}

#[test]
fn rows_of_parameters_inserted_together_become_what_they_become_apart() {
    let seed = std::env::var("FARBIRD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_128);
    println!("FARBIRD_SEED={seed}");
    let mut random = Random(seed);
    let (database, mut session) = TestDatabase::create();
    create(&mut session);
    let mut other = database.attach("SYSDBA", None);
    let mut first = 1_000;
    let (mut changed, mut failed) = (0, 0);
    for round in 0..40 {
        let isolation = [Isolation::Snapshot, Isolation::ReadCommitted][random.below(2) as usize];
        session.start(TransactionParameters {
            isolation,
            lock_timeout: Some(Duration::ZERO),
            ..TransactionParameters::default()
        });
        // Somebody else has some of the keys, for now or for good.
        if random.once_in(3) {
            let gone = random.below(1_500);
            for table in ["together", "apart"] {
                other.execute(&format!("insert into {table} (id, n) values ({}, 0)", first + 20));
                other.execute(&format!("delete from {table} where id < {gone}"));
            }
            match random.below(3) {
                0 => other.commit(),
                1 => other.rollback(),
                _ => {}
            }
        }
        for _ in 0..1 + random.below(3) {
            let insert = INSERTS[random.below(INSERTS.len() as u64) as usize];
            let rows = given(&mut random, &mut first);
            let (savepoint, ends) = (random.once_in(3), random.once_in(4));
            if savepoint {
                session.execute("savepoint s");
            }
            let told_together = together(&mut session, &insert.replace("{}", "together"), &rows, ends);
            let told_apart = apart(&mut session, &insert.replace("{}", "apart"), &rows, ends);
            assert_eq!(told_together, told_apart, "FARBIRD_SEED={seed}, round {round}: {insert}");
            changed += told_apart.iter().filter(|told| told.as_str() == "1").count();
            failed += told_apart.iter().filter(|told| told.len() > 1).count();
            if savepoint && random.once_in(2) {
                session.execute("rollback to savepoint s");
            }
            let (of_together, of_apart) =
                (contents(&mut session, "together"), contents(&mut session, "apart"));
            assert!(of_together == of_apart, "FARBIRD_SEED={seed}, round {round}: {insert}");
        }
        match random.once_in(4) {
            true => session.rollback(),
            false => session.commit(),
        }
        other.rollback();
    }
    assert!(changed > 2_000 && failed > 100, "{changed} changed, {failed} failed");
    drop((session, other));
    let report = database.check();
    assert!(report.is_sound(), "{:?}", report.damages);
}

#[test]
fn a_cancel_fails_the_row_at_which_it_comes() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id int not null primary key)");
    session.commit();
    let (transaction, statement) =
        (session.transaction(), session.keep_prepared("insert into t values (?)").expect("a statement"));
    let rows: Vec<Vec<Value>> = (0..100).map(|id| vec![Value::integer(id)]).collect();
    let interrupt = session.attachment().interrupt();
    let mut outcomes = Vec::new();
    session.attachment().execute_for_each(statement, transaction, rows, |outcome| {
        outcomes.push(outcome.is_ok());
        if outcomes.len() == 1 {
            interrupt.raise(farbird_engine::session::StopReason::Cancelled);
        }
        true
    });
    assert_eq!(outcomes.len(), 100);
    assert_eq!(outcomes.iter().position(|succeeded| !succeeded), Some(1));
    assert_eq!(outcomes.iter().filter(|succeeded| **succeeded).count(), 99);
    assert_eq!(session.rows("select count(*) from t"), ["99"]);
}

#[test]
fn each_row_waits_for_a_locked_table_once() {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t (id int)");
    session.commit();
    let mut other = database.attach("SYSDBA", None);
    other.start(TransactionParameters {
        isolation: Isolation::TableStability,
        ..TransactionParameters::default()
    });
    other.rows("select * from t");
    let (transaction, statement) =
        (session.transaction(), session.keep_prepared("insert into t values (?)").expect("a statement"));
    let rows: Vec<Vec<Value>> = (0..10).map(|id| vec![Value::integer(id)]).collect();
    let mut errors = 0;
    session.attachment().execute_for_each(statement, transaction, rows, |outcome| {
        errors += usize::from(outcome.is_err());
        if errors == 3 {
            other.rollback();
        }
        true
    });
    assert_eq!(errors, 3);
    assert_eq!(session.rows("select count(*) from t"), ["7"]);
}
