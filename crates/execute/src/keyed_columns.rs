//! Rows in memory by columns, with the keys that order them.
//!
//! Rows stay where they came, in parts of some thousand, until they are handed out. What is sorted are small entries that begin
//! with the first bytes of their key: most comparisons look no further, and keys that are no longer are nowhere else.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher};

use farbird_session::Interrupt;
use farbird_types::{Result, Value};
use farbird_vector::Vectors;

use crate::batch::Batch;
use crate::folded_hash::FoldedState;
use crate::join_columns::bytes_of;
use crate::ordering::sort_in_place;
use crate::row_stream::RowWriter;
use crate::rows_in_memory::RowsInMemory;
use crate::sort_keys::{KEY_BYTES_MAX, KeyBytes};

/// A part with so many rows takes no more, and so many come in a part of their own.
const PART_ROWS: usize = 1_024;
/// Bytes of a key that stand in its entry.
const PREFIX_BYTES: usize = 16;
/// So many rows are put together again at a time for whoever takes rows.
pub(crate) const HANDED_OUT_ROWS: usize = 128;
/// No entry, in the table of those that there are.
const NONE: u32 = u32::MAX;
/// After so many rows without repeated ones among them nobody looks for those any more before the rows are sorted.
const LOOKED_AT_MIN: usize = 1 << 15;

/// Rows with keys.
#[derive(Default)]
pub(crate) struct KeyedColumns {
    parts: Vec<Vectors>,
    /// The keys of each part's rows; none where all of them stand in the entries.
    keys: Vec<KeyBytes>,
    /// What rows and keys take in memory, at most; that of the last part, to which rows may still be appended.
    part_bytes: usize,
    last_part_bytes: usize,
    entries: Vec<Entry>,
    /// How many have been handed out.
    place: usize,
    seen: Option<Seen>,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The first bytes of the key, zeros behind a shorter one.
    prefix: [u8; PREFIX_BYTES],
    part: u32,
    row: u16,
    /// The length of the key, if it is not more.
    length: u16,
}

/// The entries by their keys, while rows with keys that are there already are dropped as they come.
struct Seen {
    state: FoldedState,
    /// Numbers of entries at the places that hashes of their keys say, or behind; a power of two, half of them empty.
    places: Vec<u32>,
    looked_at: usize,
}

impl KeyedColumns {
    /// How many bytes more it takes at most in memory with further rows: what is needed to sort included.
    pub(crate) fn room(&self, rows: &Vectors, keys: &KeyBytes) -> usize {
        let seen = self.seen.as_ref().map_or(0, |seen| seen.room(self.entries.len() + rows.len()));
        appended_bytes(rows, keys.size_bytes())
            + self.entries_to_add(rows.len()) * size_of::<Entry>()
            + seen * size_of::<u32>()
    }

    /// What it takes in memory, at most: what is needed to sort included.
    pub(crate) fn size_bytes(&self) -> usize {
        let seen = self.seen.as_ref().map_or(0, |seen| seen.places.capacity());
        self.part_bytes + self.entries.capacity() * size_of::<Entry>() + seen * size_of::<u32>()
    }

    /// Appends rows, within [`KeyedColumns::room`].
    pub(crate) fn push(&mut self, rows: Vectors, mut keys: KeyBytes) {
        if self.seen.is_some() {
            return self.push_unseen(&rows, &keys);
        }
        let keeps_keys = !keys.are_at_most(PREFIX_BYTES);
        let part = self.part(rows.len(), keeps_keys, keys.total_bytes());
        self.make_room_for_entries(rows.len());
        for row in 0..rows.len() {
            self.push_entry(part, keys.get(row));
        }
        if !keeps_keys {
            keys = KeyBytes::default();
        }
        let (Some(own), Some(own_keys)) = (self.parts.get_mut(part), self.keys.get_mut(part)) else { return };
        if own.is_empty() {
            let bytes = bytes_of(&rows) + keys.size_bytes();
            (*own, *own_keys) = (rows, keys);
            return self.count_appended(bytes);
        }
        let bytes = appended_bytes(&rows, keys.size_bytes());
        (0..keys.len()).for_each(|row| own_keys.push(keys.get(row)));
        own.append(rows);
        self.count_appended(bytes);
    }

    fn count_appended(&mut self, bytes: usize) {
        self.part_bytes += bytes;
        self.last_part_bytes += bytes;
    }

    /// Appends those rows whose keys are not there yet.
    fn push_unseen(&mut self, rows: &Vectors, keys: &KeyBytes) {
        let keeps_keys = !keys.are_at_most(PREFIX_BYTES);
        let part = self.part(0, keeps_keys, keys.total_bytes());
        self.make_room_for_entries(rows.len());
        let mut fresh = Vec::new();
        let mut key_bytes = 0;
        for row in 0..rows.len() {
            let key = keys.get(row);
            if self.note(key) {
                fresh.push(row as u32);
                self.push_entry(part, key);
                if keeps_keys && let Some(own) = self.keys.get_mut(part) {
                    key_bytes += key.len() + size_of::<u32>();
                    own.push(key);
                }
            }
        }
        let Some(own) = self.parts.get_mut(part) else { return };
        let fresh = rows.gather(&fresh);
        let bytes = appended_bytes(&fresh, key_bytes);
        own.append(fresh);
        self.count_appended(bytes);
        if let Some(seen) = &mut self.seen {
            seen.looked_at += rows.len();
            // Looking for what hardly ever repeats costs more than sorting it.
            if seen.looked_at >= LOOKED_AT_MIN && self.entries.len() > seen.looked_at / 10 * 9 {
                self.seen = None;
            }
        }
    }

    /// Notes the key of the next entry; false if there is one with it already.
    fn note(&mut self, key: &[u8]) -> bool {
        let next = self.entries.len();
        let Some(mut seen) = self.seen.take() else { return true };
        if seen.room(next + 1) > 0 {
            // The old places go before the new ones come: what they say is known from the entries.
            seen.places = Vec::new();
            seen.places = vec![NONE; Seen::places_for(next + 1)];
            for (number, entry) in (0..).zip(&self.entries) {
                let mut place = seen.place(self.key(entry));
                while seen.places.get(place).is_some_and(|known| *known != NONE) {
                    place = (place + 1) & (seen.places.len() - 1);
                }
                if let Some(free) = seen.places.get_mut(place) {
                    *free = number;
                }
            }
        }
        let mut place = seen.place(key);
        let is_new = loop {
            match seen.places.get_mut(place) {
                Some(known) if *known == NONE => {
                    *known = next as u32;
                    break true;
                }
                Some(known) => {
                    let entry = self.entries.get(*known as usize);
                    if entry.is_some_and(|entry| self.key(entry) == key) {
                        break false;
                    }
                    place = (place + 1) & (seen.places.len() - 1);
                }
                None => break true,
            }
        };
        self.seen = Some(seen);
        is_new
    }

    /// The part that takes the next rows, so many if they come together, with their keys of so many bytes or without.
    fn part(&mut self, rows: usize, keeps_keys: bool, key_bytes: usize) -> usize {
        let has_room = |(part, keys): (&Vectors, &KeyBytes)| {
            part.is_empty()
                || part.len().max(rows) < PART_ROWS
                    && (keys.len() > 0) == keeps_keys
                    && keys.total_bytes() + key_bytes <= KEY_BYTES_MAX
        };
        if !self.parts.last().zip(self.keys.last()).is_some_and(has_room) {
            self.close_last_part();
            self.parts.push(Vectors::default());
            self.keys.push(KeyBytes::default());
        }
        self.parts.len() - 1
    }

    /// Nothing more comes to the last part: it takes what its rows take.
    fn close_last_part(&mut self) {
        let before = std::mem::take(&mut self.last_part_bytes);
        let (Some(rows), Some(keys)) = (self.parts.last_mut(), self.keys.last_mut()) else { return };
        rows.shrink_to_fit();
        keys.shrink_to_fit();
        self.part_bytes = self.part_bytes - before + bytes_of(rows) + keys.size_bytes();
    }

    /// Makes as much room for the entries of further rows as [`KeyedColumns::room`] says.
    fn make_room_for_entries(&mut self, rows: usize) {
        let added = self.entries_to_add(rows);
        if added > 0 {
            self.entries.reserve_exact(self.entries.capacity() - self.entries.len() + added);
        }
    }

    /// By how many entries their room grows for so many rows more: by an eighth at least, since they are the most of what short rows take.
    fn entries_to_add(&self, rows: usize) -> usize {
        let missing = (self.entries.len() + rows).saturating_sub(self.entries.capacity());
        if missing == 0 { 0 } else { missing.max(self.entries.capacity() / 8) }
    }

    /// Appends the entry of the next row of a part.
    fn push_entry(&mut self, part: usize, key: &[u8]) {
        let row = match self.entries.last() {
            Some(last) if last.part as usize == part => last.row + 1,
            _ => 0,
        };
        let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
        self.entries.push(Entry { prefix: prefix(key), part: part as u32, row, length });
    }

    fn key<'a>(&'a self, entry: &'a Entry) -> &'a [u8] {
        key_of(&self.keys, entry)
    }

    /// How many bytes [`KeyedColumns::keep_first`] takes at most beside what there is.
    pub(crate) fn room_to_keep_first(&self, rows: usize) -> usize {
        let first = self.entries.get(..rows).unwrap_or(&self.entries);
        let width = self.parts.first().map_or(0, Vectors::width);
        let keys: usize = first.iter().map(|entry| self.key(entry).len() + size_of::<u32>()).sum();
        if keys > KEY_BYTES_MAX {
            // Nobody has memory for that.
            return usize::MAX;
        }
        // Texts are handed over.
        2 * (keys + first.len() * width * size_of::<Value>()) + size_of_val(first)
    }

    /// Of rows in order the first so many are kept, where they take no more than they need.
    pub(crate) fn keep_first(&mut self, rows: usize) {
        self.entries.truncate(rows);
        let mut kept = KeyedColumns::default();
        kept.make_room_for_entries(self.entries.len());
        for entries in self.entries.chunks(PART_ROWS) {
            let mut keys = KeyBytes::default();
            entries.iter().for_each(|entry| keys.push(key_of(&self.keys, entry)));
            let places: Vec<(u32, u32)> = entries.iter().map(Entry::place).collect();
            kept.push(Vectors::take_from(&mut self.parts, &places), keys);
        }
        *self = kept;
    }

    /// The key of the last row.
    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        self.entries.last().map(|last| self.key(last))
    }

    /// The next rows in order, so many at most, and none behind those whose keys have so many bytes; none at the end. `note` is
    /// called with the key of each.
    pub(crate) fn take(
        &mut self,
        rows_max: usize,
        key_bytes_max: usize,
        mut note: impl FnMut(&[u8]),
    ) -> Vectors {
        let most = self.entries.len().min(self.place.saturating_add(rows_max));
        let (mut end, mut key_bytes) = (self.place, 0);
        for entry in self.entries.get(self.place..most).unwrap_or_default() {
            if key_bytes >= key_bytes_max {
                break;
            }
            let key = key_of(&self.keys, entry);
            key_bytes += key.len();
            note(key);
            end += 1;
        }
        let entries = self.entries.get(self.place..end).unwrap_or_default();
        let places: Vec<(u32, u32)> = entries.iter().map(Entry::place).collect();
        self.place = end;
        Vectors::take_from(&mut self.parts, &places)
    }

    fn head(&self) -> Option<Entry> {
        self.entries.get(self.place).copied()
    }

    fn take_values(&mut self, entry: Entry) -> impl Iterator<Item = Value> {
        let part = self.parts.get_mut(entry.part as usize);
        let width = part.as_ref().map_or(0, |part| part.width());
        let mut rows = part.into_iter();
        let rows = rows.next();
        TakenRow { rows, row: entry.row as usize, position: 0, width }
    }
}

/// The values of a row, which nobody asks for again.
struct TakenRow<'a> {
    rows: Option<&'a mut Vectors>,
    row: usize,
    position: usize,
    width: usize,
}

impl Iterator for TakenRow<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        if self.position >= self.width {
            return None;
        }
        self.position += 1;
        self.rows.as_mut().map(|rows| rows.take_value(self.row, self.position - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.width - self.position, Some(self.width - self.position))
    }
}

impl RowsInMemory for KeyedColumns {
    fn none(unique: bool) -> KeyedColumns {
        let seen = Seen { state: FoldedState::new(), places: Vec::new(), looked_at: 0 };
        KeyedColumns { seen: unique.then_some(seen), ..KeyedColumns::default() }
    }

    fn len(&self) -> usize {
        self.entries.len() - self.place
    }

    fn sort(&mut self, helping: usize, interrupt: &Interrupt) -> Result<()> {
        self.seen = None;
        let keys = &self.keys;
        // Rows with equal keys stay in the order in which they came.
        let in_order = |left: &Entry, right: &Entry| {
            compare(keys, left, right).then_with(|| left.place().cmp(&right.place()))
        };
        sort_in_place(&mut self.entries, in_order, helping, interrupt)
    }

    fn keep_first_of_equals(&mut self) {
        let keys = &self.keys;
        self.entries.dedup_by(|later, earlier| compare(keys, later, earlier).is_eq());
    }

    fn truncate(&mut self, rows: usize) {
        self.entries.truncate(rows);
    }

    fn head_key(&self) -> Option<&[u8]> {
        self.entries.get(self.place).map(|entry| self.key(entry))
    }

    fn take_head(&mut self) -> Vec<Value> {
        self.head().map(|entry| self.take_values(entry).collect()).unwrap_or_default()
    }

    fn write_head(&self, run: &mut RowWriter) -> Result<()> {
        let Some(entry) = self.head() else { return Ok(()) };
        match self.parts.get(entry.part as usize) {
            Some(part) => run.push_of(self.key(&entry), part, entry.row as usize),
            None => Ok(()),
        }
    }

    fn advance(&mut self, rows: usize) -> usize {
        let rows = rows.min(self.len());
        self.place += rows;
        rows
    }

    fn hand_out(&mut self, batch: &mut Batch) {
        while !batch.is_full() {
            // Column by column; few at a time, since a batch is full too when its texts are long.
            let mut rows = self.take(HANDED_OUT_ROWS.min(batch.limit() - batch.len()), usize::MAX, |_| {});
            if rows.is_empty() {
                return;
            }
            let width = rows.width();
            for row in 0..rows.len() {
                batch.push((0..width).map(|position| rows.take_value(row, position)));
            }
        }
    }
}

impl Entry {
    #[inline]
    fn prefix(&self) -> u128 {
        u128::from_be_bytes(self.prefix)
    }

    fn place(&self) -> (u32, u32) {
        (self.part, u32::from(self.row))
    }
}

impl Seen {
    /// How many places there are for so many entries.
    fn places_for(entries: usize) -> usize {
        (3 * entries).next_power_of_two()
    }

    /// How many places there are to be made, where so many entries find too few.
    fn room(&self, entries: usize) -> usize {
        if self.places.len() >= 2 * entries { 0 } else { Seen::places_for(entries) }
    }

    fn place(&self, key: &[u8]) -> usize {
        let mut hasher = self.state.build_hasher();
        hasher.write(key);
        hasher.write_usize(key.len());
        hasher.finish() as usize & (self.places.len() - 1)
    }
}

/// What rows and keys take at most where others are already: vectors that grow may have room for as many again.
fn appended_bytes(rows: &Vectors, key_bytes: usize) -> usize {
    2 * (bytes_of(rows) + key_bytes)
}

/// How many rows may be appended at a time.
pub(crate) const PUSHED_ROWS_MAX: usize = u16::MAX as usize - PART_ROWS;

fn key_of<'a>(keys: &'a [KeyBytes], entry: &'a Entry) -> &'a [u8] {
    match entry.prefix.get(..entry.length as usize) {
        Some(key) => key,
        None => keys.get(entry.part as usize).map(|keys| keys.get(entry.row as usize)).unwrap_or_default(),
    }
}

fn prefix(key: &[u8]) -> [u8; PREFIX_BYTES] {
    let mut bytes = [0; PREFIX_BYTES];
    bytes.iter_mut().zip(key).for_each(|(place, byte)| *place = *byte);
    bytes
}

#[inline]
fn compare(keys: &[KeyBytes], left: &Entry, right: &Entry) -> Ordering {
    left.prefix().cmp(&right.prefix()).then_with(|| {
        let in_prefix = |entry: &Entry| entry.length as usize <= PREFIX_BYTES;
        if in_prefix(left) && in_prefix(right) {
            // They differ at most in zeros at their ends.
            return left.length.cmp(&right.length);
        }
        key_of(keys, left).cmp(key_of(keys, right))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The keys and numbers of the rows in order.
    fn in_order(rows: &mut KeyedColumns) -> Vec<(Vec<u8>, i64)> {
        rows.sort(0, &Interrupt::new()).unwrap();
        rows.keep_first_of_equals();
        let mut found = Vec::new();
        while let Some(key) = rows.head_key().map(<[u8]>::to_vec) {
            let Some(Value::Integer { unscaled, .. }) = rows.take_head().pop() else { panic!("no number") };
            found.push((key, unscaled));
            assert_eq!(rows.advance(1), 1);
        }
        found
    }

    proptest! {
        #[test]
        fn keys_come_back_whole_whether_they_stand_in_entries_or_not(
            parts in prop::collection::vec(
                (prop::collection::vec(prop::collection::vec(0u8..2, 0..4), 0..30), any::<bool>()), 0..8,
            ),
            unique in any::<bool>(),
        ) {
            let mut rows = KeyedColumns::none(unique);
            let mut expected = Vec::new();
            for (keys, are_long) in parts {
                let mut bytes = KeyBytes::default();
                let mut values = Vec::new();
                for mut key in keys {
                    key.splice(0..0, vec![0; if are_long { PREFIX_BYTES - 1 } else { 0 }]);
                    bytes.push(&key);
                    values.push(Value::integer(expected.len() as i64));
                    expected.push((key, expected.len() as i64));
                }
                rows.push(Vectors::of_rows(values.len(), &values, &[true]), bytes);
            }
            // The first of equals is the one that came first.
            expected.sort();
            expected.dedup_by(|later, earlier| later.0 == earlier.0);
            prop_assert_eq!(in_order(&mut rows), expected);
        }
    }
}
