//! Parts of texts: LEFT, RIGHT, SUBSTRING, TRIM, OVERLAY.

use farbird_types::{CharacterSet, Collation, ColumnType, Error, Result, SqlType, Text, Value, isc};

use super::kinds::{any_null, ascii_text, joined, null_text, text_of_length, working_set};
use super::seen::SeenText;
use crate::context::Context;
use crate::result_type::{nullable_as, required, same_as, text_chars_in, text_kind, varying};
use crate::{Argument, Call, argument};

/// Which ends TRIM looks at: its first argument.
pub(crate) const TRIM_BOTH: i64 = 0;
/// TRIM(LEADING ...).
pub(crate) const TRIM_LEADING: i64 = 1;
/// TRIM(TRAILING ...).
pub(crate) const TRIM_TRAILING: i64 = 2;

/// The count is INTEGER; texts have no type of their own.
pub(super) fn count_parameter(index: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    if index == 1 { required(SqlType::INTEGER) } else { None }
}

/// Either text's type for the other, either count's for the other, otherwise INTEGER for the counts.
pub(super) fn overlay_parameter(index: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    match index {
        0 => same_as(arguments.get(1)),
        1 => same_as(arguments.first()),
        2 => same_as(arguments.get(3)).or(required(SqlType::INTEGER)),
        _ => same_as(arguments.get(2)),
    }
}

/// As long as the text, or as the constant length says.
pub(super) fn substring_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let [text, ..] = arguments else { return Ok(null_text()) };
    // Firebird subtracts 1 from the start, and does not compute with texts.
    if arguments.get(1).is_some_and(|start| matches!(start.sql_type(), SqlType::Text(_))) {
        return Err(Error::new(isc::EXPRESSION_EVAL_ERR));
    }
    let constant = match arguments.get(2).and_then(|length| length.constant) {
        Some(Value::Integer { unscaled, scale: 0 }) => Some(*unscaled),
        _ => None,
    };
    if let Some(negative) = constant.filter(|length| *length < 0) {
        return Err(Error::new(isc::BAD_SUBSTRING_LENGTH).with(i32::try_from(negative).unwrap_or(i32::MIN)));
    }
    Ok(match text.sql_type() {
        SqlType::Null => null_text(),
        blob @ SqlType::Blob { .. } => nullable_as(*blob, arguments),
        sql_type => {
            let kind = match sql_type {
                SqlType::Text(_) => text_kind(sql_type),
                _ => (CharacterSet::ASCII, Collation(0)),
            };
            let whole = text_chars_in(sql_type, kind.0);
            let length = constant.and_then(|length| u32::try_from(length).ok());
            nullable_as(varying(length.map_or(whole, |length| length.min(whole)), kind), arguments)
        }
    })
}

/// TRIM(side, text[, what]): as long as the text.
pub(super) fn trim_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let Some(text) = arguments.get(1) else { return Ok(null_text()) };
    Ok(match text.sql_type() {
        SqlType::Null => nullable_as(varying(1, (CharacterSet::NONE, Collation(0))), arguments),
        blob @ SqlType::Blob { .. } => nullable_as(*blob, arguments),
        SqlType::Text(declared) => {
            let kind = (declared.character_set, declared.collation);
            nullable_as(varying(declared.length_chars, kind), arguments)
        }
        other => nullable_as(ascii_text(other), arguments),
    })
}

/// As long as both texts together.
pub(super) fn overlay_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let [text, replacement, ..] = arguments else { return Ok(null_text()) };
    if any_null(arguments) {
        return Ok(null_text());
    }
    let (kind, subtype) = joined(&[text.sql_type(), replacement.sql_type()]);
    let length =
        text_chars_in(text.sql_type(), kind.0).saturating_add(text_chars_in(replacement.sql_type(), kind.0));
    Ok(text_of_length(length, kind, subtype, arguments))
}

pub(super) fn left(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let count = non_negative_length(argument::int32(context, call.argument(1))?)?;
    let text = argument::text(context, call.argument(0))?;
    let set = text.character_set();
    let end = set.byte_offset(text.bytes(), count);
    let part = text.bytes().get(..end).unwrap_or_default().to_vec();
    argument::text_result(context, part, set, call.result_type())
}

pub(super) fn right(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let count = non_negative_length(argument::int32(context, call.argument(1))?)?;
    let text = argument::text(context, call.argument(0))?;
    let set = text.character_set();
    let skipped = text.char_length().saturating_sub(count);
    let start = set.byte_offset(text.bytes(), skipped);
    let part = text.bytes().get(start..).unwrap_or_default().to_vec();
    argument::text_result(context, part, set, call.result_type())
}

/// SUBSTRING(text, start[, length]): positions before the first character count, and hold nothing.
pub(super) fn substring(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let start = i64::from(argument::int32(context, call.argument(1))?);
    let text = argument::text(context, call.argument(0))?;
    let set = text.character_set();
    let first = start.saturating_sub(1);
    let skipped = usize::try_from(first).unwrap_or(0);
    let from = set.byte_offset(text.bytes(), skipped);
    let rest = text.bytes().get(from..).unwrap_or_default();
    let part = match call.arguments.get(2) {
        None => rest,
        Some(length) => {
            let length = non_negative_length(argument::int32(context, length)?)?;
            let before = usize::try_from(first.saturating_neg()).unwrap_or(0);
            let end = set.byte_offset(rest, length.saturating_sub(before));
            rest.get(..end).unwrap_or_default()
        }
    };
    argument::text_result(context, part.to_vec(), set, call.result_type())
}

fn non_negative_length(length: i32) -> Result<usize> {
    usize::try_from(length).map_err(|_| Error::new(isc::BAD_SUBSTRING_LENGTH).with(length))
}

/// TRIM(side, text[, what]). Nothing is taken off if `what` is empty.
pub(super) fn trim(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let side = argument::integer(context, call.argument(0))?;
    let text = argument::text(context, call.argument(1))?;
    let set = text.character_set();
    let what = match call.arguments.get(2) {
        Some(what) => argument::text_in(context, what, set)?.bytes().to_vec(),
        None => vec![set.pad_byte()],
    };
    // The collation of the text says what is the same.
    let (_, collation) = text_kind(call.argument_type(1));
    let seen = SeenText::new(&text, collation);
    let what = SeenText::new(&Text::new(what, set), collation).into_bytes();
    let mut rest = seen.bytes();
    let mut skipped = 0;
    if !what.is_empty() {
        if side != TRIM_TRAILING {
            while let Some(shorter) = rest.strip_prefix(what.as_slice()) {
                rest = shorter;
            }
            skipped = seen.bytes().len() - rest.len();
        }
        if side != TRIM_LEADING {
            while let Some(shorter) = rest.strip_suffix(what.as_slice()) {
                rest = shorter;
            }
        }
    }
    let trimmed = seen.original(skipped, skipped + rest.len()).to_vec();
    argument::text_result(context, trimmed, set, call.result_type())
}

/// OVERLAY(text, replacement, start[, length]): the length is the replacement's if it is not given.
pub(super) fn overlay(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let set = working_set(call.result_type());
    let text = argument::text_in(context, call.argument(0), set)?;
    let replacement = argument::text_in(context, call.argument(1), set)?;
    let start = argument::int32(context, call.argument(2))?;
    if start <= 0 {
        return Err(argument_error(isc::SYSF_ARGNMUSTBE_POSITIVE, 3, call.name));
    }
    let length = match call.arguments.get(3) {
        Some(length) => usize::try_from(argument::int32(context, length)?)
            .map_err(|_| argument_error(isc::SYSF_ARGNMUSTBE_NONNEG, 4, call.name))?,
        None => replacement.char_length(),
    };
    let skipped = usize::try_from(start).unwrap_or(0).saturating_sub(1);
    let from = set.byte_offset(text.bytes(), skipped);
    let (head, tail) = text.bytes().split_at_checked(from).unwrap_or((text.bytes(), &[]));
    let to = set.byte_offset(tail, length);
    let rest = tail.get(to..).unwrap_or_default();
    let bytes = [head, replacement.bytes(), rest].concat();
    argument::text_result(context, bytes, set, call.result_type())
}

/// "Argument #n for FUNCTION must be ...".
pub(super) fn argument_error(rule: u32, number: i32, function: &str) -> Error {
    Error::new(isc::EXPRESSION_EVAL_ERR).and(rule).with(number).with(function)
}
