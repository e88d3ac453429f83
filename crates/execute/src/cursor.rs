//! An open query.

use std::sync::Arc;

use farbird_expression::{ExecutionContext, Frame};
use farbird_plan::SelectPlan;
use farbird_session::ColumnDescription;
use farbird_store::ReadView;
use farbird_types::{Result, Value};

use crate::batch::{BATCH_ROWS_FIRST, BATCH_ROWS_MAX, Batch};
use crate::build::{build, build_for};
use crate::column_rows::ColumnRows;
use crate::operator::{ByColumns, Operator};

/// How much larger each batch is than the one before, up to the largest.
const BATCH_GROWTH: usize = 4;

/// An open query: a value that holds no lock, thread or snapshot of the substrate between calls.
///
/// It sees what its view sees and keeps the parameters it was opened with; while it runs they take the place of the
/// context's.
pub struct Cursor {
    plan: Arc<SelectPlan>,
    root: Box<dyn Operator>,
    frame: Frame,
    view: ReadView,
    parameters: Vec<Value>,
    /// It keeps no parameters: see [`Cursor::open_live`].
    live: bool,
    batch: Batch,
    place: usize,
    ended: bool,
}

impl Cursor {
    /// Opens a query with the context's view and a copy of its parameters.
    ///
    /// # Errors
    /// Those of expressions that are evaluated once (limits, bounds of indexes).
    pub fn open(plan: &Arc<SelectPlan>, context: &mut ExecutionContext<'_>) -> Result<Cursor> {
        let mut cursor = Cursor::new(plan, context.view.clone(), context.parameters.clone());
        cursor.start(context)?;
        Ok(cursor)
    }

    /// As [`Cursor::open`], but each row is computed when it is asked for, with the parameters that the context has then, and may change
    /// them: local routines share variables with the routine that asks.
    ///
    /// # Errors
    /// As [`Cursor::open`].
    pub fn open_live(plan: &Arc<SelectPlan>, context: &mut ExecutionContext<'_>) -> Result<Cursor> {
        let mut cursor = Cursor::new(plan, context.view.clone(), Vec::new());
        cursor.live = true;
        cursor.batch.set_limit(1);
        cursor.start(context)?;
        Ok(cursor)
    }

    /// A query that is not open yet.
    pub fn new(plan: &Arc<SelectPlan>, view: ReadView, parameters: Vec<Value>) -> Cursor {
        Cursor {
            plan: plan.clone(),
            root: build(&plan.root),
            frame: Frame::new(plan.frame),
            view,
            parameters,
            live: false,
            batch: Batch::new(plan.root.width(), BATCH_ROWS_FIRST),
            place: 0,
            ended: false,
        }
    }

    /// Opens it. Errors as [`Cursor::open`].
    pub fn start(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        if context.measurements.is_some() {
            self.root = build_for(context, &self.plan.root);
        }
        self.inside(context, |cursor, context| cursor.root.open(context))
    }

    /// Opens it anew, with the context's view: the rows come from the first one on.
    ///
    /// # Errors
    /// As [`Cursor::open`].
    pub fn begin_again(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let parameters = std::mem::take(&mut self.parameters);
        *self = Cursor::new(&self.plan, context.view.clone(), parameters);
        self.start(context)
    }

    /// The parameters that it was opened with.
    pub fn into_parameters(self) -> Vec<Value> {
        self.parameters
    }

    /// Its columns.
    pub fn columns(&self) -> &[ColumnDescription] {
        &self.plan.columns
    }

    /// What it runs.
    pub fn plan(&self) -> &Arc<SelectPlan> {
        &self.plan
    }

    /// The next row: its columns, followed by what [`SelectPlan::row_numbers`] tells of. `None` at the end.
    ///
    /// # Errors
    /// Those of computing the row, after the rows before it.
    pub fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<&[Value]>> {
        if self.place >= self.batch.len() && !self.fill(context)? {
            return Ok(None);
        }
        let row = self.batch.row(self.place);
        self.place += 1;
        Ok(Some(row))
    }

    /// As [`Cursor::next`], giving the row away.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub fn next_row(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        if self.place >= self.batch.len() && !self.fill(context)? {
            return Ok(None);
        }
        let row = self.batch.take_row(self.place);
        self.place += 1;
        Ok(Some(row))
    }

    /// As [`Cursor::next`]; the row may be taken apart.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub fn next_mut(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<&mut [Value]>> {
        if self.place >= self.batch.len() && !self.fill(context)? {
            return Ok(None);
        }
        let row = self.batch.row_mut(self.place);
        self.place += 1;
        Ok(Some(row))
    }

    /// How many rows [`Cursor::next`] gives without asking the plan for more.
    pub fn rows_at_hand(&self) -> usize {
        self.batch.len().saturating_sub(self.place)
    }

    /// The next rows by columns, if they are at hand so; else [`Cursor::next`] gives them.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub fn next_columns(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        rows: &mut ColumnRows,
    ) -> Result<ByColumns> {
        if self.place < self.batch.len() || self.ended {
            return Ok(ByColumns::Unavailable);
        }
        context.check_interrupt()?;
        let found = self.inside(context, |cursor, context| cursor.root.next_columns(context, rows_max, rows));
        self.ended = !matches!(found, Ok(ByColumns::Rows | ByColumns::Unavailable));
        found
    }

    /// Gets the next batch; false at the end.
    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        self.place = 0;
        self.batch.truncate(0);
        if self.ended {
            return Ok(false);
        }
        context.check_interrupt()?;
        let more = self.inside(context, |cursor, context| cursor.root.next(context, &mut cursor.batch));
        // After an error nothing can be said about the operators' state: the cursor is at its end.
        self.ended = !matches!(more, Ok(true));
        if !self.live {
            self.batch.set_limit((self.batch.limit() * BATCH_GROWTH).min(BATCH_ROWS_MAX));
        }
        more
    }

    /// Runs with the cursor's own frame, view and parameters in the context.
    fn inside<T>(
        &mut self,
        context: &mut ExecutionContext<'_>,
        run: impl FnOnce(&mut Cursor, &mut ExecutionContext<'_>) -> Result<T>,
    ) -> Result<T> {
        self.swap(context);
        let result = run(self, context);
        self.swap(context);
        result
    }

    fn swap(&mut self, context: &mut ExecutionContext<'_>) {
        std::mem::swap(&mut self.frame, &mut context.frame);
        std::mem::swap(&mut self.view, &mut context.view);
        if !self.live {
            std::mem::swap(&mut self.parameters, &mut context.parameters);
        }
    }
}
