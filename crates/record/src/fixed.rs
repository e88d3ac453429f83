//! Firebird's fixed records: rows of an external table as they stand in its file.
//!
//! A record is what Firebird has of a row in memory, from the first column on: each column at a multiple of its alignment,
//! counted from the beginning of the row in memory, where flags for NULL come first, which the file does not have. There is no NULL:
//! it is written as spaces (CHAR) or zeros and read as what those are. Numbers are little-endian, as on the machines that Firebird is run
//! on; VARCHAR has its length in two bytes in front of it; what lies between columns is zero.
//!
//! A table whose first column has been dropped has those flags in its file, since Firebird takes the place of that column, 0, for
//! the beginning.
//!
//! Promises: whatever the bytes are, reading them gives values that are valid in their types, or an error.
//! Observed on Firebird 5: `tests/data/external-firebird-5.dat` is a file of its.

use farbird_types::convert::cast;
use farbird_types::decimal::Decimal;
use farbird_types::{
    CastContext, CharacterSet, Date, Error, ExactWidth, Result, SqlType, Text, TextType, Time, TimeTz,
    Timestamp, TimestampTz, Value, ZoneId, isc,
};

/// Bytes of the length in front of a VARCHAR.
const LENGTH_BYTES: usize = 2;

/// Where the columns of a table stand in a record of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedRecord {
    /// By slot; none for what is not in the file: columns that are computed, or dropped.
    fields: Vec<Option<FixedField>>,
    length: usize,
    /// Whether records begin with the flags of a row in memory.
    has_flags: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FixedField {
    offset: usize,
    width: usize,
    sql_type: SqlType,
}

impl FixedRecord {
    /// The record of a table with columns of these types, by slot; none for what is not in the file. None if one of the types cannot be in a
    /// file: BLOBs and arrays.
    pub fn of(slots: &[Option<SqlType>]) -> Option<FixedRecord> {
        let flags = slots.len().div_ceil(32) * 4;
        let mut end = flags;
        let mut fields = Vec::with_capacity(slots.len());
        for slot in slots {
            let Some(sql_type) = slot else {
                fields.push(None);
                continue;
            };
            let (width, alignment) = place(sql_type)?;
            let offset = end.next_multiple_of(alignment);
            end = offset.checked_add(width)?;
            fields.push(Some(FixedField { offset, width, sql_type: *sql_type }));
        }
        let has_flags = fields.first().is_none_or(Option::is_none);
        let start = fields.first().copied().flatten().map_or(0, |first| first.offset);
        for field in fields.iter_mut().flatten() {
            field.offset -= start;
        }
        Some(FixedRecord { fields, length: end - start, has_flags })
    }

    /// Bytes of a record; more than 0 if there is a column.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The value of a column in a record; NULL for one that is not in the file.
    ///
    /// # Errors
    /// `malformed_string`, `string_truncation`, those of moments out of their range and of unknown time zones.
    pub fn value(&self, record: &[u8], slot: usize) -> Result<Value> {
        let Some(field) = self.fields.get(slot).copied().flatten() else { return Ok(Value::Null) };
        let bytes = record.get(field.offset..field.offset + field.width);
        let bytes = bytes.ok_or_else(|| Error::internal("a record that is shorter than its columns"))?;
        decode(bytes, &field.sql_type)
    }

    /// The record of a row, by slot, appended to `out`.
    ///
    /// # Errors
    /// An internal one if a value is not of its column's type.
    pub fn encode(&self, row: &[Value], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.resize(start + self.length, 0);
        let record = out.get_mut(start..).unwrap_or_default();
        if self.has_flags {
            self.put_flags(row, record);
        }
        for (slot, field) in self.fields.iter().enumerate() {
            let Some(field) = field else { continue };
            let place = record.get_mut(field.offset..field.offset + field.width);
            let place = place.ok_or_else(|| Error::internal("a record that is shorter than its columns"))?;
            encode(row.get(slot).unwrap_or(&Value::Null), &field.sql_type, place)?;
        }
        Ok(())
    }

    /// The flags of a row: a bit for each slot, set where there is NULL or nothing, and in the rest of the last byte.
    fn put_flags(&self, row: &[Value], record: &mut [u8]) {
        for (byte, flags) in record.iter_mut().take(self.fields.len().div_ceil(8)).enumerate() {
            *flags = (0..8).fold(0xFF, |flags, bit| {
                let slot = byte * 8 + bit;
                let is_there = self.fields.get(slot).is_some_and(Option::is_some)
                    && row.get(slot).is_some_and(|value| !value.is_null());
                if is_there { flags & !(1 << bit) } else { flags }
            });
        }
    }
}

/// Bytes of a value of a type, and what they are aligned to: their number, 8 at most, but for texts; none for what cannot be in a file.
fn place(sql_type: &SqlType) -> Option<(usize, usize)> {
    Some(match sql_type {
        SqlType::Boolean => (1, 1),
        SqlType::Exact { width, .. } => match width {
            ExactWidth::Short => (2, 2),
            ExactWidth::Long => (4, 4),
            ExactWidth::Int64 => (8, 8),
            ExactWidth::Int128 => (16, 8),
        },
        SqlType::Float | SqlType::Date | SqlType::Time => (4, 4),
        SqlType::Double | SqlType::DecFloat16 => (8, 8),
        SqlType::DecFloat34 => (16, 8),
        SqlType::Timestamp | SqlType::TimeTz => (8, 8),
        SqlType::TimestampTz => (12, 8),
        SqlType::Text(text) => {
            let bytes = usize::try_from(text.length_bytes()).ok()?;
            match text.varying {
                true => (bytes.checked_add(LENGTH_BYTES)?, 2),
                false => (bytes, 1),
            }
        }
        SqlType::Null | SqlType::Blob { .. } | SqlType::Array => return None,
    })
}

fn decode(bytes: &[u8], sql_type: &SqlType) -> Result<Value> {
    Ok(match sql_type {
        SqlType::Boolean => Value::Boolean(bytes != [0]),
        SqlType::Exact { width, scale, .. } => {
            let scale = *scale;
            match width {
                ExactWidth::Short => {
                    Value::Integer { unscaled: i16::from_le_bytes(array(bytes)?).into(), scale }
                }
                ExactWidth::Long => {
                    Value::Integer { unscaled: i32::from_le_bytes(array(bytes)?).into(), scale }
                }
                ExactWidth::Int64 => Value::Integer { unscaled: i64::from_le_bytes(array(bytes)?), scale },
                ExactWidth::Int128 => Value::Int128 { unscaled: i128::from_le_bytes(array(bytes)?), scale },
            }
        }
        SqlType::Float => Value::Float(f32::from_le_bytes(array(bytes)?)),
        SqlType::Double => Value::Double(f64::from_le_bytes(array(bytes)?)),
        SqlType::DecFloat16 => {
            Value::DecFloat(Decimal::from_decimal64_bits(u64::from_le_bytes(array(bytes)?)))
        }
        SqlType::DecFloat34 => Value::DecFloat(Decimal(u128::from_le_bytes(array(bytes)?))),
        SqlType::Date => Value::Date(date(bytes, isc::DATE_RANGE_EXCEEDED)?),
        SqlType::Time => Value::Time(time(bytes, isc::TIME_RANGE_EXCEEDED)?),
        SqlType::Timestamp => Value::Timestamp(timestamp(bytes)?),
        SqlType::TimeTz => {
            let (utc, zone) = split(bytes, 4)?;
            Value::TimeTz(TimeTz { utc: time(utc, isc::TIME_RANGE_EXCEEDED)?, zone: zone_id(zone)? })
        }
        SqlType::TimestampTz => {
            let (utc, zone) = split(bytes, 8)?;
            Value::TimestampTz(TimestampTz { utc: timestamp(utc)?, zone: zone_id(zone)? })
        }
        SqlType::Text(column) => Value::Text(text(bytes, column)?),
        SqlType::Null | SqlType::Blob { .. } | SqlType::Array => Value::Null,
    })
}

fn text(bytes: &[u8], column: &TextType) -> Result<Text> {
    let bytes = match column.varying {
        false => bytes,
        true => {
            let (length, contents) = split(bytes, LENGTH_BYTES)?;
            let length = usize::from(u16::from_le_bytes(array(length)?));
            contents.get(..length).unwrap_or(contents)
        }
    };
    let set = column.character_set;
    set.check(bytes)?;
    let text = Text::new(bytes, set);
    if set.bytes_per_character() == 1 {
        return Ok(text);
    }
    // A CHAR is padded to bytes there, and to characters here.
    let kept = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    let trimmed = match column.varying || kept == bytes.len() {
        true => text,
        false => Text::new(bytes.get(..kept).unwrap_or(bytes), set),
    };
    match cast(&Value::Text(trimmed), &SqlType::Text(*column), &CastContext::UTC)? {
        Value::Text(text) => Ok(text),
        _ => Err(Error::internal("a text that is none")),
    }
}

fn date(bytes: &[u8], range: u32) -> Result<Date> {
    let date = Date(i32::from_le_bytes(array(bytes)?));
    if date.is_valid() { Ok(date) } else { Err(Error::new(range)) }
}

fn time(bytes: &[u8], range: u32) -> Result<Time> {
    let time = Time(u32::from_le_bytes(array(bytes)?));
    if time.is_valid() { Ok(time) } else { Err(Error::new(range)) }
}

fn timestamp(bytes: &[u8]) -> Result<Timestamp> {
    let (day, of_day) = split(bytes, 4)?;
    let range = isc::DATETIME_RANGE_EXCEEDED;
    Ok(Timestamp { date: date(day, range)?, time: time(of_day, range)? })
}

/// A time zone, with what is behind it.
fn zone_id(bytes: &[u8]) -> Result<ZoneId> {
    let (zone, _) = split(bytes, 2)?;
    let zone = ZoneId(u16::from_le_bytes(array(zone)?));
    zone.check()?;
    Ok(zone)
}

fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8])> {
    bytes.split_at_checked(at).ok_or_else(|| Error::internal("a value that is shorter than its type"))
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| Error::internal("a value that is not as long as its type"))
}

/// Writes a value to its place, which is zero so far.
fn encode(value: &Value, sql_type: &SqlType, place: &mut [u8]) -> Result<()> {
    match (value, sql_type) {
        (Value::Null, SqlType::Text(text)) if !text.varying => place.fill(b' '),
        (Value::Null, _) => {}
        (Value::Boolean(value), SqlType::Boolean) => put(place, &[u8::from(*value)])?,
        (Value::Integer { unscaled, .. }, SqlType::Exact { width, .. }) => match width {
            ExactWidth::Short => put(place, &i16::try_from(*unscaled).map_err(|_| wrong())?.to_le_bytes())?,
            ExactWidth::Long => put(place, &i32::try_from(*unscaled).map_err(|_| wrong())?.to_le_bytes())?,
            ExactWidth::Int64 => put(place, &unscaled.to_le_bytes())?,
            ExactWidth::Int128 => put(place, &i128::from(*unscaled).to_le_bytes())?,
        },
        (Value::Int128 { unscaled, .. }, SqlType::Exact { width: ExactWidth::Int128, .. }) => {
            put(place, &unscaled.to_le_bytes())?;
        }
        (Value::Float(value), SqlType::Float) => put(place, &value.to_le_bytes())?,
        (Value::Double(value), SqlType::Double) => put(place, &value.to_le_bytes())?,
        (Value::DecFloat(value), SqlType::DecFloat16) => {
            put(place, &value.to_decimal64_bits()?.to_le_bytes())?;
        }
        (Value::DecFloat(value), SqlType::DecFloat34) => put(place, &value.0.to_le_bytes())?,
        (Value::Date(date), SqlType::Date) => put(place, &date.0.to_le_bytes())?,
        (Value::Time(time), SqlType::Time) => put(place, &time.0.to_le_bytes())?,
        (Value::Timestamp(moment), SqlType::Timestamp) => put_timestamp(place, *moment)?,
        (Value::TimeTz(value), SqlType::TimeTz) => {
            put(place, &value.utc.0.to_le_bytes())?;
            put(place.get_mut(4..).unwrap_or_default(), &value.zone.0.to_le_bytes())?;
        }
        (Value::TimestampTz(value), SqlType::TimestampTz) => {
            put_timestamp(place, value.utc)?;
            put(place.get_mut(8..).unwrap_or_default(), &value.zone.0.to_le_bytes())?;
        }
        (Value::Text(text), SqlType::Text(column)) => put_text(place, text.bytes(), column)?,
        _ => return Err(wrong()),
    }
    Ok(())
}

fn put_timestamp(place: &mut [u8], moment: Timestamp) -> Result<()> {
    put(place, &moment.date.0.to_le_bytes())?;
    put(place.get_mut(4..).unwrap_or_default(), &moment.time.0.to_le_bytes())
}

fn put_text(place: &mut [u8], bytes: &[u8], column: &TextType) -> Result<()> {
    if column.varying {
        let length = u16::try_from(bytes.len()).map_err(|_| wrong())?;
        put(place, &length.to_le_bytes())?;
        return put(place.get_mut(LENGTH_BYTES..).unwrap_or_default(), bytes);
    }
    let pad = if column.character_set == CharacterSet::OCTETS { 0 } else { b' ' };
    place.fill(pad);
    put(place, bytes)
}

/// Puts bytes to the beginning of a place.
fn put(place: &mut [u8], bytes: &[u8]) -> Result<()> {
    let place = place.get_mut(..bytes.len()).ok_or_else(wrong)?;
    place.copy_from_slice(bytes);
    Ok(())
}

/// Values are converted to their columns' types before they come here.
fn wrong() -> Error {
    Error::internal("a value that is not of its column's type")
}

#[cfg(test)]
mod tests {
    use farbird_types::{Date, ExactSubtype};

    use super::*;

    /// Written by Firebird 5: a row of values, one of NULLs and one with an empty VARCHAR.
    const FILE: &[u8] = include_bytes!("../tests/data/external-firebird-5.dat");
    /// Bytes behind the time zones of the first row, which Firebird leaves as they happen to be.
    const LEFT: [std::ops::Range<usize>; 2] = [122..124, 134..136];

    fn numeric(width: ExactWidth, scale: i8) -> SqlType {
        SqlType::Exact { width, scale, subtype: ExactSubtype::Numeric }
    }

    fn columns() -> Vec<Option<SqlType>> {
        let columns = [
            SqlType::char(5, CharacterSet::NONE),
            SqlType::INTEGER,
            SqlType::varchar(7, CharacterSet::NONE),
            SqlType::BIGINT,
            SqlType::SMALLINT,
            SqlType::Boolean,
            SqlType::Date,
            SqlType::Time,
            SqlType::Timestamp,
            SqlType::Float,
            SqlType::Double,
            SqlType::INT128,
            SqlType::DecFloat16,
            SqlType::DecFloat34,
            SqlType::TimeTz,
            SqlType::TimestampTz,
            numeric(ExactWidth::Long, -2),
            numeric(ExactWidth::Int64, -4),
            SqlType::char(3, CharacterSet::UTF8),
            SqlType::varchar(3, CharacterSet::UTF8),
            SqlType::char(3, CharacterSet::OCTETS),
            SqlType::char(1, CharacterSet::NONE),
        ];
        columns.into_iter().map(Some).collect()
    }

    fn row(record: &FixedRecord, bytes: &[u8]) -> Vec<Value> {
        (0..columns().len()).map(|slot| record.value(bytes, slot).expect("a value")).collect()
    }

    #[test]
    fn rows_are_read_and_written_as_firebird_does() {
        let record = FixedRecord::of(&columns()).expect("a record");
        assert_eq!((record.length(), FILE.len()), (178, 4 * 178));
        let mut records = FILE.chunks(record.length());
        let mut written = records.next().expect("a record").to_vec();
        let values = row(&record, &written);
        let shown: Vec<String> = values.iter().map(farbird_types::convert::to_display_text).collect();
        assert_eq!(
            shown,
            [
                "abc  ",
                "1",
                "xyz",
                "2",
                "3",
                "TRUE",
                "2024-02-03",
                "10:11:12.1314",
                "2024-02-03 10:11:12.0000",
                "1.5000000",
                "2.500000000000000",
                "123456789012345678901234567890",
                "1.25",
                "2.50",
                "10:00:00.0000 Europe/Berlin",
                "2024-07-01 10:00:00.0000 Europe/Berlin",
                "12.34",
                "-5.6789",
                "\u{e4}b ",
                "\u{f6}\u{fc}",
                "\u{1}\u{2}\u{3}",
                "Z",
            ]
        );
        for place in LEFT {
            written[place].fill(0);
        }
        let mut again = Vec::new();
        record.encode(&values, &mut again).expect("bytes");
        assert_eq!(again, written);
        // What NULL is written as, and read as.
        let mut nulls = Vec::new();
        record.encode(&vec![Value::Null; values.len()], &mut nulls).expect("bytes");
        assert_eq!(records.next(), Some(nulls.as_slice()));
        let read = row(&record, &nulls);
        assert_eq!((&read[1], &read[6]), (&Value::integer(0), &Value::Date(Date(0))));
    }

    #[test]
    fn a_dropped_column_leaves_no_gap_and_a_dropped_first_one_the_flags() {
        let (long, short) = (Some(SqlType::INTEGER), Some(SqlType::SMALLINT));
        let mut bytes = Vec::new();
        let gap = FixedRecord::of(&[long, None, long]).expect("a record");
        gap.encode(&[Value::integer(5), Value::Null, Value::integer(6)], &mut bytes).expect("bytes");
        assert_eq!(bytes, [5, 0, 0, 0, 6, 0, 0, 0]);
        bytes.clear();
        let first = FixedRecord::of(&[None, short]).expect("a record");
        first.encode(&[Value::Null, Value::integer(5)], &mut bytes).expect("bytes");
        assert_eq!(bytes, [0xFD, 0, 0, 0, 5, 0]);
        assert_eq!(first.value(&bytes, 1).expect("a value"), Value::integer(5));
    }

    #[test]
    fn bytes_that_are_no_values_are_refused() {
        let code = |sql_type: SqlType, bytes: &[u8]| {
            let record = FixedRecord::of(&[Some(sql_type)]).expect("a record");
            record.value(bytes, 0).map_err(|error| error.gds_code())
        };
        assert_eq!(code(SqlType::char(1, CharacterSet::UTF8), b"\xff\xfe  "), Err(isc::MALFORMED_STRING));
        assert_eq!(code(SqlType::char(1, CharacterSet::UTF8), b"abcd"), Err(isc::ARITH_EXCEPT));
        assert_eq!(code(SqlType::Date, &i32::MAX.to_le_bytes()), Err(isc::DATE_RANGE_EXCEEDED));
        assert_eq!(code(SqlType::Time, &u32::MAX.to_le_bytes()), Err(isc::TIME_RANGE_EXCEEDED));
        assert_eq!(code(SqlType::Timestamp, &[0xFF; 8]), Err(isc::DATETIME_RANGE_EXCEEDED));
        assert!(code(SqlType::TimeTz, &[0, 0, 0, 0, 0x88, 0x13, 0, 0]).is_err());
        assert_eq!(code(SqlType::Boolean, &[7]), Ok(Value::Boolean(true)));
        // A length behind the end is that of the column.
        let too_long = code(SqlType::varchar(2, CharacterSet::NONE), &[200, 0, b'a', b'b']);
        assert_eq!(too_long, Ok(Value::Text(Text::new(*b"ab", CharacterSet::NONE))));
        assert!(code(SqlType::INTEGER, &[1, 2]).is_err());
    }
}
