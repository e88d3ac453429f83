//! The value encoding: each value in as few bytes as it needs, whatever its column declares.
//!
//! # Layout of a row
//! | bytes | item | meaning |
//! |---|---|---|
//! | ceil(n / 8) | null bits | bit `slot % 8` of byte `slot / 8`: 1 if the column is NULL; n = columns of the format |
//! | ... | values | those that are not NULL, by slot |
//!
//! | type | value |
//! |---|---|
//! | BOOLEAN | one byte, 0 or 1 |
//! | SMALLINT, INTEGER, BIGINT (any scale) | signed varint of the unscaled number |
//! | INT128 | signed varint, up to 19 bytes |
//! | FLOAT | 4 bytes, little-endian |
//! | DOUBLE PRECISION | varint: 1 + zigzag of the value if that is an integer below 2^53 (and not -0); else 0 and 8 bytes, little-endian |
//! | DECFLOAT | the top 16 bits of the decimal128, little-endian, then the other 112 as a varint (small coefficients stand in the low bits) |
//! | DATE | signed varint of the day |
//! | TIME | varint of the ten-thousandths |
//! | TIMESTAMP | DATE then TIME |
//! | ... WITH TIME ZONE | as without, in UTC, then the zone: 2 bytes, little-endian |
//! | VARCHAR | varint length, bytes |
//! | CHAR | varint: 2 x length without padding + f; then, if f is 1, a varint with the number of padding bytes (if f is 0 the value is padded to the declared number of characters); then the bytes |
//! | BLOB | varint of its id |
//!
//! A block is a list of rows ([`crate::row_list`]).

pub(crate) mod raw;

use farbird_types::character_set::CharacterSet;
use farbird_types::decimal::Decimal;
use farbird_types::{
    BlobId, Date, ExactWidth, SqlType, Text, TextType, Time, TimeTz, Timestamp, TimestampTz, Value, ZoneId,
};

use crate::bytes::{
    Reader, put_bytes, put_signed, put_varint, put_wide_varint, unzigzag, unzigzag_wide, zigzag, zigzag_wide,
};
use crate::codec::{BlockReader, CodecId, ColumnSet, EncodedRows, RowCodec};
use crate::compression::Compression;
use crate::row_list::{self, RowList};
use crate::{DecodeError, EncodeError, RecordFormat};

/// The largest row in value encoding, in bytes. Rows of the widest format (Firebird's limit is 64 KiB) are far below.
pub const ROW_BYTES_MAX: usize = 16 << 20;

/// Appends a row. Missing values at its end are NULL.
///
/// # Errors
/// If a value does not fit its column's type, or there are too many.
pub fn encode_row(format: &RecordFormat, row: &[Value], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let columns = format.columns();
    if row.len() > columns.len() {
        return Err(EncodeError::TooManyValues { values: row.len(), columns: columns.len() });
    }
    let mut encoder = RowEncoder::begin(format, out);
    for value in row {
        encoder.value(value)?;
    }
    encoder.finish()
}

/// Appends a row to bytes value by value, in the order of its columns. If it fails, what it has appended is no row.
#[derive(Debug)]
pub struct RowEncoder<'r> {
    columns: &'r [SqlType],
    out: &'r mut Vec<u8>,
    /// Where the row begins.
    start: usize,
    /// The column whose value comes next.
    slot: usize,
}

impl<'r> RowEncoder<'r> {
    /// Begins a row of this format.
    pub fn begin(format: &'r RecordFormat, out: &'r mut Vec<u8>) -> RowEncoder<'r> {
        let (columns, start) = (format.columns(), out.len());
        out.resize(start + null_bytes(columns.len()), 0);
        RowEncoder { columns, out, start, slot: 0 }
    }

    /// Appends the value of the next column.
    ///
    /// # Errors
    /// If it does not fit the column's type, or there is no such column.
    pub fn value(&mut self, value: &Value) -> Result<(), EncodeError> {
        if value.is_null() {
            return self.null();
        }
        let sql_type = self.next_column()?;
        let wrong = EncodeError::WrongType { column: self.slot };
        self.slot += 1;
        encode_single(value, sql_type, self.out).ok_or(wrong)
    }

    /// Makes the next column NULL.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn null(&mut self) -> Result<(), EncodeError> {
        self.next_column()?;
        set_null(&mut self.out[self.start..], self.slot);
        self.slot += 1;
        Ok(())
    }

    /// Appends the value of the next column, a text in the column's character set.
    ///
    /// # Errors
    /// If the column holds no texts, or there is no such column.
    pub fn text(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let SqlType::Text(declared) = self.next_column()? else {
            return Err(EncodeError::WrongType { column: self.slot });
        };
        self.slot += 1;
        put_text(bytes, declared, self.out);
        Ok(())
    }

    fn next_column(&self) -> Result<&'r SqlType, EncodeError> {
        let columns = self.columns;
        let too_many = EncodeError::TooManyValues { values: self.slot + 1, columns: columns.len() };
        columns.get(self.slot).ok_or(too_many)
    }

    /// Ends the row; columns without a value are NULL.
    ///
    /// # Errors
    /// If it is too large.
    pub fn finish(mut self) -> Result<(), EncodeError> {
        while self.slot < self.columns.len() {
            self.null()?;
        }
        match self.out.len() - self.start {
            size if size > ROW_BYTES_MAX => Err(EncodeError::TooLarge { size }),
            _ => Ok(()),
        }
    }
}

/// Appends the projected values of a row.
///
/// # Errors
/// If the bytes are damaged. What was appended until then stays.
pub fn decode_row(
    format: &RecordFormat,
    bytes: &[u8],
    columns: &ColumnSet<'_>,
    out: &mut Vec<Value>,
) -> Result<(), DecodeError> {
    let types = format.columns();
    let mut reader = Reader::new(bytes);
    let nulls = reader.take(null_bytes(types.len()))?;
    match columns {
        ColumnSet::All => {
            for (slot, sql_type) in types.iter().enumerate() {
                out.push(if is_null(nulls, slot) {
                    Value::Null
                } else {
                    decode_value(sql_type, &mut reader)?
                });
            }
            match reader.is_at_end() {
                true => Ok(()),
                false => Err(DecodeError::Invalid { what: "row length", offset: reader.offset() }),
            }
        }
        ColumnSet::Slots(wanted) => decode_slots(types, nulls, &mut reader, wanted, out),
    }
}

/// Decodes some columns: walks the row up to the last of them.
fn decode_slots(
    types: &[SqlType],
    nulls: &[u8],
    reader: &mut Reader<'_>,
    wanted: &[u16],
    out: &mut Vec<Value>,
) -> Result<(), DecodeError> {
    let Some(last) = wanted.iter().max() else { return Ok(()) };
    let first_value = out.len();
    out.resize(first_value + wanted.len(), Value::Null);
    let values = &mut out[first_value..];
    for (slot, sql_type) in types.iter().enumerate().take(usize::from(*last) + 1) {
        if is_null(nulls, slot) {
            continue;
        }
        let mut places = wanted.iter().zip(values.iter_mut()).filter(|(want, _)| usize::from(**want) == slot);
        match places.next() {
            None => skip_value(sql_type, reader)?,
            Some((_, place)) => {
                let value = decode_value(sql_type, reader)?;
                for (_, other) in places {
                    *other = value.clone();
                }
                *place = value;
            }
        }
    }
    Ok(())
}

fn null_bytes(columns: usize) -> usize {
    columns.div_ceil(8)
}

fn set_null(bits: &mut [u8], slot: usize) {
    bits[slot / 8] |= 1 << (slot % 8);
}

fn is_null(bits: &[u8], slot: usize) -> bool {
    bits.get(slot / 8).is_none_or(|byte| byte & (1 << (slot % 8)) != 0)
}

/// Integers up to here are exact in a double.
const DOUBLE_INTEGER_LIMIT: f64 = 9_007_199_254_740_992.0;

/// The integer that a double holds, if it holds one and nothing else (-0 is something else).
pub(crate) fn double_as_integer(value: f64) -> Option<i64> {
    let integer = value as i64;
    let same = (integer as f64).to_bits() == value.to_bits();
    (same && value.abs() < DOUBLE_INTEGER_LIMIT).then_some(integer)
}

/// Appends one value that is not NULL; `None` if it does not fit the type.
pub(crate) fn encode_single(value: &Value, sql_type: &SqlType, out: &mut Vec<u8>) -> Option<()> {
    match (value, sql_type) {
        (Value::Boolean(value), SqlType::Boolean) => out.push(u8::from(*value)),
        (Value::Integer { unscaled, scale }, SqlType::Exact { width, scale: declared, .. })
            if scale == declared =>
        {
            match width {
                ExactWidth::Short => put_signed(i64::from(i16::try_from(*unscaled).ok()?), out),
                ExactWidth::Long => put_signed(i64::from(i32::try_from(*unscaled).ok()?), out),
                ExactWidth::Int64 => put_signed(*unscaled, out),
                ExactWidth::Int128 => return None,
            }
        }
        (
            Value::Int128 { unscaled, scale },
            SqlType::Exact { width: ExactWidth::Int128, scale: declared, .. },
        ) if scale == declared => {
            put_wide_varint(zigzag_wide(*unscaled), out);
        }
        (Value::Float(value), SqlType::Float) => out.extend_from_slice(&value.to_le_bytes()),
        (Value::Double(value), SqlType::Double) => match double_as_integer(*value) {
            Some(integer) => put_varint(zigzag(integer) + 1, out),
            None => {
                out.push(0);
                out.extend_from_slice(&value.to_le_bytes());
            }
        },
        (Value::DecFloat(Decimal(bits)), SqlType::DecFloat16 | SqlType::DecFloat34) => {
            out.extend_from_slice(&((bits >> 112) as u16).to_le_bytes());
            put_wide_varint(bits & DECIMAL_LOW_BITS, out);
        }
        (Value::Date(date), SqlType::Date) => put_signed(i64::from(date.0), out),
        (Value::Time(time), SqlType::Time) => put_varint(u64::from(time.0), out),
        (Value::Timestamp(stamp), SqlType::Timestamp) => put_timestamp(stamp, out),
        (Value::TimeTz(time), SqlType::TimeTz) => {
            put_varint(u64::from(time.utc.0), out);
            out.extend_from_slice(&time.zone.0.to_le_bytes());
        }
        (Value::TimestampTz(stamp), SqlType::TimestampTz) => {
            put_timestamp(&stamp.utc, out);
            out.extend_from_slice(&stamp.zone.0.to_le_bytes());
        }
        (Value::Text(text), SqlType::Text(declared)) if text.character_set() == declared.character_set => {
            put_text(text.bytes(), declared, out);
        }
        (Value::Blob(id), SqlType::Blob { .. } | SqlType::Array) => put_varint(id.0, out),
        _ => return None,
    }
    Some(())
}

/// The one value that `bytes` hold.
pub(crate) fn decode_single(sql_type: &SqlType, bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(bytes);
    let value = decode_value(sql_type, &mut reader)?;
    match reader.is_at_end() {
        true => Ok(value),
        false => Err(DecodeError::Invalid { what: "value length", offset: reader.offset() }),
    }
}

/// All bits of a decimal128 but the top 16.
const DECIMAL_LOW_BITS: u128 = (1 << 112) - 1;

fn put_timestamp(stamp: &Timestamp, out: &mut Vec<u8>) {
    put_signed(i64::from(stamp.date.0), out);
    put_varint(u64::from(stamp.time.0), out);
}

/// What CHAR values of this character set are padded with.
fn padding(character_set: CharacterSet) -> u8 {
    if character_set == CharacterSet::OCTETS { 0 } else { b' ' }
}

/// How many padding bytes bring `bytes` to the declared number of characters; `None` where counting characters needs
/// more than the bytes.
fn padding_count(bytes: &[u8], declared: &TextType) -> Option<usize> {
    let characters = match declared.character_set {
        CharacterSet::UTF8 => bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count(),
        set if set.bytes_per_character() == 1 => bytes.len(),
        _ => return None,
    };
    Some((declared.length_chars as usize).saturating_sub(characters))
}

fn put_text(bytes: &[u8], declared: &TextType, out: &mut Vec<u8>) {
    if declared.varying {
        put_bytes(bytes, out);
    } else {
        put_padded(bytes, declared, out);
    }
}

fn put_padded(bytes: &[u8], declared: &TextType, out: &mut Vec<u8>) {
    let pad = padding(declared.character_set);
    let length = bytes.iter().rposition(|&byte| byte != pad).map_or(0, |last| last + 1);
    let content = &bytes[..length];
    let stripped = bytes.len() - length;
    if padding_count(content, declared) == Some(stripped) {
        put_varint((length as u64) << 1, out);
    } else {
        put_varint((length as u64) << 1 | 1, out);
        put_varint(stripped as u64, out);
    }
    out.extend_from_slice(content);
}

/// The longest padding that is believed, in bytes: the longest CHAR.
const PADDING_BYTES_MAX: u64 = 65_535;

fn decode_padded(declared: &TextType, reader: &mut Reader<'_>) -> Result<Value, DecodeError> {
    let offset = reader.offset();
    let invalid = DecodeError::Invalid { what: "text padding", offset };
    let tagged = reader.varint()?;
    let explicit = match tagged & 1 {
        1 => Some(reader.varint()?),
        _ => None,
    };
    let content = reader.take(usize::try_from(tagged >> 1).map_err(|_| invalid)?)?;
    let count = match explicit {
        Some(count) if count <= PADDING_BYTES_MAX => count as usize,
        Some(_) => return Err(invalid),
        None => return padded_to_length(content, declared).map_err(|_| invalid),
    };
    Ok(padded(content, count, declared))
}

fn padded(content: &[u8], count: usize, declared: &TextType) -> Value {
    let mut bytes = Vec::with_capacity(content.len() + count);
    bytes.extend_from_slice(content);
    bytes.resize(content.len() + count, padding(declared.character_set));
    Value::Text(Text::new(bytes, declared.character_set))
}

/// The CHAR value that is `content` padded to the declared length.
pub(crate) fn padded_to_length(content: &[u8], declared: &TextType) -> Result<Value, DecodeError> {
    let count = padding_count(content, declared)
        .filter(|&count| count as u64 <= PADDING_BYTES_MAX)
        .ok_or(DecodeError::Invalid { what: "text padding", offset: 0 })?;
    Ok(padded(content, count, declared))
}

fn decode_value(sql_type: &SqlType, reader: &mut Reader<'_>) -> Result<Value, DecodeError> {
    let offset = reader.offset();
    let invalid = |what| DecodeError::Invalid { what, offset };
    Ok(match sql_type {
        SqlType::Null => return Err(invalid("value of no type")),
        SqlType::Boolean => match reader.u8()? {
            0 => Value::Boolean(false),
            1 => Value::Boolean(true),
            _ => return Err(invalid("boolean")),
        },
        SqlType::Exact { width: ExactWidth::Int128, scale, .. } => {
            Value::Int128 { unscaled: unzigzag_wide(reader.wide_varint()?), scale: *scale }
        }
        SqlType::Exact { width, scale, .. } => {
            let unscaled = reader.signed()?;
            let fits = match width {
                ExactWidth::Short => i16::try_from(unscaled).is_ok(),
                ExactWidth::Long => i32::try_from(unscaled).is_ok(),
                ExactWidth::Int64 | ExactWidth::Int128 => true,
            };
            if !fits {
                return Err(invalid("integer"));
            }
            Value::Integer { unscaled, scale: *scale }
        }
        SqlType::Float => Value::Float(f32::from_le_bytes(reader.array()?)),
        SqlType::Double => match reader.varint()? {
            0 => Value::Double(f64::from_le_bytes(reader.array()?)),
            number => Value::Double(unzigzag(number - 1) as f64),
        },
        SqlType::DecFloat16 | SqlType::DecFloat34 => {
            let high = u16::from_le_bytes(reader.array()?);
            let low = reader.wide_varint()?;
            if low > DECIMAL_LOW_BITS {
                return Err(invalid("decimal"));
            }
            Value::DecFloat(Decimal(u128::from(high) << 112 | low))
        }
        SqlType::Date => Value::Date(decode_date(reader)?),
        SqlType::Time => Value::Time(decode_time(reader)?),
        SqlType::Timestamp => Value::Timestamp(decode_timestamp(reader)?),
        SqlType::TimeTz => Value::TimeTz(TimeTz { utc: decode_time(reader)?, zone: decode_zone(reader)? }),
        SqlType::TimestampTz => {
            Value::TimestampTz(TimestampTz { utc: decode_timestamp(reader)?, zone: decode_zone(reader)? })
        }
        SqlType::Text(declared) if declared.varying => {
            Value::Text(Text::new(reader.length_and_bytes()?, declared.character_set))
        }
        SqlType::Text(declared) => decode_padded(declared, reader)?,
        SqlType::Blob { .. } | SqlType::Array => Value::Blob(BlobId(reader.varint()?)),
    })
}

fn decode_date(reader: &mut Reader<'_>) -> Result<Date, DecodeError> {
    let offset = reader.offset();
    let day = i32::try_from(reader.signed()?).map_err(|_| DecodeError::Invalid { what: "date", offset })?;
    Ok(Date(day))
}

fn decode_time(reader: &mut Reader<'_>) -> Result<Time, DecodeError> {
    let offset = reader.offset();
    let time = u32::try_from(reader.varint()?).map_err(|_| DecodeError::Invalid { what: "time", offset })?;
    Ok(Time(time))
}

fn decode_timestamp(reader: &mut Reader<'_>) -> Result<Timestamp, DecodeError> {
    Ok(Timestamp { date: decode_date(reader)?, time: decode_time(reader)? })
}

fn decode_zone(reader: &mut Reader<'_>) -> Result<ZoneId, DecodeError> {
    Ok(ZoneId(u16::from_le_bytes(reader.array()?)))
}

fn skip_value(sql_type: &SqlType, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    match sql_type {
        SqlType::Text(declared) if declared.varying => {
            reader.length_and_bytes()?;
        }
        SqlType::Text(_) => {
            let tagged = reader.varint()?;
            if tagged & 1 == 1 {
                reader.varint()?;
            }
            let offset = reader.offset();
            let length = usize::try_from(tagged >> 1).map_err(|_| DecodeError::Truncated { offset })?;
            reader.take(length)?;
        }
        other => {
            decode_value(other, reader)?;
        }
    }
    Ok(())
}

/// The codec of blocks of rows in value encoding.
#[derive(Debug, Clone, Copy)]
pub struct ValueCodec {
    /// On top of it.
    pub compression: Compression,
}

impl RowCodec for ValueCodec {
    fn id(&self) -> CodecId {
        CodecId::VALUE.with(self.compression)
    }

    fn encode_block(
        &self,
        _format: &RecordFormat,
        rows: &EncodedRows,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        row_list::encode(rows, self.compression, out)
    }

    fn open_block<'a>(
        &self,
        format: &'a RecordFormat,
        rows: usize,
        bytes: &'a [u8],
    ) -> Result<Box<dyn BlockReader + 'a>, DecodeError> {
        Ok(Box::new(ValueBlock { format, rows: RowList::open(rows, self.compression, bytes)? }))
    }

    fn unpack_block(&self, _format: &RecordFormat, bytes: &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
        row_list::unpack(self.compression, bytes)
    }
}

struct ValueBlock<'a> {
    format: &'a RecordFormat,
    rows: RowList<'a>,
}

impl BlockReader for ValueBlock<'_> {
    fn format(&self) -> &RecordFormat {
        self.format
    }

    fn decode_row(
        &self,
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        decode_row(self.format, self.rows.row(index)?, columns, out)
    }

    fn encoded_row(&self, index: usize, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        out.extend_from_slice(self.rows.row(index)?);
        Ok(())
    }
}
