//! What is computed: expressions whose types are known, by the kind of number that they are computed in.

use std::cmp::Ordering;

use farbird_expression::{Expression, KnownPattern};
use farbird_sql::ast::{ComparisonOperator, Truth as TruthTest};
use farbird_types::{Collation, Value};

/// Whole numbers.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    Column(usize),
    /// `None` is NULL.
    Constant(Option<i64>),
    /// Times a power of ten; fails past 64 bits.
    Multiplied(Box<Numbers>, i64),
    Sum(Box<Numbers>, Box<Numbers>),
    Difference(Box<Numbers>, Box<Numbers>),
    Product(Box<Numbers>, Box<Numbers>),
    /// Towards zero, of whole numbers.
    Quotient(Box<Numbers>, Box<Numbers>),
    Remainder(Box<Numbers>, Box<Numbers>),
    Negated(Box<Numbers>),
    Absolute(Box<Numbers>),
    /// Divided by a power of ten, rounded half away from zero.
    Rounded(Box<Numbers>, i64),
    /// Fails outside.
    Within(Box<Numbers>, i64, i64),
    /// Searched CASE.
    Case(Vec<(Condition, Numbers)>, Box<Numbers>),
    Coalesce(Vec<Numbers>),
}

/// Doubles.
#[derive(Debug, Clone)]
pub(super) enum Doubles {
    Column(usize),
    /// `None` is NULL.
    Constant(Option<f64>),
    /// Exact numbers of a scale.
    OfNumbers(Box<Numbers>, i8),
    /// Fails where the result is infinite.
    Arithmetic(farbird_types::arithmetic::ArithmeticOperator, Box<Doubles>, Box<Doubles>),
    Negated(Box<Doubles>),
    Absolute(Box<Doubles>),
    /// Searched CASE.
    Case(Vec<(Condition, Doubles)>, Box<Doubles>),
    Coalesce(Vec<Doubles>),
}

/// Truths.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    /// A column of BOOLEAN.
    Column(usize),
    /// As in [`farbird_vector::truth`].
    Constant(u8),
    Numbers(ComparisonOperator, Box<Numbers>, Box<Numbers>),
    /// Exact numbers of different scales: each is multiplied by its power of ten first, in 128 bits.
    Scaled(ComparisonOperator, (Box<Numbers>, i64), (Box<Numbers>, i64)),
    Doubles(ComparisonOperator, Box<Doubles>, Box<Doubles>),
    /// A stored column of other values, with a constant.
    Values(ComparisonOperator, usize, Value, Collation),
    /// A stored column of texts, with a pattern.
    Matches(usize, KnownPattern),
    Truths(ComparisonOperator, Box<Condition>, Box<Condition>),
    /// IS DISTINCT FROM.
    Distinct(Box<Numbers>, Box<Numbers>),
    /// Ascending numbers, and whether NULL is among them.
    InList(Box<Numbers>, Vec<i64>, bool),
    /// A stored column.
    IsNull(usize),
    NumbersAreNull(Box<Numbers>),
    DoublesAreNull(Box<Doubles>),
    IsTruth(Box<Condition>, TruthTest),
    Not(Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    RowWise(RowWise),
}

/// An expression that is computed row by row.
#[derive(Debug, Clone)]
pub(super) struct RowWise {
    pub(super) expression: Expression,
    /// The columns that it looks at.
    pub(super) columns: Vec<usize>,
    /// Whether it is known to fail on no row.
    pub(super) cannot_fail: bool,
}

/// Whether a comparison came out as the operator asks.
pub(super) fn holds(operator: ComparisonOperator) -> fn(Ordering) -> bool {
    match operator {
        ComparisonOperator::Equal => Ordering::is_eq,
        ComparisonOperator::NotEqual => Ordering::is_ne,
        ComparisonOperator::Less => Ordering::is_lt,
        ComparisonOperator::LessOrEqual => Ordering::is_le,
        ComparisonOperator::Greater => Ordering::is_gt,
        ComparisonOperator::GreaterOrEqual => Ordering::is_ge,
    }
}
