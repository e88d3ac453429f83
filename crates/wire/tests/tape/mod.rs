//! Plays recorded conversations through both decoders.
//!
//! A [`Player`] stands where a gateway would: it sees both streams and tells each decoder what it must know.

use std::collections::VecDeque;

use farbird_wire::counters::Counters;
use farbird_wire::decoder::{Limits, ReplyDecoder, RequestDecoder};
use farbird_wire::layers::Incoming;
use farbird_wire::packet::{Accept, Reply, Request};
use farbird_wire::protocol::ProtocolVersion;
use farbird_wire::xdr::DecodeError;

/// Which way a piece of a conversation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    ToServer,
    ToClient,
}

/// A conversation as the pieces that were read from the sockets.
pub fn load(name: &str) -> Vec<(Way, Vec<u8>)> {
    let path = format!("{}/tests/transcripts/{name}.tap", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut rest = &bytes[..];
    let mut pieces = Vec::new();
    while let [way, a, b, c, d, after @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let (piece, after) = after.split_at(length);
        let way = match way {
            b'>' => Way::ToServer,
            b'<' => Way::ToClient,
            _ => panic!("{path} is damaged"),
        };
        pieces.push((way, piece.to_vec()));
        rest = after;
    }
    pieces
}

/// All recorded conversations.
pub const NAMES: [&str; 10] = [
    "batch5",
    "blobs5-inline",
    "blobs5-inline-zlib",
    "blobs5-noinline",
    "gbak5-remote",
    "isql5-session",
    "isql5-show",
    "isql5-wrong-password",
    "services5-info",
    "services5-stats",
];

/// One packet of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Packet {
    Request(Request),
    Reply(Reply),
}

/// Decodes a conversation, and keeps what a test compares.
pub struct Player {
    requests: RequestDecoder,
    replies: ReplyDecoder,
    to_server: Incoming,
    to_client: Incoming,
    counters: Counters,
    compressed: bool,
    /// Requests whose answer binds a handle, oldest first.
    binding: VecDeque<Request>,
    /// The packets, in the order in which they were whole.
    pub packets: Vec<Packet>,
    /// What both sides sent, without compression.
    pub plain: [Vec<u8>; 2],
    /// The packets encoded again.
    pub encoded: [Vec<u8>; 2],
}

impl Player {
    pub fn new() -> Player {
        let mut requests = RequestDecoder::new(Limits::default());
        // The recordings are of people who know the password; what they send afterwards may be long.
        requests.authenticated();
        Player {
            requests,
            replies: ReplyDecoder::new(Limits::default()),
            to_server: Incoming::default(),
            to_client: Incoming::default(),
            counters: Counters::default(),
            compressed: false,
            binding: VecDeque::new(),
            packets: Vec::new(),
            plain: [Vec::new(), Vec::new()],
            encoded: [Vec::new(), Vec::new()],
        }
    }

    /// Plays one piece.
    pub fn play(&mut self, way: Way, piece: &[u8]) -> Result<(), DecodeError> {
        let mut plain = Vec::new();
        let incoming = match way {
            Way::ToServer => &mut self.to_server,
            Way::ToClient => &mut self.to_client,
        };
        let damaged = |_| DecodeError::Inflate;
        incoming.receive(&mut piece.to_vec(), &mut self.counters, &mut plain).map_err(damaged)?;
        while incoming.has_more() {
            incoming.receive_more(&mut self.counters, &mut plain).map_err(damaged)?;
        }
        self.plain[way as usize].extend_from_slice(&plain);
        match way {
            Way::ToServer => {
                self.requests.feed(&plain);
                self.drain_requests()
            }
            Way::ToClient => {
                self.replies.feed(&plain);
                self.drain_replies()
            }
        }
    }

    fn drain_requests(&mut self) -> Result<(), DecodeError> {
        while let Some(request) = self.requests.next_request()? {
            request.encode(self.requests.version(), &mut self.encoded[Way::ToServer as usize]);
            self.replies.expect(&request)?;
            if matches!(request, Request::Compile { .. } | Request::AllocateStatement(_)) {
                self.binding.push_back(request.clone());
            }
            self.packets.push(Packet::Request(request));
        }
        Ok(())
    }

    fn drain_replies(&mut self) -> Result<(), DecodeError> {
        while let Some(answer) = self.replies.next_reply()? {
            let version = self.replies.version();
            answer.reply.encode(version, &mut self.encoded[Way::ToClient as usize]);
            match &answer.reply {
                Reply::Accept(accept) => self.accepted(accept)?,
                Reply::AcceptWithData(accept) | Reply::ConditionalAccept(accept) => {
                    self.accepted(&accept.accept)?
                }
                Reply::Response(response) => {
                    let binds =
                        self.binding.front().is_some_and(|request| Some(request.operation()) == answer.to);
                    if binds
                        && let Some(request) = self.binding.pop_front()
                        && response.status.is_success()
                    {
                        match request {
                            Request::Compile { blr, .. } => {
                                self.requests.request_compiled(response.object, &blr)?
                            }
                            _ => self.requests.statement_allocated(response.object),
                        }
                    }
                }
                _ => {}
            }
            self.packets.push(Packet::Reply(answer.reply));
        }
        Ok(())
    }

    fn accepted(&mut self, accept: &Accept) -> Result<(), DecodeError> {
        if let Some(version) = accept.protocol_version() {
            self.requests.set_version(version);
        }
        if accept.is_compressed() {
            self.compressed = true;
            self.to_server.compress();
            self.to_client.compress();
            let mut early = self.replies.take_unread();
            let mut plain = Vec::new();
            let passed = self.to_client.pass(&mut early, &mut self.counters, &mut plain);
            passed.map_err(|_| DecodeError::Inflate)?;
            self.replies.feed(&plain);
        }
        Ok(())
    }

    /// Bytes that were not yet part of a packet.
    pub fn unread(&self) -> usize {
        self.requests.unread().len() + self.replies.unread().len()
    }

    /// Whether the conversation went on compressed.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    pub fn version(&self) -> ProtocolVersion {
        self.requests.version()
    }
}
