//! The rows that entries of an index lead to: what scans of an index and look-ups by whole keys have in common.
//!
//! # Promises
//! - An entry leads to a row only if the view sees the row under the entry's own key: it may be of another version of the row, or of one
//!   that nobody sees.

use farbird_types::Value;

use crate::committed::RowFinder;
use crate::decoder::RowDecoder;
use crate::keyed_projection::KeyedProjection;
use crate::keyspace;
use crate::layout::IndexDefinition;
use crate::transaction::{Core, read_visible};
use crate::{ReadView, RelationId, Result, RowId, StoreError, Transaction};

/// Reads the rows of entries of one index, one after the other, as a view sees them.
pub(crate) struct EntryRows<'a> {
    pub(crate) transaction: &'a Transaction,
    pub(crate) core: &'a Core,
    pub(crate) relation: RelationId,
    pub(crate) index: &'a IndexDefinition,
    pub(crate) columns: &'a KeyedProjection,
    pub(crate) view: &'a ReadView,
    pub(crate) finder: RowFinder<'a>,
    /// For the columns that [`KeyedProjection`] decodes.
    pub(crate) decoder: RowDecoder<'a>,
    /// The key that all entries are of, if it is a whole one.
    pub(crate) wanted: Option<&'a [Value]>,
    /// Room for a row's key.
    pub(crate) own_key: &'a mut Vec<u8>,
}

impl EntryRows<'_> {
    /// Appends the values of the row that an entry leads to; `None`, and nothing is appended, if it leads to none.
    ///
    /// # Errors
    /// `Cancelled`, `InLimbo`, and those of reading.
    pub(crate) fn take(&mut self, entry: &[u8], values: &mut Vec<Value>) -> Result<Option<RowId>> {
        // There may be any number of entries of rows that nobody sees any more.
        self.transaction.cancel_flag().check()?;
        let (key, row) = keyspace::parse_entry(entry).ok_or_else(|| StoreError::corrupt("an index entry"))?;
        let start = values.len();
        let found =
            read_visible(self.core, &mut self.finder, &self.decoder, self.relation, self.view, row, values)
                .and_then(|seen| {
                    let is_wanted = |wanted| self.columns.take_wanted(wanted, values, start);
                    Ok(seen
                        && (self.wanted.is_some_and(is_wanted)
                            || self.columns.take_keyed(self.index, key, values, start, self.own_key)?))
                });
        if !matches!(found, Ok(true)) {
            values.truncate(start);
        }
        Ok(found?.then_some(row))
    }
}
