//! The open cursors of a frame.

use std::borrow::Cow;

use farbird_execute::{Cursor, RowBuffer};
use farbird_expression::ExecutionContext;
use farbird_types::{Result, Value};

use crate::dynamic_rows::DynamicRows;
use crate::routine::Scroll;

/// An open cursor.
pub(super) struct OpenCursor {
    source: Source,
    /// The row that a dynamic statement or a scrollable cursor gave last.
    row: Vec<Value>,
    /// Whether it stands on a row.
    is_on_row: bool,
}

enum Source {
    Query(Box<Cursor>),
    Scrolling(Box<Cursor>, Passed),
    Dynamic(DynamicRows),
}

/// The rows that a scrollable cursor has read, and where it stands: 0 before the first.
struct Passed {
    rows: RowBuffer,
    position: usize,
    complete: bool,
}

impl OpenCursor {
    /// The rows of a query that is open.
    pub(super) fn query(cursor: Cursor, scroll: bool, context: &ExecutionContext<'_>) -> OpenCursor {
        let cursor = Box::new(cursor);
        let source =
            if scroll { Source::Scrolling(cursor, Passed::new(context)) } else { Source::Query(cursor) };
        OpenCursor { source, row: Vec::new(), is_on_row: false }
    }

    /// The rows of EXECUTE STATEMENT.
    pub(super) fn dynamic(rows: DynamicRows) -> OpenCursor {
        OpenCursor { source: Source::Dynamic(rows), row: Vec::new(), is_on_row: false }
    }

    /// Ends what goes on beside its rows, before it is closed.
    ///
    /// # Errors
    /// Those of the end of a transaction of its own.
    pub(super) fn leave(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        match &mut self.source {
            Source::Dynamic(rows) => rows.leave(context),
            Source::Query(_) | Source::Scrolling(..) => Ok(()),
        }
    }

    /// Whether it stands on a row: its fields can be read.
    pub(super) fn is_on_row(&self) -> bool {
        self.is_on_row
    }

    /// Moves it and gives its row; `None` before the first and after the last.
    pub(super) fn fetch(
        &mut self,
        scroll: &Scroll,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<&[Value]>> {
        self.is_on_row = false;
        let found = match &mut self.source {
            Source::Query(cursor) => {
                let row = cursor.next(context)?;
                self.is_on_row = row.is_some();
                return Ok(row);
            }
            Source::Scrolling(cursor, passed) => passed.go(cursor, scroll, context)?,
            Source::Dynamic(rows) => rows.next(context)?,
        };
        match found {
            Some(row) => {
                self.is_on_row = true;
                self.row = row;
                Ok(Some(&self.row))
            }
            None => Ok(None),
        }
    }
}

impl Passed {
    fn new(context: &ExecutionContext<'_>) -> Passed {
        Passed { rows: RowBuffer::new(&context.budget), position: 0, complete: false }
    }

    fn go(
        &mut self,
        cursor: &mut Cursor,
        scroll: &Scroll,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let current = i64::try_from(self.position).unwrap_or(i64::MAX);
        let target = match scroll {
            Scroll::Next => current.saturating_add(1),
            Scroll::Prior => current - 1,
            Scroll::First => 1,
            Scroll::Last => self.count(cursor, context)?,
            Scroll::Relative(distance) => current.saturating_add(whole(distance.evaluate(context)?)),
            Scroll::Absolute(position) => match whole(position.evaluate(context)?) {
                position @ 0.. => position,
                from_end => self.count(cursor, context)?.saturating_add(from_end).saturating_add(1),
            },
        };
        let target = usize::try_from(target.max(0)).unwrap_or(usize::MAX);
        self.read_until(target, cursor, context)?;
        self.position = target.min(self.rows.row_count() + 1);
        let Some(index) = self.position.checked_sub(1) else { return Ok(None) };
        Ok(self.rows.get(index)?.map(Cow::into_owned))
    }

    fn count(&mut self, cursor: &mut Cursor, context: &mut ExecutionContext<'_>) -> Result<i64> {
        self.read_until(usize::MAX, cursor, context)?;
        Ok(i64::try_from(self.rows.row_count()).unwrap_or(i64::MAX))
    }

    fn read_until(
        &mut self,
        position: usize,
        cursor: &mut Cursor,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        while self.rows.row_count() < position && !self.complete {
            match cursor.next_row(context)? {
                None => self.complete = true,
                Some(row) => self.rows.push(row)?,
            }
        }
        Ok(())
    }
}

/// A position or distance; 0 for NULL.
fn whole(value: Value) -> i64 {
    match value {
        Value::Integer { unscaled, .. } => unscaled,
        _ => 0,
    }
}
