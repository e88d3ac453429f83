//! Giving back the contents of BLOBs whose rows are gone, and the space that they leave in packs; packing small ones that stand alone.

use std::ops::Bound;
use std::sync::Arc;

use crate::blob::packs::{NewEntry, close_gaps, put_all};
use crate::blob::references::{Reaped, reap};
use crate::blob::{BlobKey, pieces};
use crate::keyspace::{self, meta};
use crate::numbers::read_number;
use crate::store::{Inner, WriteGuard};
use crate::substrate::{Direction, Durability, Space, SubstrateState, WriteBatch};
use crate::{Result, StoreError};

/// BLOBs looked at in one step.
const BLOBS_PER_STEP: usize = 100;
/// Packs looked at in one step.
const PACKS_PER_STEP: usize = 16;
/// So many small BLOBs that stand alone are packed, if there are as many.
const SINGLES_PER_STEP: usize = 128;
/// Entries looked through for them: what is not found among so many stays alone.
const ENTRIES_PER_STEP: usize = 1_024;

/// Looks through some of the BLOBs that were released, of the packs that have lost some, and of small BLOBs that stand alone.
pub(super) fn sweep(inner: &Inner) -> Result<Reaped> {
    let guard = inner.begin_write();
    let reaped = reap(inner, &guard, BLOBS_PER_STEP)?;
    let closed = close_all_gaps(inner, &guard)?;
    drop(guard);
    let packed = pack_singles(inner)?;
    Ok(Reaped {
        useful: reaped.useful || closed.useful || packed,
        more: reaped.more || closed.more || packed,
    })
}

/// Looks at some of the packs that have lost members.
fn close_all_gaps(inner: &Inner, guard: &WriteGuard<'_>) -> Result<Reaped> {
    let snapshot = inner.snapshot();
    let after = keyspace::after_prefix(meta::PACK_WITH_GAPS);
    let upper = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let span = (Bound::Included(meta::PACK_WITH_GAPS), upper);
    let mut batch = WriteBatch::new();
    let mut looked_at = 0;
    for mark in snapshot.scan(Space::Meta, span, Direction::Forward)?.take(PACKS_PER_STEP) {
        let (key, _) = mark?;
        looked_at += 1;
        if let Some(last) = key.get(meta::PACK_WITH_GAPS.len()..).and_then(keyspace::number) {
            match close_gaps(&*snapshot, last, &mut batch) {
                // It stays as it is, for the check to tell.
                Ok(()) | Err(StoreError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        batch.delete(Space::Meta, key.to_vec());
    }
    if looked_at > 0 {
        inner.write_under(guard, batch, Durability::Relaxed)?;
    }
    Ok(Reaped { useful: looked_at > 0, more: looked_at == PACKS_PER_STEP })
}

/// Packs small BLOBs that were committed one by one, once there are enough of them; whether it did. Each is looked at once: whatever
/// cannot be packed then stays alone.
fn pack_singles(inner: &Inner) -> Result<bool> {
    // Asked before the right to write is there: who takes numbers may wait for that.
    let newest = inner.blob_numbers.peek();
    let Some(singles) = singles(&*inner.snapshot(), newest)? else { return Ok(false) };
    let guard = inner.begin_write();
    let snapshot = inner.snapshot();
    let mut batch = WriteBatch::new();
    let mut entries = Vec::with_capacity(singles.entries.len());
    for single in singles.entries {
        // A prepared transaction may have been rolled back meanwhile.
        if pieces::own(&*snapshot, single.key)? == pieces::Own::Entry(()) {
            pieces::delete_entry(&*snapshot, single.key, &mut batch)?;
            entries.push(single);
        }
    }
    put_all(entries, &mut batch);
    batch.put(Space::Meta, meta::SINGLE_BLOBS_FROM.to_vec(), singles.next.to_le_bytes().to_vec());
    drop(snapshot);
    inner.write_under(&guard, batch, Durability::Relaxed)?;
    Ok(true)
}

/// Small BLOBs that stand alone.
struct Singles {
    entries: Vec<NewEntry>,
    /// The first BLOB that was not looked at.
    next: u64,
}

/// The next ones before this number; `None` while they are few and others may follow.
fn singles(snapshot: &dyn SubstrateState, newest: u64) -> Result<Option<Singles>> {
    let from = read_number(snapshot, meta::SINGLE_BLOBS_FROM)?.unwrap_or(0);
    if newest.saturating_sub(from) < SINGLES_PER_STEP as u64 {
        return Ok(None);
    }
    let lower = keyspace::blob_piece(BlobKey::header(from), 0);
    let span = (Bound::Included(&lower[..]), Bound::Unbounded);
    let mut entries = Vec::new();
    let mut next = from;
    for (looked_at, entry) in snapshot.scan(Space::Blobs, span, Direction::Forward)?.enumerate() {
        if entries.len() == SINGLES_PER_STEP || looked_at == ENTRIES_PER_STEP {
            return Ok(Some(Singles { entries, next }));
        }
        let (key, _) = entry?;
        let blob = key.get(..8).and_then(keyspace::number);
        let blob = blob.ok_or_else(|| StoreError::corrupt("the key of a blob"))?;
        if blob < next {
            continue;
        }
        next = blob.saturating_add(1);
        entries.extend(single(snapshot, blob)?);
    }
    Ok(None)
}

/// The header of a BLOB, if that is small and all there is of it, and it is committed.
fn single(snapshot: &dyn SubstrateState, blob: u64) -> Result<Option<NewEntry>> {
    let key = BlobKey::header(blob);
    if snapshot.get(Space::Meta, &meta::pending_blob(blob))?.is_some() {
        return Ok(None);
    }
    let entry = match pieces::read(snapshot, key, |entry| Ok(crate::blob::entry_in_pack(blob, entry))) {
        Ok(entry) => entry.entry().flatten(),
        // It stays as it is, for the check to tell.
        Err(StoreError::Corrupt { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(entry.map(|entry| NewEntry { key, entry: Arc::from(entry), is_whole: true }))
}
