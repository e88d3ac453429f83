//! What one statement may take.

use std::sync::Arc;

use farbird_types::Result;
use parking_lot::Mutex;

use super::{Account, Level, Limits, Resource, Usage};

/// What each statement may take without the server's count.
pub const STATEMENT_UNCOUNTED_BYTES: u64 = 64 << 10;

/// How much a statement takes of its server's budget at a time, and gives back at a time.
const CHUNK_BYTES: u64 = 256 << 10;

/// The part of what is left that one operator which can spill may have: what comes after it needs some too.
const SHARE_OF_THE_REST: u64 = 2;

/// What one statement, with its cursor and everything that it calls, has taken and may take.
#[derive(Debug)]
pub struct StatementBudget {
    account: Arc<Account>,
    memory: Mutex<Taken>,
    temporary: Mutex<Taken>,
    /// Of a part: what it is a part of.
    whole: Option<Arc<StatementBudget>>,
}

#[derive(Debug, Default)]
struct Taken {
    usage: Usage,
    /// All that was ever taken, whatever was given back meanwhile.
    total: u64,
    /// What the account was asked for.
    counted: u64,
}

impl Account {
    /// The budget of a statement.
    pub fn statement(self: &Arc<Self>) -> Arc<StatementBudget> {
        StatementBudget::of(Arc::clone(self), None)
    }
}

impl StatementBudget {
    fn of(account: Arc<Account>, whole: Option<Arc<StatementBudget>>) -> Arc<StatementBudget> {
        Arc::new(StatementBudget { account, memory: Mutex::default(), temporary: Mutex::default(), whole })
    }

    /// A part of it, to see what somebody takes: whatever is taken of the part is taken of the whole, within its limits.
    pub fn part(self: &Arc<Self>) -> Arc<StatementBudget> {
        StatementBudget::of(Arc::clone(&self.account), Some(Arc::clone(self)))
    }

    /// A statement that belongs to no server: what runs while nobody is attached. It has the usual limits.
    pub fn alone() -> Arc<StatementBudget> {
        Account::server(Limits::default()).statement()
    }

    /// What it has taken.
    pub fn usage(&self, resource: Resource) -> Usage {
        self.taken(resource).lock().usage
    }

    /// All that it ever took, whatever it gave back meanwhile.
    pub fn taken_in_all(&self, resource: Resource) -> u64 {
        self.taken(resource).lock().total
    }

    /// The account that it belongs to.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// How much memory somebody who can spill may have in all, if he has `held` now.
    pub(super) fn share(&self, held: u64) -> u64 {
        if let Some(whole) = &self.whole {
            return whole.share(held);
        }
        let limit = self.account.limits.of(Level::Statement, Resource::Memory);
        let others = self.usage(Resource::Memory).used.saturating_sub(held);
        let rest = limit.saturating_sub(others).min(self.account.left(Resource::Memory).saturating_add(held));
        rest / SHARE_OF_THE_REST
    }

    /// Takes so much.
    ///
    /// # Errors
    /// `virmemexh` or `out_of_temp_space` past the limit of the statement or the server; nothing is taken then.
    pub(super) fn take(&self, resource: Resource, bytes: u64) -> Result<()> {
        if let Some(whole) = &self.whole {
            whole.take(resource, bytes)?;
            self.taken(resource).lock().add(bytes);
            return Ok(());
        }
        let mut taken = self.taken(resource).lock();
        let used = taken.usage.used.saturating_add(bytes);
        let limits = &self.account.limits;
        if used > limits.of(Level::Statement, resource) {
            return Err(limits.exceeded(Level::Statement, resource));
        }
        let missing = used.saturating_sub(uncounted(resource)).saturating_sub(taken.counted);
        if missing > 0 {
            let chunks = missing.next_multiple_of(CHUNK_BYTES);
            let got = match self.account.take(resource, chunks) {
                Ok(()) => chunks,
                Err(_) => self.account.take(resource, missing).map(|()| missing)?,
            };
            taken.counted += got;
        }
        taken.add(bytes);
        Ok(())
    }

    /// Gives so much back.
    pub(super) fn give_back(&self, resource: Resource, bytes: u64) {
        let mut taken = self.taken(resource).lock();
        taken.usage.used = taken.usage.used.saturating_sub(bytes);
        if let Some(whole) = &self.whole {
            return whole.give_back(resource, bytes);
        }
        let needed = taken.usage.used.saturating_sub(uncounted(resource)).next_multiple_of(CHUNK_BYTES);
        // What goes up and down around the border of a chunk keeps it.
        let kept = if taken.usage.used == 0 { 0 } else { needed + CHUNK_BYTES };
        if taken.counted > kept {
            self.account.give_back(resource, taken.counted - kept);
            taken.counted = kept;
        }
    }

    fn taken(&self, resource: Resource) -> &Mutex<Taken> {
        match resource {
            Resource::Memory => &self.memory,
            Resource::Temporary => &self.temporary,
        }
    }
}

impl Taken {
    fn add(&mut self, bytes: u64) {
        self.usage.used = self.usage.used.saturating_add(bytes);
        self.usage.peak = self.usage.peak.max(self.usage.used);
        self.total = self.total.saturating_add(bytes);
    }
}

impl Drop for StatementBudget {
    fn drop(&mut self) {
        for resource in [Resource::Memory, Resource::Temporary] {
            let counted = self.taken(resource).lock().counted;
            if counted > 0 {
                self.account.give_back(resource, counted);
            }
        }
    }
}

fn uncounted(resource: Resource) -> u64 {
    match resource {
        Resource::Memory => STATEMENT_UNCOUNTED_BYTES,
        Resource::Temporary => 0,
    }
}
