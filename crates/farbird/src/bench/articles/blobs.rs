//! `farbird bench blobs`: the article's six queries over BLOBs and VARCHAR.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use farbird_lab::articles::blobs::{self, BlobFigure, BlobPlan, BlobQuery};
use farbird_lab::articles::{Observer, Preset, folder_files, made_up_files};
use farbird_lab::link::parse_delay;
use farbird_lab::report::{BarKind, Block, Cell, Report, Section, Series, Table, bytes, count};

use super::shown::{
    Bars, WATERFALL, WATERFALL_LEAD, WIRE_COLUMNS, client, link_text, ratio, shown_ms, time_bar, tone,
    trips_bar, waterfall, wire_cells,
};
use super::stage::{Databases, Stage, TargetArguments};
use super::watch::Watch;
use super::{LinkArguments, Output, ended, parse_patience, show};

/// Measure rows with short and long BLOBs over a slow link.
///
/// The tables, the script that fills them and the six queries are those of the article "Transfer of BLOBs over the wire"
/// (2025). Each query is prepared, and then executed, fetched and read, with the BLOBs of each row when the row has come,
/// as each generation of client libraries would do it. A table BLOB_TEST that a target's database has already is used as it
/// is; otherwise it is made and dropped.
#[derive(Args)]
#[command(after_help = "\
Examples:
  farbird bench blobs --rtt 200ms                                 our own server, all there is
  farbird bench blobs --rtt 12ms --rate 35mbit --html blobs.html  with charts and a waterfall
  farbird bench blobs --folder ~/src/firebird --query all-blobs --preset 5.0.3,farbird
  farbird bench blobs --target own --target 127.0.0.1/3050:/tmp/blobs.fdb --password-file password")]
pub(crate) struct Arguments {
    /// Rows of each query.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rows: u64,
    /// Queries, separated by commas. All by default.
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    query: Vec<Query>,
    /// Client generations, separated by commas: 2.0, 2.5, 5.0.1, 5.0.2, 5.0.3, farbird. All by default.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    preset: Vec<Preset>,
    /// Whether the link is compressed.
    #[arg(long, value_enum, default_value_t = Compress::Both)]
    compress: Compress,
    /// Largest BLOBs that are to come with their rows (MaxInlineBlobSize), separated by commas, for the presets that know how.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [65_535, 16_384, 0],
          value_parser = clap::value_parser!(u32).range(0..=65_535))]
    inline: Vec<u32>,
    /// A folder whose text files become the BLOBs, instead of made-up sources: half below 8 KB, a third above 16 KB.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// A run that takes longer is ended, and projected from the rows that it has read.
    #[arg(long, value_name = "TIME", value_parser = parse_patience, default_value = "5s")]
    patience: Duration,
    /// Time of a round trip of the emulated link; 0: none.
    #[arg(long, value_name = "TIME", value_parser = parse_delay, default_value = "12ms", help_heading = "Link")]
    rtt: Duration,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    targets: TargetArguments,
    #[command(flatten)]
    output: Output,
}

/// A query, as chosen on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Query {
    /// BLOBs of less than 8,191 characters.
    ShortBlobs,
    /// The same texts as VARCHAR(8191).
    Varchar,
    /// BLOBs of any size.
    AllBlobs,
    /// Short texts cast to VARCHAR, long ones as BLOBs.
    Mixed,
    /// Short texts of a VARCHAR column, long ones as BLOBs.
    MixedOptimised,
    /// As all-blobs, but nobody reads them.
    BlobIds,
}

impl Query {
    fn query(self) -> BlobQuery {
        match self {
            Query::ShortBlobs => BlobQuery::ShortBlobs,
            Query::Varchar => BlobQuery::Varchar,
            Query::AllBlobs => BlobQuery::AllBlobs,
            Query::Mixed => BlobQuery::Mixed,
            Query::MixedOptimised => BlobQuery::MixedOptimised,
            Query::BlobIds => BlobQuery::BlobIds,
        }
    }
}

/// Whether links are compressed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Compress {
    /// One run without, one with it.
    Both,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Compress {
    pub(super) fn values(self) -> Vec<bool> {
        match self {
            Compress::Both => vec![false, true],
            Compress::On => vec![true],
            Compress::Off => vec![false],
        }
    }
}

/// Files that are made up where no folder is named: the article's library has fewer.
const MADE_UP_FILES: u64 = 300;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut watch = Watch::new()?;
    let plan = plan(arguments);
    let stage = Stage::set(&arguments.targets, Databases::Used)?;
    let result = measure(arguments, &plan, &stage, &mut watch);
    let facts = stage.facts();
    watch.finish();
    let cleared = stage.clear();
    let figures = match result {
        Ok(figures) => figures,
        Err(failure) => return ended(failure, cleared),
    };
    cleared?;
    let report = report(&plan, facts, &figures);
    show(&arguments.output, "blobs", &report, &figures)?;
    Ok(ExitCode::SUCCESS)
}

fn plan(arguments: &Arguments) -> BlobPlan {
    let mut inline = arguments.inline.clone();
    inline.sort_unstable_by(|one, other| other.cmp(one));
    inline.dedup();
    BlobPlan {
        rows: arguments.rows,
        queries: match arguments.query.as_slice() {
            [] => BlobQuery::ALL.to_vec(),
            some => some.iter().map(|query| query.query()).collect(),
        },
        presets: if arguments.preset.is_empty() { Preset::ALL.to_vec() } else { arguments.preset.clone() },
        compress: arguments.compress.values(),
        inline_blob_bytes: inline,
        link: arguments.link.options(arguments.rtt),
        patience: arguments.patience,
    }
}

fn measure(
    arguments: &Arguments,
    plan: &BlobPlan,
    stage: &Stage,
    watch: &mut Watch,
) -> farbird_lab::Result<Vec<BlobFigure>> {
    let mut figures = Vec::new();
    let runs = plan.runs();
    for actor in &stage.actors {
        let server = &actor.server;
        let is_there = blobs::has_table(server)?;
        if !is_there {
            let files = match &arguments.folder {
                Some(folder) => folder_files(folder)?,
                None => made_up_files(MADE_UP_FILES.min(blobs::table_rows(plan.rows)) as usize),
            };
            blobs::load(server, &files, plan.rows, watch)?;
        }
        watch.begin("warming up", 0);
        blobs::warm_up(server)?;
        for (number, run) in runs.iter().enumerate() {
            watch.run(number + 1, runs.len());
            let compressed = if run.settings.compress { ", compressed" } else { "" };
            let what =
                format!("{}: {}, {}{compressed}", server.name, run.query.name(), client(run.settings.preset));
            watch.begin(&what, plan.rows);
            figures.push(blobs::measure(server, plan, run, watch)?);
        }
        if !is_there {
            blobs::unload(server)?;
        }
    }
    Ok(figures)
}

fn report(plan: &BlobPlan, facts: Vec<(String, String)>, figures: &[BlobFigure]) -> Report {
    let mut facts = facts;
    facts.push(("link".to_owned(), link_text(&plan.link)));
    facts.push(("rows".to_owned(), count(plan.rows)));
    let mut sections = vec![overview(plan, figures)];
    sections.extend(inline_section(plan, figures));
    sections.extend(waterfall_section(plan, figures));
    sections.extend(plan.queries.iter().map(|query| query_section(*query, plan.rows, figures)));
    Report {
        title: "BLOBs over the wire".to_owned(),
        lead: "Rows with short and long texts, kept as BLOBs or as VARCHAR, read as each generation of client libraries \
               reads them. The time is from executing the query to the last byte of the last row."
            .to_owned(),
        facts,
        sections,
    }
}

/// Figures that charts of all queries show: with the largest BLOBs inline.
fn is_usual(plan: &BlobPlan, figure: &BlobFigure) -> bool {
    let largest = plan.inline_blob_bytes.first().copied().unwrap_or_default();
    !figure.preset.has_inline_blobs() || !figure.query.has_blobs() || figure.inline_blob_bytes == largest
}

fn series(figure: &BlobFigure) -> Series {
    let suffix = if figure.is_compressed { ", compressed" } else { "" };
    Series {
        name: format!("{}{suffix}", client(figure.preset)),
        tone: tone(figure.preset),
        is_light: !figure.is_compressed,
    }
}

fn kind(figure: &BlobFigure) -> BarKind {
    if figure.is_complete { BarKind::Measured } else { BarKind::Projected }
}

fn overview(plan: &BlobPlan, figures: &[BlobFigure]) -> Section {
    let mut blocks = Vec::new();
    if figures.iter().any(|figure| !figure.is_complete) {
        blocks.push(Block::Note(format!(
            "Runs of more than {} were ended; what all of their rows would have taken is marked \"about\".",
            shown_ms(plan.patience.as_secs_f64() * 1e3)
        )));
    }
    for server in servers(figures) {
        let of_server = || figures.iter().filter(|figure| figure.server == server && is_usual(plan, figure));
        let mut times = Bars::new(
            format!("{server}: time for {} rows", count(plan.rows)),
            "milliseconds, less is better",
        );
        let mut trips =
            Bars::new(format!("{server}: round trips"), "round trips of complete runs, fewer is better");
        for figure in of_server() {
            // Generations stand in their order, also where the first of a query was ended.
            trips.place(&series(figure));
            times.add(figure.query.about(), &series(figure), time_bar(figure.projected_ms, kind(figure)));
            if figure.is_complete {
                trips.add(figure.query.about(), &series(figure), trips_bar(figure.wire.round_trips));
            }
        }
        blocks.extend([times.finish(), trips.finish()].into_iter().flatten().map(Block::Bars));
    }
    Section { heading: "All queries".to_owned(), lead: String::new(), blocks }
}

fn inline_section(plan: &BlobPlan, figures: &[BlobFigure]) -> Option<Section> {
    if plan.inline_blob_bytes.len() < 2 {
        return None;
    }
    let mut blocks = Vec::new();
    for server in servers(figures) {
        let mut times = Bars::new(format!("{server}: by MaxInlineBlobSize"), "milliseconds, less is better");
        let inline = figures.iter().filter(|figure| {
            figure.server == server && figure.preset.has_inline_blobs() && figure.query.has_blobs()
        });
        for figure in inline {
            let group = format!("{}, {}", figure.query.about(), count(figure.inline_blob_bytes.into()));
            times.add(&group, &series(figure), time_bar(figure.projected_ms, kind(figure)));
        }
        blocks.extend(times.finish().map(Block::Bars));
    }
    let lead =
        "BLOBs of up to so many bytes come with their rows; the others are opened and read.".to_owned();
    (!blocks.is_empty()).then(|| Section {
        heading: "How much travels with the rows".to_owned(),
        lead,
        blocks,
    })
}

/// The flights of the most demanding query, by the two newest clients.
fn waterfall_section(plan: &BlobPlan, figures: &[BlobFigure]) -> Option<Section> {
    let query = plan.queries.iter().find(|query| **query == BlobQuery::AllBlobs).or(plan.queries.first())?;
    let compress = plan.compress.last()?;
    let mut chosen: Vec<&BlobFigure> = figures
        .iter()
        .filter(|figure| {
            let is_first = figures.first().is_some_and(|first| first.server == figure.server);
            is_first && is_usual(plan, figure) && figure.query == *query && figure.is_compressed == *compress
        })
        .collect();
    chosen.drain(..chosen.len().saturating_sub(2));
    let waterfalls = chosen.into_iter().filter_map(|figure| {
        let title = format!("{}, {}", query.about(), series(figure).name);
        let foot = format!("{} round trips from executing to the last byte.", count(figure.wire.round_trips));
        waterfall(title, &figure.flights, foot)
    });
    let blocks: Vec<Block> = waterfalls.map(Block::Waterfall).collect();
    (!blocks.is_empty()).then(|| Section {
        heading: WATERFALL.to_owned(),
        lead: WATERFALL_LEAD.to_owned(),
        blocks,
    })
}

fn query_section(query: BlobQuery, rows: u64, figures: &[BlobFigure]) -> Section {
    let mut labels = vec!["server", "client", "compressed", ">inline", ">elapsed", ">against farbird"];
    labels.extend([">max id", ">records", ">content"]);
    labels.extend(WIRE_COLUMNS);
    let mut table = Table::new("", &labels);
    let of_query = || figures.iter().filter(|figure| figure.query == query);
    for figure in of_query() {
        // Farbird's client on the same server and an equal line, at its best.
        let base = of_query()
            .filter(|other| {
                other.preset == Preset::Farbird
                    && other.server == figure.server
                    && other.is_compressed == figure.is_compressed
            })
            .map(|other| other.projected_ms)
            .reduce(f64::min);
        let elapsed = match figure.is_complete {
            true => shown_ms(figure.elapsed_ms),
            false => format!("about {}", shown_ms(figure.projected_ms)),
        };
        let is_strong = figure.preset == Preset::Farbird;
        let mut row = vec![
            Cell::from(figure.server.as_str()),
            Cell { text: figure.preset.name().to_owned(), is_strong },
            Cell::from(if figure.is_compressed { "yes" } else { "no" }),
            Cell::from(match figure.preset.has_inline_blobs() && query.has_blobs() {
                true => count(figure.inline_blob_bytes.into()),
                false => String::new(),
            }),
            Cell { text: elapsed, is_strong },
            Cell::from(base.map(|base| ratio(figure.projected_ms, base)).unwrap_or_default()),
            Cell::from(count(figure.max_id.unsigned_abs())),
            Cell::from(count(figure.record_count)),
            Cell::from(bytes(figure.content_bytes)),
        ];
        row.extend(wire_cells(&figure.wire));
        table.row(row);
    }
    Section {
        heading: query.about().to_owned(),
        lead: String::new(),
        blocks: vec![Block::Code(query.sql(rows)), Block::Table(table)],
    }
}

fn servers(figures: &[BlobFigure]) -> Vec<&str> {
    let mut servers: Vec<&str> = Vec::new();
    for figure in figures {
        if !servers.contains(&figure.server.as_str()) {
            servers.push(&figure.server);
        }
    }
    servers
}
