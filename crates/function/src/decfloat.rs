//! DECFLOAT: COMPARE_DECFLOAT, NORMALIZE_DECFLOAT, QUANTIZE, TOTALORDER.
//!
//! Source: Firebird 5 language reference, section Functions for DECFLOAT.

use std::cmp::Ordering;

use farbird_types::decimal::{Decimal, DecimalParts, Precision};
use farbird_types::{ColumnType, Result, SqlType, Value};

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
