//! The trait behind which all codecs stand, and the rows that go into a block.
//!
//! Rows travel between memory, versions and blocks in value encoding ([`crate::value_codec`]); a codec turns many of
//! them into a block and gives single rows or single columns of it back.

use std::ops::Range;

use farbird_types::Value;

use crate::column_codec::ColumnCodec;
use crate::column_vector::ColumnVector;
use crate::run_length::RunLengthCodec;
use crate::value_codec::ValueCodec;
use crate::{DecodeError, EncodeError, RecordFormat};

/// The byte by which a block names its codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodecId(pub u8);

impl CodecId {
    /// [`ValueCodec`].
    pub const VALUE: CodecId = CodecId(1);
    /// [`RunLengthCodec::Classic`].
    pub const CLASSIC: CodecId = CodecId(2);
    /// [`RunLengthCodec::LongRun`].
    pub const LONG_RUN: CodecId = CodecId(3);
    /// [`RunLengthCodec::Elekt`].
    pub const ELEKT: CodecId = CodecId(4);
    /// [`ColumnCodec`].
    pub const COLUMN: CodecId = CodecId(5);
}

/// Which columns to decode, by slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSet<'a> {
    /// All, in order.
    All,
    /// These, in this order. Slots that the format does not have are NULL.
    Slots(&'a [u16]),
}

impl ColumnSet<'_> {
    /// How many values a row of `format` has under this projection.
    pub fn width(&self, format: &RecordFormat) -> usize {
        match self {
            ColumnSet::All => format.len(),
            ColumnSet::Slots(slots) => slots.len(),
        }
    }
}

/// Rows in value encoding, one after the other.
#[derive(Debug, Clone, Default)]
pub struct EncodedRows {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl EncodedRows {
    /// No rows.
    pub fn new() -> EncodedRows {
        EncodedRows::default()
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all rows together.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If all rows together exceed 4 GiB; callers start another list long before.
    pub fn push(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        self.end_row();
    }

    /// Appends a row that `write` writes. Nothing is appended if it fails.
    pub fn push_with<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let before = self.bytes.len();
        match write(&mut self.bytes) {
            Ok(()) => {
                self.end_row();
                Ok(())
            }
            Err(error) => {
                self.bytes.truncate(before);
                Err(error)
            }
        }
    }

    fn end_row(&mut self) {
        self.ends.push(u32::try_from(self.bytes.len()).expect("a list of rows stays below 4 GiB"));
    }

    /// The row at `index`.
    pub fn row(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        let start = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)? as usize,
            None => 0,
        };
        self.bytes.get(start..end)
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map_while(|index| self.row(index))
    }

    /// Keeps the first `count` rows.
    pub fn truncate(&mut self, count: usize) {
        if count < self.ends.len() {
            self.ends.truncate(count);
            self.bytes.truncate(self.ends.last().map_or(0, |&end| end as usize));
        }
    }
}

/// Turns rows of one format into a block and back.
pub trait RowCodec: Send + Sync {
    /// The byte that names it.
    fn id(&self) -> CodecId;

    /// Appends the block of these rows.
    fn encode_block(
        &self,
        format: &RecordFormat,
        rows: &EncodedRows,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError>;

    /// Looks into a block of `rows` rows.
    fn open_block<'a>(
        &self,
        format: &'a RecordFormat,
        rows: usize,
        bytes: &'a [u8],
    ) -> Result<Box<dyn BlockReader + 'a>, DecodeError>;
}

/// An opened block.
pub trait BlockReader {
    /// The format of its rows.
    fn format(&self) -> &RecordFormat;

    /// Appends the projected values of the row at `index`.
    fn decode_row(
        &self,
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError>;

    /// Appends the row at `index` in value encoding.
    fn encoded_row(&self, index: usize, out: &mut Vec<u8>) -> Result<(), DecodeError>;

    /// Appends the projected values of the rows of a range, row by row.
    fn decode_rows(
        &self,
        range: Range<usize>,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        for index in range {
            self.decode_row(index, columns, out)?;
        }
        Ok(())
    }

    /// Appends one column of the rows of a range to a vector, as plain numbers where its type allows
    /// ([`crate::ColumnValues`]). An empty vector takes the kind of the column's type. The `column` codec does this by a tight
    /// loop, without a [`Value`] in between; the row-wise ones decode row by row.
    ///
    /// A slot that the format does not have gives NULLs, of whatever kind the vector is.
    ///
    /// # Errors
    /// If the bytes are damaged, the range is not in the block, or the vector holds values of another kind of type. What
    /// it held is to be thrown away then.
    fn decode_column(
        &self,
        slot: u16,
        range: Range<usize>,
        out: &mut ColumnVector,
    ) -> Result<(), DecodeError> {
        let mut values = Vec::with_capacity(range.len());
        self.decode_rows(range.clone(), &ColumnSet::Slots(&[slot]), &mut values)?;
        match self.format().columns().get(usize::from(slot)) {
            None => out.push_nulls(range.len()),
            Some(sql_type) => {
                for value in values {
                    out.push(sql_type, value)?;
                }
            }
        }
        Ok(())
    }
}

/// The codec that a block names.
pub fn codec(id: CodecId) -> Result<&'static dyn RowCodec, DecodeError> {
    match id {
        CodecId::VALUE => Ok(&ValueCodec),
        CodecId::CLASSIC => Ok(&RunLengthCodec::Classic),
        CodecId::LONG_RUN => Ok(&RunLengthCodec::LongRun),
        CodecId::ELEKT => Ok(&RunLengthCodec::Elekt),
        CodecId::COLUMN => Ok(&ColumnCodec),
        CodecId(codec) => Err(DecodeError::UnknownCodec { codec }),
    }
}
