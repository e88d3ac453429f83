//! One database: opening, beginning transactions, sequences, statistics.

use std::path::Path;
use std::sync::Arc;

use crate::{
    CancelFlag, CommitNumber, RelationId, RelationLayout, Result, SequenceId, StoreOptions, StoreStatistics,
    Transaction, TransactionOptions,
};

/// One database. `Send + Sync`; cheap to clone; the file is closed when the last clone and transaction are gone.
#[derive(Debug, Clone)]
pub struct Store {
    _inner: Arc<()>,
}

impl Store {
    /// Creates the file and opens it.
    ///
    /// # Errors
    /// [`crate::StoreError::Exists`] if there is one.
    pub fn create(path: &Path, options: StoreOptions) -> Result<Store> {
        let _ = (path, options);
        unimplemented!()
    }

    /// Opens a file.
    ///
    /// # Errors
    /// [`crate::StoreError::InUse`], [`crate::StoreError::WrongKind`], and `Io` if there is none.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Store> {
        let _ = (path, options);
        unimplemented!()
    }

    /// A database that lives in memory and ends with its last clone.
    pub fn in_memory(options: StoreOptions) -> Result<Store> {
        let _ = options;
        unimplemented!()
    }

    /// Writes what is still in memory only (exact sequence values) and stops the background sweep. Running transactions are rolled back
    /// when they are dropped. The file is free once all clones and transactions are dropped.
    pub fn close(&self) -> Result<()> {
        unimplemented!()
    }

    /// Tells the store the latest committed layout of a relation: at open for all of them, and in the commit of each
    /// DDL (from its [`Transaction::commit_with`]). The sweep leaves relations alone that it was never told of.
    pub fn register_layout(&self, layout: Arc<RelationLayout>) {
        let _ = layout;
        unimplemented!()
    }

    /// Forgets a dropped relation's layout.
    pub fn unregister_layout(&self, relation: RelationId) {
        let _ = relation;
        unimplemented!()
    }

    /// Begins a transaction. `cancel` interrupts its waits for locks and its long operations.
    pub fn begin(&self, options: TransactionOptions, cancel: Arc<CancelFlag>) -> Result<Transaction> {
        self.begin_with(options, cancel, |_| ()).map(|(transaction, ())| transaction)
    }

    /// As [`Store::begin`]; `at_snapshot` runs with the transaction's snapshot number while no commit can be published,
    /// so that the engine can take the catalog that belongs to the snapshot.
    pub fn begin_with<T>(
        &self,
        options: TransactionOptions,
        cancel: Arc<CancelFlag>,
        at_snapshot: impl FnOnce(CommitNumber) -> T,
    ) -> Result<(Transaction, T)> {
        let _ = (options, cancel, at_snapshot);
        unimplemented!()
    }

    /// The number of the latest published commit.
    pub fn last_commit(&self) -> CommitNumber {
        unimplemented!()
    }

    /// All committed catalog entries, in key order.
    pub fn catalog_entries(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        unimplemented!()
    }

    /// Advances a sequence by `step` and gives its new value; wraps around as Firebird's do.
    /// Not part of any transaction. A value is never given twice, not even over a crash.
    ///
    /// # Durability
    /// Values are reserved durably in growing batches; most calls touch memory only. A crash leaves a gap.
    pub fn sequence_next(&self, sequence: SequenceId, step: i64) -> Result<i64> {
        let _ = (sequence, step);
        unimplemented!()
    }

    /// The current value: the one that the latest `sequence_next` gave; 0 if there never was one.
    pub fn sequence_value(&self, sequence: SequenceId) -> Result<i64> {
        let _ = sequence;
        unimplemented!()
    }

    /// Sets the current value. Durable when it returns.
    pub fn sequence_set(&self, sequence: SequenceId, value: i64) -> Result<()> {
        let _ = (sequence, value);
        unimplemented!()
    }

    /// Forgets a dropped sequence.
    pub fn sequence_drop(&self, sequence: SequenceId) -> Result<()> {
        let _ = sequence;
        unimplemented!()
    }

    /// Sweeps for at most about `steps` bounded steps; gives how many were of use. 0: nothing is left to do now.
    pub fn sweep(&self, steps: usize) -> Result<usize> {
        let _ = steps;
        unimplemented!()
    }

    /// Figures for monitoring.
    pub fn statistics(&self) -> StoreStatistics {
        unimplemented!()
    }
}
