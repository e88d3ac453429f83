//! Changes of entries made in the leaves of a table.

use super::change::{Changes, NewLeaf, change, join};
use super::{Leaf, Limits};
use crate::Result;
use crate::substrate::KeyChange;

/// A leaf smaller than this part of the largest, having lost entries, goes together with a neighbour,
const SMALL_PARTS: usize = 4;
/// if both together leave this part of the largest free.
const FREE_PARTS: usize = 4;

/// Where leaves stand, to be changed.
pub(in crate::substrate) trait LeafTable {
    /// The last leaf whose key is this one or less.
    fn leaf_of(&self, entry: &[u8]) -> Result<Option<NewLeaf>>;

    /// The first leaf whose key is greater; of all, without a key.
    fn leaf_behind(&self, key: Option<&[u8]>) -> Result<Option<NewLeaf>>;

    /// The last leaf whose key is less.
    fn leaf_before(&self, key: &[u8]) -> Result<Option<NewLeaf>>;

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    fn remove(&mut self, key: &[u8]) -> Result<()>;
}

/// Makes changes, which are in order and each of another entry.
pub(in crate::substrate) fn apply(
    table: &mut impl LeafTable,
    changes: &[KeyChange],
    limits: Limits,
) -> Result<()> {
    let mut left = changes;
    // From the last one on: the leaf that is found then has all that are not less than its key.
    while let Some((last, _)) = left.last() {
        let (leaf, first) = match table.leaf_of(last)? {
            Some(leaf) => {
                let first = left.partition_point(|(entry, _)| entry.as_slice() < leaf.0.as_slice());
                (Some(leaf), first)
            }
            None => (table.leaf_behind(None)?, 0),
        };
        let (before, here) = left.split_at(first);
        left = before;
        change_leaf(table, leaf, &Changes::new(here)?, limits)?;
    }
    Ok(())
}

fn change_leaf(
    table: &mut impl LeafTable,
    leaf: Option<NewLeaf>,
    changes: &Changes<'_>,
    limits: Limits,
) -> Result<()> {
    let old = leaf.as_ref().map(|(key, value)| (key.as_slice(), value.as_slice()));
    let is_last = || match old {
        Some((key, _)) => Ok(table.leaf_behind(Some(key))?.is_none()),
        None => Ok(true),
    };
    let Some(changed) = change(old, changes, is_last, limits)? else { return Ok(()) };
    let mut leaves = changed.leaves;
    if changed.has_lost
        && let (Some((key, _)), [only]) = (old, leaves.as_mut_slice())
        && only.0.len() + only.1.len() < limits.leaf_bytes / SMALL_PARTS
    {
        join_with_neighbour(table, key, only, limits)?;
    }
    if let Some((key, _)) = old
        && leaves.first().is_none_or(|(first, _)| first != key)
    {
        table.remove(key)?;
    }
    for (key, value) in &leaves {
        debug_assert!(Leaf::open(key, value).is_ok(), "a leaf that cannot be read");
        table.put(key, value)?;
    }
    Ok(())
}

/// Makes a small leaf, which stands (or stood, before it was changed) under `key`, one with a neighbour.
fn join_with_neighbour(
    table: &mut impl LeafTable,
    key: &[u8],
    leaf: &mut NewLeaf,
    limits: Limits,
) -> Result<()> {
    let bytes_max = limits.leaf_bytes - limits.leaf_bytes / FREE_PARTS;
    let joined =
        |first: &NewLeaf, second: &NewLeaf| join((&first.0, &first.1), (&second.0, &second.1), bytes_max);
    if let Some(next) = table.leaf_behind(Some(key))?
        && let Some(both) = joined(leaf, &next)?
    {
        *leaf = both;
        return table.remove(&next.0);
    }
    if let Some(before) = table.leaf_before(key)?
        && let Some(both) = joined(&before, leaf)?
    {
        *leaf = both;
    }
    Ok(())
}
