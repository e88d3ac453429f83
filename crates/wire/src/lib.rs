//! The Firebird wire protocol as values and bytes: packets, messages, authentication, encryption, compression,
//! counters. Protocol versions 10 to 20, both sides: everything can be decoded and encoded, so that servers,
//! clients and gateways share it.
//!
//! Promises: no I/O, no clock, no threads, no randomness (bytes are handed in). No bytes from a peer panic, reserve
//! memory by an unchecked length, or loop without a named bound. Uses `farbird_types` only.
//!
//! # A server's conversation
//!
//! ```text
//! socket -> layers::Incoming (decrypt, inflate, count) -> decoder::RequestDecoder -> packet::Request
//! packet::Reply -> encode(version, buffer) -> layers::Outgoing (count, deflate, encrypt) -> socket
//! ```
//!
//! ```
//! use farbird_wire::counters::Counters;
//! use farbird_wire::decoder::{Limits, RequestDecoder};
//! use farbird_wire::layers::{Incoming, LayerError, Outgoing};
//! use farbird_wire::packet::{Reply, Request, Response};
//! use farbird_wire::protocol::ProtocolVersion;
//!
//! /// What a server holds for each connection.
//! struct Connection {
//!     incoming: Incoming,
//!     outgoing: Outgoing,
//!     counters: Counters,
//!     decoder: RequestDecoder,
//! }
//!
//! impl Connection {
//!     /// Takes the bytes of one read, gives the bytes to write.
//!     fn handle(&mut self, read: &mut [u8]) -> Result<Vec<u8>, LayerError> {
//!         let (mut plain, mut replies, mut wire) = (Vec::new(), Vec::new(), Vec::new());
//!         self.incoming.receive(read, &mut self.counters, &mut plain)?; // decrypts, inflates, counts
//!         self.decoder.feed(&plain);
//!         while let Some(request) = self.decoder.next_request()? {
//!             self.counters.packet_in();
//!             let reply = match request {
//!                 Request::Connect(connect) => match connect.choose(ProtocolVersion::V19) {
//!                     Some(choice) => {
//!                         self.decoder.set_version(choice.version); // from here fields follow that version
//!                         Reply::Accept(choice.into())
//!                     }
//!                     None => Reply::Reject,
//!                 },
//!                 _ => Reply::Response(Response::success()),
//!             };
//!             self.counters.packet_out();
//!             reply.encode(self.decoder.version(), &mut replies);
//!         }
//!         self.outgoing.send(&replies, &mut self.counters, &mut wire)?; // counts, deflates, encrypts
//!         Ok(wire)
//!     }
//! }
//! # let mut connection = Connection {
//! #     incoming: Incoming::default(),
//! #     outgoing: Outgoing::default(),
//! #     counters: Counters::default(),
//! #     decoder: RequestDecoder::new(Limits::default()),
//! # };
//! # assert_eq!(connection.handle(&mut [0, 0, 0, 93]).unwrap().len(), 32);
//! ```
//!
//! - After a login succeeded call [`decoder::RequestDecoder::authenticated`]: until then packets are kept small.
//! - Rows go out without an intermediate value: [`packet::encode_fetch_row`] appends one op_fetch_response.
//! - Between op_crypt or an accept with compression and the next byte, switch layers on
//!   [`layers::Incoming`] and [`layers::Outgoing`]; [`decoder::RequestDecoder::take_unread`] hands over bytes that
//!   were fed too early.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`xdr`] | words and padded strings; [`xdr::Stop`] (more bytes needed, or damaged) and [`xdr::DecodeError`] |
//! | [`operation`] | operation codes |
//! | [`protocol`] | versions and what each brought, handles, small code sets |
//! | [`packet`] | [`packet::Request`] (client to server), [`packet::Reply`] (server to client) |
//! | [`decoder`] | [`decoder::RequestDecoder`], [`decoder::ReplyDecoder`]: streams to packets |
//! | [`negotiation`] | op_connect: user identification, choice of version, wire encryption levels |
//! | [`message`] | message formats (BLR), rows to bytes and back, descriptions of columns |
//! | [`clumplet`] | DPB, SPB, TPB, BPB, batch parameters: readers, writers, tags |
//! | [`info`] | information requests and replies: writers with truncation, readers, tags |
//! | [`status`] | status vectors and [`farbird_types::Error`] |
//! | [`auth`] | SRP, Legacy_Auth, user names |
//! | [`crypt`] | Arc4, ChaCha, ChaCha64, the keys buffer |
//! | [`compress`] | the zlib streams |
//! | [`layers`] | compression, encryption and counters in their order |
//! | [`counters`] | wire statistics by fbclient's rules |
//! | [`mod@slice`] | array slices and their SDL |
//! | [`blob_stream`] | blob streams of the batch API |
//! | [`event`] | event parameter blocks |
#![forbid(unsafe_code)]

pub mod auth;
pub mod blob_stream;
pub mod clumplet;
pub mod compress;
pub mod counters;
pub mod crypt;
pub mod decoder;
pub mod event;
pub mod info;
pub mod layers;
pub mod message;
pub mod negotiation;
pub mod operation;
pub mod packet;
pub mod protocol;
pub mod slice;
pub mod status;
pub mod xdr;
