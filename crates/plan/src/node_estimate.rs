//! What is expected of nodes: what the planner said when it made them, or what follows from their inputs.

use std::sync::Arc;

use farbird_expression::Expression;

use crate::cost;
use crate::estimate::number;
use crate::node::{Access, Estimate, Limit, Node};

/// Rows of what nobody knows anything about.
const ROWS_UNKNOWN: f64 = 10.0;
/// Part of the rows that a condition leaves of which nobody has said more.
const FILTERED_FRACTION: f64 = 0.33;
/// Rows in a group, and how often a row is repeated, if nobody has said more.
const ROWS_PER_GROUP: f64 = 5.0;
const REPETITIONS: f64 = 2.0;
/// How many rows a recursive common table makes of each that it begins with.
const RECURSIVE_ROWS: f64 = 10.0;

impl Node {
    /// What the planner expects of it.
    pub fn estimate(&self) -> Estimate {
        let own = match self {
            Node::Table(scan) => scan.estimate,
            Node::External(scan) => scan.estimate,
            Node::Filter(filter) => filter.estimate,
            Node::NestedLoop(join) => join.estimate,
            Node::HashJoin(join) => join.estimate,
            Node::RangeJoin(join) => join.estimate,
            Node::Aggregate(aggregate) => aggregate.estimate,
            Node::Distinct(distinct) => distinct.estimate,
            _ => None,
        };
        own.unwrap_or_else(|| self.follows_from_inputs())
    }

    /// Whether its rows come by columns, as far as the plan says: those of a scan, and of what works on such rows.
    pub(crate) fn is_by_columns(&self) -> bool {
        match self {
            Node::Table(scan) => matches!(scan.access, Access::Natural | Access::Rows(_)),
            Node::Filter(filter) => filter.input.is_by_columns(),
            Node::Project(project) => project.input.is_by_columns(),
            Node::HashJoin(join) => !join.outer_keys.is_empty() && join.outer.is_by_columns(),
            _ => false,
        }
    }

    fn follows_from_inputs(&self) -> Estimate {
        let of = |rows: f64, cost: f64| Estimate { rows: rows.max(1.0), cost };
        match self {
            Node::Single | Node::WorkingRow(_) => of(1.0, 0.0),
            Node::Count(_) => of(1.0, cost::scan(0.0, 1.0)),
            Node::Table(_) | Node::External(_) | Node::System(_) | Node::Procedure(_) => {
                of(ROWS_UNKNOWN, cost::scan(ROWS_UNKNOWN, ROWS_UNKNOWN))
            }
            Node::Filter(filter) => {
                let input = filter.input.estimate();
                of(input.rows * FILTERED_FRACTION, input.cost)
            }
            Node::Project(project) => project.input.estimate(),
            Node::Lock(lock) => lock.input.estimate(),
            Node::NestedLoop(join) => {
                let (outer, inner) = (join.outer.estimate(), join.inner.estimate());
                let rows = outer.rows.max(inner.rows);
                of(rows, outer.cost + cost::nested_loop(outer.rows, inner.cost, rows))
            }
            Node::HashJoin(join) => {
                let (outer, inner) = (join.outer.estimate(), join.inner.estimate());
                let rows = outer.rows.max(inner.rows);
                let by_columns = join.outer.is_by_columns();
                of(rows, outer.cost + inner.cost + cost::hash_join(inner.rows, outer.rows, rows, by_columns))
            }
            Node::RangeJoin(join) => {
                let (outer, inner) = (join.outer.estimate(), join.inner.estimate());
                let rows = outer.rows.max(inner.rows);
                of(rows, outer.cost + inner.cost + cost::range_join(inner.rows, outer.rows, rows))
            }
            Node::Sort(sort) => sorted(&sort.input),
            Node::Window(window) => sorted(&window.input),
            Node::Aggregate(aggregate) if aggregate.keys.is_empty() => {
                of(1.0, aggregate.input.estimate().cost)
            }
            Node::Aggregate(aggregate) => {
                let input = aggregate.input.estimate();
                of(
                    input.rows / ROWS_PER_GROUP,
                    input.cost + cost::group(input.rows, input.rows / ROWS_PER_GROUP),
                )
            }
            Node::Distinct(distinct) => {
                let sorted = sorted(&distinct.input);
                of(sorted.rows / REPETITIONS, sorted.cost)
            }
            Node::Union(union) => {
                let inputs = union.inputs.iter().map(Node::estimate);
                inputs.fold(Estimate { rows: 0.0, cost: 0.0 }, |sum, input| Estimate {
                    rows: sum.rows + input.rows,
                    cost: sum.cost + input.cost,
                })
            }
            Node::Shared(shared) => shared.input.estimate(),
            Node::Limit(limit) => limited(limit),
            Node::Recursive(recursive) => {
                let (anchor, step) = (recursive.anchor.estimate(), recursive.step.estimate());
                let rows = anchor.rows * RECURSIVE_ROWS;
                of(rows, anchor.cost + rows * step.cost)
            }
        }
    }

    /// This node, of which so many rows at this cost are expected; for a node that has just been made. Of some kinds it follows
    /// from their inputs: those stay as they are.
    #[must_use]
    pub(crate) fn expected(mut self, rows: f64, cost: f64) -> Node {
        let place = match &mut self {
            Node::Table(scan) => Arc::get_mut(scan).map(|scan| &mut scan.estimate),
            Node::External(scan) => Arc::get_mut(scan).map(|scan| &mut scan.estimate),
            Node::Filter(filter) => Arc::get_mut(filter).map(|filter| &mut filter.estimate),
            Node::NestedLoop(join) => Arc::get_mut(join).map(|join| &mut join.estimate),
            Node::HashJoin(join) => Arc::get_mut(join).map(|join| &mut join.estimate),
            Node::RangeJoin(join) => Arc::get_mut(join).map(|join| &mut join.estimate),
            Node::Aggregate(aggregate) => Arc::get_mut(aggregate).map(|aggregate| &mut aggregate.estimate),
            Node::Distinct(distinct) => Arc::get_mut(distinct).map(|distinct| &mut distinct.estimate),
            _ => None,
        };
        if let Some(place) = place {
            *place = Some(Estimate { rows, cost });
        }
        self
    }
}

fn sorted(input: &Node) -> Estimate {
    let input = input.estimate();
    Estimate { rows: input.rows, cost: input.cost + cost::sort(input.rows) }
}

fn limited(limit: &Limit) -> Estimate {
    let input = limit.input.estimate();
    let asked = |value: &Option<Expression>| match value {
        Some(Expression::Constant(value)) => number(value),
        _ => None,
    };
    let (skipped, first) = (asked(&limit.skip).unwrap_or(0.0), asked(&limit.first));
    let (skipped, first) = match (limit.ordinals, first) {
        (true, Some(last)) => ((skipped - 1.0).max(0.0), Some(last - (skipped - 1.0).max(0.0))),
        _ => (skipped, first),
    };
    let left = (input.rows - skipped).max(0.0);
    Estimate { rows: first.map_or(left, |first| left.min(first)), cost: input.cost }
}
