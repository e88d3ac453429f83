//! Attaching again for a program whose session with the origin is over, because the server was started anew or the link was gone for too long.
//!
//! A program that waits for nothing and has nothing at the server but its attachment goes on as if nothing had been: the edge logs its user
//! in by the pass that the server gave with the login, attaches as the program did, and tells of its statements as of those that
//! are described from the cache: what has become another is refused when it is needed. Its requests wait meanwhile.
//!
//! Promises: nothing that a session may have of its own is lost unnoticed. What is not known to leave nothing behind - whatever may write, ask
//! for the attachment's number, listen for events - binds the program to its session ([`super::bond::Bond`]); it loses its connection with it. So it
//! does if it has asked for a role, which the server drops without a word if the user may not take it any more, if there are triggers on
//! transactions, if the user has another password by now, if the database is another file, or if the server lets it in differently.

use std::sync::Arc;

use farbird_wire::packet::{Reply, Request, Response, StatementText};
use farbird_wire::protocol::Handle;

use super::Program;
use super::attachment::{Attachment, Auxiliary, Facts, Purpose};
use super::bond::{Again, AttachingAgain};
use super::effect::Effect;
use super::information::Kept;
use super::objects::{CursorPlace, Object, Statement};
use super::statement_cache::{Described, Kind};
use crate::message::{Ask, RequestId, ToOrigin};

impl Program {
    /// The program does something that may leave something in its session.
    pub(super) fn tie(&mut self) {
        if let Some(attachment) = &mut self.attachment {
            attachment.bond.tie();
        }
    }

    /// A statement is executed that is not known to only read.
    pub(super) fn tie_by(&mut self, kind: Kind, described: Option<&Arc<Described>>) {
        let Some(attachment) = &mut self.attachment else { return };
        match (kind, described) {
            (Kind::Query, Some(described)) => attachment.bond.suspect(described),
            _ => attachment.bond.tie(),
        }
    }

    /// A database is attached: keeps how.
    pub(super) fn keep_again(&mut self) {
        let Some(attachment) = self.attachment.as_mut().filter(|known| known.purpose == Purpose::Database)
        else {
            return;
        };
        if let (Some(pass), Some(attach)) = (self.login.pass.take(), self.login.attach_again.take()) {
            attachment.again = Some(Box::new(Again { attach, pass }));
        }
    }

    /// Whether the program may go on in another session.
    fn may_attach_again(&mut self) -> bool {
        let is_loose = |attachment: &Attachment| {
            let is_known = attachment.identity.as_ref().is_some_and(|(_, guid)| !guid.is_empty());
            let has_way = attachment.again.is_some();
            // Triggers on transactions run in the attachment, and nobody here knows what they leave there.
            let is_untouched = attachment.is_plain && !attachment.strict_transactions;
            has_way && is_known && is_untouched && attachment.bond.is_loose()
        };
        let is_idle = self.answers.is_empty() && !self.login.is_waiting && self.held.is_none();
        let is_alone = matches!(self.auxiliary, Auxiliary::None);
        is_idle
            && is_alone
            && self.site.is_farbird() == Some(true)
            && self.attachment.as_ref().is_some_and(is_loose)
            && self.objects.iter_mut().all(|(handle, object)| match object {
                // The attachment itself.
                Object::Other => handle == 0,
                Object::Statement(statement) => {
                    !statement.is_named && matches!(statement.cursor, CursorPlace::None)
                }
                Object::Transaction(_) | Object::Blob(_) => false,
            })
    }

    /// Attaches again, if that makes no difference to the program. Gives whether it does.
    pub(super) fn attach_again(&mut self) -> bool {
        if !self.may_attach_again() {
            return false;
        }
        let Some(again) = self.attachment.as_ref().and_then(|attachment| attachment.again.as_ref()) else {
            return false;
        };
        let (attach, pass) = (again.attach.clone(), again.pass.clone());
        let connect = self.login.connect.clone();
        // The conversation is another one, and counts anew.
        self.speculate(|speculator, rules| speculator.finish(rules));
        (self.speculator, self.asked) = (None, 0);
        self.own.clear();
        self.openings.clear();
        self.is_open = true;
        let (channel, peer) = (self.channel, self.peer.clone());
        self.messages.push(ToOrigin::Open { channel, connect, peer, ticket: None, pass: Some(pass) });
        let id = self.new_request();
        let packet = self.packet(&Request::Attach(attach));
        self.ask(Ask::Relay { id, object: 0, packet });
        self.own.insert(RequestId::CONNECT, Effect::ConnectedAgain);
        self.own.insert(id, Effect::AttachedAgain);
        self.attaching_again = Some(AttachingAgain::Asked);
        true
    }

    /// The server has answered op_connect: it must have let the user in as before.
    pub(super) fn connected_again(&mut self, replies: &[Reply]) {
        let is_in = match replies {
            [Reply::AcceptWithData(accept)] => {
                accept.authenticated
                    && self.login.accept.is_some_and(|before| before.version == accept.accept.version)
            }
            _ => false,
        };
        if !is_in {
            self.break_connection();
        }
    }

    /// It has answered op_attach.
    pub(super) fn attach_again_answered(&mut self, response: Option<&Response>) {
        let is_attached = response.is_some() && self.site.is_farbird() == Some(true);
        match is_attached {
            true => self.attaching_again = Some(AttachingAgain::Attached),
            false => self.break_connection(),
        }
    }

    /// The server tells which database it is: it must be the same.
    pub(super) fn attached_again(&mut self, facts: &Facts) {
        let pass = self.login.pass.take();
        let Some(attachment) = self.attachment.as_mut() else { return self.break_connection() };
        let is_same = self.attaching_again == Some(AttachingAgain::Attached)
            && attachment.identity.as_ref().is_some_and(|(_, guid)| !guid.is_empty() && *guid == facts.guid);
        if !is_same {
            return self.break_connection();
        }
        attachment.database = Some(facts.database);
        attachment.strict_transactions = facts.strict_transactions;
        attachment.information = Kept::default();
        if let (Some(again), Some(pass)) = (&mut attachment.again, pass) {
            again.pass = pass;
        }
        self.site.note_commit(facts.database, facts.commit);
        self.tell_of_statements();
        self.attaching_again = None;
        self.site.count(|counters| counters.attached_again += 1);
    }

    /// The new conversation hears of the program's statements.
    fn tell_of_statements(&mut self) {
        let mut statements = Vec::new();
        for (handle, object) in self.objects.iter_mut() {
            let Object::Statement(statement) = object else { continue };
            let described = statement.described.take().map(|before| described_anew(handle, &before));
            let is_prepared_later = described.is_some();
            **statement = Statement {
                described: described.clone(),
                is_prepared_later,
                is_again: true,
                ..Statement::default()
            };
            statements.push((handle, described));
        }
        for (handle, described) in statements {
            self.quietly(&Request::AllocateStatement(Handle::NONE), handle);
            if let Some(described) = described {
                let packet = self.packet(&Request::Prepare(described.text.clone()));
                self.ask(Ask::Prepared { packet, described: described.fingerprint });
            }
        }
    }
}

/// A description of which it is not known yet what the statement reads now. It is prepared in the transaction that needs it.
fn described_anew(handle: u16, before: &Described) -> Arc<Described> {
    let text = StatementText { transaction: Handle::NONE, statement: Handle(handle), ..before.text.clone() };
    let described = Described::new(text, &Response::data(Handle(before.object), before.data.clone()));
    if let Some(shape) = before.shape() {
        described.set_shape(shape);
    }
    if let Some(question) = before.question() {
        described.set_question(question);
    }
    Arc::new(described)
}
