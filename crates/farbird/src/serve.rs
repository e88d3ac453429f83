//! `farbird serve`: settings, the password of the first start, log, signals.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, ValueEnum};
use farbird_gateway::origin::{Origin, OriginOptions};
use farbird_gateway::settings::{OriginSettings, StatusAddress};
use farbird_server::config::{Config, DatabaseAccess, LimitSettings, Overrides};
use farbird_server::{FirstStart, Server};
use tokio::runtime::Handle;
use tracing_subscriber::EnvFilter;

use crate::external::External;
use crate::farlink::knowledge::OwnServer;
use crate::farlink::{self, Asked, Signals};
use crate::status;

/// Environment variable with SYSDBA's password for the first start.
const PASSWORD_VARIABLE: &str = "FARBIRD_SYSDBA_PASSWORD";

/// Threads for calls into the engine beside one per connection. A call that waits for a lock occupies its thread: if they
/// ran out, the holder's commit could not run. Threads are made only when needed.
const ENGINE_THREADS_SPARE: usize = 64;

/// Serve databases to Firebird drivers.
///
/// The first start makes the data folder and the user SYSDBA. Its password is taken from FARBIRD_SYSDBA_PASSWORD, or
/// generated and printed once.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Address to listen on [default: 127.0.0.1:3050].
    #[arg(long, env = "FARBIRD_LISTEN", value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// Folder of the databases and of the server's users [default: ./farbird-data].
    #[arg(long, env = "FARBIRD_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where clients may create and open databases [default: restrict].
    #[arg(long, value_name = "WHERE")]
    database_access: Option<Access>,
    /// Memory for pages of each open database, in MiB, at least 8 [default: 128].
    #[arg(long, value_name = "MIB")]
    database_cache_mib: Option<u32>,
    /// Memory that one statement may take, in MiB; 0: no limit [default: 256].
    #[arg(long, value_name = "MIB")]
    statement_memory_mib: Option<u64>,
    /// Memory that all statements together may take, in MiB; 0: no limit [default: 2048].
    #[arg(long, value_name = "MIB")]
    server_memory_mib: Option<u64>,
    /// Temporary space that one statement may take, in MiB; 0: no limit [default: 8192].
    #[arg(long, value_name = "MIB")]
    statement_temporary_mib: Option<u64>,
    /// Temporary space that all statements together may take, in MiB; 0: no limit [default: 32768].
    #[arg(long, value_name = "MIB")]
    server_temporary_mib: Option<u64>,
    /// Folder of temporary files [default: the system's, as TMPDIR says].
    #[arg(long, env = "FARBIRD_TEMPORARY_FOLDER", value_name = "DIR")]
    temporary_folder: Option<PathBuf>,
    /// Threads that one statement may use, its own included; 0: as many as there are processors [default: 0].
    #[arg(long, value_name = "COUNT")]
    parallel_workers: Option<usize>,
    /// Where to serve a page that shows what goes on, and /metrics for Prometheus: a port (of this machine only) or an address.
    #[arg(long, env = "FARBIRD_STATUS", value_name = "[ADDR:]PORT")]
    status: Option<StatusAddress>,
    /// Settings file (TOML; see docs/configuration.md).
    #[arg(long, env = "FARBIRD_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Be the origin of a farlink too: where edges connect, by UDP and TCP (docs/farlink.md). Only those that are paired get in.
    #[arg(long, env = "FARBIRD_FARLINK", value_name = "ADDR:PORT")]
    farlink: Option<SocketAddr>,
    /// Folder of the farlink's keys, as `farbird pair` makes it [default: ./farbird-farlink].
    #[arg(long, env = "FARBIRD_FARLINK_KEYS", value_name = "DIR", requires = "farlink")]
    farlink_keys: Option<PathBuf>,
    /// Where to serve a page that shows the farlink's edges, and /metrics for Prometheus: a port (of this machine only) or an address.
    #[arg(long, env = "FARBIRD_ORIGIN_STATUS", value_name = "[ADDR:]PORT", requires = "farlink")]
    farlink_status: Option<StatusAddress>,
    /// Settings file of the origin (TOML; see docs/farlink.md). SIGHUP reads it again.
    #[arg(long, env = "FARBIRD_ORIGIN_CONFIG", value_name = "FILE", requires = "farlink")]
    farlink_config: Option<PathBuf>,
}

impl Arguments {
    /// The settings of the origin, if there is to be one.
    fn origin(&self) -> anyhow::Result<Option<OriginSettings>> {
        let Some(listen) = self.farlink else { return Ok(None) };
        let over = OriginSettings {
            listen: Some(listen),
            keys: self.farlink_keys.clone(),
            status: self.farlink_status,
            ..OriginSettings::default()
        };
        Ok(Some(OriginSettings::load(self.farlink_config.as_deref(), over)?))
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Access {
    /// Only in the data folder, and what the settings file's aliases name.
    Restrict,
    /// Anywhere that this user may read and write.
    Full,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let overrides = Overrides {
        listen: arguments.listen,
        data: arguments.data.clone(),
        database_access: arguments.database_access.map(|access| match access {
            Access::Restrict => DatabaseAccess::Restrict,
            Access::Full => DatabaseAccess::Full,
        }),
        database_cache_mib: arguments.database_cache_mib,
        status: arguments.status,
        limits: LimitSettings {
            statement_memory_mib: arguments.statement_memory_mib,
            server_memory_mib: arguments.server_memory_mib,
            statement_temporary_mib: arguments.statement_temporary_mib,
            server_temporary_mib: arguments.server_temporary_mib,
            temporary_folder: arguments.temporary_folder.clone(),
            parallel_workers: arguments.parallel_workers,
        },
    };
    let config = Config::load(arguments.config.as_deref(), overrides)?;
    let origin = arguments.origin()?;
    begin_log();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(config.connections_max + ENGINE_THREADS_SPARE)
        .build()
        .context("cannot start the runtime")?;
    // The farlink has threads of its own, so that none of the server's stands between two of its steps.
    let origin = match origin {
        Some(settings) => Some((farlink::runtime(settings.threads()?)?, settings)),
        None => None,
    };
    let origin = origin.as_ref().map(|(runtime, settings)| (runtime.handle(), settings.clone()));
    runtime.block_on(serve(config, origin, arguments))
}

/// Begins the log: to standard error, as `FARBIRD_LOG` says.
pub(crate) fn begin_log() {
    let filter = EnvFilter::try_from_env("FARBIRD_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}

async fn serve(
    config: Config,
    origin: Option<(&Handle, OriginSettings)>,
    arguments: &Arguments,
) -> anyhow::Result<ExitCode> {
    let password = std::env::var(PASSWORD_VARIABLE).ok().filter(|password| !password.is_empty());
    let data = config.data.clone();
    let status = config.status.map(|address| (address, config.status_names.clone()));
    let (engine, external) = (config.engine(), Arc::new(External::new(&config)));
    engine.set_external_sources(Arc::<External>::clone(&external));
    let (server, first_start) = Server::start_on(engine, config, password).await?;
    external.serves(&server);
    announce(&server, &data, first_start)?;
    if let Some((address, names)) = status {
        let address = status::serve(address, names, &server).await?;
        writeln!(std::io::stdout(), "its status at http://{address}/")?;
    }
    let origin = match origin {
        Some((runtime, settings)) => Some(start_origin(runtime, &server, settings).await?),
        None => None,
    };
    match &origin {
        Some(origin) => reload_until_end(&server, origin, arguments).await?,
        None => shutdown_signal().await?,
    }
    if let Some(origin) = origin {
        origin.shutdown().await;
    }
    server.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

/// Until the server is to end. SIGHUP: the origin's settings are read again.
async fn reload_until_end(server: &Server, origin: &Origin, arguments: &Arguments) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    while matches!(signals.next().await, Asked::Reload) {
        let options =
            arguments.origin().and_then(|settings| origin_options(server, settings.unwrap_or_default()));
        match options {
            Ok(options) => {
                for setting in origin.reload(&options) {
                    tracing::warn!("`{setting}` is another one now: that takes a new start");
                }
                tracing::info!("read the farlink's settings and trusted ends again");
            }
            Err(error) => tracing::error!("goes on with the settings that it has: {error:#}"),
        }
    }
    Ok(())
}

/// Starts the origin of a farlink before the server.
async fn start_origin(runtime: &Handle, server: &Server, settings: OriginSettings) -> anyhow::Result<Origin> {
    let origin = runtime.spawn(Origin::start(origin_options(server, settings)?)).await??;
    writeln!(std::io::stdout(), "its farlink listens on {}", origin.address())?;
    if let Some(address) = origin.status_address() {
        writeln!(std::io::stdout(), "its farlink's status at http://{address}/")?;
    }
    Ok(origin)
}

/// What the origin before this server is to do.
fn origin_options(server: &Server, settings: OriginSettings) -> anyhow::Result<OriginOptions> {
    let settings = OriginSettings { server: Some(server.near_address().to_string()), ..settings };
    Ok(settings.options(Some(Arc::new(OwnServer(server.farlink()))))?)
}

/// Says where the server listens and, once, the generated password.
fn announce(server: &Server, data: &std::path::Path, first_start: Option<FirstStart>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "farbird {} listens on {}, databases in {}",
        env!("CARGO_PKG_VERSION"),
        server.local_address(),
        data.display()
    )?;
    if let Some(FirstStart { generated_password: Some(password) }) = first_start {
        writeln!(
            out,
            "first start: user SYSDBA, password {password} (shown only now; change it with ALTER USER)"
        )?;
    }
    out.flush()?;
    Ok(())
}

/// Waits for SIGTERM or SIGINT.
pub(crate) async fn shutdown_signal() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
