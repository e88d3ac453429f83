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

use crate::bytes::{Reader, put_varint};
use crate::codec::EncodedRows;
use crate::value_codec::ROW_BYTES_MAX;
use crate::{DecodeError, EncodeError};

/// Rows per entry of the list of starts.
const ROWS_PER_START: usize = 32;

/// Appends the list of these rows.
///
/// # Errors
/// If they are larger than 4 GiB together.
pub(crate) fn encode(rows: &EncodedRows, out: &mut Vec<u8>) -> Result<(), EncodeError> {
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
    lengths: Lengths<'a>,
    bytes: &'a [u8],
}

enum Lengths<'a> {
    Uniform(usize),
    Listed { width: usize, starts: &'a [u8], lengths: &'a [u8] },
}

impl<'a> RowList<'a> {
    /// Looks into a list of `rows` rows.
    pub(crate) fn open(rows: usize, bytes: &'a [u8]) -> Result<RowList<'a>, DecodeError> {
        let mut reader = Reader::new(bytes);
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
                let starts = reader.take(rows.div_ceil(ROWS_PER_START).checked_mul(4).ok_or(truncated)?)?;
                let lengths = reader.take(rows.checked_mul(width).ok_or(truncated)?)?;
                Lengths::Listed { width, starts, lengths }
            }
            _ => return Err(DecodeError::Invalid { what: "length width", offset: 0 }),
        };
        Ok(RowList { rows, lengths, bytes: reader.rest() })
    }

    /// The bytes of the row at `index`.
    pub(crate) fn row(&self, index: usize) -> Result<&'a [u8], DecodeError> {
        let damaged = DecodeError::Invalid { what: "row place", offset: index };
        if index >= self.rows {
            return Err(damaged);
        }
        let (start, length) = match self.lengths {
            Lengths::Uniform(length) => (index.checked_mul(length), length),
            Lengths::Listed { width, starts, lengths } => {
                let group = index / ROWS_PER_START;
                let start =
                    starts.get(group * 4..group * 4 + 4).and_then(|b| b.try_into().ok()).ok_or(damaged)?;
                let mut start = Some(u32::from_le_bytes(start) as usize);
                for before in group * ROWS_PER_START..index {
                    start = start.and_then(|at| at.checked_add(length_at(lengths, width, before)));
                }
                (start, length_at(lengths, width, index))
            }
        };
        start.and_then(|start| self.bytes.get(start..start.checked_add(length)?)).ok_or(damaged)
    }
}

/// The length at `index` of a list of lengths of `width` bytes; 0 past its end.
fn length_at(lengths: &[u8], width: usize, index: usize) -> usize {
    let bytes = lengths.get(index * width..(index + 1) * width).unwrap_or_default();
    bytes.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte))
}
