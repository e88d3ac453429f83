//! The server behind the origin: Farbird's, in this process.

use std::net::SocketAddr;

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, TransactionOptions, Value};
use farbird_server::Server;
use farbird_server::config::{Config, Overrides};
use farbird_server::farlink::Farlink;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PASSWORD: &str = "masterkey";

/// A server, which ends with this.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) options: ConnectOptions,
    runtime: Runtime,
    server: Option<Server>,
    _folder: TempDir,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }
}

impl TestServer {
    pub(crate) fn start() -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let overrides = Overrides {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            data: Some(folder.path().join("data")),
            ..Overrides::default()
        };
        let config = Config::load(None, overrides).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (server, _) = runtime.block_on(Server::start(config, Some(PASSWORD.to_owned()))).unwrap();
        let address = server.local_address();
        let options = ConnectOptions::new("sysdba", PASSWORD);
        TestServer { address, options, runtime, server: Some(server), _folder: folder }
    }

    /// What an origin in its process may ask of it.
    pub(crate) fn farlink(&self) -> Farlink {
        self.server.as_ref().map(Server::farlink).unwrap()
    }

    /// A new database, made by these statements.
    pub(crate) fn create(&self, name: &str, statements: &[&str]) -> Connection {
        let location = format!("127.0.0.1/{}:{name}", self.address.port());
        let connection = Connection::create(&location, &CreateOptions::default(), &self.options).unwrap();
        for statement in statements {
            run(&connection, statement);
        }
        connection
    }

    /// Attaches a database without edge and origin.
    pub(crate) fn attach_with(&self, name: &str, options: &ConnectOptions) -> Connection {
        let location = format!("127.0.0.1/{}:{name}", self.address.port());
        Connection::attach(&location, options).unwrap()
    }
}

/// Runs a statement in a transaction of its own.
pub(crate) fn run(connection: &Connection, statement: &str) {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    connection.run(&transaction, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    connection.commit(transaction).unwrap();
}

/// All rows of a query, in a transaction of its own.
pub(crate) fn all(connection: &Connection, query: &str) -> Vec<Vec<Value>> {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let rows = connection.query_all(&transaction, query).unwrap_or_else(|error| panic!("{query}: {error}"));
    connection.commit(transaction).unwrap();
    rows
}
