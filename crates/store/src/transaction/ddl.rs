//! What DDL needs of the store: filling new indexes, dropping indexes and relations.

use std::sync::Arc;

use farbird_types::{BlobId, Value};

use super::Transaction;
use crate::keyspace::{self, meta};
use crate::store::Inner;
use crate::substrate::{ALL_KEYS, Direction, Durability, Space, WriteBatch};
use crate::{
    CommitNumber, IndexDefinition, IndexId, LockLevel, Projection, ReadView, RelationId, RelationLayout,
    RelationScan, Result, RowBatch, RowId, StoreError,
};

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

/// Rows read at a time while an index is filled.
const ROWS_PER_BATCH: usize = 1_000;
/// Entries are sorted and written in portions of this size, in bytes.
const ENTRY_BYTES_PER_WRITE: usize = 16 << 20;

impl Transaction {
    /// Fills a new index of the layout from the rows that exist. Locks the relation against writers.
    ///
    /// # Errors
    /// `UniqueViolation`: the index is empty again then.
    pub fn build_index(&self, layout: &Arc<RelationLayout>, index: IndexId) -> Result<()> {
        self.check_writable()?;
        self.lock_relation(layout.id, LockLevel::ProtectedWrite)?;
        let index = layout
            .index(index)
            .ok_or(StoreError::BadLayout { relation: layout.id, what: "index of this number" })?;
        let inner = &self.store.inner;
        let view = {
            let mut core = self.core()?;
            // Rows newer than the snapshot belong into the index too: later transactions will look for them.
            let view = self.latest_view(&mut core);
            core.ddl.push((view.change() + 1, DdlChange::BuiltIndex(index.id)));
            view
        };
        let mut batch = WriteBatch::new();
        batch.clear(Space::Index(index.id));
        batch.put(Space::Meta, meta::pending_index(index.id), Vec::new());
        inner.write(batch, Durability::Relaxed)?;
        let filled = self.fill_index(layout, index, view).and_then(|()| self.check_unique(layout, index));
        if filled.is_err() {
            self.core()?
                .ddl
                .retain(|(_, change)| !matches!(change, DdlChange::BuiltIndex(id) if *id == index.id));
            DdlChange::BuiltIndex(index.id).abandon(inner)?;
        }
        filled
    }

    fn fill_index(
        &self,
        layout: &Arc<RelationLayout>,
        index: &IndexDefinition,
        view: ReadView,
    ) -> Result<()> {
        let mut scan = RelationScan::new(Arc::clone(layout), view, Projection::all());
        let mut rows = RowBatch::new();
        let mut batch = WriteBatch::new();
        while scan.next_batch(self, ROWS_PER_BATCH, &mut rows)? {
            for position in 0..rows.len() {
                self.cancel.check()?;
                let row_id = rows.row_id(position);
                if let Some(key) = index.key(&rows.take_row(position))? {
                    batch.put(Space::Index(index.id), key.entry(row_id), Vec::new());
                }
            }
            if batch.bytes() > ENTRY_BYTES_PER_WRITE {
                self.store.inner.write(std::mem::take(&mut batch), Durability::Relaxed)?;
            }
        }
        self.store.inner.write(batch, Durability::Relaxed)
    }

    /// Looks for neighbours with the same key in an index just filled.
    fn check_unique(&self, layout: &RelationLayout, index: &IndexDefinition) -> Result<()> {
        if !index.unique {
            return Ok(());
        }
        let all_null = index.encode(&vec![Value::Null; index.parts.len()])?.bytes;
        let snapshot = self.store.inner.snapshot();
        let mut previous: Vec<u8> = Vec::new();
        for entry in snapshot.scan(Space::Index(index.id), ALL_KEYS, Direction::Forward)? {
            self.cancel.check()?;
            let (entry, _) = entry?;
            let (key, row) =
                keyspace::parse_entry(&entry).ok_or_else(|| StoreError::corrupt("an index entry"))?;
            if key == previous && key != all_null {
                return Err(StoreError::UniqueViolation {
                    index: index.id,
                    values: self.key_of(layout, index, row)?,
                });
            }
            previous.clear();
            previous.extend_from_slice(key);
        }
        Ok(())
    }

    fn key_of(&self, layout: &RelationLayout, index: &IndexDefinition, row: RowId) -> Result<Vec<Value>> {
        let view = self.latest_view(&mut *self.core()?);
        let row = self.read_row(layout, &view, row, &Projection::all())?.unwrap_or_default();
        Ok(index.key_values(&row)?.unwrap_or_default())
    }

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
