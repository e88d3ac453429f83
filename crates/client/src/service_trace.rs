//! Trace sessions: the server tells what it does.
//!
//! Source: wire-protocol.md, 11.5 (isc_spb_trc_); FirebirdSQL/firebird doc/README.trace_services (what is said).

use farbird_types::Result;
use farbird_wire::clumplet::spb;
use farbird_wire::clumplet::spb::trace as tag;

use crate::error;
use crate::service::Services;
use crate::service_action::ServiceAction;

/// A trace session of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceSession {
    /// Its number.
    pub id: u32,
    /// Its name; empty if it has none.
    pub name: String,
    /// Who started it.
    pub user: String,
    /// When, as the server writes it.
    pub started: String,
    /// What it is: `active, trace`, `suspend, admin, trace` ...
    pub flags: String,
}

impl Services {
    /// Starts a trace session; gives its number. What it says from then on comes by [`Services::poll`] and
    /// [`Services::poll_for`]; it lives as long as this connection, unless another one stops it.
    ///
    /// `configuration` is the text of a trace configuration: `database { enabled = true log_statement_finish = true }`.
    ///
    /// # Round trips
    /// Two, and one for each time that the server has nothing to say yet.
    ///
    /// # Errors
    /// What the server says of the configuration or the user's privileges.
    pub async fn start_trace(&self, name: &str, configuration: &str) -> Result<u32> {
        let mut action = ServiceAction::new(spb::action::TRACE_START);
        if !name.is_empty() {
            action = action.text(tag::NAME, name)?;
        }
        self.start_action(&action.text(tag::CFG, configuration)?).await?;
        loop {
            // Line by line: what comes behind the first is for those who poll.
            let answer = self.answer(self.ask_service(Vec::new(), &[spb::info::LINE])?).await?;
            let line = String::from_utf8_lossy(&answer.bytes).into_owned();
            if let Some(id) = session_number(&line) {
                return Ok(id);
            }
            if answer.bytes.is_empty() && !answer.goes_on {
                return Err(error::unexpected("the start of a trace session"));
            }
        }
    }

    /// Ends a trace session.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn stop_trace(&self, id: u32) -> Result<()> {
        self.about_trace(spb::action::TRACE_STOP, id).await
    }

    /// Stops a trace session for a while.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn suspend_trace(&self, id: u32) -> Result<()> {
        self.about_trace(spb::action::TRACE_SUSPEND, id).await
    }

    /// Lets a trace session go on.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn resume_trace(&self, id: u32) -> Result<()> {
        self.about_trace(spb::action::TRACE_RESUME, id).await
    }

    /// The trace sessions that the user may see.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn trace_sessions(&self) -> Result<Vec<TraceSession>> {
        Ok(parse_sessions(&self.run(&ServiceAction::new(spb::action::TRACE_LIST)).await?))
    }

    async fn about_trace(&self, action: u8, id: u32) -> Result<()> {
        self.run(&ServiceAction::new(action).integer(tag::ID, id)).await.map(|_| ())
    }
}

/// Of `Trace session ID 7 started`.
fn session_number(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("ession ID")?;
    let digits = rest.trim_start_matches([' ', ':']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// The list, a session's number in front of what is said of it.
fn parse_sessions(lines: &[String]) -> Vec<TraceSession> {
    let mut sessions: Vec<TraceSession> = Vec::new();
    for line in lines {
        if let Some(id) = session_number(line) {
            sessions.push(TraceSession { id, ..TraceSession::default() });
            continue;
        }
        let (Some(session), Some((what, text))) = (sessions.last_mut(), line.split_once(':')) else {
            continue;
        };
        let place = match what.trim() {
            "name" => &mut session.name,
            "user" => &mut session.user,
            "date" => &mut session.started,
            "flags" => &mut session.flags,
            _ => continue,
        };
        text.trim().clone_into(place);
    }
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        let said = "\nSession ID: 12\n  name:  all of it\n  user:  SYSDBA\n  date:  2026-01-02 03:04:05\n  \
                    flags: active, trace\n\nSession ID: 13\n  user:  ADA\n";
        let lines: Vec<String> = said.lines().map(str::to_owned).collect();
        let sessions = parse_sessions(&lines);
        assert_eq!(sessions.len(), 2);
        assert_eq!((sessions[0].id, sessions[0].name.as_str()), (12, "all of it"));
        assert_eq!(sessions[0].started, "2026-01-02 03:04:05");
        assert_eq!(sessions[0].flags, "active, trace");
        assert_eq!((sessions[1].id, sessions[1].user.as_str()), (13, "ADA"));
        assert_eq!(session_number("Trace session ID 7 started"), Some(7));
        assert_eq!(session_number("session ID without"), None);
    }
}
