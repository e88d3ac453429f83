//! A record of the log: one write batch.
//!
//! # Layout
//! Records begin at multiples of 512 bytes, so that a torn write of one does not touch the one before it.
//!
//! | bytes | item |
//! |---|---|
//! | 8 | checksum: XXH3-64 of all that follows, little-endian |
//! | 4 | bytes of the changes, little-endian |
//! | 4 | how many records before it were written with it, in one write and sync, little-endian |
//! | 8 | generation, little-endian |
//! | 8 | number within the generation, from 1, little-endian |
//! | ... | the changes |
//!
//! The changes: for each space that is cleared the byte 0 and the space; for each space with changes the byte 1, the space,
//! a varint with their number, and each of them: key (varint length, bytes), then a varint that is 0 if the key is
//! deleted, else the length of its value plus 1, and the value. A space is a byte, followed by a varint with the number of the
//! relation or index for those of relations and indexes.
//!
//! # Notes
//! Behind the latest record there may be a sector which says that it was acknowledged, since no later record tells: a
//! header with [`NOTE`] for the size and the record's number, the rest zeros. It is written some time later, without a
//! sync of its own, and the next record is written over it.

use std::io;

use farbird_record::DecodeError;
use farbird_record::bytes::{Reader, put_bytes, put_varint};
use xxhash_rust::xxh3::xxh3_64;

use super::room::Room;
use crate::substrate::{Space, WriteBatch};
use crate::{IndexId, RelationId, Result, StoreError};

/// Larger batches are not logged: they would fill the room, and a checkpoint costs them little. It costs smaller ones more than the
/// log does: two flushes, and pages that are written although the sweep and later batches change them again.
pub(super) const RECORD_BYTES_MAX: usize = 2 << 20;
/// Records begin at multiples of this.
const ALIGNMENT_BYTES: usize = 512;
const CHECKSUM_BYTES: usize = 8;
const HEADER_BYTES: usize = 32;
/// So much of the room behind the last record is looked at with one read.
const SECTORS_BYTES: usize = 128 << 10;

/// In place of the size of the changes: this is a note.
const NOTE: u32 = u32::MAX;

const CLEARED: u8 = 0;
const CHANGED: u8 = 1;

/// Which batch a record holds: they are numbered from 1 within a generation, and a checkpoint begins a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct RecordNumber {
    generation: u64,
    number: u64,
}

impl RecordNumber {
    pub(super) fn next(self) -> RecordNumber {
        RecordNumber { number: self.number + 1, ..self }
    }

    /// Before the first record of the generation.
    pub(super) fn begin(self) -> RecordNumber {
        RecordNumber { number: 0, ..self }
    }

    /// The number of the earliest record that the write of this one may have taken along.
    fn first_of_write(self, before: u32) -> u64 {
        self.number.saturating_sub(u64::from(before))
    }

    pub(super) fn next_generation(self) -> RecordNumber {
        RecordNumber { generation: self.generation + 1, number: 0 }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        [self.generation.to_le_bytes(), self.number.to_le_bytes()].concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<RecordNumber> {
        let (generation, number) = bytes.split_at_checked(8)?;
        Some(RecordNumber {
            generation: u64::from_le_bytes(generation.try_into().ok()?),
            number: u64::from_le_bytes(number.try_into().ok()?),
        })
    }

    /// The number that the first bytes are.
    fn first_in(bytes: &[u8]) -> Option<RecordNumber> {
        RecordNumber::from_bytes(bytes.get(..16)?)
    }
}

/// The record of a batch, padded; `None` if it would be too large, or has entries that are appended. `before` records are written with it.
pub(super) fn encode(number: RecordNumber, before: u32, batch: &WriteBatch) -> Option<Vec<u8>> {
    if batch.bytes() > RECORD_BYTES_MAX || !batch.appended().is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity((HEADER_BYTES + batch.bytes() + 64).next_multiple_of(ALIGNMENT_BYTES));
    out.resize(HEADER_BYTES, 0);
    for space in batch.cleared() {
        out.push(CLEARED);
        put_space(*space, &mut out);
    }
    for (space, changes) in batch.changes() {
        out.push(CHANGED);
        put_space(space, &mut out);
        put_varint(changes.len() as u64, &mut out);
        for (key, value) in changes {
            put_bytes(key, &mut out);
            match value {
                None => put_varint(0, &mut out),
                Some(value) => {
                    put_varint(value.len() as u64 + 1, &mut out);
                    out.extend_from_slice(value);
                }
            }
        }
    }
    let size = u32::try_from(out.len() - HEADER_BYTES).ok()?;
    if out.len() > RECORD_BYTES_MAX {
        return None;
    }
    seal(&mut out, size, before, number);
    Some(out)
}

/// Fills in the header, and pads.
fn seal(out: &mut Vec<u8>, size: u32, before: u32, number: RecordNumber) {
    out[8..12].copy_from_slice(&size.to_le_bytes());
    out[12..16].copy_from_slice(&before.to_le_bytes());
    out[16..24].copy_from_slice(&number.generation.to_le_bytes());
    out[24..32].copy_from_slice(&number.number.to_le_bytes());
    let checksum = xxh3_64(&out[CHECKSUM_BYTES..]);
    out[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
    out.resize(out.len().next_multiple_of(ALIGNMENT_BYTES), 0);
}

/// Notes behind the latest record, at `position`, that it was acknowledged; if there is room.
pub(super) fn write_note(room: &Room, position: u64, acknowledged: RecordNumber) -> io::Result<()> {
    if position + ALIGNMENT_BYTES as u64 > room.capacity() {
        return Ok(());
    }
    let mut note = vec![0; HEADER_BYTES];
    seal(&mut note, NOTE, 0, acknowledged);
    room.write(position, &note)
}

/// Which record a note at `position` says was acknowledged, if there is one.
fn read_note(room: &Room, position: u64) -> io::Result<Option<RecordNumber>> {
    let mut found = [0; HEADER_BYTES];
    if position + HEADER_BYTES as u64 > room.capacity() {
        return Ok(None);
    }
    room.read(position, &mut found)?;
    let Some(number) = RecordNumber::from_bytes(&found[16..]) else { return Ok(None) };
    let mut note = vec![0; HEADER_BYTES];
    seal(&mut note, NOTE, 0, number);
    Ok(note.starts_with(&found).then_some(number))
}

/// A whole record.
struct Record {
    number: RecordNumber,
    /// How many records were written with it, before it.
    before: u32,
    bytes: Vec<u8>,
}

/// Reads what stands at `position`, if it is a whole record that `is_wanted` by its number.
fn read_whole(
    room: &Room,
    position: u64,
    is_wanted: impl FnOnce(RecordNumber) -> bool,
) -> io::Result<Option<Record>> {
    if position + HEADER_BYTES as u64 > room.capacity() {
        return Ok(None);
    }
    let mut header = [0; HEADER_BYTES];
    room.read(position, &mut header)?;
    let size = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
    let before = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    let Some(number) = RecordNumber::from_bytes(&header[16..]).filter(|number| is_wanted(*number)) else {
        return Ok(None);
    };
    let end = position + (HEADER_BYTES + size) as u64;
    if size > RECORD_BYTES_MAX || end > room.capacity() {
        return Ok(None);
    }
    let mut bytes = vec![0; HEADER_BYTES + size];
    room.read(position, &mut bytes)?;
    let is_whole = bytes[..CHECKSUM_BYTES] == xxh3_64(&bytes[CHECKSUM_BYTES..]).to_le_bytes();
    Ok(is_whole.then_some(Record { number, before, bytes }))
}

/// Reads the record at `position` if it is whole and of this number; with it the space that it takes.
///
/// # Errors
/// `Corrupt` if it is, and makes no sense all the same.
pub(super) fn read(room: &Room, position: u64, number: RecordNumber) -> Result<Option<(WriteBatch, u64)>> {
    let Some(record) = read_whole(room, position, |found| found == number)? else { return Ok(None) };
    let batch = decode(&record.bytes[HEADER_BYTES..])
        .map_err(|_| StoreError::corrupt("a record of the commit log"))?;
    Ok(Some((batch, record.bytes.len().next_multiple_of(ALIGNMENT_BYTES) as u64)))
}

/// Makes sure that the tree, which has everything up to `merged`, is not older than the log: the first record of a
/// generation is written when the checkpoint before it has reached the disk.
///
/// # Errors
/// `Corrupt` if the log begins with a record of a later generation.
pub(super) fn check_not_later(room: &Room, merged: RecordNumber) -> Result<()> {
    let is_later = |found: RecordNumber| found.generation > merged.generation;
    if room.is_there() && read_whole(room, 0, is_later)?.is_some() {
        return Err(StoreError::corrupt("the database is older than the commits in its log"));
    }
    Ok(())
}

/// Makes sure that the log ends at `position`, before `end`, because no more was acknowledged: a record that was written
/// after the one which is missing had been synced, or a note of it, is a proof that this one was damaged later.
///
/// # Errors
/// `Corrupt` if there is such a proof.
pub(super) fn check_end(room: &Room, position: u64, end: u64, missing: RecordNumber) -> Result<()> {
    let mut sectors = vec![0; SECTORS_BYTES];
    for begin in (position..end).step_by(SECTORS_BYTES) {
        let size = usize::try_from(end - begin).map_or(SECTORS_BYTES, |left| left.min(SECTORS_BYTES));
        let sectors = sectors.get_mut(..size).unwrap_or_default();
        room.read(begin, sectors)?;
        for (sector, position) in sectors.chunks(ALIGNMENT_BYTES).zip((begin..).step_by(ALIGNMENT_BYTES)) {
            let found = sector.get(16..).and_then(RecordNumber::first_in);
            if found.is_some_and(|found| found.generation == missing.generation && found >= missing) {
                check_sector_behind(room, position, missing)?;
            }
        }
    }
    Ok(())
}

/// Whether a sector behind the end of the log says that there was more.
fn check_sector_behind(room: &Room, position: u64, missing: RecordNumber) -> Result<()> {
    let later = read_whole(room, position, |found| found > missing)?;
    if later.is_some_and(|later| later.number.first_of_write(later.before) > missing.number) {
        return Err(StoreError::corrupt(format!(
            "record {} of the commit log, behind which there are others",
            missing.number
        )));
    }
    if read_note(room, position)?.is_some() {
        return Err(StoreError::corrupt(format!(
            "record {} of the commit log, which was acknowledged",
            missing.number
        )));
    }
    Ok(())
}

/// Makes sure that what stands at `position` is no record.
pub(super) fn erase(room: &Room, position: u64) -> io::Result<()> {
    let sector = [0; ALIGNMENT_BYTES];
    if position + ALIGNMENT_BYTES as u64 <= room.capacity() {
        room.write(position, &sector)?;
        room.sync()?;
    }
    Ok(())
}

fn decode(changes: &[u8]) -> std::result::Result<WriteBatch, DecodeError> {
    let mut reader = Reader::new(changes);
    let mut batch = WriteBatch::new();
    while reader.offset() < changes.len() {
        let is_cleared = reader.u8()? == CLEARED;
        let space = take_space(&mut reader)?;
        if is_cleared {
            batch.clear(space);
            continue;
        }
        for _ in 0..reader.varint()? {
            let size = reader.varint()? as usize;
            let key = reader.take(size)?.to_vec();
            match (reader.varint()? as usize).checked_sub(1) {
                None => batch.delete(space, key),
                Some(size) => {
                    let value = reader.take(size)?.to_vec();
                    batch.put(space, key, value);
                }
            }
        }
    }
    Ok(batch)
}

fn put_space(space: Space, out: &mut Vec<u8>) {
    let (kind, number) = match space {
        Space::Meta => (0, None),
        Space::Catalog => (1, None),
        Space::Sequences => (2, None),
        Space::Blobs => (3, None),
        Space::BlobPages => (8, None),
        Space::BlobReferences => (9, None),
        Space::Versions(relation) => (4, Some(relation.0)),
        Space::Blocks(relation) => (5, Some(relation.0)),
        Space::Index(index) => (6, Some(index.0)),
        Space::Changes(relation) => (7, Some(relation.0)),
    };
    out.push(kind);
    if let Some(number) = number {
        put_varint(u64::from(number), out);
    }
}

fn take_space(reader: &mut Reader<'_>) -> std::result::Result<Space, DecodeError> {
    let kind = reader.u8()?;
    Ok(match kind {
        0 => Space::Meta,
        1 => Space::Catalog,
        2 => Space::Sequences,
        3 => Space::Blobs,
        8 => Space::BlobPages,
        9 => Space::BlobReferences,
        _ => {
            let number = u32::try_from(reader.varint()?).unwrap_or(u32::MAX);
            match kind {
                4 => Space::Versions(RelationId(number)),
                5 => Space::Blocks(RelationId(number)),
                7 => Space::Changes(RelationId(number)),
                _ => Space::Index(IndexId(number)),
            }
        }
    })
}
