//! SQL comparison of two values, and keys by which equal values are equal bytes.

use std::cmp::Ordering;

use crate::character_set::Collation;
use crate::convert::CastContext;
use crate::error::{Error, Result, isc};
use crate::value::Value;

/// Compares two values that are not NULL: numbers of any kinds by their value, texts by the collation (of the
/// character set of the left one, or of the right one if the left has none), points in time as instants.
///
/// Text meets any other kind by being converted to it. Needs no context as long as the kinds are alike; a literal
/// without time zone beside a value with one is taken as UTC: see [`compare_in`].
///
/// # Errors
/// `convert_error` if a text does not read as the other kind; `expression_eval_err` for kinds that do not compare.
pub fn compare(left: &Value, right: &Value, collation: Collation) -> Result<Ordering> {
    let _ = (left, right, collation);
    Err(Error::new(isc::WISH_LIST))
}

/// As [`compare`], for values with and without a time zone or texts like 'TODAY'.
///
/// # Errors
/// As [`compare`].
pub fn compare_in(
    left: &Value,
    right: &Value,
    collation: Collation,
    context: &CastContext,
) -> Result<Ordering> {
    let _ = context;
    compare(left, right, collation)
}

/// Appends bytes that are the same for values that compare equal (`1 = 1.0 = 1e0`): for hash joins, DISTINCT and
/// GROUP BY. NULL has its own key. Not ordered: see [`crate::key`].
pub fn equality_key(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    let _ = (collation, out, value);
}
