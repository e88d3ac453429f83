//! One connection: its socket, its layers, and the session that works for it.
//!
//! The socket is read all the time, also while a statement runs on a blocking thread: so op_cancel, a broken line and
//! the server's shutdown are noticed at once. Requests go to the session in order; what it produces is written as it
//! comes, and only as fast as the client reads. An idle connection holds no thread and no buffer to speak of.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use farbird_engine::session::{Interrupt, StopReason};
use farbird_wire::counters::Counters;
use farbird_wire::decoder::{Limits, RequestDecoder};
use farbird_wire::layers::{Incoming, LayerError, Outgoing};
use farbird_wire::packet::Request;
use farbird_wire::protocol::cancel;
use farbird_wire::xdr::DecodeError;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::server::Shared;
use crate::session::output::{Change, Outcome};
use crate::session::worker::Worker;

/// Bytes read from a socket at a time.
const READ_BYTES: usize = 16 << 10;
/// Outcomes that may wait between a session and its socket: with buffers of 32 KiB each.
const OUTCOMES_MAX: usize = 4;
/// Requests that may wait for a busy session; beyond it the socket is left unread until the session catches up.
const REQUESTS_WAITING_MAX: usize = 1024;
/// A client whose machine or network has vanished is noticed after a minute of silence and a minute of questions:
/// until then it keeps its locks.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(15))
    .with_retries(4);
/// How long a closing connection may take to deliver what was sent to it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The same when the server is going down and the grace time is over.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
enum End {
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

/// Serves one connection until it ends.
pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "cannot turn off Nagle's algorithm");
    }
    if let Err(error) = SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE) {
        tracing::debug!(%peer, %error, "cannot turn on keepalive");
    }
    let mut connection = Connection::new(stream, peer, shared);
    let end = connection.run().await;
    connection.close().await;
    match end {
        End::Closed => tracing::debug!(%peer, "connection closed"),
        End::Session(error) => tracing::error!(%peer, %error, "the session broke"),
        end => tracing::warn!(%peer, reason = %end, "connection ended"),
    }
}

struct Connection {
    stream: TcpStream,
    shared: Arc<Shared>,
    incoming: Incoming,
    outgoing: Outgoing,
    decoder: RequestDecoder,
    counters: Counters,
    /// Decoded, not yet handed to the session.
    requests: VecDeque<Request>,
    /// Encoded and encrypted, not yet written.
    unwritten: VecDeque<Vec<u8>>,
    /// Bytes of the first of `unwritten` that are written.
    written: usize,
    worker: State,
    /// Tells the busy session that more requests have come.
    waiting: Arc<AtomicBool>,
    /// Stops what the session runs; there once a database is attached.
    interrupt: Option<Arc<Interrupt>>,
    logged_in: bool,
    login_deadline: Instant,
    closing: bool,
    /// There once the server is going down.
    stop: Option<Stop>,
}

/// How far the server's shutdown has come for this connection.
#[derive(Debug, Clone, Copy)]
struct Stop {
    /// When it goes on to the next step.
    at: Instant,
    /// Whether what runs has been told to stop.
    told: bool,
}

/// Where the session is.
enum State {
    /// Here, waiting for requests.
    Idle(Box<Worker>),
    /// On a blocking thread.
    Busy { task: JoinHandle<Box<Worker>>, outcomes: mpsc::Receiver<Outcome> },
    /// Its task broke.
    Gone,
}

impl Connection {
    fn new(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) -> Connection {
        let login_deadline = Instant::now() + shared.config.login_timeout;
        let waiting = Arc::new(AtomicBool::new(false));
        Connection {
            stream,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            decoder: RequestDecoder::new(Limits::default()),
            counters: Counters::default(),
            requests: VecDeque::new(),
            unwritten: VecDeque::new(),
            written: 0,
            worker: State::Idle(Box::new(Worker::new(Arc::clone(&shared), peer, Arc::clone(&waiting)))),
            waiting,
            interrupt: None,
            logged_in: false,
            login_deadline,
            closing: false,
            stop: None,
            shared,
        }
    }

    /// Goes on until something ends the connection.
    async fn run(&mut self) -> End {
        loop {
            match self.step().await {
                Ok(()) => {}
                Err(end) => return end,
            }
        }
    }

    /// Waits for whatever comes first, and does what follows from it.
    async fn step(&mut self) -> Result<(), End> {
        self.start_work().await?;
        let idle = matches!(self.worker, State::Idle(_));
        if idle && (self.closing || self.stop.is_some()) {
            return Err(End::Closed);
        }
        let wants_read = !self.closing && self.requests.len() < REQUESTS_WAITING_MAX;
        let wants_write = !self.unwritten.is_empty();
        let mut stopping = self.shared.stopping.clone();
        tokio::select! {
            ready = self.stream.readable(), if wants_read => { ready?; self.read() }
            ready = self.stream.writable(), if wants_write => { ready?; self.write() }
            // Outcomes are taken only when the last ones are written: that is what slows the session down.
            outcome = next_outcome(&mut self.worker), if !idle && !wants_write => self.take(outcome).await,
            _ = tokio::time::sleep_until(self.login_deadline), if !self.logged_in => Err(End::LoginTimeout),
            () = told_to_stop(&mut stopping), if self.stop.is_none() => { self.stop(); Ok(()) }
            () = stop_deadline(self.stop) => self.go_on_stopping(),
        }
    }

    /// Hands waiting requests to the session if it is free.
    async fn start_work(&mut self) -> Result<(), End> {
        if self.requests.is_empty() || self.stop.is_some() || !matches!(self.worker, State::Idle(_)) {
            return Ok(());
        }
        // Logins are arithmetic on big numbers: a flood of them must not take all cores.
        let permit = match self.logged_in {
            true => None,
            false => Arc::clone(&self.shared.login_work).acquire_owned().await.ok(),
        };
        let State::Idle(mut worker) = std::mem::replace(&mut self.worker, State::Gone) else { return Ok(()) };
        let requests = std::mem::take(&mut self.requests);
        let (sender, outcomes) = mpsc::channel(OUTCOMES_MAX);
        worker.set_counters(self.counters);
        self.waiting.store(false, Ordering::Release);
        let task = tokio::task::spawn_blocking(move || {
            worker.work(requests, sender);
            drop(permit);
            worker
        });
        self.worker = State::Busy { task, outcomes };
        Ok(())
    }

    /// Takes what the socket has, without waiting.
    fn read(&mut self) -> Result<(), End> {
        let mut buffer = [0; READ_BYTES];
        let count = match self.stream.try_read(&mut buffer) {
            Ok(0) => return Err(End::Closed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut plain = Vec::with_capacity(count);
        self.incoming.receive(&mut buffer[..count], &mut self.counters, &mut plain)?;
        self.decode(&plain)?;
        while self.incoming.has_more() {
            plain.clear();
            self.incoming.receive_more(&mut self.counters, &mut plain)?;
            self.decode(&plain)?;
        }
        Ok(())
    }

    /// Turns plain bytes into requests. op_cancel takes effect here: it overtakes what waits.
    fn decode(&mut self, plain: &[u8]) -> Result<(), End> {
        self.decoder.feed(plain);
        while let Some(request) = self.decoder.next_request()? {
            self.counters.packet_in();
            match (request, &self.interrupt) {
                (Request::Cancel { kind }, Some(interrupt)) => match kind {
                    cancel::DISABLE => interrupt.set_cancel_disabled(true),
                    cancel::ENABLE => interrupt.set_cancel_disabled(false),
                    // Of use if there is something to cancel, running or about to.
                    cancel::RAISE if !self.is_at_rest() => interrupt.raise(StopReason::Cancelled),
                    _ => {}
                },
                (Request::Cancel { .. }, None) => {}
                (request, _) => self.requests.push_back(request),
            }
            self.waiting.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// All requests are answered: a cancel that came too late for them is not for those to come. Here and not in the
    /// session, which does not know what has been read meanwhile.
    fn forget_late_cancel(&self) {
        if let Some(interrupt) = &self.interrupt
            && self.is_at_rest()
        {
            interrupt.end();
        }
    }

    /// Whether no request runs or waits.
    fn is_at_rest(&self) -> bool {
        matches!(self.worker, State::Idle(_)) && self.requests.is_empty()
    }

    fn write(&mut self) -> Result<(), End> {
        while let Some(bytes) = self.unwritten.front() {
            match self.stream.try_write(bytes.get(self.written..).unwrap_or_default()) {
                Ok(count) => {
                    self.counters.sent(count);
                    self.written += count;
                    if self.written >= bytes.len() {
                        self.unwritten.pop_front();
                        self.written = 0;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes what came out of the session; `None` is its end for now.
    async fn take(&mut self, outcome: Option<Outcome>) -> Result<(), End> {
        match outcome {
            Some(Outcome::Send { bytes, packets }) => {
                (0..packets).for_each(|_| self.counters.packet_out());
                let mut out = Vec::new();
                self.outgoing.send(&bytes, &mut self.counters, &mut out)?;
                self.unwritten.push_back(out);
                self.write()
            }
            Some(Outcome::Change(change)) => self.change(change).await,
            None => {
                if let State::Busy { task, .. } = &mut self.worker {
                    let worker = task.await;
                    self.worker = State::Gone;
                    self.worker = State::Idle(worker?);
                }
                self.forget_late_cancel();
                Ok(())
            }
        }
    }

    async fn change(&mut self, change: Change) -> Result<(), End> {
        match change {
            Change::Version(version) => self.decoder.set_version(version),
            Change::LoggedIn => {
                self.logged_in = true;
                self.decoder.authenticated();
            }
            Change::CompressIncoming => {
                self.incoming.compress();
                self.pass_unread()?;
            }
            Change::CompressOutgoing => self.outgoing.compress(),
            Change::Encrypt(ciphers) => {
                let (incoming, outgoing) = *ciphers;
                self.incoming.encrypt(incoming);
                self.outgoing.encrypt(outgoing);
                self.pass_unread()?;
            }
            Change::Attached(interrupt) => self.interrupt = Some(interrupt),
            Change::StatementAllocated(handle) => self.decoder.statement_allocated(handle),
            Change::Delay(delay) => {
                let mut stopping = self.shared.stopping.clone();
                tokio::select! {
                    () = tokio::time::sleep(delay) => {}
                    () = told_to_stop(&mut stopping) => {}
                }
            }
            Change::Close => self.closing = true,
        }
        Ok(())
    }

    /// Bytes that were read before a layer was switched on belong to the layer.
    fn pass_unread(&mut self) -> Result<(), End> {
        let mut unread = self.decoder.take_unread();
        if unread.is_empty() {
            return Ok(());
        }
        let mut plain = Vec::new();
        self.incoming.pass(&mut unread, &mut self.counters, &mut plain)?;
        self.decode(&plain)
    }

    /// The server is going down: what runs may go on for the grace time.
    fn stop(&mut self) {
        self.requests.clear();
        self.stop = Some(Stop { at: Instant::now() + self.shared.config.shutdown_grace, told: false });
    }

    /// The grace time is over: what runs must stop. If its client does not take the answer, that is the end too.
    fn go_on_stopping(&mut self) -> Result<(), End> {
        match (&self.interrupt, self.stop) {
            (Some(interrupt), Some(Stop { told: false, .. })) => {
                interrupt.raise(StopReason::Shutdown);
                self.stop = Some(Stop { at: Instant::now() + STOP_TIMEOUT, told: true });
                Ok(())
            }
            _ => {
                self.unwritten.clear();
                Err(End::Closed)
            }
        }
    }

    /// Ends the session and delivers what it said last.
    async fn close(&mut self) {
        if let (Some(interrupt), State::Busy { .. }) = (&self.interrupt, &self.worker) {
            interrupt.raise(StopReason::AttachmentClosed);
        }
        if let State::Busy { task, outcomes } = &mut self.worker {
            // The session's sends fail from here, so it ends even if it was waiting for its client to read.
            outcomes.close();
            match task.await {
                Ok(worker) => self.worker = State::Idle(worker),
                Err(error) => {
                    tracing::error!(%error, "the session broke while it was closed");
                    self.worker = State::Gone;
                }
            }
        }
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, async {
            while !self.unwritten.is_empty() && self.stream.writable().await.is_ok() && self.write().is_ok() {
            }
        })
        .await;
        if let State::Idle(worker) = std::mem::replace(&mut self.worker, State::Gone) {
            // Detaching rolls back and may close a file: not for an I/O thread.
            if let Err(error) = tokio::task::spawn_blocking(move || drop(worker)).await {
                tracing::error!(%error, "the session broke while it was detached");
            }
        }
    }
}

/// Waits until the server is asked to stop.
async fn told_to_stop(stopping: &mut watch::Receiver<bool>) {
    // The sender lives as long as the server: if it is gone, so is the server.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Waits until the shutdown goes on to its next step; for ever if there is none.
async fn stop_deadline(stop: Option<Stop>) {
    match stop {
        Some(stop) => tokio::time::sleep_until(stop.at).await,
        None => std::future::pending().await,
    }
}

/// What the busy session produces next; `None` when it has nothing more to do.
async fn next_outcome(worker: &mut State) -> Option<Outcome> {
    match worker {
        State::Busy { outcomes, .. } => outcomes.recv().await,
        State::Idle(_) | State::Gone => std::future::pending().await,
    }
}
