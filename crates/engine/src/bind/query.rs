//! SELECT.

use farbird_sql::ast;
use farbird_types::Result;

use crate::bind::error::unsupported;
use crate::bind::{Environment, Prepared, QueryDescription, QueryOptions, VariableScope};

pub(crate) fn bind_select(
    environment: &Environment,
    select: &ast::SelectStatement,
    variables: &dyn VariableScope,
    options: QueryOptions,
) -> Result<Prepared> {
    let _ = (environment, select, variables, options);
    Err(unsupported("the query"))
}

pub(crate) fn describe(environment: &Environment, query: &ast::Query) -> Result<QueryDescription> {
    let _ = (environment, query);
    Err(unsupported("the query"))
}
