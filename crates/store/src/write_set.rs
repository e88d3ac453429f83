//! A transaction's uncommitted work: rows, index entries and catalog entries, each stamped with the change number at
//! which it was made, so that statements see only what came before them and savepoints can be undone.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use farbird_record::{BlockFill, CodecId, EncodedRows, RecordFormat};
use parking_lot::Mutex;

use crate::block::{BLOCK_BYTES_MAX, BLOCK_ROWS_MAX};
use crate::entry_map::EntryMap;
use crate::identifiers::IdMap;
use crate::journal::{Journal, Undo};
use crate::locks::UndoneLock;
use crate::{IndexId, RelationId, RowId, keyspace};

/// Change numbers that live views and savepoints still tell apart, with how many do.
#[derive(Debug, Default)]
pub(crate) struct LiveChanges {
    /// Ascending. A list, since there are few, and most are the latest when they come and when they go.
    numbers: Mutex<Vec<(u64, usize)>>,
}

impl LiveChanges {
    /// So many views or savepoints begin at a change.
    pub(crate) fn hold(&self, change: u64, holders: usize) {
        let mut numbers = self.numbers.lock();
        let place = numbers.iter().rposition(|(number, _)| *number <= change);
        match place.and_then(|place| numbers.get_mut(place)) {
            Some((number, count)) if *number == change => *count += holders,
            _ => numbers.insert(place.map_or(0, |place| place + 1), (change, holders)),
        }
    }

    pub(crate) fn release(&self, change: u64) {
        let mut numbers = self.numbers.lock();
        let Some(place) = numbers.iter().rposition(|(number, _)| *number == change) else { return };
        if let Some((_, count)) = numbers.get_mut(place) {
            *count -= 1;
            if *count == 0 {
                numbers.remove(place);
            }
        }
    }

    /// Whether anybody tells a change at `earlier` from one at `later`.
    fn separates(&self, earlier: u64, later: u64) -> bool {
        let numbers = self.numbers.lock();
        let next = numbers.partition_point(|(number, _)| *number < earlier);
        numbers.get(next).is_some_and(|(number, _)| *number < later)
    }
}

/// An own row as some view sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnRow<'a> {
    Deleted,
    Row { format: u16, bytes: &'a [u8] },
}

/// What an update or a delete left of a row.
#[derive(Debug)]
struct RowChange {
    change: u64,
    /// `None`: deleted.
    content: Option<(u16, Box<[u8]>)>,
}

impl RowChange {
    fn own(&self) -> OwnRow<'_> {
        match &self.content {
            None => OwnRow::Deleted,
            Some((format, bytes)) => OwnRow::Row { format: *format, bytes },
        }
    }
}

/// What became of a row, as far as live views and savepoints tell it apart. Most rows are changed once, which takes no
/// allocation.
#[derive(Debug)]
struct RowChanges {
    /// Oldest first.
    earlier: Vec<RowChange>,
    latest: RowChange,
}

impl RowChanges {
    fn iter(&self) -> impl DoubleEndedIterator<Item = &RowChange> {
        self.earlier.iter().chain(std::iter::once(&self.latest))
    }

    fn into_iter(self) -> impl Iterator<Item = RowChange> {
        self.earlier.into_iter().chain(std::iter::once(self.latest))
    }

    /// The row as left by changes up to `change`.
    fn until(&self, change: u64) -> Option<OwnRow<'_>> {
        self.iter().rev().find(|known| known.change <= change).map(RowChange::own)
    }

    fn push(&mut self, change: RowChange, live: &LiveChanges) {
        self.earlier.push(std::mem::replace(&mut self.latest, change));
        let mut successor = self.latest.change;
        let is_needed: Vec<bool> = self
            .earlier
            .iter()
            .rev()
            .map(|known| live.separates(known.change, std::mem::replace(&mut successor, known.change)))
            .collect();
        let mut is_needed = is_needed.into_iter().rev();
        self.earlier.retain(|_| is_needed.next().unwrap_or(true));
    }

    /// Forgets the changes after `savepoint`; false if none is left.
    fn undo(&mut self, savepoint: u64) -> bool {
        while self.latest.change > savepoint {
            match self.earlier.pop() {
                Some(before) => self.latest = before,
                None => return false,
            }
        }
        true
    }
}

/// Inserted rows with consecutive numbers: what may become a row block.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) format: u16,
    pub(crate) rows: RunRows,
    /// At which change the rows from a place on were inserted.
    changes: Vec<(u64, usize)>,
}

/// Where the rows of a run are.
#[derive(Debug)]
pub(crate) enum RunRows {
    InMemory(EncodedRows),
    /// In a block of the file that carries the transaction's number: so many.
    Spilled(usize),
}

impl Run {
    /// How many rows.
    pub(crate) fn len(&self) -> usize {
        match &self.rows {
            RunRows::InMemory(rows) => rows.len(),
            RunRows::Spilled(count) => *count,
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.first + self.len() as u64
    }

    /// How many of its rows were inserted at `change` or before.
    pub(crate) fn visible(&self, change: u64) -> usize {
        let later = self.changes.partition_point(|(made, _)| *made <= change);
        self.changes.get(later).map_or(self.len(), |(_, index)| *index)
    }

    /// Its rows, if the row of this number can be appended to them as far as numbers and format go.
    fn rows_before(&self, row: u64, format: u16) -> Option<&EncodedRows> {
        match &self.rows {
            RunRows::InMemory(rows) if self.end() == row && self.format == format => Some(rows),
            _ => None,
        }
    }

    /// Notes at which change the row that comes next is inserted.
    fn note_change(&mut self, change: u64, live: &LiveChanges) {
        if self.changes.last().is_some_and(|(made, _)| *made == change) {
            return;
        }
        // Stretches that nobody tells apart any more become one.
        while let [.., (earlier, _), (later, _)] = self.changes[..]
            && !live.separates(earlier, later)
        {
            self.changes.pop();
        }
        self.changes.push((change, self.len()));
    }
}

/// Uncommitted rows of one relation.
#[derive(Debug, Default)]
pub(crate) struct RelationWrites {
    /// Inserted rows, by number and thereby by time.
    runs: Vec<Run>,
    /// Rows updated or deleted. Covers what `runs` says of the row.
    changed: BTreeMap<u64, RowChanges>,
    /// How many rows of which format make a block.
    fill: Option<(u16, BlockFill)>,
}

/// How inserted rows will be packed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowPacking<'a> {
    /// Number of the record format.
    pub(crate) format: u16,
    pub(crate) record_format: &'a RecordFormat,
    pub(crate) codec: CodecId,
}

impl RelationWrites {
    /// Whether a row belongs to the run begun: it comes next, and the block that the run will be is not full.
    fn continues_run(&mut self, row: u64, packing: &RowPacking<'_>) -> bool {
        let Some(rows) = self.runs.last().and_then(|run| run.rows_before(row, packing.format)) else {
            return false;
        };
        if rows.len() >= BLOCK_ROWS_MAX {
            return false;
        }
        let fill = match &mut self.fill {
            Some((format, fill)) if *format == packing.format => fill,
            other => &mut other.insert((packing.format, BlockFill::new(packing.codec, BLOCK_BYTES_MAX))).1,
        };
        !fill.is_full(packing.record_format, rows)
    }

    /// The runs, by row number.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Rows updated or deleted of a range, as they are now.
    pub(crate) fn changed(
        &self,
        range: impl std::ops::RangeBounds<u64>,
    ) -> impl DoubleEndedIterator<Item = (RowId, OwnRow<'_>)> {
        self.changed.range(range).map(|(row, changes)| (RowId(*row), changes.latest.own()))
    }

    /// How many rows were updated or deleted.
    pub(crate) fn changed_count(&self) -> usize {
        self.changed.len()
    }

    /// The run that holds a row, or held it before an undo.
    pub(crate) fn run_of(&self, row: u64) -> Option<&Run> {
        let after = self.runs.partition_point(|run| run.first <= row);
        self.runs.get(after.checked_sub(1)?)
    }

    /// The inserted rows that stand in memory once finished runs are spilled: those of the latest run.
    fn unfinished(&self) -> Range<u64> {
        match self.runs.last() {
            Some(run) if matches!(run.rows, RunRows::InMemory(_)) => run.first..run.end(),
            _ => 0..0,
        }
    }

    fn take_runs(&mut self, relation: RelationId, spill: &mut Spill, is_final: bool) {
        let finished = if is_final { self.runs.len() } else { self.runs.len().saturating_sub(1) };
        for run in self.runs.iter_mut().take(finished) {
            let count = run.len();
            if let RunRows::InMemory(rows) = &mut run.rows {
                spill.runs.push((relation, run.first, run.format, std::mem::take(rows)));
                run.rows = RunRows::Spilled(count);
                run.changes.shrink_to_fit();
            }
        }
    }

    fn take_changes(&mut self, relation: RelationId, spill: &mut Spill) {
        let mut kept = BTreeMap::new();
        let unfinished = self.unfinished();
        for (row, changes) in std::mem::take(&mut self.changed) {
            if unfinished.contains(&row) {
                kept.insert(row, changes);
            } else {
                spill.changes.extend(changes.into_iter().map(|RowChange { change, content }| {
                    SpilledChange { relation, row: RowId(row), change, content }
                }));
            }
        }
        self.changed = kept;
    }

    /// Memory used, roughly.
    fn bytes(&self) -> usize {
        let inserted = self.runs.iter().map(|run| match &run.rows {
            RunRows::InMemory(rows) => rows.bytes().len() + 4 * rows.len(),
            RunRows::Spilled(_) => 0,
        });
        let changed = self
            .changed
            .values()
            .flat_map(RowChanges::iter)
            .map(|change| OVERHEAD_BYTES + change.content.as_ref().map_or(0, |(_, bytes)| bytes.len()));
        inserted.sum::<usize>() + changed.sum::<usize>()
    }

    fn inserted(&self, row: u64, change: u64) -> Option<OwnRow<'_>> {
        let run = self.run_of(row)?;
        let RunRows::InMemory(rows) = &run.rows else { return None };
        let index = usize::try_from(row - run.first).ok()?;
        if index >= run.visible(change) {
            return None;
        }
        Some(OwnRow::Row { format: run.format, bytes: rows.row(index)? })
    }

    /// The row as left by changes up to `change`; `None` if none of them touched it, or it stands in a spilled block.
    pub(crate) fn row(&self, row: RowId, change: u64) -> Option<OwnRow<'_>> {
        let changed = self.changed.get(&row.0).and_then(|changes| changes.until(change));
        changed.or_else(|| self.inserted(row.0, change))
    }

    /// Whether the row was inserted, updated or deleted, as far as that is in memory or in a run.
    pub(crate) fn has(&self, row: RowId) -> bool {
        // Rows mostly come in their order: then nothing is to be looked for.
        let is_behind = self.changed.last_key_value().is_none_or(|(last, _)| *last < row.0);
        !is_behind && self.changed.contains_key(&row.0)
            || self.run_of(row.0).is_some_and(|run| row.0 < run.end())
    }

    /// When the row was last updated or deleted, and what it is since, as far as that is in memory.
    pub(crate) fn latest_change(&self, row: RowId) -> Option<(u64, OwnRow<'_>)> {
        let latest = &self.changed.get(&row.0)?.latest;
        Some((latest.change, latest.own()))
    }

    /// The first row from `from` on that changes up to `change` touched.
    pub(crate) fn next_row(&self, from: RowId, change: u64) -> Option<(RowId, OwnRow<'_>)> {
        let inserted = self.next_inserted(from.0, change);
        let changed =
            self.changed.range(from.0..).find_map(|(row, changes)| Some((*row, changes.until(change)?)));
        match (inserted, changed) {
            (Some((inserted, own)), Some((changed, _))) if inserted < changed => Some((RowId(inserted), own)),
            (_, Some((changed, own))) => Some((RowId(changed), own)),
            (Some((inserted, own)), None) => Some((RowId(inserted), own)),
            (None, None) => None,
        }
    }

    fn next_inserted(&self, from: u64, change: u64) -> Option<(u64, OwnRow<'_>)> {
        let start = self.runs.partition_point(|run| run.end() <= from);
        let in_memory = |run: &&Run| matches!(&run.rows, RunRows::InMemory(rows) if !rows.is_empty());
        let run = self.runs.get(start..)?.iter().find(in_memory)?;
        let row = run.first.max(from);
        Some((row, self.inserted(row, change)?))
    }

    /// Takes back the inserts after `change`, and counts them. Spilled runs that lose rows are taken out whole.
    fn undo_inserts(&mut self, change: u64, undone: &mut u64) -> Vec<Run> {
        let mut spilled = Vec::new();
        while let Some(run) = self.runs.last_mut() {
            let visible = run.visible(change);
            if visible == run.len() {
                break;
            }
            *undone += (run.len() - visible) as u64;
            match &mut run.rows {
                RunRows::Spilled(_) => spilled.extend(self.runs.pop()),
                RunRows::InMemory(rows) => {
                    rows.truncate(visible);
                    run.changes.retain(|(made, _)| *made <= change);
                    if visible > 0 {
                        break;
                    }
                    self.runs.pop();
                }
            }
        }
        spilled
    }

    /// Puts a spilled run of which an undo left some rows back, with those.
    pub(crate) fn keep_spilled(&mut self, mut run: Run, rows: usize, change: u64) {
        run.changes.retain(|(made, _)| *made <= change);
        run.rows = RunRows::Spilled(rows);
        self.runs.push(run);
    }
}

/// What is taken out of the write set to be spilled.
#[derive(Debug, Default)]
pub(crate) struct Spill {
    /// Runs, as relation, first row, format and rows.
    pub(crate) runs: Vec<(RelationId, u64, u16, EncodedRows)>,
    /// By relation and row.
    pub(crate) changes: Vec<SpilledChange>,
    pub(crate) entries: IdMap<IndexId, OwnEntries>,
    /// Entries that need not be kept at all.
    pub(crate) dropped: IdMap<IndexId, OwnEntries>,
}

/// What an update or a delete left of a row, to be spilled.
#[derive(Debug)]
pub(crate) struct SpilledChange {
    pub(crate) relation: RelationId,
    pub(crate) row: RowId,
    pub(crate) change: u64,
    /// `None`: deleted.
    pub(crate) content: Option<(u16, Box<[u8]>)>,
}

/// A catalog key's changes: change number and new value, or `None` if deleted.
type CatalogChain = Vec<(u64, Option<Vec<u8>>)>;

/// Entries that a transaction adds to an index.
pub(crate) type OwnEntries = EntryMap<OwnEntry>;

/// What is known of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnEntry {
    /// At which change it was added.
    added: u64,
    /// At which change its row, never committed with this key, got another one: the entry need not be committed.
    superseded: u64,
}

/// The change that never comes.
const NEVER: u64 = u64::MAX;

impl OwnEntry {
    pub(crate) fn is_superseded(&self) -> bool {
        self.superseded != NEVER
    }

    /// Whether somebody sees, or may see again after an undo, a row with its key.
    fn is_needed(&self, live: &LiveChanges) -> bool {
        !self.is_superseded() || live.separates(self.added, self.superseded)
    }
}

/// A transaction's uncommitted work.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    /// The change number of the next write.
    change: u64,
    savepoints: Vec<u64>,
    journal: Journal,
    pub(crate) relations: IdMap<RelationId, RelationWrites>,
    pub(crate) entries: IdMap<IndexId, OwnEntries>,
    catalog: BTreeMap<Vec<u8>, CatalogChain>,
    /// Which relation an index's entries belong to.
    entry_relations: IdMap<IndexId, RelationId>,
    bytes: usize,
}

/// What a kept row or catalog entry costs beside its own bytes, roughly.
const OVERHEAD_BYTES: usize = 64;

/// What an index entry costs, here and among the pending keys, beside its own bytes.
const ENTRY_OVERHEAD_BYTES: usize = 48;

impl WriteSet {
    /// An empty one whose changes come after those of another.
    pub(crate) fn after(other: &WriteSet) -> WriteSet {
        WriteSet { change: other.change, ..WriteSet::default() }
    }

    /// A point in time: earlier changes are at or below it, later ones above.
    pub(crate) fn mark(&mut self) -> u64 {
        let mark = self.change;
        self.change += 1;
        mark
    }

    /// The change number of the next write.
    pub(crate) fn now(&self) -> u64 {
        self.change
    }

    /// The savepoints that can be gone back to, oldest first.
    pub(crate) fn savepoints(&self) -> &[u64] {
        &self.savepoints
    }

    /// Memory used, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
            && self.catalog.is_empty()
            && self.relations.values().all(|writes| writes.runs.is_empty() && writes.changed.is_empty())
    }

    /// The relation to which an index's own entries belong.
    pub(crate) fn relation_of(&self, index: IndexId) -> Option<RelationId> {
        self.entry_relations.get(&index).copied()
    }

    pub(crate) fn relation(&self, relation: RelationId) -> Option<&RelationWrites> {
        self.relations.get(&relation)
    }

    /// Forgets the rows and the index entries of a relation, and gives the entries. Not to be undone.
    pub(crate) fn forget(
        &mut self,
        relation: RelationId,
        indexes: impl Iterator<Item = IndexId>,
    ) -> Vec<(IndexId, OwnEntries)> {
        self.relations.remove(&relation);
        let entries = indexes.filter_map(|index| Some((index, self.entries.remove(&index)?))).collect();
        self.bytes = self.measure();
        entries
    }

    fn log(&mut self, undo: Undo, key: &[u8]) {
        if !self.savepoints.is_empty() {
            self.journal.push(self.change, undo, key);
        }
    }

    /// Notes an inserted row.
    pub(crate) fn insert(
        &mut self,
        relation: RelationId,
        row: RowId,
        packing: &RowPacking<'_>,
        bytes: &[u8],
        live: &LiveChanges,
    ) {
        let change = self.change;
        let writes = self.relations.entry(relation).or_default();
        if !writes.continues_run(row.0, packing) {
            let rows = RunRows::InMemory(EncodedRows::new());
            writes.runs.push(Run { first: row.0, format: packing.format, rows, changes: Vec::new() });
        }
        if let Some(run) = writes.runs.last_mut() {
            run.note_change(change, live);
            if let RunRows::InMemory(rows) = &mut run.rows {
                rows.push(bytes);
            }
        }
        self.bytes += bytes.len() + 4;
    }

    /// Takes out what can be spilled: finished runs of inserted rows, changes of rows that are not of an unfinished run,
    /// and the index entries of both. `is_final`: all, since nothing is inserted any more.
    pub(crate) fn take_spill(&mut self, live: &LiveChanges, is_final: bool) -> Spill {
        let mut spill = Spill::default();
        for (relation, writes) in &mut self.relations {
            writes.take_runs(*relation, &mut spill, is_final);
            writes.take_changes(*relation, &mut spill);
        }
        let unfinished: IdMap<IndexId, Range<u64>> = self
            .entry_relations
            .iter()
            .filter_map(|(index, relation)| Some((*index, self.relations.get(relation)?.unfinished())))
            .collect();
        let stays = |index: &IndexId, entry: &[u8]| {
            let row = keyspace::parse_entry(entry).map(|(_, row)| row.0);
            row.zip(unfinished.get(index)).is_some_and(|(row, rows)| rows.contains(&row))
        };
        for (index, entries) in &mut self.entries {
            let mut spilled = std::mem::take(entries);
            let mut dropped = OwnEntries::default();
            spilled.retain(|entry, known| {
                if stays(index, entry) {
                    entries.insert(entry, *known);
                    return false;
                }
                let is_needed = known.is_needed(live);
                if !is_needed {
                    dropped.insert(entry, *known);
                }
                is_needed
            });
            for (list, taken) in [(&mut spill.entries, spilled), (&mut spill.dropped, dropped)] {
                if !taken.is_empty() {
                    list.insert(*index, taken);
                }
            }
        }
        // What is spilled is not undone one by one: the file keeps it, and readers are told what was undone.
        let relations = &self.relations;
        self.journal.retain(|undo, key| match undo {
            Undo::Row(relation, row) | Undo::LockedRow(relation, row) => {
                relations.get(&relation).is_some_and(|writes| writes.changed.contains_key(&row))
            }
            // What it locked besides stays locked: many rows would need much room.
            Undo::Lock(..) | Undo::TakenKey(..) => false,
            Undo::Entry(index) | Undo::Supersession(index) => stays(&index, key),
            Undo::CatalogEntry => true,
        });
        self.bytes = self.measure();
        spill
    }

    /// Memory used, roughly, counted anew.
    fn measure(&self) -> usize {
        let rows: usize = self.relations.values().map(RelationWrites::bytes).sum();
        let entries = self.entries.values();
        let entries: usize = entries.map(|own| own.bytes() + ENTRY_OVERHEAD_BYTES * own.len()).sum();
        let catalog: usize = self
            .catalog
            .iter()
            .flat_map(|(key, chain)| chain.iter().map(move |(_, value)| (key, value)))
            .map(|(key, value)| OVERHEAD_BYTES + key.len() + value.as_ref().map_or(0, Vec::len))
            .sum();
        rows + entries + catalog
    }

    /// Notes what an update (or, with `None`, a delete) made of a row, which may just have been locked for that.
    pub(crate) fn change(
        &mut self,
        relation: RelationId,
        row: RowId,
        content: Option<(u16, Box<[u8]>)>,
        newly_locked: bool,
        live: &LiveChanges,
    ) {
        let change = self.change;
        self.bytes += OVERHEAD_BYTES + content.as_ref().map_or(0, |(_, bytes)| bytes.len());
        let writes = self.relations.entry(relation).or_default();
        // One journal item since the latest savepoint undoes all later changes of the row too.
        let latest_savepoint = self.savepoints.last().copied().unwrap_or(0);
        let latest = RowChange { change, content };
        let logged = match writes.changed.entry(row.0) {
            Entry::Vacant(unchanged) => {
                unchanged.insert(RowChanges { earlier: Vec::new(), latest });
                false
            }
            Entry::Occupied(mut changed) => {
                let logged = changed.get().latest.change > latest_savepoint;
                changed.get_mut().push(latest, live);
                logged
            }
        };
        if newly_locked {
            self.log(Undo::LockedRow(relation, row.0), &[]);
        } else if !logged {
            self.log(Undo::Row(relation, row.0), &[]);
        }
    }

    /// Notes that a row was locked without being changed.
    pub(crate) fn note_lock(&mut self, relation: RelationId, row: RowId) {
        self.log(Undo::Lock(relation, row.0), &[]);
    }

    /// Notes that a row which was locked before loses a key; `None`: all of them.
    pub(crate) fn note_taken_key(&mut self, relation: RelationId, row: RowId, index: Option<IndexId>) {
        self.log(Undo::TakenKey(relation, row.0, index), &[]);
    }

    /// Notes an index entry.
    pub(crate) fn add_entry(&mut self, relation: RelationId, index: IndexId, entry: &[u8]) {
        let entries = self.entries.entry(index).or_insert_with(|| {
            self.entry_relations.insert(index, relation);
            OwnEntries::default()
        });
        match entries.insert(entry, OwnEntry { added: self.change, superseded: NEVER }) {
            Some(known) => known.superseded = NEVER,
            None => {
                self.bytes += entry.len() + ENTRY_OVERHEAD_BYTES;
                self.log(Undo::Entry(index), entry);
            }
        }
    }

    /// Notes that the uncommitted row of an entry has another key now, or is gone.
    pub(crate) fn supersede_entry(&mut self, index: IndexId, entry: &[u8]) {
        let Some(known) = self.entries.get_mut(&index).and_then(|own| own.get_mut(entry)) else { return };
        known.superseded = self.change;
        self.log(Undo::Supersession(index), entry);
    }

    /// Notes a catalog entry's new value, or its deletion.
    pub(crate) fn put_catalog(&mut self, key: &[u8], value: Option<Vec<u8>>, live: &LiveChanges) {
        let change = self.change;
        self.bytes += OVERHEAD_BYTES + key.len() + value.as_ref().map_or(0, Vec::len);
        let chain = self.catalog.entry(key.to_vec()).or_default();
        chain.push((change, value));
        drop_indistinct(chain, live);
        self.log(Undo::CatalogEntry, key);
    }

    /// The own value of a catalog entry: `Some(None)` if it was deleted.
    pub(crate) fn catalog(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.catalog.get(key)?.last().map(|(_, value)| value.as_deref())
    }

    /// Whether there are own catalog entries.
    pub(crate) fn has_catalog_changes(&self) -> bool {
        !self.catalog.is_empty()
    }

    /// Takes all own catalog entries, for the commit.
    pub(crate) fn take_catalog(&mut self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let chains = std::mem::take(&mut self.catalog);
        chains.into_iter().filter_map(|(key, mut chain)| Some((key, chain.pop()?.1))).collect()
    }

    pub(crate) fn begin_savepoint(&mut self, live: &LiveChanges) -> u64 {
        let mark = self.mark();
        live.hold(mark, 1);
        self.savepoints.push(mark);
        mark
    }

    /// A savepoint at the moment of a view, which holds the change too.
    pub(crate) fn begin_statement(&mut self, live: &LiveChanges) -> u64 {
        let mark = self.mark();
        live.hold(mark, 2);
        self.savepoints.push(mark);
        mark
    }

    /// Ends a savepoint and those after it.
    pub(crate) fn end_savepoint(&mut self, savepoint: u64, live: &LiveChanges) {
        while self.savepoints.last().is_some_and(|last| *last >= savepoint) {
            if let Some(ended) = self.savepoints.pop() {
                live.release(ended);
            }
        }
        if self.savepoints.is_empty() {
            self.journal.clear();
        }
    }

    /// Undoes all changes after `savepoint`. Tells `gone` the index entries that are taken out.
    pub(crate) fn undo(&mut self, savepoint: u64, mut gone: impl FnMut(IndexId, &[u8])) -> Undone {
        let mut spilled = Vec::new();
        let mut locks = Vec::new();
        let mut rows: IdMap<RelationId, u64> = IdMap::default();
        for (relation, writes) in &mut self.relations {
            let mut undone = 0;
            let runs = writes.undo_inserts(savepoint, &mut undone);
            spilled.extend(runs.into_iter().map(|run| (*relation, run)));
            if undone > 0 {
                rows.insert(*relation, undone);
            }
        }
        let WriteSet { journal, relations, entries, catalog, .. } = self;
        let mut undo = |undo: Undo, key: &[u8]| match undo {
            Undo::Row(relation, row) | Undo::LockedRow(relation, row) => {
                if let Some(writes) = relations.get_mut(&relation)
                    && let Entry::Occupied(mut changed) = writes.changed.entry(row)
                {
                    *rows.entry(relation).or_default() += 1;
                    if !changed.get_mut().undo(savepoint) {
                        changed.remove();
                    }
                }
                if matches!(undo, Undo::LockedRow(..)) {
                    locks.push(UndoneLock::Row { relation, row: RowId(row) });
                }
            }
            Undo::Lock(relation, row) => locks.push(UndoneLock::Row { relation, row: RowId(row) }),
            Undo::TakenKey(relation, row, index) => {
                locks.push(UndoneLock::Key { relation, row: RowId(row), index });
            }
            Undo::CatalogEntry => {
                if let Some(chain) = catalog.get_mut(key) {
                    chain.retain(|(change, _)| *change <= savepoint);
                    if chain.is_empty() {
                        catalog.remove(key);
                    }
                }
            }
            Undo::Supersession(index) => {
                if let Some(known) = entries.get_mut(&index).and_then(|own| own.get_mut(key))
                    && known.superseded > savepoint
                {
                    known.superseded = NEVER;
                }
            }
            Undo::Entry(index) => {
                if let Some(own) = entries.get_mut(&index) {
                    own.remove(key);
                }
                gone(index, key);
            }
        };
        while journal.undo_latest(savepoint, &mut undo) {}
        Undone { spilled, locks, rows }
    }
}

/// What an undo leaves to be done.
pub(crate) struct Undone {
    /// Runs with rows to take out of the file.
    pub(crate) spilled: Vec<(RelationId, Run)>,
    /// What was done to locks.
    pub(crate) locks: Vec<UndoneLock>,
    /// How many changes of rows were undone.
    pub(crate) rows: IdMap<RelationId, u64>,
}

/// Removes from a chain the values that no live view or savepoint tells from their successors.
fn drop_indistinct(chain: &mut CatalogChain, live: &LiveChanges) {
    let mut index = 0;
    while index + 1 < chain.len() {
        if live.separates(chain[index].0, chain[index + 1].0) {
            index += 1;
        } else {
            chain.remove(index);
        }
    }
}
