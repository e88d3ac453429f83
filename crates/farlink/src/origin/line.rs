//! The bytes to and from the server: packets, compression, encryption.
//!
//! Promises: nothing is reserved by what the server says; what it breaks is an error once and for all.

use farbird_wire::counters::Counters;
use farbird_wire::crypt::Cipher;
use farbird_wire::decoder::{Answer, Limits as DecoderLimits, ReplyDecoder};
use farbird_wire::layers::{Incoming, LayerError, Outgoing};
use farbird_wire::message::{RowRun, RunLimits};
use farbird_wire::packet::Request;
use farbird_wire::protocol::ProtocolVersion;
use farbird_wire::xdr::DecodeError;

/// What came next from the server.
#[derive(Debug)]
pub(super) enum Came {
    /// Rows of the op_fetch whose turn it is.
    Rows(RowRun),
    /// A packet.
    Packet(Answer),
}

/// The line to the server.
#[derive(Debug)]
pub(super) struct Line {
    incoming: Incoming,
    outgoing: Outgoing,
    counters: Counters,
    replies: ReplyDecoder,
    /// Packets that have not passed the layers.
    plain: Vec<u8>,
    output: Vec<u8>,
}

impl Line {
    pub(super) fn new(packet_bytes: usize) -> Line {
        let limits = DecoderLimits { packet_bytes, ..DecoderLimits::default() };
        Line {
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            counters: Counters::default(),
            replies: ReplyDecoder::new(limits),
            plain: Vec::new(),
            output: Vec::new(),
        }
    }

    /// Sends a request, in the server's handles.
    pub(super) fn send(&mut self, request: &Request) -> Result<(), DecodeError> {
        self.replies.expect(request)?;
        request.encode(self.replies.version(), &mut self.plain);
        Ok(())
    }

    /// What is to be written to the server.
    pub(super) fn take_output(&mut self) -> Result<Vec<u8>, LayerError> {
        self.flush()?;
        Ok(std::mem::take(&mut self.output))
    }

    /// Whether there is something to be written.
    pub(super) fn has_output(&self) -> bool {
        !self.plain.is_empty() || !self.output.is_empty()
    }

    /// Encrypts what is sent behind what was sent, and decrypts what comes behind what has come.
    pub(super) fn encrypt(&mut self, incoming: Cipher, outgoing: Cipher) -> Result<(), LayerError> {
        self.flush()?;
        self.outgoing.encrypt(outgoing);
        self.incoming.encrypt(incoming);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        if self.plain.is_empty() {
            return Ok(());
        }
        let plain = std::mem::take(&mut self.plain);
        self.outgoing.send(&plain, &mut self.counters, &mut self.output)
    }

    /// Takes the bytes of one read.
    pub(super) fn receive(&mut self, bytes: &mut [u8]) -> Result<(), LayerError> {
        let Line { incoming, counters, replies, .. } = self;
        replies.feed_by(|buffer| incoming.receive(bytes, counters, buffer))
    }

    /// More of what was received, if there is more.
    pub(super) fn receive_more(&mut self) -> Result<bool, LayerError> {
        if !self.incoming.has_more() {
            return Ok(false);
        }
        let Line { incoming, counters, replies, .. } = self;
        replies.feed_by(|buffer| incoming.receive_more(counters, buffer))?;
        Ok(true)
    }

    /// What comes next; `None` if it is not all here.
    pub(super) fn next(&mut self, limits: RunLimits) -> Result<Option<Came>, DecodeError> {
        if let Some(run) = self.replies.next_run(limits)? {
            return Ok(Some(Came::Rows(run)));
        }
        Ok(self.replies.next_reply()?.map(Came::Packet))
    }

    pub(super) fn version(&self) -> ProtocolVersion {
        self.replies.version()
    }
}
