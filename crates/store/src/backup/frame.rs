//! The frame of a backup: a header, chunks that are compressed and checked, an end mark.
//!
//! # Layout
//! Numbers are little-endian; checksums are XXH3-64.
//!
//! | part | bytes | item |
//! |---|---|---|
//! | header | 8 | `89 46 42 42 41 4B 0D 0A`: a byte that no text has, `FBBAK`, a line end that text transfers would change |
//! | | 2 | format: 2; 1 has no items of kind 10 |
//! | | 8 | time of the snapshot: microseconds since 1970, UTC |
//! | | 8 | checksum of the bytes before |
//! | chunk | 4 | length of what follows the checksum, 1 to 24 MiB |
//! | | 8 | checksum of what follows, seeded with the chunk's number, from 0 |
//! | | ... | items, packed as [`farbird_record::compression`] describes |
//! | end mark | 4 | 0 |
//! | | 8 | number of chunks |
//! | | 8 | checksum of all bytes of the file before this field |
//!
//! Nothing follows the end mark.
//!
//! # Incremental backups
//! Format 3 is that of a file of a chain ([`super::chain`]). Its header is followed by one more, and its chunks have the digest of what is
//! in them, by which those of the files before it in the chain are named:
//!
//! | part | bytes | item |
//! |---|---|---|
//! | second header | 1 | level: 0 is the first of its chain |
//! | | 16 | GUID of this backup |
//! | | 16 | GUID of the one that it builds on; zeros in level 0 |
//! | | 8 | checksum of these 33 bytes |
//! | chunk | 4 | length of what follows the digest, 1 to 24 MiB |
//! | | 8 | checksum of the digest and of what follows it |
//! | | 32 | SHA-256 of the items, unpacked |
//! | | ... | items, packed |
//! | chunk that an earlier file has | 4 | 2^32 - 1 |
//! | | 8 | checksum of the digest |
//! | | 32 | SHA-256 of the items, unpacked |

use std::io::{self, Read, Write};

use farbird_record::compression;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_64_with_seed};

use super::digest::ChunkDigest;
use super::error::{BackupError, BackupResult};
use crate::file_kind::identify_bytes;

/// First bytes of a backup.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FBBAK\r\n";
/// The format of a backup that is whole by itself.
pub(crate) const FORMAT: u16 = 2;
/// The format of a file of a chain: the newest one read.
pub(crate) const INCREMENT_FORMAT: u16 = 3;
/// In place of a chunk's length: an earlier file of the chain has it.
pub(crate) const ELSEWHERE: u32 = u32::MAX;
/// A chunk is closed when it has so many bytes. Large enough to compress well, small enough to be read while it is cached.
pub(super) const CHUNK_BYTES: usize = 256 << 10;
/// A chunk has at most so many bytes, unpacked: a row of the largest size, and what was in the chunk before it.
pub(crate) const CHUNK_BYTES_MAX: usize = 20 << 20;
/// So an item has at most so many: what is before it in its chunk is less than a chunk.
pub(crate) const ITEM_BYTES_MAX: usize = CHUNK_BYTES_MAX - CHUNK_BYTES;
/// And so many packed: compression never adds more than a few bytes.
pub(crate) const PACKED_BYTES_MAX: usize = 24 << 20;
/// Memory for a chunk is taken in steps of this, as its bytes arrive: a length alone gets none.
const READ_STEP_BYTES: u64 = 1 << 20;

pub(crate) const HEADER_BYTES: usize = 26;
/// Bytes of a header that its checksum covers.
const HEADER_CHECKED_BYTES: usize = 18;

/// The header of a file.
pub(crate) fn header(format: u16, time_us: i64) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(&MAGIC);
    header.extend_from_slice(&format.to_le_bytes());
    header.extend_from_slice(&time_us.to_le_bytes());
    header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
    header
}

/// Format and time of a header, the first bytes of a file.
///
/// # Errors
/// [`BackupError::NotABackup`], [`BackupError::TooNew`], [`BackupError::Truncated`], [`BackupError::Damaged`].
pub(crate) fn parse_header(header: &[u8]) -> BackupResult<(u16, i64)> {
    let truncated = || BackupError::Truncated { bytes: header.len() as u64 };
    if !header.starts_with(&MAGIC) {
        let cut_off = !header.is_empty() && MAGIC.starts_with(header);
        return Err(if cut_off { truncated() } else { BackupError::NotABackup(identify_bytes(header)) });
    }
    let (checked, checksum) = header.split_at_checked(HEADER_CHECKED_BYTES).ok_or_else(truncated)?;
    if checksum.len() < HEADER_BYTES - HEADER_CHECKED_BYTES {
        return Err(truncated());
    }
    let [_, _, _, _, _, _, _, _, low, high, time @ ..] = checked else { return Err(truncated()) };
    if checksum != xxh3_64(checked).to_le_bytes() {
        return Err(BackupError::Damaged { what: "its header".to_owned(), offset: 0 });
    }
    let format = u16::from_le_bytes([*low, *high]);
    if format > INCREMENT_FORMAT {
        return Err(BackupError::TooNew { format });
    }
    Ok((format, time.try_into().map(i64::from_le_bytes).unwrap_or_default()))
}

/// The chunks of an incremental backup.
pub(crate) trait ChunkList {
    /// Notes the next chunk; whether it need not be written, as an earlier file of the chain has it.
    fn add(&mut self, digest: ChunkDigest) -> BackupResult<bool>;
}

/// Writes the frame.
pub(crate) struct FrameWriter<'a, W> {
    out: W,
    hash: Xxh3Default,
    chunk: Vec<u8>,
    packed: Vec<u8>,
    chunks: u64,
    bytes: u64,
    /// Of an incremental backup: the chunks that need not be written again, and all that it has.
    known: Option<&'a mut dyn ChunkList>,
}

impl<'a, W: Write> FrameWriter<'a, W> {
    /// Begins a backup that is whole by itself.
    pub(crate) fn begin(out: W, time_us: i64) -> BackupResult<FrameWriter<'a, W>> {
        FrameWriter::begin_with(out, &header(FORMAT, time_us), None)
    }

    /// Begins a file of a chain, with its second header.
    pub(crate) fn begin_increment(
        out: W,
        time_us: i64,
        second_header: &[u8],
        known: &'a mut dyn ChunkList,
    ) -> BackupResult<FrameWriter<'a, W>> {
        let mut headers = header(INCREMENT_FORMAT, time_us);
        headers.extend_from_slice(second_header);
        FrameWriter::begin_with(out, &headers, Some(known))
    }

    fn begin_with(
        out: W,
        header: &[u8],
        known: Option<&'a mut dyn ChunkList>,
    ) -> BackupResult<FrameWriter<'a, W>> {
        let mut frame = FrameWriter {
            out,
            hash: Xxh3Default::new(),
            chunk: Vec::with_capacity(CHUNK_BYTES),
            packed: Vec::new(),
            chunks: 0,
            bytes: 0,
            known,
        };
        frame.write(header)?;
        Ok(frame)
    }

    /// Bytes written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether chunks are to begin where they would begin if what stands before them had changed ([`FrameWriter::cut`]).
    pub(crate) fn is_increment(&self) -> bool {
        self.known.is_some()
    }

    /// Bytes of the chunk that is being gathered.
    pub(crate) fn gathered(&self) -> usize {
        self.chunk.len()
    }

    /// Appends an item, which is written with its chunk.
    pub(crate) fn item(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> BackupResult<()> {
        put(&mut self.chunk);
        if self.chunk.len() >= CHUNK_BYTES { self.flush_chunk() } else { Ok(()) }
    }

    /// Lets a chunk of an incremental backup end here. A backup that is whole by itself has no need of it.
    pub(crate) fn cut(&mut self) -> BackupResult<()> {
        if self.is_increment() { self.flush_chunk() } else { Ok(()) }
    }

    /// Writes what is left and the end mark; gives the size of the whole.
    pub(crate) fn end(mut self) -> BackupResult<u64> {
        self.flush_chunk()?;
        self.write(&end_mark(self.chunks))?;
        let checksum = self.hash.digest();
        self.write(&checksum.to_le_bytes())?;
        self.out.flush().map_err(BackupError::Write)?;
        Ok(self.bytes)
    }

    fn flush_chunk(&mut self) -> BackupResult<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let digest = match &mut self.known {
            None => None,
            Some(known) => {
                let digest = ChunkDigest::of(&self.chunk);
                if known.add(digest)? {
                    self.chunk.clear();
                    return self.chunk_elsewhere(digest);
                }
                Some(digest)
            }
        };
        self.packed.clear();
        compression::pack(&self.chunk, &mut self.packed);
        self.chunk.clear();
        assert!(self.packed.len() <= PACKED_BYTES_MAX, "an item is larger than a chunk may be");
        let packed = std::mem::take(&mut self.packed);
        self.write(&(packed.len() as u32).to_le_bytes())?;
        match digest {
            None => self.write(&plain_checksum(&packed, self.chunks).to_le_bytes())?,
            Some(digest) => {
                self.write(&increment_checksum(digest, &packed).to_le_bytes())?;
                self.write(&digest.0)?;
            }
        }
        self.write(&packed)?;
        self.packed = packed;
        self.chunks += 1;
        Ok(())
    }

    fn chunk_elsewhere(&mut self, digest: ChunkDigest) -> BackupResult<()> {
        self.write(&ELSEWHERE.to_le_bytes())?;
        self.write(&increment_checksum(digest, &[]).to_le_bytes())?;
        self.write(&digest.0)?;
        self.chunks += 1;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> BackupResult<()> {
        self.out.write_all(bytes).map_err(BackupError::Write)?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// The end mark, but for its checksum.
pub(crate) fn end_mark(chunks: u64) -> [u8; 12] {
    let mut mark = [0; 12];
    mark[4..].copy_from_slice(&chunks.to_le_bytes());
    mark
}

/// The checksum of a chunk, `number` of its file.
pub(crate) fn plain_checksum(packed: &[u8], number: u64) -> u64 {
    xxh3_64_with_seed(packed, number)
}

/// The checksum of a chunk of a file of a chain; its place in the file is no part of it.
pub(crate) fn increment_checksum(digest: ChunkDigest, packed: &[u8]) -> u64 {
    let mut hash = Xxh3Default::new();
    hash.update(&digest.0);
    hash.update(packed);
    hash.digest()
}

/// Reads the frame.
pub(crate) struct FrameReader<R> {
    input: R,
    hash: Xxh3Default,
    packed: Vec<u8>,
    chunks: u64,
    bytes: u64,
    /// Where the latest chunk begins.
    chunk_start: u64,
    time_us: i64,
}

impl<R: Read> FrameReader<R> {
    /// Reads the header.
    pub(crate) fn begin(input: R) -> BackupResult<FrameReader<R>> {
        let mut frame = FrameReader {
            input,
            hash: Xxh3Default::new(),
            packed: Vec::new(),
            chunks: 0,
            bytes: 0,
            chunk_start: 0,
            time_us: 0,
        };
        let mut header = Vec::new();
        let mut limited = frame.input.by_ref().take(HEADER_BYTES as u64);
        limited.read_to_end(&mut header).map_err(BackupError::Read)?;
        frame.bytes = header.len() as u64;
        let (format, time_us) = parse_header(&header)?;
        if format == INCREMENT_FORMAT {
            return Err(BackupError::Increment);
        }
        frame.time_us = time_us;
        frame.hash.update(&header);
        Ok(frame)
    }

    /// The time of the snapshot: microseconds since 1970, UTC.
    pub(crate) fn time_us(&self) -> i64 {
        self.time_us
    }

    /// Bytes read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The error for something wrong in the latest chunk.
    pub(crate) fn damaged(&self, what: impl Into<String>) -> BackupError {
        BackupError::Damaged { what: what.into(), offset: self.chunk_start }
    }

    /// Replaces `chunk` by the next one's items; false at the end mark, once it and what it says were checked.
    pub(crate) fn next_chunk(&mut self, chunk: &mut Vec<u8>) -> BackupResult<bool> {
        self.chunk_start = self.bytes;
        chunk.clear();
        let length = u32::from_le_bytes(self.array()?) as usize;
        if length == 0 {
            return self.check_end().map(|()| false);
        }
        if length > PACKED_BYTES_MAX {
            return Err(self.damaged("the length of a chunk"));
        }
        let checksum = self.array::<8>()?;
        let mut packed = std::mem::take(&mut self.packed);
        self.read_packed(length, &mut packed)?;
        if checksum != plain_checksum(&packed, self.chunks).to_le_bytes() {
            return Err(self.damaged("the checksum of a chunk"));
        }
        let unpacked = compression::unpack(&packed, CHUNK_BYTES_MAX)
            .map_err(|error| self.damaged(format!("a chunk: {error}")))?;
        chunk.extend_from_slice(&unpacked);
        self.packed = packed;
        self.chunks += 1;
        Ok(true)
    }

    fn check_end(&mut self) -> BackupResult<()> {
        let chunks = u64::from_le_bytes(self.array()?);
        let checksum = self.hash.digest();
        if self.array::<8>()? != checksum.to_le_bytes() || chunks != self.chunks {
            return Err(self.damaged("the checksum of the whole"));
        }
        loop {
            return match self.input.read(&mut [0]) {
                Ok(0) => Ok(()),
                Ok(_) => Err(self.damaged("bytes behind the end mark")),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(BackupError::Read(error)),
            };
        }
    }

    fn array<const N: usize>(&mut self) -> BackupResult<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(|error| self.read_error(error))?;
        self.hash.update(&bytes);
        self.bytes += N as u64;
        Ok(bytes)
    }

    fn read_packed(&mut self, length: usize, packed: &mut Vec<u8>) -> BackupResult<()> {
        packed.clear();
        while packed.len() < length {
            let before = packed.len();
            let step = ((length - before) as u64).min(READ_STEP_BYTES);
            let mut limited = self.input.by_ref().take(step);
            limited.read_to_end(packed).map_err(BackupError::Read)?;
            self.bytes += (packed.len() - before) as u64;
            if ((packed.len() - before) as u64) < step {
                return Err(BackupError::Truncated { bytes: self.bytes });
            }
        }
        self.hash.update(packed);
        Ok(())
    }

    fn read_error(&self, error: io::Error) -> BackupError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => BackupError::Truncated { bytes: self.bytes },
            _ => BackupError::Read(error),
        }
    }
}
