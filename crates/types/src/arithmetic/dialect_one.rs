//! Types of arithmetic expressions by the rules of SQL dialect 1: integers stay INTEGER, quotients are doubles, texts are taken
//! for numbers, and two points in time differ by a double of days.
//!
//! A type here is what Firebird describes. Values are computed by the operators of dialect 3 and converted to it: whoever
//! binds an expression does so.
//!
//! Source: as Firebird 5 describes and computes them in a database of dialect 1.

use super::ArithmeticOperator::{self, Add, Divide, Multiply, Subtract};
use super::types::{
    finer, is_blob, is_date_or_time, is_decimal, is_number, is_text, no_blob, refused, result_type,
};
use crate::error::{Result, isc};
use crate::sql_type::{ExactSubtype, ExactWidth, SqlType};

/// The type of `left operator right` in dialect 1. `SqlType::Null` as for [`result_type`].
///
/// # Errors
/// `dsql_error` with `expression_eval_err` and the rule broken.
pub fn result_type_in_dialect_1(
    operator: ArithmeticOperator,
    left: &SqlType,
    right: &SqlType,
) -> Result<SqlType> {
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
    let has_date = is_date_or_time(left) || is_date_or_time(right);
    match operator {
        Add | Subtract if has_date => date_time_type(operator, left, right),
        Add | Subtract => {
            number_type(operator, left, right).ok_or_else(|| refused(isc::DSQL_INVALID_TYPE_ADDSUB_DIAL3))
        }
        Multiply => {
            number_type(operator, left, right).ok_or_else(|| refused(isc::DSQL_INVALID_TYPE_MULTIP_DIAL1))
        }
        Divide => {
            number_type(operator, left, right).ok_or_else(|| refused(isc::DSQL_MUSTUSE_NUMERIC_DIV_DIAL1))
        }
    }
}

/// The type of `-operand` in dialect 1: a text is a double.
///
/// # Errors
/// As [`super::negated_type`].
pub fn negated_type_in_dialect_1(operand: &SqlType) -> Result<SqlType> {
    match operand {
        SqlType::Text(_) => Ok(SqlType::Double),
        other => super::negated_type(other),
    }
}

/// The type of SUM in dialect 1; none for what it does not add.
pub fn sum_type_in_dialect_1(argument: &SqlType) -> Option<SqlType> {
    match argument {
        SqlType::Null | SqlType::Float | SqlType::Double => Some(*argument),
        SqlType::Text(_) | SqlType::Exact { width: ExactWidth::Int64, .. } => Some(SqlType::Double),
        SqlType::Exact { width: ExactWidth::Short, scale, subtype } => {
            Some(SqlType::Exact { width: ExactWidth::Long, scale: *scale, subtype: *subtype })
        }
        SqlType::Exact { .. } => Some(*argument),
        SqlType::DecFloat16 | SqlType::DecFloat34 => Some(SqlType::DecFloat34),
        _ => None,
    }
}

/// The type of AVG in dialect 1, that of its argument; none for what it does not add.
pub fn average_type_in_dialect_1(argument: &SqlType) -> Option<SqlType> {
    match argument {
        SqlType::Null => Some(SqlType::Null),
        SqlType::Text(_) => Some(SqlType::Double),
        number if is_number(number) => Some(*number),
        _ => None,
    }
}

/// Of numbers, and texts that are taken for doubles.
fn number_type(operator: ArithmeticOperator, left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let is_wide = |operand: &SqlType| matches!(operand, SqlType::Exact { width: ExactWidth::Int128, .. });
    let (left, right) = (as_number(left)?, as_number(right)?);
    if is_decimal(&left) || is_decimal(&right) || operator != Divide && (is_wide(&left) || is_wide(&right)) {
        return result_type(operator, &left, &right).ok();
    }
    let (
        SqlType::Exact { width: left_width, scale: left_scale, subtype: left_subtype },
        SqlType::Exact { width: right_width, scale: right_scale, subtype: right_subtype },
    ) = (left, right)
    else {
        return Some(SqlType::Double);
    };
    if operator == Divide || left_width.max(right_width) > ExactWidth::Long {
        return Some(SqlType::Double);
    }
    Some(SqlType::Exact {
        width: ExactWidth::Long,
        scale: match operator {
            Multiply => left_scale.saturating_add(right_scale),
            _ => left_scale.min(right_scale),
        },
        subtype: finer(left_subtype, right_subtype),
    })
}

fn as_number(operand: &SqlType) -> Option<SqlType> {
    match operand {
        SqlType::Text(_) => Some(SqlType::Double),
        number if is_number(number) => Some(*number),
        _ => None,
    }
}

/// Of a point in time and something else: a text beside a timestamp is one too if it is subtracted.
fn date_time_type(operator: ArithmeticOperator, left: &SqlType, right: &SqlType) -> Result<SqlType> {
    if !is_text(left) && !is_text(right) {
        let in_dialect_3 = result_type(operator, left, right)?;
        let is_difference_of_timestamps = matches!(
            in_dialect_3,
            SqlType::Exact { width: ExactWidth::Int64, subtype: ExactSubtype::Numeric, .. }
        );
        return Ok(if is_difference_of_timestamps { SqlType::Double } else { in_dialect_3 });
    }
    let point = if is_text(left) { right } else { left };
    match (point, operator) {
        (SqlType::Timestamp | SqlType::TimestampTz, Subtract) => Ok(SqlType::Double),
        (SqlType::Timestamp | SqlType::TimestampTz, _) => Err(refused(isc::DSQL_INVALID_DATEORTIME_ADD)),
        _ => Err(refused(isc::DSQL_NODATEORTIME_PM_STRING)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character_set::CharacterSet;

    const fn numeric(width: ExactWidth, scale: i8) -> SqlType {
        SqlType::Exact { width, scale, subtype: ExactSubtype::Numeric }
    }

    /// As Firebird 5 describes them in a database of dialect 1.
    #[test]
    fn types_are_those_of_firebird() {
        let text = SqlType::varchar(10, CharacterSet::NONE);
        let money = numeric(ExactWidth::Long, -2);
        for (operator, left, right, result) in [
            (Divide, SqlType::INTEGER, SqlType::SMALLINT, SqlType::Double),
            (Multiply, SqlType::INTEGER, SqlType::SMALLINT, SqlType::INTEGER),
            (Add, SqlType::SMALLINT, SqlType::SMALLINT, SqlType::INTEGER),
            (Subtract, money, SqlType::INTEGER, money),
            (Multiply, money, money, numeric(ExactWidth::Long, -4)),
            (Multiply, money, SqlType::Double, SqlType::Double),
            (Add, SqlType::BIGINT, SqlType::INTEGER, SqlType::Double),
            (Add, text, SqlType::INTEGER, SqlType::Double),
            (Multiply, text, text, SqlType::Double),
            (Add, SqlType::Timestamp, SqlType::INTEGER, SqlType::Timestamp),
            (Subtract, SqlType::Timestamp, SqlType::Timestamp, SqlType::Double),
            (Subtract, text, SqlType::Timestamp, SqlType::Double),
            (Add, SqlType::DecFloat16, text, SqlType::DecFloat34),
            (Divide, SqlType::Null, SqlType::INTEGER, SqlType::Double),
        ] {
            assert_eq!(
                result_type_in_dialect_1(operator, &left, &right).unwrap(),
                result,
                "{left} {operator:?} {right}"
            );
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let text = SqlType::varchar(10, CharacterSet::NONE);
        for (operator, left, right, rule) in [
            (Add, SqlType::Timestamp, SqlType::Timestamp, isc::DSQL_INVALID_DATEORTIME_ADD),
            (Add, SqlType::Timestamp, text, isc::DSQL_INVALID_DATEORTIME_ADD),
            (Subtract, SqlType::INTEGER, SqlType::Timestamp, isc::DSQL_INVALID_TYPE_MINUS_DATE),
            (Multiply, SqlType::Timestamp, SqlType::INTEGER, isc::DSQL_INVALID_TYPE_MULTIP_DIAL1),
            (Divide, SqlType::INTEGER, SqlType::Boolean, isc::DSQL_MUSTUSE_NUMERIC_DIV_DIAL1),
            (Add, SqlType::BLOB_BINARY, SqlType::INTEGER, isc::DSQL_NO_BLOB_ARRAY),
        ] {
            let error = result_type_in_dialect_1(operator, &left, &right).unwrap_err();
            assert!(error.has(rule), "{left} {operator:?} {right}: {error:?}");
        }
    }
}
