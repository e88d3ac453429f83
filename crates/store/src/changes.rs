//! Changes of rows that large transactions have spilled into the file before their end (the space of a relation's
//! changes): which of them a reader sees.
//!
//! They carry the transaction's number. Its commit makes them all visible at once, by noting one number; later the sweep
//! turns them into versions. Until then they stand beside the versions, and the one of the newest commit counts.

use std::iter::Peekable;
use std::ops::Bound;

use crate::committed::Visibility;
use crate::spilled::SpilledTransaction;
use crate::store::Inner;
use crate::substrate::{Direction, Entries, Slice, Space, SubstrateState};
use crate::{CancelFlag, CommitNumber, RelationId, Result, RowId, StoreError, TransactionId, keyspace};

/// Own changes are newer than all that others have committed: the row is locked.
pub(crate) const OWN: CommitNumber = CommitNumber(u64::MAX);

/// The change of a row that is seen.
#[derive(Debug)]
pub(crate) struct SeenChange {
    /// [`OWN`] for the transaction's own.
    pub(crate) commit: CommitNumber,
    pub(crate) value: Slice,
}

/// A walk over the seen changes of a relation, in row order.
pub(crate) struct SeenChanges<'a> {
    inner: &'a Inner,
    /// Ends the walk; not needed for a single row.
    cancel: Option<&'a CancelFlag>,
    visibility: Visibility<'a>,
    /// `None`: there are none.
    entries: Option<Peekable<Entries>>,
    /// The transaction met last, and what is known of it.
    met: Option<(TransactionId, Option<SpilledTransaction>)>,
}

impl<'a> SeenChanges<'a> {
    /// A walk that begins at row `from` and ends behind row `last`.
    pub(crate) fn new(
        inner: &'a Inner,
        cancel: Option<&'a CancelFlag>,
        snapshot: &dyn SubstrateState,
        relation: RelationId,
        visibility: Visibility<'a>,
        from: RowId,
        last: RowId,
    ) -> Result<SeenChanges<'a>> {
        // Most relations have none: asking for the bounds is cheaper than looking.
        let entries = match snapshot.bounds(Space::Changes(relation))? {
            None => None,
            Some(_) => Some(scan(snapshot, relation, from, last)?.peekable()),
        };
        Ok(SeenChanges { inner, cancel, visibility, entries, met: None })
    }

    /// The next row of which a change is seen.
    pub(crate) fn next(&mut self) -> Result<Option<(RowId, SeenChange)>> {
        let Some(mut entries) = self.entries.take() else { return Ok(None) };
        let mut found: Option<(RowId, SeenChange)> = None;
        loop {
            self.cancel.map_or(Ok(()), CancelFlag::check)?;
            match (&found, entries.peek()) {
                (_, None) => return Ok(found),
                (Some((row, _)), Some(Ok((key, _)))) if parse(key)?.0 != *row => break,
                _ => {}
            }
            let Some(entry) = entries.next() else { break };
            let (key, value) = entry?;
            let (row, transaction, change) = parse(&key)?;
            // The newest change of each transaction comes first, and once it is seen it is the greatest.
            if let Some(commit) = self.commit_seen(transaction, change)?
                && found.as_ref().is_none_or(|(_, best)| best.commit < commit)
            {
                found = Some((row, SeenChange { commit, value }));
            }
        }
        self.entries = Some(entries);
        Ok(found)
    }

    fn commit_seen(&mut self, transaction: TransactionId, change: u64) -> Result<Option<CommitNumber>> {
        if self.met.as_ref().is_none_or(|(met, _)| *met != transaction) {
            self.met = Some((transaction, self.inner.spilled.find(transaction)));
        }
        let met = self.met.as_ref().and_then(|(_, spilled)| spilled.as_ref());
        let Some(spilled) = met.filter(|spilled| !spilled.is_undone(change)) else { return Ok(None) };
        let Visibility { own, until, meets_limbo, .. } = self.visibility;
        match spilled.commit {
            Some(commit) => Ok(self.visibility.sees(commit).then_some(commit)),
            None if meets_limbo && spilled.is_in_limbo_at(until) => Err(StoreError::InLimbo { transaction }),
            None => Ok(own.filter(|own| own.id == transaction && change <= own.change).map(|_| OWN)),
        }
    }
}

/// The change of a row that is seen.
pub(crate) fn find_change(
    inner: &Inner,
    snapshot: &dyn SubstrateState,
    relation: RelationId,
    row: RowId,
    visibility: Visibility<'_>,
) -> Result<Option<SeenChange>> {
    let mut changes = SeenChanges::new(inner, None, snapshot, relation, visibility, row, row)?;
    Ok(changes.next()?.map(|(_, change)| change))
}

/// All changes of rows from `from` to `last`, whosever they are.
pub(crate) fn scan(
    snapshot: &dyn SubstrateState,
    relation: RelationId,
    from: RowId,
    last: RowId,
) -> Result<Entries> {
    let first = keyspace::change(from, TransactionId(0), u64::MAX);
    let last = keyspace::change(last, TransactionId(u64::MAX), 0);
    let span = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    snapshot.scan(Space::Changes(relation), span, Direction::Forward)
}

/// Reads the key of a change.
pub(crate) fn parse(key: &[u8]) -> Result<(RowId, TransactionId, u64)> {
    keyspace::parse_change(key).ok_or_else(|| StoreError::corrupt("key of a spilled change"))
}
