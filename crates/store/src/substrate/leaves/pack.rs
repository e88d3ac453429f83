//! Entries in ascending order packed into new leaves behind all others: how an index is built. Nothing is read again or written twice.

use super::change::{BODY_BYTES_MAX, FILLED_PARTS};
use super::coding::{append_entry, check_entry, put_varint, shared_bytes};
use super::read::last_entry;
use super::{COUNT_BYTES, END_BYTES, LeafTable, Limits, damaged};
use crate::substrate::SortedEntries;
use crate::{Result, StoreError};

/// Appends entries, which are greater than all that the table has.
///
/// # Errors
/// `Corrupt` if they are not, or not in order.
pub(in crate::substrate) fn append(
    table: &mut impl LeafTable,
    entries: &SortedEntries,
    limits: Limits,
) -> Result<()> {
    let Some(first) = entries.first() else { return Ok(()) };
    let is_behind = match table.leaf_of(first)? {
        Some((key, value)) => {
            table.leaf_behind(Some(&key))?.is_none() && last_entry(&key, &value)?.as_slice() < first
        }
        None => table.leaf_behind(None)?.is_none(),
    };
    if !is_behind {
        return Err(out_of_order());
    }
    let mut packer = Packer { limits, ..Packer::default() };
    for entry in entries.iter() {
        packer.push(entry, table)?;
    }
    packer.end_group(table)?;
    packer.end_leaf(table)
}

fn out_of_order() -> StoreError {
    StoreError::corrupt("entries of a new index that are not in order")
}

/// The leaf that is being filled, and its last group apart.
#[derive(Default)]
struct Packer {
    limits: Limits,
    /// The leaf's first entry.
    key: Vec<u8>,
    groups: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<u16>,
    /// The first entry of the group that is being filled,
    first: Vec<u8>,
    /// those behind it as they are written,
    body: Vec<u8>,
    /// how many it has with the first,
    count: usize,
    /// and the last of them.
    last: Vec<u8>,
    /// Room for a leaf's value.
    value: Vec<u8>,
}

impl Packer {
    fn push(&mut self, entry: &[u8], table: &mut impl LeafTable) -> Result<()> {
        check_entry(entry)?;
        if self.count > 0 && entry <= self.last.as_slice() {
            return Err(out_of_order());
        }
        let end = self.body.len();
        if self.count > 0 && self.count < self.limits.group_entries {
            append_entry(&self.last, entry, &mut self.body);
            self.count += 1;
        }
        if self.body.len() == end || self.body.len() > BODY_BYTES_MAX {
            // It begins a group of its own.
            self.body.truncate(end);
            self.end_group(table)?;
            self.first.extend_from_slice(entry);
            self.count = 1;
        }
        self.last.clear();
        self.last.extend_from_slice(entry);
        Ok(())
    }

    /// Puts the group into the leaf, or into the next one if this is full.
    fn end_group(&mut self, table: &mut impl LeafTable) -> Result<()> {
        if self.first.is_empty() {
            return Ok(());
        }
        if !self.ends.is_empty() {
            let shared = shared_bytes(&self.first, &self.key);
            // Lengths take up to two bytes each, as most keys are short; what is reckoned too little is within the part left free.
            let more = END_BYTES + 4 + self.first.len() - shared + self.body.len();
            let size = self.key.len() + COUNT_BYTES + END_BYTES * self.ends.len() + self.groups.len();
            let filled = self.limits.leaf_bytes / 16 * FILLED_PARTS;
            if size + more > self.limits.leaf_bytes || size + more / 2 > filled {
                self.end_leaf(table)?;
            } else {
                put_varint(shared as u64, &mut self.groups);
                put_varint((self.first.len() - shared) as u64, &mut self.groups);
                self.groups.extend_from_slice(self.first.get(shared..).unwrap_or_default());
            }
        }
        if self.ends.is_empty() {
            self.key.extend_from_slice(&self.first);
        }
        self.groups.extend_from_slice(&self.body);
        self.ends.push(u16::try_from(self.groups.len()).map_err(|_| damaged())?);
        self.first.clear();
        self.body.clear();
        self.count = 0;
        Ok(())
    }

    /// Writes the leaf.
    fn end_leaf(&mut self, table: &mut impl LeafTable) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        self.value.clear();
        let count = u16::try_from(self.ends.len()).map_err(|_| damaged())?;
        self.value.extend_from_slice(&count.to_le_bytes());
        for end in &self.ends {
            self.value.extend_from_slice(&end.to_le_bytes());
        }
        self.value.extend_from_slice(&self.groups);
        table.put(&self.key, &self.value)?;
        self.key.clear();
        self.groups.clear();
        self.ends.clear();
        Ok(())
    }
}
