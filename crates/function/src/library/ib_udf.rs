//! The library `ib_udf`. NULL is 0 or an empty text to most of its functions.

use farbird_types::{CharacterSet, Result, Text, Value};

use super::entry::{
    Entry, bytes_between, entry, integer, like, lower, number, text, value, without_leading_blanks,
};
use crate::context::Context;
use crate::random;

/// Its entry points.
pub(super) const ENTRIES: &[Entry] = &[
    entry("IB_UDF_abs", 1, |context, it| unary(context, it, f64::abs)),
    entry("IB_UDF_acos", 1, |context, it| unary(context, it, f64::acos)),
    entry("IB_UDF_ascii_char", 1, ascii_char),
    entry("IB_UDF_ascii_val", 1, ascii_val),
    entry("IB_UDF_asin", 1, |context, it| unary(context, it, f64::asin)),
    entry("IB_UDF_atan", 1, |context, it| unary(context, it, f64::atan)),
    entry("IB_UDF_atan2", 2, |context, it| binary(context, it, f64::atan2)),
    entry("IB_UDF_bin_and", 2, |context, it| whole(context, it, |left, right| left & right)),
    entry("IB_UDF_bin_or", 2, |context, it| whole(context, it, |left, right| left | right)),
    entry("IB_UDF_bin_xor", 2, |context, it| whole(context, it, |left, right| left ^ right)),
    entry("IB_UDF_ceiling", 1, |context, it| unary(context, it, f64::ceil)),
    entry("IB_UDF_cos", 1, |context, it| unary(context, it, f64::cos)),
    entry("IB_UDF_cosh", 1, |context, it| unary(context, it, f64::cosh)),
    entry("IB_UDF_cot", 1, |context, it| unary(context, it, |angle| 1.0 / angle.tan())),
    entry("IB_UDF_div", 2, |context, it| quotient(context, it, i64::wrapping_div)),
    entry("IB_UDF_floor", 1, |context, it| unary(context, it, f64::floor)),
    entry("IB_UDF_frac", 1, |context, it| unary(context, it, f64::fract)),
    entry("IB_UDF_ln", 1, |context, it| unary(context, it, f64::ln)),
    entry("IB_UDF_log", 2, |context, it| binary(context, it, |base, number| number.ln() / base.ln())),
    entry("IB_UDF_log10", 1, |context, it| unary(context, it, f64::log10)),
    entry("IB_UDF_lower", 1, |context, it| Ok(lower(&text(context, it, 0)?))),
    entry("IB_UDF_lpad", 3, |context, it| padded(context, it, true)),
    entry("IB_UDF_ltrim", 1, |context, it| Ok(without_leading_blanks(&text(context, it, 0)?))),
    entry("IB_UDF_mod", 2, |context, it| quotient(context, it, i64::wrapping_rem)),
    entry("IB_UDF_pi", 0, |_, _| Ok(Value::Double(std::f64::consts::PI))),
    entry("IB_UDF_rand", 0, |_, _| random::fraction().map(Value::Double)),
    entry("IB_UDF_rpad", 3, |context, it| padded(context, it, false)),
    entry("IB_UDF_rtrim", 1, rtrim),
    entry("IB_UDF_sign", 1, sign),
    entry("IB_UDF_sin", 1, |context, it| unary(context, it, f64::sin)),
    entry("IB_UDF_sinh", 1, |context, it| unary(context, it, f64::sinh)),
    entry("IB_UDF_sqrt", 1, |context, it| unary(context, it, f64::sqrt)),
    // It has a seed of its own for each number.
    entry("IB_UDF_srand", 0, |_, _| random::fraction().map(Value::Double)),
    entry("IB_UDF_strlen", 1, strlen),
    entry("IB_UDF_substr", 3, substr),
    entry("IB_UDF_substrlen", 3, substrlen),
    entry("IB_UDF_tan", 1, |context, it| unary(context, it, f64::tan)),
    entry("IB_UDF_tanh", 1, |context, it| unary(context, it, f64::tanh)),
];

fn unary(context: &Context<'_>, arguments: &[Value], compute: fn(f64) -> f64) -> Result<Value> {
    Ok(Value::Double(compute(number(context, arguments, 0)?)))
}

fn binary(context: &Context<'_>, arguments: &[Value], compute: fn(f64, f64) -> f64) -> Result<Value> {
    Ok(Value::Double(compute(number(context, arguments, 0)?, number(context, arguments, 1)?)))
}

fn whole(context: &Context<'_>, arguments: &[Value], compute: fn(i64, i64) -> i64) -> Result<Value> {
    Ok(Value::integer(compute(integer(context, arguments, 0)?, integer(context, arguments, 1)?)))
}

/// Of whole numbers, as a DOUBLE; by 0 it is infinite.
fn quotient(context: &Context<'_>, arguments: &[Value], compute: fn(i64, i64) -> i64) -> Result<Value> {
    let (left, right) = (integer(context, arguments, 0)?, integer(context, arguments, 1)?);
    let result = if right == 0 { f64::INFINITY } else { compute(left, right) as f64 };
    Ok(Value::Double(result))
}

/// The character of the lowest byte of a number; an empty text of zero.
fn ascii_char(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let byte = integer(context, arguments, 0)?.to_le_bytes()[0];
    let bytes = if byte == 0 { Vec::new() } else { vec![byte] };
    Ok(Value::Text(Text::new(bytes, CharacterSet::NONE)))
}

/// The first byte of a text, with its sign.
fn ascii_val(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let first = text(context, arguments, 0)?.bytes().first().copied().unwrap_or(0);
    Ok(Value::integer(i64::from(i8::from_le_bytes([first]))))
}

/// So many bytes: filled up with the first of another text, or cut.
fn padded(context: &mut Context<'_>, arguments: &[Value], left: bool) -> Result<Value> {
    let (text, filler) = (text(context, arguments, 0)?, text(context, arguments, 2)?);
    let Ok(length) = usize::try_from(integer(context, arguments, 1)?) else { return Ok(Value::Null) };
    let bytes = text.bytes();
    let missing = length.saturating_sub(bytes.len()).min(LENGTH_MAX);
    Ok(match filler.bytes().first() {
        Some(filler) => {
            let fill = vec![*filler; missing];
            let kept = bytes.get(..length.min(bytes.len())).unwrap_or_default();
            like(&text, &if left { [&fill, kept].concat() } else { [kept, &fill].concat() })
        }
        None => like(&text, bytes),
    })
}

/// What is longer than this fits no declared type.
const LENGTH_MAX: usize = 65_535;

fn rtrim(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let text = text(context, arguments, 0)?;
    let end = text.bytes().iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    Ok(like(&text, text.bytes().get(..end).unwrap_or_default()))
}

fn sign(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let number = number(context, arguments, 0)?;
    Ok(Value::integer(i64::from(number > 0.0) - i64::from(number < 0.0)))
}

fn strlen(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let length = text(context, arguments, 0)?.bytes().len();
    Ok(Value::integer(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// From one byte to another.
fn substr(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let text = text(context, arguments, 0)?;
    let (first, last) = (integer(context, arguments, 1)?, integer(context, arguments, 2)?);
    let is_there =
        1 <= first && first <= last && usize::try_from(first).is_ok_and(|it| it <= text.bytes().len());
    Ok(if is_there { bytes_between(&text, first, last) } else { like(&text, &[]) })
}

/// So many bytes from one on.
fn substrlen(context: &mut Context<'_>, arguments: &[Value]) -> Result<Value> {
    let text = text(context, arguments, 0)?;
    let (first, length) = (integer(context, arguments, 1)?, integer(context, arguments, 2)?);
    if first < 1 || length < 1 || value(arguments, 0).is_null() {
        return Ok(like(&text, &[]));
    }
    Ok(bytes_between(&text, first, first.saturating_add(length - 1)))
}
