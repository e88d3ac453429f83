//! What the programs of one edge share.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use farbird_wire::packet::{Attach, Reply, Response};

use super::counters::{Counters, Saved, TextCounters};
use super::greeting::{Greeting, can_be_given_again, with_challenge};
use super::spill::{HeldRows, Outside, RowBounds, Spill, SpillStore, Spilled, What};
use super::statement_cache::{Described, Key, StatementCache};
use super::usual::Usual;
use super::{Limits, information};
use crate::message::{CommitPoint, NamedCommit, Relation, Ticket, ToEdge};
use crate::quick_hash::QuickMap;
use crate::speculation::Rules;

/// Shared by all programs of an edge. Its locks are its own, and held only for moments.
#[derive(Debug)]
pub struct Site {
    limits: RwLock<Limits>,
    shared: Mutex<Shared>,
    rules: Mutex<Rules>,
    spill: Spill,
}

#[derive(Debug, Default)]
struct Shared {
    /// What kind of server the origin has; `None` until it says so.
    is_farbird: Option<bool>,
    server: String,
    statements: StatementCache,
    information: HashMap<information::Key, Response>,
    /// How the server has answered op_connect.
    greetings: HashMap<Greeting, Reply>,
    /// Logins prepared in advance, by user as typed, the oldest first.
    tickets: HashMap<Vec<u8>, VecDeque<PreparedLogin>>,
    /// How programs have attached that began so.
    usual_attaches: HashMap<Usual, Attach>,
    /// Counts each time that users were told to have changed.
    user_changes: u64,
    /// The latest time that a program was given.
    now: Duration,
    /// Numbers of databases whose server does not number them.
    files: HashMap<Vec<u8>, u32>,
    /// The newest commit that is known to have changed a relation of a database.
    newest: QuickMap<(u32, Relation), CommitPoint>,
    /// The newest commit that is known of, by database.
    latest: QuickMap<u32, CommitPoint>,
    /// The next name of a commit; none until names are given.
    next_name: Option<u128>,
    /// Bytes of rows that origins were allowed to send and programs have not taken.
    granted_row_bytes: usize,
    blob_bytes: usize,
    /// Bytes of writes that were answered as done and are not.
    write_bytes: usize,
    counters: Counters,
    /// Counts each time that definitions were told to have changed.
    generation: u64,
}

/// Ways of programs to begin a connection that are remembered.
const GREETINGS_MAX: usize = 100;
/// Ways of programs to attach that are remembered.
const USUAL_ATTACHES_MAX: usize = 1_000;
/// Logins prepared for one user, and users that have some.
const TICKETS_MAX: usize = 64;
/// See above.
const TICKET_USERS_MAX: usize = 1_000;
/// How long a login prepared in advance is used: the server keeps it for an hour.
const TICKET_LIFETIME: Duration = Duration::from_secs(50 * 60);
/// Names of databases that are numbered. What programs attach beyond them has no descriptions kept.
const FILES_MAX: usize = 1_000;

/// A login prepared in advance.
#[derive(Debug)]
struct PreparedLogin {
    came: Duration,
    ticket: Ticket,
    /// Salt and server key.
    data: Vec<u8>,
}

/// Memory of an edge, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Statements' texts and descriptions.
    pub statements: usize,
    /// How many statements that are.
    pub statement_count: usize,
    /// Rows that were asked for and not taken by programs, whether they are here or still to come.
    pub rows: usize,
    /// Contents of BLOBs.
    pub blobs: usize,
    /// Writes that were answered as done and are not.
    pub writes: usize,
    /// Outside of memory: rows and BLOBs.
    pub spilled: Spilled,
}

impl Site {
    /// A site that knows nothing yet.
    pub fn new(limits: Limits) -> Arc<Site> {
        let rules = Mutex::new(Rules::new(limits.speculation));
        Arc::new(Site {
            limits: RwLock::new(limits),
            shared: Mutex::default(),
            rules,
            spill: Spill::default(),
        })
    }

    /// Rows and BLOBs that have no room in memory go there from now on.
    pub fn spill_to(&self, store: Arc<dyn SpillStore>) {
        self.spill.set_store(store);
    }

    /// Its limits.
    pub fn limits(&self) -> Limits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets other limits. What programs hold beyond them they keep; what they hold of speculation keeps its limits.
    pub fn set_limits(&self, limits: Limits) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules that its programs have taught it.
    pub fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes whenever definitions are told to have changed.
    pub(super) fn generation(&self) -> u64 {
        self.shared().generation
    }

    /// Commits have names from now on, counted up from here: a random number, so that nobody can guess them.
    pub fn name_commits_from(&self, first: u128) {
        self.shared().next_name = Some(first);
    }

    /// A name for a commit of a database, if its server keeps them.
    pub(super) fn name_commit(&self, database: u32) -> Option<NamedCommit> {
        let shared = &mut *self.shared();
        let since = *shared.latest.get(&database).filter(|_| shared.is_farbird == Some(true))?;
        let name = shared.next_name?;
        shared.next_name = Some(name.wrapping_add(1));
        Some(NamedCommit { name: name.to_le_bytes(), since })
    }

    pub(super) fn note_commit(&self, database: u32, commit: CommitPoint) {
        let known = &mut self.shared().latest;
        let latest = known.entry(database).or_insert(commit);
        *latest = commit.max(*latest);
    }

    /// Changes whenever definitions or users are told to have changed.
    pub(super) fn changes(&self) -> u64 {
        let shared = self.shared();
        shared.generation + shared.user_changes
    }

    /// How a program that begins so has attached.
    pub(super) fn usual_attach(&self, usual: &Usual) -> Option<Attach> {
        self.shared().usual_attaches.get(usual).cloned()
    }

    pub(super) fn keep_usual_attach(&self, usual: Usual, attach: Attach) {
        let attaches = &mut self.shared().usual_attaches;
        if attaches.len() < USUAL_ATTACHES_MAX || attaches.contains_key(&usual) {
            attaches.insert(usual, attach);
        }
    }

    /// Takes what is for all programs: call it with each message, before what came behind it is handed on.
    pub fn message(&self, message: &ToEdge) {
        match message {
            ToEdge::Welcome { is_farbird, server } => {
                let mut shared = self.shared();
                shared.is_farbird = Some(*is_farbird);
                server.clone_into(&mut shared.server);
                // Another server, perhaps, or the same after changes that nobody has told of.
                shared.information.clear();
                shared.newest.clear();
                shared.latest.clear();
                shared.greetings.clear();
                shared.tickets.clear();
                shared.usual_attaches.clear();
                shared.invalidate(None);
            }
            ToEdge::Notice { database, commit, relations } => {
                self.note_commit(*database, *commit);
                let newest = &mut self.shared().newest;
                for relation in relations {
                    let known = newest.entry((*database, *relation)).or_insert(*commit);
                    *known = (*known).max(*commit);
                }
            }
            ToEdge::Invalidate { database } => self.shared().invalidate(Some(*database)),
            ToEdge::UsersChanged => {
                let mut shared = self.shared();
                shared.tickets.clear();
                shared.user_changes += 1;
            }
            ToEdge::Ticket { ticket, user, data } => self.shared().keep_ticket(*ticket, user, data),
            ToEdge::On { .. } | ToEdge::Closed { .. } | ToEdge::Outcome { .. } => {}
        }
    }

    /// Whether the server tells of commits and of what statements read; `None` until it is known.
    pub fn is_farbird(&self) -> Option<bool> {
        self.shared().is_farbird
    }

    /// Messages of the origin bear no time: they count as come when a program was last heard of, which is no later.
    pub(super) fn set_now(&self, now: Duration) {
        let known = &mut self.shared().now;
        *known = now.max(*known);
    }

    /// A login prepared for a user, and the answer to op_connect with it.
    pub(super) fn take_ticket(
        &self,
        user: &[u8],
        greeting: &Greeting,
        now: Duration,
    ) -> Option<(Ticket, Reply)> {
        let shared = &mut *self.shared();
        let answer = shared.greetings.get(greeting)?;
        let tickets = shared.tickets.get_mut(user)?;
        while let Some(PreparedLogin { came, ticket, data }) = tickets.pop_front() {
            if now.saturating_sub(came) < TICKET_LIFETIME {
                return Some((ticket, with_challenge(answer.clone(), &data)));
            }
        }
        None
    }

    pub(super) fn drop_tickets(&self, user: &[u8]) {
        self.shared().tickets.remove(user);
    }

    /// How the server has answered op_connect: with salt and key of the user.
    pub(super) fn keep_greeting(&self, greeting: Greeting, answer: &Reply) {
        let greetings = &mut self.shared().greetings;
        if can_be_given_again(answer) && greetings.len() < GREETINGS_MAX {
            greetings.insert(greeting, answer.clone());
        }
    }

    /// The number of a database, if its server gives it none.
    pub(super) fn number_of(&self, file: &[u8]) -> Option<u32> {
        let shared = &mut *self.shared();
        if shared.is_farbird != Some(false) || shared.files.len() >= FILES_MAX {
            return None;
        }
        let next = u32::try_from(shared.files.len()).ok()?;
        Some(*shared.files.entry(file.to_vec()).or_insert(next))
    }

    /// Name and version of the server, for people.
    pub fn server(&self) -> String {
        self.shared().server.clone()
    }

    /// The newest commit that is known to have changed a relation.
    pub fn newest_commit(&self, database: u32, relation: Relation) -> CommitPoint {
        self.shared().newest.get(&(database, relation)).copied().unwrap_or(CommitPoint(0))
    }

    /// What was counted since it began.
    pub fn counters(&self) -> Counters {
        self.shared().counters.clone()
    }

    /// What it holds.
    pub fn memory(&self) -> Memory {
        let shared = self.shared();
        Memory {
            statements: shared.statements.bytes(),
            statement_count: shared.statements.len(),
            rows: shared.granted_row_bytes,
            blobs: shared.blob_bytes,
            writes: shared.write_bytes,
            spilled: self.spill.spilled(),
        }
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.shared().counters);
    }

    pub(super) fn save(&self, kind: Saved) {
        self.count(|counters| counters.save(kind));
    }

    pub(super) fn count_text(&self, described: &Described, change: impl FnOnce(&mut TextCounters)) {
        let texts_max = self.limits().counted_texts;
        self.shared().counters.text(&described.shown(), texts_max, change);
    }

    pub(super) fn find_statement(&self, key: &Key) -> Option<Arc<Described>> {
        let mut shared = self.shared();
        let found = shared.statements.find(key);
        match found {
            Some(_) => shared.counters.statement_hits += 1,
            None => shared.counters.statement_misses += 1,
        }
        found
    }

    /// How a statement of the same shape was described, to describe another one from its text alone.
    pub(super) fn find_alike(&self, shape: &Key) -> Option<Arc<Described>> {
        let mut shared = self.shared();
        let found = shared.statements.find(shape);
        shared.counters.statements_deferred += u64::from(found.is_some());
        found
    }

    /// The next statement of this shape is to be described by the server.
    pub(super) fn forget_alike(&self, shape: &Key) {
        self.shared().statements.remove(shape);
    }

    pub(super) fn keep_statement(&self, key: Key, described: Arc<Described>) {
        let bytes_max = self.limits().statement_bytes;
        let mut shared = self.shared();
        let evicted = shared.statements.insert(key, described, bytes_max);
        shared.counters.statements_evicted += evicted;
    }

    /// Definitions of a database have changed.
    pub(super) fn invalidate(&self, database: u32) {
        self.shared().invalidate(Some(database));
    }

    pub(super) fn find_information(&self, key: &information::Key) -> Option<Response> {
        self.shared().information.get(key).cloned()
    }

    pub(super) fn keep_information(&self, key: information::Key, response: Response) {
        let information = &mut self.shared().information;
        if information.len() < information::KEPT_MAX {
            information.insert(key, response);
        }
    }

    /// Allows an origin to send rows; gives how many bytes.
    pub(super) fn grant_rows(&self, wanted: usize, now: Duration) -> usize {
        let limits = self.limits();
        let most = limits.edge_row_bytes.saturating_add(self.spill.room(limits.spill_bytes, now));
        let shared = &mut *self.shared();
        let left = most.saturating_sub(shared.granted_row_bytes);
        let granted = wanted.min(left).max(wanted.min(limits.cursor_bytes_least));
        shared.granted_row_bytes += granted;
        granted
    }

    pub(super) fn give_back_rows(&self, bytes: usize) {
        let shared = &mut *self.shared();
        shared.granted_row_bytes = shared.granted_row_bytes.saturating_sub(bytes);
    }

    /// How many bytes of rows a program may ask for beyond those in its memory.
    pub(super) fn program_spill_room(&self, now: Duration) -> usize {
        let limits = self.limits();
        self.spill.room(limits.spill_bytes, now).min(limits.program_spill_bytes)
    }

    /// Keeps rows that have come; `of_program` counts what the program has of them in memory.
    pub(super) fn hold_rows(
        &self,
        packets: Vec<u8>,
        of_program: &Arc<AtomicUsize>,
        now: Duration,
    ) -> HeldRows {
        let limits = self.limits();
        let bounds = RowBounds {
            program: limits.program_row_bytes,
            edge: limits.edge_row_bytes,
            outside: limits.spill_bytes,
        };
        self.spill.hold_rows(packets, of_program, bounds, now)
    }

    /// Puts a BLOB outside of memory, if it has room there beside the rows that were asked for.
    pub(super) fn spill_blob(&self, packed: &[u8], now: Duration) -> Option<Outside> {
        let limits = self.limits();
        let for_rows = self.shared().granted_row_bytes.saturating_sub(limits.edge_row_bytes);
        self.spill.put(packed, What::Blob, limits.spill_bytes.saturating_sub(for_rows), now)
    }

    /// Makes room for a BLOB; false if there is none.
    pub(super) fn take_blob_room(&self, bytes: usize) -> bool {
        let most = self.limits().edge_blob_bytes;
        let shared = &mut *self.shared();
        let fits = shared.blob_bytes.saturating_add(bytes) <= most;
        if fits {
            shared.blob_bytes += bytes;
        }
        fits
    }

    pub(super) fn give_back_blob(&self, bytes: usize) {
        let shared = &mut *self.shared();
        shared.blob_bytes = shared.blob_bytes.saturating_sub(bytes);
    }

    /// A write was answered as done.
    pub(super) fn take_write(&self, bytes: usize) {
        self.shared().write_bytes += bytes;
    }

    /// Writes are done, have failed, or are forgotten.
    pub(super) fn give_back_writes(&self, bytes: usize) {
        let shared = &mut *self.shared();
        shared.write_bytes = shared.write_bytes.saturating_sub(bytes);
    }
}

impl Shared {
    fn keep_ticket(&mut self, ticket: Ticket, user: &str, data: &[u8]) {
        let is_full = self.tickets.len() >= TICKET_USERS_MAX && !self.tickets.contains_key(user.as_bytes());
        if is_full {
            return;
        }
        let tickets = self.tickets.entry(user.as_bytes().to_vec()).or_default();
        if tickets.len() >= TICKETS_MAX {
            tickets.pop_front();
        }
        tickets.push_back(PreparedLogin { came: self.now, ticket, data: data.to_vec() });
    }

    fn invalidate(&mut self, database: Option<u32>) {
        self.generation += 1;
        self.counters.statements_invalidated += self.statements.invalidate(database);
    }
}
