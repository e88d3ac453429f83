//! Transactions larger than memory: finished runs of inserted rows, changed rows, and the index entries of both, go to
//! the file before the commit.
//!
//! What is spilled carries the transaction's number instead of a commit number, and its relations stand under a mark. The
//! commit replaces the mark and notes the commit number of the transaction, by which all becomes visible at once. What a
//! rollback or a crash leaves behind is seen by nobody, and removed by the sweep. Index entries are only hints, so early
//! ones harm nobody.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use farbird_record::EncodedRows;

use super::ddl::DdlChange;
use super::{Core, Transaction};
use crate::block::{Block, BlockLabel, PackedBlock, RowIds, Stamp};
use crate::commit::Publish;
use crate::decoder::RowDecoder;
use crate::keyspace::{self, meta};
use crate::recovery::clear_created;
use crate::relation_statistics::Changed;
use crate::store::Inner;
use crate::substrate::{ALL_KEYS, Direction, Durability, Space, SubstrateState, WriteBatch};
use crate::version::{StoredVersion, VersionContent};
use crate::write_set::{Run, Spill, SpilledChange};
use crate::writers::Writers;
use crate::{IndexId, Projection, RelationId, Result, RowId, StoreError};

/// Entries written or removed in one batch, in bytes: others can write between two of them.
const BYTES_PER_WRITE: usize = 2 << 20;

/// After so many index entries the size of the batch is looked at.
const KEYS_PER_LOOK: usize = 64;

/// What a transaction has spilled of a relation.
#[derive(Debug)]
pub(super) struct SpilledRelation {
    /// First row of the first block.
    pub(super) first_block: Option<RowId>,
    /// If the relation is the transaction's own creation: the indexes of which entries were spilled.
    created: Option<BTreeSet<IndexId>>,
    /// Rows updated and deleted by what was spilled.
    pub(super) changed: Changed,
}

impl Transaction {
    /// Spills what can be if there is too much of it.
    pub(super) fn spill_if_large(&self, core: &mut Core) -> Result<()> {
        let inner = &self.store.inner;
        let limit = inner.options.write_set_bytes_max;
        if core.writes.bytes() <= core.spill_at_bytes.max(limit) {
            return Ok(());
        }
        self.spill(core, false)?;
        // What is left cannot be spilled: wait for as much again.
        core.spill_at_bytes = core.writes.bytes() + limit;
        Ok(())
    }

    /// Spills all that there is, whatever its size: nothing is written any more.
    pub(super) fn spill_all(&self, core: &mut Core) -> Result<()> {
        if core.writes.is_empty() { Ok(()) } else { self.spill(core, true) }
    }

    fn spill(&self, core: &mut Core, is_final: bool) -> Result<()> {
        let inner = &self.store.inner;
        inner.spilled.begin(core.id);
        core.spilled_until = core.writes.now();
        let spill = core.writes.take_spill(&self.live, is_final);
        let mut out = SpillWriter { inner, batch: WriteBatch::new() };
        note_relations(core, &spill, &mut out)?;
        for (relation, first, format, rows) in &spill.runs {
            let value = spilled_block(core, inner, *relation, *first, *format, rows)?;
            out.put(Space::Blocks(*relation), keyspace::block(RowId(*first)).to_vec(), value)?;
        }
        for SpilledChange { relation, row, change, content } in &spill.changes {
            let content = match content {
                None => VersionContent::Deleted,
                Some((format, bytes)) => VersionContent::Row { format: *format, bytes },
            };
            let value = StoredVersion { writer: core.id, content }.encode(*row);
            let key = keyspace::change(*row, core.id, *change).to_vec();
            out.put(Space::Changes(*relation), key, value)?;
        }
        for (index, entries) in &spill.entries {
            out.put_keys(Space::Index(*index), entries.iter().map(|(entry, _)| entry))?;
        }
        // Space that the file gave up while it was rewritten can be used again only after something durable.
        out.finish(Durability::Durable)?;
        // Only now: until here others had to find the keys in memory.
        for (index, entries) in spill.entries.iter().chain(&spill.dropped) {
            inner.pending_keys.remove_all(*index, core.id, entries);
        }
        Ok(())
    }

    /// Lets nobody see spilled changes that were made after a savepoint any more.
    pub(super) fn hide_undone(&self, core: &mut Core, savepoint: u64) {
        if core.spilled_until > savepoint {
            let until = core.writes.mark();
            self.store.inner.spilled.undo(core.id, savepoint, until);
        }
    }

    /// Takes undone rows out of the file; of a block that loses only some of its rows the others stay.
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
        let mut out = SpillWriter { inner, batch: WriteBatch::new() };
        let mut gone: HashMap<RelationId, Vec<Range<u64>>> = HashMap::new();
        // Runs come latest first; in each relation the earliest may keep some of its rows.
        for (relation, run) in runs {
            let first = run.first;
            let key = keyspace::block(RowId(first));
            let damaged = || StoreError::corrupt(format!("spilled block at row {first}"));
            let block = Block::open(&key, snapshot.get(Space::Blocks(relation), &key)?.ok_or_else(damaged)?)?;
            let left = run.visible(savepoint);
            out.delete_entries(relation, &block, left)?;
            gone.entry(relation).or_default().push(first + left as u64..run.end());
            if left == 0 {
                out.batch.delete(Space::Blocks(relation), key.to_vec());
                continue;
            }
            let format = core.formats.get(&(relation, run.format)).ok_or_else(damaged)?;
            let reader = block.reader(&format.record)?;
            let mut rows = EncodedRows::new();
            for index in 0..left {
                rows.push_with(|out| reader.encoded_row(index, out))
                    .map_err(|error| block.damaged(&error))?;
            }
            let value = spilled_block(core, inner, relation, first, run.format, &rows)?;
            out.put(Space::Blocks(relation), key.to_vec(), value)?;
            if let Some(writes) = core.writes.relations.get_mut(&relation) {
                writes.keep_spilled(run, left, savepoint);
            }
        }
        for (relation, rows) in &mut gone {
            rows.sort_unstable_by_key(|range| range.start);
            for index in own_indexes(core, inner, *relation) {
                out.delete_entries_of_rows(&*snapshot, index, rows)?;
            }
        }
        out.finish(Durability::Relaxed)
    }
}

/// Indexes of a relation that the transaction itself has created: the store does not know yet what their keys are made of.
fn own_indexes(core: &Core, inner: &Inner, relation: RelationId) -> BTreeSet<IndexId> {
    let built = core.ddl.iter().filter_map(|(_, change)| match change {
        DdlChange::BuiltIndex(index) => Some(*index),
        _ => None,
    });
    let created = core.spilled.get(&relation).and_then(|spilled| spilled.created.as_ref());
    let registered = inner.registered_layout(relation);
    built
        .chain(created.into_iter().flatten().copied())
        .filter(|index| core.writes.relation_of(*index) == Some(relation))
        .filter(|index| registered.as_ref().is_none_or(|layout| layout.index(*index).is_none()))
        .collect()
}

/// A block of a run of inserted rows.
fn spilled_block(
    core: &Core,
    inner: &Inner,
    relation: RelationId,
    first: u64,
    format: u16,
    rows: &EncodedRows,
) -> Result<Vec<u8>> {
    let written = core
        .formats
        .get(&(relation, format))
        .ok_or(StoreError::BadLayout { relation, what: "format for its written rows" })?;
    let codec = written.codec.unwrap_or_else(|| inner.codec());
    let label = BlockLabel { codec, writers: Writers::one(core.id), format };
    let row_ids = RowIds::Dense(first..first + rows.len() as u64);
    Ok(PackedBlock::pack(label, &written.record, &row_ids, rows)?.stamped(Stamp::Transaction(core.id)))
}

/// Writes in bounded batches.
struct SpillWriter<'a> {
    inner: &'a Inner,
    batch: WriteBatch,
}

impl SpillWriter<'_> {
    fn put(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.batch.put(space, key, value);
        self.write_if_large()
    }

    fn put_keys<'k>(&mut self, space: Space, keys: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            self.batch.put_keys(space, keys.by_ref().take(KEYS_PER_LOOK));
            self.write_if_large()?;
        }
        Ok(())
    }

    fn write_if_large(&mut self) -> Result<()> {
        if self.batch.bytes() < BYTES_PER_WRITE {
            return Ok(());
        }
        self.inner.write(std::mem::take(&mut self.batch), Durability::Relaxed)
    }

    fn finish(self, durability: Durability) -> Result<()> {
        self.inner.write(self.batch, durability)
    }

    /// Removes an index's entries of rows in these ranges, which are in order.
    fn delete_entries_of_rows(
        &mut self,
        snapshot: &dyn SubstrateState,
        index: IndexId,
        rows: &[Range<u64>],
    ) -> Result<()> {
        for entry in snapshot.scan(Space::Index(index), ALL_KEYS, Direction::Forward)? {
            let (entry, _) = entry?;
            let Some((_, RowId(row))) = keyspace::parse_entry(&entry) else { continue };
            let place = rows.partition_point(|range| range.end <= row);
            if rows.get(place).is_some_and(|range| range.contains(&row)) {
                self.batch.delete(Space::Index(index), entry.to_vec());
                self.write_if_large()?;
            }
        }
        Ok(())
    }

    /// Removes the index entries of a block's rows from the place `from` on.
    fn delete_entries(&mut self, relation: RelationId, block: &Block, from: usize) -> Result<()> {
        let Some(layout) = self.inner.registered_layout(relation) else { return Ok(()) };
        let projection = Projection::all();
        let decoder = RowDecoder::new(self.inner, &layout, &projection);
        let reader = block.reader(decoder.format(block.format)?)?;
        for (index, row) in block.row_ids_from(from).enumerate() {
            let mut values = Vec::new();
            reader
                .decode_row(from + index, decoder.columns(), &mut values)
                .map_err(|error| block.damaged(&error))?;
            decoder.adapt(block.format, 0, &mut values)?;
            for definition in layout.indexes.iter().filter(|definition| definition.active) {
                // An entry too many is only a hint that leads nowhere: not worth failing for an expression that does.
                if let Ok(Some(key)) = definition.key(&values) {
                    self.batch.delete(Space::Index(definition.id), key.entry(RowId(row)));
                }
            }
            self.write_if_large()?;
        }
        Ok(())
    }
}

/// Puts the relations of which something is spilled under marks.
fn note_relations(core: &mut Core, spill: &Spill, out: &mut SpillWriter<'_>) -> Result<()> {
    let mut relations: BTreeMap<RelationId, Option<RowId>> = BTreeMap::new();
    for (relation, first, ..) in &spill.runs {
        let first_block = relations.entry(*relation).or_default();
        *first_block = Some(first_block.map_or(RowId(*first), |known| known.min(RowId(*first))));
    }
    let mut changed: BTreeMap<RelationId, Changed> = BTreeMap::new();
    for change in &spill.changes {
        relations.entry(change.relation).or_default();
        let changed = changed.entry(change.relation).or_default();
        changed.changes += 1;
        changed.rows -= i64::from(change.content.is_none());
    }
    for (relation, first_block) in relations {
        let indexes = spill.entries.keys().filter(|index| core.writes.relation_of(**index) == Some(relation));
        let is_new = !core.spilled.contains_key(&relation);
        if is_new {
            out.inner.instances.mark_in_file(relation, &mut out.batch);
        }
        let spilled = match core.spilled.entry(relation) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let created = is_created(out.inner, relation)?.then(BTreeSet::new);
                new.insert(SpilledRelation { first_block, created, changed: Changed::default() })
            }
        };
        if let Some(changed) = changed.get(&relation) {
            spilled.changed.rows += changed.rows;
            spilled.changed.changes += changed.changes;
        }
        spilled.first_block = [spilled.first_block, first_block].into_iter().flatten().min();
        let mut grows = is_new;
        if let Some(created) = &mut spilled.created {
            for index in indexes {
                grows |= created.insert(*index);
            }
        }
        if grows {
            let value = pending_mark(spilled.created.as_ref());
            out.put(Space::Meta, meta::pending_rows(core.id, relation), value)?;
        }
    }
    Ok(())
}

/// Whether the relation is a running transaction's own creation: nobody else can have rows in it.
fn is_created(inner: &Inner, relation: RelationId) -> Result<bool> {
    let snapshot = inner.snapshot();
    for space in [Space::Versions(relation), Space::Changes(relation), Space::Blocks(relation)] {
        if snapshot.bounds(space)?.is_some() {
            return Ok(false);
        }
    }
    Ok(inner.registered_layout(relation).is_none())
}

/// The value of a mark of uncommitted rows.
fn pending_mark(created: Option<&BTreeSet<IndexId>>) -> Vec<u8> {
    let Some(indexes) = created else { return Vec::new() };
    std::iter::once(meta::CREATED).chain(indexes.iter().flat_map(|index| index.0.to_be_bytes())).collect()
}

/// Lets others see what was spilled with the commit.
pub(super) fn publish(inner: &Arc<Inner>, core: &Core, publish: Publish) -> Publish {
    if core.spilled.is_empty() {
        return publish;
    }
    let (inner, id) = (Arc::clone(inner), core.id);
    let relations = core.spilled.iter().map(|(relation, spilled)| (*relation, spilled.first_block));
    let relations: Vec<(RelationId, Option<RowId>)> = relations.collect();
    Box::new(move |number| {
        inner.spilled.commit(id, number, relations.into_iter());
        publish(number);
    })
}

/// Leaves what was spilled to the sweep, after a rollback. Relations that the transaction created go at once, since
/// the sweep will never know them.
pub(super) fn roll_back(inner: &Inner, core: &Core) -> Result<()> {
    if core.spilled.is_empty() {
        return Ok(());
    }
    let mut batch = WriteBatch::new();
    for (relation, spilled) in &core.spilled {
        if let Some(indexes) = &spilled.created {
            clear_created(*relation, indexes.iter().copied(), &mut batch);
            batch.delete(Space::Meta, meta::pending_rows(core.id, *relation));
        }
    }
    let left = core.spilled.iter().filter(|(_, spilled)| spilled.created.is_none());
    inner.spilled.roll_back(core.id, left.map(|(relation, spilled)| (*relation, spilled.first_block)));
    if batch.is_empty() { Ok(()) } else { inner.write(batch, Durability::Relaxed) }
}
