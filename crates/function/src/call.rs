//! Calls with keywords as plain calls: EXTRACT, SUBSTRING, TRIM, OVERLAY, DATEADD, HASH ...
//!
//! The syntax tree has a form of its own for each; here each becomes a function with positional arguments, of which the
//! keywords are constants.

use farbird_sql::ast::{ExpressionKind, KeywordArgument, KeywordArgumentValue, TrimSide};
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
pub fn keyword_call<'a>(
    kind: &'a ExpressionKind,
) -> Option<(&'static ScalarFunction, Vec<CallArgument<'a>>)> {
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
            let given = |argument: &'a KeywordArgument| match &argument.value {
                KeywordArgumentValue::None => Constant(Value::text(argument.keyword.as_str())),
                KeywordArgumentValue::Name(name) => Constant(Value::text(name.as_str())),
                KeywordArgumentValue::Expression(value) => Given(value),
            };
            let function = lookup_scalar(call.name.as_str())?;
            let mut arguments = vec![Given(&call.operand)];
            let clauses = clauses_of(call.name.as_str());
            if clauses.is_empty() {
                arguments.extend(call.arguments.iter().map(given));
            }
            for clause in clauses {
                let argument =
                    call.arguments.iter().find(|argument| clause.contains(&argument.keyword.as_str()));
                arguments.push(argument.map_or(Constant(Value::Null), given));
            }
            return Some((function, arguments));
        }
        _ => return None,
    };
    Some((lookup_scalar(name)?, arguments))
}

/// The clauses of a function that need not all be there, in the order of its arguments; those of other functions come as they stand.
fn clauses_of(function: &str) -> &'static [&'static [&'static str]] {
    match function {
        "ENCRYPT" | "DECRYPT" => &[
            &["USING"],
            &["MODE"],
            &["KEY"],
            &["IV"],
            &["CTR_BIG_ENDIAN", "CTR_LITTLE_ENDIAN"],
            &["COUNTER", "CTR_LENGTH"],
        ],
        "RSA_ENCRYPT" | "RSA_DECRYPT" => &[&["KEY"], &["LPARAM"], &["HASH"], &["PKCS_1_5"]],
        "RSA_SIGN_HASH" => &[&["KEY"], &["HASH"], &["SALT_LENGTH"], &["PKCS_1_5"]],
        "RSA_VERIFY_HASH" => &[&["SIGNATURE"], &["KEY"], &["HASH"], &["SALT_LENGTH"], &["PKCS_1_5"]],
        _ => &[],
    }
}
