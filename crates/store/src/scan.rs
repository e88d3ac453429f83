//! Scans of a relation in row order, and the batches in which rows are handed out.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use farbird_record::{BlockReader, ColumnBounds};
use farbird_types::Value;
use parking_lot::MappedMutexGuard;

use crate::block::Block;
use crate::column_batch::ColumnBatch;
use crate::committed::{Visibility, block_of};
use crate::decoder::{RowDecoder, latest_layout};
use crate::merge::{MergedRow, MergedRows};
use crate::substrate::SubstrateState;
use crate::transaction::Core;
use crate::version::{StoredVersion, VersionContent};
use crate::{ReadView, RelationId, RelationLayout, Result, RowId, Transaction};

/// Which columns a read decodes, by slot.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    slots: Option<Arc<[u16]>>,
}

impl Projection {
    /// All columns, by slot.
    pub fn all() -> Projection {
        Projection { slots: None }
    }

    /// These slots, in this order; may be empty (only row ids are asked for).
    pub fn of(slots: impl Into<Arc<[u16]>>) -> Projection {
        Projection { slots: Some(slots.into()) }
    }

    /// The slots, or `None` for all.
    pub fn slots(&self) -> Option<&[u16]> {
        self.slots.as_deref()
    }
}

/// Rows handed out by a scan, in scan order. Reused from call to call.
#[derive(Debug, Default)]
pub struct RowBatch {
    pub(crate) width: usize,
    pub(crate) rows: Vec<RowId>,
    pub(crate) values: Vec<Value>,
}

impl RowBatch {
    /// An empty batch.
    pub fn new() -> RowBatch {
        RowBatch::default()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many values each row has: the length of the scan's projection.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of the row at `index`.
    ///
    /// # Panics
    /// If `index` is not below [`RowBatch::len`].
    pub fn row_id(&self, index: usize) -> RowId {
        self.rows[index]
    }

    /// A value of the row at `index`; `column` counts within the projection (for [`Projection::all`]: the slot).
    /// Cheap: texts are shared.
    ///
    /// # Panics
    /// If `index` is not below [`RowBatch::len`] or `column` not below [`RowBatch::width`].
    pub fn value(&self, index: usize, column: usize) -> Value {
        assert!(column < self.width, "column {column} of {}", self.width);
        self.values[index * self.width + column].clone()
    }

    /// Takes all values of the row at `index` out of the batch; they are NULL afterwards.
    ///
    /// # Panics
    /// If `index` is not below [`RowBatch::len`].
    pub fn take_row(&mut self, index: usize) -> Vec<Value> {
        let start = index * self.width;
        self.values[start..start + self.width].iter_mut().map(std::mem::take).collect()
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.values.clear();
    }
}

/// A scan of a relation in row order. A value: between batches it holds nothing but its place.
#[derive(Debug, Clone)]
pub struct RelationScan {
    layout: Arc<RelationLayout>,
    view: ReadView,
    columns: Projection,
    next: u64,
    /// Rows from this number on are others'.
    end: u64,
    blocks: ScannedBlocks,
}

/// How many row blocks a scan by columns came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScannedBlocks {
    /// Those of which rows were handed out.
    pub read: u64,
    /// Those that were passed over: what their columns are known to be between was enough.
    pub skipped: u64,
    /// The first row of the latest one, so that each is counted once.
    latest: Option<u64>,
}

impl ScannedBlocks {
    fn note(&mut self, block: &Block, is_skipped: bool) {
        if self.latest.replace(block.first) != Some(block.first) {
            *if is_skipped { &mut self.skipped } else { &mut self.read } += 1;
        }
    }
}

/// Whether the rows of a block can be passed over; asked once for each block that a round comes by.
pub type SkipBlock<'a> = &'a mut dyn FnMut(&BlockColumns<'_>) -> bool;

/// What is known of the columns of a row block before it is decoded. Of its rows only: newer versions of them are handed out by
/// themselves.
pub struct BlockColumns<'a> {
    block: &'a Block,
    decoder: &'a RowDecoder<'a>,
    reader: OnceCell<Option<Box<dyn BlockReader + 'a>>>,
}

impl BlockColumns<'_> {
    /// The numbers of its first and last row.
    pub fn row_ids(&self) -> (RowId, RowId) {
        (RowId(self.block.first), RowId(self.block.last))
    }

    /// Bounds of a column of numbers, by position in the projection, if they are known.
    pub fn bounds(&self, position: usize) -> Option<ColumnBounds> {
        let slot = self.decoder.slot(position)?;
        let format = self.decoder.format(self.block.format).ok()?;
        // Rows of an older format may be seen with other values.
        if usize::from(slot) >= format.len()
            || !self.decoder.is_unchanged(self.block.format, slot).unwrap_or(false)
        {
            return None;
        }
        let reader = self.reader.get_or_init(|| self.block.reader(format).ok());
        reader.as_ref()?.column_bounds(slot)
    }
}

impl std::fmt::Debug for BlockColumns<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockColumns").field("first", &self.block.first).finish_non_exhaustive()
    }
}

impl RelationScan {
    /// A scan of the rows that `view` sees, before its first row.
    pub fn new(layout: Arc<RelationLayout>, view: ReadView, columns: Projection) -> RelationScan {
        RelationScan { layout, view, columns, next: 0, end: u64::MAX, blocks: ScannedBlocks::default() }
    }

    /// Takes the rows of the next `numbers` row numbers, or so, out of this scan, for a scan of their own, which another thread may
    /// read. It ends where a row block does, as far as that is known.
    ///
    /// # Errors
    /// Those of reading.
    pub fn split_off(&mut self, transaction: &Transaction, numbers: u64) -> Result<RelationScan> {
        let instance = transaction.instance(&self.layout)?;
        let relation = instance.as_ref().unwrap_or(&self.layout).id;
        let mut end = self.next.saturating_add(numbers.max(1));
        let snapshot = transaction.store().inner.snapshot();
        if let Some(block) = block_of(&*snapshot, relation, RowId(end))? {
            end = if block.first > self.next { block.first } else { block.last.saturating_add(1) };
        }
        let end = end.min(self.end);
        let taken = RelationScan { end, blocks: ScannedBlocks::default(), ..self.clone() };
        self.next = end;
        Ok(taken)
    }

    /// Passes over what comes before a row, given by [`RelationScan::next_row`] of a scan that was taken out of this one and has come to
    /// its end.
    pub fn pass(&mut self, row: RowId) {
        self.next = self.next.max(row.0);
    }

    /// The least number that the next row can have.
    pub fn next_row(&self) -> RowId {
        RowId(self.next)
    }

    /// Whether it is known that there are no more rows.
    pub fn is_finished(&self) -> bool {
        self.next >= self.end
    }

    /// Replaces the contents of `batch` by the next rows, at most `rows_max`. False when there are no more rows (the
    /// batch is empty then); a batch may be short, but is never empty before the end.
    pub fn next_batch(
        &mut self,
        transaction: &Transaction,
        rows_max: usize,
        batch: &mut RowBatch,
    ) -> Result<bool> {
        let instance = transaction.instance(&self.layout)?;
        let layout = instance.as_ref().unwrap_or(&self.layout);
        let decoder = RowDecoder::new(&transaction.store().inner, layout, &self.columns);
        batch.clear();
        batch.width = decoder.width();
        transaction.lock_to_read(layout.id)?;
        let core = self.core_to_read(transaction, layout.id)?;
        let snapshot = transaction.store().inner.snapshot();
        let mut rows = self.rows(transaction, &core, &*snapshot, layout.id)?;
        while batch.len() < rows_max.max(1) {
            let room = rows_max.max(1) - batch.len();
            match rows.next()? {
                None => {
                    self.next = rows.next_number()?;
                    break;
                }
                Some(MergedRow::Own(row, format, bytes)) => {
                    decoder.decode(row, format, bytes, &mut batch.values)?;
                    batch.rows.push(row);
                    self.next = row.0 + 1;
                }
                Some(MergedRow::Version(row, slice)) => {
                    if let VersionContent::Row { format, bytes } = StoredVersion::decode(&slice, row)?.content
                    {
                        decoder.decode(row, format, bytes, &mut batch.values)?;
                        batch.rows.push(row);
                    }
                    self.next = row.0 + 1;
                }
                Some(MergedRow::Block(places)) => {
                    let taken = places.start..places.end.min(places.start + room);
                    self.next = rows.take_from_block(taken, &decoder, batch)?;
                }
            }
        }
        Ok(!batch.is_empty())
    }

    /// As [`RelationScan::next_batch`], for readers of columns: the rows come with nothing decoded but those that no block
    /// holds.
    pub fn next_columns(
        &mut self,
        transaction: &Transaction,
        rows_max: usize,
        batch: &mut ColumnBatch,
    ) -> Result<bool> {
        self.next_columns_unless(transaction, rows_max, batch, &mut |_| false)
    }

    /// As [`RelationScan::next_columns`], without the rows of blocks that `skip` says can be passed over.
    pub fn next_columns_unless(
        &mut self,
        transaction: &Transaction,
        rows_max: usize,
        batch: &mut ColumnBatch,
        skip: SkipBlock<'_>,
    ) -> Result<bool> {
        let inner = &transaction.store().inner;
        let instance = transaction.instance(&self.layout)?;
        let layout = instance.as_ref().unwrap_or(&self.layout);
        let latest = latest_layout(inner, layout);
        batch.start(layout, latest.clone(), &self.columns);
        let decoder = RowDecoder::with_latest(layout, latest, &self.columns);
        transaction.lock_to_read(layout.id)?;
        let core = self.core_to_read(transaction, layout.id)?;
        let snapshot = inner.snapshot();
        let mut rows = self.rows(transaction, &core, &*snapshot, layout.id)?;
        let before = self.blocks;
        let blocks = &mut self.blocks;
        let mut skip = |block: &Block| {
            let columns = BlockColumns { block, decoder: &decoder, reader: OnceCell::new() };
            let is_skipped = skip(&columns);
            blocks.note(block, is_skipped);
            is_skipped
        };
        self.next = fill_columns(&mut rows, &snapshot, self.next, rows_max, batch, &mut skip)?;
        inner.blocks_read.fetch_add(self.blocks.read - before.read, Ordering::Relaxed);
        inner.blocks_skipped.fetch_add(self.blocks.skipped - before.skipped, Ordering::Relaxed);
        Ok(!batch.is_empty())
    }

    /// What of the transaction is needed to read the relation.
    fn core_to_read<'t>(&self, transaction: &'t Transaction, relation: RelationId) -> Result<CoreToRead<'t>> {
        let core = transaction.core()?;
        Ok(match core.committed_visibility(relation, &self.view) {
            Some(visibility) => CoreToRead::Nothing(visibility),
            None => CoreToRead::Own(core),
        })
    }

    /// The rows that are left.
    fn rows<'a>(
        &self,
        transaction: &'a Transaction,
        core: &'a CoreToRead<'_>,
        snapshot: &'a dyn SubstrateState,
        relation: RelationId,
    ) -> Result<MergedRows<'a>> {
        let rows = match core {
            CoreToRead::Own(core) => {
                MergedRows::new(transaction, snapshot, core, relation, &self.view, self.next)?
            }
            CoreToRead::Nothing(visibility) => {
                let (inner, cancel) = (&*transaction.store().inner, &**transaction.cancel_flag());
                MergedRows::seen(inner, cancel, snapshot, relation, *visibility, self.next)?
            }
        };
        Ok(rows.until(self.end))
    }

    /// How many row blocks it came by so far, in all its rounds, by columns.
    pub fn blocks(&self) -> ScannedBlocks {
        self.blocks
    }

    /// Goes on with the first row whose number is at least this.
    pub fn seek(&mut self, row: RowId) {
        self.next = row.0;
    }

    /// Goes back before the first row.
    pub fn rewind(&mut self) {
        self.next = 0;
    }
}

/// What of a transaction is needed to read a relation.
enum CoreToRead<'t> {
    /// All: it has work of its own there. Nobody else reads by it meanwhile.
    Own(MappedMutexGuard<'t, Core>),
    /// Nothing: several threads may read.
    Nothing(Visibility<'static>),
}

/// Appends the next rows to a batch of columns, at most `rows_max` and of one block, without those of blocks that are
/// skipped; gives the row to go on with, `next` if that is where it is already.
pub(crate) fn fill_columns(
    rows: &mut MergedRows<'_>,
    snapshot: &Arc<dyn SubstrateState>,
    mut next: u64,
    rows_max: usize,
    batch: &mut ColumnBatch,
    skip: &mut dyn FnMut(&Block) -> bool,
) -> Result<u64> {
    // Of the block that rows stand in now, by its first row: newer versions between its rows make many stretches of it.
    let mut decided: Option<(u64, bool)> = None;
    while batch.len() < rows_max.max(1) {
        let room = rows_max.max(1) - batch.len();
        match rows.next()? {
            None => return rows.next_number(),
            Some(MergedRow::Own(row, format, bytes)) => {
                batch.push_row(row, format, bytes)?;
                next = row.0 + 1;
            }
            Some(MergedRow::Version(row, slice)) => {
                if let VersionContent::Row { format, bytes } = StoredVersion::decode(&slice, row)?.content {
                    batch.push_row(row, format, bytes)?;
                }
                next = row.0 + 1;
            }
            Some(MergedRow::Block(places)) => {
                let is_skipped = rows.block().is_some_and(|block| match decided {
                    Some((first, is_skipped)) if first == block.first => is_skipped,
                    _ => decided.insert((block.first, skip(block))).1,
                });
                if is_skipped {
                    next = rows.skip_in_block(places);
                    continue;
                }
                let taken = places.start..places.end.min(places.start + room);
                let Some(block) =
                    rows.block().filter(|block| batch.push_block(snapshot, block, taken.clone()))
                else {
                    break;
                };
                let is_end = taken.end == block.rows;
                next = rows.skip_in_block(taken);
                // A batch has one block: to look for the next one would be to open it twice.
                if is_end {
                    break;
                }
            }
        }
    }
    Ok(next)
}
