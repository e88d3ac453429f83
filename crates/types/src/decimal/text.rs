//! Decimal numbers as text.

use std::fmt;
use std::str::FromStr;

use super::wide::Wide;
use super::{Decimal, DecimalContext, DecimalParts, Precision, bits, round};
use crate::error::{Error, Result};

/// As the General Decimal Arithmetic specification's to-scientific-string, which Firebird prints: without exponent if
/// that needs no padding to the right and at most six zeros after the point; `Infinity`, `NaN`, `sNaN`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_negative() {
            f.write_str("-")?;
        }
        match self.parts() {
            DecimalParts::Infinity { .. } => f.write_str("Infinity"),
            DecimalParts::Nan { signaling, .. } => f.write_str(if signaling { "sNaN" } else { "NaN" }),
            DecimalParts::Finite { coefficient, exponent, .. } => {
                let digits = coefficient.to_string();
                // Position of the point when there is one digit before it.
                let adjusted = exponent + Wide::from(coefficient).digits().cast_signed() - 1;
                if exponent == 0 {
                    f.write_str(&digits)
                } else if exponent < 0 && adjusted >= -6 {
                    write_with_point(f, &digits, exponent.unsigned_abs())
                } else {
                    let (first, rest) = digits.split_at(1);
                    f.write_str(first)?;
                    if !rest.is_empty() {
                        write!(f, ".{rest}")?;
                    }
                    write!(f, "E{adjusted:+}")
                }
            }
        }
    }
}

fn write_with_point(f: &mut fmt::Formatter<'_>, digits: &str, places: u32) -> fmt::Result {
    let places = usize::try_from(places).unwrap_or(usize::MAX);
    if digits.len() > places {
        let (whole, fraction) = digits.split_at(digits.len() - places);
        write!(f, "{whole}.{fraction}")
    } else {
        write!(f, "0.{digits:0>places$}")
    }
}

/// Digits that are read; the rest only tell that the number is not exact. Any number of zeros may lead.
const DIGITS_READ_MAX: u32 = 60;

impl FromStr for Decimal {
    type Err = Error;

    /// Reads `-12.34E+5`, `Infinity`, `Inf`, `NaN`, `sNaN` in any case, rounded half up to 34 digits.
    ///
    /// # Errors
    /// `decfloat_invalid_operation` if it is no number, `decfloat_overflow` if it is too great a one.
    fn from_str(text: &str) -> Result<Decimal> {
        Decimal::parse_in(text, &DecimalContext::DEFAULT)
    }
}

impl Decimal {
    /// As [`Decimal::from_str`], by a context: what is no number is NaN if that is not trapped.
    ///
    /// # Errors
    /// Those conditions that are trapped.
    pub fn parse_in(text: &str, context: &DecimalContext) -> Result<Decimal> {
        match Decimal::read(text, context)? {
            Some(number) => Ok(number),
            None => context.invalid(),
        }
    }

    /// The number that a text says; `None` if it says none.
    fn read(text: &str, context: &DecimalContext) -> Result<Option<Decimal>> {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        if let Some(special) = special(negative, unsigned) {
            return Ok(Some(Decimal(bits::pack_128(special))));
        }
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => match read_exponent(exponent) {
                Some(exponent) => (mantissa, exponent),
                None => return Ok(None),
            },
            None => (unsigned, 0),
        };
        let mut coefficient = Wide::from(0);
        let mut digits = 0u32;
        let mut inexact = false;
        let mut any_digit = false;
        let mut point_seen = false;
        let mut exponent = exponent;
        for byte in mantissa.bytes() {
            match byte {
                b'.' if !point_seen => point_seen = true,
                b'0'..=b'9' => {
                    any_digit = true;
                    if digits < DIGITS_READ_MAX {
                        coefficient =
                            coefficient.times_power_of_ten(1).plus(Wide::from(u128::from(byte - b'0')));
                        digits += u32::from(!coefficient.is_zero());
                        exponent -= i64::from(point_seen);
                    } else {
                        inexact |= byte != b'0';
                        exponent += i64::from(!point_seen);
                    }
                }
                _ => return Ok(None),
            }
        }
        if !any_digit {
            return Ok(None);
        }
        let exponent = i32::try_from(exponent.clamp(-1_000_000_000, 1_000_000_000)).unwrap_or_default();
        round::finish(negative, coefficient, exponent, inexact, Precision::ThirtyFour, context).map(Some)
    }
}

fn special(negative: bool, text: &str) -> Option<DecimalParts> {
    let is = |name: &str| text.eq_ignore_ascii_case(name);
    if is("inf") || is("infinity") {
        return Some(DecimalParts::Infinity { negative });
    }
    if is("nan") || is("snan") {
        return Some(DecimalParts::Nan { negative, signaling: is("snan") });
    }
    None
}

fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Longer than any exponent that matters: as good as infinite.
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX).min(1_000_000_000);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}
