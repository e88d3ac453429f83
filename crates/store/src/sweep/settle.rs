//! Settling what large transactions have spilled and left behind: committed changes become versions, and what a rollback
//! or a crash left goes, with its index entries. Blocks of committed transactions are made to name the commit, so that the
//! transactions themselves can be forgotten.
//!
//! A relation's versions are swept only when nothing is left to settle: a version of a later commit must not get into a
//! block before one of an earlier commit has come to stand behind it.

use std::ops::Bound;

use farbird_types::Value;

use super::images::{forget_entries, image_of_version};
use crate::block::{Block, Stamp};
use crate::changes;
use crate::committed::block_of;
use crate::decoder::RowDecoder;
use crate::keyspace::meta;
use crate::spilled::Unsettled;
use crate::store::{Inner, WriteGuard};
use crate::substrate::{Direction, Durability, Slice, Space, SubstrateState, WriteBatch};
use crate::version::StoredVersion;
use crate::{
    CommitNumber, Projection, RelationId, RelationLayout, Result, RowId, StoreError, TransactionId, keyspace,
};

/// A walk over what transactions have left behind in a relation.
#[derive(Debug, Clone)]
pub(super) struct Settling {
    relation: RelationId,
    /// Those that had ended when the walk began.
    transactions: Unsettled,
    position: SettlePosition,
}

/// Where the walk goes on.
#[derive(Debug, Clone, Copy)]
enum SettlePosition {
    /// At the changes of this row.
    Change(RowId),
    /// At this row of a block.
    Block(RowId),
}

/// Goes one step on, of at most about `rows_max` rows; gives how many it looked at.
pub(super) fn step(
    inner: &Inner,
    guard: &WriteGuard<'_>,
    layout: &RelationLayout,
    settling: &mut Option<Settling>,
    rows_max: usize,
) -> Result<usize> {
    let unsettled = inner.spilled.unsettled(layout.id);
    let mut walk = match settling.take().filter(|walk| walk.relation == layout.id) {
        Some(walk) => walk,
        None => Settling {
            relation: layout.id,
            transactions: unsettled,
            position: SettlePosition::Change(RowId(0)),
        },
    };
    let snapshot = inner.snapshot();
    let projection = Projection::all();
    let decoder = RowDecoder::new(inner, layout, &projection);
    let mut step = Step { inner, layout, snapshot: &*snapshot, decoder, batch: WriteBatch::new() };
    let next = match walk.position {
        SettlePosition::Change(from) => match step.settle_changes(from, rows_max)? {
            Some(row) => Some(SettlePosition::Change(row)),
            None => walk.transactions.values().flatten().min().copied().map(SettlePosition::Block),
        },
        SettlePosition::Block(from) => {
            step.settle_blocks(&walk.transactions, from, rows_max)?.map(SettlePosition::Block)
        }
    };
    let mut batch = step.batch;
    if next.is_none() {
        remove_marks(inner, layout.id, &walk.transactions, &mut batch);
    }
    drop(snapshot);
    if !batch.is_empty() {
        inner.write_under(guard, batch, Durability::Relaxed)?;
    }
    match next {
        None => note_settled(inner, layout.id, &walk.transactions),
        Some(position) => {
            walk.position = position;
            *settling = Some(walk);
        }
    }
    Ok(rows_max)
}

/// Removes the marks of transactions that have nothing left in a relation, and of those that have nothing left anywhere.
pub(super) fn remove_marks(
    inner: &Inner,
    relation: RelationId,
    transactions: &Unsettled,
    batch: &mut WriteBatch,
) {
    for transaction in transactions.keys() {
        batch.delete(Space::Meta, meta::pending_rows(*transaction, relation));
        batch.delete(Space::Meta, meta::unsettled(*transaction, relation));
    }
    for transaction in inner.spilled.last_unsettled_in(relation, transactions) {
        batch.delete(Space::Meta, meta::spilled(transaction));
    }
}

/// Notes what [`remove_marks`] has done, once it is written.
pub(super) fn note_settled(inner: &Inner, relation: RelationId, transactions: &Unsettled) {
    let retired = inner.spilled.last_unsettled_in(relation, transactions);
    inner.spilled.settled(relation, transactions, retired, &inner.old_states());
}

struct Step<'a> {
    inner: &'a Inner,
    layout: &'a RelationLayout,
    snapshot: &'a dyn SubstrateState,
    decoder: RowDecoder<'a>,
    batch: WriteBatch,
}

impl Step<'_> {
    /// Settles the changes of some rows; gives the row to go on with, if there are more.
    fn settle_changes(&mut self, from: RowId, rows_max: usize) -> Result<Option<RowId>> {
        let mut row_changes: Vec<(TransactionId, u64, Slice)> = Vec::new();
        let mut current = from;
        for (count, entry) in changes::scan(self.snapshot, self.layout.id, from, RowId(u64::MAX))?.enumerate()
        {
            let (key, value) = entry?;
            let (row, transaction, change) = changes::parse(&key)?;
            if row != current {
                self.settle_row(current, &row_changes)?;
                row_changes.clear();
                current = row;
                if count >= rows_max {
                    return Ok(Some(row));
                }
            }
            row_changes.push((transaction, change, value));
        }
        self.settle_row(current, &row_changes)?;
        Ok(None)
    }

    fn settle_row(&mut self, row: RowId, row_changes: &[(TransactionId, u64, Slice)]) -> Result<()> {
        let relation = self.layout.id;
        let mut dead = Vec::new();
        let mut alive = Vec::new();
        let mut settled = None;
        for (transaction, change, value) in row_changes {
            let spilled = self.inner.spilled.find(*transaction);
            let commit = match &spilled {
                Some(running) if running.commit.is_none() => {
                    alive.push(value);
                    continue;
                }
                // Of a transaction's changes only the last one was ever seen by others.
                Some(committed) if settled != Some(*transaction) && !committed.is_undone(*change) => {
                    settled = Some(*transaction);
                    committed.commit
                }
                _ => None,
            };
            let version = commit.map(|commit| keyspace::version(row, commit));
            match version {
                // The last one may never have been spilled: the commit has written it then.
                Some(key) if self.snapshot.get(Space::Versions(relation), &key)?.is_none() => {
                    StoredVersion::decode(value, row)?;
                    self.batch.put(Space::Versions(relation), key.to_vec(), value.to_vec());
                    alive.push(value);
                }
                _ => dead.push(value),
            }
            let key = keyspace::change(row, *transaction, *change).to_vec();
            self.batch.delete(Space::Changes(relation), key);
        }
        if dead.is_empty() || self.layout.indexes.is_empty() {
            return Ok(());
        }
        // BLOBs that never got into a committed row are their transaction's to remove.
        let dead = self.images(row, dead)?;
        let mut alive = self.images(row, alive)?;
        alive.extend(self.committed_images(row)?);
        forget_entries(self.layout, row, &dead, &alive, &mut self.batch);
        Ok(())
    }

    fn images(&self, row: RowId, values: Vec<&Slice>) -> Result<Vec<Vec<Value>>> {
        let images = values.into_iter().map(|value| image_of_version(&self.decoder, row, value));
        images.filter_map(Result::transpose).collect()
    }

    fn committed_images(&self, row: RowId) -> Result<Vec<Vec<Value>>> {
        let mut images = Vec::new();
        let first = keyspace::version(row, CommitNumber(u64::MAX));
        let last = keyspace::version(row, CommitNumber(0));
        let span = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        for entry in self.snapshot.scan(Space::Versions(self.layout.id), span, Direction::Forward)? {
            images.extend(image_of_version(&self.decoder, row, &entry?.1)?);
        }
        if let Some(block) = block_of(self.snapshot, self.layout.id, row)?
            && let Some(index) = block.index_of(row.0)
        {
            images.push(self.image_in_block(&block, index)?);
        }
        Ok(images)
    }

    fn image_in_block(&self, block: &Block, index: usize) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        let reader = block.reader(self.decoder.format(block.format)?)?;
        reader
            .decode_row(index, self.decoder.columns(), &mut values)
            .map_err(|error| block.damaged(&error))?;
        self.decoder.adapt(block.format, 0, &mut values)?;
        Ok(values)
    }

    /// Settles blocks that these transactions have spilled: those of committed ones get the number of the commit, the
    /// others go. Gives the row to go on with, if there may be more.
    fn settle_blocks(
        &mut self,
        transactions: &Unsettled,
        from: RowId,
        rows_max: usize,
    ) -> Result<Option<RowId>> {
        let relation = self.layout.id;
        let container = block_of(self.snapshot, relation, from)?;
        let first = keyspace::block(container.map_or(from, |block| RowId(block.first)));
        let span = (Bound::Included(&first[..]), Bound::Unbounded);
        let mut room = rows_max;
        for entry in self.snapshot.scan(Space::Blocks(relation), span, Direction::Forward)? {
            let (key, value) = entry?;
            let block = Block::open(&key, value)?;
            if room == 0 {
                return Ok(Some(RowId(block.first)));
            }
            let spiller = match block.stamp {
                Stamp::Transaction(spiller) if transactions.contains_key(&spiller) => spiller,
                _ => {
                    // Looking at a block costs about as much as removing a few rows.
                    room = room.saturating_sub(8);
                    continue;
                }
            };
            if let Some(commit) = self.inner.spilled.commit_of(spiller) {
                self.batch.put(Space::Blocks(relation), key.to_vec(), block.with_commit(commit));
                room = room.saturating_sub(24);
                continue;
            }
            let start = block.index_from(from.0);
            let end = block.rows.min(start + room);
            self.remove_entries(&block, start, end)?;
            if end < block.rows {
                return block
                    .row_ids_from(end)
                    .next()
                    .map(|row| Some(RowId(row)))
                    .ok_or_else(|| StoreError::corrupt(format!("row block at row {}", block.first)));
            }
            self.batch.delete(Space::Blocks(relation), key.to_vec());
            room = room.saturating_sub(end - start + 8);
        }
        Ok(None)
    }

    /// Removes the index entries of a block's rows from one place to another.
    fn remove_entries(&mut self, block: &Block, start: usize, end: usize) -> Result<()> {
        if self.layout.indexes.is_empty() {
            return Ok(());
        }
        for (index, row) in (start..end).zip(block.row_ids_from(start)) {
            let image = self.image_in_block(block, index)?;
            forget_entries(self.layout, RowId(row), &[image], &[], &mut self.batch);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farbird_record::RecordFormat;
    use farbird_types::SqlType;

    use super::*;
    use crate::committed::{CommittedRow, Visibility, find_row};
    use crate::log::LoggedSubstrate;
    use crate::{Access, CancelFlag, Isolation, Store, StoreOptions, Transaction, TransactionOptions, Wait};

    /// A relation of one number.
    fn numbers() -> Arc<RelationLayout> {
        Arc::new(RelationLayout {
            id: RelationId(128),
            formats: vec![RecordFormat::new(vec![SqlType::BIGINT])],
            current: 0,
            added_defaults: Vec::new(),
            codec: None,
            temporary: None,
            indexes: Vec::new(),
        })
    }

    fn begin(store: &Store) -> Transaction {
        let options = TransactionOptions {
            isolation: Isolation::Snapshot,
            access: Access::ReadWrite,
            wait: Wait::No,
            snapshot_at: None,
            ignore_limbo: false,
        };
        store.begin(options, CancelFlag::new()).expect("begin")
    }

    /// What a reader finds who took its state of the file before all this.
    fn find(
        store: &Store,
        state: &dyn SubstrateState,
        row: RowId,
        until: CommitNumber,
    ) -> Option<CommittedRow> {
        let visibility = Visibility { until, own_commits: &[], meets_limbo: false, own: None };
        find_row(&store.inner, state, numbers().id, row, visibility).expect("a read")
    }

    #[test]
    fn a_reader_whose_state_of_the_file_was_merged_finds_what_was_settled_behind_it() {
        let substrate =
            LoggedSubstrate::on_backend(redb::backends::InMemoryBackend::new(), 16 << 20, 64 << 10);
        // All changes are spilled.
        let options =
            StoreOptions { background_sweep: false, write_set_bytes_max: 0, ..StoreOptions::default() };
        let store = Store::on_substrate(Arc::new(substrate.expect("a substrate")), options).expect("open");
        let layout = numbers();
        store.register_layout(Arc::clone(&layout));
        let first = begin(&store);
        let row = first.insert(&layout, &mut [Value::integer(1)]).expect("insert");
        first.commit().expect("commit");
        let second = begin(&store);
        let view = second.view().expect("view");
        second.update(&layout, &view, row, &mut [Value::integer(2)]).expect("update");
        drop(view);
        let commit = second.commit().expect("commit");

        let state = store.inner.snapshot();
        let spilled = state.scan(Space::Changes(layout.id), crate::substrate::ALL_KEYS, Direction::Forward);
        assert_eq!(spilled.expect("scan").count(), 1, "nothing was spilled");
        // What the sweep does when it has nothing else to do, and it does it between any two of a reader's steps.
        store.inner.rest().expect("rest");
        while store.sweep(10).expect("sweep") > 0 {}
        assert!(!store.inner.spilled.is_unsettled(layout.id));
        assert_eq!(find(&store, &*state, row, commit).map(|found| found.commit), Some(commit));
        assert_eq!(
            find(&store, &*store.inner.snapshot(), row, commit).map(|found| found.commit),
            Some(commit)
        );
    }
}
