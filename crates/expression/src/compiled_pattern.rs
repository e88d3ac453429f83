//! Patterns made ready for matching.

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
