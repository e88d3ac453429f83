//! The values of subqueries: what they take from the row around them is computed here, the rest is done above.

use farbird_types::{Result, Value};

use crate::context::ExecutionContext;
use crate::tree::{Subquery, SubqueryKind};

/// The value of a subquery for a row.
///
/// # Errors
/// `sing_select_err` if a scalar subquery gives several rows; those of its expressions.
pub(crate) fn evaluate(query: &Subquery, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Value> {
    let mut captured = Vec::with_capacity(query.captures.len());
    for (register, value) in &query.captures {
        captured.push((*register, value.evaluate(row, context)?));
    }
    let operand = match &query.kind {
        SubqueryKind::Quantified { operand, .. } => operand.evaluate(row, context)?,
        _ => Value::Null,
    };
    // Taken out while it runs: the frame stays usable for what is inside.
    let mut running = match context.frame.subqueries.get_mut(query.place).and_then(Option::take) {
        Some(running) => running,
        None => context.above.subqueries.start(query, context)?,
    };
    let result = running.value(query, captured, &operand, context);
    if let Some(place) = context.frame.subqueries.get_mut(query.place) {
        *place = Some(running);
    }
    result
}
