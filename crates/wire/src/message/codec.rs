//! Values to message bytes and back.
//!
//! Values must already have the type of their descriptor (integers its scale, texts bytes in its character set):
//! conversion is the engine's affair. Encoding appends to the caller's buffer; on an error the buffer is cut back to
//! where it was. Source: wire-protocol.md, 7.2 to 7.4.

use farbird_types::decimal::Decimal;
use farbird_types::temporal::{Date, Time, TimeTz, Timestamp, TimestampTz, ZoneId};
use farbird_types::{BlobId, CharacterSet, Error, Text, Value, isc};

use super::MessageForm;
use super::descriptor::{DYNAMIC_CHARACTER_SET, MessageType};
use super::format::MessageFormat;
use crate::xdr::{DecodeError, Reader, Stop, Writer};

/// A value that its descriptor cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {fault}")]
pub struct EncodeError {
    /// Index of the column, from 0.
    pub column: usize,
    /// Why.
    pub fault: EncodeFault,
}

/// Why a value does not fit its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeFault {
    /// The value is of another kind, or an integer of another scale.
    #[error("value is not of the described type")]
    TypeMismatch,
    /// The text has more bytes than the descriptor allows.
    #[error("text of {length} bytes exceeds {limit}")]
    TooLong {
        /// Bytes of the text.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The number needs more bits.
    #[error("number is out of range")]
    OutOfRange,
    /// The row has another number of values than the format has columns.
    #[error("{given} values for {expected} columns")]
    ColumnCount {
        /// Columns of the format.
        expected: usize,
        /// Values given.
        given: usize,
    },
}

impl From<EncodeError> for Error {
    /// The status Firebird sends in place of a row that cannot be delivered.
    fn from(error: EncodeError) -> Error {
        match error.fault {
            EncodeFault::TooLong { length, limit } => Error::new(isc::ARITH_EXCEPT)
                .and(isc::STRING_TRUNCATION)
                .and(isc::TRUNC_LIMITS)
                .with(i32::try_from(limit).unwrap_or(i32::MAX))
                .with(i32::try_from(length).unwrap_or(i32::MAX)),
            EncodeFault::OutOfRange => Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE),
            EncodeFault::TypeMismatch | EncodeFault::ColumnCount { .. } => Error::new(isc::DSQL_SQLDA_ERR),
        }
    }
}

const NULL_INDICATOR: u16 = 0xFFFF;
const NOT_NULL_INDICATOR: u16 = 0;

impl MessageFormat {
    /// Appends one row: a value per column.
    ///
    /// # Errors
    /// [`EncodeError`] names the column that does not fit; `out` is then as before.
    pub fn encode_row(
        &self,
        form: MessageForm,
        values: &[Value],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        if values.len() != self.column_count() {
            let fault = EncodeFault::ColumnCount { expected: self.column_count(), given: values.len() };
            return Err(EncodeError { column: 0, fault });
        }
        if !self.is_paired() {
            return Err(EncodeError { column: 0, fault: EncodeFault::TypeMismatch });
        }
        let start = out.len();
        let result = match form {
            MessageForm::Packed => self.encode_packed(values, out),
            MessageForm::Unpacked => self.encode_unpacked(values, out),
        };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn encode_packed(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        for bits in values.chunks(8) {
            let byte =
                bits.iter().enumerate().fold(0_u8, |byte, (bit, v)| byte | u8::from(v.is_null()) << bit);
            out.push(byte);
        }
        let mut writer = Writer::new(out);
        writer.pad(values.len().div_ceil(8));
        for (column, (kind, value)) in self.columns().zip(values).enumerate() {
            if !value.is_null() {
                encode_value(kind, value, &mut writer).map_err(|fault| EncodeError { column, fault })?;
            }
        }
        Ok(())
    }

    fn encode_unpacked(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut writer = Writer::new(out);
        for (column, (kind, value)) in self.columns().zip(values).enumerate() {
            encode_value(kind, value, &mut writer).map_err(|fault| EncodeError { column, fault })?;
            writer.short(if value.is_null() { NULL_INDICATOR } else { NOT_NULL_INDICATOR });
        }
        Ok(())
    }

    /// Appends a message given one value per descriptor, indicators included (unpacked form). NULL stands for zeros.
    ///
    /// # Errors
    /// [`EncodeError`] names the descriptor that does not fit; `out` is then as before.
    pub fn encode_descriptors(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        if values.len() != self.types().len() {
            let fault = EncodeFault::ColumnCount { expected: self.types().len(), given: values.len() };
            return Err(EncodeError { column: 0, fault });
        }
        for (column, (kind, value)) in self.types().iter().zip(values).enumerate() {
            if let Err(fault) = encode_value(kind, value, &mut Writer::new(out)) {
                out.truncate(start);
                return Err(EncodeError { column, fault });
            }
        }
        Ok(())
    }

    /// Takes one row off the reader, appending a value per column.
    ///
    /// # Errors
    /// [`Stop`]; `values` may then hold some of the row.
    pub fn decode_row(
        &self,
        form: MessageForm,
        reader: &mut Reader<'_>,
        values: &mut Vec<Value>,
    ) -> Result<(), Stop> {
        if !self.is_paired() {
            return Err(DecodeError::BadValue { offset: reader.offset(), value: 0 }.into());
        }
        match form {
            MessageForm::Packed => {
                let nulls = reader.opaque(self.column_count().div_ceil(8))?;
                for (column, kind) in self.columns().enumerate() {
                    values.push(if is_null(nulls, column) {
                        Value::Null
                    } else {
                        decode_value(kind, reader)?
                    });
                }
            }
            MessageForm::Unpacked => {
                for kind in self.columns() {
                    let value = decode_value(kind, reader)?;
                    let indicator = reader.u16()?.cast_signed();
                    values.push(if indicator < 0 { Value::Null } else { value });
                }
            }
        }
        Ok(())
    }

    /// Takes one unpacked message off the reader, appending a value per descriptor, indicators included.
    ///
    /// # Errors
    /// [`Stop`]; `values` may then hold some of the message.
    pub fn decode_descriptors(&self, reader: &mut Reader<'_>, values: &mut Vec<Value>) -> Result<(), Stop> {
        for kind in self.types() {
            values.push(decode_value(kind, reader)?);
        }
        Ok(())
    }

    /// Moves the reader behind one message without looking at the values.
    pub(crate) fn skip(&self, form: MessageForm, reader: &mut Reader<'_>) -> Result<(), Stop> {
        match (self.is_paired(), form) {
            (true, form) => self.layout().skip(self.types(), form, reader),
            (false, MessageForm::Unpacked) => {
                self.types().iter().try_for_each(|kind| skip_value(kind, reader))
            }
            (false, MessageForm::Packed) => {
                Err(DecodeError::BadValue { offset: reader.offset(), value: 0 }.into())
            }
        }
    }
}

#[inline]
pub(super) fn is_null(nulls: &[u8], column: usize) -> bool {
    nulls.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1)
}

/// Reads the length word of a varying item and checks it against the declared length. (Firebird clamps it and then
/// reads the following value from the wrong place; refusing tells the peer sooner.)
pub(super) fn varying_length(declared: u16, reader: &mut Reader<'_>) -> Result<usize, Stop> {
    let offset = reader.offset();
    let length = reader.u16()?;
    if length > declared {
        let (length, limit) = (usize::from(length), usize::from(declared));
        return Err(DecodeError::TooLong { offset, length, limit }.into());
    }
    Ok(usize::from(length))
}

/// Skips values of one type that stand one behind the other. As long as they are not all there it demands what they take
/// at least: each try begins with the first of them, so there must not be one for each byte that arrives.
pub(crate) fn skip_values(kind: &MessageType, count: usize, reader: &mut Reader<'_>) -> Result<(), Stop> {
    const LENGTH_BYTES: usize = 4;
    if let Some(length) = kind.wire_length() {
        let length = count.saturating_mul(length);
        reader.demand(length)?;
        return reader.raw(length).map(|_| ());
    }
    for left in (0..count).rev() {
        // Only at the end of what is there: asked for earlier it would be little more than is there.
        let others = left.saturating_mul(LENGTH_BYTES);
        if reader.remaining() < LENGTH_BYTES {
            reader.demand(others.saturating_add(LENGTH_BYTES))?;
        }
        let length = varying_length(kind.declared_length(), reader)?;
        let padded = length.next_multiple_of(LENGTH_BYTES);
        if reader.remaining() < padded {
            reader.demand(padded.saturating_add(others))?;
        }
        reader.opaque(length)?;
    }
    Ok(())
}

fn skip_value(kind: &MessageType, reader: &mut Reader<'_>) -> Result<(), Stop> {
    match (kind.wire_length(), kind) {
        (Some(length), _) => reader.raw(length)?,
        (None, MessageType::Varying { length, .. } | MessageType::Cstring { length, .. }) => {
            let length = varying_length(*length, reader)?;
            reader.opaque(length)?
        }
        (None, _) => &[],
    };
    Ok(())
}

fn decode_value(kind: &MessageType, reader: &mut Reader<'_>) -> Result<Value, Stop> {
    Ok(match *kind {
        MessageType::Text { length, charset } => text(reader.opaque(usize::from(length))?, charset),
        MessageType::Varying { length, charset } | MessageType::Cstring { length, charset } => {
            let length = varying_length(length, reader)?;
            text(reader.opaque(length)?, charset)
        }
        MessageType::Short { scale } => {
            Value::Integer { unscaled: i64::from(reader.u16()?.cast_signed()), scale }
        }
        MessageType::Long { scale } => Value::Integer { unscaled: i64::from(reader.i32()?), scale },
        MessageType::Int64 { scale } => Value::Integer { unscaled: reader.u64()?.cast_signed(), scale },
        MessageType::Int128 { scale } => Value::Int128 { unscaled: reader.u128()?.cast_signed(), scale },
        MessageType::Quad { .. } | MessageType::Blob { .. } => Value::Blob(BlobId(reader.u64()?)),
        MessageType::Float => Value::Float(f32::from_bits(reader.u32()?)),
        MessageType::Double | MessageType::DFloat => Value::Double(f64::from_bits(reader.u64()?)),
        MessageType::Date => Value::Date(Date(reader.i32()?)),
        MessageType::Time => Value::Time(Time(reader.u32()?)),
        MessageType::Timestamp => Value::Timestamp(timestamp(reader)?),
        MessageType::Boolean => Value::Boolean(reader.opaque(1)?.first().is_some_and(|byte| *byte != 0)),
        MessageType::DecFloat16 => Value::DecFloat(Decimal::from_decimal64_bits(reader.u64()?)),
        MessageType::DecFloat34 => Value::DecFloat(Decimal(reader.u128()?)),
        MessageType::TimeTz => Value::TimeTz(time_tz(reader)?),
        MessageType::TimestampTz => Value::TimestampTz(timestamp_tz(reader)?),
        MessageType::ExtendedTimeTz => {
            let value = Value::TimeTz(time_tz(reader)?);
            reader.u32()?;
            value
        }
        MessageType::ExtendedTimestampTz => {
            let value = Value::TimestampTz(timestamp_tz(reader)?);
            reader.u32()?;
            value
        }
    })
}

/// The value of checked content: of a text its bytes, of other types their wire form.
pub(super) fn value_of(kind: &MessageType, content: &[u8]) -> Value {
    match *kind {
        MessageType::Text { charset, .. }
        | MessageType::Varying { charset, .. }
        | MessageType::Cstring { charset, .. } => text(content, charset),
        // Checked content is whole.
        _ => decode_value(kind, &mut Reader::new(content)).unwrap_or_default(),
    }
}

fn text(bytes: &[u8], charset: Option<u16>) -> Value {
    let [character_set, _collation] = charset.unwrap_or(u16::from(DYNAMIC_CHARACTER_SET)).to_le_bytes();
    Value::Text(Text::new(bytes, CharacterSet(character_set)))
}

fn timestamp(reader: &mut Reader<'_>) -> Result<Timestamp, Stop> {
    Ok(Timestamp { date: Date(reader.i32()?), time: Time(reader.u32()?) })
}

fn time_tz(reader: &mut Reader<'_>) -> Result<TimeTz, Stop> {
    Ok(TimeTz { utc: Time(reader.u32()?), zone: ZoneId(reader.u16()?) })
}

fn timestamp_tz(reader: &mut Reader<'_>) -> Result<TimestampTz, Stop> {
    Ok(TimestampTz { utc: timestamp(reader)?, zone: ZoneId(reader.u16()?) })
}

pub(super) fn encode_value(
    kind: &MessageType,
    value: &Value,
    writer: &mut Writer<'_>,
) -> Result<(), EncodeFault> {
    match (kind, value) {
        (_, Value::Null) => encode_zeros(kind, writer),
        (MessageType::Text { length, charset }, Value::Text(text)) => {
            encode_padded(text.bytes(), usize::from(*length), *charset, writer)?;
        }
        (MessageType::Varying { length, .. } | MessageType::Cstring { length, .. }, Value::Text(text)) => {
            let (bytes, limit) = (text.bytes(), usize::from(*length));
            let too_long = EncodeFault::TooLong { length: bytes.len(), limit };
            let length = u16::try_from(bytes.len()).ok().filter(|length| usize::from(*length) <= limit);
            writer.short(length.ok_or(too_long)?);
            writer.opaque(bytes);
        }
        (
            MessageType::Short { .. }
            | MessageType::Long { .. }
            | MessageType::Int64 { .. }
            | MessageType::Int128 { .. },
            Value::Integer { .. } | Value::Int128 { .. },
        ) => encode_integer(kind, value, writer)?,
        (MessageType::Quad { .. } | MessageType::Blob { .. }, Value::Blob(id)) => writer.u64(id.0),
        (MessageType::Float, Value::Float(number)) => writer.u32(number.to_bits()),
        (MessageType::Double | MessageType::DFloat, Value::Double(number)) => writer.u64(number.to_bits()),
        (MessageType::Date, Value::Date(date)) => writer.i32(date.0),
        (MessageType::Time, Value::Time(time)) => writer.u32(time.0),
        (MessageType::Timestamp, Value::Timestamp(value)) => encode_timestamp(*value, writer),
        (MessageType::Boolean, Value::Boolean(truth)) => writer.opaque(&[u8::from(*truth)]),
        (MessageType::DecFloat16, Value::DecFloat(number)) => {
            writer.u64(number.to_decimal64_bits().map_err(|_| EncodeFault::OutOfRange)?);
        }
        (MessageType::DecFloat34, Value::DecFloat(number)) => writer.u128(number.0),
        (MessageType::TimeTz, Value::TimeTz(value)) => encode_time_tz(*value, writer),
        (MessageType::TimestampTz, Value::TimestampTz(value)) => encode_timestamp_tz(*value, writer),
        (MessageType::ExtendedTimeTz, Value::TimeTz(value)) => {
            encode_time_tz(*value, writer);
            let day = Timestamp { date: Date::TIME_ZONE_BASE, time: value.utc };
            writer.i32(value.zone.offset_at_utc(day));
        }
        (MessageType::ExtendedTimestampTz, Value::TimestampTz(value)) => {
            encode_timestamp_tz(*value, writer);
            writer.i32(value.zone.offset_at_utc(value.utc));
        }
        _ => return Err(EncodeFault::TypeMismatch),
    }
    Ok(())
}

/// The place of a NULL in an unpacked message.
fn encode_zeros(kind: &MessageType, writer: &mut Writer<'_>) {
    const ZEROS: [u8; 64] = [0; 64];
    // A text of variable length is its length word, 0.
    let mut left = kind.wire_length().unwrap_or(4);
    while left > 0 {
        let step = left.min(ZEROS.len());
        writer.raw(ZEROS.get(..step).unwrap_or_default());
        left -= step;
    }
}

fn encode_padded(
    bytes: &[u8],
    length: usize,
    charset: Option<u16>,
    writer: &mut Writer<'_>,
) -> Result<(), EncodeFault> {
    const SPACES: [u8; 64] = [b' '; 64];
    const ZEROS: [u8; 64] = [0; 64];
    let mut missing =
        length.checked_sub(bytes.len()).ok_or(EncodeFault::TooLong { length: bytes.len(), limit: length })?;
    let [character_set, _] = charset.unwrap_or_default().to_le_bytes();
    let filler = if CharacterSet(character_set) == CharacterSet::OCTETS { ZEROS } else { SPACES };
    writer.raw(bytes);
    while missing > 0 {
        let step = missing.min(filler.len());
        writer.raw(filler.get(..step).unwrap_or_default());
        missing -= step;
    }
    writer.pad(length);
    Ok(())
}

fn encode_integer(kind: &MessageType, value: &Value, writer: &mut Writer<'_>) -> Result<(), EncodeFault> {
    let (unscaled, scale) = match *value {
        Value::Integer { unscaled, scale } => (i128::from(unscaled), scale),
        Value::Int128 { unscaled, scale } => (unscaled, scale),
        _ => return Err(EncodeFault::TypeMismatch),
    };
    let out_of_range = |_| EncodeFault::OutOfRange;
    match *kind {
        MessageType::Short { scale: wanted } if wanted == scale => {
            writer.short(i16::try_from(unscaled).map_err(out_of_range)?.cast_unsigned());
        }
        MessageType::Long { scale: wanted } if wanted == scale => {
            writer.i32(i32::try_from(unscaled).map_err(out_of_range)?);
        }
        MessageType::Int64 { scale: wanted } if wanted == scale => {
            writer.u64(i64::try_from(unscaled).map_err(out_of_range)?.cast_unsigned());
        }
        MessageType::Int128 { scale: wanted } if wanted == scale => writer.u128(unscaled.cast_unsigned()),
        _ => return Err(EncodeFault::TypeMismatch),
    }
    Ok(())
}

fn encode_timestamp(value: Timestamp, writer: &mut Writer<'_>) {
    writer.i32(value.date.0);
    writer.u32(value.time.0);
}

fn encode_time_tz(value: TimeTz, writer: &mut Writer<'_>) {
    writer.u32(value.utc.0);
    writer.short(value.zone.0);
}

fn encode_timestamp_tz(value: TimestampTz, writer: &mut Writer<'_>) {
    encode_timestamp(value.utc, writer);
    writer.short(value.zone.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
    }

    fn example() -> (MessageFormat, Vec<Value>) {
        let format = MessageFormat::from_columns([
            MessageType::Long { scale: 0 },
            MessageType::Varying { length: 20, charset: Some(4) },
            MessageType::Long { scale: 0 },
        ]);
        (format, vec![Value::integer(1), Value::text("ab"), Value::Null])
    }

    /// wire-protocol.md, 7.7
    #[test]
    fn the_worked_example_in_both_forms() {
        let (format, row) = example();
        let packed = words("04000000 00000001 00000002 61620000");
        let unpacked = words("00000001 00000000 00000002 61620000 00000000 00000000 FFFFFFFF");
        for (form, bytes) in [(MessageForm::Packed, packed), (MessageForm::Unpacked, unpacked)] {
            let mut out = Vec::new();
            format.encode_row(form, &row, &mut out).unwrap();
            assert_eq!(out, bytes, "{form:?}");
            let mut values = Vec::new();
            let mut reader = Reader::new(&bytes);
            format.decode_row(form, &mut reader, &mut values).unwrap();
            assert_eq!((values, reader.remaining()), (row.clone(), 0));
            for cut in 0..bytes.len() {
                assert_eq!(format.skip(form, &mut Reader::new(&bytes[..cut])), Err(Stop::NeedMore));
            }
        }
    }

    #[test]
    fn every_type_survives_both_forms() {
        let zone = ZoneId(1439 + 120);
        let stamp = Timestamp { date: Date(-3), time: Time(863_999_999) };
        let row = vec![
            (MessageType::Text { length: 6, charset: Some(4) }, Value::text("abc   ")),
            (MessageType::Cstring { length: 6, charset: Some(4) }, Value::text("abc")),
            (MessageType::Short { scale: -2 }, Value::Integer { unscaled: -32768, scale: -2 }),
            (MessageType::Int64 { scale: 0 }, Value::integer(i64::MIN)),
            (MessageType::Int128 { scale: -38 }, Value::Int128 { unscaled: i128::MIN, scale: -38 }),
            (MessageType::Quad { scale: 0 }, Value::Blob(BlobId(0x0000_0007_0000_0008))),
            (MessageType::Blob { subtype: 1, charset: 4 }, Value::Blob(BlobId(9))),
            (MessageType::Float, Value::Float(1.5)),
            (MessageType::Double, Value::Double(-0.0)),
            (MessageType::DFloat, Value::Double(1e300)),
            (MessageType::Date, Value::Date(Date(58_849))),
            (MessageType::Time, Value::Time(Time(1))),
            (MessageType::Timestamp, Value::Timestamp(stamp)),
            (MessageType::Boolean, Value::Boolean(true)),
            (MessageType::DecFloat34, Value::DecFloat(Decimal(0x2208 << 112 | 5))),
            (MessageType::DecFloat16, Value::DecFloat(Decimal(0x2208 << 112 | 5))),
            (MessageType::TimeTz, Value::TimeTz(TimeTz { utc: Time(5), zone: ZoneId(65_100) })),
            (MessageType::TimestampTz, Value::TimestampTz(TimestampTz { utc: stamp, zone })),
            (MessageType::ExtendedTimeTz, Value::TimeTz(TimeTz { utc: Time(5), zone })),
            (MessageType::ExtendedTimestampTz, Value::TimestampTz(TimestampTz { utc: stamp, zone })),
        ];
        let format = MessageFormat::from_columns(row.iter().map(|(kind, _)| *kind));
        assert_eq!(MessageFormat::parse(&format.to_blr()), Ok(Some(format.clone())));
        let values: Vec<Value> = row.into_iter().map(|(_, value)| value).collect();
        let nulls = vec![Value::Null; values.len()];
        for form in [MessageForm::Packed, MessageForm::Unpacked] {
            for row in [&values, &nulls] {
                let mut out = Vec::new();
                format.encode_row(form, row, &mut out).unwrap();
                let (mut decoded, mut reader) = (Vec::new(), Reader::new(&out));
                format.decode_row(form, &mut reader, &mut decoded).unwrap();
                assert_eq!((&decoded, reader.remaining()), (row, 0), "{form:?}");
                let mut skipped = Reader::new(&out);
                format.skip(form, &mut skipped).unwrap();
                assert_eq!(skipped.remaining(), 0);
            }
        }
    }

    #[test]
    fn texts_are_padded_to_their_length_by_character_set() {
        for (charset, filler) in [(Some(4), b' '), (Some(1), 0)] {
            let format = MessageFormat::from_columns([MessageType::Text { length: 5, charset }]);
            let mut out = Vec::new();
            format.encode_row(MessageForm::Packed, &[Value::text("ab")], &mut out).unwrap();
            assert_eq!(out[4..], [b'a', b'b', filler, filler, filler, 0, 0, 0]);
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_leaves_the_buffer_alone() {
        let (format, mut row) = example();
        let mut out = vec![1, 2, 3];
        let mut fault = |row: &[Value]| {
            let fault =
                format.encode_row(MessageForm::Packed, row, &mut out).map_err(|e| (e.column, e.fault));
            assert_eq!(out, [1, 2, 3]);
            fault.unwrap_err()
        };
        row[2] = Value::integer(1 << 40);
        assert_eq!(fault(&row), (2, EncodeFault::OutOfRange));
        row[2] = Value::Integer { unscaled: 1, scale: -1 };
        assert_eq!(fault(&row), (2, EncodeFault::TypeMismatch));
        row[1] = Value::text(&"x".repeat(21));
        assert_eq!(fault(&row), (1, EncodeFault::TooLong { length: 21, limit: 20 }));
        assert_eq!(fault(&row[..2]), (0, EncodeFault::ColumnCount { expected: 3, given: 2 }));
    }

    #[test]
    fn a_varying_longer_than_declared_is_refused() {
        let format = MessageFormat::from_columns([MessageType::Varying { length: 2, charset: None }]);
        let bytes = words("00000000 00000003 61626300");
        assert!(matches!(
            format.skip(MessageForm::Packed, &mut Reader::new(&bytes)),
            Err(Stop::Bad(DecodeError::TooLong { length: 3, limit: 2, .. }))
        ));
    }

    #[test]
    fn booleans_stand_in_the_first_byte() {
        let format = MessageFormat::from_columns([MessageType::Boolean]);
        let mut values = Vec::new();
        let bytes = words("00000000 00000001 00000000 01000000");
        let mut reader = Reader::new(&bytes);
        format.decode_row(MessageForm::Packed, &mut reader, &mut values).unwrap();
        format.decode_row(MessageForm::Packed, &mut reader, &mut values).unwrap();
        assert_eq!(values, [Value::Boolean(false), Value::Boolean(true)]);
    }
}
