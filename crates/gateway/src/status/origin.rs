//! What an origin's status page says.

use std::time::Duration;

use farbird_farlink::link::Health;
use farbird_farlink::speculation::{Budget, RunnerCounts, RunnerLimits};
use farbird_status::metrics::Metrics;
use serde_json::{Value, json};

use super::edge::{link, micros};
use crate::link_state::LinkState;

/// How an origin is.
pub(crate) struct OriginFacts {
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) is_farbird: bool,
    pub(crate) now: Duration,
    pub(crate) sessions: Vec<SessionFacts>,
    pub(crate) sessions_max: usize,
    pub(crate) programs: usize,
    pub(crate) programs_max: usize,
    /// Sessions that have begun.
    pub(crate) begun: u64,
    /// Programs that have come.
    pub(crate) came: u64,
    /// Edges and programs that were turned away.
    pub(crate) refused: u64,
    pub(crate) channel_window: u32,
    /// What was run ahead.
    pub(crate) ahead: RunnerCounts,
    pub(crate) ahead_limits: RunnerLimits,
}

/// A session with an edge.
pub(crate) struct SessionFacts {
    pub(crate) edge: String,
    pub(crate) link: LinkState,
    pub(crate) health: Health,
    pub(crate) programs: usize,
}

impl OriginFacts {
    pub(crate) fn state(&self) -> Value {
        let sessions: Vec<Value> = self
            .sessions
            .iter()
            .map(|session| {
                json!({
                    "edge": session.edge,
                    "programs": session.programs,
                    "link": link(&session.health, &session.link, self.channel_window),
                })
            })
            .collect();
        let (ahead, limits) = (&self.ahead, &self.ahead_limits);
        let spent: Vec<Value> = Budget::ALL
            .iter()
            .zip(ahead.spent)
            .map(|(budget, times)| json!({ "budget": budget.name(), "times": times }))
            .collect();
        let ahead = json!({
            "ran": ahead.ran, "failed": ahead.failed, "us": micros(ahead.time), "unused_us": micros(ahead.unused),
            "spent": spent, "cursor_us": micros(limits.cursor_time), "program_us": micros(limits.program_time),
            "program_bytes": limits.program_bytes,
        });
        json!({
            "end": "origin",
            "name": self.name,
            "version": env!("CARGO_PKG_VERSION"),
            "now_us": micros(self.now),
            "server": self.server,
            "is_farbird": self.is_farbird,
            "sessions": sessions,
            "sessions_max": self.sessions_max,
            "begun": self.begun,
            "connected": self.programs,
            "programs_max": self.programs_max,
            "came": self.came,
            "refused": self.refused,
            "ahead": ahead,
        })
    }

    pub(crate) fn metrics(&self) -> String {
        let mut metrics = Metrics::new("farbird_origin");
        metrics.gauge("sessions", "Sessions with edges.", self.sessions.len() as f64);
        metrics.counter("sessions_total", "Sessions that have begun.", self.begun);
        metrics.gauge("programs", "Programs that are connected through edges.", self.programs as f64);
        metrics.counter("programs_total", "Programs that have come through edges.", self.came);
        metrics.counter("refused_total", "Edges and programs that were turned away.", self.refused);
        let up = self.sessions.iter().filter(|session| session.health.is_established).count();
        metrics.gauge("links_up", "Edges whose link is up.", up as f64);
        let sum =
            |of: fn(&Health) -> u64| self.sessions.iter().map(|one| of(&one.health)).sum::<u64>() as f64;
        let both: [(&[(&str, &str)], f64); 2] = [
            (&[("direction", "sent")], sum(|health| health.wire_bytes.0)),
            (&[("direction", "received")], sum(|health| health.wire_bytes.1)),
        ];
        let help = "Bytes of the links of the sessions that there are, as they travelled inside of TLS.";
        metrics.family("session_bytes", "gauge", help, &both);
        let help = "Bytes of messages that wait for edges.";
        metrics.gauge("queued_bytes", help, sum(|health| health.queued_bytes as u64));
        let ahead = &self.ahead;
        let ran: [(&[(&str, &str)], f64); 2] =
            [(&[("result", "sent")], ahead.ran as f64), (&[("result", "none")], ahead.failed as f64)];
        let help = "Statements run ahead, and whether they gave a result.";
        metrics.family("ahead_total", "counter", help, &ran);
        let help = "The server's time for statements run ahead.";
        metrics.family("ahead_seconds_total", "counter", help, &[(&[], ahead.time.as_secs_f64())]);
        let help = "Of it, what was left unused when a cursor was over.";
        metrics.family("ahead_unused_seconds_total", "counter", help, &[(&[], ahead.unused.as_secs_f64())]);
        let by: Vec<[(&str, &str); 1]> =
            Budget::ALL.iter().map(|budget| [("budget", budget.name())]).collect();
        let spent: Vec<(&[(&str, &str)], f64)> =
            by.iter().zip(ahead.spent).map(|(label, times)| (label.as_slice(), times as f64)).collect();
        let help = "Times that nothing more was run ahead because a budget was used up.";
        metrics.family("ahead_spent_total", "counter", help, &spent);
        metrics.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_status::testing::{checked, documented};

    #[test]
    fn metrics_are_valid_and_documented() {
        let session = |is_established, sent| SessionFacts {
            edge: "london \"1\"".to_owned(),
            link: LinkState::default(),
            health: Health { is_established, wire_bytes: (sent, 0), ..Health::default() },
            programs: 1,
        };
        let facts = OriginFacts {
            name: "tokyo".to_owned(),
            server: "localhost:3050".to_owned(),
            is_farbird: false,
            now: Duration::ZERO,
            sessions: vec![session(true, 5), session(false, 7)],
            sessions_max: 100,
            programs: 2,
            programs_max: 1000,
            begun: 2,
            came: 3,
            refused: 0,
            channel_window: 1,
            ahead: RunnerCounts {
                ran: 3,
                failed: 1,
                time: Duration::from_millis(1_500),
                unused: Duration::ZERO,
                spent: [0, 2, 0],
            },
            ahead_limits: RunnerLimits::default(),
        };
        let metrics = facts.metrics();
        let written = documented(include_str!("../../../../docs/farlink.md"), "farbird_origin");
        assert_eq!(checked(&metrics), written, "left: /metrics, right: docs/farlink.md");
        assert!(metrics.contains("farbird_origin_links_up 1\n"), "{metrics}");
        assert!(metrics.contains("farbird_origin_session_bytes{direction=\"sent\"} 12\n"), "{metrics}");
        assert!(metrics.contains("farbird_origin_ahead_seconds_total 1.5\n"), "{metrics}");
        assert!(
            metrics.contains("farbird_origin_ahead_spent_total{budget=\"program_time\"} 2\n"),
            "{metrics}"
        );
    }
}
