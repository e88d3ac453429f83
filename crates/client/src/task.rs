//! The driver as a task of tokio: one for each connection, which owns its socket.
//!
//! Promises: works on multi-thread and current-thread runtimes; ends, and closes the socket, when nobody holds the
//! connection any more or when it has failed.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use farbird_types::{Error, Result, isc};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

use crate::connection::{Connection, Connector};
use crate::core::{Driven, Shared};
use crate::error;
use crate::options::{ConnectOptions, CreateOptions, Location};
use crate::service::Services;

/// Bytes of one read.
const READ_BYTES: usize = 128 * 1024;

impl Connection {
    /// Connects and attaches a database: `host/port:database`. A task of the current runtime moves the connection's bytes
    /// from then on.
    ///
    /// # Round trips
    /// Four, or two if the line is not encrypted; one more for each authentication plugin that the server does not know.
    ///
    /// # Errors
    /// `isc_network_error` if nobody answers, `isc_login` for a wrong password, what the server says of the database.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time enabled.
    pub async fn attach(database: &str, options: &ConnectOptions) -> Result<Connection> {
        Connection::connect(database, options).await?.attached().await
    }

    /// As [`Connection::attach`], but gives the connection as soon as the attach is on its way: see [`Connector`].
    ///
    /// # Round trips
    /// Three, or two if the line is not encrypted.
    ///
    /// # Errors
    /// `isc_network_error` if nobody answers, `isc_login` for a wrong password. What the server says of the database comes
    /// with [`Connector::attached`].
    ///
    /// # Panics
    /// As [`Connection::attach`].
    pub async fn connect(database: &str, options: &ConnectOptions) -> Result<Connector> {
        let (shared, database) = reach(database, options).await?;
        Connection::connect_over(&shared, &database, options).await
    }

    /// Connects, creates a database and attaches it, otherwise as [`Connection::attach`].
    ///
    /// # Round trips
    /// As [`Connection::attach`].
    ///
    /// # Errors
    /// As [`Connection::attach`]; `isc_db_or_file_exists` if there is one and `overwrite` is not set.
    ///
    /// # Panics
    /// As [`Connection::attach`].
    pub async fn create(
        database: &str,
        create: &CreateOptions,
        options: &ConnectOptions,
    ) -> Result<Connection> {
        let (shared, database) = reach(database, options).await?;
        Connection::create_over(&shared, &database, create, options).await
    }
}

impl Services {
    /// Connects with the services manager of a server and logs in. A task of the current runtime moves the connection's
    /// bytes from then on.
    ///
    /// # Round trips
    /// Four, or two if the line is not encrypted; one more for each authentication plugin that the server does not know.
    ///
    /// # Errors
    /// `isc_network_error` if nobody answers, `isc_login` for a wrong password.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time enabled.
    pub async fn attach(host: &str, port: u16, options: &ConnectOptions) -> Result<Services> {
        let shared = connect(host, port, options).await?;
        Services::attach_over(&shared, options).await
    }
}

/// A connection with the server of a database and the task that drives it, and what the server calls the database.
async fn reach(database: &str, options: &ConnectOptions) -> Result<(Shared, String)> {
    #[cfg(feature = "farlink")]
    if let Some(location) = crate::farlink::FarlinkLocation::parse(database)? {
        let stream = crate::farlink::open(&location, options).await?;
        let shared = Shared::new(options.tuning.clone());
        crate::farlink::prepare(&shared);
        drive(&shared, stream, &location.site, options.read_timeout);
        return Ok((shared, location.database));
    }
    let Location { host, port, database } = Location::parse(database)?;
    let shared = connect(&host, port, options).await?;
    Ok((shared, database))
}

/// A TCP connection with a server, and the task that drives it.
pub(crate) async fn connect(host: &str, port: u16, options: &ConnectOptions) -> Result<Shared> {
    let failed = |error: &std::io::Error| error::network(host, isc::NET_CONNECT_ERR, error);
    let stream = timeout_at(Instant::now() + options.connect_timeout, TcpStream::connect((host, port)))
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        .map_err(|error| failed(&error))?;
    stream.set_nodelay(true).map_err(|error| failed(&error))?;
    let shared = Shared::new(options.tuning.clone());
    drive(&shared, stream, host, options.read_timeout);
    Ok(shared)
}

/// Starts a task of the current tokio runtime that moves a connection's bytes over this stream. `peer` names the server
/// in messages; `read_timeout` is how long to wait for an answer.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn drive(
    shared: &Shared,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: &str,
    read_timeout: Option<Duration>,
) {
    shared.lock().set_peer(peer);
    let mut task = Task {
        driven: shared.driven(),
        stream,
        peer: peer.to_owned(),
        out: Vec::new(),
        written: 0,
        has_lingered: false,
        buffer: vec![0; READ_BYTES],
        read_timeout,
        deadline: None,
        start: Instant::now(),
    };
    tokio::spawn(async move { poll_fn(|context| task.poll(context)).await });
}

struct Task<S> {
    driven: Driven,
    stream: S,
    /// The peer, for messages.
    peer: String,
    /// Bytes on their way to the socket, and how many of them have been written.
    out: Vec<u8>,
    written: usize,
    /// Whether other tasks have had their turn to add to what wants to leave.
    has_lingered: bool,
    buffer: Vec<u8>,
    read_timeout: Option<Duration>,
    /// When the answer that somebody waits for should have begun to arrive.
    deadline: Option<Pin<Box<Sleep>>>,
    start: Instant,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Task<S> {
    /// Ready when the connection is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.poll_work(context) {
            Poll::Ready(Ok(())) => Poll::Ready(()),
            Poll::Ready(Err(error)) => {
                self.driven.lock().fail(error);
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_work(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.driven.lock().register_driver(context.waker());
        loop {
            let mut is_moving = self.deliver()?;
            is_moving |= self.poll_write(context)?;
            let (is_reading, is_over) = {
                let core = self.driven.lock();
                let is_over = core.failure().is_some() || (core.is_abandoned() && !core.has_output());
                (core.wants_input() || core.is_crowded() || core.is_idle(), is_over)
            };
            if is_over && self.out.is_empty() {
                return Pin::new(&mut self.stream).poll_shutdown(context).map(|_| Ok(()));
            }
            // While the server does not take our bytes we take its.
            if is_reading || !self.out.is_empty() {
                is_moving |= self.poll_read(context)?;
            }
            if !is_moving {
                return self.poll_deadline(context);
            }
        }
    }

    /// Takes answers to those who asked for them, as long as there is room for what nobody waits for.
    fn deliver(&mut self) -> Result<bool> {
        let mut core = self.driven.lock();
        let mut has_delivered = false;
        while core.wants_input() && core.deliver_one()?.is_some() {
            has_delivered = true;
        }
        if core.is_idle() {
            // What comes unasked is passed over.
            core.deliver_one()?;
        }
        Ok(has_delivered)
    }

    /// Writes what wants to leave; whether anything was written.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Result<bool> {
        if self.out.is_empty() && !self.take_output(context)? {
            return Ok(false);
        }
        let mut has_written = false;
        while let Some(rest) = self.out.get(self.written..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut self.stream).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Err(error::closed(&self.peer)),
                Poll::Ready(Ok(count)) => {
                    self.driven.lock().sent(count);
                    self.written += count;
                    has_written = true;
                }
                Poll::Ready(Err(error)) => return Err(self.lost(isc::NET_WRITE_ERR, &error)),
                Poll::Pending => return Ok(has_written),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(has_written)
    }

    /// Takes a flight, if one wants to leave. Before it does, tasks that are ready have a turn to add to it.
    fn take_output(&mut self, context: &mut Context<'_>) -> Result<bool> {
        let mut core = self.driven.lock();
        if !core.has_output() {
            return Ok(false);
        }
        if !self.has_lingered {
            self.has_lingered = true;
            context.waker().wake_by_ref();
            return Ok(false);
        }
        self.has_lingered = false;
        core.set_now(self.start.elapsed());
        Ok(core.take_output(&mut self.out)?.is_some())
    }

    /// One read; whether it gave anything.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Result<bool> {
        let mut buffer = ReadBuf::new(&mut self.buffer);
        match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => Err(error::closed(&self.peer)),
            Poll::Ready(Ok(())) => {
                self.deadline = None;
                let mut core = self.driven.lock();
                core.set_now(self.start.elapsed());
                core.feed(buffer.filled_mut())?;
                Ok(true)
            }
            Poll::Ready(Err(error)) => Err(self.lost(isc::NET_READ_ERR, &error)),
            Poll::Pending => Ok(false),
        }
    }

    /// Fails when nothing has come for too long although somebody waits.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(timeout) = self.read_timeout.filter(|_| self.driven.lock().somebody_waits()) else {
            self.deadline = None;
            return Poll::Pending;
        };
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + timeout)));
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(self.lost(isc::NET_READ_ERR, &std::io::ErrorKind::TimedOut.into())))
    }

    fn lost(&self, what: u32, error: &std::io::Error) -> Error {
        error::network(&self.peer, what, error)
    }
}
