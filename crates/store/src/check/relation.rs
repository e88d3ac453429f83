//! The rows of a relation: every stored version of them, and those that are seen.

use std::sync::Arc;

use farbird_record::ColumnSet;
use farbird_record::value_codec::decode_row;
use farbird_types::Value;

use super::entries::Unmatched;
use super::walk::Walk;
use super::{Check, Location};
use crate::block::{Block, Stamp};
use crate::changes;
use crate::decoder::RowDecoder;
use crate::substrate::{Slice, Space};
use crate::version::{StoredVersion, VersionContent};
use crate::{
    Projection, RelationLayout, RelationScan, Result, RowBatch, RowId, StoreError, TransactionId, keyspace,
};

/// Rows read at a time.
const ROWS_PER_BATCH: usize = 1_000;

/// A row as it is, or was, stored.
struct Image {
    row: RowId,
    format: u16,
    values: Vec<Value>,
    standing: Standing,
}

/// What became of the transaction that wrote an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It wrote the image with its commit.
    Committed,
    /// It wrote the image ahead of its commit: it may have replaced it since, and its BLOBs with it.
    Ahead,
    /// It never committed: the image is left to the sweep, and what it refers to may be gone.
    Left,
}

impl Check<'_> {
    pub(super) fn check_relation(&mut self, layout: &Arc<RelationLayout>) -> Result<()> {
        self.at.relation = Some(layout.id);
        self.report.relations += 1;
        let mut nothing = Unmatched::default();
        self.check_blocks(layout, &mut nothing)?;
        self.check_versions(layout, &mut nothing)?;
        self.check_changes(layout, &mut nothing)?;
        self.check_seen_rows(layout)?;
        self.check_indexes(layout)
    }

    /// Takes the entries out of `unmatched` that stored versions of rows have; what is damaged has been told.
    pub(super) fn explain(&mut self, layout: &Arc<RelationLayout>, unmatched: &mut Unmatched) -> Result<()> {
        let (report, references) = (self.report.clone(), std::mem::take(&mut self.references));
        let explained = self
            .check_blocks(layout, unmatched)
            .and_then(|()| self.check_versions(layout, unmatched))
            .and_then(|()| self.check_changes(layout, unmatched));
        (self.report, self.references) = (report, references);
        explained
    }

    fn check_blocks(&mut self, layout: &Arc<RelationLayout>, unmatched: &mut Unmatched) -> Result<()> {
        let mut walk = Walk::new(&self.snapshot, Space::Blocks(layout.id));
        let mut last = None;
        while let Some(entry) = walk.next() {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(gap) => {
                    self.report.add(Location::Relation(layout.id), format!("row blocks: {gap}"));
                    continue;
                }
            };
            self.report.blocks += 1;
            match self.check_block(layout, &key, value, last, unmatched) {
                Ok(block_last) => {
                    self.advance(block_last.saturating_sub(last.unwrap_or(0)))?;
                    last = Some(block_last);
                }
                Err(error @ StoreError::Cancelled) => return Err(error),
                Err(error) => self.report.add(Location::Relation(layout.id), error.to_string()),
            }
        }
        Ok(())
    }

    /// Gives the number of the block's last row.
    fn check_block(
        &mut self,
        layout: &Arc<RelationLayout>,
        key: &[u8],
        value: Slice,
        previous_last: Option<u64>,
        unmatched: &mut Unmatched,
    ) -> Result<u64> {
        let block = Block::open(key, value)?;
        let place = Location::Row(layout.id, RowId(block.first));
        if previous_last.is_some_and(|last| last >= block.first) {
            self.report.add(place, "the row block that begins here overlaps the one before it");
        }
        if matches!(block.stamp, Stamp::Commit(commit) if commit > self.last_commit()) {
            self.report.add(place, "the row block that begins here is of a commit that never was");
        }
        let projection = Projection::all();
        let decoder = RowDecoder::new(self.inner, layout, &projection);
        let format = decoder.format(block.format)?;
        let width = format.len();
        let mut values = Vec::with_capacity(block.rows * width);
        let reader = block.reader(format)?;
        reader
            .decode_rows(0..block.rows, &ColumnSet::All, &mut values)
            .map_err(|error| block.damaged(&error))?;
        if values.len() != block.rows * width {
            return Err(StoreError::corrupt(format!("row block at row {}: number of rows", block.first)));
        }
        let standing = match block.stamp {
            Stamp::Commit(_) => Standing::Committed,
            Stamp::Transaction(spiller) => self.standing_of(spiller, None),
        };
        let mut all_values = values.into_iter();
        for row in block.row_ids_from(0) {
            let values: Vec<Value> = all_values.by_ref().take(width).collect();
            let image = Image { row: RowId(row), format: block.format, values, standing };
            self.note_image(layout, &decoder, image, unmatched)?;
        }
        Ok(block.last)
    }

    fn check_versions(&mut self, layout: &Arc<RelationLayout>, unmatched: &mut Unmatched) -> Result<()> {
        let mut walk = Walk::new(&self.snapshot, Space::Versions(layout.id));
        while let Some(entry) = walk.next() {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(gap) => {
                    self.report.add(Location::Relation(layout.id), format!("versions: {gap}"));
                    continue;
                }
            };
            self.report.versions += 1;
            self.advance(1)?;
            let Some((row, commit)) = keyspace::parse_version(&key) else {
                self.report.add(Location::Relation(layout.id), "key of a version");
                continue;
            };
            if commit > self.last_commit() {
                self.report.add(Location::Row(layout.id, row), "a version of a commit that never was");
            }
            self.check_version(layout, row, &value, Standing::Committed, unmatched)?;
        }
        Ok(())
    }

    /// Changes that large transactions have spilled.
    fn check_changes(&mut self, layout: &Arc<RelationLayout>, unmatched: &mut Unmatched) -> Result<()> {
        let mut walk = Walk::new(&self.snapshot, Space::Changes(layout.id));
        while let Some(entry) = walk.next() {
            let parsed = match &entry {
                Ok((key, value)) => changes::parse(key).map(|parsed| (parsed, value)),
                Err(gap) => Err(StoreError::corrupt(gap.to_string())),
            };
            match parsed {
                Ok(((row, spiller, change), value)) => {
                    let standing = self.standing_of(spiller, Some(change));
                    self.check_version(layout, row, value, standing, unmatched)?;
                }
                Err(error) => {
                    self.report.add(Location::Relation(layout.id), format!("spilled changes: {error}"))
                }
            }
            self.report.versions += 1;
        }
        Ok(())
    }

    fn standing_of(&self, spiller: TransactionId, change: Option<u64>) -> Standing {
        match self.inner.spilled.find(spiller) {
            Some(spilled) if change.is_some_and(|change| spilled.is_undone(change)) => Standing::Left,
            Some(spilled) if spilled.commit.is_some() => Standing::Ahead,
            _ => Standing::Left,
        }
    }

    fn check_version(
        &mut self,
        layout: &Arc<RelationLayout>,
        row: RowId,
        value: &[u8],
        standing: Standing,
        unmatched: &mut Unmatched,
    ) -> Result<()> {
        let projection = Projection::all();
        let decoder = RowDecoder::new(self.inner, layout, &projection);
        let checked = StoredVersion::decode(value, row).and_then(|version| match version.content {
            VersionContent::Deleted => Ok(()),
            VersionContent::Row { format, bytes } => {
                let mut values = Vec::new();
                decode_row(decoder.format(format)?, bytes, &ColumnSet::All, &mut values)
                    .map_err(|error| crate::decoder::damaged_row(row, &error))?;
                self.note_image(layout, &decoder, Image { row, format, values, standing }, unmatched)
            }
        });
        match checked {
            Err(error @ StoreError::Cancelled) => Err(error),
            Err(error) => {
                self.report.add(Location::Row(layout.id, row), error.to_string());
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Notes what a stored image of a row refers to.
    fn note_image(
        &mut self,
        layout: &Arc<RelationLayout>,
        decoder: &RowDecoder<'_>,
        mut image: Image,
        unmatched: &mut Unmatched,
    ) -> Result<()> {
        if image.standing == Standing::Left {
            return Ok(());
        }
        let is_optional = image.standing == Standing::Ahead;
        self.references.add(layout.id, image.row, &image.values, is_optional);
        decoder.adapt(image.format, 0, &mut image.values)?;
        unmatched.explain(layout, image.row, &image.values);
        Ok(())
    }

    /// The rows that a transaction sees.
    fn check_seen_rows(&mut self, layout: &Arc<RelationLayout>) -> Result<()> {
        let mut scan = RelationScan::new(Arc::clone(layout), self.view.clone(), Projection::all());
        let mut batch = RowBatch::new();
        let mut rows = 0;
        loop {
            match scan.next_batch(self.transaction, ROWS_PER_BATCH, &mut batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error @ StoreError::Cancelled) => return Err(error),
                Err(error) => {
                    let what = format!("a scan ends after {rows} rows: {error}");
                    self.report.add(Location::Relation(layout.id), what);
                    return Ok(());
                }
            }
            for position in 0..batch.len() {
                let row = batch.row_id(position);
                let values = batch.take_row(position);
                self.references.add(layout.id, row, &values, false);
            }
            rows += batch.len() as u64;
            self.advance(batch.len() as u64)?;
        }
        self.report.rows += rows;
        match self.transaction.count_rows(layout, &self.view) {
            Ok(counted) if counted == rows => {}
            Ok(counted) => {
                let what = format!("{counted} rows are counted, {rows} are there");
                self.report.add(Location::Relation(layout.id), what);
            }
            Err(error) => self.report.add(Location::Relation(layout.id), error.to_string()),
        }
        Ok(())
    }
}
