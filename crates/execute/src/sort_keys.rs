//! Keys by which rows are sorted: bytes that compare as the rows are ordered, made for many rows at a time.
//!
//! Values of columns are encoded as they lie; what is computed of them is computed by columns. What is volatile, and what few rows
//! need, is evaluated row by row.

use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::SortKey;
use farbird_types::key::{KeyPart, encode_double_key, encode_key, encode_number_key, encode_order_key};
use farbird_types::{Collation, Error, Result, Value, isc};
use farbird_vector::{Column, Unit, Vectors};

use crate::batch::Batch;
use crate::blob_keys::BlobKeys;
use crate::column_source::COLUMN_ROWS_MIN;
use crate::computed::Computed;
use crate::stage::is_for_any_thread;

/// Most bytes that room is made for before the keys are there.
const RESERVED_BYTES_MAX: usize = 1 << 20;

/// How the keys of an operator's rows are made.
#[derive(Debug, Clone)]
pub(crate) struct SortKeys {
    parts: Vec<Part>,
    /// Whether equal texts of an insensitive collation come by their accents and case.
    is_order: bool,
    /// So many parts say a window's partition: behind all parts stands how long those are, where it does not disturb the order.
    partition: Option<usize>,
}

#[derive(Debug, Clone)]
struct Part {
    value: Computed,
    key: KeyPart,
}

/// Keys of rows, by the number of the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyBytes {
    bytes: Vec<u8>,
    /// Where those of each row end.
    ends: Vec<u32>,
}

/// Most bytes of the keys of rows together.
pub(crate) const KEY_BYTES_MAX: usize = u32::MAX as usize;

/// The values of one part for all rows.
enum Values<'a> {
    Borrowed(&'a Column<'static>),
    Computed(Column<'a>),
    /// A column that is not there.
    Nulls,
}

impl SortKeys {
    /// Those of ORDER BY.
    pub(crate) fn of_order(keys: &[SortKey]) -> SortKeys {
        let part = |key: &SortKey| Part { value: Computed::new(key.value.clone()), key: key.part };
        SortKeys { parts: keys.iter().map(part).collect(), is_order: true, partition: None }
    }

    /// Those in which rows are equal whose values are.
    pub(crate) fn of_columns(collations: &[Collation]) -> SortKeys {
        let part = |(position, collation): (usize, &Collation)| Part {
            value: Computed::new(Expression::Column(position)),
            key: KeyPart { collation: *collation, ..KeyPart::default() },
        };
        SortKeys {
            parts: collations.iter().enumerate().map(part).collect(),
            is_order: false,
            partition: None,
        }
    }

    /// Those of a window: by partition, then by order. [`window_key`] tells them apart.
    pub(crate) fn of_window(partition: &[SortKey], order: &[SortKey]) -> SortKeys {
        let mut keys = SortKeys::of_order(partition);
        keys.parts.extend(SortKeys::of_order(order).parts);
        SortKeys { is_order: false, partition: Some(partition.len()), ..keys }
    }

    /// The column by which rows are ordered before all else, if it is one, and its part of the keys.
    pub(crate) fn first_column(&self) -> Option<(usize, KeyPart)> {
        let Part { value, key } = self.parts.first()?;
        match value.expression() {
            Expression::Column(position) => Some((*position, *key)),
            _ => None,
        }
    }

    /// Registers and parameters may have changed.
    pub(crate) fn reset(&mut self) {
        self.parts.iter_mut().for_each(|part| part.value.reset());
    }

    /// Sets the columns that are looked at.
    pub(crate) fn want(&self, wanted: &mut [bool]) {
        for position in self.parts.iter().flat_map(|part| part.value.columns()) {
            if let Some(wanted) = wanted.get_mut(*position) {
                *wanted = true;
            }
        }
    }

    /// Whether any thread can make them.
    pub(crate) fn are_for_any_thread(&self) -> bool {
        !self.are_volatile() && self.parts.iter().all(|part| is_for_any_thread(part.value.expression()))
    }

    /// Whether they are to be made once, row after row.
    pub(crate) fn are_volatile(&self) -> bool {
        self.parts.iter().any(|part| part.value.expression().is_volatile())
    }

    /// As [`SortKeys::of`], where BLOBs of equal contents are equal.
    ///
    /// # Errors
    /// As [`SortKeys::of`]; those of reading BLOBs.
    pub(crate) fn of_contents(
        &mut self,
        rows: &Vectors,
        blobs: &mut BlobKeys,
        context: &mut ExecutionContext<'_>,
    ) -> Result<KeyBytes> {
        if self.may_be_of_blobs(rows) {
            self.by_rows(rows, Some(blobs), context)
        } else {
            self.of(rows, context)
        }
    }

    /// Whether [`SortKeys::of_contents`] may have to read BLOBs.
    pub(crate) fn may_be_of_blobs(&self, rows: &Vectors) -> bool {
        let has_blobs = |column: Option<&Column>| match column {
            Some(Column::Values(values)) => values.iter().any(|value| matches!(value, Value::Blob(_))),
            _ => false,
        };
        let may_be_blobs = |part: &Part| match part.value.expression() {
            Expression::Column(position) => has_blobs(rows.column(*position)),
            // What they are is known when they are computed, but for those that only choose among columns.
            _ => {
                !is_for_any_thread(part.value.expression())
                    || part.value.columns().iter().any(|position| has_blobs(rows.column(*position)))
            }
        };
        self.parts.iter().any(may_be_blobs)
    }

    /// The keys of rows.
    ///
    /// # Errors
    /// That of the first row whose key cannot be computed.
    pub(crate) fn of(&mut self, rows: &Vectors, context: &mut ExecutionContext<'_>) -> Result<KeyBytes> {
        let are_columns =
            self.parts.iter().all(|part| matches!(part.value.expression(), Expression::Column(_)));
        if !are_columns && (rows.len() < COLUMN_ROWS_MIN || self.are_volatile()) {
            return self.by_rows(rows, None, context);
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        let mut failed = None;
        for Part { value, key } in &mut self.parts {
            let values = match value.expression() {
                Expression::Column(position) => {
                    rows.column(*position).map_or(Values::Nulls, Values::Borrowed)
                }
                _ => {
                    let found = value.values(rows, context);
                    // Of two parts that fail the one of the earlier row counts, of one row the first part.
                    if let Some(error) = found.error
                        && failed.as_ref().is_none_or(|(row, _)| found.rows < *row)
                    {
                        failed = Some((found.rows, error));
                    }
                    Values::Computed(found.values)
                }
            };
            parts.push((values, *key));
        }
        if let Some((_, error)) = failed {
            return Err(error);
        }
        let mut keys = KeyBytes::default();
        for row in 0..rows.len() {
            let start = keys.bytes.len();
            let mut partition = start;
            for (number, (values, key)) in parts.iter().enumerate() {
                if Some(number) == self.partition {
                    partition = keys.bytes.len();
                }
                match values {
                    Values::Borrowed(column) => {
                        append_of_column(column, row, key, self.is_order, &mut keys.bytes)?
                    }
                    Values::Computed(column) => {
                        append_of_column(column, row, key, self.is_order, &mut keys.bytes)?
                    }
                    Values::Nulls => encode_number_key(None, key, &mut keys.bytes),
                }
            }
            self.end_partition(start, partition, &mut keys.bytes)?;
            keys.end_checked()?;
            if row == 0 {
                keys.reserve(rows.len());
            }
        }
        Ok(keys)
    }

    /// The keys of the rows of a batch.
    ///
    /// # Errors
    /// As [`SortKeys::of`].
    pub(crate) fn of_batch(&self, rows: &Batch, context: &mut ExecutionContext<'_>) -> Result<KeyBytes> {
        let mut keys = KeyBytes::default();
        for row in rows.rows() {
            self.append_key_of(row, None, context, &mut keys)?;
        }
        Ok(keys)
    }

    fn by_rows(
        &self,
        rows: &Vectors,
        mut blobs: Option<&mut BlobKeys>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<KeyBytes> {
        let mut keys = KeyBytes::default();
        let mut row = Vec::with_capacity(rows.width());
        for place in 0..rows.len() {
            row.clear();
            rows.read_row(place, &mut row);
            self.append_key_of(&row, blobs.as_deref_mut(), context, &mut keys)?;
        }
        Ok(keys)
    }

    fn append_key_of(
        &self,
        row: &[Value],
        mut blobs: Option<&mut BlobKeys>,
        context: &mut ExecutionContext<'_>,
        keys: &mut KeyBytes,
    ) -> Result<()> {
        context.check_interrupt()?;
        let start = keys.bytes.len();
        let mut partition = start;
        for (number, Part { value, key }) in self.parts.iter().enumerate() {
            if Some(number) == self.partition {
                partition = keys.bytes.len();
            }
            match (value.expression(), &mut blobs) {
                (Expression::Column(position), None) => {
                    let value = row.get(*position).unwrap_or(&Value::Null);
                    append_value(value, key, self.is_order, &mut keys.bytes)?;
                }
                (expression, blobs) => {
                    let mut value = expression.evaluate(row, context)?;
                    if let Some(blobs) = blobs {
                        value = blobs.key_of(value, key.collation, context)?;
                    }
                    append_value(&value, key, self.is_order, &mut keys.bytes)?;
                }
            }
        }
        self.end_partition(start, partition, &mut keys.bytes)?;
        keys.end_checked()
    }

    /// Appends how long the partition's part is of the key that begins at `start`, if there is one.
    fn end_partition(&self, start: usize, end: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let Some(parts) = self.partition else { return Ok(()) };
        let end = if parts == self.parts.len() { bytes.len() } else { end };
        let length = u32::try_from(end - start).map_err(|_| Error::new(isc::IMP_EXC))?;
        bytes.extend(length.to_le_bytes());
        Ok(())
    }
}

impl KeyBytes {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether each of them has so many bytes at most.
    pub(crate) fn are_at_most(&self, bytes: usize) -> bool {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).all(|(start, end)| (end - start) as usize <= bytes)
    }

    /// What they take in memory.
    pub(crate) fn size_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    /// Gives back room that no key takes.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// The key of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(row).copied().unwrap_or(start);
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// How many bytes they have together.
    pub(crate) fn total_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a key; whoever does so sees to it that there are no more than [`KEY_BYTES_MAX`] bytes.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.end();
    }

    /// Those of the rows at some places.
    pub(crate) fn gather(&self, places: &[u32]) -> KeyBytes {
        let mut gathered = KeyBytes::default();
        places.iter().for_each(|place| gathered.push(self.get(*place as usize)));
        gathered
    }

    fn end(&mut self) {
        debug_assert!(self.bytes.len() <= KEY_BYTES_MAX, "keys of more than 4 GiB");
        self.ends.push(self.bytes.len() as u32);
    }

    fn end_checked(&mut self) -> Result<()> {
        if self.bytes.len() > KEY_BYTES_MAX {
            return Err(Error::new(isc::IMP_EXC));
        }
        self.end();
        Ok(())
    }

    /// Makes room for the keys of so many rows, if they are as long as the first one.
    fn reserve(&mut self, rows: usize) {
        self.ends.reserve_exact(rows.saturating_sub(self.ends.len()));
        self.bytes.reserve((self.bytes.len() * rows.saturating_sub(1)).min(RESERVED_BYTES_MAX));
    }
}

/// The parts of a window's key: the partition, and the order in it.
pub(crate) fn window_key(key: &[u8]) -> (&[u8], &[u8]) {
    let Some((parts, length)) = key.split_last_chunk() else { return (key, &[]) };
    parts.split_at_checked(u32::from_le_bytes(*length) as usize).unwrap_or((parts, &[]))
}

#[inline]
fn append_of_column(
    column: &Column<'_>,
    row: usize,
    key: &KeyPart,
    is_order: bool,
    out: &mut Vec<u8>,
) -> Result<()> {
    match column {
        Column::Numbers(numbers, Unit::Exact(_) | Unit::Wide(_) | Unit::Date | Unit::Time) => {
            encode_number_key(numbers.get(row), key, out);
        }
        Column::Doubles(doubles) | Column::Floats(doubles) => encode_double_key(doubles.get(row), key, out),
        Column::Values(values) => match values.get(row) {
            Some(value) => append_value(value, key, is_order, out)?,
            None => encode_number_key(None, key, out),
        },
        Column::Numbers(_, Unit::Timestamp) | Column::Truths(_) => {
            append_value(&column.value(row)?, key, is_order, out)?;
        }
    }
    Ok(())
}

fn append_value(value: &Value, key: &KeyPart, is_order: bool, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Text(_) if is_order => encode_order_key(value, key, out),
        value => append_key(value, key, out),
    }
}

/// Appends a value to a key. BLOBs are ordered by their ids: their contents have no order, but equal ids are equal.
pub(crate) fn append_key(value: &Value, part: &KeyPart, key: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Blob(id) => encode_key(&Value::integer(id.0.cast_signed()), part, key),
        value => encode_key(value, part, key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_types::key::NullsPosition;
    use farbird_types::{Date, Time, Timestamp};

    #[test]
    fn columns_have_the_keys_of_their_values() {
        let timestamp = |date, time| Value::Timestamp(Timestamp { date: Date(date), time: Time(time) });
        let wide = |unscaled| Value::Int128 { unscaled, scale: -1 };
        let columns: Vec<Vec<Value>> = vec![
            vec![Value::integer(-300), Value::Null, Value::integer(i64::MAX)],
            vec![wide(-1), wide(70_000), Value::Null],
            vec![wide(i128::MAX), wide(5), Value::Null],
            vec![Value::Date(Date(-5)), Value::Date(Date(60_000)), Value::Null],
            vec![Value::Time(Time(5)), Value::Null, Value::Time(Time(0))],
            vec![timestamp(-5, 7), timestamp(60_000, 0), Value::Null],
            vec![Value::Double(-0.0), Value::Double(f64::NAN), Value::Null],
            vec![Value::Float(1.5), Value::Null, Value::Float(-2.5)],
            vec![Value::Boolean(true), Value::Null, Value::Boolean(false)],
            vec![Value::text("b "), Value::Null, Value::text("")],
            vec![Value::Null, Value::Null, Value::Null],
        ];
        for values in columns {
            for nulls in [NullsPosition::Lowest, NullsPosition::First, NullsPosition::Last] {
                for descending in [false, true] {
                    let part = KeyPart { descending, nulls, ..KeyPart::default() };
                    let column = Column::of_values(values.clone());
                    for (row, value) in values.iter().enumerate() {
                        let (mut found, mut expected) = (Vec::new(), Vec::new());
                        append_of_column(&column, row, &part, false, &mut found).unwrap();
                        append_key(value, &part, &mut expected).unwrap();
                        assert_eq!(found, expected, "{value:?} {part:?}");
                    }
                }
            }
        }
    }
}
