//! Committed rows in the substrate: versions over blocks.
//!
//! A row's versions, newest first, cover what a block says of it; the block is the oldest of all.

use std::ops::Bound;

use farbird_types::Value;

use crate::block::{Block, Stamp};
use crate::decoder::RowDecoder;
use crate::store::Inner;
use crate::substrate::{Direction, Slice, Snapshot, Space};
use crate::version::{StoredVersion, VersionContent};
use crate::{CommitNumber, RelationId, Result, RowId, StoreError, TransactionId, keyspace};

/// Which commits are seen.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sight<'a> {
    /// All of them.
    Everything,
    /// Those up to a number, and a transaction's own (after COMMIT RETAIN).
    Until(CommitNumber, &'a [CommitNumber]),
}

impl Sight<'_> {
    pub(crate) fn sees(self, commit: CommitNumber) -> bool {
        match self {
            Sight::Everything => true,
            Sight::Until(snapshot, own) => commit <= snapshot || own.contains(&commit),
        }
    }

    /// No newer commit is seen.
    pub(crate) fn newest(self) -> CommitNumber {
        match self {
            Sight::Everything => CommitNumber(u64::MAX),
            Sight::Until(snapshot, own) => own.iter().copied().fold(snapshot, CommitNumber::max),
        }
    }
}

/// A committed version of a row.
#[derive(Debug)]
pub(crate) struct CommittedRow {
    pub(crate) commit: CommitNumber,
    pub(crate) writer: TransactionId,
    pub(crate) content: CommittedContent,
}

/// Where a committed row's values are.
#[derive(Debug)]
pub(crate) enum CommittedContent {
    Deleted,
    /// In a version; decoded before, so decoding again does not fail.
    Version(Slice),
    /// At a place of a block.
    Block(Block, usize),
}

impl CommittedRow {
    pub(crate) fn is_deleted(&self) -> bool {
        matches!(self.content, CommittedContent::Deleted)
    }

    /// Appends the row's values. Not for deleted rows.
    pub(crate) fn decode(&self, row: RowId, decoder: &RowDecoder<'_>, out: &mut Vec<Value>) -> Result<()> {
        match &self.content {
            CommittedContent::Deleted => Err(StoreError::NoSuchRow { row }),
            CommittedContent::Version(slice) => match StoredVersion::decode(slice, row)?.content {
                VersionContent::Deleted => Err(StoreError::NoSuchRow { row }),
                VersionContent::Row { format, bytes } => decoder.decode(row, format, bytes, out),
            },
            CommittedContent::Block(block, index) => {
                let start = out.len();
                let reader = block.reader(decoder.format(block.format)?)?;
                reader.decode_row(*index, decoder.columns(), out).map_err(|error| block.damaged(&error))?;
                decoder.adapt(block.format, start, out)
            }
        }
    }
}

/// The commit that a block's stamp stands for; `None` while its transaction is not committed.
pub(crate) fn block_commit(inner: &Inner, stamp: Stamp) -> Option<CommitNumber> {
    match stamp {
        Stamp::Commit(commit) => Some(commit),
        Stamp::Transaction(transaction) => inner.spilled_commit(transaction),
    }
}

/// The block whose span holds a row.
pub(crate) fn block_of(snapshot: &dyn Snapshot, relation: RelationId, row: RowId) -> Result<Option<Block>> {
    let key = keyspace::block(row);
    let span = (Bound::Unbounded, Bound::Included(&key[..]));
    let mut before = snapshot.scan(Space::Blocks(relation), span, Direction::Backward)?;
    match before.next() {
        None => Ok(None),
        Some(entry) => {
            let (key, value) = entry?;
            let block = Block::open(&key, value)?;
            Ok((block.last >= row.0).then_some(block))
        }
    }
}

/// The newest committed version of a row that is seen.
pub(crate) fn find_row(
    inner: &Inner,
    snapshot: &dyn Snapshot,
    relation: RelationId,
    row: RowId,
    sight: Sight<'_>,
) -> Result<Option<CommittedRow>> {
    let newest = keyspace::version(row, sight.newest());
    let oldest = keyspace::version(row, CommitNumber(0));
    let span = (Bound::Included(&newest[..]), Bound::Included(&oldest[..]));
    for entry in snapshot.scan(Space::Versions(relation), span, Direction::Forward)? {
        let (key, value) = entry?;
        let (_, commit) = keyspace::parse_version(&key).ok_or_else(|| StoreError::corrupt("key of a version"))?;
        if sight.sees(commit) {
            let version = StoredVersion::decode(&value, row)?;
            let writer = version.writer;
            let content = match version.content {
                VersionContent::Deleted => CommittedContent::Deleted,
                VersionContent::Row { .. } => CommittedContent::Version(value),
            };
            return Ok(Some(CommittedRow { commit, writer, content }));
        }
    }
    let Some(block) = block_of(snapshot, relation, row)? else { return Ok(None) };
    let Some(commit) = block_commit(inner, block.stamp).filter(|commit| sight.sees(*commit)) else { return Ok(None) };
    let Some(index) = block.index_of(row.0) else { return Ok(None) };
    Ok(Some(CommittedRow { commit, writer: block.writer, content: CommittedContent::Block(block, index) }))
}
