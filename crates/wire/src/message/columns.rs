//! Rows out of columns: packets of rows written from plain vectors of values, without a row of values in between.
//!
//! For servers whose engines work by columns. What is written are the bytes that [`MessageFormat::encode_row`] writes for the
//! same values; a value that does not fit ends the writing before its row, so that the caller can meet the error there.
//! Uses [`super::codec`] and [`super::layout`]. Source: wire-protocol.md, 7.2.

use farbird_types::Value;
use farbird_types::temporal::FRACTIONS_PER_DAY;

use super::codec::{EncodeError, EncodeFault, encode_value};
use super::descriptor::MessageType;
use super::format::MessageFormat;
use super::run::FETCH_HEAD;
use crate::xdr::Writer;

/// The values of one column, for many rows.
#[derive(Debug, Clone, Copy)]
pub struct ColumnSlice<'a> {
    /// The values, whatever they are where they are NULL.
    pub values: ColumnData<'a>,
    /// One bit per value, set if it is NULL: bit `index % 64` of word `index / 64`. Missing words are 0.
    pub nulls: &'a [u64],
}

/// How the values of a [`ColumnSlice`] are held.
#[derive(Debug, Clone, Copy)]
pub enum ColumnData<'a> {
    /// BOOLEAN as 0 and 1; SMALLINT, INTEGER, BIGINT and the NUMERIC in them unscaled, of the column's scale; DATE as its day;
    /// TIME as its ten-thousandths of a second; TIMESTAMP as [`farbird_types::Timestamp::ticks`].
    Numbers(&'a [i64]),
    /// DOUBLE PRECISION, and FLOAT widened.
    Doubles(&'a [f64]),
    /// Values of the column's type.
    Values(&'a [Value]),
}

impl ColumnSlice<'_> {
    #[inline]
    fn is_null(&self, row: usize) -> bool {
        self.nulls.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn has_nulls(&self) -> bool {
        self.nulls.iter().any(|word| *word != 0)
    }
}

/// What came of writing rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsWritten {
    /// How many rows were written.
    pub rows: usize,
    /// Why the row behind them was not, if it does not fit its format.
    pub error: Option<EncodeError>,
}

impl MessageFormat {
    /// Appends op_fetch_response packets, packed, for the rows at some places of `columns`, until `bytes_max` are reached (at
    /// least one row).
    ///
    /// A place past the end of a column, and another number of columns than the format has, are type mismatches.
    pub fn encode_fetch_columns(
        &self,
        columns: &[ColumnSlice<'_>],
        places: &[u32],
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> RowsWritten {
        if columns.len() != self.column_count() || !self.is_paired() {
            let fault = EncodeFault::ColumnCount { expected: self.column_count(), given: columns.len() };
            return RowsWritten { rows: 0, error: Some(EncodeError { column: 0, fault }) };
        }
        let is_plain = columns
            .iter()
            .all(|column| !matches!(column.values, ColumnData::Values(_)) && !column.has_nulls());
        match self.layout().packed_length() {
            Some(length) if is_plain => {
                let length = FETCH_HEAD.len() + length;
                let count = places.len().min(bytes_max.div_ceil(length).max(1));
                self.write_plain(columns, places.get(..count).unwrap_or_default(), length, out)
            }
            _ => self.write_rows(columns, places, bytes_max, out),
        }
    }

    /// Writes rows of `length` bytes each, column by column.
    fn write_plain(
        &self,
        columns: &[ColumnSlice<'_>],
        places: &[u32],
        length: usize,
        out: &mut Vec<u8>,
    ) -> RowsWritten {
        let start = out.len();
        out.resize(start + places.len() * length, 0);
        let packets = out.get_mut(start..).unwrap_or_default();
        for packet in packets.chunks_exact_mut(length) {
            if let Some(head) = packet.first_chunk_mut() {
                *head = FETCH_HEAD;
            }
        }
        let mut written = RowsWritten { rows: places.len(), error: None };
        for (number, (column, kind)) in columns.iter().zip(self.columns()).enumerate() {
            let Some(offset) = self.layout().packed_offset(number) else { continue };
            let places = places.get(..written.rows).unwrap_or_default();
            let target = Strided { packets, length, offset: FETCH_HEAD.len() + offset };
            if let Err((row, fault)) = write_column(column, kind, places, target) {
                written = RowsWritten { rows: row, error: Some(EncodeError { column: number, fault }) };
            }
        }
        out.truncate(start + written.rows * length);
        written
    }

    /// Writes row by row.
    fn write_rows(
        &self,
        columns: &[ColumnSlice<'_>],
        places: &[u32],
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> RowsWritten {
        let start = out.len();
        for (row, place) in places.iter().enumerate() {
            if row > 0 && out.len() - start >= bytes_max {
                return RowsWritten { rows: row, error: None };
            }
            let before = out.len();
            if let Err(error) = self.write_row(columns, *place as usize, out) {
                out.truncate(before);
                return RowsWritten { rows: row, error: Some(error) };
            }
        }
        RowsWritten { rows: places.len(), error: None }
    }

    fn write_row(
        &self,
        columns: &[ColumnSlice<'_>],
        place: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        out.extend_from_slice(&FETCH_HEAD);
        let bits = out.len();
        out.resize(bits + self.layout().null_bytes(), 0);
        for (number, (column, kind)) in columns.iter().zip(self.columns()).enumerate() {
            if column.is_null(place) {
                if let Some(byte) = out.get_mut(bits + number / 8) {
                    *byte |= 1 << (number % 8);
                }
                continue;
            }
            let written = match column.values {
                ColumnData::Numbers(numbers) => match numbers.get(place) {
                    Some(value) => write_number(kind, *value, out),
                    None => Err(EncodeFault::TypeMismatch),
                },
                ColumnData::Doubles(doubles) => match (kind, doubles.get(place)) {
                    (MessageType::Float, Some(value)) => {
                        out.extend_from_slice(&(*value as f32).to_be_bytes());
                        Ok(())
                    }
                    (MessageType::Double | MessageType::DFloat, Some(value)) => {
                        out.extend_from_slice(&value.to_be_bytes());
                        Ok(())
                    }
                    _ => Err(EncodeFault::TypeMismatch),
                },
                ColumnData::Values(values) => match values.get(place) {
                    Some(value) => encode_value(kind, value, &mut Writer::new(out)),
                    None => Err(EncodeFault::TypeMismatch),
                },
            };
            written.map_err(|fault| EncodeError { column: number, fault })?;
        }
        Ok(())
    }
}

/// A column's places in packets of one length.
struct Strided<'a> {
    packets: &'a mut [u8],
    length: usize,
    offset: usize,
}

impl Strided<'_> {
    /// Writes what `bytes` makes of each value. Gives the row whose value it refuses.
    #[inline]
    fn fill<T: Copy, const N: usize>(
        self,
        values: &[T],
        places: &[u32],
        bytes: impl Fn(T) -> Option<[u8; N]>,
    ) -> Result<(), (usize, EncodeFault)> {
        for (row, (packet, place)) in self.packets.chunks_exact_mut(self.length).zip(places).enumerate() {
            let value = *values.get(*place as usize).ok_or((row, EncodeFault::TypeMismatch))?;
            let bytes = bytes(value).ok_or((row, EncodeFault::OutOfRange))?;
            if let Some(target) = packet.get_mut(self.offset..).and_then(|rest| rest.first_chunk_mut()) {
                *target = bytes;
            }
        }
        Ok(())
    }
}

fn write_column(
    column: &ColumnSlice<'_>,
    kind: &MessageType,
    places: &[u32],
    target: Strided<'_>,
) -> Result<(), (usize, EncodeFault)> {
    match (column.values, kind) {
        (ColumnData::Numbers(numbers), MessageType::Short { .. }) => target.fill(numbers, places, short),
        (ColumnData::Numbers(numbers), MessageType::Long { .. } | MessageType::Date) => {
            target.fill(numbers, places, long)
        }
        (ColumnData::Numbers(numbers), MessageType::Int64 { .. }) => {
            target.fill(numbers, places, |number| Some(number.to_be_bytes()))
        }
        (ColumnData::Numbers(numbers), MessageType::Time) => target.fill(numbers, places, time),
        (ColumnData::Numbers(numbers), MessageType::Timestamp) => target.fill(numbers, places, timestamp),
        (ColumnData::Numbers(numbers), MessageType::Boolean) => target.fill(numbers, places, boolean),
        (ColumnData::Doubles(doubles), MessageType::Float) => {
            target.fill(doubles, places, |number| Some((number as f32).to_be_bytes()))
        }
        (ColumnData::Doubles(doubles), MessageType::Double | MessageType::DFloat) => {
            target.fill(doubles, places, |number| Some(number.to_be_bytes()))
        }
        _ if places.is_empty() => Ok(()),
        _ => Err((0, EncodeFault::TypeMismatch)),
    }
}

fn write_number(kind: &MessageType, number: i64, out: &mut Vec<u8>) -> Result<(), EncodeFault> {
    let mut append = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        None => Err(EncodeFault::OutOfRange),
    };
    match kind {
        MessageType::Short { .. } => append(short(number).as_ref().map(<[u8; 4]>::as_slice)),
        MessageType::Long { .. } | MessageType::Date => {
            append(long(number).as_ref().map(<[u8; 4]>::as_slice))
        }
        MessageType::Int64 { .. } => append(Some(&number.to_be_bytes())),
        MessageType::Time => append(time(number).as_ref().map(<[u8; 4]>::as_slice)),
        MessageType::Timestamp => append(timestamp(number).as_ref().map(<[u8; 8]>::as_slice)),
        MessageType::Boolean => append(boolean(number).as_ref().map(<[u8; 4]>::as_slice)),
        _ => Err(EncodeFault::TypeMismatch),
    }
}

/// Shorts travel in a word, with their sign.
#[inline]
fn short(number: i64) -> Option<[u8; 4]> {
    i16::try_from(number).ok().map(|number| i32::from(number).to_be_bytes())
}

#[inline]
fn long(number: i64) -> Option<[u8; 4]> {
    i32::try_from(number).ok().map(i32::to_be_bytes)
}

#[inline]
fn time(number: i64) -> Option<[u8; 4]> {
    u32::try_from(number).ok().map(u32::to_be_bytes)
}

#[inline]
fn timestamp(ticks: i64) -> Option<[u8; 8]> {
    let day = i64::from(FRACTIONS_PER_DAY);
    let date = i32::try_from(ticks.div_euclid(day)).ok()?;
    let time = u32::try_from(ticks.rem_euclid(day)).ok()?;
    Some(((u64::from(date.cast_unsigned()) << 32) | u64::from(time)).to_be_bytes())
}

#[inline]
fn boolean(number: i64) -> Option<[u8; 4]> {
    match number {
        0 => Some([0; 4]),
        1 => Some([1, 0, 0, 0]),
        _ => None,
    }
}
