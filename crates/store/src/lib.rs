//! The store: transactions, record versions, row blocks, indexes, blobs, sequences and catalog entries of one database,
//! over an ordered key-value substrate.
//!
//! # Promises
//! - A commit is on the disk, whole, when it returns; a crash leaves no part of any other transaction.
//! - Readers never wait for writers, nor writers for readers.
//! - Cursors ([`RelationScan`], [`IndexScan`]) are values: between two batches they hold no lock, no substrate
//!   snapshot and no thread.
//! - Bytes read from the file are checked; damage gives [`StoreError::Corrupt`], never wrong rows and never a panic.
//!
//! # Place
//! Synchronous; starts at most one background thread (the sweep), and threads that end with the building of an index. Knows rows as values by slot and relations by number:
//! names, SQL and privileges are the engine's. Uses `types` and `record`. Byte layouts: docs/store.md.
#![forbid(unsafe_code)]

pub mod backup;
mod backup_history;
mod blob;
mod block;
mod block_cache;
mod build_room;
mod cancel;
mod changes;
pub mod check;
mod column_batch;
mod commit;
mod commit_listener;
mod committed;
mod decoder;
mod entry_map;
mod entry_rows;
mod error;
mod figures;
mod file_kind;
mod identifiers;
mod index;
mod journal;
mod key_lookup;
mod keyed_projection;
mod keys;
mod keyspace;
mod layout;
mod locks;
pub mod log;
mod merge;
mod named_commits;
mod numbers;
mod options;
mod page_work;
mod pending_keys;
mod posted_events;
mod recovery;
mod registry;
mod relation_statistics;
mod row_locks;
mod row_numbers;
mod scan;
mod sequence;
mod shrink;
mod sorted_runs;
mod spilled;
mod statistics;
mod store;
pub mod substrate;
mod sweep;
mod tally;
mod temporary;
mod transaction;
mod version;
mod view;
mod write_set;
mod writers;

pub use backup_history::BackupRecord;
pub(crate) use blob::BlobKey;
pub use blob::{ARRAY_SUBTYPE, BlobOptions, BlobProperties, BlobReader, BlobWriter, SeekFrom, SegmentRead};
pub use build_room::{AmpleRoom, BuildFile, BuildMemory, BuildRoom, HelpingPlace};
pub use cancel::CancelFlag;
pub use column_batch::ColumnBatch;
pub use commit_listener::CommitListener;
pub use error::{Result, StoreError};
pub use figures::{
    AwaitedLock, CacheFigures, FileFigures, HeldLock, LockFigures, LockWait, StoreFigures, SweepFigures,
    SweepState, TIME_BOUNDS, Times,
};
pub use file_kind::{FileKind, identify, identify_open};
pub use identifiers::{CommitNumber, IndexId, RelationId, RowId, SequenceId, TransactionId};
pub use index::{IndexScan, KeyBound, KeyRange, ScanDirection};
pub use key_lookup::KeyLookup;
pub use layout::{
    IndexDefinition, KeyExpression, KeyPart, KeySource, RelationLayout, RowPredicate, TemporaryRows,
};
pub use named_commits::{CommitName, CommitOutcome};
pub use options::{Access, Isolation, LockLevel, StoreOptions, TransactionOptions, Wait};
pub use page_work::PageCounters;
pub use relation_statistics::{ColumnStatistics, IndexStatistics, RelationStatistics};
pub use scan::{BlockColumns, Projection, RelationScan, RowBatch, ScannedBlocks, SkipBlock};
pub use shrink::{Shrunk, shrink};
pub use statistics::{ActiveTransaction, StoreStatistics};
pub use store::Store;
pub use tally::{Counted, RecordCounter, RecordCounters, Tally};
pub use transaction::{
    KeyPair, LaterChange, PreparedTransaction, RowUpdate, Savepoint, SessionRelations, Transaction,
};

pub use farbird_record::{
    CodecId, ColumnBounds, ColumnValues, ColumnVector, NullBits, TextCodes, UnknownCodecName,
};
pub use view::ReadView;
