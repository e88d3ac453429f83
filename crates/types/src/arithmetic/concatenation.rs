//! `||`.

use std::borrow::Cow;

use crate::character_set::{CharacterSet, Collation};
use crate::convert::{self, CastContext};
use crate::error::{Error, Result, isc};
use crate::sql_type::{SqlType, TextType};
use crate::value::{Text, Value};

/// The longest text in bytes, without the length before a VARCHAR.
const TEXT_BYTES_MAX: u32 = 65_533;

/// The type of `left || right`: VARCHAR as long as both, or BLOB if either is one.
///
/// # Errors
/// None so far: every type has a text form.
pub fn concatenated_type(left: &SqlType, right: &SqlType) -> Result<SqlType> {
    // What is no text counts as one without a character set here.
    let kind = |operand: &SqlType| match operand {
        SqlType::Text(_) | SqlType::Blob { .. } | SqlType::Null => text_of(operand),
        _ => Some((CharacterSet::NONE, Collation(0))),
    };
    if (left, right) == (&SqlType::Null, &SqlType::Null) {
        return Ok(SqlType::char(1, CharacterSet::NONE));
    }
    let (character_set, collation) = merged_text(kind(left), kind(right));
    if let Some(subtype) = merged_subtype(left, right) {
        return Ok(SqlType::Blob { subtype, character_set, collation });
    }
    let length = |operand: &SqlType| operand.text_length_in(character_set);
    let longest = TEXT_BYTES_MAX / u32::from(character_set.bytes_per_character());
    let length_chars = length(left).saturating_add(length(right)).min(longest);
    Ok(SqlType::Text(TextType { varying: true, length_chars, character_set, collation }))
}

/// The character set and collation of an operand: those of numbers and dates are ASCII; nothing for NULL.
pub(super) fn text_of(operand: &SqlType) -> Option<(CharacterSet, Collation)> {
    match operand {
        SqlType::Null => None,
        SqlType::Text(text) => Some((text.character_set, text.collation)),
        SqlType::Blob { subtype: 1, character_set, collation } => Some((*character_set, *collation)),
        SqlType::Blob { .. } => Some((CharacterSet::OCTETS, Collation(0))),
        _ => Some((CharacterSet::ASCII, Collation(0))),
    }
}

/// The one that wins: a declared set over NONE, any over ASCII, OCTETS over all; otherwise the left one.
pub(super) fn merged_text(
    left: Option<(CharacterSet, Collation)>,
    right: Option<(CharacterSet, Collation)>,
) -> (CharacterSet, Collation) {
    match (left, right) {
        (None, None) => (CharacterSet::NONE, Collation(0)),
        (Some(only), None) | (None, Some(only)) => only,
        (Some(left), Some(right)) => {
            let right_wins = left.0 == CharacterSet::NONE
                || right.0 == CharacterSet::OCTETS
                || left.0 == CharacterSet::ASCII && right.0 != CharacterSet::NONE;
            if right_wins { right } else { left }
        }
    }
}

/// The subtype of the BLOB that two operands make, if one of them is one: binary if either is.
pub(super) fn merged_subtype(left: &SqlType, right: &SqlType) -> Option<i16> {
    let subtype = |operand: &SqlType| match operand {
        SqlType::Blob { subtype, .. } => Some(*subtype),
        _ => None,
    };
    // A text beside a BLOB counts as a BLOB of text, unless in OCTETS.
    let as_blob = |operand: &SqlType| match operand {
        SqlType::Text(text) if text.character_set == CharacterSet::OCTETS => 0,
        _ => 1,
    };
    match (subtype(left), subtype(right)) {
        (None, None) => None,
        (Some(left), Some(right)) => Some(if right == 0 { 0 } else { left }),
        (Some(blob), None) => Some(if as_blob(right) == 0 { 0 } else { blob }),
        (None, Some(blob)) => Some(if blob == 0 { 0 } else { as_blob(left) }),
    }
}

/// Computes `left || right` for anything but BLOBs, in the character set of `result` ([`concatenated_type`]). NULL if
/// either is NULL.
///
/// # Errors
/// `arith_except` with `string_truncation` past the longest text; those of transliteration.
pub fn concatenate(left: &Value, right: &Value, result: &SqlType, context: &CastContext) -> Result<Value> {
    if left.is_null() || right.is_null() {
        return Ok(Value::Null);
    }
    let SqlType::Text(text_type) = result else { return Err(Error::new(isc::DATYPE_NOTSUP)) };
    let set = text_type.character_set;
    let (left, right) = (as_text(left, set, context)?, as_text(right, set, context)?);
    let length = left.bytes().len().saturating_add(right.bytes().len());
    if u32::try_from(length).map_or(true, |length| length > TEXT_BYTES_MAX) {
        return Err(Error::new(isc::ARITH_EXCEPT)
            .and(isc::STRING_TRUNCATION)
            .and(isc::TRUNC_LIMITS)
            .with(i32::try_from(TEXT_BYTES_MAX).unwrap_or(i32::MAX))
            .with(i32::try_from(length).unwrap_or(i32::MAX)));
    }
    Ok(Value::Text(Text::new([left.bytes(), right.bytes()].concat(), set)))
}

fn as_text<'a>(value: &'a Value, set: CharacterSet, context: &CastContext) -> Result<Cow<'a, Text>> {
    match value {
        Value::Text(text) if text.character_set() == set => Ok(Cow::Borrowed(text)),
        Value::Text(text) => text.transliterate(set).map(Cow::Owned),
        _ => match convert::cast(value, &SqlType::varchar(TEXT_BYTES_MAX, set), context)? {
            Value::Text(text) => Ok(Cow::Owned(text)),
            _ => Err(Error::new(isc::DATYPE_NOTSUP)),
        },
    }
}

impl SqlType {
    /// How many characters the text form of any value of this type has at most; 0 for NULL and BLOBs.
    ///
    /// Source: Firebird's DSC_string_length.
    pub fn text_length(&self) -> u32 {
        match self {
            SqlType::Null | SqlType::Blob { .. } | SqlType::Array => 0,
            SqlType::Boolean => 5,
            SqlType::Exact { width, scale, .. } => {
                use crate::sql_type::ExactWidth::{Int64, Int128, Long, Short};
                let digits = match width {
                    Short => 6,
                    Long => 11,
                    Int64 => 20,
                    Int128 => 47,
                };
                match scale {
                    0 => digits,
                    ..0 => digits + 1,
                    1.. => digits + u32::from(scale.unsigned_abs()),
                }
            }
            SqlType::Float => 15,
            SqlType::Double => 24,
            SqlType::DecFloat16 => 23,
            SqlType::DecFloat34 => 42,
            SqlType::Date => 10,
            SqlType::Time => 13,
            SqlType::Timestamp => 25,
            SqlType::TimeTz => 46,
            SqlType::TimestampTz => 58,
            SqlType::Text(text) => text.length_chars,
        }
    }

    /// As [`SqlType::text_length`], in characters of another set: bytes, if that has no characters.
    pub fn text_length_in(&self, set: CharacterSet) -> u32 {
        match self {
            SqlType::Text(text) if set.is_bytes() => text.length_bytes(),
            _ => self.text_length(),
        }
    }
}
