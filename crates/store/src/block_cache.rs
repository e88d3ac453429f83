//! Row blocks that single rows were read from: found, checked and parsed already, and decompressed if several rows were.
//!
//! A state of the substrate does not change, so neither do its blocks; states that follow each other share the cache
//! until a write touches blocks.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::block::{Block, UnpackedRoom};
use crate::substrate::{Entries, KeyBounds, KeySpan, Slice, Space, SubstrateState, WriteBatch};
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
    /// Bytes of rows without their compression; one block more for each reader that has just come by it.
    unpacked_bytes: usize,
}

impl Room {
    /// Beside a substrate whose cache has so many bytes.
    fn beside(cache_bytes: usize) -> Room {
        Room { blocks: (cache_bytes / BLOCK_BYTES).max(1), unpacked_bytes: cache_bytes / 2 }
    }
}

/// The blocks kept.
pub(crate) struct BlockCache {
    room: Room,
    blocks: Mutex<Blocks>,
    unpacked: Arc<UnpackedRoom>,
}

impl BlockCache {
    fn new(room: Room) -> BlockCache {
        BlockCache { room, blocks: Mutex::default(), unpacked: Arc::default() }
    }

    /// The block whose span holds a row, if it is here.
    pub(crate) fn block_of(&self, relation: RelationId, row: RowId) -> Option<Arc<Block>> {
        let mut blocks = self.blocks.lock();
        let (key, block) = blocks.range((relation, 0)..=(relation, row.0)).next_back()?;
        if row.0 > block.last {
            return None;
        }
        let (key, block) = (*key, Arc::clone(block));
        if self.unpacked.bytes() > self.room.unpacked_bytes {
            remove_neighbour(&mut blocks, key, |other| other.is_unpacked());
        }
        Some(block)
    }

    /// Keeps a block, in the place of a neighbour if there is no more room.
    pub(crate) fn keep(&self, relation: RelationId, mut block: Block) -> Arc<Block> {
        block.keep_unpacked_in(&self.unpacked);
        let key = (relation, block.first);
        let block = Arc::new(block);
        let mut blocks = self.blocks.lock();
        if blocks.len() >= self.room.blocks {
            remove_neighbour(&mut blocks, key, |_| true);
        }
        blocks.insert(key, Arc::clone(&block));
        block
    }
}

/// Removes the next block of a kind behind a key: under random reads that is any block.
fn remove_neighbour(blocks: &mut Blocks, key: (RelationId, u64), of_kind: impl Fn(&Block) -> bool) {
    let behind = blocks.range((Bound::Excluded(key), Bound::Unbounded));
    let found = behind.chain(blocks.range(..key)).find(|(_, block)| of_kind(block)).map(|(key, _)| *key);
    if let Some(neighbour) = found {
        blocks.remove(&neighbour);
    }
}

/// A state of the substrate with the blocks that were read from it.
pub(crate) struct CachedState {
    /// Dropped before what keeps their pages from being used again.
    blocks: Arc<BlockCache>,
    base: Arc<dyn SubstrateState>,
}

impl CachedState {
    /// A state of which nothing was read yet, of a substrate whose cache has so many bytes.
    pub(crate) fn new(base: Arc<dyn SubstrateState>, cache_bytes: usize) -> CachedState {
        CachedState { blocks: Arc::new(BlockCache::new(Room::beside(cache_bytes))), base }
    }

    /// The state after a write. `keeps_blocks`: whether the write left all blocks as they were.
    pub(crate) fn followed_by(&self, base: Arc<dyn SubstrateState>, keeps_blocks: bool) -> CachedState {
        let blocks =
            if keeps_blocks { Arc::clone(&self.blocks) } else { Arc::new(BlockCache::new(self.blocks.room)) };
        CachedState { blocks, base }
    }
}

/// Whether a write leaves all row blocks as they are.
pub(crate) fn keeps_blocks(batch: &WriteBatch) -> bool {
    let is_blocks = |space: Space| matches!(space, Space::Blocks(_));
    !batch.cleared().iter().any(|space| is_blocks(*space))
        && !batch.changes().any(|(space, _)| is_blocks(space))
}

impl SubstrateState for CachedState {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>> {
        self.base.get(space, key)
    }

    fn bytes(&self, space: Space) -> Result<u64> {
        self.base.bytes(space)
    }

    fn bounds(&self, space: Space) -> Result<Option<Arc<KeyBounds>>> {
        self.base.bounds(space)
    }

    fn scan(&self, space: Space, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        self.base.scan(space, span, direction)
    }

    fn block_cache(&self) -> Option<&BlockCache> {
        Some(&self.blocks)
    }
}
