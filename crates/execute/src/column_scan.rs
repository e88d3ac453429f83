//! Hands out the rows of a [`ColumnSource`].

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_types::Result;
use farbird_vector::Vectors;

use crate::batch::Batch;
use crate::column_rows::ColumnRows;
use crate::column_source::{COLUMN_ROWS_MAX, ColumnSource};
use crate::key_filter::KeyFilter;
use crate::operator::{ByColumns, Operator};
use crate::stage::Stage;

/// How many more rows are looked at with each batch.
const GROWTH: usize = 4;
/// Most rows that are kept, decoded, for the next calls.
const ROWS_KEPT_MAX: usize = 1_024;
/// Most values that are kept.
const VALUES_KEPT_MAX: usize = 1 << 14;
/// Rows that are looked at first for rows by columns: few, so that the first rows come soon.
const COLUMN_ROWS_FIRST: usize = 512;
/// Most values that are handed out by columns.
const COLUMN_VALUES_MAX: usize = 1 << 16;
/// If fewer rows than one in so many are selected they are handed out as rows: their columns are worth no decoding.
const SPARSE_ROWS: usize = 32;

/// Reads a table in row order, with the conditions on its rows.
pub(crate) struct ColumnScanOperator {
    source: ColumnSource,
    /// How many of the selected rows at hand have been handed out.
    place: usize,
    /// How many rows to look at next; nothing yet: as many as are asked for.
    rows_next: Option<usize>,
    /// How many rows to look at next for rows by columns.
    column_rows_next: usize,
    /// Whether most of the rows looked at by columns were selected.
    is_dense: bool,
    /// Which columns are looked at.
    wanted: Vec<bool>,
}

impl ColumnScanOperator {
    pub(crate) fn new(source: ColumnSource) -> ColumnScanOperator {
        ColumnScanOperator {
            wanted: vec![true; source.width()],
            source,
            place: 0,
            rows_next: None,
            column_rows_next: COLUMN_ROWS_FIRST,
            is_dense: true,
        }
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
        self.source.open(context)?;
        self.place = 0;
        self.rows_next = None;
        self.column_rows_next = COLUMN_ROWS_FIRST;
        self.is_dense = true;
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
        }
        if self.source.selection().len() > self.place + batch.limit() {
            self.source.detach()?;
        }
        self.hand_out(batch)?;
        if self.place >= self.source.selection().len() {
            self.source.clear();
            self.place = 0;
        }
        Ok(true)
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        self.source.restrict(column, keys);
    }

    fn has_vectors(&self) -> bool {
        true
    }

    fn stage(&mut self, context: &mut ExecutionContext<'_>) -> Option<Box<dyn Stage>> {
        Some(Box::new(self.source.stage(&self.wanted, context)?))
    }

    fn want(&mut self, columns: &[bool]) {
        self.wanted = columns.to_vec();
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        let rows = self.rows_next.unwrap_or(rows_max);
        if !self.source.next(context, rows)? {
            *vectors = Vectors::default();
            return Ok(false);
        }
        let selected = self.source.selection().len();
        self.rows_next =
            Some(if selected * GROWTH <= rows_max { rows.saturating_mul(GROWTH) } else { rows_max });
        *vectors = self.source.take(&self.wanted)?;
        Ok(true)
    }

    fn next_columns(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        rows: &mut ColumnRows,
    ) -> Result<ByColumns> {
        let rows_max = rows_max.min(COLUMN_VALUES_MAX / self.source.width().max(1)).max(1);
        if self.place >= self.source.selection().len() {
            self.place = 0;
            let wanted =
                if self.is_dense { self.column_rows_next.min(rows_max) } else { self.column_rows_next };
            if !self.source.next(context, wanted)? {
                return Ok(ByColumns::End);
            }
            self.is_dense = self.source.selection().len() * GROWTH > self.source.looked_at();
            self.column_rows_next = (self.column_rows_next * GROWTH).min(COLUMN_ROWS_MAX);
        }
        let left = self.source.selection().len() - self.place;
        // The rows stay at hand, and are handed out row by row.
        if left > rows_max || left < self.source.looked_at() / SPARSE_ROWS {
            return Ok(ByColumns::Unavailable);
        }
        self.source.hand_over(std::mem::take(&mut self.place), rows)?;
        Ok(ByColumns::Rows)
    }
}
