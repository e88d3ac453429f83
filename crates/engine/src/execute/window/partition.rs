//! The rows of a partition, and the functions that number or pick rows.

use farbird_types::{Error, Result, SqlType, Value, convert, isc};

use super::aggregate::aggregate;
use super::frame::{FrameRows, Frames};
use crate::budget::{Reservation, row_bytes};
use crate::execute::context::ExecutionContext;
use crate::expression::Expression;
use crate::plan::{SortKey, WindowCall, WindowFrame, WindowFunction};

/// The rows of one partition, in order, value after value.
#[derive(Default)]
pub(super) struct Partition {
    values: Vec<Value>,
    width: usize,
    rows: usize,
    /// Per row: the first row of its peers, and the one after the last.
    peers: Vec<(usize, usize)>,
    memory: Option<Reservation>,
}

/// Where NTH_VALUE and its like look in a frame.
enum Pick<'a> {
    First,
    Last,
    Nth { number: &'a Expression, from_last: bool },
}

impl Partition {
    /// No rows yet; they have `width` values.
    pub(super) fn new(width: usize, memory: Reservation) -> Partition {
        Partition { width, memory: Some(memory), ..Partition::default() }
    }

    /// Makes room.
    ///
    /// # Errors
    /// `virmemexh` past the statement's memory.
    fn cover(&mut self, bytes: usize) -> Result<()> {
        self.memory.as_mut().map_or(Ok(()), |memory| memory.grow(bytes))
    }

    /// Makes room for the results of so many calls.
    ///
    /// # Errors
    /// `virmemexh` past the statement's memory.
    pub(super) fn cover_results(&mut self, calls: usize) -> Result<()> {
        self.cover(self.rows * calls * size_of::<Value>())
    }

    /// Appends a row; `is_new` if it is no peer of the one before.
    ///
    /// # Errors
    /// `virmemexh` past the statement's memory.
    pub(super) fn push(&mut self, row: Vec<Value>, is_new: bool) -> Result<()> {
        self.cover(row_bytes(&row))?;
        if is_new {
            self.close();
        }
        let first = self.peers.last().copied().filter(|_| !is_new).map_or(self.rows, |(first, _)| first);
        self.values.extend(row);
        self.rows += 1;
        self.values.resize(self.rows * self.width, Value::Null);
        self.peers.push((first, 0));
        Ok(())
    }

    /// No more peers of the last row come.
    pub(super) fn close(&mut self) {
        let first = self.peers.last().map_or(0, |(first, _)| *first);
        for (_, end) in self.peers.iter_mut().skip(first) {
            *end = self.rows;
        }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// The values of a row.
    pub(super) fn values(&self, place: usize) -> &[Value] {
        self.values.get(place * self.width..(place + 1) * self.width).unwrap_or_default()
    }

    /// Takes the values of a row out.
    pub(super) fn take_row(&mut self, place: usize) -> impl Iterator<Item = Value> {
        let row = self.values.get_mut(place * self.width..(place + 1) * self.width).unwrap_or_default();
        row.iter_mut().map(std::mem::take)
    }

    /// The first of a row's peers, and the row after the last.
    pub(super) fn peers(&self, place: usize) -> (usize, usize) {
        self.peers.get(place).copied().unwrap_or((place, place + 1))
    }

    /// Appends the results of a call for all rows; if one fails, those of the rows before.
    pub(super) fn compute(
        &self,
        call: &WindowCall,
        order: &[SortKey],
        context: &mut ExecutionContext<'_>,
        results: &mut Vec<Value>,
    ) -> Result<()> {
        let count = self.rows;
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
            WindowFunction::Aggregate(call_of) => {
                aggregate(self, call_of, &call.frame, order, context, results)?;
            }
            WindowFunction::FirstValue(value) => {
                self.pick(value, &Pick::First, &call.frame, order, context, results)?;
            }
            WindowFunction::LastValue(value) => {
                self.pick(value, &Pick::Last, &call.frame, order, context, results)?;
            }
            WindowFunction::NthValue { value, number, from_last } => {
                let pick = Pick::Nth { number, from_last: *from_last };
                self.pick(value, &pick, &call.frame, order, context, results)?;
            }
        }
        Ok(())
    }

    fn ntile(&self, buckets: &Expression, context: &mut ExecutionContext<'_>) -> Result<Vec<Value>> {
        let count = self.rows;
        let buckets = whole_number(&buckets.evaluate(self.values(0), context)?, context)?.unwrap_or(0);
        let buckets = usize::try_from(buckets)
            .ok()
            .filter(|buckets| *buckets > 0)
            .ok_or_else(|| Error::new(isc::SYSF_ARGNMUSTBE_POSITIVE).with(1).with("NTILE"))?;
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
        for place in 0..self.rows {
            context.check_interrupt()?;
            let Some(distance) = whole_number(&distance.evaluate(self.values(place), context)?, context)?
            else {
                results.push(Value::Null);
                continue;
            };
            let Ok(distance) = usize::try_from(distance) else {
                let name = if forward { "LEAD" } else { "LAG" };
                return Err(Error::new(isc::SYSF_ARGNMUSTBE_NONNEG).with(2).with(name));
            };
            let wanted = if forward { place.checked_add(distance) } else { place.checked_sub(distance) };
            results.push(match wanted.filter(|wanted| *wanted < self.rows) {
                Some(wanted) => value.evaluate(self.values(wanted), context)?,
                None => default.evaluate(self.values(place), context)?,
            });
        }
        Ok(())
    }

    /// FIRST_VALUE and its like.
    fn pick(
        &self,
        value: &Expression,
        pick: &Pick<'_>,
        frame: &WindowFrame,
        order: &[SortKey],
        context: &mut ExecutionContext<'_>,
        results: &mut Vec<Value>,
    ) -> Result<()> {
        let frames = Frames::new(self, frame, order, context)?;
        for place in 0..self.rows {
            context.check_interrupt()?;
            let rows = frames.of_row(place, context)?;
            let chosen = match pick {
                Pick::First => rows.nth(0),
                Pick::Last => rows.len().checked_sub(1).and_then(|index| rows.nth(index)),
                Pick::Nth { number, from_last } => {
                    self.nth(&rows, &number.evaluate(self.values(place), context)?, *from_last, context)?
                }
            };
            results.push(match chosen {
                Some(chosen) => value.evaluate(self.values(chosen), context)?,
                None => Value::Null,
            });
        }
        Ok(())
    }

    /// The row that NTH_VALUE asks for, if the frame has so many.
    fn nth(
        &self,
        rows: &FrameRows,
        number: &Value,
        from_last: bool,
        context: &ExecutionContext<'_>,
    ) -> Result<Option<usize>> {
        let Some(number) = whole_number(number, context)? else { return Ok(None) };
        let Some(index) = usize::try_from(number).ok().and_then(|number| number.checked_sub(1)) else {
            return Err(Error::new(isc::SYSF_ARGNMUSTBE_POSITIVE).with(2).with("NTH_VALUE"));
        };
        let index = if from_last { rows.len().checked_sub(index + 1) } else { Some(index) };
        Ok(index.and_then(|index| rows.nth(index)))
    }
}

fn integer(number: usize) -> Value {
    Value::integer(i64::try_from(number).unwrap_or(i64::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "counts of rows of one partition are far below 2^53")]
fn ratio(part: usize, whole: usize) -> Value {
    Value::Double(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
}

/// A value as a whole number; `None` for NULL.
pub(super) fn whole_number(value: &Value, context: &ExecutionContext<'_>) -> Result<Option<i64>> {
    match convert::cast(value, &SqlType::BIGINT, &context.cast)? {
        Value::Integer { unscaled, .. } => Ok(Some(unscaled)),
        _ => Ok(None),
    }
}
