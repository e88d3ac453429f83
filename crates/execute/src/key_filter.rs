//! What the inner side of a join knows of the keys that can have a partner there: whoever reads the outer side leaves out
//! rows without one before it makes them, and row blocks in which there is none.
//!
//! A filter may let keys through that have no partner; it never holds one back that has. Of whole numbers, decimals and dates
//! only: each of them is one number.

use farbird_budget::Reservation;
use farbird_types::{SqlType, Value};
use farbird_vector::Unit;

/// Numbers as far apart as this for each of them are kept as bits, which say exactly which are there.
const SPREAD_MAX: u64 = 64;
/// Bits that are kept even if there are few numbers.
const BITS_MIN: u64 = 1 << 16;
/// Bits for each number of those that are too far apart, which are hashed.
const HASHED_BITS: u64 = 16;
/// Most bits: 8 MiB of them.
const BITS_MAX: u64 = 1 << 26;
/// Most keys that are kept themselves beside the bits: an index may be asked for their rows.
const KEPT_MAX: u64 = 1 << 14;

/// The keys of one side of a join.
#[derive(Debug)]
pub struct KeyFilter {
    unit: Option<Unit>,
    least: i64,
    greatest: i64,
    bits: Vec<u64>,
    /// Whether bits stand for numbers from `least` on, rather than for hashes.
    is_exact: bool,
    /// The numbers themselves, in any order, if they are few and somebody looks them up.
    kept: Option<Vec<i64>>,
    /// What it is charged to.
    _memory: Reservation,
}

impl KeyFilter {
    /// The filter of some keys, and whether it keeps those themselves if they are few; nothing if they are of a kind that has none, or
    /// if there is no memory for it.
    pub(crate) fn of<'v>(
        keys: impl Iterator<Item = &'v Value> + Clone,
        keeps: bool,
        memory: Reservation,
    ) -> Option<KeyFilter> {
        let mut unit = None;
        for key in keys.clone().filter(|key| !key.is_null()) {
            let (of_key, _) = number_of(key)?;
            if unit.is_some_and(|unit| unit != of_key) {
                return None;
            }
            unit = Some(of_key);
        }
        KeyFilter::of_numbers(unit, keys.filter_map(number_of).map(|(_, number)| number), keeps, memory)
    }

    /// The filter of keys that are numbers of a unit; of none, if there is no unit.
    pub(crate) fn of_numbers(
        unit: Option<Unit>,
        numbers: impl Iterator<Item = i64> + Clone,
        keeps: bool,
        mut memory: Reservation,
    ) -> Option<KeyFilter> {
        if !matches!(unit, None | Some(Unit::Exact(_) | Unit::Date)) {
            return None;
        }
        let (mut least, mut greatest, mut count) = (i64::MAX, i64::MIN, 0u64);
        for number in numbers.clone() {
            (least, greatest) = (least.min(number), greatest.max(number));
            count += 1;
        }
        let spread = if count == 0 { 0 } else { greatest.abs_diff(least) };
        let is_exact = spread < BITS_MIN.max(count.saturating_mul(SPREAD_MAX)).min(BITS_MAX);
        let wanted = match is_exact {
            true => spread + 1,
            false => (count.saturating_mul(HASHED_BITS)).next_power_of_two().clamp(BITS_MIN, BITS_MAX),
        };
        let words = usize::try_from(wanted.div_ceil(64)).ok()?;
        if !memory.try_grow(words * size_of::<u64>()) {
            return None;
        }
        let is_kept = keeps && count <= KEPT_MAX && memory.try_grow(count as usize * size_of::<i64>());
        let kept = is_kept.then(|| numbers.clone().collect());
        let bits = vec![0; words];
        let mut filter = KeyFilter { unit, least, greatest, bits, is_exact, kept, _memory: memory };
        for number in numbers {
            let bit = filter.bit_of(number);
            if let Some(word) = filter.bits.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
        }
        Some(filter)
    }

    /// Whether it says something about the numbers ([`farbird_record::ColumnValues::Numbers`]) of a column of this type.
    pub(crate) fn is_about(&self, sql_type: &SqlType) -> bool {
        match (self.unit, sql_type) {
            (None, _) => true,
            (Some(Unit::Exact(scale)), SqlType::Exact { scale: of_column, .. }) => scale == *of_column,
            (Some(Unit::Date), SqlType::Date) => true,
            _ => false,
        }
    }

    /// The keys, in any order, some of them more than once; `None` if they are more than so many, or than are kept.
    pub(crate) fn few(&self, keys_max: usize) -> Option<&[i64]> {
        self.kept.as_deref().filter(|kept| kept.len() <= keys_max)
    }

    /// Whether a number may be among the keys.
    #[inline]
    pub(crate) fn may_have(&self, number: i64) -> bool {
        if number < self.least || number > self.greatest {
            return false;
        }
        let bit = self.bit_of(number);
        self.bits.get((bit / 64) as usize).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    /// Whether any number from `low` to `high` may be among the keys.
    pub(crate) fn may_have_between(&self, low: i64, high: i64) -> bool {
        let (low, high) = (low.max(self.least), high.min(self.greatest));
        if low > high {
            return false;
        }
        if !self.is_exact {
            return true;
        }
        let (first, last) = (self.bit_of(low), self.bit_of(high));
        let (first_word, last_word) = ((first / 64) as usize, (last / 64) as usize);
        self.bits.get(first_word..=last_word).is_none_or(|words| {
            words.iter().enumerate().any(|(place, word)| {
                let mut word = *word;
                if place == 0 {
                    word &= u64::MAX << (first % 64);
                }
                if first_word + place == last_word {
                    word &= u64::MAX >> (63 - last % 64);
                }
                word != 0
            })
        })
    }

    #[inline]
    fn bit_of(&self, number: i64) -> u64 {
        if self.is_exact {
            return number.wrapping_sub(self.least) as u64;
        }
        // The golden ratio's multiples spread neighbours; the highest bits of them are the best.
        let hash = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bits = (self.bits.len() as u64) * 64;
        hash >> (64 - bits.trailing_zeros())
    }
}

/// A key as a number; nothing if it is of another kind.
fn number_of(key: &Value) -> Option<(Unit, i64)> {
    match key {
        Value::Integer { unscaled, scale } => Some((Unit::Exact(*scale), *unscaled)),
        Value::Date(date) => Some((Unit::Date, i64::from(date.0))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_budget::StatementBudget;

    fn filter(numbers: &[i64]) -> KeyFilter {
        let values: Vec<Value> = numbers.iter().map(|number| Value::integer(*number)).collect();
        KeyFilter::of(values.iter(), true, StatementBudget::alone().reserve()).unwrap()
    }

    #[test]
    fn near_numbers_are_told_apart() {
        let filter = filter(&[-3, 5, 64, 1_000]);
        let found: Vec<i64> = (-10..2_000).filter(|number| filter.may_have(*number)).collect();
        assert_eq!(found, [-3, 5, 64, 1_000]);
        for low in -10..1_010 {
            for length in [0, 1, 60, 64, 130] {
                let high = low + length;
                let expected = [-3, 5, 64, 1_000].iter().any(|number| (low..=high).contains(number));
                assert_eq!(filter.may_have_between(low, high), expected, "{low} to {high}");
            }
        }
    }

    #[test]
    fn far_numbers_are_let_through_and_few_others() {
        let numbers: Vec<i64> =
            (0..10_000i64).map(|number| number.wrapping_mul(922_337_203_685_477)).collect();
        let filter = filter(&numbers);
        assert!(numbers.iter().all(|number| filter.may_have(*number)));
        let others =
            (0..10_000i64).filter(|number| filter.may_have(number * 922_337_203_685_477 + 1)).count();
        assert!(others < 2_000, "{others}");
        assert!(filter.may_have(i64::MAX) || !numbers.contains(&i64::MAX));
    }

    #[test]
    fn keys_of_several_kinds_have_no_filter() {
        let values = [Value::integer(1), Value::Double(1.0)];
        assert!(KeyFilter::of(values.iter(), true, StatementBudget::alone().reserve()).is_none());
    }

    #[test]
    fn few_keys_are_known_themselves() {
        assert_eq!(filter(&[7, -3, 7]).few(3), Some(&[7, -3, 7][..]));
        assert_eq!(filter(&[7, -3, 7]).few(2), None);
        assert_eq!(filter(&(0..20_000).collect::<Vec<i64>>()).few(usize::MAX), None);
    }

    #[test]
    fn nothing_is_among_no_keys() {
        let values = [Value::Null];
        let filter = KeyFilter::of(values.iter(), true, StatementBudget::alone().reserve()).unwrap();
        assert!(!filter.may_have(0) && !filter.may_have_between(i64::MIN, i64::MAX));
    }
}
