//! Programs for what loops of PSQL do most: arithmetic and comparisons of exact numbers that fit 64 bits.
//!
//! A program is made of an expression when it is bound, if nothing but constants, variables, columns, `+ - * /`, MOD, CAST,
//! comparisons, AND, OR and NOT stands in it and no digits have to be moved between scales. It computes in plain registers, where
//! the ordinary evaluation makes a [`Value`] at each step.
//!
//! # Promises
//! - A program gives what the ordinary evaluation gives, or nothing: for NULL, values of other types and scales, overflows,
//!   divisions by zero. Then the expression is evaluated in the ordinary way, from its beginning, which has no effect but its value.
//! - So errors are made in one place only, and not here.

use farbird_sql::ast::ComparisonOperator;
use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::{ExactWidth, SqlType, Value};

use crate::predicate::operator_holds;
use crate::tree::Expression;

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
    /// The program of an expression, if it has one. What stands by itself (a constant, a variable) needs none.
    pub(crate) fn of(expression: &Expression) -> Option<WholeProgram> {
        if let Some(condition) = Condition::of(expression) {
            return Some(WholeProgram::Condition(condition));
        }
        let (width, scale) = computed_type(expression)?;
        Some(WholeProgram::Number { number: Number::of(expression, scale)?, width, scale })
    }

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
    /// An expression as a number of this scale.
    fn of(expression: &Expression, scale: i8) -> Option<Number> {
        match expression {
            Expression::Constant(Value::Integer { unscaled, scale: found }) if *found == scale => {
                Some(Number::Constant(*unscaled))
            }
            Expression::Parameter(place) => Some(Number::Parameter { place: *place, scale }),
            Expression::Column(place) => Some(Number::Column { place: *place, scale }),
            Expression::Negate(operand) => Some(Number::Negated(Box::new(Number::of(operand, scale)?))),
            Expression::Cast { operand, to: SqlType::Exact { width, scale: to, .. } } if *to == scale => {
                let operand = Number::of(operand, scale)?;
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
                        let left = known_scale(left).or_else(|| Some(scale - known_scale(right)?));
                        let left = left.or((scale == 0).then_some(0))?;
                        (Operator::Multiply, left, scale.checked_sub(left)?)
                    }
                    // A divisor with decimal places takes digits of the dividend.
                    ArithmeticOperator::Divide if scale == 0 => (Operator::Divide, 0, 0),
                    ArithmeticOperator::Divide => return None,
                };
                let operands = (Number::of(left, left_scale)?, Number::of(right, right_scale)?);
                Some(Number::Computed { operator, operands: Box::new(operands) })
            }
            Expression::Function { function, arguments, .. } if function.0.name == "MOD" && scale == 0 => {
                let [left, right] = arguments.as_slice() else { return None };
                let operands = Box::new((Number::of(left, 0)?, Number::of(right, 0)?));
                Some(Number::Computed { operator: Operator::Modulo, operands })
            }
            _ => None,
        }
    }

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
    fn of(expression: &Expression) -> Option<Condition> {
        let all = |parts: &[Expression]| parts.iter().map(Condition::of).collect::<Option<Vec<_>>>();
        match expression {
            Expression::Comparison { operator, left, right, .. } => {
                let scale = known_scale(left).or_else(|| known_scale(right)).unwrap_or(0);
                let operands = (Number::of(left, scale)?, Number::of(right, scale)?);
                Some(Condition::Compare { operator: *operator, operands: Box::new(operands) })
            }
            Expression::And(parts) => all(parts).map(Condition::All),
            Expression::Or(parts) => all(parts).map(Condition::Any),
            Expression::Not(operand) => Some(Condition::Not(Box::new(Condition::of(operand)?))),
            _ => None,
        }
    }

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
