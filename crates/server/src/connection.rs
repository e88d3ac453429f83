//! One connection: its socket while it rests, and the thread that works for it while it does not.
//!
//! A connection that rests holds no thread and no buffer to speak of: its task waits for the socket. What comes wakes a
//! blocking thread, which has the socket to itself (see `line`) and gives it back when its client is silent. Meanwhile
//! the task looks from time to time. If a request takes long it reads the socket too: so op_cancel, a broken line and
//! the server's shutdown are noticed.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use farbird_engine::session::StopReason;
use socket2::Socket;
use tokio::io::Interest;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::arrival::Arrival;
use crate::async_socket::{AsyncSocket, Family};
use crate::connection_input::{Activity, ConnectionInput, End, READ_BYTES};
use crate::session::output::Output;
use crate::session::worker::Worker;
use crate::shared::Shared;

/// A session that has been at the same work for this time is watched: op_cancel reaches it at most so much later.
const WATCH_AFTER: Duration = Duration::from_millis(10);
/// How long a closing connection may take to deliver what was sent to it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The same when the server is going down and the grace time is over.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves one connection until it ends.
pub(crate) async fn serve(arrival: Arrival, shared: Arc<Shared>) {
    let peer = arrival.peer;
    let mut connection = match Connection::new(arrival, shared) {
        Ok(connection) => connection,
        Err(error) => return tracing::error!(%peer, %error, "a connection cannot be watched"),
    };
    let end = connection.run().await;
    connection.close().await;
    match end {
        End::Closed => tracing::debug!(%peer, "connection closed"),
        End::Session(error) => tracing::error!(%peer, %error, "the session broke"),
        end => tracing::warn!(%peer, reason = %end, "connection ended"),
    }
}

struct Connection {
    input: Arc<ConnectionInput>,
    shared: Arc<Shared>,
    state: State,
    login_deadline: Instant,
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
    Resting { worker: Box<Worker>, socket: AsyncSocket },
    /// On a blocking thread.
    Working(Work),
    /// Its task broke, or the connection ends.
    Gone,
}

struct Work {
    task: JoinHandle<Box<Worker>>,
    socket: Arc<Socket>,
    family: Family,
    /// What it was doing at the last look.
    activity: Activity,
    look_at: Instant,
    /// The socket once more, while the session is at the same work for long.
    watched: Option<AsyncSocket>,
}

impl Connection {
    fn new(arrival: Arrival, shared: Arc<Shared>) -> std::io::Result<Connection> {
        let Arrival { socket, family, peer, introduction, replies } = arrival;
        let login_deadline = Instant::now() + shared.config.login_timeout;
        let input = Arc::new(ConnectionInput::new());
        let mut worker = Box::new(Worker::new(Arc::clone(&shared), peer, introduction, Arc::clone(&input)));
        if let Some(replies) = replies {
            worker.output_mut().offer_to(replies);
        }
        let state = State::Resting { worker, socket: AsyncSocket::new(socket, family)? };
        Ok(Connection { input, shared, state, login_deadline, stop: None })
    }

    /// Goes on until something ends the connection.
    async fn run(&mut self) -> End {
        loop {
            let done = match &self.state {
                State::Resting { .. } => self.rest().await,
                State::Working(_) => self.watch().await,
                State::Gone => Err(End::Closed),
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// While the session rests: waits for what comes first, and does what follows from it.
    async fn rest(&mut self) -> Result<(), End> {
        if self.input.has_requests() && self.stop.is_none() {
            return self.start_work().await;
        }
        if let Some(end) = self.input.take_end() {
            return Err(end);
        }
        let State::Resting { worker, socket } = &mut self.state else { return Ok(()) };
        if worker.output_mut().is_closing() || self.stop.is_some() {
            return Err(End::Closed);
        }
        let mut stopping = self.shared.stopping.clone();
        let is_logged_in = self.input.is_logged_in();
        tokio::select! {
            ready = socket.readable() => {
                ready?;
                read(socket, |socket, buffer| self.input.receive(socket, buffer));
            }
            ready = socket.writable(), if worker.output_mut().has_unwritten() => {
                ready?;
                write(socket, worker.output_mut());
            }
            _ = tokio::time::sleep_until(self.login_deadline), if !is_logged_in => {
                return Err(End::LoginTimeout);
            }
            () = told_to_stop(&mut stopping) => self.stop(),
            () = self.input.told_to_close() => return self.shut_down().await,
        }
        Ok(())
    }

    /// Somebody else has ended the session, which rests: its locks go at once. Its client is told when it asks again.
    async fn shut_down(&mut self) -> Result<(), End> {
        let State::Resting { mut worker, socket } = std::mem::replace(&mut self.state, State::Gone) else {
            return Ok(());
        };
        // Rolling back and closing a file are not for an I/O thread.
        let task = tokio::task::spawn_blocking(move || {
            worker.detach_if_ended();
            worker
        });
        self.state = State::Resting { worker: task.await?, socket };
        Ok(())
    }

    /// Hands the session to a thread.
    async fn start_work(&mut self) -> Result<(), End> {
        // Logins are arithmetic on big numbers: a flood of them must not take all cores.
        let permit = match self.input.is_logged_in() {
            true => None,
            false => Arc::clone(&self.shared.login_work).acquire_owned().await.ok(),
        };
        let State::Resting { mut worker, socket } = std::mem::replace(&mut self.state, State::Gone) else {
            return Ok(());
        };
        let family = socket.family();
        let socket = Arc::new(socket.into_socket()?);
        let activity = self.input.activity();
        let task = tokio::task::spawn_blocking({
            let socket = Arc::clone(&socket);
            move || {
                worker.work(socket);
                drop(permit);
                worker
            }
        });
        let look_at = Instant::now() + WATCH_AFTER;
        self.state = State::Working(Work { task, socket, family, activity, look_at, watched: None });
        Ok(())
    }

    /// While the session works: waits for what comes first, and does what follows from it.
    async fn watch(&mut self) -> Result<(), End> {
        let State::Working(work) = &mut self.state else { return Ok(()) };
        let mut stopping = self.shared.stopping.clone();
        let is_logged_in = self.input.is_logged_in();
        let wants_read = work.watched.is_some() && !self.input.is_full();
        tokio::select! {
            biased;
            worker = &mut work.task => {
                let State::Working(work) = std::mem::replace(&mut self.state, State::Gone) else { return Ok(()) };
                self.state = State::Resting { worker: worker?, socket: work.into_socket()? };
                self.keep_delay().await;
            }
            ready = readable(work.watched.as_ref()), if wants_read => {
                ready?;
                work.read(&self.input);
                if let Some(end) = self.input.take_end() {
                    return Err(end);
                }
            }
            () = tokio::time::sleep_until(work.look_at) => work.look(&self.input)?,
            _ = tokio::time::sleep_until(self.login_deadline), if !is_logged_in => {
                if !self.input.is_logged_in() {
                    return Err(End::LoginTimeout);
                }
            }
            () = told_to_stop(&mut stopping), if self.stop.is_none() => self.stop(),
            () = stop_deadline(self.stop) => return self.go_on_stopping(),
        }
        Ok(())
    }

    /// A failed login is answered late.
    async fn keep_delay(&mut self) {
        let State::Resting { worker, .. } = &mut self.state else { return };
        let Some(delay) = worker.output_mut().take_delay() else { return };
        let mut stopping = self.shared.stopping.clone();
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = told_to_stop(&mut stopping) => {}
        }
    }

    /// The server is going down: what runs may go on for the grace time.
    fn stop(&mut self) {
        self.input.stop();
        self.stop = Some(Stop { at: Instant::now() + self.shared.config.shutdown_grace, told: false });
    }

    /// The grace time is over: what runs must stop. If its client does not take the answer, that is the end too.
    fn go_on_stopping(&mut self) -> Result<(), End> {
        match self.stop {
            Some(Stop { told: false, .. }) => {
                self.input.interrupt(StopReason::Shutdown);
                self.stop = Some(Stop { at: Instant::now() + STOP_TIMEOUT, told: true });
                Ok(())
            }
            _ => Err(End::Closed),
        }
    }

    /// Ends the session and delivers what it said last.
    async fn close(&mut self) {
        self.input.abandon();
        let given_up = self.stop.is_some_and(|stop| stop.told && stop.at <= Instant::now());
        let (mut worker, socket) = match std::mem::replace(&mut self.state, State::Gone) {
            State::Resting { worker, socket } => (worker, Some(socket)),
            State::Working(mut work) => {
                self.input.interrupt(StopReason::AttachmentClosed);
                match (&mut work.task).await {
                    Ok(worker) => (worker, work.into_socket().ok()),
                    Err(error) => {
                        tracing::error!(%error, "the session broke while it was closed");
                        return;
                    }
                }
            }
            State::Gone => return,
        };
        if let Some(socket) = socket
            && !given_up
        {
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, deliver(worker.output_mut(), &socket)).await;
        }
        // Detaching rolls back and may close a file: not for an I/O thread.
        if let Err(error) = tokio::task::spawn_blocking(move || drop(worker)).await {
            tracing::error!(%error, "the session broke while it was detached");
        }
    }
}

impl Work {
    /// Watches the socket if the session has been at the same work since the last look.
    fn look(&mut self, input: &Arc<ConnectionInput>) -> std::io::Result<()> {
        self.look_at = Instant::now() + WATCH_AFTER;
        let activity = input.activity();
        if activity != self.activity {
            self.activity = activity;
            self.watched = None;
        } else if activity.at_work && self.watched.is_none() {
            self.watched = Some(AsyncSocket::new(self.socket.try_clone()?, self.family)?);
        }
        Ok(())
    }

    /// Reads in the session's place, unless that reads again by itself.
    fn read(&mut self, input: &ConnectionInput) {
        let Some(watched) = &self.watched else { return };
        let activity = self.activity;
        let mut is_still_busy = true;
        read(watched, |socket, buffer| {
            let received = input.receive_during(activity, socket, buffer);
            is_still_busy = received.is_some();
            received.unwrap_or(true)
        });
        if !is_still_busy {
            self.watched = None;
        }
    }

    /// The socket, once the thread has given it back.
    fn into_socket(self) -> std::io::Result<AsyncSocket> {
        let socket = Arc::try_unwrap(self.socket).or_else(|shared| shared.try_clone())?;
        AsyncSocket::new(socket, self.family)
    }
}

/// Reads from a socket that is said to be readable; `take` says whether it was.
fn read(socket: &AsyncSocket, take: impl FnOnce(&Socket, &mut [u8]) -> bool) {
    // What failed is kept in the line.
    let _ = socket.try_io(Interest::READABLE, |socket| {
        if take(socket, &mut [0; READ_BYTES]) { Ok(()) } else { Err(ErrorKind::WouldBlock.into()) }
    });
}

/// Writes to a socket that is said to be writable.
fn write(socket: &AsyncSocket, output: &mut Output) {
    // What failed is kept in the output.
    let _ = socket.try_io(Interest::WRITABLE, |socket| {
        output.write_to(socket);
        if output.has_unwritten() { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
}

/// Waits for the watched socket; for ever if there is none.
async fn readable(watched: Option<&AsyncSocket>) -> std::io::Result<()> {
    match watched {
        Some(socket) => socket.readable().await,
        None => std::future::pending().await,
    }
}

/// Writes what is left to be written.
async fn deliver(output: &mut Output, socket: &AsyncSocket) {
    while output.has_unwritten() && socket.writable().await.is_ok() {
        write(socket, output);
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
