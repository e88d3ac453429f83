//! One column of many rows, decoded for machines that work on columns: plain numbers where the type allows, and bits that
//! say which of them are NULL.

use std::ops::Range;

use farbird_types::{BlobId, Date, ExactWidth, SqlType, Time, Timestamp, Value};

use crate::DecodeError;

/// Ten-thousandths of a second in a day.
const TICKS_PER_DAY: i64 = 864_000_000;

/// The values of one column, row after row.
///
/// Which kind of values it holds follows from the column's type alone ([`ColumnVector::for_type`]), never from how a block
/// happens to be packed, so whoever reads it decides once per query what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnVector {
    values: ColumnValues,
    nulls: NullBits,
}

/// The values of a [`ColumnVector`].
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// BOOLEAN as 0 and 1; SMALLINT, INTEGER, BIGINT and the NUMERIC in them unscaled (the scale stands in the type); DATE
    /// as its day; TIME as its ten-thousandths of a second; TIMESTAMP as day x 864,000,000 + time, which orders as
    /// timestamps do; BLOB as the bits of its id. 0 where the value is NULL.
    Numbers(Vec<i64>),
    /// DOUBLE PRECISION, and FLOAT widened. 0 where the value is NULL.
    Doubles(Vec<f64>),
    /// All other types: [`Value::Null`] where the value is NULL.
    Values(Vec<Value>),
}

impl Default for ColumnVector {
    /// An empty vector that takes the kind of the first column decoded into it.
    fn default() -> ColumnVector {
        ColumnVector { values: ColumnValues::Values(Vec::new()), nulls: NullBits::default() }
    }
}

impl ColumnVector {
    /// An empty vector for values of a type.
    pub fn for_type(sql_type: &SqlType) -> ColumnVector {
        let values = match sql_type {
            SqlType::Exact { width: ExactWidth::Int128, .. } => ColumnValues::Values(Vec::new()),
            SqlType::Boolean
            | SqlType::Exact { .. }
            | SqlType::Date
            | SqlType::Time
            | SqlType::Timestamp
            | SqlType::Blob { .. }
            | SqlType::Array => ColumnValues::Numbers(Vec::new()),
            SqlType::Float | SqlType::Double => ColumnValues::Doubles(Vec::new()),
            _ => ColumnValues::Values(Vec::new()),
        };
        ColumnVector { values, nulls: NullBits::default() }
    }

    /// These values, of a type that has neither numbers nor doubles.
    pub(crate) fn of_values(values: Vec<Value>) -> ColumnVector {
        let mut nulls = NullBits::default();
        values.iter().for_each(|value| nulls.push(value.is_null()));
        ColumnVector { values: ColumnValues::Values(values), nulls }
    }

    /// How many values, NULLs included.
    pub fn len(&self) -> usize {
        self.nulls.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nulls.len() == 0
    }

    /// Removes all values; the memory stays for the next ones.
    pub fn clear(&mut self) {
        match &mut self.values {
            ColumnValues::Numbers(numbers) => numbers.clear(),
            ColumnValues::Doubles(doubles) => doubles.clear(),
            ColumnValues::Values(values) => values.clear(),
        }
        self.nulls.clear();
    }

    /// The values.
    pub fn values(&self) -> &ColumnValues {
        &self.values
    }

    /// Which of them are NULL.
    pub fn nulls(&self) -> &NullBits {
        &self.nulls
    }

    /// The value at `index` of a column of this type; `None` past the end, or if the vector is of another kind of type.
    pub fn value(&self, index: usize, sql_type: &SqlType) -> Option<Value> {
        if index >= self.len() {
            return None;
        }
        if self.nulls.is_null(index) {
            return Some(Value::Null);
        }
        match (&self.values, sql_type) {
            (ColumnValues::Numbers(numbers), _) => value_of_number(sql_type, *numbers.get(index)?),
            (ColumnValues::Doubles(doubles), SqlType::Float) => {
                Some(Value::Float(*doubles.get(index)? as f32))
            }
            (ColumnValues::Doubles(doubles), _) => Some(Value::Double(*doubles.get(index)?)),
            (ColumnValues::Values(values), _) => values.get(index).cloned(),
        }
    }

    /// Appends one value of a column of this type.
    ///
    /// # Errors
    /// If the value is not of that type, or the vector of another kind.
    pub fn push(&mut self, sql_type: &SqlType, value: Value) -> Result<(), DecodeError> {
        self.prepare(sql_type)?;
        let is_null = value.is_null();
        let misfit = DecodeError::Invalid { what: "value of a column vector", offset: self.len() };
        match &mut self.values {
            ColumnValues::Numbers(numbers) if is_null => numbers.push(0),
            ColumnValues::Numbers(numbers) => {
                numbers.push(number_of_value(sql_type, &value).ok_or(misfit)?);
            }
            ColumnValues::Doubles(doubles) => doubles.push(match value {
                Value::Null => 0.0,
                Value::Double(value) => value,
                Value::Float(value) => f64::from(value),
                _ => return Err(misfit),
            }),
            ColumnValues::Values(values) => values.push(value),
        }
        self.nulls.push(is_null);
        Ok(())
    }

    /// Appends values of another vector of the same column.
    ///
    /// # Errors
    /// If it has not so many, or is of another kind.
    pub fn append(&mut self, other: &ColumnVector, range: Range<usize>) -> Result<(), DecodeError> {
        let misfit = DecodeError::Invalid { what: "range of a column vector", offset: range.start };
        if range.start > range.end || range.end > other.len() {
            return Err(misfit);
        }
        if self.is_empty() && std::mem::discriminant(&self.values) != std::mem::discriminant(&other.values) {
            self.values = match &other.values {
                ColumnValues::Numbers(_) => ColumnValues::Numbers(Vec::new()),
                ColumnValues::Doubles(_) => ColumnValues::Doubles(Vec::new()),
                ColumnValues::Values(_) => ColumnValues::Values(Vec::new()),
            };
        }
        match (&mut self.values, &other.values) {
            (ColumnValues::Numbers(all), ColumnValues::Numbers(more)) => {
                all.extend_from_slice(more.get(range.clone()).ok_or(misfit)?);
            }
            (ColumnValues::Doubles(all), ColumnValues::Doubles(more)) => {
                all.extend_from_slice(more.get(range.clone()).ok_or(misfit)?);
            }
            (ColumnValues::Values(all), ColumnValues::Values(more)) => {
                all.extend_from_slice(more.get(range.clone()).ok_or(misfit)?);
            }
            _ => return Err(misfit),
        }
        self.nulls.append(&other.nulls, range);
        Ok(())
    }

    /// Appends NULLs.
    pub(crate) fn push_nulls(&mut self, count: usize) {
        let length = self.len() + count;
        match &mut self.values {
            ColumnValues::Numbers(numbers) => numbers.resize(length, 0),
            ColumnValues::Doubles(doubles) => doubles.resize(length, 0.0),
            ColumnValues::Values(values) => values.resize(length, Value::Null),
        }
        self.nulls.push_many(true, count);
    }

    /// Takes the kind of a type, if there are no values yet.
    ///
    /// # Errors
    /// If there are, and they are of another kind.
    pub(crate) fn prepare(&mut self, sql_type: &SqlType) -> Result<(), DecodeError> {
        let wanted = ColumnVector::for_type(sql_type);
        if std::mem::discriminant(&wanted.values) == std::mem::discriminant(&self.values) {
            return Ok(());
        }
        if !self.is_empty() {
            return Err(DecodeError::Invalid { what: "kind of column vector", offset: self.len() });
        }
        *self = wanted;
        Ok(())
    }

    /// For decoders: the values and the NULL bits, both to be appended to by the same number.
    pub(crate) fn parts_mut(&mut self) -> (&mut ColumnValues, &mut NullBits) {
        (&mut self.values, &mut self.nulls)
    }
}

/// One bit per value: set if the value is NULL. Takes no memory while no value is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NullBits {
    length: usize,
    /// Bit `index % 64` of word `index / 64`. Words at the end without a set bit may be missing.
    words: Vec<u64>,
    count: usize,
}

impl NullBits {
    /// How many bits there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many values are NULL.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the value at `index` is NULL; `false` past the end.
    #[inline]
    pub fn is_null(&self, index: usize) -> bool {
        self.word(index / 64) & (1 << (index % 64)) != 0
    }

    /// The bits of the values from 64 x `index` on, the first in the lowest bit; 0 past the end.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// All bits: of the value at `index` bit `index % 64` of word `index / 64`. Words at the end without a set bit may be
    /// missing.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    fn clear(&mut self) {
        self.length = 0;
        self.count = 0;
        self.words.clear();
    }

    fn push(&mut self, is_null: bool) {
        self.push_many(is_null, 1);
    }

    pub(crate) fn push_many(&mut self, is_null: bool, count: usize) {
        let mut left = if is_null { count } else { 0 };
        let end = self.length + count;
        while left > 0 {
            let bits = left.min(64);
            let at = end - left;
            self.set(at, u64::MAX >> (64 - bits), bits);
            left -= bits;
        }
        self.length = end;
    }

    /// Appends the bits of a range of a byte string, of which the first bit is the lowest of the first byte.
    pub(crate) fn push_bits(&mut self, bytes: &[u8], range: Range<usize>) {
        let end = self.length + range.len();
        let mut at = self.length;
        let mut from = range.start;
        while from < range.end {
            // Seven bytes and some bits of the eighth, so that a word holds them wherever they begin.
            let bits = (range.end - from).min(56);
            let rest = bytes.get(from / 8..).unwrap_or_default();
            let mut word = [0u8; 8];
            let count = rest.len().min(8);
            word[..count].copy_from_slice(&rest[..count]);
            let taken = (u64::from_le_bytes(word) >> (from % 8)) & (u64::MAX >> (64 - bits));
            self.set(at, taken, bits);
            at += bits;
            from += bits;
        }
        self.length = end;
    }

    /// Appends bits of others.
    fn append(&mut self, other: &NullBits, range: Range<usize>) {
        let end = self.length + range.len();
        if other.count > 0 {
            let (mut at, mut from) = (self.length, range.start);
            while from < range.end {
                // To the end of the other's word.
                let bits = (range.end - from).min(64 - from % 64);
                let taken = (other.word(from / 64) >> (from % 64)) & (u64::MAX >> (64 - bits));
                self.set(at, taken, bits);
                at += bits;
                from += bits;
            }
        }
        self.length = end;
    }

    /// Sets those of up to 64 bits from place `at` on that are set in `bits`.
    fn set(&mut self, at: usize, bits: u64, count: usize) {
        if bits == 0 {
            return;
        }
        self.count += bits.count_ones() as usize;
        let words = (at + count).div_ceil(64);
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        self.words[at / 64] |= bits << (at % 64);
        if !at.is_multiple_of(64)
            && let Some(next) = self.words.get_mut(at / 64 + 1)
        {
            *next |= bits >> (64 - at % 64);
        }
    }
}

/// The value as the number that stands for it in a column of this type; `None` if there is no such number.
pub fn number_of_value(sql_type: &SqlType, value: &Value) -> Option<i64> {
    match (sql_type, value) {
        (SqlType::Boolean, Value::Boolean(value)) => Some(i64::from(*value)),
        (SqlType::Exact { .. }, Value::Integer { unscaled, .. }) => Some(*unscaled),
        (SqlType::Date, Value::Date(date)) => Some(i64::from(date.0)),
        (SqlType::Time, Value::Time(time)) => Some(i64::from(time.0)),
        (SqlType::Timestamp, Value::Timestamp(stamp)) => timestamp_number(stamp),
        (SqlType::Blob { .. } | SqlType::Array, Value::Blob(id)) => Some(id.0 as i64),
        _ => None,
    }
}

/// Undoes [`number_of_value`]; `None` if the type has no such number.
pub fn value_of_number(sql_type: &SqlType, number: i64) -> Option<Value> {
    if !number_range(sql_type)?.contains(&number) {
        return None;
    }
    Some(match sql_type {
        SqlType::Boolean => Value::Boolean(number == 1),
        SqlType::Exact { scale, .. } => Value::Integer { unscaled: number, scale: *scale },
        SqlType::Date => Value::Date(Date(i32::try_from(number).ok()?)),
        SqlType::Time => Value::Time(Time(u32::try_from(number).ok()?)),
        SqlType::Timestamp => Value::Timestamp(timestamp_of_number(number)?),
        SqlType::Blob { .. } | SqlType::Array => Value::Blob(BlobId(number as u64)),
        _ => return None,
    })
}

/// Day x 864,000,000 + time; `None` for a time past the day's end.
pub(crate) fn timestamp_number(stamp: &Timestamp) -> Option<i64> {
    let time = i64::from(stamp.time.0);
    (time < TICKS_PER_DAY).then(|| i64::from(stamp.date.0) * TICKS_PER_DAY + time)
}

/// Undoes [`timestamp_number`].
pub(crate) fn timestamp_of_number(number: i64) -> Option<Timestamp> {
    let date = Date(i32::try_from(number.div_euclid(TICKS_PER_DAY)).ok()?);
    let time = Time(u32::try_from(number.rem_euclid(TICKS_PER_DAY)).ok()?);
    Some(Timestamp { date, time })
}

/// The numbers that stand for values of a type; `None` if its values are no such numbers.
pub(crate) fn number_range(sql_type: &SqlType) -> Option<std::ops::RangeInclusive<i64>> {
    Some(match sql_type {
        SqlType::Boolean => 0..=1,
        SqlType::Exact { width, .. } => match width {
            ExactWidth::Short => i64::from(i16::MIN)..=i64::from(i16::MAX),
            ExactWidth::Long => i64::from(i32::MIN)..=i64::from(i32::MAX),
            ExactWidth::Int64 => i64::MIN..=i64::MAX,
            ExactWidth::Int128 => return None,
        },
        SqlType::Date => i64::from(i32::MIN)..=i64::from(i32::MAX),
        SqlType::Time => 0..=i64::from(u32::MAX),
        SqlType::Timestamp => {
            i64::from(i32::MIN) * TICKS_PER_DAY..=i64::from(i32::MAX) * TICKS_PER_DAY + TICKS_PER_DAY - 1
        }
        SqlType::Blob { .. } | SqlType::Array => i64::MIN..=i64::MAX,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_types::CharacterSet;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_where_they_were_appended(
            pieces in vec((any::<bool>(), 0usize..150, vec(any::<u8>(), 0..30), 0usize..8), 0..8)
        ) {
            let mut bits = NullBits::default();
            let mut expected = Vec::new();
            for (all, count, bytes, skipped) in pieces {
                bits.push_many(all, count);
                expected.resize(expected.len() + count, all);
                let range = skipped.min(bytes.len() * 8)..bytes.len() * 8;
                expected.extend(range.clone().map(|bit| bytes[bit / 8] & (1 << (bit % 8)) != 0));
                bits.push_bits(&bytes, range);
            }
            prop_assert_eq!(bits.len(), expected.len());
            prop_assert_eq!(bits.count(), expected.iter().filter(|null| **null).count());
            for (index, null) in expected.iter().enumerate() {
                prop_assert_eq!(bits.is_null(index), *null, "bit {}", index);
            }
            prop_assert!(!bits.is_null(expected.len()));
        }

        #[test]
        fn ranges_of_vectors_are_appended_as_they_are(
            values in vec(proptest::option::weighted(0.8, any::<i16>()), 0..300),
            cuts in vec((0usize..301, 0usize..301), 1..8)
        ) {
            let value = |number: &Option<i16>| number.map_or(Value::Null, |number| Value::integer(i64::from(number)));
            let text = |number: &Option<i16>| match number {
                Some(number) => Value::text(&number.to_string()),
                None => Value::Null,
            };
            let short = SqlType::SMALLINT;
            let varchar = SqlType::varchar(10, CharacterSet::UTF8);
            let (mut numbers, mut texts) = (ColumnVector::for_type(&short), ColumnVector::default());
            for number in &values {
                numbers.push(&short, value(number)).unwrap();
                texts.push(&varchar, text(number)).unwrap();
            }
            let (mut copied, mut copied_texts, mut expected) =
                (ColumnVector::default(), ColumnVector::default(), Vec::new());
            for (from, to) in cuts {
                let range = from.min(to).min(values.len())..from.max(to).min(values.len());
                copied.append(&numbers, range.clone()).unwrap();
                copied_texts.append(&texts, range.clone()).unwrap();
                expected.extend_from_slice(&values[range]);
            }
            prop_assert_eq!(copied.len(), expected.len());
            prop_assert_eq!(copied.nulls().count(), expected.iter().filter(|value| value.is_none()).count());
            for (index, number) in expected.iter().enumerate() {
                prop_assert_eq!(copied.value(index, &short), Some(value(number)));
                prop_assert_eq!(copied_texts.value(index, &varchar), Some(text(number)));
            }
            prop_assert!(copied.append(&numbers, 0..values.len() + 1).is_err());
        }
    }

    #[test]
    fn timestamps_of_all_days_are_numbers_and_back() {
        for date in [i32::MIN, -1, 0, 1, i32::MAX] {
            for time in [0, 1, 863_999_999] {
                let value = Value::Timestamp(Timestamp { date: Date(date), time: Time(time) });
                let number = number_of_value(&SqlType::Timestamp, &value).expect("a number");
                assert_eq!(value_of_number(&SqlType::Timestamp, number), Some(value));
            }
        }
    }
}
