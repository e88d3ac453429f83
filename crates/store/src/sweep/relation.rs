//! One step of the sweep through a relation: a stretch of rows between two row blocks.

use std::ops::Bound;
use std::sync::Arc;

use farbird_record::value_codec::encode_row;
use farbird_record::{BlockFill, CodecId, EncodedRows, RecordFormat};
use farbird_types::Value;

use super::images::{forget, image_of_version};
use crate::block::{
    BLOCK_BYTES_MAX, BLOCK_ROWS_MAX, BLOCK_SPAN_MAX, Block, BlockLabel, RowIds, Stamp, encode_block,
};
use crate::changes;
use crate::committed::{block_commit, block_of};
use crate::decoder::RowDecoder;
use crate::store::{Inner, RegisteredLayout, WriteGuard};
use crate::substrate::{Direction, Durability, Slice, Snapshot, Space, WriteBatch};
use crate::version::{StoredVersion, VersionContent};
use crate::{CommitNumber, Projection, RelationLayout, Result, RowId, StoreError, TransactionId, keyspace};

/// What a step did.
pub(super) struct Step {
    pub(super) useful: bool,
    /// Where the next one goes on; `None` at the end of the relation.
    pub(super) next_row: Option<u64>,
}

/// All versions of a row, newest first.
struct RowVersions {
    row: RowId,
    versions: Vec<(CommitNumber, Slice)>,
}

/// What becomes of a row's versions.
struct Verdict<'a> {
    row: RowId,
    /// How many of the versions, from the newest on, each stay or go.
    kept: Vec<&'a (CommitNumber, Slice)>,
    dead: Vec<&'a (CommitNumber, Slice)>,
    /// Whether the newest version is all that anybody sees, and can stand in a block.
    settled: bool,
}

/// Sweeps the rows from `from` on, as far as one step of about `versions_max` versions goes.
///
/// Under the right to write no commit comes between: what is not in the snapshot is in rows that running transactions have
/// reserved.
pub(super) fn sweep(
    inner: &Inner,
    guard: &WriteGuard<'_>,
    registered: &RegisteredLayout,
    from: u64,
    versions_max: usize,
) -> Result<Step> {
    let snapshot = inner.snapshot();
    let sweep = RelationSweep {
        inner,
        layout: &registered.layout,
        snapshot: &*snapshot,
        published: inner.last_commit(),
        horizon: inner.registry.horizon(inner.last_commit()),
        all_know_layout: inner.registry.oldest_active() > registered.unknown_to,
        versions_max,
    };
    let (rows, is_end) = sweep.read_versions(from)?;
    let Some(first) = rows.first() else { return Ok(Step { useful: false, next_row: None }) };
    let container = block_of(&*snapshot, registered.layout.id, first.row)?;
    let end = sweep.next_block(container.as_ref().map_or(first.row.0, |block| block.last))?;
    let count = rows.partition_point(|versions| end.is_none_or(|end| versions.row.0 < end));
    let stretch = rows.get(..count).unwrap_or_default();
    let next_row = match stretch.last() {
        Some(last) if count < rows.len() || !is_end => Some(last.row.0 + 1),
        _ => None,
    };
    let mut batch = WriteBatch::new();
    sweep.sweep_stretch(stretch, container, &mut batch)?;
    let useful = !batch.is_empty();
    if useful {
        inner.write_under(guard, batch, Durability::Relaxed)?;
    }
    Ok(Step { useful, next_row })
}

struct RelationSweep<'a> {
    inner: &'a Inner,
    layout: &'a RelationLayout,
    snapshot: &'a dyn Snapshot,
    published: CommitNumber,
    /// Everybody sees commits up to this one.
    horizon: CommitNumber,
    /// Whether rows may be rewritten in the current format.
    all_know_layout: bool,
    versions_max: usize,
}

impl RelationSweep<'_> {
    /// The versions from a row on, whole rows; and whether that is all.
    fn read_versions(&self, from: u64) -> Result<(Vec<RowVersions>, bool)> {
        let mut rows: Vec<RowVersions> = Vec::new();
        let first = keyspace::version(RowId(from), CommitNumber(u64::MAX));
        let span = (Bound::Included(&first[..]), Bound::Unbounded);
        let entries = self.snapshot.scan(Space::Versions(self.layout.id), span, Direction::Forward)?;
        for (count, entry) in entries.enumerate() {
            let (key, value) = entry?;
            let (row, commit) =
                keyspace::parse_version(&key).ok_or_else(|| StoreError::corrupt("key of a version"))?;
            match rows.last_mut() {
                Some(last) if last.row == row => last.versions.push((commit, value)),
                _ if count >= self.versions_max => return Ok((rows, false)),
                _ => rows.push(RowVersions { row, versions: vec![(commit, value)] }),
            }
        }
        Ok((rows, true))
    }

    /// First row of the first block after row `last`.
    fn next_block(&self, last: u64) -> Result<Option<u64>> {
        let after = keyspace::block(RowId(last));
        let span = (Bound::Excluded(&after[..]), Bound::Unbounded);
        match self.snapshot.scan(Space::Blocks(self.layout.id), span, Direction::Forward)?.next() {
            None => Ok(None),
            Some(entry) => {
                keyspace::number(&entry?.0).map(Some).ok_or_else(|| StoreError::corrupt("key of a row block"))
            }
        }
    }

    fn verdict<'v>(&self, row: &'v RowVersions) -> Verdict<'v> {
        let mut verdict = Verdict { row: row.row, kept: Vec::new(), dead: Vec::new(), settled: false };
        let mut successor = CommitNumber(u64::MAX);
        for version in &row.versions {
            let needed = verdict.kept.is_empty()
                || self.inner.registry.is_read_between(version.0, successor, self.published);
            successor = version.0;
            if needed { verdict.kept.push(version) } else { verdict.dead.push(version) }
        }
        verdict.settled =
            verdict.kept.len() == 1 && verdict.kept.first().is_some_and(|kept| kept.0 <= self.horizon);
        verdict
    }

    /// Sweeps rows that stand in one block, or behind it up to the next one.
    fn sweep_stretch(
        &self,
        stretch: &[RowVersions],
        container: Option<Arc<Block>>,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let verdicts: Vec<Verdict<'_>> = stretch.iter().map(|row| self.verdict(row)).collect();
        let base = match container {
            Some(block) => Some(block),
            None => self.block_to_continue(stretch)?,
        };
        let is_base_settled = base
            .as_ref()
            .is_none_or(|block| self.commit_of(block).is_some_and(|commit| commit <= self.horizon));
        let format = self.format_of_merge(base.as_deref(), &verdicts)?;
        let merged: Vec<bool> =
            verdicts.iter().map(|verdict| verdict.settled && is_base_settled && format.is_some()).collect();
        for (verdict, merged) in verdicts.iter().zip(&merged) {
            self.drop_dead(verdict, *merged, base.as_deref(), batch)?;
        }
        if let Some(format) = format
            && merged.contains(&true)
        {
            let settled =
                verdicts.iter().zip(&merged).filter(|(_, merged)| **merged).map(|(verdict, _)| verdict);
            self.merge(base.as_deref(), settled, format, batch)?;
        }
        Ok(())
    }

    fn commit_of(&self, block: &Block) -> Option<CommitNumber> {
        block_commit(self.inner, block.stamp)
    }

    /// The block before the stretch, if it has room for more rows and nothing stands, or may yet come, between.
    fn block_to_continue(&self, stretch: &[RowVersions]) -> Result<Option<Arc<Block>>> {
        let Some(first) = stretch.first() else { return Ok(None) };
        let key = keyspace::block(first.row);
        let span = (Bound::Unbounded, Bound::Excluded(&key[..]));
        let mut before = self.snapshot.scan(Space::Blocks(self.layout.id), span, Direction::Backward)?;
        let Some(entry) = before.next() else { return Ok(None) };
        let (key, value) = entry?;
        let has_room = value.len() < BLOCK_BYTES_MAX / 2;
        let block = Block::open(&key, value)?;
        let reserved = self.inner.row_numbers.next_reserved(self.layout.id, block.last + 1);
        let fits = has_room
            && block.rows < BLOCK_ROWS_MAX / 2
            && reserved.is_none_or(|reserved| reserved > first.row.0)
            && self.commit_of(&block).is_some_and(|commit| commit <= self.horizon);
        Ok(fits.then(|| Arc::new(block)))
    }

    /// The format in which the merged rows are written; `None` if they cannot be merged now.
    fn format_of_merge(&self, base: Option<&Block>, verdicts: &[Verdict<'_>]) -> Result<Option<u16>> {
        let mut formats = base.map(|block| block.format).into_iter().collect::<Vec<u16>>();
        for verdict in verdicts.iter().filter(|verdict| verdict.settled) {
            if let Some((_, slice)) = verdict.kept.first()
                && let VersionContent::Row { format, .. } = StoredVersion::decode(slice, verdict.row)?.content
            {
                formats.push(format);
            }
        }
        formats.dedup();
        Ok(match formats[..] {
            [] => Some(self.layout.current),
            [format] => self.layout.formats.get(usize::from(format)).map(|_| format),
            _ if self.all_know_layout => Some(self.layout.current),
            _ => None,
        })
    }

    /// Removes dead versions, and what only they refer to.
    fn drop_dead(
        &self,
        verdict: &Verdict<'_>,
        merged: bool,
        base: Option<&Block>,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let in_base = base.filter(|block| block.index_of(verdict.row.0).is_some());
        if verdict.dead.is_empty() && !(merged && (in_base.is_some() || self.is_deletion(verdict)?)) {
            return Ok(());
        }
        let projection = Projection::all();
        let decoder = RowDecoder::new(self.inner, self.layout, &projection);
        let mut alive = self.uncommitted_images(verdict.row, &decoder)?;
        for (_, value) in &verdict.kept {
            alive.extend(image_of_version(&decoder, verdict.row, value)?);
        }
        let mut dead = Vec::new();
        for version in &verdict.dead {
            dead.extend(image_of_version(&decoder, verdict.row, &version.1)?);
            let key = keyspace::version(verdict.row, version.0);
            batch.delete(Space::Versions(self.layout.id), key.to_vec());
        }
        if let Some(block) = in_base
            && let Some(index) = block.index_of(verdict.row.0)
        {
            let mut values = Vec::new();
            let reader = block.reader(decoder.format(block.format)?)?;
            reader
                .decode_row(index, decoder.columns(), &mut values)
                .map_err(|error| block.damaged(&error))?;
            decoder.adapt(block.format, 0, &mut values)?;
            if merged { dead.push(values) } else { alive.push(values) }
        }
        forget(self.snapshot, self.layout, verdict.row, &dead, &alive, batch)
    }

    /// What running transactions have spilled of a row: nothing else is there, since all others' changes are settled.
    fn uncommitted_images(&self, row: RowId, decoder: &RowDecoder<'_>) -> Result<Vec<Vec<Value>>> {
        let mut images = Vec::new();
        if self.snapshot.bounds(Space::Changes(self.layout.id))?.is_some() {
            for entry in changes::scan(self.snapshot, self.layout.id, row, row)? {
                images.extend(image_of_version(decoder, row, &entry?.1)?);
            }
        }
        Ok(images)
    }

    fn is_deletion(&self, verdict: &Verdict<'_>) -> Result<bool> {
        match verdict.kept.first() {
            Some((_, slice)) => {
                Ok(StoredVersion::decode(slice, verdict.row)?.content == VersionContent::Deleted)
            }
            None => Ok(false),
        }
    }

    /// Writes the base block anew with the settled versions in it.
    fn merge<'v>(
        &self,
        base: Option<&Block>,
        settled: impl Iterator<Item = &'v Verdict<'v>>,
        format: u16,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let mut writer = BlockWriter::new(self, format)?;
        let mut settled = settled.peekable();
        if let Some(block) = base {
            batch.delete(Space::Blocks(self.layout.id), keyspace::block(RowId(block.first)).to_vec());
            let written = self.layout.formats.get(usize::from(block.format)).ok_or_else(|| {
                StoreError::corrupt(format!("relation {} has no format {}", self.layout.id.0, block.format))
            })?;
            let reader = block.reader(written)?;
            let commit = self.commit_of(block).unwrap_or_default();
            let mut rows = EncodedRows::new();
            reader.encoded_rows(0..block.rows, &mut rows).map_err(|error| block.damaged(&error))?;
            writer.expect_rows_like(&rows, block.packed_bytes());
            for (row, bytes) in block.row_ids_from(0).zip(rows.iter()) {
                while let Some(before) = settled.next_if(|verdict| verdict.row.0 < row) {
                    self.take_settled(before, &mut writer, batch)?;
                }
                match settled.next_if(|verdict| verdict.row.0 == row) {
                    Some(newer) => self.take_settled(newer, &mut writer, batch)?,
                    None => writer.push(row, commit, block.format, bytes, batch)?,
                }
            }
        }
        for verdict in settled {
            self.take_settled(verdict, &mut writer, batch)?;
        }
        writer.finish(batch)
    }

    fn take_settled(
        &self,
        verdict: &Verdict<'_>,
        writer: &mut BlockWriter<'_>,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let Some((commit, slice)) = verdict.kept.first() else { return Ok(()) };
        let key = keyspace::version(verdict.row, *commit);
        batch.delete(Space::Versions(self.layout.id), key.to_vec());
        match StoredVersion::decode(slice, verdict.row)?.content {
            VersionContent::Deleted => Ok(()),
            VersionContent::Row { format, bytes } => {
                writer.push(verdict.row.0, *commit, format, bytes, batch)
            }
        }
    }
}

/// Packs rows, in order, into blocks of one format.
struct BlockWriter<'a> {
    sweep: &'a RelationSweep<'a>,
    format: u16,
    record_format: &'a RecordFormat,
    codec: CodecId,
    fill: BlockFill,
    row_ids: Vec<u64>,
    rows: EncodedRows,
    commit: CommitNumber,
}

impl<'a> BlockWriter<'a> {
    fn new(sweep: &'a RelationSweep<'a>, format: u16) -> Result<BlockWriter<'a>> {
        let relation = sweep.layout.id;
        let record_format = sweep.layout.formats.get(usize::from(format));
        let record_format =
            record_format.ok_or(StoreError::BadLayout { relation, what: "format of its rows" })?;
        let codec = sweep.layout.codec.unwrap_or_else(|| sweep.inner.codec());
        Ok(BlockWriter {
            sweep,
            format,
            record_format,
            codec,
            fill: BlockFill::new(codec, BLOCK_BYTES_MAX),
            row_ids: Vec::new(),
            rows: EncodedRows::new(),
            commit: CommitNumber(0),
        })
    }

    /// Rows like these, which became so many bytes, will come.
    fn expect_rows_like(&mut self, rows: &EncodedRows, packed_bytes: usize) {
        self.fill = BlockFill::like(self.codec, BLOCK_BYTES_MAX, rows, packed_bytes);
    }

    fn push(
        &mut self,
        row: u64,
        commit: CommitNumber,
        format: u16,
        bytes: &[u8],
        batch: &mut WriteBatch,
    ) -> Result<()> {
        if !self.has_room(row) {
            self.finish(batch)?;
        }
        if format == self.format {
            self.rows.push(bytes);
        } else {
            let projection = Projection::all();
            let mut values = Vec::new();
            RowDecoder::new(self.sweep.inner, self.sweep.layout, &projection).decode(
                RowId(row),
                format,
                bytes,
                &mut values,
            )?;
            let record_format = self.record_format;
            self.rows.push_with(|out| encode_row(record_format, &values, out))?;
        }
        self.row_ids.push(row);
        self.commit = self.commit.max(commit);
        Ok(())
    }

    /// Whether a row may join the block begun. It may not if a running transaction could commit rows in between.
    fn has_room(&mut self, row: u64) -> bool {
        let (Some(&first), Some(&last)) = (self.row_ids.first(), self.row_ids.last()) else { return true };
        let reserved = self.sweep.inner.row_numbers.next_reserved(self.sweep.layout.id, last + 1);
        self.row_ids.len() < BLOCK_ROWS_MAX
            && row - first < BLOCK_SPAN_MAX
            && (row == last + 1 || reserved.is_none_or(|reserved| reserved > row))
            && !self.fill.is_full(self.record_format, &self.rows)
    }

    fn finish(&mut self, batch: &mut WriteBatch) -> Result<()> {
        if self.row_ids.is_empty() {
            return Ok(());
        }
        let row_ids = RowIds::of(std::mem::take(&mut self.row_ids));
        let rows = std::mem::take(&mut self.rows);
        let label = BlockLabel {
            codec: self.codec,
            stamp: Stamp::Commit(self.commit),
            writer: TransactionId(0),
            format: self.format,
        };
        let value = encode_block(&label, self.record_format, &row_ids, &rows)?;
        let key = keyspace::block(RowId(row_ids.first())).to_vec();
        batch.put(Space::Blocks(self.sweep.layout.id), key, value);
        self.commit = CommitNumber(0);
        Ok(())
    }
}
