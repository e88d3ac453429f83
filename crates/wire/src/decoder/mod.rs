//! Stream decoders: bytes cut anywhere in, whole packets out.
//!
//! Packets carry no length, so a decoder keeps what their ends depend on: the negotiated version and the formats
//! that earlier packets described. [`RequestDecoder`] serves a server, [`ReplyDecoder`] a client; a gateway has both.
//!
//! Promises: a packet comes out once it is whole, whatever the cuts; nothing is consumed before; a decoder that met
//! damage repeats its error; the buffer holds one packet of limited size plus what was fed behind it; what arrives in
//! many pieces is not read from its start with each of them where that would take long.
//! Uses [`crate::packet`]. Source: wire-protocol.md, 1.1, 7.5 and 8.

mod memory;
mod reply;
mod request;

pub use memory::DESCRIPTORS_MAX;
pub(crate) use memory::Memory;
pub use reply::{Answer, ReplyDecoder};
pub use request::RequestDecoder;

use crate::packet::Context;
use crate::protocol::ProtocolVersion;
use crate::xdr::{DecodeError, Reader, Stop};

/// Largest packet of a peer that has not logged in. The longest lawful one is an op_connect or op_attach of a few
/// kilobytes.
pub const PACKET_BYTES_MAX_BEFORE_LOGIN: usize = 64 * 1024;
/// Default for the largest packet after login: room for a full batch buffer of fbclient (16 MiB) as it travels.
pub const PACKET_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Sizes that a decoder accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest packet before login.
    pub packet_bytes_before_login: usize,
    /// Largest packet after login.
    pub packet_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { packet_bytes_before_login: PACKET_BYTES_MAX_BEFORE_LOGIN, packet_bytes: PACKET_BYTES_MAX }
    }
}

/// Bytes on their way to become packets.
#[derive(Debug)]
struct Stream {
    buffer: Vec<u8>,
    /// Bytes of the buffer already taken.
    taken: usize,
    version: ProtocolVersion,
    packet_bytes_max: usize,
    /// How many unread bytes the packet that has begun takes at least, if it has said so.
    demanded: usize,
    failure: Option<DecodeError>,
}

impl Stream {
    fn new(packet_bytes_max: usize) -> Stream {
        Stream {
            buffer: Vec::new(),
            taken: 0,
            // Until a version is agreed packets have the shape of the newest.
            version: ProtocolVersion::NEWEST,
            packet_bytes_max,
            demanded: 0,
            failure: None,
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.room().extend_from_slice(bytes);
    }

    /// The buffer, to append to.
    fn room(&mut self) -> &mut Vec<u8> {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        &mut self.buffer
    }

    fn release_memory(&mut self) {
        if self.unread().is_empty() {
            self.buffer = Vec::new();
            self.taken = 0;
        }
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.taken..).unwrap_or_default()
    }

    fn take_unread(&mut self) -> Vec<u8> {
        let unread = self.unread().to_vec();
        self.buffer.clear();
        self.taken = 0;
        self.demanded = 0;
        unread
    }

    /// Reads one packet, or none if it is not all here.
    fn next<P>(
        &mut self,
        memory: &mut Memory,
        read: impl FnOnce(&mut Reader<'_>, &mut Context<'_>) -> Result<P, Stop>,
    ) -> Result<Option<P>, DecodeError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let limit = self.packet_bytes_max;
        let unread = self.buffer.get(self.taken..).unwrap_or_default();
        if unread.is_empty() {
            return Ok(None);
        }
        if unread.len() < self.demanded && unread.len() <= limit {
            return Ok(None);
        }
        let mut reader = Reader::new(unread);
        let mut context = Context { version: self.version, string_bytes_max: limit, memory };
        match read(&mut reader, &mut context) {
            Ok(packet) => {
                self.taken += reader.offset();
                self.demanded = 0;
                Ok(Some(packet))
            }
            Err(Stop::NeedMore) if unread.len() <= limit => {
                self.demanded = reader.demanded();
                Ok(None)
            }
            Err(Stop::NeedMore) => {
                Err(self.fail(DecodeError::TooLong { offset: 0, length: self.unread().len(), limit }))
            }
            Err(Stop::Bad(error)) => Err(self.fail(error)),
        }
    }

    fn fail(&mut self, error: DecodeError) -> DecodeError {
        self.failure = Some(error);
        error
    }
}
