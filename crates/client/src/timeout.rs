//! Limits of time that the server keeps: of a statement, of an attachment's statements, of an idle attachment.
//!
//! How long this side waits is in [`crate::ConnectOptions`]: `connect_timeout` and `read_timeout`.

use std::time::Duration;

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::Request;
use farbird_wire::protocol::{Handle, ProtocolVersion};

use crate::connection::Connection;
use crate::statement::Statement;

impl Statement {
    /// How long each of its executions from now on may take, rows included; whole milliseconds, `None` for as long as the
    /// attachment and the server allow. After that the server stops it with `isc_cancelled`, followed by
    /// `isc_req_stmt_timeout`.
    ///
    /// # Round trips
    /// None: the limit travels with the execution.
    ///
    /// # Errors
    /// `isc_wish_list` before protocol 16 (Firebird 4).
    pub fn set_timeout(&self, timeout: Option<Duration>) -> Result<()> {
        needs_timeouts(self.shared().version())?;
        self.keep_timeout(timeout.map_or(0, milliseconds));
        Ok(())
    }
}

impl Connection {
    /// How long each statement of this attachment may take, from now on, unless it has a limit of its own.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_wish_list` before protocol 16 (Firebird 4); what the server says.
    pub async fn set_statement_timeout(&self, timeout: Option<Duration>) -> Result<()> {
        let milliseconds = timeout.map_or(0, milliseconds);
        self.manage(&format!("set statement timeout {milliseconds} millisecond")).await
    }

    /// How long the server keeps the attachment although nothing is asked; whole seconds, at least one. After that it is
    /// closed, and the next request fails.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Connection::set_statement_timeout`].
    pub async fn set_idle_timeout(&self, timeout: Option<Duration>) -> Result<()> {
        let seconds = timeout.map_or(0, |timeout| milliseconds(timeout).div_ceil(1000));
        self.manage(&format!("set session idle timeout {seconds} second")).await
    }

    /// Runs a statement that manages the session, which needs no transaction.
    async fn manage(&self, text: &str) -> Result<()> {
        needs_timeouts(self.version())?;
        let text = self.statement_text(Handle::NONE, Handle::NONE, text, &[])?;
        self.response(&Request::ExecuteImmediate(text)).await.map(|_| ())
    }
}

/// At least one: none would mean no limit.
fn milliseconds(timeout: Duration) -> u32 {
    u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX).max(1)
}

fn needs_timeouts(version: ProtocolVersion) -> Result<()> {
    if version.has_statement_timeout() {
        return Ok(());
    }
    Err(Error::new(isc::WISH_LIST)
        .and(isc::RANDOM)
        .with("timeouts of statements need protocol 16 (Firebird 4)"))
}
