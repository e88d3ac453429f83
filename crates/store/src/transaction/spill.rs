//! Transactions larger than memory: finished runs of inserted rows, and their index entries, go to the file before the
//! commit.
//!
//! Spilled blocks carry the transaction's number instead of a commit number, and its relations stand under a mark. The
//! commit removes the mark and notes the commit number of the transaction, by which all its blocks become visible at
//! once; an open after a crash removes the blocks of those who still have a mark. Index entries are only hints, so early
//! ones harm nobody.

use std::collections::HashSet;
use std::sync::Arc;

use farbird_record::EncodedRows;

use super::{Core, Transaction};
use crate::block::{Block, BlockLabel, RowIds, Stamp, encode_block};
use crate::commit::Publish;
use crate::decoder::RowDecoder;
use crate::keyspace::{self, meta};
use crate::recovery::delete_blocks;
use crate::store::Inner;
use crate::substrate::{Durability, Space, WriteBatch};
use crate::write_set::Run;
use crate::{Projection, RelationId, RelationLayout, Result, RowId, StoreError};

impl Transaction {
    /// Spills what can be if there is too much of it.
    pub(super) fn spill_if_large(&self, core: &mut Core) -> Result<()> {
        let inner = &self.store.inner;
        let limit = inner.options.write_set_bytes_max;
        if core.writes.bytes() <= core.spill_at_bytes.max(limit) {
            return Ok(());
        }
        let spill = core.writes.take_spill();
        // What is left cannot be spilled: wait for as much again.
        core.spill_at_bytes = core.writes.bytes() + limit;
        let mut batch = WriteBatch::new();
        for (relation, first, format, rows) in spill.runs {
            if core.spilled.insert(relation) {
                batch.put(Space::Meta, meta::pending_rows(core.id, relation), Vec::new());
            }
            let record_format = core
                .formats
                .get(&(relation, format))
                .ok_or(StoreError::BadLayout { relation, what: "format for its written rows" })?;
            let codec = inner.options.codec;
            let label = BlockLabel { codec, stamp: Stamp::Transaction(core.id), writer: core.id, format };
            let row_ids = RowIds::Dense(first..first + rows.len() as u64);
            let value = encode_block(&label, record_format, &row_ids, &rows)?;
            batch.put(Space::Blocks(relation), keyspace::block(RowId(first)).to_vec(), value);
        }
        for (index, entries) in &spill.entries {
            for entry in entries {
                batch.put(Space::Index(*index), entry.to_vec(), Vec::new());
            }
        }
        inner.write(batch, Durability::Relaxed)?;
        // Only now: until here others had to find the keys in memory.
        for (index, entries) in spill.entries.iter().chain(&spill.dropped) {
            inner.pending_keys.remove(*index, entries.iter());
        }
        Ok(())
    }

    /// Takes undone rows out of the file; what the undo leaves of a block goes back into memory.
    pub(super) fn take_back(
        &self,
        core: &mut Core,
        runs: Vec<(RelationId, Run)>,
        savepoint: u64,
    ) -> Result<()> {
        let inner = &self.store.inner;
        if runs.is_empty() {
            return Ok(());
        }
        let snapshot = inner.snapshot();
        let mut batch = WriteBatch::new();
        // Runs come latest first; in each relation the earliest may keep some of its rows.
        for (relation, run) in runs {
            let key = keyspace::block(RowId(run.first));
            batch.delete(Space::Blocks(relation), key.to_vec());
            let left = run.visible(savepoint);
            if left == 0 {
                continue;
            }
            let damaged = || StoreError::corrupt(format!("spilled block at row {}", run.first));
            let block = Block::open(&key, snapshot.get(Space::Blocks(relation), &key)?.ok_or_else(damaged)?)?;
            let format = core.formats.get(&(relation, run.format)).ok_or_else(damaged)?;
            let reader = block.reader(format)?;
            let mut rows = EncodedRows::new();
            for index in 0..left {
                rows.push_with(|out| reader.encoded_row(index, out))
                    .map_err(|error| block.damaged(&error))?;
            }
            if let Some(writes) = core.writes.relations.get_mut(&relation) {
                writes.restore(run, rows, savepoint);
            }
        }
        inner.write(batch, Durability::Relaxed)
    }
}

/// Lets others see the spilled blocks with the commit.
pub(super) fn publish(inner: &Arc<Inner>, core: &Core, publish: Publish) -> Publish {
    if core.spilled.is_empty() {
        return publish;
    }
    let (inner, id) = (Arc::clone(inner), core.id);
    Box::new(move |number| {
        inner.note_spilled_commit(id, number);
        publish(number);
    })
}

/// Entries and blocks removed in one write, in bytes.
const BYTES_PER_WRITE: usize = 8 << 20;

/// Removes what was spilled, after a rollback.
pub(super) fn discard(inner: &Inner, core: &Core) -> Result<()> {
    for relation in &core.spilled {
        if let Some(layout) = inner.registered_layout(*relation) {
            discard_entries(inner, core, &layout)?;
        }
        let mut batch = WriteBatch::new();
        delete_blocks(&*inner.snapshot(), *relation, &HashSet::from([core.id]), &mut batch)?;
        batch.delete(Space::Meta, meta::pending_rows(core.id, *relation));
        inner.write(batch, Durability::Relaxed)?;
    }
    Ok(())
}

/// Removes the index entries of spilled rows.
fn discard_entries(inner: &Inner, core: &Core, layout: &RelationLayout) -> Result<()> {
    let Some(writes) = core.writes.relation(layout.id) else { return Ok(()) };
    let snapshot = inner.snapshot();
    let projection = Projection::all();
    let decoder = RowDecoder::new(inner, layout, &projection);
    let mut batch = WriteBatch::new();
    for run in writes.runs() {
        let key = keyspace::block(RowId(run.first));
        let Some(value) = snapshot.get(Space::Blocks(layout.id), &key)? else { continue };
        let block = Block::open(&key, value)?;
        let reader = block.reader(decoder.format(block.format)?)?;
        for (index, row) in block.row_ids_from(0).enumerate() {
            let mut values = Vec::new();
            reader
                .decode_row(index, decoder.columns(), &mut values)
                .map_err(|error| block.damaged(&error))?;
            decoder.adapt(block.format, 0, &mut values)?;
            for definition in layout.indexes.iter().filter(|definition| definition.active) {
                // An entry too many is only a hint that leads nowhere: not worth failing for an expression that does.
                if let Ok(Some(key)) = definition.key(&values) {
                    batch.delete(Space::Index(definition.id), key.entry(RowId(row)));
                }
            }
        }
        if batch.bytes() > BYTES_PER_WRITE {
            inner.write(std::mem::take(&mut batch), Durability::Relaxed)?;
        }
    }
    if batch.is_empty() { Ok(()) } else { inner.write(batch, Durability::Relaxed) }
}
