//! BLOBs that are here, or on their way, before somebody reads them.
//!
//! They come in two ways: with their rows (op_inline_blob), and because this client asks for them ahead. For the second,
//! the ids in a column's rows are kept in order, as a *trail*: when a program reads a BLOB of the column, those behind it
//! in the trail are the ones that it is going to read next, whether it has been given their rows already or not.
//!
//! # Invariants
//! - Everything here ends with its transaction; a handle may then name another one.
//! - Bounded: [`Limits`], [`TRAILS_MAX`], [`TRAIL_IDS_MAX`], [`OPEN_MAX`].
//! - A BLOB that came with its row and does not fit is dropped. One whose id comes again replaces the one before if
//!   nobody has read that: servers use ids of temporary BLOBs again (wire-protocol.md, 9.4).

use std::collections::{BTreeMap, HashMap, VecDeque};

use farbird_types::BlobId;
use farbird_wire::protocol::Handle;

use super::conversation::Ticket;
use super::handles::ObjectId;
use super::pace::{Pace, Window};

/// Most trails of one connection.
const TRAILS_MAX: usize = 64;
/// Most ids of one trail; the oldest are forgotten.
const TRAIL_IDS_MAX: usize = 16 * 1024;
/// Most BLOBs of one trail that are open ahead of their reader.
const OPEN_MAX: usize = 256;
/// What a BLOB is taken to have, in bytes, before one was seen.
const BLOB_BYTES_GUESS: usize = 16 * 1024;
/// What asking for a BLOB costs beside its contents, in bytes.
const BLOB_BYTES_OVERHEAD: usize = 128;

/// Most bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Of BLOBs that came with their rows.
    pub(super) inline: usize,
    /// Of those that were asked for ahead; 0 to ask for none.
    pub(super) ahead: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TrailId(u64);

/// Where a BLOB that somebody wants is.
#[derive(Debug)]
pub(crate) enum Found {
    /// It came with its row: its segments, each behind its length.
    Whole(Vec<u8>),
    /// It was asked for.
    Ahead(Opened),
    /// On the server.
    Nowhere,
}

/// A BLOB that was opened ahead. Who takes it asks for the answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opened {
    pub(crate) object: ObjectId,
    pub(crate) opened: Ticket,
    pub(crate) pieces: [Ticket; 2],
}

/// A BLOB to be asked for ahead.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedBlob {
    pub(super) trail: TrailId,
    pub(super) position: u64,
    pub(super) transaction: Handle,
    /// The same transaction.
    pub(super) within: ObjectId,
    pub(super) id: BlobId,
}

/// Why BLOBs may be asked for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// A flight leaves anyway.
    Leaving,
    /// One was taken: a flight of its own is for many of them, or the last.
    Taken,
    /// Rows have come while their reader waits, with so many bytes of rows on their way: a flight of its own is for as many
    /// BLOBs as were asked for before, so that flights are few; or fewer, if the line is going to idle.
    Arrival { in_flight: usize },
}

#[derive(Debug)]
struct Entry {
    opened: Opened,
    trail: TrailId,
    position: u64,
    /// Bytes that are here.
    bytes: usize,
}

/// An answer of a BLOB that was asked for ahead, whether somebody has taken that BLOB meanwhile or not.
#[derive(Debug, Clone, Copy)]
struct Expected {
    ticket: Ticket,
    transaction: Handle,
    id: BlobId,
    trail: TrailId,
    /// It answers the open.
    is_open: bool,
}

#[derive(Debug)]
struct Trail {
    transaction: Handle,
    within: ObjectId,
    /// The one whose column it is.
    statement: Option<ObjectId>,
    ids: VecDeque<BlobId>,
    /// Position of the first of them.
    base: u64,
    /// Position behind the BLOB that was read last.
    read: u64,
    /// Position up to which BLOBs have been asked for, or found to be here.
    asked: u64,
    /// Whether BLOBs of it have been read.
    is_active: bool,
    /// Whether no more ids will come.
    is_complete: bool,
    window: Window,
    /// Open ahead of the reader.
    open: usize,
    /// Opened ahead so far.
    opened: u64,
    /// Of those that were answered: how many, and their bytes.
    seen: (u64, u64),
    /// Bytes of the longest that came with its row: those that did not are taken to be longer.
    longest_inline: usize,
}

impl Trail {
    fn blob_bytes(&self) -> usize {
        let guess = BLOB_BYTES_GUESS.max(self.longest_inline);
        let (blobs, bytes) = self.seen;
        let average = bytes.checked_div(blobs).map_or(guess, |bytes| usize::try_from(bytes).unwrap_or(guess));
        average + BLOB_BYTES_OVERHEAD
    }

    fn under_way(&self) -> usize {
        self.open.saturating_mul(self.blob_bytes())
    }

    fn end(&self) -> u64 {
        self.base + self.ids.len() as u64
    }

    fn index(&self, position: u64) -> usize {
        usize::try_from(position.saturating_sub(self.base)).unwrap_or(usize::MAX)
    }

    /// Where this id stands: rather ahead of the reader than behind.
    fn position(&self, id: BlobId) -> Option<u64> {
        let from = self.index(self.read);
        let ahead = self.ids.iter().skip(from).position(|known| *known == id).map(|index| from + index);
        let index = ahead.or_else(|| self.ids.iter().take(from).position(|known| *known == id))?;
        Some(self.base + index as u64)
    }
}

/// The cache of one connection.
#[derive(Debug)]
pub(crate) struct BlobCache {
    limits: Limits,
    inline: HashMap<(Handle, BlobId), Vec<u8>>,
    inline_bytes: usize,
    /// Those that came since the last row: they are that row's.
    newest: Vec<(Handle, BlobId)>,
    trails: BTreeMap<TrailId, Trail>,
    named: u64,
    ahead: HashMap<(Handle, BlobId), Entry>,
    /// Bytes of those that are here.
    ahead_bytes: usize,
    /// What is going to be answered, in order: the open and the pieces of BLOBs asked for ahead.
    expected: VecDeque<Expected>,
}

impl BlobCache {
    pub(super) fn new(limits: Limits) -> BlobCache {
        BlobCache {
            limits,
            inline: HashMap::new(),
            inline_bytes: 0,
            newest: Vec::new(),
            trails: BTreeMap::new(),
            named: 0,
            ahead: HashMap::new(),
            ahead_bytes: 0,
            expected: VecDeque::new(),
        }
    }

    /// Keeps a BLOB that came in front of its row. Gives what was asked for ahead under its id and is out of date.
    pub(super) fn keep(&mut self, transaction: Handle, id: BlobId, segments: Vec<u8>) -> Option<Opened> {
        let key = (transaction, id);
        if let Some(old) = self.inline.remove(&key) {
            self.inline_bytes -= old.len();
        }
        self.newest.push(key);
        if self.inline_bytes + segments.len() <= self.limits.inline {
            self.inline_bytes += segments.len();
            self.inline.insert(key, segments);
        }
        self.remove(key)
    }

    /// A new column whose BLOBs may be read; `None` if none are asked for ahead.
    /// `statement` is the one whose column it is.
    pub(super) fn begin_trail(
        &mut self,
        transaction: Handle,
        within: ObjectId,
        statement: Option<ObjectId>,
    ) -> Option<TrailId> {
        if self.limits.ahead == 0 {
            return None;
        }
        if self.trails.len() >= TRAILS_MAX {
            // The oldest that nobody reads from ahead any more, else none.
            let idle = self.trails.iter().find(|(_, trail)| trail.open == 0).map(|(id, _)| *id)?;
            self.trails.remove(&idle);
        }
        self.named += 1;
        let trail = Trail {
            transaction,
            within,
            statement,
            ids: VecDeque::new(),
            base: 0,
            read: 0,
            asked: 0,
            is_active: false,
            is_complete: false,
            window: Window::default(),
            open: 0,
            opened: 0,
            seen: (0, 0),
            longest_inline: 0,
        };
        self.trails.insert(TrailId(self.named), trail);
        Some(TrailId(self.named))
    }

    /// A program is going to read all of these, in this order.
    pub(super) fn begin_list(
        &mut self,
        transaction: Handle,
        within: ObjectId,
        ids: &[BlobId],
    ) -> Option<TrailId> {
        let name = self.begin_trail(transaction, within, None)?;
        if let Some(trail) = self.trails.get_mut(&name) {
            trail.ids.extend(ids.iter().filter(|id| **id != BlobId::default()));
            trail.is_active = true;
            trail.is_complete = true;
            trail.window = Window::full();
        }
        Some(name)
    }

    /// The next row of a column is here. Gives what was asked for ahead under its id and is out of date.
    pub(super) fn row(&mut self, trail: TrailId, id: Option<BlobId>) -> Option<Opened> {
        let trail = self.trails.get_mut(&trail)?;
        let id = id.filter(|id| *id != BlobId::default())?;
        trail.ids.push_back(id);
        if trail.ids.len() > TRAIL_IDS_MAX {
            trail.ids.pop_front();
            trail.base += 1;
            trail.read = trail.read.max(trail.base);
            trail.asked = trail.asked.max(trail.base);
        }
        let key = (trail.transaction, id);
        if let Some(inline) = self.inline.get(&key) {
            trail.longest_inline = trail.longest_inline.max(inline.len());
        }
        if !is_temporary(id) || self.newest.contains(&key) {
            return None;
        }
        // The id is another BLOB's by now.
        if let Some(old) = self.inline.remove(&key) {
            self.inline_bytes -= old.len();
        }
        self.remove(key)
    }

    /// The row is here with all its columns.
    pub(super) fn row_ends(&mut self) {
        self.newest.clear();
    }

    /// Whether BLOBs of this column have been read.
    pub(super) fn is_read(&self, trail: TrailId) -> bool {
        self.trails.get(&trail).is_some_and(|trail| trail.is_active)
    }

    /// Whether BLOBs of any column have been read.
    pub(super) fn has_readers(&self) -> bool {
        self.trails.values().any(|trail| trail.is_active)
    }

    /// No more rows of this column will come.
    pub(super) fn end_trail(&mut self, trail: TrailId) {
        if let Some(trail) = self.trails.get_mut(&trail) {
            trail.is_complete = true;
        }
    }

    /// Somebody wants this BLOB: takes it out.
    pub(super) fn take(&mut self, transaction: Handle, id: BlobId) -> Found {
        let key = (transaction, id);
        if let Some(segments) = self.inline.remove(&key) {
            self.inline_bytes -= segments.len();
            self.was_read(transaction, id);
            return Found::Whole(segments);
        }
        let Some(entry) = self.ahead.get(&key) else {
            self.was_read(transaction, id);
            return Found::Nowhere;
        };
        let (name, position) = (entry.trail, entry.position);
        let opened = self.remove(key);
        self.follow(name, position);
        opened.map_or(Found::Nowhere, Found::Ahead)
    }

    /// The statement that gave out this id.
    pub(super) fn statement_of(&self, transaction: Handle, id: BlobId) -> Option<ObjectId> {
        let trails = self.trails.values().rev().filter(|trail| trail.transaction == transaction);
        trails.filter(|trail| trail.position(id).is_some()).find_map(|trail| trail.statement)
    }

    /// A BLOB was read that was not asked for ahead: those behind it in its trail are wanted next.
    fn was_read(&mut self, transaction: Handle, id: BlobId) {
        let trails = self.trails.iter().rev().filter(|(_, trail)| trail.transaction == transaction);
        let found = trails.filter_map(|(name, trail)| Some((*name, trail.position(id)?))).next();
        if let Some((name, position)) = found {
            self.follow(name, position);
        }
    }

    fn follow(&mut self, name: TrailId, position: u64) {
        let Some(trail) = self.trails.get_mut(&name) else { return };
        trail.is_active = true;
        if position < trail.read {
            return;
        }
        // Passed over by the program: what was asked for ahead was not wanted.
        let skipped = trail.open > 0 && position > trail.read && {
            let (from, to) = (trail.index(trail.read), trail.index(position));
            let passed = trail.ids.range(from..to.min(trail.ids.len()));
            let transaction = trail.transaction;
            passed.filter(|id| self.ahead.contains_key(&(transaction, **id))).count() > 0
        };
        if skipped {
            trail.window.shrink();
        }
        trail.read = position + 1;
        trail.asked = trail.asked.max(trail.read);
    }

    /// Takes back a BLOB that was asked for ahead.
    fn remove(&mut self, key: (Handle, BlobId)) -> Option<Opened> {
        let entry = self.ahead.remove(&key)?;
        self.ahead_bytes -= entry.bytes;
        if let Some(trail) = self.trails.get_mut(&entry.trail) {
            trail.open -= 1;
        }
        Some(entry.opened)
    }

    /// BLOBs that were asked for ahead and passed over by their reader long ago.
    pub(super) fn take_passed(&mut self) -> Vec<Opened> {
        let (trails, limit) = (&self.trails, self.limits.ahead);
        let is_full = self.ahead_bytes > limit;
        let is_passed = |entry: &Entry| match trails.get(&entry.trail) {
            Some(trail) => entry.position < trail.read && (is_full || trail.open > OPEN_MAX / 2),
            None => true,
        };
        let keys: Vec<_> =
            self.ahead.iter().filter(|(_, entry)| is_passed(entry)).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// The BLOBs to be asked for now: none as long as that is not worth a flight.
    pub(super) fn wanted(&mut self, pace: &Pace, occasion: Occasion) -> Vec<WantedBlob> {
        let is_leaving = occasion == Occasion::Leaving;
        let mut wanted = Vec::new();
        let mut most = self.limits.ahead.saturating_sub(self.ahead_bytes);
        for (name, trail) in self.trails.iter_mut().filter(|(_, trail)| trail.is_active) {
            if trail.open > if is_leaving { OPEN_MAX * 3 / 4 } else { OPEN_MAX / 2 } {
                continue;
            }
            let under_way = trail.under_way();
            let (inline, ahead) = (&self.inline, &self.ahead);
            let is_here = |id: BlobId| {
                let key = (trail.transaction, id);
                inline.contains_key(&key) || ahead.contains_key(&key)
            };
            while trail.asked < trail.end()
                && trail.ids.get(trail.index(trail.asked)).is_some_and(|id| is_here(*id))
            {
                trail.asked += 1;
            }
            let from = trail.index(trail.asked);
            let missing = trail.ids.iter().zip(trail.base..).skip(from).filter(|(id, _)| !is_here(**id));
            let blob_bytes = trail.blob_bytes();
            let places = OPEN_MAX.saturating_sub(trail.open);
            let (trail_id, transaction, within) = (*name, trail.transaction, trail.within);
            let candidate = |(id, position): (&BlobId, u64)| WantedBlob {
                trail: trail_id,
                position,
                transaction,
                within,
                id: *id,
            };
            let candidates: Vec<_> = missing.map(candidate).take(places).collect();
            let worth = match occasion {
                Occasion::Leaving => 0,
                Occasion::Taken => trail.window.bytes() / 2,
                Occasion::Arrival { in_flight } => {
                    let before = usize::try_from(trail.opened).unwrap_or(usize::MAX);
                    let as_many = before.saturating_mul(blob_bytes);
                    as_many.min(in_flight.saturating_add(under_way) / 4)
                }
            };
            let is_worth = trail.is_complete
                || candidates.len().saturating_mul(blob_bytes) >= worth
                || candidates.len() == places;
            if candidates.is_empty() || !is_worth {
                continue;
            }
            let mut window = trail.window.clone();
            let is_filling = occasion != Occasion::Taken;
            let room = window.room(under_way, pace, most, is_filling);
            let count = room.div_ceil(blob_bytes).min(candidates.len());
            // A window that is not filled does not grow.
            if trail.window.bytes() == 0 || count.saturating_mul(blob_bytes) >= room / 2 {
                trail.window = window;
            }
            let chosen = candidates.get(..count).unwrap_or_default();
            if let Some(last) = chosen.last() {
                trail.asked = last.position + 1;
            }
            most = most.saturating_sub(count.saturating_mul(blob_bytes));
            wanted.extend_from_slice(chosen);
        }
        wanted
    }

    /// A BLOB was asked for.
    pub(super) fn opened(&mut self, blob: WantedBlob, opened: Opened) {
        let WantedBlob { trail, position, transaction, id, .. } = blob;
        let entry = Entry { opened, trail, position, bytes: 0 };
        self.ahead.insert((transaction, id), entry);
        if let Some(followed) = self.trails.get_mut(&trail) {
            followed.open += 1;
            followed.opened += 1;
        }
        let tickets = [opened.opened, opened.pieces[0], opened.pieces[1]];
        let expected = |ticket| Expected { ticket, transaction, id, trail, is_open: ticket == opened.opened };
        self.expected.extend(tickets.map(expected));
    }

    /// An answer has come that may be one of those asked for ahead. Gives a BLOB for which there is no room.
    pub(super) fn answered(&mut self, ticket: Ticket, bytes: usize) -> Option<Opened> {
        while self.expected.front().is_some_and(|expected| expected.ticket < ticket) {
            self.expected.pop_front();
        }
        let expected = self.expected.front().copied().filter(|front| front.ticket == ticket)?;
        self.expected.pop_front();
        if let Some(trail) = self.trails.get_mut(&expected.trail) {
            trail.seen.0 += u64::from(expected.is_open);
            trail.seen.1 += bytes as u64;
        }
        let key = (expected.transaction, expected.id);
        let entry = self
            .ahead
            .get_mut(&key)
            .filter(|entry| entry.opened.opened == ticket || entry.opened.pieces.contains(&ticket))?;
        entry.bytes += bytes;
        self.ahead_bytes += bytes;
        let is_too_much = self.ahead_bytes > self.limits.ahead.saturating_mul(2);
        if is_too_much { self.remove(key) } else { None }
    }

    /// The transaction is going to end: nothing more is asked ahead.
    pub(super) fn stop(&mut self, transaction: Handle) {
        for trail in self.trails.values_mut().filter(|trail| trail.transaction == transaction) {
            trail.asked = u64::MAX;
        }
    }

    /// Nobody reads the list any more. Gives what was open of it.
    pub(super) fn end_list(&mut self, name: TrailId) -> Vec<Opened> {
        let keys: Vec<_> =
            self.ahead.iter().filter(|(_, entry)| entry.trail == name).map(|(key, _)| *key).collect();
        let opened = keys.into_iter().filter_map(|key| self.remove(key)).collect();
        self.trails.remove(&name);
        opened
    }

    /// The transaction has ended, and its handle may be used again. Gives what was open in it.
    pub(super) fn forget(&mut self, transaction: Handle) -> Vec<Opened> {
        let bytes = &mut self.inline_bytes;
        self.inline.retain(|(of, _), data| {
            let stays = *of != transaction;
            if !stays {
                *bytes -= data.len();
            }
            stays
        });
        let keys: Vec<_> = self.ahead.keys().filter(|(of, _)| *of == transaction).copied().collect();
        let opened = keys.into_iter().filter_map(|key| self.remove(key)).collect();
        self.trails.retain(|_, trail| trail.transaction != transaction);
        opened
    }
}

/// Whether a server may give the id to another BLOB in the same transaction: it names no relation.
fn is_temporary(id: BlobId) -> bool {
    (id.0 >> 32) & 0xFFFF == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::handles::{Handles, Kind};

    const TRANSACTION: Handle = Handle(1);

    struct Setup {
        cache: BlobCache,
        within: ObjectId,
        tickets: Vec<Ticket>,
    }

    fn setup(inline: usize, ahead: usize) -> Setup {
        let tickets = Ticket::numbered(1..4);
        let within = Handles::new(true).allocate(Kind::Transaction, None, tickets[0]);
        Setup { cache: BlobCache::new(Limits { inline, ahead }), within, tickets }
    }

    impl Setup {
        /// A column with these BLOBs.
        fn column(&mut self, ids: std::ops::Range<u64>) -> TrailId {
            let trail = self.cache.begin_trail(TRANSACTION, self.within, None).unwrap();
            for id in ids {
                self.cache.row(trail, Some(BlobId(id)));
                self.cache.row_ends();
            }
            trail
        }

        /// Asks for what is wanted; gives the ids.
        fn ask(&mut self, is_leaving: bool) -> Vec<u64> {
            self.ask_on(if is_leaving { Occasion::Leaving } else { Occasion::Taken })
        }

        fn ask_on(&mut self, occasion: Occasion) -> Vec<u64> {
            let wanted = self.cache.wanted(&Pace::default(), occasion);
            let pieces = [self.tickets[1], self.tickets[2]];
            let opened = Opened { object: self.within, opened: self.tickets[0], pieces };
            for blob in &wanted {
                self.cache.opened(*blob, opened);
            }
            wanted.iter().map(|blob| blob.id.0).collect()
        }

        fn take(&mut self, id: u64) -> Found {
            self.cache.take(TRANSACTION, BlobId(id))
        }
    }

    const PERMANENT: u64 = 0x0080_0000_0000;

    #[test]
    fn those_behind_the_one_that_was_read_are_asked_for_and_no_others() {
        let mut setup = setup(0, 1 << 30);
        setup.column(PERMANENT..PERMANENT + 10);
        // Nobody has read one.
        assert!(setup.ask(true).is_empty());
        assert!(matches!(setup.take(PERMANENT + 4), Found::Nowhere));
        assert_eq!(setup.ask(true), (PERMANENT + 5..PERMANENT + 10).collect::<Vec<_>>());
        assert!(setup.ask(true).is_empty(), "once");
        assert!(matches!(setup.take(PERMANENT + 5), Found::Ahead(_)));
        assert!(matches!(setup.take(PERMANENT + 5), Found::Nowhere), "whoever takes it has it");
        // The transaction ends: what was open in it is given back.
        assert_eq!(setup.cache.forget(TRANSACTION).len(), 4);
        assert!(matches!(setup.take(PERMANENT + 6), Found::Nowhere));
    }

    #[test]
    fn what_came_with_its_row_is_not_asked_for_unless_it_did_not_fit() {
        let mut setup = setup(10, 1 << 30);
        let trail = setup.cache.begin_trail(TRANSACTION, setup.within, None).unwrap();
        for id in 1..5 {
            assert!(setup.cache.keep(TRANSACTION, BlobId(id), vec![0; 4]).is_none());
            setup.cache.row(trail, Some(BlobId(id)));
            setup.cache.row_ends();
        }
        assert!(matches!(setup.take(1), Found::Whole(_)));
        // Two fit.
        assert_eq!(setup.ask(true), [3, 4]);
        assert!(matches!(setup.take(2), Found::Whole(_)));
    }

    #[test]
    fn an_id_that_is_used_again_names_the_newer_contents() {
        let mut setup = setup(1_000, 1 << 30);
        let trail = setup.cache.begin_trail(TRANSACTION, setup.within, None).unwrap();
        setup.cache.keep(TRANSACTION, BlobId(7), vec![1]);
        setup.cache.row(trail, Some(BlobId(7)));
        setup.cache.row_ends();
        setup.cache.keep(TRANSACTION, BlobId(7), vec![2]);
        setup.cache.row(trail, Some(BlobId(7)));
        setup.cache.row_ends();
        assert!(matches!(setup.take(7), Found::Whole(contents) if contents == [2]));
        // The newer one did not come with its row: the older one must not stand for it.
        setup.cache.keep(TRANSACTION, BlobId(8), vec![1]);
        setup.cache.row(trail, Some(BlobId(8)));
        setup.cache.row_ends();
        setup.cache.row(trail, Some(BlobId(8)));
        setup.cache.row_ends();
        assert!(matches!(setup.take(8), Found::Nowhere));
        // Ids that name a relation are never used again.
        setup.cache.keep(TRANSACTION, BlobId(PERMANENT), vec![1]);
        setup.cache.row(trail, Some(BlobId(PERMANENT)));
        setup.cache.row_ends();
        setup.cache.row(trail, Some(BlobId(PERMANENT)));
        setup.cache.row_ends();
        assert!(matches!(setup.take(PERMANENT), Found::Whole(_)));
    }

    #[test]
    fn a_list_is_asked_for_at_once_and_topped_up_at_half() {
        let mut setup = setup(0, 1 << 30);
        let ids: Vec<_> = (PERMANENT..PERMANENT + 1_000).map(BlobId).collect();
        let list = setup.cache.begin_list(TRANSACTION, setup.within, &ids).unwrap();
        assert_eq!(setup.ask(true).len(), OPEN_MAX);
        for id in PERMANENT..PERMANENT + 127 {
            assert!(matches!(setup.take(id), Found::Ahead(_)));
            assert!(setup.ask(false).is_empty());
        }
        assert!(matches!(setup.take(PERMANENT + 127), Found::Ahead(_)));
        assert_eq!(setup.ask(false).len(), 128);
        assert_eq!(setup.cache.end_list(list).len(), OPEN_MAX);
    }

    #[test]
    fn rows_that_come_while_the_reader_waits_have_theirs_asked_for_in_few_flights() {
        let mut setup = setup(0, 1 << 30);
        let trail = setup.column(PERMANENT..PERMANENT + 1);
        assert!(matches!(setup.take(PERMANENT), Found::Nowhere));
        let mut flights = Vec::new();
        for id in PERMANENT + 1..PERMANENT + 28 {
            setup.cache.row(trail, Some(BlobId(id)));
            flights.push(setup.ask_on(Occasion::Arrival { in_flight: 1 << 30 }).len());
        }
        flights.retain(|count| *count > 0);
        assert_eq!(flights, [1, 1, 2, 4, 8]);
        // The line is going to idle.
        assert_eq!(setup.ask_on(Occasion::Arrival { in_flight: 0 }).len(), 11);
    }

    #[test]
    fn what_is_taken_before_it_is_here_counts_for_how_long_they_are() {
        let mut setup = setup(0, 1 << 30);
        let trail = setup.column(PERMANENT..PERMANENT + 3);
        assert!(matches!(setup.take(PERMANENT), Found::Nowhere));
        assert_eq!(setup.ask(true).len(), 2);
        assert!(matches!(setup.take(PERMANENT + 1), Found::Ahead(_)));
        assert!(setup.cache.answered(setup.tickets[0], 1_000).is_none());
        assert_eq!(setup.cache.trails[&trail].blob_bytes(), 1_000 + BLOB_BYTES_OVERHEAD);
    }
}
