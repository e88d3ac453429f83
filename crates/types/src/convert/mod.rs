//! CAST and assignment: any value to any type that Firebird can convert it to.
//!
//! Source: Firebird 5 language reference, section CAST; the results in the tests were recorded from Firebird 3 and 4.

use crate::error::{Error, Result, isc};
use crate::sql_type::SqlType;
use crate::temporal::{Timestamp, ZoneId};
use crate::value::Value;

/// What conversions need to know beside the value: nothing here is read from a clock or a global.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CastContext {
    /// SET TIME ZONE of the session: how values without a zone and values with one meet.
    pub session_zone: ZoneId,
    /// The current timestamp in UTC: 'NOW', 'TODAY', and the date of a TIME cast to TIMESTAMP.
    pub now: Timestamp,
}

/// Converts `value` to `to` as CAST and assignments do. NULL stays NULL.
///
/// # Errors
/// `convert_error` for text that does not read as the type, `arith_except` with `numeric_out_of_range` or
/// `string_truncation` where the value does not fit, `transliteration_failed` and `malformed_string` between
/// character sets, `convert_error` for pairs of types that Firebird does not convert. BLOBs are the engine's.
pub fn cast(value: &Value, to: &SqlType, context: &CastContext) -> Result<Value> {
    let _ = (value, to, context);
    Err(Error::new(isc::WISH_LIST))
}

/// The text of a value as CAST to VARCHAR gives it; "NULL" for NULL, the id in hexadecimal for a BLOB.
pub fn to_display_text(value: &Value) -> String {
    format!("{value:?}")
}
