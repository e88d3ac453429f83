//! Nested loop joins.

use std::sync::Arc;

use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::{NestedLoop, NestedLoopKind, Node};
use farbird_types::{Result, Value};

use crate::batch::{BATCH_ROWS_FIRST, Batch};
use crate::key_filter::KeyFilter;
use crate::operator::{Build, Operator};

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
    /// How many inner rows are read next where one partner is enough: often the first row is one.
    tried: usize,
}

/// By how much more inner rows are read next time if none was a partner.
const TRIED_GROWTH: usize = 4;

impl NestedLoopOperator {
    pub(crate) fn new(join: &Arc<NestedLoop>, build: Build) -> NestedLoopOperator {
        NestedLoopOperator {
            outer: build(&join.outer),
            inner: build(&join.inner),
            outer_rows: Batch::default(),
            outer_place: 0,
            inner_rows: Batch::default(),
            inner_width: join.inner.width(),
            running: false,
            matched: false,
            tried: 1,
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
        self.tried = 1;
        Ok(true)
    }

    /// Hands on the pairs that the inner rows make with the current outer row.
    fn emit(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<()> {
        let outer = self.outer_rows.row(self.outer_place);
        let mut pair: Vec<Value> = Vec::new();
        for inner in self.inner_rows.rows() {
            context.check_interrupt()?;
            if let Some(condition) = &self.join.condition {
                pair.clear();
                pair.extend_from_slice(outer);
                pair.extend_from_slice(inner);
                if condition.truth(&pair, context)? != Some(true) {
                    continue;
                }
            }
            self.matched = true;
            if self.join.kind.drops_inner() {
                break;
            }
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
        let kind = self.join.kind;
        let inner_width = if kind.drops_inner() { 0 } else { self.inner_width };
        batch.reset(self.join.outer.width() + inner_width);
        while !batch.is_full() {
            if !self.running && !self.advance(context, batch.limit())? {
                break;
            }
            let limit = batch.limit() - batch.len();
            self.inner_rows.set_limit(if kind.drops_inner() { self.tried } else { limit });
            self.tried = (self.tried * TRIED_GROWTH).min(BATCH_ROWS_FIRST);
            if self.inner.next(context, &mut self.inner_rows)? {
                self.emit(context, batch)?;
                if !(kind.drops_inner() && self.matched) {
                    continue;
                }
            }
            self.running = false;
            let comes_alone = match kind {
                NestedLoopKind::Inner => false,
                NestedLoopKind::Left | NestedLoopKind::Anti => !self.matched,
                NestedLoopKind::Semi => self.matched,
            };
            if comes_alone {
                batch.push(self.outer_rows.row(self.outer_place).iter().cloned());
            }
        }
        Ok(!batch.is_empty())
    }

    fn at_most(&mut self, rows: usize) {
        // Each outer row makes a row at least.
        if self.join.kind == NestedLoopKind::Left {
            self.outer.at_most(rows);
        }
    }

    fn want(&mut self, columns: &[bool]) {
        let mut wanted = vec![false; self.join.outer.width()];
        wanted.iter_mut().zip(columns).for_each(|(wanted, column)| *wanted = *column);
        let captured = self.join.captures.iter().map(|(_, value)| value);
        for expression in captured.chain(&self.join.condition) {
            expression.for_each_column(&mut |position| {
                if let Some(wanted) = wanted.get_mut(position) {
                    *wanted = true;
                }
            });
        }
        self.outer.want(&wanted);
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        let is_volatile = self.join.condition.as_ref().is_some_and(Expression::is_volatile)
            || self.join.captures.iter().any(|(_, value)| value.is_volatile())
            || !only_reads(&self.join.inner);
        if column < self.join.outer.width() && !is_volatile {
            self.outer.restrict(column, keys);
        }
    }
}

/// Whether a plan reads a table and does nothing else, so that it does not matter how often it runs.
fn only_reads(node: &Node) -> bool {
    match node {
        Node::Table(_) => true,
        Node::Filter(filter) => !filter.condition.is_volatile() && only_reads(&filter.input),
        _ => false,
    }
}
