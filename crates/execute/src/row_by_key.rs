//! The row of a table that a whole key of a unique index finds.

use std::sync::Arc;

use farbird_budget::{Reservation, heap_bytes};
use farbird_expression::ExecutionContext;
use farbird_plan::{Access, IndexRange, TableScan};
use farbird_store::KeyLookup;
use farbird_types::{Result, Value};

use crate::batch::row_number;
use crate::bounds::equal_values;

/// Rows at hand that take no more than so many bytes count as part of their operator: looking up a row charges nothing.
pub(crate) const UNCHARGED_BYTES: usize = 64 << 10;

/// Looks up rows of a table, one by one, as the table's scan says.
pub(crate) struct RowByKey {
    scan: Arc<TableScan>,
    lookup: KeyLookup,
    key: Vec<Value>,
    /// Whether a row with the key is to be looked for.
    is_open: bool,
    /// What the latest row is charged to, since it was long.
    memory: Option<Reservation>,
}

impl RowByKey {
    /// For a scan that finds one row at most, by a key without NULLs.
    pub(crate) fn of(scan: &Arc<TableScan>) -> Option<RowByKey> {
        let range = range_of(scan)?;
        let lookup = KeyLookup::new(Arc::clone(&scan.layout), range.index, scan.columns.clone()).ok()?;
        Some(RowByKey { scan: Arc::clone(scan), lookup, key: Vec::new(), is_open: false, memory: None })
    }

    /// Evaluates the key.
    ///
    /// # Errors
    /// Those of its parts.
    pub(crate) fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.memory = None;
        self.is_open = false;
        if let Some(range) = range_of(&self.scan) {
            self.is_open = equal_values(range, &mut self.key, context)?;
        }
        Ok(())
    }

    /// Appends the row's values, followed by its number if the scan has that; false if there is no row, or it was given already.
    ///
    /// # Errors
    /// Those of the store; `virmemexh` past the statement's budget.
    pub(crate) fn take(
        &mut self,
        context: &mut ExecutionContext<'_>,
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(false);
        }
        let start = values.len();
        let found = self
            .lookup
            .find(&context.transaction.store, &context.view, &self.key, values)
            .map_err(|error| context.transaction.status_of(error))?;
        let Some(row) = found else { return Ok(false) };
        let texts: usize = values.get(start..).unwrap_or_default().iter().map(heap_bytes).sum();
        if texts > UNCHARGED_BYTES {
            self.memory.insert(context.budget.reserve()).resize(texts)?;
        }
        if self.scan.row_number {
            values.push(row_number(row));
        }
        Ok(true)
    }
}

/// The range of a scan that is one whole key of a unique index, in which no NULL finds a row.
fn range_of(scan: &TableScan) -> Option<&IndexRange> {
    let Access::Index { ranges, .. } = &scan.access else { return None };
    let [range] = ranges.as_slice() else { return None };
    let is_whole = range.unique && range.bound_type.is_none() && !range.equal.is_empty();
    (is_whole && !range.equal.iter().any(|part| part.null_matches)).then_some(range)
}
