//! SQL types as columns, parameters and expressions declare them.

use std::fmt;

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
    /// An array, whose [`ArrayShape`](crate::ArrayShape) its column or domain says. Its value is the id of a BLOB.
    Array,
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

    /// The type that values for a parameter of this type are converted to: a CHAR is not padded. Only what it is assigned
    /// to pads it, so that `? || name` has no spaces inside.
    pub const fn of_parameter_value(self) -> SqlType {
        match self {
            SqlType::Text(text) => SqlType::Text(TextType { varying: true, ..text }),
            other => other,
        }
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

impl ExactWidth {
    /// The most decimal digits that a NUMERIC of this width is declared with.
    pub const fn precision(self) -> u8 {
        match self {
            ExactWidth::Short => 4,
            ExactWidth::Long => 9,
            ExactWidth::Int64 => 18,
            ExactWidth::Int128 => 38,
        }
    }

    /// The name of the integer type of this width.
    const fn name(self) -> &'static str {
        match self {
            ExactWidth::Short => "SMALLINT",
            ExactWidth::Long => "INTEGER",
            ExactWidth::Int64 => "BIGINT",
            ExactWidth::Int128 => "INT128",
        }
    }
}

/// As DDL writes the type: `NUMERIC(9, 2)`, `VARCHAR(10) CHARACTER SET UTF8`. The precision is the highest of its width.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Null => f.write_str("NULL"),
            SqlType::Boolean => f.write_str("BOOLEAN"),
            SqlType::Exact { width, scale: 0, subtype: ExactSubtype::Integer } => f.write_str(width.name()),
            SqlType::Exact { width, scale, subtype } => {
                let name = if *subtype == ExactSubtype::Decimal { "DECIMAL" } else { "NUMERIC" };
                write!(f, "{name}({}, {})", width.precision(), scale.unsigned_abs())
            }
            SqlType::Float => f.write_str("FLOAT"),
            SqlType::Double => f.write_str("DOUBLE PRECISION"),
            SqlType::DecFloat16 => f.write_str("DECFLOAT(16)"),
            SqlType::DecFloat34 => f.write_str("DECFLOAT(34)"),
            SqlType::Date => f.write_str("DATE"),
            SqlType::Time => f.write_str("TIME"),
            SqlType::Timestamp => f.write_str("TIMESTAMP"),
            SqlType::TimeTz => f.write_str("TIME WITH TIME ZONE"),
            SqlType::TimestampTz => f.write_str("TIMESTAMP WITH TIME ZONE"),
            SqlType::Text(text) => text.fmt(f),
            SqlType::Blob { subtype: 0, .. } => f.write_str("BLOB SUB_TYPE BINARY"),
            SqlType::Blob { subtype: 1, character_set, collation } => {
                f.write_str("BLOB SUB_TYPE TEXT")?;
                write_character_set(f, *character_set, *collation)
            }
            SqlType::Blob { subtype, .. } => write!(f, "BLOB SUB_TYPE {subtype}"),
            SqlType::Array => f.write_str("ARRAY"),
        }
    }
}

impl fmt::Display for TextType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match (self.character_set, self.varying) {
            (CharacterSet::OCTETS, true) => "VARBINARY",
            (CharacterSet::OCTETS, false) => "BINARY",
            (_, true) => "VARCHAR",
            (_, false) => "CHAR",
        };
        write!(f, "{name}({})", self.length_chars)?;
        if self.character_set == CharacterSet::OCTETS {
            return Ok(());
        }
        write_character_set(f, self.character_set, self.collation)
    }
}

fn write_character_set(f: &mut fmt::Formatter<'_>, set: CharacterSet, collation: Collation) -> fmt::Result {
    if set != CharacterSet::NONE {
        write!(f, " CHARACTER SET {}", set.name())?;
    }
    match set.collation_name(collation) {
        Some(name) if collation.0 != 0 => write!(f, " COLLATE {name}"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_shown_as_ddl_writes_them() {
        let numeric = SqlType::Exact { width: ExactWidth::Long, scale: -2, subtype: ExactSubtype::Numeric };
        let decimal = SqlType::Exact { width: ExactWidth::Int128, scale: 0, subtype: ExactSubtype::Decimal };
        let dictionary = SqlType::Text(TextType {
            varying: true,
            length_chars: 10,
            character_set: CharacterSet::UTF8,
            collation: Collation(3),
        });
        for (sql_type, shown) in [
            (SqlType::BIGINT, "BIGINT"),
            (numeric, "NUMERIC(9, 2)"),
            (decimal, "DECIMAL(38, 0)"),
            (SqlType::varchar(5, CharacterSet::NONE), "VARCHAR(5)"),
            (SqlType::char(5, CharacterSet::OCTETS), "BINARY(5)"),
            (dictionary, "VARCHAR(10) CHARACTER SET UTF8 COLLATE UNICODE_CI"),
            (SqlType::blob_text(CharacterSet::WIN1252), "BLOB SUB_TYPE TEXT CHARACTER SET WIN1252"),
            (SqlType::BLOB_BINARY, "BLOB SUB_TYPE BINARY"),
            (SqlType::TimestampTz, "TIMESTAMP WITH TIME ZONE"),
        ] {
            assert_eq!(sql_type.to_string(), shown);
        }
    }
}
