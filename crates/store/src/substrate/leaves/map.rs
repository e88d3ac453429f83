//! Leaves in a map: for tests and for fuzzing.

use std::collections::BTreeMap;
use std::ops::Bound;

#[cfg(test)]
use super::KeyRoom;
use super::change::NewLeaf;
use super::{LeafScan, LeafSource, LeafTable, Limits, apply, bounds, contains, damaged};
use crate::Result;
use crate::substrate::{Direction, Entries, KeySpan, Slice, is_empty_span};

#[derive(Debug, Default)]
pub(super) struct LeafMap(pub(super) BTreeMap<Vec<u8>, Vec<u8>>);

impl LeafTable for LeafMap {
    fn leaf_of(&self, entry: &[u8]) -> Result<Option<NewLeaf>> {
        let leaf = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(entry))).next_back();
        Ok(leaf.map(|(key, value)| (key.clone(), value.clone())))
    }

    fn leaf_behind(&self, key: Option<&[u8]>) -> Result<Option<NewLeaf>> {
        let lower = key.map_or(Bound::Unbounded, Bound::Excluded);
        let leaf = self.0.range::<[u8], _>((lower, Bound::Unbounded)).next();
        Ok(leaf.map(|(key, value)| (key.clone(), value.clone())))
    }

    fn leaf_before(&self, key: &[u8]) -> Result<Option<NewLeaf>> {
        let leaf = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(key))).next_back();
        Ok(leaf.map(|(key, value)| (key.clone(), value.clone())))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.0.remove(key).map(drop).ok_or_else(damaged)
    }
}

impl LeafSource for &LeafMap {
    fn leaves(&self, span: KeySpan<'_>, direction: Direction) -> Result<Entries> {
        let leaf = |(key, value): (&Vec<u8>, &Vec<u8>)| Ok((Slice::copy(key), Slice::copy(value)));
        let found: Vec<_> = match is_empty_span(span) {
            true => Vec::new(),
            false => self.0.range::<[u8], _>(span).map(leaf).collect(),
        };
        Ok(match direction {
            Direction::Forward => Box::new(found.into_iter()),
            Direction::Backward => Box::new(found.into_iter().rev()),
        })
    }
}

/// The first entries of a range, at most so many, as they are shown one by one.
#[cfg(test)]
pub(super) fn visited(
    leaves: &LeafMap,
    first: &[u8],
    end: Bound<&[u8]>,
    most: usize,
) -> Result<Vec<Vec<u8>>> {
    let (mut entries, mut room) = (Vec::new(), KeyRoom::default());
    let mut take = |entry: &[u8]| {
        entries.push(entry.to_vec());
        Ok(entries.len() < most)
    };
    super::visit(leaves, first, end, &mut room, &mut take)?;
    Ok(entries)
}

/// The entries of a range.
pub(super) fn scan(leaves: &LeafMap, span: KeySpan<'_>, direction: Direction) -> Result<Vec<Vec<u8>>> {
    if is_empty_span(span) {
        return Ok(Vec::new());
    }
    LeafScan::new(leaves, span, direction)?.map(|entry| Ok(entry?.0.to_vec())).collect()
}

/// Reads what may be a leaf in all ways, and puts an entry into it. For fuzzing: bytes of no sense are an error, never more.
///
/// # Panics
/// If entries are not the same in both directions, or an entry that was put is not there.
pub fn try_leaf(key: &[u8], value: &[u8], entry: &[u8]) -> Result<()> {
    let all = (Bound::Unbounded, Bound::Unbounded);
    let mut leaves = LeafMap::default();
    leaves.put(key, value)?;
    let up = scan(&leaves, all, Direction::Forward);
    let down = scan(&leaves, all, Direction::Backward);
    assert_eq!(up.is_ok(), down.is_ok(), "read in one direction only");
    let (up, mut down) = (up?, down?);
    down.reverse();
    assert!(up == down && up.is_sorted_by(|a, b| a < b), "other entries in the other direction");
    bounds(&&leaves)?;
    let is_there = contains(&&leaves, entry)?;
    assert_eq!(is_there, up.iter().any(|other| other == entry), "an entry is not found");
    scan(&leaves, (Bound::Excluded(entry), Bound::Unbounded), Direction::Forward)?;
    scan(&leaves, (Bound::Unbounded, Bound::Included(entry)), Direction::Backward)?;
    apply(&mut leaves, &[(entry.to_vec(), Some(Vec::new()))], Limits::default())?;
    assert_eq!(
        scan(&leaves, all, Direction::Forward)?.len(),
        up.len() + usize::from(!is_there),
        "an entry is lost"
    );
    Ok(())
}
