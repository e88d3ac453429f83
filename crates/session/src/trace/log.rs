//! What a trace session has to say and its client has not read yet: bounded, so that a slow client costs memory and never time.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Most bytes that wait for a client.
pub(super) const LOG_BYTES_MAX: usize = 4 << 20;

/// Lines between those that are watched and the client that reads.
#[derive(Default)]
pub(super) struct Log {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    text: Vec<u8>,
    /// A record found no room: the session is suspended until a quarter is free.
    is_full: bool,
    ended: bool,
}

impl Log {
    /// Appends a record whole. Where it finds no room `notice` is appended in its place, and the log is full.
    pub(super) fn append(&self, record: &str, notice: &str) {
        let mut state = self.state.lock();
        if state.is_full || state.ended {
            return;
        }
        match state.text.len() + record.len() + notice.len() <= LOG_BYTES_MAX {
            true => state.text.extend_from_slice(record.as_bytes()),
            false => {
                state.is_full = true;
                state.text.extend_from_slice(notice.as_bytes());
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Takes up to so many bytes, after waiting for some; `None` at the end.
    pub(super) fn take(&self, bytes_max: usize, wait: Duration) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        if state.text.is_empty() && !state.ended {
            self.changed.wait_for(&mut state, wait);
        }
        if state.text.is_empty() && state.ended {
            return None;
        }
        let taken = state.text.len().min(bytes_max);
        let taken: Vec<u8> = state.text.drain(..taken).collect();
        if state.text.len() <= LOG_BYTES_MAX / 4 * 3 {
            state.is_full = false;
        }
        Some(taken)
    }

    /// Whether it takes no records until its client has read.
    pub(super) fn is_full(&self) -> bool {
        self.state.lock().is_full
    }

    /// Nothing more is appended; what is there may be read.
    pub(super) fn end(&self) {
        self.state.lock().ended = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_says_so_once_and_goes_on_when_a_quarter_is_free() {
        let log = Log::default();
        let record = "r".repeat(LOG_BYTES_MAX / 8);
        for _ in 0..20 {
            log.append(&record, "FULL");
        }
        assert!(log.is_full());
        let mut read = 0;
        while log.is_full() {
            read += log.take(LOG_BYTES_MAX / 16, Duration::ZERO).map_or(0, |text| text.len());
        }
        // Seven records and the notice were there; three quarters may stay.
        assert_eq!(read, LOG_BYTES_MAX / 16 * 3);
        log.append("next", "FULL");
        log.end();
        log.append("late", "FULL");
        let mut rest = Vec::new();
        while let Some(text) = log.take(LOG_BYTES_MAX, Duration::ZERO) {
            rest.extend(text);
        }
        assert!(rest.ends_with(b"FULLnext"));
        assert_eq!(rest.windows(4).filter(|text| text == b"FULL").count(), 1);
    }
}
