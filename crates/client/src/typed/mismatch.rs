//! Why a value does not become what was wanted, and the status that says so.

use farbird_types::{CharacterSet, Error, isc};
use farbird_wire::message::{DYNAMIC_CHARACTER_SET, MessageType};

use crate::statement::Column;

/// Why a value does not become a value of the wanted type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// It is NULL, and the type has no place for that: use `Option`.
    Null,
    /// Values of its SQL type never become values of that type.
    Type,
    /// This value is beyond what the type holds.
    Range,
    /// The text is not valid in its character set, or not in Unicode.
    Text,
    /// Anything else, in words.
    Other(String),
}

impl Mismatch {
    /// The status for a column: what was found, what was wanted, and where.
    pub(crate) fn error(self, column: &Column, kind: MessageType, wanted: &str) -> Error {
        let name = if column.label.is_empty() { "without a name" } else { &column.label };
        let found = type_name(kind);
        let wanted = wanted_name(wanted);
        let convert = |what: &str| Error::new(isc::CONVERT_ERROR).with(what);
        let (error, words) = match self {
            Mismatch::Null => (convert("NULL"), format!("is NULL, which {wanted} has no place for")),
            Mismatch::Type => (convert(&found), format!("is {found}, wanted as {wanted}")),
            Mismatch::Range => {
                let error = Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE);
                (error, format!("is {found}, with a number that {wanted} does not hold"))
            }
            Mismatch::Text => (
                Error::new(isc::MALFORMED_STRING),
                format!("is {found}, with bytes that are no text for {wanted}"),
            ),
            Mismatch::Other(words) => (convert(&found), format!("is {found}, wanted as {wanted}: {words}")),
        };
        error.and(isc::RANDOM).with(format!("column {name} {words}"))
    }
}

/// A column that a row does not have.
pub(crate) fn unknown_column(name: &str) -> Error {
    Error::new(isc::DSQL_ERROR)
        .and(isc::SQLERR)
        .with(-206)
        .and(isc::DSQL_FIELD_ERR)
        .and(isc::RANDOM)
        .with(name)
}

/// A Rust type as programs write it: without the paths of its modules.
fn wanted_name(path: &str) -> String {
    let mut name = String::new();
    for part in path.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        name.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    name
}

/// An SQL type as it is declared.
fn type_name(kind: MessageType) -> String {
    let exact = |integer: &str, precision: u8, scale: i8| match scale {
        0 => integer.to_owned(),
        scale => format!("NUMERIC({precision}, {})", -i16::from(scale)),
    };
    let text = |name: &str, length: u16, charset: Option<u16>| {
        let [character_set, _] = charset.unwrap_or(u16::from(DYNAMIC_CHARACTER_SET)).to_le_bytes();
        let width = match character_set {
            DYNAMIC_CHARACTER_SET => 1,
            number => CharacterSet(number).bytes_per_character().max(1),
        };
        format!("{name}({})", length / u16::from(width))
    };
    match kind {
        MessageType::Text { length, charset } => text("CHAR", length, charset),
        MessageType::Varying { length, charset } | MessageType::Cstring { length, charset } => {
            text("VARCHAR", length, charset)
        }
        MessageType::Short { scale } => exact("SMALLINT", 4, scale),
        MessageType::Long { scale } => exact("INTEGER", 9, scale),
        MessageType::Int64 { scale } => exact("BIGINT", 18, scale),
        MessageType::Int128 { scale } => exact("INT128", 38, scale),
        MessageType::Quad { .. } | MessageType::Blob { .. } => "BLOB".to_owned(),
        MessageType::Float => "FLOAT".to_owned(),
        MessageType::Double | MessageType::DFloat => "DOUBLE PRECISION".to_owned(),
        MessageType::Date => "DATE".to_owned(),
        MessageType::Time => "TIME".to_owned(),
        MessageType::Timestamp => "TIMESTAMP".to_owned(),
        MessageType::Boolean => "BOOLEAN".to_owned(),
        MessageType::DecFloat16 => "DECFLOAT(16)".to_owned(),
        MessageType::DecFloat34 => "DECFLOAT(34)".to_owned(),
        MessageType::TimeTz | MessageType::ExtendedTimeTz => "TIME WITH TIME ZONE".to_owned(),
        MessageType::TimestampTz | MessageType::ExtendedTimestampTz => "TIMESTAMP WITH TIME ZONE".to_owned(),
    }
}
