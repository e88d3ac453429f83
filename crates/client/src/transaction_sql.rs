//! Transactions and savepoints by SQL.

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::connection::Connection;
use crate::transaction::Transaction;

impl Connection {
    /// Starts a transaction by a SET TRANSACTION statement, otherwise as [`Connection::begin`].
    ///
    /// # Round trips
    /// As [`Connection::begin`]: none.
    ///
    /// # Errors
    /// `isc_dsql_command_err` for another statement, or a lost connection. What the server says of the text is told by the
    /// first call that uses the transaction.
    pub async fn begin_by(&self, text: &str) -> Result<Transaction> {
        let mut words = text.split_whitespace();
        let mut is_next = |word: &str| words.next().is_some_and(|next| next.eq_ignore_ascii_case(word));
        if !(is_next("set") && is_next("transaction")) {
            return Err(Error::new(isc::DSQL_COMMAND_ERR)
                .and(isc::RANDOM)
                .with("a transaction is started by SET TRANSACTION"));
        }
        let text = self.statement_text(Handle::NONE, Handle::NONE, text, &[])?;
        Transaction::start_by(&self.shared, &Request::ExecuteImmediate(text))
    }

    /// Sets a savepoint of this name. An earlier one of the same name is forgotten.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn savepoint(&self, transaction: &Transaction, name: &str) -> Result<()> {
        self.run(transaction, &format!("savepoint {}", quoted(name))).await
    }

    /// Undoes what was done since a savepoint, which stays.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_invalid_savepoint` if there is none of this name; what the server says.
    pub async fn rollback_to_savepoint(&self, transaction: &Transaction, name: &str) -> Result<()> {
        self.run(transaction, &format!("rollback to savepoint {}", quoted(name))).await
    }

    /// Forgets a savepoint and those set after it; what was done stays.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Connection::rollback_to_savepoint`].
    pub async fn release_savepoint(&self, transaction: &Transaction, name: &str) -> Result<()> {
        self.run(transaction, &format!("release savepoint {}", quoted(name))).await
    }
}

/// A name as a delimited identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
