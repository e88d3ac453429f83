//! `farbird bench calibrate`: what the planner's cost model counts with, beside what it takes on this machine.
//!
//! Each constant is found by statements on made-up tables that differ in one thing: PLAN clauses say how they run, and the
//! processor time of this thread is what they take, the least of several runs.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::ValueEnum;
use farbird::{Connection, Database, Limits};
use farbird_engine::COST_CONSTANTS;
use serde_json::json;

use crate::{output, progress};

/// Measure the constants of the planner's cost model on this machine.
///
/// The planner takes the cheapest of the plans that it knows, by the microseconds that each step takes for a row. This command
/// prints what it counts with beside what it measures. Ratios matter, not the microseconds: a machine that is twice as fast at
/// everything chooses the same plans.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Rows of the larger table.
    #[arg(long, value_name = "COUNT", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(20_000..=100_000_000))]
    rows: u64,

    /// Run each statement so often and take the least.
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    runs: u64,

    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "Examples:
  farbird bench calibrate                       all constants, in some seconds
  farbird bench calibrate --rows 2000000        what does not fit into the processor's cache
  farbird bench calibrate --runs 20             steadier figures on a busy machine
  farbird bench calibrate --format json         for other programs";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each constant.
    Table,
    /// One object with all figures.
    Json,
}

/// The tables: `%R` rows in LARGE, a tenth of them in SMALL. NEAR_10 and NEAR_100 give rows that lie together the same value, FAR_10
/// and FAR_100 rows that lie far from each other.
const TABLES: [&str; 9] = [
    "create table large (id integer not null primary key, near_10 integer, near_100 integer, far integer, far_10 integer,
        far_100 integer, val integer)",
    "create table small (id integer not null primary key, val integer)",
    "execute block as declare n integer = 0; declare f integer; begin
        while (n < %R) do begin
            f = mod(cast(n as bigint) * 7919, %R);
            insert into large values (:n, :n / 10, :n / 100, :f, :f / 10, :f / 100, mod(:n * 31, 1000));
            n = n + 1;
        end
    end",
    "insert into small select id, val from large where id < %S",
    "create index large_near_10 on large (near_10)",
    "create index large_near_100 on large (near_100)",
    "create index large_far_10 on large (far_10)",
    "create index large_far_100 on large (far_100)",
    "set statistics index large_far_10",
];

/// The statements, by the names that formulas know them by. `%R` rows are in LARGE, `%S` in SMALL, `%T` is a tenth of that.
const STATEMENTS: [(&str, &str); 22] = [
    ("nothing", "select count(*) from rdb$database"),
    ("scan", "select count(*) from large where val + 0 < 0"),
    ("handed", "select count(far) from large where val + 0 >= 0"),
    ("plain", "select count(far_10) from large"),
    (
        "near_10",
        "select count(l.val) from small s join large l on l.near_10 = s.id plan join (s natural, l index (large_near_10))",
    ),
    (
        "near_100",
        "select count(l.val) from small s join large l on l.near_100 = s.id where s.id < %T plan join (s natural, l index (large_near_100))",
    ),
    (
        "near_100_none",
        "select count(l.val) from small s join large l on l.near_100 = s.id and l.val < 0 where s.id < %T plan join (s natural, l index (large_near_100))",
    ),
    (
        "far_10",
        "select count(l.val) from small s join large l on l.far_10 = s.id plan join (s natural, l index (large_far_10))",
    ),
    (
        "far_100",
        "select count(l.val) from small s join large l on l.far_100 = s.id where s.id < %T plan join (s natural, l index (large_far_100))",
    ),
    (
        "built",
        "select count(l.val) from small s join large l on l.far = s.val plan join (s natural, l natural)",
    ),
    (
        "asked",
        "select count(s.val) from large l join small s on l.far_10 + 0 = s.id + %R plan join (l natural, s natural)",
    ),
    (
        "joined",
        "select count(s.val) from large l join small s on l.far_10 + 0 = s.id + 0 plan join (l natural, s natural)",
    ),
    (
        "filtered",
        "select count(s.val) from large l join small s on l.far_10 = s.id where s.id < 10 plan join (l natural, s natural)",
    ),
    (
        "row_asked",
        "select count(t.val) from small s join large l on l.near_100 = s.id join small t on l.far_10 + 0 = t.id + %R where s.id < %T plan join (s natural, l index (large_near_100), t natural)",
    ),
    (
        "row_joined",
        "select count(t.val) from small s join large l on l.near_100 = s.id join small t on l.far_10 + 0 = t.id + 0 where s.id < %T plan join (s natural, l index (large_near_100), t natural)",
    ),
    (
        "pairs",
        "select count(*) from small s join small t on s.val + t.val = -1 where s.id < 1000 and t.id < 1000",
    ),
    (
        "searched",
        "select count(s.val) from large l join small s on s.id between l.far_10 and l.far_10 + 0 plan join (l natural, s natural)",
    ),
    ("sorted", "select count(*) from (select first %R val, far from large order by val, far)"),
    ("groups_few", "select count(*) from (select val, count(far) as c from large group by val)"),
    ("groups_many", "select count(*) from (select far, count(val) as c from large group by far)"),
    ("computed", "select count(*) from large where far_10 + 0 < 0"),
    ("small", "select count(val) from small where id + 0 >= 0"),
];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let folder = std::env::temp_dir().join(format!("farbird-calibrate-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let times = measured(arguments, &folder.join("calibrate.fbd"));
    std::fs::remove_dir_all(&folder)?;
    let figures = figures(&times?);
    match arguments.format {
        Format::Table => output::answer(&table(&figures))?,
        Format::Json => output::answer_line(&serde_json::to_string_pretty(&json_of(&figures))?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What statements take, by their names.
struct Times {
    of: Vec<(&'static str, Duration)>,
    rows: f64,
}

impl Times {
    /// Microseconds that a statement takes beyond another one, for each of so many rows.
    fn beyond(&self, name: &str, other: &str, rows: f64) -> f64 {
        (self.microseconds(name) - self.microseconds(other)) / rows
    }

    fn microseconds(&self, name: &str) -> f64 {
        let known = self.of.iter().find(|(known, _)| *known == name);
        known.map_or(f64::NAN, |(_, time)| time.as_secs_f64() * 1e6)
    }
}

/// A constant: what the planner counts with, and what it is here; microseconds.
struct Figure {
    name: &'static str,
    meaning: &'static str,
    counted: f64,
    measured: f64,
}

fn measured(arguments: &Arguments, path: &std::path::Path) -> anyhow::Result<Times> {
    // The time of one thread is what is measured.
    farbird::set_limits(Limits { parallel_workers: 1, statement_memory: 4 << 30, ..Limits::default() });
    let database = Database::create(path)?;
    let connection = database.connect()?;
    let rows = arguments.rows;
    let filled = |text: &str| {
        let sizes = [("%R", rows), ("%S", rows / 10), ("%T", rows / 100)];
        sizes.iter().fold(text.to_owned(), |text, (mark, size)| text.replace(mark, &size.to_string()))
    };
    let bar = progress::bar("measuring costs", TABLES.len() as u64 + STATEMENTS.len() as u64);
    for statement in TABLES {
        connection.execute(&filled(statement), ()).with_context(|| filled(statement))?;
        bar.inc(1);
    }
    let mut of = Vec::with_capacity(STATEMENTS.len());
    for (name, text) in STATEMENTS {
        let text = filled(text);
        let time = least_time(&connection, &text, arguments.runs).with_context(|| text.clone())?;
        of.push((name, time));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Times { of, rows: rows as f64 })
}

/// The least time that a query takes in so many runs, and one to warm up.
fn least_time(connection: &Connection, text: &str, runs: u64) -> anyhow::Result<Duration> {
    let mut statement = connection.prepare(text)?;
    let mut least = Duration::MAX;
    for run in 0..=runs {
        let transaction = connection.transaction()?;
        let start = processor_time();
        let _count: i64 = statement.query_one(&transaction, ())?;
        if run > 0 {
            least = least.min(processor_time().saturating_sub(start));
        }
        transaction.commit()?;
    }
    Ok(least)
}

/// What this thread has had of a processor where the system says it (Linux), else the time of a clock.
fn processor_time() -> Duration {
    // What a thread has had is written down when it is asked whether another one waits.
    std::thread::yield_now();
    let of_thread = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = of_thread.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| Instant::now().duration_since(*EPOCH), Duration::from_nanos)
}

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

fn figures(times: &Times) -> Vec<Figure> {
    let all = times.rows;
    let (some, few) = (all / 10.0, all / 100.0);
    let scan_row = times.beyond("scan", "nothing", all);
    let lookup = times.beyond("near_10", "near_100", some - few);
    let of_lookups = lookup * few / all;
    let near = times.beyond("near_100_none", "nothing", all) - of_lookups;
    let joined_by_row = times.beyond("near_100", "near_100_none", all);
    let far = times.beyond("far_100", "nothing", all) - of_lookups - joined_by_row;
    // That a tenth as many rows ask hardly counts.
    let build = times.beyond("built", "plain", all);
    let of_build = build / 10.0;
    let joined = times.beyond("joined", "asked", all);
    let pair = times.beyond("pairs", "nothing", 1e6);
    let sorted_row = times.beyond("sorted", "handed", all);
    let group_row = times.beyond("groups_few", "handed", all);
    let measured = [
        ("SCAN_ROW", scan_row, "looking at a row of a scan by columns"),
        ("COLUMN_ROW", times.beyond("handed", "scan", all), "handing one on"),
        ("INDEX_START", lookup, "a look-up by an index for a row"),
        ("INDEX_ROW_NEAR", near, "a row that it finds beside the one before"),
        ("INDEX_ROW_FAR", far, "a row that it finds elsewhere"),
        ("ROW_JOINED", joined_by_row, "joining rows that come one by one"),
        ("BUILD_ROW", build, "putting a row into a hash table"),
        ("PROBE_ROW", times.beyond("asked", "computed", all) - of_build, "looking one up, by columns"),
        ("JOINED_ROW", joined, "joining two, by columns"),
        ("FILTER_ROW", times.beyond("filtered", "plain", all), "leaving one out that has no partner"),
        (
            "ROW_PROBED",
            times.beyond("row_asked", "near_100", all) - of_build,
            "looking up one that comes by itself",
        ),
        ("PAIR", pair, "trying a pair of rows"),
        (
            "SEARCH_ROW",
            times.beyond("searched", "computed", all) - of_build - joined - pair,
            "searching rows in order",
        ),
        ("SORT_COMPARISON", sorted_row / all.log2(), "sorting a row, for each doubling of the rows"),
        ("GROUP_ROW", group_row, "finding the group of a row"),
        ("GROUP", times.beyond("groups_many", "groups_few", all), "making a group"),
    ];
    let counted = |name: &str| {
        let known = COST_CONSTANTS.iter().find(|(known, _)| *known == name);
        known.map_or(f64::NAN, |(_, value)| *value)
    };
    let as_figure = |(name, measured, meaning)| Figure { name, meaning, counted: counted(name), measured };
    measured.into_iter().map(as_figure).collect()
}

/// Writing to a string does not fail.
const NO_ERROR: &str = "a string takes what is written";

fn table(figures: &[Figure]) -> String {
    let mut out = String::new();
    writeln!(out, "{:<16} {:>8} {:>8} {:>6}  microseconds", "", "planner", "here", "times").expect(NO_ERROR);
    for Figure { name, meaning, counted, measured } in figures {
        let times = measured / counted;
        writeln!(out, "{name:<16} {counted:>8.3} {measured:>8.3} {times:>6.1}  {meaning}").expect(NO_ERROR);
    }
    out
}

fn json_of(figures: &[Figure]) -> serde_json::Value {
    let constants: Vec<_> = figures
        .iter()
        .map(|figure| {
            json!({
                "name": figure.name,
                "meaning": figure.meaning,
                "planner_us": figure.counted,
                "measured_us": figure.measured,
            })
        })
        .collect();
    json!({ "constants": constants })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From times of statements that cost what the planner counts with come its constants, each under its name.
    #[test]
    fn constants_are_found_from_what_statements_take() {
        let all = 200_000.0;
        let (some, few) = (all / 10.0, all / 100.0);
        let cost = |name: &str| {
            let known = COST_CONSTANTS.iter().find(|(known, _)| *known == name);
            known.unwrap_or_else(|| panic!("no constant {name}")).1
        };
        let nothing = 30.0;
        let scan = nothing + all * cost("SCAN_ROW");
        let handed = scan + all * cost("COLUMN_ROW");
        let (plain, computed) = (nothing + all * 0.02, nothing + all * 0.03);
        let lookups = few * cost("INDEX_START");
        let near_100_none = nothing + lookups + all * cost("INDEX_ROW_NEAR");
        let near_100 = near_100_none + all * cost("ROW_JOINED");
        let built_tenth = some * cost("BUILD_ROW");
        let asked = computed + built_tenth + all * cost("PROBE_ROW");
        let groups_few = handed + all * cost("GROUP_ROW");
        let microseconds = [
            ("nothing", nothing),
            ("scan", scan),
            ("handed", handed),
            ("plain", plain),
            ("computed", computed),
            ("near_100_none", near_100_none),
            ("near_100", near_100),
            ("near_10", near_100 + (some - few) * cost("INDEX_START")),
            ("far_100", nothing + lookups + all * (cost("INDEX_ROW_FAR") + cost("ROW_JOINED"))),
            ("built", plain + all * cost("BUILD_ROW")),
            ("asked", asked),
            ("joined", asked + all * cost("JOINED_ROW")),
            ("filtered", plain + all * cost("FILTER_ROW")),
            ("row_asked", near_100 + built_tenth + all * cost("ROW_PROBED")),
            ("pairs", nothing + 1e6 * cost("PAIR")),
            (
                "searched",
                computed + built_tenth + all * (cost("SEARCH_ROW") + cost("JOINED_ROW") + cost("PAIR")),
            ),
            ("sorted", handed + all * all.log2() * cost("SORT_COMPARISON")),
            ("groups_few", groups_few),
            ("groups_many", groups_few + all * cost("GROUP")),
        ];
        let of = microseconds.map(|(name, time)| (name, Duration::from_nanos((time * 1e3).round() as u64)));
        let found = figures(&Times { of: of.to_vec(), rows: all });
        assert_eq!(found.len(), COST_CONSTANTS.len(), "each constant once");
        for Figure { name, counted, measured, .. } in &found {
            assert!((counted - cost(name)).abs() < 1e-9, "{name} is said to be {counted}");
            assert!((measured - counted).abs() < counted / 1_000.0, "{name}: {measured}, not {counted}");
        }
        let table = table(&found);
        assert!(COST_CONSTANTS.iter().all(|(name, _)| table.contains(name)), "{table}");
        assert_eq!(table.lines().filter(|line| line.contains(" 1.0 ")).count(), found.len(), "{table}");
    }
}
