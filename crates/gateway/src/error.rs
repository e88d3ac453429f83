//! Why an end of the farlink cannot start.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::pairing::PairingError;
use crate::transport::TransportError;

/// Why an end of the farlink cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// Somebody else listens there, for example.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
    /// Nobody is paired with this end.
    #[error(
        "no other end is paired with this one. Run `farbird pair` at both ends, and give each the line that the other prints: farbird pair LINE"
    )]
    Unpaired,
    /// The settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
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

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read the settings file {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is not what we expect.
    #[error("the settings file {path} is not valid: {message}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// A value is out of range, or missing.
    #[error("the setting {setting} is not usable: {reason}")]
    Value {
        /// Its name.
        setting: &'static str,
        /// Why.
        reason: String,
    },
}
