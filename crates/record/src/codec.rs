//! The trait behind which all codecs stand, and the rows that go into a block.
//!
//! Rows travel between memory, versions and blocks in value encoding ([`crate::value_codec`]); a codec turns many of
//! them into a block and gives single rows or single columns of it back.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use farbird_types::Value;

use crate::column_codec::{BlockOutline, ColumnCodec};
use crate::column_vector::ColumnVector;
use crate::compression::Compression;
use crate::run_length::{RunLength, RunLengthCodec};
use crate::value_codec::ValueCodec;
use crate::{DecodeError, EncodeError, RecordFormat, TextCodes};

/// The byte by which a block names its codec and the compression on top of it.
///
/// The low four bits are the codec, the next two the compression: 0: none, 1: LZ4, 2: Zstandard. Its text form is
/// `column`, `column+lz4`, `column+zstd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodecId(pub u8);

impl CodecId {
    /// [`ValueCodec`].
    pub const VALUE: CodecId = CodecId(1);
    /// [`RunLength::Classic`].
    pub const CLASSIC: CodecId = CodecId(2);
    /// [`RunLength::LongRun`].
    pub const LONG_RUN: CodecId = CodecId(3);
    /// [`RunLength::Elekt`].
    pub const ELEKT: CodecId = CodecId(4);
    /// [`ColumnCodec`].
    pub const COLUMN: CodecId = CodecId(5);

    const NAMES: [(CodecId, &str); 5] = [
        (CodecId::VALUE, "value"),
        (CodecId::CLASSIC, "classic"),
        (CodecId::LONG_RUN, "long-run"),
        (CodecId::ELEKT, "elekt"),
        (CodecId::COLUMN, "column"),
    ];

    const COMPRESSION_SHIFT: u32 = 4;

    /// The codec without its compression, with this one instead.
    pub const fn with(self, compression: Compression) -> CodecId {
        let bits = match compression {
            Compression::None => 0,
            Compression::Lz4 => 1,
            Compression::Zstandard => 2,
        };
        CodecId(self.0 & 0x0F | bits << CodecId::COMPRESSION_SHIFT)
    }

    /// The codec without its compression.
    pub const fn alone(self) -> CodecId {
        self.with(Compression::None)
    }

    /// The compression on top of the codec; `None` for a byte that names none.
    pub const fn compression(self) -> Option<Compression> {
        match self.0 >> CodecId::COMPRESSION_SHIFT {
            0 => Some(Compression::None),
            1 => Some(Compression::Lz4),
            2 => Some(Compression::Zstandard),
            _ => None,
        }
    }

    /// All codecs, each under each compression.
    pub fn all() -> impl Iterator<Item = CodecId> {
        let alone = CodecId::NAMES.into_iter().map(|(id, _)| id);
        alone.flat_map(|id| Compression::ALL.into_iter().map(move |compression| id.with(compression)))
    }
}

impl fmt::Display for CodecId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = CodecId::NAMES.iter().find(|(id, _)| *id == self.alone()).map(|(_, name)| name);
        match (name, self.compression()) {
            (Some(name), Some(Compression::None)) => f.write_str(name),
            (Some(name), Some(compression)) => write!(f, "{name}+{}", compression.name()),
            _ => write!(f, "codec {}", self.0),
        }
    }
}

impl FromStr for CodecId {
    type Err = UnknownCodecName;

    /// Upper and lower case are the same.
    fn from_str(text: &str) -> Result<CodecId, UnknownCodecName> {
        CodecId::all().find(|id| id.to_string().eq_ignore_ascii_case(text)).ok_or(UnknownCodecName)
    }
}

/// A text that names no codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a codec: value, classic, long-run, elekt or column, alone or with +lz4 or +zstd")]
pub struct UnknownCodecName;

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

    /// Appends the projected values of one row of a block of `rows` rows: what [`RowCodec::open_block`] and
    /// [`BlockReader::decode_row`] give, where nothing else is wanted of the block.
    fn decode_row(
        &self,
        format: &RecordFormat,
        rows: usize,
        bytes: &[u8],
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        self.open_block(format, rows, bytes)?.decode_row(index, columns, out)
    }

    /// What is kept of a block for who reads many single rows of it; `None` if there is nothing to be found out beforehand.
    ///
    /// # Errors
    /// If the bytes are damaged.
    fn outline(&self, _format: &RecordFormat, _bytes: &[u8]) -> Result<Option<BlockOutline>, DecodeError> {
        Ok(None)
    }

    /// The same block under this codec without its compression, for who will read many single rows of it; `None` if it
    /// is not compressed.
    ///
    /// # Errors
    /// If the bytes are damaged, or take more than a block may once they are decompressed.
    fn unpack_block(&self, format: &RecordFormat, bytes: &[u8]) -> Result<Option<Vec<u8>>, DecodeError>;
}

/// What is known of a column of a block without decoding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnBounds {
    /// No number of the column ([`crate::ColumnValues::Numbers`]) is below the first or above the second; `None`: all values
    /// are NULL.
    pub numbers: Option<(i64, i64)>,
    /// Whether NULLs may be among the values.
    pub has_nulls: bool,
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

    /// Appends the rows of a range in value encoding.
    fn encoded_rows(&self, range: Range<usize>, out: &mut EncodedRows) -> Result<(), DecodeError> {
        for index in range {
            out.push_with(|bytes| self.encoded_row(index, bytes))?;
        }
        Ok(())
    }

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

    /// Bounds of a column whose values are numbers ([`crate::ColumnValues::Numbers`]), if the block tells them without being
    /// decoded. They may be wider than the values.
    fn column_bounds(&self, _slot: u16) -> Option<ColumnBounds> {
        None
    }

    /// The texts of a column in the rows of a range, where they repeat so often that the block has each of them once; `None` for all
    /// other columns, and for slots that the format does not have.
    ///
    /// # Errors
    /// If the bytes are damaged, or the range is not in the block.
    fn text_codes(&self, _slot: u16, _range: Range<usize>) -> Result<Option<TextCodes>, DecodeError> {
        Ok(None)
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
    static VALUE: [ValueCodec; 3] = each_compression!(compression => ValueCodec { compression });
    static COLUMN: [ColumnCodec; 3] = each_compression!(compression => ColumnCodec { compression });
    static CLASSIC: [RunLengthCodec; 3] =
        each_compression!(compression => RunLengthCodec { run_length: RunLength::Classic, compression });
    static LONG_RUN: [RunLengthCodec; 3] =
        each_compression!(compression => RunLengthCodec { run_length: RunLength::LongRun, compression });
    static ELEKT: [RunLengthCodec; 3] =
        each_compression!(compression => RunLengthCodec { run_length: RunLength::Elekt, compression });
    let unknown = DecodeError::UnknownCodec { codec: id.0 };
    let index = match id.compression().ok_or(unknown)? {
        Compression::None => 0,
        Compression::Lz4 => 1,
        Compression::Zstandard => 2,
    };
    match id.alone() {
        CodecId::VALUE => Ok(&VALUE[index]),
        CodecId::CLASSIC => Ok(&CLASSIC[index]),
        CodecId::LONG_RUN => Ok(&LONG_RUN[index]),
        CodecId::ELEKT => Ok(&ELEKT[index]),
        CodecId::COLUMN => Ok(&COLUMN[index]),
        _ => Err(unknown),
    }
}

/// An array with one codec for each of [`Compression::ALL`], in their order.
macro_rules! each_compression {
    ($compression:ident => $codec:expr) => {
        [
            {
                let $compression = Compression::None;
                $codec
            },
            {
                let $compression = Compression::Lz4;
                $codec
            },
            {
                let $compression = Compression::Zstandard;
                $codec
            },
        ]
    };
}
use each_compression;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_has_a_name_and_a_byte_of_its_own() {
        let all: Vec<CodecId> = CodecId::all().collect();
        assert_eq!(all.len(), 15);
        for id in &all {
            assert_eq!(id.to_string().parse(), Ok(*id));
            assert_eq!(codec(*id).map(|codec| codec.id()), Ok(*id));
        }
        assert_eq!("Column+ZSTD".parse(), Ok(CodecId(0x25)));
        assert_eq!("column+none".parse::<CodecId>(), Err(UnknownCodecName));
        for unknown in [0, 6, 0x35, 0x85] {
            assert!(codec(CodecId(unknown)).is_err());
        }
    }
}
