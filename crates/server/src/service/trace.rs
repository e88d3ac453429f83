//! Trace sessions as services: started and read by one connection, listed, stopped, suspended and resumed by any.
//!
//! A session lives as long as the connection that has started it, and reads it through this service; what it shows, and to whom, is
//! the affair of `session::trace`. Texts are Firebird's. A session whose configuration is wrong is started, as in Firebird, and shows
//! nothing but what is wrong: at once, where Firebird writes that at each attach.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use farbird_engine::pattern::NamePattern;
use farbird_engine::session::Interrupt;
use farbird_engine::session::trace::{Changed, Configuration, Matcher, TraceSession, Traces};
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::spb::trace as tag;
use farbird_wire::clumplet::{StartItem, StartValue};

use super::pipe::PipeOutput;
use super::task::{Running, run};
use super::text;
use crate::handshake::Identity;
use crate::shared::Shared;

/// As Firebird names the service.
const NAME: &str = "Start Trace Session";
/// How often somebody looks whether the client is gone while nothing happens.
const LOOK: Duration = Duration::from_millis(250);
/// What is handed to the client at a time, in bytes.
const PIECE_BYTES: usize = 16 << 10;

/// Ends a session when whoever reads it is gone.
struct Reading {
    traces: Arc<Traces>,
    session: Arc<TraceSession>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.traces.end(self.session.id);
    }
}

/// Starts a session, which the services' connection `reader` reads.
///
/// # Errors
/// `isc_bad_spb_form` without a configuration.
pub(super) fn start(
    shared: &Arc<Shared>,
    identity: &Identity,
    reader: u64,
    items: &[StartItem],
) -> Result<Running> {
    let configuration = text(items, tag::CFG).ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?;
    let (configuration, wrong) = match Configuration::parse(&configuration, &compile) {
        Ok(configuration) => (configuration, None),
        Err(error) => (Configuration::default(), Some(error.message())),
    };
    let name = text(items, tag::NAME).unwrap_or_default();
    let traces = Arc::clone(shared.engine.traces());
    let who = (identity.user.as_str(), identity.role.clone());
    let session = traces.start(&name, who, identity.admin, reader, configuration)?;
    let reading = Reading { traces, session };
    tracing::info!(user = identity.user, session = reading.session.id, name, "trace session started");
    Ok(run(shared, NAME, true, Arc::new(Interrupt::new()), move |pipe, interrupt| {
        let mut out = PipeOutput(Arc::clone(pipe));
        let gone = |_| Error::new(isc::CANCELLED);
        writeln!(out, "Trace session ID {} started", reading.session.id).map_err(gone)?;
        if let Some(wrong) = wrong {
            writeln!(out, "{wrong}").map_err(gone)?;
        }
        while let Some(piece) = reading.session.take(PIECE_BYTES, LOOK) {
            interrupt.check()?;
            out.write_all(&piece).map_err(gone)?;
        }
        Ok(())
    }))
}

/// A pattern of SIMILAR TO with `\` as escape.
fn compile(pattern: &str, ignore_case: bool) -> Result<Matcher> {
    let pattern = NamePattern::new(pattern, ignore_case)?;
    Ok(Box::new(move |text, interrupt| pattern.matches(text, interrupt).unwrap_or(false)))
}

/// What is to be done with a session that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Stop,
    Suspend,
    Resume,
}

/// Stops, suspends or resumes a session; gives what is to be told.
///
/// # Errors
/// `isc_bad_spb_form` without its number.
pub(super) fn change(
    shared: &Shared,
    identity: &Identity,
    change: Change,
    items: &[StartItem],
) -> Result<String> {
    let number = items.iter().find_map(|item| match item.value {
        StartValue::Integer(number) if item.tag == tag::ID => Some(number),
        _ => None,
    });
    let number = number.ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?;
    let id = u64::from(number.cast_unsigned());
    let (traces, user, admin) = (shared.engine.traces(), &identity.user, identity.admin);
    let changed = match change {
        Change::Stop => traces.stop(id, user, admin),
        Change::Suspend => traces.set_active(id, false, user, admin),
        Change::Resume => traces.set_active(id, true, user, admin),
    };
    Ok(match (changed, change) {
        (Changed::Unknown, _) => format!("Trace session ID {number} not found\n"),
        (Changed::NotYours, Change::Stop) => "No permissions to stop other user trace session\n".to_owned(),
        (Changed::NotYours, _) => "No permissions to change other user trace session\n".to_owned(),
        (Changed::Done, Change::Stop) => format!("Trace session ID {number} stopped\n"),
        (Changed::Done, Change::Suspend) => format!("Trace session ID {number} paused\n"),
        (Changed::Done, Change::Resume) => format!("Trace session ID {number} resumed\n"),
    })
}

/// The sessions that a user may see, one block of lines for each.
pub(super) fn list(shared: &Shared, identity: &Identity) -> String {
    let sessions = shared.engine.traces().listed(&identity.user, identity.admin);
    sessions.iter().map(|session| block(session)).collect()
}

fn block(session: &TraceSession) -> String {
    let started = session.started_at;
    let (year, month, day) = started.date.year_month_day();
    let (hour, minute, second, _) = started.time.parts();
    let name = match session.name.as_str() {
        "" => String::new(),
        name => format!("  name:  {name}\n"),
    };
    let mut flags = if session.is_active() { "active" } else { "suspend" }.to_owned();
    flags += ", trace";
    if session.is_full() {
        flags += ", log full";
    }
    format!(
        "\nSession ID: {}\n{name}  user:  {}\n  date:  {year:04}-{month:02}-{day:02} \
         {hour:02}:{minute:02}:{second:02}\n  flags: {flags}\n",
        session.id, session.user
    )
}
