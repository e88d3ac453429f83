//! The inner side of a hash join in memory, by columns: rows are found by their keys in a flat table.
//!
//! What all takes is charged before it grows, keys in another form too. Rows that have the same key are found in the order in which they came.

use std::sync::OnceLock;

use farbird_budget::{Reservation, heap_bytes};
use farbird_types::{Result, Value};
use farbird_vector::{Column, Vectors};

use crate::folded_hash::FoldedState;
use crate::join_keys::JoinKeys;

/// No row.
pub(crate) const NONE: u32 = u32::MAX;

/// What a row takes in the table beside its key and its columns: the next one, places among buckets, whether it had a partner.
const ROW_BYTES: usize = 4 + 2 * 2 * 4 + 1;

/// Rows with keys: filled by one, then read by any.
pub(crate) struct JoinColumns {
    /// Rows and keys as they came, the keys all of one form, until all are there.
    parts: Vec<(Vectors, JoinKeys)>,
    /// How many rows those are.
    count: usize,
    /// Whether columns that belong together are of several kinds: then all are counted as values.
    is_mixed: bool,
    /// What they are counted with more while they are put together.
    putting_together: usize,
    rows: Vectors,
    by_key: Index,
    /// By the bytes of the keys, once somebody asks whose keys are of another form; what it is charged to.
    by_bytes: OnceLock<Result<(Index, Reservation)>>,
    memory: Reservation,
}

/// Where rows are found by their keys.
pub(crate) struct Index {
    keys: JoinKeys,
    /// The next row of the same bucket.
    next: Vec<u32>,
    /// A power of two of them, each the first row of those whose hashes end in its number.
    buckets: Vec<u32>,
    state: FoldedState,
}

/// Which rows of an index have the keys of some thousand rows of the other side.
#[derive(Default)]
pub(crate) struct Partners {
    /// The first one of each row, [`NONE`] if there is none.
    first: Vec<u32>,
    /// What follows that in its bucket, whatever its key.
    behind_first: Vec<u32>,
}

impl JoinColumns {
    /// No rows; those to come are charged to a reservation.
    pub(crate) fn new(memory: Reservation) -> JoinColumns {
        JoinColumns {
            parts: Vec::new(),
            count: 0,
            is_mixed: false,
            putting_together: 0,
            rows: Vectors::default(),
            by_key: Index::of(JoinKeys::default()),
            by_bytes: OnceLock::new(),
            memory,
        }
    }

    /// Takes rows with their keys, if there is memory for them; gives them back otherwise.
    pub(crate) fn push(&mut self, rows: Vectors, mut keys: JoinKeys) -> std::result::Result<(), Vectors> {
        if self.count == 0 {
            // Rows that are none have columns of any kind.
            self.parts.clear();
        } else if rows.is_empty() {
            return Ok(());
        }
        let first = self.parts.first();
        let become_bytes = first.is_some_and(|(_, mine)| !mine.is_like(&keys));
        let made = match become_bytes {
            true => {
                self.parts.iter().map(|(_, mine)| mine.bytes_to_make()).sum::<usize>() + keys.bytes_to_make()
            }
            false => 0,
        };
        let count = self.count + rows.len();
        let becomes_mixed =
            !self.is_mixed && first.is_some_and(|(first, _)| first.converted_bytes(&rows) > 0);
        let as_values = match (self.is_mixed, becomes_mixed) {
            (true, _) => rows.len(),
            (false, true) => count,
            (false, false) => 0,
        };
        let largest = largest_column_bytes(&rows).max(keys.bytes() + made);
        let needed = bytes_of(&rows)
            + keys.bytes()
            + made
            + as_values * rows.width() * size_of::<Value>()
            + largest
            + rows.len() * ROW_BYTES;
        if u32::try_from(count).is_err() || !self.memory.try_grow(needed) {
            return Err(rows);
        }
        if become_bytes {
            for (_, mine) in &mut self.parts {
                mine.make_bytes();
            }
            keys.make_bytes();
        }
        self.putting_together += largest;
        self.is_mixed |= becomes_mixed;
        self.count = count;
        self.parts.push((rows, keys));
        Ok(())
    }

    /// Makes what there is findable: once, when all rows are there.
    pub(crate) fn link(&mut self) {
        let (rows, keys) = std::mem::take(&mut self.parts).into_iter().unzip();
        self.rows = Vectors::of_parts(rows);
        self.by_key.keys = JoinKeys::of_parts(keys);
        self.memory.shrink(self.putting_together);
        self.by_key.link();
    }

    /// Where to look up keys, which are brought to the form that is looked up there.
    ///
    /// # Errors
    /// `virmemexh` if the statement has no memory for the keys of the rows in that form.
    pub(crate) fn index_for(&self, keys: &mut JoinKeys) -> Result<&Index> {
        if self.rows.is_empty() || self.by_key.keys.is_like(keys) {
            return Ok(&self.by_key);
        }
        keys.make_bytes();
        if self.by_key.keys.is_like(keys) {
            return Ok(&self.by_key);
        }
        let made = self.by_bytes.get_or_init(|| {
            let mut memory = self.memory.budget().reserve();
            let of_numbers = &self.by_key.keys;
            memory.grow(of_numbers.bytes() + of_numbers.bytes_to_make() + self.len() * ROW_BYTES)?;
            let mut keys = of_numbers.clone();
            keys.make_bytes();
            let mut index = Index::of(keys);
            index.link();
            memory.shrink(of_numbers.bytes());
            Ok((index, memory))
        });
        made.as_ref().map(|(index, _)| index).map_err(Clone::clone)
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &Vectors {
        &self.rows
    }

    /// Their keys.
    pub(crate) fn keys(&self) -> &JoinKeys {
        &self.by_key.keys
    }

    /// Gives the rows away as they came, and their memory back.
    pub(crate) fn take_rows(&mut self) -> Vec<Vectors> {
        self.memory.clear();
        std::mem::take(&mut self.parts).into_iter().map(|(rows, _)| rows).collect()
    }
}

impl Index {
    fn of(keys: JoinKeys) -> Index {
        Index { keys, next: Vec::new(), buckets: Vec::new(), state: FoldedState::new() }
    }

    fn link(&mut self) {
        let count = self.keys.len();
        let buckets = (count * 2).next_power_of_two();
        self.buckets = vec![NONE; buckets];
        self.next = vec![NONE; count];
        // From the last one on, so that each bucket begins with its first row.
        for row in (0..count).rev() {
            if self.keys.is_null(row) {
                continue;
            }
            let hash = self.keys.hash(row, self.state) as usize & (buckets - 1);
            if let (Some(bucket), Some(next)) = (self.buckets.get_mut(hash), self.next.get_mut(row)) {
                *next = std::mem::replace(bucket, row as u32);
            }
        }
    }

    /// Looks up all keys, which are of the form of the index.
    pub(crate) fn look_up(&self, keys: &JoinKeys, partners: &mut Partners) {
        partners.first.clear();
        partners.behind_first.clear();
        let Some(mask) = self.buckets.len().checked_sub(1) else {
            return partners.first.resize(keys.len(), NONE);
        };
        // A large table is not in the processor's cache. Each step is done for all rows, so that it waits for many at a time.
        let bucket = |row| keys.hash(row, self.state) as usize & mask;
        partners.first.extend((0..keys.len()).map(|row| bucket(row) as u32));
        for place in &mut partners.first {
            *place = self.buckets.get(*place as usize).copied().unwrap_or(NONE);
        }
        let next_of = |first: &u32| self.next.get(*first as usize).copied().unwrap_or(NONE);
        partners.behind_first.extend(partners.first.iter().map(next_of));
        let places = partners.first.iter_mut().zip(&mut partners.behind_first);
        match (self.keys.single_numbers(), keys.single_numbers()) {
            (Some(mine), Some(numbers)) => {
                for (row, ((first, behind), number)) in places.zip(numbers).enumerate() {
                    if *first != NONE && (mine.get(*first as usize) != Some(number) || keys.is_null(row)) {
                        self.correct(keys, row, first, behind);
                    }
                }
            }
            _ => {
                for (row, (first, behind)) in places.enumerate() {
                    if *first != NONE
                        && (!self.keys.is_equal(*first as usize, keys, row) || keys.is_null(row))
                    {
                        self.correct(keys, row, first, behind);
                    }
                }
            }
        }
    }

    /// Puts the first row that has the key of another side's row in the place of the first one of its bucket, which has not.
    fn correct(&self, keys: &JoinKeys, row: usize, first: &mut u32, behind: &mut u32) {
        *first = if keys.is_null(row) { NONE } else { self.at_or_after(*behind, keys, row) };
        *behind = self.next.get(*first as usize).copied().unwrap_or(NONE);
    }

    /// The next row with the same key.
    #[inline]
    pub(crate) fn following(&self, number: u32, partners: &Partners, keys: &JoinKeys, row: usize) -> u32 {
        let next = match partners.first(row) == number {
            true => partners.behind_first.get(row),
            false => self.next.get(number as usize),
        };
        self.at_or_after(next.copied().unwrap_or(NONE), keys, row)
    }

    #[inline]
    fn at_or_after(&self, mut number: u32, keys: &JoinKeys, row: usize) -> u32 {
        while number != NONE && !self.keys.is_equal(number as usize, keys, row) {
            number = self.next.get(number as usize).copied().unwrap_or(NONE);
        }
        number
    }
}

impl Partners {
    /// The first row with the key of another side's row; [`NONE`] if there is none.
    #[inline]
    pub(crate) fn first(&self, row: usize) -> u32 {
        self.first.get(row).copied().unwrap_or(NONE)
    }
}

/// What the largest of rows' columns takes, in bytes, more or less.
fn largest_column_bytes(rows: &Vectors) -> usize {
    let has_values = rows.columns().iter().flatten().any(|column| matches!(column, Column::Values(_)));
    rows.len() * if has_values { size_of::<Value>() } else { size_of::<i64>() + 1 }
}

/// What rows take in memory, in bytes, more or less.
pub(crate) fn bytes_of(rows: &Vectors) -> usize {
    let of_column = |column: &Column<'_>| match column {
        Column::Numbers(..) | Column::Doubles(_) | Column::Floats(_) => rows.len() * (size_of::<i64>() + 1),
        Column::Truths(_) => rows.len(),
        Column::Values(values) => {
            size_of_val(values.as_slice()) + values.iter().map(heap_bytes).sum::<usize>()
        }
    };
    rows.columns().iter().flatten().map(of_column).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_budget::{Account, Limits, Resource, StatementBudget};
    use farbird_expression::Expression;
    use farbird_plan::JoinKey;
    use farbird_types::Collation;

    fn keys(values: Vec<Value>) -> JoinKeys {
        let key = JoinKey { value: Expression::Column(0), collation: Collation(0) };
        JoinKeys::of(values.len(), &[Column::of_values(values)], &[key]).unwrap()
    }

    /// Whether 2,000 rows find room, and then their keys as bytes, and rows with other keys.
    fn finds_room(statement_memory: u64) -> [bool; 3] {
        let account = Account::server(Limits { statement_memory, ..Limits::default() });
        let budget = account.statement();
        let numbers: Vec<_> = (0..2_000).map(Value::integer).collect();
        let rows = |numbers: &[Value]| Vectors::of_rows(numbers.len(), numbers, &[true]);
        let doubles = || keys(vec![Value::Double(7.0)]);
        let filled = || {
            let mut table = JoinColumns::new(budget.reserve());
            let is_pushed =
                numbers.chunks(500).all(|part| table.push(rows(part), keys(part.to_vec())).is_ok());
            (table, is_pushed)
        };
        let (mut table, is_pushed) = filled();
        table.link();
        let is_found = is_pushed && table.index_for(&mut doubles()).is_ok();
        drop(table);
        let (mut table, _) = filled();
        let texts = [Value::text("7")];
        let is_mixed = is_pushed && table.push(rows(&texts), doubles()).is_ok();
        let taken = budget.usage(Resource::Memory);
        assert!(taken.peak <= statement_memory, "{taken:?}");
        drop(table);
        assert_eq!(budget.usage(Resource::Memory).used, 0);
        [is_pushed, is_found, is_mixed]
    }

    #[test]
    fn keys_and_rows_in_another_form_are_charged() {
        // Rows and keys take 18 bytes each and 9 while they are put together, their places 21; keys as bytes 29.
        assert_eq!(finds_room(4 << 20), [true, true, true]);
        assert_eq!(finds_room(400_000), [true, true, false]);
        assert_eq!(finds_room(194_000), [true, false, false]);
    }

    #[test]
    fn rows_are_found_by_keys_of_any_kind_in_the_order_in_which_they_came() {
        let mut table = JoinColumns::new(StatementBudget::alone().reserve());
        for part in 0..10 {
            let numbers = (part * 100..(part + 1) * 100).map(|number: i64| match number % 10 {
                9 => Value::Null,
                _ if part > 7 => Value::Integer { unscaled: number % 100 * 10, scale: -1 },
                _ => Value::integer(number % 100),
            });
            let values: Vec<_> = (part * 100..(part + 1) * 100).map(Value::integer).collect();
            let rows = Vectors::of_rows(100, &values, &[true]);
            assert!(table.push(rows, keys(numbers.collect())).is_ok());
        }
        table.link();
        for asked in [
            keys((0..100).map(Value::integer).collect()),
            keys((0..100).map(|number| Value::Double(number as f64)).collect()),
        ] {
            let mut asked = asked;
            let index = table.index_for(&mut asked).unwrap();
            let mut partners = Partners::default();
            index.look_up(&asked, &mut partners);
            for wanted in 0..100usize {
                let mut found = Vec::new();
                let mut number = partners.first(wanted);
                while number != NONE {
                    found.push(table.rows().value(number as usize, 0));
                    number = index.following(number, &partners, &asked, wanted);
                }
                let expected: Vec<_> = (wanted..1_000)
                    .step_by(100)
                    .filter(|n| n % 10 != 9)
                    .map(|n| Value::integer(n as i64))
                    .collect();
                assert_eq!(found, expected);
            }
        }
    }
}
