//! Requests on their way to the server: what must be done before them, in the server's handles.

use farbird_wire::info::database;
use farbird_wire::operation::Operation;
use farbird_wire::packet::Request;
use farbird_wire::protocol::{Handle, free_statement};
use farbird_wire::status::StatusVector;

use super::conversation::Conversation;
use super::objects::{Kind, Named, Object, Place, Preparation, Role, unknown, visit_handles};
use super::work::{Purpose, Sent, information};
use super::{private, translate};
use crate::message::{RequestId, Tell};

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
    pub(super) fn after_prepare(&mut self, request: &Request, named: &Named) {
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
}
