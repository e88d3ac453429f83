//! Arithmetic of dates and times: whole days for a DATE, seconds with fraction for a TIME, days with fraction for a
//! TIMESTAMP.

use super::ArithmeticOperator::{self, Add, Subtract};
use crate::convert::{self, CastContext, number};
use crate::decimal::Rounding;
use crate::error::{Error, Result, isc};
use crate::sql_type::{ExactSubtype, ExactWidth, SqlType};
use crate::temporal::{Date, FRACTIONS_PER_DAY, Time, TimeTz, Timestamp, TimestampTz};
use crate::value::Value;

const DAY: i64 = FRACTIONS_PER_DAY as i64;
/// A difference of timestamps counts billionths of days.
const BILLION: i128 = 1_000_000_000;

pub(super) fn is_date_or_time(value: &Value) -> bool {
    matches!(
        value,
        Value::Date(_) | Value::Time(_) | Value::Timestamp(_) | Value::TimeTz(_) | Value::TimestampTz(_)
    )
}

/// `left operator right`, one of which at least is a date or time.
///
/// # Errors
/// `expression_eval_err`, `date_range_exceeded`, `datetime_range_exceeded`.
pub(super) fn apply(
    operator: ArithmeticOperator,
    left: &Value,
    right: &Value,
    context: &CastContext,
) -> Result<Value> {
    match operator {
        Add if !is_date_or_time(left) => moved(right, left, 1),
        Add if !is_date_or_time(right) => moved(left, right, 1),
        Add => date_and_time(left, right),
        Subtract if !is_date_or_time(right) => moved(left, right, -1),
        Subtract if is_date_or_time(left) => difference(left, right, context),
        _ => Err(invalid()),
    }
}

fn invalid() -> Error {
    Error::new(isc::EXPRESSION_EVAL_ERR).and(isc::INVALID_TYPE_DATETIME_OP)
}

/// A point in time, later by an amount in its own unit (earlier if `sign` is -1).
fn moved(from: &Value, amount: &Value, sign: i64) -> Result<Value> {
    match from {
        Value::Date(date) => {
            let days = sign.saturating_mul(whole(amount, 0)?);
            let day = i32::try_from(i64::from(date.0).saturating_add(days)).ok().map(Date);
            day.filter(|day| day.is_valid())
                .map(Value::Date)
                .ok_or_else(|| Error::new(isc::DATE_RANGE_EXCEEDED))
        }
        Value::Time(time) => Ok(Value::Time(moved_time(*time, amount, sign)?)),
        Value::TimeTz(time) => {
            Ok(Value::TimeTz(TimeTz { utc: moved_time(time.utc, amount, sign)?, ..*time }))
        }
        Value::Timestamp(timestamp) => Ok(Value::Timestamp(moved_timestamp(*timestamp, amount, sign)?)),
        Value::TimestampTz(instant) => Ok(Value::TimestampTz(TimestampTz {
            utc: moved_timestamp(instant.utc, amount, sign)?,
            ..*instant
        })),
        _ => Err(invalid()),
    }
}

/// Times of day go around at midnight.
fn moved_time(time: Time, amount: &Value, sign: i64) -> Result<Time> {
    let ticks = i64::from(time.0).saturating_add(sign.saturating_mul(whole(amount, -4)?));
    Ok(Time(u32::try_from(ticks.rem_euclid(DAY)).unwrap_or(0)))
}

fn moved_timestamp(from: Timestamp, amount: &Value, sign: i64) -> Result<Timestamp> {
    let days = number::to_double(amount)?;
    if !days.is_finite() || days.abs() > f64::from(Date::MAX.0 - Date::MIN.0) {
        return Err(Error::new(isc::DATE_RANGE_EXCEEDED));
    }
    // At most 3e15: exact in a double.
    let ticks = (days * f64::from(FRACTIONS_PER_DAY)).round() as i64;
    Timestamp::from_ticks(from.ticks() + sign * ticks).ok_or_else(|| Error::new(isc::DATETIME_RANGE_EXCEEDED))
}

/// An amount as a whole number of units of ten to the `scale`, rounded.
fn whole(amount: &Value, scale: i8) -> Result<i64> {
    let unscaled = match amount {
        Value::DecFloat(decimal) => decimal.to_unscaled(scale, Rounding::HalfUp)?,
        Value::Integer { unscaled, scale: from } if *from == scale => return Ok(*unscaled),
        _ => {
            let wanted = SqlType::Exact { width: ExactWidth::Int64, scale, subtype: ExactSubtype::Integer };
            match convert::cast(amount, &wanted, &CastContext::UTC)? {
                Value::Integer { unscaled, .. } => i128::from(unscaled),
                _ => return Err(invalid()),
            }
        }
    };
    i64::try_from(unscaled).map_err(|_| convert::out_of_range())
}

fn date_and_time(left: &Value, right: &Value) -> Result<Value> {
    let (date, time) = match (left, right) {
        (Value::Date(date), time) | (time, Value::Date(date)) => (*date, time),
        _ => return Err(invalid()),
    };
    match time {
        Value::Time(time) => Ok(Value::Timestamp(Timestamp { date, time: *time })),
        // The date is one of UTC here, as in Firebird.
        Value::TimeTz(time) => {
            Ok(Value::TimestampTz(TimestampTz { utc: Timestamp { date, time: time.utc }, zone: time.zone }))
        }
        _ => Err(invalid()),
    }
}

/// `left - right`. A side without zone meets one with as a time of the session's zone.
fn difference(left: &Value, right: &Value, context: &CastContext) -> Result<Value> {
    let time_type = |zoned: bool| if zoned { SqlType::TimeTz } else { SqlType::Time };
    match (left, right) {
        (Value::Date(left), Value::Date(right)) => Ok(Value::integer(i64::from(left.0) - i64::from(right.0))),
        (Value::Time(_) | Value::TimeTz(_), Value::Time(_) | Value::TimeTz(_)) => {
            let zoned = matches!(left, Value::TimeTz(_)) || matches!(right, Value::TimeTz(_));
            let ticks = |value: &Value| match convert::cast(value, &time_type(zoned), context)? {
                Value::Time(time) => Ok(i64::from(time.0)),
                Value::TimeTz(time) => Ok(i64::from(time.utc.0)),
                _ => Err(invalid()),
            };
            Ok(Value::Integer { unscaled: ticks(left)? - ticks(right)?, scale: -4 })
        }
        (Value::Timestamp(_) | Value::TimestampTz(_), Value::Timestamp(_) | Value::TimestampTz(_)) => {
            let zoned = matches!(left, Value::TimestampTz(_)) || matches!(right, Value::TimestampTz(_));
            let wanted = if zoned { SqlType::TimestampTz } else { SqlType::Timestamp };
            let ticks = |value: &Value| match convert::cast(value, &wanted, context)? {
                Value::Timestamp(timestamp) => Ok(timestamp.ticks()),
                Value::TimestampTz(instant) => Ok(instant.utc.ticks()),
                _ => Err(invalid()),
            };
            Ok(in_days(i128::from(ticks(left)?) - i128::from(ticks(right)?)))
        }
        _ => Err(invalid()),
    }
}

/// Ten-thousandths of seconds as NUMERIC(18, 9) days, rounded half away from zero.
fn in_days(ticks: i128) -> Value {
    let day = i128::from(DAY);
    let rounded = (ticks * BILLION + ticks.signum() * day / 2) / day;
    // Days of a million years fit easily.
    Value::Integer { unscaled: i64::try_from(rounded).unwrap_or(i64::MAX), scale: -9 }
}
