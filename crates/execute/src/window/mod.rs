//! Window functions.
//!
//! A partition is read whole, in the window's order; each row's result is then computed from the rows of its frame. Rows and
//! results for which the statement has no memory stand in temporary files. What frames that move are followed with must
//! have room in memory.
//!
//! | file | subject |
//! |---|---|
//! | `partition` | the rows of a partition, and the functions that number or pick rows |
//! | `results` | what was computed for them |
//! | `frame` | which rows a frame has |
//! | `aggregate` | aggregates over frames, in no more than O(n log n) |

mod aggregate;
mod compute;
mod frame;
mod partition;
mod results;

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_plan::Window;
use farbird_types::{Error, Result, Value, isc};
use partition::Partition;
use results::{HandedOut, Results};

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::blob_keys::BlobKeys;
use crate::operator::{Build, Operator};
use crate::row_buffer::BufferedRows;
use crate::spill::{Sorted, Sorter};

/// Computes window functions. Rows come out in the window's order.
pub(crate) struct WindowOperator {
    window: Arc<Window>,
    input: Box<dyn Operator>,
    rows: Sorted,
    /// The first row of the next partition.
    head: Option<WindowRow>,
    /// The current partition, computed.
    finished: Finished,
    /// What the row behind those failed with.
    error: Option<Error>,
    filled: bool,
}

/// A row with its place in the order.
struct WindowRow {
    partition: Vec<u8>,
    order: Vec<u8>,
    values: Vec<Value>,
}

/// A partition with the results of each call, being handed out.
struct Finished {
    partition: BufferedRows,
    results: Vec<HandedOut>,
    /// So many rows that were computed are left.
    rows: usize,
}

impl Finished {
    fn nothing() -> Finished {
        Finished { partition: Vec::new().into(), results: Vec::new(), rows: 0 }
    }

    fn hand_out(&mut self, batch: &mut Batch) -> Result<()> {
        let missing = || Error::internal("a row without a window's result");
        while !batch.is_full() && self.rows > 0 {
            self.rows -= 1;
            let mut row = self.partition.next_row()?.ok_or_else(missing)?;
            for of_call in &mut self.results {
                row.push(of_call.next()?.ok_or_else(missing)?);
            }
            batch.push(row);
        }
        Ok(())
    }
}

impl WindowOperator {
    pub(crate) fn new(window: &Arc<Window>, build: Build) -> WindowOperator {
        WindowOperator {
            input: build(&window.input),
            rows: Sorted::empty(),
            head: None,
            finished: Finished::nothing(),
            error: None,
            filled: false,
            window: window.clone(),
        }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut sorter = Sorter::new(false, &context.budget);
        let mut batch = Batch::new(self.window.input.width(), BATCH_ROWS_MAX);
        let mut key = Vec::new();
        let mut blobs = BlobKeys::default();
        while self.input.next(context, &mut batch)? {
            for index in 0..batch.len() {
                context.check_interrupt()?;
                key.clear();
                blobs.append_sort_key(&self.window.partition, batch.row(index), &mut key, context)?;
                // The length of the partition's part stands last, where it does not disturb the order.
                let length = u32::try_from(key.len()).map_err(|_| Error::new(isc::IMP_EXC))?;
                blobs.append_sort_key(&self.window.order, batch.row(index), &mut key, context)?;
                key.extend(length.to_le_bytes());
                sorter.push(&key, batch.drain_row(index), &context.session.interrupt)?;
            }
        }
        self.rows = sorter.finish(&context.session.interrupt)?;
        self.head = self.read(context)?;
        self.filled = true;
        Ok(())
    }

    fn read(&mut self, context: &ExecutionContext<'_>) -> Result<Option<WindowRow>> {
        let Some((mut key, values)) = self.rows.next(&context.session.interrupt)? else { return Ok(None) };
        let tail = key.split_off(key.len().saturating_sub(4));
        let length = tail.try_into().map_or(0, u32::from_le_bytes);
        let order = key.split_off(key.len().min(length as usize));
        Ok(Some(WindowRow { partition: key, order, values }))
    }

    /// Reads the rows of the next partition; `None` at the end.
    fn read_partition(&mut self, context: &ExecutionContext<'_>) -> Result<Option<Partition>> {
        let Some(first) = self.head.take() else { return Ok(None) };
        let mut partition = Partition::new(&context.budget);
        let mut order = first.order;
        partition.push(first.values, true)?;
        loop {
            context.check_interrupt()?;
            match self.read(context)? {
                Some(row) if row.partition == first.partition => {
                    partition.push(row.values, row.order != order)?;
                    order = row.order;
                }
                other => {
                    self.head = other;
                    return Ok(Some(partition));
                }
            }
        }
    }

    /// Computes the next partition, up to the row that fails, if one does; false at the end.
    fn next_partition(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        // The rows of the last one are let go of before the next ones are read.
        self.finished = Finished::nothing();
        let Some(partition) = self.read_partition(context)? else { return Ok(false) };
        let mut results = Vec::with_capacity(self.window.calls.len());
        let mut rows = partition.len();
        for call in &self.window.calls {
            let mut values = Results::new(&context.budget);
            let computed = partition.compute(call, &self.window.order, context, &mut values);
            context.check_interrupt()?;
            if let Err(error) = computed
                && values.len() < rows
            {
                rows = values.len();
                self.error = Some(error);
            }
            results.push(values.hand_out()?);
        }
        self.finished = Finished { partition: partition.into_rows(), results, rows };
        Ok(true)
    }
}

impl Operator for WindowOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.head = None;
        self.finished = Finished::nothing();
        self.error = None;
        self.input.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.window.input.width() + self.window.calls.len());
        if !self.filled {
            self.fill(context)?;
        }
        loop {
            self.finished.hand_out(batch)?;
            if batch.is_full() || !self.next_partition(context)? {
                return Ok(!batch.is_empty());
            }
        }
    }
}
