//! An ordered map whose copies share what they have in common.
//!
//! A transaction's catalog is a copy of the committed one with a few objects replaced. A copy of this map costs one reference
//! count; a change of a copy copies one chunk of entries and the list of chunks, some microseconds among a hundred thousand
//! entries. The persistent maps of crates.io are under the MPL or rest on unsafe code, and a catalog needs no more than this.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Most entries of a chunk; one that would have more is cut in two.
const CHUNK_MAX: usize = 64;

/// Sorted by key, keys unique; not empty.
type Chunk<K, V> = Vec<(K, V)>;

/// A map in the order of its keys. Cloning it is cheap, and so is changing a clone.
#[derive(Clone)]
pub struct OrderedMap<K, V> {
    /// The keys of a chunk are all less than those of the next.
    chunks: Arc<Vec<Arc<Chunk<K, V>>>>,
    length: usize,
}

impl<K, V> OrderedMap<K, V> {
    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All entries.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|(key, value)| (key, value))
    }

    /// All keys.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// All values.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> OrderedMap<K, V> {
    /// Where a key is, or the place it would have: a chunk and a place in it.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<(usize, usize), (usize, usize)>
    where
        K: Borrow<Q>,
    {
        let after = self
            .chunks
            .partition_point(|chunk| chunk.first().is_some_and(|(first, _)| first.borrow() <= key));
        let number = after.saturating_sub(1);
        let Some(chunk) = self.chunks.get(number) else { return Err((0, 0)) };
        match chunk.binary_search_by(|(known, _)| known.borrow().cmp(key)) {
            Ok(place) => Ok((number, place)),
            Err(place) => Err((number, place)),
        }
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (number, place) = self.find(key).ok()?;
        Some(&self.chunks.get(number)?.get(place)?.1)
    }

    /// Whether it has a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }
}

impl<K: Ord + Clone, V: Clone> OrderedMap<K, V> {
    /// Gives a key a value; the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let found = self.find(&key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let (Ok((number, place)) | Err((number, place))) = found;
        let Some(chunk) = chunks.get_mut(number) else {
            chunks.push(Arc::new(vec![(key, value)]));
            self.length += 1;
            return None;
        };
        let chunk = Arc::make_mut(chunk);
        if found.is_ok() {
            return chunk.get_mut(place).map(|(_, known)| std::mem::replace(known, value));
        }
        chunk.insert(place, (key, value));
        self.length += 1;
        if chunk.len() > CHUNK_MAX {
            // In the middle, but at the end where keys come in order: chunks are full then.
            let cut = if place + 1 == chunk.len() { CHUNK_MAX } else { CHUNK_MAX / 2 };
            let rest = chunk.split_off(cut);
            chunks.insert(number + 1, Arc::new(rest));
        }
        None
    }

    /// Takes a key out; the value that it had.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (number, place) = self.find(key).ok()?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = Arc::make_mut(chunks.get_mut(number)?);
        let (_, value) = chunk.remove(place);
        if chunk.is_empty() {
            chunks.remove(number);
        }
        self.length -= 1;
        Some(value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (number, place) = self.find(key).ok()?;
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(number)?;
        Some(&mut Arc::make_mut(chunk).get_mut(place)?.1)
    }
}

impl<V> OrderedMap<String, V> {
    /// The entries whose keys begin with a text.
    pub fn beginning(&self, start: String) -> impl Iterator<Item = (&String, &V)> {
        let (Ok((number, place)) | Err((number, place))) = self.find(&start);
        let chunks = self.chunks.get(number..).unwrap_or_default();
        let entries = chunks.iter().flat_map(|chunk| chunk.iter()).skip(place);
        entries.map(|(key, value)| (key, value)).take_while(move |(key, _)| key.starts_with(&start))
    }
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        OrderedMap { chunks: Arc::default(), length: 0 }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for OrderedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u16, u8),
        Remove(u16),
        Change(u16, u8),
        Copy,
    }

    fn step() -> impl Strategy<Value = Step> {
        let key = || 0..600u16;
        prop_oneof![
            6 => (key(), any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
            3 => key().prop_map(Step::Remove),
            1 => (key(), any::<u8>()).prop_map(|(key, value)| Step::Change(key, value)),
            1 => Just(Step::Copy),
        ]
    }

    fn assert_same(map: &OrderedMap<u16, u8>, model: &BTreeMap<u16, u8>) {
        assert!(map.iter().eq(model.iter()), "{map:?} {model:?}");
        assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
    }

    proptest! {
        #[test]
        fn it_is_as_a_tree_and_copies_stay_as_they_were(steps in prop::collection::vec(step(), 0..1_500)) {
            let mut map = OrderedMap::default();
            let mut model = BTreeMap::new();
            let mut copies = Vec::new();
            for step in steps {
                match step {
                    Step::Insert(key, value) => assert_eq!(map.insert(key, value), model.insert(key, value)),
                    Step::Remove(key) => assert_eq!(map.remove(&key), model.remove(&key)),
                    Step::Change(key, value) => {
                        assert_eq!(map.get_mut(&key).map(|it| *it = value), model.get_mut(&key).map(|it| *it = value));
                    }
                    Step::Copy => copies.push((map.clone(), model.clone())),
                }
            }
            copies.push((map, model));
            for (map, model) in &copies {
                assert_same(map, model);
                for key in 0..600 {
                    assert_eq!(map.get(&key), model.get(&key));
                }
            }
        }
    }

    #[test]
    fn names_that_begin_alike_stand_together() {
        let mut map = OrderedMap::default();
        for number in 0..1_000 {
            map.insert(format!("{}.{number}", number % 7), number);
        }
        assert_eq!(map.beginning(String::from("3.")).count(), 143);
        assert!(map.beginning(String::from("3.")).all(|(_, number)| number % 7 == 3));
        assert_eq!(map.beginning(String::from("9")).count(), 0);
    }
}
