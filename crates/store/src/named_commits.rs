//! Commits with names: who has lost the answer to a commit asks by its name what became of it.
//!
//! A name is written with the commit, so it is in the file if and only if the commit is. The latest are kept. Who asks makes
//! sure that a commit which has not happened never will: it is refused from then on. Both happen with the right to write, one after
//! the other.

use std::collections::{HashSet, VecDeque};
use std::ops::Bound;

use parking_lot::Mutex;

use crate::keyspace::{self, meta};
use crate::substrate::{Direction, Space, SubstrateState, WriteBatch};
use crate::{CommitNumber, Result, StoreError};

/// Names of commits that must not happen any more that are remembered. Who was asked for is gone, and with it its transaction, a
/// moment later.
const ABANDONED_MAX: usize = 10_000;

/// Behind the name of a commit of which a part is decided behind it.
const GOES_ON: u8 = 1;

/// The name of a commit: random, so that nobody can guess it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommitName(pub [u8; 16]);

/// What a transaction writes with its commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedCommit {
    pub(crate) name: CommitName,
    /// Whether all that belongs to the commit is on the disk if the name is.
    pub(crate) tells_all: bool,
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is on the disk.
    Committed,
    /// It has not happened and will not.
    NotCommitted,
    /// It is on the disk, and what else belongs to it may be or not; or so many have been named since that nobody can tell; or the
    /// commits that the asker knows are not this database's.
    Unknown,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct NamedCommits {
    kept_max: usize,
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
    /// Those of a file, of which `kept_max` are kept.
    pub(crate) fn load(snapshot: &dyn SubstrateState, kept_max: usize) -> Result<NamedCommits> {
        let number = |key: &[u8]| keyspace::number(key.get(meta::NAMED_COMMIT.len()..)?).map(CommitNumber);
        let kept = stored(snapshot)?.iter().filter_map(|(key, _)| number(key)).collect();
        let forgotten = snapshot.get(Space::Meta, meta::FORGOTTEN_NAMES)?;
        let forgotten = forgotten.and_then(|bytes| bytes.as_ref().try_into().ok().map(u64::from_le_bytes));
        let forgotten = CommitNumber(forgotten.unwrap_or(0));
        let state = State { kept, forgotten, ..State::default() };
        Ok(NamedCommits { kept_max, state: Mutex::new(state) })
    }

    /// Writes a name with its commit. Only with the right to write.
    ///
    /// # Errors
    /// [`StoreError::Abandoned`].
    pub(crate) fn write(
        &self,
        number: CommitNumber,
        commit: NamedCommit,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let NamedCommit { name, tells_all } = commit;
        let mut state = self.state.lock();
        if state.abandoned.contains(&name) {
            return Err(StoreError::Abandoned);
        }
        let mut value = name.0.to_vec();
        value.extend((!tells_all).then_some(GOES_ON));
        batch.put(Space::Meta, meta::named_commit(number), value);
        state.kept.push_back(number);
        while state.kept.len() > self.kept_max {
            let Some(oldest) = state.kept.pop_front() else { break };
            state.forgotten = state.forgotten.max(oldest);
            batch.delete(Space::Meta, meta::named_commit(oldest));
            batch.put(Space::Meta, meta::FORGOTTEN_NAMES.to_vec(), state.forgotten.0.to_le_bytes().to_vec());
        }
        Ok(())
    }

    /// What became of a commit by this name, in a state of the file to which nothing is added meanwhile, of which `last` is the latest
    /// commit. One that has not happened is refused from now on.
    pub(crate) fn outcome(
        &self,
        snapshot: &dyn SubstrateState,
        last: CommitNumber,
        name: CommitName,
        since: CommitNumber,
    ) -> Result<CommitOutcome> {
        let stored = stored(snapshot)?;
        if let Some(rest) = stored.iter().find_map(|(_, known)| known.strip_prefix(&name.0)) {
            return Ok(if rest.is_empty() { CommitOutcome::Committed } else { CommitOutcome::Unknown });
        }
        if since > last || since < self.state.lock().forgotten {
            return Ok(CommitOutcome::Unknown);
        }
        self.abandon(name);
        Ok(CommitOutcome::NotCommitted)
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

/// Keys and values of the names in a file.
fn stored(snapshot: &dyn SubstrateState) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let after = keyspace::after_prefix(meta::NAMED_COMMIT);
    let upper = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let entries =
        snapshot.scan(Space::Meta, (Bound::Included(meta::NAMED_COMMIT), upper), Direction::Forward)?;
    entries.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
}
