//! Reads a whole backup and checks what can be checked without a database.

use std::collections::HashMap;

use crate::attribute::{field, relation};
use crate::{BackupReader, Fault, Record, RecordKind, Result, RowBytes, RowField, RowFormat, RowPlaces};

/// What is in a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contents {
    /// Definitions, columns and parameters counted too.
    pub definitions: u64,
    /// Tables that have rows, or could have.
    pub tables: u64,
    /// Their rows.
    pub rows: u64,
    /// BLOBs, and their bytes.
    pub blobs: u64,
    /// Bytes of all BLOBs.
    pub blob_bytes: u64,
}

/// Reads a backup to its end mark. There are no checksums in it: what is found is what breaks its form.
///
/// # Errors
/// What is wrong with it.
pub fn verify(reader: &mut BackupReader<'_>) -> Result<Contents> {
    let mut contents = Contents::default();
    let mut domains: HashMap<String, Record> = HashMap::new();
    let mut tables: HashMap<String, Vec<Record>> = HashMap::new();
    let mut last_table = String::new();
    loop {
        let record = reader.next_record()?;
        contents.definitions += 1;
        match record.kind {
            RecordKind::End => return Ok(contents),
            RecordKind::GlobalField => {
                domains.insert(record.name(field::NAME).unwrap_or_default(), record);
            }
            RecordKind::Relation => {
                last_table = record.name(relation::NAME).unwrap_or_default();
                tables.insert(last_table.clone(), Vec::new());
            }
            RecordKind::Field => {
                if let Some(fields) = tables.get_mut(&last_table) {
                    fields.push(record);
                }
            }
            RecordKind::RelationData => {
                let name = record.name(relation::NAME).unwrap_or_default();
                let fields =
                    tables.get(&name).ok_or_else(|| reader.damaged("rows of a table that is not there"))?;
                let format = row_format(fields, &domains);
                let format = format.ok_or_else(|| reader.damaged("rows of types that are not known"))?;
                table_data(reader, &format, &mut contents)?;
            }
            kind @ (RecordKind::Data | RecordKind::Blob | RecordKind::Array | RecordKind::Burp) => {
                return Err(Fault::Record { kind: kind as u8, at: reader.offset() });
            }
            _ => {}
        }
    }
}

fn row_format(fields: &[Record], domains: &HashMap<String, Record>) -> Option<RowFormat> {
    let stored = fields.iter().filter(|it| it.number(field::COMPUTED_FLAG).is_none_or(|it| it == 0));
    let fields = stored.map(|it| {
        let domain = it.name(field::SOURCE).and_then(|name| domains.get(&name));
        RowField::of(it, domain)
    });
    Some(RowFormat { fields: fields.collect::<Option<_>>()? })
}

/// Indexes and rows of a table, up to its end.
fn table_data(reader: &mut BackupReader<'_>, format: &RowFormat, contents: &mut Contents) -> Result<()> {
    contents.tables += 1;
    let (mut row, mut places, mut segment) = (Vec::new(), RowPlaces::default(), Vec::new());
    let transportable = reader.header().transportable;
    loop {
        match reader.next_record()?.kind {
            RecordKind::RelationEnd => return Ok(()),
            RecordKind::Data => {
                row.clear();
                reader.row(format, &mut row)?;
                let found = format.find(RowBytes { bytes: &row, transportable }, &mut places);
                found.ok_or_else(|| BackupReader::short_row(reader.offset()))?;
                contents.rows += 1;
            }
            RecordKind::Blob => {
                let header = reader.blob()?;
                for _ in 0..header.segments {
                    segment.clear();
                    reader.segment(&mut segment)?;
                    contents.blob_bytes += segment.len() as u64;
                }
                contents.blobs += 1;
            }
            RecordKind::Array => {
                let header = reader.array()?;
                reader.skip(header.bytes)?;
            }
            RecordKind::End => return Err(reader.damaged("the end of the backup inside of a table")),
            _ => contents.definitions += 1,
        }
    }
}
