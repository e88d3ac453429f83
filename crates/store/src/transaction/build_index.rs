//! Filling new indexes with the entries of the rows that exist.
//!
//! The rows are read by columns, only those of the key where it is made of columns; several threads take stretches of them in turns
//! and sort the entries that they make. Then one merges what is sorted, and looks for equal keys of a unique index by the way, while
//! another one writes: full leaves, in order.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use farbird_types::Value;
use parking_lot::Mutex;

use super::Transaction;
use super::column_keys::ColumnKeys;
use super::ddl::DdlChange;
use crate::keyspace::{self, meta};
use crate::sorted_runs::{Merge, RunMaker, SortedRuns};
use crate::store::Inner;
use crate::substrate::{Durability, SortedEntries, Space, WriteBatch};
use crate::{
    BuildRoom, ColumnBatch, HelpingPlace, IndexDefinition, IndexId, LockLevel, Projection, ReadView,
    RelationLayout, RelationScan, Result, RowId, StoreError,
};

/// Row numbers of a stretch.
const STRETCH_NUMBERS: u64 = 8_192;
/// Rows that are read at a time where keys are made of columns.
const COLUMN_ROWS: usize = 8_192;
/// Rows that are read at a time where they are evaluated whole.
const WHOLE_ROWS: usize = 512;
/// So many rows are looked at before other threads are asked to help: a small relation is over by then.
const ROWS_ALONE: usize = 32_768;
/// So long a thread rests before it looks again whether it is needed elsewhere.
const REST: Duration = Duration::from_millis(1);
/// Entries are written in portions of this size, in bytes.
const ENTRY_BYTES_PER_WRITE: usize = 4 << 20;
/// No more entries than this are written as single changes, which the commit log takes.
const FEW_ENTRIES: u64 = 2_000;

impl Transaction {
    /// Fills a new index of the layout from the rows that exist. Locks the relation against writers.
    ///
    /// # Errors
    /// `UniqueViolation`, `KeyTooLong`, those of expressions, of temporary files and of cancelling: the index is empty again then.
    pub fn build_index(
        &self,
        layout: &Arc<RelationLayout>,
        index: IndexId,
        room: &dyn BuildRoom,
    ) -> Result<()> {
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
        let filled = self.fill_index(layout, index, view, room);
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
        room: &dyn BuildRoom,
    ) -> Result<()> {
        let (made, helped) = self.sorted_entries(layout, index, view, room)?;
        let count: u64 = made.iter().map(SortedRuns::len).sum();
        let merge = Merge::of(made)?;
        let mut check = UniqueCheck::new(index)?;
        let inner = &self.store.inner;
        if count == 0 && inner.snapshot().bounds(Space::Index(index.id))?.is_none() {
            return Ok(());
        }
        // What is there before the commit stands under a mark.
        let mut batch = WriteBatch::new();
        batch.clear(Space::Index(index.id));
        batch.put(Space::Meta, meta::pending_index(index.id), Vec::new());
        let written = if count <= FEW_ENTRIES {
            self.write_few(index.id, batch, merge, &mut check)
        } else {
            inner.write(batch, Durability::Relaxed)?;
            if helped.is_empty() {
                self.merge_into(merge, &mut check, |entries| write_entries(inner, index.id, entries))
            } else {
                self.write_beside(index.id, merge, &mut check)
            }
        };
        match check.duplicate {
            Some(row) => {
                Err(StoreError::UniqueViolation { index: index.id, values: self.key_of(layout, index, row)? })
            }
            None => written,
        }
    }

    /// The entries of all rows of a view, as sorted runs; by whom they were made.
    pub(crate) fn sorted_entries<'r>(
        &'r self,
        layout: &Arc<RelationLayout>,
        index: &'r IndexDefinition,
        view: ReadView,
        room: &'r dyn BuildRoom,
    ) -> Result<(Vec<SortedRuns<'r>>, Places)> {
        let keys = ColumnKeys::of(index);
        let projection = keys.as_ref().map_or_else(Projection::all, ColumnKeys::projection);
        let scan = RelationScan::new(Arc::clone(layout), view, projection);
        Rows { transaction: self, index, keys, scan: Mutex::new(Some(scan)) }.collect(room)
    }

    /// Writes entries as single changes, behind those of the batch.
    fn write_few(
        &self,
        index: IndexId,
        mut batch: WriteBatch,
        merge: Merge<'_>,
        check: &mut UniqueCheck,
    ) -> Result<()> {
        merge.for_each(|entry| {
            check.look_at(entry)?;
            batch.put(Space::Index(index), entry.to_vec(), Vec::new());
            Ok(())
        })?;
        self.store.inner.write(batch, Durability::Relaxed)
    }

    /// Writes entries by a thread of its own, while they are merged.
    fn write_beside(&self, index: IndexId, merge: Merge<'_>, check: &mut UniqueCheck) -> Result<()> {
        let inner = &self.store.inner;
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<SortedEntries>(1);
            let writer = scope
                .spawn(move || receiver.iter().try_for_each(|entries| write_entries(inner, index, entries)));
            let merged = self.send_merged(merge, check, sender);
            // The writer says why it takes no more; that nobody takes them says nothing.
            writer.join().unwrap_or_else(|panic| resume_unwind(panic)).and(merged)
        })
    }

    fn send_merged(
        &self,
        merge: Merge<'_>,
        check: &mut UniqueCheck,
        sender: SyncSender<SortedEntries>,
    ) -> Result<()> {
        self.merge_into(merge, check, |entries| sender.send(entries).map_err(|_| StoreError::Poisoned))
    }

    fn merge_into(
        &self,
        merge: Merge<'_>,
        check: &mut UniqueCheck,
        mut deliver: impl FnMut(SortedEntries) -> Result<()>,
    ) -> Result<()> {
        let mut entries = SortedEntries::default();
        merge.for_each(|entry| {
            check.look_at(entry)?;
            entries.push(entry);
            if entries.bytes() >= ENTRY_BYTES_PER_WRITE {
                self.cancel.check()?;
                deliver(std::mem::take(&mut entries))?;
            }
            Ok(())
        })?;
        deliver(entries)
    }

    fn key_of(&self, layout: &RelationLayout, index: &IndexDefinition, row: RowId) -> Result<Vec<Value>> {
        let view = self.latest_view(&mut *self.core()?);
        let row = self.read_row(layout, &view, row, &Projection::all())?.unwrap_or_default();
        Ok(index.key_values(&row)?.unwrap_or_default())
    }
}

fn write_entries(inner: &Inner, index: IndexId, entries: SortedEntries) -> Result<()> {
    let mut batch = WriteBatch::new();
    batch.append_entries(index, entries);
    inner.write(batch, Durability::Relaxed)
}

/// Looks for neighbours with the same key.
struct UniqueCheck {
    index: IndexId,
    /// The key before; of an index that is not unique nothing is looked at.
    before: Option<Vec<u8>>,
    /// Such keys never collide.
    all_null: Vec<u8>,
    /// A row whose key another one has.
    duplicate: Option<RowId>,
}

impl UniqueCheck {
    fn new(index: &IndexDefinition) -> Result<UniqueCheck> {
        let all_null = index.encode(&vec![Value::Null; index.parts.len()])?.bytes;
        // No key is empty.
        Ok(UniqueCheck { index: index.id, before: index.unique.then(Vec::new), all_null, duplicate: None })
    }

    /// # Errors
    /// `UniqueViolation`, without values: `duplicate` says whose they are.
    fn look_at(&mut self, entry: &[u8]) -> Result<()> {
        let Some(before) = &mut self.before else { return Ok(()) };
        let (key, row) = keyspace::parse_entry(entry).ok_or_else(|| StoreError::corrupt("an index entry"))?;
        if key == before.as_slice() && key != self.all_null {
            self.duplicate = Some(row);
            return Err(StoreError::UniqueViolation { index: self.index, values: Vec::new() });
        }
        before.clear();
        before.extend_from_slice(key);
        Ok(())
    }
}

/// The rows that an index is made of.
struct Rows<'t> {
    transaction: &'t Transaction,
    index: &'t IndexDefinition,
    /// How keys are made of columns; `None`: of whole rows.
    keys: Option<ColumnKeys<'t>>,
    /// What is not taken yet; `None`: nothing is left, or somebody has failed.
    scan: Mutex<Option<RelationScan>>,
}

/// Places of threads that have helped, kept as long as there is something to do.
pub(crate) type Places = Vec<Box<dyn HelpingPlace>>;

impl<'t> Rows<'t> {
    /// The entries of all rows, as sorted runs; by whom they were made.
    fn collect(&self, room: &'t dyn BuildRoom) -> Result<(Vec<SortedRuns<'t>>, Places)> {
        let cancel = &self.transaction.cancel;
        let mut own = RunMaker::new(room, cancel);
        let mut batch = ColumnBatch::new();
        let mut rows = 0;
        while rows < ROWS_ALONE {
            match self.take_stretch(&mut batch, &mut own)? {
                Some(taken) => rows += taken,
                None => return Ok((vec![own.finish()?], Vec::new())),
            }
        }
        // What expressions look at is for the statement's own thread.
        let places = if self.keys.is_some() { room.helping_places() } else { Vec::new() };
        thread::scope(|scope| {
            let helpers: Vec<_> = places
                .into_iter()
                .map(|mut place| {
                    scope.spawn(move || {
                        let maker = RunMaker::new(room, cancel);
                        (self.take_all(maker, ColumnBatch::new(), || place.rests()), place)
                    })
                })
                .collect();
            let mut made = vec![self.take_all(own, batch, || false)];
            let mut places = Vec::new();
            for helper in helpers {
                let (sorted, place) = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
                made.push(sorted);
                places.push(place);
            }
            Ok((made.into_iter().collect::<Result<_>>()?, places))
        })
    }

    /// Takes stretches until there are no more, or somebody has failed.
    fn take_all<'r>(
        &self,
        mut maker: RunMaker<'r>,
        mut batch: ColumnBatch,
        mut rests: impl FnMut() -> bool,
    ) -> Result<SortedRuns<'r>> {
        loop {
            while rests() && self.scan.lock().is_some() {
                thread::sleep(REST);
            }
            if self.take_stretch(&mut batch, &mut maker)?.is_none() {
                return maker.finish();
            }
        }
    }

    /// Takes the next stretch that nobody has taken; gives how many rows it has, `None` if there is none.
    fn take_stretch(&self, batch: &mut ColumnBatch, maker: &mut RunMaker<'_>) -> Result<Option<usize>> {
        let taken = self.read_stretch(batch, maker);
        if !matches!(taken, Ok(Some(_))) {
            *self.scan.lock() = None;
        }
        taken
    }

    fn read_stretch(&self, batch: &mut ColumnBatch, maker: &mut RunMaker<'_>) -> Result<Option<usize>> {
        let rows_max = if self.keys.is_some() { COLUMN_ROWS } else { WHOLE_ROWS };
        let mut scan = match &mut *self.scan.lock() {
            Some(rest) if !rest.is_finished() => rest.split_off(self.transaction, STRETCH_NUMBERS)?,
            _ => return Ok(None),
        };
        let mut rows = 0;
        while !scan.is_finished() {
            self.transaction.cancel.check()?;
            if scan.next_columns(self.transaction, rows_max, batch)? {
                self.add_entries(batch, maker)?;
                rows += batch.len();
            }
        }
        if let Some(rest) = &mut *self.scan.lock() {
            rest.pass(scan.next_row());
        }
        Ok(Some(rows))
    }

    fn add_entries(&self, batch: &mut ColumnBatch, maker: &mut RunMaker<'_>) -> Result<()> {
        let numbers = batch.row_ids();
        let number = |place: usize| numbers.get(place).map_or(0, |row| row.0);
        if let Some(keys) = &self.keys {
            return keys.for_each(batch, |place, key| maker.push(key, number(place)));
        }
        let places: Vec<u32> = (0u32..).take(batch.len()).collect();
        let mut values = Vec::new();
        batch.read_rows(&places, &mut values)?;
        for (place, row) in values.chunks(batch.width().max(1)).enumerate() {
            self.transaction.cancel.check()?;
            if let Some(key) = self.index.key(row)? {
                maker.push(&key.bytes, number(place))?;
            }
        }
        Ok(())
    }
}
