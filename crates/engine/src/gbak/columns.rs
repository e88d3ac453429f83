//! What rows of a backup are made of, and become: bytes in value encoding, without values in between where that can be.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use farbird_gbak::attribute::field;
use farbird_gbak::{BackupReader, FieldKind, FieldValue, RowBytes, RowField, RowFormat, RowPlaces};
use farbird_record::value_codec::RowEncoder;
use farbird_store::{RelationLayout, StoreError};
use farbird_types::{
    ArrayShape, BlobId, CastContext, CharacterSet, SqlType, Text, Timestamp, Value, ZoneId, convert,
};

use super::failure::{GbakError, GbakResult};
use super::schema::{RelationRecords, Schema};
use crate::catalog::Relation;

/// Texts that were not in the character set of their column, by column.
pub(super) type Malformed = HashMap<String, u64>;

/// A table that is there, and takes rows.
pub(super) struct Table {
    /// Its layout; it has no indexes yet.
    pub(super) layout: Arc<RelationLayout>,
    /// What its rows are made of.
    pub(super) columns: Columns,
}

/// What the rows of a table are made of.
pub(super) struct Columns {
    pub(super) format: RowFormat,
    transportable: bool,
    targets: Vec<Target>,
    /// By slot, the target.
    by_slot: Vec<Option<usize>>,
}

/// Where a field of the backup goes.
pub(super) struct Target {
    pub(super) name: String,
    /// RDB$FIELD_ID of the backup, and what it is.
    source: RowField,
    /// The slot of the column, and its type; none for a column that was not made.
    pub(super) column: Option<(usize, SqlType)>,
    /// What an array's elements are: how they are written in the backup, and what they become.
    pub(super) array: Option<(FieldKind, Arc<ArrayShape>)>,
}

impl Columns {
    /// # Errors
    /// In words, if a field's type is not known.
    pub(super) fn of(
        schema: &Schema,
        table: &RelationRecords,
        made: Option<&Relation>,
        transportable: bool,
    ) -> GbakResult<Columns> {
        let mut targets = Vec::new();
        for record in &table.fields {
            if record.number(field::COMPUTED_FLAG).is_some_and(|it| it != 0) {
                continue;
            }
            let name = record.name(field::NAME).unwrap_or_default();
            let source = RowField::of(record, schema.domain_of(record)).ok_or_else(|| {
                GbakError::Words(format!("table {}: the type of column {name} is not known", table.name))
            })?;
            let column = made.and_then(|made| made.column(&name)).filter(|it| it.computed_source.is_none());
            let elements = RowField::element_of(record, schema.domain_of(record));
            targets.push(Target {
                array: elements.zip(column.and_then(|it| it.array.clone())),
                source,
                column: column.map(|it| (usize::from(it.field_id), it.sql_type)),
                name: format!("{}.{name}", table.name),
            });
        }
        let mut by_slot = Vec::new();
        for (place, target) in targets.iter().enumerate() {
            if let Some((slot, _)) = target.column {
                by_slot.resize(by_slot.len().max(slot + 1), None);
                by_slot.splice(slot..=slot, [Some(place)]);
            }
        }
        let format = RowFormat { fields: targets.iter().map(|it| it.source).collect() };
        Ok(Columns { format, transportable, targets, by_slot })
    }

    /// The target of the field that a BLOB or an array names.
    pub(super) fn target(&self, field: i64, what: &str) -> GbakResult<&Target> {
        let target = self.targets.iter().find(|it| it.source.number == field);
        target.ok_or_else(|| GbakError::Words(format!("{what} that belongs to no column")))
    }
}

/// Makes rows in value encoding of those of a backup.
#[derive(Default)]
pub(super) struct RowMaker {
    places: RowPlaces,
    malformed: Malformed,
}

impl RowMaker {
    /// What was wrong with texts.
    pub(super) fn into_malformed(self) -> Malformed {
        self.malformed
    }

    /// Appends a row, of which the bytes are given and where they end in the backup, with its BLOBs by slot.
    ///
    /// # Errors
    /// Of the backup, if the row is too short; in words, if a value is none that its column can have.
    pub(super) fn encode(
        &mut self,
        table: &Table,
        (bytes, at): (&[u8], u64),
        blobs: &[(usize, BlobId)],
        out: &mut Vec<u8>,
    ) -> GbakResult<()> {
        let columns = &table.columns;
        let row = RowBytes { bytes, transportable: columns.transportable };
        let short = || GbakError::from(BackupReader::short_row(at));
        columns.format.find(row, &mut self.places).ok_or_else(short)?;
        let format = table.layout.current_format();
        let format =
            format.ok_or(StoreError::BadLayout { relation: table.layout.id, what: "current format" })?;
        let mut encoder = RowEncoder::begin(format, out);
        for (slot, target) in columns.by_slot.iter().enumerate() {
            let place = match (blobs.iter().find(|(of, _)| *of == slot), target) {
                (Some((_, id)), _) => {
                    encoder.value(&Value::Blob(*id)).map_err(StoreError::from)?;
                    continue;
                }
                (None, None) => {
                    encoder.null().map_err(StoreError::from)?;
                    continue;
                }
                (None, Some(place)) => *place,
            };
            let value = columns.format.field(row, &self.places, place).ok_or_else(short)?;
            let Some(target) = columns.targets.get(place) else { continue };
            let Some((_, sql_type)) = &target.column else { continue };
            match (value, sql_type) {
                (FieldValue::Text { bytes, character_set }, SqlType::Text(column))
                    if character_set == column.character_set =>
                {
                    let (text, malformed) =
                        fitted(bytes, character_set, (!column.varying).then_some(column.length_chars));
                    if malformed {
                        *self.malformed.entry(target.name.clone()).or_default() += 1;
                    }
                    encoder.text(&text).map_err(StoreError::from)?;
                }
                (value, sql_type) => {
                    let mut value = value.into_value();
                    if !is_of(&value, sql_type) {
                        value = convert::cast(&value, sql_type, &cast_context())
                            .map_err(|error| GbakError::Words(format!("column {}: {error}", target.name)))?;
                    }
                    encoder.value(&value).map_err(StoreError::from)?;
                }
            }
        }
        Ok(encoder.finish().map_err(StoreError::from)?)
    }
}

/// How values become those of their columns: there is no session.
pub(super) fn cast_context() -> CastContext {
    CastContext { session_zone: ZoneId(u16::MAX), now: Timestamp::default, ..CastContext::UTC }
}

/// A text as its column has it: a CHAR, of so many characters, is padded to characters, not to bytes. Whether its bytes had to be
/// replaced.
fn fitted(mut bytes: &[u8], set: CharacterSet, length_chars: Option<u32>) -> (Cow<'_, [u8]>, bool) {
    if let Some(length_chars) = length_chars.filter(|_| set.bytes_per_character() > 1) {
        let kept = set.byte_offset(bytes, usize::try_from(length_chars).unwrap_or(usize::MAX));
        bytes = bytes.get(..kept).unwrap_or(bytes);
    }
    match set.is_well_formed(bytes) {
        true => (Cow::Borrowed(bytes), false),
        false => (Cow::Owned(replaced(bytes, set).bytes().to_vec()), true),
    }
}

/// A text whose bytes are none of its character set, as near as can be.
fn replaced(bytes: &[u8], set: CharacterSet) -> Text {
    let readable: String = set
        .decode_lossy(bytes)
        .chars()
        .map(|it| if it == char::REPLACEMENT_CHARACTER { '?' } else { it })
        .collect();
    Text::encode(&readable, set).unwrap_or_else(|_| Text::new(vec![b'?'; bytes.len().min(1)], set))
}

/// Whether a value is of a type, as rows keep it.
fn is_of(value: &Value, sql_type: &SqlType) -> bool {
    match (value, sql_type) {
        (Value::Null, _)
        | (Value::Boolean(_), SqlType::Boolean)
        | (Value::Float(_), SqlType::Float)
        | (Value::Double(_), SqlType::Double)
        | (Value::DecFloat(_), SqlType::DecFloat16 | SqlType::DecFloat34)
        | (Value::Date(_), SqlType::Date)
        | (Value::Time(_), SqlType::Time)
        | (Value::Timestamp(_), SqlType::Timestamp)
        | (Value::TimeTz(_), SqlType::TimeTz)
        | (Value::TimestampTz(_), SqlType::TimestampTz) => true,
        (Value::Integer { scale, .. }, SqlType::Exact { width, scale: column, .. }) => {
            scale == column && *width != farbird_types::ExactWidth::Int128
        }
        (Value::Int128 { scale, .. }, SqlType::Exact { width, scale: column, .. }) => {
            scale == column && *width == farbird_types::ExactWidth::Int128
        }
        _ => false,
    }
}
