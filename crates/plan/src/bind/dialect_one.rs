//! What values are in SQL dialect 1: of the types that it gives them, computed in those of dialect 3.
//!
//! A product of two INTEGERs is said to be an INTEGER, and an average of them too. Firebird computes the one in 64 bits and the
//! other in a double, and rounds, or fails, only where the value is taken for what it is said to be: as a row's value, or as an
//! INTEGER that is added to. Here such a value is a conversion, and [`Bound::computed_as`] says that a double can be had without.

use farbird_expression::Expression;
use farbird_types::arithmetic::{
    self, ArithmeticOperator, average_type_in_dialect_1, negated_type_in_dialect_1, result_type_in_dialect_1,
    sum_type_in_dialect_1,
};
use farbird_types::{Error, ExactWidth, Result, SqlType, isc};

use crate::bind::binder::{Binder, Bound};

impl Bound {
    /// The value before it was made what dialect 1 says that it is.
    pub(crate) fn into_computed(self) -> Bound {
        match (self.computed_as, self.expression) {
            (Some(sql_type), Expression::Cast { operand, .. }) => {
                Bound::new(*operand, sql_type, self.column_type.nullable)
            }
            (_, expression) => Bound { expression, computed_as: None, ..self },
        }
    }
}

impl Binder<'_> {
    /// Whether dialect 1 says what is bound: definitions are of the database's dialect, whoever looks at them.
    pub(crate) fn is_in_dialect_1(&self) -> bool {
        match self.inside_definition {
            true => self.environment.catalog.database.dialect == 1,
            false => self.environment.dialect == 1,
        }
    }
}

/// `-operand`, whose type is known.
pub(crate) fn negation_in_dialect_1(operand: Bound) -> Result<Bound> {
    let described = negated_type_in_dialect_1(operand.sql_type())?;
    let operand = match operand.computed_as {
        Some(SqlType::Double) => operand.into_computed(),
        _ => operand.converted(&described),
    };
    let (sql_type, nullable) = (*operand.sql_type(), operand.column_type.nullable);
    let negated = Bound::new(Expression::Negate(Box::new(operand.expression)), sql_type, nullable);
    Ok(narrowed(negated, described))
}

/// `left operator right`, whose types are known.
pub(crate) fn arithmetic_in_dialect_1(
    operator: ArithmeticOperator,
    left: Bound,
    right: Bound,
) -> Result<Bound> {
    let described = result_type_in_dialect_1(operator, left.sql_type(), right.sql_type())?;
    let is_double = |bound: &Bound| bound.computed_as == Some(SqlType::Double);
    let has_timestamp = matches!(left.sql_type(), SqlType::Timestamp | SqlType::TimestampTz)
        || matches!(right.sql_type(), SqlType::Timestamp | SqlType::TimestampTz);
    let (left, right) = match described {
        // A text beside a point in time is one.
        _ if has_timestamp => (as_point_in_time(left), as_point_in_time(right)),
        SqlType::Double => (left.converted(&SqlType::Double), right.converted(&SqlType::Double)),
        SqlType::Exact { width: ExactWidth::Long, .. } if is_double(&left) || is_double(&right) => {
            (left.converted(&SqlType::Double), right.converted(&SqlType::Double))
        }
        _ => (as_number(left), as_number(right)),
    };
    let nullable = left.column_type.nullable || right.column_type.nullable;
    let result = arithmetic::result_type(operator, left.sql_type(), right.sql_type())?;
    let expression = Expression::Arithmetic {
        operator,
        left: Box::new(left.expression),
        right: Box::new(right.expression),
        result,
    };
    let computed = Bound::new(expression, result, nullable);
    // A sum that is too great fails at once, a product only where it is taken for an INTEGER.
    Ok(match operator {
        ArithmeticOperator::Multiply if result != described => {
            Bound { computed_as: Some(result), ..computed.converted(&described) }
        }
        _ => narrowed(computed, described),
    })
}

/// The product before it was made the INTEGER that it is said to be: the same number, as far as it is one.
pub(crate) fn product_in_dialect_1(value: &Expression) -> Option<&Expression> {
    match value {
        Expression::Cast { operand, to: SqlType::Exact { width: ExactWidth::Long, scale: said, .. } } => {
            match operand.as_ref() {
                Expression::Arithmetic {
                    operator: ArithmeticOperator::Multiply,
                    result: SqlType::Exact { scale, .. },
                    ..
                } if scale == said => Some(operand),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Makes a value of the type that it is said to have; who wants a double gets it as it was computed, if that was one.
pub(crate) fn narrowed(computed: Bound, described: SqlType) -> Bound {
    if *computed.sql_type() == described {
        return computed;
    }
    let computed_as = Some(*computed.sql_type()).filter(|computed| *computed == SqlType::Double);
    Bound { computed_as, ..computed.converted(&described) }
}

/// Prepares the arguments of an aggregate; the type that its value is said to have, if that is not the one in which it is
/// computed.
///
/// # Errors
/// `dsql_agg_wrongarg` for what cannot be added.
pub(crate) fn aggregate_in_dialect_1(name: &str, arguments: &mut [Bound]) -> Result<Option<SqlType>> {
    let described = match (name, &arguments) {
        ("COUNT", _) => return Ok(Some(SqlType::INTEGER)),
        ("SUM", [argument, ..]) => sum_type_in_dialect_1(argument.sql_type()),
        ("AVG", [argument, ..]) => average_type_in_dialect_1(argument.sql_type()),
        _ => return Ok(None),
    };
    let described = described.ok_or_else(|| {
        Error::new(isc::DSQL_ERROR).and(isc::EXPRESSION_EVAL_ERR).and(isc::DSQL_AGG_WRONGARG).with(name)
    })?;
    let is_decimal = matches!(described, SqlType::DecFloat16 | SqlType::DecFloat34);
    for argument in arguments.iter_mut() {
        let is_text = matches!(argument.sql_type(), SqlType::Text(_));
        let is_averaged = name == "AVG" && !is_decimal && *argument.sql_type() != SqlType::Null;
        if is_text || is_averaged {
            *argument = argument.clone().converted(&SqlType::Double);
        }
    }
    Ok((described != SqlType::Null).then_some(described))
}

/// A text as a timestamp, anything else as it is.
fn as_point_in_time(bound: Bound) -> Bound {
    match bound.sql_type() {
        SqlType::Text(_) => bound.converted(&SqlType::Timestamp),
        _ => bound,
    }
}

/// A text as a double, anything else as it is.
fn as_number(bound: Bound) -> Bound {
    match bound.sql_type() {
        SqlType::Text(_) => bound.converted(&SqlType::Double),
        _ => bound,
    }
}
