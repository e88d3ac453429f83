//! Plans that PLAN clauses force give the same rows: for random queries over random tables every order of the tables, each read in
//! every way that the clause can name, or as many of these as there is time for.

mod ddl_support;

use ddl_support::{Session, TestDatabase, described};

/// Most plans that are tried for one query.
const PLANS_MAX: usize = 40;

/// Random numbers, the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("a small number")
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// The tables, with their indexes and the first columns of those. Columns are ID, A and B.
const TABLES: [(&str, &[(&str, &str)]); 4] = [
    ("plain", &[]),
    ("keyed", &[("keyed_id", "id")]),
    ("indexed", &[("indexed_a", "a"), ("indexed_ab", "b"), ("indexed_b_down", "b")]),
    ("other", &[("other_a", "a"), ("other_id", "id")]),
];

fn make_tables(session: &mut Session, random: &mut Random) {
    session.execute("create table plain (id int, a int, b int)");
    session.execute("create table keyed (id int not null constraint keyed_id primary key, a int, b int)");
    session.execute("create table indexed (id int, a int, b int)");
    session.execute("create index indexed_a on indexed (a)");
    session.execute("create index indexed_ab on indexed (b, a)");
    session.execute("create table other (id int, a int, b int)");
    session.execute("create index other_a on other (a)");
    session.execute("create index other_id on other (id)");
    session.execute("create descending index indexed_b_down on indexed (b)");
    session.commit();
    for (name, _) in TABLES {
        for id in 0..9 + random.below(12) {
            let value = |random: &mut Random| match random.below(6) {
                0 => String::from("null"),
                _ => random.below(7).to_string(),
            };
            let (a, b) = (value(random), value(random));
            session.execute(&format!("insert into {name} values ({id}, {a}, {b})"));
        }
    }
    session.commit();
}

/// A query: what stands before PLAN, what behind, and the aliases with their tables.
struct Query {
    before: String,
    order: &'static str,
    tables: Vec<(String, usize)>,
    /// Whether the tables may be joined in any order.
    is_inner: bool,
}

fn query(random: &mut Random) -> Query {
    let count = 1 + random.below(3);
    let tables: Vec<(String, usize)> =
        (0..count).map(|place| (format!("t{place}"), random.below(TABLES.len()))).collect();
    let column = |random: &mut Random, alias: &str| format!("{alias}.{}", random.of(&["id", "a", "b"]));
    let is_inner = random.below(4) > 0 || count == 1;
    let mut from = format!("{} t0", TABLES[tables[0].1].0);
    for (place, (alias, table)) in tables.iter().enumerate().skip(1) {
        let other = format!("t{}", random.below(place));
        let operator = random.of(&["=", "=", "=", "<", ">="]);
        let mut on = format!("{} {operator} {}", column(random, alias), column(random, &other));
        if random.below(3) == 0 {
            on += &format!(" and {} = {}", column(random, alias), column(random, "t0"));
        }
        let join = if is_inner { "join" } else { "left join" };
        from += &format!(" {join} {} {alias} on {on}", TABLES[*table].0);
    }
    let conditions: Vec<String> = (0..random.below(3))
        .map(|_| {
            let alias = format!("t{}", random.below(count));
            let column = column(random, &alias);
            match random.below(6) {
                0 => format!("{column} between 1 and 4"),
                1 => format!("{column} in (1, 3, 5)"),
                2 => format!("({column} = 2 or {alias}.a = 3)"),
                3 => format!("exists (select * from indexed i where i.a = {column})"),
                4 => format!("{column} is null"),
                _ => format!("{column} {} {}", random.of(&["=", ">", "<="]), random.below(7)),
            }
        })
        .collect();
    let items: Vec<String> =
        tables.iter().map(|(alias, _)| format!("{alias}.id, {alias}.a, {alias}.b")).collect();
    let mut before = format!("select {} from {from}", items.join(", "));
    if !conditions.is_empty() {
        before += &format!(" where {}", conditions.join(" and "));
    }
    let order = random.of(&["", "", " order by t0.a", " order by t0.b desc", " order by t0.id"]);
    Query { before, order, tables, is_inner }
}

/// Every way in which a clause can have a table read.
fn accesses(alias: &str, table: usize, query: &Query) -> Vec<String> {
    // Others are refused, which is tried seldom enough by those that say something of another table only.
    let is_asked = |(_, column): &&(&str, &str)| query.before.contains(&format!("{alias}.{column} "));
    let indexes: Vec<&str> = TABLES[table].1.iter().filter(is_asked).map(|(index, _)| *index).collect();
    let mut all = vec![format!("{alias} natural")];
    for (place, index) in indexes.iter().enumerate() {
        all.push(format!("{alias} index ({index})"));
        all.extend(indexes[place + 1..].iter().map(|other| format!("{alias} index ({index}, {other})")));
    }
    if alias == "t0" && !query.order.is_empty() {
        all.extend(TABLES[table].1.iter().map(|(index, _)| format!("{alias} order {index}")));
    }
    all
}

fn orders(count: usize, is_inner: bool) -> Vec<Vec<usize>> {
    match (count, is_inner) {
        (2, true) => vec![vec![0, 1], vec![1, 0]],
        (3, true) => {
            vec![vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 0, 1], vec![2, 1, 0]]
        }
        _ => vec![(0..count).collect()],
    }
}

/// The clauses for a query, with and without parentheses.
fn clauses(query: &Query) -> Vec<String> {
    let ways: Vec<Vec<String>> =
        query.tables.iter().map(|(alias, table)| accesses(alias, *table, query)).collect();
    let mut all = Vec::new();
    for order in orders(ways.len(), query.is_inner) {
        let mut lists: Vec<Vec<&str>> = vec![Vec::new()];
        for table in &order {
            lists = lists
                .into_iter()
                .flat_map(|list| {
                    ways[*table].iter().map(move |way| [list.as_slice(), &[way.as_str()]].concat())
                })
                .collect();
        }
        for list in lists {
            all.push(format!("join ({})", list.join(", ")));
            if let [first, second, third] = list.as_slice() {
                all.push(format!("join ({first}, join ({second}, {third}))"));
            }
        }
    }
    all
}

#[test]
fn every_plan_gives_the_same_rows() {
    let (_database, mut session) = TestDatabase::create();
    let mut random = Random(0x5DEE_CE66_D1CE_4E5B);
    make_tables(&mut session, &mut random);
    let (mut forced, mut refused, mut rows, mut plans_seen) = (0, 0, 0, std::collections::HashSet::new());
    for _ in 0..200 {
        let query = query(&mut random);
        let unforced = format!("{}{}", query.before, query.order);
        let mut expected = session.rows(&unforced);
        expected.sort();
        rows += expected.len();
        let mut clauses = clauses(&query);
        while clauses.len() > PLANS_MAX {
            clauses.swap_remove(random.below(clauses.len()));
        }
        for clause in clauses {
            let sql = format!("{} plan {clause}{}", query.before, query.order);
            let plan = match session.prepare(&sql) {
                Ok(description) => description.plan.clone(),
                Err(error) => {
                    let status = described(&error);
                    assert!(status.starts_with("index_unused("), "{sql}: {status}");
                    refused += 1;
                    continue;
                }
            };
            let found = session.rows(&sql);
            check_order(&query, &found, &sql);
            let mut found = found;
            found.sort();
            assert_eq!(found, expected, "{sql}\n{plan}");
            // What is told is done.
            assert!(
                clause.contains("index") || clause.contains("order") || !reads_by_index(&query, &plan),
                "{sql}\n{plan}"
            );
            plans_seen.insert(plan);
            forced += 1;
        }
    }
    assert!(
        forced > 1_200 && refused > 500 && rows > 2_000,
        "{forced} forced, {refused} refused, {rows} rows"
    );
    assert!(plans_seen.len() > 200, "{} plans", plans_seen.len());
}

/// Whether one of the query's own tables is read by an index.
fn reads_by_index(query: &Query, plan: &str) -> bool {
    query.tables.iter().any(|(alias, _)| {
        let alias = alias.to_uppercase();
        plan.contains(&format!("{alias} INDEX")) || plan.contains(&format!("{alias} ORDER"))
    })
}

/// The rows of an ordered query come in its order.
fn check_order(query: &Query, rows: &[String], sql: &str) {
    let (column, descending) = match query.order {
        " order by t0.a" => (1, false),
        " order by t0.b desc" => (2, true),
        " order by t0.id" => (0, false),
        _ => return,
    };
    // NULL is the lowest.
    let keys: Vec<i32> = rows
        .iter()
        .map(|row| row.split('|').nth(column).and_then(|field| field.parse().ok()).unwrap_or(-1))
        .collect();
    let is_sorted =
        keys.windows(2).all(|pair| if descending { pair[0] >= pair[1] } else { pair[0] <= pair[1] });
    assert!(is_sorted, "{sql}: {keys:?}");
}
