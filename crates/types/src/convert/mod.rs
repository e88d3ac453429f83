//! CAST and assignment: any value to any type that Firebird can convert it to.
//!
//! Source: Firebird 5 language reference, section CAST; the results in the tests were recorded from Firebird 3 and 4.

pub mod number;
mod temporal;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;

use crate::decimal::DecimalContext;
use crate::error::{Error, Result, isc};
use crate::sql_type::SqlType;
use crate::temporal::{Date, Time, Timestamp, TimestampTz, ZoneId, to_local};
use crate::value::Value;

pub use text::{double_to_text, exact_to_text};

/// What conversions need to know beside the value. This crate reads no clock: whoever converts hands one in.
#[derive(Debug, Clone, Copy)]
pub struct CastContext {
    /// SET TIME ZONE of the session: how values without a zone and values with one meet.
    pub session_zone: ZoneId,
    /// The current timestamp in UTC: 'NOW', 'TODAY', and the date of a TIME cast to TIMESTAMP. A clock rather than a
    /// value: in Firebird 'NOW' moves on within a statement, other than CURRENT_TIMESTAMP.
    pub now: fn() -> Timestamp,
    /// SET DECFLOAT ROUND and TRAPS of the session.
    pub decimal: DecimalContext,
    /// Texts of points in time in dialect 1: with the name of the month, and without a time at midnight.
    pub month_names: bool,
}

impl CastContext {
    /// For conversions that depend on nothing of it: a session in GMT at the beginning of 2020 with its first settings.
    pub const UTC: CastContext = CastContext {
        session_zone: ZoneId::GMT,
        now: || Timestamp::midnight(Date::TIME_ZONE_BASE),
        decimal: DecimalContext::DEFAULT,
        month_names: false,
    };
}

/// Converts `value` to `to` as CAST and assignments do. NULL stays NULL.
///
/// # Errors
/// `convert_error` for text that does not read as the type, `arith_except` with `numeric_out_of_range` or
/// `string_truncation` where the value does not fit, `transliteration_failed` and `malformed_string` between
/// character sets, `convert_error` for pairs of types that Firebird does not convert. BLOBs are the engine's.
pub fn cast(value: &Value, to: &SqlType, context: &CastContext) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if matches!(value, Value::Blob(_)) {
        return Err(match to {
            SqlType::Text(_) | SqlType::Blob { .. } | SqlType::Null => blob_not_supported(),
            _ => conversion_error(value),
        });
    }
    match to {
        SqlType::Null => Ok(value.clone()),
        SqlType::Boolean => text::to_boolean(value),
        SqlType::Exact { width, scale, .. } => number::to_exact(value, *width, *scale, &context.decimal),
        SqlType::Float => number::to_float(value, &context.decimal).map(Value::Float),
        SqlType::Double => number::to_double_in(value, &context.decimal).map(Value::Double),
        SqlType::DecFloat16 => number::to_decimal_16(value, &context.decimal).map(Value::DecFloat),
        SqlType::DecFloat34 => number::to_decimal_in(value, &context.decimal).map(Value::DecFloat),
        SqlType::Date => temporal::to_date(value, context).map(Value::Date),
        SqlType::Time => temporal::to_time(value, context).map(Value::Time),
        SqlType::Timestamp => temporal::to_timestamp(value, context).map(Value::Timestamp),
        SqlType::TimeTz => temporal::to_time_tz(value, context).map(Value::TimeTz),
        SqlType::TimestampTz => temporal::to_timestamp_tz(value, context).map(Value::TimestampTz),
        SqlType::Text(text_type) => text::to_text(value, text_type, context),
        SqlType::Blob { .. } => Err(blob_not_supported()),
        SqlType::Array => Err(Error::new(isc::ARRAY_CONVERT_ERROR)),
    }
}

fn blob_not_supported() -> Error {
    Error::new(isc::WISH_LIST).and(isc::BLOBNOTSUP).with("move")
}

/// The text of a value as CAST to a long enough VARCHAR gives it; "NULL" for NULL, the id in hexadecimal for a BLOB.
/// Texts of any character set are shown, if need be with replacement characters.
pub fn to_display_text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(value) => if *value { "TRUE" } else { "FALSE" }.to_owned(),
        Value::Integer { unscaled, scale } => exact_to_text(i128::from(*unscaled), *scale),
        Value::Int128 { unscaled, scale } => exact_to_text(*unscaled, *scale),
        Value::Float(value) => double_to_text(f64::from(*value), text::FLOAT_DIGITS),
        Value::Double(value) => double_to_text(*value, text::DOUBLE_DIGITS),
        Value::DecFloat(value) => value.to_string(),
        Value::Date(value) => value.to_string(),
        Value::Time(value) => value.to_string(),
        Value::Timestamp(value) => value.to_string(),
        Value::TimeTz(value) => value.to_string(),
        Value::TimestampTz(value) => value.to_string(),
        Value::Text(text) => text.decode_lossy().into_owned(),
        Value::Blob(id) => format!("{:x}:{:x}", id.0 >> 32, id.0 & 0xFFFF_FFFF),
    }
}

/// The text of a value as a statement has it: [`to_display_text`], but for points in time in dialect 1.
pub fn text_in(value: &Value, context: &CastContext) -> String {
    match value {
        Value::Timestamp(timestamp) if context.month_names => text_with_month_name(*timestamp, None),
        Value::TimestampTz(instant) if context.month_names => zoned_text_with_month_name(*instant),
        value => to_display_text(value),
    }
}

/// As Firebird shows the value in a result; `<null>` for NULL. A BLOB is its id.
// Here, since what values are knows nothing of texts.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.pad("<null>"),
            value => f.pad(&to_display_text(value)),
        }
    }
}

/// The error of a value that cannot be read as what is asked for.
pub fn conversion_error(value: &Value) -> Error {
    let said = match value {
        Value::Boolean(_) => "BOOLEAN".to_owned(),
        Value::Blob(_) => "BLOB".to_owned(),
        Value::Timestamp(timestamp) => text_with_month_name(*timestamp, None),
        Value::TimestampTz(instant) => zoned_text_with_month_name(*instant),
        other => to_display_text(other),
    };
    Error::new(isc::CONVERT_ERROR).with(printable(&said))
}

/// A point in time as Firebird's messages and texts of dialect 1 show it, `29-FEB-2020 9:14:15.1678`: without its time at midnight.
fn text_with_month_name(local: Timestamp, zone: Option<&str>) -> String {
    const MONTHS: [&str; 12] =
        ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    let (year, month, day) = local.date.year_month_day();
    let name = usize::try_from(month).ok().and_then(|month| MONTHS.get(month.checked_sub(1)?));
    let mut text = format!("{day:02}-{}-{year:04}", name.unwrap_or(&""));
    if local.time != Time::default() {
        let time = local.time.to_string();
        text.push(' ');
        text.push_str(time.strip_prefix('0').unwrap_or(&time));
    }
    if let Some(zone) = zone {
        text.push(' ');
        text.push_str(zone);
    }
    text
}

fn zoned_text_with_month_name(instant: TimestampTz) -> String {
    // What its text has behind date and time.
    let shown = instant.to_string();
    text_with_month_name(to_local(instant), shown.splitn(3, ' ').nth(2))
}

/// Control characters as `#x0a`: messages are lines.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character < ' ' {
            out.push_str(&format!("#x{:02x}", u32::from(character)));
        } else {
            out.push(character);
        }
    }
    out
}

/// `arith_except` with `numeric_out_of_range`.
pub(crate) fn out_of_range() -> Error {
    Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE)
}
