//! The servers of these tests, each behind a relay.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use farbird_client::ConnectOptions;
use farbird_client::blocking::Connection;
use farbird_server::Server;
use farbird_server::config::{Config, Overrides};
use farbird_server::farlink::{Farlink, Introduction};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::relay::{self, Kind};

const PASSWORD: &str = "masterkey";

/// A Farbird server, with nothing before it.
pub(crate) struct OwnServer {
    runtime: Runtime,
    server: Option<Server>,
    pub(crate) address: SocketAddr,
    pub(crate) farlink: Farlink,
    folder: TempDir,
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }
}

impl OwnServer {
    pub(crate) fn start() -> OwnServer {
        OwnServer::start_with(|_| {})
    }

    pub(crate) fn start_with(change: impl FnOnce(&mut Config)) -> OwnServer {
        let folder = tempfile::tempdir().unwrap();
        let overrides = Overrides {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            data: Some(folder.path().join("data")),
            ..Overrides::default()
        };
        let mut config = Config::load(None, overrides).unwrap();
        change(&mut config);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (server, _) = runtime.block_on(Server::start(config, Some(PASSWORD.to_owned()))).unwrap();
        let (address, farlink) = (server.local_address(), server.farlink());
        OwnServer { runtime, server: Some(server), address, farlink, folder }
    }

    /// Where a database lies.
    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("data").join(name)
    }

    /// A relay whose connections are made inside the process, as the origin of a farlink there does.
    pub(crate) fn introduced(&self, kind: Kind, ticket: Option<u64>) -> (SocketAddr, Arc<relay::Farbird>) {
        let farlink = self.farlink.clone();
        let connect = Box::new(move || {
            let introduction = Introduction {
                peer: "192.0.2.7:4711".to_owned(),
                edge: "site".to_owned(),
                ticket,
                pass: None,
            };
            farlink.connect(introduction, None).unwrap()
        });
        let farbird = Arc::new(relay::Farbird { connect, told: Mutex::default() });
        (relay::start(self.address, kind, Some(Arc::clone(&farbird))), farbird)
    }
}

/// How to log in at a Farbird server.
pub(crate) fn options() -> ConnectOptions {
    ConnectOptions::new("sysdba", PASSWORD)
}

/// Where a database is, seen through a relay.
pub(crate) fn location(relay: SocketAddr, name: &str) -> String {
    format!("127.0.0.1/{}:{name}", relay.port())
}

/// Runs statements, each in a transaction of its own.
pub(crate) fn run(connection: &Connection, statements: &[&str]) {
    for statement in statements {
        let transaction = connection.begin(&Default::default()).unwrap();
        connection.run(&transaction, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        connection.commit(transaction).unwrap();
    }
}
