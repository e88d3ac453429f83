//! The rows of a partition.

use std::borrow::Cow;
use std::sync::Arc;

use farbird_budget::{Reservation, StatementBudget, extend_within, room};
use farbird_expression::ExecutionContext;
use farbird_types::{Error, Result, SqlType, Value, convert};

use crate::row_buffer::{BufferedRows, RowBuffer};

/// The rows of one partition, in order: in memory, and in a temporary file what has no room there.
pub(super) struct Partition {
    rows: RowBuffer,
    /// The first row of each group of peers.
    peers: Vec<usize>,
    /// What those take.
    memory: Reservation,
}

impl Partition {
    /// No rows yet.
    pub(super) fn new(budget: &Arc<StatementBudget>) -> Partition {
        Partition { rows: RowBuffer::new(budget), peers: Vec::new(), memory: budget.reserve() }
    }

    /// Appends a row; `is_new` if it is no peer of the one before.
    ///
    /// # Errors
    /// `virmemexh` if there is no memory even for the places of peers; those of temporary files.
    pub(super) fn push(&mut self, row: Vec<Value>, is_new: bool) -> Result<()> {
        if is_new {
            self.memory.grow(room(&self.peers, 1) * size_of::<usize>())?;
            extend_within(&mut self.peers, 1, [self.rows.row_count()]);
        }
        self.rows.push(row)
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.row_count()
    }

    /// The values of a row.
    ///
    /// # Errors
    /// `io_error` if a temporary file cannot be read; an internal one if there is no such row.
    pub(super) fn row(&self, place: usize) -> Result<Cow<'_, [Value]>> {
        self.rows.get(place)?.ok_or_else(|| Error::internal("a row outside of its partition"))
    }

    /// Gives the rows away.
    pub(super) fn into_rows(self) -> BufferedRows {
        self.rows.into_rows()
    }

    /// How many groups of peers there are up to a row's own.
    pub(super) fn rank(&self, place: usize) -> usize {
        self.peers.partition_point(|first| *first <= place)
    }

    /// The first of a row's peers, and the row after the last.
    pub(super) fn peers(&self, place: usize) -> (usize, usize) {
        let rank = self.rank(place);
        let first = rank.checked_sub(1).and_then(|own| self.peers.get(own)).copied().unwrap_or(0);
        (first, self.peers.get(rank).copied().unwrap_or(self.len()))
    }
}

/// A value as a whole number; `None` for NULL.
pub(super) fn whole_number(value: &Value, context: &ExecutionContext<'_>) -> Result<Option<i64>> {
    match convert::cast(value, &SqlType::BIGINT, &context.cast)? {
        Value::Integer { unscaled, .. } => Ok(Some(unscaled)),
        _ => Ok(None),
    }
}
