//! What values take in memory, more or less.

use farbird_types::Value;

/// What an allocation costs beside its contents.
const ALLOCATION_BYTES: usize = 16;

/// What a value takes beside its place: its text. Texts are shared; whoever keeps one counts it.
pub(crate) fn heap_bytes(value: &Value) -> usize {
    match value {
        // Two counts stand before the bytes of a shared text.
        Value::Text(text) => text.bytes().len() + 2 * size_of::<usize>() + ALLOCATION_BYTES,
        _ => 0,
    }
}

/// What a row takes in a vector of its own.
pub(crate) fn row_bytes(row: &[Value]) -> usize {
    size_of::<Vec<Value>>() + ALLOCATION_BYTES + size_of_val(row) + row.iter().map(heap_bytes).sum::<usize>()
}
