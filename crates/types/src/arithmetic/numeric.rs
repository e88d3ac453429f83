//! Arithmetic of numbers.

use super::ArithmeticOperator::{self, Add, Divide, Multiply, Subtract};
use crate::convert::{number, out_of_range};
use crate::decimal::{Decimal, DecimalContext};
use crate::error::{Error, Result, isc};
use crate::sql_type::ExactWidth;
use crate::value::Value;

/// Of exact numbers, in the width and scale of the result.
pub(super) fn exact(
    operator: ArithmeticOperator,
    left: &Value,
    right: &Value,
    width: ExactWidth,
    scale: i8,
) -> Result<Value> {
    if width == ExactWidth::Int64
        && let Some(unscaled) = narrow(operator, left, right, scale)
    {
        return Ok(Value::Integer { unscaled, scale });
    }
    let ((a, a_scale), (b, b_scale)) = (parts(left)?, parts(right)?);
    let unscaled = match operator {
        Add | Subtract => {
            let (a, b) = (aligned(a, a_scale, scale, width)?, aligned(b, b_scale, scale, width)?);
            if operator == Add { a.checked_add(b) } else { a.checked_sub(b) }
                .ok_or_else(|| overflow(width))?
        }
        Multiply => {
            let product = a.checked_mul(b).ok_or_else(|| overflow(width))?;
            number::rescale(product, a_scale.saturating_add(b_scale), scale)?
        }
        Divide => {
            let quotient = divide((a, a_scale), (b, b_scale), width)?;
            number::rescale(quotient, a_scale.saturating_add(b_scale), scale)?
        }
    };
    width.value(unscaled, scale).ok_or_else(|| overflow(width))
}

/// What loops count with: BIGINT results for which no digits have to be moved. `None` where it takes more, or overflows.
fn narrow(operator: ArithmeticOperator, left: &Value, right: &Value, scale: i8) -> Option<i64> {
    let (Value::Integer { unscaled: a, scale: a_scale }, Value::Integer { unscaled: b, scale: b_scale }) =
        (left, right)
    else {
        return None;
    };
    match operator {
        Add if *a_scale == scale && *b_scale == scale => a.checked_add(*b),
        Subtract if *a_scale == scale && *b_scale == scale => a.checked_sub(*b),
        Multiply if a_scale.checked_add(*b_scale) == Some(scale) => a.checked_mul(*b),
        _ => None,
    }
}

fn parts(value: &Value) -> Result<(i128, i8)> {
    match value {
        Value::Integer { unscaled, scale } => Ok((i128::from(*unscaled), *scale)),
        Value::Int128 { unscaled, scale } => Ok((*unscaled, *scale)),
        _ => Err(Error::new(isc::DATYPE_NOTSUP)),
    }
}

/// An operand at the scale of the result, which has to fit its width even before the operation.
fn aligned(unscaled: i128, from: i8, to: i8, width: ExactWidth) -> Result<i128> {
    let (lowest, highest) = width.range();
    let aligned = number::rescale(unscaled, from, to)?;
    if (lowest..=highest).contains(&aligned) { Ok(aligned) } else { Err(out_of_range()) }
}

/// Up to BIGINT the code stands alone, in INT128 below `arith_except`.
fn overflow(width: ExactWidth) -> Error {
    match width {
        ExactWidth::Int128 => Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_INTEGER_OVERFLOW),
        _ => Error::new(isc::EXCEPTION_INTEGER_OVERFLOW),
    }
}

/// The quotient at the sum of the scales, towards zero.
///
/// For that the dividend needs twice as many further digits as the divisor has decimal places. As many as fit are put
/// before the division; zeros at the end of the divisor save some; BIGINT puts the rest, as zeros, behind it.
fn divide(a: (i128, i8), b: (i128, i8), width: ExactWidth) -> Result<i128> {
    let ((mut dividend, _), (mut divisor, divisor_scale)) = (a, b);
    if divisor == 0 {
        return Err(Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_INTEGER_DIVIDE_BY_ZERO));
    }
    let (lowest, highest) = width.range();
    let times_ten = |number: i128| number.checked_mul(10).filter(|ten| (lowest..=highest).contains(ten));
    let mut digits = -2 * i32::from(divisor_scale);
    while digits > 0
        && let Some(longer) = times_ten(dividend)
    {
        dividend = longer;
        digits -= 1;
    }
    while digits > 0 && divisor % 10 == 0 {
        divisor /= 10;
        digits -= 1;
    }
    if digits > 0 && width == ExactWidth::Int128 {
        return Err(out_of_range());
    }
    let mut quotient = dividend.checked_div(divisor).ok_or_else(|| overflow(width))?;
    for _ in 0..digits {
        quotient = times_ten(quotient).ok_or_else(out_of_range)?;
    }
    Ok(quotient)
}

/// Of decimals, or numbers that meet decimals, in 34 digits: a DECFLOAT(16) is rounded where it is stored or sent, not
/// on the way.
pub(super) fn decimal(
    operator: ArithmeticOperator,
    left: &Value,
    right: &Value,
    context: &DecimalContext,
) -> Result<Value> {
    let (a, b): (Decimal, Decimal) =
        (number::to_decimal_in(left, context)?, number::to_decimal_in(right, context)?);
    match operator {
        Add => a.add_in(b, context),
        Subtract => a.subtract_in(b, context),
        Multiply => a.multiply_in(b, context),
        Divide => a.divide_in(b, context),
    }
    .map(Value::DecFloat)
}

/// Of doubles, or numbers that meet doubles.
pub(super) fn double(operator: ArithmeticOperator, left: &Value, right: &Value) -> Result<f64> {
    let (a, b) = (number::to_double(left)?, number::to_double(right)?);
    let computed = match operator {
        Add => a + b,
        Subtract => a - b,
        Multiply => a * b,
        Divide if b == 0.0 => {
            return Err(Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_FLOAT_DIVIDE_BY_ZERO));
        }
        Divide => a / b,
    };
    if computed.is_infinite() {
        return Err(Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_FLOAT_OVERFLOW));
    }
    Ok(computed)
}
