//! EXTRACT, DATEADD, DATEDIFF, FIRST_DAY, LAST_DAY: their types, and the computations of `farbird_types::temporal`.
//!
//! The part or unit is a constant argument made by [`part_value`].
//!
//! Source: Firebird 5 language reference, section Date and Time Functions; error cases as Firebird 4 answers them.

use farbird_sql::ast;
use farbird_types::temporal::{self, DatePart};
use farbird_types::{
    CharacterSet, ColumnType, Error, ExactSubtype, ExactWidth, Result, SqlType, TimeTz, TimestampTz, Value,
    isc,
};

use crate::context::Context;
use crate::result_type::{ZONE_NAME_CHARS_MAX, nullable_as, required, same_as, unknown_parameter};
use crate::{Argument, Call, ScalarBody, ScalarFunction};

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    date_function("EXTRACT", 2, extract_result, unknown_parameter, extract),
    date_function("DATEADD", 3, add_result, add_parameter, date_add),
    date_function("DATEDIFF", 3, difference_result, difference_parameter, date_difference),
    date_function("FIRST_DAY", 2, period_day_result, period_day_parameter, first_day),
    date_function("LAST_DAY", 2, period_day_result, period_day_parameter, last_day),
];

const fn date_function(
    name: &'static str,
    arguments: usize,
    result: fn(&'static str, &[Argument<'_>]) -> Result<ColumnType>,
    parameter_type: fn(usize, &[Argument<'_>]) -> Option<ColumnType>,
    body: ScalarBody,
) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (arguments, arguments),
        result,
        parameter_type,
        body,
        strict: true,
        deterministic: true,
    }
}

const PARTS: [(ast::DatePart, DatePart); 14] = [
    (ast::DatePart::Year, DatePart::Year),
    (ast::DatePart::Quarter, DatePart::Quarter),
    (ast::DatePart::Month, DatePart::Month),
    (ast::DatePart::Week, DatePart::Week),
    (ast::DatePart::Day, DatePart::Day),
    (ast::DatePart::Weekday, DatePart::WeekDay),
    (ast::DatePart::Yearday, DatePart::YearDay),
    (ast::DatePart::Hour, DatePart::Hour),
    (ast::DatePart::Minute, DatePart::Minute),
    (ast::DatePart::Second, DatePart::Second),
    (ast::DatePart::Millisecond, DatePart::Millisecond),
    (ast::DatePart::TimezoneHour, DatePart::TimeZoneHour),
    (ast::DatePart::TimezoneMinute, DatePart::TimeZoneMinute),
    (ast::DatePart::TimezoneName, DatePart::TimeZoneName),
];

/// The constant by which a call names a part.
pub fn part_value(part: ast::DatePart) -> Value {
    let number = PARTS.iter().position(|(known, _)| *known == part).unwrap_or(0);
    Value::integer(i64::try_from(number).unwrap_or(0))
}

fn part_of(value: Option<&Value>) -> Option<DatePart> {
    match value {
        Some(Value::Integer { unscaled, scale: 0 }) => {
            PARTS.get(usize::try_from(*unscaled).ok()?).map(|(_, part)| *part)
        }
        _ => None,
    }
}

fn evaluation_error(rule: u32) -> Error {
    Error::new(isc::EXPRESSION_EVAL_ERR).and(rule)
}

// ---- EXTRACT ----

/// EXTRACT(part, operand): SMALLINT, or INTEGER with the digits of a second's fraction, or a zone's name.
fn extract_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let part = part_of(arguments.first().and_then(|argument| argument.constant));
    let operand = arguments.get(1).map_or(&SqlType::Null, Argument::sql_type);
    if let Some(part) = part
        && *operand != SqlType::Null
        && !has_part(operand, part)
    {
        return Err(Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-105).and(isc::EXTRACT_INPUT_MISMATCH));
    }
    let scaled = |scale| SqlType::Exact { width: ExactWidth::Long, scale, subtype: ExactSubtype::Integer };
    let sql_type = match part {
        Some(DatePart::Second) => scaled(-4),
        Some(DatePart::Millisecond) => scaled(-1),
        Some(DatePart::TimeZoneName) => SqlType::varchar(ZONE_NAME_CHARS_MAX, CharacterSet::ASCII),
        _ => SqlType::SMALLINT,
    };
    Ok(nullable_as(sql_type, arguments.get(1..).unwrap_or_default()))
}

fn has_part(sql_type: &SqlType, part: DatePart) -> bool {
    let (date, time) = match sql_type {
        SqlType::Date => (true, false),
        SqlType::Time | SqlType::TimeTz => (false, true),
        SqlType::Timestamp | SqlType::TimestampTz => (true, true),
        _ => (false, false),
    };
    match part {
        DatePart::Hour | DatePart::Minute | DatePart::Second | DatePart::Millisecond => time,
        DatePart::TimeZoneHour | DatePart::TimeZoneMinute | DatePart::TimeZoneName => time,
        _ => date,
    }
}

fn extract(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    match part_of(call.arguments.first()) {
        Some(part) => temporal::extract(part, call.argument(1), &context.cast),
        None => Ok(Value::Null),
    }
}

// ---- DATEADD ----

/// DATEADD(amount, part, operand): of the operand's type.
fn add_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let operand = arguments.get(2).map_or(SqlType::Null, |argument| *argument.sql_type());
    Ok(nullable_as(operand, arguments))
}

fn add_parameter(index: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    if index == 2 {
        return required(SqlType::Timestamp);
    }
    let part = part_of(arguments.get(1).and_then(|argument| argument.constant));
    required(amount_type(part))
}

/// BIGINT; tenths of milliseconds for MILLISECOND.
fn amount_type(part: Option<DatePart>) -> SqlType {
    let scale = if part == Some(DatePart::Millisecond) { -1 } else { 0 };
    SqlType::Exact { width: ExactWidth::Int64, scale, subtype: ExactSubtype::Integer }
}

/// Times with a zone are moved in UTC, by days and months too: so does Firebird.
fn date_add(_: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let Some(part) = part_of(Some(call.argument(1))) else { return Ok(Value::Null) };
    if let DatePart::WeekDay | DatePart::YearDay | DatePart::Quarter = part {
        return Err(evaluation_error(isc::SYSF_INVALID_ADDPART_DTIME).with(part.name()).with(call.name));
    }
    let add = |to: Value| temporal::add_to_part(part, call.argument(0), &to);
    match call.argument(2) {
        Value::TimeTz(time) => Ok(match add(Value::Time(time.utc))? {
            Value::Time(utc) => Value::TimeTz(TimeTz { utc, zone: time.zone }),
            other => other,
        }),
        Value::TimestampTz(instant) => Ok(match add(Value::Timestamp(instant.utc))? {
            Value::Timestamp(utc) => Value::TimestampTz(TimestampTz { utc, zone: instant.zone }),
            other => other,
        }),
        Value::Date(_) => add(call.argument(2).clone()).map_err(|error| {
            if error.has(isc::DATETIME_RANGE_EXCEEDED) { Error::new(isc::DATE_RANGE_EXCEEDED) } else { error }
        }),
        other => add(other.clone()),
    }
}

// ---- DATEDIFF ----

/// DATEDIFF(part, from, to): BIGINT, with tenths for MILLISECOND.
fn difference_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let part = part_of(arguments.first().and_then(|argument| argument.constant));
    Ok(nullable_as(amount_type(part), arguments.get(1..).unwrap_or_default()))
}

/// The other moment's type, or TIMESTAMP.
fn difference_parameter(index: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    same_as(arguments.get(if index == 1 { 2 } else { 1 })).or(required(SqlType::Timestamp))
}

fn date_difference(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    match part_of(call.arguments.first()) {
        Some(part) => temporal::difference_in_parts(part, call.argument(1), call.argument(2), &context.cast),
        None => Ok(Value::Null),
    }
}

// ---- FIRST_DAY, LAST_DAY ----

/// SQLCODE of a type that cannot be found out.
const DATA_TYPE_UNKNOWN: i32 = -804;

/// FIRST_DAY(part, operand): DATE for a date, otherwise the operand's type.
fn period_day_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let sql_type = match arguments.get(1).map_or(&SqlType::Null, Argument::sql_type) {
        same @ (SqlType::Timestamp | SqlType::TimestampTz) => *same,
        SqlType::Null => {
            return Err(Error::new(isc::DSQL_ERROR)
                .and(isc::SQLERR)
                .with(DATA_TYPE_UNKNOWN)
                .and(isc::DSQL_DATATYPE_ERR));
        }
        _ => SqlType::Date,
    };
    Ok(nullable_as(sql_type, arguments.get(1..).unwrap_or_default()))
}

fn period_day_parameter(_: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    required(SqlType::Timestamp)
}

fn first_day(_: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    match part_of(call.arguments.first()) {
        Some(part) => temporal::first_day(part, call.argument(1)),
        None => Ok(Value::Null),
    }
}

fn last_day(_: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    match part_of(call.arguments.first()) {
        Some(part) => temporal::last_day(part, call.argument(1)),
        None => Ok(Value::Null),
    }
}
