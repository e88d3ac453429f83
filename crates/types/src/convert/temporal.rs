//! Conversions between dates, times and timestamps, with and without time zone, and from text to them.
//!
//! Source: Firebird 5 language reference, section "Casting between date/time types"; a value without zone is one of
//! the session's zone, a time without date one of the current day.

use super::{CastContext, conversion_error};
use crate::error::{Error, Result, isc};
use crate::temporal::{
    Date, Expected, ParsedDateTime, Time, TimeTz, Timestamp, TimestampTz, localize, localize_time,
    parse_date_time, to_local, to_local_time,
};
use crate::value::{Text, Value};

fn parse(text: &Text, expected: Expected, context: &CastContext) -> Result<ParsedDateTime> {
    parse_date_time(&text.decode_lossy(), expected, context)
}

fn current_date(context: &CastContext) -> Date {
    to_local(TimestampTz { utc: (context.now)(), zone: context.session_zone }).date
}

/// The session's clocks at a point in time.
fn in_session(value: TimestampTz, context: &CastContext) -> Timestamp {
    to_local(TimestampTz { zone: context.session_zone, ..value })
}

/// Today at a time of day of the value's own zone.
fn today_at(value: TimeTz, context: &CastContext) -> TimestampTz {
    let local = Timestamp { date: current_date(context), time: to_local_time(value) };
    localize(local, value.zone)
}

pub(super) fn to_date(value: &Value, context: &CastContext) -> Result<Date> {
    match value {
        Value::Date(date) => Ok(*date),
        Value::Timestamp(timestamp) => Ok(timestamp.date),
        Value::TimestampTz(timestamp) => Ok(in_session(*timestamp, context).date),
        Value::Text(text) => Ok(parse(text, Expected::Date, context)?.local.date),
        _ => Err(conversion_error(value)),
    }
}

pub(super) fn to_time(value: &Value, context: &CastContext) -> Result<Time> {
    match value {
        Value::Time(time) => Ok(*time),
        Value::TimeTz(time) => Ok(in_session(today_at(*time, context), context).time),
        Value::Timestamp(timestamp) => Ok(timestamp.time),
        Value::TimestampTz(timestamp) => Ok(in_session(*timestamp, context).time),
        Value::Text(text) => {
            let parsed = parse(text, Expected::Time, context)?;
            match parsed.zone {
                Some(zone) if zone != context.session_zone => {
                    let time = parsed.time_with_zone(context);
                    Ok(in_session(today_at(time, context), context).time)
                }
                _ => Ok(parsed.local.time),
            }
        }
        _ => Err(conversion_error(value)),
    }
}

pub(super) fn to_timestamp(value: &Value, context: &CastContext) -> Result<Timestamp> {
    match value {
        Value::Timestamp(timestamp) => Ok(*timestamp),
        Value::Date(date) => Ok(Timestamp::midnight(*date)),
        Value::Time(time) => Ok(Timestamp { date: current_date(context), time: *time }),
        Value::TimeTz(time) => Ok(in_session(today_at(*time, context), context)),
        Value::TimestampTz(timestamp) => Ok(in_session(*timestamp, context)),
        Value::Text(text) => in_range(parse(text, Expected::Timestamp, context)?.without_zone(context)),
        _ => Err(conversion_error(value)),
    }
}

/// The zone of a text may move it over the edge.
fn in_range(timestamp: Timestamp) -> Result<Timestamp> {
    if timestamp.date.is_valid() { Ok(timestamp) } else { Err(Error::new(isc::DATETIME_RANGE_EXCEEDED)) }
}

pub(super) fn to_time_tz(value: &Value, context: &CastContext) -> Result<TimeTz> {
    let of_day = |timestamp: TimestampTz| localize_time(to_local(timestamp).time, timestamp.zone);
    match value {
        Value::TimeTz(time) => Ok(*time),
        Value::Time(time) => Ok(localize_time(*time, context.session_zone)),
        Value::Timestamp(timestamp) => Ok(of_day(localize(*timestamp, context.session_zone))),
        Value::TimestampTz(timestamp) => Ok(of_day(*timestamp)),
        Value::Text(text) => Ok(parse(text, Expected::Time, context)?.time_with_zone(context)),
        _ => Err(conversion_error(value)),
    }
}

pub(super) fn to_timestamp_tz(value: &Value, context: &CastContext) -> Result<TimestampTz> {
    let zone = context.session_zone;
    match value {
        Value::TimestampTz(timestamp) => Ok(*timestamp),
        Value::Timestamp(timestamp) => Ok(localize(*timestamp, zone)),
        Value::Date(date) => Ok(localize(Timestamp::midnight(*date), zone)),
        Value::Time(time) => Ok(localize(Timestamp { date: current_date(context), time: *time }, zone)),
        Value::TimeTz(time) => Ok(today_at(*time, context)),
        Value::Text(text) => {
            let instant = parse(text, Expected::Timestamp, context)?.with_zone(context);
            in_range(instant.utc).map(|_| instant)
        }
        _ => Err(conversion_error(value)),
    }
}
