//! Comparing values, BLOBs by their contents.

use std::cmp::Ordering;

use farbird_types::{Collation, Error, Result, Value, compare, isc};

use crate::array::is_array;
use crate::blob::{releasing, text_of};
use crate::context::Context;

/// Whether two values compare without reading BLOBs.
pub fn is_plain(left: &Value, right: &Value) -> bool {
    !matches!(left, Value::Blob(_)) && !matches!(right, Value::Blob(_))
}

/// Compares two values that are no BLOBs; `None` if either is NULL.
#[inline]
pub fn compare_plain(
    left: &Value,
    right: &Value,
    collation: Collation,
    context: &Context<'_>,
) -> Result<Option<Ordering>> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (
            Value::Integer { unscaled: left, scale: left_scale },
            Value::Integer { unscaled: right, scale: right_scale },
        ) if left_scale == right_scale => Ok(Some(left.cmp(right))),
        _ => compare::compare_in(left, right, collation, &context.cast).map(Some),
    }
}

/// Refuses to compare arrays.
fn refuse_arrays(left: &Value, right: &Value, context: &Context<'_>) -> Result<()> {
    for value in [left, right] {
        if let Value::Blob(id) = value
            && is_array(&context.transaction.store, *id)?
        {
            return Err(Error::new(isc::WISH_LIST).and(isc::BLOBNOTSUP).with("compare"));
        }
    }
    Ok(())
}

/// Compares two values; `None` if either is NULL. BLOBs are compared by their contents.
#[inline]
pub fn compare_nullable(
    left: &Value,
    right: &Value,
    collation: Collation,
    context: &mut Context<'_>,
) -> Result<Option<Ordering>> {
    if left.is_null() || right.is_null() {
        return Ok(None);
    }
    if is_plain(left, right) {
        return compare_plain(left, right, collation, context);
    }
    refuse_arrays(left, right, context)?;
    if left == right {
        return Ok(Some(Ordering::Equal));
    }
    releasing(context, |context| {
        let left = Value::Text(text_of(left, context)?);
        let right = Value::Text(text_of(right, context)?);
        compare::compare_in(&left, &right, collation, &context.cast).map(Some)
    })
}
