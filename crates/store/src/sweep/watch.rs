//! Notices what others write to a relation while the sweep prepares its own changes of it, so that preparing needs no right
//! to write.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::substrate::{Space, WriteBatch};
use crate::{IndexId, RelationId, RelationLayout, RowId, keyspace};

/// Memory for what is remembered, in bytes; with more of it the work is given up.
const REMEMBERED_BYTES_MAX: usize = 32 << 20;
/// What remembering an entry takes beside its bytes, more or less.
const ENTRY_BYTES: usize = 64;

/// The relation that is watched, if any. All writes of the store pass by, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Whether a relation is watched: most writes find none.
    is_on: AtomicBool,
    state: Mutex<Option<Watched>>,
}

#[derive(Debug)]
struct Watched {
    relation: RelationId,
    /// Rows from this one on.
    from: RowId,
    /// Index entries that were put, of each index of the relation. By entry and not by row: of a row that is changed all the
    /// time the old entries can go all the same.
    entries: HashMap<IndexId, HashSet<Vec<u8>>>,
    /// Blocks (by their first row) that were written.
    blocks_touched: Vec<u64>,
    /// Memory that those take.
    bytes: usize,
    /// Whether more has happened than can be told one by one.
    is_lost: bool,
    /// Whether it is the sweep that writes.
    is_own: bool,
}

impl Watch {
    /// Begins anew. What is written before, or at the same time, is noticed or not.
    pub(super) fn begin(&self, layout: &RelationLayout, from: RowId) {
        let watched = Watched {
            relation: layout.id,
            from,
            entries: layout.indexes.iter().map(|index| (index.id, HashSet::new())).collect(),
            blocks_touched: Vec::new(),
            bytes: 0,
            is_lost: false,
            is_own: false,
        };
        *self.state.lock() = Some(watched);
        self.is_on.store(true, Ordering::SeqCst);
    }

    pub(super) fn end(&self) {
        self.is_on.store(false, Ordering::SeqCst);
        *self.state.lock() = None;
    }

    /// What is written until it is called again is the sweep's own, or not any more.
    pub(super) fn set_own(&self, is_own: bool) {
        if let Some(watched) = &mut *self.state.lock() {
            watched.is_own = is_own;
        }
    }

    /// Notes a batch, before it is written.
    pub(crate) fn note(&self, batch: &WriteBatch) {
        if !self.is_on.load(Ordering::SeqCst) {
            return;
        }
        if let Some(watched) = self.state.lock().as_mut().filter(|watched| !watched.is_own) {
            watched.note(batch);
        }
    }

    /// Whether what others have written is not known any more.
    pub(super) fn is_lost(&self) -> bool {
        self.state.lock().as_ref().is_none_or(|watched| watched.is_lost)
    }

    /// Runs with a question about entries of an index: whether others have put them.
    pub(super) fn with_entries<T>(&self, index: IndexId, run: impl FnOnce(&dyn Fn(&[u8]) -> bool) -> T) -> T {
        let state = self.state.lock();
        match state.as_ref().and_then(|watched| watched.entries.get(&index)) {
            Some(entries) if entries.is_empty() => run(&|_| false),
            Some(entries) => run(&|entry| entries.contains(entry)),
            None => run(&|_| true),
        }
    }

    /// Whether others have written a block that begins between these rows.
    pub(super) fn is_block_touched(&self, first: RowId, last: RowId) -> bool {
        let state = self.state.lock();
        let Some(watched) = &*state else { return true };
        watched.blocks_touched.iter().any(|block| (first.0..=last.0).contains(block))
    }
}

impl Watched {
    fn note(&mut self, batch: &WriteBatch) {
        let relation = self.relation;
        let is_mine = |space: &Space| matches!(space, Space::Versions(id) | Space::Changes(id) | Space::Blocks(id) if *id == relation);
        self.is_lost |= batch.cleared().iter().any(is_mine);
        self.is_lost |= batch.appended().iter().any(|(index, _)| self.entries.contains_key(index));
        for (space, changes) in batch.changes() {
            match space {
                Space::Blocks(id) if id == relation => {
                    let first = |key: &[u8]| key.get(..8).and_then(keyspace::number).unwrap_or(0);
                    self.blocks_touched.extend(changes.iter().map(|(key, _)| first(key)));
                    self.bytes += changes.len() * size_of::<u64>();
                }
                Space::Index(index) => {
                    let Some(entries) = self.entries.get_mut(&index) else { continue };
                    for (entry, _) in changes.iter().filter(|(_, value)| value.is_some()) {
                        let row = keyspace::parse_entry(entry).map(|(_, row)| row);
                        if row.is_none_or(|row| row >= self.from) && entries.insert(entry.clone()) {
                            self.bytes += entry.len() + ENTRY_BYTES;
                        }
                    }
                }
                _ => {}
            }
        }
        self.is_lost |= self.bytes > REMEMBERED_BYTES_MAX;
    }
}
