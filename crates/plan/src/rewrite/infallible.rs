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
        match condition {
            Expression::Comparison { left, right, .. } | Expression::Distinct { left, right, .. } => {
                self.are_of_one_kind([&**left, &**right])
            }
            Expression::Between { operand, low, high, .. } => {
                self.are_of_one_kind([&**operand, &**low, &**high])
            }
            Expression::InList { operand, list, .. } => {
                self.are_of_one_kind(std::iter::once(&**operand).chain(list))
            }
            Expression::IsNull(operand) => self.kind(operand).is_some(),
            Expression::Not(operand) => self.cannot_fail(operand),
            Expression::And(parts) | Expression::Or(parts) => parts.iter().all(|part| self.cannot_fail(part)),
            _ => false,
        }
    }

    fn are_of_one_kind<'e>(&self, operands: impl IntoIterator<Item = &'e Expression>) -> bool {
        let mut kinds = operands.into_iter().map(|operand| self.kind(operand));
        let Some(Some(first)) = kinds.next() else { return false };
        kinds.all(|kind| kind == Some(first))
    }

    /// The kind of a column or a constant.
    fn kind(&self, operand: &Expression) -> Option<Kind> {
        match operand {
            Expression::Column(slot) => kind_of_type(self.slot_type(*slot)?),
            Expression::Constant(value) => kind_of_value(value),
            _ => None,
        }
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
