//! Queries and sources of changed rows that run again and again in a loop: their operators are made once.
//!
//! Only for plans that keep nothing to speak of between two runs: rows of one table found by an index or by number, filtered and
//! computed. Operators can be opened again, as those on the inner side of a join are.

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_plan::{Access, Filter, Node, Project, SelectPlan};
use farbird_types::{Result, Value};

use crate::batch::{BATCH_ROWS_FIRST, Batch};
use crate::build::build;
use crate::operator::Operator;
use crate::row_by_key::RowByKey;

/// A query that gives one row, run again and again. Not to be used any more after an error.
pub struct RepeatedQuery {
    way: Way,
    /// The row found.
    row: Vec<Value>,
}

/// How the rows of a [`RepeatedQuery`] are found.
enum Way {
    /// There is one at most, and nothing but its table's look-up, conditions and computed columns.
    Key(Box<DirectRow>),
    Operators {
        root: Box<dyn Operator>,
        batch: Batch,
        /// Where in the batch the next row is.
        place: usize,
    },
}

impl RepeatedQuery {
    /// The operators of a query, if they can be kept: whatever their expressions share must be nothing.
    pub fn of(plan: &SelectPlan) -> Option<RepeatedQuery> {
        if !plan.frame.is_empty() || !is_light(&plan.root) {
            return None;
        }
        let way = match DirectRow::of(&plan.root) {
            Some(direct) => Way::Key(Box::new(direct)),
            None => Way::Operators {
                root: build(&plan.root),
                batch: Batch::new(plan.root.width(), BATCH_ROWS_FIRST),
                place: 0,
            },
        };
        Some(RepeatedQuery { way, row: Vec::new() })
    }

    /// Runs it with the context's view and parameters, to its first row; false if there is none.
    ///
    /// # Errors
    /// Those of the plan.
    pub fn first(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        match &mut self.way {
            Way::Key(direct) => return direct.find(context, &mut self.row),
            Way::Operators { root, batch, place } => {
                root.open(context)?;
                batch.truncate(0);
                *place = 0;
            }
        }
        let found = self.is_another(context)?;
        self.row.clear();
        if let (true, Way::Operators { batch, place, .. }) = (found, &mut self.way) {
            self.row.extend(batch.drain_row(0));
            *place = 1;
        }
        Ok(found)
    }

    /// Whether there is a row behind it.
    ///
    /// # Errors
    /// Those of the plan.
    pub fn is_another(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        match &mut self.way {
            Way::Key(_) => Ok(false),
            Way::Operators { batch, place, .. } if *place < batch.len() => Ok(true),
            Way::Operators { root, batch, place } => {
                context.check_interrupt()?;
                *place = 0;
                root.next(context, batch)
            }
        }
    }

    /// The first row.
    pub fn row(&self) -> &[Value] {
        &self.row
    }
}

/// The row that a key finds, with conditions on it, and columns computed of it, without operators and batches.
pub(crate) struct DirectRow {
    by_key: RowByKey,
    /// What is done with it, in this order.
    steps: Vec<Step>,
    /// Room for computed columns.
    computed: Vec<Value>,
}

enum Step {
    Filter(Arc<Filter>),
    Project(Arc<Project>),
}

impl DirectRow {
    /// For a plan that is nothing else.
    pub(crate) fn of(root: &Node) -> Option<DirectRow> {
        let (mut steps, mut node) = (Vec::new(), root);
        let scan = loop {
            node = match node {
                Node::Filter(filter) => {
                    steps.push(Step::Filter(Arc::clone(filter)));
                    &filter.input
                }
                Node::Project(project) => {
                    steps.push(Step::Project(Arc::clone(project)));
                    &project.input
                }
                Node::Table(scan) => break scan,
                _ => return None,
            };
        };
        steps.reverse();
        Some(DirectRow { by_key: RowByKey::of(scan)?, steps, computed: Vec::new() })
    }

    /// Replaces `row` by the row that the context's view shows under the key; false if there is none that meets the conditions.
    ///
    /// # Errors
    /// Those of the plan.
    pub(crate) fn find(&mut self, context: &mut ExecutionContext<'_>, row: &mut Vec<Value>) -> Result<bool> {
        context.check_interrupt()?;
        row.clear();
        self.by_key.open(context)?;
        if !self.by_key.take(context, row)? {
            return Ok(false);
        }
        for step in &self.steps {
            match step {
                Step::Filter(filter) => {
                    if filter.condition.truth(row, context)? != Some(true) {
                        return Ok(false);
                    }
                }
                Step::Project(project) => {
                    self.computed.clear();
                    for item in &project.items {
                        self.computed.push(item.evaluate(row, context)?);
                    }
                    std::mem::swap(row, &mut self.computed);
                }
            }
        }
        Ok(true)
    }
}

/// What finds the rows of a statement that changes them, kept from one run to the next.
#[derive(Default)]
pub struct KeptSource(Source);

#[derive(Default)]
enum Source {
    #[default]
    Nothing,
    Key(KeyedRow),
    Operators(Box<dyn Operator>, Batch),
}

/// A row that a key finds, and room for its values.
pub(crate) struct KeyedRow {
    direct: Box<DirectRow>,
    values: Vec<Value>,
}

impl KeyedRow {
    /// Finds the row; `None` if there is none.
    ///
    /// # Errors
    /// Those of the plan.
    pub(crate) fn find(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<&mut Vec<Value>>> {
        Ok(self.direct.find(context, &mut self.values)?.then_some(&mut self.values))
    }
}

impl KeptSource {
    /// Takes out what finds the row of a source that is one by a key, or makes it; `None` if it is no such source, or what is done is
    /// measured.
    pub(crate) fn take_keyed(&mut self, source: &Node, context: &ExecutionContext<'_>) -> Option<KeyedRow> {
        match std::mem::take(&mut self.0) {
            Source::Key(keyed) => Some(keyed),
            Source::Nothing if context.measurements.is_none() => {
                let direct = Box::new(DirectRow::of(source)?);
                Some(KeyedRow { direct, values: Vec::new() })
            }
            kept => {
                self.0 = kept;
                None
            }
        }
    }

    /// Keeps what [`KeptSource::take_keyed`] gave, once the row was changed without an error.
    pub(crate) fn keep_keyed(&mut self, keyed: KeyedRow) {
        self.0 = Source::Key(keyed);
    }

    /// Takes the operators out, or makes them by `make`.
    pub(crate) fn take_or(
        &mut self,
        make: impl FnOnce() -> (Box<dyn Operator>, Batch),
    ) -> (Box<dyn Operator>, Batch) {
        match std::mem::take(&mut self.0) {
            Source::Operators(operator, batch) => (operator, batch),
            Source::Nothing | Source::Key(_) => make(),
        }
    }

    /// Keeps them, if they are light. To be called when they have come to their end without an error.
    pub(crate) fn keep(&mut self, source: &Node, operator: Box<dyn Operator>, batch: Batch) {
        if is_light(source) {
            self.0 = Source::Operators(operator, batch);
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
