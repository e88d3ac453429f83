//! How an entry is written behind another one. The bytes are described at [`super`].

use super::{damaged, row_of};
use crate::keyspace::ROW_BYTES;
use crate::{Result, StoreError};

/// Appends an unsigned varint (LEB128).
pub(super) fn put_varint(value: u64, out: &mut Vec<u8>) {
    farbird_record::bytes::put_varint(value, out);
}

/// Takes a varint at `position`: mostly a byte.
#[inline]
pub(super) fn take_varint(bytes: &[u8], position: &mut usize) -> Result<u64> {
    match bytes.get(*position) {
        Some(byte) if *byte < 0x80 => {
            *position += 1;
            Ok(u64::from(*byte))
        }
        _ => take_long_varint(bytes, position),
    }
}

fn take_long_varint(bytes: &[u8], position: &mut usize) -> Result<u64> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = *bytes.get(*position).ok_or_else(damaged)?;
        *position += 1;
        let bits = u64::from(byte & 0x7F);
        if shift == 63 && bits > 1 {
            return Err(damaged());
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok(value);
        }
        shift += 7;
        if shift > 63 {
            return Err(damaged());
        }
    }
}

/// Takes a length: no more than there can be in memory.
#[inline]
pub(super) fn take_length(bytes: &[u8], position: &mut usize) -> Result<usize> {
    usize::try_from(take_varint(bytes, position)?).map_err(|_| damaged())
}

/// Takes so many bytes at `position`.
#[inline]
pub(super) fn take_bytes<'a>(bytes: &'a [u8], position: &mut usize, count: usize) -> Result<&'a [u8]> {
    let end = position.checked_add(count).ok_or_else(damaged)?;
    let taken = bytes.get(*position..end).ok_or_else(damaged)?;
    *position = end;
    Ok(taken)
}

/// How many bytes two keys or entries have in common at their beginning.
pub(super) fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Keys that lose and get the same number of bytes, up to this one, say so in the first byte.
const EQUAL_LENGTHS_MAX: usize = 31;

/// Appends an entry as it is written behind the one before it, which is less.
pub(super) fn append_entry(before: &[u8], entry: &[u8], out: &mut Vec<u8>) {
    let (key_before, row_before) = split(before);
    let (key, row) = split(entry);
    if key == key_before
        && let Some(step) = row.checked_sub(row_before).filter(|step| *step >> 63 == 0)
    {
        return put_varint(step << 1, out);
    }
    let shared = shared_bytes(key_before, key);
    let (lost, added) = (key_before.len() - shared, key.get(shared..).unwrap_or_default());
    let is_next_row = row_before.checked_add(1) == Some(row);
    let lengths = if lost == added.len() && lost <= EQUAL_LENGTHS_MAX { lost } else { 0 };
    put_varint(((lengths as u64) << 2) | (u64::from(is_next_row) << 1) | 1, out);
    if lengths == 0 {
        put_varint(lost as u64, out);
        put_varint(added.len() as u64, out);
    }
    out.extend_from_slice(added);
    if !is_next_row {
        let step = row.wrapping_sub(row_before) as i64;
        put_varint(farbird_record::bytes::zigzag(step), out);
    }
}

/// Makes the entry at `position` out of the one before it.
///
/// # Errors
/// `Corrupt`: among others if it is not greater than that.
pub(super) fn take_entry(bytes: &[u8], position: &mut usize, entry: &mut Vec<u8>) -> Result<()> {
    let head = take_varint(bytes, position)?;
    let row = row_of(entry)?;
    if head & 1 == 0 {
        let row = row.checked_add(head >> 1).filter(|_| head > 0).ok_or_else(damaged)?;
        put_row(entry, row);
        return Ok(());
    }
    let (lost, added) = match usize::try_from(head >> 2).map_err(|_| damaged())? {
        0 => (take_length(bytes, position)?, take_length(bytes, position)?),
        lengths => (lengths, lengths),
    };
    let added = take_bytes(bytes, position, added)?;
    let row = match head & 2 != 0 {
        true => row.checked_add(1).ok_or_else(damaged)?,
        false => row.wrapping_add(farbird_record::bytes::unzigzag(take_varint(bytes, position)?) as u64),
    };
    let shared = (entry.len() - ROW_BYTES).checked_sub(lost).ok_or_else(damaged)?;
    let rest = entry.get(shared..).unwrap_or_default();
    let is_greater = match (added.first(), rest.first()) {
        (Some(new), Some(old)) if new != old => new > old,
        _ => added.iter().chain(&row.to_be_bytes()).gt(rest),
    };
    if !is_greater {
        return Err(damaged());
    }
    if added.len() == lost
        && let Some(place) = entry.get_mut(shared..shared + lost)
    {
        place.copy_from_slice(added);
        put_row(entry, row);
        return Ok(());
    }
    entry.truncate(shared);
    entry.extend_from_slice(added);
    entry.extend_from_slice(&row.to_be_bytes());
    Ok(())
}

/// Puts another row's number into an entry.
fn put_row(entry: &mut [u8], row: u64) {
    if let Some(place) = entry.last_chunk_mut::<ROW_BYTES>() {
        *place = row.to_be_bytes();
    }
}

/// An entry's key and its row. Shorter ones are refused before they come here.
fn split(entry: &[u8]) -> (&[u8], u64) {
    let (key, row) = entry.split_at(entry.len().saturating_sub(ROW_BYTES));
    (key, row.try_into().map_or(0, u64::from_be_bytes))
}

/// Checks that an entry has a row's number at its end.
pub(super) fn check_entry(entry: &[u8]) -> Result<()> {
    match entry.len() >= ROW_BYTES {
        true => Ok(()),
        false => Err(StoreError::corrupt("an index entry without a row")),
    }
}
