//! ORDER BY and DISTINCT.

use std::sync::Arc;

use farbird_types::key::{KeyPart, encode_key};
use farbird_types::{Result, Value};

use crate::execute::batch::{BATCH_ROWS_MAX, Batch};
use crate::execute::context::ExecutionContext;
use crate::execute::operator::{Operator, build};
use crate::execute::spill::{Sorted, Sorter};
use crate::plan::{Distinct, Sort, SortKey};

/// Orders rows.
pub(crate) struct SortOperator {
    sort: Arc<Sort>,
    input: Box<dyn Operator>,
    rows: Sorted,
    filled: bool,
}

impl SortOperator {
    pub(crate) fn new(sort: &Arc<Sort>) -> SortOperator {
        SortOperator { input: build(&sort.input), rows: Sorted::empty(), filled: false, sort: sort.clone() }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut sorter = Sorter::new(false);
        let mut batch = Batch::new(self.sort.input.width(), BATCH_ROWS_MAX);
        while self.input.next(context, &mut batch)? {
            for index in 0..batch.len() {
                let key = sort_key(&self.sort.keys, batch.row(index), context)?;
                sorter.push(key, batch.take_row(index))?;
            }
        }
        self.rows = sorter.finish()?;
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
        hand_out(&mut self.rows, batch)
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
    pub(crate) fn new(distinct: &Arc<Distinct>) -> DistinctOperator {
        DistinctOperator {
            input: build(&distinct.input),
            rows: Sorted::empty(),
            filled: false,
            distinct: distinct.clone(),
        }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut sorter = Sorter::new(true);
        let mut batch = Batch::new(self.distinct.input.width(), BATCH_ROWS_MAX);
        while self.input.next(context, &mut batch)? {
            for index in 0..batch.len() {
                let mut key = Vec::new();
                for (value, collation) in batch.row(index).iter().zip(&self.distinct.collations) {
                    append_key(value, &KeyPart { collation: *collation, ..KeyPart::default() }, &mut key)?;
                }
                sorter.push(key, batch.take_row(index))?;
            }
        }
        self.rows = sorter.finish()?;
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
        hand_out(&mut self.rows, batch)
    }
}

fn hand_out(rows: &mut Sorted, batch: &mut Batch) -> Result<bool> {
    while !batch.is_full() {
        let Some((_, row)) = rows.next()? else { break };
        batch.push(row);
    }
    Ok(!batch.is_empty())
}

/// The bytes by which a row is ordered.
pub(crate) fn sort_key(
    keys: &[SortKey],
    row: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(keys.len() * 9);
    for key in keys {
        let value = key.value.evaluate(row, context)?;
        append_key(&value, &key.part, &mut bytes)?;
    }
    Ok(bytes)
}

/// Appends a value to a key. BLOBs are ordered by their ids: their contents have no order, but equal ids are equal.
pub(crate) fn append_key(value: &Value, part: &KeyPart, key: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Blob(id) => encode_key(&Value::integer(id.0.cast_signed()), part, key),
        value => encode_key(value, part, key),
    }
}
