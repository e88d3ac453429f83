//! Batches of rows: what operators exchange.
//!
//! Values lie row after row in one vector, so a batch that is reused costs no allocation per row.

use farbird_budget::heap_bytes;
use farbird_store::RowId;
use farbird_types::{Result, Value};

/// Most rows of a batch.
pub(crate) const BATCH_ROWS_MAX: usize = 256;

/// With so many bytes of texts a batch is full, however few its rows: they may be long.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Rows of the first batch of a cursor: small, so that the first rows come soon.
pub(crate) const BATCH_ROWS_FIRST: usize = 16;

/// Rows of equal width. Operators fill it up to its limit and may stop earlier.
#[derive(Debug, Clone)]
pub struct Batch {
    values: Vec<Value>,
    width: usize,
    rows: usize,
    limit: usize,
    /// What the texts take that were put in since it was empty.
    text_bytes: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Batch::new(0, BATCH_ROWS_MAX)
    }
}

impl Batch {
    /// An empty batch of rows of `width` values that is full at `limit` rows.
    pub fn new(width: usize, limit: usize) -> Batch {
        Batch { values: Vec::new(), width, rows: 0, limit: limit.max(1), text_bytes: 0 }
    }

    /// Empties it and sets the width of its rows.
    pub fn reset(&mut self, width: usize) {
        self.values.clear();
        self.rows = 0;
        self.text_bytes = 0;
        self.width = width;
    }

    /// How many rows it should get at most.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Changes how many rows it should get at most.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.clamp(1, BATCH_ROWS_MAX);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether it has as many rows as it should get.
    pub fn is_full(&self) -> bool {
        self.rows >= self.limit || self.text_bytes >= TEXT_BYTES_MAX
    }

    /// What the texts take that were put in since it was empty, in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Values per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The row at `index`; empty past the end.
    pub fn row(&self, index: usize) -> &[Value] {
        let start = index * self.width;
        self.values.get(start..start + self.width).unwrap_or_default()
    }

    /// The values of all rows, one after the other.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.rows).map(|index| self.row(index))
    }

    /// Appends a row. Missing values are NULL, surplus ones are dropped.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        let start = self.values.len();
        self.values.extend(row.into_iter().take(self.width));
        self.count_texts(start);
        self.values.resize(start + self.width, Value::Null);
        self.rows += 1;
    }

    /// Appends a row whose values may fail to be made; nothing is appended then.
    pub fn try_push(&mut self, row: impl IntoIterator<Item = Result<Value>>) -> Result<()> {
        let start = self.values.len();
        for value in row.into_iter().take(self.width) {
            match value {
                Ok(value) => self.values.push(value),
                Err(error) => {
                    self.values.truncate(start);
                    return Err(error);
                }
            }
        }
        self.count_texts(start);
        self.values.resize(start + self.width, Value::Null);
        self.rows += 1;
        Ok(())
    }

    /// Appends a row whose values `make` appends, if it makes one; whether it did. Nothing is appended if it fails.
    pub(crate) fn push_made(&mut self, make: impl FnOnce(&mut Vec<Value>) -> Result<bool>) -> Result<bool> {
        let start = self.values.len();
        let made = make(&mut self.values);
        let is_made = matches!(made, Ok(true));
        let rows = usize::from(is_made);
        self.values.resize(start + rows * self.width, Value::Null);
        self.count_texts(start);
        self.rows += rows;
        made
    }

    fn count_texts(&mut self, start: usize) {
        self.text_bytes += self.values.get(start..).unwrap_or_default().iter().map(heap_bytes).sum::<usize>();
    }

    /// Appends so many rows that `fill` appends to the values, one after the other. Nothing is appended if it fails.
    pub(crate) fn extend(
        &mut self,
        rows: usize,
        fill: impl FnOnce(&mut Vec<Value>) -> Result<()>,
    ) -> Result<()> {
        let start = self.values.len();
        let filled = fill(&mut self.values);
        let rows = if filled.is_ok() { rows } else { 0 };
        self.values.resize(start + rows * self.width, Value::Null);
        self.rows += rows;
        filled
    }

    /// The row at `index`, to be changed; empty past the end.
    pub(crate) fn row_mut(&mut self, index: usize) -> &mut [Value] {
        let start = index * self.width;
        self.values.get_mut(start..start + self.width).unwrap_or_default()
    }

    /// Takes the row at `index` out; its values are NULL afterwards.
    pub fn take_row(&mut self, index: usize) -> Vec<Value> {
        self.drain_row(index).collect()
    }

    /// As [`Batch::take_row`], value by value.
    pub(crate) fn drain_row(&mut self, index: usize) -> impl Iterator<Item = Value> {
        self.row_mut(index).iter_mut().map(std::mem::take)
    }

    /// Keeps the rows for which `keep` is true, in order; if it fails, those before the row that it fails for.
    pub fn retain(&mut self, mut keep: impl FnMut(&[Value]) -> Result<bool>) -> Result<()> {
        let mut kept = 0;
        let mut result = Ok(());
        for index in 0..self.rows {
            let keeps = keep(self.row(index)).unwrap_or_else(|error| {
                result = Err(error);
                false
            });
            if result.is_err() {
                break;
            }
            if keeps {
                if kept != index {
                    for column in 0..self.width {
                        self.values.swap(kept * self.width + column, index * self.width + column);
                    }
                }
                kept += 1;
            }
        }
        self.truncate(kept);
        result
    }

    /// Drops the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        if rows == 0 {
            self.text_bytes = 0;
        }
        if rows < self.rows {
            self.rows = rows;
            self.values.truncate(rows * self.width);
        }
    }

    /// Drops the first `rows` rows.
    pub fn skip(&mut self, rows: usize) {
        let rows = rows.min(self.rows);
        self.values.drain(..rows * self.width);
        self.rows -= rows;
        if self.rows == 0 {
            self.text_bytes = 0;
        }
    }
}

/// A row's number as a value.
pub(crate) fn row_number(row: RowId) -> Value {
    Value::integer(i64::try_from(row.0).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(rows: &[[i64; 2]]) -> Batch {
        let mut batch = Batch::new(2, BATCH_ROWS_MAX);
        for row in rows {
            batch.push(row.iter().map(|value| Value::integer(*value)));
        }
        batch
    }

    #[test]
    fn retain_keeps_order() {
        let mut rows = batch(&[[1, 10], [2, 20], [3, 30]]);
        rows.retain(|row| Ok(row[0] != Value::integer(2))).unwrap();
        let left: Vec<_> = rows.rows().map(|row| row[1].clone()).collect();
        assert_eq!(left, [Value::integer(10), Value::integer(30)]);
    }

    #[test]
    fn a_few_rows_with_long_texts_fill_it() {
        let mut rows = Batch::new(1, BATCH_ROWS_MAX);
        let text = Value::text(&"x".repeat(300_000));
        while !rows.is_full() {
            rows.push([text.clone()]);
        }
        assert_eq!(rows.len(), 4);
        rows.reset(1);
        assert!(!rows.is_full());
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let mut rows = Batch::new(0, 10);
        rows.push([]);
        rows.push([]);
        assert_eq!(rows.len(), 2);
        rows.skip(1);
        assert_eq!(rows.rows().count(), 1);
    }
}
