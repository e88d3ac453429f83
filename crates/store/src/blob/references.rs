//! BLOBs that have the contents of others, and how long contents live.
//!
//! A BLOB that a row takes from another one is a header that names the BLOB whose contents it has: always one with contents
//! of its own (the owner), so nothing leads on from there. The keyspace of references has an entry for each.
//!
//! # When contents go
//! - A BLOB whose last row version is gone, and that has contents of its own, becomes ownerless: it is entered among the
//!   references to itself with the number 0, and as released. One that only refers to contents is deleted with its
//!   reference, and releases the owner ([`release`]).
//! - The sweep looks through what was released, and deletes the contents of ownerless BLOBs that nobody refers to: no
//!   entry in the file, and no running transaction ([`reap`]).
//! - Who begins to refer to contents says so first ([`PendingReferences`]), and then looks whether they are still there. The
//!   sweep holds that table from its look until its batch is written, so of the two one always sees the other.
//!
//! Recovery removes what uncommitted transactions had spilled as if they had been rolled back ([`delete_uncommitted`]).

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

use farbird_types::BlobId;
use parking_lot::Mutex;

use super::{BlobKey, BlobReader, Contents, Header, entries};
use crate::keyspace::{self, meta};
use crate::store::{Inner, WriteGuard};
use crate::substrate::{Direction, Durability, Space, SubstrateState, WriteBatch};
use crate::{Result, StoreError, Transaction};

/// Stands among the references to a BLOB whose own row is gone.
const OWNERLESS: u64 = 0;

/// Contents that running transactions refer to, or are about to.
#[derive(Debug, Default)]
pub(crate) struct PendingReferences {
    counts: Mutex<HashMap<u64, usize>>,
    /// How often one was given back.
    given_back: AtomicU64,
}

impl PendingReferences {
    /// Keeps the contents of a BLOB, if they are there: to be looked at afterwards, in a new snapshot.
    pub(super) fn keep(&self, owner: u64) {
        *self.counts.lock().entry(owner).or_default() += 1;
    }

    /// Ends a [`PendingReferences::keep`]: the reference is committed, or will never be.
    pub(super) fn give_back(&self, owner: u64) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&owner);
            }
        }
        self.given_back.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes when contents may be nobody's any more.
    pub(crate) fn given_back(&self) -> u64 {
        self.given_back.load(Ordering::Relaxed)
    }
}

impl Transaction {
    /// A new BLOB, nobody's yet, with the contents of another one: committed, or this transaction's own.
    pub(crate) fn share_blob(&self, id: BlobId) -> Result<BlobId> {
        self.core()?.blobs.share(&self.store().inner, id)
    }

    /// Whether other committed BLOBs have the same contents as this one, opened in `reader`.
    pub(crate) fn is_shared_blob(&self, id: BlobId, reader: &BlobReader) -> Result<bool> {
        let owner = reader.contents_owner();
        Ok(owner != id || is_referred_to(&*self.store().inner.snapshot(), owner.0)?)
    }
}

/// Notes that a BLOB has the contents of another one.
pub(super) fn put_reference(owner: u64, referrer: u64, batch: &mut WriteBatch) {
    batch.put(Space::BlobReferences, keyspace::blob_reference(owner, referrer).to_vec(), Vec::new());
}

/// Notes that a BLOB with contents of its own has no row, and is needed by others only.
pub(crate) fn put_ownerless(owner: u64, batch: &mut WriteBatch) {
    put_reference(owner, OWNERLESS, batch);
}

/// The header of a BLOB, if it is there, and whether it is one of those that are copied rather than shared.
fn header(snapshot: &dyn SubstrateState, blob: u64) -> Result<Option<(Header, bool)>> {
    entries::read(snapshot, BlobKey::header(blob), |entry| {
        let header = Header::decode(blob, entry)?;
        let is_copied = header.is_copied();
        Ok((header, is_copied))
    })
}

/// Gives up a committed BLOB that no row has any more.
pub(crate) fn release(snapshot: &dyn SubstrateState, blob: u64, batch: &mut WriteBatch) -> Result<()> {
    match header(snapshot, blob)? {
        None => Ok(()),
        Some((Header { contents: Contents::Of(owner), .. }, _)) => {
            delete_referrer(snapshot, owner, blob, batch)
        }
        Some((_, true)) => entries::delete_all(snapshot, blob, batch),
        Some((_, false)) => {
            put_ownerless(blob, batch);
            batch.put(Space::Meta, meta::released_blob(blob), Vec::new());
            Ok(())
        }
    }
}

/// Deletes an uncommitted BLOB: nobody else refers to it.
pub(crate) fn delete_uncommitted(
    snapshot: &dyn SubstrateState,
    blob: u64,
    batch: &mut WriteBatch,
) -> Result<()> {
    match header(snapshot, blob) {
        Ok(Some((Header { contents: Contents::Of(owner), .. }, _))) => {
            delete_referrer(snapshot, owner, blob, batch)
        }
        // Without its header, or with a damaged one, it goes all the same.
        Ok(_) | Err(StoreError::Corrupt { .. }) => entries::delete_all(snapshot, blob, batch),
        Err(error) => Err(error),
    }
}

fn delete_referrer(
    snapshot: &dyn SubstrateState,
    owner: u64,
    blob: u64,
    batch: &mut WriteBatch,
) -> Result<()> {
    batch.delete(Space::BlobReferences, keyspace::blob_reference(owner, blob).to_vec());
    batch.put(Space::Meta, meta::released_blob(owner), Vec::new());
    entries::delete_all(snapshot, blob, batch)
}

/// Whether other BLOBs have the contents of this one.
pub(crate) fn is_referred_to(snapshot: &dyn SubstrateState, owner: u64) -> Result<bool> {
    let first = keyspace::blob_reference(owner, OWNERLESS);
    let last = keyspace::blob_reference(owner, u64::MAX);
    let span = (Bound::Excluded(&first[..]), Bound::Included(&last[..]));
    snapshot
        .scan(Space::BlobReferences, span, Direction::Forward)?
        .next()
        .transpose()
        .map(|found| found.is_some())
}

/// Whether a BLOB with contents of its own is there, and committed.
pub(super) fn is_committed(snapshot: &dyn SubstrateState, owner: u64) -> Result<bool> {
    let is_there =
        header(snapshot, owner)?.is_some_and(|(header, _)| matches!(header.contents, Contents::Own(_)));
    Ok(is_there && snapshot.get(Space::Meta, &meta::pending_blob(owner))?.is_none())
}

/// What a look through released BLOBs came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reaped {
    /// Whether it has changed anything.
    pub(crate) useful: bool,
    /// Whether there may be more to look at.
    pub(crate) more: bool,
}

/// Looks through at most `count` released BLOBs, and deletes contents that nobody needs.
pub(crate) fn reap(inner: &Inner, guard: &WriteGuard<'_>, count: usize) -> Result<Reaped> {
    // Held until the batch is written: nobody begins meanwhile to refer to what is deleted.
    let pending = inner.blob_references.counts.lock();
    let snapshot = inner.snapshot();
    let after = keyspace::after_prefix(meta::RELEASED_BLOB);
    let upper = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let span = (Bound::Included(meta::RELEASED_BLOB), upper);
    let mut batch = WriteBatch::new();
    let mut looked_at = 0;
    for mark in snapshot.scan(Space::Meta, span, Direction::Forward)? {
        let (key, _) = mark?;
        let Some(owner) = key.get(meta::RELEASED_BLOB.len()..).and_then(keyspace::number) else { continue };
        if pending.contains_key(&owner) {
            continue;
        }
        if looked_at == count {
            break;
        }
        looked_at += 1;
        let ownerless = keyspace::blob_reference(owner, OWNERLESS);
        let is_ownerless = snapshot.get(Space::BlobReferences, &ownerless)?.is_some();
        if is_ownerless && !is_referred_to(&*snapshot, owner)? {
            entries::delete_all(&*snapshot, owner, &mut batch)?;
            batch.delete(Space::BlobReferences, ownerless.to_vec());
        }
        batch.delete(Space::Meta, key.to_vec());
    }
    if looked_at > 0 {
        inner.write_under(guard, batch, Durability::Relaxed)?;
    }
    Ok(Reaped { useful: looked_at > 0, more: looked_at == count })
}
