//! `farbird edge`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use farbird_gateway::edge::{Edge, EdgeOptions};
use farbird_gateway::settings::{EdgeSettings, StatusAddress};
use farbird_gateway::transport::Transport;

use super::{Asked, Signals, runtime};

/// Bring a distant server near: programs connect here as if it were the server.
///
/// Stands beside the programs. Its other end is `farbird serve --farlink` or `farbird origin`,
/// beside the server; between them is one warm, encrypted connection. Programs and drivers stay as
/// they are: give them this machine's name in place of the server's.
///
/// Set up, once:
///   here:   farbird pair                     prints a line
///   there:  farbird pair LINE                takes it, and prints another
///   here:   farbird pair LINE                takes that
///   here:   farbird edge --origin HOST
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Arguments {
    /// Where the other end is [default port: 3052].
    #[arg(long, env = "FARBIRD_EDGE_ORIGIN", value_name = "HOST[:PORT]")]
    origin: Option<String>,
    /// Where programs connect [default: 127.0.0.1:3050, this machine only].
    #[arg(long, env = "FARBIRD_EDGE_LISTEN", value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// By what the other end is reached [default: auto].
    #[arg(long, env = "FARBIRD_EDGE_TRANSPORT", value_name = "HOW")]
    transport: Option<By>,
    /// Before a Firebird server: believe the texts of queries instead of looking up what they name.
    ///
    /// A Firebird server does not tell what a query does: SELECT * FROM P reads a table, or calls a procedure that writes. Give this
    /// option only if no procedure that can be selected from without parameters, and no view or computed column, changes anything, and
    /// no triggers run on transactions; otherwise procedures may run that no program has called. A Farbird server tells, and needs no
    /// such word.
    #[arg(long)]
    texts_show_purity: bool,
    /// Describe statements from their texts alone where these tell how, and prepare them when they are executed.
    ///
    /// A mistake in such a statement is then told when it is executed, not when it is prepared. See docs/farlink.md for which statements.
    #[arg(long, env = "FARBIRD_EDGE_DEFERRED_PREPARE", value_parser = BoolishValueParser::new())]
    deferred_prepare: bool,
    /// Answer INSERT, UPDATE and DELETE before they are done.
    ///
    /// The first one that fails fails what its transaction asks for next, and its commit: nothing of the transaction is kept. Give this
    /// option only for programs that roll back when anything fails; one that goes on after an error of a single statement, as after a
    /// duplicate key, does something else then. See docs/farlink.md.
    #[arg(long, env = "FARBIRD_EDGE_OPTIMISTIC_WRITES", value_parser = BoolishValueParser::new())]
    optimistic_writes: bool,
    /// Where to serve a page that shows what it does, and /metrics for Prometheus: a port (of this machine only) or an address. It shows
    /// statements: for your eyes.
    #[arg(long, env = "FARBIRD_EDGE_STATUS", value_name = "[ADDR:]PORT")]
    status: Option<StatusAddress>,
    /// Folder of the keys, as `farbird pair` makes it [default: ./farbird-farlink].
    #[arg(long, env = "FARBIRD_FARLINK_KEYS", value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Settings file (TOML; see docs/farlink.md). SIGHUP reads it again.
    #[arg(long, env = "FARBIRD_EDGE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

/// By what an edge reaches its origin, as chosen on the command line.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum By {
    /// QUIC, or TCP where UDP does not pass.
    Auto,
    /// QUIC only.
    Quic,
    /// TLS over TCP only.
    Tcp,
}

impl By {
    pub(crate) fn transport(self) -> Transport {
        match self {
            By::Auto => Transport::Auto,
            By::Quic => Transport::Quic,
            By::Tcp => Transport::Tcp,
        }
    }
}

impl Arguments {
    fn settings(&self) -> anyhow::Result<EdgeSettings> {
        let over = EdgeSettings {
            origin: self.origin.clone(),
            listen: self.listen,
            transport: self.transport.map(By::transport),
            keys: self.keys.clone(),
            status: self.status,
            deferred_prepare: self.deferred_prepare.then_some(true),
            optimistic_writes: self.optimistic_writes.then_some(true),
            texts_show_purity: self.texts_show_purity.then_some(true),
            ..EdgeSettings::default()
        };
        Ok(EdgeSettings::load(self.config.as_deref(), over)?)
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let settings = arguments.settings()?;
    crate::serve::begin_log();
    runtime(settings.threads()?)?.block_on(serve(arguments, &settings))
}

fn reloaded(arguments: &Arguments) -> anyhow::Result<EdgeOptions> {
    Ok(arguments.settings()?.options()?)
}

async fn serve(arguments: &Arguments, settings: &EdgeSettings) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::new()?;
    let options = settings.options()?;
    let origin = options.origin.clone();
    let edge = Edge::start(options).await?;
    writeln!(std::io::stdout(), "farbird edge listens on {}, origin {origin}", edge.address())?;
    if let Some(address) = edge.status_address() {
        writeln!(std::io::stdout(), "status at http://{address}/")?;
    }
    while matches!(signals.next().await, Asked::Reload) {
        match reloaded(arguments) {
            Ok(options) => {
                for setting in edge.reload(&options) {
                    tracing::warn!("`{setting}` is another one now: that takes a new start");
                }
                tracing::info!("read settings and trusted ends again");
            }
            Err(error) => tracing::error!("goes on with the settings that it has: {error:#}"),
        }
    }
    tracing::info!("shuts down; once more to do so without waiting for programs");
    tokio::select! {
        () = edge.shutdown() => {}
        () = signals.stop() => {}
    }
    Ok(ExitCode::SUCCESS)
}
