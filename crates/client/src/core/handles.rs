//! The server's table of objects, as far as it can be told from what was sent and answered.
//!
//! A server gives a new object the lowest free number from 1. So while every change to the table is known, the number
//! of a new object is known before its reply, and requests that name it may leave in the same flight. Each reply is
//! compared with what was expected.
//!
//! # Invariants
//! - A number is predicted only while no request is under way whose effect on the table depends on its outcome (an end
//!   of a transaction, an open of a BLOB).
//! - After a wrong prediction nothing is predicted any more. If a request named the object by the wrong number, the
//!   connection has failed: nobody can tell what that request did.
//!
//! # Source
//! wire-protocol 1.6: FirebirdSQL/firebird `src/remote/remote.h` (`rem_port::get_id`), `src/remote/server/server.cpp`.

use std::collections::{BTreeSet, HashMap, VecDeque};

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::{Reply, Request};
use farbird_wire::protocol::{HANDLES_MAX, Handle, free_statement};

use super::conversation::Ticket;
use crate::error;

/// Names an object on this side, from before the server has named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId(u64);

/// What an object is, and with it how it is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Transaction,
    Statement,
    /// Read: closed when it is released.
    OpenBlob,
    /// Written: thrown away when it is released.
    NewBlob,
}

impl Kind {
    /// The request that releases an object of this kind.
    fn release(self, handle: Handle) -> Request {
        match self {
            Kind::Transaction => Request::Rollback(handle),
            Kind::Statement => Request::FreeStatement { statement: handle, option: free_statement::DROP },
            Kind::OpenBlob => Request::CloseBlob(handle),
            Kind::NewBlob => Request::CancelBlob(handle),
        }
    }

    /// Whether asking for such an object may well fail.
    fn is_doubtful(self) -> bool {
        matches!(self, Kind::OpenBlob)
    }
}

#[derive(Debug)]
enum State {
    /// Asked for; the number is what is expected.
    Pending {
        ticket: Ticket,
        predicted: Option<Handle>,
        is_used: bool,
    },
    Known(Handle),
    Failed(Error),
    /// The server has forgotten it.
    Gone,
}

#[derive(Debug)]
struct Object {
    kind: Kind,
    /// The transaction with which it ends.
    within: Option<ObjectId>,
    state: State,
    /// Nobody holds it any more: it is released as soon as it is known what there is to release.
    is_dropped: bool,
    /// A request that ends it is under way.
    is_ending: bool,
    /// Its transaction was rolled back behind the question for it: it is gone as soon as it is there.
    is_short_lived: bool,
    /// The question that may have moved it on: see [`Handles::disturbed`].
    disturbed: Option<Ticket>,
}

/// What a number is known to be right now.
pub(crate) enum Known {
    /// Use this.
    Handle(Handle),
    /// It is known once this is answered.
    After(Ticket),
}

/// What the answer to a question is going to change.
#[derive(Debug)]
enum Change {
    /// The object gets its number.
    Allocated(ObjectId),
    /// The object ends if the request succeeds.
    Ended(ObjectId),
    /// The transaction ends if the reply says so: the statement may be a COMMIT.
    MayHaveEnded(ObjectId),
}

/// The table.
#[derive(Debug)]
pub(crate) struct Handles {
    objects: HashMap<ObjectId, Object>,
    named: u64,
    /// Numbers that are taken once everything sent has been done.
    taken: BTreeSet<u16>,
    /// Changes under way, oldest first.
    changes: VecDeque<(Ticket, Change)>,
    /// How many of them have an effect on the table that depends on their outcome.
    doubtful: usize,
    is_predicting: bool,
    /// What 0xFFFF names on the server.
    latest: Option<ObjectId>,
}

impl Handles {
    pub(crate) fn new(is_predicting: bool) -> Handles {
        Handles {
            objects: HashMap::new(),
            named: 0,
            taken: BTreeSet::new(),
            changes: VecDeque::new(),
            doubtful: 0,
            is_predicting,
            latest: None,
        }
    }

    /// Whether the number of an object asked for next would be known at once.
    pub(crate) fn can_predict(&self) -> bool {
        self.is_predicting && self.doubtful == 0
    }

    /// An object is asked for by this question.
    pub(crate) fn allocate(&mut self, kind: Kind, within: Option<ObjectId>, ticket: Ticket) -> ObjectId {
        self.named += 1;
        let id = ObjectId(self.named);
        let predicted = self.lowest_free().filter(|_| self.can_predict() && !kind.is_doubtful());
        if let Some(Handle(number)) = predicted {
            self.taken.insert(number);
        } else {
            self.doubtful += 1;
        }
        let state = State::Pending { ticket, predicted, is_used: false };
        let object = Object {
            kind,
            within,
            state,
            is_dropped: false,
            is_ending: false,
            is_short_lived: false,
            disturbed: None,
        };
        self.objects.insert(id, object);
        self.changes.push_back((ticket, Change::Allocated(id)));
        id
    }

    fn lowest_free(&self) -> Option<Handle> {
        let taken = self.taken.iter().copied();
        let free = taken.zip(1..).find(|(taken, number)| taken != number).map(|(_, number)| number);
        let next = u16::try_from(self.taken.len()).unwrap_or(HANDLES_MAX) + 1;
        Some(Handle(free.unwrap_or(next))).filter(|handle| handle.0 < HANDLES_MAX)
    }

    /// The number by which a request may name the object now.
    pub(crate) fn handle(&mut self, id: ObjectId) -> Result<Known> {
        let Some(object) = self.objects.get_mut(&id) else { return Err(gone(Kind::Transaction)) };
        match &mut object.state {
            State::Known(handle) => Ok(Known::Handle(*handle)),
            State::Pending { predicted: Some(handle), is_used, .. } if self.is_predicting || *is_used => {
                *is_used = true;
                Ok(Known::Handle(*handle))
            }
            State::Pending { ticket, .. } => Ok(Known::After(*ticket)),
            State::Failed(error) => Err(error.clone()),
            State::Gone => Err(gone(object.kind)),
        }
    }

    /// Transactions and statements that somebody holds, whether the server still has them or not.
    pub(crate) fn held(&self) -> usize {
        let is_held = |object: &&Object| {
            matches!(object.kind, Kind::Transaction | Kind::Statement) && !object.is_dropped
        };
        self.objects.values().filter(is_held).count()
    }

    /// Why the object does not exist, if the server refused it.
    pub(crate) fn failure(&self, id: ObjectId) -> Option<Error> {
        match self.objects.get(&id).map(|object| &object.state) {
            Some(State::Failed(error)) => Some(error.clone()),
            _ => None,
        }
    }

    /// The object ends if this question is answered with success.
    pub(crate) fn ends(&mut self, id: ObjectId, ticket: Ticket) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.is_ending = true;
        }
        self.doubtful += 1;
        self.changes.push_back((ticket, Change::Ended(id)));
    }

    /// This statement may end its transaction.
    pub(crate) fn may_end(&mut self, id: ObjectId, ticket: Ticket) {
        self.doubtful += 1;
        self.changes.push_back((ticket, Change::MayHaveEnded(id)));
    }

    /// Nobody holds the object any more. Gives what tells the server, if that can be told now.
    pub(crate) fn release(&mut self, id: ObjectId) -> Option<Request> {
        let object = self.objects.get_mut(&id)?;
        match object.state {
            State::Known(handle) if !object.is_ending => {
                let kind = object.kind;
                self.forget(id, handle);
                self.objects.remove(&id);
                Some(kind.release(handle))
            }
            State::Known(_) | State::Pending { .. } => {
                object.is_dropped = true;
                None
            }
            State::Failed(_) | State::Gone => {
                self.objects.remove(&id);
                None
            }
        }
    }

    /// The number is free again, and so are those of all that depended on the object.
    fn forget(&mut self, id: ObjectId, handle: Handle) {
        self.taken.remove(&handle.0);
        let (objects, taken) = (&mut self.objects, &mut self.taken);
        objects.retain(|_, object| {
            if object.within != Some(id) {
                return true;
            }
            match object.state {
                State::Known(handle) => {
                    taken.remove(&handle.0);
                    object.state = State::Gone;
                }
                State::Pending { .. } => object.is_short_lived = true,
                State::Failed(_) | State::Gone => {}
            }
            !(object.is_dropped && matches!(object.state, State::Gone))
        });
    }

    /// A question is answered to its end. Gives what is to be told to the server about objects that nobody holds, and
    /// the handle of a transaction that has ended.
    ///
    /// # Errors
    /// A request named an object by a wrong number.
    pub(crate) fn settle(&mut self, ticket: Ticket, reply: &Reply) -> Result<Settled> {
        let mut settled = Settled::default();
        while self.changes.front().is_some_and(|(asked, _)| *asked <= ticket) {
            let Some((_, change)) = self.changes.pop_front() else { break };
            let outcome = match reply {
                Reply::Response(response) => match response.status.error() {
                    None => Ok(response.object),
                    Some(error) => Err(error),
                },
                _ => Err(error::unexpected("a request")),
            };
            match change {
                Change::Allocated(id) => {
                    self.note_latest(id, outcome.is_ok(), ticket);
                    settled.release = self.allocated(id, outcome)?;
                }
                Change::Ended(id) => {
                    self.doubtful -= 1;
                    self.ended(id, outcome.is_ok(), &mut settled);
                }
                Change::MayHaveEnded(id) => {
                    self.doubtful -= 1;
                    if matches!(outcome, Ok(Handle::NONE)) {
                        self.ended(id, true, &mut settled);
                    }
                }
            }
        }
        Ok(settled)
    }

    /// What was meant for a BLOB that could not be opened has been asked of the object that was the latest before it:
    /// servers read that one on if it is a BLOB (wire-protocol.md, 9.1).
    fn note_latest(&mut self, id: ObjectId, is_there: bool, ticket: Ticket) {
        if is_there {
            self.latest = Some(id);
            return;
        }
        let is_blob = self.objects.get(&id).is_some_and(|object| object.kind == Kind::OpenBlob);
        let latest = self.latest.and_then(|latest| self.objects.get_mut(&latest));
        if let Some(latest) = latest.filter(|latest| is_blob && latest.kind == Kind::OpenBlob) {
            latest.disturbed.get_or_insert(ticket);
        }
    }

    /// The question behind which nobody knows any more where an open BLOB is read from: it has to be opened again.
    pub(crate) fn disturbed(&self, id: ObjectId) -> Option<Ticket> {
        self.objects.get(&id)?.disturbed
    }

    fn allocated(&mut self, id: ObjectId, outcome: Result<Handle>) -> Result<Option<Request>> {
        let Some(object) = self.objects.get_mut(&id) else { return Ok(None) };
        let State::Pending { predicted, is_used, .. } = object.state else { return Ok(None) };
        if predicted.is_none() {
            self.doubtful -= 1;
        }
        match outcome {
            Ok(_) if object.is_short_lived => {
                object.state = State::Gone;
                if object.is_dropped {
                    self.objects.remove(&id);
                }
                Ok(None)
            }
            Ok(handle) => {
                object.state = State::Known(handle);
                let (is_dropped, is_ending) = (object.is_dropped, object.is_ending);
                if let Some(expected) = predicted.filter(|expected| *expected != handle) {
                    self.is_predicting = false;
                    if is_used {
                        return Err(wrong_handle(expected, handle));
                    }
                    // The number that was expected may be another object's by now, and is no longer relied upon.
                }
                self.taken.insert(handle.0);
                Ok(if is_dropped && !is_ending { self.release(id) } else { None })
            }
            Err(error) => {
                if let Some(Handle(number)) = predicted {
                    self.taken.remove(&number);
                }
                object.state = State::Failed(error);
                if object.is_dropped {
                    self.objects.remove(&id);
                }
                Ok(None)
            }
        }
    }

    fn ended(&mut self, id: ObjectId, has_ended: bool, settled: &mut Settled) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        object.is_ending = false;
        let (State::Known(handle), is_dropped) = (&object.state, object.is_dropped) else { return };
        let handle = *handle;
        if has_ended {
            object.state = State::Gone;
            if object.kind == Kind::Transaction {
                settled.ended = Some(handle);
            }
            self.forget(id, handle);
            if is_dropped {
                self.objects.remove(&id);
            }
        } else if is_dropped {
            settled.release = self.release(id);
        }
    }
}

/// What came of an answer.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// Something that nobody holds and the server still has.
    pub(crate) release: Option<Request>,
    /// A transaction that is no more.
    pub(crate) ended: Option<Handle>,
}

fn gone(kind: Kind) -> Error {
    Error::new(match kind {
        Kind::Transaction => isc::BAD_TRANS_HANDLE,
        Kind::Statement => isc::BAD_STMT_HANDLE,
        Kind::OpenBlob | Kind::NewBlob => isc::BAD_SEGSTR_HANDLE,
    })
}

fn wrong_handle(expected: Handle, given: Handle) -> Error {
    Error::new(isc::NET_READ_ERR).and(isc::RANDOM).with(format!(
        "the server gave handle {} where {} was expected: connect with `predict_handles` off",
        given.0, expected.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_wire::packet::Response;

    fn success(handle: u16) -> Reply {
        Reply::Response(Response { object: Handle(handle), ..Response::success() })
    }

    fn failure() -> Reply {
        let status = farbird_wire::status::StatusVector::from_error(&Error::new(isc::RANDOM));
        Reply::Response(Response { status, ..Response::success() })
    }

    fn number(handles: &mut Handles, id: ObjectId) -> Option<u16> {
        match handles.handle(id) {
            Ok(Known::Handle(handle)) => Some(handle.0),
            _ => None,
        }
    }

    #[test]
    fn numbers_are_known_before_their_replies_and_the_lowest_free_one_is_next() {
        let mut handles = Handles::new(true);
        let tickets = Ticket::numbered(1..9);
        let first = handles.allocate(Kind::Transaction, None, tickets[0]);
        let second = handles.allocate(Kind::Statement, None, tickets[1]);
        let third = handles.allocate(Kind::Statement, None, tickets[2]);
        let numbers = [first, second, third].map(|id| number(&mut handles, id));
        assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
        for (ticket, number) in tickets.iter().zip(1..4) {
            handles.settle(*ticket, &success(number)).unwrap();
        }
        let release = handles.release(second);
        let drop = Request::FreeStatement { statement: Handle(2), option: free_statement::DROP };
        assert_eq!(release, Some(drop));
        let fourth = handles.allocate(Kind::Statement, None, tickets[4]);
        assert_eq!(number(&mut handles, fourth), Some(2));
    }

    #[test]
    fn nothing_is_predicted_while_an_outcome_is_open() {
        let mut handles = Handles::new(true);
        let tickets = Ticket::numbered(1..9);
        let transaction = handles.allocate(Kind::Transaction, None, tickets[0]);
        handles.settle(tickets[0], &success(1)).unwrap();
        let blob = handles.allocate(Kind::OpenBlob, Some(transaction), tickets[1]);
        assert_eq!(number(&mut handles, blob), None);
        let statement = handles.allocate(Kind::Statement, None, tickets[2]);
        assert_eq!(number(&mut handles, statement), None);
        handles.settle(tickets[1], &failure()).unwrap();
        assert!(handles.failure(blob).is_some());
        handles.settle(tickets[2], &success(2)).unwrap();
        assert_eq!(number(&mut handles, statement), Some(2));
        handles.ends(transaction, tickets[3]);
        assert!(!handles.can_predict());
        let settled = handles.settle(tickets[3], &success(0)).unwrap();
        assert_eq!(settled.ended, Some(Handle(1)));
        let next = handles.allocate(Kind::Transaction, None, tickets[4]);
        assert_eq!(number(&mut handles, next), Some(1));
    }

    #[test]
    fn blobs_end_with_their_transaction_and_are_not_closed_after_it() {
        let mut handles = Handles::new(true);
        let tickets = Ticket::numbered(1..9);
        let transaction = handles.allocate(Kind::Transaction, None, tickets[0]);
        let blob = handles.allocate(Kind::OpenBlob, Some(transaction), tickets[1]);
        handles.settle(tickets[0], &success(1)).unwrap();
        handles.settle(tickets[1], &success(2)).unwrap();
        assert_eq!(handles.release(transaction), Some(Request::Rollback(Handle(1))));
        assert_eq!(handles.release(blob), None);
        let next = handles.allocate(Kind::Statement, None, tickets[2]);
        assert_eq!(number(&mut handles, next), Some(1));
    }

    #[test]
    fn a_wrong_prediction_is_corrected_if_nobody_relied_on_it_and_fatal_otherwise() {
        let mut handles = Handles::new(true);
        let tickets = Ticket::numbered(1..9);
        let unused = handles.allocate(Kind::Transaction, None, tickets[0]);
        handles.settle(tickets[0], &success(7)).unwrap();
        assert_eq!(number(&mut handles, unused), Some(7));
        assert!(!handles.can_predict());

        let mut handles = Handles::new(true);
        let used = handles.allocate(Kind::Transaction, None, tickets[0]);
        assert_eq!(number(&mut handles, used), Some(1));
        assert!(handles.settle(tickets[0], &success(7)).is_err());
    }

    #[test]
    fn what_was_dropped_before_its_reply_is_released_after_it() {
        let mut handles = Handles::new(true);
        let tickets = Ticket::numbered(1..9);
        let transaction = handles.allocate(Kind::Transaction, None, tickets[0]);
        assert_eq!(handles.release(transaction), None);
        let settled = handles.settle(tickets[0], &success(1)).unwrap();
        assert_eq!(settled.release, Some(Request::Rollback(Handle(1))));
        // A commit that fails leaves a transaction that somebody has to roll back.
        let transaction = handles.allocate(Kind::Transaction, None, tickets[1]);
        handles.settle(tickets[1], &success(1)).unwrap();
        handles.ends(transaction, tickets[2]);
        assert_eq!(handles.release(transaction), None);
        let settled = handles.settle(tickets[2], &failure()).unwrap();
        assert_eq!(settled.release, Some(Request::Rollback(Handle(1))));
    }
}
