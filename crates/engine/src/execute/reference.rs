//! Foreign keys seen from the other side: what becomes of the rows that refer to a changed or deleted row.

use std::sync::Arc;

use farbird_store::{IndexScan, KeyRange, Projection, RowBatch, RowId, ScanDirection};
use farbird_types::{Error, Value, convert, isc};

use crate::bind::table_target;
use crate::catalog::ReferentialAction;
use crate::execute::batch::BATCH_ROWS_MAX;
use crate::execute::constraint::{in_doubt_as, key_text};
use crate::execute::context::ExecutionContext;
use crate::execute::row_change::{self, Change};
use crate::plan::modification::{ReferenceRule, Target};

/// How deep cascades may go: each level takes some of the thread's stack.
const CASCADE_DEPTH_MAX: u32 = 256;

/// Does what ON DELETE says.
///
/// # Errors
/// `foreign_key` with `foreign_key_references_present`; those of changing the referring rows.
pub(crate) fn after_delete(
    target: &Target,
    row: RowId,
    old: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    for rule in &target.references {
        let Some(values) = key_of(rule, old) else { continue };
        apply(rule, rule.on_delete, Some(row), &values, None, target, context)?;
    }
    Ok(())
}

/// Does what ON UPDATE says, where the key has changed.
///
/// # Errors
/// As [`after_delete`].
pub(crate) fn after_update(
    target: &Target,
    row: RowId,
    old: &[Value],
    new: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    for rule in &target.references {
        if rule.slots.iter().all(|slot| old.get(*slot) == new.get(*slot)) {
            continue;
        }
        let Some(values) = key_of(rule, old) else { continue };
        let new_values: Vec<Value> = rule.slots.iter().map(|slot| value(new, *slot)).collect();
        apply(rule, rule.on_update, Some(row), &values, Some(&new_values), target, context)?;
    }
    Ok(())
}

fn value(row: &[Value], slot: usize) -> Value {
    row.get(slot).cloned().unwrap_or_default()
}

/// The key that others may refer to; nothing refers to one with NULLs.
fn key_of(rule: &ReferenceRule, row: &[Value]) -> Option<Vec<Value>> {
    let values: Vec<Value> = rule.slots.iter().map(|slot| value(row, *slot)).collect();
    if values.iter().any(Value::is_null) { None } else { Some(values) }
}

fn apply(
    rule: &ReferenceRule,
    action: ReferentialAction,
    row: Option<RowId>,
    old: &[Value],
    new: Option<&[Value]>,
    target: &Target,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let Some(keys) = child_keys(rule, old, context) else { return Ok(()) };
    if action != ReferentialAction::Restrict {
        if context.depth >= CASCADE_DEPTH_MAX {
            return Err(Error::new(isc::REQ_MAX_CLONES_EXCEEDED).into());
        }
        let child = child_target(rule, target)?;
        context.depth += 1;
        // The rows are looked for under a new view: the statement itself may have made or changed them.
        let view = std::mem::replace(&mut context.view, context.transaction.store.view()?);
        let result = change_children(rule, action, &child, keys.clone(), new, context);
        context.view = view;
        context.depth -= 1;
        result?;
    }
    // Rows that this transaction does not see refer to the key all the same: those that others have not committed yet, or
    // have committed since its snapshot. So do those whose default is the key.
    let itself = row.filter(|_| rule.child.id == target.relation.id && new.is_none());
    let layout = crate::catalog::layout(&rule.child);
    let referenced = context.transaction.store.key_exists(&layout, rule.child_index, &keys, itself);
    if in_doubt_as(referenced, true)? {
        return Err(Error::new(isc::FOREIGN_KEY)
            .with(rule.name.clone())
            .with(rule.child.name.clone())
            .and(isc::FOREIGN_KEY_REFERENCES_PRESENT)
            .and(isc::IDX_KEY_VALUE)
            .with(key_text(&rule.columns, old))
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

fn change_children(
    rule: &ReferenceRule,
    action: ReferentialAction,
    child: &Target,
    keys: Vec<Value>,
    new: Option<&[Value]>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    let mut scan = IndexScan::new(
        child.layout.clone(),
        rule.child_index,
        KeyRange::equal(keys),
        ScanDirection::Ascending,
        context.view.clone(),
        Projection::all(),
    )?;
    let mut rows = RowBatch::new();
    while scan.next_batch(&context.transaction.store, BATCH_ROWS_MAX, &mut rows)? {
        for index in 0..rows.len() {
            let number = rows.row_id(index);
            let old = rows.take_row(index);
            change_child(rule, action, child, number, &old, new, context)?;
        }
        context.check_interrupt()?;
    }
    Ok(())
}

fn change_child(
    rule: &ReferenceRule,
    action: ReferentialAction,
    child: &Target,
    number: RowId,
    old: &[Value],
    new: Option<&[Value]>,
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    if action == ReferentialAction::Cascade && new.is_none() {
        row_change::delete(child, number, old, context)?;
        return Ok(());
    }
    let mut changed = old.to_vec();
    for (place, slot) in rule.child_slots.iter().enumerate() {
        let value = match (action, new) {
            (ReferentialAction::Cascade, Some(new)) => {
                let value = new.get(place).cloned().unwrap_or_default();
                match child.columns.get(*slot) {
                    Some(Some(column)) => convert::cast(&value, &column.sql_type, &context.cast)?,
                    _ => value,
                }
            }
            (ReferentialAction::SetDefault, _) => row_change::default_value(child, *slot, context)?,
            _ => Value::Null,
        };
        if let Some(place) = changed.get_mut(*slot) {
            *place = value;
        }
    }
    row_change::update(child, number, old, &mut changed, context)
}
