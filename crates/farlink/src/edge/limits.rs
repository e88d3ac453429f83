//! What an edge may take, and what it may answer: names and defaults.

/// Limits and switches of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of statements' descriptions that are kept for all programs. The one used longest ago goes first.
    pub statement_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { statement_bytes: 16 << 20 }
    }
}
