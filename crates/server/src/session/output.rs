//! What a session hands to its connection while it works: bytes to send, and changes of the line's state, in order.
//!
//! Replies gather in a buffer. It goes out when a reply must not wait, when it is full, or with the next reply that
//! does: so deferred replies travel with their successors (wire-protocol.md, 8.3). The way out is bounded: a session
//! that produces faster than its client reads waits here.

use std::sync::Arc;
use std::time::Duration;

use farbird_engine::session::Interrupt;
use farbird_wire::crypt::Cipher;
use farbird_wire::packet::Reply;
use farbird_wire::protocol::{Handle, ProtocolVersion};
use tokio::sync::mpsc;

/// Bytes after which the buffer goes out by itself.
pub(crate) const FLUSH_BYTES: usize = 32 << 10;

/// What comes out of a session, in order.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Bytes to send, and how many packets they are.
    Send {
        /// Encoded packets.
        bytes: Vec<u8>,
        /// Their number, for the wire statistics.
        packets: u64,
    },
    /// Something about the line changes, between the bytes before and those after.
    Change(Change),
}

/// A change of the line's state.
pub(crate) enum Change {
    /// Packets follow this version.
    Version(ProtocolVersion),
    /// The peer has logged in: it may send larger packets and take its time.
    LoggedIn,
    /// What comes in is compressed from here.
    CompressIncoming,
    /// What goes out is compressed from here.
    CompressOutgoing,
    /// Everything from here is encrypted: what comes in, what goes out.
    Encrypt(Box<(Cipher, Cipher)>),
    /// A database is attached: this stops what it runs.
    Attached(Arc<Interrupt>),
    /// A statement has this handle.
    StatementAllocated(Handle),
    /// What follows is sent only after this time: a failed login.
    Delay(Duration),
    /// Nothing more will come: send what there is, then close.
    Close,
}

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Change::Version(_) => "Version",
            Change::LoggedIn => "LoggedIn",
            Change::CompressIncoming => "CompressIncoming",
            Change::CompressOutgoing => "CompressOutgoing",
            Change::Encrypt(_) => "Encrypt",
            Change::Attached(_) => "Attached",
            Change::StatementAllocated(_) => "StatementAllocated",
            Change::Delay(_) => "Delay",
            Change::Close => "Close",
        })
    }
}

/// Gathers replies. See the module's text.
pub(crate) struct Output {
    version: ProtocolVersion,
    buffer: Vec<u8>,
    packets: u64,
    sent_bytes: u64,
    sender: Option<mpsc::Sender<Outcome>>,
    broken: bool,
}

impl Output {
    /// An output that is connected later.
    pub(crate) fn new() -> Output {
        let version = ProtocolVersion::NEWEST;
        Output { version, buffer: Vec::new(), packets: 0, sent_bytes: 0, sender: None, broken: false }
    }

    /// The way out for the requests that follow.
    pub(crate) fn connect(&mut self, sender: mpsc::Sender<Outcome>) {
        self.sender = Some(sender);
    }

    /// Takes the way out away, so that the connection sees its end.
    pub(crate) fn disconnect(&mut self) {
        self.sender = None;
    }

    /// The protocol version.
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// The version is agreed.
    pub(crate) fn set_version(&mut self, version: ProtocolVersion) {
        self.version = version;
        self.change(Change::Version(version));
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

    /// Tells of a change that does not depend on what is in the buffer.
    pub(crate) fn change(&mut self, change: Change) {
        self.send(Outcome::Change(change));
    }

    /// Sends what is in the buffer, then changes the line.
    pub(crate) fn flush_and_change(&mut self, change: Change) {
        self.flush();
        self.change(change);
    }

    /// Sends what is in the buffer.
    pub(crate) fn flush(&mut self) {
        if !self.buffer.is_empty() {
            let bytes = std::mem::take(&mut self.buffer);
            let packets = std::mem::take(&mut self.packets);
            self.sent_bytes += bytes.len() as u64;
            self.send(Outcome::Send { bytes, packets });
        }
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

    fn send(&mut self, outcome: Outcome) {
        let sent = self.sender.as_ref().is_some_and(|sender| sender.blocking_send(outcome).is_ok());
        self.broken |= !sent;
    }
}
