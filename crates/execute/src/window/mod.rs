//! Window functions.
//!
//! A partition is read whole, in the window's order; each row's result is then computed from the rows of its frame. Rows and
//! results for which the statement has no memory stand in temporary files. What frames that move are followed with must
//! have room in memory.
//!
//! | file | subject |
//! |---|---|
//! | `numbers` | functions that number rows by their keys alone: those are computed as rows come, without their partition |
//! | `partition` | the rows of a partition, and the functions that number or pick rows |
//! | `results` | what was computed for them |
//! | `frame` | which rows a frame has |
//! | `aggregate` | aggregates over frames, in no more than O(n log n) |

mod aggregate;
mod compute;
mod frame;
mod numbers;
mod partition;
mod results;

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_plan::Window;
use farbird_types::{Error, Result, Value};
use farbird_vector::Vectors;
use numbers::Numbers;
use partition::Partition;
use results::{HandedOut, Results};

use crate::batch::Batch;
use crate::blob_keys::BlobKeys;
use crate::column_source::COLUMN_ROWS_MAX;
use crate::in_order::{Prepared, for_each_by_columns, for_each_prepared};
use crate::join_columns::bytes_of;
use crate::keyed_columns::KeyedColumns;
use crate::operator::{Build, Operator};
use crate::row_buffer::BufferedRows;
use crate::sort_keys::{KeyBytes, SortKeys, window_key};
use crate::spill::{Sorted, Sorter};

/// Most rows that are handed out by columns at a time.
const VECTOR_ROWS_MAX: usize = 1_024;

/// So many rows are numbered at a time for whoever takes rows.
const NUMBERED_ROWS: usize = 128;

/// Rows with their keys, if those can be made without reading BLOBs.
struct WithKeys(Vectors, Option<KeyBytes>);

impl Prepared for WithKeys {
    fn size_bytes(&self) -> usize {
        bytes_of(&self.0) + self.1.as_ref().map_or(0, KeyBytes::size_bytes)
    }
}

/// Computes window functions. Rows come out in the window's order.
pub(crate) struct WindowOperator {
    window: Arc<Window>,
    input: Box<dyn Operator>,
    keys: SortKeys,
    rows: Sorted<KeyedColumns>,
    /// Numbers the rows, if nothing else is computed; the columns of rows that are handed out then.
    numbers: Option<Numbers>,
    wanted: Vec<bool>,
    /// The first row of the next partition, and its key.
    head: Option<Vec<Value>>,
    key: Vec<u8>,
    /// The current partition, computed.
    finished: Finished,
    /// What the row behind those failed with.
    error: Option<Error>,
    filled: bool,
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
            keys: SortKeys::of_window(&window.partition, &window.order),
            rows: Sorted::empty(),
            numbers: Numbers::of(&window.calls),
            wanted: vec![true; window.input.width()],
            head: None,
            key: Vec::new(),
            finished: Finished::nothing(),
            error: None,
            filled: false,
            window: window.clone(),
        }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let workers = context.session.parallel_workers();
        let mut sorter = Sorter::by_columns(false, usize::MAX, workers, &context.budget);
        let mut blobs = BlobKeys::default();
        let (keys, wanted) = (&mut self.keys, &self.wanted);
        if self.input.has_vectors() && keys.are_for_any_thread() {
            let mut keys_of_thread = keys.clone();
            let prepare = move |mut rows: Vectors, context: &mut ExecutionContext<'_>| {
                if keys_of_thread.may_be_of_blobs(&rows) {
                    return Ok(WithKeys(rows, None));
                }
                let keys = keys_of_thread.of(&rows, context)?;
                rows.keep_columns(wanted);
                Ok(WithKeys(rows, Some(keys)))
            };
            for_each_prepared(
                self.input.as_mut(),
                COLUMN_ROWS_MAX,
                context,
                prepare,
                |WithKeys(rows, made), context| {
                    let keys = match made {
                        Some(keys) => keys,
                        None => keys.of_contents(&rows, &mut blobs, context)?,
                    };
                    sorter.push_columns(rows, keys, &context.session.interrupt)
                },
            )?;
        } else {
            let all = vec![true; self.window.input.width()];
            for_each_by_columns(self.input.as_mut(), COLUMN_ROWS_MAX, &all, context, |rows, context| {
                let keys = keys.of_contents(&rows, &mut blobs, context)?;
                sorter.push_columns(rows, keys, &context.session.interrupt)
            })?;
        }
        self.filled = true;
        if self.numbers.is_some() {
            self.rows = sorter.finish(&context.session.interrupt)?;
            return Ok(());
        }
        self.rows = sorter.finish_for_keeping(&context.session.interrupt)?;
        self.head = self.rows.next_with(&mut self.key, &context.session.interrupt)?;
        Ok(())
    }

    /// The next rows with their numbers, where nothing else is computed; none at the end.
    fn next_numbered(&mut self, rows_max: usize, context: &mut ExecutionContext<'_>) -> Result<Vectors> {
        if !self.filled {
            self.fill(context)?;
        }
        let Some(numbers) = &mut self.numbers else { return Ok(Vectors::default()) };
        let interrupt = &context.session.interrupt;
        let rows =
            self.rows.take(rows_max, usize::MAX, &self.wanted, interrupt, |key| numbers.number(key))?;
        let count = rows.len();
        let mut columns = rows.into_columns();
        columns.resize(self.wanted.len(), None);
        columns.extend(numbers.take().map(Some));
        Ok(Vectors::new(count, columns))
    }

    /// Reads the rows of the next partition; `None` at the end.
    fn read_partition(&mut self, context: &ExecutionContext<'_>) -> Result<Option<Partition>> {
        let Some(first) = self.head.take() else { return Ok(None) };
        let mut partition = Partition::new(&context.budget);
        let mut latest = self.key.clone();
        partition.push(first, true)?;
        loop {
            context.check_interrupt()?;
            let Some(row) = self.rows.next_with(&mut self.key, &context.session.interrupt)? else {
                return Ok(Some(partition));
            };
            let (of_latest, latest_order) = window_key(&latest);
            let (of_row, order) = window_key(&self.key);
            if of_row != of_latest {
                self.head = Some(row);
                return Ok(Some(partition));
            }
            let is_new = order != latest_order;
            partition.push(row, is_new)?;
            if is_new {
                std::mem::swap(&mut latest, &mut self.key);
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
        self.rows = Sorted::empty();
        self.numbers = Numbers::of(&self.window.calls);
        self.head = None;
        self.keys.reset();
        self.finished = Finished::nothing();
        self.error = None;
        self.input.open(context)
    }

    fn has_vectors(&self) -> bool {
        true
    }

    fn want(&mut self, columns: &[bool]) {
        if self.numbers.is_none() {
            return;
        }
        self.wanted = columns.iter().copied().take(self.window.input.width()).collect();
        let mut wanted = self.wanted.clone();
        self.keys.want(&mut wanted);
        self.input.want(&wanted);
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        if self.numbers.is_some() {
            *vectors = self.next_numbered(rows_max, context)?;
            return Ok(!vectors.is_empty());
        }
        let mut batch = Batch::new(0, rows_max.min(VECTOR_ROWS_MAX));
        if let Err(error) = self.next(context, &mut batch) {
            // The rows before it come first.
            self.error = Some(error);
        }
        *vectors = Vectors::of_rows(batch.len(), batch.values(), &vec![true; batch.width()]);
        match self.error.take_if(|_| vectors.is_empty()) {
            Some(error) => Err(error),
            None => Ok(!vectors.is_empty()),
        }
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.window.input.width() + self.window.calls.len());
        while self.numbers.is_some() && !batch.is_full() {
            // Few at a time, since a batch is full too when its texts are long.
            let rows_max = NUMBERED_ROWS.min(batch.limit() - batch.len());
            let mut rows = self.next_numbered(rows_max, context)?;
            if rows.is_empty() {
                return Ok(!batch.is_empty());
            }
            let width = rows.width();
            for row in 0..rows.len() {
                batch.push((0..width).map(|position| rows.take_value(row, position)));
            }
        }
        if self.numbers.is_some() {
            return Ok(true);
        }
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
