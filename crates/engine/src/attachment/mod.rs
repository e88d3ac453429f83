//! One user's session in one database: its transactions, statements and BLOBs, by handle.
//!
//! Everything a client can ask of the engine is a method here. Calls come one at a time, from any thread; only
//! [`Attachment::interrupt`] is meant for another thread meanwhile. Dropping an attachment rolls its transactions
//! back and lets go of the database.

mod arrays;
mod blob_text;
mod blobs;
mod client_cursors;
mod collation_data;
mod compiled_definitions;
mod database_creators;
mod database_triggers;
mod execution;
mod explain;
mod fetching;
mod known_blobs;
mod login;
mod maintenance;
mod open_blob;
mod open_cursor;
mod preparation;
mod prepared_slot;
mod repeated;
mod requests;
mod restoring;
mod scroll;
mod session_statement;
mod shutdown;
mod statement_slot;
mod statements;
mod table_sizes;
mod traced;
mod traced_run;
mod transaction_slot;
mod transaction_statement;
mod transactions;
mod two_phase;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use farbird_store::{Counted, PageCounters, SessionRelations, Tally};
use farbird_types::{Error, Result, ZoneId};
use parking_lot::Mutex;

use crate::api::{AttachOptions, BlobHandle, RequestHandle, StatementHandle, TransactionHandle};
use crate::catalog::Catalog;
use crate::catalog::privileges::{Actor, check_drop_database, may_take_role, role_as_named};
use crate::check::DatabaseReport;
use crate::clock;
use crate::database::Database;
use crate::open_databases::OpenDatabases;
use crate::session::events::Listener;
use crate::session::trace::{Tracer, Traces};
use crate::session::{Activity, Interrupt, Session, SessionSettings};
use crate::system::{of_session, pages_of};

pub(crate) use login::MappedLogin;
pub(crate) use restoring::DatabaseRestore;

use known_blobs::KnownBlobs;
use open_blob::OpenBlob;
use prepared_slot::PreparedSlot;
use requests::instance::RequestSlot;
use statement_slot::StatementSlot;
use transaction_slot::TransactionSlot;

/// Most handles of one kind that an attachment may hold.
pub const HANDLES_MAX: usize = 65_000;

/// One user's session in one database.
pub struct Attachment {
    /// Where its database is counted.
    databases: Arc<OpenDatabases>,
    /// `None` once it has let go.
    database: Option<Arc<Database>>,
    session: Arc<Session>,
    transactions: BTreeMap<TransactionHandle, TransactionSlot>,
    /// Those that can only be committed or rolled back any more.
    prepared: BTreeMap<TransactionHandle, PreparedSlot>,
    /// The rows that it keeps in temporary tables, once it has begun a transaction.
    temporary: Option<Arc<SessionRelations>>,
    statements: BTreeMap<StatementHandle, StatementSlot>,
    blobs: BTreeMap<BlobHandle, OpenBlob>,
    requests: BTreeMap<RequestHandle, RequestSlot>,
    known_blobs: KnownBlobs,
    next_handle: u32,
    /// Whether attaching has succeeded: ON CONNECT has fired, so ON DISCONNECT shall.
    connected: bool,
    /// Whether it has created the database.
    has_created: bool,
    /// Whether it has shut the database down: it stays among those who may be there.
    has_shut_down: bool,
    /// What a check by it has found.
    verification: Option<DatabaseReport>,
    /// What gbak restores by it.
    restoring: Option<Box<dyn DatabaseRestore>>,
    /// What a restore that has ended has not made.
    restore_warnings: Option<Error>,
}

impl Attachment {
    /// Registers with the database. The engine counts it.
    pub(crate) fn new(
        databases: Arc<OpenDatabases>,
        traces: &Arc<Traces>,
        database: Arc<Database>,
        mut options: AttachOptions,
        zone: ZoneId,
        mapped: MappedLogin,
    ) -> Attachment {
        options.role = options.role.as_deref().map(role_as_named).filter(|role| role != "NONE");
        let id = database.next_attachment_id();
        let interrupt = Arc::new(Interrupt::new());
        let watched = traced_run::watched(id, &database, &options);
        let tracer = Tracer::new(Arc::clone(traces), watched, Arc::clone(&interrupt));
        let tracer = tracer.watched_by(traced_run::may_watch(&database));
        let MappedLogin { server, trusted_role } = mapped;
        let session = Arc::new(Session {
            id,
            server,
            attached_at: clock::now(zone),
            is_admitted: AtomicBool::new(false),
            settings: Mutex::new(SessionSettings {
                role: initial_role(&database.catalog(), &options, trusted_role.as_ref()),
                time_zone: zone,
                original_time_zone: zone,
                statement_timeout: None,
                default_statement_timeout: None,
                first_rows: None,
                default_first_rows: false,
                decimal: Default::default(),
                original_decimal: Default::default(),
                bindings: Default::default(),
                process_id: options.client.process_id,
                restores: false,
            }),
            options,
            trusted_role,
            context_variables: Mutex::new(BTreeMap::new()),
            watched_definitions: Mutex::default(),
            restored: Mutex::default(),
            interrupt,
            activity: Mutex::new(Activity::default()),
            budget: database.budget.open(),
            tally: Tally::below(&database.tally),
            tracer,
            profiler: Arc::default(),
        });
        database.attachments.lock().insert(session.id, Arc::clone(&session));
        Attachment {
            databases,
            database: Some(database),
            session,
            transactions: BTreeMap::new(),
            prepared: BTreeMap::new(),
            temporary: None,
            statements: BTreeMap::new(),
            blobs: BTreeMap::new(),
            requests: BTreeMap::new(),
            known_blobs: KnownBlobs::default(),
            next_handle: 1,
            connected: false,
            has_created: false,
            has_shut_down: false,
            verification: None,
            restoring: None,
            restore_warnings: None,
        }
    }

    /// Who is attached, with which settings, doing what.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        self.database.as_ref().expect("an attachment has its database until it lets go of it")
    }

    /// Somebody who is going to wait for events of the database.
    pub fn listen(&self) -> Listener {
        self.database().events.listen()
    }

    /// Its client asks for something, and it is not idle until [`Attachment::rest`].
    pub fn wake(&self) {
        self.session.interrupt.idle.wake();
    }

    /// Its client has its answer: SET SESSION IDLE TIMEOUT counts from here.
    pub fn rest(&self) {
        if let Some(at) = self.session.interrupt.idle.rest() {
            crate::watchdog::watch_idle(&self.session.interrupt, at);
        }
    }

    /// A timeout for statements that set none themselves and whose session sets none.
    pub fn set_default_statement_timeout(&self, timeout: Option<std::time::Duration>) {
        self.session.settings.lock().default_statement_timeout = timeout;
    }

    /// Whether queries hurry to their first rows where neither they nor SET OPTIMIZE say.
    pub fn set_default_first_rows(&self, first_rows: bool) {
        self.session.settings.lock().default_first_rows = first_rows;
    }

    /// What it has done with rows so far: pairs of a relation's number and its counters, for `isc_info_read_seq_count` and its likes.
    pub fn counted(&self) -> Counted {
        for slot in self.transactions.values() {
            slot.transaction.store.hand_over_counts();
        }
        of_session(&self.session)
    }

    /// What was done with the pages of its database: `isc_info_reads` and its likes.
    pub fn database_pages(&self) -> PageCounters {
        self.session.tally.take_pages();
        for slot in self.transactions.values() {
            slot.transaction.store.hand_over_counts();
        }
        pages_of(self.database())
    }

    /// The database's file: with its folder for administrators, its name alone for others.
    pub fn shown_path(&self) -> String {
        let database = self.database();
        let is_administrator = Actor::of(&self.session).is_administrator(&database.catalog());
        database.shown_path(is_administrator)
    }

    /// What stops the running statement, from another thread.
    pub fn interrupt(&self) -> Arc<Interrupt> {
        Arc::clone(&self.session.interrupt)
    }

    /// Fails if the session was told to end (DELETE FROM MON$ATTACHMENTS, the server's shutdown): nothing is done in it any
    /// more but to roll back and to detach.
    fn check_open(&self) -> Result<()> {
        let interrupt = &self.session.interrupt;
        if interrupt.is_closing() { Err(interrupt.error()) } else { Ok(()) }
    }

    /// Ends the session: rolls back what is open and lets go of the database.
    ///
    /// # Errors
    /// From closing the file, if this was the last attachment. The session has ended all the same.
    pub fn detach(mut self) -> Result<()> {
        self.let_go(false)
    }

    /// Ends the session and deletes the database.
    ///
    /// # Errors
    /// `isc_no_priv` unless the user is an administrator or was granted DROP DATABASE, `isc_obj_in_use` if others are
    /// attached; this session then goes on with its transactions, so it is handed back.
    pub fn drop_database(mut self) -> std::result::Result<(), (Box<Attachment>, Error)> {
        self.restoring = None;
        let allowed = check_drop_database(&self.database().catalog(), &self.session);
        if let Err(error) = allowed.and_then(|()| self.databases.check_alone(self.database())) {
            return Err((Box::new(self), error));
        }
        match self.let_go(true) {
            Ok(()) => Ok(()),
            Err(error) => Err((Box::new(self), error)),
        }
    }

    /// Closes cursors and BLOBs and rolls transactions back; those that are prepared stay in limbo.
    fn end_everything(&mut self) {
        self.requests.clear();
        self.tell_everything_ends();
        self.statements.clear();
        self.blobs.clear();
        for (_, slot) in std::mem::take(&mut self.transactions) {
            if let Err(error) = slot.transaction.store.rollback() {
                tracing::warn!(attachment = self.session.id, %error, "rollback at detach failed");
            }
        }
        self.leave_prepared();
        self.temporary = None;
    }

    fn let_go(&mut self, delete_database: bool) -> Result<()> {
        let was_connected = self.connected;
        self.restoring = None;
        if self.database.is_some() && !delete_database {
            self.end_session();
        }
        self.end_everything();
        let Some(database) = self.database.take() else { return Ok(()) };
        database.attachments.lock().remove(&self.session.id);
        match self.databases.release(database, delete_database) {
            Ok(()) => {
                self.tell_detached(was_connected, delete_database);
                Ok(())
            }
            Err((None, error)) => {
                self.tell_detached(was_connected, delete_database);
                Err(error)
            }
            Err((Some(database), error)) => {
                database.attachments.lock().insert(self.session.id, Arc::clone(&self.session));
                self.database = Some(database);
                Err(error)
            }
        }
    }

    fn new_handle(&mut self) -> u32 {
        let handle = self.next_handle;
        self.next_handle = self.next_handle.wrapping_add(1).max(1);
        handle
    }
}

/// The role that a session begins with: the one that is asked for, or a mapping's if that is not the user's to take.
fn initial_role(catalog: &Catalog, options: &AttachOptions, trusted: Option<&String>) -> Option<String> {
    let asked = options.role.as_ref().filter(|role| may_take_role(catalog, &options.user, role));
    asked.or(trusted).cloned()
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Err(error) = self.let_go(false) {
            tracing::warn!(attachment = self.session.id, %error, "closing the database failed");
        }
    }
}
