//! Transactions whose work stands in the file under their own number: what became of them.
//!
//! Rows of a transaction that is not listed here were rolled back or left by a crash: nobody sees them, and the sweep
//! removes them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use parking_lot::RwLock;

use crate::keyspace::{self, meta};
use crate::recovery::{id, marks};
use crate::store::OldStates;
use crate::substrate::{Space, SubstrateState};
use crate::transaction::prepared::{PreparedRecord, recorded};
use crate::{CommitNumber, RelationId, Result, RowId, StoreError, TransactionId};

/// Transactions that have spilled.
#[derive(Debug, Default)]
pub(crate) struct SpilledTransactions {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    transactions: HashMap<TransactionId, SpilledTransaction>,
    /// Transactions that have ended and left rows for the sweep to settle, with the first of their blocks.
    unsettled: HashMap<RelationId, Unsettled>,
    /// Transactions that nothing in the file names any more, with the states of the file before that are still read.
    retired: Vec<(TransactionId, OldStates)>,
    /// How often something was left to settle.
    left: u64,
}

/// Transactions that have left rows in a relation, each with the first row of the first block that it has spilled there.
pub(crate) type Unsettled = BTreeMap<TransactionId, Option<RowId>>;

/// A transaction that runs or has committed, and has spilled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SpilledTransaction {
    /// `None` while it runs.
    pub(crate) commit: Option<CommitNumber>,
    /// Changes that it has taken back: after the first number, up to the second.
    undone: Vec<(u64, u64)>,
    /// If it is in limbo: the place of its preparation among the commits.
    limbo: Option<CommitNumber>,
}

impl SpilledTransaction {
    /// A running one.
    pub(crate) fn running(undone: Vec<(u64, u64)>) -> SpilledTransaction {
        SpilledTransaction { commit: None, undone, limbo: None }
    }

    /// The changes that it has taken back: after the first number, up to the second.
    pub(crate) fn undone(&self) -> &[(u64, u64)] {
        &self.undone
    }

    /// Whether who reads as of a commit cannot know whether its changes are to be seen.
    pub(crate) fn is_in_limbo_at(&self, until: CommitNumber) -> bool {
        self.commit.is_none() && self.limbo.is_some_and(|number| number <= until)
    }

    /// Whether a change was taken back.
    pub(crate) fn is_undone(&self, change: u64) -> bool {
        self.undone.iter().any(|(after, until)| (after + 1..=*until).contains(&change))
    }

    fn undo(&mut self, after: u64, until: u64) {
        self.undone.retain(|(earlier, _)| *earlier < after);
        self.undone.push((after, until));
    }

    /// The value of its mark.
    pub(crate) fn encode(&self, commit: CommitNumber) -> Vec<u8> {
        let numbers = self.undone.iter().flat_map(|(after, until)| [*after, *until]);
        std::iter::once(commit.0).chain(numbers).flat_map(u64::to_le_bytes).collect()
    }

    fn decode(value: &[u8]) -> Option<SpilledTransaction> {
        let (numbers, []) = value.as_chunks::<8>() else { return None };
        let (commit, undone) = numbers.split_first()?;
        let (undone, []) = undone.as_chunks::<2>() else { return None };
        let number = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        Some(SpilledTransaction {
            commit: Some(CommitNumber(number(commit))),
            undone: undone.iter().map(|[after, until]| (number(after), number(until))).collect(),
            limbo: None,
        })
    }
}

impl SpilledTransactions {
    /// What the file tells.
    pub(crate) fn load(snapshot: &dyn SubstrateState) -> Result<SpilledTransactions> {
        let mut state = State::default();
        let damaged = || StoreError::corrupt("a mark of spilled rows");
        for key in marks(snapshot, meta::SPILLED)? {
            let transaction =
                key.get(meta::SPILLED.len()..).and_then(keyspace::number).ok_or_else(damaged)?;
            let value = snapshot.get(Space::Meta, &key)?.ok_or_else(damaged)?;
            let spilled = SpilledTransaction::decode(&value).ok_or_else(damaged)?;
            state.transactions.insert(TransactionId(transaction), spilled);
        }
        let prepared = recorded(snapshot)?;
        for id in &prepared {
            let Some((record, _)) = PreparedRecord::read(snapshot, *id)? else { continue };
            let limbo = SpilledTransaction {
                limbo: Some(record.number),
                ..SpilledTransaction::running(record.undone)
            };
            state.transactions.insert(*id, limbo);
        }
        for prefix in [meta::PENDING_ROWS, meta::UNSETTLED] {
            for key in marks(snapshot, prefix)? {
                let (transaction, relation) =
                    key.get(prefix.len()..).and_then(parse_mark).ok_or_else(damaged)?;
                if prefix == meta::PENDING_ROWS && prepared.contains(&transaction) {
                    continue;
                }
                let first_block = match prefix {
                    // What a crash has left may be anywhere.
                    meta::PENDING_ROWS => Some(RowId(0)),
                    _ => first_block(&snapshot.get(Space::Meta, &key)?.ok_or_else(damaged)?)
                        .ok_or_else(damaged)?,
                };
                state.unsettled.entry(relation).or_default().insert(transaction, first_block);
            }
        }
        Ok(SpilledTransactions { state: RwLock::new(state) })
    }

    /// Begins anew with what the file tells, after it was taken back to an earlier state. Retired transactions are known on: who
    /// reads a state from before comes across them.
    pub(crate) fn reload(&self, snapshot: &dyn SubstrateState) -> Result<()> {
        let mut loaded = SpilledTransactions::load(snapshot)?.state.into_inner();
        let mut state = self.state.write();
        for (transaction, before) in std::mem::take(&mut state.retired) {
            // One that the file still names is not to be forgotten after all.
            if let Entry::Vacant(unnamed) = loaded.transactions.entry(transaction)
                && let Some(known) = state.transactions.remove(&transaction)
            {
                unnamed.insert(known);
                loaded.retired.push((transaction, before));
            }
        }
        *state = State { left: state.left + 1, ..loaded };
        Ok(())
    }

    /// Notes that a running transaction spills.
    pub(crate) fn begin(&self, transaction: TransactionId) {
        self.state.write().transactions.entry(transaction).or_default();
    }

    /// Notes that the session of a prepared transaction is gone.
    pub(crate) fn leave_in_limbo(&self, transaction: TransactionId, number: CommitNumber) {
        if let Some(spilled) = self.state.write().transactions.get_mut(&transaction) {
            spilled.limbo = Some(number);
        }
    }

    /// Notes that a running transaction has taken changes back.
    pub(crate) fn undo(&self, transaction: TransactionId, after: u64, until: u64) {
        if let Some(spilled) = self.state.write().transactions.get_mut(&transaction) {
            spilled.undo(after, until);
        }
    }

    /// Notes a commit; these relations have spilled rows, with the first of their blocks: changes are to become versions,
    /// and blocks are to name the commit.
    pub(crate) fn commit(
        &self,
        transaction: TransactionId,
        commit: CommitNumber,
        unsettled: impl Iterator<Item = (RelationId, Option<RowId>)>,
    ) {
        let mut state = self.state.write();
        if let Some(spilled) = state.transactions.get_mut(&transaction) {
            spilled.commit = Some(commit);
        }
        state.left += 1;
        for (relation, first_block) in unsettled {
            state.unsettled.entry(relation).or_default().insert(transaction, first_block);
        }
    }

    /// Notes that a transaction was rolled back; these relations have rows of it that are to be removed, with the first of their
    /// blocks.
    pub(crate) fn roll_back(
        &self,
        transaction: TransactionId,
        unsettled: impl Iterator<Item = (RelationId, Option<RowId>)>,
    ) {
        let mut state = self.state.write();
        state.transactions.remove(&transaction);
        state.left += 1;
        for (relation, first_block) in unsettled {
            state.unsettled.entry(relation).or_default().insert(transaction, first_block);
        }
    }

    /// A transaction that runs or has committed.
    pub(crate) fn find(&self, transaction: TransactionId) -> Option<SpilledTransaction> {
        self.state.read().transactions.get(&transaction).cloned()
    }

    /// Whether a transaction has spilled and still runs.
    pub(crate) fn is_running(&self, transaction: TransactionId) -> bool {
        self.state.read().transactions.get(&transaction).is_some_and(|spilled| spilled.commit.is_none())
    }

    /// As [`SpilledTransaction::is_in_limbo_at`].
    pub(crate) fn is_in_limbo_at(&self, transaction: TransactionId, until: CommitNumber) -> bool {
        let state = self.state.read();
        state.transactions.get(&transaction).is_some_and(|spilled| spilled.is_in_limbo_at(until))
    }

    /// The commit of a transaction; `None` while it runs, or if it never committed.
    pub(crate) fn commit_of(&self, transaction: TransactionId) -> Option<CommitNumber> {
        self.state.read().transactions.get(&transaction)?.commit
    }

    /// How often a transaction has left something to settle: more means that there is work.
    pub(crate) fn times_left(&self) -> u64 {
        self.state.read().left
    }

    /// Transactions that have left rows in a relation for the sweep to settle.
    pub(crate) fn unsettled(&self, relation: RelationId) -> Unsettled {
        self.state.read().unsettled.get(&relation).cloned().unwrap_or_default()
    }

    /// Whether any transaction has left rows in a relation.
    pub(crate) fn is_unsettled(&self, relation: RelationId) -> bool {
        self.state.read().unsettled.contains_key(&relation)
    }

    /// Of these transactions, the committed ones that have left rows in no relation but this one.
    pub(crate) fn last_unsettled_in(
        &self,
        relation: RelationId,
        transactions: &Unsettled,
    ) -> Vec<TransactionId> {
        let state = self.state.read();
        let is_left_elsewhere = |transaction: &TransactionId| {
            state.unsettled.iter().any(|(other, left)| *other != relation && left.contains_key(transaction))
        };
        let is_committed = |transaction: &TransactionId| {
            state.transactions.get(transaction).is_some_and(|spilled| spilled.commit.is_some())
        };
        let ended = transactions.keys().copied();
        ended.filter(|transaction| is_committed(transaction) && !is_left_elsewhere(transaction)).collect()
    }

    /// Notes that these transactions have nothing left to settle in a relation. `retired`: nothing in the file names these
    /// any more; they are forgotten when the states of the file before are not read any more.
    pub(crate) fn settled(
        &self,
        relation: RelationId,
        transactions: &Unsettled,
        retired: Vec<TransactionId>,
        before: &OldStates,
    ) {
        let mut state = self.state.write();
        if let Some(unsettled) = state.unsettled.get_mut(&relation) {
            unsettled.retain(|transaction, _| !transactions.contains_key(transaction));
            if unsettled.is_empty() {
                state.unsettled.remove(&relation);
            }
        }
        state.retired.extend(retired.into_iter().map(|transaction| (transaction, before.clone())));
    }

    /// Forgets retired transactions that nobody can come across any more.
    pub(crate) fn forget_retired(&self) {
        if self.state.read().retired.is_empty() {
            return;
        }
        let State { transactions, retired, .. } = &mut *self.state.write();
        retired.retain(|(transaction, before)| {
            let is_read = before.are_read();
            if !is_read {
                transactions.remove(transaction);
            }
            is_read
        });
    }
}

/// Reads the value of a mark of unsettled rows.
#[expect(clippy::option_option, reason = "damage, no block, a block")]
fn first_block(value: &[u8]) -> Option<Option<RowId>> {
    if value.is_empty() {
        return Some(None);
    }
    keyspace::number(value).map(|row| Some(RowId(row)))
}

/// The value of a mark of unsettled rows.
pub(crate) fn unsettled_mark(first_block: Option<RowId>) -> Vec<u8> {
    first_block.map_or_else(Vec::new, |row| row.0.to_be_bytes().to_vec())
}

/// The transaction and the relation that a mark names.
pub(crate) fn parse_mark(numbers: &[u8]) -> Option<(TransactionId, RelationId)> {
    let (transaction, relation) = numbers.split_at_checked(8)?;
    Some((TransactionId(keyspace::number(transaction)?), RelationId(id(relation)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undone_changes_come_back_from_their_mark() {
        let mut spilled =
            SpilledTransaction { commit: Some(CommitNumber(7)), ..SpilledTransaction::default() };
        spilled.undo(10, 20);
        spilled.undo(15, 30);
        spilled.undo(30, 40);
        let back = SpilledTransaction::decode(&spilled.encode(CommitNumber(7))).expect("decodes");
        assert_eq!(back, spilled);
        let undone: Vec<u64> = (0..50).filter(|change| back.is_undone(*change)).collect();
        assert_eq!(undone, Vec::from_iter(11..=40));
        spilled.undo(5, 50);
        assert_eq!(spilled.undone, [(5, 50)]);
        assert!(SpilledTransaction::decode(&[0; 12]).is_none());
        assert!(SpilledTransaction::decode(&[0; 16]).is_none());
    }
}
