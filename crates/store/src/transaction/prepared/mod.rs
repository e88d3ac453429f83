//! Prepared transactions: the first phase of a two-phase commit is done, and somebody has yet to say how they end.
//!
//! # Promises
//! - Once [`Transaction::prepare`](crate::Transaction::prepare) has returned, no crash keeps the transaction from being committed or rolled
//!   back: all of its work and its record are durable. A decision is a small record, for which the disk must have room: if it has none the
//!   transaction is prepared as before.
//! - Until then it keeps its locks on rows, keys and relations, over any number of restarts.
//!
//! Its work stands in the file under its own number, like that of a transaction which outgrew its memory
//! ([`crate::spilled`]); to commit it is to note its commit number.
//!
//! While the session lasts that has prepared it, it is to others what a running transaction is. From then on, and after a
//! restart, it is in limbo: whoever comes across its rows is told so ([`StoreError::InLimbo`]) and waits for nobody.

mod record;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

pub(crate) use record::{PreparedRecord, PreparedRelation, recorded};

use crate::blob::references::put_ownerless;
use crate::blob::remove_spilled;
use crate::keyspace::meta;
use crate::locks::TouchedShards;
use crate::named_commits::NamedCommit;
use crate::relation_statistics::Changed;
use crate::spilled::{SpilledTransaction, unsettled_mark};
use crate::store::Inner;
use crate::substrate::{Durability, Space, SubstrateState, WriteBatch};
use crate::transaction::first_free_row;
use crate::{CommitName, CommitNumber, RelationId, Result, RowId, Store, StoreError, TransactionId};

/// How long a description may be, in bytes: it is kept in memory until the transaction is decided.
pub(crate) const DESCRIPTION_BYTES_MAX: usize = 32 << 10;
/// How many transactions of a database may be prepared.
pub(crate) const PREPARED_MAX: usize = 1_000;

/// A transaction that waits for somebody to say how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedTransaction {
    /// The transaction.
    pub id: TransactionId,
    /// When it was prepared, in microseconds since 1970.
    pub at: u64,
    /// As its client gave it; empty if it gave none.
    pub description: Vec<u8>,
    /// Whether the session that has prepared it is gone.
    pub is_in_limbo: bool,
}

/// The prepared transactions of a database.
#[derive(Debug, Default)]
pub(crate) struct PreparedTransactions {
    state: Mutex<BTreeMap<TransactionId, Known>>,
    /// How many there are, with those that are being prepared or decided.
    count: AtomicUsize,
}

#[derive(Debug, Clone)]
struct Known {
    record: Arc<PreparedRecord>,
    is_in_limbo: bool,
}

impl PreparedTransactions {
    fn oldest(&self) -> Option<TransactionId> {
        self.state.lock().keys().next().copied()
    }
}

impl Store {
    /// The transactions that wait for somebody to say how they end, oldest first.
    pub fn prepared(&self) -> Vec<PreparedTransaction> {
        let state = self.inner.prepared.state.lock();
        state
            .iter()
            .map(|(id, known)| PreparedTransaction {
                id: *id,
                at: known.record.at,
                description: known.record.description.clone(),
                is_in_limbo: known.is_in_limbo,
            })
            .collect()
    }

    /// Commits a prepared transaction; `publish` as in [`crate::Transaction::commit_with`], and the commit may have a name.
    ///
    /// # Durability
    /// As of a commit. After an error it is prepared as before, and this may be tried again.
    ///
    /// # Errors
    /// [`StoreError::NotPrepared`] if it is not prepared, or any more; those of writing.
    pub fn commit_prepared(
        &self,
        id: TransactionId,
        name: Option<CommitName>,
        publish: impl FnOnce(CommitNumber) + Send + 'static,
    ) -> Result<CommitNumber> {
        self.decide(id, |known| self.inner.write_prepared_commit(id, known, name, Box::new(publish)))
    }

    /// Rolls a prepared transaction back. Durable when it returns; after an error it is prepared as before.
    ///
    /// # Errors
    /// As [`Store::commit_prepared`].
    pub fn roll_back_prepared(&self, id: TransactionId) -> Result<()> {
        self.decide(id, |known| self.inner.write_prepared_rollback(id, known))
    }

    /// The session that has prepared it is gone: from now on it is in limbo. Nothing happens if it is not prepared any more.
    pub fn leave_in_limbo(&self, id: TransactionId) {
        let inner = &self.inner;
        let mut state = inner.prepared.state.lock();
        let Some(known) = state.get_mut(&id) else { return };
        known.is_in_limbo = true;
        inner.spilled.leave_in_limbo(id, known.record.number);
        inner.registry.end(id);
        inner.locks.leave_in_limbo(id);
    }

    /// Takes it out of the list, so that nobody else decides meanwhile; back if that fails.
    fn decide<T>(&self, id: TransactionId, write: impl FnOnce(&PreparedRecord) -> Result<T>) -> Result<T> {
        let inner = &self.inner;
        let known =
            inner.prepared.state.lock().remove(&id).ok_or(StoreError::NotPrepared { transaction: id })?;
        match write(&known.record) {
            Ok(outcome) => {
                inner.forget_prepared(id, &known.record);
                Ok(outcome)
            }
            Err(error) => {
                inner.prepared.state.lock().insert(id, known);
                Err(error)
            }
        }
    }
}

impl Inner {
    /// # Errors
    /// [`StoreError::TooManyPrepared`].
    pub(crate) fn check_room_for_prepared(&self) -> Result<()> {
        match self.prepared.count.load(Ordering::Relaxed) < PREPARED_MAX {
            true => Ok(()),
            false => Err(StoreError::TooManyPrepared { most: PREPARED_MAX }),
        }
    }

    /// Counts one more, which is about to be prepared.
    ///
    /// # Errors
    /// [`StoreError::TooManyPrepared`].
    pub(crate) fn reserve_prepared(&self) -> Result<()> {
        let more = |count: usize| (count < PREPARED_MAX).then_some(count + 1);
        let counted = self.prepared.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.map(|_| ()).map_err(|_| StoreError::TooManyPrepared { most: PREPARED_MAX })
    }

    /// Counts one less.
    pub(crate) fn release_prepared(&self) {
        self.prepared.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes a transaction whose record is on the disk, and which has been counted.
    pub(crate) fn note_prepared(&self, id: TransactionId, record: PreparedRecord) {
        let known = Known { record: Arc::new(record), is_in_limbo: false };
        self.prepared.state.lock().insert(id, known);
    }

    /// The oldest prepared transaction.
    pub(crate) fn oldest_prepared(&self) -> Option<TransactionId> {
        self.prepared.oldest()
    }

    /// What an open knows of prepared transactions: those of the file, with their locks and row numbers. All are in limbo.
    pub(crate) fn load_prepared(&self) -> Result<()> {
        let snapshot = self.snapshot();
        for id in recorded(&*snapshot)? {
            let Some((record, _)) = PreparedRecord::read(&*snapshot, id)? else { continue };
            let levels = record.relations.iter().map(|relation| (relation.id, relation.levels));
            self.locks.restore(id, levels, &record.locked);
            self.locks.leave_in_limbo(id);
            for (relation, first, end) in &record.row_numbers {
                let first_free = || first_free_row(&*snapshot, *relation);
                self.row_numbers.restore(*relation, *first..*end, first_free)?;
            }
            let known = Known { record: Arc::new(record), is_in_limbo: true };
            self.prepared.state.lock().insert(id, known);
            self.prepared.count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn write_prepared_commit(
        self: &Arc<Self>,
        id: TransactionId,
        record: &PreparedRecord,
        name: Option<CommitName>,
        publish: crate::commit::Publish,
    ) -> Result<CommitNumber> {
        let rows: Vec<(RelationId, Option<RowId>)> = changed_relations(record).collect();
        let changed: Vec<(RelationId, Changed)> =
            record.relations.iter().filter(|it| it.has_rows).map(|it| (it.id, it.changed)).collect();
        let spilled = SpilledTransaction::running(record.undone.clone());
        let mut batch = WriteBatch::new();
        delete_record(&*self.snapshot(), id, &mut batch)?;
        for (relation, first_block) in &rows {
            batch.delete(Space::Meta, meta::pending_rows(id, *relation));
            batch.put(Space::Meta, meta::unsettled(id, *relation), unsettled_mark(*first_block));
        }
        record.ownerless.iter().for_each(|blob| put_ownerless(*blob, &mut batch));
        let has_rows = !rows.is_empty();
        let at = Arc::clone(self);
        let build = move |number, out: &mut WriteBatch| {
            if let Some(name) = name {
                at.named_commits.write(number, NamedCommit { name, tells_all: true }, out)?;
            }
            out.append(batch);
            if has_rows {
                out.put(Space::Meta, meta::spilled(id), spilled.encode(number));
            }
            Ok(())
        };
        let at = Arc::clone(self);
        let publish = move |number| {
            at.statistics.note(&changed);
            if let Some(listener) = at.listener.get() {
                let relations: Vec<RelationId> = changed.iter().map(|(relation, _)| *relation).collect();
                listener.committed(number, &relations, false);
            }
            if has_rows {
                at.spilled.commit(id, number, rows.into_iter());
            }
            publish(number);
        };
        self.commit(Box::new(build), Box::new(publish))
    }

    fn write_prepared_rollback(&self, id: TransactionId, record: &PreparedRecord) -> Result<()> {
        let mut batch = WriteBatch::new();
        delete_record(&*self.snapshot(), id, &mut batch)?;
        for blob in &record.blobs {
            batch.put(Space::Meta, meta::pending_blob(*blob), Vec::new());
        }
        self.write(batch, Durability::Durable)?;
        self.spilled.roll_back(id, changed_relations(record));
        // What cannot be removed now stays under its mark until the next open.
        if let Err(error) = remove_spilled(self, &record.blobs) {
            tracing::warn!(%error, "cannot remove the BLOBs of a prepared transaction");
        }
        Ok(())
    }

    /// Frees all that it held.
    fn forget_prepared(&self, id: TransactionId, record: &PreparedRecord) {
        self.locks.end(id, &TouchedShards::all());
        for (relation, first, end) in &record.row_numbers {
            self.row_numbers.release(*relation, *first, *end..*end);
        }
        self.registry.end(id);
        self.release_prepared();
    }
}

/// The relations of which it has changed rows, each with the first row of its first block.
fn changed_relations(record: &PreparedRecord) -> impl Iterator<Item = (RelationId, Option<RowId>)> {
    record
        .relations
        .iter()
        .filter(|relation| relation.has_rows)
        .map(|relation| (relation.id, relation.first_block))
}

fn delete_record(snapshot: &dyn SubstrateState, id: TransactionId, batch: &mut WriteBatch) -> Result<()> {
    let (_, pieces) = PreparedRecord::read(snapshot, id)?
        .ok_or_else(|| StoreError::corrupt("no record of a prepared transaction"))?;
    for piece in 0..pieces {
        batch.delete(Space::Meta, meta::prepared(id, piece));
    }
    Ok(())
}
