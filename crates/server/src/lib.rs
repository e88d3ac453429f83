//! The server: where the wire meets the engine.
//!
//! # The walk of a request
//! `listener` accepts; `connection` owns the socket, decodes packets and notices op_cancel, a broken line and the
//! shutdown while statements run; `handshake` agrees on a protocol and finds out who it is; `session` turns each
//! request into calls of the engine on a blocking thread and its results into replies, which `connection` writes out
//! as they come.
//!
//! # Promises
//! - A peer that has not logged in costs a bounded, small amount of memory and time.
//! - Malformed packets close their own connection, with one line in the log.
//! - A statement never occupies a thread of the I/O runtime; a result is streamed, never collected.
//!
//! Uses `types`, `wire`, `engine`, and `status` for metrics.
#![forbid(unsafe_code)]

mod arrival;
mod async_socket;
mod auxiliary;
mod backups;
pub mod config;
mod connection;
mod connection_input;
mod counts;
mod external_callers;
pub mod farlink;
mod farlink_pass;
mod handshake;
mod location;
mod metrics;
mod security;
mod server;
mod service;
mod session;
mod shared;
mod throttle;
mod version;

pub use external_callers::{ExternalCallers, OwnCaller};
pub use security::FirstStart;
pub use server::{Observer, Server, StartError};
