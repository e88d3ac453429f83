//! How a store is opened and how a transaction begins.

use std::time::Duration;

use farbird_record::CodecId;

use crate::CommitNumber;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Memory for pages of the file, in bytes. Row blocks that single rows were read from may take as much beside it, and half as
    /// much without their compression.
    pub cache_bytes: usize,
    /// How much one transaction may keep of its uncommitted work in memory before it is spilled to the file, in bytes.
    pub write_set_bytes_max: usize,
    /// How much of its uncommitted BLOBs one transaction may keep in memory before they are written to the file, in bytes.
    pub blob_bytes_max: usize,
    /// How much one transaction may have of BLOBs that no row has taken, in bytes: they are in the file until it ends.
    pub temporary_blob_bytes_max: u64,
    /// How new row blocks are packed. Blocks name their codec, so a database may hold blocks of several.
    pub codec: CodecId,
    /// Whether a thread sweeps in the background. Without it, call [`crate::Store::sweep`].
    pub background_sweep: bool,
    /// How many names of commits are kept: see [`crate::Store::commit_outcome`].
    pub commit_names_max: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            cache_bytes: 64 << 20,
            write_set_bytes_max: 32 << 20,
            blob_bytes_max: 4 << 20,
            temporary_blob_bytes_max: 8 << 30,
            // The smallest in all that was measured, and the fastest to scan: docs/store.md, "Record codecs".
            codec: CodecId::COLUMN,
            background_sweep: true,
            commit_names_max: 4_096,
        }
    }
}

/// How much a transaction sees of others' commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Isolation {
    /// SNAPSHOT: everything as of the transaction's start.
    #[default]
    Snapshot,
    /// READ COMMITTED: each view is as of the moment when it is taken.
    ///
    /// A write to a row that changed since the view was taken ends in [`crate::StoreError::StatementRestart`], on
    /// which the engine runs the statement again under a new view (READ CONSISTENCY), or reports the conflict.
    ReadCommitted,
    /// SNAPSHOT TABLE STABILITY: as SNAPSHOT, and the relations it touches are locked against others' writes.
    TableStability,
}

/// Whether a transaction may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Access {
    /// READ WRITE.
    #[default]
    ReadWrite,
    /// READ ONLY.
    ReadOnly,
}

/// What to do about another transaction's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wait {
    /// WAIT: until the other transaction ends, or a deadlock is found.
    #[default]
    Forever,
    /// NO WAIT: fail at once.
    No,
    /// LOCK TIMEOUT: wait for at most this long.
    Timeout(Duration),
}

/// How a transaction begins. The default is Firebird's: SNAPSHOT, READ WRITE, WAIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionOptions {
    /// What it sees.
    pub isolation: Isolation,
    /// Whether it may write.
    pub access: Access,
    /// What it does about others' locks.
    pub wait: Wait,
    /// SNAPSHOT AT NUMBER: share the snapshot of a running transaction instead of taking a new one.
    pub snapshot_at: Option<CommitNumber>,
    /// IGNORE LIMBO: rows of transactions in limbo are not met, as if those were running.
    pub ignore_limbo: bool,
}

/// The five levels of a relation lock, weakest first (Firebird's table reservation, RESERVING ... FOR).
///
/// DML takes the shared levels by itself; DDL and TABLE STABILITY ask for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockLevel {
    /// Others may read and write.
    SharedRead,
    /// Others may read, not write.
    ProtectedRead,
    /// This transaction writes; others may read and write.
    SharedWrite,
    /// This transaction writes; others may only read.
    ProtectedWrite,
    /// Nobody else may do anything.
    Exclusive,
}
