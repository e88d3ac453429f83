//! How good the chosen plans are: random joins, each asked as it is and by plans that PLAN clauses force.
//!
//! Of each query the best forced plan is told beside the chosen one. A clause cannot force everything: which side of a semi-join is
//! built, say; and of many clauses only so many are tried. So the best plan may be better still.

use std::time::Duration;

use super::answer::Answer;
use super::bench::{Bench, Loaded, milliseconds};
use super::figure::{Figure, Outcome};
use super::guard::Patience;
use super::side::{Dialect, Field, TableDefinition, Visitor};
use crate::random::{Random, fraction, mixed};
use crate::{Failure, Result};

/// The name of the section.
pub const SECTION: &str = "plans";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Random queries.
    pub queries: u64,
}

/// Plans that are forced on one query, and clauses that are tried for that: most of them say nothing that can be done.
const FORCED_MAX: usize = 30;
const TRIED_MAX: usize = 400;
/// The best of them, which are run as often as the chosen one.
const FINALISTS: usize = 3;
/// What a forced plan may take longer than the chosen one before it is given up.
const GRACE: Duration = Duration::from_millis(20);
/// What is said to a clause that cannot be followed: by Firebird, and by Farbird.
const REFUSED: [&str; 2] = ["cannot be used in the specified plan", "the plan cannot use the index"];

const FACTS: u64 = 100_000;
const OTHERS: u64 = 20_000;
const KINDS: u64 = 5_000;
const GROUPS: u64 = 50;

const TABLES: [TableDefinition; 4] = [
    TableDefinition {
        name: "plan_fact",
        columns: &[
            ("id", "integer"),
            ("f_kind", "integer"),
            ("f_other", "integer"),
            ("f_day", "integer"),
            ("f_value", "integer"),
        ],
        primary_key: "id",
        indexes: &["id", "f_kind", "f_other", "f_day"],
    },
    TableDefinition {
        name: "plan_kind",
        columns: &[("id", "integer"), ("k_group", "integer"), ("k_size", "integer")],
        primary_key: "id",
        indexes: &["id", "k_group"],
    },
    TableDefinition {
        name: "plan_other",
        columns: &[("id", "integer"), ("o_kind", "integer"), ("o_value", "integer")],
        primary_key: "id",
        indexes: &["id", "o_kind"],
    },
    TableDefinition {
        name: "plan_group",
        columns: &[("id", "integer"), ("g_class", "integer")],
        primary_key: "id",
        indexes: &["id"],
    },
];

/// Loads the tables and asks the queries, on each side that knows PLAN clauses.
///
/// # Errors
/// A side cannot load its tables; the user wants no more.
pub fn run(bench: &mut Bench<'_>, plan: Plan) -> Result<()> {
    let tables: Vec<Loaded<'_>> = TABLES
        .iter()
        .map(|definition| {
            let row_count = row_count(definition.name);
            let rows = move |visit: &mut Visitor<'_>| {
                (1..=row_count).try_for_each(|id| row(definition.name, id, visit))
            };
            Loaded { definition, row_count, rows: Box::new(rows) }
        })
        .collect();
    bench.load(SECTION, &tables, true, &[Dialect::Firebird])?;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let queries: Vec<Query> = (0..plan.queries).map(|_| Query::any(&mut random)).collect();
    for side in 0..bench.sides.len() {
        if bench.sides[side].dialect() == Dialect::Firebird {
            let name = bench.sides[side].name().to_owned();
            bench.observer.begin(&format!("{name}: {SECTION}"), plan.queries);
            for (number, query) in queries.iter().enumerate() {
                of_query(bench, side, &format!("P{:02}", number + 1), query)?;
                bench.observer.advance(1);
            }
        }
    }
    Ok(())
}

/// Asks one query in every way that is tried, and keeps two figures of it.
fn of_query(bench: &mut Bench<'_>, side: usize, number: &str, query: &Query) -> Result<()> {
    let server = bench.sides[side].name().to_owned();
    let mut chosen = Figure::new(SECTION, number, &query.title(), &format!("{server}, chosen"));
    let mut best = Figure::new(SECTION, number, &query.title(), &format!("{server}, best forced"));
    let text = query.text("");
    let mut answer = None;
    for _ in 0..bench.limits.runs {
        let (rows, took) = match ask(bench, side, &text, bench.limits.timeout) {
            Ok(done) => done,
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                chosen.end(Outcome::Failed, failure.to_string());
                bench.figures.push(chosen);
                return Ok(());
            }
        };
        chosen.add(milliseconds(took));
        answer = Some(rows);
    }
    let most = Duration::from_secs_f64(chosen.best.unwrap_or_default() / 1e3) * 2 + GRACE;
    let mut forced = Vec::new();
    for clause in query.clauses(&mut Random(mixed(number.len() as u64 + text.len() as u64))) {
        if forced.len() >= FORCED_MAX {
            break;
        }
        match ask(bench, side, &query.text(&clause), most) {
            Ok((rows, took)) => {
                if answer.as_ref() != Some(&rows) {
                    best.end(Outcome::Differs, clause.clone());
                }
                forced.push((took, clause));
            }
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(Failure::TimedOut(_)) => {}
            Err(failure) if REFUSED.iter().any(|words| failure.to_string().contains(words)) => {}
            Err(failure) => best.end(Outcome::Failed, format!("{clause}: {failure}")),
        }
    }
    forced.sort();
    forced.truncate(FINALISTS);
    let mut winner: Option<(Duration, String)> = None;
    for (first, clause) in forced {
        let mut least = first;
        for _ in 1..bench.limits.runs {
            // The chosen plan is run as often: what else the machine does hits both alike.
            chosen.add(milliseconds(ask(bench, side, &text, bench.limits.timeout)?.1));
            least = least.min(ask(bench, side, &query.text(&clause), bench.limits.timeout)?.1);
        }
        if winner.as_ref().is_none_or(|(known, _)| least < *known) {
            winner = Some((least, clause));
        }
    }
    if let Some((took, clause)) = winner {
        best.add(milliseconds(took));
        let is_much_better = chosen.best.is_some_and(|chosen| chosen > 2.0 * milliseconds(took));
        if is_much_better && best.outcome == Outcome::Done {
            best.message = Some(query.text(&clause));
        }
    }
    bench.figures.extend([chosen, best]);
    Ok(())
}

fn ask(bench: &mut Bench<'_>, side: usize, text: &str, limit: Duration) -> Result<(Answer, Duration)> {
    let patience = Patience { limit: Some(limit), stop: bench.stop };
    bench.sides[side].answer(text, &patience)
}

/// A random join.
struct Query {
    /// Places in [`TABLES`]; their aliases are `t0`, `t1` and so on by those.
    tables: Vec<usize>,
    conditions: Vec<String>,
}

impl Query {
    fn any(random: &mut Random) -> Query {
        let tables = match random.below(6) {
            0 => vec![0, 1],
            1 => vec![1, 2],
            2 => vec![0, 1, 3],
            3 => vec![0, 2],
            4 => vec![0, 1, 2],
            _ => vec![0, 1, 2, 3],
        };
        let mut conditions = Vec::new();
        for (left, right, condition) in [
            (0, 1, "t0.f_kind = t1.id"),
            (1, 2, "t2.o_kind = t1.id"),
            (0, 2, "t0.f_other = t2.id"),
            (1, 3, "t1.k_group = t3.id"),
        ] {
            // A second way from the facts to the others would leave nothing.
            let is_doubled = left == 0 && right == 2 && tables.contains(&1);
            if tables.contains(&left) && tables.contains(&right) && !is_doubled {
                conditions.push(condition.to_owned());
            }
        }
        for table in &tables {
            match (table, random.below(5)) {
                (0, 0) => conditions.push(format!("t0.f_day = {}", random.below(1_000))),
                (0, 1) => {
                    let (from, days) = (random.below(900), random.below(100));
                    conditions.push(format!("t0.f_day between {from} and {}", from + days));
                }
                (0, 2) => conditions.push(format!("t0.f_value < {}", random.below(1_000))),
                (1, 0) => conditions.push(format!("t1.k_group = {}", 1 + random.below(GROUPS))),
                (1, 1) => conditions.push(format!("t1.id <= {}", 1 + random.below(KINDS))),
                (1, 2) => conditions.push(format!("t1.k_size > {}", random.below(100))),
                (2, 0) => conditions.push(format!("t2.o_value = {}", random.below(100))),
                (2, 1) => conditions.push(format!("t2.id <= {}", 1 + random.below(OTHERS))),
                (3, 0 | 1) => conditions.push(format!("t3.g_class = {}", random.below(5))),
                (3, 2) => conditions.push(format!("t3.id = {}", 1 + random.below(GROUPS))),
                _ => {}
            }
        }
        Query { tables, conditions }
    }

    fn title(&self) -> String {
        self.conditions.join(" and ")
    }

    /// The query, with a PLAN clause or without.
    fn text(&self, clause: &str) -> String {
        let from: Vec<String> =
            self.tables.iter().map(|table| format!("{} t{table}", TABLES[*table].name)).collect();
        let first = self.tables.first().copied().unwrap_or_default();
        let conditions = self.conditions.join(" and ");
        format!("select count(*), sum(t{first}.id) from {} where {conditions} {clause}", from.join(", "))
    }

    /// Clauses, in random order: orders of the tables, and ways to read each.
    fn clauses(&self, random: &mut Random) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..TRIED_MAX {
            let mut left = self.tables.clone();
            let mut parts = Vec::new();
            while !left.is_empty() {
                let table = left.swap_remove(random.below(left.len() as u64) as usize);
                parts.push(format!("t{table} {}", self.access(table, random)));
            }
            let clause = match (parts.as_slice(), random.below(4)) {
                ([first, rest @ ..], 0) if rest.len() > 1 => {
                    format!("plan join ({first}, join ({}))", rest.join(", "))
                }
                _ => format!("plan join ({})", parts.join(", ")),
            };
            if !all.contains(&clause) {
                all.push(clause);
            }
        }
        all
    }

    fn access(&self, table: usize, random: &mut Random) -> String {
        let is_asked = |column: &&&str| {
            let name = format!("t{table}.{column}");
            self.conditions.iter().any(|condition| condition.split(' ').any(|word| word == name))
        };
        let TableDefinition { name, indexes, .. } = TABLES[table];
        let usable: Vec<&&str> = indexes.iter().filter(is_asked).collect();
        match random.below(usable.len() as u64 + 1) as usize {
            0 => "natural".to_owned(),
            place => format!("index (i_{name}_{})", usable[place - 1]),
        }
    }
}

fn row_count(table: &str) -> u64 {
    match table {
        "plan_fact" => FACTS,
        "plan_kind" => KINDS,
        "plan_other" => OTHERS,
        _ => GROUPS,
    }
}

/// A number from 1 to `count`; small ones are frequent (Zipf).
fn skewed(random: &mut Random, count: u64) -> i64 {
    let value = ((count + 1) as f64).powf(fraction(random.next())) as u64;
    value.clamp(1, count) as i64
}

fn row(table: &str, id: u64, visit: &mut Visitor<'_>) -> Result<()> {
    let mut random = Random(mixed(id + table.len() as u64 * 1_000_003));
    let number = Field::Integer;
    let own = number(id as i64);
    match table {
        "plan_fact" => visit(&[
            own,
            number(skewed(&mut random, KINDS)),
            number(1 + random.below(OTHERS) as i64),
            // Facts come day by day.
            number((id * 1_000 / FACTS) as i64),
            number(random.below(1_000) as i64),
        ]),
        "plan_kind" => visit(&[own, number(skewed(&mut random, GROUPS)), number(random.below(100) as i64)]),
        "plan_other" => visit(&[own, number(skewed(&mut random, KINDS)), number(random.below(100) as i64)]),
        _ => visit(&[own, number((id % 5) as i64)]),
    }
}
