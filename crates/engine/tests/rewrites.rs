//! Rewrites against the plan as written: random conditions over random rows with NULLs, asked once as conditions, which rules
//! rewrite and joins use, and once as `CASE WHEN ... END = 1`, which is a filter over all pairs of rows.

mod ddl_support;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ddl_support::{Session, TestDatabase};
use farbird_catalog::statistics::StatisticsSource;
use farbird_engine::budget::{Limits, Resource};
use farbird_store::{ColumnStatistics, IndexId, IndexStatistics, RelationId, RelationStatistics};

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
        let place = self.below(choices.len() as u64);
        choices[usize::try_from(place).expect("a place")]
    }
}

/// A condition on tables with these aliases; `depth` bounds subqueries and alternatives.
fn condition(random: &mut Random, aliases: &[&str], depth: u32) -> String {
    let column =
        |random: &mut Random| format!("{}.{}", random.of(aliases), random.of(&["id", "a", "a", "b"]));
    match random.below(if depth == 0 { 5 } else { 13 }) {
        0 | 1 => format!("{} = {}", column(random), column(random)),
        2 => format!("{} {} {}", column(random), random.of(&["=", "<", ">=", "<>"]), random.below(8)),
        3 => format!("{} between {} and {}", column(random), random.below(4), random.below(9)),
        4 => format!("{} {}", column(random), random.of(&["is null", "is not null", "in (1, 3, 5)"])),
        5 | 6 => {
            let alternatives: Vec<String> = (0..2)
                .map(|_| {
                    let parts = [condition(random, aliases, 0), condition(random, aliases, depth - 1)];
                    format!("({})", parts.join(" and "))
                })
                .collect();
            let shared = condition(random, aliases, 0);
            match random.below(2) {
                0 => format!("({})", alternatives.join(" or ")),
                _ => format!("(({shared} and {}) or ({shared} and {}))", alternatives[0], alternatives[1]),
            }
        }
        7 | 8 => {
            let (not, query) = (random.of(&["", "not "]), subquery(random, aliases, depth, "1"));
            format!("{not}exists ({query})")
        }
        9 | 10 => {
            let item = random.of(&["i.a", "i.id"]);
            let query = subquery(random, aliases, depth, item);
            format!("{} {}in ({query})", column(random), random.of(&["", "not "]))
        }
        11 => format!(
            "{} {} ({})",
            column(random),
            random.of(&["=", "<", ">="]),
            aggregate_query(random, aliases)
        ),
        _ => format!("{} in (select g.a from {} g group by g.a)", column(random), table(random)),
    }
}

fn table<'a>(random: &mut Random) -> &'a str {
    random.of(&["plain", "keyed", "indexed"])
}

fn subquery(random: &mut Random, aliases: &[&str], depth: u32, item: &str) -> String {
    // Deeper aliases hide those around them only where that is meant.
    let own = format!("i{depth}");
    let item = item.replace("i.", &format!("{own}."));
    let mut inside: Vec<&str> = aliases.to_vec();
    inside.push(&own);
    let parts: Vec<String> = (0..=random.below(2)).map(|_| condition(random, &inside, depth - 1)).collect();
    format!("select {item} from {} {own} where {}", table(random), parts.join(" and "))
}

/// A query of one aggregate, which looks at a row of tables with these aliases.
fn aggregate_query(random: &mut Random, aliases: &[&str]) -> String {
    let item = random.of(&[
        "max(m.b)",
        "sum(m.b)",
        "count(*)",
        "count(m.a) + 1",
        "coalesce(min(m.a), 3)",
        "2 * avg(m.id) - sum(m.b)",
        "count(distinct m.b)",
    ]);
    let (outer, other) = (random.of(aliases), random.of(&["a", "b", "id"]));
    let more = random.of(&["", " and m.b > 2", " and m.a is not null", " and x.b = m.b", " and m.b = x.a"]);
    format!("select {item} from {} m where m.a = {outer}.{other}{more}", table(random))
}

/// FROM with its aliases.
fn from(random: &mut Random) -> (String, Vec<&'static str>) {
    let (first, second) = (table(random), table(random));
    match random.below(4) {
        0 => (format!("{first} x"), vec!["x"]),
        1 => (format!("{first} x, {second} y"), vec!["x", "y"]),
        2 => (format!("{first} x join {second} y on x.a = y.id"), vec!["x", "y"]),
        _ => {
            let on = random.of(&[
                "x.a = y.b",
                "x.id = y.id",
                "x.id = y.id and y.b > 2",
                "x.b = y.a",
                "x.a = y.id",
            ]);
            (format!("{first} x left join {second} y on {on}"), vec!["x", "y"])
        }
    }
}

/// Tables with a dozen rows each, with NULLs and values that repeat.
fn small_tables(session: &mut Session, random: &mut Random) {
    session.execute("create table plain (id int, a int, b int)");
    session.execute("create table keyed (id int not null primary key, a int, b int)");
    session.execute("create table indexed (id int, a int, b int)");
    session.execute("create index indexed_a on indexed (a)");
    session.execute("create index indexed_ab on indexed (b, a)");
    session.commit();
    for name in ["plain", "keyed", "indexed"] {
        for id in 0..12 {
            let value = |random: &mut Random| match random.below(6) {
                0 => "null".to_owned(),
                _ => random.below(8).to_string(),
            };
            let (a, b) = (value(random), value(random));
            session.execute(&format!("insert into {name} values ({id}, {a}, {b})"));
        }
    }
    session.commit();
}

/// With FIRST queries in the select list run for each row.
#[test]
fn queries_in_the_select_list_give_what_they_give_row_by_row() {
    let (_database, mut session) = TestDatabase::create();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    small_tables(&mut session, &mut random);
    for number in 0..200 {
        let (from, aliases) = from(&mut random);
        let values = [aggregate_query(&mut random, &aliases), aggregate_query(&mut random, &aliases)];
        let query = format!("x.id, ({}), coalesce(({}), -1) from {from}", values[0], values[1]);
        let mut found = session.rows(&format!("select {query}"));
        let mut expected = session.rows(&format!("select first 100000 {query}"));
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "query {number}: {query}");
        // In aggregates too.
        let total =
            |values: &str| format!("select count(*), sum(s), count(t) from (select {values}) d (i, s, t)");
        assert_eq!(
            session.rows(&total(&query)),
            session.rows(&total(&format!("first 100000 {query}"))),
            "{query}"
        );
        assert!(!found.is_empty() || from.contains("join"), "{query}");
    }
}

#[test]
fn rewritten_queries_give_the_rows_of_the_queries_as_written() {
    let (_database, mut session) = TestDatabase::create();
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    small_tables(&mut session, &mut random);
    let mut rows = 0;
    for number in 0..1_200 {
        let (from, aliases) = from(&mut random);
        // Of one table only what is selected: the other may go, or only be asked for.
        let (used, asked_for) = match (aliases.len(), random.below(4)) {
            (2, 0) => (&aliases[..1], None),
            (2, 1) => (&aliases[..1], Some(random.of(&["y.id is null", "y.a is null", "y.b is null"]))),
            _ => (&aliases[..], None),
        };
        let mut parts: Vec<String> = (0..=random.below(3)).map(|_| condition(&mut random, used, 2)).collect();
        parts.extend(asked_for.map(str::to_owned));
        let items = |aliases: &[&str]| {
            let items = aliases.iter().map(|alias| format!("{alias}.id, {alias}.a, {alias}.b"));
            items.collect::<Vec<_>>().join(", ")
        };
        let asked = format!("select {} from {from} where {}", items(used), parts.join(" and "));
        let written = format!(
            "select {} from {from} where case when {} then 1 else 0 end = 1",
            items(&aliases),
            parts.join(" and ")
        );
        let mut found = session.rows(&asked);
        let mut expected = session.rows(&written);
        let fields = used.len() * 3;
        let first = |row: &String| row.split('|').take(fields).collect::<Vec<_>>().join("|");
        expected.iter_mut().for_each(|row| *row = first(row));
        found.sort();
        expected.sort();
        rows += expected.len();
        assert_eq!(found, expected, "query {number}: {asked}");
    }
    assert!(rows > 2_000, "queries that find nothing show nothing: {rows}");
}

/// A hash join tells a scan which keys have a partner; not where its key is computed.
#[test]
fn scans_leave_out_only_rows_without_a_partner() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table big (id int, k int, l bigint, n numeric(9,2), d date)");
    session.execute("create table small (id int, k int, l bigint, n numeric(9,2), d date)");
    session.commit();
    for (table, rows, factor) in [("big", 6_000, 1), ("small", 40, 97)] {
        session.execute(&format!(
            "execute block as declare i int = 0; begin while (i < {rows}) do begin
               insert into {table} values (:i, mod(:i * {factor} * 31, 700) - 300,
                 iif(mod(:i, 7) = 3, null, cast(mod(:i * {factor}, 500) as bigint) * 1000000007 - 5),
                 mod(:i * {factor}, 900) / 4.00, dateadd(mod(:i * {factor}, 800) day to date '1999-12-01'));
               i = i + 1; end end"
        ));
    }
    session.commit();
    let pairs = [
        ("b.k = s.k", "b.k + 0 = s.k + 0"),
        ("b.l = s.l", "b.l + 0 = s.l + 0"),
        ("b.k = s.l", "b.k + 0 = s.l + 0"),
        ("b.n = s.n", "b.n + 0 = s.n + 0"),
        ("b.n = s.k", "b.n + 0 = s.k + 0"),
        ("b.d = s.d", "dateadd(0 day to b.d) = dateadd(0 day to s.d)"),
        ("b.k = s.k and b.d = s.d", "b.k + 0 = s.k + 0 and dateadd(0 day to b.d) = dateadd(0 day to s.d)"),
    ];
    let queries = [
        "select count(*), sum(b.id), sum(s.id) from big b join small s on ON",
        "select count(*), sum(b.id), sum(s.id) from big b join small s on ON where b.id > 100 and b.k <> 5",
        "select count(*), sum(b.id), sum(s.id) from small s left join big b on ON",
        "select count(*), sum(b.id), sum(s.id) from big b left join small s on ON",
        "select count(*), sum(b.id), sum(s.id) from big b full join small s on ON",
        "select count(*), sum(b.id) from big b where exists (select * from small s where ON)",
        "select count(*), sum(b.id) from big b where not exists (select * from small s where ON)",
        "select count(*), sum(s.id) from small s where exists (select * from big b where ON)",
        "select count(*), sum(s.id) from small s where not exists (select * from big b where ON)",
        "select count(*), sum(b.c), sum(s.id) from (select k, l, n, d, count(*) c from big group by k, l, n, d) b
           join small s on ON",
        "select count(*), sum(b.id), sum(s.id) from (select * from big union all select * from big where id < 50) b
           join small s on ON",
        "select count(*), sum(b.id), sum(s.id), sum(t.id) from big b join small s on ON join small t on b.k = t.k",
        "select count(*), sum(b.id), sum(s.id), sum(t.id) from big b left join small t on b.k = t.k join small s on ON",
        "select count(*), sum(b.id) from big b join small s on ON where s.id in (select t.id from small t where t.k > 0)",
    ];
    let mut rows = 0;
    for query in queries {
        for (plain, computed) in pairs {
            let found = session.rows(&query.replace("ON", plain));
            assert_eq!(found, session.rows(&query.replace("ON", computed)), "{query} {plain}");
            rows += found.iter().filter(|row| !row.starts_with('0')).count();
        }
    }
    assert!(rows > queries.len() * pairs.len() / 2, "queries that find nothing show nothing: {rows}");
}

#[test]
fn conditions_on_derived_tables_give_the_same_further_down() {
    let (_database, mut session) = TestDatabase::create();
    let mut random = Random(0xD1B5_4A32_D192_ED03);
    small_tables(&mut session, &mut random);
    session.execute("create table words (id int not null primary key, a int, w varchar(5) character set utf8 collate unicode_ci)");
    session.execute("create index words_w on words (w)");
    session.commit();
    for id in 0..24 {
        let word = random.of(&["'a'", "'A'", "'a '", "'b'", "'B '", "null"]);
        session.execute(&format!("insert into words values ({id}, {}, {word})", id % 5));
    }
    session.commit();
    let tables = [
        "select a, b, sum(id) s from plain group by a, b",
        "select a, b, count(*) s from indexed group by a, b having count(*) > 1",
        "select a + 1 a, b, max(id) s from keyed where id < 9 group by a + 1, b",
        "select a, b, id s from plain union all select a, b, id from indexed where b > 1",
        "select a, b, id s from keyed union select b, a, 1 from indexed",
        "select distinct a, b, 1 s from indexed",
        "select a, b, row_number() over (partition by a order by id) s from indexed",
        "select a, b, sum(id) over (partition by a, b) s from keyed",
        "select a, b, count(*) over (partition by a) s from (select a, b from indexed group by a, b)",
        "select first 5 a, b, id s from keyed order by id",
        "select a, b, id s from plain order by b rows 3 to 8",
        "select w.a, w.w b, count(*) s from words w group by w.a, w.w",
        "select distinct w.a, w.w b, 2 s from words w",
        "select w.a, w.w b, min(w.id) over (partition by w.w) s from words w",
        "select count(*) a, 1 b, 2 s from plain where a is null",
    ];
    let mut rows = 0;
    for number in 0..600 {
        let table = random.of(&tables);
        let has_words = table.contains("words");
        let parts: Vec<String> = (0..=random.below(2))
            .map(|_| match random.below(6) {
                0 if has_words => {
                    format!("t.b {} '{}'", random.of(&["=", "<", ">="]), random.of(&["a", "A ", "B"]))
                }
                1 if has_words => {
                    format!("t.b {} '{}'", random.of(&["like", "starting", "="]), random.of(&["a", "A", "b"]))
                }
                2 => format!("t.s {} {}", random.of(&["=", "<", ">="]), random.below(6)),
                3 => format!("t.{} is {}null", random.of(&["a", "b"]), random.of(&["", "not "])),
                4 => format!("t.a in ({}, {})", random.below(4), random.below(8)),
                5 => format!("(t.a = {} or t.s = {} and t.a > 1)", random.below(8), random.below(3)),
                _ => format!("t.a {} {}", random.of(&["=", "<", ">="]), random.below(8)),
            })
            .collect();
        let from = match random.below(3) {
            0 => format!("({table}) t join keyed k on k.id = t.a"),
            _ => format!("({table}) t"),
        };
        let condition = parts.join(" and ");
        let mut found = session.rows(&format!("select t.a, t.b, t.s from {from} where {condition}"));
        let mut expected = session.rows(&format!(
            "select t.a, t.b, t.s from {from} where case when {condition} then 1 else 0 end = 1"
        ));
        found.sort();
        expected.sort();
        rows += found.len();
        assert_eq!(found, expected, "query {number}: {from} where {condition}");
    }
    assert!(rows > 1_000, "queries that find nothing show nothing: {rows}");
}

/// Made-up figures of tables.
struct Believed(HashMap<u32, Arc<RelationStatistics>>);

impl StatisticsSource for Believed {
    fn relation(&self, relation: RelationId) -> Option<Arc<RelationStatistics>> {
        self.0.get(&relation.0).cloned()
    }
}

/// Makes the planner believe anything of the tables, so that it chooses anything.
fn believe(session: &mut Session, random: &mut Random) {
    let catalog = session.attachment().database().catalog();
    let mut power = |most: u32| 10f64.powi(i32::try_from(random.below(u64::from(most) + 1)).expect("small"));
    let mut figures = HashMap::new();
    for name in ["PLAIN", "KEYED", "INDEXED"] {
        let relation = catalog.relations.get(name).expect("a table");
        let rows = power(6);
        let mut statistics = RelationStatistics { rows: rows as u64, ..RelationStatistics::default() };
        statistics.columns = (0..relation.next_field_id)
            .map(|_| ColumnStatistics {
                distinct: power(6).min(rows),
                correlation: 1.0 - 1.0 / power(1),
                ..ColumnStatistics::default()
            })
            .collect();
        statistics.indexes = relation
            .indexes
            .iter()
            .map(|index| IndexStatistics {
                id: IndexId(index.id.0),
                entries: statistics.rows,
                distinct: index.columns.iter().map(|_| power(6).min(rows)).collect(),
            })
            .collect();
        figures.insert(relation.id.0, Arc::new(statistics));
    }
    catalog.statistics.believe(Some(Arc::new(Believed(figures))));
}

/// FROM of up to four tables with its aliases.
fn joined(random: &mut Random) -> (String, Vec<&'static str>) {
    let aliases = ["x", "y", "z", "v"];
    let count = 1 + usize::try_from(random.below(4)).expect("small");
    let mut from = format!("{} x", table(random));
    for (place, alias) in aliases.iter().enumerate().take(count).skip(1) {
        let other = random.of(&aliases[..place]);
        let on =
            format!("{alias}.{} = {other}.{}", random.of(&["id", "a", "b"]), random.of(&["id", "a", "b"]));
        let (kind, table) =
            (random.of(&["join", "join", "left join", "right join", "full join"]), table(random));
        from = format!("{from} {kind} {table} {alias} on {on}");
    }
    (from, aliases[..count].to_vec())
}

/// LEFT JOINs among inner joins come at any time, unless a condition between tables is more than a comparison: then they are done as
/// they are written.
#[test]
fn left_joins_give_the_rows_of_the_joins_as_written() {
    let (_database, mut session) = TestDatabase::create();
    let mut random = Random(0x9FB2_1C65_1E98_DF25);
    small_tables(&mut session, &mut random);
    let (mut rows, mut changed) = (0, 0);
    for number in 0..250 {
        let (from, aliases) = joined(&mut random);
        if aliases.len() < 3 || !from.contains("left join") {
            continue;
        }
        let local = |random: &mut Random| {
            let column = format!("{}.{}", random.of(&aliases), random.of(&["id", "a", "b"]));
            format!("{column} {}", random.of(&["is null", "is not null", "= 3", "< 6", "in (1, 2, 5)"]))
        };
        let parts: Vec<String> = (0..=random.below(2)).map(|_| local(&mut random)).collect();
        let items: Vec<String> = aliases.iter().map(|alias| format!("{alias}.id")).collect();
        let query =
            |from: &str| format!("select {} from {from} where {}", items.join(", "), parts.join(" and "));
        let mut expected = session.rows(&query(&from.replace(" = ", " = 0 + ")));
        expected.sort();
        let mut plans = BTreeSet::new();
        for _ in 0..4 {
            believe(&mut session, &mut random);
            plans.insert(session.prepare(&query(&from)).expect("a plan").plan.clone());
            let mut found = session.rows(&query(&from));
            found.sort();
            assert_eq!(found, expected, "query {number}: {}\n{plans:#?}", query(&from));
            // With the first rows wanted tables are looked up row by row.
            let mut found = session.rows(&query(&from).replace("select ", "select first 1000 "));
            found.sort();
            assert_eq!(found, expected, "query {number}, first rows: {}", query(&from));
        }
        rows += expected.len();
        changed += usize::from(plans.len() > 1);
    }
    assert!(rows > 200 && changed > 30, "{rows} rows, {changed} queries with several plans");
}

/// What EXPLAIN ANALYZE says of a query that gives so many rows: filters make no rows, and nothing hands out what it did not get.
fn check_measured(lines: &[String], rows: usize, query: &str) {
    let number = |line: &str, place: usize| -> usize {
        line.split('|').nth(place).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    let operator = |line: &str| line.split('|').nth(13).unwrap_or_default().trim_start().to_owned();
    let shown = || lines.join("\n");
    assert_eq!(number(&lines[0], 2), rows, "{query}\n{}", shown());
    for (line, below) in lines.iter().zip(&lines[1..]) {
        let is_input = number(below, 0) == number(line, 0) + 1;
        if is_input && ["Filter", "Sort", "Unique Sort"].contains(&operator(line).as_str()) {
            assert!(number(line, 2) <= number(below, 2), "{query}\n{}", shown());
        }
    }
}

/// Over schemas with any indexes: whatever the planner believes, and so whatever plan it chooses, the rows are the same.
#[test]
fn every_plan_gives_the_same_rows() {
    let mut random = Random(0xA076_1D64_78BD_642F);
    let (mut rows, mut changed) = (0, 0);
    for _ in 0..6 {
        let (_database, mut session) = TestDatabase::create();
        small_tables(&mut session, &mut random);
        for number in 0..3 {
            let columns = random.of(&["a", "b", "id", "a, b", "b, id", "id, a, b"]);
            let (table, way) = (table(&mut random), random.of(&["", "descending"]));
            session.execute(&format!("create {way} index more_{number} on {table} ({columns})"));
        }
        session.commit();
        for number in 0..70 {
            let (from, aliases) = joined(&mut random);
            let parts: Vec<String> =
                (0..=random.below(3)).map(|_| condition(&mut random, &aliases, 1)).collect();
            let first = format!("{}.id, {}.b", aliases[0], random.of(&aliases));
            let shape = match random.below(4) {
                0 => format!(
                    "select {first}, count(*) from {from} where {} group by 1, 2",
                    parts.join(" and ")
                ),
                1 => format!("select distinct {first} from {from} where {}", parts.join(" and ")),
                2 => format!("select {first} from {from} where {} order by 1, 2", parts.join(" and ")),
                _ => format!("select {first} from {from} where {}", parts.join(" and ")),
            };
            let mut answers = BTreeSet::new();
            let mut plans = BTreeSet::new();
            for _ in 0..5 {
                believe(&mut session, &mut random);
                plans.insert(session.prepare(&shape).expect("a plan").explained_plan.clone());
                let mut found = session.rows(&shape);
                rows += found.len();
                if !shape.contains("order by") {
                    found.sort();
                }
                answers.insert(found);
            }
            changed += usize::from(plans.len() > 1);
            assert_eq!(answers.len(), 1, "query {number}: {shape}\n{answers:?}\n{plans:#?}");
            let count = answers.first().map_or(0, Vec::len);
            check_measured(&session.rows(&format!("explain analyze {shape}")), count, &shape);
        }
    }
    assert!(rows > 3_000 && changed > 200, "{rows} rows, {changed} queries with several plans");
}

/// A limit with the rows that it leaves of those in order.
fn limited(random: &mut Random, rows: &[String]) -> (String, Vec<String>) {
    let (first, skipped) = (random.below(9), random.below(3) * random.below(6));
    let number = |number: u64| usize::try_from(number).expect("small");
    let left = rows.iter().skip(number(skipped)).take(number(first)).cloned().collect();
    (format!("first {first} skip {skipped}"), left)
}

/// Whether a plan puts a table in order before others are joined to it.
fn sorts_below_a_join(plan: &str) -> bool {
    let (sort, join) = (plan.find("-> Sort"), plan.find("-> Nested Loop Join"));
    sort.is_some_and(|sort| join.is_some_and(|join| join < sort))
}

/// The first rows of an order are those of all rows in order, whether an index gives them, they are put in order before others
/// are joined to them, or members of a union are asked for them one by one.
#[test]
fn first_rows_are_the_first_of_all_rows() {
    let (_database, mut session) = TestDatabase::create();
    let mut random = Random(0x6A09_E667_F3BC_C909);
    small_tables(&mut session, &mut random);
    let (mut rows, mut sorted_early, mut members_asked) = (0, 0, 0);
    for number in 0..400 {
        let way = random.of(&["", " desc", " nulls last"]);
        // What is selected is what is ordered by: rows with equal keys are the same.
        let (items, from, order) = match random.below(4) {
            0 => {
                let all = random.of(&["union all", "union all", "union"]);
                let (first, second) = (table(&mut random), table(&mut random));
                let condition = random.of(&["", " where b > 2", " where a is not null"]);
                let union =
                    format!("select a, b, id from {first}{condition} {all} select a, b, id from {second}");
                let order = random.of(&["u.b, u.a", "u.a", "u.id", "u.a, u.b, u.id"]);
                (order.to_owned(), format!("({union}) u"), order.to_owned())
            }
            _ => {
                let (from, aliases) = joined(&mut random);
                let parts: Vec<String> =
                    (0..random.below(2)).map(|_| condition(&mut random, &aliases, 1)).collect();
                let filter = if parts.is_empty() { "" } else { " where " };
                let of = random.of(&aliases);
                let order = format!("{of}.{}, {of}.id, {of}.a, {of}.b", random.of(&["a", "b", "id"]));
                (format!("{of}.a, {of}.b, {of}.id"), format!("{from}{filter}{}", parts.join(" and ")), order)
            }
        };
        let order = order.replace(", ", &format!("{way}, "));
        forget(&mut session);
        let all = session.rows(&format!("select {items} from {from} order by {order}{way}"));
        for _ in 0..4 {
            believe(&mut session, &mut random);
            let (limit, expected) = limited(&mut random, &all);
            let query = format!("select {limit} {items} from {from} order by {order}{way}");
            let plan = session.prepare(&query).expect("a plan").explained_plan.clone();
            assert_eq!(session.rows(&query), expected, "query {number}: {query}\n{plan}");
            rows += expected.len();
            sorted_early += usize::from(sorts_below_a_join(&plan));
            members_asked += usize::from(plan.matches("First N Records").count() > 1);
        }
    }
    assert!(rows > 2_000, "queries that find nothing show nothing: {rows}");
    assert!(sorted_early > 20 && members_asked > 10, "{sorted_early} sorted early, {members_asked} unions");
}

/// The planner believes again what is so.
fn forget(session: &mut Session) {
    session.attachment().database().catalog().statistics.believe(None);
}

/// Where the first rows of an order have no partners more of them are read than were kept.
#[test]
fn rows_that_are_put_in_order_early_may_have_no_partners() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table plain (id int, a int, b int)");
    session.execute("create table keyed (id int not null primary key, a int, b int)");
    session.execute("create table indexed (id int, a int, b int)");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin while (i < 5000) do begin
           insert into plain values (:i, mod(:i * 7, 5000), mod(:i, 13)); i = i + 1; end end",
    );
    // Partners of those that come last.
    session.execute(
        "execute block as declare i int = 4400; begin while (i < 5000) do begin
           insert into keyed values (:i, :i, 0); i = i + 1; end end",
    );
    session.commit();
    let mut random = Random(0x3C6E_F372_FE94_F82B);
    let mut sorted_early = 0;
    for _ in 0..40 {
        let condition = random.of(&["", " where p.b <> 5", " where p.b + 0 < 9"]);
        let from = format!("plain p join keyed k on k.id = p.a{condition} order by p.a");
        forget(&mut session);
        let all = session.rows(&format!("select p.id, k.a from {from}"));
        assert!(all.len() > 300, "{} rows", all.len());
        believe(&mut session, &mut random);
        let (limit, expected) = limited(&mut random, &all);
        let query = format!("select {limit} p.id, k.a from {from}");
        sorted_early +=
            usize::from(sorts_below_a_join(&session.prepare(&query).expect("a plan").explained_plan));
        assert_eq!(session.rows(&query), expected, "{query}");
        let (from, to) = (random.below(200), random.below(250));
        let expected: Vec<String> = all
            .iter()
            .skip(usize::try_from(from).expect("small"))
            .take(usize::try_from(to).expect("small"))
            .cloned()
            .collect();
        let query = query.replace(&limit, &format!("first {to} skip {from}"));
        assert_eq!(session.rows(&query), expected, "{query}");
    }
    assert!(sorted_early > 5, "only {sorted_early} plans put rows in order early");
}

/// Common tables and views that are asked for several times give what the same queries give that stand there as derived tables.
#[test]
fn queries_that_are_computed_once_give_the_same_in_each_place() {
    let (_database, mut session) = TestDatabase::create();
    let mut random = Random(0xBB67_AE85_84CA_A73B);
    small_tables(&mut session, &mut random);
    let definitions = [
        "select a k, sum(b) s, count(*) c from plain group by a",
        "select b k, max(id) s, count(a) c from indexed where id > 2 group by b having count(*) > 1",
        "select distinct a k, b s, 3 c from keyed",
        "select first 7 a k, b s, id c from keyed order by b, id",
        "select a k, b s, row_number() over (partition by a order by id) c from plain",
        "select p.a k, sum(p.b + i.b) s, count(*) c from plain p join indexed i on i.a = p.a group by p.a",
        "select a k, sum(b) s, count(*) c from (select a, b from plain union all select b, a from keyed) u group by a",
        "select a k, (select sum(i.b) from indexed i where i.a = p.a) s, count(*) c from plain p group by a",
    ];
    for (number, definition) in definitions.iter().enumerate() {
        session.execute(&format!("create view v{number} as {definition}"));
    }
    session.commit();
    let queries = [
        "select x.k, x.s, y.c from T x join T y on y.k = x.k",
        "select x.k, x.s, y.c from T x left join T y on y.k = x.c and y.s > 2",
        "select x.k, x.s, x.c from T x where x.s = (select max(y.s) from T y)",
        "select x.k, x.s, x.c from T x where x.s > (select avg(y.s) from T y where y.c = x.c)",
        "select x.k, x.s, x.c from T x where exists (select * from T y where y.k = x.c)",
        "select x.k, x.s, y.id from T x join keyed y on y.id = x.k where x.k in (select c from T)",
        "select k, s, 1 from T where k = 3 union all select k, s, 2 from T where k > 1",
        "select x.id, (select sum(s) from T y where y.k = x.a), (select count(*) from T) from indexed x",
        "select x.k, y.k, z.k from T x, T y, T z where x.k = y.c and z.s = x.s",
    ];
    let (mut rows, mut shared) = (0, 0);
    for (number, definition) in definitions.iter().enumerate() {
        for query in queries {
            let asked = [
                format!("with t as ({definition}) {}", query.replace('T', "t")),
                query.replace('T', &format!("v{number}")),
                format!(
                    "with t as ({definition}), u as (select k, sum(s) s, max(c) c from t group by k) {}",
                    query.replace('T', "u")
                ),
            ];
            let inline = format!("({definition})");
            let groups = format!("(select k, sum(s) s, max(c) c from {inline} t group by k)");
            let written = [&inline, &inline, &groups].map(|table| {
                let named = |alias: &str| query.contains(&format!("T {alias}"));
                let mut written = query.to_owned();
                for alias in ["x", "y", "z"].into_iter().filter(|alias| named(alias)) {
                    written = written.replace(&format!("T {alias}"), &format!("{table} {alias}"));
                }
                written.replace("from T", &format!("from {table} w"))
            });
            for (asked, written) in asked.iter().zip(&written) {
                forget(&mut session);
                let mut expected = session.rows(written);
                expected.sort();
                for _ in 0..2 {
                    believe(&mut session, &mut random);
                    let plan = session.prepare(asked).expect("a plan").explained_plan.clone();
                    let mut found = session.rows(asked);
                    found.sort();
                    assert_eq!(found, expected, "{asked}\n{plan}");
                    let explained = session.rows(&format!("explain {asked}"));
                    shared += usize::from(explained.iter().any(|line| line.contains("(shared)")));
                }
                rows += expected.len();
            }
        }
    }
    assert!(rows > 500 && shared > 100, "{rows} rows, {shared} plans that share");
}

/// What a statement computes once is not what gives something else each time, looks at rows around it or at variables.
#[test]
fn only_what_is_the_same_in_each_place_is_computed_once() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id int not null primary key, a int)");
    session.execute("create sequence s");
    session.execute(
        "create procedure p (n int) returns (r int) as begin
           r = 0; while (r < n) do begin suspend; r = r + 1; end end",
    );
    session.execute("insert into t select 1, 10 from rdb$database union all select 2, 20 from rdb$database");
    session.commit();
    // Each place takes numbers of its own.
    let twice = "with c as (select a, max(next value for s) n from t group by a)
                 select count(distinct x.n), count(distinct y.n) from c x join c y on y.a = x.a and y.n <> x.n";
    assert_eq!(session.rows(twice), ["2|2"]);
    // The rows around it differ.
    let correlated = "select t.id, (with c as (select max(u.a) m from t u where u.id = t.id)
                                    select x.m + y.m from c x, c y) from t order by 1";
    assert_eq!(session.rows(correlated), ["1|20", "2|40"]);
    // Variables may change between two of its rows.
    let block = "execute block returns (n int, m int) as declare v int = 1; begin
                   for with c as (select id, max(a) m from t where id >= :v group by id)
                       select x.id, (select count(*) from c) from c x into n, m
                   do begin v = 2; suspend; end end";
    let found = session.rows(block);
    assert_eq!(found.len(), 2, "{found:?}");
    // Each execution sees what has been written since.
    let total = "with c as (select sum(a) m from t) select x.m + y.m from c x, c y";
    let twice = format!(
        "execute block returns (n int) as declare i int = 0; begin
           while (i < 2) do begin
             {total} into n; suspend; insert into t values (3 + :i, 30); i = i + 1; end end"
    );
    assert_eq!(session.rows(&twice), ["60", "120"]);
    // Rows come before an error behind them.
    let failing = "with c as (select id, 10 / max(a - 30) q from t group by id)
                   select x.id, x.q from c x join c y on y.id = x.id";
    assert!(session.error(failing).contains("divide"), "{}", session.error(failing));
    let explained = session.rows(
        "explain analyze with c as (select a, count(*) n from t group by a)
         select * from c x join c y on y.a = x.a",
    );
    let scans = explained.iter().filter(|line| line.contains("Full Scan")).collect::<Vec<_>>();
    assert!(explained.iter().any(|line| line.contains("Record Buffer (shared)")), "{explained:#?}");
    assert_eq!(scans.len(), 2, "a plan in each place: {explained:#?}");
}

/// Names in a definition mean what they mean where it stands, not what a WITH around one of its uses calls by them: else uses would
/// differ, and the rows of one would be given to the other.
#[test]
fn a_definition_is_the_same_query_wherever_it_is_used() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (k int, v int)");
    session.execute("create table u (k int, v int)");
    session.execute("create table c (k int, n computed by ((select count(*) from t)))");
    session.execute("create view g (k, n) as select k, count(*) from t group by k");
    session.execute("create view r (k) as select k from t where v > 15");
    session.commit();
    for row in ["t values (1, 10)", "t values (1, 20)", "t values (2, 30)", "c (k) values (1)"] {
        session.execute(&format!("insert into {row}"));
    }
    for row in ["(1, 5)", "(2, 5)", "(2, 6)", "(3, 7)"] {
        session.execute(&format!("insert into u values {row}"));
    }
    session.commit();
    let asked: [(&str, &[&str]); 9] = [
        // As Firebird has them.
        ("with t as (select k from u) select g.k, g.n from g, t where t.k = g.k", &["1|2", "2|1", "2|1"]),
        ("with t as (select k from u) select r.k, t.k from r join t on t.k = r.k", &["1|1", "2|2", "2|2"]),
        (
            "select x.k, x.n, y.n from g x join (with t as (select k from u) select g.* from g, t where t.k = g.k) y
             on y.k = x.k",
            &["1|2|2", "2|1|1", "2|1|1"],
        ),
        ("with t as (select k from u) select c.n, (select count(*) from t) from c", &["3|4"]),
        (
            "with recursive t as (select k from u where k = 3 union all select t.k - 1 from t where t.k > 1)
             select t.k, g.n from t left join g on g.k = t.k",
            &["1|2", "2|1", "3|NULL"],
        ),
        // Firebird has no WITH inside a WITH.
        (
            "with a as (select k, count(*) n from t group by k)
             select x.k, x.n, y.n from a x join (with t as (select k from u) select * from a) y on y.k = x.k",
            &["1|2|2", "2|1|1"],
        ),
        (
            "with b as (select k from t), a as (select k, count(*) n from b group by k)
             select x.k, x.n, y.n from a x join (with b as (select k from u) select * from a) y on y.k = x.k",
            &["1|2|2", "2|1|1"],
        ),
        (
            "with recursive a as (select k, 0 n from t where v = 10
                                  union all select a.k + 1, a.n + (select count(*) from t) from a where a.k < 3)
             select x.k, x.n, y.n from a x join (with t as (select k, 10 v from u) select * from a) y on y.k = x.k",
            &["1|0|0", "2|3|3", "3|6|6"],
        ),
        (
            "with a as (select k from t where v > 15) select x.k, y.n from a x
             join (with a as (select k, count(*) n from u group by k) select * from a) y on y.k = x.k",
            &["1|1", "2|2"],
        ),
    ];
    for (asked, expected) in asked {
        let mut found = session.rows(asked);
        found.sort();
        assert_eq!(found, expected, "{asked}");
    }
    // A table that reads itself by way of another one.
    let cyclic =
        "with recursive a as (select 1 n from rdb$database union all select b.n + 1 from a, b where b.n < 3),
                  b as (select n from a) select * from a";
    assert!(session.error(cyclic).contains("dsql_cte_cycle"), "{}", session.error(cyclic));
}

/// What stands below a recursive common table is not computed anew for each of its rows.
#[test]
fn what_is_computed_once_is_so_below_a_recursive_common_table() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id int not null, a int)");
    session.execute(
        "execute block as declare i int = 0; begin while (i < 60) do begin
           insert into t values (:i, mod(:i, 6)); i = i + 1; end end",
    );
    session.commit();
    let asked = "with recursive c as (select a, count(*) n from t group by a),
                   r as (select 1 l, 0 n from rdb$database
                         union all select r.l + 1, c.n + d.n from r join c on c.a = r.l join c d on d.a = r.l)
                 select l, n from r order by 1";
    assert_eq!(session.rows(asked), ["1|0", "2|20", "3|20", "4|20", "5|20", "6|20"]);
    let explained = session.rows(&format!("explain analyze {asked}"));
    assert!(explained.iter().any(|line| line.contains("Record Buffer (shared)")), "{explained:#?}");
    let scans = explained.iter().filter(|line| line.contains("Table \"T\" "));
    let read: u64 =
        scans.map(|line| line.split('|').nth(8).and_then(|count| count.parse().ok()).unwrap_or(0)).sum();
    assert_eq!(read, 60, "{explained:#?}");
}

/// What stands in one place that runs often is computed once, too: below a query for each row, and in the step of a recursion.
#[test]
fn what_one_place_asks_for_often_is_computed_once() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id int not null, a int)");
    session.execute(
        "execute block as declare i int = 0; begin while (i < 60) do begin
           insert into t values (:i, mod(:i, 6)); i = i + 1; end end",
    );
    session.commit();
    let for_each_row = "with c as (select a, count(*) n from t group by a)
                        select d.a, (select sum(c.n) from c where c.a > d.a) from c d order by 1";
    assert_eq!(session.rows(for_each_row), ["0|50", "1|40", "2|30", "3|20", "4|10", "5|NULL"]);
    let around = "with c as (select a, count(*) n from t group by a)
                  select first 2 x.id, (select sum(c.n) from c where c.a > x.a) from t x order by 1";
    assert_eq!(session.rows(around), ["0|50", "1|40"]);
    let recursive = "with recursive c as (select a, count(*) n from t group by a),
                       r as (select 1 l, 0 n from rdb$database
                             union all select r.l + 1, c.n from r join c on c.a = r.l)
                     select l, n from r order by 1";
    assert_eq!(session.rows(recursive), ["1|0", "2|10", "3|10", "4|10", "5|10", "6|10"]);
    for asked in [for_each_row, around, recursive] {
        let explained = session.rows(&format!("explain analyze {asked}"));
        assert!(explained.iter().any(|line| line.contains("Record Buffer (shared)")), "{explained:#?}");
    }
}

/// What is computed once and does not fit into memory is read from a file, by each that asks for it.
#[test]
fn what_is_computed_once_may_be_larger_than_memory() {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t (id int not null, a varchar(60))");
    session.execute(
        "execute block as declare i int = 0; begin while (i < 6000) do begin
           insert into t values (:i, 'a text that takes some room, number ' || :i); i = i + 1; end end",
    );
    session.commit();
    let query = |table: &str| {
        format!(
            "select count(*), sum(x.n), max(x.a), (select max(z.a) from {table} z where z.id < 17)
             from {table} x join {table} y on y.id = x.id + 1"
        )
    };
    let definition = "select id, a, count(*) n from t group by id, a";
    let expected = session.rows(&query(&format!("({definition})")));
    assert!(expected[0].starts_with("5999|5999|"), "{expected:?}");
    for memory in [u64::MAX, 300_000] {
        database.engine().budget().set_limits(Limits { statement_memory: memory, ..Limits::default() });
        assert_eq!(session.rows(&format!("with c as ({definition}) {}", query("c"))), expected);
    }
    assert_eq!(database.engine().budget().usage(Resource::Temporary).used, 0, "files that are left");
}
