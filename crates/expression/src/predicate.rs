//! Truth of expressions: TRUE, FALSE, or UNKNOWN (`None`).

use std::cmp::Ordering;

use farbird_sql::ast::Truth;
use farbird_types::{Collation, Error, Result, SqlType, Value, convert, isc};

use crate::comparison::operator_holds;
use crate::context::ExecutionContext;
use crate::subquery;
use crate::tree::Expression;
use farbird_function::blob::releasing;
use farbird_function::compare::{compare_nullable, compare_plain, is_plain};

impl Expression {
    /// Its truth on a row. Anything that is not BOOLEAN is converted to it.
    ///
    /// # Errors
    /// Those of the expression.
    pub fn truth(&self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Option<bool>> {
        match self {
            Expression::Comparison { operator, left, right, collation } => {
                let order = compare_operands(left, right, *collation, row, context)?;
                Ok(order.map(|order| operator_holds(*operator, order)))
            }
            Expression::And(parts) => all(parts, row, context),
            Expression::Or(parts) => any(parts, row, context),
            Expression::Not(operand) => Ok(operand.truth(row, context)?.map(|truth| !truth)),
            Expression::IsNull(operand) => match operand.peek(row, context) {
                Some(value) => Ok(Some(value.is_null())),
                None => Ok(Some(operand.evaluate(row, context)?.is_null())),
            },
            Expression::IsTruth { operand, truth } => {
                let found = operand.truth(row, context)?;
                Ok(Some(match truth {
                    Truth::True => found == Some(true),
                    Truth::False => found == Some(false),
                    Truth::Unknown => found.is_none(),
                }))
            }
            Expression::Distinct { left, right, collation } => {
                let left = left.evaluate(row, context)?;
                let right = right.evaluate(row, context)?;
                is_distinct(&left, &right, *collation, context).map(Some)
            }
            Expression::Between { operand, low, high, collation } => {
                let operand = operand.evaluate(row, context)?;
                let low = low.evaluate(row, context)?;
                let above = compare_nullable(&operand, &low, *collation, context)?.map(Ordering::is_ge);
                if above == Some(false) {
                    return Ok(Some(false));
                }
                let high = high.evaluate(row, context)?;
                let below = compare_nullable(&operand, &high, *collation, context)?.map(Ordering::is_le);
                Ok(and(above, below))
            }
            Expression::InList { operand, list, collation } => {
                in_list(operand, list, *collation, row, context)
            }
            Expression::Pattern(pattern) => releasing(context, |context| pattern.matches(row, context)),
            Expression::Subquery(query) => match subquery::evaluate(query, row, context)? {
                Value::Boolean(truth) => Ok(Some(truth)),
                Value::Null => Ok(None),
                other => truth_of(other, context),
            },
            other => {
                let value = other.evaluate(row, context)?;
                truth_of(value, context)
            }
        }
    }
}

fn truth_of(value: Value, context: &ExecutionContext<'_>) -> Result<Option<bool>> {
    match value {
        Value::Boolean(truth) => Ok(Some(truth)),
        Value::Null => Ok(None),
        other => match convert::cast(&other, &SqlType::Boolean, &context.cast)? {
            Value::Boolean(truth) => Ok(Some(truth)),
            _ => Err(Error::new(isc::INVALID_BOOLEAN_USAGE)),
        },
    }
}

fn all(parts: &[Expression], row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Option<bool>> {
    let mut result = Some(true);
    for part in parts {
        match part.truth(row, context)? {
            Some(true) => {}
            Some(false) => return Ok(Some(false)),
            None => result = None,
        }
    }
    Ok(result)
}

fn any(parts: &[Expression], row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Option<bool>> {
    let mut result = Some(false);
    for part in parts {
        match part.truth(row, context)? {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn in_list(
    operand: &Expression,
    list: &[Expression],
    collation: Collation,
    row: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Result<Option<bool>> {
    let operand = operand.evaluate(row, context)?;
    if operand.is_null() {
        return Ok(None);
    }
    let mut unknown = false;
    for item in list {
        context.check_interrupt()?;
        let order = match item.peek(row, context) {
            Some(item) if is_plain(&operand, item) => compare_plain(&operand, item, collation, context)?,
            _ => {
                let item = item.evaluate(row, context)?;
                compare_nullable(&operand, &item, collation, context)?
            }
        };
        match order {
            Some(Ordering::Equal) => return Ok(Some(true)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(false) })
}

/// Compares two operands; nothing is copied for columns, constants and parameters.
fn compare_operands(
    left: &Expression,
    right: &Expression,
    collation: Collation,
    row: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Result<Option<Ordering>> {
    if let (Some(left), Some(right)) = (left.peek(row, context), right.peek(row, context))
        && is_plain(left, right)
    {
        return compare_plain(left, right, collation, context);
    }
    let left = left.evaluate(row, context)?;
    let right = right.evaluate(row, context)?;
    compare_nullable(&left, &right, collation, context)
}

/// IS DISTINCT FROM: NULL is like NULL and unlike everything else.
pub fn is_distinct(
    left: &Value,
    right: &Value,
    collation: Collation,
    context: &mut ExecutionContext<'_>,
) -> Result<bool> {
    match (left.is_null(), right.is_null()) {
        (true, true) => Ok(false),
        (false, false) => Ok(compare_nullable(left, right, collation, context)? != Some(Ordering::Equal)),
        _ => Ok(true),
    }
}
