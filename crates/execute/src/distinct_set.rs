//! What an aggregate with DISTINCT has seen.
//!
//! Keys are kept in memory while the statement's budget allows it: as plain numbers while there are no others, which takes a
//! fraction of the room and of the time, else as the bytes that only equal values have. Past that they go to a sort that drops
//! repeated ones, and whatever comes later is added when the group is finished.

use std::collections::HashMap;

use farbird_budget::{Reservation, reserve_entry};
use farbird_catalog::layout::collation_of;
use farbird_expression::ExecutionContext;
use farbird_plan::AggregateCall;
use farbird_types::{Result, Value, compare};
use farbird_vector::{Operand, Selection, Unit};

use crate::number_groups::{AmongNumbers, NumberGroups};
use crate::spill::{Sorted, Sorter};

/// What the allocation of a key takes beside its bytes.
const ALLOCATION_BYTES: usize = 16;

/// The arguments of one aggregate of one group. Only the first tells them apart: others are parameters of the aggregate.
#[derive(Default)]
pub(crate) struct DistinctSet {
    /// While all came as plain numbers of one unit, or as values that are equal to such; `keys` is empty then.
    numbers: Option<Box<NumberGroups>>,
    keys: HashMap<Vec<u8>, ()>,
    memory: Option<Reservation>,
    /// Once there was no memory: all keys, those that have been added already without a row.
    later: Option<Box<Sorter>>,
}

impl DistinctSet {
    /// Takes the arguments of a row; true if they are new and to be added now.
    ///
    /// # Errors
    /// `virmemexh` past the statement's budget, unless `may_wait`: whoever says so asks for [`DistinctSet::into_later`] at
    /// the end. Those of temporary files; the interrupt's.
    pub(crate) fn insert(
        &mut self,
        call: &AggregateCall,
        arguments: &[Value],
        may_wait: bool,
        context: &ExecutionContext<'_>,
    ) -> Result<bool> {
        if let (Some(numbers), Some(argument)) = (&self.numbers, arguments.first()) {
            match numbers.number_of(argument) {
                AmongNumbers::Key(key) if numbers.find(key).is_some() => return Ok(false),
                AmongNumbers::Key(key) => match self.push_number(key, may_wait, context)? {
                    true => return Ok(true),
                    false => {
                        self.spill(call, context)?;
                    }
                },
                AmongNumbers::Other | AmongNumbers::Unknown => self.leave_numbers(call, may_wait, context)?,
            }
        }
        let key = key_of(call, arguments.first());
        if let Some(later) = &mut self.later {
            later.push(&key, arguments.iter().cloned(), &context.session.interrupt)?;
            return Ok(false);
        }
        if self.keys.contains_key(&key) {
            return Ok(false);
        }
        match self.push_key(key, context) {
            Ok(()) => Ok(true),
            Err(error) if !may_wait => Err(error),
            Err(_) => {
                self.spill(call, context)?;
                self.insert(call, arguments, may_wait, context)
            }
        }
    }

    /// Takes arguments of rows that are plain numbers, and appends the places of those that are new and to be added now. Gives
    /// how many of the rows it has taken, from the first: what is left is for [`DistinctSet::insert`].
    pub(crate) fn insert_numbers(
        &mut self,
        column: &Operand<'_, i64>,
        unit: Unit,
        places: Selection<'_>,
        may_wait: bool,
        context: &ExecutionContext<'_>,
        new: &mut Vec<u32>,
    ) -> Result<usize> {
        if self.numbers.is_none() && self.keys.is_empty() && self.later.is_none() {
            self.numbers = Some(Box::new(NumberGroups::new(unit)));
        }
        let mut taken = 0;
        let mut room = Ok(true);
        places.for_each(|place| {
            let Some(numbers) = self.numbers.as_ref().filter(|_| room == Ok(true)) else { return };
            if numbers.unit().narrowed() != unit.narrowed() {
                return;
            }
            let key = column.get(place);
            if numbers.find(key).is_none() {
                room = self.push_number(key, may_wait, context);
                if room != Ok(true) {
                    return;
                }
                new.push(place as u32);
            }
            taken += 1;
        });
        room.map(|_| taken)
    }

    /// Adds a number; false if it has no room and may wait. One that may wait leaves memory to the sort that it will wait in.
    fn push_number(
        &mut self,
        key: Option<i64>,
        may_wait: bool,
        context: &ExecutionContext<'_>,
    ) -> Result<bool> {
        let Some(numbers) = &mut self.numbers else { return Ok(false) };
        let memory = self.memory.get_or_insert_with(|| context.budget.reserve());
        match may_wait {
            true if !memory.try_grow_to_share(numbers.room()) => return Ok(false),
            true => {}
            false => memory.grow(numbers.room())?,
        }
        numbers.push(key);
        Ok(true)
    }

    fn push_key(&mut self, key: Vec<u8>, context: &ExecutionContext<'_>) -> Result<()> {
        let memory = self.memory.get_or_insert_with(|| context.budget.reserve());
        memory.grow(key.len() + ALLOCATION_BYTES)?;
        reserve_entry(&mut self.keys, memory)?;
        self.keys.insert(key, ());
        Ok(())
    }

    /// Keeps as bytes what was kept as numbers: for values of another kind.
    fn leave_numbers(
        &mut self,
        call: &AggregateCall,
        may_wait: bool,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let Some(numbers) = self.numbers.take() else { return Ok(()) };
        // The numbers stay charged while they are there.
        let numbers_memory = self.memory.take();
        for number in 0..numbers.len() as u32 {
            context.check_interrupt()?;
            let key = key_of(call, Some(&numbers.value(number)));
            if let Some(later) = &mut self.later {
                later.push(&key, [], &context.session.interrupt)?;
                continue;
            }
            match self.push_key(key.clone(), context) {
                Ok(()) => {}
                Err(error) if !may_wait => return Err(error),
                Err(_) => self.spill(call, context)?.push(&key, [], &context.session.interrupt)?,
            }
        }
        drop(numbers_memory);
        Ok(())
    }

    /// Hands all keys to a sort, which gets their memory.
    fn spill(&mut self, call: &AggregateCall, context: &ExecutionContext<'_>) -> Result<&mut Sorter> {
        let mut later = Box::new(Sorter::new(true, &context.budget));
        if let Some(mut numbers) = self.numbers.take() {
            if let Some(memory) = &mut self.memory {
                memory.resize(numbers.forget_places())?;
            }
            for number in 0..numbers.len() as u32 {
                context.check_interrupt()?;
                let key = key_of(call, Some(&numbers.value(number)));
                later.push(&key, [], &context.session.interrupt)?;
            }
        }
        self.memory = None;
        for key in std::mem::take(&mut self.keys).into_keys() {
            later.push(&key, [], &context.session.interrupt)?;
        }
        Ok(self.later.insert(later))
    }

    /// The arguments that are still to be added, among rows without values for those that have been.
    ///
    /// # Errors
    /// Those of sorting.
    pub(crate) fn into_later(self, context: &ExecutionContext<'_>) -> Result<Option<Sorted>> {
        self.later.map(|later| later.finish(&context.session.interrupt)).transpose()
    }
}

/// Bytes that only equal arguments have.
fn key_of(call: &AggregateCall, argument: Option<&Value>) -> Vec<u8> {
    let mut key = Vec::new();
    if let (Some(argument), Some(argument_type)) = (argument, call.argument_types.first()) {
        compare::equality_key(argument, collation_of(&argument_type.sql_type), &mut key);
    }
    key
}
