//! The names that can be seen: tables and their columns, common tables.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use farbird_catalog::{Column, Relation};
use farbird_expression::Expression;
use farbird_sql::ast;
use farbird_types::{ColumnType, isc};

use crate::bound::column::{ComputedRow, NamedColumn, NamedValue, Origin};
use crate::bound::environment::Environment;
use crate::bound::source::SourceColumn;

/// The names of one FROM clause.
#[derive(Debug)]
pub(crate) struct Namespace {
    /// The block whose rows the names speak of.
    pub(crate) block: usize,
    /// What stands in FROM.
    pub(crate) tables: Vec<NamedTable>,
    /// In which order errors name them, as far as it is not that of `tables`: Firebird turns each join round once it is bound.
    named_order: Vec<usize>,
    /// The first table that can be seen: the operands of a join do not see what stands to the left of the join.
    pub(crate) visible_from: usize,
    /// Columns that USING and NATURAL have merged.
    pub(crate) merged: Vec<MergedColumn>,
    /// Whether names outside cannot be seen: definitions of views and computed columns.
    pub(crate) barrier: bool,
    /// Whether these names cannot be seen just now: a derived table does not see its neighbours.
    pub(crate) hidden: bool,
}

/// Something in FROM, as names see it.
#[derive(Debug, Clone)]
pub(crate) struct NamedTable {
    /// Its alias, or its name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) origin: TableOrigin,
    /// Its columns, in order.
    pub(crate) columns: Vec<NamedColumn>,
    /// Whether it is a derived or common table.
    pub(crate) derived: bool,
    /// Where RDB$DB_KEY and RDB$RECORD_VERSION of its rows come from: several for a view of several tables.
    pub(crate) row_keys: Vec<RowKey>,
}

/// What stands in FROM under a name, as errors call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TableOrigin {
    /// A table, by its name.
    Table(String),
    /// A view, by its name.
    View(String),
    /// A procedure, by its name.
    Procedure(String),
    /// A query in FROM, by its alias, or the table of a WITH, by its name.
    Derived(String),
}

impl TableOrigin {
    /// The name of the table, view, procedure or query.
    pub(crate) fn name(&self) -> &str {
        match self {
            TableOrigin::Table(name)
            | TableOrigin::View(name)
            | TableOrigin::Procedure(name)
            | TableOrigin::Derived(name) => name,
        }
    }
}

impl Display for TableOrigin {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableOrigin::Table(name) => write!(formatter, "table {name}"),
            TableOrigin::View(name) => write!(formatter, "view {name}"),
            TableOrigin::Procedure(name) => write!(formatter, "procedure {name}"),
            TableOrigin::Derived(name) => write!(formatter, "derived table {name}"),
        }
    }
}

/// How a row of a stored table is told from others.
#[derive(Debug, Clone)]
pub(crate) struct RowKey {
    /// RDB$RELATION_ID.
    pub(crate) relation: u32,
    /// Where its number is.
    pub(crate) number: RowNumber,
}

/// Where the number of a row is.
#[derive(Debug, Clone)]
pub(crate) enum RowNumber {
    /// This source has it.
    Source(usize),
    /// In a row for RETURNING.
    Returned {
        number: Expression,
        /// What is written is of the running transaction.
        is_new: bool,
    },
}

/// A column that USING or NATURAL made of several: names without a qualifier and `*` see it instead of them.
#[derive(Debug, Clone)]
pub(crate) struct MergedColumn {
    /// What is seen.
    pub(crate) column: NamedColumn,
    /// What it was made of, in FROM order: places of table and column. It is seen where the first one stands.
    pub(crate) members: Vec<(usize, usize)>,
    /// COALESCE of them, which it is the same as where a query groups.
    pub(crate) whole: Expression,
}

/// Common tables of one WITH.
#[derive(Debug, Clone)]
pub(crate) struct CommonTableScope {
    /// The tables that are defined so far.
    pub(crate) tables: Vec<Arc<CommonTable>>,
}

/// A common table.
#[derive(Debug)]
pub(crate) struct CommonTable {
    /// Its name.
    pub(crate) name: String,
    /// Its definition.
    pub(crate) definition: ast::CommonTable,
    /// Whether it may refer to itself.
    pub(crate) recursive: bool,
    /// Whether its definition is being bound: reading it then is a cycle.
    pub(crate) busy: bool,
    /// While its recursive members are bound: what they see of it.
    pub(crate) working: Option<WorkingTable>,
}

/// What the recursive members of a common table see of it.
#[derive(Debug, Clone)]
pub(crate) struct WorkingTable {
    /// Place of the working row in the frame.
    pub(crate) place: usize,
    /// Names and types of its columns.
    pub(crate) columns: Vec<(String, ColumnType)>,
}

impl Namespace {
    pub(crate) fn new(block: usize) -> Namespace {
        Namespace {
            block,
            tables: Vec::new(),
            named_order: Vec::new(),
            visible_from: 0,
            merged: Vec::new(),
            barrier: false,
            hidden: false,
        }
    }

    /// The tables that can be seen, with their places.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (usize, &NamedTable)> {
        self.tables.iter().enumerate().skip(self.visible_from)
    }

    /// The tables with their places, in the order in which errors name them.
    fn in_named_order(&self) -> impl Iterator<Item = (usize, &NamedTable)> {
        let later = self.named_order.len()..self.tables.len();
        let numbers = self.named_order.iter().copied().chain(later);
        numbers.filter_map(|number| Some((number, self.tables.get(number)?)))
    }

    /// What errors call the tables that can be seen and for which `is_meant` holds, in Firebird's order.
    pub(crate) fn descriptions(&self, is_meant: impl Fn(usize, &NamedTable) -> bool) -> Vec<String> {
        self.in_named_order()
            .filter(|(number, table)| *number >= self.visible_from && is_meant(*number, table))
            .map(|(_, table)| table.origin.to_string())
            .collect()
    }

    /// The sources that are stored tables, in the order of their keys in RDB$DB_KEY of a view.
    pub(crate) fn keyed_sources(&self) -> Vec<usize> {
        let keys = self.in_named_order().flat_map(|(_, table)| &table.row_keys);
        keys.filter_map(|key| match key.number {
            RowNumber::Source(source) => Some(source),
            RowNumber::Returned { .. } => None,
        })
        .collect()
    }

    /// The operands of a join are there: errors name those of `first` before the others of the join, which goes to the
    /// end of `tables`.
    pub(crate) fn operands_are_bound(&mut self, start: usize, first: usize) {
        self.named_order.extend(self.named_order.len()..self.tables.len());
        if let (Some(join), Some(places)) = (self.named_order.get_mut(start..), first.checked_sub(start)) {
            join.rotate_left(places.min(join.len()));
        }
    }

    /// A join of everything from `start` is bound.
    pub(crate) fn join_is_bound(&mut self, start: usize) {
        if let Some(join) = self.named_order.get_mut(start..) {
            join.reverse();
        }
    }

    /// What a column's place shows without a qualifier; `None` if a merged column shows it further left.
    pub(crate) fn unqualified(&self, table: usize, column: usize) -> Option<&NamedColumn> {
        let place = (table, column);
        match self.merged_with(place) {
            Some(merged) => (merged.members.first() == Some(&place)).then_some(&merged.column),
            None => self.tables.get(table)?.columns.get(column),
        }
    }

    /// The column that a name with or without a qualifier shows at a place.
    pub(crate) fn shown(
        &self,
        qualifier: Option<&ast::Name>,
        table: usize,
        column: usize,
    ) -> Option<&NamedColumn> {
        match qualifier {
            Some(_) => self.tables.get(table)?.columns.get(column),
            None => self.unqualified(table, column),
        }
    }

    /// The merged column that a column has become part of.
    pub(crate) fn merged_with(&self, place: (usize, usize)) -> Option<&MergedColumn> {
        self.merged.iter().find(|merged| merged.members.contains(&place))
    }
}

impl NamedTable {
    /// Only views of several tables have a key of all of them.
    pub(crate) fn forget_joined_keys(&mut self) {
        if self.row_keys.len() > 1 {
            self.row_keys.clear();
        }
    }

    /// Whether a column of it stands for an expression.
    pub(crate) fn has_expressions(&self) -> bool {
        self.columns.iter().any(|column| !matches!(column.value, NamedValue::Source(..)))
    }

    /// What an alias is told that is the same as its name.
    pub(crate) fn conflict_code(&self) -> u32 {
        match &self.origin {
            TableOrigin::Table(name) | TableOrigin::View(name) if *name == self.name => {
                isc::RELATION_CONFLICT_ERR
            }
            TableOrigin::Procedure(name) if *name == self.name => isc::PROCEDURE_CONFLICT_ERROR,
            _ => isc::ALIAS_CONFLICT_ERR,
        }
    }

    /// The place of a column.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// Whether a column is NOT NULL, by itself or by its domain.
pub(crate) fn is_not_null(environment: &Environment, column: &Column) -> bool {
    column.not_null || environment.catalog.domains.get(&column.domain).is_some_and(|domain| domain.not_null)
}

/// The alias that descriptions show: none where none was written.
pub(crate) fn alias_of(alias: &str, relation: &str) -> String {
    if alias == relation { String::new() } else { alias.to_owned() }
}

/// A table's names over a row by slot.
pub(crate) fn row_table(environment: &Environment, relation: &Arc<Relation>, row: ComputedRow) -> NamedTable {
    let columns = relation.columns.iter().enumerate().map(|(place, column)| {
        let field = usize::from(column.field_id);
        let value = match (&column.computed_source, row) {
            (Some(_), _) => NamedValue::Computed { row, relation: relation.clone(), column: place },
            (None, ComputedRow::Columns(at)) => {
                NamedValue::Expression(at.value(Expression::Column(at.offset + field)))
            }
            (None, ComputedRow::Parameters { first }) => {
                NamedValue::Expression(Expression::Parameter(first + field))
            }
            (None, ComputedRow::Source { source, .. }) => {
                NamedValue::Source(source, SourceColumn::Field(place))
            }
        };
        let sql_type = column.sql_type;
        NamedColumn {
            name: column.name.clone(),
            value,
            column_type: ColumnType { sql_type, nullable: !is_not_null(environment, column) },
            origin: Origin {
                field: column.name.clone(),
                relation: relation.name.clone(),
                alias: String::new(),
                owner: relation.owner.clone(),
                array: column.array.clone(),
            },
            sent_as_char: false,
        }
    });
    NamedTable {
        name: relation.name.clone(),
        origin: TableOrigin::Table(relation.name.clone()),
        columns: columns.collect(),
        derived: false,
        row_keys: Vec::new(),
    }
}

/// What a query in FROM is called by.
pub(crate) enum SharedName {
    /// The table of a WITH.
    Common(Arc<CommonTable>),
    /// A view, by its name.
    View(String),
}

impl SharedName {
    /// Whether both are of one query.
    pub(crate) fn is(&self, other: &SharedName) -> bool {
        match (self, other) {
            (SharedName::Common(one), SharedName::Common(other)) => Arc::ptr_eq(one, other),
            (SharedName::View(one), SharedName::View(other)) => one == other,
            _ => false,
        }
    }
}

/// A query in FROM, met once or more often.
pub(crate) struct SharedQuery {
    /// What it is called by.
    pub(crate) name: SharedName,
    /// Where in the frame its rows are kept.
    pub(crate) place: usize,
    /// In how many places it stands.
    pub(crate) uses: Arc<AtomicUsize>,
}
