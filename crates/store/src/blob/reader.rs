//! Reading a BLOB.

use farbird_record::bytes::Reader;
use farbird_types::BlobId;

use super::{
    BlobKey, BlobProperties, CHUNK_BYTES_MAX, Contents, Header, Layout, PART_CONTENTS, PART_SEGMENTS,
    SegmentList, damaged, decode_chunk, entries, unpack,
};
use crate::substrate::SubstrateState;
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
    /// The BLOB that the contents belong to.
    owner: u64,
    properties: BlobProperties,
    segment_list: SegmentList,
    source: Source,
    position: u64,
    /// What is left of the segment begun.
    segment_left: Option<u64>,
    segments_read: u64,
    list: ListCursor,
    /// The chunk of the contents read last.
    chunk: Option<(u32, Vec<u8>)>,
}

/// Where chunks of the contents come from.
#[derive(Debug)]
enum Source {
    /// The only chunk, from the header, as it is stored.
    Inline(Vec<u8>),
    /// Entries of so many bytes.
    Chunks(usize),
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
        let snapshot = self.store().inner.snapshot();
        let header = |blob: u64| {
            self.blob_entry(&*snapshot, BlobKey::header(blob), |entry| Header::decode(blob, entry))
        };
        let Header { properties, contents } = header(id.0)?.ok_or(StoreError::NoSuchBlob)?;
        let (owner, contents) = match contents {
            Contents::Own(layout) => (id.0, Some(layout)),
            Contents::Of(owner) => match header(owner)?.map(|owned| owned.contents) {
                Some(Contents::Own(layout)) => (owner, Some(layout)),
                _ => (owner, None),
            },
        };
        let Some(Layout { segment_list, chunk_bytes, inline }) = contents else {
            return Err(StoreError::corrupt(format!("blob {}: its contents, those of blob {owner}", id.0)));
        };
        let (source, list) = match inline {
            Some(inline) => (Source::Inline(inline.packed), inline.list),
            None => (Source::Chunks(chunk_bytes), Vec::new()),
        };
        Ok(BlobReader {
            owner,
            properties,
            segment_list,
            source,
            position: 0,
            segment_left: None,
            segments_read: 0,
            list: ListCursor { bytes: list, ..ListCursor::default() },
            chunk: None,
        })
    }

    fn blob_entry<T>(
        &self,
        snapshot: &dyn SubstrateState,
        key: BlobKey,
        read: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        if let Some(own) = self.core()?.blobs.entry(key) {
            return read(&own).map(Some);
        }
        entries::read(snapshot, key, read)
    }

    fn chunk_of_blob(&self, key: BlobKey) -> Result<Option<Vec<u8>>> {
        let snapshot = self.store().inner.snapshot();
        self.blob_entry(&*snapshot, key, |entry| decode_chunk(key.blob, entry))
    }
}

impl BlobReader {
    /// What is known of it.
    pub fn properties(&self) -> BlobProperties {
        self.properties
    }

    /// The BLOB whose contents are read: itself, or the one that it shares them with.
    pub(crate) fn contents_owner(&self) -> BlobId {
        BlobId(self.owner)
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
        if self.properties.options.stream {
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
        let properties = &self.properties;
        let rest = properties.bytes.saturating_sub(self.position);
        if properties.options.stream {
            return Ok((rest > 0).then_some(rest));
        }
        if self.segments_read >= properties.segments {
            return Ok(None);
        }
        self.segments_read += 1;
        let length = match self.segment_list {
            SegmentList::Single => rest,
            SegmentList::Uniform(length) if self.segments_read < properties.segments => length,
            SegmentList::Uniform(_) => rest,
            SegmentList::Listed => self.next_listed(transaction)?,
        };
        if length > rest {
            return Err(damaged(self.owner));
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
            let key = BlobKey { blob: self.owner, part: PART_SEGMENTS, chunk: self.list.chunk };
            let more = transaction.chunk_of_blob(key)?.ok_or_else(|| damaged(self.owner))?;
            self.list.bytes.drain(..self.list.consumed);
            self.list.consumed = 0;
            self.list.bytes.extend_from_slice(&more);
            self.list.chunk += 1;
        }
    }

    /// Appends the next `count` bytes, which the BLOB has.
    fn read_contents(&mut self, transaction: &Transaction, mut count: u64, out: &mut Vec<u8>) -> Result<()> {
        let chunk_bytes = match self.source {
            Source::Inline(_) => CHUNK_BYTES_MAX as u64,
            Source::Chunks(bytes) => bytes as u64,
        };
        while count > 0 {
            transaction.cancel_flag().check()?;
            let number = u32::try_from(self.position / chunk_bytes).map_err(|_| damaged(self.owner))?;
            let start = (self.position % chunk_bytes) as usize;
            let chunk = self.contents_chunk(transaction, number)?;
            let available = chunk.get(start..).unwrap_or_default();
            let take = available.len().min(usize::try_from(count).unwrap_or(usize::MAX));
            if take == 0 {
                return Err(damaged(self.owner));
            }
            out.extend_from_slice(&available[..take]);
            self.position += take as u64;
            count -= take as u64;
        }
        Ok(())
    }

    fn contents_chunk(&mut self, transaction: &Transaction, number: u32) -> Result<&[u8]> {
        if self.chunk.as_ref().is_none_or(|(held, _)| *held != number) {
            let bytes = match &self.source {
                Source::Inline(packed) => unpack(self.owner, packed)?,
                Source::Chunks(_) => {
                    let key = BlobKey { blob: self.owner, part: PART_CONTENTS, chunk: number };
                    // Its row was deleted and swept while it was open.
                    transaction.chunk_of_blob(key)?.ok_or(StoreError::NoSuchBlob)?
                }
            };
            self.chunk = Some((number, bytes));
        }
        Ok(self.chunk.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default())
    }

    /// The same BLOB read as a stream: bytes as they come, whatever its segments.
    #[must_use]
    pub fn as_stream(mut self) -> BlobReader {
        self.properties.options.stream = true;
        self.segment_left = None;
        self
    }

    /// Moves within a stream; gives the new place, counted from the beginning. Places outside become the nearest end.
    ///
    /// # Errors
    /// `BlobMisuse` for a segmented BLOB.
    pub fn seek(&mut self, from: SeekFrom, offset: i64) -> Result<u64> {
        if !self.properties.options.stream {
            return Err(StoreError::BlobMisuse("seek in a segmented blob"));
        }
        let base = match from {
            SeekFrom::Start => 0,
            SeekFrom::Current => self.position,
            SeekFrom::End => self.properties.bytes,
        };
        self.position = base.saturating_add_signed(offset).min(self.properties.bytes);
        Ok(self.position)
    }

    /// Reads everything from the beginning, whatever its segments.
    ///
    /// # Errors
    /// `BlobMisuse` if it is longer than `bytes_max`.
    pub fn read_all(&mut self, transaction: &Transaction, bytes_max: u64) -> Result<Vec<u8>> {
        let bytes = self.properties.bytes;
        if bytes > bytes_max {
            return Err(StoreError::BlobMisuse("longer than asked for"));
        }
        let mut out = Vec::new();
        self.position = 0;
        self.read_contents(transaction, bytes, &mut out)?;
        Ok(out)
    }
}
