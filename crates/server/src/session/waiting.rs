//! How a thread waits for its client's next request.
//!
//! A sleeping thread is woken tens of microseconds after a request has come: as long as a short request takes. So a
//! thread whose client asked again at once the last time looks for the next request for a moment before it sleeps.
//! While it looks it leaves its processor to whoever wants it, and only one thread for every two processors looks.
//!
//! Used by `session::worker`; the counts are the server's.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use socket2::Socket;

use crate::connection_input::{self, Readiness};

/// How long a thread waits for its client's next request.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long it looks for it before it sleeps.
const LOOKING: Duration = Duration::from_micros(100);
/// Threads that wait for their clients at a time; others give their connection back at once.
const WAITING_THREADS_MAX: usize = 64;

/// The server's threads that wait for their clients.
#[derive(Debug)]
pub(crate) struct WaitingThreads {
    all: AtomicUsize,
    looking: AtomicUsize,
    looking_max: usize,
}

/// A place among those who may wait.
struct WaitingSlot<'a>(&'a AtomicUsize);

/// What a thread knows of its client's haste.
#[derive(Debug, Default)]
pub(crate) struct Haste {
    /// The latest request came within [`LOOKING`].
    is_quick: bool,
}

impl WaitingThreads {
    pub(crate) fn new() -> WaitingThreads {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        WaitingThreads { all: AtomicUsize::new(0), looking: AtomicUsize::new(0), looking_max: processors / 2 }
    }
}

impl<'a> WaitingSlot<'a> {
    fn take(count: &'a AtomicUsize, most: usize) -> Option<WaitingSlot<'a>> {
        let place = WaitingSlot(count);
        (count.fetch_add(1, Ordering::Relaxed) < most).then_some(place)
    }
}

impl Drop for WaitingSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Haste {
    /// Waits until the client has sent something, or closed the line; false if it has not by the end of the thread's
    /// patience, or if too many threads wait already.
    pub(crate) fn wait(&mut self, waiting: &WaitingThreads, socket: &Socket) -> bool {
        let Some(_place) = WaitingSlot::take(&waiting.all, WAITING_THREADS_MAX) else { return false };
        let begun = Instant::now();
        let is_there = self.is_quick && look(waiting, socket, begun)
            || connection_input::wait(socket, Readiness::Readable, PATIENCE);
        self.is_quick = is_there && begun.elapsed() < LOOKING;
        is_there
    }
}

/// Looks for input without sleeping, if not too many threads do that already.
fn look(waiting: &WaitingThreads, socket: &Socket, begun: Instant) -> bool {
    let Some(_place) = WaitingSlot::take(&waiting.looking, waiting.looking_max) else { return false };
    while begun.elapsed() < LOOKING {
        if connection_input::wait(socket, Readiness::Readable, Duration::ZERO) {
            return true;
        }
        thread::yield_now();
    }
    false
}
