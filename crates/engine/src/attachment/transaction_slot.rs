//! What an attachment keeps of a transaction, and facts about it.

use farbird_store::Savepoint;

use crate::api::TransactionParameters;
use crate::catalog;
use crate::transaction::Transaction;

/// A transaction with its named savepoints, oldest first.
pub(super) struct TransactionSlot {
    pub(super) transaction: Box<Transaction>,
    pub(super) savepoints: Vec<NamedSavepoint>,
}

impl TransactionSlot {
    /// A transaction that has no savepoints by name.
    pub(super) fn new(transaction: Box<Transaction>) -> TransactionSlot {
        TransactionSlot { transaction, savepoints: Vec::new() }
    }
}

/// A savepoint by its name.
pub(super) struct NamedSavepoint {
    pub(super) name: String,
    pub(super) store: Savepoint,
    pub(super) catalog: catalog::CatalogMark,
    /// How many changes of users had been asked for.
    pub(super) user_changes: usize,
}

/// Facts about a transaction (`isc_info_tra_*`).
#[derive(Debug, Clone)]
pub struct TransactionFacts {
    /// Its number.
    pub id: u64,
    /// Oldest interesting transaction.
    pub oldest_interesting: u64,
    /// Oldest snapshot.
    pub oldest_snapshot: u64,
    /// Oldest active transaction.
    pub oldest_active: u64,
    /// Its commit number: what SNAPSHOT AT NUMBER takes.
    pub snapshot_number: u64,
    /// Its parameters.
    pub parameters: TransactionParameters,
}
