//! What binding is told of the place that a statement stands in, and what comes of it.

use std::sync::Arc;

use farbird_catalog::{Access, Relation, Routine};
use farbird_session::{ColumnDescription, StatementKind};
use farbird_types::{ColumnType, Error, SqlType};

use crate::modification::ModifyPlan;
use crate::node::SelectPlan;

/// A variable or parameter of PSQL, by its slot in [`farbird_expression::ExecutionContext::parameters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its slot.
    pub slot: usize,
    /// Its type.
    pub column_type: ColumnType,
}

/// A computed column of a trigger's NEW or OLD: it follows what is assigned to the others.
#[derive(Debug, Clone)]
pub struct ComputedVariable {
    /// The table.
    pub relation: Arc<Relation>,
    /// The column's place in it.
    pub column: usize,
    /// Where the row begins, by field id; `None` if what fires the trigger has no such row.
    pub first: Option<usize>,
}

/// The number of the row that a trigger's NEW or OLD is, for RDB$DB_KEY and RDB$RECORD_VERSION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowKeyVariable {
    /// RDB$RELATION_ID of the trigger's table.
    pub relation: u32,
    /// Where the number is: NULL before the row has one.
    pub slot: usize,
    /// Whether it is NEW, and thereby of the running transaction.
    pub is_new: bool,
    /// Whether what fires the trigger has such a row.
    pub exists: bool,
}

/// A function declared in the routine that is being bound.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalFunction {
    /// Its number, handed to `psql::call_local_function`.
    pub number: usize,
    /// Types of its parameters.
    pub parameters: Vec<SqlType>,
    /// How many arguments a call must have at least; defaults are the callee's matter.
    pub required: usize,
    /// Type of its result.
    pub result: ColumnType,
}

/// What names mean in the routine that a statement stands in.
///
/// Columns win over variables, except where a colon says otherwise.
pub trait VariableScope {
    /// A variable by name; with a qualifier a cursor's field, or a column of NEW or OLD.
    fn variable(&self, qualifier: Option<&str>, name: &str) -> Option<Variable>;

    /// A computed column of NEW or OLD.
    fn computed_column(&self, qualifier: &str, name: &str) -> Option<ComputedVariable> {
        let _ = (qualifier, name);
        None
    }

    /// The number of the row that NEW or OLD is.
    fn row_key(&self, qualifier: &str) -> Option<RowKeyVariable> {
        let _ = qualifier;
        None
    }

    /// The slot in which a cursor keeps the row number of a table's row: for WHERE CURRENT OF. The number is an
    /// INTEGER value; see [`QueryOptions::row_numbers`].
    fn cursor_row_number(&self, cursor: &str, relation: &str) -> Option<usize> {
        let _ = (cursor, relation);
        None
    }

    /// Whether a cursor is that of a loop: FOR SELECT ... AS CURSOR.
    fn is_loop_cursor(&self, cursor: &str) -> bool {
        let _ = cursor;
        false
    }

    /// A function declared in the routine.
    fn local_function(&self, name: &str) -> Option<LocalFunction> {
        let _ = name;
        None
    }

    /// A procedure declared in the routine, for FROM.
    fn local_procedure(&self, name: &str) -> Option<Arc<Routine>> {
        let _ = name;
        None
    }

    /// The type of a parameter (`?`) of the statement, by its number, if that is known already.
    fn parameter_type(&self, number: usize) -> Option<ColumnType> {
        let _ = number;
        None
    }

    /// Whether statements stand in PSQL: `?` is no parameter there.
    fn is_psql(&self) -> bool {
        true
    }

    /// Whether they stand in a trigger: what fires it is known there.
    fn is_trigger(&self) -> bool {
        false
    }
}

/// The scope of statements that stand in no routine.
#[derive(Debug, Clone, Copy)]
pub struct NoVariables;

impl VariableScope for NoVariables {
    fn variable(&self, _qualifier: Option<&str>, _name: &str) -> Option<Variable> {
        None
    }

    fn is_psql(&self) -> bool {
        false
    }
}

/// A statement bound to the catalog, ready to run any number of times.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What clients are told it is.
    pub kind: StatementKind,
    /// What running it does.
    pub action: Action,
    /// Its parameters, in order.
    pub parameters: Vec<ColumnDescription>,
    /// Its result columns.
    pub columns: Vec<ColumnDescription>,
    /// Whether its rows are fetched from a cursor, rather than handed back as one row.
    pub has_cursor: bool,
    /// Plan in the short form; empty for none.
    pub plan: String,
    /// Plan in the explained form; empty for none.
    pub explained_plan: String,
    /// What its user must be allowed.
    pub accesses: Vec<Access>,
    /// What its client is warned of.
    pub warnings: Option<Error>,
}

/// What running a statement does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Opens a cursor: `execute::Cursor::open`.
    Select(Arc<SelectPlan>),
    /// Changes rows: `execute::modify`.
    Modify(Arc<ModifyPlan>),
}

/// How a query is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryOptions {
    /// Rows carry, after their columns, the row numbers of the tables they were read from
    /// ([`SelectPlan::row_numbers`]), so that UPDATE and DELETE ... WHERE CURRENT OF can name them.
    pub row_numbers: bool,
}

/// A query as a view or a CREATE TABLE sees it.
#[derive(Debug, Clone)]
pub struct QueryDescription {
    /// Its columns.
    pub columns: Vec<ColumnDescription>,
    /// What it uses.
    pub accesses: Vec<Access>,
}
