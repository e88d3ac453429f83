//! UPPER, LOWER, REVERSE.

use farbird_types::{Result, Value, collation};

use crate::context::Context;
use crate::result_type::text_kind;
use crate::{Call, argument};

pub(super) fn upper(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    let mapped = collation::upper(&text, text_kind(call.argument_type(0)).1)?;
    argument::text_result(context, mapped, text.character_set(), call.result_type())
}

pub(super) fn lower(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    let mapped = collation::lower(&text, text_kind(call.argument_type(0)).1)?;
    argument::text_result(context, mapped, text.character_set(), call.result_type())
}

pub(super) fn reverse(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    let set = text.character_set();
    let characters: Vec<&[u8]> = set.characters(text.bytes()).collect();
    let reversed: Vec<u8> = characters.into_iter().rev().flatten().copied().collect();
    argument::text_result(context, reversed, set, call.result_type())
}
