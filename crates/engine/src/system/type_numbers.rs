//! Types as the columns of RDB$FIELDS show them.

use farbird_types::{ExactSubtype, ExactWidth, SqlType};

/// A type in the numbers of RDB$FIELDS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TypeNumbers {
    /// RDB$FIELD_TYPE.
    pub(super) field_type: i16,
    /// RDB$FIELD_LENGTH, in bytes.
    pub(super) length: i64,
    /// RDB$FIELD_SCALE.
    pub(super) scale: i16,
    /// RDB$FIELD_SUB_TYPE.
    pub(super) subtype: Option<i16>,
    /// RDB$FIELD_PRECISION.
    pub(super) precision: Option<i16>,
    /// RDB$CHARACTER_LENGTH.
    pub(super) char_length: Option<i64>,
    /// RDB$CHARACTER_SET_ID.
    pub(super) character_set: Option<i16>,
    /// RDB$COLLATION_ID.
    pub(super) collation: Option<i16>,
    /// RDB$SEGMENT_LENGTH.
    pub(super) segment_length: Option<u16>,
}

/// What Firebird shows for BLOBs that named no segment size.
const SEGMENT_LENGTH: u16 = 80;

/// Source: Firebird 5 language reference, appendix System Tables, RDB$FIELDS; checked against Firebird 4.
pub(super) fn type_numbers(sql_type: &SqlType, declared_precision: Option<u8>) -> TypeNumbers {
    let plain = |field_type: i16, length: i64| TypeNumbers { field_type, length, ..TypeNumbers::default() };
    match sql_type {
        SqlType::Null => plain(14, 0),
        SqlType::Boolean => plain(23, 1),
        SqlType::Exact { width, scale, subtype } => {
            let (field_type, length) = match width {
                ExactWidth::Short => (7, 2),
                ExactWidth::Long => (8, 4),
                ExactWidth::Int64 => (16, 8),
                ExactWidth::Int128 => (26, 16),
            };
            let precision = match subtype {
                ExactSubtype::Integer => 0,
                _ => i16::from(declared_precision.unwrap_or(0)),
            };
            TypeNumbers {
                scale: i16::from(*scale),
                subtype: Some(match subtype {
                    ExactSubtype::Integer => 0,
                    ExactSubtype::Numeric => 1,
                    ExactSubtype::Decimal => 2,
                }),
                precision: Some(precision),
                ..plain(field_type, length)
            }
        }
        SqlType::Float => plain(10, 4),
        SqlType::Double => plain(27, 8),
        SqlType::DecFloat16 => TypeNumbers { precision: Some(16), ..plain(24, 8) },
        SqlType::DecFloat34 => TypeNumbers { precision: Some(34), ..plain(25, 16) },
        SqlType::Date => plain(12, 4),
        SqlType::Time => plain(13, 4),
        SqlType::Timestamp => plain(35, 8),
        SqlType::TimeTz => plain(28, 8),
        SqlType::TimestampTz => plain(29, 12),
        SqlType::Text(text) => TypeNumbers {
            // OCTETS is a subtype of its own: BINARY and VARBINARY.
            subtype: Some(i16::from(text.character_set == farbird_types::CharacterSet::OCTETS)),
            char_length: Some(i64::from(text.length_chars)),
            character_set: Some(i16::from(text.character_set.0)),
            collation: Some(i16::from(text.collation.number())),
            ..plain(if text.varying { 37 } else { 14 }, i64::from(text.length_bytes()))
        },
        SqlType::Blob { subtype, character_set, collation } => TypeNumbers {
            subtype: Some(*subtype),
            character_set: (*subtype == 1).then_some(i16::from(character_set.0)),
            collation: (*subtype == 1).then_some(i16::from(collation.number())),
            segment_length: Some(SEGMENT_LENGTH),
            ..plain(261, 8)
        },
        // Of an array its elements are told.
        SqlType::Array => plain(9, 8),
    }
}

#[cfg(test)]
mod tests {
    use farbird_types::CharacterSet;

    use super::*;

    /// As Firebird 4 shows `NUMERIC(4, 2)`, `VARBINARY(10)` and `BLOB SUB_TYPE TEXT CHARACTER SET UTF8`.
    #[test]
    fn numbers_are_firebirds() {
        let numeric = SqlType::Exact { width: ExactWidth::Short, scale: -2, subtype: ExactSubtype::Numeric };
        let numbers = type_numbers(&numeric, Some(4));
        assert_eq!(
            (numbers.field_type, numbers.length, numbers.scale, numbers.subtype, numbers.precision),
            (7, 2, -2, Some(1), Some(4))
        );
        let binary = type_numbers(&SqlType::varchar(10, CharacterSet::OCTETS), None);
        assert_eq!((binary.field_type, binary.subtype, binary.character_set), (37, Some(1), Some(1)));
        let blob = type_numbers(&SqlType::blob_text(CharacterSet::UTF8), None);
        assert_eq!((blob.field_type, blob.character_set, blob.segment_length), (261, Some(4), Some(80)));
    }
}
