//! Queries and sources of changed rows that run again and again in a loop: their operators are made once.
//!
//! Only for plans that keep nothing to speak of between two runs: rows of one table found by an index or by number, filtered and
//! computed. Operators can be opened again, as those on the inner side of a join are.

use farbird_expression::ExecutionContext;
use farbird_plan::{Access, Node, SelectPlan};
use farbird_types::{Result, Value};

use crate::batch::{BATCH_ROWS_FIRST, Batch};
use crate::build::build;
use crate::operator::Operator;

/// A query that gives one row, run again and again. Not to be used any more after an error.
pub struct RepeatedQuery {
    root: Box<dyn Operator>,
    batch: Batch,
    /// The row found.
    row: Vec<Value>,
    /// Where in the batch the next one is.
    place: usize,
}

impl RepeatedQuery {
    /// The operators of a query, if they can be kept: whatever their expressions share must be nothing.
    pub fn of(plan: &SelectPlan) -> Option<RepeatedQuery> {
        (plan.frame.is_empty() && is_light(&plan.root)).then(|| RepeatedQuery {
            root: build(&plan.root),
            batch: Batch::new(plan.root.width(), BATCH_ROWS_FIRST),
            row: Vec::new(),
            place: 0,
        })
    }

    /// Runs it with the context's view and parameters, to its first row; false if there is none.
    ///
    /// # Errors
    /// Those of the plan.
    pub fn first(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        self.root.open(context)?;
        self.batch.truncate(0);
        self.place = 0;
        let found = self.is_another(context)?;
        self.row.clear();
        if found {
            self.row.extend(self.batch.drain_row(0));
            self.place = 1;
        }
        Ok(found)
    }

    /// Whether there is a row behind it.
    ///
    /// # Errors
    /// Those of the plan.
    pub fn is_another(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        if self.place < self.batch.len() {
            return Ok(true);
        }
        context.check_interrupt()?;
        self.place = 0;
        self.root.next(context, &mut self.batch)
    }

    /// The first row.
    pub fn row(&self) -> &[Value] {
        &self.row
    }
}

/// The operators of a statement that changes rows, kept from one run to the next.
#[derive(Default)]
pub struct KeptSource(Option<(Box<dyn Operator>, Batch)>);

impl KeptSource {
    /// Takes them out, or makes them by `make`.
    pub(crate) fn take_or(
        &mut self,
        make: impl FnOnce() -> (Box<dyn Operator>, Batch),
    ) -> (Box<dyn Operator>, Batch) {
        self.0.take().unwrap_or_else(make)
    }

    /// Keeps them, if they are light. To be called when they have come to their end without an error.
    pub(crate) fn keep(&mut self, source: &Node, operator: Box<dyn Operator>, batch: Batch) {
        if is_light(source) {
            self.0 = Some((operator, batch));
        }
    }
}

/// Whether the operators of a plan keep nothing to speak of while they are not used.
fn is_light(node: &Node) -> bool {
    match node {
        Node::Table(scan) => !matches!(scan.access, Access::Natural | Access::Rows(_)),
        Node::Filter(filter) => is_light(&filter.input),
        Node::Project(project) => is_light(&project.input),
        Node::Limit(limit) => is_light(&limit.input),
        _ => false,
    }
}
