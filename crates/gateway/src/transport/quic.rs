//! QUIC: no connection of one program waits for another's lost packet longer than the link itself does, and a changed network
//! (another Wi-Fi) need not end the connection.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use quinn::congestion::CubicConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, Incoming, SendStream,
    ServerConfig, TransportConfig, VarInt,
};
use ring::hmac;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};

use super::connection::{CONNECT_TIMEOUT, Connection, Kind, TransportError};
use super::identity::{self, proved};
use crate::pairing::Keys;

/// What may be under way in each direction: 1 Gbit/s over 200 ms, and then some.
const WINDOW_BYTES: u32 = 32 << 20;
/// What may be under way before anything is known of the line: 32 datagrams, as the servers of the web's large networks begin.
const FIRST_WINDOW_BYTES: u64 = 32 * 1_200;
/// What waits in the stream beyond what the line takes can no longer be overtaken. So much may: a stream that runs dry, for its task has
/// not had the processor in time, keeps its window from growing.
const UNSENT_BYTES: u64 = 1 << 20;
/// The link's own pings say when a connection is lost; this is for one that nobody looks after.
const IDLE: Duration = Duration::from_secs(60);
/// Handshakes at a time: strangers can have no more of the processor.
const HANDSHAKES_MAX: usize = 64;
/// Length of this end's names of connections.
const CONNECTION_ID_BYTES: usize = 8;
/// A stream's first byte: the one who opens it must send something for the other to see it.
const OPENED: u8 = b'\n';

fn transport() -> Arc<TransportConfig> {
    let mut congestion = CubicConfig::default();
    congestion.initial_window(FIRST_WINDOW_BYTES);
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(Arc::new(congestion))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES))
        .max_idle_timeout(IDLE.try_into().ok());
    Arc::new(config)
}

/// Makes connections.
pub(super) struct QuicDialer {
    config: ClientConfig,
}

impl QuicDialer {
    pub(super) fn new(keys: &Keys) -> Result<QuicDialer, TransportError> {
        let tls = QuicClientConfig::try_from(identity::client(keys)?);
        let mut config =
            ClientConfig::new(Arc::new(tls.map_err(|error| TransportError::Setup(error.to_string()))?));
        config.transport_config(transport());
        Ok(QuicDialer { config })
    }

    pub(super) async fn connect(&self, address: SocketAddr) -> Result<Connection, TransportError> {
        let any = match address {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let network = |error| TransportError::Network(Kind::Quic, error);
        // A socket for each connection: the one before may belong to a network that is gone.
        let endpoint = Endpoint::client(any).map_err(network)?;
        let connecting = endpoint
            .connect_with(self.config.clone(), address, "farlink")
            .map_err(|error| TransportError::Setup(error.to_string()))?;
        let connection = connecting.await.map_err(security)?;
        let (mut writer, mut reader) = connection.open_bi().await.map_err(security)?;
        writer.write_all(&[OPENED]).await.map_err(|error| network(error.into()))?;
        // The origin answers when it has seen this end's key and knows it: only now is the connection one.
        let mut opened = [0];
        reader.read_exact(&mut opened).await.map_err(|_| closed(&connection))?;
        let peer = proved(shown(&connection).as_deref(), Kind::Quic)?;
        let writer = Writer { stream: writer, connection: connection.clone() };
        Ok(Connection {
            reader: Box::new(reader),
            writer: Box::new(writer),
            peer,
            address,
            kind: Kind::Quic,
            keep: Box::new((connection, endpoint)),
        })
    }
}

fn security(error: quinn::ConnectionError) -> TransportError {
    TransportError::Security(Kind::Quic, explained(&error.to_string()))
}

fn closed(connection: &quinn::Connection) -> TransportError {
    match connection.close_reason() {
        Some(reason) => security(reason),
        None => TransportError::Security(Kind::Quic, "the peer has closed the connection".to_owned()),
    }
}

/// What both transports say when keys are not accepted.
pub(super) fn explained(error: &str) -> String {
    let hints = ["certificate", "Certificate", "ApplicationVerificationFailure", "AccessDenied"];
    if hints.iter().any(|hint| error.contains(hint)) {
        format!(
            "the ends are not paired with each other, or one has revoked the other (`farbird pair --list` at both): {error}"
        )
    } else {
        error.to_owned()
    }
}

fn shown(connection: &quinn::Connection) -> Option<Vec<CertificateDer<'static>>> {
    connection.peer_identity()?.downcast().ok().map(|shown| *shown)
}

pub(super) fn server(address: SocketAddr, keys: &Keys) -> Result<Endpoint, TransportError> {
    let tls = QuicServerConfig::try_from(identity::server(keys)?);
    let tls = tls.map_err(|error| TransportError::Setup(error.to_string()))?;
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(transport());
    let network = |error| TransportError::Network(Kind::Quic, error);
    let runtime = quinn::default_runtime()
        .ok_or_else(|| TransportError::Setup("there is no asynchronous runtime".to_owned()))?;
    let socket = std::net::UdpSocket::bind(address).map_err(network)?;
    Endpoint::new(endpoint(keys), Some(config), socket, runtime).map_err(network)
}

/// An endpoint that tells edges of connections that a process before it had: they hear at once that those are gone. Who could forge
/// that would have to know the private key.
fn endpoint(keys: &Keys) -> EndpointConfig {
    let secret = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, keys.pkcs8()), b"farlink stateless reset");
    let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref())));
    config.cid_generator(|| Box::new(AnyConnectionId));
    config
}

/// Connection identifiers of which none is too strange to be answered: it may be of a process before this one.
#[derive(Debug)]
struct AnyConnectionId;

impl ConnectionIdGenerator for AnyConnectionId {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; CONNECTION_ID_BYTES];
        // Without random numbers there would be no handshake either.
        let _ = getrandom::fill(&mut bytes);
        ConnectionId::new(&bytes)
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

pub(super) async fn listen(endpoint: Endpoint, connections: mpsc::Sender<Connection>) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    while let Some(incoming) = endpoint.accept().await {
        let Ok(permit) = handshakes.clone().try_acquire_owned() else {
            incoming.refuse();
            continue;
        };
        let connections = connections.clone();
        tokio::spawn(async move {
            let address = incoming.remote_address();
            match tokio::time::timeout(CONNECT_TIMEOUT, accept(incoming)).await {
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

async fn accept(incoming: Incoming) -> Result<Connection, TransportError> {
    let address = incoming.remote_address();
    let connection = incoming.await.map_err(security)?;
    let peer = proved(shown(&connection).as_deref(), Kind::Quic)?;
    let (mut writer, mut reader) = connection.accept_bi().await.map_err(security)?;
    let mut opened = [0];
    reader.read_exact(&mut opened).await.map_err(|_| closed(&connection))?;
    writer.write_all(&[OPENED]).await.map_err(|_| closed(&connection))?;
    writer.flush().await.map_err(|error| TransportError::Network(Kind::Quic, error))?;
    let writer = Writer { stream: writer, connection: connection.clone() };
    let (reader, writer) = (Box::new(reader), Box::new(writer));
    Ok(Connection { reader, writer, peer, address, kind: Kind::Quic, keep: Box::new(connection) })
}

/// The way out, that takes no more than the line will soon: what the stream has taken nothing can overtake.
struct Writer {
    stream: SendStream,
    connection: quinn::Connection,
}

impl AsyncWrite for Writer {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // What is sent behind a lost datagram stays until that has come the second time, two round trips later; and there is always
        // something to send when the window grows.
        let window = 3 * self.connection.stats().path.cwnd + UNSENT_BYTES;
        self.connection.set_send_window(window.min(u64::from(WINDOW_BYTES)));
        AsyncWrite::poll_write(Pin::new(&mut self.stream), context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.stream), context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.stream), context)
    }
}
