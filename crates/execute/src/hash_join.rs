//! Hash joins: of inputs that fit in memory, and of those that do not.
//!
//! The inner side is read into a table in memory. If it does not fit, both sides are divided by the hashes of their keys
//! into partitions in temporary files, and each pair of partitions is joined by itself; a pair that is still too large is
//! divided again. What cannot be divided because it is (nearly) all of one key is joined by blocks: as many inner rows as
//! fit, against all outer rows of the partition.
//!
//! While the inner side fits and the outer one comes by columns all is done by columns ([`crate::column_join`]); what is divided
//! is rows.
//!
//! # Promises
//! - Each side is read once, however large it is: what its rows do when they are made happens once.
//! - Rows come in the order of the outer side while the inner one fits in memory, else in no particular order.

use std::hash::RandomState;
use std::sync::Arc;

use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::{Access, HashJoin, HashJoinKind, JoinKey, Node, RowSet};
use farbird_types::{Error, Result, Value, compare};
use farbird_vector::Vectors;

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::column_join::ColumnJoin;
use crate::column_source::COLUMN_ROWS_MAX;
use crate::in_order::for_each;
use crate::join_table::{HashedKey, JoinTable};
use crate::key_filter::KeyFilter;
use crate::matched_rows::MatchedRows;
use crate::operator::{Build, Operator};
use crate::row_stream::{RowReader, RowStream, RowWriter, StreamFile};
use crate::stage::{Stage, Stretch};

/// Into how many partitions rows are divided at a time; a power of two.
const PARTITIONS: usize = 16;

/// How often: 16^5 partitions of what fits in memory are more than any disk holds.
const LEVELS_MAX: u32 = 5;

/// A partition with more of the rows it was made from than this part of four was hardly divided: another time will not
/// help either.
const HARDLY_DIVIDED_QUARTERS: u64 = 3;

/// By how much more rows are joined each time for those who take them one by one, and most.
const JOINED_GROWTH: usize = 4;
const JOINED_ROWS_MAX: usize = 1_024;

/// Joins by a table of the inner side's rows.
pub(crate) struct HashJoinOperator {
    join: Arc<HashJoin>,
    outer: Box<dyn Operator>,
    inner: Box<dyn Operator>,
    /// The join by columns, if that is possible, and whether it runs since the operator was opened.
    columns: Option<Box<ColumnJoin>>,
    by_columns: bool,
    /// Rows that it has joined and that are to be handed out one by one, and how many have been; how many are joined next.
    joined: Vectors,
    joined_place: usize,
    joined_next: Option<usize>,
    /// What follows rows that were joined one by one and handed out by columns.
    error: Option<Error>,
    hashing: RandomState,
    table: Option<JoinTable>,
    /// What the rows of the outer side are divided into, while they are still to be read; the inner side has been.
    dividing: Option<Division>,
    /// Pairs of partitions that are still to be joined.
    partitions: Vec<Partition>,
    /// The pair that is being joined; none while both sides are in memory.
    current: Option<Joining>,
    outer_rows: Batch,
    outer_place: usize,
    /// Key of the current outer row, and its candidate that is to be tried next.
    key: HashedKey,
    candidate: Option<u32>,
    /// Whether the current outer row is being joined, and whether it has had a partner.
    running: bool,
    matched: bool,
    /// How far the rows in the table that come by themselves have been handed out; `None` before that.
    inner_from: Option<usize>,
}

/// Rows of both sides whose keys have the same hashes as far as they have been looked at.
struct Partition {
    outer: Arc<RowStream>,
    inner: Arc<RowStream>,
    /// How often its rows have been divided.
    level: u32,
    /// Whether dividing it again makes sense.
    divisible: bool,
}

/// A partition being joined, a block of its inner rows at a time.
struct Joining {
    outer: Arc<RowStream>,
    outer_rows: RowReader,
    inner_rows: RowReader,
    /// The inner row that was read and had no room in the block.
    left_over: Option<Vec<Value>>,
    /// Whether the block at hand is the last one.
    is_last_block: bool,
    /// Number of the current outer row, from 1, and which had a partner in an earlier block.
    outer_number: usize,
    outer_matched: MatchedRows,
}

/// Rows being divided.
struct Division {
    outer: Vec<RowWriter>,
    inner: Vec<RowWriter>,
    level: u32,
}

impl HashJoinOperator {
    pub(crate) fn new(join: &Arc<HashJoin>, build: Build) -> HashJoinOperator {
        let outer = build(&join.outer);
        let columns = ColumnJoin::of(join).filter(|_| outer.has_vectors()).map(Box::new);
        let mut operator = HashJoinOperator {
            outer,
            inner: build(&join.inner),
            columns,
            by_columns: false,
            joined: Vectors::default(),
            joined_place: 0,
            joined_next: None,
            error: None,
            hashing: RandomState::new(),
            table: None,
            dividing: None,
            partitions: Vec::new(),
            current: None,
            outer_rows: Batch::default(),
            outer_place: 0,
            key: HashedKey::default(),
            candidate: None,
            running: false,
            matched: false,
            inner_from: None,
            join: join.clone(),
        };
        operator.tell_wanted();
        operator
    }

    /// Tells both sides which of their columns are looked at.
    fn tell_wanted(&mut self) {
        if let Some(columns) = &self.columns {
            self.outer.want(&columns.wanted_outer());
            self.inner.want(&columns.wanted_inner());
        }
    }

    /// Reads the inner side, by columns as long as it has room.
    fn read_inner_columns(
        &mut self,
        join: &mut ColumnJoin,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        join.open(context.budget.reserve());
        let wanted = join.wanted_inner();
        let mut division: Option<Division> = None;
        let (plan, hashing) = (&self.join, &self.hashing);
        let mut take = |rows: Vectors, context: &mut ExecutionContext<'_>| -> Result<()> {
            if let Some(division) = &mut division {
                return divide_inner(plan, hashing, &rows, division, context);
            }
            let Some(parts) = join.push_inner(rows, context)? else { return Ok(()) };
            let started = division.insert(Division::new(0, context)?);
            parts.into_iter().try_for_each(|rows| divide_inner(plan, hashing, &rows, started, context))
        };
        if self.inner.has_vectors() {
            for_each(self.inner.as_mut(), COLUMN_ROWS_MAX, context, take)?;
        } else {
            let mut batch = Batch::new(self.join.inner.width(), BATCH_ROWS_MAX);
            while self.inner.next(context, &mut batch)? {
                take(Vectors::of_rows(batch.len(), batch.values(), &wanted), context)?;
            }
        }
        self.by_columns = division.is_none();
        match division {
            Some(_) => self.table = Some(self.new_table(context)),
            None => join.end_inner(),
        }
        self.dividing = division;
        Ok(())
    }

    /// Hands out rows that were joined by columns.
    fn next_joined(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        if self.joined_place >= self.joined.len() {
            self.joined_place = 0;
            let rows_max = self.joined_next.unwrap_or(batch.limit());
            self.joined_next = Some((rows_max * JOINED_GROWTH).min(JOINED_ROWS_MAX));
            let Some(columns) = &mut self.columns else { return Ok(false) };
            if !columns.next(self.outer.as_mut(), context, rows_max, &mut self.joined)? {
                return Ok(false);
            }
        }
        while !batch.is_full() && self.joined_place < self.joined.len() {
            let (row, width) = (self.joined_place, self.joined.width());
            batch.push((0..width).map(|position| self.joined.value(row, position)));
            self.joined_place += 1;
        }
        Ok(true)
    }

    /// Reads the inner side, into the table while it has room.
    fn read_inner(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut table = JoinTable::new(self.join.inner.width(), context.budget.reserve());
        let mut division: Option<Division> = None;
        let mut batch = Batch::new(self.join.inner.width(), BATCH_ROWS_MAX);
        while self.inner.next(context, &mut batch)? {
            for index in 0..batch.len() {
                context.check_interrupt()?;
                let key = self.key_of_inner(batch.row(index), context)?;
                // A row whose key is NULL has no partner; FULL JOIN and its like hand it out all the same.
                if key.is_none() && !self.join.kind.keeps_inner() {
                    continue;
                }
                if let Some(division) = &mut division {
                    division.push_inner(key.as_ref(), batch.row(index))?;
                } else if !table.push(key.as_ref(), batch.row_mut(index))? {
                    let mut started = Division::new(0, context)?;
                    self.divide_table(&mut table, &mut started, context)?;
                    started.push_inner(key.as_ref(), batch.row(index))?;
                    division = Some(started);
                }
            }
        }
        self.table = Some(table);
        self.dividing = division;
        Ok(())
    }

    /// Tells the outer side which keys there are, if rows without a partner are dropped.
    fn restrict_outer(&mut self, context: &ExecutionContext<'_>) {
        if self.dividing.is_some()
            || self.join.kind.keeps_outer()
            || self.join.condition.as_ref().is_some_and(Expression::is_volatile)
        {
            return;
        }
        let in_columns =
            self.columns.as_ref().filter(|_| self.by_columns).and_then(|columns| columns.table());
        let keeps = reads_by_keys(&self.join.outer);
        for (part, (of_outer, of_inner)) in self.join.outer_keys.iter().zip(&self.join.inner_keys).enumerate()
        {
            let (Expression::Column(outer), Expression::Column(inner)) = (&of_outer.value, &of_inner.value)
            else {
                continue;
            };
            let memory = context.budget.reserve();
            let filter = match (in_columns, &self.table) {
                (Some(table), _) if table.len() == 0 => {
                    KeyFilter::of_numbers(None, std::iter::empty(), keeps, memory)
                }
                (Some(table), _) => table
                    .keys()
                    .numbers(part)
                    .and_then(|(unit, numbers)| KeyFilter::of_numbers(Some(unit), numbers, keeps, memory)),
                (None, Some(table)) => {
                    let keys = (0..table.len()).filter_map(|number| table.row(number).get(*inner));
                    KeyFilter::of(keys, keeps, memory)
                }
                (None, None) => None,
            };
            if let Some(keys) = filter {
                self.outer.restrict(*outer, &Arc::new(keys));
            }
        }
    }

    /// Moves the rows of a table into partitions.
    fn divide_table(
        &self,
        table: &mut JoinTable,
        division: &mut Division,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        for number in 0..table.len() {
            context.check_interrupt()?;
            let key = self.key_of_inner(table.row(number), context)?;
            division.push_inner(key.as_ref(), table.row(number))?;
        }
        table.clear();
        Ok(())
    }

    /// Reads the outer side into partitions.
    fn divide_outer(&mut self, mut division: Division, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut batch = Batch::new(self.join.outer.width(), BATCH_ROWS_MAX);
        while self.outer.next(context, &mut batch)? {
            for index in 0..batch.len() {
                context.check_interrupt()?;
                self.divide_outer_row(batch.row(index), &mut division, context)?;
            }
        }
        division.finish(&mut self.partitions)
    }

    fn divide_outer_row(
        &self,
        row: &[Value],
        division: &mut Division,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        let key = self.key_of_outer(row, context)?;
        match key {
            None if !self.join.kind.keeps_outer() => Ok(()),
            key => division.push_outer(key.as_ref(), row),
        }
    }

    /// Goes on to the next block of inner rows, or to the next partition; false when there are none.
    fn next_block(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        self.inner_from = None;
        self.outer_rows.truncate(0);
        self.outer_place = 0;
        if let Some(table) = &mut self.table {
            table.clear();
        }
        loop {
            if let Some(current) = &mut self.current
                && !current.is_last_block
            {
                current.outer_rows = current.outer.read();
                current.outer_number = 0;
                self.fill_block(context)?;
                return Ok(true);
            }
            self.current = None;
            let Some(partition) = self.partitions.pop() else { return Ok(false) };
            if self.is_pointless(&partition) {
                continue;
            }
            self.current = Some(Joining {
                outer_rows: partition.outer.read(),
                inner_rows: partition.inner.read(),
                outer: Arc::clone(&partition.outer),
                left_over: None,
                is_last_block: false,
                outer_number: 0,
                outer_matched: MatchedRows::new(context.budget.reserve()),
            });
            self.fill_block(context)?;
            let fits = self.current.as_ref().is_some_and(|current| current.is_last_block);
            if fits || !partition.divisible || partition.level >= LEVELS_MAX {
                return Ok(true);
            }
            self.divide_again(&partition, context)?;
        }
    }

    /// Whether a partition has no rows that would be handed out.
    fn is_pointless(&self, partition: &Partition) -> bool {
        let (outer, inner) = (partition.outer.rows(), partition.inner.rows());
        match self.join.kind {
            HashJoinKind::Inner | HashJoinKind::Semi | HashJoinKind::InnerSemi => outer == 0 || inner == 0,
            HashJoinKind::Left | HashJoinKind::Anti => outer == 0,
            HashJoinKind::Right | HashJoinKind::InnerAnti => inner == 0,
            HashJoinKind::Full => false,
        }
    }

    /// Fills the table with the next inner rows of the current partition.
    fn fill_block(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let mut table = self.table.take().unwrap_or_else(|| self.new_table(context));
        loop {
            context.check_interrupt()?;
            let row = match current.left_over.take() {
                Some(row) => Some(row),
                None => current.inner_rows.next()?.map(|(_, row)| row),
            };
            let Some(mut row) = row else {
                current.is_last_block = true;
                break;
            };
            let key = self.key_of_inner(&row, context)?;
            if !table.push(key.as_ref(), &mut row)? {
                current.left_over = Some(row);
                break;
            }
        }
        self.table = Some(table);
        self.current = Some(current);
        Ok(())
    }

    /// Divides the current partition, whose first rows are in the table, into smaller ones.
    fn divide_again(&mut self, partition: &Partition, context: &mut ExecutionContext<'_>) -> Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let mut table = self.table.take().unwrap_or_else(|| self.new_table(context));
        let mut division = Division::new(partition.level + 1, context)?;
        self.divide_table(&mut table, &mut division, context)?;
        self.table = Some(table);
        let mut left_over = current.left_over.take();
        while let Some(row) = match left_over.take() {
            Some(row) => Some(row),
            None => current.inner_rows.next()?.map(|(_, row)| row),
        } {
            context.check_interrupt()?;
            let key = self.key_of_inner(&row, context)?;
            division.push_inner(key.as_ref(), &row)?;
        }
        while let Some((_, row)) = current.outer_rows.next()? {
            context.check_interrupt()?;
            self.divide_outer_row(&row, &mut division, context)?;
        }
        division.finish(&mut self.partitions)
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
        if let Some(current) = &mut self.current {
            current.outer_number += 1;
        }
        let key = self.key_of_outer(self.outer_rows.row(self.outer_place), context)?;
        let table = self.table.as_ref();
        self.candidate = key.as_ref().and_then(|key| table?.first(key));
        self.key = key.unwrap_or_default();
        self.running = true;
        self.matched = false;
        Ok(true)
    }

    fn read_outer(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        let Some(current) = &mut self.current else {
            return self.outer.next(context, &mut self.outer_rows);
        };
        self.outer_rows.reset(self.join.outer.width());
        while !self.outer_rows.is_full()
            && let Some((_, row)) = current.outer_rows.next()?
        {
            self.outer_rows.push(row);
        }
        Ok(!self.outer_rows.is_empty())
    }

    /// Tries the candidates of the current outer row until the batch is full or they are through.
    fn emit(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<()> {
        let Some(table) = &mut self.table else { return Ok(()) };
        let kind = self.join.kind;
        let outer = self.outer_rows.row(self.outer_place);
        let mut pair: Vec<Value> = Vec::new();
        while !batch.is_full()
            && let Some(number) = self.candidate
        {
            context.check_interrupt()?;
            self.candidate = table.following(number, &self.key);
            // One partner is enough.
            if kind == HashJoinKind::InnerSemi && table.is_matched(number as usize) {
                continue;
            }
            let inner = table.row(number as usize);
            if let Some(condition) = &self.join.condition {
                pair.clear();
                pair.extend_from_slice(outer);
                pair.extend_from_slice(inner);
                if condition.truth(&pair, context)? != Some(true) {
                    continue;
                }
            }
            self.matched = true;
            if !kind.has_inner() {
                self.candidate = None;
                break;
            }
            if kind.has_outer() {
                batch.push(outer.iter().chain(inner).cloned());
            }
            table.set_matched(number);
        }
        Ok(())
    }

    /// Ends the current outer row: in the last block it comes alone if it had a partner in any block, or if it had none, as
    /// the kind says.
    fn end_row(&mut self, batch: &mut Batch) -> Result<()> {
        self.running = false;
        let wanted = match self.join.kind {
            HashJoinKind::Semi => true,
            HashJoinKind::Left | HashJoinKind::Full | HashJoinKind::Anti => false,
            _ => return Ok(()),
        };
        let is_matched = match &mut self.current {
            Some(Joining { outer_matched, outer_number, is_last_block, .. }) => {
                outer_matched.note(*outer_number - 1, self.matched, *is_last_block)?
            }
            None => Some(self.matched),
        };
        if is_matched == Some(wanted) {
            batch.push(self.outer_rows.row(self.outer_place).iter().cloned());
        }
        Ok(())
    }

    /// The inner rows that had no partner, or those that had one, as the kind says.
    fn emit_inner(&mut self, from: usize, wanted: bool, batch: &mut Batch) {
        let Some(table) = &self.table else { return };
        let outer_width = if self.join.kind.has_outer() { self.join.outer.width() } else { 0 };
        let mut number = from;
        while !batch.is_full() && number < table.len() {
            if table.is_matched(number) == wanted {
                batch.push(
                    std::iter::repeat_n(Value::Null, outer_width).chain(table.row(number).iter().cloned()),
                );
            }
            number += 1;
        }
        self.inner_from = Some(number);
    }

    fn new_table(&self, context: &ExecutionContext<'_>) -> JoinTable {
        JoinTable::new(self.join.inner.width(), context.budget.reserve())
    }

    fn key_of_inner(&self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Option<HashedKey>> {
        key_of(&self.join.inner_keys, row, &self.hashing, context)
    }

    fn key_of_outer(&self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Option<HashedKey>> {
        key_of(&self.join.outer_keys, row, &self.hashing, context)
    }
}

/// Whether a side is a table that is read by the keys of the other one.
fn reads_by_keys(side: &Node) -> bool {
    match side {
        Node::Table(scan) => matches!(scan.access, Access::Rows(RowSet::Keys(_))),
        Node::Filter(filter) => reads_by_keys(&filter.input),
        _ => false,
    }
}

impl Operator for HashJoinOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.table = None;
        self.dividing = None;
        self.partitions.clear();
        self.current = None;
        self.outer_rows.truncate(0);
        self.outer_place = 0;
        self.running = false;
        self.inner_from = None;
        self.by_columns = false;
        self.joined = Vectors::default();
        self.joined_place = 0;
        self.joined_next = None;
        self.error = None;
        self.inner.open(context)?;
        match self.columns.take() {
            Some(mut columns) => {
                let read = self.read_inner_columns(&mut columns, context);
                self.columns = Some(columns);
                read?;
            }
            None => self.read_inner(context)?,
        }
        self.restrict_outer(context);
        self.outer.open(context)
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        if self.join.condition.as_ref().is_some_and(Expression::is_volatile) {
            return;
        }
        let kind = self.join.kind;
        let outer_width = if kind.has_outer() { self.join.outer.width() } else { 0 };
        match column.checked_sub(outer_width) {
            None if matches!(kind, HashJoinKind::Right | HashJoinKind::Full) => {}
            None => self.outer.restrict(column, keys),
            Some(_) if matches!(kind, HashJoinKind::Left | HashJoinKind::Full) => {}
            Some(column) => self.inner.restrict(column, keys),
        }
    }

    fn has_vectors(&self) -> bool {
        self.columns.is_some()
    }

    fn stage(&mut self, context: &mut ExecutionContext<'_>) -> Option<Box<dyn Stage>> {
        let join = self.columns.as_ref().filter(|_| self.by_columns)?.for_thread()?;
        Some(Box::new(JoinStage { outer: self.outer.stage(context)?, join, outer_part: None }))
    }

    fn want(&mut self, columns: &[bool]) {
        if let Some(join) = &mut self.columns {
            join.want(columns);
        }
        self.tell_wanted();
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        if self.by_columns
            && let Some(columns) = &mut self.columns
        {
            return columns.next(self.outer.as_mut(), context, rows_max, vectors);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut batch = Batch::new(self.join.width(), BATCH_ROWS_MAX);
        match self.next(context, &mut batch) {
            Err(error) if batch.is_empty() => return Err(error),
            Err(error) => self.error = Some(error),
            Ok(_) => {}
        }
        *vectors = Vectors::of_rows(batch.len(), batch.values(), &vec![true; batch.width()]);
        Ok(!vectors.is_empty())
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.join.width());
        if self.by_columns {
            return self.next_joined(context, batch);
        }
        if let Some(division) = self.dividing.take() {
            self.divide_outer(division, context)?;
            if !self.next_block(context)? {
                return Ok(false);
            }
        }
        while !batch.is_full() {
            let wanted = self.join.kind.hands_out_inner();
            if let (Some(from), Some(wanted)) = (self.inner_from, wanted) {
                self.emit_inner(from, wanted, batch);
                if batch.is_full() || !self.next_block(context)? {
                    break;
                }
            }
            if !self.running && !self.advance(context, batch.limit())? {
                if wanted.is_some() {
                    self.inner_from = Some(0);
                } else if !self.next_block(context)? {
                    break;
                }
                continue;
            }
            self.emit(context, batch)?;
            if self.candidate.is_none() {
                self.end_row(batch)?;
            }
        }
        Ok(!batch.is_empty())
    }
}

/// Divides rows of the inner side that came by columns.
fn divide_inner(
    join: &HashJoin,
    hashing: &RandomState,
    rows: &Vectors,
    division: &mut Division,
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    let mut row = Vec::new();
    for number in 0..rows.len() {
        context.check_interrupt()?;
        row.clear();
        rows.read_row(number, &mut row);
        let key = key_of(&join.inner_keys, &row, hashing, context)?;
        if key.is_some() || join.kind.keeps_inner() {
            division.push_inner(key.as_ref(), &row)?;
        }
    }
    Ok(())
}

/// A join by columns for one of several threads.
struct JoinStage {
    outer: Box<dyn Stage>,
    join: ColumnJoin,
    /// Whose rows are being joined; the join has those.
    outer_part: Option<Stretch>,
}

impl Stage for JoinStage {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Option<Stretch> {
        let mut outer = match self.outer_part.take() {
            Some(outer) => outer,
            None => {
                let mut outer = self.outer.next(context)?;
                let begun = self.join.begin_outer(std::mem::take(&mut outer.rows), context);
                if let Err(error) = begun {
                    return Some(Stretch { error: Some(error), ..outer });
                }
                outer
            }
        };
        let looked_at = std::mem::take(&mut outer.looked_at);
        let (rows, error) = self.join.join_more(COLUMN_ROWS_MAX, context);
        if error.is_some() || !self.join.is_joining() {
            return Some(Stretch { rows, looked_at, error: error.or(outer.error), ..outer });
        }
        let number = outer.number;
        self.outer_part = Some(outer);
        Some(Stretch { number, is_last: false, rows, looked_at, error: None })
    }

    fn another(&self) -> Option<Box<dyn Stage>> {
        let (outer, join) = (self.outer.another()?, self.join.for_thread()?);
        Some(Box::new(JoinStage { outer, join, outer_part: None }))
    }
}

impl Division {
    fn new(level: u32, context: &ExecutionContext<'_>) -> Result<Division> {
        let writers = || -> Result<Vec<RowWriter>> {
            let file = StreamFile::new(&context.budget)?;
            Ok((0..PARTITIONS).map(|_| file.writer()).collect())
        };
        Ok(Division { outer: writers()?, inner: writers()?, level })
    }

    fn push_outer(&mut self, key: Option<&HashedKey>, row: &[Value]) -> Result<()> {
        push_to(&mut self.outer, self.level, key, row)
    }

    fn push_inner(&mut self, key: Option<&HashedKey>, row: &[Value]) -> Result<()> {
        push_to(&mut self.inner, self.level, key, row)
    }

    /// Appends the partitions, the first one last: that is where the next one is taken from.
    fn finish(self, partitions: &mut Vec<Partition>) -> Result<()> {
        let inner_rows: u64 = self.inner.iter().map(RowWriter::rows).sum();
        for (outer, inner) in self.outer.into_iter().zip(self.inner).rev() {
            let divisible = inner.rows() * 4 <= inner_rows * HARDLY_DIVIDED_QUARTERS;
            let (outer, inner) = (Arc::new(outer.finish()?), Arc::new(inner.finish()?));
            partitions.push(Partition { outer, inner, level: self.level, divisible });
        }
        Ok(())
    }
}

/// Rows without a key have no partner: any partition is right for them.
fn push_to(writers: &mut [RowWriter], level: u32, key: Option<&HashedKey>, row: &[Value]) -> Result<()> {
    // The highest bits of the hash, for each level others; the table uses the lowest ones.
    let bits = PARTITIONS.trailing_zeros();
    let partition = key.map_or(0, |key| (key.hash >> (u64::BITS - bits * (level + 1))) as usize % PARTITIONS);
    match writers.get_mut(partition) {
        Some(writer) => writer.push(&[], row),
        None => Ok(()),
    }
}

/// The key of a row; `None` if any part is NULL, which equals nothing.
fn key_of(
    keys: &[JoinKey],
    row: &[Value],
    hashing: &RandomState,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<HashedKey>> {
    let mut bytes = Vec::with_capacity(keys.len() * 9);
    for key in keys {
        let value = key.value.evaluate(row, context)?;
        if value.is_null() {
            return Ok(None);
        }
        compare::equality_key(&value, key.collation, &mut bytes);
    }
    Ok(Some(HashedKey::new(bytes, hashing)))
}
