//! Sweeping a portion of a relation: index entries first, then row blocks and versions.
//!
//! Everything is found and packed without the right to write; then, under it, only what others have written meanwhile is
//! looked at ([`super::watch`]), and a bounded number of changes is made. An interruption at any point leaves what the next
//! portion finds again: dead images whose entries are gone already, versions that a block has too.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use farbird_record::EncodedRows;
use farbird_types::BlobId;

use super::block_writer::BlockWriter;
use super::entry_list::EntryList;
use super::portion::{Gathered, RangeWork, VersionKey, format_of_version, next_block};
use super::{Paces, STEP_TIME};
use crate::blob::references::release;
use crate::block::{BLOCK_BYTES_MAX, BLOCK_ROWS_MAX, Block};
use crate::committed::{block_commit, block_of};
use crate::store::{Inner, RegisteredLayout, WriteGuard};
use crate::substrate::{Direction, Durability, Slice, Space, SubstrateState, WriteBatch};
use crate::version::{StoredVersion, VersionContent};
use crate::{CommitNumber, IndexId, RelationId, RelationLayout, Result, RowId, StoreError, keyspace};

/// Pages that a full block takes.
const PAGES_PER_BLOCK: usize = 4;

/// Part of a relation being swept.
#[derive(Debug)]
pub(super) struct Portion {
    registered: RegisteredLayout,
    /// Failed writes may have taken back what it has done.
    failures: u64,
    gathered: Gathered,
    /// How much is gathered together.
    bytes_max: usize,
    stage: Stage,
    /// Rows with entries that had to stay.
    skipped: HashSet<RowId>,
    useful: bool,
}

#[derive(Debug)]
enum Stage {
    Gather,
    /// The entries of an index.
    Forget(Option<(IndexId, EntryList)>),
    Merge(Merging),
}

/// The stretch whose blocks are being written.
#[derive(Debug, Default)]
struct Merging {
    stretch: RangeWork,
    /// Versions of it up to this one are in blocks.
    position: usize,
    /// Versions to be deleted, in this order: blocks have them, or nobody needs them.
    deletable: Vec<VersionKey>,
}

/// What a step has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There is more to do.
    Going,
    /// Others have got in the way: begin again, with less.
    GivenUp,
    /// The portion is done.
    Done { next_row: Option<RowId>, useful: bool },
}

impl Portion {
    pub(super) fn begin(
        inner: &Inner,
        registered: &RegisteredLayout,
        from: RowId,
        bytes_max: usize,
    ) -> Portion {
        {
            // What was written before is in the snapshots that follow, and what is written later is noticed.
            let _guard = inner.begin_write();
            inner.sweeper.watch.begin(&registered.layout, from);
        }
        Portion {
            registered: registered.clone(),
            failures: inner.failures(),
            gathered: Gathered::from(from),
            bytes_max,
            stage: Stage::Gather,
            skipped: HashSet::new(),
            useful: false,
        }
    }

    pub(super) fn relation(&self) -> RelationId {
        self.registered.layout.id
    }

    /// Whether it has changed anything yet.
    pub(super) fn is_useful(&self) -> bool {
        self.useful
    }

    /// Goes on for about the time of a step.
    pub(super) fn advance(&mut self, inner: &Inner, paces: &mut Paces) -> Result<Outcome> {
        let began = Instant::now();
        while began.elapsed() < STEP_TIME {
            paces.checkpoints.make_if_due(inner)?;
            let outcome = match &mut self.stage {
                Stage::Gather => self.gather(inner)?,
                Stage::Forget(_) => self.forget(inner, paces)?,
                Stage::Merge(_) => self.merge(inner, paces)?,
            };
            if outcome != Outcome::Going {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Going)
    }

    fn gather(&mut self, inner: &Inner) -> Result<Outcome> {
        self.gathered.add_stretch(inner, &self.registered.layout)?;
        if self.gathered.next_row.is_none() || self.gathered.bytes >= self.bytes_max {
            self.gathered.stretches.reverse();
            self.stage = Stage::Forget(None);
        }
        Ok(Outcome::Going)
    }

    /// The right to write, if what was gathered still holds.
    fn begin_write<'i>(&self, inner: &'i Inner) -> Option<WriteGuard<'i>> {
        let guard = inner.begin_write();
        let id = self.relation();
        let is_latest = inner
            .registered_layout(id)
            .is_some_and(|registered| Arc::ptr_eq(&registered, &self.registered.layout));
        let holds = is_latest
            && inner.failures() == self.failures
            && !inner.spilled.is_unsettled(id)
            && !inner.sweeper.watch.is_lost();
        holds.then_some(guard)
    }

    fn write(&mut self, inner: &Inner, guard: &WriteGuard<'_>, batch: WriteBatch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.useful = true;
        inner.sweeper.watch.set_own(true);
        let written = inner.write_under(guard, batch, Durability::Relaxed);
        inner.sweeper.watch.set_own(false);
        written
    }

    /// Deletes the next entries.
    fn forget(&mut self, inner: &Inner, paces: &mut Paces) -> Result<Outcome> {
        let Stage::Forget(current) = &mut self.stage else { return Ok(Outcome::Going) };
        let Some((index, list)) = current else {
            match self.gathered.entries.pop_first() {
                None => self.stage = Stage::Merge(Merging::default()),
                Some(next) => *current = Some(next),
            }
            return Ok(Outcome::Going);
        };
        // Looking them up brings their pages into memory, and leaves those alone that are gone already.
        let index = *index;
        let (space, snapshot) = (Space::Index(index), inner.snapshot());
        let mut entries = list.take(paces.entries.items);
        if entries.is_empty() {
            *current = None;
            return Ok(Outcome::Going);
        }
        let mut failure = None;
        entries.retain(|entry| match snapshot.get(space, entry) {
            Ok(found) => found.is_some(),
            Err(error) => {
                failure = Some(error);
                false
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        drop(snapshot);
        if entries.is_empty() {
            return Ok(Outcome::Going);
        }
        let Some(guard) = self.begin_write(inner) else { return Ok(Outcome::GivenUp) };
        let began = Instant::now();
        let mut batch = WriteBatch::new();
        let count = entries.len();
        inner.sweeper.watch.with_entries(index, |is_put| {
            for entry in entries {
                // One that was put since belongs to a newer version of the row as well. Should that be undone, whoever undoes it
                // may have found these versions and left the entry to them: so they stay for the next time.
                match keyspace::parse_entry(&entry) {
                    Some((_, row)) if is_put(&entry) => drop(self.skipped.insert(row)),
                    _ => batch.delete(space, entry),
                }
            }
        });
        self.write(inner, &guard, batch)?;
        drop(guard);
        paces.entries.note(count, began.elapsed());
        paces.checkpoints.note(count.div_ceil(2));
        Ok(Outcome::Going)
    }

    /// Deletes versions that are not needed any more, or else writes the next blocks.
    fn merge(&mut self, inner: &Inner, paces: &mut Paces) -> Result<Outcome> {
        let Stage::Merge(merging) = &mut self.stage else { return Ok(Outcome::Going) };
        let stretch = &mut merging.stretch;
        if !merging.deletable.is_empty() {
            return self.delete_versions(inner, paces);
        }
        if merging.position < stretch.settled.len() {
            return self.write_blocks(inner, paces);
        }
        if !stretch.blobs.is_empty() {
            return self.release_rest(inner);
        }
        if !stretch.dead.is_empty() {
            merging.deletable = std::mem::take(&mut stretch.dead);
            return Ok(Outcome::Going);
        }
        let Some(mut next) = self.gathered.stretches.pop() else {
            // Skipped rows are something to do in the next round, whatever else happens until then.
            let useful = self.useful || !self.skipped.is_empty();
            return Ok(Outcome::Done { next_row: self.gathered.next_row, useful });
        };
        if !self.skipped.is_empty() {
            next.settled.retain(|(row, _)| !self.skipped.contains(row));
            next.dead.retain(|(row, _)| !self.skipped.contains(row));
            next.blobs.retain(|(row, _)| !self.skipped.contains(row));
        }
        *merging = Merging { stretch: next, ..Merging::default() };
        Ok(Outcome::Going)
    }

    fn delete_versions(&mut self, inner: &Inner, paces: &mut Paces) -> Result<Outcome> {
        let Some(guard) = self.begin_write(inner) else { return Ok(Outcome::GivenUp) };
        let began = Instant::now();
        let relation = self.relation();
        let Stage::Merge(Merging { deletable, .. }) = &mut self.stage else { return Ok(Outcome::Going) };
        let mut batch = WriteBatch::new();
        let count = deletable.len().min(paces.versions.items);
        delete_all(relation, deletable.drain(..count), &mut batch);
        self.write(inner, &guard, batch)?;
        drop(guard);
        paces.versions.note(count, began.elapsed());
        paces.checkpoints.note(count.div_ceil(32));
        Ok(Outcome::Going)
    }

    /// Writes the block of the next settled versions anew, with them in it.
    fn write_blocks(&mut self, inner: &Inner, paces: &mut Paces) -> Result<Outcome> {
        let layout = Arc::clone(&self.registered.layout);
        let all_know_layout = inner.registry.oldest_active() > self.registered.unknown_to;
        let Stage::Merge(Merging { stretch, position, deletable }) = &mut self.stage else {
            return Ok(Outcome::Going);
        };
        let plan = {
            let snapshot = inner.snapshot();
            let merge = Merge { inner, layout: &layout, snapshot: &*snapshot, all_know_layout };
            merge.plan(stretch.settled.get(*position..).unwrap_or_default())?
        };
        let planned = *position..*position + plan.count;
        *position = planned.end;
        let is_last = planned.end >= stretch.settled.len();
        let planned = stretch.settled.get(planned).unwrap_or_default();
        let last = planned.last().map_or(RowId(0), |(row, _)| *row);
        let released = stretch.blobs.partition_point(|(row, _)| is_last || *row <= last);
        // They go with all images that refer to them, or stay.
        let released: Vec<(RowId, BlobId)> = stretch.blobs.drain(..released).collect();
        let dead = take_versions(&mut stretch.dead, &released);
        // Before the versions that cover them.
        let covered = stretch.dead.partition_point(|(row, _)| is_last || *row <= last);
        deletable.extend(stretch.dead.drain(..covered));
        let Some(blocks) = plan.blocks else { return Ok(Outcome::Going) };
        deletable.extend_from_slice(planned);
        let Some(guard) = self.begin_write(inner) else { return Ok(Outcome::GivenUp) };
        let (first, last) = plan.span;
        if inner.sweeper.watch.is_block_touched(first, last) {
            return Ok(Outcome::GivenUp);
        }
        paces.checkpoints.note(PAGES_PER_BLOCK * (1 + blocks.len()));
        let space = Space::Blocks(layout.id);
        let mut batch = WriteBatch::new();
        if let Some(base) = plan.base {
            batch.delete(space, keyspace::block(base).to_vec());
        }
        for (first, block) in blocks {
            batch.put(space, keyspace::block(first).to_vec(), block);
        }
        delete_all(layout.id, dead.into_iter(), &mut batch);
        release_all(inner, &released, &mut batch)?;
        self.write(inner, &guard, batch)?;
        Ok(Outcome::Going)
    }

    /// Releases the BLOBs of rows of which nothing gets into a block.
    fn release_rest(&mut self, inner: &Inner) -> Result<Outcome> {
        let relation = self.relation();
        let Stage::Merge(Merging { stretch, .. }) = &mut self.stage else { return Ok(Outcome::Going) };
        let released = std::mem::take(&mut stretch.blobs);
        let dead = take_versions(&mut stretch.dead, &released);
        let Some(guard) = self.begin_write(inner) else { return Ok(Outcome::GivenUp) };
        let mut batch = WriteBatch::new();
        delete_all(relation, dead.into_iter(), &mut batch);
        release_all(inner, &released, &mut batch)?;
        self.write(inner, &guard, batch)?;
        Ok(Outcome::Going)
    }
}

/// Takes out the versions of rows that have BLOBs among these.
fn take_versions(versions: &mut Vec<VersionKey>, blobs: &[(RowId, BlobId)]) -> Vec<VersionKey> {
    if blobs.is_empty() {
        return Vec::new();
    }
    let (taken, left) =
        versions.drain(..).partition(|(row, _)| blobs.binary_search_by_key(row, |(row, _)| *row).is_ok());
    *versions = left;
    taken
}

fn delete_all(relation: RelationId, versions: impl Iterator<Item = VersionKey>, batch: &mut WriteBatch) {
    for (row, commit) in versions {
        batch.delete(Space::Versions(relation), keyspace::version(row, commit).to_vec());
    }
}

fn release_all(inner: &Inner, blobs: &[(RowId, BlobId)], batch: &mut WriteBatch) -> Result<()> {
    let snapshot = inner.snapshot();
    for (_, blob) in blobs {
        release(&*snapshot, blob.0, batch)?;
    }
    Ok(())
}

/// Blocks to be written.
struct MergePlan {
    /// How many versions they take in.
    count: usize,
    /// `None`: they cannot be merged now.
    blocks: Option<Vec<(RowId, Vec<u8>)>>,
    /// First row of the block that they replace.
    base: Option<RowId>,
    /// Their first and last row.
    span: (RowId, RowId),
}

/// Merges settled versions into a block, or puts them into new ones.
struct Merge<'a> {
    inner: &'a Inner,
    layout: &'a RelationLayout,
    snapshot: &'a dyn SubstrateState,
    /// Whether rows may be rewritten in the current format.
    all_know_layout: bool,
}

impl Merge<'_> {
    /// Plans the blocks of the first versions: those in one block, or behind it up to the next.
    fn plan(&self, settled: &[VersionKey]) -> Result<MergePlan> {
        let none = MergePlan { count: settled.len(), blocks: None, base: None, span: (RowId(0), RowId(0)) };
        let Some((first, _)) = settled.first() else { return Ok(none) };
        let container = block_of(self.snapshot, self.layout.id, *first)?;
        let end =
            next_block(self.snapshot, self.layout, container.as_ref().map_or(first.0, |block| block.last))?;
        let count = settled.partition_point(|(row, _)| end.is_none_or(|end| row.0 < end));
        let settled = settled.get(..count).unwrap_or_default();
        let base = match container {
            Some(block) => Some(block),
            None => self.block_to_continue(*first)?,
        };
        let versions = self.read(settled)?;
        let none = MergePlan { count, ..none };
        let Some(format) = self.format(base.as_deref(), &versions)? else { return Ok(none) };
        let blocks = self.pack(base.as_deref(), &versions, format)?;
        let last = settled.last().map_or(*first, |(row, _)| *row);
        let span = base
            .as_ref()
            .map_or((*first, last), |base| (RowId(base.first).min(*first), RowId(base.last).max(last)));
        let base = base.map(|base| RowId(base.first));
        Ok(MergePlan { count, blocks: Some(blocks), base, span })
    }

    /// The versions with their contents.
    fn read(&self, settled: &[VersionKey]) -> Result<Vec<(VersionKey, Slice)>> {
        let mut found = Vec::with_capacity(settled.len());
        let (Some((first, _)), Some((last, _))) = (settled.first(), settled.last()) else { return Ok(found) };
        let first = keyspace::version(*first, CommitNumber(u64::MAX));
        let last = keyspace::version(*last, CommitNumber(0));
        let span = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let mut wanted = settled.iter().peekable();
        for entry in self.snapshot.scan(Space::Versions(self.layout.id), span, Direction::Forward)? {
            let (key, value) = entry?;
            let version =
                keyspace::parse_version(&key).ok_or_else(|| StoreError::corrupt("key of a version"))?;
            if wanted.next_if(|wanted| **wanted == version).is_some() {
                found.push((version, value));
            }
        }
        match wanted.next() {
            None => Ok(found),
            Some((row, _)) => Err(StoreError::corrupt(format!("a version of row {} is missing", row.0))),
        }
    }

    /// The block before a row, if it has room for more rows and nothing stands, or may yet come, between.
    fn block_to_continue(&self, first: RowId) -> Result<Option<Arc<Block>>> {
        let key = keyspace::block(first);
        let span = (Bound::Unbounded, Bound::Excluded(&key[..]));
        let mut before = self.snapshot.scan(Space::Blocks(self.layout.id), span, Direction::Backward)?;
        let Some(entry) = before.next() else { return Ok(None) };
        let (key, value) = entry?;
        let has_room = value.len() < BLOCK_BYTES_MAX / 2;
        let block = Block::open(&key, value)?;
        let reserved = self.inner.row_numbers.next_reserved(self.layout.id, block.last + 1);
        let horizon = self.inner.registry.horizon(self.inner.last_commit());
        let fits = has_room
            && block.rows < BLOCK_ROWS_MAX / 2
            && reserved.is_none_or(|reserved| reserved > first.0)
            && block_commit(self.inner, block.stamp).is_some_and(|commit| commit <= horizon);
        Ok(fits.then(|| Arc::new(block)))
    }

    /// The format in which the merged rows are written; `None` if they cannot be merged now.
    fn format(&self, base: Option<&Block>, versions: &[(VersionKey, Slice)]) -> Result<Option<u16>> {
        let mut formats = base.map(|block| block.format).into_iter().collect::<Vec<u16>>();
        for ((row, _), value) in versions {
            let format = format_of_version(*row, value)?;
            if format.is_some() && format.as_ref() != formats.last() {
                formats.extend(format);
            }
        }
        Ok(match formats[..] {
            [] => Some(self.layout.current),
            [format] => self.layout.formats.get(usize::from(format)).map(|_| format),
            _ if self.all_know_layout => Some(self.layout.current),
            _ => None,
        })
    }

    /// Packs the rows of the base, with the versions in their places.
    fn pack(
        &self,
        base: Option<&Block>,
        versions: &[(VersionKey, Slice)],
        format: u16,
    ) -> Result<Vec<(RowId, Vec<u8>)>> {
        let mut writer = BlockWriter::new(self.inner, self.layout, format)?;
        let mut versions = versions.iter().peekable();
        if let Some(block) = base {
            let written = self.layout.formats.get(usize::from(block.format)).ok_or_else(|| {
                StoreError::corrupt(format!("relation {} has no format {}", self.layout.id.0, block.format))
            })?;
            let reader = block.reader(written)?;
            let commit = block_commit(self.inner, block.stamp).unwrap_or_default();
            let mut rows = EncodedRows::new();
            reader.encoded_rows(0..block.rows, &mut rows).map_err(|error| block.damaged(&error))?;
            writer.expect_rows_like(&rows, block.packed_bytes());
            for ((row, bytes), by) in block.row_ids_from(0).zip(rows.iter()).zip(block.writers()) {
                while let Some(before) = versions.next_if(|((id, _), _)| id.0 < row) {
                    push_version(&mut writer, before)?;
                }
                match versions.next_if(|((id, _), _)| id.0 == row) {
                    Some(newer) => push_version(&mut writer, newer)?,
                    None => writer.push(row, (commit, by), block.format, bytes)?,
                }
            }
        }
        for version in versions {
            push_version(&mut writer, version)?;
        }
        writer.finish()
    }
}

fn push_version(writer: &mut BlockWriter<'_>, ((row, commit), value): &(VersionKey, Slice)) -> Result<()> {
    let version = StoredVersion::decode(value, *row)?;
    match version.content {
        VersionContent::Deleted => Ok(()),
        VersionContent::Row { format, bytes } => writer.push(row.0, (*commit, version.writer), format, bytes),
    }
}

#[cfg(test)]
mod tests {
    use farbird_record::RecordFormat;
    use farbird_types::character_set::Collation;
    use farbird_types::{SqlType, Value};

    use super::*;
    use crate::substrate::ALL_KEYS;
    use crate::{
        Access, CancelFlag, IndexDefinition, IndexScan, Isolation, KeyPart, KeyRange, KeySource, Projection,
        RowBatch, ScanDirection, Store, StoreOptions, Transaction, TransactionOptions, Wait,
    };

    const INDEX: IndexId = IndexId(1);

    /// A relation of one number, with an index.
    fn numbers() -> Arc<RelationLayout> {
        let parts = vec![KeyPart { source: KeySource::Column(0), collation: Collation(0) }];
        let index = IndexDefinition {
            id: INDEX,
            unique: false,
            descending: false,
            parts,
            condition: None,
            active: true,
        };
        Arc::new(RelationLayout {
            id: RelationId(128),
            formats: vec![RecordFormat::new(vec![SqlType::BIGINT])],
            current: 0,
            added_defaults: Vec::new(),
            codec: None,
            temporary: None,
            indexes: vec![index],
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

    fn set(store: &Store, layout: &RelationLayout, row: RowId, number: i64) {
        let transaction = begin(store);
        let view = transaction.view().expect("view");
        transaction.update(layout, &view, row, &mut [Value::integer(number)]).expect("update");
        transaction.commit().expect("commit");
    }

    /// How many rows an index finds under a number.
    fn found(transaction: &Transaction, layout: &Arc<RelationLayout>, number: i64) -> usize {
        let view = transaction.view().expect("view");
        let range = KeyRange::equal(vec![Value::integer(number)]);
        let ascending = ScanDirection::Ascending;
        let mut scan = IndexScan::new(Arc::clone(layout), INDEX, range, ascending, view, Projection::all())
            .expect("scan");
        let mut batch = RowBatch::new();
        scan.next_batch(transaction, 10, &mut batch).expect("read");
        batch.len()
    }

    /// A row that was changed 50 times, and a portion of the sweep that has gathered its old versions.
    fn gathered() -> (Store, Arc<RelationLayout>, RowId, Portion) {
        let store = Store::in_memory(StoreOptions { background_sweep: false, ..StoreOptions::default() })
            .expect("open");
        let layout = numbers();
        store.register_layout(Arc::clone(&layout));
        let transaction = begin(&store);
        let row = transaction.insert(&layout, &mut [Value::integer(0)]).expect("insert");
        transaction.commit().expect("commit");
        for number in 1..=50 {
            set(&store, &layout, row, number);
        }
        let portion = portion(&store, &layout);
        (store, layout, row, portion)
    }

    fn portion(store: &Store, layout: &RelationLayout) -> Portion {
        let inner = &store.inner;
        let registered = inner.registered_layout(layout.id).expect("layout");
        let known = inner.layouts().iter().find(|known| Arc::ptr_eq(&known.layout, &registered)).cloned();
        let mut portion = Portion::begin(inner, &known.expect("layout"), RowId(0), usize::MAX);
        portion.gather(inner).expect("gather");
        assert!(matches!(portion.stage, Stage::Forget(_)));
        portion
    }

    fn finish(store: &Store, mut portion: Portion) {
        let mut paces = Paces::default();
        while portion.advance(&store.inner, &mut paces).expect("sweep") == Outcome::Going {}
        store.inner.sweeper.watch.end();
    }

    fn count(store: &Store, space: Space) -> usize {
        store.inner.snapshot().scan(space, ALL_KEYS, Direction::Forward).expect("scan").count()
    }

    #[test]
    fn old_versions_of_a_row_that_is_changed_during_the_sweep_go() {
        let (store, layout, row, portion) = gathered();
        set(&store, &layout, row, 51);
        finish(&store, portion);
        // 50 may have been settled.
        assert!(count(&store, Space::Versions(layout.id)) <= 2);
        assert_eq!(count(&store, Space::Index(INDEX)), 2);
        assert_eq!([50, 51].map(|number| found(&begin(&store), &layout, number)), [0, 1]);
    }

    #[test]
    fn a_key_that_comes_back_during_the_sweep_is_found() {
        let (store, layout, row, first) = gathered();
        set(&store, &layout, row, 7);
        let reader = begin(&store);
        set(&store, &layout, row, 51);
        finish(&store, first);
        assert_eq!([7, 50, 51].map(|number| found(&reader, &layout, number)), [1, 0, 0]);
        assert_eq!([7, 50, 51].map(|number| found(&begin(&store), &layout, number)), [0, 0, 1]);
        // What had to stay goes the next time.
        finish(&store, portion(&store, &layout));
        assert!(count(&store, Space::Versions(layout.id)) <= 3);
        assert_eq!([7, 51].map(|number| found(&reader, &layout, number)), [1, 0]);
    }
}
