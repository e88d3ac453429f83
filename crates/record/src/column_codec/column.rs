//! One column of a block, to read from.

use std::ops::Range;

use farbird_types::{ExactWidth, SqlType, Text, Time, TimeTz, TimestampTz, Value, ZoneId};

use super::encode::{FRACTION_DIGITS_MAX, POWERS_OF_TEN};
use super::strings::{Strings, StringsIn};
use super::{
    FLAG_NULL_BITS, FLAG_TRIMMED, KIND_DICTIONARY, KIND_FRACTIONS, KIND_NULL, KIND_NUMBER_DICTIONARY,
    KIND_NUMBERS, KIND_PLAIN, KIND_WORDS, KIND_ZONED,
};
use crate::bytes::Reader;
use crate::codec::ColumnBounds;
use crate::column_vector::{
    ColumnValues, ColumnVector, number_of_value, number_range, timestamp_of_number, value_of_number,
};
use crate::packed::{Packed, PackedNumbers};
use crate::value_codec::{decode_single, padded_to_length};
use crate::{DecodeError, TextCodes};

/// Texts are told apart by their places in a dictionary if each stands for so many rows or more.
const REPEATED: usize = 4;

/// A column to read from.
pub(super) struct Column<'a> {
    sql_type: &'a SqlType,
    rows: usize,
    nulls: Option<&'a [u8]>,
    /// CHAR values without their padding.
    is_trimmed: bool,
    content: Content<&'a [u8]>,
    /// What stands behind a list of numbers: their bounds, or nothing.
    rest: &'a [u8],
}

/// The values of a column in bytes, or at places of bytes that somebody else has.
#[derive(Debug)]
enum Content<B> {
    AllNull,
    Numbers(Packed<B>),
    NumberDictionary { count: usize, different: Packed<B>, indexes: Packed<B> },
    Plain(StringsIn<B>),
    Dictionary { count: usize, different: StringsIn<B>, indexes: Packed<B> },
    Words(B),
    Fractions { power: f64, numbers: Packed<B> },
    Zoned { moments: Packed<B>, zones: Packed<B> },
}

impl<B> Content<B> {
    /// The same values with something else in the place of their bytes.
    #[inline]
    fn map<C>(&self, change: &impl Fn(&B) -> C) -> Content<C> {
        match self {
            Content::AllNull => Content::AllNull,
            Content::Numbers(numbers) => Content::Numbers(numbers.map(change)),
            Content::NumberDictionary { count, different, indexes } => Content::NumberDictionary {
                count: *count,
                different: different.map(change),
                indexes: indexes.map(change),
            },
            Content::Plain(strings) => Content::Plain(strings.map(change)),
            Content::Dictionary { count, different, indexes } => Content::Dictionary {
                count: *count,
                different: different.map(change),
                indexes: indexes.map(change),
            },
            Content::Words(bytes) => Content::Words(change(bytes)),
            Content::Fractions { power, numbers } => {
                Content::Fractions { power: *power, numbers: numbers.map(change) }
            }
            Content::Zoned { moments, zones } => {
                Content::Zoned { moments: moments.map(change), zones: zones.map(change) }
            }
        }
    }
}

/// A place in the bytes of a column.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// The place of a part of some bytes.
    fn of(part: &[u8], whole: &[u8]) -> Span {
        let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        Span { start, end: start.saturating_add(part.len()) }
    }

    #[inline]
    fn in_bytes<'a>(&self, whole: &'a [u8]) -> &'a [u8] {
        whole.get(self.start..self.end).unwrap_or_default()
    }
}

/// What [`Column::open`] has found out of a column, apart from its bytes.
#[derive(Debug)]
pub(super) struct Outline {
    nulls: Option<Span>,
    is_trimmed: bool,
    content: Content<Span>,
}

impl Outline {
    /// The value of one row, given the column's bytes.
    #[inline]
    pub(super) fn value(
        &self,
        sql_type: &SqlType,
        rows: usize,
        bytes: &[u8],
        row: usize,
    ) -> Result<Value, DecodeError> {
        // Most columns that rows are looked up by are such numbers: no column is made for those.
        if let (Content::Numbers(packed), None) = (&self.content, &self.nulls)
            && row < rows
            && let Some(number) = packed.number_alone(row, |span| span.in_bytes(bytes))
        {
            return value_of(sql_type, number);
        }
        self.column(sql_type, rows, bytes).value(row)
    }

    /// The column, as it was opened in these bytes. Its bounds are not told.
    fn column<'a>(&self, sql_type: &'a SqlType, rows: usize, bytes: &'a [u8]) -> Column<'a> {
        let in_bytes = |span: &Span| span.in_bytes(bytes);
        Column {
            sql_type,
            rows,
            nulls: self.nulls.as_ref().map(in_bytes),
            is_trimmed: self.is_trimmed,
            content: self.content.map(&in_bytes),
            rest: &[],
        }
    }
}

fn invalid(offset: usize) -> DecodeError {
    DecodeError::Invalid { what: "value of a column", offset }
}

/// The value that a number of a column stands for.
fn value_of(sql_type: &SqlType, number: i64) -> Result<Value, DecodeError> {
    match sql_type {
        SqlType::Double => Ok(Value::Double(number as f64)),
        SqlType::Exact { width: ExactWidth::Int128, scale, .. } => {
            Ok(Value::Int128 { unscaled: i128::from(number), scale: *scale })
        }
        sql_type => value_of_number(sql_type, number).ok_or(invalid(0)),
    }
}

impl<'a> Column<'a> {
    pub(super) fn open(
        sql_type: &'a SqlType,
        rows: usize,
        bytes: &'a [u8],
    ) -> Result<Column<'a>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8()?;
        let nulls = match kind & FLAG_NULL_BITS {
            0 => None,
            _ => Some(reader.take(rows.div_ceil(8))?),
        };
        let is_trimmed = kind & FLAG_TRIMMED != 0;
        if is_trimmed && !matches!(sql_type, SqlType::Text(declared) if !declared.varying) {
            return Err(DecodeError::Invalid { what: "kind of column", offset: 0 });
        }
        let mut column = Column { sql_type, rows, nulls, is_trimmed, content: Content::AllNull, rest: &[] };
        let present = column.rank(rows);
        let dictionary_size = |reader: &mut Reader<'a>| {
            let offset = reader.offset();
            let count = usize::try_from(reader.varint()?).ok().filter(|&count| count <= present);
            count.ok_or(DecodeError::Invalid { what: "size of a dictionary", offset })
        };
        column.content = match kind & !(FLAG_NULL_BITS | FLAG_TRIMMED) {
            KIND_NULL => Content::AllNull,
            KIND_NUMBERS => Content::Numbers(PackedNumbers::take(present, &mut reader)?),
            KIND_NUMBER_DICTIONARY => {
                let count = dictionary_size(&mut reader)?;
                let different = PackedNumbers::take(count, &mut reader)?;
                let indexes = PackedNumbers::take(present, &mut reader)?;
                Content::NumberDictionary { count, different, indexes }
            }
            KIND_PLAIN => Content::Plain(Strings::take_rest(present, &mut reader)?),
            KIND_DICTIONARY => {
                let count = dictionary_size(&mut reader)?;
                let different = Strings::take(count, &mut reader)?;
                Content::Dictionary { count, different, indexes: PackedNumbers::take(present, &mut reader)? }
            }
            KIND_WORDS => {
                let width = match sql_type {
                    SqlType::Double => 8,
                    SqlType::Float => 4,
                    _ => return Err(DecodeError::Invalid { what: "kind of column", offset: 0 }),
                };
                let size =
                    present.checked_mul(width).ok_or(DecodeError::Truncated { offset: reader.offset() })?;
                Content::Words(reader.take(size)?)
            }
            KIND_FRACTIONS if *sql_type == SqlType::Double => {
                let offset = reader.offset();
                let digits = reader.u8()?;
                let power = POWERS_OF_TEN.get(usize::from(digits)).filter(|_| digits <= FRACTION_DIGITS_MAX);
                let power = *power.ok_or(DecodeError::Invalid { what: "digits of fractions", offset })?;
                Content::Fractions { power, numbers: PackedNumbers::take(present, &mut reader)? }
            }
            KIND_ZONED => {
                let moments = PackedNumbers::take(present, &mut reader)?;
                Content::Zoned { moments, zones: PackedNumbers::take(present, &mut reader)? }
            }
            _ => return Err(DecodeError::Invalid { what: "kind of column", offset: 0 }),
        };
        column.rest = reader.rest();
        Ok(column)
    }

    /// What is known of the column beside its bytes, in which it was opened.
    pub(super) fn outline(&self, bytes: &[u8]) -> Outline {
        let place = |part: &&[u8]| Span::of(part, bytes);
        Outline {
            nulls: self.nulls.as_ref().map(place),
            is_trimmed: self.is_trimmed,
            content: self.content.map(&place),
        }
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
        let Some(bits) = self.nulls else { return row.min(self.rows) };
        let words = row / 64;
        let whole: usize = bits
            .chunks_exact(8)
            .take(words)
            .map(|word| word.try_into().map_or(0, |word| u64::from_le_bytes(word).count_zeros() as usize))
            .sum();
        let rest = words * 64..row;
        whole + rest.filter(|row| !self.is_set(bits, *row)).count()
    }

    fn is_set(&self, bits: &[u8], row: usize) -> bool {
        bits.get(row / 8).is_none_or(|byte| byte & (1 << (row % 8)) != 0)
    }

    /// Bounds of its numbers, if it is one of numbers and tells them.
    pub(super) fn bounds(&self) -> Option<ColumnBounds> {
        number_range(self.sql_type)?;
        let numbers = match &self.content {
            Content::AllNull => None,
            Content::Numbers(packed) if self.rest.is_empty() => {
                Some(packed.bounds_if_sound(self.rank(self.rows))?)
            }
            Content::Numbers(_) => {
                let mut reader = Reader::new(self.rest);
                let (least, span) = (reader.signed().ok()?, reader.varint().ok()?);
                Some((least, least.checked_add_unsigned(span)?))
            }
            Content::NumberDictionary { count, different, .. } => {
                let mut different = unpacked(different, 0..*count).into_iter();
                let first = different.next()?;
                Some(different.fold((first, first), |(least, greatest), number| {
                    (least.min(number), greatest.max(number))
                }))
            }
            _ => return None,
        };
        Some(ColumnBounds { numbers, has_nulls: numbers.is_none() || self.nulls.is_some() })
    }

    /// Puts the values of the rows of a range into `places`, which hold NULL, one for each row.
    pub(super) fn values_into<'v>(
        &self,
        range: Range<usize>,
        places: impl Iterator<Item = &'v mut Value>,
    ) -> Result<(), DecodeError> {
        if matches!(self.content, Content::AllNull) {
            return Ok(());
        }
        let ranks = self.rank(range.start)..self.rank(range.end);
        if self.nulls.is_none() {
            let mut places = places;
            return self.for_each_value(ranks, |value| {
                if let Some(place) = places.next() {
                    *place = value;
                }
            });
        }
        let mut places = range.zip(places).filter(|(row, _)| !self.is_null(*row));
        self.for_each_value(ranks, |value| {
            if let Some((_, place)) = places.next() {
                *place = value;
            }
        })
    }

    /// The value of one row.
    pub(super) fn value(&self, row: usize) -> Result<Value, DecodeError> {
        if self.is_null(row) {
            return Ok(Value::Null);
        }
        let rank = self.rank(row);
        match &self.content {
            Content::Numbers(packed) => self.value_of_number(packed.number(rank)),
            Content::NumberDictionary { count, different, indexes } => {
                self.value_of_number(different.number(index_below(indexes.number(rank), *count)?))
            }
            _ => {
                let mut value = Value::Null;
                self.for_each_value(rank..rank + 1, |own| value = own)?;
                Ok(value)
            }
        }
    }

    /// Hands the values at these ranks, which are not NULL, to `sink`.
    fn for_each_value(&self, ranks: Range<usize>, mut sink: impl FnMut(Value)) -> Result<(), DecodeError> {
        match &self.content {
            Content::AllNull => {}
            Content::Plain(strings) if ranks.len() == 1 => {
                sink(self.value_of_string(strings.string(ranks.start)?)?);
            }
            Content::Plain(strings) => strings.for_each(ranks, |string| {
                sink(self.value_of_string(string)?);
                Ok(())
            })?,
            Content::Dictionary { count, different, indexes } if ranks.len() == 1 => {
                let index = index_below(indexes.number(ranks.start), *count)?;
                sink(self.value_of_string(different.string(index)?)?);
            }
            Content::Dictionary { count, different, indexes } => {
                // Rows with the same string share one value.
                let mut values: Vec<Option<Value>> = vec![None; *count];
                for index in unpacked(indexes, ranks) {
                    let index = index_below(index, *count)?;
                    let Some(place) = values.get_mut(index) else { return Err(invalid(index)) };
                    let value = match place {
                        Some(value) => value,
                        None => place.insert(self.value_of_string(different.string(index)?)?),
                    };
                    sink(value.clone());
                }
            }
            Content::Numbers(_) | Content::NumberDictionary { .. } => {
                for number in self.numbers(ranks)? {
                    sink(self.value_of_number(number)?);
                }
            }
            // Not by way of doubles, which would change the bits of some that are no numbers.
            Content::Words(bytes) if *self.sql_type == SqlType::Float => {
                let bytes = bytes.get(ranks.start * 4..ranks.end * 4).ok_or(invalid(ranks.start))?;
                for word in bytes.chunks_exact(4) {
                    sink(Value::Float(f32::from_le_bytes(word.try_into().unwrap_or_default())));
                }
            }
            Content::Words(_) | Content::Fractions { .. } => {
                self.for_each_double(ranks, |double| sink(Value::Double(double)))?;
            }
            Content::Zoned { moments, zones } => {
                let zones = unpacked(zones, ranks.clone());
                for (moment, zone) in unpacked(moments, ranks).into_iter().zip(zones) {
                    sink(self.zoned_value(moment, zone).ok_or(invalid(0))?);
                }
            }
        }
        Ok(())
    }

    fn value_of_string(&self, bytes: &[u8]) -> Result<Value, DecodeError> {
        match self.sql_type {
            SqlType::Text(declared) if declared.varying => {
                Ok(Value::Text(Text::new(bytes, declared.character_set)))
            }
            SqlType::Text(declared) if self.is_trimmed => padded_to_length(bytes, declared),
            sql_type => decode_single(sql_type, bytes),
        }
    }

    fn value_of_number(&self, number: i64) -> Result<Value, DecodeError> {
        value_of(self.sql_type, number)
    }

    fn zoned_value(&self, moment: i64, zone: i64) -> Option<Value> {
        let zone = ZoneId(u16::try_from(zone).ok()?);
        match self.sql_type {
            SqlType::TimeTz => Some(Value::TimeTz(TimeTz { utc: Time(u32::try_from(moment).ok()?), zone })),
            SqlType::TimestampTz => {
                Some(Value::TimestampTz(TimestampTz { utc: timestamp_of_number(moment)?, zone }))
            }
            _ => None,
        }
    }

    /// The numbers at these ranks of a column of numbers.
    fn numbers(&self, ranks: Range<usize>) -> Result<Vec<i64>, DecodeError> {
        let mut numbers = Vec::new();
        self.numbers_into(ranks, &mut numbers)?;
        Ok(numbers)
    }

    fn numbers_into(&self, ranks: Range<usize>, out: &mut Vec<i64>) -> Result<(), DecodeError> {
        match &self.content {
            Content::Numbers(packed) if ranks.len() == 1 => out.push(packed.number(ranks.start)),
            Content::Numbers(packed) => packed.unpack(ranks, out),
            Content::NumberDictionary { count, different, indexes } if ranks.len() == 1 => {
                out.push(different.number(index_below(indexes.number(ranks.start), *count)?));
            }
            Content::NumberDictionary { count, different, indexes } => {
                let different = unpacked(different, 0..*count);
                let before = out.len();
                indexes.unpack(ranks, out);
                for place in out.iter_mut().skip(before) {
                    let index = usize::try_from(*place).ok();
                    *place = *index.and_then(|index| different.get(index)).ok_or(invalid(0))?;
                }
            }
            _ => return Err(invalid(ranks.start)),
        }
        Ok(())
    }

    /// Hands the doubles, or widened floats, at these ranks of a column of such to `sink`.
    fn for_each_double(&self, ranks: Range<usize>, mut sink: impl FnMut(f64)) -> Result<(), DecodeError> {
        match (&self.content, self.sql_type) {
            (Content::Words(bytes), SqlType::Float) => {
                let bytes = bytes.get(ranks.start * 4..ranks.end * 4).ok_or(invalid(ranks.start))?;
                for word in bytes.chunks_exact(4) {
                    sink(f64::from(f32::from_le_bytes(word.try_into().unwrap_or_default())));
                }
            }
            (Content::Words(bytes), _) => {
                let bytes = bytes.get(ranks.start * 8..ranks.end * 8).ok_or(invalid(ranks.start))?;
                for word in bytes.chunks_exact(8) {
                    sink(f64::from_le_bytes(word.try_into().unwrap_or_default()));
                }
            }
            (Content::Fractions { power, numbers }, _) => {
                for number in unpacked(numbers, ranks) {
                    sink(number as f64 / power);
                }
            }
            _ => {
                for number in self.numbers(ranks)? {
                    sink(number as f64);
                }
            }
        }
        Ok(())
    }

    /// The texts of the rows of a range, if it has them in a dictionary in which most of them repeat.
    pub(super) fn text_codes(&self, range: Range<usize>) -> Result<Option<TextCodes>, DecodeError> {
        let Content::Dictionary { count, different, indexes } = &self.content else { return Ok(None) };
        if !matches!(self.sql_type, SqlType::Text(_)) || count * REPEATED > range.len() {
            return Ok(None);
        }
        let texts = (0..*count).map(|index| self.value_of_string(different.string(index)?));
        let mut codes = TextCodes::of(texts.collect::<Result<_, _>>()?);
        let mut indexes = unpacked(indexes, self.rank(range.start)..self.rank(range.end)).into_iter();
        for row in range {
            match self.is_null(row) {
                true => codes.push_null(),
                false => codes.push(indexes.next().ok_or(invalid(row))?)?,
            }
        }
        Ok(Some(codes))
    }

    /// Appends the values of the rows of a range to a vector.
    pub(super) fn vector_into(&self, range: Range<usize>, out: &mut ColumnVector) -> Result<(), DecodeError> {
        out.prepare(self.sql_type)?;
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
                self.checked_numbers_into(ranks, numbers)?;
                self.spread(range.clone(), start, numbers);
            }
            ColumnValues::Doubles(doubles) => {
                let start = doubles.len();
                self.doubles_into(ranks, doubles)?;
                self.spread(range.clone(), start, doubles);
            }
            ColumnValues::Values(values) => {
                let start = values.len();
                self.for_each_value(ranks, |value| values.push(value))?;
                self.spread(range.clone(), start, values);
            }
        }
        match self.nulls {
            None => null_bits.push_many(false, range.len()),
            Some(bits) => null_bits.push_bits(bits, range),
        }
        Ok(())
    }

    /// Appends the numbers at these ranks, which stand for values of the column's type.
    fn checked_numbers_into(&self, ranks: Range<usize>, out: &mut Vec<i64>) -> Result<(), DecodeError> {
        let before = out.len();
        let certain = match &self.content {
            Content::Numbers(packed) => {
                // What the width allows says enough for almost all columns.
                let valid = number_range(self.sql_type).ok_or(invalid(ranks.start))?;
                let bounds = packed.bounds(ranks.end);
                self.numbers_into(ranks, out)?;
                bounds.is_some_and(|(least, greatest)| valid.contains(&least) && valid.contains(&greatest))
            }
            Content::NumberDictionary { .. } => {
                self.numbers_into(ranks, out)?;
                false
            }
            // Values without such a form: some of them would not have fit.
            _ => {
                let mut fits = true;
                self.for_each_value(ranks, |value| match number_of_value(self.sql_type, &value) {
                    Some(number) => out.push(number),
                    None => fits = false,
                })?;
                return if fits { Ok(()) } else { Err(invalid(before)) };
            }
        };
        let valid = number_range(self.sql_type).ok_or(invalid(before))?;
        match certain || out.iter().skip(before).all(|number| valid.contains(number)) {
            true => Ok(()),
            false => Err(invalid(before)),
        }
    }

    fn doubles_into(&self, ranks: Range<usize>, out: &mut Vec<f64>) -> Result<(), DecodeError> {
        if matches!(self.content, Content::Plain(_) | Content::Dictionary { .. }) {
            let mut fits = true;
            self.for_each_value(ranks, |value| match value {
                Value::Double(value) => out.push(value),
                Value::Float(value) => out.push(f64::from(value)),
                _ => fits = false,
            })?;
            return if fits { Ok(()) } else { Err(invalid(0)) };
        }
        self.for_each_double(ranks, |double| out.push(double))
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

fn unpacked(packed: &PackedNumbers<'_>, range: Range<usize>) -> Vec<i64> {
    if range.len() == 1 {
        return vec![packed.number(range.start)];
    }
    let mut numbers = Vec::with_capacity(range.len());
    packed.unpack(range, &mut numbers);
    numbers
}

fn index_below(number: i64, count: usize) -> Result<usize, DecodeError> {
    usize::try_from(number).ok().filter(|index| *index < count).ok_or(invalid(0))
}
