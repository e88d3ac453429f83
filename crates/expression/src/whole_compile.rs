//! Making programs for numbers of 64 bits ([`crate::whole`]).
//!
//! An expression has one if nothing but constants, variables, columns, `+ - * /`, MOD, CAST, comparisons, AND, OR and NOT stands in
//! it and no digits have to be moved between scales. Where a type shows only when it runs (that of a variable), the program asks
//! for the scale that would do, and gives nothing if the value has another one.

use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::{ExactWidth, SqlType, Value};

use crate::tree::Expression;
use crate::whole::{Condition, Number, Operator, WholeProgram};

/// The program of an expression, if it has one. What stands by itself (a constant, a variable) needs none.
pub(crate) fn program_of(expression: &Expression) -> Option<WholeProgram> {
    if let Some(condition) = condition_of(expression) {
        return Some(WholeProgram::Condition(condition));
    }
    let (width, scale) = computed_type(expression)?;
    Some(WholeProgram::Number { number: number_of(expression, scale)?, width, scale })
}

/// An expression as a number of this scale.
fn number_of(expression: &Expression, scale: i8) -> Option<Number> {
    match expression {
        Expression::Constant(Value::Integer { unscaled, scale: found }) if *found == scale => {
            Some(Number::Constant(*unscaled))
        }
        Expression::Parameter(place) => Some(Number::Parameter { place: *place, scale }),
        Expression::Column(place) => Some(Number::Column { place: *place, scale }),
        Expression::Negate(operand) => Some(Number::Negated(Box::new(number_of(operand, scale)?))),
        Expression::Cast { operand, to: SqlType::Exact { width, scale: to, .. } } if *to == scale => {
            let operand = number_of(operand, scale)?;
            let (lowest, highest) = width.range();
            Some(match (i64::try_from(lowest), i64::try_from(highest)) {
                (Ok(lowest), Ok(highest)) if *width != ExactWidth::Int64 => {
                    Number::Within { lowest, highest, operand: Box::new(operand) }
                }
                _ => operand,
            })
        }
        Expression::Arithmetic { operator, left, right, .. } if computed_type(expression)?.1 == scale => {
            let (operator, left_scale, right_scale) = match operator {
                ArithmeticOperator::Add => (Operator::Add, scale, scale),
                ArithmeticOperator::Subtract => (Operator::Subtract, scale, scale),
                ArithmeticOperator::Multiply => {
                    let left = known_scale(left).or_else(|| scale.checked_sub(known_scale(right)?));
                    let left = left.or((scale == 0).then_some(0))?;
                    (Operator::Multiply, left, scale.checked_sub(left)?)
                }
                // A divisor with decimal places takes digits of the dividend.
                ArithmeticOperator::Divide if scale == 0 => (Operator::Divide, 0, 0),
                ArithmeticOperator::Divide => return None,
            };
            let operands = (number_of(left, left_scale)?, number_of(right, right_scale)?);
            Some(Number::Computed { operator, operands: Box::new(operands) })
        }
        Expression::Function { function, arguments, .. } if function.0.name == "MOD" && scale == 0 => {
            let [left, right] = arguments.as_slice() else { return None };
            let operands = Box::new((number_of(left, 0)?, number_of(right, 0)?));
            Some(Number::Computed { operator: Operator::Modulo, operands })
        }
        _ => None,
    }
}

/// A condition whose parts all have programs.
fn condition_of(expression: &Expression) -> Option<Condition> {
    let all = |parts: &[Expression]| parts.iter().map(condition_of).collect::<Option<Vec<_>>>();
    match expression {
        Expression::Comparison { operator, left, right, .. } => {
            let scale = known_scale(left).or_else(|| known_scale(right)).unwrap_or(0);
            let operands = (number_of(left, scale)?, number_of(right, scale)?);
            Some(Condition::Compare { operator: *operator, operands: Box::new(operands) })
        }
        Expression::And(parts) => all(parts).map(Condition::All),
        Expression::Or(parts) => all(parts).map(Condition::Any),
        Expression::Not(operand) => Some(Condition::Not(Box::new(condition_of(operand)?))),
        _ => None,
    }
}

/// Width and scale of the value of an expression that computes an exact number.
fn computed_type(expression: &Expression) -> Option<(ExactWidth, i8)> {
    let sql_type = match expression {
        Expression::Arithmetic { result, .. } => result,
        Expression::Cast { to, .. } => to,
        Expression::Function { signature, .. } => &signature.result.sql_type,
        _ => return None,
    };
    match sql_type {
        SqlType::Exact { width, scale, .. } => Some((*width, *scale)),
        _ => None,
    }
}

/// The scale of an expression's values, where it shows.
fn known_scale(expression: &Expression) -> Option<i8> {
    match expression {
        Expression::Constant(Value::Integer { scale, .. }) => Some(*scale),
        Expression::Negate(operand) => known_scale(operand),
        other => computed_type(other).map(|(_, scale)| scale),
    }
}
