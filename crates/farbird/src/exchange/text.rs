//! Values as the texts of files, and back: nothing is lost on the way.

use farbird_types::convert::{CastContext, cast, to_display_text};
use farbird_types::{CharacterSet, Date, ExactWidth, SqlType, Text, Time, Timestamp, Value};

/// Appends the text of a value that is neither NULL nor a BLOB: numbers with all their digits, dates as ISO 8601 has them,
/// OCTETS as hexadecimal digits, CHAR without the spaces that fill it up.
pub(crate) fn append(value: &Value, sql_type: SqlType, out: &mut String) {
    match value {
        Value::Integer { unscaled, scale: 0 } => append_integer(*unscaled, out),
        // The shortest digits that give the same number again.
        Value::Double(number) => out.push_str(&format!("{number:?}")),
        Value::Float(number) => out.push_str(&format!("{number:?}")),
        Value::Text(text) if text.character_set() == CharacterSet::OCTETS => {
            out.push_str(&hexadecimal(text.bytes()));
        }
        Value::Text(text) => {
            let decoded = text.decode_lossy();
            let is_char = matches!(sql_type, SqlType::Text(text) if !text.varying);
            out.push_str(if is_char { decoded.trim_end_matches(' ') } else { &decoded });
        }
        other => out.push_str(&to_display_text(other)),
    }
}

fn append_integer(number: i64, out: &mut String) {
    let mut digits = [0_u8; 20];
    let mut rest = number.unsigned_abs();
    let mut start = digits.len();
    loop {
        start -= 1;
        if let Some(digit) = digits.get_mut(start) {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push('-');
    }
    out.push_str(std::str::from_utf8(digits.get(start..).unwrap_or_default()).unwrap_or_default());
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |index: u8| char::from(DIGITS.get(usize::from(index)).copied().unwrap_or_default());
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Reads a value of a type from its text; not for BLOBs.
///
/// # Errors
/// In words: that the text says no such value, or one that does not fit.
pub(crate) fn parse(text: &str, sql_type: SqlType) -> Result<Value, String> {
    let quick = match sql_type {
        SqlType::Exact { width, scale, .. } if width != ExactWidth::Int128 => parse_exact(text, width, scale),
        SqlType::Float => text.trim().parse().ok().map(Value::Float),
        SqlType::Double => text.trim().parse().ok().map(Value::Double),
        SqlType::Date => parse_date(text.as_bytes()).map(Value::Date),
        SqlType::Time => parse_time(text.as_bytes()).map(Value::Time),
        SqlType::Timestamp => parse_timestamp(text.as_bytes()).map(Value::Timestamp),
        SqlType::Text(wanted) => match wanted.character_set {
            CharacterSet::OCTETS => {
                let bytes = from_hexadecimal(text).ok_or_else(|| not_hexadecimal(text))?;
                return fits(Value::Text(Text::new(bytes, CharacterSet::OCTETS)), sql_type);
            }
            set @ (CharacterSet::UTF8 | CharacterSet::NONE) => {
                let value = Value::Text(Text::new(text.as_bytes(), set));
                let length = usize::try_from(wanted.length_chars).unwrap_or(usize::MAX);
                return if text.len() <= length { Ok(value) } else { fits(value, sql_type) };
            }
            _ => None,
        },
        _ => None,
    };
    match quick {
        Some(value) => Ok(value),
        None => fits(Value::text(&readable(text, sql_type)), sql_type),
    }
}

/// A text as Firebird reads it: ISO 8601 has a T before the time and Z for UTC.
fn readable(text: &str, sql_type: SqlType) -> String {
    let is_moment = matches!(
        sql_type,
        SqlType::Timestamp | SqlType::TimestampTz | SqlType::Date | SqlType::Time | SqlType::TimeTz
    );
    let bytes = text.as_bytes();
    if !is_moment || !bytes.first().is_some_and(u8::is_ascii_digit) {
        return text.to_owned();
    }
    let mut text = text.to_owned();
    if bytes.get(10) == Some(&b'T') && text.is_char_boundary(11) {
        text.replace_range(10..11, " ");
    }
    match text.strip_suffix(['Z', 'z']) {
        Some(rest) if rest.ends_with(|c: char| c.is_ascii_digit()) => format!("{rest} UTC"),
        _ => text,
    }
}

/// Converts a value as an assignment does.
pub(crate) fn fits(value: Value, sql_type: SqlType) -> Result<Value, String> {
    cast(&value, &sql_type.of_parameter_value(), &CastContext::UTC)
        .map_err(|error| error.message().replace("\n-", ": "))
}

fn not_hexadecimal(text: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    format!("bytes are written as hexadecimal digits, not as {shown:?}")
}

/// Contents of a BLOB from their text: of text as they are, of others from hexadecimal digits.
///
/// # Errors
/// In words.
pub(crate) fn parse_contents(text: &str, sql_type: SqlType) -> Result<Vec<u8>, String> {
    match sql_type {
        SqlType::Blob { subtype: 1, character_set, .. } => match character_set {
            CharacterSet::UTF8 | CharacterSet::NONE | CharacterSet::OCTETS => Ok(text.as_bytes().to_vec()),
            set => set.encode(text).map(Vec::from).map_err(|error| error.message().replace("\n-", ": ")),
        },
        _ => from_hexadecimal(text).ok_or_else(|| not_hexadecimal(text)),
    }
}

/// The bytes that hexadecimal digits stand for.
fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.trim().as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

/// A number whose digits need no rounding; `None` for whatever needs a closer look.
fn parse_exact(text: &str, width: ExactWidth, scale: i8) -> Option<Value> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    // Eighteen digits fit into 64 bits in any case.
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let places = scale.unsigned_abs();
    let (mut unscaled, mut fraction) = (0_i64, None::<u8>);
    for byte in digits {
        match (byte, &mut fraction) {
            (b'0'..=b'9', fraction) => {
                unscaled = unscaled * 10 + i64::from(byte - b'0');
                if let Some(count) = fraction {
                    *count += 1;
                }
            }
            (b'.', fraction @ None) => *fraction = Some(0),
            _ => return None,
        }
    }
    let missing = places.checked_sub(fraction.unwrap_or_default())?;
    if digits.len() == 1 && fraction.is_some() {
        return None;
    }
    let unscaled = unscaled.checked_mul(10_i64.checked_pow(u32::from(missing))?)?;
    let unscaled = if negative { -unscaled } else { unscaled };
    let in_range = match width {
        ExactWidth::Short => i16::try_from(unscaled).is_ok(),
        ExactWidth::Long => i32::try_from(unscaled).is_ok(),
        _ => true,
    };
    in_range.then_some(Value::Integer { unscaled, scale })
}

/// A number of exactly so many digits.
fn number(bytes: &[u8]) -> Option<u32> {
    bytes
        .iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

/// `2024-02-29`.
fn parse_date(text: &[u8]) -> Option<Date> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let year = i32::try_from(number(&[*y1, *y2, *y3, *y4])?).ok()?;
    Date::from_year_month_day(year, number(&[*m1, *m2])?, number(&[*d1, *d2])?)
}

/// `23:59:59`, with up to four digits of a second's fraction.
fn parse_time(text: &[u8]) -> Option<Time> {
    let (clock, fraction) = match text.split_at_checked(9) {
        Some(([clock @ .., b'.'], fraction)) if (1..=4).contains(&fraction.len()) => {
            (clock, number(fraction)? * 10_u32.pow(4 - u32::try_from(fraction.len()).ok()?))
        }
        _ => (text, 0),
    };
    let [h1, h2, b':', m1, m2, b':', s1, s2] = clock else { return None };
    Time::from_parts(number(&[*h1, *h2])?, number(&[*m1, *m2])?, number(&[*s1, *s2])?, fraction)
}

/// `2024-02-29 23:59:59.1234`, or with a T.
fn parse_timestamp(text: &[u8]) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked(10)?;
    let [b' ' | b'T', time @ ..] = rest else { return None };
    Some(Timestamp { date: parse_date(date)?, time: parse_time(time)? })
}

#[cfg(test)]
mod tests {
    use farbird_types::{ExactSubtype, TextType};

    use super::*;

    fn numeric(width: ExactWidth, scale: i8) -> SqlType {
        SqlType::Exact { width, scale, subtype: ExactSubtype::Numeric }
    }

    /// The quick ways give what Firebird's conversions give.
    #[test]
    fn texts_are_read_as_assignments_read_them() {
        let types = [
            SqlType::SMALLINT,
            SqlType::INTEGER,
            SqlType::BIGINT,
            SqlType::INT128,
            numeric(ExactWidth::Long, -2),
            numeric(ExactWidth::Int64, -4),
            SqlType::Double,
            SqlType::DecFloat34,
            SqlType::Date,
            SqlType::Time,
            SqlType::Timestamp,
            SqlType::Boolean,
            SqlType::varchar(5, CharacterSet::UTF8),
            SqlType::char(3, CharacterSet::UTF8),
        ];
        let texts = [
            "0",
            "-1",
            "+7",
            "32767",
            "32768",
            "-32768",
            "2147483648",
            "123456789012345678",
            "9223372036854775807",
            "9223372036854775808",
            "1.5",
            "-0.05",
            "1.005",
            ".5",
            "5.",
            ".",
            "-",
            "",
            "1e3",
            " 12 ",
            "12a",
            "2024-02-29",
            "2023-02-29",
            "29.02.2024",
            "23:59:59",
            "23:59:59.1",
            "23:59:59.1234",
            "24:00:00",
            "12:00",
            "2024-02-29 23:59:59.5",
            "2024-02-29 1:2:3",
            "true",
            "FALSE",
            "äöü",
            "äöüäöü",
            "abcde",
            "abcdef",
        ];
        for sql_type in types {
            for text in texts {
                let expected = cast(&Value::text(text), &sql_type.of_parameter_value(), &CastContext::UTC);
                let read = parse(text, sql_type);
                match (&read, &expected) {
                    (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text} as {sql_type}"),
                    (Err(_), Err(_)) => {}
                    _ => panic!("{text} as {sql_type}: {read:?}, {expected:?}"),
                }
            }
        }
    }

    #[test]
    fn moments_are_read_as_iso_writes_them() {
        let timestamp = parse("2024-02-29T23:59:59.5", SqlType::Timestamp);
        assert_eq!(timestamp, parse("2024-02-29 23:59:59.5", SqlType::Timestamp));
        let zoned = parse("2024-02-29T23:59:59Z", SqlType::TimestampTz);
        assert_eq!(zoned, parse("2024-02-29 23:59:59 UTC", SqlType::TimestampTz));
        assert!(zoned.is_ok());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let octets = SqlType::Text(TextType {
            varying: true,
            length_chars: 4,
            character_set: CharacterSet::OCTETS,
            collation: farbird_types::Collation(0),
        });
        for (value, sql_type) in [
            (Value::integer(i64::MIN), SqlType::BIGINT),
            (Value::Double(0.1 + 0.2), SqlType::Double),
            (Value::Double(-1e300), SqlType::Double),
            (Value::Float(1.0 / 3.0), SqlType::Float),
            (Value::Int128 { unscaled: i128::MIN, scale: -10 }, numeric(ExactWidth::Int128, -10)),
            (Value::Text(Text::new([0, 255, 16], CharacterSet::OCTETS)), octets),
            (Value::Boolean(true), SqlType::Boolean),
        ] {
            let mut text = String::new();
            append(&value, sql_type, &mut text);
            assert_eq!(parse(&text, sql_type), Ok(value), "{text}");
        }
    }

    #[test]
    fn contents_of_blobs_are_text_or_hexadecimal() {
        let text = SqlType::blob_text(CharacterSet::UTF8);
        assert_eq!(parse_contents("ä", text), Ok("ä".as_bytes().to_vec()));
        assert_eq!(parse_contents("00fF", SqlType::BLOB_BINARY), Ok(vec![0, 255]));
        assert!(parse_contents("0", SqlType::BLOB_BINARY).is_err());
    }
}
