//! GROUP BY and aggregates.
//!
//! Groups are kept in memory and handed out in the order of their keys (as Firebird does too). When that is used up,
//! rows of further groups are sorted by key, in files if need be, and grouped as they are read.
//!
//! Over a table that is read in row order, keys and arguments are computed by columns; over anything else, and where
//! computing by columns fails, row by row.

use std::sync::Arc;

use farbird_budget::Reservation;
use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::Aggregate;
use farbird_types::{Result, Value};
use farbird_vector::{Column, Failed};

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::column_source::{COLUMN_ROWS_MAX, COLUMN_ROWS_MIN, ColumnSource};
use crate::groups::{CallColumns, Group, GroupTable};
use crate::key_filter::KeyFilter;
use crate::operator::{Build, Operator};
use crate::spill::{Sorted, Sorter};
use crate::vector::{Program, Rows};

pub(crate) use crate::groups::RunningCall;

/// Groups rows.
pub(crate) struct AggregateOperator {
    aggregate: Arc<Aggregate>,
    input: Input,
    groups: std::vec::IntoIter<(Vec<u8>, Group)>,
    /// The next group of those in memory.
    head: Option<(Vec<u8>, Group)>,
    /// What those are charged to.
    memory: Option<Reservation>,
    /// Rows of groups that had no place in memory.
    overflow: Sorted,
    /// The first row of the next group of those.
    overflow_head: Option<(Vec<u8>, Vec<Value>)>,
    filled: bool,
}

/// Where the rows come from.
enum Input {
    Rows(Box<dyn Operator>),
    Columns(Box<ColumnSource>),
}

impl AggregateOperator {
    pub(crate) fn new(aggregate: &Arc<Aggregate>, build: Build) -> AggregateOperator {
        let input = match ColumnSource::of(&aggregate.input) {
            Some(source) if can_use_columns(aggregate, &source) => Input::Columns(Box::new(source)),
            _ => Input::Rows(build(&aggregate.input)),
        };
        AggregateOperator {
            input,
            groups: Vec::new().into_iter(),
            head: None,
            memory: None,
            overflow: Sorted::empty(),
            overflow_head: None,
            filled: false,
            aggregate: aggregate.clone(),
        }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut filling = Filling {
            aggregate: &self.aggregate,
            groups: GroupTable::new(&self.aggregate, context.budget.reserve()),
            overflow: Sorter::new(false, &context.budget),
        };
        match &mut self.input {
            Input::Rows(input) => {
                let mut batch = Batch::new(self.aggregate.input.width(), BATCH_ROWS_MAX);
                while input.next(context, &mut batch)? {
                    for row in batch.rows() {
                        context.check_interrupt()?;
                        filling.add_row(row, context)?;
                    }
                }
            }
            Input::Columns(source) => {
                let mut programs = None;
                while source.next(context, COLUMN_ROWS_MAX)? {
                    filling.add_columns(source, &mut programs, context)?;
                }
                source.clear();
            }
        }
        self.memory = Some(filling.groups.take_memory());
        self.groups = filling.groups.into_ordered(&context.session.interrupt)?.into_iter();
        self.head = self.groups.next();
        self.overflow = filling.overflow.finish(&context.session.interrupt)?;
        self.overflow_head = self.overflow.next(&context.session.interrupt)?;
        self.filled = true;
        Ok(())
    }

    /// The next group in the order of the keys. Groups in memory and those of the overflow have no key in common.
    fn next_group(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let from_memory = match (&self.head, &self.overflow_head) {
            (None, None) => return Ok(None),
            (Some((memory, _)), Some((overflow, _))) => memory < overflow,
            (memory, _) => memory.is_some(),
        };
        if from_memory {
            let next = self.groups.next();
            if next.is_none() {
                self.memory = None;
            }
            return match std::mem::replace(&mut self.head, next) {
                Some((_, group)) => group.finish(context).map(Some),
                None => Ok(None),
            };
        }
        let aggregate = self.aggregate.clone();
        let Some((key, row)) = self.overflow_head.take() else { return Ok(None) };
        let keys: Result<_> = aggregate.keys.iter().map(|part| part.value.evaluate(&row, context)).collect();
        let keys = keys?;
        let mut group = Group::start(&aggregate, keys);
        group.add(&aggregate, &row, context)?;
        loop {
            context.check_interrupt()?;
            self.overflow_head = self.overflow.next(&context.session.interrupt)?;
            match &self.overflow_head {
                Some((next_key, row)) if *next_key == key => group.add(&aggregate, row, context)?,
                _ => return group.finish(context).map(Some),
            }
        }
    }
}

/// Groups being filled.
struct Filling<'a> {
    aggregate: &'a Arc<Aggregate>,
    groups: GroupTable,
    overflow: Sorter,
}

impl Filling<'_> {
    fn add_row(&mut self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<()> {
        let (keys, order) = self.groups.keys_of(row, context)?;
        if !self.groups.add_row(keys, &order, row, context)? {
            self.overflow.push(&order, row.iter().cloned(), &context.session.interrupt)?;
        }
        Ok(())
    }

    /// Takes the rows at hand of a source.
    fn add_columns(
        &mut self,
        source: &mut ColumnSource,
        programs: &mut Option<AggregatePrograms>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        let count = source.selection().len();
        if programs.is_none() && count >= COLUMN_ROWS_MIN {
            *programs = AggregatePrograms::compile(self.aggregate, source, context);
        }
        let left = match programs {
            None => Err(Failed),
            Some(programs) => {
                let rows = source.rows(programs.columns.iter().copied())?;
                match programs.run(&rows, context) {
                    Ok((keys, calls)) => Ok(self.groups.add_columns(count, &keys, &calls, context)?),
                    Err(Failed) => Err(Failed),
                }
            }
        };
        match left {
            Ok(left) if left.is_empty() => Ok(()),
            Ok(left) => {
                let mut values = Vec::new();
                source.read_some(&left, &mut values)?;
                let width = source.width();
                (0..left.len()).try_for_each(|index| {
                    context.check_interrupt()?;
                    let row = values.get(index * width..(index + 1) * width).unwrap_or_default();
                    let (_, order) = self.groups.keys_of(row, context)?;
                    self.overflow.push(&order, row.iter().cloned(), &context.session.interrupt)
                })
            }
            Err(Failed) => {
                let mut values = Vec::new();
                source.read(0..count, &mut values)?;
                let width = source.width();
                (0..count).try_for_each(|index| {
                    context.check_interrupt()?;
                    let row = values.get(index * width..(index + 1) * width).unwrap_or_default();
                    self.add_row(row, context)
                })
            }
        }
    }
}

/// Keys and arguments, compiled.
struct AggregatePrograms {
    keys: Vec<Program>,
    /// Arguments and FILTER of each call.
    calls: Vec<(Vec<Program>, Option<Program>)>,
    columns: Vec<usize>,
}

impl AggregatePrograms {
    fn compile(
        aggregate: &Aggregate,
        source: &ColumnSource,
        context: &mut ExecutionContext<'_>,
    ) -> Option<AggregatePrograms> {
        let types = source.types();
        let mut values = |expressions: &mut dyn Iterator<Item = &Expression>| -> Option<Vec<Program>> {
            expressions.map(|expression| Program::value(expression, types, context)).collect()
        };
        let keys = values(&mut aggregate.keys.iter().map(|key| &key.value))?;
        let mut calls = Vec::with_capacity(aggregate.calls.len());
        for call in &aggregate.calls {
            calls.push((values(&mut call.arguments.iter())?, None));
        }
        for ((_, filter), call) in calls.iter_mut().zip(&aggregate.calls) {
            if let Some(condition) = &call.filter {
                *filter = Some(Program::condition(condition, types, context)?);
            }
        }
        let programs =
            keys.iter().chain(calls.iter().flat_map(|(arguments, filter)| arguments.iter().chain(filter)));
        let columns = programs.flat_map(|program| program.columns().iter().copied()).collect();
        Some(AggregatePrograms { keys, calls, columns })
    }

    fn run<'a>(
        &self,
        rows: &Rows<'a>,
        context: &mut ExecutionContext<'_>,
    ) -> std::result::Result<(Vec<Column<'a>>, Vec<CallColumns<'a>>), Failed> {
        let mut run = |programs: &[Program]| -> std::result::Result<Vec<Column<'a>>, Failed> {
            programs.iter().map(|program| program.run(rows, context)).collect()
        };
        let keys = run(&self.keys)?;
        let mut calls = Vec::with_capacity(self.calls.len());
        for (arguments, filter) in &self.calls {
            calls.push(CallColumns { arguments: run(arguments)?, filter: None });
            if let (Some(filter), Some(call)) = (filter, calls.last_mut()) {
                call.filter = match run(std::slice::from_ref(filter))?.pop() {
                    Some(Column::Truths(truths)) => Some(truths),
                    _ => return Err(Failed),
                };
            }
        }
        Ok((keys, calls))
    }
}

/// Whether all that is computed of the rows can be computed by columns.
fn can_use_columns(aggregate: &Aggregate, source: &ColumnSource) -> bool {
    let arguments = aggregate.calls.iter().flat_map(|call| call.arguments.iter().chain(&call.filter));
    aggregate.keys.iter().map(|key| &key.value).chain(arguments).all(|expression| {
        let mut is_there = true;
        expression.for_each_column(&mut |position| is_there &= position < source.types().len());
        is_there && !expression.is_volatile()
    })
}

impl Operator for AggregateOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.groups = Vec::new().into_iter();
        self.head = None;
        self.memory = None;
        self.overflow = Sorted::empty();
        self.overflow_head = None;
        match &mut self.input {
            Input::Rows(input) => input.open(context),
            Input::Columns(source) => source.open(context),
        }
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        let is_volatile = {
            let arguments =
                self.aggregate.calls.iter().flat_map(|call| call.arguments.iter().chain(&call.filter));
            self.aggregate.keys.iter().map(|key| &key.value).chain(arguments).any(Expression::is_volatile)
        };
        // Whole groups are left out.
        let key = self.aggregate.keys.get(column).filter(|_| !is_volatile);
        if let Some(Expression::Column(position)) = key.map(|key| &key.value) {
            match &mut self.input {
                Input::Rows(input) => input.restrict(*position, keys),
                Input::Columns(source) => source.restrict(*position, keys),
            }
        }
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.aggregate.keys.len() + self.aggregate.calls.len());
        if !self.filled {
            self.fill(context)?;
        }
        while !batch.is_full() {
            let Some(row) = self.next_group(context)? else { break };
            batch.push(row);
        }
        Ok(!batch.is_empty())
    }
}
