//! Who has locked which rows, in a few bits per row: a transaction may lock all rows of a large relation.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::identifiers::{IdHasher, IdMap};
use crate::{IndexId, RelationId, RowId, TransactionId};

/// Locks on rows, kept for stretches of rows together: one shard of all.
#[derive(Debug, Default)]
pub(crate) struct RowLocks {
    stretches: HashMap<Stretch, Vec<HeldRows>, BuildHasherDefault<IdHasher>>,
    /// Where each transaction has locked rows.
    holders: IdMap<TransactionId, Vec<Stretch>>,
}

/// So many shards do all row locks stand in.
pub(crate) const SHARDS: usize = 32;

/// The shard of a row's lock. Neighbouring stretches stand in different ones.
pub(crate) fn shard_of(relation: RelationId, row: RowId) -> usize {
    let stretch = Stretch::of(relation, row);
    (stretch.number.wrapping_add(u64::from(stretch.relation.0).wrapping_mul(7)) % SHARDS as u64) as usize
}

/// Whether the locks of two rows stand in one stretch.
pub(crate) fn share_stretch(one: RowId, other: RowId) -> bool {
    one.0 / STRETCH_ROWS == other.0 / STRETCH_ROWS
}

/// So many rows of a relation stand in a stretch.
const STRETCH_ROWS: u64 = 512;

/// A bit for each of them takes so many words.
pub(crate) const STRETCH_WORDS: usize = (STRETCH_ROWS / 64) as usize;

/// What one transaction has locked of a stretch, as it is kept in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockedRows {
    pub(crate) relation: RelationId,
    /// The number of the stretch.
    pub(crate) stretch: u64,
    /// A bit for each row.
    pub(crate) locked: [u64; STRETCH_WORDS],
    pub(crate) deleted: [u64; STRETCH_WORDS],
    /// Rows whose keys in these indexes their holder takes away.
    pub(crate) changed: Vec<(IndexId, [u64; STRETCH_WORDS])>,
}

impl LockedRows {
    /// The shard in which they stand.
    pub(crate) fn shard(&self) -> usize {
        shard_of(self.relation, RowId(self.stretch.saturating_mul(STRETCH_ROWS)))
    }
}

/// A stretch of a relation's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Stretch {
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

impl HeldRows {
    fn none(holder: TransactionId) -> HeldRows {
        HeldRows { holder, locked: RowBits::default(), deleted: RowBits::default(), changed: Vec::new() }
    }
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
struct RowBits([u64; STRETCH_WORDS]);

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
    /// Hands out how many rows each transaction has locked in each stretch.
    pub(crate) fn count(&self, mut take: impl FnMut(TransactionId, RelationId, u64)) {
        for (stretch, holders) in &self.stretches {
            for held in holders {
                let rows: u32 = held.locked.0.iter().map(|word| word.count_ones()).sum();
                if rows > 0 {
                    take(held.holder, stretch.relation, rows.into());
                }
            }
        }
    }

    fn held(&self, relation: RelationId, row: RowId) -> Option<&HeldRows> {
        let held = self.stretches.get(&Stretch::of(relation, row))?;
        held.iter().find(|held| held.locked.contains(row))
    }

    fn held_mut(&mut self, relation: RelationId, row: RowId) -> Option<&mut HeldRows> {
        let held = self.stretches.get_mut(&Stretch::of(relation, row))?;
        held.iter_mut().find(|held| held.locked.contains(row))
    }

    /// Locks a row; whether the holder had not locked it before.
    ///
    /// # Errors
    /// Who else has locked it.
    pub(crate) fn take(
        &mut self,
        relation: RelationId,
        row: RowId,
        holder: TransactionId,
    ) -> Result<bool, TransactionId> {
        let stretch = Stretch::of(relation, row);
        let all = self.stretches.entry(stretch).or_default();
        if let Some(held) = all.iter().find(|held| held.locked.contains(row)) {
            return if held.holder == holder { Ok(false) } else { Err(held.holder) };
        }
        if let Some(held) = all.iter_mut().find(|held| held.holder == holder) {
            held.locked.insert(row);
            return Ok(true);
        }
        let mut held = HeldRows::none(holder);
        held.locked.insert(row);
        all.push(held);
        self.holders.entry(holder).or_default().push(stretch);
        Ok(true)
    }

    /// Locks rows of one stretch that nobody has locked, from the first one on, and notes whether they are being deleted;
    /// gives how many.
    pub(crate) fn take_free(
        &mut self,
        relation: RelationId,
        rows: &[RowId],
        holder: TransactionId,
        deletes: bool,
    ) -> usize {
        let Some(stretch) = rows.first().map(|row| Stretch::of(relation, *row)) else { return 0 };
        let all = self.stretches.entry(stretch).or_default();
        let is_free = |all: &[HeldRows], row| !all.iter().any(|held| held.locked.contains(row));
        let own = all.iter().position(|held| held.holder == holder).unwrap_or_else(|| {
            all.push(HeldRows::none(holder));
            self.holders.entry(holder).or_default().push(stretch);
            all.len() - 1
        });
        for (place, row) in rows.iter().enumerate() {
            if !is_free(all, *row) {
                return place;
            }
            let Some(held) = all.get_mut(own) else { return place };
            held.locked.insert(*row);
            if deletes {
                held.deleted.insert(*row);
            }
        }
        rows.len()
    }

    /// Gives one lock back, if it is the holder's.
    pub(crate) fn unlock(&mut self, relation: RelationId, row: RowId, holder: TransactionId) {
        if let Some(held) = self.held_mut(relation, row).filter(|held| held.holder == holder) {
            held.locked.remove(row);
            held.deleted.remove(row);
            held.changed.iter_mut().for_each(|(_, rows)| rows.remove(row));
        }
    }

    /// All that a transaction has locked.
    pub(crate) fn of(&self, holder: TransactionId) -> Vec<LockedRows> {
        let stretches = self.holders.get(&holder).into_iter().flatten();
        let held = stretches.filter_map(|stretch| {
            let held = self.stretches.get(stretch)?.iter().find(|held| held.holder == holder)?;
            Some(LockedRows {
                relation: stretch.relation,
                stretch: stretch.number,
                locked: held.locked.0,
                deleted: held.deleted.0,
                changed: held.changed.iter().map(|(index, rows)| (*index, rows.0)).collect(),
            })
        });
        held.collect()
    }

    /// Locks what [`RowLocks::of`] has told, where nobody has locked anything yet.
    pub(crate) fn restore(&mut self, holder: TransactionId, rows: &LockedRows) {
        let stretch = Stretch { relation: rows.relation, number: rows.stretch };
        self.stretches.entry(stretch).or_default().push(HeldRows {
            holder,
            locked: RowBits(rows.locked),
            deleted: RowBits(rows.deleted),
            changed: rows.changed.iter().map(|(index, bits)| (*index, RowBits(*bits))).collect(),
        });
        self.holders.entry(holder).or_default().push(stretch);
    }

    /// Gives all locks of a transaction back.
    pub(crate) fn end(&mut self, holder: TransactionId) {
        for stretch in self.holders.remove(&holder).unwrap_or_default() {
            if let Some(all) = self.stretches.get_mut(&stretch) {
                all.retain(|held| held.holder != holder);
                if all.is_empty() {
                    self.stretches.remove(&stretch);
                }
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
    fn rows_are_taken_together_up_to_the_first_that_is_locked() {
        let (first, second) = (TransactionId(1), TransactionId(2));
        let rows: Vec<RowId> = [20, 3, 500, 77, 4].map(RowId).to_vec();
        let mut locks = RowLocks::default();
        assert_eq!(locks.take(T, RowId(77), second), Ok(true));
        assert_eq!(locks.take_free(T, &rows, first, true), 3);
        assert_eq!(locks.take_free(T, &rows, first, true), 0, "its own are not free either");
        assert_eq!(locks.key_holder(T, RowId(500), IndexId(1)), Some((first, true)));
        assert_eq!(locks.key_holder(T, RowId(77), IndexId(1)), Some((second, false)));
        assert_eq!(locks.key_holder(T, RowId(4), IndexId(1)), None);
        assert_eq!(locks.take_free(T, &rows[4..], first, false), 1);
        assert_eq!(locks.key_holder(T, RowId(4), IndexId(1)), Some((first, false)));
        locks.end(first);
        locks.end(second);
        assert!(locks.stretches.is_empty() && locks.holders.is_empty());
    }

    #[test]
    fn each_row_has_its_own_holder_and_its_own_changed_keys() {
        let (first, second) = (TransactionId(1), TransactionId(2));
        let mut locks = RowLocks::default();
        for row in 0..2_000 {
            let holder = if row % 3 == 0 { first } else { second };
            assert_eq!(locks.take(T, RowId(row), holder), Ok(true));
        }
        assert_eq!(locks.take(T, RowId(3), first), Ok(false));
        assert_eq!(locks.take(T, RowId(3), second), Err(first));
        assert_eq!((locks.holders[&first].len(), locks.holders[&second].len()), (4, 4));
        let keys = ChangedKeys::Of(vec![IndexId(7)]);
        assert_eq!(locks.note_changed_keys(T, RowId(600), &keys), [Some(IndexId(7))]);
        assert_eq!(locks.note_changed_keys(T, RowId(600), &keys), []);
        locks.note_changed_keys(T, RowId(601), &ChangedKeys::All);
        assert_eq!(locks.key_holder(T, RowId(600), IndexId(7)), Some((first, true)));
        assert_eq!(locks.key_holder(T, RowId(600), IndexId(8)), Some((first, false)));
        assert_eq!(locks.key_holder(T, RowId(601), IndexId(8)), Some((second, true)));
        assert_eq!(locks.key_holder(T, RowId(602), IndexId(7)), Some((second, false)));
        locks.unlock(T, RowId(601), first);
        assert_eq!(locks.take(T, RowId(601), first), Err(second), "it was not the first one's");
        locks.unlock(T, RowId(601), second);
        assert_eq!(locks.take(T, RowId(601), first), Ok(true));
        assert_eq!(locks.key_holder(T, RowId(601), IndexId(8)), Some((first, false)));
        locks.keep_key(T, RowId(600), first, Some(IndexId(7)));
        assert_eq!(locks.key_holder(T, RowId(600), IndexId(7)), Some((first, false)));
        locks.end(first);
        assert_eq!(locks.take(T, RowId(600), second), Ok(true));
        locks.end(second);
        assert!(locks.stretches.is_empty() && locks.holders.is_empty());
    }
}
