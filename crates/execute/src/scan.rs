//! Reading tables by index and by row number, counting and locking their rows. `column_scan` reads them in row order.

use std::collections::VecDeque;
use std::sync::Arc;

use farbird_budget::{Reservation, heap_bytes};
use farbird_expression::{ExecutionContext, row_of_db_key};
use farbird_plan::{Access, Count, Lock, TableScan};
use farbird_store::{IndexScan, RecordCounter, RowBatch, RowId, ScanDirection, StoreError};
use farbird_types::{Result, Value};

use crate::batch::{Batch, row_number};
use crate::bounds::{equal_values, key_range};
use crate::operator::{Build, Operator};
use crate::row_by_key::{RowByKey, UNCHARGED_BYTES};
use crate::row_id_set::RowIdSet;

/// Reads a table by index or by row number.
pub(crate) struct TableScanOperator {
    scan: Arc<TableScan>,
    /// If it finds one row at most.
    by_key: Option<RowByKey>,
    state: State,
    rows: RowBatch,
    /// The scan of the only range, at its end: the next opening goes on with it.
    ended: Option<IndexScan>,
    is_one_range: bool,
    /// Room for values of keys.
    key: Vec<Value>,
    /// What the rows at hand are charged to, since they were many or long.
    memory: Option<Reservation>,
}

enum State {
    /// Not open.
    Closed,
    /// Rows by number.
    Rows(VecDeque<RowId>),
    /// Ranges of indexes, one after the other.
    Ranges {
        scans: VecDeque<IndexScan>,
        /// Rows already handed out, where ranges may overlap.
        seen: Option<RowIdSet>,
    },
}

impl TableScanOperator {
    pub(crate) fn new(scan: &Arc<TableScan>) -> TableScanOperator {
        let is_one_range = matches!(&scan.access, Access::Index { ranges, .. } if ranges.len() == 1);
        TableScanOperator {
            by_key: RowByKey::of(scan),
            scan: scan.clone(),
            state: State::Closed,
            rows: RowBatch::new(),
            ended: None,
            is_one_range,
            key: Vec::new(),
            memory: None,
        }
    }

    /// Charges what the rows at hand take.
    ///
    /// # Errors
    /// `virmemexh` past the statement's budget.
    fn charge(memory: &mut Option<Reservation>, bytes: usize, context: &ExecutionContext<'_>) -> Result<()> {
        match memory {
            Some(memory) => memory.resize(bytes),
            None if bytes <= UNCHARGED_BYTES => Ok(()),
            None => memory.insert(context.budget.reserve()).resize(bytes),
        }
    }

    fn index_state(&mut self, context: &mut ExecutionContext<'_>) -> Result<State> {
        let Access::Index { ranges, ordered } = &self.scan.access else { return Ok(State::Closed) };
        let mut scans = match std::mem::replace(&mut self.state, State::Closed) {
            State::Ranges { mut scans, .. } if self.is_one_range => {
                self.ended = scans.pop_front().or(self.ended.take());
                scans
            }
            _ => VecDeque::with_capacity(ranges.len()),
        };
        for range in ranges {
            if range.bound_type.is_none() && self.ended.is_some() {
                if equal_values(range, &mut self.key, context)?
                    && let Some(mut scan) = self.ended.take()
                {
                    scan.begin_again_at(&self.key, &context.view)?;
                    scans.push_back(scan);
                }
                continue;
            }
            let Some(keys) = key_range(range, context)? else { continue };
            if let Some(mut scan) = self.ended.take() {
                scan.begin_again(&keys, &context.view)?;
                scans.push_back(scan);
                continue;
            }
            scans.push_back(IndexScan::new(
                self.scan.layout.clone(),
                range.index,
                keys,
                ordered.unwrap_or(ScanDirection::Ascending),
                context.view.clone(),
                self.scan.columns.clone(),
            )?);
        }
        let seen = (scans.len() > 1).then(|| RowIdSet::new(context.budget.reserve()));
        Ok(State::Ranges { scans, seen })
    }

    /// Hands on the rows that the store gave; says what their values take.
    fn hand_on(
        rows: &RowBatch,
        scan: &TableScan,
        seen: &mut Option<RowIdSet>,
        batch: &mut Batch,
    ) -> Result<usize> {
        let mut bytes = 0;
        for index in 0..rows.len() {
            let row = rows.row_id(index);
            if let Some(seen) = seen
                && !seen.insert(row)?
            {
                continue;
            }
            let values = (0..scan.width).map(|column| rows.value(index, column));
            let number = scan.row_number.then(|| row_number(row));
            batch.push(values.inspect(|value| bytes += size_of::<Value>() + heap_bytes(value)).chain(number));
        }
        Ok(bytes)
    }
}

/// The row that a value numbers.
pub(crate) fn row_id(value: &Value) -> Option<RowId> {
    match value {
        Value::Integer { unscaled, .. } => u64::try_from(*unscaled).ok().map(RowId),
        _ => None,
    }
}

impl Operator for TableScanOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        if let Some(by_key) = &mut self.by_key {
            return by_key.open(context);
        }
        self.memory = None;
        self.state = match &self.scan.access {
            Access::Natural | Access::Rows(_) => State::Closed,
            Access::RowKeys(keys) => {
                let mut rows = VecDeque::new();
                for key in keys {
                    if let Value::Text(key) = key.evaluate(&[], context)?
                        && let Some(row) = row_of_db_key(self.scan.relation.id.0, key.bytes())
                        && !rows.contains(&RowId(row))
                    {
                        rows.push_back(RowId(row));
                    }
                }
                State::Rows(rows)
            }
            Access::RowNumber(number) => {
                State::Rows(row_id(&number.evaluate(&[], context)?).into_iter().collect())
            }
            Access::Index { .. } => self.index_state(context)?,
        };
        Ok(())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        context.check_interrupt()?;
        batch.reset(self.scan.width + usize::from(self.scan.row_number));
        if let Some(by_key) = &mut self.by_key {
            return batch.push_made(|values| by_key.take(context, values));
        }
        let store = &context.transaction.store;
        match &mut self.state {
            State::Closed => {}
            State::Rows(rows) => {
                while let Some(row) = rows.pop_front() {
                    let found = store
                        .read_row(&self.scan.layout, &context.view, row, &self.scan.columns)
                        .map_err(|error| context.transaction.status_of(error))?;
                    if let Some(values) = found {
                        if matches!(self.scan.access, Access::RowKeys(_)) {
                            store.tally().add(self.scan.layout.id, RecordCounter::IdxReads, 1);
                        }
                        batch.push(values.into_iter().chain(self.scan.row_number.then(|| row_number(row))));
                        break;
                    }
                }
            }
            State::Ranges { scans, seen } => {
                while batch.is_empty()
                    && let Some(scan) = scans.front_mut()
                {
                    let more = scan
                        .next_batch(store, batch.limit(), &mut self.rows)
                        .map_err(|error| context.transaction.status_of(error))?;
                    if more {
                        let bytes = Self::hand_on(&self.rows, &self.scan, seen, batch)?;
                        Self::charge(&mut self.memory, bytes, context)?;
                    }
                    if !more || scan.is_finished() {
                        let ended = scans.pop_front();
                        self.ended = ended.filter(|_| self.is_one_range);
                    }
                }
            }
        }
        Ok(!batch.is_empty())
    }
}

/// Counts a table's rows.
pub(crate) struct CountOperator {
    count: Arc<Count>,
    done: bool,
}

impl CountOperator {
    pub(crate) fn new(count: &Arc<Count>) -> CountOperator {
        CountOperator { count: count.clone(), done: true }
    }
}

impl Operator for CountOperator {
    fn open(&mut self, _context: &mut ExecutionContext<'_>) -> Result<()> {
        self.done = false;
        Ok(())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(1);
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        context.check_interrupt()?;
        let rows = context
            .transaction
            .store
            .count_rows(&self.count.layout, &context.view)
            .map_err(|error| context.transaction.status_of(error))?;
        batch.push([Value::integer(i64::try_from(rows).unwrap_or(i64::MAX))]);
        Ok(true)
    }
}

/// WITH LOCK: locks the rows it hands on.
pub(crate) struct LockOperator {
    lock: Arc<Lock>,
    input: Box<dyn Operator>,
}

impl LockOperator {
    pub(crate) fn new(lock: &Arc<Lock>, build: Build) -> LockOperator {
        LockOperator { lock: lock.clone(), input: build(&lock.input) }
    }
}

impl Operator for LockOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.input.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        // A row at a time: nobody shall wait for rows that the client may never fetch.
        let limit = batch.limit();
        batch.set_limit(1);
        let result = self.next_locked(context, batch);
        batch.set_limit(limit);
        result
    }
}

impl LockOperator {
    fn next_locked(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        while self.input.next(context, batch)? {
            let Some(row) = batch.row(0).get(self.lock.row_number).and_then(row_id) else { return Ok(true) };
            let (store, layout, view) = (&context.transaction.store, &self.lock.layout, &context.view);
            // Nobody waits for a row that is to be skipped.
            let locked = match self.lock.skip_locked {
                true => store.try_lock_row(layout, view, row),
                false => store.lock_row(layout, view, row),
            };
            match locked {
                Ok(()) => return Ok(true),
                Err(StoreError::LockConflict { .. }) if self.lock.skip_locked => {}
                Err(error) => {
                    if matches!(error, StoreError::StatementRestart { .. }) {
                        context.want_restart();
                    }
                    batch.truncate(0);
                    return Err(context.transaction.status_of(error));
                }
            }
        }
        Ok(false)
    }
}
