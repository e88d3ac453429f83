//! Values.

use farbird_sql::ast;
use farbird_types::{Result, SqlType};

use crate::bind::error::unsupported;
use crate::bind::{Environment, VariableScope};
use crate::expression::BoundExpression;

pub(crate) fn bind_alone(
    environment: &Environment,
    expression: &ast::Expression,
    variables: &dyn VariableScope,
    target: Option<&SqlType>,
) -> Result<BoundExpression> {
    let _ = (environment, expression, variables, target);
    Err(unsupported("the expression"))
}
