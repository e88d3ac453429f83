//! The server's decoder.

use super::{Limits, Memory, Stream};
use crate::message::parse_message_formats;
use crate::packet::Request;
use crate::protocol::{Handle, ProtocolVersion};
use crate::xdr::DecodeError;

/// Turns what a client sends into requests.
///
/// The server tells it: the version it chose ([`RequestDecoder::set_version`]), that the login succeeded
/// ([`RequestDecoder::authenticated`]), and which handles it gave to statements and requests. All of these come
/// before the reply that tells the client.
#[derive(Debug)]
pub struct RequestDecoder {
    stream: Stream,
    memory: Memory,
    limits: Limits,
}

impl RequestDecoder {
    /// A decoder at the start of a connection.
    pub fn new(limits: Limits) -> RequestDecoder {
        RequestDecoder {
            stream: Stream::new(limits.packet_bytes_before_login),
            memory: Memory::default(),
            limits,
        }
    }

    /// Adds bytes from the client. Call [`RequestDecoder::next_request`] until it gives none before feeding more:
    /// then the buffer stays within one packet and one feed.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.stream.feed(bytes);
    }

    /// As [`RequestDecoder::feed`] with the bytes that `append` adds to the buffer: a layer decrypts straight into it.
    ///
    /// # Errors
    /// Those of `append`; what it added until then counts as fed.
    pub fn feed_by<E>(&mut self, append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        append(self.stream.room())
    }

    /// Gives back the buffer's memory if no packet has begun.
    pub fn release_memory(&mut self) {
        self.stream.release_memory();
    }

    /// The next request; `None` if it is not all here.
    ///
    /// # Errors
    /// The client broke the protocol, for good: the same error comes again.
    pub fn next_request(&mut self) -> Result<Option<Request>, DecodeError> {
        let request = self.stream.next(&mut self.memory, Request::read)?;
        if let Some(request) = &request {
            self.memory.note(request).map_err(|error| self.stream.fail(error))?;
        }
        Ok(request)
    }

    /// Bytes fed and not yet part of a request.
    pub fn unread(&self) -> &[u8] {
        self.stream.unread()
    }

    /// Takes the bytes not yet part of a request: after op_crypt, or an accept with compression, they belong to
    /// the new layer.
    pub fn take_unread(&mut self) -> Vec<u8> {
        self.stream.take_unread()
    }

    /// The version that the server chose.
    pub fn set_version(&mut self, version: ProtocolVersion) {
        self.stream.version = version;
    }

    /// The version that packets are read by.
    pub fn version(&self) -> ProtocolVersion {
        self.stream.version
    }

    /// The client has logged in: larger packets are welcome.
    pub fn authenticated(&mut self) {
        self.stream.packet_bytes_max = self.limits.packet_bytes;
    }

    /// A statement was given this handle; what another statement of this handle described is forgotten.
    pub fn statement_allocated(&mut self, statement: Handle) {
        self.memory.forget_statement(statement);
    }

    /// A BLR request was given this handle; messages sent to it follow the formats in its BLR.
    ///
    /// # Errors
    /// [`DecodeError`] if the message clauses of the BLR cannot be understood.
    pub fn request_compiled(&mut self, request: Handle, blr: &[u8]) -> Result<(), DecodeError> {
        self.memory.set_request(request, parse_message_formats(blr)?)
    }
}
