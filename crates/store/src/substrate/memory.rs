//! A substrate in memory that remembers which state was durable: for tests that crash.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    Direction, Durability, Entries, KeyBounds, KeySpan, Slice, SortedBatch, Space, Substrate, SubstrateState,
    WriteBatch, is_empty_span,
};
use crate::Result;

type Map = BTreeMap<Vec<u8>, Arc<[u8]>>;
type State = HashMap<Space, Arc<Map>>;

/// A substrate in memory. Each write copies the spaces that it touches: meant for small contents.
#[derive(Debug, Default)]
pub struct MemorySubstrate {
    states: Mutex<States>,
}

#[derive(Debug, Default)]
struct States {
    latest: State,
    durable: State,
}

impl MemorySubstrate {
    /// An empty one.
    pub fn new() -> MemorySubstrate {
        MemorySubstrate::default()
    }

    /// What a crash at this moment would leave behind.
    pub fn after_crash(&self) -> MemorySubstrate {
        let durable = self.states.lock().durable.clone();
        MemorySubstrate { states: Mutex::new(States { latest: durable.clone(), durable }) }
    }
}

impl Substrate for MemorySubstrate {
    fn snapshot(&self) -> Result<Arc<dyn SubstrateState>> {
        Ok(Arc::new(MemoryState { state: self.states.lock().latest.clone() }))
    }

    fn write(&self, batch: WriteBatch, durability: Durability) -> Result<()> {
        let SortedBatch { cleared, spaces, appended } = batch.into_sorted();
        let mut states = self.states.lock();
        for space in cleared {
            states.latest.remove(&space);
        }
        for (space, changes) in spaces {
            let map = Arc::make_mut(states.latest.entry(space).or_default());
            for (key, value) in changes {
                match value {
                    Some(value) => map.insert(key, value.into()),
                    None => map.remove(&key),
                };
            }
        }
        for (index, entries) in appended {
            let map = Arc::make_mut(states.latest.entry(Space::Index(index)).or_default());
            map.extend(entries.iter().map(|entry| (entry.to_vec(), [].into())));
        }
        if durability != Durability::Relaxed {
            states.durable = states.latest.clone();
        }
        Ok(())
    }
}

struct MemoryState {
    state: State,
}

impl SubstrateState for MemoryState {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        Ok(self.state.get(&space).and_then(|map| map.get(key)).map(|value| Slice::shared(Arc::clone(value))))
    }

    fn bounds(&self, space: Space) -> Result<Option<Arc<KeyBounds>>> {
        let ends = self.state.get(&space).and_then(|map| map.first_key_value().zip(map.last_key_value()));
        Ok(ends
            .map(|((first, _), (last, _))| Arc::new(KeyBounds { first: first.clone(), last: last.clone() })))
    }

    fn scan(&self, space: Space, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        let Some(map) = self.state.get(&space) else { return Ok(Box::new(std::iter::empty())) };
        Ok(Box::new(MemoryEntries {
            map: Arc::clone(map),
            lower: span.0.map(<[u8]>::to_vec),
            upper: span.1.map(<[u8]>::to_vec),
            direction,
        }))
    }
}

struct MemoryEntries {
    map: Arc<Map>,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
}

fn bound(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

impl Iterator for MemoryEntries {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        if is_empty_span((bound(&self.lower), bound(&self.upper))) {
            return None;
        }
        let mut range = self.map.range((self.lower.clone(), self.upper.clone()));
        let (key, value) = match self.direction {
            Direction::Forward => range.next()?,
            Direction::Backward => range.next_back()?,
        };
        match self.direction {
            Direction::Forward => self.lower = Bound::Excluded(key.clone()),
            Direction::Backward => self.upper = Bound::Excluded(key.clone()),
        }
        Some(Ok((Slice::shared(key.as_slice().into()), Slice::shared(Arc::clone(value)))))
    }
}
