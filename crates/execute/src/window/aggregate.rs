//! Aggregates over frames.
//!
//! While frames only grow at their end the aggregate is carried on from row to row. Otherwise, after the first frame that
//! does not:
//!
//! | function | frames that move |
//! |---|---|
//! | COUNT, SUM and AVG of exact numbers | rows that leave a frame are taken back, those that enter it are added: the answers are exact |
//! | all others but LIST | blocks of rows and pairs of such blocks are aggregated once; a frame is put together of a few of them |
//! | the same with DISTINCT | how often the frame has each value is counted: a value enters with its first row and leaves with its last, in either of the ways above |
//! | LIST | made anew for each frame: the lists are as long as that |
//!
//! So n frames take O(n log n) steps, whatever their bounds and exclusions. Sums of doubles over long frames are added in
//! pairs of blocks, which rounds less than adding them one by one; short frames are added one by one.

use std::collections::HashMap;
use std::ops::Range;

use farbird_budget::{Reservation, row_bytes};
use farbird_catalog::layout::collation_of;
use farbird_expression::{ExecutionContext, evaluate_all};
use farbird_function::Accumulator;
use farbird_plan::{AggregateCall, SortKey, WindowFrame};
use farbird_types::{Error, Result, Value, compare};

use super::frame::{FrameRows, Frames};
use super::partition::Partition;
use super::results::Results;
use crate::aggregate::RunningCall;

/// Rows of the smallest block that is aggregated for good.
const BLOCK_ROWS: usize = 32;
/// What following frames that move takes for each row, beside its arguments, more or less.
const ROW_BYTES: usize = 64;

/// Appends the results of an aggregate over the frames of all rows; if one fails, those of the rows before.
pub(super) fn aggregate(
    partition: &Partition,
    call: &AggregateCall,
    frame: &WindowFrame,
    order: &[SortKey],
    context: &mut ExecutionContext<'_>,
    results: &mut Results,
) -> Result<()> {
    let frames = Frames::new(partition, frame, order, context)?;
    let mut growing = Growing { running: RunningCall::start(call), added: 0..0 };
    let mut moving: Option<Moving<'_>> = None;
    let mut latest: Option<FrameRows> = None;
    for place in 0..partition.len() {
        context.check_interrupt()?;
        let rows = frames.of_row(place, context)?;
        if latest.as_ref() == Some(&rows) {
            let same = results.last().cloned().unwrap_or_default();
            results.push(same)?;
            continue;
        }
        let result = match (&mut moving, rows.single()) {
            (None, Some(range)) if growing.can_grow_to(&range) => {
                growing.grow_to(range, partition, call, context)?
            }
            (Some(moving), _) => moving.result(&rows, context)?,
            (none, _) => none.insert(Moving::new(partition, call, context)?).result(&rows, context)?,
        };
        results.push(result)?;
        latest = Some(rows);
    }
    Ok(())
}

/// An aggregate over a frame that has only grown at its end so far.
struct Growing {
    running: RunningCall,
    added: Range<usize>,
}

impl Growing {
    fn can_grow_to(&self, range: &Range<usize>) -> bool {
        self.added.is_empty() || (range.start == self.added.start && range.end >= self.added.end)
    }

    fn grow_to(
        &mut self,
        range: Range<usize>,
        partition: &Partition,
        call: &AggregateCall,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        let from = if self.added.is_empty() { range.start } else { self.added.end };
        for row in from..range.end {
            context.check_interrupt()?;
            self.running.add(call, &partition.row(row)?, context)?;
        }
        self.added = range;
        self.running.result(context)
    }
}

/// The arguments of a call, for all rows of a partition.
struct Arguments<'a> {
    call: &'a AggregateCall,
    /// Value after value; those of rows that do not count are NULL.
    values: Vec<Value>,
    /// Whether FILTER lets the row count.
    counts: Vec<bool>,
    /// Rows that failed, in order: a frame that has one fails with the first.
    failures: Vec<(usize, Error)>,
    /// What these take, and what is made of them.
    memory: Reservation,
}

impl<'a> Arguments<'a> {
    fn new(
        partition: &Partition,
        call: &'a AggregateCall,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Arguments<'a>> {
        let width = call.arguments.len();
        let mut arguments = Arguments {
            call,
            values: Vec::new(),
            counts: Vec::new(),
            failures: Vec::new(),
            memory: context.budget.reserve(),
        };
        for place in 0..partition.len() {
            context.check_interrupt()?;
            match arguments_of(call, &partition.row(place)?, context) {
                Ok(values) => {
                    arguments.memory.grow(values.as_deref().map_or(0, row_bytes) + ROW_BYTES)?;
                    arguments.counts.push(values.is_some());
                    arguments.values.extend(values.into_iter().flatten());
                }
                Err(error) => {
                    arguments.counts.push(false);
                    arguments.failures.push((place, error));
                }
            }
            arguments.values.resize((place + 1) * width, Value::Null);
        }
        Ok(arguments)
    }

    fn start(&self) -> Box<dyn Accumulator> {
        (self.call.function.start)(&self.call.argument_types, &self.call.result)
    }

    /// The arguments of a row that counts.
    fn of_row(&self, row: usize) -> Option<&[Value]> {
        let width = self.call.arguments.len();
        let counts = self.counts.get(row).copied().unwrap_or(false);
        counts.then(|| self.values.get(row * width..(row + 1) * width).unwrap_or_default())
    }

    /// Adds the rows that count.
    fn add(
        &self,
        rows: Range<usize>,
        accumulator: &mut dyn Accumulator,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        for row in rows {
            context.check_interrupt()?;
            if let Some(arguments) = self.of_row(row) {
                accumulator.add(context, arguments)?;
            }
        }
        Ok(())
    }

    /// Fails if a row of the frame has failed.
    fn check(&self, rows: &FrameRows) -> Result<()> {
        if self.failures.is_empty() {
            return Ok(());
        }
        for range in rows.ranges() {
            let first = self.failures.partition_point(|(row, _)| *row < range.start);
            if let Some((row, error)) = self.failures.get(first)
                && *row < range.end
            {
                return Err(error.clone());
            }
        }
        Ok(())
    }

    /// Numbers the different values of the first argument in the order in which they come: the number of each row, and a row
    /// for each number. Rows that do not count have none.
    fn distinct(&self, context: &ExecutionContext<'_>) -> Result<(Vec<Option<u32>>, Vec<usize>)> {
        let types = self.call.argument_types.first();
        let collation = types.map(|argument| collation_of(&argument.sql_type)).unwrap_or_default();
        let (mut numbers, mut rows) = (Vec::with_capacity(self.counts.len()), Vec::new());
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        for row in 0..self.counts.len() {
            context.check_interrupt()?;
            numbers.push(self.of_row(row).map(|arguments| {
                let mut key = Vec::new();
                compare::equality_key(arguments.first().unwrap_or(&Value::Null), collation, &mut key);
                *known.entry(key).or_insert_with(|| {
                    rows.push(row);
                    rows.len() as u32 - 1
                })
            }));
        }
        Ok((numbers, rows))
    }
}

/// The arguments of a row; `None` if FILTER leaves it out.
fn arguments_of(
    call: &AggregateCall,
    row: &[Value],
    context: &mut ExecutionContext<'_>,
) -> Result<Option<Vec<Value>>> {
    if let Some(filter) = &call.filter
        && filter.truth(row, context)? != Some(true)
    {
        return Ok(None);
    }
    evaluate_all(&call.arguments, row, context).map(Some)
}

/// An aggregate over frames that move.
struct Moving<'a> {
    arguments: Arguments<'a>,
    way: Way,
}

/// How frames that move are followed.
enum Way {
    /// Rows are taken back and added.
    Exchanged { accumulator: Box<dyn Accumulator>, rows: FrameRows },
    /// Blocks are put together.
    Blocks(Blocks),
    /// Different values are counted.
    Distinct(Distinct),
    /// Each frame by itself.
    Anew,
}

impl<'a> Moving<'a> {
    fn new(
        partition: &Partition,
        call: &'a AggregateCall,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Moving<'a>> {
        let arguments = Arguments::new(partition, call, context)?;
        let accumulator = arguments.start();
        let way = if accumulator.fork().is_none() {
            Way::Anew
        } else if call.distinct {
            Way::Distinct(Distinct::new(&arguments, context)?)
        } else if accumulator.can_remove() {
            Way::Exchanged { accumulator, rows: FrameRows::default() }
        } else {
            Way::Blocks(Blocks::new(&arguments, partition.len(), context)?)
        };
        Ok(Moving { arguments, way })
    }

    fn result(&mut self, rows: &FrameRows, context: &mut ExecutionContext<'_>) -> Result<Value> {
        let arguments = &self.arguments;
        arguments.check(rows)?;
        match &mut self.way {
            Way::Exchanged { accumulator, rows: latest } => {
                latest.without(rows, |range| {
                    for row in range {
                        context.check_interrupt()?;
                        if let Some(arguments) = arguments.of_row(row) {
                            accumulator.remove(context, arguments)?;
                        }
                    }
                    Ok(())
                })?;
                rows.without(latest, |range| arguments.add(range, accumulator.as_mut(), context))?;
                *latest = rows.clone();
                accumulator.result(context)
            }
            Way::Blocks(blocks) => {
                let mut accumulator = arguments.start();
                for range in rows.ranges() {
                    blocks.add(range, arguments, accumulator.as_mut(), context)?;
                }
                accumulator.result(context)
            }
            Way::Distinct(distinct) => distinct.result(rows, arguments, context),
            Way::Anew => {
                let mut running = RunningCall::start(arguments.call);
                for row in rows.ranges().flatten() {
                    context.check_interrupt()?;
                    if let Some(values) = arguments.of_row(row) {
                        running.add_arguments(arguments.call, values, context)?;
                    }
                }
                running.result(context)
            }
        }
    }
}

/// What aggregates have collected of some rows; or what they failed with.
type Collected = Result<Box<dyn Accumulator>>;

/// Blocks of rows, pairs of blocks, pairs of pairs, and so on, each aggregated.
struct Blocks {
    levels: Vec<Vec<Collected>>,
}

impl Blocks {
    fn new(arguments: &Arguments<'_>, rows: usize, context: &mut ExecutionContext<'_>) -> Result<Blocks> {
        // The last block would be short: frames that end in it go through its rows.
        let mut level = Vec::with_capacity(rows / BLOCK_ROWS);
        for block in 0..rows / BLOCK_ROWS {
            let mut accumulator = arguments.start();
            let added =
                arguments.add(block * BLOCK_ROWS..(block + 1) * BLOCK_ROWS, accumulator.as_mut(), context);
            context.check_interrupt()?;
            level.push(added.map(|()| accumulator));
        }
        let mut levels = vec![level];
        while let Some(level) = levels.last().filter(|level| level.len() > 1) {
            let mut next = Vec::with_capacity(level.len() / 2);
            for pair in level.chunks_exact(2) {
                context.check_interrupt()?;
                let [left, right] = pair else { continue };
                next.push(merged(left, right, context));
            }
            levels.push(next);
        }
        Ok(Blocks { levels })
    }

    /// Adds a range of rows, by the largest blocks that it has.
    fn add(
        &self,
        range: Range<usize>,
        arguments: &Arguments<'_>,
        accumulator: &mut dyn Accumulator,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        let first = range.start.div_ceil(BLOCK_ROWS);
        let end = range.end / BLOCK_ROWS;
        // Short frames are added row by row.
        if first + 1 >= end {
            return arguments.add(range, accumulator, context);
        }
        arguments.add(range.start..first * BLOCK_ROWS, accumulator, context)?;
        let mut block = first;
        while block < end {
            let mut level = 0;
            while block.is_multiple_of(2 << level) && block + (2 << level) <= end {
                level += 1;
            }
            match self.levels.get(level).and_then(|blocks| blocks.get(block >> level)) {
                Some(Ok(collected)) => accumulator.merge(collected.as_ref(), context)?,
                Some(Err(error)) => return Err(error.clone()),
                None => arguments.add(
                    block * BLOCK_ROWS..(block + (1 << level)) * BLOCK_ROWS,
                    accumulator,
                    context,
                )?,
            }
            block += 1 << level;
        }
        arguments.add(end * BLOCK_ROWS..range.end, accumulator, context)
    }
}

fn merged(left: &Collected, right: &Collected, context: &mut ExecutionContext<'_>) -> Collected {
    match (left, right) {
        (Ok(left), Ok(right)) => {
            let mut both = left.fork().ok_or_else(not_mergeable)?;
            both.merge(right.as_ref(), context)?;
            Ok(both)
        }
        (Err(error), _) | (_, Err(error)) => Err(error.clone()),
    }
}

/// A mistake of ours: [`Moving::new`] has asked.
fn not_mergeable() -> Error {
    Error::internal("an aggregate that cannot be put together was")
}

/// The different values of a partition, of which those count that the frame has.
struct Distinct {
    /// Of each row.
    numbers: Vec<Option<u32>>,
    /// A row with each value.
    rows: Vec<usize>,
    /// How often the frame has each.
    counts: Vec<u32>,
    counted: Counted,
    frame: FrameRows,
}

/// What the values that count come to.
enum Counted {
    /// Values can be taken back.
    Exchanged(Box<dyn Accumulator>),
    /// A tree whose leaves are the values, and whose other nodes have what those below them that count come to. The root is
    /// at 1, the leaves are the second half.
    Tree(Vec<Option<Box<dyn Accumulator>>>),
}

impl Distinct {
    fn new(arguments: &Arguments<'_>, context: &ExecutionContext<'_>) -> Result<Distinct> {
        let (numbers, rows) = arguments.distinct(context)?;
        let accumulator = arguments.start();
        let counted = if accumulator.can_remove() {
            Counted::Exchanged(accumulator)
        } else {
            let mut nodes = Vec::new();
            nodes.resize_with(rows.len().next_power_of_two() * 2, || None);
            Counted::Tree(nodes)
        };
        Ok(Distinct { numbers, counts: vec![0; rows.len()], rows, counted, frame: FrameRows::default() })
    }

    fn result(
        &mut self,
        rows: &FrameRows,
        arguments: &Arguments<'_>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        let mut changes = Vec::new();
        self.frame.without(rows, |range| {
            changes.push((range, false));
            Ok(())
        })?;
        rows.without(&self.frame, |range| {
            changes.push((range, true));
            Ok(())
        })?;
        for (range, enters) in changes {
            for row in range {
                context.check_interrupt()?;
                let Some(Some(number)) = self.numbers.get(row).copied() else { continue };
                self.change(number as usize, enters, arguments, context)?;
            }
        }
        self.frame = rows.clone();
        match &self.counted {
            Counted::Exchanged(accumulator) => accumulator.result(context),
            Counted::Tree(nodes) => match nodes.get(1) {
                Some(Some(root)) => root.result(context),
                _ => arguments.start().result(context),
            },
        }
    }

    /// A row with this value enters or leaves the frame.
    fn change(
        &mut self,
        number: usize,
        enters: bool,
        arguments: &Arguments<'_>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        let Some(count) = self.counts.get_mut(number) else { return Ok(()) };
        *count = if enters { *count + 1 } else { count.saturating_sub(1) };
        if !matches!((*count, enters), (1, true) | (0, false)) {
            return Ok(());
        }
        let row = self.rows.get(number).copied().unwrap_or_default();
        match &mut self.counted {
            Counted::Exchanged(accumulator) => match arguments.of_row(row) {
                Some(values) if enters => accumulator.add(context, values),
                Some(values) => accumulator.remove(context, values),
                None => Ok(()),
            },
            Counted::Tree(nodes) => {
                let mut leaf = None;
                if enters {
                    arguments.add(row..row + 1, leaf.insert(arguments.start()).as_mut(), context)?;
                }
                set_leaf(nodes, number, leaf, context)
            }
        }
    }
}

/// Sets a leaf of a tree, and what the nodes above it come to.
fn set_leaf(
    nodes: &mut [Option<Box<dyn Accumulator>>],
    number: usize,
    leaf: Option<Box<dyn Accumulator>>,
    context: &mut ExecutionContext<'_>,
) -> Result<()> {
    let mut node = nodes.len() / 2 + number;
    if let Some(place) = nodes.get_mut(node) {
        *place = leaf;
    }
    while node > 1 {
        node /= 2;
        let below = |child: usize| nodes.get(child).and_then(Option::as_deref);
        let both = match (below(node * 2), below(node * 2 + 1)) {
            (Some(left), Some(right)) => {
                let mut both = left.fork().ok_or_else(not_mergeable)?;
                both.merge(right, context)?;
                Some(both)
            }
            (Some(one), None) | (None, Some(one)) => one.fork(),
            (None, None) => None,
        };
        if let Some(place) = nodes.get_mut(node) {
            *place = both;
        }
    }
    Ok(())
}
