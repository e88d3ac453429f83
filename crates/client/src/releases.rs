//! What was dropped and is still to be told to the server: it goes with the next flight, and nobody waits for it.

use std::sync::{Arc, Mutex, PoisonError};

use farbird_wire::packet::Request;

use crate::conversation::Ticket;

/// Something that its owner has let go of.
#[derive(Debug)]
pub(crate) enum Release {
    /// Tell the server.
    Request(Request),
    /// Nobody will ask for this answer.
    Abandon(Ticket),
}

/// The list, shared by a connection and all that it has handed out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Releases(Arc<Mutex<Vec<Release>>>);

impl Releases {
    pub(crate) fn add(&self, request: Request) {
        self.push(Release::Request(request));
    }

    pub(crate) fn abandon(&self, ticket: Ticket) {
        self.push(Release::Abandon(ticket));
    }

    fn push(&self, release: Release) {
        // A push cannot leave the list half changed, so a poisoned lock is as good as any.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(release);
    }

    /// What has been let go of since the last time.
    pub(crate) fn take(&self) -> Vec<Release> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
