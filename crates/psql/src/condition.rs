//! Which handler catches which error; user-defined exceptions.

use farbird_expression::ExecutionContext;
use farbird_function::blob::{releasing, text_of as text_of_value};
use farbird_types::error::StatusArgument;
use farbird_types::{Error, Result, Value, isc};

use crate::routine::{Condition, Handler, Raise};

/// Longest message of an exception, in bytes (Firebird: XCP_MESSAGE_LENGTH).
const MESSAGE_BYTES_MAX: usize = 1_023;

/// The code of a name in WHEN GDSCODE (`unique_key_violation`, in any case).
pub(super) fn code_of_symbol(symbol: &str) -> Option<u32> {
    let name = symbol.to_ascii_lowercase();
    let name = name.strip_prefix("isc_").unwrap_or(&name);
    isc::CODES.iter().find(|row| row.symbol.trim_start_matches("isc_") == name).map(|row| row.gds_code)
}

/// The number of the user-defined exception that a status reports.
fn exception_number(error: &Error) -> Option<i32> {
    let item = error.items().iter().find(|item| item.gds_code == isc::EXCEPT)?;
    match item.arguments.first() {
        Some(StatusArgument::Number(number)) => Some(*number),
        _ => None,
    }
}

/// Whether a handler catches an error.
pub(super) fn catches(handler: &Handler, error: &Error) -> bool {
    handler.conditions.iter().any(|condition| match condition {
        Condition::Any => true,
        Condition::GdsCode(code) => error.gds_code() == *code,
        Condition::SqlCode(code) => error.sql_code() == i32::from(*code),
        Condition::SqlState(state) => error.sql_state() == state,
        Condition::Exception(number) => {
            error.gds_code() == isc::EXCEPT && exception_number(error) == Some(*number)
        }
    })
}

/// The status of EXCEPTION name.
///
/// # Errors
/// Those of the message's expressions.
pub(super) fn raised(raise: &Raise, context: &mut ExecutionContext<'_>) -> Result<Error> {
    let mut message = raise.message.clone();
    if let Some(replacement) = &raise.replacement {
        let value = replacement.evaluate(context)?;
        if !value.is_null() {
            message = text_of(&value, context)?;
            super::trace::cut(&mut message, MESSAGE_BYTES_MAX);
        }
    }
    let error = Error::new(isc::EXCEPT).with(raise.number).and(isc::RANDOM).with(raise.name.clone());
    if raise.arguments.is_empty() {
        return Ok(error.and(isc::RANDOM).with(message));
    }
    let mut arguments = Vec::new();
    for argument in &raise.arguments {
        let value = argument.evaluate(context)?;
        arguments.push(match value {
            Value::Null => "*** null ***".to_owned(),
            value => text_of(&value, context)?,
        });
    }
    let mut error = error.and(isc::FORMATTED_EXCEPTION).with(formatted(&message, &arguments));
    for argument in arguments {
        error = error.with(argument);
    }
    Ok(error)
}

pub(super) fn text_of(value: &Value, context: &mut ExecutionContext<'_>) -> Result<String> {
    releasing(context, |context| Ok(text_of_value(value, context)?.decode_lossy().into_owned()))
}

/// The message with `@1`, `@2` ... replaced; numbers without an argument stay.
fn formatted(message: &str, arguments: &[String]) -> String {
    let mut formatted = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once('@') {
        formatted.push_str(before);
        let digits = after.len() - after.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        // Firebird's messages have at most nine arguments.
        let number = after.get(..digits.min(1)).and_then(|digit| digit.parse::<usize>().ok());
        match number.and_then(|number| arguments.get(number.checked_sub(1)?)) {
            Some(argument) => {
                formatted.push_str(argument);
                rest = after.get(1..).unwrap_or_default();
            }
            None => {
                formatted.push('@');
                rest = after;
            }
        }
    }
    formatted.push_str(rest);
    formatted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_take_their_places() {
        let arguments = ["a".to_owned(), "b".to_owned()];
        assert_eq!(formatted("hello @1 and @2, @3 @", &arguments), "hello a and b, @3 @");
    }

    #[test]
    fn codes_have_names() {
        assert_eq!(code_of_symbol("UNIQUE_KEY_VIOLATION"), Some(isc::UNIQUE_KEY_VIOLATION));
        assert_eq!(code_of_symbol("no_such_code"), None);
    }
}
