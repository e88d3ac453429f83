//! Joins.

use std::collections::HashMap;
use std::sync::Arc;

use farbird_types::{Result, Value, compare};

use crate::budget::row_bytes;
use crate::execute::batch::{BATCH_ROWS_MAX, Batch};
use crate::execute::context::ExecutionContext;
use crate::execute::operator::{Operator, build};
use crate::plan::{HashJoin, HashJoinKind, JoinKey, NestedLoop};

/// Runs the inner side for each row of the outer one.
pub(crate) struct NestedLoopOperator {
    join: Arc<NestedLoop>,
    outer: Box<dyn Operator>,
    inner: Box<dyn Operator>,
    outer_rows: Batch,
    outer_place: usize,
    inner_rows: Batch,
    inner_width: usize,
    /// Whether the inner side is running for the current outer row.
    running: bool,
    /// Whether the current outer row has had a partner.
    matched: bool,
}

impl NestedLoopOperator {
    pub(crate) fn new(join: &Arc<NestedLoop>) -> NestedLoopOperator {
        NestedLoopOperator {
            outer: build(&join.outer),
            inner: build(&join.inner),
            outer_rows: Batch::default(),
            outer_place: 0,
            inner_rows: Batch::default(),
            inner_width: join.inner.width(),
            running: false,
            matched: false,
            join: join.clone(),
        }
    }

    /// Goes to the next outer row and starts the inner side for it; false at the end.
    fn advance(&mut self, context: &mut ExecutionContext<'_>, limit: usize) -> Result<bool> {
        self.outer_place += 1;
        if self.outer_place >= self.outer_rows.len() {
            self.outer_place = 0;
            self.outer_rows.set_limit(limit);
            if !self.outer.next(context, &mut self.outer_rows)? {
                return Ok(false);
            }
        }
        let row = self.outer_rows.row(self.outer_place);
        for (register, value) in &self.join.captures {
            let value = value.evaluate(row, context)?;
            context.frame.set_register(*register, value);
        }
        self.inner.open(context)?;
        self.running = true;
        self.matched = false;
        Ok(true)
    }

    /// Hands on the pairs that the inner rows make with the current outer row.
    fn emit(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<()> {
        let outer = self.outer_rows.row(self.outer_place);
        let mut pair: Vec<Value> = Vec::new();
        for inner in self.inner_rows.rows() {
            if let Some(condition) = &self.join.condition {
                pair.clear();
                pair.extend_from_slice(outer);
                pair.extend_from_slice(inner);
                if condition.truth(&pair, context)? != Some(true) {
                    continue;
                }
            }
            self.matched = true;
            batch.push(outer.iter().chain(inner).cloned());
        }
        Ok(())
    }
}

impl Operator for NestedLoopOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.outer_rows.truncate(0);
        self.outer_place = 0;
        self.running = false;
        self.outer.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        let outer_width = self.join.outer.width();
        batch.reset(outer_width + self.inner_width);
        while !batch.is_full() {
            if !self.running && !self.advance(context, batch.limit())? {
                break;
            }
            self.inner_rows.set_limit(batch.limit() - batch.len());
            if self.inner.next(context, &mut self.inner_rows)? {
                self.emit(context, batch)?;
                continue;
            }
            self.running = false;
            if self.join.outer_join && !self.matched {
                batch.push(self.outer_rows.row(self.outer_place).iter().cloned());
            }
        }
        Ok(!batch.is_empty())
    }
}

/// Memory for the rows of the inner side, in bytes. More are joined in several passes over the outer side.
const HASH_BYTES_MAX: usize = 64 << 20;

/// Joins by a table in memory of the inner side's rows.
///
/// If they are too many, as many as fit are taken at a time, and the outer side is run once for each such part.
pub(crate) struct HashJoinOperator {
    join: Arc<HashJoin>,
    outer: Box<dyn Operator>,
    inner: Box<dyn Operator>,
    /// Rows of the inner side; the table has their places by key.
    rows: Vec<Vec<Value>>,
    table: HashMap<Vec<u8>, Vec<usize>>,
    matched_rows: Vec<bool>,
    outer_rows: Batch,
    outer_place: usize,
    /// Places of the current outer row's candidates that are still to be tried.
    candidates: Vec<usize>,
    candidate: usize,
    running: bool,
    matched: bool,
    /// How far the rows of the inner side that had no partner have been handed out; `None` before that.
    unmatched_from: Option<usize>,
    /// Whether all rows of the inner side have been read.
    inner_ended: bool,
    /// Number of the current outer row within the pass, and by number whether a row had a partner in earlier passes.
    outer_number: usize,
    outer_matched: Vec<bool>,
}

impl HashJoinOperator {
    pub(crate) fn new(join: &Arc<HashJoin>) -> HashJoinOperator {
        HashJoinOperator {
            outer: build(&join.outer),
            inner: build(&join.inner),
            rows: Vec::new(),
            table: HashMap::new(),
            matched_rows: Vec::new(),
            outer_rows: Batch::default(),
            outer_place: 0,
            candidates: Vec::new(),
            candidate: 0,
            running: false,
            matched: false,
            unmatched_from: None,
            inner_ended: false,
            outer_number: 0,
            outer_matched: Vec::new(),
            join: join.clone(),
        }
    }

    /// Takes as many rows of the inner side as fit, and starts the outer side for them.
    fn start_pass(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.fill(context)?;
        self.outer_rows.truncate(0);
        self.outer_place = 0;
        self.outer_number = 0;
        self.running = false;
        self.unmatched_from = None;
        self.outer.open(context)
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.rows.clear();
        self.table.clear();
        let mut bytes = 0;
        let mut batch = Batch::new(self.join.inner.width(), BATCH_ROWS_MAX);
        while bytes < HASH_BYTES_MAX {
            if !self.inner.next(context, &mut batch)? {
                self.inner_ended = true;
                break;
            }
            for index in 0..batch.len() {
                let key = key_of(&self.join.inner_keys, batch.row(index), context)?;
                // A row whose key is NULL has no partner; FULL JOIN hands it out all the same.
                match key {
                    Some(key) => self.table.entry(key).or_default().push(self.rows.len()),
                    None if self.join.kind == HashJoinKind::Full => {}
                    None => continue,
                }
                let row = batch.take_row(index);
                bytes += row_bytes(&row);
                self.rows.push(row);
            }
        }
        self.matched_rows = vec![false; self.rows.len()];
        Ok(())
    }

    fn advance(&mut self, context: &mut ExecutionContext<'_>, limit: usize) -> Result<bool> {
        self.outer_place += 1;
        if self.outer_place >= self.outer_rows.len() {
            self.outer_place = 0;
            self.outer_rows.set_limit(limit);
            if !self.outer.next(context, &mut self.outer_rows)? {
                return Ok(false);
            }
        }
        self.outer_number += 1;
        self.candidates.clear();
        self.candidate = 0;
        let key = key_of(&self.join.outer_keys, self.outer_rows.row(self.outer_place), context)?;
        if let Some(places) = key.and_then(|key| self.table.get(&key)) {
            self.candidates.extend_from_slice(places);
        }
        self.running = true;
        self.matched = false;
        Ok(true)
    }

    /// Tries the candidates of the current outer row until the batch is full or they are through.
    fn emit(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<()> {
        let outer = self.outer_rows.row(self.outer_place);
        let mut pair: Vec<Value> = Vec::new();
        while !batch.is_full()
            && let Some(place) = self.candidates.get(self.candidate)
        {
            self.candidate += 1;
            let Some(inner) = self.rows.get(*place) else { continue };
            if let Some(condition) = &self.join.condition {
                pair.clear();
                pair.extend_from_slice(outer);
                pair.extend_from_slice(inner);
                if condition.truth(&pair, context)? != Some(true) {
                    continue;
                }
            }
            self.matched = true;
            if let Some(matched) = self.matched_rows.get_mut(*place) {
                *matched = true;
            }
            batch.push(outer.iter().chain(inner).cloned());
        }
        Ok(())
    }

    /// Ends the current outer row: without a partner in any pass it comes alone, in the last one.
    fn end_row(&mut self, batch: &mut Batch) {
        self.running = false;
        if self.join.kind == HashJoinKind::Inner {
            return;
        }
        let place = self.outer_number - 1;
        let matched_before = self.outer_matched.get(place).copied().unwrap_or(false);
        if !self.inner_ended {
            if self.outer_matched.len() <= place {
                self.outer_matched.resize(place + 1, false);
            }
            if let Some(matched) = self.outer_matched.get_mut(place) {
                *matched |= self.matched;
            }
        } else if !self.matched && !matched_before {
            batch.push(self.outer_rows.row(self.outer_place).iter().cloned());
        }
    }

    /// FULL JOIN: the inner rows that had no partner.
    fn emit_unmatched(&mut self, from: usize, batch: &mut Batch) {
        let outer_width = self.join.outer.width();
        let mut place = from;
        while !batch.is_full() && place < self.rows.len() {
            if let (Some(false), Some(row)) = (self.matched_rows.get(place), self.rows.get(place)) {
                batch.push(std::iter::repeat_n(Value::Null, outer_width).chain(row.iter().cloned()));
            }
            place += 1;
        }
        self.unmatched_from = Some(place);
    }
}

impl Operator for HashJoinOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.inner_ended = false;
        self.outer_matched.clear();
        self.inner.open(context)?;
        self.start_pass(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.join.outer.width() + self.join.inner.width());
        while !batch.is_full() {
            if let Some(from) = self.unmatched_from {
                self.emit_unmatched(from, batch);
                if batch.is_full() || self.inner_ended {
                    break;
                }
                self.start_pass(context)?;
            }
            if !self.running && !self.advance(context, batch.limit())? {
                if self.join.kind == HashJoinKind::Full {
                    self.unmatched_from = Some(0);
                } else if self.inner_ended {
                    break;
                } else {
                    self.start_pass(context)?;
                }
                continue;
            }
            self.emit(context, batch)?;
            if self.candidate >= self.candidates.len() {
                self.end_row(batch);
            }
        }
        Ok(!batch.is_empty())
    }
}

/// The key of a row; `None` if any part is NULL, which equals nothing.
fn key_of(keys: &[JoinKey], row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(keys.len() * 9);
    for key in keys {
        let value = key.value.evaluate(row, context)?;
        if value.is_null() {
            return Ok(None);
        }
        compare::equality_key(&value, key.collation, &mut bytes);
    }
    Ok(Some(bytes))
}
