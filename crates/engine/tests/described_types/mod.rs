//! Types and statuses as the recordings of tests/record write them.

#![allow(dead_code, unreachable_pub)]

use std::fmt::Write as _;

use farbird_types::{CharacterSet, ColumnType, Error, ExactWidth, SqlType, TextType, isc};

/// A type as an attachment is told it whose character set is UTF8.
pub fn in_utf8(column: ColumnType) -> ColumnType {
    let in_utf8 = |character_set| match character_set {
        raw @ (CharacterSet::NONE | CharacterSet::OCTETS) => raw,
        _ => CharacterSet::UTF8,
    };
    let sql_type = match column.sql_type {
        SqlType::Text(text) => SqlType::Text(TextType { character_set: in_utf8(text.character_set), ..text }),
        SqlType::Blob { subtype, character_set, collation } => {
            SqlType::Blob { subtype, character_set: in_utf8(character_set), collation }
        }
        other => other,
    };
    ColumnType { sql_type, ..column }
}

/// A type as the recordings write it.
pub fn described(column: &ColumnType, extended: bool) -> String {
    let mut text = match column.sql_type {
        SqlType::TimeTz if extended => "32750".to_owned(),
        SqlType::TimestampTz if extended => "32748".to_owned(),
        SqlType::Null => "NULL".to_owned(),
        SqlType::Array => "ARRAY".to_owned(),
        SqlType::Boolean => "BOOLEAN".to_owned(),
        SqlType::Float => "FLOAT".to_owned(),
        SqlType::Double => "DOUBLE".to_owned(),
        SqlType::DecFloat16 => "DEC16".to_owned(),
        SqlType::DecFloat34 => "DEC34".to_owned(),
        SqlType::Date => "DATE".to_owned(),
        SqlType::Time => "TIME".to_owned(),
        SqlType::Timestamp => "TIMESTAMP".to_owned(),
        SqlType::TimeTz => "TIME TZ".to_owned(),
        SqlType::TimestampTz => "TIMESTAMP TZ".to_owned(),
        SqlType::Exact { width, scale, subtype } => {
            let mut text = match width {
                ExactWidth::Short => "SHORT",
                ExactWidth::Long => "LONG",
                ExactWidth::Int64 => "INT64",
                ExactWidth::Int128 => "INT128",
            }
            .to_owned();
            if scale != 0 {
                write!(text, ".{scale}").expect("a string takes everything");
            }
            if subtype as u8 != 0 {
                write!(text, ":{}", subtype as u8).expect("a string takes everything");
            }
            text
        }
        SqlType::Text(text) => {
            let set = text.character_set;
            let length = text.length_bytes();
            let kind = if text.varying { "VARYING" } else { "TEXT" };
            format!("{kind}({length}){}", set.0)
        }
        SqlType::Blob { subtype: 1, character_set, .. } => format!("BLOB:1 {}", character_set.0),
        SqlType::Blob { subtype, .. } => format!("BLOB:{subtype}"),
    };
    if column.nullable {
        text.push('?');
    }
    text
}

/// The codes of a status, without those that only say where it comes from.
pub fn codes(answer: &str) -> Vec<&str> {
    let heads = [isc::DSQL_ERROR, isc::SQLERR, isc::RANDOM].map(|code| code.to_string());
    answer.split(' ').skip(1).filter(|code| !heads.iter().any(|head| head == code)).collect()
}

/// The codes of an error as a recording writes them.
pub fn status(error: &Error) -> String {
    let codes: Vec<String> = error.items().iter().map(|item| item.gds_code.to_string()).collect();
    format!("! {}", codes.join(" "))
}

/// An answer with its VARCHARs cut to whole characters: some of Firebird's rules for lengths leave parts of one.
pub fn in_whole_characters(answer: &str) -> String {
    let mut out = String::new();
    let mut rest = answer;
    while let Some(open) = [rest.find("VARYING("), rest.find("TEXT(")].into_iter().flatten().min() {
        let open = open + rest[open..].find('(').unwrap_or_default() + 1;
        let close = open + rest[open..].find(')').unwrap_or_default();
        let length: u32 = rest[open..close].parse().expect("a length");
        let utf8 = rest[close + 1..].starts_with("4?");
        let _ = write!(out, "{}{}", &rest[..open], if utf8 { length / 4 * 4 } else { length });
        rest = &rest[close..];
    }
    out + rest
}
