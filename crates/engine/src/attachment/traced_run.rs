//! What is kept of an attachment, and of a run of one of its statements, for the trace sessions that are told of it: see [`super::traced`].

use std::sync::Arc;
use std::time::Duration;

use crate::api::AttachOptions;
use crate::catalog::SystemPrivilege;
use crate::catalog::privileges::Actor;
use crate::database::Database;
use crate::session::trace::{MayWatch, TracedParameter, TracedTransaction, Watched};

/// A run of a statement that is told of when it ends.
pub(super) struct TracedRun {
    pub(super) inputs: Vec<TracedParameter>,
    pub(super) within: Option<TracedTransaction>,
    pub(super) elapsed: Duration,
    /// Whether the last row of its cursor was fetched.
    pub(super) has_ended: bool,
}

/// What is told of an attachment in each record.
pub(super) fn watched(id: u64, database: &Database, options: &AttachOptions) -> Watched {
    let owner = database.catalog().database.owner.clone();
    Watched::attachment(id, database.shown_path(true), database.shown_path(false), owner, options)
}

/// Who may watch all attachments of a database besides its owner: those who act in roles with TRACE_ANY_ATTACHMENT.
pub(super) fn may_watch(database: &Arc<Database>) -> Box<MayWatch> {
    let database = Arc::downgrade(database);
    Box::new(move |user, role| {
        database.upgrade().is_some_and(|database| {
            Actor::named(user, role).has(&database.catalog(), SystemPrivilege::TraceAnyAttachment)
        })
    })
}
