//! What an aggregate with DISTINCT has seen.
//!
//! Keys are kept in memory while the statement's budget allows it. Past that they go to a sort that drops repeated ones, and
//! whatever comes later is added when the group is finished.

use std::collections::HashMap;

use farbird_budget::{Reservation, reserve_entry};
use farbird_expression::ExecutionContext;
use farbird_types::{Result, Value};

use crate::spill::{Sorted, Sorter};

/// What the allocation of a key takes beside its bytes.
const ALLOCATION_BYTES: usize = 16;

/// The arguments of one aggregate of one group.
#[derive(Default)]
pub(crate) struct DistinctSet {
    keys: HashMap<Vec<u8>, ()>,
    memory: Option<Reservation>,
    /// Once there was no memory: all keys, those that have been added already without a row.
    later: Option<Box<Sorter>>,
}

impl DistinctSet {
    /// Takes arguments; true if they are new and to be added now.
    ///
    /// # Errors
    /// `virmemexh` past the statement's budget, unless `may_wait`: whoever says so asks for [`DistinctSet::into_later`] at
    /// the end. Those of temporary files; the interrupt's.
    pub(crate) fn insert(
        &mut self,
        key: Vec<u8>,
        arguments: &[Value],
        may_wait: bool,
        context: &ExecutionContext<'_>,
    ) -> Result<bool> {
        if let Some(later) = &mut self.later {
            later.push(&key, arguments.iter().cloned(), &context.session.interrupt)?;
            return Ok(false);
        }
        if self.keys.contains_key(&key) {
            return Ok(false);
        }
        let memory = self.memory.get_or_insert_with(|| context.budget.reserve());
        let room =
            memory.grow(key.len() + ALLOCATION_BYTES).and_then(|()| reserve_entry(&mut self.keys, memory));
        match room {
            Ok(()) => {
                self.keys.insert(key, ());
                Ok(true)
            }
            Err(error) if !may_wait => Err(error),
            Err(_) => {
                self.spill(context)?;
                self.insert(key, arguments, may_wait, context)
            }
        }
    }

    fn spill(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        // The sort gets the memory that the keys had.
        let keys = std::mem::take(&mut self.keys);
        self.memory = None;
        let mut later = Box::new(Sorter::new(true, &context.budget));
        for key in keys.into_keys() {
            later.push(&key, [], &context.session.interrupt)?;
        }
        self.later = Some(later);
        Ok(())
    }

    /// The arguments that are still to be added, among rows without values for those that have been.
    ///
    /// # Errors
    /// Those of sorting.
    pub(crate) fn into_later(self, context: &ExecutionContext<'_>) -> Result<Option<Sorted>> {
        self.later.map(|later| later.finish(&context.session.interrupt)).transpose()
    }
}
