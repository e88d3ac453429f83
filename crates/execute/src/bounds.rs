//! Ranges of indexes at run time: the values of bounds, made values of the indexed columns.
//!
//! A range may hold more rows than the predicate it comes from, never fewer: the predicate itself is checked
//! afterwards. That is why a bound that the column's type cannot express exactly is widened.

use std::cmp::Ordering;

use farbird_expression::ExecutionContext;
use farbird_function::blob::{cast_value, releasing, text_of};
use farbird_function::compare::compare_nullable;
use farbird_plan::IndexRange;
use farbird_store::{KeyBound, KeyRange};
use farbird_types::{Collation, ExactWidth, Result, SqlType, Text, Value, isc};

/// A value as a column's type can express it.
enum Fit {
    /// The same value.
    Exact(Value),
    /// The nearest value.
    Near(Value),
    /// No value of the type is near.
    Outside,
}

/// Evaluates the values that the first parts of a range's keys have; false if no row can have them.
///
/// # Errors
/// As [`key_range`].
pub(crate) fn equal_values(
    range: &IndexRange,
    values: &mut Vec<Value>,
    context: &mut ExecutionContext<'_>,
) -> Result<bool> {
    values.clear();
    for part in &range.equal {
        let value = part.value.evaluate(&[], context)?;
        if value.is_null() && !part.null_matches {
            return Ok(false);
        }
        match fit(value, &part.sql_type, context)? {
            Fit::Exact(value) => values.push(value),
            Fit::Near(_) | Fit::Outside => return Ok(false),
        }
    }
    Ok(true)
}

/// The keys to be read; `None` if no row can be in the range.
///
/// # Errors
/// Those of evaluating the bounds and of converting them (`convert_error` for a text that is no number).
pub(crate) fn key_range(range: &IndexRange, context: &mut ExecutionContext<'_>) -> Result<Option<KeyRange>> {
    let mut equal = Vec::with_capacity(range.equal.len() + 1);
    if !equal_values(range, &mut equal, context)? {
        return Ok(None);
    }
    let Some(bound_type) = range.bound_type else { return Ok(Some(KeyRange::equal(equal))) };
    if let Some(starting) = &range.starting {
        let prefix = starting.evaluate(&[], context)?;
        if prefix.is_null() {
            return Ok(None);
        }
        let prefix = releasing(context, |context| text_of(&prefix, context))?;
        return Ok(prefix_range(equal, &prefix, &bound_type));
    }
    let mut bounds = [KeyBound::Unbounded, KeyBound::Unbounded];
    for (place, bound) in bounds.iter_mut().zip([&range.lower, &range.upper]) {
        let Some((value, inclusive)) = bound else { continue };
        let value = value.evaluate(&[], context)?;
        if value.is_null() {
            return Ok(None);
        }
        *place = match fit(value, &bound_type, context)? {
            Fit::Exact(value) if !inclusive => KeyBound::Excluded(with(&equal, value)),
            Fit::Exact(value) | Fit::Near(value) => KeyBound::Included(with(&equal, value)),
            Fit::Outside => KeyBound::Unbounded,
        };
    }
    let [lower, upper] = bounds;
    // Nothing compares to NULL: without a lower bound the range begins after the NULLs.
    let lower = match lower {
        KeyBound::Unbounded => KeyBound::Excluded(with(&equal, Value::Null)),
        bound => bound,
    };
    let upper = match upper {
        KeyBound::Unbounded if !equal.is_empty() => KeyBound::Included(equal),
        bound => bound,
    };
    Ok(Some(KeyRange { lower, upper, starting_with: None }))
}

fn prefix_range(equal: Vec<Value>, prefix: &Text, column: &SqlType) -> Option<KeyRange> {
    let character_set = match column {
        SqlType::Text(text) => text.character_set,
        _ => prefix.character_set(),
    };
    // A prefix that the column's character set cannot write is in no row.
    let prefix = prefix.transliterate(character_set).ok()?;
    if prefix.bytes().is_empty() {
        let lower = KeyBound::Excluded(with(&equal, Value::Null));
        let upper = if equal.is_empty() { KeyBound::Unbounded } else { KeyBound::Included(equal) };
        return Some(KeyRange { lower, upper, starting_with: None });
    }
    Some(KeyRange::starting_with(equal, prefix))
}

fn with(equal: &[Value], value: Value) -> Vec<Value> {
    let mut values = equal.to_vec();
    values.push(value);
    values
}

fn fit(value: Value, to: &SqlType, context: &mut ExecutionContext<'_>) -> Result<Fit> {
    match (&value, to) {
        (Value::Null, _) => Ok(Fit::Exact(value)),
        (Value::Integer { unscaled, scale }, SqlType::Exact { width, scale: to_scale, .. })
            if scale == to_scale && holds(*width, *unscaled) =>
        {
            Ok(Fit::Exact(value))
        }
        (Value::Text(text), SqlType::Text(to)) => match text.transliterate(to.character_set) {
            Ok(text) => Ok(Fit::Exact(Value::Text(text))),
            Err(_) => Ok(Fit::Outside),
        },
        _ => match cast_value(value.clone(), to, context) {
            Ok(cast) => match compare_nullable(&cast, &value, Collation::default(), context)? {
                Some(Ordering::Equal) => Ok(Fit::Exact(cast)),
                _ => Ok(Fit::Near(cast)),
            },
            Err(error) if error.has(isc::NUMERIC_OUT_OF_RANGE) || error.has(isc::ARITH_EXCEPT) => {
                Ok(Fit::Outside)
            }
            Err(error) => Err(error),
        },
    }
}

fn holds(width: ExactWidth, value: i64) -> bool {
    match width {
        ExactWidth::Short => i16::try_from(value).is_ok(),
        ExactWidth::Long => i32::try_from(value).is_ok(),
        ExactWidth::Int64 | ExactWidth::Int128 => true,
    }
}
