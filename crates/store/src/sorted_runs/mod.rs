//! The entries of a new index in order: each thread makes sorted runs of those that it meets, in memory and beyond that in temporary
//! files, and the runs are merged.
//!
//! # Promises
//! - Memory is asked for before it is taken, but for a first piece of each thread and the buffers of files, which are of a fixed size.
//! - Nothing is sorted for longer than a moment without a look at the cancel flag: runs have a largest size.

mod file;
mod maker;
mod merge;

pub(crate) use maker::{RunMaker, SortedRuns};
pub(crate) use merge::Merge;

use crate::keyspace::ROW_BYTES;

/// Key bytes that an entry of 16 bytes has room for.
const SHORT_KEY_BYTES: usize = 8;
/// Bits of such an entry's lower half that are the row's number; above them stands the length of the key.
const ROW_BITS: u32 = 60;

/// An entry whose key is short as a number that orders as the entries do, if its row has room beside it.
fn packed(key: &[u8], row: u64) -> Option<u128> {
    if key.len() > SHORT_KEY_BYTES || row >> ROW_BITS != 0 {
        return None;
    }
    let mut prefix = [0; SHORT_KEY_BYTES];
    prefix.get_mut(..key.len())?.copy_from_slice(key);
    let rest = (key.len() as u64) << ROW_BITS | row;
    Some(u128::from(u64::from_be_bytes(prefix)) << 64 | u128::from(rest))
}

/// The entry that was packed; gives its [`head`], which is all of it.
fn unpack(packed: u128, entry: &mut Vec<u8>) -> u128 {
    let (prefix, rest) = ((packed >> 64) as u64, packed as u64);
    let length = usize::try_from(rest >> ROW_BITS).unwrap_or(0).min(SHORT_KEY_BYTES);
    let row = rest & ((1 << ROW_BITS) - 1);
    // The row follows the key at once, whose other bytes are zero.
    let head = u128::from(prefix) << 64 | u128::from(row) << (8 * (SHORT_KEY_BYTES - length));
    entry.clear();
    entry.extend_from_slice(head.to_be_bytes().get(..length + ROW_BYTES).unwrap_or_default());
    head
}

/// The first bytes of an entry as a number; entries whose numbers differ are in their order.
fn head(entry: &[u8]) -> u128 {
    const HEAD_BYTES: usize = SHORT_KEY_BYTES + ROW_BYTES;
    let mut head = [0; HEAD_BYTES];
    let length = entry.len().min(HEAD_BYTES);
    if let (Some(head), Some(entry)) = (head.get_mut(..length), entry.get(..length)) {
        head.copy_from_slice(entry);
    }
    u128::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_entries_come_back() {
        let rows = [0_u64, 1, 255, 256, 70_000, (1 << ROW_BITS) - 1];
        let keys: [&[u8]; 7] = [&[], &[0], &[1, 0], &[1, 0, 0], &[1, 2, 3, 4, 5, 6, 7], &[255; 7], &[255; 8]];
        let mut entries: Vec<(Vec<u8>, u128)> = Vec::new();
        for key in keys {
            for row in rows {
                let entry = [key, &row.to_be_bytes()].concat();
                entries.push((entry, packed(key, row).expect("short")));
            }
        }
        for (entry, packed) in &entries {
            let mut unpacked = Vec::new();
            assert_eq!(unpack(*packed, &mut unpacked), head(entry));
            assert_eq!(&unpacked, entry);
        }
        assert_eq!(packed(&[0; 9], 1), None);
        assert_eq!(packed(&[0; 8], 1 << ROW_BITS), None);
    }
}
