//! Index entries compared with the rows: the entries that the rows should have are sorted, as for a new index, and gone through
//! beside those that are there.

use std::collections::HashSet;
use std::sync::Arc;

use farbird_types::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::walk::Walk;
use super::{Check, Location};
use crate::sorted_runs::Merge;
use crate::substrate::{Slice, Space};
use crate::{
    IndexDefinition, IndexId, Projection, RelationLayout, RelationScan, Result, RowBatch, RowId, StoreError,
    keyspace,
};

/// Entries without a row that are kept in memory, by their hashes; if there are more, older versions are looked at in between.
const UNMATCHED_MAX: usize = 1 << 20;
/// Rows read at a time.
const ROWS_PER_BATCH: usize = 1_000;

/// Entries of a relation's indexes that no row has that is seen. An older version of one may have them.
#[derive(Debug, Default)]
pub(super) struct Unmatched(HashSet<u64>);

fn hash(index: IndexId, entry: &[u8]) -> u64 {
    xxh3_64_with_seed(entry, u64::from(index.0))
}

impl Unmatched {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out the entries of a version of a row, given as in the current format.
    pub(super) fn explain(&mut self, layout: &RelationLayout, row: RowId, values: &[Value]) {
        if self.is_empty() {
            return;
        }
        for index in layout.indexes.iter().filter(|index| index.active) {
            // A key that cannot be computed any more can have an entry all the same: it counts as one that leads nowhere.
            if let Ok(Some(key)) = index.key(values) {
                self.0.remove(&hash(index.id, &key.entry(row)));
            }
        }
    }
}

/// The entries of an index that are there.
struct Entries<'w> {
    walk: Walk,
    /// The next one, if it was looked at already.
    next: Option<Slice>,
    index: IndexId,
    place: Location,
    unmatched: &'w mut Unmatched,
}

impl Entries<'_> {
    fn peek(&mut self, check: &mut Check<'_>) -> Result<Option<&[u8]>> {
        while self.next.is_none() {
            let Some(entry) = self.walk.next() else { return Ok(None) };
            check.advance(1)?;
            match entry {
                Err(gap) => check.report.add(self.place, gap.to_string()),
                Ok((entry, value)) if keyspace::parse_entry(&entry).is_none() || !value.is_empty() => {
                    check.report.add(self.place, "an entry makes no sense");
                }
                Ok((entry, _)) => {
                    check.report.entries += 1;
                    self.next = Some(entry);
                }
            }
        }
        Ok(self.next.as_deref())
    }

    /// Passes over the next entry, which no row has that is seen.
    fn pass_unmatched(&mut self, check: &mut Check<'_>, layout: &Arc<RelationLayout>) -> Result<()> {
        if let Some(entry) = self.next.take() {
            self.unmatched.0.insert(hash(self.index, &entry));
        }
        if self.unmatched.0.len() < UNMATCHED_MAX {
            return Ok(());
        }
        check.count_stale(layout, self.unmatched)
    }
}

impl Check<'_> {
    pub(super) fn check_indexes(&mut self, layout: &Arc<RelationLayout>) -> Result<()> {
        let mut unmatched = Unmatched::default();
        for index in layout.indexes.iter().filter(|index| index.active) {
            self.check_index(layout, index, &mut unmatched)?;
        }
        self.count_stale(layout, &mut unmatched)
    }

    /// Counts the entries that no version of a row has either.
    fn count_stale(&mut self, layout: &Arc<RelationLayout>, unmatched: &mut Unmatched) -> Result<()> {
        if !unmatched.is_empty() {
            self.explain(layout, unmatched)?;
            self.report.stale_entries += unmatched.0.len() as u64;
            unmatched.0.clear();
        }
        Ok(())
    }

    fn check_index(
        &mut self,
        layout: &Arc<RelationLayout>,
        index: &IndexDefinition,
        unmatched: &mut Unmatched,
    ) -> Result<()> {
        let place = Location::Index(layout.id, index.id);
        let walk = Walk::new(&self.snapshot, Space::Index(index.id));
        let mut entries = Entries { walk, next: None, index: index.id, place, unmatched };
        let (transaction, room) = (self.transaction, self.room);
        let sorted = transaction.sorted_entries(layout, index, self.view.clone(), room);
        match sorted.and_then(|(made, _)| Merge::of(made)) {
            Ok(merge) => {
                let mut keys = UniqueKeys::of(index)?;
                merge.for_each(|expected| self.check_entry(layout, expected, &mut entries, &mut keys))?;
                while entries.peek(self)?.is_some() {
                    entries.pass_unmatched(self, layout)?;
                }
            }
            Err(error @ StoreError::Cancelled) => return Err(error),
            // Without the rows' keys there is nothing to compare; what of it can be read is read all the same.
            Err(_) => {
                self.tell_rows_without_key(layout, index)?;
                while entries.peek(self)?.is_some() {
                    entries.next = None;
                }
            }
        }
        Ok(())
    }

    /// Looks for the entry that a row should have.
    fn check_entry(
        &mut self,
        layout: &Arc<RelationLayout>,
        expected: &[u8],
        entries: &mut Entries<'_>,
        keys: &mut UniqueKeys,
    ) -> Result<()> {
        while entries.peek(self)?.is_some_and(|entry| entry < expected) {
            entries.pass_unmatched(self, layout)?;
        }
        let (key, row) = keyspace::parse_entry(expected).ok_or_else(|| StoreError::corrupt("an entry"))?;
        if entries.peek(self)? != Some(expected) {
            self.report.add(entries.place, format!("has no entry for row {}", row.0));
            return Ok(());
        }
        entries.next = None;
        if let Some(other) = keys.other_row(key, row) {
            let what = format!("rows {} and {} have the same key", other.0, row.0);
            self.report.add(entries.place, what);
        }
        Ok(())
    }

    /// The rows of which the key cannot be computed. Rows that cannot be read have been told of before.
    fn tell_rows_without_key(&mut self, layout: &Arc<RelationLayout>, index: &IndexDefinition) -> Result<()> {
        let mut scan = RelationScan::new(Arc::clone(layout), self.view.clone(), Projection::all());
        let mut batch = RowBatch::new();
        loop {
            match scan.next_batch(self.transaction, ROWS_PER_BATCH, &mut batch) {
                Ok(true) => {}
                Err(error @ StoreError::Cancelled) => return Err(error),
                Ok(false) | Err(_) => return Ok(()),
            }
            for position in 0..batch.len() {
                let row = batch.row_id(position);
                if let Err(error) = index.key(&batch.take_row(position)) {
                    self.report.add(Location::Row(layout.id, row), error.to_string());
                }
            }
        }
    }
}

/// The keys of a unique index, one after the other.
struct UniqueKeys {
    /// Whether no two rows may have the same key.
    is_unique: bool,
    /// Such keys never collide.
    all_null: Vec<u8>,
    /// The latest key, and its row.
    latest: Option<(Vec<u8>, RowId)>,
}

impl UniqueKeys {
    fn of(index: &IndexDefinition) -> Result<UniqueKeys> {
        let all_null = index.encode(&vec![Value::Null; index.parts.len()])?.bytes;
        Ok(UniqueKeys { is_unique: index.unique, all_null, latest: None })
    }

    /// The row before, if it has the same key as this one.
    fn other_row(&mut self, key: &[u8], row: RowId) -> Option<RowId> {
        if !self.is_unique || key == self.all_null {
            return None;
        }
        let (latest, latest_row) = self.latest.get_or_insert_with(|| (Vec::new(), row));
        let other = (latest.as_slice() == key).then_some(*latest_row);
        latest.clear();
        latest.extend_from_slice(key);
        *latest_row = row;
        other
    }
}
