//! Index entries in order, each with a small value: many of them in few allocations.
//!
//! A B-tree of two levels: leaves of up to 256 entries, whose bytes lie one after the other as they came. Entries that come in
//! ascending order, those of identity columns for instance, are appended without a search and leave full leaves behind. Which leaf
//! others belong to is found by fences, the beginnings of the leaves' last entries, which lie side by side: a search in hundreds
//! of leaves waits for memory a few times, rather than for three places of each leaf that it looks at.

use std::cmp::Ordering;
use std::ops::Bound;

/// Index entries in order, each with a value.
#[derive(Debug)]
pub(crate) struct EntryMap<T> {
    /// In order; none is empty.
    leaves: Vec<Leaf<T>>,
    /// Of each leaf the fence of its last entry.
    fences: Vec<u128>,
    len: usize,
    /// Of all entries.
    bytes: usize,
}

impl<T> Default for EntryMap<T> {
    fn default() -> EntryMap<T> {
        EntryMap { leaves: Vec::new(), fences: Vec::new(), len: 0, bytes: 0 }
    }
}

/// Bytes of a fence.
const FENCE_BYTES: usize = size_of::<u128>();

/// The beginning of an entry as a number, filled up with zeros: of two entries the lesser has no greater one.
fn fence_of(entry: &[u8]) -> u128 {
    let mut beginning = [0; FENCE_BYTES];
    let length = entry.len().min(FENCE_BYTES);
    if let (Some(place), Some(bytes)) = (beginning.get_mut(..length), entry.get(..length)) {
        place.copy_from_slice(bytes);
    }
    u128::from_be_bytes(beginning)
}

/// So many entries stand in a leaf.
const LEAF_ENTRIES_MAX: usize = 256;

/// A leaf with more than one entry is divided before it gets larger than this.
const LEAF_BYTES_MAX: usize = 64 << 10;

/// So many bytes of removed entries are not worth moving the others for.
const GARBAGE_BYTES_MIN: usize = 1 << 10;

#[derive(Debug)]
struct Leaf<T> {
    /// The entries one after the other as they came, removed ones among them.
    bytes: Vec<u8>,
    /// In the order of the entries.
    spans: Vec<EntrySpan<T>>,
    /// Bytes of removed entries.
    garbage: usize,
}

#[derive(Debug)]
struct EntrySpan<T> {
    start: u32,
    length: u32,
    value: T,
}

impl<T> EntrySpan<T> {
    fn of<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let start = self.start as usize;
        bytes.get(start..start + self.length as usize).unwrap_or_default()
    }
}

impl<T> Leaf<T> {
    fn with_capacity(entries: usize, bytes: usize) -> Leaf<T> {
        Leaf { bytes: Vec::with_capacity(bytes), spans: Vec::with_capacity(entries), garbage: 0 }
    }

    fn len(&self) -> usize {
        self.spans.len()
    }

    fn entry(&self, index: usize) -> Option<&[u8]> {
        self.spans.get(index).map(|span| span.of(&self.bytes))
    }

    fn last(&self) -> &[u8] {
        self.spans.last().map_or(&[], |span| span.of(&self.bytes))
    }

    fn is_full(&self, entry: &[u8]) -> bool {
        self.len() >= LEAF_ENTRIES_MAX || (self.len() > 1 && self.bytes.len() + entry.len() > LEAF_BYTES_MAX)
    }

    fn insert(&mut self, index: usize, entry: &[u8], value: T) {
        // A leaf holds 64 KiB, or two entries: far less than 4 GiB.
        let span = EntrySpan { start: self.bytes.len() as u32, length: entry.len() as u32, value };
        self.bytes.extend_from_slice(entry);
        self.spans.insert(index, span);
    }

    fn remove(&mut self, index: usize) -> EntrySpan<T> {
        let span = self.spans.remove(index);
        if span.start as usize + span.length as usize == self.bytes.len() {
            self.bytes.truncate(span.start as usize);
        } else {
            self.garbage += span.length as usize;
        }
        self.collect_garbage();
        span
    }

    fn collect_garbage(&mut self) {
        if self.garbage > GARBAGE_BYTES_MIN && self.garbage > self.bytes.len() / 2 {
            let spans = std::mem::take(&mut self.spans);
            *self = Leaf::of(spans, &self.bytes);
        }
    }

    /// A leaf of some of the entries of another one.
    fn of(spans: Vec<EntrySpan<T>>, bytes: &[u8]) -> Leaf<T> {
        let mut leaf = Leaf { bytes: Vec::with_capacity(bytes.len()), spans, garbage: 0 };
        for span in &mut leaf.spans {
            let entry = span.of(bytes);
            span.start = leaf.bytes.len() as u32;
            leaf.bytes.extend_from_slice(entry);
        }
        leaf
    }

    /// Leaves the first half here and gives the other one.
    fn split_off(&mut self) -> Leaf<T> {
        let upper = self.spans.split_off(self.len() / 2);
        let upper = Leaf::of(upper, &self.bytes);
        let lower = std::mem::take(&mut self.spans);
        *self = Leaf::of(lower, &self.bytes);
        upper
    }
}

/// A span in the map: of its first entry that is not before something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    leaf: usize,
    /// Less than the leaf has; 0 behind the last leaf.
    index: usize,
}

impl<T> EntryMap<T> {
    /// How many entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of all entries together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The last entry.
    pub(crate) fn last(&self) -> Option<&[u8]> {
        self.leaves.last().map(Leaf::last)
    }

    fn end(&self) -> Position {
        Position { leaf: self.leaves.len(), index: 0 }
    }

    /// The first position whose entry is not before `bound`, or with `passes_equal` is behind it.
    fn seek(&self, bound: &[u8], passes_equal: bool) -> Position {
        let before = |entry: &[u8]| match entry.cmp(bound) {
            Ordering::Less => true,
            Ordering::Equal => passes_equal,
            Ordering::Greater => false,
        };
        if self.last().is_none_or(before) {
            return self.end();
        }
        let fence = fence_of(bound);
        let first = self.fences.partition_point(|other| *other < fence);
        let alike = self.fences.get(first..).unwrap_or_default();
        let alike = alike.partition_point(|other| *other == fence);
        let leaves = self.leaves.get(first..first + alike).unwrap_or_default();
        let leaf = first + leaves.partition_point(|leaf| before(leaf.last()));
        let index = self
            .leaves
            .get(leaf)
            .map_or(0, |leaf| leaf.spans.partition_point(|span| before(span.of(&leaf.bytes))));
        Position { leaf, index }
    }

    fn find(&self, entry: &[u8]) -> Option<Position> {
        let position = self.seek(entry, false);
        let found = self.leaves.get(position.leaf)?.entry(position.index)?;
        (found == entry).then_some(position)
    }

    /// Adds an entry; if it is there already nothing happens, and its value is given.
    pub(crate) fn insert(&mut self, entry: &[u8], value: T) -> Option<&mut T> {
        let mut position = self.seek(entry, false);
        match self.leaves.get(position.leaf).and_then(|leaf| leaf.entry(position.index)) {
            Some(found) if found == entry => return self.value_mut(position),
            Some(_) => {}
            None => {
                self.push(entry, value);
                return None;
            }
        }
        if let Some(leaf) = self.leaves.get_mut(position.leaf).filter(|leaf| leaf.is_full(entry)) {
            let upper = leaf.split_off();
            let lower = leaf.len();
            self.fences.insert(position.leaf, fence_of(leaf.last()));
            self.leaves.insert(position.leaf + 1, upper);
            if position.index >= lower {
                position = Position { leaf: position.leaf + 1, index: position.index - lower };
            }
        }
        if let Some(leaf) = self.leaves.get_mut(position.leaf) {
            leaf.insert(position.index, entry, value);
            self.len += 1;
            self.bytes += entry.len();
        }
        None
    }

    /// Appends an entry that comes after all others.
    fn push(&mut self, entry: &[u8], value: T) {
        self.len += 1;
        self.bytes += entry.len();
        match self.leaves.last_mut() {
            Some(leaf) if !leaf.is_full(entry) => {
                leaf.insert(leaf.len(), entry, value);
                self.note_last(self.leaves.len() - 1);
            }
            last => {
                // The next leaf of many will be as full as the one before.
                let mut leaf = last.map_or_else(
                    || Leaf::with_capacity(1, entry.len()),
                    |last| Leaf::with_capacity(LEAF_ENTRIES_MAX, last.bytes.len()),
                );
                leaf.insert(0, entry, value);
                self.leaves.push(leaf);
                self.fences.push(fence_of(entry));
            }
        }
    }

    /// Sets the fence of a leaf that may have another last entry.
    fn note_last(&mut self, leaf: usize) {
        if let (Some(fence), Some(leaf)) = (self.fences.get_mut(leaf), self.leaves.get(leaf)) {
            *fence = fence_of(leaf.last());
        }
    }

    fn value_mut(&mut self, position: Position) -> Option<&mut T> {
        let span = self.leaves.get_mut(position.leaf)?.spans.get_mut(position.index)?;
        Some(&mut span.value)
    }

    /// The value of an entry.
    pub(crate) fn get_mut(&mut self, entry: &[u8]) -> Option<&mut T> {
        let position = self.find(entry)?;
        self.value_mut(position)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, entry: &[u8]) -> Option<T> {
        let position = self.find(entry)?;
        let leaf = self.leaves.get_mut(position.leaf)?;
        let span = leaf.remove(position.index);
        if leaf.spans.is_empty() {
            self.leaves.remove(position.leaf);
            self.fences.remove(position.leaf);
        } else {
            self.note_last(position.leaf);
        }
        self.len -= 1;
        self.bytes -= entry.len();
        Some(span.value)
    }

    /// Keeps only the entries that `stays` says; asks in their order.
    pub(crate) fn retain(&mut self, mut stays: impl FnMut(&[u8], &T) -> bool) {
        let (mut len, mut bytes) = (0, 0);
        self.leaves.retain_mut(|leaf| {
            let Leaf { bytes: stored, spans, garbage } = leaf;
            spans.retain(|span| {
                let stays = stays(span.of(stored), &span.value);
                match stays {
                    true => bytes += span.length as usize,
                    false => *garbage += span.length as usize,
                }
                stays
            });
            len += leaf.len();
            leaf.collect_garbage();
            !leaf.spans.is_empty()
        });
        self.fences = self.leaves.iter().map(|leaf| fence_of(leaf.last())).collect();
        (self.len, self.bytes) = (len, bytes);
    }

    /// All entries in order.
    pub(crate) fn iter(&self) -> Range<'_, T> {
        Range { map: self, from: Position { leaf: 0, index: 0 }, to: self.end() }
    }

    /// The entries of a range in order.
    pub(crate) fn range(&self, (lower, upper): (Bound<&[u8]>, Bound<&[u8]>)) -> Range<'_, T> {
        let from = match lower {
            Bound::Unbounded => Position { leaf: 0, index: 0 },
            Bound::Included(lower) => self.seek(lower, false),
            Bound::Excluded(lower) => self.seek(lower, true),
        };
        let to = match upper {
            Bound::Unbounded => self.end(),
            Bound::Included(upper) => self.seek(upper, true),
            Bound::Excluded(upper) => self.seek(upper, false),
        };
        Range { map: self, from, to }
    }
}

/// Entries of a map with their values, in order from both ends.
#[derive(Debug)]
pub(crate) struct Range<'a, T> {
    map: &'a EntryMap<T>,
    from: Position,
    /// Behind the last one.
    to: Position,
}

impl<'a, T> Range<'a, T> {
    fn at(&self, position: Position) -> Option<(&'a [u8], &'a T)> {
        let leaf = self.map.leaves.get(position.leaf)?;
        let span = leaf.spans.get(position.index)?;
        Some((span.of(&leaf.bytes), &span.value))
    }

    fn is_over(&self) -> bool {
        (self.from.leaf, self.from.index).cmp(&(self.to.leaf, self.to.index)) != Ordering::Less
    }
}

impl<'a, T> Iterator for Range<'a, T> {
    type Item = (&'a [u8], &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over() {
            return None;
        }
        let item = self.at(self.from);
        self.from.index += 1;
        if self.map.leaves.get(self.from.leaf).is_none_or(|leaf| self.from.index >= leaf.len()) {
            self.from = Position { leaf: self.from.leaf + 1, index: 0 };
        }
        item
    }
}

impl<T> DoubleEndedIterator for Range<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.is_over() {
            return None;
        }
        self.to = match self.to.index.checked_sub(1) {
            Some(index) => Position { index, ..self.to },
            None => {
                let leaf = self.to.leaf.checked_sub(1)?;
                Position { leaf, index: self.map.leaves.get(leaf)?.len().checked_sub(1)? }
            }
        };
        self.at(self.to)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::RangeBounds;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(Vec<u8>),
        /// Many, behind so many bytes that they have in common.
        InsertMany(u16, u16, usize),
        Remove(Vec<u8>),
        RemoveEvery(u8),
    }

    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => prop::collection::vec(0u8..4, 0..5),
            2 => prop::collection::vec(0u8..2, 0..20),
            1 => (prop::collection::vec(any::<u8>(), 0..3), 0usize..40_000)
                .prop_map(|(beginning, length)| [beginning, vec![7; length]].concat()),
        ]
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => key().prop_map(Step::Insert),
            3 => (any::<u16>(), 0u16..700, prop_oneof![Just(0), Just(15), Just(30)])
                .prop_map(|(from, count, common)| Step::InsertMany(from, count, common)),
            4 => key().prop_map(Step::Remove),
            1 => (2u8..5).prop_map(Step::RemoveEvery),
        ];
        prop::collection::vec(step, 0..40)
    }

    fn check(map: &EntryMap<u32>, model: &BTreeMap<Vec<u8>, u32>) {
        let expected: Vec<_> = model.iter().map(|(entry, value)| (entry.as_slice(), value)).collect();
        assert_eq!(map.iter().collect::<Vec<_>>(), expected);
        assert_eq!(map.iter().rev().collect::<Vec<_>>(), expected.into_iter().rev().collect::<Vec<_>>());
        assert_eq!(map.len(), model.len());
        assert_eq!(map.bytes(), model.keys().map(Vec::len).sum::<usize>());
        assert_eq!(map.last(), model.last_key_value().map(|(last, _)| last.as_slice()));
        assert!(map.leaves.iter().map(|leaf| fence_of(leaf.last())).eq(map.fences.iter().copied()));
    }

    proptest! {
        #[test]
        fn it_behaves_like_an_ordered_map(steps in steps(), lower in key(), upper in key()) {
            let mut map = EntryMap::default();
            let mut model = BTreeMap::new();
            let mut number = 0;
            let mut insert = |map: &mut EntryMap<u32>, model: &mut BTreeMap<Vec<u8>, u32>, entry: Vec<u8>| {
                number += 1;
                let known = map.insert(&entry, number).map(|known| *known);
                assert_eq!(known, model.get(&entry).copied());
                model.entry(entry).or_insert(number);
            };
            for step in steps {
                match step {
                    Step::Insert(entry) => insert(&mut map, &mut model, entry),
                    Step::InsertMany(from, count, common) => {
                        for row in from..from.saturating_add(count) {
                            let entry = [vec![1; common], row.to_be_bytes().to_vec()].concat();
                            insert(&mut map, &mut model, entry);
                        }
                    }
                    Step::Remove(entry) => {
                        prop_assert_eq!(map.get_mut(&entry).is_some(), model.contains_key(&entry));
                        prop_assert_eq!(map.remove(&entry), model.remove(&entry));
                    }
                    Step::RemoveEvery(nth) => {
                        map.retain(|_, value| value % u32::from(nth) != 0);
                        model.retain(|_, value| *value % u32::from(nth) != 0);
                    }
                }
                check(&map, &model);
            }
            for (entry, value) in &mut model {
                *value += 1;
                *map.get_mut(entry).expect("an entry") += 1;
            }
            check(&map, &model);
            for lower in [Bound::Unbounded, Bound::Included(lower.as_slice()), Bound::Excluded(lower.as_slice())] {
                for upper in [Bound::Unbounded, Bound::Included(upper.as_slice()), Bound::Excluded(upper.as_slice())] {
                    let expected: Vec<_> = model
                        .iter()
                        .map(|(entry, value)| (entry.as_slice(), value))
                        .filter(|(entry, _)| RangeBounds::<[u8]>::contains(&(lower, upper), *entry))
                        .collect();
                    let found: Vec<_> = map.range((lower, upper)).collect();
                    prop_assert_eq!(&found, &expected);
                    let found: Vec<_> = map.range((lower, upper)).rev().collect();
                    prop_assert!(found.iter().rev().eq(&expected));
                }
            }
        }
    }
}
