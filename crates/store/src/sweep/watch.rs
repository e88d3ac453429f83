//! Notices what others write to a relation while the sweep prepares its own changes of it, so that preparing needs no right
//! to write.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::substrate::{Space, WriteBatch};
use crate::{RelationId, RowId, keyspace};

/// Rows touched that are remembered; with more of them the work is given up.
const TOUCHED_MAX: usize = 1 << 18;

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
    /// Rows that have got a version or a change, and blocks (by their first row) that were written.
    touched: HashSet<u64>,
    blocks_touched: Vec<u64>,
    /// Whether more has happened than can be told row by row.
    is_lost: bool,
    /// Whether it is the sweep that writes.
    is_own: bool,
}

impl Watch {
    /// Begins anew. What is written before, or at the same time, is noticed or not.
    pub(super) fn begin(&self, relation: RelationId, from: RowId) {
        let watched = Watched {
            relation,
            from,
            touched: HashSet::new(),
            blocks_touched: Vec::new(),
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

    /// Whether the rows touched are not known any more.
    pub(super) fn is_lost(&self) -> bool {
        self.state.lock().as_ref().is_none_or(|watched| watched.is_lost)
    }

    /// Runs with a question about rows: whether others have written to them.
    pub(super) fn with_touched<T>(&self, run: impl FnOnce(&dyn Fn(RowId) -> bool) -> T) -> T {
        let state = self.state.lock();
        match &*state {
            Some(watched) if watched.touched.is_empty() => run(&|_| false),
            Some(watched) => run(&|row| watched.touched.contains(&row.0)),
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
        let is_mine = |space: Space| matches!(space, Space::Versions(id) | Space::Changes(id) | Space::Blocks(id) if id == relation);
        self.is_lost |= batch.cleared().iter().any(|space| is_mine(*space));
        for (space, changes) in batch.changes().filter(|(space, _)| is_mine(*space)) {
            for (key, _) in changes {
                let row = key.get(..8).and_then(keyspace::number).unwrap_or(0);
                match space {
                    Space::Blocks(_) => self.blocks_touched.push(row),
                    _ if row >= self.from.0 => drop(self.touched.insert(row)),
                    _ => {}
                }
            }
        }
        self.is_lost |= self.touched.len().max(self.blocks_touched.len()) > TOUCHED_MAX;
    }
}
