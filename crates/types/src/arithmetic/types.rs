//! Types of arithmetic expressions.

use super::ArithmeticOperator::{self, Add, Divide, Multiply, Subtract};
use crate::error::{Error, Result, isc};
use crate::sql_type::{ExactSubtype, ExactWidth, SqlType};

/// The type of `left operator right`.
///
/// `SqlType::Null` on one side (a parameter, a bare NULL) is taken as the other side's type; two of them as INTEGER.
///
/// # Errors
/// `dsql_error` with `expression_eval_err` and the rule broken, as a statement's preparation reports it.
pub fn result_type(operator: ArithmeticOperator, left: &SqlType, right: &SqlType) -> Result<SqlType> {
    let (left, right) = match (left, right) {
        (SqlType::Null, SqlType::Null) => return Ok(SqlType::INTEGER),
        (SqlType::Null, other) | (other, SqlType::Null) if is_date_or_time(other) && operator == Add => {
            return Ok(*other);
        }
        (SqlType::Null, other) | (other, SqlType::Null) => (other, other),
        both => both,
    };
    if is_blob(left) || is_blob(right) {
        return Err(no_blob());
    }
    if is_text(left) || is_text(right) {
        return Err(refused(match operator {
            Add | Subtract => isc::DSQL_NOSTRING_ADDSUB_DIAL3,
            Multiply => isc::DSQL_NOSTRING_MULTIP_DIAL3,
            Divide => isc::DSQL_NOSTRING_DIV_DIAL3,
        }));
    }
    match operator {
        Add | Subtract if is_date_or_time(left) || is_date_or_time(right) => {
            date_time_type(operator, left, right)
        }
        Add | Subtract => sum_type(left, right).ok_or_else(|| refused(isc::DSQL_INVALID_TYPE_ADDSUB_DIAL3)),
        Multiply => product_type(left, right).ok_or_else(|| refused(isc::DSQL_INVALID_TYPE_MULTIP_DIAL3)),
        Divide => quotient_type(left, right).ok_or_else(|| refused(isc::DSQL_INVALID_TYPE_DIV_DIAL3)),
    }
}

/// The type of `-operand`: that of the operand.
///
/// # Errors
/// `dsql_error` with `expression_eval_err` if it is no number.
pub fn negated_type(operand: &SqlType) -> Result<SqlType> {
    match operand {
        SqlType::Null => Ok(SqlType::INTEGER),
        SqlType::Text(_) => Err(refused(isc::DSQL_NOSTRING_NEG_DIAL3)),
        SqlType::Blob { .. } | SqlType::Array => Err(no_blob()),
        number if is_number(number) => Ok(*number),
        _ => Err(refused(isc::DSQL_INVALID_TYPE_NEG)),
    }
}

pub(super) fn refused(rule: u32) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::EXPRESSION_EVAL_ERR).and(rule)
}

pub(super) fn no_blob() -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-607).and(isc::DSQL_NO_BLOB_ARRAY)
}

pub(super) fn is_text(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text(_))
}

pub(super) fn is_blob(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Blob { .. } | SqlType::Array)
}

pub(super) fn is_date_or_time(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::TimeTz | SqlType::TimestampTz
    )
}

fn is_approximate(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Float | SqlType::Double)
}

pub(super) fn is_decimal(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::DecFloat16 | SqlType::DecFloat34)
}

pub(super) fn is_number(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Exact { .. }) || is_approximate(sql_type) || is_decimal(sql_type)
}

fn is_time(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Time | SqlType::TimeTz)
}

fn has_zone(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::TimeTz | SqlType::TimestampTz)
}

/// `+` and `-` of two numbers: a decimal if there is one (of 16 digits only from two such), otherwise a double if
/// there is one, otherwise BIGINT or INT128 with the finer scale.
fn sum_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    if let (
        SqlType::Exact { width: left_width, scale: left_scale, subtype: left_subtype },
        SqlType::Exact { width: right_width, scale: right_scale, subtype: right_subtype },
    ) = (left, right)
    {
        return Some(SqlType::Exact {
            width: (*left_width).max(*right_width).max(ExactWidth::Int64),
            scale: (*left_scale).min(*right_scale),
            subtype: finer(*left_subtype, *right_subtype),
        });
    }
    inexact_type(left, right)
}

/// `*` and `/`: exact numbers have the sum of their scales, in INT128 as soon as one of them is a BIGINT.
fn product_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    if let (
        SqlType::Exact { width: left_width, scale: left_scale, subtype: left_subtype },
        SqlType::Exact { width: right_width, scale: right_scale, subtype: right_subtype },
    ) = (left, right)
    {
        let wide = (*left_width).max(*right_width) >= ExactWidth::Int64;
        return Some(SqlType::Exact {
            width: if wide { ExactWidth::Int128 } else { ExactWidth::Int64 },
            scale: left_scale.saturating_add(*right_scale),
            subtype: finer(*left_subtype, *right_subtype),
        });
    }
    inexact_type(left, right)
}

/// That of a product, except that a quotient in 64 bits is described as no NUMERIC.
fn quotient_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    product_type(left, right).map(|product| match product {
        SqlType::Exact { width: ExactWidth::Int64, scale, .. } => {
            SqlType::Exact { width: ExactWidth::Int64, scale, subtype: ExactSubtype::Integer }
        }
        other => other,
    })
}

fn inexact_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    if !is_number(left) || !is_number(right) {
        return None;
    }
    Some(match (left, right) {
        (SqlType::DecFloat16, SqlType::DecFloat16) => SqlType::DecFloat16,
        (left, right) if is_decimal(left) || is_decimal(right) => SqlType::DecFloat34,
        _ => SqlType::Double,
    })
}

/// The subtype with the higher number: DECIMAL over NUMERIC over integers.
pub(super) fn finer(left: ExactSubtype, right: ExactSubtype) -> ExactSubtype {
    if left as u8 >= right as u8 { left } else { right }
}

fn date_time_type(operator: ArithmeticOperator, left: &SqlType, right: &SqlType) -> Result<SqlType> {
    let numeric = |width, scale| SqlType::Exact { width, scale, subtype: ExactSubtype::Numeric };
    match (is_date_or_time(left), is_date_or_time(right), operator) {
        (true, true, Subtract) => match difference_of(left, right) {
            Some(SqlType::Date) => Ok(SqlType::INTEGER),
            Some(time) if is_time(&time) => Ok(numeric(ExactWidth::Long, -4)),
            Some(_) => Ok(numeric(ExactWidth::Int64, -9)),
            None => Err(refused(isc::DSQL_INVALID_DATETIME_SUBTRACT)),
        },
        (true, true, _) => {
            let date_and_time = matches!(left, SqlType::Date) && is_time(right)
                || is_time(left) && matches!(right, SqlType::Date);
            match (date_and_time, has_zone(left) || has_zone(right)) {
                (true, false) => Ok(SqlType::Timestamp),
                (true, true) => Ok(SqlType::TimestampTz),
                (false, _) => Err(refused(isc::DSQL_INVALID_DATEORTIME_ADD)),
            }
        }
        (true, false, _) if is_number(right) => Ok(*left),
        (false, true, Add) if is_number(left) => Ok(*right),
        (false, true, Subtract) if is_number(left) => Err(refused(isc::DSQL_INVALID_TYPE_MINUS_DATE)),
        _ => Err(refused(isc::DSQL_INVALID_TYPE_ADDSUB_DIAL3)),
    }
}

/// In which kind two points in time are subtracted.
fn difference_of(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let is_timestamp = |t: &SqlType| matches!(t, SqlType::Timestamp | SqlType::TimestampTz);
    match (left, right) {
        (SqlType::Date, SqlType::Date) => Some(SqlType::Date),
        (left, right) if is_time(left) && is_time(right) => Some(SqlType::Time),
        (left, right) if is_timestamp(left) && is_timestamp(right) => Some(SqlType::Timestamp),
        (left, SqlType::Date) if is_timestamp(left) => Some(SqlType::Timestamp),
        (SqlType::Date, right) if is_timestamp(right) => Some(SqlType::Timestamp),
        _ => None,
    }
}
