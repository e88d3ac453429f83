//! INSERT, UPDATE, DELETE, UPDATE OR INSERT and MERGE.

use farbird_types::{Error, Result, Value, isc};

use crate::execute::context::ExecutionContext;
use crate::plan::modification::ModifyPlan;

/// What a statement did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Modified {
    /// Rows of RETURNING, in the order in which the rows were changed.
    pub returned: Vec<Vec<Value>>,
    /// Rows inserted, updated and deleted by the statement itself (ROW_COUNT). What triggers and cascades did counts in
    /// the context's counts, not here.
    pub rows: u64,
}

/// Runs a statement that changes rows. Whole or not at all: an error undoes what it did, its triggers and cascades
/// included.
///
/// # Errors
/// Violated constraints, conflicts with other transactions, those of its expressions and triggers.
pub fn modify(plan: &ModifyPlan, context: &mut ExecutionContext<'_>) -> Result<Modified> {
    let _ = (plan, context);
    Err(Error::new(isc::WISH_LIST))
}
