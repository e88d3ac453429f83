//! DECFLOAT: COMPARE_DECFLOAT, NORMALIZE_DECFLOAT, QUANTIZE, TOTALORDER, and the roots, logarithms and powers that
//! `number` computes for DECFLOAT(34).
//!
//! The continuous functions are correct to about 33 of the 34 digits.
//!
//! Source: Firebird 5 language reference, section Functions for DECFLOAT.

use std::cmp::Ordering;

use farbird_types::decimal::{Decimal, DecimalContext, DecimalParts, Precision, Rounding};
use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::context::Context;
use crate::numeric::decimal;
use crate::result_type::{nullable_as, required, smallint};
use crate::{Argument, Call, ScalarFunction};

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    ScalarFunction {
        name: "COMPARE_DECFLOAT",
        arity: (2, 2),
        result: smallint,
        parameter_type: decfloat_parameter,
        body: compare_decfloat,
        strict: true,
        deterministic: true,
    },
    ScalarFunction {
        name: "TOTALORDER",
        arity: (2, 2),
        result: smallint,
        parameter_type: decfloat_parameter,
        body: total_order,
        strict: true,
        deterministic: true,
    },
    ScalarFunction {
        name: "NORMALIZE_DECFLOAT",
        arity: (1, 1),
        result: decfloat_result,
        parameter_type: decfloat_parameter,
        body: normalize,
        strict: true,
        deterministic: true,
    },
    ScalarFunction {
        name: "QUANTIZE",
        arity: (2, 2),
        result: decfloat_result,
        parameter_type: decfloat_parameter,
        body: quantize,
        strict: true,
        deterministic: true,
    },
];

/// DECFLOAT(34) if any argument is one, otherwise DECFLOAT(16).
fn decfloat_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let long = arguments.iter().any(|argument| *argument.sql_type() == SqlType::DecFloat34);
    Ok(nullable_as(if long { SqlType::DecFloat34 } else { SqlType::DecFloat16 }, arguments))
}

fn decfloat_parameter(_: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    let short = arguments.iter().any(|argument| *argument.sql_type() == SqlType::DecFloat16);
    let long = arguments.iter().any(|argument| *argument.sql_type() == SqlType::DecFloat34);
    required(if short && !long { SqlType::DecFloat16 } else { SqlType::DecFloat34 })
}

/// The result in the precision that was promised.
fn result(context: &Context<'_>, value: Decimal, call: &Call<'_>) -> Result<Value> {
    let precision = match call.result_type() {
        SqlType::DecFloat16 => Precision::Sixteen,
        _ => Precision::ThirtyFour,
    };
    Ok(Value::DecFloat(value.rounded(precision, &context.cast.decimal)?))
}

/// 0: equal in value and form; 1: less; 2: greater or of other form; 3: one is no number.
fn compare_decfloat(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let left = decimal(context, call.argument(0))?;
    let right = decimal(context, call.argument(1))?;
    let answer = if left.is_nan() || right.is_nan() {
        3
    } else {
        match left.compare(right) {
            Ordering::Less => 1,
            Ordering::Greater => 2,
            Ordering::Equal if exponent(left) == exponent(right) => 0,
            Ordering::Equal => 2,
        }
    };
    Ok(Value::integer(answer))
}

/// -1, 0, 1 in the total order of IEEE 754-2008: among equal numbers, the one with more digits after the point is less.
fn total_order(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let left = decimal(context, call.argument(0))?;
    let right = decimal(context, call.argument(1))?;
    let order = rank(left).cmp(&rank(right)).then_with(|| {
        if left.is_nan() || right.is_nan() {
            return Ordering::Equal;
        }
        left.compare(right).then_with(|| {
            if left.is_negative() != right.is_negative() {
                // Zeros, the negative one first.
                return right.is_negative().cmp(&left.is_negative());
            }
            let order = exponent(left).cmp(&exponent(right));
            if left.is_negative() { order.reverse() } else { order }
        })
    });
    Ok(Value::integer(order as i64))
}

/// Where the kinds stand in the total order: -NaN, numbers, NaN; a negative zero before a positive one.
fn rank(value: Decimal) -> i8 {
    match value.parts() {
        DecimalParts::Nan { negative, signaling } => {
            let rank = if signaling { 2 } else { 3 };
            if negative { -rank } else { rank }
        }
        _ => 0,
    }
}

fn exponent(value: Decimal) -> i32 {
    match value.parts() {
        DecimalParts::Finite { exponent, .. } => exponent,
        _ => 0,
    }
}

/// Without trailing zeros; zero becomes 0.
fn normalize(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let operand = decimal(context, call.argument(0))?;
    let normalized = match operand.reduced() {
        Some((_, coefficient, exponent)) => {
            Decimal::from_parts(operand.is_negative(), coefficient, exponent)?
        }
        None => operand,
    };
    result(context, normalized, call)
}

/// The first number with the second's number of digits after the point.
fn quantize(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let operand = decimal(context, call.argument(0))?;
    let pattern = decimal(context, call.argument(1))?;
    let quantized = operand.quantize(pattern, &context.cast.decimal)?;
    result(context, quantized, call)
}

// ---- Continuous functions ----

/// Steps after which a series or iteration has converged to 34 digits.
const STEPS_MAX: u32 = 200;

fn small(number: i64) -> Decimal {
    Decimal::from_unscaled(i128::from(number), 0)
}

fn overflow() -> Error {
    Error::new(isc::ARITH_EXCEPT).and(isc::DECFLOAT_OVERFLOW)
}

/// Whether a number has no digits after the point.
///
/// # Errors
/// None for numbers; infinities are integral.
pub(super) fn is_integral(value: Decimal) -> Result<bool> {
    Ok(match value.reduced() {
        Some((_, coefficient, exponent)) => coefficient == 0 || exponent >= 0,
        None => true,
    })
}

/// The square root, by Newton's iteration from the double's root.
///
/// # Errors
/// Those of decimal arithmetic.
pub(super) fn square_root(operand: Decimal) -> Result<Decimal> {
    let DecimalParts::Finite { coefficient, exponent, .. } = operand.parts() else { return Ok(operand) };
    if coefficient == 0 {
        return Ok(operand);
    }
    // The root of an even power of ten is exact: only the coefficient is iterated.
    let even = exponent.rem_euclid(2);
    let scaled = Decimal::from_parts(false, coefficient, even)?;
    let mut root = Decimal::from_f64(scaled.to_f64()?.sqrt());
    for _ in 0..4 {
        root = root.add(scaled.divide(root)?)?.divide(small(2))?;
    }
    shifted(trimmed(root, scaled)?, (exponent - even) / 2)
}

/// The root without digits that squaring shows to be needless.
fn trimmed(root: Decimal, square: Decimal) -> Result<Decimal> {
    let Some((negative, coefficient, exponent)) =
        root.rounded(Precision::Sixteen, &DecimalContext::DEFAULT)?.reduced()
    else {
        return Ok(root);
    };
    let short = Decimal::from_parts(negative, coefficient, exponent)?;
    if short.multiply(short)?.compare(square) == Ordering::Equal { Ok(short) } else { Ok(root) }
}

/// The number times ten to `places`.
fn shifted(value: Decimal, places: i32) -> Result<Decimal> {
    match value.parts() {
        DecimalParts::Finite { negative, coefficient, exponent } => {
            Decimal::from_parts(negative, coefficient, exponent.checked_add(places).ok_or_else(overflow)?)
        }
        _ => Ok(value),
    }
}

/// The natural logarithm of ten, to 34 digits.
fn logarithm_of_ten() -> Result<Decimal> {
    Decimal::from_parts(false, 2_302_585_092_994_045_684_017_991_454_684_364, -33)
}

/// e to the operand: powers of ten are taken out, the rest is a series.
///
/// # Errors
/// `decfloat_overflow`.
pub(super) fn exponential(operand: Decimal) -> Result<Decimal> {
    const OPERAND_MAX: f64 = 20_000.0;
    let size = operand.to_f64()?;
    if size.abs() > OPERAND_MAX {
        return if size < 0.0 { Ok(Decimal::ZERO) } else { Err(overflow()) };
    }
    let tens = (size / std::f64::consts::LN_10).round() as i64;
    let rest = operand.subtract(logarithm_of_ten()?.multiply(small(tens))?)?;
    let mut term = small(1);
    let mut sum = small(1);
    for step in 1..STEPS_MAX {
        term = term.multiply(rest)?.divide(small(i64::from(step)))?;
        let next = sum.add(term)?;
        if next.compare(sum) == Ordering::Equal {
            break;
        }
        sum = next;
    }
    shifted(sum, i32::try_from(tens).map_err(|_| overflow())?)
}

/// The natural logarithm of a positive number: Halley's iteration on the exponential, from the double's logarithm.
///
/// # Errors
/// Those of decimal arithmetic.
pub(super) fn logarithm(operand: Decimal) -> Result<Decimal> {
    let DecimalParts::Finite { coefficient, exponent, .. } = operand.parts() else { return Ok(operand) };
    // Take out the power of ten, so that what is left is between 1 and 10.
    let digits = i32::try_from(coefficient.checked_ilog10().unwrap_or(0)).unwrap_or(0);
    let mantissa = Decimal::from_parts(false, coefficient, -digits)?;
    let power = exponent + digits;
    let mut sum = logarithm_near_one(mantissa)?;
    if power != 0 {
        sum = sum.add(small(i64::from(power)).multiply(logarithm_of_ten()?)?)?;
    }
    Ok(sum)
}

fn logarithm_near_one(operand: Decimal) -> Result<Decimal> {
    let mut estimate = Decimal::from_f64(operand.to_f64()?.ln());
    for _ in 0..3 {
        let power = exponential(estimate)?;
        let correction = operand.subtract(power)?.divide(operand.add(power)?)?.multiply(small(2))?;
        estimate = estimate.add(correction)?;
    }
    Ok(estimate)
}

/// The base to the exponent: by squaring for whole exponents of moderate size, otherwise by logarithm.
///
/// # Errors
/// `decfloat_overflow`, and those of decimal arithmetic.
pub(super) fn power(base: Decimal, exponent: Decimal) -> Result<Decimal> {
    const SQUARING_MAX: i128 = 100_000;
    if is_integral(exponent)? {
        let whole = exponent.to_unscaled(0, Rounding::Down)?;
        if whole.abs() <= SQUARING_MAX {
            let positive = raised(base, whole.unsigned_abs())?;
            return if whole < 0 { small(1).divide(positive) } else { Ok(positive) };
        }
    }
    if base.is_zero() {
        return Ok(Decimal::ZERO);
    }
    if exponent.compare(Decimal::from_unscaled(5, -1)) == Ordering::Equal {
        return square_root(base);
    }
    let magnitude = exponential(logarithm(base.abs())?.multiply(exponent)?)?;
    let odd = is_integral(exponent)? && exponent.to_unscaled(0, Rounding::Down)? % 2 != 0;
    Ok(if base.is_negative() && odd { magnitude.negated() } else { magnitude })
}

fn raised(base: Decimal, mut exponent: u128) -> Result<Decimal> {
    let mut result = small(1);
    let mut square = base;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.multiply(square)?;
        }
        exponent >>= 1;
        if exponent > 0 {
            square = square.multiply(square)?;
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: Decimal, expected: &str) {
        let DecimalParts::Finite { coefficient, .. } = value.parts() else { panic!("a number") };
        let digits = coefficient.to_string();
        assert_eq!(digits.get(..32), expected.get(..32), "{digits} is not {expected}");
    }

    #[test]
    fn continuous_functions_agree_with_firebird() {
        close(square_root(small(2)).unwrap(), "1414213562373095048801688724209698");
        close(logarithm(small(2)).unwrap(), "6931471805599453094172321214581766");
        close(exponential(small(1)).unwrap(), "2718281828459045235360287471352662");
        close(power(small(2), Decimal::from_unscaled(5, -1)).unwrap(), "1414213562373095048801688724209698");
    }

    #[test]
    fn roots_of_squares_are_short() {
        assert_eq!(square_root(small(4)).unwrap().reduced(), Some((false, 2, 0)));
    }
}
