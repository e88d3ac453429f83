//! Joins by ranges against all pairs of rows: random conditions on two tables, asked once as conditions, which put one side in
//! order, and once as `CASE WHEN ... END = 1`; of values of every kind, with NULLs, in memory and past it.

mod ddl_support;

use ddl_support::{Session, TestDatabase};
use farbird_engine::budget::Limits;

/// Memory of a statement that must keep rows in temporary files.
const LITTLE: u64 = 100_000;

fn set_memory(database: &TestDatabase, bytes: u64) {
    database.engine().budget().set_limits(Limits { statement_memory: bytes, ..Limits::default() });
}

/// Random numbers, the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[usize::try_from(self.below(choices.len() as u64)).expect("a place")]
    }
}

/// Points `p` and spans `s`; each has a value of each kind, or a low and a high one.
fn tables(session: &mut Session, points: u32, spans: u32) {
    let text = "varchar(10) character set utf8 collate unicode_ci";
    session.execute(&format!(
        "create table p (id int, i int, n numeric(9,2), f double precision, d date, t {text}, pad varchar(200))"
    ));
    session.execute(&format!(
        "create table s (id int, il bigint, ih int, nl numeric(12,4), nh int, fl double precision, fh float,
           dl date, dh date, tl {text}, th {text}, pad varchar(200))"
    ));
    session.commit();
    session.execute(&format!(
        "execute block as declare k int = 0; declare v int; begin while (k < {points}) do begin
           v = iif(mod(k, 13) = 7, null, mod(k * 7919, 400) - 200);
           insert into p values (:k, :v, :v / 4.00, :v * 0.5e0, dateadd(:v day to date '2001-01-01'),
             iif(mod(k, 2) = 0, 'a', 'A') || mod(abs(:v), 30), rpad('', 100, 'x'));
           k = k + 1; end end"
    ));
    session.execute(&format!(
        "execute block as declare k int = 0; declare v int; declare w int; begin while (k < {spans}) do begin
           v = iif(mod(k, 11) = 5, null, mod(k * 104729, 400) - 200); w = iif(mod(k, 17) = 3, null, mod(k * 31, 25) - 3);
           insert into s values (:k, :v, :v + :w, :v / 4.00, (:v + :w) / 4, :v * 0.5e0, (:v + :w) * 0.5e0,
             dateadd(:v day to date '2001-01-01'), dateadd(:v + :w day to date '2001-01-01'),
             iif(mod(k, 3) = 0, 'a', 'A') || mod(abs(:v), 30), 'A' || (mod(abs(:v), 30) + 2), rpad('', 100, 'x'));
           k = k + 1; end end"
    ));
    session.commit();
}

fn condition(random: &mut Random) -> String {
    let (value, low, high) = match random.below(6) {
        0 => ("p.i", "s.il", "s.ih"),
        1 => ("p.n", "s.nl", "s.nh"),
        2 => ("p.f", "s.fl", "s.fh"),
        3 => ("p.d", "s.dl", "s.dh"),
        4 => ("p.t", "s.tl", "s.th"),
        _ => ("p.i * 2", "s.il + s.id", "s.ih * 2"),
    };
    let above = random.of(&[">", ">="]);
    let below = random.of(&["<", "<="]);
    let part = match random.below(5) {
        0 | 1 => format!("{value} between {low} and {high}"),
        2 => format!("{value} {above} {low} and {value} {below} {high}"),
        3 => format!("{low} {below} {value} and {high} {above} {value}"),
        _ => format!("{value} {below} {low}"),
    };
    match random.below(4) {
        0 => format!("{part} and mod(p.id + s.id, 3) = 1"),
        1 => format!("s.id < 60 and {part} and p.i < s.nh"),
        _ => part,
    }
}

fn sorted_rows(session: &mut Session, sql: &str) -> Vec<String> {
    let mut rows = session.rows(sql);
    rows.sort();
    rows
}

/// A query, and the same over all pairs.
fn queries(random: &mut Random, condition: &str) -> (String, String) {
    let pairs = |condition: &str| format!("case when {condition} then 1 else 0 end = 1");
    let select = match random.below(7) {
        0 => "select p.id, s.id from p, s where ON",
        1 => "select p.id, s.id from s join p on ON",
        2 => "select p.id, s.id from p left join s on ON",
        3 => "select p.id, s.id from s left join p on ON",
        4 => "select p.id from p where exists (select * from s where ON)",
        5 => "select s.id from s where not exists (select * from p where ON)",
        _ => "select p.id, s.id, q.id from p join s on ON left join p q on q.i > s.ih + 370",
    };
    (select.replace("ON", condition), select.replace("ON", &pairs(condition)))
}

#[test]
fn ranges_find_the_partners_that_all_pairs_have() {
    let (_database, mut session) = TestDatabase::create();
    tables(&mut session, 150, 90);
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let (mut by_range, mut rows) = (0, 0);
    for _ in 0..120 {
        let condition = condition(&mut random);
        let (asked, written) = queries(&mut random, &condition);
        let plan = session.prepare(&asked).expect("a plan").explained_plan.clone();
        by_range += usize::from(plan.contains("Range Join"));
        let expected = sorted_rows(&mut session, &written);
        assert_eq!(sorted_rows(&mut session, &asked), expected, "{asked}\n{plan}");
        rows += expected.len();
    }
    assert!(by_range > 80 && rows > 20_000, "{by_range} joins by ranges, {rows} rows");
}

#[test]
fn ranges_past_their_memory_find_the_same() {
    let (database, mut session) = TestDatabase::create();
    tables(&mut session, 700, 600);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..24 {
        let condition = condition(&mut random);
        let (asked, _) = queries(&mut random, &condition);
        // Two joins would need more than that.
        let asked = asked.split(" left join p q").next().expect("a query").replace(", q.id", "");
        // With what makes rows long, so that neither side fits.
        let asked = asked.replace("select p.id, s.id", "select p.id, s.id, p.pad, s.pad");
        set_memory(&database, u64::MAX);
        let expected = session.rows(&asked);
        set_memory(&database, LITTLE);
        let mut found = session.rows(&asked);
        set_memory(&database, u64::MAX);
        let mut sorted = expected.clone();
        sorted.sort();
        found.sort();
        assert!(found == sorted, "{asked}: {} rows instead of {}", found.len(), sorted.len());
    }
}

#[test]
fn what_would_fail_is_not_evaluated_for_rows_that_a_condition_keeps_away() {
    let (_database, mut session) = TestDatabase::create();
    tables(&mut session, 60, 40);
    let (guarded, written) = (
        "select count(*) from p left join s on p.id <> 5 and 100 / (p.id - 5) between s.il and s.ih",
        "select count(*) from p left join s on case when p.id <> 5 and 100 / (p.id - 5) between s.il and s.ih then 1 else 0 end = 1",
    );
    assert_eq!(session.rows(guarded), session.rows(written));
    let error =
        session.run("select p.id from p join s on 100 / (p.id - 5) between s.il and s.ih").unwrap_err();
    assert!(error.has(farbird_types::isc::ARITH_EXCEPT), "{error}");
}
