//! What one attachment is to everybody else: who, from where, with which settings, doing what.
//!
//! A [`Session`] is shared by reference: the attachment's own thread changes it, MON$ tables and shutdown read it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use farbird_store::CancelFlag;
use farbird_types::{Date, Error, Result, Time, Timestamp, TimestampTz, ZoneId, isc};
use parking_lot::Mutex;

use crate::api::AttachOptions;
use crate::budget::{Account, StatementBudget};

/// One attachment's identity, settings and activity.
pub struct Session {
    /// MON$ATTACHMENT_ID.
    pub id: u64,
    /// How it attached.
    pub options: AttachOptions,
    /// When it attached.
    pub attached_at: TimestampTz,
    /// Settings that SET statements change.
    pub settings: Mutex<SessionSettings>,
    /// RDB$SET_CONTEXT('USER_SESSION', ...).
    pub context_variables: Mutex<BTreeMap<String, String>>,
    /// Stops what is running.
    pub interrupt: Arc<Interrupt>,
    /// What MON$TRANSACTIONS and MON$STATEMENTS show of it.
    pub activity: Mutex<Activity>,
    /// What its statements have taken.
    pub budget: Arc<Account>,
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
    /// SET BIND rules as written, newest last.
    pub bind_rules: Vec<(farbird_sql::ast::BindType, farbird_sql::ast::BindTarget)>,
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
    /// Its parameters.
    pub parameters: crate::api::TransactionParameters,
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
    /// Transaction in which it runs or ran last; 0 before its first run.
    transaction: AtomicU64,
    /// When it began to run, in UTC: the date in the high half, the time in the low one; or [`NOT_RUNNING`].
    since: AtomicU64,
    zone: AtomicU16,
}

/// No time of a day is that late.
const NOT_RUNNING: u64 = u64::MAX;

impl StatementActivity {
    /// A statement that has not run yet.
    pub fn new(sql: String, explained_plan: String, budget: Arc<StatementBudget>) -> StatementActivity {
        StatementActivity {
            sql,
            explained_plan,
            budget,
            transaction: AtomicU64::new(0),
            since: AtomicU64::new(NOT_RUNNING),
            zone: AtomicU16::new(0),
        }
    }

    /// It runs from now on.
    pub fn begin(&self, transaction: u64, now: TimestampTz) {
        let Timestamp { date: Date(date), time: Time(time) } = now.utc;
        self.transaction.store(transaction, Ordering::Relaxed);
        self.zone.store(now.zone.0, Ordering::Relaxed);
        self.since.store(u64::from(date.cast_unsigned()) << 32 | u64::from(time), Ordering::Relaxed);
    }

    /// It runs no more.
    pub fn end(&self) {
        self.since.store(NOT_RUNNING, Ordering::Relaxed);
    }

    /// Transaction in which it runs or ran last.
    pub fn transaction(&self) -> Option<u64> {
        Some(self.transaction.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// When it began to run, while it runs.
    pub fn running_since(&self) -> Option<TimestampTz> {
        let since = Some(self.since.load(Ordering::Relaxed)).filter(|since| *since != NOT_RUNNING)?;
        let (date, time) = ((since >> 32) as u32, since as u32);
        let utc = Timestamp { date: Date(date.cast_signed()), time: Time(time) };
        Some(TimestampTz { utc, zone: ZoneId(self.zone.load(Ordering::Relaxed)) })
    }
}

/// Why a statement must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum StopReason {
    /// op_cancel.
    Cancelled = 1,
    /// Statement timeout.
    TimedOut = 2,
    /// The attachment was shut down, or its connection broke.
    AttachmentClosed = 3,
    /// The server is going down.
    Shutdown = 4,
}

/// Stops a session's running statement from another thread: lock waits end at once, loops at their next look.
pub struct Interrupt {
    /// The store's own flag: it wakes those who wait for locks.
    pub cancel: Arc<CancelFlag>,
    reason: AtomicU8,
    disabled: AtomicU32,
    deadline: Mutex<Option<Instant>>,
    /// Whether there is a deadline: most statements have none, and leave its lock alone.
    is_timed: AtomicBool,
}

impl Interrupt {
    /// Nothing to stop yet.
    pub fn new() -> Interrupt {
        Interrupt {
            cancel: CancelFlag::new(),
            reason: AtomicU8::new(0),
            disabled: AtomicU32::new(0),
            deadline: Mutex::new(None),
            is_timed: AtomicBool::new(false),
        }
    }

    /// Asks the running statement to stop. A cancel is ignored while cancelling is disabled (fb_cancel_disable).
    pub fn raise(&self, reason: StopReason) {
        if reason == StopReason::Cancelled && self.disabled.load(Ordering::Acquire) > 0 {
            return;
        }
        self.reason.store(reason as u8, Ordering::Release);
        self.cancel.cancel();
    }

    /// fb_cancel_disable and fb_cancel_enable.
    pub fn set_cancel_disabled(&self, disabled: bool) {
        self.disabled.store(u32::from(disabled), Ordering::Release);
    }

    /// Begins a statement that must end at `deadline`. A cancel that has come already counts: it was meant for what the
    /// client had sent before.
    pub fn begin(&self, deadline: Option<Instant>) {
        self.set_deadline(deadline);
    }

    fn set_deadline(&self, deadline: Option<Instant>) {
        if deadline.is_some() || self.is_timed.load(Ordering::Acquire) {
            *self.deadline.lock() = deadline;
            self.is_timed.store(deadline.is_some(), Ordering::Release);
        }
    }

    /// Nothing runs any more: a cancel or a timeout that came too late is forgotten. A shutdown is not.
    pub fn end(&self) {
        self.set_deadline(None);
        let reason = self.reason.load(Ordering::Acquire);
        let is_closing = reason >= StopReason::AttachmentClosed as u8;
        let is_raised = reason != 0 || self.cancel.is_raised();
        if is_raised && !is_closing {
            self.reason.store(0, Ordering::Release);
            self.cancel.reset();
        }
    }

    /// When the running statement must end.
    pub fn deadline(&self) -> Option<Instant> {
        *self.deadline.lock()
    }

    /// A row was delivered, and the next one may be asked for: a cancel that came meanwhile is for that. A timeout is not: the time
    /// between two fetches does not count.
    pub fn pause(&self) {
        if self.reason.load(Ordering::Acquire) == StopReason::TimedOut as u8 {
            self.end();
        } else {
            self.set_deadline(None);
        }
    }

    /// Fails if the statement must stop. Cheap: loops call it once per batch or per few rows.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_raised() { Err(self.error()) } else { Ok(()) }
    }

    /// The error for the reason at hand.
    pub fn error(&self) -> Error {
        match self.reason.load(Ordering::Acquire) {
            2 => Error::new(isc::CANCELLED).and(isc::REQ_STMT_TIMEOUT),
            3 => Error::new(isc::ATT_SHUTDOWN).and(isc::ATT_SHUT_KILLED),
            4 => Error::new(isc::ATT_SHUTDOWN).and(isc::ATT_SHUT_ENGINE),
            _ => Error::new(isc::CANCELLED),
        }
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Interrupt::new()
    }
}
