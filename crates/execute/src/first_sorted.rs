//! ORDER BY below joins of which a query wants the first rows: only the first rows of the order are kept, about as many as will be
//! asked for. Where that was too few, the input is read again and ordered as a whole.
//!
//! The planner promises that the input gives the same rows in the same order each time; rows with equal keys keep theirs.

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_plan::Sort;
use farbird_types::Result;

use crate::batch::Batch;
use crate::operator::{Build, Operator};
use crate::sort::SortOperator;

/// Orders rows of which the first ones are wanted.
pub(crate) struct FirstSortedOperator {
    sort: SortOperator,
    /// How many rows are kept if nobody says more.
    first: usize,
    /// How many will be asked for at most, as it is told before it is opened.
    at_most: Option<usize>,
    /// How many are kept now; all of them if it is none.
    kept: Option<usize>,
    handed_out: usize,
}

impl FirstSortedOperator {
    pub(crate) fn new(sort: &Arc<Sort>, first: usize, build: Build) -> FirstSortedOperator {
        let sort = SortOperator::new(sort, build);
        FirstSortedOperator { sort, first, at_most: None, kept: None, handed_out: 0 }
    }

    /// Orders all rows, and goes behind those that have been handed out.
    fn start_again(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<()> {
        self.kept = None;
        self.sort.open(context)?;
        let limit = batch.limit();
        let mut to_skip = self.handed_out;
        while to_skip > 0 {
            batch.set_limit(limit.min(to_skip));
            if !self.sort.next(context, batch)? {
                break;
            }
            to_skip = to_skip.saturating_sub(batch.len());
        }
        batch.set_limit(limit);
        Ok(())
    }
}

impl Operator for FirstSortedOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let kept = self.at_most.take().unwrap_or(self.first);
        self.kept = Some(kept);
        self.handed_out = 0;
        self.sort.at_most(kept);
        self.sort.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        let mut is_found = self.sort.next(context, batch)?;
        if !is_found && self.kept == Some(self.handed_out) {
            self.start_again(context, batch)?;
            is_found = self.sort.next(context, batch)?;
        }
        self.handed_out += batch.len();
        Ok(is_found)
    }

    fn at_most(&mut self, rows: usize) {
        self.at_most = Some(rows);
    }

    fn want(&mut self, columns: &[bool]) {
        self.sort.want(columns);
    }
}
