//! Batches that the log has and the tree does not have yet: what is merged together later costs a fraction of what each
//! batch costs alone.
//!
//! # Promises
//! A snapshot never changes: a key keeps the changes of all batches, each with its batch's number, and a snapshot looks at
//! those up to its own. Once they are merged into the tree a new map begins; snapshots keep the one that they know. While
//! there is nothing to merge, snapshots are the tree's own.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};

use parking_lot::{Mutex, RwLock};

use crate::Result;
use crate::substrate::{
    Direction, Entries, KeyBounds, KeyChange, KeyRoom, KeySpan, Slice, Space, SubstrateState, VisitKey,
    WriteBatch, is_empty_span, visit_entries,
};

/// With so many changes they are merged: half a millisecond's work.
const CHANGES_MAX: usize = 512;
/// Or with so many bytes.
const BYTES_MAX: usize = 256 << 10;
/// Larger batches gain nothing by waiting for others.
const BATCH_BYTES_MAX: usize = 16 << 10;

type Bytes = Arc<[u8]>;

/// The batches since the latest merge.
#[derive(Debug, Default)]
pub(super) struct RecentBatches {
    /// Sorted by space.
    spaces: Arc<[(Space, Arc<SpaceChanges>)]>,
    /// How many batches there are: the number of the latest.
    batches: u64,
    changes: usize,
    bytes: usize,
}

/// The changes of a space.
#[derive(Debug, Default)]
struct SpaceChanges {
    keys: RwLock<BTreeMap<Bytes, KeyChanges>>,
    /// Whether a key was deleted.
    has_deletions: AtomicBool,
}

/// What became of a key: the latest change, and those before it, oldest first.
#[derive(Debug)]
struct KeyChanges {
    latest: Change,
    earlier: Vec<Change>,
}

/// A value that a batch has set, or `None` where it has deleted the key.
#[derive(Debug)]
struct Change {
    batch: u64,
    value: Option<Bytes>,
}

impl KeyChanges {
    /// The latest change up to a batch.
    fn until(&self, batch: u64) -> Option<&Change> {
        if self.latest.batch <= batch {
            return Some(&self.latest);
        }
        self.earlier.iter().rev().find(|change| change.batch <= batch)
    }
}

impl RecentBatches {
    /// Whether a batch may wait here. Row blocks may not: whoever keeps those that were read must know when the tree's
    /// pages change (`block_cache.rs`).
    pub(super) fn takes(&self, batch: &WriteBatch) -> bool {
        batch.cleared().is_empty()
            && batch.appended().is_empty()
            && batch.bytes() <= BATCH_BYTES_MAX
            && !batch.changes().any(|(space, _)| matches!(space, Space::Blocks(_)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches == 0
    }

    /// Whether it is time to merge them.
    pub(super) fn is_full(&self) -> bool {
        self.changes >= CHANGES_MAX || self.bytes >= BYTES_MAX
    }

    /// Adds a batch.
    pub(super) fn add(&mut self, batch: WriteBatch) {
        self.batches += 1;
        self.bytes += batch.bytes();
        for (space, changes) in batch.into_changes() {
            self.changes += changes.len();
            self.space(space).add(self.batches, changes);
        }
    }

    fn space(&mut self, space: Space) -> Arc<SpaceChanges> {
        match self.spaces.binary_search_by_key(&space, |(space, _)| *space) {
            Ok(at) => Arc::clone(&self.spaces[at].1),
            Err(at) => {
                let added = Arc::<SpaceChanges>::default();
                let mut spaces = self.spaces.to_vec();
                spaces.insert(at, (space, Arc::clone(&added)));
                self.spaces = spaces.into();
                added
            }
        }
    }

    /// What all batches together change.
    pub(super) fn merged(&self) -> WriteBatch {
        let mut batch = WriteBatch::new();
        for (space, changes) in self.spaces.iter() {
            for (key, changes) in changes.keys.read().iter() {
                match &changes.latest.value {
                    Some(value) => batch.put(*space, key.to_vec(), value.to_vec()),
                    None => batch.delete(*space, key.to_vec()),
                }
            }
        }
        batch
    }

    /// The tree's snapshot with these batches over it.
    pub(super) fn over(&self, base: Arc<dyn SubstrateState>) -> Arc<dyn SubstrateState> {
        if self.is_empty() {
            return base;
        }
        Arc::new(RecentState {
            base,
            spaces: Arc::clone(&self.spaces),
            until: self.batches,
            bounds: Mutex::default(),
        })
    }
}

impl SpaceChanges {
    fn add(&self, batch: u64, changes: Vec<KeyChange>) {
        let mut keys = self.keys.write();
        for (key, value) in changes {
            if value.is_none() {
                self.has_deletions.store(true, atomic::Ordering::Release);
            }
            let change = Change { batch, value: value.map(Bytes::from) };
            match keys.get_mut(key.as_slice()) {
                None => {
                    keys.insert(key.into(), KeyChanges { latest: change, earlier: Vec::new() });
                }
                Some(known) => {
                    let before = std::mem::replace(&mut known.latest, change);
                    if before.batch != batch {
                        known.earlier.push(before);
                    }
                }
            }
        }
    }

    /// What batches up to `until` made of a key, if they touched it.
    fn get(&self, key: &[u8], until: u64) -> Option<Option<Bytes>> {
        self.keys.read().get(key)?.until(until).map(|change| change.value.clone())
    }

    /// The first or the last key of a span that batches up to `until` have touched, and its value.
    fn end_of(&self, span: KeySpan<'_>, direction: Direction, until: u64) -> Option<(Bytes, Option<Bytes>)> {
        if is_empty_span(span) {
            return None;
        }
        let keys = self.keys.read();
        let touched = |(key, changes): (&Bytes, &KeyChanges)| {
            changes.until(until).map(|change| (Arc::clone(key), change.value.clone()))
        };
        let mut range = keys.range::<[u8], _>(span);
        match direction {
            Direction::Forward => range.find_map(touched),
            Direction::Backward => range.rev().find_map(touched),
        }
    }
}

/// A state of the tree, and of the batches over it.
struct RecentState {
    base: Arc<dyn SubstrateState>,
    spaces: Arc<[(Space, Arc<SpaceChanges>)]>,
    /// The latest batch that it shows.
    until: u64,
    bounds: Mutex<HashMap<Space, Option<Arc<KeyBounds>>>>,
}

impl RecentState {
    fn changes(&self, space: Space) -> Option<&Arc<SpaceChanges>> {
        let at = self.spaces.binary_search_by_key(&space, |(space, _)| *space).ok()?;
        Some(&self.spaces[at].1)
    }

    fn find_bounds(&self, space: Space, changes: &SpaceChanges) -> Result<Option<Arc<KeyBounds>>> {
        if changes.has_deletions.load(atomic::Ordering::Acquire) {
            // The base's first or last key may be among the deleted ones.
            let end = |direction| -> Result<Option<Vec<u8>>> {
                let first = self.scan(space, crate::substrate::ALL_KEYS, direction)?.next().transpose()?;
                Ok(first.map(|(key, _)| key.to_vec()))
            };
            let ends = end(Direction::Forward)?.zip(end(Direction::Backward)?);
            return Ok(ends.map(|(first, last)| Arc::new(KeyBounds { first, last })));
        }
        let base = self.base.bounds(space)?;
        let end = |direction| changes.end_of(crate::substrate::ALL_KEYS, direction, self.until);
        let ends = end(Direction::Forward).zip(end(Direction::Backward));
        let Some(((first, _), (last, _))) = ends else { return Ok(base) };
        Ok(Some(Arc::new(match base {
            None => KeyBounds { first: first.to_vec(), last: last.to_vec() },
            Some(base) => KeyBounds {
                first: base.first.as_slice().min(&first).to_vec(),
                last: base.last.as_slice().max(&last).to_vec(),
            },
        })))
    }
}

impl SubstrateState for RecentState {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        match self.changes(space).and_then(|changes| changes.get(key, self.until)) {
            Some(value) => Ok(value.map(Slice::shared)),
            None => self.base.get(space, key),
        }
    }

    fn bytes(&self, space: Space) -> Result<u64> {
        self.base.bytes(space)
    }

    fn bounds(&self, space: Space) -> Result<Option<Arc<KeyBounds>>> {
        let Some(changes) = self.changes(space) else { return self.base.bounds(space) };
        if let Some(known) = self.bounds.lock().get(&space) {
            return Ok(known.clone());
        }
        let bounds = self.find_bounds(space, changes)?;
        self.bounds.lock().insert(space, bounds.clone());
        Ok(bounds)
    }

    fn visit_keys(
        &self,
        space: Space,
        span: KeySpan<'_>,
        room: &mut KeyRoom,
        visit: VisitKey<'_>,
    ) -> Result<()> {
        let touched = self.changes(space).and_then(|all| all.end_of(span, Direction::Forward, self.until));
        match touched {
            None => self.base.visit_keys(space, span, room, visit),
            Some(_) => visit_entries(self.scan(space, span, Direction::Forward)?, visit),
        }
    }

    fn scan(&self, space: Space, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        let base = self.base.scan(space, span, direction)?;
        let Some(changes) = self.changes(space) else { return Ok(base) };
        let Some(next) = changes.end_of(span, direction, self.until) else { return Ok(base) };
        Ok(Box::new(MergedEntries {
            base: base.fuse(),
            base_next: None,
            changes: Arc::clone(changes),
            until: self.until,
            // Where a scan begins is behind it with the first step.
            behind: match direction {
                Direction::Forward => span.1.map(Bytes::from),
                Direction::Backward => span.0.map(Bytes::from),
            },
            next: Some(next),
            direction,
        }))
    }
}

/// A scan of the tree and of the batches over it.
struct MergedEntries {
    base: std::iter::Fuse<Entries>,
    base_next: Option<(Slice, Slice)>,
    changes: Arc<SpaceChanges>,
    until: u64,
    /// Where the scan ends.
    behind: Bound<Bytes>,
    /// The next change; `None`: from here on the base's entries are all.
    next: Option<(Bytes, Option<Bytes>)>,
    direction: Direction,
}

impl MergedEntries {
    /// Takes a change, and looks for the one behind it.
    fn take_change(&mut self) -> Option<(Bytes, Option<Bytes>)> {
        let taken = self.next.take()?;
        let behind = self.behind.as_ref().map(|key| &**key);
        let span: KeySpan<'_> = match self.direction {
            Direction::Forward => (Bound::Excluded(&taken.0), behind),
            Direction::Backward => (behind, Bound::Excluded(&taken.0)),
        };
        self.next = self.changes.end_of(span, self.direction, self.until);
        Some(taken)
    }

    /// Whether the base's next entry stands before, at or behind the next change.
    fn base_to_change(&self, change: &[u8]) -> Ordering {
        match (&self.base_next, self.direction) {
            (None, _) => Ordering::Greater,
            (Some((key, _)), Direction::Forward) => (**key).cmp(change),
            (Some((key, _)), Direction::Backward) => change.cmp(key),
        }
    }
}

impl Iterator for MergedEntries {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((key, _)) = &self.next else {
                return self.base_next.take().map(Ok).or_else(|| self.base.next());
            };
            if self.base_next.is_none() {
                match self.base.next().transpose() {
                    Ok(entry) => self.base_next = entry,
                    Err(error) => {
                        self.next = None;
                        return Some(Err(error));
                    }
                }
            }
            match self.base_to_change(key) {
                Ordering::Less => return self.base_next.take().map(Ok),
                Ordering::Equal => self.base_next = None,
                Ordering::Greater => {}
            }
            if let (key, Some(value)) = self.take_change()? {
                return Some(Ok((Slice::shared(key), Slice::shared(value))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::substrate::{Durability, MemorySubstrate, Substrate};
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// A key, and its new value; none: it is deleted.
    type Step = (u8, Option<u8>);

    fn batch(steps: &[Step]) -> WriteBatch {
        let mut batch = WriteBatch::new();
        for (key, value) in steps {
            match value {
                Some(value) => batch.put(Space::Catalog, vec![*key], vec![*value]),
                None => batch.delete(Space::Catalog, vec![*key]),
            }
        }
        batch
    }

    fn entries(
        snapshot: &dyn SubstrateState,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let entries = snapshot.scan(Space::Catalog, span, direction).expect("scan");
        entries
            .map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())).expect("entry"))
            .collect()
    }

    fn visited(snapshot: &dyn SubstrateState, span: KeySpan<'_>) -> Vec<Vec<u8>> {
        let (mut keys, mut room) = (Vec::new(), KeyRoom::default());
        let mut visit = |key: &[u8]| {
            keys.push(key.to_vec());
            Ok(keys.len() < 3)
        };
        snapshot.visit_keys(Space::Catalog, span, &mut room, &mut visit).expect("visit");
        keys
    }

    fn is_same(a: &dyn SubstrateState, b: &dyn SubstrateState, from: u8, until: u8) {
        let (from, until) = ([from], [until]);
        let spans = [
            crate::substrate::ALL_KEYS,
            (Bound::Included(&from[..]), Bound::Excluded(&until[..])),
            (Bound::Excluded(&from[..]), Bound::Unbounded),
        ];
        for span in spans {
            for direction in [Direction::Forward, Direction::Backward] {
                assert_eq!(entries(a, span, direction), entries(b, span, direction));
            }
            assert_eq!(visited(a, span), visited(b, span));
        }
        for key in 0..24 {
            let value = |snapshot: &dyn SubstrateState| {
                snapshot.get(Space::Catalog, &[key]).expect("get").map(|value| value.to_vec())
            };
            assert_eq!(value(a), value(b));
        }
        assert_eq!(a.bounds(Space::Catalog).expect("bounds"), b.bounds(Space::Catalog).expect("bounds"));
    }

    proptest! {
        #[test]
        fn batches_over_a_tree_look_as_if_they_were_in_it(
            below in vec((0u8..24, Just(Some(0u8))), 0..12),
            batches in vec(vec((0u8..24, prop::option::weighted(0.6, any::<u8>())), 0..5), 1..8),
            from in 0u8..24,
            until in 0u8..24,
        ) {
            let base = MemorySubstrate::new();
            let whole = MemorySubstrate::new();
            for substrate in [&base, &whole] {
                substrate.write(batch(&below), Durability::Durable).expect("write");
            }
            let mut recent = RecentBatches::default();
            let mut snapshots = Vec::new();
            for steps in &batches {
                recent.add(batch(steps));
                whole.write(batch(steps), Durability::Durable).expect("write");
                snapshots.push((recent.over(base.snapshot().expect("base")), whole.snapshot().expect("whole")));
            }
            // Each as of its batch, whatever came later.
            for (recent, whole) in &snapshots {
                is_same(&**recent, &**whole, from, until);
            }
            base.write(recent.merged(), Durability::Durable).expect("write");
            is_same(&*base.snapshot().expect("base"), &*whole.snapshot().expect("whole"), from, until);
        }
    }
}
