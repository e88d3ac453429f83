//! The running transactions and the snapshots that somebody still reads.

use std::collections::BTreeMap;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::statistics::ActiveTransaction;
use crate::{CommitNumber, TransactionId, TransactionOptions};

/// The running transactions and the snapshots that somebody still reads.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    active: BTreeMap<TransactionId, ActiveTransaction>,
    /// How many transactions and views read each snapshot.
    snapshots: BTreeMap<CommitNumber, usize>,
}

impl Registry {
    pub(crate) fn begin(&self, id: TransactionId, options: TransactionOptions, snapshot: CommitNumber) {
        let mut state = self.state.lock();
        let oldest_active = state.active.keys().next().copied().unwrap_or(id);
        let started = SystemTime::now();
        state.active.insert(id, ActiveTransaction { id, options, snapshot, oldest_active, started });
    }

    pub(crate) fn end(&self, id: TransactionId) {
        self.state.lock().active.remove(&id);
    }

    /// Notes the newest snapshot that a transaction reads.
    pub(crate) fn set_snapshot(&self, id: TransactionId, snapshot: CommitNumber) {
        if let Some(active) = self.state.lock().active.get_mut(&id) {
            active.snapshot = snapshot;
        }
    }

    /// Keeps the versions of a snapshot. To be called while no commit can be published, or for a snapshot held already.
    pub(crate) fn hold(&self, snapshot: CommitNumber) {
        *self.state.lock().snapshots.entry(snapshot).or_default() += 1;
    }

    /// Keeps the versions of a snapshot if somebody already keeps them (or those of an older one); whether so.
    pub(crate) fn share(&self, snapshot: CommitNumber) -> bool {
        let mut state = self.state.lock();
        let held = state.snapshots.range(..=snapshot).next().is_some();
        if held {
            *state.snapshots.entry(snapshot).or_default() += 1;
        }
        held
    }

    pub(crate) fn release(&self, snapshot: CommitNumber) {
        let mut state = self.state.lock();
        if let Some(count) = state.snapshots.get_mut(&snapshot) {
            *count -= 1;
            if *count == 0 {
                state.snapshots.remove(&snapshot);
            }
        }
    }

    /// The oldest snapshot that is read; `published` if there is none.
    pub(crate) fn horizon(&self, published: CommitNumber) -> CommitNumber {
        self.state.lock().snapshots.keys().next().copied().unwrap_or(published).min(published)
    }

    /// Whether anybody, or whoever comes next, reads a snapshot of `from` or later but before `until`.
    pub(crate) fn is_read_between(
        &self,
        from: CommitNumber,
        until: CommitNumber,
        published: CommitNumber,
    ) -> bool {
        (from <= published && published < until)
            || from < until && self.state.lock().snapshots.range(from..until).next().is_some()
    }

    /// The newest running transaction; 0 if there is none.
    pub(crate) fn newest_active(&self) -> TransactionId {
        self.state.lock().active.keys().next_back().copied().unwrap_or(TransactionId(0))
    }

    /// The oldest running transaction; the greatest number if there is none.
    pub(crate) fn oldest_active(&self) -> TransactionId {
        self.state.lock().active.keys().next().copied().unwrap_or(TransactionId(u64::MAX))
    }

    /// The running transactions, oldest first.
    pub(crate) fn active(&self) -> Vec<ActiveTransaction> {
        self.state.lock().active.values().cloned().collect()
    }
}
