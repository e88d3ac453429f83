//! Events in the asynchronous face: the second connection is a socket of tokio.

use farbird_types::{Result, isc};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::connection::Connection;
use crate::error;
use crate::event::{Posted, Watch};

/// Bytes of one read.
const READ_BYTES: usize = 16 * 1024;

/// Events as they are posted: see [`Connection::events`].
#[derive(Debug)]
pub struct EventStream {
    watch: Watch,
    stream: TcpStream,
    peer: String,
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
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O enabled.
    pub async fn events(&self, names: &[&str]) -> Result<EventStream> {
        let peer = self.shared.lock().further_host().to_owned();
        let watch = Watch::new(self, names)?;
        let port = watch.port().await?;
        let stream = TcpStream::connect((peer.as_str(), port)).await;
        let stream = stream.map_err(|error| error::network(&peer, isc::NET_EVENT_CONNECT_ERR, &error))?;
        let mut events = EventStream { watch, stream, peer };
        while !events.watch.has_begun() {
            events.watch.next().await?;
            if !events.watch.has_begun() {
                events.read().await?;
            }
        }
        Ok(events)
    }
}

impl EventStream {
    /// Waits for the next events.
    ///
    /// # Round trips
    /// One for each time that there are some, besides the waiting.
    ///
    /// # Cancel safety
    /// A future that is dropped loses no event.
    ///
    /// # Errors
    /// A connection is lost.
    pub async fn next(&mut self) -> Result<Vec<Posted>> {
        loop {
            if let Some(posted) = self.watch.next().await? {
                return Ok(posted);
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> Result<()> {
        let mut buffer = [0; READ_BYTES];
        match self.stream.read(&mut buffer).await {
            Ok(0) => Err(error::closed(&self.peer)),
            Ok(count) => self.watch.feed(buffer.get(..count).unwrap_or_default()),
            Err(error) => Err(error::network(&self.peer, isc::NET_READ_ERR, &error)),
        }
    }
}
