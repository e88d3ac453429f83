//! What stops a running statement: who raises it, why, and until when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering, fence};
use std::time::Instant;

use farbird_store::CancelFlag;
use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

use crate::idle::IdleTimer;

/// Why a statement must stop. A later one outweighs an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StopReason {
    /// op_cancel, or DELETE FROM MON$STATEMENTS.
    Cancelled = 1,
    /// The statement's own timeout.
    StatementTimeout = 2,
    /// The session's: SET STATEMENT TIMEOUT.
    SessionTimeout = 3,
    /// The server's.
    ServerTimeout = 4,
    /// The session was idle for too long: SET SESSION IDLE TIMEOUT.
    IdleTimeout = 5,
    /// The connection broke, or DELETE FROM MON$ATTACHMENTS.
    AttachmentClosed = 6,
    /// The database is shut down (gfix -shut).
    DatabaseShutdown = 7,
    /// The server is going down.
    Shutdown = 8,
}

impl StopReason {
    fn of(number: u8) -> Option<StopReason> {
        use StopReason::*;
        [
            Cancelled,
            StatementTimeout,
            SessionTimeout,
            ServerTimeout,
            IdleTimeout,
            AttachmentClosed,
            DatabaseShutdown,
            Shutdown,
        ]
        .into_iter()
        .find(|reason| *reason as u8 == number)
    }

    /// Whether it ends the session, not only what runs.
    fn is_final(self) -> bool {
        self >= StopReason::IdleTimeout
    }

    fn is_timeout(self) -> bool {
        !self.is_final() && self != StopReason::Cancelled
    }

    /// What the client is told.
    fn error(self) -> Error {
        match self {
            StopReason::Cancelled => Error::new(isc::CANCELLED),
            StopReason::StatementTimeout => Error::new(isc::CANCELLED).and(isc::REQ_STMT_TIMEOUT),
            StopReason::SessionTimeout => Error::new(isc::CANCELLED).and(isc::ATT_STMT_TIMEOUT),
            StopReason::ServerTimeout => Error::new(isc::CANCELLED).and(isc::CFG_STMT_TIMEOUT),
            StopReason::IdleTimeout => Error::new(isc::ATT_SHUTDOWN).and(isc::ATT_SHUT_IDLE),
            StopReason::AttachmentClosed => Error::new(isc::ATT_SHUTDOWN).and(isc::ATT_SHUT_KILLED),
            StopReason::DatabaseShutdown => Error::new(isc::ATT_SHUTDOWN).and(isc::ATT_SHUT_DB_DOWN),
            StopReason::Shutdown => Error::new(isc::ATT_SHUTDOWN).and(isc::ATT_SHUT_ENGINE),
        }
    }
}

/// When a statement's time is up, and whose limit that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The moment.
    pub at: Instant,
    /// The reason that stops the statement then: one of the timeouts.
    pub reason: StopReason,
}

/// Names what a session runs: the work up to the end of its next execution or fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutionNumber(u64);

/// Where a session is in the row of its executions.
#[derive(Debug, Default)]
struct ExecutionState {
    /// How many have ended.
    ended: u64,
    /// Somebody has cancelled the one that runs.
    is_cancelled: bool,
}

/// Stops a session's running statement from another thread: lock waits end at once, loops at their next look.
pub struct Interrupt {
    /// The store's own flag: it wakes those who wait for locks.
    pub cancel: Arc<CancelFlag>,
    reason: AtomicU8,
    disabled: AtomicU32,
    /// When it ends because nobody asks anything of it.
    pub idle: IdleTimer,
    /// What a cancel of one execution is compared with.
    execution: Mutex<ExecutionState>,
    deadline: Mutex<Option<Deadline>>,
    /// Whether there is a deadline: most statements have none, and leave its lock alone.
    is_timed: AtomicBool,
    /// Called when the session is to end: it may be at rest.
    on_close: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    /// What is stopped with it.
    follower: Mutex<Option<Arc<Interrupt>>>,
}

impl Interrupt {
    /// Nothing to stop yet.
    pub fn new() -> Interrupt {
        Interrupt {
            cancel: CancelFlag::new(),
            reason: AtomicU8::new(0),
            disabled: AtomicU32::new(0),
            idle: IdleTimer::default(),
            execution: Mutex::default(),
            deadline: Mutex::new(None),
            is_timed: AtomicBool::new(false),
            on_close: Mutex::new(None),
            follower: Mutex::new(None),
        }
    }

    /// Asks the running statement to stop. A cancel is ignored while cancelling is disabled (fb_cancel_disable).
    pub fn raise(&self, reason: StopReason) {
        if reason == StopReason::Cancelled && self.disabled.load(Ordering::Acquire) > 0 {
            return;
        }
        self.reason.fetch_max(reason as u8, Ordering::AcqRel);
        self.cancel.cancel();
        let follower = self.follower.lock().clone();
        if let Some(follower) = follower {
            follower.raise(reason);
        }
        if reason.is_final() {
            let on_close = self.on_close.lock().clone();
            if let Some(on_close) = on_close {
                on_close();
            }
        }
    }

    /// Stops `follower` too from now on, for the same reasons; at once if this is stopped already.
    pub fn pass_on_to(&self, follower: Arc<Interrupt>) {
        *self.follower.lock() = Some(Arc::clone(&follower));
        if let Some(reason) = self.reason() {
            follower.raise(reason);
        }
    }

    /// What runs now, or next if nothing does. Read it before looking whether something runs
    /// ([`Session::is_running`](crate::activity::Session::is_running)).
    pub fn execution(&self) -> ExecutionNumber {
        ExecutionNumber(self.execution.lock().ended)
    }

    /// Cancels an execution. If it has ended by now nothing happens: what runs next is not what was meant.
    pub fn cancel_execution(&self, execution: ExecutionNumber) {
        // Under the lock, so that its end takes the request with it.
        let mut state = self.execution.lock();
        if state.ended == execution.0 {
            state.is_cancelled = true;
            self.raise(StopReason::Cancelled);
        }
    }

    /// An execution has ended; gives whether it was cancelled by [`Interrupt::cancel_execution`].
    fn end_execution(&self) -> bool {
        let mut state = self.execution.lock();
        state.ended += 1;
        std::mem::take(&mut state.is_cancelled)
    }

    /// Sets what is called when the session is told to end, from the thread that tells it: whoever keeps a session at
    /// rest detaches it then, so that its locks go.
    pub fn set_on_close(&self, on_close: impl Fn() + Send + Sync + 'static) {
        *self.on_close.lock() = Some(Arc::new(on_close));
    }

    /// Whether the session has been told to end.
    pub fn is_closing(&self) -> bool {
        self.reason().is_some_and(StopReason::is_final)
    }

    fn reason(&self) -> Option<StopReason> {
        StopReason::of(self.reason.load(Ordering::Acquire))
    }

    /// fb_cancel_disable and fb_cancel_enable.
    pub fn set_cancel_disabled(&self, disabled: bool) {
        self.disabled.store(u32::from(disabled), Ordering::Release);
    }

    /// Begins a statement that must end at `deadline`, or goes on with one. A cancel that has come already counts: it was
    /// meant for what the client had sent before. So does a deadline that has passed.
    pub fn begin(&self, deadline: Option<Deadline>) {
        self.set_deadline(deadline);
        if let Some(deadline) = deadline
            && deadline.at <= Instant::now()
        {
            self.raise(deadline.reason);
        }
    }

    fn set_deadline(&self, deadline: Option<Deadline>) {
        if deadline.is_some() || self.is_timed.load(Ordering::Acquire) {
            *self.deadline.lock() = deadline;
            self.is_timed.store(deadline.is_some(), Ordering::Release);
        }
    }

    /// Nothing runs any more: a cancel or a timeout that came too late is forgotten. A shutdown is not. Whoever shows what
    /// runs ([`Session::is_running`](crate::activity::Session::is_running)) shows its end before.
    pub fn end(&self) {
        self.end_execution();
        self.forget();
    }

    fn forget(&self) {
        self.set_deadline(None);
        let reason = self.reason.load(Ordering::Acquire);
        let is_final = StopReason::of(reason).is_some_and(StopReason::is_final);
        if is_final || (reason == 0 && !self.cancel.is_raised()) {
            return;
        }
        self.cancel.reset();
        // What was raised meanwhile is not forgotten.
        if self.reason.compare_exchange(reason, 0, Ordering::AcqRel, Ordering::Acquire).is_err() {
            self.cancel.cancel();
        }
    }

    /// When the running statement must end.
    pub fn deadline(&self) -> Option<Deadline> {
        *self.deadline.lock()
    }

    /// A row was delivered, and the next one may be asked for: a cancel that came meanwhile is for that, unless it was for this
    /// execution alone. A timeout is its cursor's own, and comes again with it.
    pub fn pause(&self) {
        if self.end_execution() || self.reason().is_some_and(StopReason::is_timeout) {
            self.forget();
        } else {
            self.set_deadline(None);
        }
    }

    /// Fails if the statement must stop. Cheap enough to be called once per row.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_raised() { Err(self.error()) } else { Ok(()) }
    }

    /// The error for the reason at hand.
    #[cold]
    pub fn error(&self) -> Error {
        // The flag is looked at without order: what was written before it went up is seen from here on.
        fence(Ordering::Acquire);
        self.reason().unwrap_or(StopReason::Cancelled).error()
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Interrupt::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_of_an_execution_that_has_ended_is_for_nobody() {
        let interrupt = Interrupt::new();
        let first = interrupt.execution();
        interrupt.begin(None);
        interrupt.end();
        interrupt.begin(None);
        interrupt.cancel_execution(first);
        assert!(interrupt.check().is_ok(), "the next one was not meant");
        interrupt.cancel_execution(interrupt.execution());
        assert_eq!(interrupt.check().unwrap_err().gds_code(), isc::CANCELLED);
        interrupt.end();
        interrupt.begin(None);
        assert!(interrupt.check().is_ok());
    }

    #[test]
    fn a_cancel_that_came_too_late_for_its_fetch_is_not_for_what_follows() {
        let interrupt = Interrupt::new();
        interrupt.cancel_execution(interrupt.execution());
        interrupt.pause();
        assert!(interrupt.check().is_ok());
        // One that is for whatever the session does stays, and so does the end of the session.
        interrupt.raise(StopReason::Cancelled);
        interrupt.pause();
        assert!(interrupt.check().is_err());
        interrupt.end();
        interrupt.cancel_execution(interrupt.execution());
        interrupt.raise(StopReason::AttachmentClosed);
        interrupt.end();
        assert!(interrupt.check().unwrap_err().has(isc::ATT_SHUTDOWN));
    }
}
