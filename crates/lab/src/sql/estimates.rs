//! What Farbird's planner expects of each operator, beside what came of it: by EXPLAIN ANALYZE.
//!
//! The measure is the q-error: how many times too large or too small an expectation is, at least 1, whichever way it is wrong
//! (Leis and others, "How Good Are Query Optimizers, Really?"). Rows that a scan leaves out because the join above has no such key
//! count as found: what is expected of a scan is what its conditions leave.

use serde::Serialize;

use super::answer::Answer;
use super::guard::Patience;
use super::side::Side;
use super::statements::{Statement, Variables};
use crate::{Failure, Result};

/// Where EXPLAIN ANALYZE says what.
const DEPTH: usize = 0;
const ESTIMATED_ROWS: usize = 1;
const ACTUAL_ROWS: usize = 2;
const LOOPS: usize = 3;
const WITHOUT_PARTNER: usize = 11;
const OPERATOR: usize = 13;

/// Operators that are not read to their end, whatever is expected of them: those below these.
const CUT_SHORT_BELOW: [&str; 4] =
    ["First N Records", "Nested Loop Join (semi)", "Nested Loop Join (anti)", "Sub-query"];
/// Lines that are no operators of their own.
const NO_OPERATORS: [&str; 5] =
    ["Sub-query", "Select Expression", "First N Records", "Skip N Records", "Sort"];

/// An operator of a query's plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorEstimate {
    /// The section, as it is chosen: `tpch`.
    pub section: &'static str,
    /// The query: `Q1`.
    pub query: String,
    /// What kind of operator it is.
    pub kind: &'static str,
    /// The operator, as EXPLAIN shows it.
    pub operator: String,
    /// Rows that were expected, of all runs together.
    pub estimated: f64,
    /// Rows that there were.
    pub actual: f64,
    /// How often it ran.
    pub loops: f64,
    /// How many times too large or too small the expectation was.
    pub q_error: f64,
}

/// q-errors of several operators.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// How many operators that are.
    pub count: usize,
    /// Half of them have no larger one.
    pub median: f64,
    /// 95 of a hundred have no larger one.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

impl Errors {
    /// Of some operators; nothing of none.
    pub fn of<'o>(operators: impl Iterator<Item = &'o OperatorEstimate>) -> Option<Errors> {
        let mut errors: Vec<f64> = operators.map(|operator| operator.q_error).collect();
        errors.sort_by(f64::total_cmp);
        let at =
            |share: f64| errors.get(((errors.len() as f64 * share) as usize).min(errors.len() - 1)).copied();
        let max = *errors.last()?;
        Some(Errors { count: errors.len(), median: at(0.5)?, p95: at(0.95)?, max })
    }
}

/// Has Farbird explain a statement with what came of it. One that takes too long is left out, and what is not for its dialect.
///
/// # Errors
/// The side does not know EXPLAIN ANALYZE; the user wants no more.
pub(super) fn of_statement(
    side: &mut dyn Side,
    section: &'static str,
    statement: &Statement,
    variables: Variables<'_>,
    patience: &Patience<'_>,
) -> Result<Vec<OperatorEstimate>> {
    let dialect = side.dialect();
    if let Some(setup) = statement.setup(dialect, variables) {
        side.run(&setup, patience)?;
    }
    let Some(text) = statement.text(dialect, variables) else { return Ok(Vec::new()) };
    match side.answer(&format!("explain analyze {text}"), patience) {
        Ok((answer, _)) => Ok(operators(section, statement.name, &answer)),
        Err(Failure::TimedOut(_)) => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

/// The operators of an answer.
fn operators(section: &'static str, query: &str, answer: &Answer) -> Vec<OperatorEstimate> {
    let mut all = Vec::new();
    // How deep the lines stand below which operators are not read to their end.
    let mut cut_short: Vec<f64> = Vec::new();
    let rows: Vec<&[Option<String>]> = answer.rows().collect();
    for (place, row) in rows.iter().enumerate() {
        let (depth, loops) = (number(row, DEPTH), number(row, LOOPS));
        let operator = text(row, OPERATOR);
        cut_short.retain(|above| *above < depth);
        let is_cut_short = !cut_short.is_empty();
        if CUT_SHORT_BELOW.iter().any(|start| operator.starts_with(start)) {
            cut_short.push(depth);
        }
        if loops < 1.0 || is_cut_short || NO_OPERATORS.iter().any(|start| operator.starts_with(start)) {
            continue;
        }
        // What a filter has left and its scan has dropped for want of a partner was found all the same.
        let scan = rows.get(place + 1).filter(|below| number(below, DEPTH) > depth && operator == "Filter");
        let dropped = number(scan.unwrap_or(row), WITHOUT_PARTNER);
        let is_below_filter = all.last().is_some_and(|above: &OperatorEstimate| above.operator == "Filter");
        let dropped = if scan.is_none() && is_below_filter { 0.0 } else { dropped };
        let (estimated, actual) = (number(row, ESTIMATED_ROWS), number(row, ACTUAL_ROWS) + dropped);
        all.push(OperatorEstimate {
            section,
            query: query.to_owned(),
            kind: kind(operator),
            operator: operator.to_owned(),
            estimated,
            actual,
            loops,
            q_error: q_error(estimated, actual),
        });
    }
    all
}

/// How many times too large or too small; less than one row is one.
fn q_error(estimated: f64, actual: f64) -> f64 {
    let (estimated, actual) = (estimated.max(1.0), actual.max(1.0));
    (estimated / actual).max(actual / estimated)
}

fn kind(operator: &str) -> &'static str {
    let kinds = [
        ("Table", "Access By ID", "table by index"),
        ("Table", "Full Scan", "table scan"),
        ("Filter", "", "filter"),
        ("Nested Loop Join", "", "join, nested loop"),
        ("Hash Join", "", "join, hash"),
        ("Range Join", "", "join, range"),
        ("Aggregate (hashed)", "", "groups"),
        ("Unique Sort", "", "distinct rows"),
    ];
    let of = |(start, part, _): &&(&str, &str, &str)| operator.starts_with(start) && operator.contains(part);
    kinds.iter().find(of).map_or("other", |(_, _, kind)| kind)
}

fn text(row: &[Option<String>], place: usize) -> &str {
    row.get(place).and_then(Option::as_deref).unwrap_or_default().trim()
}

fn number(row: &[Option<String>], place: usize) -> f64 {
    text(row, place).parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Depth, estimated and actual rows, loops, rows without a partner, operator.
    type Line<'l> = (usize, f64, u64, u64, Option<u64>, &'l str);

    fn answer(lines: &[Line<'_>]) -> Answer {
        let mut answer = Answer::default();
        for (depth, estimated, rows, loops, dropped, operator) in lines {
            let mut row = vec![None; 14];
            row[DEPTH] = Some(depth.to_string());
            row[ESTIMATED_ROWS] = Some(estimated.to_string());
            row[ACTUAL_ROWS] = Some(rows.to_string());
            row[LOOPS] = Some(loops.to_string());
            row[WITHOUT_PARTNER] = dropped.map(|dropped| dropped.to_string());
            row[OPERATOR] = Some(format!("{}{operator}", "  ".repeat(*depth)));
            answer.push(row);
        }
        answer
    }

    #[test]
    fn errors_are_the_same_either_way_and_none_is_below_one() {
        let errors = [(10.0, 1_000.0), (1_000.0, 10.0), (0.2, 0.0), (5.0, 5.0)].map(|(e, a)| q_error(e, a));
        assert_eq!(errors, [100.0, 100.0, 1.0, 1.0]);
    }

    #[test]
    fn what_is_not_read_to_its_end_says_nothing_of_the_planner() {
        let answer = answer(&[
            (0, 7.0, 7, 1, None, "Select Expression"),
            (1, 50.0, 100, 1, None, "Hash Join (inner)"),
            (2, 200.0, 100, 1, None, "Filter"),
            (3, 1_000.0, 1_000, 1, Some(100), "Table \"T\" Full Scan"),
            (2, 3.0, 3, 1, Some(0), "Table \"U\" Full Scan"),
            (1, 9.0, 9, 1, None, "Nested Loop Join (semi)"),
            (2, 500.0, 9, 9, None, "Table \"V\" Access By ID: Index \"V1\" Range Scan (full match)"),
            (1, 9.0, 0, 0, None, "Aggregate (hashed)"),
        ]);
        let found = operators("tpch", "Q1", &answer);
        let found: Vec<(&str, f64)> = found.iter().map(|one| (one.kind, one.q_error)).collect();
        assert_eq!(
            found,
            [
                ("join, hash", 2.0),
                ("filter", 1.0),
                ("table scan", 1.0),
                ("table scan", 1.0),
                ("join, nested loop", 1.0),
            ]
        );
    }

    #[test]
    fn the_middle_and_the_worst_are_told() {
        let operators: Vec<OperatorEstimate> = (1..=100)
            .map(|number| OperatorEstimate {
                section: "tpch",
                query: String::new(),
                kind: "filter",
                operator: String::new(),
                estimated: 0.0,
                actual: 0.0,
                loops: 1.0,
                q_error: f64::from(number),
            })
            .collect();
        let errors = Errors::of(operators.iter()).expect("some");
        assert_eq!((errors.count, errors.median, errors.p95, errors.max), (100, 51.0, 96.0, 100.0));
        assert_eq!(Errors::of([].iter()), None);
    }
}
