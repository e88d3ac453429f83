//! What each statement costs: its packets, their bytes, and the round trips that they take part in.
//!
//! A request is charged to the statement that it names, by its number or as the object allocated last, or to the one whose
//! rows hold the BLOB that it names. Promises: nothing
//! for each answer but a comparison; what nobody holds any more is forgotten.

use std::collections::{HashMap, VecDeque};
use std::ops::Sub;

use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use super::conversation::Ticket;
use super::handles::ObjectId;

/// What a statement has cost: its prepare, executions, fetches, questions about it, closing, and the BLOBs of its rows:
/// those that came with them, those that were asked for ahead, and those that are read while the cursor is open (with
/// [`Tuning::blob_ahead`](crate::Tuning::blob_ahead)). The closing of BLOBs is not charged.
///
/// Packets and bytes are the statement's alone, as [`Counters`](crate::Counters) has them before compression. Physical
/// writes and reads belong to no statement: they carry what several have to say.
///
/// The difference of two moments is `later - earlier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StatementCounters {
    /// Packets sent.
    pub out_packets: u64,
    /// Packets received.
    pub in_packets: u64,
    /// Bytes sent, before compression.
    pub out_bytes: u64,
    /// Bytes received, after decompression.
    pub in_bytes: u64,
    /// Round trips that carried a question of the statement. One that several statements share counts for each of them, so
    /// the sum over statements may be more than [`Counters::round_trips`](crate::Counters::round_trips). What leaves
    /// without anybody being interested in the answer (closing, releasing) travels with others and counts none.
    pub round_trips: u64,
}

/// What was counted between two moments. A count that is smaller in the later one (that of another statement) gives 0.
impl Sub for StatementCounters {
    type Output = StatementCounters;

    fn sub(self, earlier: StatementCounters) -> StatementCounters {
        StatementCounters {
            out_packets: self.out_packets.saturating_sub(earlier.out_packets),
            in_packets: self.in_packets.saturating_sub(earlier.in_packets),
            out_bytes: self.out_bytes.saturating_sub(earlier.out_bytes),
            in_bytes: self.in_bytes.saturating_sub(earlier.in_bytes),
            round_trips: self.round_trips.saturating_sub(earlier.round_trips),
        }
    }
}

#[derive(Debug, Default)]
struct Account {
    counters: StatementCounters,
    /// The round trip that carried the last question.
    last_trip: Option<u64>,
}

/// The accounts of one connection's statements.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    accounts: HashMap<ObjectId, Account>,
    /// BLOBs, and the statements whose rows they were read for.
    readers: HashMap<ObjectId, ObjectId>,
    /// Which object a number means, of those that were named.
    numbers: HashMap<Handle, ObjectId>,
    /// The object allocated last, which [`Handle::LATEST`] means.
    latest: Option<ObjectId>,
    /// Questions without an answer, oldest first.
    asked: VecDeque<(Ticket, ObjectId)>,
    /// Statements with questions that have not left.
    leaving: Vec<ObjectId>,
}

impl Accounts {
    /// A statement is asked for, by a request of so many bytes.
    pub(super) fn open(&mut self, statement: ObjectId, ticket: Ticket, bytes: usize) {
        self.accounts.insert(statement, Account::default());
        self.latest = Some(statement);
        self.charge(statement, ticket, bytes);
    }

    /// Another object is asked for, because of a statement or not.
    pub(super) fn allocated(&mut self, object: ObjectId) {
        self.latest = Some(object);
    }

    /// The BLOB was opened because of a row of this statement, by a question of so many bytes.
    pub(super) fn reads(&mut self, blob: ObjectId, statement: ObjectId, ticket: Ticket, bytes: usize) {
        self.readers.insert(blob, statement);
        self.charge(statement, ticket, bytes);
        self.leaving.push(statement);
    }

    /// The object that a number means, if requests have named it.
    pub(super) fn object_of(&self, handle: Handle) -> Option<ObjectId> {
        self.numbers.get(&handle).copied()
    }

    /// Requests that follow name this object by this number.
    pub(super) fn named(&mut self, handle: Handle, object: ObjectId) {
        self.numbers.insert(handle, object);
    }

    /// Nobody holds the object any more.
    pub(super) fn close(&mut self, object: ObjectId) {
        self.accounts.remove(&object);
        self.readers.remove(&object);
        self.numbers.retain(|_, named| *named != object);
    }

    /// A request of so many bytes is queued; `is_question` if somebody is interested in its answer.
    pub(super) fn queued(&mut self, request: &Request, ticket: Ticket, bytes: usize, is_question: bool) {
        let Some(statement) = self.payer(request) else { return };
        self.charge(statement, ticket, bytes);
        if is_question {
            self.leaving.push(statement);
        }
    }

    /// The statement that a request is about.
    fn payer(&self, request: &Request) -> Option<ObjectId> {
        let handle = match request {
            Request::Prepare(text) => text.statement,
            Request::Execute(execute) => execute.statement,
            Request::Execute2(execute) => execute.execute.statement,
            Request::Fetch(fetch) => fetch.statement,
            Request::FreeStatement { statement, .. } => *statement,
            Request::StatementInformation(information) | Request::BlobInformation(information) => {
                information.object
            }
            Request::GetSegment(segment) => segment.blob,
            _ => return None,
        };
        let object = match handle {
            Handle::LATEST => self.latest,
            handle => self.numbers.get(&handle).copied(),
        }?;
        Some(self.readers.get(&object).copied().unwrap_or(object))
    }

    fn charge(&mut self, statement: ObjectId, ticket: Ticket, bytes: usize) {
        let Some(account) = self.accounts.get_mut(&statement) else { return };
        account.counters.out_packets += 1;
        account.counters.out_bytes += bytes as u64;
        self.asked.push_back((ticket, statement));
    }

    /// What is queued leaves, in the round trip of this number.
    pub(super) fn departed(&mut self, trip: u64) {
        for statement in self.leaving.drain(..) {
            let Some(account) = self.accounts.get_mut(&statement) else { continue };
            if account.last_trip.replace(trip) != Some(trip) {
                account.counters.round_trips += 1;
            }
        }
    }

    /// So many packets and bytes answered this question.
    pub(super) fn answered(&mut self, ticket: Ticket, packets: u64, bytes: usize, is_last: bool) {
        while self.asked.front().is_some_and(|(asked, _)| *asked < ticket) {
            self.asked.pop_front();
        }
        let Some((_, statement)) = self.asked.front().filter(|(asked, _)| *asked == ticket) else { return };
        if let Some(account) = self.accounts.get_mut(statement) {
            account.counters.in_packets += packets;
            account.counters.in_bytes += bytes as u64;
        }
        if is_last {
            self.asked.pop_front();
        }
    }

    /// What a statement has cost so far.
    pub(super) fn of(&self, statement: ObjectId) -> StatementCounters {
        self.accounts.get(&statement).map(|account| account.counters).unwrap_or_default()
    }
}
