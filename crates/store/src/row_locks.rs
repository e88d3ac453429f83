//! Who has locked which rows, in a few bits per row: a transaction may lock all rows of a large relation.

use std::collections::HashMap;

use crate::{IndexId, RelationId, RowId, TransactionId};

/// Locks on rows, kept for stretches of rows together.
#[derive(Debug, Default)]
pub(crate) struct RowLocks {
    stretches: HashMap<Stretch, Vec<HeldRows>>,
}

/// So many rows of a relation stand in a stretch.
const STRETCH_ROWS: u64 = 512;

/// A stretch of a relation's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stretch {
    relation: RelationId,
    number: u64,
}

/// What one transaction has locked of a stretch.
#[derive(Debug)]
struct HeldRows {
    holder: TransactionId,
    locked: RowBits,
    deleted: RowBits,
    /// Rows whose keys in these indexes their holder takes away.
    changed: Vec<(IndexId, RowBits)>,
}

/// Which keys of a locked row its holder takes away: others cannot know whether those will still be there. The others
/// are in no doubt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChangedKeys {
    /// Those of these indexes.
    Of(Vec<IndexId>),
    /// All: the row is being deleted.
    All,
}

/// A set of a stretch's rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RowBits([u64; (STRETCH_ROWS / 64) as usize]);

impl RowBits {
    fn place(row: RowId) -> (usize, u64) {
        let bit = row.0 % STRETCH_ROWS;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    fn contains(&self, row: RowId) -> bool {
        let (word, bit) = RowBits::place(row);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    fn insert(&mut self, row: RowId) {
        let (word, bit) = RowBits::place(row);
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= bit;
        }
    }

    fn remove(&mut self, row: RowId) {
        let (word, bit) = RowBits::place(row);
        if let Some(bits) = self.0.get_mut(word) {
            *bits &= !bit;
        }
    }
}

impl Stretch {
    fn of(relation: RelationId, row: RowId) -> Stretch {
        Stretch { relation, number: row.0 / STRETCH_ROWS }
    }
}

impl RowLocks {
    fn held(&self, relation: RelationId, row: RowId) -> Option<&HeldRows> {
        let held = self.stretches.get(&Stretch::of(relation, row))?;
        held.iter().find(|held| held.locked.contains(row))
    }

    fn held_mut(&mut self, relation: RelationId, row: RowId) -> Option<&mut HeldRows> {
        let held = self.stretches.get_mut(&Stretch::of(relation, row))?;
        held.iter_mut().find(|held| held.locked.contains(row))
    }

    /// Who has locked a row.
    pub(crate) fn holder(&self, relation: RelationId, row: RowId) -> Option<TransactionId> {
        self.held(relation, row).map(|held| held.holder)
    }

    /// Locks a row that nobody has locked. Gives its stretch if the holder had locked none of it: to be told to
    /// [`RowLocks::end`].
    pub(crate) fn lock(
        &mut self,
        relation: RelationId,
        row: RowId,
        holder: TransactionId,
    ) -> Option<Stretch> {
        let stretch = Stretch::of(relation, row);
        let all = self.stretches.entry(stretch).or_default();
        if let Some(held) = all.iter_mut().find(|held| held.holder == holder) {
            held.locked.insert(row);
            return None;
        }
        let mut held =
            HeldRows { holder, locked: RowBits::default(), deleted: RowBits::default(), changed: Vec::new() };
        held.locked.insert(row);
        all.push(held);
        Some(stretch)
    }

    /// Gives one lock back, if it is the holder's.
    pub(crate) fn unlock(&mut self, relation: RelationId, row: RowId, holder: TransactionId) {
        if let Some(held) = self.held_mut(relation, row).filter(|held| held.holder == holder) {
            held.locked.remove(row);
            held.deleted.remove(row);
            held.changed.iter_mut().for_each(|(_, rows)| rows.remove(row));
        }
    }

    /// Gives all locks of a stretch back.
    pub(crate) fn end(&mut self, stretch: Stretch, holder: TransactionId) {
        if let Some(all) = self.stretches.get_mut(&stretch) {
            all.retain(|held| held.holder != holder);
            if all.is_empty() {
                self.stretches.remove(&stretch);
            }
        }
    }

    /// Who has locked a row, and whether it takes the row's key in this index away.
    pub(crate) fn key_holder(
        &self,
        relation: RelationId,
        row: RowId,
        index: IndexId,
    ) -> Option<(TransactionId, bool)> {
        let held = self.held(relation, row)?;
        let changes = held.deleted.contains(row)
            || held.changed.iter().any(|(changed, rows)| *changed == index && rows.contains(row));
        Some((held.holder, changes))
    }

    /// Notes which keys of a row its holder takes away; gives those that it had not taken before, `None` for all at once.
    pub(crate) fn note_changed_keys(
        &mut self,
        relation: RelationId,
        row: RowId,
        changed: &ChangedKeys,
    ) -> Vec<Option<IndexId>> {
        let mut fresh = Vec::new();
        let Some(held) = self.held_mut(relation, row) else { return fresh };
        match changed {
            ChangedKeys::All if held.deleted.contains(row) => {}
            ChangedKeys::All => {
                held.deleted.insert(row);
                fresh.push(None);
            }
            ChangedKeys::Of(indexes) => {
                for index in indexes {
                    match held.changed.iter_mut().find(|(known, _)| known == index) {
                        Some((_, rows)) if rows.contains(row) => continue,
                        Some((_, rows)) => rows.insert(row),
                        None => {
                            let mut rows = RowBits::default();
                            rows.insert(row);
                            held.changed.push((*index, rows));
                        }
                    }
                    fresh.push(Some(*index));
                }
            }
        }
        fresh
    }

    /// Notes that the holder of a row takes no key of it away any longer.
    pub(crate) fn keep_all_keys(&mut self, relation: RelationId, row: RowId, holder: TransactionId) {
        if let Some(held) = self.held_mut(relation, row).filter(|held| held.holder == holder) {
            held.deleted.remove(row);
            held.changed.iter_mut().for_each(|(_, rows)| rows.remove(row));
        }
    }

    /// Notes that the holder of a row takes a key of it away no longer; `None`: that it does not delete it.
    pub(crate) fn keep_key(
        &mut self,
        relation: RelationId,
        row: RowId,
        holder: TransactionId,
        index: Option<IndexId>,
    ) {
        let Some(held) = self.held_mut(relation, row).filter(|held| held.holder == holder) else { return };
        match index {
            None => held.deleted.remove(row),
            Some(index) => {
                held.changed
                    .iter_mut()
                    .filter(|(known, _)| *known == index)
                    .for_each(|(_, rows)| rows.remove(row));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: RelationId = RelationId(1);

    #[test]
    fn each_row_has_its_own_holder_and_its_own_changed_keys() {
        let (first, second) = (TransactionId(1), TransactionId(2));
        let mut locks = RowLocks::default();
        let mut stretches = Vec::new();
        for row in 0..2_000 {
            let holder = if row % 3 == 0 { first } else { second };
            stretches.extend(locks.lock(T, RowId(row), holder).map(|stretch| (stretch, holder)));
        }
        assert_eq!(stretches.len(), 8);
        let keys = ChangedKeys::Of(vec![IndexId(7)]);
        assert_eq!(locks.note_changed_keys(T, RowId(600), &keys), [Some(IndexId(7))]);
        assert_eq!(locks.note_changed_keys(T, RowId(600), &keys), []);
        locks.note_changed_keys(T, RowId(601), &ChangedKeys::All);
        assert_eq!(locks.key_holder(T, RowId(600), IndexId(7)), Some((first, true)));
        assert_eq!(locks.key_holder(T, RowId(600), IndexId(8)), Some((first, false)));
        assert_eq!(locks.key_holder(T, RowId(601), IndexId(8)), Some((second, true)));
        assert_eq!(locks.key_holder(T, RowId(602), IndexId(7)), Some((second, false)));
        locks.unlock(T, RowId(601), first);
        assert_eq!(locks.holder(T, RowId(601)), Some(second), "it was not the first one's");
        locks.unlock(T, RowId(601), second);
        assert_eq!(locks.holder(T, RowId(601)), None);
        locks.lock(T, RowId(601), first);
        assert_eq!(locks.key_holder(T, RowId(601), IndexId(8)), Some((first, false)));
        locks.keep_key(T, RowId(600), first, Some(IndexId(7)));
        assert_eq!(locks.key_holder(T, RowId(600), IndexId(7)), Some((first, false)));
        for (stretch, holder) in stretches {
            locks.end(stretch, holder);
        }
        assert!(locks.stretches.is_empty());
    }
}
