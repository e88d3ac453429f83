//! Patterns made ready for matching.

use farbird_session::Interrupt;
use farbird_types::Result;

use crate::like::LikePattern;
use crate::similar::SimilarPattern;

/// A pattern made ready for matching.
#[derive(Debug)]
pub enum CompiledPattern {
    /// LIKE
    Like(Like),
    /// SIMILAR TO
    Similar(Similar),
}

/// A compiled LIKE pattern.
#[derive(Debug)]
pub struct Like(pub(crate) LikePattern);

/// A compiled SIMILAR TO pattern.
#[derive(Debug)]
pub struct Similar(pub(crate) SimilarPattern);

impl Similar {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `isc_invalid_similar_pattern`; `isc_escape_invalid`.
    pub fn compile(pattern: &str, escape: Option<char>, ignore_case: bool) -> Result<Similar> {
        SimilarPattern::compile(pattern, escape, ignore_case).map(Similar)
    }

    /// Whether the whole text matches.
    ///
    /// # Errors
    /// The interrupt's: a long text and a long pattern take their time.
    pub fn matches(&self, text: &str, interrupt: &Interrupt) -> Result<bool> {
        self.0.matches(text, interrupt)
    }
}
