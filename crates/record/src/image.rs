//! The record image: a row as Firebird keeps it in memory, every column at a fixed offset and at its declared size.
//!
//! # Layout
//! Null bits as in [`crate::value_codec`], then every column, NULL ones as zeros. Numbers are little-endian; nothing is
//! aligned.
//!
//! | type | bytes |
//! |---|---|
//! | BOOLEAN | 1 |
//! | SMALLINT, INTEGER, BIGINT, INT128 | 2, 4, 8, 16 |
//! | FLOAT, DOUBLE PRECISION, DECFLOAT | 4, 8, 16 |
//! | DATE, TIME, TIMESTAMP | 4, 4, 8 |
//! | TIME, TIMESTAMP WITH TIME ZONE | 6, 10 |
//! | CHAR, VARCHAR | length in bytes (2), then the declared length in bytes, filled up with zeros |
//! | BLOB | 8 |

use farbird_types::decimal::Decimal;
use farbird_types::{
    BlobId, Date, ExactWidth, SqlType, Text, Time, TimeTz, Timestamp, TimestampTz, Value, ZoneId,
};

use crate::bytes::Reader;
use crate::codec::ColumnSet;
use crate::{DecodeError, EncodeError, RecordFormat};

/// The longest image, in bytes.
pub const IMAGE_BYTES_MAX: usize = 1 << 20;

/// Where the columns of a format stand in its image.
#[derive(Debug)]
pub(crate) struct ImageLayout<'a> {
    columns: &'a [SqlType],
    /// Offset of each column, and the image's size at last.
    offsets: Vec<usize>,
}

/// Bytes of a value in an image.
pub(crate) fn width(sql_type: &SqlType) -> usize {
    match sql_type {
        SqlType::Null => 0,
        SqlType::Boolean => 1,
        SqlType::Exact { width, .. } => match width {
            ExactWidth::Short => 2,
            ExactWidth::Long => 4,
            ExactWidth::Int64 => 8,
            ExactWidth::Int128 => 16,
        },
        SqlType::Float | SqlType::Date | SqlType::Time => 4,
        SqlType::Double | SqlType::Timestamp | SqlType::Blob { .. } | SqlType::Array => 8,
        SqlType::DecFloat16 | SqlType::DecFloat34 => 16,
        SqlType::TimeTz => 6,
        SqlType::TimestampTz => 10,
        SqlType::Text(declared) => 2 + declared.length_bytes() as usize,
    }
}

impl<'a> ImageLayout<'a> {
    pub(crate) fn new(format: &'a RecordFormat) -> ImageLayout<'a> {
        let columns = format.columns();
        let mut at = columns.len().div_ceil(8);
        let mut offsets = Vec::with_capacity(columns.len() + 1);
        for sql_type in columns {
            offsets.push(at);
            at = at.saturating_add(width(sql_type));
        }
        offsets.push(at);
        ImageLayout { columns, offsets }
    }

    /// Size of every image.
    pub(crate) fn size(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Makes `image` the image of a row.
    pub(crate) fn encode(&self, row: &[Value], image: &mut Vec<u8>) -> Result<(), EncodeError> {
        image.clear();
        if self.size() > IMAGE_BYTES_MAX {
            return Err(EncodeError::TooLarge { size: self.size() });
        }
        image.resize(self.size(), 0);
        for (slot, (sql_type, start)) in self.columns.iter().zip(&self.offsets).enumerate() {
            match row.get(slot) {
                None | Some(Value::Null) => image[slot / 8] |= 1 << (slot % 8),
                Some(value) => {
                    let place = &mut image[*start..*start + width(sql_type)];
                    encode_value(value, place).ok_or(EncodeError::WrongType { column: slot })?;
                }
            }
        }
        Ok(())
    }

    /// Appends the projected values of an image.
    pub(crate) fn decode(
        &self,
        image: &[u8],
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        if image.len() != self.size() {
            return Err(DecodeError::Invalid { what: "image size", offset: 0 });
        }
        match columns {
            ColumnSet::All => {
                for slot in 0..self.columns.len() {
                    out.push(self.value(image, slot)?);
                }
            }
            ColumnSet::Slots(slots) => {
                for slot in *slots {
                    out.push(self.value(image, usize::from(*slot))?);
                }
            }
        }
        Ok(())
    }

    fn value(&self, image: &[u8], slot: usize) -> Result<Value, DecodeError> {
        let (Some(sql_type), Some(&start)) = (self.columns.get(slot), self.offsets.get(slot)) else {
            return Ok(Value::Null);
        };
        if image.get(slot / 8).is_none_or(|byte| byte & (1 << (slot % 8)) != 0) {
            return Ok(Value::Null);
        }
        let place =
            image.get(start..start + width(sql_type)).ok_or(DecodeError::Truncated { offset: start })?;
        decode_value(sql_type, start, place)
    }
}

/// `None` if the value does not fit into its place.
pub(crate) fn encode_value(value: &Value, place: &mut [u8]) -> Option<()> {
    let put = |place: &mut [u8], bytes: &[u8]| {
        place.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(())
    };
    match value {
        Value::Null => Some(()),
        Value::Boolean(value) => put(place, &[u8::from(*value)]),
        Value::Integer { unscaled, .. } => {
            let bytes = unscaled.to_le_bytes();
            put(place, bytes.get(..place.len())?)
        }
        Value::Int128 { unscaled, .. } => put(place, &unscaled.to_le_bytes()),
        Value::Float(value) => put(place, &value.to_le_bytes()),
        Value::Double(value) => put(place, &value.to_le_bytes()),
        Value::DecFloat(Decimal(bits)) => put(place, &bits.to_le_bytes()),
        Value::Date(date) => put(place, &date.0.to_le_bytes()),
        Value::Time(time) => put(place, &time.0.to_le_bytes()),
        Value::Timestamp(stamp) => put_timestamp(stamp, place),
        Value::TimeTz(time) => {
            put(place, &time.utc.0.to_le_bytes())?;
            put(place.get_mut(4..)?, &time.zone.0.to_le_bytes())
        }
        Value::TimestampTz(stamp) => {
            put_timestamp(&stamp.utc, place)?;
            put(place.get_mut(8..)?, &stamp.zone.0.to_le_bytes())
        }
        Value::Text(text) => {
            let length = u16::try_from(text.bytes().len()).ok()?;
            put(place, &length.to_le_bytes())?;
            put(place.get_mut(2..)?, text.bytes())
        }
        Value::Blob(id) => put(place, &id.0.to_le_bytes()),
    }
}

fn put_timestamp(stamp: &Timestamp, place: &mut [u8]) -> Option<()> {
    place.get_mut(..4)?.copy_from_slice(&stamp.date.0.to_le_bytes());
    place.get_mut(4..8)?.copy_from_slice(&stamp.time.0.to_le_bytes());
    Some(())
}

pub(crate) fn decode_value(sql_type: &SqlType, offset: usize, place: &[u8]) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(place);
    Ok(match sql_type {
        SqlType::Null => Value::Null,
        SqlType::Boolean => match reader.u8()? {
            0 => Value::Boolean(false),
            1 => Value::Boolean(true),
            _ => return Err(DecodeError::Invalid { what: "boolean", offset }),
        },
        SqlType::Exact { width, scale, .. } => {
            let scale = *scale;
            match width {
                ExactWidth::Short => {
                    Value::Integer { unscaled: i64::from(i16::from_le_bytes(reader.array()?)), scale }
                }
                ExactWidth::Long => {
                    Value::Integer { unscaled: i64::from(i32::from_le_bytes(reader.array()?)), scale }
                }
                ExactWidth::Int64 => Value::Integer { unscaled: i64::from_le_bytes(reader.array()?), scale },
                ExactWidth::Int128 => Value::Int128 { unscaled: i128::from_le_bytes(reader.array()?), scale },
            }
        }
        SqlType::Float => Value::Float(f32::from_le_bytes(reader.array()?)),
        SqlType::Double => Value::Double(f64::from_le_bytes(reader.array()?)),
        SqlType::DecFloat16 | SqlType::DecFloat34 => {
            Value::DecFloat(Decimal(u128::from_le_bytes(reader.array()?)))
        }
        SqlType::Date => Value::Date(Date(i32::from_le_bytes(reader.array()?))),
        SqlType::Time => Value::Time(Time(u32::from_le_bytes(reader.array()?))),
        SqlType::Timestamp => Value::Timestamp(timestamp(&mut reader)?),
        SqlType::TimeTz => {
            let utc = Time(u32::from_le_bytes(reader.array()?));
            Value::TimeTz(TimeTz { utc, zone: ZoneId(u16::from_le_bytes(reader.array()?)) })
        }
        SqlType::TimestampTz => {
            let utc = timestamp(&mut reader)?;
            Value::TimestampTz(TimestampTz { utc, zone: ZoneId(u16::from_le_bytes(reader.array()?)) })
        }
        SqlType::Text(declared) => {
            let length = u16::from_le_bytes(reader.array()?);
            Value::Text(Text::new(reader.take(usize::from(length))?, declared.character_set))
        }
        SqlType::Blob { .. } | SqlType::Array => Value::Blob(BlobId(u64::from_le_bytes(reader.array()?))),
    })
}

fn timestamp(reader: &mut Reader<'_>) -> Result<Timestamp, DecodeError> {
    let date = Date(i32::from_le_bytes(reader.array()?));
    Ok(Timestamp { date, time: Time(u32::from_le_bytes(reader.array()?)) })
}
