//! The order of texts: comparison, and sort keys that `memcmp` in that order.
//!
//! | family | whose | goes by |
//! |---|---|---|
//! | binary | the default of each character set, UCS_BASIC | the bytes, in Unicode therefore the code points |
//! | national | PXW_CSY, DE_DE, WIN1251_UA ... | tables: `national` |
//! | Unicode | UNICODE, UNICODE_CI, UNICODE_CI_AI, those made with LOCALE | the Unicode Collation Algorithm with CLDR's data: `unicode` |
//!
//! A collation may look away from case and accents; CREATE COLLATION makes others from these (`tailoring`). With PAD
//! SPACE, which all but those made with NO PAD have, trailing spaces (in OCTETS trailing zeros) do not count; in binary
//! orders a shorter text compares as if filled with them.
//!
//! Two kinds of key: the *sort key* is the same for texts that are equal, and stands in indexes; the *order key*, of
//! ORDER BY, tells equal texts of an insensitive Unicode collation apart by accents and case, as Firebird does.
//!
//! docs/collations.md says what differs from Firebird, and what happens when CLDR's data change.

mod canonical;
mod locale;
mod national;
mod padded;
mod tailoring;
mod unicode;
pub mod version;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::OnceLock;

use crate::character_set::{CharacterSet, Collation};
use crate::error::Result;
use crate::value::Text;
use national::{Attention, NationalOrder};
use tailoring::{Family, Tailoring};
use unicode::{UnicodeOptions, UnicodeOrder};

pub use tailoring::{CollationRequest, TailoringError};

/// RDB$COLLATION_ATTRIBUTES: trailing spaces do not count.
pub const PAD_SPACE: u8 = 1;
/// RDB$COLLATION_ATTRIBUTES: case does not count.
pub const CASE_INSENSITIVE: u8 = 2;
/// RDB$COLLATION_ATTRIBUTES: accents do not count.
pub const ACCENT_INSENSITIVE: u8 = 4;

/// The families of the collations that every database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Builtin {
    Binary,
    National,
    Unicode,
}

/// What a text is compared by.
#[derive(Clone, Copy)]
enum Order {
    Binary { pad: bool },
    National { order: &'static NationalOrder, attention: Attention, multi_level: bool },
    Unicode { order: &'static UnicodeOrder, pad: bool },
}

fn builtin(set: CharacterSet, collation: Collation) -> Builtin {
    if collation.0 == 0 {
        return Builtin::Binary;
    }
    match set.collation_name(collation) {
        Some("UNICODE" | "UNICODE_CI" | "UNICODE_CI_AI" | "KSC_DICTIONARY") => Builtin::Unicode,
        Some(name) if name.ends_with("_UNICODE") => Builtin::Unicode,
        Some(name) if NationalOrder::of(set, table_name(name)).is_some() => Builtin::National,
        _ => Builtin::Binary,
    }
}

/// The collation whose table another one has as well, with other attributes.
fn table_name(name: &str) -> &str {
    match name {
        "ES_ES_CI_AI" => "ES_ES",
        "FR_FR_CI_AI" => "FR_FR",
        "FR_CA_CI_AI" => "FR_CA",
        other => other,
    }
}

/// The specific attributes of a collation that every database has, as Firebird registers them.
pub fn builtin_specific_attributes(name: &str) -> &'static str {
    match name {
        "ES_ES" | "ES_ES_CI_AI" => "DISABLE-COMPRESSIONS=1;SPECIALS-FIRST=1",
        "FR_FR_CI_AI" | "FR_CA_CI_AI" => "SPECIALS-FIRST=1",
        _ => "",
    }
}

/// RDB$COLLATION_ATTRIBUTES of a collation: [`PAD_SPACE`], [`CASE_INSENSITIVE`], [`ACCENT_INSENSITIVE`].
pub fn attributes(set: CharacterSet, collation: Collation) -> u8 {
    if collation.0 == 0 {
        return PAD_SPACE;
    }
    match Tailoring::of(collation) {
        Some(made) => [
            (made.pad, PAD_SPACE),
            (made.case_insensitive, CASE_INSENSITIVE),
            (made.accent_insensitive, ACCENT_INSENSITIVE),
        ]
        .iter()
        .filter(|(on, _)| *on)
        .map(|(_, bit)| bit)
        .sum(),
        None => set
            .collations()
            .find(|(known, ..)| *known == collation)
            .map_or(PAD_SPACE, |(_, _, attributes)| attributes),
    }
}

/// Whether the order of texts depends on CLDR's data, and sort keys in a file therefore on [`version::UNICODE`].
pub fn depends_on_unicode(set: CharacterSet, collation: Collation) -> bool {
    match Tailoring::of(collation) {
        Some(made) => matches!(made.family, Family::Unicode(_)),
        None => builtin(set, collation) == Builtin::Unicode,
    }
}

fn order(set: CharacterSet, collation: Collation) -> Order {
    const SETS: usize = 70;
    const NUMBERS: usize = 32;
    /// What has been asked for, by character set and number.
    static BUILTIN: [OnceLock<Order>; SETS * NUMBERS] = [const { OnceLock::new() }; SETS * NUMBERS];

    if collation.0 == 0 {
        return Order::Binary { pad: true };
    }
    match Tailoring::of(collation) {
        Some(made) => order_of(set, made),
        None => {
            let number = usize::from(collation.number());
            let place = BUILTIN.get(usize::from(set.0) * NUMBERS + number).filter(|_| number < NUMBERS);
            match place {
                Some(place) => *place.get_or_init(|| order_of(set, as_made(set, collation))),
                None => Order::Binary { pad: true },
            }
        }
    }
}

fn order_of(set: CharacterSet, made: Tailoring) -> Order {
    let (accents, case) = (!made.accent_insensitive, !made.case_insensitive);
    match made.family {
        Family::Binary => Order::Binary { pad: made.pad },
        Family::Unicode(locale) => {
            let options = UnicodeOptions {
                locale,
                accents,
                case,
                numeric: made.numeric,
                contractions: made.contractions,
            };
            Order::Unicode { order: UnicodeOrder::of(options), pad: made.pad }
        }
        Family::National(number) => {
            let table = table_name(set.collation_name(Collation(u32::from(number))).unwrap_or_default());
            match NationalOrder::of(set, table) {
                None => Order::Binary { pad: made.pad },
                Some(order) => Order::National {
                    order,
                    attention: Attention {
                        pad: made.pad,
                        accents,
                        case,
                        contractions: made.contractions,
                        expansions: made.expansions,
                        specials_first: made.specials_first,
                    },
                    multi_level: made.multi_level,
                },
            }
        }
    }
}

/// The parts of a collation that every database has.
fn as_made(set: CharacterSet, collation: Collation) -> Tailoring {
    let attributes = attributes(set, collation);
    let specific = builtin_specific_attributes(set.collation_name(collation).unwrap_or_default());
    Tailoring {
        family: match builtin(set, collation) {
            Builtin::Binary => Family::Binary,
            Builtin::National => Family::National(collation.number()),
            Builtin::Unicode => Family::Unicode(locale::Locale::ROOT),
        },
        case_insensitive: attributes & CASE_INSENSITIVE != 0,
        accent_insensitive: attributes & ACCENT_INSENSITIVE != 0,
        pad: true,
        numeric: false,
        contractions: !specific.contains("DISABLE-COMPRESSIONS=1"),
        expansions: true,
        specials_first: specific.contains("SPECIALS-FIRST=1"),
        multi_level: false,
    }
}

/// Compares two texts.
///
/// Texts of different character sets meet in the left one's, or in the right one's if the left is mere bytes or
/// cannot hold what the right one says; the collation is taken as one of that set. Beside OCTETS both are bytes.
pub fn compare_text(left: &Text, right: &Text, collation: Collation) -> Ordering {
    let (left, right) = meet(left, right);
    let set = left.character_set();
    match order(set, collation) {
        Order::Binary { pad: true } => compare_padded(left.bytes(), right.bytes(), set.pad_byte()),
        Order::Binary { pad: false } => left.bytes().cmp(right.bytes()),
        Order::Unicode { order, pad } => {
            order.compare(trimmed(&left.decode_lossy(), pad), trimmed(&right.decode_lossy(), pad))
        }
        Order::National { .. } => sort_key(&left, collation).cmp(&sort_key(&right, collation)),
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
    match order(set, collation) {
        Order::Binary { pad } => append_binary(text, set, pad, key),
        Order::Unicode { order, pad } => order.append_key(trimmed(&text.decode_lossy(), pad), key),
        Order::National { order, attention, .. } => order.append_key(text.bytes(), attention, key),
    }
}

/// Appends the key by which ORDER BY places a text: as [`append_sort_key`], but equal texts come in the order of their
/// accents and case where Firebird has them so.
pub fn append_order_key(text: &Text, collation: Collation, key: &mut Vec<u8>) {
    match order(text.character_set(), collation) {
        Order::Unicode { order, pad } => order.append_order_key(trimmed(&text.decode_lossy(), pad), key),
        Order::National { order, attention, multi_level: true } => {
            order.append_key(text.bytes(), Attention { accents: true, case: true, ..attention }, key);
        }
        _ => append_sort_key(text, collation, key),
    }
}

/// Whether ORDER BY tells texts apart that are equal: then an index, which does not, cannot take its place.
pub fn orders_equal_texts(set: CharacterSet, collation: Collation) -> bool {
    let insensitive = attributes(set, collation) & (CASE_INSENSITIVE | ACCENT_INSENSITIVE) != 0;
    insensitive && !matches!(order(set, collation), Order::National { multi_level: false, .. })
}

/// What the sort keys of all texts begin with that start with `prefix`; also of some that do not, by trailing spaces
/// or where accents and case were not looked at.
pub fn append_prefix(prefix: &Text, collation: Collation, key: &mut Vec<u8>) {
    let set = prefix.character_set();
    match order(set, collation) {
        Order::Binary { pad } => {
            let from = key.len();
            append_binary(prefix, set, pad, key);
            // Without the mark of the end.
            if key.len() > from {
                key.pop();
            }
        }
        Order::Unicode { order, .. } => order.append_prefix(&prefix.decode_lossy(), key),
        Order::National { order, attention, .. } => order.append_prefix(prefix.bytes(), attention, key),
    }
}

fn append_binary(text: &Text, set: CharacterSet, pad: bool, key: &mut Vec<u8>) {
    match (pad, set) {
        (false, _) => padded::append_unpadded(text.bytes(), key),
        (true, CharacterSet::OCTETS) => padded::append_octets(text.bytes(), key),
        (true, _) => padded::append_padded(text.bytes(), key),
    }
}

/// Whether a text can be made again of its key ([`text_of_key`]): in binary orders, if it has no padding.
pub fn is_told_by_key(text: &Text, collation: Collation) -> bool {
    match order(text.character_set(), collation) {
        Order::Binary { pad } => !pad || text.bytes().last() != Some(&text.character_set().pad_byte()),
        Order::Unicode { .. } | Order::National { .. } => false,
    }
}

/// The text of a character set whose key stands at the beginning of `key`, if it is [told](is_told_by_key) by it. `room`: for its
/// bytes.
pub fn text_of_key(key: &[u8], set: CharacterSet, collation: Collation, room: &mut Vec<u8>) -> Option<Text> {
    let Order::Binary { pad } = order(set, collation) else { return None };
    room.clear();
    let is_whole = match (pad, set) {
        (false, _) | (true, CharacterSet::OCTETS) => padded::take_unpadded(key, room),
        (true, _) => padded::take_padded(key, room),
    };
    is_whole.then(|| Text::new(room.as_slice(), set))
}

/// Appends bytes that are the same for equal texts, whatever their character sets; not ordered.
pub fn append_equality_key(text: &Text, collation: Collation, key: &mut Vec<u8>) {
    let set = text.character_set();
    match order(set, collation) {
        Order::Binary { pad } => {
            // In Unicode, so that texts of two character sets can be equal; mere bytes stay what they are.
            let bytes = if set.is_bytes() || text.bytes().is_ascii() {
                Cow::Borrowed(text.bytes())
            } else {
                match text.decode() {
                    Ok(characters) => Cow::Owned(characters.into_owned().into_bytes()),
                    Err(_) => Cow::Borrowed(text.bytes()),
                }
            };
            key.extend_from_slice(if pad { without_padding(&bytes, set.pad_byte()) } else { &bytes });
        }
        _ => append_sort_key(text, collation, key),
    }
}

/// A text as its collation sees it in LIKE, STARTING WITH, POSITION, REPLACE and TRIM, character for character: without the
/// case and the accents that it does not look at. The bytes are characters of the returned set.
pub fn canonical(text: &Text, collation: Collation) -> (CharacterSet, Cow<'_, [u8]>) {
    let set = text.character_set();
    let attributes = attributes(set, collation);
    if attributes & (CASE_INSENSITIVE | ACCENT_INSENSITIVE) == 0 {
        return (set, Cow::Borrowed(text.bytes()));
    }
    match order(set, collation) {
        Order::National { order, attention, .. } => {
            (set, text.bytes().iter().map(|byte| order.canonical(*byte, attention)).collect())
        }
        _ => {
            let accents = attributes & ACCENT_INSENSITIVE == 0;
            let seen = canonical::unicode(&text.decode_lossy(), accents);
            (CharacterSet::UTF8, Cow::Owned(seen.into_bytes()))
        }
    }
}

/// Whether [`canonical()`] changes texts.
pub fn is_insensitive(set: CharacterSet, collation: Collation) -> bool {
    attributes(set, collation) & (CASE_INSENSITIVE | ACCENT_INSENSITIVE) != 0
}

/// The characters as SIMILAR TO sees them: without accents if the collation does not look at them. Case is left to the
/// pattern.
pub fn without_ignored_accents(text: &Text, collation: Collation) -> Cow<'_, str> {
    let characters = text.decode_lossy();
    if attributes(text.character_set(), collation) & ACCENT_INSENSITIVE == 0 || characters.is_ascii() {
        return characters;
    }
    Cow::Owned(canonical::without_accents(&characters))
}

/// UPPER by a collation: of single-byte character sets each collation has its own mapping.
///
/// # Errors
/// `arith_except` with `transliteration_failed` if a character set's own mapping leads out of it (`ƒ` in WIN1252).
pub fn upper(text: &Text, collation: Collation) -> Result<Vec<u8>> {
    map_case(text, collation, true)
}

/// LOWER by a collation, as [`upper`].
///
/// # Errors
/// As [`upper`].
pub fn lower(text: &Text, collation: Collation) -> Result<Vec<u8>> {
    map_case(text, collation, false)
}

fn map_case(text: &Text, collation: Collation, to_capitals: bool) -> Result<Vec<u8>> {
    let set = text.character_set();
    if set == CharacterSet::OCTETS {
        return Ok(text.bytes().to_vec());
    }
    if !set.has_single_byte_table() {
        return Ok(if to_capitals { set.upper(text.bytes()) } else { set.lower(text.bytes()) });
    }
    let name = mapping_name(set, collation);
    let order = NationalOrder::of(set, name);
    let map = |byte: u8| {
        let own = order.and_then(|order| if to_capitals { order.capital(byte) } else { order.small(byte) });
        match (own, order) {
            (Some(other), _) => Ok(other),
            // A character whose other case is not in the set keeps its own, unless the character set's own mapping counts.
            (None, Some(_)) if collation.number() != 0 => Ok(set.map_byte(byte, to_capitals).unwrap_or(byte)),
            (None, _) => set.map_byte(byte, to_capitals),
        }
    };
    text.bytes().iter().map(|byte| map(*byte)).collect()
}

/// The collation whose case mapping counts.
fn mapping_name(set: CharacterSet, collation: Collation) -> &'static str {
    let number = match Tailoring::of(collation).map(|made| made.family) {
        Some(Family::National(number)) => Collation(u32::from(number)),
        Some(_) => Collation(0),
        None => collation,
    };
    set.collation_name(number).map_or(set.name(), table_name)
}

fn trimmed(text: &str, pad: bool) -> &str {
    if pad { text.trim_end_matches(' ') } else { text }
}

/// Brings two texts to one character set.
fn meet<'a>(left: &'a Text, right: &'a Text) -> (Cow<'a, Text>, Cow<'a, Text>) {
    let (to_left, to_right) = (left.character_set(), right.character_set());
    if to_left == to_right {
        return (Cow::Borrowed(left), Cow::Borrowed(right));
    }
    if to_left == CharacterSet::OCTETS || to_right == CharacterSet::OCTETS {
        let octets = |text: &Text| Text::new(text.bytes(), CharacterSet::OCTETS);
        return (Cow::Owned(octets(left)), Cow::Owned(octets(right)));
    }
    let weak = |set: CharacterSet| set == CharacterSet::NONE || set == CharacterSet::ASCII;
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
