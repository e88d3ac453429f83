//! What the server answers: whom it is for, and what it changes.

use farbird_wire::message::RunLimits;
use farbird_wire::operation::Operation;
use farbird_wire::packet::{Reply, Request};
use farbird_wire::protocol::Handle;

use super::conversation::{Conversation, Stage};
use super::definitions::Asker;
use super::line::Came;
use super::objects::{Kind, Named, Object, Place};
use super::pushed_cursor::PushedCursor;
use super::work::{Purpose, Sent};
use super::{connect, private, translate};
use crate::message::{Fingerprint, RequestId, Tell};

impl Conversation {
    pub(super) fn read_replies(&mut self) {
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

    /// The server has agreed upon a protocol with the origin's own login.
    pub(super) fn protocol_agreed(&mut self) {
        self.requests.set_version(self.line.version());
        self.stage = Stage::LoggingIn;
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
    pub(super) fn ends(&mut self, kind: Kind, handle: u16) -> bool {
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
