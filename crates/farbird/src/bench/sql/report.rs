//! Figures of `farbird bench sql` as tables and charts: a line for each piece of work, a column for each side.

use farbird_lab::report::{Bar, BarKind, Block, Cell, Report, Section, Series, Table, Tone, rate};
use farbird_lab::sql::{Figure, Outcome, Unit, groups, joins, metadata, mixed, plans, points, psql, tpch};

use super::{Arguments, Indexes};
use crate::bench::articles::shown::{Bars, shown_ms};

/// What is not measured by a statement, and not part of sums.
const PREPARATIONS: [&str; 2] = ["load", "indexes"];

pub(super) fn report(arguments: &Arguments, facts: Vec<(String, String)>, figures: &[Figure]) -> Report {
    let mut facts = facts;
    facts.push(("limit of time".to_owned(), format!("{} s a statement", arguments.timeout.as_secs_f64())));
    let sections = [
        tpch::SECTION,
        joins::SECTION,
        groups::SECTION,
        psql::SECTION,
        points::SECTION,
        mixed::SECTION,
        metadata::SECTION,
        plans::SECTION,
    ];
    let sections = sections.into_iter().filter_map(|name| {
        let of_section: Vec<&Figure> = figures.iter().filter(|figure| figure.section == name).collect();
        (!of_section.is_empty()).then(|| section(arguments, name, &of_section))
    });
    Report {
        title: "SQL side by side".to_owned(),
        lead: "The same work by all, in one run, with the answers compared.".to_owned(),
        facts,
        sections: sections.collect(),
    }
}

fn section(arguments: &Arguments, name: &'static str, figures: &[&Figure]) -> Section {
    let indexes = match arguments.indexes {
        Some(Indexes::Off) => "without any index",
        _ => "primary keys and ordinary indexes",
    };
    let heading = match name {
        tpch::SECTION => format!("TPC-H, scale {}, {indexes}", arguments.scale.unwrap_or(0.1)),
        joins::SECTION => format!("Joins of many tables over skewed data, {indexes}"),
        groups::SECTION => "Groups, distinct values, sorts, windows, self-joins".to_owned(),
        psql::SECTION => "Loops in PSQL".to_owned(),
        points::SECTION => "Rows by key, and ranges".to_owned(),
        plans::SECTION => {
            "Random joins: the chosen plan beside the best that a PLAN clause forces".to_owned()
        }
        metadata::SECTION => format!("{} tables", arguments.tables.unwrap_or(1_000)),
        _ => "A mixed load".to_owned(),
    };
    let servers = distinct(figures.iter().map(|figure| figure.server.as_str()));
    let works = distinct(figures.iter().map(|figure| figure.name.as_str()));
    let mut labels = vec!["".to_owned(), "what".to_owned()];
    labels.extend(servers.iter().map(|server| format!(">{server}")));
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let mut table = Table::new("", &labels);
    let [mut times, mut rates] = [
        Bars::new(heading.clone(), "milliseconds, less is better"),
        Bars::new(format!("{heading}: rates"), "a second, more is better"),
    ];
    for work in &works {
        let of_work: Vec<&Figure> = figures.iter().copied().filter(|figure| figure.name == *work).collect();
        let first = servers.first().and_then(|server| of_work.iter().find(|figure| figure.server == *server));
        let title = of_work.first().map_or("", |figure| figure.title.as_str());
        let mut cells = vec![Cell::from(*work), Cell::from(title)];
        for (place, server) in servers.iter().enumerate() {
            let figure = of_work.iter().find(|figure| figure.server == *server);
            cells.push(
                figure.map_or_else(|| Cell::from(""), |figure| cell(figure, first.copied(), place == 0)),
            );
            if let Some((figure, best)) = figure.and_then(|figure| Some((figure, figure.best?)))
                && !PREPARATIONS.contains(work)
            {
                let bars = if figure.unit == Unit::Milliseconds { &mut times } else { &mut rates };
                let bar = Bar { value: best, label: shown(figure, best), kind: BarKind::Measured };
                bars.add(work, &series(server, place), bar);
            }
        }
        table.row(cells);
    }
    for cells in summaries(&servers, &works, figures) {
        table.row(cells);
    }
    let charts = [times, rates].into_iter().filter_map(Bars::finish).map(Block::Bars);
    let mut blocks: Vec<Block> = charts.collect();
    blocks.push(Block::Table(table));
    blocks.extend(percentiles(figures).map(Block::Table));
    let told = figures.iter().filter_map(|figure| {
        let message = figure.message.as_deref()?;
        Some(Block::Note(format!("{} {}: {}", figure.server, figure.name, short(message))))
    });
    blocks.extend(told);
    let lead = match figures.iter().any(|figure| figure.best.is_some()) && servers.len() > 1 {
        true => format!("The best of the runs; in brackets how many times as long as {}.", servers[0]),
        false => "The best of the runs.".to_owned(),
    };
    Section { heading, lead, blocks }
}

/// How many times as long, in two figures where it is short: databases are hundreds of times apart.
fn ratio(value: f64, base: f64) -> String {
    match value / base.max(1e-9) {
        ratio if ratio >= 10.0 => format!("{ratio:.0}x"),
        ratio if ratio >= 1.0 => format!("{ratio:.1}x"),
        ratio if ratio >= 0.1 => format!("{ratio:.2}x"),
        ratio if ratio >= 0.01 => format!("{ratio:.3}x"),
        ratio => format!("{ratio:.4}x"),
    }
}

/// A message's first line, of a length that fits.
fn short(message: &str) -> String {
    const MOST: usize = 300;
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} ...", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
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

fn shown(figure: &Figure, value: f64) -> String {
    match figure.unit {
        Unit::Milliseconds => shown_ms(value),
        Unit::PerSecond => rate(value),
    }
}

fn cell(figure: &Figure, first: Option<&Figure>, is_first: bool) -> Cell {
    let mut text = match (figure.outcome, figure.best) {
        (Outcome::TimedOut, _) => "timed out".to_owned(),
        (Outcome::Failed, _) => "failed".to_owned(),
        (_, None) => String::new(),
        (Outcome::Differs, Some(best)) => format!("{} WRONG", shown(figure, best)),
        (Outcome::Done, Some(best)) => shown(figure, best),
    };
    let base = first.filter(|first| first.outcome == Outcome::Done).and_then(|first| first.best);
    if let (Outcome::Done, false, Some(best), Some(base)) = (figure.outcome, is_first, figure.best, base) {
        let times = match figure.unit {
            Unit::Milliseconds => ratio(best, base),
            Unit::PerSecond => ratio(base, best),
        };
        text = format!("{text} ({times})");
    }
    Cell { text, is_strong: is_first }
}

fn series(server: &str, place: usize) -> Series {
    let tone = match place {
        0 => Tone::Accent,
        place => Tone::Other(u8::try_from(place - 1).unwrap_or(u8::MAX)),
    };
    Series { name: server.to_owned(), tone, is_light: false }
}

/// Geometric mean and sum of the statements' times, over those that all sides have done.
fn summaries(servers: &[&str], works: &[&str], figures: &[&Figure]) -> Vec<Vec<Cell>> {
    let best = |work: &str, server: &str| {
        let of_both = |figure: &&&Figure| {
            figure.name == work
                && figure.server == server
                && figure.unit == Unit::Milliseconds
                && matches!(figure.outcome, Outcome::Done)
        };
        figures.iter().find(of_both)?.best
    };
    let statements: Vec<&&str> = works.iter().filter(|work| !PREPARATIONS.contains(work)).collect();
    let done: Vec<&&&str> =
        statements.iter().filter(|work| servers.iter().all(|server| best(work, server).is_some())).collect();
    if done.len() < 2 {
        return Vec::new();
    }
    let of = match done.len() == statements.len() {
        true => format!("all {}", done.len()),
        false => format!("the {} of {} that all have done", done.len(), statements.len()),
    };
    let row = |name: &str, value: fn(&[f64]) -> f64| {
        let values: Vec<f64> = servers
            .iter()
            .map(|server| {
                let times: Vec<f64> = done.iter().filter_map(|work| best(work, server)).collect();
                value(&times)
            })
            .collect();
        let mut cells = vec![Cell::from(name), Cell::from(format!("of {of}"))];
        cells.extend(values.iter().enumerate().map(|(place, value)| {
            let text = match (place, values.first()) {
                (1.., Some(first)) => format!("{} ({})", shown_ms(*value), ratio(*value, *first)),
                _ => shown_ms(*value),
            };
            Cell { text, is_strong: place == 0 }
        }));
        cells
    };
    vec![row("geometric mean", geometric_mean), row("sum", sum)]
}

fn geometric_mean(times: &[f64]) -> f64 {
    (times.iter().map(|time| time.max(1e-6).ln()).sum::<f64>() / times.len().max(1) as f64).exp()
}

fn sum(times: &[f64]) -> f64 {
    times.iter().sum()
}

/// How long single operations took, where that was measured.
fn percentiles(figures: &[&Figure]) -> Option<Table> {
    let labels = ["", "server", ">a second", ">50 %", ">95 %", ">99 %", ">longest"];
    let mut table = Table::new("How long single operations took", &labels);
    for figure in figures {
        let Some(of) = figure.percentiles else { continue };
        let mut cells = vec![Cell::from(figure.name.as_str()), Cell::from(figure.server.as_str())];
        cells.push(Cell::from(figure.best.map(rate).unwrap_or_default()));
        cells.extend([of.p50_ms, of.p95_ms, of.p99_ms, of.max_ms].map(|time| Cell::from(shown_ms(time))));
        table.row(cells);
    }
    (!table.rows.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_ratios_is_geometric() {
        assert!((geometric_mean(&[1.0, 100.0]) - 10.0).abs() < 1e-9);
        assert_eq!(sum(&[1.0, 2.0]), 3.0);
    }

    #[test]
    fn ratios_have_figures_that_count() {
        let shown = [(25.0, 1.0), (1.5, 1.0), (0.5, 1.0), (1.0, 40.0), (1.0, 400.0)];
        assert_eq!(shown.map(|(a, b)| ratio(a, b)), ["25x", "1.5x", "0.50x", "0.025x", "0.0025x"]);
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(short("one\ntwo"), "one");
        assert_eq!(short(&"é".repeat(400)).chars().count(), 304);
    }
}
