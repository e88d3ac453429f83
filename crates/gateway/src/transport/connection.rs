//! A connection whose other end has proved who it is, and why there is none: what both transports give.

use std::any::Any;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::pairing::{PairingError, PublicKey};

/// The protocol inside TLS (ALPN).
pub(super) const PROTOCOL: &[u8] = b"farlink";
/// How long a connection may take to be made.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a connection runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// QUIC.
    Quic,
    /// TLS over TCP.
    Tcp,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Quic => "QUIC",
            Kind::Tcp => "TCP",
        })
    }
}

/// A connection whose other end has proved who it is.
pub struct Connection {
    /// Bytes from there.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Bytes to there.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Who it is.
    pub peer: PublicKey,
    /// Where it is.
    pub address: SocketAddr,
    /// What the connection runs over.
    pub kind: Kind,
    /// What must live as long.
    pub(super) keep: Box<dyn Any + Send>,
}

impl Connection {
    /// Keeps what the connection stands on until the halves are done with.
    pub(crate) fn split(self) -> (BoxedReader, BoxedWriter, Box<dyn Any + Send>) {
        (self.reader, self.writer, self.keep)
    }
}

type BoxedReader = Box<dyn AsyncRead + Send + Unpin>;
type BoxedWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The name of the origin leads nowhere.
    #[error("cannot find {0}: {1}")]
    Address(String, std::io::Error),
    /// The network says no.
    #[error("{0}: {1}")]
    Network(Kind, std::io::Error),
    /// The other end is not who it should be, or does not take this end for who it should be.
    #[error("{0}: {1}")]
    Security(Kind, String),
    /// No answer.
    #[error("{0}: no answer within {seconds} s", seconds = .1.as_secs())]
    Timeout(Kind, Duration),
    /// Neither way.
    #[error("{0}; {1}")]
    Both(Box<TransportError>, Box<TransportError>),
    /// The keys cannot be used.
    #[error(transparent)]
    Keys(#[from] PairingError),
    /// The cryptography does not work.
    #[error("the cryptography cannot be set up: {0}")]
    Setup(String),
}
