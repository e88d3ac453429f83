//! What a commit writes: rows as versions or row blocks, index entries, catalog entries, BLOBs, marks of DDL.
//!
//! All of it is put together and packed by the transaction's own thread before its turn to be written comes. Then, with the
//! right to write, only the commit number is filled in: nobody waits for the packing of somebody else's bulk load.

use std::sync::Arc;

use farbird_record::{CodecId, EncodedRows};

use super::ddl::DdlChange;
use super::{Core, WrittenFormat};
use crate::blob::BlobCommit;
use crate::block::{BLOCK_BYTES_MAX, BLOCK_ROWS_MIN, BlockLabel, PackedBlock, RowIds, Stamp};
use crate::identifiers::IdMap;
use crate::keyspace::{self, meta};
use crate::spilled::{SpilledTransaction, unsettled_mark};
use crate::store::Inner;
use crate::substrate::{Space, WriteBatch};
use crate::version::{StoredVersion, VersionContent};
use crate::write_set::{OwnEntries, OwnRow, RelationWrites, Run, RunRows};
use crate::writers::Writers;
use crate::{CommitNumber, IndexId, RelationId, Result, RowId, StoreError, TransactionId};

/// All that one commit writes.
pub(super) struct CommitContent {
    id: TransactionId,
    /// For relations that name none.
    codec: CodecId,
    relations: IdMap<RelationId, RelationWrites>,
    formats: IdMap<(RelationId, u16), WrittenFormat>,
    entries: Arc<IdMap<IndexId, OwnEntries>>,
    catalog: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    blobs: BlobCommit,
    /// Marks of instances.
    marks: WriteBatch,
    ddl: Vec<DdlChange>,
    /// What it has spilled before.
    spilled: Option<SpilledTransaction>,
    /// Relations with spilled rows, and the first row of the first block of them.
    spilled_relations: Vec<(RelationId, Option<RowId>)>,
}

impl CommitContent {
    /// Takes it out of the transaction. Its index entries stay visible to other transactions' checks.
    pub(super) fn take(core: &mut Core, inner: &Inner) -> CommitContent {
        let entries = Arc::new(std::mem::take(&mut core.writes.entries));
        core.committed_entries = Arc::clone(&entries);
        let mut marks = WriteBatch::new();
        for relation in core.writes.relations.keys() {
            inner.instances.mark_in_file(*relation, &mut marks);
        }
        CommitContent {
            id: core.id,
            codec: inner.codec(),
            relations: std::mem::take(&mut core.writes.relations),
            formats: std::mem::take(&mut core.formats),
            entries,
            catalog: core.writes.take_catalog(),
            blobs: core.blobs.to_commit(),
            marks,
            ddl: core.ddl.iter().map(|(_, change)| change.clone()).collect(),
            spilled: inner.spilled.find(core.id),
            spilled_relations: core
                .spilled
                .iter()
                .map(|(relation, spilled)| (*relation, spilled.first_block))
                .collect(),
        }
    }

    /// Packs everything that can be packed before the commit number is known.
    pub(super) fn prepare(self) -> Result<PreparedCommit> {
        let mut out = PreparedCommit::default();
        for (relation, writes) in &self.relations {
            self.prepare_rows(*relation, writes, &mut out)?;
        }
        for (index, entries) in self.entries.iter() {
            let committed = entries.iter().filter(|(_, known)| !known.is_superseded());
            out.batch.put_keys(Space::Index(*index), committed.map(|(entry, _)| entry));
        }
        for (key, value) in self.catalog {
            match value {
                Some(value) => out.batch.put(Space::Catalog, key, value),
                None => out.batch.delete(Space::Catalog, key),
            }
        }
        self.blobs.write(&mut out.batch);
        out.batch.append(self.marks);
        for (relation, first_block) in &self.spilled_relations {
            out.batch.delete(Space::Meta, meta::pending_rows(self.id, *relation));
            let mark = unsettled_mark(*first_block);
            out.batch.put(Space::Meta, meta::unsettled(self.id, *relation), mark);
        }
        out.spilled = self.spilled.map(|spilled| (self.id, spilled));
        out.ddl = self.ddl;
        Ok(out)
    }

    fn prepare_rows(
        &self,
        relation: RelationId,
        writes: &RelationWrites,
        out: &mut PreparedCommit,
    ) -> Result<()> {
        let mut written_until = 0;
        for run in writes.runs() {
            let RunRows::InMemory(rows) = &run.rows else { continue };
            self.prepare_changed(relation, writes, written_until..run.first, out);
            self.prepare_run(relation, writes, run, rows, out)?;
            written_until = run.end();
        }
        self.prepare_changed(relation, writes, written_until..u64::MAX, out);
        Ok(())
    }

    /// Updated and deleted rows that others inserted.
    fn prepare_changed(
        &self,
        relation: RelationId,
        writes: &RelationWrites,
        range: std::ops::Range<u64>,
        out: &mut PreparedCommit,
    ) {
        for (row, own) in writes.changed(range) {
            self.prepare_version(relation, row, own, out);
        }
    }

    fn prepare_version(&self, relation: RelationId, row: RowId, own: OwnRow<'_>, out: &mut PreparedCommit) {
        let content = match own {
            OwnRow::Deleted => VersionContent::Deleted,
            OwnRow::Row { format, bytes } => VersionContent::Row { format, bytes },
        };
        out.versions.push((relation, row, StoredVersion { writer: self.id, content }.encode(row)));
    }

    /// Inserted rows: a block if there are enough of them, with what later changes left of them.
    fn prepare_run(
        &self,
        relation: RelationId,
        writes: &RelationWrites,
        run: &Run,
        inserted: &EncodedRows,
        out: &mut PreparedCommit,
    ) -> Result<()> {
        let end = run.end();
        let mut changed = writes.changed(run.first..end).peekable();
        if changed.peek().is_none() && are_worth_a_block(inserted) {
            return self.prepare_block(relation, run.format, &RowIds::Dense(run.first..end), inserted, out);
        }
        let mut row_ids = Vec::new();
        let mut rows = EncodedRows::new();
        for (row, bytes) in (run.first..end).zip(inserted.iter()) {
            let own = match changed.next_if(|(other, _)| other.0 == row) {
                Some((_, changed)) => changed,
                None => OwnRow::Row { format: run.format, bytes },
            };
            match own {
                // Inserted and deleted: nobody else will ever have seen it.
                OwnRow::Deleted => {}
                OwnRow::Row { format, bytes } if format == run.format => {
                    row_ids.push(row);
                    rows.push(bytes);
                }
                OwnRow::Row { .. } => self.prepare_version(relation, RowId(row), own, out),
            }
        }
        if are_worth_a_block(&rows) {
            return self.prepare_block(relation, run.format, &RowIds::of(row_ids), &rows, out);
        }
        for (row, bytes) in row_ids.into_iter().zip(rows.iter()) {
            self.prepare_version(relation, RowId(row), OwnRow::Row { format: run.format, bytes }, out);
        }
        Ok(())
    }

    fn prepare_block(
        &self,
        relation: RelationId,
        format: u16,
        row_ids: &RowIds,
        rows: &EncodedRows,
        out: &mut PreparedCommit,
    ) -> Result<()> {
        let written = self
            .formats
            .get(&(relation, format))
            .ok_or(StoreError::BadLayout { relation, what: "format for its written rows" })?;
        let codec = written.codec.unwrap_or(self.codec);
        let label = BlockLabel { codec, writers: Writers::one(self.id), format };
        out.blocks.push((relation, PackedBlock::pack(label, &written.record, row_ids, rows)?));
        Ok(())
    }
}

/// All that a commit writes, packed, but for the commit number.
#[derive(Default)]
pub(super) struct PreparedCommit {
    /// What does not depend on the number.
    batch: WriteBatch,
    /// Encoded versions.
    versions: Vec<(RelationId, RowId, Vec<u8>)>,
    blocks: Vec<(RelationId, PackedBlock)>,
    spilled: Option<(TransactionId, SpilledTransaction)>,
    ddl: Vec<DdlChange>,
}

impl PreparedCommit {
    /// How many keys it puts or deletes.
    pub(super) fn key_count(&self) -> usize {
        let changes: usize = self.batch.changes().map(|(_, changes)| changes.len()).sum();
        changes + self.versions.len() + self.blocks.len()
    }

    /// Fills in the commit number.
    pub(super) fn stamp(self, number: CommitNumber) -> WriteBatch {
        let PreparedCommit { mut batch, versions, blocks, spilled, ddl } = self;
        for (relation, row, value) in versions {
            batch.put(Space::Versions(relation), keyspace::version(row, number).to_vec(), value);
        }
        for (relation, block) in blocks {
            let key = keyspace::block(block.first_row()).to_vec();
            batch.put(Space::Blocks(relation), key, block.stamped(Stamp::Commit(number)));
        }
        if let Some((id, spilled)) = spilled {
            batch.put(Space::Meta, meta::spilled(id), spilled.encode(number));
        }
        for change in &ddl {
            change.write(number, &mut batch);
        }
        batch
    }
}

/// Whether rows are enough for a block: many, or wide.
fn are_worth_a_block(rows: &EncodedRows) -> bool {
    rows.len() >= BLOCK_ROWS_MIN || rows.bytes().len() >= BLOCK_BYTES_MAX / 2
}
