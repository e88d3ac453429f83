//! The accumulators of one call in many groups, side by side: rows are added to the group that each belongs to, without
//! being put in order of groups first.

use farbird_types::{Error, Result, Value};

use crate::accumulator::{Accumulator, GroupedAccumulator, GroupedRows};
use crate::context::Context;

/// An accumulator that many groups have one of.
pub(crate) trait OfGroup: Accumulator + Sized {
    /// Takes rows, each for the accumulator of its group; false, and nothing is done, if these columns are for
    /// [`Accumulator::add`].
    fn add_grouped(
        accumulators: &mut [Self],
        context: &mut Context<'_>,
        rows: &GroupedRows<'_>,
        failed: &mut dyn FnMut(u32, Error),
    ) -> bool;
}

/// Accumulators of one kind, by group.
pub(crate) struct Grouped<A> {
    accumulators: Vec<A>,
    start: Box<dyn Fn() -> A + Send>,
}

impl<A: OfGroup> Grouped<A> {
    pub(crate) fn boxed(start: impl Fn() -> A + Send + 'static) -> Box<dyn GroupedAccumulator> {
        Box::new(Grouped { accumulators: Vec::new(), start: Box::new(start) })
    }
}

impl<A: OfGroup> GroupedAccumulator for Grouped<A> {
    fn push(&mut self) {
        self.accumulators.push((self.start)());
    }

    fn group_bytes(&self) -> usize {
        // A vector that grows has room for as many again.
        2 * size_of::<A>()
    }

    fn add(&mut self, group: u32, context: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        match self.accumulators.get_mut(group as usize) {
            Some(accumulator) => accumulator.add(context, arguments),
            None => Err(no_such_group()),
        }
    }

    fn add_columns(
        &mut self,
        context: &mut Context<'_>,
        rows: &GroupedRows<'_>,
        failed: &mut dyn FnMut(u32, Error),
    ) {
        if A::add_grouped(&mut self.accumulators, context, rows, failed) {
            return;
        }
        let mut row = Vec::with_capacity(rows.arguments.len());
        rows.places.for_each(|place| {
            let Some(group) = rows.groups.get(place) else { return };
            row.clear();
            let mut values = rows.arguments.iter().map(|argument| argument.value(place));
            let computed = values.try_for_each(|value| value.map(|value| row.push(value)));
            if let Err(error) = computed.and_then(|()| self.add(*group, context, &row)) {
                failed(*group, error);
            }
        });
    }

    fn result(&self, group: u32, context: &mut Context<'_>) -> Result<Value> {
        match self.accumulators.get(group as usize) {
            Some(accumulator) => accumulator.result(context),
            None => Err(no_such_group()),
        }
    }
}

fn no_such_group() -> Error {
    Error::internal("a group that has not begun")
}

/// Calls `take` with each row's value that is not NULL and the accumulator of its group.
#[inline]
pub(crate) fn for_each_present<A, T: Copy + Default>(
    accumulators: &mut [A],
    operand: &farbird_vector::Operand<'_, T>,
    rows: &GroupedRows<'_>,
    mut take: impl FnMut(&mut A, u32, T),
) {
    rows.places.for_each(|place| {
        if let Some(value) = operand.get(place)
            && let Some(group) = rows.groups.get(place)
            && let Some(accumulator) = accumulators.get_mut(*group as usize)
        {
            take(accumulator, *group, value);
        }
    });
}
