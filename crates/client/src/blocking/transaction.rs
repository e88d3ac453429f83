//! Transactions by SQL, savepoints, what servers say of transactions: the calls of [`crate::Connection`].

use std::num::NonZeroU32;

use farbird_types::Result;

use super::connection::Connection;
use crate::transaction::Transaction;
use crate::transaction_information::TransactionInformation;
use crate::transaction_options::TransactionOptions;

impl Connection {
    /// As [`crate::Connection::in_transaction`].
    ///
    /// # Round trips
    /// One, the commit's, beside those of the work.
    ///
    /// # Errors
    /// Those of `work` and of the commit; after `attempts` conflicts the last of them.
    pub fn in_transaction<T>(
        &self,
        options: &TransactionOptions,
        attempts: NonZeroU32,
        mut work: impl FnMut(&Transaction) -> Result<T>,
    ) -> Result<T> {
        let mut left = attempts.get();
        loop {
            left -= 1;
            let transaction = self.begin(options)?;
            let outcome = work(&transaction).and_then(|value| self.commit(transaction).map(|()| value));
            match outcome {
                Err(error) if error.is_conflict() && left > 0 => {}
                outcome => return outcome,
            }
        }
    }

    /// As [`crate::Connection::begin_by`].
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// `isc_dsql_command_err` for another statement, or a lost connection. What the server says of the text is told by the
    /// first call that uses the transaction.
    pub fn begin_by(&self, text: &str) -> Result<Transaction> {
        self.runner.run(self.inner.begin_by(text))
    }

    /// As [`crate::Connection::savepoint`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn savepoint(&self, transaction: &Transaction, name: &str) -> Result<()> {
        self.runner.run(self.inner.savepoint(transaction, name))
    }

    /// As [`crate::Connection::rollback_to_savepoint`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_invalid_savepoint` if there is none of this name; what the server says.
    pub fn rollback_to_savepoint(&self, transaction: &Transaction, name: &str) -> Result<()> {
        self.runner.run(self.inner.rollback_to_savepoint(transaction, name))
    }

    /// As [`crate::Connection::release_savepoint`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Connection::rollback_to_savepoint`].
    pub fn release_savepoint(&self, transaction: &Transaction, name: &str) -> Result<()> {
        self.runner.run(self.inner.release_savepoint(transaction, name))
    }

    /// As [`crate::Connection::transaction_information`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn transaction_information(&self, transaction: &Transaction) -> Result<TransactionInformation> {
        self.runner.run(self.inner.transaction_information(transaction))
    }
}
