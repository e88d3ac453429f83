//! What is known of an end's connection with the other, beside what its link knows itself.

use std::time::Duration;

use crate::transport::Connection;

/// What is known of a connection. Times are those of the end's own clock.
#[derive(Debug, Clone, Default)]
pub struct LinkState {
    /// What it runs over; of the last one, if there is none now.
    pub transport: Option<String>,
    /// Where the other end is.
    pub address: Option<String>,
    /// Since when there is one; `None`: there is none.
    pub since: Option<Duration>,
    /// How many there have been.
    pub connections: u64,
    /// Attempts that failed since the process began.
    pub failures: u64,
    /// Why there is none, or was none before.
    pub error: Option<String>,
}

impl LinkState {
    pub(crate) fn connected(&mut self, connection: &Connection, now: Duration) {
        self.transport = Some(connection.kind.to_string());
        self.address = Some(connection.address.to_string());
        self.since = Some(now);
        self.connections += 1;
    }

    pub(crate) fn lost(&mut self, why: String) {
        self.since = None;
        self.error = Some(why);
    }

    pub(crate) fn failed(&mut self, why: String) {
        self.failures += 1;
        self.lost(why);
    }
}
