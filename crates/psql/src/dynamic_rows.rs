//! The rows of EXECUTE STATEMENT.

use farbird_execute::{BufferedRows, Cursor};
use farbird_expression::{ExecutionContext, ProcedureRows};
use farbird_types::{Error, Result, TimestampTz, Value, isc};

use crate::external_rows::ExternalRows;
use crate::watch::{Watch, within};

/// The rows of an executed text.
pub(super) struct DynamicRows {
    pub(super) source: RowSource,
    /// How many columns its rows must have.
    pub(super) targets: usize,
    /// Its CURRENT_TIMESTAMP.
    pub(super) started: TimestampTz,
    /// Of what the profiler is told of.
    pub(super) watch: Option<Watch>,
}

pub(super) enum RowSource {
    Query(Box<Cursor>, usize),
    Routine(Box<dyn ProcedureRows>),
    Rows(BufferedRows),
    /// The row of what has one without a cursor: a loop is not given it.
    Single(BufferedRows),
    External(Box<ExternalRows>),
    Apart(Box<dyn RowsApart>),
}

/// Rows of a text that is a world of its own: it runs in another transaction, which ends with it.
pub(super) trait RowsApart: Send {
    /// The next row.
    ///
    /// # Errors
    /// Those of the text, and of the end behind its last row.
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>>;

    /// Ends it before its last row.
    ///
    /// # Errors
    /// Those of the end.
    fn leave(&mut self, context: &mut ExecutionContext<'_>) -> Result<()>;
}

impl DynamicRows {
    /// The next row's columns. As in Firebird it is a row that does not fit the targets, not the text: errors of computing
    /// it come first.
    pub(super) fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let row = self.next_row(context)?;
        if let Some(row) = &row {
            check_columns(row.len(), self.targets)?;
        }
        Ok(row)
    }

    /// Ends what goes on beside the rows, if the loop over them is left.
    pub(super) fn leave(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        match &mut self.source {
            RowSource::Apart(rows) => rows.leave(context),
            _ => Ok(()),
        }
    }

    /// The rows as a loop gets them.
    pub(super) fn for_loop(mut self) -> DynamicRows {
        if let RowSource::Single(_) = self.source {
            self.source = RowSource::Rows(Vec::new().into());
        }
        self
    }

    fn next_row(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let DynamicRows { source, watch, started, .. } = self;
        at(*started, context, |context| {
            within(watch, context, |context| match source {
                RowSource::Query(cursor, width) => {
                    let Some(mut row) = cursor.next_row(context)? else { return Ok(None) };
                    row.truncate(*width);
                    Ok(Some(row))
                }
                RowSource::Routine(rows) => apart(context, |context| rows.next(context)),
                RowSource::Rows(rows) | RowSource::Single(rows) => rows.next_row(),
                RowSource::External(rows) => rows.next(context),
                RowSource::Apart(rows) => rows.next(context),
            })
        })
    }
}

pub(super) fn check_columns(columns: usize, expected: usize) -> Result<()> {
    if columns == expected { Ok(()) } else { Err(Error::new(isc::EDS_OUTPUT_PRM_MISMATCH)) }
}

/// Most EXECUTE STATEMENT that run within each other (Firebird: MAX_CALLBACKS).
const NESTED_MAX: u32 = 50;

/// Runs at another time, as a statement of its own within those that are running.
///
/// # Errors
/// `exec_sql_max_call_exceeded` if there are [`NESTED_MAX`] already.
pub(super) fn at<T>(
    now: TimestampTz,
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> Result<T>,
) -> Result<T> {
    if context.executed_texts >= NESTED_MAX {
        return Err(Error::new(isc::EXEC_SQL_MAX_CALL_EXCEEDED));
    }
    context.executed_texts += 1;
    let outer = std::mem::replace(&mut context.now, now);
    let result = context.uncounted(run);
    context.now = outer;
    context.executed_texts -= 1;
    result
}

/// Runs without the frames that called: the stack of an error inside a text begins with the text.
pub(super) fn apart<T>(
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> Result<T>,
) -> Result<T> {
    let callers = context.routine.call.take();
    let result = run(context);
    context.routine.call = callers;
    result
}
