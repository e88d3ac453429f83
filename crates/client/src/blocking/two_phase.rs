//! Two-phase commit: the calls of [`crate::Connection`].

use farbird_types::Result;

use super::connection::Connection;
use crate::transaction::Transaction;

impl Connection {
    /// As [`crate::Connection::prepare_transaction`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says; `isc_wish_list` if it has no such thing.
    pub fn prepare_transaction(&self, transaction: &Transaction, note: &[u8]) -> Result<()> {
        self.runner.run(self.inner.prepare_transaction(transaction, note))
    }

    /// As [`crate::Connection::limbo`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn limbo(&self) -> Result<Vec<u64>> {
        self.runner.run(self.inner.limbo())
    }

    /// As [`crate::Connection::take_over`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_no_recon` if there is none of this number, what else the server says.
    pub fn take_over(&self, number: u64) -> Result<Transaction> {
        self.runner.run(self.inner.take_over(number))
    }
}

/// As [`crate::commit_together`].
///
/// # Round trips
/// Two on each connection, one after the other.
///
/// # Errors
/// Why a part could not be prepared: nothing is committed. Why a part could not be committed after all were prepared: the
/// others are, and that one is in limbo if its connection is lost.
pub fn commit_together(parts: Vec<(Connection, Transaction)>) -> Result<()> {
    for (connection, transaction) in &parts {
        // On an error the parts are dropped, which rolls them back.
        connection.prepare_transaction(transaction, &[])?;
    }
    let mut outcome = Ok(());
    for (connection, transaction) in parts {
        outcome = outcome.and(connection.commit(transaction));
    }
    outcome
}
