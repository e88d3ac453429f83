//! What an origin shows on its status page.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::shared::Shared;
use crate::status::{OriginFacts, SessionFacts, Shown};

/// An origin for its status page.
pub(super) struct OriginShown(pub(super) Arc<Shared>);

impl Shown for OriginShown {
    fn state(&self) -> String {
        self.facts().state().to_string()
    }

    /// What programs do is seen at their edge.
    fn trips(&self, _program: u32) -> Option<String> {
        None
    }

    fn metrics(&self) -> String {
        self.facts().metrics()
    }
}

impl OriginShown {
    fn facts(&self) -> OriginFacts {
        let shared = &*self.0;
        let changing = shared.changing.lock().clone();
        let mut sessions: Vec<SessionFacts> = shared
            .shown
            .lock()
            .values()
            .map(|session| SessionFacts {
                edge: session.name.clone(),
                link: session.link.lock().clone(),
                health: session.hub.health(),
                programs: session.conversations.lock().len(),
            })
            .collect();
        sessions.sort_by(|one, other| (&one.edge, one.link.since).cmp(&(&other.edge, other.link.since)));
        OriginFacts {
            name: shared.options.keys.name().to_owned(),
            server: shared.options.server.clone(),
            is_farbird: shared.options.knowledge.is_some(),
            now: shared.clock.now(),
            sessions,
            sessions_max: changing.sessions_max,
            programs: shared.programs.load(Ordering::Relaxed),
            programs_max: shared.programs_max.load(Ordering::Relaxed),
            begun: shared.begun.load(Ordering::Relaxed),
            came: shared.came.load(Ordering::Relaxed),
            refused: shared.refused.load(Ordering::Relaxed),
            channel_window: changing.link.channel_window,
            ahead: *shared.ahead.lock(),
            ahead_limits: changing.limits.ahead,
        }
    }
}
