//! How result types follow from argument types: lengths, character sets and nullability as Firebird computes them.
//!
//! Source: the results that Firebird 4 describes (isql's SET SQLDA_DISPLAY), and the language reference.

use farbird_types::{
    CharacterSet, Collation, ColumnType, Error, ExactSubtype, ExactWidth, Result, SqlType, TextType, isc,
};

use crate::Argument;

/// Longest text that an expression may have, in bytes (64 KB less the length word).
pub const TEXT_BYTES_MAX: u32 = 65_533;

/// Longest text that a column may have, in bytes.
pub const COLUMN_BYTES_MAX: u32 = 32_765;

/// Longest name of a time zone: EXTRACT(TIMEZONE_NAME).
pub const ZONE_NAME_CHARS_MAX: u32 = 32;

/// Longest value of a context variable, in bytes.
pub const CONTEXT_VALUE_BYTES_MAX: u32 = 255;

/// A type whose nullability is that of the arguments: nullable if any is.
pub fn nullable_as(sql_type: SqlType, arguments: &[Argument<'_>]) -> ColumnType {
    ColumnType { sql_type, nullable: arguments.iter().any(|argument| argument.column_type.nullable) }
}

/// Whether a type is an exact number.
pub fn is_exact(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Exact { .. })
}

/// Whether a type is one of the two BLOB-like ones for which results are BLOBs.
pub fn is_blob(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Blob { .. })
}

/// Whether the type is computed with DECFLOAT(34) rather than DOUBLE: DECFLOAT and INT128.
pub fn is_decimal_or_int128(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::DecFloat16 | SqlType::DecFloat34 | SqlType::Exact { width: ExactWidth::Int128, .. }
    )
}

/// DOUBLE, unless an argument is DECFLOAT or INT128 and none is FLOAT or DOUBLE: then DECFLOAT(34).
pub fn double_or_decimal(arguments: &[Argument<'_>]) -> SqlType {
    let mut decimal = false;
    for argument in arguments {
        if matches!(argument.sql_type(), SqlType::Float | SqlType::Double) {
            return SqlType::Double;
        }
        decimal |= is_decimal_or_int128(argument.sql_type());
    }
    if decimal { SqlType::DecFloat34 } else { SqlType::Double }
}

/// The longest text of a value of this type, in bytes.
pub fn text_bytes(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Null => 0,
        SqlType::Boolean => 5,
        SqlType::Exact { width, scale, .. } => {
            let digits = match width {
                ExactWidth::Short => 6,
                ExactWidth::Long => 11,
                ExactWidth::Int64 => 20,
                ExactWidth::Int128 => 47,
            };
            digits + u32::from(*scale < 0)
        }
        SqlType::Float => 15,
        SqlType::Double => 24,
        SqlType::DecFloat16 => 23,
        SqlType::DecFloat34 => 42,
        SqlType::Date => 10,
        SqlType::Time => 13,
        SqlType::Timestamp => 25,
        SqlType::TimeTz => 14 + ZONE_NAME_CHARS_MAX,
        SqlType::TimestampTz => 26 + ZONE_NAME_CHARS_MAX,
        SqlType::Text(text) => text.length_bytes(),
        SqlType::Blob { .. } | SqlType::Array => 9,
    }
}

/// The character set and collation of a value's text: NONE for what is no text (its digits are read as such).
pub fn text_kind(sql_type: &SqlType) -> (CharacterSet, Collation) {
    match sql_type {
        SqlType::Text(text) => (text.character_set, text.collation),
        SqlType::Blob { subtype: 1, character_set, collation } => (*character_set, *collation),
        SqlType::Blob { .. } => (CharacterSet::OCTETS, Collation(0)),
        _ => (CharacterSet::NONE, Collation(0)),
    }
}

/// The longest text of a value of this type in characters of `to`.
pub fn text_chars_in(sql_type: &SqlType, to: CharacterSet) -> u32 {
    let bytes = text_bytes(sql_type);
    if to.is_bytes() {
        return bytes;
    }
    let (from, _) = text_kind(sql_type);
    bytes / u32::from(from.bytes_per_character())
}

/// VARCHAR of that many characters, no longer than a text may be.
pub fn varying(length_chars: u32, (character_set, collation): (CharacterSet, Collation)) -> SqlType {
    let most = TEXT_BYTES_MAX / u32::from(character_set.bytes_per_character());
    SqlType::Text(TextType { varying: true, length_chars: length_chars.min(most), character_set, collation })
}

/// The text kind of a result made of two texts: bytes win, then whatever is not NONE or ASCII.
pub fn joined_kind(
    left: (CharacterSet, Collation),
    right: (CharacterSet, Collation),
) -> (CharacterSet, Collation) {
    let ((first, _), (second, _)) = (left, right);
    if first == CharacterSet::NONE || second == CharacterSet::OCTETS {
        return right;
    }
    if first == CharacterSet::ASCII && second != CharacterSet::NONE {
        return right;
    }
    left
}

/// A BLOB of a subtype, with the text kind where the subtype is TEXT.
pub fn blob(subtype: i16, (character_set, collation): (CharacterSet, Collation)) -> SqlType {
    if subtype == 1 {
        SqlType::Blob { subtype, character_set, collation }
    } else {
        SqlType::Blob { subtype, character_set: CharacterSet::NONE, collation: Collation(0) }
    }
}

/// An exact number of scale 0 and no declared precision.
pub const fn whole(width: ExactWidth) -> SqlType {
    SqlType::Exact { width, scale: 0, subtype: ExactSubtype::Integer }
}

/// The error for an argument that must be a whole number.
pub fn must_be_exact(function: &str) -> Error {
    Error::new(isc::EXPRESSION_EVAL_ERR).and(isc::SYSF_ARGMUSTBE_EXACT).with(function)
}

/// SMALLINT, nullable as the arguments.
pub fn smallint(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    Ok(nullable_as(SqlType::SMALLINT, arguments))
}

/// INTEGER, nullable as the arguments.
pub fn integer(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    Ok(nullable_as(SqlType::INTEGER, arguments))
}

/// BIGINT, nullable as the arguments.
pub fn bigint(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    Ok(nullable_as(SqlType::BIGINT, arguments))
}

/// DOUBLE PRECISION, nullable as the arguments.
pub fn double(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    Ok(nullable_as(SqlType::Double, arguments))
}

/// DOUBLE PRECISION or DECFLOAT(34) as [`double_or_decimal`] says, nullable as the arguments.
pub fn double_or_decfloat(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    Ok(nullable_as(double_or_decimal(arguments), arguments))
}

/// No `?` of this function has a type of its own.
pub fn unknown_parameter(_: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    None
}

/// The type of a `?` about which a function knows that it must not be NULL, or does not care.
pub const fn required(sql_type: SqlType) -> Option<ColumnType> {
    Some(ColumnType { sql_type, nullable: false })
}

/// The type of another argument for a `?`.
pub fn same_as(argument: Option<&Argument<'_>>) -> Option<ColumnType> {
    argument.map(|argument| argument.column_type).filter(|known| known.sql_type != SqlType::Null)
}

/// A `?` is DOUBLE PRECISION.
pub fn double_parameter(_: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    required(SqlType::Double)
}

/// A `?` is DOUBLE PRECISION, or DECFLOAT(34) beside such arguments.
pub fn double_or_decfloat_parameter(_: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    required(double_or_decimal(arguments))
}

/// A `?` is INTEGER.
pub fn integer_parameter(_: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    required(SqlType::INTEGER)
}

/// A `?` has the type common to the other arguments.
pub fn common_parameter(_: usize, arguments: &[Argument<'_>]) -> Option<ColumnType> {
    let types: Vec<SqlType> = arguments.iter().map(|argument| *argument.sql_type()).collect();
    match farbird_types::arithmetic::common_type(&types) {
        Ok(SqlType::Null) | Err(_) => None,
        Ok(sql_type) => Some(ColumnType { sql_type, nullable: true }),
    }
}
