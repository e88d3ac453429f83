//! A connection that is measured: the client behind the few calls that the experiments make.

use farbird_client::blocking::{Connection, Connector, Cursor};
use farbird_client::core::FlightRecord;
use farbird_client::{Counters, MessageType, Statement, Transaction, TransactionOptions, Value};

use super::server::{Preset, Road, Server, Settings};
use crate::link::LinkOptions;
use crate::{Failure, Result};

/// One connection over a link, with its one transaction.
pub(super) struct Session {
    connection: Connection,
    /// While the attach is on its way.
    connector: Option<Connector>,
    transaction: Option<Transaction>,
    /// Closed last.
    _road: Road,
}

impl Session {
    /// Connects over the link. With [`Preset::Farbird`] the attach is on its way then, and what is asked next goes with it:
    /// see [`Session::attached`].
    pub(super) fn attach(server: &Server, link: &LinkOptions, settings: &Settings) -> Result<Session> {
        let road = Road::open(&(server.location.host.clone(), server.location.port), link)?;
        let address = server.text(&road.address.0, road.address.1);
        let options = server.options(settings)?;
        let (connection, connector) = match settings.preset {
            Preset::Farbird => {
                let connector = Connection::connect(&address, &options)?;
                (Connection::clone(&connector), Some(connector))
            }
            _ => (Connection::attach(&address, &options)?, None),
        };
        Ok(Session { connection, connector, transaction: None, _road: road })
    }

    /// Waits until the database is attached.
    pub(super) fn attached(&mut self) -> Result<()> {
        if let Some(connector) = self.connector.take() {
            connector.attached()?;
        }
        Ok(())
    }

    /// Starts the transaction that all else is done in.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.begin_with(&TransactionOptions::default())
    }

    /// As [`Session::begin`], with options.
    pub(super) fn begin_with(&mut self, options: &TransactionOptions) -> Result<()> {
        self.transaction = Some(self.connection.begin(options)?);
        Ok(())
    }

    pub(super) fn prepare(&self, sql: &str) -> Result<Statement> {
        let transaction = self.transaction.as_ref().ok_or_else(not_begun)?;
        Ok(self.connection.prepare(transaction, sql)?)
    }

    /// Prepares several at once.
    pub(super) fn prepare_all(&self, sql: &[&str]) -> Result<Vec<Statement>> {
        let transaction = self.transaction.as_ref().ok_or_else(not_begun)?;
        Ok(self.connection.prepare_all(transaction, sql)?)
    }

    /// Executes a statement that gives no rows.
    pub(super) fn execute(&self, statement: &Statement, parameters: &[Value]) -> Result<()> {
        let transaction = self.transaction.as_ref().ok_or_else(not_begun)?;
        self.connection.execute(transaction, statement, parameters)?;
        Ok(())
    }

    /// Commits the transaction; another may begin.
    pub(super) fn commit(&mut self) -> Result<()> {
        let transaction = self.transaction.take().ok_or_else(not_begun)?;
        Ok(self.connection.commit(transaction)?)
    }

    /// Opens a cursor of a query whose one column is known to be a whole number.
    pub(super) fn open_number(&self, sql: &str) -> Result<Cursor> {
        let transaction = self.transaction.as_ref().ok_or_else(not_begun)?;
        Ok(self.connection.query_typed(transaction, sql, &[], &[MessageType::Int64 { scale: 0 }])?)
    }

    /// Opens a cursor.
    pub(super) fn open(&self, statement: &Statement, parameters: &[Value]) -> Result<Cursor> {
        let transaction = self.transaction.as_ref().ok_or_else(not_begun)?;
        Ok(self.connection.query(transaction, statement, parameters)?)
    }

    /// The length of a BLOB, which is read whole.
    pub(super) fn read_blob(&self, id: farbird_client::BlobId) -> Result<u64> {
        let transaction = self.transaction.as_ref().ok_or_else(not_begun)?;
        Ok(self.connection.read_blob(transaction, id)?.len() as u64)
    }

    pub(super) fn counters(&self) -> Counters {
        self.connection.counters()
    }

    /// The first flights.
    pub(super) fn flights(&self) -> Vec<FlightRecord> {
        self.connection.flights()
    }

    /// The protocol in use.
    pub(super) fn protocol(&self) -> u16 {
        self.connection.version().number()
    }

    /// Takes leave.
    pub(super) fn close(self) -> Result<()> {
        self.close_and_tell().map(drop)
    }

    /// Takes leave, and gives the first flights of all, those of the leave among them.
    pub(super) fn close_and_tell(mut self) -> Result<Vec<FlightRecord>> {
        self.attached()?;
        if let Some(transaction) = self.transaction.take() {
            self.connection.commit(transaction)?;
        }
        let closed = self.connection.clone();
        self.connection.close()?;
        Ok(closed.flights())
    }
}

fn not_begun() -> Failure {
    Failure::Other("the transaction has not begun".to_owned())
}
