//! Character sets of one byte a character: ISO 8859, the code pages of Windows and DOS, KOI8, NeXT, TIS 620.
//!
//! The lower half is ASCII in all of them. (DOS864 has an Arabic percent sign at 0x25; we read it as the ASCII one.)

use super::tables::SINGLE_BYTE;

fn upper_half(id: u8) -> Option<&'static [u16; 128]> {
    let position = SINGLE_BYTE.binary_search_by_key(&id, |row| row.0).ok()?;
    SINGLE_BYTE.get(position).map(|row| &row.1)
}

/// Whether the character set of this id is one of these.
pub(super) fn has_table(id: u8) -> bool {
    upper_half(id).is_some()
}

/// Reads bytes; nothing if one has no meaning.
pub(super) fn decode(id: u8, bytes: &[u8]) -> Option<String> {
    let table = upper_half(id)?;
    bytes.iter().map(|byte| character(table, *byte)).collect()
}

/// Reads bytes; those without a meaning become zero characters.
pub(super) fn decode_with_zeros(id: u8, bytes: &[u8]) -> String {
    let table = upper_half(id).unwrap_or(&[0; 128]);
    bytes.iter().map(|byte| character(table, *byte).unwrap_or_default()).collect()
}

/// The character of one byte, if it has a meaning.
pub(super) fn decode_byte(id: u8, byte: u8) -> Option<char> {
    character(upper_half(id)?, byte)
}

fn character(table: &[u16; 128], byte: u8) -> Option<char> {
    if byte < 0x80 {
        return Some(char::from(byte));
    }
    match *table.get(usize::from(byte - 0x80))? {
        0 => None,
        code => char::from_u32(u32::from(code)),
    }
}

/// Writes characters; nothing if one is not in the set.
pub(super) fn encode(id: u8, text: &str) -> Option<Vec<u8>> {
    let table = upper_half(id)?;
    text.chars().map(|character| byte(table, character)).collect()
}

/// The byte of one character, if it is in the set.
pub(super) fn encode_character(id: u8, character: char) -> Option<u8> {
    byte(upper_half(id)?, character)
}

fn byte(table: &[u16; 128], character: char) -> Option<u8> {
    if character.is_ascii() {
        return u8::try_from(u32::from(character)).ok();
    }
    let code = u16::try_from(u32::from(character)).ok()?;
    // 128 numbers side by side: walking them is quicker than most cleverness.
    let position = table.iter().position(|known| *known == code)?;
    u8::try_from(position + 0x80).ok()
}
