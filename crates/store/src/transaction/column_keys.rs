//! Keys of an index made of columns, for many rows at a time.
//!
//! # Promise
//! The bytes are those of `IndexDefinition::append_key`.

use farbird_record::ColumnValues;
use farbird_types::SqlType;
use farbird_types::key::{KeyPart, encode_double_key, encode_key, encode_number_key};

use crate::column_batch::ColumnBatch;
use crate::layout::column_slots;
use crate::{IndexDefinition, Projection, Result, StoreError};

/// How the keys of an index are made of the columns of a batch.
#[derive(Debug)]
pub(super) struct ColumnKeys<'i> {
    index: &'i IndexDefinition,
    /// The columns, each once.
    slots: Vec<u16>,
    /// For each part its place among them, and how it is written.
    parts: Vec<(usize, KeyPart)>,
}

impl<'i> ColumnKeys<'i> {
    /// Those of an index that is made of nothing but columns, of all rows.
    pub(super) fn of(index: &'i IndexDefinition) -> Option<ColumnKeys<'i>> {
        let mut slots: Vec<u16> = Vec::new();
        let mut parts = Vec::new();
        for (position, slot) in column_slots(index)?.enumerate() {
            let known = slots.iter().position(|known| *known == slot);
            let place = known.unwrap_or(slots.len());
            if known.is_none() {
                slots.push(slot);
            }
            parts.push((place, index.key_part(position)?));
        }
        Some(ColumnKeys { index, slots, parts })
    }

    /// The columns that a batch must have.
    pub(super) fn projection(&self) -> Projection {
        Projection::of(self.slots.as_slice())
    }

    /// Calls `take` with the place of each row of a batch and its key.
    ///
    /// # Errors
    /// `KeyTooLong`; those of reading; those of `take`.
    pub(super) fn for_each(
        &self,
        batch: &mut ColumnBatch,
        mut take: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        batch.load(0..self.slots.len())?;
        let columns = self.parts.iter().map(|(place, part)| PartColumn::of(batch, *place, *part));
        let columns = columns.collect::<Option<Vec<PartColumn<'_>>>>().ok_or_else(missing)?;
        let mut key = Vec::new();
        for row in 0..batch.len() {
            key.clear();
            for column in &columns {
                column.append(row, &mut key)?;
            }
            self.index.check_length(key.len())?;
            take(row, &key)?;
        }
        Ok(())
    }
}

/// A batch without a column, or with one that is too short.
fn missing() -> StoreError {
    StoreError::corrupt("rows without a column of an index")
}

/// The column of a part of the key.
struct PartColumn<'b> {
    batch: &'b ColumnBatch,
    place: usize,
    part: KeyPart,
    values: &'b ColumnValues,
    /// Whether its numbers are written as they are.
    are_plain: bool,
}

impl<'b> PartColumn<'b> {
    fn of(batch: &'b ColumnBatch, place: usize, part: KeyPart) -> Option<PartColumn<'b>> {
        let are_plain =
            matches!(batch.column_type(place)?, SqlType::Exact { .. } | SqlType::Date | SqlType::Time);
        Some(PartColumn { batch, place, part, values: batch.column(place)?.values(), are_plain })
    }

    fn append(&self, row: usize, key: &mut Vec<u8>) -> Result<()> {
        let is_null = || self.batch.column(self.place).is_none_or(|column| column.nulls().is_null(row));
        match self.values {
            ColumnValues::Numbers(numbers) if self.are_plain => {
                let number = *numbers.get(row).ok_or_else(missing)?;
                encode_number_key((!is_null()).then_some(number), &self.part, key);
            }
            ColumnValues::Doubles(doubles) => {
                let number = *doubles.get(row).ok_or_else(missing)?;
                encode_double_key((!is_null()).then_some(number), &self.part, key);
            }
            ColumnValues::Values(values) => {
                encode_key(values.get(row).ok_or_else(missing)?, &self.part, key)?;
            }
            ColumnValues::Numbers(_) => {
                let value = self.batch.value(row, self.place).ok_or_else(missing)?;
                encode_key(&value, &self.part, key)?;
            }
        }
        Ok(())
    }
}
