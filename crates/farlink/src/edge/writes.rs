//! Writes that are answered before they are done, where an administrator allows it: an INSERT, UPDATE or DELETE that gives nothing back.
//!
//! They travel on in their order, and the first that fails dooms its transaction: whatever the program asks of the transaction at the server
//! from then on, its commit included, is answered with that error, until it rolls back or undoes the write. That is the origin's affair
//! (its module `writes`), which sends nothing behind a write that has failed. Here is decided what is answered so.
//!
//! Promises: only in a transaction of which all is known here; no more bytes at a time than [`super::Limits::optimistic_bytes`], then
//! programs wait as ever; nothing while the link is given up.

use farbird_wire::packet::{Request, Response};
use farbird_wire::protocol::Handle;

use super::Program;
use super::counters::Saved;
use super::effect::{Effect, Unanswered};
use super::objects::Transaction;
use super::program::Answer;
use crate::message::Ask;

/// Memory of a write beside its packet, about: what both ends keep of it until it is done.
const WRITE_BYTES: usize = 256;

impl Program {
    /// Answers a write as done, and asks for it. Gives false if it has to be waited for.
    pub(super) fn write(&mut self, request: &Request, transaction: u16) -> bool {
        let limits = self.site.limits();
        if !limits.optimistic_writes || self.is_lost || self.may_be_over(transaction) {
            return false;
        }
        if !self.objects.transaction(transaction).is_some_and(|known| may_be_answered(known)) {
            return false;
        }
        let packet = self.packet(request);
        let bytes = packet.len() + WRITE_BYTES;
        if self.unanswered_bytes.saturating_add(bytes) > limits.optimistic_bytes {
            self.site.count(|counters| counters.optimistic_waited += 1);
            return false;
        }
        let Some(known) = self.objects.transaction(transaction) else { return false };
        known.is_optimistic = true;
        let undone = known.undone;
        self.unanswered_bytes += bytes;
        self.site.take_write(bytes);
        let id = self.new_request();
        self.ask(Ask::Write { id, packet });
        self.own.insert(id, Effect::Written(Unanswered { transaction, undone, bytes }));
        self.answer(Response::object(Handle(transaction)), Some(Saved::Write));
        true
    }

    /// Whether an answer is waited for that may be that the transaction has ended.
    fn may_be_over(&self, transaction: u16) -> bool {
        self.answers.iter().any(|answer| match answer {
            Answer::Asked {
                effect: Some(Effect::Ended { transaction: of, .. } | Effect::Executed { transaction: of, .. }),
                packets: None,
                ..
            } => *of == transaction,
            _ => false,
        })
    }

    /// The server has answered a write.
    pub(super) fn written(&mut self, unanswered: Unanswered, response: Option<&Response>) {
        let Unanswered { transaction, undone, bytes } = unanswered;
        self.unanswered_bytes = self.unanswered_bytes.saturating_sub(bytes);
        self.site.give_back_writes(bytes);
        if response.is_some_and(|response| response.status.is_success()) {
            return self.executed(transaction, 0, None, response);
        }
        self.site.count(|counters| counters.optimistic_failed += 1);
        if let Some(known) = self.objects.transaction(transaction).filter(|known| known.undone == undone) {
            known.has_failed_write = true;
            // What was run ahead in it meanwhile answers nothing: the program is to hear of the failure.
            self.wrote(transaction);
        }
    }

    /// Whether a statement that undoes what its transaction has written may have a failed write to undo.
    pub(super) fn undoes_writes(&mut self, transaction: u16) -> bool {
        let known = self.objects.transaction(transaction).filter(|known| known.is_optimistic);
        let Some(known) = known else { return false };
        known.undone = known.undone.wrapping_add(1);
        known.has_failed_write = false;
        true
    }

    /// Hands on what undoes what its transaction has written.
    pub(super) fn undo(&mut self, request: &Request, transaction: u16, effect: Effect) {
        if !self.undoes_writes(transaction) {
            return self.relay(request, 0, Some(effect));
        }
        let id = self.new_request();
        let packet = self.packet(request);
        self.ask(Ask::Undo { id, packet });
        self.wait_for(id, Some(effect));
    }
}

/// Whether a write in a transaction may be answered before it is done.
fn may_be_answered(transaction: &Transaction) -> bool {
    !transaction.is_opaque && !transaction.is_prepared && !transaction.has_failed_write
}
