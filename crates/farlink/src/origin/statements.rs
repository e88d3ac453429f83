//! Statements that the edge has described to its program from its cache: they are made and prepared when they are first needed.
//!
//! A statement must then be described as the program was told. If it is not, whatever needs it is answered by isc_obsolete_metadata
//! until it is prepared anew: rows of another shape never come.

use farbird_types::isc;
use farbird_wire::packet::{Reply, Request, Response};
use farbird_wire::protocol::Handle;

use super::conversation::Conversation;
use super::definitions::{Asker, Query};
use super::objects::{Named, Place, Preparation};
use super::work::Purpose;
use super::{private, translate};
use crate::message::{Fingerprint, RequestId, Tell};

impl Conversation {
    /// Sends the next of what it takes to make a statement; `transaction` is the one that it is needed in.
    pub(super) fn make_statement(&mut self, statement: u16, transaction: u16) {
        let Some(object) = self.objects.get_mut(statement) else { return };
        match object.place {
            Place::Later => {
                object.place = Place::Coming;
                let allocate = Request::AllocateStatement(Handle::NONE);
                self.transmit(&allocate, Named::default(), Purpose::Allocate(statement));
            }
            Place::At(server) => {
                let preparation = std::mem::replace(&mut object.preparation, Preparation::Underway);
                match preparation {
                    Preparation::Later { request, described } => {
                        self.prepare(statement, server, *request, described, transaction);
                    }
                    other => object.preparation = other,
                }
            }
            Place::Coming | Place::Failed(_) => {}
        }
    }

    fn prepare(
        &mut self,
        statement: u16,
        server: Handle,
        request: Request,
        described: Fingerprint,
        needed_in: u16,
    ) {
        let Request::Prepare(mut text) = request else { return };
        // The transaction in which the program prepared it may have ended since.
        let transaction = self
            .objects
            .at_server(text.transaction.0)
            .or_else(|| self.objects.at_server(needed_in))
            .or_else(|| self.objects.any_transaction());
        let named = Named { transaction: text.transaction.0, statement, ..Named::default() };
        text.transaction = transaction.unwrap_or(Handle::NONE);
        text.statement = server;
        self.transmit(&Request::Prepare(text), named, Purpose::Prepare(statement, described));
        if self.is_farbird {
            self.ask_reads(server, statement);
        }
    }

    /// op_allocate_statement is answered.
    pub(super) fn statement_made(&mut self, statement: u16, reply: &Reply, server: Handle) {
        let Some(object) = self.objects.get_mut(statement) else { return };
        object.place = match reply {
            Reply::Response(response) if response.status.is_success() => Place::At(server),
            Reply::Response(response) => Place::Failed(response.status.clone()),
            _ => Place::Failed(translate::status(isc::BAD_STMT_HANDLE)),
        };
    }

    /// A statement that was needed is prepared, or is not.
    pub(super) fn statement_prepared(
        &mut self,
        statement: u16,
        described: Fingerprint,
        query: Option<Query>,
        reply: &Reply,
    ) {
        let Reply::Response(response) = reply else { return };
        let is_same = response.status.is_success() && Fingerprint::of(&response.data) == described;
        let preparation = match (response.status.is_success(), is_same) {
            (true, true) => Preparation::Done,
            (true, false) => Preparation::Failed(translate::status(isc::OBSOLETE_METADATA)),
            (false, _) => Preparation::Failed(response.status.clone()),
        };
        // Unless the program has prepared something else there meanwhile.
        if let Some(object) = self.objects.get_mut(statement)
            && matches!(object.preparation, Preparation::Underway)
        {
            object.preparation = preparation;
        }
        match query.filter(|_| is_same) {
            Some(query) => self.look_up(query, Asker::Edge { statement, described, told: None }),
            None => self.described(statement, response),
        }
    }

    /// An op_prepare_statement is answered: the edge hears how the statement is described.
    pub(super) fn described(&mut self, statement: u16, response: &Response) {
        self.described = response.status.is_success().then(|| Fingerprint::of(&response.data));
        if let (Some(described), false) = (self.described, self.is_farbird) {
            self.tell(Tell::Statement { statement, described, reads: None });
        }
    }

    /// An op_prepare_statement of the program is answered. What the statement reads is told before, and is being answered if it was asked:
    /// the program may execute it as soon as it hears, and then the edge must know whether it only reads.
    pub(super) fn program_prepared(
        &mut self,
        told: Option<(RequestId, Vec<u8>)>,
        statement: u16,
        response: &Response,
    ) {
        self.described(statement, response);
        match (self.is_farbird, told) {
            (false, Some((id, packets))) => self.tell(Tell::Reply { id, packets }),
            (_, told) => self.prepared = told,
        }
    }

    /// What a statement reads is known.
    pub(super) fn reads_known(&mut self, statement: u16, reply: &Reply) {
        if let (Some(described), Reply::Response(response)) = (self.described.take(), reply) {
            let reads = private::statement_reads(&response.data);
            self.tell(Tell::Statement { statement, described, reads });
        }
        if let Some((id, packets)) = self.prepared.take() {
            self.tell(Tell::Reply { id, packets });
        }
    }
}
