//! One program's conversation with the server: what the edge asks goes to the server in its order, what the server answers goes back.
//!
//! A request leaves once everything that it names is there. It does not wait for the answers to those before it, once the login is
//! done. What the origin asks for by itself - rows of open cursors, contents of BLOBs - is asked for when nothing of the program waits.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use farbird_wire::decoder::{Limits as DecoderLimits, RequestDecoder};
use farbird_wire::info::{common, database};
use farbird_wire::message::RunLimits;
use farbird_wire::negotiation::UserIdentification;
use farbird_wire::operation::Operation;
use farbird_wire::packet::{Information, Reply, Request, Response};
use farbird_wire::protocol::{Handle, free_statement};
use farbird_wire::status::StatusVector;

use super::ahead_state::AheadState;
use super::blob_reading::{BlobKey, BlobReading};
use super::definitions::{Asker, Definitions};
use super::limits::Limits;
use super::line::{Came, Line};
use super::objects::{Kind, Named, Object, Objects, Place, Preparation, Role, unknown, visit_handles};
use super::own_login::{Block, Credentials, LoggingIn, OwnLogin, RANDOM_BYTES};
use super::pushed_cursor::{PendingQuestion, PushedCursor};
use super::work::{
    AttachingAhead, AuxiliaryStep, Purpose, Sent, Work, information, may_be_written, may_undo, needs_rest,
};
use super::{connect, private, translate};
use crate::message::{
    Ask, AskAhead, AskBehind, Channel, Cursor, Fingerprint, GivenParameters, Question, RequestId, Tell,
    ToEdge,
};

/// One program's conversation with the server. See the module's text.
#[derive(Debug)]
pub struct Conversation {
    pub(super) limits: Limits,
    channel: Channel,
    /// Whether the server is one of ours, which tells more.
    pub(super) is_farbird: bool,
    pub(super) stage: Stage,
    /// What was attached before the program asked for it.
    pub(super) ahead_attachment: AttachingAhead,
    pub(super) line: Line,
    /// Understands the edge's packets.
    requests: RequestDecoder,
    pub(super) objects: Objects,
    /// Asks that came before the protocol was agreed upon.
    early: VecDeque<Ask>,
    waiting: VecDeque<(Work, usize)>,
    waiting_bytes: usize,
    pub(super) sent: VecDeque<Sent>,
    pub(super) cursors: BTreeMap<Cursor, PushedCursor>,
    pub(super) blobs: BTreeMap<BlobKey, BlobReading>,
    /// How the statement was described whose op_prepare_statement was answered last; none if it failed.
    pub(super) described: Option<Fingerprint>,
    /// The reply to an op_prepare_statement of the program, until it is known what the statement reads.
    pub(super) prepared: Option<(RequestId, Vec<u8>)>,
    pub(super) ahead: AheadState,
    /// What is being looked up, before a server that does not say what statements read.
    pub(super) definitions: Definitions,
    /// Whether the edge has been gone for long.
    is_edge_lost: bool,
    /// What is to be done about the second connection.
    pub(super) auxiliary: Option<AuxiliaryStep>,
    /// A login that the origin performs itself.
    pub(super) logging_in: Option<Box<LoggingIn>>,
    messages: Vec<ToEdge>,
}

/// How far the conversation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// op_connect is not answered.
    Connecting,
    /// One request at a time: each may change what the next one means.
    LoggingIn,
    /// A database or the services manager is attached.
    Attached,
    Ended,
}

/// Why a request cannot be sent now.
pub(super) enum Hindrance {
    /// Something it names is not there yet.
    Wait,
    /// It fails.
    Fail(StatusVector),
    /// There is nothing to be done for it: it succeeds.
    Nothing(Handle),
    /// This statement must be made first.
    Statement(u16),
}

impl Conversation {
    /// A conversation that begins with the program's op_connect. With `is_farbird` the server is a Farbird server to which this
    /// conversation's connection has been announced: it is asked what only such a server knows.
    pub fn new(limits: Limits, channel: Channel, connect: &[u8], is_farbird: bool) -> Conversation {
        let mut conversation = Conversation::empty(limits, channel, is_farbird);
        match connect::for_server(connect) {
            Some(connect) => {
                let named = Named::default();
                conversation.transmit(&Request::Connect(connect), named, Purpose::Relay(RequestId::CONNECT));
            }
            None => conversation.end("the edge sent something else than op_connect"),
        }
        conversation
    }

    /// As [`Conversation::new`], before a server that may be any. The origin logs in itself, as the user whom the program's op_connect
    /// names, if the server has SRP; and the program must prove the same password to the origin.
    pub fn with_login(
        limits: Limits,
        channel: Channel,
        connect: &[u8],
        credentials: Credentials,
        random: &[u8; RANDOM_BYTES],
    ) -> Conversation {
        let mut conversation = Conversation::empty(limits, channel, false);
        let understood = connect::for_server(connect).and_then(|connect| {
            let user = UserIdentification::parse(&connect.user_identification).ok()?;
            Some((connect, user))
        });
        let Some((connect, user)) = understood else {
            conversation.end("the edge sent something else than op_connect");
            return conversation;
        };
        let login = OwnLogin::new(credentials, random);
        let request = Request::Connect(login.connect(&connect, &user));
        let first = (user.plugin.unwrap_or_default(), user.specific_data.unwrap_or_default());
        conversation.logging_in = Some(Box::new(LoggingIn {
            login,
            first,
            challenge: None,
            server: None,
            program: None,
            is_program_in: false,
            attach_step: None,
        }));
        conversation.transmit(&request, Named::default(), Purpose::OwnLogin);
        conversation
    }

    fn empty(limits: Limits, channel: Channel, is_farbird: bool) -> Conversation {
        let packet_bytes = limits.packet_bytes;
        Conversation {
            limits,
            channel,
            is_farbird,
            stage: Stage::Connecting,
            ahead_attachment: AttachingAhead::default(),
            line: Line::new(packet_bytes),
            requests: RequestDecoder::new(DecoderLimits { packet_bytes, ..DecoderLimits::default() }),
            objects: Objects::default(),
            early: VecDeque::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            sent: VecDeque::new(),
            cursors: BTreeMap::new(),
            blobs: BTreeMap::new(),
            described: None,
            prepared: None,
            ahead: AheadState::new(limits.ahead),
            definitions: Definitions::default(),
            is_edge_lost: false,
            auxiliary: None,
            logging_in: None,
            messages: Vec::new(),
        }
    }

    /// Takes what the edge asks.
    pub fn ask(&mut self, ask: Ask, now: Duration) {
        self.ahead.count_ask();
        if !self.is_server_busy() {
            self.ahead.busy_since = now;
        }
        match self.stage {
            Stage::Ended => {}
            _ if matches!(ask, Ask::Cancel { .. }) => self.take(ask),
            Stage::Connecting => {
                self.waiting_bytes += ask_bytes(&ask);
                self.early.push_back(ask);
                self.check_waiting();
            }
            Stage::LoggingIn | Stage::Attached => {
                self.take(ask);
                self.advance();
            }
        }
    }

    /// Takes bytes of the server.
    pub fn receive(&mut self, bytes: &mut [u8], now: Duration) {
        if self.stage == Stage::Ended {
            return;
        }
        self.note_time(now);
        let mut more = self.line.receive(bytes);
        loop {
            if let Err(error) = more {
                return self.end(&format!("the server's bytes cannot be read: {error}"));
            }
            self.read_replies();
            if self.stage == Stage::Ended {
                return;
            }
            match self.line.receive_more() {
                Ok(false) => break,
                Ok(true) => more = Ok(()),
                Err(error) => more = Err(error),
            }
        }
        self.seal_rows();
        self.advance();
        self.end_without_edge();
    }

    /// The connection to the server is gone.
    pub fn server_lost(&mut self, reason: &str) {
        self.end(reason);
    }

    /// The edge has been gone for so long that no transaction may stay open: what it has asked for ends, but for a transaction that
    /// is being ended. What becomes of that is waited for, since its program does, and told.
    pub fn edge_lost(&mut self) {
        self.is_edge_lost = true;
        self.end_without_edge();
    }

    /// The edge is back.
    pub fn edge_back(&mut self) {
        self.is_edge_lost = false;
    }

    fn end_without_edge(&mut self) {
        let ends = |request: &Request| {
            matches!(
                request,
                Request::Commit(_)
                    | Request::CommitRetaining(_)
                    | Request::Rollback(_)
                    | Request::RollbackRetaining(_)
            )
        };
        let is_ending = self.waiting.iter().any(|(work, _)| match work {
            Work::Relay { request, .. } => ends(request),
            _ => false,
        }) || self.sent.iter().any(|sent| {
            matches!(sent.purpose, Purpose::Relay(_))
                && matches!(
                    sent.operation,
                    Operation::Commit
                        | Operation::CommitRetaining
                        | Operation::Rollback
                        | Operation::RollbackRetaining
                )
        });
        if self.is_edge_lost && !is_ending && self.has_transaction() {
            self.end("the link was lost for too long: the transaction is rolled back");
        }
    }

    /// Whether a transaction is open at the server, as far as the conversation knows.
    fn has_transaction(&self) -> bool {
        self.objects.has_transaction()
    }

    /// What is to be written to the server.
    pub fn take_output(&mut self) -> Vec<u8> {
        if self.stage == Stage::Attached && self.is_held_for_program() {
            self.draw_out();
        }
        match self.line.take_output() {
            Ok(output) => output,
            Err(error) => {
                self.end(&format!("the server's line is used up: {error}"));
                Vec::new()
            }
        }
    }

    /// Whether anybody but the edge is to be told something: the server, the second connection, or whoever keeps the conversation that it is
    /// over.
    pub fn has_more(&self) -> bool {
        let asks = self.line.has_output() || self.stage == Stage::Attached && self.is_held_for_program();
        asks || self.auxiliary.is_some() || self.is_ended()
    }

    /// What is to be told to the edge.
    pub fn take_messages(&mut self) -> Vec<ToEdge> {
        std::mem::take(&mut self.messages)
    }

    /// Whether the server owes answers, those included that it may hold back until it is asked something else.
    pub fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Whether the connection to the server is to be closed, once what is to be written is written.
    pub fn is_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    pub(super) fn tell(&mut self, tell: Tell) {
        self.messages.push(ToEdge::On { channel: self.channel, tell });
    }

    pub(super) fn end(&mut self, reason: &str) {
        if self.stage != Stage::Ended {
            self.stage = Stage::Ended;
            self.messages.push(ToEdge::Closed { channel: self.channel, reason: reason.to_owned() });
        }
    }

    fn check_waiting(&mut self) {
        if self.waiting_bytes > self.limits.waiting_bytes {
            self.end("the program asks faster than the server answers");
        }
    }

    /// Understands what the edge asks, and puts it behind what waits.
    fn take(&mut self, ask: Ask) {
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
    fn is_held_for_program(&self) -> bool {
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
    fn quiet(&mut self, request: &mut Request, named: Named) -> Result<(), ()> {
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
    fn transaction_over(&mut self, transaction: u16) {
        self.objects.transaction_ended(transaction);
        self.stop_pushing(transaction);
    }

    /// Something that the edge has answered with success has failed.
    fn quiet_failed(&mut self, operation: Operation, named: &Named, home: u16, status: StatusVector) {
        if translate::makes_object(operation) {
            self.insert(named.made, Object::new(Kind::made_by(operation), Place::Failed(status.clone())));
        }
        if let Some(transaction) = self.objects.get_mut(home) {
            transaction.failure.get_or_insert(status);
        }
    }

    /// Notes what changes as soon as a request is sent.
    pub(super) fn before(&mut self, request: &Request, named: &Named) {
        self.note_ahead(request, named);
        match request {
            Request::Execute(_) | Request::Execute2(_) => {
                if let Some(statement) = self.objects.get_mut(named.statement) {
                    statement.cursor_transaction = named.transaction;
                }
            }
            Request::Start(_)
            | Request::StartAndSend(_)
            | Request::StartAndReceive(_)
            | Request::StartSendAndReceive(_) => {
                if let Some(running) = self.objects.get_mut(named.other) {
                    running.cursor_transaction = named.transaction;
                }
            }
            Request::FreeStatement { .. } => {
                if let Some(statement) = self.objects.get_mut(named.statement) {
                    statement.cursor_transaction = 0;
                }
                self.stop_statement(named.statement);
            }
            Request::Prepare(_) => {
                if let Some(statement) = self.objects.get_mut(named.statement) {
                    statement.preparation = Preparation::Done;
                    statement.cursor_transaction = 0;
                }
                self.stop_statement(named.statement);
            }
            Request::Commit(_) | Request::Rollback(_) => self.pause_pushing(named.transaction),
            _ => {}
        }
    }

    /// Asks a Farbird server what a statement reads that is being prepared.
    fn after_prepare(&mut self, request: &Request, named: &Named) {
        if self.is_farbird
            && let Request::Prepare(text) = request
        {
            self.ask_reads(text.statement, named.statement);
        }
    }

    /// In the same flight as the op_prepare_statement: later the handle might name another statement.
    pub(super) fn ask_reads(&mut self, server: Handle, statement: u16) {
        let information = information(server, vec![private::STATEMENT_READS], 65_535);
        let named = Named { statement, ..Named::default() };
        self.transmit(&Request::StatementInformation(information), named, Purpose::Reads(statement));
    }

    /// Puts the server's handles into a request, or says why it cannot be sent.
    pub(super) fn at_server(&mut self, request: &mut Request, named: &Named) -> Result<(), Hindrance> {
        let mut hindrance = None;
        let operation = request.operation();
        let is_drop =
            matches!(&*request, Request::FreeStatement { option, .. } if option & free_statement::DROP != 0);
        let objects = &self.objects;
        let look = |role: Role, handle: Handle| -> Result<Handle, Hindrance> {
            if handle == Handle::NONE {
                return Ok(handle);
            }
            let Some(object) = objects.get(handle.0) else {
                return if role == Role::Ignored {
                    Ok(Handle::NONE)
                } else {
                    Err(Hindrance::Fail(unknown(role)))
                };
            };
            if operation == Operation::Rollback && matches!(object.place, Place::Failed(_)) {
                return Err(Hindrance::Nothing(Handle::NONE));
            }
            if matches!(operation, Operation::Commit | Operation::Rollback) && object.quiet > 0 {
                return Err(Hindrance::Wait);
            }
            if let Some(failure) = object.failure.as_ref().filter(|_| operation != Operation::Rollback) {
                return Err(Hindrance::Fail(failure.clone()));
            }
            let place = match &object.place {
                Place::At(server) => *server,
                Place::Coming => return Err(Hindrance::Wait),
                Place::Failed(status) => return Err(Hindrance::Fail(status.clone())),
                Place::Later if is_drop => return Err(Hindrance::Nothing(Handle::LATEST)),
                Place::Later => return Err(Hindrance::Statement(handle.0)),
            };
            if role != Role::Statement
                || matches!(operation, Operation::FreeStatement | Operation::PrepareStatement)
            {
                return Ok(place);
            }
            match &object.preparation {
                Preparation::Done => Ok(place),
                Preparation::Underway => Err(Hindrance::Wait),
                Preparation::Later { .. } => Err(Hindrance::Statement(handle.0)),
                Preparation::Failed(status) => Err(Hindrance::Fail(status.clone())),
            }
        };
        // First looked at, then changed: what must wait stays in the edge's handles.
        let mut found = [Handle::NONE; 2];
        let mut count = 0;
        visit_handles(request, |role, handle| {
            if hindrance.is_some() {
                return;
            }
            match look(role, *handle) {
                Ok(server) => {
                    if let Some(place) = found.get_mut(count) {
                        *place = server;
                    }
                    count += 1;
                }
                Err(why) => hindrance = Some(why),
            }
        });
        if let Some(hindrance) = hindrance {
            return Err(hindrance);
        }
        let mut found = found.into_iter();
        visit_handles(request, |_, handle| *handle = found.next().unwrap_or_default());
        if translate::makes_object(operation) {
            let mut object = Object::new(Kind::made_by(operation), Place::Coming);
            object.cursor_transaction = named.transaction;
            self.insert(named.made, object);
        }
        Ok(())
    }

    pub(super) fn insert(&mut self, handle: u16, object: Object) {
        if !self.objects.insert(handle, object) {
            self.end("too many objects are open");
        }
    }

    /// Makes what a request waits for.
    pub(super) fn prepare_way(&mut self, hindrance: &Hindrance, transaction: u16) {
        if let Hindrance::Statement(statement) = hindrance {
            self.make_statement(*statement, transaction);
        }
    }

    /// Sends a request, in the server's handles.
    pub(super) fn transmit(&mut self, request: &Request, named: Named, purpose: Purpose) {
        if let Err(error) = self.line.send(request) {
            return self.end(&format!("the edge sent what cannot be understood: {error}"));
        }
        let expects_none = matches!(
            request,
            Request::Disconnect | Request::AbortAuxConnection | Request::Dummy | Request::Cancel { .. }
        );
        if expects_none {
            if let Purpose::Relay(id) = purpose {
                self.tell(Tell::Reply { id, packets: Vec::new() });
            }
            return;
        }
        let query = match (request, &purpose) {
            (Request::Prepare(text), Purpose::Relay(_) | Purpose::Prepare(..)) if !self.is_farbird => {
                self.definitions.query(text)
            }
            _ => None,
        };
        let operation = request.operation();
        self.sent.push_back(Sent { operation, named, purpose, query, packets: Vec::new() });
    }

    /// Tells the edge that a request has failed that was not sent.
    pub(super) fn fail(&mut self, operation: Operation, id: RequestId, status: StatusVector) {
        let packets = translate::failure(operation, status, self.line.version());
        self.tell(Tell::Reply { id, packets });
    }

    /// How many rows are taken as one.
    fn run_limits(&self) -> RunLimits {
        let bytes = self.limits.push_bytes;
        let cursor = match self.sent.front() {
            Some(Sent { purpose: Purpose::Fetch(cursor), .. }) => self.cursors.get(cursor),
            _ => None,
        };
        match cursor.is_some_and(PushedCursor::has_blobs) {
            true => RunLimits { bytes, rows: self.limits.rows_with_blobs },
            false => RunLimits { bytes, ..RunLimits::default() },
        }
    }

    fn read_replies(&mut self) {
        while self.stage != Stage::Ended {
            match self.line.next(self.run_limits()) {
                Ok(None) => return,
                Ok(Some(Came::Rows(run))) => match self.sent.front_mut() {
                    Some(Sent { purpose: Purpose::Fetch(cursor), .. }) => {
                        let cursor = *cursor;
                        self.rows_came(cursor, &run);
                    }
                    Some(Sent { purpose: Purpose::Ahead(_), .. }) => self.ahead_rows(&run),
                    Some(sent) if sent.packets.len() + run.wire().len() > self.limits.reply_bytes => {
                        self.end("a reply of the server is too large");
                    }
                    Some(sent) => sent.packets.extend_from_slice(run.wire()),
                    None => self.end("the server sent rows that nobody asked for"),
                },
                Ok(Some(Came::Packet(answer))) => {
                    if answer.to.is_some() {
                        self.reply_came(answer.reply, answer.is_last);
                    } else if matches!(answer.reply, Reply::Dummy) {
                        // Keeps the line busy.
                    } else {
                        self.end("the server sent what nobody asked for");
                    }
                }
                Err(error) => return self.end(&format!("the server's packets cannot be read: {error}")),
            }
        }
    }

    fn reply_came(&mut self, mut reply: Reply, is_last: bool) {
        let Some(sent) = self.sent.front_mut() else { return self.end("the server answered nothing") };
        let named = sent.named;
        let operation = sent.operation;
        if matches!(sent.purpose, Purpose::OwnLogin) {
            let is_answered = matches!(
                (operation, &reply),
                (Operation::Connect, Reply::Accept(_) | Reply::Reject | Reply::Response(_))
            );
            if !is_answered {
                self.sent.pop_front();
                return self.own_login_replied(reply);
            }
            // Without SRP there is nothing to be done here: the program logs in as it would.
            sent.purpose = Purpose::Relay(RequestId::CONNECT);
            self.logging_in = None;
        }
        let Some(sent) = self.sent.front_mut() else { return };
        if let Purpose::Fetch(cursor) = sent.purpose {
            if is_last {
                self.sent.pop_front();
            }
            return self.fetch_replied(cursor, reply, is_last);
        }
        if let Purpose::Ahead(step) = sent.purpose {
            if is_last {
                self.sent.pop_front();
            }
            return self.ahead_replied(step, reply, is_last);
        }
        let raw_object = match &reply {
            Reply::Response(response) => response.object,
            _ => Handle::NONE,
        };
        if self.stage != Stage::Attached {
            let keys = connect::take_private_keys(&mut reply);
            if let Some(key) = keys.session {
                self.tell(Tell::Key { key });
            }
            if let Some(pass) = keys.pass {
                self.tell(Tell::Pass { pass });
            }
        }
        translate::to_edge(&mut reply, operation, &named);
        let limit = self.limits.reply_bytes;
        let version = self.line.version();
        let Some(sent) = self.sent.front_mut() else { return };
        reply.encode(version, &mut sent.packets);
        if sent.packets.len() > limit {
            return self.end("a reply of the server is too large");
        }
        if let (Reply::CryptKeyCallback(_), Purpose::Relay(id)) = (&reply, &sent.purpose) {
            // The program must answer before the request goes on.
            let (id, packets) = (*id, std::mem::take(&mut sent.packets));
            return self.tell(Tell::Reply { id, packets });
        }
        if is_last && let Some(sent) = self.sent.pop_front() {
            self.answered(sent, &reply, raw_object);
        }
    }

    /// A request is answered.
    fn answered(&mut self, sent: Sent, reply: &Reply, object: Handle) {
        let is_success = match reply {
            Reply::Response(response) => response.status.is_success(),
            _ => true,
        };
        if self.stage != Stage::Attached {
            self.login_replied(&sent, reply, is_success);
        }
        let Sent { operation, named, purpose, query, packets } = sent;
        match purpose {
            Purpose::Relay(id) => {
                self.settle(operation, &named, is_success, object);
                match (operation, reply) {
                    (Operation::PrepareStatement, Reply::Response(response)) => {
                        let told = Some((id, packets));
                        match query.filter(|_| response.status.is_success()) {
                            Some(query) => {
                                let described = Fingerprint::of(&response.data);
                                let statement = named.statement;
                                self.look_up(query, Asker::Edge { statement, described, told });
                            }
                            None => self.program_prepared(told, named.statement, response),
                        }
                    }
                    _ => self.tell(Tell::Reply { id, packets }),
                }
                if let (Operation::ConnectRequest, true, Reply::Response(response)) =
                    (operation, is_success, reply)
                {
                    self.auxiliary_offered(response);
                }
                if is_success && matches!(operation, Operation::Attach | Operation::Create) && self.is_farbird
                {
                    self.ask_facts(Purpose::Facts);
                }
            }
            Purpose::Quiet { home } => {
                if let Some(transaction) = self.objects.get_mut(home) {
                    transaction.quiet = transaction.quiet.saturating_sub(1);
                }
                match reply {
                    Reply::Response(response) if !is_success => {
                        self.quiet_failed(operation, &named, home, response.status.clone());
                    }
                    _ => self.settle_made(operation, &named, is_success, object),
                }
            }
            Purpose::Write(id) => {
                self.settle(operation, &named, is_success, object);
                self.written(id, &named, reply, packets);
            }
            Purpose::Undo(id) => {
                self.settle(operation, &named, is_success, object);
                self.undone(id, &named, is_success, packets);
            }
            Purpose::QuietEnd(transaction) => {
                if !is_success && operation == Operation::Commit {
                    self.transmit(&Request::Rollback(transaction), Named::default(), Purpose::Ignored);
                }
            }
            Purpose::Open(id, cursor) => {
                self.settle(operation, &named, is_success, object);
                self.tell(Tell::Reply { id, packets });
                self.cursor_opened(cursor, is_success);
            }
            Purpose::AttachAhead(id) => self.attached_ahead(id, packets, is_success),
            Purpose::AheadFacts(id, packets) => self.ahead_facts_known(id, packets, reply),
            Purpose::Fetch(_) | Purpose::Ahead(_) | Purpose::Ignored | Purpose::OwnLogin => {}
            Purpose::Allocate(statement) => self.statement_made(statement, reply, object),
            Purpose::Prepare(statement, described) => {
                self.statement_prepared(statement, described, query, reply);
            }
            Purpose::Definitions(step) => self.definitions_replied(step, reply, &packets, object),
            Purpose::Reads(statement) => self.reads_known(statement, reply),
            Purpose::Facts => {
                let facts = match reply {
                    Reply::Response(response) => private::database_facts(&response.data),
                    _ => None,
                };
                let Some(facts) = facts else {
                    // An edge that attaches again waits for them.
                    return self.end("the server does not say which database it is");
                };
                self.tell(Tell::Attached {
                    database: facts.database,
                    commit: facts.commit,
                    strict_transactions: facts.strict_transactions,
                    guid: facts.guid,
                });
            }
            Purpose::Blob(key, step) => self.blob_replied(key, step, reply, object),
        }
    }

    /// The protocol is agreed upon, or the login goes on.
    fn login_replied(&mut self, sent: &Sent, reply: &Reply, is_success: bool) {
        let was_connecting = self.stage == Stage::Connecting;
        match (sent.operation, reply) {
            (
                Operation::Connect,
                Reply::Accept(_) | Reply::AcceptWithData(_) | Reply::ConditionalAccept(_),
            ) => {
                self.stage = Stage::LoggingIn;
                self.requests.set_version(self.line.version());
            }
            (Operation::Connect, _) => {
                // Refused: the program is told, and the server has closed or does.
                self.stage = Stage::LoggingIn;
            }
            (Operation::ContinueAuthentication, Reply::Response(_)) if is_success => {
                self.ahead_attachment.is_logged_in = true;
            }
            (Operation::Attach | Operation::Create | Operation::ServiceAttach, Reply::Response(_))
                if is_success =>
            {
                self.requests.authenticated();
                self.stage = Stage::Attached;
            }
            _ => {}
        }
        if was_connecting {
            self.take_early();
        }
    }

    pub(super) fn take_early(&mut self) {
        self.waiting_bytes = 0;
        for ask in std::mem::take(&mut self.early) {
            self.take(ask);
        }
    }

    /// The server has agreed upon a protocol with the origin's own login.
    pub(super) fn protocol_agreed(&mut self) {
        self.requests.set_version(self.line.version());
        self.stage = Stage::LoggingIn;
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

    pub(super) fn ask_facts(&mut self, purpose: Purpose) {
        let items = vec![
            private::DATABASE_NUMBER,
            private::COMMIT_POINT,
            private::STRICT_TRANSACTIONS,
            database::DB_GUID,
        ];
        let information = information(Handle::NONE, items, 256);
        self.transmit(&Request::DatabaseInformation(information), Named::default(), purpose);
    }

    /// What an answered request has changed.
    fn settle(&mut self, operation: Operation, named: &Named, is_success: bool, object: Handle) {
        self.settle_made(operation, named, is_success, object);
        match operation {
            Operation::Commit | Operation::Rollback
                if is_success && self.ends(Kind::Transaction, named.transaction) =>
            {
                self.transaction_over(named.transaction);
            }
            Operation::Commit | Operation::Rollback => self.resume_pushing(named.transaction),
            Operation::FreeStatement
                if is_success && object == Handle::LATEST && self.ends(Kind::Statement, named.statement) =>
            {
                self.objects.remove(named.statement);
            }
            Operation::CloseBlob | Operation::CancelBlob | Operation::Release
                if is_success && self.ends(Kind::Other, named.other) =>
            {
                self.objects.remove(named.other);
            }
            _ => {}
        }
    }

    /// Whether the server may say that it has ended an object of this kind. One that says so of another kind is defective: what it
    /// does with the object from now on, nobody knows.
    fn ends(&mut self, kind: Kind, handle: u16) -> bool {
        let is_another = self.objects.is_another(kind, handle);
        if is_another {
            self.end("the server ended what has a handle of another kind");
        }
        !is_another
    }

    /// What an answered request has made, and what its statement has done to the transaction.
    fn settle_made(&mut self, operation: Operation, named: &Named, is_success: bool, object: Handle) {
        if translate::makes_object(operation) {
            match self.objects.get_mut(named.made) {
                Some(made) if is_success => made.place = Place::At(object),
                Some(_) => {
                    self.objects.remove(named.made);
                }
                None => {}
            }
        }
        let runs = matches!(
            operation,
            Operation::Execute
                | Operation::Execute2
                | Operation::ExecuteImmediate
                | Operation::ExecuteImmediate2
        );
        if runs && is_success {
            match (named.transaction, object) {
                (0, Handle::NONE) => {}
                (0, object) => {
                    // How it sees others' changes is not known.
                    self.ahead.isolations.remove(&named.made);
                    self.insert(named.made, Object::new(Kind::Transaction, Place::At(object)));
                }
                (transaction, Handle::NONE) if self.ends(Kind::Transaction, transaction) => {
                    self.transaction_over(transaction);
                }
                _ => {}
            }
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

/// The bytes of packets in an ask.
fn ask_bytes(ask: &Ask) -> usize {
    let packet = match ask {
        Ask::Open { packet, question, ahead, .. } => {
            let question = question.as_ref().map_or(0, |question| question.packet.len());
            packet.len() + question + ahead.iter().map(ahead_bytes).sum::<usize>()
        }
        Ask::Ahead { statements, parameters, .. } => {
            let given = |given: &GivenParameters| {
                given.blr.len() + given.message.len() + size_of::<GivenParameters>()
            };
            statements.iter().map(ahead_bytes).sum::<usize>() + parameters.iter().map(given).sum::<usize>()
        }
        Ask::Relay { packet, .. }
        | Ask::Quiet { packet, .. }
        | Ask::Write { packet, .. }
        | Ask::Undo { packet, .. }
        | Ask::Prepared { packet, .. }
        | Ask::AttachAhead { packet, .. }
        | Ask::OpenBlob { packet, .. } => packet.len(),
        _ => 0,
    };
    packet + size_of::<Ask>()
}

fn ahead_bytes(ask: &AskAhead) -> usize {
    let own = ask.prepare.len() + ask.input_blr.len() + ask.output_blr.len() + size_of::<AskAhead>();
    ask.ahead.iter().map(ahead_bytes).fold(own, usize::saturating_add)
}
