//! Keys of texts that are compared by their bytes.
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

use super::without_padding;

const CONTROL: u8 = 0x01;
const LOW_SPACE: u8 = 0x02;
const END: u8 = 0x03;
const SPACE: u8 = b' ';

/// Appends bytes of a padded text, with their end.
pub(super) fn append_padded(bytes: &[u8], key: &mut Vec<u8>) {
    let mut rest = without_padding(bytes, SPACE);
    while let Some((&byte, tail)) = rest.split_first() {
        // Most bytes are themselves.
        let plain = rest.iter().take_while(|byte| **byte > SPACE).count();
        if let Some((own, others)) = rest.split_at_checked(plain).filter(|(own, _)| !own.is_empty()) {
            key.extend_from_slice(own);
            rest = others;
            continue;
        }
        match byte {
            SPACE => {
                let after = tail.iter().copied().find(|next| *next != SPACE);
                key.push(if after.is_some_and(|next| next < SPACE) { LOW_SPACE } else { SPACE });
            }
            _ => key.extend([CONTROL, byte]),
        }
        rest = tail;
    }
    key.push(END);
}

/// Appends the bytes that [`append_padded`] has made the beginning of a key of: all of the text if it has no padding. False if there
/// is no such beginning.
pub(super) fn take_padded(key: &[u8], bytes: &mut Vec<u8>) -> bool {
    let mut rest = key;
    while let Some((&code, tail)) = rest.split_first() {
        let plain = rest.iter().take_while(|code| **code >= SPACE).count();
        if let Some((own, others)) = rest.split_at_checked(plain).filter(|(own, _)| !own.is_empty()) {
            bytes.extend_from_slice(own);
            rest = others;
            continue;
        }
        rest = match (code, tail.split_first()) {
            (END, _) => return true,
            (LOW_SPACE, _) => {
                bytes.push(SPACE);
                tail
            }
            (CONTROL, Some((byte, others))) => {
                bytes.push(*byte);
                others
            }
            _ => return false,
        };
    }
    false
}

const OCTETS_END: u8 = 0x01;
const OCTETS_ESCAPE: u8 = 0x02;

/// Appends bytes padded by zeros, with their end: 0, 1 and 2 become 02 01, 02 02 and 02 03.
pub(super) fn append_octets(bytes: &[u8], key: &mut Vec<u8>) {
    append_unpadded(without_padding(bytes, 0), key);
}

/// Appends bytes of a text that is not padded, with their end; zeros at the end count.
pub(super) fn append_unpadded(bytes: &[u8], key: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some((&byte, tail)) = rest.split_first() {
        let plain = rest.iter().take_while(|byte| **byte > OCTETS_ESCAPE).count();
        if let Some((own, others)) = rest.split_at_checked(plain).filter(|(own, _)| !own.is_empty()) {
            key.extend_from_slice(own);
            rest = others;
            continue;
        }
        key.extend([OCTETS_ESCAPE, byte + 1]);
        rest = tail;
    }
    key.push(OCTETS_END);
}

/// As [`take_padded`], of what [`append_octets`] or [`append_unpadded`] has made.
pub(super) fn take_unpadded(key: &[u8], bytes: &mut Vec<u8>) -> bool {
    let mut rest = key;
    while let Some((&code, tail)) = rest.split_first() {
        let plain = rest.iter().take_while(|code| **code > OCTETS_ESCAPE).count();
        if let Some((own, others)) = rest.split_at_checked(plain).filter(|(own, _)| !own.is_empty()) {
            bytes.extend_from_slice(own);
            rest = others;
            continue;
        }
        rest = match (code, tail.split_first()) {
            (OCTETS_END, _) => return true,
            (OCTETS_ESCAPE, Some((byte, others))) => {
                bytes.push(byte.wrapping_sub(1));
                others
            }
            _ => return false,
        };
    }
    false
}
