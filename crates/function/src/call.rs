//! Calls with keywords as plain calls: EXTRACT, SUBSTRING, TRIM, OVERLAY, DATEADD, HASH ...
//!
//! The syntax tree has a form of its own for each; here each becomes a function with positional arguments, of which the
//! keywords are constants.

use farbird_sql::ast::{ExpressionKind, KeywordArgumentValue, TrimSide};
use farbird_types::Value;

use crate::text::{TRIM_BOTH, TRIM_LEADING, TRIM_TRAILING};
use crate::{ScalarFunction, date, lookup_scalar};
use farbird_sql::ast::Expression;

/// An argument of a call that was written with keywords.
#[derive(Debug, Clone)]
pub enum CallArgument<'a> {
    /// What a keyword stands for.
    Constant(Value),
    /// A value to be bound.
    Expression(&'a Expression),
}

/// The function and arguments that an expression with keywords stands for; nothing for other expressions (and for
/// SUBSTRING ... SIMILAR, which is a pattern).
pub fn keyword_call(kind: &ExpressionKind) -> Option<(&'static ScalarFunction, Vec<CallArgument<'_>>)> {
    use CallArgument::{Constant, Expression as Given};
    let (name, arguments) = match kind {
        ExpressionKind::Extract { part, operand } => {
            ("EXTRACT", vec![Constant(date::part_value(*part)), Given(operand)])
        }
        ExpressionKind::Substring { operand, start, length } => {
            let length = length.as_deref().map(Given);
            ("SUBSTRING", [Given(operand), Given(start)].into_iter().chain(length).collect())
        }
        ExpressionKind::Trim { side, what, operand } => {
            let side = match side {
                TrimSide::Both => TRIM_BOTH,
                TrimSide::Leading => TRIM_LEADING,
                TrimSide::Trailing => TRIM_TRAILING,
            };
            let what = what.as_deref().map(Given);
            ("TRIM", [Constant(Value::integer(side)), Given(operand)].into_iter().chain(what).collect())
        }
        ExpressionKind::Overlay { operand, replacement, start, length } => {
            let length = length.as_deref().map(Given);
            let arguments = [Given(operand), Given(replacement), Given(start)];
            ("OVERLAY", arguments.into_iter().chain(length).collect())
        }
        ExpressionKind::DateAdd { part, amount, operand } => {
            ("DATEADD", vec![Given(amount), Constant(date::part_value(*part)), Given(operand)])
        }
        ExpressionKind::DateDiff { part, from, to } => {
            ("DATEDIFF", vec![Constant(date::part_value(*part)), Given(from), Given(to)])
        }
        ExpressionKind::PeriodDay { last, part, operand } => {
            let name = if *last { "LAST_DAY" } else { "FIRST_DAY" };
            (name, vec![Constant(date::part_value(*part)), Given(operand)])
        }
        ExpressionKind::KeywordFunction(call) => {
            let keywords = call.arguments.iter().filter_map(|argument| match &argument.value {
                KeywordArgumentValue::None => None,
                KeywordArgumentValue::Name(name) => Some(Constant(Value::text(name.as_str()))),
                KeywordArgumentValue::Expression(value) => Some(Given(value)),
            });
            let arguments = std::iter::once(Given(&call.operand)).chain(keywords).collect();
            return Some((lookup_scalar(call.name.as_str())?, arguments));
        }
        _ => return None,
    };
    Some((lookup_scalar(name)?, arguments))
}
