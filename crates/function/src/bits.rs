//! BIN_AND, BIN_OR, BIN_XOR, BIN_NOT, shifts and rotations.
//!
//! Source: Firebird 5 language reference, section Bitwise Functions.

use farbird_types::{ColumnType, Error, ExactWidth, Result, SqlType, Value, isc};

use crate::context::Context;
use crate::numeric::{Number, number};
use crate::result_type::{integer_parameter, must_be_exact, nullable_as, required, whole};
use crate::{ARITY_UNBOUNDED, Argument, Call, ScalarBody, ScalarFunction, argument};

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    bitwise("BIN_AND", 2, ARITY_UNBOUNDED, and),
    bitwise("BIN_OR", 2, ARITY_UNBOUNDED, or),
    bitwise("BIN_XOR", 2, ARITY_UNBOUNDED, xor),
    bitwise("BIN_NOT", 1, 1, not),
    shift("BIN_SHL", shift_left),
    shift("BIN_SHR", shift_right),
    shift("BIN_SHL_ROT", rotate_left),
    shift("BIN_SHR_ROT", rotate_right),
];

const fn bitwise(name: &'static str, fewest: usize, most: usize, body: ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (fewest, most),
        result: widest,
        parameter_type: widest_parameter,
        body,
        strict: true,
        deterministic: true,
    }
}

const fn shift(name: &'static str, body: ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (2, 2),
        result: shifted,
        parameter_type: integer_parameter,
        body,
        strict: true,
        deterministic: true,
    }
}

/// Fails unless each argument is a whole number or NULL.
fn check(function: &str, arguments: &[Argument<'_>]) -> Result<()> {
    for argument in arguments {
        match argument.sql_type() {
            SqlType::Null | SqlType::Exact { scale: 0, .. } => {}
            _ => return Err(must_be_exact(function)),
        }
    }
    Ok(())
}

/// The widest of the arguments, at least INTEGER.
fn widest_of(arguments: &[Argument<'_>]) -> SqlType {
    let widths = arguments.iter().filter_map(|argument| match argument.sql_type() {
        SqlType::Exact { width, .. } => Some(*width),
        _ => None,
    });
    whole(widths.fold(ExactWidth::Long, ExactWidth::max))
}

fn widest(function: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    check(function, arguments)?;
    Ok(nullable_as(widest_of(arguments), arguments))
}

fn widest_parameter(_: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    required(widest_of(arguments))
}

/// BIGINT, or INT128 for one.
fn shifted(function: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    check(function, arguments)?;
    let first = arguments.first().map_or(&SqlType::Null, Argument::sql_type);
    let sql_type = match first {
        SqlType::Exact { width: ExactWidth::Int128, .. } => SqlType::INT128,
        _ => SqlType::BIGINT,
    };
    Ok(nullable_as(sql_type, arguments))
}

fn operand(context: &Context<'_>, call: &Call<'_>, index: usize) -> Result<i128> {
    match number(context, call.argument(index))? {
        Number::Exact(unscaled, 0) => Ok(unscaled),
        _ => Err(must_be_exact(call.name)),
    }
}

fn fold(context: &Context<'_>, call: &Call<'_>, combine: fn(i128, i128) -> i128) -> Result<Value> {
    let mut bits = operand(context, call, 0)?;
    for index in 1..call.arguments.len() {
        bits = combine(bits, operand(context, call, index)?);
    }
    argument::exact_result(bits, 0, call.result_type())
}

fn and(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    fold(context, call, |left, right| left & right)
}

fn or(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    fold(context, call, |left, right| left | right)
}

fn xor(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    fold(context, call, |left, right| left ^ right)
}

fn not(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    argument::exact_result(!operand(context, call, 0)?, 0, call.result_type())
}

/// Shifts within the width of the result. The processor's rule holds: only the low bits of the distance count.
fn shift_by(
    context: &Context<'_>,
    call: &Call<'_>,
    narrow: fn(i64, u32) -> i64,
    wide: fn(i128, u32) -> i128,
) -> Result<Value> {
    let bits = operand(context, call, 0)?;
    let distance = u32::try_from(operand(context, call, 1)?)
        .map_err(|_| Error::new(isc::EXPRESSION_EVAL_ERR).and(isc::SYSF_ARGMUSTBE_NONNEG).with(call.name))?;
    if *call.result_type() == SqlType::INT128 {
        return argument::exact_result(wide(bits, distance), 0, call.result_type());
    }
    let bits =
        i64::try_from(bits).map_err(|_| Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE))?;
    Ok(Value::integer(narrow(bits, distance)))
}

fn shift_left(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    shift_by(context, call, i64::wrapping_shl, i128::wrapping_shl)
}

fn shift_right(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    shift_by(context, call, i64::wrapping_shr, i128::wrapping_shr)
}

fn rotate_left(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    shift_by(context, call, i64::rotate_left, i128::rotate_left)
}

fn rotate_right(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    shift_by(context, call, i64::rotate_right, i128::rotate_right)
}
