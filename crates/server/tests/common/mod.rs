//! What the tests of the server share: a server of their own, and a client that speaks the wire protocol.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "shared between test binaries, each of which uses a part"
)]

pub mod client;

use std::net::SocketAddr;
use std::path::Path;

use farbird_server::Server;
use farbird_server::config::{Config, Overrides};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub use client::{Client, Login, Prepared};

/// SYSDBA's password in every test.
pub const PASSWORD: &str = "masterkey";

/// A server in this process, with a data folder of its own. It is shut down when it is dropped.
pub struct TestServer {
    runtime: Runtime,
    server: Option<Server>,
    config: Config,
    folder: TempDir,
    pub address: SocketAddr,
}

impl TestServer {
    pub fn start() -> TestServer {
        TestServer::with(|_| {})
    }

    /// A server with other settings than the default.
    pub fn with(change: impl FnOnce(&mut Config)) -> TestServer {
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
        let (server, first) =
            runtime.block_on(Server::start(config.clone(), Some(PASSWORD.to_owned()))).unwrap();
        assert!(first.is_some_and(|first| first.generated_password.is_none()));
        TestServer { address: server.local_address(), runtime, server: Some(server), config, folder }
    }

    /// The data folder.
    pub fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    /// A folder beside the data folder.
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// SYSDBA's connection to a database that is made for it.
    pub fn create(&self, database: &str) -> Client {
        let mut client = Client::log_in(self.address, &Login::default()).unwrap();
        client.create(database, &[]).unwrap();
        client
    }

    /// SYSDBA's connection to a database.
    pub fn attach(&self, database: &str) -> Client {
        let mut client = Client::log_in(self.address, &Login::default()).unwrap();
        client.attach(database, &[]).unwrap();
        client
    }

    /// Asks the server to stop; gives control back when it has.
    pub fn shut_down(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }

    /// Starts again in the same data folder after [`TestServer::shut_down`].
    pub fn start_again(&mut self) {
        let (server, first) = self.runtime.block_on(Server::start(self.config.clone(), None)).unwrap();
        assert!(first.is_none(), "the folder has its users already");
        self.address = server.local_address();
        self.server = Some(server);
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shut_down();
    }
}
