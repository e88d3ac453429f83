//! Values as the numbers that functions compute with.

use farbird_types::decimal::Decimal;
use farbird_types::{Error, Result, SqlType, Value, convert, isc};

use crate::argument;
use crate::context::Context;

/// A number in the kind it is computed in.
pub(crate) enum Number {
    /// An exact number: unscaled value and scale.
    Exact(i128, i8),
    /// FLOAT, DOUBLE, and texts that read as numbers.
    Double(f64),
    /// DECFLOAT.
    Decimal(Decimal),
}

/// The number that a value is.
pub(crate) fn number(context: &Context<'_>, value: &Value) -> Result<Number> {
    Ok(match value {
        Value::Integer { unscaled, scale } => Number::Exact(i128::from(*unscaled), *scale),
        Value::Int128 { unscaled, scale } => Number::Exact(*unscaled, *scale),
        Value::DecFloat(decimal) => Number::Decimal(*decimal),
        other => Number::Double(argument::double(context, other)?),
    })
}

/// A value as DECFLOAT(34).
pub(crate) fn decimal(context: &Context<'_>, value: &Value) -> Result<Decimal> {
    match convert::cast(value, &SqlType::DecFloat34, &argument::cast_context(context))? {
        Value::DecFloat(decimal) => Ok(decimal),
        _ => Err(Error::new(isc::CONVERT_ERROR).with(convert::to_display_text(value))),
    }
}
