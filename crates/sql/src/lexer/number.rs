//! Numbers: which type a constant has is decided by how it is written.
//!
//! Source: Firebird 5, src/dsql/Parser.cpp (yylexAux); a number that is not well formed ends before its fault.

use super::{Lexer, TokenKind};
use crate::Dialect;
use crate::ast::Literal;
use crate::limits::WARNING_CODES_MAX;
use farbird_types::{Error, ExactWidth, isc};

/// Most hexadecimal digits of a number: those of an INT128.
const HEX_DIGITS_MAX: usize = 32;
/// Largest exponent of a DOUBLE PRECISION.
const EXPONENT_MAX: i32 = 308;
/// One more than the largest BIGINT.
const BEYOND_BIGINT: i128 = 1 << 63;

/// A decimal number, taken apart.
#[derive(Default)]
struct Digits {
    /// The digits without the point; none beyond INT128.
    unscaled: Option<i128>,
    /// Digits behind the point.
    decimals: i32,
    /// Whether there is a point.
    has_point: bool,
    /// What stands behind E.
    exponent: Option<i32>,
}

impl Lexer<'_> {
    /// The number that begins here.
    pub(super) fn number(&mut self) -> TokenKind {
        if self.peek(0) == Some(b'0')
            && matches!(self.peek(1), Some(b'x' | b'X'))
            && let Some(number) = self.hexadecimal()
        {
            return number;
        }
        let before = self.clone();
        let start = self.offset;
        match self.decimal_digits() {
            Some(digits) => {
                let text = self.slice(start, self.offset);
                let number = classify(&digits, text, self.dialect);
                if self.dialect == Dialect::Two && is_otherwise_in_dialect_1(&number) {
                    self.warn_of_number(text);
                }
                number
            }
            // Firebird takes a number with a fault for a character that begins no token.
            None => {
                *self = before;
                self.advance();
                TokenKind::Unknown
            }
        }
    }

    /// Says that a number is another one in dialect 1.
    fn warn_of_number(&mut self, text: &str) {
        let warning = Error::new(isc::DSQL_WARNING_NUMBER_AMBIGUOUS)
            .with(text)
            .and(isc::DSQL_WARNING_NUMBER_AMBIGUOUS1);
        self.warnings = Some(match self.warnings.take() {
            Some(before) if before.items().len() >= WARNING_CODES_MAX => before,
            Some(before) => before.and_all(warning),
            None => warning,
        });
    }

    fn hexadecimal(&mut self) -> Option<TokenKind> {
        let before = self.clone();
        self.advance();
        self.advance();
        let start = self.offset;
        while self.peek(0).is_some_and(|byte| byte.is_ascii_hexdigit()) {
            self.advance();
        }
        let digits = self.slice(start, self.offset);
        if digits.is_empty() || digits.len() > HEX_DIGITS_MAX {
            *self = before;
            return None;
        }
        let bits = u128::from_str_radix(digits, 16).ok()?;
        // The number of digits gives the width, and the first bit of that width the sign.
        let (value, width) = match digits.len() {
            0..=8 => (i128::from(u32::try_from(bits).ok()?.cast_signed()), ExactWidth::Long),
            9..=16 => (i128::from(u64::try_from(bits).ok()?.cast_signed()), ExactWidth::Int64),
            _ => (bits.cast_signed(), ExactWidth::Int128),
        };
        Some(TokenKind::Number(Literal::Integer { value, width }))
    }

    /// Digits, point, exponent; none if there are two points or no digits where they are needed.
    fn decimal_digits(&mut self) -> Option<Digits> {
        let mut digits = Digits { unscaled: Some(0), ..Digits::default() };
        loop {
            match self.peek(0) {
                Some(b'.') if digits.has_point => return None,
                Some(b'.') => digits.has_point = true,
                Some(byte @ b'0'..=b'9') => {
                    digits.unscaled = digits
                        .unscaled
                        .and_then(|value| value.checked_mul(10))
                        .and_then(|value| value.checked_add(i128::from(byte - b'0')));
                    if digits.has_point {
                        digits.decimals = digits.decimals.saturating_add(1);
                    }
                }
                Some(b'e' | b'E') => {
                    self.advance();
                    digits.exponent = Some(self.exponent()?);
                    return Some(digits);
                }
                _ => return Some(digits),
            }
            self.advance();
        }
    }

    /// `[+-]digits`.
    fn exponent(&mut self) -> Option<i32> {
        let negative = self.peek(0) == Some(b'-');
        if matches!(self.peek(0), Some(b'+' | b'-')) {
            self.advance();
        }
        if !self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut value = 0i32;
        while let Some(byte @ b'0'..=b'9') = self.peek(0) {
            value = value.saturating_mul(10).saturating_add(i32::from(byte - b'0'));
            self.advance();
        }
        Some(if negative { value.saturating_neg() } else { value })
    }
}

/// The type of a decimal number.
fn classify(digits: &Digits, text: &str, dialect: Dialect) -> TokenKind {
    let Ok(scale) = i8::try_from(digits.decimals.saturating_neg()) else { return approximate(text, true) };
    let fits_bigint = digits.unscaled.is_some_and(|value| value < BEYOND_BIGINT);
    match (digits.exponent, digits.unscaled) {
        (Some(exponent), _) => approximate(text, !fits_bigint || exponent.saturating_abs() > EXPONENT_MAX),
        (None, None) => approximate(text, true),
        (None, Some(BEYOND_BIGINT)) => TokenKind::NumberBeyondBigint(scale),
        (None, Some(value)) if !digits.has_point && i32::try_from(value).is_ok() => {
            TokenKind::Number(Literal::Integer { value, width: ExactWidth::Long })
        }
        (None, Some(_)) if fits_bigint && dialect == Dialect::One => approximate(text, false),
        (None, Some(unscaled)) => {
            let width = if fits_bigint { ExactWidth::Int64 } else { ExactWidth::Int128 };
            TokenKind::Number(if digits.has_point {
                Literal::Exact { unscaled, scale, width }
            } else {
                Literal::Integer { value: unscaled, width }
            })
        }
    }
}

/// Whether dialect 1 makes a double of an exact number.
fn is_otherwise_in_dialect_1(number: &TokenKind) -> bool {
    use Literal::{Exact, Integer};
    matches!(
        number,
        TokenKind::Number(Exact { width: ExactWidth::Int64, .. } | Integer { width: ExactWidth::Int64, .. })
    )
}

/// DOUBLE PRECISION, or DECFLOAT where that is too small or too coarse.
fn approximate(text: &str, decimal: bool) -> TokenKind {
    let double = text.parse::<f64>().ok().filter(|value| !decimal && value.is_finite());
    TokenKind::Number(double.map_or_else(|| Literal::DecFloat(text.to_owned()), Literal::Double))
}
