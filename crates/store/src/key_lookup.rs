//! Single rows by whole keys of a unique index, one after the other.
//!
//! What an [`crate::IndexScan`] of such a key does, by the same [`EntryRows`], with nothing made for it but the values of the row.

use std::cell::Cell;
use std::ops::Bound;
use std::sync::Arc;

use farbird_types::Value;

use crate::committed::RowFinder;
use crate::decoder::RowDecoder;
use crate::entry_rows::EntryRows;
use crate::keyed_projection::KeyedProjection;
use crate::keyspace;
use crate::substrate::{KeyRoom, KeySpan, Space};
use crate::tally::RecordCounter;
use crate::{IndexId, Projection, ReadView, RelationLayout, Result, RowId, StoreError, Transaction};

/// Looks rows up by whole keys of a unique index. A value: between two look-ups it holds nothing but room for the next one.
#[derive(Debug)]
pub struct KeyLookup {
    layout: Arc<RelationLayout>,
    /// Place of the index among the layout's.
    position: usize,
    columns: KeyedProjection,
    /// The key's first entry, and what comes behind its last one.
    start: Vec<u8>,
    end: Vec<u8>,
    /// Room for an entry, and for a row's key.
    entry: KeyRoom,
    own_key: Vec<u8>,
}

impl KeyLookup {
    /// For rows of a relation, with these columns.
    ///
    /// # Errors
    /// If the layout has no such index, or it is not unique.
    pub fn new(layout: Arc<RelationLayout>, index: IndexId, columns: Projection) -> Result<KeyLookup> {
        let found = layout.indexes.iter().enumerate().find(|(_, known)| known.id == index && known.unique);
        let missing = StoreError::BadLayout { relation: layout.id, what: "unique index of this number" };
        let (position, definition) = found.ok_or(missing)?;
        let columns = KeyedProjection::new(definition, columns);
        let [start, end, own_key] = Default::default();
        Ok(KeyLookup { layout, position, columns, start, end, entry: KeyRoom::default(), own_key })
    }

    /// Appends the values of the row that a view sees under a key; `None`, and nothing is appended, if there is none. The key has a
    /// value for each part of the index, in its type, and not all of them are NULL.
    ///
    /// # Errors
    /// `KeyTooLong`, `Cancelled`, `InLimbo`, and those of reading.
    pub fn find(
        &mut self,
        transaction: &Transaction,
        view: &ReadView,
        key: &[Value],
        values: &mut Vec<Value>,
    ) -> Result<Option<RowId>> {
        let instance = transaction.instance(&self.layout)?;
        let layout = instance.as_ref().unwrap_or(&self.layout);
        let Some(index) = layout.indexes.get(self.position) else { return Ok(None) };
        self.start.clear();
        index.encode_into(key.iter(), &mut self.start)?;
        let has_end = keyspace::after_prefix_into(&self.start, &mut self.end);
        let end = if has_end { Bound::Excluded(self.end.as_slice()) } else { Bound::Unbounded };
        let span: KeySpan<'_> = (Bound::Included(&self.start), end);
        let inner = &transaction.store().inner;
        transaction.lock_to_read(layout.id)?;
        let mut core = transaction.core()?;
        let snapshot = inner.snapshot();
        let mut rows = EntryRows {
            transaction,
            core: &core,
            relation: layout.id,
            index,
            columns: &self.columns,
            view,
            finder: RowFinder::new(inner, &*snapshot, layout.id)?,
            decoder: RowDecoder::new(inner, layout, &self.columns.decoded),
            wanted: Some(key),
            own_key: &mut self.own_key,
        };
        let found = Cell::new(None);
        let mut look = |entry: &[u8]| -> Result<bool> {
            found.set(rows.take(entry, values)?);
            Ok(found.get().is_none())
        };
        let space = Space::Index(index.id);
        snapshot.visit_keys(space, span, &mut self.entry, &mut look)?;
        if let (None, Some(own)) = (found.get(), core.writes.entries.get(&index.id)) {
            for (entry, _) in own.range(span) {
                if !look(entry)? {
                    break;
                }
            }
        }
        let found = found.get();
        core.pending.add(self.layout.id, RecordCounter::IdxReads, u64::from(found.is_some()));
        Ok(found)
    }
}
