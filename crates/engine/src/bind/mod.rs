//! The binder: syntax trees to plans, names to positions.
//!
//! Binding looks at nothing but the catalog and what the caller says about variables: it can be done once for many
//! executions. Whatever a statement needs beyond its plan (parameters, columns, privileges) is told in [`Prepared`].
//!
//! | file | subject |
//! |---|---|
//! | `binder` | what is being bound: scopes, parameters, frame |
//! | `scope` | sources of columns and the search for names |
//! | `source` | what stands in FROM: tables, procedures, joins |
//! | `derived` | queries in FROM: views, derived tables, common tables |
//! | `query` | SELECT |
//! | `union` | UNION, recursive common tables |
//! | `expression`, `literal`, `predicate`, `function` | values and predicates |
//! | `inference` | types of parameters |
//! | `grouping` | aggregates and window functions |
//! | `opaque` | columns that stand for expressions, in queries that group |
//! | `dml` | statements that change rows |
//! | `changed`, `returning` | the table or view they change, and what they give back |
//! | `target` | the table that a statement changes: defaults, constraints, references |
//! | `label` | names of result columns |
//! | `data_type` | types as they are written |
//! | `error` | the statuses of binding |

pub(crate) mod binder;
mod changed;
mod collating;
pub mod data_type;
mod derived;
mod dml;
mod error;
mod expression;
mod function;
pub(crate) mod grouping;
pub(crate) mod inference;
mod label;
mod literal;
mod opaque;
mod predicate;
pub(crate) mod query;
mod returning;
pub(crate) mod scope;
pub(crate) mod source;
pub(crate) mod target;
mod union;

use std::sync::Arc;

use farbird_sql::ast;
use farbird_types::{CharacterSet, ColumnType, Result, SqlType};

use crate::api::{ColumnDescription, StatementKind};
use crate::catalog::{Catalog, Relation};
use crate::expression::BoundExpression;
use crate::plan::SelectPlan;
use crate::plan::modification::ModifyPlan;

pub use crate::catalog::{Access, AccessPrivilege};
pub(crate) use binder::unknown_type;
pub(crate) use inference::parameters_of_argument;
pub use target::table_target;

/// What binding looks at.
#[derive(Debug, Clone)]
pub struct Environment {
    /// What exists.
    pub catalog: Arc<Catalog>,
    /// Character set of the attachment: that of its literals.
    pub character_set: CharacterSet,
    /// SQL dialect, 1 or 3.
    pub dialect: u8,
}

/// A variable or parameter of PSQL, by its slot in [`crate::expression::ExecutionContext::parameters`].
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

    /// The type of a parameter (`?`) of the statement, by its number, if that is known already.
    fn parameter_type(&self, number: usize) -> Option<ColumnType> {
        let _ = number;
        None
    }

    /// Whether statements stand in PSQL: `?` is no parameter there.
    fn is_psql(&self) -> bool {
        true
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
}

/// What running a statement does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Opens a cursor: [`crate::execute::Cursor::open`].
    Select(Arc<SelectPlan>),
    /// Changes rows: [`crate::execute::modify()`].
    Modify(Arc<ModifyPlan>),
}

/// How a query is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryOptions {
    /// Rows carry, after their columns, the row numbers of the tables they were read from
    /// ([`SelectPlan::row_numbers`]), so that UPDATE and DELETE ... WHERE CURRENT OF can name them.
    pub row_numbers: bool,
}

/// Binds SELECT, INSERT, UPDATE, DELETE, UPDATE OR INSERT or MERGE.
///
/// # Errors
/// Unknown and ambiguous names, types that do not go together, parameters whose type nothing tells; `wish_list` for
/// other statements.
pub fn bind_statement(
    environment: &Environment,
    statement: &ast::Statement,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    match &statement.kind {
        ast::StatementKind::Select(select) => bind_select(
            environment,
            select,
            variables,
            QueryOptions { row_numbers: select.for_update.is_some() },
        ),
        ast::StatementKind::Insert(insert) => dml::bind_insert(environment, insert, variables),
        ast::StatementKind::Update(update) => dml::bind_update(environment, update, variables),
        ast::StatementKind::Delete(delete) => dml::bind_delete(environment, delete, variables),
        ast::StatementKind::UpdateOrInsert(statement) => {
            dml::bind_update_or_insert(environment, statement, variables)
        }
        ast::StatementKind::Merge(merge) => dml::bind_merge(environment, merge, variables),
        _ => Err(error::unsupported("the statement")),
    }
}

/// Binds a SELECT: a client's statement or a PSQL cursor's.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_select(
    environment: &Environment,
    select: &ast::SelectStatement,
    variables: &dyn VariableScope,
    options: QueryOptions,
) -> Result<Prepared> {
    query::bind_select(environment, select, variables, options)
}

/// Binds INSERT.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_insert(
    environment: &Environment,
    insert: &ast::Insert,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    dml::bind_insert(environment, insert, variables)
}

/// Binds UPDATE.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_update(
    environment: &Environment,
    update: &ast::Update,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    dml::bind_update(environment, update, variables)
}

/// Binds DELETE.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_delete(
    environment: &Environment,
    delete: &ast::Delete,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    dml::bind_delete(environment, delete, variables)
}

/// Binds UPDATE OR INSERT.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_update_or_insert(
    environment: &Environment,
    statement: &ast::UpdateOrInsert,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    dml::bind_update_or_insert(environment, statement, variables)
}

/// Binds MERGE.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_merge(
    environment: &Environment,
    merge: &ast::Merge,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    dml::bind_merge(environment, merge, variables)
}

/// Binds an expression that stands by itself: in PSQL, or a default. With a `target` it is converted to that type.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_expression(
    environment: &Environment,
    expression: &ast::Expression,
    variables: &dyn VariableScope,
    target: Option<&SqlType>,
) -> Result<BoundExpression> {
    expression::bind_alone(environment, expression, variables, target).map(|(bound, _)| bound)
}

/// As [`bind_expression`], with what its user must be allowed: for expressions of a client's block.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_expression_with_accesses(
    environment: &Environment,
    expression: &ast::Expression,
    variables: &dyn VariableScope,
    target: Option<&SqlType>,
) -> Result<(BoundExpression, Vec<Access>)> {
    expression::bind_alone(environment, expression, variables, target)
}

/// Binds an expression over the rows of a table, given by slot (field id): computed columns, CHECK constraints, index
/// expressions. The table need not be in the catalog yet.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_row_expression(
    environment: &Environment,
    relation: &Arc<Relation>,
    expression: &ast::Expression,
    target: Option<&SqlType>,
) -> Result<BoundExpression> {
    target::bind_row_expression(environment, relation, expression, target).map(|(bound, _)| bound)
}

/// Binds a domain's CHECK, whose VALUE is the only value of its row.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_domain_check(
    environment: &Environment,
    domain_type: &SqlType,
    check: &ast::Expression,
) -> Result<BoundExpression> {
    target::bind_domain_check(environment, domain_type, check).map(|(bound, _)| bound)
}

/// As [`bind_domain_check`], with what whoever converts to the domain must be allowed.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_domain_check_with_accesses(
    environment: &Environment,
    domain_type: &SqlType,
    check: &ast::Expression,
) -> Result<(BoundExpression, Vec<Access>)> {
    target::bind_domain_check(environment, domain_type, check)
}

/// A query as a view or a CREATE TABLE sees it.
#[derive(Debug, Clone)]
pub struct QueryDescription {
    /// Its columns.
    pub columns: Vec<ColumnDescription>,
    /// What it uses.
    pub accesses: Vec<Access>,
}

/// What a query gives, without planning it: for CREATE VIEW.
///
/// # Errors
/// As [`bind_statement`].
pub fn describe_query(environment: &Environment, query: &ast::Query) -> Result<QueryDescription> {
    query::describe(environment, query)
}
