//! Rows of a backup between the thread that reads it and the one that fills the store.

use std::sync::Arc;

use farbird_store::BlobOptions;

use super::columns::Table;
use crate::function::array::ArrayContents;

/// A batch of more bytes or items takes no more.
const BATCH_BYTES: usize = 256 << 10;
const BATCH_ITEMS: usize = 8 << 10;

/// A stretch of the rows of a table, with what belongs to them.
pub(super) struct Batch {
    pub(super) table: Arc<Table>,
    /// Of rows and segments, one after the other.
    pub(super) bytes: Vec<u8>,
    pub(super) items: Vec<Item>,
    /// Bytes beside these.
    other_bytes: usize,
    /// Whether the table ends with it. If not, its last row may go on in the next one.
    pub(super) ends_table: bool,
}

/// What comes next. BLOBs and arrays belong to the row before them.
pub(super) enum Item {
    /// The next bytes, up to this place. `at`: where the row ends in the backup.
    Row {
        end: usize,
        at: u64,
    },
    /// A BLOB of a column, by its slot.
    Blob {
        slot: usize,
        options: BlobOptions,
    },
    /// The next bytes, up to this place, are a segment of it.
    Segment {
        end: usize,
    },
    BlobEnd,
    /// An array of a column, by its slot.
    Array {
        slot: usize,
        contents: Box<ArrayContents>,
    },
}

impl Batch {
    pub(super) fn new(table: &Arc<Table>) -> Batch {
        let bytes = Vec::with_capacity(BATCH_BYTES);
        Batch { table: Arc::clone(table), bytes, items: Vec::new(), other_bytes: 0, ends_table: false }
    }

    /// Adds an array that has so many bytes in the backup.
    pub(super) fn push_array(&mut self, slot: usize, contents: ArrayContents, bytes: usize) {
        self.items.push(Item::Array { slot, contents: Box::new(contents) });
        self.other_bytes = self.other_bytes.saturating_add(bytes);
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes.len().saturating_add(self.other_bytes) >= BATCH_BYTES || self.items.len() >= BATCH_ITEMS
    }
}
