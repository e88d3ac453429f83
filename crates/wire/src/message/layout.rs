//! Where the columns of a row lie on the wire: worked out once per format, so that walking a row asks no type for its
//! length and rows without texts of their own length are not walked at all.
//!
//! Uses [`super::descriptor`]. Source: wire-protocol.md, 7.2 and 7.3.

use super::MessageForm;
use super::codec::{is_null, varying_length};
use super::descriptor::MessageType;
use crate::xdr::{Reader, Stop};

/// In the place of a length or an offset that differs from row to row.
const VARIES: u32 = u32::MAX;
/// The indicator word behind each value of the unpacked form.
const INDICATOR_BYTES: u32 = 4;

/// The layout of the rows of one format, in either form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RowLayout {
    columns: Vec<ColumnLayout>,
    /// Bytes of the NULL bits of the packed form, padding included.
    null_bytes: u32,
    /// Length of a packed row without NULLs, or [`VARIES`].
    packed_length: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ColumnLayout {
    /// Bytes on the wire, padding included, or [`VARIES`].
    length: u32,
    /// Where it begins in a packed row in which no column before it is NULL, or [`VARIES`].
    packed_offset: u32,
    /// Where it begins in an unpacked row, or [`VARIES`].
    unpacked_offset: u32,
}

/// A place in a row that has been walked to: a column and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) column: usize,
    pub(super) offset: usize,
}

impl RowLayout {
    /// The layout of rows of these columns.
    pub(super) fn of<'t>(columns: impl ExactSizeIterator<Item = &'t MessageType>) -> RowLayout {
        let null_bytes = u32::try_from(columns.len().div_ceil(8).next_multiple_of(4)).unwrap_or(VARIES);
        let (mut packed, mut unpacked) = (null_bytes, 0);
        let columns = columns
            .map(|kind| {
                let length = kind.wire_length().and_then(|length| u32::try_from(length).ok());
                let length = length.unwrap_or(VARIES);
                let column = ColumnLayout { length, packed_offset: packed, unpacked_offset: unpacked };
                packed = behind(packed, length);
                unpacked = behind(behind(unpacked, length), INDICATOR_BYTES);
                column
            })
            .collect();
        RowLayout { columns, null_bytes, packed_length: packed }
    }

    /// How many bytes the NULL bits of a packed row take.
    pub(super) fn null_bytes(&self) -> usize {
        self.null_bytes as usize
    }

    /// Length of a packed row without NULLs, if all such rows have the same.
    pub(super) fn packed_length(&self) -> Option<usize> {
        known(self.packed_length)
    }

    /// Where a column begins in a packed row without NULLs, if that is the same in all of them.
    pub(super) fn packed_offset(&self, column: usize) -> Option<usize> {
        self.columns.get(column).and_then(|column| known(column.packed_offset))
    }

    /// Where a column begins, if that follows from the format and the NULL bits' being 0 before it.
    pub(super) fn direct_offset(&self, form: MessageForm, column: usize, row: &[u8]) -> Option<usize> {
        let layout = self.columns.get(column)?;
        match form {
            MessageForm::Unpacked => known(layout.unpacked_offset),
            MessageForm::Packed => {
                let offset = known(layout.packed_offset)?;
                (no_null_before(row, column)).then_some(offset)
            }
        }
    }

    /// The first column of a row.
    pub(super) fn first(&self, form: MessageForm) -> Place {
        let offset = match form {
            MessageForm::Packed => self.null_bytes(),
            MessageForm::Unpacked => 0,
        };
        Place { column: 0, offset }
    }

    /// Moves the reader behind one row.
    pub(super) fn skip(
        &self,
        types: &[MessageType],
        form: MessageForm,
        reader: &mut Reader<'_>,
    ) -> Result<(), Stop> {
        let nulls = match form {
            MessageForm::Packed => reader.raw(self.null_bytes())?,
            MessageForm::Unpacked => &[],
        };
        if let (MessageForm::Packed, Some(length), true) =
            (form, self.packed_length(), nulls.iter().all(|bits| *bits == 0))
        {
            reader.raw(length.saturating_sub(nulls.len()))?;
            return Ok(());
        }
        for (column, (layout, kind)) in self.columns.iter().zip(types.iter().step_by(2)).enumerate() {
            if is_null(nulls, column) {
                continue;
            }
            match known(layout.length) {
                Some(length) => reader.raw(length)?,
                None => {
                    let length = varying_length(kind.declared_length(), reader)?;
                    reader.opaque(length)?
                }
            };
            if form == MessageForm::Unpacked {
                reader.raw(INDICATOR_BYTES as usize)?;
            }
        }
        Ok(())
    }

    /// The value at a place of a row that has been walked before: its bytes without length and padding, unless it is
    /// NULL. Then the place of the next column.
    pub(super) fn value_at<'a>(
        &self,
        kind: &MessageType,
        form: MessageForm,
        row: &'a [u8],
        place: Place,
    ) -> Option<(Option<&'a [u8]>, Place)> {
        let Place { column, offset } = place;
        if form == MessageForm::Packed && is_null(row, column) {
            return Some((None, Place { column: column + 1, offset }));
        }
        let (start, content, padded) = match (known(self.columns.get(column)?.length), kind) {
            (Some(padded), MessageType::Text { length, .. }) => (offset, usize::from(*length), padded),
            (Some(length), _) => (offset, length, length),
            (None, _) => {
                let [_, _, high, low] = *row.get(offset..)?.first_chunk::<4>()?;
                let length = usize::from(u16::from_be_bytes([high, low]));
                (offset + 4, length, length.next_multiple_of(4))
            }
        };
        let content = row.get(start..start + content)?;
        let end = start + padded;
        match form {
            MessageForm::Packed => Some((Some(content), Place { column: column + 1, offset: end })),
            MessageForm::Unpacked => {
                let [_, _, high, low] = *row.get(end..)?.first_chunk::<4>()?;
                let is_null = i16::from_be_bytes([high, low]) < 0;
                let next = Place { column: column + 1, offset: end + INDICATOR_BYTES as usize };
                Some(((!is_null).then_some(content), next))
            }
        }
    }
}

fn behind(offset: u32, length: u32) -> u32 {
    if length == VARIES { VARIES } else { offset.saturating_add(length) }
}

fn known(number: u32) -> Option<usize> {
    (number != VARIES).then_some(number as usize)
}

/// Whether no column before this one is NULL, by the bits at the start of a packed row.
fn no_null_before(row: &[u8], column: usize) -> bool {
    let (whole, rest) = (column / 8, column % 8);
    row.get(..whole).is_some_and(|bytes| bytes.iter().all(|bits| *bits == 0))
        && row.get(whole).is_some_and(|bits| bits & ((1_u8 << rest) - 1) == 0)
}
