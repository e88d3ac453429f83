//! Groups that have one key, a plain number: they are found by it, and no value is made of it before they are handed out. What an
//! aggregate with DISTINCT has seen of numbers is kept the same way ([`crate::distinct_set`]).
//!
//! A group takes some twenty bytes, so that a million of them fit where as many values with their texts would not.

use std::hash::{BuildHasher, Hasher};

use farbird_budget::{extend_within, room};
use farbird_session::Interrupt;
use farbird_types::{Result, Value};
use farbird_vector::Unit;

use crate::folded_hash::FoldedState;
use crate::ordering::sort_in_place;

/// No group, in the table of those that there are.
const NONE: u32 = u32::MAX;
/// The table has so many places at least: few, for a DISTINCT in each of many groups.
const PLACES_MIN: usize = 8;

/// Groups by the number that is their key, or by NULL.
pub(crate) struct NumberGroups {
    unit: Unit,
    /// The key of each group; that of the group of NULL means nothing.
    keys: Vec<i64>,
    null_group: Option<u32>,
    /// Groups at the places that hashes of their keys say, or behind those; a power of two, of which half are taken at most.
    places: Vec<u32>,
    state: FoldedState,
}

/// What a value is among numbers of a unit.
pub(crate) enum AmongNumbers {
    /// This number, or NULL.
    Key(Option<i64>),
    /// It is none of them: no number of that unit is equal to it.
    Other,
    /// Nobody can tell.
    Unknown,
}

impl NumberGroups {
    /// None, of numbers of a unit.
    pub(crate) fn new(unit: Unit) -> NumberGroups {
        let (keys, places) = (Vec::new(), Vec::new());
        NumberGroups { unit, keys, null_group: None, places, state: FoldedState::new() }
    }

    /// What the numbers stand for.
    pub(crate) fn unit(&self) -> Unit {
        self.unit
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The group of a key.
    #[inline]
    pub(crate) fn find(&self, key: Option<i64>) -> Option<u32> {
        let Some(key) = key else { return self.null_group };
        let mut place = self.first_place(key);
        loop {
            let group = *self.places.get(place)?;
            if group == NONE {
                return None;
            }
            if self.keys.get(group as usize) == Some(&key) && Some(group) != self.null_group {
                return Some(group);
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }

    /// How many bytes one more group takes, with what is needed to put all in order.
    pub(crate) fn room(&self) -> usize {
        let places = self.places_wanted() - self.places.len();
        (places + 1) * size_of::<u32>() + size_of::<(i64, u32)>() + room(&self.keys, 1) * size_of::<i64>()
    }

    /// Begins the next group, within [`NumberGroups::room`].
    pub(crate) fn push(&mut self, key: Option<i64>) {
        let group = self.len() as u32;
        let wanted = self.places_wanted();
        if wanted > self.places.len() {
            // The old places go before the new ones come: what they say is known from the keys.
            self.places = Vec::new();
            self.places = vec![NONE; wanted];
            (0..group).for_each(|group| self.take_place(group));
        }
        extend_within(&mut self.keys, 1, [key.unwrap_or_default()]);
        match key {
            Some(_) => self.take_place(group),
            None => self.null_group = Some(group),
        }
    }

    /// What a value is among the keys.
    pub(crate) fn number_of(&self, value: &Value) -> AmongNumbers {
        let exact = |unscaled: i128, scale: i8| match self.unit {
            Unit::Exact(wanted) | Unit::Wide(wanted) => rescaled(unscaled, scale, wanted)
                .map_or(AmongNumbers::Other, |key| AmongNumbers::Key(Some(key))),
            _ => AmongNumbers::Unknown,
        };
        match (value, self.unit) {
            (Value::Null, _) => AmongNumbers::Key(None),
            (Value::Integer { unscaled, scale }, _) => exact(i128::from(*unscaled), *scale),
            (Value::Int128 { unscaled, scale }, _) => exact(*unscaled, *scale),
            (Value::Date(date), Unit::Date) => AmongNumbers::Key(Some(i64::from(date.0))),
            (Value::Time(time), Unit::Time) => AmongNumbers::Key(Some(i64::from(time.0))),
            (Value::Timestamp(timestamp), Unit::Timestamp) => AmongNumbers::Key(Some(timestamp.ticks())),
            _ => AmongNumbers::Unknown,
        }
    }

    /// The key of a group as a value.
    pub(crate) fn value(&self, group: u32) -> Value {
        self.key(group).map_or(Value::Null, |key| self.unit.value(key))
    }

    /// The groups in the order of their keys, NULL first; so many threads may help. Nothing is found among them afterwards.
    ///
    /// # Errors
    /// The interrupt's.
    pub(crate) fn put_in_order(&mut self, helping: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
        self.places = Vec::new();
        let groups = (0..).zip(&self.keys).filter(|(group, _)| Some(*group) != self.null_group);
        // Keys lie beside their groups: to look for them elsewhere is what would take the time.
        let mut by_key: Vec<(i64, u32)> = groups.map(|(group, key)| (*key, group)).collect();
        sort_in_place(&mut by_key, |left, right| left.0.cmp(&right.0), helping, interrupt)?;
        Ok(self.null_group.into_iter().chain(by_key.into_iter().map(|(_, group)| group)).collect())
    }

    /// Gives up finding groups by their keys; how many bytes the keys take still.
    pub(crate) fn forget_places(&mut self) -> usize {
        self.places = Vec::new();
        self.keys.capacity() * size_of::<i64>()
    }

    fn key(&self, group: u32) -> Option<i64> {
        self.keys.get(group as usize).copied().filter(|_| Some(group) != self.null_group)
    }

    /// How many places there are when one more group has come.
    fn places_wanted(&self) -> usize {
        match 2 * (self.len() + 1) > self.places.len() {
            true => (2 * self.places.len()).max(PLACES_MIN),
            false => self.places.len(),
        }
    }

    fn first_place(&self, key: i64) -> usize {
        let mut hasher = self.state.build_hasher();
        hasher.write_i64(key);
        hasher.finish() as usize & self.places.len().wrapping_sub(1)
    }

    fn take_place(&mut self, group: u32) {
        let Some(key) = self.key(group) else { return };
        let mut place = self.first_place(key);
        while self.places.get(place).is_some_and(|taken| *taken != NONE) {
            place = (place + 1) & (self.places.len() - 1);
        }
        if let Some(free) = self.places.get_mut(place) {
            *free = group;
        }
    }
}

/// A number in another scale, if it is one of 64 bits there.
fn rescaled(unscaled: i128, scale: i8, wanted: i8) -> Option<i64> {
    let power = |exponent: i8| 10i128.checked_pow(exponent.unsigned_abs().into());
    let number = match i16::from(scale) - i16::from(wanted) {
        0 => unscaled,
        up @ 1.. => unscaled.checked_mul(power(i8::try_from(up).ok()?)?)?,
        down => {
            let power = power(i8::try_from(down).ok()?)?;
            (unscaled % power == 0).then_some(unscaled / power)?
        }
    };
    i64::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_their_numbers_and_come_in_order() {
        let mut groups = NumberGroups::new(Unit::Exact(0));
        let keys: Vec<Option<i64>> = [None, Some(i64::MIN), Some(0), Some(i64::MAX)]
            .into_iter()
            .chain((1..5_000).map(|number: i64| Some(number.wrapping_mul(7_919_777_777_777))))
            .rev()
            .collect();
        let mut charged = 0;
        for (number, key) in (0..).zip(&keys) {
            assert_eq!(groups.find(*key), None);
            charged += groups.room();
            groups.push(*key);
            assert_eq!(groups.find(*key), Some(number));
            let taken = groups.places.capacity() * 4 + groups.keys.capacity() * 8 + groups.len() * 8;
            assert!(taken <= charged, "{taken} of {charged}");
        }
        for (number, key) in (0..).zip(&keys) {
            assert_eq!(groups.find(*key), Some(number));
            assert_eq!(groups.value(number), key.map_or(Value::Null, Value::integer));
        }
        let order = groups.put_in_order(0, &Interrupt::new()).unwrap();
        let mut expected = keys.clone();
        expected.sort();
        assert_eq!(order.iter().map(|group| keys[*group as usize]).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn zero_and_null_are_two_groups() {
        for keys in [[None, Some(0)], [Some(0), None]] {
            let mut groups = NumberGroups::new(Unit::Date);
            groups.push(keys[0]);
            assert_eq!(groups.find(keys[1]), None);
            groups.push(keys[1]);
            assert_eq!((groups.find(keys[0]), groups.find(keys[1])), (Some(0), Some(1)));
        }
    }

    #[test]
    fn values_are_among_numbers_where_they_are_equal_to_one() {
        let cents = NumberGroups::new(Unit::Exact(-2));
        let key = |value: Value| match cents.number_of(&value) {
            AmongNumbers::Key(key) => Ok(key),
            AmongNumbers::Other => Err("other"),
            AmongNumbers::Unknown => Err("unknown"),
        };
        let exact = |unscaled, scale| Value::Integer { unscaled, scale };
        let wide = |unscaled, scale| Value::Int128 { unscaled, scale };
        assert_eq!(key(Value::Null), Ok(None));
        assert_eq!(key(exact(5, -2)), Ok(Some(5)));
        assert_eq!(key(exact(5, 0)), Ok(Some(500)));
        assert_eq!(key(wide(-50, -3)), Ok(Some(-5)));
        assert_eq!(key(wide(51, -3)), Err("other"));
        assert_eq!(key(wide(i128::MAX, -2)), Err("other"));
        assert_eq!(key(wide(i128::MAX, 0)), Err("other"));
        assert_eq!(key(exact(i64::MAX, -1)), Err("other"));
        assert_eq!(key(Value::Double(5.0)), Err("unknown"));
        assert_eq!(key(Value::text("5")), Err("unknown"));
    }
}
