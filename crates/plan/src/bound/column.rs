//! Columns as names see them.

use std::sync::Arc;

use farbird_expression::Expression;
use farbird_types::{ArrayShape, ColumnType};

use crate::bound::source::SourceColumn;

/// Where a result column comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Origin {
    /// The column.
    pub(crate) field: String,
    /// Its relation.
    pub(crate) relation: String,
    /// The relation's alias in the query.
    pub(crate) alias: String,
    /// The relation's owner.
    pub(crate) owner: String,
    /// What it is an array of.
    pub(crate) array: Option<Arc<ArrayShape>>,
}

/// A column as names see it.
#[derive(Debug, Clone)]
pub(crate) struct NamedColumn {
    /// Its name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) value: NamedValue,
    /// Its type.
    pub(crate) column_type: ColumnType,
    /// Where it comes from.
    pub(crate) origin: Origin,
    /// A VARCHAR that clients are told to be a CHAR: see [`crate::bound::query::OutputColumn::sent_as_char`].
    pub(crate) sent_as_char: bool,
}

/// What a column is.
#[derive(Debug, Clone)]
pub(crate) enum NamedValue {
    /// A column of a source.
    Source(usize, SourceColumn),
    /// A computed column of a table, by its place in it.
    Computed {
        /// The row that it is computed of.
        row: ComputedRow,
        /// The table.
        relation: Arc<farbird_catalog::Relation>,
        /// The column's place in the table.
        column: usize,
    },
    /// Something computed, over the block's slots.
    Expression(Expression),
}

/// The row that a computed column is computed of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ComputedRow {
    /// That of a source, which may be missing if it stands on such a side of an outer join.
    Source { source: usize, nullable: bool },
    /// A row by slot (field id) among other columns.
    Columns(RowSlot),
    /// A row by slot in parameters: OLD and NEW of a trigger.
    Parameters { first: usize },
}

/// Where a row by slot stands among the columns that are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowSlot {
    /// Where it begins.
    pub(crate) offset: usize,
    /// The column that is NULL where there is no such row; none if there always is one.
    pub(crate) presence: Option<usize>,
}

impl RowSlot {
    /// A row that is always there.
    pub(crate) fn at(offset: usize) -> RowSlot {
        RowSlot { offset, presence: None }
    }

    /// A value of the row: NULL without one.
    pub(crate) fn value(self, value: Expression) -> Expression {
        value.null_without(self.presence)
    }
}
