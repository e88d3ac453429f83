//! Scrollable cursors: rows that have been passed are kept, to be gone back to.

use std::borrow::Cow;
use std::sync::Arc;

use farbird_types::{Result, Value};

use crate::api::Scroll;
use crate::budget::StatementBudget;
use crate::execute::RowBuffer;

/// The rows that a scrollable cursor has passed, and where it stands.
pub(super) struct ScrollBuffer {
    /// Each row's columns, and behind them what the cursor has to know of the row.
    pub(super) rows: RowBuffer,
    /// 0 before the first row, 1 on the first.
    pub(super) position: usize,
    pub(super) complete: bool,
}

impl ScrollBuffer {
    /// A cursor that has not been moved yet.
    pub(super) fn new(budget: &Arc<StatementBudget>) -> ScrollBuffer {
        ScrollBuffer { rows: RowBuffer::new(budget), position: 0, complete: false }
    }

    /// Goes to a row, reading as far ahead as that takes.
    pub(super) fn go(
        &mut self,
        to: Scroll,
        mut next: impl FnMut() -> Result<Option<Vec<Value>>>,
    ) -> Result<Option<Vec<Value>>> {
        let current = i64::try_from(self.position).unwrap_or(i64::MAX);
        let target = match to {
            Scroll::Next => current.saturating_add(1),
            Scroll::Prior => current - 1,
            Scroll::First => 1,
            Scroll::Relative(distance) => current.saturating_add(distance),
            Scroll::Absolute(position) if position >= 0 => position,
            Scroll::Last | Scroll::Absolute(_) => {
                self.read_until(usize::MAX, &mut next)?;
                let count = i64::try_from(self.rows.row_count()).unwrap_or(i64::MAX);
                if let Scroll::Absolute(position) = to {
                    count.saturating_add(position).saturating_add(1)
                } else {
                    count
                }
            }
        };
        let target = usize::try_from(target.max(0)).unwrap_or(usize::MAX);
        self.read_until(target, &mut next)?;
        self.position = target.min(self.rows.row_count() + 1);
        let Some(index) = self.position.checked_sub(1) else { return Ok(None) };
        Ok(self.rows.get(index)?.map(Cow::into_owned))
    }

    fn read_until(
        &mut self,
        position: usize,
        next: &mut impl FnMut() -> Result<Option<Vec<Value>>>,
    ) -> Result<()> {
        while self.rows.row_count() < position && !self.complete {
            match next()? {
                None => self.complete = true,
                Some(row) => self.rows.push(row)?,
            }
        }
        Ok(())
    }
}
