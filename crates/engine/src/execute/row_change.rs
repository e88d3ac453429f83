//! One row inserted, updated or deleted, with everything that belongs to it: triggers, constraints, references.
//!
//! The order is Firebird's: BEFORE triggers, CHECK, NOT NULL and domains, the row itself with its unique keys, foreign
//! keys and references, AFTER triggers.

use farbird_sql::ast::TriggerAction;
use farbird_store::{RowId, StoreError};
use farbird_types::{Error, Result, SqlType, Value, convert};

use crate::execute::constraint::{self, refused_row};
use crate::execute::context::ExecutionContext;
use crate::execute::reference;
use crate::plan::modification::Target;
use crate::psql::{TriggerMoment, fire_triggers};

/// Why a row could not be changed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Others changed the row while the statement ran: it may run again under a new view. The status says so to
    /// those who do not.
    Restart(Error),
    /// Anything else.
    Error(Error),
}

/// What changing a row leads to.
pub(crate) type Change<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::StatementRestart { .. } => Failure::Restart(error.into()),
            other => Failure::Error(other.into()),
        }
    }
}

/// What a column gets that nothing is assigned to.
///
/// # Errors
/// Those of its default.
pub(crate) fn default_value(
    target: &Target,
    slot: usize,
    context: &mut ExecutionContext<'_>,
) -> Result<Value> {
    let Some(column) = target.columns.get(slot).and_then(Option::as_ref) else { return Ok(Value::Null) };
    if let Some((sequence, increment, _)) = column.identity {
        let next = Value::integer(context.transaction.store.store().sequence_next(sequence, increment)?);
        return match column.sql_type {
            SqlType::BIGINT => Ok(next),
            sql_type => convert::cast(&next, &sql_type, &context.cast),
        };
    }
    match &column.default {
        Some(default) => default.evaluate(context),
        None => Ok(Value::Null),
    }
}

/// Inserts a row; `new` is as it was stored afterwards.
pub(crate) fn insert(
    target: &Target,
    new: &mut Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let relation = &target.relation;
    if target.triggers.before_insert {
        fire_triggers(context, relation, TriggerMoment::Before, TriggerAction::Insert, None, Some(new))?;
        constraint::restore_types(target, new, context)?;
    }
    if target.stored {
        constraint::check_row(target, new, context)?;
        context
            .transaction
            .store
            .insert(&target.layout, new)
            .map_err(|error| refused_row(target, error, context))?;
        constraint::check_foreign_keys(target, None, new, context)?;
    }
    if target.triggers.after_insert {
        fire_triggers(context, relation, TriggerMoment::After, TriggerAction::Insert, None, Some(new))?;
    }
    Ok(())
}

/// Replaces a row; `new` is as it was stored afterwards.
pub(crate) fn update(
    target: &Target,
    row: RowId,
    old: &[Value],
    new: &mut Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let relation = &target.relation;
    if target.triggers.before_update {
        fire_triggers(context, relation, TriggerMoment::Before, TriggerAction::Update, Some(old), Some(new))?;
        constraint::restore_types(target, new, context)?;
    }
    if target.stored {
        constraint::check_row(target, new, context)?;
        let view = context.view.clone();
        context
            .transaction
            .store
            .update(&target.layout, &view, row, new)
            .map_err(|error| refused_row(target, error, context))?;
        constraint::check_foreign_keys(target, Some(old), new, context)?;
        reference::after_update(target, row, old, new, context)?;
    }
    if target.triggers.after_update {
        fire_triggers(context, relation, TriggerMoment::After, TriggerAction::Update, Some(old), Some(new))?;
    }
    Ok(())
}

/// Deletes a row; false if a trigger or cascade of the same statement has deleted it already.
pub(crate) fn delete(
    target: &Target,
    row: RowId,
    old: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Change<bool> {
    let relation = &target.relation;
    if target.triggers.before_delete {
        fire_triggers(context, relation, TriggerMoment::Before, TriggerAction::Delete, Some(old), None)?;
    }
    if target.stored {
        let view = context.view.clone();
        match context.transaction.store.delete(&target.layout, &view, row) {
            Ok(()) => {}
            Err(StoreError::NoSuchRow { .. }) => return Ok(false),
            Err(error) => return Err(refused_row(target, error, context)),
        }
        reference::after_delete(target, row, old, context)?;
    }
    if target.triggers.after_delete {
        fire_triggers(context, relation, TriggerMoment::After, TriggerAction::Delete, Some(old), None)?;
    }
    Ok(true)
}
