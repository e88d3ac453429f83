//! Both ends of the farlink with their sockets: the edge beside a program, the origin beside a server.
//!
//! What the ends say and when is decided by the machines of `farbird_farlink`; here are transports, pairing, settings and the
//! tasks that carry bytes.
//!
//! | module | what it holds |
//! |---|---|
//! | [`pairing`] | the keys by which both ends know each other |
//! | [`transport`] | QUIC and TLS over TCP |
#![forbid(unsafe_code)]

pub mod origin;
pub mod pairing;
pub mod transport;
