//! The operators' common face.

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_plan::Node;
use farbird_types::{Error, Result};
use farbird_vector::Vectors;

use crate::batch::Batch;
use crate::column_rows::ColumnRows;
use crate::key_filter::KeyFilter;
use crate::stage::Stage;

/// A running operator. Owns its state and borrows nothing.
pub(crate) trait Operator: Send {
    /// Starts, or starts again: registers and parameters may have changed since.
    ///
    /// # Errors
    /// Those of expressions evaluated at the start (bounds, limits).
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()>;

    /// Replaces the contents of `batch` by the next rows, as many as its limit says at most. False when there are no
    /// more (the batch is empty then); a batch may be short, but is never empty before the end.
    ///
    /// # Errors
    /// Those of the rows, after the rows before them: those are handed out by the call before. The operator is not used
    /// after an error.
    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool>;

    /// For the next opening, which comes after: rows whose value in a column is not among some keys, or NULL, are not wanted.
    /// They may be left out, if that changes nothing else, or come all the same.
    fn restrict(&mut self, _column: usize, _keys: &Arc<KeyFilter>) {}

    /// For the next opening, which comes after: no more than so many rows will be asked for.
    fn at_most(&mut self, _rows: usize) {}

    /// Rows may come in any order. Told before the first opening.
    fn any_order(&mut self) {}

    /// Passes over the next rows without making them, so many at most; gives how many those are. None, if it can only make them.
    ///
    /// # Errors
    /// As [`Operator::next`].
    fn skip(&mut self, _context: &mut ExecutionContext<'_>, _rows: usize) -> Result<usize> {
        Ok(0)
    }

    /// Whether it hands out rows by columns, when it is asked for them: by [`Operator::next_vectors`].
    fn has_vectors(&self) -> bool {
        false
    }

    /// Which columns are looked at, however rows are handed out; others may come as NULL. Told before the first opening.
    fn want(&mut self, _columns: &[bool]) {}

    /// As [`Operator::next`], by columns, about as many rows as `rows_max` at most; for operators that have them. Whoever
    /// begins so goes on so until the operator is opened again.
    ///
    /// # Errors
    /// As [`Operator::next`]; an internal one if it does not.
    fn next_vectors(
        &mut self,
        _context: &mut ExecutionContext<'_>,
        _rows_max: usize,
        _vectors: &mut Vectors,
    ) -> Result<bool> {
        Err(Error::internal("rows by columns of an operator that has none"))
    }

    /// What makes its rows for whoever takes all of them, if several threads can: asked for once it is open, instead of rows.
    fn stage(&mut self, _context: &mut ExecutionContext<'_>) -> Option<Box<dyn Stage>> {
        None
    }

    /// As [`Operator::next`] for the next rows by columns, about as many as `rows_max` at most, if they are at hand so.
    /// Whoever is told that they are not asks for them with [`Operator::next`]; both may be used in turns.
    ///
    /// # Errors
    /// As [`Operator::next`].
    fn next_columns(
        &mut self,
        _context: &mut ExecutionContext<'_>,
        _rows_max: usize,
        _rows: &mut ColumnRows,
    ) -> Result<ByColumns> {
        Ok(ByColumns::Unavailable)
    }
}

/// Makes the operators of a plan: what operators with inputs are handed to make those.
pub(crate) type Build = fn(&Node) -> Box<dyn Operator>;

/// What came of asking for rows by columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByColumns {
    /// The next rows come row by row.
    Unavailable,
    /// There are some.
    Rows,
    /// There are no more.
    End,
}

/// Makes an operator that fails in the middle of a batch hand out the rows before, and fail when it is asked again. The
/// operator leaves those rows, whole, in the batch.
pub(crate) struct RowsBeforeErrors<O> {
    operator: O,
    /// What the next call fails with.
    error: Option<Error>,
}

impl<O: Operator + 'static> RowsBeforeErrors<O> {
    pub(crate) fn of(operator: O) -> Box<dyn Operator> {
        Box::new(RowsBeforeErrors { operator, error: None })
    }
}

impl<O: Operator> Operator for RowsBeforeErrors<O> {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.error = None;
        self.operator.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        if let Some(error) = self.error.take() {
            batch.truncate(0);
            return Err(error);
        }
        match self.operator.next(context, batch) {
            Err(error) if !batch.is_empty() => {
                self.error = Some(error);
                Ok(true)
            }
            result => result,
        }
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        self.operator.restrict(column, keys);
    }

    fn at_most(&mut self, rows: usize) {
        self.operator.at_most(rows);
    }

    fn any_order(&mut self) {
        self.operator.any_order();
    }

    fn skip(&mut self, context: &mut ExecutionContext<'_>, rows: usize) -> Result<usize> {
        match self.error {
            Some(_) => Ok(0),
            None => self.operator.skip(context, rows),
        }
    }

    fn has_vectors(&self) -> bool {
        self.operator.has_vectors()
    }

    fn want(&mut self, columns: &[bool]) {
        self.operator.want(columns);
    }

    fn stage(&mut self, context: &mut ExecutionContext<'_>) -> Option<Box<dyn Stage>> {
        self.operator.stage(context)
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        self.operator.next_vectors(context, rows_max, vectors)
    }

    fn next_columns(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        rows: &mut ColumnRows,
    ) -> Result<ByColumns> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.operator.next_columns(context, rows_max, rows),
        }
    }
}
