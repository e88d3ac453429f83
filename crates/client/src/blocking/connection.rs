//! A connection with its database: see [`crate::Connection`], whose calls these are.

use std::net::{TcpStream, ToSocketAddrs};
use std::ops::Deref;

use farbird_types::{BlobId, CharacterSet, Error, Result, Value, isc};
use farbird_wire::counters::Counters;
use farbird_wire::message::MessageType;
use farbird_wire::protocol::ProtocolVersion;

use super::driver::{Driver, Runner, Transport};
use super::{Batch, BlobReader, BlobWriter, Cursor, Pipeline};
use crate::blob::BlobOptions;
use crate::core::{FlightRecord, Shared};
use crate::error;
use crate::options::{ConnectOptions, CreateOptions, Location};
use crate::statement::{Counts, Statement};
use crate::transaction::Transaction;
use crate::transaction_options::TransactionOptions;
use crate::typed::{FromRow, Parameters, Row};

/// A connection with its database. Clones of it are the same connection; threads that share it wait for each other.
///
/// When the connection and everything that was made on it are dropped, it is closed without a word;
/// [`Connection::close`] takes leave.
#[derive(Debug, Clone)]
pub struct Connection {
    pub(super) inner: crate::Connection,
    pub(super) runner: Runner,
}

impl Connection {
    /// Connects and attaches a database: `host/port:database`.
    ///
    /// # Round trips
    /// Four, or two if the line is not encrypted; one more for each authentication plugin that the server does not know.
    ///
    /// # Errors
    /// `isc_network_error` if nobody answers, `isc_login` for a wrong password, what the server says of the database.
    pub fn attach(database: &str, options: &ConnectOptions) -> Result<Connection> {
        Connection::connect(database, options)?.attached()
    }

    /// As [`Connection::attach`], but gives the connection as soon as the attach is on its way: see [`Connector`].
    ///
    /// # Round trips
    /// Three, or two if the line is not encrypted.
    ///
    /// # Errors
    /// `isc_network_error` if nobody answers, `isc_login` for a wrong password. What the server says of the database comes
    /// with [`Connector::attached`].
    pub fn connect(database: &str, options: &ConnectOptions) -> Result<Connector> {
        let (shared, runner, database) = reach(database, options)?;
        let inner = runner.run(crate::Connection::connect_over(&shared, &database, options))?;
        let connection = Connection { inner: crate::Connection::clone(&inner), runner };
        Ok(Connector { connection, inner })
    }

    /// Connects, creates a database and attaches it.
    ///
    /// # Round trips
    /// As [`Connection::attach`].
    ///
    /// # Errors
    /// As [`Connection::attach`]; `isc_db_or_file_exists` if there is one and `overwrite` is not set.
    pub fn create(database: &str, create: &CreateOptions, options: &ConnectOptions) -> Result<Connection> {
        let (shared, runner, database) = reach(database, options)?;
        let inner = runner.run(crate::Connection::create_over(&shared, &database, create, options))?;
        Ok(Connection { inner, runner })
    }

    /// Attaches a database, known to the server by this name, over an open transport; `peer` is the server's name in
    /// messages.
    ///
    /// # Round trips
    /// As [`Connection::attach`].
    ///
    /// # Errors
    /// As [`Connection::attach`].
    pub fn attach_over(
        transport: impl Transport + 'static,
        peer: &str,
        database: &str,
        options: &ConnectOptions,
    ) -> Result<Connection> {
        let shared = Shared::new(options.tuning.clone());
        let runner = runner(&shared, transport, peer, options)?;
        let inner = runner.run(crate::Connection::attach_over(&shared, database, options))?;
        Ok(Connection { inner, runner })
    }

    /// As [`crate::Connection::close`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn close(self) -> Result<()> {
        self.runner.run(self.inner.close())
    }

    /// As [`crate::Connection::drop_database`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_obj_in_use` while others are attached.
    pub fn drop_database(self) -> Result<()> {
        self.runner.run(self.inner.drop_database())
    }

    /// As [`crate::Connection::dialect`].
    pub fn dialect(&self) -> u8 {
        self.inner.dialect()
    }

    /// As [`crate::Connection::set_dialect`].
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// `isc_random` for a dialect that there is not.
    pub fn set_dialect(&self, dialect: u8) -> Result<()> {
        self.inner.set_dialect(dialect)
    }

    /// The character set in which texts travel.
    pub fn character_set(&self) -> CharacterSet {
        self.inner.character_set()
    }

    /// The protocol in use.
    pub fn version(&self) -> ProtocolVersion {
        self.inner.version()
    }

    /// The flights so far: what left together, when, and when its answers came. None unless
    /// [`Tuning::timeline_flights`](crate::Tuning::timeline_flights) asks for them.
    pub fn flights(&self) -> Vec<FlightRecord> {
        self.inner.flights()
    }

    /// Packets, bytes and round trips since the first byte.
    pub fn counters(&self) -> Counters {
        self.inner.counters()
    }

    /// Bytes of answers that are here and that nobody has taken: see
    /// [`Core::held_bytes`](crate::core::Core::held_bytes).
    pub fn held_bytes(&self) -> usize {
        self.inner.held_bytes()
    }

    /// As [`crate::Connection::server_version`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn server_version(&self) -> Result<String> {
        self.runner.run(self.inner.server_version())
    }

    /// As [`crate::Connection::database_information`].
    ///
    /// # Round trips
    /// One; none if only wire statistics are asked for.
    ///
    /// # Errors
    /// What the server says.
    pub fn database_information(&self, items: &[u8]) -> Result<Vec<u8>> {
        self.runner.run(self.inner.database_information(items))
    }

    /// Whether the server is there.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// It is not.
    pub fn ping(&self) -> Result<()> {
        self.runner.run(self.inner.ping())
    }

    /// As [`crate::Connection::begin`].
    ///
    /// # Round trips
    /// None: its start travels with the first request that uses it.
    ///
    /// # Errors
    /// The connection is lost. That the server refuses it is told by the first call that uses it.
    pub fn begin(&self, options: &TransactionOptions) -> Result<Transaction> {
        self.runner.run(self.inner.begin(options))
    }

    /// As [`crate::Connection::commit`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says; the transaction is then rolled back.
    pub fn commit(&self, transaction: Transaction) -> Result<()> {
        self.runner.run(self.inner.commit(transaction))
    }

    /// As [`crate::Connection::rollback`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn rollback(&self, transaction: Transaction) -> Result<()> {
        self.runner.run(self.inner.rollback(transaction))
    }

    /// As [`crate::Connection::commit_retaining`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn commit_retaining(&self, transaction: &Transaction) -> Result<()> {
        self.runner.run(self.inner.commit_retaining(transaction))
    }

    /// As [`crate::Connection::rollback_retaining`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn rollback_retaining(&self, transaction: &Transaction) -> Result<()> {
        self.runner.run(self.inner.rollback_retaining(transaction))
    }

    /// As [`crate::Connection::prepare`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of the text.
    pub fn prepare(&self, transaction: &Transaction, text: &str) -> Result<Statement> {
        self.runner.run(self.inner.prepare(transaction, text))
    }

    /// As [`crate::Connection::prepare_deferred`]: errors of the text appear when it is executed.
    ///
    /// # Round trips
    /// None: it travels with the first execution.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn prepare_deferred(&self, transaction: &Transaction, text: &str) -> Result<Statement> {
        self.runner.run(self.inner.prepare_deferred(transaction, text))
    }

    /// As [`crate::Connection::describe`].
    ///
    /// # Round trips
    /// One; none once it is described.
    ///
    /// # Errors
    /// What the server says of the text.
    pub fn describe(&self, statement: &Statement) -> Result<()> {
        self.runner.run(self.inner.describe(statement))
    }

    /// As [`crate::Connection::prepare_all`].
    ///
    /// # Round trips
    /// One for all of them.
    ///
    /// # Errors
    /// What the server says of the first text that it does not understand.
    pub fn prepare_all(&self, transaction: &Transaction, texts: &[&str]) -> Result<Vec<Statement>> {
        self.runner.run(self.inner.prepare_all(transaction, texts))
    }

    /// As [`crate::Connection::prepare_cached`].
    ///
    /// # Round trips
    /// None if it is prepared already; else one.
    ///
    /// # Errors
    /// What the server says of the text.
    pub fn prepare_cached(&self, transaction: &Transaction, text: &str) -> Result<Statement> {
        self.runner.run(self.inner.prepare_cached(transaction, text))
    }

    /// As [`crate::Connection::counts`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn counts(&self, statement: &Statement) -> Result<Counts> {
        self.runner.run(self.inner.counts(statement))
    }

    /// As [`crate::Connection::plan`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn plan(&self, statement: &Statement) -> Result<String> {
        self.runner.run(self.inner.plan(statement))
    }

    /// As [`crate::Connection::run`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn run(&self, transaction: &Transaction, text: &str) -> Result<()> {
        self.runner.run(self.inner.run(transaction, text))
    }

    /// As [`crate::Connection::execute`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says; `isc_dsql_sqlda_err` for values that are not as many as the parameters.
    pub fn execute(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<Option<Row>> {
        self.runner.run(self.inner.execute(transaction, statement, parameters))
    }

    /// As [`crate::Connection::execute_and_commit`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says, of the statement (nothing is then changed) or of the commit; `isc_sing_select_err` for a query
    /// of more than one row.
    pub fn execute_and_commit(
        &self,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<Option<Row>> {
        self.runner.run(self.inner.execute_and_commit(statement, parameters))
    }

    /// As [`crate::Connection::query`]. The cursor is an iterator over the rows.
    ///
    /// # Round trips
    /// None; the first row costs one, shared by all that was asked for in the meantime.
    ///
    /// # Errors
    /// `isc_dsql_sqlda_err` for values that are not as many as the parameters. What the server says comes with the first
    /// row.
    pub fn query(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<Cursor> {
        let cursor = self.runner.run(self.inner.query(transaction, statement, parameters))?;
        Ok(Cursor { inner: cursor, runner: self.runner.clone() })
    }

    /// As [`crate::Connection::query_typed`].
    ///
    /// # Round trips
    /// None; the first row costs one, shared by all that was asked for in the meantime.
    ///
    /// # Errors
    /// The connection is lost. What the server says of the text comes with the first row.
    pub fn query_typed(
        &self,
        transaction: &Transaction,
        text: &str,
        parameters: impl Parameters,
        columns: &[MessageType],
    ) -> Result<Cursor> {
        let cursor = self.runner.run(self.inner.query_typed(transaction, text, parameters, columns))?;
        Ok(Cursor { inner: cursor, runner: self.runner.clone() })
    }

    /// As [`crate::Connection::query_as`].
    ///
    /// # Round trips
    /// One for few rows.
    ///
    /// # Errors
    /// What the server says; a row that does not become what is wanted.
    pub fn query_as<T: for<'r> FromRow<'r>>(
        &self,
        transaction: &Transaction,
        statement: &Statement,
        parameters: impl Parameters,
    ) -> Result<Vec<T>> {
        self.runner.run(self.inner.query_as(transaction, statement, parameters))
    }

    /// As [`crate::Connection::query_all_as`].
    ///
    /// # Round trips
    /// One for few rows if the statement is kept, or its columns are those that the type expects; else two.
    ///
    /// # Errors
    /// What the server says; a row that does not become what is wanted.
    pub fn query_all_as<T: for<'r> FromRow<'r>>(
        &self,
        transaction: &Transaction,
        text: &str,
        parameters: impl Parameters,
    ) -> Result<Vec<T>> {
        self.runner.run(self.inner.query_all_as(transaction, text, parameters))
    }

    /// As [`crate::Connection::query_all`].
    ///
    /// # Round trips
    /// Two for few rows.
    ///
    /// # Errors
    /// What the server says.
    pub fn query_all(&self, transaction: &Transaction, text: &str) -> Result<Vec<Vec<Value>>> {
        self.runner.run(self.inner.query_all(transaction, text))
    }

    /// As [`crate::Connection::pipeline`].
    ///
    /// # Round trips
    /// None.
    pub fn pipeline(&self, transaction: &Transaction, statement: &Statement) -> Pipeline {
        Pipeline { inner: self.inner.pipeline(transaction, statement), runner: self.runner.clone() }
    }

    /// As [`crate::Connection::batch`].
    ///
    /// # Round trips
    /// None yet. All of a batch is one flight for every 4 MiB of rows.
    ///
    /// # Errors
    /// `isc_wish_list` if the server's protocol has no batches (before Firebird 4), or the statement no parameters.
    pub fn batch(&self, transaction: &Transaction, statement: &Statement) -> Result<Batch> {
        let batch = self.runner.run(self.inner.batch(transaction, statement))?;
        Ok(Batch { inner: batch, runner: self.runner.clone() })
    }

    /// Creates a BLOB to be written through [`std::io::Write`]; its id is given by [`BlobWriter::finish`].
    ///
    /// # Round trips
    /// None; finishing takes one.
    ///
    /// # Errors
    /// The connection is lost; what the server says comes with [`BlobWriter::finish`].
    pub fn create_blob(&self, transaction: &Transaction, options: BlobOptions) -> Result<BlobWriter> {
        let writer = self.runner.run(self.inner.create_blob(transaction, options))?;
        Ok(BlobWriter { inner: writer, runner: self.runner.clone() })
    }

    /// As [`crate::Connection::write_blob`].
    ///
    /// # Round trips
    /// One up to two megabytes, then one for about every two more.
    ///
    /// # Errors
    /// What the server says.
    pub fn write_blob(&self, transaction: &Transaction, contents: &[u8]) -> Result<BlobId> {
        self.runner.run(self.inner.write_blob(transaction, contents))
    }

    /// Opens a BLOB to be read through [`std::io::Read`].
    ///
    /// # Round trips
    /// None if it came with its row or was asked for ahead; else one, which brings the first 128 KiB, and BLOBs of the
    /// next rows.
    ///
    /// # Errors
    /// What the server says.
    pub fn open_blob(&self, transaction: &Transaction, id: BlobId) -> Result<BlobReader> {
        let reader = self.runner.run(self.inner.open_blob(transaction, id))?;
        Ok(BlobReader { inner: reader, runner: self.runner.clone() })
    }

    /// As [`crate::Connection::write_text`].
    ///
    /// # Round trips
    /// As [`Connection::write_blob`].
    ///
    /// # Errors
    /// What the server says; `isc_transliteration_failed` for a character that the connection's character set has not.
    pub fn write_text(&self, transaction: &Transaction, text: &str) -> Result<BlobId> {
        self.runner.run(self.inner.write_text(transaction, text))
    }

    /// As [`crate::Connection::read_text`].
    ///
    /// # Round trips
    /// As [`Connection::read_blob`].
    ///
    /// # Errors
    /// What the server says; `isc_malformed_string` for bytes that are no text.
    pub fn read_text(&self, transaction: &Transaction, id: BlobId) -> Result<String> {
        self.runner.run(self.inner.read_text(transaction, id))
    }

    /// As [`crate::Connection::read_blobs`].
    ///
    /// # Round trips
    /// At most one for each 256 of them, or for as many as [`crate::Tuning::blob_ahead_bytes`] hold.
    ///
    /// # Errors
    /// What the server says of the first that it does not give.
    pub fn read_blobs(&self, transaction: &Transaction, ids: &[BlobId]) -> Result<Vec<Vec<u8>>> {
        self.runner.run(self.inner.read_blobs(transaction, ids))
    }

    /// As [`crate::Connection::read_blob`].
    ///
    /// # Round trips
    /// As [`Connection::open_blob`]; beyond 128 KiB one for the next 256 KiB, and so on, twice as much each time.
    ///
    /// # Errors
    /// What the server says.
    pub fn read_blob(&self, transaction: &Transaction, id: BlobId) -> Result<Vec<u8>> {
        self.runner.run(self.inner.read_blob(transaction, id))
    }
}

/// A connection whose attach is on its way: see [`crate::Connector`].
#[derive(Debug)]
pub struct Connector {
    connection: Connection,
    inner: crate::Connector,
}

impl Connector {
    /// As [`crate::Connector::attached`].
    ///
    /// # Round trips
    /// One, together with everything that was asked in the meantime; none if an answer to that has come.
    ///
    /// # Errors
    /// What the server says of the database.
    pub fn attached(self) -> Result<Connection> {
        self.connection.runner.run(self.inner.attached())?;
        Ok(self.connection)
    }
}

impl Deref for Connector {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

pub(super) fn runner(
    shared: &Shared,
    transport: impl Transport + 'static,
    peer: &str,
    options: &ConnectOptions,
) -> Result<Runner> {
    Ok(Runner::new(Driver::new(shared, transport, peer, options.read_timeout)?))
}

/// A connection with the server of a database, and what the server calls the database.
fn reach(database: &str, options: &ConnectOptions) -> Result<(Shared, Runner, String)> {
    let shared = Shared::new(options.tuning.clone());
    #[cfg(feature = "farlink")]
    if let Some(location) = crate::farlink::FarlinkLocation::parse(database)? {
        let stream = crate::farlink::wait_for(crate::farlink::open(&location, options))?;
        crate::farlink::prepare(&shared);
        let runner = runner(&shared, crate::farlink::Near::new(stream), &location.site, options)?;
        return Ok((shared, runner, location.database));
    }
    let Location { host, port, database } = Location::parse(database)?;
    let runner = runner(&shared, open(&host, port, options)?, &host, options)?;
    Ok((shared, runner, database))
}

/// A TCP connection with a server.
pub(super) fn open(host: &str, port: u16, options: &ConnectOptions) -> Result<TcpStream> {
    let failed = |error: &std::io::Error| error::network(host, isc::NET_CONNECT_ERR, error);
    let addresses = (host, port).to_socket_addrs().map_err(|error| failed(&error))?;
    let mut result = Err(Error::new(isc::NETWORK_ERROR).with(host).and(isc::NET_CONNECT_ERR));
    for address in addresses {
        match TcpStream::connect_timeout(&address, options.connect_timeout) {
            Ok(stream) => return stream.set_nodelay(true).map(|()| stream).map_err(|error| failed(&error)),
            Err(error) => result = Err(failed(&error)),
        }
    }
    result
}
