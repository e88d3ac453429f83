//! Starting, accepting, stopping.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_engine::engine::Engine;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::arrival::Arrival;
use crate::auxiliary::EventsPort;
use crate::backups;
use crate::config::Config;
use crate::connection;
use crate::external_callers::ExternalCallers;
use crate::farlink::{Farlink, OriginConnection};
use crate::location::Locations;
use crate::metrics;
use crate::security::{FirstStart, SecurityDatabase};
use crate::service::RunningServices;
use crate::session::waiting::WaitingThreads;
pub(crate) use crate::shared::Shared;
use crate::throttle::Throttle;

/// Logins that are computed at a time: each costs a few milliseconds of arithmetic on big numbers.
const LOGINS_AT_ONCE: usize = 4;

/// A running server.
pub struct Server {
    local_address: SocketAddr,
    farlink: Farlink,
    external_callers: Arc<ExternalCallers>,
    observer: Observer,
    stop: watch::Sender<bool>,
    accepting: tokio::task::JoinHandle<()>,
}

/// Tells how a server is, for as long as anybody asks; it knows nothing about users, so who asks must be one who may know.
#[derive(Clone)]
pub struct Observer {
    shared: Arc<Shared>,
}

impl Observer {
    /// Metrics in the text that Prometheus reads.
    pub fn metrics(&self) -> String {
        metrics::text(&self.shared)
    }

    /// The names by which clients may attach to databases that are open, in order. The server's own is left out.
    pub fn open_databases(&self) -> Vec<String> {
        let open = self.shared.engine.open_databases();
        let mut names: Vec<String> =
            open.iter().filter_map(|(path, _)| self.shared.locations.name_of(path)).collect();
        names.sort();
        names
    }

    /// How long it has been running.
    pub fn uptime(&self) -> Duration {
        self.shared.started.elapsed()
    }
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder cannot be made or read.
    #[error("cannot use the data folder {path}")]
    Data {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The security database cannot be opened or made.
    #[error("cannot open the security database in {path}: {source}")]
    Security {
        /// The data folder.
        path: PathBuf,
        /// Why.
        source: farbird_types::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}; is another server running there?")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

impl Server {
    /// Makes or opens the data folder and starts to listen, with an engine of its own. `password` is SYSDBA's, for the
    /// first start.
    ///
    /// # Errors
    /// [`StartError`], naming the folder or the address.
    pub async fn start(
        config: Config,
        password: Option<String>,
    ) -> Result<(Server, Option<FirstStart>), StartError> {
        let engine = config.engine();
        Server::start_on(engine, config, password).await
    }

    /// As [`Server::start`], over an engine that others use too: a program serves the databases that it works with. How it
    /// opens stores and how much its statements may take is the engine's own affair.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_on(
        engine: Arc<Engine>,
        config: Config,
        password: Option<String>,
    ) -> Result<(Server, Option<FirstStart>), StartError> {
        let data_error = |source| StartError::Data { path: config.data.clone(), source };
        std::fs::create_dir_all(&config.data).map_err(data_error)?;
        let locations = Locations::new(&config).map_err(data_error)?;
        let (security, first_start) = {
            let (engine, folder) = (Arc::clone(&engine), locations.data().to_owned());
            let legacy = config.authentication.contains(&farbird_wire::auth::AuthPlugin::Legacy);
            SecurityDatabase::open(engine, &folder, legacy, password)
                .map_err(|source| StartError::Security { path: folder, source })?
        };
        let listener = TcpListener::bind(config.listen)
            .await
            .map_err(|source| StartError::Listen { address: config.listen, source })?;
        let local_address =
            listener.local_addr().map_err(|source| StartError::Listen { address: config.listen, source })?;
        let (stop, stopping) = watch::channel(false);
        let events_port =
            EventsPort::new(config.events_port, near(local_address), config.login_timeout, stopping.clone());
        let shared = Arc::new(Shared {
            config,
            engine,
            locations: Arc::new(locations),
            security: Arc::new(security),
            throttle: Throttle::default(),
            farlink: Arc::default(),
            external_callers: Arc::default(),
            login_work: Arc::new(Semaphore::new(LOGINS_AT_ONCE)),
            events_port,
            waiting_threads: WaitingThreads::new(),
            services: RunningServices::new(),
            counts: Arc::default(),
            started: Instant::now(),
            stopping,
        });
        if !shared.config.backups.is_empty() {
            tokio::spawn(backups::run(Arc::clone(&shared)));
        }
        let observer = Observer { shared: Arc::clone(&shared) };
        let (desk, security) = (Arc::clone(&shared.farlink), Arc::clone(&shared.security));
        let (engine, locations) = (Arc::clone(&shared.engine), Arc::clone(&shared.locations));
        let (origins, from_origins) = unbounded_channel();
        let farlink = Farlink::new(origins, desk, security, engine, locations);
        let external_callers = Arc::clone(&shared.external_callers);
        shared.engine.set_lingers(true);
        let accepting = tokio::spawn(accept(listener, near(local_address), from_origins, shared));
        let server = Server { local_address, farlink, external_callers, observer, stop, accepting };
        Ok((server, first_start))
    }

    /// Where it listens: of use when port 0 was asked for.
    pub fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    /// Where programs on this machine reach it.
    pub fn near_address(&self) -> SocketAddr {
        near(self.local_address)
    }

    /// For an origin of a farlink in this process.
    pub fn farlink(&self) -> Farlink {
        self.farlink.clone()
    }

    /// For EXECUTE STATEMENT in this process, when it connects to this server.
    pub fn external_callers(&self) -> Arc<ExternalCallers> {
        Arc::clone(&self.external_callers)
    }

    /// For those who watch it.
    pub fn observer(&self) -> Observer {
        self.observer.clone()
    }

    /// Stops: no new connections; running statements, backups and restores may finish within the grace time, then they are cancelled;
    /// everything that is not committed is rolled back and the databases are closed.
    pub async fn shutdown(self) {
        tracing::info!("shutting down");
        // Nobody listening any more is as good as told.
        let _ = self.stop.send(true);
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the accept loop broke");
        }
        tracing::info!("stopped");
    }
}

/// Accepts until told to stop, then waits for the connections to end.
async fn accept(
    listener: TcpListener,
    own: SocketAddr,
    mut from_origins: UnboundedReceiver<OriginConnection>,
    shared: Arc<Shared>,
) {
    let mut stopping = shared.stopping.clone();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => match Arrival::from_network(stream, peer) {
                    Ok(arrival) => admit(&mut connections, &shared, arrival),
                    Err(error) => tracing::error!(%peer, %error, "a connection cannot be taken"),
                },
                Err(error) => {
                    // Usually out of file descriptors: wait for some to come back instead of spinning.
                    tracing::error!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(connection) = from_origins.recv() => {
                admit(&mut connections, &shared, Arrival::from_origin(connection, own));
            }
            Some(ended) = connections.join_next() => {
                shared.counts.connections_ended.count();
                report(ended);
            }
            _ = stopping.changed() => break,
        }
    }
    drop((listener, from_origins));
    // At the same time: a connection may wait for its service.
    let join_connections = async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    };
    tokio::join!(shared.services.stop(shared.config.shutdown_grace), join_connections);
    // What a connection has started last.
    shared.services.stop(Duration::ZERO).await;
    shared.engine.set_lingers(false);
}

fn admit(connections: &mut JoinSet<()>, shared: &Arc<Shared>, arrival: Arrival) {
    let peer = arrival.peer;
    if connections.len() >= shared.config.connections_max {
        tracing::warn!(%peer, limit = shared.config.connections_max, "connection refused: too many");
        shared.counts.connections_refused.count();
        return;
    }
    shared.counts.connections.count();
    connections.spawn(connection::serve(arrival, Arc::clone(shared)));
}

/// Where programs on this machine reach a server that listens there.
fn near(mut local: SocketAddr) -> SocketAddr {
    if local.ip().is_unspecified() {
        local.set_ip(if local.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    local
}

/// A panic in one connection is a defect of ours, and that connection's end only.
fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection broke");
    }
}
