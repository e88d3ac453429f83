//! What makes rows by columns from a scan, in stretches that follow each other: the scan itself, conditions, projections, the
//! asking sides of joins.
//!
//! Each thread has a copy of its own; together they make each stretch once (`in_order`). A stretch whose rows have many partners
//! comes in parts, so that nobody holds all of them.

use farbird_expression::{ExecutionContext, Expression};
use farbird_types::{Error, SqlType};
use farbird_vector::Vectors;

/// Rows that follow each other: a stretch, or a part of one.
#[derive(Default)]
pub(crate) struct Stretch {
    /// Which, from 0 on, without gaps.
    pub(crate) number: u64,
    /// Whether it has no further part.
    pub(crate) is_last: bool,
    pub(crate) rows: Vectors,
    /// How many rows of the table were looked at for this part.
    pub(crate) looked_at: usize,
    /// What the row behind these failed with: nobody asks for the others then.
    pub(crate) error: Option<Error>,
}

impl Stretch {
    /// Changes its rows, if there are some; gives what the row behind those that are left fails with.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Vectors) -> Option<Error>) {
        if !self.rows.is_empty()
            && let Some(error) = change(&mut self.rows)
        {
            self.error = Some(error);
        }
    }
}

/// What makes stretches.
pub(crate) trait Stage: Send {
    /// The next part of the stretch that it makes, or the next stretch that nobody makes yet, with
    /// [`COLUMN_ROWS_MAX`](crate::column_source::COLUMN_ROWS_MAX) rows at most; `None` at the end.
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
        // No plan has them.
        Expression::Aggregate(_) | Expression::Window(_) => true,
        Expression::Constant(_)
        | Expression::Column(_)
        | Expression::Register(_)
        | Expression::Parameter(_)
        | Expression::Arithmetic { .. }
        | Expression::Negate(_)
        | Expression::Comparison { .. }
        | Expression::Distinct { .. }
        | Expression::Between { .. }
        | Expression::InList { .. }
        | Expression::Pattern(_)
        | Expression::IsNull(_)
        | Expression::IsTruth { .. }
        | Expression::Not(_)
        | Expression::And(_)
        | Expression::Or(_)
        | Expression::Case { .. }
        | Expression::SimpleCase { .. }
        | Expression::Coalesce(_)
        | Expression::AtTimeZone { .. }
        | Expression::DbKey { .. } => false,
    })
}
