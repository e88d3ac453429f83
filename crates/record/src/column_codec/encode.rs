//! From the values of one column to its bytes: gathers them, then chooses the kind that takes the least space.

use farbird_types::SqlType;

use super::{
    FLAG_NULL_BITS, FLAG_TRIMMED, KIND_FRACTIONS, KIND_NULL, KIND_NUMBER_DICTIONARY, KIND_NUMBERS,
    KIND_WORDS, KIND_ZONED, strings,
};
use crate::bytes::{Reader, put_signed, put_varint};
use crate::codec::{ColumnSet, EncodedRows};
use crate::compression::Worth;
use crate::packed::{self, PackedNumbers};
use crate::value_codec::raw::{RawValue, Shape};
use crate::value_codec::{decode_row, double_as_integer, encode_single};
use crate::{EncodeError, RecordFormat};

/// The values of one column, as they come.
pub(super) struct ColumnBuilder<'r> {
    shape: Shape,
    rows: usize,
    /// Values that are not NULL.
    present: usize,
    next_row: usize,
    /// Until the last value that is not NULL.
    null_bits: Vec<u8>,
    /// Numbers, or the bits of doubles and floats.
    numbers: Vec<i64>,
    zones: Vec<i64>,
    strings: Vec<&'r [u8]>,
    /// Whether some value cannot be written as the others are.
    is_mixed: bool,
}

impl<'r> ColumnBuilder<'r> {
    /// A column of so many rows.
    pub(super) fn new(shape: Shape, rows: usize) -> ColumnBuilder<'r> {
        ColumnBuilder {
            shape,
            rows,
            present: 0,
            next_row: 0,
            null_bits: Vec::new(),
            numbers: Vec::new(),
            zones: Vec::new(),
            strings: Vec::new(),
            is_mixed: false,
        }
    }

    /// Takes the value of a row; rows ascend, those left out are NULL.
    #[inline]
    pub(super) fn push(&mut self, row: usize, value: RawValue<'r>) {
        if row != self.next_row {
            self.note_nulls(row);
        }
        self.next_row = row + 1;
        self.present += 1;
        match value {
            RawValue::Number(number) => self.numbers.push(number),
            RawValue::Double(double) => self.numbers.push(double.to_bits() as i64),
            RawValue::Float(float) => self.numbers.push(i64::from(float.to_bits())),
            RawValue::Zoned(number, zone) => {
                self.numbers.push(number);
                self.zones.push(i64::from(zone));
            }
            RawValue::Text(text) => self.strings.push(text),
            RawValue::Encoded(bytes) => {
                self.strings.push(bytes);
                self.is_mixed |= self.shape != Shape::Other;
            }
        }
    }

    /// Rows from the next one up to this one are NULL.
    fn note_nulls(&mut self, row: usize) {
        self.null_bits.resize(self.rows.div_ceil(8), 0);
        for null in self.next_row..row {
            self.null_bits[null / 8] |= 1 << (null % 8);
        }
    }

    /// Appends the column; says what compression must save to be worth it. `rows` are those that it was made of.
    pub(super) fn finish(
        mut self,
        format: &RecordFormat,
        slot: usize,
        rows: &EncodedRows,
        out: &mut Vec<u8>,
    ) -> Result<Worth, EncodeError> {
        if self.present == 0 {
            out.push(KIND_NULL);
            return Ok(Worth::Half);
        }
        let kind_at = out.len();
        out.push(0);
        let mut flags = 0;
        if self.present < self.rows {
            self.note_nulls(self.rows);
            out.extend_from_slice(&self.null_bits);
            flags = FLAG_NULL_BITS;
        }
        let mut worth = Worth::Half;
        let kind = match self.shape {
            _ if self.is_mixed => {
                worth = Worth::Eighth;
                encode_mixed(format, slot, rows, out)?
            }
            Shape::Boolean | Shape::Signed | Shape::Unsigned | Shape::Wide | Shape::Timestamp => {
                encode_numbers(&self.numbers, out)
            }
            Shape::Double => encode_doubles(&self.numbers, out),
            Shape::Float => {
                for number in &self.numbers {
                    out.extend_from_slice(&(*number as u32).to_le_bytes());
                }
                KIND_WORDS
            }
            Shape::TimeTz | Shape::TimestampTz => {
                packed::encode(&self.numbers, out);
                packed::encode(&self.zones, out);
                KIND_ZONED
            }
            Shape::Varchar | Shape::Char | Shape::Other => {
                worth = Worth::Eighth;
                if self.shape == Shape::Char {
                    flags |= FLAG_TRIMMED;
                }
                strings::encode(&self.strings, out)
            }
        };
        out[kind_at] = kind | flags;
        Ok(worth)
    }
}

/// Appends a column of which some values have no short form: all in value encoding.
fn encode_mixed(
    format: &RecordFormat,
    slot: usize,
    rows: &EncodedRows,
    out: &mut Vec<u8>,
) -> Result<u8, EncodeError> {
    let sql_type = format.columns().get(slot).unwrap_or(&SqlType::Null);
    let wanted = [u16::try_from(slot).map_err(|_| EncodeError::WrongType { column: slot })?];
    let mut encoded = EncodedRows::new();
    let mut values = Vec::new();
    for row in rows.iter() {
        values.clear();
        decode_row(format, row, &ColumnSet::Slots(&wanted), &mut values)
            .map_err(|_| EncodeError::NotEncoded)?;
        for value in values.iter().filter(|value| !value.is_null()) {
            encoded.push_with(|out| {
                encode_single(value, sql_type, out).ok_or(EncodeError::WrongType { column: slot })
            })?;
        }
    }
    Ok(strings::encode(&encoded.iter().collect::<Vec<_>>(), out))
}

/// A dictionary of numbers has at most so many.
const DIFFERENT_NUMBERS_MAX: usize = 256;
/// Places of the table in which they are looked for while it is made; a power of two.
const DICTIONARY_PLACES: usize = 4 * DIFFERENT_NUMBERS_MAX;
/// It is tried if they take more bits than this each otherwise: indexes alone take up to eight.
const BITS_WITHOUT_DICTIONARY: usize = 10;

/// Appends numbers; gives their kind.
fn encode_numbers(numbers: &[i64], out: &mut Vec<u8>) -> u8 {
    let start = out.len();
    packed::encode(numbers, out);
    let size = out.len() - start;
    if size * 8 <= numbers.len() * BITS_WITHOUT_DICTIONARY {
        encode_bounds(numbers, start, out);
        return KIND_NUMBERS;
    }
    let worth = different_numbers(numbers).filter(|(different, indexes)| {
        packed::encoded_size(different) + packed::encoded_size(indexes) < size - size / 8
    });
    let Some((different, indexes)) = worth else {
        encode_bounds(numbers, start, out);
        return KIND_NUMBERS;
    };
    out.truncate(start);
    put_varint(different.len() as u64, out);
    packed::encode(&different, out);
    packed::encode(&indexes, out);
    KIND_NUMBER_DICTIONARY
}

/// Of fewer numbers bounds are not told: they are decoded as soon.
const BOUNDED_MIN: usize = 256;

/// Appends the bounds of the numbers behind their list, which begins at `start`, unless that tells them.
fn encode_bounds(numbers: &[i64], start: usize, out: &mut Vec<u8>) {
    let (Some(least), Some(greatest)) = (numbers.iter().min(), numbers.iter().max()) else { return };
    let list = PackedNumbers::take(numbers.len(), &mut Reader::new(out.get(start..).unwrap_or_default()));
    let told = list.ok().and_then(|list| list.bounds_if_sound(numbers.len()));
    if numbers.len() >= BOUNDED_MIN && told != Some((*least, *greatest)) {
        put_signed(*least, out);
        put_varint(greatest.wrapping_sub(*least) as u64, out);
    }
}

/// The different ones of some numbers, and which of them each is; `None` if they are too many.
fn different_numbers(numbers: &[i64]) -> Option<(Vec<i64>, Vec<i64>)> {
    // Open addressing: places are indexes plus one, 0 is free. Never more than a quarter full.
    let mut places = [0u16; DICTIONARY_PLACES];
    let mut different: Vec<i64> = Vec::with_capacity(DIFFERENT_NUMBERS_MAX);
    let mut indexes = Vec::with_capacity(numbers.len());
    for number in numbers {
        // The golden ratio's multiples spread neighbours; the highest bits of them are the best.
        let hash = (*number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut place = (hash >> (u64::BITS - DICTIONARY_PLACES.trailing_zeros())) as usize;
        let index = loop {
            match places[place] {
                0 if different.len() == DIFFERENT_NUMBERS_MAX => return None,
                0 => {
                    different.push(*number);
                    places[place] = different.len() as u16;
                    break different.len() - 1;
                }
                taken if different[usize::from(taken) - 1] == *number => break usize::from(taken) - 1,
                _ => place = (place + 1) % DICTIONARY_PLACES,
            }
        };
        indexes.push(index as i64);
    }
    Some((different, indexes))
}

/// Appends doubles, given by their bits; gives their kind.
fn encode_doubles(bits: &[i64], out: &mut Vec<u8>) -> u8 {
    let doubles = || bits.iter().map(|bits| f64::from_bits(*bits as u64));
    if let Some(integers) = doubles().map(double_as_integer).collect::<Option<Vec<i64>>>() {
        return encode_numbers(&integers, out);
    }
    if let Some((digits, numbers)) = decimal_fractions(bits) {
        out.push(digits);
        packed::encode(&numbers, out);
        return KIND_FRACTIONS;
    }
    for bits in bits {
        out.extend_from_slice(&bits.to_le_bytes());
    }
    KIND_WORDS
}

/// The most digits after the point that are looked for.
pub(super) const FRACTION_DIGITS_MAX: u8 = 15;

/// By number of digits.
pub(super) const POWERS_OF_TEN: [f64; FRACTION_DIGITS_MAX as usize + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Doubles that somebody wrote as decimal fractions, and that a number and a power of ten give back to the bit: the fewest
/// digits that do for all of them, and the numbers.
fn decimal_fractions(bits: &[i64]) -> Option<(u8, Vec<i64>)> {
    let mut digits = 1;
    'more_digits: loop {
        let mut numbers = Vec::with_capacity(bits.len());
        for bits in bits {
            let double = f64::from_bits(*bits as u64);
            let power = POWERS_OF_TEN.get(usize::from(digits))?;
            match double_as_integer((double * power).round()) {
                Some(number) if (number as f64 / power).to_bits() == double.to_bits() => numbers.push(number),
                _ => {
                    digits += 1;
                    continue 'more_digits;
                }
            }
        }
        return Some((digits, numbers));
    }
}
