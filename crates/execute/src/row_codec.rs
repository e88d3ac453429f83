//! Rows as bytes for temporary files. The format is nobody else's business and never outlives the process.
//!
//! # Layout
//! A row is a `u32` with the number of its values, and the values: a tag, and what the kind of value needs, little-endian.

use farbird_types::decimal::Decimal;
use farbird_types::{
    BlobId, CharacterSet, Date, Error, Result, Text, Time, TimeTz, Timestamp, TimestampTz, Value, ZoneId, isc,
};
use farbird_vector::{Column, Vectors};

/// Appends a row.
pub(super) fn append_row(row: &[Value], out: &mut Vec<u8>) {
    append_length(row.len(), out);
    row.iter().for_each(|value| append_value(value, out));
}

/// Appends a row of some that are by columns.
pub(super) fn append_row_of(rows: &Vectors, row: usize, out: &mut Vec<u8>) {
    append_length(rows.width(), out);
    for position in 0..rows.width() {
        match rows.column(position) {
            Some(Column::Values(values)) => append_value(values.get(row).unwrap_or(&Value::Null), out),
            _ => append_value(&rows.value(row, position), out),
        }
    }
}

/// Takes a row off the beginning of bytes.
///
/// # Errors
/// `io_error` if they hold none.
pub(super) fn take_row(bytes: &mut &[u8]) -> Result<Vec<Value>> {
    let width = take_length(bytes)?;
    // Each value has at least its tag: the length of what is there bounds what is made room for.
    let mut row = Vec::with_capacity(width.min(bytes.len()));
    for _ in 0..width {
        row.push(take_value(bytes)?);
    }
    Ok(row)
}

/// As [`take_row`], each value to the end of its column.
///
/// # Errors
/// `io_error` if the bytes hold no row of so many columns.
pub(super) fn take_row_to(bytes: &mut &[u8], columns: &mut [Vec<Value>]) -> Result<()> {
    if take_length(bytes)? != columns.len() {
        return Err(damaged());
    }
    columns.iter_mut().try_for_each(|column| {
        column.push(take_value(bytes)?);
        Ok(())
    })
}

/// Appends bytes behind their length.
pub(super) fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    append_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Takes bytes behind their length.
///
/// # Errors
/// `io_error` if there are fewer.
pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take_length(bytes)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or_else(damaged)?;
    *bytes = rest;
    Ok(taken)
}

/// The error for a file that is not as it was written.
pub(super) fn damaged() -> Error {
    let text = "a temporary file is damaged";
    Error::new(isc::IO_ERROR).with("read").with("temporary file").and(isc::RANDOM).with(text)
}

fn append_length(length: usize, out: &mut Vec<u8>) {
    let length = u32::try_from(length).expect("values are far below 4 GiB");
    out.extend(length.to_le_bytes());
}

fn take_length(bytes: &mut &[u8]) -> Result<usize> {
    usize::try_from(u32::from_le_bytes(take_array(bytes)?)).map_err(|_| damaged())
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>().ok_or_else(damaged)?;
    *bytes = rest;
    Ok(*taken)
}

fn append_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Boolean(truth) => out.extend([1, u8::from(*truth)]),
        Value::Integer { unscaled, scale } => {
            out.push(2);
            out.extend(scale.to_le_bytes());
            out.extend(unscaled.to_le_bytes());
        }
        Value::Int128 { unscaled, scale } => {
            out.push(3);
            out.extend(scale.to_le_bytes());
            out.extend(unscaled.to_le_bytes());
        }
        Value::Float(number) => {
            out.push(4);
            out.extend(number.to_le_bytes());
        }
        Value::Double(number) => {
            out.push(5);
            out.extend(number.to_le_bytes());
        }
        Value::DecFloat(number) => {
            out.push(6);
            out.extend(number.0.to_le_bytes());
        }
        Value::Date(date) => {
            out.push(7);
            out.extend(date.0.to_le_bytes());
        }
        Value::Time(time) => {
            out.push(8);
            out.extend(time.0.to_le_bytes());
        }
        Value::Timestamp(timestamp) => {
            out.push(9);
            append_timestamp(timestamp, out);
        }
        Value::TimeTz(time) => {
            out.push(10);
            out.extend(time.utc.0.to_le_bytes());
            out.extend(time.zone.0.to_le_bytes());
        }
        Value::TimestampTz(timestamp) => {
            out.push(11);
            append_timestamp(&timestamp.utc, out);
            out.extend(timestamp.zone.0.to_le_bytes());
        }
        Value::Text(text) => {
            out.extend([12, text.character_set().0]);
            append_bytes(text.bytes(), out);
        }
        Value::Blob(id) => {
            out.push(13);
            out.extend(id.0.to_le_bytes());
        }
    }
}

fn append_timestamp(timestamp: &Timestamp, out: &mut Vec<u8>) {
    out.extend(timestamp.date.0.to_le_bytes());
    out.extend(timestamp.time.0.to_le_bytes());
}

fn take_timestamp(bytes: &mut &[u8]) -> Result<Timestamp> {
    let date = Date(i32::from_le_bytes(take_array(bytes)?));
    Ok(Timestamp { date, time: Time(u32::from_le_bytes(take_array(bytes)?)) })
}

fn take_value(bytes: &mut &[u8]) -> Result<Value> {
    let [tag] = take_array(bytes)?;
    Ok(match tag {
        0 => Value::Null,
        1 => Value::Boolean(take_array::<1>(bytes)? != [0]),
        2 => {
            let scale = i8::from_le_bytes(take_array(bytes)?);
            Value::Integer { unscaled: i64::from_le_bytes(take_array(bytes)?), scale }
        }
        3 => {
            let scale = i8::from_le_bytes(take_array(bytes)?);
            Value::Int128 { unscaled: i128::from_le_bytes(take_array(bytes)?), scale }
        }
        4 => Value::Float(f32::from_le_bytes(take_array(bytes)?)),
        5 => Value::Double(f64::from_le_bytes(take_array(bytes)?)),
        6 => Value::DecFloat(Decimal(u128::from_le_bytes(take_array(bytes)?))),
        7 => Value::Date(Date(i32::from_le_bytes(take_array(bytes)?))),
        8 => Value::Time(Time(u32::from_le_bytes(take_array(bytes)?))),
        9 => Value::Timestamp(take_timestamp(bytes)?),
        10 => {
            let utc = Time(u32::from_le_bytes(take_array(bytes)?));
            Value::TimeTz(TimeTz { utc, zone: ZoneId(u16::from_le_bytes(take_array(bytes)?)) })
        }
        11 => {
            let utc = take_timestamp(bytes)?;
            Value::TimestampTz(TimestampTz { utc, zone: ZoneId(u16::from_le_bytes(take_array(bytes)?)) })
        }
        12 => {
            let [character_set] = take_array(bytes)?;
            Value::Text(Text::new(take_bytes(bytes)?, CharacterSet(character_set)))
        }
        13 => Value::Blob(BlobId(u64::from_le_bytes(take_array(bytes)?))),
        _ => return Err(damaged()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_survives_and_no_prefix_is_a_row() {
        let row = [
            Value::Null,
            Value::Boolean(true),
            Value::Integer { unscaled: -5, scale: -2 },
            Value::Int128 { unscaled: i128::MIN, scale: -3 },
            Value::Float(1.5),
            Value::Double(-2.5),
            Value::DecFloat(Decimal(7)),
            Value::Date(Date(1)),
            Value::Time(Time(2)),
            Value::Timestamp(Timestamp { date: Date(3), time: Time(4) }),
            Value::TimeTz(TimeTz { utc: Time(5), zone: ZoneId(6) }),
            Value::TimestampTz(TimestampTz {
                utc: Timestamp { date: Date(7), time: Time(8) },
                zone: ZoneId(9),
            }),
            Value::text("ä"),
            Value::Blob(BlobId(10)),
        ];
        let mut bytes = Vec::new();
        append_row(&row, &mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(take_row(&mut rest).unwrap(), row);
        assert!(rest.is_empty());
        let mut of_columns = Vec::new();
        append_row_of(&Vectors::of_rows(1, &row, &[true; 14]), 0, &mut of_columns);
        assert_eq!(of_columns, bytes);
        let mut columns = vec![Vec::new(); row.len()];
        take_row_to(&mut bytes.as_slice(), &mut columns).unwrap();
        assert_eq!(columns.concat(), row);
        assert!(take_row_to(&mut bytes.as_slice(), &mut columns[1..]).is_err());
        for end in 0..bytes.len() {
            assert!(take_row(&mut &bytes[..end]).is_err(), "{end}");
        }
    }
}
