//! The first phase of a two-phase commit: all that a transaction has written goes to the file, under its own number, with a record of
//! its locks ([`crate::transaction::prepared`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::{Core, Transaction};
use crate::blob::PreparedBlobs;
use crate::locks::Levels;
use crate::relation_statistics::Changed;
use crate::substrate::WriteBatch;
use crate::transaction::prepared::{DESCRIPTION_BYTES_MAX, PreparedRecord, PreparedRelation};
use crate::{CommitNumber, RelationId, Result, StoreError, TransactionId};

impl Transaction {
    /// Prepares: from now on it can only be committed or rolled back, by [`crate::Store::commit_prepared`] and
    /// [`crate::Store::roll_back_prepared`] with the number that this gives, and this object is of no more use. Views and savepoints of it
    /// must be gone. It is to others what a running transaction is until [`crate::Store::leave_in_limbo`] is called.
    ///
    /// # Durability
    /// Everything is on the disk when this returns.
    ///
    /// # Errors
    /// Those of [`Transaction::check_can_prepare`]: it goes on. After errors of writing it is [lost](Transaction::is_lost).
    pub fn prepare(&self, description: &[u8]) -> Result<TransactionId> {
        let mut core = self.core()?;
        self.check_preparable(&core, description)?;
        self.store.inner.reserve_prepared()?;
        core.writes.end_savepoint(0, &self.live);
        self.forget_temporary_rows(&mut core);
        let id = core.id;
        match self.write_prepared(&mut core, description) {
            Ok(record) => {
                drop(core);
                self.store.inner.note_prepared(id, record);
                self.retire();
                Ok(id)
            }
            Err(error) => {
                self.store.inner.release_prepared();
                core.has_failed = true;
                Err(error)
            }
        }
    }

    /// Whether it could be prepared as it is now; nothing changes.
    ///
    /// # Errors
    /// [`StoreError::CannotPrepare`] if it has changed definitions, or rows that its session keeps in temporary tables;
    /// [`StoreError::DescriptionTooLong`]; [`StoreError::TooManyPrepared`].
    pub fn check_can_prepare(&self, description: &[u8]) -> Result<()> {
        self.check_preparable(&*self.core()?, description)?;
        self.store.inner.check_room_for_prepared()
    }

    fn check_preparable(&self, core: &Core, description: &[u8]) -> Result<()> {
        self.note_instances_in_file(core);
        if description.len() > DESCRIPTION_BYTES_MAX {
            return Err(StoreError::DescriptionTooLong {
                bytes: description.len(),
                most: DESCRIPTION_BYTES_MAX,
            });
        }
        if !core.ddl.is_empty() || core.writes.has_catalog_changes() {
            return Err(StoreError::CannotPrepare("definitions"));
        }
        let forgotten: Vec<RelationId> = self.instances.in_memory().iter().map(|layout| layout.id).collect();
        let mut changed = core.changed_relations();
        if changed.any(|relation| relation.is_instance() && !forgotten.contains(&relation)) {
            return Err(StoreError::CannotPrepare("rows of temporary tables"));
        }
        Ok(())
    }

    fn write_prepared(&self, core: &mut Core, description: &[u8]) -> Result<PreparedRecord> {
        let inner = &self.store.inner;
        let changed: BTreeMap<RelationId, Changed> = Changed::of_all(core).into_iter().collect();
        self.spill_all(core)?;
        let PreparedBlobs { batch: blobs, ids, ownerless } = core.blobs.to_prepare();
        let mut record = self.record_of(core, description, &changed);
        (record.blobs, record.ownerless) = (ids, ownerless);
        let to_write = record.clone();
        let (failures, id, at) = (core.failures, core.id, Arc::clone(inner));
        let build = move |number, batch: &mut WriteBatch| match failures == at.failures() {
            true => {
                batch.append(blobs);
                PreparedRecord { number, ..to_write }.write(id, batch);
                Ok(())
            }
            false => Err(StoreError::Reopened),
        };
        let at = Arc::clone(inner);
        let publish = move |number: CommitNumber| {
            if let Some(listener) = at.listener.get() {
                listener.committed(number, &[], false);
            }
        };
        record.number = inner.commit(Box::new(build), Box::new(publish))?;
        core.blobs.forget_adopted();
        Ok(record)
    }

    fn record_of(
        &self,
        core: &Core,
        description: &[u8],
        changed: &BTreeMap<RelationId, Changed>,
    ) -> PreparedRecord {
        let inner = &self.store.inner;
        let mut relations: BTreeMap<RelationId, PreparedRelation> = BTreeMap::new();
        let relation = |id: RelationId| -> PreparedRelation {
            PreparedRelation {
                id,
                levels: Levels::default(),
                has_rows: false,
                first_block: None,
                changed: changed.get(&id).copied().unwrap_or_default(),
            }
        };
        for (id, levels) in &core.levels {
            relations.entry(*id).or_insert_with(|| relation(*id)).levels = *levels;
        }
        for (id, spilled) in &core.spilled {
            let known = relations.entry(*id).or_insert_with(|| relation(*id));
            (known.has_rows, known.first_block) = (true, spilled.first_block);
        }
        let taken = core.row_numbers.iter().flat_map(|(relation, taken)| {
            taken.iter().map(|reservation| (*relation, reservation.start, reservation.unused.end))
        });
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        PreparedRecord {
            number: CommitNumber(0),
            at: u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX),
            description: description.to_vec(),
            undone: inner.spilled.find(core.id).map_or_else(Vec::new, |spilled| spilled.undone().to_vec()),
            relations: relations.into_values().collect(),
            row_numbers: taken.collect(),
            blobs: Vec::new(),
            ownerless: Vec::new(),
            locked: inner.locks.rows_of(core.id, &self.touched),
        }
    }

    /// Frees what a prepared transaction needs no more: all but its locks and its row numbers.
    fn retire(&self) {
        let Some(mut core) = self.core.lock().take() else { return };
        let inner = &self.store.inner;
        if let Err(error) = core.blobs.discard(inner) {
            tracing::warn!(%error, "cannot remove temporary blobs");
        }
        for own in core.own_commits.drain(..) {
            inner.registry.release(own);
        }
        self.instances.end(inner);
    }
}
