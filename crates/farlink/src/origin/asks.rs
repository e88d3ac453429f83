//! What the edge asks: taken in its order, and sent to the server once everything that it names is there.

use farbird_wire::info::common;
use farbird_wire::operation::Operation;
use farbird_wire::packet::{Information, Reply, Request, Response};
use farbird_wire::protocol::{Handle, free_statement};
use farbird_wire::status::StatusVector;

use super::blob_reading::{BlobKey, BlobReading};
use super::conversation::{Conversation, Stage};
use super::objects::{Kind, Named, Object, Place, Preparation};
use super::own_login::Block;
use super::pushed_cursor::{PendingQuestion, PushedCursor};
use super::requests::Hindrance;
use super::work::{
    AuxiliaryStep, Purpose, Sent, Work, ask_bytes, information, may_be_written, may_undo, needs_rest,
};
use super::{private, translate};
use crate::message::{Ask, AskBehind, Question, RequestId, Tell};

impl Conversation {
    /// Understands what the edge asks, and puts it behind what waits.
    pub(super) fn take(&mut self, ask: Ask) {
        let bytes = ask_bytes(&ask);
        // Sent right behind, before anything of the origin's own is.
        let mut behind = None;
        let work = match ask {
            Ask::Relay { id, object, packet } => {
                let Some((mut request, named)) = self.understood(&packet, object) else { return };
                if self.logging_in.is_some() && !self.takes_own_login(id, &mut request) {
                    return;
                }
                match *request {
                    // An answer to what the server asks within another request.
                    Request::CryptKeyCallback(_) => return self.answer_callback(id, &request),
                    Request::Disconnect | Request::Connect(_) | Request::Crypt { .. } => {
                        return self.end("the edge relayed what is its own affair");
                    }
                    _ => Work::Relay { id, request, named },
                }
            }
            Ask::Quiet { object, packet } => {
                let Some((request, named)) = self.understood(&packet, object) else { return };
                Work::Quiet { request, named }
            }
            Ask::AttachAhead { id, packet } => {
                let Some((request, _)) = self.understood(&packet, 0) else { return };
                Work::AttachAhead { id, request }
            }
            Ask::Attached { process_id } => Work::Attached { process_id },
            Ask::DetachAhead => Work::DetachAhead,
            Ask::NameCommit { .. } if !self.is_farbird => return,
            Ask::NameCommit { transaction, name } => {
                let items = private::commit_name(name);
                let information = information(Handle(transaction), items, 16);
                let mut request = Request::TransactionInformation(information);
                let named = Named::of(&mut request, 0);
                Work::NameCommit { request: Box::new(request), named }
            }
            Ask::Write { id, packet } => {
                let Some((request, named)) = self.understood(&packet, 0) else { return };
                if !may_be_written(&request, &named) {
                    return self.end("the edge answered as done what is no write");
                }
                Work::Write { id, request, named }
            }
            Ask::Undo { id, packet } => {
                let Some((request, named)) = self.understood(&packet, 0) else { return };
                if !may_undo(&request, &named) {
                    return self.end("the edge undid writes by what cannot undo any");
                }
                Work::Undo { id, request, named }
            }
            Ask::Prepared { packet, described } => {
                let Some((request, named)) = self.understood(&packet, 0) else { return };
                if !matches!(*request, Request::Prepare(_)) {
                    return self.end("the edge described what is no statement");
                }
                Work::Prepared { request, named, described }
            }
            Ask::Open { id, cursor, packet, push, question, ahead } => {
                let Some((request, named)) = self.understood(&packet, 0) else { return };
                if self.cursors.len() + self.blobs.len() >= self.limits.pushes {
                    return self.end("too many cursors are open");
                }
                let Some(mut pushed) = PushedCursor::new(&named, &request, push) else {
                    return self.end("the edge opened what is no cursor");
                };
                let question = match question {
                    Some(AskBehind { id, rows, packet }) => {
                        let Some((request, named)) = self.understood(&packet, 0) else { return };
                        let is_ordinary = match &*request {
                            Request::StatementInformation(Information { items, buffer_length, .. }) => {
                                Question::may_be(items, buffer_length.0)
                            }
                            _ => false,
                        };
                        if !is_ordinary || !pushed.may_be_asked_behind(rows) {
                            return self.end("the edge asked something else about an execution");
                        }
                        Some((rows, Work::Relay { id, request, named }))
                    }
                    None => None,
                };
                match question {
                    Some((0, work)) => behind = Some(work),
                    Some((rows, Work::Relay { id, request, named })) => {
                        pushed.question = Some(PendingQuestion { id, rows, request, named });
                    }
                    _ => {}
                }
                self.cursors.insert(cursor, pushed);
                Work::Open { id, cursor, request, named, ahead }
            }
            Ask::Push { cursor, push } => {
                let is_whole = self.cursors.get_mut(&cursor).is_none_or(|known| known.push(push));
                if !is_whole {
                    self.end("the edge asked for rows of no format");
                }
                return;
            }
            Ask::OpenBlob { id, cursor, packet, credit } => {
                let Some((request, named)) = self.understood(&packet, 0) else { return };
                let Some(reading) = BlobReading::of_edge(&request, credit) else {
                    return self.end("the edge opened what is no BLOB");
                };
                if self.cursors.len() + self.blobs.len() >= self.limits.pushes {
                    return self.end("too many BLOBs are open");
                }
                self.blobs.insert(BlobKey { cursor, number: 0 }, reading);
                Work::OpenBlob { id, cursor, request, named }
            }
            Ask::CloseCursor { cursor } => Work::CloseCursor(cursor),
            Ask::Credit { cursor, bytes } => {
                if let Some(pushed) = self.cursors.get_mut(&cursor) {
                    pushed.credit(bytes);
                }
                if let Some(reading) = self.blobs.get_mut(&BlobKey { cursor, number: 0 }) {
                    reading.credit(bytes);
                }
                return;
            }
            // In their turn, too: they name transactions by handles that are given again.
            Ask::Ahead { .. } | Ask::AheadCredit { .. } | Ask::AheadStop { .. } => Work::Ahead(Box::new(ask)),
            Ask::BelieveTexts => {
                self.definitions.believe();
                return;
            }
            Ask::CloseAuxiliary => {
                self.auxiliary = Some(AuxiliaryStep::Close);
                return;
            }
            Ask::Cancel { kind } => {
                // Cannot fail: it expects no answer.
                let _ = self.line.send(&Request::Cancel { kind });
                return;
            }
        };
        self.waiting_bytes += bytes;
        self.waiting.push_back((work, bytes));
        self.waiting.extend(behind.map(|work| (work, 0)));
        self.check_waiting();
    }

    /// Decodes one packet of the edge.
    fn understood(&mut self, packet: &[u8], object: u16) -> Option<(Box<Request>, Named)> {
        self.requests.feed(packet);
        let decoded = self.requests.next_request();
        let (Ok(Some(mut request)), true) = (decoded, self.requests.unread().is_empty()) else {
            self.end("the edge sent a packet that cannot be read");
            return None;
        };
        let known = match &request {
            Request::AllocateStatement(_) => {
                self.requests.statement_allocated(Handle(object));
                Ok(())
            }
            Request::Compile { blr, .. } => self.requests.request_compiled(Handle(object), blr),
            _ => Ok(()),
        };
        if known.is_err() {
            self.end("the edge sent a BLR request that cannot be understood");
            return None;
        }
        let named = Named::of(&mut request, object);
        Some((Box::new(request), named))
    }

    /// Answers what the server asks within a request: the request's further replies are for this one.
    fn answer_callback(&mut self, id: RequestId, request: &Request) {
        if let Some(oldest) = self.sent.front_mut() {
            oldest.purpose = Purpose::Relay(id);
            let _ = self.line.send(request);
        }
    }

    /// Sends what can be sent.
    pub(super) fn advance(&mut self) {
        while self.stage != Stage::Ended {
            if self.stage != Stage::Attached && !self.sent.is_empty() {
                return;
            }
            let Some((work, bytes)) = self.waiting.pop_front() else { break };
            if self.attaches_instead(&work) {
                self.waiting.push_front((work, bytes));
                continue;
            }
            if needs_rest(&work) && (!self.rest_ahead() || self.definitions.is_asking()) {
                self.waiting.push_front((work, bytes));
                return;
            }
            match self.try_work(work) {
                Ok(()) => self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes),
                Err(work) => {
                    self.waiting.push_front((work, bytes));
                    return self.draw_out();
                }
            }
        }
        self.deliver();
        if self.stage == Stage::Attached {
            self.read_blobs();
            self.fetch_ahead();
            self.run_ahead();
        }
    }

    /// Whether the server may hold back an answer for which a program waits, all that was sent behind it being held back too. What the
    /// program asked next, so as to get this answer, the edge may have answered by itself.
    pub(super) fn is_held_for_program(&self) -> bool {
        let answered = self.sent.iter().rposition(|sent| !may_be_held(sent.operation));
        let mut held = self.sent.iter().skip(answered.map_or(0, |place| place + 1)).peekable();
        while let Some(sent) = held.next() {
            let is_awaited = matches!(sent.purpose, Purpose::Relay(_) | Purpose::Undo(_) | Purpose::Open(..));
            let is_answered = held.peek().is_none() && is_execution(sent);
            if is_awaited && !is_answered {
                return true;
            }
        }
        false
    }

    /// Something waits for an answer. A server holds some answers back until it is asked something else.
    pub(super) fn draw_out(&mut self) {
        let is_held = self.sent.back().is_some_and(|sent| may_be_held(sent.operation) && !is_execution(sent));
        if is_held {
            let request = match self.line.version().has_plugins() {
                true => Request::Ping,
                false => Request::DatabaseInformation(information(Handle::NONE, vec![common::END], 16)),
            };
            self.transmit(&request, Named::default(), Purpose::Ignored);
        }
    }

    /// Does one piece of work, or gives it back if it must wait.
    fn try_work(&mut self, work: Work) -> Result<(), Work> {
        match work {
            Work::Relay { id, mut request, named } => match self.admitted(&mut request, &named) {
                Ok(()) => {
                    self.before(&request, &named);
                    self.transmit(&request, named, Purpose::Relay(id));
                    self.after_prepare(&request, &named);
                    Ok(())
                }
                Err(Hindrance::Fail(status)) => {
                    self.fail(request.operation(), id, status);
                    Ok(())
                }
                Err(Hindrance::Nothing(object)) => {
                    self.forget(&request, &named);
                    let mut packets = Vec::new();
                    Reply::Response(Response::object(object)).encode(self.line.version(), &mut packets);
                    self.tell(Tell::Reply { id, packets });
                    Ok(())
                }
                Err(hindrance) => {
                    self.prepare_way(&hindrance, named.transaction);
                    Err(Work::Relay { id, request, named })
                }
            },
            Work::AttachAhead { id, request } => {
                self.attach_ahead(id, *request);
                Ok(())
            }
            Work::Attached { process_id } => {
                self.taken_ahead(process_id);
                Ok(())
            }
            Work::DetachAhead => {
                self.detach_ahead();
                Ok(())
            }
            Work::NameCommit { mut request, named } => match self.admitted(&mut request, &named) {
                Ok(()) => {
                    self.transmit(&request, named, Purpose::Ignored);
                    Ok(())
                }
                // What is to be committed fails for the same reason.
                Err(Hindrance::Fail(_) | Hindrance::Nothing(_)) => Ok(()),
                Err(hindrance) => {
                    self.prepare_way(&hindrance, named.transaction);
                    Err(Work::NameCommit { request, named })
                }
            },
            Work::Write { id, mut request, named } => {
                self.write(id, &mut request, named).map_err(|()| Work::Write { id, request, named })
            }
            Work::Undo { id, mut request, named } => {
                self.undo(id, &mut request, named).map_err(|()| Work::Undo { id, request, named })
            }
            Work::Quiet { mut request, named } => {
                self.quiet(&mut request, named).map_err(|()| Work::Quiet { request, named })
            }
            Work::Prepared { request, named, described } => {
                if self.objects.get(named.statement).is_none() {
                    self.objects.insert(named.statement, Object::new(Kind::Statement, Place::Later));
                }
                if let Some(object) = self.objects.get_mut(named.statement) {
                    object.preparation = Preparation::Later { request, described };
                }
                Ok(())
            }
            Work::Open { id, cursor, mut request, named, ahead } => {
                match self.admitted(&mut request, &named) {
                    Ok(()) => {
                        self.run_for(cursor, named.transaction, &self.output_blr(cursor), ahead);
                        self.open_cursor(id, cursor, &mut request, named);
                        Ok(())
                    }
                    Err(Hindrance::Fail(status)) => {
                        self.fail(request.operation(), id, status);
                        self.cursor_failed(cursor);
                        Ok(())
                    }
                    Err(hindrance) => {
                        self.prepare_way(&hindrance, named.transaction);
                        Err(Work::Open { id, cursor, request, named, ahead })
                    }
                }
            }
            Work::OpenBlob { id, cursor, mut request, named } => match self.admitted(&mut request, &named) {
                Ok(()) => {
                    self.open_blob(id, cursor, &request, named);
                    Ok(())
                }
                Err(Hindrance::Fail(status)) => {
                    self.blobs.remove(&BlobKey { cursor, number: 0 });
                    self.fail(request.operation(), id, status);
                    Ok(())
                }
                Err(hindrance) => {
                    self.prepare_way(&hindrance, named.transaction);
                    Err(Work::OpenBlob { id, cursor, request, named })
                }
            },
            Work::Ahead(ask) => {
                self.ask_ahead(*ask);
                Ok(())
            }
            Work::CloseCursor(cursor) => {
                self.close_cursor(cursor);
                self.close_blob(cursor);
                Ok(())
            }
        }
    }

    /// Sends what the edge has answered already.
    pub(super) fn quiet(&mut self, request: &mut Request, named: Named) -> Result<(), ()> {
        // A statement is made when it is needed.
        if matches!(request, Request::AllocateStatement(_)) {
            self.insert(named.made, Object::new(Kind::Statement, Place::Later));
            return Ok(());
        }
        match self.admitted(request, &named) {
            Ok(()) => {
                self.before(request, &named);
                let home = self.home_of(request, &named);
                let purpose = match request {
                    Request::Commit(transaction) | Request::Rollback(transaction) => {
                        Purpose::QuietEnd(*transaction)
                    }
                    _ => Purpose::Quiet { home },
                };
                if let Some(transaction) = self.objects.get_mut(home) {
                    transaction.quiet += 1;
                }
                self.forget(request, &named);
                self.transmit(request, named, purpose);
                self.after_prepare(request, &named);
                Ok(())
            }
            Err(Hindrance::Fail(status)) => {
                let home = self.home_of(request, &named);
                self.forget(request, &named);
                self.quiet_failed(request.operation(), &named, home, status);
                Ok(())
            }
            Err(Hindrance::Nothing(_)) => {
                self.forget(request, &named);
                Ok(())
            }
            Err(hindrance) => {
                self.prepare_way(&hindrance, named.transaction);
                Err(())
            }
        }
    }

    /// The transaction that fails with a request which the edge has answered with success; 0 for what ends it or only looks.
    fn home_of(&self, request: &Request, named: &Named) -> u16 {
        match request {
            Request::Commit(_)
            | Request::Rollback(_)
            | Request::Prepare(_)
            | Request::OpenBlob { .. }
            | Request::OpenBlob2(_)
            | Request::GetSegment(_)
            | Request::Release(_)
            | Request::TransactionInformation(_) => 0,
            _ if named.transaction != 0 => named.transaction,
            _ => self.objects.get(named.other).map_or(0, |object| object.cursor_transaction),
        }
    }

    /// Forgets at once what a request frees: the edge may use its handle again.
    fn forget(&mut self, request: &Request, named: &Named) {
        match request {
            Request::Commit(_) | Request::Rollback(_) => self.transaction_over(named.transaction),
            Request::FreeStatement { option, .. } if option & free_statement::DROP != 0 => {
                self.objects.remove(named.statement);
            }
            Request::CloseBlob(_) | Request::CancelBlob(_) | Request::Release(_) => {
                self.objects.remove(named.other);
            }
            _ => {}
        }
    }

    /// A transaction has ended, and with it its cursors.
    pub(super) fn transaction_over(&mut self, transaction: u16) {
        self.objects.transaction_ended(transaction);
        self.stop_pushing(transaction);
    }

    /// Something that the edge has answered with success has failed.
    pub(super) fn quiet_failed(
        &mut self,
        operation: Operation,
        named: &Named,
        home: u16,
        status: StatusVector,
    ) {
        if translate::makes_object(operation) {
            self.insert(named.made, Object::new(Kind::made_by(operation), Place::Failed(status.clone())));
        }
        if let Some(transaction) = self.objects.get_mut(home) {
            transaction.failure.get_or_insert(status);
        }
    }

    pub(super) fn take_early(&mut self) {
        self.waiting_bytes = 0;
        for ask in std::mem::take(&mut self.early) {
            self.take(ask);
        }
    }

    /// Takes a request of a program for which the origin logs in: gives whether it goes to the server.
    fn takes_own_login(&mut self, id: RequestId, request: &mut Request) -> bool {
        let is_in = self.logging_in.as_ref().is_none_or(|logging_in| logging_in.is_program_in);
        let goes_on = match request {
            Request::ContinueAuthentication(step) if !is_in => {
                self.program_logs_in(id, step);
                return false;
            }
            Request::Attach(attach) | Request::Create(attach) => self.own_attach(Block::Database, attach),
            Request::ServiceAttach(attach) => self.own_attach(Block::Service, attach),
            _ => is_in,
        };
        if !goes_on {
            self.end("the program has not logged in");
        }
        goes_on
    }

    pub(super) fn check_waiting(&mut self) {
        if self.waiting_bytes > self.limits.waiting_bytes {
            self.end("the program asks faster than the server answers");
        }
    }
}

/// Whether it is an op_execute: a server that has nothing more to read answers that at once.
fn is_execution(sent: &Sent) -> bool {
    matches!(sent.operation, Operation::Execute | Operation::Execute2)
}

/// Whether a server may hold back its answer until it is asked something else.
fn may_be_held(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::AllocateStatement
            | Operation::FreeStatement
            | Operation::Release
            | Operation::Execute
            | Operation::Execute2
            | Operation::BatchCreate
            | Operation::BatchMessages
            | Operation::BatchRelease
            | Operation::BatchRegisterBlob
            | Operation::BatchBlobStream
            | Operation::BatchSetBpb
    )
}
