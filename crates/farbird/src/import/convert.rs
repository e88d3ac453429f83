//! Records of a file as rows for a table.

use farbird_types::{CharacterSet, SqlType, Value};

use super::record::{Field, Record};
use crate::exchange::text;
use crate::session::LoadRow;

/// A column that is filled, and the field that fills it.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) sql_type: SqlType,
    /// Which of a record's fields.
    pub(super) field: usize,
}

/// Makes a row of a record.
///
/// # Errors
/// In words, with the column: that a field does not suit it.
pub(super) fn row(
    record: &Record,
    targets: &[Target],
    fields: Option<usize>,
    encoding: CharacterSet,
) -> Result<LoadRow, String> {
    if let Some(expected) = fields
        && expected != record.fields.len()
    {
        return Err(format!("{} fields instead of {expected}", record.fields.len()));
    }
    let mut row = LoadRow { values: Vec::with_capacity(targets.len()), blobs: Vec::new() };
    for (place, target) in targets.iter().enumerate() {
        let field = record.fields.get(target.field).unwrap_or(&Field::Null);
        let value = convert(field, record, target.sql_type, encoding)
            .map_err(|words| format!("column {}: {words}", target.name))?;
        match value {
            Converted::Value(value) => row.values.push(value),
            Converted::Contents(contents) => {
                row.values.push(Value::Null);
                row.blobs.push((place, contents));
            }
        }
    }
    Ok(row)
}

enum Converted {
    Value(Value),
    Contents(Vec<u8>),
}

fn convert(
    field: &Field,
    record: &Record,
    sql_type: SqlType,
    encoding: CharacterSet,
) -> Result<Converted, String> {
    let is_blob = matches!(sql_type, SqlType::Blob { .. });
    match field {
        Field::Null => Ok(Converted::Value(Value::Null)),
        Field::Text { range, .. } => {
            let bytes = record.bytes.get(range.clone()).unwrap_or_default();
            let decoded = encoding.decode(bytes).map_err(|_| format!("it is not in {}", encoding.name()))?;
            match is_blob {
                true => text::parse_contents(&decoded, sql_type).map(Converted::Contents),
                false => text::parse(&decoded, sql_type).map(Converted::Value),
            }
        }
        Field::Value(Value::Text(value)) if value.character_set() == CharacterSet::OCTETS => match sql_type {
            SqlType::Blob { .. } => Ok(Converted::Contents(value.bytes().to_vec())),
            _ => text::fits(Value::Text(value.clone()), sql_type).map(Converted::Value),
        },
        Field::Value(Value::Text(value)) => {
            let decoded = value.decode().map_err(|_| "it is not UTF-8".to_owned())?;
            match sql_type {
                // A text that has the bytes of a binary BLOB as they are.
                SqlType::Blob { subtype: 1, .. } => {
                    text::parse_contents(&decoded, sql_type).map(Converted::Contents)
                }
                SqlType::Blob { .. } => Ok(Converted::Contents(value.bytes().to_vec())),
                _ => text::parse(&decoded, sql_type).map(Converted::Value),
            }
        }
        Field::Value(value) if is_blob => {
            let shown = farbird_types::convert::to_display_text(value);
            text::parse_contents(&shown, sql_type).map(Converted::Contents)
        }
        Field::Value(value) => text::fits(value.clone(), sql_type).map(Converted::Value),
    }
}
