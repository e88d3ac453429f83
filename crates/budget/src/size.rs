//! What values take in memory, more or less.

use farbird_types::Value;

/// What an allocation costs beside its contents.
const ALLOCATION_BYTES: usize = 16;

/// What a value takes beside its place: its text. Texts are shared; whoever keeps one counts it.
#[inline]
pub fn heap_bytes(value: &Value) -> usize {
    match value {
        // Two counts stand before the bytes of a shared text.
        Value::Text(text) => text.bytes().len() + 2 * size_of::<usize>() + ALLOCATION_BYTES,
        _ => 0,
    }
}

/// What a row takes in a vector of its own.
#[inline]
pub fn row_bytes(row: &[Value]) -> usize {
    size_of::<Vec<Value>>() + ALLOCATION_BYTES + size_of_val(row) + row.iter().map(heap_bytes).sum::<usize>()
}

/// What a prepared statement takes beside what its text asks for.
const PREPARED_BYTES: usize = 2 << 10;
/// What each token of a text becomes: trees, expressions, plans, descriptions. Measured with lists of values, select lists, conditions
/// and blocks of many statements: 150 to 390 bytes.
const TOKEN_BYTES: usize = 256;

/// What a statement takes while it is prepared, by the tokens of its text.
pub fn prepared_bytes(sql: &str) -> usize {
    PREPARED_BYTES + sql.len() + tokens(sql.as_bytes()).saturating_mul(TOKEN_BYTES)
}

/// How many tokens a text has, more or less: names and numbers, texts, symbols; no comments.
fn tokens(mut text: &[u8]) -> usize {
    let mut count = 0;
    while let Some(first) = text.first() {
        let length = match first {
            b'-' if text.starts_with(b"--") => length_until(text, b"\n"),
            b'/' if text.starts_with(b"/*") => length_until(text, b"*/"),
            byte if byte.is_ascii_whitespace() => 1,
            quote @ (b'\'' | b'"') => {
                count += 1;
                1 + length_until(text.get(1..).unwrap_or_default(), &[*quote])
            }
            byte if is_word(*byte) => {
                count += 1;
                text.iter().take_while(|byte| is_word(**byte)).count()
            }
            _ => {
                count += 1;
                1
            }
        };
        text = text.get(length..).unwrap_or_default();
    }
    count
}

/// How long a text is to the end of what ends it; all of it if nothing does.
fn length_until(text: &[u8], end: &[u8]) -> usize {
    text.windows(end.len()).position(|found| found == end).map_or(text.len(), |place| place + end.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_without_comments() {
        for (text, expected) in [
            ("", 0),
            ("select 1, 'it''s -- one' from t", 7),
            ("-- no\n/* nor / * this */ x$1+\"a b\"", 3),
            ("'open", 1),
            ("/* open", 0),
            ("é = ?", 3),
        ] {
            assert_eq!(tokens(text.as_bytes()), expected, "{text}");
        }
    }
}
