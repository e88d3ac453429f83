//! Rows on their way out as a scan has decoded them: by columns.
//!
//! For whoever hands on many rows of a table as they are: no row is made of them, and no value either where the columns
//! are plain numbers. A value: it holds no block and no snapshot.

use std::ops::Range;

use farbird_record::ColumnVector;
use farbird_store::ColumnBatch;
use farbird_types::{Result, SqlType, Value};

use crate::batch::row_number;

/// Rows by columns.
#[derive(Debug, Default)]
pub struct ColumnRows {
    batch: ColumnBatch,
    /// Places of the rows in the batch, ascending.
    places: Vec<u32>,
    /// Which columns of the batch the columns of the rows are; the one behind its last stands for the row's number.
    columns: Vec<usize>,
}

impl ColumnRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Where the rows stand in their columns, ascending.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// A column with its type. Rows are at [`ColumnRows::places`] of it.
    pub fn column(&self, index: usize) -> Option<(&SqlType, &ColumnVector)> {
        let position = *self.columns.get(index)?;
        Some((self.batch.column_type(position)?, self.batch.column(position)?))
    }

    /// Calls `take` with each of some rows, of `width` columns, as values.
    ///
    /// # Errors
    /// A column is damaged.
    pub fn for_each_row(
        &mut self,
        rows: Range<usize>,
        width: usize,
        mut take: impl FnMut(&[Value]),
    ) -> Result<()> {
        let places = self.places.get(rows).unwrap_or_default();
        let mut values = Vec::new();
        self.batch.read_rows(places, &mut values)?;
        let mut row = vec![Value::Null; width];
        for (place, values) in places.iter().zip(values.chunks_exact(self.batch.width().max(1))) {
            for (value, column) in row.iter_mut().zip(&self.columns) {
                *value = match values.get(*column) {
                    Some(value) => value.clone(),
                    None => self.number(*place),
                };
            }
            take(&row);
        }
        Ok(())
    }

    /// The value of a column, or the row's number, in the last row.
    pub fn last_value(&self, index: usize) -> Value {
        let (Some(place), Some(position)) = (self.places.last(), self.columns.get(index)) else {
            return Value::Null;
        };
        match *position < self.batch.width() {
            true => self.batch.value(*place as usize, *position).unwrap_or_default(),
            false => self.number(*place),
        }
    }

    fn number(&self, place: u32) -> Value {
        self.batch.row_id(place as usize).map_or(Value::Null, row_number)
    }

    /// Removes all rows; memory stays for the next ones.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.places.clear();
        self.columns.clear();
    }

    /// Takes the rows of a batch in exchange for what was here. The batch must be detached.
    pub(crate) fn exchange(&mut self, batch: &mut ColumnBatch, places: &mut Vec<u32>) {
        self.clear();
        std::mem::swap(&mut self.batch, batch);
        std::mem::swap(&mut self.places, places);
        self.columns.extend(0..=self.batch.width());
    }

    /// Changes the columns: each is one of those before.
    pub(crate) fn project(&mut self, columns: &[usize]) {
        // A column that does not exist stays none.
        let column = |index: &usize| self.columns.get(*index).copied().unwrap_or(usize::MAX);
        self.columns = columns.iter().map(column).collect();
    }

    /// Drops the rows from `rows` on.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.places.truncate(rows);
    }
}
