//! Rows by columns, as operators exchange them: each column has a value for each row and belongs to nobody else.

use std::borrow::Cow;

use farbird_types::Value;

use crate::nulls::Nulls;
use crate::operand::{Column, Operand, Values};
use crate::truth;
use crate::unit::Unit;

/// The place of no row: gathering it gives NULL.
pub const NO_ROW: u32 = u32::MAX;

/// Rows by columns. A column that nobody wants is not there; its values count as NULL.
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    rows: usize,
    columns: Vec<Option<Column<'static>>>,
}

impl Vectors {
    /// So many rows of these columns, each of which has a value for each row.
    pub fn new(rows: usize, columns: Vec<Option<Column<'static>>>) -> Vectors {
        Vectors { rows, columns }
    }

    /// So many rows, whose values lie one after the other, as many as `wanted` speaks of; those columns are kept that it says.
    pub fn of_rows(rows: usize, values: &[Value], wanted: &[bool]) -> Vectors {
        let width = wanted.len();
        let column = |(position, wanted): (usize, &bool)| {
            let values = values.iter().skip(position).step_by(width).take(rows);
            wanted.then(|| Column::of_values(values.cloned().collect()))
        };
        Vectors { rows, columns: wanted.iter().enumerate().map(column).collect() }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How many columns there are, those that are not there included.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// A column, if it is there.
    pub fn column(&self, position: usize) -> Option<&Column<'static>> {
        self.columns.get(position)?.as_ref()
    }

    /// The value of a column in a row; NULL where there is none.
    pub fn value(&self, row: usize, position: usize) -> Value {
        self.column(position).and_then(|column| column.value(row).ok()).unwrap_or_default()
    }

    /// Appends the values of a row.
    pub fn read_row(&self, row: usize, out: &mut Vec<Value>) {
        out.extend((0..self.width()).map(|position| self.value(row, position)));
    }

    /// As [`Vectors::value`], of a row whose values nobody asks for again: texts are handed over.
    pub fn take_value(&mut self, row: usize, position: usize) -> Value {
        match self.columns.get_mut(position) {
            Some(Some(Column::Values(values))) => values.get_mut(row).map(std::mem::take).unwrap_or_default(),
            Some(Some(column)) => column.value(row).unwrap_or_default(),
            _ => Value::Null,
        }
    }

    /// Rows of several parts of the same width, each place a part and a row of it, in their order. As
    /// [`Vectors::take_value`], no row is asked for twice. Columns that are not there in one of these parts are not there.
    #[must_use]
    pub fn take_from(parts: &mut [Vectors], places: &[(u32, u32)]) -> Vectors {
        let width = parts.first().map_or(0, Vectors::width);
        let columns = (0..width).map(|position| take_column(parts, position, places)).collect();
        Vectors { rows: places.len(), columns }
    }

    /// Drops the columns that are not wanted: they are not there any more.
    pub fn keep_columns(&mut self, wanted: &[bool]) {
        for (position, column) in self.columns.iter_mut().enumerate() {
            if !wanted.get(position).is_some_and(|wanted| *wanted) {
                *column = None;
            }
        }
    }

    /// Puts another column, which has a value for each row, in the place of one.
    pub fn put_column(&mut self, position: usize, column: Column<'static>) {
        if let Some(place) = self.columns.get_mut(position) {
            *place = Some(column);
        }
    }

    /// Gives back room that no row takes.
    pub fn shrink_to_fit(&mut self) {
        self.columns.iter_mut().flatten().for_each(Column::shrink_to_fit);
    }

    /// Drops the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        if rows < self.rows {
            let places: Vec<u32> = (0..rows as u32).collect();
            *self = self.gather(&places);
        }
    }

    /// The rows at some places, in their order; all NULL at [`NO_ROW`].
    #[must_use]
    pub fn gather(&self, places: &[u32]) -> Vectors {
        let columns = self.columns.iter().map(|column| Some(column.as_ref()?.gather(places)));
        Vectors { rows: places.len(), columns: columns.collect() }
    }

    /// What appending the rows of another takes beside what those take themselves, in bytes, at most: numbers beside values of
    /// another kind become values.
    pub fn converted_bytes(&self, other: &Vectors) -> usize {
        let of_column = |(column, more): (&Option<Column<'static>>, &Option<Column<'static>>)| {
            let (Some(column), Some(more)) = (column, more) else { return 0 };
            column.converted(self.rows, more, other.rows) * size_of::<Value>()
        };
        self.columns.iter().zip(&other.columns).map(of_column).sum()
    }

    /// Appends the rows of another of the same width. Columns that are not there on either side are not there.
    pub fn append(&mut self, other: Vectors) {
        if self.rows == 0 {
            *self = other;
            return;
        }
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            match (column.as_mut(), more) {
                (Some(column), Some(more)) => column.append(self.rows, &more, other.rows),
                _ => *column = None,
            }
        }
        self.rows += other.rows;
    }

    /// The rows of parts of the same width, one part after the other. Columns are put together one by one: meanwhile rows take as much
    /// more as one of their columns does. Columns that are not there in one of the parts are not there.
    #[must_use]
    pub fn of_parts(mut parts: Vec<Vectors>) -> Vectors {
        if parts.iter().any(|part| !part.is_empty()) {
            parts.retain(|part| !part.is_empty());
        }
        if parts.len() <= 1 {
            return parts.pop().unwrap_or_default();
        }
        let width = parts.first().map_or(0, Vectors::width);
        let columns = (0..width).map(|position| column_of_parts(&mut parts, position)).collect();
        Vectors { rows: parts.iter().map(Vectors::len).sum(), columns }
    }

    /// The columns.
    pub fn columns(&self) -> &[Option<Column<'static>>] {
        &self.columns
    }

    /// The columns, to be used elsewhere.
    pub fn into_columns(self) -> Vec<Option<Column<'static>>> {
        self.columns
    }
}

impl<T: Copy + Default> Operand<'_, T> {
    /// The values at some places, NULL at [`NO_ROW`].
    fn gather(&self, places: &[u32]) -> Operand<'static, T> {
        let values = match &self.values {
            Values::One(value) => vec![*value; places.len()],
            Values::Many(values) => {
                places.iter().map(|place| values.get(*place as usize).copied().unwrap_or_default()).collect()
            }
        };
        let nulls = match &self.nulls {
            Nulls::None if !places.contains(&NO_ROW) => Nulls::None,
            nulls => {
                let is_null = |place: &u32| *place == NO_ROW || nulls.is_null(*place as usize);
                Nulls::Some(Cow::Owned(places.iter().map(is_null).collect()))
            }
        };
        Operand { values: Values::Many(Cow::Owned(values)), nulls }
    }
}

impl<T: Copy + Default> Operand<'_, T> {
    /// The same, for whoever looks at it for a while.
    fn borrowed(&self) -> Operand<'_, T> {
        let values = match &self.values {
            Values::One(value) => Values::One(*value),
            Values::Many(values) => Values::Many(Cow::Borrowed(&**values)),
        };
        let nulls = match &self.nulls {
            Nulls::None => Nulls::None,
            Nulls::All => Nulls::All,
            Nulls::Some(nulls) => Nulls::Some(Cow::Borrowed(&**nulls)),
        };
        Operand { values, nulls }
    }

    /// A value for each of so many rows.
    fn into_owned(self, rows: usize) -> Operand<'static, T> {
        let values = match self.values {
            Values::One(value) => vec![value; rows],
            Values::Many(values) => values.into_owned(),
        };
        let nulls = match self.nulls {
            Nulls::None => Nulls::None,
            Nulls::All => Nulls::All,
            Nulls::Some(nulls) => Nulls::Some(Cow::Owned(nulls.into_owned())),
        };
        Operand { values: Values::Many(Cow::Owned(values)), nulls }
    }
}

impl<T: Copy + Default> Operand<'static, T> {
    /// Makes room for so many values more, and no others.
    fn reserve(&mut self, rows: usize) {
        if let Values::Many(Cow::Owned(values)) = &mut self.values {
            values.reserve_exact(rows);
        }
        if let Nulls::Some(Cow::Owned(nulls)) = &mut self.nulls {
            nulls.reserve_exact(rows);
        }
    }

    fn shrink_to_fit(&mut self) {
        if let Values::Many(Cow::Owned(values)) = &mut self.values {
            values.shrink_to_fit();
        }
        if let Nulls::Some(Cow::Owned(nulls)) = &mut self.nulls {
            nulls.shrink_to_fit();
        }
    }

    /// Appends what another one has for so many rows, to so many that it has itself.
    fn append(&mut self, rows: usize, other: &Operand<'_, T>, more: usize) {
        let nulls_of =
            |nulls: &Nulls<'_>, rows: usize| (0..rows).map(|row| nulls.is_null(row)).collect::<Vec<_>>();
        if !matches!((&self.nulls, &other.nulls), (Nulls::None, Nulls::None)) {
            let mut nulls = match std::mem::replace(&mut self.nulls, Nulls::None) {
                Nulls::Some(nulls) => nulls.into_owned(),
                nulls => nulls_of(&nulls, rows),
            };
            nulls.resize(rows, false);
            nulls.extend((0..more).map(|row| other.nulls.is_null(row)));
            self.nulls = Nulls::Some(Cow::Owned(nulls));
        }
        let mut values = match std::mem::replace(&mut self.values, Values::One(T::default())) {
            Values::One(value) => vec![value; rows],
            Values::Many(values) => values.into_owned(),
        };
        match &other.values {
            Values::One(value) => values.resize(rows + more, *value),
            Values::Many(others) => values.extend(others.iter().take(more)),
        }
        self.values = Values::Many(Cow::Owned(values));
    }
}

impl Column<'_> {
    /// The values at some places, NULL at [`NO_ROW`].
    #[must_use]
    pub fn gather(&self, places: &[u32]) -> Column<'static> {
        match self {
            Column::Numbers(numbers, unit) => Column::Numbers(numbers.gather(places), *unit),
            Column::Doubles(doubles) => Column::Doubles(doubles.gather(places)),
            Column::Floats(floats) => Column::Floats(floats.gather(places)),
            Column::Truths(truths) => {
                let truth = |place: &u32| truths.get(*place as usize).copied().unwrap_or(truth::UNKNOWN);
                Column::Truths(places.iter().map(truth).collect())
            }
            Column::Values(values) => {
                let value = |place: &u32| values.get(*place as usize).cloned().unwrap_or_default();
                Column::Values(places.iter().map(value).collect())
            }
        }
    }

    /// The same, for whoever looks at it for a while.
    #[must_use]
    pub fn borrowed(&self) -> Column<'_> {
        match self {
            Column::Numbers(numbers, unit) => Column::Numbers(numbers.borrowed(), *unit),
            Column::Doubles(doubles) => Column::Doubles(doubles.borrowed()),
            Column::Floats(floats) => Column::Floats(floats.borrowed()),
            Column::Truths(truths) => Column::Truths(truths.clone()),
            Column::Values(values) => Column::Values(values.clone()),
        }
    }

    /// The same, of so many rows, with all that belongs to another copied.
    #[must_use]
    pub fn into_owned(self, rows: usize) -> Column<'static> {
        match self {
            Column::Numbers(numbers, unit) => Column::Numbers(numbers.into_owned(rows), unit),
            Column::Doubles(doubles) => Column::Doubles(doubles.into_owned(rows)),
            Column::Floats(floats) => Column::Floats(floats.into_owned(rows)),
            Column::Truths(truths) => Column::Truths(truths),
            Column::Values(values) => Column::Values(values),
        }
    }

    /// Whether the first so many rows are all NULL. The last ones are looked at first: what is appended later is likelier to differ.
    fn has_only_nulls(&self, rows: usize) -> bool {
        (0..rows).rev().all(|row| self.is_null(row))
    }

    /// Whether a row is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Column::Numbers(numbers, _) => numbers.nulls.is_null(row),
            Column::Doubles(doubles) | Column::Floats(doubles) => doubles.nulls.is_null(row),
            Column::Truths(truths) => truths.get(row).is_none_or(|truth| *truth == truth::UNKNOWN),
            Column::Values(values) => values.get(row).is_none_or(Value::is_null),
        }
    }
}

impl Column<'static> {
    /// Values in the plainest form that loses nothing of them.
    pub fn of_values(values: Vec<Value>) -> Column<'static> {
        let unit = |value: &Value| match value {
            Value::Integer { scale, .. } => Some(Unit::Exact(*scale)),
            Value::Int128 { scale, .. } => Some(Unit::Wide(*scale)),
            Value::Date(_) => Some(Unit::Date),
            Value::Time(_) => Some(Unit::Time),
            Value::Timestamp(_) => Some(Unit::Timestamp),
            _ => None,
        };
        let Some(first) = values.iter().find(|value| !value.is_null()) else { return Column::Values(values) };
        match (unit(first), first) {
            (Some(unit), _) => match numbers_of(&values, unit) {
                Some(numbers) => Column::Numbers(numbers, unit),
                None => Column::Values(values),
            },
            (None, Value::Double(_)) => match doubles_of(&values) {
                Some(doubles) => Column::Doubles(doubles),
                None => Column::Values(values),
            },
            _ => Column::Values(values),
        }
    }

    /// Makes room for so many rows more, and no others.
    fn reserve(&mut self, rows: usize) {
        match self {
            Column::Numbers(numbers, _) => numbers.reserve(rows),
            Column::Doubles(doubles) | Column::Floats(doubles) => doubles.reserve(rows),
            Column::Truths(truths) => truths.reserve_exact(rows),
            Column::Values(values) => values.reserve_exact(rows),
        }
    }

    fn shrink_to_fit(&mut self) {
        match self {
            Column::Numbers(numbers, _) => numbers.shrink_to_fit(),
            Column::Doubles(doubles) | Column::Floats(doubles) => doubles.shrink_to_fit(),
            Column::Truths(truths) => truths.shrink_to_fit(),
            Column::Values(values) => values.shrink_to_fit(),
        }
    }

    /// How many values appending another column makes of numbers, at most.
    fn converted(&self, rows: usize, other: &Column<'_>, more: usize) -> usize {
        match (self, other) {
            (Column::Numbers(_, unit), Column::Numbers(_, of_others)) if unit == of_others => 0,
            (Column::Doubles(_), Column::Doubles(_))
            | (Column::Floats(_), Column::Floats(_))
            | (Column::Truths(_), Column::Truths(_))
            | (Column::Values(_), Column::Values(_)) => 0,
            (Column::Values(_), _) => more,
            (_, other) if other.has_only_nulls(more) => 0,
            _ => rows + more,
        }
    }

    /// Appends what another column has for so many rows, to so many that it has itself. What that takes is in proportion to what is
    /// appended, but for the one time when a column becomes one of another kind.
    pub fn append(&mut self, rows: usize, other: &Column<'_>, more: usize) {
        match (&mut *self, other) {
            (Column::Numbers(numbers, unit), Column::Numbers(others, of_others)) if unit == of_others => {
                return numbers.append(rows, others, more);
            }
            (Column::Doubles(doubles), Column::Doubles(others))
            | (Column::Floats(doubles), Column::Floats(others)) => return doubles.append(rows, others, more),
            (Column::Truths(truths), Column::Truths(others)) => {
                return truths.extend(others.iter().take(more));
            }
            (Column::Values(values), Column::Values(others)) => {
                return values.extend(others.iter().take(more).cloned());
            }
            _ => {}
        }
        let values_of = |column: &Column<'_>, rows: usize| -> Vec<Value> {
            (0..rows).map(|row| column.value(row).unwrap_or_default()).collect()
        };
        // What has only NULLs is of any kind.
        if other.has_only_nulls(more) {
            self.append_nulls(rows, more);
        } else if self.has_only_nulls(rows) {
            let places = (0..more).map(|row| u32::try_from(row).unwrap_or(NO_ROW));
            let places: Vec<u32> = std::iter::repeat_n(NO_ROW, rows).chain(places).collect();
            *self = other.gather(&places);
        } else if let Column::Values(values) = self {
            values.extend(values_of(other, more));
        } else {
            let mut values = values_of(self, rows);
            values.extend(values_of(other, more));
            *self = Column::Values(values);
        }
    }

    fn append_nulls(&mut self, rows: usize, more: usize) {
        fn append<T: Copy + Default>(column: &mut Operand<'static, T>, rows: usize, more: usize) {
            column.append(rows, &Operand { values: Values::One(T::default()), nulls: Nulls::All }, more);
        }
        match self {
            Column::Numbers(numbers, _) => append(numbers, rows, more),
            Column::Doubles(doubles) | Column::Floats(doubles) => append(doubles, rows, more),
            Column::Truths(truths) => truths.resize(rows + more, truth::UNKNOWN),
            Column::Values(values) => values.resize(rows + more, Value::Null),
        }
    }
}

/// A column of all rows of some parts, of which it is taken; `None` if one of them has none.
fn column_of_parts(parts: &mut [Vectors], position: usize) -> Option<Column<'static>> {
    let rows: usize = parts.iter().map(Vectors::len).sum();
    let mut taken =
        parts.iter_mut().map(|part| (part.columns.get_mut(position).and_then(Option::take), part.rows));
    let (first, mut appended) = taken.next()?;
    let mut whole = first?.into_owned(appended);
    whole.reserve(rows - appended);
    for (part, more) in taken {
        match (&mut whole, part?) {
            (Column::Values(values), Column::Values(others)) => values.extend(others.into_iter().take(more)),
            (whole, part) => whole.append(appended, &part, more),
        }
        appended += more;
    }
    Some(whole)
}

/// A column of rows of several parts; `None` if one of those has none. What it takes is in proportion to the rows: there may be
/// many parts.
fn take_column(parts: &mut [Vectors], position: usize, places: &[(u32, u32)]) -> Option<Column<'static>> {
    let column_of = |part: u32| parts.get(part as usize).and_then(|part| part.column(position));
    let plain = match column_of(places.first()?.0)? {
        Column::Numbers(_, unit) => gather_from(places, |part| match column_of(part) {
            Some(Column::Numbers(numbers, of_part)) if of_part == unit => Some(numbers),
            _ => None,
        })
        .map(|numbers| Column::Numbers(numbers, *unit)),
        Column::Doubles(_) => gather_from(places, |part| match column_of(part) {
            Some(Column::Doubles(doubles)) => Some(doubles),
            _ => None,
        })
        .map(Column::Doubles),
        Column::Floats(_) => gather_from(places, |part| match column_of(part) {
            Some(Column::Floats(floats)) => Some(floats),
            _ => None,
        })
        .map(Column::Floats),
        Column::Truths(_) | Column::Values(_) => None,
    };
    if plain.is_some() {
        return plain;
    }
    if places.iter().any(|(part, _)| column_of(*part).is_none()) {
        return None;
    }
    let value = |(part, row): &(u32, u32)| {
        parts.get_mut(*part as usize).map(|part| part.take_value(*row as usize, position)).unwrap_or_default()
    };
    Some(Column::of_values(places.iter().map(value).collect()))
}

/// The values of rows of several parts, if the columns of those are all of the kind that `of_part` gives.
fn gather_from<'p, T: Copy + Default + 'p>(
    places: &[(u32, u32)],
    of_part: impl Fn(u32) -> Option<&'p Operand<'static, T>>,
) -> Option<Operand<'static, T>> {
    let mut values = Vec::with_capacity(places.len());
    let mut nulls: Option<Vec<bool>> = None;
    for (place, (part, row)) in places.iter().enumerate() {
        let (operand, row) = (of_part(*part)?, *row as usize);
        values.push(match &operand.values {
            Values::Many(values) => values.get(row).copied().unwrap_or_default(),
            Values::One(value) => *value,
        });
        if !matches!(operand.nulls, Nulls::None) && operand.nulls.is_null(row) {
            let nulls = nulls.get_or_insert_with(|| vec![false; places.len()]);
            if let Some(is_null) = nulls.get_mut(place) {
                *is_null = true;
            }
        }
    }
    let nulls = nulls.map_or(Nulls::None, |nulls| Nulls::Some(Cow::Owned(nulls)));
    Some(Operand::many(values, nulls))
}

/// Values as numbers of a unit, if each is NULL or one.
fn numbers_of(values: &[Value], unit: Unit) -> Option<Operand<'static, i64>> {
    let number = |value: &Value| match (value, unit) {
        (Value::Null, _) => Some(0),
        (Value::Integer { unscaled, scale }, Unit::Exact(wanted)) if *scale == wanted => Some(*unscaled),
        (Value::Int128 { unscaled, scale }, Unit::Wide(wanted)) if *scale == wanted => {
            i64::try_from(*unscaled).ok()
        }
        (Value::Date(date), Unit::Date) => Some(i64::from(date.0)),
        (Value::Time(time), Unit::Time) => Some(i64::from(time.0)),
        (Value::Timestamp(timestamp), Unit::Timestamp) => Some(timestamp.ticks()),
        _ => None,
    };
    Some(Operand::many(values.iter().map(number).collect::<Option<_>>()?, nulls_of(values)))
}

fn doubles_of(values: &[Value]) -> Option<Operand<'static, f64>> {
    let double = |value: &Value| match value {
        Value::Null => Some(0.0),
        Value::Double(double) => Some(*double),
        _ => None,
    };
    Some(Operand::many(values.iter().map(double).collect::<Option<_>>()?, nulls_of(values)))
}

fn nulls_of(values: &[Value]) -> Nulls<'static> {
    match values.iter().any(Value::is_null) {
        true => Nulls::Some(Cow::Owned(values.iter().map(Value::is_null).collect())),
        false => Nulls::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_types::Date;

    fn columns() -> Vec<Vec<Value>> {
        let wide = |unscaled| Value::Int128 { unscaled, scale: -2 };
        vec![
            vec![Value::integer(1), Value::Null, Value::integer(3)],
            vec![wide(5), wide(i128::MAX), Value::Null],
            vec![wide(5), wide(6), wide(7)],
            vec![Value::Date(Date(9)), Value::Null, Value::Null],
            vec![Value::Double(-0.0), Value::Double(f64::NAN), Value::Null],
            vec![Value::text("a"), Value::text(""), Value::Null],
            vec![Value::Null, Value::Null, Value::Null],
            vec![Value::integer(1), Value::Double(1.0), Value::text("1")],
        ]
    }

    fn shown(column: &Column<'_>, rows: usize) -> String {
        format!("{:?}", (0..rows).map(|row| column.value(row).unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn values_come_back_as_they_were_however_they_are_put_together() {
        for values in columns() {
            let column = Column::of_values(values.clone());
            assert_eq!(shown(&column, 3), format!("{values:?}"));
            let gathered = column.gather(&[2, NO_ROW, 0, 0]);
            let expected = [&values[2], &Value::Null, &values[0], &values[0]];
            assert_eq!(shown(&gathered, 4), format!("{expected:?}"));
            for more in columns() {
                let mut both = column.clone();
                both.append(3, &Column::of_values(more.clone()), 3);
                let expected: Vec<Value> = values.iter().chain(&more).cloned().collect();
                assert_eq!(shown(&both, 6), format!("{expected:?}"));
                let parts = [&values, &more, &values];
                let expected: Vec<&Value> = parts.into_iter().flatten().collect();
                let whole = Vectors::of_parts(parts.map(|part| Vectors::of_rows(3, part, &[true])).into());
                assert_eq!(whole.len(), 9);
                assert_eq!(shown(whole.column(0).unwrap(), 9), format!("{expected:?}"));
                let part = |values: &Vec<Value>| Vectors::of_rows(3, values, &[true]);
                let mut parts = [part(&values), Vectors::default(), part(&more)];
                let taken = Vectors::take_from(&mut parts, &[(2, 1), (0, 0), (2, 0), (0, 2)]);
                let expected = [&more[1], &values[0], &more[0], &values[2]];
                assert_eq!(shown(taken.column(0).unwrap(), 4), format!("{expected:?}"));
            }
        }
    }

    #[test]
    fn batches_of_nulls_leave_a_column_of_the_kind_that_it_is() {
        let nulls = vec![Value::Null; 3];
        for values in columns() {
            let mut column = Column::of_values(values.clone());
            let kind = std::mem::discriminant(&column);
            let mut expected = values.clone();
            for more in [&nulls, &values, &nulls, &nulls, &values] {
                let appended = Column::of_values(more.clone());
                let converted = column.converted(expected.len(), &appended, 3);
                column.append(expected.len(), &appended, 3);
                expected.extend_from_slice(more);
                assert_eq!(
                    (std::mem::discriminant(&column), converted),
                    (kind, 0),
                    "{values:?} and {more:?}"
                );
            }
            assert_eq!(shown(&column, expected.len()), format!("{expected:?}"));
        }
    }

    #[test]
    fn rows_are_read_as_they_were_put_in() {
        let rows: Vec<Value> = (0..12).map(Value::integer).collect();
        let mut vectors = Vectors::of_rows(2, &rows[..6], &[true, false, true]);
        vectors.append(Vectors::of_rows(2, &rows[6..], &[true, false, true]));
        vectors = vectors.gather(&[3, 0, NO_ROW]);
        vectors.truncate(2);
        let mut read = Vec::new();
        (0..vectors.len()).for_each(|row| vectors.read_row(row, &mut read));
        let expected = [9, 11, 0, 2].map(Value::integer);
        assert_eq!(read.iter().filter(|value| !value.is_null()).cloned().collect::<Vec<_>>(), expected);
        assert_eq!(read.len(), 6);
    }
}
