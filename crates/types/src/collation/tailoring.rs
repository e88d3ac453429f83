//! Collations that CREATE COLLATION makes: what they are made of, packed into a [`Collation`].
//!
//! | bits | mean |
//! |---|---|
//! | 0 to 7 | the number within the character set, as in RDB$COLLATION_ID |
//! | 8 | made by CREATE COLLATION: the rest says how |
//! | 9, 10 | case insensitive, accent insensitive |
//! | 11 | no padding |
//! | 12 to 16 | NUMERIC-SORT, DISABLE-COMPRESSIONS, DISABLE-EXPANSIONS, SPECIALS-FIRST, MULTI-LEVEL |
//! | 17, 18 | which family: binary, national, Unicode |
//! | 19 to 26 | the number of the national collation, or of the locale |
//!
//! Bits of what every file's columns and indexes say: never given another meaning.

use super::locale::Locale;
use crate::character_set::{CharacterSet, Collation};

/// What a made collation is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// The bytes.
    Binary,
    /// The collation of this number in the same character set.
    National(u8),
    /// Unicode's, with the letters of a language.
    Unicode(Locale),
}

/// The parts of a made collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tailoring {
    pub(super) family: Family,
    pub(super) case_insensitive: bool,
    pub(super) accent_insensitive: bool,
    pub(super) pad: bool,
    pub(super) numeric: bool,
    pub(super) contractions: bool,
    pub(super) expansions: bool,
    pub(super) specials_first: bool,
    pub(super) multi_level: bool,
}

const MADE: u32 = 1 << 8;
const CASE_INSENSITIVE: u32 = 1 << 9;
const ACCENT_INSENSITIVE: u32 = 1 << 10;
const NO_PAD: u32 = 1 << 11;
const NUMERIC: u32 = 1 << 12;
const NO_CONTRACTIONS: u32 = 1 << 13;
const NO_EXPANSIONS: u32 = 1 << 14;
const SPECIALS_FIRST: u32 = 1 << 15;
const MULTI_LEVEL: u32 = 1 << 16;
const FAMILY_SHIFT: u32 = 17;
const BINARY: u32 = 0;
const NATIONAL: u32 = 1;
const UNICODE: u32 = 2;
const BASE_SHIFT: u32 = 19;

impl Tailoring {
    pub(super) fn of(collation: Collation) -> Option<Tailoring> {
        let bits = collation.0;
        let has = |bit: u32| bits & bit != 0;
        if !has(MADE) {
            return None;
        }
        let base = ((bits >> BASE_SHIFT) & 0xFF) as u8;
        Some(Tailoring {
            family: match (bits >> FAMILY_SHIFT) & 3 {
                NATIONAL => Family::National(base),
                UNICODE => Family::Unicode(Locale(base)),
                _ => Family::Binary,
            },
            case_insensitive: has(CASE_INSENSITIVE),
            accent_insensitive: has(ACCENT_INSENSITIVE),
            pad: !has(NO_PAD),
            numeric: has(NUMERIC),
            contractions: !has(NO_CONTRACTIONS),
            expansions: !has(NO_EXPANSIONS),
            specials_first: has(SPECIALS_FIRST),
            multi_level: has(MULTI_LEVEL),
        })
    }

    /// The collation of these parts, with its number within its character set.
    pub(super) fn packed(self, number: u8) -> Collation {
        let (family, base) = match self.family {
            Family::Binary => (BINARY, 0),
            Family::National(base) => (NATIONAL, base),
            Family::Unicode(Locale(locale)) => (UNICODE, locale),
        };
        let flags = [
            (self.case_insensitive, CASE_INSENSITIVE),
            (self.accent_insensitive, ACCENT_INSENSITIVE),
            (!self.pad, NO_PAD),
            (self.numeric, NUMERIC),
            (!self.contractions, NO_CONTRACTIONS),
            (!self.expansions, NO_EXPANSIONS),
            (self.specials_first, SPECIALS_FIRST),
            (self.multi_level, MULTI_LEVEL),
        ];
        let flags = flags.iter().filter(|(on, _)| *on).fold(0, |bits, (_, bit)| bits | bit);
        Collation(u32::from(number) | MADE | flags | family << FAMILY_SHIFT | u32::from(base) << BASE_SHIFT)
    }
}

/// Why CREATE COLLATION is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailoringError {
    /// There is no collation of this name to make it from.
    UnknownBase,
    /// The collation cannot have these attributes.
    Attributes,
}

/// What CREATE COLLATION asks for.
#[derive(Debug, Clone, Copy)]
pub struct CollationRequest<'a> {
    /// FROM: a collation of the character set, by Firebird's name; also `<character set>_UNICODE` for any set.
    pub base: &'a str,
    /// RDB$COLLATION_ATTRIBUTES: 1 pads, 2 case insensitive, 4 accent insensitive.
    pub attributes: u8,
    /// `NAME=value;...`
    pub specific: &'a str,
}

impl Collation {
    /// The number within the character set: RDB$COLLATION_ID.
    pub const fn number(self) -> u8 {
        (self.0 & 0xFF) as u8
    }

    /// Makes a collation of `set` with a number of its own.
    ///
    /// # Errors
    /// If there is no such base, or an attribute is unknown, has no such value, or does not go with the base.
    pub fn make(
        set: CharacterSet,
        number: u8,
        request: &CollationRequest<'_>,
    ) -> std::result::Result<Collation, TailoringError> {
        let family = family_of(set, request.base).ok_or(TailoringError::UnknownBase)?;
        let has = |bit: u8| request.attributes & bit != 0;
        let mut made = Tailoring {
            family,
            case_insensitive: has(super::CASE_INSENSITIVE),
            accent_insensitive: has(super::ACCENT_INSENSITIVE),
            pad: has(super::PAD_SPACE),
            numeric: false,
            contractions: true,
            expansions: true,
            specials_first: false,
            multi_level: false,
        };
        for (name, value) in specific_attributes(request.specific).ok_or(TailoringError::Attributes)? {
            made.set(&name, &value).ok_or(TailoringError::Attributes)?;
        }
        if !made.is_possible(set) {
            return Err(TailoringError::Attributes);
        }
        Ok(made.packed(number))
    }
}

impl Tailoring {
    /// Takes one specific attribute; nothing if there is none of this name, or not with this value.
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let flag = || match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        match (self.family, name) {
            (Family::Unicode(_), "LOCALE") => self.family = Family::Unicode(Locale::by_name(value)?),
            (Family::Unicode(_), "NUMERIC-SORT") => self.numeric = flag()?,
            // Of ICU there is one version here: the one that is compiled in. The database file remembers which.
            (Family::Unicode(_), "ICU-VERSION" | "COLL-VERSION") => {}
            (Family::Unicode(_) | Family::National(_), "DISABLE-COMPRESSIONS") => {
                self.contractions = !flag()?
            }
            (Family::National(_), "DISABLE-EXPANSIONS") => self.expansions = !flag()?,
            (Family::National(_), "SPECIALS-FIRST") => self.specials_first = flag()?,
            (Family::National(_), "MULTI-LEVEL") => self.multi_level = flag()?,
            _ => return None,
        }
        Some(())
    }

    /// Firebird's rules of which attributes go together.
    fn is_possible(&self, set: CharacterSet) -> bool {
        match self.family {
            // Bytes have neither case nor accents.
            Family::Binary => {
                let single_byte = set.bytes_per_character() == 1
                    && set != CharacterSet::NONE
                    && set != CharacterSet::OCTETS;
                !self.case_insensitive && !self.accent_insensitive && (self.pad || single_byte)
            }
            Family::Unicode(_) => self.case_insensitive || !self.accent_insensitive,
            Family::National(number) => {
                let insensitive = self.case_insensitive || self.accent_insensitive || self.multi_level;
                !insensitive || takes_attributes(set, number)
            }
        }
    }
}

/// Whether a national collation can be told to be insensitive: those of DOS cannot.
fn takes_attributes(set: CharacterSet, number: u8) -> bool {
    let name = set.collation_name(Collation(u32::from(number))).unwrap_or_default();
    !set.name().starts_with("DOS") && set.name() != "CYRL" && name != "NXT_ESP"
}

fn family_of(set: CharacterSet, base: &str) -> Option<Family> {
    let unicode = base
        .strip_suffix("_UNICODE")
        .is_some_and(|name| CharacterSet::by_name(name) == Some(set) && !set.is_bytes());
    if unicode {
        return Some(Family::Unicode(Locale::ROOT));
    }
    let collation = set.collation_by_name(base).filter(|known| set.collation_name(*known) == Some(base))?;
    Some(match super::builtin(set, collation) {
        super::Builtin::Binary => Family::Binary,
        super::Builtin::National => Family::National(collation.number()),
        super::Builtin::Unicode => Family::Unicode(Locale::ROOT),
    })
}

/// `NAME=value` parts, separated by semicolons; a backslash takes its meaning from the next character. Nothing if a part is
/// not of this form.
pub(super) fn specific_attributes(text: &str) -> Option<Vec<(String, String)>> {
    let mut parts = Vec::new();
    let (mut name, mut value): (Option<String>, String) = (None, String::new());
    let mut characters = text.chars().chain([';']);
    while let Some(character) = characters.next() {
        match character {
            '\\' => value.push(characters.next()?),
            '=' if name.is_none() => name = Some(std::mem::take(&mut value).trim().to_owned()),
            ';' => match (name.take(), std::mem::take(&mut value)) {
                (Some(name), value) => parts.push((name, value.trim().to_owned())),
                (None, empty) if empty.trim().is_empty() => {}
                (None, _) => return None,
            },
            _ => value.push(character),
        }
    }
    Some(parts)
}
