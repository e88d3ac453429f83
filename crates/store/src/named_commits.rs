//! Commits with names: who has lost the answer to a commit asks by its name what became of it.
//!
//! A name is written with the commit, so it is in the file if and only if the commit is. The latest [`KEPT_MAX`] are kept. Who asks makes
//! sure that a commit which has not happened never will: it is refused from then on. Both happen with the right to write, one after
//! the other.

use std::collections::{HashSet, VecDeque};

use parking_lot::Mutex;

use crate::keyspace::{self, meta};
use crate::recovery::marks;
use crate::store::Inner;
use crate::substrate::{Space, SubstrateState, WriteBatch};
use crate::{CommitNumber, Result, Store, StoreError};

/// Names that a database keeps.
const KEPT_MAX: usize = 4_096;
/// Names of commits that must not happen any more that are remembered. Who was asked for is gone, and with it its transaction, a
/// moment later.
const ABANDONED_MAX: usize = 10_000;

/// The name of a commit: random, so that nobody can guess it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommitName(pub [u8; 16]);

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is on the disk.
    Committed,
    /// It has not happened and will not.
    NotCommitted,
    /// So many have been named since that nobody can tell; or the commits that the asker knows are not this database's.
    Unknown,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct NamedCommits {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Commits whose names are in the file, oldest first; some of them may not have happened.
    kept: VecDeque<CommitNumber>,
    /// No name of this commit or an earlier one is sure to be in the file.
    forgotten: CommitNumber,
    abandoned: HashSet<CommitName>,
    abandoned_in_order: VecDeque<CommitName>,
}

impl NamedCommits {
    pub(crate) fn load(snapshot: &dyn SubstrateState) -> Result<NamedCommits> {
        let number = |key: &Vec<u8>| keyspace::number(key.get(meta::NAMED_COMMIT.len()..)?).map(CommitNumber);
        let kept: VecDeque<CommitNumber> =
            marks(snapshot, meta::NAMED_COMMIT)?.iter().filter_map(number).collect();
        // With fewer none was ever removed.
        let forgotten = match kept.front() {
            Some(oldest) if kept.len() >= KEPT_MAX => *oldest,
            _ => CommitNumber(0),
        };
        let state = State { kept, forgotten, ..State::default() };
        Ok(NamedCommits { state: Mutex::new(state) })
    }

    /// Writes a name with its commit. Only with the right to write.
    ///
    /// # Errors
    /// [`StoreError::Abandoned`].
    pub(crate) fn write(&self, number: CommitNumber, name: CommitName, batch: &mut WriteBatch) -> Result<()> {
        let mut state = self.state.lock();
        if state.abandoned.contains(&name) {
            return Err(StoreError::Abandoned);
        }
        batch.put(Space::Meta, meta::named_commit(number), name.0.to_vec());
        state.kept.push_back(number);
        while state.kept.len() > KEPT_MAX {
            let Some(oldest) = state.kept.pop_front() else { break };
            state.forgotten = state.forgotten.max(oldest);
            batch.delete(Space::Meta, meta::named_commit(oldest));
        }
        Ok(())
    }

    fn abandon(&self, name: CommitName) {
        let mut state = self.state.lock();
        if state.abandoned.insert(name) {
            state.abandoned_in_order.push_back(name);
        }
        if state.abandoned.len() > ABANDONED_MAX
            && let Some(oldest) = state.abandoned_in_order.pop_front()
        {
            state.abandoned.remove(&oldest);
        }
    }
}

impl Store {
    /// What became of a commit that was named, which the asker knows to be a later one than `since`. If it has not happened it will
    /// not: whoever still runs the transaction cannot commit it under that name.
    ///
    /// # Errors
    /// From reading; and [`StoreError::Poisoned`] while nobody knows what is on the disk. Then it may still happen.
    pub fn commit_outcome(&self, name: CommitName, since: CommitNumber) -> Result<CommitOutcome> {
        let inner = &self.inner;
        // Nobody is committing meanwhile: what was being written is on the disk or is not.
        let _guard = inner.begin_write();
        inner.check_written()?;
        if is_kept(inner, name)? {
            return Ok(CommitOutcome::Committed);
        }
        if since > inner.last_commit() || since < inner.named_commits.state.lock().forgotten {
            return Ok(CommitOutcome::Unknown);
        }
        inner.named_commits.abandon(name);
        Ok(CommitOutcome::NotCommitted)
    }
}

fn is_kept(inner: &Inner, name: CommitName) -> Result<bool> {
    let snapshot = inner.snapshot();
    for key in marks(&*snapshot, meta::NAMED_COMMIT)? {
        if snapshot.get(Space::Meta, &key)?.as_deref() == Some(name.0.as_slice()) {
            return Ok(true);
        }
    }
    Ok(false)
}
