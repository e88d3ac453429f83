//! SQL comparison of two values, and keys by which equal values are equal bytes.

use std::cmp::Ordering;

use crate::character_set::Collation;
use crate::collation;
use crate::convert::{self, CastContext};
use crate::decimal::{Condition, Conditions, Decimal, DecimalContext, DecimalParts};
use crate::error::{Error, Result, isc};
use crate::sql_type::SqlType;
use crate::value::Value;

/// Compares two values that are not NULL: numbers of any kinds by their value, texts by the collation (of the
/// character set of the left one, or of the right one if the left has none), points in time as instants.
///
/// Text meets any other kind by being converted to it. Needs no context as long as the kinds are alike; a value
/// without time zone beside one that has one is taken as UTC: see [`compare_in`]. A NaN is equal to itself and above everything.
///
/// # Errors
/// `convert_error` if a text does not read as the other kind; the same for kinds that do not compare, `expression_eval_err`
/// if one is a BLOB.
pub fn compare(left: &Value, right: &Value, collation: Collation) -> Result<Ordering> {
    let decimal = DecimalContext { traps: Conditions::NONE, ..DecimalContext::DEFAULT };
    compare_in(left, right, collation, &CastContext { decimal, ..CastContext::UTC })
}

/// As [`compare`], for values with and without a time zone or texts like 'TODAY', and as the session traps invalid operations.
///
/// # Errors
/// As [`compare`]; `decfloat_invalid_operation` for a decimal beside a NaN, if it is trapped.
pub fn compare_in(
    left: &Value,
    right: &Value,
    collation: Collation,
    context: &CastContext,
) -> Result<Ordering> {
    use Value::{Boolean, Date, Double, Integer, Text, Time, TimeTz, Timestamp, TimestampTz};
    match (left, right) {
        (Integer { unscaled: a, scale: a_scale }, Integer { unscaled: b, scale: b_scale })
            if a_scale == b_scale =>
        {
            Ok(a.cmp(b))
        }
        (Text(a), Text(b)) => Ok(collation::compare_text(a, b, collation)),
        (Double(a), Double(b)) => Ok(compare_doubles(*a, *b)),
        (Boolean(a), Boolean(b)) => Ok(a.cmp(b)),
        (Date(a), Date(b)) => Ok(a.cmp(b)),
        (Time(a), Time(b)) => Ok(a.cmp(b)),
        (Timestamp(a), Timestamp(b)) => Ok(a.cmp(b)),
        (TimeTz(a), TimeTz(b)) => Ok(a.utc.cmp(&b.utc)),
        (TimestampTz(a), TimestampTz(b)) => Ok(a.utc.cmp(&b.utc)),
        (Text(text), _) => {
            let converted = text_as_kind_of(text, right, context)?;
            compare_in(&converted, right, collation, context)
        }
        (_, Text(text)) => {
            let converted = text_as_kind_of(text, left, context)?;
            compare_in(left, &converted, collation, context)
        }
        _ => match (numeric(left), numeric(right)) {
            (Some(a), Some(b)) => compare_numbers(a, b, &context.decimal),
            _ => compare_times(left, right, collation, context),
        },
    }
}

/// A number with its kind.
#[derive(Debug, Clone, Copy)]
enum Number {
    Exact(i128, i8),
    Double(f64),
    Decimal(Decimal),
}

fn numeric(value: &Value) -> Option<Number> {
    Some(match value {
        Value::Integer { unscaled, scale } => Number::Exact(i128::from(*unscaled), *scale),
        Value::Int128 { unscaled, scale } => Number::Exact(*unscaled, *scale),
        Value::Float(value) => Number::Double(f64::from(*value)),
        Value::Double(value) => Number::Double(*value),
        Value::DecFloat(value) => Number::Decimal(*value),
        _ => return None,
    })
}

/// Decimals win over doubles, doubles over exact numbers.
fn compare_numbers(left: Number, right: Number, context: &DecimalContext) -> Result<Ordering> {
    use Number::{Double, Exact};
    Ok(match (left, right) {
        (Exact(a, a_scale), Exact(b, b_scale)) => compare_exact((a, a_scale), (b, b_scale)),
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            let (left, right) = (as_decimal(left), as_decimal(right));
            if left.is_nan() || right.is_nan() {
                context.check(Conditions::NONE.with(Condition::InvalidOperation))?;
            }
            left.compare(right)
        }
        (Double(_), _) | (_, Double(_)) => compare_doubles(as_double(left), as_double(right)),
    })
}

fn as_decimal(number: Number) -> Decimal {
    match number {
        Number::Exact(unscaled, scale) => Decimal::from_unscaled(unscaled, scale),
        Number::Double(value) => Decimal::from_f64(value),
        Number::Decimal(value) => value,
    }
}

fn as_double(number: Number) -> f64 {
    match number {
        Number::Exact(unscaled, scale) => convert::number::exact_to_double(unscaled, scale),
        Number::Double(value) => value,
        Number::Decimal(value) => value.to_f64().unwrap_or(f64::INFINITY),
    }
}

/// NaN is equal to itself and above everything, so that sorts are well defined.
fn compare_doubles(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

fn compare_exact(left: (i128, i8), right: (i128, i8)) -> Ordering {
    let lowest = left.1.min(right.1);
    let aligned = |(unscaled, scale): (i128, i8)| {
        10i128.checked_pow(u32::from(scale.abs_diff(lowest))).and_then(|power| unscaled.checked_mul(power))
    };
    match (aligned(left), aligned(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        // What does not fit is farther from zero than what does; at most one of them was multiplied.
        (None, _) => left.0.cmp(&0),
        (_, None) => 0.cmp(&right.0),
    }
}

fn text_as_kind_of(text: &crate::value::Text, other: &Value, context: &CastContext) -> Result<Value> {
    let target = match other {
        Value::Integer { .. } | Value::Int128 { .. } | Value::Float(_) | Value::Double(_) => {
            return convert::number::number_of_text(text);
        }
        Value::DecFloat(_) => return convert::number::decimal_or_number_of_text(text),
        Value::Boolean(_) => SqlType::Boolean,
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time,
        Value::Timestamp(_) => SqlType::Timestamp,
        Value::TimeTz(_) => SqlType::TimeTz,
        Value::TimestampTz(_) => SqlType::TimestampTz,
        Value::Null | Value::Text(_) | Value::Blob(_) => return Err(not_comparable(other, other)),
    };
    convert::cast(&Value::Text(text.clone()), &target, context)
}

fn compare_times(
    left: &Value,
    right: &Value,
    collation: Collation,
    context: &CastContext,
) -> Result<Ordering> {
    let target = match (left, right) {
        (Value::TimestampTz(_), other) | (other, Value::TimestampTz(_)) if is_day_or_time(other) => {
            SqlType::TimestampTz
        }
        (Value::Timestamp(_), other) | (other, Value::Timestamp(_)) if is_day_or_time(other) => {
            SqlType::Timestamp
        }
        (Value::TimeTz(_), Value::Time(_)) | (Value::Time(_), Value::TimeTz(_)) => SqlType::TimeTz,
        _ => return Err(not_comparable(left, right)),
    };
    let left = convert::cast(left, &target, context)?;
    let right = convert::cast(right, &target, context)?;
    if std::mem::discriminant(&left) != std::mem::discriminant(&right) {
        return Err(not_comparable(&left, &right));
    }
    compare_in(&left, &right, collation, context)
}

fn is_day_or_time(value: &Value) -> bool {
    matches!(value, Value::Date(_) | Value::Time(_) | Value::TimeTz(_) | Value::Timestamp(_))
}

/// The error names, as Firebird's does, the side that cannot become what the other one is: anything beside a BOOLEAN, a
/// number beside a date or time, a date beside a time.
fn not_comparable(left: &Value, right: &Value) -> Error {
    let weaker = match (left, right) {
        (Value::Blob(_), _) | (_, Value::Blob(_)) => return Error::new(isc::EXPRESSION_EVAL_ERR),
        (Value::Boolean(_), other) | (other, Value::Boolean(_)) => other,
        (number, _) | (_, number) if numeric(number).is_some() => number,
        (date @ Value::Date(_), _) | (_, date @ Value::Date(_)) => date,
        _ => left,
    };
    convert::conversion_error(weaker)
}

/// What an equality key begins with, by the kind of the value.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const BOOLEAN: u8 = 1;
    pub(super) const NUMBER: u8 = 2;
    pub(super) const TEXT: u8 = 3;
    pub(super) const DAY_AND_TIME: u8 = 4;
    pub(super) const TIME: u8 = 5;
    pub(super) const BLOB: u8 = 6;
    pub(super) const INSTANT: u8 = 7;
}

/// Appends bytes that are the same for values that compare equal (`1 = 1.0 = 1e0`): for hash joins, DISTINCT and
/// GROUP BY. NULL has its own key. Not ordered: see [`crate::key`].
///
/// Values of kinds that only compare by a conversion (a text and a number, with and without time zone) have
/// different keys: cast them to one type first. A double is the decimal number that it prints as.
pub fn equality_key(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Boolean(value) => out.extend([tag::BOOLEAN, u8::from(*value)]),
        Value::Integer { unscaled, scale } => append_exact((*unscaled).into(), *scale, out),
        Value::Int128 { unscaled, scale } => append_exact(*unscaled, *scale, out),
        Value::Float(value) => append_double(f64::from(*value), out),
        Value::Double(value) => append_double(*value, out),
        Value::DecFloat(value) => append_decimal(*value, out),
        Value::Date(date) => append_day_and_time(date.0, 0, out),
        Value::Timestamp(timestamp) => append_day_and_time(timestamp.date.0, timestamp.time.0, out),
        Value::TimestampTz(timestamp) => {
            out.push(tag::INSTANT);
            out.extend(timestamp.utc.date.0.to_le_bytes());
            out.extend(timestamp.utc.time.0.to_le_bytes());
        }
        Value::Time(time) => {
            out.push(tag::TIME);
            out.extend(time.0.to_le_bytes());
        }
        Value::TimeTz(time) => {
            out.extend([tag::TIME, tag::INSTANT]);
            out.extend(time.utc.0.to_le_bytes());
        }
        Value::Text(text) => {
            out.push(tag::TEXT);
            let length_at = out.len();
            out.extend(0u32.to_le_bytes());
            collation::append_equality_key(text, collation, out);
            let length = u32::try_from(out.len() - length_at - 4).unwrap_or(u32::MAX);
            for (place, byte) in out.iter_mut().skip(length_at).zip(length.to_le_bytes()) {
                *place = byte;
            }
        }
        Value::Blob(id) => {
            out.push(tag::BLOB);
            out.extend(id.0.to_le_bytes());
        }
    }
}

fn append_day_and_time(days: i32, fractions: u32, out: &mut Vec<u8>) {
    out.push(tag::DAY_AND_TIME);
    out.extend(days.to_le_bytes());
    out.extend(fractions.to_le_bytes());
}

fn append_exact(mut unscaled: i128, scale: i8, out: &mut Vec<u8>) {
    let mut exponent = i32::from(scale);
    if unscaled == 0 {
        exponent = 0;
    }
    while unscaled != 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        exponent += 1;
    }
    append_number(unscaled, exponent, out);
}

fn append_double(value: f64, out: &mut Vec<u8>) {
    /// Below it every whole double is a whole number of 64 bits.
    const WHOLE_MAX: f64 = 9e18;
    if value.fract() == 0.0 && value.abs() < WHOLE_MAX {
        return append_exact(i128::from(value as i64), 0, out);
    }
    // The shortest digits that read back as this double: for what was once a short decimal number, that number.
    match value.to_string().parse::<Decimal>() {
        Ok(decimal) => append_decimal(decimal, out),
        Err(_) => append_special(if value < 0.0 { b'-' } else { b'+' }, out),
    }
}

fn append_decimal(value: Decimal, out: &mut Vec<u8>) {
    match (value.reduced(), value.parts()) {
        (Some((negative, coefficient, exponent)), _) => {
            // Below 10 to the 34th.
            let magnitude = i128::try_from(coefficient).unwrap_or(i128::MAX);
            append_number(if negative { -magnitude } else { magnitude }, exponent, out);
        }
        (None, DecimalParts::Infinity { negative }) => {
            append_special(if negative { b'-' } else { b'+' }, out)
        }
        (None, _) => append_special(b'?', out),
    }
}

fn append_number(unscaled: i128, exponent: i32, out: &mut Vec<u8>) {
    out.push(tag::NUMBER);
    out.extend(exponent.to_le_bytes());
    out.extend(unscaled.to_le_bytes());
}

/// Infinity and NaN: an exponent that no number has.
fn append_special(kind: u8, out: &mut Vec<u8>) {
    append_number(i128::from(kind), i32::MAX, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporal::{Date, Time, Timestamp};

    fn exact(unscaled: i64, scale: i8) -> Value {
        Value::Integer { unscaled, scale }
    }

    fn key(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        equality_key(value, Collation(0), &mut out);
        out
    }

    #[test]
    fn numbers_compare_by_value() {
        let one = [
            exact(1, 0),
            exact(100, -2),
            Value::Int128 { unscaled: 10, scale: -1 },
            Value::Float(1.0),
            Value::Double(1.0),
            Value::DecFloat(Decimal::from_unscaled(1000, -3)),
        ];
        let more = [exact(11, -1), Value::Double(1.1), Value::DecFloat(Decimal::from_unscaled(11, -1))];
        for a in &one {
            for b in &one {
                assert_eq!(compare(a, b, Collation(0)), Ok(Ordering::Equal), "{a:?} {b:?}");
                assert_eq!(key(a), key(b), "{a:?} {b:?}");
            }
            for b in &more {
                assert_eq!(compare(a, b, Collation(0)), Ok(Ordering::Less), "{a:?} {b:?}");
                assert_eq!(compare(b, a, Collation(0)), Ok(Ordering::Greater), "{a:?} {b:?}");
                assert_ne!(key(a), key(b));
            }
        }
        for pair in more.windows(2) {
            assert_eq!(key(&pair[0]), key(&pair[1]), "{pair:?}");
        }
        assert_eq!(key(&exact(0, -2)), key(&Value::Double(-0.0)));
    }

    #[test]
    fn scales_that_do_not_meet_still_compare() {
        let huge = Value::Int128 { unscaled: i128::MAX, scale: 0 };
        let tiny = Value::Int128 { unscaled: 1, scale: -38 };
        assert_eq!(compare(&huge, &tiny, Collation(0)), Ok(Ordering::Greater));
        assert_eq!(compare(&tiny, &huge, Collation(0)), Ok(Ordering::Less));
        assert_eq!(
            compare(&Value::Int128 { unscaled: i128::MIN, scale: 0 }, &tiny, Collation(0)),
            Ok(Ordering::Less)
        );
    }

    #[test]
    fn a_nan_compares_as_invalid_operations_are_trapped() {
        let quiet = DecimalContext { traps: Conditions::NONE, ..DecimalContext::DEFAULT };
        let quiet = CastContext { decimal: quiet, ..CastContext::UTC };
        let nan = Value::DecFloat(Decimal::nan());
        let decimal = Value::DecFloat(Decimal::ZERO);
        for (left, right) in [
            (&decimal, &nan),
            (&exact(1, 0), &nan),
            (&Value::Double(1.5), &nan),
            (&decimal, &Value::text("NaN")),
        ] {
            let compared = compare_in(left, right, Collation(0), &CastContext::UTC);
            assert_eq!(compared, Err(Error::new(isc::DECFLOAT_INVALID_OPERATION)), "{left} beside {right}");
            assert_eq!(compare_in(left, right, Collation(0), &quiet), Ok(Ordering::Less));
            assert_eq!(compare(right, left, Collation(0)), Ok(Ordering::Greater), "an order of all values");
        }
        let infinity = Value::DecFloat(Decimal::infinity(false));
        assert_eq!(
            compare_in(&infinity, &Value::text("inf"), Collation(0), &CastContext::UTC),
            Ok(Ordering::Equal)
        );
        let error = compare(&Value::text("abc"), &decimal, Collation(0)).expect_err("no number");
        assert_eq!(error.gds_code(), isc::CONVERT_ERROR);
    }

    #[test]
    fn texts_are_read_as_the_other_side() {
        let text = Value::text(" 10.50 ");
        assert_eq!(compare(&text, &exact(105, -1), Collation(0)), Ok(Ordering::Equal));
        assert_eq!(compare(&exact(9, 0), &text, Collation(0)), Ok(Ordering::Less));
        assert_eq!(compare(&text, &Value::Double(10.5), Collation(0)), Ok(Ordering::Equal));
        let error = compare(&Value::text("ten"), &exact(1, 0), Collation(0)).expect_err("no number");
        assert_eq!(error.gds_code(), isc::CONVERT_ERROR);
        let day = Value::Date(Date(58849));
        assert_eq!(compare(&day, &Value::text("2020-01-01"), Collation(0)), Ok(Ordering::Equal));
    }

    #[test]
    fn a_day_is_its_first_moment() {
        let day = Value::Date(Date(58849));
        let midnight = Value::Timestamp(Timestamp { date: Date(58849), time: Time(0) });
        let later = Value::Timestamp(Timestamp { date: Date(58849), time: Time(1) });
        assert_eq!(compare(&day, &midnight, Collation(0)), Ok(Ordering::Equal));
        assert_eq!(compare(&day, &later, Collation(0)), Ok(Ordering::Less));
        assert_eq!(key(&day), key(&midnight));
    }

    #[test]
    fn kinds_apart_do_not_compare() {
        let error = compare(&Value::Boolean(true), &exact(1, 0), Collation(0)).expect_err("apples and pears");
        assert_eq!(error, convert::conversion_error(&exact(1, 0)));
        let error = compare(&Value::Time(Time(0)), &Value::Date(Date(0)), Collation(0))
            .expect_err("no day in a time");
        assert_eq!(error, convert::conversion_error(&Value::Date(Date(0))));
        assert!(compare(&Value::Date(Date(0)), &exact(1, 0), Collation(0)).is_err());
    }

    #[test]
    fn padding_is_no_difference() {
        assert_eq!(compare(&Value::text("a"), &Value::text("a  "), Collation(0)), Ok(Ordering::Equal));
        assert_eq!(key(&Value::text("a")), key(&Value::text("a  ")));
        assert_ne!(key(&Value::text("a")), key(&Value::text("b")));
    }
}
