//! What the programs of one edge share.

use std::sync::Arc;

use super::Limits;
use crate::message::ToEdge;

/// Shared by all programs of an edge. Its locks are its own, and held only for moments.
#[derive(Debug)]
pub struct Site {
    limits: Limits,
}

impl Site {
    /// A site that knows nothing yet.
    pub fn new(limits: Limits) -> Arc<Site> {
        Arc::new(Site { limits })
    }

    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes what is for all programs: call it with each message, before what came behind it is handed on.
    pub fn message(&self, _message: &ToEdge) {}
}
