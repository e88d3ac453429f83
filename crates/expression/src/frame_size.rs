//! What a plan or an expression needs of the frame that it runs in.

/// How much of everything a plan needs; counted while it is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameSize {
    /// Values taken from outer rows.
    pub registers: usize,
    /// Subqueries in expressions.
    pub subqueries: usize,
    /// Patterns of LIKE and SIMILAR TO.
    pub patterns: usize,
    /// Recursive common tables.
    pub working_rows: usize,
    /// What is computed once for several places.
    pub shared_rows: usize,
}

impl FrameSize {
    /// Whether nothing is needed: no frame has to be swapped in.
    pub fn is_empty(&self) -> bool {
        *self == FrameSize::default()
    }
}
