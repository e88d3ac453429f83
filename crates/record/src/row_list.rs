//! Rows one after the other, with what it takes to find one of them: the block layout of all row-wise codecs.
//!
//! # Layout
//! | bytes | item | meaning |
//! |---|---|---|
//! | 1 | w | 0: all rows are equally long; 1, 2, 4: bytes per length |
//! | | if w = 0 | varint: the length |
//! | 4 x ceil(rows / 32) | else: starts | of every 32nd row, from the first row's beginning, little-endian |
//! | w x rows | and: lengths | of each row, little-endian |
//! | ... | rows | one after the other |
//!
//! Under a compression the whole list is a packed piece ([`crate::compression`]).

use std::borrow::Cow;
use std::ops::Range;

use crate::bytes::{Reader, put_varint};
use crate::codec::EncodedRows;
use crate::compression::{self, Compression, Worth};
use crate::value_codec::ROW_BYTES_MAX;
use crate::{DecodeError, EncodeError};

/// Rows per entry of the list of starts.
const ROWS_PER_START: usize = 32;

/// The longest list under a compression, in bytes: room for the longest row, and for more rows than anybody packs.
const LIST_BYTES_MAX: usize = 2 * ROW_BYTES_MAX;

/// Appends the list of these rows.
///
/// # Errors
/// If they are too large together: 4 GiB, under a compression 32 MiB.
pub(crate) fn encode(
    rows: &EncodedRows,
    compression: Compression,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    if compression == Compression::None {
        return encode_plain(rows, out);
    }
    let mut list = Vec::with_capacity(rows.bytes().len() + 2 * rows.len());
    encode_plain(rows, &mut list)?;
    if list.len() > LIST_BYTES_MAX {
        return Err(EncodeError::TooLarge { size: list.len() });
    }
    compression::pack_with(compression, Worth::Eighth, &list, out);
    Ok(())
}

/// The list without its compression; `None` if it has none.
pub(crate) fn unpack(compression: Compression, bytes: &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
    match compression {
        Compression::None => Ok(None),
        _ => compression::unpack(bytes, LIST_BYTES_MAX).map(|list| Some(list.into_owned())),
    }
}

fn encode_plain(rows: &EncodedRows, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let longest = rows.iter().map(<[u8]>::len).max().unwrap_or(0);
    if rows.iter().all(|row| row.len() == longest) {
        out.push(0);
        put_varint(longest as u64, out);
    } else {
        let width: u8 = match longest {
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            _ => 4,
        };
        out.push(width);
        let mut start = 0usize;
        for (index, row) in rows.iter().enumerate() {
            if index % ROWS_PER_START == 0 {
                let start = u32::try_from(start).map_err(|_| EncodeError::TooLarge { size: start })?;
                out.extend_from_slice(&start.to_le_bytes());
            }
            start += row.len();
        }
        for row in rows.iter() {
            out.extend_from_slice(&(row.len() as u32).to_le_bytes()[..usize::from(width)]);
        }
    }
    out.extend_from_slice(rows.bytes());
    Ok(())
}

/// A list to look rows up in.
pub(crate) struct RowList<'a> {
    rows: usize,
    list: Cow<'a, [u8]>,
    lengths: Lengths,
    /// Where the first row begins in the list.
    first_row: usize,
}

enum Lengths {
    Uniform(usize),
    /// Where in the list the starts and the lengths stand.
    Listed {
        width: usize,
        starts: Range<usize>,
        lengths: Range<usize>,
    },
}

impl<'a> RowList<'a> {
    /// Looks into a list of `rows` rows.
    pub(crate) fn open(
        rows: usize,
        compression: Compression,
        bytes: &'a [u8],
    ) -> Result<RowList<'a>, DecodeError> {
        let list = match compression {
            Compression::None => Cow::Borrowed(bytes),
            _ => compression::unpack(bytes, LIST_BYTES_MAX)?,
        };
        let mut reader = Reader::new(&list);
        let lengths = match reader.u8()? {
            0 => {
                let offset = reader.offset();
                let length = usize::try_from(reader.varint()?)
                    .ok()
                    .filter(|&length| length <= ROW_BYTES_MAX)
                    .ok_or(DecodeError::Invalid { what: "row length", offset })?;
                Lengths::Uniform(length)
            }
            width @ (1 | 2 | 4) => {
                let width = usize::from(width);
                let truncated = DecodeError::Truncated { offset: reader.offset() };
                let starts = reader.offset();
                reader.take(rows.div_ceil(ROWS_PER_START).checked_mul(4).ok_or(truncated)?)?;
                let lengths = reader.offset();
                reader.take(rows.checked_mul(width).ok_or(truncated)?)?;
                Lengths::Listed { width, starts: starts..lengths, lengths: lengths..reader.offset() }
            }
            _ => return Err(DecodeError::Invalid { what: "length width", offset: 0 }),
        };
        let first_row = reader.offset();
        Ok(RowList { rows, lengths, first_row, list })
    }

    /// The bytes of the row at `index`.
    pub(crate) fn row(&self, index: usize) -> Result<&[u8], DecodeError> {
        let damaged = DecodeError::Invalid { what: "row place", offset: index };
        if index >= self.rows {
            return Err(damaged);
        }
        let (start, length) = match &self.lengths {
            Lengths::Uniform(length) => (index.checked_mul(*length), *length),
            Lengths::Listed { width, starts, lengths } => {
                let starts = self.list.get(starts.clone()).unwrap_or_default();
                let lengths = self.list.get(lengths.clone()).unwrap_or_default();
                let group = index / ROWS_PER_START;
                let start =
                    starts.get(group * 4..group * 4 + 4).and_then(|b| b.try_into().ok()).ok_or(damaged)?;
                let mut start = Some(u32::from_le_bytes(start) as usize);
                for before in group * ROWS_PER_START..index {
                    start = start.and_then(|at| at.checked_add(length_at(lengths, *width, before)));
                }
                (start, length_at(lengths, *width, index))
            }
        };
        start
            .and_then(|start| start.checked_add(self.first_row))
            .and_then(|start| self.list.get(start..start.checked_add(length)?))
            .ok_or(damaged)
    }
}

/// The length at `index` of a list of lengths of `width` bytes; 0 past its end.
fn length_at(lengths: &[u8], width: usize, index: usize) -> usize {
    let bytes = lengths.get(index * width..(index + 1) * width).unwrap_or_default();
    bytes.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte))
}
