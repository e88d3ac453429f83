//! What an end of a link allows and wants, and why a connection cannot go on.

use std::time::Duration;

use super::greeting::BadGreeting;

/// What an end allows and wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of messages that may be under way to this end.
    pub window: u32,
    /// The same of what is pushed on one channel.
    pub channel_window: u32,
    /// Longest message that this end takes.
    pub message_bytes: u32,
    /// Zstandard's level for what this end sends; 0: not compressed.
    pub compression: i32,
    /// After so long a silence the other end is asked whether it is there.
    pub ping: Duration,
    /// After so long a silence the connection is given up.
    pub silence: Duration,
    /// How long a session without a connection is kept.
    pub resume: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            window: 32 << 20,
            channel_window: 16 << 20,
            // The longest replies that an origin puts together, and what is around them.
            message_bytes: 129 << 20,
            compression: 1,
            ping: Duration::from_secs(5),
            silence: Duration::from_secs(15),
            resume: Duration::from_secs(600),
        }
    }
}

/// Why a connection cannot go on. The session may, on another one, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It does not begin as links do.
    #[error(transparent)]
    Greeting(#[from] BadGreeting),
    /// It refuses this end.
    #[error("the peer refuses the link: {0}")]
    Refused(String),
    /// It has left for good.
    #[error("the peer has left: {0}")]
    Left(String),
    /// It broke the rules, in what is said here.
    #[error("the peer broke the farlink's rules: {0}")]
    Misbehaved(&'static str),
    /// Nothing was heard of it.
    #[error("nothing was heard of the peer for {} s", .0.as_secs())]
    Silent(Duration),
}
