//! Cancelling and limits of time: the calls of [`crate::Connection`].

use std::time::Duration;

use farbird_types::{Error, Result};

use super::connection::Connection;
pub use crate::cancel::Canceller;

impl Connection {
    /// What stops, from other threads, what this connection waits for. From then on its calls look every 50 ms, while they
    /// wait, whether they are to be stopped; so ask for it before the call that is to be stopped.
    ///
    /// # Round trips
    /// As [`crate::Connection::canceller`].
    pub fn canceller(&self) -> Canceller {
        self.runner.watch();
        self.inner.canceller()
    }

    /// As [`crate::Connection::failure`].
    ///
    /// # Round trips
    /// None.
    pub fn failure(&self) -> Option<Error> {
        self.inner.failure()
    }

    /// As [`crate::Connection::set_statement_timeout`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_wish_list` before protocol 16 (Firebird 4); what the server says.
    pub fn set_statement_timeout(&self, timeout: Option<Duration>) -> Result<()> {
        self.runner.run(self.inner.set_statement_timeout(timeout))
    }

    /// As [`crate::Connection::set_idle_timeout`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Connection::set_statement_timeout`].
    pub fn set_idle_timeout(&self, timeout: Option<Duration>) -> Result<()> {
        self.runner.run(self.inner.set_idle_timeout(timeout))
    }
}
