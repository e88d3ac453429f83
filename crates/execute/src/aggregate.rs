//! GROUP BY and aggregates.
//!
//! Groups are kept in memory and handed out in the order of their keys (as Firebird does too), but where aggregates of all of them
//! cannot tell. When that is used up, rows of further groups are sorted by key, in files if need be, and grouped as they are read.
//!
//! Of rows that come by columns keys and arguments are computed by columns, by any thread, before one thread groups the rows in their
//! order; of others, and where computing by columns fails, row by row.

use std::sync::Arc;

use farbird_budget::Reservation;
use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::{Aggregate, AggregateCall};
use farbird_types::{ExactWidth, Result, SqlType, Value};
use farbird_vector::{Column, Failed, Vectors};

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::column_source::{COLUMN_ROWS_MAX, COLUMN_ROWS_MIN};
use crate::groups::{CallColumns, Group, GroupTable, OrderedGroups};
use crate::in_order::{Prepared, for_each, for_each_prepared};
use crate::join_columns::bytes_of;
use crate::key_filter::KeyFilter;
use crate::operator::{Build, Operator};
use crate::spill::{Sorted, Sorter, helping_threads};
use crate::stage::is_for_any_thread;
use crate::vector::{ColumnKind, Program, Rows};

pub(crate) use crate::groups::RunningCall;

/// Groups rows.
pub(crate) struct AggregateOperator {
    aggregate: Arc<Aggregate>,
    input: Input,
    /// Those in memory.
    groups: Option<OrderedGroups>,
    /// What those are charged to.
    memory: Option<Reservation>,
    /// Rows of groups that had no place in memory.
    overflow: Sorted,
    /// The first row of the next group of those.
    overflow_head: Option<(Vec<u8>, Vec<Value>)>,
    /// Whether its own rows may come in any order.
    any_order: bool,
    filled: bool,
}

/// Where the rows come from.
enum Input {
    Rows(Box<dyn Operator>),
    /// By columns.
    Vectors(Box<dyn Operator>),
}

impl AggregateOperator {
    pub(crate) fn new(aggregate: &Arc<Aggregate>, build: Build) -> AggregateOperator {
        let mut input = build(&aggregate.input);
        input.want(&wanted(aggregate));
        if aggregate.keys.is_empty() && aggregate.calls.iter().all(is_of_any_order) {
            input.any_order();
        }
        let input = match input.has_vectors() && !is_volatile(aggregate) {
            true => Input::Vectors(input),
            false => Input::Rows(input),
        };
        AggregateOperator {
            input,
            groups: None,
            memory: None,
            overflow: Sorted::empty(),
            overflow_head: None,
            any_order: false,
            filled: false,
            aggregate: aggregate.clone(),
        }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut filling = Filling {
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
            Input::Vectors(input) => {
                let mut computing = Computing { aggregate: self.aggregate.clone(), programs: None };
                if expressions(&self.aggregate).all(is_for_any_thread) {
                    for_each_prepared(
                        input.as_mut(),
                        COLUMN_ROWS_MAX,
                        context,
                        move |vectors, context| Ok(computing.compute(vectors, context)),
                        |rows, context| filling.add_computed(&rows, context),
                    )?;
                } else {
                    for_each(input.as_mut(), COLUMN_ROWS_MAX, context, |vectors, context| {
                        filling.add_computed(&computing.compute(vectors, context), context)
                    })?;
                }
            }
        }
        self.memory = Some(filling.groups.take_memory());
        let permits =
            helping_threads(filling.groups.len(), context.session.parallel_workers(), &context.budget);
        let interrupt = &context.session.interrupt;
        self.groups = Some(match self.any_order && !filling.groups.has_errors() {
            true => filling.groups.into_unordered(),
            false => filling.groups.into_ordered(permits.len(), interrupt)?,
        });
        drop(permits);
        self.overflow = filling.overflow.finish(&context.session.interrupt)?;
        self.overflow_head = self.overflow.next(&context.session.interrupt)?;
        self.filled = true;
        Ok(())
    }

    /// The next group in the order of the keys. Groups in memory and those of the overflow have no key in common.
    fn next_group(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let from_memory = match (&mut self.groups, &self.overflow_head) {
            (None, None) => return Ok(None),
            (Some(groups), Some((overflow, _))) => {
                groups.next_key()?.is_some_and(|memory| memory < overflow.as_slice())
            }
            (groups, _) => groups.is_some(),
        };
        if from_memory && let Some(groups) = &mut self.groups {
            let row = groups.next(context)?;
            if groups.is_at_end() {
                self.groups = None;
                self.memory = None;
            }
            return Ok(row);
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
struct Filling {
    groups: GroupTable,
    overflow: Sorter,
}

impl Filling {
    fn add_row(&mut self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<()> {
        let (keys, order) = self.groups.keys_of(row, context)?;
        if !self.groups.add_row(keys, &order, row, context)? {
            self.overflow.push(&order, row.iter().cloned(), &context.session.interrupt)?;
        }
        Ok(())
    }

    /// Takes rows that an operator has handed out.
    fn add_computed(&mut self, rows: &ComputedRows, context: &mut ExecutionContext<'_>) -> Result<()> {
        context.check_interrupt()?;
        let vectors = &rows.vectors;
        let mut row = Vec::new();
        let Some((keys, calls)) = rows.columns() else {
            return (0..vectors.len()).try_for_each(|place| {
                context.check_interrupt()?;
                rows.read_row(place, &mut row);
                self.add_row(&row, context)
            });
        };
        for place in self.groups.add_columns(vectors.len(), &keys, &calls, context)? {
            context.check_interrupt()?;
            rows.read_row(place as usize, &mut row);
            let (_, order) = self.groups.keys_of(&row, context)?;
            self.overflow.push(&order, row.iter().cloned(), &context.session.interrupt)?;
        }
        Ok(())
    }
}

/// Computes keys and arguments of rows.
#[derive(Clone)]
struct Computing {
    aggregate: Arc<Aggregate>,
    /// Compiled for columns of these kinds.
    programs: Option<(Vec<ColumnKind>, Option<AggregatePrograms>)>,
}

/// Rows with what was computed of them.
struct ComputedRows {
    /// The rows' columns, and behind them those that were computed.
    vectors: Vectors,
    /// How many columns the rows have.
    width: usize,
    /// Where keys and arguments stand; `None`: they are to be computed row by row.
    places: Option<AggregatePlaces>,
}

/// Columns of keys, and of arguments and FILTER of each call.
struct AggregatePlaces {
    keys: Vec<usize>,
    calls: Vec<(Vec<usize>, Option<usize>)>,
}

impl Prepared for ComputedRows {
    fn size_bytes(&self) -> usize {
        bytes_of(&self.vectors)
    }
}

impl ComputedRows {
    fn columns(&self) -> Option<(Vec<Column<'_>>, Vec<CallColumns<'_>>)> {
        let AggregatePlaces { keys, calls } = self.places.as_ref()?;
        let columns = |places: &[usize]| -> Option<Vec<Column<'_>>> {
            places.iter().map(|place| Some(self.vectors.column(*place)?.borrowed())).collect()
        };
        let call = |(arguments, filter): &(Vec<usize>, Option<usize>)| {
            let filter = match filter.map(|place| self.vectors.column(place)) {
                None => None,
                Some(Some(Column::Truths(truths))) => Some(truths.clone()),
                Some(_) => return None,
            };
            Some(CallColumns { arguments: columns(arguments)?, filter })
        };
        Some((columns(keys)?, calls.iter().map(call).collect::<Option<_>>()?))
    }

    /// The values of a row, which take the place of what is in `row`.
    fn read_row(&self, place: usize, row: &mut Vec<Value>) {
        row.clear();
        row.extend((0..self.width).map(|position| self.vectors.value(place, position)));
    }
}

impl Computing {
    fn compute(&mut self, vectors: Vectors, context: &mut ExecutionContext<'_>) -> ComputedRows {
        let width = vectors.width();
        let kinds = ColumnKind::of_vectors(&vectors);
        let is_compiled = self.programs.as_ref().is_some_and(|(compiled, _)| *compiled == kinds);
        if !is_compiled && vectors.len() < COLUMN_ROWS_MIN {
            self.programs = None;
        } else if !is_compiled {
            let compiled = AggregatePrograms::compile(&self.aggregate, &kinds, context);
            self.programs = Some((kinds, compiled));
        }
        let computed = match &self.programs {
            Some((_, Some(programs))) => programs.run(&vectors, context),
            _ => Err(Failed),
        };
        match computed {
            Ok((more, places)) => {
                let rows = vectors.len();
                let mut columns = vectors.into_columns();
                columns.extend(more.into_iter().map(Some));
                ComputedRows { vectors: Vectors::new(rows, columns), width, places: Some(places) }
            }
            Err(Failed) => ComputedRows { vectors, width, places: None },
        }
    }
}

/// Keys and arguments, compiled.
#[derive(Clone)]
struct AggregatePrograms {
    keys: Vec<Source>,
    /// Arguments and FILTER of each call.
    calls: Vec<(Vec<Source>, Option<Program>)>,
}

/// Where values come from.
#[derive(Clone)]
enum Source {
    /// They are a column of the rows.
    Column(usize),
    Program(Box<Program>),
}

impl AggregatePrograms {
    fn compile(
        aggregate: &Aggregate,
        kinds: &[ColumnKind],
        context: &mut ExecutionContext<'_>,
    ) -> Option<AggregatePrograms> {
        let mut sources = |expressions: &mut dyn Iterator<Item = &Expression>| -> Option<Vec<Source>> {
            let source = |expression: &Expression| match expression {
                Expression::Column(position) => Some(Source::Column(*position)),
                _ => Some(Source::Program(Box::new(Program::value(expression, kinds, context)?))),
            };
            expressions.map(source).collect()
        };
        let keys = sources(&mut aggregate.keys.iter().map(|key| &key.value))?;
        let mut calls = Vec::with_capacity(aggregate.calls.len());
        for call in &aggregate.calls {
            calls.push((sources(&mut call.arguments.iter())?, None));
        }
        for ((_, filter), call) in calls.iter_mut().zip(&aggregate.calls) {
            if let Some(condition) = &call.filter {
                *filter = Some(Program::condition(condition, kinds, context)?);
            }
        }
        Some(AggregatePrograms { keys, calls })
    }

    /// The columns that are computed of rows, to stand behind theirs, and where all of them stand then.
    fn run(
        &self,
        vectors: &Vectors,
        context: &mut ExecutionContext<'_>,
    ) -> std::result::Result<(Vec<Column<'static>>, AggregatePlaces), Failed> {
        let rows = Rows::of(vectors);
        let mut computed = Vec::new();
        let mut run = |program: &Program| -> std::result::Result<usize, Failed> {
            computed.push(program.run(&rows, context)?.into_owned(vectors.len()));
            Ok(vectors.width() + computed.len() - 1)
        };
        let mut places = |sources: &[Source]| -> std::result::Result<Vec<usize>, Failed> {
            let place = |source: &Source| match source {
                Source::Column(position) => vectors.column(*position).map(|_| *position).ok_or(Failed),
                Source::Program(program) => run(program),
            };
            sources.iter().map(place).collect()
        };
        let keys = places(&self.keys)?;
        let mut calls = Vec::with_capacity(self.calls.len());
        for (arguments, _) in &self.calls {
            calls.push((places(arguments)?, None));
        }
        for ((_, place), (_, filter)) in calls.iter_mut().zip(&self.calls) {
            if let Some(filter) = filter {
                *place = Some(run(filter)?);
            }
        }
        Ok((computed, AggregatePlaces { keys, calls }))
    }
}

/// Whether the result of a call is the same, to the last bit, whatever the order of the rows, and none of them can fail: equal texts may
/// differ in spaces or case, and sums of doubles in their last digits.
fn is_of_any_order(call: &AggregateCall) -> bool {
    let are_columns =
        call.filter.is_none() && call.arguments.iter().all(|part| matches!(part, Expression::Column(_)));
    let argument_type = call.argument_types.first().map(|argument| &argument.sql_type);
    let is_plain = match (call.function.name, argument_type) {
        ("COUNT", _) => true,
        ("SUM", Some(SqlType::Exact { width, .. })) => *width != ExactWidth::Int128,
        ("MIN" | "MAX", Some(sql_type)) => matches!(
            sql_type,
            SqlType::Exact { .. } | SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::Boolean
        ),
        _ => false,
    };
    are_columns && is_plain
}

/// All that is computed of the rows.
fn expressions(aggregate: &Aggregate) -> impl Iterator<Item = &Expression> {
    let arguments = aggregate.calls.iter().flat_map(|call| call.arguments.iter().chain(&call.filter));
    aggregate.keys.iter().map(|key| &key.value).chain(arguments)
}

fn is_volatile(aggregate: &Aggregate) -> bool {
    expressions(aggregate).any(Expression::is_volatile)
}

/// The columns of the input that are looked at.
fn wanted(aggregate: &Aggregate) -> Vec<bool> {
    let mut wanted = vec![false; aggregate.input.width()];
    for expression in expressions(aggregate) {
        expression.for_each_column(&mut |position| {
            if let Some(wanted) = wanted.get_mut(position) {
                *wanted = true;
            }
        });
    }
    wanted
}

impl Operator for AggregateOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.groups = None;
        self.memory = None;
        self.overflow = Sorted::empty();
        self.overflow_head = None;
        let (Input::Rows(input) | Input::Vectors(input)) = &mut self.input;
        input.open(context)
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        // Whole groups are left out.
        let key = self.aggregate.keys.get(column).filter(|_| !is_volatile(&self.aggregate));
        if let Some(Expression::Column(position)) = key.map(|key| &key.value) {
            let (Input::Rows(input) | Input::Vectors(input)) = &mut self.input;
            input.restrict(*position, keys);
        }
    }

    fn any_order(&mut self) {
        self.any_order = true;
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
