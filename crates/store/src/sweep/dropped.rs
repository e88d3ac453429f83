//! Giving back what dropped relations and indexes held, once no snapshot can be reading them.

use super::settle::{note_settled, remove_marks};
use crate::blob::references::release;
use crate::keyspace::{self, meta};
use crate::numbers::read_number;
use crate::recovery::{id, marks};
use crate::store::Inner;
use crate::substrate::{Durability, Space, WriteBatch};
use crate::{CommitNumber, IndexId, RelationId, Result};

/// BLOBs removed in one step.
const BLOBS_PER_STEP: usize = 200;

/// Clears what can be cleared; whether that was anything.
pub(super) fn sweep(inner: &Inner) -> Result<bool> {
    let guard = inner.begin_write();
    let snapshot = inner.snapshot();
    let horizon = inner.registry.horizon(inner.last_commit());
    let is_over = |key: &[u8]| -> Result<bool> {
        Ok(read_number(&*snapshot, key)?.is_some_and(|commit| CommitNumber(commit) <= horizon))
    };
    let mut batch = WriteBatch::new();
    let mut settled = Vec::new();
    for key in marks(&*snapshot, meta::DROPPED_INDEX)? {
        if is_over(&key)? {
            if let Some(index) = key.get(meta::DROPPED_INDEX.len()..).and_then(id) {
                batch.clear(Space::Index(IndexId(index)));
            }
            batch.delete(Space::Meta, key);
        }
    }
    for key in marks(&*snapshot, meta::DROPPED_RELATION)? {
        if !is_over(&key)? {
            continue;
        }
        let Some(relation) = key.get(meta::DROPPED_RELATION.len()..).and_then(id).map(RelationId) else {
            continue;
        };
        let prefix = meta::dropped_blobs(relation);
        let blobs = marks(&*snapshot, &prefix)?;
        if blobs.is_empty() {
            batch.clear(Space::Versions(relation));
            batch.clear(Space::Changes(relation));
            let unsettled = inner.spilled.unsettled(relation);
            remove_marks(inner, relation, &unsettled, &mut batch);
            settled.push((relation, unsettled));
            batch.clear(Space::Blocks(relation));
            batch.delete(Space::Meta, meta::statistics(relation));
            batch.delete(Space::Meta, key);
        }
        for mark in blobs.into_iter().take(BLOBS_PER_STEP) {
            if let Some(blob) = mark.get(prefix.len()..).and_then(keyspace::number) {
                release(&*snapshot, blob, &mut batch)?;
            }
            batch.delete(Space::Meta, mark);
        }
    }
    if batch.is_empty() {
        return Ok(false);
    }
    drop(snapshot);
    inner.write_under(&guard, batch, Durability::Relaxed)?;
    for (relation, transactions) in settled {
        note_settled(inner, relation, &transactions);
    }
    Ok(true)
}
