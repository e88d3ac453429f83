//! How many groups come of rows, and how many of those HAVING leaves.
//!
//! Sums and counts of groups are taken to be spread as those of rows that fall into groups by chance: what is far above the mean
//! is rare.

use std::collections::BTreeSet;

use farbird_catalog::statistics::Statistics;
use farbird_expression::Expression;
use farbird_sql::ast::ComparisonOperator;

use crate::access::turned;
use crate::bound::query::BoundSelect;
use crate::estimate::{Estimator, constant, number};
use crate::node::AggregateCall;
use crate::rewrite::joins::Joins;

/// Part of the groups for which a condition holds of which nothing is known.
const OTHER_FRACTION: f64 = 0.33;
/// Part of the groups whose aggregate lies beyond a bound that is not known: whoever asks looks for what stands out.
const BEYOND_FRACTION: f64 = 0.1;

/// How many different groups, or rows, there may be of a query whose joins are still to be planned; nothing if it makes neither.
pub(crate) fn different_groups(select: &BoundSelect, joins: &Joins, statistics: &Statistics) -> Option<f64> {
    let values: Vec<&Expression> = match &select.grouping {
        Some(keys) => keys.iter().map(|key| &key.value).collect(),
        None if select.distinct => select.items.iter().map(|item| &item.expression).collect(),
        None => return None,
    };
    let estimator = Estimator::new(&joins.sources, &joins.slots, statistics);
    Some(values.into_iter().map(|value| different(value, joins, &estimator)).product())
}

/// How many different values an expression has in the rows that the conditions leave of its own table.
fn different(value: &Expression, joins: &Joins, estimator: &Estimator<'_>) -> f64 {
    let all = estimator.distinct(value);
    let [source] = joins.sources_of(value).into_iter().collect::<Vec<_>>()[..] else { return all };
    let columns = columns_of(value);
    let local =
        joins.conditions.iter().filter(|condition| joins.sources_of(condition) == BTreeSet::from([source]));
    // What is asked of the value leaves fewer values; what is asked of the rest of its row fewer rows of each.
    let (of_value, of_row): (Vec<&Expression>, Vec<&Expression>) =
        local.partition(|condition| columns_of(condition) == columns);
    let wanted = (all * estimator.selectivity(of_value)).max(1.0);
    let rows = estimator.rows(source);
    let each = (rows / all).max(1.0);
    let left = estimator.selectivity(of_row);
    (wanted * (1.0 - (1.0 - left).powf(each))).max(1.0)
}

fn columns_of(expression: &Expression) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    expression.for_each_column(&mut |slot| {
        columns.insert(slot);
    });
    columns
}

/// The part of so many groups, of so many rows, that HAVING leaves.
pub(crate) fn part_by_having(
    select: &BoundSelect,
    joins: &Joins,
    statistics: &Statistics,
    rows: f64,
    groups: f64,
) -> f64 {
    let having = Having {
        estimator: Estimator::new(&joins.sources, &joins.slots, statistics),
        keys: select.grouping.as_ref().map_or(0, Vec::len),
        calls: &select.block.aggregates,
        rows_each: (rows / groups.max(1.0)).max(1.0),
        groups: groups.max(1.0),
    };
    let part: f64 = select.having.iter().map(|condition| having.part(condition)).product();
    part.max(1.0 / having.groups)
}

struct Having<'a> {
    estimator: Estimator<'a>,
    keys: usize,
    calls: &'a [AggregateCall],
    rows_each: f64,
    groups: f64,
}

/// A mean, and how far values are from it.
struct Spread {
    mean: f64,
    deviation: f64,
}

impl Having<'_> {
    fn part(&self, condition: &Expression) -> f64 {
        let part = match condition {
            Expression::Comparison { operator, left, right, .. } => self.compared(*operator, left, right),
            Expression::Between { operand, low, high, .. } => {
                let above = self.compared(ComparisonOperator::GreaterOrEqual, operand, low);
                let below = self.compared(ComparisonOperator::LessOrEqual, operand, high);
                (above + below - 1.0).max(above * below)
            }
            Expression::And(parts) => parts.iter().map(|part| self.part(part)).product(),
            Expression::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - self.part(part)).product::<f64>(),
            Expression::Not(inner) => 1.0 - self.part(inner),
            _ => OTHER_FRACTION,
        };
        part.clamp(0.0, 1.0)
    }

    fn compared(&self, operator: ComparisonOperator, left: &Expression, right: &Expression) -> f64 {
        let call = |side: &Expression| match side {
            Expression::Column(place) => self.calls.get(place.checked_sub(self.keys)?),
            _ => None,
        };
        let (call, operator, bound) = match (call(left), call(right)) {
            (Some(call), None) => (call, operator, right),
            (None, Some(call)) => (call, turned(operator), left),
            _ => return OTHER_FRACTION,
        };
        if !bound.is_row_independent() {
            return OTHER_FRACTION;
        }
        let known = constant(bound).as_ref().and_then(number).zip(self.spread(call));
        let Some((bound, Spread { mean, deviation })) = known else {
            return match operator {
                ComparisonOperator::Equal => 1.0 / self.groups,
                ComparisonOperator::NotEqual => 1.0,
                _ => BEYOND_FRACTION,
            };
        };
        let deviation = deviation.max(f64::MIN_POSITIVE);
        let above = part_above((bound - mean) / deviation);
        match operator {
            ComparisonOperator::Greater | ComparisonOperator::GreaterOrEqual => above,
            ComparisonOperator::Less | ComparisonOperator::LessOrEqual => 1.0 - above,
            ComparisonOperator::Equal => (0.4 / deviation).min(1.0),
            ComparisonOperator::NotEqual => 1.0 - (0.4 / deviation).min(1.0),
        }
    }

    /// How an aggregate is spread over the groups.
    fn spread(&self, call: &AggregateCall) -> Option<Spread> {
        if call.distinct || call.filter.is_some() {
            return None;
        }
        let each = self.rows_each;
        match (call.function.name, call.arguments.as_slice()) {
            ("COUNT", _) => Some(Spread { mean: each, deviation: each.sqrt() }),
            ("SUM", [value]) => {
                let (mean, deviation) = self.estimator.mean_and_deviation(value)?;
                let variance = each * (deviation * deviation + mean * mean);
                Some(Spread { mean: each * mean, deviation: variance.sqrt() })
            }
            ("AVG", [value]) => {
                let (mean, deviation) = self.estimator.mean_and_deviation(value)?;
                Some(Spread { mean, deviation: deviation / each.sqrt() })
            }
            _ => None,
        }
    }
}

/// The part of normally distributed values that lies so many deviations above the mean, more or less.
fn part_above(deviations: f64) -> f64 {
    let tail = 0.5 * (-0.717 * deviations.abs() - 0.416 * deviations * deviations).exp();
    if deviations >= 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_above_the_mean_is_rare() {
        for (deviations, part) in [(0.0, 0.5), (1.0, 0.159), (2.0, 0.0228), (3.0, 0.00135), (-1.0, 0.841)] {
            assert!(
                (part_above(deviations) / part - 1.0).abs() < 0.1,
                "{deviations}: {}",
                part_above(deviations)
            );
        }
    }
}
