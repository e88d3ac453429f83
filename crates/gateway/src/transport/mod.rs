//! Connections between an edge and an origin: QUIC, or TLS 1.3 over TCP where UDP does not pass.
//!
//! Promises: both ends have proved that they hold the private key of somebody on the other's list ([`crate::pairing`]) before a byte of
//! the farlink is read; nothing older than TLS 1.3; no early data, which could be sent twice. Either way a connection is one
//! stream of bytes in each direction.

mod connection;
mod identity;
mod quic;
mod tcp;

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::mpsc;

use connection::CONNECT_TIMEOUT;
pub use connection::{Connection, Kind, TransportError};

use crate::pairing::Keys;

/// The port of origins, where none is said.
pub const PORT: u16 = 3052;

/// How long UDP is given before TCP is tried as well.
const QUIC_TIMEOUT: Duration = Duration::from_secs(4);

/// By what an edge reaches its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// QUIC, or else TCP.
    #[default]
    Auto,
    /// QUIC only.
    Quic,
    /// TLS over TCP only.
    Tcp,
}

/// Makes connections to an origin.
pub struct Dialer {
    host: String,
    transport: Transport,
    quic: quic::QuicDialer,
    tcp: tcp::TcpDialer,
    /// What worked last is tried first.
    last: parking_lot::Mutex<Option<Kind>>,
}

impl Dialer {
    /// `host`: HOST or HOST:PORT.
    ///
    /// # Errors
    /// [`TransportError`].
    pub fn new(host: &str, transport: Transport, keys: &Keys) -> Result<Dialer, TransportError> {
        let host = if has_port(host) { host.to_owned() } else { format!("{host}:{PORT}") };
        Ok(Dialer {
            host,
            transport,
            quic: quic::QuicDialer::new(keys)?,
            tcp: tcp::TcpDialer::new(keys)?,
            last: parking_lot::Mutex::new(None),
        })
    }

    /// Where to.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Makes one.
    ///
    /// # Errors
    /// [`TransportError`].
    pub async fn connect(&self) -> Result<Connection, TransportError> {
        let found = tokio::net::lookup_host(&self.host).await;
        let missing = |error| TransportError::Address(self.host.clone(), error);
        let addresses: Vec<SocketAddr> = found.map_err(missing)?.take(8).collect();
        let first = addresses.first().copied();
        let address = first.ok_or_else(|| missing(std::io::Error::other("the name has no address")))?;
        let order: &[Kind] = match (self.transport, *self.last.lock()) {
            (Transport::Quic, _) => &[Kind::Quic],
            (Transport::Tcp, _) => &[Kind::Tcp],
            (Transport::Auto, Some(Kind::Tcp)) => &[Kind::Tcp, Kind::Quic],
            (Transport::Auto, _) => &[Kind::Quic, Kind::Tcp],
        };
        let mut failure = None;
        for kind in order {
            let limit = if order.len() > 1 && *kind == Kind::Quic { QUIC_TIMEOUT } else { CONNECT_TIMEOUT };
            match tokio::time::timeout(limit, self.connect_by(*kind, address)).await {
                Ok(Ok(connection)) => {
                    *self.last.lock() = Some(*kind);
                    return Ok(connection);
                }
                outcome => {
                    let error = match outcome {
                        Ok(Err(error)) => error,
                        _ => TransportError::Timeout(*kind, limit),
                    };
                    failure = Some(match failure {
                        None => error,
                        Some(before) => TransportError::Both(Box::new(before), Box::new(error)),
                    });
                }
            }
        }
        // A network may be another one by the next attempt.
        *self.last.lock() = None;
        Err(failure.unwrap_or(TransportError::Timeout(Kind::Quic, CONNECT_TIMEOUT)))
    }

    async fn connect_by(&self, kind: Kind, address: SocketAddr) -> Result<Connection, TransportError> {
        match kind {
            Kind::Quic => self.quic.connect(address).await,
            Kind::Tcp => self.tcp.connect(address).await,
        }
    }
}

/// Whether a host is given with its port; an IPv6 address alone is not.
pub(crate) fn has_port(host: &str) -> bool {
    match host.rsplit_once(':') {
        Some((before, port)) => {
            port.parse::<u16>().is_ok() && (!before.contains(':') || before.ends_with(']'))
        }
        None => false,
    }
}

/// Takes connections from edges, over both transports at one port.
pub struct Acceptor {
    address: SocketAddr,
    connections: mpsc::Receiver<Connection>,
    tasks: tokio::task::JoinSet<()>,
}

/// How often a port is looked for that is free for both, if it may be any.
const PORT_ATTEMPTS: u32 = 8;

/// Connections that have been made and not been taken yet.
const WAITING_MAX: usize = 64;

impl Acceptor {
    /// Listens at the address, by UDP and by TCP.
    ///
    /// # Errors
    /// [`TransportError`].
    pub async fn new(address: SocketAddr, keys: &Keys) -> Result<Acceptor, TransportError> {
        let (sender, connections) = mpsc::channel(WAITING_MAX);
        let mut attempt = 1;
        let (listener, quic, address) = loop {
            match Acceptor::bind(address, keys).await {
                // A port that TCP has given may be another's by UDP.
                Err(_) if address.port() == 0 && attempt < PORT_ATTEMPTS => attempt += 1,
                bound => break bound?,
            }
        };
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(quic::listen(quic, sender.clone()));
        tasks.spawn(tcp::listen(listener, tcp::server(keys)?, sender));
        Ok(Acceptor { address, connections, tasks })
    }

    /// Both sockets at one port.
    async fn bind(
        address: SocketAddr,
        keys: &Keys,
    ) -> Result<(tokio::net::TcpListener, quinn::Endpoint, SocketAddr), TransportError> {
        let failed = |error| TransportError::Network(Kind::Tcp, error);
        let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok((listener, quic::server(address, keys)?, address))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection; `None` when it listens no longer.
    pub async fn accept(&mut self) -> Option<Connection> {
        self.connections.recv().await
    }

    /// Listens no longer. Connections that were taken go on, except those of QUIC, whose socket is closed when they are.
    pub fn close(&mut self) {
        self.tasks.abort_all();
        self.connections.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_seen() {
        for (host, expected) in [
            ("db.example.com", false),
            ("db:4000", true),
            ("10.0.0.1", false),
            ("::1", false),
            ("[::1]:4000", true),
            ("db:port", false),
        ] {
            assert_eq!(has_port(host), expected, "{host}");
        }
    }
}
