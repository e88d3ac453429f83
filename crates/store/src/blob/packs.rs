//! Packs: small BLOBs compressed together, as rows are in blocks. A hundred bytes alone hardly become less, and an entry of their own
//! costs them half as much again.
//!
//! # Layout
//! A pack is an entry ([`pieces`]) of the part [`PART_PACK`] of its first member: a checksum, and compressed: how many members there
//! are; for each the difference of its number from that of the one before (of the first: its number) and the length of its header
//! without the checksum; these headers, with uncompressed contents. All numbers are varints. Under [`meta::blob_pack`], by its last member,
//! stands its first one: so whoever looks for a BLOB that has no entry of its own finds the packs that may have it. Packs of transactions
//! that wrote at the same time may reach into each other, but none spans more than [`SPAN_MAX`] numbers.
//!
//! # Who goes before whom
//! - An entry of its own goes before what a pack has of the same BLOB: it was written later.
//! - A member that is deleted gets an empty entry of its own, and its pack a mark ([`meta::pack_with_gaps`]): nothing is read and written anew
//!   while many are deleted at once.
//! - The sweep looks at marked packs ([`close_gaps`]): it writes those anew that have lost half of their bytes, and deletes those without
//!   members, with the empty entries of what they have lost.

use std::cell::RefCell;
use std::ops::{Bound, Range};
use std::sync::Arc;

use farbird_record::bytes::{Reader, put_varint};

use super::{
    BlobKey, CHECKSUM_BYTES, PART_HEADER, PART_PACK, damaged, encode_chunk, entry_alone, pieces, seal,
    unpack, unsealed,
};
use crate::keyspace::{self, meta};
use crate::substrate::{Direction, Space, SubstrateState, WriteBatch};
use crate::{Result, StoreError};

/// The longest entry that goes into a pack: what is larger becomes small enough alone.
const MEMBER_BYTES_MAX: usize = 2_000;
/// Bytes of members after which a pack is full: as many are decoded for one of them.
const PACK_BYTES: usize = 8_000;
/// Fewer are written alone.
const MEMBERS_MIN: usize = 4;
/// From the first to the last member: whoever looks for one looks at so many numbers, at most.
const SPAN_MAX: u64 = 1_000;

/// An entry of a BLOB to be written.
#[derive(Debug)]
pub(crate) struct NewEntry {
    pub(crate) key: BlobKey,
    pub(crate) entry: Arc<[u8]>,
    /// Whether it is all that there is of its BLOB: only such an entry goes into a pack.
    pub(crate) is_whole: bool,
}

/// Writes entries: those of small BLOBs that have neighbours in packs, all others alone.
pub(crate) fn put_all(mut entries: Vec<NewEntry>, batch: &mut WriteBatch) {
    entries.sort_unstable_by_key(|new| new.key);
    let mut members = Members::default();
    for NewEntry { key, entry, is_whole } in &entries {
        if !is_whole || key.part != PART_HEADER || entry.len() > MEMBER_BYTES_MAX {
            put_alone(*key, entry, batch);
            continue;
        }
        if members.is_full(key.blob) {
            members.write(batch);
        }
        members.push(key.blob, entry);
    }
    members.write(batch);
}

fn put_alone(key: BlobKey, entry: &[u8], batch: &mut WriteBatch) {
    pieces::put(key, &entry_alone(key, entry), batch);
}

/// The members of a pack to be, in the order of their numbers.
#[derive(Debug, Default)]
struct Members<'e> {
    entries: Vec<(u64, &'e [u8])>,
    bytes: usize,
}

impl<'e> Members<'e> {
    fn push(&mut self, blob: u64, entry: &'e [u8]) {
        self.bytes += entry.len();
        self.entries.push((blob, entry));
    }

    /// Whether this BLOB goes into another pack.
    fn is_full(&self, blob: u64) -> bool {
        let first = self.entries.first().map_or(blob, |(first, _)| *first);
        self.bytes >= PACK_BYTES || blob - first >= SPAN_MAX
    }

    /// Writes them as a pack, unless they are too few, and leaves none.
    fn write(&mut self, batch: &mut WriteBatch) {
        let entries = std::mem::take(&mut self.entries);
        self.bytes = 0;
        match (entries.first(), entries.last()) {
            (Some((first, _)), Some((last, _))) if entries.len() >= MEMBERS_MIN => {
                pieces::put(pack_key(*first), &encode(&entries), batch);
                batch.put(Space::Meta, meta::blob_pack(*last), first.to_be_bytes().to_vec());
            }
            _ => {
                for (blob, entry) in entries {
                    put_alone(BlobKey::header(blob), entry, batch);
                }
            }
        }
    }
}

fn pack_key(first: u64) -> BlobKey {
    BlobKey { blob: first, part: PART_PACK, chunk: 0 }
}

/// A pack as it is stored.
fn encode(members: &[(u64, &[u8])]) -> Vec<u8> {
    let mut out = Vec::with_capacity(PACK_BYTES + MEMBER_BYTES_MAX);
    put_varint(members.len() as u64, &mut out);
    let mut before = 0;
    for (blob, entry) in members {
        put_varint(blob - before, &mut out);
        put_varint(unchecked(entry).len() as u64, &mut out);
        before = *blob;
    }
    for (_, entry) in members {
        out.extend_from_slice(unchecked(entry));
    }
    encode_chunk(&out)
}

/// An entry without its checksum: the pack has one.
fn unchecked(entry: &[u8]) -> &[u8] {
    entry.get(CHECKSUM_BYTES..).unwrap_or_default()
}

/// A decoded pack.
#[derive(Debug)]
struct Pack {
    /// Its first member when it was written, which names it.
    first: u64,
    /// As it is stored.
    stored: Vec<u8>,
    /// Numbers, and where the headers are in `bytes`.
    members: Vec<(u64, Range<usize>)>,
    bytes: Vec<u8>,
}

thread_local! {
    /// The pack that this thread has decoded last: BLOBs that were written together are mostly read together.
    static LATEST: RefCell<Option<Pack>> = const { RefCell::new(None) };
}

impl Pack {
    fn decode(first: u64, stored: &[u8]) -> Result<Pack> {
        let bytes = unpack(first, unsealed(first, stored)?)?;
        let members = Pack::parse(&bytes).ok_or_else(|| damaged(first))?;
        Ok(Pack { first, stored: stored.to_vec(), members, bytes })
    }

    fn parse(bytes: &[u8]) -> Option<Vec<(u64, Range<usize>)>> {
        let mut reader = Reader::new(bytes);
        let count = usize::try_from(reader.varint().ok()?).ok().filter(|count| *count <= bytes.len() / 2)?;
        let mut lengths = Vec::with_capacity(count);
        let mut blob = 0_u64;
        for _ in 0..count {
            blob = blob.checked_add(reader.varint().ok()?)?;
            lengths.push((blob, usize::try_from(reader.varint().ok()?).ok()?));
        }
        let mut start = reader.offset();
        let mut members = Vec::with_capacity(count);
        for (blob, length) in lengths {
            let end = start.checked_add(length).filter(|end| *end <= bytes.len())?;
            members.push((blob, start..end));
            start = end;
        }
        let is_ordered = members.is_sorted_by(|(one, _), (next, _)| one < next);
        (is_ordered && start == bytes.len()).then_some(members)
    }

    /// Where the header of a member is.
    fn place(&self, blob: u64) -> Option<Range<usize>> {
        let place = self.members.binary_search_by_key(&blob, |(member, _)| *member).ok()?;
        self.members.get(place).map(|(_, range)| range.clone())
    }

    /// The entry of the member there, as it would stand alone.
    fn entry_in(&self, range: Range<usize>) -> Vec<u8> {
        let bytes = self.bytes.get(range).unwrap_or_default();
        let mut entry = Vec::with_capacity(CHECKSUM_BYTES + bytes.len());
        entry.extend_from_slice(&[0; CHECKSUM_BYTES]);
        entry.extend_from_slice(bytes);
        seal(&mut entry);
        entry
    }
}

/// Hands the pack with this first member to `look`; `None` if it is not there.
fn look_into<T>(
    snapshot: &dyn SubstrateState,
    first: u64,
    look: impl FnOnce(&Pack) -> T,
) -> Result<Option<T>> {
    let found = pieces::read(snapshot, pack_key(first), |stored| {
        LATEST.with_borrow_mut(|latest| {
            if latest.as_ref().is_none_or(|pack| pack.first != first || pack.stored != stored) {
                *latest = Some(Pack::decode(first, stored)?);
            }
            Ok(latest.as_ref().map(look))
        })
    });
    found.map(|found| found.entry().flatten())
}

/// Hands the pack that has this BLOB to `look`, and where in it; `None` if no pack has it.
fn look_for<T>(
    snapshot: &dyn SubstrateState,
    blob: u64,
    mut look: impl FnMut(&Pack, Range<usize>) -> T,
) -> Result<Option<T>> {
    // Neighbours are mostly in the pack that was read last; whether this snapshot has it, reading it tells.
    let latest = LATEST.with_borrow(|latest| {
        latest.as_ref().filter(|pack| pack.place(blob).is_some()).map(|pack| pack.first)
    });
    let mut look_at =
        |first| look_into(snapshot, first, |pack| pack.place(blob).map(|place| look(pack, place)));
    if let Some(first) = latest
        && let Some(found) = look_at(first)?.flatten()
    {
        return Ok(Some(found));
    }
    for candidate in candidates(snapshot, blob)? {
        let (_, first) = candidate?;
        if let Some(found) = look_at(first)?.flatten() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The last and first members of packs that may have a BLOB, the likeliest first.
fn candidates(
    snapshot: &dyn SubstrateState,
    blob: u64,
) -> Result<impl Iterator<Item = Result<(u64, u64)>> + '_> {
    let (lower, upper) = (meta::blob_pack(blob), meta::blob_pack(blob.saturating_add(SPAN_MAX)));
    let span = (Bound::Included(&lower[..]), Bound::Included(&upper[..]));
    let marks = snapshot.scan(Space::Meta, span, Direction::Forward)?;
    let parsed = marks.map(move |mark| {
        let (key, value) = mark?;
        parse_mark(&key, &value).ok_or_else(|| damaged(blob))
    });
    Ok(parsed.filter(move |mark| mark.as_ref().map_or(true, |(_, first)| *first <= blob)))
}

fn parse_mark(key: &[u8], value: &[u8]) -> Option<(u64, u64)> {
    let last = key.get(meta::BLOB_PACK.len()..).and_then(keyspace::number)?;
    Some((last, keyspace::number(value)?))
}

/// Hands the header of a BLOB that has no entry of its own to `read`; `None` if no pack has it either.
pub(super) fn read<T>(
    snapshot: &dyn SubstrateState,
    blob: u64,
    read: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<Option<T>> {
    look_for(snapshot, blob, |pack, place| pack.entry_in(place))?.map(|entry| read(&entry)).transpose()
}

/// Deletes a BLOB from the pack that has it, if one does.
pub(super) fn delete(snapshot: &dyn SubstrateState, blob: u64, batch: &mut WriteBatch) -> Result<()> {
    for candidate in candidates(snapshot, blob)? {
        let (last, first) = candidate?;
        let has = match look_into(snapshot, first, |pack| pack.place(blob).is_some()) {
            Ok(found) => found.unwrap_or(false),
            // Perhaps; and whoever deletes it must not fail for that.
            Err(StoreError::Corrupt { .. }) => true,
            Err(error) => return Err(error),
        };
        if has {
            pieces::put_gone(BlobKey::header(blob), batch);
            batch.put(Space::Meta, meta::pack_with_gaps(last), Vec::new());
        }
    }
    Ok(())
}

/// Gives back what the members leave that a pack with this last one has lost.
pub(crate) fn close_gaps(snapshot: &dyn SubstrateState, last: u64, batch: &mut WriteBatch) -> Result<()> {
    let mark = meta::blob_pack(last);
    let Some(value) = snapshot.get(Space::Meta, &mark)? else { return Ok(()) };
    let (_, first) = parse_mark(&mark, &value).ok_or_else(|| damaged(last))?;
    let all = look_into(snapshot, first, |pack| {
        let member = |(blob, range): &(u64, Range<usize>)| (*blob, pack.entry_in(range.clone()));
        pack.members.iter().map(member).collect::<Vec<_>>()
    })?;
    let all = all.ok_or_else(|| damaged(first))?;
    let bytes = all.iter().map(|(_, entry)| entry.len()).sum::<usize>();
    let mut gone = Vec::new();
    let mut kept = Vec::with_capacity(all.len());
    for (blob, entry) in &all {
        match pieces::own(snapshot, BlobKey::header(*blob))? {
            pieces::Own::Nothing => kept.push((*blob, entry.as_slice())),
            pieces::Own::Gone => gone.push(*blob),
            pieces::Own::Entry(()) => {}
        }
    }
    if kept.iter().map(|(_, entry)| entry.len()).sum::<usize>() > bytes / 2 {
        return Ok(());
    }
    pieces::delete_entry(snapshot, pack_key(first), batch)?;
    match kept.is_empty() {
        true => batch.delete(Space::Meta, mark),
        // Under its names still, which are those of members that it had.
        false => pieces::put(pack_key(first), &encode(&kept), batch),
    }
    for blob in gone {
        pieces::delete_entry(snapshot, BlobKey::header(blob), batch)?;
    }
    Ok(())
}

/// The last and first members of all packs; `None` for a name that makes no sense.
pub(crate) fn names(snapshot: &dyn SubstrateState) -> Result<Vec<Option<(u64, u64)>>> {
    let after = keyspace::after_prefix(meta::BLOB_PACK);
    let upper = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let span = (Bound::Included(meta::BLOB_PACK), upper);
    let marks = snapshot.scan(Space::Meta, span, Direction::Forward)?;
    marks.map(|mark| mark.map(|(key, value)| parse_mark(&key, &value))).collect()
}

/// The first member of a pack, from the key of a piece of it; `None` for pieces of BLOBs.
pub(crate) fn first_member(key: &[u8]) -> Option<u64> {
    let is_pack = key.len() == keyspace::BLOB_PIECE_BYTES && key.get(8) == Some(&PART_PACK);
    key.get(..8).and_then(keyspace::number).filter(|_| is_pack)
}

/// The members of a pack that are not gone and have no entries of their own.
///
/// # Errors
/// `Corrupt` if it is not there, or is damaged, or has others than its name allows.
pub(crate) fn members(snapshot: &dyn SubstrateState, last: u64, first: u64) -> Result<Vec<u64>> {
    let numbers = |pack: &Pack| pack.members.iter().map(|(blob, _)| *blob).collect::<Vec<_>>();
    let mut all = look_into(snapshot, first, numbers)?
        .ok_or_else(|| StoreError::corrupt(format!("the pack of blobs {first} to {last} is not there")))?;
    if all.iter().any(|blob| !(first..=last).contains(blob)) || last - first > SPAN_MAX {
        return Err(StoreError::corrupt(format!("the pack of blobs {first} to {last} has others")));
    }
    let mut failed = None;
    all.retain(|blob| match pieces::own(snapshot, BlobKey::header(*blob)) {
        Ok(own) => own == pieces::Own::Nothing,
        Err(error) => {
            failed = Some(error);
            false
        }
    });
    failed.map_or(Ok(all), Err)
}
