//! Hands out the rows of a [`ColumnSource`].

use farbird_types::Result;

use crate::execute::batch::Batch;
use crate::execute::column_source::{COLUMN_ROWS_MAX, ColumnSource};
use crate::execute::context::ExecutionContext;
use crate::execute::operator::Operator;

/// How many more rows are looked at with each batch.
const GROWTH: usize = 4;
/// Most rows that are kept, decoded, for the next calls.
const ROWS_KEPT_MAX: usize = 1_024;
/// Most values that are kept.
const VALUES_KEPT_MAX: usize = 1 << 14;

/// Reads a table in row order, with the conditions on its rows.
pub(crate) struct ColumnScanOperator {
    source: ColumnSource,
    /// How many of the selected rows at hand have been handed out.
    place: usize,
    /// How many rows to look at next; nothing yet: as many as are asked for.
    rows_next: Option<usize>,
}

impl ColumnScanOperator {
    pub(crate) fn new(source: ColumnSource) -> ColumnScanOperator {
        ColumnScanOperator { source, place: 0, rows_next: None }
    }

    /// Hands out selected rows at hand, as many as the batch still takes.
    fn hand_out(&mut self, batch: &mut Batch) -> Result<()> {
        let range = self.place..self.source.selection().len().min(self.place + batch.limit() - batch.len());
        self.place = range.end;
        batch.extend(range.len(), |values| self.source.read(range, values))
    }

    /// How many rows to look at next, if of the latest so many were selected.
    fn grown(&self, rows: usize, selected: usize, limit: usize) -> usize {
        let kept_max = ROWS_KEPT_MAX.min(VALUES_KEPT_MAX / self.source.width().max(1)).max(limit);
        // A condition that lets few rows through may look at many: those are handed out at once.
        let max = if selected * GROWTH <= limit { COLUMN_ROWS_MAX } else { kept_max };
        rows.saturating_mul(GROWTH).min(max)
    }
}

impl Operator for ColumnScanOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.source.open(context);
        self.place = 0;
        self.rows_next = None;
        Ok(())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.source.width());
        if self.place >= self.source.selection().len() {
            self.place = 0;
            let rows = self.rows_next.unwrap_or(batch.limit());
            if !self.source.next(context, rows)? {
                return Ok(false);
            }
            let selected = self.source.selection().len();
            self.rows_next = Some(self.grown(rows, selected, batch.limit()));
            if selected > batch.limit() {
                self.source.detach()?;
            }
        }
        self.hand_out(batch)?;
        if self.place >= self.source.selection().len() {
            self.source.clear();
            self.place = 0;
        }
        Ok(true)
    }
}
