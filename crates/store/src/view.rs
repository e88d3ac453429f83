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
    snapshot: Arc<PinnedSnapshot>,
    live: Arc<LiveChanges>,
    transaction: TransactionId,
    change: u64,
}

/// A snapshot whose row versions are kept as long as this lives: by a transaction and its views together.
pub(crate) struct PinnedSnapshot {
    inner: Arc<Inner>,
    number: CommitNumber,
}

impl PinnedSnapshot {
    /// Holds a snapshot that is held already or cannot be passed by a commit right now.
    pub(crate) fn new(inner: &Arc<Inner>, number: CommitNumber) -> Arc<PinnedSnapshot> {
        inner.registry.hold(number);
        Arc::new(PinnedSnapshot { inner: Arc::clone(inner), number })
    }
}

impl Drop for PinnedSnapshot {
    fn drop(&mut self) {
        self.inner.registry.release(self.number);
    }
}

impl fmt::Debug for PinnedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PinnedSnapshot").field(&self.number).finish()
    }
}

impl ReadView {
    /// A view of a snapshot and of own changes up to a number, which are held already in `live`, and released by the view.
    pub(crate) fn new(
        snapshot: Arc<PinnedSnapshot>,
        live: &Arc<LiveChanges>,
        transaction: TransactionId,
        change: u64,
    ) -> ReadView {
        ReadView { held: Arc::new(Held { snapshot, live: Arc::clone(live), transaction, change }) }
    }

    /// The newest commit that it sees.
    pub fn commit_number(&self) -> CommitNumber {
        self.held.snapshot.number
    }

    /// What keeps the versions of its snapshot.
    pub(crate) fn held_snapshot(&self) -> &Arc<PinnedSnapshot> {
        &self.held.snapshot
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
        self.live.release(self.change);
    }
}

impl fmt::Debug for ReadView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadView")
            .field("transaction", &self.held.transaction)
            .field("snapshot", &self.held.snapshot.number)
            .field("change", &self.held.change)
            .finish()
    }
}
