//! Columns and constants, and loops over them.

use std::borrow::Cow;

use farbird_types::{Error, Value};

use crate::failed::Failed;
use crate::nulls::Nulls;
use crate::truth;
use crate::unit::Unit;

/// One value per row, or one for all of them.
#[derive(Debug, Clone)]
pub struct Operand<'a, T: Copy> {
    /// Its values.
    pub values: Values<'a, T>,
    /// Which of them are NULL.
    pub nulls: Nulls<'a>,
}

/// Values, of which those of NULL rows mean nothing.
#[derive(Debug, Clone)]
pub enum Values<'a, T: Copy> {
    /// The same one for all rows.
    One(T),
    /// One for each row.
    Many(Cow<'a, [T]>),
}

impl<'a, T: Copy + Default> Operand<'a, T> {
    /// A constant; `None` is NULL.
    pub fn one(value: Option<T>) -> Operand<'a, T> {
        match value {
            Some(value) => Operand { values: Values::One(value), nulls: Nulls::None },
            None => Operand { values: Values::One(T::default()), nulls: Nulls::All },
        }
    }

    /// A value for each row.
    pub fn many(values: Vec<T>, nulls: Nulls<'a>) -> Operand<'a, T> {
        Operand { values: Values::Many(Cow::Owned(values)), nulls }
    }

    /// The value of a row; `None` is NULL.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        if self.nulls.is_null(row) {
            return None;
        }
        match &self.values {
            Values::One(value) => Some(*value),
            Values::Many(values) => values.get(row).copied(),
        }
    }

    /// Each value put through `compute`, which says with it whether the row fails. Rows that are NULL do not fail.
    pub fn try_map<U: Copy + Default>(
        self,
        compute: impl Fn(T) -> (U, bool),
    ) -> Result<Operand<'a, U>, Failed> {
        match self.values {
            Values::One(_) if matches!(self.nulls, Nulls::All) => Ok(Operand::one(None)),
            Values::One(value) => match compute(value) {
                (_, true) => Err(Failed),
                (value, false) => Ok(Operand { values: Values::One(value), nulls: self.nulls }),
            },
            Values::Many(values) => {
                let computed =
                    collect(&self.nulls, values.iter().map(|value| compute(*value)), values.len())?;
                Ok(Operand::many(computed, self.nulls))
            }
        }
    }

    /// Each pair of values put through `compute`, which says with it whether the row fails. NULL if either is NULL.
    pub fn try_zip<'r, U: Copy + Default, R: Copy + Default>(
        self,
        other: Operand<'r, U>,
        compute: impl Fn(T, U) -> (R, bool),
    ) -> Result<Operand<'r, R>, Failed>
    where
        'a: 'r,
    {
        let nulls = self.nulls.or(other.nulls);
        if matches!(nulls, Nulls::All) {
            return Ok(Operand::one(None));
        }
        let computed = match (&self.values, &other.values) {
            (Values::One(left), Values::One(right)) => {
                return match compute(*left, *right) {
                    (_, true) => Err(Failed),
                    (value, false) => Ok(Operand { values: Values::One(value), nulls }),
                };
            }
            (Values::Many(left), Values::One(right)) => {
                collect(&nulls, left.iter().map(|left| compute(*left, *right)), left.len())?
            }
            (Values::One(left), Values::Many(right)) => {
                collect(&nulls, right.iter().map(|right| compute(*left, *right)), right.len())?
            }
            (Values::Many(left), Values::Many(right)) => {
                let pairs = left.iter().zip(right.iter());
                collect(&nulls, pairs.map(|(left, right)| compute(*left, *right)), left.len())?
            }
        };
        Ok(Operand::many(computed, nulls))
    }

    /// Whether `test` holds for each pair of values; unknown if either is NULL.
    pub fn test<U: Copy + Default>(
        self,
        other: Operand<'_, U>,
        rows: usize,
        test: impl Fn(T, U) -> bool,
    ) -> Vec<u8> {
        let holds = |left: T, right: U| truth::of(test(left, right));
        let mut truths: Vec<u8> = match (&self.values, &other.values) {
            (Values::One(left), Values::One(right)) => vec![holds(*left, *right); rows],
            (Values::Many(left), Values::One(right)) => {
                left.iter().map(|left| holds(*left, *right)).collect()
            }
            (Values::One(left), Values::Many(right)) => {
                right.iter().map(|right| holds(*left, *right)).collect()
            }
            (Values::Many(left), Values::Many(right)) => {
                left.iter().zip(right.iter()).map(|(left, right)| holds(*left, *right)).collect()
            }
        };
        truth::set_unknown(&mut truths, &self.nulls);
        truth::set_unknown(&mut truths, &other.nulls);
        truths
    }
}

/// The computed values, unless one fails that is not NULL.
fn collect<U: Copy + Default>(
    nulls: &Nulls<'_>,
    computed: impl Iterator<Item = (U, bool)>,
    rows: usize,
) -> Result<Vec<U>, Failed> {
    let mut values = Vec::with_capacity(rows);
    let mut failed = false;
    match nulls {
        Nulls::Some(nulls) => values.extend(computed.zip(nulls.iter()).map(|((value, fails), null)| {
            failed |= fails & !null;
            value
        })),
        _ => values.extend(computed.map(|(value, fails)| {
            failed |= fails;
            value
        })),
    }
    if failed { Err(Failed) } else { Ok(values) }
}

/// A computed column.
#[derive(Debug, Clone)]
pub enum Column<'a> {
    /// Exact numbers, dates and times.
    Numbers(Operand<'a, i64>, Unit),
    /// DOUBLE PRECISION.
    Doubles(Operand<'a, f64>),
    /// FLOAT, widened.
    Floats(Operand<'a, f64>),
    /// BOOLEAN, as the truths of conditions.
    Truths(Vec<u8>),
    /// All others.
    Values(Vec<Value>),
}

impl Column<'_> {
    /// The value of a row.
    ///
    /// # Errors
    /// An internal one if the column has no such row.
    #[inline]
    pub fn value(&self, row: usize) -> farbird_types::Result<Value> {
        let missing = || Error::internal("a row outside of a computed column");
        Ok(match self {
            Column::Numbers(numbers, unit) => {
                numbers.get(row).map_or(Value::Null, |number| unit.value(number))
            }
            Column::Doubles(doubles) => doubles.get(row).map_or(Value::Null, Value::Double),
            Column::Floats(floats) => floats.get(row).map_or(Value::Null, |float| Value::Float(float as f32)),
            Column::Truths(truths) => {
                let truth = truths.get(row).ok_or_else(missing)?;
                truth::known(*truth).map_or(Value::Null, Value::Boolean)
            }
            Column::Values(values) => values.get(row).cloned().ok_or_else(missing)?,
        })
    }
}

/// Some rows of a column.
#[derive(Debug, Clone, Copy)]
pub enum Selection<'a> {
    /// So many from the first.
    All(usize),
    /// These.
    Listed(&'a [u32]),
}

impl Selection<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Selection::All(rows) => *rows,
            Selection::Listed(places) => places.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `take` with each place, in order.
    pub fn for_each(&self, mut take: impl FnMut(usize)) {
        match self {
            Selection::All(rows) => (0..*rows).for_each(take),
            Selection::Listed(places) => places.iter().for_each(|place| take(*place as usize)),
        }
    }
}

impl<T: Copy + Default> Operand<'_, T> {
    /// Calls `take` with each value that is not NULL, in order.
    pub fn for_each_present(&self, places: Selection<'_>, mut take: impl FnMut(T)) {
        match (&self.values, &self.nulls, places) {
            (_, Nulls::All, _) => {}
            (Values::Many(values), Nulls::None, Selection::All(rows)) => {
                values.iter().take(rows).for_each(|value| take(*value));
            }
            (Values::Many(values), Nulls::None, Selection::Listed(places)) => {
                places.iter().filter_map(|place| values.get(*place as usize)).for_each(|value| take(*value));
            }
            (Values::Many(values), Nulls::Some(nulls), Selection::All(rows)) => {
                for (value, null) in values.iter().zip(nulls.iter()).take(rows) {
                    if !null {
                        take(*value);
                    }
                }
            }
            _ => places.for_each(|place| {
                if let Some(value) = self.get(place) {
                    take(value);
                }
            }),
        }
    }
}
