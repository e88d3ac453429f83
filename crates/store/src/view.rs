//! Views: what one statement sees.

use std::fmt;
use std::sync::Arc;

use crate::store::Inner;
use crate::write_set::LiveChanges;
use crate::{CommitNumber, TransactionId};

/// What one statement sees: the commits up to a number, and its own transaction's changes made before the view.
///
/// Changes that the transaction makes after taking the view are not seen through it, so `INSERT INTO T SELECT FROM T`
/// ends. Cheap to clone. While a view lives, the row versions that it needs are kept: drop it with its statement.
#[derive(Clone)]
pub struct ReadView {
    held: Arc<Held>,
}

/// What a view keeps from being forgotten.
struct Held {
    inner: Arc<Inner>,
    live: Arc<LiveChanges>,
    transaction: TransactionId,
    snapshot: CommitNumber,
    change: u64,
}

impl ReadView {
    /// A view of a snapshot that is held already or cannot be passed by a commit right now.
    pub(crate) fn new(
        inner: &Arc<Inner>,
        live: &Arc<LiveChanges>,
        transaction: TransactionId,
        snapshot: CommitNumber,
        change: u64,
    ) -> ReadView {
        inner.registry.hold(snapshot);
        live.hold(change);
        let held = Held { inner: Arc::clone(inner), live: Arc::clone(live), transaction, snapshot, change };
        ReadView { held: Arc::new(held) }
    }

    /// The newest commit that it sees.
    pub fn commit_number(&self) -> CommitNumber {
        self.held.snapshot
    }

    /// The transaction that took it.
    pub fn transaction(&self) -> TransactionId {
        self.held.transaction
    }

    /// It sees own changes up to this number.
    pub(crate) fn change(&self) -> u64 {
        self.held.change
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.inner.registry.release(self.snapshot);
        self.live.release(self.change);
    }
}

impl fmt::Debug for ReadView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadView")
            .field("transaction", &self.held.transaction)
            .field("snapshot", &self.held.snapshot)
            .field("change", &self.held.change)
            .finish()
    }
}
