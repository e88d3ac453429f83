//! Tokens.

use crate::ast::{Literal, Position};
use farbird_types::Error;

/// A token and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: TokenKind,
    /// Where it begins; for [`TokenKind::End`], where the last token begins, which is where Firebird reports an
    /// unexpected end.
    pub(crate) position: Position,
    /// Offset of its first byte.
    pub(crate) start: usize,
    /// Offset behind its last byte.
    pub(crate) end: usize,
}

/// The kinds of tokens.
#[derive(Debug, Clone)]
pub(crate) enum TokenKind {
    /// An unquoted word that means nothing to the grammar, in upper case: a name.
    Word(String),
    /// A word that means something.
    Keyword {
        /// The word.
        text: &'static str,
        /// Whether it cannot be a name too.
        reserved: bool,
    },
    /// `"..."` in dialect 3: a name, doubled quotes made single.
    QuotedName(String),
    /// A string constant.
    Text(String),
    /// `x'...'`.
    Binary(Vec<u8>),
    /// A number. Negative only if hexadecimal.
    Number(Literal),
    /// A number one beyond the largest BIGINT, which `-` makes the smallest: its scale.
    NumberBeyondBigint(i8),
    /// `_name` before a string.
    Introducer(String),
    /// Punctuation.
    Symbol(&'static str),
    /// A character that begins no token.
    Unknown,
    /// What the lexer could not read; reported when the parser gets there.
    Invalid(Box<Error>),
    /// The end of the text.
    End,
}
