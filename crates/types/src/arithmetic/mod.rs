//! The operators `+ - * / ||` by the typing rules of SQL dialect 3, and the types that dialect 1 gives them instead.
//!
//! A statement's preparation asks for the type of an expression, its execution for the value: `result_type` and
//! `apply`, `negated_type` and `negate`, `concatenated_type` and `concatenate`. `common_type` finds the type of a CASE
//! or UNION.
//!
//! Source: Firebird 5 language reference, chapter "Common Language Elements"; results in the tests were recorded from
//! Firebird 4.

mod common;
mod concatenation;
mod date_time;
mod dialect_one;
mod numeric;
#[cfg(test)]
mod tests;
mod types;

pub use common::{common_type, common_type_in};
pub use concatenation::{concatenate, concatenated_type};
pub use dialect_one::{
    average_type_in_dialect_1, negated_type_in_dialect_1, result_type_in_dialect_1, sum_type_in_dialect_1,
};
pub use types::{negated_type, result_type};

use crate::convert::CastContext;
use crate::error::{Error, Result, isc};
use crate::sql_type::{ExactWidth, SqlType};
use crate::value::Value;

/// A dyadic arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ArithmeticOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

/// Computes `left operator right` as a value of `result`, the type that [`result_type`] gave. NULL if either is NULL.
///
/// # Errors
/// `exception_integer_overflow`, or `arith_except` with what went wrong; `date_range_exceeded` and its kin.
pub fn apply(
    operator: ArithmeticOperator,
    left: &Value,
    right: &Value,
    result: &SqlType,
    context: &CastContext,
) -> Result<Value> {
    if left.is_null() || right.is_null() {
        return Ok(Value::Null);
    }
    if date_time::is_date_or_time(left) || date_time::is_date_or_time(right) {
        return date_time::apply(operator, left, right, context);
    }
    match result {
        SqlType::Exact { width, scale, .. } => numeric::exact(operator, left, right, *width, *scale),
        SqlType::DecFloat16 | SqlType::DecFloat34 => {
            numeric::decimal(operator, left, right, &context.decimal)
        }
        _ => numeric::double(operator, left, right).map(Value::Double),
    }
}

/// Computes `-operand`, taking exact numbers up to 64 bits as BIGINT.
///
/// # Errors
/// As [`negate_as`].
pub fn negate(operand: &Value) -> Result<Value> {
    negate_as(operand, &SqlType::BIGINT)
}

/// Computes `-operand`. An exact number of type `operand_type` keeps that type.
///
/// # Errors
/// `exception_integer_overflow` for the smallest integer of its width.
pub fn negate_as(operand: &Value, operand_type: &SqlType) -> Result<Value> {
    let overflow = || Error::new(isc::EXCEPTION_INTEGER_OVERFLOW);
    match operand {
        Value::Null => Ok(Value::Null),
        Value::Integer { unscaled, scale } => {
            let width = match operand_type {
                SqlType::Exact { width, .. } => *width,
                _ => ExactWidth::Int64,
            };
            let negated = unscaled.checked_neg().ok_or_else(overflow)?;
            width.value(i128::from(negated), *scale).ok_or_else(overflow)
        }
        Value::Int128 { unscaled, scale } => {
            let unscaled = unscaled
                .checked_neg()
                .ok_or_else(|| Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_INTEGER_OVERFLOW))?;
            Ok(Value::Int128 { unscaled, scale: *scale })
        }
        Value::Float(value) => Ok(Value::Float(-value)),
        Value::Double(value) => Ok(Value::Double(-value)),
        Value::DecFloat(value) => Ok(Value::DecFloat(value.negated())),
        other => crate::convert::number::to_double(other).map(|value| Value::Double(-value)),
    }
}
