//! The binder: syntax trees to plans, names to positions.
//!
//! Binding looks at nothing but the catalog and what the caller says about variables: it can be done once for many
//! executions. Whatever a statement needs beyond its plan (parameters, columns, privileges) is told in [`Prepared`].
//!
//! | file | subject |
//! |---|---|
//! | `prepared` | what binding is told, and what comes of it |
//! | `binder` | what is being bound: scopes, parameters, frame |
//! | `namespace`, `scope` | sources of columns, the names that can be seen, and the search for them |
//! | `source` | what stands in FROM: tables, procedures, joins |
//! | `derived` | queries in FROM: views, derived tables, common tables |
//! | `query` | SELECT |
//! | `union` | UNION, recursive common tables |
//! | `alone` | expressions that stand by themselves |
//! | `expression`, `literal`, `predicate`, `function`, `unifying` | values and predicates |
//! | `inference` | types of parameters |
//! | `plan_clause` | the tables and indexes that PLAN names |
//! | `grouping` | aggregates and window functions |
//! | `dml` | statements that change rows |
//! | `changed`, `returning` | the table or view they change, and what they give back |
//! | `target` | the table that a statement changes: defaults, constraints, references |
//! | `array` | elements of arrays, and where arrays cannot stand |
//! | `label` | names of result columns |
//! | `data_type` | types as they are written |
//! | `dialect_one` | what values are in SQL dialect 1 |
//! | `error` | the statuses of binding |

mod alone;
mod array;
pub(crate) mod binder;
mod changed;
mod collating;
pub mod data_type;
mod derived;
mod dialect_one;
mod dml;
mod error;
mod expression;
mod function;
pub(crate) mod grouping;
pub(crate) mod inference;
mod label;
mod literal;
mod namespace;
mod plan_clause;
mod predicate;
mod prepared;
pub(crate) mod query;
mod returning;
pub(crate) mod scope;
mod shared;
pub(crate) mod source;
pub(crate) mod target;
mod unifying;
mod union;

use std::sync::Arc;

use farbird_catalog::Relation;
use farbird_expression::BoundExpression;
use farbird_sql::ast;
use farbird_types::{Result, SqlType};

pub use crate::bound::environment::Environment;
pub use binder::unknown_type;
pub use farbird_catalog::{Access, AccessPrivilege};
pub use inference::parameters_of_argument;
pub use prepared::{
    Action, ComputedVariable, LocalFunction, NoVariables, Prepared, QueryDescription, QueryOptions,
    RowKeyVariable, Variable, VariableScope,
};
pub use target::table_target;

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

/// Binds a PSQL cursor's query as one of the row alone whose number is in a slot, whatever the query asks for; nothing if its columns
/// do not come from one row of one table.
///
/// # Errors
/// As [`bind_statement`].
pub fn bind_row_of_select(
    environment: &Environment,
    select: &ast::SelectStatement,
    variables: &dyn VariableScope,
    row_number: usize,
) -> Result<Option<Prepared>> {
    query::bind_row_of_select(environment, select, variables, row_number)
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
    alone::bind_alone(environment, expression, variables, target).map(|(bound, _)| bound)
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
    alone::bind_alone(environment, expression, variables, target)
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
    alone::bind_row_expression(environment, relation, expression, target).map(|(bound, _)| bound)
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
    alone::bind_domain_check(environment, domain_type, check).map(|(bound, _)| bound)
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
    alone::bind_domain_check(environment, domain_type, check)
}

/// What a query gives, without planning it: for CREATE VIEW.
///
/// # Errors
/// As [`bind_statement`].
pub fn describe_query(environment: &Environment, query: &ast::Query) -> Result<QueryDescription> {
    query::describe(environment, query)
}
