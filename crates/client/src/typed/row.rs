//! Rows as they came: views of a run of rows, of which nothing is decoded before it is asked for.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use farbird_types::{Result, Value};
use farbird_wire::message::{Mark, Message, RowRef, RowRun, WireValue};

use super::from_row::FromRow;
use super::from_value::{FromValue, sql_value};
use super::mismatch::unknown_column;
use crate::statement::Column;

/// Rows that came together, with what is known of their columns.
#[derive(Debug)]
pub(crate) struct RowBlock {
    run: RowRun,
    columns: Arc<[Column]>,
}

impl RowBlock {
    pub(crate) fn new(run: RowRun, columns: &Arc<[Column]>) -> Arc<RowBlock> {
        Arc::new(RowBlock { run, columns: Arc::clone(columns) })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.run.len()
    }

    /// The row at `index`, which must be below [`RowBlock::len`].
    #[inline]
    pub(crate) fn row(self: &Arc<RowBlock>, index: usize) -> Row {
        Arc::clone(self).into_row(index)
    }

    /// As [`RowBlock::row`], for the last one.
    #[inline]
    pub(crate) fn into_row(self: Arc<RowBlock>, index: usize) -> Row {
        Row { block: self, index, walked: AtomicU64::new(0) }
    }
}

/// One row of a query's result. Cheap to make and to clone; it keeps the rows that came with it (up to some 256 KiB) in
/// memory, so take out what is to be kept for long.
///
/// Columns are read in any order; from left to right is fastest.
pub struct Row {
    block: Arc<RowBlock>,
    index: usize,
    /// A [`Mark`]: up to where the row has been walked.
    walked: AtomicU64,
}

impl Row {
    /// The row that a message is.
    pub(crate) fn of_message(message: Message, columns: &Arc<[Column]>) -> Row {
        RowBlock::new(RowRun::from(message), columns).row(0)
    }

    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.block.columns.len()
    }

    /// Whether it has none. (Rows of SQL have at least one.)
    pub fn is_empty(&self) -> bool {
        self.block.columns.is_empty()
    }

    /// What is known of its columns.
    pub fn columns(&self) -> &[Column] {
        &self.block.columns
    }

    /// The value of a column, by position from 0 or by name.
    ///
    /// # Errors
    /// - `isc_convert_error` if the column is of another kind than what is wanted, or NULL where that is no `Option`;
    /// - `isc_arith_except` with `isc_numeric_out_of_range` for a number that is too large;
    /// - `isc_malformed_string` for a text that is not valid;
    /// - `isc_dsql_field_err` if there is no such column.
    ///
    /// All name the column, its type, and the type that was wanted.
    #[inline]
    pub fn get<'r, T: FromValue<'r>>(&'r self, column: impl ColumnIndex) -> Result<T> {
        let index = column.position(&self.block.columns)?;
        let value = self.wire_value(index).ok_or_else(|| unknown_column(&index.to_string()))?;
        T::from_value(value).map_err(|mismatch| match self.block.columns.get(index) {
            Some(column) => mismatch.error(column, value.kind(), type_name::<T>()),
            None => unknown_column(&index.to_string()),
        })
    }

    /// The value of a column, by position from 0 or by name, as an SQL value.
    ///
    /// # Errors
    /// `isc_dsql_field_err` if there is no such column.
    pub fn value(&self, column: impl ColumnIndex) -> Result<Value> {
        let index = column.position(&self.block.columns)?;
        self.wire_value(index).map(sql_value).ok_or_else(|| unknown_column(&index.to_string()))
    }

    /// Whether a column is NULL; `false` for a column that is not there.
    pub fn is_null(&self, column: impl ColumnIndex) -> bool {
        let index = column.position(&self.block.columns).ok();
        index.and_then(|index| self.wire_value(index)).is_some_and(|value| value.is_null())
    }

    /// All values in order.
    pub fn to_values(&self) -> Vec<Value> {
        self.view().map(|view| view.values().map(sql_value).collect()).unwrap_or_default()
    }

    /// The row as a tuple, a struct, or whatever else is made of rows.
    ///
    /// # Errors
    /// As [`Row::get`]; `isc_dsql_sqlda_err` if the number of columns is not that of the tuple.
    pub fn convert<'r, T: FromRow<'r>>(&'r self) -> Result<T> {
        T::from_row(self)
    }

    #[inline]
    fn view(&self) -> Option<RowRef<'_>> {
        self.block.run.row(self.index)
    }

    #[inline]
    fn wire_value(&self, index: usize) -> Option<WireValue<'_>> {
        let before = self.walked.load(Ordering::Relaxed);
        let mut mark = Mark::from_bits(before);
        let value = self.view()?.value_from(index, &mut mark);
        if mark.to_bits() != before {
            self.walked.store(mark.to_bits(), Ordering::Relaxed);
        }
        value
    }
}

impl Clone for Row {
    fn clone(&self) -> Row {
        self.block.row(self.index)
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.columns().iter().map(|column| &column.label);
        f.debug_map().entries(labels.zip(self.to_values())).finish()
    }
}

impl PartialEq for Row {
    /// Rows are equal if their values are, whatever their columns are called.
    fn eq(&self, other: &Row) -> bool {
        self.to_values() == other.to_values()
    }
}

impl PartialEq<Vec<Value>> for Row {
    fn eq(&self, other: &Vec<Value>) -> bool {
        self.to_values() == *other
    }
}

impl PartialEq<[Value]> for Row {
    fn eq(&self, other: &[Value]) -> bool {
        self.to_values() == other
    }
}

impl<const N: usize> PartialEq<[Value; N]> for Row {
    fn eq(&self, other: &[Value; N]) -> bool {
        self.to_values() == other
    }
}

impl From<Row> for Vec<Value> {
    fn from(row: Row) -> Vec<Value> {
        row.to_values()
    }
}

/// What names a column: its position from 0, or its name (the alias, if it has one). A name is looked for as it is
/// written, then without regard to case; of several columns of one name the first is meant.
pub trait ColumnIndex: sealed::Sealed {
    /// The position.
    ///
    /// # Errors
    /// `isc_dsql_field_err` if there is no such column.
    fn position(&self, columns: &[Column]) -> Result<usize>;
}

impl ColumnIndex for usize {
    #[inline]
    fn position(&self, _: &[Column]) -> Result<usize> {
        Ok(*self)
    }
}

impl ColumnIndex for &str {
    fn position(&self, columns: &[Column]) -> Result<usize> {
        let exactly = || columns.iter().position(|column| column.label == *self);
        let loosely = || columns.iter().position(|column| column.label.eq_ignore_ascii_case(self));
        exactly().or_else(loosely).ok_or_else(|| unknown_column(self))
    }
}

impl ColumnIndex for &String {
    fn position(&self, columns: &[Column]) -> Result<usize> {
        self.as_str().position(columns)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for usize {}
    impl Sealed for &str {}
    impl Sealed for &String {}
}
