//! Which conditions cannot fail, so that they may be evaluated on rows to which the query as written would not have come.

use farbird_expression::Expression;
use farbird_types::{SqlType, Value};

use crate::rewrite::joins::Joins;

/// Kinds of values that are compared without a conversion that may fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Number,
    Text,
    Date,
    Time,
    Timestamp,
}

impl Joins {
    /// Whether a condition gives a truth value whatever the row is. Said of comparisons of columns and constants only.
    pub(super) fn cannot_fail(&self, condition: &Expression) -> bool {
        cannot_fail(condition, &|slot| self.slot_type(slot))
    }
}

/// Whether a condition gives a truth value whatever the row is, given the types of columns. Said of comparisons of columns and
/// constants only.
pub(crate) fn cannot_fail(condition: &Expression, slot_type: &dyn Fn(usize) -> Option<SqlType>) -> bool {
    let kind = |operand: &Expression| kind(operand, slot_type);
    match condition {
        Expression::Comparison { left, right, .. } | Expression::Distinct { left, right, .. } => {
            are_alike([kind(left), kind(right)])
        }
        Expression::Between { operand, low, high, .. } => are_alike([kind(operand), kind(low), kind(high)]),
        Expression::InList { operand, list, .. } => {
            are_alike(std::iter::once(kind(operand)).chain(list.iter().map(kind)))
        }
        Expression::IsNull(operand) => kind(operand).is_some(),
        Expression::Not(operand) => cannot_fail(operand, slot_type),
        Expression::And(parts) | Expression::Or(parts) => {
            parts.iter().all(|part| cannot_fail(part, slot_type))
        }
        _ => false,
    }
}

/// Whether all are of one kind that is known.
fn are_alike(kinds: impl IntoIterator<Item = Option<Kind>>) -> bool {
    let mut kinds = kinds.into_iter();
    let Some(Some(first)) = kinds.next() else { return false };
    kinds.all(|kind| kind == Some(first))
}

/// The kind of a column or a constant.
fn kind(operand: &Expression, slot_type: &dyn Fn(usize) -> Option<SqlType>) -> Option<Kind> {
    match operand {
        Expression::Column(slot) => kind_of_type(slot_type(*slot)?),
        Expression::Constant(value) => kind_of_value(value),
        _ => None,
    }
}

fn kind_of_type(sql_type: SqlType) -> Option<Kind> {
    match sql_type {
        SqlType::Boolean => Some(Kind::Boolean),
        SqlType::Exact { .. } | SqlType::Float | SqlType::Double => Some(Kind::Number),
        SqlType::Text(_) => Some(Kind::Text),
        SqlType::Date => Some(Kind::Date),
        SqlType::Time => Some(Kind::Time),
        SqlType::Timestamp => Some(Kind::Timestamp),
        _ => None,
    }
}

fn kind_of_value(value: &Value) -> Option<Kind> {
    match value {
        Value::Boolean(_) => Some(Kind::Boolean),
        Value::Integer { .. } | Value::Int128 { .. } | Value::Float(_) | Value::Double(_) => {
            Some(Kind::Number)
        }
        Value::Text(_) => Some(Kind::Text),
        Value::Date(_) => Some(Kind::Date),
        Value::Time(_) => Some(Kind::Time),
        Value::Timestamp(_) => Some(Kind::Timestamp),
        _ => None,
    }
}
