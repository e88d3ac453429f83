//! One row inserted, updated or deleted, with everything that belongs to it: triggers, constraints, references.
//!
//! The order is Firebird's: BEFORE triggers, CHECK, NOT NULL and domains, the row itself with its unique keys and foreign
//! keys, AFTER triggers, cascades, and at last whether anything still refers to what has gone.
//!
//! A statement goes through its rows as they were when it began. What its own triggers and cascades have made meanwhile of
//! a row that it comes to is found out here: see [`update`] and [`delete`].

use farbird_catalog::RelationKind;
use farbird_catalog::system_tables::{is_live, refuse_change};
use farbird_catalog::triggers::TriggerMoment;
use farbird_expression::{ExecutionContext, Expression, FiredRows};
use farbird_plan::modification::{InsertRow, Target};
use farbird_sql::ast::TriggerAction;
use farbird_store::{LaterChange, RowId, StoreError};
use farbird_types::{Error, Result, SqlType, Value, convert, isc};

use crate::constraint::{self, refused_row};
use crate::external_append;
use crate::failure::Change;
use crate::reference::{self, RowChanges};
use crate::scan::row_id;

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

/// The row number of a source's row, if its table's row is there.
pub(crate) fn number_of(target: &Target, row: &[Value]) -> Option<RowId> {
    row.get(target.columns.len()).and_then(row_id)
}

/// The part of a source's row that is the target's.
pub(crate) fn old_row<'r>(target: &Target, row: &'r mut [Value]) -> &'r mut [Value] {
    let width = target.columns.len().min(row.len());
    row.get_mut(..width).unwrap_or_default()
}

/// The new row that assignments make of an old one.
pub(crate) fn assigned(
    target: &Target,
    assignments: &[(usize, Expression)],
    row: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Change<Vec<Value>> {
    let mut new: Vec<Value> = row.iter().take(target.columns.len()).cloned().collect();
    for (slot, value) in assignments {
        let value = value.evaluate(row, context)?;
        if let Some(place) = new.get_mut(*slot) {
            *place = value;
        }
    }
    Ok(new)
}

/// The row that INSERT makes of a source's row, by slot.
///
/// # Errors
/// Those of its values and defaults.
pub(crate) fn new_row(
    plan: &InsertRow,
    source: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Change<Vec<Value>> {
    let target = &plan.target;
    let mut new = vec![Value::Null; target.columns.len()];
    for (slot, value) in &plan.assignments {
        let value = value.evaluate(source, context)?;
        if let Some(place) = new.get_mut(*slot) {
            *place = value;
        }
    }
    for slot in &plan.missing {
        let value = default_value(target, *slot, context)?;
        if let Some(place) = new.get_mut(*slot) {
            *place = value;
        }
    }
    Ok(new)
}

/// Rows of system tables are not made.
fn check_insertable(target: &Target) -> Result<()> {
    match target.relation.kind {
        RelationKind::System if is_live(&target.relation) => Err(Error::new(isc::READ_ONLY)),
        RelationKind::System => Err(refuse_change("INSERT", &target.relation.name)),
        _ => Ok(()),
    }
}

/// Inserts a row; `new` is as it was stored afterwards.
pub(crate) fn insert(
    target: &Target,
    new: &mut Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Change<Option<RowId>> {
    let relation = &target.relation;
    let mut number = None;
    check_insertable(target)?;
    if target.triggers.before_insert {
        context.above.routines.fire_triggers(
            relation,
            TriggerMoment::Before,
            TriggerAction::Insert,
            FiredRows { new: Some(new), ..FiredRows::default() },
            context,
        )?;
        constraint::restore_types(target, new, context)?;
    }
    if target.stored {
        constraint::check_row(target, new, true, context)?;
        let inserted = context.transaction.store.insert(&target.layout, new);
        number = Some(inserted.map_err(|error| refused_row(target, error, context))?);
        constraint::check_foreign_keys(target, None, new, context)?;
    } else if relation.is_external() {
        constraint::check_row(target, new, true, context)?;
        external_append::append(relation, new, context)?;
    }
    if target.triggers.after_insert {
        context.above.routines.fire_triggers(
            relation,
            TriggerMoment::After,
            TriggerAction::Insert,
            FiredRows { new: Some(new), new_number: number, ..FiredRows::default() },
            context,
        )?;
    }
    Ok(number)
}

/// Replaces a row; false if the statement's own triggers or cascades have deleted it already. `new` is as it was stored
/// afterwards, `old` what it has replaced.
///
/// `old` comes as the statement has read it. Where triggers or cascades have changed the row since, foreign keys that they
/// may have changed and that `new` leaves as they were read keep their newer values. All other columns get those of `new`
/// (Firebird with `AllowUpdateOverwrite`, its default).
///
/// # Errors
/// Those of triggers, constraints and conflicts; `no_cur_rec` if a BEFORE trigger deletes the row itself.
pub(crate) fn update(
    target: &Target,
    row: RowId,
    old: &mut [Value],
    new: &mut Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Change<bool> {
    let relation = &target.relation;
    if relation.kind == RelationKind::System {
        context.above.system_tables.change(relation, old, new, context)?;
        return Ok(true);
    }
    let mut later = later_change(target, row, context)?;
    if later == Some(LaterChange::Deleted) {
        return Ok(false);
    }
    let number = Some(row).filter(|_| target.stored);
    if target.triggers.before_update {
        context.above.routines.fire_triggers(
            relation,
            TriggerMoment::Before,
            TriggerAction::Update,
            FiredRows { old: Some(old), old_number: number, new: Some(new), new_number: number },
            context,
        )?;
        constraint::restore_types(target, new, context)?;
        later = later_change(target, row, context)?;
    }
    match later {
        Some(LaterChange::Deleted) => return Err(Error::new(isc::NO_CUR_REC).into()),
        Some(LaterChange::Row(now)) => {
            keep_cascaded(target, old, new, &now);
            replace(old, now);
        }
        None => {}
    }
    if target.stored {
        constraint::check_row(target, new, false, context)?;
        let view = context.view.clone();
        context
            .transaction
            .store
            .update(&target.layout, &view, row, new)
            .map_err(|error| refused_row(target, error, context))?;
        constraint::check_foreign_keys(target, Some(old), new, context)?;
    } else if relation.is_external() {
        return Err(Error::new(isc::EXT_FILE_MODIFY).into());
    }
    if target.triggers.after_update {
        context.above.routines.fire_triggers(
            relation,
            TriggerMoment::After,
            TriggerAction::Update,
            FiredRows { old: Some(old), old_number: number, new: Some(new), new_number: number },
            context,
        )?;
    }
    if target.stored {
        reference::after_update(target, row, old, new, &Cascades, context)?;
    }
    Ok(true)
}

/// Deletes a row; false if a trigger or cascade of the same statement has deleted it already. `old` comes as the statement
/// has read it, and is as it was deleted afterwards.
///
/// # Errors
/// As [`update`].
pub(crate) fn delete(
    target: &Target,
    row: RowId,
    old: &mut [Value],
    context: &mut ExecutionContext<'_>,
) -> Change<bool> {
    let relation = &target.relation;
    if is_live(relation) {
        context.above.system_tables.stop(relation, old, context)?;
        return Ok(true);
    }
    if relation.kind == RelationKind::System {
        return Err(refuse_change("DELETE", &relation.name).into());
    }
    let mut later = later_change(target, row, context)?;
    if later == Some(LaterChange::Deleted) {
        return Ok(false);
    }
    let number = Some(row).filter(|_| target.stored);
    if target.triggers.before_delete {
        context.above.routines.fire_triggers(
            relation,
            TriggerMoment::Before,
            TriggerAction::Delete,
            FiredRows { old: Some(old), old_number: number, ..FiredRows::default() },
            context,
        )?;
        later = later_change(target, row, context)?;
    }
    match later {
        Some(LaterChange::Deleted) => return Err(Error::new(isc::NO_CUR_REC).into()),
        Some(LaterChange::Row(now)) => replace(old, now),
        None => {}
    }
    if target.stored {
        let view = context.view.clone();
        match context.transaction.store.delete(&target.layout, &view, row) {
            Ok(()) => {}
            Err(StoreError::NoSuchRow { .. }) => return Ok(false),
            Err(error) => return Err(refused_row(target, error, context)),
        }
    } else if relation.is_external() {
        return Err(Error::new(isc::EXT_FILE_DELETE).into());
    }
    if target.triggers.after_delete {
        context.above.routines.fire_triggers(
            relation,
            TriggerMoment::After,
            TriggerAction::Delete,
            FiredRows { old: Some(old), old_number: number, ..FiredRows::default() },
            context,
        )?;
    }
    if target.stored {
        reference::after_delete(target, row, old, &Cascades, context)?;
    }
    Ok(true)
}

/// What this transaction has made of a row since the running statement began.
fn later_change(target: &Target, row: RowId, context: &ExecutionContext<'_>) -> Change<Option<LaterChange>> {
    if !target.stored {
        return Ok(None);
    }
    Ok(context.transaction.store.changed_since(&target.layout, &context.view, row)?)
}

/// Keeps what cascades may have made of a row's foreign keys, column by column, where the new row has what was read.
fn keep_cascaded(target: &Target, read: &[Value], new: &mut [Value], now: &[Value]) {
    for rule in target.foreign_keys.iter().filter(|rule| rule.may_cascade) {
        for slot in &rule.slots {
            if let (Some(place), Some(now)) = (new.get_mut(*slot), now.get(*slot))
                && read.get(*slot) == Some(place)
            {
                place.clone_from(now);
            }
        }
    }
}

fn replace(row: &mut [Value], with: Vec<Value>) {
    for (place, value) in row.iter_mut().zip(with) {
        *place = value;
    }
}

/// Rows as cascades change them.
struct Cascades;

impl RowChanges for Cascades {
    fn default_value(
        &self,
        target: &Target,
        slot: usize,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        default_value(target, slot, context)
    }

    fn update(
        &self,
        target: &Target,
        row: RowId,
        old: &mut [Value],
        new: &mut Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Change<bool> {
        update(target, row, old, new, context)
    }

    fn delete(
        &self,
        target: &Target,
        row: RowId,
        old: &mut [Value],
        context: &mut ExecutionContext<'_>,
    ) -> Change<bool> {
        delete(target, row, old, context)
    }
}
