//! `:name` in the text of EXECUTE STATEMENT.
//!
//! As Firebird does, names are replaced by `?` before the text is parsed: what they stand for gets the type that its place
//! asks for.

/// The text with each `:name` replaced by `?`, and the names in order, in upper case unless quoted.
///
/// Strings, quoted names and comments stay as they are; of an EXECUTE BLOCK only the head, since names in its body are
/// its own variables.
pub(super) fn replaced(sql: &str) -> (String, Vec<String>) {
    let mut text = String::with_capacity(sql.len());
    let mut names = Vec::new();
    let mut rest = sql;
    let mut words: Vec<String> = Vec::new();
    let mut depth = 0_u32;
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let (token, after) = rest.split_at(length);
        match first {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ':' if !after.starts_with('=') => {
                if let Some((name, length)) = name(after) {
                    names.push(name);
                    text.push('?');
                    rest = after.get(length..).unwrap_or_default();
                    continue;
                }
            }
            _ if is_word_start(first) => {
                let word = token.to_ascii_uppercase();
                let in_block = words.starts_with(&["EXECUTE".to_owned(), "BLOCK".to_owned()]);
                if in_block && depth == 0 && word == "AS" {
                    text.push_str(rest);
                    return (text, names);
                }
                if words.len() < 2 {
                    words.push(word);
                }
            }
            _ => {}
        }
        text.push_str(token);
        rest = after;
    }
    (text, names)
}

fn is_word_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

fn is_word_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '$'
}

/// How many bytes belong together: a string, a quoted name, a comment, a word, or one character.
fn token_length(text: &str, first: char) -> usize {
    let one = first.len_utf8();
    let body = text.get(one..).unwrap_or_default();
    let until = |end: &str| body.find(end).map_or(text.len(), |found| one + found + end.len());
    match first {
        '\'' => until("'"),
        '"' => until("\""),
        '-' if body.starts_with('-') => until("\n"),
        '/' if body.starts_with('*') => until("*/"),
        _ if is_word_start(first) => text.find(|character| !is_word_part(character)).unwrap_or(text.len()),
        _ => one,
    }
}

/// The name that a text begins with, and its length in bytes.
fn name(text: &str) -> Option<(String, usize)> {
    let first = text.chars().next()?;
    let length = token_length(text, first);
    let token = text.get(..length)?;
    if first == '"' {
        return Some((token.trim_matches('"').to_owned(), length));
    }
    is_word_start(first).then(|| (token.to_ascii_uppercase(), length))
}

#[cfg(test)]
mod tests {
    use super::replaced;

    fn check(sql: &str, text: &str, names: &[&str]) {
        let (got, found) = replaced(sql);
        assert_eq!(
            (got.as_str(), found.iter().map(String::as_str).collect::<Vec<_>>()),
            (text, names.to_vec())
        );
    }

    #[test]
    fn names_become_parameters() {
        check("select :a + :\"b c\" from t", "select ? + ? from t", &["A", "b c"]);
        check(
            "select ':a', \":b\" /* :c */ from t -- :d\n where x = :e",
            "select ':a', \":b\" /* :c */ from t -- :d\n where x = ?",
            &["E"],
        );
        check("select 'it''s :a'", "select 'it''s :a'", &[]);
        check("", "", &[]);
    }

    #[test]
    fn blocks_keep_their_variables() {
        check(
            "execute block (x int = :a) as begin y = :x; end",
            "execute block (x int = ?) as begin y = :x; end",
            &["A"],
        );
    }
}
