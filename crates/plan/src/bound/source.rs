//! What the rows of a query come from, bound: sources, their columns, and how they are joined.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_catalog::{Relation, Routine};
use farbird_expression::Expression;
use farbird_types::SqlType;

use crate::node::{AccessHint, Node};

/// Where rows of a block come from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// What it is.
    pub(crate) kind: SourceKind,
    /// Its names in plans: those of the views it stands in, then its own alias.
    pub(crate) path: Vec<String>,
    /// How a PLAN clause has it read.
    pub(crate) hint: Option<Arc<AccessHint>>,
}

impl Source {
    /// A source that no PLAN clause says anything of.
    pub(crate) fn new(kind: SourceKind, path: Vec<String>) -> Source {
        Source { kind, path, hint: None }
    }
}

/// The order in which a PLAN clause has sources joined.
#[derive(Debug, Clone)]
pub(crate) enum JoinHint {
    /// A source, by its number.
    Source(usize),
    /// Each is joined to those before.
    Join(Vec<JoinHint>),
}

impl JoinHint {
    /// Gives each source another number.
    pub(crate) fn move_sources(&mut self, by: usize) {
        match self {
            JoinHint::Source(source) => *source += by,
            JoinHint::Join(parts) => parts.iter_mut().for_each(|part| part.move_sources(by)),
        }
    }

    /// Its sources.
    pub(crate) fn sources(&self, out: &mut BTreeSet<usize>) {
        match self {
            JoinHint::Source(source) => {
                out.insert(*source);
            }
            JoinHint::Join(parts) => parts.iter().for_each(|part| part.sources(out)),
        }
    }
}

/// The kinds of sources.
#[derive(Debug, Clone)]
pub(crate) enum SourceKind {
    /// A table.
    Table(Arc<Relation>),
    /// A selectable procedure with its inputs, over the slots of the sources before it.
    Procedure(Arc<Routine>, Vec<Expression>),
    /// A query with a plan of its own, and what it takes from the sources before it.
    Derived {
        /// Its plan.
        plan: Node,
        /// Register and value, over the slots of the sources before it.
        captures: Vec<(usize, Expression)>,
        /// Types of its columns.
        types: Vec<SqlType>,
    },
    /// What the recursive member of a common table sees of it: its place in the frame, and the types of its columns.
    Working(usize, Vec<SqlType>),
}

/// A column of a source that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Which source.
    pub(crate) source: usize,
    /// Which column.
    pub(crate) column: SourceColumn,
}

/// A column of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceColumn {
    /// By its place.
    Field(usize),
    /// The number of the row.
    RowNumber,
}

/// How the sources of a block are joined.
#[derive(Debug, Clone)]
pub(crate) enum FromTree {
    /// One source.
    Source(usize),
    /// Inner joins, in any order.
    Group(Vec<FromTree>, Vec<Expression>),
    /// LEFT JOIN; RIGHT is turned around.
    Left(Box<FromTree>, Box<FromTree>, Vec<Expression>),
    /// FULL JOIN.
    Full(Box<FromTree>, Box<FromTree>, Vec<Expression>),
    /// A member of a group that gives no rows of its own: those of the others stay that have a partner in it, or none. Only
    /// planning makes it, of EXISTS and its like.
    Dropping {
        /// Where partners come from.
        query: Box<FromTree>,
        /// What makes a row a partner; also conditions on the query alone.
        on: Vec<Expression>,
        /// Whether rows stay that have none.
        anti: bool,
    },
    /// A member of a group whose rows are joined where they are partners, and none where there are none: a LEFT JOIN that may come
    /// at any time behind what its conditions look at. Only planning makes it.
    Optional {
        /// Where partners come from.
        query: Box<FromTree>,
        /// What makes a row a partner.
        on: Vec<Expression>,
    },
}

impl SourceKind {
    /// The type of a column, by its place.
    pub(crate) fn column_type(&self, place: usize) -> Option<SqlType> {
        match self {
            SourceKind::Table(relation) => relation.columns.get(place).map(|column| column.sql_type),
            SourceKind::Procedure(procedure, _) => procedure.outputs.get(place).map(|output| output.sql_type),
            SourceKind::Derived { types, .. } | SourceKind::Working(_, types) => types.get(place).copied(),
        }
    }
}

impl FromTree {
    /// Calls `change` with each condition.
    pub(crate) fn for_each_condition_mut(&mut self, change: &mut dyn FnMut(&mut Expression)) {
        match self {
            FromTree::Source(_) => {}
            FromTree::Group(items, conditions) => {
                items.iter_mut().for_each(|item| item.for_each_condition_mut(change));
                conditions.iter_mut().for_each(change);
            }
            FromTree::Left(left, right, conditions) | FromTree::Full(left, right, conditions) => {
                left.for_each_condition_mut(change);
                right.for_each_condition_mut(change);
                conditions.iter_mut().for_each(change);
            }
            FromTree::Dropping { query, on, .. } | FromTree::Optional { query, on } => {
                query.for_each_condition_mut(change);
                on.iter_mut().for_each(change);
            }
        }
    }

    /// The sources that may have no row in a row of the join.
    pub(crate) fn nullable_sources(&self, out: &mut BTreeSet<usize>) {
        let mut all = |tree: &FromTree| {
            let mut sources = Vec::new();
            tree.sources(&mut sources);
            out.extend(sources);
        };
        match self {
            FromTree::Source(_) | FromTree::Dropping { .. } => {}
            FromTree::Group(items, _) => items.iter().for_each(|item| item.nullable_sources(out)),
            FromTree::Left(left, right, _) => {
                all(right);
                left.nullable_sources(out);
            }
            FromTree::Optional { query, .. } => all(query),
            FromTree::Full(left, right, _) => {
                all(left);
                all(right);
            }
        }
    }

    /// Gives each source another number.
    pub(crate) fn move_sources(&mut self, by: usize) {
        match self {
            FromTree::Source(source) => *source += by,
            FromTree::Group(items, _) => items.iter_mut().for_each(|item| item.move_sources(by)),
            FromTree::Left(left, right, _) | FromTree::Full(left, right, _) => {
                left.move_sources(by);
                right.move_sources(by);
            }
            FromTree::Dropping { query, .. } | FromTree::Optional { query, .. } => query.move_sources(by),
        }
    }

    /// Whether it has no outer joins.
    pub(crate) fn is_inner(&self) -> bool {
        match self {
            FromTree::Source(_) => true,
            FromTree::Group(items, _) => items.iter().all(FromTree::is_inner),
            FromTree::Dropping { query, .. } => query.is_inner(),
            FromTree::Left(..) | FromTree::Full(..) | FromTree::Optional { .. } => false,
        }
    }

    /// Its sources.
    pub(crate) fn sources(&self, out: &mut Vec<usize>) {
        match self {
            FromTree::Source(source) => out.push(*source),
            FromTree::Group(items, _) => items.iter().for_each(|item| item.sources(out)),
            FromTree::Left(left, right, _) | FromTree::Full(left, right, _) => {
                left.sources(out);
                right.sources(out);
            }
            FromTree::Dropping { query, .. } | FromTree::Optional { query, .. } => query.sources(out),
        }
    }
}
