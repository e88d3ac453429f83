//! Types of texts that functions make of texts.

use farbird_types::{CharacterSet, Collation, ColumnType, SqlType};

use crate::Argument;
use crate::result_type::{blob, joined_kind, nullable_as, text_bytes, text_kind, varying};

/// What functions of text give for a bare NULL.
pub(super) fn null_text() -> ColumnType {
    ColumnType { sql_type: SqlType::char(1, CharacterSet::NONE), nullable: true }
}

pub(super) fn any_null(arguments: &[Argument<'_>]) -> bool {
    arguments.iter().any(|argument| *argument.sql_type() == SqlType::Null)
}

pub(super) fn ascii_text(sql_type: &SqlType) -> SqlType {
    varying(text_bytes(sql_type), (CharacterSet::ASCII, Collation(0)))
}

/// The text kind of several arguments together, and the BLOB subtype if one of them is a BLOB.
pub(super) fn joined(arguments: &[&SqlType]) -> ((CharacterSet, Collation), Option<i16>) {
    let mut kind = None;
    let mut subtype = None;
    for sql_type in arguments {
        let own = text_kind(sql_type);
        kind = Some(kind.map_or(own, |so_far| joined_kind(so_far, own)));
        if let SqlType::Blob { subtype: own, .. } = sql_type {
            subtype = Some(if *own == 0 { 0 } else { subtype.unwrap_or(*own) });
        }
    }
    (kind.unwrap_or((CharacterSet::NONE, Collation(0))), subtype)
}

/// A BLOB if `subtype` says so, otherwise a VARCHAR of `length_chars`.
pub(super) fn text_of_length(
    length_chars: u32,
    kind: (CharacterSet, Collation),
    subtype: Option<i16>,
    arguments: &[Argument<'_>],
) -> ColumnType {
    let sql_type = match subtype {
        Some(subtype) => blob(subtype, kind),
        None => varying(length_chars, kind),
    };
    nullable_as(sql_type, arguments)
}

/// The character set in which a call computes: that of its result.
pub(super) fn working_set(result: &SqlType) -> CharacterSet {
    match result {
        SqlType::Blob { subtype, .. } if *subtype != 1 => CharacterSet::OCTETS,
        other => text_kind(other).0,
    }
}
