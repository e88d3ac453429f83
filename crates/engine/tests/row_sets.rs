//! Rows that several indexes name, read in row order: random conditions over indexed columns, asked once as conditions and once as
//! `CASE WHEN ... END = 1`, which reads all rows; in tables that have been changed, by others and by the transaction itself.

mod ddl_support;

use std::sync::Arc;

use ddl_support::{Session, TestDatabase};
use farbird_catalog::statistics::StatisticsSource;
use farbird_store::{ColumnStatistics, RelationId, RelationStatistics};

/// Random numbers, the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Says that every table is large and its rows scattered: sets are worth it.
struct Large(u64);

impl StatisticsSource for Large {
    fn relation(&self, _: RelationId) -> Option<Arc<RelationStatistics>> {
        let column = ColumnStatistics { distinct: self.0 as f64 / 300.0, ..ColumnStatistics::default() };
        let columns = vec![column; 5];
        let (rows, blocks) = (self.0, self.0 / 300);
        Some(Arc::new(RelationStatistics { rows, blocks, columns, ..RelationStatistics::default() }))
    }
}

fn large(session: &mut Session, rows: u64) {
    session.attachment().database().catalog().statistics.believe(Some(Arc::new(Large(rows))));
}

/// A table of 6,000 rows with an index on each of three columns, one of them descending, and a partial one.
fn tables(session: &mut Session) {
    session.execute("create table t (id int not null primary key, a int, b int, c varchar(10), d int)");
    session.execute("create index t_a on t (a)");
    session.execute("create descending index t_b on t (b)");
    session.execute("create index t_c on t (c)");
    session.execute("create index t_d on t (d) where d > 3");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin while (i < 6000) do begin
           insert into t values (:i, iif(mod(:i, 11) = 0, null, mod(:i * 7919, 200)), mod(:i * 31, 90) - 40,
             'word' || mod(:i, 40), iif(mod(:i, 3) = 0, mod(:i, 12), null)); i = i + 1; end end",
    );
    session.commit();
}

fn condition(random: &mut Random, depth: u32) -> String {
    if depth > 0 && random.below(3) > 0 {
        let word = ["and", "or"][usize::try_from(random.below(2)).expect("small")];
        let parts: Vec<String> = (0..2).map(|_| condition(random, depth - 1)).collect();
        return format!("({})", parts.join(&format!(" {word} ")));
    }
    match random.below(9) {
        0 => format!("a = {}", random.below(210)),
        1 => format!("a between {} and {}", random.below(100), random.below(200)),
        2 => format!("a in ({}, {}, {})", random.below(200), random.below(200), random.below(200)),
        3 => format!("b > {}", 50 - i64::try_from(random.below(60)).expect("small")),
        4 => format!("b = {}", i64::try_from(random.below(90)).expect("small") - 40),
        5 => format!("c = 'word{}'", random.below(44)),
        6 => format!("c starting 'word{}'", random.below(4)),
        7 => format!("d = {}", 4 + random.below(8)),
        _ => format!("a is {}null", ["", "not "][usize::try_from(random.below(2)).expect("small")]),
    }
}

/// Asks many conditions both ways; gives how many plans had sets in all of, and in any of, several others.
fn ask(session: &mut Session, random: &mut Random, times: u32) -> (usize, usize) {
    let (mut all_of, mut any_of, mut rows) = (0, 0, 0);
    for number in 0..times {
        let wanted = format!("{} and {}", condition(random, 1), condition(random, 2));
        let wanted = if number % 4 == 0 { condition(random, 2) } else { wanted };
        large(session, [4_000_000, 600_000, 30_000][usize::try_from(random.below(3)).expect("small")]);
        let ask = |condition: &str| format!("select id, a, b, c from t where {condition}");
        let plan = session.prepare(&ask(&wanted)).expect("a plan").explained_plan.clone();
        all_of += usize::from(plan.contains("Bitmap And"));
        any_of += usize::from(plan.contains("Bitmap Or"));
        let found = session.rows(&ask(&wanted));
        let expected = session.rows(&ask(&format!("case when {wanted} then 1 else 0 end = 1")));
        if plan.contains("Bitmap And") {
            assert_eq!(found, expected, "not in row order: {wanted}\n{plan}");
        }
        let sorted = |mut rows: Vec<String>| {
            rows.sort();
            rows
        };
        assert_eq!(sorted(found), sorted(expected.clone()), "{wanted}\n{plan}");
        rows += expected.len();
        let sums = |condition: &str| format!("select count(*), sum(a), max(c) from t where {condition}");
        assert_eq!(
            session.rows(&sums(&wanted)),
            session.rows(&sums(&format!("case when {wanted} then 1 else 0 end = 1"))),
            "{wanted}\n{plan}"
        );
    }
    assert!(rows > times as usize, "conditions that leave nothing show nothing: {rows}");
    (all_of, any_of)
}

#[test]
fn sets_of_rows_have_the_rows_that_the_conditions_leave() {
    let (_database, mut session) = TestDatabase::create();
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    tables(&mut session);
    let (all_of, any_of) = ask(&mut session, &mut random, 150);
    assert!(
        all_of > 20 && any_of > 10,
        "{all_of} plans with all of several sets, {any_of} with any of several"
    );
}

#[test]
fn what_others_and_the_transaction_changed_is_seen_as_it_should_be() {
    let (database, mut session) = TestDatabase::create();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    tables(&mut session);
    // Index entries of rows that are gone, moved, or not yet there for this snapshot.
    let mut other = database.attach("SYSDBA", None);
    session.rows("select count(*) from t");
    other.execute("update t set a = a + 50, b = -b where mod(id, 4) = 1");
    other.execute("delete from t where mod(id, 9) = 2");
    other.execute("insert into t select id + 10000, a, b, c, d from t where mod(id, 5) = 0");
    other.commit();
    ask(&mut session, &mut random, 40);
    session.commit();
    session.execute("update t set c = 'word7', a = null where mod(id, 13) = 5");
    session.execute("delete from t where mod(id, 17) = 3");
    session.execute("insert into t select id + 20000, a, b, c, d from t where id < 500");
    ask(&mut session, &mut random, 40);
    // Rows are changed by what the sets say before the change.
    large(&mut session, 4_000_000);
    let wanted = "a between 10 and 120 and b between -30 and 30";
    let number = |session: &mut Session, query: &str| -> i64 {
        session.rows(query)[0].trim().parse().expect("a number")
    };
    let rows =
        number(&mut session, &format!("select count(*) from t where case when {wanted} then 1 end = 1"));
    let before = number(&mut session, "select sum(a) from t");
    session.execute(&format!("update t set a = a + 1 where {wanted}"));
    assert_eq!(number(&mut session, "select sum(a) from t"), before + rows, "each row is changed once");
    session.rollback();
    ask(&mut session, &mut random, 20);
}
