//! `farbird lab`: a long link on this machine, for any program.

use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use clap::Subcommand;
use farbird_lab::kernel::KernelLink;
use farbird_lab::link::{Link, LinkOptions, Passed, Rate, Share, parse_bytes, parse_delay};

use crate::output;

/// Try programs over a long link without leaving this machine.
///
/// A link has a delay, and if you like a bandwidth, losses and jitter. `lab proxy` is one inside this process: it needs
/// no root and runs everywhere. `lab link` leads through the kernel's own TCP: Linux, as root. Both give the same times.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run a command that sees this machine from afar (Linux, as root).
    Link(LinkArguments),
    /// Put a server of your choice far away: listen here, and carry to there.
    Proxy(ProxyArguments),
}

/// Run a command that sees this machine from afar, through the kernel's own TCP (Linux, as root).
///
/// While the command runs, an address of this machine leads to its own servers over the link: those that listen on
/// 127.0.0.1 or on all addresses. The command finds it as {} in its arguments and in FARBIRD_LINK_HOST. Other programs may
/// use it too. Nothing else changes, and nothing is left behind.
#[derive(clap::Args)]
#[command(after_help = LINK_EXAMPLES)]
struct LinkArguments {
    #[command(flatten)]
    path: PathArguments,

    /// The command; {} stands for the address.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const LINK_EXAMPLES: &str = "Examples:
  farbird lab link --rtt 200ms -- isql-fb -u SYSDBA {}:/tmp/app.fdb
  farbird lab link --rtt 12ms --rate 35mbit -- ./my-benchmark --host {}
  farbird lab link --rtt 40ms --up rate=5mbit --down rate=50mbit,loss=0.1% -- bash
  farbird lab link --rtt 200ms -- ping -c 3 {}";

/// Put a server far away: clients that connect here reach it over the link.
///
/// The link is a model inside this process; it needs no root and runs on every system. Ctrl-C ends it and prints what
/// has passed.
#[derive(clap::Args)]
#[command(after_help = PROXY_EXAMPLES)]
struct ProxyArguments {
    #[command(flatten)]
    path: PathArguments,

    /// Where clients connect to. Port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3060")]
    listen: SocketAddr,

    /// The server.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3050")]
    to: String,

    /// At the end, write what went when into this file: a line of JSON for each burst of bytes, with its times in
    /// milliseconds since the start.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
}

const PROXY_EXAMPLES: &str = "Examples:
  farbird lab proxy --rtt 200ms                          clients use localhost/3060 in place of localhost/3050
  farbird lab proxy --rtt 12ms --rate 35mbit --to db.example.com:3050
  farbird lab proxy --rtt 80ms --jitter 20ms --loss 1% --timeline bursts.jsonl";

/// What the link is like.
#[derive(clap::Args)]
struct PathArguments {
    /// Delay there and back: 200ms, 1.5s, 250us. Amsterdam to New York is 80ms, to Sydney 250ms.
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = parse_delay)]
    rtt: Duration,

    /// Bandwidth of each direction: 35mbit, 1gbit, 512kbit. Without it there is no limit.
    #[arg(long, value_name = "BITS")]
    rate: Option<Rate>,

    /// How many segments of TCP are lost: 1%, 0.1%.
    #[arg(long, value_name = "PERCENT")]
    loss: Option<Share>,

    /// How late a burst may be, by chance: 5ms. None overtakes another.
    #[arg(long, value_name = "TIME", value_parser = parse_delay)]
    jitter: Option<Duration>,

    /// How much may wait for a line that is busy: 256kb, 4mb. Beyond it `link` drops packets, as routers do; `proxy` lets
    /// the sender wait.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    queue: Option<usize>,

    /// From client to server only: delay, rate, loss, jitter or queue, as rate=5mbit,loss=1%.
    #[arg(long, value_name = "OPTIONS")]
    up: Option<String>,

    /// From server to client only, in the same form.
    #[arg(long, value_name = "OPTIONS")]
    down: Option<String>,

    /// Chooses what is lost and what is late: the same number, the same bytes.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

impl PathArguments {
    fn options(&self) -> anyhow::Result<LinkOptions> {
        let mut options = LinkOptions::with_round_trip(self.rtt).with_rate(self.rate);
        options.seed = self.seed;
        options.both(|path| {
            path.loss = self.loss.unwrap_or(path.loss);
            path.jitter = self.jitter.unwrap_or(path.jitter);
            path.queue = self.queue.unwrap_or(path.queue);
        });
        options.up.change(self.up.as_deref().unwrap_or_default()).context("--up")?;
        options.down.change(self.down.as_deref().unwrap_or_default()).context("--down")?;
        Ok(options)
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.what {
        What::Link(arguments) => link(arguments),
        What::Proxy(arguments) => proxy(arguments),
    }
}

fn link(arguments: &LinkArguments) -> anyhow::Result<ExitCode> {
    let options = arguments.path.options()?;
    let link = KernelLink::start(&options)
        .context("no link through the kernel (`farbird lab proxy` needs no root)")?;
    let host = link.host().to_string();
    eprintln!("this machine is {host} from afar: {options}");
    let words: Vec<String> = arguments.command.iter().map(|word| word.replace("{}", &host)).collect();
    let (program, rest) = words.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(rest).env("FARBIRD_LINK_HOST", &host);
    let status = run_to_its_end(&mut command).with_context(|| format!("cannot run {program}"))?;
    let traffic = link.traffic();
    eprintln!("{}", summary("up", &traffic.up, "packets"));
    eprintln!("{}", summary("down", &traffic.down, "packets"));
    // A command that a signal has ended has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(2)))
}

/// Runs a command, whatever Ctrl-C does to it; SIGTERM ends it.
fn run_to_its_end(command: &mut Command) -> anyhow::Result<ExitStatus> {
    const PATIENCE: Duration = Duration::from_millis(20);
    let is_terminated = Arc::new(AtomicBool::new(false));
    watch_for_signals(Arc::clone(&is_terminated))?;
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if is_terminated.load(Ordering::Acquire) {
            child.kill()?;
        }
        thread::sleep(PATIENCE);
    }
}

/// Ctrl-C goes to the command, too, which knows better what to do.
fn watch_for_signals(is_terminated: Arc<AtomicBool>) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = runtime()?;
    let (mut terminate, mut interrupt) = {
        let _inside = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = terminate.recv() => is_terminated.store(true, Ordering::Release),
                    _ = interrupt.recv() => {}
                }
            }
        });
    });
    Ok(())
}

fn proxy(arguments: &ProxyArguments) -> anyhow::Result<ExitCode> {
    let options = arguments.path.options()?;
    let target = arguments
        .to
        .to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next())
        .with_context(|| format!("{} is no HOST:PORT that is known", arguments.to))?;
    let link = Link::listen(arguments.listen, target, &options)
        .with_context(|| format!("cannot listen on {}", arguments.listen))?;
    output::answer_line(&format!("{} leads to {}: {options}; Ctrl-C ends it", link.address(), arguments.to))?;
    runtime()?.block_on(crate::serve::shutdown_signal())?;
    let traffic = link.traffic();
    eprintln!("{} connections", traffic.connections);
    eprintln!("{}", summary("up", &traffic.up, "segments"));
    eprintln!("{}", summary("down", &traffic.down, "segments"));
    if let Some(file) = &arguments.timeline {
        write_timeline(&link, file).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_timeline(link: &Link, file: &std::path::Path) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    for burst in link.take_timeline() {
        writeln!(out, "{}", serde_json::to_string(&burst)?)?;
    }
    Ok(out.flush()?)
}

fn summary(direction: &str, passed: &Passed, unit: &str) -> String {
    let lost = if passed.lost > 0 { format!(", {} of them lost", passed.lost) } else { String::new() };
    format!("{direction}: {} bytes in {} {unit}{lost}", passed.bytes, passed.segments)
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot watch for signals")
}
