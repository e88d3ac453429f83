//! Window functions.
//!
//! A partition is read whole, in the window's order; each row's result is then computed from the rows of its frame. One
//! that is larger than the statement's memory is refused.
//!
//! | file | subject |
//! |---|---|
//! | `partition` | the rows of a partition, and the functions that number or pick rows |
//! | `frame` | which rows a frame has |
//! | `aggregate` | aggregates over frames, in no more than O(n log n) |

mod aggregate;
mod frame;
mod partition;

use std::sync::Arc;

use farbird_types::{Error, Result, Value, isc};

use crate::execute::batch::{BATCH_ROWS_MAX, Batch};
use crate::execute::blob_keys::BlobKeys;
use crate::execute::context::ExecutionContext;
use crate::execute::operator::{Operator, build};
use crate::execute::spill::{Sorted, Sorter};
use crate::plan::Window;

use partition::Partition;

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
#[derive(Default)]
struct Finished {
    partition: Partition,
    results: Vec<Vec<Value>>,
    next: usize,
    /// So many rows were computed.
    rows: usize,
}

impl Finished {
    fn hand_out(&mut self, batch: &mut Batch) -> Result<()> {
        while !batch.is_full() && self.next < self.rows {
            let place = self.next;
            self.next += 1;
            if self.results.iter().any(|of_call| of_call.len() <= place) {
                return Err(Error::internal("a row without a window's result"));
            }
            let results = self.results.iter_mut().filter_map(|of_call| of_call.get_mut(place));
            batch.push(self.partition.take_row(place).chain(results.map(std::mem::take)));
        }
        Ok(())
    }
}

impl WindowOperator {
    pub(crate) fn new(window: &Arc<Window>) -> WindowOperator {
        WindowOperator {
            input: build(&window.input),
            rows: Sorted::empty(),
            head: None,
            finished: Finished::default(),
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
        let mut partition = Partition::new(self.window.input.width(), context.budget.reserve());
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
                    partition.close();
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
        self.finished = Finished::default();
        let Some(mut partition) = self.read_partition(context)? else { return Ok(false) };
        partition.cover_results(self.window.calls.len())?;
        let mut results = Vec::with_capacity(self.window.calls.len());
        let mut rows = partition.len();
        for call in &self.window.calls {
            let mut values = Vec::with_capacity(partition.len());
            let computed = partition.compute(call, &self.window.order, context, &mut values);
            context.check_interrupt()?;
            if let Err(error) = computed
                && values.len() < rows
            {
                rows = values.len();
                self.error = Some(error);
            }
            results.push(values);
        }
        self.finished = Finished { partition, results, next: 0, rows };
        Ok(true)
    }
}

impl Operator for WindowOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.head = None;
        self.finished = Finished::default();
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
