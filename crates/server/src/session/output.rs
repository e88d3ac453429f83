//! Replies on their way out: gathered, passed through the layers, written.
//!
//! Replies gather in a buffer. It goes out when a reply must not wait, when it is full, or with the next reply that
//! does: so deferred replies travel with their successors (wire-protocol.md, 8.3). It is written at once, by the thread
//! that works. What the socket does not take waits here; beyond [`UNWRITTEN_BYTES_MAX`] a session that produces faster
//! than its client reads waits as well.
//!
//! An origin of a farlink in this process takes replies itself, if it can ([`TakesReplies`]): no other thread must be woken for them.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use farbird_wire::counters::Counters;
use farbird_wire::crypt::Cipher;
use farbird_wire::layers::Outgoing;
use farbird_wire::packet::Reply;
use farbird_wire::protocol::ProtocolVersion;

use socket2::Socket;

use crate::connection_input::{self, ConnectionInput, Readiness};
use crate::farlink::TakesReplies;

/// Bytes after which the buffer goes out by itself.
pub(crate) const FLUSH_BYTES: usize = 32 << 10;
/// Bytes that may wait for a slow client before the session does.
const UNWRITTEN_BYTES_MAX: usize = 4 * FLUSH_BYTES;
/// How long a session waits for a slow client before it looks whether it is still of use.
const PATIENCE: Duration = Duration::from_millis(50);

/// Gathers replies. See the module's text.
pub(crate) struct Output {
    input: Arc<ConnectionInput>,
    /// There while a thread works for the connection.
    socket: Option<Arc<Socket>>,
    version: ProtocolVersion,
    layers: Outgoing,
    /// Encoded packets.
    buffer: Vec<u8>,
    packets: u64,
    sent_bytes: u64,
    /// Through the layers, not yet taken by the socket.
    unwritten: Vec<u8>,
    /// Bytes of `unwritten` that the socket has taken.
    written: usize,
    /// Who is offered replies before they are written, and how many bytes the socket has taken since the connection began.
    taker: Option<Arc<dyn TakesReplies>>,
    socket_bytes: u64,
    delay: Option<Duration>,
    closing: bool,
    broken: bool,
}

impl Output {
    /// The way out of a fresh connection.
    pub(crate) fn new(input: Arc<ConnectionInput>) -> Output {
        Output {
            input,
            socket: None,
            version: ProtocolVersion::NEWEST,
            layers: Outgoing::default(),
            buffer: Vec::new(),
            packets: 0,
            sent_bytes: 0,
            unwritten: Vec::new(),
            written: 0,
            taker: None,
            socket_bytes: 0,
            delay: None,
            closing: false,
            broken: false,
        }
    }

    /// From here what is flushed is written to this socket, which must not block.
    pub(crate) fn connect(&mut self, socket: Arc<Socket>) {
        self.socket = Some(socket);
    }

    /// From here what is flushed is offered to somebody before it is written.
    pub(crate) fn offer_to(&mut self, taker: Arc<dyn TakesReplies>) {
        self.taker = Some(taker);
    }

    /// Both ends of the socket, while a thread works: the server's, then the client's. `None` for a socket that is not of the network.
    ///
    /// # Errors
    /// The client has gone, or no thread works.
    pub(crate) fn addresses(&self) -> io::Result<Option<(SocketAddr, SocketAddr)>> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let Some(local) = socket.local_addr()?.as_socket() else { return Ok(None) };
        let peer = socket.peer_addr()?.as_socket().ok_or(io::ErrorKind::NotConnected)?;
        Ok(Some((local, peer)))
    }

    /// Gives the socket back, and memory that a resting connection does not need.
    pub(crate) fn rest(&mut self) {
        self.socket = None;
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
        if self.unwritten.is_empty() {
            self.unwritten = Vec::new();
        }
    }

    /// Whether the client has asked for something else meanwhile.
    pub(crate) fn is_input_waiting(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| self.input.is_input_waiting(socket))
    }

    /// What comes in from the same client.
    pub(crate) fn input(&self) -> &Arc<ConnectionInput> {
        &self.input
    }

    /// The counts of the connection, without what is in the buffer.
    pub(crate) fn counters(&self) -> Counters {
        *self.input.counters()
    }

    /// The protocol version.
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// The version is agreed.
    pub(crate) fn set_version(&mut self, version: ProtocolVersion) {
        self.version = version;
        self.input.set_version(version);
    }

    /// What goes out is compressed from here.
    pub(crate) fn compress(&mut self) {
        self.layers.compress();
    }

    /// What goes out is encrypted from here.
    pub(crate) fn encrypt(&mut self, cipher: Cipher) {
        self.layers.encrypt(cipher);
    }

    /// What follows is sent only after this time: a failed login. Nobody waits for it in a thread.
    pub(crate) fn delay(&mut self, delay: Duration) {
        self.delay = Some(delay).filter(|delay| !delay.is_zero());
    }

    /// The time before which nothing more may be written, once.
    pub(crate) fn take_delay(&mut self) -> Option<Duration> {
        self.delay.take()
    }

    /// Nothing more will come: send what there is, then close.
    pub(crate) fn close(&mut self) {
        self.flush();
        self.closing = true;
    }

    /// Whether the connection is to be closed.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Adds a reply. It stays in the buffer until [`Output::flush`].
    pub(crate) fn reply(&mut self, reply: &Reply) {
        reply.encode(self.version, &mut self.buffer);
        self.packets += 1;
        self.flush_if_full();
    }

    /// Adds packets that `encode` appends to the buffer; it says how many they are. On an error the buffer must be as
    /// before.
    pub(crate) fn encode<E>(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> Result<u64, E>) -> Result<(), E> {
        self.packets += encode(&mut self.buffer)?;
        self.flush_if_full();
        Ok(())
    }

    /// Bytes until the buffer goes out by itself.
    pub(crate) fn room(&self) -> usize {
        FLUSH_BYTES.saturating_sub(self.buffer.len())
    }

    /// Sends what is in the buffer.
    pub(crate) fn flush(&mut self) {
        let packets = std::mem::take(&mut self.packets);
        if self.buffer.is_empty() {
            return;
        }
        self.sent_bytes += self.buffer.len() as u64;
        self.broken |= self.input.is_abandoned();
        if !self.broken {
            self.send(packets);
        }
        self.buffer.clear();
    }

    /// Takes the buffer through the layers and to the socket.
    fn send(&mut self, packets: u64) {
        let passed = {
            let counters = &mut *self.input.counters();
            counters.packets_out(packets);
            self.layers.send_in_place(&mut self.buffer, counters)
        };
        if let Err(error) = passed {
            tracing::warn!(%error, "nothing more can be sent on this connection");
            self.broken = true;
            return;
        }
        if self.is_taken() {
            return;
        }
        if self.unwritten.is_empty() {
            std::mem::swap(&mut self.unwritten, &mut self.buffer);
        } else {
            self.unwritten.extend_from_slice(&self.buffer);
        }
        let Some(socket) = self.socket.clone() else { return };
        if self.delay.is_some() {
            return;
        }
        self.write_to(&socket);
        while self.unwritten_bytes() > UNWRITTEN_BYTES_MAX && !self.broken {
            if connection_input::wait(&*socket, Readiness::Writable, PATIENCE) {
                self.write_to(&socket);
            }
            self.broken |= self.input.is_abandoned();
        }
    }

    /// Offers what has passed the layers to who takes replies, if there is nobody before it.
    fn is_taken(&mut self) -> bool {
        let Some(taker) = &self.taker else { return false };
        let is_next = self.unwritten.is_empty() && self.delay.is_none() && self.socket.is_some();
        if !is_next || !taker.take(self.socket_bytes, &mut self.buffer) {
            return false;
        }
        self.input.counters().sent(self.buffer.len());
        true
    }

    /// Writes what the socket takes without waiting.
    pub(crate) fn write_to(&mut self, mut socket: &Socket) {
        while let Some(bytes) = self.unwritten.get(self.written..).filter(|bytes| !bytes.is_empty()) {
            match socket.write(bytes) {
                Ok(count) => {
                    self.input.counters().sent(count);
                    self.written += count;
                    self.socket_bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    tracing::debug!(%error, "a connection cannot be written to");
                    self.broken = true;
                    break;
                }
            }
        }
        if self.written >= self.unwritten.len() || self.broken {
            self.unwritten.clear();
            self.written = 0;
        }
    }

    /// Whether the socket has to take more.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.unwritten_bytes() > 0
    }

    fn unwritten_bytes(&self) -> usize {
        self.unwritten.len() - self.written
    }

    /// Bytes handed to the connection so far.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Whether the connection has gone: producing more is of no use.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    fn flush_if_full(&mut self) {
        if self.buffer.len() >= FLUSH_BYTES {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::atomic::{AtomicBool, Ordering};

    use farbird_wire::packet::Response;

    use super::*;

    /// Takes replies, or does not, and says what was told of those before.
    #[derive(Default)]
    struct Desk {
        is_open: AtomicBool,
        told: parking_lot::Mutex<Vec<(u64, usize)>>,
    }

    impl TakesReplies for Desk {
        fn take(&self, before: u64, bytes: &mut [u8]) -> bool {
            self.told.lock().push((before, bytes.len()));
            self.is_open.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn what_nobody_takes_goes_through_the_socket_and_is_counted() {
        let mut output = Output::new(Arc::new(ConnectionInput::new()));
        let (inside, mut outside) = std::os::unix::net::UnixStream::pair().unwrap();
        inside.set_nonblocking(true).unwrap();
        let desk = Arc::new(Desk::default());
        output.offer_to(desk.clone());
        output.connect(Arc::new(inside.into()));
        let reply = Reply::Response(Response::success());
        let mut packet = Vec::new();
        reply.encode(output.version(), &mut packet);
        for is_open in [true, false, true, false] {
            desk.is_open.store(is_open, Ordering::Relaxed);
            output.reply(&reply);
            output.flush();
        }
        // An answer that is held back is nobody's yet.
        output.delay(Duration::from_secs(1));
        output.reply(&reply);
        output.flush();
        let length = packet.len();
        let one = length as u64;
        assert_eq!(*desk.told.lock(), [(0, length), (0, length), (one, length), (one, length)]);
        let mut written = vec![0; 2 * length];
        outside.read_exact(&mut written).unwrap();
        assert_eq!(written, [&packet[..], &packet[..]].concat());
        assert!(output.has_unwritten());
    }

    #[test]
    fn a_client_that_has_gone_is_not_taken_for_one_inside() {
        let mut output = Output::new(Arc::new(ConnectionInput::new()));
        assert!(output.addresses().is_err());
        let (inside, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        output.connect(Arc::new(inside.into()));
        assert_eq!(output.addresses().unwrap(), None);
        // A socket of the network that has no client.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(address).unwrap();
        let ends = Some((client.local_addr().unwrap(), address));
        output.connect(Arc::new(client.into()));
        assert_eq!(output.addresses().unwrap(), ends);
        output.connect(Arc::new(listener.into()));
        assert!(output.addresses().is_err());
    }
}
