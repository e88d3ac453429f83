//! POSITION, REPLACE: looking for a text inside another, as the collation sees it.

use farbird_types::{CharacterSet, Collation, ColumnType, Result, SqlType, Value, isc};
use memchr::memmem;

use super::kinds::{any_null, joined, null_text, text_of_length, working_set};
use super::part::argument_error;
use super::seen::SeenText;
use crate::blob;
use crate::context::Context;
use crate::result_type::{same_as, text_chars_in, text_kind};
use crate::{Argument, Call, argument};

/// Places of a text that are tried between two looks at the interrupt.
const PLACES_BETWEEN_LOOKS: usize = 1 << 16;

/// Each text takes the other's type; the start is INTEGER.
pub(super) fn position_parameter(index: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    match index {
        0 => same_as(arguments.get(1)),
        1 => same_as(arguments.first()),
        _ => None,
    }
}

/// As long as the text with as many replacements as could fit.
pub(super) fn replace_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let [text, find, replacement] = arguments else { return Ok(null_text()) };
    if any_null(arguments) {
        return Ok(null_text());
    }
    let (kind, subtype) = joined(&[text.sql_type(), find.sql_type(), replacement.sql_type()]);
    let length = text_chars_in(text.sql_type(), kind.0);
    let find = text_chars_in(find.sql_type(), kind.0);
    let replacement = text_chars_in(replacement.sql_type(), kind.0);
    let grown = match length.checked_div(find) {
        None => length,
        Some(most) => length.saturating_add(most.saturating_mul(replacement.saturating_sub(find))),
    };
    Ok(text_of_length(grown, kind, subtype, arguments))
}

/// POSITION(part, text[, start]): 0 if it is not there; an empty part is found wherever the text has a place for it.
pub(super) fn position(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let start = match call.arguments.get(2) {
        Some(start) => argument::int32(context, start)?,
        None => 1,
    };
    let Ok(start @ 1..) = usize::try_from(start) else {
        return Err(argument_error(isc::SYSF_ARGNMUSTBE_POSITIVE, 3, call.name));
    };
    // The collation is that of the text that is searched.
    let kind = match call.argument_type(1) {
        SqlType::Text(_) | SqlType::Blob { subtype: 1, .. } => text_kind(call.argument_type(1)),
        _ => joined(&[call.argument_type(0), call.argument_type(1)]).0,
    };
    let part = argument::text_in(context, call.argument(0), kind.0)?;
    let text = argument::text_in(context, call.argument(1), kind.0)?;
    let (part, text) = (SeenText::new(&part, kind.1), SeenText::new(&text, kind.1));
    let skipped = start - 1;
    if part.bytes().is_empty() {
        let inside = skipped <= text.characters();
        return Ok(Value::integer(if inside { i64::try_from(start).unwrap_or(0) } else { 0 }));
    }
    let from = text.offset_of(skipped);
    let rest = text.bytes().get(from..).unwrap_or_default();
    let found = find(text.set(), rest, part.bytes(), context)?
        .map_or(0, |offset| text.character_at(from + offset) + 1);
    Ok(Value::integer(i64::try_from(found).unwrap_or(i64::MAX)))
}

/// REPLACE(text, find, replacement): an empty `find` changes nothing.
pub(super) fn replace(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let set = working_set(call.result_type());
    // The collation is that of the text that is changed.
    let collation = match text_kind(call.argument_type(0)) {
        (own, collation) if own == set => collation,
        _ => Collation::default(),
    };
    let text = argument::text_in(context, call.argument(0), set)?;
    let part = argument::text_in(context, call.argument(1), set)?;
    let replacement = argument::text_in(context, call.argument(2), set)?;
    let (searched, part) = (SeenText::new(&text, collation), SeenText::new(&part, collation));
    let (seen, part) = (searched.bytes(), part.bytes());
    let mut bytes = Vec::new();
    let mut at = 0;
    if !part.is_empty() {
        while let Some(offset) = find(searched.set(), seen.get(at..).unwrap_or_default(), part, context)? {
            let found = at + offset;
            let kept = searched.original(at, found);
            blob::make_room(context, &mut bytes, kept.len() + replacement.bytes().len())?;
            bytes.extend_from_slice(kept);
            bytes.extend_from_slice(replacement.bytes());
            at = found + part.len();
        }
    }
    bytes.extend_from_slice(searched.original(at, seen.len()));
    argument::text_result(context, bytes, set, call.result_type())
}

/// Where `part` begins in `text`, in bytes, at the beginning of a character.
///
/// # Errors
/// The interrupt's: texts may be long BLOBs.
fn find(set: CharacterSet, text: &[u8], part: &[u8], context: &Context<'_>) -> Result<Option<usize>> {
    if set.is_found_by_bytes() {
        let places = (text.len() + 1).saturating_sub(part.len());
        for from in (0..places).step_by(PLACES_BETWEEN_LOOKS) {
            context.check_interrupt()?;
            let until = places.min(from + PLACES_BETWEEN_LOOKS);
            let searched = text.get(from..until + part.len() - 1).unwrap_or_default();
            if let Some(found) = memmem::find(searched, part) {
                return Ok(Some(from + found));
            }
        }
        return Ok(None);
    }
    let mut offset = 0;
    while let Some(rest) = text.get(offset..)
        && let Some(character) = set.characters(rest).next()
    {
        context.check_interrupt()?;
        if rest.starts_with(part) {
            return Ok(Some(offset));
        }
        offset += character.len();
    }
    Ok(None)
}
