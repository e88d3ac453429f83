//! A text as its collation sees it, and the way back to its own bytes: for POSITION, REPLACE and TRIM.

use std::borrow::Cow;

use farbird_types::{CharacterSet, Collation, Text, collation};

/// A text without the case and accents that its collation does not look at.
pub(super) struct SeenText<'t> {
    text: &'t Text,
    set: CharacterSet,
    bytes: Cow<'t, [u8]>,
    relation: Relation,
}

/// How what is seen goes with the text.
enum Relation {
    /// Byte for byte.
    Bytes,
    /// Character for character.
    Characters,
    /// Of each character that is seen, the number of the text's character it comes from: accents of their own are gone.
    Origins(Vec<usize>),
}

impl<'t> SeenText<'t> {
    /// The text as `collation` sees it.
    pub(super) fn new(text: &'t Text, collation: Collation) -> SeenText<'t> {
        let (set, bytes) = collation::canonical(text, collation);
        let relation = if set == text.character_set() && bytes.len() == text.bytes().len() {
            Relation::Bytes
        } else if set.char_length(&bytes) == text.char_length() {
            Relation::Characters
        } else {
            return SeenText::by_character(text, collation, set);
        };
        SeenText { text, set, bytes, relation }
    }

    fn by_character(text: &'t Text, collation: Collation, set: CharacterSet) -> SeenText<'t> {
        let mut bytes = Vec::with_capacity(text.bytes().len());
        let mut origins = Vec::with_capacity(text.bytes().len());
        for (number, character) in text.character_set().characters(text.bytes()).enumerate() {
            let character = Text::new(character, text.character_set());
            let (_, seen) = collation::canonical(&character, collation);
            origins.extend(std::iter::repeat_n(number, set.char_length(&seen)));
            bytes.extend_from_slice(&seen);
        }
        SeenText { text, set, bytes: Cow::Owned(bytes), relation: Relation::Origins(origins) }
    }

    /// What is seen, in [`SeenText::set`].
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes.into_owned()
    }

    pub(super) fn set(&self) -> CharacterSet {
        self.set
    }

    /// How many characters the text has.
    pub(super) fn characters(&self) -> usize {
        self.text.char_length()
    }

    /// Where, in what is seen, the text's character of this number begins, or what comes after it.
    pub(super) fn offset_of(&self, character: usize) -> usize {
        let seen = match &self.relation {
            Relation::Origins(origins) => origins.partition_point(|origin| *origin < character),
            Relation::Bytes | Relation::Characters => character,
        };
        self.set.byte_offset(&self.bytes, seen)
    }

    /// The number of the text's character from which the one at an offset of what is seen comes; how many characters
    /// the text has at the end.
    pub(super) fn character_at(&self, offset: usize) -> usize {
        let seen = self.set.char_length(self.bytes.get(..offset).unwrap_or_default());
        match &self.relation {
            Relation::Origins(origins) => origins.get(seen).copied().unwrap_or_else(|| self.characters()),
            Relation::Bytes | Relation::Characters => seen,
        }
    }

    /// The text's own bytes for a part of what is seen.
    pub(super) fn original(&self, from: usize, to: usize) -> &'t [u8] {
        let (from, to) = match self.relation {
            Relation::Bytes => (from, to),
            Relation::Characters | Relation::Origins(_) => {
                let place = |offset| {
                    self.text.character_set().byte_offset(self.text.bytes(), self.character_at(offset))
                };
                (place(from), place(to))
            }
        };
        self.text.bytes().get(from..to).unwrap_or_default()
    }
}
