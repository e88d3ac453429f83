//! A connection that serves one user after the other: what is done in between, by pools and by those who keep connections
//! themselves.
//!
//! Promises: the next user gets a connection that nobody else holds a part of, on which nothing runs any more, and to
//! which no cancel of the user before can come.

use std::sync::Arc;

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::Request;
use farbird_wire::protocol::{Handle, ProtocolVersion, cancel};

use crate::connection::Connection;

/// How it is made sure that a connection can serve its next user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RecyclingMethod {
    /// By what is known on this side: whether the connection has failed, or the server has closed it. A server that is gone
    /// without a word (a machine that lost its power, a firewall that forgot the connection) is found by the first call, in
    /// no more than [`ConnectOptions::read_timeout`](crate::ConnectOptions::read_timeout).
    #[default]
    Fast,
    /// The server is asked, too ([`Connection::ping`]).
    Verified,
    /// The session is made as it was when it was attached (`ALTER SESSION RESET`): context variables, rows of temporary
    /// tables, role, time zone, limits of time, rules of conversion. Its answer shows that the server is there. Protocol 16 and
    /// later (Firebird 4).
    Clean,
}

impl RecyclingMethod {
    /// Whether the server can do that.
    ///
    /// # Errors
    /// `isc_wish_list` if it cannot.
    pub(crate) fn check(self, version: ProtocolVersion) -> Result<()> {
        if self != RecyclingMethod::Clean || version.has_statement_timeout() {
            return Ok(());
        }
        Err(Error::new(isc::WISH_LIST)
            .and(isc::RANDOM)
            .with("ALTER SESSION RESET needs protocol 16 (Firebird 4)"))
    }
}

impl Connection {
    /// Makes the connection ready for its next user. The pools of this crate call it when they hand a connection out; for
    /// others ([`Tuning::rollback_at_once`] suits them) and for those who keep connections themselves.
    ///
    /// | what the user before has left | what becomes of it |
    /// |---|---|
    /// | dropped transactions, cursors, BLOBs | rolled back and closed already, or in this flight |
    /// | transactions, statements, cursors, clones of the connection that are still held somewhere | an error: they stay with whoever holds them, and so does the connection |
    /// | work under way that nobody waits for any more (dropped futures, rows read ahead) | cancelled, and waited for (see [`Canceller::cancel`] for what Firebird's servers see of a cancel: bound the time, as pools can) |
    /// | a cancel that has stopped nothing | forgotten: it does not hit the next user |
    /// | a [`Canceller`] | does nothing any more |
    /// | statements of [`Connection::prepare_cached`] | kept |
    /// | what SET and ALTER SESSION have set, context variables, rows of temporary tables | kept, but with [`RecyclingMethod::Clean`] |
    ///
    /// [`Tuning::rollback_at_once`]: crate::Tuning::rollback_at_once
    /// [`Canceller`]: crate::Canceller
    /// [`Canceller::cancel`]: crate::Canceller::cancel
    ///
    /// # Round trips
    /// None with [`RecyclingMethod::Fast`], one with the others. One more at most if work is under way that nobody waits
    /// for, and as long as the server takes to cancel it.
    ///
    /// # Errors
    /// Why the connection is lost; `isc_obj_in_use` if a part of it is held elsewhere; `isc_wish_list` for
    /// [`RecyclingMethod::Clean`] before protocol 16. After an error it should be dropped.
    pub async fn recycle(&self, method: RecyclingMethod) -> Result<()> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        method.check(self.version())?;
        if self.is_held_elsewhere() {
            return Err(Error::new(isc::OBJ_IN_USE)
                .with("CONNECTION")
                .and(isc::RANDOM)
                .with("a part of the connection is still held by the user before"));
        }
        self.end_work().await?;
        match method {
            RecyclingMethod::Fast => Ok(()),
            RecyclingMethod::Verified => self.ping().await,
            RecyclingMethod::Clean => self.reset_session().await,
        }
    }

    /// Whether there is a clone of it, or somebody holds something that was made on it.
    fn is_held_elsewhere(&self) -> bool {
        if Arc::strong_count(&self.session) > 1 {
            return true;
        }
        // Not both locks at a time.
        let idle = self.statements().idle();
        self.shared.lock().held_objects() > idle
    }

    /// Stops what nobody waits for any more.
    async fn end_work(&self) -> Result<()> {
        let unfinished = {
            let mut core = self.shared.lock();
            let unfinished = core.unfinished();
            if unfinished.is_some() && core.version().has_cancel() {
                let lease = core.lease();
                core.cancel(lease, cancel::RAISE)?;
            }
            unfinished
        };
        if let Some(question) = unfinished {
            self.shared.settled(question).await?;
        }
        self.shared.lock().end_lease()
    }

    async fn reset_session(&self) -> Result<()> {
        let text = self.statement_text(Handle::NONE, Handle::NONE, "alter session reset", &[])?;
        self.response(&Request::ExecuteImmediate(text)).await.map(|_| ())
    }
}
