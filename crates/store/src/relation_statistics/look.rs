//! A look at a relation's committed rows: at stretches of rows that are spread evenly over it, or at all of them.

use std::sync::Arc;

use farbird_record::ColumnVector;

use super::column::{ColumnSample, WholeColumn, collation_of, hash_of, hashes, join};
use super::distinct::{DistinctSample, Sketch};
use super::{ColumnStatistics, IndexStatistics, RelationStatistics};
use crate::block::Block;
use crate::column_batch::ColumnBatch;
use crate::decoder::latest_layout;
use crate::layout::IndexDefinition;
use crate::layout::column_slots;
use crate::merge::MergedRows;
use crate::scan::fill_columns;
use crate::store::Inner;
use crate::substrate::{ALL_KEYS, Direction, Space, SubstrateState};
use crate::{CancelFlag, CommitNumber, Projection, RelationId, RelationLayout, Result, keyspace};

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effort {
    /// So little that whoever plans a statement can wait for it.
    Quick,
    /// What the background can do.
    Usual,
    /// All rows.
    Whole,
}

/// Stretches of rows, and rows of each.
impl Effort {
    fn stretches(self) -> (u64, usize) {
        match self {
            Effort::Quick => (64, 128),
            Effort::Usual | Effort::Whole => (128, 512),
        }
    }

    /// Of relations with no more rows than this all are looked at.
    pub(super) fn rows(self) -> u64 {
        let (count, rows) = self.stretches();
        count * rows as u64
    }
}

/// A stretch with few rows ends after so many times as many row numbers.
const SPARSE: u64 = 16;
/// Values of each column that are kept for its histogram.
const KEPT_VALUES: usize = 4_096;
/// Rows of each stretch for which indexes on expressions are computed.
const COMPUTED_ROWS: usize = 32;
/// Rows read at a time.
const ROWS_AT_ONCE: usize = 1_024;

/// Something to look at: a relation as of a commit.
pub(super) struct Look<'a> {
    pub(super) inner: &'a Inner,
    pub(super) layout: &'a Arc<RelationLayout>,
    pub(super) snapshot: Arc<dyn SubstrateState>,
    pub(super) until: CommitNumber,
    pub(super) cancel: &'a CancelFlag,
}

/// What a look at stretches has found before it is scaled up.
struct Sample {
    columns: Vec<ColumnSample>,
    indexes: Vec<IndexSample>,
    rows: u64,
    /// Row numbers that were passed.
    passed: u64,
    /// What blocks take and how many rows they have, of those met.
    block_bytes: u64,
    block_rows: u64,
    blocks: u64,
    last_block: Option<u64>,
}

impl Look<'_> {
    /// Looks; `rows` is how many there are, if that is known.
    pub(super) fn at(&self, effort: Effort, rows: Option<u64>) -> Result<RelationStatistics> {
        let Some((first, last)) = self.extent()? else { return Ok(self.nothing()) };
        let span = last - first + 1;
        let (count, length) = effort.stretches();
        // Few rows among many row numbers are not looked for: there may be as many versions of deleted ones.
        let is_small = span <= effort.rows()
            || span <= SPARSE * effort.rows() && rows.is_some_and(|rows| rows <= effort.rows());
        let mut sample = self.sample(if is_small {
            1
        } else {
            (rows.unwrap_or(span).min(effort.rows()) as usize / KEPT_VALUES).max(1)
        });
        if is_small {
            // In stretches all the same: they tell how values that come again are spread.
            self.read_stretch(first, u64::MAX, usize::MAX, 0, &mut sample)?;
        } else {
            let stride = span / count;
            for stretch in 0..count {
                let is_last = stretch + 1 == count;
                let from =
                    if is_last { last.saturating_sub(length as u64) + 1 } else { first + stretch * stride };
                let end = from.saturating_add(stride.min(SPARSE * length as u64));
                self.read_stretch(from, end, length, stretch as u32, &mut sample)?;
            }
        }
        let density = sample.rows as f64 / sample.passed.max(1) as f64;
        let rows = match (is_small, rows) {
            (true, _) => sample.rows,
            (false, Some(rows)) => rows.max(sample.rows),
            (false, None) => ((density * span as f64) as u64).max(sample.rows),
        };
        let mut found = sample.finish(rows, is_small);
        if effort == Effort::Whole && !is_small {
            self.look_at_all(&mut found)?;
        }
        Ok(found)
    }

    /// The first and the last row number that may be in use.
    fn extent(&self) -> Result<Option<(u64, u64)>> {
        let relation = self.layout.id;
        let mut extent: Option<(u64, u64)> = None;
        for space in [Space::Blocks(relation), Space::Versions(relation), Space::Changes(relation)] {
            let Some(bounds) = self.snapshot.bounds(space)? else { continue };
            let row = |key: &[u8]| key.get(..8).and_then(keyspace::number).unwrap_or(0);
            let mut last = row(&bounds.last);
            if let Space::Blocks(_) = space
                && let Some(entry) = self.snapshot.scan(space, ALL_KEYS, Direction::Backward)?.next()
            {
                let (key, value) = entry?;
                last = Block::open(&key, value)?.last;
            }
            let (first, so_far) = extent.unwrap_or((u64::MAX, 0));
            extent = Some((first.min(row(&bounds.first)), so_far.max(last)));
        }
        Ok(extent.filter(|(first, last)| first <= last))
    }

    fn nothing(&self) -> RelationStatistics {
        self.sample(1).finish(0, true)
    }

    fn sample(&self, every: usize) -> Sample {
        let columns = self.layout.current_format().map(|format| format.columns()).unwrap_or_default();
        Sample {
            columns: columns.iter().map(|sql_type| ColumnSample::new(*sql_type, every)).collect(),
            indexes: self
                .layout
                .indexes
                .iter()
                .filter(|index| index.active)
                .map(|index| IndexSample::new(index.clone()))
                .collect(),
            rows: 0,
            passed: 0,
            block_bytes: 0,
            block_rows: 0,
            blocks: 0,
            last_block: None,
        }
    }

    /// Hands the rows from a number on, up to a number or so many of them, to `sink`; gives the number behind them.
    fn read(
        &self,
        from: u64,
        end: u64,
        rows_max: usize,
        mut sink: impl FnMut(&mut ColumnBatch, Option<&Block>) -> Result<()>,
    ) -> Result<u64> {
        let relation: RelationId = self.layout.id;
        let mut rows =
            MergedRows::committed(self.inner, self.cancel, &*self.snapshot, relation, self.until, from)?;
        let (columns, latest) = (Projection::all(), latest_layout(self.inner, self.layout));
        let mut batch = ColumnBatch::new();
        let (mut next, mut left) = (from, rows_max);
        while left > 0 && next < end {
            batch.start(self.layout, latest.clone(), &columns);
            next = fill_columns(
                &mut rows,
                &self.snapshot,
                next,
                left.min(ROWS_AT_ONCE),
                &mut batch,
                &mut |_| false,
            )?;
            if batch.is_empty() {
                return Ok(next);
            }
            left -= batch.len();
            sink(&mut batch, rows.block().map(|block| &**block))?;
        }
        Ok(next)
    }

    fn read_stretch(
        &self,
        from: u64,
        end: u64,
        rows_max: usize,
        stretch: u32,
        sample: &mut Sample,
    ) -> Result<()> {
        let mut computed = 0;
        let next = self.read(from, end, rows_max, |batch, block| {
            if let Some(block) = block.filter(|block| sample.last_block != Some(block.first)) {
                sample.last_block = Some(block.first);
                sample.block_bytes += block.packed_bytes() as u64;
                sample.block_rows += block.rows as u64;
                sample.blocks += 1;
            }
            // A relation that is looked at whole is one stretch for who reads, and many for who counts.
            let stretch =
                if rows_max == usize::MAX { (sample.rows / ROWS_AT_ONCE as u64) as u32 } else { stretch };
            let computed_now = batch.len().min(COMPUTED_ROWS.saturating_sub(computed));
            computed += computed_now;
            sample.add(batch, stretch, if rows_max == usize::MAX { batch.len() } else { computed_now })
        })?;
        sample.passed += next.min(end.max(from + 1)).saturating_sub(from);
        Ok(())
    }

    /// Replaces what can be known exactly by what all rows tell.
    fn look_at_all(&self, found: &mut RelationStatistics) -> Result<()> {
        let types = self.layout.current_format().map(|format| format.columns()).unwrap_or_default();
        let mut columns: Vec<WholeColumn> = Vec::new();
        columns.resize_with(types.len(), WholeColumn::default);
        let indexes: Vec<&IndexDefinition> =
            self.layout.indexes.iter().filter(|index| index.active).collect();
        let mut sketches: Vec<Vec<Sketch>> =
            indexes.iter().map(|index| vec![Sketch::default(); index.parts.len()]).collect();
        let mut rows = 0;
        let mut of_columns: Vec<Vec<u64>> = vec![Vec::new(); types.len()];
        self.read(0, u64::MAX, usize::MAX, |batch, _| {
            batch.load(0..batch.width())?;
            for (slot, sql_type) in types.iter().enumerate() {
                let (Some(vector), Some(out)) = (batch.column(slot), of_columns.get_mut(slot)) else {
                    continue;
                };
                hashes(vector, collation_of(sql_type), out);
                if let Some(column) = columns.get_mut(slot) {
                    column.add(vector, out);
                }
            }
            for (index, sketches) in indexes.iter().zip(&mut sketches) {
                let mut prefix = Vec::new();
                for (part, sketch) in
                    prefix_hashes(index, &of_columns, batch.len(), &mut prefix).zip(sketches)
                {
                    part.iter().for_each(|hash| sketch.add(*hash));
                }
            }
            rows += batch.len() as u64;
            Ok(())
        })?;
        found.rows = rows;
        found.is_exact = true;
        for (column, whole) in found.columns.iter_mut().zip(&columns) {
            column.distinct = whole.sketch.estimate().min(rows as f64);
            column.null_fraction = whole.nulls as f64 / rows.max(1) as f64;
        }
        for (index, sketches) in indexes.iter().zip(&sketches) {
            if column_slots(index).is_none() {
                continue;
            }
            if let Some(known) = found.indexes.iter_mut().find(|known| known.id == index.id) {
                known.entries = rows;
                known.distinct = sketches.iter().map(|sketch| sketch.estimate().min(rows as f64)).collect();
            }
        }
        Ok(())
    }
}

/// The hashes of keys of the first part of an index, of the first two, and so on; nothing for keys that are not columns.
fn prefix_hashes<'h>(
    index: &IndexDefinition,
    columns: &[Vec<u64>],
    rows: usize,
    room: &'h mut Vec<Vec<u64>>,
) -> impl Iterator<Item = &'h Vec<u64>> {
    if let Some(slots) = column_slots(index) {
        let mut hash = vec![0; rows];
        for slot in slots {
            let none = Vec::new();
            let column = columns.get(usize::from(slot)).unwrap_or(&none);
            for (hash, next) in hash.iter_mut().zip(column) {
                *hash = join(*hash, *next);
            }
            room.push(hash.clone());
        }
    }
    room.iter()
}

impl Sample {
    /// Adds rows of a stretch; for as many of them as are said indexes on expressions are computed.
    fn add(&mut self, batch: &mut ColumnBatch, stretch: u32, computed: usize) -> Result<()> {
        batch.load(0..batch.width())?;
        let mut of_columns: Vec<Vec<u64>> = vec![Vec::new(); self.columns.len()];
        for (slot, (column, hashes)) in self.columns.iter_mut().zip(&mut of_columns).enumerate() {
            let none = ColumnVector::default();
            column.add(batch.column(slot).unwrap_or(&none), stretch, hashes);
        }
        let places: Vec<u32> = (0..computed as u32).collect();
        let mut rows = Vec::new();
        if self.indexes.iter().any(|index| !index.is_plain) {
            batch.read_rows(&places, &mut rows)?;
        }
        for index in &mut self.indexes {
            match index.is_plain {
                true => index.add(&of_columns, batch.len(), stretch),
                false => rows.chunks(batch.width().max(1)).for_each(|row| index.add_computed(row, stretch)),
            }
        }
        self.rows += batch.len() as u64;
        Ok(())
    }

    fn finish(self, rows: u64, is_whole: bool) -> RelationStatistics {
        let share = if is_whole || rows == 0 { 1.0 } else { self.rows as f64 / rows as f64 };
        let indexes =
            self.indexes.iter().filter_map(|index| index.finish(share, rows, &self.columns)).collect();
        let columns: Vec<ColumnStatistics> =
            self.columns.into_iter().map(|column| column.finish(share)).collect();
        let row_bytes = columns.iter().map(|column| column.bytes * (1.0 - column.null_fraction)).sum();
        let per_row = match self.block_rows {
            0 => row_bytes + VERSION_BYTES,
            block_rows => self.block_bytes as f64 / block_rows as f64,
        };
        let per_block =
            if self.blocks == 0 { f64::INFINITY } else { self.block_rows as f64 / self.blocks as f64 };
        RelationStatistics {
            version: 0,
            rows,
            bytes: (per_row * rows as f64) as u64,
            blocks: (rows as f64 / per_block).ceil() as u64,
            row_bytes,
            columns,
            indexes,
            is_exact: is_whole,
        }
    }
}

/// What a version takes beside its row.
const VERSION_BYTES: f64 = 28.0;

/// An index of a sample.
#[derive(Debug)]
struct IndexSample {
    index: IndexDefinition,
    /// Whether its keys are made of columns alone.
    is_plain: bool,
    /// By number of leading parts; of a plain index the first part's are the column's.
    distinct: Vec<DistinctSample>,
    /// Rows looked at, and those that stand in it.
    rows: u64,
    entries: u64,
}

impl IndexSample {
    fn new(index: IndexDefinition) -> IndexSample {
        let is_plain = column_slots(&index).is_some();
        let mut distinct = Vec::new();
        distinct.resize_with(index.parts.len(), DistinctSample::default);
        IndexSample { index, is_plain, distinct, rows: 0, entries: 0 }
    }

    fn add(&mut self, columns: &[Vec<u64>], rows: usize, stretch: u32) {
        self.rows += rows as u64;
        self.entries += rows as u64;
        if self.index.parts.len() < 2 {
            return;
        }
        let mut room = Vec::new();
        let prefixes = prefix_hashes(&self.index, columns, rows, &mut room);
        for (distinct, hashes) in self.distinct.iter_mut().zip(prefixes).skip(1) {
            for hash in hashes {
                distinct.add(*hash, stretch);
            }
        }
    }

    fn add_computed(&mut self, row: &[farbird_types::Value], stretch: u32) {
        self.rows += 1;
        // What cannot be computed is in no index.
        let Ok(Some(values)) = self.index.key_values(row) else { return };
        self.entries += 1;
        let mut hash = 0;
        for ((value, part), distinct) in values.iter().zip(&self.index.parts).zip(&mut self.distinct) {
            hash = join(hash, hash_of(value, part.collation));
            distinct.add(hash, stretch);
        }
    }

    fn finish(&self, share: f64, rows: u64, columns: &[ColumnSample]) -> Option<IndexStatistics> {
        let entries = rows as f64 * self.entries as f64 / self.rows.max(1) as f64;
        // Of an index on expressions fewer rows than the sample has may have been looked at.
        let share = if self.is_plain || share >= 1.0 { share } else { self.rows as f64 / rows.max(1) as f64 };
        let first = column_slots(&self.index).and_then(|mut slots| slots.next());
        let distinct = self.distinct.iter().enumerate().map(|(part, distinct)| match (part, first) {
            (0, Some(slot)) => {
                columns.get(usize::from(slot)).map_or(0.0, |column| column.distinct_with_null(share))
            }
            _ => distinct.estimate(share),
        });
        let distinct = distinct.map(|distinct| distinct.min(entries)).collect();
        Some(IndexStatistics { id: self.index.id, entries: entries as u64, distinct })
    }
}
