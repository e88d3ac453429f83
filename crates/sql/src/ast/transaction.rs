//! Transactions and savepoints.

use crate::ast::name::{Name, Position};

/// Statements about transactions.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionStatement {
    /// SET TRANSACTION.
    Set(SetTransaction),
    /// COMMIT \[WORK\] \[RETAIN \[SNAPSHOT\]\].
    Commit {
        /// RETAIN.
        retain: bool,
    },
    /// ROLLBACK \[WORK\] \[RETAIN \[SNAPSHOT\]\].
    Rollback {
        /// RETAIN.
        retain: bool,
    },
    /// ROLLBACK \[WORK\] TO \[SAVEPOINT\] name.
    RollbackToSavepoint(Name),
    /// SAVEPOINT name.
    Savepoint(Name),
    /// RELEASE SAVEPOINT name \[ONLY\].
    ReleaseSavepoint {
        /// The savepoint.
        name: Name,
        /// ONLY: later savepoints stay.
        only: bool,
    },
}

/// SET TRANSACTION; what was not written is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SetTransaction {
    /// READ ONLY, READ WRITE.
    pub access: Option<TransactionAccess>,
    /// WAIT, NO WAIT.
    pub wait: Option<bool>,
    /// LOCK TIMEOUT, in seconds.
    pub lock_timeout: Option<u32>,
    /// ISOLATION LEVEL.
    pub isolation: Option<IsolationLevel>,
    /// NO AUTO UNDO.
    pub no_auto_undo: bool,
    /// AUTO COMMIT.
    pub auto_commit: bool,
    /// IGNORE LIMBO.
    pub ignore_limbo: bool,
    /// RESTART REQUESTS.
    pub restart_requests: bool,
    /// AUTO RELEASE TEMP BLOBID.
    pub auto_release_temp_blobs: bool,
    /// RESERVING.
    pub reserving: Vec<TableReservation>,
    /// Where SET stands.
    pub position: Position,
}

/// Whether a transaction may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionAccess {
    /// READ ONLY
    ReadOnly,
    /// READ WRITE
    ReadWrite,
}

/// What a transaction sees of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    /// SNAPSHOT, optionally AT NUMBER.
    Snapshot {
        /// The snapshot of another transaction.
        at_number: Option<i64>,
    },
    /// SNAPSHOT TABLE \[STABILITY\].
    SnapshotTableStability,
    /// READ COMMITTED.
    ReadCommitted(Option<ReadCommittedMode>),
    /// READ UNCOMMITTED, which is READ COMMITTED RECORD_VERSION.
    ReadUncommitted,
}

/// Kinds of READ COMMITTED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReadCommittedMode {
    /// READ CONSISTENCY: each statement sees one moment.
    ReadConsistency,
    /// RECORD_VERSION: reads the last committed version.
    RecordVersion,
    /// NO RECORD_VERSION: waits for writers.
    NoRecordVersion,
}

/// table, ... FOR \[SHARED | PROTECTED\] \[READ | WRITE\].
#[derive(Debug, Clone, PartialEq)]
pub struct TableReservation {
    /// The tables.
    pub tables: Vec<Name>,
    /// PROTECTED rather than SHARED.
    pub protected: bool,
    /// WRITE rather than READ.
    pub write: bool,
}
