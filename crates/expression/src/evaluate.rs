//! Values of expressions.

use std::cmp::Ordering;

use farbird_store::{RelationId, RowId};
use farbird_types::{Error, Result, SqlType, Value, arithmetic, convert, isc};

use crate::context::ExecutionContext;
use crate::context_variable::{at_time_zone, context_value, error_value};
use crate::subquery;
use crate::tree::Expression;
use farbird_function::blob::{cast_value, joined_blob, releasing, text_of};
use farbird_function::compare::compare_nullable;
use farbird_function::record_key::db_key;

impl Expression {
    /// Its value on a row.
    ///
    /// # Errors
    /// Those of its functions, conversions and arithmetic.
    pub fn evaluate(&self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Value> {
        match self {
            Expression::Constant(value) => Ok(value.clone()),
            Expression::Column(position) => row.get(*position).cloned().ok_or_else(no_column),
            Expression::Register(number) => context.frame.register(*number).cloned().ok_or_else(no_register),
            Expression::Parameter(number) => {
                context.parameters.get(*number).cloned().ok_or_else(no_parameter)
            }
            Expression::Cast { operand, to } => {
                let value = operand.evaluate(row, context)?;
                cast_value(value, to, context)
            }
            Expression::Constrained { operand, constraint } => {
                let value = operand.evaluate(row, context)?;
                constraint.verify(&value, context)?;
                Ok(value)
            }
            Expression::Arithmetic { operator, left, right, result } => {
                if let (Some(left), Some(right)) = (left.peek(row, context), right.peek(row, context))
                    && !matches!(left, Value::Blob(_))
                    && !matches!(right, Value::Blob(_))
                {
                    return arithmetic::apply(*operator, left, right, result, &context.cast);
                }
                let left = left.evaluate(row, context)?;
                let left = unblobbed(left, context)?;
                let right = right.evaluate(row, context)?;
                let right = unblobbed(right, context)?;
                arithmetic::apply(*operator, &left, &right, result, &context.cast)
            }
            Expression::Negate(operand) => arithmetic::negate(&operand.evaluate(row, context)?),
            Expression::Concatenate { left, right, result } => {
                let left = left.evaluate(row, context)?;
                let right = right.evaluate(row, context)?;
                concatenate(&left, &right, result, context)
            }
            Expression::Case { branches, otherwise } => {
                for (when, then) in branches {
                    if when.truth(row, context)? == Some(true) {
                        return then.evaluate(row, context);
                    }
                }
                otherwise.evaluate(row, context)
            }
            Expression::SimpleCase { operand, branches, otherwise, collation } => {
                let operand = operand.evaluate(row, context)?;
                for (when, then) in branches {
                    let when = when.evaluate(row, context)?;
                    if compare_nullable(&operand, &when, *collation, context)? == Some(Ordering::Equal) {
                        return then.evaluate(row, context);
                    }
                }
                otherwise.evaluate(row, context)
            }
            Expression::Coalesce(parts) => {
                for part in parts {
                    let value = part.evaluate(row, context)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Expression::Function { function, arguments, signature } => {
                // Most functions have few arguments: those need no vector.
                match arguments.as_slice() {
                    [one] => {
                        let values = [one.evaluate(row, context)?];
                        releasing(context, |context| function.0.evaluate(context, &values, signature))
                    }
                    [one, two] => {
                        let values = [one.evaluate(row, context)?, two.evaluate(row, context)?];
                        releasing(context, |context| function.0.evaluate(context, &values, signature))
                    }
                    more => {
                        let values = evaluate_all(more, row, context)?;
                        releasing(context, |context| function.0.evaluate(context, &values, signature))
                    }
                }
            }
            Expression::Routine { routine: function, arguments } => {
                let arguments = evaluate_all(arguments, row, context)?;
                context.above.routines.call_function(function, arguments, context)
            }
            Expression::LocalRoutine { number, arguments } => {
                let arguments = evaluate_all(arguments, row, context)?;
                context.above.routines.call_local_function(*number, arguments, context)
            }
            Expression::Sequence { sequence, step, short } => {
                let step = step.evaluate(row, context)?;
                next_value(*sequence, &step, *short, context)
            }
            Expression::Subquery(query) => subquery::evaluate(query, row, context),
            Expression::Context(variable) => context_value(*variable, context),
            Expression::ErrorContext(item) => Ok(error_value(*item, context)),
            Expression::AtTimeZone { operand, zone } => {
                let operand = operand.evaluate(row, context)?;
                let zone = match zone {
                    Some(zone) => Some(zone.evaluate(row, context)?),
                    None => None,
                };
                at_time_zone(&operand, zone.as_ref(), context)
            }
            Expression::DbKey { relation, row: number } => match number.evaluate(row, context)? {
                Value::Integer { unscaled, .. } => Ok(db_key(*relation, unscaled.unsigned_abs())),
                _ => Ok(Value::Null),
            },
            Expression::RecordVersion { relation, row: number } => match number.evaluate(row, context)? {
                Value::Integer { unscaled, .. } => {
                    record_version(*relation, RowId(unscaled.unsigned_abs()), context)
                }
                _ => Ok(Value::Null),
            },
            Expression::SubstringSimilar { pattern, result } => {
                releasing(context, |context| pattern.substring(result, row, context))
            }
            Expression::Comparison { .. }
            | Expression::Distinct { .. }
            | Expression::Between { .. }
            | Expression::InList { .. }
            | Expression::Pattern(_)
            | Expression::IsNull(_)
            | Expression::IsTruth { .. }
            | Expression::Not(_)
            | Expression::And(_)
            | Expression::Or(_) => Ok(self.truth(row, context)?.map_or(Value::Null, Value::Boolean)),
            Expression::Aggregate(_) | Expression::Window(_) => Err(unplanned()),
        }
    }

    /// Its value without computing or copying anything, where that is possible.
    pub fn peek<'v>(&'v self, row: &'v [Value], context: &'v ExecutionContext<'_>) -> Option<&'v Value> {
        match self {
            Expression::Constant(value) => Some(value),
            Expression::Column(position) => row.get(*position),
            Expression::Register(number) => context.frame.register(*number),
            Expression::Parameter(number) => context.parameters.get(*number),
            _ => None,
        }
    }
}

/// The values of several expressions.
///
/// # Errors
/// That of the first one that fails.
pub fn evaluate_all(
    expressions: &[Expression],
    row: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(expressions.len());
    for expression in expressions {
        values.push(expression.evaluate(row, context)?);
    }
    Ok(values)
}

/// A mistake of ours: an expression that only exists while a query is being bound was evaluated.
fn unplanned() -> Error {
    Error::internal("an aggregate outside of its query")
}

/// Rows are as wide as their plans say, or the plan is wrong.
#[cold]
fn no_column() -> Error {
    Error::internal("a column that the plan does not read")
}

#[cold]
fn no_register() -> Error {
    Error::internal("a value of an outer row that the plan does not take")
}

#[cold]
fn no_parameter() -> Error {
    Error::internal("a parameter or variable that is not there")
}

/// BLOBs take part in arithmetic by their contents.
fn unblobbed(value: Value, context: &mut ExecutionContext<'_>) -> Result<Value> {
    match value {
        Value::Blob(_) => releasing(context, |context| text_of(&value, context).map(Value::Text)),
        other => Ok(other),
    }
}

fn concatenate(
    left: &Value,
    right: &Value,
    result: &SqlType,
    context: &mut ExecutionContext<'_>,
) -> Result<Value> {
    let SqlType::Blob { subtype, character_set, .. } = result else {
        return arithmetic::concatenate(left, right, result, &context.cast);
    };
    if left.is_null() || right.is_null() {
        return Ok(Value::Null);
    }
    releasing(context, |context| joined_blob(context, &[left, right], *subtype, *character_set))
        .map(Value::Blob)
}

fn next_value(
    sequence: farbird_store::SequenceId,
    step: &Value,
    short: bool,
    context: &ExecutionContext<'_>,
) -> Result<Value> {
    let step = match convert::cast(step, &SqlType::BIGINT, &context.cast)? {
        Value::Integer { unscaled, .. } => unscaled,
        _ => return Ok(Value::Null),
    };
    let store = context.transaction.store.store();
    let value = match step {
        0 => store.sequence_value(sequence)?,
        _ if context.transaction.current_catalog().database.read_only => {
            return Err(Error::new(isc::READ_ONLY_DATABASE));
        }
        step => match farbird_catalog::system_sequence_name(farbird_catalog::SequenceId(sequence.0)) {
            Some(name) => return Err(Error::new(isc::CANT_MODIFY_SYSOBJ).with("generator").with(name)),
            None => store.sequence_next(sequence, step)?,
        },
    };
    match short {
        true => convert::cast(&Value::integer(value), &SqlType::INTEGER, &context.cast),
        false => Ok(Value::integer(value)),
    }
}

/// Bits of a row number that a DB_KEY holds.
const DB_KEY_ROW_BITS: u32 = 48;

/// RDB$RECORD_VERSION of a row that the statement sees. A look at the row by its number: rows are not read with it.
fn record_version(relation: u32, row: RowId, context: &ExecutionContext<'_>) -> Result<Value> {
    let writer = context.transaction.store.writer_of_row(RelationId(relation), &context.view, row)?;
    Ok(writer.map_or(Value::Null, |writer| Value::integer(i64::try_from(writer.0).unwrap_or(i64::MAX))))
}

/// The row number of a DB_KEY, if it is one of this relation.
pub fn row_of_db_key(relation: u32, key: &[u8]) -> Option<u64> {
    let key: [u8; 8] = key.try_into().ok()?;
    let [r0, r1, high0, high1, low @ ..] = key;
    if u32::from(u16::from_le_bytes([r0, r1])) != relation {
        return None;
    }
    let high = u64::from(u16::from_le_bytes([high0, high1]));
    let row = (high << 32) | u64::from(u32::from_le_bytes(low));
    (row >> DB_KEY_ROW_BITS == 0).then_some(row)
}
