//! Window functions.
//!
//! A partition is read whole, in the window's order; each row's result is then computed from the rows of its frame.
//! Frames that begin at the partition's start only grow: their aggregates are carried on from row to row.

use std::sync::Arc;

use farbird_sql::ast::FrameExclusion;
use farbird_types::arithmetic::{ArithmeticOperator, apply};
use farbird_types::{Collation, Error, Result, SqlType, Value, arithmetic, convert, isc};

use crate::execute::aggregate::RunningCall;
use crate::execute::batch::{BATCH_ROWS_MAX, Batch};
use crate::execute::blob_keys::BlobKeys;
use crate::execute::context::ExecutionContext;
use crate::execute::operator::{Operator, build};
use crate::execute::spill::{Sorted, Sorter};
use crate::expression::Expression;
use crate::expression::predicate::compare_nullable;
use crate::plan::{AggregateCall, FrameBound, SortKey, Window, WindowCall, WindowFrame, WindowFunction};

/// Computes window functions. Rows come out in the window's order.
pub(crate) struct WindowOperator {
    window: Arc<Window>,
    input: Box<dyn Operator>,
    rows: Sorted,
    /// The first row of the next partition.
    head: Option<WindowRow>,
    /// Finished rows of the current partition.
    finished: std::vec::IntoIter<Vec<Value>>,
    /// What the row behind those failed with.
    error: Option<Error>,
    filled: bool,
}

/// A row with its place in the order.
struct WindowRow {
    partition: Vec<u8>,
    order: Vec<u8>,
    values: Vec<Value>,
}

/// The rows of one partition, in order.
struct Partition {
    rows: Vec<WindowRow>,
    /// Per row: the first row of its peers, and the one after the last.
    peers: Vec<(usize, usize)>,
}

impl WindowOperator {
    pub(crate) fn new(window: &Arc<Window>) -> WindowOperator {
        WindowOperator {
            input: build(&window.input),
            rows: Sorted::empty(),
            head: None,
            finished: Vec::new().into_iter(),
            error: None,
            filled: false,
            window: window.clone(),
        }
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let mut sorter = Sorter::new(false, &context.budget);
        let mut batch = Batch::new(self.window.input.width(), BATCH_ROWS_MAX);
        let mut key = Vec::new();
        let mut blobs = BlobKeys::default();
        while self.input.next(context, &mut batch)? {
            for index in 0..batch.len() {
                key.clear();
                blobs.append_sort_key(&self.window.partition, batch.row(index), &mut key, context)?;
                // The length of the partition's part stands last, where it does not disturb the order.
                let length = u32::try_from(key.len()).map_err(|_| Error::new(isc::IMP_EXC))?;
                blobs.append_sort_key(&self.window.order, batch.row(index), &mut key, context)?;
                key.extend(length.to_le_bytes());
                sorter.push(&key, batch.drain_row(index), &context.session.interrupt)?;
            }
        }
        self.rows = sorter.finish(&context.session.interrupt)?;
        self.head = self.read(context)?;
        self.filled = true;
        Ok(())
    }

    fn read(&mut self, context: &ExecutionContext<'_>) -> Result<Option<WindowRow>> {
        let Some((mut key, values)) = self.rows.next(&context.session.interrupt)? else { return Ok(None) };
        let tail = key.split_off(key.len().saturating_sub(4));
        let length = tail.try_into().map_or(0, u32::from_le_bytes);
        let order = key.split_off(key.len().min(length as usize));
        Ok(Some(WindowRow { partition: key, order, values }))
    }

    /// Computes the next partition, up to the row that fails, if one does; false at the end.
    fn next_partition(&mut self, context: &mut ExecutionContext<'_>) -> Result<bool> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Some(first) = self.head.take() else { return Ok(false) };
        let mut rows = vec![first];
        loop {
            self.head = self.read(context)?;
            match self.head.take() {
                Some(row) if rows.first().is_some_and(|first| first.partition == row.partition) => {
                    rows.push(row)
                }
                other => {
                    self.head = other;
                    break;
                }
            }
        }
        context.check_interrupt()?;
        let mut partition = Partition::new(rows);
        let mut results = Vec::with_capacity(self.window.calls.len());
        let mut rows_whole = partition.rows.len();
        for call in &self.window.calls {
            let mut values = Vec::with_capacity(partition.rows.len());
            let computed = partition.compute(call, &self.window.order, context, &mut values);
            if let Err(error) = computed
                && values.len() < rows_whole
            {
                rows_whole = values.len();
                self.error = Some(error);
            }
            results.push(values);
        }
        partition.rows.truncate(rows_whole);
        for (place, row) in partition.rows.iter_mut().enumerate() {
            for result in &mut results {
                let value = result.get_mut(place).map(std::mem::take);
                row.values.push(value.ok_or_else(|| Error::internal("a row without a window's result"))?);
            }
        }
        let finished: Vec<_> = partition.rows.into_iter().map(|row| row.values).collect();
        self.finished = finished.into_iter();
        Ok(true)
    }
}

impl Operator for WindowOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.head = None;
        self.finished = Vec::new().into_iter();
        self.error = None;
        self.input.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.window.input.width() + self.window.calls.len());
        if !self.filled {
            self.fill(context)?;
        }
        while !batch.is_full() {
            match self.finished.next() {
                Some(row) => batch.push(row),
                None if !self.next_partition(context)? => break,
                None => {}
            }
        }
        Ok(!batch.is_empty())
    }
}

impl Partition {
    fn new(rows: Vec<WindowRow>) -> Partition {
        let mut peers = Vec::with_capacity(rows.len());
        let mut start = 0;
        for group in rows.chunk_by(|left, right| left.order == right.order) {
            let end = start + group.len();
            peers.extend(std::iter::repeat_n((start, end), group.len()));
            start = end;
        }
        Partition { rows, peers }
    }

    fn values(&self, place: usize) -> &[Value] {
        self.rows.get(place).map_or(&[], |row| row.values.as_slice())
    }

    fn peers(&self, place: usize) -> (usize, usize) {
        self.peers.get(place).copied().unwrap_or((place, place + 1))
    }

    /// Appends the results of a call for all rows; if one fails, those of the rows before.
    fn compute(
        &self,
        call: &WindowCall,
        order: &[SortKey],
        context: &mut ExecutionContext<'_>,
        results: &mut Vec<Value>,
    ) -> Result<()> {
        let count = self.rows.len();
        match &call.function {
            WindowFunction::RowNumber => results.extend((0..count).map(|place| integer(place + 1))),
            WindowFunction::Rank => {
                results.extend((0..count).map(|place| integer(self.peers(place).0 + 1)));
            }
            WindowFunction::DenseRank => {
                let mut rank = 0;
                results.extend((0..count).map(|place| {
                    rank += usize::from(self.peers(place).0 == place);
                    integer(rank)
                }));
            }
            WindowFunction::PercentRank => {
                let others = count.saturating_sub(1);
                results.extend((0..count).map(|place| ratio(self.peers(place).0, others)));
            }
            WindowFunction::CumeDist => {
                results.extend((0..count).map(|place| ratio(self.peers(place).1, count)));
            }
            WindowFunction::Ntile(buckets) => *results = self.ntile(buckets, context)?,
            WindowFunction::Offset { value, distance, default, forward } => {
                self.offset(value, distance, default, *forward, context, results)?;
            }
            WindowFunction::Aggregate(aggregate) => {
                self.aggregate(aggregate, &call.frame, order, context, results)?;
            }
            WindowFunction::FirstValue(value) => {
                self.pick(value, &call.frame, order, context, results, |frame, _| {
                    Ok(frame.first().copied())
                })?;
            }
            WindowFunction::LastValue(value) => {
                self.pick(value, &call.frame, order, context, results, |frame, _| Ok(frame.last().copied()))?;
            }
            WindowFunction::NthValue { value, number, from_last } => {
                self.pick(value, &call.frame, order, context, results, |frame, (row, context)| {
                    let Some(number) = whole_number(&number.evaluate(row, context)?, context)? else {
                        return Ok(None);
                    };
                    let Some(index) = usize::try_from(number).ok().and_then(|number| number.checked_sub(1))
                    else {
                        return Err(Error::new(isc::SYSF_ARGMUSTBE_POSITIVE).with("NTH_VALUE"));
                    };
                    let index = if *from_last { frame.len().checked_sub(index + 1) } else { Some(index) };
                    Ok(index.and_then(|index| frame.get(index).copied()))
                })?;
            }
        }
        Ok(())
    }

    fn ntile(&self, buckets: &Expression, context: &mut ExecutionContext<'_>) -> Result<Vec<Value>> {
        let count = self.rows.len();
        let buckets = whole_number(&buckets.evaluate(self.values(0), context)?, context)?.unwrap_or(0);
        let buckets = usize::try_from(buckets).ok().filter(|buckets| *buckets > 0).ok_or_else(|| {
            Error::new(isc::EXPRESSION_EVAL_ERR).and(isc::SYSF_ARGNMUSTBE_POSITIVE).with(1).with("NTILE")
        })?;
        // The first buckets take one row more than the others until nothing is left over.
        let (size, larger) = (count / buckets, count % buckets);
        Ok((0..count)
            .map(|place| {
                let in_larger = larger * (size + 1);
                let bucket = if place < in_larger {
                    place / (size + 1)
                } else {
                    larger + (place - in_larger) / size.max(1)
                };
                integer(bucket + 1)
            })
            .collect())
    }

    fn offset(
        &self,
        value: &Expression,
        distance: &Expression,
        default: &Expression,
        forward: bool,
        context: &mut ExecutionContext<'_>,
        results: &mut Vec<Value>,
    ) -> Result<()> {
        for place in 0..self.rows.len() {
            let Some(distance) = whole_number(&distance.evaluate(self.values(place), context)?, context)?
            else {
                results.push(Value::Null);
                continue;
            };
            let Ok(distance) = usize::try_from(distance) else {
                let name = if forward { "LEAD" } else { "LAG" };
                return Err(Error::new(isc::EXPRESSION_EVAL_ERR)
                    .and(isc::SYSF_ARGNMUSTBE_NONNEG)
                    .with(2)
                    .with(name));
            };
            let wanted = if forward { place.checked_add(distance) } else { place.checked_sub(distance) };
            results.push(match wanted.filter(|wanted| *wanted < self.rows.len()) {
                Some(wanted) => value.evaluate(self.values(wanted), context)?,
                None => default.evaluate(self.values(place), context)?,
            });
        }
        Ok(())
    }

    /// FIRST_VALUE and its like: `choose` picks a row of the frame.
    fn pick(
        &self,
        value: &Expression,
        frame: &WindowFrame,
        order: &[SortKey],
        context: &mut ExecutionContext<'_>,
        results: &mut Vec<Value>,
        choose: impl Fn(&[usize], (&[Value], &mut ExecutionContext<'_>)) -> Result<Option<usize>>,
    ) -> Result<()> {
        for place in 0..self.rows.len() {
            let (start, end) = self.bounds(place, frame, order, context)?;
            let rows: Vec<usize> =
                (start..end).filter(|other| !self.excluded(*other, place, frame.exclusion)).collect();
            results.push(match choose(&rows, (self.values(place), context))? {
                Some(chosen) => value.evaluate(self.values(chosen), context)?,
                None => Value::Null,
            });
        }
        Ok(())
    }

    fn aggregate(
        &self,
        call: &AggregateCall,
        frame: &WindowFrame,
        order: &[SortKey],
        context: &mut ExecutionContext<'_>,
        results: &mut Vec<Value>,
    ) -> Result<()> {
        let grows = matches!(frame.start, FrameBound::UnboundedPreceding)
            && !matches!(frame.end, FrameBound::Preceding(_))
            && frame.exclusion == FrameExclusion::NoOthers;
        let mut running = RunningCall::start(call);
        let mut added = 0;
        for place in 0..self.rows.len() {
            let (start, end) = self.bounds(place, frame, order, context)?;
            if !grows || end < added {
                running = RunningCall::start(call);
                added = start;
            } else if added == end && place > 0 {
                // The frame is that of the row before.
                let same = results.last().cloned().unwrap_or_default();
                results.push(same);
                continue;
            }
            for other in added..end {
                if !self.excluded(other, place, frame.exclusion) {
                    running.add(call, self.values(other), context)?;
                }
            }
            added = end.max(added);
            results.push(running.result(context)?);
        }
        Ok(())
    }

    /// The rows of a frame: the first one and the one after the last.
    fn bounds(
        &self,
        place: usize,
        frame: &WindowFrame,
        order: &[SortKey],
        context: &mut ExecutionContext<'_>,
    ) -> Result<(usize, usize)> {
        let count = self.rows.len();
        let start = match &frame.start {
            FrameBound::UnboundedPreceding => 0,
            FrameBound::UnboundedFollowing => count,
            FrameBound::CurrentRow if frame.rows => place,
            FrameBound::CurrentRow => self.peers(place).0,
            FrameBound::Preceding(value) if frame.rows => {
                place.saturating_sub(self.distance(value, place, context)?)
            }
            FrameBound::Following(value) if frame.rows => {
                place.saturating_add(self.distance(value, place, context)?).min(count)
            }
            FrameBound::Preceding(value) => self.range_bound(place, value, false, true, order, context)?,
            FrameBound::Following(value) => self.range_bound(place, value, true, true, order, context)?,
        };
        let end = match &frame.end {
            FrameBound::UnboundedPreceding => 0,
            FrameBound::UnboundedFollowing => count,
            FrameBound::CurrentRow if frame.rows => place + 1,
            FrameBound::CurrentRow => self.peers(place).1,
            FrameBound::Preceding(value) if frame.rows => {
                (place + 1).saturating_sub(self.distance(value, place, context)?)
            }
            FrameBound::Following(value) if frame.rows => {
                (place + 1).saturating_add(self.distance(value, place, context)?).min(count)
            }
            FrameBound::Preceding(value) => self.range_bound(place, value, false, false, order, context)?,
            FrameBound::Following(value) => self.range_bound(place, value, true, false, order, context)?,
        };
        Ok((start, end.max(start)))
    }

    fn distance(
        &self,
        value: &Expression,
        place: usize,
        context: &mut ExecutionContext<'_>,
    ) -> Result<usize> {
        let value = value.evaluate(self.values(place), context)?;
        let distance = whole_number(&value, context)?.unwrap_or(0);
        usize::try_from(distance).map_err(|_| Error::new(isc::WINDOW_FRAME_VALUE_INVALID))
    }

    /// Where a frame by RANGE begins or ends: at the rows whose value is that much before or after the current one's.
    fn range_bound(
        &self,
        place: usize,
        distance: &Expression,
        following: bool,
        start: bool,
        order: &[SortKey],
        context: &mut ExecutionContext<'_>,
    ) -> Result<usize> {
        let Some(key) = order.first() else { return Ok(if start { 0 } else { self.rows.len() }) };
        let own = key.value.evaluate(self.values(place), context)?;
        if own.is_null() {
            let (first, end) = self.peers(place);
            return Ok(if start { first } else { end });
        }
        let distance = distance.evaluate(self.values(place), context)?;
        let operator = if following == key.part.descending {
            ArithmeticOperator::Subtract
        } else {
            ArithmeticOperator::Add
        };
        let result = arithmetic::result_type(operator, &type_of(&own), &type_of(&distance))?;
        let limit = apply(operator, &own, &distance, &result, &context.cast)?;
        let mut bound = if start { self.rows.len() } else { 0 };
        for other in 0..self.rows.len() {
            let value = key.value.evaluate(self.values(other), context)?;
            let Some(order) = compare_nullable(&value, &limit, Collation::default(), context)? else {
                continue;
            };
            let order = if key.part.descending { order.reverse() } else { order };
            if start && order.is_ge() {
                bound = other;
                break;
            }
            if !start && order.is_le() {
                bound = other + 1;
            }
        }
        Ok(bound)
    }

    fn excluded(&self, other: usize, place: usize, exclusion: FrameExclusion) -> bool {
        let is_peer = || {
            let (first, end) = self.peers(place);
            (first..end).contains(&other)
        };
        match exclusion {
            FrameExclusion::NoOthers => false,
            FrameExclusion::CurrentRow => other == place,
            FrameExclusion::Group => is_peer(),
            FrameExclusion::Ties => other != place && is_peer(),
        }
    }
}

fn integer(number: usize) -> Value {
    Value::integer(i64::try_from(number).unwrap_or(i64::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows of one partition are far below 2^53")]
fn ratio(part: usize, whole: usize) -> Value {
    Value::Double(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
}

fn whole_number(value: &Value, context: &ExecutionContext<'_>) -> Result<Option<i64>> {
    match convert::cast(value, &SqlType::BIGINT, &context.cast)? {
        Value::Integer { unscaled, .. } => Ok(Some(unscaled)),
        _ => Ok(None),
    }
}

/// A type that holds a value, for arithmetic at run time.
fn type_of(value: &Value) -> SqlType {
    use farbird_types::{ExactSubtype, ExactWidth};
    match value {
        Value::Integer { scale, .. } => {
            SqlType::Exact { width: ExactWidth::Int64, scale: *scale, subtype: ExactSubtype::Numeric }
        }
        Value::Int128 { scale, .. } => {
            SqlType::Exact { width: ExactWidth::Int128, scale: *scale, subtype: ExactSubtype::Numeric }
        }
        Value::DecFloat(_) => SqlType::DecFloat34,
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time,
        Value::Timestamp(_) => SqlType::Timestamp,
        Value::TimeTz(_) => SqlType::TimeTz,
        Value::TimestampTz(_) => SqlType::TimestampTz,
        _ => SqlType::Double,
    }
}
