//! The entries of BLOBs, wherever they stand: alone, as [`pieces`], or in [`packs`].

use super::{BlobKey, PART_HEADER, PART_SEGMENTS, packs, pieces};
use crate::Result;
use crate::substrate::{SubstrateState, WriteBatch};

/// Hands an entry to `read`; `None` if there is no such entry.
///
/// # Errors
/// `Corrupt` if some of it is missing or damaged.
pub(crate) fn read<T>(
    snapshot: &dyn SubstrateState,
    key: BlobKey,
    read: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<Option<T>> {
    // Whoever finds nothing here has not called `read`.
    let mut read = Some(read);
    let found = pieces::read(snapshot, key, |entry| read.take().map(|read| read(entry)).transpose())?;
    match (found, read) {
        (pieces::Own::Entry(read), _) => Ok(read),
        (pieces::Own::Nothing, Some(read)) if key.part == PART_HEADER => {
            packs::read(snapshot, key.blob, read)
        }
        _ => Ok(None),
    }
}

/// Deletes all entries of a BLOB.
pub(crate) fn delete_all(snapshot: &dyn SubstrateState, blob: u64, batch: &mut WriteBatch) -> Result<()> {
    let first = BlobKey { blob, part: PART_HEADER, chunk: 0 };
    let last = BlobKey { part: PART_SEGMENTS, chunk: u32::MAX, ..first };
    pieces::delete_between(snapshot, first, last, batch)?;
    packs::delete(snapshot, blob, batch)
}
