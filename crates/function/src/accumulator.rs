//! What an aggregate function is, and what collects the rows of a group for it.

use std::any::Any;

use farbird_types::{ColumnType, Error, Result, Value};
use farbird_vector::{Column, Selection};

use crate::context::Context;

/// A built-in aggregate function.
pub struct AggregateFunction {
    /// Name, upper-case.
    pub name: &'static str,
    /// Fewest and most arguments; COUNT(*) has none.
    pub arity: (usize, usize),
    /// Result type from the argument types.
    pub result: fn(&'static str, &[ColumnType]) -> Result<ColumnType>,
    /// A fresh accumulator for one group, given the argument types and the result type.
    pub start: fn(&[ColumnType], &ColumnType) -> Box<dyn Accumulator>,
    /// Fresh accumulators for many groups, if they can lie side by side.
    pub start_grouped: Option<StartGrouped>,
}

/// Collects the rows of one group.
pub trait Accumulator: Any + Send {
    /// Takes one row's arguments. NULL handling is the function's own (most skip it).
    fn add(&mut self, context: &mut Context<'_>, arguments: &[Value]) -> Result<()>;

    /// Takes rows whose arguments are computed already: the same as to add them one by one, in order.
    fn add_columns(
        &mut self,
        context: &mut Context<'_>,
        arguments: &[Column<'_>],
        places: Selection<'_>,
    ) -> Result<()> {
        add_one_by_one(self, context, arguments, places)
    }

    /// A copy of it, if what several have collected can be put together by [`Accumulator::merge`].
    fn fork(&self) -> Option<Box<dyn Accumulator>> {
        None
    }

    /// Takes what another accumulator of the same call has collected of rows behind its own.
    ///
    /// # Errors
    /// As adding those rows; an internal error if [`Accumulator::fork`] gives none.
    fn merge(&mut self, _: &dyn Accumulator, _: &mut Context<'_>) -> Result<()> {
        Err(misused())
    }

    /// Whether rows can be taken back again, with the same result as if they had never been added.
    fn can_remove(&self) -> bool {
        false
    }

    /// Takes back a row that was added.
    ///
    /// # Errors
    /// As adding it; an internal error unless [`Accumulator::can_remove`].
    fn remove(&mut self, _: &mut Context<'_>, _: &[Value]) -> Result<()> {
        Err(misused())
    }

    /// The result so far; windows ask more than once.
    fn result(&self, context: &mut Context<'_>) -> Result<Value>;
}

/// Rows of columns, and the group of each.
pub struct GroupedRows<'a> {
    /// The arguments, computed.
    pub arguments: &'a [Column<'a>],
    /// Which rows of them.
    pub places: Selection<'a>,
    /// The number of the group of each row of the columns.
    pub groups: &'a [u32],
}

/// Collects the rows of many groups, which are numbered from 0.
pub trait GroupedAccumulator: Send {
    /// Begins one more group.
    fn push(&mut self);

    /// What a group takes, in bytes, beside long texts, which accumulators charge themselves.
    fn group_bytes(&self) -> usize;

    /// Takes one row of a group: as [`Accumulator::add`].
    ///
    /// # Errors
    /// The row's.
    fn add(&mut self, group: u32, context: &mut Context<'_>, arguments: &[Value]) -> Result<()>;

    /// Takes rows, each for its group. The group of a row that fails is told with what it fails with.
    fn add_columns(
        &mut self,
        context: &mut Context<'_>,
        rows: &GroupedRows<'_>,
        failed: &mut dyn FnMut(u32, Error),
    );

    /// The result of a group: as [`Accumulator::result`].
    ///
    /// # Errors
    /// As there.
    fn result(&self, group: u32, context: &mut Context<'_>) -> Result<Value>;
}

/// How the accumulators of many groups begin, given the argument types and the result type.
pub type StartGrouped = fn(&[ColumnType], &ColumnType) -> Box<dyn GroupedAccumulator>;

/// A mistake of ours: an accumulator was asked for what its function cannot do.
pub(crate) fn misused() -> Error {
    Error::internal("an aggregate was used in a way that it does not offer")
}

/// The accumulator of the same call that another one is to take.
pub(crate) fn of_same_call<A: Accumulator>(other: &dyn Accumulator) -> Result<&A> {
    let other: &dyn Any = other;
    other.downcast_ref().ok_or_else(misused)
}

/// Adds rows whose arguments are computed already.
pub(crate) fn add_one_by_one<A: Accumulator + ?Sized>(
    accumulator: &mut A,
    context: &mut Context<'_>,
    arguments: &[Column<'_>],
    places: Selection<'_>,
) -> Result<()> {
    let mut result = Ok(());
    let mut row = Vec::with_capacity(arguments.len());
    places.for_each(|place| {
        if result.is_ok() {
            row.clear();
            let mut values = arguments.iter().map(|argument| argument.value(place));
            let computed = values.try_for_each(|value| value.map(|value| row.push(value)));
            result = computed.and_then(|()| accumulator.add(context, &row));
        }
    });
    result
}
