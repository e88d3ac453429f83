//! Index entries of uncommitted rows, of all transactions: what unique and foreign key checks must not overlook.

use std::ops::Bound;

use parking_lot::Mutex;

use crate::entry_map::EntryMap;
use crate::identifiers::IdMap;
use crate::{IndexId, RowId, TransactionId, keyspace};

/// So many searches cost as much as a pass over as many entries, at least.
const SEARCHES_PER_PASS: usize = 4;

/// Indexes are spread over so many locks.
const SHARDS: usize = 32;

/// Index entries of uncommitted rows.
#[derive(Debug, Default)]
pub(crate) struct PendingKeys {
    shards: [Mutex<IdMap<IndexId, OwnedEntries>>; SHARDS],
}

/// What became of an entry of a unique index that was to be added.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Announcement {
    /// Another transaction, this one, has an entry of the same key.
    Refused(TransactionId),
    /// It is there already.
    Known,
    /// It is there now, beside those of the same key that the same transaction had for other rows.
    Made { own: Vec<RowId> },
}

/// Entries of one index, with who wrote them.
type OwnedEntries = EntryMap<TransactionId>;

impl PendingKeys {
    fn shard(&self, index: IndexId) -> &Mutex<IdMap<IndexId, OwnedEntries>> {
        &self.shards[index.0 as usize % SHARDS]
    }

    /// Adds an entry; whether it was not there yet.
    pub(crate) fn add(&self, index: IndexId, entry: &[u8], owner: TransactionId) -> bool {
        match self.shard(index).lock().entry(index).or_default().insert(entry, owner) {
            None => true,
            Some(known) => {
                *known = owner;
                false
            }
        }
    }

    /// Adds an entry unless another transaction has one of the same key.
    pub(crate) fn add_unique(&self, index: IndexId, entry: &[u8], owner: TransactionId) -> Announcement {
        let mut indexes = self.shard(index).lock();
        let entries = indexes.entry(index).or_default();
        let key = entry.get(..entry.len() - keyspace::ROW_BYTES).unwrap_or_default();
        let mut own = Vec::new();
        // Keys that grow are beyond all others: a look at the last one is cheaper than a search.
        if entries.last().is_some_and(|last| last >= key) {
            let same_key = entries
                .range((Bound::Included(key), Bound::Unbounded))
                .take_while(|(other, _)| other.starts_with(key));
            for (other, other_owner) in same_key {
                if *other_owner != owner {
                    return Announcement::Refused(*other_owner);
                }
                if other == entry {
                    return Announcement::Known;
                }
                own.extend(keyspace::parse_entry(other).map(|(_, row)| row));
            }
        }
        entries.insert(entry, owner);
        Announcement::Made { own }
    }

    /// Takes an entry back.
    pub(crate) fn remove(&self, index: IndexId, entry: &[u8]) {
        let mut indexes = self.shard(index).lock();
        if let Some(entries) = indexes.get_mut(&index) {
            entries.remove(entry);
            if entries.is_empty() {
                indexes.remove(&index);
            }
        }
    }

    /// Takes many entries of a transaction back.
    pub(crate) fn remove_all<T>(&self, index: IndexId, owner: TransactionId, gone: &EntryMap<T>) {
        let mut indexes = self.shard(index).lock();
        let Some(entries) = indexes.get_mut(&index) else { return };
        if gone.len() > entries.len() / SEARCHES_PER_PASS {
            let mut gone = gone.iter().map(|(entry, _)| entry).peekable();
            entries.retain(|entry, other| {
                while gone.next_if(|gone| *gone < entry).is_some() {}
                *other != owner || gone.peek().is_none_or(|gone| *gone != entry)
            });
        } else {
            for (entry, _) in gone.iter() {
                entries.remove(entry);
            }
        }
        if entries.is_empty() {
            indexes.remove(&index);
        }
    }

    /// Takes entries away whose transaction has ended: all that it had.
    pub(crate) fn remove_of_ended<T>(&self, index: IndexId, owner: TransactionId, gone: &EntryMap<T>) {
        let mut indexes = self.shard(index).lock();
        let Some(entries) = indexes.get_mut(&index) else { return };
        // One pass over all is cheaper than a search for each of many.
        if gone.len() > entries.len() / SEARCHES_PER_PASS {
            entries.retain(|_, other| *other != owner);
        } else {
            for (entry, _) in gone.iter() {
                entries.remove(entry);
            }
        }
        if entries.is_empty() {
            indexes.remove(&index);
        }
    }

    /// Rows with uncommitted entries whose keys begin with `prefix`, and who wrote them.
    pub(crate) fn with_prefix(&self, index: IndexId, prefix: &[u8]) -> Vec<(RowId, TransactionId)> {
        let indexes = self.shard(index).lock();
        let Some(entries) = indexes.get(&index) else { return Vec::new() };
        entries
            .range((Bound::Included(prefix), Bound::Unbounded))
            .take_while(|(entry, _)| entry.starts_with(prefix))
            .filter_map(|(entry, owner)| keyspace::parse_entry(entry).map(|(_, row)| (row, *owner)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: IndexId = IndexId(1);
    const ONE: TransactionId = TransactionId(1);
    const TWO: TransactionId = TransactionId(2);

    fn entry(key: u8, row: u64) -> Vec<u8> {
        [&[key][..], &row.to_be_bytes()].concat()
    }

    #[test]
    fn a_key_is_announced_by_one_transaction_at_a_time() {
        let pending = PendingKeys::default();
        assert_eq!(pending.add_unique(INDEX, &entry(5, 1), ONE), Announcement::Made { own: vec![] });
        assert_eq!(pending.add_unique(INDEX, &entry(5, 2), TWO), Announcement::Refused(ONE));
        assert_eq!(pending.add_unique(INDEX, &entry(4, 3), TWO), Announcement::Made { own: vec![] });
        assert_eq!(pending.add_unique(INDEX, &entry(5, 1), ONE), Announcement::Known);
        assert_eq!(pending.add_unique(INDEX, &entry(5, 0), ONE), Announcement::Made { own: vec![RowId(1)] });
    }

    #[test]
    fn what_a_transaction_takes_away_leaves_the_keys_of_others() {
        for count in [1, 100] {
            for ended in [true, false] {
                let pending = PendingKeys::default();
                let mut own = EntryMap::default();
                for row in 0..count {
                    own.insert(&entry(row as u8, row), ());
                    pending.add(INDEX, &entry(row as u8, row), ONE);
                }
                for key in 200..250 {
                    pending.add(INDEX, &entry(key, 7), TWO);
                }
                pending.add(INDEX, &entry(100, 1), TWO);
                match ended {
                    true => pending.remove_of_ended(INDEX, ONE, &own),
                    false => {
                        pending.add(INDEX, &entry(99, 200), ONE);
                        pending.remove_all(INDEX, ONE, &own);
                        assert_eq!(pending.with_prefix(INDEX, &[99]), [(RowId(200), ONE)]);
                    }
                }
                assert!(pending.with_prefix(INDEX, &[0]).is_empty());
                assert_eq!(pending.with_prefix(INDEX, &[100]), [(RowId(1), TWO)]);
                assert_eq!(pending.with_prefix(INDEX, &[249]), [(RowId(7), TWO)]);
            }
        }
    }
}
