//! Runs in temporary files: entry after entry, each without the bytes that it shares with the one before it.
//!
//! | bytes | item |
//! |---|---|
//! | varint | how many bytes the entry shares with the one before it |
//! | varint | length of the rest |
//! | ... | the rest |

use std::sync::Arc;

use farbird_record::bytes::put_varint;
use parking_lot::Mutex;

use crate::{BuildFile, Result, StoreError};

/// A file that several runs of one thread stand in.
pub(super) type SharedFile = Arc<Mutex<Box<dyn BuildFile>>>;

/// Bytes written at a time.
const WRITTEN_BYTES: usize = 256 << 10;

/// Where a run stands.
pub(super) struct FileRun {
    file: SharedFile,
    place: u64,
    bytes: u64,
}

/// Writes a run.
pub(super) struct RunWriter {
    run: FileRun,
    before: Vec<u8>,
    buffer: Vec<u8>,
}

impl RunWriter {
    /// Behind what the file has; nobody else appends to it meanwhile.
    pub(super) fn new(file: &SharedFile) -> RunWriter {
        let run = FileRun { file: Arc::clone(file), place: 0, bytes: 0 };
        RunWriter { run, before: Vec::new(), buffer: Vec::new() }
    }

    pub(super) fn push(&mut self, entry: &[u8]) -> Result<()> {
        let shared = self.before.iter().zip(entry).take_while(|(before, byte)| before == byte).count();
        put_varint(shared as u64, &mut self.buffer);
        put_varint((entry.len() - shared) as u64, &mut self.buffer);
        self.buffer.extend_from_slice(entry.get(shared..).unwrap_or_default());
        self.before.clear();
        self.before.extend_from_slice(entry);
        if self.buffer.len() >= WRITTEN_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> Result<FileRun> {
        self.flush()?;
        Ok(self.run)
    }

    fn flush(&mut self) -> Result<()> {
        let place = self.run.file.lock().append(&self.buffer)?;
        if self.run.bytes == 0 {
            self.run.place = place;
        }
        self.run.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// Reads a run.
pub(super) struct RunReader {
    run: FileRun,
    buffer: Vec<u8>,
    /// Where in the buffer the next entry stands.
    position: usize,
    buffer_bytes: usize,
}

impl RunReader {
    pub(super) fn new(run: FileRun, buffer_bytes: usize) -> RunReader {
        RunReader { run, buffer: Vec::new(), position: 0, buffer_bytes }
    }

    /// Makes the next entry of the one before it; false at the end.
    pub(super) fn next(&mut self, entry: &mut Vec<u8>) -> Result<bool> {
        if self.position == self.buffer.len() && self.run.bytes == 0 {
            return Ok(false);
        }
        let shared = self.varint()?;
        let rest = self.varint()?;
        if shared > entry.len() || rest as u64 > self.left() {
            return Err(damaged());
        }
        entry.truncate(shared);
        self.fill(rest)?;
        let end = self.position + rest;
        entry.extend_from_slice(self.buffer.get(self.position..end).ok_or_else(damaged)?);
        self.position = end;
        Ok(true)
    }

    fn varint(&mut self) -> Result<usize> {
        let (mut value, mut shift) = (0, 0);
        loop {
            self.fill(1)?;
            let byte = *self.buffer.get(self.position).ok_or_else(damaged)?;
            self.position += 1;
            value |= usize::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
            if shift > 21 {
                return Err(damaged());
            }
        }
    }

    /// Bytes that are not taken yet.
    fn left(&self) -> u64 {
        (self.buffer.len() - self.position) as u64 + self.run.bytes
    }

    /// Sees to it that so many bytes are in the buffer, if the run has them.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        let known = self.buffer.len() - self.position;
        if known >= bytes || self.run.bytes == 0 {
            return Ok(());
        }
        self.buffer.drain(..self.position);
        self.position = 0;
        let wanted = self.buffer_bytes.max(bytes) - known;
        let more = usize::try_from(self.run.bytes).map_or(wanted, |left| left.min(wanted));
        self.buffer.resize(known + more, 0);
        let out = self.buffer.get_mut(known..).unwrap_or_default();
        self.run.file.lock().read_at(self.run.place, out)?;
        self.run.place += more as u64;
        self.run.bytes -= more as u64;
        Ok(())
    }
}

fn damaged() -> StoreError {
    StoreError::corrupt("a temporary file of index entries")
}
