//! Rows in the substrate: versions, and spilled changes, over blocks.
//!
//! A row's versions, newest first, cover what a block says of it; the block is the oldest of all. Changes that large
//! transactions have spilled stand beside the versions: the one of the newest commit counts.

use std::ops::Bound;
use std::sync::Arc;

use farbird_types::Value;

use crate::block::{Block, Stamp};
use crate::block_cache::BlockCache;
use crate::changes::{OWN, find_change};
use crate::decoder::RowDecoder;
use crate::store::Inner;
use crate::substrate::{Direction, KeyBounds, RowSpaces, Slice, Space, SubstrateState};
use crate::version::{StoredVersion, VersionContent};
use crate::write_set::RelationWrites;
use crate::{CommitNumber, RelationId, Result, RowId, StoreError, TransactionId, keyspace};

/// What is seen of a relation's rows in the substrate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visibility<'a> {
    /// Commits up to this one.
    pub(crate) until: CommitNumber,
    /// And these: the transaction's own (after COMMIT RETAIN).
    pub(crate) own_commits: &'a [CommitNumber],
    /// Whether rows of transactions in limbo are errors; else they are not seen.
    pub(crate) meets_limbo: bool,
    /// And what the transaction itself has spilled, up to a change.
    pub(crate) own: Option<OwnVisibility<'a>>,
}

/// What a transaction sees of the blocks that it has spilled itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnVisibility<'a> {
    pub(crate) id: TransactionId,
    pub(crate) writes: &'a RelationWrites,
    pub(crate) change: u64,
}

/// The seen part of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenBlock {
    pub(crate) commit: CommitNumber,
    /// So many rows from its beginning.
    pub(crate) rows: usize,
}

/// All commits.
pub(crate) const EVERY_COMMIT: CommitNumber = CommitNumber(u64::MAX);

impl Visibility<'_> {
    pub(crate) fn sees(self, commit: CommitNumber) -> bool {
        commit <= self.until || self.own_commits.contains(&commit)
    }

    /// No newer commit is seen.
    fn newest(self) -> CommitNumber {
        self.own_commits.iter().copied().fold(self.until, CommitNumber::max)
    }

    /// What is seen of a block; `None`: nothing.
    ///
    /// # Errors
    /// `InLimbo`.
    pub(crate) fn of_block(self, inner: &Inner, block: &Block) -> Result<Option<SeenBlock>> {
        if let (Some(own), Stamp::Transaction(transaction)) = (self.own, block.stamp)
            && own.id == transaction
        {
            let run = own.writes.run_of(block.first).filter(|run| run.first == block.first);
            // Own work is older than whatever others commit from now on.
            return Ok(run.map(|run| SeenBlock { commit: CommitNumber(0), rows: run.visible(own.change) }));
        }
        if let (true, Stamp::Transaction(transaction)) = (self.meets_limbo, block.stamp)
            && inner.spilled.is_in_limbo_at(transaction, self.until)
        {
            return Err(StoreError::InLimbo { transaction });
        }
        let commit = block_commit(inner, block.stamp).filter(|commit| self.sees(*commit));
        Ok(commit.map(|commit| SeenBlock { commit, rows: block.rows }))
    }
}

/// A committed version of a row.
#[derive(Debug)]
pub(crate) struct CommittedRow {
    pub(crate) commit: CommitNumber,
    pub(crate) content: CommittedContent,
}

/// Where a committed row's values are.
#[derive(Debug)]
pub(crate) enum CommittedContent {
    /// By this transaction.
    Deleted(TransactionId),
    /// In a version that this transaction wrote; decoded before, so decoding again does not fail.
    Version(TransactionId, Slice),
    /// At a place of a block.
    Block(Arc<Block>, usize),
}

impl CommittedRow {
    fn of_version(commit: CommitNumber, row: RowId, value: Slice) -> Result<CommittedRow> {
        let version = StoredVersion::decode(&value, row)?;
        let writer = version.writer;
        let content = match version.content {
            VersionContent::Deleted => CommittedContent::Deleted(writer),
            VersionContent::Row { .. } => CommittedContent::Version(writer, value),
        };
        Ok(CommittedRow { commit, content })
    }

    /// The transaction that wrote it; 0 of rows that were swept when that was not kept.
    pub(crate) fn writer(&self) -> TransactionId {
        match &self.content {
            CommittedContent::Deleted(writer) | CommittedContent::Version(writer, _) => *writer,
            CommittedContent::Block(block, index) => block.writer_of(*index),
        }
    }

    /// Whether a running transaction wrote it. Quicker than to compare its writer: a block has a list of those.
    pub(crate) fn is_of(&self, transaction: TransactionId) -> bool {
        match &self.content {
            CommittedContent::Deleted(writer) | CommittedContent::Version(writer, _) => {
                *writer == transaction
            }
            CommittedContent::Block(block, _) => block.stamp == Stamp::Transaction(transaction),
        }
    }

    pub(crate) fn is_deleted(&self) -> bool {
        matches!(self.content, CommittedContent::Deleted(_))
    }

    /// Appends the row's values. Not for deleted rows.
    pub(crate) fn decode(&self, row: RowId, decoder: &RowDecoder<'_>, out: &mut Vec<Value>) -> Result<()> {
        match &self.content {
            CommittedContent::Deleted(_) => Err(StoreError::NoSuchRow { row }),
            CommittedContent::Version(_, slice) => match StoredVersion::decode(slice, row)?.content {
                VersionContent::Deleted => Err(StoreError::NoSuchRow { row }),
                VersionContent::Row { format, bytes } => decoder.decode(row, format, bytes, out),
            },
            CommittedContent::Block(block, index) => {
                let start = out.len();
                block.decode_row(decoder.format(block.format)?, *index, decoder.columns(), out)?;
                decoder.adapt(block.format, start, out)
            }
        }
    }
}

/// The commit that a block's stamp stands for; `None` while its transaction is not committed.
pub(crate) fn block_commit(inner: &Inner, stamp: Stamp) -> Option<CommitNumber> {
    match stamp {
        Stamp::Commit(commit) => Some(commit),
        Stamp::Transaction(transaction) => inner.spilled.commit_of(transaction),
    }
}

/// The block whose span holds a row.
pub(crate) fn block_of(
    snapshot: &dyn SubstrateState,
    relation: RelationId,
    row: RowId,
) -> Result<Option<Arc<Block>>> {
    read_block_of(snapshot, relation, row, BlockCache::keep)
}

/// The same for who goes through all blocks: those take nobody's place in the cache, but what is read from its middle on, which is asked
/// for again.
pub(crate) fn scanned_block_of(
    snapshot: &dyn SubstrateState,
    relation: RelationId,
    row: RowId,
) -> Result<Option<Arc<Block>>> {
    read_block_of(snapshot, relation, row, |cache, relation, block| match block.first < row.0 {
        true => cache.keep(relation, block),
        false => cache.keep_if_room(relation, block),
    })
}

fn read_block_of(
    snapshot: &dyn SubstrateState,
    relation: RelationId,
    row: RowId,
    keep: impl FnOnce(&BlockCache, RelationId, Block) -> Arc<Block>,
) -> Result<Option<Arc<Block>>> {
    let cache = snapshot.block_cache();
    if let Some(known) = cache.and_then(|cache| cache.block_of(relation, row)) {
        return Ok(Some(known));
    }
    let key = keyspace::block(row);
    let span = (Bound::Unbounded, Bound::Included(&key[..]));
    let mut before = snapshot.scan(Space::Blocks(relation), span, Direction::Backward)?;
    match before.next() {
        None => Ok(None),
        Some(entry) => {
            let (key, value) = entry?;
            let block = Block::open(&key, value)?;
            let block = match cache {
                Some(cache) => keep(cache, relation, block),
                None => Arc::new(block),
            };
            Ok((block.last >= row.0).then_some(block))
        }
    }
}

/// The running transaction that has spilled a block with this row.
pub(crate) fn spiller_of(
    inner: &Inner,
    snapshot: &dyn SubstrateState,
    relation: RelationId,
    row: RowId,
) -> Result<Option<TransactionId>> {
    Ok(block_of(snapshot, relation, row)?.and_then(|block| match block.stamp {
        Stamp::Transaction(spiller) if inner.spilled.is_running(spiller) => Some(spiller),
        _ => None,
    }))
}

/// The newest committed version of a row that is seen.
pub(crate) fn find_row(
    inner: &Inner,
    snapshot: &dyn SubstrateState,
    relation: RelationId,
    row: RowId,
    visibility: Visibility<'_>,
) -> Result<Option<CommittedRow>> {
    RowFinder::new(inner, snapshot, relation)?.find(row, visibility)
}

/// Looks rows of a relation up in one state of the substrate, one after the other: what is known of the relation is asked
/// once, and the block of the latest row is at hand for its neighbours.
pub(crate) struct RowFinder<'a> {
    inner: &'a Inner,
    snapshot: &'a dyn SubstrateState,
    relation: RelationId,
    /// The first and the last version, if there are any.
    versions: Option<Arc<KeyBounds>>,
    /// Whether there may be spilled changes.
    has_changes: bool,
    block: Option<Arc<Block>>,
}

impl<'a> RowFinder<'a> {
    pub(crate) fn new(
        inner: &'a Inner,
        snapshot: &'a dyn SubstrateState,
        relation: RelationId,
    ) -> Result<RowFinder<'a>> {
        let RowSpaces { versions, has_changes } = snapshot.row_spaces(relation)?;
        Ok(RowFinder { inner, snapshot, relation, versions, has_changes, block: None })
    }

    /// The newest committed version of a row that is seen.
    pub(crate) fn find(&mut self, row: RowId, visibility: Visibility<'_>) -> Result<Option<CommittedRow>> {
        let version = self.find_version(row, visibility)?;
        if self.has_changes
            && let Some(change) = find_change(self.inner, self.snapshot, self.relation, row, visibility)?
            && version.as_ref().is_none_or(|version| version.commit < change.commit)
        {
            // Own work is older than whatever others commit from now on.
            let commit = if change.commit == OWN { CommitNumber(0) } else { change.commit };
            return CommittedRow::of_version(commit, row, change.value).map(Some);
        }
        if version.is_some() {
            return Ok(version);
        }
        let inner = self.inner;
        let Some(block) = self.block_of(row)? else { return Ok(None) };
        let Some(index) = block.index_of(row.0) else { return Ok(None) };
        let Some(seen) = visibility.of_block(inner, block)? else { return Ok(None) };
        if index >= seen.rows {
            return Ok(None);
        }
        let content = CommittedContent::Block(Arc::clone(block), index);
        Ok(Some(CommittedRow { commit: seen.commit, content }))
    }

    /// Whether there may be spilled changes of the relation's rows.
    pub(crate) fn has_changes(&self) -> bool {
        self.has_changes
    }

    /// Whether a running transaction has spilled a block with this row.
    pub(crate) fn is_of_running(&mut self, row: RowId) -> Result<bool> {
        let inner = self.inner;
        Ok(self.block_of(row)?.is_some_and(|block| match block.stamp {
            Stamp::Transaction(spiller) => inner.spilled.is_running(spiller),
            Stamp::Commit(_) => false,
        }))
    }

    fn block_of(&mut self, row: RowId) -> Result<Option<&Arc<Block>>> {
        if !self.block.as_ref().is_some_and(|block| (block.first..=block.last).contains(&row.0)) {
            self.block = block_of(self.snapshot, self.relation, row)?;
        }
        Ok(self.block.as_ref())
    }

    /// The newest version of a row that is seen.
    fn find_version(&self, row: RowId, visibility: Visibility<'_>) -> Result<Option<CommittedRow>> {
        // Most rows have no version any more, and most relations none at all: a comparison is cheaper than a look.
        let Some(bounds) = &self.versions else { return Ok(None) };
        let newest = keyspace::version(row, visibility.newest());
        let oldest = keyspace::version(row, CommitNumber(0));
        if bounds.last.as_slice() < &newest[..] || bounds.first.as_slice() > &oldest[..] {
            return Ok(None);
        }
        let span = (Bound::Included(&newest[..]), Bound::Included(&oldest[..]));
        for entry in self.snapshot.scan(Space::Versions(self.relation), span, Direction::Forward)? {
            let (key, value) = entry?;
            let (_, commit) =
                keyspace::parse_version(&key).ok_or_else(|| StoreError::corrupt("key of a version"))?;
            if visibility.sees(commit) {
                return CommittedRow::of_version(commit, row, value).map(Some);
            }
        }
        Ok(None)
    }
}
