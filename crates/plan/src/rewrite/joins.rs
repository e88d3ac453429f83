//! What rules change: a FROM clause with its conditions.

use std::collections::BTreeSet;

use farbird_expression::Expression;
use farbird_types::{Collation, SqlType};

use crate::bound::source::{FromTree, Slot, Source};
use crate::node::Node;

/// A query inside an expression in a form that can become part of the FROM clause around it.
#[derive(Debug, Clone)]
pub(crate) struct UnnestedQuery {
    pub(crate) joins: Joins,
    /// Its first column, and the type of that.
    pub(crate) item: Expression,
    pub(crate) item_type: SqlType,
}

/// A query of aggregates for each row, as one that groups.
#[derive(Debug, Clone)]
pub(crate) struct GroupedQuery {
    pub(crate) plan: Node,
    /// Types of its columns: those of the keys, then those of the aggregates.
    pub(crate) types: Vec<SqlType>,
    /// What the keys are compared to in the row around the query; captures stand in it as registers.
    pub(crate) around: Vec<(Expression, Collation)>,
    /// The value that is asked for, over the aggregates.
    pub(crate) item: Expression,
    /// Of each aggregate whether it is 0 of no rows, rather than NULL.
    pub(crate) counts: Vec<bool>,
    /// What it costs, and what the query costs for one row.
    pub(crate) cost: f64,
    pub(crate) cost_for_row: f64,
}

impl GroupedQuery {
    /// What the query costs for each row, as it is written.
    pub(crate) fn cost_for_row(&self) -> f64 {
        self.cost_for_row
    }
}

/// A FROM clause with its conditions.
#[derive(Debug, Clone)]
pub(crate) struct Joins {
    /// Where rows come from.
    pub(crate) sources: Vec<Source>,
    /// Their columns that are used. Rules add some at the end: those that were there keep their numbers.
    pub(crate) slots: Vec<Slot>,
    /// How the sources are joined.
    pub(crate) tree: FromTree,
    /// WHERE.
    pub(crate) conditions: Vec<Expression>,
    /// Columns that are looked at outside of all that, by slot.
    pub(crate) wanted: BTreeSet<usize>,
    /// What becomes of queries for each row in the conditions.
    pub(crate) groups: Groups,
    /// What scans for these groups cost beyond what is counted, in comparison with look-ups.
    pub(crate) beyond_cost: f64,
}

/// What becomes of queries for each row that could be joined with groups (`scalar_groups`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Groups {
    /// They are, where that seems cheaper; there were none.
    #[default]
    Allowed,
    /// Some are: whether that is cheaper is to be seen when all is planned.
    Taken,
    /// They run for each row.
    Forbidden,
}

pub(crate) fn flatten(tree: FromTree, items: &mut Vec<FromTree>, conditions: &mut Vec<Expression>) {
    match tree {
        FromTree::Group(parts, own) => {
            parts.into_iter().for_each(|part| flatten(part, items, conditions));
            conditions.extend(own);
        }
        other => items.push(other),
    }
}
