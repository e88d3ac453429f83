//! Joins by ranges: which of the conditions on two sides find the partners of an outer row in the order of an inner value.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_expression::Expression;
use farbird_sql::ast::ComparisonOperator;
use farbird_types::{Collation, SqlType};

use crate::access::turned;
use crate::cost;
use crate::join::{JoinPlanner, Planned, condition_at, position};
use crate::node::{NestedLoopKind, Node, RangeBeside, RangeBound, RangeJoin};

/// What conditions say of inner values, by outer ones; expressions are over slots.
pub(super) struct Ranges {
    /// The value by which inner rows are put in order.
    pub(super) key: Expression,
    pub(super) collation: Collation,
    pub(super) lower: Option<RangeBound>,
    pub(super) upper: Option<RangeBound>,
    /// What is asked of a second inner value.
    pub(super) beside: Option<RangeBeside>,
    /// The other conditions.
    pub(super) rest: Vec<Expression>,
}

/// That an inner value lies above, or below, an outer one.
#[derive(Clone)]
struct Claim {
    inner: Expression,
    outer: Expression,
    above: bool,
    inclusive: bool,
    collation: Collation,
    /// The condition that says so.
    number: usize,
}

impl JoinPlanner<'_> {
    /// Whether a condition on several sources can find partners in an order.
    pub(super) fn is_range(&self, condition: &Expression) -> bool {
        !condition.is_volatile()
            && comparisons(condition).iter().any(|(left, _, right, _)| {
                let (of_left, of_right) = (self.sources_of(left), self.sources_of(right));
                !of_left.is_empty()
                    && !of_right.is_empty()
                    && of_left.is_disjoint(&of_right)
                    && self.have_one_order(left, right)
            })
    }

    /// The ranges that conditions on an outer and an inner side make.
    pub(super) fn ranges(
        &self,
        conditions: &[Expression],
        outer: &BTreeSet<usize>,
        inner: &BTreeSet<usize>,
    ) -> Option<Ranges> {
        let claims = self.range_claims(conditions, outer, inner);
        // A value that is bounded on both sides leaves the fewest rows.
        let is_bounded = |wanted: &Claim| {
            claims
                .iter()
                .any(|claim| claim.is_about(&wanted.inner, wanted.collation) && claim.above != wanted.above)
        };
        let first = claims.iter().find(|claim| is_bounded(claim)).or_else(|| claims.first())?;
        let bound = |above: bool| {
            let mut own = claims.iter().filter(|claim| claim.is_about(&first.inner, first.collation));
            own.find(|claim| claim.above == above)
        };
        let (lower, upper) = (bound(true), bound(false));
        let beside = claims.iter().find(|claim| claim.inner != first.inner);
        // BETWEEN makes two claims: it is done when both are.
        let done: Vec<(usize, bool)> =
            [lower, upper, beside].into_iter().flatten().map(|claim| (claim.number, claim.above)).collect();
        let is_done = |number: usize, condition: &Expression| {
            let own = claims.iter().filter(|claim| claim.number == number);
            let said = done.iter().filter(|(done, _)| *done == number).count();
            said == own.count() && said == comparisons(condition).len()
        };
        let rest = conditions.iter().enumerate().filter(|(number, condition)| !is_done(*number, condition));
        let as_bound = |claim: &Claim| RangeBound { value: claim.outer.clone(), inclusive: claim.inclusive };
        Some(Ranges {
            key: first.inner.clone(),
            collation: first.collation,
            lower: lower.map(as_bound),
            upper: upper.map(as_bound),
            beside: beside.map(|claim| RangeBeside {
                key: claim.inner.clone(),
                collation: claim.collation,
                above: claim.above,
                bound: as_bound(claim),
            }),
            rest: rest.map(|(_, condition)| condition.clone()).collect(),
        })
    }

    /// Joins by the order of a value of the inner side.
    pub(super) fn range_join(
        &self,
        outer: Planned,
        inner: Planned,
        kind: NestedLoopKind,
        ranges: Ranges,
        across: &[Expression],
    ) -> Planned {
        let of_side = |value: Expression, side: &Planned| {
            let mut value = self.guarded(value, across, &side.sources);
            value.move_columns(&|slot| position(&side.slots, slot));
            value
        };
        let bound = |bound: RangeBound| RangeBound { value: of_side(bound.value, &outer), ..bound };
        let pair: Vec<usize> = outer.slots.iter().chain(&inner.slots).copied().collect();
        let (key, lower, upper) =
            (of_side(ranges.key, &inner), ranges.lower.map(bound), ranges.upper.map(bound));
        let beside = ranges.beside.map(|beside| RangeBeside {
            key: of_side(beside.key, &inner),
            bound: bound(beside.bound),
            ..beside
        });
        let condition = condition_at(ranges.rest, &pair);
        let slots = if kind.drops_inner() { outer.slots } else { pair };
        let sources = outer.sources.union(&inner.sources).copied().collect();
        let rows = outer.rows.max(inner.rows);
        let cost = outer.cost + inner.cost + cost::range_join(inner.rows, outer.rows, rows);
        let node = Node::RangeJoin(Arc::new(RangeJoin {
            outer: outer.node,
            inner: inner.node,
            key,
            collation: ranges.collation,
            lower,
            upper,
            beside,
            kind,
            condition,
            estimate: None,
        }));
        // Past its memory it joins block by block, which gives the outer side's order up.
        Planned { node: node.expected(rows, cost), slots, sources, ordered: false, rows, cost }
    }

    fn range_claims(
        &self,
        conditions: &[Expression],
        outer: &BTreeSet<usize>,
        inner: &BTreeSet<usize>,
    ) -> Vec<Claim> {
        let is_of = |expression: &Expression, side: &BTreeSet<usize>| {
            let sources = self.sources_of(expression);
            !sources.is_empty() && sources.is_subset(side)
        };
        let mut claims = Vec::new();
        for (number, condition) in
            conditions.iter().enumerate().filter(|(_, condition)| !condition.is_volatile())
        {
            for (left, operator, right, collation) in comparisons(condition) {
                if !self.have_one_order(left, right) {
                    continue;
                }
                let (of_inner, of_outer, operator) = if is_of(left, inner) && is_of(right, outer) {
                    (left, right, operator)
                } else if is_of(left, outer) && is_of(right, inner) {
                    (right, left, turned(operator))
                } else {
                    continue;
                };
                let (above, inclusive) = match operator {
                    ComparisonOperator::Greater => (true, false),
                    ComparisonOperator::GreaterOrEqual => (true, true),
                    ComparisonOperator::Less => (false, false),
                    ComparisonOperator::LessOrEqual => (false, true),
                    _ => continue,
                };
                let (inner, outer) = (of_inner.clone(), of_outer.clone());
                claims.push(Claim { inner, outer, above, inclusive, collation, number });
            }
        }
        claims
    }

    /// Whether the values of two expressions have one order among them, and comparing them cannot fail.
    fn have_one_order(&self, left: &Expression, right: &Expression) -> bool {
        let kind = |expression: &Expression| {
            let sql_type = expression.static_type(&|slot| self.slot_type(slot))?;
            Some(match sql_type {
                SqlType::Exact { .. } => 0,
                SqlType::Float | SqlType::Double => 1,
                SqlType::Date => 2,
                SqlType::Time => 3,
                SqlType::Timestamp => 4,
                SqlType::Text(text) => 5 + i32::from(text.character_set.0),
                _ => return None,
            })
        };
        kind(left).is_some_and(|left| Some(left) == kind(right))
    }
}

impl Claim {
    fn is_about(&self, inner: &Expression, collation: Collation) -> bool {
        self.inner == *inner && self.collation == collation
    }
}

/// The comparisons that a condition is made of.
fn comparisons(condition: &Expression) -> Vec<(&Expression, ComparisonOperator, &Expression, Collation)> {
    match condition {
        Expression::Comparison { operator, left, right, collation } => {
            vec![(left, *operator, right, *collation)]
        }
        Expression::Between { operand, low, high, collation } => vec![
            (operand, ComparisonOperator::GreaterOrEqual, low, *collation),
            (operand, ComparisonOperator::LessOrEqual, high, *collation),
        ],
        _ => Vec::new(),
    }
}
