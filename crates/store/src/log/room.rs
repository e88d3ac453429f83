//! The room of the log: a stretch near the front of the file that the tree does not know of.
//!
//! # Layout
//! | bytes of the file | item |
//! |---|---|
//! | 0 to 4,095 | as below: the head of the file |
//! | 512 from 4,096 on | head of the room: [`MAGIC`] (8), its size without this head (8, little-endian), XXH3-64 of these (8) |
//! | the room's size | records of the log |
//! | the rest | as below, without the room, from byte 4,096 on |
//!
//! "As below" is what the storage without the room would hold. A file of at most 4,096 bytes has no room yet.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use redb::{BackendError, StorageBackend};
use xxhash_rust::xxh3::xxh3_64;

use crate::figures::{FileCounts, FileFigures};
use crate::page_work;

/// Space for the log of a new file, in bytes: some thousand single-row commits between two checkpoints. The file system
/// gives it as it is used.
pub const ROOM_BYTES_DEFAULT: u64 = 4 << 20;

/// What stands before the room: the head of the file.
const BEFORE_BYTES: u64 = 4_096;
const HEAD_BYTES: usize = 512;
const MAGIC: &[u8; 8] = b"FbLog\x1A\x01\x00";
/// The file system is asked for so much of the room at a time: a sync of bytes that it has already is cheaper.
const ALLOCATION_BYTES: u64 = 256 << 10;

/// The storage without the room, and the room. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct Room {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: Arc<dyn StorageBackend>,
    /// The same, if it is a file of the system.
    handle: Option<File>,
    /// Size of the room without its head.
    capacity: u64,
    /// Whether the file has the head of the room.
    has_head: AtomicBool,
    /// The room was written to up to here since the file was opened.
    allocated: AtomicU64,
    counts: FileCounts,
}

/// Where the first record stands in the file.
#[cfg(test)]
pub(super) fn first_record_offset() -> u64 {
    BEFORE_BYTES + HEAD_BYTES as u64
}

fn head_of(capacity: u64) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&capacity.to_le_bytes());
    let checksum = xxh3_64(&head[..16]);
    head[16..24].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// The size of the room according to its head, if that is sound.
fn capacity_in(head: &[u8; HEAD_BYTES]) -> Option<u64> {
    let capacity = u64::from_le_bytes(head.get(8..16)?.try_into().ok()?);
    (*head == head_of(capacity)).then_some(capacity)
}

impl Room {
    /// Finds the room of a storage, or plans one of `room_bytes`. `handle`: the file that the storage is, if it is one.
    pub(super) fn new(
        file: Arc<dyn StorageBackend>,
        handle: Option<File>,
        room_bytes: u64,
    ) -> io::Result<Room> {
        let mut known = None;
        if file.len()? >= BEFORE_BYTES + HEAD_BYTES as u64 {
            let mut head = [0; HEAD_BYTES];
            file.read(BEFORE_BYTES, &mut head)?;
            known = capacity_in(&head);
        }
        Ok(Room {
            shared: Arc::new(Shared {
                file,
                handle,
                capacity: known.unwrap_or(room_bytes),
                has_head: AtomicBool::new(known.is_some()),
                allocated: AtomicU64::new(0),
                counts: FileCounts::default(),
            }),
        })
    }

    /// Bytes for records.
    pub(super) fn capacity(&self) -> u64 {
        self.shared.capacity
    }

    /// Whether the file has the room already.
    pub(super) fn is_there(&self) -> bool {
        self.shared.has_head.load(Ordering::Relaxed)
    }

    /// Reads bytes of the room.
    pub(super) fn read(&self, position: u64, out: &mut [u8]) -> io::Result<()> {
        self.shared.file.read(self.place(position), out)
    }

    /// Writes bytes of the room, and zeros behind them where the file system may have nothing yet.
    pub(super) fn write(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_by(position, bytes, |place, bytes| self.shared.file.write(place, bytes))
    }

    /// What was read and written of the whole file since it was opened.
    pub(super) fn figures(&self) -> FileFigures {
        self.shared.counts.read()
    }

    /// As [`Room::write`], and makes these bytes durable; what was written elsewhere need not be.
    pub(super) fn write_durably(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        let begun = Instant::now();
        self.write_to_disk(position, bytes)?;
        self.shared.counts.logged(bytes.len(), begun.elapsed());
        page_work::has_written();
        Ok(())
    }

    fn write_to_disk(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_by(position, bytes, |place, bytes| {
            if let Some(handle) = &self.shared.handle
                && write_durably_at_once(handle, place, bytes)?
            {
                return Ok(());
            }
            self.shared.file.write(place, bytes)?;
            self.shared.file.sync_data()
        })
    }

    fn write_by(
        &self,
        position: u64,
        bytes: &[u8],
        write: impl FnOnce(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let end = position + bytes.len() as u64;
        if end <= self.shared.allocated.load(Ordering::Relaxed) {
            return write(self.place(position), bytes);
        }
        let allocated = end.next_multiple_of(ALLOCATION_BYTES).min(self.shared.capacity);
        let mut padded = bytes.to_vec();
        padded.resize((allocated - position) as usize, 0);
        write(self.place(position), &padded)?;
        self.shared.allocated.store(allocated, Ordering::Relaxed);
        Ok(())
    }

    /// Makes what was written durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        let begun = Instant::now();
        self.shared.file.sync_data()?;
        self.shared.counts.synced(begun.elapsed());
        Ok(())
    }

    fn place(&self, position: u64) -> u64 {
        BEFORE_BYTES + HEAD_BYTES as u64 + position
    }

    fn room_bytes(&self) -> u64 {
        HEAD_BYTES as u64 + self.shared.capacity
    }

    /// How much of a span of the storage without the room stands before it.
    fn before(offset: u64, length: usize) -> usize {
        usize::try_from(BEFORE_BYTES.saturating_sub(offset)).map_or(length, |before| before.min(length))
    }
}

/// Writes bytes and makes them durable with one call of the system, which does not look for what else of the file was
/// written: a tenth faster than two calls. False if this system cannot.
#[cfg(target_os = "linux")]
fn write_durably_at_once(file: &File, mut place: u64, mut bytes: &[u8]) -> io::Result<bool> {
    use rustix::io::{Errno, ReadWriteFlags, pwritev2};
    while !bytes.is_empty() {
        match pwritev2(file, &[io::IoSlice::new(bytes)], place, ReadWriteFlags::DSYNC) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                place += written as u64;
                bytes = bytes.get(written..).unwrap_or_default();
            }
            Err(Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::OPNOTSUPP) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn write_durably_at_once(_: &File, _: u64, _: &[u8]) -> io::Result<bool> {
    Ok(false)
}

impl StorageBackend for Room {
    fn len(&self) -> io::Result<u64> {
        let size = self.shared.file.len()?;
        Ok(if size <= BEFORE_BYTES { size } else { size.saturating_sub(self.room_bytes()).max(BEFORE_BYTES) })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.shared.counts.has_read(out.len());
        page_work::has_read();
        let (before, behind) = out.split_at_mut(Room::before(offset, out.len()));
        if !before.is_empty() {
            self.shared.file.read(offset, before)?;
        }
        if !behind.is_empty() {
            let offset = offset + before.len() as u64 + self.room_bytes();
            self.shared.file.read(offset, behind)?;
        }
        Ok(())
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        if size <= BEFORE_BYTES {
            return self.shared.file.set_len(size);
        }
        self.shared.file.set_len(size + self.room_bytes())?;
        if !self.shared.has_head.swap(true, Ordering::Relaxed) {
            self.shared.file.write(BEFORE_BYTES, &head_of(self.shared.capacity))?;
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.shared.counts.has_written(bytes.len());
        page_work::has_written();
        let (before, behind) = bytes.split_at(Room::before(offset, bytes.len()));
        if !before.is_empty() {
            self.shared.file.write(offset, before)?;
        }
        if !behind.is_empty() {
            let offset = offset + before.len() as u64 + self.room_bytes();
            self.shared.file.write(offset, behind)?;
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.shared.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.shared.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.shared.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.shared.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.shared.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.shared.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.shared.file.query_lock_range(start, end)
    }
}
