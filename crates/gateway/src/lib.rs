//! Both ends of the farlink with their sockets: the edge beside a program, the origin beside a server.
//!
//! What the ends say and when is decided by the machines of `farbird_farlink`; here are transports, pairing, settings and the
//! tasks that carry bytes.
//!
//! | module | what it holds |
//! |---|---|
//! | [`edge`] | the edge's tasks |
//! | [`origin`] | the origin's tasks |
//! | [`pairing`] | the keys by which both ends know each other |
//! | [`settings`] | what an administrator can set |
//! | [`transport`] | QUIC and TLS over TCP |
#![forbid(unsafe_code)]

mod carry;
pub mod edge;
mod error;
mod link_state;
pub mod origin;
pub mod pairing;
pub mod settings;
mod status;
mod stop;
pub mod transport;

pub use error::GatewayError;
pub use link_state::LinkState;
