//! What passes between a running service and the client that asks for it: bytes out, bytes in, and the end.
//!
//! The service runs on a thread of its own and waits when the client is slow; the client's calls wait when the service
//! has nothing yet.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_types::{Error, Result};
use parking_lot::{Condvar, Mutex};

/// Output that waits for its client, in bytes: four of the largest answers.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
/// Input that is asked for at a time: what fits into one item of a request.
const INPUT_BYTES: usize = 60_000;

/// Between a service and its client.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    output: VecDeque<u8>,
    input: VecDeque<u8>,
    /// Bytes of input that the service waits for; 0: it does not.
    wanted: usize,
    /// The client has no more input.
    input_ended: bool,
    /// How the service ended.
    outcome: Option<Result<()>>,
    /// The client is gone, or the service is to stop.
    abandoned: bool,
}

/// What there is for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ready {
    /// Bytes of output.
    pub(super) output: usize,
    /// Whether the service has ended.
    pub(super) ended: bool,
}

impl Pipe {
    /// Waits until `is_enough` says so of the output, or the service has ended or waits for input; at most until `deadline`.
    pub(super) fn wait(&self, deadline: Instant, is_enough: impl Fn(&VecDeque<u8>) -> bool) -> Ready {
        let mut state = self.state.lock();
        while !(state.outcome.is_some() || state.wanted > 0 || is_enough(&state.output)) {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        Ready { output: state.output.len(), ended: state.outcome.is_some() }
    }

    /// Takes output as `take` likes.
    pub(super) fn take<T>(&self, take: impl FnOnce(&mut VecDeque<u8>) -> T) -> T {
        let taken = take(&mut self.state.lock().output);
        self.changed.notify_all();
        taken
    }

    /// Bytes of input that the service waits for, once it has taken what it got; 0 if it waits for none.
    pub(super) fn wanted(&self) -> usize {
        self.state.lock().wanted
    }

    /// Gives input that was asked for; nothing is its end. False if it is more than was asked for.
    pub(super) fn give(&self, bytes: &[u8]) -> bool {
        let mut state = self.state.lock();
        if bytes.len() > state.wanted {
            return false;
        }
        state.input_ended |= bytes.is_empty();
        state.input.extend(bytes);
        state.wanted = 0;
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Waits until the service has ended.
    pub(super) fn wait_for_end(&self) {
        let mut state = self.state.lock();
        while state.outcome.is_none() {
            self.changed.wait(&mut state);
        }
    }

    /// Whether the service runs.
    pub(super) fn is_running(&self) -> bool {
        self.state.lock().outcome.is_none()
    }

    /// How the service failed, if it did; told once.
    pub(super) fn take_failure(&self) -> Option<Error> {
        let mut state = self.state.lock();
        let outcome = state.outcome.as_mut()?;
        std::mem::replace(outcome, Ok(())).err()
    }

    /// Notes the end of the service.
    pub(super) fn end(&self, outcome: Result<()>) {
        self.state.lock().outcome = Some(outcome);
        self.changed.notify_all();
    }

    /// The client is gone or the service is to stop: output is dropped from now on, and there is no more input.
    pub(super) fn abandon(&self) {
        self.state.lock().abandoned = true;
        self.changed.notify_all();
    }
}

/// Where a service writes what must reach its client.
pub(super) struct PipeOutput(pub(super) Arc<Pipe>);

impl Write for PipeOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Pipe { state, changed } = &*self.0;
        let mut state = state.lock();
        while state.output.len() >= OUTPUT_BYTES_MAX && !state.abandoned {
            changed.wait(&mut state);
        }
        if state.abandoned {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        state.output.extend(bytes);
        drop(state);
        changed.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where a service says what its client may read or not: it never waits.
pub(super) struct PipeMessages(pub(super) Arc<Pipe>);

impl PipeMessages {
    /// Says a line.
    pub(super) fn line(&self, text: &str) {
        let mut state = self.0.state.lock();
        if state.abandoned || state.output.len() >= OUTPUT_BYTES_MAX {
            return;
        }
        state.output.extend(text.as_bytes());
        state.output.push_back(b'\n');
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Where a service reads what its client sends.
pub(super) struct PipeInput(pub(super) Arc<Pipe>);

impl Read for PipeInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Pipe { state, changed } = &*self.0;
        let mut state = state.lock();
        while state.input.is_empty() && !state.input_ended {
            if state.abandoned {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if state.wanted == 0 {
                state.wanted = INPUT_BYTES;
                changed.notify_all();
            }
            changed.wait(&mut state);
        }
        state.input.read(buffer)
    }
}

/// When a wait of this many seconds ends; 0 asks for the longest.
pub(super) fn deadline(seconds: u32, longest: Duration) -> Instant {
    let wanted = match seconds {
        0 => longest,
        seconds => longest.min(Duration::from_secs(u64::from(seconds))),
    };
    Instant::now() + wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_waits_for_a_slow_client_and_gets_what_it_asked_for() {
        let pipe = Arc::new(Pipe::default());
        let service = Arc::clone(&pipe);
        let thread = std::thread::spawn(move || {
            let mut echoed = Vec::new();
            let read = PipeInput(Arc::clone(&service)).read_to_end(&mut echoed);
            let written = PipeOutput(Arc::clone(&service)).write_all(&echoed.repeat(100));
            service.end(Ok(()));
            read.and(written)
        });
        let far = Instant::now() + Duration::from_secs(60);
        for piece in [&vec![7; INPUT_BYTES][..], &[8; 3], &[]] {
            pipe.wait(far, |_| false);
            assert_eq!(pipe.wanted(), INPUT_BYTES);
            assert!(!pipe.give(&vec![0; INPUT_BYTES + 1]));
            assert!(pipe.give(piece));
        }
        let mut received = 0;
        loop {
            let ready = pipe.wait(far, |output| !output.is_empty());
            received += pipe.take(|output| output.drain(..).count());
            if ready.ended && ready.output == 0 {
                break;
            }
        }
        assert_eq!(received, 100 * (INPUT_BYTES + 3));
        thread.join().expect("no panic").expect("no error");
        assert!(pipe.take_failure().is_none());
    }

    #[test]
    fn whoever_waits_for_a_client_that_is_gone_fails() {
        let pipe = Arc::new(Pipe::default());
        let service = Arc::clone(&pipe);
        let thread = std::thread::spawn(move || {
            let read = PipeInput(Arc::clone(&service)).read(&mut [0]);
            let written = PipeOutput(service).write_all(&[0]);
            (read.is_err(), written.is_err())
        });
        pipe.abandon();
        assert_eq!(thread.join().expect("no panic"), (true, true));
    }
}
