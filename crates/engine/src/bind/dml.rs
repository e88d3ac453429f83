//! Statements that change rows.

use farbird_sql::ast;
use farbird_types::Result;

use crate::bind::error::unsupported;
use crate::bind::{Environment, Prepared, VariableScope};

pub(crate) fn bind_insert(environment: &Environment, statement: &ast::Insert, variables: &dyn VariableScope) -> Result<Prepared> {
    let _ = (environment, statement, variables);
    Err(unsupported("the statement"))
}

pub(crate) fn bind_update(environment: &Environment, statement: &ast::Update, variables: &dyn VariableScope) -> Result<Prepared> {
    let _ = (environment, statement, variables);
    Err(unsupported("the statement"))
}

pub(crate) fn bind_delete(environment: &Environment, statement: &ast::Delete, variables: &dyn VariableScope) -> Result<Prepared> {
    let _ = (environment, statement, variables);
    Err(unsupported("the statement"))
}

pub(crate) fn bind_update_or_insert(environment: &Environment, statement: &ast::UpdateOrInsert, variables: &dyn VariableScope) -> Result<Prepared> {
    let _ = (environment, statement, variables);
    Err(unsupported("the statement"))
}

pub(crate) fn bind_merge(environment: &Environment, statement: &ast::Merge, variables: &dyn VariableScope) -> Result<Prepared> {
    let _ = (environment, statement, variables);
    Err(unsupported("the statement"))
}
