//! What comes in from a client, shared by the task that watches the socket and the thread that works for it.
//!
//! Bytes are taken from the socket by one of the two at a time, under the lock of the input: by the thread when it has
//! answered all there is, by the task while the connection rests or while a request takes long. So the thread answers
//! request after request without handing anything to another thread, and op_cancel still reaches what runs.
//!
//! Promises: nothing here waits but [`wait`]; sockets must not block; requests come out in the order in which they were sent.
//! Used by `connection` (the task), `session::worker` (the thread) and `session::output`.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use farbird_engine::session::{Interrupt, StopReason};
use farbird_wire::clumplet::tpb;
use farbird_wire::counters::Counters;
use farbird_wire::crypt::Cipher;
use farbird_wire::decoder::{Limits, RequestDecoder};
use farbird_wire::layers::{Incoming, LayerError};
use farbird_wire::packet::Request;
use farbird_wire::protocol::{Handle, ProtocolVersion, cancel};
use farbird_wire::xdr::DecodeError;
use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec};
use socket2::Socket;
use tokio::sync::Notify;

/// Bytes read from a socket at a time.
pub(crate) const READ_BYTES: usize = 32 << 10;
/// Requests that may wait for a busy session; beyond it the socket is left unread until the session catches up.
const REQUESTS_WAITING_MAX: usize = 1024;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    /// The peer closed it, or it was asked to.
    #[error("closed")]
    Closed,
    /// The peer broke the protocol.
    #[error("malformed packet: {0}")]
    Malformed(#[from] DecodeError),
    /// Compression or encryption broke.
    #[error("malformed stream: {0}")]
    Layer(#[from] LayerError),
    /// The socket broke.
    #[error("connection broken: {0}")]
    Socket(#[from] io::Error),
    /// The peer took too long to log in.
    #[error("no login within the time for it")]
    LoginTimeout,
    /// The session broke: a defect of ours.
    #[error("the session broke: {0}")]
    Session(#[from] tokio::task::JoinError),
}

/// What comes in from one client. See the module's text.
pub(crate) struct ConnectionInput {
    input: Mutex<Input>,
    /// Locked behind `input` where both are.
    counters: Mutex<Counters>,
    logged_in: AtomicBool,
    /// No more requests are to be taken: the server is going down, or the connection ends.
    stopped: AtomicBool,
    /// Nobody will deliver what is written from here.
    abandoned: AtomicBool,
    /// Told when somebody else ends the session (DELETE FROM MON$ATTACHMENTS).
    closing: Arc<Notify>,
}

/// What comes in.
struct Input {
    layers: Incoming,
    decoder: RequestDecoder,
    /// Decoded, not yet taken.
    requests: VecDeque<Request>,
    /// Bytes that have come are left as they are until there is room for the requests in them: a few that are compressed may be
    /// millions of requests.
    is_held: bool,
    /// How many were taken.
    taken: u64,
    /// What runs was cancelled when so many requests had come: it is for none behind them.
    cancelled_until: Option<u64>,
    /// Whether a request that was taken may still run.
    at_work: bool,
    /// Times that all requests were answered.
    rests: u64,
    /// Stops what the session runs; there once a database is attached.
    interrupt: Option<Arc<Interrupt>>,
    /// Why no more can be read.
    end: Option<End>,
}

/// A request, and what is known of those behind it.
pub(crate) struct Taken {
    pub(crate) request: Request,
    /// Others wait.
    pub(crate) more: bool,
    /// The next one is answered as quickly as it is read.
    pub(crate) next_is_quick: bool,
}

/// How busy the session is: two equal ones say that it has been at the same work in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) at_work: bool,
    rests: u64,
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// There is something to read, or the end.
    Readable,
    /// There is room to write, or nobody who reads.
    Writable,
}

impl ConnectionInput {
    /// The line of a fresh connection.
    pub(crate) fn new() -> ConnectionInput {
        ConnectionInput {
            input: Mutex::new(Input {
                layers: Incoming::default(),
                decoder: RequestDecoder::new(Limits::default()),
                requests: VecDeque::new(),
                is_held: false,
                taken: 0,
                cancelled_until: None,
                at_work: false,
                rests: 0,
                interrupt: None,
                end: None,
            }),
            counters: Mutex::new(Counters::default()),
            logged_in: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            closing: Arc::default(),
        }
    }

    /// The counts of this line.
    pub(crate) fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock()
    }

    /// Takes what the socket has, without waiting, into `buffer` and on. False if it has nothing. A failure is kept
    /// for [`ConnectionInput::take_end`], behind the requests that came before it.
    pub(crate) fn receive(&self, socket: &Socket, buffer: &mut [u8]) -> bool {
        self.input.lock().receive(socket, &self.counters, buffer)
    }

    /// As [`ConnectionInput::receive`] while the session is still at the work that `activity` tells of. Otherwise the session
    /// reads by itself: then nothing happens, and the answer is `None`.
    pub(crate) fn receive_during(
        &self,
        activity: Activity,
        socket: &Socket,
        buffer: &mut [u8],
    ) -> Option<bool> {
        let mut input = self.input.lock();
        (input.activity() == activity).then(|| input.receive(socket, &self.counters, buffer))
    }

    /// The next request that is here already. A cancel is for what the client had sent before it: if that was answered by then, it
    /// is for nothing.
    pub(crate) fn take_request(&self) -> Option<Taken> {
        let mut input = self.input.lock();
        if input.is_held && input.requests.len() <= REQUESTS_WAITING_MAX / 2 {
            input.go_on(&self.counters);
        }
        if !self.stopped.load(Ordering::Acquire)
            && let Some(request) = input.requests.pop_front()
        {
            input.at_work = true;
            input.taken += 1;
            if input.cancelled_until.is_some_and(|until| until < input.taken) {
                input.forget_cancel();
            }
            let next = input.requests.front();
            return Some(Taken { request, more: next.is_some(), next_is_quick: next.is_some_and(is_quick) });
        }
        if input.at_work {
            input.at_work = false;
            input.rests += 1;
            input.forget_cancel();
        }
        None
    }

    /// Whether requests wait.
    pub(crate) fn has_requests(&self) -> bool {
        !self.input.lock().requests.is_empty()
    }

    /// Whether so many requests wait that the socket is to be left unread.
    pub(crate) fn is_full(&self) -> bool {
        self.input.lock().is_full()
    }

    /// Whether the client has asked for something, by now.
    pub(crate) fn is_input_waiting(&self, socket: &Socket) -> bool {
        let mut input = self.input.lock();
        if input.requests.is_empty() {
            input.receive(socket, &self.counters, &mut [0; READ_BYTES]);
        }
        !input.requests.is_empty()
    }

    /// What the session is doing.
    pub(crate) fn activity(&self) -> Activity {
        self.input.lock().activity()
    }

    /// Why nothing more will come, once.
    pub(crate) fn take_end(&self) -> Option<End> {
        self.input.lock().end.take()
    }

    /// Whether reading is over.
    pub(crate) fn has_ended(&self) -> bool {
        self.input.lock().end.is_some()
    }

    /// Gives back memory that a resting connection does not need.
    pub(crate) fn rest(&self) {
        let mut input = self.input.lock();
        input.decoder.release_memory();
        if input.requests.is_empty() {
            input.requests = VecDeque::new();
        }
    }

    /// The version of the packets that come is agreed.
    pub(crate) fn set_version(&self, version: ProtocolVersion) {
        self.input.lock().decoder.set_version(version);
    }

    /// The peer has logged in: it may send larger packets and take its time.
    pub(crate) fn set_logged_in(&self) {
        self.input.lock().decoder.authenticated();
        self.logged_in.store(true, Ordering::Release);
    }

    /// Whether the peer has logged in.
    pub(crate) fn is_logged_in(&self) -> bool {
        self.logged_in.load(Ordering::Acquire)
    }

    /// What comes is compressed from here.
    pub(crate) fn compress_incoming(&self) {
        let mut input = self.input.lock();
        input.layers.compress();
        input.pass_unread(&self.counters);
    }

    /// What comes is encrypted from here.
    pub(crate) fn encrypt_incoming(&self, cipher: Cipher) {
        let mut input = self.input.lock();
        input.layers.encrypt(cipher);
        input.pass_unread(&self.counters);
    }

    /// A database is attached: this stops what it runs.
    pub(crate) fn set_interrupt(&self, interrupt: Arc<Interrupt>) {
        let closing = Arc::clone(&self.closing);
        interrupt.set_on_close(move || closing.notify_one());
        self.input.lock().interrupt = Some(Arc::clone(&interrupt));
        // Its client may have gone before there was something to stop.
        if self.is_abandoned() {
            interrupt.raise(StopReason::AttachmentClosed);
        }
    }

    /// Waits until somebody else ends the session.
    pub(crate) async fn told_to_close(&self) {
        self.closing.notified().await;
    }

    /// Stops what the session runs.
    pub(crate) fn interrupt(&self, reason: StopReason) {
        if let Some(interrupt) = &self.input.lock().interrupt {
            interrupt.raise(reason);
        }
    }

    /// A statement has this handle.
    pub(crate) fn statement_allocated(&self, statement: Handle) {
        self.input.lock().decoder.statement_allocated(statement);
    }

    /// A BLR request has this handle.
    ///
    /// # Errors
    /// The messages that it declares cannot be understood, or too many are declared on this connection.
    pub(crate) fn request_compiled(&self, request: Handle, blr: &[u8]) -> Result<(), DecodeError> {
        self.input.lock().decoder.request_compiled(request, blr)
    }

    /// No more requests are taken; those that wait are forgotten.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let mut input = self.input.lock();
        input.requests.clear();
        input.is_held = false;
    }

    /// Whether no more requests are taken.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// What the session writes from here is for nobody.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.stop();
    }

    /// Whether what is written is for nobody.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}

/// Waits until the socket is ready; false if it was not within `patience`.
pub(crate) fn wait(socket: impl AsFd, readiness: Readiness, patience: Duration) -> bool {
    let flags = match readiness {
        Readiness::Readable => PollFlags::IN,
        Readiness::Writable => PollFlags::OUT,
    };
    let patience = Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    match rustix::event::poll(&mut [PollFd::new(&socket, flags)], Some(&patience)) {
        Ok(ready) => ready > 0,
        // A signal came first: whoever waits looks again.
        Err(_) => true,
    }
}

impl Input {
    fn activity(&self) -> Activity {
        Activity { at_work: self.at_work, rests: self.rests }
    }

    /// What was to be stopped has ended.
    fn forget_cancel(&mut self) {
        self.cancelled_until = None;
        if let Some(interrupt) = &self.interrupt {
            interrupt.end();
        }
    }

    fn is_full(&self) -> bool {
        self.requests.len() >= REQUESTS_WAITING_MAX
    }

    fn receive(&mut self, mut socket: &Socket, counters: &Mutex<Counters>, buffer: &mut [u8]) -> bool {
        if self.end.is_some() || self.is_full() {
            return false;
        }
        if self.is_held {
            self.go_on(counters);
            return true;
        }
        let received = match socket.read(buffer) {
            Ok(0) => Err(End::Closed),
            Ok(count) => self.take(buffer.get_mut(..count).unwrap_or_default(), &mut counters.lock()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return false;
            }
            Err(error) => Err(error.into()),
        };
        self.end = received.err();
        true
    }

    /// Takes bytes through the layers and makes requests of them.
    fn take(&mut self, bytes: &mut [u8], counters: &mut Counters) -> Result<(), End> {
        let layers = &mut self.layers;
        self.decoder.feed_by(|plain| layers.receive(bytes, counters, plain))?;
        self.decode_all(counters)
    }

    /// Goes on with bytes that were held back.
    fn go_on(&mut self, counters: &Mutex<Counters>) {
        if let Err(end) = self.decode_all(&mut counters.lock()) {
            self.end = Some(end);
        }
    }

    /// Makes requests of all that has come, as long as there is room for them.
    fn decode_all(&mut self, counters: &mut Counters) -> Result<(), End> {
        self.is_held = false;
        self.decode(counters)?;
        while !self.is_full() && self.layers.has_more() {
            let layers = &mut self.layers;
            self.decoder.feed_by(|plain| layers.receive_more(counters, plain))?;
            self.decode(counters)?;
        }
        self.is_held = self.is_full();
        Ok(())
    }

    /// Turns plain bytes into requests. op_cancel takes effect here: it overtakes what waits.
    fn decode(&mut self, counters: &mut Counters) -> Result<(), End> {
        while !self.is_full()
            && let Some(request) = self.decoder.next_request()?
        {
            counters.packet_in();
            match (request, &self.interrupt) {
                (Request::Cancel { kind }, Some(interrupt)) => match kind {
                    cancel::DISABLE => interrupt.set_cancel_disabled(true),
                    cancel::ENABLE => interrupt.set_cancel_disabled(false),
                    // Of use if there is something to cancel, running or about to.
                    cancel::RAISE if self.at_work || !self.requests.is_empty() => {
                        self.cancelled_until = Some(self.taken + self.requests.len() as u64);
                        interrupt.raise(StopReason::Cancelled);
                    }
                    _ => {}
                },
                (Request::Cancel { .. }, None) => {}
                (request, _) => self.requests.push_back(request),
            }
        }
        Ok(())
    }

    /// Bytes that were read before a layer was switched on belong to the layer.
    fn pass_unread(&mut self, counters: &Mutex<Counters>) {
        let mut unread = self.decoder.take_unread();
        if unread.is_empty() || self.end.is_some() {
            return;
        }
        let counters = &mut *counters.lock();
        let layers = &mut self.layers;
        let passed = self.decoder.feed_by(|plain| layers.pass(&mut unread, counters, plain));
        self.end = passed.map_err(End::from).and_then(|()| self.decode_all(counters)).err();
    }
}

/// Whether the answer comes as soon as the request is looked at, so that the reply before it can wait for that one.
fn is_quick(request: &Request) -> bool {
    match request {
        // Reserving tables may mean waiting for them.
        Request::StartTransaction { tpb, .. } => {
            !tpb.contains(&tpb::LOCK_READ) && !tpb.contains(&tpb::LOCK_WRITE)
        }
        Request::Ping | Request::BatchSync => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use farbird_wire::protocol::ProtocolVersion;

    use super::*;

    /// The input of a client, and what stops its session.
    fn input() -> (ConnectionInput, Arc<Interrupt>) {
        let (input, interrupt) = (ConnectionInput::new(), Arc::new(Interrupt::new()));
        input.set_version(ProtocolVersion::V19);
        input.set_logged_in();
        input.set_interrupt(Arc::clone(&interrupt));
        (input, interrupt)
    }

    /// The client's requests come.
    fn receive(input: &ConnectionInput, requests: &[Request]) {
        let mut bytes = Vec::new();
        for request in requests {
            request.encode(ProtocolVersion::V19, &mut bytes);
        }
        input.input.lock().take(&mut bytes, &mut Counters::default()).expect("requests");
    }

    const CANCEL: Request = Request::Cancel { kind: cancel::RAISE };

    #[test]
    fn a_cancel_is_for_what_was_sent_before_it() {
        let (input, interrupt) = input();
        receive(&input, &[Request::Ping, Request::Ping, CANCEL, Request::Ping]);
        for is_cancelled in [true, true, false] {
            assert!(input.take_request().is_some());
            assert_eq!(interrupt.check().is_err(), is_cancelled);
        }
        receive(&input, &[CANCEL]);
        assert!(interrupt.check().is_err(), "the last one still runs");
        assert!(input.take_request().is_none());
        assert!(interrupt.check().is_ok());
        receive(&input, &[CANCEL, Request::Ping]);
        assert!(input.take_request().is_some());
        assert!(interrupt.check().is_ok(), "nothing ran");
    }

    #[test]
    fn a_cancel_that_meets_the_end_of_a_request_is_not_for_the_next_one() {
        let (input, interrupt) = input();
        receive(&input, &[Request::Ping]);
        assert!(input.take_request().is_some());
        // The answer has gone out, but the session has not looked for more yet.
        receive(&input, &[CANCEL]);
        receive(&input, &[Request::Ping]);
        assert!(input.take_request().is_some());
        assert!(interrupt.check().is_ok());
    }

    /// Few bytes that are compressed may be many requests: they are made as they are taken, and none is lost or comes twice.
    #[test]
    fn no_more_requests_wait_than_may() {
        let (input, _) = input();
        input.compress_incoming();
        let mut plain = Vec::new();
        for number in 0..300_000 {
            Request::Commit(Handle(u16::try_from(number % 60_000).unwrap()))
                .encode(ProtocolVersion::V19, &mut plain);
        }
        let mut outgoing = farbird_wire::layers::Outgoing::default();
        outgoing.compress();
        let mut bytes = Vec::new();
        outgoing.send(&plain, &mut Counters::default(), &mut bytes).expect("compressed");
        input.input.lock().take(&mut bytes, &mut Counters::default()).expect("requests");
        let mut taken = 0;
        while let Some(Taken { request, .. }) = input.take_request() {
            assert!(input.input.lock().requests.len() <= REQUESTS_WAITING_MAX);
            assert_eq!(request, Request::Commit(Handle(u16::try_from(taken % 60_000).unwrap())));
            taken += 1;
        }
        assert_eq!(taken, 300_000);
        // What comes behind them is taken, too.
        let mut last = Vec::new();
        Request::Ping.encode(ProtocolVersion::V19, &mut last);
        let mut bytes = Vec::new();
        outgoing.send(&last, &mut Counters::default(), &mut bytes).expect("compressed");
        input.input.lock().take(&mut bytes, &mut Counters::default()).expect("requests");
        assert!(matches!(input.take_request(), Some(Taken { request: Request::Ping, .. })));
    }
}
