//! That a loop met a row that might fail.

/// Some row might fail: to be gone through row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;
