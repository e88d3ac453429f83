//! A statement's open cursor: where its rows come from, and how far it has come.

use std::sync::Arc;

use farbird_store::ReadView;
use farbird_types::{Error, Result, TimestampTz, Value, isc};

use crate::api::{FetchEnd, Rows, TransactionHandle};
use crate::attachment::scroll::ScrollBuffer;
use crate::execute::{BufferedRows, ByColumns, ColumnRows, Cursor};
use crate::expression::{ExecutionContext, Restart};
use crate::psql;
use crate::session::Deadline;

/// Rows to be fetched.
pub(super) struct OpenCursor {
    pub(super) transaction: TransactionHandle,
    pub(super) source: RowSource,
    /// The view that it was opened with.
    pub(super) view: ReadView,
    pub(super) now: TimestampTz,
    /// Row numbers of the row fetched last, in the order of the plan's: for WHERE CURRENT OF.
    pub(super) row_numbers: Vec<Value>,
    pub(super) scroll: Option<ScrollBuffer>,
    /// When its last row must have been fetched, until it has.
    pub(super) deadline: Option<Deadline>,
    /// Whether it has given a row, or has met its end: it cannot begin again.
    pub(super) has_given: bool,
    /// Of what the profiler is told of.
    pub(super) watch: Option<psql::Watch>,
}

/// How far a cursor has come in one run.
#[derive(Default)]
pub(super) struct Progress {
    /// Rows that it gave.
    pub(super) rows: u64,
    /// Whether it is at its end.
    pub(super) ended: bool,
}

pub(super) enum RowSource {
    Query(Box<Cursor>),
    /// With what it was called with.
    Routine(Box<psql::Execution>, Vec<Value>),
    Finished(BufferedRows),
}

impl OpenCursor {
    /// Goes back before the first row, with the context's view. `routine` is what the statement runs, if it is one.
    ///
    /// # Errors
    /// As opening it.
    pub(super) fn begin_again(
        &mut self,
        routine: Option<&psql::CompiledStatement>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        self.view = context.view.clone();
        self.scroll = self.scroll.take().map(|_| ScrollBuffer::new(&context.budget));
        match &mut self.source {
            RowSource::Query(cursor) => cursor.begin_again(context)?,
            RowSource::Routine(execution, inputs) => {
                let Some(compiled) = routine else { return Err(cursor_not_open()) };
                context.parameters.clone_from(inputs);
                **execution = psql::Execution::start(compiled, context)?;
            }
            RowSource::Finished(_) => {}
        }
        Ok(())
    }

    /// Appends the next rows of a query.
    pub(super) fn append_rows(
        &mut self,
        width: usize,
        rows_max: usize,
        context: &mut ExecutionContext<'_>,
        rows: &mut Rows,
        progress: &mut Progress,
    ) -> Result<FetchEnd> {
        let RowSource::Query(cursor) = &mut self.source else { return Err(cursor_not_open()) };
        let plan = Arc::clone(cursor.plan());
        for _ in 0..rows_max {
            context.check_interrupt()?;
            let Some(row) = cursor.next_mut(context)? else {
                progress.ended = true;
                return Ok(FetchEnd::EndOfCursor);
            };
            self.row_numbers.clear();
            self.row_numbers.extend(
                plan.row_numbers.iter().map(|column| row.get(column.position).cloned().unwrap_or_default()),
            );
            rows.take(row.get_mut(..width).unwrap_or_default());
            progress.rows += 1;
            context.restart = Restart::Never;
        }
        Ok(FetchEnd::MoreToCome)
    }

    /// How many rows of a query wait to be handed out row by row.
    pub(super) fn rows_at_hand(&self) -> usize {
        match &self.source {
            RowSource::Query(cursor) => cursor.rows_at_hand(),
            RowSource::Routine(..) | RowSource::Finished(_) => 0,
        }
    }

    /// The next rows of a query by columns, if they are at hand so.
    pub(super) fn next_columns(
        &mut self,
        rows_max: usize,
        context: &mut ExecutionContext<'_>,
        rows: &mut ColumnRows,
        progress: &mut Progress,
    ) -> Result<ByColumns> {
        let RowSource::Query(cursor) = &mut self.source else { return Ok(ByColumns::Unavailable) };
        let found = cursor.next_columns(context, rows_max, rows)?;
        match found {
            ByColumns::Unavailable => {}
            ByColumns::End => progress.ended = true,
            ByColumns::Rows => {
                progress.rows = rows.len() as u64;
                let numbers = cursor.plan().row_numbers.iter();
                self.row_numbers.clear();
                self.row_numbers.extend(numbers.map(|column| rows.last_value(column.position)));
            }
        }
        Ok(found)
    }

    /// The number of a relation's row that was fetched last.
    pub(super) fn row_number(&self, relation: &str) -> Option<&Value> {
        let RowSource::Query(cursor) = &self.source else { return None };
        let position = cursor.plan().row_numbers.iter().position(|column| column.relation == relation)?;
        self.row_numbers.get(position)
    }
}

/// The next row: its columns, and behind them the numbers of the rows that it was made of.
pub(super) fn next_row(
    source: &mut RowSource,
    width: usize,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<Vec<Value>>> {
    match source {
        RowSource::Query(cursor) => {
            let Some(mut row) = cursor.next_row(context)? else { return Ok(None) };
            let columns = &cursor.plan().row_numbers;
            let number = |position: usize| row.get(position).cloned().unwrap_or_default();
            let numbers: Vec<Value> = columns.iter().map(|column| number(column.position)).collect();
            row.truncate(width);
            row.extend(numbers);
            Ok(Some(row))
        }
        RowSource::Routine(execution, _) => execution.resume(context),
        RowSource::Finished(rows) => rows.next_row(),
    }
}

pub(super) fn cursor_not_open() -> Error {
    Error::new(isc::DSQL_ERROR)
        .and(isc::SQLERR)
        .with(-504)
        .and(isc::DSQL_CURSOR_ERR)
        .and(isc::CURSOR_NOT_OPEN)
}
