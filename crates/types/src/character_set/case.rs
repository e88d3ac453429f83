//! UPPER and LOWER.

use super::{CharacterSet, Encoding, single_byte};

/// Which way to map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// To capitals.
    Upper,
    /// To small letters.
    Lower,
}

impl Case {
    /// Unicode's simple mapping: one character for one. Where the full mapping has several (ß to SS), the character
    /// stays, as it does in Firebird.
    fn character(self, character: char) -> char {
        match self {
            Case::Upper => only(character.to_uppercase()).unwrap_or(character),
            // The one small letter whose full mapping has a dot of its own.
            Case::Lower if character == '\u{130}' => 'i',
            Case::Lower => only(character.to_lowercase()).unwrap_or(character),
        }
    }

    fn ascii(self, byte: u8) -> u8 {
        match self {
            Case::Upper => byte.to_ascii_uppercase(),
            Case::Lower => byte.to_ascii_lowercase(),
        }
    }
}

/// Unicode's simple mapping to capitals.
pub(crate) fn simple_upper(character: char) -> char {
    Case::Upper.character(character)
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}

/// Maps the case of each character; what has no case in the set stays.
pub(super) fn map(set: CharacterSet, bytes: &[u8], case: Case) -> Vec<u8> {
    if bytes.is_ascii() {
        return bytes.iter().map(|byte| case.ascii(*byte)).collect();
    }
    match set.encoding() {
        Encoding::Bytes | Encoding::Ascii => bytes.iter().map(|byte| case.ascii(*byte)).collect(),
        Encoding::SingleByte => bytes.iter().map(|byte| map_byte(set.0, *byte, case)).collect(),
        Encoding::Utf8 | Encoding::MultiByte => {
            let Ok(text) = set.decode(bytes) else { return bytes.to_vec() };
            let mut mapped = Vec::with_capacity(bytes.len());
            for character in text.chars() {
                let mut buffer = [0; 4];
                let other = case.character(character);
                // A character whose other case is not in the set keeps its own.
                let written = set
                    .encode(other.encode_utf8(&mut buffer))
                    .map(|encoded| mapped.extend_from_slice(&encoded))
                    .is_ok();
                if !written && let Ok(same) = set.encode(character.encode_utf8(&mut buffer)) {
                    mapped.extend_from_slice(&same);
                }
            }
            mapped
        }
    }
}

fn map_byte(id: u8, byte: u8, case: Case) -> u8 {
    other_case(id, byte, case).unwrap_or(byte)
}

/// The other case of a byte; nothing if that is not in the character set. A byte without a meaning stays.
pub(super) fn other_case(id: u8, byte: u8, case: Case) -> Option<u8> {
    if byte.is_ascii() {
        return Some(case.ascii(byte));
    }
    match single_byte::decode_byte(id, byte) {
        None => Some(byte),
        Some(character) => match case.character(character) {
            same if same == character => Some(byte),
            other => match single_byte::encode_character(id, other) {
                // Firebird lets these two be.
                None if matches!(character, 'µ' | 'ÿ') => Some(byte),
                other => other,
            },
        },
    }
}
