//! What all connections, services and the server's own work share.

use std::sync::Arc;
use std::time::Instant;

use farbird_engine::engine::Engine;
use tokio::sync::{Semaphore, watch};

use crate::auxiliary::EventsPort;
use crate::config::Config;
use crate::counts::Counts;
use crate::external_callers::ExternalCallers;
use crate::farlink::Desk;
use crate::location::Locations;
use crate::security::SecurityDatabase;
use crate::service::RunningServices;
use crate::session::waiting::WaitingThreads;
use crate::throttle::Throttle;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) engine: Arc<Engine>,
    pub(crate) locations: Arc<Locations>,
    pub(crate) security: Arc<SecurityDatabase>,
    pub(crate) throttle: Throttle,
    /// Logins that were prepared for origins of farlinks in this process.
    pub(crate) farlink: Arc<Desk>,
    /// What EXECUTE STATEMENT in this process says of its connections.
    pub(crate) external_callers: Arc<ExternalCallers>,
    pub(crate) login_work: Arc<Semaphore>,
    /// Where clients make their second connections.
    pub(crate) events_port: EventsPort,
    /// Threads that wait for their clients' next requests.
    pub(crate) waiting_threads: WaitingThreads,
    /// Backups and restores that run.
    pub(crate) services: RunningServices,
    /// What it has done since its start.
    pub(crate) counts: Arc<Counts>,
    /// When it was started.
    pub(crate) started: Instant,
    /// Turns true when the server is asked to stop.
    pub(crate) stopping: watch::Receiver<bool>,
}
