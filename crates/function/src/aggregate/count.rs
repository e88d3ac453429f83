//! COUNT, REGR_COUNT: rows whose arguments are all there.

use farbird_types::{ColumnType, Error, Result, SqlType, Value};
use farbird_vector::{Column, Selection};

use crate::Accumulator;
use crate::accumulator::{GroupedAccumulator, GroupedRows};
use crate::accumulator::{add_one_by_one, of_same_call};
use crate::context::Context;
use crate::grouped::{Grouped, OfGroup, for_each_present};

pub(super) fn result(_: &'static str, _: &[ColumnType]) -> Result<ColumnType> {
    Ok(ColumnType { sql_type: SqlType::BIGINT, nullable: false })
}

pub(super) fn start(_: &[ColumnType], _: &ColumnType) -> Box<dyn Accumulator> {
    Box::new(Count(0))
}

pub(super) fn start_grouped(_: &[ColumnType], _: &ColumnType) -> Box<dyn GroupedAccumulator> {
    Grouped::boxed(|| Count(0))
}

#[derive(Clone)]
struct Count(i64);

impl Accumulator for Count {
    fn add(&mut self, _: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        if !arguments.iter().any(Value::is_null) {
            self.0 = self.0.saturating_add(1);
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
        match arguments {
            [] => count = places.len(),
            [Column::Numbers(numbers, _)] => numbers.for_each_present(places, |_| count += 1),
            [Column::Doubles(doubles) | Column::Floats(doubles)] => {
                doubles.for_each_present(places, |_| count += 1);
            }
            [Column::Values(values)] => places.for_each(|place| {
                count += usize::from(values.get(place).is_some_and(|value| !value.is_null()));
            }),
            _ => return add_one_by_one(self, context, arguments, places),
        }
        self.0 = self.0.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn Accumulator>> {
        Some(Box::new(self.clone()))
    }

    fn merge(&mut self, other: &dyn Accumulator, _: &mut Context<'_>) -> Result<()> {
        self.0 = self.0.saturating_add(of_same_call::<Count>(other)?.0);
        Ok(())
    }

    fn can_remove(&self) -> bool {
        true
    }

    fn remove(&mut self, _: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        if !arguments.iter().any(Value::is_null) {
            self.0 -= 1;
        }
        Ok(())
    }

    fn result(&self, _: &mut Context<'_>) -> Result<Value> {
        Ok(Value::integer(self.0))
    }
}

impl OfGroup for Count {
    fn add_grouped(
        accumulators: &mut [Count],
        _: &mut Context<'_>,
        rows: &GroupedRows<'_>,
        _: &mut dyn FnMut(u32, Error),
    ) -> bool {
        let mut add = |group: Option<&u32>| {
            if let Some(count) = group.and_then(|group| accumulators.get_mut(*group as usize)) {
                count.0 = count.0.saturating_add(1);
            }
        };
        match rows.arguments {
            [] => rows.places.for_each(|place| add(rows.groups.get(place))),
            [Column::Numbers(numbers, _)] => {
                for_each_present(accumulators, numbers, rows, |count, _, _| count.0 += 1);
            }
            [Column::Doubles(doubles) | Column::Floats(doubles)] => {
                for_each_present(accumulators, doubles, rows, |count, _, _| count.0 += 1);
            }
            [Column::Values(values)] => rows.places.for_each(|place| {
                if values.get(place).is_some_and(|value| !value.is_null()) {
                    add(rows.groups.get(place));
                }
            }),
            _ => return false,
        }
        true
    }
}
