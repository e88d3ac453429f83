//! Attaching before the program asks for it: with the last step of its login travels what it will attach as, if it does as one before it
//! did.
//!
//! Nothing is attached for who has not logged in. A Farbird server makes the attachment so that nobody notices, or refuses; it is the
//! program's when the edge says that it was taken ([`super::private`]).

use farbird_wire::operation::Operation;
use farbird_wire::packet::{Reply, Request};
use farbird_wire::protocol::Handle;

use super::conversation::{Conversation, Stage};
use super::objects::Named;
use super::private;
use super::work::{Purpose, Work, information};
use crate::message::{AttachedAhead, RequestId, Tell};

impl Conversation {
    /// Attaches, if the program is logged in and nothing is attached.
    pub(super) fn attach_ahead(&mut self, id: RequestId, request: Request) {
        let may_attach =
            self.is_farbird && self.stage == Stage::LoggingIn && self.ahead_attachment.is_logged_in;
        let parameters = match &request {
            Request::Attach(attach) if may_attach => private::attach_ahead(&attach.parameters),
            _ => None,
        };
        let (Request::Attach(mut attach), Some(parameters)) = (request, parameters) else {
            return self.tell(Tell::AttachedAhead { id, attached: None });
        };
        attach.parameters = parameters;
        self.transmit(&Request::Attach(attach), Named::default(), Purpose::AttachAhead(id));
    }

    /// The server has answered. What kind of database it is the edge hears with the reply: it is never without.
    pub(super) fn attached_ahead(&mut self, id: RequestId, packets: Vec<u8>, is_success: bool) {
        if !is_success {
            return self.tell(Tell::AttachedAhead { id, attached: None });
        }
        self.ahead_attachment.is_open = true;
        self.ask_facts(Purpose::AheadFacts(id, packets));
    }

    pub(super) fn ahead_facts_known(&mut self, id: RequestId, packets: Vec<u8>, reply: &Reply) {
        let facts = match reply {
            Reply::Response(response) => private::database_facts(&response.data),
            _ => None,
        };
        let attached = facts.map(|facts| AttachedAhead {
            packets,
            database: facts.database,
            commit: facts.commit,
            strict_transactions: facts.strict_transactions,
            guid: facts.guid,
        });
        if attached.is_none() {
            self.detach_ahead();
        }
        self.tell(Tell::AttachedAhead { id, attached });
    }

    /// The program has taken it.
    pub(super) fn taken_ahead(&mut self, process_id: Option<i32>) {
        if std::mem::take(&mut self.ahead_attachment.is_open) {
            let information = information(Handle::NONE, private::attached_by(process_id), 16);
            let request = Request::DatabaseInformation(information);
            self.transmit(&request, Named::default(), Purpose::Ignored);
        }
    }

    /// The program has not taken it.
    pub(super) fn detach_ahead(&mut self) {
        if std::mem::take(&mut self.ahead_attachment.is_open) {
            self.stage = Stage::LoggingIn;
            self.transmit(&Request::Detach(Handle::NONE), Named::default(), Purpose::Ignored);
        }
    }

    /// Whether this attaches something else than was attached ahead: that is ended first.
    pub(super) fn attaches_instead(&mut self, work: &Work) -> bool {
        let Work::Relay { request, .. } = work else { return false };
        let attaches =
            matches!(request.operation(), Operation::Attach | Operation::Create | Operation::ServiceAttach);
        let is_instead = attaches && self.ahead_attachment.is_open;
        if is_instead {
            self.detach_ahead();
        }
        is_instead
    }
}
