//! Logical backups: a database's contents at one commit, as a stream of bytes that any later version reads.
//!
//! # Promises
//! - [`write_backup`] sees what one transaction sees, whatever others commit meanwhile, and holds no lock that a writer
//!   waits for. It reads in steps of [`ROWS_PER_STEP`] rows.
//! - The stream is written and read from its beginning to its end, without seeking: it may go through a pipe.
//! - Every byte is under a checksum, and the end is marked: damage, truncation and bytes behind the end give an error
//!   before the database that is being restored is called whole. Hostile bytes never panic, and take no more memory than
//!   the limits in [`frame`] say.
//! - Nothing of the substrate's layout is in it: rows, BLOBs, sequences and catalog entries are written as what they are.
//!   Indexes are built anew; BLOBs get new numbers, and the rows that own them refer to those.
//!
//! # Place
//! Knows relations by number and layout; the engine tells it which there are, and makes layouts of the catalog entries
//! of a backup ([`BackupReader::catalog`]). The bytes are described in docs/backup.md.
//!
//! | file | subject |
//! |---|---|
//! | `frame` | header, chunks, end mark: what is checked and compressed |
//! | `item` | what stands in the chunks |
//! | `write` | from a database to a stream |
//! | `read` | from a stream to a database |
//! | `digest` | by what chunks of incremental backups are told from each other |
//! | `increment` | what a file of incremental backups says of itself, and which chunks it need not have |
//! | `chain` | incremental backups: files that have what the files before them have not, read as the stream of one backup |

mod chain;
mod digest;
mod error;
mod frame;
mod increment;
mod item;
mod read;
mod write;

use std::sync::Arc;

use crate::{CommitNumber, RelationLayout};

pub use chain::{BackupChain, is_increment};
pub use digest::ChunkDigest;
pub use error::{BackupError, BackupResult};
pub(crate) use frame::MAGIC;
pub use increment::{IncrementHeader, KnownChunks, guid_of_text, guid_text};
pub use read::{BackupReader, RestoredRows, verify_backup};
pub use write::{write_backup, write_increment};

/// Rows read or written at a time.
pub(crate) const ROWS_PER_STEP: usize = 256;

/// A relation that is part of a backup.
#[derive(Debug, Clone)]
pub struct BackupRelation {
    /// Its name, for messages and for whoever looks into the file.
    pub name: String,
    /// Its layout: rows are written in its current format.
    pub layout: Arc<RelationLayout>,
    /// The names of its indexes, in the order of the layout's.
    pub index_names: Vec<String>,
    /// Of a restore: whether its rows are read and left out.
    pub is_passed_over: bool,
}

/// What a backup is made of besides the rows, as of the transaction that reads them.
#[derive(Debug, Clone, Default)]
pub struct BackupContents {
    /// The program that makes it: `farbird 0.1.0`.
    pub producer: String,
    /// The time of the snapshot: microseconds since 1970, UTC.
    pub time_us: i64,
    /// Catalog entries: keys and values are the engine's.
    pub catalog: Vec<(Vec<u8>, Vec<u8>)>,
    /// Relations with their rows, in the order in which they are written.
    pub relations: Vec<BackupRelation>,
    /// Sequences that are written as if they stood at 0.
    pub reset_sequences: Vec<crate::SequenceId>,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupStage {
    /// Rows and their BLOBs are copied.
    Rows,
    /// An index is built (of a restore).
    Indexes,
    /// What was written is made durable.
    Finishing,
}

/// How far a backup or a restore has come.
#[derive(Debug, Clone, Copy)]
pub struct BackupProgress<'a> {
    /// What is being done.
    pub stage: BackupStage,
    /// The relation whose rows are copied, or the index that is built.
    pub object: &'a str,
    /// Rows copied, of all relations.
    pub rows: u64,
    /// How many there are: known from the beginning for a backup; for a restore, of the relations met until now.
    pub rows_total: u64,
    /// Indexes built.
    pub indexes: u64,
    /// How many there are to build.
    pub indexes_total: u64,
    /// Bytes of the backup written or read.
    pub bytes: u64,
}

/// Is told about progress, many times a second.
pub type ProgressObserver<'a> = dyn FnMut(&BackupProgress<'_>) + 'a;

/// What a backup holds, or a restore has restored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackupSummary {
    /// The commit whose state it is, in the database that was backed up.
    pub commit: CommitNumber,
    /// Relations with rows of their own.
    pub relations: u64,
    /// Rows of all relations.
    pub rows: u64,
    /// BLOBs.
    pub blobs: u64,
    /// Bytes of the BLOBs, as their readers see them.
    pub blob_bytes: u64,
    /// Indexes built (of a restore).
    pub indexes: u64,
    /// Size of the backup in bytes.
    pub bytes: u64,
}
