//! Arrays as bytes: the contents of the BLOB that holds one.
//!
//! # Layout
//! Numbers are little-endian. All elements have the same size, so that one of them is found without reading the others.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version, 1 |
//! | 1 | type of the elements: see [`TYPES`] |
//! | 1 | its scale, or its character set |
//! | 1 | 1 for NUMERIC, 2 for DECIMAL, else 0 |
//! | 4 | length of a text in characters, else 0 |
//! | 1 | number of dimensions |
//! | 8 for each | first and last subscript |
//! | the rest | the elements, the last subscript running fastest, each as a record image has it ([`crate::image`]) |

use farbird_types::decimal::Decimal;
use farbird_types::{
    ArrayShape, CharacterSet, Collation, Date, ExactSubtype, ExactWidth, SqlType, Text, TextType, Time,
    TimeTz, Timestamp, TimestampTz, Value, ZoneId, array,
};

use crate::bytes::Reader;
use crate::image::{decode_value, encode_value, width};
use crate::{DecodeError, EncodeError};

const VERSION: u8 = 1;
const FIXED_BYTES: usize = 9;
const BOUNDS_BYTES: usize = 8;
/// The longest header.
pub const HEADER_BYTES_MAX: usize = FIXED_BYTES + array::DIMENSIONS_MAX * BOUNDS_BYTES;

/// Types of elements by their number.
const TYPES: [SqlType; 16] = [
    SqlType::Boolean,
    SqlType::SMALLINT,
    SqlType::INTEGER,
    SqlType::BIGINT,
    SqlType::INT128,
    SqlType::Float,
    SqlType::Double,
    SqlType::DecFloat16,
    SqlType::DecFloat34,
    SqlType::Date,
    SqlType::Time,
    SqlType::Timestamp,
    SqlType::TimeTz,
    SqlType::TimestampTz,
    SqlType::char(0, CharacterSet::NONE),
    SqlType::varchar(0, CharacterSet::NONE),
];

/// Bytes of each element.
pub fn element_bytes(element: &SqlType) -> usize {
    width(element)
}

/// Appends the header of an array.
///
/// # Errors
/// `WrongType` for elements that arrays do not have.
pub fn encode_header(shape: &ArrayShape, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let (plain, detail, subtype, length) = match shape.element {
        SqlType::Exact { width, scale, subtype } => (
            SqlType::Exact { width, scale: 0, subtype: ExactSubtype::Integer },
            scale.cast_unsigned(),
            subtype as u8,
            0,
        ),
        SqlType::Text(text) => {
            let plain = TextType {
                varying: text.varying,
                length_chars: 0,
                character_set: CharacterSet::NONE,
                collation: Collation(0),
            };
            (SqlType::Text(plain), text.character_set.0, 0, text.length_chars)
        }
        other => (other, 0, 0, 0),
    };
    let number = TYPES.iter().position(|known| *known == plain);
    let number = number.and_then(|number| u8::try_from(number).ok());
    let dimensions = u8::try_from(shape.bounds.len()).ok();
    let (Some(number), Some(dimensions)) = (number, dimensions) else {
        return Err(EncodeError::WrongType { column: 0 });
    };
    out.extend_from_slice(&[VERSION, number, detail, subtype]);
    out.extend_from_slice(&length.to_le_bytes());
    out.push(dimensions);
    for (lower, upper) in &shape.bounds {
        out.extend_from_slice(&lower.to_le_bytes());
        out.extend_from_slice(&upper.to_le_bytes());
    }
    Ok(())
}

/// The shape that a header tells, and how many bytes the header has.
///
/// # Errors
/// [`DecodeError`] for what is no header.
pub fn decode_header(bytes: &[u8]) -> Result<(ArrayShape, usize), DecodeError> {
    let invalid = |what| DecodeError::Invalid { what, offset: 0 };
    let mut reader = Reader::new(bytes);
    if reader.u8()? != VERSION {
        return Err(invalid("version of an array"));
    }
    let plain = TYPES.get(usize::from(reader.u8()?)).ok_or_else(|| invalid("type of an array"))?;
    let (detail, subtype) = (reader.u8()?, reader.u8()?);
    let length_chars = u32::from_le_bytes(reader.array()?);
    let element = match *plain {
        SqlType::Exact { width, .. } => {
            let subtype = match subtype {
                0 => ExactSubtype::Integer,
                1 => ExactSubtype::Numeric,
                _ => ExactSubtype::Decimal,
            };
            SqlType::Exact { width, scale: detail.cast_signed(), subtype }
        }
        SqlType::Text(text) => {
            let character_set =
                CharacterSet::by_id(detail).ok_or_else(|| invalid("character set of an array"))?;
            if length_chars > u32::from(u16::MAX) {
                return Err(invalid("length of an array's texts"));
            }
            SqlType::Text(TextType { length_chars, character_set, ..text })
        }
        other => other,
    };
    let dimensions = reader.u8()?;
    let mut bounds = Vec::with_capacity(usize::from(dimensions));
    for _ in 0..dimensions {
        bounds.push((i32::from_le_bytes(reader.array()?), i32::from_le_bytes(reader.array()?)));
    }
    let shape = ArrayShape::new(element, bounds).map_err(|_| invalid("bounds of an array"))?;
    Ok((shape, reader.offset()))
}

/// Puts an element into its place, of [`element_bytes`] bytes.
///
/// # Errors
/// `WrongType` for a value that is not of the element's type, NULL too.
pub fn encode_element(value: &Value, place: &mut [u8]) -> Result<(), EncodeError> {
    place.fill(0);
    let encoded = if value.is_null() { None } else { encode_value(value, place) };
    encoded.ok_or(EncodeError::WrongType { column: 0 })
}

/// Reads an element from its place.
///
/// # Errors
/// [`DecodeError`] for bytes that are no such element.
pub fn decode_element(element: &SqlType, place: &[u8]) -> Result<Value, DecodeError> {
    decode_value(element, 0, place)
}

/// What an element is that nobody has set: zero, FALSE, the empty text, the first day of Firebird's calendar.
pub fn unset_element(element: &SqlType) -> Value {
    let (date, time, zone) = (Date(0), Time(0), ZoneId::GMT);
    match element {
        SqlType::Boolean => Value::Boolean(false),
        SqlType::Exact { width: ExactWidth::Int128, scale, .. } => {
            Value::Int128 { unscaled: 0, scale: *scale }
        }
        SqlType::Exact { scale, .. } => Value::Integer { unscaled: 0, scale: *scale },
        SqlType::Float => Value::Float(0.0),
        SqlType::Double => Value::Double(0.0),
        SqlType::DecFloat16 | SqlType::DecFloat34 => Value::DecFloat(Decimal::ZERO),
        SqlType::Date => Value::Date(date),
        SqlType::Time => Value::Time(time),
        SqlType::Timestamp => Value::Timestamp(Timestamp { date, time }),
        SqlType::TimeTz => Value::TimeTz(TimeTz { utc: time, zone }),
        SqlType::TimestampTz => Value::TimestampTz(TimestampTz { utc: Timestamp { date, time }, zone }),
        SqlType::Text(text) => {
            // As Firebird, whose elements are bytes of 0 then: characters of the number 0, in a CHAR.
            let length = if text.varying { 0 } else { text.length_chars as usize };
            Value::Text(Text::new(vec![0; length], text.character_set))
        }
        SqlType::Null | SqlType::Blob { .. } | SqlType::Array => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_and_damage_is_refused() {
        let numeric = SqlType::Exact { width: ExactWidth::Int64, scale: -2, subtype: ExactSubtype::Numeric };
        for element in [numeric, SqlType::char(3, CharacterSet::UTF8), SqlType::Boolean, SqlType::TimestampTz]
        {
            let shape = ArrayShape::new(element, vec![(-1, 1), (1, 5)]).unwrap();
            let mut bytes = Vec::new();
            encode_header(&shape, &mut bytes).unwrap();
            assert_eq!(decode_header(&bytes).unwrap(), (shape, bytes.len()));
            for cut in 0..bytes.len() {
                assert!(decode_header(&bytes[..cut]).is_err());
            }
        }
        let blobs = ArrayShape { element: SqlType::BLOB_BINARY, bounds: vec![(1, 2)] };
        assert!(encode_header(&blobs, &mut Vec::new()).is_err());
        assert!(decode_header(&[255; HEADER_BYTES_MAX]).is_err());
    }

    #[test]
    fn elements_come_back_those_not_set_too() {
        for element in TYPES {
            if matches!(element, SqlType::Text(_)) {
                continue;
            }
            let mut place = vec![0xff; element_bytes(&element)];
            let value = unset_element(&element);
            encode_element(&value, &mut place).unwrap();
            assert_eq!(decode_element(&element, &place).unwrap(), value);
        }
        let text = SqlType::varchar(2, CharacterSet::UTF8);
        let mut place = vec![0; element_bytes(&text)];
        encode_element(&Value::text("äö"), &mut place).unwrap();
        assert_eq!(decode_element(&text, &place).unwrap(), Value::text("äö"));
        assert!(encode_element(&Value::Null, &mut place).is_err());
        assert!(encode_element(&Value::text("far too long"), &mut place).is_err());
    }
}
