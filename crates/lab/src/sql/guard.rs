//! Ends what takes too long, or what nobody wants any more.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{Failure, Result};

/// Tells whether the user wants to stop.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// How long work may take, and who may end it before.
pub struct Patience<'a> {
    /// `None`: as long as it needs.
    pub limit: Option<Duration>,
    /// Looked at while it runs.
    pub stop: &'a Stop,
}

/// Between two looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Between two cancels: one may come while a statement is not yet begun, and be lost.
const CANCEL_AGAIN: Duration = Duration::from_millis(250);

/// Does work; `cancel` makes it return when it has taken too long. Gives what it took.
///
/// # Errors
/// Those of the work; [`Failure::TimedOut`], [`Failure::Interrupted`] whatever the work said of it.
pub(super) fn guarded<T>(
    patience: &Patience<'_>,
    cancel: &(dyn Fn() + Sync),
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Duration)> {
    let ended = Ended { is_ended: Mutex::new(false), told: Condvar::new() };
    let (result, took, stopped) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| ended.watch(patience, cancel));
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        ended.tell();
        (result, took, watcher.join())
    });
    match stopped {
        Ok(None) => result.map(|result| (result, took)),
        Ok(Some(reason)) => Err(reason),
        Err(_) => Err(Failure::Other("the thread that watches the time panicked".to_owned())),
    }
}

struct Ended {
    is_ended: Mutex<bool>,
    told: Condvar,
}

impl Ended {
    fn tell(&self) {
        *self.is_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }

    /// Whether it has ended, waiting for it so long.
    fn wait(&self, time: Duration) -> bool {
        let guard = self.is_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.told.wait_timeout_while(guard, time, |is_ended| !*is_ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Gives the reason for which the work was ended, if it was.
    fn watch(&self, patience: &Patience<'_>, cancel: &(dyn Fn() + Sync)) -> Option<Failure> {
        let start = Instant::now();
        let reason = loop {
            let left = patience.limit.map(|limit| limit.saturating_sub(start.elapsed()));
            if self.wait(left.unwrap_or(LOOK).min(LOOK)) {
                return None;
            }
            if (patience.stop)() {
                break Failure::Interrupted;
            }
            if let Some(limit) = patience.limit.filter(|limit| start.elapsed() >= *limit) {
                break Failure::TimedOut(limit);
            }
        };
        loop {
            cancel();
            if self.wait(CANCEL_AGAIN) {
                return Some(reason);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn endless(patience: &Patience<'_>) -> Result<((), Duration)> {
        let cancelled = AtomicBool::new(false);
        guarded(patience, &|| cancelled.store(true, Ordering::SeqCst), || {
            while !cancelled.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            Ok(())
        })
    }

    #[test]
    fn work_is_ended_at_its_limit_or_when_nobody_wants_it() {
        let (go_on, stop): (Stop, Stop) = (Arc::new(|| false), Arc::new(|| true));
        let limit = Some(Duration::from_millis(20));
        assert!(matches!(endless(&Patience { limit, stop: &go_on }), Err(Failure::TimedOut(_))));
        assert!(matches!(endless(&Patience { limit: None, stop: &stop }), Err(Failure::Interrupted)));
        let quick = guarded(&Patience { limit, stop: &go_on }, &|| {}, || Ok(7));
        assert!(matches!(quick, Ok((7, _))));
    }
}
