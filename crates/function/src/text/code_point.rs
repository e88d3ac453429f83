//! ASCII_CHAR, ASCII_VAL, UNICODE_CHAR, UNICODE_VAL: characters and their numbers.

use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, Text, Value, isc};

use super::kinds::null_text;
use crate::context::Context;
use crate::result_type::{nullable_as, required};
use crate::{Argument, Call, argument};

pub(super) fn ascii_char_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    Ok(char_result(1, CharacterSet::NONE, arguments))
}

pub(super) fn unicode_char_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    Ok(char_result(1, CharacterSet::UTF8, arguments))
}

fn char_result(length_chars: u32, set: CharacterSet, arguments: &[Argument<'_>]) -> ColumnType {
    if super::kinds::any_null(arguments) {
        return null_text();
    }
    nullable_as(SqlType::char(length_chars, set), arguments)
}

pub(super) fn ascii_parameter(_: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    required(SqlType::char(1, CharacterSet::ASCII))
}

pub(super) fn unicode_parameter(_: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    required(SqlType::char(1, CharacterSet::UTF8))
}

pub(super) fn ascii_char(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let number = argument::integer(context, call.argument(0))?;
    match u8::try_from(number) {
        Ok(byte) => Ok(Value::Text(Text::new(vec![byte], CharacterSet::NONE))),
        Err(_) => Err(Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE)),
    }
}

/// The byte of the first character; 0 for an empty text.
pub(super) fn ascii_val(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    match text.character_set().characters(text.bytes()).next() {
        None => Ok(Value::integer(0)),
        Some([byte]) => Ok(Value::integer(i64::from(*byte))),
        Some(_) => Err(Error::new(isc::ARITH_EXCEPT).and(isc::TRANSLITERATION_FAILED)),
    }
}

pub(super) fn unicode_char(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let number = argument::int32(context, call.argument(0))?;
    let number = u32::try_from(number).map_err(|_| {
        Error::new(isc::EXPRESSION_EVAL_ERR).and(isc::SYSF_ARGMUSTBE_NONNEG).with("UNICODE_CHAR")
    })?;
    match char::from_u32(number) {
        Some(character) => {
            let mut bytes = [0; 4];
            Ok(Value::Text(Text::utf8(character.encode_utf8(&mut bytes))))
        }
        None => Err(Error::new(isc::ARITH_EXCEPT).and(isc::MALFORMED_STRING)),
    }
}

/// The code point of the first character; 0 for an empty text. A text without a character set is read as UTF8.
pub(super) fn unicode_val(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    let set = match text.character_set() {
        CharacterSet::NONE | CharacterSet::OCTETS => CharacterSet::UTF8,
        set => set,
    };
    let Some(first) = set.characters(text.bytes()).next() else { return Ok(Value::integer(0)) };
    let first = set.transliterate(first, CharacterSet::UTF8)?;
    let number = CharacterSet::UTF8.decode(&first)?.chars().next().map_or(0, u32::from);
    Ok(Value::integer(i64::from(number)))
}
