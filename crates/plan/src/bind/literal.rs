//! Constants.

use farbird_catalog::{character_set_named, with_default_collation};
use farbird_expression::Expression as BoundValue;
use farbird_sql::ast::{Expression, ExpressionKind, Literal, Name, UnaryOperator};
use farbird_types::decimal::Decimal;
use farbird_types::{
    CastContext, CharacterSet, Error, ExactSubtype, ExactWidth, Result, SqlType, Text, Timestamp, Value,
    ZoneId, convert, isc,
};

use crate::bind::error::{dsql, sqlcode};
use crate::bound::environment::Environment;

/// GMT: what literals without a zone are read in. They have no zone afterwards, so it does not show.
const LITERAL_ZONE: ZoneId = ZoneId(u16::MAX);

/// A constant's value and type.
///
/// # Errors
/// Texts that are no date, or not of their character set.
pub(crate) fn constant(environment: &Environment, literal: &Literal) -> Result<(Value, SqlType)> {
    Ok(match literal {
        Literal::Null => (Value::Null, SqlType::Null),
        Literal::Unknown => (Value::Null, SqlType::Boolean),
        Literal::Boolean(truth) => (Value::Boolean(*truth), SqlType::Boolean),
        Literal::Integer { value, width } => exact(*value, 0, *width),
        Literal::Exact { unscaled, scale, width } => exact(*unscaled, *scale, *width),
        Literal::Double(number) => (Value::Double(*number), SqlType::Double),
        Literal::DecFloat(text) => (cast(text, &SqlType::DecFloat34)?, SqlType::DecFloat34),
        Literal::String { value, character_set: name } => match name {
            Some(name) => {
                let set = introduced(name)?;
                text(environment, Text::encode(value, set).map_err(|_| malformed())?)
            }
            None => text(environment, Text::encode(value, environment.character_set)?),
        },
        Literal::Binary { value, character_set: name } => {
            let set = match name {
                Some(name) => introduced(name)?,
                None => CharacterSet::OCTETS,
            };
            set.check(value).map_err(|_| malformed())?;
            text(environment, Text::new(value.as_slice(), set))
        }
        Literal::Date(text) => (point_in_time(text, &SqlType::Date)?, SqlType::Date),
        Literal::Time(text) => {
            let sql_type = if names_zone(text) { SqlType::TimeTz } else { SqlType::Time };
            (point_in_time(text, &sql_type)?, sql_type)
        }
        Literal::Timestamp(text) => {
            let sql_type = if names_zone(text) { SqlType::TimestampTz } else { SqlType::Timestamp };
            (point_in_time(text, &sql_type)?, sql_type)
        }
    })
}

/// The character set before a text.
///
/// # Errors
/// `isc_charset_not_found`, which here is not an error of a data type.
fn introduced(name: &Name) -> Result<CharacterSet> {
    let unknown = |_| dsql(sqlcode::CHARACTER_SET).and(isc::CHARSET_NOT_FOUND).with(name.as_str());
    character_set_named(name).map_err(unknown)
}

/// A text that is not of the character set before it.
fn malformed() -> Error {
    dsql(sqlcode::SYNTAX).and(isc::MALFORMED_STRING)
}

/// The lowest BIGINT or INT128, if that is what a minus before this value makes: without the minus the digits are beyond
/// the type, and a constant of the next greater one.
pub(crate) fn lowest_negated(operand: &Expression) -> Option<(Value, SqlType)> {
    const BEYOND_BIGINT: i128 = 1 << 63;
    const BEYOND_INT128: u128 = 1 << 127;
    match &operand.kind {
        ExpressionKind::Literal(Literal::Integer { value: BEYOND_BIGINT, .. }) => {
            Some(exact(-BEYOND_BIGINT, 0, ExactWidth::Int64))
        }
        ExpressionKind::Literal(Literal::DecFloat(digits))
            if digits.parse::<u128>().is_ok_and(|value| value == BEYOND_INT128) =>
        {
            Some(exact(i128::MIN, 0, ExactWidth::Int128))
        }
        _ => None,
    }
}

/// The zero with a sign that DECFLOAT makes of the literal `-0`, whose sign no exact number can keep.
pub(super) fn negative_zero(operand: &Expression, bound: &BoundValue, to: &SqlType) -> Option<Value> {
    let ExpressionKind::Unary { operator: UnaryOperator::Minus, operand } = &operand.kind else {
        return None;
    };
    let ExpressionKind::Literal(_) = &operand.kind else { return None };
    match (bound, to) {
        (
            BoundValue::Constant(Value::Integer { unscaled: 0, scale }),
            SqlType::DecFloat16 | SqlType::DecFloat34,
        ) => Decimal::from_parts(true, 0, i32::from(*scale)).ok().map(Value::DecFloat),
        _ => None,
    }
}

/// Whether an expression is a literal with an exponent, which has its digits beside the double that it is.
pub(super) fn has_exponent(written: &Expression) -> bool {
    match &written.kind {
        ExpressionKind::Literal(Literal::Double(_)) => true,
        ExpressionKind::Unary { operator: UnaryOperator::Minus, operand } => {
            matches!(operand.kind, ExpressionKind::Literal(Literal::Double(_)))
        }
        _ => false,
    }
}

/// Such a literal as an exact number: the digits as they were written.
///
/// # Errors
/// If it is out of the type's range.
pub(super) fn exact_digits(double: f64, to: &SqlType) -> Result<Value> {
    cast(&format!("{double:e}"), to)
}

/// A literal with an exponent as DECFLOAT: the digits as they were written, not those of the nearest double.
pub(super) fn decimal(double: f64, to: &SqlType) -> Option<Value> {
    cast(&format!("{double:e}"), to).ok()
}

/// A literal date or time. What depends on the current one is for CAST, which is evaluated when the statement runs.
fn point_in_time(text: &str, to: &SqlType) -> Result<Value> {
    const RELATIVE: [&str; 4] = ["NOW", "TODAY", "TOMORROW", "YESTERDAY"];
    if RELATIVE.iter().any(|word| text.trim().eq_ignore_ascii_case(word)) {
        return Err(Error::new(isc::CONVERT_ERROR).with(text));
    }
    cast(text, to)
}

fn cast(text: &str, to: &SqlType) -> Result<Value> {
    let context = CastContext { session_zone: LITERAL_ZONE, now: Timestamp::default, ..CastContext::UTC };
    convert::cast(&Value::text(text), to, &context)
}

/// Whether something follows the time that can only be a zone: letters, or the sign of a displacement.
fn names_zone(text: &str) -> bool {
    text.split_once(':').is_some_and(|(_, rest)| {
        rest.chars().any(|character| character == '+' || character == '-' || character.is_alphabetic())
    })
}

/// As in Firebird literals have the default collation of their character set, too.
fn text(environment: &Environment, text: Text) -> (Value, SqlType) {
    let length = u32::try_from(text.char_length()).unwrap_or(u32::MAX);
    let sql_type = SqlType::char(length, text.character_set());
    let sql_type = with_default_collation(&environment.catalog, sql_type);
    (Value::Text(text), sql_type)
}

fn exact(unscaled: i128, scale: i8, width: ExactWidth) -> (Value, SqlType) {
    // Constants are of no declared type: Firebird describes 1.5 with subtype 0.
    let sql_type = SqlType::Exact { width, scale, subtype: ExactSubtype::Integer };
    let value = match i64::try_from(unscaled) {
        Ok(unscaled) if width != ExactWidth::Int128 => Value::Integer { unscaled, scale },
        _ => Value::Int128 { unscaled, scale },
    };
    (value, sql_type)
}
