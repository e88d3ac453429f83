//! Rows of a backup on their way into the store: straight into packed blocks, without statements; indexes come later.

use std::collections::HashMap;
use std::sync::Arc;

use farbird_gbak::attribute::field;
use farbird_gbak::{BackupReader, FieldKind, Record, RecordKind, RowField, RowFormat};
use farbird_store::{BlobOptions, RelationLayout, Transaction};
use farbird_types::{
    ArrayShape, BlobId, CastContext, CharacterSet, Error, SqlType, Text, Timestamp, Value, ZoneId, convert,
};

use super::failure::GbakError;
use super::loader::Loader;
use super::schema::{RelationRecords, Schema};
use crate::catalog::{Relation, layout};
use crate::function::array::ArrayContents;

/// An array of more bytes is left out: no column here has such.
const ARRAY_BYTES_MAX: u64 = 128 << 20;
/// How often the observer is told, and a wish to stop is heard.
const ROWS_PER_REPORT: u64 = 1024;

/// What was loaded, and what of it is not as it was.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) rows: u64,
    pub(super) blobs: u64,
    pub(super) blob_bytes: u64,
    /// Texts that were not in the character set of their column, by column.
    pub(super) malformed: HashMap<String, u64>,
}

/// Where a field of the backup goes.
struct Target {
    name: String,
    /// RDB$FIELD_ID of the backup, and what it is.
    source: RowField,
    /// The slot of the column, and its type; none for a column that was not made.
    column: Option<(usize, SqlType)>,
    /// What an array's elements are: how they are written in the backup, and what they become.
    array: Option<(FieldKind, Arc<ArrayShape>)>,
}

/// A table whose rows are being loaded.
pub(super) struct Loading<'a> {
    loader: &'a mut Loader,
    format: RowFormat,
    targets: Vec<Target>,
    /// Its layout; it has no indexes yet. None if there is no such table: its rows are passed over.
    layout: Option<Arc<RelationLayout>>,
    loaded: &'a mut Loaded,
    values: Vec<Value>,
    row: Vec<Value>,
    segment: Vec<u8>,
    /// Bytes of the row that is being read.
    row_bytes: usize,
}

impl<'a> Loading<'a> {
    /// Gets ready for the rows of a table.
    ///
    /// # Errors
    /// In words, if a field's type is not known.
    pub(super) fn of(
        schema: &Schema,
        table: &RelationRecords,
        made: Option<&Relation>,
        loader: &'a mut Loader,
        loaded: &'a mut Loaded,
    ) -> Result<Loading<'a>, GbakError> {
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
        let layout = made.filter(|made| made.is_stored()).map(layout);
        Ok(Loading {
            loader,
            format: RowFormat { fields: targets.iter().map(|it| it.source).collect() },
            targets,
            layout,
            loaded,
            values: Vec::new(),
            row: Vec::new(),
            segment: Vec::new(),
            row_bytes: 0,
        })
    }

    /// Loads all rows, from behind the mark of the first one. Gives the record behind the last one.
    ///
    /// # Errors
    /// Those of the backup and of the store.
    pub(super) fn run(
        mut self,
        reader: &mut BackupReader<'_>,
        observer: &mut dyn FnMut(u64, u64),
    ) -> Result<Record, GbakError> {
        let width = self.layout.as_ref().and_then(|it| it.current_format().map(|format| format.len()));
        let mut rows_read = 0_u64;
        loop {
            let transaction = self.loader.transaction()?;
            self.values.clear();
            reader.row(&self.format, &mut self.values)?;
            rows_read += 1;
            self.row.clear();
            self.row.resize(width.unwrap_or_default(), Value::Null);
            self.row_bytes = 0;
            for index in 0..self.targets.len() {
                self.place(index)?;
            }
            let next = self.contents(reader, &transaction)?;
            if let Some(layout) = &self.layout {
                transaction.insert(layout, &mut self.row)?;
                self.loaded.rows += 1;
            }
            self.loader.inserted(transaction, self.row_bytes)?;
            if rows_read.is_multiple_of(ROWS_PER_REPORT) {
                self.loader.check_cancelled()?;
                observer(self.loaded.rows, reader.offset());
            }
            if next.kind != RecordKind::Data {
                return Ok(next);
            }
        }
    }

    /// Puts a value into its slot.
    fn place(&mut self, index: usize) -> Result<(), GbakError> {
        let (Some(target), Some(value)) = (self.targets.get(index), self.values.get_mut(index)) else {
            return Ok(());
        };
        let Some((slot, sql_type)) = &target.column else { return Ok(()) };
        let value = std::mem::take(value);
        self.row_bytes += match &value {
            Value::Text(text) => text.bytes().len(),
            _ => 8,
        };
        let value = match (value, sql_type) {
            (Value::Text(text), SqlType::Text(column)) if text.character_set() == column.character_set => {
                let (text, malformed) = fitted(text, column.varying, column.length_chars);
                if malformed {
                    *self.loaded.malformed.entry(target.name.clone()).or_default() += 1;
                }
                Value::Text(text)
            }
            (value, sql_type) if !is_of(&value, sql_type) => {
                let context = CastContext {
                    session_zone: ZoneId(u16::MAX),
                    now: Timestamp::default,
                    ..CastContext::UTC
                };
                convert::cast(&value, sql_type, &context)
                    .map_err(|error| GbakError::Words(format!("column {}: {error}", target.name)))?
            }
            (value, _) => value,
        };
        if let Some(place) = self.row.get_mut(*slot) {
            *place = value;
        }
        Ok(())
    }

    /// The BLOBs and arrays behind a row. Gives the record behind them.
    fn contents(
        &mut self,
        reader: &mut BackupReader<'_>,
        transaction: &Transaction,
    ) -> Result<Record, GbakError> {
        loop {
            let record = reader.next_record()?;
            match record.kind {
                RecordKind::Blob => self.blob(reader, transaction)?,
                RecordKind::Array => self.array(reader, transaction)?,
                _ => return Ok(record),
            }
        }
    }

    /// An array of the size that its column has now.
    fn array(&mut self, reader: &mut BackupReader<'_>, transaction: &Transaction) -> Result<(), GbakError> {
        let header = reader.array()?;
        self.loader.check_cancelled()?;
        let target = self.targets.iter().find(|it| it.source.number == header.field);
        let target =
            target.ok_or_else(|| GbakError::Words("an array that belongs to no column".to_owned()))?;
        let (Some((slot, _)), Some((kind, shape))) = (&target.column, &target.array) else {
            return Ok(reader.skip(header.bytes)?);
        };
        if self.layout.is_none() || u64::from(header.bytes) > ARRAY_BYTES_MAX {
            return Ok(reader.skip(header.bytes)?);
        }
        let refused = |error: Error| GbakError::Words(format!("column {}: {error}", target.name));
        let elements = reader.elements(&header, *kind, shape.element_count())?;
        let elements = elements
            .ok_or_else(|| GbakError::Words(format!("column {}: an array that is damaged", target.name)))?;
        let bounds: Vec<(i32, i32)> = header.bounds.iter().filter_map(|it| as_bounds(*it)).collect();
        let places = shape.places(&bounds).map_err(refused)?;
        let context =
            CastContext { session_zone: ZoneId(u16::MAX), now: Timestamp::default, ..CastContext::UTC };
        let mut contents = ArrayContents::new(ArrayShape::clone(shape));
        for (place, element) in places.into_iter().zip(&elements) {
            contents.set(place, element, &context).map_err(refused)?;
        }
        self.row_bytes += usize::try_from(header.bytes).unwrap_or(usize::MAX);
        let id = contents.store(transaction).map_err(refused)?;
        if let Some(place) = self.row.get_mut(*slot) {
            *place = Value::Blob(id);
        }
        Ok(())
    }

    fn blob(&mut self, reader: &mut BackupReader<'_>, transaction: &Transaction) -> Result<(), GbakError> {
        let header = reader.blob()?;
        let target = self.targets.iter().find(|it| it.source.number == header.field);
        let target = target.ok_or_else(|| GbakError::Words("a blob that belongs to no column".to_owned()))?;
        let column = target.column.as_ref().filter(|_| self.layout.is_some());
        let Some((slot, SqlType::Blob { subtype, character_set, .. })) = column else {
            for _ in 0..header.segments {
                reader.segment(&mut self.segment)?;
            }
            return Ok(());
        };
        let options = BlobOptions { stream: header.stream, subtype: *subtype, character_set: *character_set };
        let mut writer = transaction.create_blob(options)?;
        for number in 0..header.segments {
            if number.is_multiple_of(ROWS_PER_REPORT) {
                self.loader.check_cancelled()?;
            }
            reader.segment(&mut self.segment)?;
            writer.write_segment(transaction, &self.segment)?;
            self.loaded.blob_bytes += self.segment.len() as u64;
            self.row_bytes += self.segment.len();
        }
        let id: BlobId = writer.close(transaction)?;
        self.loaded.blobs += 1;
        if let Some(place) = self.row.get_mut(*slot) {
            *place = Value::Blob(id);
        }
        Ok(())
    }
}

fn as_bounds((lower, upper): (i64, i64)) -> Option<(i32, i32)> {
    Some((i32::try_from(lower).ok()?, i32::try_from(upper).ok()?))
}

/// A text as its column has it: a CHAR is padded to characters, not to bytes. Whether its bytes had to be replaced.
fn fitted(text: Text, varying: bool, length_chars: u32) -> (Text, bool) {
    let set = text.character_set();
    let mut bytes = text.bytes();
    if !varying && set.bytes_per_character() > 1 {
        let kept = set.byte_offset(bytes, usize::try_from(length_chars).unwrap_or(usize::MAX));
        bytes = bytes.get(..kept).unwrap_or(bytes);
    }
    if !set.is_well_formed(bytes) {
        return (replaced(bytes, set), true);
    }
    match bytes.len() == text.bytes().len() {
        true => (text, false),
        false => (Text::new(bytes, set), false),
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
