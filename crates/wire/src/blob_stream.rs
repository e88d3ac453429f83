//! Blob streams of the batch API: blobs sent one behind the other, in portions cut anywhere.
//!
//! A portion counts bytes of the client's memory, not of the wire: alignment gaps are counted but not sent, and the
//! two bytes of a segment's length travel as a word. A header is never cut: if less than a header's bytes are left
//! they are counted and not sent, and the next portion begins with the whole header.
//!
//! Uses [`crate::xdr`]. Source: wire-protocol.md, 6.11; FirebirdSQL/firebird `src/remote/protocol.cpp`,
//! `xdr_blob_stream` (alignment is relative to the portion, whose length is a multiple of it).

use farbird_types::BlobId;

use crate::xdr::{DecodeError, Reader, Stop, Writer};

/// Bytes of a blob header in the stream.
pub const HEADER_BYTES: u32 = 16;
/// What blobs and portions are aligned to.
pub const ALIGNMENT: u32 = 4;
/// What the length of a segment is aligned to.
const SEGMENT_ALIGNMENT: u32 = 2;
/// Longest blob parameter block inside a stream.
pub const BPB_BYTES_MAX: u32 = 65_535;

/// One thing in a blob stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobStreamItem {
    /// A blob begins; whatever blob came before is complete.
    Header {
        /// The id by which messages of the batch refer to it.
        id: BlobId,
        /// Bytes that follow: BPB, data, lengths of segments, gaps between segments.
        length: u32,
        /// Bytes of them that are the BPB.
        bpb_length: u32,
    },
    /// Some or all of the BPB.
    Bpb(Vec<u8>),
    /// A segment of this length begins (segmented blobs only).
    Segment(u16),
    /// Some or all of the segment, or of a stream blob.
    Data(Vec<u8>),
}

/// A portion of a blob stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobStreamPortion {
    /// Length as counted in memory.
    pub length: u32,
    /// What it holds.
    pub items: Vec<BlobStreamItem>,
}

/// Where in its blobs a stream stands between two portions.
///
/// At its start, and until op_batch_set_bpb says otherwise, a blob without a BPB of its own is a stream blob.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlobStreamState {
    blob_left: u32,
    bpb_left: u32,
    segment_left: u32,
    segmented: bool,
    segmented_by_default: bool,
    bpb: Vec<u8>,
}

/// Whether a blob with this parameter block is segmented, which it is unless the block says stream.
///
/// # Errors
/// [`DecodeError`] for a damaged block.
pub fn is_segmented(bpb: &[u8]) -> Result<bool, DecodeError> {
    const VERSION1: u8 = 1;
    const TYPE: u8 = 3;
    const TYPE_STREAM: u8 = 1;
    let Some((version, mut rest)) = bpb.split_first() else { return Ok(true) };
    if *version != VERSION1 {
        return Err(DecodeError::BadValue { offset: 0, value: u32::from(*version) });
    }
    let mut segmented = true;
    while let Some((tag, after)) = rest.split_first() {
        let truncated = DecodeError::Truncated { offset: bpb.len() - rest.len() };
        let (length, after) = after.split_first().ok_or(truncated)?;
        let (value, after) = after.split_at_checked(usize::from(*length)).ok_or(truncated)?;
        if *tag == TYPE {
            segmented = value.first().copied().unwrap_or_default() & TYPE_STREAM == 0;
        }
        rest = after;
    }
    Ok(segmented)
}

/// A portion read so far. A large one comes in many pieces; what was read of it is not read again.
#[derive(Debug)]
pub(crate) struct PortionProgress {
    length: u32,
    left: u32,
    state: BlobStreamState,
    items: Vec<BlobStreamItem>,
    /// Bytes of the wire behind the length word.
    wire_bytes: usize,
}

impl PortionProgress {
    fn position(&self) -> u32 {
        self.length - self.left
    }

    /// Counts `step` bytes of the blob.
    fn advance(&mut self, step: u32) -> Result<(), DecodeError> {
        let offset = self.position() as usize;
        let short = DecodeError::Truncated { offset };
        self.left = self.left.checked_sub(step).ok_or(short)?;
        self.state.blob_left = self.state.blob_left.checked_sub(step).ok_or(short)?;
        Ok(())
    }

    /// Reads one item whole, or changes nothing and wants more bytes.
    fn read_item(&mut self, reader: &mut Reader<'_>) -> Result<Option<BlobStreamItem>, Stop> {
        if self.state.blob_left == 0 {
            return self.read_header(reader);
        }
        if self.state.bpb_left > 0 {
            return self.read_bpb(reader).map(Some);
        }
        if self.state.segmented && self.state.segment_left == 0 {
            return self.read_segment_length(reader).map(Some);
        }
        let inner = if self.state.segmented { self.state.segment_left } else { self.state.blob_left };
        let size = inner.min(self.left);
        let data = reader.raw(size as usize)?.to_vec();
        self.advance(size)?;
        self.state.segment_left = self.state.segment_left.saturating_sub(size);
        Ok(Some(BlobStreamItem::Data(data)))
    }

    fn read_header(&mut self, reader: &mut Reader<'_>) -> Result<Option<BlobStreamItem>, Stop> {
        let gap = self.position().wrapping_neg() % ALIGNMENT;
        if self.left < HEADER_BYTES.saturating_add(gap) {
            self.left = 0;
            return Ok(None);
        }
        let offset = reader.offset();
        let (id, length, bpb_length) = (BlobId(reader.u64()?), reader.u32()?, reader.u32()?);
        self.left -= HEADER_BYTES + gap;
        if bpb_length > BPB_BYTES_MAX || bpb_length > length {
            let limit = BPB_BYTES_MAX.min(length) as usize;
            return Err(DecodeError::TooLong { offset, length: bpb_length as usize, limit }.into());
        }
        let state = &mut self.state;
        (state.blob_left, state.bpb_left, state.segment_left) = (length, bpb_length, 0);
        state.bpb.clear();
        if bpb_length == 0 {
            state.segmented = state.segmented_by_default;
        }
        Ok(Some(BlobStreamItem::Header { id, length, bpb_length }))
    }

    fn read_bpb(&mut self, reader: &mut Reader<'_>) -> Result<BlobStreamItem, Stop> {
        let size = self.state.bpb_left.min(self.left);
        let bytes = reader.raw(size as usize)?.to_vec();
        self.advance(size)?;
        self.state.bpb_left -= size;
        self.state.bpb.extend_from_slice(&bytes);
        if self.state.bpb_left == 0 {
            self.state.segmented = is_segmented(&self.state.bpb)?;
            self.state.bpb.clear();
        }
        Ok(BlobStreamItem::Bpb(bytes))
    }

    fn read_segment_length(&mut self, reader: &mut Reader<'_>) -> Result<BlobStreamItem, Stop> {
        let offset = reader.offset();
        let length = reader.u16()?;
        let gap = self.position().wrapping_neg() % SEGMENT_ALIGNMENT;
        self.advance(gap + 2)?;
        if u32::from(length) > self.state.blob_left {
            let limit = self.state.blob_left as usize;
            return Err(DecodeError::TooLong { offset, length: usize::from(length), limit }.into());
        }
        self.state.segment_left = u32::from(length);
        Ok(BlobStreamItem::Segment(length))
    }
}

impl BlobStreamState {
    /// Takes the default of op_batch_set_bpb.
    ///
    /// # Errors
    /// [`DecodeError`] for a damaged block.
    pub(crate) fn set_default(&mut self, bpb: &[u8]) -> Result<(), DecodeError> {
        self.segmented_by_default = is_segmented(bpb)?;
        Ok(())
    }

    /// Takes one portion off the reader and gives the state behind it. If it is not all here, what is goes to
    /// `progress`, and the next attempt goes on from there.
    pub(crate) fn read(
        self,
        reader: &mut Reader<'_>,
        bytes_max: usize,
        progress: &mut Option<PortionProgress>,
    ) -> Result<(BlobStreamPortion, BlobStreamState), Stop> {
        let offset = reader.offset();
        let length = reader.u32()?;
        if length as usize > bytes_max {
            let length = length as usize;
            return Err(DecodeError::TooLong { offset, length, limit: bytes_max }.into());
        }
        if length % ALIGNMENT != 0 {
            return Err(DecodeError::BadValue { offset, value: length }.into());
        }
        let mut portion = progress.take().unwrap_or(PortionProgress {
            length,
            left: length,
            state: self,
            items: Vec::new(),
            wire_bytes: 0,
        });
        let start = reader.offset();
        reader.raw(portion.wire_bytes)?;
        while portion.left > 0 {
            match portion.read_item(reader) {
                Ok(item) => portion.items.extend(item),
                Err(Stop::NeedMore) => {
                    *progress = Some(portion);
                    return Err(Stop::NeedMore);
                }
                Err(bad) => return Err(bad),
            }
            portion.wire_bytes = reader.offset() - start;
        }
        Ok((BlobStreamPortion { length, items: portion.items }, portion.state))
    }
}

impl BlobStreamPortion {
    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.length);
        for item in &self.items {
            match item {
                BlobStreamItem::Header { id, length, bpb_length } => {
                    writer.u64(id.0);
                    writer.u32(*length);
                    writer.u32(*bpb_length);
                }
                BlobStreamItem::Bpb(bytes) | BlobStreamItem::Data(bytes) => writer.raw(bytes),
                BlobStreamItem::Segment(length) => writer.unsigned_short(*length),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portion(length: u32, wire: &[u8]) -> Vec<u8> {
        [&length.to_be_bytes()[..], wire].concat()
    }

    fn header(id: u64, length: u32, bpb_length: u32) -> Vec<u8> {
        [&id.to_be_bytes()[..], &length.to_be_bytes(), &bpb_length.to_be_bytes()].concat()
    }

    fn segmented() -> BlobStreamState {
        let mut state = BlobStreamState::default();
        state.set_default(&[1]).unwrap();
        state
    }

    #[test]
    fn segments_are_aligned_to_two_and_blobs_to_four() {
        // A blob of segments "abc" and "de": 2+3, a gap of 1, 2+2, then a gap of 2 before the next header.
        let wire = [
            &header(1, 10, 0)[..],
            &[0, 0, 0, 3, b'a', b'b', b'c'],
            &[0, 0, 0, 2, b'd', b'e'],
            &header(2, 2, 0),
            &[0, 0, 0, 0],
        ]
        .concat();
        let bytes = portion(16 + 12 + 16 + 4, &wire);
        let mut reader = Reader::new(&bytes);
        let (read, state) = segmented().read(&mut reader, 1000, &mut None).unwrap();
        assert_eq!(reader.remaining(), 0);
        assert_eq!(
            read.items,
            [
                BlobStreamItem::Header { id: BlobId(1), length: 10, bpb_length: 0 },
                BlobStreamItem::Segment(3),
                BlobStreamItem::Data(b"abc".to_vec()),
                BlobStreamItem::Segment(2),
                BlobStreamItem::Data(b"de".to_vec()),
                BlobStreamItem::Header { id: BlobId(2), length: 2, bpb_length: 0 },
                BlobStreamItem::Segment(0),
            ]
        );
        assert_eq!(state.blob_left, 0);
        let mut out = Vec::new();
        read.write(&mut Writer::new(&mut out));
        assert_eq!(out, bytes);
    }

    #[test]
    fn a_stream_blob_goes_on_in_the_next_portion_and_headers_are_never_cut() {
        let bpb = [1, 3, 1, 1];
        let first = portion(16 + 8 + 12, &[&header(1, 12, 4)[..], &bpb, b"abcd"].concat()[..24]);
        let state = BlobStreamState::default();
        // 12 bytes of data would follow, but the portion ends after 4 of its 8.
        let first = {
            let mut bytes = first;
            bytes[..4].copy_from_slice(&24_u32.to_be_bytes());
            bytes
        };
        let (_, state) = state.read(&mut Reader::new(&first), 1000, &mut None).unwrap();
        let second = portion(4 + 12, b"efgh");
        let (read, state) = state.read(&mut Reader::new(&second), 1000, &mut None).unwrap();
        assert_eq!(read.items, [BlobStreamItem::Data(b"efgh".to_vec())]);
        assert_eq!(state.blob_left, 0);
    }

    #[test]
    fn impossible_lengths_are_refused() {
        let state = segmented();
        let odd = portion(6, &[0; 8]);
        let long_segment = portion(20, &[&header(1, 4, 0)[..], &[0, 0, 0, 9]].concat());
        let long_bpb = portion(20, &header(1, 4, 9));
        let tiny = portion(20, &[&header(1, 1, 0)[..], &[0, 0, 0, 0]].concat());
        for bytes in [odd, long_segment, long_bpb, tiny] {
            assert!(matches!(
                state.clone().read(&mut Reader::new(&bytes), 1000, &mut None),
                Err(Stop::Bad(_))
            ));
        }
    }
}
