//! Failures that arise on the client's side, as the statuses that Firebird's client gives for them.

use farbird_types::{Error, isc};
use farbird_wire::decoder;
use farbird_wire::layers::LayerError;
use farbird_wire::xdr::DecodeError;

/// The socket failed. `what` is one of the `isc_net_*` codes.
pub(crate) fn network(peer: &str, what: u32, error: &std::io::Error) -> Error {
    Error::new(isc::NETWORK_ERROR).with(peer).and(what).and(isc::RANDOM).with(error.to_string())
}

/// The server closed the connection although an answer is outstanding.
pub(crate) fn closed(peer: &str) -> Error {
    Error::new(isc::NETWORK_ERROR)
        .with(peer)
        .and(isc::NET_READ_ERR)
        .and(isc::RANDOM)
        .with("the server closed the connection")
}

/// The server's bytes break the protocol.
pub(crate) fn broken(error: &DecodeError) -> Error {
    Error::new(isc::NET_READ_ERR).and(isc::RANDOM).with(format!("the server broke the protocol: {error}"))
}

/// Decompression or encryption failed.
pub(crate) fn layer(error: &LayerError) -> Error {
    Error::new(isc::NET_READ_ERR).and(isc::RANDOM).with(format!("the server broke the protocol: {error}"))
}

/// A reply that does not answer the request.
pub(crate) fn unexpected(request: &str) -> Error {
    Error::new(isc::NET_READ_ERR)
        .and(isc::RANDOM)
        .with(format!("the server answered {request} with a packet that is no answer to it"))
}

/// A request that we cannot describe to our own decoder: too many formats are known at once.
pub(crate) fn too_many_formats(error: &DecodeError) -> Error {
    Error::new(isc::RANDOM).with(format!(
        "{error}: at most {} columns and parameters may be prepared at once",
        decoder::DESCRIPTORS_MAX
    ))
}

/// As the traits of std and tokio want it.
pub(crate) fn io(error: Error) -> std::io::Error {
    std::io::Error::other(error)
}
