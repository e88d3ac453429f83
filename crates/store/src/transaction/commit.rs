//! What a commit writes: rows as versions or row blocks, index entries, catalog entries, BLOBs, marks of DDL.

use std::sync::Arc;

use farbird_record::{CodecId, EncodedRows};

use super::ddl::DdlChange;
use super::{Core, WrittenFormat};
use crate::blob::BlobCommit;
use crate::block::{BLOCK_BYTES_MAX, BLOCK_ROWS_MIN, BlockLabel, RowIds, Stamp, encode_block};
use crate::identifiers::IdMap;
use crate::keyspace::{self, meta};
use crate::spilled::{SpilledTransaction, unsettled_mark};
use crate::store::Inner;
use crate::substrate::{Space, WriteBatch};
use crate::version::{StoredVersion, VersionContent};
use crate::write_set::{OwnEntries, OwnRow, RelationWrites, Run, RunRows};
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
        CommitContent {
            id: core.id,
            codec: inner.codec(),
            relations: std::mem::take(&mut core.writes.relations),
            formats: std::mem::take(&mut core.formats),
            entries,
            catalog: core.writes.take_catalog(),
            blobs: core.blobs.to_commit(),
            ddl: core.ddl.iter().map(|(_, change)| change.clone()).collect(),
            spilled: inner.spilled.find(core.id),
            spilled_relations: core
                .spilled
                .iter()
                .map(|(relation, spilled)| (*relation, spilled.first_block))
                .collect(),
        }
    }

    pub(super) fn write(self, number: CommitNumber, batch: &mut WriteBatch) -> Result<()> {
        for (relation, writes) in &self.relations {
            self.write_rows(number, *relation, writes, batch)?;
        }
        for (index, entries) in self.entries.iter() {
            let committed = entries.iter().filter(|(_, known)| !known.is_superseded());
            batch.put_keys(Space::Index(*index), committed.map(|(entry, _)| entry));
        }
        for (key, value) in self.catalog {
            match value {
                Some(value) => batch.put(Space::Catalog, key, value),
                None => batch.delete(Space::Catalog, key),
            }
        }
        self.blobs.write(batch);
        if let Some(spilled) = &self.spilled {
            batch.put(Space::Meta, meta::spilled(self.id), spilled.encode(number));
        }
        for (relation, first_block) in &self.spilled_relations {
            batch.delete(Space::Meta, meta::pending_rows(self.id, *relation));
            batch.put(Space::Meta, meta::unsettled(self.id, *relation), unsettled_mark(*first_block));
        }
        for change in &self.ddl {
            change.write(number, batch);
        }
        Ok(())
    }

    fn write_rows(
        &self,
        number: CommitNumber,
        relation: RelationId,
        writes: &RelationWrites,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let mut written_until = 0;
        for run in writes.runs() {
            let RunRows::InMemory(rows) = &run.rows else { continue };
            self.write_changed(number, relation, writes, written_until..run.first, batch);
            self.write_run(number, relation, writes, run, rows, batch)?;
            written_until = run.end();
        }
        self.write_changed(number, relation, writes, written_until..u64::MAX, batch);
        Ok(())
    }

    /// Updated and deleted rows that others inserted.
    fn write_changed(
        &self,
        number: CommitNumber,
        relation: RelationId,
        writes: &RelationWrites,
        range: std::ops::Range<u64>,
        batch: &mut WriteBatch,
    ) {
        for (row, own) in writes.changed(range) {
            self.write_version(number, relation, row, own, batch);
        }
    }

    fn write_version(
        &self,
        number: CommitNumber,
        relation: RelationId,
        row: RowId,
        own: OwnRow<'_>,
        batch: &mut WriteBatch,
    ) {
        let content = match own {
            OwnRow::Deleted => VersionContent::Deleted,
            OwnRow::Row { format, bytes } => VersionContent::Row { format, bytes },
        };
        let version = StoredVersion { writer: self.id, content };
        batch.put(Space::Versions(relation), keyspace::version(row, number).to_vec(), version.encode(row));
    }

    /// Inserted rows: a block if there are enough of them, with what later changes left of them.
    fn write_run(
        &self,
        number: CommitNumber,
        relation: RelationId,
        writes: &RelationWrites,
        run: &Run,
        inserted: &EncodedRows,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let end = run.end();
        let mut changed = writes.changed(run.first..end).peekable();
        if changed.peek().is_none() && are_worth_a_block(inserted) {
            return self.write_block(
                number,
                relation,
                run.format,
                &RowIds::Dense(run.first..end),
                inserted,
                batch,
            );
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
                OwnRow::Row { .. } => self.write_version(number, relation, RowId(row), own, batch),
            }
        }
        if are_worth_a_block(&rows) {
            return self.write_block(number, relation, run.format, &RowIds::of(row_ids), &rows, batch);
        }
        for (row, bytes) in row_ids.into_iter().zip(rows.iter()) {
            let own = OwnRow::Row { format: run.format, bytes };
            self.write_version(number, relation, RowId(row), own, batch);
        }
        Ok(())
    }

    fn write_block(
        &self,
        number: CommitNumber,
        relation: RelationId,
        format: u16,
        row_ids: &RowIds,
        rows: &EncodedRows,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let written = self
            .formats
            .get(&(relation, format))
            .ok_or(StoreError::BadLayout { relation, what: "format for its written rows" })?;
        let codec = written.codec.unwrap_or(self.codec);
        let label = BlockLabel { codec, stamp: Stamp::Commit(number), writer: self.id, format };
        let value = encode_block(&label, &written.record, row_ids, rows)?;
        batch.put(Space::Blocks(relation), keyspace::block(RowId(row_ids.first())).to_vec(), value);
        Ok(())
    }
}

/// Whether rows are enough for a block: many, or wide.
fn are_worth_a_block(rows: &EncodedRows) -> bool {
    rows.len() >= BLOCK_ROWS_MIN || rows.bytes().len() >= BLOCK_BYTES_MAX / 2
}
