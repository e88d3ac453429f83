//! The order of texts: comparison, and sort keys that `memcmp` in that order.
//!
//! All collations pad: trailing spaces (in OCTETS trailing zeros) do not count, and a shorter text compares as if
//! filled with them. Three families:
//!
//! - *binary*: the default of each character set, and UCS_BASIC: by the bytes, in Unicode therefore by code point;
//! - *insensitive*: by attributes: UNICODE_CI, WIN_CZ and others do not see case, UNICODE_CI_AI, PT_BR and others
//!   neither case nor accents;
//! - *dictionary*: UNICODE and the collations of languages: letters first, then accents, then case (small before
//!   capital); white space before punctuation before digits before letters.
//!
//! The latter two go by Unicode's decomposition and case folding, with the exceptions of the Unicode Collation Algorithm
//! for Latin letters (æ is ae with an accent). They do not know any language's own rules (Czech `ch`, Swedish `å` after
//! `z`), and order scripts by their code points. In UNICODE and its variants texts are equal as they are in Firebird.

mod weight;

use std::borrow::Cow;
use std::cmp::Ordering;

use unicode_normalization::UnicodeNormalization;

use crate::character_set::{CharacterSet, Collation};
use crate::value::Text;

/// What a collation pays attention to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// The bytes as they are.
    Binary,
    /// Letters, accents unless insensitive, case unless insensitive.
    Linguistic { accents: bool, case: bool },
}

const CASE_INSENSITIVE: u8 = 2;
const ACCENT_INSENSITIVE: u8 = 4;

fn strength(set: CharacterSet, collation: Collation) -> Strength {
    if collation.0 == 0 {
        return Strength::Binary;
    }
    match set.collations().find(|(known, ..)| *known == collation) {
        None | Some((_, "UCS_BASIC", _)) => Strength::Binary,
        Some((_, _, attributes)) => Strength::Linguistic {
            accents: attributes & ACCENT_INSENSITIVE == 0,
            case: attributes & CASE_INSENSITIVE == 0,
        },
    }
}

/// Compares two texts.
///
/// Texts of different character sets meet in the left one's, or in the right one's if the left is mere bytes or
/// cannot hold what the right one says; the collation is taken as one of that set.
pub fn compare_text(left: &Text, right: &Text, collation: Collation) -> Ordering {
    let (left, right) = meet(left, right);
    let set = left.character_set();
    match strength(set, collation) {
        Strength::Binary => compare_padded(left.bytes(), right.bytes(), set.pad_byte()),
        Strength::Linguistic { .. } => sort_key(&left, collation).cmp(&sort_key(&right, collation)),
    }
}

/// Bytes whose order is the order of the texts, and which no other text's bytes begin with, so that something may
/// follow. Never begins with a zero byte.
pub fn sort_key(text: &Text, collation: Collation) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.bytes().len() + 2);
    append_sort_key(text, collation, &mut key);
    key
}

/// Appends [`sort_key`].
pub fn append_sort_key(text: &Text, collation: Collation, key: &mut Vec<u8>) {
    let set = text.character_set();
    match strength(set, collation) {
        Strength::Binary if set == CharacterSet::OCTETS => weight::append_octets(text.bytes(), key),
        Strength::Binary => weight::append_padded(text.bytes(), key),
        Strength::Linguistic { accents, case } => {
            let levels = weight::Levels::of(&text.decode_lossy());
            weight::append_padded(&levels.letters, key);
            if accents {
                levels.append_accents(key);
            }
            if case {
                levels.append_forms(key);
            }
        }
    }
}

/// What the sort keys of all texts begin with that start with `prefix`; also of some that do not, by trailing spaces
/// or where accents and case were not looked at.
pub fn append_prefix(prefix: &Text, collation: Collation, key: &mut Vec<u8>) {
    let set = prefix.character_set();
    let from = key.len();
    match strength(set, collation) {
        Strength::Binary if set == CharacterSet::OCTETS => {
            weight::append_octets(prefix.bytes(), key);
        }
        Strength::Binary => weight::append_padded(prefix.bytes(), key),
        Strength::Linguistic { .. } => {
            // The last letter may go on: an accent that follows in a longer text changes it only further on.
            weight::append_padded(&weight::Levels::of(&prefix.decode_lossy()).letters, key);
        }
    }
    // Without the mark of the end.
    if key.len() > from {
        key.pop();
    }
}

/// Bytes that are the same for equal texts, whatever their character sets; not ordered.
pub fn append_equality_key(text: &Text, collation: Collation, key: &mut Vec<u8>) {
    let set = text.character_set();
    match strength(set, collation) {
        Strength::Binary => {
            // In Unicode, so that texts of two character sets can be equal; mere bytes stay what they are.
            let bytes = if set.is_bytes() || text.bytes().is_ascii() {
                Cow::Borrowed(text.bytes())
            } else {
                match text.decode() {
                    Ok(characters) => Cow::Owned(characters.into_owned().into_bytes()),
                    Err(_) => Cow::Borrowed(text.bytes()),
                }
            };
            key.extend_from_slice(without_padding(&bytes, set.pad_byte()));
        }
        Strength::Linguistic { .. } => append_sort_key(text, collation, key),
    }
}

/// The text as its collation sees it, for LIKE, CONTAINING, STARTING WITH and SIMILAR TO: without case or accents if
/// the collation does not see them, otherwise as it is. CONTAINING never sees case: `ignore_case`.
pub fn folded(text: &Text, collation: Collation, ignore_case: bool) -> String {
    let characters = text.decode_lossy();
    let (accents, case) = match strength(text.character_set(), collation) {
        Strength::Binary => (true, true),
        Strength::Linguistic { accents, case } => (accents, case),
    };
    let characters = if accents {
        characters.into_owned()
    } else {
        characters.nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)).collect()
    };
    if case && !ignore_case { characters } else { weight::fold_case(&characters) }
}

/// Brings two texts to one character set.
fn meet<'a>(left: &'a Text, right: &'a Text) -> (Cow<'a, Text>, Cow<'a, Text>) {
    let (to_left, to_right) = (left.character_set(), right.character_set());
    if to_left == to_right {
        return (Cow::Borrowed(left), Cow::Borrowed(right));
    }
    let weak = |set: CharacterSet| set.is_bytes() || set == CharacterSet::ASCII;
    if !weak(to_left)
        && let Ok(converted) = right.transliterate(to_left)
    {
        return (Cow::Borrowed(left), Cow::Owned(converted));
    }
    if to_right != CharacterSet::NONE
        && let Ok(converted) = left.transliterate(to_right)
    {
        return (Cow::Owned(converted), Cow::Borrowed(right));
    }
    // No common characters: bytes.
    let bytes = |text: &Text| Text::new(text.bytes(), CharacterSet::NONE);
    (Cow::Owned(bytes(left)), Cow::Owned(bytes(right)))
}

/// The bytes without the padding at their end.
pub fn without_padding(bytes: &[u8], pad: u8) -> &[u8] {
    let length = bytes.iter().rposition(|byte| *byte != pad).map_or(0, |last| last + 1);
    bytes.get(..length).unwrap_or_default()
}

fn compare_padded(left: &[u8], right: &[u8], pad: u8) -> Ordering {
    let common = left.len().min(right.len());
    let (left_head, left_tail) = left.split_at(common);
    let (right_head, right_tail) = right.split_at(common);
    left_head
        .cmp(right_head)
        .then_with(|| compare_with_padding(left_tail, pad))
        .then_with(|| compare_with_padding(right_tail, pad).reverse())
}

/// Compares what a text has beyond the other's end with padding.
fn compare_with_padding(tail: &[u8], pad: u8) -> Ordering {
    tail.iter().find(|byte| **byte != pad).map_or(Ordering::Equal, |byte| byte.cmp(&pad))
}

#[cfg(test)]
mod tests;
