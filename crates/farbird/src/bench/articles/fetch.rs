//! `farbird bench fetch`: how fast rows come.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use farbird_lab::articles::fetch::{self, FetchFigure, FetchPlan, FetchTable};
use farbird_lab::articles::{MariaDbServer, Observer, PostgresServer, Preset};
use farbird_lab::link::parse_delay;
use farbird_lab::report::{
    Bar, BarKind, Block, Cell, Report, Section, Series, Table, Tone, bytes, count, rate,
};

use super::blobs::Compress;
use super::shown::{Bars, WATERFALL, WATERFALL_LEAD, client, ratio, shown_ms, time_bar, waterfall};
use super::stage::{Databases, Stage, TargetArguments};
use super::watch::Watch;
use super::{LinkArguments, Output, ended, show};

/// Measure how fast rows come: wide ones at several distances, narrow ones over loopback.
///
/// Customers of 61 columns, full and half NULL, compressed or not, as in "Firebird 3 protocol benchmark" (2015); half of
/// them read and the cursor closed, as an older test did; and one INTEGER a row over loopback. PostgreSQL is read by the
/// `postgres` crate, which has no compression, MariaDB by its own client program, which makes a line of text of each row.
#[derive(Args)]
#[command(after_help = "\
Examples:
  farbird bench fetch                                                    our own server at 0, 20 and 219 ms
  farbird bench fetch --postgres postgres://postgres@127.0.0.1/postgres --html fetch.html
  farbird bench fetch --table narrow --encrypt off --target own --target localhost:/tmp/fetch.fdb")]
pub(crate) struct Arguments {
    /// Rows of the wide tables.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(2..=10_000_000))]
    rows: u64,
    /// Rows of the narrow table.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    narrow_rows: u64,
    /// What is read, separated by commas. All by default.
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    table: Vec<Chosen>,
    /// Client generations, separated by commas.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "5.0.3,farbird")]
    preset: Vec<Preset>,
    /// Whether links are compressed.
    #[arg(long, value_enum, default_value_t = Compress::Both)]
    compress: Compress,
    /// Whether links are encrypted where the server can.
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    encrypt: Switch,
    /// Times of a round trip of the emulated links, separated by commas; 0: none.
    #[arg(long, value_name = "TIME", value_parser = parse_delay, value_delimiter = ',', default_value = "0,20ms,219ms",
          help_heading = "Link")]
    rtt: Vec<Duration>,
    #[command(flatten)]
    link: LinkArguments,
    /// A PostgreSQL server, with a database beside which one for this is made.
    #[arg(long, value_name = "URL", help_heading = "Servers")]
    postgres: Option<String>,
    /// A MariaDB server, as mariadb://user:password@host:port, on which a database for this is made. Needs its client program.
    #[arg(long, value_name = "URL", help_heading = "Servers")]
    mariadb: Option<String>,
    #[command(flatten)]
    targets: TargetArguments,
    #[command(flatten)]
    output: Output,
}

/// What is read, as chosen on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Chosen {
    /// Customers of 61 columns, all filled.
    Full,
    /// The same, every second column NULL.
    HalfNull,
    /// Half of the rows of a query for seven tenths of them.
    Part,
    /// One INTEGER a row, over loopback.
    Narrow,
}

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut watch = Watch::new()?;
    let plan = plan(arguments);
    let stage = Stage::set(&arguments.targets, Databases::Used)?;
    let others = Others::create(arguments);
    let mut others = match others {
        Ok(others) => others,
        Err(error) => {
            stage.clear()?;
            return Err(error);
        }
    };
    let result = measure(&plan, &stage, &mut others, &mut watch);
    let mut facts = stage.facts();
    watch.finish();
    facts.extend(others.facts());
    let cleared = stage.clear().and(others.remove());
    let figures = match result {
        Ok(figures) => figures,
        Err(failure) => return ended(failure, cleared),
    };
    cleared?;
    show(&arguments.output, "fetch", &report(&plan, facts, &figures), &figures)?;
    Ok(ExitCode::SUCCESS)
}

/// Servers of other systems.
#[derive(Default)]
struct Others {
    postgres: Option<PostgresServer>,
    mariadb: Option<MariaDbServer>,
}

impl Others {
    fn create(arguments: &Arguments) -> anyhow::Result<Others> {
        let mut others = Others::default();
        if let Some(url) = &arguments.postgres {
            let server = PostgresServer::create(url);
            others.postgres = Some(server.context("cannot make a database on the PostgreSQL server")?);
        }
        if let Some(url) = &arguments.mariadb {
            match MariaDbServer::create(url).context("cannot make a database on the MariaDB server") {
                Ok(server) => others.mariadb = Some(server),
                Err(error) => {
                    others.remove()?;
                    return Err(error);
                }
            }
        }
        Ok(others)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let postgres =
            self.postgres.iter().map(|server| (server.name.clone(), "through the postgres crate".to_owned()));
        let mariadb = self
            .mariadb
            .iter()
            .map(|server| (server.name.clone(), "through its own client program".to_owned()));
        postgres.chain(mariadb).collect()
    }

    fn remove(self) -> anyhow::Result<()> {
        let postgres = self.postgres.map_or(Ok(()), PostgresServer::remove);
        let mariadb = self.mariadb.map_or(Ok(()), MariaDbServer::remove);
        postgres.context("cannot drop the database of PostgreSQL")?;
        mariadb.context("cannot drop the database of MariaDB")
    }
}

fn plan(arguments: &Arguments) -> FetchPlan {
    let tables = arguments.table.iter().map(|chosen| match chosen {
        Chosen::Full => FetchTable::Full,
        Chosen::HalfNull => FetchTable::HalfNull,
        Chosen::Part => FetchTable::Part,
        Chosen::Narrow => FetchTable::Narrow,
    });
    FetchPlan {
        rows: arguments.rows,
        narrow_rows: arguments.narrow_rows,
        tables: if arguments.table.is_empty() { FetchTable::ALL.to_vec() } else { tables.collect() },
        links: arguments.rtt.iter().map(|rtt| arguments.link.options(*rtt)).collect(),
        compress: arguments.compress.values(),
        encrypt: arguments.encrypt == Switch::On,
        presets: arguments.preset.clone(),
    }
}

fn measure(
    plan: &FetchPlan,
    stage: &Stage,
    others: &mut Others,
    watch: &mut Watch,
) -> farbird_lab::Result<Vec<FetchFigure>> {
    let mut figures = Vec::new();
    let runs = plan.runs();
    for actor in &stage.actors {
        let server = &actor.server;
        fetch::load(server, plan, watch)?;
        watch.begin("warming up", 0);
        fetch::warm_up(server, plan)?;
        for (number, run) in runs.iter().enumerate() {
            watch.run(number + 1, runs.len());
            let what = format!("{}: {}, {}", server.name, run.table.name(), client(run.settings.preset));
            watch.begin(&what, rows(plan, run.table));
            figures.push(fetch::measure(server, plan, run, watch)?);
        }
        fetch::unload(server)?;
    }
    if let Some(server) = &mut others.postgres {
        fetch::load_postgres(server, plan, watch)?;
        for (table, link) in plan.other_runs() {
            watch.begin(&format!("{}: {}", server.name, table.name()), rows(plan, table));
            figures.push(fetch::measure_postgres(server, plan, table, &link, watch)?);
        }
    }
    if let Some(server) = &mut others.mariadb {
        fetch::load_mariadb(server, plan, watch)?;
        for (table, link) in plan.other_runs() {
            watch.begin(&format!("{}: {}", server.name, table.name()), rows(plan, table));
            figures.push(fetch::measure_mariadb(server, plan, table, &link, watch)?);
        }
    }
    Ok(figures)
}

fn rows(plan: &FetchPlan, table: FetchTable) -> u64 {
    match table {
        FetchTable::Narrow => plan.narrow_rows,
        FetchTable::Part => plan.rows / 2,
        FetchTable::Full | FetchTable::HalfNull => plan.rows,
    }
}

fn report(plan: &FetchPlan, facts: Vec<(String, String)>, figures: &[FetchFigure]) -> Report {
    let mut facts = facts;
    let encrypted = if plan.encrypt { "where the server can" } else { "no" };
    facts.push(("encrypted".to_owned(), encrypted.to_owned()));
    if let Some(bits) = plan.links.first().and_then(|link| link.down.rate) {
        facts.push(("bandwidth".to_owned(), format!("{bits} each way")));
    }
    let mut sections: Vec<Section> = plan.tables.iter().map(|table| section(plan, *table, figures)).collect();
    sections.extend(waterfall_section(figures));
    Report {
        title: "How fast rows come".to_owned(),
        lead: "From preparing a query to its last row.".to_owned(),
        facts,
        sections,
    }
}

fn section(plan: &FetchPlan, table: FetchTable, figures: &[FetchFigure]) -> Section {
    let heading = match table {
        FetchTable::Full => format!("{} customers of 61 columns", count(plan.rows)),
        FetchTable::HalfNull => format!("{} customers, every second column NULL", count(plan.rows)),
        FetchTable::Part => {
            format!("{} customers of a query for {}", count(plan.rows / 2), count(plan.rows * 7 / 10))
        }
        FetchTable::Narrow => format!("{} rows of one INTEGER over loopback", count(plan.narrow_rows)),
    };
    let of_table = || figures.iter().filter(|figure| figure.table == table);
    let mut labels = vec![
        "server",
        "client",
        "compressed",
        ">round trip",
        ">elapsed",
        ">against farbird",
        ">rows a second",
    ];
    labels.extend([">trips", ">logical bytes", ">physical bytes"]);
    let mut rows = Table::new("", &labels);
    let is_narrow = table == FetchTable::Narrow;
    let mut bars = match is_narrow {
        true => Bars::new(heading.clone(), "rows a second, more is better"),
        false => Bars::new(heading.clone(), "milliseconds, less is better"),
    };
    for figure in of_table() {
        let base = of_table().find(|other| {
            other.preset == Some(Preset::Farbird)
                && other.round_trip_ms == figure.round_trip_ms
                && (other.is_compressed == figure.is_compressed || figure.preset.is_none())
        });
        rows.row(row(figure, base));
        let group = match is_narrow {
            true => "loopback".to_owned(),
            false if figure.round_trip_ms == 0.0 => "no delay".to_owned(),
            false => format!("{} ms", figure.round_trip_ms),
        };
        let bar = match is_narrow {
            true => Bar {
                value: figure.rows_per_second,
                label: rate(figure.rows_per_second),
                kind: BarKind::Measured,
            },
            false => time_bar(figure.elapsed_ms, BarKind::Measured),
        };
        bars.add(&group, &series(figure, figures), bar);
    }
    let mut blocks: Vec<Block> = bars.finish().map(Block::Bars).into_iter().collect();
    blocks.push(Block::Table(rows));
    Section { heading, lead: String::new(), blocks }
}

/// The flights of the first table at the greatest distance, by the two newest clients.
fn waterfall_section(figures: &[FetchFigure]) -> Option<Section> {
    let first = figures.first()?;
    let like_first =
        || figures.iter().filter(|figure| figure.server == first.server && figure.table == first.table);
    let farthest = like_first().map(|figure| figure.round_trip_ms).fold(0.0, f64::max);
    let is_compressed = like_first().next_back()?.is_compressed;
    let chosen: Vec<_> = like_first()
        .filter(|figure| figure.round_trip_ms == farthest && figure.is_compressed == is_compressed)
        .collect();
    let newest = chosen.iter().skip(chosen.len().saturating_sub(2));
    let waterfalls = newest.filter_map(|figure| {
        let title =
            format!("{} rows at {} ms, {}", count(figure.record_count), farthest, client(figure.preset?));
        let trips = figure.wire.map_or(0, |wire| wire.round_trips);
        waterfall(
            title,
            &figure.flights,
            format!("{} round trips from preparing to the last row.", count(trips)),
        )
    });
    let blocks: Vec<Block> = waterfalls.map(Block::Waterfall).collect();
    (!blocks.is_empty()).then(|| Section {
        heading: WATERFALL.to_owned(),
        lead: WATERFALL_LEAD.to_owned(),
        blocks,
    })
}

fn row(figure: &FetchFigure, base: Option<&FetchFigure>) -> Vec<Cell> {
    let is_strong = figure.preset == Some(Preset::Farbird);
    let wire = |shown: &dyn Fn(&farbird_lab::articles::WireFigure) -> String| {
        Cell::from(figure.wire.as_ref().map(shown).unwrap_or_default())
    };
    vec![
        Cell::from(figure.server.as_str()),
        Cell { text: figure.preset.map_or(figure.driver, Preset::name).to_owned(), is_strong },
        Cell::from(if figure.is_compressed { "yes" } else { "no" }),
        Cell::from(format!("{} ms", figure.round_trip_ms)),
        Cell { text: shown_ms(figure.elapsed_ms), is_strong },
        Cell::from(base.map(|base| ratio(figure.elapsed_ms, base.elapsed_ms)).unwrap_or_default()),
        Cell::from(rate(figure.rows_per_second)),
        wire(&|wire| count(wire.round_trips)),
        wire(&|wire| bytes(wire.logical_bytes_received)),
        wire(&|wire| bytes(wire.physical_bytes_received)),
    ]
}

fn series(figure: &FetchFigure, figures: &[FetchFigure]) -> Series {
    let first = figures.first().map(|figure| figure.server.as_str());
    let is_first = first == Some(figure.server.as_str());
    let suffix = if figure.is_compressed { ", compressed" } else { "" };
    let (name, tone) = match figure.preset {
        None => (figure.server.clone(), Tone::Other(if figure.driver == "postgres" { 0 } else { 1 })),
        Some(preset) => {
            let tone = match (is_first, preset) {
                (true, Preset::Farbird) => Tone::Accent,
                (true, _) => Tone::Generation(1),
                (false, Preset::Farbird) => Tone::Generation(4),
                (false, _) => Tone::Generation(2),
            };
            (format!("{}, {}{suffix}", figure.server, client(preset)), tone)
        }
    };
    Series { name, tone, is_light: !figure.is_compressed && figure.preset.is_some() }
}
