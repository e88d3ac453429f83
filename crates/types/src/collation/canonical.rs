//! Texts as LIKE and its relatives see them: without the case and the accents that a collation does not look at.
//!
//! Character by character, unlike the orders: UNICODE_CI takes `ß` for `SS` neither here nor in Firebird.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use crate::character_set::simple_upper;

/// Letters with strokes that have no decomposition: Firebird takes off these.
const STROKES: [(char, char); 4] = [('Ð', 'D'), ('Ø', 'O'), ('Ŀ', 'L'), ('Ł', 'L')];

/// Capitals, and without accents unless these count.
pub(super) fn unicode(text: &str, accents: bool) -> String {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    let capitals = text.chars().map(capital);
    if accents { capitals.collect() } else { strip(capitals) }
}

/// The dotless i is no small form of I to any order but Turkish ones, so an index keeps them apart, and so do we.
fn capital(character: char) -> char {
    if character == 'ı' { character } else { simple_upper(character) }
}

/// Without accents.
pub(super) fn without_accents(text: &str) -> String {
    strip(text.chars())
}

fn strip(characters: impl Iterator<Item = char>) -> String {
    let bare: String = characters.nfd().filter(|character| !is_nonspacing(*character)).collect();
    bare.nfc()
        .map(|character| {
            STROKES.iter().find(|(stroked, _)| *stroked == character).map_or(character, |(_, plain)| *plain)
        })
        .collect()
}

/// Nonspacing marks: accents, and the vowel signs that are written above or below.
fn is_nonspacing(character: char) -> bool {
    canonical_combining_class(character) != 0 && unicode_normalization::char::is_combining_mark(character)
        || matches!(character, '\u{34F}' | '\u{FE00}'..='\u{FE0F}')
}
