//! MIN and MAX.

use std::cmp::Ordering;

use farbird_types::{Collation, ColumnType, Error, Result, Value};
use farbird_vector::{Column, Operand, Selection, order_of_doubles};

use super::types::{argument_type, nullable};
use crate::Accumulator;
use crate::accumulator::{GroupedAccumulator, GroupedRows};
use crate::accumulator::{add_one_by_one, of_same_call};
use crate::compare::compare_nullable;
use crate::context::Context;
use crate::grouped::{Grouped, OfGroup, for_each_present};
use crate::result_type::text_kind;
use farbird_budget::{Reservation, heap_bytes};

/// Texts that are no longer cost little more than what each group is charged with.
const BYTES_UNCHARGED: usize = 64;

pub(super) fn result(_: &'static str, arguments: &[ColumnType]) -> Result<ColumnType> {
    nullable(*argument_type(arguments))
}

pub(super) fn start_min(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
    start(result, Ordering::Less)
}

pub(super) fn start_max(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
    start(result, Ordering::Greater)
}

pub(super) fn start_mins(_: &[ColumnType], result: &ColumnType) -> Box<dyn GroupedAccumulator> {
    start_grouped(result, Ordering::Less)
}

pub(super) fn start_maxes(_: &[ColumnType], result: &ColumnType) -> Box<dyn GroupedAccumulator> {
    start_grouped(result, Ordering::Greater)
}

fn start(result: &ColumnType, wanted: Ordering) -> Box<dyn Accumulator> {
    Box::new(Extreme::new(result, wanted))
}

fn start_grouped(result: &ColumnType, wanted: Ordering) -> Box<dyn GroupedAccumulator> {
    let result = *result;
    Grouped::boxed(move || Extreme::new(&result, wanted))
}

struct Extreme {
    best: Value,
    wanted: Ordering,
    collation: Collation,
    /// What a long text is charged to.
    memory: Option<Reservation>,
}

impl Extreme {
    fn new(result: &ColumnType, wanted: Ordering) -> Extreme {
        Extreme { best: Value::Null, wanted, collation: text_kind(&result.sql_type).1, memory: None }
    }
}

impl Accumulator for Extreme {
    fn add(&mut self, context: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        let value = match arguments.first() {
            None | Some(Value::Null) => return Ok(()),
            Some(value) => value,
        };
        if self.best.is_null()
            || compare_nullable(value, &self.best, self.collation, context)? == Some(self.wanted)
        {
            let bytes = heap_bytes(value);
            if bytes > BYTES_UNCHARGED || self.memory.is_some() {
                self.memory.get_or_insert_with(|| context.budget.reserve()).resize(bytes)?;
            }
            self.best = value.clone();
        }
        Ok(())
    }

    fn add_columns(
        &mut self,
        context: &mut Context<'_>,
        arguments: &[Column<'_>],
        places: Selection<'_>,
    ) -> Result<()> {
        let wanted = self.wanted;
        let best = match arguments {
            [Column::Numbers(numbers, unit)] => {
                best_of(numbers, places, |number, best| number.cmp(&best) == wanted)
                    .map(|number| unit.value(number))
            }
            [Column::Doubles(doubles)] => {
                best_of(doubles, places, |double, best| order_of_doubles(double, best) == wanted)
                    .map(Value::Double)
            }
            _ => return add_one_by_one(self, context, arguments, places),
        };
        best.map_or(Ok(()), |best| self.add(context, &[best]))
    }

    fn fork(&self) -> Option<Box<dyn Accumulator>> {
        // The text is shared: whoever has it already is charged.
        let Extreme { best, wanted, collation, memory: _ } = self;
        Some(Box::new(Extreme { best: best.clone(), wanted: *wanted, collation: *collation, memory: None }))
    }

    fn merge(&mut self, other: &dyn Accumulator, context: &mut Context<'_>) -> Result<()> {
        let best = of_same_call::<Extreme>(other)?.best.clone();
        self.add(context, &[best])
    }

    fn result(&self, _: &mut Context<'_>) -> Result<Value> {
        Ok(self.best.clone())
    }
}

/// The first of the best values.
fn best_of<T: Copy + Default>(
    operand: &Operand<'_, T>,
    places: Selection<'_>,
    is_better: impl Fn(T, T) -> bool,
) -> Option<T> {
    let mut best = None;
    operand.for_each_present(places, |value| match best {
        Some(known) if !is_better(value, known) => {}
        _ => best = Some(value),
    });
    best
}

impl OfGroup for Extreme {
    fn add_grouped(
        accumulators: &mut [Extreme],
        context: &mut Context<'_>,
        rows: &GroupedRows<'_>,
        failed: &mut dyn FnMut(u32, Error),
    ) -> bool {
        let [Column::Numbers(numbers, unit)] = rows.arguments else { return false };
        for_each_present(accumulators, numbers, rows, |extreme, group, number| {
            let value = unit.value(number);
            match (&mut extreme.best, &value) {
                (best @ Value::Null, _) => *best = value,
                (Value::Integer { unscaled: best, scale }, Value::Integer { unscaled, scale: of_value })
                    if scale == of_value =>
                {
                    if unscaled.cmp(best) == extreme.wanted {
                        *best = *unscaled;
                    }
                }
                _ => {
                    if let Err(error) = extreme.add(context, &[value]) {
                        failed(group, error);
                    }
                }
            }
        });
        true
    }
}
