//! A connection that is measured: the client behind the few calls that the experiments make.

use farbird_client::blocking::{Connection, Cursor};
use farbird_client::core::FlightRecord;
use farbird_client::{Counters, Statement, Transaction, TransactionOptions, Value};

use super::server::{Road, Server, Settings};
use crate::link::LinkOptions;
use crate::{Failure, Result};

/// One connection over a link, with its one transaction.
pub(super) struct Session {
    connection: Connection,
    transaction: Option<Transaction>,
    /// Closed last.
    _road: Road,
}

impl Session {
    /// Connects over the link.
    pub(super) fn attach(server: &Server, link: &LinkOptions, settings: &Settings) -> Result<Session> {
        let road = Road::open(&(server.location.host.clone(), server.location.port), link)?;
        let address = server.text(&road.address.0, road.address.1);
        let connection = Connection::attach(&address, &server.options(settings)?)?;
        Ok(Session { connection, transaction: None, _road: road })
    }

    /// Starts the transaction that all else is done in.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.transaction = Some(self.connection.begin(&TransactionOptions::default())?);
        Ok(())
    }

    pub(super) fn prepare(&self, sql: &str) -> Result<Statement> {
        let transaction = self.transaction.as_ref().ok_or_else(not_begun)?;
        Ok(self.connection.prepare(transaction, sql)?)
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
    pub(super) fn close(mut self) -> Result<()> {
        if let Some(transaction) = self.transaction.take() {
            self.connection.commit(transaction)?;
        }
        Ok(self.connection.close()?)
    }
}

fn not_begun() -> Failure {
    Failure::Other("the transaction has not begun".to_owned())
}
