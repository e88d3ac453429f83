//! Character sets and collations, by Firebird's numbers: names, sizes, and the way from bytes to characters and back.
//!
//! Everything goes by way of Unicode. NONE and OCTETS have no characters, only bytes: they are given and taken as they
//! are, and checked against the character set they become (Firebird's rule).
//!
//! Source: data/character-sets.tsv and data/collations.tsv (read out of a Firebird 5.0 database), and
//! wire-protocol.md, 11.10.

mod case;
mod multi_byte;
mod single_byte;
mod tables;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub(crate) use case::simple_upper;

use crate::error::{Error, Result, isc};
use crate::value::Text;

/// A character set, by its RDB$CHARACTER_SET_ID.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
pub struct CharacterSet(pub u8);

/// A collation: its RDB$COLLATION_ID within its character set ([`Collation::number`]), and above that what CREATE COLLATION
/// made it of; 0 is the character set's own order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Collation(pub u32);

/// How the bytes of a character set are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// NONE, OCTETS: bytes without characters.
    Bytes,
    /// ASCII: seven bits.
    Ascii,
    /// UTF8 and UNICODE_FSS, the latter without characters beyond three bytes.
    Utf8,
    /// A byte a character, by table.
    SingleByte,
    /// East Asian sets, by `encoding_rs`.
    MultiByte,
}

impl CharacterSet {
    /// Bytes of no declared character set.
    pub const NONE: CharacterSet = CharacterSet(0);
    /// Binary.
    pub const OCTETS: CharacterSet = CharacterSet(1);
    /// US-ASCII.
    pub const ASCII: CharacterSet = CharacterSet(2);
    /// The obsolete UTF-8 of at most three bytes, used by system tables of old.
    pub const UNICODE_FSS: CharacterSet = CharacterSet(3);
    /// UTF-8, up to four bytes a character.
    pub const UTF8: CharacterSet = CharacterSet(4);
    /// Western European, ISO.
    pub const ISO8859_1: CharacterSet = CharacterSet(21);
    /// Western European, Windows.
    pub const WIN1252: CharacterSet = CharacterSet(53);

    /// The longest character in bytes.
    pub const fn bytes_per_character(self) -> u8 {
        match self.0 {
            3 => 3,
            4 | 69 => 4,
            5 | 6 | 44 | 56 | 57 | 67 | 68 => 2,
            _ => 1,
        }
    }

    /// All character sets, by id.
    pub fn all() -> impl Iterator<Item = CharacterSet> {
        tables::CHARACTER_SETS.iter().map(|(id, ..)| CharacterSet(*id))
    }

    /// The character set of an id, if there is one.
    pub fn by_id(id: u8) -> Option<CharacterSet> {
        tables::CHARACTER_SETS.binary_search_by_key(&id, |row| row.0).ok().map(|_| CharacterSet(id))
    }

    /// RDB$CHARACTER_SET_NAME; "NONE" for an id that no character set has.
    pub fn name(self) -> &'static str {
        tables::CHARACTER_SETS
            .binary_search_by_key(&self.0, |row| row.0)
            .ok()
            .and_then(|position| tables::CHARACTER_SETS.get(position))
            .map_or("NONE", |row| row.1)
    }

    /// Looks up a name or one of its aliases (UTF-8, LATIN1, WIN_1252 ...), in any case.
    pub fn by_name(name: &str) -> Option<CharacterSet> {
        let names = tables::CHARACTER_SETS.iter().map(|(id, name, _)| (*name, *id));
        let aliases = tables::ALIASES.iter().copied();
        names
            .chain(aliases)
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, id)| CharacterSet(id))
    }

    /// Whether this is bytes without characters: NONE and OCTETS.
    pub const fn is_bytes(self) -> bool {
        matches!(self, CharacterSet::NONE | CharacterSet::OCTETS)
    }

    /// What fills a CHAR to its declared length: a space, in OCTETS a zero.
    pub const fn pad_byte(self) -> u8 {
        if self.0 == CharacterSet::OCTETS.0 { 0 } else { b' ' }
    }

    fn encoding(self) -> Encoding {
        match self.0 {
            2 => Encoding::Ascii,
            3 | 4 => Encoding::Utf8,
            5 | 6 | 44 | 56 | 57 | 67 | 68 | 69 => Encoding::MultiByte,
            id if single_byte::has_table(id) => Encoding::SingleByte,
            _ => Encoding::Bytes,
        }
    }

    /// Reads bytes as characters. NONE and OCTETS are read as UTF-8, which is the best guess for people who put
    /// UTF-8 into NONE columns, and refused where they are not.
    ///
    /// # Errors
    /// `malformed_string` for bytes that are no characters of this set.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>> {
        if bytes.is_ascii() {
            return as_utf8(bytes);
        }
        match self.encoding() {
            Encoding::Ascii => Err(malformed()),
            Encoding::Bytes => as_utf8(bytes),
            Encoding::Utf8 => {
                let text = as_utf8(bytes)?;
                if self == CharacterSet::UNICODE_FSS && text.chars().any(|c| c.len_utf8() > 3) {
                    return Err(malformed());
                }
                Ok(text)
            }
            Encoding::SingleByte => single_byte::decode(self.0, bytes).map(Cow::Owned).ok_or_else(malformed),
            Encoding::MultiByte => multi_byte::decode(self.0, bytes).ok_or_else(malformed),
        }
    }

    /// Reads bytes as characters for people's eyes: what is no character of this set becomes U+FFFD, and the bytes of
    /// NONE and OCTETS that are no UTF-8 the characters of the same number (ISO 8859-1).
    pub fn decode_lossy(self, bytes: &[u8]) -> Cow<'_, str> {
        match self.decode(bytes) {
            Ok(text) => text,
            Err(_) if self.is_bytes() => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
            Err(_) => Cow::Owned(
                self.characters(bytes)
                    .map(|character| match self.decode(character) {
                        Ok(text) => text.into_owned(),
                        Err(_) => String::from('\u{FFFD}'),
                    })
                    .collect(),
            ),
        }
    }

    /// Writes characters as bytes of this set; NONE and OCTETS take the bytes of UTF-8.
    ///
    /// # Errors
    /// `arith_except` with `transliteration_failed` if a character is not in this set.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>> {
        if text.is_ascii() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        match self.encoding() {
            Encoding::Ascii => Err(transliteration_failed()),
            Encoding::Bytes => Ok(Cow::Borrowed(text.as_bytes())),
            Encoding::Utf8 => {
                if self == CharacterSet::UNICODE_FSS && text.chars().any(|c| c.len_utf8() > 3) {
                    return Err(transliteration_failed());
                }
                Ok(Cow::Borrowed(text.as_bytes()))
            }
            Encoding::SingleByte => {
                single_byte::encode(self.0, text).map(Cow::Owned).ok_or_else(transliteration_failed)
            }
            Encoding::MultiByte => multi_byte::encode(self.0, text).ok_or_else(transliteration_failed),
        }
    }

    /// Whether the bytes are characters of this set throughout. Like Firebird, bytes to which a single-byte set
    /// gives no meaning pass: [`CharacterSet::transliterate`] makes zero characters of them.
    pub fn is_well_formed(self, bytes: &[u8]) -> bool {
        match self.encoding() {
            Encoding::Bytes | Encoding::SingleByte => true,
            Encoding::Ascii => bytes.is_ascii(),
            Encoding::Utf8 | Encoding::MultiByte => self.decode(bytes).is_ok(),
        }
    }

    /// # Errors
    /// `malformed_string` unless [`CharacterSet::is_well_formed`].
    pub fn check(self, bytes: &[u8]) -> Result<()> {
        if self.is_well_formed(bytes) { Ok(()) } else { Err(malformed()) }
    }

    /// The bytes of each character. Bytes that are no character count as one each, so that nothing is lost.
    pub fn characters(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            let (character, tail) =
                rest.split_at_checked(self.first_length(rest)).filter(|(c, _)| !c.is_empty())?;
            rest = tail;
            Some(character)
        })
    }

    /// How many bytes the first character takes; 0 at the end.
    fn first_length(self, bytes: &[u8]) -> usize {
        let Some(&first) = bytes.first() else { return 0 };
        let length = match self.encoding() {
            _ if first < 0x80 => 1,
            Encoding::Utf8 => match first {
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF4 => 4,
                _ => 1,
            },
            Encoding::MultiByte => multi_byte::character_length(self.0, first, bytes.get(1).copied()),
            Encoding::Bytes | Encoding::Ascii | Encoding::SingleByte => 1,
        };
        length.min(bytes.len())
    }

    /// Whether the bytes of a character never begin inside another one: then a text is found in another by its bytes.
    pub fn is_found_by_bytes(self) -> bool {
        self.bytes_per_character() == 1 || self.encoding() == Encoding::Utf8
    }

    /// How many characters the bytes are: CHAR_LENGTH.
    pub fn char_length(self, bytes: &[u8]) -> usize {
        match self.encoding() {
            Encoding::Bytes | Encoding::Ascii | Encoding::SingleByte => bytes.len(),
            // Continuation bytes are 10xxxxxx; in well-formed text everything else starts a character.
            Encoding::Utf8 => bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count(),
            Encoding::MultiByte => self.characters(bytes).count(),
        }
    }

    /// Where the character after the first `characters` begins, in bytes; the end if there are fewer.
    pub fn byte_offset(self, bytes: &[u8], characters: usize) -> usize {
        if self.bytes_per_character() == 1 {
            return characters.min(bytes.len());
        }
        // ASCII is one byte a character in all sets.
        let as_bytes = bytes.get(..characters.min(bytes.len())).unwrap_or_default();
        if as_bytes.is_ascii() {
            return as_bytes.len();
        }
        self.characters(bytes).take(characters).map(<[u8]>::len).sum()
    }

    /// UPPER: character by character, so that the number of characters stays (Unicode's simple mapping). In NONE and
    /// OCTETS only ASCII letters have a case.
    pub fn upper(self, bytes: &[u8]) -> Vec<u8> {
        case::map(self, bytes, case::Case::Upper)
    }

    /// LOWER, as [`CharacterSet::upper`].
    pub fn lower(self, bytes: &[u8]) -> Vec<u8> {
        case::map(self, bytes, case::Case::Lower)
    }

    /// Whether each byte is a character, by a table.
    pub(crate) fn has_single_byte_table(self) -> bool {
        self.encoding() == Encoding::SingleByte
    }

    /// UPPER or LOWER of a byte of a single-byte set.
    ///
    /// # Errors
    /// `arith_except` with `transliteration_failed` if the other case is not in the set.
    pub(crate) fn map_byte(self, byte: u8, to_capital: bool) -> Result<u8> {
        let case = if to_capital { case::Case::Upper } else { case::Case::Lower };
        case::other_case(self.0, byte, case).ok_or_else(transliteration_failed)
    }

    /// Rewrites bytes of this set as bytes of another. As in Firebird, bytes to which a single-byte set gives no meaning
    /// become zero characters: such bytes can be stored, and whoever reads them goes on.
    ///
    /// # Errors
    /// `malformed_string` if bytes of NONE or OCTETS are not well-formed in `to`; `arith_except` with
    /// `transliteration_failed` if a character has no place in `to` or the bytes are no characters of this set.
    pub fn transliterate(self, bytes: &[u8], to: CharacterSet) -> Result<Cow<'_, [u8]>> {
        if self == to || to.is_bytes() {
            return Ok(Cow::Borrowed(bytes));
        }
        if self.is_bytes() {
            to.check(bytes)?;
            return Ok(Cow::Borrowed(bytes));
        }
        if bytes.is_ascii() {
            return Ok(Cow::Borrowed(bytes));
        }
        let text = match self.encoding() {
            Encoding::SingleByte => Cow::Owned(single_byte::decode_with_zeros(self.0, bytes)),
            _ => self.decode(bytes).map_err(|_| transliteration_failed())?,
        };
        to.encode(&text).map(|encoded| Cow::Owned(encoded.into_owned()))
    }

    /// The collation of that name, in any case.
    pub fn collation_by_name(self, name: &str) -> Option<Collation> {
        collations_of(self)
            .find(|(_, known, _)| known.eq_ignore_ascii_case(name))
            .map(|(id, ..)| Collation(u32::from(id)))
    }

    /// The name of a collation of this set, if there is such a collation.
    pub fn collation_name(self, collation: Collation) -> Option<&'static str> {
        collations_of(self).find(|(id, ..)| u32::from(*id) == collation.0).map(|(_, name, _)| name)
    }

    /// The collations of this set: id, name, attributes (1 pad space, 2 case-insensitive, 4 accent-insensitive).
    pub fn collations(self) -> impl Iterator<Item = (Collation, &'static str, u8)> {
        collations_of(self).map(|(id, name, attributes)| (Collation(u32::from(id)), name, attributes))
    }
}

impl Collation {
    /// Looks up a collation among all character sets, in any case: names are unique.
    pub fn by_name(name: &str) -> Option<(CharacterSet, Collation)> {
        tables::COLLATIONS
            .iter()
            .find(|row| row.2.eq_ignore_ascii_case(name))
            .map(|row| (CharacterSet(row.0), Collation(u32::from(row.1))))
    }
}

fn collations_of(set: CharacterSet) -> impl Iterator<Item = (u8, &'static str, u8)> {
    let start = tables::COLLATIONS.partition_point(|row| row.0 < set.0);
    let rows = tables::COLLATIONS.get(start..).unwrap_or_default();
    rows.iter().take_while(move |row| row.0 == set.0).map(|row| (row.1, row.2, row.3))
}

impl Text {
    /// The characters.
    ///
    /// # Errors
    /// As [`CharacterSet::decode`].
    pub fn decode(&self) -> Result<Cow<'_, str>> {
        self.character_set().decode(self.bytes())
    }

    /// The characters for people's eyes: see [`CharacterSet::decode_lossy`].
    pub fn decode_lossy(&self) -> Cow<'_, str> {
        self.character_set().decode_lossy(self.bytes())
    }

    /// How many characters: CHAR_LENGTH.
    pub fn char_length(&self) -> usize {
        self.character_set().char_length(self.bytes())
    }

    /// The same characters in another set; cheap if it is this set already.
    ///
    /// # Errors
    /// As [`CharacterSet::transliterate`].
    pub fn transliterate(&self, to: CharacterSet) -> Result<Text> {
        if self.character_set() == to {
            return Ok(self.clone());
        }
        match self.character_set().transliterate(self.bytes(), to)? {
            Cow::Borrowed(same) => Ok(Text::new(same, to)),
            Cow::Owned(other) => Ok(Text::new(other, to)),
        }
    }

    /// Writes characters in a character set.
    ///
    /// # Errors
    /// As [`CharacterSet::encode`].
    pub fn encode(text: &str, character_set: CharacterSet) -> Result<Text> {
        Ok(Text::new(character_set.encode(text)?.into_owned(), character_set))
    }
}

fn as_utf8(bytes: &[u8]) -> Result<Cow<'_, str>> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| malformed())
}

fn malformed() -> Error {
    Error::new(isc::MALFORMED_STRING)
}

fn transliteration_failed() -> Error {
    Error::new(isc::ARITH_EXCEPT).and(isc::TRANSLITERATION_FAILED)
}
