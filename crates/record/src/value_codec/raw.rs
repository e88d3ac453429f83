//! Rows in value encoding taken apart without making values: numbers as numbers, texts as slices of the row.
//!
//! This is how rows reach blocks of columns: a million of them pass here in a bulk load.

use farbird_types::{ExactWidth, SqlType};

use super::{decode_timestamp, is_null, null_bytes, skip_value};
use crate::bytes::{Reader, unzigzag, unzigzag_wide};
use crate::column_vector::timestamp_number;
use crate::{DecodeError, RecordFormat};

/// A value that is not NULL, as the row holds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RawValue<'r> {
    /// The number that stands for it ([`crate::ColumnValues::Numbers`]); INT128 too, if it fits.
    Number(i64),
    /// DOUBLE PRECISION.
    Double(f64),
    /// FLOAT.
    Float(f32),
    /// TIME or TIMESTAMP WITH TIME ZONE: the number of the moment in UTC, and the zone.
    Zoned(i64, u16),
    /// VARCHAR, or CHAR without its padding, which brings it to its declared length.
    Text(&'r [u8]),
    /// Anything else, in value encoding.
    Encoded(&'r [u8]),
}

/// How the values of a column are taken off a row: what of the type matters for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Boolean,
    Signed,
    Wide,
    Float,
    Double,
    Unsigned,
    Timestamp,
    TimeTz,
    TimestampTz,
    Varchar,
    Char,
    Other,
}

impl Shape {
    pub(crate) fn of(sql_type: &SqlType) -> Shape {
        match sql_type {
            SqlType::Boolean => Shape::Boolean,
            SqlType::Exact { width: ExactWidth::Int128, .. } => Shape::Wide,
            SqlType::Exact { .. } | SqlType::Date => Shape::Signed,
            SqlType::Float => Shape::Float,
            SqlType::Double => Shape::Double,
            SqlType::Time | SqlType::Blob { .. } | SqlType::Array => Shape::Unsigned,
            SqlType::Timestamp => Shape::Timestamp,
            SqlType::TimeTz => Shape::TimeTz,
            SqlType::TimestampTz => Shape::TimestampTz,
            SqlType::Text(declared) if declared.varying => Shape::Varchar,
            SqlType::Text(_) => Shape::Char,
            SqlType::Null | SqlType::DecFloat16 | SqlType::DecFloat34 => Shape::Other,
        }
    }
}

/// Hands every value of a row that is not NULL to `take`, by slot.
///
/// # Errors
/// If the row is not in value encoding. Ranges of numbers are not checked: whoever wrote the row has done that.
pub(crate) fn for_each_value<'r>(
    format: &RecordFormat,
    shapes: &[Shape],
    row: &'r [u8],
    mut take: impl FnMut(usize, RawValue<'r>),
) -> Result<(), DecodeError> {
    let mut reader = Reader::new(row);
    let nulls = reader.take(null_bytes(format.len()))?;
    for (slot, (shape, sql_type)) in shapes.iter().zip(format.columns()).enumerate() {
        if !is_null(nulls, slot) {
            take(slot, raw_value(*shape, sql_type, &mut reader)?);
        }
    }
    match reader.is_at_end() {
        true => Ok(()),
        false => Err(DecodeError::Invalid { what: "row length", offset: reader.offset() }),
    }
}

#[inline]
fn raw_value<'r>(
    shape: Shape,
    sql_type: &SqlType,
    reader: &mut Reader<'r>,
) -> Result<RawValue<'r>, DecodeError> {
    let start = *reader;
    let value = match shape {
        Shape::Boolean => RawValue::Number(i64::from(reader.u8()?)),
        Shape::Signed => RawValue::Number(reader.signed()?),
        Shape::Unsigned => RawValue::Number(reader.varint()? as i64),
        Shape::Float => RawValue::Float(f32::from_le_bytes(reader.array()?)),
        Shape::Double => RawValue::Double(match reader.varint()? {
            0 => f64::from_le_bytes(reader.array()?),
            number => unzigzag(number - 1) as f64,
        }),
        Shape::Varchar => RawValue::Text(reader.length_and_bytes()?),
        Shape::Char => {
            let tagged = reader.varint()?;
            if tagged & 1 == 1 {
                return encoded(start, sql_type, reader);
            }
            let length = usize::try_from(tagged >> 1)
                .map_err(|_| DecodeError::Truncated { offset: start.offset() })?;
            RawValue::Text(reader.take(length)?)
        }
        Shape::Wide => match i64::try_from(unzigzag_wide(reader.wide_varint()?)) {
            Ok(number) => RawValue::Number(number),
            Err(_) => return encoded(start, sql_type, reader),
        },
        Shape::Timestamp => match timestamp_number(&decode_timestamp(reader)?) {
            Some(number) => RawValue::Number(number),
            None => return encoded(start, sql_type, reader),
        },
        Shape::TimeTz => {
            let time = i64::try_from(reader.varint()?)
                .map_err(|_| DecodeError::Invalid { what: "time", offset: start.offset() })?;
            RawValue::Zoned(time, u16::from_le_bytes(reader.array()?))
        }
        Shape::TimestampTz => match timestamp_number(&decode_timestamp(reader)?) {
            Some(number) => RawValue::Zoned(number, u16::from_le_bytes(reader.array()?)),
            None => return encoded(start, sql_type, reader),
        },
        Shape::Other => return encoded(start, sql_type, reader),
    };
    Ok(value)
}

/// The value at `start` as it stands there; `reader` goes on behind it.
fn encoded<'r>(
    start: Reader<'r>,
    sql_type: &SqlType,
    reader: &mut Reader<'r>,
) -> Result<RawValue<'r>, DecodeError> {
    *reader = start;
    skip_value(sql_type, reader)?;
    let length = reader.offset() - start.offset();
    Ok(RawValue::Encoded(start.rest().get(..length).unwrap_or_default()))
}
