//! The orders of Unicode's collation algorithm: UNICODE, UNICODE_CI, UNICODE_CI_AI and their relatives for other character
//! sets, and collations made with LOCALE.
//!
//! ICU4X compares and makes the keys, with CLDR's data compiled in. Its keys change with a version of that data: see
//! [`super::version`].

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{OnceLock, PoisonError, RwLock};

use icu_collator::options::{CollatorOptions, Strength};
use icu_collator::preferences::CollationNumericOrdering;
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::canonical;
use super::locale::Locale;
use super::padded;

/// What makes one order differ from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnicodeOptions {
    pub(super) locale: Locale,
    pub(super) accents: bool,
    pub(super) case: bool,
    /// Runs of digits are numbers.
    pub(super) numeric: bool,
    /// Whether several characters can be one letter of a language.
    pub(super) contractions: bool,
}

/// An order of Unicode texts.
pub(super) struct UnicodeOrder {
    options: UnicodeOptions,
    /// Looks at as much as the collation does.
    compared: CollatorBorrowed<'static>,
    /// Looks at accents and case, for ORDER BY.
    ordered: CollatorBorrowed<'static>,
    /// Looks at letters only, for the beginnings of keys.
    letters: CollatorBorrowed<'static>,
}

/// The first byte of a key: an empty text has no code of its own, and NULL has the byte 0.
const BEGIN: u8 = 0x01;
/// The end of a key; the collator's keys hold no such byte.
const END: u8 = 0x00;
/// Keeps two letters from being one: of no weight itself.
const COMBINING_GRAPHEME_JOINER: char = '\u{34F}';

impl UnicodeOrder {
    /// The order of these options; made once.
    pub(super) fn of(options: UnicodeOptions) -> &'static UnicodeOrder {
        /// The root's, by accents and case.
        static ROOT: [OnceLock<UnicodeOrder>; 4] = [const { OnceLock::new() }; 4];
        /// The others: not more than there are locales, times 16.
        static OTHERS: RwLock<BTreeMap<UnicodeOptions, &'static UnicodeOrder>> = RwLock::new(BTreeMap::new());

        if options.locale == Locale::ROOT && !options.numeric && options.contractions {
            let [neither, case, accents, both] = &ROOT;
            let place = match (options.accents, options.case) {
                (false, false) => neither,
                (false, true) => case,
                (true, false) => accents,
                (true, true) => both,
            };
            return place.get_or_init(|| UnicodeOrder::new(options));
        }
        if let Some(known) = OTHERS.read().unwrap_or_else(PoisonError::into_inner).get(&options) {
            return known;
        }
        let mut others = OTHERS.write().unwrap_or_else(PoisonError::into_inner);
        others.entry(options).or_insert_with(|| Box::leak(Box::new(UnicodeOrder::new(options))))
    }

    fn new(options: UnicodeOptions) -> UnicodeOrder {
        let of = |strength: Strength| {
            let mut preferences: CollatorPreferences = options.locale.parsed();
            if options.numeric {
                preferences.numeric_ordering = Some(CollationNumericOrdering::True);
            }
            let mut collator = CollatorOptions::default();
            collator.strength = Some(strength);
            let root = CollatorPreferences::default();
            CollatorBorrowed::try_new(preferences, collator)
                .or_else(|_| CollatorBorrowed::try_new(root, collator))
                .expect("the data of the root order is compiled in")
        };
        let compared = match (options.accents, options.case) {
            // Numeric orders tell apart whatever their preparation leaves different.
            _ if options.numeric => Strength::Tertiary,
            (true, true) => Strength::Tertiary,
            (true, false) => Strength::Secondary,
            (false, _) => Strength::Primary,
        };
        UnicodeOrder {
            options,
            compared: of(compared),
            ordered: of(Strength::Tertiary),
            letters: of(Strength::Primary),
        }
    }

    /// Compares two texts without padding.
    pub(super) fn compare(&self, left: &str, right: &str) -> Ordering {
        let (left, right) = (self.prepared(left), self.prepared(right));
        let order = self.compared.compare(&left, &right);
        match self.options.numeric {
            true => order.then_with(|| left.nfd().cmp(right.nfd())),
            false => order,
        }
    }

    /// Appends the sort key of a text without padding.
    pub(super) fn append_key(&self, text: &str, key: &mut Vec<u8>) {
        let text = self.prepared(text);
        write_key(&self.compared, &text, key);
        if self.options.numeric {
            append_identity(&text, key);
        }
    }

    /// Appends the key by which ORDER BY places a text: among equals by accents and case.
    pub(super) fn append_order_key(&self, text: &str, key: &mut Vec<u8>) {
        write_key(&self.ordered, &self.apart(Cow::Borrowed(text)), key);
        if self.options.numeric {
            append_identity(text, key);
        }
    }

    /// Appends what the keys of all texts begin with that begin with `prefix`.
    pub(super) fn append_prefix(&self, prefix: &str, key: &mut Vec<u8>) {
        let prefix = self.prepared(self.unambiguous(prefix));
        let (mut closed, mut whole) = (Vec::new(), Vec::new());
        write(&self.letters, self.closed(&prefix), &mut closed);
        write(&self.letters, &prefix, &mut whole);
        // What was dropped may be part of the last letter (Hungarian `gy`, cut to `g`) or stand before it in the key (Thai).
        let common = closed.iter().zip(&whole).take_while(|(closed, whole)| closed == whole).count();
        closed.truncate(common);
        key.push(BEGIN);
        key.append(&mut closed);
    }

    /// The part of a prefix in which whatever is the same to an insensitive collation, character by character, is the same
    /// letter too. To Czech `č` is not a letter with an accent, and to Turkish `I` not the capital of `i`.
    fn unambiguous<'t>(&self, prefix: &'t str) -> &'t str {
        if self.options.accents && self.options.case {
            return prefix;
        }
        let mut characters = prefix.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if !self.is_one_letter(character) || next.is_some_and(|next| self.case_parts(character, next)) {
                return prefix.get(..at).unwrap_or_default();
            }
        }
        prefix
    }

    /// Whether two characters are one letter in some cases and two in others: Hungarian has `gy`, `Gy` and `GY`, but no `gY`.
    fn case_parts(&self, first: char, second: char) -> bool {
        if self.options.case || self.options.locale == Locale::ROOT || !self.options.contractions {
            return false;
        }
        let cases =
            |character: char| [character.to_lowercase().to_string(), character.to_uppercase().to_string()];
        let (firsts, seconds) = (cases(first), cases(second));
        let mut keys =
            firsts.iter().flat_map(|first| seconds.iter().map(move |second| format!("{first}{second}")));
        let letters = |pair: String| {
            let mut key = Vec::new();
            write(&self.letters, &pair, &mut key);
            key
        };
        let own = keys.next().map(letters);
        keys.any(|pair| Some(letters(pair)) != own)
    }

    fn is_one_letter(&self, character: char) -> bool {
        const ACCENTS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{34E}';
        if self.options.locale == Locale::ROOT && character.is_ascii() {
            return true;
        }
        // Scripts whose vowels are marks lose them with the accents.
        if !self.options.accents && !has_accents_only(character) {
            return false;
        }
        let capital = canonical::unicode(character.encode_utf8(&mut [0; 4]), self.options.accents);
        let letters = |text: &str| {
            let mut key = Vec::new();
            write(&self.letters, text, &mut key);
            key
        };
        let own = letters(&capital);
        let small = capital.to_lowercase();
        if letters(&small) != own || letters(character.encode_utf8(&mut [0; 4])) != own {
            return false;
        }
        self.options.accents
            || ACCENTS.into_iter().all(|accent| {
                [&capital, &small].iter().all(|letter| letters(&format!("{letter}{accent}")) == own)
            })
    }

    /// The part of a prefix whose letters stay the same whatever follows.
    fn closed<'t>(&self, prefix: &'t str) -> &'t str {
        /// Characters that a letter of any language has at most, less one.
        const LETTER_CHARACTERS_MORE: usize = 3;
        let mut closed = prefix;
        if self.options.numeric {
            closed = closed.trim_end_matches(|character: char| character.is_numeric());
        }
        closed = closed.trim_end_matches(' ');
        let dropped = match self.options.locale == Locale::ROOT || !self.options.contractions {
            true => usize::from(!closed.chars().next_back().is_none_or(stands_alone)),
            false => LETTER_CHARACTERS_MORE,
        };
        for _ in 0..dropped {
            closed = closed.trim_end_matches(is_combining_mark);
            let mut characters = closed.chars();
            characters.next_back();
            closed = characters.as_str();
        }
        closed
    }

    fn prepared<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.options.numeric && !self.options.case {
            true => self.apart(Cow::Owned(canonical::unicode(text, self.options.accents))),
            false => self.apart(Cow::Borrowed(text)),
        }
    }

    /// The text with its characters kept from being one letter, if they are not to be.
    fn apart<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        if self.options.contractions {
            return text;
        }
        // Taken apart altogether, as Firebird does: an accent makes no letter of its own either.
        let mut apart = String::with_capacity(text.len() * 3);
        for character in text.nfd() {
            if !apart.is_empty() {
                apart.push(COMBINING_GRAPHEME_JOINER);
            }
            apart.push(character);
        }
        Cow::Owned(apart)
    }
}

/// Whether no character that may follow makes another letter of this one, in the order of the root: Latin (but for `l` with
/// a middle dot) and Greek letters, digits, common punctuation, ideographs.
fn stands_alone(character: char) -> bool {
    match character {
        'l' | 'L' => false,
        '!'..='~' | '\u{A1}'..='\u{24F}' | '\u{391}'..='\u{3A9}' | '\u{3B1}'..='\u{3C9}' => character != 'ŀ',
        '\u{4E00}'..='\u{9FFF}' => true,
        _ => false,
    }
}

/// Whether marks over a character are accents: Latin, Greek, Cyrillic, Armenian and Georgian letters, symbols, ideographs.
fn has_accents_only(character: char) -> bool {
    matches!(
        character,
        ' '..='~' | '\u{A1}'..='\u{2FF}' | '\u{370}'..='\u{58F}' | '\u{10A0}'..='\u{10FF}' | '\u{1E00}'..='\u{1FFF}'
            | '\u{2010}'..='\u{214F}' | '\u{4E00}'..='\u{9FFF}'
    )
}

fn write_key(collator: &CollatorBorrowed<'static>, text: &str, key: &mut Vec<u8>) {
    key.push(BEGIN);
    write(collator, text, key);
    key.push(END);
}

/// What tells texts apart that are equal by all levels.
fn append_identity(text: &str, key: &mut Vec<u8>) {
    let decomposed: String = text.nfd().collect();
    padded::append_unpadded(decomposed.as_bytes(), key);
}

fn write(collator: &CollatorBorrowed<'static>, text: &str, key: &mut Vec<u8>) {
    // A vector takes any number of bytes.
    let Ok(()) = collator.write_sort_key_to(text, key);
}
