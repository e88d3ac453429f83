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

/// Case folding: by way of the capital, so that both small sigmas are one. The dotless i keeps away from the dotted.
pub(super) fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(fold).collect()
}

fn fold(character: char) -> impl Iterator<Item = char> {
    let dotless = (character == 'ı').then_some(character);
    let folded = if dotless.is_some() { None } else { Some(character.to_uppercase()) };
    dotless.into_iter().chain(folded.into_iter().flatten().flat_map(char::to_lowercase))
}

/// Letters that Unicode does not take apart but collations take for others with an accent. Found by asking Firebird 4.
const VARIED_LETTERS: &[(char, &str)] = &[
    ('Æ', "AE"),
    ('æ', "ae"),
    ('Œ', "OE"),
    ('œ', "oe"),
    ('Ð', "D"),
    ('ð', "d"),
    ('Đ', "D"),
    ('đ', "d"),
    ('Ħ', "H"),
    ('ħ', "h"),
    ('Ł', "L"),
    ('ł', "l"),
    ('Ŀ', "L"),
    ('ŀ', "l"),
    ('Ø', "O"),
    ('ø', "o"),
    ('ß', "ss"),
    ('ẞ', "SS"),
    ('Ґ', "Г"),
    ('ґ', "г"),
    ('‘', "'"),
    ('’', "'"),
    ('‚', "'"),
    ('“', "\""),
    ('”', "\""),
    ('„', "\""),
];

/// Stands for the accent of a varied letter among the accents: after the real ones.
const VARIED: char = '\u{20F0}';

/// Symbols in the order of the Unicode Collation Algorithm; others follow, and money comes last.
const SYMBOLS: &str = "_-–—,;:!?….'\"()[]{}@*/\\&#%`^°©®+÷×<=>|~";

const BREVE: char = '\u{306}';

/// The levels of a text's sort key, most important first.
#[derive(Default)]
pub(super) struct Levels {
    /// Base letters, in UTF-8; symbols and digits in front of them.
    pub(super) letters: Vec<u8>,
    /// Of each base letter a mark, then its accents.
    accents: Vec<u8>,
    /// Of each base letter its form: small, capital or another.
    forms: Vec<u8>,
}

/// Between a letter's codes and the next letter's; below all accents.
const LETTER: u8 = 0x02;

// Forms of a letter. The plain one has the lowest code.
const PLAIN: u8 = 0x02;
const COMPATIBLE: u8 = 0x03;
const KATAKANA: u8 = 0x04;
const CAPITAL: u8 = 0x05;

/// The end of a level, below all its codes.
const LEVEL_END: u8 = 0x01;

impl Levels {
    /// Takes a text apart.
    pub(super) fn of(text: &str) -> Levels {
        let mut levels = Levels::default();
        let mut characters = text.nfd().filter(|character| !is_ignorable(*character)).peekable();
        while let Some(character) = characters.next() {
            if let Some((_, letters)) = VARIED_LETTERS.iter().find(|(varied, _)| *varied == character) {
                letters.chars().for_each(|letter| levels.push_letter(letter, PLAIN));
                levels.push_accent(VARIED);
            } else if matches!(character, 'и' | 'И') && characters.next_if_eq(&BREVE).is_some() {
                // Russian's short i is a letter, not an accented one.
                levels.push_letter(if character == 'и' { 'й' } else { 'Й' }, PLAIN);
            } else if is_combining_mark(character) {
                levels.push_accent(character);
            } else {
                let mut decomposed = std::iter::once(character).nfkd().peekable();
                let form = if decomposed.peek() == Some(&character) { PLAIN } else { COMPATIBLE };
                for part in decomposed {
                    if is_combining_mark(part) {
                        levels.push_accent(part);
                    } else {
                        levels.push_letter(part, form);
                    }
                }
            }
        }
        levels
    }

    fn push_letter(&mut self, letter: char, form: u8) {
        let small = hiragana(letter);
        let form = match small {
            _ if form != PLAIN => form,
            Some(_) => KATAKANA,
            None if letter.is_uppercase() => CAPITAL,
            None => PLAIN,
        };
        for base in fold(small.unwrap_or(letter)) {
            push_base(base, &mut self.letters);
            self.accents.push(LETTER);
            self.forms.push(form);
        }
    }

    fn push_accent(&mut self, accent: char) {
        let mut buffer = [0; 4];
        self.accents.extend_from_slice(accent.encode_utf8(&mut buffer).as_bytes());
    }

    /// Appends the level of the accents, with its end.
    pub(super) fn append_accents(&self, key: &mut Vec<u8>) {
        append_level(&self.accents, LETTER, key);
    }

    /// Appends the level of small and capital letters, with its end.
    pub(super) fn append_forms(&self, key: &mut Vec<u8>) {
        append_level(&self.forms, PLAIN, key);
    }
}

/// Plain letters at the end say nothing, as the first level has told how many there are.
fn append_level(codes: &[u8], plain: u8, key: &mut Vec<u8>) {
    key.extend_from_slice(without_padding(codes, plain));
    key.push(LEVEL_END);
}

/// Writes a base letter so that white space comes before symbols, these before digits and those before letters: the
/// codes of symbols are 21 and up, digits begin at 30.
fn push_base(base: char, letters: &mut Vec<u8>) {
    const KNOWN_SYMBOL: u8 = 0x21;
    const OTHER_SYMBOL: u8 = 0x22;
    const MONEY: u8 = 0x23;
    let mut buffer = [0; 4];
    let bytes = base.encode_utf8(&mut buffer).as_bytes();
    if base.is_alphanumeric() || base <= ' ' {
        letters.extend_from_slice(bytes);
    } else if let Some(rank) = SYMBOLS.chars().position(|symbol| symbol == base) {
        // Fewer than a hundred of them; above the code of a space.
        letters.extend([KNOWN_SYMBOL, 0x21 + u8::try_from(rank).unwrap_or(u8::MAX - 0x21)]);
    } else {
        letters.push(if matches!(base, '$' | '¢'..='¥' | '₠'..='⃏') { MONEY } else { OTHER_SYMBOL });
        letters.extend_from_slice(bytes);
    }
}

/// Soft hyphens, joiners and marks of direction.
fn is_ignorable(character: char) -> bool {
    matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}')
}

/// The hiragana of a katakana.
fn hiragana(character: char) -> Option<char> {
    const DISTANCE: u32 = 'ァ' as u32 - 'ぁ' as u32;
    matches!(character, 'ァ'..='ヶ').then(|| char::from_u32(u32::from(character) - DISTANCE)).flatten()
}
