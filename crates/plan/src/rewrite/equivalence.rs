//! What is asked of a column is asked of its equals: `a = b AND b = 5` finds `a` by an index too, and of `a = b AND b = c` any
//! two can be joined first.
//!
//! Only columns of one and the same type take part: equal values of those are the same values.

use farbird_expression::Expression;
use farbird_sql::ast::ComparisonOperator;
use farbird_types::{Collation, SqlType};

use crate::rewrite::joins::Joins;

/// Most columns of a class: each pair of its tables gets a condition.
const CLASS_MAX: usize = 8;

/// Columns that are equal in all rows.
struct Class {
    slots: Vec<usize>,
    collation: Collation,
}

/// Adds the conditions that follow from the equalities.
pub(super) fn apply(joins: &mut Joins) {
    let classes = classes(joins);
    let mut more = Vec::new();
    for class in classes.iter().filter(|class| class.slots.len() <= CLASS_MAX) {
        for (place, left) in class.slots.iter().enumerate() {
            for right in class.slots.iter().skip(place + 1) {
                if source_of(joins, *left) != source_of(joins, *right) {
                    more.push(equality(*left, Expression::Column(*right), class.collation));
                }
            }
        }
        let constants: Vec<Expression> =
            joins.conditions.iter().filter_map(|condition| constant_of(condition, class)).collect();
        for constant in constants.into_iter().take(1) {
            more.extend(class.slots.iter().map(|slot| equality(*slot, constant.clone(), class.collation)));
        }
    }
    for condition in more {
        if !joins.conditions.iter().any(|known| is_same(known, &condition)) {
            joins.conditions.push(condition);
        }
    }
}

fn classes(joins: &Joins) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for condition in &joins.conditions {
        let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, collation } =
            condition
        else {
            continue;
        };
        let (Expression::Column(left), Expression::Column(right)) = (left.as_ref(), right.as_ref()) else {
            continue;
        };
        if !are_one_type(joins.slot_type(*left), joins.slot_type(*right)) {
            continue;
        }
        let (with, without): (Vec<Class>, Vec<Class>) = classes.into_iter().partition(|class| {
            class.collation == *collation && (class.slots.contains(left) || class.slots.contains(right))
        });
        let mut slots = vec![*left, *right];
        slots.extend(with.into_iter().flat_map(|class| class.slots));
        slots.sort_unstable();
        slots.dedup();
        classes = without;
        classes.push(Class { slots, collation: *collation });
    }
    classes
}

/// The value that a condition says a column of the class has.
fn constant_of(condition: &Expression, class: &Class) -> Option<Expression> {
    let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, collation } = condition
    else {
        return None;
    };
    for (column, value) in [(left, right), (right, left)] {
        if let Expression::Column(slot) = column.as_ref()
            && class.slots.contains(slot)
            && *collation == class.collation
            && matches!(**value, Expression::Constant(_) | Expression::Parameter(_))
        {
            return Some((**value).clone());
        }
    }
    None
}

fn equality(slot: usize, value: Expression, collation: Collation) -> Expression {
    Expression::Comparison {
        operator: ComparisonOperator::Equal,
        left: Box::new(Expression::Column(slot)),
        right: Box::new(value),
        collation,
    }
}

fn is_same(known: &Expression, condition: &Expression) -> bool {
    let (
        Expression::Comparison { operator: ComparisonOperator::Equal, left, right, .. },
        Expression::Comparison { left: first, right: second, .. },
    ) = (known, condition)
    else {
        return false;
    };
    (left == first && right == second) || (left == second && right == first)
}

/// Exact numbers without a scale, and dates: whatever equals one value equals the other.
fn are_one_type(left: Option<SqlType>, right: Option<SqlType>) -> bool {
    match (left, right) {
        (Some(SqlType::Exact { scale: 0, .. }), Some(SqlType::Exact { scale: 0, .. })) => true,
        (Some(SqlType::Text(left)), Some(SqlType::Text(right))) => left == right,
        (Some(left), Some(right)) => left == right && matches!(left, SqlType::Date | SqlType::Exact { .. }),
        _ => false,
    }
}

fn source_of(joins: &Joins, slot: usize) -> Option<usize> {
    joins.slots.get(slot).map(|slot| slot.source)
}
