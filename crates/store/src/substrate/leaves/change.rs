//! Changing leaves: the changes of some entries merged into one, which becomes as many leaves as it takes. Groups that no change
//! concerns are copied as they are.

use std::borrow::Cow;
use std::ops::Range;

use super::coding::{append_entry, check_entry, put_varint, shared_bytes};
use super::read::{EntryArena, read_group};
use super::{COUNT_BYTES, END_BYTES, Leaf, Limits, damaged};
use crate::substrate::KeyChange;
use crate::{Result, StoreError};

/// A group's entries behind its first take no more bytes.
pub(super) const BODY_BYTES_MAX: usize = 512;
/// A changed group of less than this part of the most entries goes together with the next one.
const SMALL_GROUP_PARTS: usize = 4;
/// New leaves are filled up to so many of sixteen parts: the next entries that come between need not split them.
pub(super) const FILLED_PARTS: usize = 15;

/// A leaf's key and value.
pub(in crate::substrate) type NewLeaf = (Vec<u8>, Vec<u8>);

/// What a leaf is made of.
#[derive(Debug)]
struct Part<'a> {
    /// The first entry, in two pieces.
    shared: &'a [u8],
    rest: Cow<'a, [u8]>,
    /// The entries behind it, as written.
    body: Cow<'a, [u8]>,
}

impl Part<'_> {
    /// How many bytes its first entry has in common with a leaf's key.
    fn shared_with(&self, key: &[u8]) -> usize {
        match shared_bytes(self.shared, key) {
            all if all == self.shared.len() => {
                all + shared_bytes(&self.rest, key.get(all..).unwrap_or_default())
            }
            some => some,
        }
    }

    fn first(&self) -> Vec<u8> {
        [self.shared, &self.rest].concat()
    }

    /// Size in a leaf, as far as that can be told: it may share more with another leaf's key.
    fn bytes(&self, key: &[u8]) -> usize {
        let rest = self.shared.len() + self.rest.len() - self.shared_with(key);
        // Lengths take a byte each, or two.
        END_BYTES
            + 2
            + usize::from(self.shared.len() > 0x7F)
            + usize::from(rest > 0x7F)
            + rest
            + self.body.len()
    }
}

/// Changes of entries, each at most once, in order.
pub(super) struct Changes<'c>(&'c [KeyChange]);

impl<'c> Changes<'c> {
    /// Checks that they are of entries.
    pub(super) fn new(changes: &'c [KeyChange]) -> Result<Changes<'c>> {
        for (entry, value) in changes {
            check_entry(entry)?;
            if value.as_ref().is_some_and(|value| !value.is_empty()) {
                return Err(StoreError::corrupt("an index entry with a value"));
            }
        }
        Ok(Changes(changes))
    }
}

/// What has become of a leaf.
pub(super) struct Changed {
    /// The leaves in its place, in order.
    pub(super) leaves: Vec<NewLeaf>,
    /// Whether entries have gone.
    pub(super) has_lost: bool,
}

/// Makes changes in a leaf, or new leaves if there is none; `None` if nothing changes. `is_last`: whether no entries stand behind it.
pub(super) fn change(
    leaf: Option<(&[u8], &[u8])>,
    changes: &Changes<'_>,
    is_last: impl FnOnce() -> Result<bool>,
    limits: Limits,
) -> Result<Option<Changed>> {
    let mut maker = Maker { limits, parts: Vec::new(), has_lost: false, has_got: false };
    let Some((key, value)) = leaf else {
        let none = EntryArena::default();
        let merged = maker.merge(&none, changes.0)?;
        maker.add(&merged, true);
        return Ok(Some(Changed { leaves: maker.leaves(is_last)?, has_lost: false }));
    };
    let leaf = Leaf::open(key, value)?;
    let (groups, grows_at_end) = change_groups(&leaf, changes, &mut maker)?;
    if !maker.has_got && !maker.has_lost {
        return Ok(None);
    }
    let has_lost = maker.has_lost;
    if let Some(spliced) = splice(&leaf, &groups, &maker.parts, limits)? {
        return Ok(Some(Changed { leaves: vec![(key.to_vec(), spliced)], has_lost }));
    }
    let mut parts = kept_parts(&leaf, 0..groups.start)?;
    parts.append(&mut maker.parts);
    parts.append(&mut kept_parts(&leaf, groups.end..leaf.groups)?);
    maker.parts = parts;
    let fills = || Ok(grows_at_end && is_last()?);
    Ok(Some(Changed { leaves: maker.leaves(fills)?, has_lost }))
}

/// Makes changes in the groups that they concern; tells which these were, and whether the last one got something.
fn change_groups<'a>(
    leaf: &Leaf<'a>,
    changes: &Changes<'_>,
    maker: &mut Maker<'a>,
) -> Result<(Range<usize>, bool)> {
    let mut left = changes.0;
    let start = left.first().map_or(Ok(0), |(entry, _)| leaf.group_of(entry))?;
    let mut group = start;
    let mut carried = EntryArena::default();
    let mut grows_at_end = false;
    while group < leaf.groups && !(left.is_empty() && carried.len() == 0) {
        let mut here = left;
        let is_last = group + 1 == leaf.groups;
        if !is_last {
            let next = leaf.group(group + 1)?;
            let count = left.partition_point(|(entry, _)| next.compare_first(entry).is_gt());
            (here, left) = left.split_at(count);
        } else {
            left = &[];
            grows_at_end = !here.is_empty();
        }
        group += 1;
        if here.is_empty() && carried.len() == 0 {
            maker.parts.append(&mut kept_parts(leaf, group - 1..group)?);
            continue;
        }
        read_group(leaf, group - 1, &mut carried)?;
        let merged = maker.merge(&carried, here)?;
        if merged.len() < maker.limits.group_entries / SMALL_GROUP_PARTS && !is_last {
            let mut kept = EntryArena::default();
            merged.into_iter().for_each(|entry| kept.push(entry));
            carried = kept;
            continue;
        }
        maker.add(&merged, is_last && grows_at_end);
        carried.clear();
    }
    Ok((start..group, grows_at_end))
}

/// Groups as they are.
fn kept_parts<'a>(leaf: &Leaf<'a>, groups: Range<usize>) -> Result<Vec<Part<'a>>> {
    let part = |group| {
        let group = leaf.group(group)?;
        let body = Cow::Borrowed(leaf.value.get(group.body).ok_or_else(damaged)?);
        Ok(Part { shared: group.shared, rest: Cow::Borrowed(group.rest), body })
    };
    groups.map(part).collect()
}

/// The value of a leaf with other groups in the place of some, if it still begins with the same entry and is not too large.
fn splice(
    leaf: &Leaf<'_>,
    groups: &Range<usize>,
    parts: &[Part<'_>],
    limits: Limits,
) -> Result<Option<Vec<u8>>> {
    let keeps_key = groups.start > 0 || parts.first().is_some_and(|first| first.first() == leaf.key);
    let count = leaf.groups - groups.len() + parts.len();
    let old_start = leaf.start(groups.start)?;
    let old_end = leaf.start(groups.end)?;
    let mut new = NewGroups::default();
    new.add(parts, leaf.key, groups.start == 0);
    let before = leaf.value.get(leaf.groups_at..old_start).ok_or_else(damaged)?;
    let behind = leaf.value.get(old_end..).ok_or_else(damaged)?;
    let groups_at = COUNT_BYTES + count * END_BYTES;
    let bytes = groups_at + before.len() + new.bytes.len() + behind.len();
    if !keeps_key || leaf.key.len() + bytes > limits.leaf_bytes {
        return Ok(None);
    }
    let mut value = Vec::with_capacity(bytes);
    put_number(count, &mut value)?;
    let ends_before = leaf.value.get(COUNT_BYTES..COUNT_BYTES + groups.start * END_BYTES);
    value.extend_from_slice(ends_before.ok_or_else(damaged)?);
    for end in &new.ends {
        put_number(before.len() + end, &mut value)?;
    }
    for group in groups.end..leaf.groups {
        let end = leaf.start(group + 1)?.checked_sub(old_end).ok_or_else(damaged)?;
        put_number(before.len() + new.bytes.len() + end, &mut value)?;
    }
    value.extend_from_slice(before);
    value.extend_from_slice(&new.bytes);
    value.extend_from_slice(behind);
    Ok(Some(value))
}

/// Two neighbours as one leaf, if it is not too large.
pub(super) fn join(
    first: (&[u8], &[u8]),
    second: (&[u8], &[u8]),
    bytes_max: usize,
) -> Result<Option<NewLeaf>> {
    let mut parts = Vec::new();
    for (key, value) in [first, second] {
        let leaf = Leaf::open(key, value)?;
        parts.append(&mut kept_parts(&leaf, 0..leaf.groups)?);
    }
    let (key, value) = write_leaf(&parts)?;
    Ok((key.len() + value.len() <= bytes_max).then_some((key, value)))
}

struct Maker<'a> {
    limits: Limits,
    parts: Vec<Part<'a>>,
    has_lost: bool,
    has_got: bool,
}

impl Maker<'_> {
    /// The entries that are there then.
    fn merge<'e>(&mut self, known: &'e EntryArena, changes: &'e [KeyChange]) -> Result<Vec<&'e [u8]>> {
        let mut merged: Vec<&[u8]> = Vec::with_capacity(known.len() + changes.len());
        let mut known = known.iter().peekable();
        for (entry, value) in changes {
            while let Some(before) = known.next_if(|before| *before < entry.as_slice()) {
                merged.push(before);
            }
            let is_known = known.next_if(|same| *same == entry.as_slice()).is_some();
            match value {
                Some(_) => {
                    self.has_got |= !is_known;
                    merged.push(entry);
                }
                None => self.has_lost |= is_known,
            }
        }
        merged.extend(known);
        Ok(merged)
    }

    /// Adds groups of these entries: all but the last full, or all of a size.
    fn add(&mut self, entries: &[&[u8]], fills: bool) {
        let groups = entries.len().div_ceil(self.limits.group_entries.max(1)).max(1);
        let per_group = if fills { self.limits.group_entries } else { entries.len().div_ceil(groups) };
        let mut entries = entries.iter().peekable();
        while let Some(first) = entries.next() {
            let mut body = Vec::new();
            let mut before = *first;
            let mut count = 1;
            while count < per_group
                && let Some(entry) = entries.peek()
            {
                let end = body.len();
                append_entry(before, entry, &mut body);
                if body.len() > BODY_BYTES_MAX {
                    body.truncate(end);
                    break;
                }
                before = entry;
                count += 1;
                entries.next();
            }
            self.parts.push(Part { shared: &[], rest: Cow::Owned(first.to_vec()), body: Cow::Owned(body) });
        }
    }

    /// Size of all parts as one leaf, and the first entry that this is reckoned with.
    fn bytes(&self) -> (usize, Vec<u8>) {
        let first = self.parts.first().map(Part::first).unwrap_or_default();
        let bytes: usize = self.parts.iter().map(|part| part.bytes(&first)).sum();
        (COUNT_BYTES + first.len() + bytes, first)
    }

    /// All parts as leaves. If `fills` says so all but the last are full, else all are of a size.
    fn leaves(&self, fills: impl FnOnce() -> Result<bool>) -> Result<Vec<NewLeaf>> {
        if self.parts.is_empty() {
            return Ok(Vec::new());
        }
        let (bytes, first) = self.bytes();
        if bytes <= self.limits.leaf_bytes {
            return Ok(vec![write_leaf(&self.parts)?]);
        }
        let filled = self.limits.leaf_bytes / 16 * FILLED_PARTS;
        let count = bytes.div_ceil(filled.max(1));
        let aim = if fills()? { filled } else { bytes / count };
        let mut leaves = Vec::with_capacity(count + 1);
        let (mut start, mut size) = (0, first.len());
        for (at, part) in self.parts.iter().enumerate() {
            let more = part.bytes(&first);
            let is_full = size + more > self.limits.leaf_bytes || size + more / 2 > aim;
            if at > start && is_full {
                leaves.push(write_leaf(self.parts.get(start..at).unwrap_or_default())?);
                (start, size) = (at, part.shared.len() + part.rest.len());
            }
            size += more;
        }
        leaves.push(write_leaf(self.parts.get(start..).unwrap_or_default())?);
        Ok(leaves)
    }
}

/// Writes a leaf of these parts.
fn write_leaf(parts: &[Part<'_>]) -> Result<NewLeaf> {
    let key = parts.first().map(Part::first).unwrap_or_default();
    let mut new = NewGroups::default();
    new.add(parts, &key, true);
    let mut value = Vec::with_capacity(COUNT_BYTES + parts.len() * END_BYTES + new.bytes.len());
    put_number(parts.len(), &mut value)?;
    for end in new.ends {
        put_number(end, &mut value)?;
    }
    value.extend_from_slice(&new.bytes);
    Ok((key, value))
}

/// Groups as they are written, and where they end.
#[derive(Default)]
struct NewGroups {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl NewGroups {
    /// Adds groups of a leaf. `are_first`: whether its key is the first one's first entry.
    fn add(&mut self, parts: &[Part<'_>], key: &[u8], are_first: bool) {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 || !are_first {
                let shared = part.shared_with(key);
                let of_rest = shared.saturating_sub(part.shared.len());
                let own = part.shared.get(shared..).unwrap_or_default();
                let rest = part.rest.get(of_rest..).unwrap_or_default();
                put_varint(shared as u64, &mut self.bytes);
                put_varint((own.len() + rest.len()) as u64, &mut self.bytes);
                self.bytes.extend_from_slice(own);
                self.bytes.extend_from_slice(rest);
            }
            self.bytes.extend_from_slice(&part.body);
            self.ends.push(self.bytes.len());
        }
    }
}

/// Appends a number of two bytes.
fn put_number(number: usize, out: &mut Vec<u8>) -> Result<()> {
    let number = u16::try_from(number).map_err(|_| damaged())?;
    out.extend_from_slice(&number.to_le_bytes());
    Ok(())
}
