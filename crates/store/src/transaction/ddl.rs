//! What DDL needs of the store: what a commit makes of new and dropped indexes and relations.

use std::sync::Arc;

use farbird_types::BlobId;

use super::Transaction;
use crate::keyspace::{self, meta};
use crate::store::Inner;
use crate::substrate::{ALL_KEYS, Direction, Durability, Space, WriteBatch};
use crate::{CommitNumber, IndexId, LockLevel, RelationId, RelationLayout, Result, StoreError};

/// Part of a transaction's DDL that the store has a share in.
#[derive(Debug, Clone)]
pub(crate) enum DdlChange {
    /// The index is filled, under a mark that the commit removes.
    BuiltIndex(IndexId),
    /// To be removed once nobody can be reading it.
    DroppedIndex(IndexId),
    /// To be removed, with these BLOBs, once nobody can be reading it.
    DroppedRelation(RelationId, Arc<Vec<BlobId>>),
}

impl DdlChange {
    pub(super) fn write(&self, number: CommitNumber, batch: &mut WriteBatch) {
        let number = number.0.to_le_bytes().to_vec();
        match self {
            DdlChange::BuiltIndex(index) => batch.delete(Space::Meta, meta::pending_index(*index)),
            DdlChange::DroppedIndex(index) => batch.put(Space::Meta, meta::dropped_index(*index), number),
            DdlChange::DroppedRelation(relation, blobs) => {
                batch.put(Space::Meta, meta::dropped_relation(*relation), number);
                for blob in blobs.iter() {
                    batch.put(Space::Meta, meta::dropped_blob(*relation, blob.0), Vec::new());
                }
            }
        }
    }

    /// Takes back what was done ahead of the commit.
    pub(super) fn abandon(&self, inner: &Inner) -> Result<()> {
        match self {
            DdlChange::BuiltIndex(index) => {
                let mut batch = WriteBatch::new();
                batch.clear(Space::Index(*index));
                batch.delete(Space::Meta, meta::pending_index(*index));
                inner.write(batch, Durability::Relaxed)
            }
            DdlChange::DroppedIndex(_) | DdlChange::DroppedRelation(..) => Ok(()),
        }
    }
}

impl Transaction {
    /// Drops an index with the commit; its space comes back when nobody can be reading it any more.
    pub fn drop_index(&self, index: IndexId) -> Result<()> {
        self.check_writable()?;
        let mut core = self.core()?;
        let change = core.writes.now();
        core.ddl.push((change, DdlChange::DroppedIndex(index)));
        Ok(())
    }

    /// Drops all rows (and BLOBs) of a relation with the commit; the space comes back when nobody can be reading it any
    /// more. Its indexes are dropped by [`Transaction::drop_index`].
    pub fn drop_relation(&self, layout: &RelationLayout) -> Result<()> {
        self.check_writable()?;
        self.lock_relation(layout.id, LockLevel::Exclusive)?;
        let blobs = Arc::new(self.blobs_of_relation(layout)?);
        let mut core = self.core()?;
        let change = core.writes.now();
        core.ddl.push((change, DdlChange::DroppedRelation(layout.id, blobs)));
        Ok(())
    }

    /// BLOBs that committed rows of a relation own, in all their versions.
    fn blobs_of_relation(&self, layout: &RelationLayout) -> Result<Vec<BlobId>> {
        let mut blobs = Vec::new();
        if layout.formats.iter().all(|format| format.blob_slots().next().is_none()) {
            return Ok(blobs);
        }
        let snapshot = self.store.inner.snapshot();
        for entry in snapshot.scan(Space::Versions(layout.id), ALL_KEYS, Direction::Forward)? {
            self.cancel.check()?;
            let (key, value) = entry?;
            let (row, _) =
                keyspace::parse_version(&key).ok_or_else(|| StoreError::corrupt("key of a version"))?;
            crate::sweep::blobs_of_version(layout, row, &value, &mut blobs)?;
        }
        for entry in snapshot.scan(Space::Changes(layout.id), ALL_KEYS, Direction::Forward)? {
            self.cancel.check()?;
            let (key, value) = entry?;
            let (row, ..) = crate::changes::parse(&key)?;
            crate::sweep::blobs_of_version(layout, row, &value, &mut blobs)?;
        }
        for entry in snapshot.scan(Space::Blocks(layout.id), ALL_KEYS, Direction::Forward)? {
            self.cancel.check()?;
            let (key, value) = entry?;
            crate::sweep::blobs_of_block(layout, &key, value, &mut blobs)?;
        }
        blobs.sort_unstable();
        blobs.dedup();
        Ok(blobs)
    }
}
