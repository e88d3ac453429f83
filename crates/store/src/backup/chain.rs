//! Incremental backups: a chain of files, each of which has of its backup what those before it have not.
//!
//! # Promises
//! - A file of a chain is a list of the chunks of a whole backup ([`super::frame`]); a chunk that a file before it has is only named there, by
//!   the digest of its contents. So a file is never restored with another database's chunks, nor with older contents of its own.
//! - [`BackupChain`] reads the files of a chain as the stream of the backup that the last of them is: whatever reads backups reads it.
//! - Each file names the one that it builds on; files that do not follow each other are refused before anything is restored.
//!
//! # Place
//! Which files there are and what was in them is known to [`crate::backup_history`]; the bytes are described in [`super::frame`].

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

use xxhash_rust::xxh3::Xxh3Default;

use super::digest::{ChunkDigest, DIGEST_BYTES};
use super::error::{BackupError, BackupResult};
use super::frame::{
    ELSEWHERE, FORMAT, HEADER_BYTES, INCREMENT_FORMAT, PACKED_BYTES_MAX, end_mark, header,
    increment_checksum, parse_header, plain_checksum,
};
use super::increment::{INCREMENT_HEADER_BYTES, IncrementHeader};
use crate::{BuildMemory, CancelFlag};

/// Length, checksum and digest of a chunk.
const CHUNK_HEAD_BYTES: usize = 4 + 8 + DIGEST_BYTES;
/// Number of chunks and checksum of the whole, behind the zero that is the end mark's first field.
const END_BYTES: usize = 16;
/// What the place of a chunk takes in memory: its entry, and the room that a hash table keeps free.
const PLACE_BYTES: usize = 2 * (DIGEST_BYTES + 16);

/// Whether a file is one of a chain.
///
/// # Errors
/// From reading.
pub fn is_increment(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let mut begin = Vec::new();
    file.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut begin)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(matches!(parse_header(&begin), Ok((INCREMENT_FORMAT, _))))
}

/// Where a chunk stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    file: u32,
    /// Where its packed items begin, and how many bytes they have.
    offset: u64,
    length: u32,
    checksum: u64,
}

/// A chunk's beginning.
struct Head {
    length: u32,
    checksum: u64,
    digest: ChunkDigest,
}

/// The files of a chain, read as the backup that the last of them is.
pub struct BackupChain<F> {
    files: Vec<F>,
    /// Where the chunks of all files but the last one stand.
    places: HashMap<ChunkDigest, Place>,
    /// How far the last file was read, and its checksum up to there.
    offset: u64,
    read: Xxh3Default,
    /// Chunks handed out, and the checksum of the stream so far.
    chunks: u64,
    written: Xxh3Default,
    /// What is to be handed out next, from `given` on.
    ready: Vec<u8>,
    given: usize,
    ended: bool,
    _memory: Box<dyn BuildMemory>,
}

impl<F: Read + Seek> BackupChain<F> {
    /// Looks through the files of a chain, the one of level 0 first.
    ///
    /// # Errors
    /// [`BackupError::NotAnIncrement`], [`BackupError::ChainLevel`], [`BackupError::ChainOrder`], [`BackupError::TooManyChunks`], and what
    /// damage gives.
    pub fn open(
        mut files: Vec<F>,
        mut memory: Box<dyn BuildMemory>,
        cancel: &CancelFlag,
    ) -> BackupResult<BackupChain<F>> {
        let (mut before, mut time_us, mut read): (Option<IncrementHeader>, _, _) =
            (None, 0, Xxh3Default::new());
        for (position, file) in files.iter_mut().enumerate() {
            let (bytes, time, increment) = read_headers(file, position)?;
            if usize::from(increment.level) != position {
                return Err(BackupError::ChainLevel { position, level: increment.level });
            }
            if before.is_some_and(|before| before.guid != increment.parent) {
                return Err(BackupError::ChainOrder { position });
            }
            before = Some(increment);
            time_us = time;
            read = Xxh3Default::new();
            read.update(&bytes);
        }
        let mut places = HashMap::new();
        let earlier = files.len().saturating_sub(1);
        for (position, file) in files.iter_mut().take(earlier).enumerate() {
            scan(file, position, &mut places, &mut *memory, cancel)?;
        }
        let ready = header(FORMAT, time_us);
        let mut written = Xxh3Default::new();
        written.update(&ready);
        let offset = (HEADER_BYTES + INCREMENT_HEADER_BYTES) as u64;
        Ok(BackupChain {
            files,
            places,
            offset,
            read,
            chunks: 0,
            written,
            ready,
            given: 0,
            ended: false,
            _memory: memory,
        })
    }

    /// Makes the next chunk of the stream, or its end mark.
    fn advance(&mut self) -> BackupResult<()> {
        self.given = 0;
        self.ready.clear();
        let Some(last) = self.files.last_mut() else {
            self.ended = true;
            return Ok(());
        };
        last.seek(SeekFrom::Start(self.offset)).map_err(BackupError::Read)?;
        let mut length = [0; 4];
        read_exact(last, &mut length, self.offset)?;
        self.read.update(&length);
        if u32::from_le_bytes(length) == 0 {
            return self.end();
        }
        let head = read_head(last, length, self.offset)?;
        self.read.update(&head.checksum.to_le_bytes());
        self.read.update(&head.digest.0);
        let items = self.offset + CHUNK_HEAD_BYTES as u64;
        let place = match head.length {
            ELSEWHERE => {
                if head.checksum != increment_checksum(head.digest, &[]) {
                    return Err(damaged("the checksum of a chunk", self.offset));
                }
                let known = self.places.get(&head.digest).copied();
                known.ok_or_else(|| damaged("a chunk that no file before it has", self.offset))?
            }
            length => {
                let file = (self.files.len() - 1) as u32;
                Place { file, offset: items, length, checksum: head.checksum }
            }
        };
        let packed = self.packed(place, head.digest)?;
        self.offset = match head.length {
            ELSEWHERE => items,
            length => {
                self.read.update(&packed);
                items + u64::from(length)
            }
        };
        self.ready.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        self.ready.extend_from_slice(&plain_checksum(&packed, self.chunks).to_le_bytes());
        self.ready.extend_from_slice(&packed);
        self.written.update(&self.ready);
        self.chunks += 1;
        Ok(())
    }

    /// The packed items of a chunk.
    fn packed(&mut self, place: Place, digest: ChunkDigest) -> BackupResult<Vec<u8>> {
        let Some(file) = self.files.get_mut(place.file as usize) else {
            return Err(damaged("a chunk's place", place.offset));
        };
        file.seek(SeekFrom::Start(place.offset)).map_err(BackupError::Read)?;
        let mut packed = Vec::new();
        let length = u64::from(place.length);
        file.take(length).read_to_end(&mut packed).map_err(BackupError::Read)?;
        if (packed.len() as u64) < length {
            return Err(BackupError::Truncated { bytes: place.offset + packed.len() as u64 });
        }
        if place.checksum != increment_checksum(digest, &packed) {
            return Err(damaged("the checksum of a chunk", place.offset));
        }
        Ok(packed)
    }

    /// Checks the end of the last file, and makes that of the stream.
    fn end(&mut self) -> BackupResult<()> {
        let Some(last) = self.files.last_mut() else { return Ok(()) };
        let mut end = [0; END_BYTES];
        read_exact(last, &mut end, self.offset + 4)?;
        let (chunks, checksum) = end.split_at(8);
        self.read.update(chunks);
        if chunks != self.chunks.to_le_bytes() || checksum != self.read.digest().to_le_bytes() {
            return Err(damaged("the checksum of the whole", self.offset));
        }
        let mut behind = Vec::new();
        last.take(1).read_to_end(&mut behind).map_err(BackupError::Read)?;
        if !behind.is_empty() {
            return Err(damaged("bytes behind the end mark", self.offset));
        }
        self.ready.extend_from_slice(&end_mark(self.chunks));
        self.written.update(&self.ready);
        self.ready.extend_from_slice(&self.written.digest().to_le_bytes());
        self.ended = true;
        Ok(())
    }
}

impl<F: Read + Seek> Read for BackupChain<F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() && !self.ended {
            self.advance().map_err(io::Error::other)?;
        }
        let left = self.ready.get(self.given..).unwrap_or_default();
        let count = left.len().min(out.len());
        out[..count].copy_from_slice(&left[..count]);
        self.given += count;
        Ok(count)
    }
}

fn damaged(what: &str, offset: u64) -> BackupError {
    BackupError::Damaged { what: what.to_owned(), offset }
}

fn read_exact(file: &mut impl Read, out: &mut [u8], offset: u64) -> BackupResult<()> {
    file.read_exact(out).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => BackupError::Truncated { bytes: offset },
        _ => BackupError::Read(error),
    })
}

/// The headers of a file: their bytes, the time of the snapshot, and what the file says of itself.
fn read_headers(
    file: &mut (impl Read + Seek),
    position: usize,
) -> BackupResult<(Vec<u8>, i64, IncrementHeader)> {
    file.seek(SeekFrom::Start(0)).map_err(BackupError::Read)?;
    let mut bytes = Vec::new();
    file.take(HEADER_BYTES as u64).read_to_end(&mut bytes).map_err(BackupError::Read)?;
    let (format, time_us) = parse_header(&bytes)?;
    if format != INCREMENT_FORMAT {
        return Err(BackupError::NotAnIncrement { position });
    }
    let mut second = [0; INCREMENT_HEADER_BYTES];
    read_exact(file, &mut second, HEADER_BYTES as u64)?;
    let increment = IncrementHeader::decode(&second);
    let increment = increment.ok_or_else(|| damaged("its second header", HEADER_BYTES as u64))?;
    bytes.extend_from_slice(&second);
    Ok((bytes, time_us, increment))
}

/// The rest of a chunk's beginning, behind its length.
fn read_head(file: &mut impl Read, length: [u8; 4], offset: u64) -> BackupResult<Head> {
    let mut rest = [0; CHUNK_HEAD_BYTES - 4];
    read_exact(file, &mut rest, offset)?;
    let (mut checksum, mut digest) = ([0; 8], [0; DIGEST_BYTES]);
    checksum.copy_from_slice(&rest[..8]);
    digest.copy_from_slice(&rest[8..]);
    let length = u32::from_le_bytes(length);
    if length != ELSEWHERE && length as usize > PACKED_BYTES_MAX {
        return Err(damaged("the length of a chunk", offset));
    }
    Ok(Head { length, checksum: u64::from_le_bytes(checksum), digest: ChunkDigest(digest) })
}

/// Notes where the chunks of a file stand. Their contents are checked when they are read.
fn scan(
    file: &mut (impl Read + Seek),
    position: usize,
    places: &mut HashMap<ChunkDigest, Place>,
    memory: &mut dyn BuildMemory,
    cancel: &CancelFlag,
) -> BackupResult<()> {
    let mut offset = (HEADER_BYTES + INCREMENT_HEADER_BYTES) as u64;
    loop {
        cancel.check()?;
        file.seek(SeekFrom::Start(offset)).map_err(BackupError::Read)?;
        let mut length = [0; 4];
        read_exact(file, &mut length, offset)?;
        if u32::from_le_bytes(length) == 0 {
            return read_exact(file, &mut [0; END_BYTES], offset);
        }
        let head = read_head(file, length, offset)?;
        offset += CHUNK_HEAD_BYTES as u64;
        if head.length != ELSEWHERE {
            if !memory.try_grow(PLACE_BYTES) {
                return Err(BackupError::TooManyChunks { chunks: places.len() as u64 });
            }
            let place = Place { file: position as u32, offset, length: head.length, checksum: head.checksum };
            places.insert(head.digest, place);
            offset += u64::from(head.length);
        }
    }
}
