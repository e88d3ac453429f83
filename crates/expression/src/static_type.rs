//! The type that an expression's values have, as far as the bound expression itself tells.

use farbird_types::{CharacterSet, SqlType};

use crate::tree::Expression;

impl Expression {
    /// The type of its values, given those of columns; `None` where only running tells (parameters, subqueries).
    pub fn static_type(&self, column: &dyn Fn(usize) -> Option<SqlType>) -> Option<SqlType> {
        match self {
            Expression::Column(place) => column(*place),
            Expression::Cast { to, .. } => Some(*to),
            Expression::Arithmetic { result, .. }
            | Expression::Concatenate { result, .. }
            | Expression::SubstringSimilar { result, .. } => Some(*result),
            Expression::Function { signature, .. } => Some(signature.result.sql_type),
            Expression::Routine { routine, .. } => routine.outputs.first().map(|output| output.sql_type),
            Expression::Constrained { operand, .. } | Expression::Negate(operand) => {
                operand.static_type(column)
            }
            Expression::Coalesce(parts) => common(parts.iter().map(|part| part.static_type(column))),
            Expression::Case { branches, otherwise } | Expression::SimpleCase { branches, otherwise, .. } => {
                let results = branches.iter().map(|(_, result)| result);
                common(results.chain([&**otherwise]).map(|result| result.static_type(column)))
            }
            Expression::Sequence { .. } | Expression::RecordVersion { .. } => Some(SqlType::BIGINT),
            Expression::DbKey { .. } => Some(SqlType::char(8, CharacterSet::OCTETS)),
            Expression::Comparison { .. }
            | Expression::Distinct { .. }
            | Expression::Between { .. }
            | Expression::InList { .. }
            | Expression::Pattern(_)
            | Expression::IsNull(_)
            | Expression::IsTruth { .. }
            | Expression::Not(_)
            | Expression::And(_)
            | Expression::Or(_) => Some(SqlType::Boolean),
            Expression::Constant(_)
            | Expression::Register(_)
            | Expression::Parameter(_)
            | Expression::LocalRoutine { .. }
            | Expression::Subquery(_)
            | Expression::Context(_)
            | Expression::ErrorContext(_)
            | Expression::AtTimeZone { .. }
            | Expression::Aggregate(_)
            | Expression::Window(_) => None,
        }
    }
}

/// The one type of several values.
fn common(mut types: impl Iterator<Item = Option<SqlType>>) -> Option<SqlType> {
    let first = types.next()??;
    types.all(|other| other == Some(first)).then_some(first)
}
