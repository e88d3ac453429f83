//! Conversions between numbers, and from text to numbers.

use super::{conversion_error, out_of_range};
use crate::decimal::{Condition, Conditions, Decimal, DecimalContext, Precision};
use crate::error::{Error, Result, isc};
use crate::sql_type::ExactWidth;
use crate::value::{Text, Value};

/// Largest exponents either way that a text of a number may have: beyond it there is no double.
const EXPONENT_MAX: i32 = 308;
/// Added to a half when a double is rounded, so that 1.005 (which is a little less) becomes 1.01 as people expect.
/// Firebird's own numbers.
const DOUBLE_EPSILON: f64 = 1e-14;
const FLOAT_EPSILON: f64 = 1e-5;
/// Has more digits than a DECFLOAT(34).
const DECIMAL_LIMIT: u128 = 10u128.pow(34);

impl ExactWidth {
    /// The smallest and the largest number.
    pub const fn range(self) -> (i128, i128) {
        match self {
            ExactWidth::Short => (i16::MIN as i128, i16::MAX as i128),
            ExactWidth::Long => (i32::MIN as i128, i32::MAX as i128),
            ExactWidth::Int64 => (i64::MIN as i128, i64::MAX as i128),
            ExactWidth::Int128 => (i128::MIN, i128::MAX),
        }
    }

    /// The value of this width, if it fits.
    pub fn value(self, unscaled: i128, scale: i8) -> Option<Value> {
        let (lowest, highest) = self.range();
        match self {
            ExactWidth::Int128 => Some(Value::Int128 { unscaled, scale }),
            _ if (lowest..=highest).contains(&unscaled) => {
                Some(Value::Integer { unscaled: i64::try_from(unscaled).ok()?, scale })
            }
            _ => None,
        }
    }
}

/// Converts to SMALLINT to INT128 of a scale, rounding half away from zero; decimals as `context` says.
pub(super) fn to_exact(
    value: &Value,
    width: ExactWidth,
    scale: i8,
    context: &DecimalContext,
) -> Result<Value> {
    // Most numbers are what they shall be already.
    if let Value::Integer { unscaled, scale: from } = value
        && *from == scale
    {
        let fits = match width {
            ExactWidth::Short => i16::try_from(*unscaled).is_ok(),
            ExactWidth::Long => i32::try_from(*unscaled).is_ok(),
            ExactWidth::Int64 => true,
            ExactWidth::Int128 => false,
        };
        if fits {
            return Ok(Value::Integer { unscaled: *unscaled, scale });
        }
    }
    let unscaled = match value {
        Value::Integer { unscaled, scale: from } => rescale(i128::from(*unscaled), *from, scale)?,
        Value::Int128 { unscaled, scale: from } => {
            let unscaled = rescale(*unscaled, *from, scale)?;
            // Firebird makes a number of the machine of it first: of 64 bits for a BIGINT, otherwise of 32.
            let machine = if width < ExactWidth::Int64 { ExactWidth::Long } else { width };
            machine.value(unscaled, scale).ok_or_else(integer_overflow)?;
            unscaled
        }
        Value::Float(value) => round_double(f64::from(*value), scale, FLOAT_EPSILON)?,
        Value::Double(value) => round_double(*value, scale, DOUBLE_EPSILON)?,
        Value::DecFloat(value) => decimal_to_exact(*value, width, scale, context)?,
        Value::Text(text) => {
            if width == ExactWidth::Short {
                check_text_of_short(text)?;
            }
            let (unscaled, from) = decompose(text, width)?;
            shift(unscaled, from.saturating_sub(i32::from(scale))).ok_or_else(out_of_range)?
        }
        _ => return Err(conversion_error(value)),
    };
    width.value(unscaled, scale).ok_or_else(out_of_range)
}

/// Firebird reads a SMALLINT from a buffer of so many bytes, and refuses what does not fit into it without its blanks at the end.
fn check_text_of_short(text: &Text) -> Result<()> {
    const BYTES_MAX: usize = 22;
    let bytes = text.bytes();
    let length = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    if length <= BYTES_MAX {
        return Ok(());
    }
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    let room = i32::try_from(BYTES_MAX).unwrap_or(i32::MAX);
    Err(Error::new(isc::ARITH_EXCEPT)
        .and(isc::STRING_TRUNCATION)
        .and(isc::TRUNC_LIMITS)
        .with(room)
        .with(length))
}

fn integer_overflow() -> Error {
    Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_INTEGER_OVERFLOW)
}

/// Brings an exact number to another scale, rounding half away from zero.
///
/// # Errors
/// `arith_except` with `numeric_out_of_range` beyond 128 bits.
pub fn rescale(unscaled: i128, from: i8, to: i8) -> Result<i128> {
    shift(unscaled, i32::from(from) - i32::from(to)).ok_or_else(out_of_range)
}

/// Multiplies by ten to the `digits`, rounding half away from zero if that is negative.
fn shift(unscaled: i128, digits: i32) -> Option<i128> {
    if digits == 0 {
        return Some(unscaled);
    }
    let power = 10i128.checked_pow(digits.unsigned_abs());
    if digits >= 0 {
        return match power {
            Some(power) => unscaled.checked_mul(power),
            None => (unscaled == 0).then_some(0),
        };
    }
    let Some(power) = power else { return Some(0) };
    let (quotient, remainder) = (unscaled / power, unscaled % power);
    // A remainder of at least half the power; its double might not fit.
    let away = remainder.unsigned_abs() >= power.unsigned_abs().div_ceil(2);
    quotient.checked_add(if away { remainder.signum() } else { 0 })
}

fn round_double(value: f64, scale: i8, epsilon: f64) -> Result<i128> {
    let scaled = value * 10f64.powi(-i32::from(scale));
    let rounded = if scaled > 0.0 { scaled + 0.5 + epsilon } else { scaled - 0.5 - epsilon };
    // 2^127 as a double: the first that does not fit. NaN fails the comparison as well.
    const LIMIT: f64 = 1.701_411_834_604_692_3e38;
    if rounded.abs() < LIMIT { Ok(rounded as i128) } else { Err(out_of_range()) }
}

fn decimal_to_exact(value: Decimal, width: ExactWidth, scale: i8, context: &DecimalContext) -> Result<i128> {
    let unscaled = value.to_unscaled(scale, context.rounding);
    if !context.traps.has(Condition::InvalidOperation) {
        return untrapped(value, width, unscaled);
    }
    let (lowest, highest) = width.range();
    match (width, unscaled) {
        (ExactWidth::Int128, Err(_)) => Err(out_of_range()),
        // Firebird brings the number to the scale as a decimal first.
        (ExactWidth::Int128, Ok(number)) if number.unsigned_abs() >= DECIMAL_LIMIT => {
            Err(Error::new(isc::DECFLOAT_INVALID_OPERATION))
        }
        (ExactWidth::Int64, Ok(number)) if !(lowest..=highest).contains(&number) => {
            Err(Error::new(isc::EXCEPTION_FLOAT_INVALID_OPERAND))
        }
        (ExactWidth::Int64, Err(_)) => Err(Error::new(isc::EXCEPTION_FLOAT_INVALID_OPERAND)),
        (_, Ok(number)) if width < ExactWidth::Int64 && i32::try_from(number).is_err() => {
            Err(Error::new(isc::DECFLOAT_INVALID_OPERATION))
        }
        (_, unscaled) => unscaled,
    }
}

/// What Firebird makes of a decimal that has no exact number, where an invalid operation is no error: 0, but if it is too great for
/// an INT128.
fn untrapped(value: Decimal, width: ExactWidth, unscaled: Result<i128>) -> Result<i128> {
    match (width, unscaled) {
        (ExactWidth::Int128, Err(_)) if !value.is_nan() => Err(out_of_range()),
        (ExactWidth::Int128, Ok(number)) if number.unsigned_abs() < DECIMAL_LIMIT => Ok(number),
        (ExactWidth::Int64, Ok(number)) if i64::try_from(number).is_ok() => Ok(number),
        (ExactWidth::Short | ExactWidth::Long, Ok(number)) if i32::try_from(number).is_ok() => Ok(number),
        _ => Ok(0),
    }
}

/// Converts to FLOAT.
pub(super) fn to_float(value: &Value, context: &DecimalContext) -> Result<f32> {
    let double = to_double_in(value, context)?;
    let float = double as f32;
    if float.is_infinite() && double.is_finite() { Err(out_of_range()) } else { Ok(float) }
}

/// Converts to DOUBLE PRECISION.
///
/// # Errors
/// `convert_error`; `arith_except` with `numeric_out_of_range`; `exception_float_overflow` for great decimals.
pub fn to_double(value: &Value) -> Result<f64> {
    match value {
        Value::Integer { unscaled, scale } => Ok(exact_to_double(i128::from(*unscaled), *scale)),
        Value::Int128 { unscaled, scale } => Ok(exact_to_double(*unscaled, *scale)),
        Value::Float(value) => Ok(f64::from(*value)),
        Value::Double(value) => Ok(*value),
        Value::DecFloat(value) => value.to_f64(),
        Value::Text(text) => double_of_text(text),
        _ => Err(conversion_error(value)),
    }
}

/// As [`to_double`]; a decimal that is too great is an infinity if overflows are not trapped, and one that is too small for a
/// normal number an error if underflows are.
///
/// # Errors
/// As [`to_double`]; `decfloat_underflow`.
pub(super) fn to_double_in(value: &Value, context: &DecimalContext) -> Result<f64> {
    let Value::DecFloat(decimal) = value else { return to_double(value) };
    let infinity = if decimal.is_negative() { f64::NEG_INFINITY } else { f64::INFINITY };
    let double = match decimal.to_f64() {
        Err(_) if !context.traps.has(Condition::Overflow) => infinity,
        converted => converted?,
    };
    if double.abs() < f64::MIN_POSITIVE && !decimal.is_zero() {
        context.check(Conditions::NONE.with(Condition::Underflow))?;
    }
    Ok(double)
}

/// The double nearest to an exact number, by one division.
pub fn exact_to_double(unscaled: i128, scale: i8) -> f64 {
    let value = unscaled as f64;
    if scale < 0 { value / 10f64.powi(-i32::from(scale)) } else { value * 10f64.powi(i32::from(scale)) }
}

/// Converts to DECFLOAT(34).
///
/// # Errors
/// `convert_error` (after `decfloat_invalid_operation` for text), `decfloat_overflow`.
pub fn to_decimal(value: &Value) -> Result<Decimal> {
    to_decimal_in(value, &DecimalContext::DEFAULT)
}

/// As [`to_decimal`], by a context.
///
/// # Errors
/// As [`to_decimal`], as far as it is trapped.
pub(crate) fn to_decimal_in(value: &Value, context: &DecimalContext) -> Result<Decimal> {
    match value {
        Value::Integer { unscaled, scale } => Ok(Decimal::from_unscaled(i128::from(*unscaled), *scale)),
        Value::Int128 { unscaled, scale } => Decimal::from_unscaled_in(*unscaled, *scale, context),
        Value::Float(value) => Ok(Decimal::from_f64(f64::from(*value))),
        Value::Double(value) => Ok(Decimal::from_f64(*value)),
        Value::DecFloat(value) => Ok(*value),
        Value::Text(text) => Decimal::parse_in(&text.decode_lossy(), context).map_err(|error: Error| {
            if error.has(isc::DECFLOAT_INVALID_OPERATION) {
                error.and_all(conversion_error(value))
            } else {
                error
            }
        }),
        _ => Err(conversion_error(value)),
    }
}

/// Converts to DECFLOAT(16).
pub(super) fn to_decimal_16(value: &Value, context: &DecimalContext) -> Result<Decimal> {
    to_decimal_in(value, context)?.rounded(Precision::Sixteen, context)
}

/// As [`number_of_text`], for what compares with a decimal: a NaN or an infinity too.
///
/// # Errors
/// As [`number_of_text`].
pub(crate) fn decimal_or_number_of_text(text: &Text) -> Result<Value> {
    number_of_text(text).or_else(|error| {
        match Decimal::parse_in(&text.decode_lossy(), &DecimalContext::DEFAULT) {
            Ok(decimal) if decimal.is_nan() || decimal.is_infinite() => Ok(Value::DecFloat(decimal)),
            _ => Err(error),
        }
    })
}

/// The number that a text says, exact if it can be: what comparisons of text and number compare with.
///
/// # Errors
/// `convert_error`, `arith_except` with `numeric_out_of_range`.
pub fn number_of_text(text: &Text) -> Result<Value> {
    match decompose(text, ExactWidth::Int128) {
        Ok((unscaled, exponent)) => {
            if let Ok(scale) = i8::try_from(exponent)
                && (-38..=0).contains(&scale)
            {
                return Ok(Value::Int128 { unscaled, scale });
            }
            let negative = unscaled < 0;
            match Decimal::from_parts(negative, unscaled.unsigned_abs(), exponent) {
                Ok(decimal) => Ok(Value::DecFloat(decimal)),
                Err(_) => Err(out_of_range()),
            }
        }
        // More digits than 128 bits hold.
        Err(error) if error.has(isc::NUMERIC_OUT_OF_RANGE) => {
            text.decode_lossy().trim_matches(' ').parse().map(Value::DecFloat).map_err(|_| error)
        }
        Err(error) => Err(error),
    }
}

/// The parts of a number's text: `[spaces][sign]digits[.digits][e[sign]digits][spaces]`.
struct NumberText {
    negative: bool,
    /// Digits, with the point left out.
    digits: Vec<u8>,
    /// How many of the digits stand after the point.
    fraction_digits: usize,
    exponent: i32,
}

/// Takes a number's text apart.
fn split_number(text: &Text) -> Result<NumberText> {
    let failed = || conversion_error(&Value::Text(text.clone()));
    let characters = text.decode_lossy();
    let mut rest = characters.trim_matches(' ').as_bytes();
    let mut number = NumberText { negative: false, digits: Vec::new(), fraction_digits: 0, exponent: 0 };
    if let Some((sign @ (b'+' | b'-'), tail)) = rest.split_first() {
        number.negative = *sign == b'-';
        rest = tail;
    }
    let mut point_seen = false;
    while let Some((byte, tail)) = rest.split_first() {
        match byte {
            b'0'..=b'9' => {
                number.digits.push(byte - b'0');
                number.fraction_digits += usize::from(point_seen);
            }
            b'.' if !point_seen => point_seen = true,
            b'e' | b'E' => break,
            _ => return Err(failed()),
        }
        rest = tail;
    }
    if number.digits.is_empty() {
        return Err(failed());
    }
    if let Some((_, exponent)) = rest.split_first() {
        let digits = exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(failed());
        }
        for digit in digits {
            number.exponent = number.exponent * 10 + i32::from(digit - b'0');
            // Sooner than it could overflow.
            if number.exponent > 3 * EXPONENT_MAX * 10 {
                return Err(out_of_range());
            }
        }
        if exponent.first() == Some(&b'-') {
            number.exponent = -number.exponent;
        }
    }
    Ok(number)
}

/// Reads a text as a whole number of a width and a power of ten; hexadecimal (`0x7F`) as well.
///
/// All its digits have to fit into the width, even those that the scale will drop, as in Firebird: '1.23456789012345'
/// is no INTEGER.
fn decompose(text: &Text, width: ExactWidth) -> Result<(i128, i32)> {
    if let Some(hexadecimal) = hexadecimal(text, width) {
        return hexadecimal.map(|number| (number, 0));
    }
    let number = split_number(text)?;
    let (lowest, highest) = width.range();
    let mut unscaled: i128 = 0;
    let mut fraction_digits = i32::try_from(number.fraction_digits).unwrap_or(i32::MAX);
    let whole_digits = number.digits.len().saturating_sub(number.fraction_digits);
    for (position, digit) in number.digits.iter().enumerate() {
        let digit = if number.negative { -i128::from(*digit) } else { i128::from(*digit) };
        let next = unscaled.checked_mul(10).and_then(|tens| tens.checked_add(digit));
        match next.filter(|next| (lowest..=highest).contains(next)) {
            Some(next) => unscaled = next,
            None => {
                let rest = number.digits.get(position..).unwrap_or_default();
                if position < whole_digits || rest.iter().any(|digit| *digit != 0) {
                    return Err(out_of_range());
                }
                // Nothing but zeros after the point.
                fraction_digits =
                    fraction_digits.saturating_sub_unsigned(u32::try_from(rest.len()).unwrap_or(0));
                break;
            }
        }
    }
    Ok((unscaled, number.exponent - fraction_digits))
}

/// Reads `0x` and as many digits as the width has; up to eight of them are 32 bits with a sign (of a SMALLINT 16), up to sixteen 64.
fn hexadecimal(text: &Text, width: ExactWidth) -> Option<Result<i128>> {
    let characters = text.decode_lossy();
    let digits = characters.trim_matches(' ');
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))?;
    let digits_max = match width {
        ExactWidth::Short => 4,
        ExactWidth::Long => 8,
        ExactWidth::Int64 => 16,
        ExactWidth::Int128 => 32,
    };
    let valid =
        (1..=digits_max).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = if valid { u128::from_str_radix(digits, 16).ok() } else { None };
    Some(match bits {
        None => Err(conversion_error(&Value::Text(text.clone()))),
        // Of the width of the digits written, two's complement: 0xFFFFFFFF is -1, 0x0FFFFFFFF is not.
        Some(bits) if width == ExactWidth::Short => Ok(i128::from(bits as u16 as i16)),
        Some(bits) if digits.len() <= 8 => Ok(i128::from(bits as u32 as i32)),
        Some(bits) if digits.len() <= 16 => Ok(i128::from(bits as u64 as i64)),
        Some(bits) => Ok(bits as i128),
    })
}

fn double_of_text(text: &Text) -> Result<f64> {
    let number = split_number(text)?;
    let fraction_digits = i32::try_from(number.fraction_digits).unwrap_or(i32::MAX);
    let exponent = number.exponent.saturating_sub(fraction_digits);
    if exponent.abs() > EXPONENT_MAX {
        return Err(out_of_range());
    }
    let digits: String = number.digits.iter().map(|digit| char::from(digit + b'0')).collect();
    let sign = if number.negative { "-" } else { "" };
    // The nearest double, where Firebird may be off by the last bit.
    let value: f64 = format!("{sign}{digits}e{exponent}").parse().unwrap_or(f64::INFINITY);
    if value.is_finite() { Ok(value) } else { Err(out_of_range()) }
}
