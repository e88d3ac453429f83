//! What became of a commit whose answer was lost with the session: it is asked for by its name in the next one.
//!
//! The program is told that it has committed only if the server says that the commit is on the disk, and that it has not only if the
//! server says that it never will be. Its connection ends in either case: what it had open is gone, but for a transaction that was prepared
//! and not committed, which is in limbo and can be taken over.

use farbird_types::{Error, isc};
use farbird_wire::packet::{Reply, Response};

use super::Program;
use super::effect::Effect;
use super::program::Answer;
use crate::message::{CommitOutcome, NamedCommit, ToOrigin};

impl Program {
    /// The session with the origin is over, and with it the program's connection; but one that waits for the outcome of a commit
    /// has it asked for, and one that has nothing in the session goes on in the next. To be called each time that a session is over.
    pub fn session_over(&mut self, reason: &str) {
        if self.ended {
            return;
        }
        let identity = self.attachment.as_ref().and_then(|attachment| attachment.identity.clone());
        match (self.lost_commit(), identity) {
            (Some(commit), Some((file, guid))) if !guid.is_empty() => {
                (self.is_over, self.is_open) = (true, false);
                self.messages.push(ToOrigin::Outcome { channel: self.channel, file, guid, commit });
            }
            _ if !self.is_over && self.attach_again() => {}
            _ => self.closed(reason),
        }
    }

    /// The commit that the program waits for, if it waits for nothing before it.
    fn lost_commit(&self) -> Option<NamedCommit> {
        match self.answers.front()? {
            Answer::Asked {
                effect: Some(Effect::Ended { named, .. } | Effect::Retained { named, .. }),
                packets: None,
                ..
            } => *named,
            _ => None,
        }
    }

    fn has_prepared_what_it_commits(&mut self) -> bool {
        let Some(Answer::Asked {
            effect: Some(Effect::Ended { transaction, .. } | Effect::Retained { transaction, .. }),
            ..
        }) = self.answers.front()
        else {
            return false;
        };
        let transaction = *transaction;
        self.objects.transaction(transaction).is_some_and(|transaction| transaction.is_prepared)
    }

    /// What the origin says of the commit that was asked for.
    pub fn outcome(&mut self, outcome: CommitOutcome) {
        if self.ended || !self.is_over {
            return;
        }
        let response = match outcome {
            CommitOutcome::Committed => Response::success(),
            CommitOutcome::NotCommitted => {
                let what = match self.has_prepared_what_it_commits() {
                    true => "the connection was lost before the commit: the transaction is in limbo",
                    false => "the connection was lost before the commit: the transaction was rolled back",
                };
                Response::error(&Error::new(isc::ATT_SHUTDOWN).and(isc::RANDOM).with(what))
            }
            CommitOutcome::Unknown => return self.break_connection(),
        };
        self.answers.clear();
        self.put(&Reply::Response(response));
        self.is_urgent = true;
        self.end();
    }
}
