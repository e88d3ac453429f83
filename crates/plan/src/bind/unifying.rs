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
    let sql_type = typed(arithmetic::common_type_in(&types_of(&values), name), shape)?;
    Ok(converted(values, sql_type))
}

/// As [`unified`], but CHARs of different lengths are not filled up with blanks: simple CASE and DECODE give each value as it is.
/// A value of CHAR has its whole length here, so the common type is VARCHAR then; where Firebird says CHAR and keeps the value short,
/// the answer is true (see [`crate::bound::query::OutputColumn::sent_as_char`]).
pub(crate) fn unified_without_padding(
    values: Vec<Bound>,
    shape: &Option<Box<Shape>>,
    name: &str,
) -> Result<(Vec<Expression>, ColumnType, bool)> {
    let sent_as_char = values.iter().all(|value| match value.sql_type() {
        SqlType::Text(own) => value.sent_as_char || !own.varying,
        other => *other == SqlType::Null,
    });
    let types = types_of(&values);
    let mut sql_type = typed(arithmetic::common_type_in(&types, name), shape)?;
    if let SqlType::Text(common) = &mut sql_type {
        common.varying |= types
            .iter()
            .any(|own| matches!(own, SqlType::Text(own) if own.length_chars != common.length_chars));
    }
    let (values, column_type) = converted(values, sql_type);
    let sent_as_char = sent_as_char && matches!(sql_type, SqlType::Text(common) if common.varying);
    Ok((values, column_type, sent_as_char))
}

fn types_of(values: &[Bound]) -> Vec<SqlType> {
    values.iter().map(|value| *value.sql_type()).collect()
}

/// The values, made values of one type.
fn converted(values: Vec<Bound>, sql_type: SqlType) -> (Vec<Expression>, ColumnType) {
    let nullable = values.iter().any(|value| value.column_type.nullable);
    let expressions = values
        .into_iter()
        .map(|value| match sql_type {
            SqlType::Null => value.expression,
            _ => value.converted(&sql_type).expression,
        })
        .collect();
    (expressions, ColumnType { sql_type, nullable })
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
