//! The way to PSQL: stored functions, selectable procedures and triggers, as statements need them.

use farbird_types::{Result, Value};

use crate::execute::context::ExecutionContext;

pub(crate) use crate::psql::{ProcedureRows, call_function, call_local_function};

/// The rows of a system table, whole.
pub(crate) fn system_rows(
    context: &mut ExecutionContext<'_>,
    relation: &crate::catalog::Relation,
) -> Result<Vec<Vec<Value>>> {
    crate::system::rows(context, relation, &vec![true; relation.columns.len()])
}
