//! What is kept of an attachment, and of a run of one of its statements, for the trace sessions that are told of it: see [`super::traced`].

use std::time::Duration;

use crate::api::AttachOptions;
use crate::database::Database;
use crate::session::trace::{TracedParameter, TracedTransaction, Watched};

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
