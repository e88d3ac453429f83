//! What an attachment keeps of a transaction that is prepared: see [`super::two_phase`].

use std::sync::Arc;

use farbird_store::{CommitName, StoreStatistics, TransactionId};

use super::transaction_slot::TransactionFacts;
use crate::api::TransactionParameters;

/// A transaction that can only be committed or rolled back any more.
pub(super) struct PreparedSlot {
    pub(super) id: TransactionId,
    pub(super) parameters: TransactionParameters,
    pub(super) snapshot_number: u64,
    /// The events that others are to be told of with its commit, with how often each was posted.
    pub(super) posted: Vec<(Arc<str>, u32)>,
    /// The name of its commit.
    pub(super) name: Option<CommitName>,
    /// Whether another session, perhaps of before a restart, has prepared it: it is in limbo.
    pub(super) is_taken_over: bool,
}

impl PreparedSlot {
    /// Facts about it.
    pub(super) fn facts(&self, statistics: &StoreStatistics) -> TransactionFacts {
        TransactionFacts {
            id: self.id.0,
            oldest_interesting: statistics.oldest_transaction.0,
            oldest_snapshot: statistics.oldest_snapshot.0,
            oldest_active: statistics.oldest_active.0,
            snapshot_number: self.snapshot_number,
            parameters: self.parameters.clone(),
        }
    }
}
