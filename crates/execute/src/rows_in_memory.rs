//! What sorting asks of those who keep rows in memory: by rows (`keyed_rows`) or by columns (`keyed_columns`).

use farbird_session::Interrupt;
use farbird_types::{Result, Value};

use crate::batch::Batch;
use crate::row_stream::RowWriter;

/// Rows with keys, as they are kept in memory to be sorted.
pub(crate) trait RowsInMemory: Sized {
    /// No rows; if `unique`, of those to come with equal keys only the first will be wanted.
    fn none(unique: bool) -> Self;

    /// How many there are that have not been handed out.
    fn len(&self) -> usize;

    /// Orders the rows by key, with so many threads to help; those with equal keys stay in the order in which they came.
    ///
    /// # Errors
    /// The interrupt's; the rows are lost then.
    fn sort(&mut self, helping: usize, interrupt: &Interrupt) -> Result<()>;

    /// Of rows in order that have equal keys, only the first is kept.
    fn keep_first_of_equals(&mut self);

    /// Of rows in order, so many are kept.
    fn truncate(&mut self, rows: usize);

    /// The key of the next row.
    fn head_key(&self) -> Option<&[u8]>;

    /// The values of the next row, which are given away.
    fn take_head(&mut self) -> Vec<Value>;

    /// Writes the next row with its key.
    ///
    /// # Errors
    /// As [`RowWriter::push`].
    fn write_head(&self, run: &mut RowWriter) -> Result<()>;

    /// Goes on by so many rows at most; gives how many those are.
    fn advance(&mut self, rows: usize) -> usize;

    /// Appends the next rows to a batch until it is full.
    fn hand_out(&mut self, batch: &mut Batch);
}
