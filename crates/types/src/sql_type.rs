//! SQL types as columns, parameters and expressions declare them.

use crate::character_set::{CharacterSet, Collation};

/// A data type without nullability.
///
/// Source: Firebird 5 language reference, chapter Data Types; wire-protocol.md, 7.1 and 11.7 for the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum SqlType {
    /// The type of a bare NULL or of a parameter about which nothing is known.
    Null,
    /// BOOLEAN.
    Boolean,
    /// SMALLINT, INTEGER, BIGINT, INT128 and NUMERIC/DECIMAL.
    Exact {
        /// How many bytes hold it.
        width: ExactWidth,
        /// Power of ten of the last digit, 0 to -38 (Firebird's sign).
        scale: i8,
        /// Whether it was declared as NUMERIC or DECIMAL.
        subtype: ExactSubtype,
    },
    /// FLOAT.
    Float,
    /// DOUBLE PRECISION.
    Double,
    /// DECFLOAT(16).
    DecFloat16,
    /// DECFLOAT(34).
    DecFloat34,
    /// DATE.
    Date,
    /// TIME WITHOUT TIME ZONE.
    Time,
    /// TIMESTAMP WITHOUT TIME ZONE.
    Timestamp,
    /// TIME WITH TIME ZONE.
    TimeTz,
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz,
    /// CHAR, VARCHAR, BINARY, VARBINARY (the latter two in OCTETS).
    Text(TextType),
    /// BLOB.
    Blob {
        /// 0 binary, 1 text, 2 BLR and so on; negative: the user's.
        subtype: i16,
        /// Character set of text BLOBs; NONE for others.
        character_set: CharacterSet,
        /// Collation of text BLOBs.
        collation: Collation,
    },
}

/// How many bytes an exact numeric takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum ExactWidth {
    /// SMALLINT: 2 bytes.
    Short,
    /// INTEGER: 4 bytes.
    Long,
    /// BIGINT: 8 bytes.
    Int64,
    /// INT128: 16 bytes.
    Int128,
}

/// Declared kind of an exact numeric (RDB$FIELD_SUB_TYPE).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum ExactSubtype {
    /// SMALLINT, INTEGER, BIGINT, INT128.
    #[default]
    Integer = 0,
    /// NUMERIC(p, s).
    Numeric = 1,
    /// DECIMAL(p, s).
    Decimal = 2,
}

/// CHAR or VARCHAR of a declared length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct TextType {
    /// VARCHAR rather than CHAR.
    pub varying: bool,
    /// Declared length in characters.
    pub length_chars: u32,
    /// Character set.
    pub character_set: CharacterSet,
    /// Collation, of the same character set.
    pub collation: Collation,
}

impl TextType {
    /// The longest value in bytes: characters times the character set's longest character.
    pub fn length_bytes(&self) -> u32 {
        self.length_chars.saturating_mul(u32::from(self.character_set.bytes_per_character()))
    }
}

impl SqlType {
    /// SMALLINT.
    pub const SMALLINT: SqlType =
        SqlType::Exact { width: ExactWidth::Short, scale: 0, subtype: ExactSubtype::Integer };
    /// INTEGER.
    pub const INTEGER: SqlType =
        SqlType::Exact { width: ExactWidth::Long, scale: 0, subtype: ExactSubtype::Integer };
    /// BIGINT.
    pub const BIGINT: SqlType =
        SqlType::Exact { width: ExactWidth::Int64, scale: 0, subtype: ExactSubtype::Integer };
    /// INT128.
    pub const INT128: SqlType =
        SqlType::Exact { width: ExactWidth::Int128, scale: 0, subtype: ExactSubtype::Integer };
    /// BLOB SUB_TYPE BINARY.
    pub const BLOB_BINARY: SqlType =
        SqlType::Blob { subtype: 0, character_set: CharacterSet::NONE, collation: Collation(0) };

    /// VARCHAR(length) in a character set, with its default collation.
    pub const fn varchar(length_chars: u32, character_set: CharacterSet) -> SqlType {
        SqlType::Text(TextType { varying: true, length_chars, character_set, collation: Collation(0) })
    }

    /// CHAR(length) in a character set, with its default collation.
    pub const fn char(length_chars: u32, character_set: CharacterSet) -> SqlType {
        SqlType::Text(TextType { varying: false, length_chars, character_set, collation: Collation(0) })
    }

    /// BLOB SUB_TYPE TEXT in a character set.
    pub const fn blob_text(character_set: CharacterSet) -> SqlType {
        SqlType::Blob { subtype: 1, character_set, collation: Collation(0) }
    }
}

/// A type and whether NULL may stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ColumnType {
    /// The type.
    pub sql_type: SqlType,
    /// Whether NULL is possible.
    pub nullable: bool,
}
