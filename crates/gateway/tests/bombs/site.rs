//! Edge, origin and server in this process, and an honest program.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_farlink::edge::Limits;
use farbird_farlink::link::Settings;
use farbird_farlink::origin::Limits as ConversationLimits;
use farbird_gateway::edge::{Edge, EdgeOptions};
use farbird_gateway::origin::{Origin, OriginOptions};
use farbird_gateway::pairing::Keys;
use farbird_gateway::transport::Transport;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::common::{Client, Login, TestServer};
use crate::{ANYWHERE, PATIENCE};

pub(crate) const DATABASE: &str = "bombs.fbd";

pub(crate) struct Site {
    pub(crate) runtime: Runtime,
    pub(crate) server: TestServer,
    pub(crate) edge: Edge,
    pub(crate) origin: Origin,
    pub(crate) keys: TempDir,
}

pub(crate) fn keys(folder: &Path, name: &str) -> Keys {
    Keys::open_or_create(&folder.join(name), Some(name)).unwrap()
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn edge_options(origin: SocketAddr, keys: Keys, folder: &Path) -> EdgeOptions {
    EdgeOptions {
        listen: ANYWHERE,
        origin: origin.to_string(),
        transport: Transport::Tcp,
        keys,
        programs_max: 1_000,
        threads: 1,
        transaction_grace: Duration::from_secs(30),
        shutdown_grace: Duration::ZERO,
        status: None,
        status_names: Vec::new(),
        rules: folder.join("rules"),
        rules_saved_every: Duration::from_secs(600),
        link: Settings::default(),
        limits: Limits::default(),
        spill_folder: Some(folder.to_owned()),
    }
}

impl Site {
    pub(crate) fn start() -> Site {
        let server = TestServer::start();
        let folder = tempfile::tempdir().unwrap();
        let [near, far, foe] = ["near", "far", "foe"].map(|name| keys(folder.path(), name));
        for (one, other) in [(&near, &far), (&far, &near), (&foe, &far), (&far, &foe)] {
            one.trust(&other.line(), None).unwrap();
        }
        let runtime = runtime();
        let options = OriginOptions {
            listen: ANYWHERE,
            server: server.address.to_string(),
            keys: far,
            sessions_max: 10,
            programs_max: 1_000,
            threads: 1,
            transaction_grace: Duration::from_secs(30),
            shutdown_grace: Duration::ZERO,
            link: Settings::default(),
            limits: ConversationLimits::default(),
            knowledge: None,
            credentials: Arc::default(),
            status: None,
            status_names: Vec::new(),
        };
        let origin = runtime.block_on(Origin::start(options)).unwrap();
        let edge =
            runtime.block_on(Edge::start(edge_options(origin.address(), near, folder.path()))).unwrap();
        let site = Site { runtime, server, edge, origin, keys: folder };
        let mut first = site.server.create(DATABASE);
        first.run("create table t (id integer, name varchar(200))");
        site
    }

    /// Both ways to the server.
    pub(crate) fn ways(&self) -> [(&'static str, SocketAddr); 2] {
        [("edge", self.edge.address()), ("server", self.server.address)]
    }

    /// An honest program goes on, by both ways.
    pub(crate) fn works(&self) {
        for (_, address) in self.ways() {
            let mut program = Client::log_in(address, &Login::default()).unwrap();
            program.attach(DATABASE, &[]).unwrap();
            assert_eq!(program.query("select 7 from rdb$database").len(), 1);
        }
    }

    /// Nothing is left of programs that are gone.
    pub(crate) fn is_left(&self) {
        let end = Instant::now() + PATIENCE;
        while self.edge.status().programs > 0 || self.origin.status().programs > 0 {
            assert!(Instant::now() < end, "programs that are gone are kept");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn stop(self) {
        let Site { runtime, edge, origin, .. } = self;
        runtime.block_on(async {
            edge.shutdown().await;
            origin.shutdown().await;
        });
    }
}
