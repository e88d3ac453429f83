//! SUM and AVG: exact numbers exactly, in INT128; DECFLOAT as DECFLOAT(34); FLOAT and DOUBLE as DOUBLE.

use farbird_budget::extend_within;
use farbird_types::decimal::{Decimal, Precision};
use farbird_types::{ColumnType, Error, ExactWidth, Result, SqlType, Value, isc};
use farbird_vector::{Column, Selection, Unit};

use super::types::{argument_type, must_be_numeric, nullable};
use crate::accumulator::{GroupedAccumulator, GroupedRows};
use crate::accumulator::{add_one_by_one, misused, of_same_call};
use crate::context::Context;
use crate::grouped::{Grouped, OfGroup, add_rows, for_each_present, grown, no_such_group};
use crate::numeric::{Number, number};
use crate::{Accumulator, argument};

/// BIGINT for SMALLINT and INTEGER, INT128 for BIGINT and INT128, of the same scale.
pub(super) fn sum_result(function: &'static str, arguments: &[ColumnType]) -> Result<ColumnType> {
    nullable(match argument_type(arguments) {
        SqlType::Null => SqlType::Null,
        SqlType::Exact { width, scale, subtype } => {
            let width = match width {
                ExactWidth::Short | ExactWidth::Long => ExactWidth::Int64,
                ExactWidth::Int64 | ExactWidth::Int128 => ExactWidth::Int128,
            };
            SqlType::Exact { width, scale: *scale, subtype: *subtype }
        }
        SqlType::Float | SqlType::Double => SqlType::Double,
        SqlType::DecFloat16 | SqlType::DecFloat34 => SqlType::DecFloat34,
        _ => return Err(must_be_numeric(function)),
    })
}

/// BIGINT, or INT128 for INT128, of the same scale; DECFLOAT keeps its precision.
pub(super) fn average_result(function: &'static str, arguments: &[ColumnType]) -> Result<ColumnType> {
    nullable(match argument_type(arguments) {
        SqlType::Null => SqlType::Null,
        SqlType::Exact { width, scale, subtype } => {
            let width = (*width).max(ExactWidth::Int64);
            SqlType::Exact { width, scale: *scale, subtype: *subtype }
        }
        SqlType::Float | SqlType::Double => SqlType::Double,
        same @ (SqlType::DecFloat16 | SqlType::DecFloat34) => *same,
        _ => return Err(must_be_numeric(function)),
    })
}

pub(super) fn start_sum(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
    Box::new(Sum { average: false, ..Sum::new(result) })
}

pub(super) fn start_average(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
    Box::new(Sum { average: true, ..Sum::new(result) })
}

pub(super) fn start_sums(_: &[ColumnType], result: &ColumnType) -> Box<dyn GroupedAccumulator> {
    start_grouped(Sum { average: false, ..Sum::new(result) })
}

pub(super) fn start_averages(_: &[ColumnType], result: &ColumnType) -> Box<dyn GroupedAccumulator> {
    start_grouped(Sum { average: true, ..Sum::new(result) })
}

fn start_grouped(start: Sum) -> Box<dyn GroupedAccumulator> {
    match start.total {
        Total::Exact(_) => Box::new(ExactSums { start, totals: Vec::new(), counts: Vec::new() }),
        Total::Double(_) | Total::Decimal(_) => Grouped::boxed(move || start.clone()),
    }
}

#[derive(Clone)]
struct Sum {
    average: bool,
    count: i64,
    total: Total,
    result: SqlType,
}

#[derive(Clone)]
enum Total {
    /// Unscaled, in the scale of the result.
    Exact(i128),
    Double(f64),
    Decimal(Decimal),
}

fn overflow() -> Error {
    Error::new(isc::EXCEPTION_INTEGER_OVERFLOW)
}

impl Sum {
    fn new(result: &ColumnType) -> Sum {
        let total = match result.sql_type {
            SqlType::Exact { .. } => Total::Exact(0),
            SqlType::DecFloat16 | SqlType::DecFloat34 => Total::Decimal(Decimal::ZERO),
            _ => Total::Double(0.0),
        };
        Sum { average: false, count: 0, total, result: result.sql_type }
    }
}

impl Accumulator for Sum {
    fn add(&mut self, context: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        let value = match arguments.first() {
            None | Some(Value::Null) => return Ok(()),
            Some(value) => value,
        };
        self.count = self.count.saturating_add(1);
        match (&mut self.total, number(context, value)?) {
            (Total::Exact(total), Number::Exact(unscaled, _)) => {
                *total = total.checked_add(unscaled).ok_or_else(overflow)?;
            }
            (Total::Decimal(total), Number::Decimal(decimal)) => {
                *total = total.add_in(decimal, &context.cast.decimal)?;
            }
            (Total::Double(total), Number::Double(double)) => *total += double,
            (total, _) => {
                let double = argument::double(context, value)?;
                match total {
                    Total::Double(total) => *total += double,
                    _ => return Err(must_be_numeric("SUM")),
                }
            }
        }
        Ok(())
    }

    fn add_columns(
        &mut self,
        context: &mut Context<'_>,
        arguments: &[Column<'_>],
        places: Selection<'_>,
    ) -> Result<()> {
        let mut count = 0;
        match (&mut self.total, arguments) {
            (Total::Exact(total), [Column::Numbers(numbers, Unit::Exact(_) | Unit::Wide(_))]) => {
                // Less than 2^63 numbers of 64 bits: their sum fits.
                let mut sum = 0i128;
                numbers.for_each_present(places, |number| {
                    sum += i128::from(number);
                    count += 1;
                });
                *total = total.checked_add(sum).ok_or_else(overflow)?;
            }
            (Total::Double(total), [Column::Doubles(doubles) | Column::Floats(doubles)]) => {
                doubles.for_each_present(places, |double| {
                    *total += double;
                    count += 1;
                });
            }
            _ => return add_one_by_one(self, context, arguments, places),
        }
        self.count = self.count.saturating_add(count);
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn Accumulator>> {
        Some(Box::new(self.clone()))
    }

    fn merge(&mut self, other: &dyn Accumulator, context: &mut Context<'_>) -> Result<()> {
        let other = of_same_call::<Sum>(other)?;
        self.count = self.count.saturating_add(other.count);
        match (&mut self.total, &other.total) {
            (Total::Exact(total), Total::Exact(more)) => {
                *total = total.checked_add(*more).ok_or_else(overflow)?;
            }
            (Total::Decimal(total), Total::Decimal(more)) => {
                *total = total.add_in(*more, &context.cast.decimal)?;
            }
            (Total::Double(total), Total::Double(more)) => *total += more,
            _ => return Err(misused()),
        }
        Ok(())
    }

    /// Sums of doubles and decimals are rounded: what was added does not come out again.
    fn can_remove(&self) -> bool {
        matches!(self.total, Total::Exact(_))
    }

    fn remove(&mut self, context: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        let value = match arguments.first() {
            None | Some(Value::Null) => return Ok(()),
            Some(value) => value,
        };
        match (&mut self.total, number(context, value)?) {
            (Total::Exact(total), Number::Exact(unscaled, _)) => {
                *total = total.checked_sub(unscaled).ok_or_else(overflow)?;
            }
            _ => return Err(misused()),
        }
        self.count -= 1;
        Ok(())
    }

    fn result(&self, context: &mut Context<'_>) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        let decimal = &context.cast.decimal;
        let scale = match self.result {
            SqlType::Exact { scale, .. } => scale,
            _ => 0,
        };
        match (&self.total, self.average) {
            (Total::Exact(total), false) => {
                argument::exact_result(*total, scale, &self.result).map_err(|_| overflow())
            }
            (Total::Exact(total), true) => {
                argument::exact_result(total / i128::from(self.count), scale, &self.result)
            }
            (Total::Double(total), false) => argument::double_result(*total),
            (Total::Double(total), true) => argument::double_result(total / self.count as f64),
            (Total::Decimal(total), false) => Ok(Value::DecFloat(*total)),
            (Total::Decimal(total), true) => {
                let average = total.divide_in(Decimal::from_unscaled(i128::from(self.count), 0), decimal)?;
                let precision = match self.result {
                    SqlType::DecFloat16 => Precision::Sixteen,
                    _ => Precision::ThirtyFour,
                };
                Ok(Value::DecFloat(average.rounded(precision, decimal)?))
            }
        }
    }
}

impl OfGroup for Sum {
    fn add_grouped(
        accumulators: &mut [Sum],
        _: &mut Context<'_>,
        rows: &GroupedRows<'_>,
        _: &mut dyn FnMut(u32, Error),
    ) -> bool {
        let ([Column::Doubles(doubles) | Column::Floats(doubles)], Some(Total::Double(_)) | None) =
            (rows.arguments, accumulators.first().map(|sum| &sum.total))
        else {
            return false;
        };
        for_each_present(accumulators, doubles, rows, |sum, _, double| {
            let Total::Double(total) = &mut sum.total else { return };
            *total += double;
            sum.count += 1;
        });
        true
    }
}

/// Exact sums or averages of many groups, in a third of what accumulators of any kind would take.
struct ExactSums {
    /// That of a group without rows.
    start: Sum,
    /// Unscaled, in the scale of the result.
    totals: Vec<i128>,
    /// How many numbers that are.
    counts: Vec<i64>,
}

impl ExactSums {
    /// One of them by itself.
    fn of_group(&self, group: u32) -> Result<Sum> {
        let (total, count) = (self.totals.get(group as usize), self.counts.get(group as usize));
        let (Some(total), Some(count)) = (total, count) else { return Err(no_such_group()) };
        Ok(Sum { total: Total::Exact(*total), count: *count, ..self.start.clone() })
    }
}

impl GroupedAccumulator for ExactSums {
    fn push(&mut self) {
        extend_within(&mut self.totals, 1, [0]);
        extend_within(&mut self.counts, 1, [0]);
    }

    fn group_bytes(&self) -> usize {
        grown(size_of::<i128>() + size_of::<i64>())
    }

    fn add(&mut self, group: u32, context: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        let mut sum = self.of_group(group)?;
        sum.add(context, arguments)?;
        if let (Total::Exact(more), Some(total), Some(count)) =
            (sum.total, self.totals.get_mut(group as usize), self.counts.get_mut(group as usize))
        {
            (*total, *count) = (more, sum.count);
        }
        Ok(())
    }

    fn add_columns(
        &mut self,
        context: &mut Context<'_>,
        rows: &GroupedRows<'_>,
        failed: &mut dyn FnMut(u32, Error),
    ) {
        let [Column::Numbers(numbers, Unit::Exact(_) | Unit::Wide(_))] = rows.arguments else {
            return add_rows(self, context, rows, failed);
        };
        rows.places.for_each(|place| {
            if let Some(number) = numbers.get(place)
                && let Some(group) = rows.groups.get(place)
                && let Some(total) = self.totals.get_mut(*group as usize)
                && let Some(count) = self.counts.get_mut(*group as usize)
            {
                match total.checked_add(i128::from(number)) {
                    Some(more) => *total = more,
                    None => failed(*group, overflow()),
                }
                *count += 1;
            }
        });
    }

    fn result(&self, group: u32, context: &mut Context<'_>) -> Result<Value> {
        self.of_group(group)?.result(context)
    }
}
