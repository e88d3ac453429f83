//! ORDER BY and DISTINCT.

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_plan::{Distinct, Sort, SortKey};
use farbird_types::key::{KeyPart, encode_key, encode_order_key};
use farbird_types::{Result, Value};

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::column_source::COLUMN_ROWS_MAX;
use crate::in_order::for_each;
use crate::key_filter::KeyFilter;
use crate::operator::{Build, Operator};
use crate::spill::{Sorted, Sorter};

/// Orders rows.
pub(crate) struct SortOperator {
    sort: Arc<Sort>,
    input: Box<dyn Operator>,
    rows: Sorted,
    filled: bool,
}

impl SortOperator {
    pub(crate) fn new(sort: &Arc<Sort>, build: Build) -> SortOperator {
        SortOperator { input: build(&sort.input), rows: Sorted::empty(), filled: false, sort: sort.clone() }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut sorter = Sorter::new(false, &context.budget);
        let mut key = Vec::new();
        for_each_row(self.input.as_mut(), self.sort.input.width(), context, |row, context| {
            key.clear();
            append_order_key(&self.sort.keys, row, &mut key, context)?;
            sorter.push(&key, row.iter_mut().map(std::mem::take), &context.session.interrupt)
        })?;
        self.rows = sorter.finish(&context.session.interrupt)?;
        self.filled = true;
        Ok(())
    }
}

impl Operator for SortOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.rows = Sorted::empty();
        self.input.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.sort.input.width());
        if !self.filled {
            self.fill(context)?;
        }
        hand_out(&mut self.rows, batch, context)
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        if !self.sort.keys.iter().any(|key| key.value.is_volatile()) {
            self.input.restrict(column, keys);
        }
    }
}

/// Drops repeated rows. They come out in the order of their values, as Firebird's do.
pub(crate) struct DistinctOperator {
    distinct: Arc<Distinct>,
    input: Box<dyn Operator>,
    rows: Sorted,
    filled: bool,
}

impl DistinctOperator {
    pub(crate) fn new(distinct: &Arc<Distinct>, build: Build) -> DistinctOperator {
        DistinctOperator {
            input: build(&distinct.input),
            rows: Sorted::empty(),
            filled: false,
            distinct: distinct.clone(),
        }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut sorter = Sorter::new(true, &context.budget);
        let mut key = Vec::new();
        for_each_row(self.input.as_mut(), self.distinct.input.width(), context, |row, context| {
            key.clear();
            for (value, collation) in row.iter().zip(&self.distinct.collations) {
                append_key(value, &KeyPart { collation: *collation, ..KeyPart::default() }, &mut key)?;
            }
            sorter.push(&key, row.iter_mut().map(std::mem::take), &context.session.interrupt)
        })?;
        self.rows = sorter.finish(&context.session.interrupt)?;
        self.filled = true;
        Ok(())
    }
}

impl Operator for DistinctOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.rows = Sorted::empty();
        self.input.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.distinct.input.width());
        if !self.filled {
            self.fill(context)?;
        }
        hand_out(&mut self.rows, batch, context)
    }
}

/// Calls `take` with each row of an operator, whose values it may take.
fn for_each_row(
    input: &mut dyn Operator,
    width: usize,
    context: &mut ExecutionContext<'_>,
    mut take: impl FnMut(&mut [Value], &mut ExecutionContext<'_>) -> Result<()>,
) -> Result<()> {
    if input.has_vectors() {
        let mut row = Vec::with_capacity(width);
        return for_each(input, COLUMN_ROWS_MAX, context, |rows, context| {
            for place in 0..rows.len() {
                context.check_interrupt()?;
                row.clear();
                rows.read_row(place, &mut row);
                take(&mut row, context)?;
            }
            Ok(())
        });
    }
    let mut batch = Batch::new(width, BATCH_ROWS_MAX);
    while input.next(context, &mut batch)? {
        for place in 0..batch.len() {
            context.check_interrupt()?;
            take(batch.row_mut(place), context)?;
        }
    }
    Ok(())
}

fn hand_out(rows: &mut Sorted, batch: &mut Batch, context: &ExecutionContext<'_>) -> Result<bool> {
    rows.hand_out(batch, &context.session.interrupt)?;
    Ok(!batch.is_empty())
}

/// Appends the bytes by which ORDER BY places a row.
fn append_order_key(
    keys: &[SortKey],
    row: &[Value],
    bytes: &mut Vec<u8>,
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    for key in keys {
        match key.value.peek(row, context) {
            Some(value @ Value::Text(_)) => encode_order_key(value, &key.part, bytes)?,
            Some(value) => append_key(value, &key.part, bytes)?,
            None => match &key.value.evaluate(row, context)? {
                value @ Value::Text(_) => encode_order_key(value, &key.part, bytes)?,
                value => append_key(value, &key.part, bytes)?,
            },
        }
    }
    Ok(())
}

/// Appends a value to a key. BLOBs are ordered by their ids: their contents have no order, but equal ids are equal.
pub(crate) fn append_key(value: &Value, part: &KeyPart, key: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Blob(id) => encode_key(&Value::integer(id.0.cast_signed()), part, key),
        value => encode_key(value, part, key),
    }
}
