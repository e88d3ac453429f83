//! The second connection of a client, on which events come.
//!
//! The server listens for it on a port of its own, on the address that the client knows; it closes that port when the client
//! has come, or after the time that a login may take. Who comes from another address than the first connection's is sent
//! away. Only the server says anything on it, in plain, as the protocol has it.
//! Source: wire-protocol.md, 6.12.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use farbird_types::{Error, Result, isc};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::timeout;

/// Bytes that may wait for a client that does not read; with more the connection is given up.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// How long a client may take nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Where and how the server listens for second connections.
#[derive(Clone)]
pub(crate) struct EventsPort {
    /// 0: any port.
    port: u16,
    /// Where programs on this machine reach the server.
    near: SocketAddr,
    /// How long a client may take to come.
    patience: Duration,
    /// The right to wait for a second connection, where all come to one port.
    turn: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl EventsPort {
    /// `stopping` turns true when the server is asked to stop.
    pub(crate) fn new(
        port: u16,
        near: SocketAddr,
        patience: Duration,
        stopping: watch::Receiver<bool>,
    ) -> EventsPort {
        EventsPort { port, near, patience, turn: Arc::new(Semaphore::new(1)), stopping }
    }

    /// Where programs on this machine reach the server, and come from.
    pub(crate) fn near(&self) -> SocketAddr {
        self.near
    }
}

/// A second connection, which may still have to come. It is closed, or no longer awaited, when this is dropped.
pub(crate) struct Auxiliary {
    packets: Packets,
    /// Told when this is dropped.
    _end: oneshot::Sender<()>,
}

/// The way to a second connection.
#[derive(Clone)]
pub(crate) struct Packets {
    sender: UnboundedSender<Vec<u8>>,
    /// Bytes not yet written.
    waiting: Arc<AtomicUsize>,
}

impl Auxiliary {
    /// Listens on the address at which the client has reached the server; gives where. Blocks while another client's
    /// second connection is awaited on the same port, if the port is a fixed one. Needs a thread of tokio's that may block.
    ///
    /// # Errors
    /// `isc_net_event_listen_err`.
    pub(crate) fn offer(
        port: &EventsPort,
        local: SocketAddr,
        peer: IpAddr,
    ) -> Result<(Auxiliary, SocketAddr)> {
        let runtime = tokio::runtime::Handle::current();
        let EventsPort { port, near: _, patience, turn, mut stopping } = port.clone();
        let turn = match port {
            0 => None,
            _ => {
                let turn = async {
                    tokio::select! {
                        turn = timeout(patience, turn.acquire_owned()) => turn.ok()?.ok(),
                        _ = stopping.wait_for(|stopping| *stopping) => None,
                    }
                };
                let turn = runtime.block_on(turn);
                Some(turn.ok_or_else(|| listen_error("the port for events is in use"))?)
            }
        };
        let listener = TcpListener::bind(SocketAddr::new(local.ip(), port));
        let (listener, address) = listener
            .and_then(|listener| {
                let address = listener.local_addr()?;
                listener.set_nonblocking(true)?;
                Ok((listener, address))
            })
            .map_err(|error| listen_error(&error.to_string()))?;
        let (sender, receiver) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let packets = Packets { sender, waiting: Arc::default() };
        let awaited = Awaited { listener, peer, patience, turn, ended, stopping };
        runtime.spawn(serve(awaited, receiver, Arc::clone(&packets.waiting)));
        Ok((Auxiliary { packets, _end: end }, address))
    }

    /// Whether it has ended, the client has not come in time, or does not read: what it is told waits here meanwhile.
    pub(crate) fn is_over(&self) -> bool {
        let waiting = self.packets.waiting.load(Ordering::Relaxed);
        self.packets.sender.is_closed() || waiting > WAITING_BYTES_MAX
    }

    pub(crate) fn packets(&self) -> Packets {
        self.packets.clone()
    }
}

impl Packets {
    /// Sends a packet, if the connection is still there.
    pub(crate) fn send(&self, packet: Vec<u8>) {
        self.waiting.fetch_add(packet.len(), Ordering::Relaxed);
        // Where nobody takes it the connection is over, which the next wait is told.
        let _ = self.sender.send(packet);
    }
}

/// What a second connection waits for.
struct Awaited {
    listener: TcpListener,
    peer: IpAddr,
    patience: Duration,
    /// The right to use the port, if there is one for all.
    turn: Option<OwnedSemaphorePermit>,
    ended: oneshot::Receiver<()>,
    stopping: watch::Receiver<bool>,
}

async fn serve(awaited: Awaited, packets: UnboundedReceiver<Vec<u8>>, waiting: Arc<AtomicUsize>) {
    let Awaited { listener, peer, patience, turn, ended, mut stopping } = awaited;
    let work = async {
        let accepted = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => timeout(patience, accept_from(&listener, peer)).await,
            Err(error) => Ok(Err(error)),
        };
        drop(turn);
        match accepted {
            Ok(Ok(stream)) => write_all(stream, packets, &waiting).await,
            Ok(Err(error)) => tracing::warn!(%peer, %error, "a connection for events cannot be accepted"),
            Err(_) => tracing::warn!(%peer, "a connection for events was asked for and did not come"),
        }
    };
    tokio::select! {
        () = work => {}
        // Nothing is ever sent: the other end is dropped.
        _ = ended => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
}

/// Waits for a connection from the client's own address.
async fn accept_from(listener: &tokio::net::TcpListener, peer: IpAddr) -> std::io::Result<TcpStream> {
    loop {
        let (stream, from) = listener.accept().await?;
        if from.ip().to_canonical() == peer.to_canonical() {
            return Ok(stream);
        }
        tracing::warn!(%from, %peer, "a connection for events came from another address than its client's");
    }
}

/// Writes packets until the session drops its end or the client closes the connection, does not read, or is too slow.
async fn write_all(mut stream: TcpStream, mut packets: UnboundedReceiver<Vec<u8>>, waiting: &AtomicUsize) {
    let (mut input, mut output) = stream.split();
    let mut ignored = [0; 256];
    loop {
        tokio::select! {
            read = input.read(&mut ignored) => if !read.is_ok_and(|count| count > 0) { return },
            packet = packets.recv() => {
                let Some(packet) = packet else { return };
                let is_slow = waiting.fetch_sub(packet.len(), Ordering::Relaxed) > WAITING_BYTES_MAX;
                let written = timeout(WRITE_TIMEOUT, output.write_all(&packet)).await;
                if is_slow || !matches!(written, Ok(Ok(()))) {
                    tracing::warn!("a connection for events is closed: its client does not read");
                    return;
                }
            }
        }
    }
}

fn listen_error(why: &str) -> Error {
    Error::new(isc::NET_EVENT_LISTEN_ERR).and(isc::RANDOM).with(why)
}
