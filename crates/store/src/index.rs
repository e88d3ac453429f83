//! Index scans.

use std::sync::Arc;

use farbird_types::{Text, Value};

use crate::{IndexId, Projection, ReadView, RelationLayout, Result, RowBatch, Transaction};

/// One end of a range of keys: values for the first parts of the index, in the types of its columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum KeyBound {
    /// No bound.
    #[default]
    Unbounded,
    /// Keys that begin with these values belong to the range.
    Included(Vec<Value>),
    /// Keys that begin with these values do not.
    Excluded(Vec<Value>),
}

/// A range of keys. "Lower" and "upper" are in the order of the values, also for descending indexes; NULL is the lowest value, so a
/// range that shall not contain NULLs needs the bound `Excluded(NULL)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyRange {
    /// The lower end.
    pub lower: KeyBound,
    /// The upper end.
    pub upper: KeyBound,
    /// STARTING WITH: after the values of `lower` (which must be `Included` and equal to `upper`, or both unbounded),
    /// the next part is a text that starts with this.
    pub starting_with: Option<Text>,
}

impl KeyRange {
    /// All keys.
    pub fn all() -> KeyRange {
        KeyRange::default()
    }

    /// Keys that begin with these values; NULL stands for IS NULL.
    pub fn equal(values: Vec<Value>) -> KeyRange {
        KeyRange { lower: KeyBound::Included(values.clone()), upper: KeyBound::Included(values), starting_with: None }
    }

    /// Keys that begin with these values and go on with a text that starts with `prefix`.
    pub fn starting_with(values: Vec<Value>, prefix: Text) -> KeyRange {
        KeyRange { starting_with: Some(prefix), ..KeyRange::equal(values) }
    }
}

/// Which way an index is walked: in the order of the values, or against it. A descending index serves both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ScanDirection {
    /// From the lowest value (NULL first).
    #[default]
    Ascending,
    /// From the highest value (NULL last).
    Descending,
}

/// A scan of an index in key order. A value: between batches it holds nothing but its place.
///
/// Each visible row whose key is in the range comes once.
#[derive(Debug, Clone)]
pub struct IndexScan {
    layout: Arc<RelationLayout>,
    index: IndexId,
    range: KeyRange,
    direction: ScanDirection,
    view: ReadView,
    columns: Projection,
}

impl IndexScan {
    /// A scan of the rows that `view` sees, before the first one.
    ///
    /// # Errors
    /// If the layout has no such index, or a bound cannot be a key.
    pub fn new(
        layout: Arc<RelationLayout>,
        index: IndexId,
        range: KeyRange,
        direction: ScanDirection,
        view: ReadView,
        columns: Projection,
    ) -> Result<IndexScan> {
        Ok(IndexScan { layout, index, range, direction, view, columns })
    }

    /// As [`crate::RelationScan::next_batch`], in key order.
    pub fn next_batch(&mut self, transaction: &Transaction, rows_max: usize, batch: &mut RowBatch) -> Result<bool> {
        let _ = (transaction, rows_max, batch, &self.layout, &self.view, &self.columns);
        let _ = (self.index, &self.range, self.direction);
        unimplemented!()
    }

    /// Goes back before the first row.
    pub fn rewind(&mut self) {}
}
