//! Attaching before the program asks for it.
//!
//! Programs that begin alike attach alike: same user, database and driver. With the proof of a login travels the op_attach of the last
//! one that began so. The program is answered by what came of it if it sends the same op_attach, but for the number of its process, which
//! the server is told, and for what proves who it is, which is done by then; and if nothing has happened since that could have made the
//! server answer otherwise. Else it is asked for, and what was attached ahead ends unnoticed. Only before a Farbird server, which can do
//! that.

use std::time::Duration;

use farbird_wire::packet::{Attach, Reply, Request};

use super::Program;
use super::attachment::{Facts, Purpose};
use super::counters::Saved;
use super::effect::Effect;
use super::program::Answer;
use super::replies::response;
use super::usual::{AttachAhead, process_id};
use crate::message::{Ask, AttachedAhead, RequestId};

/// How long something stays attached that its program does not take. It takes it as soon as it hears that it is logged in, if at all.
const WAIT: Duration = Duration::from_secs(5);

impl Program {
    /// The login's proof has left: what the program will attach goes with it.
    pub(super) fn attach_ahead(&mut self) {
        if self.login.ahead.is_some() || self.site.is_farbird() != Some(true) {
            return;
        }
        let usual = self.login.usual.as_ref();
        let Some(attach) = usual.and_then(|usual| self.site.usual_attach(usual)) else { return };
        let id = self.new_request();
        let packet = self.packet(&Request::Attach(attach.clone()));
        self.ask(Ask::AttachAhead { id, packet });
        let (changes, until) = (self.site.changes(), self.now + WAIT);
        self.login.ahead = Some(AttachAhead { id, attach, outcome: None, changes, until });
    }

    /// The origin tells what became of it.
    pub(super) fn attached_ahead(&mut self, id: RequestId, attached: Option<AttachedAhead>) {
        let is_awaited = self
            .answers
            .iter()
            .any(|answer| matches!(answer, Answer::Asked { id: of, packets: None, .. } if *of == id));
        let Some(ahead) = self.login.ahead.as_mut().filter(|ahead| ahead.id == id) else { return };
        ahead.outcome = Some(attached);
        ahead.until = self.now + WAIT;
        if is_awaited {
            self.answer_attach();
        }
    }

    /// The program attaches: gives whether what was attached ahead answers that.
    pub(super) fn take_ahead(&mut self, attach: &Attach) -> bool {
        let is_usual = |ahead: &AttachAhead| self.login.usual_attach.as_ref() == Some(&ahead.attach);
        let Some(ahead) = self.login.ahead.as_ref().filter(|ahead| is_usual(ahead)) else {
            self.leave_ahead();
            return false;
        };
        let (id, is_known) = (ahead.id, ahead.outcome.is_some());
        self.login.attaching = Some((attach.clone(), Purpose::Database));
        self.wait_along(id);
        if is_known {
            self.answer_attach();
        }
        true
    }

    /// Answers the program's op_attach by what was attached ahead, or asks for it.
    fn answer_attach(&mut self) {
        let Some(ahead) = self.login.ahead.take() else { return };
        let Some((attach, _)) = self.login.attaching.clone() else { return };
        let attached = ahead.outcome.flatten().filter(|_| ahead.changes == self.site.changes());
        let response = attached.as_ref().and_then(|attached| response(&attached.packets, self.version()));
        let answer = match (attached, response) {
            (Some(attached), Some(response)) => {
                self.save(Saved::Attach);
                self.ask(Ask::Attached { process_id: process_id(&attach) });
                self.attached(&Facts {
                    database: attached.database,
                    commit: attached.commit,
                    strict_transactions: attached.strict_transactions,
                    guid: attached.guid,
                });
                let replies = self.logged_in(vec![Reply::Response(response)]);
                let mut packets = Vec::new();
                self.encode(&replies, &mut packets);
                Answer::Ready { packets, is_lazy: false }
            }
            _ => {
                self.ask(Ask::DetachAhead);
                let id = self.new_request();
                let packet = self.packet(&Request::Attach(attach));
                self.ask(Ask::Relay { id, object: 0, packet });
                self.count_trip();
                Answer::Asked { id, effect: Some(Effect::Login), packets: None }
            }
        };
        let waits = |answer: &&mut Answer| matches!(answer, Answer::Asked { id, .. } if *id == ahead.id);
        if let Some(waiting) = self.answers.iter_mut().find(waits) {
            *waiting = answer;
        }
    }

    /// The program does not take what was attached ahead.
    pub(super) fn leave_ahead(&mut self) {
        if self.login.ahead.take().is_some() {
            self.ask(Ask::DetachAhead);
        }
    }

    /// Gives up what was attached ahead for too long.
    pub(super) fn leave_old_ahead(&mut self) {
        let now = self.now;
        let is_old = self.login.ahead.as_ref().is_some_and(|ahead| ahead.until <= now);
        if is_old && self.login.attaching.is_none() {
            self.leave_ahead();
        }
    }

    /// It has attached: others will do so too.
    pub(super) fn keep_usual_attach(&mut self) {
        if let (Some(usual), Some(attach)) = (&self.login.usual, self.login.usual_attach.take()) {
            self.site.keep_usual_attach(usual.clone(), attach);
        }
    }
}
