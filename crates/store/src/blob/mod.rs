//! BLOBs: contents too large for a row, written and read in segments or as a stream.
//!
//! # Layout
//! Each BLOB has a space of keys: blob (8), part (1), chunk (4), big-endian. Every value begins with a checksum of the rest
//! (4 bytes, low half of XXH3-64). Contents and segment lists are compressed where that pays
//! ([`farbird_record::compression`]).
//!
//! | part | chunk | value |
//! |---|---|---|
//! | 0 | 0 | header: flags (1: stream, 2: contents inline), subtype (2, little-endian), character set (1), varints: bytes, segments, longest segment, segment list kind and, for kind 1, the common length; with flag 2: the list's length and bytes, the contents, compressed |
//! | 1 | n | contents, bytes n x 16,000 to (n + 1) x 16,000, compressed |
//! | 2 | n | segment list, bytes n x 16,000 to (n + 1) x 16,000, compressed |
//!
//! Segment list kinds: 0: one segment, or a stream; 1: all segments but the last have the same length; 2: listed, a varint
//! each.

mod reader;
mod set;
mod writer;

use farbird_record::bytes::{Reader, put_bytes, put_varint};
use farbird_record::compression;
use farbird_types::CharacterSet;
use xxhash_rust::xxh3::xxh3_64;

use crate::{Result, StoreError};

pub use reader::{BlobReader, SeekFrom, SegmentRead};
pub(crate) use set::{BlobCommit, BlobSet};
pub use writer::BlobWriter;

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

/// Key of a part of a BLOB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlobKey {
    pub(crate) blob: u64,
    pub(crate) part: u8,
    pub(crate) chunk: u32,
}

const PART_HEADER: u8 = 0;
const PART_CONTENTS: u8 = 1;
const PART_SEGMENTS: u8 = 2;

/// Bytes of a chunk: the value stays a little under 16 KiB, since redb keeps values in pages of powers of two.
const CHUNK_BYTES: usize = 16_000;
/// BLOBs up to here are kept in their header.
const INLINE_BYTES_MAX: usize = 15_900;

const FLAG_STREAM: u8 = 1;
const FLAG_INLINE: u8 = 2;
const CHECKSUM_BYTES: usize = 4;

/// How the lengths of the segments are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentList {
    /// One segment, or a stream.
    Single,
    /// All but the last are this long.
    Uniform(u64),
    /// One varint each.
    Listed,
}

/// The first entry of a BLOB.
#[derive(Debug, Clone)]
struct Header {
    properties: BlobProperties,
    segment_list: SegmentList,
    /// List of segments and contents, if they are small.
    inline: Option<(Vec<u8>, Vec<u8>)>,
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let properties = &self.properties;
        let mut out = Vec::new();
        let stream = if properties.options.stream { FLAG_STREAM } else { 0 };
        let inline = if self.inline.is_some() { FLAG_INLINE } else { 0 };
        out.push(stream | inline);
        out.extend_from_slice(&properties.options.subtype.to_le_bytes());
        out.push(properties.options.character_set.0);
        put_varint(properties.bytes, &mut out);
        put_varint(properties.segments, &mut out);
        put_varint(properties.segment_bytes_max, &mut out);
        match self.segment_list {
            SegmentList::Single => out.push(0),
            SegmentList::Uniform(length) => {
                out.push(1);
                put_varint(length, &mut out);
            }
            SegmentList::Listed => out.push(2),
        }
        if let Some((list, contents)) = &self.inline {
            put_bytes(list, &mut out);
            compression::pack(contents, &mut out);
        }
        sealed(&out)
    }

    fn decode(blob: u64, value: &[u8]) -> Result<Header> {
        let bytes = unsealed(blob, value)?;
        Header::parse(bytes).ok_or_else(|| damaged(blob))
    }

    fn parse(bytes: &[u8]) -> Option<Header> {
        let mut reader = Reader::new(bytes);
        let flags = reader.u8().ok()?;
        let subtype = i16::from_le_bytes(reader.array().ok()?);
        let character_set = CharacterSet(reader.u8().ok()?);
        let options = BlobOptions { stream: flags & FLAG_STREAM != 0, subtype, character_set };
        let bytes = reader.varint().ok()?;
        let segments = reader.varint().ok()?;
        let segment_bytes_max = reader.varint().ok()?;
        let segment_list = match reader.u8().ok()? {
            0 => SegmentList::Single,
            1 => SegmentList::Uniform(reader.varint().ok()?),
            2 => SegmentList::Listed,
            _ => return None,
        };
        let inline = match flags & FLAG_INLINE {
            0 => None,
            _ => {
                let list = reader.length_and_bytes().ok()?.to_vec();
                let contents = compression::unpack(reader.rest(), INLINE_BYTES_MAX).ok()?;
                Some((list, contents.into_owned()))
            }
        };
        if inline.as_ref().is_some_and(|(_, contents)| contents.len() as u64 != bytes) {
            return None;
        }
        let properties = BlobProperties { options, segments, segment_bytes_max, bytes };
        Some(Header { properties, segment_list, inline })
    }
}

/// Puts a checksum in front.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(CHECKSUM_BYTES + bytes.len());
    value.extend_from_slice(&(xxh3_64(bytes) as u32).to_le_bytes());
    value.extend_from_slice(bytes);
    value
}

/// Checks and removes the checksum.
fn unsealed(blob: u64, value: &[u8]) -> Result<&[u8]> {
    match value.split_at_checked(CHECKSUM_BYTES) {
        Some((sum, bytes)) if sum == (xxh3_64(bytes) as u32).to_le_bytes() => Ok(bytes),
        _ => Err(damaged(blob)),
    }
}

/// A chunk as it is stored.
fn encode_chunk(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    compression::pack(bytes, &mut packed);
    sealed(&packed)
}

/// The bytes of a stored chunk.
fn decode_chunk(blob: u64, value: &[u8]) -> Result<Vec<u8>> {
    let bytes = compression::unpack(unsealed(blob, value)?, CHUNK_BYTES).map_err(|_| damaged(blob))?;
    Ok(bytes.into_owned())
}

fn damaged(blob: u64) -> StoreError {
    StoreError::corrupt(format!("blob {blob}"))
}
