//! Conditions on what a derived table gives, asked of what it is made of: below groups that they say the keys of, below unions,
//! windows and what drops repeated rows; at the bottom by an index, if that is cheaper.
//!
//! Only where the same rows come out: below groups, windows and DISTINCT a condition is asked that looks at the keys alone, and
//! only in a way in which equal keys are the same. What may fail is not asked of rows that another condition would have dropped.

use std::sync::Arc;

use farbird_expression::Expression;
use farbird_types::Collation;

use crate::access::{AccessChoice, AccessPlanner};
use crate::bound::environment::Surroundings;
use crate::bound::source::{Slot, Source, SourceColumn, SourceKind};
use crate::estimate::Estimator;
use crate::join::may_fail;
use crate::node::{
    Access, Aggregate, Distinct, Estimate, Filter, Node, Project, Sort, TableScan, Told, Union, Window,
};

/// What is computed for several places is computed for one alone if a condition there makes it cost less than this part.
const SHARE_ALONE: f64 = 0.5;

/// A plan with conditions on its rows, asked as far down as they may be.
pub(super) fn filtered(node: Node, conditions: Vec<Expression>, surroundings: Surroundings<'_>) -> Node {
    if conditions.iter().any(Expression::is_volatile) {
        return node.filtered(conditions);
    }
    let mut kept = Vec::new();
    let mut node = node;
    for condition in conditions {
        let stays = condition.is_row_independent() || condition.runs_code();
        match pushed(&node, &condition, surroundings).filter(|_| !stays) {
            Some(pushed) => node = pushed,
            None => kept.push(condition),
        }
    }
    node.filtered(kept)
}

/// A plan with a condition on its rows somewhere below its top; nothing if it cannot be asked there.
fn pushed(node: &Node, condition: &Expression, surroundings: Surroundings<'_>) -> Option<Node> {
    let below = |input: &Node, condition: Expression| {
        pushed(input, &condition, surroundings).or_else(|| at_bottom(input, condition, surroundings))
    };
    match node {
        Node::Aggregate(aggregate) => {
            let key =
                |column: usize| aggregate.keys.get(column).map(|key| (key.value.clone(), key.collation));
            let condition = over_keys(condition, &key)?;
            let input = below(&aggregate.input, condition)?;
            let Aggregate { keys, calls, .. } = aggregate.as_ref();
            let estimate = rescaled(node, &aggregate.input, &input);
            let (keys, calls) = (keys.clone(), calls.clone());
            Some(Node::Aggregate(Arc::new(Aggregate { input, keys, calls, estimate })))
        }
        Node::Window(window) => {
            let key = |column: usize| {
                let place = window.partition.iter().find(|key| key.value == Expression::Column(column))?;
                Some((place.value.clone(), place.part.collation))
            };
            let condition = over_keys(condition, &key)?;
            let input = below(&window.input, condition)?;
            let Window { partition, order, calls, .. } = window.as_ref();
            Some(Node::Window(Arc::new(Window {
                input,
                partition: partition.clone(),
                order: order.clone(),
                calls: calls.clone(),
            })))
        }
        Node::Distinct(distinct) => {
            let key = |column: usize| {
                distinct.collations.get(column).map(|collation| (Expression::Column(column), *collation))
            };
            let condition = over_keys(condition, &key)?;
            let input = below(&distinct.input, condition)?;
            let estimate = rescaled(node, &distinct.input, &input);
            Some(Node::Distinct(Arc::new(Distinct {
                input,
                collations: distinct.collations.clone(),
                estimate,
            })))
        }
        Node::Project(project) => {
            if project.items.iter().any(Expression::is_volatile) {
                return None;
            }
            let condition = over_items(condition, &project.items)?;
            let input = below(&project.input, condition)?;
            Some(Node::Project(Arc::new(Project { input, items: project.items.clone() })))
        }
        Node::Sort(sort) => {
            let input = below(&sort.input, condition.clone())?;
            Some(Node::Sort(Arc::new(Sort { input, keys: sort.keys.clone(), first: sort.first })))
        }
        Node::Union(union) => {
            let inputs = union.inputs.iter().map(|input| {
                below(input, condition.clone())
                    .unwrap_or_else(|| input.clone().filtered(vec![condition.clone()]))
            });
            Some(Node::Union(Arc::new(Union { inputs: inputs.collect() })))
        }
        // It is not shared any more: worth it if little of it is left to compute.
        Node::Shared(shared) => {
            let own = pushed(&shared.input, condition, surroundings)?;
            let goes_alone = own.estimate().cost < shared.input.estimate().cost * SHARE_ALONE;
            goes_alone.then_some(own)
        }
        // Groups that HAVING drops are not looked at; rows that WHERE drops may be, as in any table.
        Node::Filter(filter) if !may_fail(condition) && !filter.condition.is_volatile() => {
            let input = pushed(&filter.input, condition, surroundings)?;
            let estimate = rescaled(node, &filter.input, &input);
            Some(Node::Filter(Arc::new(Filter { input, condition: filter.condition.clone(), estimate })))
        }
        _ => None,
    }
}

/// What is expected of a node whose input gives fewer rows now.
fn rescaled(node: &Node, input: &Node, new_input: &Node) -> Option<Estimate> {
    let (own, before, now) = (node.estimate(), input.estimate(), new_input.estimate());
    let part = (now.rows / before.rows.max(1.0)).min(1.0);
    Some(Estimate {
        rows: (own.rows * part).max(1.0),
        cost: (own.cost - before.cost).max(0.0) * part + now.cost,
    })
}

/// A condition over the rows that it is about in the end.
fn at_bottom(node: &Node, condition: Expression, surroundings: Surroundings<'_>) -> Option<Node> {
    let (scan, mut conditions) = match node {
        Node::Table(scan) => (scan, Vec::new()),
        Node::Filter(filter) => match &filter.input {
            Node::Table(scan) => {
                let mut conditions = Vec::new();
                filter.condition.clone().into_conjuncts(&mut conditions);
                (scan, conditions)
            }
            _ => return Some(node.clone().filtered(vec![condition])),
        },
        Node::Aggregate(_)
        | Node::NestedLoop(_)
        | Node::HashJoin(_)
        | Node::RangeJoin(_)
        | Node::Window(_)
        | Node::Union(_)
        | Node::Distinct(_)
        | Node::Project(_)
        | Node::Procedure(_)
        | Node::System(_)
        | Node::External(_) => return Some(node.clone().filtered(vec![condition])),
        // Rows that are counted, locked or followed are others with a condition.
        _ => return None,
    };
    conditions.push(condition);
    let Some((choice, found, told)) = best_access(scan, &conditions, surroundings) else {
        return Some(Node::Table(scan.clone()).filtered(conditions));
    };
    let TableScan { relation, layout, columns, width, row_number, path, .. } = scan.as_ref();
    let cost = choice.cost;
    let scan = TableScan {
        relation: relation.clone(),
        layout: layout.clone(),
        columns: columns.clone(),
        width: *width,
        row_number: *row_number,
        access: choice.access,
        path: path.clone(),
        told,
        estimate: Some(Estimate { rows: choice.rows, cost }),
    };
    Some(Node::Table(Arc::new(scan)).filtered(conditions).expected(found, cost))
}

/// How a table in row order is read best by these conditions, how many of its rows meet them, and what has come of a PLAN clause; nothing if indexes do not read
/// it.
fn best_access(
    scan: &Arc<TableScan>,
    conditions: &[Expression],
    surroundings: Surroundings<'_>,
) -> Option<(AccessChoice, f64, Option<Told>)> {
    if !matches!(scan.access, Access::Natural) || !scan.relation.is_stored() {
        return None;
    }
    let place_of = |slot: u16| scan.relation.columns.iter().position(|column| column.field_id == slot);
    let fields = scan.columns.slots()?.iter().map(|slot| place_of(*slot));
    let mut slots = Vec::with_capacity(scan.width + 1);
    for field in fields {
        slots.push(Slot { source: 0, column: SourceColumn::Field(field?) });
    }
    if scan.row_number {
        slots.push(Slot { source: 0, column: SourceColumn::RowNumber });
    }
    let sources = [Source::new(SourceKind::Table(scan.relation.clone()), scan.path.clone())];
    let estimator = Estimator::new(&sources, &slots, &surroundings.catalog.statistics);
    let planner = AccessPlanner {
        source: 0,
        relation: &scan.relation,
        surroundings,
        estimator: &estimator,
        slots: &slots,
        available: &|_| false,
        hint: scan.told.as_ref().map(|told| told.hint.as_ref()),
        reads_all: true,
    };
    let found = (estimator.rows(0) * estimator.selectivity(conditions)).max(1.0);
    let choice = planner.choose(conditions);
    let told = scan.told.as_ref().map(|told| match choice.access {
        Access::Natural => told.clone(),
        _ => Told { hint: told.hint.clone(), unused: planner.unused(&choice.access, conditions) },
    });
    Some((choice, found, told))
}

/// A condition on keys in terms of what the keys are made of; nothing if it looks at anything else, or at what differs among
/// equal keys.
fn over_keys(
    condition: &Expression,
    key: &dyn Fn(usize) -> Option<(Expression, Collation)>,
) -> Option<Expression> {
    if !tells_equals_alike(condition, key) {
        return None;
    }
    replaced(condition, &|column| key(column).map(|(value, _)| value).filter(|value| !value.runs_code()))
}

/// Whether a condition is the same for all values that are equal as keys.
fn tells_equals_alike(
    condition: &Expression,
    key: &dyn Fn(usize) -> Option<(Expression, Collation)>,
) -> bool {
    let is_operand = |operand: &Expression, collation: &Collation| match operand {
        Expression::Column(column) => key(*column).is_some_and(|(_, of_key)| of_key == *collation),
        other => other.is_row_independent(),
    };
    match condition {
        Expression::Comparison { left, right, collation, .. }
        | Expression::Distinct { left, right, collation } => {
            is_operand(left, collation) && is_operand(right, collation)
        }
        Expression::Between { operand, low, high, collation } => {
            [operand, low, high].iter().all(|operand| is_operand(operand, collation))
        }
        Expression::InList { operand, list, collation } => {
            is_operand(operand, collation) && list.iter().all(|item| is_operand(item, collation))
        }
        Expression::IsNull(operand) => {
            matches!(**operand, Expression::Column(column) if key(column).is_some())
        }
        Expression::Not(inner) => tells_equals_alike(inner, key),
        Expression::And(parts) | Expression::Or(parts) => {
            parts.iter().all(|part| tells_equals_alike(part, key))
        }
        _ => false,
    }
}

/// A condition in terms of the rows that items are computed from. Not what is long to compute, twice.
fn over_items(condition: &Expression, items: &[Expression]) -> Option<Expression> {
    let is_short = |item: &&Expression| {
        matches!(item, Expression::Column(_) | Expression::Constant(_) | Expression::Cast { .. })
            && !item.runs_code()
    };
    replaced(condition, &|column| items.get(column).filter(is_short).cloned())
}

/// A condition with other values in the place of its columns; nothing if one of them has none.
fn replaced(condition: &Expression, value_of: &dyn Fn(usize) -> Option<Expression>) -> Option<Expression> {
    if condition.runs_code() {
        return None;
    }
    let mut is_whole = true;
    condition.for_each_column(&mut |column| is_whole &= value_of(column).is_some());
    if !is_whole {
        return None;
    }
    let mut condition = condition.clone();
    condition.rewrite(&mut |part| match part {
        Expression::Column(column) => value_of(*column),
        _ => None,
    });
    // What looks at no row any more says nothing of rows further down: where there are none groups may come out all the same.
    (!condition.is_row_independent()).then_some(condition)
}
