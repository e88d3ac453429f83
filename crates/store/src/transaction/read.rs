//! Reading single rows.

use farbird_types::Value;

use super::{Core, Transaction};
use crate::committed::{RowFinder, find_row};
use crate::decoder::RowDecoder;
use crate::merge::{MergedRow, MergedRows};
use crate::tally::RecordCounter;
use crate::write_set::OwnRow;
use crate::{Projection, ReadView, RelationId, RelationLayout, Result, RowId, TransactionId};

impl Transaction {
    /// Reads the visible version of one row, the projected columns in the projection's order.
    pub fn read_row(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row: RowId,
        columns: &Projection,
    ) -> Result<Option<Vec<Value>>> {
        let instance = self.instance(layout)?;
        let layout = instance.as_deref().unwrap_or(layout);
        self.lock_to_read(layout.id)?;
        let core = self.core()?;
        let snapshot = self.store.inner.snapshot();
        let decoder = RowDecoder::new(&self.store.inner, layout, columns);
        let mut values = Vec::with_capacity(decoder.width());
        let mut finder = RowFinder::new(&self.store.inner, &*snapshot, layout.id)?;
        let found = read_visible(&core, &mut finder, &decoder, layout.id, view, row, &mut values)?;
        Ok(found.then_some(values))
    }

    /// The transaction that wrote the visible version of a row; 0 if that was not kept, as in blocks of older files.
    pub fn writer_of_row(
        &self,
        relation: RelationId,
        view: &ReadView,
        row: RowId,
    ) -> Result<Option<TransactionId>> {
        let relation = self.instance_of(relation).unwrap_or(relation);
        self.lock_to_read(relation)?;
        let core = self.core()?;
        if let Some(own) = core.writes.relation(relation).and_then(|writes| writes.row(row, view.change())) {
            return Ok(matches!(own, OwnRow::Row { .. }).then_some(core.id));
        }
        let snapshot = self.store.inner.snapshot();
        let found = find_row(&self.store.inner, &*snapshot, relation, row, core.visibility(relation, view))?;
        Ok(found.filter(|found| !found.is_deleted()).map(|found| found.writer()))
    }

    /// How many rows the view sees. Of blocks that no newer version covers only the headers are read.
    pub fn count_rows(&self, layout: &RelationLayout, view: &ReadView) -> Result<u64> {
        let relation = layout.id;
        let instance = self.instance(layout)?;
        let layout = instance.as_deref().unwrap_or(layout);
        self.lock_to_read(layout.id)?;
        let mut core = self.core()?;
        let snapshot = self.store.inner.snapshot();
        let mut rows = MergedRows::new(self, &*snapshot, &core, layout.id, view, 0)?;
        let mut count = 0;
        while let Some(next) = rows.next()? {
            count += match next {
                MergedRow::Own(..) | MergedRow::Version(..) => 1,
                MergedRow::Block(places) => {
                    let passed = places.len() as u64;
                    rows.skip_in_block(places);
                    passed
                }
            };
        }
        drop(rows);
        core.pending.add(relation, RecordCounter::SeqReads, count);
        Ok(count)
    }
}

/// Appends the values of the visible version of a row; false if there is none.
pub(crate) fn read_visible(
    core: &Core,
    finder: &mut RowFinder<'_>,
    decoder: &RowDecoder<'_>,
    relation: RelationId,
    view: &ReadView,
    row: RowId,
    out: &mut Vec<Value>,
) -> Result<bool> {
    if let Some(own) = core.writes.relation(relation).and_then(|writes| writes.row(row, view.change())) {
        return match own {
            OwnRow::Deleted => Ok(false),
            OwnRow::Row { format, bytes } => decoder.decode(row, format, bytes, out).map(|()| true),
        };
    }
    match finder.find(row, core.visibility(relation, view))? {
        Some(found) if !found.is_deleted() => found.decode(row, decoder, out).map(|()| true),
        _ => Ok(false),
    }
}
