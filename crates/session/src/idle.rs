//! SET SESSION IDLE TIMEOUT: how long a session may be asked nothing before it ends.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The idle timeout of a session, and when it is up.
///
/// Most sessions have none, and then nothing here costs more than a look at a number. Of those that have one somebody watches one
/// moment at a time, however many requests put it off.
#[derive(Debug, Default)]
pub struct IdleTimer {
    seconds: AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// While the session is idle: when that has been too long.
    ends_at: Option<Instant>,
    /// When somebody is going to look.
    watched: Option<Instant>,
}

/// What somebody finds who looks at a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleLook {
    /// The session has been idle for too long.
    Up,
    /// It was asked something meanwhile: look again then.
    Again(Instant),
    /// It is busy or has no timeout any more, or somebody else looks: nobody needs to before it rests again.
    Nothing,
}

impl IdleTimer {
    /// Sets the timeout; 0: none. It counts from the end of the request that sets it.
    pub fn set_seconds(&self, seconds: u32) {
        self.seconds.store(seconds, Ordering::Release);
        self.state.lock().ends_at = None;
    }

    /// The timeout in seconds; 0: none.
    pub fn seconds(&self) -> u32 {
        self.seconds.load(Ordering::Acquire)
    }

    /// The session is asked something.
    pub fn wake(&self) {
        if self.seconds() > 0 {
            self.state.lock().ends_at = None;
        }
    }

    /// It has answered. Gives the moment at which somebody has to look, unless somebody looks before.
    #[must_use]
    pub fn rest(&self) -> Option<Instant> {
        let seconds = self.seconds();
        if seconds == 0 {
            return None;
        }
        let at = Instant::now().checked_add(Duration::from_secs(u64::from(seconds)))?;
        let mut state = self.state.lock();
        state.ends_at = Some(at);
        if state.watched.is_some_and(|watched| watched <= at) {
            return None;
        }
        state.watched = Some(at);
        Some(at)
    }

    /// When it is up, if the session is idle.
    pub fn ends_at(&self) -> Option<Instant> {
        self.state.lock().ends_at
    }

    /// Somebody looks who was to look at that moment.
    pub fn look(&self, at: Instant) -> IdleLook {
        let mut state = self.state.lock();
        match state.ends_at {
            Some(ends_at) if ends_at <= at => IdleLook::Up,
            _ if state.watched != Some(at) => IdleLook::Nothing,
            ends_at => {
                state.watched = ends_at;
                ends_at.map_or(IdleLook::Nothing, IdleLook::Again)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_put_the_end_off_and_somebody_looks_once_at_a_time() {
        let timer = IdleTimer::default();
        assert_eq!(timer.rest(), None, "there is no timeout");
        timer.set_seconds(3600);
        let first = timer.rest().expect("somebody has to look");
        timer.wake();
        assert_eq!(timer.rest(), None, "somebody will");
        let IdleLook::Again(second) = timer.look(first) else { panic!("it was put off") };
        assert!(second > first);
        timer.wake();
        assert_eq!(timer.look(second), IdleLook::Nothing, "it is busy");
        let third = timer.rest().expect("nobody looks any more");
        assert_eq!(timer.look(third), IdleLook::Up);
    }

    #[test]
    fn a_shorter_timeout_is_looked_at_before_a_longer_one() {
        let timer = IdleTimer::default();
        timer.set_seconds(3600);
        let long = timer.rest().expect("somebody has to look");
        timer.wake();
        timer.set_seconds(10);
        let short = timer.rest().expect("somebody has to look before");
        assert!(short < long);
        timer.wake();
        timer.set_seconds(0);
        assert_eq!(timer.rest(), None);
        assert_eq!((timer.look(short), timer.look(long)), (IdleLook::Nothing, IdleLook::Nothing));
    }
}
