//! What binds a program to its session with the origin, and what it takes to attach again for it in another ([`super::again`]).
//!
//! Promises: what is not known to leave nothing in a session counts as leaving something.

use std::sync::Arc;

use farbird_wire::info::database;
use farbird_wire::packet::{Attach, Request};

use super::statement_cache::Described;
use crate::message::Pass;

/// Queries that were executed before it was known that they only read.
const SUSPECTS_MAX: usize = 64;

/// How a program has attached, so that it can be done again; its op_connect is with its login.
#[derive(Debug)]
pub(super) struct Again {
    /// Its op_attach, without what proves who it is.
    pub(super) attach: Attach,
    pub(super) pass: Pass,
}

/// What binds a program to its session.
#[derive(Debug, Default)]
pub(super) struct Bond {
    /// Whether something was done that may have left something there.
    is_tied: bool,
    /// Queries of which the server has not said what they do when they were executed; it does so before they are answered.
    suspects: Vec<Arc<Described>>,
}

impl Bond {
    /// Something is done that may leave something in the session.
    pub(super) fn tie(&mut self) {
        self.is_tied = true;
        self.suspects = Vec::new();
    }

    /// A query is executed of which it is not known yet what it does.
    pub(super) fn suspect(&mut self, described: &Arc<Described>) {
        let is_known = self.suspects.iter().any(|known| Arc::ptr_eq(known, described));
        if self.is_tied || is_known {
            return;
        }
        self.suspects.retain(|known| known.reads().is_none());
        match self.suspects.len() < SUSPECTS_MAX {
            true => self.suspects.push(Arc::clone(described)),
            false => self.tie(),
        }
    }

    /// Whether nothing binds it.
    pub(super) fn is_loose(&self) -> bool {
        !self.is_tied && self.suspects.iter().all(|described| described.reads().is_some())
    }
}

/// How far attaching again is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachingAgain {
    /// The server has not answered.
    Asked,
    /// It is attached; which database that is will be told.
    Attached,
}

/// Whether a request leaves nothing at the server but in its transaction or its statement; executions are looked at where they are made.
pub(super) fn leaves_no_trace(request: &Request) -> bool {
    match request {
        Request::DatabaseInformation(asked) => !asked.items.contains(&database::ATTACHMENT_ID),
        Request::Detach(_)
        | Request::StartTransaction { .. }
        | Request::Commit(_)
        | Request::Rollback(_)
        | Request::CommitRetaining(_)
        | Request::RollbackRetaining(_)
        | Request::TransactionInformation(_)
        | Request::AllocateStatement(_)
        | Request::Prepare(_)
        | Request::StatementInformation(_)
        | Request::Execute(_)
        | Request::Execute2(_)
        | Request::ExecuteImmediate(_)
        | Request::ExecuteImmediate2(_)
        | Request::Fetch(_)
        | Request::FreeStatement { .. }
        | Request::OpenBlob { .. }
        | Request::OpenBlob2(_)
        | Request::GetSegment(_)
        | Request::SeekBlob { .. }
        | Request::BlobInformation(_)
        | Request::CloseBlob(_)
        | Request::CancelBlob(_)
        | Request::GetSlice(_)
        | Request::Ping => true,
        _ => false,
    }
}
