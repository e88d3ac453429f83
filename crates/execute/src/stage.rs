//! What makes rows by columns from a scan, in stretches that follow each other: the scan itself, conditions, projections, the
//! asking sides of joins.
//!
//! Each thread has a copy of its own; together they make each stretch once (`in_order`).

use farbird_expression::{ExecutionContext, Expression};
use farbird_types::{Error, SqlType};
use farbird_vector::Vectors;

/// Rows that follow each other.
pub(crate) struct Stretch {
    /// Which, from 0 on, without gaps.
    pub(crate) number: u64,
    pub(crate) rows: Vec<Vectors>,
    /// What the row behind them failed with.
    pub(crate) error: Option<Error>,
}

impl Stretch {
    /// Changes its rows; those behind the first for which that fails are dropped.
    pub(crate) fn change_each(&mut self, mut change: impl FnMut(&mut Vectors) -> Option<Error>) {
        for place in 0..self.rows.len() {
            if let Some(error) = self.rows.get_mut(place).and_then(&mut change) {
                self.error = Some(error);
                self.rows.truncate(place + 1);
            }
        }
    }
}

/// What makes stretches.
pub(crate) trait Stage: Send {
    /// The next stretch that nobody makes yet; `None` at the end.
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Option<Stretch>;

    /// Another one, which makes stretches of the same rows.
    fn another(&self) -> Option<Box<dyn Stage>>;
}

/// Whether an expression can be computed by any thread: it looks at nothing but rows and values.
pub(crate) fn is_for_any_thread(expression: &Expression) -> bool {
    !expression.any(&|part| match part {
        Expression::Subquery(_)
        | Expression::Routine { .. }
        | Expression::LocalRoutine { .. }
        | Expression::Sequence { .. }
        | Expression::Constrained { .. }
        | Expression::Context(_)
        | Expression::ErrorContext(_)
        | Expression::RecordVersion { .. }
        | Expression::SubstringSimilar { .. } => true,
        Expression::Function { function, signature, .. } => {
            !function.0.deterministic || matches!(signature.result.sql_type, SqlType::Blob { .. })
        }
        Expression::Concatenate { result, .. } => matches!(result, SqlType::Blob { .. }),
        Expression::Cast { to, .. } => matches!(to, SqlType::Blob { .. }),
        _ => false,
    })
}
