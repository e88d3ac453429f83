//! Between two users of one connection: what the first has left behind, and what must not reach the second.
//!
//! Used by [`crate::recycle`].

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::Request;
use farbird_wire::protocol::cancel;

use super::Core;
use super::conversation::Ticket;

/// The time of one user of the connection.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// Counts the users.
    number: u64,
    /// The newest question whose answer somebody was interested in.
    pub(super) asked: Ticket,
    /// Whether the server was told of a cancel: it may be kept there for the next statement.
    has_cancelled: bool,
}

impl Core {
    /// Names the time of the present user: see [`Core::cancel`].
    pub(crate) fn lease(&self) -> u64 {
        self.lease.number
    }

    /// Tells the server of a cancel, at once. One of a user before the present one has nothing to cancel any more.
    pub(crate) fn cancel(&mut self, lease: u64, kind: u16) -> Result<()> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        if !self.version().has_cancel() {
            return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with("cancelling needs protocol 12"));
        }
        if lease == self.lease.number {
            self.lease.has_cancelled = true;
            self.send(&Request::Cancel { kind })?;
            self.flush();
        }
        Ok(())
    }

    /// The newest question of the present user that is not answered.
    pub(crate) fn unfinished(&self) -> Option<Ticket> {
        Some(self.lease.asked).filter(|asked| !self.is_settled(*asked))
    }

    /// Transactions and statements that somebody holds.
    pub(crate) fn held_objects(&self) -> usize {
        self.handles.held()
    }

    /// The present user has gone. Cancels that the server keeps for the next statement are forgotten.
    pub(crate) fn end_lease(&mut self) -> Result<()> {
        self.lease.number += 1;
        self.readings.forget_cancels();
        if std::mem::take(&mut self.lease.has_cancelled) {
            self.send(&Request::Cancel { kind: cancel::DISABLE })?;
            self.send(&Request::Cancel { kind: cancel::ENABLE })?;
        }
        Ok(())
    }
}
