//! What the client does to save round trips, each a switch.

/// What takes round trips away. Everything is on unless one asks for a preset of an older generation of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// Name objects by the handles that the server is going to give them, so that what uses them need not wait for the
    /// reply: a transaction's start costs no round trip.
    pub predict_handles: bool,
    /// Most bytes of answers that are kept before somebody asks for them: rows read ahead.
    pub read_ahead_bytes: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning { predict_handles: true, read_ahead_bytes: 16 * 1024 * 1024 }
    }
}
