//! INSERT, UPDATE, DELETE and MERGE of many rows at once: what becomes of a table whose rows go to the store together is what becomes of one
//! with the same rows whose triggers have them changed one by one.
//!
//! `FARBIRD_SEED` says what is done.

mod ddl_support;

use std::time::Duration;

use ddl_support::{Session, TestDatabase};
use farbird_engine::api::{Isolation, TransactionParameters};

const ROWS: u64 = 700;
const ROUNDS: usize = 25;

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

/// The two tables: the rows of the second one are changed one by one.
const TABLES: [&str; 2] = ["together", "apart"];

fn create(session: &mut Session) {
    session.execute("create table parent (g int not null primary key)");
    session.execute("create table given (id int, u int, k int, v int, t varchar(20), g int)");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin while (i < 20) do begin insert into parent values (:i); i = i + 1; end end",
    );
    session.commit();
    for table in TABLES {
        session.execute(&format!(
            "create table {table} (id int not null, u int, k int, v smallint, t varchar(20), g int default 3, \
             constraint pk_{table} primary key (id), constraint ch_{table} check (v < 30000), \
             constraint fk_{table} foreign key (g) references parent)"
        ));
        session.execute(&format!("create unique index {table}_u on {table} (u)"));
        session.execute(&format!("create index {table}_k on {table} (k)"));
        session.execute(&format!("create descending index {table}_t on {table} (t, k)"));
        session.execute(&format!("create index {table}_s on {table} computed by (k + v)"));
        session.execute(&format!("create index {table}_p on {table} (v) where k > 5"));
        session.commit();
        session.execute(&format!(
            "execute block as declare i int = 0; begin while (i < {ROWS}) do begin \
             insert into {table} values (:i, iif(mod(:i, 9) = 0, null, :i * 2), mod(:i * 7, 20), mod(:i, 100), 'text ' || mod(:i, 13), mod(:i, 20)); \
             i = i + 1; end end"
        ));
        session.commit();
    }
    session.execute("create trigger apart_d for apart after delete as declare n int; begin n = old.id; end");
    session.execute("create trigger apart_u for apart after update as declare n int; begin n = old.id; end");
    session.execute("create trigger apart_i for apart after insert as declare n int; begin n = new.id; end");
    session.commit();
}

/// All of a table, by each of its indexes.
fn contents(session: &mut Session, table: &str) -> Vec<Vec<String>> {
    let all = format!("select id, u, k, v, t, g from {table}");
    [
        format!("{all} order by id"),
        format!("{all} where id >= 0 order by id"),
        format!("{all} where u > 0 order by u"),
        format!("select k, id from {table} where k >= 0 order by k, id"),
        format!("select t, k, id from {table} where t > '' order by t desc, k desc, id"),
        format!("select k + v, id from {table} where k + v > 3 order by 1, 2"),
        format!("select v, id from {table} where v > 20 and k > 5 order by v, id"),
        format!("select g, id from {table} where g >= 0 order by g, id"),
    ]
    .iter()
    .map(|sql| session.rows(sql))
    .collect()
}

fn condition(random: &mut Random) -> String {
    let (first, count) = (random.below(ROWS), 1 + random.below(ROWS / 2));
    match random.below(6) {
        0 => format!("id between {first} and {}", first + count),
        1 => format!("k = {}", random.below(20)),
        2 => format!("u between {first} and {}", first + 2 * count),
        3 => format!("t starting with 'text {}'", random.below(10)),
        4 => format!("mod(id, {}) = 1", 2 + random.below(9)),
        _ => format!("id = {first}"),
    }
}

/// Fills the table of rows to be inserted and merged: some rows of which one is wrong now and then.
fn give(random: &mut Random, session: &mut Session) {
    session.execute("delete from given");
    // From among the rows that there are, behind them, or both.
    let first = [random.below(ROWS), ROWS, ROWS - 100][random.below(3) as usize];
    let count = 1 + random.below(500);
    let step = 1 + random.below(2);
    session.execute(&format!(
        "execute block as declare i int = 0; begin while (i < {count}) do begin \
         insert into given values ({first} + :i * {step}, iif(mod(:i, 9) = 0, null, ({first} + :i * {step}) * 2), mod(:i, 20), 7, 'given', mod(:i, 20)); \
         i = i + 1; end end"
    ));
    let one = first + random.below(count) * step;
    session.execute(&match random.below(9) {
        0 => format!("update given set v = 30000 where id = {one}"),
        1 => format!("update given set v = 40000 where id = {one}"),
        2 => format!("update given set g = 20 where id = {one}"),
        3 => format!("update given set id = null where id = {one}"),
        4 => format!("update given set u = {} where id = {one}", 2 * random.below(ROWS)),
        5 => format!("update given set id = {} where id = {one}", random.below(ROWS)),
        _ => format!("update given set g = null where id = {one}"),
    });
    session.commit();
}

/// A statement for either table that takes what is given.
fn statement_of_given(random: &mut Random) -> String {
    let ordered = ["", " order by id", " order by id desc"][random.below(3) as usize];
    let absent = match random.once_in(2) {
        true => " where id is null or not exists (select 1 from {} t where t.id = given.id)",
        false => "",
    };
    let order = ordered.replace("id", "given.id");
    let using =
        "merge into {} t using (select * from given ORDER) given on t.id = given.id".replace("ORDER", &order);
    let insert =
        "when not matched then insert (id, u, k, v, t) values (given.id, given.u, given.k, given.v, given.t)";
    match random.below(9) {
        0 => format!("insert into {{}} select * from given{absent}{ordered}"),
        1 => format!("insert into {{}} (id, k, v) select id, k, v from given{absent}{ordered}"),
        2 => format!(
            "insert into {{}} (id, k, v, g) select id + 2, k, 100 / (v - 7 + k), g from given{absent}{ordered}"
        ),
        // The table itself.
        3 => format!(
            "insert into {{}} select id + {ROWS}, null, k, v, t, g from {{}} where {}",
            condition(random)
        ),
        4 => format!("{using} when matched then update set v = t.v + given.v, t = 'merged' {insert}"),
        5 => format!(
            "{using} when matched and mod(t.id, 3) = 0 then delete when matched then update set u = given.u"
        ),
        6 => format!("{using} when matched then update set u = given.u {insert}"),
        7 => format!("{using} when matched and t.k > 9 then delete {insert}"),
        _ => String::from(
            "merge into {} t using (select g.* from given g join parent p on p.g in (g.g, 1)) given on t.id = given.id and t.k > 3 \
             when matched then update set v = given.v when not matched and given.k > 30 then insert (id) values (given.id)",
        ),
    }
}

/// A statement for either table, whose name is left out as `{}`.
fn statement(random: &mut Random) -> String {
    if random.once_in(2) {
        return statement_of_given(random);
    }
    let condition = condition(random);
    let ordered = ["", "", " order by id desc", " order by v, id rows 40"][random.below(4) as usize];
    match random.below(9) {
        0 | 1 => format!("delete from {{}} where {condition}{ordered}"),
        2 => format!("update {{}} set v = v + 1 where {condition}{ordered}"),
        3 => format!("update {{}} set k = k + 1, t = 'more ' || k where {condition}{ordered}"),
        // Keys that others have, some of them.
        4 => format!("update {{}} set u = u + {} where {condition}{ordered}", 1 + random.below(2)),
        5 => format!("update {{}} set u = null where {condition}{ordered}"),
        // Fails in the middle: out of range, and by the CHECK.
        6 => format!(
            "update {{}} set v = v * {} where {condition}{ordered}",
            [1, 300, 400][random.below(3) as usize]
        ),
        7 => format!("update {{}} set v = 100 / (k - {}) where {condition}{ordered}", random.below(40)),
        _ => format!("update {{}} set id = id where {condition}{ordered}"),
    }
}

/// Runs a statement on either table; gives how many rows it changed, or what it failed with.
fn run(session: &mut Session, statement: &str, table: &str, in_block: bool) -> Result<Vec<String>, Vec<i32>> {
    let sql = statement.replace("{}", table);
    let sql = match in_block {
        true => format!("execute block returns (r bigint) as begin {sql}; r = row_count; suspend; end"),
        false => sql,
    };
    let outcome = session.run(&sql);
    // Where in the block it happened is told by some errors and not by others.
    let codes = |error: farbird_types::Error| {
        let codes = error.items().iter().map(|item| item.gds_code as i32);
        codes.filter(|code| *code != farbird_types::isc::STACK_TRACE as i32).collect()
    };
    outcome.map(|rows| rows.iter().map(|row| format!("{row:?}")).collect()).map_err(codes)
}

#[test]
fn rows_that_are_changed_together_become_what_they_become_apart() {
    let seed = std::env::var("FARBIRD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_123);
    println!("FARBIRD_SEED={seed}");
    let mut random = Random(seed);
    let (database, mut session) = TestDatabase::create();
    create(&mut session);
    let mut other = database.attach("SYSDBA", None);
    let (mut changed, mut failed) = (0, 0);
    for round in 0..ROUNDS {
        give(&mut random, &mut session);
        let isolation = [Isolation::Snapshot, Isolation::ReadCommitted][random.below(2) as usize];
        session.start(TransactionParameters {
            isolation,
            lock_timeout: Some(Duration::ZERO),
            ..TransactionParameters::default()
        });
        // Others have changed some rows: before this transaction looks, or still at it.
        let begins_first = random.once_in(2);
        if begins_first {
            session.rows("select count(*) from together");
        }
        if random.once_in(2) {
            let id = random.below(ROWS);
            for table in TABLES {
                other.execute(&format!("update {table} set t = 'other' where id in ({id}, {})", id + 5));
            }
            if random.once_in(2) {
                other.commit();
            }
        }
        for _ in 0..1 + random.below(4) {
            let savepoint = random.once_in(3);
            if savepoint {
                session.execute("savepoint s");
            }
            if random.once_in(6) {
                let condition = condition(&mut random);
                for table in TABLES {
                    drop(session.run(&format!("select id from {table} where {condition} with lock")));
                }
            }
            let (statement, in_block) = (statement(&mut random), random.once_in(2));
            let [together, apart] = TABLES.map(|table| run(&mut session, &statement, table, in_block));
            assert_eq!(together, apart, "FARBIRD_SEED={seed}, round {round}: {statement}");
            match together {
                Ok(_) => changed += 1,
                Err(_) => failed += 1,
            }
            if savepoint && random.once_in(2) {
                session.execute("rollback to savepoint s");
            }
            let [together, apart] = TABLES.map(|table| contents(&mut session, table));
            assert_eq!(together, apart, "FARBIRD_SEED={seed}, round {round}: {statement}");
        }
        if random.once_in(4) {
            session.rollback()
        } else {
            session.commit()
        }
        other.rollback();
        // New rows for those that have gone, and values that can grow again.
        for table in TABLES {
            session.execute(&format!("delete from {table} where id >= {ROWS}"));
            session.execute(&format!("update {table} set v = mod(id, 100)"));
            session.execute(&format!(
                "insert into {table} select r.id, null, mod(r.id, 20), 1, 'new', 1 from \
                 (with recursive n as (select 0 id from rdb$database union all select id + 1 from n where id < {}) select id from n) r \
                 where not exists (select 1 from {table} where id = r.id)",
                ROWS.min(900) - 1
            ));
        }
        session.commit();
    }
    assert!(changed > 15 && failed > 3, "{changed} changed, {failed} failed");
    drop((session, other));
    let report = database.check();
    assert!(report.is_sound(), "{:?}", report.damages);
}
