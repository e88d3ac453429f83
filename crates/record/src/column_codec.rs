//! The column codec: a block's columns side by side, each with what suits it.
//!
//! # Layout of a block
//! A varint with the size of each column of the format, then the columns.
//!
//! # Layout of a column
//! | bytes | item |
//! |---|---|
//! | 1 | kind, see below; with bit 7: null bits follow |
//! | ceil(rows / 8) | with bit 7, null bits: bit `row % 8` of byte `row / 8` is 1 if the value is NULL |
//! | ... | the values that are not NULL, in order |
//!
//! | kind | values |
//! |---|---|
//! | 0 | none: all are NULL (without null bits) |
//! | 1 | numbers, a list as in [`crate::packed`]: BOOLEAN as 0 and 1, SMALLINT, INTEGER, BIGINT unscaled, DATE, TIME, TIMESTAMP as day x 864,000,000 + time, BLOB ids, DOUBLE PRECISION if all are integers |
//! | 2 | byte strings, plain: a packed list of where each ends, then all of them |
//! | 3 | byte strings, dictionary: a varint with the number of different ones, these as in kind 2, then a packed list of indexes |
//!
//! A byte string is the text itself for VARCHAR, and the value in value encoding for all other types.

use std::collections::HashMap;
use std::ops::Range;

use farbird_types::{SqlType, Text, Value};

use crate::bytes::{Reader, put_varint};
use crate::codec::{BlockReader, CodecId, ColumnSet, EncodedRows, RowCodec};
use crate::column_vector::{ColumnValues, ColumnVector, number_of_value, number_range, value_of_number};
use crate::compression::Compression;
use crate::packed::{self, PackedNumbers};
use crate::value_codec::{decode_row, decode_single, double_as_integer, encode_row, encode_single};
use crate::{DecodeError, EncodeError, RecordFormat};

/// The codec of blocks of columns.
#[derive(Debug, Clone, Copy)]
pub struct ColumnCodec {
    /// On top of each column.
    pub compression: Compression,
}

const KIND_NULL: u8 = 0;
const KIND_NUMBERS: u8 = 1;
const KIND_PLAIN: u8 = 2;
const KIND_DICTIONARY: u8 = 3;
const FLAG_NULL_BITS: u8 = 0x80;

impl RowCodec for ColumnCodec {
    fn id(&self) -> CodecId {
        CodecId::COLUMN.with(self.compression)
    }

    fn encode_block(
        &self,
        format: &RecordFormat,
        rows: &EncodedRows,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let types = format.columns();
        let mut values = Vec::with_capacity(rows.len() * types.len());
        for row in rows.iter() {
            decode_row(format, row, &ColumnSet::All, &mut values).map_err(|_| EncodeError::NotEncoded)?;
        }
        let mut columns = Vec::new();
        for (slot, sql_type) in types.iter().enumerate() {
            let before = columns.len();
            let column = values.iter().skip(slot).step_by(types.len());
            encode_column(sql_type, column, &mut columns).ok_or(EncodeError::WrongType { column: slot })?;
            put_varint((columns.len() - before) as u64, out);
        }
        out.extend_from_slice(&columns);
        Ok(())
    }

    fn open_block<'a>(
        &self,
        format: &'a RecordFormat,
        rows: usize,
        bytes: &'a [u8],
    ) -> Result<Box<dyn BlockReader + 'a>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut sizes = Vec::with_capacity(format.len());
        for _ in 0..format.len() {
            sizes.push(reader.length()?);
        }
        let columns = sizes.into_iter().map(|size| reader.take(size)).collect::<Result<_, _>>()?;
        Ok(Box::new(ColumnBlock { format, rows, columns }))
    }
}

/// `None` if a value does not fit the type.
fn encode_column<'v>(
    sql_type: &SqlType,
    column: impl Iterator<Item = &'v Value> + Clone,
    out: &mut Vec<u8>,
) -> Option<()> {
    let rows = column.clone().count();
    let present = column.clone().filter(|value| !value.is_null());
    let nulls = rows - present.clone().count();
    if nulls == rows {
        out.push(KIND_NULL);
        return Some(());
    }
    let kind_at = out.len();
    out.push(0);
    if nulls > 0 {
        let bits_at = out.len();
        out.resize(bits_at + rows.div_ceil(8), 0);
        for (row, value) in column.enumerate() {
            if value.is_null() {
                out[bits_at + row / 8] |= 1 << (row % 8);
            }
        }
    }
    let numbers: Option<Vec<i64>> = present.clone().map(|value| as_number(sql_type, value)).collect();
    let kind = match numbers {
        Some(numbers) => {
            packed::encode(&numbers, out);
            KIND_NUMBERS
        }
        None => {
            let strings: Option<Vec<Vec<u8>>> = present.map(|value| as_bytes(sql_type, value)).collect();
            encode_strings(&strings?, out)
        }
    };
    out[kind_at] = if nulls > 0 { kind | FLAG_NULL_BITS } else { kind };
    Some(())
}

/// Appends byte strings in the smaller of the two ways; gives its kind.
fn encode_strings(strings: &[Vec<u8>], out: &mut Vec<u8>) -> u8 {
    let mut different: Vec<&[u8]> = Vec::new();
    let mut places: HashMap<&[u8], i64> = HashMap::new();
    let indexes: Vec<i64> = strings
        .iter()
        .map(|string| {
            *places.entry(string).or_insert_with(|| {
                different.push(string);
                different.len() as i64 - 1
            })
        })
        .collect();
    let saved = strings.iter().map(Vec::len).sum::<usize>()
        - different.iter().map(|string| string.len()).sum::<usize>();
    let ends_saved = packed::encoded_size(&ends(strings.iter().map(Vec::as_slice)))
        .saturating_sub(packed::encoded_size(&ends(different.iter().copied())));
    if saved + ends_saved <= packed::encoded_size(&indexes) {
        encode_plain(strings.iter().map(Vec::as_slice), out);
        return KIND_PLAIN;
    }
    put_varint(different.len() as u64, out);
    encode_plain(different.iter().copied(), out);
    packed::encode(&indexes, out);
    KIND_DICTIONARY
}

/// Where each string ends if they stand one after the other.
fn ends<'s>(strings: impl Iterator<Item = &'s [u8]>) -> Vec<i64> {
    let mut end = 0;
    strings
        .map(|string| {
            end += string.len() as i64;
            end
        })
        .collect()
}

fn encode_plain<'s>(strings: impl Iterator<Item = &'s [u8]> + Clone, out: &mut Vec<u8>) {
    packed::encode(&ends(strings.clone()), out);
    for string in strings {
        out.extend_from_slice(string);
    }
}

/// The value as a number, if its type, and it, can be one.
fn as_number(sql_type: &SqlType, value: &Value) -> Option<i64> {
    match (sql_type, value) {
        (SqlType::Double, Value::Double(value)) => double_as_integer(*value),
        _ => number_of_value(sql_type, value),
    }
}

/// Undoes [`as_number`]; `None` if the type has no such number.
fn from_number(sql_type: &SqlType, number: i64) -> Option<Value> {
    match sql_type {
        SqlType::Double => Some(Value::Double(number as f64)),
        _ => value_of_number(sql_type, number),
    }
}

fn as_bytes(sql_type: &SqlType, value: &Value) -> Option<Vec<u8>> {
    match (sql_type, value) {
        (SqlType::Text(declared), Value::Text(text)) if declared.varying => Some(text.bytes().to_vec()),
        _ => {
            let mut bytes = Vec::new();
            encode_single(value, sql_type, &mut bytes)?;
            Some(bytes)
        }
    }
}

fn from_bytes(sql_type: &SqlType, bytes: &[u8]) -> Result<Value, DecodeError> {
    match sql_type {
        SqlType::Text(declared) if declared.varying => {
            Ok(Value::Text(Text::new(bytes, declared.character_set)))
        }
        _ => decode_single(sql_type, bytes),
    }
}

struct ColumnBlock<'a> {
    format: &'a RecordFormat,
    rows: usize,
    columns: Vec<&'a [u8]>,
}

impl ColumnBlock<'_> {
    /// Writes the values of the rows of a range into every `stride`th place of `places`, which hold NULL.
    fn decode_column(
        &self,
        slot: usize,
        range: Range<usize>,
        places: &mut [Value],
        stride: usize,
    ) -> Result<(), DecodeError> {
        let (Some(sql_type), Some(bytes)) = (self.format.columns().get(slot), self.columns.get(slot)) else {
            return Ok(());
        };
        let column = Column::open(self.rows, bytes)?;
        let decoded = column.dictionary(sql_type)?;
        let mut rank = column.rank(range.start);
        for (row, place) in range.zip(places.iter_mut().step_by(stride)) {
            if column.is_null(row) {
                continue;
            }
            *place = column.value(sql_type, rank, &decoded)?;
            rank += 1;
        }
        Ok(())
    }
}

impl BlockReader for ColumnBlock<'_> {
    fn format(&self) -> &RecordFormat {
        self.format
    }

    fn decode_row(
        &self,
        index: usize,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        self.decode_rows(index..index + 1, columns, out)
    }

    fn decode_rows(
        &self,
        range: Range<usize>,
        columns: &ColumnSet<'_>,
        out: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        if range.end > self.rows {
            return Err(DecodeError::Invalid { what: "row place", offset: range.end });
        }
        let width = columns.width(self.format);
        let start = out.len();
        out.resize(start + range.len() * width, Value::Null);
        for position in 0..width {
            let slot = match columns {
                ColumnSet::All => position,
                ColumnSet::Slots(slots) => slots.get(position).copied().map_or(usize::MAX, usize::from),
            };
            let places = out.get_mut(start + position..).unwrap_or_default();
            self.decode_column(slot, range.clone(), places, width)?;
        }
        Ok(())
    }

    fn decode_column(
        &self,
        slot: u16,
        range: Range<usize>,
        out: &mut ColumnVector,
    ) -> Result<(), DecodeError> {
        if range.end > self.rows {
            return Err(DecodeError::Invalid { what: "row place", offset: range.end });
        }
        let slot = usize::from(slot);
        let (Some(sql_type), Some(bytes)) = (self.format.columns().get(slot), self.columns.get(slot)) else {
            out.push_nulls(range.len());
            return Ok(());
        };
        out.prepare(sql_type)?;
        Column::open(self.rows, bytes)?.decode_into(sql_type, range, out)
    }

    fn encoded_row(&self, index: usize, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        let mut values = Vec::new();
        self.decode_row(index, &ColumnSet::All, &mut values)?;
        encode_row(self.format, &values, out).map_err(|_| DecodeError::Invalid { what: "row", offset: index })
    }
}

/// A column to read from.
struct Column<'a> {
    nulls: Option<&'a [u8]>,
    content: Content<'a>,
}

enum Content<'a> {
    AllNull,
    Numbers(PackedNumbers<'a>),
    Plain(Strings<'a>),
    Dictionary { count: usize, different: Strings<'a>, indexes: PackedNumbers<'a> },
}

/// Byte strings one after the other.
#[derive(Clone, Copy)]
struct Strings<'a> {
    ends: PackedNumbers<'a>,
    bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    fn string(&self, index: usize) -> Result<&'a [u8], DecodeError> {
        let place = |index: usize| usize::try_from(self.ends.number(index)).ok();
        let start = if index == 0 { Some(0) } else { place(index - 1) };
        start
            .zip(place(index))
            .and_then(|(start, end)| self.bytes.get(start..end))
            .ok_or(DecodeError::Invalid { what: "string's place", offset: index })
    }
}

impl<'a> Column<'a> {
    fn open(rows: usize, bytes: &'a [u8]) -> Result<Column<'a>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8()?;
        let nulls = match kind & FLAG_NULL_BITS {
            0 => None,
            _ => Some(reader.take(rows.div_ceil(8))?),
        };
        let mut column = Column { nulls, content: Content::AllNull };
        let present = column.rank(rows);
        column.content = match kind & !FLAG_NULL_BITS {
            KIND_NULL => Content::AllNull,
            KIND_NUMBERS => Content::Numbers(PackedNumbers::take(present, &mut reader)?),
            KIND_PLAIN => {
                let ends = PackedNumbers::take(present, &mut reader)?;
                Content::Plain(Strings { ends, bytes: reader.rest() })
            }
            KIND_DICTIONARY => {
                let offset = reader.offset();
                let count = usize::try_from(reader.varint()?)
                    .ok()
                    .filter(|&count| count <= present)
                    .ok_or(DecodeError::Invalid { what: "size of a dictionary", offset })?;
                let ends = PackedNumbers::take(count, &mut reader)?;
                let size = count.checked_sub(1).map_or(0, |last| ends.number(last));
                let size =
                    usize::try_from(size).map_err(|_| DecodeError::Invalid { what: "dictionary", offset })?;
                let different = Strings { ends, bytes: reader.take(size)? };
                Content::Dictionary { count, different, indexes: PackedNumbers::take(present, &mut reader)? }
            }
            _ => return Err(DecodeError::Invalid { what: "kind of column", offset: 0 }),
        };
        Ok(column)
    }

    fn is_null(&self, row: usize) -> bool {
        match (&self.content, self.nulls) {
            (Content::AllNull, _) => true,
            (_, None) => false,
            (_, Some(bits)) => bits.get(row / 8).is_none_or(|byte| byte & (1 << (row % 8)) != 0),
        }
    }

    /// How many values that are not NULL stand before a row.
    fn rank(&self, row: usize) -> usize {
        let Some(bits) = self.nulls else { return row };
        let whole: usize = bits.iter().take(row / 8).map(|byte| byte.count_zeros() as usize).sum();
        let partial = match row % 8 {
            0 => 0,
            rest => {
                let before = bits.get(row / 8).map_or(0xFF, |byte| byte | 0xFFu8 << rest);
                before.count_zeros() as usize
            }
        };
        whole + partial
    }

    /// The values of the dictionary, if there is one: they are shared by all rows that have them.
    fn dictionary(&self, sql_type: &SqlType) -> Result<Vec<Value>, DecodeError> {
        let Content::Dictionary { count, different, .. } = &self.content else { return Ok(Vec::new()) };
        (0..*count).map(|index| from_bytes(sql_type, different.string(index)?)).collect()
    }

    fn value(&self, sql_type: &SqlType, rank: usize, dictionary: &[Value]) -> Result<Value, DecodeError> {
        let invalid = DecodeError::Invalid { what: "value of a column", offset: rank };
        match &self.content {
            Content::AllNull => Ok(Value::Null),
            Content::Numbers(numbers) => from_number(sql_type, numbers.number(rank)).ok_or(invalid),
            Content::Plain(strings) => from_bytes(sql_type, strings.string(rank)?),
            Content::Dictionary { indexes, .. } => usize::try_from(indexes.number(rank))
                .ok()
                .and_then(|index| dictionary.get(index).cloned())
                .ok_or(invalid),
        }
    }

    /// Appends the values of the rows of a range to a vector of the kind of `sql_type`.
    fn decode_into(
        &self,
        sql_type: &SqlType,
        range: Range<usize>,
        out: &mut ColumnVector,
    ) -> Result<(), DecodeError> {
        if range.is_empty() {
            return Ok(());
        }
        if matches!(self.content, Content::AllNull) {
            out.push_nulls(range.len());
            return Ok(());
        }
        let ranks = self.rank(range.start)..self.rank(range.end);
        let (values, null_bits) = out.parts_mut();
        match values {
            ColumnValues::Numbers(numbers) => {
                let start = numbers.len();
                self.numbers_into(sql_type, ranks, numbers)?;
                self.spread(range.clone(), start, numbers);
            }
            ColumnValues::Doubles(doubles) => {
                let start = doubles.len();
                self.doubles_into(sql_type, ranks, doubles)?;
                self.spread(range.clone(), start, doubles);
            }
            ColumnValues::Values(values) => {
                let start = values.len();
                let dictionary = self.dictionary(sql_type)?;
                for rank in ranks {
                    values.push(self.value(sql_type, rank, &dictionary)?);
                }
                self.spread(range.clone(), start, values);
            }
        }
        match self.nulls {
            None => null_bits.push_many(false, range.len()),
            Some(bits) => null_bits.push_bits(bits, range),
        }
        Ok(())
    }

    fn numbers_into(
        &self,
        sql_type: &SqlType,
        ranks: Range<usize>,
        out: &mut Vec<i64>,
    ) -> Result<(), DecodeError> {
        if let Content::Numbers(packed) = &self.content {
            let invalid = DecodeError::Invalid { what: "value of a column", offset: ranks.start };
            let valid = number_range(sql_type).ok_or(invalid)?;
            let before = out.len();
            packed.unpack(ranks.clone(), out);
            // What the width allows says enough for almost all columns.
            let certain = packed
                .bounds(ranks.end)
                .is_some_and(|(least, greatest)| valid.contains(&least) && valid.contains(&greatest));
            let fits = certain || out.iter().skip(before).all(|number| valid.contains(number));
            return if fits { Ok(()) } else { Err(invalid) };
        }
        let dictionary = self.dictionary(sql_type)?;
        for rank in ranks {
            let invalid = DecodeError::Invalid { what: "value of a column", offset: rank };
            let value = self.value(sql_type, rank, &dictionary)?;
            out.push(number_of_value(sql_type, &value).ok_or(invalid)?);
        }
        Ok(())
    }

    fn doubles_into(
        &self,
        sql_type: &SqlType,
        ranks: Range<usize>,
        out: &mut Vec<f64>,
    ) -> Result<(), DecodeError> {
        if let Content::Numbers(packed) = &self.content {
            let mut numbers = Vec::with_capacity(ranks.len());
            packed.unpack(ranks, &mut numbers);
            out.extend(numbers.into_iter().map(|number| number as f64));
            return Ok(());
        }
        let dictionary = self.dictionary(sql_type)?;
        for rank in ranks {
            out.push(match self.value(sql_type, rank, &dictionary)? {
                Value::Double(value) => value,
                Value::Float(value) => f64::from(value),
                _ => return Err(DecodeError::Invalid { what: "value of a column", offset: rank }),
            });
        }
        Ok(())
    }

    /// Moves the values that are not NULL, which stand without gaps from `start` on, to the places of their rows.
    fn spread<T: Default>(&self, range: Range<usize>, start: usize, values: &mut Vec<T>) {
        if self.nulls.is_none() {
            return;
        }
        let mut next = values.len();
        values.resize_with(start + range.len(), T::default);
        for (place, row) in (start..values.len()).zip(range).rev() {
            // From here on the values are at their places.
            if next == place + 1 {
                break;
            }
            if !self.is_null(row) {
                next -= 1;
                values.swap(next, place);
            }
        }
    }
}
