//! What the images of a row, dead and alive, refer to: index entries and BLOBs.

use std::collections::HashSet;

use farbird_record::ColumnSet;
use farbird_record::value_codec::decode_row;
use farbird_types::{BlobId, Value};

use crate::block::Block;
use crate::decoder::{RowDecoder, damaged_row};
use crate::substrate::{Slice, Space, WriteBatch};
use crate::version::{StoredVersion, VersionContent};
use crate::{RelationLayout, Result, RowId};

/// Deletes the index entries that only dead images of a row have.
pub(super) fn forget_entries(
    layout: &RelationLayout,
    row: RowId,
    dead: &[Vec<Value>],
    alive: &[Vec<Value>],
    batch: &mut WriteBatch,
) {
    for index in layout.indexes.iter().filter(|index| index.active) {
        // An entry too many is only a hint that leads nowhere: not worth failing for an expression that does.
        let keys = |images: &[Vec<Value>]| -> HashSet<Vec<u8>> {
            images
                .iter()
                .filter_map(|image| index.key(image).ok().flatten())
                .map(|key| key.entry(row))
                .collect()
        };
        let alive = keys(alive);
        for entry in keys(dead).difference(&alive) {
            batch.delete(Space::Index(index.id), entry.clone());
        }
    }
}

/// The values that a stored version has, or `None` if it is a deletion.
pub(super) fn image_of_version(
    decoder: &RowDecoder<'_>,
    row: RowId,
    value: &[u8],
) -> Result<Option<Vec<Value>>> {
    let VersionContent::Row { format, bytes } = StoredVersion::decode(value, row)?.content else {
        return Ok(None);
    };
    let mut values = Vec::new();
    decoder.decode(row, format, bytes, &mut values)?;
    Ok(Some(values))
}

/// Appends the BLOBs that a version refers to.
pub(crate) fn blobs_of_version(
    layout: &RelationLayout,
    row: RowId,
    value: &[u8],
    blobs: &mut Vec<BlobId>,
) -> Result<()> {
    let VersionContent::Row { format, bytes } = StoredVersion::decode(value, row)?.content else {
        return Ok(());
    };
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
