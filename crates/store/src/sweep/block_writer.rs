//! Packs rows, in order, into row blocks of one format.

use farbird_record::value_codec::encode_row;
use farbird_record::{BlockFill, CodecId, EncodedRows, RecordFormat};

use crate::block::{BLOCK_BYTES_MAX, BLOCK_ROWS_MAX, BLOCK_SPAN_MAX, BlockLabel, PackedBlock, RowIds, Stamp};
use crate::decoder::RowDecoder;
use crate::store::Inner;
use crate::writers::Writers;
use crate::{CommitNumber, Projection, RelationLayout, Result, RowId, StoreError, TransactionId};

/// The writers of a block's rows take about so much at most, in bytes: what they take is not among the block's own.
const WRITERS_BYTES_MAX: usize = 4_096;

/// Rows of a block in the making, and blocks made.
pub(super) struct BlockWriter<'a> {
    inner: &'a Inner,
    layout: &'a RelationLayout,
    format: u16,
    record_format: &'a RecordFormat,
    codec: CodecId,
    fill: BlockFill,
    row_ids: Vec<u64>,
    rows: EncodedRows,
    commit: CommitNumber,
    writers: Writers,
    /// First row and contents of each block.
    blocks: Vec<(RowId, Vec<u8>)>,
}

impl<'a> BlockWriter<'a> {
    pub(super) fn new(inner: &'a Inner, layout: &'a RelationLayout, format: u16) -> Result<BlockWriter<'a>> {
        let relation = layout.id;
        let record_format = layout.formats.get(usize::from(format));
        let record_format =
            record_format.ok_or(StoreError::BadLayout { relation, what: "format of its rows" })?;
        let codec = layout.codec.unwrap_or_else(|| inner.codec());
        Ok(BlockWriter {
            inner,
            layout,
            format,
            record_format,
            codec,
            fill: BlockFill::new(codec, BLOCK_BYTES_MAX),
            row_ids: Vec::new(),
            rows: EncodedRows::new(),
            commit: CommitNumber(0),
            writers: Writers::default(),
            blocks: Vec::new(),
        })
    }

    /// Rows like these, which became so many bytes, will come.
    pub(super) fn expect_rows_like(&mut self, rows: &EncodedRows, packed_bytes: usize) {
        self.fill = BlockFill::like(self.codec, BLOCK_BYTES_MAX, rows, packed_bytes);
    }

    /// Adds a row; `written` is when and by whom.
    pub(super) fn push(
        &mut self,
        row: u64,
        written: (CommitNumber, TransactionId),
        format: u16,
        bytes: &[u8],
    ) -> Result<()> {
        let (commit, writer) = written;
        if !self.has_room(row) {
            self.end_block()?;
        }
        if format == self.format {
            self.rows.push(bytes);
        } else {
            let projection = Projection::all();
            let mut values = Vec::new();
            RowDecoder::new(self.inner, self.layout, &projection).decode(
                RowId(row),
                format,
                bytes,
                &mut values,
            )?;
            let record_format = self.record_format;
            self.rows.push_with(|out| encode_row(record_format, &values, out))?;
        }
        self.row_ids.push(row);
        self.writers.push(writer);
        self.commit = self.commit.max(commit);
        Ok(())
    }

    /// Whether a row may join the block begun. It may not if a running transaction could commit rows in between.
    fn has_room(&mut self, row: u64) -> bool {
        let (Some(&first), Some(&last)) = (self.row_ids.first(), self.row_ids.last()) else { return true };
        let reserved = || self.inner.row_numbers.next_reserved(self.layout.id, last + 1);
        self.row_ids.len() < BLOCK_ROWS_MAX
            && row - first < BLOCK_SPAN_MAX
            && self.writers.len() < WRITERS_BYTES_MAX
            && (row == last + 1 || reserved().is_none_or(|reserved| reserved > row))
            && !self.fill.is_full(self.record_format, &self.rows)
    }

    /// The blocks, by their first rows.
    pub(super) fn finish(mut self) -> Result<Vec<(RowId, Vec<u8>)>> {
        self.end_block()?;
        Ok(self.blocks)
    }

    fn end_block(&mut self) -> Result<()> {
        if self.row_ids.is_empty() {
            return Ok(());
        }
        let row_ids = RowIds::of(std::mem::take(&mut self.row_ids));
        let rows = std::mem::take(&mut self.rows);
        let writers = std::mem::take(&mut self.writers);
        let label = BlockLabel { codec: self.codec, writers, format: self.format };
        let block = PackedBlock::pack(label, self.record_format, &row_ids, &rows)?;
        self.blocks.push((block.first_row(), block.stamped(Stamp::Commit(self.commit))));
        self.commit = CommitNumber(0);
        Ok(())
    }
}
