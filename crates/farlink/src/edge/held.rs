//! An execution that waits for what was run ahead.

use std::sync::Arc;
use std::time::Duration;

use farbird_wire::packet::Execute;

use super::statement_cache::Described;
use crate::message::{Cursor, RequestId};
use crate::speculation::Awaited;

/// An execution whose result is on its way.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) execute: Execute,
    pub(super) described: Arc<Described>,
    pub(super) cursor: Cursor,
    pub(super) id: RequestId,
    pub(super) awaited: Awaited,
    /// When it is to be asked for.
    pub(super) until: Duration,
}
