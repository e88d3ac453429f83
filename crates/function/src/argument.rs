//! Arguments as the kinds that function bodies compute with, and results as the kinds that calls promise.

use farbird_types::{
    CastContext, CharacterSet, Error, ExactWidth, Result, SqlType, Text, Value, convert, isc,
};

use crate::blob;
use crate::context::Context;
use crate::result_type::TEXT_BYTES_MAX;

/// What conversions need to know, from the running statement.
pub fn cast_context(context: &Context<'_>) -> CastContext {
    context.cast
}

/// Any value as a text in its own character set: BLOBs are read whole; what is no text becomes ASCII.
///
/// # Errors
/// Those of reading a BLOB.
pub fn text(context: &mut Context<'_>, value: &Value) -> Result<Text> {
    blob::text_of(value, context)
}

/// As [`text`], rewritten in a character set. Bytes of NONE and OCTETS stay as they are.
///
/// # Errors
/// Those of reading and of transliteration.
pub fn text_in(context: &mut Context<'_>, value: &Value, to: CharacterSet) -> Result<Text> {
    text(context, value)?.transliterate(to)
}

/// A value rounded to a whole number.
///
/// # Errors
/// Those of CAST AS BIGINT.
pub fn integer(context: &Context<'_>, value: &Value) -> Result<i64> {
    if let Value::Integer { unscaled, scale: 0 } = value {
        return Ok(*unscaled);
    }
    match convert::cast(value, &SqlType::BIGINT, &cast_context(context))? {
        Value::Integer { unscaled, .. } => Ok(unscaled),
        _ => Err(Error::new(isc::CONVERT_ERROR).with(convert::to_display_text(value))),
    }
}

/// A value rounded to a whole number of INTEGER's range.
///
/// # Errors
/// Those of CAST AS INTEGER.
pub fn int32(context: &Context<'_>, value: &Value) -> Result<i32> {
    let number = integer(context, value)?;
    i32::try_from(number).map_err(|_| Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE))
}

/// A value as DOUBLE PRECISION.
///
/// # Errors
/// Those of CAST AS DOUBLE PRECISION.
pub fn double(context: &Context<'_>, value: &Value) -> Result<f64> {
    if let Value::Double(number) = value {
        return Ok(*number);
    }
    match convert::cast(value, &SqlType::Double, &cast_context(context))? {
        Value::Double(number) => Ok(number),
        _ => Err(Error::new(isc::CONVERT_ERROR).with(convert::to_display_text(value))),
    }
}

/// A DOUBLE result.
///
/// # Errors
/// `arith_except` with `exception_float_overflow` for infinities and what is no number.
pub fn double_result(number: f64) -> Result<Value> {
    if number.is_finite() {
        Ok(Value::Double(number))
    } else {
        Err(Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_FLOAT_OVERFLOW))
    }
}

/// An exact number as a value of an exact type (or, of any other type, of the narrowest that holds it).
///
/// # Errors
/// `arith_except` with `numeric_out_of_range` if the type's width does not hold it.
pub fn exact_result(unscaled: i128, scale: i8, result: &SqlType) -> Result<Value> {
    let out_of_range = || Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE);
    let width = match result {
        SqlType::Exact { width, .. } => *width,
        _ => ExactWidth::Int128,
    };
    let fits = match width {
        ExactWidth::Short => i16::try_from(unscaled).is_ok(),
        ExactWidth::Long => i32::try_from(unscaled).is_ok(),
        ExactWidth::Int64 => i64::try_from(unscaled).is_ok(),
        ExactWidth::Int128 => true,
    };
    if !fits {
        return Err(out_of_range());
    }
    if width == ExactWidth::Int128 {
        return Ok(Value::Int128 { unscaled, scale });
    }
    Ok(Value::Integer { unscaled: i64::try_from(unscaled).map_err(|_| out_of_range())?, scale })
}

/// Bytes as the text or BLOB that the call promised; `character_set` is the one that they are written in.
///
/// # Errors
/// `arith_except` with `string_truncation` past the longest text; those of writing a BLOB.
pub fn text_result(
    context: &mut Context<'_>,
    bytes: Vec<u8>,
    character_set: CharacterSet,
    result: &SqlType,
) -> Result<Value> {
    let is_long = bytes.len() > TEXT_BYTES_MAX as usize;
    match result {
        SqlType::Blob { subtype, character_set: to, .. } if *subtype != 1 || *to == character_set => {
            Ok(Value::Blob(blob::bytes_blob(context, &bytes, *subtype, *to)?))
        }
        SqlType::Blob { subtype, character_set: to, .. } => {
            let text = Text::new(bytes, character_set);
            Ok(Value::Blob(blob::text_blob(context, &text, *subtype, *to)?))
        }
        _ if is_long => Err(Error::new(isc::ARITH_EXCEPT).and(isc::STRING_TRUNCATION)),
        _ => Ok(Value::Text(Text::new(bytes, character_set))),
    }
}
