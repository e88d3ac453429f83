//! Values of several types, made values of one.

use farbird_expression::Expression;
use farbird_types::{ColumnType, Result, SqlType, arithmetic};

use crate::bind::binder::Bound;
use crate::bound::shape::Shape;

/// Values of several types, made values of the one type that can hold them all. `name`: what errors call the expression.
pub(crate) fn unified(
    values: Vec<Bound>,
    shape: &Option<Box<Shape>>,
    name: &str,
) -> Result<(Vec<Expression>, ColumnType)> {
    let types: Vec<SqlType> = values.iter().map(|value| *value.sql_type()).collect();
    let sql_type = typed(arithmetic::common_type_in(&types, name), shape)?;
    let nullable = values.iter().any(|value| value.column_type.nullable);
    let expressions = values
        .into_iter()
        .map(|value| match sql_type {
            SqlType::Null => value.expression,
            _ => value.converted(&sql_type).expression,
        })
        .collect();
    Ok((expressions, ColumnType { sql_type, nullable }))
}

/// A type that was computed, or none if that failed for want of a parameter's type: the next binding computes it again.
pub(crate) fn typed(computed: Result<SqlType>, shape: &Option<Box<Shape>>) -> Result<SqlType> {
    match computed {
        Err(_) if shape.is_some() => Ok(SqlType::Null),
        computed => computed,
    }
}

/// A bare NULL.
pub(crate) fn null_value() -> Bound {
    Bound::new(Expression::NULL, SqlType::Null, true)
}
