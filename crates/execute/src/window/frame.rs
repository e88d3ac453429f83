//! Which rows the frame of a row has: found by arithmetic (ROWS) or by binary search in the order (RANGE).

use std::cmp::Ordering;
use std::ops::Range;

use farbird_budget::Reservation;
use farbird_expression::{ExecutionContext, Expression};
use farbird_function::compare::compare_nullable;
use farbird_plan::{FrameBound, SortKey, WindowFrame};
use farbird_sql::ast::FrameExclusion;
use farbird_types::arithmetic::{self, ArithmeticOperator, apply};
use farbird_types::{Collation, Error, ExactSubtype, ExactWidth, Result, SqlType, Value, isc};

use super::partition::{Partition, whole_number};

/// The rows of a frame: up to three ranges, none of them empty, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct FrameRows {
    ranges: [Range<usize>; 3],
}

impl FrameRows {
    /// The rows of these ranges, which are in order and have no row in common.
    fn of(ranges: [Range<usize>; 3]) -> FrameRows {
        // Empty ranges are all alike, so that frames of the same rows are equal.
        FrameRows { ranges: ranges.map(|range| if range.is_empty() { 0..0 } else { range }) }
    }

    /// The ranges that have rows, in order.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        self.ranges.clone().into_iter().filter(|range| !range.is_empty())
    }

    /// The range, if there is no more than one; an empty frame has an empty one.
    pub(super) fn single(&self) -> Option<Range<usize>> {
        let mut ranges = self.ranges();
        let first = ranges.next().unwrap_or_default();
        ranges.next().is_none().then_some(first)
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// The row at `index` among them.
    pub(super) fn nth(&self, mut index: usize) -> Option<usize> {
        for range in &self.ranges {
            if index < range.len() {
                return Some(range.start + index);
            }
            index -= range.len();
        }
        None
    }

    /// Calls `take` with each range of rows that are here and not in another frame.
    pub(super) fn without(
        &self,
        other: &FrameRows,
        mut take: impl FnMut(Range<usize>) -> Result<()>,
    ) -> Result<()> {
        for range in self.ranges() {
            let mut from = range.start;
            for covered in other.ranges() {
                let until = covered.start.min(range.end);
                if from < until {
                    take(from..until)?;
                }
                from = from.max(covered.end);
            }
            if from < range.end {
                take(from..range.end)?;
            }
        }
        Ok(())
    }
}

/// The frames of a partition's rows.
pub(super) struct Frames<'a> {
    partition: &'a Partition,
    frame: &'a WindowFrame,
    order: Option<&'a SortKey>,
    /// For RANGE with an offset: the value of each row in the order, and the rows where it is not NULL.
    keys: Vec<Value>,
    present: Range<usize>,
    _memory: Reservation,
}

impl<'a> Frames<'a> {
    /// Looks at the partition's order, if that is needed.
    ///
    /// # Errors
    /// Those of evaluating the order; the interrupt's.
    pub(super) fn new(
        partition: &'a Partition,
        frame: &'a WindowFrame,
        order: &'a [SortKey],
        context: &mut ExecutionContext<'_>,
    ) -> Result<Frames<'a>> {
        let has_offset = [&frame.start, &frame.end]
            .into_iter()
            .any(|bound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_)));
        let order = order.first();
        let mut keys = Vec::new();
        let mut memory = context.budget.reserve();
        if let Some(order) = order.filter(|_| has_offset && !frame.rows) {
            memory.grow(partition.len() * size_of::<Value>())?;
            keys.reserve(partition.len());
            for place in 0..partition.len() {
                context.check_interrupt()?;
                keys.push(order.value.evaluate(&partition.row(place)?, context)?);
            }
        }
        // NULLs stand at one end.
        let leading = keys.iter().take_while(|key| key.is_null()).count();
        let present = keys.iter().skip(leading).take_while(|key| !key.is_null()).count();
        Ok(Frames { partition, frame, order, keys, present: leading..leading + present, _memory: memory })
    }

    /// The frame of a row.
    ///
    /// # Errors
    /// `window_frame_value_invalid` for a distance that is negative or NULL; those of evaluating distances.
    pub(super) fn of_row(&self, place: usize, context: &mut ExecutionContext<'_>) -> Result<FrameRows> {
        let count = self.partition.len();
        let (first_peer, after_peers) = self.partition.peers(place);
        let is_rows = self.frame.rows;
        let start = match &self.frame.start {
            FrameBound::UnboundedPreceding => 0,
            FrameBound::UnboundedFollowing => count,
            FrameBound::CurrentRow if is_rows => place,
            FrameBound::CurrentRow => first_peer,
            FrameBound::Preceding(value) if is_rows => {
                place.saturating_sub(self.rows_away(value, place, context)?)
            }
            FrameBound::Following(value) if is_rows => {
                place.saturating_add(self.rows_away(value, place, context)?).min(count)
            }
            FrameBound::Preceding(value) => self.start_by_value(place, value, false, context)?,
            FrameBound::Following(value) => self.start_by_value(place, value, true, context)?,
        };
        let end = match &self.frame.end {
            FrameBound::UnboundedPreceding => 0,
            FrameBound::UnboundedFollowing => count,
            FrameBound::CurrentRow if is_rows => place + 1,
            FrameBound::CurrentRow => after_peers,
            FrameBound::Preceding(value) if is_rows => {
                (place + 1).saturating_sub(self.rows_away(value, place, context)?)
            }
            FrameBound::Following(value) if is_rows => {
                (place + 1).saturating_add(self.rows_away(value, place, context)?).min(count)
            }
            FrameBound::Preceding(value) => self.end_by_value(place, value, false, context)?,
            FrameBound::Following(value) => self.end_by_value(place, value, true, context)?,
        };
        let end = end.max(start);
        Ok(FrameRows::of(match self.frame.exclusion {
            FrameExclusion::NoOthers => [start..end, 0..0, 0..0],
            FrameExclusion::CurrentRow => [start..end.min(place), start.max(place + 1)..end, 0..0],
            FrameExclusion::Group => [start..end.min(first_peer), start.max(after_peers)..end, 0..0],
            FrameExclusion::Ties => {
                let own = if (start..end).contains(&place) { place..place + 1 } else { 0..0 };
                [start..end.min(first_peer), own, start.max(after_peers)..end]
            }
        }))
    }

    /// How many rows away a bound by ROWS is.
    fn rows_away(
        &self,
        value: &Expression,
        place: usize,
        context: &mut ExecutionContext<'_>,
    ) -> Result<usize> {
        let value = value.evaluate(&self.partition.row(place)?, context)?;
        let distance = whole_number(&value, context)?.and_then(|distance| usize::try_from(distance).ok());
        distance.ok_or_else(|| Error::new(isc::WINDOW_FRAME_VALUE_INVALID))
    }

    /// Where a frame by RANGE begins: at the first row whose value is not before the bound.
    fn start_by_value(
        &self,
        place: usize,
        distance: &Expression,
        following: bool,
        context: &mut ExecutionContext<'_>,
    ) -> Result<usize> {
        match self.bound(place, distance, following, context)? {
            None => Ok(self.partition.peers(place).0),
            Some(bound) => self.first_row(context, |key, context| {
                Ok(self.compare(key, &bound, context)?.is_some_and(Ordering::is_ge))
            }),
        }
    }

    /// Where a frame by RANGE ends: before the first row whose value is behind the bound.
    fn end_by_value(
        &self,
        place: usize,
        distance: &Expression,
        following: bool,
        context: &mut ExecutionContext<'_>,
    ) -> Result<usize> {
        match self.bound(place, distance, following, context)? {
            None => Ok(self.partition.peers(place).1),
            Some(bound) => self.first_row(context, |key, context| {
                Ok(self.compare(key, &bound, context)?.is_some_and(Ordering::is_gt))
            }),
        }
    }

    /// The value that is so far away from a row's own in the order; `None` for a row whose own is NULL: its frame is bounded
    /// by its peers.
    fn bound(
        &self,
        place: usize,
        distance: &Expression,
        following: bool,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<Value>> {
        let (Some(order), Some(own)) = (self.order, self.keys.get(place)) else { return Ok(None) };
        if own.is_null() {
            return Ok(None);
        }
        let distance = distance.evaluate(&self.partition.row(place)?, context)?;
        let zero = Value::integer(0);
        if compare_nullable(&distance, &zero, Collation::default(), context)?.is_none_or(Ordering::is_lt) {
            return Err(Error::new(isc::WINDOW_FRAME_VALUE_INVALID));
        }
        let operator = if following == order.part.descending {
            ArithmeticOperator::Subtract
        } else {
            ArithmeticOperator::Add
        };
        let result = arithmetic::result_type(operator, &type_of(own), &type_of(&distance))?;
        apply(operator, own, &distance, &result, &context.cast).map(Some)
    }

    /// How a value stands to another one in the window's order.
    fn compare(
        &self,
        left: &Value,
        right: &Value,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<Ordering>> {
        let order = compare_nullable(left, right, Collation::default(), context)?;
        let is_descending = self.order.is_some_and(|order| order.part.descending);
        Ok(order.map(|order| if is_descending { order.reverse() } else { order }))
    }

    /// The first row, of those that have a value, for which `is_behind` is true; it stays true for those after it.
    fn first_row(
        &self,
        context: &mut ExecutionContext<'_>,
        is_behind: impl Fn(&Value, &mut ExecutionContext<'_>) -> Result<bool>,
    ) -> Result<usize> {
        let Range { mut start, mut end } = self.present;
        while start < end {
            let middle = start + (end - start) / 2;
            let key = self.keys.get(middle).unwrap_or(&Value::Null);
            if is_behind(key, context)? {
                end = middle;
            } else {
                start = middle + 1;
            }
        }
        Ok(start)
    }
}

/// A type that holds a value, for arithmetic at run time.
fn type_of(value: &Value) -> SqlType {
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
