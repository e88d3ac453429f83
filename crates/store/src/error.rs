//! What can go wrong in the store, and Firebird's status for it where that needs no name.

use std::io;

use farbird_types::{Value, isc};

use crate::{IndexId, RelationId, RowId, TransactionId};

/// Result with a [`StoreError`].
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why an operation of the store failed.
///
/// Unless said otherwise the transaction goes on: what the failed call itself wrote is undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A row with this key exists already, or is about to.
    #[error("duplicate key in unique index {}", index.0)]
    UniqueViolation {
        /// The index.
        index: IndexId,
        /// The key's values.
        values: Vec<Value>,
    },
    /// The row has a committed version that this transaction cannot see. SNAPSHOT transactions only.
    #[error("row {} was changed by transaction {}", row.0, newer.0)]
    UpdateConflict {
        /// The row.
        row: RowId,
        /// Who changed it.
        newer: TransactionId,
    },
    /// The row has a committed version newer than the statement's view. READ COMMITTED transactions only: run the
    /// statement again under a new view.
    #[error("row {} was changed by transaction {} while the statement ran", row.0, newer.0)]
    StatementRestart {
        /// The row.
        row: RowId,
        /// Who changed it.
        newer: TransactionId,
    },
    /// Others have committed DDL of the relation since the layout was taken: take the new one and run the statement
    /// again.
    #[error("relation {} was changed meanwhile", relation.0)]
    LayoutChanged {
        /// The relation.
        relation: RelationId,
    },
    /// The row to be changed is not there (any more) for this transaction.
    #[error("row {} does not exist", row.0)]
    NoSuchRow {
        /// The row.
        row: RowId,
    },
    /// Another transaction holds the lock, and this one does not wait.
    #[error("lock conflict with transaction {}", holder.0)]
    LockConflict {
        /// Who holds the lock.
        holder: TransactionId,
        /// The relation, if it is one that is locked and not a row.
        relation: Option<RelationId>,
    },
    /// Another transaction held the lock for longer than this one waits.
    #[error("lock timeout, waiting for transaction {}", holder.0)]
    LockTimeout {
        /// Who holds the lock.
        holder: TransactionId,
        /// The relation, if it is one that is locked and not a row.
        relation: Option<RelationId>,
    },
    /// Waiting would never end: the holder waits for this transaction.
    #[error("deadlock with transaction {}", holder.0)]
    Deadlock {
        /// Who holds the lock.
        holder: TransactionId,
    },
    /// A row, or what is waited for, is of a transaction whose two-phase commit has not been decided and whose session is gone.
    #[error("transaction {} is in limbo", transaction.0)]
    InLimbo {
        /// The transaction.
        transaction: TransactionId,
    },
    /// The transaction is not prepared, or any more.
    #[error("transaction {} is not in limbo", transaction.0)]
    NotPrepared {
        /// The transaction.
        transaction: TransactionId,
    },
    /// What the transaction has changed cannot be part of a two-phase commit: see the text.
    #[error("a transaction that has changed {0} cannot be prepared")]
    CannotPrepare(&'static str),
    /// The description of a prepared transaction is too long.
    #[error("a prepared transaction's description has {bytes} bytes, and at most {most} are kept")]
    DescriptionTooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// The database has as many prepared transactions as it can have.
    #[error("{most} transactions are prepared already: commit them or roll them back first")]
    TooManyPrepared {
        /// How many there may be.
        most: usize,
    },
    /// A write in a READ ONLY transaction.
    #[error("the transaction is read only")]
    ReadOnly,
    /// The transaction is not active any more.
    #[error("the transaction has ended")]
    TransactionEnded,
    /// The snapshot asked for by [`crate::TransactionOptions::snapshot_at`] is held by nobody.
    #[error("snapshot {} is not in use", number.0)]
    NoSuchSnapshot {
        /// The commit number asked for.
        number: crate::CommitNumber,
    },
    /// The operation was cancelled ([`crate::CancelFlag`]).
    #[error("cancelled")]
    Cancelled,
    /// No such BLOB, or not one that this transaction may see.
    #[error("no such blob")]
    NoSuchBlob,
    /// A seek in a segmented BLOB, a write to a closed one: see the text.
    #[error("blob: {0}")]
    BlobMisuse(&'static str),
    /// A key is longer than [`crate::StoreError::KEY_BYTES_MAX`].
    #[error("a key of {size} bytes is too long for index {}", index.0)]
    KeyTooLong {
        /// The index.
        index: IndexId,
        /// The key's size in bytes.
        size: usize,
    },
    /// The row does not fit its format: a mistake of the caller.
    #[error(transparent)]
    Encode(#[from] farbird_record::EncodeError),
    /// A relation or format that the layout does not have: a mistake of the caller.
    #[error("relation {} has no {what}", relation.0)]
    BadLayout {
        /// The relation.
        relation: RelationId,
        /// What is missing.
        what: &'static str,
    },
    /// An index expression or condition, or the conversion of a value of an older format, failed.
    #[error(transparent)]
    Expression(#[from] farbird_types::Error),
    /// The file is damaged.
    #[error("damaged: {what}")]
    Corrupt {
        /// What is damaged, with its place.
        what: String,
    },
    /// Another process has the file open.
    #[error("the database file is in use by another process")]
    InUse,
    /// There is a file already.
    #[error("the database file exists")]
    Exists,
    /// The file is not a database of ours.
    #[error("not a Farbird database but {0}")]
    WrongKind(crate::FileKind),
    /// BLOBs that no row has taken are more than a transaction may have.
    #[error("the temporary BLOBs of a transaction are limited to {bytes_max} bytes")]
    TooManyTemporaryBlobs {
        /// What it may have.
        bytes_max: u64,
    },
    /// The disk is full.
    #[error("no space left on the device")]
    Full,
    /// Reading or writing failed.
    #[error("input/output: {0}")]
    Io(io::Error),
    /// The database was opened again under this reader or writer after a failed write: run the statement, or after a
    /// write the transaction, again.
    #[error("the database was opened again after a failed write")]
    Reopened,
    /// Somebody was told that the commit has not happened: see [`crate::Store::commit_outcome`].
    #[error("the transaction was given up")]
    Abandoned,
    /// An earlier write failed, and so did opening the database again: nothing more is written, since a retry might lie.
    #[error("the store refuses writes since an earlier one failed")]
    Poisoned,
}

impl StoreError {
    /// The longest key of an index entry, in bytes.
    pub const KEY_BYTES_MAX: usize = 16 << 10;

    /// The same failure of a write, for another one who shared it.
    pub(crate) fn repeat(&self) -> StoreError {
        match self {
            StoreError::Io(error) => StoreError::Io(io::Error::new(error.kind(), error.to_string())),
            StoreError::Full => StoreError::Full,
            StoreError::Corrupt { what } => StoreError::Corrupt { what: what.clone() },
            _ => StoreError::Poisoned,
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> StoreError {
        StoreError::Corrupt { what: what.into() }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
            // A page that does not fit its checksum.
            io::ErrorKind::InvalidData => StoreError::Corrupt { what: error.to_string() },
            _ => StoreError::Io(error),
        }
    }
}

/// The transaction number as Firebird shows it in messages.
fn number(transaction: TransactionId) -> i32 {
    i32::try_from(transaction.0).unwrap_or(i32::MAX)
}

impl From<StoreError> for farbird_types::Error {
    /// The status that Firebird sends (3 and 4 asked): whatever stands between a transaction and a row is a deadlock
    /// with an update conflict, also when it would not or could no longer wait.
    ///
    /// Where a status has names in it they are missing here: the engine, which knows them, makes its own of
    /// [`StoreError::UniqueViolation`], adds the table to refused relation locks, and says which file `isc_io_error`
    /// is about ([`farbird_types::Error::about_file`]).
    fn from(error: StoreError) -> Self {
        use farbird_types::Error;
        match error {
            StoreError::UniqueViolation { .. } => Error::new(isc::NO_DUP),
            StoreError::UpdateConflict { newer: other, .. }
            | StoreError::StatementRestart { newer: other, .. }
            | StoreError::LockConflict { holder: other, relation: None }
            | StoreError::LockTimeout { holder: other, relation: None }
            | StoreError::Deadlock { holder: other } => Error::new(isc::DEADLOCK)
                .and(isc::UPDATE_CONFLICT)
                .and(isc::CONCURRENT_TRANSACTION)
                .with(number(other)),
            StoreError::InLimbo { transaction } => Error::new(isc::REC_IN_LIMBO).with(number(transaction)),
            StoreError::NotPrepared { .. } => Error::new(isc::NO_RECON),
            error @ StoreError::CannotPrepare(_) => {
                Error::new(isc::WISH_LIST).and(isc::RANDOM).with(error.to_string())
            }
            error @ (StoreError::DescriptionTooLong { .. } | StoreError::TooManyPrepared { .. }) => {
                Error::new(isc::IMP_EXC).and(isc::RANDOM).with(error.to_string())
            }
            StoreError::LockConflict { .. } => Error::new(isc::LOCK_CONFLICT),
            StoreError::LockTimeout { .. } => Error::new(isc::LOCK_TIMEOUT),
            StoreError::LayoutChanged { .. } => Error::new(isc::OBSOLETE_METADATA),
            StoreError::ReadOnly => Error::new(isc::READ_ONLY_TRANS),
            StoreError::TransactionEnded => Error::new(isc::BAD_TRANS_HANDLE),
            StoreError::NoSuchSnapshot { .. } => Error::new(isc::TRA_SNAPSHOT_DOES_NOT_EXIST),
            StoreError::Cancelled => Error::new(isc::CANCELLED),
            StoreError::NoSuchBlob => Error::new(isc::BAD_SEGSTR_ID),
            StoreError::BlobMisuse(_) => Error::new(isc::BAD_SEGSTR_TYPE),
            StoreError::KeyTooLong { .. } => Error::new(isc::KEYTOOBIG).with(""),
            StoreError::NoSuchRow { .. } => Error::new(isc::NO_CUR_REC),
            StoreError::Expression(error) => error,
            StoreError::Corrupt { what } => Error::new(isc::DB_CORRUPT).with(what),
            StoreError::InUse => Error::new(isc::FILE_IN_USE),
            StoreError::Exists => Error::new(isc::DB_OR_FILE_EXISTS),
            StoreError::WrongKind(kind) => Error::new(isc::BAD_DB_FORMAT).with(kind.to_string()),
            error @ StoreError::TooManyTemporaryBlobs { .. } => {
                Error::new(isc::OUT_OF_TEMP_SPACE).and(isc::RANDOM).with(error.to_string())
            }
            StoreError::Full => io_failure("write", isc::IO_WRITE_ERR, "No space left on device".to_owned()),
            StoreError::Io(error) => io_failure("read or write", isc::IO_READ_ERR, error.to_string()),
            error @ (StoreError::Poisoned | StoreError::Reopened) => {
                io_failure("write", isc::IO_WRITE_ERR, error.to_string())
            }
            other => Error::new(isc::RANDOM).with(other.to_string()),
        }
    }
}

/// isc_io_error with what the system says, and no file's name: the store knows none.
fn io_failure(operation: &str, detail: u32, reason: String) -> farbird_types::Error {
    farbird_types::Error::new(isc::IO_ERROR)
        .with(operation)
        .with("")
        .and(detail)
        .and(isc::RANDOM)
        .with(reason)
}
