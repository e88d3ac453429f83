//! The servers that the tests talk to.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{
    AuthPlugin, Canceller, ConnectOptions, CreateOptions, Transaction, TransactionOptions, Value,
};
use farbird_server::Server;
use farbird_server::config::{Config, Overrides};
use farbird_types::isc;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PASSWORD: &str = "masterkey";
/// How long another's server may let a test wait for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server and how to log in there.
pub(crate) struct TestServer {
    /// Where databases lie: the location without a name.
    prefix: String,
    pub(crate) options: ConnectOptions,
    /// Farbird's own, which ends with this.
    _own: Option<OwnServer>,
}

struct OwnServer {
    runtime: Runtime,
    server: Option<Server>,
    _folder: TempDir,
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }
}

/// Farbird.
pub(crate) fn farbird() -> TestServer {
    start(|_| {})
}

/// Farbird, with these authentication plugins.
pub(crate) fn farbird_of(plugins: &[AuthPlugin]) -> TestServer {
    start(|config| config.authentication = plugins.to_vec())
}

/// Farbird, with other settings.
pub(crate) fn farbird_with(change: impl FnOnce(&mut Config)) -> TestServer {
    start(change)
}

fn start(change: impl FnOnce(&mut Config)) -> TestServer {
    let folder = tempfile::tempdir().unwrap();
    let overrides = Overrides {
        listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        data: Some(folder.path().join("data")),
        ..Overrides::default()
    };
    let mut config = Config::load(None, overrides).unwrap();
    change(&mut config);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (server, _) = runtime.block_on(Server::start(config, Some(PASSWORD.to_owned()))).unwrap();
    let port = server.local_address().port();
    TestServer {
        prefix: format!("127.0.0.1/{port}:"),
        options: ConnectOptions::new("sysdba", PASSWORD),
        _own: Some(OwnServer { runtime, server: Some(server), _folder: folder }),
    }
}

/// All servers: Farbird, unless `FARBIRD_TEST_OWN` is `no`, and those that are named.
pub(crate) fn all() -> Vec<TestServer> {
    let named = std::env::var("FARBIRD_TEST_FIREBIRD").unwrap_or_default();
    let foreign = named.split_whitespace().map(|place| {
        let [folder, user, password] = place.split(',').collect::<Vec<_>>()[..] else {
            panic!("{place} is not FOLDER,USER,PASSWORD")
        };
        // A server that falls silent fails the test that waits for it, and does not keep it for ever.
        let options = ConnectOptions { read_timeout: Some(PATIENCE), ..ConnectOptions::new(user, password) };
        TestServer { prefix: format!("{folder}/"), options, _own: None }
    });
    let own = std::env::var("FARBIRD_TEST_OWN").is_ok_and(|own| own == "no");
    (!own).then(farbird).into_iter().chain(foreign).collect()
}

impl TestServer {
    /// Whether it is Farbird.
    pub(crate) fn is_own(&self) -> bool {
        self._own.is_some()
    }

    /// A location that no other test uses.
    pub(crate) fn location(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        format!("{}client_{}_{number}.fdb", self.prefix, std::process::id())
    }

    /// A new database.
    pub(crate) fn create(&self) -> Connection {
        self.create_with(&self.options)
    }

    /// Drops that database.
    pub(crate) fn drop_at(&self, location: &str) {
        Connection::attach(location, &self.options).unwrap().drop_database().unwrap();
    }

    /// The same, once the server has seen that connections are gone that were dropped without a word.
    pub(crate) fn drop_when_alone(&self, location: &str) {
        for attempt in 0.. {
            match Connection::attach(location, &self.options).and_then(Connection::drop_database) {
                Ok(()) => break,
                Err(error) => assert!(attempt < 500, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A new database through other options.
    pub(crate) fn create_with(&self, options: &ConnectOptions) -> Connection {
        self.create_by(&self.location(), options)
    }

    /// A new database at a location, for further connections.
    pub(crate) fn create_at(&self, location: &str) -> Connection {
        self.create_by(location, &self.options)
    }

    fn create_by(&self, location: &str, options: &ConnectOptions) -> Connection {
        let create = |overwrite| {
            let wanted = CreateOptions { overwrite, ..CreateOptions::default() };
            Connection::create(location, &wanted, options)
        };
        // Where other tests drop connections without a word at that moment, Firebird 3.0.11 closes a new one as well, about once in
        // a hundred times: that is the server's, and not what these tests are about.
        let created = match create(false) {
            Err(error) if !self.is_own() && error.has(isc::NETWORK_ERROR) => create(true),
            created => created,
        };
        created.unwrap_or_else(|error| panic!("{}: {error}", self.prefix))
    }
}

/// Runs statements, each in a transaction of its own.
pub(crate) fn run(connection: &Connection, statements: &[&str]) {
    for statement in statements {
        let transaction = begin(connection);
        connection.run(&transaction, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        connection.commit(transaction).unwrap();
    }
}

pub(crate) fn begin(connection: &Connection) -> Transaction {
    connection.begin(&TransactionOptions::default()).unwrap()
}

/// The one value of a query, in a transaction of its own.
pub(crate) fn value(connection: &Connection, query: &str) -> Value {
    let transaction = begin(connection);
    let rows = connection.query_all(&transaction, query).unwrap();
    connection.commit(transaction).unwrap();
    rows[0][0].clone()
}

/// Cancels what runs on a connection, until it is told that it has ended.
pub(crate) struct Cancelling {
    ended: Sender<()>,
    thread: JoinHandle<()>,
}

impl Cancelling {
    /// Begins to cancel after this time. What comes between two calls of a slow machine stops nothing, so it is said again
    /// some time later.
    pub(crate) fn after(delay: Duration, canceller: Canceller) -> Cancelling {
        let (ended, is_ended) = channel();
        let thread = std::thread::spawn(move || {
            let mut pause = delay;
            while is_ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                canceller.cancel().unwrap();
                pause = Duration::from_secs(5);
            }
        });
        Cancelling { ended, thread }
    }

    /// It has been stopped.
    pub(crate) fn end(self) {
        self.ended.send(()).unwrap();
        self.thread.join().unwrap();
    }
}
