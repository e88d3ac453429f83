//! The accumulators of one call in many groups, side by side: rows are added to the group that each belongs to, without
//! being put in order of groups first.

use farbird_budget::extend_within;
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
        extend_within(&mut self.accumulators, 1, [(self.start)()]);
    }

    fn group_bytes(&self) -> usize {
        grown(size_of::<A>())
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
        add_rows(self, context, rows, failed);
    }

    fn result(&self, group: u32, context: &mut Context<'_>) -> Result<Value> {
        match self.accumulators.get(group as usize) {
            Some(accumulator) => accumulator.result(context),
            None => Err(no_such_group()),
        }
    }
}

/// What an element of so many bytes takes in a vector that grows by [`extend_within`]: it has room for half as many again at most.
pub(crate) fn grown(bytes: usize) -> usize {
    (bytes * 3).div_ceil(2)
}

pub(crate) fn no_such_group() -> Error {
    Error::internal("a group that has not begun")
}

/// Adds rows one by one.
pub(crate) fn add_rows(
    accumulators: &mut impl GroupedAccumulator,
    context: &mut Context<'_>,
    rows: &GroupedRows<'_>,
    failed: &mut dyn FnMut(u32, Error),
) {
    let mut row = Vec::with_capacity(rows.arguments.len());
    rows.places.for_each(|place| {
        let Some(group) = rows.groups.get(place) else { return };
        row.clear();
        let mut values = rows.arguments.iter().map(|argument| argument.value(place));
        let computed = values.try_for_each(|value| value.map(|value| row.push(value)));
        if let Err(error) = computed.and_then(|()| accumulators.add(*group, context, &row)) {
            failed(*group, error);
        }
    });
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
