//! Keys of joins, computed for many rows at a time, in a form in which equal keys are equal: numbers as they are, all else as
//! bytes.

use std::hash::{BuildHasher, Hasher};

use farbird_plan::JoinKey;
use farbird_types::{Collation, Result, compare};
use farbird_vector::{Column, Unit, Vectors};

use crate::folded_hash::FoldedState;

/// Keys of rows, by the number of the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct JoinKeys {
    form: Form,
    /// Rows of which a part is NULL: they equal nothing.
    nulls: Vec<bool>,
}

#[derive(Debug, Clone)]
enum Form {
    /// Numbers of these units, so many for each row.
    Numbers(Vec<Unit>, Vec<i64>),
    /// Bytes, and where those of each row end.
    Bytes(Vec<u8>, Vec<usize>),
}

impl Default for Form {
    fn default() -> Form {
        Form::Numbers(Vec::new(), Vec::new())
    }
}

impl JoinKeys {
    /// The keys of so many rows, whose parts are computed.
    ///
    /// # Errors
    /// Internal ones.
    pub(crate) fn of(rows: usize, parts: &[Column<'_>], keys: &[JoinKey]) -> Result<JoinKeys> {
        let nulls = (0..rows).map(|row| parts.iter().any(|part| part.is_null(row))).collect();
        let numbers: Option<Vec<_>> = parts
            .iter()
            .map(|part| match part {
                Column::Numbers(numbers, unit) => Some((numbers, unit.narrowed())),
                _ => None,
            })
            .collect();
        if let Some(parts) = numbers.filter(|parts| !parts.is_empty()) {
            let mut words = Vec::with_capacity(rows * parts.len());
            match &*parts {
                [(numbers, _)] => words.extend((0..rows).map(|row| numbers.get(row).unwrap_or_default())),
                parts => {
                    for row in 0..rows {
                        words.extend(parts.iter().map(|(numbers, _)| numbers.get(row).unwrap_or_default()));
                    }
                }
            }
            let units = parts.iter().map(|(_, unit)| *unit).collect();
            return Ok(JoinKeys { form: Form::Numbers(units, words), nulls });
        }
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(rows);
        for row in 0..rows {
            for (part, key) in parts.iter().zip(keys) {
                compare::equality_key(&part.value(row)?, key.collation, &mut bytes);
            }
            ends.push(bytes.len());
        }
        Ok(JoinKeys { form: Form::Bytes(bytes, ends), nulls })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.nulls.len()
    }

    /// What they take in memory, in bytes, more or less.
    pub(crate) fn bytes(&self) -> usize {
        let ends = match &self.form {
            Form::Numbers(..) => 0,
            Form::Bytes(_, ends) => ends.len() * size_of::<usize>(),
        };
        self.form_bytes() + ends + self.nulls.len()
    }

    fn form_bytes(&self) -> usize {
        match &self.form {
            Form::Numbers(_, words) => words.len() * size_of::<i64>(),
            Form::Bytes(bytes, _) => bytes.len(),
        }
    }

    /// What [`JoinKeys::make_bytes`] takes for them, in bytes; nothing if they are bytes.
    pub(crate) fn bytes_to_make(&self) -> usize {
        match &self.form {
            Form::Numbers(units, _) => {
                self.len() * (units.iter().copied().map(key_bytes).sum::<usize>() + size_of::<usize>())
            }
            Form::Bytes(..) => 0,
        }
    }

    /// Whether a row equals nothing.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.get(row).is_none_or(|null| *null)
    }

    /// These keys without those that equal nothing, with their rows.
    pub(crate) fn without_nulls(self, rows: Vectors) -> (Vectors, JoinKeys) {
        if !self.nulls.contains(&true) {
            return (rows, self);
        }
        let places: Vec<u32> = (0..self.len() as u32).filter(|row| !self.is_null(*row as usize)).collect();
        let form = match &self.form {
            Form::Numbers(units, words) => {
                let words_of = |row: &u32| {
                    let start = *row as usize * units.len();
                    words.get(start..start + units.len()).unwrap_or_default()
                };
                Form::Numbers(units.clone(), places.iter().flat_map(words_of).copied().collect())
            }
            Form::Bytes(..) => {
                let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(places.len()));
                for row in &places {
                    bytes.extend_from_slice(self.bytes_of(*row as usize));
                    ends.push(bytes.len());
                }
                Form::Bytes(bytes, ends)
            }
        };
        (rows.gather(&places), JoinKeys { form, nulls: vec![false; places.len()] })
    }

    /// Whether other keys can be compared with these as they are.
    pub(crate) fn is_like(&self, other: &JoinKeys) -> bool {
        match (&self.form, &other.form) {
            (Form::Numbers(units, _), Form::Numbers(others, _)) => units == others,
            (Form::Bytes(..), Form::Bytes(..)) => true,
            _ => false,
        }
    }

    /// Numbers become bytes, which are comparable with any other key's; false if they are already.
    pub(crate) fn make_bytes(&mut self) -> bool {
        let Form::Numbers(units, words) = &self.form else { return false };
        let mut bytes = Vec::with_capacity(self.len() * units.iter().copied().map(key_bytes).sum::<usize>());
        let mut ends = Vec::with_capacity(self.len());
        for row in 0..self.len() {
            let words = words.get(row * units.len()..(row + 1) * units.len()).unwrap_or_default();
            for (unit, word) in units.iter().zip(words) {
                // Collations are about texts.
                compare::equality_key(&unit.value(*word), Collation(0), &mut bytes);
            }
            ends.push(bytes.len());
        }
        self.form = Form::Bytes(bytes, ends);
        true
    }

    /// The keys of parts, of the same form, one part after the other.
    pub(crate) fn of_parts(parts: Vec<JoinKeys>) -> JoinKeys {
        let rows: usize = parts.iter().map(JoinKeys::len).sum();
        let bytes: usize = parts.iter().map(JoinKeys::form_bytes).sum();
        let mut parts = parts.into_iter();
        let Some(mut whole) = parts.next() else { return JoinKeys::default() };
        whole.nulls.reserve_exact(rows - whole.nulls.len());
        match &mut whole.form {
            Form::Numbers(units, words) => words.reserve_exact(rows * units.len() - words.len()),
            Form::Bytes(own, ends) => {
                own.reserve_exact(bytes - own.len());
                ends.reserve_exact(rows - ends.len());
            }
        }
        parts.for_each(|part| whole.append(part));
        whole
    }

    /// Appends the keys of further rows, of the same form.
    fn append(&mut self, other: JoinKeys) {
        self.nulls.extend(other.nulls);
        match (&mut self.form, other.form) {
            (Form::Numbers(_, words), Form::Numbers(_, others)) => words.extend(others),
            (Form::Bytes(bytes, ends), Form::Bytes(others, of_others)) => {
                let start = bytes.len();
                bytes.extend(others);
                ends.extend(of_others.into_iter().map(|end| start + end));
            }
            _ => {}
        }
    }

    /// The hash of a row's key.
    #[inline]
    pub(crate) fn hash(&self, row: usize, state: FoldedState) -> u64 {
        let mut hasher = state.build_hasher();
        match &self.form {
            Form::Numbers(units, words) => match units.len() {
                1 => hasher.write_i64(words.get(row).copied().unwrap_or_default()),
                width => {
                    let words = words.get(row * width..(row + 1) * width).unwrap_or_default();
                    words.iter().for_each(|word| hasher.write_i64(*word));
                }
            },
            Form::Bytes(..) => hasher.write(self.bytes_of(row)),
        }
        hasher.finish()
    }

    /// Whether a row's key is that of another row, among keys of the same form.
    #[inline]
    pub(crate) fn is_equal(&self, row: usize, others: &JoinKeys, other: usize) -> bool {
        match (&self.form, &others.form) {
            (Form::Numbers(units, words), Form::Numbers(_, others)) => match units.len() {
                1 => words.get(row) == others.get(other),
                width => {
                    words.get(row * width..(row + 1) * width)
                        == others.get(other * width..(other + 1) * width)
                }
            },
            (Form::Bytes(..), Form::Bytes(..)) => self.bytes_of(row) == others.bytes_of(other),
            _ => false,
        }
    }

    /// The keys as numbers, where each is one.
    #[inline]
    pub(crate) fn single_numbers(&self) -> Option<&[i64]> {
        match &self.form {
            Form::Numbers(units, words) if units.len() == 1 => Some(words),
            _ => None,
        }
    }

    /// The numbers of one part of all keys that have one, with their unit.
    pub(crate) fn numbers(&self, part: usize) -> Option<(Unit, impl Iterator<Item = i64> + Clone)> {
        let Form::Numbers(units, words) = &self.form else { return None };
        let words = words.iter().skip(part).step_by(units.len().max(1)).zip(&self.nulls);
        Some((*units.get(part)?, words.filter(|(_, null)| !**null).map(|(word, _)| *word)))
    }

    fn bytes_of(&self, row: usize) -> &[u8] {
        let Form::Bytes(bytes, ends) = &self.form else { return &[] };
        let start = row.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        bytes.get(start..ends.get(row).copied().unwrap_or(start)).unwrap_or_default()
    }
}

/// The length of what [`compare::equality_key`] makes of a number.
fn key_bytes(unit: Unit) -> usize {
    match unit {
        Unit::Exact(_) | Unit::Wide(_) => 21,
        Unit::Date | Unit::Timestamp => 9,
        Unit::Time => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_as_long_as_is_said_before_they_are_made() {
        for unit in [Unit::Exact(-2), Unit::Wide(0), Unit::Date, Unit::Time, Unit::Timestamp] {
            for number in [0, 1, 1_000, 86_399_999] {
                let mut bytes = Vec::new();
                compare::equality_key(&unit.value(number), Collation(0), &mut bytes);
                assert_eq!(bytes.len(), key_bytes(unit), "{number} {unit:?}");
            }
        }
    }
}
