//! What must hold for a row: NOT NULL, CHECK, domains, unique keys, foreign keys; and the statuses that say what did not.

use farbird_expression::ExecutionContext;
use farbird_function::blob::cast_value;
use farbird_plan::modification::{ForeignKeyRule, Target, TargetColumn};
use farbird_store::{IndexId, StoreError};
use farbird_types::{CastContext, Error, Result, Value, convert, isc};

use crate::failure::{Change, Failure};

/// Most characters of a value that a status shows: Firebird's own.
const KEY_VALUE_CHARS_MAX: usize = 250;

/// Checks CHECK constraints, NOT NULL and the domains of a new row, which is inserted or replaces another.
///
/// # Errors
/// `check_constraint`, `not_valid`.
pub(crate) fn check_row(
    target: &Target,
    row: &[Value],
    is_inserted: bool,
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    for rule in &target.checks {
        if rule.condition.truth_on(row, context)? == Some(false) {
            let [insert, update] = &rule.triggers;
            let trigger = format!("At trigger '{}'", if is_inserted { insert } else { update });
            return Err(Error::new(isc::CHECK_CONSTRAINT)
                .with(rule.name.clone())
                .with(rule.relation.clone())
                .and(isc::STACK_TRACE)
                .with(trigger));
        }
    }
    for (slot, column) in target.columns.iter().enumerate() {
        let Some(column) = column else { continue };
        let value = row.get(slot).unwrap_or(&Value::Null);
        if column.not_null && value.is_null() && column.computed.is_none() {
            return Err(not_valid(target, column, "*** null ***"));
        }
        if let Some(check) = &column.domain_check
            && check.truth_on(std::slice::from_ref(value), context)? == Some(false)
        {
            let shown = match value {
                Value::Null => String::from("*** null ***"),
                value => cut(&convert::to_display_text(value)),
            };
            return Err(not_valid(target, column, &shown));
        }
    }
    Ok(())
}

fn not_valid(target: &Target, column: &TargetColumn, value: &str) -> Error {
    let name = format!("\"{}\".\"{}\"", target.relation.name, column.name);
    Error::new(isc::NOT_VALID).with(name).with(value)
}

/// Triggers assign whatever they like to NEW: its values become those of the columns' types again.
///
/// # Errors
/// Those of the conversions.
pub(crate) fn restore_types(
    target: &Target,
    row: &mut [Value],
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    for (value, column) in row.iter_mut().zip(&target.columns) {
        if let Some(column) = column
            && !value.is_null()
        {
            let assigned = std::mem::take(value);
            *value = cast_value(assigned, &column.sql_type, context)?;
        }
    }
    Ok(())
}

/// Why the store has refused a row, with the names that it does not know.
pub(crate) fn refused_row(target: &Target, error: StoreError, context: &ExecutionContext<'_>) -> Failure {
    let (index, values) = match error {
        StoreError::UniqueViolation { index, values } => (index, values),
        StoreError::LockConflict { .. } | StoreError::LockTimeout { .. } => {
            return Failure::Error(context.transaction.status_of(error));
        }
        other => return other.into(),
    };
    let Some(names) = target.unique_names.iter().find(|names| names.index == index) else {
        return Failure::Error(Error::new(isc::NO_DUP).with(format!("{}", index.0)));
    };
    let violation = match &names.constraint {
        Some(constraint) => {
            Error::new(isc::UNIQUE_KEY_VIOLATION).with(constraint.clone()).with(target.relation.name.clone())
        }
        None => Error::new(isc::NO_DUP).with(names.index_name.clone()),
    };
    Failure::Error(violation.and(isc::IDX_KEY_VALUE).with(key_text(&names.columns, &values, &context.cast)))
}

/// The rows of other tables that a new row refers to must exist.
///
/// # Errors
/// `foreign_key` with `foreign_key_target_doesnt_exist`.
pub(crate) fn check_foreign_keys(
    target: &Target,
    old: Option<&[Value]>,
    new: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Change<()> {
    for rule in &target.foreign_keys {
        let values = key_values(new, &rule.slots)?;
        // A reference that is not complete refers to nothing.
        if values.iter().any(Value::is_null) {
            continue;
        }
        if let Some(old) = old
            && key_values(old, &rule.slots)? == values
        {
            continue;
        }
        if !parent_exists(rule, &values, context)? {
            let names: Vec<String> = rule.slots.iter().map(|slot| column_name(target, *slot)).collect();
            let error = Error::new(isc::FOREIGN_KEY)
                .with(rule.name.clone())
                .with(target.relation.name.clone())
                .and(isc::FOREIGN_KEY_TARGET_DOESNT_EXIST)
                .and(isc::IDX_KEY_VALUE)
                .with(key_text(&names, &values, &context.cast));
            return Err(error.into());
        }
    }
    Ok(())
}

/// The values of a key in a row, which has all its columns: a missing one must not pass for NULL.
pub(crate) fn key_values(row: &[Value], slots: &[usize]) -> Result<Vec<Value>> {
    let value = |slot: &usize| {
        row.get(*slot).cloned().ok_or_else(|| Error::internal("a row without a column of its foreign key"))
    };
    slots.iter().map(value).collect()
}

fn parent_exists(
    rule: &ForeignKeyRule,
    values: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Change<bool> {
    let mut keys = Vec::with_capacity(values.len());
    for (value, sql_type) in values.iter().zip(&rule.parent_types) {
        match convert::cast(value, sql_type, &context.cast) {
            Ok(key) => keys.push(key),
            // A value that the other table cannot hold is not in it.
            Err(_) => return Ok(false),
        }
    }
    let index: IndexId = rule.parent_index;
    let found = context.transaction.store.key_exists(&rule.parent_layout, index, &keys, None);
    Ok(in_doubt_as(found, false)?)
}

/// Whether a key is there. Another transaction's unfinished work may leave that open, for one that does not wait as long
/// as it takes: Firebird then reports the violation rather than the lock, so the doubt counts as `violating`.
pub(crate) fn in_doubt_as(found: farbird_store::Result<bool>, violating: bool) -> Result<bool> {
    match found {
        Err(StoreError::LockConflict { .. } | StoreError::LockTimeout { .. }) => Ok(violating),
        other => Ok(other?),
    }
}

pub(crate) fn column_name(target: &Target, slot: usize) -> String {
    match target.columns.get(slot) {
        Some(Some(column)) => column.name.clone(),
        _ => String::new(),
    }
}

/// A key as statuses show it: `("ID" = 1, "NAME" = 'x')`.
pub fn key_text(names: &[String], values: &[Value], context: &CastContext) -> String {
    let shown = |value: &Value| shown(value, context);
    let parts: Vec<String> = if names.is_empty() {
        values.iter().map(|value| format!("<expression> = {}", shown(value))).collect()
    } else {
        names.iter().zip(values).map(|(name, value)| format!("\"{name}\" = {}", shown(value))).collect()
    };
    format!("({})", parts.join(", "))
}

fn shown(value: &Value, context: &CastContext) -> String {
    match value {
        Value::Null => String::from("NULL"),
        Value::Integer { .. }
        | Value::Int128 { .. }
        | Value::Float(_)
        | Value::Double(_)
        | Value::DecFloat(_) => convert::to_display_text(value),
        Value::Boolean(_) => convert::to_display_text(value),
        Value::Text(text) if text.character_set() == farbird_types::CharacterSet::OCTETS => {
            let digits: String = text.bytes().iter().map(|byte| format!("{byte:02X}")).collect();
            format!("x'{}'", cut(&digits))
        }
        other => format!("'{}'", cut(convert::text_in(other, context).trim_end_matches(' '))),
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= KEY_VALUE_CHARS_MAX {
        return text.to_owned();
    }
    let kept: String = text.chars().take(KEY_VALUE_CHARS_MAX).collect();
    format!("{kept}...")
}
