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

/// A selectable procedure that is running.
pub(crate) struct ProcedureRows {
    _private: (),
}

impl ProcedureRows {
    /// Starts it.
    pub(crate) fn open(
        procedure: &Arc<Routine>,
        arguments: Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<ProcedureRows> {
        let _ = (procedure, arguments, context);
        Err(Error::new(isc::WISH_LIST))
    }

    /// Its next row.
    pub(crate) fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let _ = context;
        Ok(None)
    }
}

/// The rows of a system table, whole.
pub(crate) fn system_rows(
    context: &mut ExecutionContext<'_>,
    relation: &crate::catalog::Relation,
) -> Result<Vec<Vec<Value>>> {
    let _ = (context, relation);
    Ok(Vec::new())
}
