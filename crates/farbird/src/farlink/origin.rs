//! `farbird origin`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use farbird_gateway::origin::{Origin, OriginOptions};
use farbird_gateway::settings::{OriginSettings, StatusAddress};

use super::{Asked, Signals, runtime};

/// Let distant programs come near to a Firebird server that knows nothing of it.
///
/// Stands beside an unmodified Firebird 2.5 to 5 server; its other end is `farbird edge`, beside
/// the programs. (A Farbird server needs no origin: `farbird serve --farlink ADDR` is one, and can
/// do more.)
///
/// Set up, once:
///   here:   farbird pair                     prints a line
///   there:  farbird pair LINE                takes it, and prints another
///   here:   farbird pair LINE                takes that
///   here:   farbird origin --server localhost
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Arguments {
    /// The Firebird server [default port: 3050].
    #[arg(long, env = "FARBIRD_ORIGIN_SERVER", value_name = "HOST[:PORT]")]
    server: Option<String>,
    /// Where edges connect, by UDP and TCP; only those that are paired get in [default: 0.0.0.0:3052].
    #[arg(long, env = "FARBIRD_ORIGIN_LISTEN", value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// Where to serve a page that shows its edges, and /metrics for Prometheus: a port (of this machine only) or an address.
    #[arg(long, env = "FARBIRD_ORIGIN_STATUS", value_name = "[ADDR:]PORT")]
    status: Option<StatusAddress>,
    /// Folder of the keys, as `farbird pair` makes it [default: ./farbird-farlink].
    #[arg(long, env = "FARBIRD_FARLINK_KEYS", value_name = "DIR")]
    keys: Option<PathBuf>,
    /// File of users' passwords (TOML, readable for its owner only), before a server that wants the line encrypted: as these users the
    /// origin logs in itself, and their programs prove the password to it.
    #[arg(long, env = "FARBIRD_ORIGIN_CREDENTIALS", value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// Settings file (TOML; see docs/farlink.md). SIGHUP reads it again.
    #[arg(long, env = "FARBIRD_ORIGIN_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Arguments {
    fn settings(&self) -> anyhow::Result<OriginSettings> {
        let over = OriginSettings {
            listen: self.listen,
            server: self.server.clone(),
            keys: self.keys.clone(),
            status: self.status,
            credentials: self.credentials.clone(),
            ..OriginSettings::default()
        };
        Ok(OriginSettings::load(self.config.as_deref(), over)?)
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let settings = arguments.settings()?;
    crate::serve::begin_log();
    runtime(settings.threads()?)?.block_on(serve(arguments, &settings))
}

fn reloaded(arguments: &Arguments) -> anyhow::Result<OriginOptions> {
    Ok(arguments.settings()?.options(None)?)
}

async fn serve(arguments: &Arguments, settings: &OriginSettings) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::new()?;
    let options = settings.options(None)?;
    let server = options.server.clone();
    let origin = Origin::start(options).await?;
    writeln!(std::io::stdout(), "farbird origin listens on {}, server {server}", origin.address())?;
    if let Some(address) = origin.status_address() {
        writeln!(std::io::stdout(), "status at http://{address}/")?;
    }
    tracing::info!(
        "before a Firebird server: no commit notices; where it demands encryption, logins of those only whose passwords are in the \
         file of credentials"
    );
    while matches!(signals.next().await, Asked::Reload) {
        match reloaded(arguments) {
            Ok(options) => {
                for setting in origin.reload(&options) {
                    tracing::warn!("`{setting}` is another one now: that takes a new start");
                }
                tracing::info!("read settings and trusted ends again");
            }
            Err(error) => tracing::error!("goes on with the settings that it has: {error:#}"),
        }
    }
    tracing::info!("shuts down; once more to do so without waiting for programs");
    tokio::select! {
        () = origin.shutdown() => {}
        () = signals.stop() => {}
    }
    Ok(ExitCode::SUCCESS)
}
