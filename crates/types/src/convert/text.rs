//! Conversions to text, and from text to BOOLEAN.

use std::borrow::Cow;

use super::{CastContext, conversion_error, out_of_range, text_in, to_display_text};
use crate::character_set::CharacterSet;
use crate::error::{Error, Result, isc};
use crate::sql_type::TextType;
use crate::value::{Text, Value};

/// Significant digits of a DOUBLE PRECISION as text.
pub(super) const DOUBLE_DIGITS: usize = 16;
/// Significant digits of a FLOAT as text.
pub(super) const FLOAT_DIGITS: usize = 8;
/// No double as text is longer: `-1.234567890123456E-300`.
const DOUBLE_WIDTH_MAX: usize = 23;

/// Converts to CHAR or VARCHAR.
pub(super) fn to_text(value: &Value, to: &TextType, context: &CastContext) -> Result<Value> {
    let printed = match value {
        Value::Text(text) => return text_to_text(text, to),
        Value::Float(number) => fit_double(f64::from(*number), FLOAT_DIGITS, to)?,
        Value::Double(number) => fit_double(*number, DOUBLE_DIGITS, to)?,
        Value::Integer { .. } => {
            let printed = to_display_text(value);
            if printed.len() > usize::try_from(to.length_bytes()).unwrap_or(usize::MAX) {
                return Err(conversion_error(value));
            }
            printed
        }
        _ => text_in(value, context),
    };
    // Digits, signs and names of zones: ASCII, thus the same in every character set.
    fit(printed.as_bytes(), to).map(Value::Text)
}

fn text_to_text(text: &Text, to: &TextType) -> Result<Value> {
    let set = to.character_set;
    if text.character_set() == set && !needs_change(text, to) {
        return Ok(Value::Text(text.clone()));
    }
    let bytes = text.character_set().transliterate(text.bytes(), set)?;
    fit(&bytes, to).map(Value::Text)
}

/// Whether a text of the right character set is too long, or a CHAR too short.
fn needs_change(text: &Text, to: &TextType) -> bool {
    let length = text.char_length();
    let declared = usize::try_from(to.length_chars).unwrap_or(usize::MAX);
    if to.varying { length > declared } else { length != declared }
}

/// Cuts padding off or adds it, so that the text has the declared length.
///
/// # Errors
/// `arith_except`, `string_truncation`, `trunc_limits` with the declared and the actual length in characters, if more
/// than padding would be cut.
fn fit(bytes: &[u8], to: &TextType) -> Result<Text> {
    let set = to.character_set;
    let declared = usize::try_from(to.length_chars).unwrap_or(usize::MAX);
    let length = set.char_length(bytes);
    if length > declared {
        let (kept, cut) = bytes.split_at_checked(set.byte_offset(bytes, declared)).unwrap_or((bytes, b""));
        if cut.iter().any(|byte| *byte != set.pad_byte()) {
            return Err(truncation(declared, length));
        }
        return Ok(Text::new(kept, set));
    }
    if to.varying || length == declared {
        return Ok(Text::new(bytes, set));
    }
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len() + declared - length, set.pad_byte());
    Ok(Text::new(padded, set))
}

/// The error of a text that does not fit.
fn truncation(expected: usize, actual: usize) -> Error {
    let number = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    Error::new(isc::ARITH_EXCEPT)
        .and(isc::STRING_TRUNCATION)
        .and(isc::TRUNC_LIMITS)
        .with(number(expected))
        .with(number(actual))
}

/// An exact number with its decimal point: `-0.05`.
pub fn exact_to_text(unscaled: i128, scale: i8) -> String {
    let mut digits = unscaled.unsigned_abs().to_string();
    let sign = if unscaled < 0 { "-" } else { "" };
    let places = usize::from(scale.unsigned_abs());
    if scale > 0 && unscaled != 0 {
        digits.extend(std::iter::repeat_n('0', places));
    }
    if scale >= 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    format!("{sign}{whole}.{fraction}")
}

/// A double with so many significant digits, as C's `%#g` prints it: with exponent below 0.0001 and where the digits
/// do not reach the point, and always with a point.
pub fn double_to_text(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    // Firebird prints a sign below zero only.
    let value = if value == 0.0 { 0.0 } else { value };
    let digits = digits.max(1);
    let scientific = format!("{value:.places$e}", places = digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let precision = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= precision {
        let point = if mantissa.contains('.') { "" } else { "." };
        return format!(
            "{mantissa}{point}e{sign}{exponent:02}",
            sign = if exponent < 0 { '-' } else { '+' },
            exponent = exponent.unsigned_abs()
        );
    }
    let places = usize::try_from(precision - 1 - exponent).unwrap_or(0);
    let fixed = format!("{value:.places$}");
    if places == 0 { format!("{fixed}.") } else { fixed }
}

/// A double in at most the length of the target, with fewer digits if it has to be.
///
/// # Errors
/// `arith_except` with `numeric_out_of_range` if not even two digits fit.
fn fit_double(value: f64, digits: usize, to: &TextType) -> Result<String> {
    let width = usize::try_from(to.length_bytes()).unwrap_or(usize::MAX).min(DOUBLE_WIDTH_MAX);
    // Firebird prints with a place for the sign, which counts.
    let printed_width = |text: &str| text.len() + usize::from(!text.starts_with('-'));
    let mut digits = digits;
    // Less digits may need an exponent, which needs more room: at most twice.
    for _ in 0..3 {
        let printed = double_to_text(value, digits);
        let surplus = printed_width(&printed).saturating_sub(width);
        if surplus == 0 {
            return Ok(printed);
        }
        digits = digits.saturating_sub(surplus);
        if digits < 2 {
            break;
        }
    }
    Err(out_of_range())
}

/// Converts to BOOLEAN: from `true` and `false` in any case only.
pub(super) fn to_boolean(value: &Value) -> Result<Value> {
    let word: Cow<'_, str> = match value {
        Value::Boolean(_) => return Ok(value.clone()),
        Value::Text(text) => text.decode_lossy(),
        _ => return Err(conversion_error(value)),
    };
    let word = word.trim_matches(|character: char| character.is_ascii_whitespace());
    if word.eq_ignore_ascii_case("true") {
        Ok(Value::Boolean(true))
    } else if word.eq_ignore_ascii_case("false") {
        Ok(Value::Boolean(false))
    } else {
        Err(conversion_error(value))
    }
}

impl Text {
    /// The text of a character set filled up to a number of characters, as CHAR values are.
    #[must_use]
    pub fn padded(&self, length_chars: usize) -> Text {
        let set: CharacterSet = self.character_set();
        let missing = length_chars.saturating_sub(self.char_length());
        if missing == 0 {
            return self.clone();
        }
        let mut bytes = self.bytes().to_vec();
        bytes.resize(bytes.len() + missing, set.pad_byte());
        Text::new(bytes, set)
    }
}
