//! `farbird bench nested`: a query with two inner queries for each of its rows.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use farbird_lab::articles::nested::{self, NestedFigure, PUBLISHED};
use farbird_lab::articles::{Observer, Preset, Settings};
use farbird_lab::link::parse_delay;
use farbird_lab::report::{Bar, BarKind, Block, Cell, Report, Section, Series, Table, Tone, count};

use super::shown::{
    Bars, WATERFALL, WATERFALL_LEAD, WIRE_COLUMNS, client, link_text, ratio, shown_ms, time_bar, trips_bar,
    waterfall, wire_cells,
};
use super::stage::{Databases, Stage, TargetArguments};
use super::watch::Watch;
use super::{LinkArguments, Output, ended, show};

/// Measure a query with two inner queries for each of its rows over a slow link.
///
/// The program is that of the article "Influence of network latency in the Firebird wire protocol" (2009): system tables,
/// their columns and their triggers. Each step's time is told as it goes, and the totals stand beside those that were
/// published for 200 ms.
#[derive(Args)]
#[command(after_help = "\
Examples:
  farbird bench nested                             our own server, 200 ms, every generation of clients
  farbird bench nested --rtt 12ms --preset 5.0.3,farbird
  farbird bench nested --target own --target db.example.com:employee --html nested.html")]
pub(crate) struct Arguments {
    /// Client generations, separated by commas: 2.0, 2.5, 5.0.1, 5.0.2, 5.0.3, farbird. All by default.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    preset: Vec<Preset>,
    /// Time of a round trip of the emulated link; 0: none.
    #[arg(long, value_name = "TIME", value_parser = parse_delay, default_value = "200ms", help_heading = "Link")]
    rtt: Duration,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    targets: TargetArguments,
    #[command(flatten)]
    output: Output,
}

/// For which distance totals were published.
const PUBLISHED_ROUND_TRIP: Duration = Duration::from_millis(200);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut watch = Watch::new()?;
    let stage = Stage::set(&arguments.targets, Databases::Used)?;
    let result = measure(arguments, &stage, &mut watch);
    let facts = stage.facts();
    watch.finish();
    let cleared = stage.clear();
    let figures = match result {
        Ok(figures) => figures,
        Err(failure) => return ended(failure, cleared),
    };
    cleared?;
    show(&arguments.output, "nested", &report(arguments, facts, &figures), &figures)?;
    Ok(ExitCode::SUCCESS)
}

fn measure(
    arguments: &Arguments,
    stage: &Stage,
    watch: &mut Watch,
) -> farbird_lab::Result<Vec<NestedFigure>> {
    let presets = if arguments.preset.is_empty() { Preset::ALL.to_vec() } else { arguments.preset.clone() };
    let link = arguments.link.options(arguments.rtt);
    let mut figures: Vec<NestedFigure> = Vec::new();
    for actor in &stage.actors {
        for preset in &presets {
            let name = &actor.server.name;
            watch.say(&format!("{name}, {}", client(*preset)));
            let rows = figures.last().map_or(0, |figure| figure.outer_rows);
            watch.begin(&format!("{name}, {}", client(*preset)), rows);
            figures.push(nested::measure(&actor.server, &link, &Settings::new(*preset), watch)?);
        }
    }
    Ok(figures)
}

fn report(arguments: &Arguments, facts: Vec<(String, String)>, figures: &[NestedFigure]) -> Report {
    let mut facts = facts;
    facts.push(("link".to_owned(), link_text(&arguments.link.options(arguments.rtt))));
    let is_published = arguments.rtt == PUBLISHED_ROUND_TRIP;
    let mut labels = vec![
        "server",
        "client",
        ">connecting",
        ">starting",
        ">preparing",
        ">executing",
        ">fetching",
        ">total",
    ];
    labels.extend([">against farbird", ">rows"]);
    labels.extend(WIRE_COLUMNS);
    let mut table = Table::new("", &labels);
    let mut times = Bars::new("Total time", "milliseconds, less is better");
    let mut trips = Bars::new("Round trips", "round trips, fewer is better");
    let several = figures.iter().any(|figure| figure.server != figures[0].server);
    for figure in figures {
        table.row(row(figure, figures));
        let series = Series { name: figure.server.clone(), tone: tone_of(figure, figures), is_light: false };
        times.add(&client(figure.preset), &series, time_bar(figure.total_ms, BarKind::Measured));
        trips.add(&client(figure.preset), &series, trips_bar(figure.wire.round_trips));
    }
    if is_published {
        let series = Series { name: "published in 2009".to_owned(), tone: Tone::Other(0), is_light: false };
        for total in PUBLISHED {
            let bar = Bar {
                value: total.seconds * 1e3,
                label: format!("{} s", total.seconds),
                kind: BarKind::Published,
            };
            times.add(total.client, &series, bar);
        }
    }
    let mut blocks: Vec<Block> =
        [times.finish(), trips.finish()].into_iter().flatten().map(Block::Bars).collect();
    blocks.push(Block::Table(table));
    if is_published {
        blocks.push(Block::Table(published(figures)));
    }
    if several {
        blocks.push(Block::Note(
            "Servers have different numbers of system tables: compare the columns of one server.".to_owned(),
        ));
    }
    let newest = figures.iter().filter(|figure| figure.server == figures[0].server).rev().take(2);
    let mut waterfalls: Vec<Block> = newest
        .filter_map(|figure| {
            let foot = format!("{} round trips in all.", count(figure.wire.round_trips));
            waterfall(client(figure.preset), &figure.flights, foot)
        })
        .map(Block::Waterfall)
        .collect();
    waterfalls.reverse();
    Report {
        title: "Nested queries over a slow link".to_owned(),
        lead: "An outer query over the system tables, and for each of them its columns and its triggers: one connection, three \
               prepared statements, and small queries that depend on rows before them."
            .to_owned(),
        facts,
        sections: vec![
            Section { heading: "By client generation".to_owned(), lead: String::new(), blocks },
            Section { heading: WATERFALL.to_owned(), lead: WATERFALL_LEAD.to_owned(), blocks: waterfalls },
        ],
    }
}

/// Servers have colours; our own is what the report is about.
fn tone_of(figure: &NestedFigure, figures: &[NestedFigure]) -> Tone {
    let mut servers: Vec<&str> = Vec::new();
    for one in figures {
        if !servers.contains(&one.server.as_str()) {
            servers.push(&one.server);
        }
    }
    match servers.iter().position(|server| *server == figure.server) {
        Some(0) | None => Tone::Accent,
        Some(number) => Tone::Generation(u8::try_from(5_usize.saturating_sub(number)).unwrap_or_default()),
    }
}

fn row(figure: &NestedFigure, figures: &[NestedFigure]) -> Vec<Cell> {
    let base = figures
        .iter()
        .find(|other| other.preset == Preset::Farbird && other.server == figure.server)
        .map(|other| ratio(figure.total_ms, other.total_ms));
    let is_strong = figure.preset == Preset::Farbird;
    let mut row = vec![
        Cell::from(figure.server.as_str()),
        Cell { text: figure.preset.name().to_owned(), is_strong },
        Cell::from(shown_ms(figure.connecting_ms)),
        Cell::from(shown_ms(figure.starting_ms)),
        Cell::from(shown_ms(figure.preparing_ms)),
        Cell::from(shown_ms(figure.executing_ms)),
        Cell::from(shown_ms(figure.fetching_ms)),
        Cell { text: shown_ms(figure.total_ms), is_strong },
        Cell::from(base.unwrap_or_default()),
        Cell::from(format!("{} + {}", count(figure.outer_rows), count(figure.inner_rows))),
    ];
    row.extend(wire_cells(&figure.wire));
    row
}

fn published(figures: &[NestedFigure]) -> Table {
    let mut table = Table::new(
        "Published in 2009 for 200 ms, with the system tables of Firebird 2.5",
        &["client", ">total", ">against farbird here"],
    );
    let own = figures.iter().find(|figure| figure.preset == Preset::Farbird);
    for total in PUBLISHED {
        table.row([
            Cell::from(total.client),
            Cell::from(format!("{} s", total.seconds)),
            Cell::from(own.map(|own| ratio(total.seconds * 1e3, own.total_ms)).unwrap_or_default()),
        ]);
    }
    table
}
