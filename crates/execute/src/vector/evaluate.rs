//! Running compiled expressions on rows of a batch.

use std::borrow::Cow;

use farbird_expression::ExecutionContext;
use farbird_sql::ast::{ComparisonOperator, Truth as TruthTest};
use farbird_store::{ColumnBatch, ColumnValues, TextCodes};
use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::convert::number::exact_to_double;
use farbird_types::{Value, compare};
use farbird_vector::arithmetic::{Divisor, order_of_doubles, quotient, remainder, rounded};
use farbird_vector::{Column, Failed, Nulls, Operand, Values, Vectors, truth};

use super::expression::{Condition, Doubles, Numbers, RowWise, holds};
use super::known_texts::KnownTexts;

/// Rows of a batch that are looked at. The columns they are asked for are loaded.
#[derive(Debug, Clone)]
pub(crate) struct Rows<'a> {
    columns: RowColumns<'a>,
    /// Which; `None`: all.
    places: Option<Cow<'a, [u32]>>,
}

/// Where the columns stand.
#[derive(Debug, Clone, Copy)]
enum RowColumns<'a> {
    /// In a stretch of a table.
    Scanned(&'a ColumnBatch),
    /// In what another operator has handed out.
    Exchanged(&'a Vectors),
}

impl<'a> RowColumns<'a> {
    fn len(self) -> usize {
        match self {
            RowColumns::Scanned(batch) => batch.len(),
            RowColumns::Exchanged(vectors) => vectors.len(),
        }
    }

    fn value(self, row: usize, position: usize) -> Option<Value> {
        match self {
            RowColumns::Scanned(batch) => batch.value(row, position),
            RowColumns::Exchanged(vectors) => vectors.column(position)?.value(row).ok(),
        }
    }

    /// Whether a column is of what is neither numbers nor doubles.
    fn has_values(self, position: usize) -> bool {
        self.texts(position).is_some() || self.values(position).is_some()
    }

    /// A column of what is neither numbers nor doubles.
    fn values(self, position: usize) -> Option<&'a [Value]> {
        match self {
            RowColumns::Scanned(batch) => match batch.column(position)?.values() {
                ColumnValues::Values(values) => Some(values),
                _ => None,
            },
            RowColumns::Exchanged(vectors) => match vectors.column(position)? {
                Column::Values(values) => Some(values),
                _ => None,
            },
        }
    }

    /// A column of texts that repeat.
    fn texts(self, position: usize) -> Option<&'a TextCodes> {
        match self {
            RowColumns::Scanned(batch) => batch.texts(position),
            RowColumns::Exchanged(_) => None,
        }
    }

    fn is_null(self, row: usize, position: usize) -> Option<bool> {
        if let Some(texts) = self.texts(position) {
            return texts.value(row).map(Value::is_null);
        }
        match self {
            RowColumns::Scanned(batch) => Some(batch.column(position)?.nulls().is_null(row)),
            RowColumns::Exchanged(vectors) => Some(vectors.column(position)?.is_null(row)),
        }
    }
}

type Computed<T> = Result<T, Failed>;

impl<'a> Rows<'a> {
    /// All rows of a batch.
    pub(crate) fn all(batch: &'a ColumnBatch) -> Rows<'a> {
        Rows { columns: RowColumns::Scanned(batch), places: None }
    }

    /// All rows that an operator has handed out.
    pub(crate) fn of(vectors: &'a Vectors) -> Rows<'a> {
        Rows { columns: RowColumns::Exchanged(vectors), places: None }
    }

    /// The rows at these places.
    pub(crate) fn at(batch: &'a ColumnBatch, places: &'a [u32]) -> Rows<'a> {
        if places.len() == batch.len() {
            return Rows::all(batch);
        }
        Rows { columns: RowColumns::Scanned(batch), places: Some(Cow::Borrowed(places)) }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.as_ref().map_or(self.columns.len(), |places| places.len())
    }

    /// Some of these rows: the places count among them.
    fn narrowed(&self, among: Vec<u32>) -> Computed<Rows<'a>> {
        let places = match &self.places {
            _ if among.len() == self.len() => self.places.clone(),
            None => Some(Cow::Owned(among)),
            Some(places) => {
                let place = |index: &u32| places.get(*index as usize).copied();
                Some(Cow::Owned(among.iter().map(place).collect::<Option<_>>().ok_or(Failed)?))
            }
        };
        Ok(Rows { columns: self.columns, places })
    }

    /// The place in the batch of each row.
    fn places(&self) -> impl Iterator<Item = usize> {
        let all = if self.places.is_none() { 0..self.columns.len() } else { 0..0 };
        all.chain(self.places.iter().flat_map(|places| places.iter().map(|place| *place as usize)))
    }

    /// A column as it is stored.
    fn scanned<T: Copy + Default>(
        &self,
        batch: &'a ColumnBatch,
        position: usize,
        values_of: impl Fn(&'a ColumnValues) -> Option<&'a [T]>,
    ) -> Computed<Operand<'a, T>> {
        let column = batch.column(position).ok_or(Failed)?;
        let stored = values_of(column.values()).ok_or(Failed)?;
        let values = match &self.places {
            None => Cow::Borrowed(stored),
            Some(places) => {
                let value = |place: &u32| stored.get(*place as usize).copied().ok_or(Failed);
                Cow::Owned(places.iter().map(value).collect::<Computed<_>>()?)
            }
        };
        let nulls = Nulls::of_bits(column.nulls(), self.places.as_deref());
        Ok(Operand { values: Values::Many(values), nulls })
    }

    /// A column that another operator has handed out.
    fn exchanged<T: Copy + Default>(&self, operand: &'a Operand<'static, T>) -> Computed<Operand<'a, T>> {
        let Some(places) = &self.places else {
            let values = match &operand.values {
                Values::One(value) => Values::One(*value),
                Values::Many(values) => Values::Many(Cow::Borrowed(&**values)),
            };
            return Ok(Operand { values, nulls: operand.nulls.borrowed() });
        };
        let values = match &operand.values {
            Values::One(value) => Values::One(*value),
            Values::Many(values) => {
                let value = |place: &u32| values.get(*place as usize).copied().ok_or(Failed);
                Values::Many(Cow::Owned(places.iter().map(value).collect::<Computed<_>>()?))
            }
        };
        let nulls = match &operand.nulls {
            Nulls::Some(nulls) => {
                let is_null = |place: &u32| nulls.get(*place as usize).copied().ok_or(Failed);
                Nulls::Some(Cow::Owned(places.iter().map(is_null).collect::<Computed<_>>()?))
            }
            nulls => nulls.clone(),
        };
        Ok(Operand { values, nulls })
    }

    fn number_column(&self, position: usize) -> Computed<Operand<'a, i64>> {
        match self.columns {
            RowColumns::Scanned(batch) => self.scanned(batch, position, |values| match values {
                ColumnValues::Numbers(numbers) => Some(numbers),
                _ => None,
            }),
            RowColumns::Exchanged(vectors) => match vectors.column(position) {
                Some(Column::Numbers(numbers, _)) => self.exchanged(numbers),
                _ => Err(Failed),
            },
        }
    }

    fn double_column(&self, position: usize) -> Computed<Operand<'a, f64>> {
        match self.columns {
            RowColumns::Scanned(batch) => self.scanned(batch, position, |values| match values {
                ColumnValues::Doubles(doubles) => Some(doubles),
                _ => None,
            }),
            RowColumns::Exchanged(vectors) => match vectors.column(position) {
                Some(Column::Doubles(doubles) | Column::Floats(doubles)) => self.exchanged(doubles),
                _ => Err(Failed),
            },
        }
    }

    /// A column of BOOLEAN.
    fn truth_column(&self, position: usize) -> Computed<Vec<u8>> {
        match self.columns {
            RowColumns::Scanned(_) => {
                let flags = self.number_column(position)?;
                Ok(flags.test(Operand::one(Some(0)), self.len(), |flag: i64, zero: i64| flag != zero))
            }
            RowColumns::Exchanged(vectors) => match vectors.column(position) {
                Some(Column::Truths(truths)) => {
                    self.places().map(|place| truths.get(place).copied().ok_or(Failed)).collect()
                }
                _ => Err(Failed),
            },
        }
    }

    pub(super) fn numbers(
        &self,
        numbers: &Numbers,
        context: &mut ExecutionContext<'_>,
    ) -> Computed<Operand<'a, i64>> {
        match numbers {
            Numbers::Column(position) => self.number_column(*position),
            Numbers::Constant(value) => Ok(Operand::one(*value)),
            Numbers::Multiplied(operand, power) => {
                self.numbers(operand, context)?.try_map(|number| number.overflowing_mul(*power))
            }
            Numbers::Sum(left, right) => {
                let left = self.numbers(left, context)?;
                left.try_zip(self.numbers(right, context)?, i64::overflowing_add)
            }
            Numbers::Difference(left, right) => {
                let left = self.numbers(left, context)?;
                left.try_zip(self.numbers(right, context)?, i64::overflowing_sub)
            }
            Numbers::Product(left, right) => {
                let left = self.numbers(left, context)?;
                left.try_zip(self.numbers(right, context)?, i64::overflowing_mul)
            }
            Numbers::Quotient(left, right) => {
                let left = self.numbers(left, context)?;
                left.try_zip(self.numbers(right, context)?, quotient)
            }
            Numbers::Remainder(left, right) => {
                let left = self.numbers(left, context)?;
                let right = self.numbers(right, context)?;
                match (&right.values, &right.nulls) {
                    (Values::One(divisor), Nulls::None) if *divisor != 0 => {
                        let divisor = Divisor::new(*divisor);
                        left.try_map(|number| (divisor.remainder(number), false))
                    }
                    _ => left.try_zip(right, remainder),
                }
            }
            Numbers::Negated(operand) => self.numbers(operand, context)?.try_map(i64::overflowing_neg),
            Numbers::Absolute(operand) => self.numbers(operand, context)?.try_map(i64::overflowing_abs),
            Numbers::Rounded(operand, power) => {
                self.numbers(operand, context)?.try_map(|number| (rounded(number, *power), false))
            }
            Numbers::Within(operand, lowest, highest) => {
                let range = *lowest..=*highest;
                self.numbers(operand, context)?.try_map(|number| (number, !range.contains(&number)))
            }
            Numbers::Case(branches, otherwise) => self.case(branches, otherwise, Rows::numbers, context),
            Numbers::Coalesce(parts) => self.coalesce(parts, Rows::numbers, context),
        }
    }

    pub(super) fn doubles(
        &self,
        doubles: &Doubles,
        context: &mut ExecutionContext<'_>,
    ) -> Computed<Operand<'a, f64>> {
        match doubles {
            Doubles::Column(position) => self.double_column(*position),
            Doubles::Constant(value) => Ok(Operand::one(*value)),
            Doubles::OfNumbers(numbers, scale) => {
                let numbers = self.numbers(numbers, context)?;
                match scale {
                    0 => numbers.try_map(|number| (number as f64, false)),
                    scale => numbers.try_map(|number| (exact_to_double(i128::from(number), *scale), false)),
                }
            }
            Doubles::Arithmetic(operator, left, right) => {
                let left = self.doubles(left, context)?;
                let right = self.doubles(right, context)?;
                let checked = |number: f64| (number, number.is_infinite());
                match operator {
                    ArithmeticOperator::Add => left.try_zip(right, |left, right| checked(left + right)),
                    ArithmeticOperator::Subtract => left.try_zip(right, |left, right| checked(left - right)),
                    ArithmeticOperator::Multiply => left.try_zip(right, |left, right| checked(left * right)),
                    ArithmeticOperator::Divide => left.try_zip(right, |left, right| {
                        let quotient = left / right;
                        (quotient, right == 0.0 || quotient.is_infinite())
                    }),
                }
            }
            Doubles::Negated(operand) => self.doubles(operand, context)?.try_map(|number| (-number, false)),
            Doubles::Absolute(operand) => {
                self.doubles(operand, context)?.try_map(|number| (number.abs(), false))
            }
            Doubles::Case(branches, otherwise) => self.case(branches, otherwise, Rows::doubles, context),
            Doubles::Coalesce(parts) => self.coalesce(parts, Rows::doubles, context),
        }
    }

    /// The truth of each row, as in [`truth`].
    pub(super) fn truths(
        &self,
        condition: &Condition,
        context: &mut ExecutionContext<'_>,
    ) -> Computed<Vec<u8>> {
        match condition {
            Condition::Column(position) => self.truth_column(*position),
            Condition::Constant(truth) => Ok(vec![*truth; self.len()]),
            Condition::Numbers(operator, left, right) => {
                let left = self.numbers(left, context)?;
                let right = self.numbers(right, context)?;
                Ok(compare_numbers(*operator, left, right, self.len()))
            }
            Condition::Scaled(operator, (left, left_power), (right, right_power)) => {
                let left = self.numbers(left, context)?;
                let right = self.numbers(right, context)?;
                let (left_power, right_power) = (i128::from(*left_power), i128::from(*right_power));
                let holds = holds(*operator);
                Ok(left.test(right, self.len(), |left: i64, right: i64| {
                    holds((i128::from(left) * left_power).cmp(&(i128::from(right) * right_power)))
                }))
            }
            Condition::Doubles(operator, left, right) => {
                let left = self.doubles(left, context)?;
                let right = self.doubles(right, context)?;
                let holds = holds(*operator);
                Ok(left.test(right, self.len(), |left, right| holds(order_of_doubles(left, right))))
            }
            Condition::Values(operator, position, constant, collation) => {
                let holds = holds(*operator);
                self.for_each_value(*position, |value| match value {
                    Value::Null => Ok(truth::UNKNOWN),
                    value => compare::compare_in(value, constant, *collation, &context.cast)
                        .map(|order| truth::of(holds(order)))
                        .map_err(|_| Failed),
                })
            }
            Condition::Matches(position, pattern) => {
                let context = &*context;
                self.for_each_value(*position, |value| match value {
                    Value::Null => Ok(truth::UNKNOWN),
                    Value::Text(text) => {
                        let found = pattern.matches(text, context).map_err(|_| Failed)?;
                        found.map(truth::of).ok_or(Failed)
                    }
                    _ => Err(Failed),
                })
            }
            Condition::Truths(operator, left, right) => {
                let left = self.truths(left, context)?;
                let right = self.truths(right, context)?;
                let holds = holds(*operator);
                let compare = |(left, right): (&u8, &u8)| match (truth::known(*left), truth::known(*right)) {
                    (Some(left), Some(right)) => truth::of(holds(left.cmp(&right))),
                    _ => truth::UNKNOWN,
                };
                Ok(left.iter().zip(&right).map(compare).collect())
            }
            Condition::Distinct(left, right) => {
                let left = self.numbers(left, context)?;
                let right = self.numbers(right, context)?;
                Ok((0..self.len()).map(|row| truth::of(left.get(row) != right.get(row))).collect())
            }
            Condition::InList(operand, list, has_null) => {
                let operand = self.numbers(operand, context)?;
                let absent = if *has_null { truth::UNKNOWN } else { truth::FALSE };
                let mut truths: Vec<u8> = match operand.values {
                    Values::One(value) => vec![in_list(value, list, absent); self.len()],
                    Values::Many(values) => {
                        values.iter().map(|value| in_list(*value, list, absent)).collect()
                    }
                };
                truth::set_unknown(&mut truths, &operand.nulls);
                Ok(truths)
            }
            Condition::IsNull(position) => {
                let is_null = |place| self.columns.is_null(place, *position).map(truth::of).ok_or(Failed);
                self.places().map(is_null).collect()
            }
            Condition::NumbersAreNull(numbers) => {
                let nulls = self.numbers(numbers, context)?.nulls;
                Ok((0..self.len()).map(|row| truth::of(nulls.is_null(row))).collect())
            }
            Condition::DoublesAreNull(doubles) => {
                let nulls = self.doubles(doubles, context)?.nulls;
                Ok((0..self.len()).map(|row| truth::of(nulls.is_null(row))).collect())
            }
            Condition::IsTruth(operand, test) => {
                let mut truths = self.truths(operand, context)?;
                let wanted = match test {
                    TruthTest::True => truth::TRUE,
                    TruthTest::False => truth::FALSE,
                    TruthTest::Unknown => truth::UNKNOWN,
                };
                truths.iter_mut().for_each(|found| *found = truth::of(*found == wanted));
                Ok(truths)
            }
            Condition::Not(operand) => {
                let mut truths = self.truths(operand, context)?;
                truths.iter_mut().for_each(|found| *found = truth::not(*found));
                Ok(truths)
            }
            Condition::And(parts) => self.connected(parts, truth::FALSE, |left, right| left & right, context),
            Condition::Or(parts) => self.connected(parts, truth::TRUE, |left, right| left | right, context),
            Condition::RowWise(part) => self.for_each_row(part, |row| {
                context.check_interrupt().map_err(|_| Failed)?;
                Ok(truth::of_known(part.expression.truth(row, context).map_err(|_| Failed)?))
            }),
        }
    }

    /// The values of an expression that is computed row by row.
    pub(super) fn values(&self, part: &RowWise, context: &mut ExecutionContext<'_>) -> Computed<Vec<Value>> {
        self.for_each_row(part, |row| {
            context.check_interrupt().map_err(|_| Failed)?;
            part.expression.evaluate(row, context).map_err(|_| Failed)
        })
    }

    /// What `compute` makes of each row, in which only the columns are that the part looks at.
    fn for_each_row<T: Clone>(
        &self,
        part: &RowWise,
        mut compute: impl FnMut(&[Value]) -> Computed<T>,
    ) -> Computed<Vec<T>> {
        let mut row = vec![Value::Null; part.columns.iter().max().map_or(0, |last| last + 1)];
        if let [position] = *part.columns
            && self.columns.has_values(position)
        {
            return self.for_each_value(position, |value| {
                if let Some(slot) = row.get_mut(position) {
                    slot.clone_from(value);
                }
                compute(&row)
            });
        }
        let computed = self.places().map(|place| {
            for position in &part.columns {
                if let Some(value) = row.get_mut(*position) {
                    *value = self.columns.value(place, *position).ok_or(Failed)?;
                }
            }
            compute(&row)
        });
        computed.collect()
    }

    /// What `compute` makes of the values of a column of what is neither numbers nor doubles. Of texts each is looked at once as long
    /// as it repeats.
    fn for_each_value<T: Clone>(
        &self,
        position: usize,
        mut compute: impl FnMut(&Value) -> Computed<T>,
    ) -> Computed<Vec<T>> {
        if let Some(texts) = self.columns.texts(position) {
            let mut of_null = None;
            let mut of_texts: Vec<Option<T>> = vec![None; texts.texts().len()];
            let computed = self.places().map(|place| {
                let known = match texts.code(place) {
                    Some(code) => of_texts.get_mut(code).ok_or(Failed)?,
                    None => &mut of_null,
                };
                match known {
                    Some(known) => Ok(known.clone()),
                    None => Ok(known.insert(compute(texts.value(place).ok_or(Failed)?)?).clone()),
                }
            });
            return computed.collect();
        }
        let stored = self.columns.values(position).ok_or(Failed)?;
        let mut known = KnownTexts::new();
        let computed = self.places().map(|place| {
            let value = stored.get(place).ok_or(Failed)?;
            known.get_or_compute(value, || compute(value))
        });
        computed.collect()
    }

    /// AND and OR: each part looks at the rows that those before it have not `decided`.
    fn connected(
        &self,
        parts: &[Condition],
        decided: u8,
        connect: impl Fn(u8, u8) -> u8,
        context: &mut ExecutionContext<'_>,
    ) -> Computed<Vec<u8>> {
        let neutral = truth::not(decided);
        let Some((first, rest)) = parts.split_first() else { return Ok(vec![neutral; self.len()]) };
        let mut truths = self.truths(first, context)?;
        for part in rest {
            let open = truth::rows_that_are_open(&truths, decided);
            if open.is_empty() {
                break;
            }
            let found = self.narrowed(open.clone())?.truths(part, context)?;
            for (place, found) in open.iter().zip(found) {
                if let Some(truth) = truths.get_mut(*place as usize) {
                    *truth = connect(*truth, found);
                }
            }
        }
        Ok(truths)
    }

    /// Searched CASE: each branch is computed for the rows that choose it.
    fn case<E, T: Copy + Default>(
        &self,
        branches: &[(Condition, E)],
        otherwise: &E,
        compute: fn(&Rows<'a>, &E, &mut ExecutionContext<'_>) -> Computed<Operand<'a, T>>,
        context: &mut ExecutionContext<'_>,
    ) -> Computed<Operand<'a, T>> {
        let mut scatter = Scatter::new(self.len());
        let mut open: Vec<u32> = (0..self.len() as u32).collect();
        for (when, then) in branches {
            if open.is_empty() {
                break;
            }
            let truths = self.narrowed(open.clone())?.truths(when, context)?;
            let is_chosen = |index: usize| truths.get(index).is_some_and(|truth| *truth == truth::TRUE);
            let (chosen, left): (Vec<_>, Vec<_>) =
                open.into_iter().enumerate().partition(|(index, _)| is_chosen(*index));
            let chosen: Vec<u32> = chosen.into_iter().map(|(_, place)| place).collect();
            if !chosen.is_empty() {
                scatter.put(&chosen, &compute(&self.narrowed(chosen.clone())?, then, context)?);
            }
            open = left.into_iter().map(|(_, place)| place).collect();
        }
        if !open.is_empty() {
            scatter.put(&open, &compute(&self.narrowed(open.clone())?, otherwise, context)?);
        }
        Ok(scatter.finish())
    }

    /// COALESCE: each part is computed for the rows where those before it are NULL.
    fn coalesce<E, T: Copy + Default>(
        &self,
        parts: &[E],
        compute: fn(&Rows<'a>, &E, &mut ExecutionContext<'_>) -> Computed<Operand<'a, T>>,
        context: &mut ExecutionContext<'_>,
    ) -> Computed<Operand<'a, T>> {
        let mut scatter = Scatter::new(self.len());
        let mut open: Vec<u32> = (0..self.len() as u32).collect();
        for part in parts {
            if open.is_empty() {
                break;
            }
            let computed = compute(&self.narrowed(open.clone())?, part, context)?;
            scatter.put(&open, &computed);
            open = open
                .into_iter()
                .enumerate()
                .filter(|(index, _)| computed.nulls.is_null(*index))
                .map(|(_, place)| place)
                .collect();
        }
        Ok(scatter.finish())
    }
}

/// A column that is put together from computed parts of it; NULL where nothing was put.
struct Scatter<T> {
    values: Vec<T>,
    nulls: Vec<bool>,
}

impl<T: Copy + Default> Scatter<T> {
    fn new(rows: usize) -> Scatter<T> {
        Scatter { values: vec![T::default(); rows], nulls: vec![true; rows] }
    }

    fn put(&mut self, places: &[u32], part: &Operand<'_, T>) {
        for (index, place) in places.iter().enumerate() {
            let place = *place as usize;
            if let (Some(value), Some(slot), Some(null)) =
                (part.get(index), self.values.get_mut(place), self.nulls.get_mut(place))
            {
                *slot = value;
                *null = false;
            }
        }
    }

    fn finish<'a>(self) -> Operand<'a, T> {
        let nulls =
            if self.nulls.contains(&true) { Nulls::Some(Cow::Owned(self.nulls)) } else { Nulls::None };
        Operand::many(self.values, nulls)
    }
}

/// A loop for each operator, so that none asks for it in each row.
fn compare_numbers(
    operator: ComparisonOperator,
    left: Operand<'_, i64>,
    right: Operand<'_, i64>,
    rows: usize,
) -> Vec<u8> {
    match operator {
        ComparisonOperator::Equal => left.test(right, rows, |left, right| left == right),
        ComparisonOperator::NotEqual => left.test(right, rows, |left, right| left != right),
        ComparisonOperator::Less => left.test(right, rows, |left, right| left < right),
        ComparisonOperator::LessOrEqual => left.test(right, rows, |left, right| left <= right),
        ComparisonOperator::Greater => left.test(right, rows, |left, right| left > right),
        ComparisonOperator::GreaterOrEqual => left.test(right, rows, |left, right| left >= right),
    }
}

fn in_list(value: i64, list: &[i64], absent: u8) -> u8 {
    /// Longer lists are searched by halves.
    const LINEAR_MAX: usize = 8;
    let is_in =
        if list.len() <= LINEAR_MAX { list.contains(&value) } else { list.binary_search(&value).is_ok() };
    if is_in { truth::TRUE } else { absent }
}
