//! Row blocks that single rows were read from: found, checked and parsed already, and decompressed if several rows were.
//!
//! A state of the substrate does not change, so neither do its blocks; states that follow each other share the cache
//! until a write touches blocks. The cache of the state behind such a write begins with the blocks that it left as they were: those of
//! other relations, whose pages it left too, and of the relations that it touched those that somebody has decompressed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::block::{Block, UnpackedRoom};
use crate::figures::CacheFigures;
use crate::identifiers::IdMap;
use crate::keyspace;
use crate::page_work;
use crate::substrate::{
    Entries, KeyBounds, KeyRoom, KeySpan, RowSpaces, Slice, Space, SubstrateState, VisitKey, WriteBatch,
};
use crate::{RelationId, Result, RowId, substrate::Direction};

/// What a block takes at most, in bytes.
const BLOCK_BYTES: usize = 16 << 10;

/// Blocks by relation and first row.
type Blocks = BTreeMap<(RelationId, u64), Arc<Block>>;

/// How much is kept.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Blocks: as many as the substrate's cache has room for, and most are kept there all the same. A join that looks rows up
    /// all over a large table comes to each block many times.
    blocks: usize,
    /// Bytes of rows without their compression, and of outlines; one block more for each reader that has just come by it.
    unpacked_bytes: usize,
}

impl Room {
    /// Beside a substrate whose cache has so many bytes.
    fn beside(cache_bytes: usize) -> Room {
        Room { blocks: (cache_bytes / BLOCK_BYTES).max(1), unpacked_bytes: cache_bytes / 2 }
    }
}

#[derive(Default)]
struct Kept {
    blocks: Blocks,
    /// The one that was asked for last: the next row asked for is mostly a neighbour.
    latest: Option<((RelationId, u64), Arc<Block>)>,
}

impl Kept {
    /// The block whose span holds a row, and its key.
    fn find(&mut self, relation: RelationId, row: RowId) -> Option<((RelationId, u64), Arc<Block>)> {
        let holds = |(key, block): &((RelationId, u64), Arc<Block>)| {
            key.0 == relation && (block.first..=block.last).contains(&row.0)
        };
        if let Some(latest) = self.latest.as_ref().filter(|latest| holds(latest)) {
            return Some(latest.clone());
        }
        let (key, block) = self.blocks.range((relation, 0)..=(relation, row.0)).next_back()?;
        let found = Some((*key, Arc::clone(block))).filter(holds)?;
        self.latest = Some(found.clone());
        Some(found)
    }

    fn insert(&mut self, key: (RelationId, u64), block: Arc<Block>) {
        self.forget_latest(key);
        self.blocks.insert(key, block);
    }

    /// Removes the next block of a kind behind a key: under random reads that is any block.
    fn remove_neighbour(&mut self, key: (RelationId, u64), of_kind: impl Fn(&Block) -> bool) {
        let behind = self.blocks.range((Bound::Excluded(key), Bound::Unbounded));
        let found = behind.chain(self.blocks.range(..key)).find(|(_, block)| of_kind(block));
        if let Some(neighbour) = found.map(|(key, _)| *key) {
            self.forget_latest(neighbour);
            self.blocks.remove(&neighbour);
        }
    }

    fn forget_latest(&mut self, key: (RelationId, u64)) {
        self.latest.take_if(|(latest, _)| *latest == key);
    }
}

/// The blocks kept.
pub(crate) struct BlockCache {
    room: Room,
    blocks: Mutex<Kept>,
    unpacked: Arc<UnpackedRoom>,
    counts: Arc<Counts>,
}

/// How often a block was here, or was not.
#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl BlockCache {
    fn new(room: Room) -> BlockCache {
        BlockCache { room, blocks: Mutex::default(), unpacked: Arc::default(), counts: Arc::default() }
    }

    /// The block whose span holds a row, if it is here.
    pub(crate) fn block_of(&self, relation: RelationId, row: RowId) -> Option<Arc<Block>> {
        let mut kept = self.blocks.lock();
        let (key, block) = kept.find(relation, row)?;
        page_work::has_fetched();
        self.counts.hits.fetch_add(1, Ordering::Relaxed);
        if self.unpacked.bytes() > self.room.unpacked_bytes {
            kept.remove_neighbour(key, Block::takes_more);
        }
        Some(block)
    }

    /// A cache of the blocks that a write has left.
    fn without(&self, touched: &TouchedBlocks) -> BlockCache {
        let known = self.blocks.lock();
        let kept = known.blocks.iter();
        let kept = kept.filter_map(|(key, block)| Some((*key, touched.kept(*key, block)?))).collect();
        BlockCache {
            room: self.room,
            blocks: Mutex::new(Kept { blocks: kept, latest: None }),
            unpacked: Arc::clone(&self.unpacked),
            counts: Arc::clone(&self.counts),
        }
    }

    /// Keeps a block, in the place of a neighbour if there is no more room.
    pub(crate) fn keep(&self, relation: RelationId, block: Block) -> Arc<Block> {
        self.keep_as_far_as(relation, block, |kept, key| {
            kept.remove_neighbour(key, |_| true);
            true
        })
    }

    /// Keeps a block if there is room. Whoever goes through a table larger than the cache would put each block in the place of
    /// one that it comes to next.
    pub(crate) fn keep_if_room(&self, relation: RelationId, block: Block) -> Arc<Block> {
        self.keep_as_far_as(relation, block, |_, _| false)
    }

    /// Keeps a block if there is room, or `make_room` makes some.
    fn keep_as_far_as(
        &self,
        relation: RelationId,
        mut block: Block,
        make_room: impl FnOnce(&mut Kept, (RelationId, u64)) -> bool,
    ) -> Arc<Block> {
        self.counts.misses.fetch_add(1, Ordering::Relaxed);
        block.keep_more_in(&self.unpacked);
        let key = (relation, block.first);
        let block = Arc::new(block);
        let mut kept = self.blocks.lock();
        if kept.blocks.len() < self.room.blocks || make_room(&mut kept, key) {
            kept.insert(key, Arc::clone(&block));
        }
        block
    }
}

/// A state of the substrate with the blocks that were read from it.
pub(crate) struct CachedState {
    /// Dropped before what keeps their pages from being used again.
    blocks: Arc<BlockCache>,
    /// What was asked of the spaces of relations' rows.
    row_spaces: Mutex<IdMap<RelationId, RowSpaces>>,
    base: Arc<dyn SubstrateState>,
}

impl CachedState {
    /// A state of which nothing was read yet, of a substrate whose cache has so many bytes.
    pub(crate) fn new(base: Arc<dyn SubstrateState>, cache_bytes: usize) -> CachedState {
        CachedState::over(base, Arc::new(BlockCache::new(Room::beside(cache_bytes))))
    }

    /// How often the blocks of single rows were at hand, in this state and those before it.
    pub(crate) fn cache_figures(&self) -> CacheFigures {
        let BlockCache { counts, blocks, unpacked, .. } = &*self.blocks;
        CacheFigures {
            hits: counts.hits.load(Ordering::Relaxed),
            misses: counts.misses.load(Ordering::Relaxed),
            blocks: blocks.lock().blocks.len() as u64,
            unpacked_bytes: unpacked.bytes() as u64,
        }
    }

    /// The state after a write that has touched these blocks.
    pub(crate) fn followed_by(&self, base: Arc<dyn SubstrateState>, touched: &TouchedBlocks) -> CachedState {
        let blocks = match touched.is_none() {
            true => Arc::clone(&self.blocks),
            false => Arc::new(self.blocks.without(touched)),
        };
        CachedState::over(base, blocks)
    }

    fn over(base: Arc<dyn SubstrateState>, blocks: Arc<BlockCache>) -> CachedState {
        CachedState { blocks, row_spaces: Mutex::default(), base }
    }
}

/// The row blocks that a write puts, deletes or clears away.
#[derive(Debug, Default)]
pub(crate) struct TouchedBlocks {
    /// By relation and first row.
    blocks: BTreeSet<(RelationId, u64)>,
    /// Relations that have blocks among those, or lose all that they have.
    relations: BTreeSet<RelationId>,
    cleared: BTreeSet<RelationId>,
}

impl TouchedBlocks {
    pub(crate) fn by(batch: &WriteBatch) -> TouchedBlocks {
        let mut touched = TouchedBlocks::default();
        for space in batch.cleared() {
            if let Space::Blocks(relation) = space {
                touched.relations.insert(*relation);
                touched.cleared.insert(*relation);
            }
        }
        for (space, changes) in batch.changes() {
            if let Space::Blocks(relation) = space {
                touched.relations.insert(relation);
                let rows = changes.iter().filter_map(|(key, _)| keyspace::number(key));
                touched.blocks.extend(rows.map(|row| (relation, row)));
            }
        }
        touched
    }

    fn is_none(&self) -> bool {
        self.relations.is_empty()
    }

    /// The block as it may be kept behind the write.
    fn kept(&self, key: (RelationId, u64), block: &Arc<Block>) -> Option<Arc<Block>> {
        if !self.relations.contains(&key.0) {
            return Some(Arc::clone(block));
        }
        // Its page may have been written anew for the sake of others that stand in it. To read it again costs as much as a copy, but for the
        // decompression.
        let is_left = block.is_unpacked() && !self.cleared.contains(&key.0) && !self.blocks.contains(&key);
        is_left.then(|| block.detached())
    }
}

impl SubstrateState for CachedState {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        page_work::has_fetched();
        self.base.get(space, key)
    }

    fn bytes(&self, space: Space) -> Result<u64> {
        self.base.bytes(space)
    }

    fn bounds(&self, space: Space) -> Result<Option<Arc<KeyBounds>>> {
        self.base.bounds(space)
    }

    fn scan(&self, space: Space, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        page_work::has_fetched();
        self.base.scan(space, span, direction)
    }

    fn visit_keys(
        &self,
        space: Space,
        span: KeySpan<'_>,
        room: &mut KeyRoom,
        visit: VisitKey<'_>,
    ) -> Result<()> {
        page_work::has_fetched();
        self.base.visit_keys(space, span, room, visit)
    }

    fn row_spaces(&self, relation: RelationId) -> Result<RowSpaces> {
        if let Some(known) = self.row_spaces.lock().get(&relation) {
            return Ok(known.clone());
        }
        let spaces = self.base.row_spaces(relation)?;
        self.row_spaces.lock().insert(relation, spaces.clone());
        Ok(spaces)
    }

    fn block_cache(&self) -> Option<&BlockCache> {
        Some(&self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use farbird_record::{CodecId, Compression, RecordFormat};
    use farbird_types::{SqlType, Value};

    use super::*;
    use crate::{
        Access, CancelFlag, Isolation, Projection, RelationLayout, Store, StoreOptions, Transaction,
        TransactionOptions, Wait,
    };

    const ROWS: i64 = 20_000;

    fn layout(id: u32) -> Arc<RelationLayout> {
        Arc::new(RelationLayout {
            id: RelationId(id),
            formats: vec![RecordFormat::new(vec![SqlType::BIGINT])],
            current: 0,
            added_defaults: Vec::new(),
            codec: Some(CodecId::VALUE.with(Compression::Lz4)),
            temporary: None,
            indexes: Vec::new(),
        })
    }

    fn begin(store: &Store) -> Transaction {
        let (isolation, access, wait) = (Isolation::Snapshot, Access::ReadWrite, Wait::No);
        let options = TransactionOptions { isolation, access, wait, ..TransactionOptions::default() };
        store.begin(options, CancelFlag::new()).expect("begin")
    }

    /// The rows of these numbers, one after the other.
    fn values(store: &Store, layout: &RelationLayout, rows: &[RowId]) -> Vec<Vec<Value>> {
        let transaction = begin(store);
        let view = transaction.view().expect("view");
        let read = |row: &RowId| transaction.read_row(layout, &view, *row, &Projection::all()).expect("read");
        rows.iter().map(|row| read(row).expect("a row")).collect()
    }

    /// What is in the cache of the latest state, by relation and first row.
    fn known(store: &Store) -> BTreeMap<(RelationId, u64), bool> {
        let state = store.inner.snapshot();
        let kept = state.block_cache().expect("a cache").blocks.lock();
        kept.blocks.iter().map(|(key, block)| (*key, block.is_unpacked())).collect()
    }

    #[test]
    fn blocks_that_a_sweep_leaves_as_they_are_stay_at_hand() {
        let options = StoreOptions { background_sweep: false, ..StoreOptions::default() };
        let store = Store::in_memory(options).expect("open");
        let layouts = [layout(128), layout(129)];
        let mut rows: [Vec<RowId>; 2] = Default::default();
        for (layout, rows) in layouts.iter().zip(&mut rows) {
            store.register_layout(Arc::clone(layout));
            let transaction = begin(&store);
            let insert = |number| transaction.insert(layout, &mut [Value::integer(number)]).expect("insert");
            rows.extend((0..ROWS).map(insert));
            transaction.commit().expect("commit");
        }
        while store.sweep(10).expect("sweep") > 0 {}
        let before = [0, 1].map(|place: usize| values(&store, &layouts[place], &rows[place]));
        let at_hand = known(&store);
        let of = |relation: u32, known: &BTreeMap<(RelationId, u64), bool>| {
            known.keys().filter(|(id, _)| id.0 == relation).count()
        };
        assert!(of(128, &at_hand) > 2 && of(129, &at_hand) > 2, "{at_hand:?}");
        let transaction = begin(&store);
        let view = transaction.view().expect("view");
        transaction.update(&layouts[0], &view, rows[0][7], &mut [Value::integer(-7)]).expect("update");
        drop(view);
        transaction.commit().expect("commit");
        while store.sweep(10).expect("sweep") > 0 {}
        let left = known(&store);
        assert_eq!(of(129, &left), of(129, &at_hand), "the other relation's");
        let changed = left.keys().find(|(id, first)| id.0 == 128 && *first <= rows[0][7].0);
        assert_eq!(changed, None, "the block that was written anew");
        let unpacked = at_hand.iter().filter(|((id, _), unpacked)| id.0 == 128 && **unpacked).count();
        assert!(unpacked > 2, "{at_hand:?}");
        assert_eq!(of(128, &left), unpacked - 1, "decompressed ones");
        let mut expected = before.clone();
        expected[0][7] = vec![Value::integer(-7)];
        assert_eq!([0, 1].map(|place: usize| values(&store, &layouts[place], &rows[place])), expected);
    }
}
