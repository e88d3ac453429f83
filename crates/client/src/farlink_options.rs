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
    /// Whether statements are described from their texts alone where these tell how: their mistakes are told when they are executed. Off;
    /// docs/farlink.md says what it changes.
    pub deferred_prepare: bool,
    /// Whether an INSERT, UPDATE or DELETE is answered before it is done: the first that fails fails what its transaction asks for next, and
    /// its commit. Off; docs/farlink.md says what it changes, and for which programs it is.
    pub optimistic_writes: bool,
}

impl Default for Options {
    fn default() -> Options {
        let keys = std::env::var_os(KEYS_VARIABLE).map_or_else(|| KEYS_FOLDER.into(), PathBuf::from);
        Options { keys, transport: Transport::default(), deferred_prepare: false, optimistic_writes: false }
    }
}
