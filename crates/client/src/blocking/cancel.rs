//! Stopping, from another thread, what a connection waits for.

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::Request;
use farbird_wire::protocol::cancel;

use crate::core::Driven;

/// Stops what a connection's server is at, from any thread; made by [`super::Connection::canceller`].
///
/// The statement fails with `isc_cancelled`, and its transaction goes on. A cancel that comes when nothing runs stops the
/// connection's next statement.
#[derive(Debug, Clone)]
pub struct Canceller {
    pub(super) driven: Driven,
}

impl Canceller {
    /// Stops what runs. It is sent within 50 ms if the connection waits for an answer, else with its next flight.
    ///
    /// # Round trips
    /// None: servers do not answer it.
    ///
    /// # Errors
    /// The connection is lost, or its protocol has no such request (before Firebird 2.5).
    pub fn cancel(&self) -> Result<()> {
        let mut core = self.driven.lock();
        if !core.version().has_cancel() {
            return Err(Error::new(isc::WISH_LIST));
        }
        core.send(&Request::Cancel { kind: cancel::RAISE })?;
        core.flush();
        Ok(())
    }
}
