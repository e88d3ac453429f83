//! Order-preserving keys: `memcmp` of the bytes is the SQL order of the values.
//!
//! Keys of several values are the concatenation of their parts: no part is a prefix of another of the same column.
//! Exact numerics compare across widths but only at one scale: cast constants to the column's type first.
//!
//! | kind | bytes |
//! |---|---|
//! | NULL | 00 |
//! | exact numeric, DATE, TIME | sign and length in one byte (7F less n, or 80 plus n), then n bytes, high first, those of a negative number complemented |
//! | TIMESTAMP | date, then time, each as above; with time zone in UTC |
//! | FLOAT, DOUBLE | 01, then the bits of the double, ordered |
//! | DECFLOAT | kind, two bytes of exponent, pairs of digits, 00 |
//! | BOOLEAN | 01 or 02 |
//! | text | [`crate::collation`] |
//!
//! A descending part is the complement of the ascending one. A NULL at the end where it does not belong by its value
//! is a byte before the part, which the other values then have as well.

use crate::character_set::{CharacterSet, Collation};
use crate::collation;
use crate::decimal::{Decimal, DecimalParts};
use crate::error::{Error, Result, isc};
use crate::temporal::Timestamp;
use crate::value::{Text, Value};

/// Where NULL stands among the values of a key part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum NullsPosition {
    /// NULL is the lowest value: first when ascending, last when descending. Firebird's default, and its indexes'.
    #[default]
    Lowest,
    /// NULLS FIRST.
    First,
    /// NULLS LAST.
    Last,
}

/// How one value becomes a part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct KeyPart {
    /// Order of texts, in their own character set.
    pub collation: Collation,
    /// Whether the order is reversed.
    pub descending: bool,
    /// Where NULL stands.
    pub nulls: NullsPosition,
}

const NULL: u8 = 0x00;
const NULL_BEFORE: u8 = 0x00;
const VALUE: u8 = 0x01;
const NULL_AFTER: u8 = 0x02;

/// Appends `value` as the next part of a key.
///
/// # Errors
/// `blobnotsup` for BLOBs, which have no order.
pub fn encode_key(value: &Value, part: &KeyPart, out: &mut Vec<u8>) -> Result<()> {
    if let Some(marker) = marker(value.is_null(), part.nulls) {
        out.push(marker);
        if value.is_null() {
            return Ok(());
        }
    }
    let from = out.len();
    append(value, part.collation, out)?;
    complement_from(from, part.descending, out);
    Ok(())
}

/// As [`encode_key`] for an exact number without its point, the day of a date, the time of a day; `None` is NULL.
pub fn encode_number_key(number: Option<i64>, part: &KeyPart, out: &mut Vec<u8>) {
    out.extend(marker(number.is_none(), part.nulls));
    let from = out.len();
    match number {
        Some(number) => append_integer(number, out),
        None if part.nulls == NullsPosition::Lowest => out.push(NULL),
        None => {}
    }
    complement_from(from, part.descending, out);
}

/// As [`encode_key`] for a FLOAT or DOUBLE PRECISION; `None` is NULL.
pub fn encode_double_key(number: Option<f64>, part: &KeyPart, out: &mut Vec<u8>) {
    out.extend(marker(number.is_none(), part.nulls));
    let from = out.len();
    match number {
        Some(number) => append_double(number, out),
        None if part.nulls == NullsPosition::Lowest => out.push(NULL),
        None => {}
    }
    complement_from(from, part.descending, out);
}

/// Appends `value` as the next part of the key by which ORDER BY places it: as [`encode_key`], but equal texts of an
/// insensitive collation come by their accents and case ([`collation::append_order_key`]).
///
/// # Errors
/// As [`encode_key`].
pub fn encode_order_key(value: &Value, part: &KeyPart, out: &mut Vec<u8>) -> Result<()> {
    let Value::Text(text) = value else { return encode_key(value, part, out) };
    out.extend(marker(false, part.nulls));
    let from = out.len();
    collation::append_order_key(text, part.collation, out);
    complement_from(from, part.descending, out);
    Ok(())
}

/// Texts that are made again of keys that begin with a part of one column: see [`collation::is_told_by_key`].
#[derive(Debug, Clone)]
pub struct TextsOfKeys {
    part: KeyPart,
    set: CharacterSet,
    key: Vec<u8>,
    text: Vec<u8>,
}

impl TextsOfKeys {
    /// For keys that begin with this part of texts of a character set.
    pub fn new(part: KeyPart, set: CharacterSet) -> TextsOfKeys {
        TextsOfKeys { part, set, key: Vec::new(), text: Vec::new() }
    }

    /// The value that a key begins with: NULL, or a text that is told by it; `None` if it is no such key.
    pub fn value_of(&mut self, key: &[u8]) -> Option<Value> {
        let key = match self.part.nulls {
            NullsPosition::Lowest => key,
            _ => match key.split_first()? {
                (&VALUE, rest) => rest,
                _ => return Some(Value::Null),
            },
        };
        let key = match self.part.descending {
            false => key,
            true => {
                self.key.clear();
                self.key.extend(key.iter().map(|byte| !byte));
                self.key.as_slice()
            }
        };
        if self.part.nulls == NullsPosition::Lowest && key.first() == Some(&NULL) {
            return Some(Value::Null);
        }
        collation::text_of_key(key, self.set, self.part.collation, &mut self.text).map(Value::Text)
    }
}

/// Appends what every key of a text starting with `prefix` starts with. Such keys may also belong to texts that differ
/// from the prefix in trailing spaces, case or accents: whoever scans by it checks the text itself.
pub fn encode_prefix(prefix: &Text, part: &KeyPart, out: &mut Vec<u8>) {
    out.extend(marker(false, part.nulls));
    let from = out.len();
    collation::append_prefix(prefix, part.collation, out);
    complement_from(from, part.descending, out);
}

/// The byte before a part whose NULLs are placed explicitly.
fn marker(null: bool, nulls: NullsPosition) -> Option<u8> {
    match (nulls, null) {
        (NullsPosition::Lowest, _) => None,
        (_, false) => Some(VALUE),
        (NullsPosition::First, true) => Some(NULL_BEFORE),
        (NullsPosition::Last, true) => Some(NULL_AFTER),
    }
}

fn complement_from(from: usize, descending: bool, out: &mut [u8]) {
    if descending {
        for byte in out.iter_mut().skip(from) {
            *byte = !*byte;
        }
    }
}

fn append(value: &Value, collation: Collation, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Null => out.push(NULL),
        Value::Boolean(value) => out.push(1 + u8::from(*value)),
        Value::Integer { unscaled, .. } => append_integer(*unscaled, out),
        Value::Int128 { unscaled, .. } => match i64::try_from(*unscaled) {
            Ok(unscaled) => append_integer(unscaled, out),
            Err(_) => append_wide_integer(*unscaled, out),
        },
        // As a double, so that a FLOAT column can be searched for a double.
        Value::Float(value) => append_double(f64::from(*value), out),
        Value::Double(value) => append_double(*value, out),
        Value::DecFloat(value) => append_decimal(*value, out),
        Value::Date(date) => append_integer(date.0.into(), out),
        Value::Time(time) => append_integer(time.0.into(), out),
        Value::Timestamp(timestamp) => append_timestamp(*timestamp, out),
        Value::TimeTz(time) => append_integer(time.utc.0.into(), out),
        Value::TimestampTz(timestamp) => append_timestamp(timestamp.utc, out),
        Value::Text(text) => collation::append_sort_key(text, collation, out),
        Value::Blob(_) => return Err(Error::new(isc::BLOBNOTSUP).with("ORDER BY")),
    }
    Ok(())
}

fn append_timestamp(timestamp: Timestamp, out: &mut Vec<u8>) {
    append_integer(timestamp.date.0.into(), out);
    append_integer(timestamp.time.0.into(), out);
}

/// Sign and length, then the bytes that matter.
fn append_integer(value: i64, out: &mut Vec<u8>) {
    // Of a negative number the complement, so that -1 has no bytes, like 0.
    let magnitude = if value < 0 { !value } else { value };
    let skipped = (magnitude.leading_zeros() / 8) as usize;
    let length = (8 - skipped) as u8;
    out.push(if value < 0 { 0x7F - length } else { 0x80 + length });
    out.extend_from_slice(value.to_be_bytes().get(skipped..).unwrap_or_default());
}

/// As [`append_integer`], for numbers that need more.
fn append_wide_integer(value: i128, out: &mut Vec<u8>) {
    // Of a negative number the complement, so that -1 has no bytes, like 0.
    let magnitude = if value < 0 { !value } else { value };
    let bytes = magnitude.to_be_bytes();
    let skipped = bytes.iter().take_while(|byte| **byte == 0).count();
    let length = u8::try_from(bytes.len() - skipped).unwrap_or(16);
    out.push(if value < 0 { 0x7F - length } else { 0x80 + length });
    let mask = if value < 0 { 0xFF } else { 0 };
    out.extend(bytes.iter().skip(skipped).map(|byte| byte ^ mask));
}

fn append_double(value: f64, out: &mut Vec<u8>) {
    // One zero, one NaN.
    let bits = if value == 0.0 {
        0
    } else if value.is_nan() {
        f64::NAN.to_bits() & !(1 << 63)
    } else {
        value.to_bits()
    };
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.push(VALUE);
    out.extend(ordered.to_be_bytes());
}

/// Kinds of decimals, in their order.
mod decimal_kind {
    pub(super) const NEGATIVE_INFINITY: u8 = 1;
    pub(super) const NEGATIVE: u8 = 2;
    pub(super) const ZERO: u8 = 3;
    pub(super) const POSITIVE: u8 = 4;
    pub(super) const INFINITY: u8 = 5;
    pub(super) const NAN: u8 = 6;
    pub(super) const SIGNALING_NAN: u8 = 7;
}

fn append_decimal(value: Decimal, out: &mut Vec<u8>) {
    let Some((negative, coefficient, exponent)) = value.reduced() else {
        out.push(match value.parts() {
            DecimalParts::Infinity { negative: true } => decimal_kind::NEGATIVE_INFINITY,
            DecimalParts::Infinity { negative: false } => decimal_kind::INFINITY,
            DecimalParts::Nan { signaling: true, .. } => decimal_kind::SIGNALING_NAN,
            DecimalParts::Nan { .. } | DecimalParts::Finite { .. } => decimal_kind::NAN,
        });
        return;
    };
    if coefficient == 0 {
        out.push(decimal_kind::ZERO);
        return;
    }
    out.push(if negative { decimal_kind::NEGATIVE } else { decimal_kind::POSITIVE });
    let from = out.len();
    let digits = coefficient.to_string();
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The point before the first digit: between -6175 and 6145.
    let magnitude = u16::try_from(exponent.saturating_add(length).saturating_add(0x4000)).unwrap_or(u16::MAX);
    out.extend(magnitude.to_be_bytes());
    let digit = |byte: Option<&u8>| byte.map_or(0, |byte| byte - b'0');
    // 1 to 100, leaving 0 for the end.
    out.extend(digits.as_bytes().chunks(2).map(|pair| digit(pair.first()) * 10 + digit(pair.get(1)) + 1));
    out.push(0);
    complement_from(from, negative, out);
}

#[cfg(test)]
mod tests;
