//! How to undo a transaction's changes, latest first, as far as there are savepoints to go back to.

use crate::{IndexId, RelationId};

/// How to undo one change, beside the inserts of rows, which undo themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Changes of a row.
    Row(RelationId, u64),
    /// Changes of a row, for which it was locked.
    LockedRow(RelationId, u64),
    /// The lock of a row.
    Lock(RelationId, u64),
    /// That a row which was locked before loses its key in an index; `None`: is deleted.
    TakenKey(RelationId, u64, Option<IndexId>),
    /// An added index entry.
    Entry(IndexId),
    /// That an entry's row got another key.
    Supersession(IndexId),
    /// A change of a catalog entry.
    CatalogEntry,
}

/// Changes to be undone, with the keys that they are about.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    items: Vec<Item>,
    /// The keys of all items one after the other.
    keys: Vec<u8>,
}

#[derive(Debug)]
struct Item {
    change: u64,
    undo: Undo,
    /// Where its key begins: it ends where that of the next item begins.
    key: usize,
}

impl Journal {
    /// Notes how to undo a change; changes come in their order.
    pub(crate) fn push(&mut self, change: u64, undo: Undo, key: &[u8]) {
        self.items.push(Item { change, undo, key: self.keys.len() });
        self.keys.extend_from_slice(key);
    }

    /// Takes the latest item out if its change came after `savepoint`, and hands it to `undo`; whether there was one.
    pub(crate) fn undo_latest(&mut self, savepoint: u64, undo: impl FnOnce(Undo, &[u8])) -> bool {
        let Some(item) = self.items.pop_if(|item| item.change > savepoint) else { return false };
        undo(item.undo, self.keys.get(item.key..).unwrap_or_default());
        self.keys.truncate(item.key);
        true
    }

    /// Keeps only the items that `stays` says.
    pub(crate) fn retain(&mut self, stays: impl Fn(Undo, &[u8]) -> bool) {
        let all = std::mem::take(self);
        let ends = all.items.iter().skip(1).map(|next| next.key).chain([all.keys.len()]);
        for (item, end) in all.items.iter().zip(ends) {
            let key = all.keys.get(item.key..end).unwrap_or_default();
            if stays(item.undo, key) {
                self.push(item.change, item.undo, key);
            }
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(journal: &mut Journal, savepoint: u64) -> Vec<(Undo, Vec<u8>)> {
        let mut undone = Vec::new();
        while journal.undo_latest(savepoint, |undo, key| undone.push((undo, key.to_vec()))) {}
        undone
    }

    #[test]
    fn changes_are_undone_latest_first() {
        let mut journal = Journal::default();
        for change in 1..=6 {
            journal.push(change, Undo::Entry(IndexId(change as u32)), &vec![7; change as usize]);
        }
        journal.retain(|_, key| key.len() != 5);
        let entry = |number: u32| (Undo::Entry(IndexId(number)), vec![7; number as usize]);
        assert_eq!(undone(&mut journal, 3), [entry(6), entry(4)]);
        journal.push(7, Undo::Row(RelationId(1), 9), &[]);
        journal.push(7, Undo::CatalogEntry, b"T");
        let expected = [
            (Undo::CatalogEntry, b"T".to_vec()),
            (Undo::Row(RelationId(1), 9), Vec::new()),
            entry(3),
            entry(2),
        ];
        assert_eq!(undone(&mut journal, 1), expected);
    }
}
