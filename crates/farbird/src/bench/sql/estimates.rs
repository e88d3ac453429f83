//! `farbird bench sql --estimates` as tables: how good the planner's expectations are, by kind of operator, and the worst by name.

use farbird_lab::report::{Block, Cell, Report, Section, Table};
use farbird_lab::sql::{Errors, OperatorEstimate};

/// How many of the worst are shown.
const WORST: usize = 20;

pub(super) fn report(facts: Vec<(String, String)>, operators: &[OperatorEstimate]) -> Report {
    let mut sections = Vec::new();
    for name in distinct(operators.iter().map(|operator| operator.section)) {
        let of_section: Vec<&OperatorEstimate> =
            operators.iter().filter(|operator| operator.section == name).collect();
        sections.push(section(name, &of_section));
    }
    Report {
        title: "How good the estimates are".to_owned(),
        lead: "How many times too large or too small the expected rows of each operator were: the q-error, 1 at best.".to_owned(),
        facts,
        sections,
    }
}

fn section(name: &str, operators: &[&OperatorEstimate]) -> Section {
    let mut kinds = Table::new("", &["operator", ">operators", ">median", ">95 %", ">largest"]);
    for kind in distinct(operators.iter().map(|operator| operator.kind)) {
        add(&mut kinds, kind, operators.iter().filter(|operator| operator.kind == kind).copied());
    }
    add(&mut kinds, "all", operators.iter().copied());
    let labels = ["", "operator", ">q-error", ">expected", ">found", ">loops"];
    let mut worst = Table::new("The worst", &labels);
    let mut sorted = operators.to_vec();
    sorted.sort_by(|left, right| right.q_error.total_cmp(&left.q_error));
    for operator in sorted.into_iter().take(WORST).filter(|operator| operator.q_error > 1.0) {
        worst.row(vec![
            Cell::from(operator.query.as_str()),
            Cell::from(operator.operator.as_str()),
            Cell::from(shown(operator.q_error)),
            Cell::from(shown(operator.estimated)),
            Cell::from(shown(operator.actual)),
            Cell::from(shown(operator.loops)),
        ]);
    }
    Section {
        heading: format!("Estimates: {name}"),
        lead: "Rows of all runs of an operator together.".to_owned(),
        blocks: vec![Block::Table(kinds), Block::Table(worst)],
    }
}

fn add<'o>(table: &mut Table, name: &str, operators: impl Iterator<Item = &'o OperatorEstimate>) {
    let Some(errors) = Errors::of(operators) else { return };
    let mut cells = vec![Cell::from(name), Cell::from(errors.count.to_string())];
    cells.extend([errors.median, errors.p95, errors.max].map(|error| Cell::from(shown(error))));
    table.row(cells);
}

fn shown(number: f64) -> String {
    if number < 10.0 { format!("{number:.1}") } else { format!("{number:.0}") }
}

fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
