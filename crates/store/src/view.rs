//! Views: what one statement sees.

use std::sync::Arc;

use crate::{CommitNumber, TransactionId};

/// What one statement sees: the commits up to a number, and its own transaction's changes made before the view.
///
/// Changes that the transaction makes after taking the view are not seen through it, so `INSERT INTO T SELECT FROM T`
/// ends. Cheap to clone. While a view lives, the row versions that it needs are kept: drop it with its statement.
#[derive(Debug, Clone)]
pub struct ReadView {
    pub(crate) transaction: TransactionId,
    pub(crate) snapshot: CommitNumber,
    pub(crate) change: u64,
    pub(crate) _guard: Arc<()>,
}

impl ReadView {
    /// The newest commit that it sees.
    pub fn commit_number(&self) -> CommitNumber {
        self.snapshot
    }

    /// The transaction that took it.
    pub fn transaction(&self) -> TransactionId {
        self.transaction
    }
}
