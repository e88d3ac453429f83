//! Whether whoever runs a DDL statement may do what it says.

use farbird_types::Result;

use crate::catalog::ObjectKind;
use crate::catalog::privileges::{self, DdlAction};
use crate::expression::ExecutionContext;

/// Checks that an object may be created, altered or dropped.
///
/// # Errors
/// `isc_no_priv`; also for system objects, which nobody may change.
pub(super) fn check_ddl(
    context: &ExecutionContext<'_>,
    kind: ObjectKind,
    action: DdlAction,
    name: &str,
) -> Result<()> {
    privileges::check_ddl(&context.transaction.current_catalog(), &context.actor(), kind, action, name)
}

/// As [`check_ddl`], for creating a view.
///
/// # Errors
/// As [`check_ddl`].
pub(super) fn check_create_view(context: &ExecutionContext<'_>, name: &str) -> Result<()> {
    privileges::check_create_view(&context.transaction.current_catalog(), &context.actor(), name)
}

/// As [`check_ddl`], for ALTER CHARACTER SET.
///
/// # Errors
/// As [`check_ddl`].
pub(super) fn check_alter_character_set(context: &ExecutionContext<'_>, name: &str) -> Result<()> {
    let catalog = context.transaction.current_catalog();
    privileges::check_alter_character_set(&catalog, &context.actor(), name)
}

/// As [`check_ddl`], for the triggers of a table, a view or the database: who may alter that may define them.
///
/// # Errors
/// As [`check_ddl`].
pub(super) fn check_triggers_of(context: &ExecutionContext<'_>, relation: Option<&str>) -> Result<()> {
    privileges::check_triggers_of(&context.transaction.current_catalog(), &context.actor(), relation)
}
