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
pub mod origin;
pub mod pairing;
pub mod settings;
mod status;
pub mod transport;

use std::net::SocketAddr;

use crate::pairing::PairingError;
use crate::transport::TransportError;

/// Why an end of the farlink cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// Somebody else listens there, for example.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// Nobody is paired with this end.
    #[error(
        "no other end is paired with this one. Run `farbird pair` at both ends, and give each the line that the other prints: farbird pair LINE"
    )]
    Unpaired,
    /// The settings.
    #[error(transparent)]
    Settings(#[from] settings::SettingsError),
    /// The keys.
    #[error(transparent)]
    Pairing(#[from] PairingError),
    /// The transport.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

/// Waits until it is said to stop, or nobody could say so any longer.
async fn stopped(stop: &mut tokio::sync::watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}
