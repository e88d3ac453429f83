//! The operators `+ - * / ||` by the typing rules of SQL dialect 3.

use crate::convert::CastContext;
use crate::error::{Error, Result, isc};
use crate::sql_type::SqlType;
use crate::value::Value;

/// A dyadic arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// The type of `left operator right`. A `SqlType::Null` operand (parameter, bare NULL) gives `SqlType::Null`.
///
/// # Errors
/// `expression_eval_err` with the code that names the rule broken.
pub fn result_type(operator: ArithmeticOperator, left: &SqlType, right: &SqlType) -> Result<SqlType> {
    let _ = (operator, left, right);
    Err(Error::new(isc::WISH_LIST))
}

/// Computes `left operator right` as a value of `result`, the type that [`result_type`] gave. NULL if either is NULL.
///
/// # Errors
/// `exception_integer_overflow`, or `arith_except` with what went wrong.
pub fn apply(
    operator: ArithmeticOperator,
    left: &Value,
    right: &Value,
    result: &SqlType,
    context: &CastContext,
) -> Result<Value> {
    let _ = (operator, left, right, result, context);
    Err(Error::new(isc::WISH_LIST))
}

/// The type of `-operand`.
///
/// # Errors
/// `expression_eval_err` if it is no number.
pub fn negated_type(operand: &SqlType) -> Result<SqlType> {
    let _ = operand;
    Err(Error::new(isc::WISH_LIST))
}

/// Computes `-operand`.
///
/// # Errors
/// `exception_integer_overflow` for the smallest integer of its width.
pub fn negate(operand: &Value) -> Result<Value> {
    let _ = operand;
    Err(Error::new(isc::WISH_LIST))
}

/// The type of `left || right`: VARCHAR, or BLOB if either is one.
///
/// # Errors
/// `dsql_datatype_err` for operands that have no text form.
pub fn concatenated_type(left: &SqlType, right: &SqlType) -> Result<SqlType> {
    let _ = (left, right);
    Err(Error::new(isc::WISH_LIST))
}

/// Computes `left || right` for anything but BLOBs, in the character set of `result` ([`concatenated_type`]).
///
/// # Errors
/// `arith_except` with `string_truncation` past the longest text; those of transliteration.
pub fn concatenate(left: &Value, right: &Value, result: &SqlType, context: &CastContext) -> Result<Value> {
    let _ = (left, right, result, context);
    Err(Error::new(isc::WISH_LIST))
}

/// The one type that can hold values of all these types: CASE, COALESCE, UNION, IN lists.
///
/// `SqlType::Null` members do not count; only such members give `SqlType::Null`.
///
/// # Errors
/// `dsql_datatypes_not_comparable`.
pub fn common_type(types: &[SqlType]) -> Result<SqlType> {
    let _ = types;
    Err(Error::new(isc::WISH_LIST))
}
