//! The type that holds values of several types: CASE, COALESCE, IN, UNION.

use super::concatenation::{merged_subtype, merged_text, text_of};
use crate::error::{Error, Result, isc};
use crate::sql_type::{ExactSubtype, SqlType, TextType};

/// The longest text in bytes, without the length before a VARCHAR.
const TEXT_BYTES_MAX: u32 = 65_533;

/// The one type that can hold values of all these types: CASE, COALESCE, UNION, IN lists.
///
/// A BLOB among them makes it a BLOB, a text a text (VARCHAR, unless all are CHAR), an approximate number an
/// approximate number; exact numbers meet in the widest width and the finest scale. `SqlType::Null` members do not
/// count; only such members give `SqlType::Null`.
///
/// # Errors
/// `dsql_datatypes_not_comparable`.
pub fn common_type(types: &[SqlType]) -> Result<SqlType> {
    common_type_in(types, "CASE")
}

/// As [`common_type`], naming the expression in the error.
///
/// # Errors
/// As [`common_type`].
pub fn common_type_in(types: &[SqlType], expression: &str) -> Result<SqlType> {
    if types.contains(&SqlType::Array) {
        return Err(Error::new(isc::SQLERR).with(-804).and(isc::DSQL_DATATYPE_ERR));
    }
    let mut merged = SqlType::Null;
    let mut any_text = false;
    let mut any_varying = false;
    let mut forced_text = false;
    for sql_type in types.iter().filter(|sql_type| **sql_type != SqlType::Null) {
        any_varying |= !matches!(sql_type, SqlType::Text(TextType { varying: false, .. }));
        any_text |= is_text_or_blob(sql_type);
        merged = if merged == SqlType::Null {
            *sql_type
        } else if is_text_or_blob(&merged) || is_text_or_blob(sql_type) {
            merged_as_text(&merged, sql_type)
        } else {
            merged_scalars(&merged, sql_type).unwrap_or_else(|| {
                forced_text = true;
                merged_as_text(&merged, sql_type)
            })
        };
    }
    if forced_text && !any_text {
        return Err(Error::new(isc::SQLERR)
            .with(-104)
            .and(isc::DSQL_DATATYPES_NOT_COMPARABLE)
            .with("")
            .with(expression));
    }
    if let SqlType::Text(text) = &mut merged {
        text.varying = any_varying;
        text.length_chars =
            text.length_chars.min(TEXT_BYTES_MAX / u32::from(text.character_set.bytes_per_character()));
    }
    Ok(merged)
}

fn is_text_or_blob(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text(_) | SqlType::Blob { .. })
}

fn merged_as_text(left: &SqlType, right: &SqlType) -> SqlType {
    let (character_set, collation) = merged_text(text_of(left), text_of(right));
    match merged_subtype(left, right) {
        Some(subtype) => SqlType::Blob { subtype, character_set, collation },
        None => {
            // In characters even for OCTETS, as Firebird counts here.
            let length_chars = left.text_length().max(right.text_length());
            SqlType::Text(TextType { varying: true, length_chars, character_set, collation })
        }
    }
}

/// Two types of one kind; nothing if they have nothing in common but their text form.
fn merged_scalars(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    match (left, right) {
        (same, other) if same == other => Some(*same),
        (
            SqlType::Exact { width, scale, subtype },
            SqlType::Exact { width: other_width, scale: other_scale, subtype: other_subtype },
        ) => Some(SqlType::Exact {
            width: (*width).max(*other_width),
            scale: (*scale).min(*other_scale),
            subtype: finer(*subtype, *other_subtype),
        }),
        (left, right) => match (approximation(left), approximation(right)) {
            (Some(left_rank), Some(right_rank)) => Some(if left_rank >= right_rank { *left } else { *right }),
            _ => merged_times(left, right),
        },
    }
}

/// How much an approximate number can say; an exact one gives way to any.
fn approximation(sql_type: &SqlType) -> Option<u8> {
    match sql_type {
        SqlType::Exact { .. } => Some(0),
        SqlType::Float => Some(1),
        SqlType::Double => Some(2),
        SqlType::DecFloat16 => Some(3),
        SqlType::DecFloat34 => Some(4),
        _ => None,
    }
}

fn merged_times(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    match (left, right) {
        (SqlType::Time, SqlType::TimeTz) | (SqlType::TimeTz, SqlType::Time) => Some(SqlType::TimeTz),
        (SqlType::Timestamp, SqlType::TimestampTz) | (SqlType::TimestampTz, SqlType::Timestamp) => {
            Some(SqlType::TimestampTz)
        }
        _ => None,
    }
}

fn finer(left: ExactSubtype, right: ExactSubtype) -> ExactSubtype {
    if left as u8 >= right as u8 { left } else { right }
}
