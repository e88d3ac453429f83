//! Values of rows as parameters: what drivers make of a column's value before they send it back.
//!
//! Edge and origin use the same functions: the edge to find where a parameter came from, the origin to make the parameter of the next
//! row. A conversion that loses anything is none; what a driver would do then is not guessed.
//!
//! Promises: no panic on any values. Uses `farbird_wire::message` and `farbird_types`.

use farbird_types::{CharacterSet, Text, Value};
use farbird_wire::message::{MessageForm, MessageFormat, MessageType};

use crate::message::Fit;

/// All ways to fit a text, the likeliest first.
pub const FITS: [Fit; 3] = [Fit::Whole, Fit::Trimmed, Fit::Characters];

/// Most digits behind the point of an exact number.
const DIGITS_MAX: u32 = 38;

/// `value` as a parameter of the type `to`; `None` if it cannot be one without loss.
pub fn converted(value: &Value, fit: Fit, to: &MessageType) -> Option<Value> {
    match (value, to) {
        (Value::Null, _) => Some(Value::Null),
        (
            Value::Text(text),
            MessageType::Text { .. } | MessageType::Varying { .. } | MessageType::Cstring { .. },
        ) => {
            let set = text.character_set();
            Some(Value::Text(Text::new(fitted(text, fit), set)))
        }
        // A fit is for texts: what has none is the same however it is fitted, and is found once.
        _ if fit != Fit::Whole && !matches!(value, Value::Text(_)) => None,
        (
            Value::Text(text),
            MessageType::Short { scale }
            | MessageType::Long { scale }
            | MessageType::Int64 { scale }
            | MessageType::Int128 { scale },
        ) => {
            let (unscaled, from) = parsed(fitted(text, Fit::Trimmed))?;
            integer(unscaled, from, *scale, to)
        }
        (Value::Text(text), MessageType::Double) => {
            let text = std::str::from_utf8(fitted(text, Fit::Trimmed)).ok()?;
            text.parse().ok().map(Value::Double)
        }
        (
            Value::Integer { .. } | Value::Int128 { .. },
            MessageType::Short { scale }
            | MessageType::Long { scale }
            | MessageType::Int64 { scale }
            | MessageType::Int128 { scale },
        ) => {
            let (unscaled, from) = exact(value)?;
            integer(unscaled, from, *scale, to)
        }
        (
            Value::Integer { .. } | Value::Int128 { .. },
            MessageType::Text { .. } | MessageType::Varying { .. } | MessageType::Cstring { .. },
        ) => {
            let (unscaled, scale) = exact(value)?;
            Some(Value::Text(Text::new(printed(unscaled, scale).into_bytes(), CharacterSet::NONE)))
        }
        (Value::Integer { .. } | Value::Int128 { .. }, MessageType::Double) => {
            let (unscaled, scale) = exact(value)?;
            printed(unscaled, scale).parse().ok().map(Value::Double)
        }
        (Value::Float(number), MessageType::Double) => Some(Value::Double(f64::from(*number))),
        (Value::Double(number), MessageType::Float) => {
            #[expect(clippy::cast_possible_truncation, reason = "compared with what it was")]
            let narrow = *number as f32;
            (f64::from(narrow).to_bits() == number.to_bits()).then_some(Value::Float(narrow))
        }
        (Value::Boolean(truth), MessageType::Short { scale: 0 } | MessageType::Long { scale: 0 }) => {
            Some(Value::integer(i64::from(*truth)))
        }
        (Value::Float(_), MessageType::Float)
        | (Value::Double(_), MessageType::Double | MessageType::DFloat)
        | (Value::Boolean(_), MessageType::Boolean)
        | (Value::Date(_), MessageType::Date)
        | (Value::Time(_), MessageType::Time)
        | (Value::Timestamp(_), MessageType::Timestamp)
        | (Value::DecFloat(_), MessageType::DecFloat16 | MessageType::DecFloat34)
        | (Value::TimeTz(_), MessageType::TimeTz)
        | (Value::TimestampTz(_), MessageType::TimestampTz) => Some(value.clone()),
        (Value::Date(date), MessageType::Timestamp) => {
            let midnight = farbird_types::temporal::Time(0);
            Some(Value::Timestamp(farbird_types::temporal::Timestamp { date: *date, time: midnight }))
        }
        (Value::Timestamp(moment), MessageType::Date) if moment.time.0 == 0 => Some(Value::Date(moment.date)),
        _ => None,
    }
}

/// Whether a parameter of the type `kind` is this value: texts are compared without the character set that they are said to be
/// in, and without the padding that a CHAR has on the wire.
pub fn same(parameter: &Value, value: &Value, kind: &MessageType) -> bool {
    match (parameter, value, kind) {
        (Value::Text(parameter), Value::Text(value), MessageType::Text { length, .. }) => {
            value.bytes().len() <= usize::from(*length)
                && without_padding(parameter.bytes()) == without_padding(value.bytes())
        }
        (Value::Text(parameter), Value::Text(value), _) => parameter.bytes() == value.bytes(),
        (Value::Double(parameter), Value::Double(value), _) => parameter.to_bits() == value.to_bits(),
        (Value::Float(parameter), Value::Float(value), _) => parameter.to_bits() == value.to_bits(),
        (parameter, value, _) => parameter == value,
    }
}

/// The number one higher, of the same type; `None` for what is no whole number or the last of its type.
pub fn successor(value: &Value) -> Option<Value> {
    match *value {
        Value::Integer { unscaled, scale: 0 } => {
            Some(Value::Integer { unscaled: unscaled.checked_add(1)?, scale: 0 })
        }
        Value::Int128 { unscaled, scale: 0 } => {
            Some(Value::Int128 { unscaled: unscaled.checked_add(1)?, scale: 0 })
        }
        _ => None,
    }
}

/// The type `kind` with the length of this value, if it is a type with a length.
pub fn with_length_of(value: &Value, kind: MessageType) -> Option<MessageType> {
    let length = match value {
        Value::Text(text) => u16::try_from(text.bytes().len()).ok()?,
        Value::Null => 0,
        _ => return Some(kind),
    };
    Some(match kind {
        MessageType::Text { charset, .. } => MessageType::Text { length, charset },
        MessageType::Varying { charset, .. } => MessageType::Varying { length, charset },
        MessageType::Cstring { charset, .. } => MessageType::Cstring { length, charset },
        other => other,
    })
}

/// A message of one value, in the packed form: how a constant is kept.
pub fn single(value: &Value, kind: MessageType) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    MessageFormat::from_columns([kind])
        .encode_row(MessageForm::Packed, std::slice::from_ref(value), &mut bytes)
        .ok()?;
    Some(bytes)
}

/// The value of a message that [`single`] has made.
pub fn of_single(bytes: &[u8], kind: MessageType) -> Option<Value> {
    let mut values = Vec::new();
    let mut reader = farbird_wire::xdr::Reader::new(bytes);
    MessageFormat::from_columns([kind]).decode_row(MessageForm::Packed, &mut reader, &mut values).ok()?;
    if reader.remaining() > 0 { None } else { values.pop() }
}

fn fitted(text: &Text, fit: Fit) -> &[u8] {
    let bytes = text.bytes();
    match fit {
        Fit::Whole => bytes,
        Fit::Trimmed => {
            let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
            bytes.get(..end).unwrap_or_default()
        }
        Fit::Characters => {
            let characters = bytes.len() / usize::from(text.character_set().bytes_per_character()).max(1);
            match std::str::from_utf8(bytes) {
                Ok(text) => match text.char_indices().nth(characters) {
                    Some((end, _)) => bytes.get(..end).unwrap_or_default(),
                    None => bytes,
                },
                Err(_) => bytes,
            }
        }
    }
}

fn without_padding(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b' ' | 0)).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

fn exact(value: &Value) -> Option<(i128, i8)> {
    match *value {
        Value::Integer { unscaled, scale } => Some((i128::from(unscaled), scale)),
        Value::Int128 { unscaled, scale } => Some((unscaled, scale)),
        _ => None,
    }
}

/// An exact number with another number of places, in the range of its type.
fn integer(unscaled: i128, from: i8, scale: i8, to: &MessageType) -> Option<Value> {
    let places = i32::from(from) - i32::from(scale);
    let power = 10_i128.checked_pow(places.unsigned_abs().min(DIGITS_MAX + 1))?;
    let unscaled = match places {
        0.. => unscaled.checked_mul(power)?,
        _ if unscaled % power == 0 => unscaled / power,
        _ => return None,
    };
    let narrow = |least: i64, most: i64| {
        let number = i64::try_from(unscaled).ok()?;
        (least..=most).contains(&number).then_some(Value::Integer { unscaled: number, scale })
    };
    match to {
        MessageType::Short { .. } => narrow(i64::from(i16::MIN), i64::from(i16::MAX)),
        MessageType::Long { .. } => narrow(i64::from(i32::MIN), i64::from(i32::MAX)),
        MessageType::Int64 { .. } => narrow(i64::MIN, i64::MAX),
        _ => Some(Value::Int128 { unscaled, scale }),
    }
}

/// A number in a text: digits with at most one point.
fn parsed(text: &[u8]) -> Option<(i128, i8)> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale =
        i8::try_from(fraction.len()).ok().filter(|digits| u32::from(digits.unsigned_abs()) <= DIGITS_MAX)?;
    Some((format!("{whole}{fraction}").parse().ok()?, -scale))
}

/// A number as most languages print a decimal: all its places.
fn printed(unscaled: i128, scale: i8) -> String {
    let Ok(places) = usize::try_from(-i32::from(scale)) else {
        return format!("{unscaled}{}", "0".repeat(usize::from(scale.unsigned_abs())));
    };
    if places == 0 {
        return unscaled.to_string();
    }
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let sign = if unscaled < 0 { "-" } else { "" };
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: MessageType = MessageType::Long { scale: 0 };
    const BIGINT: MessageType = MessageType::Int64 { scale: 0 };

    fn varying(length: u16) -> MessageType {
        MessageType::Varying { length, charset: Some(4) }
    }

    #[test]
    fn numbers_go_into_wider_and_narrower_types_and_texts() {
        let five = Value::integer(5);
        assert_eq!(converted(&five, Fit::Whole, &BIGINT), Some(five.clone()));
        assert_eq!(converted(&five, Fit::Whole, &MessageType::Short { scale: 0 }), Some(five.clone()));
        assert_eq!(
            converted(&five, Fit::Whole, &MessageType::Int128 { scale: 0 }),
            Some(Value::Int128 { unscaled: 5, scale: 0 })
        );
        assert_eq!(converted(&Value::integer(1 << 40), Fit::Whole, &LONG), None);
        let price = Value::Integer { unscaled: -5, scale: -2 };
        let text = converted(&price, Fit::Whole, &varying(20)).unwrap();
        assert!(same(&Value::text("-0.05"), &text, &varying(20)));
        assert_eq!(converted(&price, Fit::Whole, &LONG), None);
        assert_eq!(
            converted(&Value::Integer { unscaled: 500, scale: -2 }, Fit::Whole, &LONG),
            Some(five.clone())
        );
        assert_eq!(converted(&Value::text("5  "), Fit::Whole, &BIGINT), Some(five));
        assert_eq!(converted(&Value::text("5x"), Fit::Whole, &BIGINT), None);
        assert_eq!(converted(&Value::Integer { unscaled: 1, scale: -128 }, Fit::Whole, &LONG), None);
    }

    #[test]
    fn a_char_is_sent_back_as_it_came_trimmed_or_with_its_own_characters() {
        let padded = Value::text("ab          "); // CHAR(3) of UTF8: room for 12 bytes.
        let as_sent = |fit| match converted(&padded, fit, &varying(12)) {
            Some(Value::Text(text)) => String::from_utf8(text.bytes().to_vec()).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(as_sent(Fit::Whole), "ab          ");
        assert_eq!(as_sent(Fit::Trimmed), "ab");
        assert_eq!(as_sent(Fit::Characters), "ab ");
        assert!(same(&padded, &Value::text("ab"), &MessageType::Text { length: 12, charset: None }));
        assert!(!same(&padded, &Value::text("ab"), &varying(12)));
    }

    #[test]
    fn a_constant_comes_back_as_it_was() {
        for (value, kind) in
            [(Value::integer(7), LONG), (Value::Null, BIGINT), (Value::text("x"), varying(3))]
        {
            let bytes = single(&value, kind).unwrap();
            assert!(same(&of_single(&bytes, kind).unwrap(), &value, &kind));
        }
        assert_eq!(of_single(&[0, 0, 0, 0, 1], LONG), None);
    }
}
