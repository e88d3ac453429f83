//! Figures about the store for MON$DATABASE and MON$TRANSACTIONS.

use std::time::SystemTime;

use crate::{CommitNumber, TransactionId, TransactionOptions};

/// Figures about the store.
#[derive(Debug, Clone)]
pub struct StoreStatistics {
    /// MON$OLDEST_TRANSACTION: the oldest whose end others may still have to know.
    pub oldest_transaction: TransactionId,
    /// MON$OLDEST_ACTIVE: the oldest still running, or the next if none is.
    pub oldest_active: TransactionId,
    /// MON$OLDEST_SNAPSHOT: the oldest active transaction at the time when the oldest running snapshot was taken.
    pub oldest_snapshot: TransactionId,
    /// MON$NEXT_TRANSACTION: the next number.
    pub next_transaction: TransactionId,
    /// The number of the latest commit.
    pub last_commit: CommitNumber,
    /// Row blocks that scans by columns have read since the database was opened, and those that they have passed over.
    pub blocks_read: u64,
    /// See `blocks_read`.
    pub blocks_skipped: u64,
    /// The running transactions, oldest first.
    pub active: Vec<ActiveTransaction>,
}

/// A running transaction.
#[derive(Debug, Clone)]
pub struct ActiveTransaction {
    /// The transaction.
    pub id: TransactionId,
    /// How it was begun.
    pub options: TransactionOptions,
    /// The commit number that it reads as of (the latest view's for READ COMMITTED).
    pub snapshot: CommitNumber,
    /// The oldest transaction that ran when it began.
    pub oldest_active: TransactionId,
    /// When it began.
    pub started: SystemTime,
}
