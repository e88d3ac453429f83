//! Texts that are not kept beside the keys of sorted rows since the keys tell them.
//!
//! A key that begins with a column of texts in a binary order holds all of the text, so that rows take half of the memory, and of the
//! files, without it. A text that its key does not tell whole (with spaces at its end, or of another character set) is kept.

use std::sync::{Arc, OnceLock};

use farbird_session::Interrupt;
use farbird_types::collation::is_told_by_key;
use farbird_types::key::{KeyPart, TextsOfKeys};
use farbird_types::{CharacterSet, Error, Result, Value};
use farbird_vector::{Column, Vectors, truth};

use crate::batch::Batch;
use crate::keyed_columns::{HANDED_OUT_ROWS, KeyedColumns};
use crate::spill::Sorted;

/// So many bytes of keys are enough for texts that are made again at a time.
const TOLD_BYTES_MAX: usize = 1 << 20;

/// The column of which texts are left out.
#[derive(Debug, Clone)]
pub(crate) struct ToldTexts {
    position: usize,
    part: KeyPart,
    /// The character set of what was left out, whoever did it, if anything was.
    set: Arc<OnceLock<CharacterSet>>,
}

impl ToldTexts {
    /// For rows that are ordered by a column before all else and handed out with it: its place, and its part of the keys.
    pub(crate) fn of(position: usize, part: KeyPart) -> ToldTexts {
        ToldTexts { position, part, set: Arc::default() }
    }

    /// Leaves the texts of rows out as far as their keys tell them.
    pub(crate) fn leave_out(&self, rows: &mut Vectors) {
        let Some(Column::Values(values)) = rows.column(self.position) else { return };
        let set_if_told = |value: &Value| match value {
            Value::Text(text) => is_told_by_key(text, self.part.collation).then(|| text.character_set()),
            _ => None,
        };
        let Some(first) = values.iter().find_map(set_if_told) else { return };
        let set = *self.set.get_or_init(|| first);
        let is_told = |value: &Value| value.is_null() || set_if_told(value) == Some(set);
        let left = match values.iter().all(is_told) {
            // The smallest column of NULLs.
            true => Column::Truths(vec![truth::UNKNOWN; values.len()]),
            false => Column::Values(
                values.iter().map(|value| if is_told(value) { Value::Null } else { value.clone() }).collect(),
            ),
        };
        rows.put_column(self.position, left);
    }

    /// As [`Sorted::take`], with the texts that were left out.
    ///
    /// # Errors
    /// As [`Sorted::take`].
    pub(crate) fn take(
        &self,
        sorted: &mut Sorted<KeyedColumns>,
        rows_max: usize,
        wanted: &[bool],
        interrupt: &Interrupt,
    ) -> Result<Vectors> {
        let Some(set) = self.set.get() else {
            return sorted.take(rows_max, usize::MAX, wanted, interrupt, |_| {});
        };
        let mut texts = TextsOfKeys::new(self.part, *set);
        let mut told = Vec::new();
        let note = |key: &[u8]| told.push(texts.value_of(key));
        let mut rows = sorted.take(rows_max, TOLD_BYTES_MAX, wanted, interrupt, note)?;
        let mut values = Vec::with_capacity(told.len());
        for (row, told) in told.into_iter().enumerate() {
            let kept = rows.take_value(row, self.position);
            values.push(match (kept, told) {
                (Value::Null, Some(told)) => told,
                (Value::Null, None) => return Err(Error::internal("a key that does not tell its text")),
                (kept, _) => kept,
            });
        }
        rows.put_column(self.position, Column::Values(values));
        Ok(rows)
    }

    /// As [`Sorted::hand_out`], with the texts that were left out.
    ///
    /// # Errors
    /// As [`Sorted::take`].
    pub(crate) fn hand_out(
        &self,
        sorted: &mut Sorted<KeyedColumns>,
        wanted: &[bool],
        batch: &mut Batch,
        interrupt: &Interrupt,
    ) -> Result<()> {
        if self.set.get().is_none() {
            return sorted.hand_out(batch, interrupt);
        }
        while !batch.is_full() {
            let most = HANDED_OUT_ROWS.min(batch.limit() - batch.len());
            let mut rows = self.take(sorted, most, wanted, interrupt)?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in 0..rows.len() {
                batch.push((0..wanted.len()).map(|position| rows.take_value(row, position)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort_keys::SortKeys;
    use crate::spill::Sorter;
    use farbird_budget::{Account, Limits, Resource};
    use farbird_expression::Expression;
    use farbird_plan::SortKey;
    use farbird_types::{Collation, Text};

    /// The rows (a text, and the place at which it came) in order, as they are handed out; whether files were needed.
    fn sorted(texts: &[Value], part: KeyPart, statement_memory: u64) -> (Vec<(Value, i64)>, bool) {
        let (interrupt, account) =
            (Interrupt::new(), Account::server(Limits { statement_memory, ..Limits::default() }));
        let budget = account.statement();
        let told = ToldTexts::of(0, part);
        let mut sorter = Sorter::by_columns(false, usize::MAX, 1, &budget);
        for (number, part_of_texts) in texts.chunks(100).enumerate() {
            let mut keys = crate::sort_keys::KeyBytes::default();
            let mut values = Vec::new();
            for (row, text) in part_of_texts.iter().enumerate() {
                let mut key = Vec::new();
                farbird_types::key::encode_order_key(text, &part, &mut key).unwrap();
                keys.push(&key);
                values.extend([text.clone(), Value::integer((number * 100 + row) as i64)]);
            }
            let mut rows = Vectors::of_rows(part_of_texts.len(), &values, &[true, true]);
            told.leave_out(&mut rows);
            sorter.push_columns(rows, keys, &interrupt).unwrap();
        }
        let mut sorted = sorter.finish(&interrupt).unwrap();
        let spilled = budget.usage(Resource::Temporary).peak > 0;
        let mut found = Vec::new();
        let mut batch = Batch::new(2, 256);
        told.hand_out(&mut sorted, &[true, true], &mut batch, &interrupt).unwrap();
        for row in batch.rows() {
            let Value::Integer { unscaled, .. } = row[1] else { panic!("no number") };
            found.push((row[0].clone(), unscaled));
        }
        loop {
            let rows = told.take(&mut sorted, 1_000, &[true, true], &interrupt).unwrap();
            if rows.is_empty() {
                return (found, spilled);
            }
            for row in 0..rows.len() {
                let Value::Integer { unscaled, .. } = rows.value(row, 1) else { panic!("no number") };
                found.push((rows.value(row, 0), unscaled));
            }
        }
    }

    #[test]
    fn texts_come_back_as_they_were() {
        let part = |descending| KeyPart { collation: Collation(0), descending, ..KeyPart::default() };
        let text = |number: i64| match number % 11 {
            0 => Value::Null,
            1 => Value::text(&format!("{:05} with spaces at its end  ", number * 7_919 % 1_000)),
            2 => Value::Text(Text::new(number.to_string().as_bytes(), CharacterSet::NONE)),
            _ => Value::text(&format!("{:05} {}", number * 7_919 % 1_000, "text ".repeat(20).trim_end())),
        };
        // The character set of those that are left out is that of the first one.
        let texts: Vec<Value> = (3..4_000).map(text).collect();
        for descending in [false, true] {
            for memory in [u64::MAX, 200_000] {
                let (found, spilled) = sorted(&texts, part(descending), memory);
                assert_eq!(spilled, memory < u64::MAX);
                let mut expected: Vec<(Vec<u8>, Value, i64)> = (0..)
                    .zip(&texts)
                    .map(|(place, text)| {
                        let mut key = Vec::new();
                        farbird_types::key::encode_order_key(text, &part(descending), &mut key).unwrap();
                        (key, text.clone(), place)
                    })
                    .collect();
                expected.sort_by(|left, right| (&left.0, left.2).cmp(&(&right.0, right.2)));
                let expected: Vec<_> = expected.into_iter().map(|(_, text, place)| (text, place)).collect();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn texts_that_are_left_out_take_no_memory() {
        let mut rows = Vectors::of_rows(2, &[Value::text("long".repeat(100).as_str()), Value::Null], &[true]);
        ToldTexts::of(0, KeyPart::default()).leave_out(&mut rows);
        assert_eq!(crate::join_columns::bytes_of(&rows), 2);
    }

    #[test]
    fn only_a_column_that_comes_first_and_is_handed_out_is_left_out() {
        let key = |position| SortKey { value: Expression::Column(position), part: KeyPart::default() };
        let keys = SortKeys::of_order(&[key(1), key(0)]);
        assert_eq!(keys.first_column().map(|(position, _)| position), Some(1));
    }
}
