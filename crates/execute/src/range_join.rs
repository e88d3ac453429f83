//! Range joins: rows whose values lie below, above or between values of the other side's rows.
//!
//! The inner side's rows are put in the order of one of their values. For each outer row two searches find the stretch in which that
//! lies where it should; where a second value of the inner rows is asked for too, as in `x BETWEEN i.low AND i.high`, the rows of the
//! stretch that have it are found by a tree of the greatest (or least) such values. So what each outer row costs is its partners
//! and the logarithm of the inner side, instead of the inner side.
//!
//! # Promises
//! - Each side is read once, however large it is. An inner side that does not fit in memory is joined by blocks: as many of its
//!   rows as fit, against all outer rows, which are kept in a temporary file.
//! - Rows come in the order of the outer side while the inner one fits in memory, else in no particular order.

use std::cmp::Ordering;
use std::sync::Arc;

use farbird_budget::{Reservation, extend_within, heap_bytes, room};
use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::{NestedLoopKind, RangeBeside, RangeBound, RangeJoin};
use farbird_types::{Collation, Result, Value, compare};

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::key_filter::KeyFilter;
use crate::matched_rows::MatchedRows;
use crate::operator::{Build, Operator};
use crate::ordering::sort_by;
use crate::row_stream::{RowReader, RowStream, RowWriter, StreamFile};

/// Joins by inner rows in the order of a value.
pub(crate) struct RangeJoinOperator {
    join: Arc<RangeJoin>,
    outer: Box<dyn Operator>,
    inner: Box<dyn Operator>,
    block: Option<Block>,
    /// What does not fit in memory; none while the inner side does.
    spilled: Option<Spilled>,
    outer_rows: Batch,
    outer_place: usize,
    /// Where the stretch of the current outer row goes on, and where it ends.
    next: usize,
    end: usize,
    /// What the second value of its partners must be above, or below.
    beside: Option<Value>,
    /// Whether the current outer row is being joined, and whether it has had a partner.
    running: bool,
    matched: bool,
}

/// Inner rows in memory.
struct Block {
    width: usize,
    values: Vec<Value>,
    /// By row: the value by which they are in order, and the second one.
    keys: Vec<Value>,
    second: Vec<Value>,
    /// The rows in order.
    order: Vec<u32>,
    /// A tree over the places in order, of a power of two of leaves, which stand at the end: each node is the place of the greatest
    /// second value below it, or of the least. The root is node 1; below node `n` are `2 n` and `2 n + 1`.
    tree: Vec<u32>,
    memory: Reservation,
}

/// A side that is longer than memory.
struct Spilled {
    inner: RowReader,
    /// The inner row that was read and had no room in the block.
    left_over: Option<Vec<Value>>,
    is_last_block: bool,
    outer: Option<OuterRows>,
    /// Number of the current outer row, from 1, and which have had a partner.
    outer_number: usize,
    outer_matched: MatchedRows,
}

/// Where outer rows come from.
enum OuterRows {
    /// From the outer side itself, with the first block; they are kept.
    First(RowWriter),
    /// From where they were kept.
    Kept(Arc<RowStream>, RowReader),
}

/// No row.
const NONE: u32 = u32::MAX;

impl RangeJoinOperator {
    pub(crate) fn new(join: &Arc<RangeJoin>, build: Build) -> RangeJoinOperator {
        RangeJoinOperator {
            outer: build(&join.outer),
            inner: build(&join.inner),
            block: None,
            spilled: None,
            outer_rows: Batch::default(),
            outer_place: 0,
            next: 0,
            end: 0,
            beside: None,
            running: false,
            matched: false,
            join: join.clone(),
        }
    }

    /// Reads the inner side: as many rows as fit into the first block, the others into a temporary file.
    fn read_inner(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut block = Block::new(self.join.inner.width(), context.budget.reserve());
        let mut rest: Option<(StreamFile, RowWriter)> = None;
        let mut batch = Batch::new(self.join.inner.width(), BATCH_ROWS_MAX);
        while self.inner.next(context, &mut batch)? {
            for index in 0..batch.len() {
                context.check_interrupt()?;
                if let Some((_, rest)) = &mut rest {
                    rest.push(&[], batch.row(index))?;
                } else if !block.push(&self.join, batch.row_mut(index), context)? {
                    let file = StreamFile::new(&context.budget)?;
                    let mut writer = file.writer();
                    writer.push(&[], batch.row(index))?;
                    rest = Some((file, writer));
                }
            }
        }
        if let Some((file, rest)) = rest {
            self.spilled = Some(Spilled {
                inner: Arc::new(rest.finish()?).read(),
                left_over: None,
                is_last_block: false,
                outer: Some(OuterRows::First(file.writer())),
                outer_number: 0,
                outer_matched: MatchedRows::new(context.budget.reserve()),
            });
        }
        block.put_in_order(&self.join, context)?;
        self.block = Some(block);
        Ok(())
    }

    /// Fills the block with the next inner rows; false if there are none.
    fn next_block(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        let (Some(spilled), Some(block)) = (&mut self.spilled, &mut self.block) else { return Ok(false) };
        if spilled.is_last_block {
            return Ok(false);
        }
        block.clear();
        loop {
            context.check_interrupt()?;
            let row = match spilled.left_over.take() {
                Some(row) => Some(row),
                None => spilled.inner.next()?.map(|(_, row)| row),
            };
            let Some(mut row) = row else {
                spilled.is_last_block = true;
                break;
            };
            if !block.push(&self.join, &mut row, context)? {
                spilled.left_over = Some(row);
                break;
            }
        }
        block.put_in_order(&self.join, context)?;
        spilled.rewind_outer()?;
        self.outer_rows.truncate(0);
        self.outer_place = 0;
        Ok(true)
    }

    /// Goes to the next outer row; false at the end.
    fn advance(&mut self, context: &mut ExecutionContext<'_>, limit: usize) -> Result<bool> {
        self.outer_place += 1;
        if self.outer_place >= self.outer_rows.len() {
            self.outer_place = 0;
            self.outer_rows.set_limit(limit);
            if !self.read_outer(context)? {
                return Ok(false);
            }
        }
        context.check_interrupt()?;
        if let Some(spilled) = &mut self.spilled {
            spilled.outer_number += 1;
        }
        self.find_stretch(context)?;
        self.running = true;
        self.matched = false;
        Ok(true)
    }

    fn read_outer(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        let Some(spilled) = &mut self.spilled else { return self.outer.next(context, &mut self.outer_rows) };
        match &mut spilled.outer {
            None => Ok(false),
            Some(OuterRows::First(kept)) => {
                let more = self.outer.next(context, &mut self.outer_rows)?;
                self.outer_rows.rows().try_for_each(|row| kept.push(&[], row))?;
                Ok(more)
            }
            Some(OuterRows::Kept(_, reader)) => {
                self.outer_rows.reset(self.join.outer.width());
                while !self.outer_rows.is_full()
                    && let Some((_, row)) = reader.next()?
                {
                    self.outer_rows.push(row);
                }
                Ok(!self.outer_rows.is_empty())
            }
        }
    }

    /// Finds the inner rows whose first value lies where the current outer row asks for.
    fn find_stretch(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        (self.next, self.end, self.beside) = (0, 0, None);
        let row = self.outer_rows.row(self.outer_place);
        let bound = |bound: &Option<RangeBound>, context: &mut ExecutionContext<'_>| match bound {
            Some(bound) => bound.value.evaluate(row, context).map(Some),
            None => Ok(None),
        };
        let lower = bound(&self.join.lower, context)?;
        let upper = bound(&self.join.upper, context)?;
        let beside = match &self.join.beside {
            Some(beside) => Some(beside.bound.value.evaluate(row, context)?),
            None => None,
        };
        // Nothing compares to NULL.
        if [&lower, &upper, &beside].into_iter().flatten().any(Value::is_null) {
            return Ok(());
        }
        let Some(block) = &self.block else { return Ok(()) };
        let collation = self.join.collation;
        let is_inclusive = |bound: &Option<RangeBound>| bound.as_ref().is_some_and(|bound| bound.inclusive);
        self.end = block.order.len();
        if let Some(lower) = &lower {
            self.next = block.first_not_before(lower, !is_inclusive(&self.join.lower), collation)?;
        }
        if let Some(upper) = &upper {
            self.end = block.first_not_before(upper, is_inclusive(&self.join.upper), collation)?;
        }
        self.beside = beside;
        Ok(())
    }

    /// The next inner row that the ranges leave for the current outer row.
    fn candidate(&mut self) -> Result<Option<u32>> {
        let (Some(block), true) = (&self.block, self.next < self.end) else { return Ok(None) };
        let place = match (&self.join.beside, &self.beside) {
            (Some(beside), Some(value)) => {
                let is_met = |second: &Value| is_met(beside, second, value);
                block.first_that(self.next, self.end, &is_met)?
            }
            _ => Some(self.next),
        };
        self.next = place.map_or(self.end, |place| place + 1);
        Ok(place.and_then(|place| block.order.get(place).copied()))
    }

    /// Tries the partners of the current outer row until the batch is full or they are through; true then.
    fn emit(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        let mut pair: Vec<Value> = Vec::new();
        while !batch.is_full() {
            let Some(number) = self.candidate()? else { return Ok(true) };
            context.check_interrupt()?;
            let Some(block) = &self.block else { return Ok(true) };
            let (outer, inner) = (self.outer_rows.row(self.outer_place), block.row(number));
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
                return Ok(true);
            }
            batch.push(outer.iter().chain(inner).cloned());
        }
        Ok(false)
    }

    /// Ends the current outer row: in the last block it comes alone if it had a partner in any block, or if it had none, as
    /// the kind says.
    fn end_row(&mut self, batch: &mut Batch) -> Result<()> {
        self.running = false;
        let wanted = match self.join.kind {
            NestedLoopKind::Inner => return Ok(()),
            NestedLoopKind::Semi => true,
            NestedLoopKind::Left | NestedLoopKind::Anti => false,
        };
        let is_matched = match &mut self.spilled {
            Some(Spilled { outer_matched, outer_number, is_last_block, .. }) => {
                outer_matched.note(*outer_number - 1, self.matched, *is_last_block)?
            }
            None => Some(self.matched),
        };
        if is_matched == Some(wanted) {
            batch.push(self.outer_rows.row(self.outer_place).iter().cloned());
        }
        Ok(())
    }
}

impl Operator for RangeJoinOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.block = None;
        self.spilled = None;
        self.outer_rows.truncate(0);
        self.outer_place = 0;
        self.running = false;
        self.inner.open(context)?;
        self.read_inner(context)?;
        self.outer.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        let inner_width = if self.join.kind.drops_inner() { 0 } else { self.join.inner.width() };
        batch.reset(self.join.outer.width() + inner_width);
        while !batch.is_full() {
            if !self.running && !self.advance(context, batch.limit())? {
                if !self.next_block(context)? {
                    break;
                }
                continue;
            }
            if self.emit(context, batch)? {
                self.end_row(batch)?;
            }
        }
        Ok(!batch.is_empty())
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        let is_volatile = self.join.condition.as_ref().is_some_and(Expression::is_volatile);
        if column < self.join.outer.width() && !is_volatile {
            self.outer.restrict(column, keys);
        }
    }
}

impl Spilled {
    /// Goes back to the first outer row.
    fn rewind_outer(&mut self) -> Result<()> {
        self.outer_number = 0;
        let stream = match self.outer.take() {
            None => return Ok(()),
            Some(OuterRows::First(kept)) => Arc::new(kept.finish()?),
            Some(OuterRows::Kept(stream, _)) => stream,
        };
        self.outer = Some(OuterRows::Kept(stream.clone(), stream.read()));
        Ok(())
    }
}

impl Block {
    fn new(width: usize, memory: Reservation) -> Block {
        Block {
            width,
            values: Vec::new(),
            keys: Vec::new(),
            second: Vec::new(),
            order: Vec::new(),
            tree: Vec::new(),
            memory,
        }
    }

    /// Takes a row's values out of it, if there is memory for them; false otherwise, with the row as it was. A row that can
    /// have no partner is left out.
    ///
    /// # Errors
    /// Those of its values; `virmemexh` if there is no memory even for one row.
    fn push(
        &mut self,
        join: &RangeJoin,
        row: &mut [Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<bool> {
        let key = join.key.evaluate(row, context)?;
        let second = match &join.beside {
            Some(beside) => Some(beside.key.evaluate(row, context)?),
            None => None,
        };
        // Nothing compares to NULL.
        if key.is_null() || second.as_ref().is_some_and(Value::is_null) {
            return Ok(true);
        }
        let has_second = usize::from(second.is_some());
        let values = room(&self.values, row.len())
            + room(&self.keys, 1)
            + if has_second == 1 { room(&self.second, 1) } else { 0 };
        // The order, room to sort it, and the tree.
        let places = room(&self.order, 1) * (2 + 4 * has_second);
        let needed = values * size_of::<Value>()
            + places * size_of::<u32>()
            + row.iter().chain([&key]).chain(&second).map(heap_bytes).sum::<usize>();
        if self.order.is_empty() {
            self.memory.grow(needed)?;
        } else if self.order.len() >= NONE as usize || !self.memory.try_grow(needed) {
            return Ok(false);
        }
        let number = self.order.len() as u32;
        extend_within(&mut self.values, row.len(), row.iter_mut().map(std::mem::take));
        extend_within(&mut self.keys, 1, [key]);
        extend_within(&mut self.second, has_second, second);
        extend_within(&mut self.order, 1, [number]);
        Ok(true)
    }

    /// Puts the rows in order, and makes the tree.
    fn put_in_order(&mut self, join: &RangeJoin, context: &ExecutionContext<'_>) -> Result<()> {
        let keys = &self.keys;
        let mut failure = None;
        let mut order = |left: &u32, right: &u32| {
            let pair = keys.get(*left as usize).zip(keys.get(*right as usize));
            let order = pair.map(|(left, right)| compare::compare(left, right, join.collation));
            order.unwrap_or(Ok(Ordering::Equal)).unwrap_or_else(|error| {
                failure = Some(error);
                Ordering::Equal
            })
        };
        sort_by(&mut self.order, &mut order, &context.session.interrupt)?;
        if let Some(error) = failure {
            return Err(error);
        }
        let Some(beside) = &join.beside else { return Ok(()) };
        let leaves = self.order.len().next_power_of_two();
        self.tree.clear();
        self.tree.resize(leaves, NONE);
        self.tree.extend(0..self.order.len() as u32);
        self.tree.resize(leaves * 2, NONE);
        for node in (1..leaves).rev() {
            context.check_interrupt()?;
            let (left, right) = (self.node(node * 2), self.node(node * 2 + 1));
            let is_right = match (self.second_at(left), self.second_at(right)) {
                (Some(left), Some(right)) => {
                    let order = compare::compare(left, right, beside.collation)?;
                    if beside.above { order.is_lt() } else { order.is_gt() }
                }
                _ => false,
            };
            if let Some(place) = self.tree.get_mut(node) {
                *place = if is_right { right } else { left };
            }
        }
        Ok(())
    }

    fn node(&self, number: usize) -> u32 {
        self.tree.get(number).copied().unwrap_or(NONE)
    }

    /// The second value of the row at a place in order.
    fn second_at(&self, place: u32) -> Option<&Value> {
        self.second.get(*self.order.get(place as usize)? as usize)
    }

    fn row(&self, number: u32) -> &[Value] {
        let number = number as usize;
        self.values.get(number * self.width..(number + 1) * self.width).unwrap_or_default()
    }

    /// The first place in order whose value is not below another, or, `behind`, is above it.
    fn first_not_before(&self, value: &Value, behind: bool, collation: Collation) -> Result<usize> {
        let (mut low, mut high) = (0, self.order.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let key = self.order.get(middle).and_then(|number| self.keys.get(*number as usize));
            let order = key.map_or(Ok(Ordering::Less), |key| compare::compare(key, value, collation))?;
            if order.is_lt() || behind && order.is_eq() { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The first place from one on, before another, whose second value is as it should be.
    fn first_that(
        &self,
        from: usize,
        end: usize,
        is_met: &dyn Fn(&Value) -> Result<bool>,
    ) -> Result<Option<usize>> {
        let leaves = self.tree.len() / 2;
        let has_one = |node: usize| self.second_at(self.node(node)).map_or(Ok(false), is_met);
        let mut place = from;
        while place < end {
            // The largest node whose leaves begin here: none of them, or the first of those that it leads to.
            let mut width = 1 << place.trailing_zeros().min(leaves.trailing_zeros());
            let mut node = (leaves + place) / width;
            if !has_one(node)? {
                place += width;
                continue;
            }
            while node < leaves {
                node *= 2;
                width /= 2;
                if !has_one(node)? {
                    node += 1;
                    place += width;
                }
            }
            return Ok(Some(place).filter(|place| *place < end));
        }
        Ok(None)
    }

    /// Drops all rows and gives their memory back.
    fn clear(&mut self) {
        self.values = Vec::new();
        self.keys = Vec::new();
        self.second = Vec::new();
        self.order = Vec::new();
        self.tree = Vec::new();
        self.memory.clear();
    }
}

fn is_met(beside: &RangeBeside, second: &Value, value: &Value) -> Result<bool> {
    let order = compare::compare(second, value, beside.collation)?;
    let is_past = if beside.above { order.is_gt() } else { order.is_lt() };
    Ok(is_past || beside.bound.inclusive && order.is_eq())
}
