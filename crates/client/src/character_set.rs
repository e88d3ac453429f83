//! The character set of a connection: in which texts travel, and how they are converted on this side.
//!
//! Promises: what a character set does not have is an error, never another character. Source: Firebird's rules for
//! `isc_dpb_lc_ctype`: statements and names travel in the connection's character set, and so do the values of columns that
//! have one; those of NONE and OCTETS are bytes. A connection in NONE converts nothing: values travel in their columns'.

use std::borrow::Cow;

use farbird_types::{CharacterSet, Error, Result, Text, Value, isc};
use farbird_wire::message::{DYNAMIC_CHARACTER_SET, MessageType};

/// The character set of this name.
///
/// # Errors
/// `isc_charset_not_found`, as the server would say.
pub(crate) fn by_name(name: &str) -> Result<CharacterSet> {
    CharacterSet::by_name(name)
        .ok_or_else(|| Error::new(isc::BAD_DPB_CONTENT).and(isc::CHARSET_NOT_FOUND).with(name))
}

/// The character set in which values of a column's travel. Texts of NONE columns are the connection's, as everything that a
/// program writes there; only connections in UTF8 tell the two apart, since not all bytes are UTF-8.
pub(crate) fn travelling(connection: CharacterSet, column: CharacterSet) -> CharacterSet {
    match (connection, column) {
        (_, CharacterSet::OCTETS) | (CharacterSet::NONE, _) => column,
        (CharacterSet::UTF8, CharacterSet::NONE) => column,
        _ => connection,
    }
}

/// The type in which a column's values are asked for, of the one that the server describes.
pub(crate) fn message_type(connection: CharacterSet, described: MessageType) -> MessageType {
    let word = |charset: Option<u16>| {
        let [low, _] = charset?.to_le_bytes();
        let known = match low {
            DYNAMIC_CHARACTER_SET => connection,
            low => CharacterSet(low),
        };
        // What has a character set already travels in the one that the server chose.
        let meant = if known == CharacterSet::NONE { travelling(connection, known) } else { known };
        if meant.0 == low { charset } else { Some(u16::from(meant.0)) }
    };
    match described {
        MessageType::Text { length, charset } => MessageType::Text { length, charset: word(charset) },
        MessageType::Varying { length, charset } => MessageType::Varying { length, charset: word(charset) },
        other => other,
    }
}

/// The type in which a column is asked for of which nothing is known but what the program wants: a text that says nothing of
/// its character set is in the connection's.
pub(crate) fn assumed_type(connection: CharacterSet, wanted: MessageType) -> MessageType {
    let own = Some(u16::from(connection.0)).filter(|_| connection != CharacterSet::UTF8);
    match wanted {
        MessageType::Text { length, charset: None } => MessageType::Text { length, charset: own },
        MessageType::Varying { length, charset: None } => MessageType::Varying { length, charset: own },
        other => other,
    }
}

/// A statement's text, or a name, as it travels.
///
/// # Errors
/// `isc_transliteration_failed` for a character that the connection's character set has not.
pub(crate) fn encode(connection: CharacterSet, text: &str) -> Result<Vec<u8>> {
    connection.encode(text).map(Cow::into_owned)
}

/// What a server says, for people: names, plans, messages.
pub(crate) fn decode(connection: CharacterSet, bytes: &[u8]) -> String {
    connection.decode_lossy(bytes).into_owned()
}

/// Parameters as they travel. Texts in a character set are converted; those that are bytes (NONE, OCTETS) are left alone.
///
/// # Errors
/// `isc_transliteration_failed` for a character that the parameter's character set has not.
pub(crate) fn parameters<'v>(
    connection: CharacterSet,
    wanted: impl Iterator<Item = MessageType>,
    values: &'v [Value],
) -> Result<Cow<'v, [Value]>> {
    if connection == CharacterSet::UTF8 || !values.iter().any(|value| matches!(value, Value::Text(_))) {
        return Ok(Cow::Borrowed(values));
    }
    let mut converted = values.to_vec();
    for (value, wanted) in converted.iter_mut().zip(wanted) {
        let charset = match wanted {
            MessageType::Text { charset, .. } | MessageType::Varying { charset, .. } => charset,
            _ => continue,
        };
        if let Value::Text(text) = value {
            *text = converted_text(text, charset.map_or(connection, set_of))?;
        }
    }
    Ok(Cow::Owned(converted))
}

fn set_of(charset: u16) -> CharacterSet {
    let [low, _] = charset.to_le_bytes();
    CharacterSet(low)
}

fn converted_text(text: &Text, wanted: CharacterSet) -> Result<Text> {
    if text.character_set().is_bytes() || wanted.is_bytes() || text.character_set() == wanted {
        return Ok(text.clone());
    }
    text.transliterate(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIN1252: CharacterSet = CharacterSet::WIN1252;

    fn varying(charset: u16) -> MessageType {
        MessageType::Varying { length: 10, charset: Some(charset) }
    }

    #[test]
    fn texts_of_columns_without_a_character_set_are_the_connections() {
        assert_eq!(message_type(WIN1252, varying(0)), varying(53));
        assert_eq!(message_type(WIN1252, varying(127)), varying(53));
        assert_eq!(message_type(WIN1252, varying(1)), varying(1));
        assert_eq!(message_type(CharacterSet::UTF8, varying(0)), varying(0));
        assert_eq!(message_type(CharacterSet::NONE, varying(53)), varying(53));
        // The collation in the high byte stays.
        assert_eq!(message_type(WIN1252, varying(0x0135)), varying(0x0135));
    }

    #[test]
    fn parameters_are_converted_and_what_has_no_place_is_an_error() {
        let wanted = || [varying(53), varying(1), MessageType::Double].into_iter();
        let bytes = Value::Text(Text::new(vec![0xFF, 0x80], CharacterSet::OCTETS));
        let values = [Value::text("Grün €"), bytes.clone(), Value::Double(1.0)];
        let converted = parameters(WIN1252, wanted(), &values).unwrap();
        let text = Text::new(b"Gr\xFCn \x80".to_vec(), WIN1252);
        assert_eq!(converted[..], [Value::Text(text), bytes, Value::Double(1.0)]);
        let error = parameters(WIN1252, wanted(), &[Value::text("Ж")]).unwrap_err();
        assert!(error.has(isc::TRANSLITERATION_FAILED), "{error}");
    }
}
