//! The table that a statement changes.

use std::sync::Arc;

use farbird_sql::ast;
use farbird_types::{Result, SqlType};

use crate::bind::Environment;
use crate::bind::error::unsupported;
use crate::catalog::Relation;
use crate::expression::BoundExpression;
use crate::plan::modification::Target;

/// The table that a statement changes, with everything that holds for its rows.
///
/// # Errors
/// Those of binding its defaults and constraints.
pub fn table_target(environment: &Environment, relation: &Arc<Relation>) -> Result<Target> {
    let _ = (environment, relation);
    Err(unsupported("the table"))
}

pub(crate) fn bind_row_expression(
    environment: &Environment,
    relation: &Arc<Relation>,
    expression: &ast::Expression,
    target: Option<&SqlType>,
) -> Result<BoundExpression> {
    let _ = (environment, relation, expression, target);
    Err(unsupported("the expression"))
}

pub(crate) fn bind_domain_check(
    environment: &Environment,
    domain_type: &SqlType,
    check: &ast::Expression,
) -> Result<BoundExpression> {
    let _ = (environment, domain_type, check);
    Err(unsupported("the check"))
}
