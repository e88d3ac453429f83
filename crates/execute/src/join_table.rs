//! The rows of a hash join's inner side that are in memory, found by the hashes of their keys.
//!
//! Keys, values and entries lie in one vector each, so that a row costs no allocation of its own, and what all takes is
//! known: it is charged before it grows.

use std::hash::{BuildHasher, RandomState};

use farbird_budget::{Reservation, extend_within, heap_bytes, room};
use farbird_types::{Result, Value};

/// No entry.
const NONE: u32 = u32::MAX;

/// Rows with keys; rows without one are kept too, and found by nobody.
pub(crate) struct JoinTable {
    width: usize,
    keys: Vec<u8>,
    values: Vec<Value>,
    entries: Vec<Entry>,
    /// A power of two of them; the lowest bits of a hash say which.
    buckets: Vec<Bucket>,
    memory: Reservation,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    key_start: usize,
    key_length: u32,
    /// The next entry of the same bucket, in the order in which they came.
    next: u32,
    matched: bool,
}

#[derive(Clone, Copy)]
struct Bucket {
    first: u32,
    last: u32,
}

const EMPTY: Bucket = Bucket { first: NONE, last: NONE };

/// A key with its hash.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashedKey {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: u64,
}

impl HashedKey {
    pub(crate) fn new(bytes: Vec<u8>, state: &RandomState) -> HashedKey {
        HashedKey { hash: state.hash_one(&bytes), bytes }
    }
}

impl JoinTable {
    /// No rows; those to come have so many values and are charged to a reservation.
    pub(crate) fn new(width: usize, memory: Reservation) -> JoinTable {
        JoinTable {
            width,
            keys: Vec::new(),
            values: Vec::new(),
            entries: Vec::new(),
            buckets: Vec::new(),
            memory,
        }
    }

    /// Takes a row's values out of it, if there is memory for them; false otherwise, with the row as it was.
    ///
    /// # Errors
    /// `virmemexh` if there is none even for one row.
    pub(crate) fn push(&mut self, key: Option<&HashedKey>, row: &mut [Value]) -> Result<bool> {
        let key_bytes = key.map_or(&[][..], |key| &key.bytes);
        let more_buckets =
            if self.entries.len() < self.buckets.len() { 0 } else { self.buckets.len().max(64) };
        let needed = room(&self.keys, key_bytes.len())
            + room(&self.values, row.len()) * size_of::<Value>()
            + room(&self.entries, 1) * size_of::<Entry>()
            + more_buckets * size_of::<Bucket>()
            + row.iter().map(heap_bytes).sum::<usize>();
        if self.entries.is_empty() {
            self.memory.grow(needed)?;
        } else if self.entries.len() >= NONE as usize || !self.memory.try_grow(needed) {
            return Ok(false);
        }
        if more_buckets > 0 {
            self.rehash(self.buckets.len() + more_buckets);
        }
        let number = self.entries.len() as u32;
        let entry = Entry {
            hash: key.map_or(0, |key| key.hash),
            key_start: self.keys.len(),
            key_length: key_bytes.len() as u32,
            next: NONE,
            matched: false,
        };
        extend_within(&mut self.keys, key_bytes.len(), key_bytes.iter().copied());
        extend_within(&mut self.values, row.len(), row.iter_mut().map(std::mem::take));
        extend_within(&mut self.entries, 1, [entry]);
        if key.is_some() {
            self.link(number, entry.hash);
        }
        Ok(true)
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The values of a row.
    pub(crate) fn row(&self, number: usize) -> &[Value] {
        self.values.get(number * self.width..(number + 1) * self.width).unwrap_or_default()
    }

    /// The first row with a key.
    pub(crate) fn first(&self, key: &HashedKey) -> Option<u32> {
        self.at_or_after(self.bucket(key.hash)?.first, key)
    }

    /// The next row with the same key.
    pub(crate) fn following(&self, number: u32, key: &HashedKey) -> Option<u32> {
        self.at_or_after(self.entries.get(number as usize)?.next, key)
    }

    /// Notes that a row has had a partner.
    pub(crate) fn set_matched(&mut self, number: u32) {
        if let Some(entry) = self.entries.get_mut(number as usize) {
            entry.matched = true;
        }
    }

    /// Whether a row has had a partner.
    pub(crate) fn is_matched(&self, number: usize) -> bool {
        self.entries.get(number).is_some_and(|entry| entry.matched)
    }

    /// Drops all rows and gives their memory back.
    pub(crate) fn clear(&mut self) {
        self.keys = Vec::new();
        self.values = Vec::new();
        self.entries = Vec::new();
        self.buckets = Vec::new();
        self.memory.clear();
    }

    fn at_or_after(&self, mut number: u32, key: &HashedKey) -> Option<u32> {
        while let Some(entry) = self.entries.get(number as usize) {
            let end = entry.key_start + entry.key_length as usize;
            if entry.hash == key.hash && self.keys.get(entry.key_start..end) == Some(&key.bytes) {
                return Some(number);
            }
            number = entry.next;
        }
        None
    }

    fn bucket(&self, hash: u64) -> Option<&Bucket> {
        let mask = self.buckets.len().checked_sub(1)?;
        self.buckets.get(hash as usize & mask)
    }

    fn link(&mut self, number: u32, hash: u64) {
        let Some(mask) = self.buckets.len().checked_sub(1) else { return };
        let Some(bucket) = self.buckets.get_mut(hash as usize & mask) else { return };
        if bucket.first == NONE {
            bucket.first = number;
        } else if let Some(last) = self.entries.get_mut(bucket.last as usize) {
            last.next = number;
        }
        bucket.last = number;
    }

    fn rehash(&mut self, buckets: usize) {
        self.buckets.clear();
        self.buckets.reserve_exact(buckets);
        self.buckets.resize(buckets, EMPTY);
        for number in 0..self.entries.len() {
            let Some(entry) = self.entries.get_mut(number) else { continue };
            entry.next = NONE;
            let hash = entry.hash;
            self.link(number as u32, hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_budget::StatementBudget;

    #[test]
    fn rows_are_found_by_key_in_the_order_in_which_they_came() {
        let state = RandomState::new();
        let mut table = JoinTable::new(1, StatementBudget::alone().reserve());
        let key = |number: usize| HashedKey::new(number.to_le_bytes().to_vec(), &state);
        for number in 0..1_000usize {
            let mut row = [Value::integer(number as i64)];
            assert!(table.push((number % 10 != 9).then(|| key(number % 100)).as_ref(), &mut row).unwrap());
        }
        for wanted in 0..100 {
            let key = key(wanted);
            let mut found = Vec::new();
            let mut number = table.first(&key);
            while let Some(row) = number {
                found.push(table.row(row as usize)[0].clone());
                number = table.following(row, &key);
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
