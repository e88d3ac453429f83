//! `farbird bench connect`: from nothing to the first row.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use farbird_lab::articles::connect::{self, ConnectFigure};
use farbird_lab::articles::{Observer, Preset, Settings};
use farbird_lab::link::parse_delay;
use farbird_lab::report::{BarKind, Block, Cell, Report, Section, Series, Table, bytes, count};

use super::shown::{Bars, WATERFALL, WATERFALL_LEAD, client, link_text, shown_ms, time_bar, tone, waterfall};
use super::stage::{Databases, Stage, TargetArguments};
use super::watch::Watch;
use super::{LinkArguments, Output, ended, show};

/// Measure how long it takes from nothing to the first row.
///
/// A program connects, logs in, starts a transaction, prepares a query and reads its row, with and without encryption, as
/// each generation of client libraries would do it. TCP's own handshake is a round trip more, which times include and
/// counts do not.
#[derive(Args)]
#[command(after_help = "\
Examples:
  farbird bench connect --rtt 200ms
  farbird bench connect --target own --target localhost:employee --preset farbird --runs 20")]
pub(crate) struct Arguments {
    /// Client generations, separated by commas: 2.0, 2.5, 5.0.1, 5.0.2, 5.0.3, farbird. All by default.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    preset: Vec<Preset>,
    /// Connect so often, and take the fastest.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    runs: u16,
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
    show(&arguments.output, "connect", &report(arguments, facts, &figures), &figures)?;
    Ok(ExitCode::SUCCESS)
}

fn measure(
    arguments: &Arguments,
    stage: &Stage,
    watch: &mut Watch,
) -> farbird_lab::Result<Vec<ConnectFigure>> {
    let presets = if arguments.preset.is_empty() { Preset::ALL.to_vec() } else { arguments.preset.clone() };
    let link = arguments.link.options(arguments.rtt);
    let mut figures = Vec::new();
    for actor in &stage.actors {
        for preset in &presets {
            for encrypt in [false, true] {
                let settings = Settings { encrypt, ..Settings::new(*preset) };
                watch.begin(&format!("{}, {}", actor.server.name, client(*preset)), arguments.runs.into());
                let mut best: Option<ConnectFigure> = None;
                for _ in 0..arguments.runs {
                    if watch.is_interrupted() {
                        return Err(farbird_lab::Failure::Interrupted);
                    }
                    let figure = connect::measure(&actor.server, &link, &settings)?;
                    if best.as_ref().is_none_or(|best| figure.first_row_ms < best.first_row_ms) {
                        best = Some(figure);
                    }
                    watch.advance(1);
                }
                figures.extend(best);
            }
        }
    }
    Ok(figures)
}

fn report(arguments: &Arguments, facts: Vec<(String, String)>, figures: &[ConnectFigure]) -> Report {
    let mut facts = facts;
    facts.push(("link".to_owned(), link_text(&arguments.link.options(arguments.rtt))));
    facts.push(("runs".to_owned(), format!("{}, of which the fastest counts", arguments.runs)));
    let labels = [
        "server",
        "client",
        "encrypted",
        ">protocol",
        ">attached",
        ">first row",
        ">trips to attach",
        ">trips to first row",
        ">packets sent",
        ">packets received",
        ">bytes sent",
        ">bytes received",
    ];
    let mut table = Table::new("", &labels);
    let mut times = Bars::new("Time to the first row", "milliseconds, less is better");
    for figure in figures {
        let is_strong = figure.preset == Preset::Farbird;
        let wire = &figure.wire_first_row;
        table.row([
            Cell::from(figure.server.as_str()),
            Cell { text: figure.preset.name().to_owned(), is_strong },
            Cell::from(if figure.is_encrypted { "yes" } else { "no" }),
            Cell::from(figure.protocol.to_string()),
            Cell::from(shown_ms(figure.attached_ms)),
            Cell { text: shown_ms(figure.first_row_ms), is_strong },
            Cell::from(count(figure.wire_attached.round_trips)),
            Cell { text: count(wire.round_trips), is_strong },
            Cell::from(count(wire.logical_packets_sent)),
            Cell::from(count(wire.logical_packets_received)),
            Cell::from(bytes(wire.physical_bytes_sent)),
            Cell::from(bytes(wire.physical_bytes_received)),
        ]);
        let group = format!("{}{}", figure.server, if figure.is_encrypted { ", encrypted" } else { "" });
        let series = Series { name: client(figure.preset), tone: tone(figure.preset), is_light: false };
        let mut bar = time_bar(figure.first_row_ms, BarKind::Measured);
        bar.label = format!("{}, {} trips", bar.label, wire.round_trips);
        times.add(&group, &series, bar);
    }
    let mut blocks: Vec<Block> = times.finish().map(Block::Bars).into_iter().collect();
    blocks.push(Block::Table(table));
    let newest = figures
        .iter()
        .filter(|figure| figure.is_encrypted && figure.server == figures[0].server)
        .rev()
        .take(2);
    let mut waterfalls: Vec<Block> = newest
        .filter_map(|figure| {
            let foot = format!("{} round trips to the first row.", count(figure.wire_first_row.round_trips));
            waterfall(client(figure.preset), &figure.flights, foot)
        })
        .map(Block::Waterfall)
        .collect();
    waterfalls.reverse();
    Report {
        title: "From nothing to the first row".to_owned(),
        lead: "Connect, log in, start a transaction, prepare a query, read its row. TCP's own handshake is a round trip more, \
               which times include and counts do not. The farbird client counts as attached when the attach is on its way: \
               what follows goes with it."
            .to_owned(),
        facts,
        sections: vec![
            Section { heading: "By client generation".to_owned(), lead: String::new(), blocks },
            Section { heading: WATERFALL.to_owned(), lead: WATERFALL_LEAD.to_owned(), blocks: waterfalls },
        ],
    }
}
