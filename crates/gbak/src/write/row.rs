//! Rows in XDR (RFC 4506), and the runs that they are packed as: what [`crate::RowFormat`] reads.

use std::hash::{DefaultHasher, Hasher};

use farbird_types::{CharacterSet, Date, Time, Timestamp, Value};

use crate::{FieldKind, RowField};

/// The missing flag of a value that is NULL.
const MISSING: i32 = -1;
/// Longest run: its length is a signed byte.
const RUN_MAX: usize = 127;

/// Appends a row in XDR: a value for each field, then for each whether it is NULL. `None` for a value that is not of its
/// field's type.
pub(super) fn encode(fields: &[RowField], values: &[Value], out: &mut Vec<u8>) -> Option<()> {
    for (field, value) in fields.iter().zip(values) {
        encode_value(field.kind, value, out)?;
    }
    for value in values.iter().take(fields.len()) {
        let missing = matches!(value, Value::Null);
        out.extend_from_slice(&if missing { MISSING } else { 0 }.to_be_bytes());
    }
    Some(())
}

/// Adds a row to a checksum: `encoded`, or what it would be without arrays, if it has any.
pub(super) fn add_to_checksum(
    fields: &[RowField],
    values: &[Value],
    encoded: &[u8],
    hasher: &mut DefaultHasher,
) {
    let is_array = |field: &RowField| field.kind == FieldKind::Array;
    if !fields.iter().any(is_array) {
        return hasher.write(encoded);
    }
    let kept = fields.iter().zip(values).filter(|(field, _)| !is_array(field));
    let (fields, values): (Vec<RowField>, Vec<Value>) =
        kept.map(|(field, value)| (*field, value.clone())).unzip();
    let mut without = Vec::new();
    // Each value has been encoded once already.
    if encode(&fields, &values, &mut without).is_some() {
        hasher.write(&without);
    }
}

/// Bytes of a row as Firebird has it in memory, which stand before each row.
pub(super) fn native_bytes(fields: &[RowField]) -> u32 {
    let values = fields.iter().fold(0_usize, |offset, field| {
        let (alignment, length) = field.kind.native();
        offset.next_multiple_of(alignment) + length
    });
    u32::try_from(values.next_multiple_of(2) + 2 * fields.len()).unwrap_or(u32::MAX)
}

pub(super) fn encode_value(kind: FieldKind, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match (kind, value) {
        (FieldKind::Text { length, character_set }, _) => {
            let bytes = text_bytes(value)?;
            let blank = if character_set == CharacterSet::OCTETS { 0 } else { b' ' };
            let start = out.len();
            out.extend_from_slice(bytes.get(..bytes.len().min(length.into()))?);
            out.resize(start + usize::from(length), blank);
            pad(start, out);
        }
        (FieldKind::Varying { length, .. } | FieldKind::CString { length, .. }, _) => {
            let bytes = text_bytes(value)?;
            let used = u16::try_from(bytes.len()).ok().filter(|used| *used <= length)?;
            out.extend_from_slice(&i32::from(used).to_be_bytes());
            let start = out.len();
            out.extend_from_slice(bytes);
            pad(start, out);
        }
        (FieldKind::Boolean, _) => {
            out.extend_from_slice(&[u8::from(*value == Value::Boolean(true)), 0, 0, 0])
        }
        // What belongs there follows the row.
        (FieldKind::Blob | FieldKind::Array, _) => out.extend_from_slice(&[0; 8]),
        (_, Value::Null) => out.resize(out.len() + fixed_bytes(kind), 0),
        (FieldKind::Short { scale } | FieldKind::Long { scale }, Value::Integer { unscaled, scale: own })
            if scale == *own =>
        {
            out.extend_from_slice(&i32::try_from(*unscaled).ok()?.to_be_bytes())
        }
        (FieldKind::Int64 { scale }, Value::Integer { unscaled, scale: own }) if scale == *own => {
            out.extend_from_slice(&unscaled.to_be_bytes());
        }
        (FieldKind::Int128 { scale }, Value::Int128 { unscaled, scale: own }) if scale == *own => {
            out.extend_from_slice(&unscaled.to_be_bytes());
        }
        (FieldKind::Float, Value::Float(number)) => out.extend_from_slice(&number.to_bits().to_be_bytes()),
        (FieldKind::Double, Value::Double(number)) => out.extend_from_slice(&number.to_bits().to_be_bytes()),
        (FieldKind::DecFloat16, Value::DecFloat(number)) => {
            out.extend_from_slice(&number.to_decimal64_bits().ok()?.to_be_bytes());
        }
        (FieldKind::DecFloat34, Value::DecFloat(number)) => out.extend_from_slice(&number.0.to_be_bytes()),
        (FieldKind::Date, Value::Date(Date(days))) => out.extend_from_slice(&days.to_be_bytes()),
        (FieldKind::Time, Value::Time(Time(time))) => out.extend_from_slice(&time.to_be_bytes()),
        (FieldKind::Timestamp, Value::Timestamp(timestamp)) => encode_timestamp(*timestamp, out),
        (FieldKind::TimeTz { extended: false }, Value::TimeTz(time)) => {
            out.extend_from_slice(&time.utc.0.to_be_bytes());
            out.extend_from_slice(&u32::from(time.zone.0).to_be_bytes());
        }
        (FieldKind::TimestampTz { extended: false }, Value::TimestampTz(timestamp)) => {
            encode_timestamp(timestamp.utc, out);
            out.extend_from_slice(&u32::from(timestamp.zone.0).to_be_bytes());
        }
        _ => return None,
    }
    Some(())
}

fn encode_timestamp(timestamp: Timestamp, out: &mut Vec<u8>) {
    out.extend_from_slice(&timestamp.date.0.to_be_bytes());
    out.extend_from_slice(&timestamp.time.0.to_be_bytes());
}

/// A text's bytes; none of NULL.
fn text_bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Text(text) => Some(text.bytes()),
        Value::Null => Some(&[]),
        _ => None,
    }
}

fn fixed_bytes(kind: FieldKind) -> usize {
    match kind {
        FieldKind::Int128 { .. } | FieldKind::DecFloat34 => 16,
        FieldKind::TimestampTz { extended } => 12 + 4 * usize::from(extended),
        FieldKind::TimeTz { extended } => 8 + 4 * usize::from(extended),
        FieldKind::Int64 { .. } | FieldKind::Double | FieldKind::DecFloat16 | FieldKind::Timestamp => 8,
        _ => 4,
    }
}

/// Fills up what began at `start` to a multiple of four bytes.
fn pad(start: usize, out: &mut Vec<u8>) {
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
}

/// Appends bytes as runs: a positive number and so many bytes, or a negative one and the byte that is there so many times.
/// Three bytes of the same value are worth a run.
pub(super) fn pack(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let same = rest.iter().take(RUN_MAX).take_while(|byte| *byte == first).count();
        if same >= 3 {
            out.push((-(same as i8)).cast_unsigned());
            out.push(*first);
            rest = rest.get(same..).unwrap_or_default();
            continue;
        }
        let run = rest.windows(3).take(RUN_MAX).position(|it| matches!(it, [a, b, c] if a == b && b == c));
        let length = run.unwrap_or(rest.len()).min(RUN_MAX);
        out.push(length as u8);
        let (taken, behind) = rest.split_at(length);
        out.extend_from_slice(taken);
        rest = behind;
    }
}
