//! Threads that carry the bytes of one connection over the link: one reads and one writes in each direction.
//!
//! Threads and not tasks, since timers of tokio are precise to a millisecond and those of threads to some 60 microseconds
//! on Linux, and since the same code of the standard library runs on every operating system. A reader stops while
//! more bytes wait than the connection's buffers hold, so that memory is bounded and the sending program is held back.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::path::{Delivery, Line, Sender};
use super::traffic::{Direction, Recorder};

/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// What all connections of a link share in one direction.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) direction: Direction,
    pub(super) line: Mutex<Line>,
}

/// One direction of one connection.
#[derive(Debug)]
pub(super) struct Channel {
    connection: u64,
    /// Time starts here.
    epoch: Instant,
    lane: Arc<Lane>,
    recorder: Arc<Mutex<Recorder>>,
    /// Most bytes that it holds.
    most: usize,
    state: Mutex<State>,
    /// Something came, or it is over: the writer looks.
    came: Condvar,
    /// Something went, or it is over: the reader looks.
    went: Condvar,
}

#[derive(Debug)]
struct State {
    sender: Sender,
    deliveries: VecDeque<Delivery>,
    /// Bytes that were read and are not written.
    held: usize,
    /// When the source ended.
    ended: Option<Duration>,
    /// Nobody takes what comes, or nobody is to.
    is_broken: bool,
}

/// What the writer does next.
enum Next {
    Write(Vec<u8>),
    /// The source has ended, and all of it has arrived.
    End,
    Broken,
}

impl Channel {
    pub(super) fn new(
        connection: u64,
        epoch: Instant,
        lane: Arc<Lane>,
        recorder: Arc<Mutex<Recorder>>,
        most: usize,
        sender: Sender,
    ) -> Channel {
        let state = State { sender, deliveries: VecDeque::new(), held: 0, ended: None, is_broken: false };
        Channel {
            connection,
            epoch,
            lane,
            recorder,
            most,
            state: Mutex::new(state),
            came: Condvar::new(),
            went: Condvar::new(),
        }
    }

    /// Reads until the source ends.
    pub(super) fn read(&self, mut source: &TcpStream) {
        let mut buffer = vec![0; READ_BYTES];
        while self.has_room() {
            // A connection that is reset ends for the other side, too.
            let count = match source.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                result => result.unwrap_or(0),
            };
            let now = self.epoch.elapsed();
            let mut state = self.lock();
            match buffer.get(..count).filter(|bytes| !bytes.is_empty()) {
                Some(bytes) => {
                    state.held += bytes.len();
                    // First what was due before.
                    self.advance(&mut state, now);
                    state.sender.push(now, bytes.to_vec());
                    self.advance(&mut state, now);
                }
                None => state.ended = Some(now),
            }
            let is_over = state.ended.is_some();
            drop(state);
            self.came.notify_one();
            if is_over {
                return;
            }
        }
    }

    /// Writes what arrives, when it arrives. `source` is told when nobody takes it any more.
    pub(super) fn write(&self, mut target: &TcpStream, source: &TcpStream) {
        loop {
            match self.next() {
                Next::Write(bytes) => {
                    if target.write_all(&bytes).is_err() {
                        self.stop();
                        // Frees the reader. What is under way the other way, such as the reason, still arrives; it may
                        // be closed already.
                        let _ = source.shutdown(Shutdown::Read);
                        break;
                    }
                    self.lock().held -= bytes.len();
                    self.went.notify_one();
                }
                // It may have been closed by the other side: then there is nobody to tell.
                Next::End => {
                    let _ = target.shutdown(Shutdown::Write);
                    break;
                }
                Next::Broken => break,
            }
        }
        lock(&self.recorder).finish(self.connection, self.lane.direction);
    }

    /// Ends reading and writing at once.
    pub(super) fn stop(&self) {
        self.lock().is_broken = true;
        self.came.notify_all();
        self.went.notify_all();
    }

    /// Waits until more may be read; false when it is over.
    fn has_room(&self) -> bool {
        let state = self.lock();
        let state = self
            .went
            .wait_while(state, |state| state.held >= self.most && !state.is_broken)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        !state.is_broken
    }

    /// Waits for what arrives next.
    fn next(&self) -> Next {
        let mut state = self.lock();
        loop {
            if state.is_broken {
                return Next::Broken;
            }
            let now = self.epoch.elapsed();
            self.advance(&mut state, now);
            let arrived = state.take_arrived(now);
            if !arrived.is_empty() {
                return Next::Write(arrived);
            }
            let end = state.end();
            if end.is_some_and(|end| end <= now) {
                return Next::End;
            }
            let arrival = state.deliveries.front().map(|delivery| delivery.arrives);
            let wake = [arrival, state.sender.next(), end].into_iter().flatten().min();
            state = match wake {
                Some(wake) => {
                    let wait = wake.saturating_sub(self.epoch.elapsed());
                    self.came
                        .wait_timeout(state, wait)
                        .map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state)
                }
                None => self.came.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner),
            };
        }
    }

    /// Lets leave what may leave by now.
    fn advance(&self, state: &mut State, now: Duration) {
        let known = state.deliveries.len();
        let State { sender, deliveries, .. } = state;
        if sender.next().is_none_or(|next| next > now) {
            return;
        }
        sender.advance(now, &mut lock(&self.lane.line), deliveries);
        let mut recorder = lock(&self.recorder);
        for delivery in deliveries.range(known..) {
            recorder.record(self.connection, self.lane.direction, delivery);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn take_arrived(&mut self, now: Duration) -> Vec<u8> {
        let mut arrived = Vec::new();
        while let Some(delivery) = self.deliveries.front()
            && delivery.arrives <= now
            && (arrived.is_empty() || arrived.len() + delivery.bytes.len() <= READ_BYTES)
        {
            if let Some(mut delivery) = self.deliveries.pop_front() {
                arrived.append(&mut delivery.bytes);
            }
        }
        arrived
    }

    /// When the end of the source is seen at the other end, once everything before has left and arrived.
    fn end(&self) -> Option<Duration> {
        let ended = self.ended.filter(|_| self.deliveries.is_empty() && self.sender.is_empty())?;
        Some(self.sender.end_arrives(ended))
    }
}

/// A panic of another thread leaves nothing half done here that would hurt.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
