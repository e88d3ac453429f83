//! What one attachment is to everybody else: who, from where, with which settings, doing what.
//!
//! A [`Session`] is shared by reference: the attachment's own thread changes it, MON$ tables and shutdown read it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use farbird_budget::{Account, StatementBudget};
use farbird_store::{Counted, Tally};
use farbird_types::decimal::DecimalContext;
use farbird_types::{Date, Time, Timestamp, TimestampTz, ZoneId};
use parking_lot::Mutex;

use crate::binding::Bindings;
use crate::definition::WatchedDefinition;
use crate::interrupt::Interrupt;
use crate::parameters::{AttachOptions, TransactionParameters};
use crate::profile::Profiler;
use crate::restored_rows::RestoredRows;
use crate::trace::Tracer;

/// One attachment's identity, settings and activity.
pub struct Session {
    /// MON$ATTACHMENT_ID.
    pub id: u64,
    /// How it attached.
    pub options: AttachOptions,
    /// Who that is to the server, whose users and global mappings it may change.
    pub server: ServerUser,
    /// The role that a mapping has given.
    pub trusted_role: Option<String>,
    /// When it attached.
    pub attached_at: TimestampTz,
    /// Whether the database was open to it: until then it may be refused, and is in nobody's way. Written under the lock of the
    /// database's attachments.
    pub is_admitted: AtomicBool,
    /// Settings that may change while it lasts, most of them by SET statements.
    pub settings: Mutex<SessionSettings>,
    /// RDB$SET_CONTEXT('USER_SESSION', ...).
    pub context_variables: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Definitions whose triggers are running, the innermost last: the namespace DDL_TRIGGER.
    pub watched_definitions: Mutex<Vec<Arc<WatchedDefinition>>>,
    /// What it has stored into system tables, if gbak restores a database by it.
    pub restored: Mutex<Option<Box<RestoredRows>>>,
    /// Stops what is running.
    pub interrupt: Arc<Interrupt>,
    /// What MON$TRANSACTIONS and MON$STATEMENTS show of it.
    pub activity: Mutex<Activity>,
    /// What its statements have taken.
    pub budget: Arc<Account>,
    /// What was done with rows in transactions of its that have ended.
    pub tally: Arc<Tally>,
    /// Tells trace sessions what happens in it.
    pub tracer: Tracer,
    /// What RDB$PROFILER collects of it.
    pub profiler: Arc<Profiler>,
}

impl Session {
    /// How many threads one of its statements may use, its own included: what it has asked for, of what the server allows.
    pub fn parallel_workers(&self) -> usize {
        let most = self.budget.parallel_workers().max(1);
        self.options.client.parallel_workers.map_or(most, |wanted| wanted.clamp(1, most))
    }

    /// Whether one of its statements runs.
    pub fn is_running(&self) -> bool {
        let activity = self.activity.lock();
        activity.statements.values().any(|statement| statement.state() == StatementState::Active)
    }
}

/// Who somebody is to the server: whoever has logged in, or as whom global mappings have them work. The mappings of a database are
/// nothing to it, for everybody who has a database can make some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerUser {
    /// Whoever has logged in, before any mapping.
    pub login: String,
    /// The user.
    pub user: String,
    /// The role that a global mapping gives.
    pub role: Option<String>,
}

/// Settings that SET statements change.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// SET ROLE.
    pub role: Option<String>,
    /// SET TIME ZONE.
    pub time_zone: ZoneId,
    /// The zone it attached with: SET TIME ZONE LOCAL goes back to it.
    pub original_time_zone: ZoneId,
    /// SET STATEMENT TIMEOUT for the session.
    pub statement_timeout: Option<Duration>,
    /// The server's own timeout, in force whatever the session sets.
    pub default_statement_timeout: Option<Duration>,
    /// SET OPTIMIZE: whether queries hurry to their first rows.
    pub first_rows: Option<bool>,
    /// The server's own choice, where SET OPTIMIZE says nothing.
    pub default_first_rows: bool,
    /// SET DECFLOAT ROUND, SET DECFLOAT TRAPS.
    pub decimal: DecimalContext,
    /// What it attached with: ALTER SESSION RESET goes back to it.
    pub original_decimal: DecimalContext,
    /// SET BIND.
    pub bindings: Bindings,
    /// The client's process, which a program that takes an attachment made ahead says later than the rest.
    pub process_id: Option<i32>,
    /// Whether it restores a backup: routines may say what is refused in new ones.
    pub restores: bool,
}

impl SessionSettings {
    /// Whether queries that say nothing themselves hurry to their first rows.
    pub fn hurries_to_first_rows(&self) -> bool {
        self.first_rows.unwrap_or(self.default_first_rows)
    }
}

/// What a session is doing, as MON$ tables show it.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    /// Its transactions by id.
    pub transactions: BTreeMap<u64, TransactionActivity>,
    /// Its statements by id.
    pub statements: BTreeMap<u64, Arc<StatementActivity>>,
}

/// A line of MON$TRANSACTIONS.
#[derive(Debug, Clone)]
pub struct TransactionActivity {
    /// When it began.
    pub started_at: TimestampTz,
    /// The number that it began with: a retained transaction has others.
    pub initial_id: u64,
    /// Its parameters.
    pub parameters: TransactionParameters,
    /// What it does with rows.
    pub tally: Arc<Tally>,
}

/// A line of MON$STATEMENTS. Runs are noted without a lock: statements may be short.
#[derive(Debug)]
pub struct StatementActivity {
    /// Its text.
    pub sql: String,
    /// Its plan, explained.
    pub explained_plan: String,
    /// What it has taken.
    pub budget: Arc<StatementBudget>,
    /// What it has done with rows in runs that have ended.
    pub counted: Mutex<Counted>,
    /// Transaction in which it runs or ran last; 0 before its first run.
    transaction: AtomicU64,
    state: AtomicU8,
    /// When it began to run, as [`packed`]; or [`NEVER`].
    since: AtomicU64,
    zone: AtomicU16,
    /// The timeout that its client has set for it, in milliseconds; 0 for none.
    timeout_ms: AtomicU32,
    /// When its time is up, as [`packed`]; or [`NEVER`].
    timer: AtomicU64,
}

/// MON$STATE of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum StatementState {
    /// Neither runs nor has an open cursor.
    Idle = 0,
    /// Runs.
    Active = 1,
    /// Its cursor is open, and nobody fetches from it.
    Stalled = 2,
}

/// No time of a day is that late.
const NEVER: u64 = u64::MAX;

/// A moment in UTC: the date in the high half, the time in the low one.
fn packed(moment: Timestamp) -> u64 {
    let Timestamp { date: Date(date), time: Time(time) } = moment;
    u64::from(date.cast_unsigned()) << 32 | u64::from(time)
}

fn unpacked(packed: u64) -> Option<Timestamp> {
    let (date, time) = ((packed >> 32) as u32, packed as u32);
    (packed != NEVER).then_some(Timestamp { date: Date(date.cast_signed()), time: Time(time) })
}

impl StatementActivity {
    /// A statement that has not run yet.
    pub fn new(sql: String, explained_plan: String, budget: Arc<StatementBudget>) -> StatementActivity {
        StatementActivity {
            sql,
            explained_plan,
            budget,
            counted: Mutex::default(),
            transaction: AtomicU64::new(0),
            state: AtomicU8::new(StatementState::Idle as u8),
            since: AtomicU64::new(NEVER),
            zone: AtomicU16::new(0),
            timeout_ms: AtomicU32::new(0),
            timer: AtomicU64::new(NEVER),
        }
    }

    /// It runs from now on, until `timer` at the latest.
    pub fn begin(&self, transaction: u64, now: TimestampTz, timer: Option<Timestamp>) {
        self.transaction.store(transaction, Ordering::Relaxed);
        self.zone.store(now.zone.0, Ordering::Relaxed);
        self.since.store(packed(now.utc), Ordering::Relaxed);
        self.timer.store(timer.map_or(NEVER, packed), Ordering::Relaxed);
        self.set_state(StatementState::Active);
    }

    /// It runs no more, and its cursor is closed.
    pub fn end(&self) {
        self.set_state(StatementState::Idle);
        self.since.store(NEVER, Ordering::Relaxed);
        self.stop_timer();
    }

    /// It goes on, or waits for a fetch.
    pub fn set_state(&self, state: StatementState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// MON$STATE.
    pub fn state(&self) -> StatementState {
        match self.state.load(Ordering::Relaxed) {
            1 => StatementState::Active,
            2 => StatementState::Stalled,
            _ => StatementState::Idle,
        }
    }

    /// Notes the timeout that its client has set for it.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        let timeout_ms = timeout.map_or(0, |timeout| u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX));
        self.timeout_ms.store(timeout_ms, Ordering::Relaxed);
    }

    /// The timeout that its client has set for it, in milliseconds; 0 for none.
    pub fn timeout_ms(&self) -> u32 {
        self.timeout_ms.load(Ordering::Relaxed)
    }

    /// Its last row was fetched: its time runs no more.
    pub fn stop_timer(&self) {
        self.timer.store(NEVER, Ordering::Relaxed);
    }

    /// When its time is up, while that runs.
    pub fn timer(&self) -> Option<TimestampTz> {
        self.in_zone(unpacked(self.timer.load(Ordering::Relaxed))?)
    }

    fn in_zone(&self, utc: Timestamp) -> Option<TimestampTz> {
        Some(TimestampTz { utc, zone: ZoneId(self.zone.load(Ordering::Relaxed)) })
    }

    /// Transaction in which it runs or ran last.
    pub fn transaction(&self) -> Option<u64> {
        Some(self.transaction.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// When it began to run, while it runs or its cursor is open.
    pub fn running_since(&self) -> Option<TimestampTz> {
        self.in_zone(unpacked(self.since.load(Ordering::Relaxed))?)
    }
}
