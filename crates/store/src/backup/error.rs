//! What can go wrong with a backup or a restore.

use std::io;

use crate::{FileKind, StoreError};

/// Result with a [`BackupError`].
pub type BackupResult<T> = std::result::Result<T, BackupError>;

/// Why a backup was not made, or not restored. Says on which side it failed: callers know the names of both.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The database that is read, or the one that is filled.
    #[error(transparent)]
    Database(#[from] StoreError),
    /// The backup cannot be written.
    #[error("cannot write the backup: {0}")]
    Write(io::Error),
    /// The backup cannot be read.
    #[error("cannot read the backup: {0}")]
    Read(io::Error),
    /// It is not a backup of ours.
    #[error("not a Farbird backup but {0}")]
    NotABackup(FileKind),
    /// A newer program wrote it, in a way that this one does not know.
    #[error("the backup has format {format}, which only a newer version reads")]
    TooNew {
        /// Its format.
        format: u16,
    },
    /// It is a file of a chain of incremental backups, and was taken for a backup that is whole by itself.
    #[error("this is one of a chain of incremental backups, which are restored together")]
    Increment,
    /// It is whole by itself, and was taken for a file of a chain.
    #[error("file {position} is no incremental backup")]
    NotAnIncrement {
        /// Its place in the chain, from 0.
        position: usize,
    },
    /// A file of a chain has another level than its place.
    #[error("file {position} of the chain has level {level}: its files are to be given from level 0 on")]
    ChainLevel {
        /// Its place in the chain, from 0.
        position: usize,
        /// Its level.
        level: u8,
    },
    /// A file of a chain builds on another one than the file before it.
    #[error("file {position} of the chain does not build on the file before it")]
    ChainOrder {
        /// Its place in the chain, from 0.
        position: usize,
    },
    /// There is no memory for the list of what a chain has.
    #[error(
        "the backup has so many parts ({chunks}) that their list takes more memory than a statement may have"
    )]
    TooManyChunks {
        /// How many there are.
        chunks: u64,
    },
    /// It ends too early: it was cut off, or never finished.
    #[error("the backup is incomplete: it ends after {bytes} bytes, without its end mark")]
    Truncated {
        /// Where it ends.
        bytes: u64,
    },
    /// Its bytes are not those that were written.
    #[error("the backup is damaged: {what}, near byte {offset}")]
    Damaged {
        /// What is wrong.
        what: String,
        /// Where the chunk begins in which it was found.
        offset: u64,
    },
    /// An index cannot be built from the rows.
    #[error("cannot build index {index} of {relation}: {error}")]
    Index {
        /// The index's name.
        index: String,
        /// Its relation's name.
        relation: String,
        /// Why.
        error: StoreError,
    },
}
