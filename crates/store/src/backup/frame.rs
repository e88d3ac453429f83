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

use std::io::{self, Read, Write};

use farbird_record::compression;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_64_with_seed};

use super::error::{BackupError, BackupResult};
use crate::file_kind::identify_bytes;

/// First bytes of a backup.
pub(crate) const MAGIC: [u8; 8] = *b"\x89FBBAK\r\n";
/// The format written, and the newest one read.
pub(crate) const FORMAT: u16 = 2;
/// A chunk is closed when it has so many bytes. Large enough to compress well, small enough to be read while it is cached.
const CHUNK_BYTES: usize = 256 << 10;
/// A chunk has at most so many bytes, unpacked: a row of the largest size, and what was in the chunk before it.
pub(crate) const CHUNK_BYTES_MAX: usize = 20 << 20;
/// So an item has at most so many: what is before it in its chunk is less than a chunk.
pub(crate) const ITEM_BYTES_MAX: usize = CHUNK_BYTES_MAX - CHUNK_BYTES;
/// And so many packed: compression never adds more than a few bytes.
const PACKED_BYTES_MAX: usize = 24 << 20;
/// Memory for a chunk is taken in steps of this, as its bytes arrive: a length alone gets none.
const READ_STEP_BYTES: u64 = 1 << 20;

const HEADER_BYTES: usize = 26;
/// Bytes of a header that its checksum covers.
const HEADER_CHECKED_BYTES: usize = 18;

/// Writes the frame.
pub(crate) struct FrameWriter<W> {
    out: W,
    hash: Xxh3Default,
    chunk: Vec<u8>,
    packed: Vec<u8>,
    chunks: u64,
    bytes: u64,
}

impl<W: Write> FrameWriter<W> {
    /// Begins a backup.
    pub(crate) fn begin(out: W, time_us: i64) -> BackupResult<FrameWriter<W>> {
        let mut frame = FrameWriter {
            out,
            hash: Xxh3Default::new(),
            chunk: Vec::with_capacity(CHUNK_BYTES),
            packed: Vec::new(),
            chunks: 0,
            bytes: 0,
        };
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&FORMAT.to_le_bytes());
        header.extend_from_slice(&time_us.to_le_bytes());
        header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
        frame.write(&header)?;
        Ok(frame)
    }

    /// Bytes written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends an item, which is written with its chunk.
    pub(crate) fn item(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> BackupResult<()> {
        put(&mut self.chunk);
        if self.chunk.len() >= CHUNK_BYTES { self.flush_chunk() } else { Ok(()) }
    }

    /// Writes what is left and the end mark; gives the size of the whole.
    pub(crate) fn end(mut self) -> BackupResult<u64> {
        self.flush_chunk()?;
        self.write(&0u32.to_le_bytes())?;
        self.write(&self.chunks.to_le_bytes())?;
        let checksum = self.hash.digest();
        self.write(&checksum.to_le_bytes())?;
        self.out.flush().map_err(BackupError::Write)?;
        Ok(self.bytes)
    }

    fn flush_chunk(&mut self) -> BackupResult<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        self.packed.clear();
        compression::pack(&self.chunk, &mut self.packed);
        self.chunk.clear();
        assert!(self.packed.len() <= PACKED_BYTES_MAX, "an item is larger than a chunk may be");
        let packed = std::mem::take(&mut self.packed);
        let checksum = xxh3_64_with_seed(&packed, self.chunks);
        self.write(&(packed.len() as u32).to_le_bytes())?;
        self.write(&checksum.to_le_bytes())?;
        self.write(&packed)?;
        self.packed = packed;
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
        if !header.starts_with(&MAGIC) {
            let cut_off = !header.is_empty() && MAGIC.starts_with(&header);
            return Err(match cut_off {
                true => BackupError::Truncated { bytes: frame.bytes },
                false => BackupError::NotABackup(identify_bytes(&header)),
            });
        }
        let Some((checked, checksum)) = header.split_at_checked(HEADER_CHECKED_BYTES) else {
            return Err(BackupError::Truncated { bytes: frame.bytes });
        };
        if checksum.len() < HEADER_BYTES - HEADER_CHECKED_BYTES {
            return Err(BackupError::Truncated { bytes: frame.bytes });
        }
        if checksum != xxh3_64(checked).to_le_bytes() {
            return Err(frame.damaged("its header"));
        }
        if let [_, _, _, _, _, _, _, _, low, high, time @ ..] = checked {
            let format = u16::from_le_bytes([*low, *high]);
            if format > FORMAT {
                return Err(BackupError::TooNew { format });
            }
            frame.time_us = time.try_into().map(i64::from_le_bytes).unwrap_or_default();
        }
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
        if checksum != xxh3_64_with_seed(&packed, self.chunks).to_le_bytes() {
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
