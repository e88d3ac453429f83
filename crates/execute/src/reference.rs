//! Foreign keys seen from the other side: what becomes of the rows that refer to a changed or deleted row.
//!
//! As in Firebird all this comes behind the AFTER triggers of the changed row, which may still mend references themselves.

use std::sync::Arc;

use farbird_catalog::ReferentialAction;
use farbird_expression::{ExecutionContext, nested};
use farbird_plan::bind::table_target;
use farbird_plan::modification::{ReferenceRule, Target};
use farbird_store::{IndexScan, KeyRange, Projection, RowBatch, RowId, ScanDirection};
use farbird_types::{Error, Result, Value, convert, isc};

use crate::batch::BATCH_ROWS_MAX;
use crate::constraint::{in_doubt_as, key_text, key_values};
use crate::failure::{Change, Failure};

/// Whoever changes rows with everything that belongs to that, cascades among it: they are changed here in turn.
pub(crate) trait RowChanges: Sync {
    /// What a column gets that nothing is assigned to.
    ///
    /// # Errors
    /// Those of its default.
    fn default_value(
        &self,
        target: &Target,
        slot: usize,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value>;

    /// Replaces a row; false if it has gone already.
    ///
    /// # Errors
    /// Those of triggers, constraints and conflicts.
    fn update(
        &self,
        target: &Target,
        row: RowId,
        old: &mut [Value],
        new: &mut Vec<Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Change<bool>;

    /// Deletes a row; false if it has gone already.
    ///
    /// # Errors
    /// As [`RowChanges::update`].
    fn delete(
        &self,
        target: &Target,
        row: RowId,
        old: &mut [Value],
        context: &mut ExecutionContext<'_>,
    ) -> Change<bool>;
}

/// A key that has gone, and what may refer to it.
struct GoneKey<'t> {
    /// Who changes those rows.
    changes: &'t dyn RowChanges,
    rule: &'t ReferenceRule,
    action: ReferentialAction,
    trigger: Option<&'t str>,
    /// Its values in the referenced table.
    old: Vec<Value>,
    /// And in the referring one.
    keys: Vec<Value>,
    /// What stands in its place.
    new: Option<Vec<Value>>,
}

/// Does what ON DELETE says, for all references; then nothing may refer to the row any more.
///
/// # Errors
/// `foreign_key` with `foreign_key_references_present`; those of changing the referring rows.
pub(crate) fn after_delete(
    target: &Target,
    row: RowId,
    old: &[Value],
    changes: &dyn RowChanges,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let mut gone = Vec::new();
    for rule in &target.references {
        let Some(old) = key_of(rule, old)? else { continue };
        let Some(keys) = child_keys(rule, &old, context) else { continue };
        let (action, trigger) = (rule.on_delete, rule.delete_trigger.as_deref());
        gone.push(GoneKey { changes, rule, action, trigger, old, keys, new: None });
    }
    cascade_and_check(&gone, target, row, context)
}

/// Does what ON UPDATE says, for all references whose key has changed; then nothing may refer to the old keys any more.
///
/// # Errors
/// As [`after_delete`].
pub(crate) fn after_update(
    target: &Target,
    row: RowId,
    old: &[Value],
    new: &[Value],
    changes: &dyn RowChanges,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let mut gone = Vec::new();
    for rule in &target.references {
        if rule.slots.iter().all(|slot| old.get(*slot) == new.get(*slot)) {
            continue;
        }
        let Some(old) = key_of(rule, old)? else { continue };
        let Some(keys) = child_keys(rule, &old, context) else { continue };
        let new = key_values(new, &rule.slots)?;
        let action = if differs(&old, &new) { rule.on_update } else { ReferentialAction::Restrict };
        let trigger = rule.update_trigger.as_deref();
        gone.push(GoneKey { changes, rule, action, trigger, old, keys, new: Some(new) });
    }
    cascade_and_check(&gone, target, row, context)
}

/// Whether a column is `<>` what it was, which NULL is of nothing: a key that only gets NULLs sets off no action, as in Firebird, and
/// must not be in use.
fn differs(old: &[Value], new: &[Value]) -> bool {
    old.iter().zip(new).any(|(old, new)| !new.is_null() && old != new)
}

/// All cascades first: rows that one reference forbids may go by another.
fn cascade_and_check(
    gone: &[GoneKey<'_>],
    target: &Target,
    row: RowId,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    for key in gone.iter().filter(|key| key.action != ReferentialAction::Restrict) {
        cascade(key, target, context)?;
    }
    gone.iter().try_for_each(|key| check_unreferenced(key, target, row, context))
}

/// The key that others may refer to; nothing refers to one with NULLs.
fn key_of(rule: &ReferenceRule, row: &[Value]) -> Result<Option<Vec<Value>>> {
    let values = key_values(row, &rule.slots)?;
    Ok((!values.iter().any(Value::is_null)).then_some(values))
}

fn cascade(key: &GoneKey<'_>, target: &Target, context: &mut ExecutionContext<'_>) -> Change<()> {
    let child = child_target(key.rule, target)?;
    let result = nested(context, |context| {
        // The rows are looked for under a new view: the statement itself may have made or changed them.
        let now = context.transaction.store.view()?;
        let view = std::mem::replace(&mut context.view, now);
        let result = change_children(key, &child, context);
        context.view = view;
        Ok(result)
    })?;
    result.map_err(|failure| match (failure, key.trigger) {
        (Failure::Error(error), Some(trigger)) => {
            Failure::Error(context.above.routines.with_system_trigger(trigger, error, context))
        }
        (failure, _) => failure,
    })
}

/// Rows that this transaction does not see refer to a key all the same: those that others have not committed yet, or have
/// committed since its snapshot. So do those whose default is the key.
fn check_unreferenced(
    key: &GoneKey<'_>,
    target: &Target,
    row: RowId,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let rule = key.rule;
    let itself = Some(row).filter(|_| rule.child.id == target.relation.id && key.new.is_none());
    let layout = farbird_catalog::layout(&rule.child);
    let referenced = context.transaction.store.key_exists(&layout, rule.child_index, &key.keys, itself);
    if in_doubt_as(referenced, true)? {
        return Err(Error::new(isc::FOREIGN_KEY)
            .with(rule.name.clone())
            .with(rule.child.name.clone())
            .and(isc::FOREIGN_KEY_REFERENCES_PRESENT)
            .and(isc::IDX_KEY_VALUE)
            .with(key_text(&rule.columns, &key.old, &context.cast))
            .into());
    }
    Ok(())
}

/// The key in the types of the referring columns; `None` if they cannot hold it, so that nothing refers to it.
fn child_keys(rule: &ReferenceRule, values: &[Value], context: &ExecutionContext<'_>) -> Option<Vec<Value>> {
    rule.child_slots
        .iter()
        .zip(values)
        .map(|(slot, value)| {
            let column = rule.child.columns.iter().find(|column| usize::from(column.field_id) == *slot)?;
            convert::cast(value, &column.sql_type, &context.cast).ok()
        })
        .collect()
}

fn child_target(rule: &ReferenceRule, target: &Target) -> Change<Arc<Target>> {
    if let Some(child) = rule.child_target.get() {
        return Ok(child.clone());
    }
    let bound = Arc::new(table_target(&target.environment, &rule.child)?);
    Ok(rule.child_target.get_or_init(|| bound).clone())
}

fn change_children(key: &GoneKey<'_>, child: &Target, context: &mut ExecutionContext<'_>) -> Change<()> {
    let mut scan = IndexScan::new(
        child.layout.clone(),
        key.rule.child_index,
        KeyRange::equal(key.keys.clone()),
        ScanDirection::Ascending,
        context.view.clone(),
        Projection::all(),
    )?;
    let mut rows = RowBatch::new();
    while scan.next_batch(&context.transaction.store, BATCH_ROWS_MAX, &mut rows)? {
        for index in 0..rows.len() {
            context.check_interrupt()?;
            let number = rows.row_id(index);
            let mut old = rows.take_row(index);
            change_child(key, child, number, &mut old, context)?;
        }
    }
    Ok(())
}

fn change_child(
    key: &GoneKey<'_>,
    child: &Target,
    number: RowId,
    old: &mut [Value],
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    if key.action == ReferentialAction::Cascade && key.new.is_none() {
        key.changes.delete(child, number, old, context)?;
        return Ok(());
    }
    let mut changed = old.to_vec();
    for (place, slot) in key.rule.child_slots.iter().enumerate() {
        let value = match (key.action, &key.new) {
            (ReferentialAction::Cascade, Some(new)) => {
                let missing = || Error::internal("a key without a value for a column that refers to it");
                let value = new.get(place).cloned().ok_or_else(missing)?;
                match child.columns.get(*slot) {
                    Some(Some(column)) => convert::cast(&value, &column.sql_type, &context.cast)?,
                    _ => value,
                }
            }
            (ReferentialAction::SetDefault, _) => key.changes.default_value(child, *slot, context)?,
            _ => Value::Null,
        };
        if let Some(place) = changed.get_mut(*slot) {
            *place = value;
        }
    }
    key.changes.update(child, number, old, &mut changed, context)?;
    Ok(())
}
