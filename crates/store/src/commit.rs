//! Group commit: commits that arrive while another one is being written share the next durable batch.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::keyspace::meta;
use crate::store::Inner;
use crate::substrate::{Durability, Space, WriteBatch};
use crate::{CommitNumber, Result, StoreError};

/// Writes a transaction's changes under its commit number.
pub(crate) type BuildBatch = Box<dyn FnOnce(CommitNumber, &mut WriteBatch) -> Result<()> + Send>;
/// Called when the commit becomes visible.
pub(crate) type Publish = Box<dyn FnOnce(CommitNumber) + Send>;

/// Commits waiting to be written.
#[derive(Default)]
pub(crate) struct CommitQueue {
    waiting: Mutex<Vec<Arc<Request>>>,
}

impl std::fmt::Debug for CommitQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitQueue").field("waiting", &self.waiting.lock().len()).finish()
    }
}

struct Request {
    work: Mutex<Option<(BuildBatch, Publish)>>,
    outcome: Mutex<Option<Result<CommitNumber>>>,
}

impl Inner {
    /// Commits one transaction's changes, together with those of others that wait.
    ///
    /// # Durability
    /// Durable and published when it returns.
    pub(crate) fn commit(&self, build: BuildBatch, publish: Publish) -> Result<CommitNumber> {
        let request =
            Arc::new(Request { work: Mutex::new(Some((build, publish))), outcome: Mutex::new(None) });
        self.commits.waiting.lock().push(Arc::clone(&request));
        let guard = self.begin_write();
        if request.outcome.lock().is_none() {
            // Nobody wrote this commit while we waited for our turn: write all that wait by now.
            let waiting = std::mem::take(&mut *self.commits.waiting.lock());
            self.write_commits(&guard, &waiting);
        }
        drop(guard);
        request.outcome.lock().take().unwrap_or(Err(StoreError::Poisoned))
    }

    fn write_commits(&self, guard: &crate::store::WriteGuard<'_>, requests: &[Arc<Request>]) {
        let mut number = self.last_commit();
        let mut batch = WriteBatch::new();
        let mut written = Vec::new();
        for request in requests {
            let Some((build, publish)) = request.work.lock().take() else { continue };
            let next = CommitNumber(number.0 + 1);
            let mut own = WriteBatch::new();
            match build(next, &mut own) {
                Ok(()) => {
                    number = next;
                    batch.append(own);
                    written.push((request, next, publish));
                }
                Err(error) => *request.outcome.lock() = Some(Err(error)),
            }
        }
        if written.is_empty() {
            return;
        }
        batch.put(Space::Meta, meta::LAST_COMMIT.to_vec(), number.0.to_le_bytes().to_vec());
        match self.write_under(guard, batch, Durability::Durable) {
            Ok(()) => {
                let mut published = self.publication();
                *published = number;
                for (request, own, publish) in written {
                    publish(own);
                    *request.outcome.lock() = Some(Ok(own));
                }
            }
            Err(error) => {
                for (request, _, _) in written {
                    *request.outcome.lock() = Some(Err(error.repeat()));
                }
            }
        }
    }
}
