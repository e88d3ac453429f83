//! Character sets and collations, by Firebird's numbers.
//!
//! Source: data/character-sets.tsv and data/collations.tsv (read out of a Firebird 5.0 database).

/// A character set, by its RDB$CHARACTER_SET_ID.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
pub struct CharacterSet(pub u8);

/// A collation, by its RDB$COLLATION_ID within its character set; 0 is the character set's own order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Collation(pub u8);

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

    /// The longest character in bytes.
    pub const fn bytes_per_character(self) -> u8 {
        match self.0 {
            3 => 3,
            4 | 69 => 4,
            5 | 6 | 44 | 56 | 57 | 67 | 68 => 2,
            _ => 1,
        }
    }
}
