//! EXTRACT, DATEADD, DATEDIFF, FIRST_DAY and LAST_DAY.

use super::{
    Date, FRACTIONS_PER_DAY, FRACTIONS_PER_SECOND, Time, TimeTz, Timestamp, TimestampTz, civil,
    days_in_month, localize, localize_time, to_local, to_local_time,
};
use crate::character_set::CharacterSet;
use crate::convert::CastContext;
use crate::decimal::Rounding;
use crate::error::{Error, Result, isc};
use crate::value::{Text, Value};

/// A part of a date or time, as EXTRACT and its kin name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum DatePart {
    /// YEAR
    Year,
    /// QUARTER, 1 to 4
    Quarter,
    /// MONTH, 1 to 12
    Month,
    /// DAY of the month, 1 to 31
    Day,
    /// HOUR
    Hour,
    /// MINUTE
    Minute,
    /// SECOND, with ten-thousandths
    Second,
    /// MILLISECOND, with tenths
    Millisecond,
    /// WEEK by ISO 8601
    Week,
    /// WEEKDAY, 0 is Sunday
    WeekDay,
    /// YEARDAY, 0 is the first of January
    YearDay,
    /// TIMEZONE_HOUR
    TimeZoneHour,
    /// TIMEZONE_MINUTE
    TimeZoneMinute,
    /// TIMEZONE_NAME
    TimeZoneName,
}

const NAMES: [(&str, DatePart); 14] = [
    ("YEAR", DatePart::Year),
    ("QUARTER", DatePart::Quarter),
    ("MONTH", DatePart::Month),
    ("DAY", DatePart::Day),
    ("HOUR", DatePart::Hour),
    ("MINUTE", DatePart::Minute),
    ("SECOND", DatePart::Second),
    ("MILLISECOND", DatePart::Millisecond),
    ("WEEK", DatePart::Week),
    ("WEEKDAY", DatePart::WeekDay),
    ("YEARDAY", DatePart::YearDay),
    ("TIMEZONE_HOUR", DatePart::TimeZoneHour),
    ("TIMEZONE_MINUTE", DatePart::TimeZoneMinute),
    ("TIMEZONE_NAME", DatePart::TimeZoneName),
];

impl DatePart {
    /// The part of a name, in any case.
    pub fn by_name(name: &str) -> Option<DatePart> {
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, part)| *part)
    }

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, part)| *part == self).map_or("", |(name, _)| *name)
    }

    fn is_of_time(self) -> bool {
        matches!(self, DatePart::Hour | DatePart::Minute | DatePart::Second | DatePart::Millisecond)
    }

    fn is_of_zone(self) -> bool {
        matches!(self, DatePart::TimeZoneHour | DatePart::TimeZoneMinute | DatePart::TimeZoneName)
    }
}

/// EXTRACT(part FROM value): SMALLINT; for SECOND and MILLISECOND INTEGER of scale -4 and -1; for TIMEZONE_NAME text.
///
/// # Errors
/// `expression_eval_err` with what does not fit together.
pub fn extract(part: DatePart, value: &Value, context: &CastContext) -> Result<Value> {
    let refused = |code| Error::new(isc::EXPRESSION_EVAL_ERR).and(code);
    let (date, time, instant) = match value {
        Value::Null => return Ok(Value::Null),
        Value::Date(_) if part.is_of_time() || part.is_of_zone() => {
            return Err(refused(isc::INVALID_EXTRACTPART_DATE));
        }
        Value::Time(_) | Value::TimeTz(_) if !part.is_of_time() && !part.is_of_zone() => {
            return Err(refused(isc::INVALID_EXTRACTPART_TIME));
        }
        Value::Date(date) => (*date, Time(0), localize(Timestamp::midnight(*date), context.session_zone)),
        Value::Time(time) => {
            let local = Timestamp { date: Date::TIME_ZONE_BASE, time: *time };
            (local.date, local.time, localize(local, context.session_zone))
        }
        Value::TimeTz(time) => {
            let utc = Timestamp { date: Date::TIME_ZONE_BASE, time: time.utc };
            (utc.date, to_local_time(*time), TimestampTz { utc, zone: time.zone })
        }
        Value::Timestamp(local) => (local.date, local.time, localize(*local, context.session_zone)),
        Value::TimestampTz(instant) => {
            let local = to_local(*instant);
            (local.date, local.time, *instant)
        }
        _ => return Err(refused(isc::INVALIDARG_EXTRACT)),
    };
    let (year, month, day) = date.year_month_day();
    let (hour, minute, second, fraction) = time.parts();
    let offset = || instant.zone.offset_at_utc(instant.utc);
    let whole = |number: i64| Ok(Value::integer(number));
    match part {
        DatePart::Year => whole(year.into()),
        DatePart::Quarter => whole(i64::from((month - 1) / 3 + 1)),
        DatePart::Month => whole(month.into()),
        DatePart::Day => whole(day.into()),
        DatePart::Hour => whole(hour.into()),
        DatePart::Minute => whole(minute.into()),
        DatePart::Second => {
            Ok(Value::Integer { unscaled: i64::from(second * FRACTIONS_PER_SECOND + fraction), scale: -4 })
        }
        DatePart::Millisecond => Ok(Value::Integer { unscaled: i64::from(fraction), scale: -1 }),
        DatePart::Week => whole(civil::iso_week(date).into()),
        DatePart::WeekDay => whole(civil::day_of_week(date).into()),
        DatePart::YearDay => whole(civil::day_of_year(date).into()),
        DatePart::TimeZoneHour => whole((offset() / 60).into()),
        DatePart::TimeZoneMinute => whole((offset() % 60).into()),
        DatePart::TimeZoneName => {
            Ok(Value::Text(Text::new(instant.zone.to_string().as_bytes(), CharacterSet::ASCII)))
        }
    }
}

/// DATEADD(amount part TO value). Months are calendar months: the 31st becomes the last day of a shorter one. Values with
/// a time zone move in UTC.
///
/// `amount` is a number; its fraction counts for MILLISECOND (tenths) and is rounded off for the others.
///
/// # Errors
/// `expression_eval_err` with the part that the kind of value does not have; `date_range_exceeded` and its kin.
pub fn add_to_part(part: DatePart, amount: &Value, value: &Value) -> Result<Value> {
    if amount.is_null() {
        return Ok(Value::Null);
    }
    match value {
        Value::Null => Ok(Value::Null),
        Value::Date(date) => add_to_date(part, amount, *date).map(Value::Date),
        Value::Timestamp(timestamp) => add_to_timestamp(part, amount, *timestamp).map(Value::Timestamp),
        Value::TimestampTz(instant) => {
            let utc = add_to_timestamp(part, amount, instant.utc)?;
            Ok(Value::TimestampTz(TimestampTz { utc, ..*instant }))
        }
        Value::Time(time) => add_to_time(part, amount, *time).map(Value::Time),
        Value::TimeTz(time) => {
            let utc = add_to_time(part, amount, time.utc)?;
            Ok(Value::TimeTz(TimeTz { utc, ..*time }))
        }
        _ => Err(Error::new(isc::EXPRESSION_EVAL_ERR).and(isc::SYSF_INVALID_ADD_DATETIME).with("DATEADD")),
    }
}

fn add_to_timestamp(part: DatePart, amount: &Value, timestamp: Timestamp) -> Result<Timestamp> {
    let range = || Error::new(isc::DATETIME_RANGE_EXCEEDED);
    let moved = match months_per_unit(part) {
        Some(months) => {
            let date = add_months(timestamp.date, whole_amount(amount)?, months).ok_or_else(range)?;
            Timestamp { date, ..timestamp }
        }
        None => {
            let ticks = ticks_of(part, amount)?.ok_or_else(range)?;
            Timestamp::from_ticks_unchecked(timestamp.ticks().checked_add(ticks).ok_or_else(range)?)
        }
    };
    if moved.date.is_valid() { Ok(moved) } else { Err(range()) }
}

/// A date moves by whole days: 36 hours are one, and a second is none.
fn add_to_date(part: DatePart, amount: &Value, date: Date) -> Result<Date> {
    let range = || Error::new(isc::DATE_RANGE_EXCEEDED);
    let moved = match months_per_unit(part) {
        Some(months) => add_months(date, whole_amount(amount)?, months),
        None => {
            let days = ticks_of(part, amount)?.ok_or_else(range)? / i64::from(FRACTIONS_PER_DAY);
            i64::from(date.0).checked_add(days).and_then(|days| i32::try_from(days).ok()).map(Date)
        }
    };
    moved.filter(|date| date.is_valid()).ok_or_else(range)
}

/// Times of day go around at midnight.
fn add_to_time(part: DatePart, amount: &Value, time: Time) -> Result<Time> {
    if !part.is_of_time() {
        return Err(Error::new(isc::EXPRESSION_EVAL_ERR).and(isc::SYSF_INVALID_ADDPART_TIME).with("DATEADD"));
    }
    let ticks = ticks_of(part, amount)?.ok_or_else(|| Error::new(isc::TIME_RANGE_EXCEEDED))?;
    let moved = i128::from(time.0) + i128::from(ticks);
    Ok(Time(u32::try_from(moved.rem_euclid(i128::from(FRACTIONS_PER_DAY))).unwrap_or(0)))
}

fn months_per_unit(part: DatePart) -> Option<i64> {
    match part {
        DatePart::Year => Some(12),
        DatePart::Month => Some(1),
        _ => None,
    }
}

/// An amount of a part of fixed length in ten-thousandths of seconds; nothing if that is too long.
fn ticks_of(part: DatePart, amount: &Value) -> Result<Option<i64>> {
    const SECOND: i64 = FRACTIONS_PER_SECOND as i64;
    let unit = match part {
        // Tenths of a millisecond are ticks.
        DatePart::Millisecond => return unscaled_amount(amount, -1).map(Some),
        DatePart::Second => SECOND,
        DatePart::Minute => 60 * SECOND,
        DatePart::Hour => 3600 * SECOND,
        DatePart::Day => 86_400 * SECOND,
        DatePart::Week => 7 * 86_400 * SECOND,
        _ => {
            return Err(Error::new(isc::EXPRESSION_EVAL_ERR)
                .and(isc::SYSF_INVALID_ADDPART_DTIME)
                .with(part.name())
                .with("DATEADD"));
        }
    };
    Ok(whole_amount(amount)?.checked_mul(unit))
}

/// The same day of another month, or its last one. Nothing beyond Firebird's range.
fn add_months(date: Date, amount: i64, months_per_unit: i64) -> Option<Date> {
    let months = amount.checked_mul(months_per_unit)?;
    let (year, month, day) = date.year_month_day();
    let total = months.checked_add(i64::from(year) * 12 + i64::from(month) - 1)?;
    let new_year = i32::try_from(total.div_euclid(12)).ok()?;
    let new_month = u32::try_from(total.rem_euclid(12)).ok()? + 1;
    let last = days_in_month(new_year, new_month);
    // Firebird's own: forward by months from a 29th of February to a year without one goes to the end of the month.
    let leap_day_lost = months_per_unit == 1 && months >= 0 && day > days_in_month(new_year, month);
    Date::from_year_month_day(new_year, new_month, if leap_day_lost { last } else { day.min(last) })
}

fn whole_amount(amount: &Value) -> Result<i64> {
    unscaled_amount(amount, 0)
}

fn unscaled_amount(amount: &Value, scale: i8) -> Result<i64> {
    let unscaled = match amount {
        Value::Integer { unscaled, scale: from } => {
            crate::convert::number::rescale(i128::from(*unscaled), *from, scale)?
        }
        Value::Int128 { unscaled, scale: from } => crate::convert::number::rescale(*unscaled, *from, scale)?,
        Value::DecFloat(amount) => amount.to_unscaled(scale, Rounding::HalfUp)?,
        other => {
            let amount = crate::convert::number::to_double(other)?;
            crate::decimal::Decimal::from_f64(amount).to_unscaled(scale, Rounding::HalfUp)?
        }
    };
    i64::try_from(unscaled).map_err(|_| crate::convert::out_of_range())
}

/// DATEDIFF(part FROM from TO to): BIGINT, for MILLISECOND of scale -1. Counts the boundaries crossed, but WEEK whole
/// seven days.
///
/// # Errors
/// `expression_eval_err` with the part or the mix of kinds that does not work.
pub fn difference_in_parts(part: DatePart, from: &Value, to: &Value, context: &CastContext) -> Result<Value> {
    if from.is_null() || to.is_null() {
        return Ok(Value::Null);
    }
    let refused = |code| Error::new(isc::EXPRESSION_EVAL_ERR).and(code);
    let is_time = |value: &Value| matches!(value, Value::Time(_) | Value::TimeTz(_));
    let has_zone = |value: &Value| matches!(value, Value::TimeTz(_) | Value::TimestampTz(_));
    // With a zone on either side both are counted in UTC.
    let zoned = has_zone(from) || has_zone(to);
    let (start, end) = (difference_operand(from, zoned, context)?, difference_operand(to, zoned, context)?);
    let days = i64::from(end.date.0) - i64::from(start.date.0);
    let units = |unit: i64| end.ticks().div_euclid(unit) - start.ticks().div_euclid(unit);
    const SECOND: i64 = FRACTIONS_PER_SECOND as i64;
    if part.is_of_time() {
        if is_time(from) != is_time(to) {
            let day = matches!(from, Value::Date(_)) || matches!(to, Value::Date(_));
            let code = if day { isc::SYSF_INVALID_DATETIMEDIFF } else { isc::SYSF_INVALID_TSTAMPTIMEDIFF };
            return Err(refused(code).with("DATEDIFF"));
        }
    } else if is_time(from) || is_time(to) {
        return Err(refused(isc::SYSF_INVALID_TIMEDIFF).with("DATEDIFF"));
    }
    let months = || {
        let month = |date: Date| {
            let (year, month, _) = date.year_month_day();
            i64::from(year) * 12 + i64::from(month) - 1
        };
        (month(start.date), month(end.date))
    };
    let counted = match part {
        DatePart::Year => months().1.div_euclid(12) - months().0.div_euclid(12),
        DatePart::Month => months().1 - months().0,
        DatePart::Day => days,
        DatePart::Week => days / 7,
        DatePart::Hour => units(3600 * SECOND),
        DatePart::Minute => units(60 * SECOND),
        DatePart::Second => units(SECOND),
        DatePart::Millisecond => {
            return Ok(Value::Integer { unscaled: end.ticks() - start.ticks(), scale: -1 });
        }
        _ => return Err(refused(isc::SYSF_INVALID_DIFFPART).with(part.name()).with("DATEDIFF")),
    };
    Ok(Value::integer(counted))
}

fn difference_operand(value: &Value, zoned: bool, context: &CastContext) -> Result<Timestamp> {
    let zone = context.session_zone;
    Ok(match value {
        Value::Date(date) => Timestamp::midnight(*date),
        Value::Timestamp(local) if zoned => localize(*local, zone).utc,
        Value::Timestamp(local) => *local,
        Value::TimestampTz(instant) => instant.utc,
        Value::Time(time) => {
            let time = if zoned { localize_time(*time, zone).utc } else { *time };
            Timestamp { date: Date::TIME_ZONE_BASE, time }
        }
        Value::TimeTz(time) => Timestamp { date: Date::TIME_ZONE_BASE, time: time.utc },
        _ => {
            return Err(Error::new(isc::EXPRESSION_EVAL_ERR)
                .and(isc::SYSF_INVALID_DIFF_DTIME)
                .with("DATEDIFF"));
        }
    })
}

/// FIRST_DAY(OF part FROM value): the first day of its year, quarter, month or week (which begins on Sunday).
///
/// # Errors
/// `expression_eval_err` with the part or kind of value that does not work; `datetime_range_exceeded`.
pub fn first_day(part: DatePart, value: &Value) -> Result<Value> {
    edge_day(part, value, "FIRST_DAY", |date| {
        let (year, month, _) = date.year_month_day();
        match part {
            DatePart::Year => Date::from_year_month_day(year, 1, 1),
            DatePart::Quarter => Date::from_year_month_day(year, (month - 1) / 3 * 3 + 1, 1),
            DatePart::Month => Date::from_year_month_day(year, month, 1),
            _ => Some(Date(date.0.saturating_sub(civil::day_of_week(date)))),
        }
    })
}

/// LAST_DAY(OF part FROM value).
///
/// # Errors
/// As [`first_day`].
pub fn last_day(part: DatePart, value: &Value) -> Result<Value> {
    edge_day(part, value, "LAST_DAY", |date| {
        let (year, month, _) = date.year_month_day();
        let end_of_month = |month| Date::from_year_month_day(year, month, days_in_month(year, month));
        match part {
            DatePart::Year => end_of_month(12),
            DatePart::Quarter => end_of_month((month - 1) / 3 * 3 + 3),
            DatePart::Month => end_of_month(month),
            _ => Some(Date(date.0.saturating_add(6 - civil::day_of_week(date)))),
        }
    })
}

fn edge_day(
    part: DatePart,
    value: &Value,
    function: &str,
    edge: impl Fn(Date) -> Option<Date>,
) -> Result<Value> {
    if !matches!(part, DatePart::Year | DatePart::Quarter | DatePart::Month | DatePart::Week) {
        return Err(Error::new(isc::EXPRESSION_EVAL_ERR)
            .and(isc::SYSF_INVALID_FIRST_LAST_PART)
            .with(function));
    }
    let moved = |date: Date| {
        edge(date).filter(|date| date.is_valid()).ok_or_else(|| Error::new(isc::DATETIME_RANGE_EXCEEDED))
    };
    match value {
        Value::Null => Ok(Value::Null),
        Value::Date(date) => Ok(Value::Date(moved(*date)?)),
        Value::Timestamp(timestamp) => {
            Ok(Value::Timestamp(Timestamp { date: moved(timestamp.date)?, ..*timestamp }))
        }
        Value::TimestampTz(instant) => {
            let local = to_local(*instant);
            let local = Timestamp { date: moved(local.date)?, ..local };
            Ok(Value::TimestampTz(localize(local, instant.zone)))
        }
        _ => Err(Error::new(isc::EXPRESSION_EVAL_ERR).and(isc::SYSF_INVALID_DATE_TIMESTAMP).with(function)),
    }
}
