//! What an entry point is, and what its arguments are to it: NULL is 0, an empty text or day zero, texts are bytes.

use farbird_types::{CharacterSet, Result, Text, Timestamp, Value};

use crate::argument;
use crate::context::Context;

/// How an entry point is computed: its arguments without the one that it gives back.
pub type EntryBody = fn(&mut Context<'_>, &[Value]) -> Result<Value>;

/// An entry point of a library.
pub struct Entry {
    /// As in ENTRY_POINT; letters of both cases are told apart.
    pub(super) name: &'static str,
    /// How many arguments it takes.
    pub arguments: usize,
    /// What it computes, of any types that can be had for what it takes.
    pub body: EntryBody,
}

pub(super) const fn entry(name: &'static str, arguments: usize, body: EntryBody) -> Entry {
    Entry { name, arguments, body }
}

pub(super) fn value(arguments: &[Value], place: usize) -> &Value {
    const NULL: Value = Value::Null;
    arguments.get(place).unwrap_or(&NULL)
}

/// A number; 0 for NULL.
pub(super) fn number(context: &Context<'_>, arguments: &[Value], place: usize) -> Result<f64> {
    match value(arguments, place) {
        Value::Null => Ok(0.0),
        number => argument::double(context, number),
    }
}

/// A whole number; 0 for NULL.
pub(super) fn integer(context: &Context<'_>, arguments: &[Value], place: usize) -> Result<i64> {
    match value(arguments, place) {
        Value::Null => Ok(0),
        number => argument::integer(context, number),
    }
}

/// A text, empty for NULL: its bytes, and their character set.
pub(super) fn text(context: &mut Context<'_>, arguments: &[Value], place: usize) -> Result<Text> {
    match value(arguments, place) {
        Value::Null => Ok(Text::new(Vec::new(), CharacterSet::NONE)),
        text => argument::text(context, text),
    }
}

/// Some bytes of a text as a text.
pub(super) fn like(text: &Text, bytes: &[u8]) -> Value {
    Value::Text(Text::new(bytes, text.character_set()))
}

/// The letters A to Z as small ones.
pub(super) fn lower(text: &Text) -> Value {
    like(text, &text.bytes().to_ascii_lowercase())
}

/// Without the blanks before it.
pub(super) fn without_leading_blanks(text: &Text) -> Value {
    let start = text.bytes().iter().position(|byte| *byte != b' ').unwrap_or(text.bytes().len());
    like(text, text.bytes().get(start..).unwrap_or_default())
}

/// Bytes from `first` to `last`, counted from 1.
pub(super) fn bytes_between(text: &Text, first: i64, last: i64) -> Value {
    let bytes = text.bytes();
    let start = usize::try_from(first - 1).unwrap_or(0).min(bytes.len());
    let end = usize::try_from(last).unwrap_or(0).clamp(start, bytes.len());
    like(text, bytes.get(start..end).unwrap_or_default())
}

/// A moment; day zero of the calendar for NULL, as a structure of zeros is.
pub(super) fn moment(arguments: &[Value], place: usize) -> Timestamp {
    match value(arguments, place) {
        Value::Timestamp(moment) => *moment,
        Value::Date(date) => Timestamp::midnight(*date),
        _ => Timestamp::default(),
    }
}
