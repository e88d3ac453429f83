//! TLS 1.3 over TCP: what passes where UDP does not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::connection::{CONNECT_TIMEOUT, Connection, Kind, TransportError};
use super::identity::{self, proved};
use super::quic::explained;
use crate::pairing::Keys;

/// What waits in the kernel can no longer be overtaken: that much beyond what the network takes at once.
const UNSENT_BYTES_MAX: u32 = 128 << 10;
const KEEPALIVE: Duration = Duration::from_secs(30);
const HANDSHAKES_MAX: usize = 64;
/// The origin says so when it has seen the edge's key and knows it.
const WELCOME: u8 = b'\n';

/// Makes connections.
pub(super) struct TcpDialer {
    connector: TlsConnector,
}

impl TcpDialer {
    pub(super) fn new(keys: &Keys) -> Result<TcpDialer, TransportError> {
        Ok(TcpDialer { connector: TlsConnector::from(Arc::new(identity::client(keys)?)) })
    }

    pub(super) async fn connect(&self, address: SocketAddr) -> Result<Connection, TransportError> {
        let network = |error| TransportError::Network(Kind::Tcp, error);
        let stream = TcpStream::connect(address).await.map_err(network)?;
        tune(&stream).map_err(network)?;
        let name =
            ServerName::try_from("farlink").map_err(|error| TransportError::Setup(error.to_string()))?;
        let mut stream = self.connector.connect(name, stream).await.map_err(security)?;
        // In TLS 1.3 the client is through before the server has looked at its key: wait for what the server thinks of it.
        let mut welcome = [0];
        stream.read_exact(&mut welcome).await.map_err(security)?;
        let peer = proved(stream.get_ref().1.peer_certificates(), Kind::Tcp)?;
        let (reader, writer) = tokio::io::split(stream);
        let (reader, writer) = (Box::new(reader), Box::new(writer));
        Ok(Connection { reader, writer, peer, address, kind: Kind::Tcp, keep: Box::new(()) })
    }
}

fn security(error: std::io::Error) -> TransportError {
    TransportError::Security(Kind::Tcp, explained(&error.to_string()))
}

fn tune(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
    Ok(())
}

pub(super) fn server(keys: &Keys) -> Result<TlsAcceptor, TransportError> {
    Ok(TlsAcceptor::from(Arc::new(identity::server(keys)?)))
}

pub(super) async fn listen(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    connections: mpsc::Sender<Connection>,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, for example: others may give some back.
                tracing::warn!("cannot take a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(permit) = handshakes.clone().try_acquire_owned() else { continue };
        let (acceptor, connections) = (acceptor.clone(), connections.clone());
        tokio::spawn(async move {
            match tokio::time::timeout(CONNECT_TIMEOUT, accept(acceptor, stream, address)).await {
                Ok(Ok(connection)) => {
                    drop(permit);
                    let _ = connections.send(connection).await;
                }
                Ok(Err(error)) => tracing::warn!("{address} was turned away: {error}"),
                Err(_) => tracing::debug!("{address} did not finish its handshake"),
            }
        });
    }
}

async fn accept(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    address: SocketAddr,
) -> Result<Connection, TransportError> {
    let network = |error| TransportError::Network(Kind::Tcp, error);
    tune(&stream).map_err(network)?;
    let mut stream = acceptor.accept(stream).await.map_err(security)?;
    let peer = proved(stream.get_ref().1.peer_certificates(), Kind::Tcp)?;
    stream.write_all(&[WELCOME]).await.map_err(network)?;
    stream.flush().await.map_err(network)?;
    let (reader, writer) = tokio::io::split(stream);
    let (reader, writer) = (Box::new(reader), Box::new(writer));
    Ok(Connection { reader, writer, peer, address, kind: Kind::Tcp, keep: Box::new(()) })
}
