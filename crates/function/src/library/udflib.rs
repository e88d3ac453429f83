//! The library `udflib`, an example of InterBase that many have built: without its functions of BLOBs.

use farbird_session::clock;
use farbird_types::temporal;
use farbird_types::{CharacterSet, Date, Error, Result, Text, Timestamp, TimestampTz, Value, isc};

use super::entry::{Entry, bytes_between, entry, integer, like, lower, number, text, without_leading_blanks};
use crate::context::Context;

/// Its entry points.
pub(super) const ENTRIES: &[Entry] = &[
    entry("fn_lower_c", 1, |context, it| Ok(lower(&text(context, it, 0)?))),
    entry("fn_strcat", 2, concatenated),
    entry("fn_substr", 3, substr),
    entry("fn_trim", 1, |context, it| Ok(without_leading_blanks(&text(context, it, 0)?))),
    entry("fn_trunc", 2, |context, it| {
        let length = integer(context, it, 1)?;
        Ok(bytes_between(&text(context, it, 0)?, 1, length))
    }),
    entry("fn_doy", 0, |context, _| Ok(Value::integer(day_of_year(today(context))))),
    entry("fn_moy", 0, |context, _| Ok(Value::integer(i64::from(today(context).date.year_month_day().1)))),
    entry("fn_dow", 0, |context, _| Ok(ascii(day_of_week(today(context))))),
    entry("fn_sysdate", 0, |context, _| Ok(ascii(&date(today(context))))),
    entry("fn_add2", 2, |context, it| {
        let sum = integer(context, it, 0)?.checked_add(integer(context, it, 1)?);
        let overflow = || Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE);
        sum.map(Value::integer).ok_or_else(overflow)
    }),
    entry("fn_mul", 2, |context, it| Ok(Value::Double(number(context, it, 0)? * number(context, it, 1)?))),
    entry("fn_fact", 1, factorial),
    entry("fn_abs", 1, |context, it| Ok(Value::Double(number(context, it, 0)?.abs()))),
    entry("fn_max", 2, |context, it| Ok(Value::Double(number(context, it, 0)?.max(number(context, it, 1)?)))),
    entry("fn_sqrt", 1, |context, it| Ok(Value::Double(number(context, it, 0)?.sqrt()))),
];

fn ascii(text: &str) -> Value {
    Value::Text(Text::new(text.as_bytes(), CharacterSet::ASCII))
}

/// The moment of the call in the session's time zone.
fn today(context: &Context<'_>) -> Timestamp {
    let zone = context.session.settings.lock().time_zone;
    temporal::to_local(TimestampTz { utc: clock::utc(), zone })
}

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn day_of_week(today: Timestamp) -> &'static str {
    // Day zero was a Wednesday.
    let day = usize::try_from((i64::from(today.date.0) + 2).rem_euclid(7)).unwrap_or(0);
    DAYS.get(day).copied().unwrap_or_default()
}

fn day_of_year(today: Timestamp) -> i64 {
    let (year, _, _) = today.date.year_month_day();
    let first = Date::from_year_month_day(year, 1, 1).unwrap_or(today.date);
    i64::from(today.date.0) - i64::from(first.0) + 1
}

/// `Nov-23-2026`
fn date(today: Timestamp) -> String {
    let (year, month, day) = today.date.year_month_day();
    let month = usize::try_from(month).ok().and_then(|month| MONTHS.get(month.checked_sub(1)?));
    format!("{}-{day:02}-{year}", month.copied().unwrap_or_default())
}

/// The first without the blanks behind it, then the second.
fn concatenated(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let (left, right) = (text(context, arguments, 0)?, text(context, arguments, 1)?);
    let end = left.bytes().iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    Ok(like(&left, &[left.bytes().get(..end).unwrap_or_default(), right.bytes()].concat()))
}

/// From one byte to another.
fn substr(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let text = text(context, arguments, 0)?;
    let (first, last) = (integer(context, arguments, 1)?, integer(context, arguments, 2)?);
    if first > last || first < 1 || last < 1 {
        return Ok(ascii("Bad parameters in substring"));
    }
    Ok(bytes_between(&text, first, last))
}

/// Of whole numbers up to 100; -9999 else.
fn factorial(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    const BAD_VALUE: f64 = -9_999.0;
    let number = number(context, arguments, 0)?;
    if !(0.0..=100.0).contains(&number) || number.fract() != 0.0 {
        return Ok(Value::Double(BAD_VALUE));
    }
    let (mut result, mut factor) = (1.0, number);
    while factor > 1.0 {
        result *= factor;
        factor -= 1.0;
    }
    Ok(Value::Double(result))
}
