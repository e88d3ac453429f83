//! How an entry of a BLOB is cut into values of the substrate, so that these fill its pages.
//!
//! redb keeps a value that is larger than a page alone in as many pages as the next power of two. So an entry is cut: pieces
//! that fill one, two or four pages to the last byte, and a rest that is cut again into pieces so small that several share a
//! page.
//!
//! # Layout
//! Keys are those of the entry and the number of the piece (1). Of an entry of n bytes the pieces of [`FULL_BYTES`], as many of
//! the largest as there can be, then of the next, stand in [`Space::BlobPages`]. The rest stands in [`Space::Blobs`], in
//! pieces of [`SMALL_BYTES`], the last one shorter. Before the first of these, and always there, is n, as a varint. If n is 0 there is no
//! such entry any more, although a [pack](super::packs) has it.

use std::ops::Bound;

use farbird_record::bytes::{Reader, put_varint};

use super::BlobKey;
use crate::substrate::{Direction, Space, SubstrateState, WriteBatch};
use crate::{Result, StoreError, keyspace};

/// What redb adds to a value that has its leaf for itself: the leaf's head (4), the ends of key and value (4 each), the key.
const OVERHEAD_BYTES: usize = 12 + keyspace::BLOB_PIECE_BYTES;
/// Bytes of pieces that fill four pages, two, and one.
const FULL_BYTES: [usize; 3] =
    [4 * 4_096 - OVERHEAD_BYTES, 2 * 4_096 - OVERHEAD_BYTES, 4_096 - OVERHEAD_BYTES];
/// Bytes of the other pieces: four of them fill a page.
const SMALL_BYTES: usize = 996;
/// Longest entry: a chunk that could not be compressed, with what stands around it.
const ENTRY_BYTES_MAX: usize = 64 << 10;

/// What stands in the place of an entry that is gone: an entry has at least its checksum.
const GONE: [u8; 1] = [0];

/// Lengths of the pieces that fill pages.
fn full_pieces(entry_bytes: usize) -> impl Iterator<Item = usize> {
    let mut left = entry_bytes;
    std::iter::from_fn(move || {
        let piece = FULL_BYTES.into_iter().find(|bytes| *bytes <= left)?;
        left -= piece;
        Some(piece)
    })
}

/// Writes an entry.
pub(crate) fn put(key: BlobKey, entry: &[u8], batch: &mut WriteBatch) {
    debug_assert!(entry.len() <= ENTRY_BYTES_MAX);
    let mut rest = entry;
    for (number, bytes) in (0..).zip(full_pieces(entry.len())) {
        let (piece, behind) = rest.split_at(bytes);
        batch.put(Space::BlobPages, keyspace::blob_piece(key, number).to_vec(), piece.to_vec());
        rest = behind;
    }
    let (head, behind) = rest.split_at(rest.len().min(SMALL_BYTES));
    let mut first = Vec::with_capacity(3 + head.len());
    put_varint(entry.len() as u64, &mut first);
    first.extend_from_slice(head);
    batch.put(Space::Blobs, keyspace::blob_piece(key, 0).to_vec(), first);
    for (number, piece) in (1..).zip(behind.chunks(SMALL_BYTES)) {
        batch.put(Space::Blobs, keyspace::blob_piece(key, number).to_vec(), piece.to_vec());
    }
}

/// What there is of an entry here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own<T> {
    /// The entry, or what was made of it.
    Entry(T),
    /// Only that it is gone.
    Gone,
    Nothing,
}

impl<T> Own<T> {
    pub(crate) fn entry(self) -> Option<T> {
        match self {
            Own::Entry(entry) => Some(entry),
            Own::Gone | Own::Nothing => None,
        }
    }
}

/// Hands an entry to `read`, if there is one.
///
/// # Errors
/// `Corrupt` if some of its pieces are missing.
pub(crate) fn read<T>(
    snapshot: &dyn SubstrateState,
    key: BlobKey,
    read: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<Own<T>> {
    match snapshot.get(Space::Blobs, &keyspace::blob_piece(key, 0))? {
        None => Ok(Own::Nothing),
        Some(first) if is_gone(Space::Blobs, &first) => Ok(Own::Gone),
        Some(first) => put_together(snapshot, key, &first, read).map(Own::Entry),
    }
}

/// What there is of an entry, without reading it.
pub(crate) fn own(snapshot: &dyn SubstrateState, key: BlobKey) -> Result<Own<()>> {
    Ok(match snapshot.get(Space::Blobs, &keyspace::blob_piece(key, 0))? {
        None => Own::Nothing,
        Some(first) if is_gone(Space::Blobs, &first) => Own::Gone,
        Some(_) => Own::Entry(()),
    })
}

/// Hands an entry with this first piece to `read`.
fn put_together<T>(
    snapshot: &dyn SubstrateState,
    key: BlobKey,
    first: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    let damaged = || StoreError::corrupt(format!("blob {}: a piece of it", key.blob));
    let mut reader = Reader::new(first);
    let total = reader.varint().ok().and_then(|total| usize::try_from(total).ok());
    let total = total.filter(|total| *total <= ENTRY_BYTES_MAX).ok_or_else(damaged)?;
    let head = reader.rest();
    if head.len() == total {
        return read(head);
    }
    let mut entry = Vec::with_capacity(total);
    for (number, bytes) in (0..).zip(full_pieces(total)) {
        let piece = snapshot.get(Space::BlobPages, &keyspace::blob_piece(key, number))?;
        entry.extend_from_slice(&piece.filter(|piece| piece.len() == bytes).ok_or_else(damaged)?);
    }
    entry.extend_from_slice(head);
    for number in 1..=u8::MAX {
        if entry.len() >= total {
            break;
        }
        let piece = snapshot.get(Space::Blobs, &keyspace::blob_piece(key, number))?;
        entry.extend_from_slice(&piece.ok_or_else(damaged)?);
    }
    if entry.len() != total {
        return Err(damaged());
    }
    read(&entry)
}

/// Notes of an entry that a pack has that it is gone.
pub(super) fn put_gone(key: BlobKey, batch: &mut WriteBatch) {
    batch.put(Space::Blobs, keyspace::blob_piece(key, 0).to_vec(), GONE.to_vec());
}

/// Whether a value says that an entry is gone.
pub(crate) fn is_gone(space: Space, value: &[u8]) -> bool {
    space == Space::Blobs && value == GONE
}

/// Deletes one entry.
pub(crate) fn delete_entry(
    snapshot: &dyn SubstrateState,
    key: BlobKey,
    batch: &mut WriteBatch,
) -> Result<()> {
    delete_between(snapshot, key, key, batch)
}

/// Deletes all entries from one to another.
pub(super) fn delete_between(
    snapshot: &dyn SubstrateState,
    first: BlobKey,
    last: BlobKey,
    batch: &mut WriteBatch,
) -> Result<()> {
    let (first, last) = (keyspace::blob_piece(first, 0), keyspace::blob_piece(last, u8::MAX));
    let span = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    for space in [Space::Blobs, Space::BlobPages] {
        for entry in snapshot.scan(space, span, Direction::Forward)? {
            batch.delete(space, entry?.0.to_vec());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::substrate::{Durability, MemorySubstrate, Substrate};

    #[test]
    fn entries_of_all_lengths_come_back_and_go_as_a_whole() {
        let substrate = MemorySubstrate::new();
        let around = FULL_BYTES.into_iter().chain([SMALL_BYTES, 2 * SMALL_BYTES, 20_000, 40_000, 64_000]);
        let lengths: Vec<usize> = around.flat_map(|bytes| bytes - 2..=bytes + 2).chain(1..3).collect();
        for length in lengths {
            let key = BlobKey { blob: 7, part: 1, chunk: 3 };
            let entry: Vec<u8> = (0..length).map(|place| (place / 3) as u8).collect();
            let mut batch = WriteBatch::new();
            put(key, &entry, &mut batch);
            put(BlobKey { blob: 8, ..key }, b"another", &mut batch);
            substrate.write(batch, Durability::Durable).expect("write");
            let snapshot = substrate.snapshot().expect("snapshot");
            let found = read(&*snapshot, key, |bytes| Ok(bytes.to_vec())).expect("read");
            assert!(found.entry().as_deref() == Some(&entry[..]), "{length} bytes");
            let mut batch = WriteBatch::new();
            delete_entry(&*snapshot, key, &mut batch).expect("delete");
            substrate.write(batch, Durability::Durable).expect("write");
            let snapshot = substrate.snapshot().expect("snapshot");
            let count = |space| {
                snapshot.scan(space, crate::substrate::ALL_KEYS, Direction::Forward).expect("scan").count()
            };
            assert_eq!((count(Space::Blobs), count(Space::BlobPages)), (1, 0), "{length} bytes");
        }
    }

    #[test]
    fn a_missing_piece_is_damage() {
        let substrate = MemorySubstrate::new();
        let key = BlobKey { blob: 7, part: 0, chunk: 0 };
        let mut batch = WriteBatch::new();
        put(key, &[1; 7_000], &mut batch);
        batch.delete(Space::BlobPages, keyspace::blob_piece(key, 0).to_vec());
        substrate.write(batch, Durability::Durable).expect("write");
        let snapshot = substrate.snapshot().expect("snapshot");
        assert!(matches!(read(&*snapshot, key, |_| Ok(())), Err(StoreError::Corrupt { .. })));
    }
}
