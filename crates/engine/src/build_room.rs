//! What building an index may take: memory and temporary files of a statement's budget, and threads as the server allows them.

use std::sync::Arc;

use farbird_store::{BuildFile, BuildMemory, BuildRoom, HelpingPlace, Result};

use crate::budget::{Account, HelpingThread, Reservation, StatementBudget, TemporaryFile};

/// Room of a statement.
pub(crate) struct StatementRoom {
    budget: Arc<StatementBudget>,
    /// Threads that may work, the statement's own included.
    workers: usize,
}

impl StatementRoom {
    pub(crate) fn new(budget: &Arc<StatementBudget>, workers: usize) -> StatementRoom {
        StatementRoom { budget: Arc::clone(budget), workers }
    }
}

impl BuildRoom for StatementRoom {
    fn memory(&self) -> Box<dyn BuildMemory + '_> {
        memory_of(&self.budget)
    }

    fn temporary_file(&self) -> Result<Box<dyn BuildFile>> {
        Ok(Box::new(File(self.budget.temporary_file()?)))
    }

    fn helping_places(&self) -> Vec<Box<dyn HelpingPlace>> {
        let account = self.budget.account();
        let place = |_| -> Option<Box<dyn HelpingPlace>> {
            let place = Some(account.helping_thread()?);
            Some(Box::new(Place { account: Arc::clone(account), place }))
        };
        (1..self.workers).map_while(place).collect()
    }
}

/// Memory of a statement's budget.
pub(crate) fn memory_of(budget: &Arc<StatementBudget>) -> Box<dyn BuildMemory> {
    Box::new(Memory(budget.reserve()))
}

struct Memory(Reservation);

impl BuildMemory for Memory {
    fn try_grow(&mut self, bytes: usize) -> bool {
        self.0.try_grow(bytes)
    }

    fn shrink(&mut self, bytes: usize) {
        self.0.shrink(bytes);
    }
}

struct File(TemporaryFile);

impl BuildFile for File {
    fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        Ok(self.0.append(bytes)?)
    }

    fn read_at(&mut self, place: u64, out: &mut [u8]) -> Result<()> {
        Ok(self.0.read_at(place, out)?)
    }
}

/// A place among those that the server allows: given back while its thread rests, and when it ends.
struct Place {
    account: Arc<Account>,
    place: Option<HelpingThread>,
}

impl HelpingPlace for Place {
    fn rests(&mut self) -> bool {
        if self.account.is_crowded() {
            self.place = None;
        }
        if self.place.is_none() {
            self.place = self.account.helping_thread();
        }
        self.place.is_none()
    }
}
