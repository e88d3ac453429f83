//! A connection as it comes to the server: from the network, or from an origin of a farlink in this process.
//!
//! Behind it all connections are the same: a socket that does not block, and whose it is.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Socket, TcpKeepalive};
use tokio::net::TcpStream;

use crate::async_socket::Family;
use crate::farlink::{Introduction, OriginConnection, TakesReplies};

/// A client whose machine or network has vanished is noticed after a minute of silence and a minute of questions:
/// until then it keeps its locks.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(15))
    .with_retries(4);

/// A connection that has come.
pub(crate) struct Arrival {
    pub(crate) socket: Socket,
    pub(crate) family: Family,
    /// The program's address.
    pub(crate) peer: SocketAddr,
    /// What the origin says of its connection.
    pub(crate) introduction: Option<Introduction>,
    /// Who takes replies before they go through the socket.
    pub(crate) replies: Option<Arc<dyn TakesReplies>>,
}

impl Arrival {
    /// A connection of the network.
    ///
    /// # Errors
    /// The runtime does not let go of it.
    pub(crate) fn from_network(stream: TcpStream, peer: SocketAddr) -> io::Result<Arrival> {
        let socket = Socket::from(stream.into_std()?);
        if let Err(error) = socket.set_tcp_nodelay(true) {
            tracing::debug!(%peer, %error, "cannot turn off Nagle's algorithm");
        }
        if let Err(error) = socket.set_tcp_keepalive(&KEEPALIVE) {
            tracing::debug!(%peer, %error, "cannot turn on keepalive");
        }
        Ok(Arrival { socket, family: Family::Network, peer, introduction: None, replies: None })
    }

    /// A connection of an origin. `own`: the server's address, which stands for one that the edge has not given or not as an address.
    pub(crate) fn from_origin(connection: OriginConnection, own: SocketAddr) -> Arrival {
        let OriginConnection { socket, introduction, replies } = connection;
        let peer = introduction.peer.parse().unwrap_or(own);
        Arrival {
            socket: Socket::from(socket),
            family: Family::Inside,
            peer,
            introduction: Some(introduction),
            replies,
        }
    }
}
