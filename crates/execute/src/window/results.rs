//! The results of a call for the rows of a partition: as the rows themselves, in memory while there is room.

use std::sync::Arc;

use farbird_budget::StatementBudget;
use farbird_types::{Result, Value};

use crate::row_buffer::{BufferedRows, RowBuffer};

/// Results kept together, as if they were a row: one by one they would take more room than they are worth.
const RESULTS_TOGETHER: usize = 64;

/// Results, being computed.
pub(super) struct Results {
    full: RowBuffer,
    latest: Vec<Value>,
}

/// Results, being handed out.
pub(super) struct HandedOut {
    rest: BufferedRows,
    current: std::vec::IntoIter<Value>,
}

impl Results {
    pub(super) fn new(budget: &Arc<StatementBudget>) -> Results {
        Results { full: RowBuffer::new(budget), latest: Vec::new() }
    }

    /// Appends the result of the next row.
    ///
    /// # Errors
    /// Those of temporary files.
    pub(super) fn push(&mut self, result: Value) -> Result<()> {
        if self.latest.len() >= RESULTS_TOGETHER {
            self.full.push(std::mem::take(&mut self.latest))?;
        }
        self.latest.push(result);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.full.row_count() * RESULTS_TOGETHER + self.latest.len()
    }

    /// The result of the row before.
    pub(super) fn last(&self) -> Option<&Value> {
        self.latest.last()
    }

    pub(super) fn hand_out(mut self) -> Result<HandedOut> {
        self.full.push(self.latest)?;
        Ok(HandedOut { rest: self.full.into_rows(), current: Vec::new().into_iter() })
    }
}

impl HandedOut {
    /// The result of the next row.
    ///
    /// # Errors
    /// `io_error` if a temporary file cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<Value>> {
        if let Some(result) = self.current.next() {
            return Ok(Some(result));
        }
        let Some(more) = self.rest.next_row()? else { return Ok(None) };
        self.current = more.into_iter();
        Ok(self.current.next())
    }
}
