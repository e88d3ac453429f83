//! The substrate: an ordered key-value store with read snapshots and atomic write batches.
//!
//! Nothing above this trait knows which substrate it stands on. Snapshots are short: one batch of rows, never a whole
//! transaction. What a transaction sees is decided by commit numbers, above.

mod fault;
mod file;
mod leaf_tables;
mod leaves;
mod memory;
mod overlay;
mod pages;
mod sorted_changes;
mod sorted_entries;

use std::collections::HashSet;
use std::fmt;
use std::ops::{Bound, Deref};
use std::sync::Arc;

use crate::block_cache::BlockCache;
use crate::figures::FileFigures;
use crate::identifiers::IdMap;
use crate::{IndexId, RelationId, Result, StoreError};

pub use file::RedbSubstrate;
#[doc(hidden)]
pub use leaves::{KeyRoom, try_leaf};
pub use memory::MemorySubstrate;
pub(crate) use overlay::Overlay;
pub(crate) use pages::{MAGIC, damaged_pages};
pub use sorted_entries::SortedEntries;

/// A keyspace of its own within the substrate, so that appends to one stay appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// What the store must know of itself: format, counters, marks of unfinished work.
    Meta,
    /// The engine's catalog entries.
    Catalog,
    /// Sequences.
    Sequences,
    /// BLOBs: what is smaller than a page.
    Blobs,
    /// Parts of BLOBs that fill pages.
    BlobPages,
    /// Which BLOBs have the contents of others.
    BlobReferences,
    /// Recent versions of a relation's rows.
    Versions(RelationId),
    /// Changes of a relation's rows that large transactions have spilled before their end.
    Changes(RelationId),
    /// Row blocks of a relation.
    Blocks(RelationId),
    /// Entries of an index: keys of at least [8 bytes](crate::keyspace::ROW_BYTES), without values.
    Index(IndexId),
}

/// When a write batch is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the write returns, with everything written before it.
    Durable,
    /// With the next durable batch; a crash before that takes it back, whole.
    Relaxed,
    /// As `Durable`, and where it belongs: nothing up to it is left to be merged, and space given up before can be used again.
    Checkpoint,
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards greater keys.
    Forward,
    /// Towards smaller keys.
    Backward,
}

/// Bounds of a scan.
pub type KeySpan<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// All keys.
pub const ALL_KEYS: KeySpan<'static> = (Bound::Unbounded, Bound::Unbounded);

/// Whether the bounds stand in the wrong order or hold no key between them.
pub(crate) fn is_empty_span(span: KeySpan<'_>) -> bool {
    match span {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (
            Bound::Included(lower) | Bound::Excluded(lower),
            Bound::Included(upper) | Bound::Excluded(upper),
        ) => lower >= upper,
        _ => false,
    }
}

/// Entries of a scan: keys and values. Keeps what it reads alive by itself.
pub type Entries = Box<dyn Iterator<Item = Result<(Slice, Slice)>>>;

/// An ordered key-value store.
pub trait Substrate: fmt::Debug + Send + Sync {
    /// The state after the latest write.
    fn snapshot(&self) -> Result<Arc<dyn SubstrateState>>;

    /// Writes a batch, all or nothing. Batches take effect in the order of the calls.
    ///
    /// # Errors
    /// Nothing of the batch is there then, unless the substrate [is broken](Substrate::is_broken) by it.
    fn write(&self, batch: WriteBatch, durability: Durability) -> Result<()>;

    /// Does what writes have put off, since nobody writes now; whether a new snapshot is to be preferred to older ones,
    /// which show the same.
    fn rest(&self) -> Result<bool> {
        Ok(false)
    }

    /// The names of spaces that are there but not `known`, with the bytes that they take. Nothing, if it cannot tell.
    fn unknown_spaces(&self, known: &HashSet<Space>) -> Result<Vec<(String, u64)>> {
        let _ = known;
        Ok(Vec::new())
    }

    /// Whether a write has failed such that its outcome is unknown, and nothing more can be written before
    /// [`Substrate::reopen`].
    fn is_broken(&self) -> bool {
        false
    }

    /// What it has read and written since it was opened; nothing, if it does not count.
    fn figures(&self) -> FileFigures {
        FileFigures::default()
    }

    /// Goes back to the latest durable state that the storage holds. Snapshots taken before give
    /// [`crate::StoreError::Reopened`].
    fn reopen(&self) -> Result<Reopened> {
        Ok(Reopened::Writable)
    }
}

/// What can be done after [`Substrate::reopen`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopened {
    /// All.
    Writable,
    /// Reading only: the storage refuses to be written to.
    ReadOnly,
}

/// A state of the substrate that does not change any more.
pub trait SubstrateState: Send + Sync {
    /// The value of a key.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>>;

    /// What a space takes in the file, in bytes: all its pages are looked at. 0, if it cannot tell.
    fn bytes(&self, space: Space) -> Result<u64> {
        let _ = space;
        Ok(0)
    }

    /// The first and the last key of a space, or `None` if it is empty. Cheap when asked again.
    fn bounds(&self, space: Space) -> Result<Option<Arc<KeyBounds>>>;

    /// The entries of a range of keys in order.
    fn scan(&self, space: Space, span: KeySpan<'_>, direction: Direction) -> Result<Entries>;

    /// Shows the keys of a range to `visit`, in ascending order, until it says that it has enough (false). For ranges of few keys:
    /// less is made for it than for a scan. Who visits ranges one behind the other finds the next one sooner with the same `room`.
    ///
    /// # Errors
    /// Those of reading, and of `visit`.
    fn visit_keys(
        &self,
        space: Space,
        span: KeySpan<'_>,
        room: &mut KeyRoom,
        visit: VisitKey<'_>,
    ) -> Result<()> {
        let _ = room;
        visit_entries(self.scan(space, span, Direction::Forward)?, visit)
    }

    /// What single rows of a relation are looked for by, beside its blocks. Cheap when asked again.
    fn row_spaces(&self, relation: RelationId) -> Result<RowSpaces> {
        Ok(RowSpaces {
            versions: self.bounds(Space::Versions(relation))?,
            has_changes: self.bounds(Space::Changes(relation))?.is_some(),
        })
    }

    /// Blocks that were read from it, if it keeps them: the store's own snapshots do.
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "nobody else gives or takes it")]
    fn block_cache(&self) -> Option<&BlockCache> {
        None
    }
}

/// Is shown a key; says whether it wants to see another one.
pub type VisitKey<'a> = &'a mut dyn FnMut(&[u8]) -> Result<bool>;

/// Shows the keys of a scan to `visit` until it has enough.
pub(crate) fn visit_entries(
    entries: impl Iterator<Item = Result<(Slice, Slice)>>,
    visit: VisitKey<'_>,
) -> Result<()> {
    for entry in entries {
        if !visit(&entry?.0)? {
            break;
        }
    }
    Ok(())
}

/// What is known of the spaces of a relation's rows.
#[derive(Debug, Clone)]
pub struct RowSpaces {
    /// The first and the last version, if there are any.
    pub versions: Option<Arc<KeyBounds>>,
    /// Whether there may be spilled changes.
    pub has_changes: bool,
}

/// The state of a substrate that must be opened again before it can be read.
pub(crate) struct Unreadable;

impl SubstrateState for Unreadable {
    fn get(&self, _: Space, _: &[u8]) -> Result<Option<Slice>> {
        Err(StoreError::Poisoned)
    }

    fn bounds(&self, _: Space) -> Result<Option<Arc<KeyBounds>>> {
        Err(StoreError::Poisoned)
    }

    fn scan(&self, _: Space, _: KeySpan<'_>, _: Direction) -> Result<Entries> {
        Err(StoreError::Poisoned)
    }
}

/// The first and the last key of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyBounds {
    /// The first key.
    pub first: Vec<u8>,
    /// The last key.
    pub last: Vec<u8>,
}

/// Bytes read from a substrate, without copying where it can.
pub struct Slice(Bytes);

enum Bytes {
    Page(redb::AccessGuard<'static, &'static [u8]>),
    Shared(Arc<[u8]>),
    /// The first so many of these.
    Few(u8, [u8; FEW_BYTES]),
}

/// Bytes that are copied into a slice itself.
const FEW_BYTES: usize = 62;

impl Slice {
    fn page(guard: redb::AccessGuard<'static, &'static [u8]>) -> Slice {
        Slice(Bytes::Page(guard))
    }

    pub(crate) fn shared(bytes: Arc<[u8]>) -> Slice {
        Slice(Bytes::Shared(bytes))
    }

    /// The same bytes apart from the page that they stand in; `None` if they are already.
    pub(crate) fn detached(&self) -> Option<Slice> {
        match &self.0 {
            Bytes::Page(guard) => Some(Slice::copy(guard.value())),
            Bytes::Shared(_) | Bytes::Few(..) => None,
        }
    }

    fn copy(bytes: &[u8]) -> Slice {
        let mut few = [0; FEW_BYTES];
        match (few.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(bytes);
                Slice(Bytes::Few(length, few))
            }
            _ => Slice::shared(bytes.into()),
        }
    }
}

impl Deref for Slice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Page(guard) => guard.value(),
            Bytes::Shared(bytes) => bytes,
            Bytes::Few(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
        }
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slice({} bytes)", self.len())
    }
}

/// Changes that take effect together. Later changes of a key win over earlier ones.
#[derive(Debug, Default)]
pub struct WriteBatch {
    cleared: Vec<Space>,
    changes: IdMap<Space, Vec<KeyChange>>,
    appended: Vec<(IndexId, SortedEntries)>,
    bytes: usize,
}

/// A key with its new value, or `None` if it is deleted.
pub(crate) type KeyChange = (Vec<u8>, Option<Vec<u8>>);

impl WriteBatch {
    /// A batch without changes.
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Sets a key.
    pub fn put(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) {
        self.bytes += key.len() + value.len();
        self.changes.entry(space).or_default().push((key, Some(value)));
    }

    /// Sets keys to an empty value.
    pub fn put_keys<'k>(&mut self, space: Space, keys: impl Iterator<Item = &'k [u8]>) {
        let mut keys = keys.peekable();
        if keys.peek().is_none() {
            return;
        }
        let changes = self.changes.entry(space).or_default();
        for key in keys {
            self.bytes += key.len();
            changes.push((key.to_vec(), Some(Vec::new())));
        }
    }

    /// Deletes a key, if it is there.
    pub fn delete(&mut self, space: Space, key: Vec<u8>) {
        self.bytes += key.len();
        self.changes.entry(space).or_default().push((key, None));
    }

    /// Deletes all that a space holds, before the batch's other changes.
    pub fn clear(&mut self, space: Space) {
        self.cleared.push(space);
    }

    /// Adds entries to an index behind all that it has, after the batch's other changes. Such a batch is not logged: it is for more
    /// entries than a few.
    pub fn append_entries(&mut self, index: IndexId, entries: SortedEntries) {
        self.bytes += entries.bytes();
        self.appended.push((index, entries));
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.cleared.is_empty() && self.changes.is_empty() && self.appended.is_empty()
    }

    /// Size of all keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds another batch's changes after this one's.
    pub fn append(&mut self, other: WriteBatch) {
        self.cleared.extend(other.cleared);
        self.appended.extend(other.appended);
        self.bytes += other.bytes;
        for (space, changes) in other.changes {
            self.changes.entry(space).or_default().extend(changes);
        }
    }

    /// The spaces that are cleared first.
    pub(crate) fn cleared(&self) -> &[Space] {
        &self.cleared
    }

    /// The changes by space, in the order in which they were made.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (Space, &[KeyChange])> {
        self.changes.iter().map(|(space, changes)| (*space, changes.as_slice()))
    }

    /// As [`WriteBatch::changes`], to keep.
    pub(crate) fn into_changes(self) -> impl Iterator<Item = (Space, Vec<KeyChange>)> {
        self.changes.into_iter()
    }

    /// The indexes that get entries behind all others, and these.
    pub(crate) fn appended(&self) -> &[(IndexId, SortedEntries)] {
        &self.appended
    }

    /// What is cleared; the changes by space, each in key order, the latest of a key last; what is appended.
    fn into_sorted(self) -> SortedBatch {
        let mut spaces: Vec<_> = self.changes.into_iter().collect();
        spaces.sort_by_key(|(space, _)| *space);
        for (_, changes) in &mut spaces {
            changes.sort_by(|a, b| a.0.cmp(&b.0));
        }
        SortedBatch { cleared: self.cleared, spaces, appended: self.appended }
    }
}

/// A batch as it is written: first what is cleared, then changes, then what is appended.
struct SortedBatch {
    cleared: Vec<Space>,
    spaces: Vec<(Space, Vec<KeyChange>)>,
    appended: Vec<(IndexId, SortedEntries)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(snapshot: &Arc<dyn SubstrateState>, span: KeySpan<'_>, direction: Direction) -> Vec<Vec<u8>> {
        let entries = snapshot.scan(Space::Catalog, span, direction).expect("scan");
        entries.map(|entry| entry.expect("entry").0.to_vec()).collect()
    }

    fn behaves_like_an_ordered_map(substrate: &dyn Substrate) {
        let before = substrate.snapshot().expect("snapshot");
        let mut batch = WriteBatch::new();
        for key in [b"b", b"a", b"d", b"c"] {
            batch.put(Space::Catalog, key.to_vec(), key.repeat(3));
        }
        batch.put(Space::Catalog, b"a".to_vec(), b"later".to_vec());
        batch.delete(Space::Catalog, b"d".to_vec());
        substrate.write(batch, Durability::Durable).expect("write");
        let after = substrate.snapshot().expect("snapshot");
        assert!(before.get(Space::Catalog, b"a").expect("get").is_none());
        assert_eq!(&*after.get(Space::Catalog, b"a").expect("get").expect("value"), b"later");
        assert!(after.get(Space::Blobs, b"a").expect("get").is_none());
        assert_eq!(keys(&after, ALL_KEYS, Direction::Forward), [b"a", b"b", b"c"]);
        let bounds = after.bounds(Space::Catalog).expect("bounds").expect("keys");
        assert_eq!((bounds.first.as_slice(), bounds.last.as_slice()), (&b"a"[..], &b"c"[..]));
        assert!(before.bounds(Space::Catalog).expect("bounds").is_none());
        assert_eq!(keys(&after, ALL_KEYS, Direction::Backward), [b"c", b"b", b"a"]);
        let span = (Bound::Excluded(&b"a"[..]), Bound::Included(&b"b"[..]));
        assert_eq!(keys(&after, span, Direction::Backward), [b"b"]);
        let empty = (Bound::Excluded(&b"b"[..]), Bound::Excluded(&b"b"[..]));
        assert!(keys(&after, empty, Direction::Forward).is_empty());
        let reversed = (Bound::Included(&b"c"[..]), Bound::Included(&b"a"[..]));
        assert!(keys(&after, reversed, Direction::Forward).is_empty());
        let mut batch = WriteBatch::new();
        batch.put(Space::Catalog, b"z".to_vec(), Vec::new());
        batch.clear(Space::Catalog);
        substrate.write(batch, Durability::Relaxed).expect("write");
        assert_eq!(keys(&after, ALL_KEYS, Direction::Forward).len(), 3);
        assert_eq!(keys(&substrate.snapshot().expect("snapshot"), ALL_KEYS, Direction::Forward), [b"z"]);
    }

    #[test]
    fn memory_behaves_like_an_ordered_map() {
        behaves_like_an_ordered_map(&MemorySubstrate::new());
    }

    #[test]
    fn redb_behaves_like_an_ordered_map() {
        behaves_like_an_ordered_map(&RedbSubstrate::in_memory(1 << 20).expect("open"));
    }

    #[test]
    fn entries_of_an_index_are_found_in_whatever_order_they_are_looked_for() {
        const ENTRIES: u64 = 4_000;
        let entry = |number: u64| [&(3 * number).to_be_bytes()[..], &number.to_be_bytes()[..]].concat();
        let substrate = RedbSubstrate::in_memory(1 << 20).expect("open");
        let mut batch = WriteBatch::new();
        let all: Vec<Vec<u8>> = (0..ENTRIES).map(entry).collect();
        batch.put_keys(Space::Index(IndexId(7)), all.iter().map(Vec::as_slice));
        substrate.write(batch, Durability::Durable).expect("write");
        let snapshot = substrate.snapshot().expect("snapshot");
        // In order, the same again and again, in turns far from each other, and all over.
        let places = (0..3 * ENTRIES + 3)
            .chain((0..300).map(|_| 5_000))
            .chain((0..3_000).map(|step| if step % 2 == 0 { step } else { 3 * ENTRIES - step }))
            .chain((0..3_000).map(|step| step * 7_919 % (3 * ENTRIES)));
        let mut room = KeyRoom::default();
        for place in places {
            let from = place.to_be_bytes();
            let span = (Bound::Included(&from[..]), Bound::Unbounded);
            let mut found = snapshot.scan(Space::Index(IndexId(7)), span, Direction::Forward).expect("scan");
            for expected in all.iter().skip(place.div_ceil(3) as usize).take(2) {
                let (found, _) = found.next().expect("an entry").expect("sound");
                assert_eq!(*found, **expected, "from {place}");
            }
            let mut visited = Vec::new();
            let mut visit = |key: &[u8]| {
                visited.push(key.to_vec());
                Ok(visited.len() < 2)
            };
            snapshot.visit_keys(Space::Index(IndexId(7)), span, &mut room, &mut visit).expect("visit");
            assert!(visited.iter().eq(all.iter().skip(place.div_ceil(3) as usize).take(2)), "from {place}");
            let number = place / 3;
            let is_there = snapshot.get(Space::Index(IndexId(7)), &entry(number)).expect("get").is_some();
            assert_eq!(is_there, number < ENTRIES);
        }
    }

    #[test]
    fn a_crash_of_the_memory_substrate_loses_what_was_not_durable() {
        let substrate = MemorySubstrate::new();
        for (key, durability) in [(b"1", Durability::Durable), (b"2", Durability::Relaxed)] {
            let mut batch = WriteBatch::new();
            batch.put(Space::Catalog, key.to_vec(), Vec::new());
            substrate.write(batch, durability).expect("write");
        }
        let survivor = substrate.after_crash().snapshot().expect("snapshot");
        assert_eq!(keys(&survivor, ALL_KEYS, Direction::Forward), [b"1"]);
    }
}
