//! How sites behind a farlink are reached: see [`crate::farlink`].

use std::path::PathBuf;

use farbird_gateway::settings::KEYS_FOLDER;
pub use farbird_gateway::transport::Transport;

/// Names the folder of keys for programs that name none.
const KEYS_VARIABLE: &str = "FARBIRD_FARLINK_KEYS";

/// How sites are reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// The folder of keys that `farbird pair` has made: by default what the environment variable `FARBIRD_FARLINK_KEYS` says, else
    /// `farbird-farlink` in the current folder. Learned rules are kept there too.
    pub keys: PathBuf,
    /// By QUIC, by TLS over TCP, or by what works.
    pub transport: Transport,
}

impl Default for Options {
    fn default() -> Options {
        let keys = std::env::var_os(KEYS_VARIABLE).map_or_else(|| KEYS_FOLDER.into(), PathBuf::from);
        Options { keys, transport: Transport::default() }
    }
}
