//! Functions on numbers: rounding, roots, logarithms, trigonometry, the greatest and least of several.
//!
//! Exact numbers are computed exactly; DECFLOAT and INT128 (unless beside a DOUBLE) as DECFLOAT(34); everything else as
//! DOUBLE PRECISION.
//!
//! Source: Firebird 5 language reference, section Mathematical Functions; error cases as Firebird 4 answers them.

use std::cmp::Ordering;

use farbird_types::arithmetic::common_type_in;
use farbird_types::decimal::{Decimal, DecimalParts, Rounding};
use farbird_types::{ColumnType, Error, ExactSubtype, ExactWidth, Result, SqlType, Value, convert, isc};

use crate::compare::compare_nullable;
use crate::context::Context;
use crate::numeric::{Number, decimal, number};
use crate::result_type::{
    common_parameter, double, double_or_decfloat, double_or_decfloat_parameter, double_parameter,
    nullable_as, required, smallint, text_kind, unknown_parameter,
};
use crate::{ARITY_UNBOUNDED, Argument, Call, ScalarBody, ScalarFunction, argument, continuous};

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    ScalarFunction {
        name: "ABS",
        arity: (1, 1),
        result: abs_result,
        parameter_type: double_or_decfloat_parameter,
        body: abs,
        strict: true,
        deterministic: true,
    },
    whole_number("CEIL", ceil),
    whole_number("CEILING", ceil),
    whole_number("FLOOR", floor),
    rounding("ROUND", round_result, round),
    rounding("TRUNC", trunc_result, trunc),
    ScalarFunction {
        name: "MOD",
        arity: (2, 2),
        result: mod_result,
        parameter_type: common_parameter,
        body: modulo,
        strict: true,
        deterministic: true,
    },
    ScalarFunction {
        name: "SIGN",
        arity: (1, 1),
        result: smallint,
        parameter_type: double_or_decfloat_parameter,
        body: sign,
        strict: true,
        deterministic: true,
    },
    extreme("MAXVALUE", maxvalue),
    extreme("MINVALUE", minvalue),
    continuous("SQRT", 1, sqrt),
    continuous("EXP", 1, exp),
    continuous("LN", 1, ln),
    continuous("LOG10", 1, log10),
    continuous("LOG", 2, log),
    continuous("POWER", 2, power),
    trigonometric("SIN", 1, sin),
    trigonometric("COS", 1, cos),
    trigonometric("TAN", 1, tan),
    trigonometric("COT", 1, cot),
    trigonometric("ASIN", 1, asin),
    trigonometric("ACOS", 1, acos),
    trigonometric("ATAN", 1, atan),
    trigonometric("ATAN2", 2, atan2),
    trigonometric("SINH", 1, sinh),
    trigonometric("COSH", 1, cosh),
    trigonometric("TANH", 1, tanh),
    trigonometric("ASINH", 1, asinh),
    trigonometric("ACOSH", 1, acosh),
    trigonometric("ATANH", 1, atanh),
    ScalarFunction {
        name: "PI",
        arity: (0, 0),
        result: double,
        parameter_type: unknown_parameter,
        body: pi,
        strict: true,
        deterministic: true,
    },
    ScalarFunction {
        name: "RAND",
        arity: (0, 0),
        result: double,
        parameter_type: unknown_parameter,
        body: rand,
        strict: true,
        deterministic: false,
    },
];

const fn whole_number(name: &'static str, body: ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (1, 1),
        result: ceil_floor_result,
        parameter_type: double_or_decfloat_parameter,
        body,
        strict: true,
        deterministic: true,
    }
}

const fn rounding(
    name: &'static str,
    result: fn(&'static str, &[Argument<'_>]) -> Result<ColumnType>,
    body: ScalarBody,
) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (1, 2),
        result,
        parameter_type: rounding_parameter,
        body,
        strict: true,
        deterministic: true,
    }
}

const fn extreme(name: &'static str, body: ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (1, ARITY_UNBOUNDED),
        result: extreme_result,
        parameter_type: common_parameter,
        body,
        strict: true,
        deterministic: true,
    }
}

const fn continuous(name: &'static str, arguments: usize, body: ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (arguments, arguments),
        result: double_or_decfloat,
        parameter_type: double_or_decfloat_parameter,
        body,
        strict: true,
        deterministic: true,
    }
}

const fn trigonometric(name: &'static str, arguments: usize, body: ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (arguments, arguments),
        result: double,
        parameter_type: double_parameter,
        body,
        strict: true,
        deterministic: true,
    }
}

fn overflow() -> Error {
    Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE)
}

/// "Argument for FUNCTION must ...".
fn domain_error(rule: u32, function: &str) -> Error {
    Error::new(isc::EXPRESSION_EVAL_ERR).and(rule).with(function)
}

fn power_of_ten(exponent: u32) -> Result<i128> {
    10_i128.checked_pow(exponent).ok_or_else(overflow)
}

// ---- Result types ----

fn abs_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let first = arguments.first().map_or(&SqlType::Null, Argument::sql_type);
    let sql_type = match first {
        SqlType::Null => SqlType::INTEGER,
        // The next wider one forgets whether it is a NUMERIC or a DECIMAL.
        SqlType::Exact { width: ExactWidth::Short, scale, .. } => {
            SqlType::Exact { width: ExactWidth::Long, scale: *scale, subtype: ExactSubtype::Integer }
        }
        SqlType::Exact { width: ExactWidth::Long, scale, .. } => {
            SqlType::Exact { width: ExactWidth::Int64, scale: *scale, subtype: ExactSubtype::Integer }
        }
        same @ (SqlType::Exact { .. }
        | SqlType::Float
        | SqlType::Double
        | SqlType::DecFloat16
        | SqlType::DecFloat34) => *same,
        _ => SqlType::Double,
    };
    Ok(nullable_as(sql_type, arguments))
}

fn ceil_floor_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let first = arguments.first().map_or(&SqlType::Null, Argument::sql_type);
    let sql_type = match first {
        SqlType::Null | SqlType::Exact { width: ExactWidth::Short, .. } => SqlType::INTEGER,
        SqlType::Exact { width: ExactWidth::Int128, .. } => SqlType::INT128,
        SqlType::Exact { .. } => SqlType::BIGINT,
        SqlType::DecFloat16 | SqlType::DecFloat34 => SqlType::DecFloat34,
        _ => SqlType::Double,
    };
    Ok(nullable_as(sql_type, arguments))
}

/// The type of the first argument, with scale 0 if there is no second.
fn same_or_unscaled(first: &SqlType, arguments: &[Argument<'_>]) -> SqlType {
    match first {
        SqlType::Exact { width, subtype, .. } if arguments.len() == 1 => {
            SqlType::Exact { width: *width, scale: 0, subtype: *subtype }
        }
        same => *same,
    }
}

fn round_result(function: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let first = arguments.first().map_or(&SqlType::Null, Argument::sql_type);
    let sql_type = match first {
        SqlType::Null => SqlType::INTEGER,
        SqlType::Exact { .. }
        | SqlType::Float
        | SqlType::Double
        | SqlType::DecFloat16
        | SqlType::DecFloat34 => same_or_unscaled(first, arguments),
        _ => return Err(domain_error(isc::SYSF_ARGMUSTBE_EXACT_OR_FP, function)),
    };
    Ok(nullable_as(sql_type, arguments))
}

fn trunc_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let first = arguments.first().map_or(&SqlType::Null, Argument::sql_type);
    let sql_type = match first {
        SqlType::Null => SqlType::INTEGER,
        SqlType::Exact { .. } | SqlType::DecFloat16 | SqlType::DecFloat34 => {
            same_or_unscaled(first, arguments)
        }
        _ => SqlType::Double,
    };
    Ok(nullable_as(sql_type, arguments))
}

fn rounding_parameter(index: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    required(if index == 0 { SqlType::Double } else { SqlType::INTEGER })
}

fn mod_result(name: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let types: Vec<SqlType> = arguments.iter().map(|argument| *argument.sql_type()).collect();
    common_type_in(&types, name)?;
    let first = arguments.first().map_or(&SqlType::Null, Argument::sql_type);
    let sql_type = match first {
        SqlType::Null => SqlType::INTEGER,
        SqlType::Exact { width, subtype, .. } => {
            SqlType::Exact { width: *width, scale: 0, subtype: *subtype }
        }
        _ => SqlType::BIGINT,
    };
    Ok(nullable_as(sql_type, arguments))
}

fn extreme_result(name: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let types: Vec<SqlType> = arguments.iter().map(|argument| *argument.sql_type()).collect();
    Ok(nullable_as(common_type_in(&types, name)?, arguments))
}

// ---- Rounding ----

fn abs(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    match number(context, call.argument(0))? {
        Number::Exact(unscaled, scale) => {
            let absolute = unscaled.checked_abs().ok_or_else(overflow)?;
            argument::exact_result(absolute, scale, call.result_type())
        }
        Number::Decimal(decimal) => Ok(Value::DecFloat(decimal.abs())),
        Number::Double(double) => match call.result_type() {
            SqlType::Float => {
                convert::cast(&Value::Double(double.abs()), &SqlType::Float, &argument::cast_context(context))
            }
            _ => Ok(Value::Double(double.abs())),
        },
    }
}

fn ceil(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    match number(context, call.argument(0))? {
        Number::Exact(unscaled, scale) => {
            let unit = power_of_ten(u32::from(scale.unsigned_abs()))?;
            let up = i128::from(unscaled.rem_euclid(unit) != 0);
            argument::exact_result(unscaled.div_euclid(unit) + up, 0, call.result_type())
        }
        Number::Decimal(decimal) => whole_decimal(decimal, Rounding::Ceiling),
        Number::Double(double) => Ok(Value::Double(double.ceil())),
    }
}

fn floor(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    match number(context, call.argument(0))? {
        Number::Exact(unscaled, scale) => {
            let unit = power_of_ten(u32::from(scale.unsigned_abs()))?;
            argument::exact_result(unscaled.div_euclid(unit), 0, call.result_type())
        }
        Number::Decimal(decimal) => whole_decimal(decimal, Rounding::Floor),
        Number::Double(double) => Ok(Value::Double(double.floor())),
    }
}

fn whole_decimal(decimal: Decimal, rounding: Rounding) -> Result<Value> {
    Ok(Value::DecFloat(decimal.rounded_to_exponent(0, rounding)?))
}

#[derive(Clone, Copy, PartialEq)]
enum Cut {
    /// Half away from zero.
    Round,
    /// Towards zero.
    Truncate,
}

fn round(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    cut(context, call, Cut::Round)
}

fn trunc(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    cut(context, call, Cut::Truncate)
}

/// ROUND and TRUNC to a number of digits after the point (before it, if negative).
fn cut(context: &mut Context<'_>, call: &Call<'_>, how: Cut) -> Result<Value> {
    let digits = match call.arguments.get(1) {
        None => 0,
        Some(digits) => i8::try_from(argument::int32(context, digits)?)
            .map_err(|_| domain_error(isc::SYSF_INVALID_SCALE, call.name))?,
    };
    match number(context, call.argument(0))? {
        Number::Exact(unscaled, scale) => {
            let (cut, scale) = cut_exact(unscaled, scale, digits, how, call.arguments.len() == 1)?;
            argument::exact_result(cut, scale, call.result_type())
        }
        Number::Decimal(decimal) => {
            let rounding = if how == Cut::Round { context.cast.decimal.rounding } else { Rounding::Down };
            let DecimalParts::Finite { exponent, .. } = decimal.parts() else {
                return Ok(Value::DecFloat(decimal));
            };
            if -i32::from(digits) <= exponent {
                return Ok(Value::DecFloat(decimal));
            }
            Ok(Value::DecFloat(decimal.rounded_to_exponent(-i32::from(digits), rounding)?))
        }
        Number::Double(double) => {
            let cut = Value::Double(cut_double(double, digits, how)?);
            convert::cast(&cut, call.result_type(), &argument::cast_context(context))
        }
    }
}

/// Firebird adds this to the half by which it rounds, so that 1.005, a little less in binary, becomes 1.01.
const HALF_SURPLUS: f64 = 1e-14;

/// The first number beyond a BIGINT.
const WHOLE_END: f64 = 9_223_372_036_854_775_808.0;

/// Cuts a binary number. What is rounded must fit, with its digits, in 64 bits, as in Firebird; so a zero that was rounded has
/// no sign, but one that was truncated has.
fn cut_double(double: f64, digits: i8, how: Cut) -> Result<f64> {
    // Powers of ten are multiplied and divided by, never their inverses, which no binary number is.
    let unit = 10_f64.powi(i32::from(digits).abs());
    let scaled = if digits >= 0 { double * unit } else { double / unit };
    let whole = match how {
        Cut::Truncate => scaled.trunc(),
        Cut::Round => (scaled.abs() + (0.5 + HALF_SURPLUS)).trunc().copysign(scaled),
    };
    if how == Cut::Round && whole.abs() >= WHOLE_END {
        return Err(overflow());
    }
    if how == Cut::Round && whole == 0.0 {
        return Ok(0.0);
    }
    match (whole.is_finite(), digits >= 0) {
        (false, _) => Ok(double),
        (true, true) => Ok(whole / unit),
        (true, false) => Ok(whole * unit),
    }
}

/// Cuts an exact number, keeping its scale unless `unscaled_result` asks for scale 0.
fn cut_exact(unscaled: i128, scale: i8, digits: i8, how: Cut, unscaled_result: bool) -> Result<(i128, i8)> {
    let surplus = -i32::from(scale) - i32::from(digits);
    let Some(surplus @ 1..) = u32::try_from(surplus).ok() else { return Ok((unscaled, scale)) };
    let Ok(unit) = power_of_ten(surplus) else {
        return Ok((0, if unscaled_result { 0 } else { scale }));
    };
    let (whole, rest) = (unscaled / unit, unscaled % unit);
    let away = how == Cut::Round && rest.unsigned_abs() >= unit.unsigned_abs().div_ceil(2);
    let whole = if away { whole + unscaled.signum() } else { whole };
    if unscaled_result {
        return Ok((whole, 0));
    }
    Ok((whole.checked_mul(unit).ok_or_else(overflow)?, scale))
}

fn modulo(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    // What loops and conditions ask for all the time.
    if let (Value::Integer { unscaled: left, scale: 0 }, Value::Integer { unscaled: right @ 1.., scale: 0 }) =
        (call.argument(0), call.argument(1))
    {
        return argument::exact_result(i128::from(left % right), 0, call.result_type());
    }
    let whole = |value: &Value| -> Result<i128> {
        match convert::cast(value, &SqlType::INT128, &argument::cast_context(context))? {
            Value::Int128 { unscaled, .. } => Ok(unscaled),
            Value::Integer { unscaled, .. } => Ok(i128::from(unscaled)),
            _ => Err(overflow()),
        }
    };
    let (left, right) = (whole(call.argument(0))?, whole(call.argument(1))?);
    match left.checked_rem(right) {
        Some(rest) => argument::exact_result(rest, 0, call.result_type()),
        None if right == 0 => Err(Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_INTEGER_DIVIDE_BY_ZERO)),
        None => argument::exact_result(0, 0, call.result_type()),
    }
}

fn sign(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let sign = match number(context, call.argument(0))? {
        Number::Exact(unscaled, _) => i64::try_from(unscaled.signum()).unwrap_or(0),
        Number::Decimal(decimal) if decimal.is_zero() => 0,
        Number::Decimal(decimal) => {
            if decimal.is_negative() {
                -1
            } else {
                1
            }
        }
        Number::Double(double) => match double.partial_cmp(&0.0) {
            Some(Ordering::Less) => -1,
            Some(Ordering::Greater) => 1,
            _ => 0,
        },
    };
    Ok(Value::integer(sign))
}

// ---- Greatest and least ----

fn maxvalue(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    extreme_of(context, call, Ordering::Greater)
}

fn minvalue(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    extreme_of(context, call, Ordering::Less)
}

fn extreme_of(context: &mut Context<'_>, call: &Call<'_>, wanted: Ordering) -> Result<Value> {
    let collation = text_kind(call.result_type()).1;
    let mut best = call.argument(0);
    for candidate in call.arguments.get(1..).unwrap_or_default() {
        if compare_nullable(candidate, best, collation, context)? == Some(wanted) {
            best = candidate;
        }
    }
    match (best, call.result_type()) {
        (blob @ Value::Blob(_), _) => Ok(blob.clone()),
        (other, SqlType::Blob { .. }) => {
            let text = argument::text(context, other)?;
            argument::text_result(context, text.bytes().to_vec(), text.character_set(), call.result_type())
        }
        (other, result) => convert::cast(other, result, &argument::cast_context(context)),
    }
}

// ---- Roots, logarithms, powers ----

/// Whether the call computes with DECFLOAT(34).
fn is_decimal(call: &Call<'_>) -> bool {
    *call.result_type() == SqlType::DecFloat34
}

fn sqrt(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    if is_decimal(call) {
        let operand = decimal(context, call.argument(0))?;
        if operand.is_negative() && !operand.is_zero() {
            return Err(domain_error(isc::SYSF_ARGMUSTBE_NONNEG, call.name));
        }
        return Ok(Value::DecFloat(continuous::square_root(operand)?));
    }
    let operand = argument::double(context, call.argument(0))?;
    if operand < 0.0 {
        return Err(domain_error(isc::SYSF_ARGMUSTBE_NONNEG, call.name));
    }
    argument::double_result(operand.sqrt())
}

fn exp(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    if is_decimal(call) {
        return Ok(Value::DecFloat(continuous::exponential(decimal(context, call.argument(0))?)?));
    }
    argument::double_result(argument::double(context, call.argument(0))?.exp())
}

fn ln(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    if is_decimal(call) {
        return Ok(Value::DecFloat(continuous::logarithm(positive_decimal(context, call, 0)?)?));
    }
    argument::double_result(positive_double(context, call, 0)?.ln())
}

fn log10(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    if is_decimal(call) {
        let operand = positive_decimal(context, call, 0)?;
        return Ok(Value::DecFloat(continuous::logarithm_to_base_ten(operand)?));
    }
    argument::double_result(positive_double(context, call, 0)?.log10())
}

/// LOG(base, operand). Base 1 gives infinity, as in Firebird.
fn log(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let base_error = || domain_error(isc::SYSF_BASEMUSTBE_POSITIVE, call.name);
    if is_decimal(call) {
        let base = decimal(context, call.argument(0))?;
        if base.is_negative() || base.is_zero() {
            return Err(base_error());
        }
        let operand = continuous::logarithm(positive_decimal(context, call, 1)?)?;
        return Ok(Value::DecFloat(operand.divide(continuous::logarithm(base)?)?));
    }
    let base = argument::double(context, call.argument(0))?;
    if base <= 0.0 {
        return Err(base_error());
    }
    let operand = positive_double(context, call, 1)?;
    Ok(Value::Double(operand.ln() / base.ln()))
}

fn positive_double(context: &Context<'_>, call: &Call<'_>, index: usize) -> Result<f64> {
    let operand = argument::double(context, call.argument(index))?;
    if operand > 0.0 { Ok(operand) } else { Err(domain_error(isc::SYSF_ARGMUSTBE_POSITIVE, call.name)) }
}

fn positive_decimal(context: &Context<'_>, call: &Call<'_>, index: usize) -> Result<Decimal> {
    let operand = decimal(context, call.argument(index))?;
    if operand.is_negative() || operand.is_zero() {
        return Err(domain_error(isc::SYSF_ARGMUSTBE_POSITIVE, call.name));
    }
    Ok(operand)
}

fn power(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    if is_decimal(call) {
        let base = decimal(context, call.argument(0))?;
        let exponent = decimal(context, call.argument(1))?;
        if base.is_zero() && exponent.is_negative() && !exponent.is_zero() {
            return Err(domain_error(isc::SYSF_INVALID_ZEROPOWNEG, call.name));
        }
        let integral = continuous::is_integral(exponent)?;
        if base.is_negative() && !base.is_zero() && !integral {
            return Err(domain_error(isc::SYSF_INVALID_NEGPOWFP, call.name));
        }
        return Ok(Value::DecFloat(continuous::power(base, exponent)?));
    }
    let base = argument::double(context, call.argument(0))?;
    let exponent = argument::double(context, call.argument(1))?;
    if base == 0.0 && exponent < 0.0 {
        return Err(domain_error(isc::SYSF_INVALID_ZEROPOWNEG, call.name));
    }
    if base < 0.0 && exponent.fract() != 0.0 {
        return Err(domain_error(isc::SYSF_INVALID_NEGPOWFP, call.name));
    }
    argument::double_result(base.powf(exponent))
}

// ---- Trigonometry ----

/// Which operands a function has a value for, and the rule that others break.
type Domain = (fn(f64) -> bool, u32);

/// Applies `compute` to the one argument if it satisfies `domain`.
fn real(
    context: &Context<'_>,
    call: &Call<'_>,
    domain: Option<Domain>,
    compute: fn(f64) -> f64,
) -> Result<Value> {
    let operand = argument::double(context, call.argument(0))?;
    if let Some((inside, rule)) = domain
        && !inside(operand)
    {
        return Err(domain_error(rule, call.name));
    }
    argument::double_result(compute(operand))
}

const UNIT_RANGE: Option<Domain> =
    Some((|operand| (-1.0..=1.0).contains(&operand), isc::SYSF_ARGMUSTBE_RANGE_INC1_1));

fn sin(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, None, f64::sin)
}

fn cos(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, None, f64::cos)
}

fn tan(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, None, f64::tan)
}

fn cot(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let domain: Domain = (|operand| operand != 0.0, isc::SYSF_ARGMUSTBE_NONZERO);
    real(context, call, Some(domain), |operand| 1.0 / operand.tan())
}

fn asin(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, UNIT_RANGE, f64::asin)
}

fn acos(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, UNIT_RANGE, f64::acos)
}

fn atan(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, None, f64::atan)
}

fn atan2(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let y = argument::double(context, call.argument(0))?;
    let x = argument::double(context, call.argument(1))?;
    if y == 0.0 && x == 0.0 {
        return Err(domain_error(isc::SYSF_ARGSCANT_BOTH_BE_ZERO, call.name));
    }
    argument::double_result(y.atan2(x))
}

fn sinh(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, None, f64::sinh)
}

fn cosh(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, None, f64::cosh)
}

fn tanh(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, None, f64::tanh)
}

fn asinh(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    real(context, call, None, f64::asinh)
}

fn acosh(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let domain: Domain = (|operand| operand >= 1.0, isc::SYSF_ARGMUSTBE_GTEQ_ONE);
    real(context, call, Some(domain), f64::acosh)
}

fn atanh(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let domain: Domain = (|operand| operand > -1.0 && operand < 1.0, isc::SYSF_ARGMUSTBE_RANGE_EXC1_1);
    real(context, call, Some(domain), f64::atanh)
}

fn pi(_: &mut Context<'_>, _: &Call<'_>) -> Result<Value> {
    Ok(Value::Double(std::f64::consts::PI))
}

fn rand(_: &mut Context<'_>, _: &Call<'_>) -> Result<Value> {
    crate::random::fraction().map(Value::Double)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Firebird 5 rounds and cuts DOUBLE PRECISION.
    #[test]
    fn binary_numbers_are_cut_as_firebird_cuts_them() {
        let rounded = [
            (2.345_678, 5, 2.34568),
            (1.005, 2, 1.01),
            (0.285, 2, 0.29),
            (-1.15, 1, -1.2),
            (5.015, 2, 5.01),
            (-2.5, 0, -3.0),
            (123_456.789, -2, 123_500.0),
            (1e19, -2, 1e19),
        ];
        for (value, digits, expected) in rounded {
            assert_eq!(cut_double(value, digits, Cut::Round), Ok(expected), "ROUND({value}, {digits})");
        }
        for (value, digits, how, negative) in [
            (-0.4, 0, Cut::Round, false),
            (-0.04, 1, Cut::Round, false),
            (-4.0, -1, Cut::Round, false),
            (-0.0, 0, Cut::Round, false),
            (-0.4, 0, Cut::Truncate, true),
            (-0.0, 0, Cut::Truncate, true),
        ] {
            let zero = cut_double(value, digits, how).expect("a number");
            assert_eq!((zero, zero.is_sign_negative()), (0.0, negative), "{value}, {digits}");
        }
        for (value, digits) in [(1e300, 2), (1e22, -3), (1e19, 0), (f64::INFINITY, 0)] {
            assert_eq!(cut_double(value, digits, Cut::Round), Err(overflow()), "ROUND({value}, {digits})");
        }
        for (value, digits, expected) in
            [(2.345_678, 5, 2.34567), (0.29, 2, 0.28), (-2.57, 1, -2.5), (1e300, 2, 1e300)]
        {
            assert_eq!(cut_double(value, digits, Cut::Truncate), Ok(expected), "TRUNC({value}, {digits})");
        }
    }
}
