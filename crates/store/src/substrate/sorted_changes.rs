//! Many changes of one of redb's tables, in the order of their keys: neighbours go in, and out, together.
//!
//! To insert or remove one key redb goes down the tree and moves what stands behind it in its page. A cursor gathers new keys that belong
//! into the same gap between two others, packs pages of them, and changes the tree once; and a walk over a range of keys takes
//! those out that are to go, page by page. Where new keys stand among those of before, or few of a range are to go, that costs more than it
//! saves: then changes are made one by one for a while.

use std::ops::Bound;

use redb::CursorError;

use super::KeyChange;
use super::file::{WriteTable, failed};
use crate::Result;

/// So many changes of a kind are worth gathering.
const TOGETHER_MIN: usize = 8;
/// Keys removed in one walk, at most.
const REMOVED_MAX: usize = 4_096;
/// So many keys may be passed for each that is removed.
const PASSED_MAX: usize = 4;
/// So many changes are made one by one once gathering has not paid; twice as many each time.
const ALONE_MIN: usize = 64;

/// What has been done together.
struct Done {
    changes: usize,
    /// Whether one by one would have been slower.
    pays: bool,
}

/// Makes changes that are in the order of their keys, the latest of a key last.
pub(super) fn apply(table: &mut WriteTable<'_>, changes: &[KeyChange]) -> Result<()> {
    let (mut alone, mut next_alone) = (0, ALONE_MIN);
    let mut left = changes;
    while let Some((change, behind)) = left.split_first() {
        if alone == 0
            && let Some(is_put) = kind_of_first(left)
        {
            let done = if is_put { insert_together(table, left)? } else { remove_together(table, left)? };
            left = left.get(done.changes..).unwrap_or_default();
            if done.pays {
                next_alone = ALONE_MIN;
            } else {
                alone = next_alone;
                next_alone = next_alone.saturating_mul(2);
            }
            continue;
        }
        match change {
            (key, Some(value)) => table.insert(key.as_slice(), value.as_slice()).map_err(failed)?,
            (key, None) => table.remove(key.as_slice()).map_err(failed)?,
        };
        left = behind;
        alone = alone.saturating_sub(1);
    }
    Ok(())
}

/// Whether the first changes put keys, or remove them; `None` if they do both, or are few.
fn kind_of_first(changes: &[KeyChange]) -> Option<bool> {
    let first = changes.get(..TOGETHER_MIN)?;
    let puts = first.iter().filter(|(_, value)| value.is_some()).count();
    match puts {
        0 => Some(false),
        TOGETHER_MIN => Some(true),
        _ => None,
    }
}

/// Inserts keys from the first one on that are not in the table and have none of its keys between them.
fn insert_together(table: &mut WriteTable<'_>, changes: &[KeyChange]) -> Result<Done> {
    let first = changes.first().map(|(key, _)| key.as_slice()).unwrap_or_default();
    let mut cursor = table.upper_bound_mut(Bound::Excluded(first)).map_err(failed)?;
    let mut inserted = 0;
    for (key, value) in changes {
        let Some(value) = value else { break };
        match cursor.insert_before(key.as_slice(), value.as_slice()) {
            Ok(()) => inserted += 1,
            Err(CursorError::UnorderedKey) => break,
            Err(error) => return Err(failed(error)),
        }
    }
    cursor.close().map_err(failed)?;
    Ok(Done { changes: inserted, pays: inserted >= TOGETHER_MIN })
}

/// Removes keys from the first one on, up to one that is put.
fn remove_together(table: &mut WriteTable<'_>, changes: &[KeyChange]) -> Result<Done> {
    let removed = changes.iter().take(REMOVED_MAX).take_while(|(_, value)| value.is_none()).count();
    let changes = changes.get(..removed).unwrap_or_default();
    let (Some((first, _)), Some((last, _))) = (changes.first(), changes.last()) else {
        return Ok(Done { changes: 0, pays: false });
    };
    let mut passed = 0;
    let mut left = changes.iter().map(|(key, _)| key.as_slice()).peekable();
    let is_kept = |key: &[u8], _: &[u8]| {
        passed += 1;
        while left.next_if(|removed| *removed < key).is_some() {}
        left.peek() != Some(&key)
    };
    table.retain_in::<&[u8], _>(first.as_slice()..=last.as_slice(), is_kept).map_err(failed)?;
    Ok(Done { changes: removed, pays: passed <= removed * PASSED_MAX })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use redb::backends::InMemoryBackend;
    use redb::{Builder, ReadableTable, TableDefinition};

    use super::*;

    const TABLE: TableDefinition<'static, &'static [u8], &'static [u8]> = TableDefinition::new("t");

    /// Runs of keys from a place on, each so far from the one before, with values of so many bytes; or deleted.
    type Run = (u16, u16, u16, Option<u16>);

    fn changes(runs: &[Run]) -> Vec<KeyChange> {
        let mut changes = Vec::new();
        for (number, (first, step, count, bytes)) in runs.iter().enumerate() {
            for place in 0..*count {
                let key = first.wrapping_add(place.wrapping_mul(*step)).to_be_bytes().to_vec();
                changes.push((key, bytes.map(|bytes| vec![number as u8; usize::from(bytes)])));
            }
        }
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        changes
    }

    fn runs() -> impl Strategy<Value = Vec<Run>> {
        let bytes =
            prop_oneof![8 => (0u16..60).prop_map(Some), 1 => (3000u16..9000).prop_map(Some), 3 => Just(None)];
        vec((any::<u16>(), 1u16..5, 1u16..400, bytes), 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn changes_in_order_leave_what_they_leave_one_by_one(batches in vec(runs(), 1..5)) {
            let database = Builder::new().create_with_backend(InMemoryBackend::new()).expect("create");
            let mut expected: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            for batch in &batches {
                let changes = changes(batch);
                let writing = database.begin_write().expect("write");
                let mut table = writing.open_table(TABLE).expect("table");
                apply(&mut table, &changes).expect("apply");
                for (key, value) in changes {
                    match value {
                        Some(value) => expected.insert(key, value),
                        None => expected.remove(&key),
                    };
                }
                let found: BTreeMap<Vec<u8>, Vec<u8>> = table
                    .iter()
                    .expect("iter")
                    .map(|entry| entry.expect("entry"))
                    .map(|(key, value)| (key.value().to_vec(), value.value().to_vec()))
                    .collect();
                prop_assert!(found == expected);
                drop(table);
                writing.commit().expect("commit");
            }
        }
    }
}
