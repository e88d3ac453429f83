//! What an SQL value becomes.

use std::borrow::Cow;
use std::sync::Arc;

use farbird_types::decimal::Decimal;
use farbird_types::temporal::{TimeTz, TimestampTz};
use farbird_types::{BlobId, CharacterSet, Date, Text, Time, Timestamp, Value};
use farbird_wire::message::{DYNAMIC_CHARACTER_SET, MessageType, WireValue};

use super::expected::ColumnType;
use super::mismatch::Mismatch;

/// A type that SQL values become values of; `'r` is the life of the row, for types that borrow from it.
///
/// To implement it for a type of one's own, go by one that has it:
///
/// ```
/// use farbird_client::{ColumnType, FromValue, Mismatch, WireValue};
///
/// struct Celsius(f64);
///
/// impl<'r> FromValue<'r> for Celsius {
///     fn from_value(value: WireValue<'r>) -> Result<Celsius, Mismatch> {
///         f64::from_value(value).map(Celsius)
///     }
///
///     fn column_type() -> Option<ColumnType> {
///         f64::column_type()
///     }
/// }
/// ```
pub trait FromValue<'r>: Sized {
    /// The value.
    ///
    /// # Errors
    /// Why it cannot be.
    fn from_value(value: WireValue<'r>) -> Result<Self, Mismatch>;

    /// The columns whose values become values of this type, if they are of one kind: this saves a round trip, see
    /// [`Connection::query_all_as`](crate::Connection::query_all_as).
    fn column_type() -> Option<ColumnType> {
        None
    }
}

impl<'r, T: FromValue<'r>> FromValue<'r> for Option<T> {
    #[inline]
    fn from_value(value: WireValue<'r>) -> Result<Option<T>, Mismatch> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }

    fn column_type() -> Option<ColumnType> {
        T::column_type()
    }
}

impl<'r> FromValue<'r> for Value {
    fn from_value(value: WireValue<'r>) -> Result<Value, Mismatch> {
        Ok(sql_value(value))
    }
}

/// The SQL value; a CHAR has as many characters as it was declared with.
pub(super) fn sql_value(value: WireValue<'_>) -> Value {
    match (value.kind(), text_of(value)) {
        (MessageType::Text { .. }, Ok((bytes, character_set))) => {
            Value::Text(Text::new(bytes, character_set))
        }
        _ => value.to_value(),
    }
}

/// The bytes of a type of one length.
#[inline]
fn array<const N: usize>(content: &[u8]) -> Result<[u8; N], Mismatch> {
    content.first_chunk().copied().ok_or(Mismatch::Type)
}

fn content(value: WireValue<'_>) -> Result<&[u8], Mismatch> {
    value.content().ok_or(Mismatch::Null)
}

/// An exact number: unscaled, and its scale.
#[inline]
fn exact(value: WireValue<'_>) -> Result<(i128, i8), Mismatch> {
    let content = content(value)?;
    match value.kind() {
        MessageType::Long { scale } => Ok((i128::from(i32::from_be_bytes(array(content)?)), scale)),
        MessageType::Int64 { scale } => Ok((i128::from(i64::from_be_bytes(array(content)?)), scale)),
        MessageType::Short { scale } => {
            let [_, _, high, low] = array(content)?;
            Ok((i128::from(i16::from_be_bytes([high, low])), scale))
        }
        MessageType::Int128 { scale } => Ok((i128::from_be_bytes(array(content)?), scale)),
        _ => Err(Mismatch::Type),
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl<'r> FromValue<'r> for $integer {
            #[inline]
            fn from_value(value: WireValue<'r>) -> Result<$integer, Mismatch> {
                // The commonest by the shortest way.
                if let (MessageType::Long { scale: 0 }, Some(content)) = (value.kind(), value.content()) {
                    let number = i32::from_be_bytes(array(content)?);
                    return <$integer>::try_from(number).map_err(|_| Mismatch::Range);
                }
                match exact(value)? {
                    (number, 0) => <$integer>::try_from(number).map_err(|_| Mismatch::Range),
                    _ => Err(Mismatch::Type),
                }
            }

            fn column_type() -> Option<ColumnType> {
                Some(ColumnType::Integer)
            }
        })*
    };
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl<'r> FromValue<'r> for f64 {
    fn from_value(value: WireValue<'r>) -> Result<f64, Mismatch> {
        let content = content(value)?;
        match value.kind() {
            MessageType::Double | MessageType::DFloat => Ok(f64::from_be_bytes(array(content)?)),
            MessageType::Float => Ok(f64::from(f32::from_be_bytes(array(content)?))),
            _ => match exact(value)? {
                (number, 0) => Ok(number as f64),
                // Through decimal digits: the double nearest to the number.
                (number, scale) => {
                    Decimal::from_unscaled(number, scale).to_f64().map_err(|_| Mismatch::Range)
                }
            },
        }
    }

    fn column_type() -> Option<ColumnType> {
        Some(ColumnType::Double)
    }
}

impl<'r> FromValue<'r> for f32 {
    fn from_value(value: WireValue<'r>) -> Result<f32, Mismatch> {
        match value.kind() {
            MessageType::Float => Ok(f32::from_be_bytes(array(content(value)?)?)),
            _ => match exact(value)? {
                (number, 0) => Ok(number as f32),
                _ => Err(Mismatch::Type),
            },
        }
    }

    fn column_type() -> Option<ColumnType> {
        Some(ColumnType::Float)
    }
}

impl<'r> FromValue<'r> for bool {
    fn from_value(value: WireValue<'r>) -> Result<bool, Mismatch> {
        let content = content(value)?;
        match value.kind() {
            MessageType::Boolean => Ok(content.first().is_some_and(|byte| *byte != 0)),
            _ => Err(Mismatch::Type),
        }
    }

    fn column_type() -> Option<ColumnType> {
        Some(ColumnType::Boolean)
    }
}

/// A text's bytes and character set. A CHAR in a character set of several bytes per character comes with more spaces than
/// it has characters; it is cut to its declared length.
fn text_of(value: WireValue<'_>) -> Result<(&[u8], CharacterSet), Mismatch> {
    let content = content(value)?;
    let set_of = |charset: Option<u16>| {
        let [character_set, _] = charset.unwrap_or(u16::from(DYNAMIC_CHARACTER_SET)).to_le_bytes();
        // Where nothing is said, it is the connection's: columns of other connections than those in UTF8 say theirs.
        if character_set == DYNAMIC_CHARACTER_SET { CharacterSet::UTF8 } else { CharacterSet(character_set) }
    };
    match value.kind() {
        MessageType::Varying { charset, .. } | MessageType::Cstring { charset, .. } => {
            Ok((content, set_of(charset)))
        }
        MessageType::Text { length, charset } => {
            let character_set = set_of(charset);
            let declared = usize::from(length) / usize::from(character_set.bytes_per_character().max(1));
            let bytes = match character_set {
                CharacterSet::UTF8 if charset.is_some() => first_characters(content, declared),
                CharacterSet::UTF8 => content,
                _ if character_set.bytes_per_character() > 1 => {
                    content.get(..character_set.byte_offset(content, declared)).unwrap_or(content)
                }
                _ => content,
            };
            Ok((bytes, character_set))
        }
        _ => Err(Mismatch::Type),
    }
}

/// The first characters of a text in UTF-8, valid or not.
fn first_characters(text: &[u8], count: usize) -> &[u8] {
    // A character begins with every byte that does not go on with another.
    let mut starts = text.iter().enumerate().filter(|(_, byte)| **byte & 0xC0 != 0x80).map(|(at, _)| at);
    match starts.nth(count) {
        Some(end) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// Whether texts of a character set are UTF-8 as they are, if they are valid.
fn is_unicode(character_set: CharacterSet) -> bool {
    character_set == CharacterSet::UTF8
        || matches!(character_set, CharacterSet::NONE | CharacterSet::OCTETS)
        || matches!(character_set.name(), "ASCII" | "UNICODE_FSS")
}

impl<'r> FromValue<'r> for &'r str {
    fn from_value(value: WireValue<'r>) -> Result<&'r str, Mismatch> {
        match text_of(value)? {
            (bytes, character_set) if is_unicode(character_set) => {
                std::str::from_utf8(bytes).map_err(|_| Mismatch::Text)
            }
            (_, character_set) => Err(Mismatch::Other(format!(
                "a text in {} must be converted, so take it as String",
                character_set.name()
            ))),
        }
    }

    fn column_type() -> Option<ColumnType> {
        Some(ColumnType::Text)
    }
}

impl<'r> FromValue<'r> for Cow<'r, str> {
    fn from_value(value: WireValue<'r>) -> Result<Cow<'r, str>, Mismatch> {
        let (bytes, character_set) = text_of(value)?;
        if is_unicode(character_set) {
            return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| Mismatch::Text);
        }
        let converted = character_set.transliterate(bytes, CharacterSet::UTF8).map_err(|_| Mismatch::Text)?;
        String::from_utf8(converted.into_owned()).map(Cow::Owned).map_err(|_| Mismatch::Text)
    }

    fn column_type() -> Option<ColumnType> {
        Some(ColumnType::Text)
    }
}

macro_rules! owned_texts {
    ($($text:ty)*) => {
        $(impl<'r> FromValue<'r> for $text {
            fn from_value(value: WireValue<'r>) -> Result<$text, Mismatch> {
                Cow::<str>::from_value(value).map(Into::into)
            }

            fn column_type() -> Option<ColumnType> {
                Some(ColumnType::Text)
            }
        })*
    };
}

owned_texts!(String Box<str> Arc<str>);

impl<'r> FromValue<'r> for &'r [u8] {
    fn from_value(value: WireValue<'r>) -> Result<&'r [u8], Mismatch> {
        text_of(value).map(|(bytes, _)| bytes)
    }

    fn column_type() -> Option<ColumnType> {
        Some(ColumnType::Bytes)
    }
}

impl<'r> FromValue<'r> for Vec<u8> {
    fn from_value(value: WireValue<'r>) -> Result<Vec<u8>, Mismatch> {
        text_of(value).map(|(bytes, _)| bytes.to_vec())
    }

    fn column_type() -> Option<ColumnType> {
        Some(ColumnType::Bytes)
    }
}

impl<'r> FromValue<'r> for Decimal {
    fn from_value(value: WireValue<'r>) -> Result<Decimal, Mismatch> {
        match value.to_value() {
            Value::DecFloat(number) => Ok(number),
            _ => exact(value).map(|(number, scale)| Decimal::from_unscaled(number, scale)),
        }
    }
}

macro_rules! as_they_are {
    ($($variant:ident $type:ty, $column:expr;)*) => {
        $(impl<'r> FromValue<'r> for $type {
            fn from_value(value: WireValue<'r>) -> Result<$type, Mismatch> {
                match value.to_value() {
                    Value::$variant(found) => Ok(found),
                    Value::Null => Err(Mismatch::Null),
                    _ => Err(Mismatch::Type),
                }
            }

            fn column_type() -> Option<ColumnType> {
                $column
            }
        })*
    };
}

as_they_are! {
    Date Date, Some(ColumnType::Date);
    Time Time, Some(ColumnType::Time);
    Timestamp Timestamp, Some(ColumnType::Timestamp);
    TimeTz TimeTz, Some(ColumnType::TimeTz);
    TimestampTz TimestampTz, Some(ColumnType::TimestampTz);
    Blob BlobId, None;
}
