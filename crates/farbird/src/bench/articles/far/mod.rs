//! `farbird bench far`: programs that know nothing of the distance, at the server and through a farlink.

mod report;
mod site;

use std::net::ToSocketAddrs;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, ValueEnum};
use farbird_client::Location;
use farbird_gateway::origin::Credentials;
use farbird_gateway::transport::Transport;
use farbird_lab::Failure;
use farbird_lab::articles::far::{self, FarFigure, Line, Sizes, Way, Work, tables};
use farbird_lab::articles::{Observer, Preset, Server, blobs, made_up_files};
use farbird_lab::link::{Link, LinkOptions, Rate, parse_delay};
use serde::Serialize;

use self::site::{Before, Site};
use super::stage::{Actor, Databases, Stage, TargetArguments};
use super::watch::Watch;
use super::{Output, ended, parse_patience, show};
use crate::farlink::edge::By;
use crate::farlink::knowledge::OwnServer as OwnKnowledge;

/// Measure what programs cost over a long link, without and with a farlink.
///
/// Everything that is needed is started in this process: a Farbird server, an origin before it, an edge, and an emulated link; or an
/// origin before each --target, whose server knows nothing of it. Each program runs three times: at the server over the link itself,
/// then through an edge that has never seen it, then through the same edge once more. The programs behave as old client libraries do,
/// and connect to the edge as they would to the server. At 200 ms and 35 Mbit/s the figures stand beside the goals of the farlink.
#[derive(Args)]
#[command(after_help = "\
Examples:
  farbird bench far                                          our own server, all programs, 200 ms, 35 Mbit/s
  farbird bench far --work nested,connect --html far.html    with charts and a waterfall of what crossed the link
  farbird bench far --work nested --target localhost:/tmp/far.fdb --password-file password --texts-show-purity
  farbird bench far --work nested --program 'python3 program.py {}'
                                                             a program of yours; {} is HOST/PORT:DATABASE, user and
                                                             password are in ISC_USER and ISC_PASSWORD")]
pub(crate) struct Arguments {
    /// Programs, separated by commas. All by default.
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    work: Vec<Chosen>,
    /// Client generations, separated by commas: 2.0, 2.5, 5.0.1, 5.0.2, 5.0.3, farbird.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "2.5,5.0.3")]
    preset: Vec<Preset>,
    /// Also a program of yours: a command of the shell, in which {} stands for HOST/PORT:DATABASE. May be given several times.
    /// The database has the tables of the other programs.
    #[arg(long, value_name = "COMMAND")]
    program: Vec<String>,
    /// A loop that takes longer is left, and projected from what it has done.
    #[arg(long, value_name = "TIME", value_parser = parse_patience, default_value = "30s")]
    patience: Duration,
    #[command(flatten)]
    sizes: SizeArguments,
    /// Time of a round trip of the emulated link; 0: none.
    #[arg(long, value_name = "TIME", value_parser = parse_delay, default_value = "200ms", help_heading = "Link")]
    rtt: Duration,
    /// Bandwidth of the emulated link in each direction, such as 35mbit or 1gbit.
    #[arg(long, value_name = "RATE", default_value = "35mbit", help_heading = "Link")]
    rate: Rate,
    /// What else the emulated link does, such as loss=1%,jitter=2ms,up.rate=5mbit: see docs/lab.md.
    #[arg(long, value_name = "OPTIONS", help_heading = "Link")]
    link: Option<LinkOptions>,
    /// By what the edge reaches the origin [default: quic over the link, tcp without any distance].
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Link")]
    transport: Option<By>,
    /// Before a --target: believe the texts of queries, as `farbird edge --texts-show-purity`.
    #[arg(long, help_heading = "Servers")]
    texts_show_purity: bool,
    /// Describe statements from their texts alone, as `farbird edge --deferred-prepare`.
    #[arg(long, help_heading = "Servers")]
    deferred_prepare: bool,
    /// Answer writes before they are done, as `farbird edge --optimistic-writes`.
    #[arg(long, help_heading = "Servers")]
    optimistic_writes: bool,
    #[command(flatten)]
    targets: TargetArguments,
    #[command(flatten)]
    output: Output,
}

/// How much the programs do.
#[derive(Args)]
struct SizeArguments {
    /// Rows with BLOBs.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000), help_heading = "Sizes")]
    blobs: u64,
    /// Rows of the outer query of the nested loop.
    #[arg(long, value_name = "COUNT", default_value_t = 56, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = "Sizes")]
    outer: u64,
    /// Customers.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Sizes")]
    customers: u64,
    /// Iterations of the loops of short transactions and statements.
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = "Sizes")]
    loops: u64,
    /// Queries by key, without any distance.
    #[arg(long, value_name = "COUNT", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Sizes")]
    points: u64,
    /// Narrow rows, without any distance.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000), help_heading = "Sizes")]
    rows: u64,
}

/// A program, as chosen on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Chosen {
    /// Rows with BLOBs of any size, compressed.
    Blobs,
    /// From connecting to detaching: an outer query, and two inner ones for each of its rows.
    Nested,
    /// From nothing to the first row.
    Connect,
    /// Customers of 61 columns, compressed.
    Customers,
    /// Short transactions, each inserts a row and commits.
    Commits,
    /// In one transaction, over and over: a statement is prepared, executed, read and freed.
    Prepares,
    /// In one transaction, which is committed: INSERTs with their values in their texts, and a query like that for each.
    Texts,
    /// A transaction of READ COMMITTED for each query.
    Transactions,
    /// Queries by key, without any distance.
    Points,
    /// Many narrow rows, without any distance.
    Fetch,
}

impl Chosen {
    fn work(self) -> Work {
        match self {
            Chosen::Blobs => Work::Blobs,
            Chosen::Nested => Work::Nested,
            Chosen::Connect => Work::Connect,
            Chosen::Customers => Work::Customers,
            Chosen::Commits => Work::Commits,
            Chosen::Prepares => Work::Prepares,
            Chosen::Texts => Work::Texts,
            Chosen::Transactions => Work::Transactions,
            Chosen::Points => Work::Points,
            Chosen::Fetch => Work::Fetch,
        }
    }
}

/// What is measured.
struct Plan {
    works: Vec<Work>,
    presets: Vec<Preset>,
    programs: Vec<String>,
    sizes: Sizes,
    link: LinkOptions,
    transport: Option<Transport>,
    texts_show_purity: bool,
    deferred_prepare: bool,
    optimistic_writes: bool,
    patience: Duration,
}

impl Plan {
    fn of(arguments: &Arguments) -> Plan {
        let mut link = arguments.link.clone().unwrap_or_default();
        if arguments.rtt != Duration::ZERO {
            link.both(|path| {
                path.delay = arguments.rtt / 2;
                path.rate = path.rate.or(Some(arguments.rate));
            });
        }
        let SizeArguments { blobs, outer, customers, loops, points, rows } = arguments.sizes;
        Plan {
            works: match (arguments.work.as_slice(), arguments.program.as_slice()) {
                ([], []) => Work::ALL.to_vec(),
                (some, _) => some.iter().map(|chosen| chosen.work()).collect(),
            },
            presets: arguments.preset.clone(),
            programs: arguments.program.clone(),
            sizes: Sizes { blobs, outer, customers, loops, points, rows },
            link,
            transport: arguments.transport.map(By::transport),
            texts_show_purity: arguments.texts_show_purity,
            deferred_prepare: arguments.deferred_prepare,
            optimistic_writes: arguments.optimistic_writes,
            patience: arguments.patience,
        }
    }

    /// The programs, in order, by the link that they are measured over.
    fn subjects(&self) -> Vec<Subject> {
        let own =
            self.works.iter().flat_map(|work| self.presets.iter().map(|preset| Subject::Own(*work, *preset)));
        own.chain(self.programs.iter().cloned().map(Subject::Command)).collect()
    }

    fn link_of(&self, subject: &Subject) -> LinkOptions {
        match subject {
            Subject::Own(work, _) if !work.is_far() => LinkOptions::default(),
            _ => self.link.clone(),
        }
    }
}

/// Files that are made up for the BLOBs.
const MADE_UP_FILES: u64 = 300;

/// What runs.
#[derive(Clone)]
enum Subject {
    Own(Work, Preset),
    Command(String),
}

impl Subject {
    fn shown(&self) -> String {
        match self {
            Subject::Own(work, preset) => format!("{}, {} client", work.name(), preset.name()),
            Subject::Command(command) => command.clone(),
        }
    }
}

/// What is written as JSON.
#[derive(Serialize)]
struct Findings {
    runs: Vec<FarFigure>,
    goals: Vec<far::Goal>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut watch = Watch::new()?;
    let plan = Plan::of(arguments);
    let stage = Stage::set(&arguments.targets, Databases::Used)?;
    let result = measure(&plan, &stage, &mut watch);
    let facts = stage.facts();
    watch.finish();
    let cleared = stage.clear();
    let runs = match result {
        Ok(runs) => runs,
        Err(error) if matches!(error.downcast_ref(), Some(Failure::Interrupted)) => {
            return ended(Failure::Interrupted, cleared);
        }
        Err(error) => {
            if let Err(error) = cleared {
                eprintln!("farbird: {error:#}");
            }
            return Err(error);
        }
    };
    cleared?;
    let goals = far::goals(&runs, &plan.link, &plan.sizes);
    let report = report::report(&plan, facts, &runs, &goals);
    show(&arguments.output, "far", &report, &Findings { runs, goals })?;
    Ok(ExitCode::SUCCESS)
}

fn measure(plan: &Plan, stage: &Stage, watch: &mut Watch) -> anyhow::Result<Vec<FarFigure>> {
    let mut figures = Vec::new();
    for actor in &stage.actors {
        let files = made_up_files(MADE_UP_FILES.min(blobs::table_rows(plan.sizes.blobs)) as usize);
        let has_blobs = tables::load(&actor.server, &plan.works, &plan.sizes, &files, watch)?;
        let subjects = plan.subjects();
        for (number, subject) in subjects.iter().enumerate() {
            watch.run(number + 1, subjects.len());
            measure_subject(plan, stage, actor, subject, watch, &mut figures)?;
        }
        tables::unload(&actor.server, has_blobs)?;
    }
    Ok(figures)
}

/// A program at the server over the link, and twice through a farlink that has never seen it.
fn measure_subject(
    plan: &Plan,
    stage: &Stage,
    actor: &Actor,
    subject: &Subject,
    watch: &mut Watch,
    figures: &mut Vec<FarFigure>,
) -> anyhow::Result<()> {
    let options = plan.link_of(subject);
    let shown = format!("{}: {}", actor.server.name, subject.shown());
    watch.begin(&format!("{shown}, without"), 0);
    let location = &actor.server.location;
    {
        let link = match options == LinkOptions::default() {
            true => None,
            false => {
                let found = (location.host.as_str(), location.port).to_socket_addrs()?.next();
                Some(Link::start(found.context("the host has no address")?, &options)?)
            }
        };
        let port = link.as_ref().map(|link| link.address().port());
        let server = port.map_or_else(|| actor.server.clone(), |port| near(&actor.server, port));
        let figure = one_run(plan, subject, &server, Way::Direct, link.as_ref(), None, watch);
        figures.push(figure.with_context(|| format!("{shown}, without"))?);
    }
    let knowledge = stage.own_server().filter(|_| actor.folder.is_some()).map(|own| {
        let known: Arc<dyn farbird_gateway::origin::Knowledge> = Arc::new(OwnKnowledge(own.farlink()));
        known
    });
    let before = Before {
        server: format!("{}:{}", bracketed(&location.host), location.port),
        knowledge,
        // A Firebird server in its default configuration takes nobody whose line is not encrypted.
        credentials: match actor.is_farbird {
            true => None,
            false => Credentials::new(&actor.server.user, &actor.server.password),
        },
        texts_show_purity: plan.texts_show_purity,
        deferred_prepare: plan.deferred_prepare,
        optimistic_writes: plan.optimistic_writes,
        transport: plan.transport.unwrap_or(match options == LinkOptions::default() {
            true => Transport::Tcp,
            false => Transport::Quic,
        }),
        folder: stage.folder(),
    };
    let site = Site::start(&before, &options)?;
    let server = near(&actor.server, site.port());
    for way in [Way::FirstRun, Way::SecondRun] {
        watch.begin(&format!("{shown}, {}", way.about()), 0);
        let figure = one_run(plan, subject, &server, way, site.link(), Some(&site), watch);
        match figure {
            Ok(figure) => figures.push(figure),
            Err(error) => {
                site.stop();
                return Err(error.context(format!("{shown}, {}", way.about())));
            }
        }
        // What was under way when the program ended arrives: nobody starts it again at once.
        std::thread::sleep(2 * options.round_trip() + SETTLING);
    }
    site.stop();
    Ok(())
}

const SETTLING: Duration = Duration::from_millis(100);

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The same server, as it is reached at this port of this machine.
fn near(server: &Server, port: u16) -> Server {
    let location = Location { host: "127.0.0.1".to_owned(), port, ..server.location.clone() };
    Server { location, ..server.clone() }
}

fn one_run(
    plan: &Plan,
    subject: &Subject,
    server: &Server,
    way: Way,
    link: Option<&Link>,
    site: Option<&Site>,
    watch: &mut Watch,
) -> anyhow::Result<FarFigure> {
    let before = site.map_or(0, Site::trips);
    let mut line = None;
    let mut started = || line = link.map(Line::watch);
    let (done, waits) = match subject {
        Subject::Own(work, preset) => {
            let done = far::run(server, *work, *preset, &plan.sizes, plan.patience, watch, &mut started)?;
            let waits = Some(done.waits);
            (done, waits)
        }
        Subject::Command(command) => {
            let begin = site.map(Site::now);
            started();
            let mut done = run_command(command, server)?;
            done.asked = site.zip(begin).map_or_else(Vec::new, |(site, begin)| site.asked_since(begin));
            (done, None)
        }
    };
    let (work, command, preset) = match subject {
        Subject::Own(work, preset) => (Some(*work), None, Some(*preset)),
        Subject::Command(command) => (None, Some(command.clone()), None),
    };
    let (line, bursts) = line.map(|line| line.figure(done.elapsed)).unzip();
    Ok(FarFigure {
        server: server.name.clone(),
        work,
        command,
        preset,
        way,
        round_trip_ms: link.map_or(0.0, |link| link.options().round_trip().as_secs_f64() * 1e3),
        elapsed_ms: done.elapsed.as_secs_f64() * 1e3,
        is_complete: done.share == 1.0,
        projected_ms: done.elapsed.as_secs_f64() * 1e3 / done.share,
        line,
        waits,
        // Without an edge every wait is for the other end.
        across: site.map(|site| site.trips() - before).or(waits),
        rows: done.rows,
        content_bytes: done.content_bytes,
        asked: done.asked,
        bursts: bursts.unwrap_or_default(),
    })
}

/// Runs a command to its end. What it prints goes to stderr.
fn run_command(command: &str, server: &Server) -> anyhow::Result<far::Done> {
    let begin = Instant::now();
    let status = Command::new("sh")
        .arg("-c")
        .arg(command.replace("{}", &server.address()))
        .env("ISC_USER", &server.user)
        .env("ISC_PASSWORD", &server.password)
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .with_context(|| format!("cannot run {command}"))?;
    if !status.success() {
        anyhow::bail!("{command}: {status}");
    }
    Ok(far::Done {
        elapsed: begin.elapsed(),
        share: 1.0,
        waits: 0,
        rows: 0,
        content_bytes: 0,
        asked: Vec::new(),
    })
}
