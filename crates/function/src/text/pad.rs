//! LPAD, RPAD.

use farbird_types::{ColumnType, Error, Result, Value, isc};

use super::kinds::{any_null, null_text, text_of_length, working_set};
use super::part::argument_error;
use crate::context::Context;
use crate::result_type::{TEXT_BYTES_MAX, text_kind};
use crate::{Argument, Call, argument};

/// As long as a constant length says, otherwise as long as a text may be.
pub(super) fn result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let [text, length, rest @ ..] = arguments else { return Ok(null_text()) };
    if any_null(arguments) {
        return Ok(null_text());
    }
    let subtype =
        [Some(text), rest.first()].into_iter().flatten().find_map(|argument| match argument.sql_type() {
            farbird_types::SqlType::Blob { subtype, .. } => Some(*subtype),
            _ => None,
        });
    let constant = match length.constant {
        // Refused where it is computed.
        Some(Value::Integer { unscaled, scale: 0 }) if *unscaled < 0 => Some(1),
        Some(Value::Integer { unscaled, scale: 0 }) => u32::try_from(*unscaled).ok(),
        _ => None,
    };
    let length_chars = constant.unwrap_or(TEXT_BYTES_MAX);
    Ok(text_of_length(length_chars, text_kind(text.sql_type()), subtype, arguments))
}

pub(super) fn left(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    pad(context, call, Side::Left)
}

pub(super) fn right(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    pad(context, call, Side::Right)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// A text that is too long is cut at its end, whichever side is padded.
fn pad(context: &mut Context<'_>, call: &Call<'_>, side: Side) -> Result<Value> {
    let set = working_set(call.result_type());
    let text = argument::text_in(context, call.argument(0), set)?;
    let length = usize::try_from(argument::int32(context, call.argument(1))?)
        .map_err(|_| argument_error(isc::SYSF_ARGNMUSTBE_NONNEG, 2, call.name))?;
    let filler = match call.arguments.get(2) {
        Some(filler) => argument::text_in(context, filler, set)?.bytes().to_vec(),
        None => vec![set.pad_byte()],
    };
    let own = text.char_length();
    let mut bytes = Vec::new();
    if own >= length {
        let end = set.byte_offset(text.bytes(), length);
        bytes.extend_from_slice(text.bytes().get(..end).unwrap_or_default());
        return argument::text_result(context, bytes, set, call.result_type());
    }
    let missing = if filler.is_empty() { 0 } else { length.saturating_sub(own) };
    if missing > TEXT_BYTES_MAX as usize {
        return Err(Error::new(isc::ARITH_EXCEPT).and(isc::IMP_EXC));
    }
    let filling: Vec<u8> = set
        .characters(&filler)
        .collect::<Vec<_>>()
        .into_iter()
        .cycle()
        .take(missing)
        .flatten()
        .copied()
        .collect();
    if side == Side::Left {
        bytes.extend_from_slice(&filling);
    }
    bytes.extend_from_slice(text.bytes());
    if side == Side::Right {
        bytes.extend_from_slice(&filling);
    }
    argument::text_result(context, bytes, set, call.result_type())
}
