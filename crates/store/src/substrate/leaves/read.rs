//! Reading leaves: one entry, all of a range in both directions, the first and the last.

use std::cmp::Ordering;
use std::ops::{Bound, Range};
use std::sync::{Arc, Weak};

use super::coding::take_entry;
use super::{Leaf, damaged};
use crate::Result;
use crate::substrate::{
    Direction, Entries, KeyBounds, KeySpan, Slice, VisitKey, is_empty_span, visit_entries,
};

/// A leaf as it stands in the file: key and value.
pub(in crate::substrate) type SharedLeaf = Arc<(Slice, Slice)>;

/// What leaves are read from.
pub(in crate::substrate) trait LeafSource {
    /// Leaves (key and value) whose keys are in a range.
    fn leaves(&self, span: KeySpan<'_>, direction: Direction) -> Result<Entries>;

    /// The last leaf whose key is this one or less.
    fn leaf_of(&self, entry: &[u8]) -> Result<Option<SharedLeaf>> {
        let span = (Bound::Unbounded, Bound::Included(entry));
        Ok(self.leaves(span, Direction::Backward)?.next().transpose()?.map(Arc::new))
    }
}

/// Whether an entry is there.
pub(in crate::substrate) fn contains(source: &impl LeafSource, entry: &[u8]) -> Result<bool> {
    let Some(found) = source.leaf_of(entry)? else { return Ok(false) };
    let (key, value) = &*found;
    let leaf = Leaf::open(key, value)?;
    let mut place = Place::in_group(&leaf, leaf.group_of(entry)?)?;
    Ok(place.seek(value, entry)? == Ordering::Equal)
}

/// Room for a key, and the place in a leaf where the latest one was found: who looks up one key behind the other goes on from
/// there.
#[derive(Debug, Clone, Default)]
pub struct KeyRoom {
    place: Place,
    /// The leaf of the place. While this is here no other leaf has its address; of the leaf itself it keeps nothing.
    leaf: Option<Weak<(Slice, Slice)>>,
    behind: BehindGroup,
}

/// Where a group of that leaf ends, once that was asked for: at the first entry of the next one; nowhere if it is the last.
#[derive(Debug, Clone, Default)]
struct BehindGroup {
    group: Option<usize>,
    is_last: bool,
    first: Vec<u8>,
}

impl BehindGroup {
    /// Whether an entry that does not stand before a group stands before the next one.
    fn is_behind(&mut self, leaf: &Leaf<'_>, group: usize, entry: &[u8]) -> Result<bool> {
        if self.group != Some(group) {
            self.group = None;
            self.is_last = group + 1 >= leaf.groups;
            if !self.is_last {
                leaf.group(group + 1)?.first_into(&mut self.first);
            }
            self.group = Some(group);
        }
        Ok(self.is_last || self.first.as_slice() > entry)
    }
}

impl KeyRoom {
    /// The place in a leaf from which on an entry is to be looked for, and the leaf as it is remembered.
    fn begin(
        &mut self,
        found: &SharedLeaf,
        leaf: &Leaf<'_>,
        entry: &[u8],
    ) -> Result<(Place, Weak<(Slice, Slice)>)> {
        let mut place = std::mem::take(&mut self.place);
        let known = self.leaf.take().filter(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(found)));
        if known.is_none() {
            self.behind.group = None;
        }
        let goes_on = known.is_some()
            && place.entry.as_slice() <= entry
            && self.behind.is_behind(leaf, place.group, entry)?;
        if !goes_on {
            place.enter(leaf, leaf.group_of(entry)?)?;
        }
        Ok((place, known.unwrap_or_else(|| Arc::downgrade(found))))
    }

    /// Keeps what [`KeyRoom::begin`] gave, for the next time.
    fn keep(&mut self, place: Place, leaf: Weak<(Slice, Slice)>) {
        (self.place, self.leaf) = (place, Some(leaf));
    }
}

/// Shows the entries from `first` on to `visit`, in ascending order, until it has enough.
pub(in crate::substrate) fn visit(
    source: impl LeafSource,
    first: &[u8],
    end: Bound<&[u8]>,
    room: &mut KeyRoom,
    visit: VisitKey<'_>,
) -> Result<()> {
    let Some(found) = source.leaf_of(first)? else {
        let scan = LeafScan::new(source, (Bound::Included(first), end), Direction::Forward)?;
        return visit_entries(scan, visit);
    };
    let (key, value): (&[u8], &[u8]) = (&found.0, &found.1);
    let leaf = Leaf::open(key, value)?;
    let (mut place, known) = room.begin(&found, &leaf, first)?;
    // Where all entries of the group are less the next step goes on.
    let mut is_pending = place.seek(value, first)? != Ordering::Less;
    loop {
        if !std::mem::take(&mut is_pending) && !place.step(value)? {
            if place.group + 1 == leaf.groups {
                break;
            }
            place.go_on(&leaf, place.group + 1)?;
        }
        if !is_before(&place.entry, end) || !visit(&place.entry)? {
            room.keep(place, known);
            return Ok(());
        }
    }
    let span = (Bound::Excluded(place.entry.as_slice()), end);
    if is_empty_span(span) {
        return Ok(());
    }
    visit_entries(LeafScan::new(source, span, Direction::Forward)?, visit)
}

/// The first and the last entry.
pub(in crate::substrate) fn bounds(source: &impl LeafSource) -> Result<Option<KeyBounds>> {
    let end = |direction| -> Result<Option<(Slice, Slice)>> {
        source.leaves((Bound::Unbounded, Bound::Unbounded), direction)?.next().transpose()
    };
    let Some((first, _)) = end(Direction::Forward)? else { return Ok(None) };
    let Some((key, value)) = end(Direction::Backward)? else { return Ok(None) };
    Ok(Some(KeyBounds { first: first.to_vec(), last: last_entry(&key, &value)? }))
}

/// The last entry of a leaf.
pub(super) fn last_entry(key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
    let leaf = Leaf::open(key, value)?;
    let mut place = Place::in_group(&leaf, leaf.groups - 1)?;
    while place.step(value)? {}
    Ok(place.entry)
}

/// Appends all entries of a group.
pub(super) fn read_group(leaf: &Leaf<'_>, group: usize, entries: &mut EntryArena) -> Result<()> {
    let mut place = Place::in_group(leaf, group)?;
    entries.push(&place.entry);
    while place.step(leaf.value)? {
        entries.push(&place.entry);
    }
    Ok(())
}

/// Entries one behind the other.
#[derive(Debug, Default)]
pub(super) struct EntryArena {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl EntryArena {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn push(&mut self, entry: &[u8]) {
        self.bytes.extend_from_slice(entry);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// Room for most entries, to begin with.
const ENTRY_BYTES_USUAL: usize = 48;

/// A place in a leaf: an entry, and where the next one is.
#[derive(Debug, Clone, Default)]
struct Place {
    group: usize,
    /// Of the entries behind this one in its group, in the leaf's value.
    body: Range<usize>,
    entry: Vec<u8>,
}

impl Place {
    /// At the first entry of a group.
    fn in_group(leaf: &Leaf<'_>, group: usize) -> Result<Place> {
        let mut place = Place::default();
        place.enter(leaf, group)?;
        Ok(place)
    }

    fn enter(&mut self, leaf: &Leaf<'_>, group: usize) -> Result<()> {
        let found = leaf.group(group)?;
        found.first_into(&mut self.entry);
        self.group = group;
        self.body = found.body;
        Ok(())
    }

    /// Goes to the next entry of the group; false if there is none. `value`: the leaf's.
    fn step(&mut self, value: &[u8]) -> Result<bool> {
        if self.body.is_empty() {
            return Ok(false);
        }
        let group = value.get(..self.body.end).ok_or_else(damaged)?;
        take_entry(group, &mut self.body.start, &mut self.entry)?;
        Ok(true)
    }

    /// Goes to an entry of the group, or the first one behind it, else the last one; tells how what it has found compares with it.
    fn seek(&mut self, value: &[u8], entry: &[u8]) -> Result<Ordering> {
        loop {
            let order = self.entry.as_slice().cmp(entry);
            if order != Ordering::Less || !self.step(value)? {
                return Ok(order);
            }
        }
    }

    /// Goes to the first entry of another leaf or group, which must come behind.
    fn go_on(&mut self, leaf: &Leaf<'_>, group: usize) -> Result<()> {
        let last = std::mem::take(&mut self.entry);
        self.enter(leaf, group)?;
        if self.entry <= last { Err(damaged()) } else { Ok(()) }
    }
}

/// A scan of the entries in leaves. Ends with its first error.
pub(in crate::substrate) struct LeafScan<S> {
    source: S,
    /// Of a scan that goes down.
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
    /// The leaf being read.
    leaf: Option<SharedLeaf>,
    /// Going up: the entry given last, or one before the first to be given. Going down: the group.
    place: Place,
    /// Whether the entry at the place was not given yet.
    is_pending: bool,
    /// Going down: the group's entries, of which so many are to be given.
    group_entries: EntryArena,
    left: usize,
    /// The leaves that follow, once they are needed.
    following: Option<Entries>,
    finished: bool,
}

impl<S: LeafSource> LeafScan<S> {
    /// A scan before its first entry. The bounds must not be [empty](is_empty_span).
    pub(in crate::substrate) fn new(
        source: S,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<LeafScan<S>> {
        let lower = if direction == Direction::Backward { span.0 } else { Bound::Unbounded };
        let mut scan = LeafScan {
            source,
            lower: lower.map(<[u8]>::to_vec),
            upper: span.1.map(<[u8]>::to_vec),
            direction,
            leaf: None,
            place: Place { entry: Vec::with_capacity(ENTRY_BYTES_USUAL), ..Place::default() },
            is_pending: false,
            group_entries: EntryArena::default(),
            left: 0,
            following: None,
            finished: false,
        };
        if direction == Direction::Forward {
            scan.begin_up(span.0)?;
        }
        Ok(scan)
    }

    fn step(&mut self) -> Result<Option<Slice>> {
        match self.direction {
            Direction::Forward => self.step_up(),
            Direction::Backward => self.step_down(),
        }
    }

    fn step_up(&mut self) -> Result<Option<Slice>> {
        loop {
            let Some((key, value)) = self.leaf.as_deref() else { return Ok(None) };
            if std::mem::take(&mut self.is_pending) {
                break;
            }
            if self.place.step(value)? {
                break;
            }
            let leaf = Leaf::open(key, value)?;
            match self.place.group + 1 < leaf.groups {
                true => {
                    self.place.go_on(&leaf, self.place.group + 1)?;
                    break;
                }
                false => self.next_leaf_up()?,
            }
        }
        let entry = self.place.entry.as_slice();
        Ok(is_before(entry, self.upper.as_ref().map(Vec::as_slice)).then(|| Slice::copy(entry)))
    }

    /// Goes to the first entry within the lower bound, or one before it.
    fn begin_up(&mut self, lower: Bound<&[u8]>) -> Result<()> {
        if let Bound::Included(entry) | Bound::Excluded(entry) = lower
            && let Some(found) = self.source.leaf_of(entry)?
        {
            let (key, value) = &*found;
            let leaf = Leaf::open(key, value)?;
            self.place.enter(&leaf, leaf.group_of(entry)?)?;
            // Where all are less the next step goes on.
            self.is_pending = match self.place.seek(value, entry)? {
                Ordering::Less => false,
                Ordering::Equal => matches!(lower, Bound::Included(_)),
                Ordering::Greater => true,
            };
            self.leaf = Some(found);
            return Ok(());
        }
        let upper = self.upper.as_ref().map(Vec::as_slice);
        self.following = Some(self.source.leaves((Bound::Unbounded, upper), Direction::Forward)?);
        self.next_leaf_up()
    }

    /// Goes to the first entry of the next leaf; to no leaf if there is none.
    fn next_leaf_up(&mut self) -> Result<()> {
        let last = self.leaf.take();
        if let (None, Some((key, _))) = (&self.following, last.as_deref()) {
            let span = (Bound::Excluded(&**key), self.upper.as_ref().map(Vec::as_slice));
            if is_empty_span(span) {
                return Ok(());
            }
            self.following = Some(self.source.leaves(span, Direction::Forward)?);
        }
        let Some(next) = self.following.as_mut().and_then(Iterator::next) else { return Ok(()) };
        let (key, value) = next?;
        self.place.go_on(&Leaf::open(&key, &value)?, 0)?;
        self.is_pending = true;
        self.leaf = Some(Arc::new((key, value)));
        Ok(())
    }

    fn step_down(&mut self) -> Result<Option<Slice>> {
        loop {
            while let Some(next) = self.left.checked_sub(1) {
                self.left = next;
                let entry = self.group_entries.get(next);
                if !is_behind(entry, &self.lower) {
                    return Ok(None);
                }
                if is_before(entry, self.upper.as_ref().map(Vec::as_slice)) {
                    return Ok(Some(Slice::copy(entry)));
                }
            }
            if !self.next_group_down()? {
                return Ok(None);
            }
        }
    }

    /// Reads the group before; false if there is none.
    fn next_group_down(&mut self) -> Result<bool> {
        let group = match (self.leaf.as_deref(), self.place.group.checked_sub(1)) {
            (Some(_), Some(group)) => group,
            (current, _) => {
                // Nothing is left below a leaf that begins with the lower bound or before it.
                if let Some((key, _)) = current
                    && !is_behind(key, &self.lower)
                {
                    return Ok(false);
                }
                if self.following.is_none() {
                    let span = (Bound::Unbounded, self.upper.as_ref().map(Vec::as_slice));
                    self.following = Some(self.source.leaves(span, Direction::Backward)?);
                }
                let is_first = current.is_none();
                let Some(next) = self.following.as_mut().and_then(Iterator::next) else { return Ok(false) };
                let (key, value) = next?;
                let leaf = Leaf::open(&key, &value)?;
                let group = match &self.upper {
                    Bound::Included(entry) | Bound::Excluded(entry) if is_first => leaf.group_of(entry)?,
                    _ => leaf.groups - 1,
                };
                self.leaf = Some(Arc::new((key, value)));
                group
            }
        };
        let Some((key, value)) = self.leaf.as_deref() else { return Ok(false) };
        let first_behind = match self.group_entries.len() {
            0 => None,
            _ => Some(self.group_entries.get(0).to_vec()),
        };
        self.group_entries.clear();
        read_group(&Leaf::open(key, value)?, group, &mut self.group_entries)?;
        self.left = self.group_entries.len();
        self.place.group = group;
        match first_behind {
            Some(behind) if self.group_entries.get(self.left - 1) >= behind.as_slice() => Err(damaged()),
            _ => Ok(true),
        }
    }
}

fn is_before(entry: &[u8], upper: Bound<&[u8]>) -> bool {
    match upper {
        Bound::Unbounded => true,
        Bound::Included(upper) => entry <= upper,
        Bound::Excluded(upper) => entry < upper,
    }
}

fn is_behind(entry: &[u8], lower: &Bound<Vec<u8>>) -> bool {
    match lower {
        Bound::Unbounded => true,
        Bound::Included(lower) => entry >= lower.as_slice(),
        Bound::Excluded(lower) => entry > lower.as_slice(),
    }
}

impl<S: LeafSource> Iterator for LeafScan<S> {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let step = self.step();
        self.finished = !matches!(step, Ok(Some(_)));
        step.transpose().map(|entry| entry.map(|entry| (entry, Slice::copy(&[]))))
    }
}
