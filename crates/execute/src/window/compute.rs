//! Window functions over a partition: those that number or pick rows are computed here.

use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::{SortKey, WindowCall, WindowFrame, WindowFunction};
use farbird_types::{Error, Result, Value, isc};

use super::aggregate::aggregate;
use super::frame::{FrameRows, Frames};
use super::partition::{Partition, whole_number};
use super::results::Results;

/// Where NTH_VALUE and its like look in a frame.
enum Pick<'a> {
    First,
    Last,
    Nth { number: &'a Expression, from_last: bool },
}

impl Partition {
    /// Appends the results of a call for all rows; if one fails, those of the rows before.
    pub(super) fn compute(
        &self,
        call: &WindowCall,
        order: &[SortKey],
        context: &mut ExecutionContext<'_>,
        results: &mut Results,
    ) -> Result<()> {
        let count = self.len();
        let others = count.saturating_sub(1);
        let mut number = |number_of: &dyn Fn(usize) -> Value| {
            (0..count).try_for_each(|place| {
                context.check_interrupt()?;
                results.push(number_of(place))
            })
        };
        match &call.function {
            WindowFunction::RowNumber => number(&|place| integer(place + 1))?,
            WindowFunction::Rank => number(&|place| integer(self.peers(place).0 + 1))?,
            WindowFunction::DenseRank => number(&|place| integer(self.rank(place)))?,
            WindowFunction::PercentRank => number(&|place| ratio(self.peers(place).0, others))?,
            WindowFunction::CumeDist => number(&|place| ratio(self.peers(place).1, count))?,
            WindowFunction::Ntile(buckets) => self.ntile(buckets, context, results)?,
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

    fn ntile(
        &self,
        buckets: &Expression,
        context: &mut ExecutionContext<'_>,
        results: &mut Results,
    ) -> Result<()> {
        let count = self.len();
        let buckets = whole_number(&buckets.evaluate(&self.row(0)?, context)?, context)?.unwrap_or(0);
        let buckets = usize::try_from(buckets)
            .ok()
            .filter(|buckets| *buckets > 0)
            .ok_or_else(|| Error::new(isc::SYSF_ARGNMUSTBE_POSITIVE).with(1).with("NTILE"))?;
        // The first buckets take one row more than the others until nothing is left over.
        let (size, larger) = (count / buckets, count % buckets);
        (0..count).try_for_each(|place| {
            let in_larger = larger * (size + 1);
            let bucket = if place < in_larger {
                place / (size + 1)
            } else {
                larger + (place - in_larger) / size.max(1)
            };
            results.push(integer(bucket + 1))
        })
    }

    fn offset(
        &self,
        value: &Expression,
        distance: &Expression,
        default: &Expression,
        forward: bool,
        context: &mut ExecutionContext<'_>,
        results: &mut Results,
    ) -> Result<()> {
        for place in 0..self.len() {
            context.check_interrupt()?;
            let Some(distance) = whole_number(&distance.evaluate(&self.row(place)?, context)?, context)?
            else {
                results.push(Value::Null)?;
                continue;
            };
            let Ok(distance) = usize::try_from(distance) else {
                let name = if forward { "LEAD" } else { "LAG" };
                return Err(Error::new(isc::SYSF_ARGNMUSTBE_NONNEG).with(2).with(name));
            };
            let wanted = if forward { place.checked_add(distance) } else { place.checked_sub(distance) };
            results.push(match wanted.filter(|wanted| *wanted < self.len()) {
                Some(wanted) => value.evaluate(&self.row(wanted)?, context)?,
                None => default.evaluate(&self.row(place)?, context)?,
            })?;
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
        results: &mut Results,
    ) -> Result<()> {
        let frames = Frames::new(self, frame, order, context)?;
        for place in 0..self.len() {
            context.check_interrupt()?;
            let rows = frames.of_row(place, context)?;
            let chosen = match pick {
                Pick::First => rows.nth(0),
                Pick::Last => rows.len().checked_sub(1).and_then(|index| rows.nth(index)),
                Pick::Nth { number, from_last } => {
                    self.nth(&rows, &number.evaluate(&self.row(place)?, context)?, *from_last, context)?
                }
            };
            results.push(match chosen {
                Some(chosen) => value.evaluate(&self.row(chosen)?, context)?,
                None => Value::Null,
            })?;
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
