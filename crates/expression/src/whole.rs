//! Programs for what loops of PSQL do most: arithmetic and comparisons of exact numbers that fit 64 bits.
//!
//! A program computes in plain registers, where the ordinary evaluation makes a [`Value`] at each step. `whole_compile` makes it.
//!
//! # Promises
//! - A program gives what the ordinary evaluation gives, or nothing: for NULL, values of other types and scales, overflows,
//!   divisions by zero. Then the expression is evaluated in the ordinary way, from its beginning, which has no effect but its value.
//! - So errors are made in one place only, and not here.

use farbird_sql::ast::ComparisonOperator;
use farbird_types::{ExactWidth, Value};

use crate::comparison::operator_holds;

/// A compiled expression.
#[derive(Debug, Clone)]
pub(crate) enum WholeProgram {
    /// A number of this width and scale.
    Number { number: Number, width: ExactWidth, scale: i8 },
    /// TRUE or FALSE.
    Condition(Condition),
}

/// A number without its decimal point. Its scale is known where it stands.
#[derive(Debug, Clone)]
pub(crate) enum Number {
    Constant(i64),
    /// A parameter or variable that must have this scale.
    Parameter {
        place: usize,
        scale: i8,
    },
    /// A column of the row that must have this scale.
    Column {
        place: usize,
        scale: i8,
    },
    Negated(Box<Number>),
    Computed {
        operator: Operator,
        operands: Box<(Number, Number)>,
    },
    /// What fits a narrower type.
    Within {
        lowest: i64,
        highest: i64,
        operand: Box<Number>,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A condition that is neither UNKNOWN nor an error.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    Compare { operator: ComparisonOperator, operands: Box<(Number, Number)> },
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

impl WholeProgram {
    /// The value, if it is a number.
    #[inline]
    pub(crate) fn value(&self, row: &[Value], parameters: &[Value]) -> Option<Value> {
        match self {
            WholeProgram::Number { number, width: ExactWidth::Int64, scale } => {
                let unscaled = number.compute(row, parameters)?;
                Some(Value::Integer { unscaled, scale: *scale })
            }
            WholeProgram::Number { number, width, scale } => {
                width.value(i128::from(number.compute(row, parameters)?), *scale)
            }
            WholeProgram::Condition(_) => None,
        }
    }

    /// The truth, if it is a condition.
    #[inline]
    pub(crate) fn truth(&self, row: &[Value], parameters: &[Value]) -> Option<bool> {
        match self {
            WholeProgram::Condition(condition) => condition.holds(row, parameters),
            WholeProgram::Number { .. } => None,
        }
    }
}

impl Number {
    fn compute(&self, row: &[Value], parameters: &[Value]) -> Option<i64> {
        match self {
            Number::Constant(number) => Some(*number),
            Number::Parameter { place, scale } => read(parameters.get(*place)?, *scale),
            Number::Column { place, scale } => read(row.get(*place)?, *scale),
            Number::Negated(operand) => operand.compute(row, parameters)?.checked_neg(),
            Number::Computed { operator, operands } => {
                let (left, right) =
                    (operands.0.compute(row, parameters)?, operands.1.compute(row, parameters)?);
                match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => left.checked_div(right),
                    Operator::Modulo => left.checked_rem(right),
                }
            }
            Number::Within { lowest, highest, operand } => {
                let number = operand.compute(row, parameters)?;
                (*lowest..=*highest).contains(&number).then_some(number)
            }
        }
    }
}

impl Condition {
    fn holds(&self, row: &[Value], parameters: &[Value]) -> Option<bool> {
        match self {
            Condition::Compare { operator, operands } => {
                let left = operands.0.compute(row, parameters)?;
                let right = operands.1.compute(row, parameters)?;
                Some(operator_holds(*operator, left.cmp(&right)))
            }
            Condition::All(parts) => {
                for part in parts {
                    if !part.holds(row, parameters)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Condition::Any(parts) => {
                for part in parts {
                    if part.holds(row, parameters)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Condition::Not(operand) => operand.holds(row, parameters).map(|holds| !holds),
        }
    }
}

#[inline]
fn read(value: &Value, wanted: i8) -> Option<i64> {
    match value {
        Value::Integer { unscaled, scale } if *scale == wanted => Some(*unscaled),
        Value::Int128 { unscaled, scale } if *scale == wanted => i64::try_from(*unscaled).ok(),
        _ => None,
    }
}
