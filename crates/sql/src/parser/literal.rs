//! Constants, and the values of DEFAULT.

use super::cursor::Parser;
use crate::ast::{Expression, ExpressionKind, Literal, Name, UnaryOperator};
use crate::lexer::TokenKind;
use farbird_types::{ExactWidth, Result};

impl Parser<'_> {
    /// A constant without a sign.
    pub(super) fn literal(&mut self) -> Result<Literal> {
        match self.keyword() {
            Some("NULL") => return Ok(self.take_for(Literal::Null)),
            Some("UNKNOWN") => return Ok(self.take_for(Literal::Unknown)),
            Some("TRUE") => return Ok(self.take_for(Literal::Boolean(true))),
            Some("FALSE") => return Ok(self.take_for(Literal::Boolean(false))),
            Some("DATE") => return self.date_or_time("DATE", Literal::Date),
            Some("TIME") => return self.date_or_time("TIME", Literal::Time),
            Some("TIMESTAMP") => return self.typed_text(Literal::Timestamp),
            _ => {}
        }
        let character_set = match self.peek() {
            TokenKind::Introducer(text) => {
                let name = Name { text: text.clone(), quoted: false, position: self.position() };
                self.take();
                Some(name)
            }
            _ => None,
        };
        let literal = match self.peek() {
            TokenKind::Text(value) => Literal::String { value: value.clone(), character_set },
            TokenKind::Binary(value) => Literal::Binary { value: value.clone(), character_set },
            TokenKind::Number(number) if character_set.is_none() => number.clone(),
            TokenKind::NumberBeyondBigint(scale) if character_set.is_none() => beyond_bigint(*scale, false),
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(literal)
    }

    fn take_for(&mut self, literal: Literal) -> Literal {
        self.take();
        literal
    }

    /// DATE or TIME before a string, which dialect 1 does not have.
    fn date_or_time(&mut self, name: &str, literal: fn(String) -> Literal) -> Result<Literal> {
        let literal = self.typed_text(literal)?;
        self.check_type_is_known(name)?;
        Ok(literal)
    }

    /// DATE, TIME or TIMESTAMP before a string.
    fn typed_text(&mut self, literal: fn(String) -> Literal) -> Result<Literal> {
        self.take();
        match self.peek() {
            TokenKind::Text(text) => {
                let literal = literal(text.clone());
                self.take();
                Ok(literal)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// What may stand behind DEFAULT: a constant with a sign perhaps, NULL, or a context variable.
    pub(super) fn default_value(&mut self) -> Result<Expression> {
        let position = self.position();
        if self.at_symbol("-") {
            if !matches!(self.peek_ahead(1), TokenKind::Number(_) | TokenKind::NumberBeyondBigint(_)) {
                self.take();
                return Err(self.unexpected());
            }
            self.take();
            let kind = if let TokenKind::NumberBeyondBigint(scale) = self.peek() {
                let literal = beyond_bigint(*scale, true);
                self.take();
                ExpressionKind::Literal(literal)
            } else {
                let number = self.position();
                let operand = Expression::new(ExpressionKind::Literal(self.literal()?), number);
                ExpressionKind::Unary { operator: UnaryOperator::Minus, operand: Box::new(operand) }
            };
            return Ok(Expression::new(kind, position));
        }
        let kind = match self.context_variable()? {
            Some(variable) => ExpressionKind::ContextVariable(variable),
            None if self.at_keyword("RDB$ERROR") => self.error_context()?,
            None => ExpressionKind::Literal(self.literal()?),
        };
        Ok(Expression::new(kind, position))
    }
}

/// 9223372036854775808 with a scale: one more than a BIGINT holds, unless it is negative.
pub(super) fn beyond_bigint(scale: i8, negative: bool) -> Literal {
    let (value, width) =
        if negative { (i128::from(i64::MIN), ExactWidth::Int64) } else { (1 << 63, ExactWidth::Int128) };
    if scale == 0 {
        Literal::Integer { value, width }
    } else {
        Literal::Exact { unscaled: value, scale, width }
    }
}
