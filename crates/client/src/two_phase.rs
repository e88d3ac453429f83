//! Two-phase commit: a transaction that spans several connections is prepared in each of them, then committed in each.
//!
//! A prepared transaction whose connection is lost stays in limbo, until somebody takes it over and ends it.
//! Source: wire-protocol 6.2 (op_prepare, op_prepare2, op_reconnect).

use farbird_types::Result;
use farbird_wire::info::{InfoReader, database};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::connection::Connection;
use crate::core::Kind;
use crate::error;
use crate::transaction::Transaction;

impl Connection {
    /// First phase: the server makes sure that the transaction can be committed, and keeps it beyond the connection's end.
    /// `note` is kept with it for recovery, and may be empty. What follows is a commit or a rollback; dropped, the
    /// transaction is rolled back.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says; of Farbird `isc_wish_list` if the transaction has changed definitions, users or rows of temporary tables.
    pub async fn prepare_transaction(&self, transaction: &Transaction, note: &[u8]) -> Result<()> {
        let transaction_handle = transaction.handle(&self.shared).await?;
        let request = if note.is_empty() {
            Request::PrepareTransaction(transaction_handle)
        } else {
            Request::PrepareTransaction2 { transaction: transaction_handle, message: note.to_vec() }
        };
        transaction.explain(self.response(&request).await).map(|_| ())
    }

    /// The numbers of transactions in limbo.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn limbo(&self) -> Result<Vec<u64>> {
        let reply = self.database_information(&[database::LIMBO]).await?;
        let mut numbers = Vec::new();
        for item in InfoReader::new(&reply) {
            let item = item.map_err(|error| error::broken(&error))?;
            if item.item == database::LIMBO
                && let Some(number) = item.integer().and_then(|number| u64::try_from(number).ok())
            {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    /// Takes over a transaction in limbo, to commit it or roll it back.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_no_recon` if there is none of this number, what else the server says.
    pub async fn take_over(&self, number: u64) -> Result<Transaction> {
        // Older servers know four bytes.
        let transaction_id = match u32::try_from(number) {
            Ok(short) => short.to_le_bytes().to_vec(),
            Err(_) => number.to_le_bytes().to_vec(),
        };
        let request = Request::Reconnect { database: Handle::NONE, transaction_id };
        let (object, taken) = self.shared.ask_for(Kind::Transaction, None, &request)?;
        taken.response().await?;
        Ok(Transaction::of(object))
    }
}

/// Commits one transaction on several connections in two phases. If a part cannot be prepared, all are rolled back.
///
/// # Round trips
/// Two on each connection, one after the other.
///
/// # Errors
/// Why a part could not be prepared: nothing is committed. Why a part could not be committed after all were prepared: the
/// others are, and that one is in limbo ([`Connection::limbo`]) if its connection is lost.
pub async fn commit_together(parts: Vec<(Connection, Transaction)>) -> Result<()> {
    for (connection, transaction) in &parts {
        // On an error the parts are dropped, which rolls them back.
        connection.prepare_transaction(transaction, &[]).await?;
    }
    let mut outcome = Ok(());
    for (connection, transaction) in parts {
        outcome = outcome.and(connection.commit(transaction).await);
    }
    outcome
}
