//! The levels of a sort key.
//!
//! Padding makes `memcmp` wrong on plain bytes: "a" is to compare as "a     ", thus above "a\t" and below "a!". So the
//! end of a text has a code of its own in the place of a space, and a space inside a text has one of two codes, as
//! what follows the run of spaces is below or above a space:
//!
//! | code | means |
//! |---|---|
//! | 01 b | byte b below a space |
//! | 02 | a space before something below a space |
//! | 03 | end of text |
//! | 20 | a space before something above a space |
//! | 21 to FF | the byte itself |

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::without_padding;

const CONTROL: u8 = 0x01;
const LOW_SPACE: u8 = 0x02;
const END: u8 = 0x03;
const SPACE: u8 = b' ';

/// Appends bytes of a padded text, with their end.
pub(super) fn append_padded(bytes: &[u8], key: &mut Vec<u8>) {
    let bytes = without_padding(bytes, SPACE);
    let mut rest = bytes;
    while let Some((&byte, tail)) = rest.split_first() {
        match byte {
            SPACE => {
                let after = tail.iter().copied().find(|next| *next != SPACE);
                key.push(if after.is_some_and(|next| next < SPACE) { LOW_SPACE } else { SPACE });
            }
            ..SPACE => key.extend([CONTROL, byte]),
            _ => key.push(byte),
        }
        rest = tail;
    }
    key.push(END);
}

const OCTETS_END: u8 = 0x01;
const OCTETS_ESCAPE: u8 = 0x02;

/// Appends bytes padded by zeros, with their end: 0, 1 and 2 become 02 01, 02 02 and 02 03.
pub(super) fn append_octets(bytes: &[u8], key: &mut Vec<u8>) {
    for byte in without_padding(bytes, 0) {
        match byte {
            0..=OCTETS_ESCAPE => key.extend([OCTETS_ESCAPE, byte + 1]),
            _ => key.push(*byte),
        }
    }
    key.push(OCTETS_END);
}

/// Case folding: by way of the capital, so that ß is ss and both sigmas are one.
pub(super) fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Goes before punctuation and symbols, to put them between spaces and digits.
const SYMBOL: char = '!';

/// The first level: base letters without case or accents.
pub(super) fn primary(text: &str) -> Vec<u8> {
    let mut weights = String::with_capacity(text.len());
    let folded = fold_case(text);
    for character in folded.nfd().filter(|character| !is_combining_mark(*character)) {
        if !character.is_alphanumeric() && character > ' ' {
            weights.push(SYMBOL);
        }
        weights.push(character);
    }
    weights.into_bytes()
}

const LEVEL_END: u8 = 0x01;
const PLAIN: u8 = 0x02;
const CAPITAL: u8 = 0x03;

/// The second level: of each base letter its accents, if any (UTF-8 of combining marks, above all codes here).
pub(super) fn append_accents(text: &str, key: &mut Vec<u8>) {
    let from = key.len();
    for character in text.nfd() {
        if is_combining_mark(character) {
            let mut buffer = [0; 4];
            key.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        } else {
            key.push(PLAIN);
        }
    }
    end_level(from, key);
}

/// The third level: of each base letter whether it is a capital.
pub(super) fn append_case(text: &str, key: &mut Vec<u8>) {
    let from = key.len();
    for character in text.nfd().filter(|character| !is_combining_mark(*character)) {
        key.push(if character.is_uppercase() { CAPITAL } else { PLAIN });
    }
    end_level(from, key);
}

/// Plain letters at the end say nothing, as the first level has told how many there are.
fn end_level(from: usize, key: &mut Vec<u8>) {
    while key.len() > from && key.last() == Some(&PLAIN) {
        key.pop();
    }
    key.push(LEVEL_END);
}
