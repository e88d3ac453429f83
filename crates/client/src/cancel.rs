//! Stopping what a connection's server is at, while somebody waits for it.
//!
//! Source: wire-protocol 6.9 (op_cancel): servers answer it with nothing but the failure of what they stop.

use farbird_types::{Error, Result, isc};
use farbird_wire::protocol::cancel;

use crate::connection::Connection;
use crate::core::Driven;

/// Stops what a connection's server is at, from any thread or task; made by [`Connection::canceller`]. Clones of it are the
/// same.
///
/// The statement that runs fails with `isc_cancelled` and its transaction goes on. A cancel that comes when nothing runs
/// may stop the connection's next statement. Once the connection has another user ([`Connection::recycle`], as pools do it)
/// it does nothing any more.
#[derive(Debug, Clone)]
pub struct Canceller {
    driven: Driven,
    /// The user of the connection whose work it stops.
    lease: u64,
}

impl Connection {
    /// What stops, from other tasks and threads, what this connection waits for. Ask for it before the query that is to be
    /// stopped: from then on queries begin with one fetch alone, so that Firebird's servers see a cancel.
    ///
    /// # Round trips
    /// None. Queries of more than about 128 KiB take one more afterwards.
    pub fn canceller(&self) -> Canceller {
        let mut core = self.shared.lock();
        core.expect_cancels();
        Canceller { driven: self.shared.driven(), lease: core.lease() }
    }

    /// Why the connection is lost, if it is: whatever else is asked on it fails with this.
    ///
    /// # Round trips
    /// None: this is what is known on this side. [`Connection::ping`] asks the server.
    pub fn failure(&self) -> Option<Error> {
        self.shared.lock().failure()
    }
}

impl Canceller {
    /// Stops what runs. It leaves at once; on a blocking connection that waits for an answer, within 50 ms.
    ///
    /// A Firebird server sees it only if no other request waits behind the one that runs. A query that was begun after
    /// [`Connection::canceller`] is stopped there until its first rows are here; later, with [`Tuning::fetch_ahead`], which
    /// asks for rows before they are needed, it may run on until it has those. Farbird stops it at once.
    ///
    /// [`Tuning::fetch_ahead`]: crate::Tuning::fetch_ahead
    ///
    /// # Round trips
    /// None: servers do not answer it.
    ///
    /// # Errors
    /// The connection is lost; `isc_wish_list` if its protocol has no such request (before Firebird 2.5).
    pub fn cancel(&self) -> Result<()> {
        self.send(cancel::RAISE)
    }

    /// Has the server refuse cancels from now on, until [`Canceller::enable`].
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// As [`Canceller::cancel`].
    pub fn disable(&self) -> Result<()> {
        self.send(cancel::DISABLE)
    }

    /// Has the server take cancels again. Those that came in the meantime are forgotten.
    ///
    /// # Round trips
    /// None.
    ///
    /// # Errors
    /// As [`Canceller::cancel`].
    pub fn enable(&self) -> Result<()> {
        self.send(cancel::ENABLE)
    }

    /// Gives the connection up without a word to the server: everybody who waits or asks later gets `isc_att_shutdown`.
    /// The server finds the closed socket and rolls back what runs.
    ///
    /// # Round trips
    /// None.
    pub fn abort(&self) {
        let mut core = self.driven.lock();
        if core.lease() == self.lease {
            core.fail(Error::new(isc::ATT_SHUTDOWN));
        }
    }

    fn send(&self, kind: u16) -> Result<()> {
        self.driven.lock().cancel(self.lease, kind)
    }
}
