//! Reading a BLOB.

use farbird_record::bytes::Reader;
use farbird_types::BlobId;

use super::{
    BlobKey, BlobProperties, Header, Inline, PART_CONTENTS, PART_HEADER, PART_SEGMENTS, SegmentList, damaged,
    decode_chunk,
};
use crate::substrate::Space;
use crate::{Result, StoreError, Transaction};

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
    blob: u64,
    header: Header,
    position: u64,
    /// What is left of the segment begun.
    segment_left: Option<u64>,
    segments_read: u64,
    list: ListCursor,
    /// The chunk of the contents read last.
    chunk: Option<(u32, Vec<u8>)>,
}

/// A place in the segment list.
#[derive(Debug, Default)]
struct ListCursor {
    chunk: u32,
    /// The part of the chunk before not consumed, then this chunk's.
    bytes: Vec<u8>,
    consumed: usize,
}

impl Transaction {
    /// Opens a BLOB for reading: a committed one, or one that this transaction has closed.
    pub fn open_blob(&self, id: BlobId) -> Result<BlobReader> {
        if self.core()?.blobs.is_readable(id.0) == Some(false) {
            return Err(StoreError::NoSuchBlob);
        }
        let key = BlobKey { blob: id.0, part: PART_HEADER, chunk: 0 };
        let header =
            self.blob_entry(key, |value| Header::decode(id.0, value))?.ok_or(StoreError::NoSuchBlob)?;
        let list = match &header.inline {
            Some(inline) => ListCursor { bytes: inline.list.clone(), ..ListCursor::default() },
            None => ListCursor::default(),
        };
        Ok(BlobReader {
            blob: id.0,
            header,
            position: 0,
            segment_left: None,
            segments_read: 0,
            list,
            chunk: None,
        })
    }

    fn blob_entry<T>(&self, key: BlobKey, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
        if let Some(own) = self.core()?.blobs.entry(key) {
            return read(&own).map(Some);
        }
        let snapshot = self.store().inner.snapshot();
        match snapshot.get(Space::Blobs, &crate::keyspace::blob(key))? {
            Some(value) => read(&value).map(Some),
            None => Ok(None),
        }
    }
}

impl BlobReader {
    /// What is known of it.
    pub fn properties(&self) -> BlobProperties {
        self.header.properties
    }

    /// Appends the rest of the current segment to `out`, or begins the next one; at most `bytes_max` bytes.
    /// For a stream, bytes as they come.
    pub fn read_segment(
        &mut self,
        transaction: &Transaction,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<SegmentRead> {
        let left = match self.segment_left {
            Some(left) => left,
            None => match self.next_segment(transaction)? {
                Some(length) => length,
                None => return Ok(SegmentRead::End),
            },
        };
        let count = left.min(bytes_max as u64);
        self.read_contents(transaction, count, out)?;
        if self.header.properties.options.stream {
            self.segment_left = None;
            return Ok(SegmentRead::Complete);
        }
        match left - count {
            0 => {
                self.segment_left = None;
                Ok(SegmentRead::Complete)
            }
            rest => {
                self.segment_left = Some(rest);
                Ok(SegmentRead::Incomplete)
            }
        }
    }

    /// Length of the segment that comes next.
    fn next_segment(&mut self, transaction: &Transaction) -> Result<Option<u64>> {
        let properties = &self.header.properties;
        let rest = properties.bytes.saturating_sub(self.position);
        if properties.options.stream {
            return Ok((rest > 0).then_some(rest));
        }
        if self.segments_read >= properties.segments {
            return Ok(None);
        }
        self.segments_read += 1;
        let length = match self.header.segment_list {
            SegmentList::Single => rest,
            SegmentList::Uniform(length) if self.segments_read < properties.segments => length,
            SegmentList::Uniform(_) => rest,
            SegmentList::Listed => self.next_listed(transaction)?,
        };
        if length > rest {
            return Err(damaged(self.blob));
        }
        Ok(Some(length))
    }

    fn next_listed(&mut self, transaction: &Transaction) -> Result<u64> {
        loop {
            let mut reader = Reader::new(self.list.bytes.get(self.list.consumed..).unwrap_or_default());
            if let Ok(length) = reader.varint() {
                self.list.consumed += reader.offset();
                return Ok(length);
            }
            let key = BlobKey { blob: self.blob, part: PART_SEGMENTS, chunk: self.list.chunk };
            let more = transaction.blob_entry(key, |value| decode_chunk(self.blob, value))?;
            let more = more.ok_or_else(|| damaged(self.blob))?;
            self.list.bytes.drain(..self.list.consumed);
            self.list.consumed = 0;
            self.list.bytes.extend_from_slice(&more);
            self.list.chunk += 1;
        }
    }

    /// Appends the next `count` bytes, which the BLOB has.
    fn read_contents(&mut self, transaction: &Transaction, mut count: u64, out: &mut Vec<u8>) -> Result<()> {
        if let Some(Inline { contents, .. }) = &self.header.inline {
            let piece = usize::try_from(self.position)
                .ok()
                .zip(usize::try_from(count).ok())
                .and_then(|(start, count)| contents.get(start..start.checked_add(count)?))
                .ok_or_else(|| damaged(self.blob))?;
            out.extend_from_slice(piece);
            self.position += count;
            return Ok(());
        }
        while count > 0 {
            let chunk_bytes = self.header.chunk_bytes as u64;
            let number = u32::try_from(self.position / chunk_bytes).map_err(|_| damaged(self.blob))?;
            let start = (self.position % chunk_bytes) as usize;
            let chunk = self.contents_chunk(transaction, number)?;
            let available = chunk.get(start..).unwrap_or_default();
            let take = available.len().min(usize::try_from(count).unwrap_or(usize::MAX));
            if take == 0 {
                return Err(damaged(self.blob));
            }
            out.extend_from_slice(&available[..take]);
            self.position += take as u64;
            count -= take as u64;
        }
        Ok(())
    }

    fn contents_chunk(&mut self, transaction: &Transaction, number: u32) -> Result<&[u8]> {
        if self.chunk.as_ref().is_none_or(|(held, _)| *held != number) {
            let key = BlobKey { blob: self.blob, part: PART_CONTENTS, chunk: number };
            let bytes = transaction.blob_entry(key, |value| decode_chunk(self.blob, value))?;
            // Its row was deleted and swept while it was open.
            self.chunk = Some((number, bytes.ok_or(StoreError::NoSuchBlob)?));
        }
        Ok(self.chunk.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default())
    }

    /// The same BLOB read as a stream: bytes as they come, whatever its segments.
    #[must_use]
    pub fn as_stream(mut self) -> BlobReader {
        self.header.properties.options.stream = true;
        self.segment_left = None;
        self
    }

    /// Moves within a stream; gives the new place, counted from the beginning. Places outside become the nearest end.
    ///
    /// # Errors
    /// `BlobMisuse` for a segmented BLOB.
    pub fn seek(&mut self, from: SeekFrom, offset: i64) -> Result<u64> {
        if !self.header.properties.options.stream {
            return Err(StoreError::BlobMisuse("seek in a segmented blob"));
        }
        let base = match from {
            SeekFrom::Start => 0,
            SeekFrom::Current => self.position,
            SeekFrom::End => self.header.properties.bytes,
        };
        self.position = base.saturating_add_signed(offset).min(self.header.properties.bytes);
        Ok(self.position)
    }

    /// Reads everything from the beginning, whatever its segments.
    ///
    /// # Errors
    /// `BlobMisuse` if it is longer than `bytes_max`.
    pub fn read_all(&mut self, transaction: &Transaction, bytes_max: u64) -> Result<Vec<u8>> {
        let bytes = self.header.properties.bytes;
        if bytes > bytes_max {
            return Err(StoreError::BlobMisuse("longer than asked for"));
        }
        let mut out = Vec::new();
        self.position = 0;
        self.read_contents(transaction, bytes, &mut out)?;
        Ok(out)
    }
}
