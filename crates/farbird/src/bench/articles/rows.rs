//! `farbird bench rows`: rows of NULL in a wide column.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use farbird_lab::articles::Observer;
use farbird_lab::articles::rows::{self, RowCharacterSet, RowsFigure, RowsRun};
use farbird_lab::records::CodecId;
use farbird_lab::report::{
    Bar, BarKind, Block, Cell, Report, Section, Series, Table, Tone, bytes, count, rate,
};

use super::shown::{Bars, shown_ms, time_bar};
use super::stage::{Actor, Databases, Stage, TargetArguments};
use super::watch::Watch;
use super::{Output, ended, show};

/// Measure rows of NULL in a wide column: inserting, counting, bytes on disk.
///
/// A loop in PSQL inserts rows of NULL into `T (A VARCHAR(8000))` in each character set, COUNT(*) finds them once with
/// nothing in the caches and once more, and the database's size on disk is taken; on Farbird for each record codec. Every
/// run has a database of its own: a target must be the name of one that there is not.
#[derive(Args)]
#[command(after_help = "\
Examples:
  farbird bench rows                                              a million rows, every codec
  farbird bench rows --rows 100000000 --codec column,elekt
  farbird bench rows --target own --target localhost:/tmp/rows.fdb --password-file password --html rows.html")]
pub(crate) struct Arguments {
    /// Rows of each run.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    rows: u64,
    /// Character sets of the column, separated by commas. All by default.
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    charset: Vec<CharacterSet>,
    /// Record codecs, separated by commas: value, classic, long-run, elekt, column, each alone or with +lz4 or +zstd
    /// [default: the five alone].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    codec: Vec<CodecId>,
    #[command(flatten)]
    targets: TargetArguments,
    #[command(flatten)]
    output: Output,
}

/// A character set, as chosen on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CharacterSet {
    /// One byte a character, of unknown meaning.
    None,
    /// One byte a character.
    Win1250,
    /// Up to four bytes a character.
    Utf8,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut watch = Watch::new()?;
    let stage = Stage::set(&arguments.targets, Databases::Made)?;
    let result = measure(arguments, &stage, &mut watch);
    let facts = stage.facts();
    watch.finish();
    let cleared = stage.clear();
    let figures = match result {
        Ok(figures) => figures,
        Err(failure) => return ended(failure, cleared),
    };
    cleared?;
    show(&arguments.output, "rows", &report(arguments, facts, &figures), &figures)?;
    Ok(ExitCode::SUCCESS)
}

fn runs(arguments: &Arguments, actor: &Actor) -> Vec<RowsRun> {
    let sets = arguments.charset.iter().map(|set| match set {
        CharacterSet::None => RowCharacterSet::None,
        CharacterSet::Win1250 => RowCharacterSet::Win1250,
        CharacterSet::Utf8 => RowCharacterSet::Utf8,
    });
    let sets: Vec<_> =
        if arguments.charset.is_empty() { RowCharacterSet::ALL.to_vec() } else { sets.collect() };
    let codecs: Vec<Option<String>> = match (actor.is_farbird, arguments.codec.as_slice()) {
        (false, _) => vec![None],
        (true, []) => CodecId::all()
            .filter(|codec| codec.alone() == *codec)
            .map(|codec| Some(codec.to_string()))
            .collect(),
        (true, some) => some.iter().map(|codec| Some(codec.to_string())).collect(),
    };
    let of_set = |set: RowCharacterSet| {
        codecs.iter().map(move |codec| RowsRun { character_set: set, codec: codec.clone() })
    };
    sets.into_iter().flat_map(of_set).collect()
}

fn measure(arguments: &Arguments, stage: &Stage, watch: &mut Watch) -> farbird_lab::Result<Vec<RowsFigure>> {
    let mut figures = Vec::new();
    for actor in &stage.actors {
        let runs = runs(arguments, actor);
        for (number, run) in runs.iter().enumerate() {
            watch.run(number + 1, runs.len());
            let codec = run.codec.as_deref().unwrap_or("its own records");
            watch.begin(
                &format!("{}: {}, {codec}", actor.server.name, run.character_set.name()),
                arguments.rows,
            );
            figures.push(rows::measure(&actor.server, run, arguments.rows, actor.folder.as_deref(), watch)?);
        }
    }
    Ok(figures)
}

fn report(arguments: &Arguments, facts: Vec<(String, String)>, figures: &[RowsFigure]) -> Report {
    let mut facts = facts;
    facts.push(("rows".to_owned(), count(arguments.rows)));
    let mut sizes = Bars::new("Bytes on disk for each row", "bytes, less is better");
    let mut inserts = Bars::new("Inserting all rows in a loop of PSQL", "milliseconds, less is better");
    let mut firsts = Bars::new("COUNT(*) with nothing in the caches", "milliseconds, less is better");
    let mut seconds = Bars::new("COUNT(*) once more", "milliseconds, less is better");
    let labels = [
        "server",
        "codec",
        "character set",
        ">insert",
        ">rows a second",
        ">first count",
        ">second count",
        ">on disk",
        ">bytes a row",
    ];
    let mut table = Table::new("", &labels);
    for figure in figures {
        let series = series(figure);
        let group = figure.character_set.name();
        let size = Bar {
            value: figure.bytes_per_row,
            label: format!("{:.2}", figure.bytes_per_row),
            kind: BarKind::Measured,
        };
        sizes.add(group, &series, size);
        inserts.add(group, &series, time_bar(figure.insert_ms, BarKind::Measured));
        firsts.add(group, &series, time_bar(figure.first_count_ms, BarKind::Measured));
        seconds.add(group, &series, time_bar(figure.second_count_ms, BarKind::Measured));
        table.row([
            Cell::from(figure.server.as_str()),
            Cell::from(figure.codec.as_deref().unwrap_or("")),
            Cell::from(group),
            Cell::from(shown_ms(figure.insert_ms)),
            Cell::from(rate(figure.rows as f64 / (figure.insert_ms / 1e3).max(1e-9))),
            Cell::from(shown_ms(figure.first_count_ms)),
            Cell::from(shown_ms(figure.second_count_ms)),
            Cell::from(bytes(figure.bytes_on_disk)),
            Cell::from(format!("{:.2}", figure.bytes_per_row)),
        ]);
    }
    let charts = [sizes, inserts, firsts, seconds].into_iter().filter_map(Bars::finish).map(Block::Bars);
    let mut blocks: Vec<Block> = charts.collect();
    blocks.push(Block::Table(table));
    Report {
        title: "Rows of NULL in VARCHAR(8000)".to_owned(),
        lead: "What a row costs that says nothing: inserting, counting, bytes on disk.".to_owned(),
        facts,
        sections: vec![Section { heading: "By character set".to_owned(), lead: String::new(), blocks }],
    }
}

/// Codecs have colours, the default one is what the report is about.
fn series(figure: &RowsFigure) -> Series {
    let (name, tone) = match figure.codec.as_deref() {
        None => (figure.server.clone(), Tone::Other(0)),
        Some(codec) => {
            let plain = codec.split('+').next().unwrap_or(codec);
            let tone = match plain {
                "column" => Tone::Accent,
                "value" => Tone::Generation(4),
                "elekt" => Tone::Generation(3),
                "long-run" => Tone::Generation(2),
                _ => Tone::Generation(1),
            };
            (format!("{}, {codec}", figure.server), tone)
        }
    };
    let is_light = figure.codec.as_deref().is_some_and(|codec| codec.contains('+'));
    Series { name, tone, is_light }
}
