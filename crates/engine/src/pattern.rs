//! Patterns of names that tools give: SIMILAR TO, with `\` as escape.

use farbird_types::Result;

use crate::expression::Similar;
use crate::session::Interrupt;

/// A pattern that whole names are compared with.
#[derive(Debug)]
pub struct NamePattern(Similar);

impl NamePattern {
    /// Understands a pattern.
    ///
    /// # Errors
    /// `isc_invalid_similar_pattern`.
    pub fn new(pattern: &str, ignore_case: bool) -> Result<NamePattern> {
        Similar::compile(pattern, Some('\\'), ignore_case).map(NamePattern)
    }

    /// Whether it is the pattern of this text.
    ///
    /// # Errors
    /// The interrupt's.
    pub fn matches(&self, text: &str, interrupt: &Interrupt) -> Result<bool> {
        self.0.matches(text, interrupt)
    }
}
