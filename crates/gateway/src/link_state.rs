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
    /// Since when there is one, and both ends have greeted each other; `None`: there is none.
    pub since: Option<Duration>,
    /// How many there have been.
    pub connections: u64,
    /// Attempts that failed since the process began.
    pub failures: u64,
    /// Why there is none, or was none before.
    pub error: Option<String>,
}

impl LinkState {
    pub(crate) fn connected(&mut self, connection: &Connection) {
        self.transport = Some(connection.kind.to_string());
        self.address = Some(connection.address.to_string());
        self.connections += 1;
    }

    pub(crate) fn established(&mut self, now: Duration) {
        self.since = Some(now);
    }

    fn lost(&mut self, why: String) {
        self.since = None;
        self.error = Some(why);
    }

    /// A connection is over; it has failed if the other end has not greeted on it.
    pub(crate) fn ended(&mut self, why: String) {
        match self.since {
            Some(_) => self.lost(why),
            None => self.failed(why),
        }
    }

    pub(crate) fn failed(&mut self, why: String) {
        self.failures += 1;
        self.lost(why);
    }
}
