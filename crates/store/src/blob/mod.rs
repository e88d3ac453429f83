//! BLOBs: contents too large for a row, written and read in segments or as a stream.
//!
//! # Layout
//! A BLOB has entries under the key blob (8), part (1), chunk (4), big-endian; how an entry is cut into values of the
//! substrate is described in [`pieces`]. Every entry begins with a checksum of the rest (4 bytes, low half of XXH3-64).
//! Contents and segment lists are compressed where that pays ([`farbird_record::compression`]).
//!
//! | part | chunk | entry |
//! |---|---|---|
//! | 0 | 0 | header: flags (1: stream, 2: contents inline, 4: large chunks, 8: contents of another BLOB), subtype (2, little-endian), character set (1), varints: bytes, segments, longest segment; with flag 8: the other BLOB, and nothing more; segment list kind and, for kind 1, the common length; with flag 4: bytes per chunk; with flag 2: the list's length and bytes, the contents, compressed |
//! | 1 | n | contents, bytes n x c to (n + 1) x c, compressed; c is 16,000 unless flag 4 says another |
//! | 2 | n | segment list, bytes n x 16,000 to (n + 1) x 16,000, compressed |
//! | 3 | 0 | small BLOBs that were written together: [`packs`] |
//!
//! The contents of a small BLOB are compressed when its header is written, alone or with others.
//!
//! How many bytes are a chunk is decided when the first ones are there: 64,000 of what becomes smaller, since larger chunks
//! compress better.
//!
//! Segment list kinds: 0: one segment, or a stream; 1: all segments but the last have the same length; 2: listed, a varint
//! each.
//!
//! A BLOB that a row takes from another one gets a header with flag 8: how long the contents live then is described in
//! [`references`].

pub(crate) mod entries;
pub(crate) mod packs;
pub(crate) mod pieces;
mod reader;
pub(crate) mod references;
mod set;
mod writer;

use std::borrow::Cow;

use farbird_record::bytes::{Reader, put_bytes, put_varint};
use farbird_record::compression::{self, Compression, Worth};
use farbird_types::CharacterSet;
use xxhash_rust::xxh3::xxh3_64;

use crate::{Result, StoreError};

pub use reader::{BlobReader, SeekFrom, SegmentRead};
pub(crate) use set::{BlobCommit, BlobSet, PreparedBlobs, remove_spilled};
pub use writer::BlobWriter;

/// The subtype of BLOBs that hold an array ([`farbird_record::array`]): no column can be declared with it.
pub const ARRAY_SUBTYPE: i16 = i16::MIN;

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

/// Key of an entry of a BLOB, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlobKey {
    pub(crate) blob: u64,
    pub(crate) part: u8,
    pub(crate) chunk: u32,
}

impl BlobKey {
    /// The first entry of a BLOB.
    pub(crate) fn header(blob: u64) -> BlobKey {
        BlobKey { blob, part: PART_HEADER, chunk: 0 }
    }

    /// From the first to the last entry that a BLOB may have.
    fn all_of(blob: u64) -> std::ops::RangeInclusive<BlobKey> {
        BlobKey::header(blob)..=BlobKey { blob, part: u8::MAX, chunk: u32::MAX }
    }
}

const PART_HEADER: u8 = 0;
const PART_CONTENTS: u8 = 1;
const PART_SEGMENTS: u8 = 2;
const PART_PACK: u8 = 3;

/// Bytes of a chunk of what does not shrink: a little under 16 KiB, and quick to read a part of.
const CHUNK_BYTES: usize = 16_000;
/// Bytes of a chunk of what does: so many are decoded for a single byte, at most.
const CHUNK_BYTES_MAX: usize = 64_000;
/// BLOBs that, compressed and with their segments, are no larger are kept in their header.
const INLINE_BYTES_MAX: usize = 15_900;
/// Contents up to this length are compressed when they are written, since others that are written then decide how.
const COMPRESSED_LATE_MAX: usize = 2_000;
/// A BLOB whose contents and list of segments are no longer is copied: a reference would take as much.
const COPIED_BYTES_MAX: u64 = 200;

const FLAG_STREAM: u8 = 1;
const FLAG_INLINE: u8 = 2;
const FLAG_LARGE_CHUNKS: u8 = 4;
const FLAG_REFERENCE: u8 = 8;
const CHECKSUM_BYTES: usize = 4;
/// What most headers take beside their contents.
const HEADER_BYTES_COMMON: usize = 32;

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
    contents: Contents,
}

/// Where the contents of a BLOB are.
#[derive(Debug, Clone)]
enum Contents {
    /// Its own.
    Own(Layout),
    /// Those of this BLOB, which has its own.
    Of(u64),
}

/// How contents are laid out.
#[derive(Debug, Clone)]
struct Layout {
    segment_list: SegmentList,
    /// Bytes of contents in each chunk but the last.
    chunk_bytes: usize,
    inline: Option<Inline>,
}

/// A small BLOB in its header.
#[derive(Debug, Clone)]
struct Inline {
    /// List of segments.
    list: Vec<u8>,
    /// The contents as they are stored.
    packed: Vec<u8>,
}

impl Inline {
    /// `None` if that is too large for a header.
    fn of(list: &[u8], contents: &[u8]) -> Option<Inline> {
        if contents.len() > CHUNK_BYTES_MAX || list.len() > INLINE_BYTES_MAX {
            return None;
        }
        let mut packed = Vec::new();
        let how = match contents.len() <= COMPRESSED_LATE_MAX {
            true => Compression::None,
            false => Compression::Zstandard,
        };
        compression::pack_with(how, Worth::Eighth, contents, &mut packed);
        let fits = packed.len() + list.len() <= INLINE_BYTES_MAX;
        fits.then(|| Inline { list: list.to_vec(), packed })
    }
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let options = &self.properties.options;
        let mut flags = if options.stream { FLAG_STREAM } else { 0 };
        flags |= match &self.contents {
            Contents::Of(_) => FLAG_REFERENCE,
            Contents::Own(layout) => layout.flags(),
        };
        let inline = match &self.contents {
            Contents::Own(Layout { inline: Some(inline), .. }) => inline.list.len() + inline.packed.len(),
            _ => 0,
        };
        let mut out = Vec::with_capacity(inline + HEADER_BYTES_COMMON);
        // The checksum comes last.
        out.extend_from_slice(&[0; CHECKSUM_BYTES]);
        out.push(flags);
        out.extend_from_slice(&options.subtype.to_le_bytes());
        out.push(options.character_set.0);
        put_varint(self.properties.bytes, &mut out);
        put_varint(self.properties.segments, &mut out);
        put_varint(self.properties.segment_bytes_max, &mut out);
        match &self.contents {
            Contents::Of(owner) => put_varint(*owner, &mut out),
            Contents::Own(layout) => layout.encode(&mut out),
        }
        seal(&mut out);
        out
    }

    fn decode(blob: u64, entry: &[u8]) -> Result<Header> {
        let bytes = unsealed(blob, entry)?;
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
        let properties = BlobProperties { options, segments, segment_bytes_max, bytes };
        let contents = match flags & FLAG_REFERENCE {
            0 => Contents::Own(Layout::parse(flags, &mut reader)?),
            _ => Contents::Of(reader.varint().ok()?),
        };
        Some(Header { properties, contents })
    }

    /// Whether a BLOB with this header is copied rather than shared: always the same, however it is compressed.
    fn is_copied(&self) -> bool {
        match &self.contents {
            Contents::Own(Layout { inline: Some(inline), .. }) => {
                self.properties.bytes.saturating_add(inline.list.len() as u64) <= COPIED_BYTES_MAX
            }
            _ => false,
        }
    }
}

impl Layout {
    fn flags(&self) -> u8 {
        let inline = if self.inline.is_some() { FLAG_INLINE } else { 0 };
        let large = if self.chunk_bytes != CHUNK_BYTES { FLAG_LARGE_CHUNKS } else { 0 };
        inline | large
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self.segment_list {
            SegmentList::Single => out.push(0),
            SegmentList::Uniform(length) => {
                out.push(1);
                put_varint(length, out);
            }
            SegmentList::Listed => out.push(2),
        }
        if self.chunk_bytes != CHUNK_BYTES {
            put_varint(self.chunk_bytes as u64, out);
        }
        if let Some(inline) = &self.inline {
            put_bytes(&inline.list, out);
            out.extend_from_slice(&inline.packed);
        }
    }

    fn parse(flags: u8, reader: &mut Reader<'_>) -> Option<Layout> {
        let segment_list = match reader.u8().ok()? {
            0 => SegmentList::Single,
            1 => SegmentList::Uniform(reader.varint().ok()?),
            2 => SegmentList::Listed,
            _ => return None,
        };
        let chunk_bytes = match flags & FLAG_LARGE_CHUNKS {
            0 => CHUNK_BYTES,
            _ => usize::try_from(reader.varint().ok()?)
                .ok()
                .filter(|bytes| (1..=CHUNK_BYTES_MAX).contains(bytes))?,
        };
        let inline = match flags & FLAG_INLINE {
            0 => None,
            _ => {
                let list = reader.length_and_bytes().ok()?.to_vec();
                Some(Inline { list, packed: reader.rest().to_vec() })
            }
        };
        Some(Layout { segment_list, chunk_bytes, inline })
    }
}

/// Fills in the checksum, for which there is room in front.
fn seal(value: &mut [u8]) {
    if let Some((sum, bytes)) = value.split_at_mut_checked(CHECKSUM_BYTES) {
        sum.copy_from_slice(&(xxh3_64(bytes) as u32).to_le_bytes());
    }
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
    let mut value = vec![0; CHECKSUM_BYTES];
    compression::pack(bytes, &mut value);
    seal(&mut value);
    value
}

/// An entry as it is stored alone: with compressed contents, if it is a header with some and that pays.
fn entry_alone<'e>(key: BlobKey, entry: &'e [u8]) -> Cow<'e, [u8]> {
    let late = COMPRESSED_LATE_MAX + HEADER_BYTES_COMMON + INLINE_BYTES_MAX;
    if key.part != PART_HEADER || entry.len() > late {
        return Cow::Borrowed(entry);
    }
    compressed_header(key.blob, entry).map_or(Cow::Borrowed(entry), Cow::Owned)
}

/// The entry of a small BLOB that stands alone as a pack has it: with contents that are not compressed. `None` if there is more of it, or
/// it is not one for packs.
pub(crate) fn entry_in_pack(blob: u64, entry: &[u8]) -> Option<Vec<u8>> {
    let mut header = Header::decode(blob, entry).ok()?;
    match &mut header.contents {
        Contents::Of(_) => {}
        Contents::Own(Layout { inline: Some(inline), .. })
            if header.properties.bytes <= COMPRESSED_LATE_MAX as u64 =>
        {
            let contents = unpack(blob, &inline.packed).ok()?;
            inline.packed.clear();
            compression::pack_with(Compression::None, Worth::Eighth, &contents, &mut inline.packed);
        }
        Contents::Own(_) => return None,
    }
    Some(header.encode())
}

/// A header with compressed contents; `None` if it has none that were left for later and become smaller.
fn compressed_header(blob: u64, entry: &[u8]) -> Option<Vec<u8>> {
    let mut header = Header::decode(blob, entry).ok()?;
    if header.properties.bytes > COMPRESSED_LATE_MAX as u64 {
        return None;
    }
    let Contents::Own(Layout { inline: Some(inline), .. }) = &mut header.contents else { return None };
    let contents = unpack(blob, &inline.packed).ok()?;
    let mut packed = Vec::new();
    compression::pack(&contents, &mut packed);
    if packed.len() >= inline.packed.len() {
        return None;
    }
    inline.packed = packed;
    Some(header.encode())
}

/// How many bytes of contents that begin like this are best put into a chunk.
fn best_chunk_bytes(contents: &[u8]) -> usize {
    // Few enough are one chunk either way, and most BLOBs are short: no need to pack them twice.
    if contents.len() <= CHUNK_BYTES {
        return CHUNK_BYTES;
    }
    let head = contents.get(..CHUNK_BYTES_MAX.min(contents.len())).unwrap_or_default();
    let mut packed = Vec::new();
    compression::pack(head, &mut packed);
    if packed.len() <= head.len() / 4 * 3 { CHUNK_BYTES_MAX } else { CHUNK_BYTES }
}

/// The bytes of a stored chunk.
fn decode_chunk(blob: u64, value: &[u8]) -> Result<Vec<u8>> {
    unpack(blob, unsealed(blob, value)?)
}

fn unpack(blob: u64, packed: &[u8]) -> Result<Vec<u8>> {
    let bytes = compression::unpack(packed, CHUNK_BYTES_MAX).map_err(|_| damaged(blob))?;
    Ok(bytes.into_owned())
}

fn damaged(blob: u64) -> StoreError {
    StoreError::corrupt(format!("blob {blob}"))
}
