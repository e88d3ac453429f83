//! The library `fbudf`. Its arguments BY DESCRIPTOR come with the types that they have, and NULL is NULL to most of its functions.

use farbird_session::clock;
use farbird_types::temporal::{self, days_in_month, is_leap_year};
use farbird_types::{
    CharacterSet, Date, Error, Result, SqlType, Text, Timestamp, TimestampTz, Value, ZoneId, isc,
};

use super::entry::{Entry, entry, integer, like, moment, value};
use crate::context::Context;
use crate::{argument, blob};

/// Its entry points.
pub(super) const ENTRIES: &[Entry] = &[
    entry("idNvl", 2, |_, it| Ok(first_of(it))),
    entry("sNvl", 2, |_, it| Ok(first_of(it))),
    entry("iNullIf", 2, |_, it| {
        Ok(null_if(it, |it| matches!(it, Value::Integer { .. } | Value::Int128 { .. })))
    }),
    entry("dNullIf", 2, |_, it| Ok(null_if(it, |it| matches!(it, Value::Double(_))))),
    entry("sNullIf", 2, |_, it| Ok(null_if(it, |it| matches!(it, Value::Text(_))))),
    entry("DOW", 1, |_, it| Ok(ascii(day_of_week(moment(it, 0))))),
    entry("SDOW", 1, |_, it| Ok(ascii(day_of_week(moment(it, 0)).get(..3).unwrap_or_default()))),
    entry("right", 2, right),
    entry("addDay", 2, |context, it| later(context, it, DAY)),
    entry("addDay2", 2, |context, it| later(context, it, DAY)),
    entry("addWeek", 2, |context, it| later(context, it, 7 * DAY)),
    entry("addMonth", 2, add_month),
    entry("addYear", 2, add_year),
    entry("addMilliSecond", 2, |context, it| later(context, it, MILLISECOND)),
    entry("addSecond", 2, |context, it| later(context, it, SECOND)),
    entry("addMinute", 2, |context, it| later(context, it, 60 * SECOND)),
    entry("addHour", 2, |context, it| later(context, it, 3_600 * SECOND)),
    entry("getExactTimestamp", 0, |context, _| {
        let zone = context.session.settings.lock().time_zone;
        Ok(now_in(zone))
    }),
    entry("getExactTimestampUTC", 0, |_, _| Ok(now_in(ZoneId::GMT))),
    entry("isLeapYear", 1, |_, it| {
        Ok(Value::integer(i64::from(is_leap_year(moment(it, 0).date.year_month_day().0))))
    }),
    entry("fbtruncate", 1, |_, it| Ok(whole(value(it, 0), i64::div_euclid))),
    entry("truncate", 1, |_, it| Ok(whole(value(it, 0), i64::div_euclid))),
    entry("fbround", 1, |_, it| Ok(whole(value(it, 0), half_up))),
    entry("round", 1, |_, it| Ok(whole(value(it, 0), half_up))),
    entry("power", 2, power),
    entry("string2blob", 1, string_to_blob),
];

/// In ticks of timestamps.
const MILLISECOND: i64 = 10;
const SECOND: i64 = 1_000 * MILLISECOND;
const DAY: i64 = 86_400 * SECOND;

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

fn ascii(text: &str) -> Value {
    Value::Text(Text::new(text.as_bytes(), CharacterSet::ASCII))
}

fn first_of(arguments: &[Value]) -> Value {
    arguments.iter().find(|it| !it.is_null()).cloned().unwrap_or_default()
}

/// NULL if either is, or if both are the same of the kind that is compared. Numbers of other scales are others.
fn null_if(arguments: &[Value], is_compared: fn(&Value) -> bool) -> Value {
    let (left, right) = (value(arguments, 0), value(arguments, 1));
    let is_same = match (left, right) {
        (Value::Text(left), Value::Text(right)) => left.bytes() == right.bytes(),
        _ => left == right,
    };
    if left.is_null() || right.is_null() || (is_same && is_compared(left)) {
        return Value::Null;
    }
    left.clone()
}

fn day_of_week(moment: Timestamp) -> &'static str {
    // Day zero was a Wednesday.
    let days = i64::from(moment.date.0) + 2;
    usize::try_from(days.rem_euclid(7)).ok().and_then(|day| DAYS.get(day)).copied().unwrap_or_default()
}

/// The last bytes of a text.
fn right(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let length = integer(context, arguments, 1)?;
    let (Ok(length), false) = (usize::try_from(length), value(arguments, 0).is_null()) else {
        return Ok(Value::Null);
    };
    let text = argument::text(context, value(arguments, 0))?;
    let start = text.bytes().len().saturating_sub(length);
    Ok(like(&text, text.bytes().get(start..).unwrap_or_default()))
}

/// So many units later, of so many ticks each.
fn later(context: &Context<'_>, arguments: &[Value], unit: i64) -> Result<Value> {
    let ticks = integer(context, arguments, 1)?.checked_mul(unit);
    let ticks = ticks.and_then(|ticks| moment(arguments, 0).ticks().checked_add(ticks));
    ticks.and_then(Timestamp::from_ticks).map(Value::Timestamp).ok_or_else(out_of_range)
}

fn out_of_range() -> Error {
    Error::new(isc::DATETIME_RANGE_EXCEEDED)
}

/// The same day of another month, or the month's last.
fn add_month(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let from = moment(arguments, 0);
    let (year, month, day) = from.date.year_month_day();
    let months = i64::from(year) * 12 + i64::from(month) - 1;
    let months = months.saturating_add(integer(context, arguments, 1)?);
    let year = i32::try_from(months.div_euclid(12)).map_err(|_| out_of_range())?;
    let month = u32::try_from(months.rem_euclid(12) + 1).unwrap_or(1);
    let date = Date::from_year_month_day(year, month, day.min(days_in_month(year, month)));
    date.map(|date| Value::Timestamp(Timestamp { date, ..from })).ok_or_else(out_of_range)
}

/// The same day of another year; the 29th of February is the 1st of March in others.
fn add_year(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let from = moment(arguments, 0);
    let (year, month, day) = from.date.year_month_day();
    let year = i32::try_from(i64::from(year).saturating_add(integer(context, arguments, 1)?));
    let year = year.map_err(|_| out_of_range())?;
    let is_gone = day > days_in_month(year, month);
    let (month, day) = if is_gone { (month + 1, 1) } else { (month, day) };
    let date = Date::from_year_month_day(year, month, day);
    date.map(|date| Value::Timestamp(Timestamp { date, ..from })).ok_or_else(out_of_range)
}

/// The moment of the call, not of the statement.
fn now_in(zone: ZoneId) -> Value {
    Value::Timestamp(temporal::to_local(TimestampTz { utc: clock::utc(), zone }))
}

/// An exact number without its decimals, divided by a power of ten; NULL of what is none.
fn whole(number: &Value, divide: fn(i64, i64) -> i64) -> Value {
    match number {
        Value::Integer { unscaled, scale } if *scale <= 0 => {
            match 10_i64.checked_pow(u32::from(scale.unsigned_abs())) {
                Some(divisor) => Value::integer(divide(*unscaled, divisor)),
                None => Value::integer(0),
            }
        }
        _ => Value::Null,
    }
}

/// Halves go up, those of negative numbers too.
fn half_up(unscaled: i64, divisor: i64) -> i64 {
    let (down, rest) = (unscaled.div_euclid(divisor), unscaled.rem_euclid(divisor));
    down + i64::from(divisor > 1 && rest >= divisor / 2)
}

fn power(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let (base, exponent) =
        (argument::double(context, value(arguments, 0))?, argument::double(context, value(arguments, 1))?);
    Ok(if base == 0.0 && exponent < 0.0 { Value::Null } else { Value::Double(base.powf(exponent)) })
}

fn string_to_blob(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    blob::cast_value(value(arguments, 0).clone(), &SqlType::BLOB_BINARY, context)
}
