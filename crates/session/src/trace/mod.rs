//! Trace sessions: what happens in databases and services, told to those who ask for it while it happens.
//!
//! | module | what it does |
//! |---|---|
//! | `syntax` | the syntax of a configuration |
//! | `settings` | what a configuration asks for |
//! | `log` | what a client has not read yet, bounded |
//! | `tracer` | who watches one attachment or one connection to the services |
//! | `record` | the texts of what has happened |
//! | `parameter` | values as those texts show them |
//!
//! An attachment that nobody watches pays three plain loads for each thing that could be told; who is watched pays for the texts, and
//! never waits for who reads them. Administrators watch everybody, the owner of a database everybody in it, others themselves.
//! Formats are those of Firebird 5.0.4's text plugin. The server starts sessions and reads them; nothing here does I/O.

mod log;
mod parameter;
mod record;
mod settings;
mod syntax;
mod tracer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use farbird_types::{Error, Result, Timestamp, isc};
use parking_lot::Mutex;

use crate::clock;
use log::Log;
pub use parameter::TracedParameter;
pub use record::{Outcome, TableWork, TracedStatement, TracedTransaction, TracedTrigger, Work};
pub use settings::{CompilePattern, Configuration, Event, Matcher, Settings};
pub use tracer::{MayWatch, Tracer, Watched};

/// Most sessions at a time, and most of one user who does not administer.
const SESSIONS_MAX: usize = 64;
const SESSIONS_OF_USER_MAX: usize = 8;
/// Longest name of a session, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// All trace sessions of an engine.
#[derive(Default)]
pub struct Traces {
    /// Counts what has happened to sessions; 0 as long as there was none.
    change: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: Vec<Arc<TraceSession>>,
    started: u64,
}

/// A trace session.
pub struct TraceSession {
    /// Its number, from 1 on.
    pub id: u64,
    /// What its user calls it; may be empty.
    pub name: String,
    /// Who has started it.
    pub user: String,
    /// In which role.
    pub role: Option<String>,
    /// Whether that user administers the server.
    pub is_admin: bool,
    /// When it was started.
    pub started_at: Timestamp,
    /// The connection to the services that reads it: it is not shown itself.
    reader: u64,
    configuration: Configuration,
    is_active: AtomicBool,
    log: Log,
}

impl TraceSession {
    /// Its number, as it is told who counts them.
    fn notice(&self) -> String {
        format!("\n--- Session {} is suspended as its log is full ---\n", self.id)
    }

    fn append(&self, record: &str) {
        self.log.append(record, &self.notice());
    }

    /// Whether it is not suspended.
    pub fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Relaxed)
    }

    /// Whether it tells nothing until its client has read.
    pub fn is_full(&self) -> bool {
        self.log.is_full()
    }

    /// What it has to tell, up to so many bytes, after waiting for some; `None` when it has ended and all is told.
    pub fn take(&self, bytes_max: usize, wait: Duration) -> Option<Vec<u8>> {
        self.log.take(bytes_max, wait)
    }

    /// Whether a user may list, stop and suspend it.
    fn is_of(&self, user: &str, is_admin: bool) -> bool {
        is_admin || self.user == user
    }
}

/// What became of a wish to stop, suspend or resume a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// It was done.
    Done,
    /// It is another user's.
    NotYours,
    /// There is none of this number.
    Unknown,
}

impl Traces {
    /// Starts a session for the services' connection `reader`.
    ///
    /// # Errors
    /// `isc_random` if there are too many, or its name is too long.
    pub fn start(
        &self,
        name: &str,
        (user, role): (&str, Option<String>),
        is_admin: bool,
        reader: u64,
        configuration: Configuration,
    ) -> Result<Arc<TraceSession>> {
        let refused = |why: &str| Err(Error::new(isc::RANDOM).with(why));
        if name.len() > NAME_BYTES_MAX {
            return refused("the name of a trace session has at most 255 bytes");
        }
        let mut state = self.state.lock();
        let of_user = state.sessions.iter().filter(|session| session.user == user).count();
        if state.sessions.len() >= SESSIONS_MAX || (!is_admin && of_user >= SESSIONS_OF_USER_MAX) {
            return refused("there are too many trace sessions; stop some of them");
        }
        state.started += 1;
        let session = Arc::new(TraceSession {
            id: state.started,
            name: name.to_owned(),
            user: user.to_owned(),
            role,
            is_admin,
            started_at: clock::utc(),
            reader,
            configuration,
            is_active: AtomicBool::new(true),
            log: Log::default(),
        });
        state.sessions.push(Arc::clone(&session));
        self.change.fetch_add(1, Ordering::Release);
        Ok(session)
    }

    /// Ends a session: what it has told may be read to the end.
    pub fn end(&self, id: u64) {
        let mut state = self.state.lock();
        state.sessions.retain(|session| {
            if session.id == id {
                session.log.end();
            }
            session.id != id
        });
        self.change.fetch_add(1, Ordering::Release);
    }

    /// Ends a session for a user.
    pub fn stop(&self, id: u64, user: &str, is_admin: bool) -> Changed {
        let found = self.allowed(id, user, is_admin);
        if found == Changed::Done {
            self.end(id);
        }
        found
    }

    /// Suspends a session, or resumes it, for a user.
    pub fn set_active(&self, id: u64, active: bool, user: &str, is_admin: bool) -> Changed {
        let found = self.allowed(id, user, is_admin);
        if found == Changed::Done {
            let state = self.state.lock();
            for session in state.sessions.iter().filter(|session| session.id == id) {
                session.is_active.store(active, Ordering::Relaxed);
            }
            self.change.fetch_add(1, Ordering::Release);
        }
        found
    }

    fn allowed(&self, id: u64, user: &str, is_admin: bool) -> Changed {
        match self.state.lock().sessions.iter().find(|session| session.id == id) {
            None => Changed::Unknown,
            Some(session) if session.is_of(user, is_admin) => Changed::Done,
            Some(_) => Changed::NotYours,
        }
    }

    /// The sessions that a user may see, oldest first.
    pub fn listed(&self, user: &str, is_admin: bool) -> Vec<Arc<TraceSession>> {
        let state = self.state.lock();
        state.sessions.iter().filter(|session| session.is_of(user, is_admin)).cloned().collect()
    }

    fn active(&self) -> Vec<Arc<TraceSession>> {
        let state = self.state.lock();
        state.sessions.iter().filter(|session| session.is_active()).cloned().collect()
    }
}
