//! Rows of a backup, read: as bytes they go from the thread that reads them to the one that makes rows of the store of them,
//! without statements; indexes come later.

use std::collections::HashMap;
use std::sync::Arc;

use farbird_gbak::{BackupReader, Record, RecordKind};
use farbird_store::BlobOptions;
use farbird_types::{ArrayShape, Error, SqlType};

use super::batch::{Batch, Item};
use super::columns::{Columns, Malformed, Table, cast_context};
use super::failure::{GbakError, GbakResult};
use super::loader::Loader;
use super::schema::{RelationRecords, Schema};
use crate::catalog::{Relation, layout};
use crate::function::array::ArrayContents;

/// An array of more bytes is left out: no column here has such.
const ARRAY_BYTES_MAX: u64 = 128 << 20;
/// How often the observer is told, and a wish to stop is heard.
const ROWS_PER_REPORT: u64 = 1024;

/// What was loaded.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) rows: u64,
    pub(super) blobs: u64,
    pub(super) blob_bytes: u64,
    /// Rows of each table.
    pub(super) rows_of: HashMap<String, u64>,
    /// What is not as it was.
    pub(super) malformed: Malformed,
}

/// A table whose rows are being read.
pub(super) struct Loading<'a> {
    loader: &'a mut Loader,
    table: Source,
    loaded: &'a mut Loaded,
    segment: Vec<u8>,
}

/// Where rows go.
enum Source {
    /// There is no such table: its rows are passed over.
    PassedOver(Columns),
    Loaded(Arc<Table>, Batch),
}

impl Source {
    fn columns(&self) -> &Columns {
        match self {
            Source::PassedOver(columns) => columns,
            Source::Loaded(table, _) => &table.columns,
        }
    }
}

impl<'a> Loading<'a> {
    /// Gets ready for the rows of a table.
    ///
    /// # Errors
    /// In words, if a field's type is not known.
    pub(super) fn of(
        schema: &Schema,
        records: &RelationRecords,
        made: Option<&Relation>,
        transportable: bool,
        (loader, loaded): (&'a mut Loader, &'a mut Loaded),
    ) -> GbakResult<Loading<'a>> {
        let columns = Columns::of(schema, records, made, transportable)?;
        let table = match made.filter(|made| made.is_stored()) {
            None => Source::PassedOver(columns),
            Some(made) => {
                let table = Arc::new(Table { layout: layout(made), columns });
                let batch = Batch::new(&table);
                Source::Loaded(table, batch)
            }
        };
        Ok(Loading { loader, table, loaded, segment: Vec::new() })
    }

    /// Loads all rows, from behind the mark of the first one. Gives the record behind the last one, and how many rows there were.
    ///
    /// # Errors
    /// Those of the backup and of the store.
    pub(super) fn run(
        mut self,
        reader: &mut BackupReader<'_>,
        observer: &mut dyn FnMut(u64, u64),
    ) -> GbakResult<(Record, u64)> {
        let mut rows_read = 0_u64;
        loop {
            match &mut self.table {
                Source::PassedOver(columns) => {
                    self.segment.clear();
                    reader.row(&columns.format, &mut self.segment)?;
                }
                Source::Loaded(table, batch) => {
                    reader.row(&table.columns.format, &mut batch.bytes)?;
                    batch.items.push(Item::Row { end: batch.bytes.len(), at: reader.offset() });
                    self.loaded.rows += 1;
                }
            }
            rows_read += 1;
            let next = self.contents(reader)?;
            if rows_read.is_multiple_of(ROWS_PER_REPORT) {
                self.loader.check_cancelled()?;
                observer(self.loaded.rows, reader.offset());
            }
            if next.kind != RecordKind::Data {
                self.hand_on(true)?;
                return Ok((next, rows_read));
            }
            self.hand_on(false)?;
        }
    }

    /// Hands on what was read, if that is enough or the table ends.
    fn hand_on(&mut self, ends_table: bool) -> GbakResult<()> {
        let Source::Loaded(table, batch) = &mut self.table else { return Ok(()) };
        if !ends_table && !batch.is_full() {
            return Ok(());
        }
        batch.ends_table = ends_table;
        let full = std::mem::replace(batch, Batch::new(table));
        self.loader.load(full)
    }

    /// The BLOBs and arrays behind a row. Gives the record behind them.
    fn contents(&mut self, reader: &mut BackupReader<'_>) -> GbakResult<Record> {
        loop {
            let record = reader.next_record()?;
            match record.kind {
                RecordKind::Blob => self.blob(reader)?,
                RecordKind::Array => self.array(reader)?,
                _ => return Ok(record),
            }
        }
    }

    /// An array of the size that its column has now.
    fn array(&mut self, reader: &mut BackupReader<'_>) -> GbakResult<()> {
        let header = reader.array()?;
        self.loader.check_cancelled()?;
        let target = self.table.columns().target(header.field, "an array")?;
        let (Some((slot, _)), Some((kind, shape))) = (&target.column, &target.array) else {
            return Ok(reader.skip(header.bytes)?);
        };
        let is_loaded = matches!(self.table, Source::Loaded(..));
        if !is_loaded || u64::from(header.bytes) > ARRAY_BYTES_MAX {
            return Ok(reader.skip(header.bytes)?);
        }
        let refused = |error: Error| GbakError::Words(format!("column {}: {error}", target.name));
        let elements = reader.elements(&header, *kind, shape.element_count())?;
        let elements = elements
            .ok_or_else(|| GbakError::Words(format!("column {}: an array that is damaged", target.name)))?;
        let bounds: Vec<(i32, i32)> = header.bounds.iter().filter_map(|it| as_bounds(*it)).collect();
        let places = shape.places(&bounds).map_err(refused)?;
        let context = cast_context();
        let mut contents = ArrayContents::new(ArrayShape::clone(shape));
        for (place, element) in places.into_iter().zip(&elements) {
            contents.set(place, element, &context).map_err(refused)?;
        }
        let (slot, bytes) = (*slot, usize::try_from(header.bytes).unwrap_or(usize::MAX));
        if let Source::Loaded(_, batch) = &mut self.table {
            batch.push_array(slot, contents, bytes);
        }
        Ok(())
    }

    fn blob(&mut self, reader: &mut BackupReader<'_>) -> GbakResult<()> {
        let header = reader.blob()?;
        let target = self.table.columns().target(header.field, "a blob")?;
        let column = match &target.column {
            Some((slot, SqlType::Blob { subtype, character_set, .. })) => {
                Some((*slot, *subtype, *character_set))
            }
            _ => None,
        };
        let (Some((slot, subtype, character_set)), Source::Loaded(_, batch)) = (column, &mut self.table)
        else {
            for _ in 0..header.segments {
                self.segment.clear();
                reader.segment(&mut self.segment)?;
            }
            return Ok(());
        };
        let options = BlobOptions { stream: header.stream, subtype, character_set };
        batch.items.push(Item::Blob { slot, options });
        for number in 0..header.segments {
            if number.is_multiple_of(ROWS_PER_REPORT) {
                self.loader.check_cancelled()?;
            }
            if let Source::Loaded(_, batch) = &mut self.table {
                let before = batch.bytes.len();
                reader.segment(&mut batch.bytes)?;
                batch.items.push(Item::Segment { end: batch.bytes.len() });
                self.loaded.blob_bytes += (batch.bytes.len() - before) as u64;
            }
            self.hand_on(false)?;
        }
        if let Source::Loaded(_, batch) = &mut self.table {
            batch.items.push(Item::BlobEnd);
        }
        self.loaded.blobs += 1;
        Ok(())
    }
}

fn as_bounds((lower, upper): (i64, i64)) -> Option<(i32, i32)> {
    Some((i32::try_from(lower).ok()?, i32::try_from(upper).ok()?))
}
