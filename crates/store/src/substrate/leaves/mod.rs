//! Leaves: the entries of an index, packed into values of a page each.
//!
//! Above the substrate an index is a space of entries (key, row) without values. In the file they stand packed: neighbours share
//! the beginning of their keys, and rows are told by their distance.
//!
//! # Layout
//! A leaf stands under its first entry. Its value:
//!
//! | bytes | item |
//! |---|---|
//! | 2 | number of groups, at least 1, little-endian |
//! | 2 each | where each group ends, counted from behind these numbers, little-endian |
//! | ... | the groups |
//!
//! A group has up to 16 entries and can be read alone. The first entry of the first group is the leaf's key and not written again.
//! The other groups begin with their first entry:
//!
//! | bytes | item |
//! |---|---|
//! | varint | how many bytes it shares with the leaf's key |
//! | varint, ... | length of the rest, and the rest: with those the entry, its row's number (8, big-endian) included |
//!
//! Each entry behind the first of its group begins with a varint:
//!
//! | lowest bit | bits above it | then |
//! |---|---|---|
//! | 0: the same key | by how much the row's number is greater | |
//! | 1: another key | lowest: whether the row is the one behind that of the entry before; above: how many bytes at its end the key loses and gets (1 to 31), or 0 | |
//! | | if that is 0: | varint: how many bytes it loses; varint: how many it gets |
//! | | | the bytes that it gets |
//! | | if the row is not the next one: | signed varint (zigzag): the row's number less the one before, modulo 2^64 |
//!
//! # Invariants
//! - Entries are in ascending order of their bytes, within a leaf and from leaf to leaf. No leaf is empty.
//! - A leaf of more than one entry takes no more than [`Limits::leaf_bytes`] with its key, so that redb keeps it in one page.

mod change;
mod coding;
mod map;
mod pack;
mod read;
mod recent;
mod table;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::ops::Range;

use crate::keyspace::ROW_BYTES;
use crate::{Result, StoreError};

use coding::{take_bytes, take_length};

pub(super) use change::NewLeaf;
pub use map::try_leaf;
pub(super) use pack::append;
pub use read::KeyRoom;
pub(super) use read::{LeafScan, LeafSource, SharedLeaf, bounds, contains, visit};
pub(super) use recent::RecentLeaf;
pub(super) use table::{LeafTable, apply};

/// How large leaves and groups become. Readers do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Bytes of a leaf with its key.
    pub(super) leaf_bytes: usize,
    /// Entries of a group.
    pub(super) group_entries: usize,
}

impl Default for Limits {
    /// A page of redb holds one leaf; a group is read in a fraction of a microsecond.
    fn default() -> Self {
        Limits { leaf_bytes: 4_080, group_entries: 16 }
    }
}

/// Bytes before the numbers of where groups end.
const COUNT_BYTES: usize = 2;
/// Bytes of such a number.
const END_BYTES: usize = 2;

fn damaged() -> StoreError {
    StoreError::corrupt("a leaf of an index")
}

/// The number of an entry's row.
fn row_of(entry: &[u8]) -> Result<u64> {
    let row = entry.last_chunk::<ROW_BYTES>().ok_or_else(damaged)?;
    Ok(u64::from_be_bytes(*row))
}

/// A leaf as it stands in the file. Nothing of it is taken for granted.
#[derive(Debug, Clone, Copy)]
struct Leaf<'a> {
    key: &'a [u8],
    value: &'a [u8],
    groups: usize,
    /// Where the first group begins.
    groups_at: usize,
}

/// A group of a leaf: its first entry in two pieces, and the entries behind it.
#[derive(Debug, Clone)]
struct Group<'a> {
    /// What it shares with the leaf's key.
    shared: &'a [u8],
    rest: &'a [u8],
    /// Where the entries behind the first stand in the leaf's value.
    body: Range<usize>,
}

impl Group<'_> {
    /// Its first entry.
    fn first_into(&self, entry: &mut Vec<u8>) {
        entry.clear();
        entry.extend_from_slice(self.shared);
        entry.extend_from_slice(self.rest);
    }

    /// Its first entry beside another one.
    fn compare_first(&self, entry: &[u8]) -> Ordering {
        let (beginning, rest) = entry.split_at(entry.len().min(self.shared.len()));
        self.shared.cmp(beginning).then_with(|| self.rest.cmp(rest))
    }
}

impl<'a> Leaf<'a> {
    fn open(key: &'a [u8], value: &'a [u8]) -> Result<Leaf<'a>> {
        let count = value.first_chunk::<COUNT_BYTES>().ok_or_else(damaged)?;
        let groups = usize::from(u16::from_le_bytes(*count));
        let leaf = Leaf { key, value, groups, groups_at: COUNT_BYTES + groups * END_BYTES };
        match groups > 0 && key.len() >= ROW_BYTES && leaf.end(groups - 1)? == value.len() {
            true => Ok(leaf),
            false => Err(damaged()),
        }
    }

    /// Where a group ends in the value.
    fn end(&self, group: usize) -> Result<usize> {
        let at = COUNT_BYTES + group * END_BYTES;
        let end = self.value.get(at..).and_then(<[u8]>::first_chunk::<END_BYTES>).ok_or_else(damaged)?;
        Ok(self.groups_at + usize::from(u16::from_le_bytes(*end)))
    }

    /// Where a group begins in the value; one behind the last: where that ends.
    fn start(&self, group: usize) -> Result<usize> {
        if group == 0 { Ok(self.groups_at) } else { self.end(group - 1) }
    }

    fn group(&self, group: usize) -> Result<Group<'a>> {
        let end = self.end(group)?;
        let mut position = self.start(group)?;
        let bytes = self.value.get(..end).ok_or_else(damaged)?;
        if position > end {
            return Err(damaged());
        }
        if group == 0 {
            return Ok(Group { shared: self.key, rest: &[], body: position..end });
        }
        let shared = take_length(bytes, &mut position)?;
        let shared = self.key.get(..shared).ok_or_else(damaged)?;
        let rest = take_length(bytes, &mut position)?;
        let rest = take_bytes(bytes, &mut position, rest)?;
        match shared.len() + rest.len() >= ROW_BYTES {
            true => Ok(Group { shared, rest, body: position..end }),
            false => Err(damaged()),
        }
    }

    /// The last group that begins with this entry or a lesser one; the first one if none does.
    fn group_of(&self, entry: &[u8]) -> Result<usize> {
        let (mut from, mut until) = (1, self.groups);
        while from < until {
            let middle = from.midpoint(until);
            match self.group(middle)?.compare_first(entry) {
                Ordering::Greater => until = middle,
                _ => from = middle + 1,
            }
        }
        Ok(from - 1)
    }
}
