//! The parser's place in the text: looking at tokens, taking them, and the small things made of one or two.

use crate::ParseOptions;
use crate::ast::{Literal, Name, ObjectName, Position, Source};
use crate::error;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::limits::{DEPTH_MAX, PARAMETERS_MAX, WARNING_CODES_MAX};
use farbird_types::{Error, Result, isc};
use std::collections::VecDeque;

/// A parser at a place in a text.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    pub(super) options: ParseOptions,
    /// Whether a type has been written that another dialect takes for another one.
    pub(super) has_ambiguous_type: bool,
    /// What its client is warned of.
    warnings: Option<Error>,
    /// The token to be taken next.
    current: Token,
    /// Those behind it that somebody looked at.
    ahead: VecDeque<Token>,
    /// How many tokens from here a clause of several keywords went along before it failed: where it failed is where the
    /// text is at fault, if nothing else can stand here.
    followed: usize,
    /// Offset behind the last token taken.
    taken_end: usize,
    parameters: u32,
    /// How deep the recursion is.
    depth: u32,
    /// Height of the tallest tree made so far at this depth.
    height: u32,
}

/// Where a piece of source text began.
#[derive(Clone, Copy)]
pub(super) struct SourceStart {
    offset: usize,
    position: Position,
}

/// What [`Parser::enter`\] must give back to [`Parser::leave`].
pub(super) struct OuterHeight(u32);

impl<'a> Parser<'a> {
    /// A parser at the beginning of a text.
    pub(super) fn new(text: &'a str, options: ParseOptions) -> Parser<'a> {
        let mut lexer = Lexer::new(text, options.dialect);
        let current = lexer.next_token();
        Parser {
            lexer,
            options,
            has_ambiguous_type: false,
            warnings: None,
            current,
            ahead: VecDeque::new(),
            followed: 0,
            taken_end: 0,
            parameters: 0,
            depth: 0,
            height: 0,
        }
    }

    /// Number of `?` so far.
    pub(super) fn parameter_count(&self) -> u32 {
        self.parameters
    }

    /// Whether something has been read that another dialect takes for something else.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.has_ambiguous_type || self.lexer.has_double_quotes()
    }

    /// One more thing to warn of.
    pub(super) fn warn(&mut self, warning: Error) {
        self.warnings = Some(match self.warnings.take() {
            Some(before) if before.items().len() >= WARNING_CODES_MAX => before,
            Some(before) => before.and_all(warning),
            None => warning,
        });
    }

    /// What there is to warn of.
    pub(super) fn take_warnings(&mut self) -> Option<Error> {
        if let Some(warning) = self.lexer.take_warnings() {
            self.warn(warning);
        }
        self.warnings.take()
    }

    // Depth.

    /// Goes one level down; every recursion passes through here.
    pub(super) fn enter(&mut self) -> Result<OuterHeight> {
        self.depth += 1;
        self.check_height()?;
        Ok(OuterHeight(std::mem::replace(&mut self.height, 0)))
    }

    /// Comes back up with a tree.
    pub(super) fn leave(&mut self, outer: OuterHeight) {
        self.depth = self.depth.saturating_sub(1);
        self.height = outer.0.max(self.height.saturating_add(1));
    }

    /// A tree of this level becomes the child of a new one: a chain of operators grows without recursion.
    pub(super) fn grow(&mut self) -> Result<()> {
        self.height = self.height.saturating_add(1);
        self.check_height()
    }

    fn check_height(&self) -> Result<()> {
        if self.depth.saturating_add(self.height) > DEPTH_MAX {
            return Err(error::limit_exceeded("depth of nesting"));
        }
        Ok(())
    }

    // Tokens.

    /// The next token.
    pub(super) fn peek(&self) -> &TokenKind {
        &self.current.kind
    }

    /// Where the next token stands.
    pub(super) fn position(&self) -> Position {
        self.current.position
    }

    /// The token so far behind the next one.
    pub(super) fn peek_ahead(&mut self, distance: usize) -> &TokenKind {
        while self.ahead.len() < distance {
            let token = self.lexer.next_token();
            self.ahead.push_back(token);
        }
        distance
            .checked_sub(1)
            .and_then(|index| self.ahead.get(index))
            .map_or(&self.current.kind, |token| &token.kind)
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token {
        let next = self.ahead.pop_front().unwrap_or_else(|| self.lexer.next_token());
        self.taken_end = self.current.end;
        self.followed = 0;
        std::mem::replace(&mut self.current, next)
    }

    /// The status for a next token that cannot stand here.
    pub(super) fn unexpected(&self) -> Error {
        let token =
            self.followed.checked_sub(1).and_then(|index| self.ahead.get(index)).unwrap_or(&self.current);
        match &token.kind {
            TokenKind::Invalid(error) => (**error).clone(),
            TokenKind::End => error::command_end(token.position),
            _ => error::token_unknown(token.position, self.lexer.slice(token.start, token.end)),
        }
    }

    /// The status for a clause that says nothing: at the end of the text, Firebird names the place behind it.
    pub(super) fn incomplete(&self) -> Error {
        match self.peek() {
            TokenKind::End => error::command_end(self.lexer.position()),
            _ => self.unexpected(),
        }
    }

    /// Nothing may follow.
    pub(super) fn expect_end(&self) -> Result<()> {
        match self.peek() {
            TokenKind::End => Ok(()),
            _ => Err(self.unexpected()),
        }
    }

    /// Whether the next token is this keyword.
    pub(super) fn at_keyword(&self, keyword: &str) -> bool {
        is_keyword(self.peek(), keyword)
    }

    /// Whether the next token is this word, which is no keyword: `word` in upper case.
    pub(super) fn at_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(found) if *found == *word)
    }

    /// Takes this word, which is no keyword and must be next.
    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if !self.at_word(word) {
            return Err(self.unexpected());
        }
        self.take();
        Ok(())
    }

    /// Whether the next token is one of these keywords.
    pub(super) fn at_any_keyword(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.at_keyword(keyword))
    }

    /// Whether the next tokens are these keywords.
    pub(super) fn at_keywords(&mut self, keywords: &[&str]) -> bool {
        (0..).zip(keywords).all(|(distance, keyword)| is_keyword(self.peek_ahead(distance), keyword))
    }

    /// Whether the token so far behind the next one is this keyword.
    pub(super) fn keyword_ahead(&mut self, distance: usize, keyword: &str) -> bool {
        is_keyword(self.peek_ahead(distance), keyword)
    }

    /// Whether the token so far behind the next one is this punctuation.
    pub(super) fn symbol_ahead(&mut self, distance: usize, symbol: &str) -> bool {
        is_symbol(self.peek_ahead(distance), symbol)
    }

    /// The next token if it is a keyword.
    pub(super) fn keyword(&self) -> Option<&'static str> {
        match self.peek() {
            TokenKind::Keyword { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Takes this keyword if it is next.
    pub(super) fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.take();
        }
        found
    }

    /// Takes these keywords if they are next.
    pub(super) fn eat_keywords(&mut self, keywords: &[&str]) -> bool {
        let matching = (0..)
            .zip(keywords)
            .take_while(|(distance, keyword)| self.keyword_ahead(*distance, keyword))
            .count();
        if matching < keywords.len() {
            self.followed = self.followed.max(matching);
            return false;
        }
        for _ in keywords {
            self.take();
        }
        true
    }

    /// Takes this keyword, which must be next.
    pub(super) fn expect_keyword(&mut self, keyword: &str) -> Result<()> {
        if self.eat_keyword(keyword) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Takes these keywords, which must be next.
    pub(super) fn expect_keywords(&mut self, keywords: &[&str]) -> Result<()> {
        keywords.iter().try_for_each(|keyword| self.expect_keyword(keyword))
    }

    /// Whether the next token is this punctuation.
    pub(super) fn at_symbol(&self, symbol: &str) -> bool {
        is_symbol(self.peek(), symbol)
    }

    /// Takes this punctuation if it is next.
    pub(super) fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.take();
        }
        found
    }

    /// Takes this punctuation, which must be next.
    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.eat_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    // Lists.

    /// One or more, with commas between them.
    pub(super) fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_symbol(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// One or more in parentheses.
    pub(super) fn parenthesised_list<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect_symbol("(")?;
        let items = self.comma_list(item)?;
        self.expect_symbol(")")?;
        Ok(items)
    }

    /// Names in parentheses; empty if there is no parenthesis.
    pub(super) fn optional_names(&mut self) -> Result<Vec<Name>> {
        if self.at_symbol("(") { self.parenthesised_list(Self::name) } else { Ok(Vec::new()) }
    }

    // Names.

    /// Whether the next token can be a name.
    pub(super) fn at_name(&self) -> bool {
        is_name(self.peek())
    }

    /// Whether the token so far behind the next one can be a name.
    pub(super) fn name_ahead(&mut self, distance: usize) -> bool {
        is_name(self.peek_ahead(distance))
    }

    /// A name: quoted, or a word that is not reserved.
    pub(super) fn name(&mut self) -> Result<Name> {
        if !self.at_name() {
            return Err(self.unexpected());
        }
        self.name_of_any_word()
    }

    /// `[package.]name`.
    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        let first = self.name()?;
        if self.eat_symbol(".") {
            return Ok(ObjectName { package: Some(first), name: self.name()? });
        }
        Ok(first.into())
    }

    /// A name, or one of these reserved words in its place.
    pub(super) fn name_or_keyword(&mut self, keywords: &[&str]) -> Result<Name> {
        if self.at_any_keyword(keywords) { self.name_of_any_word() } else { self.name() }
    }

    /// A name: quoted, or any word at all.
    pub(super) fn name_of_any_word(&mut self) -> Result<Name> {
        if !matches!(self.peek(), TokenKind::Word(_) | TokenKind::Keyword { .. } | TokenKind::QuotedName(_)) {
            return Err(self.unexpected());
        }
        let token = self.take();
        let (text, quoted) = match token.kind {
            TokenKind::QuotedName(text) => (text, true),
            TokenKind::Word(text) => (text, false),
            TokenKind::Keyword { text, .. } => (text.to_owned(), false),
            _ => (String::new(), false),
        };
        Ok(Name { text, quoted, position: token.position })
    }

    // Constants.

    /// `?`: its number.
    pub(super) fn parameter(&mut self) -> Result<u32> {
        self.expect_symbol("?")?;
        let number = self.parameters;
        if number >= PARAMETERS_MAX {
            return Err(error::limit_exceeded("number of parameters"));
        }
        self.parameters = number + 1;
        Ok(number)
    }

    /// A string, with an introducer perhaps, which is dropped.
    pub(super) fn text(&mut self) -> Result<String> {
        if matches!(self.peek(), TokenKind::Introducer(_)) {
            self.take();
        }
        if !matches!(self.peek(), TokenKind::Text(_)) {
            return Err(self.unexpected());
        }
        match self.take().kind {
            TokenKind::Text(text) => Ok(text),
            _ => Ok(String::new()),
        }
    }

    /// A whole number of up to 31 bits without a sign.
    pub(super) fn long(&mut self) -> Result<i32> {
        let value = match self.peek() {
            TokenKind::Number(Literal::Integer { value, .. }) => i32::try_from(*value).ok(),
            _ => None,
        };
        let value = value.ok_or_else(|| self.unexpected())?;
        self.take();
        Ok(value)
    }

    /// A whole number of up to 31 bits, with `-` perhaps.
    pub(super) fn signed_long(&mut self) -> Result<i32> {
        let negative = self.eat_symbol("-");
        let value = self.long()?;
        Ok(if negative { value.saturating_neg() } else { value })
    }

    /// A whole number within the limits of its place.
    ///
    /// # Errors
    /// The code, with the place, if it is outside.
    pub(super) fn long_within(&mut self, min: i32, max: i32, code: u32) -> Result<i32> {
        let position = self.position();
        let value = self.long()?;
        if (min..=max).contains(&value) {
            Ok(value)
        } else {
            Err(error::bad_type_number(code, &[], position))
        }
    }

    /// 0 to 65535.
    pub(super) fn unsigned_short(&mut self) -> Result<u16> {
        let value = self.long_within(0, i32::from(u16::MAX), isc::EXPEC_USHORT)?;
        Ok(u16::try_from(value).unwrap_or(u16::MAX))
    }

    /// 0 to 32767.
    pub(super) fn short(&mut self) -> Result<i16> {
        let value = self.long_within(0, i32::from(i16::MAX), isc::EXPEC_SHORT)?;
        Ok(i16::try_from(value).unwrap_or(i16::MAX))
    }

    /// 1 to 32767.
    pub(super) fn positive_short(&mut self) -> Result<i32> {
        let position = self.position();
        match self.short()? {
            0 => Err(error::bad_type_number(isc::EXPEC_POSITIVE, &[], position)),
            value => Ok(i32::from(value)),
        }
    }

    /// -32768 to 32767.
    pub(super) fn signed_short(&mut self) -> Result<i16> {
        let position = self.position();
        i16::try_from(self.signed_long()?)
            .map_err(|_| error::bad_type_number(isc::EXPEC_SHORT, &[], position))
    }

    /// A whole number of up to 64 bits, with `-` perhaps: a sequence's value.
    pub(super) fn bigint(&mut self) -> Result<i64> {
        let negative = self.eat_symbol("-");
        let value = match self.peek() {
            TokenKind::Number(Literal::Integer { value, .. }) if negative => value.checked_neg(),
            TokenKind::Number(Literal::Integer { value, .. }) => Some(*value),
            TokenKind::NumberBeyondBigint(0) if negative => Some(i128::from(i64::MIN)),
            _ => None,
        };
        let value = value.ok_or_else(|| self.unexpected())?;
        let value = i64::try_from(value).map_err(|_| error::number_out_of_range())?;
        self.take();
        Ok(value)
    }

    // Source texts.

    /// Marks the beginning of a piece of source text: comments before the next token belong to it, as in Firebird.
    pub(super) fn source_start(&self) -> SourceStart {
        SourceStart { offset: self.taken_end, position: self.current.position }
    }

    /// The text from a mark up to the next token, without the white space around it.
    pub(super) fn source_since(&self, start: SourceStart) -> Source {
        let text = self.lexer.slice(start.offset, self.current.start);
        Source { text: text.trim_matches([' ', '\t', '\r', '\n']).to_owned(), position: start.position }
    }
}

fn is_keyword(token: &TokenKind, keyword: &str) -> bool {
    matches!(token, TokenKind::Keyword { text, .. } if *text == keyword)
}

fn is_symbol(token: &TokenKind, symbol: &str) -> bool {
    matches!(token, TokenKind::Symbol(found) if *found == symbol)
}

fn is_name(token: &TokenKind) -> bool {
    matches!(
        token,
        TokenKind::QuotedName(_) | TokenKind::Word(_) | TokenKind::Keyword { reserved: false, .. }
    )
}
