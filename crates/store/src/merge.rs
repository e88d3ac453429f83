//! The rows of a relation that a view sees, in row order: own changes over committed versions over row blocks.

use std::iter::Peekable;
use std::ops::{Bound, Range};
use std::sync::Arc;

use crate::block::Block;
use crate::changes::{SeenChange, SeenChanges};
use crate::committed::{Visibility, scanned_block_of};
use crate::decoder::RowDecoder;
use crate::store::Inner;
use crate::substrate::{Direction, Entries, Slice, Space, SubstrateState};
use crate::transaction::Core;
use crate::version::{StoredVersion, VersionContent};
use crate::write_set::OwnRow;
use crate::{
    CancelFlag, CommitNumber, ReadView, RelationId, Result, RowBatch, RowId, StoreError, Transaction,
    keyspace,
};

/// What comes next.
pub(crate) enum MergedRow<'a> {
    /// A row written by the transaction itself: record format and bytes.
    Own(RowId, u16, &'a [u8]),
    /// A committed version, not of a deleted row.
    Version(RowId, Slice),
    /// Rows at these places of the current block, covered by nothing.
    Block(Range<usize>),
}

/// A walk over the visible rows.
pub(crate) struct MergedRows<'a> {
    cancel: &'a CancelFlag,
    /// The transaction whose own changes are seen; `None`: nobody's.
    core: Option<&'a Core>,
    relation: RelationId,
    change: u64,
    /// Rows from this number on are not handed out.
    end: u64,
    own: Option<(RowId, OwnRow<'a>)>,
    versions: VisibleVersions<'a>,
    blocks: VisibleBlocks<'a>,
}

impl<'a> MergedRows<'a> {
    /// A walk of a transaction that begins at row `from`. It can be cancelled.
    pub(crate) fn new(
        transaction: &'a Transaction,
        snapshot: &'a dyn SubstrateState,
        core: &'a Core,
        relation: RelationId,
        view: &ReadView,
        from: u64,
    ) -> Result<MergedRows<'a>> {
        let (inner, cancel) = (&*transaction.store().inner, &**transaction.cancel_flag());
        let visibility = core.visibility(relation, view);
        let change = view.change();
        let own = core.writes.relation(relation).and_then(|writes| writes.next_row(RowId(from), change));
        let seen = MergedRows::seen(inner, cancel, snapshot, relation, visibility, from)?;
        Ok(MergedRows { core: Some(core), change, own, ..seen })
    }

    /// A walk over what is seen in the substrate.
    pub(crate) fn seen(
        inner: &'a Inner,
        cancel: &'a CancelFlag,
        snapshot: &'a dyn SubstrateState,
        relation: RelationId,
        visibility: Visibility<'a>,
        from: u64,
    ) -> Result<MergedRows<'a>> {
        let versions = VisibleVersions::new(inner, cancel, snapshot, relation, visibility, from)?;
        let blocks = VisibleBlocks::new(inner, cancel, snapshot, relation, visibility, from)?;
        Ok(MergedRows { cancel, core: None, relation, change: 0, end: u64::MAX, own: None, versions, blocks })
    }

    /// A walk over what is committed up to a number, for nobody's transaction.
    pub(crate) fn committed(
        inner: &'a Inner,
        cancel: &'a CancelFlag,
        snapshot: &'a dyn SubstrateState,
        relation: RelationId,
        until: CommitNumber,
        from: u64,
    ) -> Result<MergedRows<'a>> {
        let visibility = Visibility { until, own_commits: &[], meets_limbo: false, own: None };
        MergedRows::seen(inner, cancel, snapshot, relation, visibility, from)
    }

    /// The same walk, which ends before row `end`.
    pub(crate) fn until(self, end: u64) -> MergedRows<'a> {
        MergedRows { end, ..self }
    }

    /// What comes next: one row, or a stretch of a block of which the caller takes as much as it likes with
    /// [`MergedRows::take_from_block`] or [`MergedRows::skip_in_block`].
    pub(crate) fn next(&mut self) -> Result<Option<MergedRow<'a>>> {
        loop {
            self.cancel.check()?;
            let own = self.own.map_or(u64::MAX, |(row, _)| row.0);
            let version = self.versions.row()?;
            let covering = own.min(version);
            let block_row = self.blocks.row()?.unwrap_or(u64::MAX);
            if covering.min(block_row) >= self.end {
                return Ok(None);
            }
            if block_row < covering {
                return Ok(Some(MergedRow::Block(self.blocks.stretch(covering.min(self.end)))));
            }
            if block_row == covering {
                self.blocks.skip_row();
            }
            if own == covering {
                if version == own {
                    self.versions.take()?;
                }
                if let Some(own) = self.take_own() {
                    return Ok(Some(own));
                }
            } else if let Some((row, slice)) = self.versions.take()? {
                return Ok(Some(MergedRow::Version(row, slice)));
            }
        }
    }

    /// The least number that the next row can have, whether or not the walk ends before it; the greatest one if there is no row.
    pub(crate) fn next_number(&mut self) -> Result<u64> {
        let own = self.own.map_or(u64::MAX, |(row, _)| row.0);
        Ok(own.min(self.versions.row()?).min(self.blocks.row()?.unwrap_or(u64::MAX)))
    }

    fn take_own(&mut self) -> Option<MergedRow<'a>> {
        let (row, own) = self.own.take()?;
        let writes = self.core.and_then(|core| core.writes.relation(self.relation));
        self.own = writes.and_then(|writes| writes.next_row(RowId(row.0 + 1), self.change));
        match own {
            OwnRow::Deleted => None,
            OwnRow::Row { format, bytes } => Some(MergedRow::Own(row, format, bytes)),
        }
    }

    /// Decodes rows of the stretch that [`MergedRows::next`] gave; gives the number of the row after them.
    pub(crate) fn take_from_block(
        &mut self,
        places: Range<usize>,
        decoder: &RowDecoder<'_>,
        batch: &mut RowBatch,
    ) -> Result<u64> {
        let Some(open) = &mut self.blocks.current else { return Ok(u64::MAX) };
        let block = &open.block;
        let reader = block.reader(decoder.format(block.format)?)?;
        if decoder.is_current(block.format) {
            reader
                .decode_rows(places.clone(), decoder.columns(), &mut batch.values)
                .map_err(|error| block.damaged(&error))?;
        } else {
            for place in places.clone() {
                let start = batch.values.len();
                reader
                    .decode_row(place, decoder.columns(), &mut batch.values)
                    .map_err(|error| block.damaged(&error))?;
                decoder.adapt(block.format, start, &mut batch.values)?;
            }
        }
        batch.rows.extend(block.row_ids_from(places.start).take(places.len()).map(RowId));
        open.place = places.end;
        Ok(batch.rows.last().map_or(u64::MAX, |row| row.0 + 1))
    }

    /// The block that the stretch that [`MergedRows::next`] gave is in.
    pub(crate) fn block(&self) -> Option<&Arc<Block>> {
        self.blocks.current.as_ref().map(|open| &open.block)
    }

    /// Passes over rows of the stretch that [`MergedRows::next`] gave, not none; gives the number of the row after them.
    pub(crate) fn skip_in_block(&mut self, places: Range<usize>) -> u64 {
        let Some(open) = &mut self.blocks.current else { return u64::MAX };
        open.place = places.end;
        open.row_at(places.end.saturating_sub(1)).map_or(u64::MAX, |row| row + 1)
    }
}

/// The newest visible version, or spilled change, of each row that has one.
struct VisibleVersions<'a> {
    cancel: &'a CancelFlag,
    entries: Peekable<Entries>,
    visibility: Visibility<'a>,
    changes: SeenChanges<'a>,
    version: Option<(RowId, CommitNumber, Slice)>,
    change: Option<(RowId, SeenChange)>,
    current: Option<(RowId, Slice)>,
}

impl<'a> VisibleVersions<'a> {
    fn new(
        inner: &'a Inner,
        cancel: &'a CancelFlag,
        snapshot: &dyn SubstrateState,
        relation: RelationId,
        visibility: Visibility<'a>,
        from: u64,
    ) -> Result<VisibleVersions<'a>> {
        let first = keyspace::version(RowId(from), CommitNumber(u64::MAX));
        let space = Space::Versions(relation);
        // Most relations have none, or none there: a comparison is cheaper than a look.
        let entries = match snapshot.bounds(space)?.filter(|bounds| bounds.last.as_slice() >= &first[..]) {
            None => Box::new(std::iter::empty()),
            Some(_) => {
                snapshot.scan(space, (Bound::Included(&first[..]), Bound::Unbounded), Direction::Forward)?
            }
        };
        let entries = entries.peekable();
        let changes = SeenChanges::new(
            inner,
            Some(cancel),
            snapshot,
            relation,
            visibility,
            RowId(from),
            RowId(u64::MAX),
        )?;
        Ok(VisibleVersions {
            cancel,
            entries,
            visibility,
            changes,
            version: None,
            change: None,
            current: None,
        })
    }

    /// The number of the next row; the greatest number if there is none.
    fn row(&mut self) -> Result<u64> {
        if self.current.is_none() {
            self.advance()?;
        }
        Ok(self.current.as_ref().map_or(u64::MAX, |(row, _)| row.0))
    }

    /// Passes over the next row; its version unless the row is deleted.
    fn take(&mut self) -> Result<Option<(RowId, Slice)>> {
        let Some((row, slice)) = self.current.take() else { return Ok(None) };
        let content = StoredVersion::decode(&slice, row)?.content;
        Ok((content != VersionContent::Deleted).then_some((row, slice)))
    }

    fn advance(&mut self) -> Result<()> {
        if self.version.is_none() {
            self.version = self.next_version()?;
        }
        if self.change.is_none() {
            self.change = self.changes.next()?;
        }
        let (Some((row, commit, _)), Some((changed, change))) = (&self.version, &self.change) else {
            let version = self.version.take().map(|(row, _, value)| (row, value));
            self.current = version.or_else(|| self.change.take().map(|(row, change)| (row, change.value)));
            return Ok(());
        };
        let is_same = row == changed;
        if changed < row || is_same && *commit < change.commit {
            self.current = self.change.take().map(|(row, change)| (row, change.value));
            if is_same {
                self.version = None;
            }
        } else {
            self.current = self.version.take().map(|(row, _, value)| (row, value));
            if is_same {
                self.change = None;
            }
        }
        Ok(())
    }

    fn next_version(&mut self) -> Result<Option<(RowId, CommitNumber, Slice)>> {
        while let Some(entry) = self.entries.next() {
            self.cancel.check()?;
            let (key, value) = entry?;
            let (row, commit) = parse(&key)?;
            if self.visibility.sees(commit) {
                // Older versions of the row follow: nobody asks for them.
                while let Some(Ok((key, _))) = self.entries.peek() {
                    self.cancel.check()?;
                    if parse(key)?.0 != row {
                        break;
                    }
                    self.entries.next();
                }
                return Ok(Some((row, commit, value)));
            }
        }
        Ok(None)
    }
}

fn parse(key: &[u8]) -> Result<(RowId, CommitNumber)> {
    keyspace::parse_version(key).ok_or_else(|| StoreError::corrupt("key of a version"))
}

/// The visible blocks, and a place in the current one.
struct VisibleBlocks<'a> {
    inner: &'a Inner,
    cancel: &'a CancelFlag,
    snapshot: &'a dyn SubstrateState,
    relation: RelationId,
    visibility: Visibility<'a>,
    current: Option<OpenBlock>,
    /// The blocks behind the first one, from this row on: looked for when that has come to its end. A walk by columns is over by
    /// then.
    following: Option<Entries>,
    following_from: u64,
}

struct OpenBlock {
    block: Arc<Block>,
    place: usize,
    /// So many of its rows are seen.
    rows: usize,
    /// The rows' numbers, if they have gaps.
    listed: Option<Vec<u64>>,
}

impl OpenBlock {
    fn new(block: Arc<Block>, place: usize, rows: usize) -> OpenBlock {
        let listed = block.has_gaps().then(|| block.row_ids_from(0).collect());
        OpenBlock { block, place, rows, listed }
    }

    fn row(&self) -> Option<u64> {
        if self.place >= self.rows {
            return None;
        }
        self.row_at(self.place)
    }

    fn row_at(&self, place: usize) -> Option<u64> {
        match &self.listed {
            Some(listed) => listed.get(place).copied(),
            None => Some(self.block.first + place as u64),
        }
    }
}

impl<'a> VisibleBlocks<'a> {
    fn new(
        inner: &'a Inner,
        cancel: &'a CancelFlag,
        snapshot: &'a dyn SubstrateState,
        relation: RelationId,
        visibility: Visibility<'a>,
        from: u64,
    ) -> Result<VisibleBlocks<'a>> {
        let current = scanned_block_of(snapshot, relation, RowId(from))?;
        let following_from = current.as_ref().map_or(from, |block| block.last.saturating_add(1));
        let mut blocks = VisibleBlocks {
            inner,
            cancel,
            snapshot,
            relation,
            visibility,
            current: None,
            following: None,
            following_from,
        };
        blocks.current = match current {
            Some(block) => blocks.open(block, from)?,
            None => None,
        };
        Ok(blocks)
    }

    fn open(&self, block: Arc<Block>, from: u64) -> Result<Option<OpenBlock>> {
        let seen = self.visibility.of_block(self.inner, &block)?;
        Ok(seen.map(|seen| {
            let place = block.index_from(from);
            OpenBlock::new(block, place, seen.rows)
        }))
    }

    /// The number of the next row.
    fn row(&mut self) -> Result<Option<u64>> {
        loop {
            if let Some(row) = self.current.as_ref().and_then(OpenBlock::row) {
                return Ok(Some(row));
            }
            self.current = None;
            self.cancel.check()?;
            let following = match &mut self.following {
                Some(following) => following,
                None => {
                    let first = keyspace::block(RowId(self.following_from));
                    let span = (Bound::Included(&first[..]), Bound::Unbounded);
                    let blocks = Space::Blocks(self.relation);
                    self.following.insert(self.snapshot.scan(blocks, span, Direction::Forward)?)
                }
            };
            let Some(entry) = following.next() else { return Ok(None) };
            let (key, value) = entry?;
            let block = Arc::new(Block::open(&key, value)?);
            self.current = self.open(block, 0)?;
        }
    }

    fn skip_row(&mut self) {
        if let Some(open) = &mut self.current {
            open.place += 1;
        }
    }

    /// The places of the current block's next rows below row `end`.
    fn stretch(&self, end: u64) -> Range<usize> {
        self.current.as_ref().map_or(0..0, |open| open.place..open.block.index_from(end).min(open.rows))
    }
}
