//! The way to PSQL: stored functions, selectable procedures and triggers, as statements need them.

use std::sync::Arc;

use farbird_types::{Error, Result, Value, isc};

use crate::catalog::Routine;
use crate::execute::context::ExecutionContext;

/// Calls a stored function with converted arguments.
pub(crate) fn call_function(
    context: &mut ExecutionContext<'_>,
    function: &Arc<Routine>,
    arguments: Vec<Value>,
) -> Result<Value> {
    let _ = (context, arguments);
    Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with(function.name.clone()))
}

/// Calls a function declared in the running routine.
pub(crate) fn call_local_function(
    context: &mut ExecutionContext<'_>,
    number: usize,
    arguments: Vec<Value>,
) -> Result<Value> {
    let _ = (context, number, arguments);
    Err(Error::new(isc::WISH_LIST))
}
