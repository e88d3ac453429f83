//! A connection's socket while the runtime watches it.
//!
//! The runtime has a type for each family of sockets; threads that work have `socket2::Socket`, which is any of them. Knows no protocol.

use std::io;

use socket2::{SockRef, Socket};
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

/// The family of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// TCP.
    Network,
    /// A pair of Unix sockets, whose other end is in this process.
    Inside,
}

/// A socket that the runtime watches.
pub(crate) enum AsyncSocket {
    Network(TcpStream),
    Inside(UnixStream),
}

impl AsyncSocket {
    /// Has the runtime watch a socket of this family, which must not block.
    ///
    /// # Errors
    /// The runtime cannot watch it.
    pub(crate) fn new(socket: Socket, family: Family) -> io::Result<AsyncSocket> {
        Ok(match family {
            Family::Network => AsyncSocket::Network(TcpStream::from_std(socket.into())?),
            Family::Inside => AsyncSocket::Inside(UnixStream::from_std(socket.into())?),
        })
    }

    /// Has the runtime watch it no more.
    ///
    /// # Errors
    /// The runtime does not let go of it.
    pub(crate) fn into_socket(self) -> io::Result<Socket> {
        Ok(match self {
            AsyncSocket::Network(stream) => stream.into_std()?.into(),
            AsyncSocket::Inside(stream) => stream.into_std()?.into(),
        })
    }

    pub(crate) fn family(&self) -> Family {
        match self {
            AsyncSocket::Network(_) => Family::Network,
            AsyncSocket::Inside(_) => Family::Inside,
        }
    }

    /// Waits until there is something to read, or the end.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            AsyncSocket::Network(stream) => stream.readable().await,
            AsyncSocket::Inside(stream) => stream.readable().await,
        }
    }

    /// Waits until there is room to write, or nobody who reads.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            AsyncSocket::Network(stream) => stream.writable().await,
            AsyncSocket::Inside(stream) => stream.writable().await,
        }
    }

    /// Reads or writes by `step` if the socket is said to be ready; `WouldBlock` of `step` says that it was not.
    pub(crate) fn try_io(
        &self,
        interest: Interest,
        step: impl FnOnce(&Socket) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            AsyncSocket::Network(stream) => stream.try_io(interest, || step(&SockRef::from(stream))),
            AsyncSocket::Inside(stream) => stream.try_io(interest, || step(&SockRef::from(stream))),
        }
    }
}
