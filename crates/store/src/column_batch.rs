//! Batches of rows whose columns are decoded side by side, when they are asked for.
//!
//! For whoever works on columns: a filter loads the columns that it looks at, and the others are decoded only for the rows
//! that are left. A batch holds what it still has to decode, a block and its snapshot among it: it is dropped or cleared before the call
//! that made it returns to a client, as everything that keeps pages of the substrate.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use farbird_record::{BlockReader, ColumnVector, TextCodes};
use farbird_types::{SqlType, Value};

use crate::block::Block;
use crate::decoder::RowDecoder;
use crate::substrate::SubstrateState;
use crate::{Projection, RelationLayout, Result, RowId, StoreError};

/// A block of which more pieces than these are read is decoded from the first to the last of them, once: to begin in the middle of
/// a column costs as much as some hundred of its values.
const PIECES_MAX: usize = 2;
/// Of a batch of which fewer rows than one in so many are wanted, these are decoded one by one.
const SPARSE_ROWS: usize = 32;

/// Rows of a scan ([`crate::RelationScan::next_columns`]), in scan order: of at most one block, with the newer versions of
/// its rows and the transaction's own rows in their places.
#[derive(Default)]
pub struct ColumnBatch {
    source: Option<Source>,
    /// Dropped before what keeps its pages from being used again.
    block: Option<Arc<Block>>,
    snapshot: Option<Arc<dyn SubstrateState>>,
    pieces: Vec<Piece>,
    /// Values of the rows that are not in the block, row after row.
    loose: Vec<Value>,
    width: usize,
    len: usize,
    columns: Vec<LoadedColumn>,
    /// The rows' numbers, once the block is gone.
    detached: Option<Vec<RowId>>,
}

/// What the rows are read by.
#[derive(Debug)]
struct Source {
    layout: Arc<RelationLayout>,
    latest: Option<Arc<RelationLayout>>,
    projection: Projection,
}

impl Source {
    fn decoder(&self) -> RowDecoder<'_> {
        RowDecoder::with_latest(&self.layout, self.latest.clone(), &self.projection)
    }
}

/// Rows that stand together.
#[derive(Debug)]
enum Piece {
    /// At these places of the block.
    Block(Range<usize>),
    /// The next of the loose rows.
    Loose(RowId),
}

#[derive(Debug)]
struct LoadedColumn {
    loaded: bool,
    sql_type: SqlType,
    /// Of texts that repeat; then there is a value for each row only once somebody asks for them.
    texts: Option<TextCodes>,
    vector: OnceLock<ColumnVector>,
}

impl Default for LoadedColumn {
    fn default() -> LoadedColumn {
        LoadedColumn { loaded: false, sql_type: SqlType::Null, texts: None, vector: OnceLock::new() }
    }
}

impl LoadedColumn {
    fn vector(&self) -> &ColumnVector {
        self.vector.get_or_init(|| self.texts.as_ref().map(TextCodes::to_vector).unwrap_or_default())
    }

    fn value(&self, row: usize) -> Option<Value> {
        match &self.texts {
            Some(texts) => texts.value(row).cloned(),
            None => self.vector().value(row, &self.sql_type),
        }
    }
}

impl fmt::Debug for ColumnBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnBatch").field("rows", &self.len).field("columns", &self.width).finish()
    }
}

impl ColumnBatch {
    /// An empty batch.
    pub fn new() -> ColumnBatch {
        ColumnBatch::default()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many columns there are: the length of the scan's projection.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Empties it; the memory of its columns stays for the next rows.
    pub fn clear(&mut self) {
        self.source = None;
        self.let_go();
        self.detached = None;
        self.pieces.clear();
        self.loose.clear();
        self.len = 0;
        for column in &mut self.columns {
            column.loaded = false;
        }
    }

    /// The numbers of its rows, in order.
    pub fn row_ids(&self) -> Vec<RowId> {
        if let Some(rows) = &self.detached {
            return rows.clone();
        }
        let mut rows = Vec::with_capacity(self.len);
        for piece in &self.pieces {
            match (piece, &self.block) {
                (Piece::Loose(row), _) => rows.push(*row),
                (Piece::Block(places), Some(block)) => {
                    rows.extend(block.row_ids_from(places.start).take(places.len()).map(RowId));
                }
                (Piece::Block(_), None) => {}
            }
        }
        rows
    }

    /// The number of one of its rows.
    pub fn row_id(&self, row: usize) -> Option<RowId> {
        match &self.detached {
            Some(rows) => rows.get(row).copied(),
            None => self.row_ids().get(row).copied(),
        }
    }

    /// Decodes columns, by position in the projection, that are not decoded yet.
    ///
    /// # Errors
    /// `Corrupt`; those of converting rows of an older format.
    pub fn load(&mut self, positions: impl IntoIterator<Item = usize>) -> Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        let decoder = source.decoder();
        let block = self.block.clone();
        let mut reader = None;
        for position in positions {
            if self.columns.get(position).is_none_or(|column| column.loaded) {
                continue;
            }
            if let (None, Some(block)) = (&reader, &block) {
                reader = Some((block.as_ref(), block.reader(decoder.format(block.format)?)?));
            }
            let slot = decoder.slot(position).unwrap_or(u16::MAX);
            let sql_type = decoder.column_type(slot);
            let before = self.columns.get_mut(position).and_then(|column| column.vector.take());
            let texts = match (&reader, self.pieces.as_slice(), &sql_type) {
                (Some((block, reader)), [Piece::Block(places)], SqlType::Text(_))
                    if decoder.is_unchanged(block.format, slot)? =>
                {
                    reader.text_codes(slot, places.clone()).map_err(|error| block.damaged(&error))?
                }
                _ => None,
            };
            if let (Some(_), Some(column)) = (&texts, self.columns.get_mut(position)) {
                *column = LoadedColumn { loaded: true, sql_type, texts, vector: OnceLock::new() };
                continue;
            }
            let mut vector = before.unwrap_or_default();
            vector.clear();
            let block_column = reader.as_ref().map(|(block, reader)| BlockColumn {
                decoder: &decoder,
                block,
                reader: &**reader,
                slot,
            });
            self.append_column(position, &sql_type, block_column.as_ref(), &mut vector)?;
            if let Some(column) = self.columns.get_mut(position) {
                *column =
                    LoadedColumn { loaded: true, sql_type, texts: None, vector: OnceLock::from(vector) };
            }
        }
        Ok(())
    }

    fn append_column(
        &self,
        position: usize,
        sql_type: &SqlType,
        block: Option<&BlockColumn<'_>>,
        out: &mut ColumnVector,
    ) -> Result<()> {
        let misfit = |_| StoreError::corrupt(format!("a value in column {position} that is not of its type"));
        let whole = match (block, self.pieces.len() > PIECES_MAX) {
            (Some(block), true) => Some(self.decode_span(block)?),
            _ => None,
        };
        let mut loose = self.loose.iter().skip(position).step_by(self.width.max(1));
        for piece in &self.pieces {
            match (piece, block, &whole) {
                (Piece::Loose(_), ..) => {
                    let value = loose.next().cloned().ok_or_else(|| missing(position))?;
                    out.push(sql_type, value).map_err(misfit)?;
                }
                (Piece::Block(places), _, Some((start, whole))) => {
                    out.append(whole, places.start - start..places.end - start).map_err(misfit)?;
                }
                (Piece::Block(places), Some(block), None) => block.append(places.clone(), sql_type, out)?,
                (Piece::Block(_), None, None) => {}
            }
        }
        Ok(())
    }

    /// All places of the block from the first to the last that is in the batch, and which the first is.
    fn decode_span(&self, block: &BlockColumn<'_>) -> Result<(usize, ColumnVector)> {
        let places = || {
            self.pieces.iter().filter_map(|piece| match piece {
                Piece::Block(places) => Some(places),
                Piece::Loose(_) => None,
            })
        };
        let start = places().map(|places| places.start).min().unwrap_or(0);
        let end = places().map(|places| places.end).max().unwrap_or(0);
        let mut whole = ColumnVector::default();
        block.append(start..end, &block.decoder.column_type(block.slot), &mut whole)?;
        Ok((start, whole))
    }

    /// A column decoded before, by position in the projection.
    pub fn column(&self, position: usize) -> Option<&ColumnVector> {
        self.columns.get(position).filter(|column| column.loaded).map(LoadedColumn::vector)
    }

    /// The texts of a column decoded before, by position in the projection, if they repeat: then this takes no time, and
    /// [`ColumnBatch::column`] makes a value for each row.
    pub fn texts(&self, position: usize) -> Option<&TextCodes> {
        self.columns.get(position).filter(|column| column.loaded)?.texts.as_ref()
    }

    /// The type of a column decoded before, by position in the projection.
    pub fn column_type(&self, position: usize) -> Option<&SqlType> {
        self.columns.get(position).filter(|column| column.loaded).map(|column| &column.sql_type)
    }

    /// A value of a column decoded before.
    pub fn value(&self, row: usize, position: usize) -> Option<Value> {
        self.columns.get(position).filter(|column| column.loaded)?.value(row)
    }

    /// Decodes all columns and lets go of the block: what is left is a value that may be kept.
    ///
    /// # Errors
    /// As [`ColumnBatch::load`].
    pub fn detach(&mut self) -> Result<()> {
        if self.detached.is_some() {
            return Ok(());
        }
        self.load(0..self.width)?;
        self.detached = Some(self.row_ids());
        self.let_go();
        Ok(())
    }

    /// Drops the block, and then the snapshot that it was read from.
    fn let_go(&mut self) {
        self.block = None;
        self.snapshot = None;
    }

    /// Appends all columns of some rows, ascending by place, row after row.
    ///
    /// # Errors
    /// As [`ColumnBatch::load`].
    pub fn read_rows(&mut self, rows: &[u32], out: &mut Vec<Value>) -> Result<()> {
        let is_loaded = self.columns.iter().all(|column| column.loaded);
        if !is_loaded && rows.len() < self.len / SPARSE_ROWS {
            return self.decode_rows(rows, out);
        }
        self.load(0..self.width)?;
        let start = out.len();
        out.resize(start + rows.len() * self.width, Value::Null);
        for (position, column) in self.columns.iter().take(self.width).enumerate() {
            let places = out.iter_mut().skip(start + position).step_by(self.width.max(1));
            for (row, place) in rows.iter().zip(places) {
                *place = column.value(*row as usize).ok_or_else(|| missing(position))?;
            }
        }
        Ok(())
    }

    /// Appends some rows that are worth no column.
    fn decode_rows(&self, rows: &[u32], out: &mut Vec<Value>) -> Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        let decoder = source.decoder();
        let block = match &self.block {
            Some(block) => Some((block, block.reader(decoder.format(block.format)?)?)),
            None => None,
        };
        let mut rows = rows.iter().map(|row| *row as usize).peekable();
        let (mut place, mut loose) = (0, 0);
        for piece in &self.pieces {
            let end = place + piece.len();
            while let Some(row) = rows.next_if(|row| *row < end) {
                match (piece, &block) {
                    (Piece::Loose(_), _) => {
                        let values = self.loose.get(loose * self.width..(loose + 1) * self.width);
                        out.extend_from_slice(values.unwrap_or_default());
                    }
                    (Piece::Block(places), Some((block, reader))) => {
                        let start = out.len();
                        reader
                            .decode_row(places.start + row - place, decoder.columns(), out)
                            .map_err(|error| block.damaged(&error))?;
                        decoder.adapt(block.format, start, out)?;
                    }
                    (Piece::Block(_), None) => {}
                }
            }
            loose += usize::from(matches!(piece, Piece::Loose(_)));
            place = end;
        }
        Ok(())
    }

    /// Begins to be filled with rows of a layout; gives how to decode those that are not in a block.
    pub(crate) fn start(
        &mut self,
        layout: &Arc<RelationLayout>,
        latest: Option<Arc<RelationLayout>>,
        projection: &Projection,
    ) {
        self.clear();
        let source = Source { layout: Arc::clone(layout), latest, projection: projection.clone() };
        self.width = source.decoder().width();
        self.columns.resize_with(self.width, LoadedColumn::default);
        self.source = Some(source);
    }

    /// Appends a row in value encoding.
    pub(crate) fn push_row(&mut self, row: RowId, format: u16, bytes: &[u8]) -> Result<()> {
        if let Some(source) = &self.source {
            source.decoder().decode(row, format, bytes, &mut self.loose)?;
            self.pieces.push(Piece::Loose(row));
            self.len += 1;
        }
        Ok(())
    }

    /// Appends rows of a block of a snapshot; false, and nothing is done, if there are rows of another one already.
    pub(crate) fn push_block(
        &mut self,
        snapshot: &Arc<dyn SubstrateState>,
        block: &Arc<Block>,
        places: Range<usize>,
    ) -> bool {
        self.snapshot.get_or_insert_with(|| Arc::clone(snapshot));
        if self.block.get_or_insert_with(|| Arc::clone(block)).first != block.first {
            return false;
        }
        self.len += places.len();
        self.pieces.push(Piece::Block(places));
        true
    }
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Piece::Block(places) => places.len(),
            Piece::Loose(_) => 1,
        }
    }
}

/// A column of an opened block.
struct BlockColumn<'a> {
    decoder: &'a RowDecoder<'a>,
    block: &'a Block,
    reader: &'a dyn BlockReader,
    slot: u16,
}

impl BlockColumn<'_> {
    /// Appends the values at some places, as readers see them.
    fn append(&self, places: Range<usize>, sql_type: &SqlType, out: &mut ColumnVector) -> Result<()> {
        let damaged = |error| self.block.damaged(&error);
        if self.decoder.is_unchanged(self.block.format, self.slot)? {
            return self.reader.decode_column(self.slot, places, out).map_err(damaged);
        }
        let mut values = Vec::with_capacity(places.len());
        let columns = farbird_record::ColumnSet::Slots(std::slice::from_ref(&self.slot));
        self.reader.decode_rows(places, &columns, &mut values).map_err(damaged)?;
        for mut value in values {
            self.decoder.adapt_value(self.block.format, self.slot, &mut value)?;
            out.push(sql_type, value).map_err(damaged)?;
        }
        Ok(())
    }
}

/// A batch whose columns are not all of its length.
fn missing(position: usize) -> StoreError {
    StoreError::corrupt(format!("no value in column {position} of a row"))
}
