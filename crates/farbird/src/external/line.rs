//! The line to another server: reads look, while they wait, whether the caller's statement is to stop, and cancel what runs there.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use farbird_client::Canceller;
use farbird_client::blocking::Transport;
use farbird_engine::session::Interrupt;

/// How long a read waits before it looks.
const LOOK: Duration = Duration::from_millis(50);
/// How long a server that was told to stop may take to answer; then it is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who stops what a connection is at.
pub(super) struct Watch {
    canceller: OnceLock<Canceller>,
    state: Mutex<State>,
}

struct State {
    /// Of whoever has the connection.
    interrupt: Arc<Interrupt>,
    /// When the server was told to stop.
    told: Option<Instant>,
}

impl Watch {
    pub(super) fn new(interrupt: Arc<Interrupt>) -> Watch {
        Watch { canceller: OnceLock::new(), state: Mutex::new(State { interrupt, told: None }) }
    }

    /// From now on the server can be told to stop; before that it is hung up on.
    pub(super) fn set_canceller(&self, canceller: Canceller) {
        // Said once.
        let _ = self.canceller.set(canceller);
    }

    /// Somebody else has the connection.
    pub(super) fn lend(&self, interrupt: Arc<Interrupt>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State { interrupt, told: None };
    }

    /// Tells the server to stop, if it is to. An error if the connection must be given up.
    fn look(&self) -> std::io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.interrupt.check().is_ok() {
            state.told = None;
            return Ok(());
        }
        match (self.canceller.get(), state.told) {
            (None, _) => Err(ErrorKind::ConnectionAborted.into()),
            (Some(_), Some(told)) if told.elapsed() > PATIENCE => Err(ErrorKind::ConnectionAborted.into()),
            (Some(_), Some(_)) => Ok(()),
            (Some(canceller), None) => {
                state.told = Some(Instant::now());
                canceller.cancel().map_err(std::io::Error::other)
            }
        }
    }
}

/// A TCP connection that is watched.
pub(super) struct Line {
    stream: TcpStream,
    watch: Arc<Watch>,
    /// How long the driver wants a read to wait.
    read_timeout: Option<Duration>,
}

impl Line {
    pub(super) fn new(stream: TcpStream, watch: Arc<Watch>) -> Line {
        Line { stream, watch, read_timeout: None }
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stream.fmt(f)
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let start = Instant::now();
        loop {
            match self.stream.read(buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    self.watch.look()?;
                    if self.read_timeout.is_some_and(|timeout| start.elapsed() >= timeout) {
                        return Err(error);
                    }
                }
                read => return read,
            }
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

impl Transport for Line {
    fn set_read_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        self.read_timeout = timeout;
        self.stream.set_read_timeout(Some(timeout.map_or(LOOK, |timeout| timeout.min(LOOK))))
    }

    fn set_write_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        self.stream.set_write_timeout(timeout)
    }

    fn set_nonblocking(&mut self, is_nonblocking: bool) -> std::io::Result<()> {
        if is_nonblocking {
            self.read_timeout = Some(Duration::ZERO);
        }
        self.stream.set_nonblocking(is_nonblocking)
    }
}
