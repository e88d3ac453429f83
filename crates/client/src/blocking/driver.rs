//! The driver that blocks: it polls an operation, and while that waits, it writes, reads, and delivers.
//!
//! No thread and no runtime. While the server does not take our bytes we take its, so neither side can block the other
//! for ever.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use farbird_types::{Error, Result, isc};

use crate::core::{Driven, Shared};
use crate::error;

/// Bytes of one read.
const READ_BYTES: usize = 128 * 1024;
/// How long a write waits before we look whether the server waits for us to read.
const WRITE_PATIENCE: Duration = Duration::from_millis(50);
/// How long the server may send nothing until it is taken to wait for us.
const READ_PATIENCE: Duration = Duration::from_millis(5);

/// A stream of bytes to a server and back, such as a TCP connection.
pub trait Transport: Read + Write + Send + std::fmt::Debug {
    /// How long a read may wait; then it fails with [`ErrorKind::TimedOut`] or [`ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// Those of the operating system.
    fn set_read_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()>;

    /// How long a write may wait, as for reads.
    ///
    /// # Errors
    /// Those of the operating system.
    fn set_write_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()>;

    /// Whether reads that find nothing fail with [`ErrorKind::WouldBlock`] at once. It is switched on for moments, to see
    /// whether the server has closed an idle connection.
    ///
    /// # Errors
    /// Those of the operating system; [`ErrorKind::Unsupported`] if the transport has no such thing: then that shows with
    /// the next request.
    fn set_nonblocking(&mut self, is_nonblocking: bool) -> std::io::Result<()> {
        let _ = is_nonblocking;
        Err(ErrorKind::Unsupported.into())
    }
}

impl Transport for TcpStream {
    fn set_read_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        TcpStream::set_read_timeout(self, timeout)
    }

    fn set_write_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        TcpStream::set_write_timeout(self, timeout)
    }

    fn set_nonblocking(&mut self, is_nonblocking: bool) -> std::io::Result<()> {
        TcpStream::set_nonblocking(self, is_nonblocking)
    }
}

/// Moves the bytes of one connection while an operation is run.
#[derive(Debug)]
pub struct Driver {
    driven: Driven,
    transport: Box<dyn Transport>,
    /// The peer, for messages.
    peer: String,
    /// Bytes on their way to the socket.
    out: Vec<u8>,
    buffer: Vec<u8>,
    read_timeout: Option<Duration>,
    /// How long the transport's reads wait at present.
    patience: Option<Duration>,
    /// Whether other threads may queue requests while this one waits for an answer.
    is_watched: Arc<AtomicBool>,
    start: Instant,
}

impl Driver {
    /// A driver of this connection over an open transport. `peer` names the server in messages; `read_timeout` is how long
    /// to wait for an answer.
    ///
    /// # Errors
    /// The transport refuses the timeouts.
    pub fn new(
        shared: &Shared,
        transport: impl Transport + 'static,
        peer: &str,
        read_timeout: Option<Duration>,
    ) -> Result<Driver> {
        let mut transport = Box::new(transport);
        transport
            .set_write_timeout(Some(WRITE_PATIENCE))
            .and_then(|()| transport.set_read_timeout(read_timeout))
            .map_err(|error| error::network(peer, isc::NET_CONNECT_ERR, &error))?;
        shared.lock().set_peer(peer);
        Ok(Driver {
            driven: shared.driven(),
            transport,
            peer: peer.to_owned(),
            out: Vec::new(),
            buffer: vec![0; READ_BYTES],
            read_timeout,
            patience: read_timeout,
            is_watched: Arc::default(),
            start: Instant::now(),
        })
    }

    /// Runs an operation of this connection to its end.
    pub fn run<T>(&mut self, operation: impl Future<Output = T>) -> T {
        let mut operation = pin!(operation);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let state = operation.as_mut().poll(&mut context);
            let moved = match &state {
                Poll::Ready(_) => self.finish(),
                Poll::Pending => self.advance(),
            };
            if let Err(error) = moved {
                self.driven.lock().fail(error);
            }
            if let Poll::Ready(result) = state {
                return result;
            }
        }
    }

    /// Does what brings the operation on: an answer that is here, else what is queued leaves and the next bytes are waited
    /// for.
    fn advance(&mut self) -> Result<()> {
        if self.deliver()? {
            return Ok(());
        }
        self.write()?;
        if self.driven.lock().somebody_waits() {
            self.read()?;
        }
        Ok(())
    }

    /// Sends what an operation has left to be sent at once, and takes answers when too many are under way.
    fn finish(&mut self) -> Result<()> {
        self.write()?;
        while self.driven.lock().is_crowded() {
            self.driven.lock().relieve();
            self.write()?;
            self.read()?;
            while self.driven.lock().deliver_one()?.is_some() {}
        }
        Ok(())
    }

    /// Delivers the answers that are here until somebody is served; false if there is none for anybody.
    fn deliver(&mut self) -> Result<bool> {
        let mut core = self.driven.lock();
        while let Some(delivered) = core.deliver_one()? {
            if delivered.has_woken {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write(&mut self) -> Result<()> {
        {
            let mut core = self.driven.lock();
            core.set_now(self.start.elapsed());
            core.take_output(&mut self.out)?;
        }
        let mut written = 0;
        while let Some(rest) = self.out.get(written..).filter(|rest| !rest.is_empty()) {
            match self.transport.write(rest) {
                Ok(0) => return Err(error::closed(&self.peer)),
                Ok(count) => {
                    self.driven.lock().sent(count);
                    written += count;
                }
                Err(error) if is_timeout(&error) => self.read_if_any()?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(isc::NET_WRITE_ERR, &error)),
            }
        }
        self.out.clear();
        Ok(())
    }

    /// Has reads look from now on, while they wait, whether another thread has something to be sent.
    fn watch(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// One read from the transport.
    fn read(&mut self) -> Result<()> {
        if self.is_watched.load(Ordering::Relaxed) {
            return self.read_and_look();
        }
        self.set_patience(self.read_timeout)?;
        match self.transport.read(&mut self.buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            read => self.feed(read),
        }
    }

    /// The same, sending meanwhile what other threads queue.
    fn read_and_look(&mut self) -> Result<()> {
        let start = Instant::now();
        let is_over = |timeout: Option<Duration>| timeout.is_some_and(|timeout| start.elapsed() >= timeout);
        loop {
            self.set_patience(Some(WRITE_PATIENCE))?;
            match self.transport.read(&mut self.buffer) {
                Err(error) if is_timeout(&error) && !is_over(self.read_timeout) => {
                    self.write()?;
                    // Another thread may have given the connection up.
                    if let Some(error) = self.driven.lock().failure() {
                        return Err(error);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return self.feed(read),
            }
        }
    }

    /// Reads until the server has nothing more to send: it takes our bytes then. What it sends was asked for, so there is an
    /// end to it.
    fn read_if_any(&mut self) -> Result<()> {
        self.set_patience(Some(READ_PATIENCE))?;
        loop {
            match self.transport.read(&mut self.buffer) {
                Err(error) if is_timeout(&error) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => self.feed(read)?,
            }
        }
    }

    /// Sends what wants to leave and takes what is here, without waiting for more: answers that nobody waited for, or the
    /// news that the server has closed the connection.
    fn look(&mut self) -> Result<()> {
        self.write()?;
        match self.transport.set_nonblocking(true) {
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
            set => set.map_err(|error| self.lost(isc::NET_READ_ERR, &error))?,
        }
        let taken = self.take_what_is_here();
        let set = self.transport.set_nonblocking(false);
        taken.and(set.map_err(|error| self.lost(isc::NET_READ_ERR, &error)))
    }

    /// As long as there is room for it.
    fn take_what_is_here(&mut self) -> Result<()> {
        while self.driven.lock().wants_input() || self.driven.lock().is_idle() {
            match self.transport.read(&mut self.buffer) {
                Err(error) if is_timeout(&error) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => self.feed(read)?,
            }
            while self.driven.lock().deliver_one()?.is_some() {}
        }
        Ok(())
    }

    /// How long reads wait from now on.
    fn set_patience(&mut self, patience: Option<Duration>) -> Result<()> {
        if self.patience != patience {
            let set = self.transport.set_read_timeout(patience);
            set.map_err(|error| self.lost(isc::NET_READ_ERR, &error))?;
            self.patience = patience;
        }
        Ok(())
    }

    fn feed(&mut self, read: std::io::Result<usize>) -> Result<()> {
        match read {
            Ok(0) => Err(error::closed(&self.peer)),
            Ok(count) => {
                let mut core = self.driven.lock();
                core.set_now(self.start.elapsed());
                core.feed(self.buffer.get_mut(..count).unwrap_or_default())
            }
            Err(error) => Err(self.lost(isc::NET_READ_ERR, &error)),
        }
    }

    fn lost(&self, what: u32, error: &std::io::Error) -> Error {
        error::network(&self.peer, what, error)
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The driver, shared by a connection and all that was made on it.
#[derive(Debug, Clone)]
pub(super) struct Runner(Arc<Mutex<Driver>>);

impl Runner {
    pub(super) fn new(driver: Driver) -> Runner {
        Runner(Arc::new(Mutex::new(driver)))
    }

    /// Has calls that wait send what other threads queue.
    pub(super) fn watch(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).watch();
    }

    /// Sends what wants to leave and takes what is here.
    pub(super) fn look(&self) {
        let mut driver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if driver.driven.lock().failure().is_none()
            && let Err(error) = driver.look()
        {
            driver.driven.lock().fail(error);
        }
    }

    pub(super) fn run<T>(&self, operation: impl Future<Output = T>) -> T {
        // A panic in an operation leaves its connection as a dropped future does: in step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).run(operation)
    }
}
