//! Writing a BLOB.

use farbird_record::bytes::put_varint;
use farbird_types::BlobId;

use super::{
    BlobKey, BlobOptions, BlobProperties, CHUNK_BYTES, CHUNK_BYTES_MAX, Contents, Header, Inline, Layout,
    PART_CONTENTS, PART_SEGMENTS, SegmentList, best_chunk_bytes, encode_chunk,
};
use crate::{Result, StoreError, Transaction};

/// A BLOB while it is written. Holds no lock; the transaction is named in each call, so that writers can be kept beside it.
/// Until it is closed it cannot be read; what is neither closed nor cancelled goes with the transaction.
#[derive(Debug)]
pub struct BlobWriter {
    blob: u64,
    properties: BlobProperties,
    contents: Chunks,
    list: Chunks,
    /// Length of all segments until now, if it is the same.
    common_length: Option<u64>,
    /// A segment shorter than the common length was written: none may follow.
    common_length_ended: bool,
}

/// Bytes cut into chunks, the last one still growing.
#[derive(Debug)]
struct Chunks {
    part: u8,
    /// How many bytes are a chunk; `None` until there are enough to decide.
    chunk_bytes: Option<usize>,
    written: u32,
    open: Vec<u8>,
}

impl Chunks {
    fn new(part: u8, chunk_bytes: Option<usize>) -> Chunks {
        Chunks { part, chunk_bytes, written: 0, open: Vec::new() }
    }

    fn push(&mut self, transaction: &Transaction, blob: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let room = self.chunk_bytes.unwrap_or(CHUNK_BYTES_MAX) - self.open.len();
            let (head, tail) = bytes.split_at(bytes.len().min(room));
            self.open.extend_from_slice(head);
            bytes = tail;
            if self.open.len() == self.chunk_bytes.unwrap_or(CHUNK_BYTES_MAX) {
                self.flush(transaction, blob)?;
            }
        }
        Ok(())
    }

    /// Writes what is there, in chunks; less than one may stay.
    fn flush(&mut self, transaction: &Transaction, blob: u64) -> Result<()> {
        let chunk_bytes = *self.chunk_bytes.get_or_insert_with(|| best_chunk_bytes(&self.open));
        while self.open.len() >= chunk_bytes {
            self.write_chunk(transaction, blob, chunk_bytes)?;
        }
        Ok(())
    }

    /// Writes all that is left.
    fn finish(&mut self, transaction: &Transaction, blob: u64) -> Result<()> {
        self.flush(transaction, blob)?;
        match self.open.len() {
            0 => Ok(()),
            rest => self.write_chunk(transaction, blob, rest),
        }
    }

    /// Writes the first so many bytes as a chunk.
    fn write_chunk(&mut self, transaction: &Transaction, blob: u64, bytes: usize) -> Result<()> {
        let key = BlobKey { blob, part: self.part, chunk: self.written };
        self.written =
            self.written.checked_add(1).ok_or(StoreError::BlobMisuse("longer than a blob may be"))?;
        let value = encode_chunk(self.open.get(..bytes).unwrap_or_default());
        self.open.drain(..bytes);
        transaction.core()?.blobs.put(&transaction.store().inner, key, value)
    }
}

impl Transaction {
    /// Begins a BLOB.
    pub fn create_blob(&self, options: BlobOptions) -> Result<BlobWriter> {
        let blob = self.store().inner.blob_numbers.next(&self.store().inner)?;
        self.core()?.blobs.begin(blob);
        Ok(BlobWriter {
            blob,
            properties: BlobProperties { options, ..BlobProperties::default() },
            contents: Chunks::new(PART_CONTENTS, None),
            list: Chunks::new(PART_SEGMENTS, Some(CHUNK_BYTES)),
            common_length: None,
            common_length_ended: false,
        })
    }
}

impl BlobWriter {
    /// The id that it will have; rows can refer to it once it is closed.
    pub fn id(&self) -> BlobId {
        BlobId(self.blob)
    }

    /// What has been written until now.
    pub fn properties(&self) -> BlobProperties {
        self.properties
    }

    /// Appends a segment (of a stream: just bytes).
    pub fn write_segment(&mut self, transaction: &Transaction, bytes: &[u8]) -> Result<()> {
        self.begin_segment(transaction, bytes)?;
        self.end_segment(transaction, bytes.len() as u64)
    }

    /// Appends a part of a segment, which takes any number of them and then [`BlobWriter::end_segment`].
    pub(crate) fn begin_segment(&mut self, transaction: &Transaction, part: &[u8]) -> Result<()> {
        self.contents.push(transaction, self.blob, part)
    }

    /// Ends a segment of `length` bytes in all its parts.
    pub(crate) fn end_segment(&mut self, transaction: &Transaction, length: u64) -> Result<()> {
        if !self.properties.options.stream {
            let mut item = Vec::new();
            put_varint(length, &mut item);
            self.list.push(transaction, self.blob, &item)?;
            match self.common_length {
                None => self.common_length = Some(length),
                Some(common) if self.common_length_ended || length > common || common == 0 => {
                    self.common_length = Some(0);
                }
                Some(common) => self.common_length_ended = length < common,
            }
        }
        self.properties.bytes += length;
        self.properties.segments += 1;
        self.properties.segment_bytes_max = self.properties.segment_bytes_max.max(length);
        Ok(())
    }

    /// Ends it. It lives as long as the transaction, or as the row that takes it.
    pub fn close(mut self, transaction: &Transaction) -> Result<BlobId> {
        let segment_list = match self.common_length {
            None => SegmentList::Single,
            Some(_) if self.properties.segments == 1 => SegmentList::Single,
            Some(0) => SegmentList::Listed,
            Some(common) => SegmentList::Uniform(common),
        };
        if segment_list != SegmentList::Listed {
            self.list.open.clear();
        }
        let is_all_here = self.contents.written == 0 && self.list.written == 0;
        let inline = is_all_here.then(|| Inline::of(&self.list.open, &self.contents.open)).flatten();
        if inline.is_none() {
            self.contents.finish(transaction, self.blob)?;
            self.list.finish(transaction, self.blob)?;
        }
        let chunk_bytes = self.contents.chunk_bytes.unwrap_or(CHUNK_BYTES);
        let contents = Contents::Own(Layout { segment_list, chunk_bytes, inline });
        let header = Header { properties: self.properties, contents };
        let mut core = transaction.core()?;
        core.blobs.put(&transaction.store().inner, BlobKey::header(self.blob), header.encode())?;
        core.blobs.close(self.blob);
        Ok(BlobId(self.blob))
    }

    /// Drops what was written.
    pub fn cancel(self, transaction: &Transaction) -> Result<()> {
        transaction.core()?.blobs.cancel(&transaction.store().inner, self.blob)
    }
}
