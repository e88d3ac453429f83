//! Index entries of uncommitted rows, of all transactions: what unique and foreign key checks must not overlook.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{IndexId, RowId, TransactionId, keyspace};

/// Index entries of uncommitted rows.
#[derive(Debug, Default)]
pub(crate) struct PendingKeys {
    indexes: Mutex<HashMap<IndexId, OwnedEntries>>,
}

/// Entries of one index, with who wrote them.
type OwnedEntries = BTreeMap<Arc<[u8]>, TransactionId>;

impl PendingKeys {
    /// Adds an entry.
    pub(crate) fn add(&self, index: IndexId, entry: Arc<[u8]>, owner: TransactionId) {
        self.indexes.lock().entry(index).or_default().insert(entry, owner);
    }

    /// Adds an entry unless another transaction has one of the same key: that transaction then.
    pub(crate) fn add_unique(
        &self,
        index: IndexId,
        entry: Arc<[u8]>,
        owner: TransactionId,
    ) -> Result<(), TransactionId> {
        let mut indexes = self.indexes.lock();
        let entries = indexes.entry(index).or_default();
        let key = entry.get(..entry.len() - keyspace::ROW_BYTES).unwrap_or_default();
        let other = entries
            .range::<[u8], _>((Bound::Included(key), Bound::Unbounded))
            .take_while(|(other, _)| other.starts_with(key))
            .find(|(_, other)| **other != owner);
        match other {
            Some((_, other)) => Err(*other),
            None => {
                entries.insert(entry, owner);
                Ok(())
            }
        }
    }

    /// Takes entries back or, once they are committed, away.
    pub(crate) fn remove<'a>(&self, index: IndexId, gone: impl Iterator<Item = &'a Arc<[u8]>>) {
        let mut indexes = self.indexes.lock();
        if let Some(entries) = indexes.get_mut(&index) {
            for entry in gone {
                entries.remove(entry);
            }
            if entries.is_empty() {
                indexes.remove(&index);
            }
        }
    }

    /// Rows with uncommitted entries whose keys begin with `prefix`, and who wrote them.
    pub(crate) fn with_prefix(&self, index: IndexId, prefix: &[u8]) -> Vec<(RowId, TransactionId)> {
        let indexes = self.indexes.lock();
        let Some(entries) = indexes.get(&index) else { return Vec::new() };
        entries
            .range::<[u8], _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(|(entry, _)| entry.starts_with(prefix))
            .filter_map(|(entry, owner)| keyspace::parse_entry(entry).map(|(_, row)| (row, *owner)))
            .collect()
    }
}
