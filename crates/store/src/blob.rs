//! BLOBs: contents too large for a row, written and read in segments or as a stream.

use farbird_types::{BlobId, CharacterSet};

use crate::{Result, Transaction};

/// How a BLOB is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlobOptions {
    /// A stream (seekable, segment boundaries are not kept) rather than segmented.
    pub stream: bool,
    /// Its subtype: 0 binary, 1 text.
    pub subtype: i16,
    /// Character set of its text.
    pub character_set: CharacterSet,
}

/// What is known of a BLOB without reading it (isc_info_blob_*).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlobProperties {
    /// How it was created.
    pub options: BlobOptions,
    /// Number of segments.
    pub segments: u64,
    /// The longest segment in bytes.
    pub segment_bytes_max: u64,
    /// All bytes.
    pub bytes: u64,
}

/// A BLOB while it is written. Dropping it cancels it.
///
/// A value that borrows nothing: the engine keeps it between two calls of its client, so each call is handed the
/// transaction again (as with [`BlobReader`]). (Note of the lead: the engine's facade is built on this shape.)
#[derive(Debug)]
pub struct BlobWriter {
    id: BlobId,
}

impl BlobWriter {
    /// The id that it will have; rows can refer to it once it is closed.
    pub fn id(&self) -> BlobId {
        self.id
    }

    /// Appends a segment (of a stream: just bytes).
    pub fn write_segment(&mut self, transaction: &Transaction, bytes: &[u8]) -> Result<()> {
        let _ = (bytes, transaction);
        unimplemented!()
    }

    /// Ends it. It lives as long as the transaction, or as the row that takes it.
    pub fn close(self, transaction: &Transaction) -> Result<BlobId> {
        let _ = transaction;
        unimplemented!()
    }

    /// Drops what was written.
    pub fn cancel(self, transaction: &Transaction) {
        let _ = transaction;
    }
}

/// What a [`BlobReader::read_segment`] gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentRead {
    /// The segment's end was reached.
    Complete,
    /// The segment goes on: the next read continues it (isc_segment).
    Incomplete,
    /// There are no more segments; nothing was read (isc_segstr_eof).
    End,
}

/// Where a seek counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekFrom {
    /// The beginning.
    Start,
    /// The place of the next read.
    Current,
    /// The end.
    End,
}

/// An open BLOB. A value that holds no lock and no substrate snapshot between calls.
#[derive(Debug)]
pub struct BlobReader {
    properties: BlobProperties,
}

impl BlobReader {
    /// What is known of it.
    pub fn properties(&self) -> BlobProperties {
        self.properties
    }

    /// Appends the rest of the current segment to `out`, or begins the next one; at most `bytes_max` bytes.
    /// For a stream, bytes as they come.
    pub fn read_segment(
        &mut self,
        transaction: &Transaction,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<SegmentRead> {
        let _ = (transaction, bytes_max, out);
        unimplemented!()
    }

    /// Moves within a stream; gives the new place, counted from the beginning.
    pub fn seek(&mut self, from: SeekFrom, offset: i64) -> Result<u64> {
        let _ = (from, offset);
        unimplemented!()
    }

    /// Reads everything from the beginning, whatever its segments.
    ///
    /// # Errors
    /// `BlobMisuse` if it is longer than `bytes_max`.
    pub fn read_all(&mut self, transaction: &Transaction, bytes_max: u64) -> Result<Vec<u8>> {
        let _ = (transaction, bytes_max);
        unimplemented!()
    }
}
