//! What the operators of comparisons say.

use std::cmp::Ordering;

use farbird_sql::ast::ComparisonOperator;

/// Whether a comparison came out as the operator asks.
pub fn operator_holds(operator: ComparisonOperator, order: Ordering) -> bool {
    match operator {
        ComparisonOperator::Equal => order.is_eq(),
        ComparisonOperator::NotEqual => order.is_ne(),
        ComparisonOperator::Less => order.is_lt(),
        ComparisonOperator::LessOrEqual => order.is_le(),
        ComparisonOperator::Greater => order.is_gt(),
        ComparisonOperator::GreaterOrEqual => order.is_ge(),
    }
}
