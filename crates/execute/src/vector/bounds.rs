//! What a condition can come to on the rows of a block, of whose columns only bounds are known: so that a scan passes over blocks
//! without decoding them.
//!
//! # Promise
//! [`Possible`] leaves nothing out: whatever the condition comes to on a row within the bounds is possible. Whether it may fail is
//! part of that, since a row that fails must be met.

use std::cmp::Ordering;

use farbird_sql::ast::{ComparisonOperator, Truth as TruthTest};
use farbird_types::convert::number::exact_to_double;
use farbird_vector::{order_of_doubles, truth};

use super::expression::{Condition, Doubles, Numbers, holds};

/// Bounds of the columns of a row block: [`farbird_store::BlockColumns`].
pub(crate) trait Bounds {
    /// Those of the column at a position; `None` if they are not known.
    fn of(&self, position: usize) -> Option<farbird_store::ColumnBounds>;
}

impl Bounds for farbird_store::BlockColumns<'_> {
    fn of(&self, position: usize) -> Option<farbird_store::ColumnBounds> {
        self.bounds(position)
    }
}

/// The bounds of numbers of which nothing is known.
pub(super) struct AnyNumbers;

impl Bounds for AnyNumbers {
    fn of(&self, _position: usize) -> Option<farbird_store::ColumnBounds> {
        Some(farbird_store::ColumnBounds { numbers: Some((i64::MIN, i64::MAX)), has_nulls: true })
    }
}

/// What a condition can come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Possible {
    pub(crate) is_true: bool,
    is_false: bool,
    is_unknown: bool,
    pub(crate) fails: bool,
}

impl Possible {
    /// Anything.
    pub(crate) const ANYTHING: Possible =
        Possible { is_true: true, is_false: true, is_unknown: true, fails: true };
    /// Any truth, but no failure.
    const ANY_TRUTH: Possible = Possible { fails: false, ..Possible::ANYTHING };
    /// What a condition without parts is.
    pub(crate) const TRUE: Possible =
        Possible { is_true: true, is_false: false, is_unknown: false, fails: false };

    /// That of a condition AND another one, which is not looked at where the first is false.
    pub(crate) fn and(self, next: impl FnOnce() -> Possible) -> Possible {
        if !self.is_true && !self.is_unknown {
            return self;
        }
        let next = next();
        Possible {
            is_true: self.is_true && next.is_true,
            is_false: self.is_false || next.is_false,
            is_unknown: self.is_unknown || next.is_unknown,
            fails: self.fails || next.fails,
        }
    }

    fn or(self, next: Possible) -> Possible {
        Possible {
            is_true: self.is_true || next.is_true,
            is_false: self.is_false && next.is_false,
            is_unknown: self.is_unknown || next.is_unknown,
            fails: self.fails || next.fails,
        }
    }

    fn not(self) -> Possible {
        Possible { is_true: self.is_false, is_false: self.is_true, ..self }
    }
}

/// A range of values that an operand can have; `None`: it is NULL.
#[derive(Debug, Clone, Copy)]
struct Range<T> {
    values: Option<(T, T)>,
    has_nulls: bool,
}

impl<T: Copy> Range<T> {
    fn constant(value: Option<T>) -> Range<T> {
        Range { values: value.map(|value| (value, value)), has_nulls: value.is_none() }
    }

    fn map<U>(self, convert: impl Fn(T) -> Option<U>) -> Option<Range<U>> {
        let values = match self.values {
            None => None,
            Some((least, greatest)) => Some((convert(least)?, convert(greatest)?)),
        };
        Some(Range { values, has_nulls: self.has_nulls })
    }

    /// What a comparison with another operand can come to.
    fn compare(
        self,
        operator: ComparisonOperator,
        other: Range<T>,
        order: impl Fn(T, T) -> Ordering,
    ) -> Possible {
        let is_unknown = self.has_nulls || other.has_nulls;
        let (Some((left_least, left_greatest)), Some((right_least, right_greatest))) =
            (self.values, other.values)
        else {
            return Possible { is_true: false, is_false: false, is_unknown: true, fails: false };
        };
        let lowest = order(left_least, right_greatest);
        let highest = order(left_greatest, right_least);
        let holds = holds(operator);
        let mut possible = Possible { is_true: false, is_false: false, is_unknown, fails: false };
        // No other order can come than those between the two.
        for order in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
            if (lowest..=highest).contains(&order) {
                *if holds(order) { &mut possible.is_true } else { &mut possible.is_false } = true;
            }
        }
        possible
    }
}

impl Numbers {
    fn range(&self, bounds: &dyn Bounds) -> Option<Range<i64>> {
        match self {
            Numbers::Column(position) => {
                let column = bounds.of(*position)?;
                Some(Range { values: column.numbers, has_nulls: column.has_nulls })
            }
            Numbers::Constant(value) => Some(Range::constant(*value)),
            Numbers::Multiplied(numbers, power) if *power > 0 => {
                numbers.range(bounds)?.map(|number| number.checked_mul(*power))
            }
            _ => None,
        }
    }
}

impl Doubles {
    fn range(&self, bounds: &dyn Bounds) -> Option<Range<f64>> {
        match self {
            Doubles::Constant(value) => Some(Range::constant(*value)),
            // The conversion keeps the order.
            Doubles::OfNumbers(numbers, scale) => {
                numbers.range(bounds)?.map(|number| Some(exact_to_double(i128::from(number), *scale)))
            }
            _ => None,
        }
    }
}

impl Condition {
    /// What it can come to on rows within bounds.
    pub(super) fn possible(&self, bounds: &dyn Bounds) -> Possible {
        self.known(bounds).unwrap_or(Possible::ANYTHING)
    }

    fn known(&self, bounds: &dyn Bounds) -> Option<Possible> {
        Some(match self {
            Condition::Constant(known) => Possible {
                is_true: *known == truth::TRUE,
                is_false: *known == truth::FALSE,
                is_unknown: *known == truth::UNKNOWN,
                fails: false,
            },
            Condition::Column(position) => {
                let flags = Numbers::Column(*position).range(bounds)?;
                flags.compare(ComparisonOperator::NotEqual, Range::constant(Some(0)), |a, b| a.cmp(&b))
            }
            Condition::Numbers(operator, left, right) => {
                left.range(bounds)?.compare(*operator, right.range(bounds)?, |a, b| a.cmp(&b))
            }
            Condition::Scaled(operator, (left, left_power), (right, right_power)) => {
                let wide = |number: i64, power: i64| Some(i128::from(number) * i128::from(power));
                let left = left.range(bounds)?.map(|number| wide(number, *left_power))?;
                let right = right.range(bounds)?.map(|number| wide(number, *right_power))?;
                left.compare(*operator, right, |a, b| a.cmp(&b))
            }
            Condition::Doubles(operator, left, right) => {
                left.range(bounds)?.compare(*operator, right.range(bounds)?, order_of_doubles)
            }
            Condition::InList(operand, list, has_null) => {
                let operand = operand.range(bounds)?;
                let is_among = |(least, greatest): (i64, i64)| {
                    let first = list.partition_point(|value| *value < least);
                    list.get(first).is_some_and(|value| *value <= greatest)
                };
                Possible {
                    is_true: operand.values.is_some_and(is_among),
                    is_false: !has_null && operand.values.is_some(),
                    is_unknown: *has_null || operand.has_nulls,
                    fails: false,
                }
            }
            Condition::IsNull(position) => {
                let column = bounds.of(*position)?;
                Possible {
                    is_true: column.has_nulls,
                    is_false: column.numbers.is_some(),
                    is_unknown: false,
                    fails: false,
                }
            }
            Condition::IsTruth(operand, test) => {
                let operand = operand.possible(bounds);
                let (is_true, is_false) = match test {
                    TruthTest::True => (operand.is_true, operand.is_false || operand.is_unknown),
                    TruthTest::False => (operand.is_false, operand.is_true || operand.is_unknown),
                    TruthTest::Unknown => (operand.is_unknown, operand.is_true || operand.is_false),
                };
                Possible { is_true, is_false, is_unknown: false, fails: operand.fails }
            }
            Condition::Not(operand) => operand.possible(bounds).not(),
            Condition::And(parts) => {
                parts.iter().fold(Possible::TRUE, |so_far, part| so_far.and(|| part.possible(bounds)))
            }
            Condition::Or(parts) => {
                parts.iter().map(|part| part.possible(bounds)).fold(Possible::TRUE.not(), Possible::or)
            }
            // Both are of one kind: the compiler leaves others to single rows.
            Condition::Values(..) => Possible::ANY_TRUTH,
            Condition::RowWise(part) if part.cannot_fail => Possible::ANY_TRUTH,
            Condition::Matches(..)
            | Condition::Truths(..)
            | Condition::Distinct(..)
            | Condition::NumbersAreNull(_)
            | Condition::DoublesAreNull(_)
            | Condition::RowWise(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_store::ColumnBounds;
    use proptest::prelude::*;

    struct Two([ColumnBounds; 2]);

    impl Bounds for Two {
        fn of(&self, position: usize) -> Option<ColumnBounds> {
            self.0.get(position).copied()
        }
    }

    fn operator() -> impl Strategy<Value = ComparisonOperator> {
        prop_oneof![
            Just(ComparisonOperator::Equal),
            Just(ComparisonOperator::NotEqual),
            Just(ComparisonOperator::Less),
            Just(ComparisonOperator::LessOrEqual),
            Just(ComparisonOperator::Greater),
            Just(ComparisonOperator::GreaterOrEqual),
        ]
    }

    fn operand() -> impl Strategy<Value = Box<Numbers>> {
        prop_oneof![
            3 => (0usize..2).prop_map(Numbers::Column),
            3 => (-6i64..6).prop_map(|number| Numbers::Constant(Some(number))),
            1 => Just(Numbers::Constant(None)),
        ]
        .prop_map(Box::new)
    }

    fn condition() -> impl Strategy<Value = Condition> {
        let leaf = prop_oneof![
            4 => (operator(), operand(), operand())
                .prop_map(|(operator, left, right)| Condition::Numbers(operator, left, right)),
            1 => (operator(), operand(), operand(), 1i64..3)
                .prop_map(|(operator, left, right, by)| Condition::Scaled(operator, (left, by), (right, 1))),
            1 => (operand(), prop::collection::btree_set(-6i64..6, 0..4), any::<bool>())
                .prop_map(|(operand, list, null)| Condition::InList(operand, list.into_iter().collect(), null)),
            1 => (0usize..2).prop_map(Condition::IsNull),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(Condition::And),
                prop::collection::vec(inner.clone(), 1..4).prop_map(Condition::Or),
                inner.clone().prop_map(|inner| Condition::Not(Box::new(inner))),
                (inner, prop_oneof![Just(TruthTest::True), Just(TruthTest::False), Just(TruthTest::Unknown)])
                    .prop_map(|(inner, test)| Condition::IsTruth(Box::new(inner), test)),
            ]
        })
    }

    fn number(numbers: &Numbers, row: [Option<i64>; 2]) -> Option<i64> {
        match numbers {
            Numbers::Column(position) => row[*position],
            Numbers::Constant(value) => *value,
            other => panic!("{other:?}"),
        }
    }

    /// The truth by the words of the standard, `None` for unknown.
    fn truth_of(condition: &Condition, row: [Option<i64>; 2]) -> Option<bool> {
        match condition {
            Condition::Numbers(operator, left, right) => {
                Some(holds(*operator)(number(left, row)?.cmp(&number(right, row)?)))
            }
            Condition::Scaled(operator, (left, by), (right, _)) => {
                Some(holds(*operator)((number(left, row)? * by).cmp(&number(right, row)?)))
            }
            Condition::InList(operand, list, has_null) => {
                let is_in = list.contains(&number(operand, row)?);
                if is_in || !has_null { Some(is_in) } else { None }
            }
            Condition::IsNull(position) => Some(row[*position].is_none()),
            Condition::And(parts) => {
                let truths: Vec<_> = parts.iter().map(|part| truth_of(part, row)).collect();
                if truths.contains(&Some(false)) {
                    return Some(false);
                }
                if truths.contains(&None) { None } else { Some(true) }
            }
            Condition::Or(parts) => {
                let truths: Vec<_> = parts.iter().map(|part| truth_of(part, row)).collect();
                if truths.contains(&Some(true)) {
                    return Some(true);
                }
                if truths.contains(&None) { None } else { Some(false) }
            }
            Condition::Not(inner) => truth_of(inner, row).map(|truth| !truth),
            Condition::IsTruth(inner, test) => Some(match test {
                TruthTest::True => truth_of(inner, row) == Some(true),
                TruthTest::False => truth_of(inner, row) == Some(false),
                TruthTest::Unknown => truth_of(inner, row).is_none(),
            }),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn what_a_row_comes_to_is_possible(
            condition in condition(),
            rows in prop::collection::vec(prop::array::uniform2(prop::option::of(-4i64..4)), 1..6),
            slack in 0i64..2,
        ) {
            let bounds = [0, 1].map(|column| {
                let values = || rows.iter().filter_map(|row: &[Option<i64>; 2]| row[column]);
                let numbers = values().min().zip(values().max());
                ColumnBounds {
                    numbers: numbers.map(|(least, greatest)| (least - slack, greatest + slack)),
                    has_nulls: rows.iter().any(|row| row[column].is_none()),
                }
            });
            let possible = condition.possible(&Two(bounds));
            prop_assert!(!possible.fails);
            for row in rows {
                let fits = match truth_of(&condition, row) {
                    Some(true) => possible.is_true,
                    Some(false) => possible.is_false,
                    None => possible.is_unknown,
                };
                prop_assert!(fits, "{:?}: {:?} of {:?}", row, possible, condition);
            }
        }
    }
}
