//! The operators' common face, and how plans become operators.

use farbird_types::Result;

use crate::execute::batch::Batch;
use crate::execute::context::ExecutionContext;
use crate::plan::Node;

/// A running operator. Owns its state and borrows nothing.
pub trait Operator: Send {
    /// Starts, or starts again: registers and parameters may have changed since.
    ///
    /// # Errors
    /// Those of expressions evaluated at the start (bounds, limits).
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()>;

    /// Replaces the contents of `batch` by the next rows, as many as its limit says at most. False when there are no
    /// more (the batch is empty then); a batch may be short, but is never empty before the end.
    ///
    /// # Errors
    /// Those of the rows; the operator is not used after an error.
    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool>;
}

/// Makes the operators of a plan. Nothing runs before [`Operator::open`].
pub fn build(node: &Node) -> Box<dyn Operator> {
    let _ = node;
    Box::new(NoRows)
}

struct NoRows;

impl Operator for NoRows {
    fn open(&mut self, _context: &mut ExecutionContext<'_>) -> Result<()> {
        Ok(())
    }

    fn next(&mut self, _context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(0);
        Ok(false)
    }
}
