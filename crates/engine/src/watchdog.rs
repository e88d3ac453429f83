//! Ends statements whose time is up, also while they wait for a lock, and sessions that are idle for too long.
//!
//! Loops look at the deadline themselves; a statement that waits cannot. One thread, started with the first timeout
//! that anybody sets, sleeps until the earliest deadline and raises the interrupts that are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::session::{Deadline, IdleLook, Interrupt, StopReason};

/// What the thread waits for.
#[derive(Default)]
struct Watch {
    due: Mutex<BinaryHeap<Reverse<Due>>>,
    earlier: Condvar,
}

struct Due {
    at: Instant,
    limit: Limit,
    interrupt: Weak<Interrupt>,
}

/// What is up at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Deadline,
    Idle,
}

/// Raises the interrupt at its deadline, if that is still the one it has then.
pub(crate) fn watch(interrupt: &Arc<Interrupt>, at: Instant) {
    watch_limit(interrupt, at, Limit::Deadline);
}

/// Raises the interrupt when its session has been idle for too long: not before that moment.
pub(crate) fn watch_idle(interrupt: &Arc<Interrupt>, at: Instant) {
    watch_limit(interrupt, at, Limit::Idle);
}

fn watch_limit(interrupt: &Arc<Interrupt>, at: Instant, limit: Limit) {
    static WATCH: OnceLock<Option<Arc<Watch>>> = OnceLock::new();
    let watch = WATCH.get_or_init(|| {
        let watch = Arc::new(Watch::default());
        let own = Arc::clone(&watch);
        let thread = std::thread::Builder::new().name("farbird-timeouts".to_owned()).spawn(move || run(&own));
        match thread {
            Ok(_) => Some(watch),
            Err(error) => {
                tracing::error!(%error, "no thread for timeouts: a statement that waits for a lock will not time out");
                None
            }
        }
    });
    if let Some(watch) = watch {
        watch.due.lock().push(Reverse(Due { at, limit, interrupt: Arc::downgrade(interrupt) }));
        watch.earlier.notify_one();
    }
}

fn run(watch: &Watch) {
    let mut due = watch.due.lock();
    loop {
        match due.peek() {
            None => watch.earlier.wait(&mut due),
            Some(Reverse(next)) if next.at > Instant::now() => {
                let at = next.at;
                watch.earlier.wait_until(&mut due, at);
            }
            Some(_) => {
                let Some(Reverse(next)) = due.pop() else { continue };
                let Some(interrupt) = next.interrupt.upgrade() else { continue };
                let reason = match next.limit {
                    Limit::Deadline => overdue(&interrupt),
                    Limit::Idle => match interrupt.idle.look(next.at) {
                        IdleLook::Up => Some(StopReason::IdleTimeout),
                        IdleLook::Again(at) => {
                            due.push(Reverse(Due { at, ..next }));
                            None
                        }
                        IdleLook::Nothing => None,
                    },
                };
                if let Some(reason) = reason {
                    interrupt.raise(reason);
                }
            }
        }
    }
}

/// Why a statement must stop whose time is up by now.
fn overdue(interrupt: &Interrupt) -> Option<StopReason> {
    let Deadline { at, reason } = interrupt.deadline()?;
    (at <= Instant::now()).then_some(reason)
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_interrupt_is_raised_at_its_deadline_and_not_after_the_statement_has_ended() {
        let (late, done) = (Arc::new(Interrupt::new()), Arc::new(Interrupt::new()));
        for interrupt in [&late, &done] {
            let at = Instant::now() + Duration::from_millis(20);
            interrupt.begin(Some(Deadline { at, reason: StopReason::StatementTimeout }));
            watch(interrupt, at);
        }
        done.end();
        while late.check().is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(late.check().unwrap_err().has(farbird_types::isc::REQ_STMT_TIMEOUT));
        assert!(done.check().is_ok());
    }
}
