//! UPDATE and DELETE ... WHERE CURRENT OF: the row that a cursor stands on, and what the cursor's fields show after it was changed.
//!
//! As in Firebird the fields are those of the row as such a statement has left it, triggers included, and NULL once it has deleted the
//! row: another one on that row does nothing. Changes that others make show at the next such statement. Neither begins a count of its
//! own for ROW_COUNT.

use std::sync::Arc;

use farbird_execute::{Cursor, KeptSource, modify_again};
use farbird_expression::ExecutionContext;
use farbird_plan::SelectPlan;
use farbird_plan::modification::{ModifyAction, ModifyPlan};
use farbird_types::{Error, Result, Value, isc};

use crate::execution::{Execution, assign, forget_row, store, store_returned};
use crate::routine::{CompiledRoutine, CursorDefinition, Positioned, Store};

/// What stands in the place of the number of a row that was deleted through its cursor: no row has it.
const DELETED: i64 = -1;

impl Execution {
    /// Changes the row that a cursor stands on.
    ///
    /// # Errors
    /// `no_cur_rec` if it stands on none, and those of the change.
    pub(super) fn modify_current(
        &mut self,
        routine: &CompiledRoutine,
        row: Positioned,
        plan: &ModifyPlan,
        source: &mut KeptSource,
        targets: &[Store],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        match context.parameters.get(row.row) {
            Some(Value::Null) | None => return Err(Error::new(isc::NO_CUR_REC)),
            Some(Value::Integer { unscaled: DELETED, .. }) => return Ok(()),
            Some(_) => {}
        }
        let modified = modify_again(plan, source, context)?;
        context.routine.affected.add_changed(modified.rows);
        if modified.rows > 0
            && let Some(definition) = routine.cursors.get(row.cursor)
        {
            self.show_change(routine, row, definition, plan, context)?;
        }
        store_returned(routine, modified, targets, context)
    }

    fn show_change(
        &mut self,
        routine: &CompiledRoutine,
        row: Positioned,
        definition: &CursorDefinition,
        plan: &ModifyPlan,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        if matches!(plan.action, ModifyAction::Delete(_)) {
            if definition.again.is_some() {
                forget_row(definition, context)?;
            }
            return assign(context, row.row, Value::integer(DELETED));
        }
        match &definition.again {
            Some(again) if row.shows => self.read_again(routine, definition, again, context),
            _ => Ok(()),
        }
    }

    /// Reads the fields of a cursor from its row.
    fn read_again(
        &mut self,
        routine: &CompiledRoutine,
        definition: &CursorDefinition,
        again: &Arc<SelectPlan>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        self.see_changes(context)?;
        let Some(values) = Cursor::open(again, context)?.next_row(context)? else { return Ok(()) };
        // The row's number stands last, and stays.
        let columns = definition.fields.len().saturating_sub(1);
        store(routine, &values, definition.fields.get(..columns).unwrap_or_default(), context)
    }
}
