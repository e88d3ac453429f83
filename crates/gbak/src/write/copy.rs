//! A whole backup, in the order in which gbak writes and expects it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;

use farbird_types::Value;

use super::array::ArrayOf;
use super::definitions::{Definitions, RelationOf, RoutineOf, count_of, quoted};
use super::left_out::LeftOut;
use super::output::Output;
use super::{ArrayColumn, BlobShape, BlobSink, Database, row};
use crate::attribute::{field, physical, relation};
use crate::record::{Record, RecordKind};
use crate::{FieldKind, RowField};

/// How often the observer hears of rows.
const ROWS_PER_REPORT: u64 = 1024;

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// 10 or 11.
    pub format: i32,
    /// Tables whose rows are there.
    pub tables: u64,
    /// Their rows.
    pub rows: u64,
    /// BLOBs, and their bytes.
    pub blobs: u64,
    /// Bytes of all BLOBs.
    pub blob_bytes: u64,
    /// Bytes of the backup.
    pub bytes: u64,
    /// What has no BLR, or no records here.
    pub left_out: Vec<LeftOut>,
    /// What each table held.
    pub contents: Vec<TableContents>,
}

/// What a table held, whatever the order of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableContents {
    /// The table.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Of all rows with their BLOBs, arrays aside: the sum of a checksum of each. Comparable within one process.
    pub checksum: u64,
}

/// Why a backup is not written.
#[derive(Debug)]
pub enum WriteFailure<E> {
    /// The database, or what the backup is written to.
    Database(E),
    /// In words.
    Words(String),
}

impl<E> From<E> for WriteFailure<E> {
    fn from(error: E) -> Self {
        WriteFailure::Database(error)
    }
}

/// Writes a backup of `definitions` and of the rows that belong to them.
///
/// With `only_programs` it is for Firebird's own gbak: what has no BLR is left out, and named. Without it is for
/// [`crate::BackupReader`], which takes sources. What has no records here is named either way.
///
/// # Errors
/// Those of the database and of `out`; a value that is not of the type of its column.
pub fn write_backup<D: Database>(
    database: &D,
    mut definitions: Definitions,
    (name, date): (&str, &str),
    only_programs: bool,
    out: impl Write,
    observer: &mut dyn FnMut(&str, u64, u64),
) -> Result<Written, WriteFailure<D::Error>> {
    let mut left_out = if only_programs { definitions.leave_out() } else { Vec::new() };
    left_out.append(&mut definitions.without_records);
    let format = if !only_programs || definitions.need_format_11() { 11 } else { 10 };
    definitions.adapt(format);
    let mut output = Output::new(out);
    let written = Written { format, left_out, ..Written::default() };
    output.header(format, name, date).map_err(D::Error::from)?;
    let dialect = definitions.physical.number(physical::SQL_DIALECT).unwrap_or(3);
    let mut copy = Copy { database, output, written, observer, dialect };
    copy.definitions(&definitions)?;
    copy.tables(&definitions)?;
    copy.records(definitions.triggers.iter().chain(&definitions.last))?;
    copy.mark(RecordKind::End)?;
    copy.output.flush().map_err(D::Error::from)?;
    copy.written.bytes = copy.output.bytes();
    Ok(copy.written)
}

struct Copy<'d, 'o, D, W> {
    database: &'d D,
    output: Output<W>,
    written: Written,
    observer: &'o mut dyn FnMut(&str, u64, u64),
    dialect: i64,
}

impl<D: Database, W: Write> Copy<'_, '_, D, W> {
    fn mark(&mut self, kind: RecordKind) -> Result<(), D::Error> {
        Ok(self.output.mark(kind)?)
    }

    fn records<'r>(&mut self, records: impl IntoIterator<Item = &'r Record>) -> Result<(), D::Error> {
        for record in records {
            self.output.record(record)?;
        }
        Ok(())
    }

    /// What stands before the rows.
    fn definitions(&mut self, all: &Definitions) -> Result<(), D::Error> {
        self.records(
            [&all.physical, &all.database].into_iter().chain(&all.domains).chain(&all.before_tables),
        )?;
        for relation in &all.relations {
            self.records(std::iter::once(&relation.record).chain(&relation.fields).chain(&relation.views))?;
            self.mark(RecordKind::RelationEnd)?;
        }
        self.records(&all.behind_tables)?;
        self.routines(&all.functions, RecordKind::FunctionEnd)?;
        self.routines(&all.procedures, RecordKind::ProcedureEnd)?;
        self.records(&all.packages)
    }

    fn routines(&mut self, routines: &[RoutineOf], end: RecordKind) -> Result<(), D::Error> {
        for routine in routines {
            self.records(std::iter::once(&routine.record).chain(&routine.parameters))?;
            self.mark(end)?;
        }
        Ok(())
    }

    fn tables(&mut self, all: &Definitions) -> Result<(), WriteFailure<D::Error>> {
        let domains: HashMap<String, &Record> =
            all.domains.iter().filter_map(|it| Some((it.name(field::NAME)?, it))).collect();
        for table in &all.relations {
            let name = table.name();
            let mut head = Record { kind: RecordKind::RelationData, attributes: Vec::new() };
            head.attributes
                .extend(table.record.attributes.iter().find(|it| it.number == relation::NAME).cloned());
            self.records([&head])?;
            if !table.is_view() && !table.is_external() {
                self.records(&table.indexes)?;
            }
            if !table.is_view() && !table.is_external() && !table.is_passed_over {
                let before = self.written.rows;
                let checksum = self.rows(table, &name, &domains)?;
                self.written.tables += 1;
                let rows = self.written.rows - before;
                self.written.contents.push(TableContents { name, rows, checksum });
            }
            self.mark(RecordKind::RelationEnd)?;
        }
        Ok(())
    }

    fn quoted(&self, name: &str) -> String {
        quoted(name, self.dialect)
    }

    fn rows(
        &mut self,
        table: &RelationOf,
        name: &str,
        domains: &HashMap<String, &Record>,
    ) -> Result<u64, WriteFailure<D::Error>> {
        (self.observer)(name, self.written.rows, self.output.bytes());
        let (mut fields, mut list, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
        for record in &table.fields {
            if record.number(field::COMPUTED_FLAG).is_some_and(|it| it != 0) {
                continue;
            }
            let column = record.name(field::NAME).unwrap_or_default();
            let domain = record.name(field::SOURCE).and_then(|it| domains.get(&it).copied());
            let kind = RowField::of(record, domain).ok_or_else(|| {
                WriteFailure::Words(format!("table {name}: the type of column {column} is not known"))
            })?;
            arrays.push(ArrayOf::of(&column, record, domain));
            match kind.kind {
                FieldKind::Blob => {
                    let column = self.quoted(&column);
                    list.push(format!("{column}, octet_length({column})"));
                }
                _ => list.push(self.quoted(&column)),
            }
            fields.push(kind);
        }
        if fields.is_empty() {
            return Ok(0);
        }
        let sql = format!("select {} from {}", list.join(", "), self.quoted(name));
        let native_bytes = row::native_bytes(&fields);
        let (mut words, mut checksum) = (None, 0_u64);
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        let database = self.database;
        let done = database.query(&sql, &mut |row| {
            values.clear();
            lengths.clear();
            let mut rest = row.iter();
            for field in &fields {
                values.push(rest.next().cloned().unwrap_or_default());
                let length =
                    if field.kind == FieldKind::Blob { rest.next().and_then(count_of) } else { None };
                lengths.push(length.unwrap_or_default());
            }
            let mut hasher = DefaultHasher::new();
            if !self.output.row(&fields, native_bytes, &values, &mut hasher)? {
                words = Some(format!("table {name}: a value is not of the type of its column"));
                return Err(std::io::Error::other("a value of another type").into());
            }
            for ((field, value), length) in fields.iter().zip(&values).zip(&lengths) {
                if let (FieldKind::Blob, Value::Blob(id)) = (field.kind, value) {
                    let mut sink =
                        Blob { output: &mut self.output, field: field.number, hasher: &mut hasher };
                    database.blob(*id, *length, &mut sink)?;
                    self.written.blobs += 1;
                    self.written.blob_bytes += length;
                }
            }
            for ((field, value), array) in fields.iter().zip(&values).zip(&arrays) {
                let (Some(array), Value::Blob(id)) = (array, value) else { continue };
                let column = ArrayColumn { relation: name, name: &array.name, bounds: &array.bounds };
                let elements = database.array(*id, column)?;
                if !self.output.array(field.number, array, &elements)? {
                    words =
                        Some(format!("table {name}: an element of column {} is not of its type", array.name));
                    return Err(std::io::Error::other("an element of another type").into());
                }
            }
            checksum = checksum.wrapping_add(hasher.finish());
            self.written.rows += 1;
            if self.written.rows.is_multiple_of(ROWS_PER_REPORT) {
                (self.observer)(name, self.written.rows, self.output.bytes());
            }
            Ok(())
        });
        match words {
            Some(words) => Err(WriteFailure::Words(words)),
            None => {
                done?;
                Ok(checksum)
            }
        }
    }
}

/// A BLOB on its way into a backup.
struct Blob<'o, W> {
    output: &'o mut Output<W>,
    field: i64,
    hasher: &'o mut DefaultHasher,
}

impl<W: Write, E: From<std::io::Error>> BlobSink<E> for Blob<'_, W> {
    fn begin(&mut self, shape: BlobShape) -> Result<(), E> {
        Ok(self.output.blob(self.field, shape)?)
    }

    fn segment(&mut self, bytes: &[u8]) -> Result<(), E> {
        self.hasher.write(bytes);
        Ok(self.output.segment(bytes)?)
    }
}
