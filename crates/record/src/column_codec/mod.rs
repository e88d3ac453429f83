//! The column codec: a block's columns side by side, each with what suits it.
//!
//! # Layout of a block
//! A varint with the size of each column of the format, then the columns. Under a compression each column is a packed piece
//! ([`crate::compression`]): what is not asked for is not decompressed either, and numbers, which are packed already, stay as
//! they are unless compression halves them.
//!
//! # Layout of a column
//! | bytes | item |
//! |---|---|
//! | 1 | kind, see below; with bit 7: null bits follow; with bit 6 (CHAR only): the strings are texts without their padding |
//! | ceil(rows / 8) | with bit 7, null bits: bit `row % 8` of byte `row / 8` is 1 if the value is NULL |
//! | ... | the values that are not NULL, in order |
//!
//! | kind | values |
//! |---|---|
//! | 0 | none: all are NULL (without null bits) |
//! | 1 | numbers, a list as in [`crate::packed`]: BOOLEAN as 0 and 1, SMALLINT, INTEGER, BIGINT, INT128 (if all fit 64 bits) unscaled, DATE, TIME, TIMESTAMP as day x 864,000,000 + time, BLOB ids, DOUBLE PRECISION if all are integers |
//! | 2 | byte strings, plain: a list of where each ends, then all of them |
//! | 3 | byte strings, dictionary: a varint with the number of different ones, these as in kind 2, then a list of indexes |
//! | 4 | words: DOUBLE PRECISION and FLOAT as they are, 8 or 4 bytes each, little-endian |
//! | 5 | decimal fractions: DOUBLE PRECISION; a byte k (1 to 15), then a list of numbers: the value is number / 10^k |
//! | 6 | moments with their zones: two lists, of numbers (as TIME and TIMESTAMP, in UTC) and of zones |
//! | 7 | numbers, dictionary: a varint with the number of different ones, a list of these, then a list of indexes |
//!
//! Behind the list of kind 1 may stand its bounds, where the list itself tells only wider ones: the least number and a varint,
//! the greatest number less the least. Readers that do not know of them pass over them.
//!
//! A byte string is the text itself for VARCHAR, the same for CHAR with bit 6, and the value in value encoding for all else.

mod column;
mod encode;
mod outline;
mod strings;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::ops::Range;

use farbird_types::Value;

pub use outline::BlockOutline;

use self::column::Column;
use self::encode::ColumnBuilder;
use crate::bytes::{Reader, put_varint};
use crate::codec::{BlockReader, CodecId, ColumnBounds, ColumnSet, EncodedRows, RowCodec};
use crate::column_vector::ColumnVector;
use crate::compression::{self, Compression};
use crate::value_codec::raw::{Shape, for_each_value};
use crate::value_codec::{ROW_BYTES_MAX, encode_row};
use crate::{DecodeError, EncodeError, RecordFormat, TextCodes};

/// The codec of blocks of columns.
#[derive(Debug, Clone, Copy)]
pub struct ColumnCodec {
    /// On top of each column.
    pub compression: Compression,
}

const KIND_NULL: u8 = 0;
const KIND_NUMBERS: u8 = 1;
const KIND_PLAIN: u8 = 2;
const KIND_DICTIONARY: u8 = 3;
const KIND_WORDS: u8 = 4;
const KIND_FRACTIONS: u8 = 5;
const KIND_ZONED: u8 = 6;
const KIND_NUMBER_DICTIONARY: u8 = 7;
const FLAG_NULL_BITS: u8 = 0x80;
const FLAG_TRIMMED: u8 = 0x40;

/// The longest columns of a block together that are decompressed, in bytes: room for the longest row.
const COLUMNS_BYTES_MAX: usize = 2 * ROW_BYTES_MAX;

/// Most columns of a block of which a single row is read without memory for the list of them.
const DIRECTORY_COLUMNS_MAX: usize = 64;

/// Rows of which the values are held at once where rows are wanted: opening the columns is shared by so many.
const ROWS_AT_ONCE: usize = 1_024;

impl RowCodec for ColumnCodec {
    fn id(&self) -> CodecId {
        CodecId::COLUMN.with(self.compression)
    }

    fn encode_block(
        &self,
        format: &RecordFormat,
        rows: &EncodedRows,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        if self.compression != Compression::None && rows.bytes().len() > COLUMNS_BYTES_MAX / 2 {
            return Err(EncodeError::TooLarge { size: rows.bytes().len() });
        }
        let shapes: Vec<Shape> = format.columns().iter().map(Shape::of).collect();
        let mut builders: Vec<ColumnBuilder<'_>> =
            shapes.iter().map(|shape| ColumnBuilder::new(*shape, rows.len())).collect();
        for (index, row) in rows.iter().enumerate() {
            for_each_value(format, &shapes, row, |slot, value| builders[slot].push(index, value))
                .map_err(|_| EncodeError::NotEncoded)?;
        }
        let mut columns = Vec::with_capacity(rows.bytes().len() / 2);
        let mut plain = Vec::new();
        for (slot, builder) in builders.into_iter().enumerate() {
            let before = columns.len();
            match self.compression {
                Compression::None => {
                    builder.finish(format, slot, rows, &mut columns)?;
                }
                compression => {
                    plain.clear();
                    let worth = builder.finish(format, slot, rows, &mut plain)?;
                    compression::pack_with(compression, worth, &plain, &mut columns);
                }
            }
            put_varint((columns.len() - before) as u64, out);
        }
        out.extend_from_slice(&columns);
        Ok(())
    }

    fn open_block<'a>(
        &self,
        format: &'a RecordFormat,
        rows: usize,
        bytes: &'a [u8],
    ) -> Result<Box<dyn BlockReader + 'a>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut sizes = Vec::with_capacity(format.len());
        for _ in 0..format.len() {
            sizes.push(reader.length()?);
        }
        let compression = self.compression;
        let columns = sizes
            .into_iter()
            .map(|size| Ok(StoredColumn { stored: reader.take(size)?, plain: OnceCell::new() }))
            .collect::<Result<_, DecodeError>>()?;
        Ok(Box::new(ColumnBlock {
            format,
            rows,
            compression,
            columns,
            bytes_left: Cell::new(COLUMNS_BYTES_MAX),
        }))
    }

    fn decode_row(
        &self,
        format: &RecordFormat,
        rows: usize,
        bytes: &[u8],
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        if self.compression != Compression::None || format.len() > DIRECTORY_COLUMNS_MAX {
            return self.open_block(format, rows, bytes)?.decode_row(index, columns, out);
        }
        check_rows(rows, &(index..index.saturating_add(1)))?;
        let mut ends = [0; DIRECTORY_COLUMNS_MAX];
        let mut reader = Reader::new(bytes);
        let mut end = 0usize;
        for place in ends.iter_mut().take(format.len()) {
            end = end.saturating_add(reader.length()?);
            *place = end;
        }
        let contents = reader.rest();
        for position in 0..columns.width(format) {
            let slot = slot_at(columns, position);
            let value = match (format.columns().get(slot), ends.get(slot)) {
                (Some(sql_type), Some(end)) => {
                    let start = slot.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |end| *end);
                    let column = contents.get(start..*end);
                    let column = column.ok_or(DecodeError::Truncated { offset: reader.offset() + start })?;
                    Column::open(sql_type, rows, column)?.value(index)?
                }
                _ => Value::Null,
            };
            out.push(value);
        }
        Ok(())
    }

    fn outline(&self, format: &RecordFormat, bytes: &[u8]) -> Result<Option<BlockOutline>, DecodeError> {
        match self.compression {
            Compression::None => BlockOutline::of(format, bytes).map(Some),
            _ => Ok(None),
        }
    }

    fn unpack_block(&self, format: &RecordFormat, bytes: &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
        if self.compression == Compression::None {
            return Ok(None);
        }
        let mut reader = Reader::new(bytes);
        let sizes = (0..format.len()).map(|_| reader.length()).collect::<Result<Vec<usize>, _>>()?;
        let (mut directory, mut columns) = (Vec::new(), Vec::new());
        for size in sizes {
            let column = compression::unpack(reader.take(size)?, COLUMNS_BYTES_MAX - columns.len())?;
            put_varint(column.len() as u64, &mut directory);
            columns.extend_from_slice(&column);
        }
        directory.extend_from_slice(&columns);
        Ok(Some(directory))
    }
}

/// The slot of a column of a projection; one that no format has past its end.
fn slot_at(columns: &ColumnSet<'_>, position: usize) -> usize {
    match columns {
        ColumnSet::All => position,
        ColumnSet::Slots(slots) => slots.get(position).copied().map_or(usize::MAX, usize::from),
    }
}

fn check_rows(rows: usize, range: &Range<usize>) -> Result<(), DecodeError> {
    match range.end <= rows {
        true => Ok(()),
        false => Err(DecodeError::Invalid { what: "row place", offset: range.end }),
    }
}

struct ColumnBlock<'a> {
    format: &'a RecordFormat,
    rows: usize,
    compression: Compression,
    columns: Vec<StoredColumn<'a>>,
    /// So much may still be decompressed.
    bytes_left: Cell<usize>,
}

struct StoredColumn<'a> {
    stored: &'a [u8],
    /// Decompressed when it is first asked for.
    plain: OnceCell<Cow<'a, [u8]>>,
}

impl<'a> ColumnBlock<'a> {
    /// The column at `slot`; `None` if the format does not have it.
    fn column(&self, slot: usize) -> Result<Option<Column<'_>>, DecodeError> {
        let (Some(sql_type), Some(column)) = (self.format.columns().get(slot), self.columns.get(slot)) else {
            return Ok(None);
        };
        let bytes = match (self.compression, column.plain.get()) {
            (Compression::None, _) => column.stored,
            (_, Some(plain)) => plain,
            (_, None) => {
                let plain = compression::unpack(column.stored, self.bytes_left.get())?;
                self.bytes_left.set(self.bytes_left.get() - plain.len());
                column.plain.get_or_init(|| plain)
            }
        };
        Column::open(sql_type, self.rows, bytes).map(Some)
    }
}

impl BlockReader for ColumnBlock<'_> {
    fn format(&self) -> &RecordFormat {
        self.format
    }

    fn decode_row(
        &self,
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        self.decode_rows(index..index.saturating_add(1), columns, out)
    }

    fn decode_rows(
        &self,
        range: Range<usize>,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        check_rows(self.rows, &range)?;
        let width = columns.width(self.format);
        let start = out.len();
        out.resize(start + range.len() * width, Value::Null);
        for position in 0..width {
            if let Some(column) = self.column(slot_at(columns, position))? {
                let places = out.get_mut(start + position..).unwrap_or_default();
                column.values_into(range.clone(), places.iter_mut().step_by(width))?;
            }
        }
        Ok(())
    }

    fn decode_column(
        &self,
        slot: u16,
        range: Range<usize>,
        out: &mut ColumnVector,
    ) -> Result<(), DecodeError> {
        check_rows(self.rows, &range)?;
        match self.column(usize::from(slot))? {
            None => out.push_nulls(range.len()),
            Some(column) => column.vector_into(range, out)?,
        }
        Ok(())
    }

    fn text_codes(&self, slot: u16, range: Range<usize>) -> Result<Option<TextCodes>, DecodeError> {
        check_rows(self.rows, &range)?;
        match self.column(usize::from(slot))? {
            None => Ok(None),
            Some(column) => column.text_codes(range),
        }
    }

    fn column_bounds(&self, slot: u16) -> Option<ColumnBounds> {
        self.column(usize::from(slot)).ok()??.bounds()
    }

    fn encoded_row(&self, index: usize, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        let mut values = Vec::new();
        self.decode_row(index, &ColumnSet::All, &mut values)?;
        encode_row(self.format, &values, out).map_err(|_| DecodeError::Invalid { what: "row", offset: index })
    }

    fn encoded_rows(&self, range: Range<usize>, out: &mut EncodedRows) -> Result<(), DecodeError> {
        let width = self.format.len();
        for start in range.clone().step_by(ROWS_AT_ONCE) {
            let end = range.end.min(start + ROWS_AT_ONCE);
            let mut values = Vec::with_capacity((end - start) * width);
            self.decode_rows(start..end, &ColumnSet::All, &mut values)?;
            for offset in 0..end - start {
                let row = values.get(offset * width..(offset + 1) * width).unwrap_or_default();
                out.push_with(|bytes| encode_row(self.format, row, bytes))
                    .map_err(|_| DecodeError::Invalid { what: "row", offset: start + offset })?;
            }
        }
        Ok(())
    }
}
