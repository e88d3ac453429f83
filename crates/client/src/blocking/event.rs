//! Events: the second connection is a socket of the operating system.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use farbird_types::{Result, isc};

use super::connection::Connection;
use super::driver::Runner;
use crate::error;
use crate::event::{Posted, Watch};

/// Bytes of one read.
const READ_BYTES: usize = 16 * 1024;
/// How long the server may take to tell where the counts stand.
const BEGIN_PATIENCE: Duration = Duration::from_secs(60);

/// Events as they are posted: see [`Connection::events`].
#[derive(Debug)]
pub struct Events {
    watch: Watch,
    stream: TcpStream,
    peer: String,
    runner: Runner,
}

impl Connection {
    /// Listens for events of these names: everything that is posted (by a commit) after this call is told. A connection
    /// listens once at a time. The server has to be reachable at the port that it chooses for this (`RemoteAuxPort`).
    ///
    /// # Round trips
    /// Three, and that of a TCP connection.
    ///
    /// # Errors
    /// `isc_network_error` if its second port cannot be reached.
    pub fn events(&self, names: &[&str]) -> Result<Events> {
        let peer = self.inner.shared().lock().further_host().to_owned();
        let watch = Watch::new(&self.inner, names)?;
        let port = self.runner.run(watch.port())?;
        let stream = TcpStream::connect((peer.as_str(), port));
        let stream = stream.map_err(|error| error::network(&peer, isc::NET_EVENT_CONNECT_ERR, &error))?;
        let mut events = Events { watch, stream, peer, runner: self.runner.clone() };
        let deadline = Instant::now() + BEGIN_PATIENCE;
        while !events.watch.has_begun() {
            events.runner.run(events.watch.next())?;
            if !events.watch.has_begun() && !events.read(Some(deadline))? {
                let timeout = ErrorKind::TimedOut.into();
                return Err(error::network(&events.peer, isc::NET_EVENT_CONNECT_ERR, &timeout));
            }
        }
        Ok(events)
    }
}

impl Events {
    /// Waits for the next events, at most so long; `None` if there were none.
    ///
    /// # Round trips
    /// One for each time that there are some, besides the waiting.
    ///
    /// # Errors
    /// A connection is lost.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Vec<Posted>>> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if let Some(posted) = self.runner.run(self.watch.next())? {
                return Ok(Some(posted));
            }
            if !self.read(deadline)? {
                return Ok(None);
            }
        }
    }

    /// One read; false if nothing came in time.
    fn read(&mut self, deadline: Option<Instant>) -> Result<bool> {
        let lost = |error: &std::io::Error| error::network(&self.peer, isc::NET_READ_ERR, error);
        let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if rest.is_some_and(|rest| rest.is_zero()) {
            return Ok(false);
        }
        self.stream.set_read_timeout(rest).map_err(|error| lost(&error))?;
        let mut buffer = [0; READ_BYTES];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(error::closed(&self.peer)),
            Ok(count) => self.watch.feed(buffer.get(..count).unwrap_or_default()).map(|()| true),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
            Err(error) => Err(lost(&error)),
        }
    }
}
