//! The orders of single languages over single-byte character sets: PXW_CSY, DE_DE, WIN1251_UA ...
//!
//! An order gives each character of its set a place: a class of letters that differ only in accents and case, and
//! within it an accent and a case. Texts are compared by their letters first, then by accents, then by case. Two
//! characters in a row may be one letter (Czech `ch`), one character two letters (`ß`). *Specials*, in some orders, count
//! only where everything else is the same: by where they stand, then by their own order.
//!
//! The orders stand in `data/national-orders.txt`, as a running Firebird gives them: `data/record_collations.py` asks it
//! to sort texts made of all characters, and writes down what it sees. They do not follow CLDR, so they never change with
//! a version of Unicode.

use std::sync::OnceLock;

use super::without_padding;
use crate::character_set::CharacterSet;

mod rules;

/// Where a character or a pair of them stands in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Weight {
    /// The class of letters, or the place among the specials.
    primary: u8,
    /// The accent within the class.
    secondary: u8,
    /// The case within the accent.
    tertiary: u8,
    special: bool,
}

/// The order of one collation.
#[derive(Debug)]
pub(super) struct NationalOrder {
    weights: [Weight; 256],
    /// Characters that are two letters: the character, and the character whose weight the second letter has. The first
    /// letter's weight is the character's own.
    expansions: Vec<(u8, u8)>,
    /// Pairs of characters that are one letter.
    contractions: Vec<([u8; 2], Weight)>,
    /// How many specials there are.
    specials: u8,
    /// Accents are compared from the end of the text.
    french: bool,
    /// Bytes whose capital or small letter is not Unicode's.
    capitals: Vec<(u8, u8)>,
    smalls: Vec<(u8, u8)>,
    /// The lowest byte that is the same letter, with its accent, its case, or neither.
    canonical: [OnceLock<[u8; 256]>; 3],
}

/// What an order pays attention to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attention {
    pub(super) pad: bool,
    pub(super) accents: bool,
    pub(super) case: bool,
    /// Whether pairs can be one letter.
    pub(super) contractions: bool,
    /// Whether a character can be two letters.
    pub(super) expansions: bool,
    /// Specials come before all letters, like letters of their own.
    pub(super) specials_first: bool,
}

/// The end of a level, below all its codes.
const END: u8 = 0x01;
/// The lowest code of a level.
const LOWEST: u8 = 0x02;

/// The levels of a text's key.
#[derive(Default)]
struct Levels {
    letters: Vec<u8>,
    accents: Vec<u8>,
    cases: Vec<u8>,
    /// Which letters are the first of two that one character stands for.
    expanded: Vec<u8>,
    /// Positions and places of specials.
    specials: Vec<u8>,
}

impl NationalOrder {
    /// The order of a collation by its name, or of the collation it is made from; nothing if there is none.
    pub(super) fn of(set: CharacterSet, name: &str) -> Option<&'static NationalOrder> {
        rules::orders().iter().find(|entry| entry.set == set && entry.name == name).map(rules::Entry::order)
    }

    /// The UPPER of a byte, if it is not Unicode's.
    pub(super) fn capital(&self, byte: u8) -> Option<u8> {
        self.capitals.iter().find(|(from, _)| *from == byte).map(|(_, to)| *to)
    }

    /// The LOWER of a byte, if it is not Unicode's.
    pub(super) fn small(&self, byte: u8) -> Option<u8> {
        self.smalls.iter().find(|(from, _)| *from == byte).map(|(_, to)| *to)
    }

    /// The weight of the next letter, whether it is two letters, and how many bytes it takes.
    fn next(&self, bytes: &[u8], attention: Attention) -> Option<(Weight, Option<Weight>, usize)> {
        let (&first, rest) = bytes.split_first()?;
        if attention.contractions
            && let Some(&second) = rest.first()
            && let Some((_, weight)) = self.contractions.iter().find(|(pair, _)| *pair == [first, second])
        {
            return Some((*weight, None, 2));
        }
        let weight = self.weight(first);
        let second = match attention.expansions {
            true => self.expansions.iter().find(|(byte, _)| *byte == first).map(|(_, to)| self.weight(*to)),
            false => None,
        };
        Some((weight, second, 1))
    }

    fn weight(&self, byte: u8) -> Weight {
        self.weights.get(usize::from(byte)).copied().unwrap_or_default()
    }

    fn levels(&self, bytes: &[u8], attention: Attention) -> Levels {
        let bytes = if attention.pad { without_padding(bytes, b' ') } else { bytes };
        let before_letters = if attention.specials_first { self.specials } else { 0 };
        let mut levels = Levels::default();
        let mut rest = bytes;
        while let Some((weight, second, length)) = self.next(rest, attention) {
            if weight.special && !attention.specials_first {
                let position = u16::try_from(bytes.len() - rest.len()).unwrap_or(u16::MAX - 0x0200);
                levels.specials.extend((position + 0x0200).to_be_bytes());
                push_rank(u16::from(weight.primary), &mut levels.specials);
            } else {
                let before = if weight.special { 0 } else { before_letters };
                levels.push(weight, before, second.is_some());
                if let Some(second) = second {
                    levels.push(second, before_letters, false);
                }
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        if self.french {
            levels.accents.reverse();
        }
        levels
    }

    /// Appends a text's sort key.
    pub(super) fn append_key(&self, bytes: &[u8], attention: Attention, key: &mut Vec<u8>) {
        let levels = self.levels(bytes, attention);
        key.extend_from_slice(&levels.letters);
        key.push(END);
        if attention.accents {
            append_level(&levels.accents, key);
        }
        if attention.case {
            append_level(&levels.cases, key);
        }
        append_level(&levels.expanded, key);
        // Specials say nothing where case or accents do not.
        if attention.accents && attention.case {
            key.extend_from_slice(&levels.specials);
            key.push(END);
        }
    }

    /// Appends what the keys of all texts begin with that begin with these bytes.
    pub(super) fn append_prefix(&self, bytes: &[u8], attention: Attention, key: &mut Vec<u8>) {
        let bytes = if attention.pad { without_padding(bytes, b' ') } else { bytes };
        let attention = Attention { pad: false, ..attention };
        let bytes = match attention.accents && attention.case {
            true => self.closed(bytes, attention),
            false => return self.append_insensitive_prefix(bytes, attention, key),
        };
        key.extend(self.levels(bytes, attention).letters);
    }

    /// Without the last characters that may be the first one of a pair: `cs` loses the `s`, which may become `sz`, and then
    /// the `c`, since `cs` is a letter as well.
    fn closed<'b>(&self, bytes: &'b [u8], attention: Attention) -> &'b [u8] {
        let is_open = |byte: u8| self.contractions.iter().any(|(pair, _)| pair[0] == byte);
        let open = bytes.iter().rev().take_while(|byte| attention.contractions && is_open(**byte)).count();
        bytes.get(..bytes.len() - open).unwrap_or_default()
    }

    /// As [`NationalOrder::append_prefix`], where a text begins with others that are the same character by character: `æ` is
    /// the same as `a` then, and yet has two letters.
    fn append_insensitive_prefix(&self, bytes: &[u8], attention: Attention, key: &mut Vec<u8>) {
        for byte in bytes {
            let seen = self.canonical(*byte, attention);
            let is_seen = |other: u8| self.canonical(other, attention) == seen;
            if attention.contractions && self.contractions.iter().any(|(pair, _)| is_seen(pair[0])) {
                return;
            }
            let single = Attention { expansions: false, contractions: false, ..attention };
            key.extend(self.levels(&[*byte], single).letters);
            if attention.expansions && self.expansions.iter().any(|(byte, _)| is_seen(*byte)) {
                return;
            }
        }
    }

    /// The byte that stands for all that are the same to a collation in LIKE and its relatives.
    pub(super) fn canonical(&self, byte: u8, attention: Attention) -> u8 {
        let table = match (attention.accents, attention.case) {
            (true, true) => return byte,
            (true, false) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let Some(table) = self.canonical.get(table) else { return byte };
        let table = table.get_or_init(|| {
            let same = |left: Weight, right: Weight| {
                left.special == right.special
                    && left.primary == right.primary
                    && (!attention.accents || left.secondary == right.secondary)
                    && (!attention.case || left.tertiary == right.tertiary)
            };
            std::array::from_fn(|place| {
                let byte = u8::try_from(place).unwrap_or_default();
                (0..byte).find(|lower| same(self.weight(*lower), self.weight(byte))).unwrap_or(byte)
            })
        });
        table.get(usize::from(byte)).copied().unwrap_or(byte)
    }
}

impl Levels {
    fn push(&mut self, weight: Weight, before: u8, expanded: bool) {
        push_rank(u16::from(before) + u16::from(weight.primary), &mut self.letters);
        self.accents.push(LOWEST + weight.secondary);
        self.cases.push(LOWEST + weight.tertiary);
        self.expanded.push(LOWEST + u8::from(expanded));
    }
}

/// Places in an order of more than 224 classes take two bytes.
fn push_rank(rank: u16, codes: &mut Vec<u8>) {
    const ONE_BYTE: u16 = 224;
    const TWO_BYTES: u8 = 0xF0;
    match u8::try_from(rank) {
        Ok(small) if rank < ONE_BYTE => codes.push(LOWEST + small),
        _ => codes.extend([TWO_BYTES, LOWEST + u8::try_from(rank - ONE_BYTE).unwrap_or(u8::MAX - LOWEST)]),
    }
}

/// Lowest codes at the end say nothing, as the first level has told how many letters there are.
fn append_level(codes: &[u8], key: &mut Vec<u8>) {
    key.extend_from_slice(without_padding(codes, LOWEST));
    key.push(END);
}
