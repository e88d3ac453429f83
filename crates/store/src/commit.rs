//! Group commit: commits that arrive while another one is being written share the next durable batch.
//!
//! One of those who wait leads: it writes all that wait by then, itself included, hands the lead to the first of those
//! who came meanwhile, and wakes those whose commits it has written. Nobody else is woken.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::{Condvar, Mutex};

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
    state: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Arc<Request>>,
    is_led: bool,
}

impl std::fmt::Debug for CommitQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitQueue").field("waiting", &self.state.lock().waiting.len()).finish()
    }
}

struct Request {
    work: Mutex<Option<(BuildBatch, Publish)>>,
    turn: Mutex<Turn>,
    changed: Condvar,
}

/// What one who commits does next.
enum Turn {
    /// Wait.
    Wait,
    /// Write all that wait.
    Lead,
    /// Go on: its commit was written, or not.
    Done(Result<CommitNumber>),
}

impl Request {
    fn take_turn(&self, turn: Turn) {
        *self.turn.lock() = turn;
        self.changed.notify_one();
    }

    /// Waits for the outcome or the lead; `None`: the lead.
    fn wait(&self) -> Option<Result<CommitNumber>> {
        let mut turn = self.turn.lock();
        loop {
            match std::mem::replace(&mut *turn, Turn::Wait) {
                Turn::Wait => self.changed.wait(&mut turn),
                Turn::Lead => return None,
                Turn::Done(outcome) => return Some(outcome),
            }
        }
    }
}

impl CommitQueue {
    /// Joins those who wait; whether the newcomer leads.
    fn join(&self, request: &Arc<Request>) -> bool {
        let mut queue = self.state.lock();
        queue.waiting.push(Arc::clone(request));
        !std::mem::replace(&mut queue.is_led, true)
    }
}

/// The lead; who drops it hands it on.
struct Lead<'a>(&'a CommitQueue);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.state.lock();
        match queue.waiting.first() {
            Some(next) => next.take_turn(Turn::Lead),
            None => queue.is_led = false,
        }
    }
}

/// What those whose commits were written are told; when this is dropped, so that nobody waits for one who panicked.
#[derive(Default)]
struct Answers {
    requests: Vec<Arc<Request>>,
    outcomes: Vec<Result<CommitNumber>>,
}

impl Drop for Answers {
    fn drop(&mut self) {
        let mut outcomes = self.outcomes.drain(..);
        for request in &self.requests {
            request.take_turn(Turn::Done(outcomes.next().unwrap_or(Err(StoreError::Poisoned))));
        }
    }
}

impl Inner {
    /// Commits one transaction's changes, together with those of others that wait.
    ///
    /// # Durability
    /// Durable and published when it returns.
    pub(crate) fn commit(&self, build: BuildBatch, publish: Publish) -> Result<CommitNumber> {
        let request = Arc::new(Request {
            work: Mutex::new(Some((build, publish))),
            turn: Mutex::new(Turn::Wait),
            changed: Condvar::new(),
        });
        if !self.commits.join(&request)
            && let Some(outcome) = request.wait()
        {
            return outcome;
        }
        // Dropped in the order that matters: the next leader writes while those who are done are woken.
        let mut answers = Answers::default();
        let lead = Lead(&self.commits);
        let guard = self.begin_write();
        answers.requests = std::mem::take(&mut self.commits.state.lock().waiting);
        answers.outcomes = self.write_commits(&guard, &answers.requests);
        drop(guard);
        drop(lead);
        drop(answers);
        request.wait().unwrap_or(Err(StoreError::Poisoned))
    }

    /// Writes commits as one batch; gives the outcome of each.
    fn write_commits(
        &self,
        guard: &crate::store::WriteGuard<'_>,
        requests: &[Arc<Request>],
    ) -> Vec<Result<CommitNumber>> {
        let mut number = self.last_commit();
        let mut batch = WriteBatch::new();
        let mut outcomes = Vec::with_capacity(requests.len());
        let mut publications = Vec::with_capacity(requests.len());
        for request in requests {
            let Some((build, publish)) = request.work.lock().take() else {
                outcomes.push(Err(StoreError::Poisoned));
                continue;
            };
            let next = CommitNumber(number.0 + 1);
            let mut own = WriteBatch::new();
            outcomes.push(build(next, &mut own).map(|()| {
                number = next;
                batch.append(own);
                publications.push((next, publish));
                next
            }));
        }
        if publications.is_empty() {
            return outcomes;
        }
        batch.put(Space::Meta, meta::LAST_COMMIT.to_vec(), number.0.to_le_bytes().to_vec());
        // A write that fails may have reached the disk all the same; then it has happened.
        if let Err(error) = self.write_under(guard, batch, Durability::Durable)
            && !self.is_committed(number)
        {
            return outcomes.into_iter().map(|outcome| outcome.and_then(|_| Err(error.repeat()))).collect();
        }
        self.commits_made.fetch_add(publications.len() as u64, Ordering::Relaxed);
        self.commit_batches.fetch_add(1, Ordering::Relaxed);
        let mut published = self.publication();
        *published = number;
        for (number, publish) in publications {
            publish(number);
        }
        outcomes
    }
}
