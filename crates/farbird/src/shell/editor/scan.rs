//! A statement cut into words, strings and the like, however incomplete it is: for colours and completion.

/// What a piece of a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Word,
    QuotedName,
    Text,
    Number,
    Comment,
    /// A sign, or a space.
    Other,
}

/// Cuts a text into pieces, which put together are the text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (PieceKind, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (kind, length) = piece(rest, first);
        let (piece, after) = rest.split_at_checked(length.max(first.len_utf8()))?;
        rest = after;
        Some((kind, piece))
    })
}

fn piece(rest: &str, first: char) -> (PieceKind, usize) {
    let through = |found: Option<usize>, more: usize| found.map_or(rest.len(), |at| at + more);
    let inside = rest.get(first.len_utf8()..).unwrap_or_default();
    let while_matching = |matches: fn(char) -> bool| rest.find(|c| !matches(c)).unwrap_or(rest.len());
    match first {
        _ if rest.starts_with("--") => (PieceKind::Comment, through(rest.find('\n'), 0)),
        _ if rest.starts_with("/*") => (PieceKind::Comment, through(rest.find("*/"), 2)),
        '\'' => (PieceKind::Text, through(inside.find('\''), 2)),
        '"' => (PieceKind::QuotedName, through(inside.find('"'), 2)),
        '0'..='9' => (PieceKind::Number, while_matching(|c| c.is_ascii_alphanumeric() || c == '.')),
        _ if is_of_name(first) => (PieceKind::Word, while_matching(is_of_name)),
        _ => (PieceKind::Other, first.len_utf8()),
    }
}

/// Whether a character can be part of a name.
pub(super) fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_text() {
        let text = "select a1, \"B c\", 'it''s', 12.5e3 -- end\nfrom t /* open";
        assert_eq!(pieces(text).map(|(_, piece)| piece).collect::<String>(), text);
        let kinds: Vec<PieceKind> =
            pieces(text).map(|(kind, _)| kind).filter(|kind| *kind != PieceKind::Other).collect();
        use PieceKind::{Comment, Number, QuotedName, Text, Word};
        assert_eq!(kinds, [Word, Word, QuotedName, Text, Text, Number, Comment, Word, Word, Comment]);
    }

    #[test]
    fn strings_without_an_end_reach_to_the_end() {
        for text in ["'abc", "\"abc", "/*", "--", "'"] {
            assert_eq!(pieces(text).count(), 1, "{text}");
        }
    }
}
