//! Why something has no BLR.

use std::fmt;

/// What Firebird's programs do not have, or what is not translated here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(pub(crate) String);

impl fmt::Display for Unsupported {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// What was made, or why not.
pub(crate) type Made<T> = Result<T, Unsupported>;

/// Fails with a reason.
pub(crate) fn unsupported<T>(what: impl Into<String>) -> Made<T> {
    Err(Unsupported(what.into()))
}

/// What has no place in a program: a name or a count beyond its byte, a constant without a form.
pub(crate) fn placed<T>(made: Option<T>) -> Made<T> {
    made.ok_or_else(|| Unsupported("a name, a count or a constant that BLR has no room for".into()))
}
