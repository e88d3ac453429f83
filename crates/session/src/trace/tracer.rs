//! Who watches one attachment, or one connection to the services.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::settings::{Event, Settings};
use super::{TraceSession, Traces};
use crate::clock;
use crate::interrupt::Interrupt;
use crate::parameters::AttachOptions;

/// What is watched.
#[derive(Debug, Clone)]
pub enum Watched {
    /// An attachment.
    Attachment {
        /// MON$ATTACHMENT_ID.
        id: u64,
        /// The database's file, with its folder.
        path: String,
        /// Its name alone, for those who need not know where it lies.
        name: String,
        /// The database's owner.
        owner: String,
        /// Who is attached.
        user: String,
        /// `, user:role, character set, protocol:address)` and the line of the program.
        client: String,
    },
    /// A connection to the services.
    Service {
        /// Names it among others.
        number: u64,
        /// Who has logged in.
        user: String,
        /// `protocol:address, program:process`.
        client: String,
    },
}

impl Watched {
    /// An attachment: its number, the database's file with its folder and alone, its owner, and how it attaches.
    pub fn attachment(
        id: u64,
        path: String,
        name: String,
        owner: String,
        options: &AttachOptions,
    ) -> Watched {
        let AttachOptions { user, role, character_set, client, .. } = options;
        let role = role.as_deref().unwrap_or("NONE");
        let peer = match client.protocol.is_empty() {
            true => "<internal>".to_owned(),
            false => format!("{}:{}", client.protocol, with_slash(&client.address)),
        };
        let program = match client.process_name.as_str() {
            "" => String::new(),
            name => format!("\n\t{name}:{}", client.process_id.unwrap_or_default()),
        };
        let client = format!(", {user}:{role}, {}, {peer}){program}", character_set.name());
        Watched::Attachment { id, path, name, owner, user: user.clone(), client }
    }
}

/// `127.0.0.1/3050` of `127.0.0.1:3050`, as Firebird writes addresses.
fn with_slash(address: &str) -> String {
    match address.rsplit_once(':') {
        Some((host, port)) => format!("{}/{port}", host.trim_matches(['[', ']'])),
        None => address.to_owned(),
    }
}

/// Looks who watches something, and tells them.
pub struct Tracer {
    traces: Arc<Traces>,
    watched: Watched,
    /// The last change of sessions that it knows of.
    seen: AtomicU64,
    /// What anybody wants to see, as bits of [`Event`].
    wanted: AtomicU32,
    watches: Mutex<Vec<Watch>>,
    interrupt: Arc<Interrupt>,
    /// Whether somebody, in a role, may watch whoever is attached (TRACE_ANY_ATTACHMENT).
    may_watch: Option<Box<MayWatch>>,
}

/// Says whether a user, in a role, may watch all attachments of a database.
pub type MayWatch = dyn Fn(&str, Option<&str>) -> bool + Send + Sync;

/// A session that watches, and what it shows.
pub(super) struct Watch {
    session: Arc<TraceSession>,
    pub(super) settings: Arc<Settings>,
}

impl Tracer {
    /// A tracer of something that begins. `interrupt` stops it where it looks for long texts in patterns.
    pub fn new(traces: Arc<Traces>, watched: Watched, interrupt: Arc<Interrupt>) -> Tracer {
        Tracer {
            traces,
            watched,
            seen: AtomicU64::new(0),
            wanted: AtomicU32::new(0),
            watches: Mutex::default(),
            interrupt,
            may_watch: None,
        }
    }

    /// As it is, for others too whom the database lets watch all of its attachments.
    pub fn watched_by(mut self, may_watch: Box<MayWatch>) -> Tracer {
        self.may_watch = Some(may_watch);
        self
    }

    /// The tracer of what nobody can watch.
    pub fn unwatched() -> Tracer {
        let watched = Watched::Service { number: 0, user: String::new(), client: String::new() };
        Tracer::new(Arc::default(), watched, Arc::new(Interrupt::new()))
    }

    /// Whether somebody wants to see this.
    pub fn wants(&self, event: Event) -> bool {
        let change = self.traces.change.load(Ordering::Acquire);
        if change != self.seen.load(Ordering::Relaxed) {
            self.look(change);
        }
        self.wanted.load(Ordering::Relaxed) & event as u32 != 0
    }

    /// Looks again who watches.
    fn look(&self, change: u64) {
        let mut watches = self.watches.lock();
        let active = self.traces.active();
        watches.retain(|watch| active.iter().any(|session| Arc::ptr_eq(session, &watch.session)));
        for session in active {
            if watches.iter().any(|watch| Arc::ptr_eq(&watch.session, &session)) {
                continue;
            }
            let Some(settings) = self.shown_to(&session) else { continue };
            let watch = Watch { session, settings };
            self.tell_init(&watch, "TRACE_INIT");
            watches.push(watch);
        }
        let wanted = watches.iter().fold(0, |wanted, watch| wanted | watch.settings.events());
        self.wanted.store(wanted, Ordering::Relaxed);
        self.seen.store(change, Ordering::Relaxed);
    }

    /// What a session may see, and wants to.
    fn shown_to(&self, session: &TraceSession) -> Option<Arc<Settings>> {
        match &self.watched {
            Watched::Attachment { id, path, name, owner, user, .. } => {
                let has_privilege = || {
                    let may_watch = self.may_watch.as_ref();
                    may_watch.is_some_and(|may_watch| may_watch(&session.user, session.role.as_deref()))
                };
                let is_concerned = session.is_admin || session.user == *user || session.user == *owner;
                if !is_concerned && !has_privilege() {
                    return None;
                }
                // Where a database lies is for administrators.
                let below_root = format!("/{name}");
                let known = if session.is_admin { path } else { &below_root };
                let settings = session.configuration.of_database(known, &self.interrupt)?;
                [0, *id].contains(&settings.connection_id).then_some(settings)
            }
            Watched::Service { number, user, .. } => {
                let may = session.is_admin || session.user == *user;
                // What reads a session would give it ever more to read.
                if !may || session.reader == *number {
                    return None;
                }
                session.configuration.of_services()
            }
        }
    }

    /// The watched one is gone.
    pub fn end(&self) {
        // Who was never watched has nobody to tell.
        if self.seen.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.wanted.store(0, Ordering::Relaxed);
        for watch in std::mem::take(&mut *self.watches.lock()) {
            self.tell_init(&watch, "TRACE_FINI");
        }
    }

    fn tell_init(&self, watch: &Watch, action: &str) {
        if watch.settings.shows(Event::Init) {
            let TraceSession { id, name, .. } = &*watch.session;
            let name = if name.is_empty() { " " } else { name };
            let text = format!("\tSESSION_{id} {name}\n\t\n");
            watch.session.append(&self.record(action, &text));
        }
    }

    /// Tells those who want to see it, each as it wants to; `write` gives false for those who do not want this one.
    pub(super) fn tell(
        &self,
        event: Event,
        action: &str,
        mut write: impl FnMut(&mut String, &Settings, &Interrupt) -> bool,
    ) {
        let watches = self.watches.lock();
        for watch in watches.iter().filter(|watch| watch.settings.shows(event)) {
            let mut text = self.head(watch.session.is_admin);
            if write(&mut text, &watch.settings, &self.interrupt) {
                watch.session.append(&self.record(action, &text));
            }
        }
    }

    /// `2026-11-23T18:33:42.6750 (27654:0x7fe90bfc7b40) ACTION`, the text, and an empty line.
    fn record(&self, action: &str, text: &str) -> String {
        let now = clock::utc();
        let (year, month, day) = now.date.year_month_day();
        let (hour, minute, second, fraction) = now.time.parts();
        let number = match &self.watched {
            Watched::Attachment { id, .. } => *id,
            Watched::Service { number, .. } => SERVICE_NUMBERS + *number,
        };
        let process = std::process::id();
        format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:04} \
             ({process}:0x{number:012x}) {action}\n{text}\n"
        )
    }

    /// Who is watched, as the first lines of a record say.
    fn head(&self, is_admin: bool) -> String {
        let mut text = String::new();
        let written = match &self.watched {
            Watched::Attachment { id, path, name, client, .. } => {
                let database = if is_admin { path } else { name };
                writeln!(text, "\t{database} (ATT_{id}{client}")
            }
            Watched::Service { number, user, client } => {
                let number = SERVICE_NUMBERS + number;
                writeln!(text, "\tservice_mgr, (Service 0x{number:012x}, {user}, {client})")
            }
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        text
    }
}

/// Where Firebird's records show an address, attachments show their number, and connections to the services theirs behind these.
const SERVICE_NUMBERS: u64 = 0x5000_0000_0000;
