//! The first rows of an order, asked of each member of a UNION ALL whose table has an index in that order: a member gives no more
//! rows than are asked for of all of them, so that the others need not be read.
//!
//! What stands above puts the rows of all members in order as before.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_expression::{Expression, FrameSize};
use farbird_types::Value;

use crate::bound::environment::Surroundings;
use crate::bound::query::BoundLimit;
use crate::bound::source::{FromTree, Slot, Source, SourceColumn, SourceKind};
use crate::join::{JoinPlanner, Planned, may_fail};
use crate::node::{Access, Limit, Node, Project, SortKey, TableScan, Union};

/// A member with fewer rows is read as a whole.
const MEMBER_ROWS_LEAST: f64 = 1_000.0;

/// A plan whose rows are going to be put in order and limited, with the limit asked of its members where that is of use.
pub(crate) fn asked_of_members(
    node: Node,
    keys: &[SortKey],
    limits: &[BoundLimit],
    surroundings: Surroundings<'_>,
    frame: &mut FrameSize,
) -> Node {
    let (Node::Union(union), [limit]) = (&node, limits) else { return node };
    let Some((first, rows)) = rows_of(limit).filter(|_| !keys.is_empty()) else { return node };
    let mut members = FirstRows { rows, surroundings, frame };
    let inputs = union.inputs.iter().map(|input| match members.ordered(input, keys) {
        Some(input) => {
            Node::Limit(Arc::new(Limit { input, skip: None, first: Some(first.clone()), ordinals: false }))
        }
        None => input.clone(),
    });
    Node::Union(Arc::new(Union { inputs: inputs.collect() }))
}

/// How many rows a limit asks for from the beginning, as a value and, more or less, as a number.
fn rows_of(limit: &BoundLimit) -> Option<(Expression, f64)> {
    /// More rows are ordered at once as well.
    const MOST: i64 = 10_000;
    let number = |value: &Expression| match value {
        Expression::Constant(Value::Integer { unscaled, scale: 0 }) => Some(*unscaled),
        _ => None,
    };
    let first = number(limit.first.as_ref()?)?;
    let skipped = match &limit.skip {
        Some(_) if limit.ordinals => 0,
        Some(skip) => number(skip)?,
        None => 0,
    };
    let rows = first.checked_add(skipped).filter(|rows| first >= 0 && skipped >= 0 && *rows <= MOST)?;
    Some((Expression::Constant(Value::integer(rows)), rows as f64))
}

struct FirstRows<'a, 'f> {
    rows: f64,
    surroundings: Surroundings<'a>,
    frame: &'f mut FrameSize,
}

impl FirstRows<'_, '_> {
    /// A member that gives its rows in an order by an index; nothing if none does.
    fn ordered(&mut self, node: &Node, keys: &[SortKey]) -> Option<Node> {
        match node {
            Node::Project(project) => {
                if project.items.iter().any(|item| item.is_volatile() || item.runs_code() || may_fail(item)) {
                    return None;
                }
                let below = |key: &SortKey| match key.value {
                    Expression::Column(place) => {
                        let value = project.items.get(place)?.clone();
                        Some(SortKey { value, part: key.part })
                    }
                    _ => None,
                };
                let keys: Vec<SortKey> = keys.iter().map(below).collect::<Option<_>>()?;
                let input = self.ordered(&project.input, &keys)?;
                Some(Node::Project(Arc::new(Project { input, items: project.items.clone() })))
            }
            Node::Table(scan) => self.table(scan, Vec::new(), keys),
            Node::Filter(filter) => {
                let Node::Table(scan) = &filter.input else { return None };
                if filter.condition.is_volatile() || filter.condition.runs_code() {
                    return None;
                }
                let mut conditions = Vec::new();
                filter.condition.clone().into_conjuncts(&mut conditions);
                self.table(scan, conditions, keys)
            }
            _ => None,
        }
    }

    fn table(
        &mut self,
        scan: &Arc<TableScan>,
        conditions: Vec<Expression>,
        keys: &[SortKey],
    ) -> Option<Node> {
        if !matches!(scan.access, Access::Natural) || !scan.relation.is_stored() || scan.told.is_some() {
            return None;
        }
        let place_of =
            |field: &u16| scan.relation.columns.iter().position(|column| column.field_id == *field);
        let mut slots = Vec::with_capacity(scan.width + 1);
        for field in scan.columns.slots()? {
            slots.push(Slot { source: 0, column: SourceColumn::Field(place_of(field)?) });
        }
        if scan.row_number {
            slots.push(Slot { source: 0, column: SourceColumn::RowNumber });
        }
        let needed: BTreeSet<usize> = (0..slots.len()).collect();
        let sources = [Source::new(SourceKind::Table(scan.relation.clone()), scan.path.clone())];
        let mut planner = JoinPlanner::new(&sources, &slots, &needed, self.surroundings, self.frame);
        planner.for_first_rows(self.rows);
        if !planner.estimator.is_known(0) || planner.estimator.rows(0) < MEMBER_ROWS_LEAST {
            return None;
        }
        let Planned { node, slots: found, ordered, .. } =
            planner.plan(&FromTree::Source(0), conditions, keys).ok()?;
        (ordered && found.iter().copied().eq(0..slots.len())).then_some(node)
    }
}
