//! Text to tokens, one at a time.
//!
//! Promises: never panics; each token costs time in proportion to its length; an error is a token too, so that it is
//! reported only if the parser gets there. Source of the rules: Firebird 5, src/dsql/Parser.cpp.

mod keywords;
mod number;
mod token;

use keywords::keyword;
pub use keywords::keywords;
pub(crate) use token::{Token, TokenKind};

use crate::Dialect;
use crate::ast::Position;
use crate::error;
use crate::limits::{IDENTIFIER_CHARACTERS_MAX, STRING_BYTES_MAX};
use farbird_types::{Error, isc};

/// Punctuation of two characters.
const DOUBLE_SYMBOLS: &[&str] =
    &["!<", "!=", "!>", "~<", "~=", "~>", "^<", "^=", "^>", "<=", "<>", ">=", "||", ":="];

/// Punctuation of one character.
const SINGLE_SYMBOLS: &[&str] =
    &["(", ")", "[", "]", ",", ";", ".", ":", "?", "+", "-", "*", "/", "=", "<", ">"];

/// Reads tokens off a text.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    dialect: Dialect,
    offset: usize,
    line: u32,
    column: u32,
    /// Where the last token began.
    last: Option<Position>,
    /// Whether something has stood in double quotes.
    double_quotes: bool,
    /// What dialect 2 warns of.
    warnings: Option<Error>,
}

impl<'a> Lexer<'a> {
    /// A lexer at the beginning of a text.
    pub(crate) fn new(text: &'a str, dialect: Dialect) -> Lexer<'a> {
        Lexer {
            text,
            dialect,
            offset: 0,
            line: 1,
            column: 1,
            last: None,
            double_quotes: false,
            warnings: None,
        }
    }

    /// Whether something has stood in double quotes so far: a string or a name, by the dialect.
    pub(crate) fn has_double_quotes(&self) -> bool {
        self.double_quotes
    }

    /// What dialect 2 warns of.
    pub(crate) fn take_warnings(&mut self) -> Option<Error> {
        self.warnings.take()
    }

    /// The next token; [`TokenKind::End`] again and again at the end.
    pub(crate) fn next_token(&mut self) -> Token {
        if let Err(error) = self.skip_spaces() {
            return self.token_from(self.offset, self.position(), TokenKind::Invalid(Box::new(error)));
        }
        let (start, position) = (self.offset, self.position());
        let Some(first) = self.peek(0) else {
            let position = self.last.unwrap_or(Position { line: 1, column: 1, offset: 0 });
            return self.token_from(start, position, TokenKind::End);
        };
        let is_first_token = self.last.replace(position).is_none();
        let kind = self
            .scan(first, position, is_first_token)
            .unwrap_or_else(|error| TokenKind::Invalid(Box::new(error)));
        self.token_from(start, position, kind)
    }

    fn token_from(&self, start: usize, position: Position, kind: TokenKind) -> Token {
        Token { kind, position, start, end: self.offset }
    }

    /// Reads the token that begins with `first`.
    fn scan(&mut self, first: u8, position: Position, is_first_token: bool) -> Result<TokenKind, Error> {
        match (first, self.peek(1)) {
            (b'\'', _) => self.text_constant(),
            (b'"', _) => self.double_quoted(position),
            (b'x' | b'X', Some(b'\'')) => match self.binary_constant()? {
                Some(bytes) => Ok(TokenKind::Binary(bytes)),
                None => self.word(position, is_first_token),
            },
            (b'q' | b'Q', Some(b'\'')) => match self.alternative_quoted() {
                Some(text) => Ok(TokenKind::Text(text)),
                None => self.word(position, is_first_token),
            },
            (b'0'..=b'9', _) | (b'.', Some(b'0'..=b'9')) => Ok(self.number()),
            (b'_', _) => {
                self.advance();
                Ok(TokenKind::Introducer(self.identifier(position)?))
            }
            (b'A'..=b'Z' | b'a'..=b'z', _) => self.word(position, is_first_token),
            _ => Ok(self.symbol()),
        }
    }

    fn word(&mut self, position: Position, is_first_token: bool) -> Result<TokenKind, Error> {
        let text = self.identifier(position)?;
        match keyword(&text) {
            // COMMENT is a keyword only where a statement begins.
            Some(("COMMENT", _)) if !is_first_token => Ok(TokenKind::Word(text)),
            Some((text, reserved)) => Ok(TokenKind::Keyword { text, reserved }),
            None => Ok(TokenKind::Word(text)),
        }
    }

    /// The letters, digits, `_` and `$` from here on, in upper case.
    fn identifier(&mut self, position: Position) -> Result<String, Error> {
        let start = self.offset;
        while self.peek(0).is_some_and(is_identifier_byte) {
            self.advance();
        }
        let text = self.slice(start, self.offset);
        if text.len() > IDENTIFIER_CHARACTERS_MAX {
            return Err(error::bad_name(isc::DYN_NAME_LONGER, position));
        }
        Ok(text.to_ascii_uppercase())
    }

    /// `'...'`, and further ones behind it that only spaces divide.
    fn text_constant(&mut self) -> Result<TokenKind, Error> {
        let mut value = String::new();
        loop {
            self.quoted(b'\'', &mut value)?;
            let before_spaces = self.clone();
            self.skip_spaces()?;
            if self.peek(0) != Some(b'\'') {
                *self = before_spaces;
                break;
            }
        }
        if value.len() > STRING_BYTES_MAX {
            return Err(error::string_too_long(value.len(), STRING_BYTES_MAX));
        }
        Ok(TokenKind::Text(value))
    }

    /// `"..."`: a name in dialect 3, a string in dialect 1, and nothing in dialect 2.
    fn double_quoted(&mut self, position: Position) -> Result<TokenKind, Error> {
        let mut value = String::new();
        self.quoted(b'"', &mut value)?;
        self.double_quotes = true;
        match self.dialect {
            Dialect::One => Ok(TokenKind::Text(value)),
            Dialect::Two => Err(error::bad_name(isc::INVALID_STRING_CONSTANT, position)),
            Dialect::Three => {
                // Trailing spaces are no part of a name, as the catalog pads with them.
                value.truncate(value.trim_end_matches(' ').len());
                if value.is_empty() {
                    return Err(error::bad_name(isc::DYN_ZERO_LEN_ID, position));
                }
                if value.chars().count() > IDENTIFIER_CHARACTERS_MAX {
                    return Err(error::bad_name(isc::DYN_NAME_LONGER, position));
                }
                Ok(TokenKind::QuotedName(value))
            }
        }
    }

    /// From one quote to its partner, doubled quotes made single.
    fn quoted(&mut self, quote: u8, value: &mut String) -> Result<(), Error> {
        let opening = self.position();
        self.advance();
        let mut start = self.offset;
        loop {
            match self.peek(0) {
                None => return Err(error::command_end(opening)),
                Some(byte) if byte == quote => {
                    value.push_str(self.slice(start, self.offset));
                    self.advance();
                    if self.peek(0) != Some(quote) {
                        return Ok(());
                    }
                    start = self.offset;
                    self.advance();
                }
                Some(_) => self.advance(),
            }
        }
    }

    /// `x'0A 0B'`, and further quoted parts behind it; none if it is not well formed, and then nothing is read.
    fn binary_constant(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let before = self.clone();
        self.advance();
        let mut bytes = Vec::new();
        loop {
            if !self.hex_digits(&mut bytes) {
                *self = before;
                return Ok(None);
            }
            let before_spaces = self.clone();
            self.skip_spaces()?;
            if self.offset == before_spaces.offset || self.peek(0) != Some(b'\'') {
                *self = before_spaces;
                break;
            }
        }
        if bytes.len() > STRING_BYTES_MAX {
            return Err(error::string_too_long(bytes.len(), STRING_BYTES_MAX));
        }
        Ok(Some(bytes))
    }

    /// Pairs of hexadecimal digits between two quotes, spaces ignored; false if there is anything else.
    fn hex_digits(&mut self, bytes: &mut Vec<u8>) -> bool {
        self.advance();
        let mut high: Option<u8> = None;
        loop {
            let Some(byte) = self.peek(0) else { return false };
            self.advance();
            match (byte, char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())) {
                (b'\'', _) => return high.is_none(),
                (b' ', _) => {}
                (_, Some(digit)) => match high.take() {
                    None => high = Some(digit),
                    Some(high) => bytes.push(high << 4 | digit),
                },
                _ => return false,
            }
        }
    }

    /// `q'{...}'`; none if it does not end, and then nothing is read.
    fn alternative_quoted(&mut self) -> Option<String> {
        let (value, length) = alternative_quoted(self.text.get(self.offset..)?)?;
        let end = self.offset + length;
        while self.offset < end {
            self.advance();
        }
        Some(value.to_owned())
    }

    fn symbol(&mut self) -> TokenKind {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        for symbol in DOUBLE_SYMBOLS.iter().chain(SINGLE_SYMBOLS) {
            if rest.starts_with(symbol) {
                for _ in 0..symbol.len() {
                    self.advance();
                }
                return TokenKind::Symbol(symbol);
            }
        }
        for _ in 0..rest.chars().next().map_or(0, char::len_utf8) {
            self.advance();
        }
        TokenKind::Unknown
    }

    /// Passes over white space and comments.
    pub(crate) fn skip_spaces(&mut self) -> Result<(), Error> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b' ' | b'\t' | b'\r' | b'\n' | 0x0B | 0x0C | 0), _) => self.advance(),
                (Some(b'-'), Some(b'-')) => {
                    while self.peek(0).is_some_and(|byte| byte != b'\n' && byte != b'\r') {
                        self.advance();
                    }
                }
                (Some(b'/'), Some(b'*')) => self.skip_block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<(), Error> {
        let opening = self.position();
        self.advance();
        self.advance();
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Err(error::command_end(opening)),
                (Some(b'*'), Some(b'/')) => {
                    self.advance();
                    self.advance();
                    return Ok(());
                }
                _ => self.advance(),
            }
        }
    }

    /// The byte so far ahead.
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.offset.checked_add(ahead)?).copied()
    }

    /// Passes over one byte, counting lines, and columns in characters.
    fn advance(&mut self) {
        match (self.peek(0), self.peek(1)) {
            (None, _) => return,
            // The line ends behind the line feed.
            (Some(b'\r'), Some(b'\n')) => {}
            (Some(b'\r' | b'\n'), _) => {
                self.line = self.line.saturating_add(1);
                self.column = 1;
            }
            // A byte that goes on with a UTF-8 character.
            (Some(0x80..=0xBF), _) => {}
            _ => self.column = self.column.saturating_add(1),
        }
        self.offset += 1;
    }

    /// Where the next byte stands.
    pub(crate) fn position(&self) -> Position {
        Position {
            line: self.line,
            column: self.column,
            offset: u32::try_from(self.offset).unwrap_or(u32::MAX),
        }
    }

    /// A part of the text.
    pub(crate) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// The contents and the length of the `q'{...}'`, with any pair of delimiters, that begins a text.
pub fn alternative_quoted(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix(['q', 'Q'])?.strip_prefix('\'')?;
    let opening = rest.chars().next()?;
    let closing = match opening {
        '{' => '}',
        '(' => ')',
        '[' => ']',
        '<' => '>',
        other => other,
    };
    let body = rest.get(opening.len_utf8()..)?;
    let end_mark = format!("{closing}'");
    // No further than a string may reach, or many that do not end would cost time in proportion to the square of the
    // text.
    let mut reach = body.len().min(STRING_BYTES_MAX + end_mark.len());
    while !body.is_char_boundary(reach) {
        reach -= 1;
    }
    let length = body.get(..reach)?.find(&end_mark)?;
    Some((body.get(..length)?, 2 + opening.len_utf8() + length + end_mark.len()))
}

/// Whether an unquoted identifier may contain this byte.
fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Whether a text has the shape of an unquoted name in upper case, keyword or not.
pub(crate) fn is_identifier(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
        && text.bytes().all(|byte| is_identifier_byte(byte) && !byte.is_ascii_lowercase())
}

/// Whether a name can stand without quotes and be taken for nothing else.
pub(crate) fn is_plain_name(text: &str) -> bool {
    is_identifier(text) && keyword(text).is_none()
}

#[cfg(test)]
mod tests;
