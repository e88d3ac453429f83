//! Rows in memory with the keys that order them, in few allocations.
//!
//! Keys and values lie one after the other in two vectors. What is sorted are small entries that begin with the first
//! bytes of their key: most comparisons look no further.

use std::cmp::Ordering;

use farbird_budget::{extend_within, heap_bytes, room};
use farbird_session::Interrupt;
use farbird_types::{Result, Value};

use crate::batch::Batch;
use crate::ordering::sort_by;
use crate::row_stream::RowWriter;
use crate::rows_in_memory::RowsInMemory;

/// Bytes of a key that stand in its entry.
const PREFIX_BYTES: usize = 16;

/// Rows with keys; less than 4 GiB of either.
#[derive(Default)]
pub(crate) struct KeyedRows {
    keys: Vec<u8>,
    values: Vec<Value>,
    entries: Vec<Entry>,
    /// How many have been handed out.
    place: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The first bytes of the key as a number, zeros behind a shorter one.
    prefix: u128,
    key: Span,
    row: Span,
}

/// A part of a vector.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
}

impl Span {
    /// From `start` to the end of a vector.
    fn since(start: usize, end: usize) -> Span {
        Span { start: start as u32, length: (end - start) as u32 }
    }

    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }
}

impl KeyedRows {
    /// How many bytes more it takes in memory with a row of so many values, without their texts: what is needed to sort
    /// included.
    pub(crate) fn room(&self, key_bytes: usize, width: usize) -> usize {
        room(&self.keys, key_bytes)
            + room(&self.values, width) * size_of::<Value>()
            + room(&self.entries, 1) * 2 * size_of::<Entry>()
    }

    /// Appends a row; gives what its texts take in memory, in bytes.
    pub(crate) fn push(&mut self, key: &[u8], row: impl IntoIterator<Item = Value>) -> usize {
        let (keys, values) = (self.keys.len(), self.values.len());
        let row = row.into_iter();
        extend_within(&mut self.keys, key.len(), key.iter().copied());
        extend_within(&mut self.values, row.size_hint().0, row);
        let texts = self.values.get(values..).unwrap_or_default().iter().map(heap_bytes).sum();
        let entry = Entry {
            prefix: prefix(key),
            key: Span::since(keys, self.keys.len()),
            row: Span::since(values, self.values.len()),
        };
        extend_within(&mut self.entries, 1, [entry]);
        texts
    }

    /// The values of the next row; its key takes the place of what is in `key`.
    pub(crate) fn next_with(&mut self, key: &mut Vec<u8>) -> Option<&mut [Value]> {
        let entry = self.entries.get(self.place).copied()?;
        self.place += 1;
        key.clear();
        key.extend_from_slice(self.keys.get(entry.key.range()).unwrap_or_default());
        self.values.get_mut(entry.row.range())
    }

    fn head(&self) -> Option<&Entry> {
        self.entries.get(self.place)
    }
}

impl RowsInMemory for KeyedRows {
    fn none(_unique: bool) -> KeyedRows {
        KeyedRows::default()
    }

    fn len(&self) -> usize {
        self.entries.len() - self.place
    }

    fn sort(&mut self, _helping: usize, interrupt: &Interrupt) -> Result<()> {
        let keys = &self.keys;
        sort_by(&mut self.entries, |left, right| compare(keys, left, right), interrupt)
    }

    fn keep_first_of_equals(&mut self) {
        let keys = &self.keys;
        self.entries.dedup_by(|later, earlier| compare(keys, later, earlier).is_eq());
    }

    fn truncate(&mut self, rows: usize) {
        self.entries.truncate(rows);
    }

    fn head_key(&self) -> Option<&[u8]> {
        self.keys.get(self.head()?.key.range())
    }

    fn take_head(&mut self) -> Vec<Value> {
        let row = self.head().map_or(0..0, |head| head.row.range());
        self.values.get_mut(row).unwrap_or_default().iter_mut().map(std::mem::take).collect()
    }

    fn write_head(&self, run: &mut RowWriter) -> Result<()> {
        let Some(head) = self.head() else { return Ok(()) };
        let row = self.values.get(head.row.range()).unwrap_or_default();
        run.push(self.keys.get(head.key.range()).unwrap_or_default(), row)
    }

    fn advance(&mut self, rows: usize) -> usize {
        let rows = rows.min(self.len());
        self.place += rows;
        rows
    }

    fn hand_out(&mut self, batch: &mut Batch) {
        while !batch.is_full()
            && let Some(head) = self.head()
        {
            let row = head.row.range();
            batch.push(self.values.get_mut(row).unwrap_or_default().iter_mut().map(std::mem::take));
            self.place += 1;
        }
    }
}

fn prefix(key: &[u8]) -> u128 {
    let mut bytes = [0; PREFIX_BYTES];
    bytes.iter_mut().zip(key).for_each(|(place, byte)| *place = *byte);
    u128::from_be_bytes(bytes)
}

fn compare(keys: &[u8], left: &Entry, right: &Entry) -> Ordering {
    left.prefix.cmp(&right.prefix).then_with(|| {
        let in_prefix = |entry: &Entry| entry.key.length as usize <= PREFIX_BYTES;
        if in_prefix(left) && in_prefix(right) {
            // They differ at most in zeros at their ends.
            return left.key.length.cmp(&right.key.length);
        }
        keys.get(left.key.range()).cmp(&keys.get(right.key.range()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn next(rows: &mut KeyedRows) -> Option<(Vec<u8>, Vec<Value>)> {
        let key = rows.head_key()?.to_vec();
        let row = rows.take_head();
        rows.advance(1);
        Some((key, row))
    }

    proptest! {
        #[test]
        fn rows_come_in_the_order_of_their_keys(
            keys in prop::collection::vec(prop::collection::vec(0u8..3, 0..20), 0..60),
        ) {
            let mut rows = KeyedRows::default();
            let mut expected = Vec::new();
            for (number, key) in (0..).zip(keys) {
                rows.push(&key, [Value::integer(number)]);
                expected.push((key, vec![Value::integer(number)]));
            }
            expected.sort_by(|left, right| left.0.cmp(&right.0));
            rows.sort(0, &Interrupt::new()).unwrap();
            let found: Vec<_> = std::iter::from_fn(|| next(&mut rows)).collect();
            prop_assert_eq!(&found, &expected);
            let mut rows = KeyedRows::default();
            for (key, row) in &expected {
                rows.push(key, row.clone());
            }
            rows.keep_first_of_equals();
            expected.dedup_by(|later, earlier| later.0 == earlier.0);
            let found: Vec<_> = std::iter::from_fn(|| next(&mut rows)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
