//! CHAR_LENGTH, OCTET_LENGTH, BIT_LENGTH.

use farbird_types::{ColumnType, Result, SqlType, Value};

use crate::context::Context;
use crate::result_type::{is_blob, nullable_as};
use crate::{Argument, Call, argument};

/// INTEGER, or BIGINT for a BLOB, whose length may need it.
pub(super) fn result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let large = arguments.iter().any(|argument| is_blob(argument.sql_type()));
    Ok(nullable_as(if large { SqlType::BIGINT } else { SqlType::INTEGER }, arguments))
}

pub(super) fn char_length(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    Ok(count(text.char_length()))
}

pub(super) fn octet_length(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    Ok(count(octets(context, call)?))
}

pub(super) fn bit_length(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    Ok(count(octets(context, call)?.saturating_mul(8)))
}

/// A BLOB's bytes are counted in its header: it is not read.
fn octets(context: &mut Context<'_>, call: &Call<'_>) -> Result<usize> {
    if let Value::Blob(id) = call.argument(0) {
        let properties = context.transaction.store.open_blob(*id)?.properties();
        return Ok(usize::try_from(properties.bytes).unwrap_or(usize::MAX));
    }
    Ok(argument::text(context, call.argument(0))?.bytes().len())
}

fn count(number: usize) -> Value {
    Value::integer(i64::try_from(number).unwrap_or(i64::MAX))
}
